"""Reductions: is x used only in updates with op, so that instances may use partial values?

An update assigns to x, of type T, a value that C computes in other types. It may work on partial
values iff it is an operation of T, by C's conversions. Sums, products and bit operations of
integers are modulo 2^n if no step is narrower than T, or floating; _Bool has only truth values. A
minimum or maximum qualifies if it assigns what it compares, in a type that keeps the order of T.

Whether any order gives the same bits is another question, for floating types. Sums are rounded.
Minima and maxima may drop or keep a NaN, and zeros of both signs are equal. C does not say which of
-0.0 and 0.0 fmin and fmax return, and compilers exchange their arguments. So only the signs of the
terms matter for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import ReductionClause
from tilepragma.ir.expressions import (
    COMPARISONS,
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Conditional,
    DataObject,
    Expression,
    FloatingLiteral,
    Increment,
    IntegerLiteral,
    Unary,
)
from tilepragma.ir.loop_tree import ExpressionStatement, FloatingRules, If
from tilepragma.ir.signs import Signs
from tilepragma.ir.traversal import children, mentions, unwrapped
from tilepragma.ir.types import DOUBLE, FLOAT, ScalarKind, ScalarType, has_integer, holds, single, usual_type

_COMPOUND = {"+": ("+=", "-="), "*": ("*=",), "&": ("&=",), "|": ("|=",), "^": ("^=",)}
_CALLS = {"min": ("fmin", "fminf", "fminl"), "max": ("fmax", "fmaxf", "fmaxl")}
_INTEGERS_ONLY = ("&", "|", "^")
_STRICT = FloatingRules(contract=False, fast=False)
_LOGICAL = ("&&", "||")
_WORDS = {"+": "sum", "*": "product"}


@dataclass(frozen=True)
class Updates:
    """The uses of a scalar as updates with one operator.

    `operator` combines partial values; `fmin` and `fmax` drop NaNs, as the functions do, also of
    the value before. `ordered` goes on after "the loop keeps": an order that changes bits, and a
    remedy; empty if no order does. `orders_zeros`: the order only decides the sign of a zero.
    `parts` are the operands of a single update besides the scalar.
    """

    operator: str
    ordered: str = ""
    orders_zeros: bool = False
    parts: tuple[Any, ...] = ()

    @property
    def clause(self) -> str:
        """The operator as users write it in a clause."""
        return _CLAUSES.get(self.operator, self.operator)


@dataclass(frozen=True)
class NoReduction:
    """A use that is no update; with a `reason` if only C's conversions keep it from being one."""

    range: SourceRange
    reason: str = ""
    remedy: str = ""


def check_reduction(
    object_: DataObject, clause: ReductionClause, body: Any, floating: FloatingRules, diagnostics: Diagnostics
) -> str:
    """Report uses of `object_` in `body` that are no updates by the operator, and bad types.

    Returns the operator that combines partial values: the clause's, or the function of the updates.
    """
    if not isinstance(object_.element, ScalarType) or object_.rank:
        message = f"'{object_.host}' is not a number, so it cannot be reduced"
        diagnostics.error(clause.range, message, "reduce a scalar of arithmetic type")
        return clause.operator
    return check_updates(object_, clause, body, floating, diagnostics)


def check_updates(
    object_: DataObject, clause: ReductionClause, body: Any, floating: FloatingRules, diagnostics: Diagnostics
) -> str:
    """The same where `object_` may also be an array of numbers."""
    assert isinstance(object_.element, ScalarType), "reductions are over numbers"
    if clause.operator in _INTEGERS_ONLY and not object_.element.is_integer:
        message = f"'{clause.operator}' needs integers, but '{object_.host}' is {object_.element.spelling}"
        diagnostics.error(clause.range, message)
        return clause.operator
    written = _CLAUSES.get(clause.operator, clause.operator)
    updates = _Uses(object_, object_.element, written, floating).as_updates(body)
    if isinstance(updates, Updates):
        return updates.operator
    if updates.reason:
        message = f"'{object_.host}' cannot be reduced with '{written}': {updates.reason}"
        diagnostics.error(updates.range, message, updates.remedy)
    else:
        message = f"'{object_.host}' is reduced with '{written}', but this is not an update with that operator"
        element = f"{object_.host}{'[…]' * object_.rank}"
        diagnostics.error(updates.range, message, _remedy(element, written))
    return clause.operator


