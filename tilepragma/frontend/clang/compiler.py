"""The user's C compiler: its include folders and predefined macros, asked once and kept on disk."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.user_compiler import SEPARATE_VALUE, compiler, fingerprint
from tilepragma.base.user_folders import cache_folder, inner_folder
from tilepragma.ir.directives import WIDEST_VECTORS, VectorRegisters
from tilepragma.ir.loop_tree import FloatingRules

#: Options that change the compiler's include folders and predefined macros.
_FOR_COMPILER = (
    *("--sysroot", "-isysroot", "-std=", "-ansi", "-m", "-O", "-fopenmp", "-fshort-enums", "-pthread", "-nostdinc"),
    *("-fsigned-char", "-funsigned-char", "-fno-signed-char", "-fno-unsigned-char"),
    *("-ffast-math", "-fno-fast-math", "-ffinite-math-only", "-funsafe-math-optimizations"),
)
#: Options that libclang understands as the compiler does.
_FOR_LIBCLANG = (*SEPARATE_VALUE, "-std=", "-ansi", "-m", "-fshort-enums", "-undef")

#: Macros whose values tell compilers apart, a macro of the C library that tests them, and operators
#: that only clang has.
_OF_EACH_COMPILER = re.compile(
    rb"__GNUC__|__GNUC_(?:MINOR|PATCHLEVEL)__|__GNUC_PREREQ|__VERSION__|__GXX_ABI_VERSION|__clang\w*|__has_(?:feature|extension)"
)
_RESERVED = re.compile(rb"\b__\w+")
#: Types that GCC knows by these names, and clang does not.
_GCC_TYPES = {"_Float32": "float", "_Float64": "double", "_Float32x": "double", "_Float64x": "long double"}

#: Macros of processors; the first one that is defined tells the vector registers.
_VECTORS = {"__AVX512F__": WIDEST_VECTORS, "__AVX__": VectorRegisters(256, 16), "__aarch64__": VectorRegisters(128, 32)}


@dataclass(frozen=True)
class CompilerFlags:
    """The user's compiler (`cc`, or words such as `ccache gcc`) and its options, in order.

    Input files, and options that change neither preprocessing nor parsing, are left out.
    """

    arguments: tuple[str, ...] = ()
    compiler: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """The words that start the compiler: `compiler`, else TILEK_CC, else cc."""
        return tuple(compiler(self.compiler))

    @property
    def options(self) -> tuple[str, ...]:
        """All options: those in `command` (TILEK_CC='gcc -std=c99') and the user's."""
        return (*(word for word in self.command[1:] if word.startswith("-")), *self.arguments)

    @property
    def for_compiler(self) -> tuple[str, ...]:
        """The options that the compiler gets when it is asked about itself."""
        return _select(self.options, _FOR_COMPILER)

    @property
    def for_libclang(self) -> tuple[str, ...]:
        """The options that libclang gets too."""
        return _select(self.options, _FOR_LIBCLANG)


@dataclass(frozen=True)
class CompilerAnswer:
    """The compiler's include folders (for `#include <…>`, in order) and its predefined macros."""

    include_folders: tuple[str, ...]
    macros: tuple[tuple[str, str], ...]

    def defines(self, name: str) -> bool:
        """Whether the macro is predefined (under the user's flags)."""
        return any(macro == name for macro, _ in self.macros)

    def sees_otherwise(self, text: bytes, predefined: Callable[[], Collection[str]]) -> bool:
        """Whether the text names a macro that the compiler and libclang define differently.

        `predefined` tells the macros that libclang predefines.
        """
        words = set(_RESERVED.findall(text))
        if any(map(_OF_EACH_COMPILER.fullmatch, words)):
            return True
        names = {name.partition("(")[0] for name, _ in self.macros}
        return bool(words) and not {word.decode() for word in words}.isdisjoint(names ^ set(predefined()))


class CompilerError(Exception):
    """The compiler could not be run, or refused the user's flags; its message tells why."""


def ask_compiler(flags: CompilerFlags) -> CompilerAnswer:
    """Include folders and macros of the user's compiler under the user's flags, cached on disk.

    The cache key is the compiler's path, size and time, and the flags. Raises CompilerError.
    """
    entry = _cache_entry(flags)
    cached = None if entry is None else _read_entry(entry)
    if cached is not None:
        return cached
    answer = _run_compiler(flags)
    if entry is not None:
        text = json.dumps({"folders": answer.include_folders, "macros": answer.macros})
        with suppress(OSError):  # a cache that cannot be written only costs time
            write_atomically(entry, text.encode())
    return answer


def floating_rules(flags: CompilerFlags, answer: CompilerAnswer) -> FloatingRules:
    """What the flags allow on devices: contraction and fast math where the host has them."""
    contraction = [a.partition("=")[2] for a in flags.options if a.startswith("-ffp-contract=")]
    strict = any(re.match(r"-std=(c|iso)|-ansi$", a) for a in flags.options)
    fast = answer.defines("__FAST_MATH__")
    fused = answer.defines("__FP_FAST_FMA")
    contract = contraction[-1] in ("fast", "on") if contraction else fused and (fast or not strict)
    return FloatingRules(contract=contract, fast=fast)


