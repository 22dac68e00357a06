"""Colours of red-black and multi-colour relaxation: mesh points of one colour are independent.

With x' = x - the mesh's first point, and m the modulus,

    class of x = (x'_1 mod m, …, x'_d mod m)

where m >= 2 is the least number of which no neighbour's offset o != 0 is a multiple. So no point
has a neighbour in its own class. If all neighbours of a star have an odd sum of offsets, there are
two colours, each of 2^(d-1) classes: red, with an even sum of x', and black. Otherwise each class
is a colour. The mesh's first point has the first colour.
"""

from __future__ import annotations

import itertools

from tilepragma.base.frozen_values import dataclass
from tilepragma.patterns.relaxation import Direction, Sweep

#: A sweep is split into at most so many classes: each becomes a nest.
MOST_CLASSES = 16

PointClass = tuple[int, ...]
"""x' mod m, one entry a dimension in the order of the array's subscripts"""


@dataclass(frozen=True)
class Colouring:
    """`colours` in order, each with its classes; points of one colour are independent."""

    modulus: int
    colours: tuple[tuple[PointClass, ...], ...]

    @property
    def classes(self) -> tuple[PointClass, ...]:
        """All classes, colour by colour."""
        return tuple(itertools.chain.from_iterable(self.colours))


def colouring(sweep: Sweep) -> Colouring | None:
    """The colours of a sweep, reversed if backward; None for more than MOST_CLASSES classes."""
    centre = (0,) * len(sweep.axes)
    offsets = [neighbour.offset for neighbour in sweep.neighbours if neighbour.offset != centre]
    modulus = next(
        number
        for number in itertools.count(2)
        if not any(all(part % number == 0 for part in offset) for offset in offsets)
    )
    if modulus ** len(sweep.axes) > MOST_CLASSES:
        return None
    classes = tuple(itertools.product(range(modulus), repeat=len(sweep.axes)))
    if modulus == 2 and all(sum(offset) % 2 for offset in offsets):
        colours = tuple(tuple(class_ for class_ in classes if sum(class_) % 2 == parity) for parity in (0, 1))
    else:
        colours = tuple((class_,) for class_ in classes)
    return Colouring(modulus, colours[::-1] if sweep.direction is Direction.BACKWARD else colours)
