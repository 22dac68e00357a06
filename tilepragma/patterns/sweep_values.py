"""The element's new value in a sweep's body, as a linear form of elements around it.

Variables stand for what the body assigned to them (`double r = …; u[i][j] += w * r;`), integers in
subscripts too (`int c = i * n + j; u[c] = …`). Elements of the array are atoms `u[o_1]…[o_d]`,
whose subscripts are offsets.
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
from tilepragma.ir.laurent import LaurentPolynomial, NotPolynomialError, laurent_polynomial
from tilepragma.ir.loop_tree import Declaration, ExpressionStatement
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import Polynomial, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses, with_node
from tilepragma.ir.traversal import mentions, objects_in, walk
from tilepragma.ir.types import INT, is_integer
from tilepragma.patterns.relaxation import MeshAxis, Offset, Subscripts, offset_between

T = TypeVar("T")

#: Greatest number of nodes of an integer expression in a subscript.
_LONGEST_INTEGER = 64
#: Greatest number of nodes of an expression that replaces its variable in a divisor.
_LONGEST_NUMBER = 256


@dataclass
class Integers:
    """The integer variables of a body, in terms of iterators and outside objects."""

    values: dict[DataObject, Expression] = field(default_factory=dict)

    def take(self, target: Access, operator: str, value: Expression) -> None:
        """Record `target operator value`. Raises NotPolynomialError if it is too long."""
        object_ = target.object
        if object_.rank or not is_integer(object_.element):
            return
        new: Expression = self.instead(value)
        if operator != "=":
            new = Binary(operator[:-1], self.instead(target), new, object_.element)
        self._set(object_, new, value.range)

    def choose(self, object_: DataObject, condition: Expression, otherwise: Expression) -> None:
        """Record the present value for a false condition. Raises NotPolynomialError if too long."""
        then = self.values.get(object_, otherwise)
        choice = then if then == otherwise else Conditional(condition, then, otherwise, object_.element)
        self._set(object_, choice, condition.range)

    def _set(self, object_: DataObject, value: Expression, range_: SourceRange) -> None:
        if not _is_short(value, _LONGEST_INTEGER):
            raise NotPolynomialError(f"'{object_.host}' is computed in too many steps", range_)
        self.values[object_] = value

    def instead(self, node: T) -> T:
        """`node`, expressions, with the variables' values in place of the variables."""
        return with_accesses(node, lambda read: read if read.path else self.values.get(read.object, read))

    def subscripts(self, access: Access) -> Subscripts:
        """The subscripts of an element, as polynomials."""
        return tuple(polynomial(subscript) for subscript in self.instead(access.subscripts))


def _is_short(value: Expression, most: int) -> bool:
    return sum(1 for _ in islice(walk(value), most + 1)) <= most


def assignments_in(statement: object) -> Iterator[tuple[Access, str, Expression]]:
    """(target, operator, value) of initialised variables, or of an assignment statement."""
    if isinstance(statement, Declaration):
        for declarator in statement.declarators:
            if declarator.value is not None:
                yield access_to(declarator.object), "=", declarator.value
    elif isinstance(statement, ExpressionStatement) and isinstance(statement.expression, Assignment):
        yield statement.expression.target, statement.expression.operator, statement.expression.value


