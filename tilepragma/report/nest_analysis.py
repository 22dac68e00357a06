"""A nest as reports, pictures and advice show it: its loops, statements and dependences.

Dependences are those of the source; which loops overlap is what the plan says. Statements are S1,
S2, … in the order of the text, since the engine's names mean nothing to the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Loop, TileNest
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan
from tilepragma.plan.space_time import statement_ranges
from tilepragma.plan.summary import TileWavefronts, tile_wavefronts
from tilepragma.poly.dependences import (
    Dependence,
    DependenceKind,
    carried_at,
    distance_text,
    memory_dependences,
    value_dependences,
    with_zero,
)
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.schedule import Row
from tilepragma.poly.scop import Reference, Scop, ScopStatement, step_of
from tilepragma.report.size_values import Sizes, iterations
from tilepragma.report.source_text import SourceText, plain_header
from tilepragma.schedule.in_order import keeps_order

#: How many accesses of one dependence are named.
_MOST_ACCESSES = 3
_KINDS = ("flow", "anti", "output", "input")


class LoopKind(Enum):
    """What a loop is at fixed outer iterations (thesis section 3.2.6)."""

    DOALL = "DOALL"
    """it carries no dependence: all iterations may run in parallel"""
    DOACROSS = "DOACROSS"
    """it carries one, but the plan overlaps its iterations, in wavefronts or by renaming"""
    SEQUENTIAL = "sequential"
    """it carries one, and the plan runs its iterations one after another"""


@dataclass(frozen=True)
class LoopFacts:
    """One loop; `carried` are its carried memory-based dependences, `depth` counts from 0."""

    loop: Loop
    depth: int
    kind: LoopKind
    carried: tuple[Dependence, ...]


@dataclass(frozen=True)
class NestAnalysis:
    """One nest: its Scop and its dependences, without those that private objects remove. `memory`
    and `values` are the memory-based and the value-based dependences. `overlapped` are the loops,
    by their heads, whose iterations the plan overlaps.
    """

    nest: Loop
    scop: Scop
    memory: tuple[Dependence, ...]
    values: tuple[Dependence, ...]
    overlapped: frozenset[SourceRange]

    @property
    def statements(self) -> tuple[ScopStatement, ...]:
        """The statements of the nest in textual order."""
        return self.scop.statements


@dataclass(frozen=True)
class CodeRow:
    """A loop or a statement. `kind` is a loop's class or ""; `label` is "S1" or ""."""

    line: int
    depth: int
    text: str
    label: str
    kind: str
    why: str
    trips: str


@dataclass(frozen=True)
class DependenceRow:
    """Dependences of one distance between two statements. `kinds` are `flow, anti`, with a ? if
    data decide. `distance` counts iterations of `loops`, those around both; `accesses` are `A[i] →
    A[i + 1]`.
    """

    source: str
    sink: str
    kinds: str
    distance: str
    loops: str
    accesses: str


