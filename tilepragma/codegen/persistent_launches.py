"""Persistent launches: one launch runs all wavefronts; gangs wait for neighbours by flags.

    for (column = gang; column < columns; column += gangs)   columns by their coordinates
        for (each wavefront)
            wait until the columns before this one are through with all wavefronts before
            the column's tile of this wavefront, if it has one
            say that this column is through with it

The device must run all gangs of a launch concurrently; CUDA's cooperative launches guarantee it.
`schedule/doacross.py` finds the columns to wait for. The runtime decides
(`runtime/launch/persistent_launch.c`).
"""

from __future__ import annotations

from collections.abc import Callable

from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.manifest import Parameter, ParameterKind, axis_name
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.reduction_trees import ReductionPrinter
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.schedule.doacross import Persistent


class PersistentPrinter:
    """Prints the body of a persistent launch's entry point."""

    def __init__(self, persistent: Persistent, numbers: Numbers, printer: Printer) -> None:
        self.persistent, self.numbers, self.printer = persistent, numbers, printer
        self.flags, self.boxes = numbers.fresh("tilek_flags"), numbers.fresh("tilek_boxes")
        self.wide = printer.dialect.wide
        self.column, self.first_worker = numbers.fresh("column"), numbers.fresh("first_worker")

    def print(self, writer: Writer, reductions: ReductionPrinter, print_tile: Callable[[Writer], None]) -> None:
        """The gang's columns, one after another. `print_tile` prints a tile of a column. A column
        has one partial value of each reduction.
        """
        dialect, numbers = self.printer.dialect, self.numbers
        workers = sorted(
            (axis_name(axis) for axis in set(self.persistent.launch.axes) if axis.kind is AxisKind.WORKER),
        )
        first = " && ".join(f"{numbers.fresh(name)} == 0" for name in workers) or "1"
        writer.line(f"const int {self.first_worker} = {first};")
        counts = [self._number(place, "columns", ParameterKind.COLUMN_COUNT) for place in self._places]
        column, total = self.column, numbers.fresh("column_count")
        writer.line(f"const {self.wide} {total} = {' * '.join(counts)};")
        writer.line(
            "/* A gang takes a column of tiles through all wavefronts. Columns wait for earlier ones alone: "
            "the first that is not through goes on. */"
        )
        head = f"for ({self.wide} {column} = {dialect.gang[0]}; {column} < {total}; {column} += {dialect.gangs[0]})"
        with writer.block(head):
            self._coordinates(writer, counts)
            reductions.start(writer)
            self._wavefronts(writer, counts, print_tile)
            reductions.finish(writer)

    @property
    def _places(self) -> range:
        return range(len(self.persistent.nest.loops))

    def _coordinates(self, writer: Writer, counts: list[str]) -> None:
        """The column's coordinates. Consecutive columns differ in the last coordinate."""
        index = self.column
        for place in reversed(self._places):
            loop = self.persistent.nest.loops[place].loop
            first = self._number(place, "first", ParameterKind.COLUMN_LOWER)
            coordinate = index if place == 0 else f"{index} % {counts[place]}"
            declared = self.printer.type(loop.iterator.element, self.printer.name(loop.iterator))
            writer.line(f"const {declared} = {first} + {coordinate};")
            index = f"{index} / {counts[place]}"
        for place in self._places:
            writer.line(f"{self.wide} {self._seen(place)} = 0;")

    def _wavefronts(self, writer: Writer, counts: list[str], print_tile: Callable[[Writer], None]) -> None:
        numbers, wavefront = self.numbers, self.printer.name(self.persistent.wavefront)
        first = numbers.of_wavefronts(f"{wavefront}_first", ParameterKind.WAVE_FIRST)
        last = numbers.of_wavefronts(f"{wavefront}_last", ParameterKind.WAVE_LAST)
        base = numbers.of_wavefronts("tilek_flags_base", ParameterKind.FLAGS_BASE)
        declared = self.printer.type(self.persistent.wavefront.element, wavefront)
        with writer.block(f"for ({declared} = {first}; {wavefront} <= {last}; ++{wavefront})"):
            box, has_tile, before = (numbers.fresh(name) for name in ("box", "has_tile", "before"))
            place = f"{2 * len(self._places)} * ({wavefront} - {first})"
            writer.line(f"const {self.wide} *const {box} = &{self.boxes}[{place}];")
            writer.line(f"const int {has_tile} = {self._inside(box)};")
            writer.line(f"const {self.wide} {before} = {base} + ({wavefront} - {first});")
            with writer.block(f"if ({self.first_worker})"):
                self._waits(writer, counts, before)
            # The vote gives all workers the same value, as the compiler sees. A condition that may
            # differ costs twice the registers.
            with writer.block(f"if (__syncthreads_or({has_tile}))"):
                print_tile(writer)
                writer.line(self.printer.dialect.barrier)
            writer.line(f"if ({self.first_worker}) tilek_post(&{self.flags}[{self.column}], {before} + 1);")

    def _inside(self, box: str) -> str:
        """The condition that the column lies in the wavefront's box of coordinates."""
        names = [self.printer.name(self.persistent.nest.loops[place].loop.iterator) for place in self._places]
        return " && ".join(
            f"{name} >= {box}[{2 * place}] && {name} <= {box}[{2 * place + 1}]" for place, name in enumerate(names)
        )

    def _waits(self, writer: Writer, counts: list[str], before: str) -> None:
        """Wait for the neighbours, which have one coordinate less."""
        for place in self._places:
            name = self.printer.name(self.persistent.nest.loops[place].loop.iterator)
            first = self._number(place, "first", ParameterKind.COLUMN_LOWER)
            distance = " * ".join(counts[place + 1 :]) or "1"
            seen = self._seen(place)
            flag = f"&{self.flags}[{self.column} - {distance}]"
            with writer.block(f"if ({name} > {first} && {seen} < {before})"):
                writer.line(f"{seen} = tilek_await({flag}, {before});")

    def _seen(self, place: int) -> str:
        return self.numbers.fresh(f"{self.persistent.nest.loops[place].loop.iterator.name}_seen")

    def _number(self, place: int, ending: str, kind: ParameterKind) -> str:
        name = self.numbers.fresh(f"{self.persistent.nest.loops[place].loop.iterator.name}_{ending}")
        return self.numbers.of_wavefronts(name, kind, place)

    def buffers(self) -> list[tuple[str, Parameter]]:
        """The declarations of the runtime's buffers on the device, and their arguments. They are a
        flag for each column, and for each wavefront the box of columns that have a tile.
        """
        restrict = self.printer.dialect.restrict
        return [
            (f"{self.wide} *{self.flags}", Parameter(ParameterKind.FLAGS, 0, 0, None)),
            (f"const {self.wide} *{restrict} {self.boxes}", Parameter(ParameterKind.BOXES, 0, 0, None)),
        ]
