"""Staging: which arrays device launches copy to shared memory, and their bodies with copies.

A launch that is one nest of rectangular loops may stage arrays that it only reads (wavefronts stage
arrays that they write, too: `array_tiles` in schedule/wavefront.py). A gang's tile is what its
workers compute in one round:

    uniform nest { stage; barrier; body; barrier }
    uniform nest { …; for (l_tile …) { stage; barrier; for (l in the tile) …; barrier } … }

Staging pays where neighbouring workers do not read neighbouring elements, and where the points of a
worker share what they read (model/staging_counts.py). Caches serve other reuse.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import TypeGuard

from tilepragma.arguments.scalars import scalar_arguments
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import uses, written_in
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import Access, Binary, DataObject, Expression, Scope, Storage, access_to, integer
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.guards import comparisons, factor_of, slack
from tilepragma.ir.loop_tree import (
    Axis,
    Barrier,
    Block,
    Break,
    Continue,
    Declaration,
    If,
    Loop,
    PackedPanels,
    Return,
    Stage,
    Staged,
    StagedSide,
    StagedTerm,
    Statement,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.polynomial import Polynomial, expression, is_scalar, minimum, number, of_atom, polynomial
from tilepragma.ir.traversal import loops_and_tiled, unwrapped, walk
from tilepragma.ir.types import LONG, ScalarType
from tilepragma.model.bank_conflicts import odd_rows
from tilepragma.model.staging_counts import TileAccesses
from tilepragma.plan.array_bytes import stored_elements
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step, forms, with_launches
from tilepragma.plan.shared_constants import PREFERRED_WORKERS
from tilepragma.poly.extents import Bounds
from tilepragma.poly.reference_spans import Reading, loop_ends, only_read, readings
from tilepragma.storage.gpu_register_tiles import (
    POINTS,
    buffers,
    points_along_rows,
    retiled,
    sums_of,
    with_points,
    worth_points,
)
from tilepragma.user_tiles.mapping import literal_counts
from tilepragma.verify.certificate import Proof
from tilepragma.verify.instances import Original
from tilepragma.verify.proofs import prove_staged

#: Iterations of a sequential loop to stage together; the first that fits.
_TILES = (32, 16, 8, 4)


def proven_staging(
    plan: KernelPlan, proof: Proof | None, original: Original | None, staged_forms: Mapping[str, Launch]
) -> tuple[KernelPlan, Proof | None]:
    """The plan, and its proof, with arrays staged and sums in workers' registers where that is
    proven right. `staged_forms` has launches with a staged form that they may have, by name.
    """
    rejected: tuple[str, ...] = ()
    form = _with_staged_form(plan, staged_forms)
    if form is not None and proof is not None and original is not None:
        faults = prove_staged(form, original, plan)
        if not faults:
            return form, proof.for_plan(form, "device_steps", "scalars")
        rejected = (f"tiles staged in shared memory are not proven right: {faults[0].message}",)
    for registers in (True, False):
        form = with_staging(plan, registers=registers)
        rejected = tuple(dict.fromkeys((*form.rejected, *rejected)))
        if proof is None or original is None or form.device_steps == plan.device_steps:
            break
        faults = prove_staged(form, original, plan)
        if not faults:
            form = replace(form, rejected=rejected)
            return form, proof.for_plan(form, "device_steps", "scalars")
        what = "sums in registers of workers" if registers else "arrays staged in shared memory"
        rejected = (*rejected, f"{what} are not proven right: {faults[0].message}")
    return replace(plan, rejected=rejected), proof


def _with_staged_form(plan: KernelPlan, staged_forms: Mapping[str, Launch]) -> KernelPlan | None:
    """The plan of a wavefront loop with its staged form; None for plans without a proof."""
    steps = plan.device_steps
    loop = steps[0] if len(steps) == 1 else None
    launch = loop.steps[0] if isinstance(loop, HostLoop) and len(loop.steps) == 1 else None
    if not isinstance(loop, HostLoop) or not isinstance(launch, Launch) or not plan.assumes_disjoint:
        return None
    form = staged_forms.get(launch.name)
    if form is None or not any(target.is_device for target in plan.targets):
        return None
    staged = replace(launch, staged=form.staged, staged_scratchpads=form.staged_scratchpads)
    return _with_scalars_of_staged_forms(replace(plan, device_steps=(replace(loop, steps=(staged,)),)))


def with_staging(
    plan: KernelPlan, *, registers: bool = True, points: Mapping[str, tuple[int, int]] = MappingProxyType({})
) -> KernelPlan:
    """The plan with a staged form of every device launch that gains by it, or has one already.

    Only plans that launches check for overlap have any: no write may change the original of a copy.
    `registers`: workers keep sums in registers and have several points where that pays: POINTS, or
    the launch's entry of `points`.
    """
    if plan.untransformed is not None or not plan.assumes_disjoint:
        return plan
    names = Names(set(names_in(plan.kernel, *(launch.body for launch in plan.device))))
    bodies = [form.body for launch in (*plan.host, *plan.device) for form in forms(launch)]
    last = max((loop.index for body in bodies for loop in loops_and_tiled(body)), default=-1)
    planner = _Planner(plan, last + 1, names, registers, points)
    steps = planner.steps(plan.device_steps, frozenset())
    plan = replace(plan, rejected=tuple(dict.fromkeys((*plan.rejected, *planner.notes))))
    return plan if steps == plan.device_steps else _with_scalars_of_staged_forms(replace(plan, device_steps=steps))


def with_points_of_workers(plan: KernelPlan, points: Mapping[str, tuple[int, int]]) -> KernelPlan:
    """The plan with these `points` a worker in the named staged launches, where that pays."""

    def plain(launch: Launch) -> Launch:
        is_meant = launch.name in points and launch.staged is not None
        return retiled(replace(launch, staged=None), {}) if is_meant else launch

    return with_staging(replace(plan, device_steps=with_launches(plan.device_steps, plain)), points=points)


def _with_scalars_of_staged_forms(plan: KernelPlan) -> KernelPlan:
    """The plan with scalars as arguments that staged forms read in bounds of loops."""
    by_address = [argument.object for argument in plan.arrays]
    wanted = set(plan.scalars)
    for launch in plan.device:
        if launch.staged is not None:
            # The staged text declares iterators that the nest had before, and writes them.
            written = [use.object for use in uses(launch.staged, plan.kernel.functions) if use.writes]
            wanted |= set(scalar_arguments(plan.kernel, forms(launch)[-1:], [*by_address, *written]))
    return replace(plan, scalars=tuple(object_ for object_ in plan.kernel.objects if object_ in wanted))


@dataclass
class _Planner:
    """`notes` are clauses on arrays that are worth staging but too large."""

    plan: KernelPlan
    next_index: int
    names: Names
    registers: bool
    points: Mapping[str, tuple[int, int]]
    notes: list[str] = field(default_factory=list)

    def steps(self, steps: tuple[Step, ...], around: frozenset[DataObject]) -> tuple[Step, ...]:
        """The steps with staged launches; `around` are the iterators of the host loops around."""
        result: list[Step] = []
        for step in steps:
            if isinstance(step, Launch):
                result.append(self._launch(step, around))
            else:
                inner = around | {step.loop.iterator} if isinstance(step, HostLoop) else around
                result.append(replace(step, steps=self.steps(step.steps, inner)))
        return tuple(result)

    def _launch(self, launch: Launch, around: frozenset[DataObject]) -> Launch:
        nest = None if launch.staged is not None else _nest_to_stage(launch)
        if nest is None:
            return launch
        tile, arrays = self._best(launch, nest, around)
        if not arrays:
            return launch
        if tile.points:
            tile = replace(tile, nest=with_points(tile.nest, tile.points))
            launch = retiled(launch, tile.points)
        form = self._body(tile, arrays)
        read = {use.object for use in uses(form, self.plan.kernel.functions, launch=True) if use.reads}
        values = tuple(sorted((around & read) - set(launch.values), key=lambda object_: object_.name))
        return replace(launch, staged=form, values=(*launch.values, *values))

    def _best(self, launch: Launch, nest: TileNest, around: frozenset[DataObject]) -> tuple[_Tile, tuple[Staged, ...]]:
        """The tile that stages most arrays, and these; of equal tiles the one without a split."""
        tiles: list[tuple[_Tile, int]] = []
        for tile, sizes in ((_Tile(nest), (1,)), (_split_tile(nest), _TILES)):
            if tile is not None:
                points = self._points(launch, tile, self._candidates(launch, tile, around))
                # With room for double buffering, if any size has that.
                several = itertools.product((1,) if tile.split is None else (2, 1), sizes if points else ())
                tiles += [(replace(tile, size=size, points=points), copies) for copies, size in several]
                tiles += [(replace(tile, size=size), 1) for size in sizes]
        best: tuple[_Tile, list[Candidate]] = (tiles[0][0], [])
        smallest: dict[tuple[DataObject, tuple[str, ...]], Candidate] = {}
        for tile, copies in tiles:
            candidates_of_tile = [candidate for candidate in self._candidates(launch, tile, around) if candidate.pays]
            smallest |= {candidate.key: candidate for candidate in candidates_of_tile}
            worth = self._fitting(candidates_of_tile, copies)
            same_points = not tile.points or self._points(launch, tile, worth) == tile.points
            if len(worth) > len(best[1]) and same_points:
                best = (tile, worth)
        tile, worth = best
        staged = {candidate.key for candidate in worth}
        room = self.plan.kernel.directive.local_bytes
        self.notes += [
            f"what a gang of launch {launch.name} reads of '{candidate.staged.object.host}', {candidate.bytes} bytes, "
            f"does not fit in its {room} bytes of shared memory: it stays in place"
            for key, candidate in smallest.items()
            if key not in staged
        ]
        return tile, tuple(candidate.staged for candidate in worth)

    def _points(self, launch: Launch, tile: _Tile, candidates: Iterable[Candidate]) -> dict[Axis, int]:
        """The points of a worker that pay off where these candidates are staged."""
        staged = tuple(candidate.staged for candidate in candidates)
        if not self.registers:
            return {}
        if tile.split is None:
            counts = replace(tile, points={}).counts(literal_counts(self.plan.counts))
            return points_along_rows(tile.nest, staged, counts)
        return worth_points(tile.nest, tile.split, staged, self.points.get(launch.name, POINTS))

    def _candidates(self, launch: Launch, tile: _Tile, around: frozenset[DataObject]) -> list[Candidate]:
        """The array tiles, those with most accesses an element first."""
        functions = self.plan.kernel.functions
        objects = only_read(launch.body, functions) - set(self.plan.constants)
        read = list(readings(tile.nest.body if tile.split is None else tile.split.body, objects))
        if tile.split is not None:
            others = (statement for statement in tile.nest.body.statements if statement is not tile.split)
            nodes = (node for statement in others for node in walk(statement))
            outside = {_place(node) for node in nodes if isinstance(node, Access)}
            read = [reading for reading in read if _place(reading.access) not in outside]
        written = written_in(launch.body, functions)
        scalars = {object_ for object_ in self.plan.kernel.objects if object_.storage is Storage.SCALAR}
        shared = scalars - written - set(launch.privates)
        shared |= around | {loop.loop.iterator for loop in tile.nest.loops if not loop.is_distributed}
        shared |= {size.object for size in self.plan.sizes}
        counts = tile.counts(literal_counts(self.plan.counts))
        array_tiles = [
            candidate
            for candidate in _candidates(read, tile.terms, frozenset(shared), counts, tile.points)
            if tile.nest.guard is None or len(_guarded_together(candidate, tile.nest.guard)) < 2
        ]
        return sorted(array_tiles, key=lambda tile: (-tile.uses_of_element, tile.staged.object.name, tile.staged.reads))

    def _fitting(self, ranked: list[Candidate], copies: int = 1) -> list[Candidate]:
        """The candidates that fit together, with `copies` of each, in their order."""
        fitting, left = [], self.plan.kernel.directive.local_bytes // copies
        for candidate in ranked:
            if candidate.bytes <= left:
                fitting.append(candidate)
                left -= candidate.bytes
        return fitting

    def _body(self, tile: _Tile, arrays: tuple[Staged, ...]) -> Block:
        statements = tile.nest.body.statements
        if tile.split is None:
            body = Block((Stage(arrays), Barrier(), *statements, Barrier()))
            return Block((replace(tile.nest, body=body, uniform=True),))
        iterator = self.names.scalar(f"{tile.split.iterator.name}_tile")
        rounds: Statement = _split(tile.split, iterator, tile.size, arrays, self.next_index)
        self.next_index += 1
        registers = buffers(sums_of(tile.split), self.names) if self.registers else ()
        rounds = PackedPanels(registers, Block((rounds,))) if registers else rounds
        body = Block((*statements[: tile.place], rounds, *statements[tile.place + 1 :]))
        return Block((replace(tile.nest, body=body, uniform=True),))


def _split(loop: Loop, iterator: DataObject, size: int, arrays: tuple[Staged, ...], index: int) -> Loop:
    """`for (t = lower; t < upper; t += size) { stage; barrier; the loop from t; barrier }`"""
    ends = loop_ends(loop, {})
    assert ends is not None, "a loop that can be split"
    start, upper = of_atom(access_to(iterator)), ends.high + number(1)
    end = expression(minimum((start + number(size), upper)))
    inner = replace(loop, lower=access_to(iterator), comparison="<", upper=end, range=NOWHERE)
    return Loop(
        index=index,
        iterator=iterator,
        declares_iterator=True,
        lower=expression(ends.low),
        comparison="<",
        upper=expression(upper),
        step=integer(size, LONG),
        decreasing=False,
        body=Block((Stage(arrays, ahead=True), Barrier(), inner, Barrier())),
        directive=None,
    )


@dataclass(frozen=True)
class _Tile:
    """A gang's work between copies: a round of the nest, or `size` iterations of the sequential
    loop `split`, statement `place` of the nest's body. Workers have the `points` by axis, where
    more than one.
    """

    nest: TileNest
    split: Loop | None = None
    place: int = 0
    size: int = 1
    points: Mapping[Axis, int] = field(default_factory=dict)

    @property
    def terms(self) -> dict[DataObject, Axis | int]:
        """The iterators of the tile, and how many values each takes."""
        terms: dict[DataObject, Axis | int] = {}
        for tiled in self.nest.loops:
            if tiled.is_distributed:
                axes = [tile.axis for tile in tiled.tiles if tile.kind is TileKind.WORKER]
                terms[tiled.loop.iterator] = axes[0] if axes and axes[0] is not None else 1
        if self.split is not None:
            terms[self.split.iterator] = self.size
        return terms

    def counts(self, literal: Mapping[Axis, int]) -> dict[Axis, int]:
        """The points of a gang by axis, for `literal` counts of workers, else for likely ones."""
        axes = sorted({term for term in self.terms.values() if isinstance(term, Axis)}, key=lambda axis: axis.dimension)
        likely = zip(axes, PREFERRED_WORKERS[len(axes)], strict=True)
        return {axis: literal.get(axis, count) * self.points.get(axis, 1) for axis, count in likely}


def _nest_to_stage(launch: Launch) -> TileNest | None:
    """The launch's single rectangular nest, if its gangs have workers; else None."""
    if launch.reductions:
        return None
    body = unwrapped(launch.body)
    if not isinstance(body, TileNest) or not all(map(_is_plain, body.loops)):
        return None
    nodes = list(walk(body.body))
    if any(isinstance(node, (TileNest, Barrier, Break, Continue, Return)) for node in nodes):
        return None
    if not any(tile.kind is TileKind.WORKER for tile in body.order):
        return None
    inner, guard = _only_block(body.body), body.guard
    only = inner.statements[0] if len(inner.statements) == 1 else None
    if isinstance(only, If) and only.otherwise is None and guard is None and _leaves_no_row(only.condition, body):
        inner, guard = _only_block(only.then), replace(only.condition, range=only.range)
    nest = replace(body, body=inner, guard=guard)
    return nest if all(map(_can_be_hoisted, inner.statements)) else None


