"""Libraries from wheels of this Python environment, for systems that have none."""

from __future__ import annotations

import sys
from pathlib import Path

#: Macro of the runtime -> patterns of library paths in a folder of packages; the newest match wins.
_PLACES = {
    "TILEK_WHEEL_OPENCL": ("pyopencl/.libs/libOpenCL*.so*", "pyopencl.libs/libOpenCL*.so*"),
    "TILEK_WHEEL_NVRTC": ("nvidia/cuda_nvrtc/lib/libnvrtc.so.*", "nvidia/cu*/lib/libnvrtc.so.*"),
}


def wheel_macros() -> list[str]:
    """`-DMACRO="path"` for each library that exists."""
    libraries = {macro: wheel_library(macro) for macro in _PLACES}
    return [f'-D{macro}="{library}"' for macro, library in libraries.items() if library is not None]


def wheel_library(macro: str) -> Path | None:
    """The library that TILEK_WHEEL_OPENCL or TILEK_WHEEL_NVRTC names, or None."""
    for folder in sys.path:
        base = Path(folder)
        if not folder or base.name not in ("site-packages", "dist-packages"):
            continue
        for pattern in _PLACES[macro]:
            matches = sorted(base.glob(pattern), reverse=True)
            if matches:
                return matches[0]
    return None
