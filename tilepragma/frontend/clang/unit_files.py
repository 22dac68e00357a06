"""Files of a translation unit: inclusions, and which headers hold directives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import ClangUnit
from tilepragma.ir.loop_tree import Inclusion, SourceFile

_REST_OF_LINE = re.compile(rb"(?:\\\r?\n|[^\n])*")


@dataclass(frozen=True)
class Included:
    """A file that `includer` includes at byte `offset`; the option -include has the includer ""."""

    path: str
    includer: str
    offset: int
    is_system: bool


def find_inclusions(unit: ClangUnit) -> tuple[Included, ...]:
    """Every inclusion, in the order of reading."""
    return tuple(
        Included(
            str(i.include.name),
            "" if i.source is None else str(i.source.name),
            int(i.location.offset),
            unit.is_system(str(i.include.name)),
        )
        for i in unit.handle.get_includes()
    )


def source_files(
    unit: ClangUnit, included: Sequence[Included], pragmas: Mapping[str, Sequence[SourceRange]]
) -> tuple[tuple[SourceFile, ...], tuple[Inclusion, ...]]:
    """The main file, headers with directives and their includers; and the `#include` lines."""
    wanted = set(pragmas) | {unit.main}
    for inclusion in reversed(included):
        if inclusion.path in wanted and inclusion.includer:
            wanted.add(inclusion.includer)
    names = [unit.main, *dict.fromkeys(i.path for i in included if i.path in wanted and i.path != unit.main)]
    files = tuple(SourceFile(name, unit.text(name), tuple(pragmas.get(name, ()))) for name in names)
    lines = tuple(
        Inclusion(_line(unit, i.includer, i.offset), i.path)
        for i in included
        if i.path in wanted and i.includer and i.path != unit.main
    )
    return files, lines


def _line(unit: ClangUnit, path: str, offset: int) -> SourceRange:
    """The whole `#include` directive around `offset`, without its newline."""
    text = unit.text(path)
    start = text.rfind(b"#", 0, offset)
    line = _REST_OF_LINE.match(text, start)
    end = offset if line is None else line.end()
    return unit.span(path, start, end)
