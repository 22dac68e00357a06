"""Launches with overlapped tiles, each in its scratchpads, leave every array as the region does.

    s = [h, l]             a step of the host: round h of its loop, if any, and launch l in it
    b = [s, g]             tile g of a step
    Q_S : { b -> S[i] }    the instances that a tile executes
    T_S : { S[i] -> s }    the step that executes an instance
    W : { s -> x }         what the region writes of an array in the instances of a step
    F, K : { b -> x }      what a tile copies to and from its scratchpad, each with some array Y

A tile's instances run in the region's order on scratchpads. So each instance reads what it reads in
the region, if its sources belong to the tile, or to earlier steps whose results the fill brings:

    every instance in one step; dependences never to an earlier step; inside a tile in order
    Q_T . flow^-1, of one step, is in Q_S
    what Q reads without a source in its step is in F
    x in F(s) from Y, x in W(p), p < s:  some q, p <= q < s, stores x to Y
    x in F(s) from a temporary:          some q < s stores x to it
    x in K(b), S[i] writes x in the step: S[i] is in Q_S(b)
    x in K(b):                           x is in F(b), or the tile writes it
    x in W(p) of the user's array:       some q >= p stores x to it;  nothing else is stored there
    a tile stores nothing that others of its step fill from; each element is stored once a step

Many tiles of a step may run the same instance: all compute the same.

A circular scratchpad of R planes along a dimension has one place for all x that differ there by
multiples of R. That suffices if all accesses to an element precede those R or more beyond it:

    { A[i] -> B[j] : of one tile, A[i] touches x, B[j] touches y, y_k >= x_k + R }: A before B

What a worker reads in registers is current if the worker, and no other, wrote it there:

    { A[i] -> B[j] : of one tile, A[i] writes x, B[j] reads x in registers }: one worker and round
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property, reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import Access, Assignment, Binary, DataObject, IntegerLiteral, Scope, access_to
from tilepragma.ir.loop_tree import Barrier, Declaration, ExpressionStatement, If, Loop, Scratchpad, TileNest
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, Launch, Step
from tilepragma.poly.affine import Frame, NotAffineError, affine, affine_tuple
from tilepragma.poly.dependences import Dependence, DependenceKind, alike_at_first, union_of
from tilepragma.poly.scop import AccessKind, Reference, ScopStatement
from tilepragma.verify.bounds import lies_between, lies_in_section
from tilepragma.verify.certificate import Fault, NotProvenError
from tilepragma.verify.execution_order import by_two_workers, out_of_columns, out_of_order
from tilepragma.verify.instances import InstanceMap, Original, broken_scopes, grouped, where
from tilepragma.verify.launch_tree_relation import Leaf, Mapped, Ordered
from tilepragma.verify.space_time_faults import wrong_schedules

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out

#: Dimensions of a host step: the round of its loop (0 without a loop), and the launch.
_STEP = 2


def wrong_scratchpads(original: Original, steps: tuple[Step, ...], leaves: tuple[Leaf, ...]) -> Iterator[Fault]:
    """Why steps with scratchpads, whose `leaves` these are, are not the region."""
    rule = "overlapped tiles leave what the region leaves"
    try:
        tiles = _tiles(original, steps, leaves)
        for check in _CHECKS:
            check(tiles)
        yield from broken_scopes(tiles.computed, original)
        yield from wrong_schedules(tiles.computed)
    except NotProvenError as error:
        yield Fault(rule, str(error), False)
    except NotAffineError as error:
        yield Fault(rule, f"a scratchpad is not understood: {error.why.reason}", False)


@dataclass(frozen=True, eq=False)
class Copied:
    """A copy of `array`'s scratchpad: { [plan instance] -> x }, and { b -> x } for `tiles`."""

    leaf: Leaf
    array: DataObject
    other: DataObject
    places: isl.Map
    tiles: isl.Map

    @cached_property
    def steps(self) -> isl.Map:
        """{ s -> x }"""
        return _of_steps(self.tiles)


@dataclass(frozen=True, eq=False)
class Use:
    """A leaf's `elements` of a scratchpad: { [plan instance] -> x } of a register queue, written or
    read, or { [plan instance] -> [x_k] } along the dimension k of a circular scratchpad.
    """

    leaf: Leaf
    scratchpad: Scratchpad
    elements: isl.Map
    writes: bool = False


