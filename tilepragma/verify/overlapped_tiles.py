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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.poly.affine import Frame, NotAffineError
from tilepragma.poly.dependences import Dependence, DependenceKind, together
from tilepragma.poly.scop import AccessKind, Reference, Scop, ScopStatement
from tilepragma.verify.bounds import HeldArray, lies_between, lies_in_section
from tilepragma.verify.execution_order import by_two_workers, out_of_order
from tilepragma.verify.launch_tree_relation import Leaf, ProvenLaunch, ProvenStep
from tilepragma.verify.locals import broken_scopes
from tilepragma.verify.pipelines import out_of_columns
from tilepragma.verify.scratchpads import STEP, Computed, Copied, Tiles, WrongError, scratchpad_tiles
from tilepragma.verify.statement_matching import Finding, ProvenRegion, where

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
_RULE = "overlapped tiles leave what the region leaves"


def has_scratchpads(steps: Iterable[ProvenStep]) -> bool:
    """Whether some launch has scratchpads."""
    return any(
        bool(step.scratchpads) if isinstance(step, ProvenLaunch) else has_scratchpads(step.steps) for step in steps
    )


def wrong_scratchpads(
    region: ProvenRegion, steps: tuple[ProvenStep, ...], leaves: tuple[Leaf, ...], held: Mapping[DataObject, HeldArray]
) -> Iterator[Finding]:
    """Why steps with scratchpads, whose `leaves` these are, are not the region: sentences."""
    facts = _Region(region.scop, region.dependences, region.written, held, region.touching or region.scop)
    try:
        tiles = scratchpad_tiles(region, steps, leaves)
        for check in (
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
        ):
            check(facts, tiles)
        yield from broken_scopes((computed.executed for computed in tiles.computed), region.sources)
    except WrongError as error:
        yield Finding(_RULE, str(error), False)
    except NotAffineError as error:
        yield Finding(_RULE, f"a scratchpad is not understood: {error.why.reason}", False)


@dataclass(frozen=True)
class _Region:
    scop: Scop
    dependences: tuple[Dependence, ...]
    written: frozenset[DataObject]
    held: Mapping[DataObject, HeldArray]
    touching: Scop
    self_sufficient: dict[DataObject, bool] = field(default_factory=dict, compare=False, repr=False)
    """results of `_each_stores_its_own`, by array"""

    @property
    def flow(self) -> list[Dependence]:
        return [dependence for dependence in self.dependences if dependence.kind is DependenceKind.FLOW]


# -- what must hold


def _each_in_a_step(region: _Region, tiles: Tiles) -> None:
    """Every instance, and no other, runs in one step, once in each of its tiles."""
    seen: set[tuple[str, int]] = set()
    for computed in tiles.computed:
        name = computed.executed.statement.name
        if (name, computed.place) in seen:
            raise WrongError(f"the {where(computed.executed.statement)} stands twice in a launch")
        seen.add((name, computed.place))
        if not _once_a_tile(computed.executed.relation, tiles.depth):
            raise WrongError(f"the {where(computed.executed.statement)} runs twice in a tile")
    for statement in region.scop.statements:
        steps = tiles.step_of.get(statement.name)
        if steps is None or not statement.domain.is_subset(steps.domain()):
            raise WrongError(f"the {where(statement)} is not shown to run for all of its instances")
        if not steps.domain().is_subset(statement.domain):
            raise WrongError(f"the {where(statement)} runs for instances that the region does not have")
        if not steps.is_single_valued():
            raise WrongError(f"the {where(statement)} runs in two steps of the host for one instance")


def _once_a_tile(relation: isl.Map, depth: int) -> bool:
    """Whether, in { [b, i] -> x }, b being the first `depth` dimensions, each b has each x once."""
    return bool(_in_tile(relation, depth).is_injective())


def _in_tile(relation: isl.Map, depth: int) -> isl.Map:
    """{ [b, i] -> [b, x] }"""
    whole = isl.Map.identity(relation.domain().get_space().map_from_set())
    tile = whole.project_out(_OUT, depth, whole.dim(_OUT) - depth)
    return tile.flat_range_product(relation.reset_tuple_id(_OUT))


def _in_order(region: _Region, tiles: Tiles) -> None:
    """No dependence goes to an earlier step, and inside a tile all run forward."""
    for group in _by_ends(region.dependences):
        union = together(group)
        for first in tiles.computed:
            for second in tiles.computed:
                if (first.executed.statement.name, second.executed.statement.name) == group[0].ends:
                    _check_dependences(first, second, group, union, tiles)