@dataclass(frozen=True)
class NestFacts:
    """One nest. If the engine gave up, `problem` says why, and there is no analysis. `tiles` are
    the hyperplanes of each statement, in textual order, whose tiles run in wavefronts on cores.
    """

    line: int
    iterator: str
    code: tuple[CodeRow, ...] = ()
    dependences: tuple[DependenceRow, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    analysis: NestAnalysis | None = None
    tiles: tuple[tuple[Row, ...], ...] = ()


def nest_facts(nests: Iterable[Loop], plan: KernelPlan, source: SourceText, sizes: Sizes) -> Iterator[NestFacts]:
    """The facts of a kernel's nests; statements are numbered over the whole kernel."""
    first = 1
    planned = _planned_objects(plan)
    for nest in nests:
        place = nest.header.start.line, nest.iterator.host
        if plan.kernel.original_sweeps and keeps_order(nest):
            words = "nests one after another, each proven by itself: none of them is moved beyond another."
            yield NestFacts(*place, problem=f"What it runs are {words}")
            continue
        try:
            analysis = _analysed(nest, plan, planned)
        except OperationLimitError:
            yield NestFacts(*place, problem="Its dependences are unknown: the engine reached its limit of operations.")
            continue
        labels = {statement.name: f"S{number}" for number, statement in enumerate(analysis.statements, first)}
        first += len(labels)
        # One expression may stand in several accesses of a line.
        notes = dict.fromkeys(f"line {reason.range.start.line}: {reason.reason}" for reason in analysis.scop.reasons)
        code = tuple(_code(analysis, plan, source, sizes, labels))
        dependences = tuple(_dependences(analysis, source, labels))
        yield NestFacts(*place, code, dependences, tuple(notes), "", analysis, drawn_tiles(analysis, plan))


# -- dependences and what the plan makes of them


@dataclass(frozen=True)
class _PlannedObjects:
    """Private objects of a launch's instances, the `reduced` ones among them. The loops in
    `distributed` (by index) are distributed to instances. A private object orders only what happens
    within one iteration of these loops. A copy for each iteration of a loop that carries no value
    of the object costs nothing: such a loop carries no dependence of it either.
    """

    private: frozenset[DataObject]
    reduced: frozenset[DataObject]
    distributed: frozenset[int]


def _planned_objects(plan: KernelPlan) -> _PlannedObjects:
    reduced = frozenset(reduction.object for launch in plan.host for reduction in launch.reductions)
    privates = frozenset(object_ for launch in plan.host for object_ in launch.privates)
    nests = [node for launch in plan.host for node in walk(launch.body) if isinstance(node, TileNest)]
    distributed = {loop.loop.index for nest in nests for loop in nest.loops if loop.is_distributed}
    if plan.kernel.reductions is not None:
        reduced |= {array for _, arrays in plan.kernel.reductions.loops for array, _ in arrays}
    return _PlannedObjects(privates | reduced, reduced, frozenset(distributed))


def _analysed(nest: Loop, plan: KernelPlan, planned: _PlannedObjects) -> NestAnalysis:
    """Raises OperationLimitError."""
    kernel = plan.kernel
    scop = extract_scop((nest,), kernel.functions, written_objects(kernel), around=kernel.body.statements)
    with operation_limit(scop.context, DEFAULT_LIMIT, "finding the dependences"):
        memory = memory_dependences(scop)
        values = value_dependences(memory)
        needed = _needed(values, planned)
        memory, values = (_ordering(dependences, planned, needed) for dependences in (memory, values))
    return NestAnalysis(nest, scop, memory, values, overlapped_loops(plan))


def _ordering(
    dependences: Iterable[Dependence], planned: _PlannedObjects, needed: Mapping[str, set[int]]
) -> tuple[Dependence, ...]:
    """The dependences that order anything; `needed`: the loops that carry an object's values."""
    ordering = []
    for dependence in dependences:
        if dependence.source.object in planned.private:
            rest = _within(dependence, planned, needed.get(dependence.source.object.name, set()))
            ordering += [rest] if rest is not None else []
        else:
            ordering.append(dependence)
    return tuple(ordering)


def _within(dependence: Dependence, planned: _PlannedObjects, needed: set[int] | None) -> Dependence | None:
    """{ S[i] -> T[j] : i = j on the loops with a copy of the object each }; None if it is empty.
    These are the distributed loops, the loops around them and, where `needed` is given, all that
    are not needed.
    """
    distributed = max(
        (depth for depth, loop in enumerate(dependence.loops) if loop.index in planned.distributed), default=-1
    )
    if dependence.source.object in planned.reduced and distributed < 0:
        return None
    for place, loop in enumerate(dependence.loops):
        if place <= distributed or (needed is not None and loop.index not in needed):
            relation = dependence.relation.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
            dependence = replace(dependence, relation=relation, distances=with_zero(dependence.distances, place))
    ends = dependence.source_statement, dependence.sink_statement
    inner_loops = (loop for end in ends for loop in end.loops[len(dependence.loops) :])
    has_private_loops = needed is not None and any(loop.index not in needed for loop in inner_loops)
    if dependence.relation.is_empty() or (
        has_private_loops and dependence.kind is not DependenceKind.FLOW and not carried_at(dependence)
    ):
        return None
    return dependence


def _needed(values: Iterable[Dependence], planned: _PlannedObjects) -> dict[str, set[int]]:
    """By the names of private objects, the loops that carry a value between iterations."""
    needed: dict[str, set[int]] = {}
    for value in values:
        if value.kind is DependenceKind.FLOW and value.source.object in planned.private:
            rest = _within(value, planned, None)
            for loop in carried_at(rest) if rest is not None else ():
                needed.setdefault(value.source.object.name, set()).add(loop.index)
    return needed


def loop_facts(analysis: NestAnalysis) -> tuple[LoopFacts, ...]:
    """Every loop of the nest in textual order, classified."""
    carried: dict[int, list[Dependence]] = {}
    for dependence in analysis.memory:
        for loop in carried_at(dependence):
            carried.setdefault(loop.index, []).append(dependence)
    depths = {loop.index: depth for statement in analysis.statements for depth, loop in enumerate(statement.loops)}
    facts = []
    for loop in loops_in(analysis.nest):
        what = tuple(carried.get(loop.index, ()))
        ordered = LoopKind.DOACROSS if loop.header in analysis.overlapped else LoopKind.SEQUENTIAL
        facts.append(LoopFacts(loop, depths.get(loop.index, 0), ordered if what else LoopKind.DOALL, what))
    return tuple(facts)


def overlapped_loops(plan: KernelPlan) -> frozenset[SourceRange]:
    """The user's loops, by their heads, whose iterations the plan overlaps, on cores or on devices:
    those that its launches distribute, and those that their hyperplanes cross.
    """
    crossed: dict[SourceRange, set[str]] = {}
    for launch in (*plan.host, *plan.device):
        for statements in launch.schedule:
            sums = (each for each in statements.time if len(each.hyperplanes) > 1)
            planes = [plane for each in (*sums, *statements.place) for plane in each.hyperplanes]
            names = {iterator.host for plane in planes for iterator, _ in plane.factors}
            for place in statements.statements:
                crossed.setdefault(place, set()).update(names)
    loops = loops_in(plan.kernel.body)
    inside = ((loop, {name for place in statement_ranges(loop) for name in crossed.get(place, ())}) for loop in loops)
    return frozenset(loop.header for loop, names in inside if loop.iterator.host in names)


def drawn_tiles(analysis: NestAnalysis, plan: KernelPlan) -> tuple[tuple[Row, ...], ...]:
    """The hyperplanes that tile the nest on cores. None where the plan has none, where its loops
    count other than the nest's, or where wavefronts lie inside one step of an outer loop.
    """
    if plan.before_normalisation is not None or plan.reordered is not None:
        return ()
    outermost = (step for step in plan.host_steps if isinstance(step, HostLoop))
    candidates = [rows for step in outermost if (rows := _rows_of_tiles(analysis, tuple(tile_wavefronts(step))))]
    return candidates[0] if len(candidates) == 1 else ()


def _rows_of_tiles(analysis: NestAnalysis, wavefronts: tuple[TileWavefronts, ...]) -> tuple[tuple[Row, ...], ...]:
    """The hyperplanes of every statement; none where the wavefronts run others than the nest's."""
    rows: list[tuple[Row, ...]] = []
    for statement in analysis.statements:
        names = tuple(loop.iterator.host for loop in statement.loops)
        tiles = [each.summed for each in wavefronts if statement.range in each.statements]
        planes = [(plane.coefficients(names), plane.constant) for plane in tiles[0]] if len(tiles) == 1 else []
        rows.append(tuple(Row(factors, constant, None) for factors, constant in planes if factors is not None))
        if not planes or len(rows[-1]) < len(planes):
            return ()
    return tuple(rows)


# -- numbers of iterations


def parameter_names(analysis: NestAnalysis) -> frozenset[str]:
    """The outside values in the nest's domains and accesses, by the names of their objects."""
    names: set[str] = set()
    for statement in analysis.statements:
        relations = (reference.relation for reference in statement.references)
        for space in (statement.domain.get_space(), *(relation.get_space() for relation in relations)):
            for place in range(space.dim(isl.dim_type.param)):
                names.add(space.get_dim_name(isl.dim_type.param, place) or "")
    return frozenset(names)


def at_sizes(domain: isl.Set, sizes: Callable[[str], int | None]) -> isl.Set:
    """{ S[i] : domain(i) } with each parameter p that has a size fixed to sizes(p)."""
    for place in range(domain.dim(isl.dim_type.param)):
        value = sizes(domain.get_dim_name(isl.dim_type.param, place) or "")
        if value is not None:
            domain = domain.fix_val(isl.dim_type.param, place, isl.Val(value, context=domain.get_ctx()))
    return domain


def trip_count(analysis: NestAnalysis, loop: Loop, sizes: Callable[[str], int | None]) -> tuple[int, int] | None:
    """How often the loop runs at these sizes, if at all: at least and at most. None: not known."""
    step = abs(step_of(loop) or 0)
    domain = _iterations(analysis, loop, sizes)
    if step == 0 or domain is None:
        return None
    if domain.is_empty():
        return 0, 0
    depth = domain.dim(isl.dim_type.set) - 1
    if not (
        domain.dim_has_upper_bound(isl.dim_type.set, depth) and domain.dim_has_lower_bound(isl.dim_type.set, depth)
    ):
        return None  # data say how often
    # { [i_1, …, i_(k-1)] -> [i_k] }
    runs = isl.Map.from_range(domain).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, depth)
    try:
        with operation_limit(analysis.scop.context, DEFAULT_LIMIT, "counting iterations"):
            span = runs.dim_max(0).sub(runs.dim_min(0))
            least, most = span.min_val(), span.max_val()
    except OperationLimitError:
        return None
    if not (least.is_int() and most.is_int()):
        return None
    return int(least.to_python()) // step + 1, int(most.to_python()) // step + 1


