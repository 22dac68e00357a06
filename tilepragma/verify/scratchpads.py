"""The tiles of launches with scratchpads: executed instances, and copies (see overlapped_tiles)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
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
    Leaf,
    Mapped,
    Ordered,
    ProvenCondition,
    ProvenLaunch,
    ProvenLoop,
    ProvenStep,
)
from tilepragma.verify.statement_matching import Executed, ProvenRegion, Sources, executions, where

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out

#: Dimensions of a host step: the round of its loop (0 without a loop), and the launch.
STEP = 2


class WrongError(Exception):
    """Why the plan's scratchpads cannot be proven; the text is a sentence."""


@dataclass(frozen=True, eq=False)
class Computed:
    """A leaf that executes a statement in scratchpads; `tiles` is { b -> S[i] }."""

    executed: Executed
    place: int
    tiles: isl.Map


@dataclass(frozen=True, eq=False)
class Copied:
    """A copy of `array`'s scratchpad: { [plan instance] -> x }, and { b -> x } for `tiles`."""

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
    """A leaf that touches elements of a circular scratchpad with `planes` planes along a dimension;
    `elements` is { [plan instance] -> [x] }, their subscripts there.
    """

    leaf: Leaf
    scratchpad: Scratchpad
    planes: int
    elements: isl.Map


@dataclass(frozen=True, eq=False)
class RegisterQueueUse:
    """A leaf's `elements` { [plan instance] -> x } of a register queue, written or read."""

    leaf: Leaf
    scratchpad: Scratchpad
    writes: bool
    elements: isl.Map


@dataclass(frozen=True, eq=False)
class Tiles:
    """The tiles of steps. `depth` counts a tile's dimensions among those of its leaves, `rounds`
    those of the host loop around (0 or 1). `rings`: for each circular scratchpad, all that touches
    it, by launch and dimension; `columns`: for each scratchpad with a register queue, all that
    writes it or reads the queue, by launch. `kept` are the arrays with scratchpads.
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
        return _united((computed, _of_steps(computed.tiles).reverse()) for computed in self.computed)

    @cached_property
    def of(self) -> dict[str, isl.Map]:
        """{ b -> S[i] }, by the statement's name"""
        return _united((computed, computed.tiles) for computed in self.computed)

    @cached_property
    def same_step(self) -> dict[str, isl.Map]:
        """{ b -> S[i] : S[i] is of b's step }, by the statement's name"""
        tiles = next(iter(self.of.values()))
        identity = isl.Map.identity(tiles.domain().get_space().map_from_set())
        of_tile = identity.project_out(_OUT, STEP, identity.dim(_OUT) - STEP)
        return {name: of_tile.apply_range(steps.reverse()) for name, steps in self.step_of.items()}


def _united(pairs: Iterable[tuple[Computed, isl.Map]]) -> dict[str, isl.Map]:
    relations: dict[str, isl.Map] = {}
    for computed, relation in pairs:
        name = computed.executed.statement.name
        relations[name] = relation.union(relations[name]).coalesce() if name in relations else relation
    return relations


def _of_steps(tiles: isl.Map) -> isl.Map:
    """{ s -> x } of { b -> x }"""
    return tiles.project_out(_IN, STEP, tiles.dim(_IN) - STEP).coalesce()


# -- what the leaves are


def scratchpad_tiles(region: ProvenRegion, steps: tuple[ProvenStep, ...], leaves: tuple[Leaf, ...]) -> Tiles:
    """Raises WrongError for steps of another form, Unmatched for statements not in the region."""
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
    if len({len(nest.loops) for nest in tiled}) != 1:
        raise WrongError("launches have tiles of different dimensions")
    depth = rounds + len(tiled[0].loops)
    computed: list[Computed] = []
    fills: list[Copied] = []
    stores: list[Copied] = []
    rings: dict[tuple[int, DataObject, int], list[RingUse]] = {}
    columns: dict[tuple[int, DataObject], list[RegisterQueueUse]] = {}
    for leaf in leaves:
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
        for queue_use in reader.columns():
            columns.setdefault((place, queue_use.scratchpad.object), []).append(queue_use)
    by_ring, by_column = tuple(map(tuple, rings.values())), tuple(map(tuple, columns.values()))
    arrays = frozenset(scratchpad.array for launch in launches for scratchpad in launch.scratchpads)
    return Tiles(tuple(computed), tuple(fills), tuple(stores), depth, rounds, by_ring, by_column, arrays)