def _by_ends(dependences: Iterable[Dependence]) -> list[list[Dependence]]:
    """The dependences grouped by their two statements."""
    groups: dict[tuple[str, str], list[Dependence]] = {}
    for dependence in dependences:
        groups.setdefault(dependence.ends, []).append(dependence)
    return list(groups.values())


def _check_dependences(
    first: Computed, second: Computed, group: list[Dependence], union: isl.Map, tiles: Tiles
) -> None:
    """Check the dependences of a group, one by one only if their `union` fails."""
    if _why_broken(first, second, union, tiles) is None:
        return
    for dependence in group:
        why = _why_broken(first, second, dependence.relation, tiles)
        if why is not None:
            raise WrongError(f"the {dependence.kind.value} dependence of '{dependence.source.object.host}' {why}")


def _why_broken(first: Computed, second: Computed, relation: isl.Map, tiles: Tiles) -> str | None:
    """What breaks a dependence { S[i] -> T[j] } between executed instances, if anything."""
    pairs = first.executed.relation.apply_range(relation).apply_range(second.executed.relation.reverse())
    if not _to_earlier_steps(pairs, first, second, tiles.rounds).is_empty():
        return "goes to an earlier step of the host"
    if first.place != second.place:
        return None
    leaves = first.executed.leaf, second.executed.leaf
    broken = out_of_order(*leaves, _of_one_tile(pairs, tiles.depth))
    if broken is not None:
        return f"is broken in a tile: its instances {broken.reason}"
    broken = out_of_columns(*leaves, pairs)
    return None if broken is None else f"is broken: tiles that touch the same elements {broken.reason}"


def _to_earlier_steps(pairs: isl.Map, first: Computed, second: Computed, rounds: int) -> isl.Map:
    """The pairs whose second instance belongs to an earlier step."""
    earlier = isl.Map.empty(pairs.get_space()) if first.place <= second.place else pairs
    for outer in reversed(range(rounds)):
        earlier = earlier.equate(_IN, outer, _OUT, outer).union(pairs.order_gt(_IN, outer, _OUT, outer))
    return earlier


def _check_order(first: Leaf, second: Leaf, pairs: isl.Map, depth: int, what: str) -> None:
    """Check pairs of instances in one tile."""
    broken = out_of_order(first, second, _of_one_tile(pairs, depth))
    if broken is not None:
        raise WrongError(f"{what} is broken in a tile: its instances {broken.reason}")


def _of_one_tile(pairs: isl.Map, depth: int) -> isl.Map:
    for dimension in range(depth):
        pairs = pairs.equate(_IN, dimension, _OUT, dimension)
    return pairs


def _closed(region: _Region, tiles: Tiles) -> None:
    """{ b -> S[i] : b has an instance that S[i] of its step gives a value } lies in Q_S."""
    for dependence in region.flow:
        source, sink = dependence.source_statement.name, dependence.sink_statement.name
        needed = tiles.of[sink].apply_range(dependence.relation.reverse())
        if not needed.intersect(tiles.same_step[source]).is_subset(tiles.of[source]):
            raise WrongError(
                f"a tile lacks instances of the {where(dependence.source_statement)} that it reads "
                f"'{dependence.source.object.host}' from"
            )


def _ordered_copies(region: _Region, tiles: Tiles) -> None:  # noqa: ARG001
    """A tile fills scratchpads before, and stores them after, all computation in them."""
    for fill in tiles.fills:
        what = f"filling the scratchpad of '{fill.array.host}'"
        for computed in _computing(tiles, fill):
            for reference in _unordered(fill.leaf, computed.executed.leaf, fill.array, computed, tiles):
                pairs = fill.places.apply_range(_accessed(computed, reference).reverse())
                _check_order(fill.leaf, computed.executed.leaf, pairs, tiles.depth, what)
        for store in tiles.stores:
            together = store.place == fill.place and store.array == fill.array
            if together and not _all_before(fill.leaf, store.leaf, tiles.depth):
                pairs = fill.places.apply_range(store.places.reverse())
                _check_order(fill.leaf, store.leaf, pairs, tiles.depth, what)
    for store in tiles.stores:
        what = f"storing the scratchpad of '{store.array.host}'"
        for computed in _computing(tiles, store):
            for reference in _unordered(computed.executed.leaf, store.leaf, store.array, computed, tiles):
                if reference.writes:
                    pairs = _accessed(computed, reference).apply_range(store.places.reverse())
                    _check_order(computed.executed.leaf, store.leaf, pairs, tiles.depth, what)


