"""A plan's steps as the emitted program runs them: every statement with its instances and its
schedule.

    { [h_1, …, h_k, i_1, …, i_n] : … }    a leaf's instances: iterators of host, then launch loops

All loops count by their iterators, tiled loops too: Algorithm 1 distributes every iteration of a
loop once, whatever its tile counts. `verify/execution_order.py` has the order of a tile nest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import leaves_early
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import (
    Axis,
    Barrier,
    Block,
    Declaration,
    If,
    Loop,
    PackedPanels,
    Panel,
    Scratchpad,
    Stage,
    Statement,
    TileNest,
)
from tilepragma.ir.traversal import workers_meet
from tilepragma.poly.affine import (
    Frame,
    NotAffineError,
    Quotient,
    affine,
    bounded,
    constant_value,
    greatest,
    least,
    satisfying,
    whole_number,
)
from tilepragma.poly.extraction import declare


@dataclass(frozen=True)
class ProvenLaunch:
    """One launch. Every instance has a private copy of the objects `owned`, and of those `reduced`
    until its end; of copied objects it needs the values of those in `needed` from before.
    `scratchpads` are arrays with a private part for each gang.
    """

    name: str
    body: Block
    axes: tuple[Axis, ...] = ()
    owned: frozenset[DataObject] = frozenset()
    reduced: frozenset[DataObject] = frozenset()
    needed: frozenset[DataObject] = frozenset()
    scratchpads: tuple[Scratchpad, ...] = ()
    pipelined: bool = False
    """the loop around continues before a round is complete (`verify/pipelines.py`)"""


@dataclass(frozen=True)
class ProvenLoop:
    """`steps` in every round of a loop that the host runs."""

    loop: Loop
    steps: tuple[ProvenStep, ...]


@dataclass(frozen=True)
class ProvenCondition:
    """`steps` where a condition that the host evaluates is not 0."""

    condition: Expression
    steps: tuple[ProvenStep, ...]


ProvenStep = ProvenLaunch | ProvenLoop | ProvenCondition


# Path elements are compared by identity.


@dataclass(frozen=True, eq=False)
class InSequence:
    """Part `index` of a sequence, whose parts `barriers` contain barriers for all that pass."""

    sequence: int
    index: int
    barriers: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Ordered:
    """The rounds of a loop in order: dimension `dimension` grows, or shrinks if `sign` is -1."""

    dimension: int
    sign: int


@dataclass(frozen=True, eq=False)
class Launched:
    """What follows lies inside one launch."""

    launch: ProvenLaunch


Bounds = tuple[isl.PwAff | None, isl.PwAff | None]


@dataclass(frozen=True, eq=False)
class Mapped:
    """A tile nest, whose loops have the dimensions from `first` on. `bounds`: { [i] -> [lower(i)] }
    and upper of each loop, if affine, over all dimensions before the loop's.
    """

    nest: TileNest
    first: int
    bounds: tuple[Bounds, ...]

    @property
    def to_workers(self) -> bool:
        """Whether a tile of the nest belongs to workers."""
        return any(tile.kind is TileKind.WORKER for tile in self.nest.order)


Element = InSequence | Ordered | Launched | Mapped


@dataclass(frozen=True, eq=False)
class Opaque:
    """A condition or bound around a leaf that is not affine, hence missing in the domain; `part`
    tells what it decides. For a loop left early, `decides` is the whole body.
    """

    part: str
    decides: Expression | Block
    frame: Frame


@dataclass(frozen=True, eq=False)
class Leaf:
    """A statement of the tree, the evaluation of an If's condition or a Loop's bounds (`node` is
    that If or Loop), or a Stage.

    `domain`: { [i] : … }, its instances. `frame` knows the iterators and settled scalars. `scopes`
    has the declaration of every local in scope. `padded`: the instances, and further ones without
    padded conditions; None without such conditions.
    """

    node: Any
    path: tuple[Element, ...]
    frame: Frame
    domain: isl.Set
    opaque: tuple[Opaque, ...]
    scopes: Mapping[DataObject, Leaf]
    launch: ProvenLaunch | None
    padded: isl.Set | None = None

    @property
    def evaluated(self) -> tuple[Any, ...]:
        """What each instance evaluates: the decision of an If or a Loop, nothing of a Stage."""
        return () if isinstance(self.node, Stage) else evaluated_parts(self.node)

    @property
    def depth(self) -> int:
        """The number of dimensions of its instances."""
        return len(self.frame.iterators)

    def value(self, object_: DataObject) -> isl.PwAff | None:
        """{ [i] -> [object(i)] } for an iterator or a known scalar."""
        return self.frame.value(object_)


def evaluated_parts(node: Any) -> tuple[Any, ...]:
    """The parts of a leaf's node that it evaluates: only the decision of an If or a Loop."""
    if isinstance(node, If):
        return (node.condition,)
    return (node.lower, node.upper, node.step) if isinstance(node, Loop) else (node,)


