"""Launches whose tiles overlap, each gang computing in windows of its own, leave every array as the region does.

    s = [h, l]               a step of the host: round h of its one loop, launch l in it; b = [s, g] is a tile g of it
    Q_S : { b -> S[i] }      the instances that a tile executes; T_S : { S[i] -> s } the step that executes them
    W : { s -> x }           what the region writes of an array in the instances of a step
    F, K : { b -> x }        what a tile fills its window with, and what it stores of it, each from or to some array Y

A tile's instances run in the region's order, in memory of its own, so that each reads what it reads in the region if the instances it depends on
are the tile's too or of earlier steps, and the latter's results are what the window was filled with:

    every instance in one step; dependences never to an earlier step; inside a tile in order
    Q_T . flow^-1, of one step, is in Q_S                         tiles have all that their instances read of the same step
    what Q reads without a source in its step is in F
    x in F(s) from Y, x in W(p), p < s:  some q, p <= q < s, stores x to Y;  of an array that is the plan's own, some q < s does at all
    x in K(b), S[i] writes x in the step: S[i] is in Q_S(b);   x in K(b) is in F(b), or the tile writes it
    x in W(p) of the user's array:       some q >= p stores x to it;   nothing else of the user's is stored
    what a step stores and what it fills windows from do not meet; each element is stored once a step

Instances may run in many tiles of one step: all compute the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import islpy as isl

from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import Access, Assignment, Binary, DataObject, Expression, Scope, access_to
from tilepragma.ir.looptree import Barrier, Declaration, ExpressionStatement, If, Loop, TileNest, Window
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.polyhedral.affine import Frame, NotAffineError, affine
from tilepragma.polyhedral.dependences import Dependence, DependenceKind
from tilepragma.polyhedral.plan_proof_bounds import HeldArray, lies_in_section
from tilepragma.polyhedral.plan_proof_locals import broken_scopes
from tilepragma.polyhedral.plan_proof_match import Executed, Finding, Sources, executions, where
from tilepragma.polyhedral.plan_proof_order import out_of_order
from tilepragma.polyhedral.plan_proof_tree import Leaf, ProvenCondition, ProvenLaunch, ProvenLoop, ProvenStep
from tilepragma.polyhedral.scop import AccessKind, Reference, Scop

if TYPE_CHECKING:
    from tilepragma.polyhedral.plan_proof import ProvenRegion

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
_RULE = "overlapped tiles leave what the region leaves"

#: Dimensions of a step of the host: the round of its loop, and the launch.
_STEP = 2


class _WrongError(Exception):
    """What keeps a plan with windows from being proven; the text is a sentence."""


def has_windows(steps: Iterable[ProvenStep]) -> bool:
    """Whether some launch keeps arrays in windows."""
    return any(bool(one.windows) if isinstance(one, ProvenLaunch) else has_windows(one.steps) for one in steps)


def wrong_windows(
    region: ProvenRegion, steps: tuple[ProvenStep, ...], found: tuple[Leaf, ...], held: Mapping[DataObject, HeldArray]
) -> Iterator[Finding]:
    """A sentence for what keeps steps with windows from being the region; `found` are their leaves, `held` the arrays that a device has."""
    try:
        tiles = _tiles(region, steps, found)
        for check in (_each_in_a_step, _in_order, _closed, _ordered_copies, _filled, _stored, _final, _inside):
            check(_Region(region.scop, region.dependences, region.written, held), tiles)
        yield from broken_scopes((one.executed for one in tiles.computed), region.sources)
    except _WrongError as error:
        yield Finding(_RULE, str(error), False)
    except NotAffineError as error:
        yield Finding(_RULE, f"a window is not understood: {error.why.reason}", False)


@dataclass(frozen=True)
class _Region:
    scop: Scop
    dependences: tuple[Dependence, ...]
    written: frozenset[DataObject]
    held: Mapping[DataObject, HeldArray]

    @property
    def flow(self) -> list[Dependence]:
        return [one for one in self.dependences if one.kind is DependenceKind.FLOW]


@dataclass(frozen=True, eq=False)
class _Computed:
    """A leaf that executes a statement in windows; `tiles` is { b -> S[i] }."""

    executed: Executed
    place: int
    tiles: isl.Map


@dataclass(frozen=True, eq=False)
class _Copied:
    """A leaf that copies elements of `array` between its window and `other`; `places` is { [plan instance] -> x }, `tiles` { b -> x }."""

    leaf: Leaf
    place: int
    array: DataObject
    other: DataObject
    places: isl.Map
    tiles: isl.Map

    @cached_property
    def steps(self) -> isl.Map:
        """{ s -> x }"""
        return _of_steps(self.tiles)


@dataclass(frozen=True, eq=False)
class _Tiles:
    """`depth` is that of a tile in the dimensions of its leaves."""

    computed: tuple[_Computed, ...]
    fills: tuple[_Copied, ...]
    stores: tuple[_Copied, ...]
    depth: int

    @cached_property
    def step_of(self) -> dict[str, isl.Map]:
        """{ S[i] -> s }, by the statement's name"""
        found: dict[str, isl.Map] = {}
        for one in self.computed:
            name, steps = one.executed.statement.name, _of_steps(one.tiles).reverse()
            found[name] = steps.union(found[name]).coalesce() if name in found else steps
        return found

    @cached_property
    def of(self) -> dict[str, isl.Map]:
        """{ b -> S[i] }, by the statement's name"""
        found: dict[str, isl.Map] = {}
        for one in self.computed:
            name = one.executed.statement.name
            found[name] = one.tiles.union(found[name]).coalesce() if name in found else one.tiles
        return found

    def same_step(self, name: str, tiles: isl.Map) -> isl.Map:
        """{ b -> S[i] : S[i] is of b's step }, of tiles like those of { b -> ... }"""
        every = isl.Map.identity(tiles.domain().get_space().map_from_set())
        of_tile = every.project_out(_OUT, _STEP, every.dim(_OUT) - _STEP)
        return of_tile.apply_range(self.step_of[name].reverse())


