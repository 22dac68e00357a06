"""Hyperplanes (thesis Algorithm 4.1) for regions whose own loops are not parallel.

Statements are distributed over bands (poly/bands.py). A band with parallel rows is a launch over
these rows. A band that needs an order is a host loop over wavefronts of tiles, with a launch for
each wavefront (schedule/wavefront.py). Outer sequential rows are host loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TemporalTiles, TileClause, TileKind
from tilepragma.ir.expressions import DataObject, access_to, integer
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import Block, Statement
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number
from tilepragma.lower.ast_generation import GeneratedLoops
from tilepragma.lower.band_loops import (
    BandLoops,
    EnclosingTile,
    PlannedBand,
    TileConstraint,
    UnboundedRowError,
    base_name,
    clauses,
    declared,
    floor_quotient,
    mapped_nest,
    term,
)
from tilepragma.plan.kernel_plan import HostLoop, TileSize
from tilepragma.plan.space_time import Meanings
from tilepragma.plan.summary import buffered
from tilepragma.poly.adjacency import by_transactions
from tilepragma.poly.band_fusion import MappedBand, band_strips_of, fusible_bands
from tilepragma.poly.bands import Band, BandKind, OuterLoop, parallel_parts, parts_in, registers_of
from tilepragma.poly.dependences import Dependence, memory_dependences
from tilepragma.poly.extents import Bounds
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.intra_tile_schedule import InnermostCost, by_strides, intra_tile_order, original_order, row_order
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import Scop, ScopStatement
from tilepragma.poly.wavefronts import concurrent_start, concurrent_tile
from tilepragma.schedule.candidate import Depths, Refusal, Region, ScheduleCandidate, counts_as_work
from tilepragma.schedule.coalescing import private_names
from tilepragma.schedule.cpu_register_tiles import register_block, register_tiles
from tilepragma.schedule.default_sizes import ALONE_ROWS, block_extent
from tilepragma.schedule.macro_statements import private_scalars, tied_bodies, updating_bodies
from tilepragma.schedule.reduction_detection import FreedReductions, freed_reductions, with_reductions
from tilepragma.schedule.tree import LaunchNode, ScheduleNode, candidate_of
from tilepragma.schedule.wavefront import inner_tiles, wavefront_node
from tilepragma.user_tiles.mapping import MOST_DIMENSIONS

Parts = tuple[PlannedBand, ...]
Strip = tuple[Polynomial, DataObject]
"""The first block of a strip, and the size of blocks."""


def hyperplanes(region: Region) -> ScheduleCandidate | Refusal:
    """Schedule the whole region by hyperplanes, or say why they do not help."""
    try:
        return _hyperplanes(region)
    except OperationLimitError as limit:
        return Refusal(str(limit))
    except UnboundedRowError:
        return Refusal("a row of the hyperplanes has no bound that is known at launch")


def _hyperplanes(region: Region) -> ScheduleCandidate | Refusal:
    bodies = dict.fromkeys((updating_bodies(region), tied_bodies(region)))
    distribution = _most_parallel(_distribution(region, body) for body in bodies)
    if all(each.kind is BandKind.SERIAL for each in parts_in(distribution.parts)):
        scalars = _blocking_scalars(region, distribution)
        if scalars is not None:
            return Refusal(scalars, decisive=True)
        return Refusal("no hyperplane of Algorithm 4.1 leaves parallel loops" + _not_affine(distribution.scop))
    with operation_limit(distribution.scop.context, DEFAULT_LIMIT, "writing loops over hyperplanes"):
        planned = distribution.planned()
        on_devices = region.kernel.directive.temporal
        on_cores = region.kernel.directive.host_temporal or on_devices
        ways = tuple(ways_to_tile(planned, on_cores, on_devices, distribution.dependences))
    answers = (_answer(region, distribution, *way) for way in ways[:-1])
    answer = next((answer for answer in answers if isinstance(answer, ScheduleCandidate)), None)
    return answer or _answer(region, distribution, *ways[-1])


def _blocking_scalars(region: Region, distribution: _Distribution) -> str | None:
    """Why scalars order what would be wavefronts without them; None if they do not."""
    if not distribution.freed.held:
        return None
    unordered = _distribution(region, distribution.tied, distribution)
    # Without dependences `as_written` plans the loops, and reports them.
    wavefronts = any(each.kind is BandKind.WAVEFRONT for each in parts_in(unordered.parts))
    return distribution.freed.held[0] if wavefronts else None


def _answer(
    region: Region, distribution: _Distribution, host: Parts, device: Parts, *, sharing: bool = True
) -> ScheduleCandidate | Refusal:
    """The candidate with these bands for cores and devices; `sharing`: fuse blocks on cores."""
    names, vectors = Names(set(names_in(region.kernel))), region.kernel.directive.vectors
    sizes: dict[tuple[int, int], TileSize] = {}
    meanings = Meanings()
    generated: GeneratedLoops = {}
    trees, builders = [], []
    with operation_limit(distribution.scop.context, DEFAULT_LIMIT, "writing loops over hyperplanes"):
        for planned, on_device in ((host, False), (device, True)):
            numbers = region.loop_numbers()
            shared = sizes, meanings, generated
            loops = BandLoops(distribution.scop, distribution.dependences, names, on_device, numbers, vectors, *shared)
            by_part = {id(each.before_skewing): each for each in planned}
            builders.append(_TreeBuilder(loops, by_part, sharing and not on_device))
            trees.append(
                with_reductions(builders[-1].nodes(distribution.parts, loops.outermost), distribution.freed.clauses)
            )
    host_nodes, device_nodes = trees
    answer = candidate_of(
        "hyperplanes",
        region,
        host_nodes,
        device_nodes,
        tuple(sizes.values()),
        depths=distribution.depths(),
        meanings=meanings,
    )
    if isinstance(answer, Refusal):
        return answer
    cost = distribution.innermost_cost(host)
    if cost is not None:  # register tiles spare some
        kept = len(list(buffered(answer.host_steps)))
        cost = replace(cost, reloading=max(0, cost.reloading - kept))
    return replace(
        answer,
        innermost_cost=cost,
        asked_on_devices=any(each.pair for each in device),
        strips=builders[0].strips,
        fallback=partial(_answer, region, distribution, host, device, sharing=False) if builders[0].shared else None,
    )


def _not_affine(scop: Scop) -> str:
    """The first expression that kept a statement whole, to end a reason with."""
    first = next(iter(scop.reasons), None)
    return "" if first is None else f", since on line {first.range.start.line} {first.reason}"


@dataclass(frozen=True)
class _Distribution:
    """One way to distribute the region's statements, and its bands; `memory`: all dependences."""

    scop: Scop
    memory: tuple[Dependence, ...]
    dependences: tuple[Dependence, ...]
    parts: tuple[Band | OuterLoop, ...]
    tied: tuple[Block, ...]
    freed: FreedReductions

    def depths(self) -> Depths:
        """Depths in loops as the user wrote them; sequential host rows count for some of these."""
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
        parts = tuple(parts_in(self.parts))
        parts += tuple(single for each in parts for single in each.alone)
        return tuple(
            PlannedBand(each, place, intra_tile_order(each, self.dependences)) for place, each in enumerate(parts)
        )

    def innermost_cost(self, planned: tuple[PlannedBand, ...]) -> InnermostCost | None:
        """The cost of the deepest statements' innermost loops; None if loops move as
        macro-statements.
        """
        if any(len(part.loops) > len(each.loops) for each in self.scop.statements for part in each.parts):
            return None
        deepest = max((each.depth for each in self.scop.statements), default=0)
        bands = (
            band
            for band in planned
            if not band.part.alone and any(each.statement.depth == deepest for each in band.part.statements)
        )
        return sum((band.points.cost for band in bands), InnermostCost())


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


