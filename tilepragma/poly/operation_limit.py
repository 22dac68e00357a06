"""isl under an operation limit: a set too hard to reason about is given up, and said so, never a hang."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

DEFAULT_LIMIT = 4_000_000
"""isl's own operations; some seconds of work, as a rule"""

#: How isl says it: its reader, which is given nothing malformed here, calls the text wrong when it
#: stops in the middle.
_SIGNS = ("maximal number of operations", "syntax error")


class OperationLimitError(Exception):
    """isl reached its operation limit; the text is a sentence that says in what."""


@contextmanager
def operation_limit(context: isl.Context, limit: int, what: str) -> Iterator[None]:
    """At most `limit` isl operations inside; OperationLimitError, naming `what` was sought, when
    they did not suffice.

    A limit around this one goes on afterwards, with its count started anew.
    """
    before = context.get_max_operations()
    context.set_max_operations(limit)
    context.reset_operations()
    try:
        yield
    except isl.Error as error:
        if not any(sign in str(error) for sign in _SIGNS):
            raise
        raise OperationLimitError(f"isl gave up after {limit} operations while {what}.") from error
    except TypeError as error:
        # Beyond its limit isl has no text for a number either, and islpy hands that on as None.
        if not _is_exhausted(context):
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
