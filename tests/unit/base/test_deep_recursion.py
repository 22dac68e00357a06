from __future__ import annotations

import sys
import threading

import pytest

from tilepragma.base.deep_recursion import on_deep_stack


@on_deep_stack
def depth_of(levels: int) -> int:
    return 0 if levels == 0 else 1 + hash_through_c(levels - 1)


def hash_through_c(levels: int) -> int:
    return max(map(depth_below, (levels,)))


def depth_below(levels: int) -> int:
    return 0 if levels == 0 else 1 + hash_through_c(levels - 1)


def test_recursion_beyond_the_limit_goes_on_with_a_larger_stack() -> None:
    limit, stack = sys.getrecursionlimit(), threading.stack_size()
    assert depth_of(10 * limit) == 10 * limit
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, stack)


@on_deep_stack
def depth_through_keys(levels: int) -> int:
    deeper: list[int] = []

    def key(_: int) -> int:
        deeper.append(depth_through_keys.__wrapped__(levels - 1))  # type: ignore[attr-defined]
        return 0

    return 0 if levels == 0 else 1 + sum(deeper + [0] * len(sorted((0,), key=key)))


def test_a_level_has_stack_enough_for_the_calls_that_take_most_of_it() -> None:
    """Two levels of Python for each of these; 60 000 levels are not enough, so the largest stack holds them."""
    assert depth_through_keys(35_000) == 35_000


def test_faults_are_those_of_the_function() -> None:
    @on_deep_stack
    def fault() -> None:
        calls.append(threading.current_thread())
        if len(calls) == 1:
            raise TypeError("argument 1: RecursionError: ???")  # as ctypes says it
        raise ValueError("own")

    calls: list[threading.Thread] = []
    with pytest.raises(ValueError, match="own"):
        fault()
    assert len(set(calls)) == 2
    with pytest.raises(ValueError, match="own"):
        fault()
    assert len(calls) == 3