def _distribution(region: Region, tied: tuple[Block, ...], ordered: _Distribution | None = None) -> _Distribution:
    """Distribute the region; ignore the updates' order of `ordered`. Raises OperationLimitError."""
    form = (region.statements, region.kernel.functions, region.written, lambda each: any(each is body for body in tied))
    scop = ordered.scop if ordered is not None else extract_scop(*form)
    private = private_scalars(region, scop)
    freed = freed_reductions(region, scop, private, any_order=ordered is not None)
    with operation_limit(scop.context, DEFAULT_LIMIT, "looking for hyperplanes"):
        memory = ordered.memory if ordered is not None else memory_dependences(scop)
        ordering = tuple(
            dependence
            for dependence in memory
            if dependence.source.object not in private and not freed.frees(dependence)
        )
        return _Distribution(scop, memory, ordering, parallel_parts(scop.statements, ordering), tied, freed)


# -- diamond tiles: the bands with concurrent start
#
# On cores all bands of few rows get them. A wavefront of skewed tiles has as many tiles as there
# are tiles of time: few for few time steps. On two cores, diamonds take 0.6 to 0.8 of the time of
# skewed tiles for jacobi-2d. On devices, where a launch for each time step is the alternative, only
# the user's clause asks for diamonds: we have not timed them there.

