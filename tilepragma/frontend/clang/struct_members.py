"""Members that are selected by their names, and which of them share memory.

Members of nameless structs and unions are members of the struct around (C11 6.7.2.1p13):

    struct S { int n; union { int k; struct { int x, y; }; }; }   has n, k, x, y; k overlaps x.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tilepragma.frontend.clang.cursor_tree import CursorKind, Node, is_nameless, strip
from tilepragma.frontend.clang.type_conversion import is_address, is_array, is_record, target_type


def named_members(record: Any) -> Iterator[Any]:
    """libclang's cursors of the members that have names."""
    for member in record.get_canonical().get_fields():
        if not is_nameless(member.spelling):
            yield member
        elif is_record(member.type):
            yield from named_members(member.type)


def is_nameless_member(record: Any, inner: Any) -> bool:
    """Whether `inner` is the type of a member without a name; `record` may be no struct."""
    members = record.get_canonical().get_fields() if is_record(record) else ()
    return any(is_nameless(member.spelling) and member.type == inner for member in members)


def overlapping(record: Any, name: str) -> tuple[str, ...]:
    """The other members of a struct or union that share memory with the member of that name."""
    places = {member.spelling: _bits(record, member) for member in named_members(record)}
    first, end = places.pop(name, (0, 0))
    return tuple(other for other, (start, behind) in places.items() if start < end and first < behind)


def _bits(record: Any, member: Any) -> tuple[int, int]:
    start = int(record.get_canonical().get_offset(member.spelling))
    bits = int(member.get_bitfield_width() if member.is_bitfield() else 8 * member.type.get_size())
    return start, start + bits if bits >= 0 else sys.maxsize  # an array without a length goes on


def paths_overlap(root: Any, first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two paths of members from a variable of the type part at members that overlap."""
    record = _record(root)
    for name, other in zip(first, second, strict=False):
        if not is_record(record):
            return False
        if name != other:
            return other in overlapping(record, name)
        record = next((_record(member.type) for member in named_members(record) if member.spelling == name), record)
    return False


def overlaps_of(member: Node) -> tuple[str, ...]:
    """The other members of the same struct or union that share memory with the member `s.x`."""
    if not member.children:
        return ()
    record, holder = _record(member.children[0].type), member.cursor.referenced.semantic_parent
    if holder.kind == CursorKind.STRUCT_DECL and holder.type.get_canonical() == record:
        return ()  # it stands in the struct itself
    return overlapping(record, member.spelling)


def written_members(target: Node) -> tuple[str, ...]:
    """The members that an assignment to `target`, a member or its element, changes."""
    member = target
    while member.kind == CursorKind.ARRAY_SUBSCRIPT_EXPR or member.is_dereference:
        arrays = [child for child in map(strip, member.children) if is_array(child.type)]
        if not arrays:
            return ()
        member = arrays[0]
    if member.kind != CursorKind.MEMBER_REF_EXPR:
        return ()
    return (*((member.spelling,) if member is target else ()), *overlaps_of(member))


def _record(clang_type: Any) -> Any:
    """The type itself, or what the array or pointer leads to."""
    while is_address(clang_type):
        clang_type = target_type(clang_type)
    return clang_type.get_canonical()
