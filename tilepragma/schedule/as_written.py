"""S0 and S1: launch the user's own loops where they are parallel; run the sequential loops around
them on the host.

The planner takes statements in order and loops from the outside in:
  1. An independent loop is a launch, with further independent loops of its perfect nest.
  2. If a loop carries dependences and perfectly nests one without, the inner loop is a launch.
  3. A loop that can be distributed becomes loops planned alike (`distributed`).
  4. Any other loop runs on the host around its body's launches, unless all are sequential.

The rest is a launch of one instance. For devices, loops of the first two kinds are distributed as
well, if that maps some part to more axes. On the host such a loop stays whole, for locality; if it
cannot, its parts alternate in strips (`_Planner._in_strips`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import function_uses, leaves_early, used_in, uses, written_in
from tilepragma.ir.directives import ReductionClause
from tilepragma.ir.expressions import (
    Assignment,
    Call,
    Callee,
    DataObject,
    Expression,
    Increment,
    Storage,
    access_to,
    integer,
    negated,
)
from tilepragma.ir.flow import ScalarEffect, exposed_read, scalar_effect
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.invariance import host_evaluable
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    Declarator,
    ForLoop,
    Function,
    If,
    Kernel,
    Loop,
    Statement,
    While,
)
from tilepragma.ir.polynomial import expression, minimum, number, polynomial
from tilepragma.ir.reductions import Updates, reduction_updates
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import flat, loops_in, named_in_clauses, walk
from tilepragma.ir.types import is_signed
from tilepragma.lower.band_loops import counted_loop, floor_quotient, term
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, TileSize, launches_in
from tilepragma.plan.space_time import Hyperplane, Meanings, statement_ranges
from tilepragma.poly.band_fusion import has_shared, streams
from tilepragma.poly.dependences import Dependence, distance_text, may_differ, with_zero
from tilepragma.poly.intra_tile_schedule import InnermostCost, cost_as_written
from tilepragma.poly.operation_limit import OperationLimitError
from tilepragma.poly.scop import ScopStatement, place_of
from tilepragma.poly.strongly_connected import strongly_connected
from tilepragma.schedule.candidate import Depths, Refusal, Region, ScheduleCandidate, with_fallback
from tilepragma.schedule.coalescing import worker_loop
from tilepragma.schedule.default_sizes import JAMMED_ROWS, STRIP
from tilepragma.schedule.in_order import keeps_order
from tilepragma.schedule.index_set_splitting import with_split_loops
from tilepragma.schedule.launch_fusion import LaunchFusion
from tilepragma.schedule.rectangular_hull import rectangular_hull, with_hulls
from tilepragma.schedule.reduction_detection import carried_reason, order_reason
from tilepragma.schedule.tree import LaunchNode, ScheduleNode, candidate_of
from tilepragma.schedule.unroll_and_jam import unroll_and_jam
from tilepragma.schedule.vector_interchange import with_innermost_lanes
from tilepragma.user_tiles.chain_checks import literal_trip
from tilepragma.user_tiles.mapping import Clauses, device_clauses, host_clauses, launchable
from tilepragma.user_tiles.tile_nests import chain_from

NAME = "loops as written"
"""The strategy's name."""

SPLIT_NAME = "loops split at an element"
"""The strategy's name after index-set splitting."""

#: The fewest iterations for which a loop inside a sequential loop is worth a launch.
_LEAST_INNER_TRIP = 8


@dataclass(frozen=True)
class _Site:
    """Where a statement stands: the host loops around it, its nest, the scalars live after it, and
    the declarations around it that each launch repeats if it needs them.
    """

    around: tuple[Loop, ...]
    nest: NestDependences | None
    live: frozenset[str]
    scope: tuple[Declaration, ...] = ()


def as_written(region: Region) -> ScheduleCandidate | Refusal:
    """Plan launches of independent loops inside host loops. Index-set splitting applies only if
    launches then do the work of more loops, and no sequential statement is as deep as the parallel
    ones.
    """
    answer = _candidate(region)
    if region.ordered:
        return answer
    depths = answer.depths if isinstance(answer, ScheduleCandidate) and answer.is_settled else Depths()
    if depths.parallel and depths.launched == depths.parallel:
        return answer
    try:
        split = with_split_loops(region)
    except OperationLimitError:
        return answer
    if split is None:
        return answer
    split_region, places = split
    candidate = _candidate(split_region)
    if isinstance(candidate, Refusal) or not candidate.is_settled or candidate.depths.launched <= depths.launched:
        return answer
    # The parts of a split statement step through memory as the statement does.
    candidate = _named_as_split(candidate, _innermost_cost(region), places)
    return candidate if isinstance(answer, Refusal) else with_fallback(candidate, lambda: answer)


