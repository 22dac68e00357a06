"""What a sweep's body assigns to an element, as a linear form of the array's elements around it.

Variables of the body stand for what was assigned to them (`double r = …; u[i][j] += w * r;`), integers in subscripts too
(`int c = i * n + j; u[c] = …`). Elements of the array are atoms `u[o_1]…[o_d]` whose subscripts are their offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from tilepragma.base.ranges import SourceRange
from tilepragma.ir.dump import expression_text
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    IntegerLiteral,
    access_to,
    integer,
)
from tilepragma.ir.laurent import LaurentPolynomial, NotPolynomialError, laurent_polynomial, of_atom
from tilepragma.ir.looptree import Declaration, ExpressionStatement
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
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
        for one in statement.declarators:
            if one.initializer is not None and not isinstance(one.initializer, tuple):
                yield access_to(one.object), "=", one.initializer
    elif isinstance(statement, ExpressionStatement) and isinstance(statement.expression, Assignment):
        yield statement.expression.target, statement.expression.operator, statement.expression.value


@dataclass
class SweepValues:
    """The state of one point's computation: values of variables, the element's new value once it is assigned, and where elements are read."""

    array: DataObject
    written: Subscripts
    axes: Sequence[MeshAxis]
    element: str
    integers: Integers = field(default_factory=Integers)
    numbers: dict[DataObject, LaurentPolynomial | NotPolynomialError] = field(default_factory=dict)
    expressions: dict[DataObject, Expression] = field(default_factory=dict)
    """what such variables hold, as it is written"""
    updated: LaurentPolynomial | None = None
    reads: dict[Offset, SourceRange] = field(default_factory=dict)

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
        """A variable is assigned. What is no linear form is an error only if the element's new value needs it. Raises NotPolynomialError where
        an integer is too long."""
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
            raise NotPolynomialError(
                f"{expression_text(access)} does not lie at the same distance from {self.element} everywhere",
                access.range,
            )
        if not any(offset) and self.updated is not None:
            return self.updated
        self.reads.setdefault(offset, access.range)
        return of_atom(Access(self.array, tuple(integer(part) for part in offset), (), self.array.element))


def offset_of(atom: Expression) -> Offset:
    """The offset that an atom for an element stands for."""
    assert isinstance(atom, Access)
    return tuple(part.value for part in atom.subscripts if isinstance(part, IntegerLiteral))


def _what(value: Expression) -> str:
    text = expression_text(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
