"""OpenBLAS as a peer: the library that numpy's wheel holds or the system's, and products written as
calls to it.

The calls go from C, on the same arrays and the same clock as every other program.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy

from benchmarks.suite.hand import scop_of

#: How libraries spell cblas_dgemm, and whether integers are of 64 bits there.
_SPELLINGS = (("scipy_cblas_%s64_", True), ("cblas_%s64_", True), ("scipy_cblas_%s", False), ("cblas_%s", False))

#: By program, what stands in place of its scop; the macros are those of blas.h.
PRODUCTS = {
    "gemm": "GEMM(_PB_NI, _PB_NJ, _PB_NK, alpha, A, NK, B, NJ, beta, C, NJ);",
    "2mm": "GEMM(_PB_NI, _PB_NJ, _PB_NK, alpha, A, NK, B, NJ, 0, tmp, NJ);"
    " GEMM(_PB_NI, _PB_NL, _PB_NJ, 1, tmp, NJ, C, NL, beta, D, NL);",
    "3mm": "GEMM(_PB_NI, _PB_NJ, _PB_NK, 1, A, NK, B, NJ, 0, E, NJ);"
    " GEMM(_PB_NJ, _PB_NL, _PB_NM, 1, C, NM, D, NL, 0, F, NL); GEMM(_PB_NI, _PB_NL, _PB_NJ, 1, E, NJ, F, NL, 0, G, NL);",
    "symm": "SYMM(_PB_M, _PB_N, alpha, A, M, B, N, beta, C, N);",
    "syrk": "SYRK(_PB_N, _PB_M, alpha, A, M, beta, C, N);",
    "syr2k": "SYR2K(_PB_N, _PB_M, alpha, A, M, B, M, beta, C, N);",
    "trmm": "TRMM(_PB_M, _PB_N, alpha, A, M, B, N);",
    "tilek-sgemm": "GEMM(n, m, p, alpha, A, P, B, M, beta, C, M);",
    "product": "GEMM(n, n, n, 1, A, N, B, N, 1, C, N);",
    "ics-mv": "GEMV(CblasNoTrans, n, a, N, y, x);",
    "ics-tmv": "GEMV(CblasTrans, n, a, N, y, x);",
    "ics-mvt": "GEMV(CblasNoTrans, n, a, N, y, x); GEMV(CblasTrans, n, a, N, w, z);",
}


@dataclass(frozen=True)
class Library:
    """A BLAS: its file, how it spells the name of a routine, and the width of its integers."""

    path: Path
    spelling: str
    wide: bool

    def options(self) -> tuple[str, ...]:
        """What the compiler needs to call it."""
        before, after = self.spelling.split("%s")
        folder = self.path.parent
        return (
            f"-DBLAS_BEFORE={before}",
            f"-DBLAS_AFTER={after}",
            f"-DBLAS_INTEGER={'long long' if self.wide else 'int'}",
            str(self.path),
            f"-Wl,-rpath,{folder}",
            f"-Wl,-rpath-link,{folder}",
        )


def _candidates() -> Iterable[Path]:
    package = Path(numpy.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".libs"):
        yield from sorted(folder.glob("*openblas*.so*"))
    for name in ("openblas", "openblasp"):
        result = ctypes.util.find_library(name)
        if result is not None:
            folders = (
                Path("/usr/lib64"),
                Path("/usr/lib"),
                Path("/usr/local/lib"),
                *Path("/usr/lib").glob("*-linux-gnu*"),
            )
            yield from (place / result for place in folders if (place / result).is_file())


def find_library() -> Library | None:
    """The first OpenBLAS that can be opened, or None."""
    for path in _candidates():
        try:
            opened = ctypes.CDLL(str(path))
        except OSError:
            continue
        for spelling, wide in _SPELLINGS:
            if hasattr(opened, spelling % "dgemm"):
                return Library(path, spelling, wide)
    return None


def with_calls(text: str, program: str) -> str:
    """The program's text with its scop as calls of the library."""
    begin, end = scop_of(text)
    return f"{text[:begin]}{PRODUCTS[program]}\n{text[end:]}"