def _named_as_split(
    candidate: ScheduleCandidate, cost: InnermostCost | None, places: tuple[str, ...]
) -> ScheduleCandidate:
    """The candidate of a split region, and its alternatives, with what reports say of it."""
    known = candidate.fallback

    def fallback() -> ScheduleCandidate | Refusal:
        answer = known() if known is not None else Refusal("there is no other")
        return answer if isinstance(answer, Refusal) else _named_as_split(answer, cost, places)

    return replace(
        candidate,
        strategy=SPLIT_NAME,
        innermost_cost=cost,
        split=places,
        fallback=None if known is None else fallback,
    )


def _candidate(region: Region) -> ScheduleCandidate | Refusal:
    outside = {use.object for use in function_uses(region.kernel.functions)}
    if any(scalar in outside for scalar in region.scalars):
        return Refusal("a function that the kernel calls uses a scalar that the kernel writes")
    nests: dict[int, NestDependences] = {}
    numbers = region.loop_numbers()
    planners = [_Planner(region, device, nests, numbers) for device in (False, True)]
    try:
        site = _Site((), None, region.live_out - region.final)
        host, device = (planner.statements(region.statements, site) for planner in planners)
        host = with_innermost_lanes(host, numbers) if region.ordered else host
    except OperationLimitError:
        return Refusal("its dependences are too many to be proven absent")
    reasons, notes, sizes = planners[0].reasons, planners[0].notes, tuple(planners[0].sizes)
    if not _is_parallel(host):
        return Refusal(reasons[0] if reasons else _without_loops(region.kernel))
    cost = None if region.ordered else _innermost_cost(region)
    first = next(numbers)

    def made(jam: bool, fuse: bool = True) -> ScheduleCandidate | Refusal:
        meanings = planners[0].meanings
        mapping = _DefaultMapping(region, itertools.count(first), meanings, fuse)
        nodes = (mapping.nodes(host, device=False, jam=jam), mapping.nodes(device, device=True))
        answer = candidate_of(NAME, region, *nodes, sizes, tuple(dict.fromkeys(notes)), meanings=meanings)
        apart = partial(made, jam, fuse=False)
        if fuse and len(launches_in(nodes[1])) < len(launches_in(device)):
            answer = apart() if isinstance(answer, Refusal) else with_fallback(answer, apart)
        return answer if isinstance(answer, Refusal) else replace(answer, innermost_cost=cost, strips=bool(sizes))

    answer = made(jam=False)
    if isinstance(answer, Refusal) or region.ordered or not any(node.waiting for node in launches_in(host)):
        return answer
    return replace(answer, jammed=partial(made, jam=True))


def _innermost_cost(region: Region) -> InnermostCost | None:
    try:
        return cost_as_written(region.scop, region.dependences)
    except OperationLimitError:
        return None


def _without_loops(kernel: Kernel) -> str:
    """Say why the planner could try no loop."""
    uncounted = [node for node in walk(kernel.body) if isinstance(node, (ForLoop, While)) and any(loops_in(node.body))]
    alone = [node for node in walk(kernel.body) if isinstance(node, ForLoop)]
    if not uncounted and alone:
        line, reason = alone[0].range.start.line, alone[0].reason.rstrip(".")
        return f"the iterations of the loop on line {line} cannot be counted ({reason}), and there is no other loop"
    if not uncounted:
        return f"kernel '{kernel.name}' has no loop that could be distributed"
    loop = uncounted[-1]
    what = f" ({loop.reason.rstrip('.')})" if isinstance(loop, ForLoop) else ""
    inside = "" if kernel.parts is None else ", and no loop inside it can be distributed"
    return f"the iterations of the loop on line {loop.range.start.line} cannot be counted{what}{inside}"


