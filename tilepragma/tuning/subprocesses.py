"""How a process ended, for people."""

from __future__ import annotations

import signal

#: The most characters of a line that are shown.
_MOST = 200


def ending(status: int) -> str:
    """`ended with status 3`, `was ended by signal 11 (SIGSEGV)`, by `subprocess`'s return code."""
    if status >= 0:
        return f"ended with status {status}"
    names = {Signal.value: f" ({Signal.name})" for Signal in signal.Signals}
    return f"was ended by signal {-status}{names.get(-status, '')}"


def last_line(text: str) -> str:
    """`: LINE`, the last line of a program's text, cut and without control characters; or empty."""
    lines = text.strip().splitlines()
    if not lines:
        return ""
    line = "".join(character if character.isprintable() else "\ufffd" for character in lines[-1])
    return f": {line if len(line) <= _MOST else line[:_MOST] + '…'}"
