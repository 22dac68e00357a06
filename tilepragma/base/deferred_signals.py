"""Signals that end the program by an exception, held back where no exception may be raised."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Signals that end us by a handler in Python do so behind this.

    Python runs such a handler wherever its next instruction stands. In a function that a library in
    C has called, an exception comes to the library: libclang drops it, and leaves the rest of a
    tree out; isl takes it for an error of its own, and its memory is then damaged.
    """
    if threading.current_thread() is not threading.main_thread():  # handlers never run in others
        yield
        return
    came: list[int] = []

    def hold(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.getsignal(number) for number in _ENDING}
    # What is ignored stays so: a program that is started inherits that, and no handler.
    handled = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handled:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for one in came:
            signal.raise_signal(one)
