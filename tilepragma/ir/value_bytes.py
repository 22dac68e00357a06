"""The bytes of an object that an access means: bit k of a number is byte k; no padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilepragma.ir.expressions import Access, DataObject, Expression, Index, IntegerLiteral, Member, integer
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.types import LONG, ArrayType, RecordType, ScalarType, Type

EVERYTHING = -1
"""All bytes of an object whose size is not known."""

Path = tuple[Member | Index, ...]


def type_size(type_: Type) -> int:
    """The size of a type in bytes on the host; array lengths must be literals."""
    match type_:
        case ScalarType():
            return type_.bits // 8
        case RecordType():
            return type_.size
        case ArrayType(element, IntegerLiteral(value)):
            return type_size(element) * value
        case _:
            return 8


def value_bytes(type_: Type) -> int:
    """The bytes of a value of the type; all bytes for a union."""
    match type_:
        case RecordType(is_union=False):
            mask = 0
            for field in type_.fields:
                mask |= value_bytes(field.type) << field.offset
            return mask
        case ArrayType(element, IntegerLiteral(value)):
            size, element_mask, mask = type_size(element), value_bytes(element), 0
            for place in range(value):
                mask |= element_mask << (place * size)
            return mask
        case _:
            return (1 << type_size(type_)) - 1


def object_bytes(object_: DataObject) -> int:
    """The bytes of an object's values; EVERYTHING if its lengths are no numbers."""
    type_: Type = object_.element
    for length in reversed(object_.lengths):
        if not isinstance(length, IntegerLiteral):
            return EVERYTHING
        type_ = ArrayType(type_, length)
    return value_bytes(type_)


def bytes_of(
    object_: DataObject, subscripts: tuple[Expression, ...], path: Path, values: Mapping[DataObject, int]
) -> tuple[int, bool]:
    """The bytes of an access, and whether they are exact; `values` are those of iterators."""
    offset, type_ = 0, object_.element
    if object_.rank:
        size = type_size(type_)
        places = [known_value(subscript, values) for subscript in subscripts]
        lengths = [length.value if isinstance(length, IntegerLiteral) else None for length in object_.lengths[1:]]
        if len(places) != object_.rank or None in places or None in lengths:
            return object_bytes(object_), False
        for place, length in zip(places, (1, *lengths), strict=True):
            offset = offset * (length or 1) + (place or 0)
        offset *= size
        if offset < 0:
            return EVERYTHING, False
    for step in path:
        if isinstance(step, Member) and isinstance(type_, RecordType):
            field = next(field for field in type_.fields if field.name == step.name)
            offset, type_ = offset + field.offset, field.type
        elif isinstance(step, Index) and isinstance(type_, ArrayType):
            place = known_value(step.index, values)
            if place is None or place < 0:
                return value_bytes(type_) << offset, False
            offset, type_ = offset + place * type_size(type_.element), type_.element
        else:
            return object_bytes(object_), False
    return value_bytes(type_) << offset, True


def leaves(type_: Type, path: Path = (), offset: int = 0) -> Iterator[tuple[Path, Type, int]]:
    """The parts of a value that are assigned separately, numbers and unions, with their bytes."""
    match type_:
        case RecordType(is_union=False):
            for field in type_.fields:
                yield from leaves(field.type, (*path, Member(field.name)), offset + field.offset)
        case ArrayType(element, IntegerLiteral(value)):
            for place in range(value):
                yield from leaves(element, (*path, Index(integer(place))), offset + place * type_size(element))
        case _:
            yield path, type_, value_bytes(type_) << offset


def known_value(index: Expression, values: Mapping[DataObject, int]) -> int | None:
    """The value of an integer expression, given the values of some objects, or None."""

    def known(access: Access) -> Expression:
        plain = access.object in values and not access.subscripts and not access.path
        return integer(values[access.object], LONG) if plain else access

    return polynomial(with_accesses(index, known) if values else index).constant
