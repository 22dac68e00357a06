"""tilecc's work on commands that hold inputs to translate: translate, compile in their place, mend what names the temporary file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tilepragma.base.user_compiler import compiler
from tilepragma.cli import runtime_library
from tilepragma.cli.asked import listed, target_problem
from tilepragma.cli.compiler_arguments import LINK, USAGE_STATUS, Command, Input
from tilepragma.cli.dependency_files import Temporary, mend_dependency_files
from tilepragma.cli.device_option import DeviceOptionError, chosen_device
from tilepragma.cli.report import INTERNAL_FAULT, print_diagnostics, print_error, report_fault
from tilepragma.driver import TranslateRequest, TranslateResult, explain, kernel_reports, translate

_RESPONSE_FILE_THRESHOLD = 100_000


@dataclass(frozen=True)
class Translated:
    """One input and the file that is compiled in its place; `folder` is where the user's file stands."""

    input: Input
    path: Path
    folder: str
    result: TranslateResult


class StoppedError(BaseException):
    """The command ends here, with this status; everything was said. Nothing on the way may take it for a fault, as a signal may raise it anywhere."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def compile_translated(command: Command, inputs: Sequence[Input], text: bytes | None) -> int:
    """Run the command with `inputs` translated; returns the exit status. Temporary files are removed, on signals too."""
    try:
        with _temporary_folder() as folder:
            made = [_translate(one, command, text, folder / str(number)) for number, one in enumerate(inputs)]
            return _compile(command, made, folder)
    except StoppedError as stopped:
        return stopped.status
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        if isinstance(error, runtime_library.RuntimeLibraryError):
            runtime_library.report(error)
        else:
            print_error("tilecc", str(error))
        return 1


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards, also where SIGTERM, SIGHUP or SIGINT ends the command."""

    def stop(number: int, _frame: object) -> None:
        raise StoppedError(128 + number)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    folder = Path(tempfile.mkdtemp(prefix="tilecc-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for number, handler in previous.items():
            signal.signal(number, handler)


def _translate(one: Input, command: Command, text: bytes | None, folder: Path) -> Translated:
    try:
        device = chosen_device("--tilek-device", command.own.device)
    except DeviceOptionError as error:
        if str(error):
            print_error("tilecc", str(error))
        raise StoppedError(error.status) from None
    if wrong := target_problem(command.own.target):
        print_error("tilecc", wrong)
        raise StoppedError(USAGE_STATUS)
    source = "<stdin>" if one.path == "-" else one.path
    # The name gives the compiler the object's default name.
    name = "-.c" if one.path == "-" else os.path.basename(one.path)
    here = os.path.dirname(one.path) or "."
    request = TranslateRequest(
        source=source,
        output_name=f"{os.path.splitext(name)[0]}.tilek.c",
        text=text if one.path == "-" else None,
        options=command.options,
        quote_folders=tuple(command.values("-iquote")),
        folders=tuple(command.values("-I", "-isystem", "-idirafter")),
        targets=listed(command.own.target),
        device=device,
        kernel_folder=Path(command.own.emit_kernels) if command.own.emit_kernels else None,
    )
    try:
        result = translate(request)
    except OSError:
        raise
    except Exception as fault:
        report_fault("tilecc", sys.argv[1:], source, fault)
        raise StoppedError(INTERNAL_FAULT) from None
    print_diagnostics(result.diagnostics, source, request.text)
    if result.output is None:
        raise StoppedError(1)
    if command.own.explain:
        print(explain(kernel_reports(result)), end="", file=sys.stderr)
    folder.mkdir()
    path = folder / (name if name.endswith(".c") else name + ".c")
    path.write_bytes(result.output)
    if command.own.keep:
        kept = Path(command.output).parent if command.output else Path()
        shutil.copyfile(path, kept / request.output_name)
    return Translated(one, path, here, result)


def _compile(command: Command, made: Sequence[Translated], folder: Path) -> int:
    """One compiler run where one search path serves all translated inputs, else one a file before the link."""
    replaced = {one.input.position: str(one.path) for one in made}
    if len({one.folder for one in made}) > 1:
        if command.stage != LINK:
            return _compile_apart(command, made, folder)
        for one in made:
            target = one.path.with_suffix(".o")
            words = [
                *_without_inputs(command),
                "-c",
                *_source_options(command, [one]),
                str(one.path),
                "-o",
                str(target),
            ]
            words += _depfile_options(command, one)
            _checked(words, folder)
            replaced[one.input.position] = str(target)
            mend_dependency_files(command, [_temporary(one)])
    words = [replaced.get(position, word) for position, word in enumerate(command.arguments)]
    words = [*_source_options(command, made), *words]
    if command.links_runtime:
        words += [
            *command.end_of_language,
            *runtime_library.link_flags(command.options, is_program=command.links_program),
        ]
    status = _run(words, folder)
    mend_dependency_files(command, list(map(_temporary, made)))
    return status


def _temporary(one: Translated) -> Temporary:
    return Temporary(one.path, one.input.path, one.result.inlined, one.result.measured)


def _depfile_options(command: Command, one: Translated) -> list[str]:
    """Where gcc would put the depfile of an input that it compiles and links in one go."""
    if not command.has("-MD", "-MMD") or command.values("-MF"):
        return []
    stem = f"{os.path.splitext(command.output or 'a.out')[0]}-{one.path.stem}"
    return ["-MF", f"{stem}.d", "-MT", f"{stem}.o"]


def _compile_apart(command: Command, made: Sequence[Translated], folder: Path) -> int:
    """`-c`, `-S` or `-E` of several files that stand in different folders: one run a file, all of them tried."""
    ours = {one.input.position: one for one in made}
    status = 0
    for one in command.inputs:
        if one.path.startswith("-l"):
            continue
        translated = ours.get(one.position)
        path = str(translated.path) if translated else one.path
        options = _source_options(command, [translated] if translated else [])
        status = max(status, _run([*options, *_without_inputs(command), path], folder))
        if translated:
            mend_dependency_files(command, [_temporary(translated)])
    return status


def _without_inputs(command: Command) -> list[str]:
    """The arguments but for inputs and `-o NAME`."""
    dropped = {one.position for one in command.inputs}
    for position, word in enumerate(command.arguments):
        if word in ("-o", "--output"):
            dropped |= {position, position + 1}
        elif word == f"-o{command.output}":
            dropped.add(position)
    return [word for position, word in enumerate(command.arguments) if position not in dropped]


def _source_options(command: Command, made: Sequence[Translated]) -> list[str]:
    """The runtime's header, the folder that `#include "…"` starts from, and names that outlive the temporary file."""
    options = list(runtime_library.compile_flags())
    for folder in dict.fromkeys(one.folder for one in made):
        options += ["-iquote", folder]
    if any(word.startswith("-g") for word in command.arguments):
        options += [f"-fdebug-prefix-map={one.path.parent}={os.path.abspath(one.folder)}" for one in made]
    return options


def _checked(words: Sequence[str], folder: Path) -> None:
    status = _run(words, folder)
    if status:
        raise StoppedError(status)


def _run(words: Sequence[str], folder: Path) -> int:
    """The compiler's exit status; long commands go through a response file."""
    if sum(map(len, words)) > _RESPONSE_FILE_THRESHOLD:
        response = folder / "arguments"
        response.write_text("\n".join(_quoted(word) for word in words), encoding="utf-8", errors="surrogateescape")
        words = [f"@{response}"]
    program = compiler()
    try:
        # close_fds: make's job server hands its pipe down to the compiler.
        process = subprocess.Popen([*program, *words], close_fds=False)
    except OSError as error:
        print_error("tilecc", f"cannot run the C compiler '{program[0]}': {error.strerror}; set TILEK_CC to yours")
        return 127
    try:
        status = process.wait()
    except StoppedError:
        process.terminate()
        process.wait()
        raise
    return 128 - status if status < 0 else status


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