@dataclass(frozen=True, eq=False)
class Tiles:
    """The tiles of steps: launches, each a nest of tiles, in `rounds` (0 or 1) loops of the host.

    `computed` are the leaves that execute statements in scratchpads. `rings`: for each circular
    scratchpad, all that touches it, by launch and dimension; `columns`: for each scratchpad with a
    register queue, all that writes it or reads the queue, by launch.
    """

    original: Original
    launches: tuple[Launch, ...]
    nests: tuple[TileNest, ...]
    rounds: int
    computed: list[InstanceMap] = field(default_factory=list)
    fills: list[Copied] = field(default_factory=list)
    stores: list[Copied] = field(default_factory=list)
    rings: dict[tuple[int, DataObject, int], list[Use]] = field(default_factory=dict)
    columns: dict[tuple[int, DataObject], list[Use]] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """The number of a tile's dimensions among those of its leaves."""
        return self.rounds + len(self.nests[0].loops)

    def place(self, leaf: Leaf) -> int:
        """The number of the leaf's launch."""
        return next(index for index, launch in enumerate(self.launches) if launch is leaf.launch)

    def tiles_of(self, leaf: Leaf, relation: isl.Map) -> isl.Map:
        """{ b -> x } of a leaf's { [plan instance] -> x }"""
        inner = relation.project_out(_IN, self.depth, relation.dim(_IN) - self.depth)
        launch = isl.Val.int_from_si(inner.get_ctx(), self.place(leaf))
        if not self.rounds:
            inner = inner.insert_dims(_IN, 0, 1).fix_val(_IN, 0, isl.Val.zero(inner.get_ctx()))
        return inner.insert_dims(_IN, 1, 1).fix_val(_IN, 1, launch).coalesce()

    @cached_property
    def flow(self) -> list[Dependence]:
        """The region's flow dependences."""
        return [dependence for dependence in self.original.dependences if dependence.kind is DependenceKind.FLOW]

    @cached_property
    def written(self) -> frozenset[DataObject]:
        """The arrays that the region writes."""
        return frozenset(array for array in self.original.written if array.rank)

    def writes(self, array: DataObject) -> list[tuple[ScopStatement, isl.Map]]:
        """The region's writes of an array: { S[i] -> x }"""
        return [
            (statement, reference.relation.reset_tuple_id(_OUT))
            for statement, reference in self.original.scop.accesses_to(array)
            if reference.writes
        ]

    @cached_property
    def step_of(self) -> dict[str, isl.Map]:
        """{ S[i] -> s }, by the statement's name"""
        return _united((name, _of_steps(tiles).reverse()) for name, tiles in self._computing)

    @cached_property
    def of(self) -> dict[str, isl.Map]:
        """{ b -> S[i] }, by the statement's name"""
        return _united(self._computing)

    @cached_property
    def _computing(self) -> list[tuple[str, isl.Map]]:
        return [(each.statement.name, self.tiles_of(each.leaf, each.relation)) for each in self.computed]

    @cached_property
    def same_step(self) -> dict[str, isl.Map]:
        """{ b -> S[i] : S[i] is of b's step }, by the statement's name"""
        tiles = next(iter(self.of.values()))
        identity = isl.Map.identity(tiles.domain().get_space().map_from_set())
        of_tile = identity.project_out(_OUT, _STEP, identity.dim(_OUT) - _STEP)
        return {name: of_tile.apply_range(steps.reverse()) for name, steps in self.step_of.items()}

    @cached_property
    def self_sufficient(self) -> frozenset[DataObject]:
        """The arrays to which every tile stores just what it writes of them: { b -> x } is the same
        for both. A quick sufficient test: sets of steps and elements take long to compare.
        """
        sufficient = set()
        for array in self.written:
            stored = [store.tiles for store in self.stores if store.other == array]
            written = [self.of[statement.name].apply_range(elements) for statement, elements in self.writes(array)]
            if stored and written and _union(stored, stored[0]).is_equal(_union(written, written[0])):
                sufficient.add(array)
        return frozenset(sufficient)


def _united(pairs: Iterable[tuple[str, isl.Map]]) -> dict[str, isl.Map]:
    relations: dict[str, isl.Map] = {}
    for name, relation in pairs:
        relations[name] = relation.union(relations[name]).coalesce() if name in relations else relation
    return relations


def _of_steps(tiles: isl.Map) -> isl.Map:
    """{ s -> x } of { b -> x }"""
    return tiles.project_out(_IN, _STEP, tiles.dim(_IN) - _STEP).coalesce()


# -- what must hold


def _each_in_a_step(tiles: Tiles) -> None:
    """Every instance, and no other, runs in one step, once in each of its tiles."""
    seen: set[tuple[str, int]] = set()
    for executed in tiles.computed:
        key = executed.statement.name, tiles.place(executed.leaf)
        if key in seen:
            raise NotProvenError(f"the {where(executed.statement)} stands twice in a launch")
        seen.add(key)
        if not _once_a_tile(executed.relation, tiles.depth):
            raise NotProvenError(f"the {where(executed.statement)} runs twice in a tile")
    for statement in tiles.original.scop.statements:
        steps = tiles.step_of.get(statement.name)
        if steps is None or not statement.domain.is_subset(steps.domain()):
            raise NotProvenError(f"the {where(statement)} is not shown to run for all of its instances")
        if not steps.domain().is_subset(statement.domain):
            raise NotProvenError(f"the {where(statement)} runs for instances that the region does not have")
        if not steps.is_single_valued():
            raise NotProvenError(f"the {where(statement)} runs in two steps of the host for one instance")


