"""For the tests of the front end: reads C snippets, and spells the IR compactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.ir import expressions as e
from tilepragma.ir import loop_tree as t
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ArrayType, PointerType, RecordType, ScalarType


def read_with(source: str, *flags: str, path: str = "test.c") -> tuple[t.TranslationUnit | None, Diagnostics]:
    """The unit of a source given as text, and what was reported."""
    diagnostics = Diagnostics()
    unit = parse_translation_unit(path, source.encode(), CompilerFlags(flags), diagnostics)
    return unit, diagnostics


def read(source: str, *flags: str) -> t.TranslationUnit:
    """The unit of a source that must have no errors."""
    unit, diagnostics = read_with(source, *flags)
    assert not diagnostics.has_errors, [item.message for item in diagnostics]
    assert unit is not None
    return unit


def read_file(path: Path, *flags: str) -> t.TranslationUnit:
    """The unit of a file that must have no errors."""
    diagnostics = Diagnostics()
    unit = parse_translation_unit(str(path), None, CompilerFlags(flags), diagnostics)
    assert not diagnostics.has_errors, [item.message for item in diagnostics]
    assert unit is not None
    return unit


def kernel(source: str, *flags: str) -> t.Kernel:
    """The one kernel of a source."""
    (found,) = read(source, *flags).kernels
    return found


def in_kernel(
    statements: str, parameters: str = "int n, int m, double *a", before: str = "", tail: str = ""
) -> t.Kernel:
    """The kernel `{ for (int i…) { statements } }` in a function with these parameters."""
    return kernel(
        f"{before}\nvoid f({parameters})\n{{\n#pragma tilek kernel\n"
        f"for (int i = 0; i < n; i++) {{ {statements} }}\n{tail}\n}}\n"
    )


def messages(source: str, *flags: str) -> list[str]:
    """What is reported about a source, without places."""
    return [f"{item.severity.value}: {item.message}" for item in read_with(source, *flags)[1]]


def nodes(tree: Any, kind: type) -> list[Any]:
    """All nodes of a kind, in textual order."""
    return [node for node in walk(tree) if isinstance(node, kind)]


def last_value(found: t.Kernel) -> str:
    """The text of the right side of the last assignment."""
    return text(nodes(found.body, e.Assignment)[-1].value)


def text(node: Any) -> str:
    """An expression in full parentheses; names are those of the data objects."""
    if isinstance(node, (e.IntegerLiteral, e.FloatingLiteral)):
        return node.spelling
    if isinstance(node, e.Access):
        steps = "".join(f".{s.name}" if isinstance(s, e.Member) else f"[{text(s.index)}]" for s in node.path)
        return node.object.name + "".join(f"[{text(s)}]" for s in node.subscripts) + steps
    if isinstance(node, e.Unary):
        return f"{node.operator}{text(node.operand)}"
    if isinstance(node, e.Binary):
        return f"({text(node.left)} {node.operator} {text(node.right)})"
    if isinstance(node, e.Assignment):
        return f"{text(node.target)} {node.operator} {text(node.value)}"
    if isinstance(node, e.Increment):
        target = text(node.target)
        return node.operator + target if node.prefix else target + node.operator
    if isinstance(node, e.Conditional):
        return f"({text(node.condition)} ? {text(node.then)} : {text(node.otherwise)})"
    if isinstance(node, e.Cast):
        return f"({type_text(node.type)}){text(node.operand)}"
    if isinstance(node, e.Call):
        return f"{node.function}({', '.join(map(text, node.arguments))})"
    if isinstance(node, e.Comma):
        return f"({text(node.left)}, {text(node.right)})"
    assert isinstance(node, e.AddressOf)
    return f"&{text(node.target)}"


def type_text(type_: Any) -> str:
    """A type as C spells it, roughly."""
    if isinstance(type_, (ScalarType, RecordType)):
        return type_.spelling
    if isinstance(type_, PointerType):
        return f"{type_text(type_.pointee)} *"
    if isinstance(type_, ArrayType):
        return f"{type_text(type_.element)}[]"
    return "void"


def object_text(object_: e.DataObject) -> str:
    """`storage element host[length]…`."""
    lengths = "".join("[]" if length is None else f"[{text(length)}]" for length in object_.lengths)
    return f"{object_.storage.value} {type_text(object_.element)} {object_.host}{lengths}"
