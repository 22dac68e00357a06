"""Recognises canonical `for` loops (docs/LANGUAGE.md), and says why another loop is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.frontend.clang.literals import constant
from tilepragma.frontend.clang.written_objects import has_effects, written_in
from tilepragma.ir.accesses import early_exits
from tilepragma.ir.c_values import c_value, converted
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Cast,
    Comma,
    Conditional,
    DataObject,
    Expression,
    Increment,
    IntegerLiteral,
    Storage,
    Unary,
    integer,
)
from tilepragma.ir.loop_tree import (
    Break,
    Continue,
    Declaration,
    ExpressionStatement,
    ForLoop,
    Initializer,
    Loop,
    LoopPragma,
    Statement,
)
from tilepragma.ir.traversal import changed_in, declared_in, mentions, objects_in, walk
from tilepragma.ir.types import INT, LONG, ScalarKind, ScalarType, is_integer, least_and_greatest, promoted, usual_type

_LONG_STEP = 1 << (INT.bits - 1)
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


@dataclass(frozen=True)
class _Bound:
    """Where a loop ends: `iterator comparison value` no longer holds."""

    comparison: str
    value: Expression


def canonical(loop: ForLoop, index: int, addressed: bool, pragmas: tuple[LoopPragma, ...]) -> Loop | ForLoop:
    """A Loop where the `for` is canonical, else the ForLoop with the reason.

    Its `reason_range` is that of the loop. `addressed` tells that the user's function takes the
    iterator's address somewhere. `pragmas` are the lines before the loop.
    """
    try:
        written = frozenset(object_.name for object_ in (changed_in(loop.body) if pragmas else ()))
        kept = tuple(replace(pragma, written=written) for pragma in pragmas)
        return replace(_canonical(loop, index, addressed), pragmas=kept)
    except SourceError as refusal:
        return replace(loop, reason=refusal.diagnostic.message, reason_range=refusal.diagnostic.range)


def with_one_iterator(loop: ForLoop) -> tuple[tuple[Statement, ...], ForLoop]:
    """The loop with what its header does besides for one iterator moved out, and the statements
    that then stand before it. The same loop, and none, where that is not the same program.

    for (i = 0, k = m; i < n; i++, k += 2) …;   →   k = m; for (i = 0; i < n; i++) { …; k += 2; }
    """
    parts, advances = _first_parts(loop.initialization), _sequence(loop.advance)
    if max(len(parts), len(advances)) < 2 or loop.condition is None:
        return (), loop
    for advance in advances:
        iterator = advance.target.object if isinstance(advance, (Assignment, Increment)) else None
        starts = [part for part in parts if _sets(part) == iterator]
        if iterator is None or len(starts) != 1 or not mentions(loop.condition, iterator):
            continue
        before = tuple(part for part in parts if part is not starts[0])
        behind = tuple(part for part in advances if part is not advance)
        if (
            _are_apart(before, starts[0], iterator)
            and _are_apart(behind, advance, iterator)
            and not (behind and any(True for _ in early_exits(loop.body, Continue)))
        ):
            start = starts[0].expression if isinstance(starts[0], ExpressionStatement) else starts[0]
            moved = tuple(ExpressionStatement(part, part.range) for part in behind)
            body = replace(loop.body, statements=(*loop.body.statements, *moved))
            return before, replace(loop, initialization=start, advance=advance, body=body)
    return (), loop


def _are_apart(others: Iterable[Any], part: Any, iterator: DataObject) -> bool:
    """Whether a header's part for the iterator, and others, may be done in any order."""
    written = {target for each in others for target in (*changed_in(each), *declared_in(each))}
    calls = any(isinstance(node, Call) for each in (*others, part) for node in walk(each))
    return not (calls or any(mentions(each, iterator) for each in others) or written & set(objects_in(part)))


def _first_parts(initialization: Declaration | Expression | None) -> list[Declaration | ExpressionStatement]:
    """What the header's first part does, each as a statement of its own."""
    if isinstance(initialization, Declaration):
        declarators = initialization.declarators
        return [replace(initialization, declarators=(declarator,)) for declarator in declarators]
    return [ExpressionStatement(part, part.range) for part in _sequence(initialization)]


