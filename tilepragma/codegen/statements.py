"""Statements as text of a target, with their tile nests.

A plain nest has loops over its tiles and points. In a nest with convergent control flow, a gang's
workers share rounds, and work under a guard:

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
    for (i_step …) for (j_step …) {  /* unrolled: a point's values are in registers */
        const int i_place = …;       /* from the tile's start: groups of neighbours */
        …
    }
} else {
    …the same, each point under a guard…
}

Where it does no harm to compute points that do not exist, loops that all points share go around:

for (k …) {
    for (i_step …) A_points[i_step …] = A_staged[…];   /* what points have in common, as vectors */
    for (i_step …) for (j_step …) C_tile[i_step][j_step] += A_points[i_step] * B_points[j_step];
}

In a full tile of the loop, which is unrolled, an iteration reads what the next one needs before it
computes, so that the reads' latency passes meanwhile (*double buffering*, in registers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from itertools import groupby

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.held_copies import CopyLoopPrinter, copy_of
from tilepragma.codegen.launch_parameters import LaunchParameters, axis_name, tile_label, used_dimensions
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.loop_hints import loop_hints, user_pragmas
from tilepragma.codegen.mentioned_objects import accessed_objects, is_idle
from tilepragma.codegen.outlined_rows import OutlinedRow, iterations, row_function
from tilepragma.codegen.packed_panels import comment, has_padded_tiles, objects_outside, panel_parts
from tilepragma.codegen.printer import UNARY, Printer
from tilepragma.codegen.register_queues import RegisterQueuePrinter
from tilepragma.codegen.shared_memory import Ends, Moved, Points, StagedTile, StagingPrinter, named_ends
from tilepragma.codegen.writer import Writer, wrapped_list
from tilepragma.ir.accesses import written_in
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import (
    Access,
    Binary,
    Call,
    DataObject,
    Expression,
    Scope,
    Storage,
    Unary,
    access_to,
    conjunction,
    integer,
    local_scalar,
)
from tilepragma.ir.guards import holds_everywhere, holds_somewhere
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Break,
    CaseLabel,
    Continue,
    Declaration,
    Declarator,
    ExpressionStatement,
    ForLoop,
    If,
    Loop,
    PackedPanels,
    Panel,
    Return,
    Stage,
    Statement,
    Switch,
    Tile,
    TiledLoop,
    TileNest,
    While,
    assign,
)
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.speculation import is_harmless
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import declared_in, unwrapped, walk, workers_meet
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.plan.kernel_plan import Launch
from tilepragma.user_tiles.chain_checks import literal_trip

#: A loop over array tiles that begins before this number counts in the type of indices.
_LATEST_START = 2**20


@dataclass(frozen=True)
class Rows:
    """Collects outlined functions: `texts` of functions called `name` and a number. `arrays` has
    the arrays that they may access, none of which overlaps another: for each its parameters, those
    for lengths of its rows first, as pairs of name and declaration.
    """

    name: str
    arrays: Mapping[DataObject, tuple[tuple[str, str], ...]]
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class StatementPrinter:
    """Prints the statements of a launch, or of a function (which has no nests). `copies` prints the
    stages of convergent nests. `rows` collects functions to be printed before the text; None: none
    may be outlined. `queues` prints register queues; with `all_rounds` workers run all rounds of
    nests, also those beyond a loop's last iteration.
    """

    writer: Writer
    printer: Printer
    numbers: LaunchParameters = field(default_factory=lambda: LaunchParameters((), {}, frozenset()))
    bound: frozenset[AxisKind] = frozenset()
    copies: StagingPrinter | None = None
    rows: Rows | None = None
    queues: RegisterQueuePrinter | None = None
    all_rounds: bool = False

    def block(self, block: Block) -> None:
        """The statements of a block, without braces around."""
        alone = sum(not isinstance(statement, Barrier) for statement in block.statements) == 1
        for place, statement in enumerate(block.statements):
            if alone and isinstance(statement, TileNest):
                self._nest(statement)
            elif not is_idle(statement, block.statements[place + 1 :]):
                self.statement(statement)

    def statement(self, node: Statement) -> None:
        """One statement."""
        writer, printer = self.writer, self.printer
        match node:
            case TileNest():
                with writer.block():
                    self._nest(node)
            case PackedPanels():
                writer.line(comment(node))
                if not (has_padded_tiles(node) and self._padded(node)):
                    with writer.block():
                        self.block(Block(panel_parts(node, self.numbers.fresh).statements))
            case Barrier():
                if printer.dialect.barrier:
                    writer.line(printer.dialect.barrier)
            case ExpressionStatement(expression):
                writer.user(printer.expression(expression) + ";", node.range)
            case Declaration(declarators):
                for declarator in declarators:
                    writer.user(self.declarator(declarator) + ";", node.range)
            case Block():
                writer.line("{")
                self._body(node)
                writer.line("}")
            case If():
                self._if(node)
            case Loop():
                self._loop(node)
            case ForLoop():
                self._for(node)
            case While(condition, body):
                test = f"while ({printer.condition(condition)})"
                if node.test_last:
                    self._braced("do {", node, body, last=f"}} {test};")
                else:
                    self._braced(f"{test} {{", node, body)
            case Switch(condition, body):
                self._braced(f"switch ({printer.condition(condition)}) {{", node, body)
            case CaseLabel(value):
                # A statement must follow, and C++ and C99 take no declaration for one.
                writer.user("default:;" if value is None else f"case {printer.expression(value)}:;", node.range)
            case Return(value):
                writer.user("return;" if value is None else f"return {printer.expression(value)};", node.range)
            case Break():
                writer.user("break;", node.range)
            case Continue():
                writer.user("continue;", node.range)

    def _nest(self, node: TileNest) -> None:
        if node.uniform:
            if self.copies is None:
                raise ValueError("only the staged form of a device launch has uniform nests")
            _ConvergentNest(self, self.copies, node).print()
        else:
            _Nest(self, node).print()

    def declarator(self, declarator: Declarator) -> str:
        """`T x = value`."""
        object_ = declarator.object
        text = self.printer.declaration(object_)
        if declarator.initializer is None:
            return text
        return f"{text} = {self.printer.initializer(declarator.initializer, object_.element)}"

    def _if(self, node: If) -> None:
        self.writer.user(f"if ({self.printer.condition(node.condition)}) {{", node.range)
        self._body(node.then)
        otherwise = node.otherwise
        while otherwise is not None:
            chained = unwrapped(otherwise)
            if isinstance(chained, If):
                self.writer.user(f"}} else if ({self.printer.condition(chained.condition)}) {{", chained.range)
                self._body(chained.then)
                otherwise = chained.otherwise
            else:
                self.writer.line("} else {")
                self._body(otherwise)
                break
        self.writer.line("}")

    def _walk(self, node: Loop, queues: RegisterQueuePrinter) -> None:
        self.writer.line(f"#if {queues.used}")
        queues.print_walk(self.writer, node, self.block, replace(self, all_rounds=True).block)
        self.writer.line("#else")
        replace(self, queues=None).statement(replace(node, body=queues.in_scratchpads(node.body)))
        self.writer.line("#endif")

    def _loop(self, node: Loop) -> None:
        if self.queues is not None and self.queues.is_walk(node):
            self._walk(node, self.queues)
            return
        function = None if self.rows is None else row_function(node, self.rows.arrays, self.numbers)
        if self.rows is not None and function is not None:
            self._row(node, function, self.rows)
            return
        if self.printer.dialect.barrier and any(isinstance(inner, Barrier) for inner in node.body.statements):
            iterator = self.printer.scalar(node.iterator)
            self.writer.line(f"/* All workers run the loop over {iterator} in step, and meet at its barriers. */")
        if node.declares_iterator:
            node = with_declared_bounds(self.writer, self.printer, self.numbers, node)
        before, inside = loop_hints(self.printer.dialect, node.iterator, node.step, node.body, literal_trip(node))
        unroll = self.printer.dialect.unroll if self.queues is not None and self.queues.is_unrolled(node) else ""
        for line in filter(None, (*user_pragmas(self.printer, node), before, unroll)):
            self.writer.line(line)
        self.writer.user(loop_head(self.printer, node, node.declares_iterator) + " {", node.range)
        if inside:
            self.writer.line(inside)
        self._body(node.body, frozenset({node.iterator.name}))
        self.writer.line("}")

    def _row(self, node: Loop, function: OutlinedRow, rows: Rows) -> None:
        """The loop as a call of an outlined function."""
        declared = [self.printer.declaration(parameter) for parameter in function.parameters]
        name = self._outlined(rows, "TILEK_ROW", declared, (function.loop,))
        iterator = self.printer.name(node.iterator)
        with self.writer.block():
            name_of_end = self.numbers.once(f"{node.iterator.name}_end")
            node = replace(node, upper=declared_bound(self.writer, self.printer, name_of_end, node.upper))
            lower = self.printer.expression(node.lower, 1)
            self.writer.line(f"const {self.printer.typed(node.iterator)} = {lower};")
            arguments = [self.printer.expression(argument, 1) for argument in (iterations(node), *function.arguments)]
            condition = f"{iterator} {node.comparison} {self.printer.expression(node.upper, 11)}"
            self.writer.line(f"if ({condition}) {name}({', '.join(arguments)});")

    def _padded(self, node: PackedPanels) -> bool:
        """Print the statement as a call of an outlined function; False where that is impossible."""
        outside = objects_outside(node)
        scalars = [object_ for object_ in outside if object_.storage is Storage.SCALAR]
        arrays = [object_ for object_ in outside if object_ not in scalars]
        rows, printer = self.rows, self.printer
        if rows is None or not set(arrays) <= set(rows.arrays) or printer.indirect & set(scalars):
            return False
        constants = [replace(scalar, scope=Scope.LOCAL, const=True) for scalar in scalars]
        passed = [names for object_ in arrays for names in rows.arrays[object_]]
        declared = [*(text for _, text in passed), *map(printer.declaration, constants)]
        statements = panel_parts(node, self.numbers.fresh).statements
        name = self._outlined(rows, "TILEK_WIDE TILEK_ROW", declared, statements)
        arguments = [*(array for array, _ in passed), *map(printer.name, scalars)]
        self.writer.line(f"{name}({', '.join(arguments)});")
        return True

    def _outlined(self, rows: Rows, kind: str, declared: Sequence[str], statements: tuple[Statement, ...]) -> str:
        """Add a function of the statements to the `rows`; its name."""
        inner = Writer(user_lines=self.writer.user_lines, depth=1)
        StatementPrinter(inner, self.printer, self.numbers).block(Block(statements))
        name = f"{rows.name}{len(rows.texts) + 1}"
        head = wrapped_list(f"{kind} void {name}(", declared, ")")
        rows.texts.append(f"{head}\n{{\n{inner.text()}}}\n")
        return name

    def _for(self, node: ForLoop) -> None:
        printer = self.printer
        first = node.initialization
        start = ""
        if isinstance(first, Declaration):
            # `int i = 0, j = 1`: one declaration, as a for loop needs it.
            texts = [self.declarator(declarator) for declarator in first.declarators]
            prefix = printer.type(first.declarators[0].object.element) + " "
            start = ", ".join([texts[0], *(text.removeprefix(prefix) for text in texts[1:])])
        elif first is not None:
            start = printer.expression(first)
        condition = "" if node.condition is None else " " + printer.condition(node.condition)
        advance = "" if node.advance is None else " " + printer.expression(node.advance)
        iterators = _declared(Block((first,))) if isinstance(first, Declaration) else frozenset()
        self._braced(f"for ({start};{condition};{advance}) {{", node, node.body, iterators)

    def _braced(
        self,
        head: str,
        node: ForLoop | While | Switch,
        body: Block,
        iterators: frozenset[str] = frozenset(),
        last: str = "}",
    ) -> None:
        """A body between its head, which is the user's line, and its last line."""
        self.writer.user(head, node.range)
        self._body(body, iterators)
        self.writer.line(last)

    def _body(self, block: Block, iterators: frozenset[str] = frozenset()) -> None:
        """A body inside printed braces. A block that is all of it loses its braces. It keeps them
        where it declares an iterator's name, which C++ refuses there.
        """
        inner = _only(block)
        while isinstance(inner, Block) and not iterators & _declared(inner):
            block, inner = inner, _only(inner)
        self.writer.depth += 1
        self.block(block)
        self.writer.depth -= 1


