"""The search for launches of a region without the user's tiles: which candidate wins, on which
storage.

The search assembles every candidate to a plan, proves it, and accepts only proven plans.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import Target
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import FloatingRules, Kernel, asks_for_layers
from tilepragma.normalise.condition_sinking import with_sunk_conditions
from tilepragma.normalise.delinearisation import DelinearisedKernel, with_delinearised_arrays
from tilepragma.normalise.live_out import final_values
from tilepragma.normalise.loop_normalisation import with_normalised_loops
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.planner.assembly import Planned, TiledRegion, assemble_plan, tiled_region
from tilepragma.planner.candidates import (
    STRATEGIES,
    Choice,
    choose,
    has_fewer_strides,
    is_better,
    is_settled,
    reloads_less,
)
from tilepragma.schedule.as_written import as_written
from tilepragma.schedule.assumed_independence import keeps_elements_in_registers, without_assumptions
from tilepragma.schedule.hyperplane_tiles import hyperplanes
from tilepragma.schedule.in_order import proof_in_order
from tilepragma.schedule.multilayer_tiles import subdomain_tiles, with_subdomain_tiles
from tilepragma.schedule.scalar_expansion import long_sums, with_hoisted_scalars
from tilepragma.schedule.strategy import Moved, Refusal, Region, ScheduleCandidate, Strategy
from tilepragma.storage.array_copies import with_array_copies
from tilepragma.storage.array_expansion import ExpandedKernel, proven_scop, with_array_expansion, with_expanded_scalars
from tilepragma.storage.staging_checks import proven_staging
from tilepragma.user_tiles.clause_variables import live_out_by_clause
from tilepragma.verify.proofs import Proof, proof_of, unit_step_faults

if TYPE_CHECKING:
    from tilepragma.poly.scop import Scop

#: With a settled answer on expanded arrays, regions of more statements do not search hyperplanes
#: for better strides: that may take long.
_MOST_RESCHEDULED = 6
#: Regions of more statements do not expand scalars for better strides.
_MOST_EXPANDED = 16


def vouched_plan(
    kernel: Kernel, region: TiledRegion, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region whose loops the user calls independent. The planner's own plan, proven
    without the user's word, wins where it keeps elements in registers.
    """
    plain = without_assumptions(kernel)
    if plain is not None:
        messages = Diagnostics()
        planned = searched_plan(plain, tiled_region(plain, messages), floating, messages, targets)
        if not messages.has_errors and keeps_elements_in_registers(planned.plan):
            diagnostics.add_all(messages)
            return planned
    return Planned(assemble_plan(kernel, region, floating, diagnostics, targets))