def _unordered(first: Leaf, second: Leaf, array: DataObject, computed: Computed, tiles: Tiles) -> Iterator[Reference]:
    """A computed statement's accesses to an array, unless a tile runs all of one leaf first."""
    references = [reference for reference in computed.executed.statement.references if reference.object == array]
    yield from () if not references or _all_before(first, second, tiles.depth) else references


def _accessed(computed: Computed, reference: Reference) -> isl.Map:
    """{ [plan instance] -> x }"""
    return computed.executed.relation.apply_range(reference.relation.reset_tuple_id(_OUT))


def _all_before(first: Leaf, second: Leaf, depth: int) -> bool:
    """Whether a leaf runs before another in each tile: mostly the text tells."""
    anything = isl.Map.universe(isl.Space.alloc(first.frame.context, 0, first.depth, second.depth))
    everything = isl.Map.from_domain_and_range(first.domain, second.domain)
    return any(out_of_order(first, second, _of_one_tile(pairs, depth)) is None for pairs in (anything, everything))


def _in_columns(region: _Region, tiles: Tiles) -> None:
    """Where wavefronts overlap, tiles that store what others copy wait for each other."""
    for store in tiles.stores:
        for copy in (*tiles.fills, *tiles.stores):
            if copy.other == store.other and store.leaf.launch is not None and store.leaf.launch.pipelined:
                pairs = copy.places.apply_range(store.places.reverse())
                _check_columns(copy.leaf, store.leaf, pairs)
                if copy is not store:  # of one copy the pairs are the same the other way round
                    _check_columns(store.leaf, copy.leaf, pairs.reverse())


def _check_columns(first: Leaf, second: Leaf, pairs: isl.Map) -> None:
    broken = out_of_columns(first, second, pairs)
    if broken is not None:
        raise WrongError(f"tiles that touch the same elements {broken.reason}")


def _rings(region: _Region, tiles: Tiles) -> None:
    """No place of a ring is reused while an instance still needs its element."""
    for uses in tiles.rings:
        for first in uses:
            beyond = isl.Map(f"{{ [x] -> [y] : y >= x + {first.planes} }}", context=region.scop.context)
            later = first.elements.apply_range(beyond)
            for second in uses:
                pairs = later.apply_range(second.elements.reverse())
                what = f"taking places of '{first.scratchpad.array.host}' in a ring for others"
                _check_order(first.leaf, second.leaf, pairs, tiles.depth, what)


def _columns(region: _Region, tiles: Tiles) -> None:  # noqa: ARG001
    """A worker itself wrote what it reads in registers."""
    for uses in tiles.columns:
        for first in uses:
            for second in uses:
                if not first.writes or second.writes:
                    continue
                pairs = _of_one_tile(first.elements.apply_range(second.elements.reverse()), tiles.depth)
                if not by_two_workers(first.leaf, second.leaf, pairs).is_empty():
                    raise WrongError(
                        f"a worker reads elements of '{first.scratchpad.array.host}' in registers that another one "
                        "writes"
                    )


def _computing(tiles: Tiles, copy: Copied) -> Iterator[Computed]:
    """What a launch computes where that copy is made."""
    return (computed for computed in tiles.computed if computed.place == copy.place)


def _union(maps: Iterable[isl.Map], like: isl.Map) -> isl.Map:
    return reduce(isl.Map.union, maps, isl.Map.empty(like.get_space())).coalesce()


def _filled(region: _Region, tiles: Tiles) -> None:
    """What an instance reads from before the step is in the scratchpad, with its current value."""
    arrays = _arrays(region) | tiles.kept
    for name, all_tiles in tiles.of.items():
        statement = next(statement for statement in region.scop.statements if statement.name == name)
        whole = {array for array in arrays if _all_filled(tiles, statement, all_tiles, array)}
        for reference in statement.references:
            if reference.writes or reference.object not in arrays - whole:
                continue
            filled = _union(
                (fill.tiles for fill in tiles.fills if fill.array == reference.object), _read(all_tiles, reference)
            )
            left = statement.domain
            for dependence in region.flow:
                if dependence.sink is reference and dependence.source.kind is AccessKind.MUST_WRITE:
                    steps = tiles.step_of[dependence.source_statement.name]
                    same = steps.apply_range(tiles.step_of[name].reverse())
                    left = left.subtract(dependence.relation.intersect(same).range())
            if not _read(all_tiles.intersect_range(left), reference).is_subset(filled):
                raise WrongError(
                    f"a scratchpad lacks elements of '{reference.object.host}' that are read from before the step"
                )
    for fill in tiles.fills:
        if not _once_a_tile(fill.places, tiles.depth) or _others(tiles.fills, fill):
            raise WrongError(f"a scratchpad of '{fill.array.host}' is filled twice")
        _check_current(region, tiles, fill)
        for store in tiles.stores:
            if store.other == fill.other and store.place == fill.place and _meet(fill, store):
                raise WrongError(f"'{fill.other.host}' is read and written by tiles that do not wait for each other")


