"""isl under a limit of operations: it gives up rather than hang."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

#: isl stops after so many elementary operations: a second or so.
OPERATION_LIMIT = 20_000_000


class EngineGaveUpError(Exception):
    """isl reached its limit of operations: nothing is known, and all must be taken as dependent."""


@contextmanager
def operation_limit(context: isl.Context, limit: int = OPERATION_LIMIT) -> Iterator[None]:
    """Raises EngineGaveUpError where isl needs more than `limit` operations inside.

    A limit around this one holds again afterwards, its count begun anew.
    """
    around = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(limit)
    try:
        yield
    except isl.Error as error:
        if "number of operations" not in str(error):
            raise
        raise EngineGaveUpError from error
    finally:
        context.set_max_operations(around)
        context.reset_operations()