@dataclass
class _Planner:
    """Plans the steps for one kind of target (host or device). Both kinds share `nests`, the
    dependences of each nest by its identity, and the `numbers` of new loops. `reasons` says why
    loops are not independent, `notes` what the user could say to make them so. `sizes` are the
    extents of strips, `meanings` what their loops count.
    """

    region: Region
    device: bool
    nests: dict[int, NestDependences]
    numbers: Iterator[int]
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sizes: list[TileSize] = field(default_factory=list)
    meanings: Meanings = field(default_factory=Meanings)

    # -- statements

    def statements(self, statements: tuple[Statement, ...], site: _Site) -> tuple[ScheduleNode, ...]:
        """Plan statements that run one after another."""
        unit = tuple(flat(statements))
        after = self._after(unit, site.live)
        steps: list[ScheduleNode] = []
        place = 0
        while place < len(unit):
            statement, rest = unit[place], unit[place + 1 :]
            if isinstance(statement, Declaration) and _is_repeatable(statement, rest, self.region.kernel.functions):
                site = replace(site, scope=(*site.scope, statement))
                place += 1
                continue
            end = place + 1 + (_needing(statement, rest) if isinstance(statement, Declaration) else 0)
            steps += self._statement(unit[place:end], replace(site, live=after[end - 1]))
            place = end
        return _joined(steps)

    def _after(self, statements: tuple[Statement, ...], live: frozenset[str]) -> list[frozenset[str]]:
        """The scalars live after each statement."""
        after = []
        for statement in reversed(statements):
            after.append(live)
            live = self._effect(statement).before(live)
        return after[::-1]

    def _effect(self, node: Statement) -> ScalarEffect:
        return scalar_effect(node, self.region.scalars, self.region.kernel.functions)

    def _statement(self, unit: tuple[Statement, ...], site: _Site) -> tuple[ScheduleNode, ...]:
        """Plan a statement, or a declaration with the statements that need it."""
        statement = unit[0]
        if len(unit) == 1 and isinstance(statement, Loop):
            if site.nest is None and self.region.ordered and not site.around and keeps_order(statement):
                return (self._ordered(statement, site),)
            if site.nest is None:
                site = replace(site, nest=self._nest(statement))
            return self._loop(statement, site)
        if len(unit) == 1 and isinstance(statement, If) and self._on_host(site, statement.condition):
            return self._if(statement, site)
        return (LaunchNode(_scoped(Block(unit), site.scope)),)

    def _if(self, statement: If, site: _Site) -> tuple[ScheduleNode, ...]:
        steps: list[ScheduleNode] = [HostCondition(statement.condition, self.statements((statement.then,), site))]
        if statement.otherwise is not None:
            steps.append(HostCondition(negated(statement.condition), self.statements((statement.otherwise,), site)))
        if not _is_parallel(tuple(steps)):
            return (LaunchNode(_scoped(Block((statement,)), site.scope)),)
        return tuple(steps)

    # -- loops

    def _nest(self, root: Loop) -> NestDependences:
        if id(root) not in self.nests:
            named = frozenset(name for clause in self.region.kernel.directive.privates for name in clause.names)
            self.nests[id(root)] = nest_dependences(root, self.region, named)
        return self.nests[id(root)]

    def _loop(self, loop: Loop, site: _Site) -> tuple[ScheduleNode, ...]:
        assert site.nest is not None
        whole = self._parallel_launch(loop, site)
        if whole is not None and not self.device:
            return (whole,)
        parts = distributed(loop, len(site.around), site.nest, lambda part: self._axes(part, site))
        steps = tuple(self._parallel_launch(part, site) or self._ordered(part, site) for part in parts)
        return steps if self.device else self._in_strips(loop, steps)

    def _in_strips(self, loop: Loop, steps: tuple[ScheduleNode, ...]) -> tuple[ScheduleNode, ...]:
        """The distributed loop's steps in strips if they stream the same array, which they then
        share in the cache; else unchanged. Raises OperationLimitError.

            for (i) P;  for (i) Q;
        ->  for (strip) { for (i in strip) P;  for (i in strip) Q; }

        This is as legal as the loop and its distribution: no instance waits for a later iteration.
        """
        launches = [step for step in steps if isinstance(step, LaunchNode) and step.loops]
        if not 1 < len(launches) == len(steps) or not _takes_strips(loop):
            return steps
        if not has_shared(streams(_statements_in(launch.body, self.region), loop.index) for launch in launches):
            return steps
        names = Names(set(names_in(self.region.kernel)) | {size.object.name for size in self.sizes})
        strip = names.scalar(f"{loop.iterator.host}_strip")
        size = TileSize(names.scalar(f"{loop.iterator.host}_size"), STRIP, STRIP)
        self.sizes.append(size)
        lower, end = polynomial(loop.lower), polynomial(loop.upper) + number(int(loop.comparison == "<="))
        last = floor_quotient(end - lower - number(1), access_to(size.object))
        around = counted_loop(next(self.numbers), strip, number(0), last)
        first = lower + term(strip) * term(size.object)
        strips = Hyperplane(((loop.iterator, 1),), expression(-lower), access_to(size.object))
        self.meanings.add(strip, (place for launch in launches for place in statement_ranges(launch.body)), strips)
        bounds = (expression(first), expression(minimum((end, first + term(size.object)))))

        def inside(other: Loop) -> Loop:
            if other.index != loop.index:
                return other
            return replace(other, lower=bounds[0], comparison="<", upper=bounds[1])

        parts = (
            replace(launch, body=with_each(launch.body, Loop, inside), loops=with_each(launch.loops, Loop, inside))
            for launch in launches
        )
        return (HostLoop(replace(around, lower=integer(0)), tuple(parts)),)

    def _ordered(self, loop: Loop, site: _Site) -> ScheduleNode:
        """Run the loop on the host if its body has parallel launches, else in one instance."""
        bounds = loop.bounds
        if self._on_host(site, *bounds) and not leaves_early(loop.body):
            live = site.live | self._effect(loop.body).before(site.live)
            steps = self.statements((loop.body,), replace(site, around=(*site.around, loop), live=live))
            if _is_parallel(steps):
                return HostLoop(loop, steps)
        return LaunchNode(_scoped(Block((loop,)), site.scope))

    def _axes(self, loop: Loop, site: _Site) -> int:
        """The number of axes that the loop maps to."""
        launch = self._parallel_launch(loop, site)
        if launch is None:
            return 0
        if not self.device:
            return len(host_clauses(launch.loops))
        on_host = partial(self._on_host, site)
        return len(device_clauses(launchable(rectangular_hull(loop, launch.loops, on_host)[1], on_host)))

    def _parallel_launch(self, loop: Loop, site: _Site) -> LaunchNode | None:
        """The launch of a loop, if it or a loop perfectly nested in it carries no dependence."""
        assert site.nest is not None
        leaves = site.nest.leaves_under(loop)
        loops: list[Loop] = []
        leading = True
        reasons_before = len(self.reasons)
        for member in chain_from(loop):
            is_sequential = member.directive is not None and member.directive.sequential
            if is_sequential or leaves_early(member.body):
                self.reasons.append(f"the loop over '{member.iterator.host}' runs in order, {_why_in_order(member)}")
                break
            is_assumed = member.directive is not None and member.directive.independent
            carried = None if is_assumed else site.nest.between(member, len(site.around), leaves)
            if carried is not None:
                self.reasons.append(_dependence_reason(member, carried))
                leading = False
            elif leading or self._on_host(site, member.lower, member.upper, member.step):
                trip = literal_trip(member)
                if trip is None or trip >= (2 if leading else _LEAST_INNER_TRIP):
                    loops.append(member)
        if not loops or any(loop.iterator.name in site.live for loop in loops):
            return None
        reductions = self._scalars(loops[-1], site)
        if reductions is None:
            # The scalar matters more than what inner loops carry.
            self.reasons.insert(reasons_before, self.reasons.pop())
            return None
        waiting = () if self.device else tuple(self._waiting(loops[-1], site))
        body = _scoped(Block((loop,)), site.scope)
        return LaunchNode(body, loops=tuple(loops), reductions=reductions, waiting=waiting)

    def _waiting(self, outer: Loop, site: _Site) -> Iterator[int]:
        """The numbers of innermost loops that carry dependences, as do all loops between.

        Compilers can neither vectorise such a loop nor interchange it with a loop around.
        """
        nest, loops = site.nest, tuple(loops_of(outer.body))
        assert nest is not None
        free = [each for each in loops if nest.between(each, nest.loops_around(each), nest.leaves_under(each)) is None]
        for loop in loops:
            if not any(loops_in(loop.body)) and not any(loop in loops_in(free_loop) for free_loop in free):
                yield loop.index

    # -- scalars

    def _scalars(self, loop: Loop, site: _Site) -> tuple[ReductionClause, ...] | None:
        """The reductions that make `loop` parallel; None if some scalar forbids it."""
        named = named_in_clauses(self.region.kernel.directive, Block((loop,)))
        written = written_in(loop, self.region.kernel.functions)
        reductions = []
        for scalar in self.region.scalars:
            if scalar not in written or scalar.host in named or scalar == loop.iterator:
                continue
            exposed = exposed_read(loop.body, scalar, self.region.kernel.functions)
            if exposed is None and scalar.name not in site.live:
                continue
            if exposed is None:
                self.reasons.append(
                    f"'{scalar.host}' is read after the loop over '{loop.iterator.host}', "
                    "and its order tells which iteration writes it last"
                )
                return None
            updates = reduction_updates(scalar, loop.body, self.region.floating, self.region.signs)
            if not isinstance(updates, Updates):
                self.reasons.append(carried_reason(loop, scalar, updates))
                return None
            if updates.ordered:
                self.notes.append(order_reason(loop, updates))
                self.reasons.append(self.notes[-1])
                return None
            reductions.append(ReductionClause(updates.operator, (scalar.host,), loop.header))
        return tuple(reductions)

    def _on_host(self, site: _Site, *values: Expression) -> bool:
        on_host = host_evaluable(self.region.written, [loop.iterator for loop in site.around])
        return all(on_host(value) for value in values)


