"""Breaks long lines of C where a reader would break them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

#: Columns of a line of generated code that can be broken.
WIDTH = 110
#: Where a line may be broken, the best places first: after a semicolon or a comma, else before an
#: operator. Assignments come last.
_PLACES = (("; ",), (", ",), (" ? ", " : "), (" || ",), (" && ",), (" + ", " - "), (" * ", " / "))
_RANKS = {text: rank for rank, texts in enumerate(_PLACES) for text in texts}
_TOKEN = re.compile(
    r"(?P<literal>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<bracket>[()\[\]{}])|"
    r"(?P<assignment> (?:[-+*/%&|^]|<<|>>)?= )|(?P<place>[;,] | (?:[?:+*/-]|\|\||&&) )"
)


def wrapped(text: str, indentation: str) -> list[str]:
    """`text`, a line of C but no directive, as lines of `WIDTH` columns where possible. The first
    line begins with `indentation`, the others with four columns more.
    """
    lines = []
    line, continuation = indentation + text, indentation + "    "
    while len(line) > WIDTH:
        place = _best_place(line, len(indentation) + WIDTH // 4, len(continuation) + 1)
        if place is None:
            break
        lines.append(line[:place].rstrip())
        line = continuation + line[place:].lstrip()
    return [*lines, line]


def wrapped_list(head: str, items: Sequence[str], tail: str) -> str:
    """`head`, the comma-separated items and `tail`, on one line where they fit, else on several."""
    line = head + ", ".join(items) + tail
    if len(line) <= WIDTH or not items:
        return line
    return "\n".join([head.rstrip(), *item_lines(items, tail)])


def item_lines(items: Sequence[str], tail: str = "") -> list[str]:
    """The comma-separated items on lines of at most `WIDTH` columns, indented by four."""
    lines: list[str] = []
    line = "   "
    for number, item in enumerate(items):
        piece = f" {item}" + (tail if number == len(items) - 1 else ",")
        if len(line) + len(piece) > WIDTH and line.strip():
            lines.append(line)
            line = "   "
        line += piece
    return [*lines, line]


def _best_place(line: str, least: int, first: int) -> int | None:
    """Where the next line starts. It is the outermost place that binds least, the last such place
    that fits and leaves no stub. If none exists, it is the last place that fits from column `first`
    on, else the next place.
    """
    best: tuple[int, int, int] | None = None
    short = None
    for depth, rank, start in _places(line):
        if start > WIDTH and (best is not None or short is not None or start >= first):
            return best[2] if best is not None else short if short is not None else start
        if first <= start < least:
            short = start
        elif least <= start <= WIDTH and (best is None or (depth, rank) <= best[:2]):
            best = (depth, rank, start)
    return best[2] if best is not None else short


def _places(line: str) -> Iterator[tuple[int, int, int]]:
    """(nesting, rank, start of the next line) of every place, from left to right."""
    depth = 0
    for match in _TOKEN.finditer(line):
        if match.lastgroup == "bracket":
            depth += 1 if match.group() in "([{" else -1
        elif match.lastgroup == "assignment":
            yield depth, len(_PLACES), match.end()
        elif match.lastgroup == "place":
            text = match.group()
            yield depth, _RANKS[text], match.end() if text in ("; ", ", ") else match.start() + 1
