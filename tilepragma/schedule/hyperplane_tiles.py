"""S2: hyperplanes. Algorithm 4.1's rows for what the user's own loops do not make parallel.

Statements are taken apart where nothing ties them (poly/bands.py). A part whose rows run at once
becomes a launch over these rows; one whose band must be ordered becomes a host loop over wavefronts
of tiles, with a launch for the tiles of one wavefront (wavefront_plan.py); rows that are stepped
through become host loops.
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
from tilepragma.plan.kernel_plan import TileSize
from tilepragma.plan.summary import buffered
from tilepragma.schedule.coalescing import private_names
from tilepragma.schedule.diamond import Parts, ways_to_tile
from tilepragma.schedule.intra_tile_wavefront import BoundedTile
from tilepragma.schedule.macro_statements import MacroStatements, private_scalars, tied_bodies, updating_bodies
from tilepragma.schedule.reduction_detection import FreedReductions, freed_reductions, with_reductions
from tilepragma.schedule.register_tile import ALONE_ROWS, block_extent, register_tiles
from tilepragma.schedule.strategy import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.strip_rows import RowStrip, StripLoop, strip_loop
from tilepragma.schedule.tree import Draft, DraftLaunch, DraftLoop, counts_as_work, draft_launches, make_automatic
from tilepragma.schedule.wavefront import inner_tiles, wavefront_draft
from tilepragma.user_tiles.mapping import MOST_DIMENSIONS

if TYPE_CHECKING:
    from tilepragma.poly.band_strips import BandStrip
    from tilepragma.poly.bands import OuterLoop, Part
    from tilepragma.poly.intra_tile_schedule import Steps
    from tilepragma.poly.program import Program
    from tilepragma.poly.scop import Scop, ScopStatement
    from tilepragma.poly.tile_fusion import MappedBand

SHORT_BLOCK, BLOCK, LONG_BLOCK = 32, 128, 512
"""Values of a row that one thread takes at a time: of a row across memory; of one along it whose
other loops come back to the same elements, which should stay in the cache; of one along it that
streams through memory.
"""
ALONG_UNIT = 16
"""Blocks of a row along memory are a multiple of it, as long as a line of the cache at least."""


def hyperplanes(region: Region) -> ScheduleCandidate | Refusal:
    """Drafts of the whole region, or why hyperplanes do not help."""
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
    apart = _most_parallel(_taken_apart(region, body) for body in bodies)
    if all(each.kind is BandKind.SERIAL for each in parts_in(apart.parts)):
        scalars = _scalars_in_the_way(region, apart)
        if scalars is not None:
            return Refusal(scalars, decisive=True)
        return Refusal("no hyperplane of Algorithm 4.1 leaves anything to run at once" + _not_affine(apart.scop))
    with operation_limit(apart.scop.context, DEFAULT_LIMIT, "writing loops over hyperplanes"):
        planned = apart.planned()
        said = region.kernel.directive
        ways = tuple(
            ways_to_tile(planned, said.host_temporal or said.temporal, said.temporal, apart.program.dependences)
        )
    answers = (_answer(region, apart, *way) for way in ways[:-1])
    answer = next((answer for answer in answers if isinstance(answer, ScheduleCandidate)), None)
    return answer or _answer(region, apart, *ways[-1])


def _scalars_in_the_way(region: Region, apart: _TakenApart) -> str | None:
    """Why scalars keep in order what runs in wavefronts without them; None where they do not."""
    from tilepragma.poly.bands import BandKind, parts_in

    if not apart.freed.held:
        return None
    other = _taken_apart(region, apart.tied, any_order=True)
    # Without any dependence the loops would be the structure's, which says so itself.
    wavefronts = any(each.kind is BandKind.WAVEFRONT for each in parts_in(other.parts))
    return apart.freed.held[0] if wavefronts else None


def _answer(
    region: Region, apart: _TakenApart, host: Parts, device: Parts, *, sharing: bool = True
) -> ScheduleCandidate | Refusal:
    """The answer with these parts for cores and for devices; `sharing`: on cores some share blocks where they can."""
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit

    with operation_limit(apart.scop.context, DEFAULT_LIMIT, "writing loops over hyperplanes"):
        host_drafts, device_drafts, sizes = _both_drafts(region, apart, host, device, sharing)
    host_drafts, device_drafts = (
        tuple(with_reductions(draft, apart.freed.clauses) for draft in drafts)
        for drafts in (host_drafts, device_drafts)
    )
    answer = make_automatic("hyperplanes", region, host_drafts, device_drafts, sizes, depths=apart.depths())
    if isinstance(answer, Refusal):
        return answer
    strips = any(isinstance(draft, StripLoop) for draft in host_drafts)
    shared = any(isinstance(launch, SharedLaunch) for launch in draft_launches(host_drafts))
    return replace(
        answer,
        steps=_steps(answer, apart, host),
        asked_on_devices=any(each.pair for each in device),
        strips=strips,
        plainer=partial(_answer, region, apart, host, device, sharing=False) if shared else None,
    )


def _steps(answer: ScheduleCandidate, apart: _TakenApart, planned: Parts) -> Steps | None:
    """Those of the parts, less what register tiles spare."""
    steps = apart.steps(planned)
    if steps is None:
        return None
    kept = len(list(buffered(answer.host_steps)))
    return replace(steps, reloading=max(0, steps.reloading - kept))


class SharedLaunch(DraftLaunch):
    """A launch of several parts in blocks that they share."""


def _both_drafts(
    region: Region, apart: _TakenApart, host: Parts, device: Parts, sharing: bool
) -> tuple[tuple[Draft, ...], tuple[Draft, ...], tuple[TileSize, ...]]:
    """The drafts for the host and for devices, and their tile sizes. Raises UnboundedRowError."""
    from tilepragma.lower.band_ast import BandCode

    code = BandCode(apart.scop, apart.program)
    sizes = TileSizes(Names(set(names_in(region.kernel))))
    vectors = region.kernel.directive.vectors
    drafts = []
    for planned, on_device in ((host, False), (device, True)):
        by_part = {id(each.before_skewing): each for each in planned}
        loops = BandLoops(code, sizes.names, sizes, on_device, region.first_index, vectors)
        drafts.append(
            _Drafts(loops, by_part, sharing and not on_device).drafts(apart.parts, Around((), code.nothing_known))
        )
    return drafts[0], drafts[1], tuple(sizes.sizes.values())


def _not_affine(scop: Scop) -> str:
    """The first expression that kept a statement from being taken apart, for a reason's end."""
    first = next(iter(scop.reasons), None)
    return "" if first is None else f", since on line {first.range.start.line} {first.reason}"