def _iterations(analysis: NestAnalysis, loop: Loop, sizes: Callable[[str], int | None]) -> isl.Set | None:
    """{ [i_1, …, i_k] : a statement under the loop runs }, k being its depth; None if empty."""
    union: isl.Set | None = None
    for statement in analysis.statements:
        places = [place for place, around in enumerate(statement.loops) if around.index == loop.index]
        if places:
            domain = at_sizes(statement.domain, sizes)
            inner = len(statement.loops) - places[0] - 1
            part = domain.project_out(isl.dim_type.set, places[0] + 1, inner).reset_tuple_id()
            union = part if union is None else union.union(part)
    return union


# -- rows of code and of dependences


def _code(
    analysis: NestAnalysis, plan: KernelPlan, source: SourceText, sizes: Sizes, labels: dict[str, str]
) -> Iterator[CodeRow]:
    """Loops and statements as they stand in the text, or as the plan replaces them."""
    named = sizes.by_name(plan.kernel)
    rows: list[tuple[int, CodeRow]] = []
    for facts in loop_facts(analysis):
        header = facts.loop.header
        row = CodeRow(
            header.start.line,
            facts.depth,
            (plan.reordered is None and source.at(header)) or plain_header(facts.loop),
            "",
            facts.kind.value,
            carried_text(facts),
            _trips(analysis, facts.loop, sizes, named) if named else "",
        )
        rows.append((header.start.offset if plan.reordered is None else facts.loop.index, row))
    for statement in analysis.statements:
        text = _statement(statement, source)
        row = CodeRow(statement.range.start.line, len(statement.loops), text, labels[statement.name], "", "", "")
        rows.append((statement.range.start.offset if plan.reordered is None else statement.loops[-1].index, row))
    yield from (row for _, row in sorted(rows, key=lambda pair: pair[0]))


