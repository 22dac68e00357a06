"""The user's compiler, as the commands start it."""

from __future__ import annotations

import os


def compiler() -> list[str]:
    """The user's compiler as words: `TILEK_CC`, default `cc`."""
    chosen = os.environ.get("TILEK_CC") or "cc"
    if " " not in chosen:
        return [chosen]
    import shlex

    return shlex.split(chosen)
