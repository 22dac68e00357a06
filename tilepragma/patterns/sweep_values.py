"""What a sweep's body assigns to an element, as a linear form of the array's elements around it.

Variables of the body stand for what was assigned to them (`double r = …; u[i][j] += w * r;`),
integers in subscripts too (`int c = i * n + j; u[c] = …`). Elements of the array are atoms
`u[o_1]…[o_d]` whose subscripts are their offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import TypeVar

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Conditional,
    DataObject,
    Expression,
    IntegerLiteral,
    Unary,
    access_to,
    integer,
)
from tilepragma.ir.laurent import LaurentPolynomial, NotPolynomialError, laurent_polynomial, of_atom
from tilepragma.ir.loop_tree import Declaration, ExpressionStatement
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import Polynomial, polynomial
from tilepragma.ir.substitution import with_accesses, with_node
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, ScalarType
from tilepragma.patterns.mesh_offsets import MeshAxis, Offset, Subscripts, offset_between

T = TypeVar("T")

#: Nodes of an expression up to which an integer may be a subscript, or a part of one.
_LONGEST_INTEGER = 64
#: Nodes of an expression up to which it stands for the variable that holds it, where that divides.
_LONGEST_NUMBER = 256


@dataclass
class Integers:
    """The integer variables of a body, with what they were assigned in terms of iterators and of what is outside of it."""

    values: dict[DataObject, Expression] = field(default_factory=dict)

    def take(self, target: Access, operator: str, value: Expression) -> None:
        """`target operator value`. Raises NotPolynomialError where that is too long to be a subscript."""
        object_ = target.object
        if object_.rank or not isinstance(object_.element, ScalarType) or not object_.element.is_integer:
            return
        found: Expression = self.instead(value)
        if operator != "=":
            found = Binary(operator[:-1], self.instead(target), found, object_.element)
        if not _is_short(found, _LONGEST_INTEGER):
            raise NotPolynomialError(f"'{object_.host}' is computed in too many steps", value.range)
        self.values[object_] = found

    def choose(self, object_: DataObject, condition: Expression, otherwise: Expression) -> None:
        """The variable has this value where the condition does not hold. Raises NotPolynomialError where that is too long."""
        then = self.values.get(object_, otherwise)
        found = then if then == otherwise else Conditional(condition, then, otherwise, object_.element)
        if not _is_short(found, _LONGEST_INTEGER):
            raise NotPolynomialError(f"'{object_.host}' is computed in too many steps", condition.range)
        self.values[object_] = found

    def instead(self, node: T) -> T:
        """`node`, expressions, with what was assigned to variables in their place."""
        return with_accesses(node, self._value)

    def subscripts(self, access: Access) -> Subscripts:
        """The subscripts of an element, collected."""
        return tuple(polynomial(one) for one in self.instead(access.subscripts))

    def _value(self, access: Access) -> Expression:
        found = self.values.get(access.object)
        return access if found is None or access.path else found


def _is_short(value: Expression, most: int) -> bool:
    return sum(1 for _ in islice(walk(value), most + 1)) <= most


def assignments_in(statement: object) -> Iterator[tuple[Access, str, Expression]]:
    """(target, operator, value) of a declaration's initialised variables, or of an assignment that is a statement."""
    if isinstance(statement, Declaration):
        for declarator in statement.declarators:
            if declarator.initializer is not None and not isinstance(declarator.initializer, tuple):
                yield access_to(declarator.object), "=", declarator.initializer
    elif isinstance(statement, ExpressionStatement) and isinstance(statement.expression, Assignment):
        yield statement.expression.target, statement.expression.operator, statement.expression.value


