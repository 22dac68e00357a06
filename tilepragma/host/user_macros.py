"""Macros of the user that are named like something in generated text, or in tilek.h: `#define size 1024`, `#define count (box->n)`.

Expressions of the user's loops stand in generated text with their macros expanded, so that it needs none of them. Those that would change it are put
aside before it and come back behind it: where a macro is not defined at that place, it is not behind it either. Expressions of clauses stand there
as they are written: what they name stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache

from tilepragma.base.resources import resource_folder
from tilepragma.ir.directives import ClauseExpression, Section

_NO_WORDS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(rb"[A-Za-z_]\w*")
#: Words that a program may have to define for its compiler to know them, as generated text means them.
_OF_THE_LANGUAGE = frozenset({"bool", "inline", "restrict", "NULL"})
_HEADER = '#include "tilek.h"'


def clause_macros(macros: Mapping[str, bytes], directives: Iterable[object]) -> frozenset[str]:
    """Names of the macros, given with their definitions, that expressions in the directives' clauses need."""
    words = {name: {found.decode() for found in _NAME.findall(text)} for name, text in macros.items()}
    needed: set[str] = set()
    waiting = [word for text in _expressions(tuple(directives)) for word in _WORD.findall(text)]
    while waiting:
        word = waiting.pop()
        if word in words and word not in needed:
            needed.add(word)
            waiting += words[word]
    return frozenset(needed)


def _expressions(node: object) -> Iterator[str]:
    """The texts that clauses have of the user's."""
    if isinstance(node, ClauseExpression):
        yield node.text
    elif isinstance(node, tuple):
        for one in node:
            yield from _expressions(one)
    elif is_dataclass(node) and not isinstance(node, type):
        if isinstance(node, Section):
            yield node.path
        for each in fields(node):
            yield from _expressions(getattr(node, each.name))


def without_macros(text: str, macros: Iterable[str], needed: Collection[str] = ()) -> str:
    """Generated lines that mean the same whatever the user's macros are, but for those that are `needed` in them."""
    words = set(_WORD.findall(_NO_WORDS.sub(" ", text)))
    if _HEADER in text:
        words |= _header_words()
    clashing = sorted(words.intersection(macros) - _OF_THE_LANGUAGE - frozenset(needed))
    before = "".join(f'#pragma push_macro("{name}")\n#undef {name}\n' for name in clashing)
    after = "".join(f'#pragma pop_macro("{name}")\n' for name in clashing)
    return f"{before}{text.rstrip(chr(10))}\n{after}" if clashing else text


@cache
def _header_words() -> frozenset[str]:
    text = (resource_folder("runtime") / "include" / "tilek.h").read_text(encoding="utf-8")
    return frozenset(_WORD.findall(_NO_WORDS.sub(" ", text)))