_MOST_ROWS = 3
"""The most rows of a band that gets diamonds by default. With four rows (time and three of a grid),
building and proving the tiles takes ten times as long as for skewed tiles, and heat-3d gains
little.
"""


def ways_to_tile(
    planned: Parts, on_cores: TemporalTiles, on_devices: TemporalTiles, dependences: tuple[Dependence, ...]
) -> Iterator[tuple[Parts, Parts]]:
    """The bands for cores and for devices, best first, the variant without diamonds last."""
    host = planned
    if on_cores is not TemporalTiles.SKEWED:
        host = tuple(
            _concurrent_start(each, dependences)
            if on_cores is TemporalTiles.DIAMOND or len(each.part.band) <= _MOST_ROWS
            else each
            for each in planned
        )
    if on_devices is TemporalTiles.DIAMOND:
        diamonds = tuple(_concurrent_start(each, dependences) for each in planned) if host == planned else host
        device = tuple(_in_steps(diamond, each, dependences) for diamond, each in zip(diamonds, planned, strict=True))
        if device != planned:
            yield host, device
    if host != planned:
        yield host, planned
    yield planned, planned


def _concurrent_start(planned: PlannedBand, dependences: tuple[Dependence, ...]) -> PlannedBand:
    start = concurrent_start(planned.part, dependences, planned.points.along)
    return planned if start is None else replace(planned, part=start.part, concurrent=start)


def _in_steps(diamond: PlannedBand, skewed: PlannedBand, dependences: tuple[Dependence, ...]) -> PlannedBand:
    """The band with diamonds run step by step, if points of one step are independent."""
    start = diamond.concurrent
    return skewed if start is None or concurrent_tile(start, dependences) is None else diamond


# -- schedule nodes

_STRIP_BLOCKS = 8
"""Blocks of the first band in a strip: one for each of 8 threads, and they stay in the shared
cache.
"""


