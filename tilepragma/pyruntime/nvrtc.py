"""Registers and spills of CUDA programs by ptxas, which is part of NVRTC, and their PTX. It needs
no GPU.

The cache folder keeps answers, so each program is compiled once for an architecture.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
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
        key = self._key(text, words)
        entries = _read(key)
        if entries is None:
            self._check(architecture)
            entries = _entry_points(self._compiled(text, words, "Log"))
            _write(key, entries)
        return entries

    def ptx(self, text: str, architecture: int, options: Sequence[str] = ()) -> str:
        """A program's PTX for a compute capability. Raises NvrtcError."""
        words = (f"--gpu-architecture=compute_{architecture}", *options)
        path = f"{self._key(text, words)}.ptx"
        with suppress(OSError):
            return file_bytes(cache_folder(create=False) / path).decode()
        self._check(architecture)
        code = self._compiled(text, words, "PTX")
        with suppress(OSError):
            write_atomically(cache_folder() / path, code.encode())
        return code

    def _key(self, text: str, words: Sequence[str]) -> str:
        return hashlib.blake2b("\0".join((self.version, *words, text)).encode(), digest_size=16).hexdigest()

    def _check(self, architecture: int) -> None:
        if architecture not in self._architectures():
            raise NvrtcError(f"NVRTC {self.version} does not compile for sm_{architecture}")

    def _architectures(self) -> Sequence[int]:
        count = ctypes.c_int()
        self.library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
        known = (ctypes.c_int * count.value)()
        self.library.nvrtcGetSupportedArchs(known)
        return list(known)

    def _compiled(self, text: str, words: Sequence[str], result: str) -> str:
        """The compiler's Log or PTX of a program. Raises NvrtcError if it rejects the program."""
        program = ctypes.c_void_p()
        options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        try:
            status = self.library.nvrtcCompileProgram(program, len(words), options)
            code = "" if status != 0 else self._text(program, result)
            log = "" if status == 0 else self._text(program, "Log")
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))
        if status != 0:
            first = next((line for line in log.splitlines() if "error" in line), f"status {status}")
            raise NvrtcError(f"NVRTC {self.version} does not take the program: {first}")
        return code

    def _text(self, program: ctypes.c_void_p, kind: str) -> str:
        name = "nvrtcGetProgramLog" if kind == "Log" else f"nvrtcGet{kind}"
        size = ctypes.c_size_t()
        getattr(self.library, f"{name}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(max(size.value, 1))
        getattr(self.library, name)(program, text)
        return text.value.decode(errors="replace")


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
