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
from tilepragma.base.memoization import once
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
from tilepragma.ir.expressions import Access, Binary, Call, Cast, Expression, IntegerLiteral, access_to, integer
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop
from tilepragma.ir.polynomial import Polynomial, is_scalar, polynomial
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG, is_integer
from tilepragma.model.execution_time import Integers

Factors = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cut:
    """{ x : constant + factors . x >= 0 }, in numbers, with a constant for each case."""

    factors: Factors
    constant: Values

    def at(self, index: Integers) -> Cut:
        """The cut in the cases at `index`."""
        return Cut(self.factors, chosen(self.constant, index))


@dataclass(frozen=True, eq=False)
class Boxes:
    """Bounds of the variables, a row a variable, and the cuts."""

    low: Integers
    high: Integers
    cuts: tuple[Cut, ...]

    def at(self, index: Integers) -> Boxes:
        """The boxes at `index`."""
        return Boxes(self.low[:, index], self.high[:, index], tuple(cut.at(index) for cut in self.cuts))

    @property
    def lengths(self) -> Integers:
        """The number of values of each variable."""
        return np.asarray(np.maximum(self.high - self.low + 1, 0), dtype=np.int64)


class _NotAffineError(Exception):
    """An expression is not an affine form of the iterators."""


#: Signs and cuts: a statement runs as often as points are inside all cuts, summed with these signs.
_Guards = tuple[tuple[int, tuple[Cut, ...]], ...]


def guarded_points(loops: tuple[Loop, ...], body: Block, batch: ParameterBatch) -> Counts | None:
    """How often each leaf under the perfect loop nest runs in each case; None for other nests."""
    try:
        return _counts(loops, body, batch)
    except _NotAffineError:
        return None


def _counts(loops: tuple[Loop, ...], body: Block, batch: ParameterBatch) -> Counts:
    names = [loop.iterator.name for loop in loops]
    units = {name: tuple(int(name == other) for other in names) for name in names}
    point = _Point(batch.inside(dict.fromkeys(names, 0)), len(names), {**units})
    bounds = tuple(point.cut(bound) for loop in loops for bound in _bounds(loop))
    counts: Counts = {}
    for leaf, guards in _leaves(body, point, ((1, bounds),)):
        for sign, guard in guards:
            add(counts, {leaf: sign * points_in(_boxes(guard, len(loops), batch))})
    return counts


def _boxes(guard: tuple[Cut, ...], variables: int, batch: ParameterBatch) -> Boxes:
    """The points inside all cuts. Raises _NotAffineError for an unbounded variable."""
    cuts = tuple(Cut(cut.factors, batch.all(cut.constant)) for cut in guard)
    for place in range(variables):
        factors = [cut.factors[place] for cut in cuts if sum(map(bool, cut.factors)) == 1]
        if not any(factor > 0 for factor in factors) or not any(factor < 0 for factor in factors):
            raise _NotAffineError
    shape = variables, batch.count
    return Boxes(np.full(shape, -(2**62)), np.full(shape, 2**62), cuts)


def _leaves(body: Block, point: _Point, guards: _Guards) -> Iterator[tuple[Leaf, _Guards]]:
    leaf: list[object] = []
    for batch, statement in declared_along(body, point.batch):
        point = replace(point, batch=batch)
        if is_leaf(statement, batch):
            leaf += places(statement)
        elif isinstance(statement, If):
            condition = tuple(map(point.cut, _conditions(statement.condition)))
            both = tuple((sign, (*outer, *condition)) for sign, outer in guards)
            yield from _leaves(statement.then, point, both)
            if statement.otherwise is not None:
                # All points, minus those where the condition holds.
                others = (*guards, *((-sign, inner) for sign, inner in both))
                yield from _leaves(statement.otherwise, point, others)
        elif isinstance(statement, Block):
            yield from _leaves(statement, point, guards)
        else:
            raise _NotAffineError
        if isinstance(statement, Declaration):
            point = point.declared(statement)
    if leaf:
        yield tuple(leaf), guards