@dataclass
class _TreeBuilder:
    """Builds schedule nodes of bands for one kind of target. `planned` holds each band's plan by
    identity. `sharing`: fuse bands over blocks where possible.
    """

    loops: BandLoops
    planned: dict[int, PlannedBand]
    sharing: bool
    strips: bool = False
    """some bands alternate in strips"""
    shared: bool = False
    """some launch has several bands, fused over their blocks"""

    def nodes(self, parts: Iterable[Band | OuterLoop], around: EnclosingTile) -> tuple[ScheduleNode, ...]:
        """The nodes of the bands in sequence, for each value of the host iterators `around`."""
        waiting = [part for each in parts for part in self._split_alone(each)]
        nodes: list[ScheduleNode] = []
        while waiting:
            if rows := self._strips(waiting, around):
                nodes.append(self._in_strips(rows))
                del waiting[: len(rows)]
            elif fused := self._fused(waiting, around):
                nodes.append(self._in_blocks(fused, around))
                del waiting[: len(fused)]
            else:
                nodes.append(self._node(waiting.pop(0), around))
        return tuple(nodes)

    def _strips(self, waiting: list[Band | OuterLoop], around: EnclosingTile) -> tuple[MappedBand, ...]:
        """The leading bands that alternate in strips."""
        return () if around.rows or self.loops.device else band_strips_of(waiting, self.loops.dependences)

    def _fused(self, waiting: list[Band | OuterLoop], around: EnclosingTile) -> tuple[MappedBand, ...]:
        """The leading bands to fuse in one host launch: rows with equal bounds, no strips."""
        if not self.sharing:
            return ()
        fused = fusible_bands(waiting, self.loops.dependences)
        same: list[Bounds] = []
        for place, band in enumerate(fused):
            bounds = self.loops.row_range(band.part.statements, band.level, around.rows)
            if place and (bounds != same[0] or self._strips(waiting[place:], around)):
                break
            same.append(bounds)
        return fused[: len(same)] if len(same) > 1 else ()

    def _in_strips(self, rows: tuple[MappedBand, ...]) -> ScheduleNode:
        """The bands, which stream the same array, alternating in strips of these rows.

            for blocks of i, for j: P;  for blocks of j, for i: Q
        ->  for (strip) { for blocks of i in strip, for j: P;  for blocks of j, for i in strip: Q; }

        The others then find in the cache what the first band read of a strip. (`as_written` does so
        with the user's own loops.)
        """
        self.strips = True
        first = next(row for row in rows if row.distributed)
        base = base_name(first.part.statements, first.level)
        size = self.loops.size_of(self.planned[id(first.part)].number, first.level, base, ALONE_ROWS, ALONE_ROWS)
        every = self.loops.tile_range(first.part.statements, first.level, size, ())
        iterator = self.loops.names.scalar(f"{base}_strip")
        lower, upper = (floor_quotient(bound, integer(_STRIP_BLOCKS)) for bound in (every.low, every.high))
        loop = self.loops.loop(iterator, lower, upper)
        first_block = term(iterator) * number(_STRIP_BLOCKS)
        origin, extent = (expression(blocks * term(size)) for blocks in (first_block, number(_STRIP_BLOCKS)))
        nodes = []
        for row in rows:
            around, strip = self.loops.outermost, (first_block, size)
            self.loops.means(iterator, row.part.statements, {row.level: size}, _STRIP_BLOCKS)
            if not row.distributed:
                fact = self.loops.known_tile(row.part.statements, (), row.level)
                around = around.within(TileConstraint(row.level, origin, extent), fact)
            nodes.append(self._on_host(row.part, around, strip if row.distributed else None))
        return HostLoop(loop, tuple(nodes))

    def _split_alone(self, part: Band | OuterLoop) -> tuple[Band | OuterLoop, ...]:
        """On cores, split off the statements that keep elements in registers."""
        return part.alone if isinstance(part, Band) and part.alone and not self.loops.device else (part,)

    def _node(self, part: Band | OuterLoop, around: EnclosingTile) -> ScheduleNode:
        if isinstance(part, OuterLoop):
            return self._outer_loop(part, around)
        if part.kind is BandKind.WAVEFRONT:
            return wavefront_node(self.loops, self.planned[id(part)], around)
        if part.kind is BandKind.DOALL:
            return self._on_device(part, around) if self.loops.device else self._on_host(part, around)
        return LaunchNode(Block(self.loops.points(part, original_order(part), around)))

    def _outer_loop(self, row: OuterLoop, around: EnclosingTile) -> ScheduleNode:
        bounds = self.loops.row_range(row.statements, row.level, around.rows)
        iterator = self.loops.names.scalar(f"{base_name(row.statements, row.level)}_row")
        self.loops.means(iterator, row.statements, {row.level: None})
        loop = self.loops.loop(iterator, bounds.low, bounds.high)
        inside = self.loops.at_row(row.statements, around, TileConstraint(row.level, access_to(iterator)))
        return HostLoop(loop, self.nodes(row.parts, inside))

    def _on_host(self, part: Band, around: EnclosingTile, strip: Strip | None = None) -> ScheduleNode:
        """Map blocks of the first parallel row, in `strip` if given, cyclically to threads."""
        return self._in_blocks((MappedBand(part, by_strides(part, part.parallel)[0]),), around, strip)

    def _in_blocks(
        self, mapped: tuple[MappedBand, ...], around: EnclosingTile, strip: Strip | None = None
    ) -> ScheduleNode:
        """The launch of bands that share blocks, those of a strip if given; without, the deepest
        band sets the block size.
        """
        deepest = max(mapped, key=lambda band: band.depth)
        statements, level = deepest.part.statements, deepest.level
        base = base_name(statements, level)
        size = self._block_size(deepest, base) if strip is None else strip[1]
        blocks = self.loops.tile_range(statements, level, size, around.rows)
        lower, upper = blocks.low, blocks.high
        if strip is not None:
            lower = strip[0] if lower == number(0) else maximum((lower, strip[0]))
            upper = minimum((upper, strip[0] + number(_STRIP_BLOCKS - 1)))
        block, first = self.loops.names.scalar(f"{base}_block"), self.loops.names.scalar(f"{base}_first")
        points = (each for band in mapped for each in self._in_block(band, first, size, around))
        body = (declared(first, term(block) * term(size)), *points)
        loop = self.loops.loop(block, lower, upper, body)
        self.shared |= len(mapped) > 1
        for band in mapped:
            self.loops.means(block, band.part.statements, {band.level: size})
        tiles = {loop.index: clauses(TileKind.DYNAMIC, TileKind.THREAD)}
        return LaunchNode(Block((loop,)), tiles)

    def _block_size(self, mapped: MappedBand, base: str) -> DataObject:
        """The symbol for the block size of the band's mapped row."""
        planned = self.planned[id(mapped.part)]
        registers = registers_of(mapped.part, mapped.level)
        extent, unit = block_extent(mapped.part, mapped.level, planned.points.along)
        if registers is not None:
            extent, unit = register_block(self.loops, planned, registers, mapped.level)
        return self.loops.size_of(planned.number, mapped.level, base, extent, extent, unit)

    def _in_block(
        self, mapped: MappedBand, first: DataObject, size: DataObject, around: EnclosingTile
    ) -> tuple[Statement, ...]:
        """The band's points in the block of `size` values of its mapped row from `first` on."""
        part, level, outside = mapped.part, mapped.level, around.rows
        planned, registers = self.planned[id(part)], registers_of(part, level)
        bounded = EnclosingTile((*outside, TileConstraint(level, access_to(first), access_to(size))), around.known)
        inner = None
        if registers is not None:
            known = around.known.intersect(self.loops.known_tile(part.statements, outside, level))
            inner = register_tiles(self.loops, planned, registers, replace(bounded, known=known))
        if inner is None:
            inner, _ = inner_tiles(self.loops, planned, _reused_rows(planned, level), bounded)
        return inner

    def _on_device(self, part: Band, around: EnclosingTile) -> ScheduleNode:
        """Map single values of up to three parallel rows to workers and gangs."""
        every = range(len(part.statements[0].rows))
        ordered = by_transactions(part.statements, part.parallel, every, private_names(self.loops.scop))
        levels, outside = (*ordered[: MOST_DIMENSIONS - 1], *ordered[MOST_DIMENSIONS - 1 :][-1:]), around.rows
        iterators = [self.loops.names.scalar(f"{base_name(part.statements, level)}_row") for level in levels]
        for iterator, level in zip(iterators, levels, strict=True):
            self.loops.means(iterator, part.statements, {level: None})
        tile = tuple(map(TileConstraint, levels, map(access_to, iterators)))
        inside = around
        for constraint in tile:
            fact = self.loops.known_sum(part.statements, (constraint.level,), outside, constraint.parameter)
            inside = inside.within(constraint, fact)
        body = self.loops.points(part, row_order(part), inside)
        tiles: dict[int, tuple[TileClause, ...]] = {}
        spans = [self.loops.row_range(part.statements, level, outside) for level in levels]
        kinds = (TileKind.DYNAMIC, TileKind.GANG, TileKind.WORKER)
        nest = mapped_nest(iterators, spans, body, self.loops.numbers, tiles, *kinds)
        return LaunchNode(Block(nest), tiles)


def _reused_rows(planned: PlannedBand, level: int) -> tuple[int, ...]:
    """The rows to tile inside a block of the row at `level`: every value of it reuses their tiles.
    Only if the band has at most one more parallel row: otherwise the tile would not stay in the
    cache.
    """
    part = planned.part
    deepest = max(each.statement.depth for each in part.statements)
    return part.carrying if deepest > 2 and level != planned.points.along and len(part.free) <= 2 else ()
