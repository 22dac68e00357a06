"""Statements as text of a target, with their tile nests.

Nests with convergent control flow have a printer of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.convergent_nests import ConvergentNest
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.loop_heads import declared_bound, loop_head, with_declared_bounds
from tilepragma.codegen.loop_hints import loop_hints
from tilepragma.codegen.mentioned_objects import accessed_objects, is_idle
from tilepragma.codegen.numbering import Numbers, axis_name, tile_label, used_dimensions
from tilepragma.codegen.outlined_rows import OutlinedRow, iterations, row_function
from tilepragma.codegen.packed_panels import comment, has_padded_tiles, objects_outside, panel_parts
from tilepragma.codegen.printer import UNARY, Printer
from tilepragma.codegen.register_queues import RegisterQueuePrinter
from tilepragma.codegen.shared_memory import StagingPrinter
from tilepragma.codegen.writer import Writer, wrapped_list
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import DataObject, Scope, Storage
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
    Return,
    Statement,
    Switch,
    Tile,
    TiledLoop,
    TileNest,
    While,
)
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import Launch
from tilepragma.user_tiles.chain_checks import literal_trip


@dataclass(frozen=True)
class Rows:
    """Collects row functions: `texts` of functions called `name` and a number. `arrays` are those
    that their loops may have, none of which overlaps another. It gives for each the names that the
    text uses, lengths of its rows first, with declarations of parameters of these names.
    """

    name: str
    arrays: Mapping[DataObject, tuple[tuple[str, str], ...]]
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class StatementPrinter:
    """Prints the statements of a launch, or of a function (which has no nests). `copies` prints the
    stages of convergent nests. `rows` collects functions to be printed before the text; None: there
    is no place. `queues` prints register queues.
    """

    writer: Writer
    printer: Printer
    numbers: Numbers = field(default_factory=lambda: Numbers((), {}, frozenset()))
    bound: frozenset[AxisKind] = frozenset()
    copies: StagingPrinter | None = None
    rows: Rows | None = None
    queues: RegisterQueuePrinter | None = None

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
            ConvergentNest(self.writer, self.printer, self.numbers, self.block, self.copies, node).print()
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
            chained = _only(otherwise)
            while isinstance(chained, Block):
                chained = _only(chained)
            if isinstance(chained, If):
                self.writer.user(f"}} else if ({self.printer.condition(chained.condition)}) {{", chained.range)
                self._body(chained.then)
                otherwise = chained.otherwise
            else:
                self.writer.line("} else {")
                self._body(otherwise)
                break
        self.writer.line("}")

    def _loop(self, node: Loop) -> None:
        function = None if self.rows is None else row_function(node, self.rows.arrays, self.numbers)
        if self.rows is not None and function is not None:
            self._row(node, function, self.rows)
            return
        if self.printer.dialect.barrier and any(isinstance(inner, Barrier) for inner in node.body.statements):
            iterator = self.printer.scalar(node.iterator)
            self.writer.line(
                f"/* One {iterator} after the other: the workers share it, and wait for all before they go on. */"
            )
        if node.declares_iterator:
            node = with_declared_bounds(self.writer, self.printer, self.numbers, node)
        before, inside = loop_hints(self.printer.dialect, node.iterator, node.step, node.body, literal_trip(node))
        unroll = self.printer.dialect.unroll if self.queues is not None and self.queues.is_unrolled(node) else ""
        for line in filter(None, (before, unroll)):
            self.writer.line(line)
        self.writer.user(loop_head(self.printer, node, node.declares_iterator) + " {", node.range)
        if inside:
            self.writer.line(inside)
        if self.queues is not None and self.queues.is_position(node):
            self.writer.depth += 1
            self.queues.move(self.writer)
            self.writer.depth -= 1
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
    """The only statement of the block; None where it has more or fewer."""
    return block.statements[0] if len(block.statements) == 1 else None


def _declared(block: Block) -> frozenset[str]:
    declarations = [statement for statement in block.statements if isinstance(statement, Declaration)]
    return frozenset(declarator.object.name for declaration in declarations for declarator in declaration.declarators)


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
        self.in_rounds = out.queues is not None
        self.wide = out.printer.dialect.wide
        self.loops = {loop.loop.index: loop for loop in nest.loops}
        self.offsets: dict[int, list[str]] = {index: [] for index in self.loops}
        self.read = accessed_objects((nest,))
        self.stack = ExitStack()
        self.order = self._order()

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
            self.print_block(self.nest.body)

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
        advance = f"++{name}" if stride == "1" else f"{name} += {stride}"
        self.stack.enter_context(self.writer.block(f"for ({self.wide} {name} = 0; {name} < {end}; {advance})"))
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
        type_ = self.printer.type(loop.loop.iterator.element)
        self.writer.line(f"const {type_} {last} = {self._value(loop, end)};")
        if self.in_rounds and any(tile.kind is TileKind.WORKER for tile in loop.tiles):
            self._rounds(loop, tile, start, last)
            return
        comparison = ">" if loop.loop.decreasing else "<"
        first = self._value(loop, start)
        advance = _advance(iterator, stride, self.numbers.step(loop))
        head = f"for ({self.printer.typed(loop.loop.iterator)} = {first}; {iterator} {comparison} {last}; {advance})"
        self._open(loop, tile, head, self._single_iteration_exit(loop, tile))

    def _rounds(self, loop: TiledLoop, tile: Tile, start: str, last: str) -> None:
        """A loop over a worker's rounds, a constant number in specialised programs."""
        iterator, count = self.numbers.name(loop, "round"), self.numbers.count(loop, tile)
        point = f"{start} + {_product(iterator, self.numbers.stride(loop, tile))}"
        self.writer.line(self.printer.dialect.unroll)
        self.stack.enter_context(self.writer.block(f"for (int {iterator} = 0; {iterator} < {count}; ++{iterator})"))
        self.writer.line(f"const {self.printer.typed(loop.loop.iterator)} = {self._value(loop, point)};")
        name = self.printer.name(loop.loop.iterator)
        self.writer.line(f"if ({name} >= {last}) break;")

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
        if loop.loop.index == self.order[-1].loop and self.numbers.stride(loop, tile) == "1":
            before, inside = loop_hints(self.printer.dialect, loop.loop.iterator, loop.loop.step, self.nest.body)
        directive = loop.loop.directive
        unroll = ""
        if directive is not None and directive.unroll is not None:
            unroll = f"#pragma {'' if self.printer.dialect.device else 'GCC '}unroll {directive.unroll}"
        for line in filter(None, (before, unroll)):
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
        if step == "1":
            return point if lower == "0" else f"{lower} + {point}"
        if step == "-1":
            return f"-{inner}" if lower == "0" else f"{lower} - {inner}"
        scaled = f"{step} * {inner}"
        return scaled if lower == "0" else f"{lower} + {scaled}"


