"""The syntax all clauses share: matching brackets, `name[index](arguments)`, and lists with commas."""

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
    """`name`, `name(arguments)`, `name[index](arguments)`; the tokens between the brackets, None where there are none."""

    name: str
    index: tuple[Token, ...] | None
    arguments: tuple[Token, ...] | None
    range: SourceRange
    name_range: SourceRange


def matched(tokens: Sequence[Token], diagnostics: Diagnostics) -> tuple[Token, ...]:
    """`tokens` with every bracket matched: one that closes nothing is left out, one that is never
    closed or closed by another kind ends the tokens before the clause it stands in. Each is
    reported.
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
                diagnostics.error(
                    token.range,
                    f"'{token.text}' stands where the '{opened.text}' of {where} is still open",
                    f"put '{expected}' before it",
                )
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
    """The tokens before the clause that the outermost bracket at `bracket` belongs to."""
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
    """The clauses of a directive, an optional comma between them; what is no clause is reported and passed over."""
    clauses: list[RawClause] = []
    at = 0
    comma = False
    while at < len(tokens):
        token = tokens[at]
        if token.text == ",":
            if comma or at + 1 == len(tokens):
                diagnostics.error(token.range, "this comma separates no clauses", "remove it")
            comma = True
            at += 1
            continue
        comma = False
        if not token.is_identifier:
            end = closing(tokens, at) + 1 if token.text in _OPENING else at + 1
            diagnostics.error(
                range_of(tokens[at:end]), f"'{text_of(tokens[at:end])}' stands where a clause is expected", "remove it"
            )
        else:
            end, clause = _clause(tokens, at, diagnostics)
            clauses += [] if clause is None else [clause]
        at = end
    return tuple(clauses)


def _clause(tokens: Sequence[Token], at: int, diagnostics: Diagnostics) -> tuple[int, RawClause | None]:
    """The clause that begins with the name at `at`, and the index behind it."""
    index = arguments = None
    end = at + 1
    if end < len(tokens) and tokens[end].text == "[":
        close = closing(tokens, end)
        index = tuple(tokens[end + 1 : close])
        if not index:
            diagnostics.error(
                range_of(tokens[end : close + 1]), "these brackets are empty", "write a number, or remove them"
            )
            index = None
        end = close + 1
    if end < len(tokens) and tokens[end].text == "(":
        close = closing(tokens, end)
        arguments = tuple(tokens[end + 1 : close])
        end = close + 1
    name = tokens[at]
    return end, RawClause(name.text, index, arguments, range_of(tokens[at:end]), name.range)


def split_at_commas(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """The parts of a list whose commas stand outside all brackets; a part may be empty."""
    parts: list[tuple[Token, ...]] = []
    start = at = 0
    while at < len(tokens):
        if tokens[at].text in _OPENING:
            at = closing(tokens, at)
        elif tokens[at].text == ",":
            parts.append(tuple(tokens[start:at]))
            start = at + 1
        at += 1
    parts.append(tuple(tokens[start:]))
    return parts


def expression(tokens: Sequence[Token]) -> ClauseExpression:
    """The C expression that `tokens`, of which there is at least one, spell."""
    return ClauseExpression(text_of(tokens), range_of(tokens))
