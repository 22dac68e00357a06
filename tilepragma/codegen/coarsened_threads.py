"""What a worker of a uniform nest does alone, for each of the points that it has
(`TileNest.uniform`).

if (full) {
    for (k …) {                                      /* loops that are the same for all points go around them */
        for (i_step …) for (j_step …) {              /* unrolled: what a point has of its own is in registers */
            const int i_place = i_worker + i_step * worker1_count;   /* from the first iteration of the gang's tile */
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
    """The points of a worker in one loop of the nest, `points` of them; `first`, `last`, `worker`,
    `step`, `place` and `count` are names: of the ends of the gang's tile, of the worker's first
    point in it, of the loop over points, of a point's distance from `first`, and of the number of
    workers.
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
        """The name of how far a point lies from the tile's first iteration."""
        return self.place if self.points > 1 else self.worker

    @property
    def is_full(self) -> str:
        """Whether all workers have all of their points."""
        workers = f"{self.points} * {self.count}" if self.points > 1 else self.count
        return f"{self.last} - {self.first} == {workers} - 1"


@dataclass(frozen=True)
class PointPrinter:
    """Prints what each point does. `full` is the name of whether all points of the gang's tile are
    there, `varying` are the objects whose values may differ between points, `own` says which
    element of which array is a point's own of what it declares.
    """

    writer: Writer
    printer: Printer
    print_alone: Callable[[Block], None]
    loops: tuple[PointLoop, ...]
    full: str
    varying: frozenset[DataObject]
    own: dict[DataObject, Access] = field(default_factory=dict)

    def declare(self, object_: DataObject) -> None:
        """Declare a scalar that each point has for itself."""
        several = [loop for loop in self.loops if loop.points > 1]
        lengths = tuple(integer(loop.points) for loop in several)
        plain = replace(object_, const=False)
        array = DataObject(
            object_.name, object_.host, object_.element, Storage.CONTIGUOUS, Scope.LOCAL, lengths, range=object_.range
        )
        self.writer.line(f"{self.printer.declaration(array)};")
        steps = tuple(local_scalar(loop.step, INT) for loop in several)
        for one in (object_, plain):
            self.own[one] = Access(array, steps, (), object_.element)

    def alone(self, statements: tuple[Statement, ...], parted: tuple[If, ...]) -> None:
        """The statements, for all points. Those of `parted` are conditions that are the same for
        all, `then` and `otherwise` doing the same in full tiles of a sequential loop and in others.
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
        """Loops that are the same for all points around them, unless something is declared for what stands in them."""
        statements = _without_idle(_unwrapped(tuple(with_accesses(statement, self._own) for statement in statements)))
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
        names = {one.name for one in read}
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

    def _own(self, access: Access) -> Expression:
        return self.own.get(access.object, access)


def is_shared(values: Iterable[Expression], varying: frozenset[DataObject]) -> bool:
    """Whether the values are surely the same for all workers and points, which may differ in what they have in `varying`."""
    read = {node.object for value in values for node in walk(value) if isinstance(node, Access)}
    return not any(one in varying or one.rank > 0 for one in read)


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
    """The statements of a block that is all there is."""
    while len(statements) == 1 and isinstance(statements[0], Block):
        statements = statements[0].statements
    return statements


def _without_idle(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    kept: tuple[Statement, ...] = ()
    for statement in reversed(statements):
        if not is_idle(statement, kept):
            kept = (statement, *kept)
    return kept
