"""Recognises canonical `for` loops (docs/LANGUAGE.md), and says why another loop is none."""

from __future__ import annotations

from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.iterator_types import added, compared, is_integer, leaves_its_type, started
from tilepragma.frontend.clang.loop_headers import Header, countdown_of, is_iterator, nearer_bound, shifted_bound
from tilepragma.frontend.clang.written_objects import has_effects, written_in
from tilepragma.ir.c_values import c_value
from tilepragma.ir.directives import LoopDirective
from tilepragma.ir.expressions import (
    Assignment,
    Binary,
    Cast,
    DataObject,
    Expression,
    Increment,
    IntegerLiteral,
    Storage,
    Unary,
    integer,
)
from tilepragma.ir.loop_tree import Block, Break, Declaration, ForLoop, If, Loop, Statement
from tilepragma.ir.traversal import mentions
from tilepragma.ir.types import INT, LONG, ScalarKind, ScalarType

_LONG_STEP = 1 << (INT.bits - 1)
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


class _NotCanonicalError(Exception):
    """Why a loop is not canonical, and where."""

    def __init__(self, reason: str, range_: SourceRange) -> None:
        super().__init__(reason)
        self.reason = reason
        self.range = range_


def make_loop(
    index: int, header: Header, body: Block, directive: LoopDirective | None, range_: SourceRange, addressed: bool
) -> Loop | ForLoop:
    """A Loop where the `for` is canonical, else a ForLoop with the reason.

    `addressed` tells that the user's function takes the iterator's address somewhere.
    """
    try:
        return _canonical(index, header, body, directive, range_, addressed)
    except _NotCanonicalError as refusal:
        return ForLoop(
            header.initialization,
            header.condition,
            header.advance,
            body,
            directive,
            refusal.reason,
            range_,
            refusal.range,
        )


def iterator_of(header: Header) -> DataObject | None:
    """The variable that the header's first part sets, if it is one scalar."""
    initialization = header.initialization
    if isinstance(initialization, Declaration) and len(initialization.declarators) == 1:
        return initialization.declarators[0].object
    if isinstance(initialization, Assignment) and initialization.operator == "=":
        target = initialization.target
        return None if target.subscripts or target.path else target.object
    return None


def _canonical(
    index: int, header: Header, body: Block, directive: LoopDirective | None, range_: SourceRange, addressed: bool
) -> Loop:
    iterator, lower = _start(header)
    name = iterator.host
    if addressed:
        raise _NotCanonicalError(f"the address of its iterator '{name}' is taken", header.range)
    lower = started(lower, iterator)
    countdown = countdown_of(header, iterator, lower)
    if countdown is not None:
        lower, comparison, upper = countdown
        step: Expression = integer(-1)
        sign, decreasing = -1, True
    else:
        comparison, upper = _bound(header, iterator, lower)
        if not is_integer(upper):
            raise _NotCanonicalError("its bound is not an integer", header.range)
        upper = compared(upper, iterator)
        step, sign = _step(header, iterator)
        if not is_integer(step):
            raise _NotCanonicalError("its step is not an integer", header.range)
        step, sign = added(step, sign, iterator)
        decreasing = sign < 0 if comparison == "!=" else comparison in (">", ">=")
    _check_direction(comparison, step, sign, decreasing, header)
    if abs(c_value(step) or 0) >= _LONG_STEP:
        # A step of 2**64 - 16 takes back 16, and isl would take hours to count with such
        # remainders.
        raise _NotCanonicalError("its step is beyond 2147483647", header.range)
    if any((c_value(bound) or 0) >= 1 << (LONG.bits - 1) for bound in (lower, upper)):
        raise _NotCanonicalError("it starts or ends at a number beyond 9223372036854775807", header.range)
    if countdown is None and leaves_its_type(lower, comparison, upper, step, iterator):
        raise _NotCanonicalError(
            f"its iterator '{iterator.host}' wraps around before it reaches the bound", header.range
        )
    _check_body(iterator, {"lower bound": lower, "upper bound": upper, "step": step}, body, header)
    return Loop(
        index,
        iterator,
        isinstance(header.initialization, Declaration),
        lower,
        comparison,
        upper,
        step,
        decreasing,
        body,
        directive,
        range_,
        header.range,
    )


def _start(header: Header) -> tuple[DataObject, Expression]:
    iterator = iterator_of(header)
    initialization = header.initialization
    if iterator is None or initialization is None:
        raise _NotCanonicalError("its first part does not set one iterator ('i = …' or 'int i = …')", header.range)
    if isinstance(initialization, Declaration):
        lower = initialization.declarators[0].initializer
    else:
        assert isinstance(initialization, Assignment)
        lower = initialization.value
    if iterator.storage is not Storage.SCALAR or lower is None or isinstance(lower, tuple):
        raise _NotCanonicalError("its first part does not set one iterator ('i = …' or 'int i = …')", header.range)
    if not (isinstance(iterator.element, ScalarType) and iterator.element.kind is ScalarKind.INTEGER):
        raise _NotCanonicalError(f"its iterator '{iterator.host}' is not an integer", header.range)
    return iterator, lower


