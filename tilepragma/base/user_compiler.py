"""The user's C compiler: the words that start it, and what tells it from another one."""

from __future__ import annotations

import os
from collections.abc import Sequence

#: Options whose value is the next word where none is attached, of those that say how a source is
#: read.
SEPARATE_VALUE = (
    "-I",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "--sysroot",
    "-isysroot",
)


def compiler(chosen: str = "") -> list[str]:
    """The compiler as words: `chosen`, else `TILEK_CC`, else `cc`."""
    chosen = chosen or os.environ.get("TILEK_CC") or "cc"
    if " " not in chosen:
        return [chosen]
    import shlex

    return shlex.split(chosen)


def fingerprint(command: Sequence[str]) -> list[str]:
    """What changes where another compiler, or another version of it, is started: its words, with path, size and time of change."""
    import shutil

    facts = []
    for word in command:
        found = shutil.which(word)
        if found:
            status = os.stat(found)
            facts += [os.path.realpath(found), str(status.st_size), str(status.st_mtime_ns)]
        facts.append(word)
    return facts