def is_c90(answer: CompilerAnswer) -> bool:
    """Whether the flags ask for C90: `__STDC_VERSION__` is undefined, or that of 1994."""
    return dict(answer.macros).get("__STDC_VERSION__", "0") < "199901L"


def vector_registers(answer: CompilerAnswer) -> VectorRegisters:
    """The vector registers of the processor that -march names; 16 of 128 bits for unknown ones."""
    return next((registers for name, registers in _VECTORS.items() if answer.defines(name)), VectorRegisters(128, 16))


def libclang_arguments(flags: CompilerFlags, answer: CompilerAnswer, *, clang_macros: bool = True) -> list[str]:
    """The command line that makes libclang read the source as the user's compiler does.

    Without `clang_macros` the compiler's predefined macros replace those of libclang. Sources that
    test which compiler reads them need that. But system headers then declare some functions in ways
    that libclang does not know.
    """
    arguments = ["-x", "c", *([] if clang_macros else _predefined(flags, answer))]
    arguments += [*flags.for_libclang, "-D_TILEK=1", "-nostdinc", "-ferror-limit=0", "-w"]
    arguments += [f"-Wno-{name}" for name in ("implicit-function-declaration", "implicit-int", "int-conversion")]
    arguments += ["-Wno-incompatible-function-pointer-types", "-fbracket-depth=50000"]
    for folder in answer.include_folders:
        arguments += ["-isystem", folder]
    arguments.append("-funsigned-char" if answer.defines("__CHAR_UNSIGNED__") else "-fsigned-char")
    macros = dict(answer.macros)
    # Programs test these macros, but libclang's options for them would change the parse.
    arguments += [f"-D{name}={macros[name]}" for name in ("_OPENMP", "__FAST_MATH__") if name in macros]
    if not any(a.startswith("-std=") or a == "-ansi" for a in flags.options) and "__STDC_VERSION__" in macros:
        arguments.append("-std=gnu99" if macros["__STDC_VERSION__"] < "201112L" else "-std=gnu17")
    return arguments


def _predefined(flags: CompilerFlags, answer: CompilerAnswer) -> list[str]:
    if "-undef" in flags.options:
        return []
    arguments = ["-undef", *(f"-D{name}={value}" for name, value in answer.macros)]
    if not answer.defines("__clang__"):
        wide = "__float128" if answer.defines("__SIZEOF_FLOAT128__") else "long double"
        arguments += [f"-D{name}={type_}" for name, type_ in (*_GCC_TYPES.items(), ("_Float128", wide))]
        arguments += ["-U__has_feature", "-U__has_extension"]
    return arguments


def _select(arguments: tuple[str, ...], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments that begin with one of `prefixes`, each with the separate word it takes."""
    chosen: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in SEPARATE_VALUE:
            argument = next(words, None)
            if argument is not None and word.startswith(prefixes):
                chosen += [word, argument]
        elif word.startswith(("-MF", "-MT", "-MQ", "-MD", "-MM")):
            continue
        elif word.startswith(prefixes):
            chosen.append(word)
    return tuple(chosen)


def _run_compiler(flags: CompilerFlags) -> CompilerAnswer:
    command = [*flags.command, *flags.for_compiler, "-E", "-dM", "-v", "-x", "c", os.devnull]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"}, check=False
        )
    except OSError as fault:
        raise CompilerError(f"cannot run the C compiler '{flags.command[0]}': {fault.strerror}") from fault
    if process.returncode != 0:
        errors = [line.partition("error:")[2].strip() for line in process.stderr.splitlines() if "error:" in line]
        raise CompilerError(f"the C compiler '{flags.command[0]}' fails: {errors[0] if errors else process.returncode}")
    return CompilerAnswer(_folders(process.stderr), _macros(process.stdout))


def _folders(log: str) -> tuple[str, ...]:
    folders: list[str] = []
    inside = False
    for line in log.splitlines():
        if line.startswith("#include <...>"):
            inside = True
        elif line.startswith("End of search list"):
            break
        elif inside and line.startswith(" "):
            folders.append(os.path.normpath(line.strip().removesuffix(" (framework directory)")))
    return tuple(folders)


def _macros(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (line.split(" ", 2)[1:] for line in text.splitlines() if line.startswith("#define "))
    return tuple((pair[0], pair[1] if len(pair) > 1 else "") for pair in pairs)


def _cache_entry(flags: CompilerFlags) -> Path | None:
    """The file of the answer; None without a cache or a compiler (running it will say so)."""
    if shutil.which(flags.command[0]) is None:
        return None
    facts = ["3", *flags.for_compiler, *fingerprint(flags.command)]
    facts += [os.environ.get(name, "") for name in ("CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH")]
    key = hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()
    try:
        return inner_folder(cache_folder() / "compiler") / f"{key[:32]}.json"
    except OSError:
        return None


def _read_entry(entry: Path) -> CompilerAnswer | None:
    try:
        stored = json.loads(file_bytes(entry))
        folders = tuple(str(folder) for folder in stored["folders"])
        macros = tuple((str(name), str(value)) for name, value in stored["macros"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return CompilerAnswer(folders, macros) if all(os.path.isdir(folder) for folder in folders) else None