#: The clause operators of the planner's operators.
_CLAUSES = {"fmin": "min", "fmax": "max"}


def reduction_updates(
    object_: DataObject, body: Any, floating: FloatingRules = _STRICT, signs: Signs | None = None
) -> Updates | NoReduction:
    """The updates that all uses of a number, or of elements of an array of numbers, in `body` are;
    `signs` tell if their order matters.
    """
    element = object_.element
    refusal = NoReduction(object_.range)
    if not isinstance(element, ScalarType):
        return refusal
    for operator in ("+", "*", "min", "max", *_INTEGERS_ONLY):
        if operator in _INTEGERS_ONLY and element.is_floating:
            continue
        updates = _Uses(object_, element, operator, floating, signs).as_updates(body)
        if isinstance(updates, Updates):
            return updates
        if updates.reason:
            refusal = updates
    return refusal


def is_ordered(object_: DataObject, operator: str, body: Any, floating: FloatingRules, signs: Signs) -> bool:
    """Whether updates of `object_` with this operator keep their order; other uses are allowed."""
    element = object_.element
    assert isinstance(element, ScalarType), "reductions are over numbers"
    uses = _Uses(object_, element, _CLAUSES.get(operator, operator), floating, signs)
    return bool(uses.joined([update for update in uses.updates(body) if isinstance(update, Updates)]).ordered)


def _remedy(name: str, operator: str) -> str:
    if operator in ("min", "max"):
        comparison = "<" if operator == "min" else ">"
        return f"inside the loop use '{name}' only as in: if (value {comparison} {name}) {name} = value;"
    return f"inside the loop use '{name}' only as in: {name} = {name} {operator} value;"