def _only(block: Block) -> Statement | None:
    return block.statements[0] if len(block.statements) == 1 else None


def _declared(block: Block) -> frozenset[str]:
    return frozenset(declarator.object.name for declarator in block.declarators)


class _Nest:
    """Prints a tile nest: distributed tiles, tile loops, point loops, guards. Tiles of bound axes
    get their index from outside; other distributed tiles become loops. `offsets` are the tile
    iterators of each loop that are declared so far.

    All numbers outside the point loops are iterations, in 64 bits. The point loop runs over the
    user's iterator.
    """

    def __init__(self, out: StatementPrinter, nest: TileNest) -> None:
        self.nest, self.bound, self.print_block = nest, out.bound, out.block
        self.writer, self.printer, self.numbers = out.writer, out.printer, out.numbers
        # With register queues, a worker's share of a distributed loop is counted in rounds, which
        # the text names.
        self.in_rounds, self.all_rounds = out.queues is not None, out.all_rounds
        self.wide = out.printer.dialect.wide
        self.loops = {loop.loop.index: loop for loop in nest.loops}
        self.offsets: dict[int, list[str]] = {index: [] for index in self.loops}
        self.read = accessed_objects((nest,))
        self.stack = ExitStack()
        self.order = self._order()
        self.copy = copy_of(nest.body) if AxisKind.WORKER in out.bound and self._is_rolled() else None

    def print(self) -> None:
        with self.stack:
            if any(loop.launch_bounds and any(map(self._is_bound, loop.tiles)) for loop in self.nest.loops):
                self.writer.line("/* Where the distributed tiles of this instance begin, in iterations. */")
            for loop in self.nest.loops:
                if loop.launch_bounds:
                    self._bind(loop)
            entered = {index for index, loop in self.loops.items() if loop.launch_bounds}
            for tile in self.order:
                loop = self.loops[tile.loop]
                if tile.loop not in entered:
                    self._enter(loop)
                    entered.add(tile.loop)
                self._loop(loop, tile)
            for index, loop in self.loops.items():
                if index not in entered:
                    self._enter(loop)
            if self.copy is None:
                self.print_block(self.nest.body)

    def _is_rolled(self) -> bool:
        """Whether the innermost loop distributes elements that workers copy."""
        innermost = self.loops[self.order[-1].loop] if self.order else None
        directive = None if innermost is None else innermost.loop.directive
        return innermost is not None and not _is_plain(innermost) and directive is not None and directive.unroll == 1

    def _is_idle(self, loop: TiledLoop) -> bool:
        """Whether workers run all rounds of the loop, and nothing reads its iterator."""
        return self.all_rounds and _has_workers(loop) and loop.loop.iterator not in self.read

    def _is_bound(self, tile: Tile) -> bool:
        """Whether the tile's index is known outside the nest."""
        return tile.axis is not None and tile.axis.kind in self.bound

    def _order(self) -> list[Tile]:
        """The tiles that become loops. If a loop's numbers are not known at the nest's head, its
        distributed tile waits for the loop's first other tile, or for the end.
        """
        order: list[Tile] = []
        waiting: dict[int, list[Tile]] = {}
        for tile in self.nest.order:
            if self._is_bound(tile):
                continue
            if not self.loops[tile.loop].launch_bounds and tile.axis is not None:
                waiting.setdefault(tile.loop, []).append(tile)
                continue
            order += [*waiting.pop(tile.loop, []), tile]
        for tiles in waiting.values():
            order += tiles
        return order

    def _enter(self, loop: TiledLoop) -> None:
        """Compute the numbers of a loop with bounds from outer iterators, then bind its tiles."""
        if not _is_plain(loop):
            others = [tile for tile in self.order if tile.loop == loop.loop.index]
            counted = any(tile.position == 0 for tile in others[:-1])
            name = self.printer.name(loop.loop.iterator)
            self.writer.line(f"/* Tiles of {name}, by Algorithm 1; its bounds depend on the loops around it. */")
            self._declare_numbers(loop, counted)
        self._bind(loop)

    def _declare_numbers(self, loop: TiledLoop, outermost_count: bool) -> None:
        """Algorithm 1 in place: declare lower, step, trip, counts and strides of a loop whose
        bounds depend on outer iterators; the first count only on request. The rule is that of
        runtime/launch/tile.c: counts from the innermost tile out, each stride the product of the
        counts inside.
        """
        numbers, source = self.numbers, loop.loop
        if literal_value(source.lower) is None:
            self._declare(numbers.lower(loop), self.printer.expression(source.lower, 1))
        if literal_value(source.step) is None:
            self._declare(numbers.step(loop), self.printer.expression(source.step, 1))
        self._declare(numbers.trip(loop), self._trip(loop))
        for tile in reversed(loop.tiles):
            if tile.position > 0 or outermost_count:
                self._declare(numbers.count(loop, tile), self._count(loop, tile))
            if tile.position > 0:
                outer = loop.tiles[tile.position - 1]
                stride = _product(numbers.count(loop, tile), numbers.stride(loop, tile))
                self._declare(numbers.stride(loop, outer), stride)

    def _declare(self, name: str, value: str) -> None:
        self.writer.line(f"const {self.wide} {name} = {value};")

    def _trip(self, loop: TiledLoop) -> str:
        source, step = loop.loop, self.numbers.step(loop)
        lower, upper = self.numbers.lower(loop), f"({self.wide}){self.printer.expression(source.upper, UNARY)}"
        span = f"{lower} - {upper}" if source.decreasing else upper if lower == "0" else f"{upper} - {lower}"
        span += " + 1" if source.comparison in ("<=", ">=") else ""
        if literal_value(source.step) is not None:
            step = step.lstrip("-")
        elif source.decreasing:
            step = f"-{step}"
        return f"tilek_maximum(0, tilek_ceiling_quotient({span}, {step}))"

    def _count(self, loop: TiledLoop, tile: Tile) -> str:
        numbers = self.numbers
        if tile.axis is not None:
            return numbers.axis_count(tile.axis)
        if tile.kind is TileKind.STATIC:
            return numbers.tile_argument(loop, tile)
        stride = numbers.stride(loop, tile)
        dynamic = next((tile_.position for tile_ in loop.tiles if tile_.kind is TileKind.DYNAMIC), len(loop.tiles))
        if tile.position > dynamic:
            return f"tilek_ceiling_quotient({numbers.tile_argument(loop, tile)}, {stride})"
        extent, factors = numbers.trip(loop), [stride]
        for outer in loop.tiles[: tile.position]:
            if outer.kind is TileKind.SIZE:
                extent, factors = numbers.tile_argument(loop, outer), [stride]
            else:
                factors.append(numbers.count(loop, outer) if outer.axis is None else numbers.axis_count(outer.axis))
                if outer.kind is TileKind.STATIC:
                    factors[-1] = numbers.tile_argument(loop, outer)
        divisor = " * ".join(factor for factor in factors if factor != "1") or "1"
        return f"tilek_ceiling_quotient({extent}, {divisor})"

    def _bind(self, loop: TiledLoop) -> None:
        for tile in loop.tiles:
            if self._is_bound(tile) and tile.axis is not None:
                name = self.numbers.name(loop, tile_label(loop, tile))
                index = self.numbers.fresh(axis_name(tile.axis))
                if not self._is_idle(loop):
                    self._declare(name, _product(index, self.numbers.stride(loop, tile)))
                self.offsets[loop.loop.index].append(name)
        if all(self._is_bound(tile) for tile in loop.tiles):
            point = " + ".join(self.offsets[loop.loop.index])
            self.stack.enter_context(self.writer.block(f"if ({point} < {self.numbers.trip(loop)})"))
            self._declare_iterator(loop, point)

    def _declare_iterator(self, loop: TiledLoop, point: str) -> None:
        if loop.loop.iterator in self.read:
            self.writer.line(f"const {self.printer.typed(loop.loop.iterator)} = {self._value(loop, point)};")

    def _loop(self, loop: TiledLoop, tile: Tile) -> None:
        others = [candidate for candidate in self.order if candidate.loop == tile.loop]
        if tile != others[-1]:
            self._tile_loop(loop, tile)
        elif _is_plain(loop) and not loop.launch_bounds:
            # The user's loop, for one dynamic tile whose bounds are known here only.
            source = with_declared_bounds(self.writer, self.printer, self.numbers, loop.loop)
            self._open(loop, tile, loop_head(self.printer, source))
        else:
            self._point_loop(loop, tile)

    def _tile_loop(self, loop: TiledLoop, tile: Tile) -> None:
        name = self.numbers.name(loop, tile_label(loop, tile))
        stride = self.numbers.stride(loop, tile)
        end = _product(self.numbers.count(loop, tile), stride)
        head = f"for ({self.wide} {name} = 0; {name} < {end}; {_advance(name, stride)})"
        self.stack.enter_context(self.writer.block(head))
        self.offsets[tile.loop].append(name)

    def _point_loop(self, loop: TiledLoop, tile: Tile) -> None:
        start = " + ".join(self.offsets[tile.loop])
        stride = self.numbers.stride(loop, tile)
        trip = self.numbers.trip(loop)
        end = trip
        if tile.position > 0:
            extent = _product(self.numbers.count(loop, tile), stride)
            end = f"tilek_minimum({start} + {extent}, {trip})" if start else f"tilek_minimum({extent}, {trip})"
        if counts_in_iterations(loop):
            point, last = self.numbers.name(loop, "point"), self.numbers.name(loop, "end")
            self._declare(last, end)
            head = f"for ({self.wide} {point} = {start or '0'}; {point} < {last}; {_advance(point, stride)})"
            self._open(loop, tile, head, self._single_iteration_exit(loop, tile))
            self._declare_iterator(loop, point)
            return
        last = self.numbers.name(loop, "end")
        iterator = self.printer.name(loop.loop.iterator)
        type_, in_rounds = self.printer.type(loop.loop.iterator.element), self.in_rounds and _has_workers(loop)
        if not (in_rounds and self.all_rounds):
            self.writer.line(f"const {type_} {last} = {self._value(loop, end)};")
        if in_rounds:
            self._rounds(loop, tile, start, last)
            return
        comparison = ">" if loop.loop.decreasing else "<"
        first = self._value(loop, start)
        if self.copy is not None and tile == self.order[-1]:
            where = (loop.loop.iterator, self.numbers.lower(loop), start or "0", last, stride)
            CopyLoopPrinter(self.writer, self.printer, self.numbers, *where).print(self.copy)
            return
        advance = _advance(iterator, stride, self.numbers.step(loop))
        head = f"for ({self.printer.typed(loop.loop.iterator)} = {first}; {iterator} {comparison} {last}; {advance})"
        self._open(loop, tile, head, self._single_iteration_exit(loop, tile))

    def _rounds(self, loop: TiledLoop, tile: Tile, start: str, last: str) -> None:
        """A loop over a worker's rounds, a constant number in specialised programs."""
        iterator, count = self.numbers.name(loop, "round"), self.numbers.count(loop, tile)
        point = f"{start} + {_product(iterator, self.numbers.stride(loop, tile))}"
        self.writer.line(self.printer.dialect.unroll)
        self.stack.enter_context(self.writer.block(f"for (int {iterator} = 0; {iterator} < {count}; ++{iterator})"))
        if not self._is_idle(loop):
            self.writer.line(f"const {self.printer.typed(loop.loop.iterator)} = {self._value(loop, point)};")
        if self.all_rounds:
            return
        shared = _product(count, self.numbers.stride(loop, tile))
        self.writer.line(f"if ({shared} > {last} && {self.printer.name(loop.loop.iterator)} >= {last}) break;")

    def _single_iteration_exit(self, loop: TiledLoop, tile: Tile) -> str:
        """The last line of a loop to which the distributed tiles may leave one iteration, on
        devices. With the count as a constant, the compiler sees that no loop is left, and can
        vectorise over workers.
        """
        if AxisKind.WORKER not in self.bound or not loop.launch_bounds or tile.position > 0 or len(loop.tiles) == 1:
            return ""
        return f"if ({self.numbers.count(loop, tile)} == 1) break;"

    def _open(self, loop: TiledLoop, tile: Tile, head: str, last: str = "") -> None:
        """Open a loop over points, with the compiler's hints and the user's for it."""
        before = inside = ""
        pragmas: tuple[str, ...] = ()
        if loop.loop.index == self.order[-1].loop and self.numbers.stride(loop, tile) == "1":
            before, inside = loop_hints(self.printer.dialect, loop.loop.iterator, loop.loop.step, self.nest.body)
            pragmas = user_pragmas(self.printer, replace(loop.loop, body=self.nest.body))
        directive = loop.loop.directive
        unroll = ""
        if directive is not None and directive.unroll is not None:
            unroll = f"#pragma {'' if self.printer.dialect.device else 'GCC '}unroll {directive.unroll}"
        for line in filter(None, (*pragmas, before, unroll)):
            self.writer.line(line)
        self.stack.enter_context(self.writer.block(head, last))
        if inside:
            self.writer.line(inside)

    def _value(self, loop: TiledLoop, point: str) -> str:
        """The iterator's value at iteration `point`: lower + step * point."""
        lower, step = self.numbers.lower(loop), self.numbers.step(loop)
        if point in ("", "0"):
            return lower
        inner = f"({point})" if " " in point and not point.startswith("tilek_minimum") else point
        if inner != point and self._is_short(loop):
            # Compilers add the bound to addresses, once for all arrays, if the sum cannot overflow.
            inner = f"({self.printer.dialect.index}){inner}"
            return f"{inner if step == '1' else f'{step} * {inner}'} + {lower}"
        if step == "1":
            return point if lower == "0" else f"{lower} + {point}"
        if step == "-1":
            return f"-{inner}" if lower == "0" else f"{lower} - {inner}"
        scaled = f"{step} * {inner}"
        return scaled if lower == "0" else f"{lower} + {scaled}"

    def _is_short(self, loop: TiledLoop) -> bool:
        """Whether iterations have the type of indices: as many as ints from the lower bound up."""
        lower, step, dialect = self.numbers.lower(loop), self.numbers.step(loop), self.printer.dialect
        counts = lower.isdigit() and lower != "0" and step.isdigit() and loop.loop.iterator.element == INT
        return counts and dialect.index != dialect.wide


