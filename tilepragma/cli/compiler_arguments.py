"""How a C compiler driver reads its command line: inputs, outputs, stages and options with separate
values.

Light on purpose: tilecc classifies every command before it knows whether there is anything to
translate.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tilepragma.base.languages import language_of
from tilepragma.base.user_compiler import compiler


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Options whose value is the next argument when nothing is attached to them.
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
#: Options whose value may also be attached, and whose values we look at; longer spellings first.
_LOOKED_AT = ("-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-MF", "-MT", "-MQ", "-I", "-D")
#: What only the linker or the output stage reads; the translator has no use for it.
_NOT_FOR_TRANSLATION_PREFIXES = ("-L", "-l", "-Wl,", "-Wa,", "-M", "-B", "-rpath", "-static")
_NOT_FOR_TRANSLATION = _words(
    """
    -Xlinker -T -Ttext -Tdata -Tbss -u -z -e -h -c -S -E -shared -r -s -rdynamic -pie -no-pie -v -### -pipe
    -save-temps -nostdlib -nodefaultlibs -nostartfiles -C -CC -P -fsyntax-only -aux-info -dumpbase -dumpdir
    -dumpbase-ext -wrapper
    """
)

PREPROCESS, COMPILE, ASSEMBLE, OBJECT, LINK, DEPENDENCIES = (
    "preprocess",
    "check",
    "assembly",
    "object",
    "link",
    "dependencies",
)


#: With these the link is not a program's, or the user names every library: the runtime is left out.
_NO_RUNTIME = ("-r", "-nostdlib", "-nodefaultlibs", "-###")
#: Exit status for a command line that makes no sense.
USAGE_STATUS = 2


class UsageError(Exception):
    """An option of tilecc's own that makes no sense; the message says which and what would."""


class Input(NamedTuple):
    """One input of the command: `position` in `Command.arguments`; `language` is `-x`'s or the suffix's, "" for the linker's."""

    position: int
    path: str
    language: str


class DriverOptions(NamedTuple):
    """The `--tilek-…` options; empty strings where absent."""

    target: str = ""
    device: str = ""
    emit_kernels: str = ""
    explain: bool = False
    keep: bool = False
    warns_of_serial: bool = True
    help: bool = False


class Command(NamedTuple):
    """A compiler command, read.

    `arguments` has response files expanded and our own options taken out. `stage` is the last stage
    that runs. `options` are the arguments that matter to the meaning of the source (macros, search
    paths, dialect, code generation), in order; `settings` are the search paths, macros, forced
    includes and -MF, -MT, -MQ as (option, value). `plain` is true where neither happened, so that
    the original arguments may be passed on as they are.
    """

    arguments: tuple[str, ...]
    inputs: tuple[Input, ...]
    stage: str
    output: str
    options: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    own: DriverOptions
    plain: bool

    def has(self, *options: str) -> bool:
        """Whether one of `options` is given, spelled exactly so."""
        return any(option in self.arguments for option in options)

    def values(self, *options: str) -> list[str]:
        """The values of `options` (among the search paths, macros, forced includes and -MF, -MT, -MQ), in order."""
        return [value for option, value in self.settings if option in options]

    @property
    def links_runtime(self) -> bool:
        """Whether the command ends in a link that may need the runtime."""
        return self.stage == LINK and bool(self.inputs) and not self.has(*_NO_RUNTIME)

    @property
    def links_program(self) -> bool:
        """Whether that link makes a program that can open libraries, not a library."""
        return not self.has("-shared", "-static", "-static-pie")

    @property
    def end_of_language(self) -> list[str]:
        """`-x none` where a `-x` is still in force: libraries that follow are no C."""
        return ["-x", "none"] if any(word == "--language" or word.startswith("-x") for word in self.arguments) else []


def read_command(arguments: Sequence[str]) -> Command:
    """Read a driver's command line (without the program's name).

    Raises UsageError for a misspelled option of ours.
    """
    words = compiler()
    expanded = _expand_response_files(arguments)
    kept, own = _take_own_options(expanded)
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
            if _matters_to_source(argument):
                options.extend([argument, value] if value_at is not None else [argument])
        position += 1 if value_at is None else 2
    plain = list(expanded) == list(arguments) and own == DriverOptions()
    return Command(tuple(kept), tuple(inputs), stage, output, tuple(options), tuple(settings), own, plain)


def _earlier_stop(stage: str, argument: str) -> str:
    """The stage at which the driver stops, as gcc decides it: the earliest stop that any option asks for."""
    stops = {
        "-M": DEPENDENCIES,
        "-MM": DEPENDENCIES,
        "-E": PREPROCESS,
        "-fsyntax-only": COMPILE,
        "-S": ASSEMBLE,
        "-c": OBJECT,
    }
    order = [DEPENDENCIES, PREPROCESS, COMPILE, ASSEMBLE, OBJECT, LINK]
    wanted = stops.get(argument, LINK)
    return min(stage, wanted, key=order.index)


def _setting(argument: str, next_argument: str) -> list[tuple[str, str]]:
    for option in _LOOKED_AT:
        if argument == option:
            return [(option, next_argument)]
        if argument.startswith(option):
            return [(option, argument[len(option) :])]
    return []


def _matters_to_source(argument: str) -> bool:
    return argument not in _NOT_FOR_TRANSLATION and not argument.startswith(_NOT_FOR_TRANSLATION_PREFIXES)


_OWN_OPTIONS: dict[str, Callable[[DriverOptions, str], DriverOptions]] = {
    "--tilek-target": lambda own, value: own._replace(target=value),
    "--tilek-device": lambda own, value: own._replace(device=value),
    "--tilek-emit-kernels": lambda own, value: own._replace(emit_kernels=value),
}


#: Spelled as warnings of compilers are; not for the compiler underneath, which does not know it.
_SERIAL_WARNING = {"-Wtilek-serial": True, "-Wno-tilek-serial": False}


def _take_own_options(arguments: Sequence[str]) -> tuple[list[str], DriverOptions]:
    kept: list[str] = []
    own = DriverOptions()
    after_value = False
    for argument in arguments:
        if argument in _SERIAL_WARNING and not after_value:
            own = own._replace(warns_of_serial=_SERIAL_WARNING[argument])
            continue
        if after_value or not argument.startswith("--tilek"):
            after_value = not after_value and argument in _SEPARATE_VALUE
            kept.append(argument)
            continue
        name, equals, value = argument.partition("=")
        if name in _OWN_OPTIONS and value:
            own = _OWN_OPTIONS[name](own, value)
        elif argument == "--tilek-explain":
            own = own._replace(explain=True)
        elif argument == "--tilek-keep":
            own = own._replace(keep=True)
        elif argument == "--tilek-help":
            own = own._replace(help=True)
        elif name in _OWN_OPTIONS:
            raise UsageError(f"{name} needs a value: {name}=…")
        else:
            known = ", ".join([*_OWN_OPTIONS, "--tilek-explain", "--tilek-keep", "--tilek-help"])
            raise UsageError(f"unknown option {argument}; tilecc's own options are {known}")
    return kept, own


def _expand_response_files(arguments: Sequence[str], depth: int = 0) -> list[str]:
    """`@file` becomes the file's words, quoted as gcc reads them; a name that is no readable file stays as it is."""
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
