"""Notes other tools' pragmas inside kernels: the host's fallback keeps them, kernels drop them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.ir.loop_tree import Kernel, SourceFile

_PRAGMA = re.compile(rb"^[ \t]*(#[ \t]*pragma[ \t]+([A-Za-z_]\w*)[^\n]*)$", re.MULTILINE)


def note_foreign_pragmas(
    file: SourceFile, kernels: Iterable[Kernel], skipped: Sequence[tuple[int, int]], diagnostics: Diagnostics
) -> None:
    """Report each foreign pragma inside a kernel, but for those in the `skipped` ranges."""
    for kernel in kernels:
        if kernel.range.file != file.path:
            continue
        for pragma in _PRAGMA.finditer(file.text, kernel.range.start.offset, kernel.range.end.offset):
            if pragma.group(2) == b"tilek" or any(first <= pragma.start(1) < last for first, last in skipped):
                continue
            text = pragma.group(1).rstrip()
            start = pragma.start(1)
            line = file.text.count(b"\n", 0, start) + 1
            column = start - file.text.rfind(b"\n", 0, start)
            range_ = SourceRange(
                Position(file.path, line, column, start),
                Position(file.path, line, column + len(text), start + len(text)),
            )
            diagnostics.note(range_, f"'{text.decode(errors='replace')}' is ignored in kernels and kept for the host")
