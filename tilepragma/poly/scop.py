"""The Scop of a region: statements with domains, schedules and access relations, by name.

What is not affine is over-approximated where that is sound: the domain omits a bound, a subscript
may have any value, a condition on data may hold or not (its writes are may-writes). `Scop.reasons`
names each such expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import cached_property
from itertools import takewhile

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage
from tilepragma.ir.loop_tree import Loop, Statement
from tilepragma.ir.polynomial import Polynomial, number, polynomial
from tilepragma.ir.row_strides import row_strides
from tilepragma.ir.types import is_floating
from tilepragma.poly.affine import NotAffine


class AccessKind(Enum):
    """The kind of an access; a may-write depends on data, or omits elements of its relation."""

    READ = "read"
    MUST_WRITE = "must write"
    MAY_WRITE = "may write"


@dataclass(frozen=True)
class Reference:
    """{ S[i] -> A[a] : domain(i) and a = subscripts(i) }, one access of a statement.

    A scalar has rank 0: { S[i] -> x[] }. An object declared inside loops has their iterators as
    leading dimensions, since each iteration has a copy. `exact`: the relation is no
    over-approximation, in its subscripts or domain, and the access is unconditional. `member` is
    the accessed member of a record, if any; `whole`: the access covers all of it, or all of the
    element, no part of a part, or of a union. `linear` is { S[i] -> A[e] } of a delinearised array
    whose subscript e is affine too: two such accesses meet only where both relations do.
    `same_part`: all references to the object mean the same part of its elements.
    """

    object: DataObject
    kind: AccessKind
    relation: isl.Map
    exact: bool
    member: str | None
    range: SourceRange
    linear: isl.Map | None = None
    whole: bool = True
    same_part: bool = True

    @property
    def writes(self) -> bool:
        """Whether the access may write."""
        return self.kind is not AccessKind.READ

    @property
    def certain(self) -> bool:
        """Whether each instance accesses what the relation says, and the relation tells apart what
        all references to the object access.
        """
        return self.exact and self.same_part

    @property
    def is_floating(self) -> bool:
        """Whether the element is a floating-point number, whose sums keep their order."""
        return is_floating(self.object.element)

    @property
    def is_global(self) -> bool:
        """Whether the access goes to memory that all workers share."""
        return self.object.storage is not Storage.SCALAR and self.object.scope is not Scope.LOCAL


@dataclass(frozen=True)
class ScopStatement:
    """A statement S under `loops` (outermost first) and its instances.

    `domain`: { S[i_1, …, i_n] : bounds, steps and affine conditions }, i being values of the
    iterators. `schedule`: { S[i_1, …, i_n] -> [c_0, ±i_1, c_1, …, ±i_n, c_n, 0, …] }, in the
    lexicographic order of execution (thesis (3.8), scalar dimensions included; -i where the loop
    counts down). `node` is its LoopTree: the leaf, or the loop or condition whose bounds or
    condition it evaluates. `parts` are the statements inside a leaf of several, in order, with the
    iterators of loops inside the leaf after `loops`.
    """

    name: str
    loops: tuple[Loop, ...]
    domain: isl.Set
    schedule: isl.Map
    references: tuple[Reference, ...]
    range: SourceRange
    node: Statement = field(compare=False)
    parts: Statements = ()

    @property
    def depth(self) -> int:
        """How many loops surround it."""
        return len(self.loops)

    @property
    def iterators(self) -> tuple[str, ...]:
        """The names of the iterators."""
        return tuple(loop.iterator.name for loop in self.loops)

    @property
    def signs(self) -> tuple[int, ...]:
        """For each loop 1 or, where it counts down, -1: ±i grow in the order of execution."""
        return tuple(-1 if loop.decreasing else 1 for loop in self.loops)

    @cached_property
    def position(self) -> tuple[int, ...]:
        """The constants c_0, …, c_n of the schedule. Two statements share their first k loops where
        their first k constants are equal.
        """
        return tuple(
            int(self.schedule.plain_get_val_if_fixed(isl.dim_type.out, 2 * level).to_python())
            for level in range(self.depth + 1)
        )

    @property
    def elements_read(self) -> int:
        """How many of its references read elements of arrays."""
        return sum(not each.writes and each.relation.dim(isl.dim_type.out) > 0 for each in self.references)

    def shared_loops(self, other: ScopStatement) -> int:
        """How many of the outermost loops are the same loop in the text of both."""
        mine, theirs = self.position[: self.depth], other.position[: other.depth]
        return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(mine, theirs, strict=False))))


Statements = tuple[ScopStatement, ...]


@dataclass(frozen=True)
class Scop:
    """All statements of a region, in textual order, and the reasons for over-approximations.

    `parameters`: the expression of each parameter, by name. `written`: the objects that the region
    changes; `layouts`: the strides, greatest first, of delinearised arrays (a[i*m + j] as a[i][j]);
    `origins`: what is taken from the subscripts of some of them first (a[o + i*m + j] as a[i][j]).
    `assumptions` are tests of parameters, and `assumed` is { [p] : they hold }; the Scop says
    nothing where one of them fails.
    """

    context: isl.Context
    statements: Statements
    reasons: tuple[NotAffine, ...]
    parameters: Mapping[str, Expression] = field(default_factory=dict)
    written: frozenset[DataObject] = frozenset()
    layouts: Mapping[DataObject, tuple[Polynomial, ...]] = field(default_factory=dict)
    origins: Mapping[DataObject, Polynomial] = field(default_factory=dict)
    assumptions: tuple[Expression, ...] = ()
    assumed: isl.Set | None = None

    def accesses_to(self, object_: DataObject) -> list[Accessed]:
        """All references to the object, with their statements."""
        return [(each, access) for each in self.statements for access in each.references if access.object == object_]

    def strides_of(self, object_: DataObject) -> tuple[Polynomial, ...]:
        """The strides of an array that this Scop or the plan delinearises; empty for others."""
        return row_strides(object_)[:-1] if object_.rows_in is not None else self.layouts.get(object_, ())

    def origin_of(self, object_: DataObject) -> Polynomial:
        """The element of row 0 and column 0 of such an array; 0 for others."""
        return self.origins.get(object_, number(0))


def step_of(loop: Loop) -> int | None:
    """The loop's constant step other than 0, else None."""
    return polynomial(loop.step).constant or None


