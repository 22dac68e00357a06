"""Macros of the user that are named like something in generated text, or in tilek.h: `#define size
1024`, `#define count (box->n)`.

Expressions of the user's loops stand in generated text with their macros expanded, so that it needs
none of them. Those that would change it are put aside before it and come back behind it: where a
macro is not defined at that place, it is not behind it either. Expressions of clauses stand there
as they are written: what they name comes back for them alone, what paths to arrays in clauses name
stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache

from tilepragma.base.resources import resource_folder
from tilepragma.ir.directives import Section

_NO_WORDS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(rb"[A-Za-z_]\w*")
#: Words that a program may have to define for its compiler to know them, as generated text means
#: them.
_OF_THE_LANGUAGE = frozenset({"bool", "inline", "restrict", "NULL"})
#: Marks around expressions of clauses: no text of C has them.
_BEGIN, _END = "\x01", "\x02"
_AS_WRITTEN = re.compile(f"{_BEGIN}([^{_END}]*){_END}")
_HEADER = '#include "tilek.h"'


def as_written(text: str) -> str:
    """A clause's expression in generated text, where it names anything marked for `without_macros`, which removes the marks."""
    return f"{_BEGIN}{text}{_END}" if _WORD.search(text) else text


def path_macros(macros: Mapping[str, bytes], directives: Iterable[object]) -> frozenset[str]:
    """Names of the macros, given with their definitions, that paths to arrays in the directives' clauses need."""
    return _needed(" ".join(_paths(tuple(directives))), macros)


def _needed(text: str, macros: Mapping[str, bytes]) -> frozenset[str]:
    """The macros that the text uses, and that these use."""
    needed: set[str] = set()
    waiting: list[str] = _WORD.findall(text)
    while waiting:
        word = waiting.pop()
        if word in macros and word not in needed:
            needed.add(word)
            waiting += [found.decode() for found in _NAME.findall(macros[word])]
    return frozenset(needed)


def _paths(node: object) -> Iterator[str]:
    if isinstance(node, tuple):
        for one in node:
            yield from _paths(one)
    elif is_dataclass(node) and not isinstance(node, type):
        if isinstance(node, Section):
            yield node.path
        for each in fields(node):
            yield from _paths(getattr(node, each.name))


def without_macros(text: str, macros: Mapping[str, bytes], needed: Collection[str] = ()) -> str:
    """Generated lines that mean the same whatever the user's macros are, but for those that are `needed` in them."""
    words = set(_WORD.findall(_NO_WORDS.sub(" ", _AS_WRITTEN.sub(" ", text))))
    if _HEADER in text:
        words |= _header_words()
    clashing = words.intersection(macros) - _OF_THE_LANGUAGE - frozenset(needed)

    def clause(found: re.Match[str]) -> str:
        own = sorted(clashing & _needed(found[1], macros))
        return f"\n{_defined(own)}{found[1]}\n{_undefined(own)}" if own else found[1]

    text = _AS_WRITTEN.sub(clause, text)
    aside = sorted(clashing)
    return f"{_undefined(aside)}{text.rstrip(chr(10))}\n{_defined(aside)}" if aside else text


def _undefined(names: Iterable[str]) -> str:
    return "".join(f'#pragma push_macro("{name}")\n#undef {name}\n' for name in names)


def _defined(names: Iterable[str]) -> str:
    return "".join(f'#pragma pop_macro("{name}")\n' for name in names)


@cache
def _header_words() -> frozenset[str]:
    text = (resource_folder("runtime") / "include" / "tilek.h").read_text(encoding="utf-8")
    return frozenset(_WORD.findall(_NO_WORDS.sub(" ", text)))
