"""From a kernel region and its clauses to a KernelPlan: the planner's passes, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from tilepragma.arguments.assumed_extents import report_assumed_extents
from tilepragma.arguments.constant_memory import with_constants
from tilepragma.arguments.data_movement import (
    DataContext,
    array_arguments,
    as_kernel_sees,
    check_clauses,
    private_argument,
    synchronised_arrays,
)
from tilepragma.arguments.launch_elements import with_elements_at_launch
from tilepragma.arguments.scalar_arguments import scalar_arguments
from tilepragma.arguments.scalars import ScalarContext
from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.cost.operation_counts import operation_counts
from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.directives import Target, TileClause
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.function_reach import with_reach
from tilepragma.ir.invariance import host_evaluable, steady_members, written_objects
from tilepragma.ir.loop_tree import Axis, Block, Declaration, FloatingRules, ForLoop, Kernel, Statement, asks_for_layers
from tilepragma.ir.traversal import loop_directives, loops_in, walk
from tilepragma.normalise.condition_sinking import with_sunk_conditions
from tilepragma.normalise.continue_elimination import with_closed_iterations, with_conditions_for_continues
from tilepragma.normalise.delinearisation import (
    DelinearisedKernel,
    flattened,
    with_delinearised_arrays,
    with_substituted_locals,
)
from tilepragma.normalise.forward_substitution import with_substituted_subscripts
from tilepragma.normalise.live_out import final_values
from tilepragma.normalise.loop_normalisation import with_normalised_loops
from tilepragma.normalise.pipeline import in_plain_form
from tilepragma.normalise.privatization import privatized, with_member_names
from tilepragma.plan.defaults import PlanDefaults
from tilepragma.plan.kernel_plan import (
    FinalValue,
    KernelPlan,
    LastValue,
    Reordered,
    launches_in,
)
from tilepragma.plan.loop_symbols import loop_symbols
from tilepragma.planner.as_written_warnings import warn_as_written
from tilepragma.planner.candidates import (
    STRATEGIES,
    Choice,
    choose,
    has_fewer_strides,
    is_better,
    is_settled,
    reloads_less,
)
from tilepragma.planner.overflow_guards import launch_conditions, with_subscript_checks
from tilepragma.planner.partition import with_divisions
from tilepragma.planner.targets import (
    allowed_targets,
    check_axes,
    check_counts,
    check_device,
    preferred_target,
)
from tilepragma.schedule.as_written import structure
from tilepragma.schedule.assumed_independence import keeps_elements_in_registers, without_vouching
from tilepragma.schedule.coalescing import vouched_worker_loop
from tilepragma.schedule.hyperplane_tiles import hyperplanes
from tilepragma.schedule.in_order import proof_in_order
from tilepragma.schedule.multilayer_staging import with_subdomain_tiles
from tilepragma.schedule.multilayer_tiles import subdomain_tiles
from tilepragma.schedule.scalar_expansion import long_sums, with_hoisted_scalars
from tilepragma.schedule.sor_clauses import check_relaxation, warn_of_sequence
from tilepragma.schedule.sor_multilayer import layered
from tilepragma.schedule.sor_redblack import asks_for_colours, reordered
from tilepragma.schedule.strategy import Moved, Refusal, Region, ScheduleCandidate, Strategy
from tilepragma.schedule.user_launches import make_launches
from tilepragma.sizes.processor_pick import processor_choices
from tilepragma.storage.array_copies import with_array_copies
from tilepragma.storage.array_expansion import ExpandedKernel, proven_scop, with_array_expansion, with_expanded_scalars
from tilepragma.storage.staging_checks import proven_staging
from tilepragma.user_tiles.chain_checks import check_for_loop, check_hoisted
from tilepragma.user_tiles.clause_variables import check_names, live_out_by_clause
from tilepragma.user_tiles.mapping import (
    Clauses,
    device_clauses,
    host_clauses,
    independent_loops,
    launchable,
    top_loops,
    user_clauses,
)
from tilepragma.user_tiles.tile_nests import ChainContext
from tilepragma.verify.integer_ranges import numbers_fit, with_fitting_sections
from tilepragma.verify.proofs import Proof, proof_of, unit_step_faults
from tilepragma.verify.rules import verify_rules

if TYPE_CHECKING:
    from tilepragma.poly.scop import Scop


#: Statements of a region that is settled with storage of its own, up to which hyperplanes are asked
#: for better strides: they may take long.
_MOST_RESCHEDULED = 6
#: Statements of a region up to which scalars are expanded for better strides.
_MOST_EXPANDED = 16


@dataclass(frozen=True)
class Planned:
    """A region's plan, and the proof of it where the planner had to prove it to take it."""

    plan: KernelPlan
    proof: Proof | None = None


