"""A cheap textual test: could this source, or a user's header, hold a tilek directive?

False positives are possible (a comment that mentions tilek), false negatives only if a header's
name comes from a macro.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tilepragma.base.source_ranges import Position

_INCLUDE = re.compile(
    rb'^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]*(["<])([^">\r\n]+)[">]', re.MULTILINE
)
_MARK = b"tilek"
_OPENMP = re.compile(rb"\bomp\b")
_NO_CODE = re.compile(rb'/\*.*?\*/|\bR"([^()\\\s]{0,16})\(.*?\)\1"|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_DIRECTIVE = re.compile(rb"^[ \t]*(?:#|%:)[ \t]*pragma[ \t]+tilek\b", re.MULTILINE)
_OPERATOR = re.compile(rb'\b_Pragma[ \t]*\([ \t]*"[ \t]*tilek\b')
#: The runtime's header; sources that include it mention tilek, but need no directive.
_RUNTIME_HEADER = b"tilek.h"


class Scan(NamedTuple):
    """Whether tilek is mentioned, and the files read so far (all files if not)."""

    mentions: bool
    files: tuple[str, ...]


def scan_source(
    path: str, quote_folders: Sequence[str], folders: Sequence[str], text: bytes | None = None, openmp: bool = False
) -> Scan:
    """Scan `path` (or `text` in its place) and the headers reachable through its includes. With
    `openmp`, the word `omp` is a mention too.

    `quote_folders` are searched for `#include "…"` only (-iquote), `folders` for both forms (-I),
    system folders never. A file that cannot be read counts as empty: the compiler will report it.
    """
    seen: dict[str, None] = {}
    pending: list[tuple[str, bytes | None]] = [(path, text)]
    while pending:
        current, content = pending.pop()
        if current in seen:
            continue
        seen[current] = None
        content = content_of(current) if content is None else content
        if _MARK in content.replace(_RUNTIME_HEADER, b"") or (openmp and _OPENMP.search(content) is not None):
            return Scan(True, tuple(seen))
        folder = os.path.dirname(current)
        for form, name in _INCLUDE.findall(content):
            search = [folder, *quote_folders, *folders] if form == b'"' else folders
            header = _find(os.fsdecode(name), search)
            if header is not None:
                pending.append((header, None))
    return Scan(False, tuple(seen))


def directive_in_text(file: str, content: bytes) -> Position | None:
    """Where the first `#pragma tilek …` stands in a text of any language, if not in a comment."""
    blank = _NO_CODE.sub(lambda match: re.sub(rb"[^\n]", b" ", match.group()), content)
    directive = _DIRECTIVE.search(blank) or _OPERATOR.search(content)
    if directive is None:
        return None
    from tilepragma.base.source_ranges import Position  # tilecc passes other sources on without dataclasses

    start = content.index(directive.group().lstrip()[:1], directive.start())
    line_start = content.rfind(b"\n", 0, start) + 1
    return Position(file, content.count(b"\n", 0, start) + 1, start - line_start + 1, start)


def directive_in(path: str, quote_folders: Sequence[str], folders: Sequence[str]) -> Position | None:
    """Where the first directive stands in a source, or in a header that it includes."""
    places = (directive_in_text(file, content_of(file)) for file in scan_source(path, quote_folders, folders).files)
    return next((place for place in places if place is not None), None)


def _find(name: str, folders: Sequence[str]) -> str | None:
    candidates = (os.path.normpath(os.path.join(folder, name)) for folder in folders)
    return next(filter(os.path.isfile, candidates), None)


def content_of(path: str) -> bytes:
    """The content of a file; empty for what is no file, or cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
