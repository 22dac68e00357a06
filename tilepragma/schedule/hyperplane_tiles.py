"""S2: hyperplanes (Algorithm 4.1) for regions whose own loops are not parallel.

Statements are distributed over bands (poly/bands.py). A band with parallel rows is a launch over
these rows. A band that needs an order is a host loop over wavefronts of tiles, with a launch for
each wavefront (schedule/wavefront.py). Outer sequential rows are host loops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.expressions import DataObject, access_to
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import Block, Statement
from tilepragma.lower.band_loops import (
    Around,
    BandLoops,
    Bounds,
    PlannedBand,
    TileSizes,
    UnboundedRowError,
    base_name,
    clauses,
    declared,
    term,
)
from tilepragma.plan.default_sizes import ALONE_ROWS, ALONG_UNIT, BLOCK, LONG_BLOCK, SHORT_BLOCK
from tilepragma.plan.kernel_plan import TileSize
from tilepragma.plan.summary import buffered
from tilepragma.schedule.coalescing import private_names
from tilepragma.schedule.cpu_register_tiles import block_extent, register_tiles
from tilepragma.schedule.diamond import Parts, ways_to_tile
from tilepragma.schedule.intra_tile_wavefront import BoundedTile
from tilepragma.schedule.macro_statements import MacroStatements, private_scalars, tied_bodies, updating_bodies
from tilepragma.schedule.reduction_detection import FreedReductions, freed_reductions, with_reductions
from tilepragma.schedule.strategy import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.strip_rows import RowStrip, StripLoop, strip_loop
from tilepragma.schedule.tree import (
    HostLoopNode,
    LaunchNode,
    ScheduleNode,
    candidate_of,
    counts_as_work,
    launch_nodes,
)
from tilepragma.schedule.wavefront import inner_tiles, wavefront_node
from tilepragma.user_tiles.mapping import MOST_DIMENSIONS

if TYPE_CHECKING:
    from tilepragma.poly.band_fusion import MappedBand
    from tilepragma.poly.bands import Band, OuterLoop
    from tilepragma.poly.dependences import Dependence
    from tilepragma.poly.intra_tile_schedule import Steps
    from tilepragma.poly.scop import Scop, ScopStatement


def hyperplanes(region: Region) -> ScheduleCandidate | Refusal:
    """Schedule the whole region by hyperplanes, or say why they do not help."""
    from tilepragma.poly.operation_limit import OperationLimitError

    try:
        return _hyperplanes(region)
    except OperationLimitError as limit:
        return Refusal(str(limit))
    except UnboundedRowError:
        return Refusal("a row of the hyperplanes has no bound that is known at launch")


def _hyperplanes(region: Region) -> ScheduleCandidate | Refusal:
    from tilepragma.poly.bands import BandKind, parts_in
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit

    bodies = dict.fromkeys((updating_bodies(region), tied_bodies(region)))
    apart = _most_parallel(_distribution(region, body) for body in bodies)
    if all(each.kind is BandKind.SERIAL for each in parts_in(apart.parts)):
        scalars = _blocking_scalars(region, apart)
        if scalars is not None:
            return Refusal(scalars, decisive=True)
        return Refusal("no hyperplane of Algorithm 4.1 leaves parallel loops" + _not_affine(apart.scop))
    with operation_limit(apart.scop.context, DEFAULT_LIMIT, "writing loops over hyperplanes"):
        planned = apart.planned()
        directive = region.kernel.directive
        ways = tuple(
            ways_to_tile(planned, directive.host_temporal or directive.temporal, directive.temporal, apart.dependences)
        )
    answers = (_answer(region, apart, *way) for way in ways[:-1])
    answer = next((answer for answer in answers if isinstance(answer, ScheduleCandidate)), None)
    return answer or _answer(region, apart, *ways[-1])


def _blocking_scalars(region: Region, apart: _Distribution) -> str | None:
    """Why scalars order what would be wavefronts without them; None if they do not."""
    from tilepragma.poly.bands import BandKind, parts_in

    if not apart.freed.held:
        return None
    unordered = _distribution(region, apart.tied, any_order=True)
    # Without dependences `as_written` plans the loops, and reports them.
    wavefronts = any(each.kind is BandKind.WAVEFRONT for each in parts_in(unordered.parts))
    return apart.freed.held[0] if wavefronts else None


def _answer(
    region: Region, apart: _Distribution, host: Parts, device: Parts, *, sharing: bool = True
) -> ScheduleCandidate | Refusal:
    """The candidate with these bands for cores and devices; `sharing`: fuse blocks on cores."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit

    with operation_limit(apart.scop.context, DEFAULT_LIMIT, "writing loops over hyperplanes"):
        host_nodes, device_nodes, sizes = _both_trees(region, apart, host, device, sharing)
    host_nodes, device_nodes = (
        tuple(with_reductions(node, apart.freed.clauses) for node in nodes) for nodes in (host_nodes, device_nodes)
    )
    answer = candidate_of("hyperplanes", region, host_nodes, device_nodes, sizes, depths=apart.depths())
    if isinstance(answer, Refusal):
        return answer
    strips = any(isinstance(node, StripLoop) for node in host_nodes)
    shared = any(isinstance(launch, SharedLaunch) for launch in launch_nodes(host_nodes))
    return replace(
        answer,
        steps=_steps(answer, apart, host),
        asked_on_devices=any(each.pair for each in device),
        strips=strips,
        fallback=partial(_answer, region, apart, host, device, sharing=False) if shared else None,
    )


