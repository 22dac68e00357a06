"""Deep recursion, for users' expressions and statements: 5000 terms are 5000 nested operators."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: Recursion limits, tried in turn. Stacks are reserved, not used, so they only cost address space.
#: 60 000 levels are enough for 4000 terms or 8000 unary operators, a million for 60 000 of these.
_LEVELS = (60_000, 1_000_000)
#: Bytes of stack for a level. Measured with CPython 3.11: none for calls of Python by Python, 0.3
#: KiB through hashes and comparisons of dataclasses, at most 1.7 KiB, through keys of sorted().
_BYTES_A_LEVEL = 8 << 10


def on_deep_stack(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which starts again on a larger stack if it reaches the recursion limit.

    Before it fails, it may only have effects that a second run repeats. Raises RecursionError if no
    thread can have such a stack.
    """

    @wraps(function)
    def deep(*arguments: P.args, **options: P.kwargs) -> T:
        limit = sys.getrecursionlimit()
        for levels in (limit, *(levels for levels in _LEVELS if levels > limit)):
            try:
                if levels == limit:
                    return function(*arguments, **options)
                return _on_thread(lambda: function(*arguments, **options), levels)
            except Exception as error:
                if not is_too_deep(error):
                    raise
                failed = error
        raise failed

    return deep


def with_deep_stack(function: Callable[[], T]) -> T:
    """The function's result, on a large stack if possible, for C libraries that check no limit."""
    try:
        return _on_thread(function, _LEVELS[0])
    except NoStackError:
        return function()


class NoStackError(RecursionError):
    """No thread can have such a stack."""


def is_too_deep(error: Exception) -> bool:
    """Whether an error is the recursion limit, perhaps as a C library that it passed reports it."""
    return isinstance(error, RecursionError) or "RecursionError" in str(error)


def _on_thread(function: Callable[[], T], levels: int) -> T:
    """The function's result or exception, on a thread with so many levels of recursion."""
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
