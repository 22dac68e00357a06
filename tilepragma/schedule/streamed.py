"""N.5-D blocking: gangs stream tiles along the first dimension, with circular buffers of planes.

    for (p = the tile's first plane; …; ++p)             the position
        scratchpads: the plane p
        for (t of `degree` steps)                        barriers between statements
            each statement, of the plane p - its delay    poly/halo.py computes the delays
        the plane p - the greatest delay = the scratchpads

All work on a plane happens within as many positions as the circular buffers have planes.

Alternatively workers wait once a position, at its end. Then each worker keeps the same columns
throughout, and reads other columns only from earlier positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.loop_tree import Barrier, RegisterQueue, Scratchpad, Statement
from tilepragma.ir.polynomial import Polynomial, maximum, minimum, number
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INDEX
from tilepragma.lower.band_loops import declared, term
from tilepragma.schedule.overlapped_tree import (
    NO_DELAY,
    NO_TESTS,
    OverlappedTree,
    Tests,
    TileLaunch,
    at_least,
    in_own_column,
    read_by,
    where,
)
from tilepragma.schedule.stencils import Point

if TYPE_CHECKING:
    from tilepragma.poly.halo import Stream


#: The most planes of a chunk, so that its ends are short integers if its subscripts are.
_MOST_PLANES = 1 << 29


@dataclass
class StreamedTree(OverlappedTree):
    """Builds streamed launches. `lengths` are the default interior along the first dimension, then
    the scratchpad lengths in the others. `degree_limit` is the number of time steps that the
    circular buffers hold.
    """

    shape: ClassVar[str] = "streamed tiles of time steps, there and back"
    name: ClassVar[str] = "streamed tiles"
    manner: ClassVar[str] = "a few planes at a time, "
    first_suffix: ClassVar[str] = "chunk"

    stream: Stream
    degree_limit: int

    @property
    def default_steps(self) -> int:
        """As many steps as the circular buffers hold."""
        return self.degree_limit

    @property
    def most_steps(self) -> int:
        """As many steps as the circular buffers hold."""
        return self.degree_limit

    def home(self, place: int) -> Polynomial:
        """The length of a tile's interior; free along the first dimension."""
        if place:
            return super().home(place)
        return maximum((minimum((term(self.extents[0]), number(_MOST_PLANES))), number(1)))

    def launch(self, pair: DataObject, second: int) -> TileLaunch:
        """One of the two launches of a pair; `second` is 1 for the one that writes the arrays."""
        return _StreamedLaunch(self, pair, second)


class _StreamedLaunch(TileLaunch):
    def __init__(self, tree: StreamedTree, pair: DataObject, second: int) -> None:
        self.stream = tree.stream
        self.degree = tree.degree_limit
        self.position = tree.names.scalar(f"{tree.bases[0]}_front", INDEX)
        super().__init__(tree, pair, second)

    @property
    def waits(self) -> bool:
        """Whether workers wait between statements."""
        return not self.stream.once

    def scratchpad(self, array: DataObject) -> Scratchpad:
        planes = self.stream.planes(array, self.degree)
        made = self.scratchpad_of(array, (planes, *self.tree.lengths[1:]), (None, *self.origin[1:]))
        if not self.stream.once or not any(_reads_own(point, array) for point in self.tree.stencil.points):
            return made
        name = self.tree.names.scalar(f"{array.name}_column").name
        column = replace(made.object, name=name, host=name)
        return replace(made, column=RegisterQueue(column, self.position, self.stream.behind(array, self.degree)))

    def in_scratchpad(self, access: Access, by_writer: Callable[[Access], bool]) -> Access:
        """The access in the scratchpad; reads of the worker's own writes use the register queue."""
        local = super().in_scratchpad(access, by_writer)
        scratchpad = self.scratchpads.get(access.object)
        if scratchpad is None or scratchpad.column is None or not by_writer(access):
            return local
        return replace(local, object=scratchpad.column.object)

    def work(self) -> tuple[Statement, ...]:
        base, (least, greatest) = self.tree.bases[0], self.tree.grid(0)
        last = minimum((term(self.first[0]) + term(self.home[0]) - number(1), greatest)) + self.store_delay
        first = self.limit(base, maximum((term(self.origin[0]), least)))
        last = self.limit(base, last)
        barriers = (Barrier(),) if self.stream.once else ()
        return (self.tree.loop(self.position, first, last, (*super().work(), *barriers)),)

    def workers(
        self,
        points: list[DataObject],
        body: Iterable[Statement],
        tests: Tests = NO_TESTS,
        *,
        delay: Polynomial = NO_DELAY,
        home: bool = False,
    ) -> tuple[Statement, ...]:
        others = range(1, self.rank)
        if home and self.stream.once:
            # Over the whole scratchpad, so that the worker that computed a column stores it.
            kept = tuple(test for k in others for test in self._of_home(points, k))
            nest = self.mapped(points, others, where((*kept, *tests.others), *body), home=False)
        else:
            nest = self.mapped(points, others, where(tests.others, *body), home=home)
        plane = (*tests.plane, *(self._of_home(points, 0) if home else ()))
        return (declared(points[0], term(self.position) - delay), *where(plane, nest))

    def _of_home(self, points: list[DataObject], place: int) -> Iterable[Expression]:
        point, first, home = term(points[place]), term(self.first[place]), term(self.home[place])
        return at_least(point, first), at_least(first + home - number(1), point)

    def time_loop(self) -> Statement:
        """The statements, step by step; without barriers the number of steps is a constant."""
        if not self.stream.once:
            return super().time_loop()
        tree, names = self.tree, self.tree.names
        name = tree.stencil.time.iterator.name
        step, left = names.scalar(f"{name}_step", INDEX), names.scalar(f"{name}_left", INDEX)
        last = term(self.steps) - number(1)
        row = term(self.time) + term(step)
        body = (declared(left, last - term(step)), *self.step_of_time(row, left, term(step)))
        left_at_all = self.limit(name, tree.stencil.steps.high - term(self.time))
        there_is = where((at_least(left_at_all, term(step)),), *body)
        return tree.loop(step, number(0), last, there_is)

    @property
    def store_delay(self) -> Polynomial:
        return self._delay(term(self.steps) - number(1), self.stream.store)

    def delay(self, point: Point, step: Polynomial) -> Polynomial:
        return self._delay(step, self.stream.delays[point.statement.name])

    def _delay(self, step: Polynomial, after: int) -> Polynomial:
        return number(self.stream.shift) * step + number(after)


def _reads_own(point: Point, array: DataObject) -> bool:
    """Whether the statement reads the array in the column that it writes."""
    in_column = in_own_column(point, {})
    return any(
        isinstance(node, Access) and node.object == array and in_column(node)
        for node in walk(read_by(point.statement.node))
    )
