"""OpenMP put in by hand where a person would: a directive before the k-th loop of a scop, counted
from 0 as written.

The texts themselves are the user's copy of PolyBench/C and the suite's own kernels; here stands
only what is added. Each addition names the iterator of the loop that it means, so that another text
is refused and not silently parallelised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FOR = re.compile(r"\bfor\s*\(\s*(?:(?:int|long)\s+)?(\w+)\s*=")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_SCOP = re.compile(
    r"^[ \t]*#[ \t]*pragma[ \t]+scop\b.*?\n(.*?)^[ \t]*#[ \t]*pragma[ \t]+endscop\b[^\n]*\n", re.DOTALL | re.M
)


class PatchError(Exception):
    """An addition that does not find its loop."""


@dataclass(frozen=True)
class Addition:
    """`line` goes before loop number `loop`, whose iterator is `iterator`; or first into its body, which has braces."""

    loop: int
    iterator: str
    line: str
    inside: bool = False


def _parallel(loop: int, iterator: str, clauses: str = "") -> Addition:
    return Addition(loop, iterator, f"#pragma omp parallel for {clauses}".rstrip())


_SCAN = (
    "private(j, xm1, ym1, ym2)",
    "private(j, xp1, xp2, yp1, yp2)",
    "private(i, tm1, ym1, ym2)",
    "private(i, tp1, tp2, yp1, yp2)",
)
_STEP_2D = (_parallel(1, "i", "private(j)"), _parallel(3, "i", "private(j)"))

#: By program. One that is not here has no loop that a person would parallelise without rewriting
#: it.
HAND: dict[str, tuple[Addition, ...]] = {
    "2mm": (_parallel(0, "i", "private(j, k)"), _parallel(3, "i", "private(j, k)")),
    "3mm": (_parallel(0, "i", "private(j, k)"), _parallel(3, "i", "private(j, k)"), _parallel(6, "i", "private(j, k)")),
    "adi": (_parallel(1, "i", "private(j)"), _parallel(4, "i", "private(j)")),
    "atax": (_parallel(0, "i"), _parallel(1, "i", "private(j) reduction(+ : y[0:_PB_N])")),
    "bicg": (_parallel(0, "i"), _parallel(1, "i", "private(j) reduction(+ : s[0:_PB_M])")),
    "correlation": (
        _parallel(0, "j", "private(i)"),
        _parallel(2, "j", "private(i)"),
        _parallel(4, "i", "private(j)"),
        _parallel(6, "i", "private(j, k) schedule(dynamic)"),
    ),
    "covariance": (
        _parallel(0, "j", "private(i)"),
        _parallel(2, "i", "private(j)"),
        _parallel(4, "i", "private(j, k) schedule(dynamic)"),
    ),
    "deriche": (
        _parallel(0, "i", _SCAN[0]),
        _parallel(2, "i", _SCAN[1]),
        _parallel(4, "i", "private(j)"),
        _parallel(6, "j", _SCAN[2]),
        _parallel(8, "j", _SCAN[3]),
        _parallel(10, "i", "private(j)"),
    ),
    "doitgen": (
        _parallel(0, "r", "private(q, p, s)"),
        Addition(1, "q", "DATA_TYPE sum[_PB_NP];", inside=True),
    ),
    "durbin": (_parallel(1, "i", "reduction(+ : sum)"), _parallel(2, "i"), _parallel(3, "i")),
    "fdtd-2d": (
        _parallel(1, "j"),
        _parallel(2, "i", "private(j)"),
        _parallel(4, "i", "private(j)"),
        _parallel(6, "i", "private(j)"),
    ),
    "floyd-warshall": (_parallel(1, "i", "private(j)"),),
    "gemm": (_parallel(0, "i", "private(j, k)"),),
    "gemver": (
        _parallel(0, "i", "private(j)"),
        _parallel(2, "i", "private(j)"),
        _parallel(4, "i"),
        _parallel(5, "i", "private(j)"),
    ),
    "gesummv": (_parallel(0, "i", "private(j)"),),
    "gramschmidt": (
        _parallel(1, "i", "reduction(+ : nrm)"),
        _parallel(2, "i"),
        _parallel(3, "j", "private(i)"),
    ),
    "heat-3d": (_parallel(1, "i", "private(j, k)"), _parallel(4, "i", "private(j, k)")),
    "jacobi-1d": (_parallel(1, "i"), _parallel(2, "i")),
    "jacobi-2d": _STEP_2D,
    "lu": (_parallel(3, "j", "private(k)"),),
    "ludcmp": (
        _parallel(3, "j", "private(k, w)"),
        _parallel(6, "j", "reduction(- : w)"),
        _parallel(8, "j", "reduction(- : w)"),
    ),
    "mvt": (_parallel(0, "i", "private(j)"), _parallel(2, "i", "private(j)")),
    "symm": (_parallel(1, "j", "private(k, temp2)"),),
    "syr2k": (_parallel(0, "i", "private(j, k) schedule(dynamic)"),),
    "syrk": (_parallel(0, "i", "private(j, k) schedule(dynamic)"),),
    "trmm": (_parallel(1, "j", "private(k)"),),
    # The suite's own kernels declare their iterators in the loops.
    "tilek-sgemm": (_parallel(0, "i"),),
    "tilek-syr2k": (_parallel(0, "i"),),
    "tilek-doitgen": (_parallel(0, "r"),),
    "tilek-conv2d": (_parallel(0, "i"),),
    "product": (_parallel(0, "i"),),
    "ics-mv": (_parallel(0, "i"),),
    "ics-tmv": (_parallel(0, "i"),),
    "ics-mvt": (_parallel(0, "i"), _parallel(2, "i")),
    "metafork-reversal": (_parallel(0, "i"),),
    "metafork-polynomial": (_parallel(0, "i"), _parallel(1, "i", "schedule(static) reduction(+ : c[0:2 * n - 1])")),
    "thesis-jacobi-1d-3": (_parallel(1, "i"), _parallel(2, "i")),
    "thesis-jacobi-2d-5": (_parallel(1, "i"), _parallel(3, "i")),
    "thesis-jacobi-3d-7": (_parallel(1, "i"), _parallel(4, "i")),
    "thesis-jacobi-3d-27": (_parallel(1, "i"), _parallel(4, "i")),
    "thesis-fdtd-2d": (_parallel(1, "i"), _parallel(3, "i"), _parallel(5, "i")),
    "thesis-heat-2d-7": (_parallel(1, "i"), _parallel(3, "i")),
}


def blanked(text: str) -> str:
    """The text with its comments as spaces, every other character where it was."""
    return _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def scop_of(text: str) -> tuple[int, int]:
    """Where the one scop's lines begin and end. Raises PatchError."""
    results = list(_SCOP.finditer(text))
    if len(results) != 1:
        raise PatchError(f"{len(results)} scops where there should be one")
    return results[0].span(1)