def _of_steps(tiles: isl.Map) -> isl.Map:
    """{ s -> x } of { b -> x }"""
    return tiles.project_out(_IN, _STEP, tiles.dim(_IN) - _STEP).coalesce()


# -- what the leaves are ----------------------------------------------------------------------------------------------


def _tiles(region: ProvenRegion, steps: tuple[ProvenStep, ...], found: tuple[Leaf, ...]) -> _Tiles:
    """Raises _WrongError where the steps are of another form, Unmatched where a statement is none of the region's."""
    while len(steps) == 1 and isinstance(steps[0], ProvenCondition):
        steps = steps[0].steps
    if len(steps) != 1 or not isinstance(steps[0], ProvenLoop):
        raise _WrongError("launches with windows do not stand in one loop of the host alone")
    launches = [one for one in steps[0].steps if isinstance(one, ProvenLaunch)]
    if len(launches) != len(steps[0].steps) or steps[0].loop.decreasing:
        raise _WrongError("launches with windows do not follow each other in the host's loop")
    tiled = [_tile_nest(one) for one in launches]
    if len({len(one.loops) for one in tiled}) != 1:
        raise _WrongError("launches have tiles of different dimensions")
    depth = 1 + len(tiled[0].loops)
    computed: list[_Computed] = []
    fills: list[_Copied] = []
    stores: list[_Copied] = []
    for leaf in found:
        if leaf.launch is None or leaf.domain.is_empty() or isinstance(leaf.node, (If, Loop)):
            continue
        place = next(index for index, one in enumerate(launches) if one is leaf.launch)
        reader = _Reader(leaf, place, tiled[place], depth, region)
        if isinstance(leaf.node, Declaration):
            if region.sources.of(leaf) is not None:
                raise _WrongError("a tile has locals of the user's")
        elif (copy := reader.copy()) is not None:
            (stores if copy[1] else fills).append(copy[0])
        else:
            computed += reader.computed(region.sources)
    return _Tiles(tuple(computed), tuple(fills), tuple(stores), depth)


