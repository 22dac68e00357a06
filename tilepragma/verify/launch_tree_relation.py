"""A plan's steps as the emitted program runs them: every statement with its instances and its place
in time.

    { [h_1, …, h_k, i_1, …, i_n] : … }    the instances of a leaf: iterators of the host's loops, then of the launch's loops

All loops count by their iterators, tiled ones too: Algorithm 1 deals every iteration of a loop out
once, whatever the numbers of its tiles are. Where a tile nest puts them in time is
`plan_proof_order`'s to say.
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
from tilepragma.poly.affine import Frame, NotAffineError, affine, constant_value, whole_number
from tilepragma.poly.extraction import declare
from tilepragma.poly.extrema import Quotient, bounded, greatest, least, satisfying


@dataclass(frozen=True)
class ProvenLaunch:
    """One launch: every instance has a copy of the objects `owned`, and of those `reduced` until
    its end. Of the copied objects it needs those in `needed` from before it. `scratchpads` are arrays
    of which each gang has a part for itself.
    """

    name: str
    body: Block
    axes: tuple[Axis, ...] = ()
    owned: frozenset[DataObject] = frozenset()
    reduced: frozenset[DataObject] = frozenset()
    needed: frozenset[DataObject] = frozenset()
    scratchpads: tuple[Scratchpad, ...] = ()
    pipelined: bool = False
    """the loop around goes on before all of a round is done (`plan_proof_pipelines`)"""


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


# Elements of paths are the same where they are the very same object.


@dataclass(frozen=True, eq=False)
class At:
    """Part `index` of the sequence `sequence`, of which the parts `barriers` are (or hold) barriers for all that passes by."""

    sequence: int
    index: int
    barriers: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Ordered:
    """The rounds of a loop in order: dimension `dimension` grows, or shrinks where `sign` is -1."""

    dimension: int
    sign: int


@dataclass(frozen=True, eq=False)
class Launched:
    """From here on inside one launch."""

    launch: ProvenLaunch


Bounds = tuple[isl.PwAff | None, isl.PwAff | None]


@dataclass(frozen=True, eq=False)
class Dealt:
    """A tile nest: its loops have the dimensions from `first` on. `bounds`: { [i] -> [lower(i)] }
    and upper of each, if affine, over all dimensions before its own.
    """

    nest: TileNest
    first: int
    bounds: tuple[Bounds, ...]

    @property
    def to_workers(self) -> bool:
        """Whether a tile of the nest belongs to workers."""
        return any(tile.kind is TileKind.WORKER for tile in self.nest.order)


Element = At | Ordered | Launched | Dealt


@dataclass(frozen=True, eq=False)
class Opaque:
    """A condition or bound on the way that is not affine, hence missing in the domain; `part` says
    what it decides there.

    Of a loop that is left early it is all of the body.
    """

    part: str
    decides: Expression | Block
    frame: Frame


@dataclass(frozen=True, eq=False)
class Leaf:
    """A statement of the tree, or the evaluation of an If's condition or a Loop's bounds: `node` is
    that If or Loop; or a Stage.

    `domain`: { [i] : … }, its instances. `frame` knows what iterators and settled scalars are here.
    `scopes` has the declaration of every local in scope. `padded`: the instances that there are
    besides, and more, where padded conditions are left out; None where there are no such.
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
        """The nodes that each instance evaluates: of an If or a Loop the decision alone, of a Stage nothing."""
        node = self.node
        if isinstance(node, If):
            return (node.condition,)
        if isinstance(node, Loop):
            return (node.lower, node.upper, node.step)
        return () if isinstance(node, Stage) else (node,)

    @property
    def depth(self) -> int:
        """The number of dimensions of its instances."""
        return len(self.frame.iterators)

    def value(self, object_: DataObject) -> isl.PwAff | None:
        """{ [i] -> [object(i)] }, where it is an iterator here or known otherwise."""
        return self.frame.value(object_)


