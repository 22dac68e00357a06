"""Source positions: the place of a construct in the user's files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Position:
    """One character of a file. `line` and `column` count from 1, `offset` is in bytes from 0."""

    file: str
    line: int
    column: int
    offset: int

    @property
    def file_name(self) -> str:
        """The file as C compilers print it. libclang prints `./k.h` for a header beside `k.c`."""
        return self.file.removeprefix("./")

    @property
    def place(self) -> str:
        """`FILE:LINE`, for messages and comments."""
        return f"{self.file_name}:{self.line}"


@dataclass(frozen=True)
class SourceRange:
    """The half-open range [start, end) of one construct; both ends lie in one file."""

    start: Position
    end: Position

    @property
    def file(self) -> str:
        """The file, as libclang names it."""
        return self.start.file

    def holds(self, file: str, offset: int) -> bool:
        """Whether a byte of a file lies in the range."""
        return file == self.file and self.start.offset <= offset < self.end.offset


#: The range of values that no user wrote (defaults, command-line settings).
NOWHERE = SourceRange(Position("<built-in>", 1, 1, 0), Position("<built-in>", 1, 1, 0))
