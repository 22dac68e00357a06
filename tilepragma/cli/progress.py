"""The progress bar of commands that measure, and warnings beside it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


def measuring_progress() -> Progress:
    """A bar on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


def warn(progress: Progress, text: str) -> None:
    """A warning on standard error, above the bar where there is one."""
    if progress.disable:
        print(f"tilepragma: warning: {text}", file=sys.stderr)
    else:
        progress.console.print(f"tilepragma: warning: {text}", markup=False, highlight=False)
