"""Code of one worker for each of its points, in a nest with convergent control flow.

if (full) {
    for (k …) {                                  /* loops that all points share go around them */
        for (i_step …) for (j_step …) {  /* unrolled: a point's values are in registers */
            const int i_place = i_worker + i_step * worker1_count;  /* from the tile's start */
            …
            C_tile[i_step][j_step] += …;
        }
    }
} else {
    …the same, each point under a guard…
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import field, replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.loop_heads import loop_head
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.unused_declarations import is_idle
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import (
    Access,
    DataObject,
    Expression,
    Scope,
    Storage,
    integer,
    local_scalar,
)
from tilepragma.ir.loop_tree import Block, Declaration, If, Loop, Statement
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT


@dataclass(frozen=True)
class PointLoop:
    """The `points` of a worker in one loop of the nest. The other fields are names: `first` and
    `last` of the ends of the gang's tile, `worker` of the worker's first point in the tile, `step`
    of the loop over points, `place` of a point's distance from `first`, and `count` of the number
    of workers.
    """

    iterator: DataObject
    points: int
    first: str
    last: str
    worker: str
    step: str
    place: str
    count: str

    @property
    def distance(self) -> str:
        """The name of a point's distance from the tile's first iteration."""
        return self.place if self.points > 1 else self.worker

    @property
    def is_full(self) -> str:
        """The condition that all workers have all their points."""
        workers = f"{self.points} * {self.count}" if self.points > 1 else self.count
        return f"{self.last} - {self.first} == {workers} - 1"


@dataclass(frozen=True)
class PointPrinter:
    """Prints the code of each point. `full` is a name: whether the gang's tile has all points.
    `varying` are the objects whose values may differ between points. `elements` gives the array
    element that holds a point's value of a declared scalar.
    """

    writer: Writer
    printer: Printer
    print_alone: Callable[[Block], None]
    loops: tuple[PointLoop, ...]
    full: str
    varying: frozenset[DataObject]
    elements: dict[DataObject, Access] = field(default_factory=dict)

    def declare(self, object_: DataObject) -> None:
        """Declare an array that holds a scalar for each point."""
        several = [loop for loop in self.loops if loop.points > 1]
        lengths = tuple(integer(loop.points) for loop in several)
        plain = replace(object_, const=False)
        array = DataObject(
            object_.name, object_.host, object_.element, Storage.CONTIGUOUS, Scope.LOCAL, lengths, range=object_.range
        )
        self.writer.line(f"{self.printer.declaration(array)};")
        steps = tuple(local_scalar(loop.step, INT) for loop in several)
        for key in (object_, plain):
            self.elements[key] = Access(array, steps, (), object_.element)

    def alone(self, statements: tuple[Statement, ...], parted: tuple[If, ...]) -> None:
        """Print the statements for all points. `parted` are conditions that all points share. Their
        `then` is for full tiles of a sequential loop, their `otherwise` for others; both compute
        the same.
        """
        if not any(isinstance(statement, Loop) or statement in parted for statement in statements):
            self._jammed(statements, guarded=True)
            return
        tests = [
            self.printer.condition(statement.condition)
            for statement in statements
            if isinstance(statement, If) and statement in parted
        ]
        writer = self.writer
        writer.line(f"if ({' && '.join([self.full, *tests])}) {{")
        writer.depth += 1
        self._jammed(_parts(statements, parted, full=True), guarded=False)
        writer.depth -= 1
        writer.line("} else {")
        writer.depth += 1
        self._jammed(_parts(statements, parted, full=False), guarded=True)
        writer.depth -= 1
        writer.line("}")

    def _jammed(self, statements: tuple[Statement, ...], *, guarded: bool) -> None:
        """Print shared loops around the points, unless their bodies declare objects."""
        statements = _without_idle(
            _unwrapped(tuple(with_accesses(statement, self._element) for statement in statements))
        )
        if any(isinstance(statement, Declaration) for statement in statements) or not any(
            map(self._is_shared, statements)
        ):
            self._points(statements, guarded=guarded)
            return
        waiting: list[Statement] = []
        for statement in statements:
            if not isinstance(statement, Loop) or not self._is_shared(statement):
                waiting.append(statement)
                continue
            self._points(tuple(waiting), guarded=guarded)
            waiting = []
            name = self.printer.name(statement.iterator)
            declared = self.printer.type(statement.iterator.element, name) if statement.declares_iterator else name
            with self.writer.block(loop_head(self.printer, statement, declared)):
                self._jammed(statement.body.statements, guarded=guarded)
        self._points(tuple(waiting), guarded=guarded)

    def _is_shared(self, statement: Statement) -> bool:
        if not isinstance(statement, Loop):
            return False
        return is_shared((statement.lower, statement.upper, statement.step), self.varying)

    def _points(self, statements: tuple[Statement, ...], *, guarded: bool) -> None:
        if not statements:
            return
        read = {node.object for statement in statements for node in walk(statement) if isinstance(node, Access)}
        names = {scalar.name for scalar in read}
        with ExitStack() as stack:
            for loop in self.loops:
                if loop.points > 1:
                    self.writer.line(self.printer.dialect.unroll)
                    head = f"for (int {loop.step} = 0; {loop.step} < {loop.points}; ++{loop.step})"
                    stack.enter_context(self.writer.block(head))
            for loop in self.loops:
                wanted = guarded or loop.place in names or loop.iterator in read
                if loop.points > 1 and wanted:
                    value = f"{loop.worker} + {loop.step} * {loop.count}"
                    self.writer.line(f"const int {loop.place} = {value};")
            if guarded:
                tests = " && ".join(f"{loop.first} + {loop.distance} <= {loop.last}" for loop in self.loops)
                stack.enter_context(self.writer.block(f"if ({tests})"))
            for loop in self.loops:
                if loop.iterator in read:
                    declared = self.printer.type(loop.iterator.element, self.printer.name(loop.iterator))
                    self.writer.line(f"const {declared} = {loop.first} + {loop.distance};")
            self.print_alone(Block(statements))

    def _element(self, access: Access) -> Expression:
        return self.elements.get(access.object, access)


def is_shared(values: Iterable[Expression], varying: frozenset[DataObject]) -> bool:
    """Whether all workers and points surely have the same values; `varying` objects may differ."""
    read = {node.object for value in values for node in walk(value) if isinstance(node, Access)}
    return not any(object_ in varying or object_.rank > 0 for object_ in read)


def _parts(statements: tuple[Statement, ...], parted: tuple[If, ...], *, full: bool) -> tuple[Statement, ...]:
    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, If) and statement in parted:
            branch = statement.then if full else statement.otherwise
            result += branch.statements if branch is not None else ()
        else:
            result.append(statement)
    return tuple(result)


def _unwrapped(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The statements inside, if the only statement is a block."""
    while len(statements) == 1 and isinstance(statements[0], Block):
        statements = statements[0].statements
    return statements


def _without_idle(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    needed: tuple[Statement, ...] = ()
    for statement in reversed(statements):
        if not is_idle(statement, needed):
            needed = (statement, *needed)
    return needed