@dataclass(frozen=True, eq=False)
class Held:
    """A packed panel around a statement: one for each instance of the first `depth` dimensions.

    `domain`: { [i, l] : … } over these and the iterations of its copy loops, where its condition
    holds; `frame` is theirs. `opaque`: some bound is not affine. `leaves` are all in its scope;
    their instances begin with the same dimensions. `path` leads to the statement; `waits`: workers
    wait for each other inside.
    """

    buffer: Panel
    depth: int
    frame: Frame
    domain: isl.Set
    opaque: bool
    leaves: tuple[Leaf, ...]
    path: tuple[Element, ...]
    launch: ProvenLaunch | None
    waits: bool


def leaves(steps: tuple[ProvenStep, ...], frame: Frame, settled: Container[DataObject]) -> tuple[Leaf, ...]:
    """All leaves of a tree of steps, in textual order. `frame` is the outermost one, { [] };
    `settled` are the scalars that keep their declaration's value throughout their scope.
    """
    return leaves_and_buffers(steps, frame, settled)[0]


def leaves_and_buffers(
    steps: tuple[ProvenStep, ...], frame: Frame, settled: Container[DataObject]
) -> tuple[tuple[Leaf, ...], tuple[Held, ...]]:
    """The leaves, and the packed panels around some of them."""
    walk = _Walk(settled)
    walk.steps(steps, _Place(frame, isl.Set.universe(frame.space)))
    return tuple(walk.found), tuple(walk.held)


@dataclass(frozen=True)
class Inside:
    """The rounds of a loop: its body's frame, { [i, x] : x is an iterator's value }."""

    frame: Frame
    domain: isl.Set
    opaque: tuple[Opaque, ...]


def inside_loop(loop: Loop, leaf: Leaf) -> Inside:
    """The rounds of a loop whose bounds the leaf evaluates."""
    place = _Walk(())._rounds(loop, _Place(leaf.frame, leaf.domain, opaque=leaf.opaque))
    return Inside(place.frame, place.domain, place.opaque)


@dataclass(frozen=True)
class _Place:
    frame: Frame
    domain: isl.Set
    path: tuple[Element, ...] = ()
    opaque: tuple[Opaque, ...] = ()
    scopes: Mapping[DataObject, Leaf] = field(default_factory=dict)
    launch: ProvenLaunch | None = None
    padded: isl.Set | None = None

    def then(self, element: Element) -> _Place:
        return replace(self, path=(*self.path, element))

    def hidden(self, part: str, decides: Expression | Block) -> _Place:
        return replace(self, opaque=(*self.opaque, Opaque(part, decides, self.frame)))