def _steps(answer: ScheduleCandidate, apart: _Distribution, planned: Parts) -> Steps | None:
    """Memory steps of the bands, less those that register tiles spare."""
    steps = apart.steps(planned)
    if steps is None:
        return None
    kept = len(list(buffered(answer.host_steps)))
    return replace(steps, reloading=max(0, steps.reloading - kept))


class SharedLaunch(LaunchNode):
    """A launch of several bands fused over their blocks."""


def _both_trees(
    region: Region, apart: _Distribution, host: Parts, device: Parts, sharing: bool
) -> tuple[tuple[ScheduleNode, ...], tuple[ScheduleNode, ...], tuple[TileSize, ...]]:
    """The schedule nodes for host and device, and their tile sizes. Raises UnboundedRowError."""
    from tilepragma.lower.band_ast import BandCode

    code = BandCode(apart.scop, apart.dependences)
    sizes = TileSizes(Names(set(names_in(region.kernel))))
    vectors = region.kernel.directive.vectors
    nodes = []
    for planned, on_device in ((host, False), (device, True)):
        by_part = {id(each.before_skewing): each for each in planned}
        loops = BandLoops(code, sizes.names, sizes, on_device, region.first_index, vectors)
        nodes.append(
            _TreeBuilder(loops, by_part, sharing and not on_device).nodes(apart.parts, Around((), code.nothing_known))
        )
    return nodes[0], nodes[1], tuple(sizes.sizes.values())


def _not_affine(scop: Scop) -> str:
    """The first expression that kept a statement whole, to end a reason with."""
    first = next(iter(scop.reasons), None)
    return "" if first is None else f", since on line {first.range.start.line} {first.reason}"


