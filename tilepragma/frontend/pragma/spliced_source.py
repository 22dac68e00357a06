"""A C file without line continuations, tokens of directives, and their offsets in the file.

Directives are lexed after C's translation phase 2 (backslash-newline removed) and, for `_Pragma`,
after its string is unescaped. Carets and rewriting need the exact bytes of each token.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import Position, SourceRange

# As gcc and clang do, blanks between a backslash and the line's end belong to the continuation.
_CONTINUATION = re.compile(rb"\\[ \t\f\v]*\r?\n")
_TOKEN = re.compile(
    rb"(?P<space>(?:[\s\0]|/\*.*?(?:\*/|\Z)|//[^\n]*)+)"
    rb"|(?P<identifier>[A-Za-z_$\x80-\xff][A-Za-z0-9_$\x80-\xff]*)"
    rb"|\.?[0-9](?:[eEpP][+-]|[A-Za-z0-9_.])*"
    rb"|(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    rb"|(?:<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)",
    re.DOTALL,
)


class SplicedSource:
    """The file at `path`: its bytes as they are (`original`) and after line splicing (`text`)."""

    def __init__(self, path: str, original: bytes) -> None:
        self.path = path
        self.original = original
        pieces: list[bytes] = []
        self._splices: list[int] = []
        self._removed: list[int] = []
        last = removed = 0
        for match in _CONTINUATION.finditer(original):
            pieces.append(original[last : match.start()])
            self._splices.append(match.start() - removed)
            removed += match.end() - match.start()
            self._removed.append(removed)
            last = match.end()
        self.text = b"".join([*pieces, original[last:]]) if pieces else original
        self._line_starts: list[int] | None = None

    def origin(self, offset: int) -> int:
        """The offset in the file of the byte at `offset` of `text`."""
        index = bisect_right(self._splices, offset)
        return offset + (self._removed[index - 1] if index else 0)

    def origin_end(self, offset: int) -> int:
        """The file offset behind the byte before `offset` of `text`, where a range may end."""
        return self.origin(offset - 1) + 1 if offset else 0

    def position(self, offset: int) -> Position:
        """Line and column of the byte at `offset` of the file; a column is a character of UTF-8."""
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in re.finditer(rb"\n", self.original))]
        line = bisect_right(self._line_starts, offset)
        before = self.original[self._line_starts[line - 1] : offset]
        return Position(self.path, line, len(before.decode("utf-8", "replace")) + 1, offset)

    def range(self, start: int, end: int) -> SourceRange:
        """The range [start, end) of offsets of the file."""
        return SourceRange(self.position(start), self.position(end))


@dataclass(frozen=True)
class DirectiveText:
    """The text of a directive behind the introducer of `tilek`, spliced and unescaped.

    `origins` has the file offset of each byte of `content`.
    """

    source: SplicedSource
    content: bytes
    origins: Sequence[int]


@dataclass(frozen=True)
class Token:
    """One preprocessing token; `spaced` tells that white space or a comment stands before it.

    `is_identifier`: it is a name, or a keyword.
    """

    text: str
    range: SourceRange
    spaced: bool
    is_identifier: bool


def tokenize(text: DirectiveText) -> tuple[Token, ...]:
    """The tokens of a directive, without comments and white space."""
    tokens: list[Token] = []
    spaced = False
    for match in _TOKEN.finditer(text.content):
        if match.lastgroup == "space":
            spaced = True
            continue
        span = text.source.range(text.origins[match.start()], text.origins[match.end() - 1] + 1)
        text_ = match.group().decode("utf-8", "replace")
        tokens.append(Token(text_, span, spaced, match.lastgroup == "identifier"))
        spaced = False
    return tuple(tokens)


def range_of(tokens: Sequence[Token]) -> SourceRange:
    """The range from the first to the last of `tokens`, which are not empty."""
    return SourceRange(tokens[0].range.start, tokens[-1].range.end)


def text_of(tokens: Sequence[Token]) -> str:
    """The tokens as text; one blank stands for any white space or comment."""
    return "".join((" " if token.spaced and index else "") + token.text for index, token in enumerate(tokens))
