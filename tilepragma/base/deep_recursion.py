"""Functions whose recursion is as deep as the user's expressions and statements are nested: a sum of 5000 terms is 5000 operators deep."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: Calls within each other, tried in turn. Stacks are reserved, not used: what is not needed costs
#: address space alone. 60 000 are enough for 4000 terms or 8000 unary operators, a million for 60
#: 000 of these.
_LEVELS = (60_000, 1_000_000)
#: Bytes of the stack for a call. Measured with CPython 3.11: none for calls of Python by Python,
#: 0.3 KiB through hashes and comparisons of dataclasses, 1.7 KiB, the most, through the keys of
#: sorted().
_BYTES_A_LEVEL = 8 << 10


def on_deep_stack(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which begins again on a thread with a larger stack where its recursion reaches
    the interpreter's limit.

    It must have no effects before it fails but those that a second run repeats. Raises
    RecursionError where no thread can have such a stack.
    """

    @wraps(function)
    def deep(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return function(*arguments, **options)
        except Exception as error:
            if not is_too_deep(error):
                raise
            failed = error
        for levels in _LEVELS:
            if levels <= sys.getrecursionlimit():
                continue
            try:
                return _on_thread(lambda: function(*arguments, **options), levels)
            except Exception as error:
                if not is_too_deep(error):
                    raise
                failed = error
        raise failed

    return deep


def with_deep_stack(function: Callable[[], T]) -> T:
    """The function's result, on a thread with a large stack, for libraries in C that check no limit; where none can be had, on this one."""
    try:
        return _on_thread(function, _LEVELS[0])
    except NoStackError:
        return function()


class NoStackError(RecursionError):
    """Raised where no thread can have such a stack."""


def is_too_deep(error: Exception) -> bool:
    """Whether an error is the interpreter's limit, or what a library in C, from which it was reached, made of that."""
    return isinstance(error, RecursionError) or "RecursionError" in str(error)


def _on_thread(function: Callable[[], T], levels: int) -> T:
    """The function's result, on a thread that may go so many levels deep. Raises what the function does."""
    results: list[T] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as fault:  # noqa: BLE001 (it is raised in the thread that waits)
            faults.append(fault)

    limit, stack = sys.getrecursionlimit(), threading.stack_size()
    levels = max(levels, limit)
    thread = threading.Thread(target=run, daemon=True)
    sys.setrecursionlimit(levels)
    try:
        threading.stack_size(levels * _BYTES_A_LEVEL)
        try:
            thread.start()
        except RuntimeError as error:
            raise NoStackError(f"no stack for {levels} levels: {error}") from None
        finally:
            threading.stack_size(stack)
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
    if faults:
        raise faults[0]
    return results[0]
