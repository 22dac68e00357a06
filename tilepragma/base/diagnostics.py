"""Diagnostics: collected over a run, with source ranges, rendered as C compilers do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from enum import Enum

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange


class Severity(Enum):
    """How serious a diagnostic is; only ERROR stops the translation."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Diagnostic:
    """One message about one range; `notes` tell remedies or related places. `openmp_line` is the
    line of OpenMP whose kernel it is about, if any. `contradicts`: it says what is proven, and is
    not what the user promises (`independent`).
    """

    severity: Severity
    range: SourceRange
    message: str
    notes: tuple[Diagnostic, ...] = ()
    openmp_line: SourceRange | None = field(default=None, compare=False)
    contradicts: bool = False


class SourceError(Exception):
    """The user's source is unacceptable, and the pass cannot go on with this construct."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class LocatedError(Exception):
    """The errors, one or more and in order, in a user's file that is no source."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(diagnostic.message for diagnostic in diagnostics))
        self.diagnostics = diagnostics


@dataclass
class Diagnostics:
    """Collects every diagnostic of a run, in order of discovery."""

    items: list[Diagnostic] = field(default_factory=list)
    _openmp_line: SourceRange | None = None

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)

    @property
    def has_errors(self) -> bool:
        """Whether an error was reported."""
        return any(item.severity is Severity.ERROR for item in self.items)

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep `diagnostic` unless an equal one was kept before."""
        if diagnostic not in self.items:
            line = diagnostic.openmp_line or self._openmp_line
            self.items.append(replace(diagnostic, openmp_line=line) if line is not None else diagnostic)

    def add_all(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep the diagnostics of another run, such as an accepted trial."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @contextmanager
    def about(self, openmp_line: SourceRange | None) -> Iterator[None]:
        """What is reported in the block is about the kernel of this line, if there is one."""
        outer, self._openmp_line = self._openmp_line, openmp_line
        try:
            yield
        finally:
            self._openmp_line = outer

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Keep the diagnostic of a SourceError that ends the block."""
        try:
            yield
        except SourceError as error:
            self.add(error.diagnostic)

    def error(self, range_: SourceRange, message: str, *remedies: str) -> Diagnostic:
        """Report an error at `range_`; each remedy becomes a note at the same place."""
        return self._report(Severity.ERROR, range_, message, remedies)

    def warning(self, range_: SourceRange, message: str, *remedies: str) -> Diagnostic:
        """Report a warning at `range_`; each remedy becomes a note at the same place."""
        return self._report(Severity.WARNING, range_, message, remedies)

    def note(self, range_: SourceRange, message: str, *remedies: str) -> Diagnostic:
        """Report a note at `range_`; each remedy becomes a further note at the same place."""
        return self._report(Severity.NOTE, range_, message, remedies)

    def _report(self, severity: Severity, range_: SourceRange, message: str, remedies: tuple[str, ...]) -> Diagnostic:
        notes = tuple(Diagnostic(Severity.NOTE, range_, remedy) for remedy in remedies)
        diagnostic = Diagnostic(severity, range_, message, notes)
        self.add(diagnostic)
        return diagnostic


def source_error(range_: SourceRange, message: str, *remedies: str) -> SourceError:
    """The exception for an error at `range_`; each remedy becomes a note at the same place."""
    notes = tuple(Diagnostic(Severity.NOTE, range_, remedy) for remedy in remedies)
    return SourceError(Diagnostic(Severity.ERROR, range_, message, notes))


def render(diagnostic: Diagnostic, line_of: Callable[[str, int], str | None]) -> str:
    """`file:line:col: severity: message`, the source line and a caret; then the notes.

    `line_of(file, line)` gives the text of a source line, or None if it is unavailable. A note at
    its parent's range repeats neither line nor caret.
    """
    text = _head(diagnostic) + _excerpt(diagnostic.range, line_of)
    for note in diagnostic.notes:
        text += _head(note) + ("" if note.range == diagnostic.range else _excerpt(note.range, line_of))
    return text


def _head(diagnostic: Diagnostic) -> str:
    start = diagnostic.range.start
    return f"{start.place}:{start.column}: {diagnostic.severity.value}: {diagnostic.message}\n"


def _excerpt(range_: SourceRange, line_of: Callable[[str, int], str | None]) -> str:
    line = line_of(range_.start.file, range_.start.line)
    if line is None:
        return ""
    column = range_.start.column
    width = range_.end.column - column if range_.end.line == range_.start.line else len(line.rstrip()) - column + 1
    pad = "".join("\t" if c == "\t" else " " for c in line[: column - 1])
    return f" {line.rstrip()}\n {pad}^{'~' * max(0, width - 1)}\n"
