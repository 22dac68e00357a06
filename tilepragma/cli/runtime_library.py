"""The runtime as a static library: built once per compiler and ABI, kept in the user's cache."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tilepragma import __version__
from tilepragma.base.cache_folder import cache_folder
from tilepragma.base.resources import resource_folder
from tilepragma.base.user_compiler import compiler, fingerprint

#: What a program that uses the runtime is linked with, besides the library itself.
LINK_OPTIONS = ("-ldl", "-lpthread", "-lm")
COMPILE_OPTIONS = ("-O2", "-std=c99", "-fPIC", "-pthread", "-fvisibility=hidden")
#: Options of the user's command that change the ABI, and with it the library; values may be attached or follow.
_ABI_PREFIXES = ("-m32", "-m64", "-mx32", "-mabi=", "-mfloat-abi=", "-mcpu=", "--target=", "--sysroot=")
_ABI_SEPARATE = ("-target", "--target", "--sysroot", "-isysroot", "-arch")
_NAME = "libtilek.a"


class RuntimeLibraryError(Exception):
    """The runtime did not compile; the message holds the command and what the compiler said."""


def include_folder() -> Path:
    """The folder of tilek.h."""
    return resource_folder("runtime") / "include"


def compile_flags() -> list[str]:
    """What a translated source needs when it is compiled."""
    return ["-isystem", str(include_folder())]


def link_flags(options: Sequence[str] = (), *, is_program: bool = False) -> list[str]:
    """What a program or library with translated sources is linked with; builds the library where the cache lacks it.

    `options` are those of the user's command, of which only what changes the ABI is heeded. A program (`is_program`) shares
    its runtime with the plugins that it opens.
    Raises RuntimeLibraryError where the library does not build, OSError where the cache cannot be written.
    """
    shared = [f"-Wl,--dynamic-list={resource_folder('runtime') / 'exports.list'}"] if is_program else []
    return [str(library(options)), *shared, *LINK_OPTIONS]


def library(options: Sequence[str] = ()) -> Path:
    """The library for the user's compiler; built on first use, safe under concurrent builds.

    Raises RuntimeLibraryError where it does not build, OSError where the cache cannot be written.
    """
    command = compiler()
    flags = [*COMPILE_OPTIONS, *_abi_options(options), *_wheel_macros()]
    sources = sorted(resource_folder("runtime").glob("*.c"))
    folder = cache_folder() / "runtime"
    target = folder / _key(command, flags, sources) / _NAME
    if target.is_file():
        return target
    folder.mkdir(mode=0o700, exist_ok=True)
    with _lock(folder / "lock"):
        if not target.is_file():
            _build(command, flags, sources, target)
    return target


def _abi_options(options: Sequence[str]) -> list[str]:
    found: list[str] = []
    for position, option in enumerate(options):
        if option.startswith(_ABI_PREFIXES) or _is_seen_by_checker(option):
            found.append(option)
        elif option in _ABI_SEPARATE:
            found.extend(options[position : position + 2])
    return found


def _is_seen_by_checker(option: str) -> bool:
    """Whether the runtime must be compiled with `option` too: these checkers take what they have not seen for mistakes."""
    name, _, checks = option.partition("=")
    return name == "-fsanitize" and not {"thread", "memory"}.isdisjoint(checks.split(","))


def _wheel_macros() -> list[str]:
    """Where the wheels of this Python keep the OpenCL loader and NVRTC; the runtime tries them after the system's own."""
    from tilepragma.base.wheels import wheel_macros

    return wheel_macros()


def _key(command: Sequence[str], flags: Sequence[str], sources: Sequence[Path]) -> str:
    """Changes with the compiler, the flags, every file of the runtime and the version."""
    import hashlib

    key = hashlib.blake2b(digest_size=16)
    key.update("\0".join([*fingerprint(command), __version__, *flags]).encode("utf-8", "surrogateescape"))
    headers = sorted({header for source in sources[:1] for header in source.parent.rglob("*.h")})
    for file in [*sources, *headers]:
        key.update(f"\0{file.name}\0".encode())
        key.update(file.read_bytes())
    return key.hexdigest()


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Exclusive among processes, while the block runs."""
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(command: Sequence[str], flags: Sequence[str], sources: Sequence[Path], target: Path) -> None:
    """Compile in a folder beside the target's, then move it there in one step."""
    import shutil
    import tempfile
    from concurrent.futures import ThreadPoolExecutor

    if not sources:
        raise RuntimeLibraryError("tilepragma is installed without the sources of its runtime; install it again")
    target.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="building-", dir=target.parent.parent))
    try:
        objects = [folder / f"{source.stem}.o" for source in sources]
        include = f"-I{sources[0].parent / 'include'}"
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            commands = [
                [*command, *flags, include, "-c", str(source), "-o", str(made)]
                for source, made in zip(sources, objects, strict=True)
            ]
            list(pool.map(run_compiler, commands))
        # One object: a program takes all of the runtime or, where a library with kernels has it already, nothing.
        whole = folder / "tilek.o"
        abi = [word for word in flags if word not in COMPILE_OPTIONS and not word.startswith("-D")]
        run_compiler([*command, *abi, "-r", "-nostdlib", *map(str, objects), "-o", str(whole)])
        run_compiler([_archiver(command), "rcs", str(folder / _NAME), str(whole)])
        for made in [*objects, whole]:
            made.unlink()
        shutil.rmtree(target.parent, ignore_errors=True)
        folder.rename(target.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _archiver(command: Sequence[str]) -> str:
    """The archiver that belongs to the compiler, else `ar`."""
    chosen = os.environ.get("TILEK_AR")
    if chosen:
        return chosen
    asked = subprocess.run([*command, "-print-prog-name=ar"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 and asked.stdout.strip() else "ar"


def run_compiler(command: Sequence[str]) -> None:
    """Run a compiler quietly. Raises RuntimeLibraryError with what it said where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise RuntimeLibraryError(
            f"{command[0]} cannot be run ({error.strerror}); set TILEK_CC to a C compiler"
        ) from None
    if done.returncode:
        raise RuntimeLibraryError(f"the runtime library did not build:\n{' '.join(command)}\n{done.stderr}")


def build_tool(sources: Sequence[Path], options: Sequence[str], program: Path) -> None:
    """Make a program of ours, of sources in runtime/tools, over the runtime library; `options` are further ones of the compiler.

    Raises RuntimeLibraryError where it does not build, OSError where the cache cannot be written.
    """
    flags = [*COMPILE_OPTIONS, *compile_flags(), *options]
    run_compiler([*compiler(), *flags, *map(str, sources), str(library()), *LINK_OPTIONS, "-o", str(program)])


def tools_folder() -> Path:
    """The folder of our programs' sources."""
    return resource_folder("runtime") / "tools"


def report(error: RuntimeLibraryError | OSError) -> None:
    """Say on standard error why there is no runtime library."""
    if isinstance(error, OSError):
        print(
            f"tilepragma: error: the runtime library cannot be kept: {error}; set TILEK_CACHE_DIR to a folder of yours",
            file=sys.stderr,
        )
    else:
        print(f"tilepragma: error: {error}", file=sys.stderr)
