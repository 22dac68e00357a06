"""How often statements guarded by affine conditions run, without enumerating the loops.

for (x1 …) for (x2 …) { y = x1 + …; if (affine in x1, x2 && …) statements else if … }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.parameter_batch import Counts, Leaf, ParameterBatch, add, declared_along, is_leaf, places
from tilepragma.cost.point_counts import Boxes, Cut, Factors, points_in
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.ir.expressions import Access, Binary, Call, Cast, Expression, IntegerLiteral, Unary
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop, Statement
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType


@dataclass(frozen=True, eq=False)
class _Form:
    """constant + factors . iterators, with a constant for each case."""

    factors: Factors
    constant: Values


class _NotAffineError(Exception):
    """An expression is not an affine form of the iterators."""


#: Signs and forms: a statement runs as often as all forms are >= 0, summed with these signs.
_Guards = tuple[tuple[int, tuple[_Form, ...]], ...]


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


def _boxes(forms: tuple[_Form, ...], variables: int, batch: ParameterBatch) -> Boxes:
    """The points where all forms are >= 0. Raises _NotAffineError for an unbounded variable."""
    cuts = tuple(Cut(form.factors, batch.all(form.constant)) for form in forms)
    low, high = np.full((variables, batch.count), -(2**62)), np.full((variables, batch.count), 2**62)
    for place in range(variables):
        factors = [cut.factors[place] for cut in cuts if sum(map(bool, cut.factors)) == 1]
        if not any(factor > 0 for factor in factors) or not any(factor < 0 for factor in factors):
            raise _NotAffineError
    return Boxes(low, high, cuts)


def _leaves(body: Block, forms: _Forms, batch: ParameterBatch, guards: _Guards) -> Iterator[tuple[Leaf, _Guards]]:
    leaf: list[object] = []
    for declared, statement in declared_along(body, batch):
        inner = forms.declared(body, statement)
        if is_leaf(statement, declared):
            leaf += places(statement)
        elif isinstance(statement, If):
            condition = tuple(inner.conditions(statement.condition))
            yield from _leaves(statement.then, inner, declared, _also(guards, condition))
            if statement.otherwise is not None:
                yield from _leaves(statement.otherwise, inner, declared, _but(guards, condition))
        elif isinstance(statement, Block):
            yield from _leaves(statement, inner, declared, guards)
        else:
            raise _NotAffineError
    if leaf:
        yield tuple(leaf), guards


def _also(guards: _Guards, condition: tuple[_Form, ...]) -> _Guards:
    return tuple((sign, (*forms, *condition)) for sign, forms in guards)


def _but(guards: _Guards, condition: tuple[_Form, ...]) -> _Guards:
    """Guards of the else branch: all points, minus those where the condition holds."""
    return (*guards, *((-sign, forms) for sign, forms in _also(guards, condition)))


@dataclass(frozen=True)
class _Forms:
    """Affine forms of `names` (iterators) and of scalars declared from them; None for others."""

    names: tuple[str, ...]
    known: dict[str, _Form | None]
    batch: ParameterBatch

    @staticmethod
    def of(loops: tuple[Loop, ...], batch: ParameterBatch) -> _Forms:
        names = tuple(loop.iterator.name for loop in loops)
        units = {
            name: _Form(tuple(int(place == axis) for place in range(len(names))), 0) for axis, name in enumerate(names)
        }
        return _Forms(names, dict(units), batch)

    def bounds(self, loop: Loop) -> Iterator[_Form]:
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

    def declared(self, block: Block, statement: Statement) -> _Forms:
        """With the declarations before the statement in its block."""
        forms = self
        for earlier in block.statements:
            if earlier is statement:
                break
            if isinstance(earlier, Declaration):
                for declarator in earlier.declarators:
                    initializer = declarator.initializer
                    form = None if initializer is None or isinstance(initializer, tuple) else forms.maybe(initializer)
                    forms = replace(forms, known={**forms.known, declarator.object.name: form})
        return forms

    def maybe(self, node: Expression) -> _Form | None:
        """The form of an expression, None if it has none."""
        try:
            return self.form(node)
        except (_NotAffineError, UncountableError):
            return None

    def conditions(self, node: Expression) -> Iterator[_Form]:
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

    def form(self, node: Expression) -> _Form:
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
                return _plus(_Form((0,) * len(self.names), 0), self.form(node.operand), -1)
            case Binary(operator=("+" | "-") as operator):
                return _plus(self.form(node.left), self.form(node.right), 1 if operator == "+" else -1)
            case Binary(operator="*"):
                return _times(self.form(node.left), self.form(node.right))
        if any(isinstance(node, Access) and node.object.name in self.known for node in walk(node)):
            raise _NotAffineError
        return _Form((0,) * len(self.names), self.batch.evaluation.value(node))


def _parts(node: Expression, function: str) -> Iterator[Expression]:
    """The arguments of nested calls of the helper."""
    if isinstance(node, Cast) and isinstance(node.operand, Call):
        node = node.operand
    if isinstance(node, Call) and node.function == function:
        for argument in node.arguments:
            yield from _parts(argument, function)
    else:
        yield node


def _plus(left: _Form, right: _Form, factor: int, offset: int = 0) -> _Form:
    """left + factor * right + offset."""
    factors = tuple(a + factor * b for a, b in zip(left.factors, right.factors, strict=True))
    return _Form(factors, left.constant + factor * right.constant + offset)


def _times(left: _Form, right: _Form) -> _Form:
    number, form = (left, right) if not any(left.factors) else (right, left)
    if any(number.factors) or (any(form.factors) and not isinstance(number.constant, int)):
        raise _NotAffineError
    factors = tuple(factor * int(number.constant) for factor in form.factors) if any(form.factors) else form.factors
    return _Form(factors, form.constant * number.constant)
