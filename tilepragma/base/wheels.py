"""Where wheels of this Python environment keep libraries that the runtime can open when the system has none."""

from __future__ import annotations

import sys
from pathlib import Path

#: Macro of the runtime -> places of the library, relative to a folder of packages; the newest match
#: counts.
_PLACES = {
    "TILEK_WHEEL_OPENCL": ("pyopencl/.libs/libOpenCL*.so*", "pyopencl.libs/libOpenCL*.so*"),
    "TILEK_WHEEL_NVRTC": ("nvidia/cuda_nvrtc/lib/libnvrtc.so.*", "nvidia/cu*/lib/libnvrtc.so.*"),
}


def wheel_macros() -> list[str]:
    """`-DMACRO="path"` for each library found."""
    macros = []
    for macro in _PLACES:
        found = wheel_library(macro)
        if found is not None:
            macros.append(f'-D{macro}="{found}"')
    return macros


def wheel_library(macro: str) -> Path | None:
    """The library that TILEK_WHEEL_OPENCL or TILEK_WHEEL_NVRTC names, or None."""
    return _first(_PLACES[macro])


def _first(patterns: tuple[str, ...]) -> Path | None:
    for folder in sys.path:
        base = Path(folder)
        if not folder or base.name not in ("site-packages", "dist-packages"):
            continue
        for pattern in patterns:
            matches = sorted(base.glob(pattern), reverse=True)
            if matches:
                return matches[0]
    return None
