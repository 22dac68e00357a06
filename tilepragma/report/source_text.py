"""The user's text at a place, for reports in the user's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import Conditional, Expression, IntegerLiteral
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.loop_tree_text import expression_text

_INTEGER_CASTS = re.compile(r"\((?:(?:unsigned|signed|long|int|short|char) ?)+\)")
_HELPERS = re.compile(r"\btilek_((?:min|max)imum|(?:floor|ceiling)_quotient)\b")
_SUFFIXES = re.compile(r"\b(\d+)[uUlL]+\b")


@dataclass(frozen=True)
class SourceText:
    """The texts of the unit's files, by their names."""

    files: Mapping[str, bytes] = field(default_factory=dict)

    def at(self, place: SourceRange, longest: int = 76) -> str:
        """The text of a range in one line of at most `longest` characters, shortened with …."""
        return _one_line(self.files.get(place.file, b"")[place.start.offset : place.end.offset], longest)

    def statement(self, place: SourceRange, longest: int = 76) -> str:
        """The same for a statement, up to its `;`: the range may end at a macro's beginning."""
        text = self.files.get(place.file, b"")
        rest = text[place.end.offset : place.end.offset + 200].partition(b";")
        extended = rest[0] if rest[1] and not set(rest[0]) & set(b"{}\n") else b""
        return _one_line(text[place.start.offset : place.end.offset] + extended, longest)

    def lines(self, place: SourceRange) -> tuple[tuple[int, str], ...]:
        """The whole lines that a range touches, with their numbers."""
        all_lines = self.files.get(place.file, b"").decode("utf-8", "replace").splitlines()
        last = min(place.end.line, len(all_lines))
        return tuple((number, all_lines[number - 1]) for number in range(place.start.line, last + 1))


def _one_line(raw: bytes, longest: int) -> str:
    text = " ".join(raw.decode("utf-8", "replace").split()).removesuffix(";")
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def plain_text(expression: Expression | ClauseExpression) -> str:
    """An expression without type casts, suffixes, and the case in which it is 0."""
    match expression:
        case Conditional(then=then, otherwise=IntegerLiteral(value=0)):
            expression = then
    text = _HELPERS.sub(r"\1", _SUFFIXES.sub(r"\1", _INTEGER_CASTS.sub("", expression_text(expression))))
    return re.sub(r"^\((\w+)\)$", r"\1", text)


def plain_header(loop: Loop) -> str:
    """The head of a loop that is not in the text, in the style of `plain_text`."""
    name, step = loop.iterator.host, plain_text(loop.step)
    advance = f"{name}++" if step == "1" else f"{name} += {step}"
    return f"for ({name} = {plain_text(loop.lower)}; {name} {loop.comparison} {plain_text(loop.upper)}; {advance})"
