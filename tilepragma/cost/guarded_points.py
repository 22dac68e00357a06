"""How often statements guarded by affine conditions run, without enumerating the loops.

for (x1 …) for (x2 …) { y = x1 + …; if (affine in x1, x2 && …) statements else if … }

That is the number of integer points in boxes cut by half-spaces, for many boxes in parallel.

    { x : low_k <= x_k <= high_k, c + sum f_k x_k >= 0 for each cut }

Cuts that leave a box whole are dropped. Bounds on one sum of variables are counted in closed form:
of the points z of a box [0, L_1) x ... x [0, L_d) those with z_1 + ... + z_d <= u are

    sum over subsets T of the variables of (-1)^|T| binomial(u - sum_T L + d, d)

and any other box is split along one variable.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.parameter_batch import (
    Counts,
    Leaf,
    ParameterBatch,
    add,
    chosen,
    declared_along,
    is_leaf,
    places,
    ragged,
    summed,
)
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.ir.expressions import Access, Binary, Call, Cast, Expression, IntegerLiteral, Unary
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
from tilepragma.model.execution_time import Integers

Factors = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AffineForm:
    """constant + factors . x, with a constant for each case. As a cut of boxes it is >= 0."""

    factors: Factors
    constant: Values

    def at(self, index: Integers) -> AffineForm:
        """The form in the cases at `index`."""
        return AffineForm(self.factors, chosen(self.constant, index))


@dataclass(frozen=True, eq=False)
class Boxes:
    """Bounds of the variables, a row a variable, and the cuts."""

    low: Integers
    high: Integers
    cuts: tuple[AffineForm, ...]

    def at(self, index: Integers) -> Boxes:
        """The boxes at `index`."""
        return Boxes(self.low[:, index], self.high[:, index], tuple(cut.at(index) for cut in self.cuts))

    @property
    def lengths(self) -> Integers:
        """The number of values of each variable."""
        return np.asarray(np.maximum(self.high - self.low + 1, 0), dtype=np.int64)


class _NotAffineError(Exception):
    """An expression is not an affine form of the iterators."""


#: Signs and forms: a statement runs as often as all forms are >= 0, summed with these signs.
_Guards = tuple[tuple[int, tuple[AffineForm, ...]], ...]


def guarded_points(loops: tuple[Loop, ...], body: Block, batch: ParameterBatch) -> Counts | None:
    """How often each leaf under the perfect loop nest runs in each case; None for other nests."""
    try:
        return _counts(loops, body, batch)
    except _NotAffineError:
        return None


def _counts(loops: tuple[Loop, ...], body: Block, batch: ParameterBatch) -> Counts:
    forms = _Forms.of(loops, batch)
    bounds = tuple(bound for loop in loops for bound in forms.bounds(loop))
    inside = batch.inside({loop.iterator.name: 0 for loop in loops})
    counts: Counts = {}
    for leaf, guards in _leaves(body, forms, inside, ((1, bounds),)):
        for sign, guard in guards:
            add(counts, {leaf: sign * points_in(_boxes(guard, len(loops), batch))})
    return counts


def _boxes(forms: tuple[AffineForm, ...], variables: int, batch: ParameterBatch) -> Boxes:
    """The points where all forms are >= 0. Raises _NotAffineError for an unbounded variable."""
    cuts = tuple(AffineForm(form.factors, batch.all(form.constant)) for form in forms)
    for place in range(variables):
        factors = [cut.factors[place] for cut in cuts if sum(map(bool, cut.factors)) == 1]
        if not any(factor > 0 for factor in factors) or not any(factor < 0 for factor in factors):
            raise _NotAffineError
    shape = variables, batch.count
    return Boxes(np.full(shape, -(2**62)), np.full(shape, 2**62), cuts)


def _leaves(body: Block, forms: _Forms, batch: ParameterBatch, guards: _Guards) -> Iterator[tuple[Leaf, _Guards]]:
    leaf: list[object] = []
    for declared, statement in declared_along(body, batch):
        if is_leaf(statement, declared):
            leaf += places(statement)
        elif isinstance(statement, If):
            condition = tuple(forms.conditions(statement.condition))
            both = tuple((sign, (*outer, *condition)) for sign, outer in guards)
            yield from _leaves(statement.then, forms, declared, both)
            if statement.otherwise is not None:
                # All points, minus those where the condition holds.
                others = (*guards, *((-sign, inner) for sign, inner in both))
                yield from _leaves(statement.otherwise, forms, declared, others)
        elif isinstance(statement, Block):
            yield from _leaves(statement, forms, declared, guards)
        else:
            raise _NotAffineError
        if isinstance(statement, Declaration):
            forms = forms.declared(statement)
    if leaf:
        yield tuple(leaf), guards


@dataclass(frozen=True)
class _Forms:
    """Affine forms of `names` (iterators) and of scalars declared from them; None for others."""

    names: tuple[str, ...]
    known: dict[str, AffineForm | None]
    batch: ParameterBatch

    @staticmethod
    def of(loops: tuple[Loop, ...], batch: ParameterBatch) -> _Forms:
        names = tuple(loop.iterator.name for loop in loops)
        units = (AffineForm(tuple(int(name == other) for other in names), 0) for name in names)
        return _Forms(names, dict(zip(names, units, strict=True)), batch)

    def bounds(self, loop: Loop) -> Iterator[AffineForm]:
        """iterator - lower and upper - iterator, for each operand of a bound's maximum/minimum."""
        step = loop.step
        if not isinstance(step, IntegerLiteral) or step.value != 1 or loop.comparison not in ("<", "<="):
            raise _NotAffineError
        iterator = self.known[loop.iterator.name]
        assert iterator is not None
        for lower in _parts(loop.lower, "tilek_maximum"):
            yield _plus(iterator, self.form(lower), -1)
        for upper in _parts(loop.upper, "tilek_minimum"):
            yield _plus(self.form(upper), iterator, -1, -(loop.comparison == "<"))

    def declared(self, declaration: Declaration) -> _Forms:
        forms = self
        for declarator in declaration.declarators:
            initializer = declarator.initializer
            form = None if initializer is None or isinstance(initializer, tuple) else forms.maybe(initializer)
            forms = replace(forms, known={**forms.known, declarator.object.name: form})
        return forms

    def maybe(self, node: Expression) -> AffineForm | None:
        try:
            return self.form(node)
        except (_NotAffineError, UncountableError):
            return None

    def conditions(self, node: Expression) -> Iterator[AffineForm]:
        """Forms that are >= 0 exactly where the condition holds."""
        match node:
            case Binary(operator="&&"):
                yield from self.conditions(node.left)
                yield from self.conditions(node.right)
            case Binary(operator=operator) if operator in ("<", "<=", ">", ">=", "=="):
                left, right = self.form(node.left), self.form(node.right)
                strict = -(operator in ("<", ">"))
                if operator in (">", ">=", "=="):
                    yield _plus(left, right, -1, strict)
                if operator in ("<", "<=", "=="):
                    yield _plus(right, left, -1, strict)
            case _:
                raise _NotAffineError

    def form(self, node: Expression) -> AffineForm:
        """The form of an expression. Raises _NotAffineError, UncountableError."""
        match node:
            case Access(subscripts=(), path=()) if node.object.name in self.known:
                known = self.known[node.object.name]
                if known is None:
                    raise _NotAffineError
                return known
            case Cast(type=ScalarType(is_integer=True)):
                return self.form(node.operand)
            case Unary(operator="-"):
                return _plus(AffineForm((0,) * len(self.names), 0), self.form(node.operand), -1)
            case Binary(operator=("+" | "-") as operator):
                return _plus(self.form(node.left), self.form(node.right), 1 if operator == "+" else -1)
            case Binary(operator="*"):
                return _times(self.form(node.left), self.form(node.right))
        if any(isinstance(node, Access) and node.object.name in self.known for node in walk(node)):
            raise _NotAffineError
        return AffineForm((0,) * len(self.names), self.batch.evaluation.value(node))


