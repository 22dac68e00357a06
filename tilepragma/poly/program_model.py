"""What the polyhedral engine reasons about: statements with their domains, and the dependences
between them.

Relations are isl's, and carry the names of statements and arrays as tuple names:

    domain       [n] -> { S[j, i] : 0 <= j, i < n }                         thesis (3.5)
    access       [n] -> { S[j, i] -> A[i + 1] }
    dependence   [n] -> { S[j, i] -> T[j', i'] : ... }                   P_e of thesis 3.2.4
"""

from __future__ import annotations

from enum import Enum

import islpy as isl

from tilepragma.base.frozen_values import dataclass


class DependenceKind(Enum):
    """Which of the two accesses writes (thesis section 3.1.1)."""

    FLOW = "flow"
    """read after write"""
    ANTI = "anti"
    """write after read"""
    OUTPUT = "output"
    """write after write"""
    INPUT = "input"
    """read after read: orders nothing"""


@dataclass(frozen=True)
class ProgramAccess:
    """One reference: `relation` = { S[i] -> A[x] }, a function of the iteration for an exact affine
    subscript.

    `exact`: it happens whenever the statement runs, and to what the relation says. `floating`: the
    element is a floating-point number, whose sums keep their order.
    """

    array: str
    relation: isl.Map
    write: bool
    exact: bool = True
    floating: bool = False


@dataclass(frozen=True)
class ProgramStatement:
    """`domain` = [params] -> { name[iterators] : ... }, thesis (3.5); iterators grow in the order
    of execution.

    `position` is the textual order: as many numbers as there are loops and one more, so that the
    original order of the program is the lexicographic order of (position[0], i1, position[1], i2,
    ..., in, position[n]). Two statements share their first k loops where their first k numbers are
    equal.
    """

    name: str
    domain: isl.Set
    iterators: tuple[str, ...]
    position: tuple[int, ...]
    accesses: tuple[ProgramAccess, ...] = ()

    @property
    def depth(self) -> int:
        """How many loops surround it."""
        return len(self.iterators)

    @property
    def elements_read(self) -> int:
        """How many of its accesses read elements of arrays."""
        return sum(not access.write and access.relation.dim(isl.dim_type.out) > 0 for access in self.accesses)

    def shared_loops(self, other: ProgramStatement) -> int:
        """How many of the outermost loops are the same loop in the text of both."""
        count = 0
        for mine, theirs in zip(self.position[: self.depth], other.position[: other.depth], strict=False):
            if mine != theirs:
                break
            count += 1
        return count


@dataclass(frozen=True)
class ProgramDependence:
    """`relation` = P_e = { source[i] -> target[i'] : i' must run after i }, thesis 3.2.4."""

    kind: DependenceKind
    array: str
    source: str
    target: str
    relation: isl.Map

    @property
    def distance(self) -> tuple[int, ...] | None:
        """d = i' - i where it is one constant vector for the whole relation, else None (thesis
        section 3.2.4).
        """
        if self.relation.dim(isl.dim_type.in_) != self.relation.dim(isl.dim_type.out):
            return None
        unnamed = self.relation.reset_tuple_id(isl.dim_type.in_).reset_tuple_id(isl.dim_type.out)
        deltas = unnamed.deltas().project_out(isl.dim_type.param, 0, unnamed.dim(isl.dim_type.param))
        if deltas.is_empty() or not deltas.is_singleton():
            return None
        point = deltas.sample_point()
        return tuple(
            point.get_coordinate_val(isl.dim_type.set, index).to_python()
            for index in range(deltas.dim(isl.dim_type.set))
        )


def ordering(dependences: tuple[ProgramDependence, ...]) -> tuple[ProgramDependence, ...]:
    """Those that order anything: not input dependences."""
    return tuple(each for each in dependences if each.kind is not DependenceKind.INPUT)