def _tile_nest(launch: ProvenLaunch) -> TileNest:
    """The tiles of a launch: all of it, mapped to gangs, each with a barrier at its end."""
    statements = launch.body.statements
    nest = statements[0] if len(statements) == 1 else None
    if not isinstance(nest, TileNest) or not nest.body.statements:
        raise WrongError(f"launch {launch.name} is not one nest of tiles")
    if any(tile.kind not in (TileKind.DYNAMIC, TileKind.GANG) for tile in nest.order) or nest.uniform:
        raise WrongError(f"tiles of launch {launch.name} are not mapped to gangs")
    if any(tiled.loop.decreasing for tiled in nest.loops):
        raise WrongError(f"tiles of launch {launch.name} count down")
    if not isinstance(nest.body.statements[-1], Barrier):
        raise WrongError(
            f"no barrier ends the tiles of launch {launch.name}, so that a scratchpad may be filled while it is "
            "still read"
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
    """indices proven to lie in a dimension of a scratchpad at this leaf"""

    @property
    def scratchpads(self) -> dict[DataObject, Scratchpad]:
        launch = self.leaf.launch
        return (
            {}
            if launch is None
            else {name: scratchpad for scratchpad in launch.scratchpads for name in scratchpad.names}
        )

    def copy(self) -> tuple[Copied, bool] | None:
        """The leaf's copy of an element, and whether it is a store; None for statements."""
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
        original = self._meant
        source = sources.of(original)
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
        for execution in executions(original, *source):
            references = execution.statement.references
            if any(reference.kind is AccessKind.MAY_WRITE or not reference.exact for reference in references):
                raise WrongError(f"the {where(execution.statement)} does not surely access what it names")
            if any(reference.writes and reference.object not in arrays for reference in references):
                raise WrongError(
                    f"the {where(execution.statement)}, which may run again and again, writes something without a "
                    "scratchpad"
                )
            yield Computed(replace(execution, leaf=self.leaf), self.place, self._of_tiles(execution.relation))

    @cached_property
    def _meant(self) -> Leaf:
        """The leaf with scratchpad elements replaced by the array elements that they hold."""

        def element(access: Access) -> Access:
            return self._element(access) if access.object in self.scratchpads else access

        return replace(self.leaf, node=with_accesses(self.leaf.node, element))

    def _element(self, access: Access) -> Access:
        """The array element of an access to its scratchpad; it must lie in the scratchpad."""
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
        """The origin is declared in the tile, for all of it."""
        declaration = self.leaf.scopes.get(origin)
        if declaration is None or declaration.depth != self.depth or declaration.launch is not self.leaf.launch:
            raise WrongError(f"'{origin.host}' is not the same throughout a tile")
        if not any(statement is declaration.node for statement in self.nest.body.statements):
            raise WrongError(f"'{origin.host}' is not the same throughout a tile")

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
                raise WrongError(f"the scratchpad of '{scratchpad.array.host}' has a length that is no number")
            # The frame knows the sizes of tiles.
            good = good.intersect(value.lt_set(affine(length, frame)))
        if not (_around(self.leaf).is_subset(good) or self.leaf.domain.is_subset(good)):
            raise WrongError(f"the scratchpad of '{scratchpad.array.host}' is too small")
        self._lying.add((scratchpad.object, index, place))

    def rings(self) -> Iterator[tuple[int, RingUse]]:
        """The elements of rings that the leaf touches, which accesses only scratchpads."""
        touched: dict[tuple[DataObject, int], isl.Map] = {}
        for node in walk(self.leaf.node):
            scratchpad = self.scratchpads.get(node.object) if isinstance(node, Access) else None
            for dimension, origin in enumerate(scratchpad.origin if scratchpad is not None else ()):
                index = node.subscripts[dimension]
                if scratchpad is not None and origin is None and isinstance(index, Binary):
                    place, elements = (
                        (scratchpad.object, dimension),
                        affine_tuple((index.left,), self.leaf.frame).intersect_domain(self.leaf.domain),
                    )
                    touched[place] = elements.union(touched[place]) if place in touched else elements
        for (object_, dimension), elements in touched.items():
            scratchpad = self.scratchpads[object_]
            yield dimension, RingUse(self.leaf, scratchpad, length_of(scratchpad, dimension), elements.coalesce())

    def columns(self) -> Iterator[RegisterQueueUse]:
        """The leaf's writes of scratchpads with register queues, and its reads of the queues."""
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
        """Registers hold the plane at the position: 0 <= position - plane < planes."""
        position = self.leaf.value(column.position)
        around = itertools.takewhile(lambda step: not (isinstance(step, Mapped) and step.to_workers), self.leaf.path)
        loops = (element for element in around if isinstance(element, Ordered) and element.dimension >= self.depth)
        rounds = [loop for loop in loops if loop.sign > 0]
        if position is None or all(self.leaf.frame.iterators[round_.dimension] != column.position for round_ in rounds):
            raise WrongError(f"'{column.position.host}' is no position of a walk through planes")
        behind = position.sub(affine(plane, self.leaf.frame))
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
    """A convex superset of the leaf's instances: quicker to prove facts for."""
    return isl.Set.from_basic_set(leaf.domain.simple_hull())


def length_of(scratchpad: Scratchpad, dimension: int) -> int:
    """The scratchpad's length along a dimension. Raises WrongError where it is no constant."""
    length = scratchpad.object.lengths[dimension]
    if not isinstance(length, IntegerLiteral):
        raise WrongError(f"the scratchpad of '{scratchpad.array.host}' has a length that is no number")
    return length.value


def _spells_place(scratchpad: Scratchpad, dimension: int, index: Binary) -> bool:
    """Whether `index` is `x - origin`, or `x & (length - 1)` for a ring of 2**k planes."""
    origin = scratchpad.origin[dimension]
    if origin is not None:
        return index.operator == "-" and index.right == access_to(origin)
    length = length_of(scratchpad, dimension)
    mask = index.right.value if isinstance(index.right, IntegerLiteral) else None
    return index.operator == "&" and length > 0 and length & (length - 1) == 0 and mask == length - 1