def _parts(node: Expression, function: str) -> Iterator[Expression]:
    """The arguments of nested calls of the helper."""
    if isinstance(node, Cast) and isinstance(node.operand, Call):
        node = node.operand
    if isinstance(node, Call) and node.function == function:
        for argument in node.arguments:
            yield from _parts(argument, function)
    else:
        yield node


def _plus(left: AffineForm, right: AffineForm, factor: int, offset: int = 0) -> AffineForm:
    """left + factor * right + offset."""
    factors = tuple(a + factor * b for a, b in zip(left.factors, right.factors, strict=True))
    return AffineForm(factors, left.constant + factor * right.constant + offset)


def _times(left: AffineForm, right: AffineForm) -> AffineForm:
    number, form = (left, right) if not any(left.factors) else (right, left)
    if any(number.factors) or (any(form.factors) and not isinstance(number.constant, int)):
        raise _NotAffineError
    factors = tuple(factor * int(number.constant) for factor in form.factors) if any(form.factors) else form.factors
    return AffineForm(factors, form.constant * number.constant)


# -- Points of boxes


def points_in(boxes: Boxes) -> Integers:
    """The points of each box. Linear in the number of boxes if only cuts of one sum meet a box."""
    boxes = _narrowed(boxes)
    least = np.array([_extreme(cut, boxes.low, boxes.high) for cut in boxes.cuts])
    most = np.array([_extreme(cut, boxes.high, boxes.low) for cut in boxes.cuts])
    some = np.all(boxes.lengths > 0, axis=0) & np.all(most >= 0, axis=0)
    points = np.zeros(boxes.low.shape[1], dtype=np.int64)
    if not boxes.cuts:
        return np.where(some, np.prod(boxes.lengths, axis=0), 0)
    meets = (least < 0) & some
    chosen = _common_sum([cut.factors for cut, met in zip(boxes.cuts, meets, strict=True) if met.any()])
    either_sign = (chosen, tuple(-factor for factor in chosen))
    same_sum = np.array([cut.factors in either_sign for cut in boxes.cuts])
    split = np.any(meets[~same_sum], axis=0)
    index = np.flatnonzero(some & ~split)
    of_chosen = tuple(cut for cut, met in zip(boxes.cuts, same_sum, strict=True) if met)
    points[index] = _with_sum(Boxes(boxes.low, boxes.high, of_chosen).at(index), chosen)
    index = np.flatnonzero(split)
    if len(index):
        kept = tuple(cut for cut, met in zip(boxes.cuts, meets, strict=True) if met.any())
        points[index] = _split(Boxes(boxes.low, boxes.high, kept).at(index))
    return points


