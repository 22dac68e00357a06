"""Finds tilek directives in a C file: `#pragma tilek …`, `_Pragma("tilek …")`, and their macros.

A hand lexer that knows only comments, literals, continuations and preprocessing lines. So the
directives of a file and their exact bytes are known before C is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.macros import (
    COMMENT,
    LITERAL,
    NAME,
    OPERATOR,
    MacroTable,
    PragmaMacro,
    argument_end,
    is_tilek,
    operator_text,
    piece,
)
from tilepragma.frontend.pragma.spliced_source import DirectiveText, SplicedSource, tokenize

if TYPE_CHECKING:
    from tilepragma.ir.directives import Directive

_BLANK = rb"(?:[ \t\f\v\r]|/\*.*?\*/)*"
_REST_OF_LINE = re.compile(rb"(?:[^\n/\"']+|" + COMMENT + rb"|" + LITERAL + rb"|[/\"'])*", re.DOTALL)
_KEYWORD = re.compile(rb"#" + _BLANK + rb"(pragma|define|undef)\b" + _BLANK, re.DOTALL)
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+([A-Za-z_$][A-Za-z0-9_$]*)([^\n]*)")


@dataclass(frozen=True)
class LocatedDirective:
    """A directive and its place.

    `range` covers all its bytes: a `#pragma` from `#` to the end of its last line without the
    newline, a `_Pragma` operator, or a macro's use. C continues at the byte `end_offset`.
    """

    directive: Directive
    range: SourceRange
    end_offset: int


@dataclass(frozen=True)
class _Site:
    """A directive before parsing, or a use of a faulty macro; offsets in the spliced text."""

    text: DirectiveText | None
    start: int
    end: int
    macro: PragmaMacro | None = None


def find_directives(
    path: str,
    text: bytes,
    diagnostics: Diagnostics,
    skipped: Sequence[tuple[int, int]] = (),
    macros: MacroTable | None = None,
) -> tuple[LocatedDirective, ...]:
    """All tilek directives of the file `path` with the bytes `text`, in textual order.

    Errors go to `diagnostics`; a directive with errors is returned as far as it is understood,
    unless its construct is unknown. `skipped` lists the byte ranges [start, end) that the
    preprocessor leaves out (`#if 0`): directives and macro definitions in them do not count.
    `macros` has the macros of headers; the file adds its macros. Scan headers first.
    """
    # Loading the grammar takes time, which only files with directives need.
    from tilepragma.frontend.pragma.grammar import parse_directive

    source = SplicedSource(path, text)
    directives = []
    for site in _sites(source, skipped, macros or MacroTable()):
        place = source.range(source.origin(site.start), source.origin_end(site.end))
        if site.text is None:
            _refuse(site, place, diagnostics)
            continue
        directive = parse_directive(tokenize(site.text)[1:], place, diagnostics)
        if directive is not None:
            directives.append(LocatedDirective(directive, place, _continuation(source, site)))
    return tuple(directives)


def _refuse(site: _Site, place: SourceRange, diagnostics: Diagnostics) -> None:
    macro = site.macro
    if macro is None or macro.fault is None:
        return
    notes = (
        Diagnostic(Severity.NOTE, macro.definition, f"'{macro.name}' is defined here"),
        Diagnostic(Severity.NOTE, place, "write the directive here, or define a macro for the directive alone"),
    )
    message = f"macro '{macro.name}' cannot stand for a tilek directive: {macro.fault}"
    diagnostics.add(Diagnostic(Severity.ERROR, place, message, notes))


def _continuation(source: SplicedSource, site: _Site) -> int:
    text = source.text
    end = site.end
    if text[site.start : site.start + 1] != b"#":
        return source.origin_end(end)
    newline = text.find(b"\n", end)
    return source.origin_end(newline + 1) if newline >= 0 else len(source.original)


def _sites(source: SplicedSource, skipped: Sequence[tuple[int, int]], macros: MacroTable) -> Iterator[_Site]:
    """The directives of `source` outside `skipped`, jumping between places of interest."""
    text = source.text
    macros.names |= _pragma_macros(text, macros.names)
    if b"tilek" not in text and not macros.names:
        return
    pattern = _interesting(macros.names)
    comment_starts: dict[int, int] = {}
    position = 0
    while match := pattern.search(text, position):
        start, position = match.span()
        word = match.group()
        if skipped and _lies_in(source.origin(start), skipped):
            continue
        if word == b"#":
            if not _begins_line(text, start, comment_starts):
                continue
            position = _end_of_line(text, start)
            pragma = _preprocessing_line(source, start, position, macros)
            if pragma is not None:
                yield _Site(pragma, start, position)
        elif word[:1] == b"/":
            comment_starts[position] = start
        elif word == b"_Pragma":
            operator = OPERATOR.match(text, start)
            if operator is not None:
                position = operator.end()
                content = operator_text(source, operator)
                if is_tilek(content):
                    yield _Site(content, start, position)
        elif (macro := macros.get(word)) is not None:
            for site in _uses(source, start, position, macro):
                yield site
                position = site.end


def _uses(source: SplicedSource, start: int, end: int, macro: PragmaMacro) -> Iterator[_Site]:
    """The directives of the use of `macro` whose name is [`start`, `end`)."""
    argument = argument_end(source.text, end) if macro.called else None
    if macro.called and argument is None:
        return
    end = argument[1] + 1 if argument else end
    if macro.fault is not None:
        yield _Site(None, start, end, macro)
    elif argument is not None:
        content = piece(source, *argument)
        if is_tilek(content):
            yield _Site(content, start, end)
    else:
        for content in macro.directives:
            yield _Site(content, start, end)


def _lies_in(offset: int, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(first <= offset < last for first, last in ranges)


def _pragma_macros(text: bytes, known: set[bytes]) -> set[bytes]:
    """The macros in `text` that may hold a `_Pragma`, directly or through others or `known`."""
    names = set(known)
    if b"_Pragma" not in text and not known:
        return names
    definitions = _DEFINED.findall(text)
    before = -1
    while len(names) != before:
        before = len(names)
        names |= {n for n, body in definitions if b"_Pragma" in body or names & set(NAME.findall(body))}
    return names


def _interesting(names: set[bytes]) -> re.Pattern[bytes]:
    """A pattern of the places to stop at: comments, literals, `#`, `_Pragma`, macros `names`."""
    words = b"|".join([rb"_Pragma", *(re.escape(name) for name in sorted(names))])
    return re.compile(COMMENT + rb"|" + LITERAL + rb"|#|\b(?:" + words + rb")\b", re.DOTALL)


def _begins_line(text: bytes, hash_: int, comment_starts: dict[int, int]) -> bool:
    """Whether only blanks and comments stand before `hash_` on its line."""
    position = hash_
    while position > 0:
        if position in comment_starts:
            position = comment_starts[position]
        elif text[position - 1 : position] in b" \t\f\v\r":
            position -= 1
        else:
            return text[position - 1 : position] == b"\n"
    return True


def _end_of_line(text: bytes, start: int) -> int:
    """Where the preprocessing line at `start` ends, before its newline and carriage return."""
    match = _REST_OF_LINE.match(text, start)
    end = match.end() if match else len(text)
    return end - 1 if text[end - 1 : end] == b"\r" else end


def _preprocessing_line(source: SplicedSource, start: int, end: int, macros: MacroTable) -> DirectiveText | None:
    """The directive text of a tilek pragma at `start`; a macro definition updates `macros`."""
    keyword = _KEYWORD.match(source.text, start, end)
    if keyword is None:
        return None
    if keyword[1] == b"pragma":
        content = piece(source, keyword.end(), end)
        return content if is_tilek(content) else None
    name = NAME.match(source.text, keyword.end(), end)
    if name is not None:
        if keyword[1] == b"define":
            macros.define(source, name, end)
        else:
            macros.undefine(name.group())
    return None
