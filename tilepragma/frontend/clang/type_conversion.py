"""clang's types to the types of the IR: canonical, with the host's sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from tilepragma.base.diagnostics import source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import CursorKind, TypeKind, is_nameless
from tilepragma.ir.expressions import IntegerLiteral
from tilepragma.ir.types import VOID, ArrayType, Field, PointerType, RecordType, ScalarKind, ScalarType, Type

_SIGNED = {TypeKind.CHAR_S, TypeKind.SCHAR, TypeKind.SHORT, TypeKind.INT, TypeKind.LONG, TypeKind.LONGLONG}
_UNSIGNED = {TypeKind.CHAR_U, TypeKind.UCHAR, TypeKind.USHORT, TypeKind.UINT, TypeKind.ULONG, TypeKind.ULONGLONG}
_FLOATING = {TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.LONGDOUBLE}
_ARRAYS = {TypeKind.CONSTANTARRAY, TypeKind.VARIABLEARRAY, TypeKind.INCOMPLETEARRAY}
_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict|_Atomic)\b\s*")
_REFUSED = {
    TypeKind.COMPLEX: ("a complex number", "write the real and the imaginary part as two numbers"),
    TypeKind.VECTOR: ("a vector type", "write the loop over its elements; the compiler vectorises it"),
    TypeKind.EXTVECTOR: ("a vector type", "write the loop over its elements; the compiler vectorises it"),
    TypeKind.FUNCTIONPROTO: ("a function", "call a function by its name"),
    TypeKind.FUNCTIONNOPROTO: ("a function", "call a function by its name"),
}


def is_array(clang_type: Any) -> bool:
    """Whether the type is an array of any kind, after typedefs."""
    return clang_type.get_canonical().kind in _ARRAYS


def is_pointer(clang_type: Any) -> bool:
    """Whether the type is a pointer, after typedefs."""
    return bool(clang_type.get_canonical().kind == TypeKind.POINTER)


def is_address(clang_type: Any) -> bool:
    """Whether the type's values are addresses; parameters `T a[]` count, for libclang an array."""
    return is_pointer(clang_type) or is_array(clang_type)


def target_type(address: Any) -> Any:
    """The type of an array's elements, or of what a pointer points to."""
    canonical = address.get_canonical()
    return canonical.element_type if is_array(canonical) else canonical.get_pointee()


def is_record(clang_type: Any) -> bool:
    """Whether the type is a struct or union, after typedefs."""
    return bool(clang_type.get_canonical().kind == TypeKind.RECORD)


