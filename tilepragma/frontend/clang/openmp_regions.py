"""Parallel regions of OpenMP: `#pragma omp parallel` around loops under `#pragma omp for`.

    #pragma omp parallel private(j)
    {
        double *from = a, *to = b;
    #pragma omp for
        for (i = 0; i < n; i++) …                   a kernel, with the region's clauses
    #pragma omp single
        count++;
    }

A team of threads executes the region. What stands between the loops each thread computes from the
same values, with the same effect as one thread alone. So one thread executes it, the loops are
kernels, and the line of the region goes. A region stays OpenMP's, with all its loops, where that
does not hold: where it asks for the thread, calls what may have an effect for each thread, or has a
lock; where a thread has memory of its own that a loop uses; where a private variable's old value
may be read behind it; and where no loop would become a kernel.

A region may call functions with loops under `omp for`. These are kernels where everything that
calls the functions is such a region, or one thread.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostic, Severity, SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.clause_objects import visible_declaration
from tilepragma.frontend.clang.cursor_tree import ClangUnit, CursorKind, Key, Node, strip
from tilepragma.frontend.clang.expression_lowering import MEMORY, math_name
from tilepragma.frontend.clang.liveness import Liveness
from tilepragma.frontend.clang.lowering_context import changed_operand
from tilepragma.frontend.clang.regions import RegionBuilder
from tilepragma.frontend.clang.statement_extents import BoundStatement
from tilepragma.frontend.clang.type_conversion import is_array, is_pointer, is_record
from tilepragma.frontend.pragma.openmp import thread_private_names
from tilepragma.frontend.pragma.scanner import LocatedDirective, OpenMPText
from tilepragma.frontend.pragma.text_scan import next_statement
from tilepragma.ir.directives import OpenMPRegion, PrivateClause, ReductionClause

_Clause = TypeVar("_Clause", PrivateClause, ReductionClause)

_WORD = re.compile(r"[A-Za-z_]\w*")
#: Constructs whose statement one thread of a team executes, and those without an effect there.
_FOR_ONE_THREAD, _WITHOUT_EFFECT = ("single", "master", "masked"), ("simd", "barrier", "flush")
#: The number of threads in a region, and outside: the number that a region would have.
_COUNT, _COUNT_OUTSIDE = "omp_get_num_threads", "omp_get_max_threads"
#: Functions of OpenMP that tell one thread alone what they tell each of several.
_SAME_IN_ALL = frozenset(f"omp_get_{name}" for name in ("wtime", "wtick", "max_threads", "num_procs"))

#: Ranges of a file, with the text that takes their place.
Replacements = tuple[tuple[SourceRange, bytes], ...]


def merge_regions(
    builder: RegionBuilder,
    located: Mapping[str, tuple[LocatedDirective, ...]],
    lines: Mapping[str, tuple[OpenMPText, ...]],
) -> tuple[dict[str, tuple[LocatedDirective, ...]], dict[str, Replacements]]:
    """The directives of each file, where loops have the clauses of their parallel regions; and what
    a file calls otherwise without a region's threads. `lines` has all lines of OpenMP.

    Reports the regions that stay OpenMP's, and the loops that stay with them.
    """
    teams = _Teams(builder, tuple(each for of_file in located.values() for each in of_file), lines)
    teams.decide()

    def merged(directive: LocatedDirective) -> LocatedDirective:
        if directive.openmp_line is None:
            return directive
        with builder.diagnostics.about(directive.range), builder.diagnostics.reporting():
            return teams.merged(directive)
        return directive

    result = {path: tuple(map(merged, of_file)) for path, of_file in located.items()}
    replaced = teams.replacements()
    return result, {path: tuple(each for each in replaced if each[0].file == path) for path in located}


@dataclass(frozen=True)
class _Team:
    """What a team of threads executes: the region of the line at `place`, or a function (`region`
    is None) at `place` that regions call. `inside` are the directives in it.
    """

    place: SourceRange
    region: OpenMPRegion | None
    statement: BoundStatement
    inside: tuple[LocatedDirective, ...]

    @property
    def loops(self) -> tuple[LocatedDirective, ...]:
        """The loops that the team divides."""
        return tuple(each for each in self.inside if each.in_openmp_region)

    @cached_property
    def bodies(self) -> tuple[Node, ...]:
        """Their statements."""
        places = {loop.statement for loop in self.loops}
        nodes = self.statement.node.walk()
        return tuple(node for node in nodes if node.start in places and node.kind == CursorKind.FOR_STMT)


class _Teams:
    """Decides which teams one thread can stand for. `refused` has the reasons of those that it
    cannot, by their places; `arrays` the arrays private to a loop's iterations, by the loop's line.
    """

    def __init__(
        self,
        builder: RegionBuilder,
        directives: tuple[LocatedDirective, ...],
        lines: Mapping[str, tuple[OpenMPText, ...]],
    ) -> None:
        self.builder, self.directives, self.lines = builder, directives, lines
        self.thread_private = thread_private_names(lines.values())
        self.regions: list[_Team] = []
        self.functions: dict[Key, _Team] = {}
        self.refused: dict[SourceRange, Diagnostic] = {}
        self.arrays: dict[SourceRange, tuple[str, ...]] = {}

    def decide(self) -> None:
        """Find the teams, and refuse those that need several threads, until no more are refused.
        Reports the refused regions.
        """
        for directive in self.directives:
            if directive.openmp_region is not None:
                with self._refusing(directive.range):
                    statement = self.builder.bind(directive, _statement(directive), "#pragma omp parallel")
                    inside = tuple(each for each in self.directives if _is_inside(each, directive, statement))
                    self.regions.append(_Team(directive.range, directive.openmp_region, statement, inside))
        for directive in self.directives:
            if directive.in_openmp_region and not any(directive in region.inside for region in self.regions):
                with self._refusing(directive.range):
                    self._add_function(directive)
        teams = (*self.regions, *self.functions.values())
        for team in teams:
            with self._refusing(team.place):
                self._check(team)
        before = -1
        while len(self.refused) != before:
            before = len(self.refused)
            for team in teams:
                if team.place not in self.refused:
                    with self._refusing(team.place):
                        self._check_calls(team)
            self._refuse_called()
        for directive in self.directives:
            if directive.openmp_region is not None and directive.range in self.refused:
                with self.builder.diagnostics.about(directive.range):
                    self.builder.diagnostics.add(self.refused[directive.range])

    @contextmanager
    def _refusing(self, place: SourceRange) -> Iterator[None]:
        """A SourceError says why the team at this place stays."""
        try:
            yield
        except SourceError as refusal:
            why = refusal.diagnostic
            here = (Diagnostic(Severity.NOTE, why.range, "here"),) if why.range != place else ()
            self.refused[place] = Diagnostic(Severity.ERROR, place, why.message, (*here, *why.notes))

    def _add_function(self, loop: LocatedDirective) -> None:
        """The team of the function around a loop. Raises SourceError."""
        facts = self.builder.function_around(loop, "#pragma omp for")
        function = facts.node
        if function.key in self.functions:
            return
        statement = BoundStatement(facts, (function.body,), function.body.range)
        in_regions = [each for region in self.regions for each in region.inside]
        inside = tuple(
            each
            for each in self.directives
            if statement.range.holds(each.range.file, each.range.start.offset)
            and each.openmp_region is None
            and each not in in_regions
        )
        self.functions[function.key] = _Team(function.range, None, statement, inside)

    def _check(self, team: _Team) -> None:
        """Raises SourceError where one thread cannot execute the text with the same effect."""
        function = team.statement.facts.node
        if team.region is None and (function.storage != "STATIC" or function.key in _uncalled(function.unit)):
            raise source_error(function.range, "threads of other files may call it, as it is not static")
        for each in team.inside:
            if not each.in_openmp_region:
                what = (
                    "a line in it stays OpenMP's"
                    if each.stays_openmp
                    else "a directive in it is no loop's for its threads"
                )
                raise source_error(each.range, what)
        self._check_text(team.statement.node, team.bodies, [loop.range for loop in team.loops])
        self._check_counts(team)
        self.arrays |= self._private_arrays(team)
        liveness = Liveness(team.statement.facts, team.statement.path)
        for name, clause in team.region.private_names if team.region is not None else ():
            declaration = visible_declaration(function, name, team.place.start.offset)
            if declaration is not None and liveness.read_after(declaration):
                raise source_error(clause.range, f"the value of '{name}' before the region may be read behind it")

    def _check_text(self, text: Node, bodies: Sequence[Node] = (), loops: Collection[SourceRange] = ()) -> None:
        """Raises SourceError where threads that execute a statement, or a function's body, do what
        one thread does not. `bodies` and `loops` are the statements and lines of a team's loops.
        """
        for line in self._lines_in(text):
            word = line.words[0] if line.words else ""
            is_plain = word in (*_FOR_ONE_THREAD, *_WITHOUT_EFFECT) and "copyprivate" not in line.words
            if not is_plain and line.range not in loops:
                raise source_error(line.range, f"tilepragma does not translate 'omp {word}' in a region")
        for node in self._for_all_threads(text, bodies):
            if node.kind == CursorKind.CALL_EXPR and not _has_one_effect(node):
                name = node.called.spelling if node.called is not None else "what a pointer leads to"
                raise source_error(node.range, f"each thread calls '{name}'")
            if node.named is not None and node.spelling in self.thread_private:
                raise source_error(node.range, f"each thread has a '{node.spelling}' of its own (threadprivate)")

    def _for_all_threads(self, text: Node, bodies: Sequence[Node]) -> Iterator[Node]:
        """The nodes of a text that each thread executes: those outside of loops, and of statements
        for one thread.
        """
        unit, apart = text.unit, [*bodies]
        for line in self._lines_in(text):
            if line.words[:1] and line.words[0] in _FOR_ONE_THREAD:
                place = next_statement(unit.text(text.file), line.end_offset, {}, unit.skipped(text.file))
                apart += [node for node in text.walk() if node.start == place]
        return _outside(text, apart)

    def _lines_in(self, text: Node) -> Iterator[OpenMPText]:
        for line in self.lines.get(text.file, ()):
            if text.start <= line.range.start.offset < text.end:
                yield line

    def _check_counts(self, team: _Team) -> None:
        """Raises SourceError where the number of threads cannot be named otherwise."""
        unit = team.statement.node.unit
        for name in _named_counts(team):
            declared = {node.spelling for node in unit.file_scope()}
            is_declared = _COUNT_OUTSIDE in declared or _COUNT not in declared  # both may be implicit
            is_usual = team.region is not None and team.region.has_usual_threads
            if not is_usual or not is_declared or unit.text(name.file)[name.start : name.end] != _COUNT.encode():
                raise source_error(name.range, f"'{_COUNT}' asks for OpenMP's threads")

    def _check_calls(self, team: _Team) -> None:
        """Raises SourceError where a function that the team calls needs several threads, or where
        neither the team nor such a function has a loop.
        """
        has_loops = bool(team.loops)
        for definition in _called(self._for_all_threads(team.statement.node, team.bodies)):
            callee = self.functions.get(definition.key)
            if callee is not None and callee.place in self.refused:
                raise source_error(definition.range, f"'{definition.spelling}', which it calls, needs its threads")
            if callee is None and not definition.spelling.startswith("omp_"):  # a stub where there is no OpenMP
                self._check_text(definition.body)
            has_loops |= callee is not None
        if not has_loops:
            raise source_error(team.place, "it has no loop under 'omp for'")

    def _refuse_called(self) -> None:
        """Refuse functions that what stays OpenMP's calls: each thread would run all of a loop."""
        staying = [region.statement.node for region in self.regions if region.place in self.refused]
        for directive in self.directives:
            if directive.stays_openmp and directive.statement is not None:
                with suppress(SourceError):
                    staying.append(self.builder.bind(directive, directive.statement, "#pragma omp").node)
        for node in staying:
            for definition in _called(node.walk()):
                team = self.functions.get(definition.key)
                if team is not None and team.place not in self.refused:
                    with self._refusing(team.place):
                        raise source_error(node.range, "threads that stay OpenMP's call it")

    def _private_arrays(self, team: _Team) -> dict[SourceRange, tuple[str, ...]]:
        """The arrays and structs of each thread that a loop alone fills, by the loop's line.

        Raises SourceError where a loop, or a function with loops, otherwise uses memory that each
        thread has for itself: an array or a struct, or what a pointer leads to that a thread has
        got from a call, or from nowhere.
        """
        bodies = team.bodies
        nodes = list(_outside(team.statement.node, bodies))
        declared = [node for node in nodes if node.kind == CursorKind.VAR_DECL and node.storage != "STATIC"]
        private, first = self._private_variables(team, first=False), self._private_variables(team, first=True)
        variables = {node.key: node for node in (*declared, *private, *first)}
        assigned = list(_assigned(nodes))
        values = {key for key, _ in assigned}
        for clause in team.region.reductions if team.region is not None else ():
            for name in clause.names:
                declaration = self._visible(team, name)
                if declaration is not None and declaration.key in values:
                    raise source_error(clause.range, f"each thread changes its '{name}' outside the loops")
        memory = {key for key, node in variables.items() if _is_aggregate(node)}
        memory |= {node.key for node in private if is_pointer(node.type) and node.key not in values}
        before = -1
        while len(memory) != before:
            before = len(memory)
            memory |= {key for key, value in assigned if key in variables and _leads_to(memory, variables[key], value)}
        elsewhere = {node.named.key for node in nodes if node.named is not None} | values | {n.key for n in first}
        for node in nodes:
            if node.kind == CursorKind.CALL_EXPR and node.called is not None and node.called.key in self.functions:
                _refuse_uses(node, memory)
        filled = [memory & set(_filled(body)) for body in bodies]
        used = [memory & {node.named.key for node in body.walk() if node.named is not None} for body in bodies]
        # What one loop fills and another one only reads passes from loop to loop in each thread.
        passed_on = {key for keys, of_loop in zip(used, filled, strict=True) for key in keys - of_loop}
        scratch = {key for key in set().union(*filled) - elsewhere - passed_on if _is_aggregate(variables[key])}
        constant = {key for key in memory - set().union(*filled) if _is_aggregate(variables[key])}
        named = {node.key for node in private}  # in a clause already
        result = {}
        for loop in team.loops:
            for body in bodies:
                if body.start == loop.statement:
                    _refuse_uses(body, memory - scratch - constant)
                    keys = scratch & set(_filled(body)) - named
                    result[loop.range] = tuple(sorted(variables[key].spelling for key in keys))
        return result

    def _private_variables(self, team: _Team, *, first: bool) -> list[Node]:
        """The variables of the region's clauses `private`, or `firstprivate`."""
        clauses = team.region.private_names if team.region is not None else ()
        nodes = (self._visible(team, name) for name, clause in clauses if clause.first is first)
        return [node for node in nodes if node is not None]

    def _visible(self, team: _Team, name: str) -> Node | None:
        return visible_declaration(team.statement.facts.node, name, team.statement.range.start.offset)

    def merged(self, directive: LocatedDirective) -> LocatedDirective:
        """A loop's directive with its region's clauses. Raises SourceError if it stays."""
        if not directive.in_openmp_region:
            statement = self.builder.bind(directive, _statement(directive), "#pragma omp parallel for")
            return _with_clauses(directive, OpenMPRegion(directive.range), statement)
        team = next((each for each in (*self.regions, *self.functions.values()) if directive in each.inside), None)
        why = None if team is None else self.refused.get(team.place)
        if team is None or (why is not None and team.region is not None):
            raise source_error(directive.range, "its loop needs the threads of an 'omp parallel' that stays")
        if why is not None:
            raise source_error(directive.range, f"its function needs several threads: {why.message}")
        arrays = self.arrays.get(directive.range, ())
        private = (PrivateClause(arrays, False, directive.range),) if arrays else ()
        region = team.region or OpenMPRegion(directive.range)
        return _with_clauses(directive, replace(region, privates=(*region.privates, *private)), team.statement)

    def replacements(self) -> Replacements:
        """What regions that go call otherwise without their threads."""
        regions = (region for region in self.regions if region.place not in self.refused)
        return tuple((name.range, _COUNT_OUTSIDE.encode()) for region in regions for name in _named_counts(region))


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
    return is_behind and place is not None and statement.range.holds(directive.range.file, place)


