"""The syntax that all clauses share: brackets, `name[index](arguments)`, and lists with commas."""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.spliced_source import Token, range_of, text_of
from tilepragma.ir.directives import ClauseExpression

_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = tuple(_OPENING.values())


@dataclass(frozen=True)
class RawClause:
    """`name`, `name(arguments)` or `name[index](arguments)`; None for absent brackets."""

    name: str
    index: tuple[Token, ...] | None
    arguments: tuple[Token, ...] | None
    range: SourceRange
    name_range: SourceRange


def matched(tokens: Sequence[Token], diagnostics: Diagnostics) -> tuple[Token, ...]:
    """`tokens` with matching brackets; reports each that does not match.

    A bracket that closes nothing is dropped. One that stays open, or that another kind closes, ends
    the tokens before its clause.
    """
    kept: list[Token] = []
    stack: list[tuple[Token, int]] = []
    for token in tokens:
        if token.text in _CLOSING:
            if not stack:
                diagnostics.error(token.range, f"'{token.text}' closes nothing", "remove it")
                continue
            opened = stack[-1][0]
            expected = _OPENING[opened.text]
            if expected != token.text:
                where = f"line {opened.range.start.line}, column {opened.range.start.column}"
                message = f"'{token.text}' stands where the '{opened.text}' of {where} is still open"
                diagnostics.error(token.range, message, f"put '{expected}' before it")
                return _before_clause(kept, stack[0][1])
            stack.pop()
        elif token.text in _OPENING:
            stack.append((token, len(kept)))
        kept.append(token)
    if stack:
        opened = stack[-1][0]
        diagnostics.error(opened.range, f"'{opened.text}' is never closed", f"add the '{_OPENING[opened.text]}'")
        return _before_clause(kept, stack[0][1])
    return tuple(kept)


def _before_clause(tokens: Sequence[Token], bracket: int) -> tuple[Token, ...]:
    """The tokens before the clause that holds the outermost bracket, which is at `bracket`."""
    end = bracket
    if end and tokens[end - 1].text == "]":  # name[index](…
        while tokens[end - 1].text != "[":
            end -= 1
        end -= 1
    named = end > 0 and tokens[end - 1].is_identifier
    return tuple(tokens[: end - 1 if named else end])


def closing(tokens: Sequence[Token], start: int) -> int:
    """The index of the bracket that closes the one at `start`; all brackets of `tokens` match."""
    depth = 0
    for index in range(start, len(tokens)):
        if tokens[index].text in _OPENING:
            depth += 1
        elif tokens[index].text in _CLOSING:
            depth -= 1
            if depth == 0:
                return index
    raise ValueError("closing() needs tokens whose brackets match")


def split_clauses(tokens: Sequence[Token], diagnostics: Diagnostics) -> tuple[RawClause, ...]:
    """The clauses of a directive, with optional commas; reports and skips other tokens."""
    clauses: list[RawClause] = []
    position = 0
    comma = False
    while position < len(tokens):
        token = tokens[position]
        if token.text == ",":
            if comma or position + 1 == len(tokens):
                diagnostics.error(token.range, "this comma separates no clauses", "remove it")
            comma = True
            position += 1
            continue
        comma = False
        if not token.is_identifier:
            end = closing(tokens, position) + 1 if token.text in _OPENING else position + 1
            message = f"'{text_of(tokens[position:end])}' stands where a clause is expected"
            diagnostics.error(range_of(tokens[position:end]), message, "remove it")
        else:
            end, clause = _clause(tokens, position, diagnostics)
            clauses += [] if clause is None else [clause]
        position = end
    return tuple(clauses)


def _clause(tokens: Sequence[Token], start: int, diagnostics: Diagnostics) -> tuple[int, RawClause | None]:
    """The clause whose name is at `start`, and the index behind it."""
    index = arguments = None
    end = start + 1
    if end < len(tokens) and tokens[end].text == "[":
        close = closing(tokens, end)
        index = tuple(tokens[end + 1 : close])
        if not index:
            message = "these brackets are empty"
            diagnostics.error(range_of(tokens[end : close + 1]), message, "write a number, or remove them")
            index = None
        end = close + 1
    if end < len(tokens) and tokens[end].text == "(":
        close = closing(tokens, end)
        arguments = tuple(tokens[end + 1 : close])
        end = close + 1
    name = tokens[start]
    return end, RawClause(name.text, index, arguments, range_of(tokens[start:end]), name.range)


def split_at_commas(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """The parts of a list whose commas stand outside all brackets; a part may be empty."""
    parts: list[tuple[Token, ...]] = []
    start = position = 0
    while position < len(tokens):
        if tokens[position].text in _OPENING:
            position = closing(tokens, position)
        elif tokens[position].text == ",":
            parts.append(tuple(tokens[start:position]))
            start = position + 1
        position += 1
    parts.append(tuple(tokens[start:]))
    return parts


def expression(tokens: Sequence[Token]) -> ClauseExpression:
    """The C expression that `tokens`, which are not empty, spell."""
    return ClauseExpression(text_of(tokens), range_of(tokens))