@dataclass(frozen=True)
class _TakenApart:
    """A way to take the region's statements apart, and what became of them."""

    scop: Scop
    program: Program
    parts: tuple[Part | OuterLoop, ...]
    tied: MacroStatements
    freed: FreedReductions

    def depths(self) -> Depths:
        """By the loops of the statements as the user wrote them; rows that are stepped through on the host count for some of them."""
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
        """The parts with the orders of their points."""
        from tilepragma.poly.bands import parts_in
        from tilepragma.poly.intra_tile_schedule import intra_tile_order

        parts = tuple(parts_in(self.parts))
        parts += tuple(one for each in parts for one in each.alone)
        return tuple(
            PlannedBand(each, place, intra_tile_order(each, self.program.dependences))
            for place, each in enumerate(parts)
        )

    def steps(self, planned: tuple[PlannedBand, ...]) -> Steps | None:
        """Of the deepest statements; unknown where loops move as wholes, inside bodies."""
        from tilepragma.poly.intra_tile_schedule import Steps

        if any(len(part.loops) > len(each.loops) for each in self.scop.statements for part in each.parts):
            return None
        deepest = max((each.depth for each in self.program.statements), default=0)
        return sum(
            (
                one.points.steps
                for one in planned
                if not one.part.alone and any(each.statement.depth == deepest for each in one.part.statements)
            ),
            Steps(),
        )


def _most_parallel(ways: Iterable[_TakenApart]) -> _TakenApart:
    """The way that leaves least in order; of those the one with the deepest loops that run at once."""

    def cost(way: _TakenApart) -> tuple[int, int]:
        depths = way.depths()
        return depths.sequential, -depths.parallel

    return min(ways, key=cost)


def _work(statement: ScopStatement) -> int:
    """The loops around the deepest part of a statement that may run for long."""
    around = max((each.loops for each in (statement, *statement.parts)), key=len)
    return sum(counts_as_work(loop) for loop in around)


def _taken_apart(region: Region, tied: MacroStatements, *, any_order: bool = False) -> _TakenApart:
    """The parts that are found where these bodies move as wholes; `any_order` as if no scalar's order mattered. Raises OperationLimitError."""
    from tilepragma.poly.bands import parallel_parts
    from tilepragma.poly.dependences import memory_dependences
    from tilepragma.poly.extraction import extract_scop
    from tilepragma.poly.instance_sets import Movable
    from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
    from tilepragma.poly.program import program_of

    scop = extract_scop(region.statements, region.kernel.functions, region.written, Movable(tied.holds))
    private = private_scalars(region, scop)
    freed = freed_reductions(region, scop, private, any_order=any_order)
    with operation_limit(scop.context, DEFAULT_LIMIT, "looking for hyperplanes"):
        ordering = (
            dependence
            for dependence in memory_dependences(scop)
            if dependence.source.object not in private and not freed.frees(dependence)
        )
        program = program_of(scop, tuple(ordering))
        return _TakenApart(scop, program, parallel_parts(program.statements, program.dependences), tied, freed)