def _bound(header: Header, iterator: DataObject, lower: Expression) -> tuple[str, Expression]:
    if header.condition is None:
        raise _NotCanonicalError("it has no condition", header.range)
    return _bound_in(header.condition, iterator, lower)


def _bound_in(condition: Expression, iterator: DataObject, lower: Expression) -> tuple[str, Expression]:
    if isinstance(condition, Binary) and condition.operator == "&&":
        nearer = nearer_bound(*(_bound_in(side, iterator, lower) for side in (condition.left, condition.right)))
        if nearer is not None:
            return nearer
    if isinstance(condition, Binary) and condition.operator in _TURNED:
        if is_iterator(condition.left, iterator):
            return condition.operator, condition.right
        if is_iterator(condition.right, iterator):
            return _TURNED[condition.operator], condition.left
        shifted = shifted_bound(condition.operator, condition.left, condition.right, iterator, lower)
        shifted = shifted or shifted_bound(
            _TURNED[condition.operator], condition.right, condition.left, iterator, lower
        )
        if shifted is not None:
            return shifted
    raise _NotCanonicalError(
        f"its condition does not compare the iterator '{iterator.host}' with a bound by <, <=, >, >= or !=",
        condition.range,
    )


def _step(header: Header, iterator: DataObject) -> tuple[Expression, int]:
    """The signed step, and its sign; the sign is 0 where only the run tells it."""
    advance = header.advance
    if isinstance(advance, Increment) and is_iterator(advance.target, iterator):
        value = 1 if advance.operator == "++" else -1
        return integer(value), value
    if isinstance(advance, Assignment) and is_iterator(advance.target, iterator):
        step, minus = _added(advance, iterator)
        if step is not None:
            return _signed(step, minus)
    range_ = header.range if advance is None else advance.range
    raise _NotCanonicalError(f"its last part does not add a step to the iterator '{iterator.host}'", range_)


def _added(advance: Assignment, iterator: DataObject) -> tuple[Expression | None, bool]:
    """The step of `i += s`, `i -= s`, `i = i ± s` or `i = s + i`, and whether C subtracts it."""
    if advance.operator in ("+=", "-="):
        return advance.value, advance.operator == "-="
    value = advance.value
    if isinstance(value, Cast) and value.type == iterator.element:
        value = value.operand
    if advance.operator == "=" and isinstance(value, Binary) and value.operator in ("+", "-"):
        if is_iterator(value.left, iterator):
            return value.right, value.operator == "-"
        if value.operator == "+" and is_iterator(value.right, iterator):
            return value.left, False
    return None, False


def _signed(step: Expression, minus: bool) -> tuple[Expression, int]:
    value = c_value(step)
    if value is not None:
        value = -value if minus else value
        if isinstance(step, IntegerLiteral) and not minus:
            return step, (value > 0) - (value < 0)
        return integer(value), (value > 0) - (value < 0)
    if not minus:
        return step, 0
    if isinstance(step.type, ScalarType) and not step.type.signed:
        step = Cast(LONG, step, step.range)
    return Unary("-", step, step.type if not _is_narrow(step) else INT, step.range), 0


def _is_narrow(step: Expression) -> bool:
    return isinstance(step.type, ScalarType) and step.type.bits < INT.bits


def _check_direction(comparison: str, step: Expression, sign: int, decreasing: bool, header: Header) -> None:
    range_ = header.range if header.advance is None else header.advance.range
    value = c_value(step)
    if value == 0:
        raise _NotCanonicalError("its step is 0", range_)
    if comparison == "!=" and value not in (1, -1):
        raise _NotCanonicalError("with '!=' its step must be 1 or -1", range_)
    if sign and (sign < 0) != decreasing:
        raise _NotCanonicalError("its step leads away from its bound", range_)


def _check_body(iterator: DataObject, parts: dict[str, Expression], body: Block, header: Header) -> None:
    """Refuse iterators, bounds and steps that the loop changes, and loops that a `break` leaves."""
    written = written_in(body)
    if iterator in written.objects:
        raise _NotCanonicalError(f"its iterator '{iterator.host}' is changed in its body", header.range)
    if iterator in written.addressed:
        raise _NotCanonicalError(f"the address of its iterator '{iterator.host}' is taken", header.range)
    for what, expression in parts.items():
        if has_effects(expression):
            raise _NotCanonicalError(f"its {what} has side effects", header.range)
        spoiled = written.spoils(expression)
        if spoiled is None and what != "lower bound" and mentions(expression, iterator):
            spoiled = iterator
        if spoiled is not None:
            raise _NotCanonicalError(f"its {what} changes: '{spoiled.host}' is written in the loop", header.range)
    early = _early_exit(body)
    if early is not None:
        raise _NotCanonicalError("it is left by 'break'", early.range)


def _early_exit(block: Block) -> Break | None:
    """The first `break` that leaves the loop of this body, not a loop inside."""
    for statement in block.statements:
        early = _early_exit_of(statement)
        if early is not None:
            return early
    return None


def _early_exit_of(statement: Statement) -> Break | None:
    if isinstance(statement, Break):
        return statement
    if isinstance(statement, Block):
        return _early_exit(statement)
    if isinstance(statement, If):
        early = _early_exit(statement.then)
        return early if early is not None or statement.otherwise is None else _early_exit(statement.otherwise)
    return None