def _sequence(expression: Expression | None) -> tuple[Expression, ...]:
    """The operands of `a, b, …`."""
    if isinstance(expression, Comma):
        return (*_sequence(expression.left), *_sequence(expression.right))
    return () if expression is None else (expression,)


def _sets(part: Declaration | ExpressionStatement) -> DataObject | None:
    """The variable that a statement of a header declares or assigns."""
    if isinstance(part, Declaration):
        return part.declarators[0].object
    assignment = part.expression
    if not isinstance(assignment, Assignment) or assignment.operator != "=":
        return None
    return assignment.target.object


def iterator_of(loop: ForLoop) -> DataObject | None:
    """The variable that the header's first part sets, if it is one scalar."""
    initialization = loop.initialization
    if isinstance(initialization, Declaration) and len(initialization.declarators) == 1:
        return initialization.declarators[0].object
    if isinstance(initialization, Assignment) and initialization.operator == "=":
        target = initialization.target
        return None if target.subscripts or target.path else target.object
    return None


def _canonical(loop: ForLoop, index: int, addressed: bool) -> Loop:
    iterator, lower = _start(loop)
    name = iterator.host
    if addressed:
        raise source_error(loop.reason_range, f"the address of its iterator '{name}' is taken")
    lower = _started(lower, iterator)
    countdown = _countdown_of(loop, iterator, lower)
    if countdown is not None:
        lower, bound = countdown
        step: Expression = integer(-1)
        sign, decreasing = -1, True
    else:
        if loop.condition is None:
            raise source_error(loop.reason_range, "it has no condition")
        bound = _bound_in(loop.condition, iterator, lower)
        if not is_integer(bound.value.type):
            raise source_error(loop.reason_range, "its bound is not an integer")
        bound = replace(bound, value=_compared(bound.value, iterator))
        step, sign = _step(loop, iterator)
        if not is_integer(step.type):
            raise source_error(loop.reason_range, "its step is not an integer")
        step, sign = _added(step, sign, iterator)
        decreasing = sign < 0 if bound.comparison == "!=" else bound.comparison in (">", ">=")
    _check_direction(bound.comparison, step, sign, decreasing, loop)
    if abs(c_value(step) or 0) >= _LONG_STEP:
        # A step of 2**64 - 16 takes back 16, and isl would take hours to count with such
        # remainders.
        raise source_error(loop.reason_range, "its step is beyond 2147483647")
    if any((c_value(end) or 0) >= 1 << (LONG.bits - 1) for end in (lower, bound.value)):
        raise source_error(loop.reason_range, "it starts or ends at a number beyond 9223372036854775807")
    if countdown is None and _leaves_its_type(lower, bound, step, iterator):
        raise source_error(loop.reason_range, f"its iterator '{name}' wraps around before it reaches the bound")
    _check_body(iterator, {"lower bound": lower, "upper bound": bound.value, "step": step}, loop)
    header = isinstance(loop.initialization, Declaration), lower, bound.comparison, bound.value, step, decreasing
    return Loop(index, iterator, *header, loop.body, loop.directive, loop.range, loop.reason_range)


def _start(loop: ForLoop) -> tuple[DataObject, Expression]:
    """The iterator and its first value, as written."""
    iterator, initialization = iterator_of(loop), loop.initialization
    lower: Initializer | None = None
    if isinstance(initialization, Declaration):
        lower = initialization.declarators[0].initializer
    elif isinstance(initialization, Assignment):
        lower = initialization.value
    if iterator is None or iterator.storage is not Storage.SCALAR or lower is None or isinstance(lower, tuple):
        raise source_error(loop.reason_range, "its first part does not set one iterator ('i = …' or 'int i = …')")
    if not (isinstance(iterator.element, ScalarType) and iterator.element.kind is ScalarKind.INTEGER):
        raise source_error(loop.reason_range, f"its iterator '{iterator.host}' is not an integer")
    return iterator, lower


