"""Expressions of the launch, as text in the user's function."""

from __future__ import annotations

from tilepragma.codegen.dialect import C
from tilepragma.codegen.printer import ASSIGNMENT, ObjectMap, Printer
from tilepragma.host.user_macros import as_written
from tilepragma.ir.directives import ClauseExpression, DataDirective, KernelDirective
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage
from tilepragma.ir.quotients import with_guarded_quotients
from tilepragma.plan.kernel_plan import HostExpression

#: Prints objects as the user's function names them.
USER = Printer(C, ObjectMap(host_names=True))


def host_text(expression: HostExpression, least: int = ASSIGNMENT) -> str:
    """A launch-time expression: a clause's text as it stands, or one over host objects."""
    if isinstance(expression, ClauseExpression):
        text = expression.text.strip()
        simple = text.replace("_", "a").isalnum()
        return as_written(text if simple else f"({text})")
    return USER.expression(with_guarded_quotients(expression), least)


def queue_text(directive: KernelDirective | DataDirective) -> str:
    """The number of the queue that `async` names."""
    if directive.asynchronous is not None:
        return host_text(directive.asynchronous)
    return "TILEK_QUEUE_DEFAULT" if directive.asynchronous_default else "TILEK_QUEUE_SYNCHRONOUS"


def extents(object_: DataObject) -> list[str]:
    """The object's lengths, as the compiler knows them; the first is -1 if unknown.

    A length that is no literal comes from sizeof, as its variables may have changed since the
    declaration. Rows may be empty.
    """
    if object_.storage is not Storage.CONTIGUOUS:
        return []
    if object_.scope is Scope.TEMPORARY:
        return [host_text(length) for length in object_.lengths if length is not None]
    first = object_.stored.lengths[0]
    result = ["-1" if first is None else host_text(first)]
    if object_.rows_in is not None:
        # Without columns there are no accesses.
        return [*result, *(_row_length(length) for length in object_.lengths[1:] if length is not None)]
    texts = ["" if length is None else host_text(length) for length in object_.lengths[1:]]
    element = f"{object_.host}[0]"
    for place, text in enumerate(texts, 1):
        inner = f"{element}[0]"
        size = f"sizeof({inner})" if all(map(str.isdigit, texts[place:])) else f"tilek_maximum(sizeof({inner}), 1)"
        result.append(text if text.isdigit() else f"sizeof({element}) / {size}")
        element = inner
    return result


def _row_length(length: Expression) -> str:
    text = host_text(length)
    return text if text.isdigit() else f"tilek_maximum({text}, 1)"


def array_initializer(object_: DataObject, section: list[tuple[str, str]]) -> str:
    """`{.base = …}` of a tilek_array; `section` has each dimension's lower bound and length."""
    if object_.storage is Storage.SCALAR:
        return f"{{.base = (void *)&{object_.host}}}"
    parts = [".base = NULL" if object_.scope is Scope.TEMPORARY else f".base = (void *){object_.host}"]
    if not section:
        return "{" + parts[0] + "}"
    parts.append(".lower = {" + ", ".join(lower for lower, _ in section) + "}")
    parts.append(".length = {" + ", ".join(length for _, length in section) + "}")
    lengths = extents(object_)
    if lengths:
        parts.append(".extent = {" + ", ".join(lengths) + "}")
    return "{" + ", ".join(parts) + "}"