@dataclass(frozen=True)
class _Distribution:
    """One way to distribute the region's statements, and its bands."""

    scop: Scop
    dependences: tuple[Dependence, ...]
    parts: tuple[Band | OuterLoop, ...]
    tied: MacroStatements
    freed: FreedReductions

    def depths(self) -> Depths:
        """Depths in loops as the user wrote them; sequential host rows count for some of these."""
        from tilepragma.poly.bands import BandKind, parts_in

        loops = {each.name: _work(each) for each in self.scop.statements}
        sequential = parallel = launched = 0
        for part in parts_in(self.parts):
            depth = max(loops[each.statement.name] for each in part.statements)
            if part.kind is BandKind.SERIAL:
                sequential = max(sequential, depth)
            else:
                parallel, launched = max(parallel, depth), max(launched, depth - part.outer)
        return Depths(parallel, sequential, launched)

    def planned(self) -> tuple[PlannedBand, ...]:
        """The bands with their intra-tile schedules."""
        from tilepragma.poly.bands import parts_in
        from tilepragma.poly.intra_tile_schedule import intra_tile_order

        parts = tuple(parts_in(self.parts))
        parts += tuple(single for each in parts for single in each.alone)
        return tuple(
            PlannedBand(each, place, intra_tile_order(each, self.dependences)) for place, each in enumerate(parts)
        )

    def steps(self, planned: tuple[PlannedBand, ...]) -> Steps | None:
        """Memory steps of the deepest statements; None if loops move as macro-statements."""
        from tilepragma.poly.intra_tile_schedule import Steps

        if any(len(part.loops) > len(each.loops) for each in self.scop.statements for part in each.parts):
            return None
        deepest = max((each.depth for each in self.scop.statements), default=0)
        return sum(
            (
                band.points.steps
                for band in planned
                if not band.part.alone and any(each.statement.depth == deepest for each in band.part.statements)
            ),
            Steps(),
        )


def _most_parallel(ways: Iterable[_Distribution]) -> _Distribution:
    """The way with the shallowest sequential loops, then the deepest parallel ones."""

    def cost(way: _Distribution) -> tuple[int, int]:
        depths = way.depths()
        return depths.sequential, -depths.parallel

    return min(ways, key=cost)


def _work(statement: ScopStatement) -> int:
    """The long loops around the deepest part of a statement."""
    around = max((each.loops for each in (statement, *statement.parts)), key=len)
    return sum(counts_as_work(loop) for loop in around)


def _distribution(region: Region, tied: MacroStatements, *, any_order: bool = False) -> _Distribution:
    """Distribute the region; `any_order`: ignore updates' order. Raises OperationLimitError."""
    from tilepragma.poly.bands import parallel_parts
    from tilepragma.poly.dependences import memory_dependences
    from tilepragma.poly.extraction import extract_scop
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit

    scop = extract_scop(region.statements, region.kernel.functions, region.written, tied.holds)
    private = private_scalars(region, scop)
    freed = freed_reductions(region, scop, private, any_order=any_order)
    with operation_limit(scop.context, DEFAULT_LIMIT, "looking for hyperplanes"):
        ordering = tuple(
            dependence
            for dependence in memory_dependences(scop)
            if dependence.source.object not in private and not freed.frees(dependence)
        )
        return _Distribution(scop, ordering, parallel_parts(scop.statements, ordering), tied, freed)


