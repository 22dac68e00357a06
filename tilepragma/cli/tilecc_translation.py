"""tilecc's commands with inputs to translate: translates, compiles, mends depfiles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tilepragma.base.diagnostics import Diagnostic
from tilepragma.base.files import write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.user_compiler import compiler
from tilepragma.cli import runtime_library
from tilepragma.cli.compiler_arguments import LINK, USAGE_STATUS, Command, Input
from tilepragma.cli.dependency_files import Temporary, mend_dependency_files
from tilepragma.cli.device_option import DeviceOptionError, chosen_device
from tilepragma.cli.report import SOURCE_ERRORS, print_diagnostics, print_error, report_fault
from tilepragma.cli.temporary_folder import StoppedError, temporary_folder
from tilepragma.cli.translated_files import TranslatedFiles
from tilepragma.cli.tune_options import listed, target_problem
from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports, serial_warnings
from tilepragma.driver.state import TranslateRequest, TranslateResult

_RESPONSE_FILE_THRESHOLD = 100_000


@dataclass(frozen=True)
class Translated:
    """One input and the file compiled in its place; `folder` is the folder of the user's file."""

    input: Input
    path: Path
    folder: str
    result: TranslateResult


def compile_translated(command: Command, inputs: Sequence[Input], text: bytes | None) -> int:
    """Run the command with `inputs` translated; returns the exit status."""
    try:
        with temporary_folder() as folder, TranslatedFiles(folder) as files:
            made = [_translate(input_, command, text, files) for input_ in inputs]
            return _compile(command, made, files)
    except StoppedError as stopped:
        return stopped.status
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        if isinstance(error, runtime_library.RuntimeLibraryError):
            runtime_library.report(error)
        else:
            print_error("tilecc", str(error))
        return 1


def _translate(input_: Input, command: Command, text: bytes | None, files: TranslatedFiles) -> Translated:
    try:
        device = chosen_device("--tilek-device", command.driver.device)
    except DeviceOptionError as error:
        if str(error):
            print_error("tilecc", str(error))
        raise StoppedError(error.status) from None
    if wrong := target_problem(command.driver.target):
        print_error("tilecc", wrong)
        raise StoppedError(USAGE_STATUS)
    source = "<stdin>" if input_.path == "-" else input_.path
    # The object's default name derives from this name.
    name = "-.c" if input_.path == "-" else os.path.basename(input_.path)
    folder = os.path.dirname(input_.path) or "."
    kept = None
    if command.driver.keep:
        kept = (Path(command.output).parent if command.output else Path()) / f"{os.path.splitext(name)[0]}.tilek.c"
    request = TranslateRequest(
        source=source,
        output_name="" if kept is None else str(kept),
        text=text if input_.path == "-" else None,
        language=input_.language,
        options=command.options,
        quote_folders=tuple(command.values("-iquote")),
        folders=tuple(command.values("-I", "-isystem", "-idirafter")),
        targets=listed(command.driver.target),
        device=device,
        kernel_folder=Path(command.driver.emit_kernels) if command.driver.emit_kernels else None,
    )
    try:
        result = translate(request)
        print_diagnostics((*result.diagnostics, *_serial_warnings(command, result)), source, request.text)
        if command.driver.explain and result.output is not None:
            print(explain(kernel_reports(result)), end="", file=sys.stderr)
    except OSError:
        raise
    except Exception as fault:
        raise StoppedError(report_fault("tilecc", sys.argv[1:], source, request.text, fault)) from None
    if result.output is None:
        raise StoppedError(SOURCE_ERRORS)
    path = files.write(name if name.endswith(".c") else name + ".c", result.output)
    if kept is not None:
        write_atomically(kept, result.output)
    return Translated(input_, path, folder, result)


def _serial_warnings(command: Command, result: TranslateResult) -> tuple[Diagnostic, ...]:
    """Warnings of kernels that run on one core. They are never errors: the program is right."""
    if result.output is None or not command.driver.warns_of_serial or command.has("-w"):
        return ()
    return serial_warnings(result)


