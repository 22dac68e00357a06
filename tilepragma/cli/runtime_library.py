"""The runtime as a static library: built once per compiler and ABI, kept in the user's cache."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tilepragma import __version__
from tilepragma.base.files import file_bytes
from tilepragma.base.resources import resource_folder
from tilepragma.base.user_compiler import compiler, fingerprint
from tilepragma.base.user_folders import cache_folder, inner_folder, is_users

#: Link options of a program that uses the runtime, besides the library.
LINK_OPTIONS = ("-ldl", "-lpthread", "-lm")
COMPILE_OPTIONS = ("-O2", "-std=c99", "-fPIC", "-pthread", "-fvisibility=hidden")
#: Options of the user's command that change the ABI and so the library; values may be attached or
#: follow.
_ABI_PREFIXES = ("-m32", "-m64", "-mx32", "-mabi=", "-mfloat-abi=", "-mcpu=", "--target=", "--sysroot=")
_ABI_SEPARATE = ("-target", "--target", "--sysroot", "-isysroot", "-arch")
_NAME = "libtilek.a"
#: Prefix of folders in which a library is being built.
_BUILDING = "building-"


class RuntimeLibraryError(Exception):
    """The runtime did not compile; the message has the command and the compiler's output."""


def compile_flags() -> list[str]:
    """Compile options of a translated source."""
    return ["-isystem", str(resource_folder("runtime") / "include")]


def link_flags(options: Sequence[str] = (), *, is_program: bool = False, spare: Path | None = None) -> list[str]:
    """Link options of a program or library with translated sources; builds the library if the cache
    lacks it.

    Of the command's `options` only those that change the ABI matter. A program (`is_program`)
    shares its runtime with the plugins that it loads. If the cache is unusable, the library is
    built in the folder `spare`, with a warning. Raises RuntimeLibraryError if the library does not
    build, OSError if it cannot be kept and there is no spare folder.
    """
    shared = [f"-Wl,--dynamic-list={resource_folder('runtime') / 'exports.list'}"] if is_program else []
    try:
        made = library(options)
    except OSError as error:
        if spare is None:
            raise
        print(f"tilecc: warning: the runtime library is built for this command alone: {error}", file=sys.stderr)
        made = spare / _NAME
        _build(*_recipe(options), made)
    return [str(made), *shared, *LINK_OPTIONS]


def library(options: Sequence[str] = ()) -> Path:
    """The library for the user's compiler; built on first use or if damaged, safe under concurrent
    builds.

    Raises RuntimeLibraryError if it does not build, OSError if the cache is not writable or others
    can write to it.
    """
    recipe = _recipe(options)
    folder = inner_folder(cache_folder() / "runtime")
    target = folder / _key(*recipe) / _NAME
    if _is_intact(target):
        return target
    with _lock(folder / "lock"):
        if not _is_intact(target):
            import shutil

            for killed in folder.glob(f"{_BUILDING}*"):  # the lock excludes other builders
                shutil.rmtree(killed, ignore_errors=True)
            _keep(*recipe, target)
    return target


def _recipe(options: Sequence[str]) -> tuple[list[str], list[str], list[Path]]:
    """The compiler, its options and the sources. Macros have the OpenCL loader and NVRTC of this
    Python's wheels, tried last.
    """
    from tilepragma.base.wheels import wheel_macros

    flags = [*COMPILE_OPTIONS, *_abi_options(options), *wheel_macros()]
    return compiler(), flags, runtime_sources()


def runtime_sources() -> list[Path]:
    """The library's C files: those of the runtime's folders without the tools. No two have the
    same name.
    """
    runtime = resource_folder("runtime")
    return sorted(path for path in runtime.rglob("*.c") if path.parent != runtime / "tools")


def runtime_includes() -> list[str]:
    """The compiler's options with which the runtime's own C files find their headers:
    `"base/message.h"`, "tilek.h".
    """
    runtime = resource_folder("runtime")
    return [f"-I{runtime}", f"-I{runtime / 'include'}"]


def _is_intact(target: Path) -> bool:
    """Whether the library belongs to the user and is unchanged."""
    try:
        is_ours = all(is_users(path.lstat()) for path in (target.parent, target))
        return is_ours and file_bytes(_sum_of(target)) == _checksum(target)
    except OSError:
        return False


def _sum_of(target: Path) -> Path:
    return target.with_name(f"{_NAME}.blake2b")


def _checksum(target: Path) -> bytes:
    import hashlib

    return hashlib.blake2b(file_bytes(target)).hexdigest().encode()


def _abi_options(options: Sequence[str]) -> list[str]:
    abi_options: list[str] = []
    for position, option in enumerate(options):
        if option.startswith(_ABI_PREFIXES) or _is_seen_by_checker(option):
            abi_options.append(option)
        elif option in _ABI_SEPARATE:
            abi_options.extend(options[position : position + 2])
    return abi_options


def _is_seen_by_checker(option: str) -> bool:
    """Whether the runtime needs `option` too: such sanitizers misjudge uninstrumented code."""
    name, _, checks = option.partition("=")
    return name == "-fsanitize" and not {"thread", "memory"}.isdisjoint(checks.split(","))


