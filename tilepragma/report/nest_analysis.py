"""The engine's facts of one nest, computed once for reports, pictures and advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import Enum

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Function, Loop, Statement
from tilepragma.ir.traversal import loops_in
from tilepragma.poly.dependences import (
    Dependence,
    DependenceKind,
    carried_at,
    memory_dependences,
    value_dependences,
    with_zero,
)
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import Scop, ScopStatement, step_of


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
class Owned:
    """Private objects of a launch's instances, the `reduced` ones among them. The loops in
    `distributed` (by index) are distributed to instances. A private object orders only what happens
    within one iteration of these loops. A copy for each iteration of a loop that carries no value
    of the object costs nothing: such a loop carries no dependence of it either.
    """

    objects: frozenset[DataObject] = frozenset()
    reduced: frozenset[DataObject] = frozenset()
    distributed: frozenset[int] = frozenset()


def analyse_nest(
    nest: Loop,
    functions: tuple[Function, ...],
    written: frozenset[DataObject],
    owned: Owned,
    region: tuple[Statement, ...],
    overlapped: frozenset[SourceRange],
) -> NestAnalysis:
    """The facts of a nest; `written` is what the `region` changes. Raises OperationLimitError."""
    body: tuple[Statement, ...] = (nest,)
    scop = extract_scop(body, functions, written, around=region)
    with operation_limit(scop.context, DEFAULT_LIMIT, "finding the dependences"):
        values = value_dependences(scop)
        needed = _needed(values, owned)
        memory = _ordering(memory_dependences(scop), owned, needed)
        values = _ordering(values, owned, needed)
    return NestAnalysis(nest, scop, memory, values, overlapped)


def _ordering(
    dependences: Iterable[Dependence], owned: Owned, needed: Mapping[str, set[int]]
) -> tuple[Dependence, ...]:
    """The dependences that order anything; `needed`: the loops that carry an object's values."""
    ordering = []
    for dependence in dependences:
        if dependence.source.object in owned.objects:
            rest = _within(dependence, owned, needed.get(dependence.source.object.name, set()))
            ordering += [rest] if rest is not None else []
        else:
            ordering.append(dependence)
    return tuple(ordering)


def _within(dependence: Dependence, owned: Owned, needed: set[int] | None) -> Dependence | None:
    """{ S[i] -> T[j] : i = j on the loops with a copy of the object each }; None if it is empty.
    These are the distributed loops, the loops around them and, where `needed` is given, all that
    are not needed.
    """
    distributed = max(
        (depth for depth, loop in enumerate(dependence.loops) if loop.index in owned.distributed), default=-1
    )
    if dependence.source.object in owned.reduced and distributed < 0:
        return None
    for place, loop in enumerate(dependence.loops):
        if place <= distributed or (needed is not None and loop.index not in needed):
            relation = dependence.relation.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
            dependence = replace(dependence, relation=relation, distances=with_zero(dependence.distances, place))
    inner_loops = (
        *dependence.source_statement.loops[len(dependence.loops) :],
        *dependence.sink_statement.loops[len(dependence.loops) :],
    )
    has_private_loops = needed is not None and any(loop.index not in needed for loop in inner_loops)
    if dependence.relation.is_empty() or (
        has_private_loops and dependence.kind is not DependenceKind.FLOW and not carried_at(dependence)
    ):
        return None
    return dependence


def _needed(values: Iterable[Dependence], owned: Owned) -> dict[str, set[int]]:
    """By the names of private objects, the loops that carry a value between iterations."""
    needed: dict[str, set[int]] = {}
    for value in values:
        if value.kind is DependenceKind.FLOW and value.source.object in owned.objects:
            rest = _within(value, owned, None)
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
        kind = ordered if what else LoopKind.DOALL
        facts.append(LoopFacts(loop, depths.get(loop.index, 0), kind, what))
    return tuple(facts)


@dataclass(frozen=True)
class TripCount:
    """How often a loop runs, if it runs at all: from `least` to `most` times."""

    least: int
    most: int


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


def trip_count(analysis: NestAnalysis, loop: Loop, sizes: Callable[[str], int | None]) -> TripCount | None:
    """The loop's trip count at these sizes, None where they do not determine it."""
    step = abs(step_of(loop) or 0)
    domain = _iterations(analysis, loop, sizes)
    if step == 0 or domain is None:
        return None
    if domain.is_empty():
        return TripCount(0, 0)
    depth = domain.dim(isl.dim_type.set) - 1
    if not domain.dim_has_upper_bound(isl.dim_type.set, depth) or not domain.dim_has_lower_bound(
        isl.dim_type.set, depth
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
    return TripCount(int(least.to_python()) // step + 1, int(most.to_python()) // step + 1)


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