def _compile(command: Command, made: Sequence[Translated], files: TranslatedFiles) -> int:
    """One compiler run if the inputs share a search path, else one a file before the link."""
    replaced = {file.input.position: str(file.path) for file in made}
    if len({file.folder for file in made}) > 1:
        if command.stage != LINK:
            return _compile_apart(command, made, files)
        for number, translated in enumerate(made):
            target = files.spare / str(number) / f"{translated.path.stem}.o"
            target.parent.mkdir(exist_ok=True)
            words = [
                *_without_inputs(command),
                "-c",
                *_source_options(command, [translated]),
                str(translated.path),
                "-o",
                str(target),
            ]
            words += _depfile_options(command, translated)
            _checked(words, files)
            replaced[translated.input.position] = str(target)
            mend_dependency_files(command, [_temporary(translated)])
    words = [replaced.get(position, word) for position, word in enumerate(command.arguments)]
    words = [*_source_options(command, made), *words]
    if command.links_runtime:
        words += [
            *command.end_of_language,
            *runtime_library.link_flags(command.options, is_program=command.links_program, spare=files.spare),
        ]
    status = _run(words, files)
    mend_dependency_files(command, list(map(_temporary, made)))
    return status


def _temporary(translated: Translated) -> Temporary:
    return Temporary(translated.path, translated.input.path, translated.result.inlined, translated.result.measured)


def _depfile_options(command: Command, translated: Translated) -> list[str]:
    """Depfile options as in gcc, if one command compiles and links the input."""
    if not command.has("-MD", "-MMD") or command.values("-MF"):
        return []
    stem = f"{os.path.splitext(command.output or 'a.out')[0]}-{translated.path.stem}"
    return ["-MF", f"{stem}.d", "-MT", f"{stem}.o"]


def _compile_apart(command: Command, made: Sequence[Translated], files: TranslatedFiles) -> int:
    """`-c`, `-S` or `-E` of files in several folders: one run a file, all of them tried."""
    ours = {translated_.input.position: translated_ for translated_ in made}
    status = 0
    for input_ in command.inputs:
        if input_.path.startswith("-l"):
            continue
        translated = ours.get(input_.position)
        path = str(translated.path) if translated else input_.path
        options = _source_options(command, [translated] if translated else [])
        status = max(status, _run([*options, *_without_inputs(command), path], files))
        if translated:
            mend_dependency_files(command, [_temporary(translated)])
    return status


def _without_inputs(command: Command) -> list[str]:
    """The arguments without inputs and `-o NAME`."""
    dropped = {input_.position for input_ in command.inputs}
    for position, word in enumerate(command.arguments):
        if word in ("-o", "--output"):
            dropped |= {position, position + 1}
        elif word == f"-o{command.output}":
            dropped.add(position)
    return [word for position, word in enumerate(command.arguments) if position not in dropped]


def _source_options(command: Command, made: Sequence[Translated]) -> list[str]:
    """The runtime's header, the folder of `#include "…"`, and the source's name for debuggers."""
    options = list(runtime_library.compile_flags())
    for folder in dict.fromkeys(file.folder for file in made):
        options += ["-iquote", folder]
    if any(word.startswith("-g") for word in command.arguments):
        options += [f"-fdebug-prefix-map={file.path.parent}={os.path.abspath(file.folder)}" for file in made]
    return options


def _checked(words: Sequence[str], files: TranslatedFiles) -> None:
    status = _run(words, files)
    if status:
        raise StoppedError(status)


def _run(words: Sequence[str], files: TranslatedFiles) -> int:
    """Run the compiler, long commands through a response file; returns the exit status."""
    if sum(map(len, words)) > _RESPONSE_FILE_THRESHOLD:
        response = files.write("arguments", os.fsencode("\n".join(map(_quoted, words))))
        words = [f"@{response}"]
    program = compiler()
    try:
        # close_fds: make's job server passes its pipe to the compiler.
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
