"""C types as the host compiler sees them: kinds, sizes and signedness are the host's, never a guess."""

from __future__ import annotations

from enum import Enum

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import hashed_once


class ScalarKind(Enum):
    """The family of an arithmetic type; width and signedness stand beside it in ScalarType."""

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
    """A struct or union. `spelling` names it in the user's C ("struct point", or a typedef's name
    "point_t"); `tag` is an identifier that names it in kernels ("point"). `size` and `alignment`
    are in bytes.
    """

    spelling: str
    tag: str
    is_union: bool
    fields: tuple[Field, ...]
    size: int
    alignment: int


@dataclass(frozen=True)
class PointerType:
    """A pointer; the qualifiers are those of the pointer itself (`restrict`) and of what it points to (`const`)."""

    pointee: Type
    const: bool = False
    restrict: bool = False


@dataclass(frozen=True)
class ArrayType:
    """An array; `length` is None where C leaves it open (`a[]`), an Expression for fixed and
    variable lengths. Types stand below expressions, which name them, so its type is not said here.
    """

    element: Type
    length: object | None


@dataclass(frozen=True)
class VoidType:
    """`void`, as a function's result."""


Type = ScalarType | RecordType | PointerType | ArrayType | VoidType

INT = ScalarType(ScalarKind.INTEGER, 32, True, "int")
LONG = ScalarType(ScalarKind.INTEGER, 64, True, "long")
INDEX = ScalarType(ScalarKind.INTEGER, 32, True, "tilek_index")
"""Of positions in arrays, in programs for devices: 64 bits, or 32 where all that a call has lies
within 2^30 elements. What becomes one of a wider type is cut off at 2^30 there (`tilek_short`), so
that it compares with positions as before.
"""
UNSIGNED_LONG = ScalarType(ScalarKind.INTEGER, 64, False, "unsigned long")
FLOAT = ScalarType(ScalarKind.FLOATING, 32, True, "float")
DOUBLE = ScalarType(ScalarKind.FLOATING, 64, True, "double")
VOID = VoidType()


def is_signed(type_: object) -> bool:
    """Whether it is a type of integers with a sign."""
    return isinstance(type_, ScalarType) and type_.is_integer and type_.signed


def is_signed_int(type_: object) -> bool:
    """Whether it is one of those that has an int's values at least: arithmetic in it neither wraps nor is promoted."""
    return isinstance(type_, ScalarType) and is_signed(type_) and type_.bits >= INT.bits


def usual_type(left: ScalarType, right: ScalarType) -> ScalarType:
    """The type in which C computes with two numbers: the usual arithmetic conversions (C99 6.3.1.8)."""
    floating = [one for one in (left, right) if one.is_floating]
    if floating:
        return max(floating, key=lambda one: one.bits)
    left, right = promoted(left), promoted(right)
    if left.bits != right.bits:
        return max(left, right, key=lambda one: one.bits)
    return right if left.signed else left


def promoted(type_: ScalarType) -> ScalarType:
    """The type after the integer promotions (C99 6.3.1.1): an int has all values of the types narrower than it."""
    return INT if type_.bits < INT.bits else type_


def holds(type_: ScalarType, other: ScalarType) -> bool:
    """Whether every value of `other` is one of `type_`, so that a conversion there and back changes nothing."""
    if other.is_floating:
        return type_.is_floating and type_.bits >= other.bits
    if type_.is_floating:
        return _SIGNIFICAND.get(type_.bits, 64) >= _digits(other)
    return (type_.signed or not other.signed) and _digits(type_) >= _digits(other)


def has_integer(type_: ScalarType, value: int) -> bool:
    """Whether the integer is one of the type's values."""
    if type_.is_floating:
        return abs(value) <= 1 << _SIGNIFICAND.get(type_.bits, 64)
    limit = 1 << _digits(type_)
    return (-limit if type_.signed else 0) <= value < limit


#: Binary digits of float and double; a long double, whatever its storage, has 64 at least or is a
#: double.
_SIGNIFICAND = {32: 24, 64: 53}


def _digits(type_: ScalarType) -> int:
    """The binary digits of an integer type's greatest value."""
    return 1 if type_.kind is ScalarKind.BOOLEAN else type_.bits - type_.signed