def _bound_in(condition: Expression, iterator: DataObject, lower: Expression) -> _Bound:
    if isinstance(condition, Binary) and condition.operator == "&&":
        nearer = _nearer_bound(*(_bound_in(side, iterator, lower) for side in (condition.left, condition.right)))
        if nearer is not None:
            return nearer
    if isinstance(condition, Binary) and condition.operator in _TURNED:
        operator, left, right = condition.operator, condition.left, condition.right
        if _is_iterator(left, iterator):
            return _Bound(operator, right)
        if _is_iterator(right, iterator):
            return _Bound(_TURNED[operator], left)
        shifted = _shifted_bound(operator, left, right, iterator, lower)
        shifted = shifted or _shifted_bound(_TURNED[operator], right, left, iterator, lower)
        if shifted is not None:
            return shifted
    message = f"its condition does not compare the iterator '{iterator.host}' with a bound by <, <=, >, >= or !="
    raise source_error(condition.range, message)


def _step(loop: ForLoop, iterator: DataObject) -> tuple[Expression, int]:
    """The signed step, and its sign; the sign is 0 where only the run tells it."""
    advance = loop.advance
    if isinstance(advance, Increment) and _is_iterator(advance.target, iterator):
        value = 1 if advance.operator == "++" else -1
        return integer(value), value
    if isinstance(advance, Assignment) and _is_iterator(advance.target, iterator):
        step, minus = _written_step(advance, iterator)
        if step is not None:
            return _signed(step, minus)
    range_ = loop.reason_range if advance is None else advance.range
    raise source_error(range_, f"its last part does not add a step to the iterator '{iterator.host}'")


def _written_step(advance: Assignment, iterator: DataObject) -> tuple[Expression | None, bool]:
    """The step of `i += s`, `i -= s`, `i = i ± s` or `i = s + i`, and whether C subtracts it."""
    if advance.operator in ("+=", "-="):
        return advance.value, advance.operator == "-="
    value = advance.value
    if isinstance(value, Cast) and value.type == iterator.element:
        value = value.operand
    if advance.operator == "=" and isinstance(value, Binary) and value.operator in ("+", "-"):
        if _is_iterator(value.left, iterator):
            return value.right, value.operator == "-"
        if value.operator == "+" and _is_iterator(value.right, iterator):
            return value.left, False
    return None, False


def _signed(step: Expression, minus: bool) -> tuple[Expression, int]:
    value = c_value(step)
    if value is not None:
        value = -value if minus else value
        is_written = isinstance(step, IntegerLiteral) and not minus
        return step if is_written else integer(value), (value > 0) - (value < 0)
    if not minus:
        return step, 0
    if isinstance(step.type, ScalarType) and not step.type.signed:
        step = Cast(LONG, step, step.range)
    type_ = promoted(step.type) if isinstance(step.type, ScalarType) else step.type
    return Unary("-", step, type_, step.range), 0


def _check_direction(comparison: str, step: Expression, sign: int, decreasing: bool, loop: ForLoop) -> None:
    range_ = loop.reason_range if loop.advance is None else loop.advance.range
    value = c_value(step)
    if value == 0:
        raise source_error(range_, "its step is 0")
    if comparison == "!=" and value not in (1, -1):
        raise source_error(range_, "with '!=' its step must be 1 or -1")
    if sign and (sign < 0) != decreasing:
        raise source_error(range_, "its step leads away from its bound")


def _check_body(iterator: DataObject, parts: dict[str, Expression], loop: ForLoop) -> None:
    """Refuse iterators, bounds and steps that the loop changes, and loops that a `break` leaves."""
    written = written_in(loop.body)
    if iterator in written.objects:
        raise source_error(loop.reason_range, f"its iterator '{iterator.host}' is changed in its body")
    if iterator in written.addressed:
        raise source_error(loop.reason_range, f"the address of its iterator '{iterator.host}' is taken")
    for what, expression in parts.items():
        if has_effects(expression):
            raise source_error(loop.reason_range, f"its {what} has side effects")
        spoiled = written.spoils(expression)
        if spoiled is None and what != "lower bound" and mentions(expression, iterator):
            spoiled = iterator
        if spoiled is not None:
            raise source_error(loop.reason_range, f"its {what} changes: '{spoiled.host}' is written in the loop")
    for early in early_exits(loop.body, Break):
        raise source_error(early.range, "it is left by 'break'")


# -- idioms that stand for a plain bound: `i-- > 0`, `i + 1 < n`, `i < a && i < b`


