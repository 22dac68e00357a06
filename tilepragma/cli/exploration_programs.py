"""Programs that an exploration runs: the user's own, rebuilt with trial versions, or made ones."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import CommandError
from tilepragma.cli.output import measuring_progress
from tilepragma.driver.texts import trying_environment
from tilepragma.report.size_values import size_parameters
from tilepragma.tuning.kernel_tuning import TuningError, profile_key
from tilepragma.tuning.measuring import FIRST_SECONDS
from tilepragma.tuning.programs import KernelTimes, NotBuiltError, ProgramError, captured, ending, run
from tilepragma.tuning.size_ranges import sizes_text

if TYPE_CHECKING:
    from tilepragma.codegen.calling_program import CallingProgram
    from tilepragma.plan.kernel_plan import KernelPlan
    from tilepragma.tuning.trial_versions import Build


#: The longest build in seconds.
_BUILD_SECONDS = 600
#: The share of free memory that the arrays of a made program may take.
_SHARE = 0.9
#: The command for tilecc.
_TILECC = (sys.executable, "-m", "tilepragma.cli.tilecc")
#: Renames the user's main in programs that have another one.
OPTIONS = ("-Dmain=tilek_users_main",)
_PLACE = re.compile(r"\{([^{}]+)\}")
_ERROR = re.compile(r"(?:fatal )?error: (.*)")


def tilecc(openmp: bool) -> tuple[str, ...]:
    """The command for tilecc, which takes OpenMP's lines as directives if `openmp`."""
    return (*_TILECC, *(("--tilek-openmp",) if openmp else ()))


def with_numbers(words: Sequence[str], numbers: Mapping[str, int]) -> list[str]:
    """A command with `{n}` replaced by the number of that name; unknown names stay."""
    return [_PLACE.sub(lambda match: str(numbers.get(match[1], match[0])), word) for word in words]


def check_sizes_used(words: Sequence[str], points: Mapping[str, Mapping[str, int]]) -> None:
    """Raises CommandError if a command would run the same for several sizes."""
    places = {name for word in words for name in _PLACE.findall(word)}
    values: dict[str, set[int]] = {}
    for numbers in points.values():
        for name, number in numbers.items():
            values.setdefault(name, set()).add(number)
    for name, distinct in values.items():
        if len(distinct) > 1 and name not in places:
            remedy = f"write {{{name}}} where the program's arguments have it"
            raise CommandError(f"--sizes {name}: {remedy}; now it would run the same for all {len(distinct)} of them")


def that_matter(
    plan: KernelPlan, calling: CallingProgram, points: Mapping[str, Mapping[str, int]]
) -> dict[str, Mapping[str, int]]:
    """The sizes without names that neither the kernel nor its function uses."""
    names = {*calling.whole, *(parameter.host for parameter in size_parameters(plan.kernel))}
    reduced = ({name: number for name, number in numbers.items() if name in names} for numbers in points.values())
    return {sizes_text(numbers): numbers for numbers in reduced}


def fitting(
    name: str, calling: CallingProgram, points: Mapping[str, Mapping[str, int]]
) -> dict[str, Mapping[str, int]]:
    """The sizes whose arrays fit in memory; prints the others. Raises RefusalError."""
    room = _SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    fits = {}
    for text, numbers in points.items():
        calling.command_line(numbers, 1)
        held = calling.bytes(numbers)
        if held <= room:
            fits[text] = numbers
        else:
            why = f"its arrays take {held / 1e9:.1f} GB, and {room / 1e9:.1f} GB are free"
            print(f"{name} at {text} is left out: {why}")
    return fits


def with_optimisation(options: tuple[str, ...]) -> tuple[str, ...]:
    """The compiler options, with -O2 if they set no level."""
    return options if any(word.startswith("-O") for word in options) else (*options, "-O2")


def local_headers(source: Path) -> tuple[str, str]:
    """The option by which a copy of a source finds the headers beside it."""
    return ("-iquote", str(source.absolute().parent))