def _has_workers(loop: TiledLoop) -> bool:
    return any(tile.kind is TileKind.WORKER for tile in loop.tiles)


def _is_plain(loop: TiledLoop) -> bool:
    return len(loop.tiles) == 1 and loop.tiles[0].kind is TileKind.DYNAMIC


def counts_in_iterations(loop: TiledLoop) -> bool:
    """Whether the loop counts iterations: its iterator may overflow one stride past the end."""
    type_ = loop.loop.iterator.element
    return not isinstance(type_, ScalarType) or type_.bits < 32 or (loop.loop.decreasing and not type_.signed)


def _product(left: str, right: str) -> str:
    return " * ".join(factor for factor in (left, right) if factor != "1") or "1"


def _advance(iterator: str, stride: str, step: str = "1") -> str:
    if stride == "1" and step in ("1", "-1"):
        return f"{'++' if step == '1' else '--'}{iterator}"
    if step.startswith("-"):
        return f"{iterator} -= {_product(step[1:], stride)}"
    return f"{iterator} += {_product(step, stride)}"


@dataclass(frozen=True)
class _PointLoop:
    """The points of a worker in one loop of the nest: None for 1. The other fields are names:
    `first` and `last` of the ends of the gang's tile, `worker` of the worker's first point in the
    tile, `step` of the loop over points, `place` of a point's distance from `first`, and `count` of
    the number of workers.
    """

    iterator: DataObject
    points: Points | None
    first: str
    last: str
    worker: str
    step: str
    place: str
    count: str

    @property
    def distance(self) -> str:
        """The name of a point's distance from the tile's first iteration."""
        return self.worker if self.points is None else self.place

    @property
    def workers(self) -> str:
        """How many points the workers have together."""
        return self.count if self.points is None else f"{self.points.count} * {self.count}"

    def steps(self, group: str = "") -> str:
        """The head of the loop over points, or over groups of them."""
        assert self.points is not None, "a loop over several points"
        advance = f"{self.step} += {group}" if group else f"++{self.step}"
        return f"for (int {self.step} = 0; {self.step} < {self.points.count}; {advance})"