def _all_filled(tiles: Tiles, statement: ScopStatement, all_tiles: isl.Map, array: DataObject) -> bool:
    """Whether scratchpads hold all that the statement reads of the array: a quick test."""
    read = [
        _read(all_tiles, reference)
        for reference in statement.references
        if reference.object == array and not reference.writes
    ]
    filled = [fill.tiles for fill in tiles.fills if fill.array == array]
    return bool(read and filled and _union(read, read[0]).is_subset(_union(filled, filled[0])))


def _read(tiles: isl.Map, reference: Reference) -> isl.Map:
    """{ b -> x : b has S[i], which accesses x }"""
    return tiles.apply_range(reference.relation.reset_tuple_id(_OUT))


def _meet(fill: Copied, store: Copied) -> bool:
    """Whether one tile of a step fills an element that another tile stores."""
    pairs = fill.tiles.apply_range(store.tiles.reverse())
    for dimension in range(STEP):
        pairs = pairs.equate(_IN, dimension, _OUT, dimension)
    return not pairs.subtract(isl.Map.identity(pairs.get_space())).is_empty()


def _arrays(region: _Region) -> frozenset[DataObject]:
    return frozenset(array for array in region.written if array.rank)


def _others(copies: tuple[Copied, ...], copy: Copied) -> list[Copied]:
    """Other copies of the same launch between the same two arrays."""
    key = (copy.place, copy.array)
    return [candidate for candidate in copies if candidate is not copy and (candidate.place, candidate.array) == key]


def _written(region: _Region, tiles: Tiles, array: DataObject, like: isl.Map) -> isl.Map:
    """{ s -> x : S[i], of step s, writes x }"""
    relations = [
        tiles.step_of[statement.name].reverse().apply_range(reference.relation.reset_tuple_id(_OUT))
        for statement in region.scop.statements
        for reference in statement.references
        if reference.object == array and reference.writes
    ]
    return _union(relations, like)


def _check_current(region: _Region, tiles: Tiles, fill: Copied) -> None:
    """What fills a scratchpad is what the region left there before the step."""
    _check_copy_of(tiles, fill)
    if fill.other == fill.array and _each_stores_its_own(region, tiles, fill.array):
        # An earlier step has stored there whatever it wrote.
        return
    stored = _stored_to(tiles, fill.other, fill.steps)
    written = _written(region, tiles, fill.array, fill.steps)
    # { [s, x] -> p }
    filled = fill.steps.wrap().flatten()
    rank = fill.array.rank
    earlier = _pairs(filled, written).intersect(_before(rank, filled.get_ctx()))
    if not earlier.is_subset(_answered(filled, stored, rank)):
        raise WrongError(
            f"a scratchpad is filled from '{fill.other.host}' with values of '{fill.array.host}' that are not the "
            "latest"
        )
    if fill.other != fill.array:
        holding = _pairs(filled, stored).intersect(_before(rank, filled.get_ctx())).domain()
        if not filled.is_subset(holding):
            raise WrongError(f"a scratchpad is filled from '{fill.other.host}', which has no values there yet")


def _check_copy_of(tiles: Tiles, copy: Copied) -> None:
    """A temporary holds values of one array alone, an array of the user's those of itself."""
    if copy.other == copy.array:
        return
    if copy.other.scope is not Scope.TEMPORARY:
        raise WrongError(f"'{copy.other.host}' holds values of '{copy.array.host}'")
    copies = (*tiles.fills, *tiles.stores)
    if any(candidate.other == copy.other and candidate.array != copy.array for candidate in copies):
        raise WrongError(f"'{copy.other.host}' holds values of several arrays")


def _stored_to(tiles: Tiles, array: DataObject, like: isl.Map) -> isl.Map:
    """{ s -> x } that is stored to an array"""
    return _union((store.steps for store in tiles.stores if store.other == array), like)


def _pairs(filled: isl.Set, steps: isl.Map) -> isl.Map:
    """{ [s, x] -> p : [s, x] is filled, p -> x is in `steps` }"""
    identity = isl.Map.identity(filled.get_space().map_from_set())
    return identity.project_out(_OUT, 0, STEP).apply_range(steps.reverse()).intersect_domain(filled)