def _narrowed(boxes: Boxes) -> Boxes:
    """The boxes with cuts of one variable as bounds."""
    low, high = boxes.low.copy(), boxes.high.copy()
    cuts = []
    for cut in boxes.cuts:
        used = [place for place, factor in enumerate(cut.factors) if factor]
        if len(used) != 1:
            cuts.append(cut)
            continue
        (place,) = used
        factor = cut.factors[place]
        if factor > 0:
            low[place] = np.maximum(low[place], -(cut.constant // factor))
        else:
            high[place] = np.minimum(high[place], cut.constant // -factor)
    return Boxes(low, high, tuple(cuts))


def _extreme(cut: AffineForm, towards: Integers, away: Integers) -> Integers:
    """The cut's least value if `towards` are lower bounds; the greatest if they are upper ones."""
    value = cut.constant
    for place, factor in enumerate(cut.factors):
        if factor:
            value = value + factor * (towards if factor > 0 else away)[place]
    return np.asarray(value, dtype=np.int64)


def _common_sum(factors: Sequence[Factors]) -> Factors:
    """The sum or difference of variables that most of these cuts bound; empty without one."""
    sums = [factor if factor > tuple(-f for f in factor) else tuple(-f for f in factor) for factor in factors]
    units = [sum_ for sum_ in sums if any(sum_) and all(f in (-1, 0, 1) for f in sum_)]
    return max(units, key=units.count, default=())


def _with_sum(boxes: Boxes, chosen: Factors) -> Integers:
    """The points of non-empty boxes that only cuts of one sum meet."""
    lengths, count = boxes.lengths, boxes.low.shape[1]
    if not boxes.cuts or not any(chosen):
        return np.asarray(np.prod(lengths, axis=0), dtype=np.int64)
    least, most = np.full(count, -(2**62)), np.full(count, 2**62)
    for cut in boxes.cuts:
        if cut.factors == chosen:
            least = np.maximum(least, -cut.constant)
        else:
            most = np.minimum(most, cut.constant)
    used = [place for place, factor in enumerate(chosen) if factor]
    base = sum(boxes.low[place] if chosen[place] > 0 else -boxes.high[place] for place in used)
    edges = lengths[used]
    every = np.prod(edges, axis=0)
    whole = edges.sum(axis=0) - len(used)
    within = np.where(most - base >= whole, every, _up_to(np.minimum(most - base, whole), edges))
    within = within - np.where(least - base <= 0, 0, _up_to(np.clip(least - base - 1, -1, whole), edges))
    others = np.prod(np.delete(lengths, used, axis=0), axis=0)
    return np.asarray(np.maximum(within, 0) * others, dtype=np.int64)


def _up_to(greatest: Integers, edges: Integers) -> Integers:
    """Points of boxes with these edges whose coordinates sum to at most `greatest`."""
    dimensions = len(edges)
    points = np.zeros(len(greatest), dtype=np.int64)
    for taken in itertools.product((0, 1), repeat=dimensions):
        rest = greatest - sum(edge for edge, is_taken in zip(edges, taken, strict=True) if is_taken)
        product = np.ones(len(greatest), dtype=np.int64)
        for offset in range(1, dimensions + 1):
            product = product * (rest + offset)
        points += (-1) ** sum(taken) * np.where(rest >= 0, product // math.factorial(dimensions), 0)
    return points


def _split(boxes: Boxes) -> Integers:
    """The points, summed over the shortest variable that two cuts share (or that one has)."""
    met = [sum(cut.factors[place] != 0 for cut in boxes.cuts) for place in range(len(boxes.low))]
    shared = [place for place, number in enumerate(met) if number >= min(2, max(met))]
    split = min(shared, key=lambda place: int(boxes.lengths[place].sum()))
    lengths = boxes.lengths[split]
    points = np.zeros(boxes.low.shape[1], dtype=np.int64)
    for index, step in ragged(lengths):
        value = boxes.low[split][index] + step
        points += summed(index, points_in(_at_value(boxes.at(index), split, value)), len(points))
    return points


def _at_value(boxes: Boxes, place: int, value: Integers) -> Boxes:
    """The boxes of the other variables at this value of one variable."""
    cuts = tuple(
        AffineForm((*cut.factors[:place], *cut.factors[place + 1 :]), cut.constant + cut.factors[place] * value)
        for cut in boxes.cuts
    )
    constant = tuple(cut for cut in cuts if not any(cut.factors))
    holds = np.all([np.ones(len(value), dtype=bool), *(np.asarray(cut.constant) >= 0 for cut in constant)], axis=0)
    low, high = np.delete(boxes.low, place, axis=0), np.delete(boxes.high, place, axis=0)
    return Boxes(low, np.where(holds, high, low - 1), tuple(cut for cut in cuts if any(cut.factors)))