def _only_block(block: Block) -> Block:
    """The block without blocks that hold nothing else."""
    while len(block.statements) == 1 and isinstance(block.statements[0], Block):
        block = block.statements[0]
    return block


def _leaves_no_row(condition: Expression, nest: TileNest) -> TypeGuard[Binary]:
    """Whether the condition holds for each iteration of one of the nest's loops in an iteration of
    the others: then every element that depends on one loop alone is read.
    """
    ends = {tiled.loop.iterator: loop_ends(tiled.loop, {}) for tiled in nest.loops if tiled.is_distributed}
    try:
        slacks = [slack(comparison) for comparison in comparisons(condition)]
    except ValueError:
        return False
    if len(slacks) != 1 or not isinstance(condition, Binary):
        # Each may hold in an iteration where the others do not.
        return False
    decided = [iterator for iterator in ends if access_to(iterator) in slacks[0].atoms]
    return len(decided) == 2 and all(_is_met(slacks[0], row, ends) for row in decided)


def _is_met(value: Polynomial, row: DataObject, ends: Mapping[DataObject, Bounds | None]) -> bool:
    """Whether a slack reaches 0 for each iteration of the loop of `row`."""
    for iterator, bounds in ends.items():
        factor = factor_of(iterator, value)
        if factor is None or bounds is None:
            return False
        best = bounds.high if (factor > 0) != (iterator == row) else bounds.low
        value = value.substitute(access_to(iterator), best)
    return value.constant is not None and value.constant >= 0


