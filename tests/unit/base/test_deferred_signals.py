"""Signals are held back until their handler may raise, and none is lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import islpy as isl
import pytest

from tilepragma.base.deferred_signals import signals_held_back


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises, whatever started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_comes_behind_the_block(interruptible: None) -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), signals_held_back():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_ignored_stays_ignored(interruptible: None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with signals_held_back():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.raise_signal(signal.SIGINT)


def test_isl_goes_through_its_pieces_when_a_signal_comes_between(interruptible: None) -> None:
    results: list[isl.MultiAff] = []

    def take(_: isl.Set, piece: isl.MultiAff) -> None:
        signal.raise_signal(signal.SIGINT)
        results.append(piece)

    function = isl.PwMultiAff("{ [i] -> [i] : i >= 0; [i] -> [-i] : i < 0 }")
    with pytest.raises(KeyboardInterrupt), signals_held_back():
        function.foreach_piece(take)
    assert len(results) == 2