def _once_a_tile(relation: isl.Map, depth: int) -> bool:
    """Whether, in { [b, i] -> x }, b being the first `depth` dimensions, each b has each x once."""
    whole = isl.Map.identity(relation.domain().get_space().map_from_set())
    tile = whole.project_out(_OUT, depth, whole.dim(_OUT) - depth)
    # { [b, i] -> [b, x] }
    return bool(tile.flat_range_product(relation.reset_tuple_id(_OUT)).is_injective())


def _in_order(tiles: Tiles) -> None:
    """No dependence goes to an earlier step, and inside a tile all run forward."""
    for ends, group in grouped(tiles.original.dependences, lambda dependence: dependence.ends).items():
        union = union_of(group)
        for first, second in itertools.product(tiles.computed, repeat=2):
            if (first.statement.name, second.statement.name) != ends:
                continue
            # One by one only if their union fails.
            for dependence in group if _why_broken(first, second, union, tiles) is not None else ():
                why = _why_broken(first, second, dependence.relation, tiles)
                if why is not None:
                    raise NotProvenError(
                        f"the {dependence.kind.value} dependence of '{dependence.source.object.host}' {why}"
                    )


def _why_broken(first: InstanceMap, second: InstanceMap, relation: isl.Map, tiles: Tiles) -> str | None:
    """What breaks a dependence { S[i] -> T[j] } between executed instances, if anything."""
    pairs = first.relation.apply_range(relation).apply_range(second.relation.reverse())
    # { A[s, …] -> B[s', …] : s' < s }
    earlier = isl.Map.empty(pairs.get_space()) if tiles.place(first.leaf) <= tiles.place(second.leaf) else pairs
    for outer in reversed(range(tiles.rounds)):
        earlier = earlier.equate(_IN, outer, _OUT, outer).union(pairs.order_gt(_IN, outer, _OUT, outer))
    if not earlier.is_empty():
        return "goes to an earlier step of the host"
    if first.leaf.launch is not second.leaf.launch:
        return None
    broken = out_of_order(first.leaf, second.leaf, alike_at_first(pairs, tiles.depth))
    if broken is not None:
        return f"is broken in a tile: its instances {broken.reason}"
    broken = out_of_columns(first.leaf, second.leaf, pairs)
    return None if broken is None else f"is broken: tiles that touch the same elements {broken.reason}"


def _check_order(first: Leaf, second: Leaf, pairs: isl.Map, depth: int, what: str) -> None:
    broken = out_of_order(first, second, alike_at_first(pairs, depth))
    if broken is not None:
        raise NotProvenError(f"{what} is broken in a tile: its instances {broken.reason}")


def _closed(tiles: Tiles) -> None:
    """{ b -> S[i] : b has an instance that S[i] of its step gives a value } lies in Q_S."""
    for dependence in tiles.flow:
        source, sink = dependence.source_statement.name, dependence.sink_statement.name
        needed = tiles.of[sink].apply_range(dependence.relation.reverse())
        if not needed.intersect(tiles.same_step[source]).is_subset(tiles.of[source]):
            raise NotProvenError(
                f"a tile lacks instances of the {where(dependence.source_statement)} that it reads "
                f"'{dependence.source.object.host}' from"
            )


def _ordered_copies(tiles: Tiles) -> None:
    """A tile fills scratchpads before, and stores them after, all computation in them."""
    for fill in tiles.fills:
        what = f"filling the scratchpad of '{fill.array.host}'"
        for executed, reference in _unordered(tiles, fill, fills=True):
            pairs = fill.places.apply_range(_accessed(executed, reference).reverse())
            _check_order(fill.leaf, executed.leaf, pairs, tiles.depth, what)
        for store in tiles.stores:
            same_scratchpad = store.leaf.launch is fill.leaf.launch and store.array == fill.array
            if same_scratchpad and not _all_before(fill.leaf, store.leaf, tiles.depth):
                pairs = fill.places.apply_range(store.places.reverse())
                _check_order(fill.leaf, store.leaf, pairs, tiles.depth, what)
    for store in tiles.stores:
        what = f"storing the scratchpad of '{store.array.host}'"
        for executed, reference in _unordered(tiles, store, fills=False):
            if reference.writes:
                pairs = _accessed(executed, reference).apply_range(store.places.reverse())
                _check_order(executed.leaf, store.leaf, pairs, tiles.depth, what)


def _unordered(tiles: Tiles, copy: Copied, *, fills: bool) -> Iterator[tuple[InstanceMap, Reference]]:
    """Accesses to the copied array that a tile may make before a fill or after a store."""
    for executed in tiles.computed:
        references = [reference for reference in executed.statement.references if reference.object == copy.array]
        if references and executed.leaf.launch is copy.leaf.launch:
            first, second = (copy.leaf, executed.leaf) if fills else (executed.leaf, copy.leaf)
            if not _all_before(first, second, tiles.depth):
                yield from ((executed, reference) for reference in references)