def _can_be_hoisted(statement: Statement) -> bool:
    """Whether a declaration splits into one without value and an assignment."""
    if not isinstance(statement, Declaration):
        return True
    declared = ((declarator.object, declarator.initializer) for declarator in statement.declarators)
    return all(object_.rank == 0 and not isinstance(value, tuple) for object_, value in declared)


def _is_plain(tiled: TiledLoop) -> bool:
    """Whether workers run consecutive iterations of a unit-step loop, in equal rounds."""
    kinds = [tile.kind for tile in tiled.tiles]
    if not tiled.launch_bounds or polynomial(tiled.loop.step).constant != 1 or tiled.loop.decreasing:
        return False
    if not tiled.is_distributed:
        return kinds == [TileKind.DYNAMIC]
    return kinds in ([TileKind.DYNAMIC, TileKind.GANG], [TileKind.DYNAMIC, TileKind.GANG, TileKind.WORKER])


def _split_tile(nest: TileNest) -> _Tile | None:
    """The tile that splits the nest's innermost unmapped loop, else its body's only loop; None
    where that cannot be split.
    """
    ordered = [tiled for tiled in nest.loops if not tiled.is_distributed]
    if ordered:
        tiled = ordered[-1]
        loop = replace(tiled.loop, body=nest.body, declares_iterator=True)
        loops = tuple(other for other in nest.loops if other is not tiled)
        order = tuple(tile for tile in nest.order if tile.loop != tiled.loop.index)
        rest = replace(nest, loops=loops, order=order, body=Block((loop,)))
        return _Tile(rest, loop) if _can_be_split(loop, nest) else None
    places = enumerate(nest.body.statements)
    inner_loops = [(place, statement) for place, statement in places if isinstance(statement, Loop)]
    if len(inner_loops) != 1 or not _can_be_split(inner_loops[0][1], nest):
        return None
    place, loop = inner_loops[0]
    return _Tile(nest, loop, place)