@dataclass(frozen=True)
class _Point:
    """The point x = 0 of a nest: a form's value there is its constant.

    `factors`: those of iterators, and of scalars declared from them; None if these are not affine.
    """

    batch: ParameterBatch
    dimensions: int
    factors: dict[str, Factors | None]

    def declared(self, declaration: Declaration) -> _Point:
        """With these scalars; the batch knows those that do not vary."""
        factors = dict(self.factors)
        for name, value in ((declarator.object.name, declarator.initializer) for declarator in declaration.declarators):
            try:
                form = None if value is None or isinstance(value, tuple) else self._factors(value)
            except (_NotAffineError, UncountableError):
                form = None
            if form is None or any(form):
                factors[name] = form
        return replace(self, factors=factors)

    def cut(self, form: Expression) -> Cut:
        """Where the affine form is >= 0. Raises _NotAffineError, UncountableError."""
        return Cut(self._factors(form), self.batch.evaluation.value(form))

    def _factors(self, form: Expression) -> Factors:
        factors: Factors = (0,) * self.dimensions
        for monomial, coefficient in _sum(form).terms:
            varying = [atom for atom in monomial if self._varies(atom)]
            if not varying:
                continue
            atom, *others = varying
            factor: Values = coefficient
            unit = self.factors.get(atom.object.name) if isinstance(atom, Access) and is_scalar(atom) else None
            for fixed in monomial:
                factor = factor if fixed == atom else factor * self.batch.evaluation.value(fixed)
            if unit is None or others or not isinstance(factor, int):
                raise _NotAffineError
            factors = tuple(sum_ + factor * part for sum_, part in zip(factors, unit, strict=True))
        return factors

    def _varies(self, atom: Expression) -> bool:
        return any(isinstance(node, Access) and node.object.name in self.factors for node in walk(atom))


@once
def _bounds(loop: Loop) -> tuple[Expression, ...]:
    """Forms that are >= 0 inside the bounds, for each operand of a maximum or minimum."""
    step, iterator, strict = loop.step, access_to(loop.iterator), loop.comparison == "<"
    if not isinstance(step, IntegerLiteral) or step.value != 1 or loop.comparison not in ("<", "<="):
        raise _NotAffineError
    lower = (_difference(iterator, bound) for bound in _parts(loop.lower, "tilek_maximum"))
    return (*lower, *(_difference(bound, iterator, strict) for bound in _parts(loop.upper, "tilek_minimum")))


@once
def _conditions(node: Expression) -> tuple[Expression, ...]:
    """Forms that are >= 0 exactly where the condition holds."""
    if not isinstance(node, Binary) or node.operator not in ("&&", "<", "<=", ">", ">=", "=="):
        raise _NotAffineError
    left, right, strict = node.left, node.right, node.operator in ("<", ">")
    if node.operator == "&&":
        return (*_conditions(left), *_conditions(right))
    both = _difference(left, right, strict), _difference(right, left, strict)
    return both if node.operator == "==" else both[:1] if node.operator[0] == ">" else both[1:]


def _difference(greater: Expression, less: Expression, strict: bool = False) -> Expression:
    """What is >= 0 where greater >= less, or greater > less if strict."""
    difference = Binary("-", greater, less, LONG)
    return Binary("-", difference, integer(1), LONG) if strict else difference


@once
def _sum(node: Expression) -> Polynomial:
    """The expression as `polynomial`; like its evaluation, without conversions of integers."""
    return polynomial(with_each(node, Cast, lambda cast: cast.operand if is_integer(cast.type) else cast))


def _parts(node: Expression, function: str) -> Iterator[Expression]:
    """The arguments of nested calls of the helper."""
    if isinstance(node, Cast) and isinstance(node.operand, Call):
        node = node.operand
    if isinstance(node, Call) and node.function == function:
        for argument in node.arguments:
            yield from _parts(argument, function)
    else:
        yield node


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


def _extreme(cut: Cut, towards: Integers, away: Integers) -> Integers:
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
        Cut((*cut.factors[:place], *cut.factors[place + 1 :]), cut.constant + cut.factors[place] * value)
        for cut in boxes.cuts
    )
    constant = tuple(cut for cut in cuts if not any(cut.factors))
    holds = np.all([np.ones(len(value), dtype=bool), *(np.asarray(cut.constant) >= 0 for cut in constant)], axis=0)
    low, high = np.delete(boxes.low, place, axis=0), np.delete(boxes.high, place, axis=0)
    return Boxes(low, np.where(holds, high, low - 1), tuple(cut for cut in cuts if any(cut.factors)))
