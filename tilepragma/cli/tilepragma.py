"""The `tilepragma` command: commands on sources, measurements and devices, and queries."""

from __future__ import annotations

import argparse
import gc
import io
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tilepragma import __version__
from tilepragma.base.resources import GARBAGE_COLLECTIONS
from tilepragma.base.user_compiler import SEPARATE_VALUE

#: Exit statuses (INTERNAL_FAULT is in cli/report.py).
DONE, SOURCE_ERRORS, WRONG_USAGE = 0, 1, 2

_COMPILER_OPTIONS = """\
Options of the C compiler are passed on to where they matter: -I -D -U -std= -include -isystem -iquote -idirafter
-nostdinc --sysroot -O… -m… -f….  A file name - is standard input or output."""


def main() -> int:
    """The console script."""
    gc.set_threshold(*GARBAGE_COLLECTIONS)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # names of files go out with the bytes they have
    try:
        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output has stopped: silence the flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns 0, 1 (source errors), 2 (wrong usage) or 3 (internal fault)."""
    parser = _parser()
    words, program = _before_program(arguments)
    options, others = parser.parse_known_args(_separated(words))
    options.program = program
    if options.query:
        return _answer(options.query)
    if options.command is None:
        parser.print_usage(sys.stderr)
        return WRONG_USAGE
    if options.command == "devices":
        if others:
            parser.error(f"unrecognized arguments: {' '.join(others)}")
        return _devices(options)
    if options.command == "tune":
        if options.export or options.merge:
            return _share(options, others)
        if options.input is None:
            options.parser.error("the following arguments are required: IN.c")
    if options.command == "report":
        options.more = [word for word in others if not word.startswith("-")]
        others = [word for word in others if word not in options.more]
        if options.input is None:
            return _report(options, others)
    if options.command in ("explain", "tune"):
        options.size += [word for word in others if _SIZE.match(word)]
        others = [word for word in others if not _SIZE.match(word)]
    refused = [word for word in others if not word.startswith(_COMPILER_PREFIXES)]
    if refused:
        near = _suggestion(refused[0], options.parser.format_usage())
        options.parser.error(f"unrecognized arguments: {' '.join(refused)}{near}")
    from tilepragma.cli.source_commands import run_source_command

    return run_source_command(options, _joined_back(others), arguments)


def _share(options: argparse.Namespace, others: Sequence[str]) -> int:
    if options.input is not None or others or (options.export and options.merge):
        options.parser.error("--export FILE and --merge FILE stand alone: they are about all measurements there are")
    from tilepragma.cli.record_exchange import export, merge

    return export(options.export) if options.export else merge(options.merge)


def _report(options: argparse.Namespace, others: Sequence[str]) -> int:
    """Report on all measured kernels, without a source."""
    if others or options.device:
        options.parser.error(f"{(others or ['--device'])[0]} goes with a source: tilepragma report IN.c")
    from tilepragma.cli.measurement_report import report, usage_problem

    problem = usage_problem(options)
    if problem:
        options.parser.error(problem)
    try:
        return report(options, ())
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"tilepragma: error: {error.filename or options.output}: {error.strerror}", file=sys.stderr)
        return WRONG_USAGE


def _devices(options: argparse.Namespace) -> int:
    if not options.calibrate:
        if options.quick:
            options.parser.error("--quick goes with --calibrate")
        from tilepragma.cli.devices import print_devices

        return print_devices()
    from tilepragma.cli.calibrate import calibrate

    return calibrate(options.quick)


def _suggestion(word: str, usage: str) -> str:
    """`; did you mean …?` if the usage line has an option much like `word`."""
    import difflib

    close = difflib.get_close_matches(word.partition("=")[0], re.findall(r"--?\w[\w-]*", usage), 1)
    return f"; did you mean {close[0]}?" if close else ""


#: Compiler options whose value may be the next word; argparse must not take that for the input.
_WITH_VALUE = (*SEPARATE_VALUE, "-x")
#: Prefixes of compiler options; any other word unknown to argparse is a mistake.
_COMPILER_PREFIXES = (*_WITH_VALUE, "-std", "-f", "-m", "-O", "-W", "-w", "-g", "-p", "-n", "-a", "-u", "-i")
_JOINT = "\x1f"
#: A further size after `--size N=1024`.
_SIZE = re.compile(r"[A-Za-z_][^-=]*=")


def _before_program(arguments: Sequence[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """The command's own words, and those behind `--` of a command that runs a program."""
    if arguments[:1] != ["tune"] or "--" not in arguments:
        return arguments, ()
    end = arguments.index("--")
    return arguments[:end], tuple(arguments[end + 1 :])


def _separated(arguments: Sequence[str]) -> list[str]:
    """Join compiler options to separate values, so that argparse sees one unknown word each."""
    joined: list[str] = []
    words = iter(arguments)
    for word in words:
        value = next(words, None) if word in _WITH_VALUE else None
        joined.append(word if value is None else f"{word}{_JOINT}{value}")
    return joined


