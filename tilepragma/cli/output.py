"""What commands print: diagnostics as C compilers do, reports, tables, progress, faults."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.deep_recursion import is_too_deep
from tilepragma.base.diagnostics import Diagnostic, render
from tilepragma.base.files import file_bytes

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table


#: Exit statuses: errors in the source, and an internal fault.
SOURCE_ERRORS, INTERNAL_FAULT = 1, 3
_COLOURS = {"error: ": "bold red", "warning: ": "bold magenta", "note: ": "bold cyan"}


def print_error(message: str, program: str = "tilepragma") -> None:
    """`program: error: message` on standard error."""
    print(f"{program}: error: {message}", file=sys.stderr)


def print_diagnostics(diagnostics: Sequence[Diagnostic], source: str, text: bytes | None) -> None:
    """Print all on standard error. `text` is the content of a `source` without a file."""
    if not diagnostics:
        return
    line_of = line_reader(source, text)
    rendered = "".join(render(diagnostic, line_of) for diagnostic in diagnostics)
    if sys.stderr.isatty() and "NO_COLOR" not in os.environ:
        rendered = _coloured(rendered)
    sys.stderr.write(rendered)


def print_report(text: str) -> None:
    """A report on standard output, in colours on a terminal."""
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        from rich.console import Console
        from rich.text import Text

        styled = Text(text)
        for pattern, style in _REPORT_COLOURS.items():
            styled.highlight_regex(pattern, style)
        Console(soft_wrap=True).print(styled, end="")
    else:
        sys.stdout.write(text)


_REPORT_COLOURS = {
    r"(?m)^\S.*: kernel .*$": "bold",
    r"(?m)^  nest over .*$": "bold",
    r"\bDOALL\b": "green",
    r"\bDOACROSS\b": "yellow",
    r"\bsequential\b": "red",
    r"(?m)^  (as written|rejected) ": "bold red",
    r"(?m)^ +\d+  ": "dim",
    r"\bS\d+\b": "cyan",
}


def line_reader(source: str, text: bytes | None) -> Callable[[str, int], str | None]:
    """A function that returns a line of a file by number, None if it does not exist."""
    read: dict[str, list[str]] = {}
    if text is not None:
        read[source] = text.decode("utf-8", "replace").splitlines()

    def line_of(file: str, line: int) -> str | None:
        if file not in read:
            try:
                read[file] = file_bytes(Path(file)).decode("utf-8", "replace").splitlines()
            except OSError:
                read[file] = []
        lines = read[file]
        return lines[line - 1] if 0 < line <= len(lines) else None

    return line_of


def _coloured(text: str) -> str:
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    styled.highlight_words(list(_COLOURS), "bold")
    for word, style in _COLOURS.items():
        styled.highlight_words([word], style)
    styled.highlight_regex(r"(?m)^ *\t*\^~*$", "bold green")
    console = Console(file=sys.stderr, force_terminal=True, soft_wrap=True)
    with console.capture() as capture:
        console.print(styled, end="")
    return capture.get()


def as_json(diagnostics: Sequence[Diagnostic]) -> str:
    """A JSON array with an object a diagnostic; columns and lines count from 1."""
    return json.dumps([_diagnostic_object(diagnostic) for diagnostic in diagnostics], indent=2)


def _diagnostic_object(diagnostic: Diagnostic) -> dict[str, object]:
    return {
        "severity": diagnostic.severity.value,
        "file": diagnostic.range.start.file_name,
        "line": diagnostic.range.start.line,
        "column": diagnostic.range.start.column,
        "end_line": diagnostic.range.end.line,
        "end_column": diagnostic.range.end.column,
        "message": diagnostic.message,
        "notes": [_diagnostic_object(note) for note in diagnostic.notes],
    }


def report_fault(program: str, arguments: Sequence[str], source: str, text: bytes | None, fault: Exception) -> int:
    """Apologise, and save the input, the command and the traceback for a bug report. Returns the
    exit status.

    A source nested too deeply for Python is an ordinary error, whichever command noticed it. `text`
    is the content of a `source` without a file.
    """
    if is_too_deep(fault):
        from tilepragma.driver.texts import too_deep

        if text is None:
            text = file_bytes(Path(source))
        print_diagnostics([too_deep(source, text)], source, text)
        return SOURCE_ERRORS
    folder = Path(tempfile.mkdtemp(prefix="tilepragma-fault-"))
    trace = "".join(traceback.format_exception(fault))
    command = f"cd {os.getcwd()}\n{program} {' '.join(arguments)}\n"
    (folder / "command.txt").write_text(command, errors="surrogateescape")
    (folder / "traceback.txt").write_text(trace)
    try:
        (folder / os.path.basename(source)).write_bytes(file_bytes(Path(source)))
    except OSError:
        (folder / "input.txt").write_text(f"{source} could not be read again\n")
    last = trace.strip().splitlines()[-1]
    print(
        f"{program}: internal fault: {last}\n"
        f"  Sorry, this is a defect of tilepragma, not of your program. Nothing was written.\n"
        f"  Please report it with the files in {folder} (your source, the command, the traceback).",
        file=sys.stderr,
    )
    return INTERNAL_FAULT


# -- text tables


_WIDEST = 1000


def new_table(title: str | None, left: Iterable[str], right: Iterable[str]) -> Table:
    """A table with columns of text, and behind them, to the right, columns of numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in left:
        table.add_column(name, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_table(table: Table) -> None:
    """Print a table in full width: a narrow terminal wraps lines instead of cutting numbers."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(highlight=False, soft_wrap=True)
    wide = console.options.update(width=_WIDEST)
    console.width = max(console.width, Measurement.get(console, wide, table).maximum)
    console.print(table)


# -- progress


#: Characters of the bar.
_BAR = 10


def measuring_progress(unit: str = "") -> Progress:
    """A bar on standard error if that is a terminal; it counts in `unit`, and cuts long text."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        BarColumn(bar_width=_BAR),
        MofNCompleteColumn(),
        *((TextColumn(unit),) if unit else ()),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True, expand=True)


def warn(progress: Progress, text: str) -> None:
    """A warning on standard error, above the bar if there is one."""
    if progress.disable:
        print(f"tilepragma: warning: {text}", file=sys.stderr)
    else:
        progress.console.print(f"tilepragma: warning: {text}", markup=False, highlight=False)
