"""isl under an operation limit: hard sets raise an error instead of hanging."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

DEFAULT_LIMIT = 4_000_000
"""isl's operations; some seconds of work, usually"""

#: isl's messages: its parser calls a text wrong if it stops inside, and gets only correct ones
#: here.
_SIGNS = ("maximal number of operations", "syntax error")


class OperationLimitError(Exception):
    """isl reached its operation limit; the message is a sentence about the task."""


@contextmanager
def operation_limit(context: isl.Context, limit: int, what: str) -> Iterator[None]:
    """At most `limit` isl operations inside; else OperationLimitError, which names the task `what`.

    An outer limit continues afterwards with a new count.
    """
    before = context.get_max_operations()
    context.set_max_operations(limit)
    context.reset_operations()
    try:
        yield
    except (isl.Error, TypeError) as error:
        # Beyond its limit isl has no text for a number, which islpy passes on as None.
        no_text = isinstance(error, TypeError)
        if not (_is_exhausted(context) if no_text else any(sign in str(error) for sign in _SIGNS)):
            raise
        raise OperationLimitError(f"isl gave up after {limit} operations while {what}.") from error
    finally:
        context.set_max_operations(before)
        context.reset_operations()


def _is_exhausted(context: isl.Context) -> bool:
    try:
        isl.Set.read_from_str(context, "{ [] }")
    except isl.Error:
        return True
    return False
