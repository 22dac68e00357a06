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
from functools import cached_property
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import leaves_early
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Declaration,
    If,
    Loop,
    PackedPanels,
    Panel,
    Stage,
    Statement,
    TileNest,
)
from tilepragma.ir.traversal import workers_meet
from tilepragma.plan.kernel_plan import HostLoop, Launch, Step
from tilepragma.poly.affine import (
    Frame,
    NotAffineError,
    Quotient,
    affine,
    affine_or_none,
    bounded,
    constant_value,
    quotients,
    satisfying,
    whole_number,
)
from tilepragma.poly.extraction import declare
from tilepragma.verify.barriers import maps_to_workers


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
        return maps_to_workers(self.nest)


#: A part of the way to a leaf, compared by identity. What follows a launch lies inside it.
Element = InSequence | Ordered | Launch | Mapped


def dimensions_of(element: Element) -> int:
    """How many iterators an element of a path adds."""
    return len(element.nest.loops) if isinstance(element, Mapped) else int(isinstance(element, Ordered))


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
    """A place in the tree, which `path` leads to, with what stands there: a statement, the
    evaluation of an If's condition or a Loop's bounds (`node` is that If or Loop), or a Stage.

    `domain`: { [i] : … }, its instances. `frame` knows the iterators and settled scalars. `scopes`
    has the declaration of every local in scope. `padded`: the instances, and further ones without
    padded conditions; None without such conditions.
    """

    frame: Frame
    domain: isl.Set
    path: tuple[Element, ...] = ()
    opaque: tuple[Opaque, ...] = ()
    scopes: Mapping[DataObject, Leaf] = field(default_factory=dict)
    launch: Launch | None = None
    padded: isl.Set | None = None
    node: Any = None

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

    def then(self, element: Element) -> Leaf:
        """The place behind another part of the way."""
        return replace(self, path=(*self.path, element))

    def hidden(self, part: str, decides: Expression | Block) -> Leaf:
        """The place where a decision that is not affine holds."""
        return replace(self, opaque=(*self.opaque, Opaque(part, decides, self.frame)))

    def rounds(self, loop: Loop) -> Leaf:
        """{ [i, x] : x is an iterator's value }: the place inside a loop as far as it is affine."""
        place = self.hidden("left early", loop.body) if leaves_early(loop.body) else self
        frame = place.frame.inside(loop.iterator)
        domain = place.domain.add_dims(isl.dim_type.set, 1)
        limits: tuple[tuple[str, Expression, Callable[[], isl.Set]], ...] = (
            ("lower", loop.lower, lambda: _beyond("<=" if loop.decreasing else ">=", loop.lower, self.frame, frame)),
            ("upper", loop.upper, lambda: _beyond(loop.holds_inside, loop.upper, self.frame, frame)),
            ("step", loop.step, lambda: _strides(loop, self.frame, frame)),
        )
        for part, expression, limit in limits:
            try:
                domain = domain.intersect(limit())
            except NotAffineError:
                place = place.hidden(part, expression)
        return replace(place, frame=frame, domain=domain)

    def where(self, condition: Expression, *, holds: bool) -> Leaf:
        """The place inside a condition, or where it does not hold."""
        try:
            values = satisfying(condition, self.frame).coalesce()
        except NotAffineError:
            return self.hidden("then" if holds else "else", condition)
        return replace(self, domain=self.domain.intersect(values) if holds else self.domain.subtract(values))


def evaluated_parts(node: Any) -> tuple[Any, ...]:
    """The parts of a leaf's node that it evaluates: only the decision of an If or a Loop."""
    if isinstance(node, If):
        return (node.condition,)
    return node.bounds if isinstance(node, Loop) else (node,)


@dataclass(frozen=True, eq=False)
class HeldPanel:
    """A packed panel around a statement, whose place is `around`: one for each instance there.

    `filled`, { [i, l] : … }, is the place inside its copy loops, where its condition holds.
    `leaves` are all in its scope; their instances begin with the dimensions of `around`.
    """

    panel: Panel
    around: Leaf
    filled: Leaf
    leaves: tuple[Leaf, ...]

    @cached_property
    def waits(self) -> bool:
        """Whether workers wait for each other inside."""
        return workers_meet(self.around.node.body)


def leaves_and_panels(
    tree: tuple[Step, ...] | Block, frame: Frame, settled: Container[DataObject]
) -> tuple[tuple[Leaf, ...], tuple[HeldPanel, ...]]:
    """All leaves of a tree of steps, or of a region, in textual order, and the packed panels around
    some of them. `frame` is the outermost one, { [] }; `settled` are the scalars that keep their
    declaration's value throughout their scope.
    """
    walk = _Walk(settled)
    place = Leaf(frame, isl.Set.universe(frame.space))
    if isinstance(tree, Block):
        walk.block(tree, place)
    else:
        walk.steps(tree, place)
    return tuple(walk.leaves), tuple(walk.panels)


