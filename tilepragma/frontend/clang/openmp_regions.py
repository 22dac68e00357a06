"""Parallel regions of OpenMP: `#pragma omp parallel` around loops under `#pragma omp for`.

    #pragma omp parallel private(j)
    {
        double *from = a, *to = b;
    #pragma omp for
        for (i = 0; i < n; i++) …                   a kernel, with the region's clauses
    #pragma omp single
        count++;
    }

All threads run what stands between the loops, and each has the same values there. So one thread
may run it, the loops are kernels, and the line of the region goes. That does not hold where threads
ask for their numbers, where each has memory of its own that a loop uses, or where a private
variable's old value is read behind the region. Such a region stays OpenMP's with all its loops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostic, Severity, SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.clause_objects import visible_declaration
from tilepragma.frontend.clang.cursor_tree import CursorKind, Key, Node, strip
from tilepragma.frontend.clang.liveness import Liveness
from tilepragma.frontend.clang.lowering_context import changed_operand
from tilepragma.frontend.clang.regions import RegionBuilder
from tilepragma.frontend.clang.statement_extents import BoundStatement
from tilepragma.frontend.clang.type_conversion import is_array, is_pointer
from tilepragma.frontend.pragma.scanner import LocatedDirective
from tilepragma.ir.directives import OpenMPRegion, PrivateClause, ReductionClause

_Clause = TypeVar("_Clause", PrivateClause, ReductionClause)

_WORD = re.compile(r"[A-Za-z_]\w*")
_LINE = re.compile(rb"#[ \t]*pragma[ \t]+omp[ \t]+([a-z]+)([^\n]*)")
#: What one thread alone may meet in a region, with the same effect.
_HARMLESS = (b"for", b"simd", b"single", b"master", b"masked", b"barrier", b"flush", b"critical", b"atomic")
#: The number of threads in a region, and outside: the number that a region would have.
_COUNT, _COUNT_OUTSIDE = "omp_get_num_threads", "omp_get_max_threads"
#: Functions of OpenMP that tell one thread alone what they tell each of several.
_SAME_IN_ALL = tuple(f"omp_get_{name}" for name in ("wtime", "wtick", "max_threads", "num_procs"))


#: Ranges of a file, with the text that takes their place.
Replacements = tuple[tuple[SourceRange, bytes], ...]


def merge_regions(
    builder: RegionBuilder, directives: tuple[LocatedDirective, ...]
) -> tuple[tuple[LocatedDirective, ...], Replacements]:
    """The directives of a file, where loops of parallel regions have the regions' clauses, and
    what regions name otherwise without their threads. Reports the regions that stay OpenMP's, and
    the loops that stay with them.
    """
    replacements: list[tuple[SourceRange, bytes]] = []
    merged: dict[int, LocatedDirective] = {}
    for directive in directives:
        region = directive.openmp_region
        if region is None:
            continue
        try:
            statement = builder.bind(directive, _statement(directive), "#pragma omp parallel")
            inside = [other for other in directives if _is_inside(other, directive, statement)]
            _check_region(directive, region, statement, inside)
        except SourceError as refusal:
            why = refusal.diagnostic
            place = Diagnostic(Severity.NOTE, why.range, "here")
            with builder.diagnostics.about(directive.range):
                builder.diagnostics.add(Diagnostic(Severity.ERROR, directive.range, why.message, (place, *why.notes)))
            continue
        replacements += [(name.range, _COUNT_OUTSIDE.encode()) for name in _named_counts(statement)]
        loops = (other for other in inside if other.in_openmp_region)
        merged |= {loop.range.start.offset: _with_clauses(loop, region, statement) for loop in loops}
    for directive in directives:
        offset = directive.range.start.offset
        if directive.openmp_line is None or offset in merged:
            continue
        with builder.diagnostics.about(directive.range), builder.diagnostics.reporting():
            if directive.in_openmp_region:
                raise source_error(directive.range, "its loop needs the threads of an 'omp parallel' that stays")
            statement = builder.bind(directive, _statement(directive), "#pragma omp parallel for")
            merged[offset] = _with_clauses(directive, OpenMPRegion(directive.range), statement)
    merged_directives = tuple(merged.get(directive.range.start.offset, directive) for directive in directives)
    return merged_directives, tuple(replacements)


def _statement(directive: LocatedDirective) -> int:
    if directive.statement is None:
        raise source_error(directive.range, "no statement follows")
    return directive.statement


def _is_inside(directive: LocatedDirective, region: LocatedDirective, statement: BoundStatement) -> bool:
    """Whether the directive's statement is in the region; its line may stand between the region's
    and a loop that is the whole region.
    """
    is_behind = directive.range.start.offset > region.range.start.offset
    place = directive.statement
    return is_behind and place is not None and statement.range.holds(region.range.file, place)


def _check_region(
    directive: LocatedDirective, region: OpenMPRegion, statement: BoundStatement, inside: Sequence[LocatedDirective]
) -> None:
    """Raises SourceError where one thread cannot run the region's text with the same effect."""
    for other in inside:
        if not other.in_openmp_region:
            raise source_error(
                other.range, "a line in it stays OpenMP's" if other.stays_openmp else "a line in it is no loop's"
            )
    unit, file = statement.node.unit, directive.range.file
    skipped = unit.skipped(file)
    for line in _LINE.finditer(unit.text(file), *_extent(statement)):
        is_skipped = any(first <= line.start() < last for first, last in skipped)
        if not is_skipped and (line[1] not in _HARMLESS or b"copyprivate" in line[2]):
            range_ = unit.span(file, *line.span())
            raise source_error(range_, f"tilepragma does not translate 'omp {line[1].decode()}' in a region")
    for call in statement.node.walk():
        if call.kind == CursorKind.CALL_EXPR:
            _check_call(call)
    for count in _named_counts(statement):
        text = unit.text(file)[count.start : count.end]
        is_declared = any(node.spelling == _COUNT_OUTSIDE for node in unit.file_scope())
        if not region.has_usual_threads or text != _COUNT.encode() or not is_declared:
            raise source_error(count.range, f"'{_COUNT}' asks for OpenMP's threads")
    loops = [loop for loop in inside if loop.in_openmp_region]
    _check_memory(region, statement, loops)
    liveness = Liveness(statement.facts, statement.path)
    for name, clause in region.private_names:
        declaration = visible_declaration(statement.facts.node, name, directive.range.start.offset)
        if declaration is not None and liveness.read_after(declaration):
            raise source_error(clause.range, f"the value of '{name}' before the region may be read behind it")


