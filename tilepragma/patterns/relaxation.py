"""What a relaxation in place is (Gauss-Seidel, SOR, symmetric SOR), as it is recognised in a user's
loops.

A sweep replaces each element of a mesh, one after the other, by a linear form of its neighbours as
they are at that moment:

    u[x] = sum over offsets o of  c_o * u[x + o]  +  r,        with a neighbour before and behind x along each dimension

thesis (6.4) for a forward sweep over five points with c_0 = 1 - w and c_o = w/4, (6.5) for a
backward one. With w = 1 - c_0 that is u[x] = (1 - w) * u[x] + w * (...): w is the relaxation factor
where it divides all other terms.
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
    """Which way a sweep goes through the mesh."""

    FORWARD = "forward"
    """along each dimension from the first element to the last"""
    BACKWARD = "backward"
    """along each dimension from the last element to the first"""
    MIXED = "mixed"
    """forward along some, backward along others"""


class Repetition(Enum):
    """How it is decided how many sweeps there are."""

    FIXED = "fixed"
    """a loop whose trip count is known when it begins"""
    CONVERGENCE = "convergence"
    """a loop that ends when a condition on what was computed says so"""


class Variation(Enum):
    """What a coefficient depends on that is no constant."""

    SPACE = "space"
    """where in the mesh the element lies"""
    SWEEP = "sweep"
    """which sweep it is"""


@dataclass(frozen=True)
class SweepLoop:
    """The loop around the sweeps. `condition` is that of a convergence loop: of a `while`, of a `for`, or of an `if (…) break;` in it."""

    repetition: Repetition
    statement: Loop | ForLoop | While
    condition: Expression | None


@dataclass(frozen=True)
class Neighbour:
    """The element at an offset (one entry a dimension, in the order of the array's subscripts), and
    what it is multiplied by; 0 is the element itself.
    """

    offset: Offset
    coefficient: LaurentPolynomial
    range: SourceRange = field(compare=False)
    """of the first access to it"""


@dataclass(frozen=True)
class Accumulation:
    """A number that all points add to, or of which the greatest or least is kept: a residual. `operator` is that of a `reduction` clause."""

    object: DataObject
    operator: str


@dataclass(frozen=True)
class Varying:
    """What makes coefficients vary, an access or an iterator, and over what."""

    expression: Expression
    over: Variation
    range: SourceRange = field(compare=False)


@dataclass(frozen=True)
class Sweep:
    """One sweep over the mesh of `array`.

    `loops` are its loops, outermost first, `order` the dimensions that they run along, `steps`
    which way: 1 or -1 a dimension. `axes` has the dimensions in the array's order. `first` and
    `last` are the subscripts of the elements with least and greatest iterators, so to speak the
    mesh's corners. `neighbours` are sorted by their offsets; a centre that the new value does not
    depend on has no entry. `relaxation` is w = 1 - c_0, None where it does not divide the other
    terms. `range` is that of the assignment. Elements for which one of `masks` is 0 keep their
    values. `wraps`: where a neighbour is read that at the mesh's end lies at its other end (a
    periodic mesh).
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
        """Which way the sweep goes."""
        if len(set(self.steps)) > 1:
            return Direction.MIXED
        return Direction.FORWARD if self.steps[0] > 0 else Direction.BACKWARD

    @property
    def points(self) -> int:
        """The points of the stencil, the element itself among them."""
        return len({neighbour.offset for neighbour in self.neighbours} | {(0,) * len(self.axes)})

    @property
    def radius(self) -> int:
        """How far along a dimension the farthest neighbour lies."""
        return max(abs(part) for neighbour in self.neighbours for part in neighbour.offset)


@dataclass(frozen=True)
class SorNest:
    """A relaxation in place of `array`, whose dimensions (1 to 3) are those of the mesh.

    `sweeps` are done in turn in each round of `sweep_loop` (None: once, what repeats them is not
    seen). All have the same neighbours with the same coefficients. `accumulations` are those of the
    sweeps and of loops beside them that compute a residual. `varying` says which parts of
    coefficients are no constants. `range` is that of the whole statement. `borders` is where
    elements at the mesh's border are set beside sweeps.
    """

    array: DataObject
    sweep_loop: SweepLoop | None
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
        """Of the sweeps, in turn."""
        return tuple(sweep.direction for sweep in self.sweeps)

    @property
    def is_symmetric(self) -> bool:
        """Whether each forward sweep is followed by its backward one, as in symmetric SOR."""
        return self.directions == (Direction.FORWARD, Direction.BACKWARD) * (len(self.sweeps) // 2)


@dataclass(frozen=True)
class Mismatch:
    """Why a statement is no relaxation in place, and where that stands. `near`: it does update an
    element of an array of floating-point numbers from others that lie opposite of it, so that the
    user may have meant one.
    """

    reason: str
    range: SourceRange
    near: bool
