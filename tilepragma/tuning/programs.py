"""Runs of a user's program in separate processes, and their profiles."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import IO, Any

from tilepragma.base.deferred_signals import signals_held_back
from tilepragma.base.frozen_values import dataclass

#: Variables of the user that would change the measurement.
FOREIGN = ("TILEK_SIZES", "TILEK_VERSION", "TILEK_ADAPT", "TILEK_VERIFY")
#: The most events of a trace, the first of a longer run (runtime/kernel/profile.c).
_MOST_EVENTS = 1 << 20
_TAIL = 1 << 16
#: The most characters of a line that are shown.
_MOST_SHOWN = 200
_UNKNOWN_SIZE = re.compile(r"TILEK_SIZES names ([\w.]+),")


class ProgramError(Exception):
    """A run that cannot be used; the message is a clause on the program that says why."""


class ProgramMissingError(ProgramError):
    """The program does not exist, or cannot be started."""


class ElsewhereError(ProgramError):
    """A kernel ran on another target than the requested one."""


class NotBuiltError(ProgramError):
    """A program could not be built; this says nothing of the machine."""


@dataclass(frozen=True)
class KernelTimes:
    """The seconds of a run's launches of one kernel, and their targets; `on_host`: they were host
    launches.

    `sizes`: the launches' tile sizes by name, those with most of the time first; none if the
    profile does not have them. `versions`: the texts of the versions that ran
    (ir/kernel_versions.py), in the order of their first runs; empty for the plan itself.
    """

    seconds: float
    targets: tuple[str, ...]
    on_host: bool
    sizes: tuple[Mapping[str, int], ...] = ()
    launches: tuple[float, ...] = field(default=(), compare=False)
    """the seconds of each launch, in order"""
    versions: tuple[str, ...] = ("",)

    def calls(self, count: int) -> tuple[float, ...]:
        """The seconds of each of `count` equal calls. Raises ProgramError."""
        size, rest = divmod(len(self.launches), count)
        if rest or not size:
            raise ProgramError(f"launched the kernel {len(self.launches)} times in {count} calls")
        return tuple(math.fsum(self.launches[first : first + size]) for first in range(0, len(self.launches), size))


@dataclass(frozen=True)
class Run:
    """Seconds of a process, and its kernels by the name of their source file and their own."""

    seconds: float
    kernels: Mapping[tuple[str, str], KernelTimes]

    def times_on(self, kernel: tuple[str, str], target: str) -> KernelTimes:
        """The times of a kernel. Raises ProgramError if it ran nowhere or elsewhere."""
        times = self.kernels.get(kernel)
        if times is None:
            raise ProgramError("did not launch the kernel")
        others = [name for name in times.targets if name != target]
        if others:
            raise ElsewhereError(f"ran the kernel on {others[0]}, not on {target}")
        return times


def run(command: Sequence[str], variables: Mapping[str, str], limit: float | None) -> Run:
    """Run a program with `variables` in its environment, for at most `limit` seconds (None: no
    limit).

    Raises ProgramError if it fails, takes longer, writes no profile, or lacks the tile sizes that
    TILEK_SIZES names.
    """
    with tempfile.TemporaryDirectory(prefix="tilepragma-") as folder, tempfile.TemporaryFile() as errors:
        trace = Path(folder) / "trace.json"
        environment = {**users_environment(), **variables, "TILEK_PROFILE": str(trace)}
        before = time.monotonic()
        status = _status(command, environment, subprocess.DEVNULL, errors, limit)
        seconds = time.monotonic() - before
        message = _tail(errors)
        if status != 0:
            raise ProgramError(ending(status) + last_line(message))
        unknown = _UNKNOWN_SIZE.search(message)
        if unknown:
            raise ProgramError(
                f"has no tile size {unknown[1]}: it was built from another source, or with other options"
            )
        if not trace.is_file():
            raise ProgramError(
                "wrote no profile: was it built with tilecc, and does it end by exit or by returning from main?"
            )
        return Run(seconds, kernel_times(trace))


def output_of(command: Sequence[str], variables: Mapping[str, str], limit: float | None) -> tuple[str, str]:
    """A program's standard output, and the end of its standard error, run with `variables` for at
    most `limit` seconds. Raises ProgramError.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        status = _status(command, {**users_environment(), **variables}, output, errors, limit)
        if status != 0:
            raise ProgramError(ending(status) + last_line(_tail(errors)))
        return _tail(output), _tail(errors)


def captured(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """A command's status and its output as text; the options are those of `subprocess.run`."""
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)


def users_environment() -> dict[str, str]:
    """The user's environment, without what would change measurements."""
    return {name: value for name, value in os.environ.items() if name not in FOREIGN}