def _tile_nest(launch: ProvenLaunch) -> TileNest:
    """The tiles of a launch: all of it, dealt out to gangs, with a barrier at the end of each."""
    statements = launch.body.statements
    nest = statements[0] if len(statements) == 1 else None
    if not isinstance(nest, TileNest) or not nest.body.statements:
        raise _WrongError(f"launch {launch.name} is not one nest of tiles")
    if any(tile.kind not in (TileKind.DYNAMIC, TileKind.GANG) for tile in nest.order) or nest.uniform:
        raise _WrongError(f"tiles of launch {launch.name} are not dealt out to gangs")
    if any(tiled.loop.decreasing for tiled in nest.loops):
        raise _WrongError(f"tiles of launch {launch.name} count down")
    if not isinstance(nest.body.statements[-1], Barrier):
        raise _WrongError(
            f"no barrier ends the tiles of launch {launch.name}, so that a window may be filled while it is still read"
        )
    return nest


@dataclass(frozen=True)
class _Reader:
    """What one leaf does in windows."""

    leaf: Leaf
    place: int
    nest: TileNest
    depth: int
    region: ProvenRegion

    @property
    def windows(self) -> dict[DataObject, Window]:
        return {} if self.leaf.launch is None else {one.object: one for one in self.leaf.launch.windows}

    def copy(self) -> tuple[_Copied, bool] | None:
        """The copy of an element that the leaf makes, and whether it goes out of the window; None where it is a statement of the region."""
        node = self.leaf.node
        if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment):
            raise _WrongError("a tile has a statement that is no assignment")
        target, source = node.expression.target, node.expression.value
        if self.region.sources.of(self._meant()) is not None:
            return None
        if node.expression.operator != "=" or not isinstance(target, Access) or not isinstance(source, Access):
            raise _WrongError("a tile has a statement that the region has not")
        out = source.object in self.windows
        inner, outer = (source, target) if out else (target, source)
        window = self.windows.get(inner.object)
        if (
            window is None
            or outer.object in self.windows
            or inner.path
            or outer.path
            or outer.object.scope is Scope.LOCAL
        ):
            raise _WrongError("a tile has a statement that the region has not")
        if outer.object.rank != window.array.rank or self.leaf.opaque or outer.object.element != window.array.element:
            raise _WrongError(f"what is copied of '{window.array.host}' is not understood")
        element = self._element(inner)
        if element.subscripts != outer.subscripts:
            raise _WrongError(f"an element of '{window.array.host}' is copied to the place of another")
        places = self._function(outer.subscripts)
        tiles = self._of_tiles(places)
        return _Copied(self.leaf, self.place, window.array, outer.object, places, tiles), out

    def computed(self, sources: Sources) -> Iterator[_Computed]:
        meant = self._meant()
        source = sources.of(meant)
        if source is None:
            raise _WrongError("a tile has a statement that the region has not")
        arrays = {one.array for one in self.windows.values()}
        for node in walk(self.leaf.node):
            if not isinstance(node, Access) or node.object in self.windows:
                continue
            if node.object in arrays or node.object.scope is Scope.TEMPORARY:
                raise _WrongError(f"'{node.object.host}' is accessed beside its window")
            if node.object in self.region.written and node.object.rank:
                raise _WrongError(f"'{node.object.host}' is written and has no window")
        if self.leaf.opaque:
            raise _WrongError("a condition or bound that is not affine decides what a tile computes")
        for one in executions(meant, *source):
            if any(each.kind is AccessKind.MAY_WRITE or not each.exact for each in one.statement.references):
                raise _WrongError(f"the {where(one.statement)} does not surely access what it names")
            if any(each.writes and each.object not in arrays for each in one.statement.references):
                raise _WrongError(
                    f"the {where(one.statement)}, which may run again and again, writes something without a window"
                )
            yield _Computed(replace(one, leaf=self.leaf), self.place, self._of_tiles(one.relation))

    def _meant(self) -> Leaf:
        """The leaf with the elements that it means in place of those in windows."""
        node = with_accesses(self.leaf.node, lambda one: self._element(one) if one.object in self.windows else one)
        return replace(self.leaf, node=node)

    def _element(self, access: Access) -> Access:
        """The element of the array that an access to its window means, which must lie in the window."""
        window = self.windows[access.object]
        if window.object.element != window.array.element or window.array.volatile:
            raise _WrongError(f"the window of '{window.array.host}' has not its elements")
        subscripts: list[Expression] = []
        for place, (index, origin) in enumerate(zip(access.subscripts, window.origin, strict=False)):
            if not isinstance(index, Binary) or index.operator != "-" or index.right != access_to(origin):
                raise _WrongError(f"a place in the window of '{window.array.host}' is not spelled as one")
            self._check_origin(origin)
            self._check_place(window, index, place)
            subscripts.append(index.left)
        if not len(subscripts) == len(access.subscripts) == window.array.rank:
            raise _WrongError(f"the window of '{window.array.host}' is used as a whole")
        return replace(access, object=window.array, subscripts=tuple(subscripts))

    def _check_origin(self, origin: DataObject) -> None:
        """It is declared in the tile, for all of it."""
        declaration = self.leaf.scopes.get(origin)
        if declaration is None or declaration.depth != self.depth or declaration.launch is not self.leaf.launch:
            raise _WrongError(f"'{origin.host}' is not the same throughout a tile")
        if not any(one is declaration.node for one in self.nest.body.statements):
            raise _WrongError(f"'{origin.host}' is not the same throughout a tile")

    def _check_place(self, window: Window, index: Expression, place: int) -> None:
        length = getattr(window.object.lengths[place], "value", None)
        value = affine(index, self.leaf.frame)
        if not isinstance(length, int):
            raise _WrongError(f"the window of '{window.array.host}' has a length that is no number")
        frame = self.leaf.frame
        good = value.ge_set(frame.number(0)).intersect(value.lt_set(frame.number(length)))
        if not self.leaf.domain.is_subset(good):
            raise _WrongError(f"the window of '{window.array.host}' is too small")

    def _function(self, subscripts: tuple[Expression, ...]) -> isl.Map:
        """{ [plan instance] -> [subscripts] }"""
        frame = self.leaf.frame
        result = isl.Map.universe(isl.Space.alloc(frame.context, 0, self.leaf.depth, 0))
        for one in subscripts:
            result = result.flat_range_product(isl.Map.from_pw_aff(affine(one, frame)))
        return result.intersect_domain(self.leaf.domain)

    def _of_tiles(self, relation: isl.Map) -> isl.Map:
        """{ b -> x } of { [plan instance] -> x }"""
        inner = relation.project_out(_IN, self.depth, relation.dim(_IN) - self.depth)
        launch = isl.Val.int_from_si(inner.get_ctx(), self.place)
        return inner.insert_dims(_IN, 1, 1).fix_val(_IN, 1, launch).coalesce()


