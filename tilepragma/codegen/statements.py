"""Statements as text of a target; the nest printers print tile nests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.convergent_nests import ConvergentNestPrinter, Copies
from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.line_breaking import wrapped_list
from tilepragma.codegen.loop_heads import declared_bound, loop_head, with_declared_bounds
from tilepragma.codegen.loop_hints import loop_hints
from tilepragma.codegen.nests import NestPrinter
from tilepragma.codegen.outlined_rows import OutlinedRow, iterations, row_function
from tilepragma.codegen.packed_panels import comment, panel_parts
from tilepragma.codegen.padded_panels import has_padded_tiles, objects_outside
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.register_queues import RegisterQueuePrinter
from tilepragma.codegen.unused_declarations import is_idle
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
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
    TileNest,
    While,
)
from tilepragma.user_tiles.chain_checks import literal_trip


@dataclass(frozen=True)
class Rows:
    """Collects row functions: `texts` of functions called `name` and a number. The arrays of their
    loops are all in `apart`. `arrays` gives for each the names that the text uses, lengths of its
    rows first, with declarations of parameters of these names.
    """

    name: str
    apart: frozenset[DataObject]
    arrays: Mapping[DataObject, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class StatementPrinter:
    """Prints the statements of a launch, or of a function (which has no nests). `copies` prints the
    stages of convergent nests. `rows` collects functions to be printed before the text; None: there
    is no place. `columns` prints register queues.
    """

    writer: Writer
    printer: Printer
    numbers: Numbers = field(default_factory=lambda: Numbers((), {}, frozenset()))
    bound: frozenset[AxisKind] = frozenset()
    copies: Copies | None = None
    rows: Rows | None = None
    columns: RegisterQueuePrinter | None = None

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
            case While():
                self._while(node)
            case Switch(condition, body):
                self._head(f"switch ({printer.condition(condition)}) {{", node)
                self._body(body)
                writer.line("}")
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
            ConvergentNestPrinter(self.writer, self.printer, self.numbers, self.block, self.copies).nest(node)
            return
        in_rounds = self.columns is not None
        NestPrinter(self.writer, self.printer, self.numbers, self.bound, self.block, in_rounds=in_rounds).nest(node)

    def declarator(self, declarator: Declarator) -> str:
        """`T x = value`."""
        object_ = declarator.object
        text = self.printer.declaration(object_)
        if declarator.initializer is None:
            return text
        return f"{text} = {self.printer.initializer(declarator.initializer, object_.element)}"

    def _if(self, node: If) -> None:
        self._head(f"if ({self.printer.condition(node.condition)}) {{", node)
        self._body(node.then)
        otherwise = node.otherwise
        while otherwise is not None:
            chained = _only(otherwise)
            while isinstance(chained, Block):
                chained = _only(chained)
            if isinstance(chained, If):
                self._head(f"}} else if ({self.printer.condition(chained.condition)}) {{", chained)
                self._body(chained.then)
                otherwise = chained.otherwise
            else:
                self.writer.line("} else {")
                self._body(otherwise)
                break
        self.writer.line("}")

    def _loop(self, node: Loop) -> None:
        function = None if self.rows is None else row_function(node, self.rows.apart, self.numbers)
        if self.rows is not None and function is not None:
            self._row(node, function, self.rows)
            return
        iterator = self.printer.scalar(node.iterator)
        declared = self.printer.type(node.iterator.element, iterator) if node.declares_iterator else iterator
        if _meets_barriers(node) and self.printer.dialect.barrier:
            self.writer.line(
                f"/* One {iterator} after the other: the workers share it, and wait for all before they go on. */"
            )
        if node.declares_iterator:
            node = with_declared_bounds(self.writer, self.printer, self.numbers, node, declared)
        hints = loop_hints(self.printer.dialect, node.iterator, node.step, node.body, literal_trip(node))
        for line in hints.before:
            self.writer.line(line)
        if self.columns is not None and self.columns.is_unrolled(node):
            self.writer.line(self.printer.dialect.unroll)
        self._head(loop_head(self.printer, node, declared) + " {", node)
        for line in hints.inside:
            self.writer.line(line)
        if self.columns is not None and self.columns.is_position(node):
            self.writer.depth += 1
            self.columns.move(self.writer)
            self.writer.depth -= 1
        self._body(node.body, frozenset({node.iterator.name}))
        self.writer.line("}")

    def _row(self, node: Loop, function: OutlinedRow, rows: Rows) -> None:
        """The loop as a call of an outlined function."""
        name = f"{rows.name}{len(rows.texts) + 1}"
        inner = Writer(user_lines=self.writer.user_lines, depth=1)
        StatementPrinter(inner, self.printer, self.numbers).statement(function.loop)
        declared = [self.printer.declaration(parameter) for parameter in function.parameters]
        rows.texts.append(wrapped_list(f"TILEK_ROW void {name}(", declared, ")") + "\n{\n" + inner.text() + "}\n")
        iterator = self.printer.name(node.iterator)
        with self.writer.block():
            name_of_end = self.numbers.once(f"{node.iterator.name}_end")
            node = replace(node, upper=declared_bound(self.writer, self.printer, name_of_end, node.upper))
            lower = self.printer.expression(node.lower, 1)
            self.writer.line(f"const {self.printer.type(node.iterator.element, iterator)} = {lower};")
            arguments = [self.printer.expression(argument, 1) for argument in (iterations(node), *function.arguments)]
            condition = f"{iterator} {node.comparison} {self.printer.expression(node.upper, 11)}"
            self.writer.line(f"if ({condition}) {name}({', '.join(arguments)});")

    def _padded(self, node: PackedPanels) -> bool:
        """Print the statement as a call of an outlined function; False where that is impossible."""
        outside = objects_outside(node)
        scalars = [object_ for object_ in outside if object_.storage is Storage.SCALAR]
        arrays = [object_ for object_ in outside if object_ not in scalars]
        rows, printer = self.rows, self.printer
        if rows is None or not set(arrays) <= set(rows.arrays) or printer.objects.indirect & set(scalars):
            return False
        inner = Writer(user_lines=self.writer.user_lines, depth=1)
        statements = panel_parts(node, self.numbers.fresh).statements
        StatementPrinter(inner, printer, self.numbers).block(Block(statements))
        constants = [replace(scalar, scope=Scope.LOCAL, const=True) for scalar in scalars]
        passed = [names for object_ in arrays for names in rows.arrays[object_]]
        declared = [*(text for _, text in passed), *map(printer.declaration, constants)]
        name = f"{rows.name}{len(rows.texts) + 1}"
        head = wrapped_list(f"TILEK_WIDE TILEK_ROW void {name}(", declared, ")")
        rows.texts.append(f"{head}\n{{\n{inner.text()}}}\n")
        arguments = [*(array for array, _ in passed), *map(printer.name, scalars)]
        self.writer.line(f"{name}({', '.join(arguments)});")
        return True

    def _for(self, node: ForLoop) -> None:
        printer = self.printer
        first = node.initialization
        start = ""
        if first is not None:
            start = self._declarators(first) if isinstance(first, Declaration) else printer.expression(first)
        condition = "" if node.condition is None else " " + printer.condition(node.condition)
        advance = "" if node.advance is None else " " + printer.expression(node.advance)
        self._head(f"for ({start};{condition};{advance}) {{", node)
        self._body(node.body, _declared(Block((first,))) if isinstance(first, Declaration) else frozenset())
        self.writer.line("}")

    def _declarators(self, declaration: Declaration) -> str:
        """`int i = 0, j = 1`: one declaration, as a for loop needs it."""
        texts = [self.declarator(declarator) for declarator in declaration.declarators]
        prefix = self.printer.type(declaration.declarators[0].object.element) + " "
        return ", ".join([texts[0], *(text.removeprefix(prefix) for text in texts[1:])])

    def _while(self, node: While) -> None:
        condition = self.printer.condition(node.condition)
        self._head("do {" if node.test_last else f"while ({condition}) {{", node)
        self._body(node.body)
        self.writer.line(f"}} while ({condition});" if node.test_last else "}")

    def _head(self, text: str, node: If | Loop | ForLoop | While | Switch) -> None:
        self.writer.user(text, node.range)

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


def _meets_barriers(loop: Loop) -> bool:
    return any(isinstance(statement, Barrier) for statement in loop.body.statements)
