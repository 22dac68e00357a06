"""Registers and spills of CUDA programs by ptxas, which is part of NVRTC; needs no GPU.

The cache folder keeps answers, so each program is compiled once for an architecture.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict

from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.user_folders import cache_folder
from tilepragma.base.wheels import wheel_library

#: As in runtime/device/cuda/cuda_api.c.
_NAMES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so")
_USED = re.compile(
    r"Compiling entry function '(?P<entry>\w+)'.*?(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r".*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


class NvrtcError(Exception):
    """There is no answer; the message is a clause that tells why."""


@dataclass(frozen=True)
class Compiled:
    """An entry point's 32-bit registers per thread, and its spilled bytes (stores or reloads)."""

    registers: int
    spilled: int


@dataclass(frozen=True)
class Nvrtc:
    """NVIDIA's compiler library; `version` as "12.9"."""

    library: ctypes.CDLL
    version: str

    def compiled(self, text: str, architecture: int, options: Sequence[str] = ()) -> Mapping[str, Compiled]:
        """The entry points of a program for compute capability `architecture` (90 means 9.0).

        Raises NvrtcError if NVRTC does not know the architecture, or rejects the program.
        """
        words = (f"--gpu-architecture=sm_{architecture}", "--ptxas-options=-v", *options)
        key = hashlib.blake2b("\0".join((self.version, *words, text)).encode(), digest_size=16).hexdigest()
        entries = _read(key)
        if entries is None:
            if architecture not in self._architectures():
                raise NvrtcError(f"NVRTC {self.version} does not compile for sm_{architecture}")
            entries = _entry_points(self._log(text, words))
            _write(key, entries)
        return entries

    def _architectures(self) -> Sequence[int]:
        count = ctypes.c_int()
        self.library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        known = (ctypes.c_int * count.value)()
        self.library.nvrtcGetSupportedArchs(known)
        return list(known)

    def _log(self, text: str, words: Sequence[str]) -> str:
        """The compiler's log for a program. Raises NvrtcError if it rejects the program."""
        program = ctypes.c_void_p()
        options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        try:
            status = self.library.nvrtcCompileProgram(program, len(words), options)
            log = _text(self.library.nvrtcGetProgramLogSize, self.library.nvrtcGetProgramLog, program)
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))
        if status != 0:
            first = next((line for line in log.splitlines() if "error" in line), f"status {status}")
            raise NvrtcError(f"NVRTC {self.version} does not take the program: {first}")
        return log


def open_nvrtc() -> Nvrtc:
    """The library of TILEK_NVRTC_LIBRARY, the system or a wheel. Raises NvrtcError without one."""
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


def _entry_points(log: str) -> Mapping[str, Compiled]:
    """The entry points in a log. Raises NvrtcError if it does not mention registers."""
    entries = {
        match["entry"]: Compiled(int(match["registers"]), max(int(match["stores"]), int(match["loads"])))
        for match in _USED.finditer(log)
    }
    if not entries:
        raise NvrtcError("NVRTC says nothing of registers")
    return entries


def _read(key: str) -> Mapping[str, Compiled] | None:
    """The cached entry points; None if there are none, or the file is damaged."""
    try:
        stored = json.loads(file_bytes(cache_folder(create=False) / f"registers-{key}.json"))
        return {str(name): Compiled(int(entry["registers"]), int(entry["spilled"])) for name, entry in stored.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _write(key: str, entries: Mapping[str, Compiled]) -> None:
    """Cache the entry points if possible; otherwise the next run compiles again."""
    text = json.dumps({name: asdict(entry) for name, entry in entries.items()})
    with suppress(OSError):
        write_atomically(cache_folder() / f"registers-{key}.json", text.encode())
