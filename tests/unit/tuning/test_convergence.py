"""Runs of programs that say how they converge: looks, endings, and what fails."""

from __future__ import annotations

import sys
import time

import pytest

from tilepragma.tuning import convergence
from tilepragma.tuning.convergence import Convergence, Outcome, converge
from tilepragma.tuning.programs import ProgramError, ProgramMissingError


def python(*lines: str) -> tuple[str, ...]:
    return (sys.executable, "-c", "import os, sys, time\n" + "\n".join(lines))


def test_looks_are_heard_and_the_last_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_VERIFY", "1")
    heard: list[Convergence] = []
    check = "assert 'TILEK_VERIFY' not in os.environ"
    result = converge(python(check, "print('32 5e-1 0.25')", "print('64 1e-4 0.5 done')"), 60, heard.append)
    assert heard == [Convergence(32, 0.5, 0.25), Convergence(64, 1e-4, 0.5, Outcome.DONE)]
    assert result == heard[1]


def test_the_profile_names_the_targets() -> None:
    event = '{"ph": "X", "ts": 0, "dur": 1, "cat": "kernel", "args": {"target": "cuda", "kernel": "k", "form": "device", "source": "a.c"}}'
    write = f"open(os.environ['TILEK_PROFILE'], 'w').write({event!r})"
    assert converge(python(write, "print('1 inf 1 diverges')"), 60, print).targets == ("cuda",)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["sys.exit('one\\nno memory')"], "^ended with status 1: no memory$"),
        (["print('32 0.5 1')"], "^ended with status 0$"),
        (["print('32 0.5 1 finished')"], "^printed a line that is no report of the error: 32 0.5 1 finished$"),
        (["print('hello')"], "^printed a line"),
    ],
)
def test_what_fails(lines: list[str], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        converge(python(*lines), 60, lambda _: None)


def test_a_program_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convergence, "PATIENCE", 0.0)
    begin = time.monotonic()
    with pytest.raises(ProgramError, match=r"^was stopped after 0\.2 s$"):
        converge(python("time.sleep(300)"), 0.2, lambda _: None)
    assert time.monotonic() - begin < 200


def test_no_program() -> None:
    with pytest.raises(ProgramMissingError, match="^cannot be started"):
        converge(["/no/such/program"], 1, lambda _: None)
