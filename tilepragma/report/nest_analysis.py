"""All that the engine knows of one nest, found once: what reports, pictures and advice are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import Enum

import islpy as isl

from tilepragma.base.frozen_values import dataclass
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
from tilepragma.poly.extraction import extract_scop, step_of
from tilepragma.poly.hyperplanes import COMMUNICATION_MINIMAL, tiling_hyperplanes
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.program import program_of
from tilepragma.poly.schedule import Schedule
from tilepragma.poly.scop import Scop, ScopStatement
from tilepragma.poly.wavefronts import BandWavefronts, band_wavefronts


class LoopKind(Enum):
    """What the dependences allow a loop's iterations, those of the loops around it being fixed (thesis section 3.2.6)."""

    DOALL = "DOALL"
    """it carries no dependence: all iterations may run at once"""
    DOACROSS = "DOACROSS"
    """it carries one, but iterations may overlap: two or more hyperplanes share what is carried, in wavefronts"""
    SEQUENTIAL = "sequential"
    """it carries one, and each iteration waits for all of those before"""


@dataclass(frozen=True)
class LoopFacts:
    """One loop of the nest; `carried` are the memory-based dependences that it carries, `depth` counts from 0."""

    loop: Loop
    depth: int
    kind: LoopKind
    carried: tuple[Dependence, ...]


@dataclass(frozen=True)
class NestAnalysis:
    """One nest: its Scop, and its dependences but for those that objects owned by instances cut.

    `memory` and `values` are the memory-based and the value-based dependences. `schedule` is what
    Algorithm 4.1 finds for the nest, with its `bands`: they tell which loops could overlap, and
    nothing of what a plan does.
    """

    nest: Loop
    scop: Scop
    memory: tuple[Dependence, ...]
    values: tuple[Dependence, ...]
    schedule: Schedule
    bands: tuple[BandWavefronts, ...]
    overlapped: frozenset[int] = frozenset()
    """loops, by index, that a plan crosses in wavefronts of tiles, whatever is found here"""

    @property
    def statements(self) -> tuple[ScopStatement, ...]:
        """The statements of the nest in textual order."""
        return self.scop.statements


@dataclass(frozen=True)
class Owned:
    """Objects that every instance of a launch has a copy of, the `reduced` ones among them, and the
    loops (by index) whose iterations are `dealt` to instances.

    Only what happens within one iteration of those loops orders anything through such an object. A
    copy for each iteration of a loop that carries no value of the object costs nothing: such a loop
    carries no dependence of it either.
    """

    objects: frozenset[DataObject] = frozenset()
    reduced: frozenset[DataObject] = frozenset()
    dealt: frozenset[int] = frozenset()


def analyse_nest(
    nest: Loop,
    functions: tuple[Function, ...],
    written: frozenset[DataObject],
    owned: Owned,
    region: tuple[Statement, ...] = (),
) -> NestAnalysis:
    """What can be known of a nest; `written` is what the `region` around it changes. Raises OperationLimitError."""
    body: tuple[Statement, ...] = (nest,)
    scop = extract_scop(body, functions, written, around=region)
    with operation_limit(scop.context, DEFAULT_LIMIT, "finding the dependences"):
        values = value_dependences(scop)
        needed = _needed(values, owned)
        memory = _ordering(memory_dependences(scop), owned, needed)
        values = _ordering(values, owned, needed)
        program = program_of(scop, values)
    schedule = tiling_hyperplanes(program.statements, program.dependences, COMMUNICATION_MINIMAL)
    with operation_limit(scop.context, DEFAULT_LIMIT, "finding wavefronts"):
        bands = band_wavefronts(schedule, program.dependences)
    return NestAnalysis(nest, scop, memory, values, schedule, bands)


def _ordering(
    dependences: Iterable[Dependence], owned: Owned, needed: Mapping[str, set[int]]
) -> tuple[Dependence, ...]:
    """The dependences that order anything, with `needed`, the loops that carry values of each owned object."""
    found = []
    for dependence in dependences:
        if dependence.source.object in owned.objects:
            kept = _within(dependence, owned, needed.get(dependence.source.object.name, set()))
            found += [kept] if kept is not None else []
        else:
            found.append(dependence)
    return tuple(found)


