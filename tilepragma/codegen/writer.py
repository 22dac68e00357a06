"""Lines of generated text with indentation, and the marks that tie them to the user's lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from tilepragma.base.c_text import line_directive
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.codegen.line_breaking import WIDTH, wrapped

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
        if last:
            self.line(last)
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
