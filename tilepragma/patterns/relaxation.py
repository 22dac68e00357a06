"""Relaxations in place (Gauss-Seidel, SOR, symmetric SOR) as recognised in a user's loops.

A sweep replaces each element of a mesh, in turn, by a linear form of its current neighbours:

    u[x] = sum over offsets o of  c_o * u[x + o]  +  r

with a neighbour before and behind x along each dimension. This is thesis (6.4) for a forward sweep
over five points with c_0 = 1 - w and c_o = w/4, and (6.5) for a backward one. With w = 1 - c_0 it
is u[x] = (1 - w) * u[x] + w * (...): w is the relaxation factor if it divides all other terms.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.laurent import LaurentPolynomial
from tilepragma.ir.loop_tree import ForLoop, Loop, While
from tilepragma.patterns.mesh_offsets import MeshAxis, Offset, Subscripts


class Direction(Enum):
    """The direction of a sweep through the mesh."""

    FORWARD = "forward"
    """along each dimension from the first element to the last"""
    BACKWARD = "backward"
    """along each dimension from the last element to the first"""
    MIXED = "mixed"
    """forward along some, backward along others"""


class Variation(Enum):
    """What a varying coefficient depends on."""

    SPACE = "space"
    """the element's place in the mesh"""
    SWEEP = "sweep"
    """the number of the sweep"""


@dataclass(frozen=True)
class Neighbour:
    """The element at an offset, and its coefficient; offset 0 is the element itself.

    An offset has one entry a dimension, in the order of the array's subscripts.
    """

    offset: Offset
    coefficient: LaurentPolynomial
    range: SourceRange = field(compare=False)
    """of the first access to it"""


@dataclass(frozen=True)
class Accumulation:
    """A residual: a sum, greatest or least value of all points; `operator` is a reduction's."""

    object: DataObject
    operator: str


@dataclass(frozen=True)
class Varying:
    """An access or iterator that makes coefficients vary, and over what."""

    expression: Expression
    over: Variation
    range: SourceRange = field(compare=False)


@dataclass(frozen=True)
class Sweep:
    """One sweep over the mesh of `array`.

    `loops` are its loops, outermost first, `order` the dimensions that they run along, `steps`
    their directions: 1 or -1 a dimension. `axes` has the dimensions in the array's order. `first`
    and `last` are the subscripts of the mesh's corners, with least and greatest iterators.
    `neighbours` are sorted by offset; the centre has no entry if the new value does not depend on
    it. `relaxation` is w = 1 - c_0, or None if it does not divide the other terms. `range` is that
    of the assignment. Elements keep their values if one of `masks` is 0. `wraps`: the range of a
    neighbour that, at the mesh's end, is at its other end (a periodic mesh).
    """

    array: DataObject
    loops: tuple[Loop, ...]
    order: tuple[int, ...]
    steps: tuple[int, ...]
    axes: tuple[MeshAxis, ...]
    first: Subscripts
    last: Subscripts
    neighbours: tuple[Neighbour, ...]
    right_hand_side: LaurentPolynomial
    relaxation: LaurentPolynomial | None
    accumulations: tuple[Accumulation, ...]
    range: SourceRange
    masks: tuple[Expression, ...] = ()
    wraps: SourceRange | None = None

    @property
    def direction(self) -> Direction:
        """The direction of the sweep."""
        if len(set(self.steps)) > 1:
            return Direction.MIXED
        return Direction.FORWARD if self.steps[0] > 0 else Direction.BACKWARD

    @property
    def points(self) -> int:
        """The points of the stencil, including the element itself."""
        return len({neighbour.offset for neighbour in self.neighbours} | {(0,) * len(self.axes)})

    @property
    def radius(self) -> int:
        """The distance of the farthest neighbour along a dimension."""
        return max(abs(part) for neighbour in self.neighbours for part in neighbour.offset)


@dataclass(frozen=True)
class SorNest:
    """A relaxation in place of `array`, whose dimensions (1 to 3) are those of the mesh.

    Each iteration of `sweep_loop` does `sweeps` in turn (None: once, with no visible repetition).
    Its trip count is known when it begins, or it `converges`: a condition on computed values ends
    it, that of the loop or of its `break`; `condition` is it where it stands in the text. All
    sweeps have the same neighbours with the same coefficients. `accumulations` are those of the
    sweeps and of residual loops beside them. `varying` has the non-constant parts of coefficients.
    `range` is that of the whole statement. `borders` are places beside sweeps that set the mesh's
    border.
    """

    array: DataObject
    sweep_loop: Loop | ForLoop | While | None
    converges: bool
    condition: Expression | None
    sweeps: tuple[Sweep, ...]
    accumulations: tuple[Accumulation, ...]
    varying: tuple[Varying, ...]
    range: SourceRange
    borders: tuple[SourceRange, ...] = ()

    @property
    def dimensions(self) -> int:
        """The dimensions of the mesh."""
        return len(self.sweeps[0].axes)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions of the sweeps, in turn."""
        return tuple(sweep.direction for sweep in self.sweeps)

    @property
    def is_symmetric(self) -> bool:
        """Whether each forward sweep is followed by its backward one, as in symmetric SOR."""
        return self.directions == (Direction.FORWARD, Direction.BACKWARD) * (len(self.sweeps) // 2)


@dataclass(frozen=True)
class Mismatch:
    """Why a statement is no relaxation in place, and where.

    `near`: it updates a floating-point element from elements opposite of it: perhaps meant.
    """

    reason: str
    range: SourceRange
    near: bool
