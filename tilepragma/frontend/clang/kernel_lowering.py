"""The kernels of a file: one for a region, several if its loops end with conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity, SourceError
from tilepragma.frontend.clang.clause_objects import refuse_inner_variables
from tilepragma.frontend.clang.cursor_tree import CursorKind
from tilepragma.frontend.clang.objects import is_variable_length
from tilepragma.frontend.clang.outlined_kernels import is_in_innermost_loop, may_be_split, split_region
from tilepragma.frontend.clang.regions import BoundStatement, PlacedDirective, RegionBuilder
from tilepragma.frontend.clang.statement_lowering import StatementLowering
from tilepragma.ir.directives import LoopDirective
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.traversal import loop_directives


def kernels(builder: RegionBuilder, directives: tuple[PlacedDirective, ...]) -> tuple[Kernel, ...]:
    """The kernels of one file, in textual order; reports every fault."""
    bound = builder.bind_kernels(directives)
    loops = builder.bind_loops(directives, bound)
    made = []
    for directive, statement in bound:
        start, end = statement.range.start.offset, statement.range.end.offset
        inside = {offset: loop for offset, loop in loops.items() if start <= offset < end}
        kernel = _kernel(builder, directive, statement, inside)
        if kernel is not None:
            made.append(kernel)
    return tuple(made)


def _kernel(
    builder: RegionBuilder, placed: PlacedDirective, statement: BoundStatement, loops: Mapping[int, LoopDirective]
) -> Kernel | None:
    """The kernel of a region; None if it is refused, which is reported."""
    directive = placed.kernel
    assert directive is not None
    diagnostics = Diagnostics()
    name = builder.kernel_name(directive.name or statement.facts.node.spelling)
    whole: Kernel | None = None
    try:
        context = builder.context(statement, loops, diagnostics)
        body = StatementLowering(context).region(statement.node, statement.range)
        refuse_inner_variables(context, (directive, *loop_directives(body)), statement.node)
        whole = builder.kernel(context, body, directive, statement, name)
    except SourceError as refusal:
        diagnostics.add(refusal.diagnostic)
    refused = diagnostics.has_errors
    if not may_be_split(statement.node, None if refused or whole is None else whole.body):
        builder.diagnostics.add_all(_grouped(diagnostics))
        return whole
    try:
        parts = split_region(builder, directive, name, statement, loops, alone=refused)
    except SourceError as refusal:
        return _refused(builder, placed, statement, None if refused else whole, diagnostics, refusal.diagnostic)
    if refused or whole is None:
        _say_what_keeps_loops_apart(builder, statement, diagnostics)
        return replace(parts.data, parts=parts)
    builder.diagnostics.add_all(_grouped(diagnostics))
    return replace(whole, parts=parts)


def _grouped(diagnostics: Diagnostics) -> Diagnostics:
    """One error for all places with the same message; a note has the next place and a count."""
    same: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        if diagnostic.severity is Severity.ERROR:
            same.setdefault(diagnostic.message, []).append(diagnostic)
    grouped = Diagnostics()
    for diagnostic in diagnostics:
        first, *others = same.get(diagnostic.message, [diagnostic])
        if diagnostic is first and others:
            repeated = (
                "the same here" if len(others) == 1 else f"the same here, the first of {len(others)} other places"
            )
            grouped.add(
                replace(diagnostic, notes=(*diagnostic.notes, Diagnostic(Severity.NOTE, others[0].range, repeated)))
            )
        elif diagnostic is first or diagnostic.severity is not Severity.ERROR:
            grouped.add(diagnostic)
    return grouped


def _say_what_keeps_loops_apart(builder: RegionBuilder, statement: BoundStatement, refusals: Diagnostics) -> None:
    """Add notes at arrays of variable length, which tell why each small loop is a launch."""
    declared = [variable for variable in statement.node.walk() if variable.kind == CursorKind.VAR_DECL]
    arrays = {(variable.file, variable.start) for variable in declared if is_variable_length(variable)}
    for refusal in refusals:
        if (refusal.range.file, refusal.range.start.offset) in arrays:
            message = f"the loop around runs on the host, and each loop in it is a separate launch: {refusal.message}"
            builder.diagnostics.add(replace(refusal, severity=Severity.NOTE, message=message))


def _with_cause(why: Diagnostic, refusals: Diagnostics) -> Diagnostic:
    """Why the host cannot run text, and why the region is not one kernel: fixing either helps."""
    first = next((refusal for refusal in refusals if refusal.severity is Severity.ERROR), None)
    if first is None or first.range.start.line == why.range.start.line:
        return why
    message = f"the loops around run on the host because of this: {first.message}"
    return replace(
        why, notes=(*why.notes, replace(first, severity=Severity.NOTE, message=message, notes=()), *first.notes)
    )


def _refused(
    builder: RegionBuilder,
    placed: PlacedDirective,
    statement: BoundStatement,
    whole: Kernel | None,
    diagnostics: Diagnostics,
    why: Diagnostic,
) -> Kernel | None:
    """The region as one kernel, if it is one, with what keeps it from being split."""
    if whole is None:
        # What no kernel can hold may stay on the host, so report only what keeps it from there.
        # Innermost loops never stay on the host.
        is_kernel_fault = why in diagnostics or any(
            is_in_innermost_loop(statement.node, diagnostic.range) for diagnostic in diagnostics
        )
        builder.diagnostics.add_all(_grouped(diagnostics) if is_kernel_fault else (_with_cause(why, diagnostics),))
        return None
    builder.diagnostics.add_all(_grouped(diagnostics))
    if statement.node.kind in (CursorKind.WHILE_STMT, CursorKind.DO_STMT):
        message = "this loop ends with a condition, and cannot run on the host around kernels of the loops inside"
        reason = replace(why, severity=Severity.NOTE, notes=())
        builder.diagnostics.add(Diagnostic(Severity.ERROR, placed.range, message, (reason, *why.notes)))
        return None
    return replace(whole, split_refusal=why)
