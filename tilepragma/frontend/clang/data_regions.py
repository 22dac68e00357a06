"""The data directives of a file: `data` before a statement, and those that stand alone."""

from __future__ import annotations

from collections.abc import Sequence

from tilepragma.base.diagnostics import source_error
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.clause_objects import resolve_path
from tilepragma.frontend.clang.cursor_tree import LOOPS, CursorKind, Node
from tilepragma.frontend.clang.expression_lowering import lower_expression
from tilepragma.frontend.clang.lowering_context import Context, FunctionFacts
from tilepragma.frontend.clang.regions import RegionBuilder
from tilepragma.frontend.clang.statement_extents import BoundStatement, enclosing_of
from tilepragma.frontend.pragma.scanner import LocatedDirective
from tilepragma.ir.directives import Construct, DataDirective, Section
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import DataRegion, Kernel


def data_regions(
    builder: RegionBuilder, directives: tuple[LocatedDirective, ...], kernels: Sequence[Kernel]
) -> tuple[DataRegion, ...]:
    """The file's data regions and standalone data directives, in order; reports every fault."""
    regions = []
    for directive in directives:
        if directive.data is not None:
            with builder.diagnostics.reporting():
                regions.append(_region(builder, directive, directive.data, kernels))
    return tuple(regions)


def _region(
    builder: RegionBuilder, placed: LocatedDirective, directive: DataDirective, kernels: Sequence[Kernel]
) -> DataRegion:
    what = f"#pragma tilek {directive.construct.value}"
    offset = placed.range.start.offset
    if any(kernel.range.holds(placed.range.file, offset) for kernel in kernels):
        message = f"'{what}' cannot stand inside a kernel"
        raise source_error(placed.range, message, "put it before or after the kernel")
    if directive.construct is Construct.DATA:
        if placed.statement is None:
            raise source_error(placed.range, f"no statement follows '{what}'", "put it before a block '{ … }'")
        bound = builder.bind(placed, placed.statement, what)
        objects = _objects(builder, bound.facts, directive, offset)
        _refuse_exits(bound, what)
        facts, range_, enclosing = bound.facts, bound.range, bound.enclosing
    else:
        facts = builder.function_around(placed, what)
        objects = _objects(builder, facts, directive, offset)
        _require_block(facts, placed, what)
        range_ = SourceRange(placed.range.start, placed.range.start)
        enclosing = enclosing_of(facts.node, placed.range.file)
    return DataRegion(directive, objects, enclosing, range_)


def _objects(
    builder: RegionBuilder, facts: FunctionFacts, directive: DataDirective, offset: int
) -> tuple[tuple[str, DataObject], ...]:
    """Each section's path with its object; reports unknown names."""
    context = Context(
        builder.unit, builder.diagnostics, builder.types, builder.functions, facts, True, lower_expression
    )
    objects: dict[str, DataObject] = {}
    for section in (s for clause in directive.clauses for s in clause.sections):
        with builder.diagnostics.reporting():
            object_ = resolve_path(context, section, offset)
            _require_lengths(section, object_)
            objects[section.path] = object_
    return tuple(objects.items())


def _require_lengths(section: Section, object_: DataObject) -> None:
    """Refuse a section without a length that the type does not tell either."""
    for place, length in enumerate(object_.lengths):
        written = section.dimensions[place].length if place < len(section.dimensions) else None
        if length is None and written is None:
            form = section.path + "".join(f"[0:N{number + 1}]" for number in range(object_.rank))
            last = f" to N{object_.rank}" if object_.rank > 1 else ""
            message = f"the number of elements of '{section.path}' is unknown: its type has no length"
            raise source_error(section.range, message, f"write the section, as in {form} with its lengths for N1{last}")


def _require_block(facts: FunctionFacts, placed: LocatedDirective, what: str) -> None:
    """A standalone directive becomes a statement, so it must stand between statements."""
    *_, around = facts.node.body.around(placed.range.start.offset)
    if around.kind != CursorKind.COMPOUND_STMT:
        message = f"'{what}' must stand between the statements of a block"
        raise source_error(placed.range, message, "put braces around the statement and the directive")


def _refuse_exits(bound: BoundStatement, what: str) -> None:
    """Refuse statements that leave the region other than at its end."""
    words = {CursorKind.RETURN_STMT: "return", CursorKind.BREAK_STMT: "break", CursorKind.CONTINUE_STMT: "continue"}
    for node in exits(bound.node):
        word = words.get(node.kind, "goto")
        remedy = "leave the region at its end, or use '#pragma tilek enter data' and 'exit data'"
        raise source_error(node.range, f"'{word}' would leave the region of '{what}' without ending it", remedy)


def exits(node: Node, *, in_loop: bool = False, in_switch: bool = False) -> list[Node]:
    """The statements that leave `node` other than at its end."""
    kind = node.kind
    if kind in (CursorKind.RETURN_STMT, CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT):
        return [node]
    if kind == CursorKind.BREAK_STMT:
        return [] if in_loop or in_switch else [node]
    if kind == CursorKind.CONTINUE_STMT:
        return [] if in_loop else [node]
    if kind.is_expression():
        return []
    in_loop = in_loop or kind in LOOPS
    in_switch = in_switch or kind == CursorKind.SWITCH_STMT
    return [exit_ for child in node.children for exit_ in exits(child, in_loop=in_loop, in_switch=in_switch)]
