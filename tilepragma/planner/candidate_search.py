"""The search for the launches of a region whose loops have no tiles: which candidate is taken, on which storage.

Every candidate is assembled to a plan and proven; a plan that is not proven is not taken.
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
from tilepragma.schedule.multilayer_staging import with_subdomain_tiles
from tilepragma.schedule.multilayer_tiles import subdomain_tiles
from tilepragma.schedule.scalar_expansion import long_sums, with_hoisted_scalars
from tilepragma.schedule.strategy import Moved, Refusal, Region, ScheduleCandidate, Strategy
from tilepragma.storage.array_copies import with_array_copies
from tilepragma.storage.array_expansion import ExpandedKernel, proven_scop, with_array_expansion, with_expanded_scalars
from tilepragma.storage.staging_checks import proven_staging
from tilepragma.user_tiles.clause_variables import live_out_by_clause
from tilepragma.verify.proofs import Proof, proof_of, unit_step_faults

if TYPE_CHECKING:
    from tilepragma.poly.scop import Scop

#: Statements of a region that is settled with storage of its own, up to which hyperplanes are asked
#: for better strides: they may take long.
_MOST_RESCHEDULED = 6
#: Statements of a region up to which scalars are expanded for better strides.
_MOST_EXPANDED = 16


def vouched_plan(
    kernel: Kernel, said: TiledRegion, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region whose loops the user calls independent: the engine's own where that
    keeps elements in registers and is proven without the user's word, which then is right and says
    no more.
    """
    plain = without_assumptions(kernel)
    if plain is not None:
        found = Diagnostics()
        planned = searched_plan(plain, tiled_region(plain, found), floating, found, targets)
        if not found.has_errors and keeps_elements_in_registers(planned.plan):
            diagnostics.add_all(found)
            return planned
    return Planned(assemble_plan(kernel, said, floating, diagnostics, targets))


def searched_plan(
    kernel: Kernel, said: TiledRegion, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region in which nobody said anything: with loops that count their iterations in the place of steps, where that is proven."""
    unit = with_normalised_loops(kernel)
    if unit is not None:
        found = Diagnostics()
        planned = _as_it_stands(unit.kernel, tiled_region(unit.kernel, found), floating, found, targets)
        counting = replace(planned.plan, stepped=kernel, final_values=(*planned.plan.final_values, *unit.final_values))
        faults = tuple(unit_step_faults(counting))
        if counting.as_written is None and not faults:
            diagnostics.add_all(found)
            return Planned(counting, None if planned.proof is None else Proof(counting, planned.proof.faults))
    return _as_it_stands(kernel, said, floating, diagnostics, targets)


def _as_it_stands(
    kernel: Kernel, said: TiledRegion, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The same of a region whose loops are what they are; conditions on data go inside loops only
    where it would run as written else, since they cost more there.
    """
    rows = with_delinearised_arrays(kernel)
    if rows.seen:
        found = Diagnostics()
        planned = _automatic(rows.kernel, tiled_region(rows.kernel, found), floating, found, targets)
        if planned.plan.as_written is None:
            diagnostics.add_all(found)
            return _with_notes(planned, rows)
    found = Diagnostics()
    planned = _automatic(kernel, said, floating, found, targets)
    inner = with_sunk_conditions(kernel)
    if planned.plan.as_written is not None and inner is not kernel:
        again = Diagnostics()
        other = _automatic(inner, tiled_region(inner, again), floating, again, targets)
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
class _Trial:
    """The plan of one strategy's answer with what was found on the way, its proof where no error was, and what is wrong with it."""

    answer: ScheduleCandidate
    plan: KernelPlan
    found: Diagnostics
    proof: Proof | None
    against: str | None


@dataclass
class Attempt:
    """What the strategies make of a kernel that nobody gave tiles. Every answer is made and judged once."""

    kernel: Kernel
    said: TiledRegion
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

    def instead(self, own: ExpandedKernel) -> Attempt | None:
        """The same for the kernel with storage of its own; None where that is not proven to compute what this one does."""
        apart = tiled_region(own.kernel, Diagnostics())
        scop = proven_scop(self.region, own, apart.statements)
        if scop is None:
            return None
        moved = Moved(self.region, own.instead) if own.everywhere else None
        source = self.source or self.kernel
        return Attempt(own.kernel, apart, self.floating, self.targets, scop, own, source, moved=moved)

    def hoisted(self) -> tuple[Attempt, frozenset[DataObject]]:
        """The same for the kernel with scalars of loops' bodies outside, and these."""
        found = with_hoisted_scalars(self.kernel)
        if found is None:
            return self, frozenset()
        kernel, scalars = found
        apart = tiled_region(kernel, Diagnostics())
        return Attempt(kernel, apart, self.floating, self.targets, source=self.kernel), scalars

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
        return Planned(self._sourced(assemble_plan(self.kernel, said, self.floating, diagnostics, self.targets)))

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
        plan = assemble_plan(self.kernel, ours, self.floating, found, self.targets)
        proof = None if found.has_errors else self._proof(plan)
        if proof is None:
            against: str | None = _errors(found)[0].message
        else:
            against = f"not proven right: {proof.faults[0].message}" if proof.faults else None
        self.trials.append(_Trial(answer, plan, found, proof, against))
        return against


def _automatic(
    kernel: Kernel, said: TiledRegion, floating: FloatingRules, diagnostics: Diagnostics, targets: tuple[Target, ...]
) -> Planned:
    """The plan of a region in which nobody said anything: with storage of its own where the user's loops are then better off."""
    attempt = Attempt(kernel, said, floating, targets)
    planned = _with_other_arrays(attempt, diagnostics)
    if attempt.region.ordered:
        return _with_tiles(planned or attempt.planned(attempt.choice((as_written,)), diagnostics), attempt)
    if planned is not None:
        return planned
    planned = _with_storage(attempt, diagnostics) or _with_scalars(attempt, diagnostics)
    return planned if planned is not None else attempt.planned(attempt.choice(STRATEGIES), diagnostics)


def _with_other_arrays(attempt: Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan of sweeps in another order on arrays for it; None of all else."""
    own = with_array_copies(attempt.region)
    other = None if own is None else attempt.instead(own)
    choice = None if other is None else other.choice((as_written,) if other.region.ordered else STRATEGIES)
    return None if other is None or choice is None or choice.taken is None else other.planned(choice, diagnostics)


def _with_tiles(planned: Planned, attempt: Attempt) -> Planned:
    """The plan of sweeps by subdomains with tiles in memory of gangs where that is possible."""
    choice = attempt.choice((subdomain_tiles,))
    staged = None if choice.taken is None else attempt.planned(choice, Diagnostics()).plan
    plan = with_subdomain_tiles(planned.plan, staged, choice.rejected)
    return Planned(plan, None if planned.proof is None else Proof(plan, planned.proof.faults))


def _with_storage(attempt: Attempt, diagnostics: Diagnostics) -> Planned | None:
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


def _with_scalars(attempt: Attempt, diagnostics: Diagnostics) -> Planned | None:
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