def _can_be_split(loop: Loop, nest: TileNest) -> bool:
    """Whether the loop counts up by 1 between bounds that are the same for all workers."""
    ends = loop_ends(loop, {})
    if ends is None:
        return False
    varying = {tiled.loop.iterator for tiled in nest.loops if tiled.is_distributed}
    varying |= written_in(nest.body)
    read = {node.object for bound in (loop.lower, loop.upper) for node in walk(bound) if isinstance(node, Access)}
    return not read & varying and all(object_.scope is not Scope.LOCAL or object_.rank == 0 for object_ in read)


def _guarded_together(candidate: Candidate, guard: Expression) -> set[DataObject]:
    """The iterators of an array tile that the guard reads."""
    terms = {term.iterator for side in candidate.staged.sides for term in side.terms}
    return {node.object for node in walk(guard) if isinstance(node, Access)} & terms


def _place(access: Access) -> tuple[DataObject, str]:
    return access.object, subscripts_text(access.subscripts)


# -- array tiles, and whether staging them pays off

Terms = Mapping[DataObject, Axis | int]


@dataclass(frozen=True)
class Candidate:
    """An array tile and its merits for the likely numbers of workers: `bytes` of shared memory,
    `uses_of_element` accesses to an element, and whether the copy `pays`.
    """

    staged: Staged
    bytes: int
    uses_of_element: float
    pays: bool

    @property
    def key(self) -> tuple[DataObject, tuple[str, ...]]:
        """The array and the accesses that the array tile serves."""
        return self.staged.object, self.staged.reads