# -- what must hold ---------------------------------------------------------------------------------------------------


def _each_in_a_step(region: _Region, tiles: _Tiles) -> None:
    """Every instance, and no other, in one step; once in each of its tiles."""
    seen: set[tuple[str, int]] = set()
    for one in tiles.computed:
        name = one.executed.statement.name
        if (name, one.place) in seen:
            raise _WrongError(f"the {where(one.executed.statement)} stands twice in a launch")
        seen.add((name, one.place))
        if not _once_a_tile(one.executed.relation, tiles.depth):
            raise _WrongError(f"the {where(one.executed.statement)} runs twice in a tile")
    for statement in region.scop.statements:
        steps = tiles.step_of.get(statement.name)
        if steps is None or not statement.domain.is_subset(steps.domain()):
            raise _WrongError(f"the {where(statement)} is not shown to run for all of its instances")
        if not steps.domain().is_subset(statement.domain):
            raise _WrongError(f"the {where(statement)} runs for instances that the region does not have")
        if not steps.is_single_valued():
            raise _WrongError(f"the {where(statement)} runs in two steps of the host for one instance")


def _once_a_tile(relation: isl.Map, depth: int) -> bool:
    """Whether, in { [b, i] -> x }, b being the first `depth` dimensions, each b has each x once."""
    return bool(_in_tile(relation, depth).is_injective())


