"""Footprints of iterations as boxes of subscripts: the bytes that a cache holds and moves for them.

Uses of an array whose subscripts differ only in constants share one box. The bytes of an array are
those of the hull of its boxes, or the sum over its boxes, whichever is smaller. Rows count in whole
cache lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.parameter_batch import Numbers, ParameterBatch, Reals
from tilepragma.cost.tile_traffic import is_of_memory
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.plan.array_bytes import element_bytes

#: Ends of an empty box: doubling it does not overflow.
_NOWHERE = 2**62 - 1


@dataclass(frozen=True)
class References:
    """Uses of `array` under one statement with subscripts `linear` + constants from `low` to `high`
    along each dimension. `written`: the range of the constants of writes, None without any.
    """

    array: DataObject
    linear: tuple[Polynomial, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    written: tuple[tuple[int, ...], tuple[int, ...]] | None


def references(statement: Statement) -> tuple[References, ...]:
    """The statement's references to arrays in memory."""
    groups: dict[tuple[DataObject, tuple[Polynomial, ...]], list[tuple[tuple[int, ...], bool]]] = {}
    for use in uses(statement):
        if is_of_memory(use):
            linear, constants = _split(use)
            groups.setdefault((use.object, linear), []).append((constants, use.writes))
    return tuple(_references(array, linear, members) for (array, linear), members in groups.items())


def _split(use: Use) -> tuple[tuple[Polynomial, ...], tuple[int, ...]]:
    parts = [polynomial(subscript) for subscript in use.subscripts]
    constants = tuple(sum(factor for monomial, factor in part.terms if not monomial) for part in parts)
    return tuple(part - number(constant) for part, constant in zip(parts, constants, strict=True)), constants


def _references(
    array: DataObject, linear: tuple[Polynomial, ...], members: list[tuple[tuple[int, ...], bool]]
) -> References:
    every = [constants for constants, _ in members]
    writing = [constants for constants, writes in members if writes]
    return References(array, linear, *_around(every), _around(writing) if writing else None)


def _around(constants: list[tuple[int, ...]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(min(along_axis) for along_axis in zip(*constants, strict=True)), tuple(
        max(along_axis) for along_axis in zip(*constants, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of `count` cases: `index` has the case of each member, in ascending order."""

    index: Numbers
    count: int

    @cached_property
    def _starts(self) -> Numbers:
        """The first member of each case that has members."""
        return np.flatnonzero(np.diff(self.index, prepend=-1))

    def least(self, values: npt.NDArray[Any], nothing: float) -> npt.NDArray[Any]:
        """The least of each case's values, along the last axis; `nothing` without members."""
        length, odd = divmod(len(self.index), max(self.count, 1))
        if length and not odd and np.array_equal(self._starts, np.arange(0, len(self.index), length)):
            # Groups of equal size: slices take a third of the time.
            return reduce(np.minimum, (values[..., first::length] for first in range(length)))
        result = np.full((*values.shape[:-1], self.count), nothing, dtype=values.dtype)
        if len(self.index):
            result[..., self.index[self._starts]] = np.minimum.reduceat(values, self._starts, axis=-1)
        return result


#: The ends of a box along each dimension of an array, a column for each case: the lower ends, then
#: the negated upper ends, so that the least ends are those of a hull. A box is empty if a lower end
#: is above its upper end.
Box = Numbers


def _box(origin: Numbers, low: tuple[int, ...], high: tuple[int, ...]) -> Box:
    """The box from `low` to `high`, both relative to the subscripts."""
    rank, count = origin.shape
    ends = np.empty((2 * rank, count), dtype=np.int64)
    np.add(origin, np.array(low)[:, None], out=ends[:rank])
    np.subtract(-np.array(high)[:, None], origin, out=ends[rank:])
    return ends


def _bytes(box: Box, element: int, line: int) -> Reals:
    """Bytes of the box's rows in whole cache lines, for any alignment of the rows."""
    rank = len(box) // 2
    lengths = np.maximum(1 - box[:rank] - box[rank:], 0).astype(np.float64)
    row = np.where(lengths[-1] > 0, lengths[-1] * element + (line - element), 0.0)
    return np.asarray(np.prod(lengths[:-1], axis=0) * row)


@dataclass(frozen=True, eq=False)
class Footprint:
    """The data touched in each case: a box for each group of references, and a box for the group's
    writes. The two are one object where all touched elements are written.
    """

    boxes: dict[tuple[References, bool], Box]
    _held: dict[int, Reals] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(groups: Iterable[References], batch: ParameterBatch) -> Footprint:
        """The footprint of references at these values. Omits subscripts that depend on data."""
        boxes = {}
        for group in groups:
            try:
                origin = np.array([batch.all(batch.evaluation.value(expression(linear))) for linear in group.linear])
            except UncountableError:
                continue
            box = boxes[group, False] = _box(origin, group.low, group.high)
            if group.written is not None:
                boxes[group, True] = box if group.written == (group.low, group.high) else _box(origin, *group.written)
        return Footprint(boxes)

    def around(self, footprint: Footprint) -> Footprint:
        """The hulls of both footprints."""
        boxes = dict(self.boxes)
        for key, box in footprint.boxes.items():
            boxes[key] = np.minimum(boxes[key], box) if key in boxes else box
        return Footprint(boxes)

    def at(self, index: Numbers) -> Footprint:
        """The cases at `index`."""
        return Footprint({key: box[:, index] for key, box in self.boxes.items()})

    def gathered(self, groups: Groups) -> Footprint:
        """For each case the footprint of its members."""
        distinct = {id(box): box for box in self.boxes.values()}
        gathered = {key: groups.least(box, _NOWHERE) for key, box in distinct.items()}
        return Footprint({key: gathered[id(box)] for key, box in self.boxes.items()})

    def held(self, line: int, count: int) -> Reals:
        """Bytes of the cache lines that hold the footprint."""
        if line not in self._held:
            self._held[line] = sum(self._of_arrays(line, False), np.zeros(count))
        return self._held[line]

    def moved(self, line: int, count: int) -> Reals:
        """Bytes that enter and leave the cache if each line does so once."""
        return sum(self._of_arrays(line, True), self.held(line, count))

    def _of_arrays(self, line: int, written: bool) -> Iterator[Reals]:
        arrays: dict[DataObject, list[Box]] = {}
        for (group, writes), box in self.boxes.items():
            if writes == written:
                arrays.setdefault(group.array, []).append(box)
        for array, (hull, *others) in arrays.items():
            size = element_bytes(array)
            separate = _bytes(hull, size, line)
            if not others:
                yield separate
                continue
            for box in others:
                hull = np.minimum(hull, box)
                separate = separate + _bytes(box, size, line)
            yield np.minimum(_bytes(hull, size, line), separate)