def _named_counts(statement: BoundStatement) -> Iterator[Node]:
    """Where a region asks for the number of its threads."""
    references = (node for node in statement.node.walk() if node.kind == CursorKind.DECL_REF_EXPR)
    return (node for node in references if node.spelling == _COUNT)


def _extent(statement: BoundStatement) -> tuple[int, int]:
    return statement.range.start.offset, statement.range.end.offset


def _check_call(call: Node) -> None:
    """Raises SourceError for a call that asks for the thread, or that OpenMP's threads share."""
    function = call.called
    if function is None or function.spelling == _COUNT:
        return
    name, definition = function.spelling, function.definition
    if name.startswith("omp_") and name not in _SAME_IN_ALL:
        raise source_error(call.range, f"'{name}' asks for OpenMP's threads")
    if definition is None:
        return
    text = definition.unit.text(definition.file)[definition.start : definition.end]
    if _LINE.search(text) or b"omp_" in text:
        raise source_error(call.range, f"'{name}' has lines or calls of OpenMP, for the threads of this region")


@dataclass(frozen=True)
class _Memory:
    """Variables of each thread, by key, and which are, or may lead to, memory of its own."""

    variables: dict[Key, Node]
    own: set[Key]


def _check_memory(region: OpenMPRegion, statement: BoundStatement, loops: Sequence[LocatedDirective]) -> None:
    """Raises SourceError where a loop uses memory that each thread has for itself: an array, or
    what a pointer leads to that a thread has got from a call, or from nowhere.
    """
    places = {loop.statement for loop in loops}
    bodies = [node for node in statement.node.walk() if node.start in places and node.kind == CursorKind.FOR_STMT]

    def is_in_loop(node: Node) -> bool:
        return any(body.start <= node.start < body.end for body in bodies)

    nodes = [node for node in statement.node.walk() if not is_in_loop(node)]
    declared = [node for node in nodes if node.kind == CursorKind.VAR_DECL and node.storage != "STATIC"]
    function, place = statement.facts.node, statement.range.start.offset
    private = [
        declaration
        for name, clause in region.private_names
        if not clause.first and (declaration := visible_declaration(function, name, place)) is not None
    ]
    memory = _Memory({node.key: node for node in (*declared, *private)}, set())
    assigned = list(_assigned(nodes))
    memory.own.update(key for key, node in memory.variables.items() if is_array(node.type))
    values = {key for key, _ in assigned}
    memory.own.update(node.key for node in private if is_pointer(node.type) and node.key not in values)
    before = -1
    while len(memory.own) != before:
        before = len(memory.own)
        memory.own.update(key for key, value in assigned if _is_pointer_to_own(key, value, memory))
    for body in bodies:
        for node in body.walk():
            named = node.named
            if named is not None and named.key in memory.own:
                raise source_error(node.range, f"each thread has a '{named.spelling}' of its own")


