"""What launches with scratchpads do: the instances that their tiles execute, and what tiles copy in and out (see plan_proof_scratchpads)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import field, replace
from functools import cached_property

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    IntegerLiteral,
    Scope,
    access_to,
)
from tilepragma.ir.loop_tree import (
    Barrier,
    Declaration,
    ExpressionStatement,
    If,
    Loop,
    RegisterQueue,
    Scratchpad,
    TileNest,
)
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.poly.affine import affine, affine_tuple
from tilepragma.poly.scop import AccessKind
from tilepragma.verify.launch_tree_relation import (
    Dealt,
    Leaf,
    Ordered,
    ProvenCondition,
    ProvenLaunch,
    ProvenLoop,
    ProvenStep,
)
from tilepragma.verify.statement_matching import Executed, ProvenRegion, Sources, executions, where

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out

#: Dimensions of a step of the host: the round of its loop (0 where there is none), and the launch.
STEP = 2


class WrongError(Exception):
    """What keeps a plan with scratchpads from being proven; the text is a sentence."""


@dataclass(frozen=True, eq=False)
class Computed:
    """A leaf that executes a statement in scratchpads; `tiles` is { b -> S[i] }."""

    executed: Executed
    place: int
    tiles: isl.Map


@dataclass(frozen=True, eq=False)
class Copied:
    """A leaf that copies elements of `array` between its scratchpad and `other`; `places` is { [plan instance] -> x }, `tiles` { b -> x }."""

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
class RingUse:
    """A leaf that touches elements of a scratchpad that is a ring of so many `planes` along a
    dimension; `elements` is { [plan instance] -> [x] }, their subscripts there.
    """

    leaf: Leaf
    scratchpad: Scratchpad
    planes: int
    elements: isl.Map


@dataclass(frozen=True, eq=False)
class RegisterQueueUse:
    """A leaf that writes elements of a scratchpad of which workers have columns in registers, or reads
    them there; `elements` is { [plan instance] -> x }.
    """

    leaf: Leaf
    scratchpad: Scratchpad
    writes: bool
    elements: isl.Map


@dataclass(frozen=True, eq=False)
class Tiles:
    """`depth` is that of a tile in the dimensions of its leaves, `rounds` that of the host's loop
    around, if there is one. `rings`: of each ring all that touches it, by launch and dimension;
    `columns`: of each scratchpad that has columns in registers all that writes it or reads them, by
    launch. `kept` are the arrays that have scratchpads.
    """

    computed: tuple[Computed, ...]
    fills: tuple[Copied, ...]
    stores: tuple[Copied, ...]
    depth: int
    rounds: int
    rings: tuple[tuple[RingUse, ...], ...]
    columns: tuple[tuple[RegisterQueueUse, ...], ...]
    kept: frozenset[DataObject]

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

    @cached_property
    def same_step(self) -> dict[str, isl.Map]:
        """{ b -> S[i] : S[i] is of b's step }, by the statement's name"""
        some = next(iter(self.of.values()))
        every = isl.Map.identity(some.domain().get_space().map_from_set())
        of_tile = every.project_out(_OUT, STEP, every.dim(_OUT) - STEP)
        return {name: of_tile.apply_range(steps.reverse()) for name, steps in self.step_of.items()}


def _of_steps(tiles: isl.Map) -> isl.Map:
    """{ s -> x } of { b -> x }"""
    return tiles.project_out(_IN, STEP, tiles.dim(_IN) - STEP).coalesce()


# -- what the leaves are


def scratchpad_tiles(region: ProvenRegion, steps: tuple[ProvenStep, ...], found: tuple[Leaf, ...]) -> Tiles:
    """Raises WrongError where the steps are of another form, Unmatched where a statement is none of the region's."""
    while len(steps) == 1 and isinstance(steps[0], ProvenCondition):
        steps = steps[0].steps
    rounds = 0
    if len(steps) == 1 and isinstance(steps[0], ProvenLoop):
        if steps[0].loop.decreasing:
            raise WrongError("launches with scratchpads stand in a loop of the host that counts down")
        rounds, steps = 1, steps[0].steps
    launches = [step for step in steps if isinstance(step, ProvenLaunch)]
    if len(launches) != len(steps):
        raise WrongError("launches with scratchpads do not follow each other, alone or in one loop of the host")
    tiled = [_tile_nest(launch) for launch in launches]
    if len({len(one.loops) for one in tiled}) != 1:
        raise WrongError("launches have tiles of different dimensions")
    depth = rounds + len(tiled[0].loops)
    computed: list[Computed] = []
    fills: list[Copied] = []
    stores: list[Copied] = []
    rings: dict[tuple[int, DataObject, int], list[RingUse]] = {}
    columns: dict[tuple[int, DataObject], list[RegisterQueueUse]] = {}
    for leaf in found:
        if leaf.launch is None or leaf.domain.is_empty() or isinstance(leaf.node, (If, Loop)):
            continue
        place = next(index for index, launch in enumerate(launches) if launch is leaf.launch)
        reader = _Reader(leaf, place, tiled[place], depth, rounds, region)
        if isinstance(leaf.node, Declaration):
            if region.sources.of(leaf) is not None:
                raise WrongError("a tile has locals of the user's")
        elif (copy := reader.copy()) is not None:
            (stores if copy[1] else fills).append(copy[0])
        else:
            computed += reader.computed(region.sources)
        for dimension, use in reader.rings():
            rings.setdefault((place, use.scratchpad.object, dimension), []).append(use)
        for own in reader.columns():
            columns.setdefault((place, own.scratchpad.object), []).append(own)
    by_ring, by_column = tuple(map(tuple, rings.values())), tuple(map(tuple, columns.values()))
    kept = frozenset(scratchpad.array for launch in launches for scratchpad in launch.scratchpads)
    return Tiles(tuple(computed), tuple(fills), tuple(stores), depth, rounds, by_ring, by_column, kept)


def _tile_nest(launch: ProvenLaunch) -> TileNest:
    """The tiles of a launch: all of it, dealt out to gangs, with a barrier at the end of each."""
    statements = launch.body.statements
    nest = statements[0] if len(statements) == 1 else None
    if not isinstance(nest, TileNest) or not nest.body.statements:
        raise WrongError(f"launch {launch.name} is not one nest of tiles")
    if any(tile.kind not in (TileKind.DYNAMIC, TileKind.GANG) for tile in nest.order) or nest.uniform:
        raise WrongError(f"tiles of launch {launch.name} are not dealt out to gangs")
    if any(tiled.loop.decreasing for tiled in nest.loops):
        raise WrongError(f"tiles of launch {launch.name} count down")
    if not isinstance(nest.body.statements[-1], Barrier):
        raise WrongError(
            f"no barrier ends the tiles of launch {launch.name}, so that a scratchpad may be filled while it is still read"
        )
    return nest


@dataclass(frozen=True)
class _Reader:
    """What one leaf does in scratchpads."""

    leaf: Leaf
    place: int
    nest: TileNest
    depth: int
    rounds: int
    region: ProvenRegion
    _lying: set[tuple[DataObject, Binary, int]] = field(default_factory=set, compare=False, repr=False)
    """scratchpads, and indices of their dimensions that were shown to lie in them at this leaf"""

    @property
    def scratchpads(self) -> dict[DataObject, Scratchpad]:
        launch = self.leaf.launch
        return (
            {}
            if launch is None
            else {name: scratchpad for scratchpad in launch.scratchpads for name in scratchpad.names}
        )

    def copy(self) -> tuple[Copied, bool] | None:
        """The copy of an element that the leaf makes, and whether it goes out of the scratchpad; None where it is a statement of the region."""
        node = self.leaf.node
        if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment):
            raise WrongError("a tile has a statement that is no assignment")
        target, source = node.expression.target, node.expression.value
        if self.region.sources.of(self._meant) is not None:
            return None
        if node.expression.operator != "=" or not isinstance(target, Access) or not isinstance(source, Access):
            raise WrongError("a tile has a statement that the region has not")
        out = source.object in self.scratchpads
        inner, outer = (source, target) if out else (target, source)
        scratchpad = self.scratchpads.get(inner.object)
        if (
            scratchpad is None
            or outer.object in self.scratchpads
            or inner.path
            or outer.path
            or outer.object.scope is Scope.LOCAL
        ):
            raise WrongError("a tile has a statement that the region has not")
        if (
            outer.object.rank != scratchpad.array.rank
            or self.leaf.opaque
            or outer.object.element != scratchpad.array.element
        ):
            raise WrongError(f"what is copied of '{scratchpad.array.host}' is not understood")
        element = self._element(inner)
        if element.subscripts != outer.subscripts:
            raise WrongError(f"an element of '{scratchpad.array.host}' is copied to the place of another")
        places = affine_tuple(outer.subscripts, self.leaf.frame).intersect_domain(self.leaf.domain)
        tiles = self._of_tiles(places)
        return Copied(self.leaf, self.place, scratchpad.array, outer.object, places, tiles), out

    def computed(self, sources: Sources) -> Iterator[Computed]:
        meant = self._meant
        source = sources.of(meant)
        if source is None:
            raise WrongError("a tile has a statement that the region has not")
        arrays = {scratchpad.array for scratchpad in self.scratchpads.values()}
        for node in walk(self.leaf.node):
            if not isinstance(node, Access) or node.object in self.scratchpads:
                continue
            if node.object in arrays or node.object.scope is Scope.TEMPORARY:
                raise WrongError(f"'{node.object.host}' is accessed beside its scratchpad")
            if node.object in self.region.written and node.object.rank:
                raise WrongError(f"'{node.object.host}' is written and has no scratchpad")
        if self.leaf.opaque:
            raise WrongError("a condition or bound that is not affine decides what a tile computes")
        for execution in executions(meant, *source):
            if any(each.kind is AccessKind.MAY_WRITE or not each.exact for each in execution.statement.references):
                raise WrongError(f"the {where(execution.statement)} does not surely access what it names")
            if any(each.writes and each.object not in arrays for each in execution.statement.references):
                raise WrongError(
                    f"the {where(execution.statement)}, which may run again and again, writes something without a scratchpad"
                )
            yield Computed(replace(execution, leaf=self.leaf), self.place, self._of_tiles(execution.relation))

    @cached_property
    def _meant(self) -> Leaf:
        """The leaf with the elements that it means in place of those in scratchpads."""
        node = with_accesses(self.leaf.node, lambda one: self._element(one) if one.object in self.scratchpads else one)
        return replace(self.leaf, node=node)

    def _element(self, access: Access) -> Access:
        """The element of the array that an access to its scratchpad means, which must lie in the scratchpad."""
        scratchpad = self.scratchpads[access.object]
        if scratchpad.object.element != scratchpad.array.element or scratchpad.array.volatile:
            raise WrongError(f"the scratchpad of '{scratchpad.array.host}' has not its elements")
        subscripts: list[Expression] = []
        for place, (index, origin) in enumerate(zip(access.subscripts, scratchpad.origin, strict=False)):
            if not isinstance(index, Binary) or not _spells_place(scratchpad, place, index):
                raise WrongError(f"a place in the scratchpad of '{scratchpad.array.host}' is not spelled as one")
            if origin is not None:
                self._check_origin(origin)
            self._check_place(scratchpad, index, place)
            subscripts.append(index.left)
        if not len(subscripts) == len(access.subscripts) == scratchpad.array.rank:
            raise WrongError(f"the scratchpad of '{scratchpad.array.host}' is used as a whole")
        return replace(access, object=scratchpad.array, subscripts=tuple(subscripts))

    def _check_origin(self, origin: DataObject) -> None:
        """It is declared in the tile, for all of it."""
        declaration = self.leaf.scopes.get(origin)
        if declaration is None or declaration.depth != self.depth or declaration.launch is not self.leaf.launch:
            raise WrongError(f"'{origin.host}' is not the same throughout a tile")
        if not any(statement is declaration.node for statement in self.nest.body.statements):
            raise WrongError(f"'{origin.host}' is not the same throughout a tile")

    def _check_place(self, scratchpad: Scratchpad, index: Binary, place: int) -> None:
        """That the index lies in the scratchpad. Neighbours have most of their indices in common: each is asked about once."""
        if (scratchpad.object, index, place) in self._lying:
            return
        frame, ring = self.leaf.frame, scratchpad.origin[place] is None
        # The lowest bits of what is not negative are the remainder of a power of two.
        value = affine(index.left if ring else index, frame)
        good = value.ge_set(frame.number(0))
        if not ring:
            length = scratchpad.object.lengths[place]
            if length is None:
                raise WrongError(f"the scratchpad of '{scratchpad.array.host}' has a length that is no number")
            # Sizes of tiles are numbers that the frame knows.
            good = good.intersect(value.lt_set(affine(length, frame)))
        if not (_around(self.leaf).is_subset(good) or self.leaf.domain.is_subset(good)):
            raise WrongError(f"the scratchpad of '{scratchpad.array.host}' is too small")
        self._lying.add((scratchpad.object, index, place))

    def rings(self) -> Iterator[tuple[int, RingUse]]:
        """What the leaf, which means elements of scratchpads alone, touches of rings, with the dimension."""
        found: dict[tuple[DataObject, int], isl.Map] = {}
        for node in walk(self.leaf.node):
            scratchpad = self.scratchpads.get(node.object) if isinstance(node, Access) else None
            for dimension, origin in enumerate(scratchpad.origin if scratchpad is not None else ()):
                index = node.subscripts[dimension]
                if scratchpad is not None and origin is None and isinstance(index, Binary):
                    place, elements = (
                        (scratchpad.object, dimension),
                        affine_tuple((index.left,), self.leaf.frame).intersect_domain(self.leaf.domain),
                    )
                    found[place] = elements.union(found[place]) if place in found else elements
        for (object_, dimension), elements in found.items():
            scratchpad = self.scratchpads[object_]
            yield dimension, RingUse(self.leaf, scratchpad, length_of(scratchpad, dimension), elements.coalesce())

    def columns(self) -> Iterator[RegisterQueueUse]:
        """What the leaf, which means elements of scratchpads alone, writes of scratchpads with columns in registers, and reads of these."""
        expression = self.leaf.node.expression if isinstance(self.leaf.node, ExpressionStatement) else None
        target = expression.target if isinstance(expression, Assignment) else None
        for node in walk(self.leaf.node):
            if not isinstance(node, Access) or (scratchpad := self.scratchpads.get(node.object)) is None:
                continue
            if scratchpad.column is None or (node.object == scratchpad.object and node is not target):
                continue
            if node is target and node.object != scratchpad.object:
                raise WrongError(f"'{scratchpad.array.host}' is written in registers alone")
            places = self._element(node).subscripts
            self._check_planes(scratchpad.column, places[0])
            elements = affine_tuple(places, self.leaf.frame).intersect_domain(self.leaf.domain)
            yield RegisterQueueUse(self.leaf, scratchpad, node is target, elements)

    def _check_planes(self, column: RegisterQueue, plane: Expression) -> None:
        """The plane is one of those that registers have at the position: 0 <= position - plane < planes."""
        at = self.leaf.value(column.position)
        around = list(itertools.takewhile(lambda one: not (isinstance(one, Dealt) and one.to_workers), self.leaf.path))
        rounds = [one for one in around if isinstance(one, Ordered) and one.dimension >= self.depth and one.sign > 0]
        if at is None or all(self.leaf.frame.iterators[round_.dimension] != column.position for round_ in rounds):
            raise WrongError(f"'{column.position.host}' is no position of a walk through planes")
        behind = at.sub(affine(plane, self.leaf.frame))
        frame = self.leaf.frame
        good = behind.ge_set(frame.number(0)).intersect(behind.lt_set(frame.number(column.planes)))
        if not self.leaf.domain.is_subset(good):
            raise WrongError(f"the registers of '{column.object.host}' have not all planes that are read or written")

    def _of_tiles(self, relation: isl.Map) -> isl.Map:
        """{ b -> x } of { [plan instance] -> x }"""
        inner = relation.project_out(_IN, self.depth, relation.dim(_IN) - self.depth)
        launch = isl.Val.int_from_si(inner.get_ctx(), self.place)
        if not self.rounds:
            inner = inner.insert_dims(_IN, 0, 1).fix_val(_IN, 0, isl.Val.zero(inner.get_ctx()))
        return inner.insert_dims(_IN, 1, 1).fix_val(_IN, 1, launch).coalesce()


@once
def _around(leaf: Leaf) -> isl.Set:
    """A convex set with all of the leaf's instances: what holds there is sooner seen."""
    return isl.Set.from_basic_set(leaf.domain.simple_hull())


def length_of(scratchpad: Scratchpad, dimension: int) -> int:
    """The scratchpad's length along a dimension. Raises WrongError where it is no number."""
    length = scratchpad.object.lengths[dimension]
    if not isinstance(length, IntegerLiteral):
        raise WrongError(f"the scratchpad of '{scratchpad.array.host}' has a length that is no number")
    return length.value


def _spells_place(scratchpad: Scratchpad, dimension: int, index: Binary) -> bool:
    """Whether `index` is `x - origin`, or of a ring `x & (length - 1)`, the length being a power of two."""
    origin = scratchpad.origin[dimension]
    if origin is not None:
        return index.operator == "-" and index.right == access_to(origin)
    length = length_of(scratchpad, dimension)
    mask = index.right.value if isinstance(index.right, IntegerLiteral) else None
    return index.operator == "&" and length > 0 and length & (length - 1) == 0 and mask == length - 1