def _dependence_reason(loop: Loop, broken: Dependence) -> str:
    """Why the iterations of `loop` are not independent: a clause."""
    source, sink = broken.source, broken.sink
    certain = "carries" if broken.exact else "may carry"
    return (
        f"the loop over '{loop.iterator.host}' {certain} {'an' if broken.kind.value[0] in 'ao' else 'a'} "
        f"{broken.kind.value} "
        f"dependence of '{source.object.host}' (line {source.range.start.line}, column {source.range.start.column} to "
        f"line {sink.range.start.line}, column {sink.range.start.column}, distance {distance_text(broken.distances)})"
    )


def _why_in_order(loop: Loop) -> str:
    if loop.directive is None or not loop.directive.sequential:
        return "since a break, or a continue in a switch, stands in it"
    # A directive from `privatization` has no place in the user's text.
    return "as 'seq' says" if loop.directive.range is not NOWHERE else "since its iterations may share a write"


def _is_parallel(steps: tuple[ScheduleNode, ...]) -> bool:
    return any(node.loops for node in launches_in(steps))


def _joined(steps: list[ScheduleNode]) -> tuple[ScheduleNode, ...]:
    """Join consecutive launches of one instance."""
    result: list[ScheduleNode] = []
    for step in steps:
        last = result[-1] if result else None
        if isinstance(step, LaunchNode) and isinstance(last, LaunchNode) and not (step.loops or last.loops):
            result[-1] = LaunchNode(Block((*last.body.statements, *step.body.statements), last.body.range))
        else:
            result.append(step)
    return tuple(result)


