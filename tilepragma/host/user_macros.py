"""Macros of the user that are named like something in generated text, or in tilek.h: `#define size 1024`, `#define count (box->n)`.

Expressions of the user's loops stand in generated text with their macros expanded, so that it needs none of them. Those that would change it are put
aside before it and come back behind it. Clauses stand there as they are written: what they name stays.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tilepragma.base.resources import resource_folder
from tilepragma.ir.looptree import SourceFile

_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_CLAUSES = re.compile(rb"(?:#[ \t]*pragma[ \t]+|_Pragma[ \t]*\([ \t]*\")tilek\b((?:\\\r?\n|[^\n])*)")
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_NO_WORDS = re.compile(r'"(?:[^"\\\n]|\\.)*"|/\*.*?\*/|//[^\n]*', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(rb"[A-Za-z_]\w*")
#: Words that a program may have to define for its compiler to know them, as generated text means them.
_OF_THE_LANGUAGE = frozenset(
    {"bool", "const", "inline", "int", "long", "restrict", "static", "volatile", "void", "NULL"}
)
#: Files that are looked through at most.
_MOST_FILES = 200


def user_macros(files: Iterable[SourceFile]) -> frozenset[str]:
    """Names of the macros that the files define, or those that they include by `#include "…"`, in their own folder, and that clauses do not need."""
    words: dict[bytes, set[bytes]] = {}
    needed: set[bytes] = set()
    for text in _texts(files):
        for name, replacement in _DEFINED.findall(text):
            words.setdefault(name, set()).update(_NAME.findall(replacement))
        for clauses in _CLAUSES.findall(text):
            needed.update(_NAME.findall(clauses))
    waiting = list(needed & words.keys())
    while waiting:
        found = (words[waiting.pop()] & words.keys()) - needed
        needed |= found
        waiting += found
    return frozenset(map(os.fsdecode, words.keys() - needed)) - _OF_THE_LANGUAGE


def _texts(files: Iterable[SourceFile]) -> Iterator[bytes]:
    waiting = [(Path(file.path), file.text) for file in files]
    seen = {path for path, _ in waiting}
    while waiting:
        path, text = waiting.pop()
        yield text
        for name in _QUOTED.findall(text):
            included = path.parent / os.fsdecode(name)
            if included not in seen and len(seen) < _MOST_FILES:
                seen.add(included)
                try:
                    waiting.append((included, included.read_bytes()))
                except OSError:
                    continue


def without_macros(text: str, macros: frozenset[str]) -> str:
    """Generated lines that mean the same whatever the user's macros are."""
    words = set(_WORD.findall(_NO_WORDS.sub(" ", text)))
    if '#include "tilek.h"' in text:
        words |= _header_words()
    clashing = sorted(words & macros)
    before = "".join(f'#pragma push_macro("{name}")\n#undef {name}\n' for name in clashing)
    after = "".join(f'#pragma pop_macro("{name}")\n' for name in clashing)
    return f"{before}{text.rstrip(chr(10))}\n{after}" if clashing else text


@cache
def _header_words() -> frozenset[str]:
    text = (resource_folder("runtime") / "include" / "tilek.h").read_text(encoding="utf-8")
    return frozenset(_WORD.findall(_NO_WORDS.sub(" ", text)))
