"""The manifest as C: initialisers of tilek_kernel and of all it points to."""

from __future__ import annotations

from tilepragma.base.c_text import quote
from tilepragma.codegen.manifest import KernelManifest, LaunchShape
from tilepragma.codegen.templates import render

#: Longest piece of program text in one literal; C99 promises 4095 characters.
_PIECE = 2000


def kernel_symbol(name: str) -> str:
    """The C name of a region's tilek_kernel."""
    return f"tilek_{name}_kernel"


def kernel_constants(manifest: KernelManifest) -> str:
    """File-scope definitions for one region. The host functions must stand before them."""
    return render(
        "c/kernel.c.j2",
        kernel=manifest,
        symbol=kernel_symbol(manifest.name),
        prefix=f"tilek_{manifest.name}",
        quote=quote,
        flags=_flags,
        int64=_int64,
        limit=_limit,
        programs=[
            (name, pieces(text))
            for name, text in (
                ("opencl", manifest.opencl),
                ("cuda", manifest.cuda),
                ("processors", manifest.processors),
            )
            if text
        ],
        host_loops=_numbers(manifest.host_launches),
        device_loops=_numbers(manifest.device_launches),
    )


def pieces(text: str) -> list[list[str]]:
    """C string literals of the text's lines, in groups that are one array element each."""
    groups: list[list[str]] = [[]]
    size = 0
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), _PIECE):
            part = line[start : start + _PIECE]
            if size + len(part) > _PIECE and groups[-1]:
                groups.append([])
                size = 0
            size += len(part)
            ending = "\\n" if part.endswith("\n") else ""
            groups[-1].append(quote(part.rstrip("\n"))[:-1] + ending + '"')
    return groups


def _numbers(launches: tuple[LaunchShape, ...]) -> list[int]:
    return [loop.number for launch in launches for loop in launch.loops if loop.number is not None]


def _flags(names: tuple[str, ...]) -> str:
    return " | ".join(f"TILEK_{name}" for name in names) or "0"


def _limit(value: int | None) -> str:
    return "INT64_MAX" if value is None else _int64(value)


def _int64(value: int) -> str:
    if value == -(2**63):
        return "INT64_MIN"
    return "INT64_MAX" if value == 2**63 - 1 else str(value)