def _in_tile(relation: isl.Map, depth: int) -> isl.Map:
    """{ [b, i] -> [b, x] }"""
    whole = isl.Map.identity(relation.domain().get_space().map_from_set())
    tile = whole.project_out(_OUT, depth, whole.dim(_OUT) - depth)
    return tile.flat_range_product(relation.reset_tuple_id(_OUT))


def _in_order(region: _Region, tiles: _Tiles) -> None:
    """No dependence goes to an earlier step, and inside a tile all run forward."""
    for one in region.dependences:
        source, sink = one.source_statement.name, one.sink_statement.name
        steps = one.relation.apply_domain(tiles.step_of[source]).apply_range(tiles.step_of[sink])
        if not steps.intersect(isl.Map.lex_gt(steps.domain().get_space())).is_empty():
            raise _WrongError(
                f"the {one.kind.value} dependence of '{one.source.object.host}' goes to an earlier step of the host"
            )
        for first in tiles.computed:
            for second in tiles.computed:
                named = (first.executed.statement.name, second.executed.statement.name) == (source, sink)
                if named and first.place == second.place:
                    taken = first.executed.relation.apply_range(one.relation)
                    pairs = taken.apply_range(second.executed.relation.reverse())
                    what = f"the {one.kind.value} dependence of '{one.source.object.host}'"
                    _check_order(first.executed.leaf, second.executed.leaf, pairs, tiles.depth, what)


def _check_order(first: Leaf, second: Leaf, pairs: isl.Map, depth: int, what: str) -> None:
    """Of pairs of instances in one tile."""
    for dimension in range(depth):
        pairs = pairs.equate(_IN, dimension, _OUT, dimension)
    broken = out_of_order(first, second, pairs)
    if broken is not None:
        raise _WrongError(f"{what} is broken in a tile: its instances {broken.reason}")


def _closed(region: _Region, tiles: _Tiles) -> None:
    """{ b -> S[i] : b has an instance that S[i] of its step hands a value } is in Q_S."""
    for one in region.flow:
        source, sink = one.source_statement.name, one.sink_statement.name
        needed = tiles.of[sink].apply_range(one.relation.reverse())
        if not needed.intersect(tiles.same_step(source, needed)).is_subset(tiles.of[source]):
            raise _WrongError(
                f"a tile lacks instances of the {where(one.source_statement)} that it reads '{one.source.object.host}' from"
            )


def _ordered_copies(region: _Region, tiles: _Tiles) -> None:
    """Windows are filled before, and stored after, all that computes in them."""
    for fill in tiles.fills:
        for one, reference in _computing(tiles, fill):
            accessed = one.executed.relation.apply_range(reference.relation.reset_tuple_id(_OUT))
            pairs = fill.places.apply_range(accessed.reverse())
            _check_order(fill.leaf, one.executed.leaf, pairs, tiles.depth, f"filling the window of '{fill.array.host}'")
        for store in tiles.stores:
            if store.place == fill.place and store.array == fill.array:
                pairs = fill.places.apply_range(store.places.reverse())
                _check_order(fill.leaf, store.leaf, pairs, tiles.depth, f"filling the window of '{fill.array.host}'")
    for store in tiles.stores:
        for one, reference in _computing(tiles, store):
            if reference.writes:
                accessed = one.executed.relation.apply_range(reference.relation.reset_tuple_id(_OUT))
                pairs = accessed.apply_range(store.places.reverse())
                what = f"storing the window of '{store.array.host}'"
                _check_order(one.executed.leaf, store.leaf, pairs, tiles.depth, what)


def _computing(tiles: _Tiles, copy: _Copied) -> Iterator[tuple[_Computed, Reference]]:
    """What a launch computes of the array that is copied there."""
    for one in tiles.computed:
        if one.place == copy.place:
            yield from ((one, each) for each in one.executed.statement.references if each.object == copy.array)