def _accessed(executed: InstanceMap, reference: Reference) -> isl.Map:
    """{ [plan instance] -> x }"""
    return executed.relation.apply_range(reference.relation.reset_tuple_id(_OUT))


def _all_before(first: Leaf, second: Leaf, depth: int) -> bool:
    """Whether a leaf runs before another in each tile: mostly the text tells."""
    anything = isl.Map.universe(isl.Space.alloc(first.frame.context, 0, first.depth, second.depth))
    everything = isl.Map.from_domain_and_range(first.domain, second.domain)
    return any(out_of_order(first, second, alike_at_first(pairs, depth)) is None for pairs in (anything, everything))


def _in_columns(tiles: Tiles) -> None:
    """Where wavefronts overlap, tiles that store what others copy wait for each other."""
    for store, copy in itertools.product(tiles.stores, (*tiles.fills, *tiles.stores)):
        if copy.other == store.other and store.leaf.launch is not None and store.leaf.launch.pipelined:
            pairs = copy.places.apply_range(store.places.reverse())
            broken = out_of_columns(copy.leaf, store.leaf, pairs)
            if broken is None and copy is not store:  # of one copy the pairs are the same the other way round
                broken = out_of_columns(store.leaf, copy.leaf, pairs.reverse())
            if broken is not None:
                raise NotProvenError(f"tiles that touch the same elements {broken.reason}")


def _rings(tiles: Tiles) -> None:
    """No place of a ring is reused while an instance still needs its element."""
    for (_, _, dimension), uses in tiles.rings.items():
        for first, second in itertools.product(uses, repeat=2):
            planes = _length(first.scratchpad, dimension)
            beyond = isl.Map(f"{{ [x] -> [y] : y >= x + {planes} }}", context=tiles.original.scop.context)
            pairs = first.elements.apply_range(beyond).apply_range(second.elements.reverse())
            what = f"taking places of '{first.scratchpad.array.host}' in a ring for others"
            _check_order(first.leaf, second.leaf, pairs, tiles.depth, what)


def _columns(tiles: Tiles) -> None:
    """A worker itself wrote what it reads in registers."""
    for uses in tiles.columns.values():
        for first, second in itertools.product(uses, repeat=2):
            if not first.writes or second.writes:
                continue
            pairs = alike_at_first(first.elements.apply_range(second.elements.reverse()), tiles.depth)
            if not by_two_workers(first.leaf, second.leaf, pairs).is_empty():
                raise NotProvenError(
                    f"a worker reads elements of '{first.scratchpad.array.host}' in registers that another one writes"
                )


def _union(maps: Iterable[isl.Map], like: isl.Map) -> isl.Map:
    return reduce(isl.Map.union, maps, isl.Map.empty(like.get_space())).coalesce()


def _filled(tiles: Tiles) -> None:
    """What an instance reads from before the step is in the scratchpad, with its current value."""
    arrays = tiles.written | {pad.array for launch in tiles.launches for pad in launch.scratchpads}
    for statement in tiles.original.scop.statements:
        reads = (reference for reference in statement.references if not reference.writes and reference.object in arrays)
        for array, references in grouped(reads, lambda reference: reference.object).items():
            of = tiles.of[statement.name]
            like = _read(of, references[0])
            filled = _union((fill.tiles for fill in tiles.fills if fill.array == array), like)
            # A quick test: mostly scratchpads hold all that the statement reads.
            whole = _union((_read(of, reference) for reference in references), like).is_subset(filled)
            for reference in () if whole else references:
                left = statement.domain
                for dependence in tiles.flow:
                    if dependence.sink is reference and dependence.source.kind is AccessKind.MUST_WRITE:
                        steps = tiles.step_of[dependence.source_statement.name]
                        same = steps.apply_range(tiles.step_of[statement.name].reverse())
                        left = left.subtract(dependence.relation.intersect(same).range())
                if not _read(of.intersect_range(left), reference).is_subset(filled):
                    raise NotProvenError(
                        f"a scratchpad lacks elements of '{array.host}' that are read from before the step"
                    )
    for fill in tiles.fills:
        launch = fill.leaf.launch
        others = (other for other in tiles.fills if other is not fill and other.leaf.launch is launch)
        if any(other.array == fill.array for other in others) or not _once_a_tile(fill.places, tiles.depth):
            raise NotProvenError(f"a scratchpad of '{fill.array.host}' is filled twice")
        _check_current(tiles, fill)
        for store in tiles.stores:
            if store.other == fill.other and store.leaf.launch is launch and _meet(fill, store):
                raise NotProvenError(
                    f"'{fill.other.host}' is read and written by tiles that do not wait for each other"
                )


