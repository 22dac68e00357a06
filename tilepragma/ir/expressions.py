"""Expressions of the LoopTree: C99 expressions after macro expansion, each with its type and source
range.

    Expression := IntegerLiteral | FloatingLiteral | Access | Unary | Binary | Assignment | Increment
                | Conditional | Cast | Call | Comma | AddressOf

Every use of storage, scalar or array, is an Access. `a[i][j]`, `*(a + i)`, `(*p).x`, `p->x[i]` are
brought to this one form by the front end. Parentheses are not kept: the printer puts them where
precedence needs them. Implicit conversions are not written out: the usual conversions are the same
in C, OpenCL C and CUDA C++ as long as the types are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from enum import Enum
from functools import reduce

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import hashed_once
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.types import DOUBLE, INT, LONG, ScalarType, Type, is_signed_int


class Storage(Enum):
    """How an object's elements lie in memory."""

    SCALAR = "scalar"
    """one object of scalar or record type"""
    CONTIGUOUS = "contiguous"
    """`T a[n][m]`, `T (*a)[m]`, `T *a`: one block, row-major"""
    ROWS = "rows"
    """`T **a`, `T ***a`: pointers to rows; the last dimension alone is contiguous"""


class Scope(Enum):
    """Where an object was declared, seen from its kernel region."""

    EXTERNAL = "external"
    """outside the region: a parameter of the kernel"""
    REGION = "region"
    """among the statements of the region's own block, outside every loop: made by the host before the first launch"""
    TEMPORARY = "temporary"
    """made by the planner: storage that a launch has for itself, which has no name in the user's function"""
    GANG = "gang"
    """made by the planner: memory that the workers of a gang share (`Scratchpad`)"""
    LOCAL = "local"
    """inside a loop, condition or inner block of the region, or inside a function: private to each iteration"""


#: Bytes of constants that a device program may have: CUDA's constant memory, and the least that
#: OpenCL promises.
TABLE_BYTES = 65536


@hashed_once
@dataclass(frozen=True)
class DataObject:
    """A variable, or an array reached through an invariant path (`grid->u`): what sections, modes
    and liveness are of.

    `name` is an identifier unique in the region and readable in kernels (`u`, `grid_u`; a local
    that shadows another gets a suffix). `host` is the C expression for it in the user's function
    (`grid->u`). `element` is the type of one element after all dimensions. `lengths` has one entry
    a dimension: for CONTIGUOUS the first may be None (a pointer or `a[]`), the others are
    expressions (literals for fixed arrays); for ROWS all are None; for SCALAR it is empty.
    `rows_in`: the user's array of one dimension in which this one's rows lie one behind the other,
    where that is how the planner sees it. `table`: a constant array of the file, whose elements
    compilers know wherever it is named; `values`: its elements, row-major, where the translation
    knows them all and they take no more than `TABLE_BYTES`. `is_variable`: it is a variable itself,
    which shares memory with no other, and not what a pointer leads to. `is_element`: a scalar of
    the planner's that is an element of an array, `host`, read where the launch begins. Two objects
    are the same iff they are equal.
    """

    name: str
    host: str
    element: Type
    storage: Storage
    scope: Scope
    lengths: tuple[Expression | None, ...] = ()
    const: bool = False
    restrict: bool = False
    volatile: bool = False
    table: bool = False
    values: tuple[int | float, ...] = field(default=(), compare=False)
    range: SourceRange = field(default=NOWHERE, compare=False)
    rows_in: DataObject | None = None
    is_variable: bool = field(default=False, compare=False)
    is_element: bool = field(default=False, compare=False)

    @property
    def rank(self) -> int:
        """The number of array dimensions; 0 for a scalar."""
        return len(self.lengths)

    @property
    def stored(self) -> DataObject:
        """The object as the user has it: what sections are of, and what the runtime knows."""
        return self if self.rows_in is None else self.rows_in


@dataclass(frozen=True)
class Member:
    """A step `.name` of an access path inside one element."""

    name: str


@dataclass(frozen=True)
class Index:
    """A step `[index]` into an array member inside one element."""

    index: Expression


@hashed_once
@dataclass(frozen=True)
class IntegerLiteral:
    """An integer (or character) constant; `spelling` is legal C of the very same type ("3", "0x10u", "8l")."""

    value: int
    spelling: str
    type: Type = INT
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class FloatingLiteral:
    """A floating constant; `spelling` is the user's, or 17 significant digits where a macro hides it."""

    value: float
    spelling: str
    type: Type = DOUBLE
    range: SourceRange = field(default=NOWHERE, compare=False)


