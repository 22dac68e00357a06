"""Finds tilek directives in a C file: `#pragma tilek …`, `_Pragma("tilek …")`, and their macros;
and lines of OpenMP, `#pragma omp …` and `_Pragma("omp …")`.

A hand lexer that knows only comments, literals, continuations and preprocessing lines. So the
directives of a file and their exact bytes are known before C is parsed. Macros are seen as far as
no preprocessor is needed:

    #define TILED _Pragma("tilek loop tile(dynamic)")     each use of TILED is the directive
    #define PRAGMA(x) _Pragma(#x)                         PRAGMA(tilek loop) is a directive

A use may pass through a second macro. It is rewritten as a whole, so a macro must hold directives
and nothing else; uses of other macros are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.spliced_source import DirectiveText, SplicedSource, Token, tokenize
from tilepragma.ir.directives import (
    DataDirective,
    Directive,
    KernelDirective,
    LoopDirective,
    OpenMPRegion,
    UntranslatedOpenMP,
)

_COMMENT = rb"//[^\n]*|/\*.*?(?:\*/|\Z)"
_LITERAL = rb"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_SPACE = rb"(?:\s|//[^\n]*|/\*.*?\*/)*"
_OPERATOR = re.compile(
    rb"_Pragma" + _SPACE + rb"\(" + _SPACE + rb"((?:u8|[LuU])?\"(?:[^\"\\\n]|\\.)*\")" + _SPACE + rb"\)", re.DOTALL
)
_NAME = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$]*")
_TILEK = re.compile(_SPACE + rb"tilek(?![A-Za-z0-9_$\x80-\xff])", re.DOTALL)
_OPENMP = re.compile(_SPACE + rb"omp(?![A-Za-z0-9_$\x80-\xff])", re.DOTALL)
#: A line of OpenMP in a macro's body: `_Pragma("omp …")`, or an argument of a macro that makes one.
_OPENMP_IN_BODY = re.compile(rb'\w[ \t]*\([ \t]*"?[ \t]*omp[ \t]+(?!simd\b)\w')
_GAP = re.compile(_SPACE, re.DOTALL)
_PARENTHESIS = re.compile(_COMMENT + rb"|" + _LITERAL + rb"|[()]", re.DOTALL)
_PARAMETER = re.compile(rb"\(" + _SPACE + rb"(?:([A-Za-z_$][A-Za-z0-9_$]*)|\.\.\.)" + _SPACE + rb"\)", re.DOTALL)
_STRINGIZED = re.compile(
    rb"_Pragma" + _SPACE + rb"\(" + _SPACE + rb"#" + _SPACE + rb"([A-Za-z_$][A-Za-z0-9_$]*)" + _SPACE + rb"\)",
    re.DOTALL,
)
_WORD = re.compile(_COMMENT + rb"|" + _LITERAL + rb"|" + _NAME.pattern, re.DOTALL)
_BLANK = rb"(?:[ \t\f\v\r]|/\*.*?\*/)*"
_REST_OF_LINE = re.compile(rb"(?:[^\n/\"']+|" + _COMMENT + rb"|" + _LITERAL + rb"|[/\"'])*", re.DOTALL)
_KEYWORD = re.compile(rb"#" + _BLANK + rb"(pragma|define|undef)\b" + _BLANK, re.DOTALL)
_PRAGMA = re.compile(rb"_Pragma")
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+([A-Za-z_$][A-Za-z0-9_$]*)([^\n]*)")


@dataclass(frozen=True)
class LocatedDirective:
    """A directive and its place.

    `range` covers all its bytes: a `#pragma` from `#` to the end of its last line without the
    newline, a `_Pragma` operator, or a macro's use. C continues at the byte `end_offset`. The
    statement that follows, if any, begins at `statement`, once that is known.
    """

    directive: Directive
    range: SourceRange
    end_offset: int
    statement: int | None = None

    @property
    def kernel(self) -> KernelDirective | None:
        """The kernel part of the directive."""
        directive = self.directive[0] if isinstance(self.directive, tuple) else self.directive
        return directive if isinstance(directive, KernelDirective) else None

    @property
    def openmp_line(self) -> SourceRange | None:
        """The line of OpenMP that stands for the directive, if any."""
        return None if self.kernel is None else self.kernel.openmp_line

    @property
    def in_openmp_region(self) -> bool:
        """Whether a line of OpenMP stands for it that needs the threads of a region around."""
        return self.kernel is not None and self.kernel.in_openmp_region

    @property
    def openmp_region(self) -> OpenMPRegion | None:
        """The line of OpenMP, if it begins a region of threads."""
        return self.directive if isinstance(self.directive, OpenMPRegion) else None

    @property
    def stays_openmp(self) -> bool:
        """Whether this is a line of OpenMP that stays as it is."""
        return isinstance(self.directive, UntranslatedOpenMP)

    @property
    def loop(self) -> LoopDirective | None:
        """The loop part of the directive."""
        directive = self.directive[1] if isinstance(self.directive, tuple) else self.directive
        return directive if isinstance(directive, LoopDirective) else None

    @property
    def data(self) -> DataDirective | None:
        """The directive, if it is about data or a `wait`."""
        return self.directive if isinstance(self.directive, DataDirective) else None


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
    for text_or_macro, start, end in _sites(source, skipped, macros or MacroTable(), _is_tilek):
        place = source.range(source.origin(start), source.origin_end(end))
        if isinstance(text_or_macro, PragmaMacro):
            _refuse(text_or_macro, place, diagnostics)
            continue
        directive = parse_directive(tokenize(text_or_macro)[1:], place, diagnostics)
        if directive is not None:
            directives.append(LocatedDirective(directive, place, _continuation(source, start, end)))
    return tuple(directives)


@dataclass(frozen=True)
class OpenMPText:
    """A line of OpenMP: the tokens behind `omp`, its bytes, and where C continues."""

    tokens: tuple[Token, ...]
    range: SourceRange
    end_offset: int

    @property
    def words(self) -> tuple[str, ...]:
        """The names in it."""
        return tuple(token.text for token in self.tokens if token.is_identifier)


def find_openmp(
    path: str, text: bytes, skipped: Sequence[tuple[int, int]] = (), macros: MacroTable | None = None
) -> tuple[OpenMPText, ...]:
    """All lines of OpenMP in a file, but for those in the ranges `skipped` and those that macros
    hold (`openmp_macro_use`). `macros` as for tilek's directives.
    """
    source = SplicedSource(path, text)
    lines = []
    for content, start, end in _sites(source, skipped, macros or MacroTable(), _is_openmp):
        if isinstance(content, DirectiveText):
            place = source.range(source.origin(start), source.origin_end(end))
            lines.append(OpenMPText(tokenize(content)[1:], place, _continuation(source, start, end)))
    return tuple(lines)


def openmp_macro_use(files: Iterable[tuple[str, bytes]]) -> SourceRange | None:
    """The first use of a macro that makes lines of OpenMP in files, each a path and its text, the
    headers first; None: there is none.
    """
    sources = [SplicedSource(path, text) for path, text in files]
    names: set[bytes] = set()
    for source in sources:
        names |= _macros_holding(_OPENMP_IN_BODY, source.text, names)
    if not names:
        return None
    words = b"|".join(map(re.escape, sorted(names)))
    pattern = re.compile(
        _COMMENT + rb"|" + _LITERAL + rb"|^[ \t]*#[^\n]*|\b(" + words + rb")\b", re.DOTALL | re.MULTILINE
    )
    for source in sources:
        for match in pattern.finditer(source.text):
            if match[1] is not None:
                return source.range(source.origin(match.start()), source.origin_end(match.end()))
    return None


def _refuse(macro: PragmaMacro, place: SourceRange, diagnostics: Diagnostics) -> None:
    notes = (
        Diagnostic(Severity.NOTE, macro.definition, f"'{macro.name}' is defined here"),
        Diagnostic(Severity.NOTE, place, "write the directive here, or define a macro for the directive alone"),
    )
    message = f"macro '{macro.name}' cannot stand for a tilek directive: {macro.fault}"
    diagnostics.add(Diagnostic(Severity.ERROR, place, message, notes))


def _continuation(source: SplicedSource, start: int, end: int) -> int:
    """Where C continues in the file behind the directive [start, end) of the spliced text."""
    text = source.text
    if text[start : start + 1] != b"#":
        return source.origin_end(end)
    newline = text.find(b"\n", end)
    return source.origin_end(newline + 1) if newline >= 0 else len(source.original)


def _sites(
    source: SplicedSource,
    skipped: Sequence[tuple[int, int]],
    macros: MacroTable,
    is_input: Callable[[DirectiveText], bool],
) -> Iterator[tuple[DirectiveText | PragmaMacro, int, int]]:
    """The texts of pragmas in `source` outside `skipped` that are input, or faulty macros, each
    with begin and end.

    Offsets are those of the spliced text. The walk jumps between places of interest.
    """
    text = source.text
    macros.names |= _pragma_macros(text, macros.names)
    if b"tilek" not in text and b"omp" not in text and not macros.names:
        return
    pattern = _interesting(macros.names)
    comment_starts: dict[int, int] = {}
    position = 0
    while match := pattern.search(text, position):
        start, position = match.span()
        word = match.group()
        if skipped and any(first <= source.origin(start) < last for first, last in skipped):
            continue
        if word == b"#":
            if not _begins_line(text, start, comment_starts):
                continue
            position = _end_of_line(text, start)
            pragma = _preprocessing_line(source, start, position, macros)
            if pragma is not None and is_input(pragma):
                yield pragma, start, position
        elif word[:1] == b"/":
            comment_starts[position] = start
        elif word == b"_Pragma":
            operator = _OPERATOR.match(text, start)
            if operator is not None:
                position = operator.end()
                content = _operator_text(source, operator)
                if is_input(content):
                    yield content, start, position
        elif (macro := macros.get(word)) is not None:
            use = _use(source, position, macro)
            if use is None:
                continue
            directives, end = use
            for site in [macro] if macro.fault is not None else list(filter(is_input, directives)):
                yield site, start, end
                position = end


def _pragma_macros(text: bytes, known: set[bytes]) -> set[bytes]:
    """The macros in `text` that may hold a `_Pragma`, directly or through others or `known`."""
    return set(known) if b"_Pragma" not in text and not known else _macros_holding(_PRAGMA, text, known)


def _macros_holding(pattern: re.Pattern[bytes], text: bytes, known: set[bytes]) -> set[bytes]:
    """The macros in `text` whose bodies hold the pattern, directly or through others or `known`."""
    names = set(known)
    definitions = _DEFINED.findall(text)
    before = -1
    while len(names) != before:
        before = len(names)
        names |= {n for n, body in definitions if pattern.search(body) or names & set(_NAME.findall(body))}
    return names


def _interesting(names: set[bytes]) -> re.Pattern[bytes]:
    """A pattern of the places to stop at: comments, literals, `#`, `_Pragma`, macros `names`."""
    words = b"|".join([rb"_Pragma", *(re.escape(name) for name in sorted(names))])
    return re.compile(_COMMENT + rb"|" + _LITERAL + rb"|#|\b(?:" + words + rb")\b", re.DOTALL)


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
    """The text of a pragma at `start`; a macro definition updates `macros`."""
    keyword = _KEYWORD.match(source.text, start, end)
    if keyword is None:
        return None
    if keyword[1] == b"pragma":
        return _piece(source, keyword.end(), end)
    name = _NAME.match(source.text, keyword.end(), end)
    if name is not None:
        if keyword[1] == b"define":
            macros.define(source, name, end)
        else:
            macros.undefine(name.group())
    return None


# -- macros


@dataclass(frozen=True)
class PragmaMacro:
    """A macro that stands for `directives`, or that makes one of its argument (`stringizes`).

    `called` tells that a use needs parentheses. `fault`, if not None, tells why a use cannot be
    translated. `name` and `definition` tell the origin, for messages.
    """

    directives: tuple[DirectiveText, ...]
    stringizes: bool
    called: bool
    fault: str | None
    name: str
    definition: SourceRange


def _is_tilek(text: DirectiveText) -> bool:
    return _TILEK.match(text.content) is not None


def _is_openmp(text: DirectiveText) -> bool:
    return _OPENMP.match(text.content) is not None


def _piece(source: SplicedSource, start: int, end: int) -> DirectiveText:
    return DirectiveText(source, source.text[start:end], [source.origin(offset) for offset in range(start, end)])


def _operator_text(source: SplicedSource, operator: re.Match[bytes]) -> DirectiveText:
    """The unescaped string of a `_Pragma` operator that _OPERATOR matched."""
    literal = operator[1]
    index = literal.index(b'"') + 1
    content = bytearray()
    origins: list[int] = []
    while index < len(literal) - 1:
        if literal[index : index + 2] in (b'\\"', b"\\\\"):
            index += 1
        content += literal[index : index + 1]
        origins.append(source.origin(operator.start(1) + index))
        index += 1
    return DirectiveText(source, bytes(content), origins)


def _argument_end(text: bytes, name_end: int) -> tuple[int, int] | None:
    """The offsets behind `(` and at `)` of a macro call behind its name; None without a call."""
    start = _skip(text, name_end, len(text))
    if text[start : start + 1] != b"(":
        return None
    depth = 0
    for match in _PARENTHESIS.finditer(text, start):
        if match.group() == b"(":
            depth += 1
        elif match.group() == b")":
            depth -= 1
            if depth == 0:
                return start + 1, match.start()
    return None


class MacroTable:
    """The macros of a translation unit at one place in it, those of headers included.

    As in C, a macro in another's body is looked up at the use. `names` holds the macros that may
    lead to pragmas, defined at this place or not.
    """

    def __init__(self) -> None:
        self.names: set[bytes] = set()
        self._definitions: dict[bytes, tuple[SplicedSource, re.Match[bytes], int]] = {}
        self._read: dict[bytes, PragmaMacro | None] = {}

    def define(self, source: SplicedSource, name: re.Match[bytes], end: int) -> None:
        """Record the definition that has `name` and ends at `end` of the text of `source`."""
        self._definitions[name.group()] = (source, name, end)
        self._read.clear()

    def undefine(self, name: bytes) -> None:
        """Forget the definition of `name`, if there is one."""
        self._definitions.pop(name, None)
        self._read.clear()

    def get(self, name: bytes) -> PragmaMacro | None:
        """The macro `name`, or None if it has nothing to do with tilek."""
        if name not in self._read:
            self._read[name] = None  # a macro does not expand in its own body
            if name in self._definitions:
                self._read[name] = _read_definition(*self._definitions[name], self)
        return self._read[name]


def _read_definition(source: SplicedSource, name: re.Match[bytes], end: int, macros: MacroTable) -> PragmaMacro | None:
    """The macro whose definition has `name` and ends at `end`; None if tilek has no part in it."""
    text = source.text

    def macro(
        directives: tuple[DirectiveText, ...] = (), fault: str | None = None, *, stringizes: bool = False
    ) -> PragmaMacro:
        definition = source.range(source.origin(name.start()), source.origin_end(name.end()))
        return PragmaMacro(directives, stringizes, is_function, fault, name.group().decode(), definition)

    is_function = text[name.end() : name.end() + 1] == b"("
    parameter = _PARAMETER.match(text, name.end(), end) if is_function else None
    if parameter is not None and _passes_on(text, parameter, end, macros):
        return macro(stringizes=True)
    directives, others = _body(source, name.end(), end, macros)
    if not is_function:
        fault = "it holds more than tilek directives" if others else None
        return macro(directives, fault) if directives else None
    words = {match.group() for match in _WORD.finditer(text, name.end(), end)}
    used = [macro_used for word in words if (macro_used := macros.get(word)) is not None]
    if directives or (b"tilek" in words and any(macro_used.stringizes for macro_used in used)):
        return macro(fault="it has parameters")
    return None


def _passes_on(text: bytes, parameters: re.Match[bytes], end: int, macros: MacroTable) -> bool:
    """Whether the body is `_Pragma(#parameter)`, or a call of such a macro with the parameter."""
    start = _skip(text, parameters.end(), end)
    parameter = parameters[1] or b"__VA_ARGS__"
    stringized = _STRINGIZED.match(text, start, end)
    if stringized is not None:
        return stringized[1] == parameter and not _rest(text, stringized.end(), end)
    name = _NAME.match(text, start, end)
    macro = macros.get(name.group()) if name else None
    if name is None or macro is None or not macro.stringizes:
        return False
    argument = _argument_end(text, name.end())
    return argument is not None and _rest(text, *argument) == parameter and not _rest(text, argument[1] + 1, end)


def _rest(text: bytes, start: int, end: int) -> bytes:
    return text[_skip(text, start, end) : end].strip()


def _skip(text: bytes, start: int, end: int) -> int:
    """Where white space and comments that begin at `start` end."""
    gap = _GAP.match(text, start, end)
    return gap.end() if gap else start


def _body(source: SplicedSource, start: int, end: int, macros: MacroTable) -> tuple[tuple[DirectiveText, ...], bool]:
    """The tilek directives of a macro's body, and whether anything else stands there."""
    text = source.text
    tilek_directives: list[DirectiveText] = []
    others = False
    directives: tuple[DirectiveText, ...]
    position = _skip(text, start, end)
    while position < end:
        operator = _OPERATOR.match(text, position, end)
        name = _NAME.match(text, position, end)
        macro = macros.get(name.group()) if name else None
        use = _use(source, name.end(), macro) if name and macro is not None and macro.fault is None else None
        if operator is not None:
            directives, position = (_operator_text(source, operator),), operator.end()
        elif use is not None:
            directives, position = use
        else:
            directives, position = (), name.end() if name else position + 1
        tilek = tuple(directive for directive in directives if _is_tilek(directive))
        others |= not tilek or len(tilek) < len(directives)
        tilek_directives += tilek
        position = _skip(text, position, end)
    return tuple(tilek_directives), others


def _use(source: SplicedSource, name_end: int, macro: PragmaMacro) -> tuple[tuple[DirectiveText, ...], int] | None:
    """The directives of a macro's use, and its end; None for a name without its parentheses."""
    if not macro.called:
        return macro.directives, name_end
    argument = _argument_end(source.text, name_end)
    return None if argument is None else ((_piece(source, *argument),), argument[1] + 1)
