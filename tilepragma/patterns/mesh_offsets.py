"""How the subscripts of an element that loops sweep over follow their iterators, and how far from
it another element of the array lies.

With the iterators i_1, …, i_d of the loops, the subscripts of the element that is written are

    e_s(i) = sum over the axes a of subscript s of  sign_a * stride_a * i_a  +  shift_s,        sign_a in {1, -1}, stride_a > 0,

each iterator in one of them: `u[i][j]` has axes of stride 1 in two subscripts, `u[(i*n + j)*m + k]`
axes of strides n*m, m and 1 in one. An element whose subscripts differ by sum stride_a * o_a in
each lies at the offset o. In one subscript with several axes that is a statement on numbers:
whether rows n apart really do not meet is the dependences' matter.
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
    """A dimension of the mesh: the iterator that runs along it, the subscript where it stands, how far its values are apart there."""

    iterator: DataObject
    subscript: int
    stride: Polynomial
    sign: int


def mesh_axes(written: Subscripts, loops: Sequence[Loop]) -> tuple[MeshAxis, ...] | None:
    """The axes in the order of the subscripts, the greatest strides first; None where the subscripts are not of that form."""
    iterators = [loop.iterator for loop in loops]
    found = []
    for place, subscript in enumerate(written):
        axes = []
        for iterator in iterators:
            if access_to(iterator) not in subscript.atoms:
                continue
            parts = subscript.split(access_to(iterator))
            if parts is None or any(access_to(other) in parts[0].atoms for other in iterators):
                return None
            axes.append(_axis(iterator, place, parts[0]))
        depths = {iterator: depth for depth, iterator in enumerate(iterators)}
        found += sorted(axes, key=lambda axis: (*_magnitude(axis.stride), depths[axis.iterator]))
    if len({axis.iterator for axis in found}) != len(found):
        return None
    return tuple(found)


def _axis(iterator: DataObject, place: int, factor: Polynomial) -> MeshAxis:
    backwards = factor.constant is not None and factor.constant < 0
    return MeshAxis(iterator, place, -factor if backwards else factor, -1 if backwards else 1)


def _magnitude(stride: Polynomial) -> tuple[int, int]:
    """Greatest first: a product of more values is the greater, of numbers the number itself."""
    degree = max((len(monomial) for monomial, _ in stride.terms), default=0)
    return -degree, -(stride.constant or 0)


def offset_between(read: Subscripts, written: Subscripts, axes: Sequence[MeshAxis]) -> Offset | None:
    """o with e_s(read) - e_s(written) = sum stride_a * o_a for each s; None where that is no vector of integers."""
    if len(read) != len(written):
        return None
    offsets: list[int] = []
    rest = [one - other for one, other in zip(read, written, strict=True)]
    for axis in axes:
        quotient, remainder = _nearest(rest[axis.subscript], axis.stride)
        if quotient.constant is None:
            return None
        rest[axis.subscript] = remainder
        offsets.append(quotient.constant)
    return tuple(offsets) if all(one.constant == 0 for one in rest) else None


def _nearest(value: Polynomial, by: Polynomial) -> tuple[Polynomial, Polynomial]:
    """(q, r) with value = q * by + r; of numbers the r of least size."""
    if by.constant is None or value.constant is None:
        return divide(value, by)
    quotient = (2 * value.constant + by.constant) // (2 * by.constant)
    return number(quotient), number(value.constant - quotient * by.constant)