def _takes_strips(loop: Loop) -> bool:
    """Whether it counts up by one in signed integers, and may run longer than a strip."""
    steps = polynomial(loop.step).constant == 1 and loop.comparison in ("<", "<=")
    types = (loop.iterator.element, loop.lower.type, loop.upper.type)
    trip = literal_trip(loop)
    return steps and all(map(is_signed, types)) and (trip is None or trip > STRIP)


def _statements_in(body: Block, region: Region) -> Iterator[ScopStatement]:
    nodes = {id(node) for node in walk(body)}
    return (each for each in region.scop.statements if id(each.node) in nodes)


# -- declarations between host loops and launches


def _scoped(body: Block, scope: tuple[Declaration, ...]) -> Block:
    """`body` preceded by the declarations of `scope` that it needs."""
    needed = used_in(body)
    chosen: list[Declaration] = []
    for declaration in reversed(scope):
        declarators: list[Declarator] = []
        for declarator in reversed(declaration.declarators):
            if declarator.object in needed:
                declarators.append(declarator)
                needed |= used_in(declarator)
        if declarators:
            chosen.append(replace(declaration, declarators=tuple(reversed(declarators))))
    return replace(body, statements=(*reversed(chosen), *body.statements)) if chosen else body


def _is_repeatable(declaration: Declaration, rest: tuple[Statement, ...], functions: tuple[Function, ...]) -> bool:
    """Whether each later statement may repeat it: constants that `rest` does not change."""
    written = {use.object for statement in rest for use in uses(statement, functions) if use.writes}
    for declarator in declaration.declarators:
        object_ = declarator.object
        if object_.storage is not Storage.SCALAR or declarator.initializer is None or object_ in written:
            return False
        for node in walk(declarator):
            if isinstance(node, (Assignment, Increment)) or (isinstance(node, Call) and node.callee is Callee.USER):
                return False
    return not any(use.object in written for use in uses(declaration, functions) if use.reads)


def _needing(declaration: Declaration, rest: tuple[Statement, ...]) -> int:
    """The number of statements up to the last that needs the declaration or a later one."""
    declared = {declarator.object for declarator in declaration.declarators}
    last = 0
    for place, statement in enumerate(rest):
        if declared & used_in(statement):
            for inner in rest[last : place + 1]:
                if isinstance(inner, Declaration):
                    declared |= {declarator.object for declarator in inner.declarators}
            last = place + 1
    return last


# -- what a loop carries: dependences of one nest, for any subset of its statements
#
# Leaves are what distribution can separate: everything inside loops other than loops and blocks. A
# memory-based dependence
#
#     { S[i] -> T[j] }   with distances   { [d] : d = j - i on the loops around both }
#
# counts for a given set of leaves inside k sequential loops: { d : d_1 = ... = d_k = 0 }.

#: Leaves by their place in the nest, in textual order.
Leaves = frozenset[int]

_Edge = tuple[Dependence, Leaves, Leaves]
"""A dependence and the leaves at its ends: several if it concerns a loop's bounds."""


