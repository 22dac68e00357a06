"""NVRTC, from its wheel or the system: whether a CUDA kernel compiles for an architecture. No GPU is needed."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from pathlib import Path

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")


@functools.cache
def nvrtc_library() -> ctypes.CDLL | None:
    """The library, or None where it is absent."""
    candidates = ["libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"]
    package = importlib.util.find_spec("nvidia")
    for folder in package.submodule_search_locations or [] if package is not None else []:
        candidates = [*map(str, sorted(Path(folder).glob("cuda_nvrtc/lib/libnvrtc.so*"))), *candidates]
    for candidate in candidates:
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    return None


def compile_error(text: str, architecture: str, options: tuple[str, ...] = ()) -> str | None:
    """None where `text` compiles without a word for `architecture` (sm_80, …), else the compiler's log."""
    library = nvrtc_library()
    if library is None:
        raise RuntimeError("NVRTC is absent")
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    words = [f"--gpu-architecture={architecture}".encode(), b"--fmad=false", *(option.encode() for option in options)]
    status = library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    said = log.value.decode(errors="replace").strip()
    return None if status == 0 and not said else said or f"status {status}"