def _read(tiles: isl.Map, reference: Reference) -> isl.Map:
    """{ b -> x : b has S[i], which accesses x }"""
    return tiles.apply_range(reference.relation.reset_tuple_id(_OUT))


def _meet(fill: Copied, store: Copied) -> bool:
    """Whether one tile of a step fills an element that another tile stores."""
    pairs = alike_at_first(fill.tiles.apply_range(store.tiles.reverse()), _STEP)
    return not pairs.subtract(isl.Map.identity(pairs.get_space())).is_empty()


def _written(tiles: Tiles, array: DataObject, like: isl.Map) -> isl.Map:
    """{ s -> x : S[i], of step s, writes x }"""
    writes = tiles.writes(array)
    steps = (tiles.step_of[statement.name].reverse().apply_range(elements) for statement, elements in writes)
    return _union(steps, like)


def _check_current(tiles: Tiles, fill: Copied) -> None:
    """What fills a scratchpad is what the region left there before the step."""
    _check_copy_of(tiles, fill)
    if fill.other == fill.array and fill.array in tiles.self_sufficient:
        # An earlier step has stored there whatever it wrote.
        return
    stored = _stored_to(tiles, fill.other, fill.steps)
    written = _written(tiles, fill.array, fill.steps)
    # { [s, x] -> p }
    filled = fill.steps.wrap().flatten()
    before = _before(fill.array.rank, filled.get_ctx())
    holding = _pairs(filled, stored).intersect(before)
    # { [s, x] -> p : some q stores x, p <= q < s }
    answered = holding.apply_range(_not_after(filled.get_ctx()))
    if not _pairs(filled, written).intersect(before).is_subset(answered):
        raise NotProvenError(
            f"a scratchpad is filled from '{fill.other.host}' with values of '{fill.array.host}' that are not the "
            "latest"
        )
    if fill.other != fill.array and not filled.is_subset(holding.domain()):
        raise NotProvenError(f"a scratchpad is filled from '{fill.other.host}', which has no values there yet")


def _check_copy_of(tiles: Tiles, copy: Copied) -> None:
    """A temporary holds values of one array alone, an array of the user's those of itself."""
    if copy.other == copy.array:
        return
    if copy.other.scope is not Scope.TEMPORARY:
        raise NotProvenError(f"'{copy.other.host}' holds values of '{copy.array.host}'")
    copies = (*tiles.fills, *tiles.stores)
    if any(candidate.other == copy.other and candidate.array != copy.array for candidate in copies):
        raise NotProvenError(f"'{copy.other.host}' holds values of several arrays")


def _stored_to(tiles: Tiles, array: DataObject, like: isl.Map) -> isl.Map:
    """{ s -> x } that is stored to an array"""
    return _union((store.steps for store in tiles.stores if store.other == array), like)


def _pairs(filled: isl.Set, steps: isl.Map) -> isl.Map:
    """{ [s, x] -> p : [s, x] is filled, p -> x is in `steps` }"""
    identity = isl.Map.identity(filled.get_space().map_from_set())
    return identity.project_out(_OUT, 0, _STEP).apply_range(steps.reverse()).intersect_domain(filled)


def _before(rank: int, context: isl.Context) -> isl.Map:
    """{ [s, x] -> p : p < s }"""
    names = "".join(f", x{place}" for place in range(rank))
    return isl.Map(f"{{ [h, l{names}] -> [p, q] : p < h or (p = h and q < l) }}", context=context)


def _not_after(context: isl.Context) -> isl.Map:
    """{ s -> p : p <= s }"""
    return isl.Map("{ [h, l] -> [p, q] : p < h or (p = h and q <= l) }", context=context)


def _stored(tiles: Tiles) -> None:
    """What a step stores is what the region left there after it, stored once."""
    for store in tiles.stores:
        name = store.array.host
        _check_copy_of(tiles, store)
        launch = store.leaf.launch
        others = (other for other in tiles.stores if other is not store and other.leaf.launch is launch)
        if any(other.other == store.other for other in others) or not _once_a_tile(store.places, tiles.rounds):
            raise NotProvenError(f"elements of '{store.other.host}' are stored twice in a step")
        available = [fill.tiles for fill in tiles.fills if fill.leaf.launch is launch and fill.array == store.array]
        for statement, elements in tiles.writes(store.array):
            writers = store.tiles.apply_range(elements.reverse())
            if not writers.intersect(tiles.same_step[statement.name]).is_subset(tiles.of[statement.name]):
                raise NotProvenError(f"a tile stores elements of '{name}' that another tile computes")
            available.append(tiles.of[statement.name].apply_range(elements))
        if not store.tiles.is_subset(_union(available, store.tiles)):
            raise NotProvenError(f"a tile stores elements of '{name}' that it neither has nor computes")