def _candidates(
    read: Iterable[Reading],
    terms: Terms,
    shared: frozenset[DataObject],
    counts: Mapping[Axis, int],
    points: Mapping[Axis, int],
) -> list[Candidate]:
    """The array tiles whose sizes follow from the numbers of workers: one for all accesses to an
    array that move with the tile in the same way.

    `terms` are the iterators of a tile, `shared` the scalars that are the same for all workers.
    `counts` are the points of a gang by axis, `points` those of a worker.
    """
    groups: dict[tuple[DataObject, tuple[Polynomial, ...]], list[_Placed]] = {}
    for reading in read:
        moves, offsets = [], []
        for span in reading.spans:
            width = None if span is None else (span.high - span.low).constant
            if span is None or width is None or not _moves_with(span.low, terms, shared):
                break
            offset = span.low.constant_term
            moves.append(span.low - number(offset))
            offsets.append((offset, offset + width))
        else:
            groups.setdefault((reading.access.object, tuple(moves)), []).append((reading, tuple(offsets)))
    tiles = (_candidate(object_, moves, group, terms, counts, points) for (object_, moves), group in groups.items())
    return [tile for tile in tiles if tile is not None]


def _moves_with(value: Polynomial, terms: Terms, shared: frozenset[DataObject]) -> bool:
    """Whether the subscript is a sum of tile iterators and shared scalars."""
    parts = _without(value, terms)
    atoms = () if parts is None else parts[1].atoms
    return parts is not None and all(is_scalar(atom) and getattr(atom, "object", None) in shared for atom in atoms)


