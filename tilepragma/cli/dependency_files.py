"""Depfiles: the one `tilepragma translate` writes, and the compiler's own where it names a temporary file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from tilepragma.base.files import write_atomically
from tilepragma.cli.compiler_arguments import Command


def make_rule(target: str, dependencies: Sequence[str], phony: bool = False) -> str:
    """`target: dependencies`, as make reads it; with `phony` each dependency but the first is a target of its own (-MP)."""
    lines = [f"{escape(target)}:"] + [f" {escape(one)}" for one in dependencies]
    rule = " \\\n".join(lines) + "\n"
    if phony:
        rule += "".join(f"{escape(one)}:\n" for one in dependencies[1:])
    return rule


def escape(path: str) -> str:
    """A path as make reads it."""
    return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


def mend_dependency_files(
    command: Command, temporary: Sequence[Path], sources: Sequence[str], inlined: Sequence[Sequence[str]]
) -> None:
    """In the depfiles that the compiler wrote, name each source, and the headers inlined into it, for the temporary file."""
    if not command.has("-MD", "-MMD") and not any(word.startswith("-Wp,-M") for word in command.arguments):
        return
    for candidate in _candidates(command, temporary):
        try:
            text = candidate.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue
        mended = text
        for path, source, headers in zip(temporary, sources, inlined, strict=True):
            mended = _mend(mended, str(path), source, headers, command.has("-MP"))
        if mended != text:
            write_atomically(candidate, mended.encode("utf-8", "surrogateescape"))


def _mend(text: str, temporary: str, source: str, inlined: Sequence[str], phony: bool) -> str:
    if escape(temporary) not in text:
        return text
    words = set(text.split())
    missing = [escape(one) for one in inlined if escape(one) not in words]
    text = text.replace(escape(temporary), " ".join([escape(source), *missing]))
    return text + "".join(f"{one}:\n" for one in missing) if phony else text


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