def place_of(loop: int, loops: Iterable[Loop]) -> int | None:
    """The place among the loops of the one with this index; None if none has it."""
    return next((place for place, each in enumerate(loops) if each.index == loop), None)


def common_loops(statements: Iterable[ScopStatement]) -> tuple[Loop, ...]:
    """The outermost loops, by index, that surround all of the statements."""
    levels = zip(*(statement.loops for statement in statements), strict=False)
    return tuple(loops[0] for loops in takewhile(lambda loops: len({loop.index for loop in loops}) == 1, levels))


Accessed = tuple[ScopStatement, Reference]


def meeting(
    statements: Iterable[ScopStatement],
) -> Iterator[tuple[ScopStatement, Reference, tuple[list[Accessed], list[Accessed]]]]:
    """Each reference, object by object, with all that may touch common elements, itself among them,
    and those of them that write.
    """
    by_object: dict[str, list[Accessed]] = {}
    for statement in statements:
        for reference in statement.references:
            by_object.setdefault(reference.object.name, []).append((statement, reference))
    for accesses in by_object.values():
        keys = _group_keys([reference for _, reference in accesses])
        groups: dict[object, tuple[list[Accessed], list[Accessed]]] = {}
        for key, access in zip(keys, accesses, strict=True):
            every, writing = groups.setdefault(key, ([], []))
            every.append(access)
            if access[1].writes:
                writing.append(access)
        yield from ((*access, groups[key]) for key, access in zip(keys, accesses, strict=True))


def _group_keys(references: Sequence[Reference]) -> tuple[tuple[str | int | None, ...], ...]:
    """A key for each reference to one object; different keys surely touch no common element.

    Keys are members, and numeric subscripts, where all references have such.
    """
    ranks = {reference.relation.dim(isl.dim_type.out) for reference in references}
    parts: list[list[str | int | None]] = [[reference.member for reference in references]]
    if len(ranks) == 1:
        for place in range(ranks.pop()):
            fixed = (reference.relation.plain_get_val_if_fixed(isl.dim_type.out, place) for reference in references)
            parts.append([int(value.to_python()) if value.is_int() else None for value in fixed])
    return tuple(zip(*(part for part in parts if None not in part), strict=True)) or ((),) * len(references)
