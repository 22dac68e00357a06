"""NVRTC, from its wheel or the system: compiles CUDA kernels without a GPU."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Callable
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
    """None if `text` compiles silently for `architecture` (sm_80, …), else the compiler's log."""
    return _compiled(text, architecture, options)[0]


def ptx(text: str, architecture: str, options: tuple[str, ...] = ()) -> str:
    """PTX of `text` for a virtual architecture (compute_80, …). Raises ValueError with the log."""
    error, code = _compiled(text, architecture, options)
    if error is not None:
        raise ValueError(error)
    return code


def _compiled(text: str, architecture: str, options: tuple[str, ...]) -> tuple[str | None, str]:
    library = nvrtc_library()
    if library is None:
        raise RuntimeError("NVRTC is absent")
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    words = [f"--gpu-architecture={architecture}".encode(), b"--fmad=false", *(option.encode() for option in options)]
    status = library.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words))
    log = _text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program).strip()
    code = _text(library.nvrtcGetPTXSize, library.nvrtcGetPTX, program) if status == 0 else ""
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return None if status == 0 and not log else log or f"status {status}", code


def _text(size_of: Callable[..., int], get: Callable[..., int], program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    get(program, text)
    return text.value.decode(errors="replace")