Ends = tuple[int, int]
"""the least and the greatest constant of a subscript"""

_Placed = tuple[Reading, tuple[Ends, ...]]
"""a reading, with an entry a dimension"""


def _candidate(
    object_: DataObject,
    moves: Sequence[Polynomial],
    read: Sequence[_Placed],
    terms: Terms,
    counts: Mapping[Axis, int],
    points: Mapping[Axis, int],
) -> Candidate | None:
    """The hull of the certain accesses; uncertain ones inside it read it too. `moves` are the
    subscripts without their constants.
    """
    sure = [offsets for reading, offsets in read if reading.certain]
    if not sure:
        return None
    sides = []
    bounds = [(min(ends[0] for ends in column), max(ends[1] for ends in column)) for column in zip(*sure, strict=True)]
    for move, (lowest, highest) in zip(moves, bounds, strict=True):
        parts = _without(move, terms)
        assert parts is not None, "it moves with the tile"
        side_terms = tuple(
            StagedTerm(iterator, factor, extent, points.get(extent, 1) if isinstance(extent, Axis) else 1)
            for (iterator, extent), factor in zip(terms.items(), parts[0], strict=True)
            if factor != 0
        )
        sides.append(StagedSide(side_terms, expression(parts[1] + number(lowest)), highest - lowest))
    inside = [reading for reading, offsets in read if all(map(_contains, bounds, offsets))]
    candidate = _evaluated(object_, tuple(sides), inside, counts, points)
    if candidate is None or object_.rows_in is None:
        return candidate
    # Rows are contiguous: the first element is the first one of the first row.
    before, after = (
        min(tuple(abs(ends[end] - bound[end]) for bound, ends in zip(bounds, offsets, strict=True)) for offsets in sure)
        for end in (0, 1)
    )
    staged = replace(candidate.staged, before=before if any(before) else (), after=after if any(after) else ())
    return replace(candidate, staged=staged)


