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
from tilepragma.base.refusals import CommandError
from tilepragma.base.resources import GARBAGE_COLLECTIONS
from tilepragma.base.user_compiler import SEPARATE_VALUE

#: Exit statuses (further ones are in cli/output.py).
DONE, WRONG_USAGE = 0, 2

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
    if options.command == "devices" and others:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    try:
        return _devices(options) if options.command == "devices" else _run(options, others, arguments)
    except BrokenPipeError:
        raise
    except (CommandError, OSError) as error:
        from tilepragma.cli.output import print_error

        if isinstance(error, CommandError):
            if str(error):
                print_error(str(error))
            return error.status
        print_error(f"{error.filename or _file(options)}: {error.strerror}")
        return WRONG_USAGE


def _file(options: argparse.Namespace) -> str:
    """The file that an error without a name is about."""
    if options.command == "devices":
        return "standard output"
    shared = options.command == "tune" and (options.export or options.merge)
    return str(options.input or shared or options.output)


def _run(options: argparse.Namespace, others: list[str], arguments: Sequence[str]) -> int:
    """Run a command on sources or measurements. Raises CommandError, OSError."""
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
        import difflib

        known = re.findall(r"--?\w[\w-]*", options.parser.format_usage())
        near = difflib.get_close_matches(refused[0].partition("=")[0], known, 1)
        suggestion = f"; did you mean {near[0]}?" if near else ""
        options.parser.error(f"unrecognized arguments: {' '.join(refused)}{suggestion}")
    from tilepragma.cli.source_commands import run_source_command

    return run_source_command(options, tuple(part for word in others for part in word.split(_JOINT)), arguments)


def _share(options: argparse.Namespace, others: Sequence[str]) -> int:
    if options.input is not None or others or (options.export and options.merge):
        options.parser.error("--export FILE and --merge FILE stand alone: they are about all measurements there are")
    from tilepragma.cli.explore import export, merge

    return export(options.export) if options.export else merge(options.merge)


def _report(options: argparse.Namespace, others: Sequence[str]) -> int:
    """Report on all measured kernels, without a source."""
    if others or options.device:
        options.parser.error(f"{(others or ['--device'])[0]} goes with a source: tilepragma report IN.c")
    from tilepragma.cli.measurement_report import check_usage, report

    try:
        check_usage(options)
    except CommandError as error:
        options.parser.error(str(error))
    return report(options, ())


def _devices(options: argparse.Namespace) -> int:
    from tilepragma.cli.devices import calibrate, print_devices

    if options.quick and not options.calibrate:
        options.parser.error("--quick goes with --calibrate")
    return calibrate(options.quick) if options.calibrate else print_devices()


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


# -- the commands and their options


_QUERIES = {
    "cflags": "options to compile a translated source with",
    "libs": "options to link it with; builds the runtime library on first use",
    "makefile": "path of a make fragment with the rule %%.tk.c: %%.c",
    "cmake": "path of a CMake module with tilepragma_translate(target)",
}
#: Options with the name of a value, if they have one (… if they may be repeated), and their help.
_DEVICES = """
--calibrate: measure launches, barriers, copies, bandwidths and rates of every device, and keep them for planning
--quick: with --calibrate: fewer and shorter measurements, in seconds
"""
_SOURCE = """
--device NAME: the device to plan for
--openmp: take lines of OpenMP (#pragma omp parallel for) as directives, too; TILEK_OPENMP=1 does the same
--dump-after PASS…: print what a pass made (docs/ARCHITECTURE.md)
"""
_SIZE_OPTION = """
--size NAME=INTEGER…: a number for a parameter of the kernels; several stand one after another, or with commas between
    them
"""
_RANGES = """
--sizes NAME=RANGE…: numbers to measure at, for parameters of the kernels: n=512, n=256:4096:x2, n=100:900:+200; all
    combinations of several
"""
_EXPLAIN = f"""{_SIZE_OPTION}
--html FILE: write a page with pictures of tiles and dependences, or - for standard output
--figures DIR: write each picture as KERNEL-NEST-PICTURE.svg into that folder, predicted times as KERNEL-landscape.svg
--measure: run each method for each relaxation in place (SOR) on a model problem: sweeps to convergence, and time
--value NAME=NUMBER…: with --measure: a number for a name in coefficients, such as the relaxation factor
"""
_TUNE = f"""{_RANGES}
--budget TIME: how long to measure: 90s, 10m, 2h (default: 60s)
--versions LIST: which to try: sizes, steps, counts, unroll, paper8, paper16, paper24 (default: sizes,steps;
    counts,unroll for kernels without these; with a program and no --build sizes)
--build COMMAND: the shell command that builds your program with tilecc ('make CC=tilecc'), to try other versions of it
--again: measure again what was measured before
--quick: time only the model's best and the default in your program, and keep the fastest in IN.tilek.json
--kernel K: tune this kernel only (default: each in turn)
{_SIZE_OPTION}
--target LIST: where to run: serial, threads, opencl, cuda (default: threads, or where your program runs by itself)
"""
_EXCHANGE = """
--export FILE: write all measurements there are as JSON lines, or - for standard output
--merge FILE: take up measurements that --export wrote, or - for standard input
"""
_BENCH = f"""{_RANGES}
--kernel K: the function around this kernel only
--target LIST: where to run: serial, threads, opencl, cuda (default: threads, and the devices that are here)
--json FILE: write all calls' seconds there, too
"""
_REPORT = """
--kernel K: this kernel only (default: all, or those of the sources)
--target LIST: measurements on these targets (default: all)
--trace FILE.json: draw this run over time: what TILEK_PROFILE=FILE.json wrote
--note TEXT: a remark for the top of the page, such as what else the machine did
"""
_TUNE_USAGE = """\
tilepragma tune IN.c [--kernel K] [--sizes NAME=RANGE …] [--target LIST] [--versions LIST] [--budget TIME] [--again] \
[options of the C compiler] [[--build COMMAND] -- PROGRAM [ARGUMENT …]]
       tilepragma tune IN.c --quick [--kernel K] [--size NAME=INTEGER …] [--target T] [--device NAME] [--best N] \
[--no-keep] [options of the C compiler] -- PROGRAM [ARGUMENT …]
       tilepragma tune --export FILE | --merge FILE"""
