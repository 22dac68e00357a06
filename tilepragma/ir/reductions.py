"""`reduction(op: x)`: is x used only in updates with op, so that instances may work on partial values?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.ranges import SourceRange
from tilepragma.ir.directives import ReductionClause
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Conditional,
    DataObject,
    Expression,
    Increment,
)
from tilepragma.ir.looptree import Block, ExpressionStatement, If
from tilepragma.ir.traversal import children, mentions
from tilepragma.ir.types import ScalarType

_COMPOUND = {"+": ("+=", "-="), "*": ("*=",), "&": ("&=",), "|": ("|=",), "^": ("^=",)}
_CALLS = {"min": ("fmin", "fminf", "fminl"), "max": ("fmax", "fmaxf", "fmaxl")}
_INTEGERS_ONLY = ("&", "|", "^")


def check_reduction(object_: DataObject, clause: ReductionClause, body: Any, diagnostics: Diagnostics) -> None:
    """Report every use of `object_` under `body` that is no update with the clause's operator, and types that do not reduce."""
    if not isinstance(object_.element, ScalarType) or object_.rank:
        diagnostics.error(
            clause.range,
            f"'{object_.host}' is not a number, so it cannot be reduced",
            "reduce a scalar of arithmetic type",
        )
        return
    if clause.operator in _INTEGERS_ONLY and not object_.element.is_integer:
        diagnostics.error(
            clause.range, f"'{clause.operator}' needs integers, but '{object_.host}' is {object_.element.spelling}"
        )
        return
    for range_ in _strange_uses(body, object_, clause.operator):
        diagnostics.error(
            range_,
            f"'{object_.host}' is reduced with '{clause.operator}', but this is not an update with that operator",
            _remedy(object_.host, clause.operator),
        )
        return


def reduction_operator(object_: DataObject, body: Any) -> str | None:
    """The operator of which every use of `object_` under `body` is an update, if there is one."""
    for operator in ("+", "*", "min", "max", *_INTEGERS_ONLY):
        trial = Diagnostics()
        check_reduction(object_, ReductionClause(operator, (object_.host,), object_.range), body, trial)
        if not trial.has_errors:
            return operator
    return None


def _remedy(name: str, operator: str) -> str:
    if operator in ("min", "max"):
        comparison = "<" if operator == "min" else ">"
        return f"inside the loop use '{name}' only as in: if (value {comparison} {name}) {name} = value;"
    return f"inside the loop use '{name}' only as in: {name} = {name} {operator} value;"


def _strange_uses(node: Any, object_: DataObject, operator: str) -> Iterator[SourceRange]:
    update = _updated(node, object_, operator)
    if update is not None:
        for part in update:
            yield from _strange_uses(part, object_, operator)
        return
    if isinstance(node, Access) and node.object == object_:
        yield node.range
    for child in children(node):
        yield from _strange_uses(child, object_, operator)


def _updated(node: Any, object_: DataObject, operator: str) -> tuple[Any, ...] | None:
    """The parts of an update besides the object itself; None where `node` is no update."""
    if isinstance(node, If):
        return _guarded(node, object_, operator)
    if isinstance(node, ExpressionStatement):
        expression = node.expression
        if isinstance(expression, Assignment) and _is(expression.target, object_):
            return _assigned(expression, object_, operator)
        if isinstance(expression, Increment) and _is(expression.target, object_) and operator == "+":
            return ()
    return None


def _assigned(node: Assignment, object_: DataObject, operator: str) -> tuple[Any, ...] | None:
    if node.operator != "=":
        return (node.value,) if node.operator in _COMPOUND.get(operator, ()) else None
    value = _bare(node.value)
    if operator in ("min", "max"):
        return _selected(value, object_, operator)
    terms = list(_terms(value, operator))
    own = [place for place, term in enumerate(terms) if _is(term, object_)]
    if len(own) != 1:
        return None
    return tuple(term for place, term in enumerate(terms) if place != own[0])


def _terms(value: Expression, operator: str) -> Iterator[Expression]:
    """The operands of a chain of one associative operator; what is subtracted stays inside the remainder."""
    value = _bare(value)
    if isinstance(value, Binary) and value.operator == operator:
        yield from _terms(value.left, operator)
        yield from _terms(value.right, operator)
    elif isinstance(value, Binary) and operator == "+" and value.operator == "-":
        yield from _terms(value.left, operator)
        # Wrapped, so that the object itself is not found among the operands where it is subtracted.
        yield Binary("-", value.right, value.right, value.type, value.range)
    else:
        yield value


def _selected(value: Expression, object_: DataObject, operator: str) -> tuple[Any, ...] | None:
    """`fmin(x, e)`, `e < x ? e : x` and their mirror images."""
    if isinstance(value, Call) and value.callee is Callee.MATH and value.function in _CALLS[operator]:
        rest = tuple(argument for argument in value.arguments if not _is(_bare(argument), object_))
        return rest if len(rest) == 1 else None
    if isinstance(value, Conditional):
        compared = _compared(value.condition, object_, operator)
        for new, old in ((value.then, value.otherwise), (value.otherwise, value.then)):
            if _is(_bare(old), object_) and not mentions(new, object_):
                wanted = operator if old is value.otherwise else _opposite(operator)
                compared = _compared(value.condition, object_, wanted)
                if compared is not None and compared == _bare(new):
                    return (new,)
    return None


def _guarded(node: If, object_: DataObject, operator: str) -> tuple[Any, ...] | None:
    """`if (e < x) x = e;`"""
    if operator not in ("min", "max") or node.otherwise is not None:
        return None
    compared = _compared(node.condition, object_, operator)
    statement = _only(node.then)
    if compared is None or not isinstance(statement, ExpressionStatement):
        return None
    assignment = statement.expression
    if not isinstance(assignment, Assignment) or assignment.operator != "=" or not _is(assignment.target, object_):
        return None
    return (assignment.value,) if _bare(assignment.value) == compared else None


def _only(block: Block) -> Any:
    statements = block.statements
    while len(statements) == 1 and isinstance(statements[0], Block):
        statements = statements[0].statements
    return statements[0] if len(statements) == 1 else None


def _compared(condition: Expression, object_: DataObject, operator: str) -> Expression | None:
    """e, where `condition` holds iff e would become the new minimum (maximum)."""
    condition = _bare(condition)
    if not isinstance(condition, Binary):
        return None
    less, greater = ("<", "<="), (">", ">=")
    first, second = (less, greater) if operator == "min" else (greater, less)
    if condition.operator in first and _is(_bare(condition.right), object_):
        return _bare(condition.left)
    if condition.operator in second and _is(_bare(condition.left), object_):
        return _bare(condition.right)
    return None


def _opposite(operator: str) -> str:
    return "max" if operator == "min" else "min"


def _bare(value: Expression) -> Expression:
    while isinstance(value, Cast):
        value = value.operand
    return value


def _is(value: Any, object_: DataObject) -> bool:
    return isinstance(value, Access) and value.object == object_ and not value.path
