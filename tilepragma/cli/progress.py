"""The progress bar of commands that measure, and warnings beside it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

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