@hashed_once
@dataclass(frozen=True)
class Access:
    """`object[subscripts…]path…`. Fewer subscripts than the object's rank denote a pointer to a row (call arguments only)."""

    object: DataObject
    subscripts: tuple[Expression, ...]
    path: tuple[Member | Index, ...]
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)


@hashed_once
@dataclass(frozen=True)
class Unary:
    """`operator operand`, operator one of + - ! ~."""

    operator: str
    operand: Expression
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)


@hashed_once
@dataclass(frozen=True)
class Binary:
    """`left operator right` without side effect of its own: arithmetic, shifts, comparisons, && and ||."""

    operator: str
    left: Expression
    right: Expression
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Assignment:
    """`target operator value`, operator one of = += -= *= /= %= <<= >>= &= ^= |=."""

    operator: str
    target: Access
    value: Expression
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Increment:
    """`++x`, `x++`, `--x`, `x--`; `operator` is "++" or "--"."""

    operator: str
    prefix: bool
    target: Access
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)


@hashed_once
@dataclass(frozen=True)
class Conditional:
    """`condition ? then : otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)


@hashed_once
@dataclass(frozen=True)
class Cast:
    """`(type)operand`, as the user wrote it."""

    type: Type
    operand: Expression
    range: SourceRange = field(default=NOWHERE, compare=False)


class Callee(Enum):
    """What kind of function is called."""

    MATH = "math"
    """math.h or stdlib.h's abs family; `function` is the C name ("sqrtf", "fmax")"""
    USER = "user"
    """defined in the same translation unit; carried into the kernel"""
    HELPER = "helper"
    """of tilek.h, in expressions that no user wrote: tilek_minimum, tilek_maximum, tilek_floor_quotient, tilek_ceiling_quotient (all 64-bit)"""


@hashed_once
@dataclass(frozen=True)
class Call:
    """`function(arguments…)`. The last `implied` arguments are variables of the file that the user's function uses itself: hosts do not pass them."""

    function: str
    callee: Callee
    arguments: tuple[Expression, ...]
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)
    implied: int = 0


@dataclass(frozen=True)
class Comma:
    """`left, right`."""

    left: Expression
    right: Expression
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class AddressOf:
    """`&target`; allowed as a call argument only."""

    target: Access
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)


Expression = (
    IntegerLiteral
    | FloatingLiteral
    | Access
    | Unary
    | Binary
    | Assignment
    | Increment
    | Conditional
    | Cast
    | Call
    | Comma
    | AddressOf
)


def integer(value: int, type_: ScalarType = INT) -> IntegerLiteral:
    """The literal `value`, for expressions that no user wrote."""
    suffix = "" if type_ == INT else "l" if type_.signed else "ul"
    return IntegerLiteral(value, f"{value}{suffix}", type_)


def access_to(object_: DataObject) -> Access:
    """The object without subscripts: a scalar's value, or a whole array."""
    return Access(object_, (), (), object_.element)


def local_scalar(name: str, type_: Type) -> Access:
    """The value of a scalar of that name in emitted code, for expressions that no user wrote."""
    return access_to(DataObject(name, name, type_, Storage.SCALAR, Scope.LOCAL))


def is_local_index(object_: DataObject) -> bool:
    """Whether it is a local integer wide enough for any subscript: an int's values at least, or without a sign 64 bits."""
    type_ = object_.element
    if object_.scope is not Scope.LOCAL or object_.storage is not Storage.SCALAR or object_.volatile:
        return False
    return is_signed_int(type_) or (isinstance(type_, ScalarType) and type_.is_integer and type_.bits >= LONG.bits)


def conjunction(conditions: Iterable[Expression]) -> Expression:
    """C for "all of them hold", of which there is one at least; in their order."""
    return reduce(lambda left, right: Binary("&&", left, right, INT), conditions)


def disjunction(conditions: Iterable[Expression]) -> Expression:
    """C for "one of them holds", of which there is one at least; in their order."""
    return reduce(lambda left, right: Binary("||", left, right, INT), conditions)


def negated(condition: Expression) -> Expression:
    """`!condition`"""
    return Unary("!", condition, INT, condition.range)