def with_additions(text: str, additions: tuple[Addition, ...]) -> str:
    """The program's text with each addition in its place. Raises PatchError where one does not find its loop."""
    begin, end = scop_of(text)
    plain = blanked(text)
    loops = list(_FOR.finditer(plain, begin, end))
    places = []
    for addition in additions:
        if addition.loop >= len(loops) or loops[addition.loop][1] != addition.iterator:
            there = loops[addition.loop][1] if addition.loop < len(loops) else "missing"
            raise PatchError(f"loop {addition.loop} should run over {addition.iterator}, not {there}")
        places.append((_place(plain, loops[addition.loop].start(), addition), addition.line))
    for place, line in sorted(places, reverse=True):
        text = f"{text[:place]}\n{line}\n{text[place:]}"
    return text


def _place(plain: str, start: int, addition: Addition) -> int:
    """Where the line of an addition goes, for a loop that starts at `start`."""
    if not addition.inside:
        return start
    depth, at = 0, plain.index("(", start)
    while True:
        depth += {"(": 1, ")": -1}.get(plain[at], 0)
        at += 1
        if depth == 0:
            break
    body = at + len(plain[at:]) - len(plain[at:].lstrip())
    if plain[body] != "{":
        raise PatchError(f"loop {addition.loop} over {addition.iterator} has no braces to add to")
    return body + 1