@dataclass(frozen=True)
class _PointsRead:
    """An access to an array tile that all points of a worker share but for those of `loop`; `name`
    is that of the array that holds what is read.
    """

    access: Access
    tile: StagedTile
    loop: _PointLoop
    name: str


class _ConvergentNest:
    """Prints a nest with its body. `print_block` prints the code of a worker, `copies` the
    stages. `verify/rules` has checked the nest's loops.

    `inside` is the guard of each worker's code. `nonempty` holds where the tile has an iteration;
    it is empty where that is known.
    `varying` are the objects whose values may differ between workers, or the points of one.
    `full_or_short` are conditions that all points share: their `then` is for full tiles of a
    sequential loop, their `otherwise` for shorter ones, and both compute the same.

    Workers with several `points` have `full` for `inside`: whether the tile has all points.
    `elements` then gives the array element that holds a point's value of a declared scalar.
    """

    def __init__(self, out: StatementPrinter, copies: StagingPrinter, nest: TileNest) -> None:
        self.print_block, self.copies, self.nest = out.block, copies, nest
        self.writer, self.printer, self.numbers = out.writer, out.printer, out.numbers
        self.wide = out.printer.dialect.wide
        self.ends: Ends = {}
        self.inside = self.full = self.nonempty = ""
        self.varying = _varying(nest)
        self.full_or_short: list[If] = []
        self.points: list[_PointLoop] = []
        self.elements: dict[DataObject, Access] = {}

    def print(self) -> None:
        self.writer.line("/* Where the distributed tiles of this instance begin, in iterations. */")
        for tiled in self.nest.loops:
            self._bind(tiled)
        self._declare_full_tiles()
        with ExitStack() as stack:
            for tile in self.nest.order:
                if tile.kind is TileKind.DYNAMIC:
                    tiled = next(loop for loop in self.nest.loops if loop.loop.index == tile.loop)
                    name, stride = self.numbers.name(tiled, "round"), self.numbers.stride(tiled, tile)
                    end = _product(self.numbers.count(tiled, tile), stride)
                    head = f"for ({self.wide} {name} = 0; {name} < {end}; {_advance(name, stride)})"
                    stack.enter_context(self.writer.block(head))
            self._declare_tile()
            if self.nest.guard is not None:
                # All workers of a gang skip a tile without iterations, with its barriers.
                stack.enter_context(self.writer.block(f"if ({self.nonempty})"))
                self.nonempty = ""
            self._block(self.nest.body)

    def _bind(self, tiled: TiledLoop) -> None:
        for tile in tiled.tiles:
            if tile.axis is not None:
                index, stride = self.numbers.fresh(axis_name(tile.axis)), self.numbers.stride(tiled, tile)
                points = self.copies.points_of.get(tiled.loop.iterator)
                if points is not None and tile.kind is TileKind.WORKER:
                    stride = points.group
                type_, name = "int" if tile.kind is TileKind.WORKER else self.wide, tile.kind.value
                self.writer.line(f"const {type_} {self.numbers.name(tiled, name)} = {_product(index, stride)};")

    def _declare_full_tiles(self) -> None:
        """Declare for each loop whether its last tile is full, and so are all."""
        self.writer.line("/* Whether all tiles of a loop are full: constants in specialised programs. */")
        for tiled in self.nest.loops:
            if not tiled.is_distributed:
                continue
            ends = [self._point_loop(tiled).workers]
            for tile in tiled.tiles:
                if tile.kind not in (TileKind.STATIC, TileKind.WORKER):
                    axis, stride = tile.axis, self.numbers.stride(tiled, tile)
                    count = self.numbers.count(tiled, tile) if axis is None else self.numbers.axis_count(axis)
                    ends.append(_product(f"({count} - 1)", stride))
            full, trip = self.numbers.name(tiled, "full"), self.numbers.trip(tiled)
            self.writer.line(f"const int {full} = {' + '.join(ends)} <= {trip};")

    def _point_loop(self, tiled: TiledLoop) -> _PointLoop:
        first, last, step, place, worker = (
            self.numbers.name(tiled, end) for end in ("first", "last", "step", "place", "worker")
        )
        axis = next((tile.axis for tile in tiled.tiles if tile.kind is TileKind.WORKER), None)
        count = "1" if axis is None else self.numbers.axis_count(axis)
        points = self.copies.points_of.get(tiled.loop.iterator)
        return _PointLoop(tiled.loop.iterator, points, first, last, "0" if axis is None else worker, step, place, count)

    def _declare_tile(self) -> None:
        """Declare the ends of the gang's tile, the iterators, and the guard."""
        tests = []
        several = any(tiled.points > 1 for tiled in self.nest.loops)
        for tiled in self.nest.loops:
            moving = (tile for tile in tiled.tiles if tile.kind not in (TileKind.STATIC, TileKind.WORKER))
            offsets = [self.numbers.name(tiled, "round" if tile.axis is None else tile.kind.value) for tile in moving]
            lower = self.numbers.lower(tiled)
            start = " + ".join([*([lower] if lower != "0" else []), *offsets])
            iterator = tiled.loop.iterator
            if not tiled.is_distributed:
                self.writer.line(f"const {self.printer.typed(iterator)} = {start};")
                continue
            trip = self.numbers.trip(tiled)
            end = trip if lower == "0" else f"{lower} + {trip}"
            loop = self._point_loop(tiled)
            first, last = loop.first, loop.last
            self.writer.line(f"const {self.wide} {first} = {start};")
            least = f"tilek_minimum({first} + {loop.workers}, {end})"
            full = self.numbers.name(tiled, "full")
            self.writer.line(f"const {self.wide} {last} = ({full} ? {first} + {loop.workers} : {least}) - 1;")
            self.ends[iterator] = (first, last)
            if several:
                self.points.append(loop)
                continue
            value = f"{first} + {loop.worker}" if loop.worker != "0" else first
            self.writer.line(f"const {self.printer.typed(iterator)} = {value};")
            tests.append(f"{value} <= {last}")
        nonempty = [f"{first} <= {last}" for first, last in self.ends.values()]
        if several:
            self.full = self.numbers.fresh("full")
            tests = [f"{loop.last} - {loop.first} == {loop.workers} - 1" for loop in self.points]
        else:
            self.inside = self.numbers.fresh("inside")
        guard = self.nest.guard
        if guard is not None:
            ends = {
                iterator: (local_scalar(first, LONG), local_scalar(last, LONG))
                for iterator, (first, last) in self.ends.items()
            }
            nonempty.append(self.printer.condition(holds_somewhere(guard, ends)))
            tests.append(self.printer.condition(holds_everywhere(guard, ends) if several else guard))
        self.nonempty = " && ".join(nonempty)
        self.writer.line(f"const int {self.full or self.inside} = {' && '.join(tests)};")

    def _block(self, block: Block) -> None:
        """Statements that all workers reach."""
        statements = block.statements
        place = 0
        while place < len(statements):
            if workers_meet(statements[place]):
                self._convergent(statements[place])
                place += 1
                continue
            end = place
            while end < len(statements) and not workers_meet(statements[end]):
                end += 1
            self._guarded(statements[place:end], statements[end:])
            place = end

    def _convergent(self, statement: Statement) -> None:
        """Print the statement at which workers meet."""
        if isinstance(statement, Barrier):
            self.writer.line(self.printer.dialect.barrier)
        elif isinstance(statement, Stage):
            self.copies.stage(self.writer, statement, self.ends, self.nonempty)
        elif isinstance(statement, PackedPanels):
            self._panels(statement)
        else:
            assert isinstance(statement, Loop), "barriers stand in loops of uniform nests"
            stage, _, *computed, _ = statement.body.statements
            assert isinstance(stage, Stage), "loops over array tiles copy them first"
            self._ahead(statement, stage, tuple(computed))

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
                self._guarded(statements, ())

    def _ahead(self, loop: Loop, stage: Stage, computed: tuple[Statement, ...]) -> None:
        """The loop over tiles `computed`, each copied an iteration ahead where two tiles fit. It
        then has one more iteration, which copies the first tile and computes nothing.
        """
        writer, printer = self.writer, self.printer
        iterator = loop.iterator
        name = printer.name(iterator)
        tiles = loop
        loop = with_declared_bounds(writer, printer, self.numbers, loop)
        lower, upper = printer.expression(loop.lower, 12), printer.expression(loop.upper, 11)
        step = printer.expression(loop.step, 12)
        writer.line("/* The next tile is copied while this one is computed, where there is room for both. */")
        distance = self.copies.start_ahead(writer, step)
        some = self.numbers.fresh("some") if self.nonempty else ""
        if some:
            writer.line(f"const int {some} = {self.nonempty};")
        full = {tile: self._all_full_tiles(tiles, loop, tile) for tile in self._tile_loops(stage, computed)}
        first, type_ = literal_value(loop.lower), printer.type(iterator.element)
        if first is not None and 0 <= first < _LATEST_START and self._tile_loops(stage, computed):
            # All iterations lie along a side of an array: they are as few as its elements.
            type_ = printer.dialect.index
        head = f"for ({type_} {name} = {lower} - {distance}; {name} < {upper}; {name} += {step})"
        copied = replace(iterator, name=self.numbers.fresh(f"{iterator.name}_copied"), host=f"{iterator.host}_copied")

        def moved(expression: Expression) -> Expression:
            return with_accesses(expression, lambda access: access_to(copied) if access.object == iterator else access)

        with writer.block(head):
            writer.line(f"const {type_} {printer.name(copied)} = {name} + {distance};")
            ends = self.ends
            for tile in self._tile_loops(stage, computed):
                ends = ends | self._declared_ends(tile, f"{tile.iterator.name}_copied", moved, full[tile])
            nonempty = " && ".join([f"{printer.name(copied)} < {upper}", *([some] if some else [])])
            self.copies.copy_ahead(writer, stage, ends, nonempty, moved)
            bounded = self._bounded(stage, computed, full)
            if self.points:
                with writer.block(f"if ({name} >= {lower})"):
                    self._block(Block(bounded))
            else:
                inside = self.inside
                self.inside = f"{name} >= {lower} && {inside}"
                self._block(Block(bounded))
                self.inside = inside
            self.copies.finish_ahead(writer, stage, nonempty)

    def _all_full_tiles(self, tiles: Loop, declared: Loop, inner: Loop) -> str:
        """Declare whether a loop over tiles, with `declared` bounds, has only full ones, in which
        `inner` runs; gives the name. Empty where the tiles may differ for another reason.
        """
        step, size = literal_value(tiles.step), polynomial(access_to(tiles.iterator)) + polynomial(tiles.step)
        upper = inner.upper
        if step is None or not isinstance(upper, Call) or upper.function != "tilek_minimum":
            return ""
        ends = [polynomial(argument) for argument in upper.arguments]
        if ends != [size, polynomial(tiles.upper)] or polynomial(inner.lower) != polynomial(access_to(tiles.iterator)):
            return ""
        name, end = self.numbers.fresh(f"{inner.iterator.name}_full"), self.printer.expression(declared.upper, 12)
        lower = self.printer.expression(declared.lower, 13)
        trip = end if literal_value(tiles.lower) == 0 else f"(({self.wide}){end} - {lower})"
        self.writer.line(f"const int {name} = {trip} % {step} == 0;")
        return name

    def _bounded(
        self, stage: Stage, computed: tuple[Statement, ...], full: Mapping[Loop, str]
    ) -> tuple[Statement, ...]:
        """Declare the ends of the stage's tile loops; the loops between these ends. `full`: the
        conditions by which all tiles are full.
        """
        terms = {term.iterator: term.extent for array in stage.arrays for side in array.sides for term in side.terms}
        loops = self._tile_loops(stage, computed)
        bounded: list[Statement] = []
        for statement in computed:
            if isinstance(statement, Loop) and statement in loops:
                extent = terms[statement.iterator]
                assert isinstance(extent, int), "workers have no loops inside"
                ends = self._declared_ends(statement, statement.iterator.name, lambda bound: bound, full[statement])
                self.full_or_short.append(_between(statement, *ends[statement.iterator], extent))
                statement = self.full_or_short[-1]
            bounded.append(statement)
        return tuple(bounded)

    def _tile_loops(self, stage: Stage, rest: tuple[Statement, ...]) -> list[Loop]:
        """The loops after a stage whose iterators its array tiles have."""
        terms = {term.iterator for array in stage.arrays for side in array.sides for term in side.terms}
        inner = terms - self.ends.keys()
        return [statement for statement in rest if isinstance(statement, Loop) and statement.iterator in inner]

    def _declared_ends(self, loop: Loop, prefix: str, moved: Moved, full: str) -> Ends:
        """Declare the first and the last value of a loop's iterator, `prefix` in their names. Where
        `full` holds, the last is that of a full tile.
        """
        printer, iterator = self.printer, loop.iterator
        first, last = named_ends(self.numbers, prefix)
        lower, upper = printer.expression(moved(loop.lower), 1), printer.expression(moved(loop.upper), 11)
        self.writer.line(f"const {printer.type(iterator.element, first)} = {lower};")
        value = f"{upper} - 1"
        if full:
            assert isinstance(loop.upper, Call), "the end of a full tile or of all tiles"
            size = (polynomial(loop.upper.arguments[0]) - polynomial(loop.lower)).constant
            assert size is not None, "full tiles have a literal size"
            value = f"{full} ? {first} + {size - 1} : {value}"
        self.writer.line(f"const {printer.type(iterator.element, last)} = {value};")
        return {iterator: (first, last)}

    def _guarded(self, statements: tuple[Statement, ...], rest: tuple[Statement, ...]) -> None:
        """Print statements under the guard of each worker; `rest` follows them."""
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
                self.print_block(Block(tuple(guarded)))

    def _hoisted(self, declarators: tuple[Declarator, ...]) -> Iterator[Statement]:
        """Declare the objects for all later statements; the guard covers assignments."""
        for declarator in declarators:
            object_ = replace(declarator.object, const=False)
            self._declare(declarator.object if self.points else object_)
            if declarator.value is not None:
                yield assign(access_to(object_), declarator.value)

    def _declare(self, object_: DataObject) -> None:
        """Declare an object of each worker; an array that holds a scalar for each of its points."""
        if not self.points:
            self.writer.line(f"{self.printer.declaration(object_)};")
            return
        element = self._array_of_points(object_, [loop for loop in self.points if loop.points is not None])
        for key in (object_, replace(object_, const=False)):
            self.elements[key] = element

    def _array_of_points(self, object_: DataObject, loops: Sequence[_PointLoop]) -> Access:
        """Declare an array of an object for each point of `loops`; the element of a point."""
        lengths = tuple(local_scalar(loop.points.count, INT) for loop in loops if loop.points is not None)
        array = DataObject(
            object_.name, object_.host, object_.element, Storage.CONTIGUOUS, Scope.LOCAL, lengths, range=object_.range
        )
        self.writer.line(f"{self.printer.declaration(array)};")
        return Access(array, tuple(local_scalar(loop.step, INT) for loop in loops), (), object_.element)

    def _all_points(self, statements: list[Statement]) -> None:
        branches = [
            statement for statement in statements if isinstance(statement, If) and statement in self.full_or_short
        ]
        full, short = (_for_tiles(statements, branches, full=full) for full in (True, False))
        guarded = not self._is_speculative(full)
        tests = [self.full] if guarded else []
        tests += [self.printer.condition(statement.condition) for statement in branches]
        if not tests:
            self._jammed(full, guarded=False)
            return
        with self.writer.block(f"if ({' && '.join(tests)})"):
            self._jammed(full, guarded=False, full=True if branches else None)
            self.writer.otherwise()
            # Compilers would unroll for each number of iterations that is left over.
            self._jammed(short, guarded=guarded, full=False if branches else None)

    def _is_speculative(self, statements: tuple[Statement, ...]) -> bool:
        """Whether statements may run for points that do not exist: they touch copies and registers
        alone, and cannot fail.
        """
        statements = _without_idle(statements)
        objects = accessed_objects(statements)
        if any(object_.rank > 0 and self.copies.tile_of(object_) is None for object_ in objects):
            return False
        for statement in statements:
            inner = statement.body if isinstance(statement, Loop) else statement
            if not self._is_speculative(inner.statements) if isinstance(inner, Block) else not is_harmless(inner):
                return False
        return True

    def _jammed(self, statements: tuple[Statement, ...], *, guarded: bool, full: bool | None = None) -> None:
        """Print shared loops around the points, unless their bodies declare objects. Outer ones of
        `full` tiles are unrolled and read ahead, those of tiles that are cut off stay loops; None:
        they are no tiles.
        """
        by_points = with_accesses(Block(statements), lambda access: self.elements.get(access.object, access))
        statements = _without_idle(_unwrapped(by_points).statements)
        loops = (statement for statement in statements if isinstance(statement, Loop))
        shared = [loop for loop in loops if _is_shared(loop.bounds, self.varying)]
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
            body = Block(_without_idle(_unwrapped(statement.body).statements))
            reads = self._reads_of_points(body) if full and not guarded else ()
            if reads:
                self.writer.line("/* An iteration reads what the next one needs before it computes. */")
            ahead = [self._declare_points(read, "_ahead") for read in reads]
            for read, points in zip(reads, ahead, strict=True):
                first = _at(read.access, statement.iterator, statement.lower)
                short = tuple(expression(polynomial(subscript), INT) for subscript in first.subscripts)
                self._read_points(replace(read, access=replace(first, subscripts=short)), points)
            if full is not None:
                self.writer.line(self.printer.dialect.unroll if full else "#pragma unroll 1")
            with self.writer.block(loop_head(self.printer, statement, statement.declares_iterator)):
                if reads:
                    self._double_buffered(replace(statement, body=body), reads, ahead)
                else:
                    self._jammed(body.statements, guarded=guarded)
        self._points(tuple(waiting), guarded=guarded)

    def _double_buffered(self, loop: Loop, reads: Sequence[_PointsRead], ahead: Sequence[Access]) -> None:
        """Print the body of a full tile's loop: take the points that are `ahead`, read those of the
        next iteration, and compute.
        """
        taken = {}
        for read, points in zip(reads, ahead, strict=True):
            taken[read.access] = self._declare_points(read)
            self.writer.line(self.printer.dialect.unroll)
            with self.writer.block(read.loop.steps()):
                self.writer.line(f"{self.printer.expression(taken[read.access])} = {self.printer.expression(points)};")
        iterator, lower, type_ = polynomial(access_to(loop.iterator)), polynomial(loop.lower), loop.iterator.element
        assert isinstance(type_, ScalarType), "iterators are numbers"
        last = expression(polynomial(loop.upper) - lower - number(1), type_)
        has_next = Binary("<", expression(iterator - lower, type_), last, INT)
        with self.writer.block(f"if ({self.printer.condition(has_next)})"):
            for read, points in zip(reads, ahead, strict=True):
                following = _at(read.access, loop.iterator, expression(iterator + number(1), type_))
                self._read_points(replace(read, access=following), points)
        points_taken = with_accesses(loop.body.statements, lambda access: taken.get(access, access))
        self._points(points_taken, guarded=False)

    def _reads_of_points(self, body: Block) -> tuple[_PointsRead, ...]:
        """What points of one loop need of array tiles, if the body consists of expressions that
        cannot fail and change no tile.
        """
        tile_of = self.copies.tile_of
        if not is_harmless(body) or any(tile_of(object_) is not None for object_ in written_in(body)):
            return ()
        reads: dict[Access, _PointsRead] = {}
        places = {loop.place: loop for loop in self.points if loop.points is not None}
        for access in (node for node in walk(body) if isinstance(node, Access)):
            tile, objects = tile_of(access.object), accessed_objects(access.subscripts)
            loops = [places[object_.name] for object_ in objects if object_.name in places]
            if tile is not None and len(loops) == 1 and access not in reads:
                ordinal = 1 + sum(other.object == access.object for other in reads)
                reads[access] = _PointsRead(access, tile, loops[0], f"{tile.read}{ordinal if ordinal > 1 else ''}")
        return tuple(reads.values())

    def _declare_points(self, read: _PointsRead, suffix: str = "") -> Access:
        """Declare an array for what is read; the element of a point."""
        name = self.numbers.fresh(f"{read.name}{suffix}")
        return self._array_of_points(replace(read.access.object, name=name, host=name), [read.loop])

    def _read_points(self, read: _PointsRead, points: Access) -> None:
        """Read one element for each point of a loop, vectors of neighbours if possible."""
        loop = read.loop
        assert loop.points is not None, "a loop over several points"
        self.writer.line(self.printer.dialect.unroll)
        place = f"{loop.worker} + {loop.step} * {loop.count}"
        source = self.printer.expression(read.access)
        if read.tile.has_vectors_of_points:
            with self.writer.block(loop.steps(loop.points.group)):
                self.writer.line(f"const int {loop.place} = {place};")
                target = self.printer.expression(points)
                self.writer.line(f"{read.tile.reader[0]}(&{target}, &{source}, {loop.points.group});")
            return
        with self.writer.block(loop.steps()):
            self._declare_place(loop)
            self.writer.line(f"{self.printer.expression(points)} = {source};")

    def _declare_place(self, loop: _PointLoop) -> None:
        """Declare the distance of a point from the tile's first iteration."""
        assert loop.points is not None, "a loop over several points"
        step, group = loop.step, loop.points.group
        value = f"{loop.worker} + {step} / {group} * {group} * {loop.count} + {step} % {group}"
        self.writer.line(f"const int {loop.place} = {value};")

    def _points(self, statements: tuple[Statement, ...], *, guarded: bool) -> None:
        if not statements:
            return
        taken = {}
        for shared in () if guarded else self._reads_of_points(Block(statements)):
            taken[shared.access] = self._declare_points(shared)
            self._read_points(shared, taken[shared.access])
        statements = with_accesses(statements, lambda access: taken.get(access, access))
        decided = (self.nest.guard,) if guarded and self.nest.guard is not None else ()
        read = accessed_objects((*decided, *statements))
        names = {scalar.name for scalar in read}
        with ExitStack() as stack:
            for loop in self.points:
                if loop.points is not None:
                    self.writer.line(self.printer.dialect.unroll)
                    stack.enter_context(self.writer.block(loop.steps()))
            for loop in self.points:
                wanted = guarded or loop.place in names or loop.iterator in read
                if loop.points is not None and wanted:
                    self._declare_place(loop)
            if guarded:
                tests = " && ".join(f"{loop.first} + {loop.distance} <= {loop.last}" for loop in self.points)
                stack.enter_context(self.writer.block(f"if ({tests})"))
            for loop in self.points:
                if loop.iterator in read:
                    self.writer.line(f"const {self.printer.typed(loop.iterator)} = {loop.first} + {loop.distance};")
            if guarded and self.nest.guard is not None:
                stack.enter_context(self.writer.block(f"if ({self.printer.condition(self.nest.guard)})"))
            self.print_block(Block(statements))