@dataclass
class NestDependences:
    """The dependences of the nest `root`; restricted copies of the nest share its `leaves`."""

    root: Loop
    leaves: tuple[Statement, ...]
    _edges: list[_Edge]
    _named: frozenset[str]
    _fixed: dict[tuple[int, int], isl.Set] = field(default_factory=dict)
    _differ: dict[tuple[int, int, int], bool] = field(default_factory=dict)

    def leaves_under(self, node: Any) -> Leaves:
        """The leaves under `node`."""
        return frozenset(self._numbers[id(leaf)] for leaf in leaves_of(node))

    @cached_property
    def _numbers(self) -> dict[int, int]:
        return {id(leaf): number for number, leaf in enumerate(self.leaves)}

    def loops_around(self, loop: Loop) -> int:
        """The number of loops of the nest around one of its loops."""
        return sum(any(inner.index == loop.index for inner in loops_in(outer.body)) for outer in loops_in(self.root))

    def between(self, loop: Loop, around: int, leaves: Leaves) -> Dependence | None:
        """A dependence on an array or local that `loop` carries inside `around` outer loops."""
        for edge, (dependence, sources, sinks) in enumerate(self._edges):
            object_ = dependence.source.object
            if not (sources & leaves and sinks & leaves) or object_.is_outside_scalar or object_.host in self._named:
                continue
            place = place_of(loop.index, dependence.loops)
            if place is not None and self._may_differ(edge, around, place):
                return dependence
        return None

    def order(self, loop: Loop, around: int, leaves: Leaves) -> tuple[tuple[int, int], ...]:
        """The (source, sink) leaves ordered in a `loop` iteration, inside `around` outer loops."""
        order: dict[tuple[int, int], None] = {}
        for edge, (dependence, sources, sinks) in enumerate(self._edges):
            pairs = [(source, sink) for source in sources & leaves for sink in sinks & leaves]
            if not pairs or all(pair in order for pair in pairs) or place_of(loop.index, dependence.loops) is None:
                continue
            if not self._inside(edge, around).is_empty():
                order |= dict.fromkeys(pairs)
        return tuple(order)

    def _inside(self, edge: int, around: int) -> isl.Set:
        """{ d in distances : d_1 = ... = d_around = 0 }"""
        known = self._fixed.get((edge, around))
        if known is None:
            known = self._edges[edge][0].distances
            for place in range(around):
                known = with_zero(known, place)
            self._fixed[edge, around] = known
        return known

    def _may_differ(self, edge: int, around: int, place: int) -> bool:
        key = (edge, around, place)
        if key not in self._differ:
            self._differ[key] = may_differ(self._inside(edge, around), place)
        return self._differ[key]


def nest_dependences(root: Loop, region: Region, named: frozenset[str]) -> NestDependences:
    """The dependences of a nest. Raises OperationLimitError. Clauses give each instance its copy of
    the objects `named`, which its iterations use in order.
    """
    leaves = tuple(leaves_of(root))
    holding = _holding(root, leaves)
    edges = []
    for dependence in region.dependences:
        ends = id(dependence.source_statement.node), id(dependence.sink_statement.node)
        if ends[0] in holding and ends[1] in holding:
            edges.append((dependence, holding[ends[0]], holding[ends[1]]))
    return NestDependences(root, leaves, edges, named)


def leaves_of(node: Statement) -> Iterator[Statement]:
    """The leaves under a statement, in text order; a condition comes before its branches."""
    ahead = [node]  # nested generators would pass each leaf through every level
    while ahead:
        current = ahead.pop()
        if isinstance(current, Loop):
            ahead.append(current.body)
        elif isinstance(current, Block):
            ahead.extend(reversed(current.statements))
        else:
            yield current
            if isinstance(current, If):
                ahead.extend(branch for branch in (current.otherwise, current.then) if branch is not None)


def loops_of(node: Statement) -> Iterator[Loop]:
    """The loops under a statement, with itself, outside of leaves."""
    if isinstance(node, Loop):
        yield node
        yield from loops_of(node.body)
    elif isinstance(node, (Block, If)):
        inside = node.statements if isinstance(node, Block) else (node.then, node.otherwise)
        for statement in inside:
            yield from loops_of(statement) if statement is not None else ()


def _holding(root: Loop, leaves: tuple[Statement, ...]) -> dict[int, Leaves]:
    """The leaves that each node of the nest, by identity, stands in or holds."""
    numbers = {id(leaf): number for number, leaf in enumerate(leaves)}
    holding: dict[int, Leaves] = {}
    for leaf in leaves:
        inside = (leaf.condition,) if isinstance(leaf, If) else (leaf,)
        holding |= {id(node): frozenset({numbers[id(leaf)]}) for part in inside for node in walk(part)}
        holding[id(leaf)] = frozenset({numbers[id(leaf)]})
    for loop in loops_in(root):
        if id(loop) not in holding:
            holding[id(loop)] = frozenset(numbers[id(leaf)] for leaf in leaves_of(loop))
    return holding