def _outside(text: Node, apart: Sequence[Node]) -> Iterator[Node]:
    """The nodes of a text but for those of the statements `apart`."""
    waiting = [text]
    while waiting:
        node = waiting.pop()
        if not any(each.start <= node.start < each.end for each in apart):
            yield node
            waiting.extend(reversed(node.children))


def _called(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The user's functions that nodes name, and those that these name: their definitions."""
    definitions: dict[Key, Node] = {}
    pending = [_named_functions(nodes)]
    while pending:
        for definition in pending.pop():
            if definition.key not in definitions:
                definitions[definition.key] = definition
                pending.append(_functions_in(definition))
    return tuple(definitions.values())


@once
def _functions_in(definition: Node) -> tuple[Node, ...]:
    return _named_functions(definition.walk())


def _named_functions(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The definitions of the user's functions that nodes name."""
    definitions: dict[Key, Node] = {}
    for node in nodes:
        definition = node.named.definition if node.named is not None else None
        if definition is not None and definition.kind == CursorKind.FUNCTION_DECL and not _is_system(definition):
            definitions.setdefault(definition.key, definition)
    return tuple(definitions.values())


def _is_system(node: Node) -> bool:
    return node.unit.is_system(node.file)


def _has_one_effect(call: Node) -> bool:
    """Whether a call by one thread does what calls by all threads do. What the user defines is
    checked by its text.
    """
    function = call.called
    if function is None:
        return False
    name, definition = function.spelling, function.definition
    if name.startswith("omp_"):
        return name == _COUNT or name in _SAME_IN_ALL
    is_users = definition is not None and not _is_system(definition)
    return is_users or math_name(name) is not None or name.removeprefix("__builtin_") in MEMORY


def _named_counts(team: _Team) -> Iterator[Node]:
    """Where a team's text names the function for the number of its threads."""
    references = (node for node in team.statement.node.walk() if node.kind == CursorKind.DECL_REF_EXPR)
    return (node for node in references if node.spelling == _COUNT)


@once
def _uncalled(unit: ClangUnit) -> frozenset[Key]:
    """What anything but a call names in the translation unit; a function there may be called by
    others.
    """
    keys = set()
    for definition in unit.file_scope():
        nodes = list(definition.walk())
        calls = (node for node in nodes if node.kind == CursorKind.CALL_EXPR and node.children)
        called = {strip(call.children[0]).start for call in calls}
        keys |= {node.named.key for node in nodes if node.named is not None and node.start not in called}
    return frozenset(keys)


def _is_aggregate(variable: Node) -> bool:
    return is_array(variable.type) or is_record(variable.type)


def _refuse_uses(user: Node, memory: set[Key]) -> None:
    """Raises SourceError where a loop or a call uses memory of each thread's own."""
    for node in user.walk():
        if node.named is not None and node.named.key in memory:
            raise source_error(node.range, f"each thread has a '{node.spelling}' of its own")


def _filled(loop: Node) -> Iterator[Key]:
    """The variables of which a loop may change a part: those that it assigns, or passes on."""
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


def _leads_to(memory: set[Key], variable: Node, value: Node | None) -> bool:
    """Whether a variable that gets this value (None: one by its address) is a pointer that may lead
    to the variables in `memory`, or to memory that a call gives to each thread.
    """
    if not is_pointer(variable.type):
        return False
    if value is None:
        return True
    parts = list(value.walk())
    named = (strip(part).named for part in parts)
    calls = any(part.kind == CursorKind.CALL_EXPR for part in parts)
    return calls or any(each is not None and each.key in memory for each in named)


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
