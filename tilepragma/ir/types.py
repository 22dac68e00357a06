"""C types as the host compiler sees them, with the host's kinds, sizes and signedness."""

from __future__ import annotations

import math
import struct
from enum import Enum
from typing import TypeGuard

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import hashed_once


class ScalarKind(Enum):
    """The family of an arithmetic type; ScalarType adds width and signedness."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOATING = "floating"


@hashed_once
@dataclass(frozen=True)
class ScalarType:
    """An arithmetic (or enumeration) type after all typedefs.

    `spelling` is canonical C ("unsigned long", "char", "double", "_Bool"); enumerations appear as
    their underlying integer type. `bits` is the storage size; `signed` is true for floating types.
    """

    kind: ScalarKind
    bits: int
    signed: bool
    spelling: str

    @property
    def is_floating(self) -> bool:
        """Whether values are real numbers."""
        return self.kind is ScalarKind.FLOATING

    @property
    def is_integer(self) -> bool:
        """Whether values are integers; true for booleans."""
        return not self.is_floating


@dataclass(frozen=True)
class Field:
    """One member of a record, in declaration order; `offset` in bytes."""

    name: str
    type: Type
    offset: int


@dataclass(frozen=True)
class RecordType:
    """A struct or union.

    `spelling` names it in the user's C ("struct point", or a typedef's name "point_t"); `tag` is an
    identifier that names it in kernels ("point"). `size` and `alignment` are in bytes.
    """

    spelling: str
    tag: str
    is_union: bool
    fields: tuple[Field, ...]
    size: int
    alignment: int


@dataclass(frozen=True)
class PointerType:
    """A pointer; `restrict` qualifies the pointer itself, `const` what it points to."""

    pointee: Type
    const: bool = False
    restrict: bool = False


@dataclass(frozen=True)
class ArrayType:
    """An array; `length` is an Expression (typed `object` here), or None if open (`a[]`)."""

    element: Type
    length: object | None


@dataclass(frozen=True)
class VoidType:
    """`void`, as a function's result."""


Type = ScalarType | RecordType | PointerType | ArrayType | VoidType

INT = ScalarType(ScalarKind.INTEGER, 32, True, "int")
LONG = ScalarType(ScalarKind.INTEGER, 64, True, "long")
INDEX = ScalarType(ScalarKind.INTEGER, 32, True, "tilek_index")
"""The type of array positions on devices: 64 bits, or 32 if all arrays of a call have at most 2^30
elements. Wider numbers are then cut off at 2^30 (`tilek_short`), and compare as before.
"""
UNSIGNED_INT = ScalarType(ScalarKind.INTEGER, 32, False, "unsigned int")
UNSIGNED_LONG = ScalarType(ScalarKind.INTEGER, 64, False, "unsigned long")
FLOAT = ScalarType(ScalarKind.FLOATING, 32, True, "float")
DOUBLE = ScalarType(ScalarKind.FLOATING, 64, True, "double")
VOID = VoidType()


def is_integer(type_: object) -> TypeGuard[ScalarType]:
    """Whether it is an integer type, or that of truth values."""
    return isinstance(type_, ScalarType) and type_.is_integer


def is_floating(type_: object) -> TypeGuard[ScalarType]:
    """Whether it is a floating-point type."""
    return isinstance(type_, ScalarType) and type_.is_floating


def is_signed(type_: object) -> bool:
    """Whether it is a signed integer type."""
    return isinstance(type_, ScalarType) and type_.is_integer and type_.signed


def is_signed_int(type_: object) -> bool:
    """Whether it is a signed type at least as wide as int, which neither wraps nor is promoted."""
    return isinstance(type_, ScalarType) and is_signed(type_) and type_.bits >= INT.bits


def single(value: float) -> float:
    """The value of type float that is nearest to a number."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def usual_type(left: ScalarType, right: ScalarType) -> ScalarType:
    """The type in which C computes with two numbers: usual arithmetic conversions (C99 6.3.1.8)."""
    floating = [type_ for type_ in (left, right) if type_.is_floating]
    if floating:
        return max(floating, key=lambda type_: type_.bits)
    left, right = promoted(left), promoted(right)
    if left.bits != right.bits:
        return max(left, right, key=lambda type_: type_.bits)
    return right if left.signed else left


def promoted(type_: ScalarType) -> ScalarType:
    """The type after the integer promotions (C99 6.3.1.1): int replaces narrower types."""
    return INT if type_.bits < INT.bits else type_


def unsigned(type_: ScalarType) -> ScalarType:
    """The unsigned integer type of the same width, whose operations wrap."""
    return UNSIGNED_LONG if type_.bits == LONG.bits else UNSIGNED_INT


def holds(type_: ScalarType, other: ScalarType) -> bool:
    """Whether `type_` has every value of `other`, so that a conversion there and back is exact."""
    if other.is_floating:
        return type_.is_floating and type_.bits >= other.bits
    if type_.is_floating:
        return _SIGNIFICAND.get(type_.bits, 64) >= _digits(other)
    return (type_.signed or not other.signed) and _digits(type_) >= _digits(other)


def least_and_greatest(type_: ScalarType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    limit = 1 << _digits(type_)
    return (-limit if type_.signed else 0), limit - 1


def has_integer(type_: ScalarType, value: int) -> bool:
    """Whether the integer is one of the type's values."""
    if type_.is_floating:
        return abs(value) <= 1 << _SIGNIFICAND.get(type_.bits, 64)
    least, greatest = least_and_greatest(type_)
    return least <= value <= greatest


#: Binary digits of float and double. A long double has at least 64, or is a double.
_SIGNIFICAND = {32: 24, 64: 53}


def _digits(type_: ScalarType) -> int:
    """The binary digits of an integer type's greatest value."""
    return 1 if type_.kind is ScalarKind.BOOLEAN else type_.bits - type_.signed