@dataclass(frozen=True)
class _Drafts:
    """Makes drafts of parts for one kind of target; `planned` says more of them, by their identity.
    `sharing`: parts share blocks where they can.
    """

    loops: BandLoops
    planned: dict[int, PlannedBand]
    sharing: bool

    def drafts(self, parts: Iterable[Part | OuterLoop], around: Around) -> tuple[Draft, ...]:
        """The parts one after another, for each value of the iterators of host loops `around`."""
        apart = [one for each in parts for one in self._on_their_own(each)]
        found: list[Draft] = []
        while apart:
            if rows := self._strips(apart, around):
                found.append(self._in_strips(rows))
                del apart[: len(rows)]
            elif together := self._together(apart, around):
                found.append(self._in_blocks(together, around))
                del apart[: len(together)]
            else:
                found.append(self._draft(apart.pop(0), around))
        return tuple(found)

    def _strips(self, apart: list[Part | OuterLoop], around: Around) -> tuple[BandStrip, ...]:
        """The first of the parts, that take turns on strips."""
        from tilepragma.poly.band_strips import band_strips_of

        return () if around.rows or self.loops.device else band_strips_of(apart, self.loops.code.program.dependences)

    def _together(self, apart: list[Part | OuterLoop], around: Around) -> tuple[MappedBand, ...]:
        """The first of the parts, that share blocks in one launch on cores: their rows have the same values, and none begins strips."""
        from tilepragma.poly.tile_fusion import fusible_bands

        if not self.sharing:
            return ()
        found = fusible_bands(apart, self.loops.code.program.dependences)
        same: list[Bounds] = []
        for place, one in enumerate(found):
            bounds = self.loops.row_range(one.part.statements, one.level, around.rows)
            if place and (bounds != same[0] or self._strips(apart[place:], around)):
                break
            same.append(bounds)
        return found[: len(same)] if len(same) > 1 else ()

    def _in_strips(self, rows: tuple[BandStrip, ...]) -> Draft:
        """Parts taking turns on strips of these rows."""
        first = next(row for row in rows if row.distributed)
        base = base_name(first.part.statements, first.level)
        size = self.loops.sizes.of(self.planned[id(first.part)].number, first.level, base, ALONE_ROWS, ALONE_ROWS)
        loop, strip = strip_loop(self.loops, first, size)
        nowhere = Around((), self.loops.code.nothing_known)
        drafts = (
            self._on_host(row.part, nowhere, strip)
            if row.distributed
            else self._on_host(row.part, strip.around(self.loops, row))
            for row in rows
        )
        return StripLoop(loop, tuple(drafts))

    def _on_their_own(self, part: Part | OuterLoop) -> tuple[Part | OuterLoop, ...]:
        """On cores what keeps elements in registers runs alone."""
        from tilepragma.poly.bands import Part

        alone = isinstance(part, Part) and part.alone and not self.loops.device
        return part.alone if isinstance(part, Part) and alone else (part,)

    def _draft(self, part: Part | OuterLoop, around: Around) -> Draft:
        from tilepragma.poly.bands import BandKind, OuterLoop
        from tilepragma.poly.intra_tile_schedule import original_order

        if isinstance(part, OuterLoop):
            return self._stepped(part, around)
        if part.kind is BandKind.WAVEFRONT:
            return wavefront_draft(self.loops, self.planned[id(part)], around)
        if part.kind is BandKind.DOALL:
            return self._on_device(part, around) if self.loops.device else self._on_host(part, around)
        return DraftLaunch(Block(self.loops.points(part, original_order(part), around.rows, around.known)))

    def _stepped(self, row: OuterLoop, around: Around) -> Draft:
        bounds = self.loops.row_range(row.statements, row.level, around.rows)
        iterator = self.loops.names.scalar(f"{base_name(row.statements, row.level)}_row")
        loop = self.loops.loop(iterator, bounds.lower, bounds.upper)
        return DraftLoop(loop, self.drafts(row.parts, around.inside(self.loops, row, iterator)))

    def _on_host(self, part: Part, around: Around, strip: RowStrip | None = None) -> Draft:
        """Blocks of the first row that runs at once, those of a strip where one is given, dealt to threads in turn."""
        from tilepragma.poly.intra_tile_schedule import by_strides
        from tilepragma.poly.tile_fusion import MappedBand

        dealt = MappedBand(part, by_strides(part, part.parallel)[0])
        return self._in_blocks((dealt,), around, strip)

    def _in_blocks(self, dealt: tuple[MappedBand, ...], around: Around, strip: RowStrip | None = None) -> Draft:
        """The same of parts that share their blocks, which are as large as suits the deepest."""
        deepest = max(dealt, key=lambda one: one.depth)
        statements, level = deepest.part.statements, deepest.level
        base = base_name(statements, level)
        size = self._block_size(deepest, base) if strip is None else strip.size
        blocks = self.loops.tile_range(statements, level, size, around.rows)
        blocks = blocks if strip is None else strip.blocks(blocks)
        block, first = self.loops.names.scalar(f"{base}_block"), self.loops.names.scalar(f"{base}_first")
        points = (each for one in dealt for each in self._in_block(one, first, size, around))
        body = (declared(first, term(block) * term(size)), *points)
        loop = self.loops.loop(block, blocks.lower, blocks.upper, body)
        kind = SharedLaunch if len(dealt) > 1 else DraftLaunch
        return kind(Block((loop,)), {loop.index: clauses(TileKind.DYNAMIC, TileKind.THREAD)})

    def _block_size(self, dealt: MappedBand, base: str) -> DataObject:
        """The symbol for the size of blocks of the part's dealt row."""
        from tilepragma.poly.bands import registers_of

        planned = self.planned[id(dealt.part)]
        registers = registers_of(dealt.part, dealt.level)
        extent, unit = _host_extent(dealt.part, dealt.level, planned.points.along)
        if registers is not None:
            extent, unit = block_extent(self.loops, planned, registers, dealt.level)
        return self.loops.sizes.of(planned.number, dealt.level, base, extent, extent, unit)

    def _in_block(
        self, dealt: MappedBand, first: DataObject, size: DataObject, around: Around
    ) -> tuple[Statement, ...]:
        """The points of a part in the block of `size` values of its dealt row from `first` on."""
        from tilepragma.lower.band_ast import TileConstraint
        from tilepragma.poly.bands import registers_of

        part, level, outside = dealt.part, dealt.level, around.rows
        planned, registers = self.planned[id(part)], registers_of(part, level)
        tile = (*outside, TileConstraint(level, access_to(first), access_to(size)))
        bounded = BoundedTile(tile, frozenset(), around.known)
        inner = None
        if registers is not None:
            known = around.known.also(self.loops.code.known_tile(part.statements, outside, tile[-1]))
            inner = register_tiles(self.loops, planned, registers, replace(bounded, known=known))
        if inner is None:
            inner, _ = inner_tiles(self.loops, planned, _coming_back(planned, level), bounded)
        return inner

    def _on_device(self, part: Part, around: Around) -> Draft:
        """Single values of up to three rows that run at once, dealt to workers and gangs."""
        from tilepragma.lower.band_ast import TileConstraint
        from tilepragma.poly.intra_tile_schedule import row_order
        from tilepragma.poly.thread_mapping import by_transactions

        every = range(len(part.statements[0].rows))
        ordered = by_transactions(part.statements, part.parallel, every, private_names(self.loops.code.scop))
        levels, outside = (*ordered[: MOST_DIMENSIONS - 1], *ordered[MOST_DIMENSIONS - 1 :][-1:]), around.rows
        iterators = [self.loops.names.scalar(f"{base_name(part.statements, level)}_row") for level in levels]
        tile = tuple(TileConstraint(level, access_to(one)) for level, one in zip(levels, iterators, strict=True))
        known = around.known
        for own in tile:
            known = known.also(self.loops.code.known_sum(part.statements, (own.level,), outside, own))
        body = self.loops.points(part, row_order(part), (*outside, *tile), known)
        tiles: dict[int, tuple[TileClause, ...]] = {}
        for dimension, (level, iterator) in enumerate(reversed(tuple(zip(levels, iterators, strict=True)))):
            bounds = self.loops.row_range(part.statements, level, outside)
            loop = self.loops.loop(iterator, bounds.lower, bounds.upper, body)
            kinds = (TileKind.DYNAMIC, TileKind.GANG, TileKind.WORKER)
            tiles[loop.index] = clauses(*kinds, dimension=dimension)
            body = (loop,)
        return DraftLaunch(Block(body), tiles)


def _coming_back(planned: PlannedBand, level: int) -> tuple[int, ...]:
    """The rows to be tiled within a block of the row at `level`: those whose tiles every value of
    it comes back to.

    Only where a tile goes through the block and one row besides: what more it went through would
    not stay in the cache.
    """
    part = planned.part
    deepest = max(each.statement.depth for each in part.statements)
    return part.carrying if deepest > 2 and level != planned.points.along and len(part.free) <= 2 else ()


def _host_extent(part: Part, level: int, along: int | None) -> tuple[int, int]:
    """Values of the row at `level` that one thread takes at a time, and of which these are a multiple."""
    if level != along:
        return SHORT_BLOCK, 1
    deepest = max(each.statement.depth for each in part.statements)
    return (BLOCK if deepest > 2 else LONG_BLOCK), ALONG_UNIT