@dataclass(frozen=True, eq=False)
class Held:
    """A buffer, for each instance of the statement that it stands around, the one of the first
    `depth` dimensions.

    `domain`: { [i, l] : … } over these and the iterations of its loops, where its condition holds;
    `frame` knows what iterators are there. `opaque`: some bound is not affine. `leaves` are all
    that runs meanwhile, whose instances begin with the same dimensions. `path` leads to the
    statement; `waits`: workers wait for each other meanwhile.
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
    `settled` are the scalars that hold throughout their scope what their declaration gives them.
    """
    return leaves_and_buffers(steps, frame, settled)[0]


def leaves_and_buffers(
    steps: tuple[ProvenStep, ...], frame: Frame, settled: Container[DataObject]
) -> tuple[tuple[Leaf, ...], tuple[Held, ...]]:
    """The leaves, and the buffers that stand around some of them."""
    walk = _Walk(settled)
    walk.steps(steps, _Here(frame, isl.Set.universe(frame.space)))
    return tuple(walk.found), tuple(walk.held)


@dataclass(frozen=True)
class Inside:
    """The rounds of a loop: the frame of its body, { [i, x] : x is an iterator's value }, and what is missing in that."""

    frame: Frame
    domain: isl.Set
    opaque: tuple[Opaque, ...]


def inside_loop(loop: Loop, leaf: Leaf) -> Inside:
    """The rounds of a loop whose bounds the leaf evaluates."""
    here = _Walk(())._rounds(loop, _Here(leaf.frame, leaf.domain, opaque=leaf.opaque))
    return Inside(here.frame, here.domain, here.opaque)


@dataclass(frozen=True)
class _Here:
    frame: Frame
    domain: isl.Set
    path: tuple[Element, ...] = ()
    opaque: tuple[Opaque, ...] = ()
    scopes: Mapping[DataObject, Leaf] = field(default_factory=dict)
    launch: ProvenLaunch | None = None
    padded: isl.Set | None = None

    def then(self, element: Element) -> _Here:
        return replace(self, path=(*self.path, element))

    def hidden(self, part: str, decides: Expression | Block) -> _Here:
        return replace(self, opaque=(*self.opaque, Opaque(part, decides, self.frame)))