def _unwrapped(block: Block) -> Block:
    """The innermost of blocks that hold a block alone."""
    while isinstance(inner := _only(block), Block):
        block = inner
    return block


def _at(access: Access, iterator: DataObject, value: Expression) -> Access:
    """The access in the iteration where `iterator` has the value."""
    subscripts = with_accesses(access.subscripts, lambda inner: value if inner.object == iterator else inner)
    return replace(access, subscripts=subscripts)


def _varying(nest: TileNest) -> frozenset[DataObject]:
    """The objects whose values may differ between the nest's workers, or the points of one."""
    iterators = {tiled.loop.iterator for tiled in nest.loops if tiled.is_distributed}
    written = written_in(nest.body)
    loops_inside = {node.iterator for node in walk(nest.body) if isinstance(node, Loop)}
    return frozenset(((iterators | written) - loops_inside) | declared_in(nest.body))


def _is_shared(values: Iterable[Expression], varying: frozenset[DataObject]) -> bool:
    """Whether all workers and points surely have the same values; `varying` objects may differ."""
    return not any(object_ in varying or object_.rank > 0 for object_ in accessed_objects(values))


def _between(loop: Loop, first: str, last: str, extent: int) -> If:
    """The loop between named ends, with a constant trip count where the tile is full."""
    type_ = loop.iterator.element
    start, end = local_scalar(first, type_), local_scalar(last, type_)
    short = replace(loop, lower=start, comparison="<=", upper=end)
    is_full = Binary("==", Binary("-", end, start, type_), integer(extent - 1), INT)
    full = replace(loop, lower=start, comparison="<", upper=Binary("+", start, integer(extent), type_))
    return If(is_full, Block((full,)), Block((short,)))


