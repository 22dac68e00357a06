"""The user's C compiler: the words that start it, and its fingerprint."""

from __future__ import annotations

import os
from collections.abc import Sequence

#: Options about reading sources that take the next word as value if none is attached.
SEPARATE_VALUE = (
    *("-I", "-D", "-U", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "--sysroot", "-isysroot"),
)


def compiler(chosen: str = "") -> list[str]:
    """The compiler as words: `chosen`, else `TILEK_CC`, else `cc`."""
    chosen = chosen or os.environ.get("TILEK_CC") or "cc"
    if " " not in chosen:
        return [chosen]
    import shlex

    return shlex.split(chosen)


def fingerprint(command: Sequence[str]) -> list[str]:
    """The command's words, with path, size and modification time: they change with the compiler."""
    import shutil

    facts = []
    for word in command:
        program = shutil.which(word)
        if program:
            status = os.stat(program)
            facts += [os.path.realpath(program), str(status.st_size), str(status.st_mtime_ns)]
        facts.append(word)
    return facts