def _contains(ends: Ends, offsets: Ends) -> bool:
    return ends[0] <= offsets[0] and offsets[1] <= ends[1]


def _without(value: Polynomial, terms: Terms) -> tuple[tuple[int, ...], Polynomial] | None:
    """The iterators' coefficients and the rest; None if a coefficient is no constant."""
    factors = []
    for iterator in terms:
        parts = value.split(access_to(iterator))
        factor = None if parts is None else parts[0].constant
        if parts is None or factor is None:
            return None
        factors.append(factor)
        value = parts[1]
    return tuple(factors), value


def _evaluated(
    object_: DataObject,
    sides: tuple[StagedSide, ...],
    read: Sequence[Reading],
    counts: Mapping[Axis, int],
    points: Mapping[Axis, int],
) -> Candidate | None:
    mapped = {term.extent for side in sides for term in side.terms if isinstance(term.extent, Axis)}
    if not mapped or not isinstance(object_.element, ScalarType):
        return None
    first = min(counts, key=lambda axis: axis.dimension)
    lengths = [_length(side, counts) for side in sides]
    inside = {term.iterator: term.extent for side in sides for term in side.terms}
    splits = math.prod(size for size in inside.values() if isinstance(size, int))
    accesses = sum(math.prod(_width(span) + 1 for span in reading.spans if span is not None) for reading in read)
    within, rows = _between_neighbours(sides, lengths, first)
    odd = odd_rows(within, rows)
    size = object_.element.bits // 8
    of_points = math.prod(points.values())
    tile = TileAccesses(
        workers=math.prod(counts.values()) // of_points,
        accesses=accesses * splits * of_points,
        shared_accesses=accesses * splits * math.prod(points.get(axis, 1) for axis in mapped),
        bytes=size,
        step=None if rows else abs(within) * size,
        elements=math.prod(lengths),
        run=lengths[-1],
    )
    staged = Staged(object_, sides, tuple(dict.fromkeys(subscripts_text(r.access.subscripts) for r in read)), odd)
    return Candidate(
        staged=staged,
        bytes=-(-stored_elements(staged, lengths) * object_.element.bits // 64) * 8,
        uses_of_element=accesses * splits * math.prod(counts.values()) / math.prod(lengths),
        pays=tile.pays,
    )


def _between_neighbours(sides: Sequence[StagedSide], lengths: Sequence[int], first: Axis) -> tuple[int, int]:
    """How far apart in the array tile neighbouring workers read, for every access to it: elements
    along a row, and rows.
    """
    steps = [sum(term.coefficient for term in side.terms if term.extent == first) for side in sides]
    rows = 0
    for step, length in zip(steps[:-1], lengths, strict=False):
        rows = rows * length + step
    return steps[-1], rows


def _length(side: StagedSide, counts: Mapping[Axis, int]) -> int:
    sizes = [(term, counts[term.extent] if isinstance(term.extent, Axis) else term.extent) for term in side.terms]
    return side.width + 1 + sum(abs(term.coefficient) * (size - 1) for term, size in sizes)


def _width(span: Bounds) -> int:
    return (span.high - span.low).constant or 0