_REPORT_USAGE = """\
tilepragma report [IN.c …] [--kernel K] [--target LIST] [--trace FILE.json] [--note TEXT] [--device NAME] \
[-o DIR|FILE.html] [options of the C compiler]"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tilepragma",
        description="C loop nests under #pragma tilek, for GPUs and all cores. Most builds use tilecc: make CC=tilecc.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tilepragma {__version__}")
    for name, about in _QUERIES.items():
        parser.add_argument(f"--{name}", dest="query", action="store_const", const=name, help=f"print the {about}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_translate(commands)
    check = _source_command(commands, "check", "report errors, warnings and notes only")
    about = "how to report (default: %(default)s)"
    check.add_argument("--format", choices=("text", "json"), default="text", help=about)
    _add(check, "--loops: note what each loop is: DOALL, DOACROSS or sequential")
    about = "say what became of each kernel: loops, dependences, tiles, wavefronts, mapping, data"
    explain = _source_command(commands, "explain", about, _EXPLAIN)
    about = "with --measure: the share that the error falls to (default: 1e-3)"
    explain.add_argument("--tolerance", metavar="SHARE", type=float, help=about)
    about = "with --measure: the longest time of a method (default: 10)"
    explain.add_argument("--seconds", metavar="SECONDS", type=float, help=about)
    about = "measure versions of kernels, and say which are the fastest at which sizes (docs/TUNING.md)"
    tune = _source_command(commands, "tune", about, _TUNE, _TUNE_USAGE)
    about = "with --quick: layouts to time besides the default (default: 12)"
    tune.add_argument("--best", metavar="N", type=int, help=about)
    _add(tune, _EXCHANGE)
    about = "write no IN.tilek.json, only say what is fastest"
    tune.add_argument("--no-keep", dest="keep", action="store_false", help=about)
    about = "time the functions around kernels on each target against the same source as plain C, and compare results"
    _source_command(commands, "bench", about, _BENCH)
    about = "make a page of what tune has measured: versions over inputs, tile sizes, roofline (docs/TUNING.md)"
    report = _source_command(commands, "report", about, "", _REPORT_USAGE)
    about = "a folder for report.html and its PNG pictures, a file for the page alone, or - (default: %(default)s)"
    report.add_argument("-o", dest="output", default="tilepragma-report", metavar="DIR|FILE.html", help=about)
    _add(report, _REPORT)
    devices = commands.add_parser("devices", help="list what can run here, or measure it", allow_abbrev=False)
    devices.set_defaults(parser=devices)
    _add(devices, _DEVICES)
    return parser


def _add_translate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    translate = _source_command(commands, "translate", "write C with launches for C with directives")
    translate.add_argument("-o", dest="output", required=True, metavar="OUT.c", help="the translated source, or -")
    _add(translate, "--target LIST: comma list of serial, threads, opencl, cuda (default: all)")
    about = "write the readable .cl, .cpu.cl and .cu files there"
    translate.add_argument("--emit-kernels", metavar="DIR", type=Path, help=about)
    about = "write a depfile, OUT.d unless -MF says else"
    translate.add_argument("-MMD", dest="depfile", action="store_const", const="user", help=about)
    about = "likewise, with the system's headers"
    translate.add_argument("-MD", dest="depfile", action="store_const", const="all", help=about)
    translate.add_argument("-MF", dest="depfile_name", metavar="FILE", help="the depfile's name; implies -MMD")
    translate.add_argument("-MT", dest="depfile_target", metavar="TARGET", help="the depfile's target (default: OUT.c)")
    about = "make each header a target of its own in the depfile"
    translate.add_argument("-MP", dest="phony", action="store_true", help=about)


def _source_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    about: str,
    options: str = "",
    usage: str | None = None,
) -> argparse.ArgumentParser:
    """A command on a source, which it does not need if it has a usage of its own."""
    command = commands.add_parser(
        name, usage=usage, help=about, description=about, epilog=_COMPILER_OPTIONS, allow_abbrev=False
    )
    command.set_defaults(parser=command)
    command.add_argument("input", metavar="IN.c", nargs="?" if usage else None)
    _add(command, _SOURCE + options)
    return command


def _add(command: argparse.ArgumentParser, options: str) -> None:
    for option in re.split(r"\n(?=-)", options.strip()):
        head, _, about = " ".join(option.split()).partition(": ")
        name, _, value = head.partition(" ")
        if not value:
            command.add_argument(name, action="store_true", help=about)
        elif value.endswith("…"):
            command.add_argument(name, metavar=value.removesuffix("…"), action="append", default=[], help=about)
        else:
            command.add_argument(name, metavar=value, default="", help=about)


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
            return runtime_library.report(error)
    else:
        name = "tilepragma.mk" if query == "makefile" else "Tilepragma.cmake"
        print(resource_folder("templates") / "make" / name)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