def _is_plain(loop: TiledLoop) -> bool:
    return len(loop.tiles) == 1 and loop.tiles[0].kind is TileKind.DYNAMIC


def counts_in_iterations(loop: TiledLoop) -> bool:
    """Whether the loop counts iterations: its iterator may overflow one stride past the end."""
    type_ = loop.loop.iterator.element
    if not isinstance(type_, ScalarType) or type_.bits < 32:
        return True
    return loop.loop.decreasing and not type_.signed


def _product(left: str, right: str) -> str:
    if left == "1" or right == "1":
        return right if left == "1" else left
    return f"{left} * {right}"


def _advance(iterator: str, stride: str, step: str = "1") -> str:
    if stride == "1" and step in ("1", "-1"):
        return f"{'++' if step == '1' else '--'}{iterator}"
    if step.startswith("-"):
        return f"{iterator} -= {_product(step[1:], stride)}"
    return f"{iterator} += {_product(step, stride)}"


def instance_kind(launch: Launch) -> AxisKind | None:
    """The axis kind of the launch's instances: threads, else gangs; None for one instance."""
    kinds = {axis.kind for axis in launch.axes}
    return next((kind for kind in (AxisKind.THREAD, AxisKind.GANG) if kind in kinds), None)


def instance_count(launch: Launch, numbers: Numbers) -> str:
    """The number of instances of a launch that has several."""
    kind = instance_kind(launch)
    assert kind is not None, "one instance needs no count"
    return numbers.total(used_dimensions(launch, kind))


def instance_loop(
    writer: Writer, stack: ExitStack, launch: Launch, numbers: Numbers, wide: str, first: str, last: str
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
