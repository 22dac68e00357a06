"""tilecc's commands with inputs to translate: translates, compiles, mends depfiles."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tilepragma.base.diagnostics import Diagnostic, Severity
from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.refusals import CommandError
from tilepragma.base.user_compiler import compiler
from tilepragma.base.user_folders import cache_folder, inner_folder
from tilepragma.cli import runtime_library
from tilepragma.cli.command_options import chosen_device, targets_of
from tilepragma.cli.compiler_arguments import LINK, Command, Input
from tilepragma.cli.dependency_files import Translated, mend_dependency_files
from tilepragma.cli.output import SOURCE_ERRORS, print_diagnostics, print_error, report_fault
from tilepragma.cli.runtime_library import open_lock
from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports, serial_remarks
from tilepragma.driver.state import TranslateRequest, TranslateResult


class StoppedError(BaseException):
    """Ends the command with this status. A signal may raise it anywhere; it is no fault."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed afterwards. SIGTERM, SIGHUP and SIGINT raise StoppedError."""

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


# -- translated files


_LOCK = "lock"
#: The age at which folders of killed commands are removed.
_OLD_SECONDS = 3600


class TranslatedFiles(ExitStack):
    """Files for the time of one command; without a cache they lie in the folder `spare`."""

    def __init__(self, spare: Path) -> None:
        super().__init__()
        self.spare = spare
        self._count = 0

    def write(self, name: str, content: bytes) -> Path:
        """A file of that name and content until the command ends. Raises OSError."""
        try:
            folder = inner_folder(cache_folder() / "translated")
            _sweep(folder)
            path = self._shared(folder, name, content) / name
        except OSError:
            self._count += 1
            path = self.spare / str(self._count) / name
            path.parent.mkdir()
        with suppress(OSError):
            if file_bytes(path) == content:
                return path
        write_atomically(path, content)
        return path

    def _shared(self, folder: Path, name: str, content: bytes) -> Path:
        """The folder for the content, which stays while this command holds its lock."""
        key = hashlib.blake2b(os.fsencode(name) + b"\0" + content, digest_size=16).hexdigest()
        while True:
            shared = inner_folder(folder / key)
            try:
                lock = open_lock(shared / _LOCK)
            except FileNotFoundError:
                continue  # the last user has just removed the folder
            with ExitStack() as held:
                held.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_SH)
                if _same_file(lock, shared / _LOCK):
                    held.callback(_remove_unused, lock, shared)
                    self.push(held.pop_all())
                    return shared


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _remove_unused(lock: int, folder: Path) -> None:
    """Remove a folder unless another command holds its lock."""
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _same_file(lock, folder / _LOCK):
            shutil.rmtree(folder, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove folders of killed commands."""
    for entry in os.scandir(folder):
        with suppress(OSError):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime < _OLD_SECONDS:
                continue
            lock = open_lock(Path(entry.path) / _LOCK)
            try:
                _remove_unused(lock, Path(entry.path))
            finally:
                os.close(lock)


# -- tilecc translation


_RESPONSE_FILE_THRESHOLD = 100_000


def compile_translated(command: Command, inputs: Sequence[Input], text: bytes | None) -> int:
    """Run the command with `inputs` translated; returns the exit status."""
    try:
        with temporary_folder() as folder, TranslatedFiles(folder) as files:
            made = [_translate(input_, command, text, files) for input_ in inputs]
            return _compile(command, made, files)
    except StoppedError as stopped:
        return stopped.status
    except CommandError as error:
        if str(error):
            print_error(str(error), "tilecc")
        return error.status
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        if isinstance(error, runtime_library.RuntimeLibraryError):
            return runtime_library.report(error)
        print_error(str(error), "tilecc")
        return 1


def _translate(input_: Input, command: Command, text: bytes | None, files: TranslatedFiles) -> Translated:
    device = chosen_device("--tilek-device", command.driver.device)
    targets = targets_of(command.driver.target, "")
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
        targets=targets,
        device=device,
        openmp=command.driver.openmp,
        kernel_folder=Path(command.driver.emit_kernels) if command.driver.emit_kernels else None,
    )
    try:
        result = translate(request)
        remarks = () if result.output is None else _remarks(command, result)
        print_diagnostics((*result.diagnostics, *remarks), source, request.text)
        if command.driver.explain and result.output is not None:
            print(explain(kernel_reports(result)), end="", file=sys.stderr)
    except OSError:
        raise
    except Exception as fault:
        raise CommandError(status=report_fault("tilecc", sys.argv[1:], source, request.text, fault)) from None
    if result.output is None or any(remark.severity is Severity.ERROR for remark in remarks):
        raise CommandError(status=SOURCE_ERRORS)
    path = files.write(name if name.endswith(".c") else name + ".c", result.output)
    if kept is not None:
        write_atomically(kept, result.output)
    return Translated(input_, path, folder, result.inlined, result.measured)


def _remarks(command: Command, result: TranslateResult) -> tuple[Diagnostic, ...]:
    """What the user hears of kernels on one core. Without --tilek-require-parallel these are
    warnings whatever -Werror says: the program is right.
    """
    if command.driver.require_parallel:
        return serial_remarks(result, Severity.ERROR)
    silent = command.driver.no_remarks or command.has("-w")
    return () if silent else serial_remarks(result, Severity.WARNING)


def _compile(command: Command, made: Sequence[Translated], files: TranslatedFiles) -> int:
    """One compiler run if the inputs share a search path, else one a file before the link."""
    replaced = {file.input.position: str(file.path) for file in made}
    if len({file.folder for file in made}) > 1:
        if command.stage != LINK:
            return _compile_apart(command, made, files)
        for number, translated in enumerate(made):
            target = files.spare / str(number) / f"{translated.path.stem}.o"
            target.parent.mkdir(exist_ok=True)
            words = [*_without_inputs(command), "-c", *_source_options(command, [translated]), str(translated.path)]
            status = _run([*words, "-o", str(target), *_depfile_options(command, translated)], files)
            if status:
                return status
            replaced[translated.input.position] = str(target)
            mend_dependency_files(command, [translated])
    words = [replaced.get(position, word) for position, word in enumerate(command.arguments)]
    words = [*_source_options(command, made), *words]
    if command.links_runtime:
        words += command.end_of_language
        words += runtime_library.link_flags(command.options, is_program=command.links_program, spare=files.spare)
    status = _run(words, files)
    mend_dependency_files(command, made)
    return status


def _depfile_options(command: Command, translated: Translated) -> list[str]:
    """Depfile options as in gcc, if one command compiles and links the input."""
    if not command.has("-MD", "-MMD") or command.values("-MF"):
        return []
    stem = f"{os.path.splitext(command.output or 'a.out')[0]}-{translated.path.stem}"
    return ["-MF", f"{stem}.d", "-MT", f"{stem}.o"]


def _compile_apart(command: Command, made: Sequence[Translated], files: TranslatedFiles) -> int:
    """`-c`, `-S` or `-E` of files in several folders: one run a file, all of them tried."""
    ours = {file.input.position: file for file in made}
    status = 0
    for input_ in command.inputs:
        if input_.path.startswith("-l"):
            continue
        translated = ours.get(input_.position)
        path = str(translated.path) if translated else input_.path
        options = _source_options(command, [translated] if translated else [])
        status = max(status, _run([*options, *_without_inputs(command), path], files))
        if translated:
            mend_dependency_files(command, [translated])
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
    options = runtime_library.compile_flags()
    for folder in dict.fromkeys(file.folder for file in made):
        options += ["-iquote", folder]
    if any(word.startswith("-g") for word in command.arguments):
        options += [f"-fdebug-prefix-map={file.path.parent}={os.path.abspath(file.folder)}" for file in made]
    return options


def _run(words: Sequence[str], files: TranslatedFiles) -> int:
    """Run the compiler, long commands through a response file; returns the exit status."""
    if sum(map(len, words)) > _RESPONSE_FILE_THRESHOLD:
        quoted = ('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"' for word in words)
        response = files.write("arguments", os.fsencode("\n".join(quoted)))
        words = [f"@{response}"]
    program = compiler()
    try:
        # close_fds: make's job server passes its pipe to the compiler.
        process = subprocess.Popen([*program, *words], close_fds=False)
    except OSError as error:
        print_error(f"cannot run the C compiler '{program[0]}': {error.strerror}; set TILEK_CC to yours", "tilecc")
        return 127
    try:
        status = process.wait()
    except StoppedError:
        process.terminate()
        process.wait()
        raise
    return 128 - status if status < 0 else status