def make_plan(
    kernel: Kernel, floating: FloatingRules, diagnostics: Diagnostics, defaults: PlanDefaults
) -> Planned | None:
    """The plan of one region, or None where it, or anything before it in `diagnostics`, is refused:
    no plan of a run with errors is used, but each region's errors are reported.

    Raises PlanFault where the planner's own result breaks the plan's rules: an internal fault.
    """
    own = Diagnostics()
    check_relaxation(kernel, own)
    kernel = with_elements_at_launch(in_plain_form(with_member_names(kernel, own)))
    order = reordered(kernel, own) or layered(kernel, own, defaults.device)
    if order is None and (asks_for_colours(kernel) or asks_for_layers(kernel)):
        diagnostics.add_all(own)
        return None
    kernel = kernel if order is None else with_substituted_locals(order.kernel)
    kernel = with_closed_iterations(replace(kernel, directive=defaults.applied(kernel.directive)))
    if not user_clauses(kernel.body):
        kernel = with_conditions_for_continues(kernel)
    if (private := privatized(kernel, own)) is None:
        diagnostics.add_all(own)
        return None
    kernel, targets = private, allowed_targets(private, defaults.targets, own)
    check_device(kernel.directive, defaults.device, own)
    said = _take_apart(kernel, own)
    if said.user or not targets or own.has_errors:
        planned = Planned(_plan(kernel, said, floating, own, targets))
    elif said.clauses:
        planned = _vouched(kernel, said, floating, own, targets)
    else:
        planned = _least_as_written(kernel, said, floating, own, targets)
    if order is not None:
        planned = with_plan(planned, _reordered(planned.plan, order))
    planned = with_plan(planned, with_subscript_checks(planned.plan, kernel, own))
    planned = with_plan(planned, with_divisions(planned.plan, own))
    warn_of_sequence(planned.plan, own)
    diagnostics.add_all(own)
    if diagnostics.has_errors:
        return None
    verify_rules(planned.plan)
    return planned


def _reordered(plan: KernelPlan, order: Reordered) -> KernelPlan:
    """With what is to be known of an order that is not the user's."""
    final = () if plan.as_written is not None else (*plan.final_values, *order.final_values)
    return replace(plan, reordered=order, final_values=final)


def with_plan(planned: Planned, plan: KernelPlan) -> Planned:
    """The same launches, and their proof, with more that is known of them."""
    return Planned(plan, None if planned.proof is None else Proof(plan, planned.proof.faults))


