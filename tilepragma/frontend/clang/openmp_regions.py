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

A region may call functions with loops under `omp for`. These are kernels where all that calls them
is such a region, or one thread.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
from tilepragma.frontend.clang.type_conversion import is_array, is_pointer, is_record
from tilepragma.frontend.pragma.scanner import LocatedDirective
from tilepragma.ir.directives import OpenMPRegion, PrivateClause, ReductionClause

_Clause = TypeVar("_Clause", PrivateClause, ReductionClause)

_WORD = re.compile(r"[A-Za-z_]\w*")
_LINE = re.compile(rb"#[ \t]*pragma[ \t]+omp[ \t]+([a-z]+)([^\n]*)")
_CALL = re.compile(rb"\bomp_\w+")
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
    merger = _Merger(builder, directives)
    if any(directive.openmp_region or directive.in_openmp_region for directive in directives):
        merger.decide()
    merged: dict[int, LocatedDirective] = {}
    for directive in directives:
        if directive.openmp_line is not None:
            with builder.diagnostics.about(directive.range), builder.diagnostics.reporting():
                merged[directive.range.start.offset] = merger.merged(directive)
    result = tuple(merged.get(directive.range.start.offset, directive) for directive in directives)
    return result, tuple(merger.replacements())


@dataclass(frozen=True)
class _Threads:
    """What the threads of a region run: its statement, or a function that regions call, and what
    `region` says there (nothing in functions). `inside` are the lines of OpenMP in it.
    """

    range: SourceRange
    region: OpenMPRegion
    statement: BoundStatement
    inside: tuple[LocatedDirective, ...]
    is_function: bool


class _Merger:
    """Decides for a file what one thread may run in place of several: `refused` are the places of
    regions, and the keys of functions, that stay OpenMP's.
    """

    def __init__(self, builder: RegionBuilder, directives: tuple[LocatedDirective, ...]) -> None:
        self.builder, self.directives = builder, directives
        self.regions: list[_Threads] = []
        self.functions: dict[Key, _Threads] = {}
        self.refused: dict[SourceRange, Diagnostic] = {}
        self.arrays: dict[int, tuple[str, ...]] = {}
        self._calls: dict[Key, tuple[Node, ...]] = {}

    def decide(self) -> None:
        """Find the regions and the functions with loops for their threads, and refuse those that
        need several threads, until no more are refused. Reports the refused regions.
        """
        for directive in self.directives:
            if directive.openmp_region is not None:
                with self._refusing(directive.range):
                    statement = self.builder.bind(directive, _statement(directive), "#pragma omp parallel")
                    inside = tuple(other for other in self.directives if _is_inside(other, directive, statement))
                    region = directive.openmp_region
                    self.regions.append(_Threads(directive.range, region, statement, inside, False))
        for directive in self.directives:
            if directive.in_openmp_region and self._region_of(directive) is None:
                with self._refusing(directive.range):
                    self._add_function(directive)
        for threads in (*self.regions, *self.functions.values()):
            with self._refusing(threads.range):
                self.arrays |= _check_threads(threads, self.functions)
        before = -1
        while len(self.refused) != before:
            before = len(self.refused)
            for threads in (*self.regions, *self.functions.values()):
                if threads.range not in self.refused:
                    with self._refusing(threads.range):
                        self._check_calls(threads)
            self._refuse_called()
        for threads in self.regions:
            if threads.range in self.refused:
                with self.builder.diagnostics.about(threads.range):
                    self.builder.diagnostics.add(self.refused[threads.range])

    @contextmanager
    def _refusing(self, line: SourceRange) -> Iterator[None]:
        """What a SourceError says is why the region of this line stays."""
        try:
            yield
        except SourceError as refusal:
            why = refusal.diagnostic
            place = Diagnostic(Severity.NOTE, why.range, "here")
            self.refused[line] = Diagnostic(Severity.ERROR, line, why.message, (place, *why.notes))

    def _add_function(self, loop: LocatedDirective) -> None:
        """The function around a loop for threads of a region that calls it. Raises SourceError."""
        facts = self.builder.function_around(loop, "#pragma omp for")
        node = facts.node
        if node.key in self.functions:
            return
        path = (node.body,)
        statement = BoundStatement(facts, path, node.body.range)
        inside = tuple(
            other
            for other in self.directives
            if statement.range.holds(other.range.file, other.range.start.offset)
            and self._region_of(other) is None
            and other.openmp_region is None
        )
        self.functions[node.key] = _Threads(node.range, OpenMPRegion(node.range), statement, inside, True)

    def _region_of(self, directive: LocatedDirective) -> _Threads | None:
        return next((region for region in self.regions if directive in region.inside), None)

    def _called(self, function: Node) -> tuple[Node, ...]:
        """The definitions that a function, or a statement, calls, and those that these call."""
        if function.key not in self._calls:
            found: dict[Key, Node] = {}
            pending = [function]
            while pending:
                for node in pending.pop().walk():
                    definition = node.named.definition if node.named is not None else None
                    is_function = definition is not None and definition.kind == CursorKind.FUNCTION_DECL
                    if definition is not None and is_function and definition.key not in found:
                        found[definition.key] = definition
                        pending.append(definition)
            self._calls[function.key] = tuple(found.values())
        return self._calls[function.key]

    def _check_calls(self, threads: _Threads) -> None:
        """Raises SourceError where a called function needs several threads."""
        for definition in self._called(threads.statement.node):
            text = definition.unit.text(definition.file)[definition.start : definition.end]
            known = self.functions.get(definition.key)
            if known is not None and known.range in self.refused:
                raise source_error(definition.range, f"'{definition.spelling}', which it calls, needs its threads")
            is_of_openmp = definition.spelling.startswith("omp_")  # a stub for compilers without it
            if known is None and not is_of_openmp and not _is_harmless(text):
                raise source_error(definition.range, f"'{definition.spelling}', which it calls, may need its threads")

    def _refuse_called(self) -> None:
        """Refuse functions that what stays OpenMP's calls: each thread would run all of a loop."""
        staying = [region.statement.node for region in self.regions if region.range in self.refused]
        for directive in self.directives:
            if directive.stays_openmp and directive.statement is not None:
                with suppress(SourceError):
                    staying.append(self.builder.bind(directive, directive.statement, "#pragma omp").node)
        for node in staying:
            for definition in self._called(node):
                threads = self.functions.get(definition.key)
                if threads is not None and threads.range not in self.refused:
                    with self._refusing(threads.range):
                        raise source_error(node.range, "threads that stay OpenMP's call it")

    def merged(self, directive: LocatedDirective) -> LocatedDirective:
        """A loop's directive with its region's clauses. Raises SourceError if it stays."""
        if not directive.in_openmp_region:
            statement = self.builder.bind(directive, _statement(directive), "#pragma omp parallel for")
            return _with_clauses(directive, OpenMPRegion(directive.range), statement)
        for threads in (*self.regions, *self.functions.values()):
            if directive in threads.inside:
                why = self.refused.get(threads.range)
                if why is None:
                    arrays = self.arrays.get(_statement(directive), ())
                    private = (PrivateClause(arrays, False, directive.range),) if arrays else ()
                    region = replace(threads.region, privates=(*threads.region.privates, *private))
                    return _with_clauses(directive, region, threads.statement)
                if threads.is_function:
                    raise source_error(directive.range, f"its function needs several threads: {why.message}")
        raise source_error(directive.range, "its loop needs the threads of an 'omp parallel' that stays")

    def replacements(self) -> Iterator[tuple[SourceRange, bytes]]:
        """What regions that go name otherwise without their threads."""
        for region in self.regions:
            if region.range not in self.refused:
                yield from ((name.range, _COUNT_OUTSIDE.encode()) for name in _named_counts(region.statement))


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