@dataclass
class SweepValues:
    """The state at one point: variables' values, the element's new value, and elements read."""

    array: DataObject
    written: Subscripts
    axes: Sequence[MeshAxis]
    element: str
    ends: Mapping[DataObject, tuple[Polynomial, Polynomial]] = field(default_factory=dict)
    """the least and the greatest value of each iterator"""
    integers: Integers = field(default_factory=Integers)
    numbers: dict[DataObject, LaurentPolynomial | NotPolynomialError] = field(default_factory=dict)
    expressions: dict[DataObject, Expression] = field(default_factory=dict)
    """the expressions that such variables hold"""
    updated: LaurentPolynomial | None = None
    reads: dict[Offset, SourceRange] = field(default_factory=dict)
    masks: list[Expression] = field(default_factory=list)
    """conditions without which the element keeps its value"""
    wraps: SourceRange | None = None

    def assigned(self, before: LaurentPolynomial, operator: str, value: Expression) -> LaurentPolynomial:
        """The value after an assignment, from `before`. Raises NotPolynomialError."""
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
        """Assign a variable.

        A value that is no linear form is an error only if the element's new value needs it. Raises
        NotPolynomialError if an integer is too long.
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
        """Assign the element. Raises NotPolynomialError."""
        self.updated = self.assigned(self._element(node.target), node.operator, node.value)

    def of(self, value: Expression) -> LaurentPolynomial:
        """The value as a polynomial. Raises NotPolynomialError, TooLongError."""
        return laurent_polynomial(value, self._atom)

    def offset(self, access: Access) -> Offset | None:
        """The offset of an array element from the written one; None if it varies between points."""
        return None if access.path else offset_between(self.integers.subscripts(access), self.written, self.axes)

    def is_element(self, atom: Expression) -> bool:
        """Whether the atom is an element of the array."""
        return isinstance(atom, Access) and atom.object == self.array

    def _atom(self, value: Expression) -> LaurentPolynomial:
        if isinstance(value, Access):
            return self._element(value) if value.object == self.array else self._variable(value)
        if self._depends(value):
            return self._quotient(value)
        return LaurentPolynomial(of_atom(self._written_out(value)))

    def _quotient(self, value: Expression) -> LaurentPolynomial:
        """Elements divided by a sum of non-elements. Raises NotPolynomialError."""
        if isinstance(value, Binary) and value.operator == "/" and not self._depends(value.right):
            return self.of(value.left) * LaurentPolynomial(number(1), of_atom(self._written_out(value.right)))
        raise NotPolynomialError(
            f"the new value of {self.element} is no linear form of elements of '{self.array.host}': {_what(value)}",
            value.range,
        )

    def _written_out(self, value: Expression) -> Expression:
        """The value with variables replaced by what they hold."""
        numbers = with_accesses(value, lambda read: read if read.path else self.expressions.get(read.object, read))
        return self.integers.instead(numbers)

    def _depends(self, value: Expression) -> bool:
        """Whether elements, or what is no linear form of them, decide the value."""
        numbers = [self.numbers.get(object_) for object_ in objects_in(value)]
        return mentions(value, self.array) or any(
            isinstance(number, NotPolynomialError) or (number is not None and any(map(self.is_element, number.atoms)))
            for number in numbers
        )

    def _variable(self, access: Access) -> LaurentPolynomial:
        number = None if access.subscripts or access.path else self.numbers.get(access.object)
        if isinstance(number, NotPolynomialError):
            raise number
        if number is not None:
            return number
        if any(map(self._depends, access.subscripts)):
            text = expression_text(access)
            raise NotPolynomialError(f"{text} is chosen by elements of '{self.array.host}'", access.range)
        return LaurentPolynomial(of_atom(self.integers.instead(access)))

    def _element(self, access: Access) -> LaurentPolynomial:
        offset = self.offset(access)
        return self._chosen(access) if offset is None else self._at(offset, access)

    # -- conditions

    def skip(self, condition: Expression) -> None:
        """The element is computed if the condition does not hold. Raises NotPolynomialError."""
        self.masks.append(_negated(self._condition(condition)))

    def choice(
        self, condition: Expression, then: Callable[[SweepValues], None], otherwise: Callable[[SweepValues], None]
    ) -> None:
        """Run two branches. Raises NotPolynomialError, and what the branches raise.

        If no linear form can express the condition, only an element that needs it fails.
        """
        first, second = self._copy(), self._copy()
        then(first)
        otherwise(second)
        self.wraps = first.wraps or second.wraps
        try:
            chosen = second._condition(condition)
        except NotPolynomialError as error:
            self._forget((first, second), error)
            return
        was_updated = self.updated is not None
        self.integers, self.numbers, self.expressions = first.integers, first.numbers, first.expressions
        self.updated = first.updated
        for integer_, value in second.integers.values.items():
            self.integers.choose(integer_, chosen, value)
        for object_, second_number in second.numbers.items():
            self.numbers[object_] = _either(chosen, self.numbers.get(object_, second_number), second_number)
        for object_, written in second.expressions.items():
            first_value = self.expressions.setdefault(object_, written)
            if first_value != written:
                self.expressions[object_] = Conditional(chosen, first_value, written, first_value.type)
        if not was_updated and (first.updated is None) != (second.updated is None):
            self.masks.append(chosen if second.updated is None else _negated(chosen))
            self.updated = first.updated or second.updated
        elif first.updated is not None and second.updated is not None:
            updated = _either(chosen, first.updated, second.updated)
            assert isinstance(updated, LaurentPolynomial)  # both are polynomials
            self.updated = updated

    def _copy(self) -> SweepValues:
        """The state for a branch, which adds to the same reads and masks."""
        integers = Integers(dict(self.integers.values))
        return replace(self, integers=integers, numbers=dict(self.numbers), expressions=dict(self.expressions))

    def _forget(self, branches: tuple[SweepValues, SweepValues], error: NotPolynomialError) -> None:
        """The branch is unknown. Raises the error if the element's new value depends on it."""
        if any(branch.updated != self.updated for branch in branches):
            raise error
        for branch in branches:
            for object_, value in branch.numbers.items():
                if self.numbers.get(object_) != value:
                    self.numbers[object_] = error
                    self.integers.values.pop(object_, None)
                    self.expressions.pop(object_, None)

    def _condition(self, condition: Expression) -> Expression:
        """The condition with variables replaced, of value 0 or 1. Raises NotPolynomialError."""
        if self._depends(condition):
            raise NotPolynomialError(
                f"a condition on elements of '{self.array.host}' decides what {self.element} becomes", condition.range
            )
        written = self._written_out(condition)
        if any(isinstance(node, Binary) and node.operator in ("%", "&") for node in walk(written)) and not any(
            isinstance(node, Access) and node.subscripts for node in walk(written)
        ):
            raise NotPolynomialError(
                f"the condition {_what(condition)} skips elements by their position", condition.range
            )
        return written

    def _chosen(self, access: Access) -> LaurentPolynomial:
        """An element with conditional or wrapping subscripts. Raises NotPolynomialError."""
        subscripts = self.integers.instead(access.subscripts)
        for node in walk(Access(access.object, subscripts, (), access.type, access.range)):
            if isinstance(node, Conditional):
                condition = self._condition(node.condition)
                branches = (node.then, node.otherwise)
                parts = [replace(access, subscripts=with_node(subscripts, node, branch)) for branch in branches]
                return self._either_element(condition, *parts)
            if isinstance(node, Binary) and node.operator == "%":
                # (a + n) % n, and without the addition that makes a negative a positive
                without = Binary("-", node.left, node.right, node.type, node.range)
                around = (
                    replace(access, subscripts=with_node(subscripts, node, part)) for part in (node.left, without)
                )
                offset = next((candidate for candidate in map(self.offset, around) if candidate is not None), None)
                if offset is not None:
                    self.wraps = self.wraps or access.range
                    return self._at(offset, access)
        raise NotPolynomialError(
            f"{expression_text(access)} does not lie at the same distance from {self.element} everywhere", access.range
        )

    def _either_element(self, condition: Expression, then: Access, otherwise: Access) -> LaurentPolynomial:
        """One of two elements. Raises NotPolynomialError.

        If one has a constant offset at the mesh's end only, that counts; if it has none even there,
        the mesh is assumed to be periodic.
        """
        parts = []
        for element, alternative in ((then, otherwise), (otherwise, then)):
            offset, towards = self.offset(element), self.offset(alternative)
            if offset is None and towards is not None:
                offset = self._offset_at_the_end(element, towards)
                if offset is None:
                    self.wraps = self.wraps or element.range
                    offset = towards
            parts.append(self._element(element) if offset is None else self._at(offset, element))
        chosen = _either(condition, *parts)
        assert isinstance(chosen, LaurentPolynomial)  # both are polynomials
        return chosen

    def _offset_at_the_end(self, access: Access, towards: Offset) -> Offset | None:
        """The offset of an element from the last one in a direction; None if not integral."""
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
        subscripts = tuple(integer(part) for part in offset)
        return LaurentPolynomial(of_atom(Access(self.array, subscripts, (), self.array.element)))


def _either(
    condition: Expression, first: LaurentPolynomial | NotPolynomialError, second: LaurentPolynomial | NotPolynomialError
) -> LaurentPolynomial | NotPolynomialError:
    """c * first + (1 - c) * second, with c = 1 if the condition holds and 0 otherwise."""
    if isinstance(first, NotPolynomialError):
        return first
    if isinstance(second, NotPolynomialError) or first == second:
        return second
    return second + LaurentPolynomial(of_atom(condition)) * (first - second)


def _negated(condition: Expression) -> Expression:
    if isinstance(condition, Unary) and condition.operator == "!":
        return condition.operand
    return Unary("!", condition, INT, condition.range)


def offset_of(atom: Expression) -> Offset:
    """The offset that an element's atom stands for."""
    assert isinstance(atom, Access)
    return tuple(part.value for part in atom.subscripts if isinstance(part, IntegerLiteral))


def _what(value: Expression) -> str:
    text = expression_text(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