# -- loop distribution: split a loop into several, each over a part of its statements
#
# Statements in a cycle of dependences stay together (strongly connected components of the graph of
# leaves, thesis section 3.2.4), as do declarations and their users. Components share a loop, for
# locality, unless sharing costs them parallelism.

#: The number of axes that a loop over some of its statements maps to; 0 if it is sequential.
AxesOf = Callable[[Loop], int]


def distributed(loop: Loop, around: int, nest: NestDependences, axes_of: AxesOf) -> tuple[Loop, ...]:
    """`loop` as loops that run in sequence; `loop` alone if no part maps to more axes."""
    leaves = sorted(nest.leaves_under(loop))
    links = (*nest.order(loop, around, frozenset(leaves)), *_tied(loop, nest))
    components = _components(leaves, links)
    if len(components) > 1:
        parts = [(part, axes_of(restricted(loop, part, nest))) for part in components]
        groups = _grouped(loop, nest, axes_of, parts, links)
        if len(groups) > 1 and max(axes for _, axes in groups) > axes_of(loop):
            return tuple(restricted(loop, part, nest) for part, _ in groups)
    return (loop,)


def restricted(loop: Loop, keep: Leaves, nest: NestDependences) -> Loop:
    """`loop` with only the leaves `keep`. Conditions stay whole; loops without leaves disappear."""

    def statement(node: Statement) -> Statement | None:
        if isinstance(node, Loop):
            body = block(node.body)
            return replace(node, body=body) if body.statements else None
        if isinstance(node, Block):
            inner = block(node)
            return inner if inner.statements else None
        return node if nest.leaves_under(node) & keep else None

    def block(node: Block) -> Block:
        parts = (statement(inner) for inner in node.statements)
        return replace(node, statements=tuple(part for part in parts if part is not None))

    return replace(loop, body=block(loop.body))


@dataclass(frozen=True)
class _Leaf:
    name: str
    number: int


def _components(leaves: list[int], links: tuple[tuple[int, int], ...]) -> list[Leaves]:
    nodes = [_Leaf(str(number), number) for number in leaves]
    components = strongly_connected(nodes, [(str(source), str(sink)) for source, sink in links])
    return [frozenset(leaf.number for leaf in component) for component in components]


def _tied(loop: Loop, nest: NestDependences) -> Iterator[tuple[int, int]]:
    """Links, both ways, of a condition with its branches and a declaration with its users."""
    needs = [(nest.leaves_under(unit), unit, needed) for unit, needed in _with_needs(loop.body, frozenset())]
    for leaves, unit, _ in needs:
        first = min(leaves)
        together = set(leaves)
        if isinstance(unit, Declaration):
            declared = {declarator.object for declarator in unit.declarators}
            together |= {min(others) for others, _, needed in needs if declared & needed}
        for leaf in together - {first}:
            yield from ((first, leaf), (leaf, first))


def _with_needs(node: Statement, around: frozenset[DataObject]) -> Iterator[tuple[Statement, frozenset[DataObject]]]:
    """Each statement that is no loop, with the objects it and the bounds of loops around it use."""
    if isinstance(node, Loop):
        bounds = node.bounds
        yield from _with_needs(node.body, around | {use.object for bound in bounds for use in uses(bound)})
    elif isinstance(node, Block):
        for statement in node.statements:
            yield from _with_needs(statement, around)
    else:
        yield node, around | used_in(node)


def _grouped(
    loop: Loop,
    nest: NestDependences,
    axes_of: AxesOf,
    parts: list[tuple[Leaves, int]],
    links: tuple[tuple[int, int], ...],
) -> list[tuple[Leaves, int]]:
    """Order the parts by their links, and join parts that lose no axes by sharing a loop."""
    groups: list[tuple[Leaves, int]] = []
    waiting = list(parts)
    while waiting:
        left = [part for part, _ in waiting]
        ready = [(part, axes) for part, axes in waiting if not _waits(part, left, links)]
        group, width = groups[-1] if groups else (frozenset(), -1)
        for part, axes in ready if groups else ():
            joined_axes = axes_of(restricted(loop, group | part, nest)) if axes and width else 0
            if bool(axes) == bool(width) and joined_axes >= max(axes, width):
                groups[-1] = (group | part, joined_axes)
                waiting.remove((part, axes))
                break
        else:
            groups.append(ready[0])
            waiting.remove(ready[0])
    return groups