def _union(maps: Iterable[isl.Map], like: isl.Map) -> isl.Map:
    return reduce(isl.Map.union, maps, isl.Map.empty(like.get_space())).coalesce()


def _filled(region: _Region, tiles: _Tiles) -> None:
    """What is read from before the step is in the window, with the value that it has there."""
    arrays = _arrays(region)
    for name, all_tiles in tiles.of.items():
        statement = next(one for one in region.scop.statements if one.name == name)
        for reference in statement.references:
            if reference.writes or reference.object not in arrays:
                continue
            left = statement.domain
            for one in region.flow:
                if one.sink is reference and one.source.kind is AccessKind.MUST_WRITE:
                    steps = tiles.step_of[one.source_statement.name]
                    same = steps.apply_range(tiles.step_of[name].reverse())
                    left = left.subtract(one.relation.intersect(same).range())
            old = all_tiles.intersect_range(left).apply_range(reference.relation.reset_tuple_id(_OUT))
            mine = (one.tiles for one in tiles.fills if one.array == reference.object)
            if not old.is_subset(_union(mine, old)):
                raise _WrongError(
                    f"a window lacks elements of '{reference.object.host}' that are read from before the step"
                )
    for fill in tiles.fills:
        if not _once_a_tile(fill.places, tiles.depth) or _others(tiles.fills, fill):
            raise _WrongError(f"a window of '{fill.array.host}' is filled twice")
        _check_current(region, tiles, fill)
        for store in tiles.stores:
            if store.other == fill.other and store.place == fill.place:
                both = fill.steps.intersect(store.steps)
                if not both.is_empty():
                    raise _WrongError(
                        f"'{fill.other.host}' is read and written by tiles that do not wait for each other"
                    )


def _arrays(region: _Region) -> frozenset[DataObject]:
    return frozenset(one for one in region.written if one.rank)


def _others(copies: tuple[_Copied, ...], copy: _Copied) -> list[_Copied]:
    """Other copies of the same launch between the same two."""
    mine = (copy.place, copy.array)
    return [one for one in copies if one is not copy and (one.place, one.array) == mine]


def _written(region: _Region, tiles: _Tiles, array: DataObject) -> isl.Map:
    """{ s -> x : S[i], of step s, writes x }"""
    found = [
        tiles.step_of[statement.name].reverse().apply_range(one.relation.reset_tuple_id(_OUT))
        for statement in region.scop.statements
        for one in statement.references
        if one.object == array and one.writes
    ]
    return reduce(isl.Map.union, found).coalesce()


def _check_current(region: _Region, tiles: _Tiles, fill: _Copied) -> None:
    """What a window is filled with is what the region has left there before the step."""
    _check_copy_of(tiles, fill)
    stored = _stored_to(tiles, fill.other, fill.steps)
    written = _written(region, tiles, fill.array)
    # { [s, x] -> p }
    filled = fill.steps.wrap().flatten()
    rank = fill.array.rank
    earlier = _pairs(filled, written, rank).intersect(_before(rank, filled.get_ctx()))
    if not earlier.is_subset(_answered(filled, stored, rank)):
        raise _WrongError(
            f"a window is filled from '{fill.other.host}' with values of '{fill.array.host}' that are not the latest"
        )
    if fill.other != fill.array:
        holding = _pairs(filled, stored, rank).intersect(_before(rank, filled.get_ctx())).domain()
        if not filled.is_subset(holding):
            raise _WrongError(f"a window is filled from '{fill.other.host}', which has no values there yet")


def _check_copy_of(tiles: _Tiles, copy: _Copied) -> None:
    """What is no array of the user's holds values of one array alone; one of the user's those of itself."""
    if copy.other == copy.array:
        return
    if copy.other.scope is not Scope.TEMPORARY:
        raise _WrongError(f"'{copy.other.host}' holds values of '{copy.array.host}'")
    if any(one.other == copy.other and one.array != copy.array for one in (*tiles.fills, *tiles.stores)):
        raise _WrongError(f"'{copy.other.host}' holds values of several arrays")