def _assigned(nodes: Iterable[Node]) -> Iterator[tuple[Key, Node]]:
    """Variables and the values that they get: by initialisers, assignments and other changes."""
    for node in nodes:
        if node.kind == CursorKind.VAR_DECL:
            value = node.unit.initializer(node)
            if value is not None:
                yield node.key, value
            continue
        target = changed_operand(node)
        if target is not None and target.named is not None:
            yield target.named.key, node.children[-1]


def _is_pointer_to_own(key: Key, value: Node, memory: _Memory) -> bool:
    variable = memory.variables.get(key)
    if variable is None or not is_pointer(variable.type):
        return False
    parts = list(value.walk())
    if any(part.kind == CursorKind.CALL_EXPR for part in parts):
        return True
    named = (strip(part).named for part in parts)
    return any(each is not None and each.key in memory.own for each in named)


def _with_clauses(loop: LocatedDirective, region: OpenMPRegion, statement: BoundStatement) -> LocatedDirective:
    """The loop with what its and the region's clauses say of the variables that it uses."""
    kernel, inner, start = loop.kernel, loop.loop, loop.statement
    assert kernel is not None and inner is not None, "lines of OpenMP are kernels over loops"
    nodes = (node for node in statement.node.walk() if node.start == start)
    node = next((node for node in nodes if node.kind == CursorKind.FOR_STMT), None)
    if node is None:
        raise source_error(loop.range, "no 'for' loop follows")
    text = node.unit.text(loop.range.file)[node.start : node.end].decode(errors="replace")
    clauses: list[PrivateClause | ReductionClause] = [*kernel.reductions, *kernel.privates, *inner.privates]
    used = set(_WORD.findall(text))
    others = used - {name for clause in clauses for name in clause.names}
    first = (*_about(kernel.privates, used), *_about((each for each in region.privates if each.first), others))
    private = (*_about(inner.privates, used), *_about((each for each in region.privates if not each.first), others))
    reductions = (*_about(kernel.reductions, used), *_about(region.reductions, others))
    return replace(
        loop, directive=(replace(kernel, privates=first, reductions=reductions), replace(inner, privates=private))
    )


def _about(clauses: Iterable[_Clause], names: set[str]) -> tuple[_Clause, ...]:
    """The clauses as far as they are about these variables."""
    about = (replace(each, names=tuple(name for name in each.names if name in names)) for each in clauses)
    return tuple(each for each in about if each.names)
