"""The one way to libclang: parses, and wraps cursors in a tree that passes can walk repeatedly."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from clang import cindex
from clang.cindex import CursorKind, TypeKind

from tilepragma.base.deep_recursion import with_deep_stack
from tilepragma.base.diagnostics import source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.base.source_scan import content_of

__all__ = ["LOOPS", "ClangUnit", "CursorKind", "Key", "Node", "TypeKind", "is_nameless", "parse", "strip"]

#: Names a declaration.
Key = tuple[str, int]
LOOPS = (CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT)

_BINARY = (
    "", ".*", "->*", "*", "/", "%", "+", "-", "<<", ">>", "<=>", "<", ">", "<=", ">=", "==", "!=", "&", "^", "|", "&&",
    "||", "=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|=", ",",
)  # fmt: skip
_UNARY = ("", "x++", "x--", "++", "--", "&", "*", "+", "-", "~", "!", "__real", "__imag", "__extension__")
_TOKEN = re.compile(rb"[A-Za-z_0-9.]+(?:(?<=[eEpP])[+-][A-Za-z_0-9.]+)*|\'(?:\\.|[^\'\\])*\'")
_CONTINUED = re.compile(rb"(?:\\|\?\?/)[ \t]*\r?\n")
#: CXEvalResultKind: integer, floating.
_EVALUATED_INTEGER, _EVALUATED_FLOATING = 1, 2
#: Keeps the ranges that the preprocessor leaves out; costs a millisecond.
_DETAILED_RECORD = 0x01
#: clang's severities: an error means that the source is not C; after a fatal one clang stops.
_ERROR, _FATAL = 3, 4


class Node:
    """A cursor that caches its children and facts; two nodes of one declaration share `key`."""

    def __init__(self, cursor: Any, unit: ClangUnit) -> None:
        self.cursor = cursor
        self.unit = unit

    @cached_property
    def kind(self) -> Any:
        """The CursorKind."""
        return self.cursor.kind

    @cached_property
    def children(self) -> tuple[Node, ...]:
        """The sub-nodes, as libclang gives them: it leaves out absent parts of a statement.

        A member of a nameless struct or union is one of the struct around it, as C says.
        """
        children = tuple(Node(child, self.unit) for child in self.cursor.get_children())
        if self.kind == CursorKind.MEMBER_REF_EXPR and len(children) == 1:
            (child,) = children
            if child.kind == CursorKind.MEMBER_REF_EXPR and is_nameless(child.spelling):
                return child.children
        return children

    @cached_property
    def spelling(self) -> str:
        """The name, where the node has one."""
        return str(self.cursor.spelling)

    @cached_property
    def type(self) -> Any:
        """clang's type of an expression or declaration."""
        return self.cursor.type

    @cached_property
    def declaration(self) -> Node | None:
        """What a reference refers to."""
        referenced = self.cursor.referenced
        return None if referenced is None else self.unit.declared(referenced)

    @property
    def named(self) -> Node | None:
        """The declaration that a plain name refers to; None for other expressions."""
        return self.declaration if self.kind == CursorKind.DECL_REF_EXPR else None

    @property
    def is_dereference(self) -> bool:
        """Whether the node is `*p`."""
        return bool(self.kind == CursorKind.UNARY_OPERATOR) and self.unary_operator == "*"

    @property
    def takes_address(self) -> bool:
        """Whether the node is `&x`."""
        return bool(self.kind == CursorKind.UNARY_OPERATOR) and self.unary_operator == "&"

    @property
    def called(self) -> Node | None:
        """The function that a call names; None if it calls through a pointer."""
        declaration = strip(self.children[0]).named if self.children else None
        return declaration if declaration is not None and declaration.kind == CursorKind.FUNCTION_DECL else None

    @cached_property
    def definition(self) -> Node | None:
        """The definition of a function or variable, if the translation unit has it."""
        definition = self.cursor.get_definition()
        return None if definition is None else self.unit.declared(definition)

    @property
    def parameters(self) -> tuple[Node, ...]:
        """The parameters of a function."""
        return tuple(child for child in self.children if child.kind == CursorKind.PARM_DECL)

    @property
    def body(self) -> Node:
        """The block of a function's definition."""
        return next(child for child in self.children if child.kind == CursorKind.COMPOUND_STMT)

    @property
    def is_of_the_file(self) -> bool:
        """Whether the node is declared at file scope."""
        parent = self.cursor.semantic_parent
        return parent is not None and bool(parent.kind == CursorKind.TRANSLATION_UNIT)

    @property
    def is_local(self) -> bool:
        """Whether the node is declared in a function."""
        parent = self.cursor.semantic_parent
        return parent is not None and bool(parent.kind == CursorKind.FUNCTION_DECL)

    @property
    def storage(self) -> str:
        """The storage class of a declaration, such as STATIC."""
        return str(self.cursor.storage_class.name)

    @cached_property
    def key(self) -> Key:
        """Names the declaration: equal for every node of one variable, member or function."""
        return (self.spelling, self.cursor.canonical.hash)

    @cached_property
    def start(self) -> int:
        """The byte offset where the node begins in its file, or where its macro's use begins."""
        return int(self.cursor.extent.start.offset)

    @cached_property
    def end(self) -> int:
        """The byte offset behind the node, without a closing semicolon."""
        return int(self.cursor.extent.end.offset)

    @cached_property
    def ends_in_argument(self) -> bool:
        """Whether the last token is in a macro's argument; `end` is then before the macro's use."""
        end = self.cursor.extent.end
        return end.file is not None and _spelling_location(end)[1] != int(end.offset)

    @cached_property
    def first_file(self) -> str:
        """The file of the first token; inside a macro, that of its use."""
        return _file_of(self.cursor.extent.start)

    @cached_property
    def last_file(self) -> str:
        """The file of the last token; inside a macro, that of its use."""
        return _file_of(self.cursor.extent.end)

    @cached_property
    def file(self) -> str:
        """The file the node stands in."""
        return _file_of(self.cursor.location)

    @cached_property
    def range(self) -> SourceRange:
        """Where the node stands; inside a macro, where its use stands."""
        start, end = self.cursor.extent.start, self.cursor.extent.end
        name = self.file if start.file is None else str(start.file.name)
        first = Position(name, int(start.line), int(start.column), int(start.offset))
        if end.offset <= start.offset:
            return SourceRange(first, Position(name, first.line, first.column + 1, first.offset + 1))
        return SourceRange(first, Position(name, int(end.line), int(end.column), int(end.offset)))

    @cached_property
    def binary_operator(self) -> str:
        """The operator of a binary or compound assignment expression."""
        code = self._operator_code("clang_getCursorBinaryOperatorKind")
        if code is not None:
            return _BINARY[code] if 0 <= code < len(_BINARY) else ""
        return self._operator_between(self.children[0].end, self.children[1].start)

    @cached_property
    def unary_operator(self) -> str:
        """The operator of a unary expression; `x++` and `x--` are the postfix ones."""
        code = self._operator_code("clang_getCursorUnaryOperatorKind")
        if code is not None:
            return _UNARY[code] if 0 <= code < len(_UNARY) else ""
        operand = self.children[0]
        if operand.start > self.start:
            return self._operator_between(self.start, operand.start)
        return "x" + self._operator_between(operand.end, self.end)

    def _operator_code(self, function: str) -> int | None:
        """The operator's number; None in a libclang older than 17, which lacks the function."""
        operator_kind = getattr(self.unit.library, function, None)
        return None if operator_kind is None else int(operator_kind(self.cursor))

    def _operator_between(self, start: int, end: int) -> str:
        """The operator as the text has it, for a libclang that does not tell operators."""
        text = re.sub(rb"/\*.*?\*/|//[^\n]*|[()\s\\]", b"", self.unit.text(self.file)[start:end], flags=re.DOTALL)
        operator = text.decode(errors="replace")
        if operator in _BINARY[1:] or operator in _UNARY[1:]:
            return operator
        message = "this libclang does not tell which operator stands in the macro"
        raise source_error(self.range, message, "install the libclang wheel, version 17 or newer")

    @cached_property
    def token(self) -> str | None:
        """The first token as the user wrote it, also in a macro's argument.

        It is another token if a macro hides it. None if the token continues on the next line.
        """
        file, offset = _spelling_location(self.cursor.extent.start)
        if file is None:
            return None
        text = self.unit.text(file)
        match = _TOKEN.match(text, offset)
        if match is None or _CONTINUED.match(text, match.end()):
            return None
        return match.group().decode(errors="replace")

    def evaluate(self) -> int | float | None:
        """The value of a constant expression, or None if clang does not know it."""
        library = self.unit.library
        result = library.clang_Cursor_Evaluate(self.cursor)
        if not result:
            return None
        try:
            kind = library.clang_EvalResult_getKind(result)
            if kind == _EVALUATED_FLOATING:
                return float(library.clang_EvalResult_getAsDouble(result))
            if kind != _EVALUATED_INTEGER:
                return None
            if library.clang_EvalResult_isUnsignedInt(result):
                return int(library.clang_EvalResult_getAsUnsigned(result))
            return int(library.clang_EvalResult_getAsLongLong(result))
        finally:
            library.clang_EvalResult_dispose(result)

    def around(self, offset: int) -> Iterator[Node]:
        """This node and the nodes below it that hold the offset, outermost first."""
        node: Node | None = self
        while node is not None:
            yield node
            node = next((child for child in node.children if child.start < offset < child.end), None)

    def walk(self) -> Iterator[Node]:
        """This node and all nodes below it, in pre-order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def is_nameless(spelling: str) -> bool:
    """Whether a spelling is that of a member without a name: libclang gives its place instead."""
    return not spelling or "(" in spelling


def strip(node: Node) -> Node:
    """The node without parentheses and implicit conversions."""
    while node.kind in (CursorKind.PAREN_EXPR, CursorKind.UNEXPOSED_EXPR) and len(node.children) == 1:
        node = node.children[0]
    return node


def without_casts(node: Node) -> Node:
    """The node without parentheses and conversions."""
    node = strip(node)
    while node.kind == CursorKind.CSTYLE_CAST_EXPR:
        node = strip(node.children[-1])
    return node


def is_null(node: Node) -> bool:
    """Whether the expression is NULL or 0."""
    inner = without_casts(node)
    return inner.kind == CursorKind.INTEGER_LITERAL and inner.evaluate() == 0


@dataclass
class ClangUnit:
    """A parsed translation unit and the texts of its files."""

    handle: Any
    main: str
    texts: dict[str, bytes] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    library: Any = field(default_factory=lambda: _raw_library())
    _uses: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    _skipped: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    _declared: dict[int, list[Node]] = field(default_factory=dict)
    _file_scope: list[Node] = field(default_factory=list)

    def text(self, path: str) -> bytes:
        """The content of a file of the unit; empty for what is no file (the command line)."""
        if path not in self.texts:
            self.texts[path] = content_of(path)
        return self.texts[path]

    def node_at(self, path: str, offset: int) -> Node | None:
        """The innermost node that spans the offset, or None outside every declaration."""
        file = cindex.File.from_name(self.handle, os.fsencode(path))
        location = cindex.SourceLocation.from_offset(self.handle, file, offset)
        cursor = cindex.Cursor.from_location(self.handle, location)
        return None if cursor is None else Node(cursor, self)

    def declared(self, cursor: Any) -> Node:
        """The one node of a declaration, so that passes share what it and those below know."""
        nodes = self._declared.setdefault(cursor.hash, [])
        for node in nodes:
            if node.cursor == cursor:
                return node
        nodes.append(Node(cursor, self))
        return nodes[-1]

    def file_scope(self) -> Sequence[Node]:
        """All declarations at file scope."""
        if not self._file_scope:
            self._file_scope = [self.declared(cursor) for cursor in self.handle.cursor.get_children()]
        return self._file_scope

    def reparsed(self, changed: Mapping[str, bytes]) -> ClangUnit | None:
        """The unit with new texts of some files; None if libclang gives up."""
        return parse(self.main, {self.main: self.text(self.main), **changed}, self.arguments)

    def macro_uses(self, path: str) -> tuple[tuple[int, int], ...]:
        """The byte ranges of a file's outermost macro uses, arguments included, in order."""
        if path not in self._uses:
            cursors = self.handle.cursor.get_children()
            uses = (cursor.extent for cursor in cursors if cursor.kind == CursorKind.MACRO_INSTANTIATION)
            ranges = [(int(use.start.offset), int(use.end.offset)) for use in uses if _file_of(use.start) == path]
            self._uses[path] = tuple(_outermost(ranges))
        return self._uses[path]

    def macros(self) -> dict[str, bytes]:
        """Each macro of the user's files and options, with the text of all its definitions."""
        definitions: dict[str, bytes] = {}
        system: dict[str, bool] = {}
        for cursor in self.handle.cursor.get_children():
            if cursor.kind != CursorKind.MACRO_DEFINITION:
                continue
            name, path = str(cursor.spelling), _file_of(cursor.location)
            if path not in system:
                # Macros of the compiler, and those of options, have no file.
                system[path] = bool(path) and self.is_system(path)
            if system[path] or (not path and name.startswith("_")):
                continue
            extent = cursor.extent
            text = self.text(path)[extent.start.offset + len(name) : extent.end.offset] if path else b""
            definitions[name] = definitions.get(name, b"") + b" " + text
        return definitions

    def errors(self) -> Iterator[Any]:
        """clang's errors in the user's files, and fatal errors in any file."""
        for item in self.handle.diagnostics:
            file = item.location.file
            if item.severity >= (_FATAL if file is not None and self.is_system(str(file.name)) else _ERROR):
                yield item

    def predefined(self) -> frozenset[str]:
        """The names of the macros that no file defines."""
        macros = (child for child in self.handle.cursor.get_children() if child.kind == CursorKind.MACRO_DEFINITION)
        return frozenset(str(macro.spelling) for macro in macros if macro.location.file is None)

    def is_system(self, path: str) -> bool:
        """Whether the file comes from a system folder."""
        file = cindex.File.from_name(self.handle, os.fsencode(path))
        location = cindex.SourceLocation.from_offset(self.handle, file, 0)
        return bool(self.library.clang_Location_isInSystemHeader(location))

    def position(self, path: str, offset: int) -> Position:
        """Line and column of a byte offset."""
        text = self.text(path)
        return Position(path, text.count(b"\n", 0, offset) + 1, offset - text.rfind(b"\n", 0, offset), offset)

    def span(self, path: str, start: int, end: int) -> SourceRange:
        """The range between two byte offsets of a file."""
        return SourceRange(self.position(path, start), self.position(path, end))

    def skipped(self, path: str) -> tuple[tuple[int, int], ...]:
        """The ranges left out by the preprocessor: in every inclusion, or inside a function."""
        if path not in self._skipped:
            times = sum(str(include.include.name) == path for include in self.handle.get_includes())
            self._skipped[path] = self._skipped_once(path) if times < 2 else self._skipped_each_time(path, times)
        return self._skipped[path]

    def _skipped_once(self, path: str) -> tuple[tuple[int, int], ...]:
        file = cindex.File.from_name(self.handle, os.fsencode(path))
        return tuple((start, end) for _, start, end in self._ranges(self.library.clang_getSkippedRanges, file))

    def _skipped_each_time(self, path: str, times: int) -> tuple[tuple[int, int], ...]:
        listed = self._ranges(self.library.clang_getAllSkippedRanges)
        ranges = [(start, end) for file, start, end in listed if file == path]
        declared = (node for node in self.file_scope() if node.kind == CursorKind.FUNCTION_DECL and node.file == path)
        functions = [(node.start, node.end) for node in declared if node.cursor.is_definition()]

        def is_left_out(start: int, end: int) -> bool:
            around = sum(first <= start and end <= last for first, last in ranges)
            return around >= times or any(first < start and end < last for first, last in functions)

        return tuple(sorted({range_ for range_ in ranges if is_left_out(*range_)}))

    def _ranges(self, function: Any, *arguments: Any) -> list[tuple[str, int, int]]:
        """The ranges that a function of libclang lists, each with its file."""
        listed = function(self.handle, *arguments)
        ranges = [listed.contents.ranges[i] for i in range(listed.contents.count)]
        offsets = [(str(r.start.file.name), int(r.start.offset), int(r.end.offset)) for r in ranges]
        self.library.clang_disposeSourceRangeList(listed)
        return offsets

    def initializer(self, variable: Node) -> Node | None:
        """The initialiser of a variable's declaration, or None."""
        cursor = self.library.clang_Cursor_getVarDeclInitializer(variable.cursor)
        if cursor.kind.is_invalid():
            return None
        cursor._tu = variable.cursor._tu
        return Node(cursor, self)


