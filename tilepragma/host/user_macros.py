"""User macros that clash with generated text or tilek.h: `#define size 1024`.

Generated text has the expressions of loops with macros expanded, so it needs none. Clashing macros
are undefined before it and restored behind it (undefined ones stay so). Expressions of clauses are
kept as written: their macros are restored for them alone, and paths to arrays keep theirs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache

from tilepragma.base.resources import resource_folder
from tilepragma.ir.directives import ReductionClause, Section, clause_expressions

_NO_WORDS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(rb"[A-Za-z_]\w*")
#: Words that a program may have to define for its compiler; generated text means the same.
_OF_THE_LANGUAGE = frozenset({"bool", "inline", "restrict", "NULL"})
#: Marks around expressions of clauses; C text never has them.
_BEGIN, _END = "\x01", "\x02"
_AS_WRITTEN = re.compile(f"{_BEGIN}([^{_END}]*){_END}")
_HEADER = '#include "tilek.h"'


def as_written(text: str) -> str:
    """A clause's expression in generated text, with marks for `without_macros` if it has a name."""
    return f"{_BEGIN}{text}{_END}" if _WORD.search(text) else text


def path_macros(macros: Mapping[str, bytes], directives: Iterable[object]) -> frozenset[str]:
    """The macros (given with definitions) that paths to arrays in the directives' clauses need, and
    lengths in `reduction` clauses, which kernels take as numbers.
    """
    return _needed(" ".join(_paths(tuple(directives))), macros)


def _needed(text: str, macros: Mapping[str, bytes]) -> frozenset[str]:
    """The macros that the text uses, directly or through macros."""
    needed: set[str] = set()
    waiting: list[str] = _WORD.findall(text)
    while waiting:
        word = waiting.pop()
        if word in macros and word not in needed:
            needed.add(word)
            waiting += [name.decode() for name in _NAME.findall(macros[word])]
    return frozenset(needed)


def _paths(node: object) -> Iterator[str]:
    if isinstance(node, tuple):
        for item in node:
            yield from _paths(item)
    elif is_dataclass(node) and not isinstance(node, type):
        if isinstance(node, Section):
            yield node.path
        if isinstance(node, ReductionClause):
            yield from (expression.text for expression in clause_expressions(node.sections))
        for field in fields(node):
            yield from _paths(getattr(node, field.name))


def without_macros(text: str, macros: Mapping[str, bytes], needed: Collection[str] = ()) -> str:
    """Generated lines that user macros do not change, except for the `needed` macros."""
    words = set(_WORD.findall(_NO_WORDS.sub(" ", _AS_WRITTEN.sub(" ", text))))
    if _HEADER in text:
        words |= _header_words()
    clashing = words.intersection(macros) - _OF_THE_LANGUAGE - frozenset(needed)

    def clause(expression: re.Match[str]) -> str:
        clashes = sorted(clashing & _needed(expression[1], macros))
        return f"\n{_defined(clashes)}{expression[1]}\n{_undefined(clashes)}" if clashes else expression[1]

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
