"""A cheap textual answer to: could this source, or a header of the user's that it includes, hold a
tilek directive?

It may say yes too often (a comment that mentions tilek), never no wrongly, save where the name of a
header comes from a macro.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

_INCLUDE = re.compile(
    rb'^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]*(["<])([^">\r\n]+)[">]', re.MULTILINE
)
_MARK = b"tilek"
_NO_CODE = re.compile(rb'/\*.*?\*/|\bR"([^()\\\s]{0,16})\(.*?\)\1"|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_DIRECTIVE = re.compile(rb"^[ \t]*(?:#|%:)[ \t]*pragma[ \t]+tilek\b", re.MULTILINE)
_OPERATOR = re.compile(rb'\b_Pragma[ \t]*\([ \t]*"[ \t]*tilek\b')
#: The runtime's own header, by which translated sources mention tilek.
_OWN_HEADER = b"tilek.h"


class Scan(NamedTuple):
    """Whether tilek is mentioned, and the files that were read to find out (all of them only where it is not)."""

    mentions: bool
    files: tuple[str, ...]


def scan_source(path: str, quote_folders: Sequence[str], folders: Sequence[str], text: bytes | None = None) -> Scan:
    """Look through `path` (or `text`, in its place) and the headers reachable through its includes.

    `quote_folders` are searched for `#include "…"` only (-iquote), `folders` for both forms (-I).
    System folders are not searched. A file that cannot be read mentions nothing: the compiler will
    say so better.
    """
    seen: dict[str, None] = {}
    pending: list[tuple[str, bytes | None]] = [(path, text)]
    while pending:
        current, content = pending.pop()
        if current in seen:
            continue
        seen[current] = None
        content = _read(current) if content is None else content
        if _MARK in content.replace(_OWN_HEADER, b""):
            return Scan(True, tuple(seen))
        here = os.path.dirname(current)
        for form, name in _INCLUDE.findall(content):
            search = [here, *quote_folders, *folders] if form == b'"' else folders
            found = _find(os.fsdecode(name), search)
            if found is not None:
                pending.append((found, None))
    return Scan(False, tuple(seen))


class Directive(NamedTuple):
    """The first `#pragma tilek …` of a file; `line` and `column` count from 1."""

    file: str
    line: int
    column: int


def directive_in_text(file: str, content: bytes) -> Directive | None:
    """The first directive in a file's text, whatever language it is in; comments and strings hold none."""
    blank = _NO_CODE.sub(lambda match: re.sub(rb"[^\n]", b" ", match.group()), content)
    found = _DIRECTIVE.search(blank) or _OPERATOR.search(content)
    if found is None:
        return None
    start = content.index(found.group().lstrip()[:1], found.start())
    line_start = content.rfind(b"\n", 0, start) + 1
    return Directive(file, content.count(b"\n", 0, start) + 1, start - line_start + 1)


def directive_in(path: str, quote_folders: Sequence[str], folders: Sequence[str]) -> Directive | None:
    """The first directive in a source, else in a header that it includes."""
    for file in scan_source(path, quote_folders, folders).files:
        found = directive_in_text(file, _read(file))
        if found is not None:
            return found
    return None


def _find(name: str, folders: Sequence[str]) -> str | None:
    for folder in folders:
        candidate = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(candidate):
            return candidate
    return None


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
