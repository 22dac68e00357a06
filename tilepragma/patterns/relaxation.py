"""Relaxations in place (Gauss-Seidel, SOR, symmetric SOR) as recognised in a user's loops.

A sweep replaces each element of a mesh, in turn, by a linear form of its current neighbours:

    u[x] = sum over offsets o of  c_o * u[x + o]  +  r

with a neighbour before and behind x along each dimension. This is thesis (6.4) for a forward sweep
over five points with c_0 = 1 - w and c_o = w/4, and (6.5) for a backward one. With w = 1 - c_0 it
is u[x] = (1 - w) * u[x] + w * (...): w is the relaxation factor if it divides all other terms.

With the loops' iterators i_1, …, i_d, the subscripts of the written element are

    e_s(i) = sum over the axes a of subscript s of  sign_a * stride_a * i_a  +  shift_s

with sign_a in {1, -1}, stride_a > 0, and each iterator in one subscript: `u[i][j]` has axes of
stride 1 in two subscripts, `u[(i*n + j)*m + k]` axes of strides n*m, m and 1 in one. An element
whose subscripts differ by sum stride_a * o_a has the offset o. With several axes in one subscript
that only relates numbers; dependences tell whether rows n apart really do not meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import DataObject, Expression, access_to
from tilepragma.ir.laurent import LaurentPolynomial
from tilepragma.ir.loop_tree import ForLoop, Loop, While
from tilepragma.ir.polynomial import Polynomial, divide, number

Subscripts = tuple[Polynomial, ...]
Offset = tuple[int, ...]


@dataclass(frozen=True)
class MeshAxis:
    """A dimension of the mesh: its iterator, the subscript it is in, and its stride there."""

    iterator: DataObject
    subscript: int
    stride: Polynomial
    sign: int


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
    def is_symmetric(self) -> bool:
        """Whether each forward sweep is followed by its backward one, as in symmetric SOR."""
        directions = tuple(sweep.direction for sweep in self.sweeps)
        return directions == (Direction.FORWARD, Direction.BACKWARD) * (len(self.sweeps) // 2)


@dataclass(frozen=True)
class Mismatch:
    """Why a statement is no relaxation in place, and where.

    `near`: it updates a floating-point element from elements opposite of it: perhaps meant.
    """

    reason: str
    range: SourceRange
    near: bool


# -- offsets


def mesh_axes(written: Subscripts, loops: Sequence[Loop]) -> tuple[MeshAxis, ...] | None:
    """The axes in order of subscripts, greatest strides first; None for other subscripts."""
    iterators = [loop.iterator for loop in loops]
    mesh = []
    for place, subscript in enumerate(written):
        axes = []
        for iterator in iterators:
            if access_to(iterator) not in subscript.atoms:
                continue
            parts = subscript.split(access_to(iterator))
            if parts is None or not parts[0].atoms.isdisjoint(map(access_to, iterators)):
                return None
            factor = parts[0]
            backwards = factor.constant is not None and factor.constant < 0
            axes.append(MeshAxis(iterator, place, -factor if backwards else factor, -1 if backwards else 1))
        depths = {iterator: depth for depth, iterator in enumerate(iterators)}
        mesh += sorted(axes, key=lambda axis: (*_magnitude(axis.stride), depths[axis.iterator]))
    return tuple(mesh) if len({axis.iterator for axis in mesh}) == len(mesh) else None


def _magnitude(stride: Polynomial) -> tuple[int, int]:
    """A sort key, greatest stride first: by the number of factors, for numbers by value."""
    degree = max((len(monomial) for monomial, _ in stride.terms), default=0)
    return -degree, -(stride.constant or 0)


def offset_between(read: Subscripts, written: Subscripts, axes: Sequence[MeshAxis]) -> Offset | None:
    """o with e_s(read) - e_s(written) = sum stride_a * o_a for each s; None if not integral."""
    if len(read) != len(written):
        return None
    offsets: list[int] = []
    rest = [read_subscript - written_subscript for read_subscript, written_subscript in zip(read, written, strict=True)]
    for axis in axes:
        quotient, remainder = _nearest(rest[axis.subscript], axis.stride)
        if quotient.constant is None:
            return None
        rest[axis.subscript] = remainder
        offsets.append(quotient.constant)
    return tuple(offsets) if all(part.constant == 0 for part in rest) else None


def _nearest(value: Polynomial, by: Polynomial) -> tuple[Polynomial, Polynomial]:
    """(q, r) with value = q * by + r; for numbers |r| is least."""
    if by.constant is None or value.constant is None:
        return divide(value, by)
    quotient = (2 * value.constant + by.constant) // (2 * by.constant)
    return number(quotient), number(value.constant - quotient * by.constant)