def _is_iterator(value: Expression, iterator: DataObject) -> bool:
    return isinstance(value, Access) and value.object == iterator and not (value.subscripts or value.path)


def _countdown_of(loop: ForLoop, iterator: DataObject, lower: Expression) -> tuple[Expression, _Bound] | None:
    """The first value and the bound of `for (i = n; i-- > b;)` or `(i = n; --i >= b;)`.

    The step is -1. The final value is that of the plain loop, since the last decrement ends it.
    """
    condition = loop.condition
    if loop.advance is not None or condition is None:
        return None
    counted: Expression = condition
    comparison = "!="
    bound: Expression = integer(0)
    if isinstance(condition, Binary):
        counted, comparison, bound = condition.left, condition.operator, condition.right
        if isinstance(bound, Increment):
            counted, bound = bound, counted
            comparison = _TURNED.get(comparison, comparison)
    if not (isinstance(counted, Increment) and counted.operator == "--" and _is_iterator(counted.target, iterator)):
        return None
    zero = isinstance(bound, IntegerLiteral) and bound.value == 0
    if not zero and _is_unsigned(iterator.element):
        return None
    if comparison == "!=" and _type(iterator).signed and _type(iterator).bits < INT.bits:
        # Below 0 the iterator goes on to the least number of its type, and wraps.
        return None
    if not counted.prefix and (comparison == ">" or (comparison == "!=" and zero)):
        return _less(lower, integer(1)), _Bound(">=", bound)
    if counted.prefix and comparison in (">", ">=") and not _is_unsigned(iterator.element):
        return _less(lower, integer(1)), _Bound(comparison, bound)
    return None


def _shifted_bound(
    comparison: str, left: Expression, right: Expression, iterator: DataObject, lower: Expression
) -> _Bound | None:
    """The bound of `i` itself in `i + c < n` or `i + c <= n`, or None."""
    if comparison not in ("<", "<=") or not (isinstance(left, Binary) and left.operator == "+"):
        return None
    shift = left.right if _is_iterator(left.left, iterator) else left.left
    shifted = _is_iterator(left.left, iterator) or _is_iterator(left.right, iterator)
    if not (shifted and isinstance(left.type, ScalarType) and isinstance(right.type, ScalarType)):
        return None
    common = usual_type(left.type, right.type)
    unsigned = _is_unsigned(iterator.element)
    if not (unsigned and iterator.element == left.type) and (common.signed or _is_natural(iterator, lower, shift)):
        return _Bound(comparison, _less(right, shift))
    # In unsigned arithmetic n - c wraps if the loop does not run at all.
    natural = isinstance(shift, IntegerLiteral) and shift.value >= 0
    if not (natural or _is_unsigned(shift.type)):
        return None
    type_ = left.type if unsigned else common
    above, rest = (">", right) if comparison == "<" else (">=", Binary("+", right, integer(1), right.type, right.range))
    difference = Binary("-", rest, shift, type_, right.range)
    test = Binary(above, right, shift, integer(0).type, right.range)
    return _Bound("<", Conditional(test, difference, integer(0), type_, right.range))


def _is_natural(iterator: DataObject, lower: Expression, shift: Expression) -> bool:
    """Whether `i + c` is plainly not negative for an iterator that counts up."""
    first = 0 if _is_unsigned(iterator.element) else c_value(lower)
    by = c_value(shift)
    return first is not None and by is not None and first + by >= 0


def _nearer_bound(first: _Bound, second: _Bound) -> _Bound | None:
    """The bound of `i < a && i < b`; None if b may fail, or directions differ."""
    comparison, left, right = first.comparison, first.value, second.value
    if comparison == "!=" or comparison[0] != second.comparison[0] or any(map(_may_fail, walk(right))):
        return None
    mixed = left.type != right.type or comparison != second.comparison
    if mixed and (_is_unsigned(left.type) or _is_unsigned(right.type)):
        return None
    if comparison != second.comparison:
        left, right = map(_inclusive, (first, second))
        comparison = comparison[0] + "="
    if left.type != right.type:
        left, right = (Cast(LONG, bound, bound.range) for bound in (left, right))
    test = Binary(comparison[0], left, right, INT, left.range)
    return _Bound(comparison, Conditional(test, left, right, left.type, left.range))