@dataclass
class _Walk:
    settled: Container[DataObject]
    found: list[Leaf] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    sequences: Iterator[int] = field(default_factory=itertools.count)

    def steps(self, steps: tuple[ProvenStep, ...], here: _Here) -> None:
        sequence = next(self.sequences)
        for index, step in enumerate(steps):
            inside = here.then(At(sequence, index))
            if isinstance(step, ProvenLaunch):
                self._block(step.body, replace(inside.then(Launched(step)), launch=step))
            elif isinstance(step, ProvenLoop):
                self.steps(step.steps, self._loop(step.loop, inside))
            else:
                self.steps(step.steps, self._restrict(step.condition, inside, holds=True))

    def _block(self, block: Block, here: _Here) -> None:
        sequence = next(self.sequences)
        barriers = tuple(index for index, statement in enumerate(block.statements) if _waits(statement))
        for index, statement in enumerate(block.statements):
            inside = here.then(At(sequence, index, barriers))
            self._statement(statement, inside)
            if isinstance(statement, Declaration):
                known = declare(statement, here.frame, self.settled)
                scopes = {**here.scopes, **{declarator.object: self.found[-1] for declarator in statement.declarators}}
                here = replace(here, frame=known, scopes=scopes)

    def _statement(self, statement: Statement, here: _Here) -> None:
        if isinstance(statement, Block):
            self._block(statement, here)
        elif isinstance(statement, Loop):
            self._block(statement.body, self._loop(statement, here))
        elif isinstance(statement, TileNest):
            self._nest(statement, here)
        elif isinstance(statement, PackedPanels):
            self._buffered(statement, here)
        elif isinstance(statement, If):
            sequence = next(self.sequences)
            self._leaf(statement, here.then(At(sequence, 0)))
            inside = self._restrict(statement.condition, here.then(At(sequence, 1)), holds=True)
            self._block(statement.then, replace(inside, padded=here.domain) if statement.padded else inside)
            if statement.otherwise is not None:
                inside = self._restrict(statement.condition, here.then(At(sequence, 2)), holds=False)
                self._block(statement.otherwise, inside)
        elif not isinstance(statement, Barrier):
            self._leaf(statement, here)

    def _buffered(self, statement: PackedPanels, here: _Here) -> None:
        """The body as it stands: buffers change nothing of it where they are right."""
        first = len(self.found)
        self._block(statement.body, here)
        for buffer in statement.buffers:
            inside = here
            for loop in buffer.loops:
                inside = self._rounds(loop, inside)
            for declaration in buffer.declarations:
                inside = replace(inside, frame=declare(declaration, inside.frame, self.settled))
            for condition in buffer.conditions:
                inside = self._restrict(condition, inside, holds=True)
            opaque = len(inside.opaque) > len(here.opaque)
            depth = len(here.frame.iterators)
            inner = tuple(self.found[first:])
            waits = workers_meet(statement.body)
            self.held.append(
                Held(buffer, depth, inside.frame, inside.domain, opaque, inner, here.path, here.launch, waits)
            )

    def _leaf(self, node: Any, here: _Here) -> None:
        self.found.append(
            Leaf(node, here.path, here.frame, here.domain, here.opaque, here.scopes, here.launch, here.padded)
        )

    def _restrict(self, expression: Expression, here: _Here, *, holds: bool) -> _Here:
        try:
            where = satisfying(expression, here.frame).coalesce()
        except NotAffineError:
            return here.hidden("then" if holds else "else", expression)
        domain = here.domain.intersect(where) if holds else here.domain.subtract(where)
        return replace(here, domain=domain)

    def _loop(self, loop: Loop, here: _Here) -> _Here:
        """Inside the loop, behind the leaf that evaluates its bounds."""
        sequence = next(self.sequences)
        self._leaf(loop, here.then(At(sequence, 0)))
        element = Ordered(len(here.frame.iterators), -1 if loop.decreasing else 1)
        return self._rounds(loop, here.then(At(sequence, 1))).then(element)

    def _nest(self, nest: TileNest, here: _Here) -> None:
        sequence = next(self.sequences)
        bounds: list[Bounds] = []
        inside = here
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
        element = Dealt(nest, len(here.frame.iterators), tuple(bounds))
        for index, (loop, around) in enumerate(evaluated):
            self._leaf(loop, around.then(element).then(At(sequence, index)))
        self._block(nest.body, inside.then(element).then(At(sequence, len(nest.loops))))

    def _rounds(self, loop: Loop, here: _Here) -> _Here:
        """{ [i, x] : x is an iterator's value }, what is not affine of it being left out."""
        if leaves_early(loop.body):
            here = here.hidden("left early", loop.body)
        frame = here.frame.inside(loop.iterator)
        domain = here.domain.add_dims(isl.dim_type.set, 1)
        limits: tuple[tuple[str, Expression, Callable[[], isl.Set]], ...] = (
            ("lower", loop.lower, lambda: _beyond("<=" if loop.decreasing else ">=", loop.lower, here.frame, frame)),
            ("upper", loop.upper, lambda: _beyond(loop.holds_inside, loop.upper, here.frame, frame)),
            ("step", loop.step, lambda: _strides(loop, here.frame, frame)),
        )
        hidden = here
        for part, expression, limit in limits:
            try:
                domain = domain.intersect(limit())
            except NotAffineError:
                hidden = hidden.hidden(part, expression)
        return replace(hidden, frame=frame, domain=domain)


def _waits(statement: Statement) -> bool:
    """Whether all workers that pass by the statement wait in it."""
    if isinstance(statement, Block):
        return any(_waits(inner) for inner in statement.statements)
    return isinstance(statement, Barrier)


def _affine(expression: Expression, frame: Frame) -> isl.PwAff | None:
    try:
        return affine(expression, frame)
    except NotAffineError:
        return None


def _beyond(operator: str, bound: Expression, outside: Frame, inside: Frame) -> isl.Set:
    """{ [i, x] : x operator bound(i) }, the bound being evaluated outside the loop."""
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
