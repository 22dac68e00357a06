"""Depfiles: the one `tilepragma translate` writes, and the compiler's own where it names a temporary file."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.cli.compiler_arguments import Command


def make_rule(target: str, dependencies: Sequence[str], phony: Collection[str] = ()) -> str:
    """`target: dependencies`, as make reads it; those that are `phony` are targets of their own, so that make goes on when they have gone (-MP)."""
    lines = [f"{escape(target)}:"] + [f" {escape(dependency)}" for dependency in dependencies]
    rule = " \\\n".join(lines) + "\n"
    return rule + "".join(f"{escape(dependency)}:\n" for dependency in dependencies if dependency in phony)


def escape(path: str) -> str:
    """A path as make reads it: backslashes count only before what they quote."""
    return re.sub(r"(\\*)([ \t#])", r"\1\1\\\2", path.replace("$", "$$"))


@dataclass(frozen=True)
class Temporary:
    """The file at `path`, made from `source` with what is `inlined`, which compilers do not see; of this, what was `measured` may go."""

    path: Path
    source: str
    inlined: Sequence[str]
    measured: Sequence[str]


def mend_dependency_files(command: Command, made: Sequence[Temporary]) -> None:
    """In the depfiles that the compiler wrote, name each source, and what is inlined into it, for the temporary file."""
    if not command.has("-MD", "-MMD") and not any(word.startswith("-Wp,-M") for word in command.arguments):
        return
    for candidate in _candidates(command, [one.path for one in made]):
        try:
            text = file_bytes(candidate).decode("utf-8", "surrogateescape")
        except OSError:
            continue
        mended = text
        for one in made:
            mended = _mend(mended, one, one.inlined if command.has("-MP") else one.measured)
        if mended != text:
            write_atomically(candidate, mended.encode("utf-8", "surrogateescape"))


def _mend(text: str, made: Temporary, phony: Collection[str]) -> str:
    temporary = escape(str(made.path))
    if temporary not in text:
        return text
    words = set(text.split())
    missing = [one for one in made.inlined if escape(one) not in words]
    text = text.replace(temporary, " ".join(map(escape, (made.source, *missing))))
    return text + "".join(f"{escape(one)}:\n" for one in missing if one in phony)


def _candidates(command: Command, temporary: Sequence[Path]) -> list[Path]:
    """Every name under which gcc or clang may have written a depfile for this command."""
    names = list(command.values("-MF"))
    for word in command.arguments:
        names += re.findall(r"^-Wp,-MM?D,([^,]+)", word)
    stem = os.path.splitext(command.output or "a.out")[0]
    if command.output:
        names += [f"{stem}.d", f"{command.output}.d"]
    for path in temporary:
        names += [f"{path.stem}.d", f"{stem}-{path.stem}.d", f"{command.output or 'a'}-{path.stem}.d"]
    return [Path(name) for name in dict.fromkeys(names)]