def _key(command: Sequence[str], flags: Sequence[str], sources: Sequence[Path]) -> str:
    """A key of the compiler, the flags, every file of the runtime and the version."""
    import hashlib

    key = hashlib.blake2b(digest_size=16)
    key.update("\0".join([*fingerprint(command), __version__, *flags]).encode("utf-8", "surrogateescape"))
    runtime = resource_folder("runtime")
    for file in [*sources, *sorted(runtime.rglob("*.h"))]:
        key.update(f"\0{file.relative_to(runtime)}\0".encode())
        key.update(file.read_bytes())
    return key.hexdigest()


def open_lock(path: Path) -> int:
    """The descriptor of a file to lock; links and pipes of others are not followed."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """An exclusive lock among processes while the block runs."""
    import fcntl

    descriptor = open_lock(path)
    with open(descriptor, "wb"):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _keep(command: Sequence[str], flags: Sequence[str], sources: Sequence[Path], target: Path) -> None:
    """Build in a folder beside the target's, then rename it, so that the target is complete."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=target.parent.parent))
    try:
        made = folder / _NAME
        _build(command, flags, sources, made)
        _sum_of(made).write_bytes(_checksum(made))
        for path in (made, _sum_of(made), folder):
            _flush(path)
        shutil.rmtree(target.parent, ignore_errors=True)
        folder.rename(target.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _build(command: Sequence[str], flags: Sequence[str], sources: Sequence[Path], target: Path) -> None:
    """Compile the library in a private folder."""
    from concurrent.futures import ThreadPoolExecutor

    if not sources:
        raise RuntimeLibraryError("tilepragma is installed without the sources of its runtime; install it again")
    objects = [target.with_name(f"{source.stem}.o") for source in sources]
    includes = runtime_includes()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        commands = [
            [*command, *flags, *includes, "-x", "c", "-c", str(source), "-o", str(made)]  # g++ would read C++
            for source, made in zip(sources, objects, strict=True)
        ]
        list(pool.map(run_compiler, commands))
    # One object: a program takes the whole runtime, or nothing if a library with kernels has it.
    whole = target.with_name("tilek.o")
    abi = [word for word in flags if word not in COMPILE_OPTIONS and not word.startswith("-D")]
    _join([*command, *abi], objects, whole)
    run_compiler([os.environ.get("TILEK_AR") or _tool(command, "ar"), "rcs", str(target), str(whole)])
    for made in [*objects, whole]:
        made.unlink()


def _join(command: Sequence[str], objects: Sequence[Path], whole: Path) -> None:
    """Link several objects into one: by the compiler, or by the linker if the compiler is a wrapper
    that adds libraries to every link, as mpicc does.
    """
    words = [*map(str, objects), "-o", str(whole)]
    asked = subprocess.run([*command, "-r", "-nostdlib", "-###", *words], capture_output=True, text=True, check=False)
    words_run = [word for line in asked.stderr.splitlines() for word in _printed_words(line)]
    if not any(word.startswith("-l") for word in words_run):
        run_compiler([*command, "-r", "-nostdlib", *words])
        return
    emulation = [word for place, word in enumerate(words_run) if word == "-m" or words_run[place - 1 : place] == ["-m"]]
    run_compiler([_tool(command, "ld"), *emulation[:2], "-r", *words])


def _printed_words(line: str) -> list[str]:
    """The words of a command that `-###` prints, none for other lines."""
    import shlex

    try:
        words = shlex.split(line)
    except ValueError:
        return []
    return words if "-r" in words else []


def _tool(command: Sequence[str], name: str) -> str:
    """The program of that name that belongs to the compiler, else the system's."""
    asked = subprocess.run([*command, f"-print-prog-name={name}"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 and asked.stdout.strip() else name


def run_compiler(command: Sequence[str]) -> None:
    """Run a compiler quietly. Raises RuntimeLibraryError with its output if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        reason = f"{command[0]} cannot be run ({error.strerror}); set TILEK_CC to a C compiler"
        raise RuntimeLibraryError(reason) from None
    if done.returncode:
        raise RuntimeLibraryError(f"the runtime library did not build:\n{' '.join(command)}\n{done.stderr}")


def build_tool(sources: Sequence[Path], options: Sequence[str], program: Path) -> None:
    """Build a program from sources in runtime/tools with the runtime library and further compiler
    `options`.

    Raises RuntimeLibraryError if it does not build, OSError if the cache is not writable.
    """
    flags = [*COMPILE_OPTIONS, *runtime_includes(), *options]
    run_compiler([*compiler(), *flags, *map(str, sources), str(library()), *LINK_OPTIONS, "-o", str(program)])


def tools_folder() -> Path:
    """The folder of the tools' sources."""
    return resource_folder("runtime") / "tools"


def report(error: RuntimeLibraryError | OSError) -> int:
    """Print on standard error why there is no runtime library; returns the exit status, 1."""
    unkept = f"the runtime library cannot be kept: {error}; set TILEK_CACHE_DIR to a folder of yours"
    print(f"tilepragma: error: {unkept if isinstance(error, OSError) else error}", file=sys.stderr)
    return 1
