"""S0 and S1: launch the user's own loops where they are parallel; run the sequential loops around
them on the host.

The planner takes statements in order and loops from the outside in:
  1. An independent loop is a launch, with further independent loops of its perfect nest.
  2. If a loop carries dependences and perfectly nests one without, the inner loop is a launch.
  3. A loop that can be distributed (schedule/distribution.py) becomes loops planned alike.
  4. Any other loop runs on the host around its body's launches, unless all are sequential.

The rest is a launch of one instance. For devices, loops of the first two kinds are distributed as
well, if that maps some part to more axes. On the host such a loop stays whole, for locality; if it
cannot, its parts alternate in strips (schedule/strip_mining.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import function_uses, leaves_early, uses
from tilepragma.ir.directives import ReductionClause
from tilepragma.ir.expressions import Expression, negated
from tilepragma.ir.flow import ScalarEffect, exposed_read, scalar_effect
from tilepragma.ir.invariance import host_evaluable
from tilepragma.ir.loop_tree import Block, Declaration, ForLoop, If, Kernel, Loop, Statement, While
from tilepragma.ir.reductions import Updates, reduction_updates
from tilepragma.ir.traversal import flat, loops_in, named_in_clauses, walk
from tilepragma.schedule.distribution import distributed
from tilepragma.schedule.in_order import keeps_order
from tilepragma.schedule.independence import NestDependences, loops_of, nest_dependences
from tilepragma.schedule.index_set_splitting import with_split_loops
from tilepragma.schedule.launch_tree import (
    PlannedCondition,
    PlannedHostLoop,
    PlannedLaunch,
    PlannedStep,
    TreeBuilder,
    any_waits,
    is_parallel,
    is_repeatable,
    joined,
    needing,
    scoped,
)
from tilepragma.schedule.rectangular_hull import rectangular_hull
from tilepragma.schedule.reduction_detection import carried_reason, order_reason
from tilepragma.schedule.strategy import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.strip_mining import Strips
from tilepragma.schedule.tree import candidate_of
from tilepragma.schedule.vector_interchange import VectorLoops
from tilepragma.user_tiles.chain_checks import literal_trip
from tilepragma.user_tiles.mapping import device_clauses, host_clauses, launchable
from tilepragma.user_tiles.tile_nests import chain_from
from tilepragma.verify.messages import dependence_reason

if TYPE_CHECKING:
    from tilepragma.poly.intra_tile_schedule import Steps

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
    from tilepragma.poly.operation_limit import OperationLimitError

    try:
        apart = with_split_loops(region)
    except OperationLimitError:
        return answer
    if apart is None:
        return answer
    split = _candidate(apart.region)
    if isinstance(split, Refusal) or not split.is_settled or split.depths.launched <= depths.launched:
        return answer
    # The parts of a split statement step through memory as the statement does.
    fallback = None if isinstance(answer, Refusal) else lambda: answer
    return dataclasses.replace(split, strategy=SPLIT_NAME, steps=_steps(region), split=apart.places, fallback=fallback)


def _candidate(region: Region) -> ScheduleCandidate | Refusal:
    outside = {use.object for use in function_uses(region.kernel.functions)}
    if any(scalar in outside for scalar in region.scalars):
        return Refusal("a function that the kernel calls uses a scalar that the kernel writes")
    from tilepragma.poly.operation_limit import OperationLimitError

    nests: dict[int, NestDependences] = {}
    strips = Strips(region)
    planners = [_Planner(region, device, nests, strips) for device in (False, True)]
    try:
        host, device = (
            planner.statements(region.statements, _Site((), None, region.live_out - region.final))
            for planner in planners
        )
        turned = VectorLoops(strips.next_index)
        host = turned.of(host) if region.ordered else host
    except OperationLimitError:
        return Refusal("its dependences are too many to be proven absent")
    reasons, notes = planners[0].reasons, planners[0].notes
    if not is_parallel(host):
        return Refusal(reasons[0] if reasons else _without_loops(region.kernel))
    steps = None if region.ordered else _steps(region)

    def made(jam: bool) -> ScheduleCandidate | Refusal:
        numbering = TreeBuilder(region, turned.next_index)
        nodes = (numbering.nodes(host, device=False, jam=jam), numbering.nodes(device, device=True))
        answer = candidate_of(NAME, region, *nodes, tuple(strips.sizes), tuple(dict.fromkeys(notes)))
        if isinstance(answer, Refusal):
            return answer
        return dataclasses.replace(answer, steps=steps, strips=bool(strips.sizes))

    answer = made(jam=False)
    if isinstance(answer, Refusal) or region.ordered or not any_waits(host):
        return answer
    return dataclasses.replace(answer, jammed=partial(made, jam=True))


def _steps(region: Region) -> Steps | None:
    from tilepragma.poly.intra_tile_schedule import steps_as_written
    from tilepragma.poly.operation_limit import OperationLimitError

    try:
        return steps_as_written(region.scop, region.dependences)
    except OperationLimitError:
        return None


def _without_loops(kernel: Kernel) -> str:
    """Say why the planner could try no loop."""
    uncounted = [node for node in walk(kernel.body) if isinstance(node, (ForLoop, While)) and any(loops_in(node.body))]
    alone = [node for node in walk(kernel.body) if isinstance(node, ForLoop)]
    if not uncounted and alone:
        where = f"the loop on line {alone[0].range.start.line}"
        return (
            f"the iterations of {where} cannot be counted ({alone[0].reason.rstrip('.')}), and there is no other loop"
        )
    if not uncounted:
        return f"kernel '{kernel.name}' has no loop that could be distributed"
    loop = uncounted[-1]
    what = f" ({loop.reason.rstrip('.')})" if isinstance(loop, ForLoop) else ""
    inside = "" if kernel.parts is None else ", and no loop inside it can be launch out"
    return f"the iterations of the loop on line {loop.range.start.line} cannot be counted{what}{inside}"


@dataclass
class _Planner:
    """Plans the steps for one kind of target (host or device). Both kinds share `nests`, the
    dependences of each nest by its identity. `reasons` says why loops are not independent, `notes`
    what the user could say to make them so.
    """

    region: Region
    device: bool
    nests: dict[int, NestDependences]
    strips: Strips
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    # -- statements

    def statements(self, statements: tuple[Statement, ...], site: _Site) -> tuple[PlannedStep, ...]:
        """Plan statements that run one after another."""
        unit = tuple(flat(statements))
        after = self._after(unit, site.live)
        steps: list[PlannedStep] = []
        place = 0
        while place < len(unit):
            statement, rest = unit[place], unit[place + 1 :]
            if isinstance(statement, Declaration) and is_repeatable(statement, rest, self.region.kernel.functions):
                site = dataclasses.replace(site, scope=(*site.scope, statement))
                place += 1
                continue
            end = place + 1
            if isinstance(statement, Declaration):
                end += needing(statement, rest)
            inner = dataclasses.replace(site, live=after[end - 1])
            steps += self._statement(unit[place:end], inner)
            place = end
        return joined(steps)

    def _after(self, statements: tuple[Statement, ...], live: frozenset[str]) -> list[frozenset[str]]:
        """The scalars live after each statement."""
        after = []
        for statement in reversed(statements):
            after.append(live)
            live = self._effect(statement).before(live)
        return after[::-1]

    def _effect(self, node: Statement) -> ScalarEffect:
        return scalar_effect(node, self.region.scalars, self.region.kernel.functions)

    def _statement(self, unit: tuple[Statement, ...], site: _Site) -> tuple[PlannedStep, ...]:
        """Plan a statement, or a declaration with the statements that need it."""
        statement = unit[0]
        if len(unit) == 1 and isinstance(statement, Loop):
            if site.nest is None and self.region.ordered and not site.around and keeps_order(statement):
                return (self._ordered(statement, site),)
            if site.nest is None:
                site = dataclasses.replace(site, nest=self._nest(statement))
            return self._loop(statement, site)
        if len(unit) == 1 and isinstance(statement, If) and self._on_host(site, statement.condition):
            return self._if(statement, site)
        return (PlannedLaunch(scoped(Block(unit), site.scope)),)

    def _if(self, statement: If, site: _Site) -> tuple[PlannedStep, ...]:
        steps: list[PlannedStep] = [PlannedCondition(statement.condition, self.statements((statement.then,), site))]
        if statement.otherwise is not None:
            steps.append(PlannedCondition(negated(statement.condition), self.statements((statement.otherwise,), site)))
        if not is_parallel(tuple(steps)):
            return (PlannedLaunch(scoped(Block((statement,)), site.scope)),)
        return tuple(steps)

    # -- loops

    def _nest(self, root: Loop) -> NestDependences:
        if id(root) not in self.nests:
            named = frozenset(name for clause in self.region.kernel.directive.privates for name in clause.names)
            self.nests[id(root)] = nest_dependences(root, self.region, named)
        return self.nests[id(root)]

    def _loop(self, loop: Loop, site: _Site) -> tuple[PlannedStep, ...]:
        assert site.nest is not None
        whole = self._parallel_launch(loop, site)
        if whole is not None and not self.device:
            return (whole,)
        parts = distributed(loop, len(site.around), site.nest, lambda part: self._axes(part, site))
        steps = tuple(self._parallel_launch(part, site) or self._ordered(part, site) for part in parts)
        return steps if self.device else self.strips.of(loop, steps)

    def _ordered(self, loop: Loop, site: _Site) -> PlannedStep:
        """Run the loop on the host if its body has parallel launches, else in one instance."""
        bounds = (loop.lower, loop.upper, loop.step)
        if self._on_host(site, *bounds) and not leaves_early(loop.body):
            inner = dataclasses.replace(
                site,
                around=(*site.around, loop),
                live=site.live | self._effect(loop.body).before(site.live),
            )
            steps = self.statements((loop.body,), inner)
            if is_parallel(steps):
                return PlannedHostLoop(loop, steps)
        return PlannedLaunch(scoped(Block((loop,)), site.scope))

    def _axes(self, loop: Loop, site: _Site) -> int:
        """The number of axes that the loop maps to."""
        launch = self._parallel_launch(loop, site)
        if launch is None:
            return 0
        if not self.device:
            return len(host_clauses(launch.loops))
        on_host = partial(self._on_host, site)
        return len(device_clauses(launchable(rectangular_hull(loop, launch.loops, on_host).loops, on_host)))

    def _parallel_launch(self, loop: Loop, site: _Site) -> PlannedLaunch | None:
        """The launch of a loop, if it or a loop perfectly nested in it carries no dependence."""
        assert site.nest is not None
        leaves = site.nest.leaves_under(loop)
        chain = chain_from(loop)
        loops: list[Loop] = []
        leading = True
        reasons_before = len(self.reasons)
        for member in chain:
            is_sequential = member.directive is not None and member.directive.sequential
            if is_sequential or leaves_early(member.body):
                self.reasons.append(f"the loop over '{member.iterator.host}' runs in order, {_why_in_order(member)}")
                break
            is_assumed = member.directive is not None and member.directive.independent
            carried = None if is_assumed else site.nest.between(member, len(site.around), leaves)
            if carried is not None:
                self.reasons.append(dependence_reason(member, carried))
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
        return PlannedLaunch(scoped(Block((loop,)), site.scope), tuple(loops), reductions, waiting)

    def _waiting(self, outer: Loop, site: _Site) -> Iterator[int]:
        """The numbers of innermost loops that carry dependences, as do all loops between.

        Compilers can neither vectorise such a loop nor interchange it with a loop around.
        """
        assert site.nest is not None
        loops = tuple(loops_of(outer.body))
        free = [loop for loop in loops if not self._carries(loop, site.nest)]
        for loop in loops:
            if not any(loops_in(loop.body)) and not any(loop in loops_in(free_loop) for free_loop in free):
                yield loop.index

    def _carries(self, loop: Loop, nest: NestDependences) -> bool:
        return nest.between(loop, nest.loops_around(loop), nest.leaves_under(loop)) is not None

    # -- scalars

    def _scalars(self, loop: Loop, site: _Site) -> tuple[ReductionClause, ...] | None:
        """The reductions that make `loop` parallel; None if some scalar forbids it."""
        named = named_in_clauses(self.region.kernel.directive, Block((loop,)))
        written = {use.object for use in uses(loop, self.region.kernel.functions) if use.writes}
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


def _why_in_order(loop: Loop) -> str:
    if loop.directive is None or not loop.directive.sequential:
        return "since a break, or a continue in a switch, stands in it"
    # A directive from `privatization` has no place in the user's text.
    return "as 'seq' says" if loop.directive.range is not NOWHERE else "since its iterations may share a write"