def _stored_to(tiles: _Tiles, other: DataObject, like: isl.Map) -> isl.Map:
    """{ s -> x } that is stored to an array"""
    return _union((one.steps for one in tiles.stores if one.other == other), like)


def _pairs(filled: isl.Set, steps: isl.Map, rank: int) -> isl.Map:
    """{ [s, x] -> p : [s, x] is filled, p -> x is in `steps` }"""
    every = isl.Map.identity(filled.get_space().map_from_set())
    return every.project_out(_OUT, 0, _STEP).apply_range(steps.reverse()).intersect_domain(filled)


def _before(rank: int, context: isl.Context) -> isl.Map:
    """{ [s, x] -> p : p < s }"""
    names = "".join(f", x{place}" for place in range(rank))
    return isl.Map(f"{{ [h, l{names}] -> [p, q] : p < h or (p = h and q < l) }}", context=context)


def _not_after(context: isl.Context) -> isl.Map:
    """{ s -> p : p <= s }"""
    return isl.Map("{ [h, l] -> [p, q] : p < h or (p = h and q <= l) }", context=context)


def _answered(filled: isl.Set, stored: isl.Map, rank: int) -> isl.Map:
    """{ [s, x] -> p : some q stores x, p <= q < s }"""
    later = _pairs(filled, stored, rank).intersect(_before(rank, filled.get_ctx()))
    return later.apply_range(_not_after(filled.get_ctx()))


def _stored(region: _Region, tiles: _Tiles) -> None:
    """What is stored is what the region has left there after the step; once."""
    for store in tiles.stores:
        name = store.array.host
        _check_copy_of(tiles, store)
        together = [
            one for one in tiles.stores if one is not store and (one.place, one.other) == (store.place, store.other)
        ]
        if together or not _once_a_tile(store.places, 1):
            raise _WrongError(f"elements of '{store.other.host}' are stored twice in a step")
        kept = [one.tiles for one in tiles.fills if (one.place, one.array) == (store.place, store.array)]
        for statement in region.scop.statements:
            for one in statement.references:
                if one.object != store.array or not one.writes:
                    continue
                elements = one.relation.reset_tuple_id(_OUT)
                writers = store.tiles.apply_range(elements.reverse())
                if not writers.intersect(tiles.same_step(statement.name, writers)).is_subset(tiles.of[statement.name]):
                    raise _WrongError(f"a tile stores elements of '{name}' that another tile computes")
                kept.append(tiles.of[statement.name].apply_range(elements))
        if not store.tiles.is_subset(_union(kept, store.tiles)):
            raise _WrongError(f"a tile stores elements of '{name}' that it neither has nor computes")


def _final(region: _Region, tiles: _Tiles) -> None:
    """The user's arrays end as they do in the region."""
    for array in _arrays(region):
        written = _written(region, tiles, array)
        stored = _stored_to(tiles, array, written)
        if not stored.range().is_subset(written.range()):
            raise _WrongError(f"elements of '{array.host}' are stored that the region does not write")
        if not written.is_subset(stored.apply_domain(_not_after(region.scop.context))):
            raise _WrongError(f"results of '{array.host}' are not stored")


def _inside(region: _Region, tiles: _Tiles) -> None:
    """What is copied lies in what a device has of the arrays."""
    frame = Frame(region.scop.context, (), region.written)
    for copy in (*tiles.fills, *tiles.stores):
        held = region.held.get(copy.other)
        if held is None:
            raise _WrongError(f"'{copy.other.host}' is not there")
        touched = reduce(
            isl.Set.union,
            (
                one.relation.range().reset_tuple_id()
                for statement in region.scop.statements
                for one in statement.references
                if one.object == copy.array
            ),
        )
        if not lies_in_section(held, copy.tiles.range(), touched, frame):
            raise _WrongError(f"elements of '{copy.other.host}' outside its section are copied")
