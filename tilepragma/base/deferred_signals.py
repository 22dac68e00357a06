"""Defers signals that end the program by an exception while no exception may be raised."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Signals whose Python handlers end the program take effect after the block.

    Python runs a handler between any two instructions. In a function that a C library calls, the
    exception goes to the library: libclang drops it and skips the rest of a tree; isl takes it for
    its own error, and its memory is then damaged.
    """
    if threading.current_thread() is not threading.main_thread():  # handlers never run in other threads
        yield
        return
    pending: list[int] = []

    def hold(number: int, _: FrameType | None) -> None:
        pending.append(number)

    before = {number: signal.getsignal(number) for number in _ENDING}
    # Ignored signals stay ignored: programs inherit that at their start, without a handler.
    handled = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handled:
        signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for arrived in pending:
            signal.raise_signal(arrived)