def searched_plan(
    kernel: Kernel, region: TiledRegion, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region without tiles: with unit steps where these are proven right."""
    unit = with_normalised_loops(kernel)
    if unit is not None:
        messages = Diagnostics()
        planned = _as_it_stands(unit.kernel, tiled_region(unit.kernel, messages), floating, messages, targets)
        counting = replace(planned.plan, stepped=kernel, final_values=(*planned.plan.final_values, *unit.final_values))
        faults = tuple(unit_step_faults(counting))
        if counting.as_written is None and not faults:
            diagnostics.add_all(messages)
            return Planned(counting, None if planned.proof is None else Proof(counting, planned.proof.faults))
    return _as_it_stands(kernel, region, floating, diagnostics, targets)


def _as_it_stands(
    kernel: Kernel, region: TiledRegion, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region with its loops' steps. Conditions on data sink into loops, where they
    cost more, only if the region otherwise runs as written.
    """
    rows = with_delinearised_arrays(kernel)
    if rows.seen:
        messages = Diagnostics()
        planned = _automatic(rows.kernel, tiled_region(rows.kernel, messages), floating, messages, targets)
        if planned.plan.as_written is None:
            diagnostics.add_all(messages)
            return _with_notes(planned, rows)
    messages = Diagnostics()
    planned = _automatic(kernel, region, floating, messages, targets)
    inner = with_sunk_conditions(kernel)
    if planned.plan.as_written is not None and inner is not kernel:
        inner_messages = Diagnostics()
        converted = _automatic(inner, tiled_region(inner, inner_messages), floating, inner_messages, targets)
        if converted.plan.as_written is None:
            planned, messages = converted, inner_messages
    diagnostics.add_all(messages)
    return _with_notes(planned, replace(rows, seen=()))


def _with_notes(planned: Planned, rows: DelinearisedKernel) -> Planned:
    """The plan with notes on delinearised arrays."""
    plan = planned.plan
    noted = replace(plan, storage=(*rows.seen, *plan.storage), rejected=(*plan.rejected, *rows.left))
    return replace(planned, plan=noted)


@dataclass(frozen=True)
class _Trial:
    """The plan of an answer, its messages, its proof if it has no errors, and the objection."""

    answer: ScheduleCandidate
    plan: KernelPlan
    messages: Diagnostics
    proof: Proof | None
    against: str | None


@dataclass
class Attempt:
    """A kernel without tiles, and the strategies' answers, each assembled and judged once."""

    kernel: Kernel
    tiled: TiledRegion
    floating: FloatingRules
    targets: tuple[Target, ...]
    scop: Scop | None = None
    expansion: ExpandedKernel | None = None
    source: Kernel | None = None
    """the user's kernel, where this one has expanded arrays"""
    moved: Moved | None = None
    answers: dict[Strategy, ScheduleCandidate | Refusal] = field(default_factory=dict)
    trials: list[_Trial] = field(default_factory=list)
    choices: dict[tuple[Strategy, ...], Choice] = field(default_factory=dict)

    @cached_property
    def region(self) -> Region:
        """The strategies' view of the kernel."""
        written = written_objects(self.kernel)
        live_out = self.kernel.read_after | live_out_by_clause(self.kernel)
        final = final_values(self.kernel, live_out, host_evaluable(written))
        names = frozenset(value.iterator.name for value in final)
        ordered = asks_for_layers(self.kernel)
        context = (self.scop, ordered, self.moved)
        return Region(self.kernel, self.tiled.statements, written, live_out, names, self.floating, *context)

    @property
    def statement_count(self) -> int:
        """The number of statements of the region's SCoP."""
        return len(self.region.scop.statements)

    def instead(self, expanded: ExpandedKernel) -> Attempt | None:
        """The attempt on expanded arrays; None if they are not proven to compute the same."""
        apart = tiled_region(expanded.kernel, Diagnostics())
        scop = proven_scop(self.region, expanded, apart.statements)
        if scop is None:
            return None
        moved = Moved(self.region, expanded.instead) if expanded.everywhere else None
        source = self.source or self.kernel
        return Attempt(expanded.kernel, apart, self.floating, self.targets, scop, expanded, source, moved=moved)

    def hoisted(self) -> tuple[Attempt, frozenset[DataObject]]:
        """The attempt for the kernel with scalars hoisted out of loop bodies, and these."""
        hoisting = with_hoisted_scalars(self.kernel)
        if hoisting is None:
            return self, frozenset()
        kernel, scalars = hoisting
        apart = tiled_region(kernel, Diagnostics())
        return Attempt(kernel, apart, self.floating, self.targets, source=self.kernel), scalars

    def choice(self, strategies: tuple[Strategy, ...]) -> Choice:
        """The best answer of these strategies; it is computed once."""
        if strategies not in self.choices:
            answers = tuple(partial(self._answer, strategy) for strategy in strategies)
            self.choices[strategies] = choose(self.region, self._objection, answers)
        return self.choices[strategies]

    def planned(self, choice: Choice, diagnostics: Diagnostics) -> Planned:
        """The plan of a choice, with its messages."""
        for trial in self.trials:
            if trial.answer is choice.taken:
                diagnostics.add_all(trial.messages)
                return self._staged(self._sourced(replace(trial.plan, rejected=choice.rejected)), trial)
        tiled = replace(self.tiled, reason=choice.reason, rejected=choice.rejected)
        obstacles = _errors(self.trials[0].messages) if self.trials else ()
        if obstacles and choice.reason == obstacles[0].message:
            tiled = replace(tiled, obstacles=obstacles)
        return Planned(self._sourced(assemble_plan(self.kernel, tiled, self.floating, diagnostics, self.targets)))

    def _staged(self, plan: KernelPlan, trial: _Trial) -> Planned:
        """The plan with array tiles staged where that is proven right."""
        if self.region.ordered:
            return Planned(plan, trial.proof)
        return Planned(*proven_staging(plan, trial.proof, self.region.original, trial.answer.staged))

    def _proof(self, plan: KernelPlan) -> Proof:
        if self.region.ordered:
            return proof_in_order(plan, self.region.statements, self.region.parts)
        return proof_of(plan, self.region.original)

    def _sourced(self, plan: KernelPlan) -> KernelPlan:
        return plan if self.expansion is None else replace(plan, storage=self.expansion.notes, source=self.source)

    def _answer(self, strategy: Strategy, region: Region) -> ScheduleCandidate | Refusal:
        if strategy not in self.answers:
            self.answers[strategy] = strategy(region)
        return self.answers[strategy]

    def _objection(self, answer: ScheduleCandidate) -> str | None:
        """The objection to an answer, if any. No error: the user did not ask for these launches."""
        for trial in self.trials:
            if trial.answer is answer:
                return trial.against
        lost = self.region.left_behind(answer)
        if lost is not None:
            return f"'{lost.host}' may be read after the kernel, but its last value there cannot be computed at launch"
        messages = Diagnostics()
        tiled = replace(self.tiled, automatic=answer, assumptions=self.region.assumptions)
        plan = assemble_plan(self.kernel, tiled, self.floating, messages, self.targets)
        proof = None if messages.has_errors else self._proof(plan)
        if proof is None:
            against: str | None = _errors(messages)[0].message
        else:
            against = f"not proven right: {proof.faults[0].message}" if proof.faults else None
        self.trials.append(_Trial(answer, plan, messages, proof, against))
        return against


def _automatic(
    kernel: Kernel, region: TiledRegion, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region without tiles, on expanded arrays where that is better."""
    attempt = Attempt(kernel, region, floating, targets)
    planned = _with_other_arrays(attempt, diagnostics)
    if attempt.region.ordered:
        return _with_tiles(planned or attempt.planned(attempt.choice((as_written,)), diagnostics), attempt)
    if planned is not None:
        return planned
    planned = _with_storage(attempt, diagnostics) or _with_scalars(attempt, diagnostics)
    return planned if planned is not None else attempt.planned(attempt.choice(STRATEGIES), diagnostics)


def _with_other_arrays(attempt: Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan of reordered sweeps on copied arrays; None for other regions."""
    copies = with_array_copies(attempt.region)
    copied = None if copies is None else attempt.instead(copies)
    choice = None if copied is None else copied.choice((as_written,) if copied.region.ordered else STRATEGIES)
    return None if copied is None or choice is None or choice.taken is None else copied.planned(choice, diagnostics)


def _with_tiles(planned: Planned, attempt: Attempt) -> Planned:
    """The plan of sweeps by subdomains, with array tiles in shared memory where possible."""
    choice = attempt.choice((subdomain_tiles,))
    staged = None if choice.taken is None else attempt.planned(choice, Diagnostics()).plan
    plan = with_subdomain_tiles(planned.plan, staged, choice.rejected)
    return Planned(plan, None if planned.proof is None else Proof(plan, planned.proof.faults))


def _with_storage(attempt: Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan of the region with expanded arrays where that is better, else None."""
    expansion = with_array_expansion(attempt.region)
    expanded = None if expansion is None else attempt.instead(expansion)
    if expansion is None or expanded is None:
        return None
    if expansion.repeats and is_settled(attempt.choice(STRATEGIES).taken):
        # Tiled wavefronts stay in the cache; copies at each step of a loop do not.
        return None
    choice, without = (candidate.choice(STRATEGIES[:1]) for candidate in (expanded, attempt))
    if not is_settled(choice.taken) or not is_better(choice.taken, without.taken):
        return None
    if expanded.statement_count <= _MOST_RESCHEDULED:
        choice = expanded.choice(STRATEGIES)
    return expanded.planned(choice, diagnostics)


def _with_scalars(attempt: Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan by hyperplanes of the region with scalars expanded where its innermost loops have
    fewer strides, or reload less, than the user's; else None.
    """
    taken = attempt.choice(STRATEGIES).taken
    if taken is None or (
        taken.steps is not None and not taken.steps.strides and not long_sums(attempt.tiled.statements)
    ):
        return None
    outside, hoisted = attempt.hoisted()
    expansion = with_expanded_scalars(outside.region)
    if expansion is None or any(use.object in hoisted for use in uses(expansion.kernel.body)):
        return None
    expanded = outside.instead(expansion)
    if expanded is None or expanded.statement_count > _MOST_EXPANDED:
        return None
    choice = expanded.choice((hyperplanes,))
    if choice.taken is None or not is_settled(choice.taken):
        return None
    if not has_fewer_strides(choice.taken, taken) and not reloads_less(choice.taken, taken):
        return None
    return expanded.planned(choice, diagnostics)


def _errors(messages: Diagnostics) -> tuple[Diagnostic, ...]:
    return tuple(item for item in messages if item.severity is Severity.ERROR)
