"""Runs of programs in processes of their own: how they fail, and what is read of their profiles."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tilepragma.tuning import programs
from tilepragma.tuning.programs import (
    KernelTimes,
    ProgramError,
    ProgramMissingError,
    ending,
    kernel_times,
    last_line,
    run,
)


def event(kernel: str, microseconds: float, category: str = "kernel", **more: object) -> dict[str, object]:
    own = {"target": "threads", "bytes": 0, "kernel": kernel, "form": "host", "source": "folder/a.c", "line": 1, **more}
    return {"ph": "X", "ts": 0, "dur": microseconds, "cat": category, "name": "x", "args": own}


def trace_text(*events: dict[str, object]) -> str:
    """As runtime/kernel/profile.c writes it."""
    return '{"displayTimeUnit": "ms", "traceEvents": [\n' + ",\n".join(map(json.dumps, events)) + "\n]}\n"


def python(*lines: str) -> tuple[str, ...]:
    return (sys.executable, "-c", "import os, sys, time\n" + "\n".join(lines))


WRITE = f"open(os.environ['TILEK_PROFILE'], 'w').write({trace_text(event('k', 1500.0))!r})"


def test_a_run() -> None:
    done = run(python(WRITE, "print('much' * 100000)"), {}, 60)
    assert done.kernels == {("a.c", "k"): KernelTimes(1.5e-3, ("threads",), True)}
    assert done.seconds > 0


def test_variables_reach_the_program_and_the_users_sizes_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_SIZES", "i_size=3")
    monkeypatch.setenv("TILEK_VERIFY", "1")
    check = "sys.exit(os.environ.get('TILEK_SIZES') != {!r} or 'TILEK_VERIFY' in os.environ)"
    assert run(python(WRITE, check.format("k.i=4")), {"TILEK_SIZES": "k.i=4"}, 60).kernels
    assert run(python(WRITE, check.format(None).replace("'None'", "None")), {}, 60).kernels


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["sys.exit('one\\nno [such] file')"], r"^ended with status 1: no \[such\] file$"),
        ([WRITE, "os.kill(os.getpid(), 11)"], r"^was ended by signal 11 \(SIGSEGV\)$"),
        (["pass"], "^wrote no profile: was it built with tilecc"),
        ([WRITE.replace('"cat"', '"dog"')], "^wrote a profile that cannot be read"),
        (
            [
                WRITE,
                "sys.stderr.write('tilek: warning: TILEK_SIZES names k.j_size, and no kernel k with a tile size j_size ran')",
            ],
            r"^has no tile size k\.j_size: it was built from another source",
        ),
    ],
)
def test_failures(lines: list[str], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        run(python(*lines), {}, 60)


def test_a_hang_is_ended_with_all_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    child = f"child = os.fork()\nif child: open({str(pid)!r}, 'w').write(str(child))\ntime.sleep(600)"
    before = time.monotonic()
    with pytest.raises(ProgramError, match=r"^was stopped after 1\.5 s$"):
        run(python(child), {}, 1.5)
    assert time.monotonic() - before < 60
    for _ in range(100):  # until the orphan is reaped
        try:
            state = Path(f"/proc/{pid.read_text()}/stat").read_text().split()[2]
        except OSError:
            break
        if state == "Z":
            break
        time.sleep(0.05)
    else:
        pytest.fail("the program's child is left")


def test_a_signal_while_a_program_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = popen(*arguments, **options)
        started.append(process)
        signal.raise_signal(signal.SIGINT)  # nobody knows of the process yet
        return process

    monkeypatch.setattr(programs.subprocess, "Popen", start)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            run(python("time.sleep(600)"), {}, None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    [process] = started
    assert process.returncode == -signal.SIGKILL


def test_programs_inherit_what_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        run(python(WRITE, "import signal; sys.exit(signal.getsignal(signal.SIGTERM) != signal.SIG_IGN)"), {}, 60)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("name", ["./no-such-program", "./folder"])
def test_a_program_that_cannot_be_started(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(ProgramMissingError, match="cannot be started: "):
        run((name,), {}, 60)


def test_standard_input_is_read_anew_by_each_run(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("data\n")
    command = python(WRITE, "sys.exit(sys.stdin.read() != 'data\\n')")
    kept = os.dup(0)
    try:
        with (tmp_path / "input").open() as file:
            os.dup2(file.fileno(), 0)
            for _ in range(2):
                run(command, {}, 60)
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_kernels_are_told_apart(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    events = [
        event("k", 1.0),
        event("k", 2.0, target="opencl", form="device"),
        event("k", 50.0, "compile"),
        event("k", 4.0, source="b.c"),
        event("l", 8.0, form="device"),
    ]
    trace.write_text(trace_text(*events))
    result = kernel_times(trace)
    assert result.keys() == {("a.c", "k"), ("b.c", "k"), ("a.c", "l")}
    assert result["a.c", "k"] == KernelTimes(pytest.approx(3e-6), ("threads", "opencl"), False)
    assert result["b.c", "k"].on_host
    trace.write_text(trace_text())
    assert kernel_times(trace) == {}


def test_tile_sizes_of_launches(tmp_path: Path) -> None:
    """Those first that most of the time went to; launches that do not say theirs count for the time alone."""
    trace = tmp_path / "trace.json"
    small, large = {"t_size": 8, "i_size": 32}, {"t_size": 64, "i_size": 256}
    sizes = (small, large, small, large)
    events = [event("k", time, **{"tile sizes": own}) for time, own in zip((1.0, 5.0, 2.0, 3.0), sizes, strict=True)]
    trace.write_text(trace_text(*events, event("k", 4.0), event("l", 1.0)))
    result = kernel_times(trace)
    assert result["a.c", "k"] == KernelTimes(pytest.approx(15e-6), ("threads",), True, (large, small))
    assert result["a.c", "l"].sizes == ()


@pytest.mark.parametrize("sizes", [3, {"i_size": "many"}, {"i_size": None}])
def test_tile_sizes_that_are_none(tmp_path: Path, sizes: object) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(trace_text(event("k", 1.0, **{"tile sizes": sizes})))
    with pytest.raises(ProgramError, match="wrote a profile that cannot be read"):
        kernel_times(trace)


def test_a_full_profile_does_not_tell_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_MOST_EVENTS", 3)
    trace = tmp_path / "trace.json"
    trace.write_text(trace_text(*[event("k", 1.0)] * 2))
    assert kernel_times(trace)
    trace.write_text(trace_text(*[event("k", 1.0)] * 3))
    with pytest.raises(ProgramError, match="has more launches than a profile holds, 3"):
        kernel_times(trace)


def test_the_limit_of_a_profile_is_the_runtimes() -> None:
    source = Path(__file__).resolve().parents[3] / "runtime" / "kernel" / "profile.c"
    assert "MOST_EVENTS = 1 << 20 " in source.read_text()
    assert programs._MOST_EVENTS == 1 << 20


def test_endings() -> None:
    assert ending(3) == "ended with status 3"
    assert ending(-9) == "was ended by signal 9 (SIGKILL)"
    assert ending(-77) == "was ended by signal 77"
    assert last_line("one\ntwo\n") == ": two"
    assert last_line(" \n") == ""
    assert last_line("\x1b[2Jgone") == ": \ufffd[2Jgone"
    assert last_line("x" * 5000) == f": {'x' * 200}…"
