"""Footprints of iterations, as boxes of subscripts: what a cache has to hold for them, and what it takes in and gives back.

Uses of an array whose subscripts differ in constants alone have one box. The bytes of an array are those of the smallest box around all of its
boxes, or of the boxes by themselves, whichever are fewer; rows are taken in whole lines of the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.looptree import Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.plan.evaluation import UncountableError
from tilepragma.plan.lanes import Lanes, Numbers
from tilepragma.plan.tile_traffic import element_bytes, is_of_memory

Reals = npt.NDArray[np.float64]

#: Lower and upper ends of a box without any subscript.
_NOWHERE = (np.iinfo(np.int64).max // 2, np.iinfo(np.int64).min // 2)


@dataclass(frozen=True)
class References:
    """Uses of `array` under one statement whose subscripts are `linear` and constants: between `low` and `high` along each dimension. `written`: the
    constants of those that write, None where none does.
    """

    array: DataObject
    linear: tuple[Polynomial, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    written: tuple[tuple[int, ...], tuple[int, ...]] | None


def references(statement: Statement) -> tuple[References, ...]:
    """What the statement uses of arrays in memory."""
    groups: dict[tuple[DataObject, tuple[Polynomial, ...]], list[tuple[tuple[int, ...], bool]]] = {}
    for use in uses(statement):
        if is_of_memory(use):
            linear, constants = _apart(use)
            groups.setdefault((use.object, linear), []).append((constants, use.writes))
    return tuple(_references(array, linear, found) for (array, linear), found in groups.items())


def _apart(use: Use) -> tuple[tuple[Polynomial, ...], tuple[int, ...]]:
    parts = [polynomial(one) for one in use.subscripts]
    constants = tuple(sum(factor for monomial, factor in part.terms if not monomial) for part in parts)
    return tuple(part - number(own) for part, own in zip(parts, constants, strict=True)), constants


def _references(
    array: DataObject, linear: tuple[Polynomial, ...], found: list[tuple[tuple[int, ...], bool]]
) -> References:
    every = [constants for constants, _ in found]
    writing = [constants for constants, writes in found if writes]
    return References(array, linear, *_around(every), _around(writing) if writing else None)


def _around(constants: list[tuple[int, ...]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(min(own) for own in zip(*constants, strict=True)), tuple(
        max(own) for own in zip(*constants, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Box:
    """From `low` to `high` along each dimension of an array, in each case; nothing where one is above the other."""

    low: tuple[Numbers, ...]
    high: tuple[Numbers, ...]

    @staticmethod
    def of(one: References, lanes: Lanes, written: bool) -> Box:
        """What is referred to, or written, at these values. Raises UncountableError."""
        ends = one.written if written else (one.low, one.high)
        assert ends is not None
        at = [lanes.all(lanes.evaluation.value(expression(linear))) for linear in one.linear]
        low, high = ([value + own for value, own in zip(at, end, strict=True)] for end in ends)
        return Box(tuple(low), tuple(high))

    def around(self, other: Box) -> Box:
        """The smallest box around both."""
        return Box(
            tuple(np.minimum(one, another) for one, another in zip(self.low, other.low, strict=True)),
            tuple(np.maximum(one, another) for one, another in zip(self.high, other.high, strict=True)),
        )

    def gathered(self, index: Numbers, count: int) -> Box:
        """For each of `count` cases the smallest box around those whose `index` it is."""
        return Box(
            tuple(_reduced(np.minimum, one, index, count, _NOWHERE[0]) for one in self.low),
            tuple(_reduced(np.maximum, one, index, count, _NOWHERE[1]) for one in self.high),
        )

    def bytes(self, element: int, line: int) -> Reals:
        """Of rows of elements of so many bytes, in whole lines, wherever they begin."""
        lengths = [
            np.maximum(high - low + 1, 0).astype(np.float64) for low, high in zip(self.low, self.high, strict=True)
        ]
        row = lengths[-1] * element
        some = np.all([length > 0 for length in lengths], axis=0)
        return np.asarray(np.where(some, np.prod(lengths[:-1], axis=0) * (row + line - element), 0.0))


def _reduced(combine: np.ufunc, values: Numbers, index: Numbers, count: int, nothing: int) -> Numbers:
    """`index` is in ascending order."""
    result = np.full(count, nothing, dtype=np.int64)
    if len(index):
        starts = np.flatnonzero(np.diff(index, prepend=-1))
        result[index[starts]] = combine.reduceat(values, starts)
    return result


@dataclass(frozen=True, eq=False)
class Footprint:
    """What is touched, in each case: a box for each group of references, and for what is written of it."""

    boxes: dict[tuple[References, bool], Box]

    @staticmethod
    def of(found: Iterable[References], lanes: Lanes) -> Footprint:
        """Of references at these values; of subscripts that depend on data nothing is known, and they are left out."""
        boxes = {}
        for one in found:
            try:
                boxes[one, False] = Box.of(one, lanes, False)
                if one.written is not None:
                    boxes[one, True] = Box.of(one, lanes, True)
            except UncountableError:
                continue
        return Footprint(boxes)

    def around(self, other: Footprint) -> Footprint:
        """What either touches."""
        boxes = dict(self.boxes)
        for key, box in other.boxes.items():
            boxes[key] = boxes[key].around(box) if key in boxes else box
        return Footprint(boxes)

    def gathered(self, index: Numbers, count: int) -> Footprint:
        """For each of `count` cases what those touch whose `index`, in ascending order, it is."""
        return Footprint({key: box.gathered(index, count) for key, box in self.boxes.items()})

    def held(self, line: int, count: int) -> Reals:
        """Bytes that a cache of lines of so many bytes holds all of it in."""
        return sum(self._of_arrays(line, False), np.zeros(count))

    def moved(self, line: int, count: int) -> Reals:
        """Bytes that come into such a cache and leave it, where each line does so once."""
        return sum(self._of_arrays(line, True), self.held(line, count))

    def _of_arrays(self, line: int, written: bool) -> Iterator[Reals]:
        arrays: dict[DataObject, list[Box]] = {}
        for (one, writes), box in self.boxes.items():
            if writes == written:
                arrays.setdefault(one.array, []).append(box)
        for array, boxes in arrays.items():
            hull = boxes[0]
            for box in boxes[1:]:
                hull = hull.around(box)
            size = element_bytes(array)
            apart = sum(box.bytes(size, line) for box in boxes)
            yield np.minimum(hull.bytes(size, line), apart)