def _statement(statement: ScopStatement, source: SourceText) -> str:
    """The statement's text; for `if (…) …` and the like, whose bodies have rows, the head."""
    text = source.statement(statement.range, 60)
    if not re.match(r"(if|for|while|switch)\b", text):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == ")" and depth == 0:
            return text[: place + 1]
    return text


def carried_text(facts: LoopFacts) -> str:
    """`carries flow and anti of A, perhaps flow of B`."""
    by_array: dict[tuple[str, bool], set[str]] = {}
    for dependence in facts.carried:
        by_array.setdefault((dependence.source.object.host, dependence.exact), set()).add(dependence.kind.value)
    parts: dict[str, list[str]] = {}
    for (array, certain), array_kinds in by_array.items():
        kinds = array_kinds if certain else array_kinds - by_array.get((array, True), set())
        if kinds:
            words = joined(kind for kind in _KINDS if kind in kinds)
            parts.setdefault(f"{'' if certain else 'perhaps '}{words}", []).append(array)
    return f"carries {'; '.join(f'{words} of {joined(arrays)}' for words, arrays in parts.items())}" if parts else ""


def _trips(analysis: NestAnalysis, loop: Loop, sizes: Sizes, named: dict[str, int]) -> str:
    count = iterations(loop, sizes)
    if count is not None:
        return f"{count}×"
    trips = trip_count(analysis, loop, named.get)
    if trips is None:
        return ""
    least, most = trips
    return f"{most}×" if least == most else f"{least}…{most}×"