def _vouched(
    kernel: Kernel, said: _Region, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region whose loops the user calls independent: the engine's own where that
    keeps elements in registers and is proven without the user's word, which then is right and says
    no more.
    """
    plain = without_vouching(kernel)
    if plain is not None:
        found = Diagnostics()
        planned = _least_as_written(plain, _take_apart(plain, found), floating, found, targets)
        if not found.has_errors and keeps_elements_in_registers(planned.plan):
            diagnostics.add_all(found)
            return planned
    return Planned(_plan(kernel, said, floating, diagnostics, targets))


def _least_as_written(
    kernel: Kernel, said: _Region, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region in which nobody said anything: with loops that count their iterations in the place of steps, where that is proven."""
    unit = with_normalised_loops(kernel)
    if unit is not None:
        found = Diagnostics()
        planned = _as_it_stands(unit.kernel, _take_apart(unit.kernel, found), floating, found, targets)
        counting = replace(planned.plan, stepped=kernel, final_values=(*planned.plan.final_values, *unit.final_values))
        faults = tuple(unit_step_faults(counting))
        if counting.as_written is None and not faults:
            diagnostics.add_all(found)
            return Planned(counting, None if planned.proof is None else Proof(counting, planned.proof.faults))
    return _as_it_stands(kernel, said, floating, diagnostics, targets)


def _as_it_stands(
    kernel: Kernel, said: _Region, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The same of a region whose loops are what they are; conditions on data go inside loops only
    where it would run as written else, since they cost more there.
    """
    rows = with_delinearised_arrays(kernel)
    if rows.seen:
        found = Diagnostics()
        planned = _automatic(rows.kernel, _take_apart(rows.kernel, found), floating, found, targets)
        if planned.plan.as_written is None:
            diagnostics.add_all(found)
            return _with_notes(planned, rows)
    found = Diagnostics()
    planned = _automatic(kernel, said, floating, found, targets)
    inner = with_sunk_conditions(kernel)
    if planned.plan.as_written is not None and inner is not kernel:
        again = Diagnostics()
        other = _automatic(inner, _take_apart(inner, again), floating, again, targets)
        if other.plan.as_written is None:
            planned, found = other, again
    diagnostics.add_all(found)
    return _with_notes(planned, replace(rows, seen=()))


def _with_notes(planned: Planned, rows: DelinearisedKernel) -> Planned:
    """With what is to be said of rows of arrays."""
    plan = planned.plan
    noted = replace(plan, storage=(*rows.seen, *plan.storage), rejected=(*plan.rejected, *rows.left))
    return replace(planned, plan=noted)


@dataclass(frozen=True)
class _Region:
    """The region taken apart: its declarations, the other statements, and the tiles of their loops."""

    prologue: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
    user: Clauses
    host: Clauses
    device: Clauses
    automatic: ScheduleCandidate | None = None
    """the engine, not the user, vouches for the loops that have tiles"""
    assumptions: tuple[Expression, ...] = ()
    """where it does so: tests of parameters"""
    reason: str | None = None
    """why nothing could be distributed where the user left it to us"""
    rejected: tuple[str, ...] = ()
    obstacles: tuple[Diagnostic, ...] = ()

    @property
    def clauses(self) -> bool:
        """Whether any loop has tiles, said by the user or by default where the user vouches."""
        return bool(self.host or self.device)


@dataclass(frozen=True)
class _Trial:
    """The plan of one strategy's answer with what was found on the way, its proof where no error was, and what is wrong with it."""

    answer: ScheduleCandidate
    plan: KernelPlan
    found: Diagnostics
    proof: Proof | None
    against: str | None


@dataclass
class _Attempt:
    """What the strategies make of a kernel that nobody gave tiles. Every answer is made and judged once."""

    kernel: Kernel
    said: _Region
    floating: FloatingRules
    targets: tuple[Target, ...]
    known: Scop | None = None
    own: ExpandedKernel | None = None
    source: Kernel | None = None
    """where the kernel has storage of its own: the one that the user wrote"""
    moved: Moved | None = None
    answers: dict[Strategy, ScheduleCandidate | Refusal] = field(default_factory=dict)
    trials: list[_Trial] = field(default_factory=list)
    choices: dict[tuple[Strategy, ...], Choice] = field(default_factory=dict)

    @cached_property
    def region(self) -> Region:
        """What strategies see of the kernel."""
        written = written_objects(self.kernel)
        live_out = self.kernel.read_after | live_out_by_clause(self.kernel)
        final = final_values(self.kernel, live_out, host_evaluable(written))
        names = frozenset(value.iterator.name for value in final)
        ordered = asks_for_layers(self.kernel)
        known = (self.known, ordered, self.moved)
        return Region(self.kernel, self.said.statements, written, live_out, names, self.floating, *known)

    @property
    def statement_count(self) -> int:
        """Of the region's Scop."""
        return len(self.region.scop.statements)

    def instead(self, own: ExpandedKernel) -> _Attempt | None:
        """The same for the kernel with storage of its own; None where that is not proven to compute what this one does."""
        apart = _take_apart(own.kernel, Diagnostics())
        scop = proven_scop(self.region, own, apart.statements)
        if scop is None:
            return None
        moved = Moved(self.region, own.instead) if own.everywhere else None
        source = self.source or self.kernel
        return _Attempt(own.kernel, apart, self.floating, self.targets, scop, own, source, moved=moved)

    def hoisted(self) -> tuple[_Attempt, frozenset[DataObject]]:
        """The same for the kernel with scalars of loops' bodies outside, and these."""
        found = with_hoisted_scalars(self.kernel)
        if found is None:
            return self, frozenset()
        kernel, scalars = found
        apart = _take_apart(kernel, Diagnostics())
        return _Attempt(kernel, apart, self.floating, self.targets, source=self.kernel), scalars

    def choice(self, strategies: tuple[Strategy, ...]) -> Choice:
        """The best that these can do; what was chosen once is not chosen anew."""
        if strategies not in self.choices:
            answers = tuple(partial(self._answer, each) for each in strategies)
            self.choices[strategies] = choose(self.region, self._objection, answers)
        return self.choices[strategies]

    def planned(self, choice: Choice, diagnostics: Diagnostics) -> Planned:
        """The plan of a choice, and what is to be said of it."""
        for trial in self.trials:
            if trial.answer is choice.taken:
                diagnostics.add_all(trial.found)
                return self._staged(self._sourced(replace(trial.plan, rejected=choice.rejected)), trial)
        said = replace(self.said, reason=choice.reason, rejected=choice.rejected)
        obstacles = _errors(self.trials[0].found) if self.trials else ()
        if obstacles and choice.reason == obstacles[0].message:
            said = replace(said, obstacles=obstacles)
        return Planned(self._sourced(_plan(self.kernel, said, self.floating, diagnostics, self.targets)))

    def _staged(self, plan: KernelPlan, trial: _Trial) -> Planned:
        """The plan with arrays staged where that is proven right."""
        if self.region.ordered:
            return Planned(plan, trial.proof)
        return Planned(*proven_staging(plan, trial.proof, self.region.original, trial.answer.staged))

    def _proof(self, plan: KernelPlan) -> Proof:
        if self.region.ordered:
            return proof_in_order(plan, self.region.statements, self.region.parts)
        return proof_of(plan, self.region.original)

    def _sourced(self, plan: KernelPlan) -> KernelPlan:
        return plan if self.own is None else replace(plan, storage=self.own.notes, source=self.source)

    def _answer(self, strategy: Strategy, region: Region) -> ScheduleCandidate | Refusal:
        if strategy not in self.answers:
            self.answers[strategy] = strategy(region)
        return self.answers[strategy]

    def _objection(self, answer: ScheduleCandidate) -> str | None:
        """Nobody asked for the launches, so what is wrong with them is no error."""
        for trial in self.trials:
            if trial.answer is answer:
                return trial.against
        lost = self.region.left_behind(answer)
        if lost is not None:
            return f"'{lost.host}' may be read after the kernel, but its last value there cannot be computed at launch"
        found = Diagnostics()
        ours = replace(self.said, automatic=answer, assumptions=self.region.assumptions)
        plan = _plan(self.kernel, ours, self.floating, found, self.targets)
        proof = None if found.has_errors else self._proof(plan)
        if proof is None:
            against: str | None = _errors(found)[0].message
        else:
            against = f"not proven right: {proof.faults[0].message}" if proof.faults else None
        self.trials.append(_Trial(answer, plan, found, proof, against))
        return against


def _automatic(
    kernel: Kernel, said: _Region, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region in which nobody said anything: with storage of its own where the user's loops are then better off."""
    attempt = _Attempt(kernel, said, floating, targets)
    planned = _with_other_arrays(attempt, diagnostics)
    if attempt.region.ordered:
        return _with_tiles(planned or attempt.planned(attempt.choice((structure,)), diagnostics), attempt)
    if planned is not None:
        return planned
    planned = _with_storage(attempt, diagnostics) or _with_scalars(attempt, diagnostics)
    return planned if planned is not None else attempt.planned(attempt.choice(STRATEGIES), diagnostics)


def _with_other_arrays(attempt: _Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan of sweeps in another order on arrays for it; None of all else."""
    own = with_array_copies(attempt.region)
    other = None if own is None else attempt.instead(own)
    choice = None if other is None else other.choice((structure,) if other.region.ordered else STRATEGIES)
    return None if other is None or choice is None or choice.taken is None else other.planned(choice, diagnostics)


def _with_tiles(planned: Planned, attempt: _Attempt) -> Planned:
    """The plan of sweeps by subdomains with tiles in memory of gangs where that is possible."""
    choice = attempt.choice((subdomain_tiles,))
    staged = None if choice.taken is None else attempt.planned(choice, Diagnostics()).plan
    plan = with_subdomain_tiles(planned.plan, staged, choice.rejected)
    return Planned(plan, None if planned.proof is None else Proof(plan, planned.proof.faults))


def _with_storage(attempt: _Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan of the region that keeps values in storage of its own, where that is better; None elsewhere."""
    own = with_array_expansion(attempt.region)
    other = None if own is None else attempt.instead(own)
    if own is None or other is None:
        return None
    if own.repeats and is_settled(attempt.choice(STRATEGIES).taken):
        # Wavefronts of tiles keep to the cache, which copies at each step of a loop leave.
        return None
    choice, without = (each.choice(STRATEGIES[:1]) for each in (other, attempt))
    if not is_settled(choice.taken) or not is_better(choice.taken, without.taken):
        return None
    if other.statement_count <= _MOST_RESCHEDULED:
        choice = other.choice(STRATEGIES)
    return other.planned(choice, diagnostics)


def _with_scalars(attempt: _Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan by hyperplanes of the region with scalars expanded, where its innermost loops step
    in fewer strides or keep in registers what those of the user's do not; None elsewhere.
    """
    taken = attempt.choice(STRATEGIES).taken
    if taken is None or (
        taken.steps is not None and not taken.steps.strides and not long_sums(attempt.said.statements)
    ):
        return None
    outside, hoisted = attempt.hoisted()
    own = with_expanded_scalars(outside.region)
    if own is None or any(use.object in hoisted for use in uses(own.kernel.body)):
        return None
    other = outside.instead(own)
    if other is None or other.statement_count > _MOST_EXPANDED:
        return None
    choice = other.choice((hyperplanes,))
    if choice.taken is None or not is_settled(choice.taken):
        return None
    if not has_fewer_strides(choice.taken, taken) and not reloads_less(choice.taken, taken):
        return None
    return other.planned(choice, diagnostics)


def _errors(found: Diagnostics) -> tuple[Diagnostic, ...]:
    return tuple(item for item in found if item.severity is Severity.ERROR)


def _plan(
    kernel: Kernel,
    region: _Region,
    floating: FloatingRules,
    diagnostics: Diagnostics,
    targets: tuple[Target, ...],
) -> KernelPlan:
    on_host = host_evaluable(written_objects(kernel))
    check_names(kernel, diagnostics)
    for node in walk(kernel.body):
        if isinstance(node, ForLoop):
            check_for_loop(node, diagnostics)
    check_axes(kernel.directive, region.user, diagnostics)
    preferred = preferred_target(kernel.directive, region.user, targets)
    # Sections are of the arrays as the user has them.
    flat = flattened(kernel)
    all_uses = (*uses(flat.body, kernel.functions), *function_uses(kernel.functions))
    reached = with_substituted_subscripts(with_reach(all_uses, kernel.functions, steady_members(flat)), flat, on_host)
    automatic = region.automatic is not None
    data = DataContext(flat, reached, on_host, diagnostics, region.assumptions, not automatic)

    def as_written(reason: str) -> KernelPlan:
        if targets:
            warn_as_written(kernel, reason, diagnostics)
        check_counts(kernel.directive, frozenset(), False, diagnostics)
        arrays = with_fitting_sections(synchronised_arrays(data))
        return KernelPlan(
            *(kernel, (), (), (), arrays, (), (), (), targets, preferred, floating, reason),
            rejected=region.rejected,
            obstacles=region.obstacles,
        )

    reason = _why_as_written(kernel, region, targets)
    if reason is not None:
        check_clauses(data)
        return as_written(reason)
    if not all(map(on_host, region.assumptions)):
        diagnostics.error(kernel.range, "the lengths of an array's rows are not known at launch")
    live_out = kernel.read_after | live_out_by_clause(kernel)
    final = final_values(kernel, live_out, on_host)
    steps = region.automatic or _said_steps(kernel, region, live_out, final, floating, diagnostics)
    launches = (*launches_in(steps.host_steps), *launches_in(steps.device_steps))
    axes = frozenset(axis for launch in launches for axis in launch.axes)
    check_counts(kernel.directive, axes, bool(region.user), diagnostics)
    arrays = array_arguments(data, steps.shared)
    report_assumed_extents(arrays, targets, preferred, not automatic, diagnostics)
    plan = KernelPlan(
        kernel,
        region.prologue,
        steps.host_steps,
        steps.device_steps,
        (*(as_kernel_sees(array, kernel) for array in arrays), *map(private_argument, steps.storage)),
        scalar_arguments(kernel, (*steps.host_steps, *steps.device_steps), steps.shared),
        kernel.directive.counts,
        final,
        targets,
        preferred,
        floating,
        apart=automatic,
        operations=operation_counts(kernel, on_host),
        sizes=steps.sizes,
        processor_choices=processor_choices(steps.sizes),
        rejected=region.rejected,
        conditions=launch_conditions(kernel, on_host, diagnostics, region.assumptions, automatic, bool(steps.sizes)),
        storage=steps.kept,
        split=steps.split,
    )
    return with_constants(plan) if numbers_fit(plan) else as_written("a number in it does not fit in 64 bits")


def _take_apart(kernel: Kernel, diagnostics: Diagnostics) -> _Region:
    on_host = host_evaluable(written_objects(kernel))
    prologue: list[Declaration] = []
    statements: list[Statement] = []
    user: dict[int, tuple[TileClause, ...]] = {}
    host, device = dict(user), dict(user)
    for statement in _flat(kernel.body):
        if isinstance(statement, Declaration):
            check_hoisted(statement, statements, kernel, diagnostics)
            prologue.append(statement)
            continue
        statements.append(statement)
        said = user_clauses(statement)
        user |= said
        host |= said
        device |= said
        for loop in () if said else top_loops(statement):
            independent = independent_loops(loop, kernel.directive)
            host |= host_clauses(independent)
            dealt = launchable(independent, on_host)
            device |= device_clauses(dealt, vouched_worker_loop(dealt, kernel))
    return _Region(tuple(prologue), tuple(statements), user, host, device)


def _flat(body: Block) -> Iterator[Statement]:
    """The region's statements; braces inside that declare nothing are looked through."""
    for statement in body.statements:
        if isinstance(statement, Block) and not any(isinstance(s, Declaration) for s in statement.statements):
            yield from _flat(statement)
        else:
            yield statement


def _why_as_written(kernel: Kernel, region: _Region, targets: tuple[Target, ...]) -> str | None:
    if not targets:
        return f"kernel '{kernel.name}' is built for no target"
    if region.clauses or region.automatic is not None:
        return None
    if region.reason is not None:
        return region.reason
    if any(loops_in(kernel.body)):
        return f"no loop of kernel '{kernel.name}' has tiles, and its outermost loop is not declared independent"
    return f"kernel '{kernel.name}' has no loop that could be distributed"


def _said_steps(
    kernel: Kernel,
    region: _Region,
    live_out: frozenset[str],
    final: tuple[FinalValue | LastValue, ...],
    floating: FloatingRules,
    diagnostics: Diagnostics,
) -> ScheduleCandidate:
    """The launches of what the user said, one after another."""
    counts = {
        Axis(count.axis, count.dimension): count.count.literal
        for count in kernel.directive.counts
        if count.count.literal is not None
    }
    chains = ChainContext(
        region.host,
        loop_symbols(kernel),
        host_evaluable(written_objects(kernel)),
        counts,
        diagnostics,
    )
    vouched = kernel.directive.independent or any(said.independent for said in loop_directives(kernel.body))
    scalars = ScalarContext(
        kernel.directive,
        kernel.functions,
        live_out,
        frozenset(value.iterator.name for value in final),
        vouched,
        floating,
        diagnostics,
    )
    host = make_launches(kernel, region.statements, region.host, chains, scalars)
    same = region.device == region.host
    device = host if same else make_launches(kernel, region.statements, region.device, chains, scalars)
    return ScheduleCandidate(
        "clauses", host.launches, device.launches, tuple(dict.fromkeys((*host.shared, *device.shared)))
    )