@dataclass(frozen=True)
class _TreeBuilder:
    """Builds schedule nodes of bands for one kind of target. `planned` holds each band's plan by
    identity. `sharing`: fuse bands over blocks where possible.
    """

    loops: BandLoops
    planned: dict[int, PlannedBand]
    sharing: bool

    def nodes(self, parts: Iterable[Band | OuterLoop], around: Around) -> tuple[ScheduleNode, ...]:
        """The nodes of the bands in sequence, for each value of the host iterators `around`."""
        apart = [part for each in parts for part in self._split_alone(each)]
        nodes: list[ScheduleNode] = []
        while apart:
            if rows := self._strips(apart, around):
                nodes.append(self._in_strips(rows))
                del apart[: len(rows)]
            elif fused := self._fused(apart, around):
                nodes.append(self._in_blocks(fused, around))
                del apart[: len(fused)]
            else:
                nodes.append(self._node(apart.pop(0), around))
        return tuple(nodes)

    def _strips(self, apart: list[Band | OuterLoop], around: Around) -> tuple[MappedBand, ...]:
        """The leading bands that alternate in strips."""
        from tilepragma.poly.band_fusion import band_strips_of

        return () if around.rows or self.loops.device else band_strips_of(apart, self.loops.code.dependences)

    def _fused(self, apart: list[Band | OuterLoop], around: Around) -> tuple[MappedBand, ...]:
        """The leading bands to fuse in one host launch: rows with equal bounds, no strips."""
        from tilepragma.poly.band_fusion import fusible_bands

        if not self.sharing:
            return ()
        fused = fusible_bands(apart, self.loops.code.dependences)
        same: list[Bounds] = []
        for place, band in enumerate(fused):
            bounds = self.loops.row_range(band.part.statements, band.level, around.rows)
            if place and (bounds != same[0] or self._strips(apart[place:], around)):
                break
            same.append(bounds)
        return fused[: len(same)] if len(same) > 1 else ()

    def _in_strips(self, rows: tuple[MappedBand, ...]) -> ScheduleNode:
        """The bands alternating in strips of these rows."""
        first = next(row for row in rows if row.distributed)
        base = base_name(first.part.statements, first.level)
        size = self.loops.sizes.of(self.planned[id(first.part)].number, first.level, base, ALONE_ROWS, ALONE_ROWS)
        loop, strip = strip_loop(self.loops, first, size)
        nowhere = Around((), self.loops.code.nothing_known)
        nodes = (
            self._on_host(row.part, nowhere, strip)
            if row.distributed
            else self._on_host(row.part, strip.around(self.loops, row))
            for row in rows
        )
        return StripLoop(loop, tuple(nodes))

    def _split_alone(self, part: Band | OuterLoop) -> tuple[Band | OuterLoop, ...]:
        """On cores, split off the statements that keep elements in registers."""
        from tilepragma.poly.bands import Band

        alone = isinstance(part, Band) and part.alone and not self.loops.device
        return part.alone if isinstance(part, Band) and alone else (part,)

    def _node(self, part: Band | OuterLoop, around: Around) -> ScheduleNode:
        from tilepragma.poly.bands import BandKind, OuterLoop
        from tilepragma.poly.intra_tile_schedule import original_order

        if isinstance(part, OuterLoop):
            return self._outer_loop(part, around)
        if part.kind is BandKind.WAVEFRONT:
            return wavefront_node(self.loops, self.planned[id(part)], around)
        if part.kind is BandKind.DOALL:
            return self._on_device(part, around) if self.loops.device else self._on_host(part, around)
        return LaunchNode(Block(self.loops.points(part, original_order(part), around.rows, around.known)))

    def _outer_loop(self, row: OuterLoop, around: Around) -> ScheduleNode:
        bounds = self.loops.row_range(row.statements, row.level, around.rows)
        iterator = self.loops.names.scalar(f"{base_name(row.statements, row.level)}_row")
        loop = self.loops.loop(iterator, bounds.lower, bounds.upper)
        return HostLoopNode(loop, self.nodes(row.parts, around.inside(self.loops, row, iterator)))

    def _on_host(self, part: Band, around: Around, strip: RowStrip | None = None) -> ScheduleNode:
        """Map blocks of the first parallel row, in `strip` if given, cyclically to threads."""
        from tilepragma.poly.band_fusion import MappedBand
        from tilepragma.poly.intra_tile_schedule import by_strides

        mapped = MappedBand(part, by_strides(part, part.parallel)[0])
        return self._in_blocks((mapped,), around, strip)

    def _in_blocks(self, mapped: tuple[MappedBand, ...], around: Around, strip: RowStrip | None = None) -> ScheduleNode:
        """The launch of bands that share blocks; the deepest band sets the block size."""
        deepest = max(mapped, key=lambda band: band.depth)
        statements, level = deepest.part.statements, deepest.level
        base = base_name(statements, level)
        size = self._block_size(deepest, base) if strip is None else strip.size
        blocks = self.loops.tile_range(statements, level, size, around.rows)
        blocks = blocks if strip is None else strip.blocks(blocks)
        block, first = self.loops.names.scalar(f"{base}_block"), self.loops.names.scalar(f"{base}_first")
        points = (each for band in mapped for each in self._in_block(band, first, size, around))
        body = (declared(first, term(block) * term(size)), *points)
        loop = self.loops.loop(block, blocks.lower, blocks.upper, body)
        kind = SharedLaunch if len(mapped) > 1 else LaunchNode
        return kind(Block((loop,)), {loop.index: clauses(TileKind.DYNAMIC, TileKind.THREAD)})

    def _block_size(self, mapped: MappedBand, base: str) -> DataObject:
        """The symbol for the block size of the band's mapped row."""
        from tilepragma.poly.bands import registers_of

        planned = self.planned[id(mapped.part)]
        registers = registers_of(mapped.part, mapped.level)
        extent, unit = _host_extent(mapped.part, mapped.level, planned.points.along)
        if registers is not None:
            extent, unit = block_extent(self.loops, planned, registers, mapped.level)
        return self.loops.sizes.of(planned.number, mapped.level, base, extent, extent, unit)

    def _in_block(
        self, mapped: MappedBand, first: DataObject, size: DataObject, around: Around
    ) -> tuple[Statement, ...]:
        """The band's points in the block of `size` values of its mapped row from `first` on."""
        from tilepragma.lower.band_ast import TileConstraint
        from tilepragma.poly.bands import registers_of

        part, level, outside = mapped.part, mapped.level, around.rows
        planned, registers = self.planned[id(part)], registers_of(part, level)
        tile = (*outside, TileConstraint(level, access_to(first), access_to(size)))
        bounded = BoundedTile(tile, frozenset(), around.known)
        inner = None
        if registers is not None:
            known = around.known.also(self.loops.code.known_tile(part.statements, outside, tile[-1]))
            inner = register_tiles(self.loops, planned, registers, replace(bounded, known=known))
        if inner is None:
            inner, _ = inner_tiles(self.loops, planned, _reused_rows(planned, level), bounded)
        return inner

    def _on_device(self, part: Band, around: Around) -> ScheduleNode:
        """Map single values of up to three parallel rows to workers and gangs."""
        from tilepragma.lower.band_ast import TileConstraint
        from tilepragma.poly.adjacency import by_transactions
        from tilepragma.poly.intra_tile_schedule import row_order

        every = range(len(part.statements[0].rows))
        ordered = by_transactions(part.statements, part.parallel, every, private_names(self.loops.code.scop))
        levels, outside = (*ordered[: MOST_DIMENSIONS - 1], *ordered[MOST_DIMENSIONS - 1 :][-1:]), around.rows
        iterators = [self.loops.names.scalar(f"{base_name(part.statements, level)}_row") for level in levels]
        tile = tuple(
            TileConstraint(level, access_to(iterator)) for level, iterator in zip(levels, iterators, strict=True)
        )
        known = around.known
        for constraint in tile:
            known = known.also(self.loops.code.known_sum(part.statements, (constraint.level,), outside, constraint))
        body = self.loops.points(part, row_order(part), (*outside, *tile), known)
        tiles: dict[int, tuple[TileClause, ...]] = {}
        for dimension, (level, iterator) in enumerate(reversed(tuple(zip(levels, iterators, strict=True)))):
            bounds = self.loops.row_range(part.statements, level, outside)
            loop = self.loops.loop(iterator, bounds.lower, bounds.upper, body)
            kinds = (TileKind.DYNAMIC, TileKind.GANG, TileKind.WORKER)
            tiles[loop.index] = clauses(*kinds, dimension=dimension)
            body = (loop,)
        return LaunchNode(Block(body), tiles)


def _reused_rows(planned: PlannedBand, level: int) -> tuple[int, ...]:
    """The rows to tile inside a block of the row at `level`: every value of it reuses their tiles.
    Only if the band has at most one more parallel row: otherwise the tile would not stay in the
    cache.
    """
    part = planned.part
    deepest = max(each.statement.depth for each in part.statements)
    return part.carrying if deepest > 2 and level != planned.points.along and len(part.free) <= 2 else ()


def _host_extent(part: Band, level: int, along: int | None) -> tuple[int, int]:
    """Values of the row at `level` that one thread takes at a time, and their unit."""
    if level != along:
        return SHORT_BLOCK, 1
    deepest = max(each.statement.depth for each in part.statements)
    return (BLOCK if deepest > 2 else LONG_BLOCK), ALONG_UNIT