def joined(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _dependences(analysis: NestAnalysis, source: SourceText, labels: dict[str, str]) -> Iterator[DependenceRow]:
    groups: dict[tuple[str, str, str, str], dict[str, list[tuple[str, str]]]] = {}
    for value in analysis.values:
        if value.source.object.scope is Scope.LOCAL and not carried_at(value):
            continue  # the loop's body sets a local variable before its use
        loops = ", ".join(loop.iterator.host for loop in value.loops)
        ends = labels[value.source_statement.name], labels[value.sink_statement.name]
        kinds = groups.setdefault((*ends, f"({loops})", distance_text(value.distances)), {})
        pair = _access(value.source, source), _access(value.sink, source)
        kinds.setdefault(value.kind.value + ("" if value.exact else "?"), []).append(pair)
    by_number = sorted(groups.items(), key=lambda group: tuple(int(label[1:]) for label in group[0][:2]))
    for (start, end, loops, distance), kinds in by_number:
        merged: dict[str, list[str]] = {}
        for kind in sorted(kinds, key=lambda word: (_KINDS.index(word.rstrip("?")), word)):
            for accesses in _arrows(list(dict.fromkeys(kinds[kind]))):
                access_kinds = merged.setdefault(accesses, [])
                if kind.rstrip("?") not in access_kinds:
                    access_kinds.append(kind)
        for accesses, words in merged.items():
            yield DependenceRow(start, end, ", ".join(words), distance, loops, accesses)


def _access(reference: Reference, source: SourceText) -> str:
    text = source.at(reference.range, 40)
    return text if text.startswith(reference.object.host.partition("[")[0]) else reference.object.host


def _arrows(pairs: list[tuple[str, str]]) -> Iterator[str]:
    """`a, b → c` if every left access pairs with every right one, else an arrow for each pair."""
    left, right = list(dict.fromkeys(a for a, _ in pairs)), list(dict.fromkeys(b for _, b in pairs))
    if len(left) * len(right) == len(pairs):
        yield f"{_shortened(left)} → {_shortened(right)}"
    else:
        yield from (f"{a} → {b}" for a, b in pairs)


def _shortened(accesses: list[str]) -> str:
    if len(accesses) <= _MOST_ACCESSES:
        return ", ".join(accesses)
    return f"{', '.join(accesses[: _MOST_ACCESSES - 1])}, … ({len(accesses)} in all)"