@dataclass
class _Walk:
    settled: Container[DataObject]
    found: list[Leaf] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    sequences: Iterator[int] = field(default_factory=itertools.count)

    def steps(self, steps: tuple[ProvenStep, ...], place: _Place) -> None:
        sequence = next(self.sequences)
        for index, step in enumerate(steps):
            inside = place.then(InSequence(sequence, index))
            if isinstance(step, ProvenLaunch):
                self._block(step.body, replace(inside.then(Launched(step)), launch=step))
            elif isinstance(step, ProvenLoop):
                self.steps(step.steps, self._loop(step.loop, inside))
            else:
                self.steps(step.steps, self._restrict(step.condition, inside, holds=True))

    def _block(self, block: Block, place: _Place) -> None:
        sequence = next(self.sequences)
        barriers = tuple(index for index, statement in enumerate(block.statements) if _waits(statement))
        for index, statement in enumerate(block.statements):
            inside = place.then(InSequence(sequence, index, barriers))
            self._statement(statement, inside)
            if isinstance(statement, Declaration):
                frame = declare(statement, place.frame, self.settled)
                scopes = {**place.scopes, **{declared.object: self.found[-1] for declared in statement.declarators}}
                place = replace(place, frame=frame, scopes=scopes)

    def _statement(self, statement: Statement, place: _Place) -> None:
        if isinstance(statement, Block):
            self._block(statement, place)
        elif isinstance(statement, Loop):
            self._block(statement.body, self._loop(statement, place))
        elif isinstance(statement, TileNest):
            self._nest(statement, place)
        elif isinstance(statement, PackedPanels):
            self._buffered(statement, place)
        elif isinstance(statement, If):
            sequence = next(self.sequences)
            self._leaf(statement, place.then(InSequence(sequence, 0)))
            inside = self._restrict(statement.condition, place.then(InSequence(sequence, 1)), holds=True)
            self._block(statement.then, replace(inside, padded=place.domain) if statement.padded else inside)
            if statement.otherwise is not None:
                inside = self._restrict(statement.condition, place.then(InSequence(sequence, 2)), holds=False)
                self._block(statement.otherwise, inside)
        elif not isinstance(statement, Barrier):
            self._leaf(statement, place)

    def _buffered(self, statement: PackedPanels, place: _Place) -> None:
        """The body as it is: correct panels do not change it."""
        first = len(self.found)
        self._block(statement.body, place)
        for buffer in statement.buffers:
            inside = place
            for loop in buffer.loops:
                inside = self._rounds(loop, inside)
            for declaration in buffer.declarations:
                inside = replace(inside, frame=declare(declaration, inside.frame, self.settled))
            for condition in buffer.conditions:
                inside = self._restrict(condition, inside, holds=True)
            opaque = len(inside.opaque) > len(place.opaque)
            depth = len(place.frame.iterators)
            inner = tuple(self.found[first:])
            waits = workers_meet(statement.body)
            self.held.append(
                Held(buffer, depth, inside.frame, inside.domain, opaque, inner, place.path, place.launch, waits)
            )

    def _leaf(self, node: Any, place: _Place) -> None:
        self.found.append(
            Leaf(node, place.path, place.frame, place.domain, place.opaque, place.scopes, place.launch, place.padded)
        )

    def _restrict(self, expression: Expression, place: _Place, *, holds: bool) -> _Place:
        try:
            where = satisfying(expression, place.frame).coalesce()
        except NotAffineError:
            return place.hidden("then" if holds else "else", expression)
        domain = place.domain.intersect(where) if holds else place.domain.subtract(where)
        return replace(place, domain=domain)

    def _loop(self, loop: Loop, place: _Place) -> _Place:
        """Inside the loop, after the leaf that evaluates its bounds."""
        sequence = next(self.sequences)
        self._leaf(loop, place.then(InSequence(sequence, 0)))
        element = Ordered(len(place.frame.iterators), -1 if loop.decreasing else 1)
        return self._rounds(loop, place.then(InSequence(sequence, 1))).then(element)

    def _nest(self, nest: TileNest, place: _Place) -> None:
        sequence = next(self.sequences)
        bounds: list[Bounds] = []
        inside = place
        evaluated = []
        for tiled in nest.loops:
            evaluated.append((tiled.loop, inside))
            frame = inside.frame
            # Bounds that are launch numbers are the same for all instances of a launch.
            bounds.append(
                (None, None)
                if tiled.launch_bounds
                else (_affine(tiled.loop.lower, frame), _affine(tiled.loop.upper, frame))
            )
            inside = self._rounds(tiled.loop, inside)
        element = Mapped(nest, len(place.frame.iterators), tuple(bounds))
        for index, (loop, around) in enumerate(evaluated):
            self._leaf(loop, around.then(element).then(InSequence(sequence, index)))
        self._block(nest.body, inside.then(element).then(InSequence(sequence, len(nest.loops))))

    def _rounds(self, loop: Loop, place: _Place) -> _Place:
        """{ [i, x] : x is an iterator's value }, without what is not affine."""
        if leaves_early(loop.body):
            place = place.hidden("left early", loop.body)
        frame = place.frame.inside(loop.iterator)
        domain = place.domain.add_dims(isl.dim_type.set, 1)
        limits: tuple[tuple[str, Expression, Callable[[], isl.Set]], ...] = (
            ("lower", loop.lower, lambda: _beyond("<=" if loop.decreasing else ">=", loop.lower, place.frame, frame)),
            ("upper", loop.upper, lambda: _beyond(loop.holds_inside, loop.upper, place.frame, frame)),
            ("step", loop.step, lambda: _strides(loop, place.frame, frame)),
        )
        hidden = place
        for part, expression, limit in limits:
            try:
                domain = domain.intersect(limit())
            except NotAffineError:
                hidden = hidden.hidden(part, expression)
        return replace(hidden, frame=frame, domain=domain)


def _waits(statement: Statement) -> bool:
    """Whether all workers that pass the statement wait in it."""
    if isinstance(statement, Block):
        return any(_waits(inner) for inner in statement.statements)
    return isinstance(statement, Barrier)


def _affine(expression: Expression, frame: Frame) -> isl.PwAff | None:
    try:
        return affine(expression, frame)
    except NotAffineError:
        return None


def _beyond(operator: str, bound: Expression, outside: Frame, inside: Frame) -> isl.Set:
    """{ [i, x] : x operator bound(i) }, with the bound evaluated outside the loop."""
    parts = least(bound, outside) if operator in ("<", "<=") else greatest(bound, outside)
    lifted = tuple(Quotient(part.dividend.add_dims(isl.dim_type.in_, 1), part.divisor) for part in parts)
    return bounded(inside.iterator(len(outside.iterators)), operator, lifted, inside)


def _strides(loop: Loop, outside: Frame, inside: Frame) -> isl.Set:
    """{ [i, x] : x - lower(i) is a multiple of the step }"""
    step = constant_value(loop.step, outside)
    if not step:
        raise NotAffineError(loop.step, "is no constant step")
    if abs(step) == 1:
        return isl.Set.universe(inside.space)
    start = affine(loop.lower, outside).add_dims(isl.dim_type.in_, 1)
    modulus = whole_number(inside.context, abs(step))
    passed = inside.iterator(len(outside.iterators)).sub(start).mod_val(modulus)
    return passed.eq_set(inside.number(0))