def _final(tiles: Tiles) -> None:
    """The user's arrays end as they do in the region."""
    for array in tiles.written:
        if array in tiles.self_sufficient:
            continue
        elements = isl.Space.alloc(tiles.original.scop.context, 0, _STEP, array.rank)
        written = _written(tiles, array, isl.Map.empty(elements))
        stored = _stored_to(tiles, array, written)
        if not stored.range().is_subset(written.range()):
            raise NotProvenError(f"elements of '{array.host}' are stored that the region does not write")
        if not written.is_subset(stored.apply_domain(_not_after(tiles.original.scop.context))):
            raise NotProvenError(f"results of '{array.host}' are not stored")


def _inside(tiles: Tiles) -> None:
    """Copied elements lie in the device's sections of the arrays."""
    original = tiles.original
    frame = Frame(original.scop.context, (), original.written)
    arrays = {array.object: array for array in original.device_arrays}
    for copy in (*tiles.fills, *tiles.stores):
        held = arrays.get(copy.other)
        if held is None:
            raise NotProvenError(f"'{copy.other.host}' is not there")
        accesses = (original.touching or original.scop).accesses_to(copy.array)
        touched = reduce(isl.Set.union, (reference.relation.range().reset_tuple_id() for _, reference in accesses))
        copied = copy.tiles.range()
        # Without divisions the set is larger, but mostly still inside.
        if lies_in_section(held, copied.remove_divs().coalesce(), touched, frame):
            continue
        if not lies_in_section(held, copied, touched, frame) and not lies_between(held, copied, touched):
            raise NotProvenError(f"elements of '{copy.other.host}' outside its section are copied")


_CHECKS: tuple[Callable[[Tiles], None], ...] = (
    _each_in_a_step,
    _in_order,
    _closed,
    _ordered_copies,
    _in_columns,
    _rings,
    _columns,
    _filled,
    _stored,
    _final,
    _inside,
)


# -- what the leaves are


def _tiles(original: Original, steps: tuple[Step, ...], leaves: tuple[Leaf, ...]) -> Tiles:
    """Raises NotProvenError for steps of another form, and for statements not in the region."""
    while len(steps) == 1 and isinstance(steps[0], HostCondition):
        steps = steps[0].steps
    rounds = 0
    if len(steps) == 1 and isinstance(steps[0], HostLoop):
        if steps[0].loop.decreasing:
            raise NotProvenError("launches with scratchpads stand in a loop of the host that counts down")
        rounds, steps = 1, steps[0].steps
    launches = [step for step in steps if isinstance(step, Launch)]
    if len(launches) != len(steps):
        raise NotProvenError("launches with scratchpads do not follow each other, alone or in one loop of the host")
    tiled = [_tile_nest(launch) for launch in launches]
    if len({len(nest.loops) for nest in tiled}) != 1:
        raise NotProvenError("launches have tiles of different dimensions")
    tiles = Tiles(original, tuple(launches), tuple(tiled), rounds)
    for leaf in leaves:
        if leaf.launch is not None and not leaf.domain.is_empty() and not isinstance(leaf.node, (If, Loop)):
            _Reader(tiles, leaf, leaf.launch).read()
    return tiles


def _tile_nest(launch: Launch) -> TileNest:
    """The tiles of a launch: all of it, mapped to gangs, each with a barrier at its end."""
    statements = launch.body.statements
    nest = statements[0] if len(statements) == 1 else None
    if not isinstance(nest, TileNest) or not nest.body.statements:
        raise NotProvenError(f"launch {launch.name} is not one nest of tiles")
    if any(tile.kind not in (TileKind.DYNAMIC, TileKind.GANG) for tile in nest.order) or nest.uniform:
        raise NotProvenError(f"tiles of launch {launch.name} are not mapped to gangs")
    if any(tiled.loop.decreasing for tiled in nest.loops):
        raise NotProvenError(f"tiles of launch {launch.name} count down")
    if not isinstance(nest.body.statements[-1], Barrier):
        raise NotProvenError(
            f"no barrier ends the tiles of launch {launch.name}, so that a scratchpad may be filled while it is "
            "still read"
        )
    return nest


