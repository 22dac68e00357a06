"""Lines of generated text: their indentation, the marks that tie them to the user's lines, and
where long ones break, as a reader would break them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from tilepragma.base.c_text import line_directive
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange

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

#: Stands for `#line N "OUT.c"`; the host rewriting knows N and inserts it.
GENERATED_LINE = "#line GENERATED"

#: The deepest indentation. A thousand nested braces would give megabytes of spaces.
_MOST_LEVELS = 20


@dataclass
class Writer:
    """Collects lines. With `user_lines`, `user` puts `#line` before the user's statements.
    Generated lines after them count as generated again.
    """

    user_lines: bool = False
    depth: int = 0
    lines: list[str] = field(default_factory=list)
    _in_user_text: bool = False

    def line(self, text: str = "") -> None:
        """One generated line; a directive stands at the margin."""
        if self._in_user_text and text != "}":
            self.lines.append(GENERATED_LINE)
            self._in_user_text = False
        self.lines += [text] if not text or text.startswith("#") else wrapped(text, self._margin)

    def fits(self, text: str) -> bool:
        """Whether `text` takes one line here."""
        return len(text) + len(self._margin) <= WIDTH

    def user(self, text: str, range_: SourceRange) -> None:
        """One line that a debugger shows as the user's."""
        if self.user_lines and range_ != NOWHERE:
            self.lines.append(line_directive(range_.start.line, range_.file))
            self._in_user_text = True
            self.lines.append(self._margin + text)
        else:
            self.line(text)

    @property
    def _margin(self) -> str:
        return "    " * min(self.depth, _MOST_LEVELS)

    @contextmanager
    def block(self, head: str = "", last: str = "") -> Iterator[None]:
        """`head {` … `last }`."""
        self.line(f"{head} {{" if head else "{")
        self.depth += 1
        yield
        for line in last.splitlines():
            self.line(line)
        self.depth -= 1
        self.line("}")

    def otherwise(self) -> None:
        """`} else {` in a block whose head is an if."""
        self.depth -= 1
        self.line("} else {")
        self.depth += 1

    def text(self) -> str:
        """All lines; lines after them count as generated again."""
        return "\n".join([*self.lines, *([GENERATED_LINE] if self._in_user_text else [])]) + "\n"


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
    return line if len(line) <= WIDTH or not items else "\n".join([head.rstrip(), *item_lines(items, tail)])


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