def _check_threads(threads: _Threads, functions: Collection[Key]) -> dict[int, tuple[str, ...]]:
    """The arrays of each thread that are private to a loop's iterations, by the loop's place.

    Raises SourceError where one thread cannot run the text with the same effect. `functions` have
    loops for the threads.
    """
    region, statement, inside = threads.region, threads.statement, threads.inside
    function, file = statement.facts.node, threads.range.file
    if threads.is_function and (function.storage != "STATIC" or _is_address_taken(function)):
        raise source_error(function.range, "threads of other files may call it, as it is not static")
    for other in inside:
        if not other.in_openmp_region:
            raise source_error(
                other.range, "a line in it stays OpenMP's" if other.stays_openmp else "a line in it is no loop's"
            )
    unit = statement.node.unit
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
        is_elsewhere = threads.is_function or not region.has_usual_threads
        if is_elsewhere or text != _COUNT.encode() or not is_declared:
            raise source_error(count.range, f"'{_COUNT}' asks for OpenMP's threads")
    loops = [loop for loop in inside if loop.in_openmp_region]
    arrays = _private_arrays(region, statement, loops, functions)
    liveness = Liveness(statement.facts, statement.path)
    for name, clause in region.private_names:
        declaration = visible_declaration(function, name, threads.range.start.offset)
        if declaration is not None and liveness.read_after(declaration):
            raise source_error(clause.range, f"the value of '{name}' before the region may be read behind it")
    return arrays


def _named_counts(statement: BoundStatement) -> Iterator[Node]:
    """Where a region asks for the number of its threads."""
    references = (node for node in statement.node.walk() if node.kind == CursorKind.DECL_REF_EXPR)
    return (node for node in references if node.spelling == _COUNT)