@dataclass(frozen=True)
class _Reader:
    """What one leaf does in scratchpads."""

    tiles: Tiles
    leaf: Leaf
    launch: Launch
    _lying: set[tuple[DataObject, Binary, int]] = field(default_factory=set, compare=False, repr=False)
    """indices proven to lie in a dimension of a scratchpad at this leaf"""

    def read(self) -> None:
        place, node, original = self.tiles.place(self.leaf), self.leaf.node, self.tiles.original
        if isinstance(node, Declaration):
            if original.source_of(self.leaf) is not None:
                raise NotProvenError("a tile has locals of the user's")
        elif not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment):
            raise NotProvenError("a tile has a statement that is no assignment")
        else:
            # The leaf with scratchpad elements replaced by the array elements that they hold.
            meaning = with_accesses(node, lambda a: self._element(a) if a.object in self.scratchpads else a)
            meant = replace(self.leaf, node=meaning)
            source = original.source_of(meant)
            if source is None:
                self._copy(node.expression)
            else:
                self.tiles.computed.extend(self._computed(original.executions(meant, *source)))
        for dimension, use in self._rings():
            self.tiles.rings.setdefault((place, use.scratchpad.object, dimension), []).append(use)
        for use in self._columns():
            self.tiles.columns.setdefault((place, use.scratchpad.object), []).append(use)

    @cached_property
    def scratchpads(self) -> dict[DataObject, Scratchpad]:
        """The launch's scratchpads, by each of their names."""
        return {name: scratchpad for scratchpad in self.launch.scratchpads for name in scratchpad.names}

    def _copy(self, assignment: Assignment) -> None:
        target, source = assignment.target, assignment.value
        if assignment.operator != "=" or not isinstance(target, Access) or not isinstance(source, Access):
            raise NotProvenError("a tile has a statement that the region has not")
        out = source.object in self.scratchpads
        inner, outer = (source, target) if out else (target, source)
        scratchpad = self.scratchpads.get(inner.object)
        strange = outer.object in self.scratchpads or outer.object.scope is Scope.LOCAL
        if scratchpad is None or strange or inner.path or outer.path:
            raise NotProvenError("a tile has a statement that the region has not")
        array = scratchpad.array
        if outer.object.rank != array.rank or self.leaf.opaque or outer.object.element != array.element:
            raise NotProvenError(f"what is copied of '{array.host}' is not understood")
        if self._element(inner).subscripts != outer.subscripts:
            raise NotProvenError(f"an element of '{array.host}' is copied to the place of another")
        places = affine_tuple(outer.subscripts, self.leaf.frame).intersect_domain(self.leaf.domain)
        copied = Copied(self.leaf, array, outer.object, places, self.tiles.tiles_of(self.leaf, places))
        (self.tiles.stores if out else self.tiles.fills).append(copied)

    def _computed(self, executions: Iterator[InstanceMap]) -> Iterator[InstanceMap]:
        arrays = {scratchpad.array for scratchpad in self.scratchpads.values()}
        accessed = (node.object for node in walk(self.leaf.node) if isinstance(node, Access))
        for object_ in (object_ for object_ in accessed if object_ not in self.scratchpads):
            if object_ in arrays or object_.scope is Scope.TEMPORARY:
                raise NotProvenError(f"'{object_.host}' is accessed beside its scratchpad")
            if object_ in self.tiles.written:
                raise NotProvenError(f"'{object_.host}' is written and has no scratchpad")
        if self.leaf.opaque:
            raise NotProvenError("a condition or bound that is not affine decides what a tile computes")
        for execution in executions:
            references = execution.statement.references
            if any(reference.kind is AccessKind.MAY_WRITE or not reference.exact for reference in references):
                raise NotProvenError(f"the {where(execution.statement)} does not surely access what it names")
            if any(reference.writes and reference.object not in arrays for reference in references):
                raise NotProvenError(
                    f"the {where(execution.statement)}, which may run again and again, writes something without a "
                    "scratchpad"
                )
            yield replace(execution, leaf=self.leaf)

    def _element(self, access: Access) -> Access:
        """The array element of an access to its scratchpad; it must lie in the scratchpad."""
        scratchpad = self.scratchpads[access.object]
        if scratchpad.object.element != scratchpad.array.element or scratchpad.array.volatile:
            raise NotProvenError(f"the scratchpad of '{scratchpad.array.host}' has not its elements")
        subscripts = []
        for place, (index, origin) in enumerate(zip(access.subscripts, scratchpad.origin, strict=False)):
            if not isinstance(index, Binary) or not _spells_place(scratchpad, place, index):
                raise NotProvenError(f"a place in the scratchpad of '{scratchpad.array.host}' is not spelled as one")
            if origin is not None:
                self._check_origin(origin)
            self._check_place(scratchpad, index, place)
            subscripts.append(index.left)
        if not len(subscripts) == len(access.subscripts) == scratchpad.array.rank:
            raise NotProvenError(f"the scratchpad of '{scratchpad.array.host}' is used as a whole")
        return replace(access, object=scratchpad.array, subscripts=tuple(subscripts))

    def _check_origin(self, origin: DataObject) -> None:
        """The origin is declared in the tile, for all of it."""
        declaration = self.leaf.scopes.get(origin)
        nest = self.tiles.nests[self.tiles.place(self.leaf)]
        if (
            declaration is None
            or declaration.depth != self.tiles.depth
            or declaration.launch is not self.launch
            or not any(statement is declaration.node for statement in nest.body.statements)
        ):
            raise NotProvenError(f"'{origin.host}' is not the same throughout a tile")

    def _check_place(self, scratchpad: Scratchpad, index: Binary, place: int) -> None:
        """Check that the index lies in the scratchpad; each index is proven once."""
        if (scratchpad.object, index, place) in self._lying:
            return
        frame, ring = self.leaf.frame, scratchpad.origin[place] is None
        # The lowest bits of a nonnegative number are its remainder by a power of two.
        value = affine(index.left if ring else index, frame)
        good = value.ge_set(frame.number(0))
        if not ring:
            length = scratchpad.object.lengths[place]
            if length is None:
                raise NotProvenError(f"the scratchpad of '{scratchpad.array.host}' has a length that is no number")
            # The frame knows the sizes of tiles.
            good = good.intersect(value.lt_set(affine(length, frame)))
        if not (_around(self.leaf).is_subset(good) or self.leaf.domain.is_subset(good)):
            raise NotProvenError(f"the scratchpad of '{scratchpad.array.host}' is too small")
        self._lying.add((scratchpad.object, index, place))

    def _rings(self) -> Iterator[tuple[int, Use]]:
        """The elements of rings, by dimension, that the leaf touches (in scratchpads alone)."""
        touched: dict[tuple[DataObject, int], isl.Map] = {}
        for node in walk(self.leaf.node):
            scratchpad = self.scratchpads.get(node.object) if isinstance(node, Access) else None
            for dimension, origin in enumerate(scratchpad.origin if scratchpad is not None else ()):
                index = node.subscripts[dimension]
                if scratchpad is not None and origin is None and isinstance(index, Binary):
                    key = scratchpad.object, dimension
                    elements = affine_tuple((index.left,), self.leaf.frame).intersect_domain(self.leaf.domain)
                    touched[key] = elements.union(touched[key]) if key in touched else elements
        for (object_, dimension), elements in touched.items():
            yield dimension, Use(self.leaf, self.scratchpads[object_], elements.coalesce())

    def _columns(self) -> Iterator[Use]:
        """The leaf's writes of scratchpads with register queues, and its reads of the queues."""
        expression = self.leaf.node.expression if isinstance(self.leaf.node, ExpressionStatement) else None
        target = expression.target if isinstance(expression, Assignment) else None
        for node in walk(self.leaf.node):
            if not isinstance(node, Access) or (scratchpad := self.scratchpads.get(node.object)) is None:
                continue
            if scratchpad.column is None or (node.object == scratchpad.object and node is not target):
                continue
            if node is target and node.object != scratchpad.object:
                raise NotProvenError(f"'{scratchpad.array.host}' is written in registers alone")
            element = self._element(node)
            self._check_planes(scratchpad, element)
            elements = affine_tuple(element.subscripts, self.leaf.frame).intersect_domain(self.leaf.domain)
            yield Use(self.leaf, scratchpad, elements, node is target)

    def _check_planes(self, scratchpad: Scratchpad, element: Access) -> None:
        """Registers hold the plane at the position: 0 <= position - plane < planes."""
        column = scratchpad.column
        assert column is not None, "asked of scratchpads with a queue alone"
        position = self.leaf.value(column.position)
        around = itertools.takewhile(lambda step: not (isinstance(step, Mapped) and step.to_workers), self.leaf.path)
        depth = self.tiles.depth
        loops = (element for element in around if isinstance(element, Ordered) and element.dimension >= depth)
        rounds = [loop for loop in loops if loop.sign > 0]
        if position is None or all(self.leaf.frame.iterators[round_.dimension] != column.position for round_ in rounds):
            raise NotProvenError(f"'{column.position.host}' is no position of a walk through planes")
        behind = position.sub(affine(element.subscripts[0], self.leaf.frame))
        frame = self.leaf.frame
        good = behind.ge_set(frame.number(0)).intersect(behind.lt_set(frame.number(column.planes)))
        if not self.leaf.domain.is_subset(good):
            raise NotProvenError(
                f"the registers of '{column.object.host}' have not all planes that are read or written"
            )


@once
def _around(leaf: Leaf) -> isl.Set:
    """A convex superset of the leaf's instances: quicker to prove facts for."""
    return isl.Set.from_basic_set(leaf.domain.simple_hull())


def _length(scratchpad: Scratchpad, dimension: int) -> int:
    """The scratchpad's length along a dimension. Raises NotProvenError where it is no constant."""
    length = scratchpad.object.lengths[dimension]
    if not isinstance(length, IntegerLiteral):
        raise NotProvenError(f"the scratchpad of '{scratchpad.array.host}' has a length that is no number")
    return length.value


def _spells_place(scratchpad: Scratchpad, dimension: int, index: Binary) -> bool:
    """Whether `index` is `x - origin`, or `x & (length - 1)` for a ring of 2**k planes."""
    origin = scratchpad.origin[dimension]
    if origin is not None:
        return index.operator == "-" and index.right == access_to(origin)
    length = _length(scratchpad, dimension)
    mask = index.right.value if isinstance(index.right, IntegerLiteral) else None
    return index.operator == "&" and length > 0 and length & (length - 1) == 0 and mask == length - 1
