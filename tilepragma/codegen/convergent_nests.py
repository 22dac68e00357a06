"""Nests with convergent control flow: a gang's workers share rounds, and work under a guard.

for (rounds …) {
    const long i_first = …, i_last = …;      /* of the gang's tile in this round */
    const int i = i_first + i_worker;
    const int inside = …;                    /* whether this worker has an iteration here */
    stage, barrier
    if (inside) { … }
    barrier
}

Workers with several points have instead of `inside`:

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

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import groupby

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.loop_heads import loop_head, with_declared_bounds
from tilepragma.codegen.mentioned_objects import accessed_objects, declared_objects, is_idle
from tilepragma.codegen.numbering import Numbers, axis_name
from tilepragma.codegen.packed_panels import comment, panel_parts
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.shared_memory import Ends, Moved, StagingPrinter, named_ends
from tilepragma.codegen.writer import Writer
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    Scope,
    Storage,
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


@dataclass(frozen=True)
class _PointLoop:
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
    def workers(self) -> str:
        """How many points the workers have together."""
        return f"{self.points} * {self.count}" if self.points > 1 else self.count


class ConvergentNest:
    """Prints a nest with its body. `print_alone` prints a worker's code under its guard, `copies`
    the stages. `verify/rules` has checked the nest's loops.

    `inside` is the guard of each worker's code. `some` holds where the tile has an iteration.
    `varying` are the objects whose values may differ between workers, or the points of one.
    `parted` are conditions that all points share: their `then` is for full tiles of a sequential
    loop, their `otherwise` for others, and both compute the same.

    Workers with several `points` have `full` for `inside`: whether the tile has all points.
    `elements` then gives the array element that holds a point's value of a declared scalar.
    """

    def __init__(
        self,
        writer: Writer,
        printer: Printer,
        numbers: Numbers,
        print_alone: Callable[[Block], None],
        copies: StagingPrinter,
        nest: TileNest,
    ) -> None:
        self.writer, self.printer, self.numbers = writer, printer, numbers
        self.print_alone, self.copies, self.nest = print_alone, copies, nest
        self.wide = printer.dialect.wide
        self.ends: Ends = {}
        self.inside = self.full = self.some = ""
        self.varying = _varying(nest)
        self.parted: list[If] = []
        self.points: list[_PointLoop] = []
        self.elements: dict[DataObject, Access] = {}

    def print(self) -> None:
        """Print the nest."""
        self.writer.line("/* Where the distributed tiles of this instance begin, in iterations. */")
        for tiled in self.nest.loops:
            self._bind(tiled)
        with ExitStack() as stack:
            for tile in self.nest.order:
                if tile.kind is TileKind.DYNAMIC:
                    tiled = next(loop for loop in self.nest.loops if loop.loop.index == tile.loop)
                    name, stride = self.numbers.name(tiled, "round"), self.numbers.stride(tiled, tile)
                    count = self.numbers.count(tiled, tile)
                    end = count if stride == "1" else f"{count} * {stride}"
                    advance = f"++{name}" if stride == "1" else f"{name} += {stride}"
                    stack.enter_context(self.writer.block(f"for ({self.wide} {name} = 0; {name} < {end}; {advance})"))
            self._declare_tile()
            self._block(self.nest.body)

    def _bind(self, tiled: TiledLoop) -> None:
        for tile in tiled.tiles:
            if tile.axis is not None:
                index, stride = self.numbers.fresh(axis_name(tile.axis)), self.numbers.stride(tiled, tile)
                value = index if stride == "1" else f"{index} * {stride}"
                type_ = "int" if tile.kind is TileKind.WORKER else self.wide
                self.writer.line(f"const {type_} {self.numbers.name(tiled, tile.kind.value)} = {value};")

    def _declare_tile(self) -> None:
        """Declare the ends of the gang's tile, the iterators, and the guard."""
        tests = []
        several = any(tiled.points > 1 for tiled in self.nest.loops)
        for tiled in self.nest.loops:
            first, last, step, place = (self.numbers.name(tiled, end) for end in ("first", "last", "step", "place"))
            offsets = [
                self.numbers.name(tiled, "round" if tile.axis is None else tile.kind.value)
                for tile in tiled.tiles
                if tile.kind is not TileKind.STATIC
            ]
            workers = [tile for tile in tiled.tiles if tile.kind is TileKind.WORKER]
            offset = offsets.pop() if workers else ""
            lower = self.numbers.lower(tiled)
            start = " + ".join([*([lower] if lower != "0" else []), *offsets])
            iterator = tiled.loop.iterator
            if not any(tile.axis is not None for tile in tiled.tiles):
                self.writer.line(f"const {self.printer.typed(iterator)} = {start};")
                continue
            count = self.numbers.axis_count(workers[0].axis) if workers and workers[0].axis is not None else "1"
            trip = self.numbers.trip(tiled)
            end = trip if lower == "0" else f"{lower} + {trip}"
            loop = _PointLoop(iterator, tiled.points, first, last, offset or "0", step, place, count)
            self.writer.line(f"const {self.wide} {first} = {start};")
            self.writer.line(f"const {self.wide} {last} = tilek_minimum({first} + {loop.workers}, {end}) - 1;")
            self.ends[iterator] = (first, last)
            if several:
                self.points.append(loop)
                continue
            value = f"{first} + {offset}" if offset else first
            self.writer.line(f"const {self.printer.typed(iterator)} = {value};")
            tests.append(f"{value} <= {last}")
        self.some = " && ".join(f"{first} <= {last}" for first, last in self.ends.values())
        if several:
            self.full = self.numbers.fresh("full")
            tests = [f"{loop.last} - {loop.first} == {loop.workers} - 1" for loop in self.points]
        else:
            self.inside = self.numbers.fresh("inside")
        self.writer.line(f"const int {self.full or self.inside} = {' && '.join(tests)};")

    def _block(self, block: Block) -> None:
        """Statements that all workers reach."""
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
        if isinstance(statement, Barrier):
            self.writer.line(self.printer.dialect.barrier)
        elif isinstance(statement, Stage):
            ends, rest = self._inner(statement, rest)
            self.copies.stage(self.writer, statement, self.ends | ends, self.some)
        elif isinstance(statement, Block):
            with self.writer.block():
                self._block(statement)
        elif isinstance(statement, PackedPanels):
            self._panels(statement)
        else:
            assert isinstance(statement, Loop), "barriers stand in blocks and loops of uniform nests"
            first = statement.body.statements[0]
            if isinstance(first, Stage) and first.ahead:
                self._ahead(statement, first, statement.body.statements[2:-1])
                return rest
            loop = with_declared_bounds(self.writer, self.printer, self.numbers, statement)
            with self.writer.block(loop_head(self.printer, loop)):
                self._block(loop.body)
        return rest

    def _panels(self, node: PackedPanels) -> None:
        """Panels in the registers of each worker, or of each of its points."""
        self.writer.line(comment(node))
        shared = tuple(self._shared_conditions(panel) for panel in node.buffers)
        pairs = zip(node.buffers, shared, strict=True)
        buffers = tuple(
            replace(panel, conditions=tuple(c for c in panel.conditions if c not in conditions))
            for panel, conditions in pairs
        )
        parts = panel_parts(replace(node, buffers=buffers), self.numbers.fresh)
        for declaration in parts.declared:
            for declarator in declaration.declarators:
                self._declare(declarator.object)
        self._under(zip(shared, parts.filled, strict=True))
        self._block(parts.body)
        stored = (conditions for conditions, panel in zip(shared, node.buffers, strict=True) if panel.stored)
        self._under(zip(stored, parts.written, strict=True))

    def _shared_conditions(self, panel: Panel) -> tuple[Expression, ...]:
        """The panel's conditions that are the same for all workers."""
        declared = {declarator.object for declaration in panel.declarations for declarator in declaration.declarators}
        return tuple(condition for condition in panel.conditions if _is_shared((condition,), self.varying | declared))

    def _under(self, parts: Iterable[tuple[tuple[Expression, ...], Statement]]) -> None:
        """Print each part under its conditions, which all workers share. The conditions stand
        outside the workers' guard: PoCL 3 takes `inside && shared` for a value that all workers
        share, where both sides of a barrier use it.
        """
        for conditions, group in groupby(parts, key=lambda part: part[0]):
            statements = tuple(statement for _, statement in group)
            with ExitStack() as stack:
                if conditions:
                    test = self.printer.condition(conjunction(conditions))
                    stack.enter_context(self.writer.block(f"if ({test})"))
                self._alone(statements, ())

    def _ahead(self, loop: Loop, stage: Stage, computed: tuple[Statement, ...]) -> None:
        """The loop over tiles `computed`, each copied an iteration ahead where two tiles fit. It
        then has one more iteration, which copies the first tile and computes nothing.
        """
        writer, printer = self.writer, self.printer
        iterator = loop.iterator
        name = printer.name(iterator)
        loop = with_declared_bounds(writer, printer, self.numbers, loop)
        lower, upper = printer.expression(loop.lower, 12), printer.expression(loop.upper, 11)
        step = printer.expression(loop.step, 12)
        writer.line("/* The next tile is copied while this one is computed, where there is room for both. */")
        distance = self.copies.start_ahead(writer, step)
        head = f"for ({printer.typed(iterator)} = {lower} - {distance}; {name} < {upper}; {name} += {step})"
        copied = replace(iterator, name=self.numbers.fresh(f"{iterator.name}_copied"), host=f"{iterator.host}_copied")

        def moved(expression: Expression) -> Expression:
            return with_accesses(expression, lambda access: access_to(copied) if access.object == iterator else access)

        with writer.block(head):
            writer.line(f"const {printer.typed(copied)} = {name} + {distance};")
            ends = self.ends
            for tile in self._tile_loops(stage, computed):
                ends = ends | self._declared_ends(tile, f"{tile.iterator.name}_copied", moved)
            some = f"{printer.name(copied)} < {upper} && {self.some}"
            self.copies.copy_ahead(writer, stage, ends, some, moved)
            _, between = self._inner(stage, computed)
            if self.points:
                with writer.block(f"if ({name} >= {lower})"):
                    self._block(Block(between))
            else:
                inside = self.inside
                self.inside = f"{name} >= {lower} && {inside}"
                self._block(Block(between))
                self.inside = inside
            self.copies.finish_ahead(writer, stage, ends, some)

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
        printer, iterator = self.printer, loop.iterator
        first, last = named_ends(self.numbers, prefix)
        lower, upper = printer.expression(moved(loop.lower), 1), printer.expression(moved(loop.upper), 11)
        self.writer.line(f"const {printer.type(iterator.element, first)} = {lower};")
        self.writer.line(f"const {printer.type(iterator.element, last)} = {upper} - 1;")
        return {iterator: (first, last)}

    def _alone(self, statements: tuple[Statement, ...], rest: tuple[Statement, ...]) -> None:
        """Print each worker's own statements under its guard; `rest` follows them."""
        needed = accessed_objects(rest)
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
        if guarded and self.points:
            self._all_points(guarded)
        elif guarded:
            with self.writer.block(f"if ({self.inside})"):
                self.print_alone(Block(tuple(guarded)))

    def _hoisted(self, declarators: tuple[Declarator, ...]) -> Iterator[Statement]:
        """Declare the objects for all later statements; the guard covers assignments."""
        for declarator in declarators:
            object_ = replace(declarator.object, const=False)
            self._declare(declarator.object if self.points else object_)
            if declarator.initializer is not None and not isinstance(declarator.initializer, tuple):
                target = access_to(object_)
                yield ExpressionStatement(Assignment("=", target, declarator.initializer, object_.element))

    def _declare(self, object_: DataObject) -> None:
        """Declare an object of each worker; an array that holds a scalar for each of its points."""
        if not self.points:
            self.writer.line(f"{self.printer.declaration(object_)};")
            return
        several = [loop for loop in self.points if loop.points > 1]
        lengths = tuple(integer(loop.points) for loop in several)
        array = DataObject(
            object_.name, object_.host, object_.element, Storage.CONTIGUOUS, Scope.LOCAL, lengths, range=object_.range
        )
        self.writer.line(f"{self.printer.declaration(array)};")
        steps = tuple(local_scalar(loop.step, INT) for loop in several)
        for key in (object_, replace(object_, const=False)):
            self.elements[key] = Access(array, steps, (), object_.element)

    def _all_points(self, statements: list[Statement]) -> None:
        """Print a worker's statements for all of its points."""
        parted = [statement for statement in statements if isinstance(statement, If) and statement in self.parted]
        if not parted and not any(isinstance(statement, Loop) for statement in statements):
            self._jammed(tuple(statements), guarded=True)
            return
        tests = [self.printer.condition(statement.condition) for statement in parted]
        with self.writer.block(f"if ({' && '.join([self.full, *tests])})"):
            self._jammed(_parts(statements, parted, full=True), guarded=False)
            self.writer.otherwise()
            self._jammed(_parts(statements, parted, full=False), guarded=True)

    def _jammed(self, statements: tuple[Statement, ...], *, guarded: bool) -> None:
        """Print shared loops around the points, unless their bodies declare objects."""
        by_points = with_accesses(Block(statements), lambda access: self.elements.get(access.object, access))
        statements = _without_idle(_unwrapped(by_points.statements))
        shared = [
            statement
            for statement in statements
            if isinstance(statement, Loop)
            and _is_shared((statement.lower, statement.upper, statement.step), self.varying)
        ]
        if not shared or any(isinstance(statement, Declaration) for statement in statements):
            self._points(statements, guarded=guarded)
            return
        waiting: list[Statement] = []
        for statement in statements:
            if not isinstance(statement, Loop) or statement not in shared:
                waiting.append(statement)
                continue
            self._points(tuple(waiting), guarded=guarded)
            waiting = []
            with self.writer.block(loop_head(self.printer, statement, statement.declares_iterator)):
                self._jammed(statement.body.statements, guarded=guarded)
        self._points(tuple(waiting), guarded=guarded)

    def _points(self, statements: tuple[Statement, ...], *, guarded: bool) -> None:
        """Print the statements in loops over the points."""
        if not statements:
            return
        read = accessed_objects(statements)
        names = {scalar.name for scalar in read}
        with ExitStack() as stack:
            for loop in self.points:
                if loop.points > 1:
                    self.writer.line(self.printer.dialect.unroll)
                    head = f"for (int {loop.step} = 0; {loop.step} < {loop.points}; ++{loop.step})"
                    stack.enter_context(self.writer.block(head))
            for loop in self.points:
                wanted = guarded or loop.place in names or loop.iterator in read
                if loop.points > 1 and wanted:
                    value = f"{loop.worker} + {loop.step} * {loop.count}"
                    self.writer.line(f"const int {loop.place} = {value};")
            if guarded:
                tests = " && ".join(f"{loop.first} + {loop.distance} <= {loop.last}" for loop in self.points)
                stack.enter_context(self.writer.block(f"if ({tests})"))
            for loop in self.points:
                if loop.iterator in read:
                    self.writer.line(f"const {self.printer.typed(loop.iterator)} = {loop.first} + {loop.distance};")
            self.print_alone(Block(statements))


def _varying(nest: TileNest) -> frozenset[DataObject]:
    """The objects whose values may differ between the nest's workers, or the points of one."""
    iterators = {tiled.loop.iterator for tiled in nest.loops if any(tile.axis is not None for tile in tiled.tiles)}
    written = {use.object for use in uses(nest.body) if use.writes}
    loops_inside = {node.iterator for node in walk(nest.body) if isinstance(node, Loop)}
    return frozenset(((iterators | written) - loops_inside) | declared_objects(nest.body))


def _is_shared(values: Iterable[Expression], varying: frozenset[DataObject]) -> bool:
    """Whether all workers and points surely have the same values; `varying` objects may differ."""
    return not any(object_ in varying or object_.rank > 0 for object_ in accessed_objects(values))


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


def _parts(statements: list[Statement], parted: list[If], *, full: bool) -> tuple[Statement, ...]:
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