def _extent(statement: BoundStatement) -> tuple[int, int]:
    return statement.range.start.offset, statement.range.end.offset


def _check_call(call: Node) -> None:
    """Raises SourceError for a call that asks for the thread."""
    name = "" if call.called is None else call.called.spelling
    if name.startswith("omp_") and name not in (*_SAME_IN_ALL, _COUNT):
        raise source_error(call.range, f"'{name}' asks for OpenMP's threads")


def _is_harmless(text: bytes) -> bool:
    """Whether one thread may run the text of a function without loops for several."""
    lines = all(
        line[1] in _HARMLESS and line[1] != b"for" and b"copyprivate" not in line[2] for line in _LINE.finditer(text)
    )
    return lines and all(call.decode() in _SAME_IN_ALL for call in _CALL.findall(text))


def _is_address_taken(function: Node) -> bool:
    """Whether anything but a call names the function in its file."""
    for definition in function.unit.file_scope():
        called = {
            strip(node.children[0]).start
            for node in definition.walk()
            if node.kind == CursorKind.CALL_EXPR and node.children
        }
        for node in definition.walk():
            if node.named is not None and node.named.key == function.key and node.start not in called:
                return True
    return False


@dataclass(frozen=True)
class _Memory:
    """Variables of each thread, by key, and which are, or may lead to, memory of its own."""

    variables: dict[Key, Node]
    own: set[Key]


def _private_arrays(
    region: OpenMPRegion, statement: BoundStatement, loops: Sequence[LocatedDirective], functions: Collection[Key]
) -> dict[int, tuple[str, ...]]:
    """The arrays of each thread that a loop fills and nothing else uses, by the loop's place.

    Raises SourceError where a loop, or a call of these functions, otherwise uses memory that each
    thread has for itself: an array, or what a pointer leads to that a thread has got from a call,
    or from nowhere.
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
    memory.own.update(key for key, node in memory.variables.items() if _is_aggregate(node))
    values = {key for key, _ in assigned}
    for clause in region.reductions:
        for name in clause.names:
            declaration = visible_declaration(function, name, place)
            if declaration is not None and declaration.key in values:
                raise source_error(clause.range, f"each thread changes its '{name}' outside the loops")
    memory.own.update(node.key for node in private if is_pointer(node.type) and node.key not in values)
    before = -1
    while len(memory.own) != before:
        before = len(memory.own)
        memory.own.update(key for key, value in assigned if _is_pointer_to_own(key, value, memory))
    calls = (node for node in nodes if node.kind == CursorKind.CALL_EXPR and node.called is not None)
    elsewhere = {node.named.key for node in nodes if node.named is not None} | values
    result = {}
    for user in (*bodies, *(call for call in calls if call.called is not None and call.called.key in functions)):
        uses = {node.named.key: node for node in user.walk() if node.named is not None and node.named.key in memory.own}
        filled = set(_filled(user))
        arrays = []
        for key, node in uses.items():
            name, is_loop = node.spelling, user.kind == CursorKind.FOR_STMT
            if not is_loop or not _is_aggregate(memory.variables[key]) or (key in filled and key in elsewhere):
                raise source_error(node.range, f"each thread has a '{name}' of its own")
            arrays += [name] if key in filled else []
        result[user.start] = tuple(arrays)
    return result


def _is_aggregate(variable: Node) -> bool:
    return is_array(variable.type) or is_record(variable.type)


def _filled(loop: Node) -> Iterator[Key]:
    """The arrays of which a loop may change elements: those that it assigns, or passes on."""
    for node in loop.walk():
        target = changed_operand(node)
        while target is not None and target.kind in (CursorKind.ARRAY_SUBSCRIPT_EXPR, CursorKind.MEMBER_REF_EXPR):
            target = strip(target.children[0]) if target.children else None
        if target is not None and target.named is not None:
            yield target.named.key
        arguments = node.children[1:] if node.kind == CursorKind.CALL_EXPR else ()
        yield from (part.named.key for each in arguments for part in each.walk() if part.named is not None)


def _assigned(nodes: Iterable[Node]) -> Iterator[tuple[Key, Node | None]]:
    """Variables and the values that they get; None where only their address is passed on."""
    for node in nodes:
        if node.kind == CursorKind.VAR_DECL:
            value = node.unit.initializer(node)
            if value is not None:
                yield node.key, value
            continue
        target = changed_operand(node)
        if target is not None and target.named is not None:
            yield target.named.key, None if node.takes_address else node.children[-1]


def _is_pointer_to_own(key: Key, value: Node | None, memory: _Memory) -> bool:
    """Whether the variable is a pointer that gets this value, or one by its address (None)."""
    variable = memory.variables.get(key)
    if variable is None or not is_pointer(variable.type):
        return False
    if value is None:
        return True
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
