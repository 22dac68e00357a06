"""Finds tokens and headers in C text by lexing only: their places, not their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_BLANK = re.compile(rb"(?:[ \t\r\n\f\v]+|/\*.*?\*/|//(?:\\\r?\n|[^\n])*|\\\r?\n)+", re.DOTALL)
_DIRECTIVE_LINE = re.compile(rb"(?:#|%:|\?\?=)(?:\\\r?\n|/\*.*?\*/|[^\n])*", re.DOTALL)
_PRAGMA_OPERATOR = re.compile(rb'_Pragma\s*\(\s*L?"(?:\\.|[^"\\])*"\s*\)')
_TOKEN = re.compile(
    rb"""
    (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<text>L?"(?:\\.|[^"\\])*"|L?'(?:\\.|[^'\\])*')
  | (?P<mark>.)
    """,
    re.DOTALL | re.VERBOSE,
)
#: A preprocessor line or a comment.
_LINE = rb"[ \t]*#(?:[^\n\\]|\\.)*\n|/\*.*?\*/|//[^\n]*\n"
_SPECIFIER = (
    rb"__attribute__\s*\(\(.*?\)\)|\[\[.*?\]\]|\b(?:static|inline|extern|_Noreturn|__inline__|__inline|__extension__)\b"
)
_PREFIX = re.compile(rb"(?:%s)(?:\s*(?:%s|%s))*\s*\Z" % (_SPECIFIER, _SPECIFIER, _LINE), re.DOTALL)
_CONDITIONAL = re.compile(rb"^[ \t]*#[ \t]*(if|endif)", re.MULTILINE)
_CALL = re.compile(rb"[ \t]*\(")
_KEYWORDS = frozenset(b"break case continue default do else for goto if return switch while".split())
_OPENERS, _CLOSERS = (b"(", b"[", b"{"), (b")", b"]", b"}")


def tokens(text: bytes, offset: int, skipped: Sequence[tuple[int, int]] = ()) -> Iterator[tuple[int, bytes]]:
    """Offset and text of every token from `offset` on.

    Skips comments, preprocessor lines, _Pragma operators and the ranges `skipped`.
    """
    while True:
        following = next_statement(text, offset, {}, skipped)
        if following is None or (token := _TOKEN.match(text, following)) is None:
            return
        yield following, token.group()
        offset = token.end()


def skip_blank(text: bytes, offset: int) -> int:
    """The next token's offset, behind blanks, comments, preprocessor lines, _Pragma operators."""
    while True:
        for pattern in (_BLANK, _DIRECTIVE_LINE, _PRAGMA_OPERATOR):
            match = pattern.match(text, offset)
            if match is not None:
                offset = match.end()
                break
        else:
            return offset


def next_statement(
    text: bytes, offset: int, directives: Mapping[int, int], skipped: Sequence[tuple[int, int]]
) -> int | None:
    """Where the statement after `offset` begins; None at the end of the file.

    `directives` maps the start of each of our directives to its end, `skipped` are the ranges that
    the preprocessor left out.
    """
    while True:
        following = directives.get(offset)
        if following is None:
            following = next((end for start, end in skipped if start <= offset < end), None)
        if following is None:
            blank = _BLANK.match(text, offset)
            following = offset if blank is None else blank.end()
            if following == offset:
                following = skip_blank(text, offset)
        if following == offset:
            return offset if offset < len(text) else None
        offset = following


def macro_use_end(text: bytes, offset: int) -> int | None:
    """The offset behind the macro use (with arguments) at `offset`; None if there can be none."""
    word = _TOKEN.match(text, offset)
    if word is None or word["word"] is None or word.group() in _KEYWORDS:
        return None
    opening = _CALL.match(text, word.end())
    if opening is None:
        return word.end()
    depth = 0
    for position, token in tokens(text, opening.end() - 1):
        depth += (token in _OPENERS) - (token in _CLOSERS)
        if depth <= 0:
            return position + len(token)
    return len(text)


def header_semicolons(text: bytes, offset: int, skipped: Sequence[tuple[int, int]] = ()) -> tuple[int, int] | None:
    """The offsets of the two semicolons in the header of the `for` at `offset`, or None.

    `skipped` are the ranges that the preprocessor left out.
    """
    depth = 0
    semicolons: list[int] = []
    for position, token in tokens(text, offset, skipped):
        if token in _OPENERS:
            depth += 1
        elif token in _CLOSERS:
            depth -= 1
            if depth == 0:
                break
        elif token == b";" and depth == 1:
            semicolons.append(position)
    return (semicolons[0], semicolons[1]) if len(semicolons) == 2 and text[offset : offset + 3] == b"for" else None


def declaration_start(text: bytes, offset: int) -> int:
    """The start of a declaration, before attributes, storage classes and an `#if` around them.

    `offset` is where the declaration's type stands.
    """
    prefix = _PREFIX.search(text, max(0, offset - 400), offset)
    if prefix is None:
        return offset
    start, open_ends = prefix.start(), 0
    for line in reversed(list(_CONDITIONAL.finditer(text, 0, offset))):
        if line.start() < start and open_ends <= 0:
            break
        open_ends += 1 if line[1] == b"endif" else -1
        if line.start() < start and open_ends == 0:
            return line.start()
    return start