@contextmanager
def streamed(
    command: Sequence[str], environment: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[str], Iterable[str], Callable[[], str]]]:
    """A program that runs, its lines as they come, and what reads its standard error. It is killed
    at the end. Raises ProgramMissingError.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        try:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace", env=environment
            )
        except OSError as error:
            raise ProgramMissingError(f"cannot be started: {error.strerror}") from error

        def complaints() -> str:
            errors.seek(0)
            return errors.read()

        try:
            yield process, process.stdout or (), complaints
        finally:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def _status(
    command: Sequence[str],
    environment: Mapping[str, str],
    output: IO[bytes] | int,
    errors: IO[bytes],
    limit: float | None,
) -> int:
    """The return code. The process group is killed at the limit, and when we end."""
    process: subprocess.Popen[bytes] | None = None
    try:
        with signals_held_back():  # until it is known which process is to end too
            process = subprocess.Popen(
                command, env=environment, stdin=_input(), stdout=output, stderr=errors, start_new_session=True
            )
        return process.wait(limit)
    except OSError as error:
        raise ProgramMissingError(f"cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ProgramError(f"was stopped after {limit:.3g} s") from None
    finally:
        if process is not None and process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def has_no_input() -> bool:
    """Whether programs get no standard input, since ours is a pipe, which cannot be read again."""
    try:
        return stat.S_ISFIFO(os.fstat(0).st_mode)
    except OSError:
        return False


def _input() -> int | None:
    """Standard input rewound if it is a file, so that each run reads all of it; else nothing."""
    try:
        if stat.S_ISREG(os.fstat(0).st_mode):
            os.lseek(0, 0, os.SEEK_SET)
            return None
    except OSError:
        pass
    return subprocess.DEVNULL


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _TAIL, 0))
    return file.read().decode("utf-8", "replace")


def kernel_times(trace: Path) -> dict[tuple[str, str], KernelTimes]:
    """The kernels of a trace of TILEK_PROFILE, whose durations are in microseconds. Raises
    ProgramError if it is damaged, or full and so incomplete.
    """
    events_by_kernel: dict[tuple[str, str], list[dict[str, Any]]] = {}
    count = 0
    try:
        for event in _events(trace):
            count += 1
            if event["cat"] == "kernel":
                arguments = event["args"]
                key = (Path(arguments["source"]).name, arguments["kernel"])
                # Another version's sizes are not the kernel's.
                taken = {} if arguments.get("version") else arguments.get("tile sizes", {})
                sizes = {name: int(size) for name, size in taken.items()}
                entry = {**arguments, "dur": float(event["dur"]), "tile sizes": sizes}
                events_by_kernel.setdefault(key, []).append(entry)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _unreadable() from None
    if count >= _MOST_EVENTS:
        raise ProgramError(f"has more launches than a profile holds, {_MOST_EVENTS}")
    return {key: _times(events) for key, events in events_by_kernel.items()}


def compile_seconds(trace: Path) -> float:
    """The seconds that a program waited for device compilers, by its trace. Raises ProgramError."""
    try:
        return sum(float(event["dur"]) for event in _events(trace) if event["cat"] == "compile") / 1e6
    except (ValueError, KeyError, TypeError):
        raise _unreadable() from None


def _events(trace: Path) -> Iterator[dict[str, Any]]:
    """The events, read by lines: traces can be long. Raises ValueError."""
    with trace.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith('{"ph"'):
                yield json.loads(line.rstrip().rstrip(","))


def _unreadable() -> ProgramError:
    return ProgramError("wrote a profile that cannot be read")


def _times(events: Sequence[Mapping[str, Any]]) -> KernelTimes:
    targets = tuple(dict.fromkeys(str(event["target"]) for event in events))
    on_host = all(event.get("form") == "host" for event in events)
    spent: dict[tuple[tuple[str, int], ...], float] = {}
    for event in events:
        sizes = tuple(event["tile sizes"].items())
        spent[sizes] = spent.get(sizes, 0.0) + event["dur"]
    most = sorted((sizes for sizes in spent if sizes), key=lambda sizes: -spent[sizes])
    return KernelTimes(
        1e-6 * math.fsum(event["dur"] for event in events),
        targets,
        on_host,
        tuple(dict(sizes) for sizes in most),
        tuple(1e-6 * event["dur"] for event in events),
        tuple(dict.fromkeys(str(event.get("version text", "")) for event in events)),
    )


def ending(status: int) -> str:
    """`ended with status 3`, `was ended by signal 11 (SIGSEGV)`, by `subprocess`'s return code."""
    if status >= 0:
        return f"ended with status {status}"
    names = {Signal.value: f" ({Signal.name})" for Signal in signal.Signals}
    return f"was ended by signal {-status}{names.get(-status, '')}"


def last_line(text: str) -> str:
    """`: LINE`, the last line of a program's text, cut and without control characters; or empty."""
    lines = text.strip().splitlines()
    if not lines:
        return ""
    line = "".join(character if character.isprintable() else "\ufffd" for character in lines[-1])
    return f": {line if len(line) <= _MOST_SHOWN else line[:_MOST_SHOWN] + '…'}"