def _within(one: Dependence, owned: Owned, needed: set[int] | None) -> Dependence | None:
    """{ S[i] -> T[j] : i = j on the loops that each have a copy of the object }; None where nothing
    is left.

    These are the loops dealt out, those around them and, where `needed` is given, all that are not
    needed.
    """
    dealt = max((depth for depth, loop in enumerate(one.loops) if loop.index in owned.dealt), default=-1)
    if one.source.object in owned.reduced and dealt < 0:
        return None
    for place, loop in enumerate(one.loops):
        if place <= dealt or (needed is not None and loop.index not in needed):
            relation = one.relation.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
            one = replace(one, relation=relation, distances=with_zero(one.distances, place))
    own = (*one.source_statement.loops[len(one.loops) :], *one.sink_statement.loops[len(one.loops) :])
    apart = needed is not None and any(loop.index not in needed for loop in own)
    if one.relation.is_empty() or (apart and one.kind is not DependenceKind.FLOW and not carried_at(one)):
        return None
    return one


def _needed(values: Iterable[Dependence], owned: Owned) -> dict[str, set[int]]:
    """By the names of owned objects, the loops that carry a value from one iteration to another."""
    found: dict[str, set[int]] = {}
    for value in values:
        if value.kind is DependenceKind.FLOW and value.source.object in owned.objects:
            kept = _within(value, owned, None)
            for loop in carried_at(kept) if kept is not None else ():
                found.setdefault(value.source.object.name, set()).add(loop.index)
    return found


def loop_facts(analysis: NestAnalysis) -> tuple[LoopFacts, ...]:
    """Every loop of the nest in textual order, classified."""
    carried: dict[int, list[Dependence]] = {}
    for one in analysis.memory:
        for loop in carried_at(one):
            carried.setdefault(loop.index, []).append(one)
    shared = _pipelined(analysis)
    depths = {loop.index: depth for each in analysis.statements for depth, loop in enumerate(each.loops)}
    found = []
    for loop in loops_in(analysis.nest):
        what = tuple(carried.get(loop.index, ()))
        kind = LoopKind.DOALL if not what else LoopKind.DOACROSS if loop.index in shared else LoopKind.SEQUENTIAL
        found.append(LoopFacts(loop, depths.get(loop.index, 0), kind, what))
    return tuple(found)


def _pipelined(analysis: NestAnalysis) -> frozenset[int]:
    """The loops whose iterators stand in a band of which at least two rows carry something: a wavefront crosses them."""
    found = set(analysis.overlapped)
    for band in analysis.bands:
        carrying = carrying_rows(band)
        if len(carrying) < 2:
            continue
        for name in band.statements:
            rows = analysis.schedule.of(name).rows
            loops = next(each.loops for each in analysis.statements if each.name == name)
            for place, loop in enumerate(loops):
                if any(rows[band.levels[row]].coefficients[place] for row in carrying):
                    found.add(loop.index)
    return frozenset(found)


def carrying_rows(band: BandWavefronts) -> tuple[int, ...]:
    """The rows of a band that Theta_T sums in (3.17): those that carry a dependence, numbered from 0."""
    if not band.inter_sequential:
        return ()
    return tuple(place for place, factor in enumerate(band.inter[0]) if factor)


@dataclass(frozen=True)
class TripCount:
    """How often a loop runs each time it is entered with anything to do: from `least` to `most` times."""

    least: int
    most: int


def parameter_names(analysis: NestAnalysis) -> frozenset[str]:
    """The values from outside that the domains and accesses of the nest depend on, by the names of their objects."""
    names: set[str] = set()
    for each in analysis.statements:
        for space in (each.domain.get_space(), *(reference.relation.get_space() for reference in each.references)):
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
    """How often the loop runs at these sizes, None where they do not say it."""
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
    """{ [i_1, …, i_k] : some statement under the loop runs there }, k being the loop's depth; None for a loop without any."""
    union: isl.Set | None = None
    for each in analysis.statements:
        places = [place for place, around in enumerate(each.loops) if around.index == loop.index]
        if places:
            domain = at_sizes(each.domain, sizes)
            inner = len(each.loops) - places[0] - 1
            part = domain.project_out(isl.dim_type.set, places[0] + 1, inner).reset_tuple_id()
            union = part if union is None else union.union(part)
    return union
