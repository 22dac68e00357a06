"""What ptxas makes of CUDA programs, by NVRTC, which has it inside: registers of a thread and what is spilled of them. No GPU is needed.

Answers are kept in the cache folder, so that a program is compiled once for an architecture.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from tilepragma.base.cache_folder import cache_folder
from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.wheels import wheel_library

#: As in runtime/device/cuda/cuda_api.c.
_NAMES = (
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so.11.2",
    "libnvrtc.so",
    "/usr/local/cuda/lib64/libnvrtc.so",
)
_USED = re.compile(
    r"Compiling entry function '(?P<entry>\w+)'.*?(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r".*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


class NvrtcError(Exception):
    """There is no answer; the message is a clause that says why."""


@dataclass(frozen=True)
class Compiled:
    """Of an entry point: 32-bit registers of a thread, and the bytes of them that it spills: those stored, or those loaded again where these
    are more.
    """

    registers: int
    spilled: int


@dataclass(frozen=True)
class Nvrtc:
    """NVIDIA's compiler library; `version` as "12.9"."""

    library: ctypes.CDLL
    version: str

    def compiled(self, text: str, architecture: int, options: Sequence[str] = ()) -> Mapping[str, Compiled]:
        """What becomes of each entry point of a program for compute capability `architecture` (90: 9.0).

        Raises NvrtcError where NVRTC does not know the architecture, or does not take the program.
        """
        words = (f"--gpu-architecture=sm_{architecture}", "--ptxas-options=-v", *options)
        key = hashlib.blake2b("\0".join((self.version, *words, text)).encode(), digest_size=16).hexdigest()
        kept = _read(key)
        if kept is None:
            if architecture not in self._architectures():
                raise NvrtcError(f"NVRTC {self.version} does not compile for sm_{architecture}")
            kept = _found(self._log(text, words))
            _write(key, kept)
        return kept

    def _architectures(self) -> Sequence[int]:
        count = ctypes.c_int()
        self.library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        known = (ctypes.c_int * count.value)()
        self.library.nvrtcGetSupportedArchs(known)
        return list(known)

    def _log(self, text: str, words: Sequence[str]) -> str:
        """What the compiler says of a program. Raises NvrtcError where it refuses it."""
        program = ctypes.c_void_p()
        options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        try:
            status = self.library.nvrtcCompileProgram(program, len(words), options)
            said = _text(self.library.nvrtcGetProgramLogSize, self.library.nvrtcGetProgramLog, program)
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))
        if status != 0:
            first = next((line for line in said.splitlines() if "error" in line), f"status {status}")
            raise NvrtcError(f"NVRTC {self.version} does not take the program: {first}")
        return said


def open_nvrtc() -> Nvrtc:
    """The library that TILEK_NVRTC_LIBRARY names, else the system's, else that of a wheel. Raises NvrtcError where there is none."""
    chosen = os.environ.get("TILEK_NVRTC_LIBRARY")
    wheel = wheel_library("TILEK_WHEEL_NVRTC")
    for name in (chosen,) if chosen else (*_NAMES, *((str(wheel),) if wheel is not None else ())):
        try:
            library = ctypes.CDLL(name)
            return Nvrtc(library, _version(library))
        except (OSError, AttributeError):
            continue
    raise NvrtcError(f"TILEK_NVRTC_LIBRARY names {chosen}, which is no NVRTC" if chosen else "NVRTC is not installed")


def _version(library: ctypes.CDLL) -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def _text(size_of: Callable[..., int], get: Callable[..., int], program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(max(size.value, 1))
    get(program, text)
    return text.value.decode(errors="replace")


def _found(log: str) -> Mapping[str, Compiled]:
    """Raises NvrtcError where the log says nothing of registers."""
    found = {
        match["entry"]: Compiled(int(match["registers"]), max(int(match["stores"]), int(match["loads"])))
        for match in _USED.finditer(log)
    }
    if not found:
        raise NvrtcError("NVRTC says nothing of registers")
    return found


def _read(key: str) -> Mapping[str, Compiled] | None:
    """What was kept; None where nothing was, or it is damaged."""
    try:
        kept = json.loads(file_bytes(cache_folder(create=False) / f"registers-{key}.json"))
        return {str(name): Compiled(int(one["registers"]), int(one["spilled"])) for name, one in kept.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _write(key: str, found: Mapping[str, Compiled]) -> None:
    """Keeps it where that is possible: without, the program is compiled again the next time."""
    text = json.dumps({name: asdict(one) for name, one in found.items()})
    try:
        write_atomically(cache_folder() / f"registers-{key}.json", text.encode())
    except OSError:
        return
