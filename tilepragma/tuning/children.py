"""How a program of ours or of the user's ended, for people."""

from __future__ import annotations

import signal


def ending(status: int) -> str:
    """`ended with status 3`, `was ended by signal 11 (SIGSEGV)`: a process by its return code, as `subprocess` has it."""
    if status >= 0:
        return f"ended with status {status}"
    names = {one.value: f" ({one.name})" for one in signal.Signals}
    return f"was ended by signal {-status}{names.get(-status, '')}"


def last_line(text: str) -> str:
    """`: LINE`, the last that a program said; empty where it said nothing."""
    said = text.strip().splitlines()
    return f": {said[-1]}" if said else ""