def _joined_back(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for word in words for part in word.split(_JOINT))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tilepragma",
        description="C loop nests under #pragma tilek, for GPUs and all cores. Most builds use tilecc: make CC=tilecc.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tilepragma {__version__}")
    for name, help_text in [
        ("cflags", "options to compile a translated source with"),
        ("libs", "options to link it with; builds the runtime library on first use"),
        ("makefile", "path of a make fragment with the rule %%.tk.c: %%.c"),
        ("cmake", "path of a CMake module with tilepragma_translate(target)"),
    ]:
        parser.add_argument(f"--{name}", dest="query", action="store_const", const=name, help=f"print the {help_text}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_translate(commands)
    check = _add_source_command(commands, "check", "report errors, warnings and notes only")
    check.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to report (default: %(default)s)"
    )
    check.add_argument("--loops", action="store_true", help="note what each loop is: DOALL, DOACROSS or sequential")
    _add_explain(commands)
    _add_tune(commands)
    _add_bench(commands)
    _add_report(commands)
    _add_devices(commands)
    return parser


def _add_devices(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    devices = commands.add_parser("devices", help="list what can run here, or measure it", allow_abbrev=False)
    devices.set_defaults(parser=devices)
    devices.add_argument(
        "--calibrate",
        action="store_true",
        help="measure launches, barriers, copies, bandwidths and rates of every device, and keep them for planning",
    )
    devices.add_argument(
        "--quick", action="store_true", help="with --calibrate: fewer and shorter measurements, in seconds"
    )


def _add_translate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    translate = _add_source_command(commands, "translate", "write C with launches for C with directives")
    translate.add_argument("-o", dest="output", required=True, metavar="OUT.c", help="the translated source, or -")
    _add_text(translate, "--target", "LIST", "comma list of serial, threads, opencl, cuda (default: all)")
    translate.add_argument(
        "--emit-kernels", metavar="DIR", type=Path, help="write the readable .cl, .cpu.cl and .cu files there"
    )
    translate.add_argument(
        "-MMD",
        dest="depfile",
        action="store_const",
        const="user",
        help="write a depfile, OUT.d unless -MF says else",
    )
    translate.add_argument(
        "-MD", dest="depfile", action="store_const", const="all", help="likewise, with the system's headers"
    )
    translate.add_argument("-MF", dest="depfile_name", metavar="FILE", help="the depfile's name; implies -MMD")
    translate.add_argument("-MT", dest="depfile_target", metavar="TARGET", help="the depfile's target (default: OUT.c)")
    translate.add_argument(
        "-MP", dest="phony", action="store_true", help="make each header a target of its own in the depfile"
    )


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    explain = _add_source_command(
        commands, "explain", "say what became of each kernel: loops, dependences, tiles, wavefronts, mapping, data"
    )
    _add_sizes(explain)
    explain.add_argument(
        "--html", metavar="FILE", help="write a page with pictures of tiles and dependences, or - for standard output"
    )
    explain.add_argument(
        "--figures",
        metavar="DIR",
        type=Path,
        help="write each picture as KERNEL-NEST-PICTURE.svg into that folder, predicted times as KERNEL-landscape.svg",
    )
    explain.add_argument(
        "--measure",
        action="store_true",
        help="run each method for each relaxation in place (SOR) on a model problem: sweeps to convergence, and time",
    )
    explain.add_argument(
        "--value",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="with --measure: a number for a name in coefficients, such as the relaxation factor",
    )
    explain.add_argument(
        "--tolerance",
        metavar="SHARE",
        type=float,
        help="with --measure: the share that the error falls to (default: 1e-3)",
    )
    explain.add_argument(
        "--seconds", metavar="SECONDS", type=float, help="with --measure: the longest time of a method (default: 10)"
    )


def _add_text(command: argparse.ArgumentParser, name: str, value: str, about: str) -> None:
    """An option with a text for a value, empty by default."""
    command.add_argument(name, metavar=value, default="", help=about)


def _add_numbers(command: argparse.ArgumentParser, name: str, value: str, about: str) -> None:
    """An option that may be repeated, once for each number."""
    command.add_argument(name, metavar=value, action="extend", nargs=1, default=[], help=about)


def _add_sizes(command: argparse.ArgumentParser) -> None:
    about = "a number for a parameter of the kernels; several stand one after another, or with commas between them"
    _add_numbers(command, "--size", "NAME=INTEGER", about)


def _add_tune(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "measure versions of kernels, and say which are the fastest at which sizes (docs/TUNING.md)"
    tune = _add_source_command(commands, "tune", about, needs_input=False)
    tune.usage = (
        "tilepragma tune IN.c [--kernel K] [--sizes NAME=RANGE …] [--target LIST] [--versions LIST] "
        "[--budget TIME] [--again] "
        "[options of the C compiler] [[--build COMMAND] -- PROGRAM [ARGUMENT …]]\n"
        "       tilepragma tune IN.c --quick [--kernel K] [--size NAME=INTEGER …] [--target T] [--device "
        "NAME] [--best N] [--no-keep] "
        "[options of the C compiler] -- PROGRAM [ARGUMENT …]\n"
        "       tilepragma tune --export FILE | --merge FILE"
    )
    _add_ranges(tune)
    tune.add_argument("--budget", metavar="TIME", help="how long to measure: 90s, 10m, 2h (default: 60s)")
    tune.add_argument(
        "--versions",
        metavar="LIST",
        help="which to try: sizes, steps, counts, unroll, paper8, paper16, paper24 (default: sizes,steps; counts,unroll"
        " for kernels without these; with a program and no --build sizes)",
    )
    _add_text(
        tune,
        "--build",
        "COMMAND",
        "the shell command that builds your program with tilecc ('make CC=tilecc'), to try other versions of it",
    )
    tune.add_argument("--again", action="store_true", help="measure again what was measured before")
    tune.add_argument(
        "--quick",
        action="store_true",
        help="time only the model's best and the default in your program, and keep the fastest in IN.tilek.json",
    )
    _add_text(tune, "--kernel", "K", "tune this kernel only (default: each in turn)")
    _add_sizes(tune)
    where = "where to run: serial, threads, opencl, cuda"
    _add_text(tune, "--target", "LIST", f"{where} (default: threads, or where your program runs by itself)")
    tune.add_argument(
        "--best", metavar="N", type=int, help="with --quick: layouts to time besides the default (default: 12)"
    )
    tune.add_argument(
        "--export", metavar="FILE", help="write all measurements there are as JSON lines, or - for standard output"
    )
    tune.add_argument(
        "--merge", metavar="FILE", help="take up measurements that --export wrote, or - for standard input"
    )
    tune.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no IN.tilek.json, only say what is fastest"
    )


def _add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "make a page of what tune has measured: versions over inputs, tile sizes, roofline (docs/TUNING.md)"
    report = _add_source_command(commands, "report", about, needs_input=False)
    report.usage = (
        "tilepragma report [IN.c …] [--kernel K] [--target LIST] [--trace FILE.json] [--note TEXT] "
        "[--device NAME] [-o DIR|FILE.html] "
        "[options of the C compiler]"
    )
    report.add_argument(
        "-o",
        dest="output",
        default="tilepragma-report",
        metavar="DIR|FILE.html",
        help="a folder for report.html and its PNG pictures, a file for the page alone, or - (default: %(default)s)",
    )
    _add_text(report, "--kernel", "K", "this kernel only (default: all, or those of the sources)")
    _add_text(report, "--target", "LIST", "measurements on these targets (default: all)")
    _add_text(report, "--trace", "FILE.json", "draw this run over time: what TILEK_PROFILE=FILE.json wrote")
    _add_text(report, "--note", "TEXT", "a remark for the top of the page, such as what else the machine did")


def _add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = "time the functions around kernels on each target against the same source as plain C, and compare results"
    bench = _add_source_command(commands, "bench", about)
    _add_ranges(bench)
    _add_text(bench, "--kernel", "K", "the function around this kernel only")
    where = "where to run: serial, threads, opencl, cuda"
    _add_text(bench, "--target", "LIST", f"{where} (default: threads, and the devices that are here)")
    bench.add_argument("--json", metavar="FILE", help="write all calls' seconds there, too")


def _add_ranges(command: argparse.ArgumentParser) -> None:
    values = "n=512, n=256:4096:x2, n=100:900:+200; all combinations of several"
    _add_numbers(command, "--sizes", "NAME=RANGE", f"numbers to measure at, for parameters of the kernels: {values}")


def _add_source_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help_text: str, needs_input: bool = True
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name, help=help_text, description=help_text, epilog=_COMPILER_OPTIONS, allow_abbrev=False
    )
    command.set_defaults(parser=command)
    command.add_argument("input", metavar="IN.c", nargs=None if needs_input else "?")
    _add_text(command, "--device", "NAME", "the device to plan for")
    command.add_argument(
        "--dump-after",
        metavar="PASS",
        action="append",
        default=[],
        help="print what a pass made (docs/ARCHITECTURE.md)",
    )
    return command


def _answer(query: str) -> int:
    """`--cflags`, `--libs`, `--makefile`, `--cmake`."""
    import shlex

    from tilepragma.base.resources import resource_folder
    from tilepragma.cli import runtime_library

    if query == "cflags":
        print(shlex.join(runtime_library.compile_flags()))
    elif query == "libs":
        try:
            print(shlex.join(runtime_library.link_flags()))
        except (runtime_library.RuntimeLibraryError, OSError) as error:
            runtime_library.report(error)
            return SOURCE_ERRORS
    else:
        name = "tilepragma.mk" if query == "makefile" else "Tilepragma.cmake"
        print(resource_folder("templates") / "make" / name)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