def _may_fail(node: object) -> bool:
    if isinstance(node, Access):
        return bool(node.subscripts or node.path)
    return isinstance(node, Call) or (isinstance(node, Binary) and node.operator in ("/", "%"))


def _inclusive(bound: _Bound) -> Expression:
    """The last value that the comparison allows, in 64 bits."""
    wide = Cast(LONG, bound.value, bound.value.range)
    if bound.comparison.endswith("="):
        return wide
    return Binary("-" if bound.comparison == "<" else "+", wide, integer(1), LONG, bound.value.range)


def _less(value: Expression, by: Expression) -> Expression:
    """`value - by`, in 64 bits where it could wrap."""
    if isinstance(value, IntegerLiteral) and isinstance(by, IntegerLiteral):
        return integer(value.value - by.value)
    wide = value if not (_is_unsigned(value.type) or _is_unsigned(by.type)) else Cast(LONG, value, value.range)
    type_ = LONG if LONG in (wide.type, by.type) else wide.type
    return Binary("-", wide, by, type_, value.range)


def _is_unsigned(type_: object) -> bool:
    return isinstance(type_, ScalarType) and not type_.signed


# -- the parts of a header in the types in which C computes them
#
# An iterator wraps, and C converts it where it is compared. Constants become the numbers that C
# makes of them. Launch checks test the values that only a launch knows
# (planner/overflow_guards.py).


def _started(lower: Expression, iterator: DataObject) -> Expression:
    """The first value of the iterator: `lower` converted to its type.

    If the type is narrow and conversion may change the value, a cast stands for it; otherwise the
    launch checks that the value stays.
    """
    type_ = _type(iterator)
    known = c_value(Cast(type_, lower, lower.range))
    if known is not None:
        return lower if known == c_value(lower) else constant(known, promoted(type_), lower.range)
    if not isinstance(lower.type, ScalarType) or lower.type.is_floating:
        return Cast(type_, lower, lower.range)
    (low, high), (least, greatest) = least_and_greatest(lower.type), least_and_greatest(type_)
    changes = low < least or high > greatest
    return Cast(type_, lower, lower.range) if changes and type_.bits < INT.bits else lower


def _compared(upper: Expression, iterator: DataObject) -> Expression:
    """The bound in the type in which C compares it, if that changes the constant."""
    known = c_value(upper)
    if known is None or not isinstance(upper.type, ScalarType):
        return upper
    common = usual_type(_type(iterator), upper.type)
    value = converted(known, common)
    return upper if value == known else constant(value, common, upper.range)


def _added(step: Expression, sign: int, iterator: DataObject) -> tuple[Expression, int]:
    """A step (if constant, modulo the type: 4294967297 adds 1 to an `int`), and its sign."""
    known, type_ = c_value(step), _type(iterator)
    if known is None:
        return step, sign
    reduced = abs(known) % (1 << type_.bits) * (1 if known > 0 else -1)
    if reduced == known:
        return step, sign
    return constant(reduced, step.type, step.range), (reduced > 0) - (reduced < 0)


def _leaves_its_type(lower: Expression, bound: _Bound, step: Expression, iterator: DataObject) -> bool:
    """Whether the iterator surely wraps, or is converted to another value, before the loop ends."""
    type_, first, last, by = _type(iterator), c_value(lower), c_value(bound.value), c_value(step)
    if last is None or by is None or not by or not isinstance(bound.value.type, ScalarType):
        return False
    least, greatest = least_and_greatest(type_)
    common = usual_type(type_, bound.value.type)
    if type_.signed and not common.signed:
        least = 0
        if first is not None and first < 0:
            return True
    if bound.comparison == "!=":
        return not least <= last <= greatest or (first is not None and first != last and (last > first) != (by > 0))
    closed = len(bound.comparison) == 2
    if first is not None:
        distance = (last - first) * (1 if by > 0 else -1) + closed
        behind = first + max(0, -(-distance // abs(by))) * by
    elif abs(by) == 1:
        behind = last + by * closed
    else:
        return False
    return not least <= behind <= greatest


def _type(iterator: DataObject) -> ScalarType:
    assert isinstance(iterator.element, ScalarType)
    return iterator.element
