"""How a program of ours or of the user's ended, for people."""

from __future__ import annotations

import signal

#: Characters of a line that are shown.
_MOST = 200


def ending(status: int) -> str:
    """`ended with status 3`, `was ended by signal 11 (SIGSEGV)`: a process by its return code, as `subprocess` has it."""
    if status >= 0:
        return f"ended with status {status}"
    names = {Signal.value: f" ({Signal.name})" for Signal in signal.Signals}
    return f"was ended by signal {-status}{names.get(-status, '')}"


def last_line(text: str) -> str:
    """`: LINE`, the last that a program said, cut where it is long, without what terminals take for commands; empty where it said nothing."""
    said = text.strip().splitlines()
    if not said:
        return ""
    line = "".join(one if one.isprintable() else "\ufffd" for one in said[-1])
    return f": {line if len(line) <= _MOST else line[:_MOST] + '…'}"