def compiled(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run a compiler. Raises NotBuiltError with its message, OSError if the disk is full."""
    try:
        everything = {**os.environ, **environment}
        done = captured(command, env=everything, stdin=subprocess.DEVNULL, timeout=_BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotBuiltError(f"was not built in {_BUILD_SECONDS} s") from None
    if done.returncode:
        if os.strerror(errno.ENOSPC) in done.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        match = _ERROR.search(done.stderr)
        words = match[1] if match else done.stderr.strip()[-200:] or f"its command {ending(done.returncode)}"
        raise NotBuiltError(f"is not built: {words}")


@dataclass
class MadePrograms:
    """Programs that call the kernel's function, in a folder. tilecc builds each program on its
    first run, with these compiler options; `openmp`: OpenMP's lines are directives.
    """

    folder: Path
    source: Path
    options: tuple[str, ...]
    openmp: bool
    builds: Mapping[str, Build]
    calling: CallingProgram
    built: dict[str, Path] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def command(self, build: str, numbers: Mapping[str, int], calls: int, calls_a_fill: int = 1) -> list[str]:
        """The command that runs a build for so many calls, `calls_a_fill` after each fill of the
        arrays. Raises NotBuiltError, and RefusalError for missing numbers.
        """
        if build in self.refused:
            raise NotBuiltError(self.refused[build])
        if build not in self.built:
            try:
                self.built[build] = self._made(build)
            except NotBuiltError as error:
                self.refused[build] = str(error)
                raise
        return [str(self.built[build]), *self.calling.command_line(numbers, calls, calls_a_fill)]

    def may_keep_arrays(self, plan: KernelPlan, target: str, numbers: Mapping[str, int], once: KernelTimes) -> bool:
        """Whether calls on used arrays do the same work: no kernel decides by array contents, and a
        second call on the results of the first launches the kernel as often as `once`. A
        surrounding loop may end when a residual is small.
        """
        if not self.calling.has_fixed_work:
            return False
        words = self.command("", numbers, 2, calls_a_fill=2)
        try:
            twice = run(words, {"TILEK_TARGET": target}, FIRST_SECONDS).times_on(profile_key(plan), target)
        except ProgramError:
            return False
        return len(twice.launches) == 2 * len(once.launches)

    def _made(self, name: str) -> Path:
        build = self.builds[name]
        # Named by its number among all builds: several may be built in parallel.
        folder = self.folder / str(list(self.builds).index(name))
        folder.mkdir()
        # The source's own name: profiles identify the kernel by it.
        text, program = folder / self.source.name, folder / "program"
        text.write_bytes(self.calling.text(build.source))
        words = (*tilecc(self.openmp), *OPTIONS, *with_optimisation(self.options))
        compiled([*words, *local_headers(self.source), "-o", str(program), str(text), "-lm"], folder, build.environment)
        return program


# -- rebuilt programs


@dataclass
class UserBuild:
    """A shell `command` that builds the program of a source, which is touched before, so that make
    runs. `folder` holds the build's input. `is_tried`: the program has trial versions.
    """

    command: str
    source: Path
    folder: Path
    is_built: bool = False
    is_tried: bool = False

    def once(self) -> None:
        """Build the program if that was not done yet. Raises TuningError."""
        if not self.is_built:
            self._build({}, "building the program")

    def with_versions(self, kernel: str, texts: Sequence[str], on_devices: bool) -> None:
        """Build it with these versions of a kernel. Raises TuningError."""
        environment = trying_environment(self.folder / "candidates.json", str(self.source), kernel, texts, on_devices)
        self.is_tried = True
        self._build(environment, f"building the program with {len(texts)} versions of {kernel}")

    def as_it_stands(self) -> None:
        """Rebuild it without trial versions, if it has any. Raises TuningError."""
        if self.is_tried:
            self._build({}, "building the program again as it stands")
            self.is_tried = False

    def _build(self, environment: Mapping[str, str], what: str) -> None:
        os.utime(self.source)
        with measuring_progress() as progress:
            progress.add_task(f"{what}: {self.command}", total=None)
            try:
                compiled(("sh", "-c", self.command), self.folder, environment)
            except NotBuiltError as error:
                remedy = f"see what it says by itself: {self.command}"
                raise TuningError(f"cannot be tried: its program {error}", remedy) from None
        self.is_built = True