@dataclass
class _Walk:
    settled: Container[DataObject]
    leaves: list[Leaf] = field(default_factory=list)
    panels: list[HeldPanel] = field(default_factory=list)
    sequences: Iterator[int] = field(default_factory=itertools.count)

    def steps(self, steps: tuple[Step, ...], place: Leaf) -> None:
        sequence = next(self.sequences)
        for index, step in enumerate(steps):
            inside = place.then(InSequence(sequence, index))
            if isinstance(step, Launch):
                self.block(step.body, replace(inside.then(step), launch=step))
            elif isinstance(step, HostLoop):
                self.steps(step.steps, self._loop(step.loop, inside))
            else:
                self.steps(step.steps, inside.where(step.condition, holds=True))

    def block(self, block: Block, place: Leaf) -> None:
        sequence = next(self.sequences)
        barriers = tuple(index for index, statement in enumerate(block.statements) if _waits(statement))
        for index, statement in enumerate(block.statements):
            self._statement(statement, place.then(InSequence(sequence, index, barriers)))
            if isinstance(statement, Declaration):
                frame = declare(statement, place.frame, self.settled)
                scopes = {**place.scopes, **{declared.object: self.leaves[-1] for declared in statement.declarators}}
                place = replace(place, frame=frame, scopes=scopes)

    def _statement(self, statement: Statement, place: Leaf) -> None:
        if isinstance(statement, Block):
            self.block(statement, place)
        elif isinstance(statement, Loop):
            self.block(statement.body, self._loop(statement, place))
        elif isinstance(statement, TileNest):
            self._nest(statement, place)
        elif isinstance(statement, PackedPanels):
            self._packed(statement, place)
        elif isinstance(statement, If):
            sequence = next(self.sequences)
            self._leaf(statement, place.then(InSequence(sequence, 0)))
            inside = place.then(InSequence(sequence, 1)).where(statement.condition, holds=True)
            self.block(statement.then, replace(inside, padded=place.domain) if statement.padded else inside)
            if statement.otherwise is not None:
                inside = place.then(InSequence(sequence, 2)).where(statement.condition, holds=False)
                self.block(statement.otherwise, inside)
        elif not isinstance(statement, Barrier):
            self._leaf(statement, place)

    def _packed(self, statement: PackedPanels, place: Leaf) -> None:
        """The body as it is: correct panels do not change it."""
        first = len(self.leaves)
        self.block(statement.body, place)
        inner = tuple(self.leaves[first:])
        for panel in statement.buffers:
            filled = place
            for loop in panel.loops:
                filled = filled.rounds(loop)
            for declaration in panel.declarations:
                filled = replace(filled, frame=declare(declaration, filled.frame, self.settled))
            for condition in panel.conditions:
                filled = filled.where(condition, holds=True)
            self.panels.append(HeldPanel(panel, replace(place, node=statement), filled, inner))

    def _leaf(self, node: Any, place: Leaf) -> None:
        self.leaves.append(replace(place, node=node))

    def _loop(self, loop: Loop, place: Leaf) -> Leaf:
        """Inside the loop, after the leaf that evaluates its bounds."""
        sequence = next(self.sequences)
        self._leaf(loop, place.then(InSequence(sequence, 0)))
        element = Ordered(place.depth, -1 if loop.decreasing else 1)
        return place.then(InSequence(sequence, 1)).rounds(loop).then(element)

    def _nest(self, nest: TileNest, place: Leaf) -> None:
        sequence = next(self.sequences)
        bounds: list[Bounds] = []
        inside = place
        evaluated = []
        for tiled in nest.loops:
            loop, frame = tiled.loop, inside.frame
            evaluated.append((loop, inside))
            # Bounds that are launch numbers are the same for all instances of a launch.
            ends = (None, None) if tiled.launch_bounds else (loop.lower, loop.upper)
            lower, upper = (None if end is None else affine_or_none(end, frame) for end in ends)
            bounds.append((lower, upper))
            inside = inside.rounds(loop)
        element = Mapped(nest, place.depth, tuple(bounds))
        for index, (loop, around) in enumerate(evaluated):
            self._leaf(loop, around.then(element).then(InSequence(sequence, index)))
        inside = inside.then(element)
        if nest.guard is not None:
            decision = If(nest.guard, nest.body, None, nest.guard.range)
            self._leaf(decision, inside.then(InSequence(sequence, len(nest.loops))))
            inside = inside.where(nest.guard, holds=True)
        self.block(nest.body, inside.then(InSequence(sequence, len(nest.loops) + 1)))


def _waits(statement: Statement) -> bool:
    """Whether all workers that pass the statement wait in it."""
    if isinstance(statement, Block):
        return any(_waits(inner) for inner in statement.statements)
    return isinstance(statement, Barrier)


def _beyond(operator: str, bound: Expression, outside: Frame, inside: Frame) -> isl.Set:
    """{ [i, x] : x operator bound(i) }, with the bound evaluated outside the loop."""
    parts = quotients(bound, operator, outside)
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