@dataclass(frozen=True)
class _Uses:
    """The uses of one scalar, or of elements of one array, as updates with one operator; `signs`
    tell if their order matters. `subscripts` are those of the element that a statement updates.
    """

    object: DataObject
    type: ScalarType
    operator: str
    floating: FloatingRules
    signs: Signs | None = None
    subscripts: tuple[Expression, ...] = ()

    def as_updates(self, body: Any) -> Updates | NoReduction:
        """All uses in `body` as updates, or the first use that is none."""
        updates = list[Updates]()
        for update in self.updates(body):
            if isinstance(update, NoReduction):
                return update
            updates.append(update)
        return self.joined(updates)

    def joined(self, updates: list[Updates]) -> Updates:
        if self.floating.fast:
            return Updates(self.operator)  # no NaNs, and signs of zeros do not matter
        operators = {update.operator for update in updates} or {self.operator}
        ordered = next((update.ordered for update in updates if update.ordered), "")
        if len(operators) > 1:
            calls = f"its order, since 'f{self.operator}' passes over a NaN where comparisons keep it"
            return Updates(self.operator, ordered or f"{calls}: {self._freed(self._strict)}")
        if self.type.is_floating and self.operator in _WORDS:
            ordered = f"the order of its {_WORDS[self.operator]}: {self._clause} would allow any"
        (operator,) = operators
        orders_zeros = any(update.orders_zeros for update in updates)
        orders_zeros &= all(update.orders_zeros or not update.ordered for update in updates)
        if orders_zeros and self.signs is not None and self.object in self.signs.settled:
            return Updates(operator)
        return Updates(operator, ordered, orders_zeros)

    def updates(self, node: Any) -> Iterator[Updates | NoReduction]:
        """The updates in `node`, and other uses of the scalar."""
        target = self._target(node)
        update = None if target is None else replace(self, subscripts=target.subscripts)._update(node)
        if update is not None:
            yield update
        if isinstance(update, NoReduction):
            return
        if update is None and isinstance(node, Access) and node.object == self.object:
            yield NoReduction(node.range)
        parts = children(node) if update is None or target is None else (*target.subscripts, *update.parts)
        for part in parts:
            yield from self.updates(part)

    def _target(self, node: Any) -> Access | None:
        """What a statement, or the only one under a condition, sets, if it is the object."""
        statement = unwrapped(node.then) if isinstance(node, If) else node
        expression = statement.expression if isinstance(statement, ExpressionStatement) else None
        target = expression.target if isinstance(expression, (Assignment, Increment)) else None
        if not isinstance(target, Access) or target.object != self.object:
            return None
        return target if len(target.subscripts) == self.object.rank else None

    def _update(self, node: Any) -> Updates | NoReduction | None:
        if isinstance(node, If):
            return self._guarded(node)
        if isinstance(node, ExpressionStatement):
            expression = node.expression
            if isinstance(expression, Assignment) and self._is(expression.target):
                return self._assigned(expression)
            if isinstance(expression, Increment) and self._is(expression.target) and self.operator == "+":
                if self._is_truth and expression.operator == "--":
                    return NoReduction(expression.range, "a _Bool is toggled by '--'", "use '^' with 1")
                return self._update_of()
        return None

    # -- sums, products, bits, truths

    def _assigned(self, node: Assignment) -> Updates | NoReduction | None:
        if node.operator != "=":
            if node.operator not in _COMPOUND.get(self.operator, ()):
                return None
            type_ = node.value.type
            if not isinstance(type_, ScalarType):
                return None
            steps = (usual_type(self.type, type_),)
            return self._in_type(node, steps, (node.value,), node.operator == "-=") or self._update_of(node.value)
        if self.operator in ("min", "max"):
            return self._selected(node)
        terms, types = list[Expression](), list[ScalarType]()
        minus = self._chain(node.value, terms, types)
        if minus is None:
            return None
        return self._in_type(node, tuple(types), tuple(terms), minus) or self._update_of(*terms)

    def _chain(self, value: Expression, terms: list[Expression], types: list[ScalarType]) -> bool | None:
        """Walks from the assigned value down to the scalar.

        Adds other operands to `terms` and C's types to `types`. Returns whether C subtracts, or
        None if the operator alone does not lead to the scalar.
        """
        minus = False
        while not self._is(value):
            type_ = value.type
            if not isinstance(type_, ScalarType):
                return None
            if isinstance(value, Cast):
                types.append(type_)
                value = value.operand
                continue
            subtracts = isinstance(value, Binary) and self.operator == "+" and value.operator == "-"
            if not isinstance(value, Binary) or not (value.operator == self.operator or subtracts):
                return None
            types.append(type_)
            minus |= subtracts
            inside = mentions(value.left, self.object)
            if inside == mentions(value.right, self.object) or (subtracts and not inside):
                return None
            terms.append(value.right if inside else value.left)
            value = value.left if inside else value.right
        return minus

    def _in_type(
        self, node: Assignment, types: tuple[ScalarType, ...], terms: tuple[Expression, ...], minus: bool
    ) -> NoReduction | None:
        """Why steps in `types` are no operation of the scalar's type, or None."""
        if self.operator in _LOGICAL:
            return None
        name, spelling = self.object.host, self.type.spelling
        if self.type.is_floating:
            narrow = (type_ for type_ in types if not type_.is_floating or type_.bits < self.type.bits)
            return self._narrowed(node, narrow)
        floating = next((type_ for type_ in types if type_.is_floating), None)
        if floating is not None:
            converted = "(value != 0)" if self._is_truth else f"({spelling})value"
            remedy = f"convert the term, as in {converted}, or make '{name}' {floating.spelling}"
            reason = f"each step is computed in {floating.spelling} and converted to {spelling}"
            return NoReduction(node.range, reason, remedy)
        if self._is_truth:
            # A product or & with false is false, | with true is true. Other operators need truth
            # values.
            truths = not minus and all(_is_truth(term) for term in terms)
            if self.operator in ("*", "&", "|") or truths:
                return None
            reason, operator = "each step is converted to _Bool", self.operator
            if operator == "+":
                reason, operator = f"{reason}, which is no sum", "^" if minus else "|"
            return NoReduction(node.range, reason, f"use truths, as in {name} {operator}= (value != 0)")
        narrow = (type_ for type_ in types if type_.bits < self.type.bits or type_.kind is ScalarKind.BOOLEAN)
        return self._narrowed(node, narrow)

    def _narrowed(self, node: Assignment, types: Iterator[ScalarType]) -> NoReduction | None:
        narrow = next(types, None)
        if narrow is None:
            return None
        remedy = f"leave the conversion of '{self.object.host}' out"
        return NoReduction(node.range, f"each step converts it to {narrow.spelling}", remedy)

    # -- minima and maxima

    def _guarded(self, node: If) -> Updates | NoReduction | None:
        """The update `if (e < x) x = e;`, if it is one."""
        if self.operator not in ("min", "max") or node.otherwise is not None:
            return None
        comparison = self._comparison(node.condition, self.operator)
        statement = unwrapped(node.then)
        if comparison is None or not isinstance(statement, ExpressionStatement):
            return None
        assignment = statement.expression
        if not isinstance(assignment, Assignment) or assignment.operator != "=" or not self._is(assignment.target):
            return None
        return self._compared(assignment, comparison, assignment.value, (), takes=True)

    def _selected(self, node: Assignment) -> Updates | NoReduction | None:
        """The update `x = fmin(x, e)` or `x = e < x ? e : x` or a mirror image, if it is one."""
        value, types = node.value, list[ScalarType]()
        while isinstance(value, Cast) and isinstance(value.type, ScalarType):
            types.append(value.type)
            value = value.operand
        if not isinstance(value.type, ScalarType):
            return None
        types.append(value.type)
        if isinstance(value, Call) and value.callee is Callee.MATH and value.function in _CALLS[self.operator]:
            return self._called(node, value, tuple(types))
        if isinstance(value, Conditional):
            opposite = "max" if self.operator == "min" else "min"
            for new, old, takes in ((value.then, value.otherwise, True), (value.otherwise, value.then, False)):
                if self._is_itself(old) and not mentions(new, self.object):
                    comparison = self._comparison(value.condition, self.operator if takes else opposite)
                    if comparison is not None:
                        return self._compared(node, comparison, new, tuple(types), takes=takes)
        return None

    def _called(self, node: Assignment, call: Call, types: tuple[ScalarType, ...]) -> Updates | NoReduction | None:
        places = [place for place, argument in enumerate(call.arguments) if self._is_itself(argument)]
        if len(places) != 1 or not isinstance(call.type, ScalarType):
            return None
        value = call.arguments[1 - places[0]]
        assigned = _converted(value, self.type, *types)
        if not all(holds(type_, self.type) for type_ in types) or assigned != _converted(value, call.type):
            reason = f"what is compared in {call.type.spelling} is not what is assigned to {self.type.spelling}"
            return NoReduction(node.range, reason, f"convert the value, as in ({self.type.spelling})value")
        if not self.type.is_floating:
            return self._update_of(value)
        return self._of_either_zero(value, assigned, f"f{self.operator}")

    def _compared(
        self, node: Assignment, comparison: Binary, new: Expression, types: tuple[ScalarType, ...], *, takes: bool
    ) -> Updates | NoReduction | None:
        """The update that assigns `new` by a comparison, converted to `types`, innermost last."""
        left, right = comparison.left.type, comparison.right.type
        if not isinstance(left, ScalarType) or not isinstance(right, ScalarType):
            return None
        common = usual_type(left, right)
        value = comparison.right if self._is_itself(comparison.left) else comparison.left
        assigned = _converted(new, self.type, *types)
        if assigned != _converted(value, common) or not all(holds(type_, self.type) for type_ in (common, *types)):
            if _bare(new) != _bare(value):
                return None
            reason = f"what is compared in {common.spelling} is not what is assigned to {self.type.spelling}"
            remedy = f"compare with the converted value, as in ({self.type.spelling})value"
            return NoReduction(node.range, reason, remedy)
        if not self.type.is_floating:
            return self._update_of(new)
        if not takes:
            why = "a NaN replaces what came before it"
            return self._update_of(new, ordered=f"its order, since {why}: {self._freed(self._strict)}")
        if comparison.operator in ("<=", ">="):
            why = "zeros of both signs are equal and the last one stays"
            return self._update_of(new, ordered=f"its order, since {why}: {self._freed(self._strict)}")
        return self._of_either_zero(new, assigned, self.operator)

    def _of_either_zero(self, new: Expression, assigned: Expression, operator: str) -> Updates:
        """An update whose order matters only if it may assign a zero of either sign."""
        if self.signs is None or self.signs.never_negative_zero(assigned):
            return Updates(operator, parts=(new,))
        ordered = (
            f"its order, since zeros of both signs are equal and one of them stays: {self._clause} would allow any, "
            "and values of fabs() need no clause"
        )
        return Updates(operator, ordered, True, (new,))

    def _update_of(self, *parts: Expression, ordered: str = "") -> Updates:
        return Updates(self.operator, ordered, parts=parts)

    @property
    def _strict(self) -> str:
        comparison = "<" if self.operator == "min" else ">"
        return f"if (value {comparison} {self.object.host}) {self.object.host} = value"

    def _freed(self, form: str) -> str:
        return f"{self._clause} would allow any order, and '{form}' of values of fabs() needs no clause"

    @property
    def _clause(self) -> str:
        return f"reduction({self.operator}: {self.object.host})"

    def _comparison(self, condition: Expression, operator: str) -> Binary | None:
        """The comparison if it tells that the other value becomes the new minimum (maximum)."""
        condition = _exact(condition)
        if not isinstance(condition, Binary):
            return None
        less, greater = ("<", "<="), (">", ">=")
        first, second = (less, greater) if operator == "min" else (greater, less)
        if condition.operator in first and self._is_itself(condition.right):
            return condition
        return condition if condition.operator in second and self._is_itself(condition.left) else None

    # -- the scalar

    @property
    def _is_truth(self) -> bool:
        return self.type.kind is ScalarKind.BOOLEAN

    def _is(self, value: Any) -> bool:
        if not isinstance(value, Access) or value.object != self.object or value.path:
            return False
        return value.subscripts == self.subscripts

    def _is_itself(self, value: Expression) -> bool:
        """Whether it is the scalar, perhaps converted to types with all its values."""
        return self._is(_exact(value))


