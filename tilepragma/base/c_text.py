"""Foreign text (paths, names, versions) inside C: in string literals, comments and `#line`s.

Paths are bytes that need not be UTF-8. Python holds such bytes as lone surrogates, which become the
same bytes again here.
"""

from __future__ import annotations

import re

_COMMENT_MARKS = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)")
_TRIGRAPHS = re.compile(r"(?<=\?)\?")


def quote(text: str) -> str:
    """`text` as a C string literal, on one line and in every dialect, with or without trigraphs."""
    return '"' + _TRIGRAPHS.sub(r"\\?", _visible(text.replace("\\", "\\\\").replace('"', '\\"'))) + '"'


def line_directive(line: int, file: str) -> str:
    """`#line line "file"`."""
    return f"#line {line} {quote(file)}"


def in_comment(text: str) -> str:
    """`text` for a comment of C, on one line: it neither ends the comment nor begins another."""
    return _COMMENT_MARKS.sub(" ", _visible(text))


def _visible(text: str) -> str:
    """`text` with octal escapes for bytes that are not UTF-8, or do not print."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "".join(f"\\{b:03o}" for b in _bytes(c)) for c in text)


def _bytes(character: str) -> bytes:
    return character.encode("utf-8", "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass")
