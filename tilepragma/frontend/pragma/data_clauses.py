"""Data clauses: sections `A[lower:length]…`, and the attributes `mode:` and `live:`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.pragma.constructs import listed, nearest
from tilepragma.frontend.pragma.spliced_source import Token, range_of, text_of
from tilepragma.frontend.pragma.syntax import RawClause, closing, expression, split_at_commas
from tilepragma.ir.directives import DataClause, Live, Mode, Section, SectionDimension

_Attribute = TypeVar("_Attribute", bound=Enum)

_SUGAR_LIVE = {"copy": Live.IN_OUT, "copyin": Live.IN, "copyout": Live.OUT, "create": Live.NOT}
_BOTH = {"mode": "rw", "live": "inout"}
_BRACKETS = ("(", "[", "{")


def parse_data(raw: RawClause, diagnostics: Diagnostics) -> tuple[DataClause, ...]:
    """`data(…)` or one of OpenACC's data clauses; empty if no item of it is correct.

    The paper's literal `data(...)` adds nothing: it leaves all data to the compiler.
    """
    if raw.name == "data" and text_of(raw.arguments or ()) == "...":
        return ()
    sections: list[Section] = []
    modes: list[tuple[Mode, tuple[Token, ...]]] = []
    lives: list[tuple[Live, tuple[Token, ...]]] = []
    for part in split_at_commas(raw.arguments or ()):
        if not part:
            diagnostics.error(
                raw.range, f"clause '{raw.name}' has an empty argument", "remove the comma that stands alone"
            )
        elif len(part) > 1 and part[0].is_identifier and part[1].text == ":":
            _attribute(raw, part, modes, lives, diagnostics)
        else:
            section = _section(part, diagnostics)
            sections += [] if section is None else [section]
    _once("mode", modes, diagnostics)
    _once("live", lives, diagnostics)
    if not sections:
        if modes or lives:
            diagnostics.error(
                raw.range,
                f"clause '{raw.name}' has attributes but no section for them",
                "write data(A[0:n], mode:rw)",
            )
        return ()
    mode = modes[0][0] if modes else None
    live = lives[0][0] if lives else _SUGAR_LIVE.get(raw.name)
    _agree(raw, mode, live, diagnostics)
    return (DataClause(raw.name, tuple(sections), mode, live, raw.name == "present", raw.range),)


def _attribute(
    raw: RawClause,
    part: Sequence[Token],
    modes: list[tuple[Mode, tuple[Token, ...]]],
    lives: list[tuple[Live, tuple[Token, ...]]],
    diagnostics: Diagnostics,
) -> None:
    key = part[0].text
    if key not in ("mode", "live"):
        near = nearest(key, ("mode", "live"))
        remedy = f"did you mean '{near}'?" if near else "the attributes are mode:r|w|rw and live:in|out|inout|not"
        diagnostics.error(part[0].range, f"'{key}' is not an attribute of data", remedy)
    elif raw.name != "data":
        diagnostics.error(
            range_of(part),
            f"clause '{raw.name}' takes no attributes: its name says what moves",
            f"write data(…, {text_of(part)})",
        )
    elif key == "mode":
        _keep(Mode, part, modes, diagnostics)
    else:
        _keep(Live, part, lives, diagnostics)


def _keep(
    values: type[_Attribute],
    part: Sequence[Token],
    kept: list[tuple[_Attribute, tuple[Token, ...]]],
    diagnostics: Diagnostics,
) -> None:
    word = text_of(part[2:])
    known = {value.value: value for value in values}
    if word in known:
        kept.append((known[word], tuple(part)))
        return
    key = part[0].text
    near = nearest(word, known)
    every = f"write {key}: with one of {listed(known, 'or')}"
    diagnostics.error(
        range_of(part),
        f"'{word}' is not a value of '{key}'" if word else f"'{key}' has no value",
        f"did you mean '{near}'? {every}" if near else every,
    )


def _once(key: str, kept: Sequence[tuple[_Attribute, tuple[Token, ...]]], diagnostics: Diagnostics) -> None:
    for value, part in kept[1:]:
        first = kept[0][0]
        if value is first:
            diagnostics.error(range_of(part), f"'{key}' is given twice in one clause", "give it once")
        else:
            diagnostics.error(
                range_of(part),
                f"'{key}:{value.value}' contradicts '{key}:{first.value}' in the same clause",
                f"write {key}:{_BOTH[key]}, or a clause of its own for each array: "
                "attributes hold for the whole clause",
            )


def _agree(raw: RawClause, mode: Mode | None, live: Live | None, diagnostics: Diagnostics) -> None:
    if mode is Mode.READ and live is Live.OUT:
        diagnostics.error(
            raw.range,
            "'mode:r' contradicts 'live:out': data that is only read brings no values out",
            "write live:in, or mode:w",
        )
    if mode is Mode.WRITE and live is Live.IN:
        diagnostics.error(
            raw.range,
            "'mode:w' contradicts 'live:in': written values would be lost, and entering values are not read",
            "write live:out, or mode:r",
        )


def _section(tokens: Sequence[Token], diagnostics: Diagnostics) -> Section | None:
    """`path[…][…]`; None after an error."""
    end = next((index for index, token in enumerate(tokens) if token.text == "["), len(tokens))
    path = tokens[:end]
    if not _is_path(path):
        diagnostics.error(
            range_of(tokens),
            f"'{text_of(tokens)}' is not a section of an array",
            "write a variable or a member path with its bounds: A[0:n][0:m], grid->u[0:n]",
        )
        return None
    dimensions: list[SectionDimension] = []
    while end < len(tokens):
        if tokens[end].text != "[":
            diagnostics.error(
                range_of(tokens[end:]),
                f"'{text_of(tokens[end:])}' follows the section '{text_of(tokens[:end])}'",
                "a section ends with its bounds; put a comma before the next one",
            )
            return None
        close = closing(tokens, end)
        dimension = _bounds(tokens[end : close + 1], diagnostics)
        if dimension is None:
            return None
        dimensions.append(dimension)
        end = close + 1
    text = "".join(token.text for token in path)
    return Section(text, tuple(dimensions), range_of(tokens))


def _is_path(tokens: Sequence[Token]) -> bool:
    """Whether `tokens` are names joined by `.` and `->`."""
    if len(tokens) % 2 == 0:
        return False
    names = all(token.is_identifier for token in tokens[::2])
    return names and all(token.text in (".", "->") for token in tokens[1::2])


def _bounds(tokens: Sequence[Token], diagnostics: Diagnostics) -> SectionDimension | None:
    """`[length]`, `[lower:length]`, `[:length]` or `[:]`, with brackets; None after an error."""
    inner = tokens[1:-1]
    colons = _colons(inner)
    if not inner:
        diagnostics.error(range_of(tokens), "this dimension has no bounds", "write [lower:length] or [length]")
        return None
    if len(colons) > 1:
        diagnostics.error(
            inner[colons[1]].range, "a section has no stride: it is a lower bound and a length", "write [lower:length]"
        )
        return None
    lower, length = (inner[: colons[0]], inner[colons[0] + 1 :]) if colons else ((), inner)
    if lower and not length:
        diagnostics.error(
            range_of(tokens), "this section has no length", "write [lower:length]; the length counts elements"
        )
        return None
    if length:
        value = expression(length)
        if value.literal is not None and value.literal < 1:
            diagnostics.error(value.range, "the length of a section must be at least 1", "write [lower:length]")
            return None
    return SectionDimension(expression(lower) if lower else None, expression(length) if length else None)


def _colons(tokens: Sequence[Token]) -> list[int]:
    """The indices of the colons outside all brackets that belong to no `?`."""
    colons: list[int] = []
    questions = index = 0
    while index < len(tokens):
        text = tokens[index].text
        if text in _BRACKETS:
            index = closing(tokens, index)
        elif text == "?":
            questions += 1
        elif text == ":":
            if questions:
                questions -= 1
            else:
                colons.append(index)
        index += 1
    return colons