def _file_of(location: Any) -> str:
    return "" if location.file is None else str(location.file.name)


def _decoded(text: Any) -> str | None:
    """A string from libclang; file names need not be UTF-8, which the binding takes for granted."""
    value = super(ctypes.c_char_p, text).value
    return None if value is None else os.fsdecode(value)


cindex.c_interop_string.value = property(_decoded)


class _RangeList(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint), ("ranges", ctypes.POINTER(cindex.SourceRange))]


def parse(path: str, texts: dict[str, bytes], arguments: Sequence[str]) -> ClangUnit | None:
    """Parse `path`, with `texts` in place of files; None if libclang gives up on the options."""
    index = cindex.Index.create()
    unsaved = [(os.fsencode(name), text) for name, text in texts.items()]
    words = [os.fsencode(word) for word in arguments]
    try:
        os.environ.setdefault("LIBCLANG_NOTHREADS", "1")  # its threads have 8 MiB of stack, which 3000 operators take
        handle = with_deep_stack(
            lambda: index.parse(os.fsencode(path), args=words, unsaved_files=unsaved or None, options=_DETAILED_RECORD)
        )
    except cindex.TranslationUnitLoadError:
        return None
    return ClangUnit(handle, path, texts, tuple(arguments))


def _outermost(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    behind = 0
    for start, end in sorted(ranges, key=lambda range_: (range_[0], -range_[1])):
        if end > behind:
            yield start, end
            behind = end


def _spelling_location(location: Any) -> tuple[str | None, int]:
    """File and offset of the token's characters, perhaps in a macro's definition."""
    file, offset = cindex.c_object_p(), ctypes.c_uint()
    cindex.conf.lib.clang_getSpellingLocation(location, ctypes.byref(file), None, None, ctypes.byref(offset))
    return str(cindex.File(file).name) if file else None, offset.value


def _raw_library() -> Any:
    """libclang by a second handle, so that our argument types do not change the binding's."""
    library = ctypes.CDLL(cindex.conf.lib._name)
    for name, (arguments, result) in _FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes, function.restype = arguments, result
    return library


#: libclang's functions that the binding lacks: types of arguments, and of the result.
_FUNCTIONS: dict[str, tuple[list[Any], Any]] = {
    "clang_getCursorBinaryOperatorKind": ([cindex.Cursor], ctypes.c_int),
    "clang_getCursorUnaryOperatorKind": ([cindex.Cursor], ctypes.c_int),
    "clang_Location_isInSystemHeader": ([cindex.SourceLocation], ctypes.c_int),
    "clang_getSkippedRanges": ([cindex.TranslationUnit, cindex.c_object_p], ctypes.POINTER(_RangeList)),
    "clang_getAllSkippedRanges": ([cindex.TranslationUnit], ctypes.POINTER(_RangeList)),
    "clang_disposeSourceRangeList": ([ctypes.POINTER(_RangeList)], None),
    "clang_Cursor_getVarDeclInitializer": ([cindex.Cursor], cindex.Cursor),
    "clang_Cursor_Evaluate": ([cindex.Cursor], ctypes.c_void_p),
    "clang_EvalResult_getKind": ([ctypes.c_void_p], ctypes.c_int),
    "clang_EvalResult_isUnsignedInt": ([ctypes.c_void_p], ctypes.c_uint),
    "clang_EvalResult_getAsUnsigned": ([ctypes.c_void_p], ctypes.c_ulonglong),
    "clang_EvalResult_getAsLongLong": ([ctypes.c_void_p], ctypes.c_longlong),
    "clang_EvalResult_getAsDouble": ([ctypes.c_void_p], ctypes.c_double),
    "clang_EvalResult_dispose": ([ctypes.c_void_p], None),
}
