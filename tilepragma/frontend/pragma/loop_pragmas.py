"""Reads the lines before a loop that tell a processor's compiler how to run it: `omp simd`, `GCC
ivdep`, `GCC unroll`, `clang loop`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.loop_tree import LoopPragma, PragmaClause

_LINE = re.compile(rb"[ \t]*#[ \t]*pragma[ \t]+(.*)", re.DOTALL)
_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*|\\\r?\n", re.DOTALL)
_CONTINUED = (b"\\\n", b"\\\r\n")
_CONDITIONAL = re.compile(rb"[ \t]*#[ \t]*(?:if|ifdef|ifndef|else|elif|endif)\b")
_SIMD = re.compile(r"omp\s+simd\b(.*)")
#: Clauses that name no variables, with a number or a word.
_PLAIN = re.compile(r"\s*,?\s*((?:safelen|simdlen)\s*\(\s*\d+\s*\)|order\s*\(\s*concurrent\s*\))")
#: Clauses with variables: name, operator of a reduction, variables, alignment in bytes.
_LIST = re.compile(
    r"\s*,?\s*(reduction|private|lastprivate|aligned)\s*\("
    r"\s*(?:([-+*&|^]|&&|\|\||min|max)\s*:)?\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*(:\s*\d+)?\s*\)"
)
_COMPILERS = re.compile(r"GCC\s+(?:ivdep|unroll\s+\d+)|clang\s+loop\s+[\w ()]*")


def loop_pragmas(text: bytes, start: int, place: Callable[[int, int], SourceRange]) -> tuple[LoopPragma, ...]:
    """The lines directly before the loop that begins at the byte `start`, in order.

    Only what stays right in a kernel counts: clauses whose numbers are written out and whose
    variables are plain names. `place` makes the range of two offsets.
    """
    pragmas = []
    for first, last in _lines_before(text, start):
        line = _LINE.match(text, first, last)
        if line is None:
            if _COMMENT.sub(b"", text[first:last]).strip() and not _CONDITIONAL.match(text, first, last):
                break
            continue
        words = _COMMENT.sub(b" ", line[1]).decode(errors="replace").strip()
        pragma = _parsed(words, place(first + text[first:last].index(b"#"), last))
        if pragma is not None:
            pragmas.append(pragma)
    return tuple(reversed(pragmas))


def _lines_before(text: bytes, start: int) -> Iterator[tuple[int, int]]:
    """First and last byte of each line before the loop's, the nearest first; a line that goes on
    behind a backslash is one. There are none where something else stands on the loop's line.
    """
    first = text.rfind(b"\n", 0, start) + 1
    if text[first:start].strip():
        return
    while first > 0:
        last = first - 1
        first = text.rfind(b"\n", 0, last) + 1
        while text.endswith(_CONTINUED, 0, first):
            first = text.rfind(b"\n", 0, first - 1) + 1
        yield first, last


def _parsed(words: str, range_: SourceRange) -> LoopPragma | None:
    if _COMPILERS.fullmatch(words):
        return LoopPragma(words, range=range_)
    simd = _SIMD.fullmatch(words)
    if simd is None:
        return None
    text, rest, clauses = "omp simd", simd[1], []
    while rest.strip():
        plain, variables = _PLAIN.match(rest), _LIST.match(rest)
        if plain is not None:
            text, rest = f"{text} {plain[1]}", rest[plain.end() :]
        elif variables is not None:
            name, operator, names, alignment = variables.groups()
            if (operator is not None) != (name == "reduction") or (alignment is not None) > (name == "aligned"):
                return None
            clauses.append(PragmaClause(name, operator or "", tuple(re.findall(r"\w+", names)), alignment or ""))
            rest = rest[variables.end() :]
        else:
            return None
    return LoopPragma(text, tuple(clauses), range=range_)
