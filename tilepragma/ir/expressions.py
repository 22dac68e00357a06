"""Expressions of the loop tree: C99 expressions after macro expansion, with type and range.

  Expression := IntegerLiteral | FloatingLiteral | Access | Unary | Binary | Assignment | Increment
              | Conditional | Cast | Call | Comma | AddressOf

Every use of storage, scalar or array, is an Access: the front end brings `a[i][j]`, `*(a + i)`,
`(*p).x` and `p->x[i]` to this form. Parentheses are not kept; the printer adds them where
precedence needs them. Implicit conversions are not written: they are the same in C, OpenCL C and
CUDA C++ for the same types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import Enum
from functools import reduce

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import hashed_once
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.types import DOUBLE, INT, LONG, ScalarType, Type, is_integer, is_signed_int


class Storage(Enum):
    """How an object's elements lie in memory."""

    SCALAR = "scalar"
    """one object of scalar or record type"""
    CONTIGUOUS = "contiguous"
    """`T a[n][m]`, `T (*a)[m]`, `T *a`: one block, row-major"""
    ROWS = "rows"
    """`T **a`, `T ***a`: pointers to rows; the last dimension alone is contiguous"""


class Scope(Enum):
    """Where an object is declared, as its kernel region sees it."""

    EXTERNAL = "external"
    """outside the region: a parameter of the kernel"""
    REGION = "region"
    """in the region's block, outside every loop: the host makes it before the first launch"""
    TEMPORARY = "temporary"
    """by the planner: storage of one launch, without a name in the user's function"""
    GANG = "gang"
    """by the planner: shared memory of a gang (`Scratchpad`)"""
    LOCAL = "local"
    """in a loop, condition or inner block, or in a function: private to each iteration"""


#: Bytes of constants that a device program may have, by CUDA's constant memory and OpenCL's
#: minimum.
TABLE_BYTES = 65536


@hashed_once
@dataclass(frozen=True)
class DataObject:
    """A variable, or an array behind an invariant path (`grid->u`).

    `name` is an identifier unique in the region and readable in kernels (`u`, `grid_u`; a local
    that shadows another gets a suffix). `host` is the C expression for it in the user's function
    (`grid->u`). `element` is the type of one element after all dimensions. `lengths` has one entry
    a dimension: for CONTIGUOUS the first may be None (a pointer or `a[]`), the others are
    expressions (literals for fixed arrays); for ROWS all are None; for SCALAR it is empty.
    `rows_in`: the user's array of one dimension that the planner delinearised to this object.
    `table`: a constant array of the file, whose elements compilers know. `values`: its elements,
    row-major, if all are known and take at most `TABLE_BYTES`. `is_variable`: a variable itself,
    which shares memory with no other, not the target of a pointer. `is_element`: a scalar of the
    planner that reads the array element `host` at the launch's begin. Equal objects are the same.
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
    def is_outside_scalar(self) -> bool:
        """Whether iterations share it and it is no array, so that they may have copies of it."""
        return self.storage is Storage.SCALAR and self.scope is not Scope.LOCAL

    @property
    def stored(self) -> DataObject:
        """The user's object, which sections name and the runtime knows."""
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
    """An integer or character constant; `spelling` is C of the same type ("3", "0x10u", "8l")."""

    value: int
    spelling: str
    type: Type = INT
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class FloatingLiteral:
    """A floating constant; `spelling` is the user's, or 17 digits if a macro hides it."""

    value: float
    spelling: str
    type: Type = DOUBLE
    range: SourceRange = field(default=NOWHERE, compare=False)


@hashed_once
@dataclass(frozen=True)
class Access:
    """`object[subscripts…]path…`; with fewer subscripts than the rank, a row as an argument.

    `from_pointers`: the places, from the end (-1 is the last), of subscripts that count from where
    a pointer into a row points. They may go on into other rows.
    """

    object: DataObject
    subscripts: tuple[Expression, ...]
    path: tuple[Member | Index, ...]
    type: Type
    range: SourceRange = field(default=NOWHERE, compare=False)
    from_pointers: tuple[int, ...] = field(default=(), compare=False)


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
    """`left operator right` without side effect: arithmetic, shifts, comparisons, && and ||."""

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
    """What kind of function a call calls."""

    MATH = "math"
    """math.h or stdlib.h's abs family; `function` is the C name ("sqrtf", "fmax")"""
    USER = "user"
    """defined in the same translation unit; carried into the kernel"""
    HELPER = "helper"
    """of tilek.h, 64-bit, for the planner: tilek_minimum, tilek_maximum and two quotients"""


@hashed_once
@dataclass(frozen=True)
class Call:
    """`function(arguments…)`; hosts do not pass the last `implied` ones, variables of the file."""

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


_Operation = Unary | Binary | Assignment | Increment | Conditional | Cast | Call | Comma | AddressOf
Expression = IntegerLiteral | FloatingLiteral | Access | _Operation

#: The operators that compare two numbers.
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def integer(value: int, type_: ScalarType = INT) -> IntegerLiteral:
    """The literal `value`, for expressions that no user wrote."""
    suffix = "" if type_ == INT else "l" if type_.signed else "ul"
    return IntegerLiteral(value, f"{value}{suffix}", type_)


def access_to(object_: DataObject) -> Access:
    """The object without subscripts: a scalar's value, or a whole array."""
    return Access(object_, (), (), object_.element)


def local_scalar(name: str, type_: Type) -> Access:
    """The value of a scalar of that name in emitted code."""
    return access_to(DataObject(name, name, type_, Storage.SCALAR, Scope.LOCAL))


def is_local_index(object_: DataObject) -> bool:
    """Whether it is a local integer wide enough for any subscript: a signed int, or 64 bits."""
    type_ = object_.element
    if object_.scope is not Scope.LOCAL or object_.storage is not Storage.SCALAR or object_.volatile:
        return False
    return is_signed_int(type_) or (is_integer(type_) and type_.bits >= LONG.bits)


def conjunction(conditions: Iterable[Expression]) -> Expression:
    """C for "all of them hold", in order; `conditions` must not be empty."""
    return reduce(lambda left, right: Binary("&&", left, right, INT), conditions)


def operands(operator: str, value: Expression) -> Iterator[Expression]:
    """The parts of a chain of && or ||, in order."""
    if isinstance(value, Binary) and value.operator == operator:
        yield from operands(operator, value.left)
        yield from operands(operator, value.right)
    else:
        yield value


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The parts of a conjunction, in order."""
    return operands("&&", condition)


def disjunction(conditions: Iterable[Expression]) -> Expression:
    """C for "one of them holds", in order; `conditions` must not be empty."""
    return reduce(lambda left, right: Binary("||", left, right, INT), conditions)


def negated(condition: Expression) -> Expression:
    """`!condition`"""
    return Unary("!", condition, INT, condition.range)