def _before(rank: int, context: isl.Context) -> isl.Map:
    """{ [s, x] -> p : p < s }"""
    names = "".join(f", x{place}" for place in range(rank))
    return isl.Map(f"{{ [h, l{names}] -> [p, q] : p < h or (p = h and q < l) }}", context=context)


def _not_after(context: isl.Context) -> isl.Map:
    """{ s -> p : p <= s }"""
    return isl.Map("{ [h, l] -> [p, q] : p < h or (p = h and q <= l) }", context=context)


def _answered(filled: isl.Set, stored: isl.Map, rank: int) -> isl.Map:
    """{ [s, x] -> p : some q stores x, p <= q < s }"""
    later = _pairs(filled, stored).intersect(_before(rank, filled.get_ctx()))
    return later.apply_range(_not_after(filled.get_ctx()))


def _stored(region: _Region, tiles: Tiles) -> None:
    """What a step stores is what the region left there after it, stored once."""
    for store in tiles.stores:
        name = store.array.host
        _check_copy_of(tiles, store)
        together = [
            candidate
            for candidate in tiles.stores
            if candidate is not store and (candidate.place, candidate.other) == (store.place, store.other)
        ]
        if together or not _once_a_tile(store.places, tiles.rounds):
            raise WrongError(f"elements of '{store.other.host}' are stored twice in a step")
        available = [fill.tiles for fill in tiles.fills if (fill.place, fill.array) == (store.place, store.array)]
        for statement in region.scop.statements:
            for reference in statement.references:
                if reference.object != store.array or not reference.writes:
                    continue
                elements = reference.relation.reset_tuple_id(_OUT)
                writers = store.tiles.apply_range(elements.reverse())
                if not writers.intersect(tiles.same_step[statement.name]).is_subset(tiles.of[statement.name]):
                    raise WrongError(f"a tile stores elements of '{name}' that another tile computes")
                available.append(tiles.of[statement.name].apply_range(elements))
        if not store.tiles.is_subset(_union(available, store.tiles)):
            raise WrongError(f"a tile stores elements of '{name}' that it neither has nor computes")


def _final(region: _Region, tiles: Tiles) -> None:
    """The user's arrays end as they do in the region."""
    for array in _arrays(region):
        if _each_stores_its_own(region, tiles, array):
            continue
        elements = isl.Space.alloc(region.scop.context, 0, STEP, array.rank)
        written = _written(region, tiles, array, isl.Map.empty(elements))
        stored = _stored_to(tiles, array, written)
        if not stored.range().is_subset(written.range()):
            raise WrongError(f"elements of '{array.host}' are stored that the region does not write")
        if not written.is_subset(stored.apply_domain(_not_after(region.scop.context))):
            raise WrongError(f"results of '{array.host}' are not stored")


def _each_stores_its_own(region: _Region, tiles: Tiles, array: DataObject) -> bool:
    """Whether every tile stores to the array just what it writes of it: { b -> x } is the same for
    both.

    A quick sufficient test: sets of steps and elements take long to compare. The result is cached.
    """
    if array not in region.self_sufficient:
        region.self_sufficient[array] = _stores_as_it_writes(region, tiles, array)
    return region.self_sufficient[array]


def _stores_as_it_writes(region: _Region, tiles: Tiles, array: DataObject) -> bool:
    stored = [store.tiles for store in tiles.stores if store.other == array]
    written = [
        tiles.of[statement.name].apply_range(reference.relation.reset_tuple_id(_OUT))
        for statement in region.scop.statements
        for reference in statement.references
        if reference.object == array and reference.writes
    ]
    if not stored or not written:
        return False
    return bool(_union(stored, stored[0]).is_equal(_union(written, written[0])))


def _inside(region: _Region, tiles: Tiles) -> None:
    """Copied elements lie in the device's sections of the arrays."""
    frame = Frame(region.scop.context, (), region.written)
    for copy in (*tiles.fills, *tiles.stores):
        held = region.held.get(copy.other)
        if held is None:
            raise WrongError(f"'{copy.other.host}' is not there")
        touched = reduce(
            isl.Set.union,
            (
                reference.relation.range().reset_tuple_id()
                for statement in region.touching.statements
                for reference in statement.references
                if reference.object == copy.array
            ),
        )
        copied = copy.tiles.range()
        # Without divisions the set is larger, but mostly still inside.
        if lies_in_section(held, copied.remove_divs().coalesce(), touched, frame):
            continue
        if not lies_in_section(held, copied, touched, frame) and not lies_between(held, copied, touched):
            raise WrongError(f"elements of '{copy.other.host}' outside its section are copied")
