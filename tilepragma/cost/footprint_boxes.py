"""Footprints of iterations, as boxes of subscripts: what a cache has to hold for them, and what it
takes in and gives back.

Uses of an array whose subscripts differ in constants alone have one box. The bytes of an array are
those of the smallest box around all of its boxes, or of the boxes by themselves, whichever are
fewer; rows are taken in whole lines of the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.parameter_batch import Numbers, ParameterBatch
from tilepragma.cost.tile_traffic import is_of_memory
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.plan.array_bytes import element_bytes

Reals = npt.NDArray[np.float64]

#: Ends of a box with nothing in it: twice as much is a number still.
_NOWHERE = 2**62 - 1


@dataclass(frozen=True)
class References:
    """Uses of `array` under one statement whose subscripts are `linear` and constants: between
    `low` and `high` along each dimension. `written`: the constants of those that write, None where
    none does.
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
    parts = [polynomial(subscript) for subscript in use.subscripts]
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
class Groups:
    """For `count` cases which of others belong to each: `index`, in ascending order, has for each of these others its case."""

    index: Numbers
    count: int

    @cached_property
    def _starts(self) -> Numbers:
        """The first member of each case that has any."""
        return np.flatnonzero(np.diff(self.index, prepend=-1))

    def least(self, values: npt.NDArray[Any], nothing: float) -> npt.NDArray[Any]:
        """The least of each case's values, which lie along the last axis; `nothing` where it has none."""
        length, odd = divmod(len(self.index), max(self.count, 1))
        if length and not odd and np.array_equal(self._starts, np.arange(0, len(self.index), length)):
            # As many in each case: slices take a third of the time.
            return reduce(np.minimum, (values[..., first::length] for first in range(length)))
        result = np.full((*values.shape[:-1], self.count), nothing, dtype=values.dtype)
        if len(self.index):
            result[..., self.index[self._starts]] = np.minimum.reduceat(values, self._starts, axis=-1)
        return result


@dataclass(frozen=True, eq=False)
class Box:
    """Where a box ends along each dimension of an array, a column for each case: rows of `ends` are
    its lower ends, then its upper ones, negated. There is nothing in it where a lower end is above
    the upper one.
    """

    ends: Numbers

    @staticmethod
    def of(at: Numbers, low: tuple[int, ...], high: tuple[int, ...]) -> Box:
        """From `low` to `high` beyond these subscripts."""
        rank, count = at.shape
        ends = np.empty((2 * rank, count), dtype=np.int64)
        np.add(at, np.array(low)[:, None], out=ends[:rank])
        np.subtract(-np.array(high)[:, None], at, out=ends[rank:])
        return Box(ends)

    def around(self, other: Box) -> Box:
        """The smallest box around both."""
        return Box(np.minimum(self.ends, other.ends))

    def gathered(self, groups: Groups) -> Box:
        """For each case the smallest box around those that belong to it."""
        return Box(groups.least(self.ends, _NOWHERE))

    def bytes(self, element: int, line: int) -> Reals:
        """Of rows of elements of so many bytes, in whole lines, wherever they begin."""
        rank = len(self.ends) // 2
        lengths = np.maximum(1 - self.ends[:rank] - self.ends[rank:], 0).astype(np.float64)
        row = np.where(lengths[-1] > 0, lengths[-1] * element + (line - element), 0.0)
        return np.asarray(np.prod(lengths[:-1], axis=0) * row)


@dataclass(frozen=True, eq=False)
class Footprint:
    """What is touched, in each case: a box for each group of references, and for what is written of
    it. Where all is written that is touched, the two are one box.
    """

    boxes: dict[tuple[References, bool], Box]
    _held: dict[int, Reals] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(found: Iterable[References], lanes: ParameterBatch) -> Footprint:
        """Of references at these values; of subscripts that depend on data nothing is known, and they are left out."""
        boxes = {}
        for one in found:
            try:
                at = np.array([lanes.all(lanes.evaluation.value(expression(linear))) for linear in one.linear])
            except UncountableError:
                continue
            box = boxes[one, False] = Box.of(at, one.low, one.high)
            if one.written is not None:
                boxes[one, True] = box if one.written == (one.low, one.high) else Box.of(at, *one.written)
        return Footprint(boxes)

    def around(self, other: Footprint) -> Footprint:
        """What either touches."""
        boxes = dict(self.boxes)
        for key, box in other.boxes.items():
            boxes[key] = boxes[key].around(box) if key in boxes else box
        return Footprint(boxes)

    def at(self, index: Numbers) -> Footprint:
        """The cases at `index`."""
        return Footprint({key: Box(box.ends[:, index]) for key, box in self.boxes.items()})

    def gathered(self, groups: Groups) -> Footprint:
        """For each case what those touch that belong to it."""
        found = {id(box): box.gathered(groups) for box in {id(box): box for box in self.boxes.values()}.values()}
        return Footprint({key: found[id(box)] for key, box in self.boxes.items()})

    def held(self, line: int, count: int) -> Reals:
        """Bytes that a cache of lines of so many bytes holds all of it in."""
        if line not in self._held:
            self._held[line] = sum(self._of_arrays(line, False), np.zeros(count))
        return self._held[line]

    def moved(self, line: int, count: int) -> Reals:
        """Bytes that come into such a cache and leave it, where each line does so once."""
        return sum(self._of_arrays(line, True), self.held(line, count))

    def _of_arrays(self, line: int, written: bool) -> Iterator[Reals]:
        arrays: dict[DataObject, list[Box]] = {}
        for (one, writes), box in self.boxes.items():
            if writes == written:
                arrays.setdefault(one.array, []).append(box)
        for array, (hull, *others) in arrays.items():
            size = element_bytes(array)
            apart = hull.bytes(size, line)
            if not others:
                yield apart
                continue
            for box in others:
                hull = hull.around(box)
                apart = apart + box.bytes(size, line)
            yield np.minimum(hull.bytes(size, line), apart)
