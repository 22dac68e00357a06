"""Resolves variables of clauses: those the region uses, else those visible at the directive."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node
from tilepragma.frontend.clang.lowering_context import Context
from tilepragma.frontend.clang.objects import external_object
from tilepragma.frontend.clang.struct_members import named_members
from tilepragma.frontend.clang.type_conversion import is_pointer, is_record, target_type
from tilepragma.ir.directives import ClauseExpression, KernelDirective, LoopDirective, Section, clause_expressions
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage, access_to, integer
from tilepragma.ir.types import LONG, is_integer

_NAME = re.compile(r"\b[A-Za-z_]\w*")
_STEP = re.compile(r"(->|\.)\s*([A-Za-z_]\w*)")


def resolve_clauses(context: Context, directive: KernelDirective, offset: int) -> KernelDirective:
    """The directive without sections of variables that the region does not use.

    `offset` is where the directive stands. Unused variables cause warnings, unknown ones errors.
    """
    clauses = []
    for clause in directive.data:
        sections = tuple(section for section in clause.sections if _is_used(context, section, offset))
        if sections:
            clauses.append(dataclasses.replace(clause, sections=sections))
    return dataclasses.replace(directive, data=tuple(clauses))


def reduced_lengths(
    context: Context, directives: Iterable[KernelDirective | LoopDirective], offset: int
) -> dict[DataObject, DataObject]:
    """Arrays with the lengths that sections in `reduction` clauses give them. Raises SourceError
    for sections that say no length.
    """
    instead = {}
    for section in (each for directive in directives for clause in directive.reductions for each in clause.sections):
        array = context.used.get(section.path)
        if array is not None and array.rank:
            instead[array] = dataclasses.replace(array, lengths=_lengths(context, array, section, offset))
    return instead


def _lengths(context: Context, array: DataObject, section: Section, offset: int) -> tuple[Expression | None, ...]:
    if array.storage is Storage.ROWS:
        message = f"'{section.path}' cannot be reduced: its rows lie anywhere in memory"
        raise source_error(section.range, message, "use an array in one block")
    if len(section.dimensions) != array.rank:
        message = f"the section of '{section.path}' has {len(section.dimensions)} dimensions, the array {array.rank}"
        raise source_error(section.range, message, "write one [0:length] for each dimension")

    lengths = []
    for place, (known, dimension) in enumerate(zip(array.lengths, section.dimensions, strict=True)):
        from_first = dimension.lower is None or dimension.lower.literal == 0
        if known is None and (dimension.length is None or not from_first):
            message = f"the section of '{section.path}' needs a length and begins at element 0"
            raise source_error(section.range, message, f"write {section.path}[0:N]")
        given = dimension.length
        lengths.append(known if known is not None or given is None else _length(context, array, place, given, offset))
    return tuple(lengths)


def _length(context: Context, array: DataObject, place: int, length: ClauseExpression, offset: int) -> Expression:
    """The number, the variable, or a new number that has the value of the clause's expression."""
    if length.literal is not None:
        return integer(length.literal)
    declaration = visible_declaration(context.facts.node, length.text, offset)
    if declaration is not None:
        object_ = resolve_path(context, Section(length.text, (), length.range), offset)
        if object_.storage is Storage.SCALAR and is_integer(object_.element):
            return access_to(object_)
    name = context.names.unique(f"{array.name}_length{place}")
    shape = LONG, Storage.SCALAR, Scope.EXTERNAL
    number = DataObject(name, f"(long)({length.text})", *shape, const=True, range=length.range)
    context.used[number.host], context.roots[number.host] = number, context.roots[array.host]
    return access_to(number)


def _is_used(context: Context, section: Section, offset: int) -> bool:
    if section.path in context.used:
        return True
    try:
        with context.without_use():
            resolve_path(context, section, offset)
    except SourceError as refusal:
        context.diagnostics.add(refusal.diagnostic)
        return False
    if context.diagnostics.has_errors:  # the statement that failed may have used it
        return False
    message = f"'{section.path}' does not occur in the kernel, and the clause says nothing about it"
    context.diagnostics.warning(section.range, message, "name the arrays as the kernel's statements do")
    return False


def refuse_inner_variables(
    context: Context, directives: Iterable[KernelDirective | LoopDirective], region: Node
) -> None:
    """Report variables in clauses that only the region declares: clauses are evaluated before it.

    A variable of the same name that is visible before the region is meant instead.
    """
    declared = {node.spelling for node in region.walk() if node.kind == CursorKind.VAR_DECL}
    for expression in clause_expressions(tuple(directives)):
        for name in dict.fromkeys(_NAME.findall(_STEP.sub("", expression.text))):
            if name in declared and not _names_something(context.facts.node, name, region.start):
                message = f"'{name}' is declared inside the kernel, and clauses are evaluated before it"
                remedy = "use variables that are visible at the kernel's directive"
                context.diagnostics.error(expression.range, message, remedy)


def _names_something(function: Node, name: str, offset: int) -> bool:
    """Whether a variable, or an enumeration constant of the file, has this name at `offset`."""
    if visible_declaration(function, name, offset) is not None:
        return True
    enumerations = (node for node in function.unit.file_scope() if node.kind == CursorKind.ENUM_DECL)
    return any(constant.spelling == name for node in enumerations for constant in node.children)


def resolve_path(context: Context, section: Section, offset: int) -> DataObject:
    """The object that a section's path names at `offset` in the function, or a SourceError."""
    name = re.split(r"->|\.", section.path, maxsplit=1)[0].strip()
    declaration = visible_declaration(context.facts.node, name, offset)
    if declaration is None:
        raise source_error(section.range, f"there is no variable '{name}' here", "name a variable that is visible here")
    host, clang_type = name, declaration.type
    for operator, member in _STEP.findall(section.path):
        clang_type = _member_type(clang_type, operator, member, host, section.range)
        host = f"{host}{operator}{member}"
    return external_object(context, declaration, host, clang_type, section.range)


def _member_type(clang_type: Any, operator: str, member: str, host: str, range_: SourceRange) -> Any:
    record = clang_type.get_canonical()
    if operator == "->" and is_pointer(record):
        record = target_type(record).get_canonical()
    elif operator == "->":
        raise source_error(range_, f"'{host}' is no pointer", "write '.' instead of '->'")
    elif is_pointer(record):
        raise source_error(range_, f"'{host}' is a pointer", "write '->' instead of '.'")
    if is_record(record):
        for field in named_members(record):
            if field.spelling == member:
                return field.type
    raise source_error(range_, f"'{host}' has no member '{member}'", "name a member of its struct")


def visible_declaration(function: Node, name: str, offset: int) -> Node | None:
    """The innermost declaration of `name` that is visible at `offset`."""
    for declaration in (*reversed(_declared_before(function, offset)), *reversed(function.parameters)):
        if declaration.spelling == name:
            return declaration
    of_the_file = [node for node in function.unit.file_scope() if node.kind == CursorKind.VAR_DECL]
    return next((declaration for declaration in reversed(of_the_file) if declaration.spelling == name), None)


def _declared_before(function: Node, offset: int) -> list[Node]:
    """The variables of blocks and loop headers that are visible at `offset`, outermost first."""
    around = (child for block in function.body.around(offset) for child in block.children)
    declarations = (child for child in around if child.kind == CursorKind.DECL_STMT and child.end <= offset)
    return [variable for child in declarations for variable in child.children if variable.kind == CursorKind.VAR_DECL]
