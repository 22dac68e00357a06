"""Translation units from marked C text, without the front end.

`/*[*/ … /*]*/` encloses a kernel region, `/*{*/ … /*}*/` the statement of a data region, `/*^*/`
stands where file-scope code may go. `HERE` asserts that the compiler sees the line it stands on.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tilepragma.base.resources import resource_folder
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.ir.loop_tree import SourceFile

_PRAGMA = re.compile(rb'#[ \t]*pragma[ \t]+tilek(?:\\\n|[^\n])*|_Pragma\("tilek[^"]*"\)')


def file(path: str, text: str) -> SourceFile:
    """A source file; every HERE becomes an assertion of its own line."""
    lines = [
        re.sub(r"\bHERE\b", f'_Static_assert(__LINE__ == {number}, "{path} {number}");', line)
        for number, line in enumerate(text.splitlines(), 1)
    ]
    data = ("\n".join(lines) + "\n").encode()
    return SourceFile(path, data, tuple(span(path, data, m.start(), m.end()) for m in _PRAGMA.finditer(data)))


def span(path: str, data: bytes, start: int, end: int) -> SourceRange:
    return SourceRange(position(path, data, start), position(path, data, end))


def position(path: str, data: bytes, offset: int) -> Position:
    line_start = data.rfind(b"\n", 0, offset) + 1
    return Position(path, data.count(b"\n", 0, offset) + 1, offset - line_start + 1, offset)


def enclosed(source: SourceFile, opening: str = "/*[*/", closing: str = "/*]*/", which: int = 0) -> SourceRange:
    """The range between the marks, the `which`th of the file."""
    start = -1
    for _ in range(which + 1):
        start = source.text.index(opening.encode(), start + 1)
    end = source.text.index(closing.encode(), start)
    return span(source.path, source.text, start + len(opening), end)


def insertion(source: SourceFile, which: int = 0) -> int:
    """Where file-scope code goes: the `which`th `/*^*/`."""
    results = [match.start() for match in re.finditer(rb"/\*\^\*/", source.text)]
    return results[which]


def compiles(folder: Path, text: bytes, *options: str) -> str:
    """What gcc says of `text` under the strictest warnings; empty where it says nothing."""
    (folder / "OUT.c").write_bytes(text)
    include = str(resource_folder("runtime") / "include")
    command = ["gcc", "-Wall", "-Wextra", "-fsyntax-only", "-I", include, *options, "OUT.c"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr
