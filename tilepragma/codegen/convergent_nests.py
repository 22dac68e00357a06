"""Nests with convergent control flow: a gang's workers share rounds, and work under a guard.

for (rounds …) {
    const long i_first = …, i_last = …;      /* of the gang's tile in this round */
    const int i = i_first + i_worker;
    const int inside = …;                    /* whether this worker has an iteration here */
    stage, barrier
    if (inside) { … }
    barrier
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import field, replace
from itertools import groupby
from typing import Protocol

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.coarsened_threads import PointLoop, PointPrinter, is_shared
from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.loop_heads import loop_head, with_declared_bounds
from tilepragma.codegen.manifest import axis_name
from tilepragma.codegen.packed_panels import comment, panel_parts
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.unused_declarations import is_idle
from tilepragma.codegen.writer import Writer
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    access_to,
    conjunction,
    integer,
    local_scalar,
)
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    If,
    Loop,
    PackedPanels,
    Panel,
    Stage,
    Statement,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk, workers_meet
from tilepragma.ir.types import INT

#: The first and the last value of an iterator in the gang's tile, as text.
Ends = dict[DataObject, tuple[str, str]]


class Copies(Protocol):
    """Prints the copies of stages. `ends` are those of the iterators of the copied tile. `some` is
    the condition that the tile has an iteration. `moved` maps expressions of iterators around to
    that tile.
    """

    def stage(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """The copies of the tile that is computed next."""

    def start_ahead(self, writer: Writer, step: str) -> str:
        """Print the start of double buffering; how far ahead copies are: `step`, or nothing."""

    def copy_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str, moved: Moved) -> None:
        """The copies of the tile that far ahead; with a barrier if that is none."""

    def finish_ahead(self, writer: Writer, stage: Stage, ends: Ends, some: str) -> None:
        """The rest of the copies after the tile is computed, and the barrier."""


#: An expression as it is in another tile.
Moved = Callable[[Expression], Expression]


@dataclass(frozen=True)
class ConvergentNestPrinter:
    """`print_alone` prints a worker's code under its guard, `copies` the stages."""

    writer: Writer
    printer: Printer
    numbers: Numbers
    print_alone: Callable[[Block], None]
    copies: Copies

    def nest(self, nest: TileNest) -> None:
        """Print the nest with its body. `verify/stages` has checked its loops."""
        self.writer.line("/* Where the distributed tiles of this instance begin, in iterations. */")
        for tiled in nest.loops:
            self._bind(tiled)
        with ExitStack() as stack:
            for tile in nest.order:
                if tile.kind is TileKind.DYNAMIC:
                    tiled = next(loop for loop in nest.loops if loop.loop.index == tile.loop)
                    name, stride = self.numbers.name(tiled, "round"), self.numbers.stride(tiled, tile)
                    count = self.numbers.count(tiled, tile)
                    end = count if stride == "1" else f"{count} * {stride}"
                    advance = f"++{name}" if stride == "1" else f"{name} += {stride}"
                    stack.enter_context(self.writer.block(f"for ({self._wide} {name} = 0; {name} < {end}; {advance})"))
            self._body(nest)

    @property
    def _wide(self) -> str:
        return self.printer.dialect.wide

    def _bind(self, tiled: TiledLoop) -> None:
        for tile in tiled.tiles:
            if tile.axis is not None:
                index, stride = self.numbers.fresh(axis_name(tile.axis)), self.numbers.stride(tiled, tile)
                value = index if stride == "1" else f"{index} * {stride}"
                type_ = "int" if tile.kind is TileKind.WORKER else self._wide
                self.writer.line(f"const {type_} {self.numbers.name(tiled, tile.kind.value)} = {value};")

    def _body(self, nest: TileNest) -> None:
        ends: Ends = {}
        tests = []
        several = any(tiled.points > 1 for tiled in nest.loops)
        points: list[PointLoop] = []
        for tiled in nest.loops:
            first = self.numbers.name(tiled, "first")
            offsets = [
                self.numbers.name(tiled, "round" if tile.axis is None else tile.kind.value)
                for tile in tiled.tiles
                if tile.kind is not TileKind.STATIC
            ]
            workers = [tile for tile in tiled.tiles if tile.kind is TileKind.WORKER]
            offset = offsets.pop() if workers else ""
            lower = self.numbers.lower(tiled)
            start = " + ".join([*([lower] if lower != "0" else []), *offsets])
            iterator = self.printer.type(tiled.loop.iterator.element, self.printer.name(tiled.loop.iterator))
            if not any(tile.axis is not None for tile in tiled.tiles):
                self.writer.line(f"const {iterator} = {start};")
                continue
            count = self.numbers.axis_count(workers[0].axis) if workers and workers[0].axis is not None else "1"
            trip = self.numbers.trip(tiled)
            end = trip if lower == "0" else f"{lower} + {trip}"
            last = self.numbers.name(tiled, "last")
            self.writer.line(f"const {self._wide} {first} = {start};")
            tile = count if tiled.points == 1 else f"{tiled.points} * {count}"
            self.writer.line(f"const {self._wide} {last} = tilek_minimum({first} + {tile}, {end}) - 1;")
            ends[tiled.loop.iterator] = (first, last)
            if several:
                points.append(self._point_loop(tiled, first, last, offset or "0", count))
                continue
            value = f"{first} + {offset}" if offset else first
            self.writer.line(f"const {iterator} = {value};")
            tests.append(f"{value} <= {last}")
        some = " && ".join(f"{first} <= {last}" for first, last in ends.values())
        varying = _varying(nest)
        if several:
            _ConvergentStatements(self, ends, "", some, varying, self._points(tuple(points), varying)).block(nest.body)
            return
        inside = self.numbers.fresh("inside")
        self.writer.line(f"const int {inside} = {' && '.join(tests)};")
        _ConvergentStatements(self, ends, inside, some, varying).block(nest.body)

    def _point_loop(self, tiled: TiledLoop, first: str, last: str, worker: str, count: str) -> PointLoop:
        step, place = self.numbers.name(tiled, "step"), self.numbers.name(tiled, "place")
        return PointLoop(tiled.loop.iterator, tiled.points, first, last, worker, step, place, count)

    def _points(self, loops: tuple[PointLoop, ...], varying: frozenset[DataObject]) -> PointPrinter:
        """The printer of a worker's points, after declaring whether the tile has all of them."""
        full = self.numbers.fresh("full")
        self.writer.line(f"const int {full} = {' && '.join(loop.is_full for loop in loops)};")
        return PointPrinter(self.writer, self.printer, self.print_alone, loops, full, varying)


@dataclass(frozen=True)
class _ConvergentStatements:
    """Statements that all workers reach. `inside` is the guard of each worker's code. `some` holds
    where the tile has an iteration. `varying` are the objects whose values may differ between
    workers. `points` prints the code of workers that have several points. `parted` are conditions
    that tell full tiles of sequential loops from others.
    """

    nest: ConvergentNestPrinter
    ends: Ends
    inside: str
    some: str
    varying: frozenset[DataObject]
    points: PointPrinter | None = None
    parted: list[If] = field(default_factory=list)

    def block(self, block: Block) -> None:
        statements = list(block.statements)
        place = 0
        while place < len(statements):
            if workers_meet(statements[place]):
                statements[place + 1 :] = self._convergent(statements[place], tuple(statements[place + 1 :]))
                place += 1
                continue
            end = place
            while end < len(statements) and not workers_meet(statements[end]):
                end += 1
            self._alone(tuple(statements[place:end]), tuple(statements[end:]))
            place = end

    def _convergent(self, statement: Statement, rest: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Print the statement at which workers meet; the statements after it, changed."""
        writer, printer = self.nest.writer, self.nest.printer
        if isinstance(statement, Barrier):
            writer.line(printer.dialect.barrier)
        elif isinstance(statement, Stage):
            ends, rest = self._inner(statement, rest)
            self.nest.copies.stage(writer, statement, self.ends | ends, self.some)
        elif isinstance(statement, Block):
            with writer.block():
                self.block(statement)
        elif isinstance(statement, PackedPanels):
            self._panels(statement)
        else:
            assert isinstance(statement, Loop), "barriers stand in blocks and loops of uniform nests"
            first = statement.body.statements[0]
            if isinstance(first, Stage) and first.ahead:
                self._ahead(statement, first, statement.body.statements[2:-1])
                return rest
            declared = printer.type(statement.iterator.element, printer.name(statement.iterator))
            loop = with_declared_bounds(writer, printer, self.nest.numbers, statement, declared)
            with writer.block(loop_head(printer, loop, declared)):
                self.block(loop.body)
        return rest

    def _panels(self, node: PackedPanels) -> None:
        """Panels in the registers of each worker, or of each of its points."""
        self.nest.writer.line(comment(node))
        shared = tuple(self._shared_conditions(panel) for panel in node.buffers)
        pairs = zip(node.buffers, shared, strict=True)
        buffers = tuple(
            replace(panel, conditions=tuple(c for c in panel.conditions if c not in conditions))
            for panel, conditions in pairs
        )
        parts = panel_parts(replace(node, buffers=buffers), self.nest.numbers.fresh)
        for declaration in parts.declared:
            for declarator in declaration.declarators:
                self._declare(declarator.object)
        self._under(zip(shared, parts.filled, strict=True))
        self.block(parts.body)
        stored = (conditions for conditions, panel in zip(shared, node.buffers, strict=True) if panel.stored)
        self._under(zip(stored, parts.written, strict=True))

    def _shared_conditions(self, panel: Panel) -> tuple[Expression, ...]:
        """The panel's conditions that are the same for all workers."""
        declared = {declarator.object for declaration in panel.declarations for declarator in declaration.declarators}
        return tuple(condition for condition in panel.conditions if is_shared((condition,), self.varying | declared))

    def _under(self, parts: Iterable[tuple[tuple[Expression, ...], Statement]]) -> None:
        """Print each part under its conditions, which all workers share. The conditions stand
        outside the workers' guard: PoCL 3 takes `inside && shared` for a value that all workers
        share, where both sides of a barrier use it.
        """
        for conditions, group in groupby(parts, key=lambda part: part[0]):
            statements = tuple(statement for _, statement in group)
            with ExitStack() as stack:
                if conditions:
                    test = self.nest.printer.condition(conjunction(conditions))
                    stack.enter_context(self.nest.writer.block(f"if ({test})"))
                self._alone(statements, ())

    def _declare(self, object_: DataObject) -> None:
        if self.points is not None:
            self.points.declare(object_)
        else:
            self.nest.writer.line(f"{self.nest.printer.declaration(object_)};")

    def _ahead(self, loop: Loop, stage: Stage, computed: tuple[Statement, ...]) -> None:
        """The loop over tiles `computed`, each copied an iteration ahead where two tiles fit. It
        then has one more iteration, which copies the first tile and computes nothing.
        """
        writer, printer, numbers, copies = self.nest.writer, self.nest.printer, self.nest.numbers, self.nest.copies
        iterator, type_ = loop.iterator, loop.iterator.element
        name = printer.name(iterator)
        loop = with_declared_bounds(writer, printer, numbers, loop, printer.type(type_, name))
        lower, upper = printer.expression(loop.lower, 12), printer.expression(loop.upper, 11)
        step = printer.expression(loop.step, 12)
        writer.line("/* The next tile is copied while this one is computed, where there is room for both. */")
        distance = copies.start_ahead(writer, step)
        head = f"for ({printer.type(type_, name)} = {lower} - {distance}; {name} < {upper}; {name} += {step})"
        copied = replace(iterator, name=numbers.fresh(f"{iterator.name}_copied"), host=f"{iterator.host}_copied")

        def moved(expression: Expression) -> Expression:
            return with_accesses(expression, lambda access: access_to(copied) if access.object == iterator else access)

        with writer.block(head):
            writer.line(f"const {printer.type(type_, printer.name(copied))} = {name} + {distance};")
            ends = self.ends
            for tile in self._tile_loops(stage, computed):
                ends = ends | self._declared_ends(tile, f"{tile.iterator.name}_copied", moved)
            some = f"{printer.name(copied)} < {upper} && {self.some}"
            copies.copy_ahead(writer, stage, ends, some, moved)
            _, between = self._inner(stage, computed)
            if self.points is None:
                replace(self, inside=f"{name} >= {lower} && {self.inside}").block(Block(between))
            else:
                with writer.block(f"if ({name} >= {lower})"):
                    self.block(Block(between))
            copies.finish_ahead(writer, stage, ends, some)

    def _inner(self, stage: Stage, rest: tuple[Statement, ...]) -> tuple[Ends, tuple[Statement, ...]]:
        """Declare the ends of the stage's tile loops; the loops between these ends."""
        terms = {term.iterator: term.extent for array in stage.arrays for side in array.sides for term in side.terms}
        loops = self._tile_loops(stage, rest)
        ends: Ends = {}
        behind: list[Statement] = []
        for statement in rest:
            if isinstance(statement, Loop) and statement in loops:
                ends |= self._declared_ends(statement, statement.iterator.name, lambda bound: bound)
                statement = _between(statement, *ends[statement.iterator], terms[statement.iterator])
                if isinstance(statement, If):
                    self.parted.append(statement)
            behind.append(statement)
        return ends, tuple(behind)

    def _tile_loops(self, stage: Stage, rest: tuple[Statement, ...]) -> list[Loop]:
        """The loops after a stage whose iterators its array tiles have."""
        terms = {term.iterator for array in stage.arrays for side in array.sides for term in side.terms} - set(
            self.ends
        )
        return [statement for statement in rest if isinstance(statement, Loop) and statement.iterator in terms]

    def _declared_ends(self, loop: Loop, prefix: str, moved: Moved) -> Ends:
        """Declare the first and the last value of a loop's iterator, `prefix` in their names."""
        writer, printer, iterator = self.nest.writer, self.nest.printer, loop.iterator
        first, last = _named_ends(self.nest.numbers, prefix)
        lower, upper = printer.expression(moved(loop.lower), 1), printer.expression(moved(loop.upper), 11)
        writer.line(f"const {printer.type(iterator.element, first)} = {lower};")
        writer.line(f"const {printer.type(iterator.element, last)} = {upper} - 1;")
        return {iterator: (first, last)}

    def _alone(self, statements: tuple[Statement, ...], rest: tuple[Statement, ...]) -> None:
        needed = {node.object for later in rest for node in walk(later) if isinstance(node, Access)}
        guarded: list[Statement] = []
        for place, statement in enumerate(statements):
            if is_idle(statement, (*statements[place + 1 :], *rest)):
                continue
            if isinstance(statement, Declaration) and any(
                declarator.object in needed for declarator in statement.declarators
            ):
                guarded += self._hoisted(statement.declarators)
            else:
                guarded.append(statement)
        if guarded and self.points is not None:
            self.points.alone(tuple(guarded), tuple(self.parted))
        elif guarded:
            with self.nest.writer.block(f"if ({self.inside})"):
                self.nest.print_alone(Block(tuple(guarded)))

    def _hoisted(self, declarators: tuple[Declarator, ...]) -> Iterator[Statement]:
        """Declare the objects for all later statements; the guard covers assignments."""
        for declarator in declarators:
            object_ = replace(declarator.object, const=False)
            self._declare(object_ if self.points is None else declarator.object)
            if declarator.initializer is not None and not isinstance(declarator.initializer, tuple):
                target = access_to(object_)
                yield ExpressionStatement(Assignment("=", target, declarator.initializer, object_.element))


def _varying(nest: TileNest) -> frozenset[DataObject]:
    """The objects whose values may differ between the nest's workers, or the points of one."""
    iterators = {tiled.loop.iterator for tiled in nest.loops if any(tile.axis is not None for tile in tiled.tiles)}
    written = {use.object for use in uses(nest.body) if use.writes}
    loops_inside = {node.iterator for node in walk(nest.body) if isinstance(node, Loop)}
    declared = {node.object for node in walk(nest.body) if isinstance(node, Declarator)}
    return frozenset(((iterators | written) - loops_inside) | declared)


def inner_ends(numbers: Numbers, iterator: DataObject) -> tuple[str, str]:
    """The names of the first and the last value of a loop's iterator after a stage."""
    return _named_ends(numbers, iterator.name)


def _named_ends(numbers: Numbers, prefix: str) -> tuple[str, str]:
    return numbers.fresh(f"{prefix}_first"), numbers.fresh(f"{prefix}_last")


def _between(loop: Loop, first: str, last: str, extent: object) -> Statement:
    """The loop between named ends; separate code for a full tile with a constant trip count."""
    type_ = loop.iterator.element
    start, end = local_scalar(first, type_), local_scalar(last, type_)
    short = replace(loop, lower=start, comparison="<=", upper=end)
    if not isinstance(extent, int):
        return short
    is_full = Binary("==", Binary("-", end, start, type_), integer(extent - 1), INT)
    full = replace(loop, lower=start, comparison="<", upper=Binary("+", start, integer(extent), type_))
    return If(is_full, Block((full,)), Block((short,)))
