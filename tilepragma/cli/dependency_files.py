"""Depfiles of `tilepragma translate`, and of the compiler where they name temporary files."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from tilepragma.base.files import file_bytes, write_atomically
from tilepragma.base.frozen_values import dataclass
from tilepragma.cli.compiler_arguments import Command, Input


def make_rule(target: str, dependencies: Sequence[str], phony: Collection[str] = ()) -> str:
    """`target: dependencies` in make's syntax; make survives the removal of `phony` ones (-MP)."""
    rule = " \\\n".join([f"{escape(target)}:", *(f" {escape(dependency)}" for dependency in dependencies)]) + "\n"
    return rule + "".join(f"{escape(dependency)}:\n" for dependency in dependencies if dependency in phony)


def escape(path: str) -> str:
    """A path in make's syntax: a backslash counts only before a quoted character."""
    return re.sub(r"(\\*)([ \t#])", r"\1\1\\\2", path.replace("$", "$$"))


@dataclass(frozen=True)
class Translated:
    """The file at `path`, compiled in the place of an input, which lies in `folder`. It has the
    `inlined` files, which compilers do not see; make survives the removal of `measured` ones.
    """

    input: Input
    path: Path
    folder: str
    inlined: Sequence[str]
    measured: Sequence[str]


def mend_dependency_files(command: Command, made: Sequence[Translated]) -> None:
    """In the compiler's depfiles, replace temporary files by sources and inlined files."""
    if not command.has("-MD", "-MMD") and not any(word.startswith("-Wp,-M") for word in command.arguments):
        return
    for candidate in _candidates(command, [made_file.path for made_file in made]):
        try:
            text = file_bytes(candidate).decode("utf-8", "surrogateescape")
        except OSError:
            continue
        mended = text
        for temporary in made:
            mended = _mend(mended, temporary, temporary.inlined if command.has("-MP") else temporary.measured)
        if mended != text:
            write_atomically(candidate, mended.encode("utf-8", "surrogateescape"))


def _mend(text: str, made: Translated, phony: Collection[str]) -> str:
    temporary = escape(str(made.path))
    if temporary not in text:
        return text
    words = set(text.split())
    missing = [path for path in made.inlined if escape(path) not in words]
    text = text.replace(temporary, " ".join(map(escape, (made.input.path, *missing))))
    return text + "".join(f"{escape(path)}:\n" for path in missing if path in phony)


def _candidates(command: Command, temporary: Sequence[Path]) -> list[Path]:
    """Every name under which gcc or clang may have written a depfile for this command."""
    names = command.values("-MF")
    for word in command.arguments:
        names += re.findall(r"^-Wp,-MM?D,([^,]+)", word)
    stem = os.path.splitext(command.output or "a.out")[0]
    if command.output:
        names += [f"{stem}.d", f"{command.output}.d"]
    for path in temporary:
        names += [f"{path.stem}.d", f"{stem}-{path.stem}.d", f"{command.output or 'a'}-{path.stem}.d"]
    return [Path(name) for name in dict.fromkeys(names)]
