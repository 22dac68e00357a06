"""Edits of a source file by byte ranges, and the assembly of the output with right `#line`s throughout."""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum

from tilepragma.base.c_text import line_directive
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.writer import GENERATED_LINE


class Rank(IntEnum):
    """The order of edits at one offset: what ends there comes before what begins there."""

    END_INNER = 0
    END_OUTER = 1
    FILE_SCOPE = 2
    DIRECTIVE = 3
    BEGIN_OUTER = 4
    BEGIN_INNER = 5
    REPLACE = 6


@dataclass(frozen=True)
class Verbatim:
    """Text of the user's kind, on the line of what it replaces."""

    text: bytes


@dataclass(frozen=True)
class Edit:
    """Generated text at `start`, in place of the bytes up to `end` (none for an insertion).

    Without `text` what is replaced becomes blank and keeps its lines. A string stands on lines of
    its own, marked as generated; an Inlined file in place of its inclusion; Verbatim text where it
    replaces. `line` is the user's that generated text stands for, by default that of `start`.
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
    """The output as it grows; `line` is the number of the line being written, `kept` the user's
    text in it.

    `output` is its name for the `#line`s of generated text. Where it has no name that a debugger
    could open, generated text has the number of the user's line that it stands for: debuggers step
    over it as over that line.
    """

    output: str
    chunks: list[bytes] = field(default_factory=list)
    kept: list[bytes] = field(default_factory=list)
    line: int = 1
    _at_line_start: bool = True

    def raw(self, text: bytes) -> None:
        """Text as it stands."""
        if text:
            self.chunks.append(text)
            self.line += text.count(b"\n")
            self._at_line_start = text.endswith(b"\n")

    def fresh_line(self) -> None:
        """Go to the start of a line."""
        if not self._at_line_start:
            self.raw(b"\n")

    def directive(self, line: int, file: str) -> None:
        """`#line` for the text that follows."""
        self.fresh_line()
        self.raw(line_directive(line, file).encode() + b"\n")

    def generated(self, text: str, line: int, file: str) -> None:
        """Generated lines; the marks in them become `#line`s of the output file. They stand for a line of a file of the user's."""
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
        """Each stretch of generated code takes one line: no `#line` may stand inside of what could be the arguments of a macro."""
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
        """A file with its edits, in order of offset; edits do not overlap."""
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
    """`text` with everything but the line ends turned into blanks."""
    return bytes(c if c in b"\r\n\t" else 0x20 for c in text)
