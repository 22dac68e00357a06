"""Parses a C compiler driver's command line: inputs, outputs, stages and options with values.

Imports little: tilecc classifies every command before it knows whether there is work to translate.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from tilepragma.base.languages import language_of
from tilepragma.base.refusals import CommandError
from tilepragma.base.user_compiler import compiler


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Options whose value is the next argument unless it is attached.
_SEPARATE_VALUE = _words(
    """
    -o -I -D -U -include -imacros -isystem -iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore -isysroot
    -iframework -imultilib -x -MF -MT -MQ -L -l -Xlinker -Xpreprocessor -Xassembler -Xclang -T -u -z -e -h -A -F
    -G -B -b -V -aux-info -arch -framework -target -mllvm -wrapper -dumpbase -dumpbase-ext -dumpdir
    -working-directory -install_name -rpath -current_version -compatibility_version -Ttext -Tdata -Tbss --param
    --sysroot --output --include --include-directory --define-macro --undefine-macro --language
    --library-directory --entry --for-assembler --for-linker --specs --target
    """
)
#: Options whose values the translator reads, also attached; longer spellings first.
_LOOKED_AT = ("-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-MF", "-MT", "-MQ", "-I", "-D")
#: Options that only the linker or the output stage reads.
_NOT_FOR_TRANSLATION_PREFIXES = ("-L", "-l", "-Wl,", "-Wa,", "-M", "-B", "-rpath", "-static")
_NOT_FOR_TRANSLATION = _words(
    """
    -Xlinker -T -Ttext -Tdata -Tbss -u -z -e -h -c -S -E -shared -r -s -rdynamic -pie -no-pie -v -### -pipe
    -save-temps -nostdlib -nodefaultlibs -nostartfiles -C -CC -P -fsyntax-only -aux-info -dumpbase -dumpdir
    -dumpbase-ext -wrapper
    """
)

PREPROCESS, COMPILE, ASSEMBLE, OBJECT = "preprocess", "check", "assembly", "object"
LINK, DEPENDENCIES = "link", "dependencies"

#: Options for partial links or with explicit libraries: the runtime is left out.
_NO_RUNTIME = ("-r", "-nostdlib", "-nodefaultlibs", "-###")


class Input(NamedTuple):
    """One input: `position` in `Command.arguments`; `language`, "" for the linker."""

    position: int
    path: str
    language: str


class DriverOptions(NamedTuple):
    """The `--tilek-…` options; empty strings if absent."""

    target: str = ""
    device: str = ""
    emit_kernels: str = ""
    explain: bool = False
    keep: bool = False
    openmp: bool = False
    no_remarks: bool = False
    require_parallel: bool = False
    help: bool = False


class Command(NamedTuple):
    """A parsed compiler command.

    `arguments` has response files expanded and tilecc's own options (`driver`) removed. `stage` is
    the last stage that runs. `options` are the arguments that affect the source (macros, search
    paths, dialect, code generation), in order; `settings` are the search paths, macros, forced
    includes and -MF, -MT, -MQ as (option, value). `plain`: the arguments are unchanged, so that the
    original ones may be passed on.
    """

    arguments: tuple[str, ...]
    inputs: tuple[Input, ...]
    stage: str
    output: str
    options: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    driver: DriverOptions
    plain: bool

    def has(self, *options: str) -> bool:
        """Whether one of `options` is given, in exactly this spelling."""
        return any(option in self.arguments for option in options)

    def values(self, *options: str) -> list[str]:
        """The values of these options among `settings`, in order."""
        return [value for option, value in self.settings if option in options]

    @property
    def links_runtime(self) -> bool:
        """Whether the command ends in a link that may need the runtime."""
        return self.stage == LINK and bool(self.inputs) and not self.has(*_NO_RUNTIME)

    @property
    def links_program(self) -> bool:
        """Whether that link makes a program that can load libraries, not a library."""
        return not self.has("-shared", "-static", "-static-pie")

    @property
    def end_of_language(self) -> list[str]:
        """`-x none` after a `-x`: the libraries that follow are not C."""
        return ["-x", "none"] if any(word == "--language" or word.startswith("-x") for word in self.arguments) else []


def read_command(arguments: Sequence[str]) -> Command:
    """Parse a driver's command line (without the program's name). Raises CommandError."""
    words = compiler()
    expanded = _expand_response_files(arguments)
    kept, driver_options = _take_driver_options(expanded)
    inputs: list[Input] = []
    options: list[str] = []
    settings: list[tuple[str, str]] = []
    stage, output, language = LINK, "", ""
    position = 0
    while position < len(kept):
        argument = kept[position]
        value_at = position + 1 if argument in _SEPARATE_VALUE else None
        value = kept[value_at] if value_at is not None and value_at < len(kept) else ""
        if argument == "-" or not argument.startswith("-"):
            inputs.append(Input(position, argument, language_of(argument, language, words)))
        elif argument in ("-x", "--language") or (argument.startswith("-x") and len(argument) > 2):
            language = value if value_at is not None else argument[2:]
            language = "" if language == "none" else language
        elif argument in ("-o", "--output"):
            output = value
        elif argument.startswith("-o") and len(argument) > 2:
            output = argument[2:]
        else:
            if argument.startswith("-l"):
                inputs.append(Input(position, argument, ""))
            stage = _earlier_stop(stage, argument)
            settings.extend(_setting(argument, value))
            if argument not in _NOT_FOR_TRANSLATION and not argument.startswith(_NOT_FOR_TRANSLATION_PREFIXES):
                options.extend([argument, value] if value_at is not None else [argument])
        position += 1 if value_at is None else 2
    plain = list(expanded) == list(arguments) and driver_options == DriverOptions()
    return Command(tuple(kept), tuple(inputs), stage, output, tuple(options), tuple(settings), driver_options, plain)


def _earlier_stop(stage: str, argument: str) -> str:
    """The stage at which the driver stops, as in gcc: the earliest stop of all options."""
    stops = {"-E": PREPROCESS, "-fsyntax-only": COMPILE, "-S": ASSEMBLE, "-c": OBJECT}
    stops |= dict.fromkeys(("-M", "-MM"), DEPENDENCIES)
    order = [DEPENDENCIES, PREPROCESS, COMPILE, ASSEMBLE, OBJECT, LINK]
    return min(stage, stops.get(argument, LINK), key=order.index)


def _setting(argument: str, next_argument: str) -> list[tuple[str, str]]:
    for option in _LOOKED_AT:
        if argument == option:
            return [(option, next_argument)]
        if argument.startswith(option):
            return [(option, argument[len(option) :])]
    return []


#: tilecc's own options with a value, and those without one.
_WITH_VALUE = ("--tilek-target", "--tilek-device", "--tilek-emit-kernels")
_FLAGS = (
    *("--tilek-explain", "--tilek-keep", "--tilek-openmp", "--tilek-no-remarks", "--tilek-require-parallel"),
    "--tilek-help",
)
_OPENMP_VARIABLE = "TILEK_OPENMP"


def _take_driver_options(arguments: Sequence[str]) -> tuple[list[str], DriverOptions]:
    kept: list[str] = []
    given: dict[str, str] = {}
    after_value = False
    for argument in arguments:
        name, _, value = argument.partition("=")
        if after_value or not argument.startswith("--tilek"):
            after_value = not after_value and argument in _SEPARATE_VALUE
            kept.append(argument)
        elif (name in _WITH_VALUE and value) or argument in _FLAGS:
            given[name] = value
        elif name in _WITH_VALUE:
            raise CommandError(f"{name} needs a value: {name}=…")
        else:
            known = ", ".join([*_WITH_VALUE, *_FLAGS])
            raise CommandError(f"unknown option {argument}; tilecc's own options are {known}")
    target, device, kernels = (given.get(name, "") for name in _WITH_VALUE)
    explain, keep, openmp, *others = (name in given for name in _FLAGS)
    return kept, DriverOptions(target, device, kernels, explain, keep, openmp or _takes_openmp(), *others)


def _takes_openmp() -> bool:
    """Whether the environment asks for lines of OpenMP as directives. Raises CommandError."""
    value = os.environ.get(_OPENMP_VARIABLE, "")
    if value not in ("", "0", "1"):
        raise CommandError(f"{_OPENMP_VARIABLE}={value}: the value is 0 or 1")
    return value == "1"


def _expand_response_files(arguments: Sequence[str], depth: int = 0) -> list[str]:
    """Replace `@file` by the file's words, quoted as in gcc; an unreadable file's name stays."""
    expanded: list[str] = []
    for argument in arguments:
        if argument.startswith("@") and depth < 20:
            try:
                with open(argument[1:], encoding="utf-8", errors="surrogateescape") as file:
                    words = shlex.split(file.read())
            except (OSError, ValueError):
                expanded.append(argument)
                continue
            expanded.extend(_expand_response_files(words, depth + 1))
        else:
            expanded.append(argument)
    return expanded
