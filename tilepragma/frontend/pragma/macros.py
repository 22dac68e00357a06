"""Macros that hold tilek directives, as far as they can be seen without a preprocessor.

    #define TILED _Pragma("tilek loop tile(dynamic)")     each use of TILED is the directive
    #define PRAGMA(x) _Pragma(#x)                         PRAGMA(tilek loop) is a directive

A use may pass through a second macro. It is rewritten as a whole, so a macro must hold directives
and nothing else; uses of other macros are refused.
"""

from __future__ import annotations

import re

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.pragma.spliced_source import DirectiveText, SplicedSource

COMMENT = rb"//[^\n]*|/\*.*?(?:\*/|\Z)"
LITERAL = rb"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
SPACE = rb"(?:\s|//[^\n]*|/\*.*?\*/)*"
OPERATOR = re.compile(
    rb"_Pragma" + SPACE + rb"\(" + SPACE + rb"((?:u8|[LuU])?\"(?:[^\"\\\n]|\\.)*\")" + SPACE + rb"\)", re.DOTALL
)
NAME = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$]*")
_TILEK = re.compile(SPACE + rb"tilek(?![A-Za-z0-9_$\x80-\xff])", re.DOTALL)
_GAP = re.compile(SPACE, re.DOTALL)
_PARENTHESIS = re.compile(COMMENT + rb"|" + LITERAL + rb"|[()]", re.DOTALL)
_PARAMETER = re.compile(rb"\(" + SPACE + rb"(?:([A-Za-z_$][A-Za-z0-9_$]*)|\.\.\.)" + SPACE + rb"\)", re.DOTALL)
_STRINGIZED = re.compile(
    rb"_Pragma" + SPACE + rb"\(" + SPACE + rb"#" + SPACE + rb"([A-Za-z_$][A-Za-z0-9_$]*)" + SPACE + rb"\)", re.DOTALL
)
_WORD = re.compile(COMMENT + rb"|" + LITERAL + rb"|" + NAME.pattern, re.DOTALL)


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


def is_tilek(text: DirectiveText) -> bool:
    """Whether the text of a pragma is a tilek directive."""
    return _TILEK.match(text.content) is not None


def piece(source: SplicedSource, start: int, end: int) -> DirectiveText:
    """The spliced text [start, end) unchanged."""
    return DirectiveText(source, source.text[start:end], [source.origin(offset) for offset in range(start, end)])


def operator_text(source: SplicedSource, operator: re.Match[bytes]) -> DirectiveText:
    """The unescaped string of a `_Pragma` operator that OPERATOR matched."""
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


def argument_end(text: bytes, name_end: int) -> tuple[int, int] | None:
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
        self._definitions: dict[bytes, _Definition] = {}
        self._read: dict[bytes, PragmaMacro | None] = {}

    def define(self, source: SplicedSource, name: re.Match[bytes], end: int) -> None:
        """Record the definition that has `name` and ends at `end` of the text of `source`."""
        self._definitions[name.group()] = _Definition(source, name, end)
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
                self._read[name] = _read_definition(self._definitions[name], self)
        return self._read[name]


@dataclass(frozen=True)
class _Definition:
    """A `#define`: the match of the name, and where its line ends."""

    source: SplicedSource
    name: re.Match[bytes]
    end: int

    def macro(
        self,
        directives: tuple[DirectiveText, ...] = (),
        stringizes: bool = False,
        called: bool = False,
        fault: str | None = None,
    ) -> PragmaMacro:
        start, end = self.source.origin(self.name.start()), self.source.origin_end(self.name.end())
        name = self.name.group().decode()
        return PragmaMacro(directives, stringizes, called, fault, name, self.source.range(start, end))


def _read_definition(definition: _Definition, macros: MacroTable) -> PragmaMacro | None:
    source, name, end = definition.source, definition.name, definition.end
    if source.text[name.end() : name.end() + 1] == b"(":
        return _function_like(definition, macros)
    directives, others = _body(source, name.end(), end, macros)
    if not directives:
        return None
    return definition.macro(directives, fault="it holds more than tilek directives" if others else None)


def _function_like(definition: _Definition, macros: MacroTable) -> PragmaMacro | None:
    source, name, end = definition.source, definition.name, definition.end
    text = source.text
    parameter = _PARAMETER.match(text, name.end(), end)
    if parameter is not None and _passes_on(text, parameter, end, macros):
        return definition.macro(stringizes=True, called=True)
    directives, _ = _body(source, name.end(), end, macros)
    words = {match.group() for match in _WORD.finditer(text, name.end(), end)}
    used = [macro for word in words if (macro := macros.get(word)) is not None]
    if directives or (b"tilek" in words and any(macro.stringizes for macro in used)):
        return definition.macro(called=True, fault="it has parameters")
    return None


def _passes_on(text: bytes, parameters: re.Match[bytes], end: int, macros: MacroTable) -> bool:
    """Whether the body is `_Pragma(#parameter)`, or a call of such a macro with the parameter."""
    start = _skip(text, parameters.end(), end)
    parameter = parameters[1] or b"__VA_ARGS__"
    stringized = _STRINGIZED.match(text, start, end)
    if stringized is not None:
        return stringized[1] == parameter and not _rest(text, stringized.end(), end)
    name = NAME.match(text, start, end)
    macro = macros.get(name.group()) if name else None
    if name is None or macro is None or not macro.stringizes:
        return False
    argument = argument_end(text, name.end())
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
        operator = OPERATOR.match(text, position, end)
        name = NAME.match(text, position, end)
        use = _use(source, name, macros) if name else None
        if operator is not None:
            directives, position = (operator_text(source, operator),), operator.end()
        elif use is not None:
            directives, position = use
        else:
            directives, position = (), name.end() if name else position + 1
        tilek = tuple(directive for directive in directives if is_tilek(directive))
        others |= not tilek or len(tilek) < len(directives)
        tilek_directives += tilek
        position = _skip(text, position, end)
    return tuple(tilek_directives), others


def _use(
    source: SplicedSource, name: re.Match[bytes], macros: MacroTable
) -> tuple[tuple[DirectiveText, ...], int] | None:
    """The directives of the macro used at `name` and the use's end; None for an unsound macro."""
    macro = macros.get(name.group())
    if macro is None or macro.fault is not None:
        return None
    if not macro.called:
        return macro.directives, name.end()
    argument = argument_end(source.text, name.end())
    return None if argument is None else ((piece(source, *argument),), argument[1] + 1)