@dataclass
class SweepValues:
    """The state of one point's computation: values of variables, the element's new value once it is assigned, and where elements are read."""

    array: DataObject
    written: Subscripts
    axes: Sequence[MeshAxis]
    element: str
    ends: Mapping[DataObject, tuple[Polynomial, Polynomial]] = field(default_factory=dict)
    """the least and the greatest value of each iterator"""
    integers: Integers = field(default_factory=Integers)
    numbers: dict[DataObject, LaurentPolynomial | NotPolynomialError] = field(default_factory=dict)
    expressions: dict[DataObject, Expression] = field(default_factory=dict)
    """what such variables hold, as it is written"""
    updated: LaurentPolynomial | None = None
    reads: dict[Offset, SourceRange] = field(default_factory=dict)
    masks: list[Expression] = field(default_factory=list)
    """conditions without which the element keeps its value"""
    wraps: SourceRange | None = None

    def assigned(self, before: LaurentPolynomial, operator: str, value: Expression) -> LaurentPolynomial:
        """What is in a place with the value `before` after an assignment. Raises NotPolynomialError."""
        number = self.of(value)
        if operator == "=":
            return number
        if operator in ("+=", "-="):
            return before + number if operator == "+=" else before - number
        if operator == "*=":
            return before * number
        inverse = number.inverse() if operator == "/=" else None
        if inverse is None:
            raise NotPolynomialError(f"'{operator}' makes no linear form of elements of it", value.range)
        return before * inverse

    def change(self, target: Access, operator: str, value: Expression) -> None:
        """A variable is assigned. What is no linear form is an error only if the element's new
        value needs it. Raises NotPolynomialError where an integer is too long.
        """
        try:
            before = LaurentPolynomial() if operator == "=" else self._variable(target)
            self.numbers[target.object] = self.assigned(before, operator, value)
        except NotPolynomialError as error:
            self.numbers[target.object] = error
        self.integers.take(target, operator, value)
        written = self._written_out(value)
        if operator == "=" and _is_short(written, _LONGEST_NUMBER):
            self.expressions[target.object] = written
        else:
            self.expressions.pop(target.object, None)

    def update(self, node: Assignment) -> None:
        """The element is assigned. Raises NotPolynomialError."""
        self.updated = self.assigned(self._element(node.target), node.operator, node.value)

    def of(self, value: Expression) -> LaurentPolynomial:
        """The value as a polynomial. Raises NotPolynomialError, TooLongError."""
        return laurent_polynomial(value, self._atom)

    def offset(self, access: Access) -> Offset | None:
        """Where an element of the array lies, as seen from the one that is written; None where that is not the same for all points."""
        return None if access.path else offset_between(self.integers.subscripts(access), self.written, self.axes)

    def is_element(self, atom: Expression) -> bool:
        """Whether the atom is an element of the array."""
        return isinstance(atom, Access) and atom.object == self.array

    def _atom(self, value: Expression) -> LaurentPolynomial:
        if isinstance(value, Access):
            if value.object == self.array:
                return self._element(value)
            return self._variable(value)
        for node in walk(value):
            if isinstance(node, Access) and self._depends(node):
                return self._quotient(value)
        return of_atom(self._written_out(value))

    def _quotient(self, value: Expression) -> LaurentPolynomial:
        """Elements divided by a variable that holds a sum of other things. Raises NotPolynomialError for all else."""
        if isinstance(value, Binary) and value.operator == "/":
            inside = (node for node in walk(value.right) if isinstance(node, Access))
            if not any(map(self._depends, inside)):
                return self.of(value.left) * of_atom(self._written_out(value.right), -1)
        raise NotPolynomialError(
            f"the new value of {self.element} is no linear form of elements of '{self.array.host}': {_what(value)}",
            value.range,
        )

    def _written_out(self, value: Expression) -> Expression:
        """The value with what variables hold in their place."""
        numbers = with_accesses(value, lambda one: one if one.path else self.expressions.get(one.object, one))
        return self.integers.instead(numbers)

    def _depends(self, access: Access) -> bool:
        if access.object == self.array:
            return True
        known = self.numbers.get(access.object)
        return isinstance(known, NotPolynomialError) or (known is not None and any(map(self.is_element, known.atoms)))

    def _variable(self, access: Access) -> LaurentPolynomial:
        known = None if access.subscripts or access.path else self.numbers.get(access.object)
        if isinstance(known, NotPolynomialError):
            raise known
        if known is not None:
            return known
        if any(isinstance(node, Access) and self._depends(node) for part in access.subscripts for node in walk(part)):
            text = expression_text(access)
            raise NotPolynomialError(f"{text} is chosen by elements of '{self.array.host}'", access.range)
        return of_atom(self.integers.instead(access))

    def _element(self, access: Access) -> LaurentPolynomial:
        offset = self.offset(access)
        if offset is None:
            return self._chosen(access)
        return self._at(offset, access)

    # -- conditions

    def mask(self, condition: Expression, *, holds: bool) -> None:
        """The element is computed only where the condition holds, or where it does not. Raises NotPolynomialError."""
        said = self._condition(condition)
        self.masks.append(said if holds else _negated(said))

    def choice(self, condition: Expression, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """What is assigned in two branches. Under a condition that says nothing which a linear form
        could, that is an error only if the element's new value needs it. Raises NotPolynomialError,
        and what the branches raise.
        """
        before = self._state()
        then()
        first = self._state()
        self._restore(before)
        otherwise()
        second = self._state()
        try:
            said = self._condition(condition)
        except NotPolynomialError as error:
            self._forget(before, first, second, error)
            return
        self._restore(first)
        for integer_, value in second[0].items():
            self.integers.choose(integer_, said, value)
        for object_, other in second[1].items():
            own = self.numbers.get(object_, other)
            self.numbers[object_] = _either(said, own, other)
        for object_, written in second[2].items():
            mine = self.expressions.get(object_, written)
            self.expressions[object_] = mine if mine == written else Conditional(said, mine, written, mine.type)
        if before[3] is None and (first[3] is None) != (second[3] is None):
            self.masks.append(said if second[3] is None else _negated(said))
            self.updated = first[3] or second[3]
        elif first[3] is not None and second[3] is not None:
            found = _either(said, first[3], second[3])
            assert isinstance(found, LaurentPolynomial)  # as both are
            self.updated = found

    def _forget(self, before: _State, first: _State, second: _State, error: NotPolynomialError) -> None:
        """Nobody knows which branch was taken. Raises the error where the element hangs on that."""
        if not first[3] == second[3] == before[3]:
            raise error
        self._restore(before)
        for branch in (first, second):
            for object_, number in branch[1].items():
                if self.numbers.get(object_) != number:
                    self.numbers[object_] = error
                    self.integers.values.pop(object_, None)
                    self.expressions.pop(object_, None)

    def _state(self) -> _State:
        return dict(self.integers.values), dict(self.numbers), dict(self.expressions), self.updated

    def _restore(self, state: _State) -> None:
        self.integers.values, self.numbers, self.expressions = dict(state[0]), dict(state[1]), dict(state[2])
        self.updated = state[3]

    def _condition(self, condition: Expression) -> Expression:
        """The condition with what variables hold in their place, an expression of value 0 or 1. Raises NotPolynomialError."""
        if any(isinstance(node, Access) and self._depends(node) for node in walk(condition)):
            raise NotPolynomialError(
                f"a condition on elements of '{self.array.host}' decides what {self.element} becomes", condition.range
            )
        written = self._written_out(condition)
        if any(isinstance(node, Binary) and node.operator in ("%", "&") for node in walk(written)) and not any(
            isinstance(node, Access) and node.subscripts for node in walk(written)
        ):
            raise NotPolynomialError(
                f"the condition {_what(condition)} leaves elements out by their places",
                condition.range,
            )
        return written

    def _chosen(self, access: Access) -> LaurentPolynomial:
        """An element whose subscripts are chosen by a condition, or wrap around. Raises NotPolynomialError."""
        subscripts = self.integers.instead(access.subscripts)
        for node in walk(Access(access.object, subscripts, (), access.type, access.range)):
            if isinstance(node, Conditional):
                said = self._condition(node.condition)
                parts = [
                    replace(access, subscripts=with_node(subscripts, node, part))
                    for part in (node.then, node.otherwise)
                ]
                return self._either_element(said, *parts)
            if isinstance(node, Binary) and node.operator == "%":
                inside = replace(access, subscripts=with_node(subscripts, node, node.left))
                around = [
                    inside,
                    *(replace(access, subscripts=with_node(subscripts, node, part)) for part in _turned(node)),
                ]
                offset = next((one for one in map(self.offset, around) if one is not None), None)
                if offset is not None:
                    self.wraps = self.wraps or access.range
                    return self._at(offset, access)
        raise NotPolynomialError(
            f"{expression_text(access)} does not lie at the same distance from {self.element} everywhere",
            access.range,
        )

    def _either_element(self, condition: Expression, then: Access, otherwise: Access) -> LaurentPolynomial:
        """One of two elements. Where one of them lies at a distance that is the same at the mesh's
        end only, that is its distance; where it is not even that, the mesh is taken to go on there.
        Raises NotPolynomialError.
        """
        parts = []
        for one, other in ((then, otherwise), (otherwise, then)):
            offset, towards = self.offset(one), self.offset(other)
            if offset is None and towards is not None:
                offset = self._offset_at_the_end(one, towards)
                if offset is None:
                    self.wraps = self.wraps or one.range
                    offset = towards
            parts.append(self._element(one) if offset is None else self._at(offset, one))
        found = _either(condition, *parts)
        assert isinstance(found, LaurentPolynomial)  # as both are
        return found

    def _offset_at_the_end(self, access: Access, towards: Offset) -> Offset | None:
        """The offset of an element from the one written last in a direction; None where that is no vector of integers."""
        read, written = self.integers.subscripts(access), self.written
        for axis, part in zip(self.axes, towards, strict=True):
            if part and axis.iterator in self.ends:
                end = self.ends[axis.iterator][0 if part * axis.sign < 0 else 1]
                atom = access_to(axis.iterator)
                read, written = (
                    tuple(subscript.substitute(atom, end) for subscript in subscripts) for subscripts in (read, written)
                )
        return offset_between(read, written, self.axes)

    def _at(self, offset: Offset, access: Access) -> LaurentPolynomial:
        if not any(offset) and self.updated is not None:
            return self.updated
        self.reads.setdefault(offset, access.range)
        return of_atom(Access(self.array, tuple(integer(part) for part in offset), (), self.array.element))


_State = tuple[
    dict[DataObject, Expression],
    dict[DataObject, LaurentPolynomial | NotPolynomialError],
    dict[DataObject, Expression],
    LaurentPolynomial | None,
]
"""integers, numbers, expressions, the element's new value"""


def _either(
    condition: Expression, one: LaurentPolynomial | NotPolynomialError, other: LaurentPolynomial | NotPolynomialError
) -> LaurentPolynomial | NotPolynomialError:
    """c * one + (1 - c) * other, c being 1 where the condition holds and 0 elsewhere."""
    if isinstance(one, NotPolynomialError):
        return one
    if isinstance(other, NotPolynomialError) or one == other:
        return other
    return other + of_atom(condition) * (one - other)


def _negated(condition: Expression) -> Expression:
    if isinstance(condition, Unary) and condition.operator == "!":
        return condition.operand
    return Unary("!", condition, INT, condition.range)


def _turned(remainder: Binary) -> Iterator[Expression]:
    """(a + n) % n without what makes a negative a positive."""
    yield Binary("-", remainder.left, remainder.right, remainder.type, remainder.range)


def offset_of(atom: Expression) -> Offset:
    """The offset that an atom for an element stands for."""
    assert isinstance(atom, Access)
    return tuple(part.value for part in atom.subscripts if isinstance(part, IntegerLiteral))


def _what(value: Expression) -> str:
    text = expression_text(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
