"""tilecc: a drop-in C compiler driver. It translates inputs with tilek directives first, and links
the runtime.

Other commands are passed to the underlying compiler by exec before any heavy import.
"""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Sequence

from tilepragma.base.languages import C, name_of
from tilepragma.base.refusals import CommandError
from tilepragma.base.resources import GARBAGE_COLLECTIONS
from tilepragma.base.source_scan import directive_in, scan_source
from tilepragma.base.user_compiler import compiler
from tilepragma.cli.compiler_arguments import DEPENDENCIES, Command, Input, read_command

_HELP = """\
Usage: tilecc [options] file…
A C compiler driver: sources with '#pragma tilek' are translated first, the runtime is linked in. All options of the C
compiler underneath (TILEK_CC, default cc) pass through. Own options:
  --tilek-target=LIST         build for these targets only: serial, threads, opencl, cuda (default: all)
  --tilek-device=NAME         plan for that device ('tilepragma devices' lists them)
  --tilek-emit-kernels=DIR    write the readable kernels there: .cl, .cpu.cl and .cu files
  --tilek-explain             say what became of each kernel: loops, dependences, tiles, data
  --tilek-keep                keep the translated source, FILE.tilek.c
  --tilek-openmp              take '#pragma omp parallel for' as a kernel, too (TILEK_OPENMP=1 does the same)
  --tilek-no-remarks          do not warn of kernels that run as written, on one core (-w: of nothing)
  --tilek-require-parallel    refuse kernels that would run as written, on one core
  --tilek-help                this text without the compiler's
See also: tilepragma --help (check, explain, tune, bench). Variables: TILEK_CC, TILEK_CACHE_DIR, and TILEK_TARGET for
programs.

"""


def main() -> int:
    """The console script."""
    gc.set_threshold(*GARBAGE_COLLECTIONS)
    try:
        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


def run(arguments: Sequence[str]) -> int:
    """Run tilecc; returns the exit status, unless exec replaces the process by the compiler."""
    try:
        command = read_command(arguments)
    except CommandError as error:
        print(f"tilecc: error: {error}", file=sys.stderr)
        return 2
    if os.path.basename(compiler()[0]) == "tilecc":
        print("tilecc: error: TILEK_CC names tilecc itself; set it to the C compiler underneath", file=sys.stderr)
        return 2
    if list(arguments) == ["--version"]:
        return _version()
    if command.driver.help or list(arguments) == ["--help"]:
        return _help(with_compilers=not command.driver.help)
    # Standard input can be read only once.
    is_read = any(input_.path == "-" and input_.language == C for input_ in command.inputs)
    text = sys.stdin.buffer.read() if is_read else None
    inputs = command.inputs if command.stage != DEPENDENCIES else ()
    translated = [input_ for input_ in inputs if _is_ours(input_, command, text)]
    if translated:
        from tilepragma.cli.tilecc_translation import compile_translated

        return compile_translated(command, translated, text)
    if command.driver.explain:
        print("tilecc: no input holds a tilek directive", file=sys.stderr)
    return _pass_through(arguments, command, text)


def _help(with_compilers: bool) -> int:
    print(_HELP, end="", flush=True)
    if not with_compilers:
        print(f"Options of the C compiler: {shlex.join([*compiler(), '--help'])}")
        return 0
    print(f"Options of the C compiler ({shlex.join(compiler())}):", flush=True)
    return _execute(["--help"])


def _version() -> int:
    """`tilecc --version`: tilecc's line, then the compiler's, which configure scripts look for."""
    from tilepragma import __version__

    print(f"tilecc (tilepragma {__version__}), running:", flush=True)
    return _execute(["--version"])


def _is_ours(input_: Input, command: Command, text: bytes | None) -> bool:
    """Whether the input holds directives; languages other than C are refused later."""
    if input_.language != C:
        return bool(name_of(input_.language)) and _holds_directive(input_, command)
    if any("tilek" in value for value in command.values("-D")):
        return True
    folders = command.values("-I", "-isystem", "-idirafter")
    quote_folders = command.values("-iquote")
    forced = [(path, None) for path in command.values("-include", "-imacros") if os.path.isfile(path)]
    return any(
        scan_source(path, quote_folders, folders, content, command.driver.openmp).mentions
        for path, content in [(input_.path, text if input_.path == "-" else None), *forced]
    )


def _holds_directive(input_: Input, command: Command) -> bool:
    """Whether a source in another language has a directive; one in a header draws a warning."""
    folders = command.values("-I", "-isystem", "-idirafter")
    directive = directive_in(input_.path, command.values("-iquote"), folders)
    if directive is None or directive.file == input_.path:
        return directive is not None
    place = f"{directive.file}:{directive.line}:{directive.column}"
    words = f"tilek directives are ignored in {name_of(input_.language)}: {input_.path}"
    print(f"{place}: warning: {words}", file=sys.stderr)
    return False


def _pass_through(arguments: Sequence[str], command: Command, text: bytes | None) -> int:
    """The unchanged command, with the runtime if it links objects."""
    words = list(arguments if command.plain else command.arguments)
    if not command.links_runtime:
        return _execute(words) if text is None else _wait_for(words, text)
    from tilepragma.cli import runtime_library

    words += command.end_of_language
    try:
        try:
            words += runtime_library.link_flags(command.options, is_program=command.links_program)
        except OSError:
            return _link_apart(words, command, text)
    except (runtime_library.RuntimeLibraryError, OSError) as error:
        return runtime_library.report(error)
    return _execute(words) if text is None else _wait_for(words, text)


def _link_apart(words: Sequence[str], command: Command, text: bytes | None) -> int:
    """Link with a temporary runtime library. Raises RuntimeLibraryError, OSError."""
    from tilepragma.cli import runtime_library
    from tilepragma.cli.tilecc_translation import StoppedError, temporary_folder

    try:
        with temporary_folder() as folder:
            flags = runtime_library.link_flags(command.options, is_program=command.links_program, spare=folder)
            return _wait_for([*words, *flags], text)
    except StoppedError as stopped:
        return stopped.status


def _wait_for(words: Sequence[str], text: bytes | None) -> int:
    """Run the compiler with `text` as its standard input, if any; returns its exit status."""
    import subprocess

    program = compiler()
    try:
        return subprocess.run([*program, *words], input=text, close_fds=False, check=False).returncode
    except OSError as error:
        return _not_run(program, error)


def _execute(words: Sequence[str]) -> int:
    """Become the compiler; returns only on failure."""
    program = compiler()
    sys.stdout.flush()
    try:
        os.execvp(program[0], [*program, *words])
    except OSError as error:
        return _not_run(program, error)


def _not_run(program: Sequence[str], error: OSError) -> int:
    """Print why the compiler does not run; returns the shell's status for that."""
    reason = f"cannot run the C compiler '{program[0]}': {error.strerror}; set TILEK_CC to yours"
    print(f"tilecc: error: {reason}", file=sys.stderr)
    return 127


if __name__ == "__main__":
    sys.exit(main())
