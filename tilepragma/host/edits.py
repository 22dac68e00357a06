"""Edits of a source file by byte ranges, and assembly of the output with correct `#line`s."""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum

from tilepragma.base.c_text import line_directive
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.writer import GENERATED_LINE


class Rank(IntEnum):
    """The order of edits at one offset: ends come before begins."""

    END_INNER = 0
    END_OUTER = 1
    FILE_SCOPE = 2
    DIRECTIVE = 3
    BEGIN_OUTER = 4
    BEGIN_INNER = 5
    REPLACE = 6


@dataclass(frozen=True)
class Verbatim:
    """User-like text, on the line of the text that it replaces."""

    text: bytes


@dataclass(frozen=True)
class Edit:
    """Generated text at `start`, in place of the bytes up to `end` (none for an insertion).

    Without `text` the bytes become blanks and keep their lines. A string gets lines of its own,
    marked as generated; an Inlined file replaces its inclusion; Verbatim text stays on the line.
    `line` is the user's line that generated text stands for, by default that of `start`.
    """

    start: int
    end: int
    rank: Rank
    text: str | Inlined | Verbatim | None
    line: int | None = None


@dataclass(frozen=True)
class Inlined:
    """A header's text with its edits."""

    path: str
    source: bytes
    edits: tuple[Edit, ...]


@dataclass
class Assembly:
    """The output as it grows; `line` is the number of the current line, `kept` the user's text.

    `output` is its name for the `#line`s of generated text. If it has no name that a debugger can
    open, generated text has the number of the user's line that it stands for, so debuggers step
    over it with that line.
    """

    output: str
    chunks: list[bytes] = field(default_factory=list)
    kept: list[bytes] = field(default_factory=list)
    line: int = 1
    _at_line_start: bool = True

    def raw(self, text: bytes) -> None:
        """Append text unchanged."""
        if text:
            self.chunks.append(text)
            self.line += text.count(b"\n")
            self._at_line_start = text.endswith(b"\n")

    def fresh_line(self) -> None:
        """Go to the start of a line."""
        if not self._at_line_start:
            self.raw(b"\n")

    def directive(self, line: int, file: str) -> None:
        """Write `#line` for the text that follows."""
        self.fresh_line()
        self.raw(line_directive(line, file).encode() + b"\n")

    def generated(self, text: str, line: int, file: str) -> None:
        """Write generated lines, which stand for a user's line; their marks become `#line`s."""
        if not self.output:
            self._generated_for(text, line, file)
            return
        self.directive(self.line + 1 if self._at_line_start else self.line + 2, self.output)
        for piece in text.splitlines():
            if piece == GENERATED_LINE:
                self.directive(self.line + 1, self.output)
            else:
                self.raw(piece.encode() + b"\n")

    def _generated_for(self, text: str, line: int, file: str) -> None:
        """Write each stretch of generated code in one line, as macro arguments allow no `#line`."""
        is_users = is_inside = False
        for piece in text.splitlines():
            alone = piece.startswith(("#", "TILEK_GENERATED_"))
            is_users = piece.startswith("#line ") and piece != GENERATED_LINE or is_users and piece != GENERATED_LINE
            if is_users:
                self.fresh_line()
            elif alone or not is_inside:
                self.directive(line, file)
            if piece != GENERATED_LINE:
                self.raw(piece.encode() + (b"\n" if alone or is_users else b" "))
            is_inside = not (alone or is_users)
        self.fresh_line()

    def file(self, path: str, source: bytes, edits: tuple[Edit, ...]) -> None:
        """Write a file with its edits, in order of offset; edits must not overlap."""
        position = 0
        self.directive(1, path)
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.rank)):
            self._keep(source[position : edit.start])
            position = max(edit.end, position)
            if edit.text is None:
                self.raw(blanked(source[edit.start : edit.end]))
                continue
            if isinstance(edit.text, Verbatim):
                self.raw(edit.text.text)
                continue
            if isinstance(edit.text, Inlined):
                self.file(edit.text.path, edit.text.source, edit.text.edits)
            else:
                line = edit.line or source.count(b"\n", 0, edit.start) + 1
                self.generated(edit.text, line, path)
            self._resume(path, source, position)
        self._keep(source[position:])

    def _keep(self, text: bytes) -> None:
        self.kept.append(text)
        self.raw(text)

    def _resume(self, path: str, source: bytes, position: int) -> None:
        """Go on with the user's text at its line and, with blanks, at its column."""
        line_start = source.rfind(b"\n", 0, position) + 1
        self.directive(source.count(b"\n", 0, position) + 1, path)
        before = source[line_start:position]
        self.raw(bytes(c if c == 0x09 else 0x20 for c in before))


def blanked(text: bytes) -> bytes:
    """`text` with blanks for all but line ends and tabs."""
    return bytes(c if c in b"\r\n\t" else 0x20 for c in text)