@dataclass
class TypeConverter:
    """Converts types and remembers the records they use, dependencies first."""

    records: dict[str, RecordType] = field(default_factory=dict)
    scalars: dict[str, ScalarType] = field(default_factory=dict)

    def convert(self, clang_type: Any, range_: SourceRange, member: str | None = None) -> Type:
        """The IR's type. Raises SourceError for types that kernels cannot hold.

        `member` is the tag for an unnamed struct that is the type of a member.
        """
        canonical = clang_type.get_canonical()
        kind = canonical.kind
        if kind in _SIGNED | _UNSIGNED | _FLOATING or kind == TypeKind.BOOL:
            return self.scalar(canonical, range_)
        if kind == TypeKind.ENUM:
            return self.scalar(canonical.get_declaration().enum_type.get_canonical(), range_)
        if kind == TypeKind.RECORD:
            return self._record(canonical, range_, member)
        if kind == TypeKind.POINTER:
            pointee = canonical.get_pointee()
            const, restrict = pointee.is_const_qualified(), canonical.is_restrict_qualified()
            return PointerType(self.convert(pointee, range_), const, restrict)
        if kind in _ARRAYS:
            count = canonical.element_count if kind == TypeKind.CONSTANTARRAY else None
            length = None if count is None else IntegerLiteral(count, str(count))
            return ArrayType(self.convert(canonical.element_type, range_, member), length)
        if kind == TypeKind.VOID:
            return VOID
        other = (f"the type '{clang_type.spelling}'", "use the arithmetic types of C99, or a struct of them")
        what, remedy = _REFUSED.get(kind, other)
        raise source_error(range_, f"{what} cannot be used in a kernel", remedy)

    def scalar(self, canonical: Any, range_: SourceRange) -> ScalarType:
        """The arithmetic type of a canonical clang type."""
        spelling = _QUALIFIERS.sub("", canonical.spelling).strip()
        converted = self.scalars.get(spelling)
        if converted is None:
            kind = canonical.kind
            family = ScalarKind.BOOLEAN if kind == TypeKind.BOOL else ScalarKind.INTEGER
            if kind in _FLOATING:
                family = ScalarKind.FLOATING
            bits = canonical.get_size() * 8
            if bits <= 0:
                raise source_error(range_, f"the size of the type '{spelling}' is not known")
            converted = ScalarType(family, bits, family is ScalarKind.FLOATING or kind in _SIGNED, spelling)
            self.scalars[spelling] = converted
        return converted

    def _record(self, canonical: Any, range_: SourceRange, member_tag: str | None) -> RecordType:
        spelling = _QUALIFIERS.sub("", canonical.spelling).strip()
        unnamed = "(unnamed" in spelling or "(anonymous" in spelling
        if unnamed and member_tag is None:
            what = "union" if canonical.get_declaration().kind == CursorKind.UNION_DECL else "struct"
            message = f"a {what} without a name cannot be used in a kernel"
            raise source_error(range_, message, f"give the {what} a tag, or a name by typedef")
        known = self.records.get(spelling)
        if known is not None:
            return known
        declaration = canonical.get_declaration().get_definition()
        if declaration is None:
            message = f"'{spelling}' is declared but not defined here"
            raise source_error(range_, message, "include the header that defines it")
        if declaration.semantic_parent is not None and declaration.semantic_parent.kind == CursorKind.FUNCTION_DECL:
            message = f"'{spelling}' is declared inside a function; kernels become separate functions and do not see it"
            raise source_error(range_, message, "declare it before the function, at file scope")
        tag = member_tag if unnamed and member_tag is not None else spelling.split()[-1]
        fields: list[Field] = []
        refused, remedy = "", ""
        for member in _members(canonical):
            if member.is_bitfield():
                refused, remedy = f"bit-field '{member.spelling}'", "use a member of an integer type"
            elif is_nameless(member.spelling):
                refused, remedy = "union without a name", "give it a tag and a name: 'union TAG { … } NAME;'"
            elif not member.spelling.isidentifier():
                refused, remedy = f"member '{member.spelling}'", "write its name in letters and digits"
            if refused:
                raise source_error(range_, f"'{spelling}' has a {refused}, which kernels cannot use", remedy)
            # A kernel never follows a pointer inside a struct, which may point to the struct
            # itself.
            type_: Type = PointerType(VOID)
            if not is_pointer(member.type):
                type_ = self.convert(member.type, range_, f"{tag}_{member.spelling}_")
            fields.append(Field(member.spelling, type_, canonical.get_offset(member.spelling) // 8))
        is_union = declaration.kind == CursorKind.UNION_DECL
        size, alignment = canonical.get_size(), canonical.get_align()
        record = RecordType(spelling, tag, is_union, tuple(fields), size, alignment)
        self.records[spelling] = record
        return record


def _members(record: Any) -> Iterator[Any]:
    """The members of a struct or union; a nameless struct's are among those of what holds it."""
    for member in record.get_canonical().get_fields():
        holds_members = is_nameless(member.spelling) and is_record(member.type)
        if holds_members and member.type.get_canonical().get_declaration().kind == CursorKind.STRUCT_DECL:
            yield from _members(member.type)
        else:
            yield member


def records_used(types: TypeConverter, used: set[str]) -> tuple[RecordType, ...]:
    """The converter's records that `used` names, and those inside them, dependencies first."""
    wanted = set(used)
    for record in reversed(tuple(types.records.values())):
        if record.spelling in wanted:
            for member in record.fields:
                inner = member.type
                while isinstance(inner, (ArrayType, PointerType)):
                    inner = inner.element if isinstance(inner, ArrayType) else inner.pointee
                if isinstance(inner, RecordType):
                    wanted.add(inner.spelling)
    return tuple(record for record in types.records.values() if record.spelling in wanted)