def _waits(part: Leaves, left: list[Leaves], links: tuple[tuple[int, int], ...]) -> bool:
    return any(sink in part and source not in part and any(source in rest for rest in left) for source, sink in links)


# -- the default mapping


class _DefaultMapping:
    """Maps parallel loops. Loops in several launches get the next of the `numbers`: loops of a plan
    have distinct ones.
    """

    def __init__(self, region: Region, numbers: Iterator[int], meanings: Meanings, fuse: bool) -> None:
        self.region = region
        self.numbers = numbers
        self.meanings = meanings
        self.fuse = fuse and not region.ordered and not region.kernel.directive.all_devices
        self.device = False
        self.jam = False
        self.seen: set[int] = set()

    def nodes(self, steps: tuple[ScheduleNode, ...], *, device: bool, jam: bool = False) -> tuple[ScheduleNode, ...]:
        """The nodes for one kind of target; `jam`: unroll-and-jam rows into waiting loops."""
        self.device, self.jam, self.seen = device, jam, set()
        return self._sequence(steps, ())

    def _sequence(self, steps: tuple[ScheduleNode, ...], around: tuple[DataObject, ...]) -> tuple[ScheduleNode, ...]:
        nodes = tuple(self._node(step, around) for step in steps)
        if not (self.device and self.fuse):
            return nodes
        return LaunchFusion(self.region, self.numbers, self.meanings).fused(nodes, len(around))

    def _node(self, step: ScheduleNode, around: tuple[DataObject, ...]) -> ScheduleNode:
        if isinstance(step, LaunchNode):
            return self._launch(step, around)
        if isinstance(step, HostCondition):
            return HostCondition(step.condition, self._sequence(step.steps, around))
        empty = replace(step.loop, body=Block((), step.loop.body.range))
        loop = replace(empty, index=self._numbers(empty)[empty.index])
        return HostLoop(loop, self._sequence(step.steps, (*around, loop.iterator)))

    def _launch(self, node: LaunchNode, around: tuple[DataObject, ...]) -> LaunchNode:
        on_host = host_evaluable(self.region.written, around)
        if self.device:
            hulls, loops = with_hulls(node.body, node.loops, on_host)
            node = replace(node, body=hulls, loops=loops)
        numbers = self._numbers(node.body)
        body = _renumbered(node.body, numbers)
        jammed = self._jammed(node, body, numbers) if self.jam and node.waiting else None
        if jammed is not None:
            return jammed
        mapping = self._mapping(node, on_host)
        return LaunchNode(body, {numbers[index]: tiles for index, tiles in mapping.items()}, node.reductions)

    def _jammed(self, node: LaunchNode, body: Block, numbers: Mapping[int, int]) -> LaunchNode | None:
        """The launch with its last parallel loop jammed; None if that is impossible."""
        last = node.loops[-1]
        base = Names(set(names_in(self.region.kernel))).scalar(f"{last.iterator.host}_block")
        blocks = replace(base, element=last.iterator.element)
        waiting = frozenset(numbers[index] for index in node.waiting)
        functions = self.region.kernel.functions
        jammed = unroll_and_jam(body, numbers[last.index], waiting, blocks, functions, self.numbers)
        if jammed is None:
            return None
        four = Hyperplane(((last.iterator, 1),), expression(-polynomial(last.lower)), integer(JAMMED_ROWS))
        self.meanings.add(blocks, statement_ranges(body), four)
        body, mapped = jammed
        if node.loops[0] is not last:
            mapped = next(loop for loop in loops_in(body) if loop.index == numbers[node.loops[0].index])
        return LaunchNode(body, host_clauses((mapped,)), node.reductions)

    def _mapping(self, node: LaunchNode, on_host: Callable[[Expression], bool]) -> Clauses:
        if not self.device:
            return host_clauses(node.loops)
        loops = launchable(node.loops, on_host)
        if len(loops) < 2:
            return device_clauses(loops)
        if self.region.ordered:
            # Iterations of the innermost loop lie side by side (storage/array_copies.py).
            return device_clauses(loops, loops[-1])
        return device_clauses(loops, worker_loop(loops, _statements_in(node.body, self.region)))

    def _numbers(self, node: Statement) -> dict[int, int]:
        """The index of each loop under `node`: its own at first, a fresh one after that."""
        numbers = {}
        for loop in loops_in(node):
            index = next(self.numbers) if loop.index in self.seen else loop.index
            self.seen.add(index)
            numbers[loop.index] = index
        return numbers


def _renumbered(body: Block, numbers: Mapping[int, int]) -> Block:
    if all(index == new for index, new in numbers.items()):
        return body
    return with_each(body, Loop, lambda loop: replace(loop, index=numbers[loop.index]))
