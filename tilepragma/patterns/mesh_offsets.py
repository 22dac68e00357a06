"""How subscripts of a sweep's element depend on iterators, and the offsets of other elements.

With the loops' iterators i_1, …, i_d, the subscripts of the written element are

    e_s(i) = sum over the axes a of subscript s of  sign_a * stride_a * i_a  +  shift_s

with sign_a in {1, -1}, stride_a > 0, and each iterator in one subscript: `u[i][j]` has axes of
stride 1 in two subscripts, `u[(i*n + j)*m + k]` axes of strides n*m, m and 1 in one. An element
whose subscripts differ by sum stride_a * o_a has the offset o. With several axes in one subscript
that only relates numbers; dependences tell whether rows n apart really do not meet.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, access_to
from tilepragma.ir.loop_tree import Loop
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
    if len({axis.iterator for axis in mesh}) != len(mesh):
        return None
    return tuple(mesh)


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