def _for_tiles(statements: list[Statement], branches: list[If], *, full: bool) -> tuple[Statement, ...]:
    """The statements for full tiles, or for shorter ones, without the conditions that tell them."""
    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, If) and statement in branches:
            branch = statement.then if full else statement.otherwise
            result += branch.statements if branch is not None else ()
        else:
            result.append(statement)
    return tuple(result)


def _without_idle(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    needed: tuple[Statement, ...] = ()
    for statement in reversed(statements):
        if not is_idle(statement, needed):
            needed = (statement, *needed)
    return needed


def instance_kind(launch: Launch) -> AxisKind | None:
    """The axis kind of the launch's instances: threads, else gangs; None for one instance."""
    kinds = {axis.kind for axis in launch.axes}
    return next((kind for kind in (AxisKind.THREAD, AxisKind.GANG) if kind in kinds), None)


def instance_count(launch: Launch, numbers: LaunchParameters) -> str:
    """The number of instances of a launch that has several."""
    kind = instance_kind(launch)
    assert kind is not None, "one instance needs no count"
    return numbers.total(used_dimensions(launch, kind))


def instance_loop(
    writer: Writer, stack: ExitStack, launch: Launch, numbers: LaunchParameters, wide: str, first: str, last: str
) -> str:
    """Loop over the instances [first, last) and compute gang indices; the linear index."""
    if instance_kind(launch) is AxisKind.THREAD:
        name = numbers.fresh("thread")
        stack.enter_context(writer.block(f"for ({wide} {name} = {first}; {name} < {last}; ++{name})"))
        return name
    axes = used_dimensions(launch, AxisKind.GANG)
    names = [numbers.fresh(axis_name(axis)) for axis in axes]
    linear = names[0] if len(axes) == 1 else numbers.fresh("gang")
    stack.enter_context(writer.block(f"for ({wide} {linear} = {first}; {linear} < {last}; ++{linear})"))
    inner = ""
    for axis, name in zip(axes, names, strict=True):
        if len(axes) > 1:
            divided = linear if not inner else f"{linear} / {inner if ' ' not in inner else f'({inner})'}"
            count = numbers.axis_count(axis) if axis != axes[-1] else ""
            writer.line(f"const {wide} {name} = {divided}{f' % {count}' if count else ''};")
            inner = f"{inner} * {count}" if inner and count else count or inner
    return linear


def loop_head(printer: Printer, loop: Loop, is_typed: bool = True) -> str:
    """The loop's `for (…)`, which declares its iterator if `is_typed`."""
    iterator = printer.scalar(loop.iterator)
    declared = printer.typed(loop.iterator) if is_typed else iterator
    if counts_down_to_zero(loop):
        start = printer.expression(Binary("+", loop.lower, integer(1), loop.lower.type), 1)
        return f"for ({declared} = {start}; {iterator}-- > 0;)"
    step = literal_value(loop.step)
    if step in (1, -1):
        advance = f"{'++' if step == 1 else '--'}{iterator}"
    elif isinstance(loop.step, Unary) and loop.step.operator == "-":
        advance = f"{iterator} -= {printer.expression(loop.step.operand, 1)}"
    else:
        advance = f"{iterator} += {printer.expression(loop.step, 1)}"
    condition = f"{iterator} {loop.comparison} {printer.expression(loop.upper, 11)}"
    distance = None
    if printer.dialect.device and loop.comparison == "<" and literal_value(loop.lower) is None:
        distance = (polynomial(loop.upper) - polynomial(loop.lower)).constant
    if distance is not None:
        # GPUs' compilers see the trip count of `k < k_first + 16` only if the sum cannot wrap.
        condition = f"{iterator} - {printer.expression(loop.lower, 13)} < {distance}"
    return f"for ({declared} = {printer.expression(loop.lower, 1)}; {condition}; {advance})"


def with_declared_bounds(writer: Writer, printer: Printer, numbers: LaunchParameters, loop: Loop) -> Loop:
    """The loop, with bounds declared before it where the head is too long; the upper one first.
    Only the planner's loops: their bounds do not change inside, and a debugger shows no user's line
    for them.
    """
    if loop.range != NOWHERE or counts_down_to_zero(loop):
        return loop
    for side, suffix in (("upper", "end"), ("lower", "start")):
        if not writer.fits(f"{loop_head(printer, loop)} {{"):
            name = numbers.once(f"{loop.iterator.name}_{suffix}")
            bound = declared_bound(writer, printer, name, loop.upper if side == "upper" else loop.lower)
            loop = replace(loop, upper=bound) if side == "upper" else replace(loop, lower=bound)
    return loop


def declared_bound(writer: Writer, printer: Printer, name: str, bound: Expression) -> Expression:
    """Declare `name` with the bound's value; the expression that reads it. Short bounds stay."""
    if isinstance(bound, Access) or literal_value(bound) is not None:
        return bound
    object_ = DataObject(name, name, bound.type, Storage.SCALAR, Scope.LOCAL, const=True)
    writer.line(f"{printer.declaration(object_)} = {printer.expression(bound, 1)};")
    return access_to(object_)


def counts_down_to_zero(loop: Loop) -> bool:
    """Whether an unsigned iterator ends at 0. `i >= 0` always holds, so `i-- > 0` is printed."""
    type_ = loop.iterator.element
    unsigned = isinstance(type_, ScalarType) and not type_.signed
    return unsigned and loop.comparison == ">=" and literal_value(loop.step) == -1 and literal_value(loop.upper) == 0
