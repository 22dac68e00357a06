"""Which array elements a region may write, by the types of elements and by their arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node, TypeKind
from tilepragma.frontend.clang.lowering_context import WRITING_UNARY, Key, strip
from tilepragma.frontend.clang.type_conversion import is_array, is_pointer, is_record

_BYTES = (TypeKind.CHAR_S, TypeKind.CHAR_U, TypeKind.SCHAR, TypeKind.UCHAR)
_COMPARISONS = ("==", "!=", "<=", ">=")
_IGNORED = re.compile(r"\b(?:const|volatile|restrict|unsigned|signed)\b\s*")


@dataclass(frozen=True)
class ElementWrites:
    """The places that a region and the functions it calls assign.

    Also arguments of unknown functions, which may write through the pointers that they get.
    """

    nodes: tuple[Node, ...]

    @staticmethod
    def of(region: Node) -> ElementWrites:
        """The writes of a region."""
        nodes: list[Node] = []
        known: set[Key] = set()
        pending = [region]
        while pending:
            for node in pending.pop().walk():
                changed = changed_operand(node)
                if changed is not None and _is_in_memory(changed):
                    nodes.append(changed)
                if node.kind != CursorKind.CALL_EXPR:
                    continue
                definition = _definition(node)
                if definition is None:
                    nodes += [child for child in node.children[1:] if _may_be_written_through(child)]
                elif definition.key not in known:
                    known.add(definition.key)
                    pending.append(definition)
        return ElementWrites(tuple(nodes))

    def meeting(self, element: Node) -> Node | None:
        """The first write that may hit the element by types (C99 6.5p7) and arrays, or None."""
        types, root = set(types_in(element.type)), plain_root(element)
        for write in self.nodes:
            write_root = plain_root(write)
            if root is not None and write_root is not None and root != write_root:
                continue
            written = set(types_in(write.type))
            if is_byte(write.type) or "void" in written or not types.isdisjoint(written):
                return write
        return None


def changed_operand(node: Node) -> Node | None:
    """The operand that an assignment, `++` or `--` changes, or whose address `&` takes, or None."""
    if node.kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
        operator = node.binary_operator
        return strip(node.children[0]) if operator.endswith("=") and operator not in _COMPARISONS else None
    if node.kind == CursorKind.UNARY_OPERATOR and node.unary_operator in (*WRITING_UNARY, "&"):
        return strip(node.children[0])
    return None


def plain_root(element: Node) -> Key | None:
    """The array or struct variable that holds an element; None for one behind a pointer."""
    node = strip(element)
    while True:
        if node.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
            bases = [base for base in map(strip, node.children) if is_array(base.type)]
            if not bases:
                return None
            node = bases[0]
        elif node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
            node = strip(node.children[0])
            if is_pointer(node.type):
                return None
        else:
            break
    declaration = node.declaration if node.kind == CursorKind.DECL_REF_EXPR else None
    if declaration is None or declaration.kind != CursorKind.VAR_DECL or is_pointer(declaration.type):
        return None
    return declaration.key


def is_dereference(node: Node) -> bool:
    """Whether the node is `*p`."""
    return node.kind == CursorKind.UNARY_OPERATOR and node.unary_operator == "*"


def is_byte(type_: Any) -> bool:
    """Whether the type is one of characters."""
    return bool(type_.get_canonical().kind in _BYTES)


def element_name(type_: Any) -> str:
    """The innermost type of pointers and arrays, without qualifiers and signs."""
    element = type_.get_canonical()
    while is_pointer(element) or is_array(element):
        element = (element.get_pointee() if element.kind == TypeKind.POINTER else element.element_type).get_canonical()
    return _IGNORED.sub("", str(element.spelling)).strip()


def types_in(type_: Any) -> Iterator[str]:
    """The innermost type of pointers and arrays, and if it is a struct, its members' types."""
    yield element_name(type_)
    element = type_.get_canonical()
    while is_array(element):
        element = element.element_type.get_canonical()
    if is_record(element):
        for member in element.get_fields():
            yield from types_in(member.type)


def _is_in_memory(changed: Node) -> bool:
    """Whether the place is more than a variable or its member; those always stay on the host."""
    node = changed
    while node.kind == CursorKind.MEMBER_REF_EXPR and node.children:
        node = strip(node.children[0])
    return bool(node.kind != CursorKind.DECL_REF_EXPR)


def _definition(call: Node) -> Node | None:
    """The definition of the called function, if the file has it."""
    callee = strip(call.children[0]) if call.children else call
    declaration = callee.declaration if callee.kind == CursorKind.DECL_REF_EXPR else None
    if declaration is None or declaration.kind != CursorKind.FUNCTION_DECL:
        return None
    definition = declaration.cursor.get_definition()
    return None if definition is None else Node(definition, call.unit)


def _may_be_written_through(argument: Node) -> bool:
    type_ = argument.type.get_canonical()
    if is_array(type_):
        return True
    return bool(is_pointer(type_) and not type_.get_pointee().is_const_qualified())