# -- values and their types


def _converted(value: Expression, *types: ScalarType) -> Expression:
    """The value converted to the types, the last one first, without idle conversions."""
    value = _exact(value)
    for type_ in reversed(types):
        value = _exact(Cast(type_, value))
    return value


def _exact(value: Expression) -> Expression:
    """The value without conversions that change nothing."""
    while isinstance(value, Cast) and isinstance(value.type, ScalarType) and _lies_in(value.operand, value.type):
        value = value.operand
    return value


def _bare(value: Expression) -> Expression:
    while isinstance(value, Cast):
        value = value.operand
    return value


def _lies_in(value: Expression, type_: ScalarType) -> bool:
    value_type = value.type
    if not isinstance(value_type, ScalarType):
        return False
    if holds(type_, value_type) or _is_truth(value):
        return True
    if isinstance(value, IntegerLiteral):
        return has_integer(type_, value.value)
    if isinstance(value, Cast):
        return _lies_in(value.operand, value_type) and _lies_in(value.operand, type_)
    if isinstance(value, Conditional):
        return _lies_in(value.then, type_) and _lies_in(value.otherwise, type_)
    if not (type_.is_floating and value_type.is_floating):
        return False
    if isinstance(value, FloatingLiteral):
        return type_ == DOUBLE or (type_ == FLOAT and single(value.value) == value.value)
    if isinstance(value, Unary):
        return value.operator in ("+", "-") and _lies_in(value.operand, type_)
    if isinstance(value, Call) and value.callee is Callee.MATH and value.function in ("fabs", "fabsf", "fabsl"):
        return _lies_in(value.arguments[0], type_)
    return False


def _is_truth(value: Expression) -> bool:
    if isinstance(value.type, ScalarType) and value.type.kind is ScalarKind.BOOLEAN:
        return True
    if isinstance(value, IntegerLiteral):
        return value.value in (0, 1)
    if isinstance(value, Conditional):
        return _is_truth(value.then) and _is_truth(value.otherwise)
    return isinstance(value, (Binary, Unary)) and value.operator in (*COMPARISONS, *_LOGICAL, "!")
