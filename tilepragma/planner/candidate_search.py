"""The search for launches of a region without the user's tiles: which candidate wins, on which
storage.

The search makes a plan of every candidate, and accepts only proven plans. It asks the strategies in
order. The first candidate wins that runs its deepest loops in parallel launches, not in sequential
ones; if there is none, the first that runs any loop in parallel. Without either, the region runs as
written. A later candidate replaces the winner if its innermost loops have fewer strided accesses.
On cores it also does if one launch does more of the work, since caches keep what its tiles reuse.

The shape of tiles is decided in `poly/bands.py` (rectangles of parallel rows, or skewed tiles in
wavefronts), `schedule/hyperplane_tiles.py` (diamonds: `ways_to_tile`) and `schedule/overlapped.py`
(boxes or streams).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property, partial
from math import inf

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Kernel, asks_for_layers
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.normalise.array_reductions import array_reductions
from tilepragma.normalise.delinearisation import DelinearisedKernel, with_delinearised_arrays
from tilepragma.normalise.if_conversion import with_sunk_conditions
from tilepragma.normalise.live_out import final_values
from tilepragma.normalise.loop_normalisation import with_normalised_loops
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, all_steps, launches_in
from tilepragma.plan.summary import are_wavefronts, buffered, used_sizes
from tilepragma.planner.assembly import Planned, TiledRegion, assemble_plan, plan_of_tiles, with_kernel, with_plan
from tilepragma.poly.scop import AccessKind
from tilepragma.schedule.as_written import as_written
from tilepragma.schedule.assumed_independence import (
    keeps_elements_in_registers,
    without_assumptions,
    without_directives,
)
from tilepragma.schedule.candidate import (
    WORTH_COUNTING,
    Moved,
    Refusal,
    Region,
    ScheduleCandidate,
    Strategy,
    counts_as_work,
)
from tilepragma.schedule.default_sizes import JAMMED_ROWS
from tilepragma.schedule.hyperplane_tiles import hyperplanes
from tilepragma.schedule.in_order import proof_in_order
from tilepragma.schedule.multilayer_tiles import subdomain_tiles, with_subdomain_tiles
from tilepragma.schedule.overlapped import OVERLAPPING, overlapped
from tilepragma.schedule.scalar_expansion import long_sums, with_hoisted_scalars
from tilepragma.storage.array_copies import with_array_copies
from tilepragma.storage.array_expansion import with_array_expansion, with_expanded_scalars
from tilepragma.storage.new_arrays import ExpandedKernel, proven_scop
from tilepragma.storage.staging import proven_staging
from tilepragma.user_tiles.chain_checks import literal_trip
from tilepragma.user_tiles.clause_variables import live_out_by_clause
from tilepragma.verify.proofs import proof_of, unit_step_faults

#: Why an answer cannot become a plan, if it cannot.
Objection = Callable[[ScheduleCandidate], str | None]

STRATEGIES: tuple[Strategy, ...] = (as_written, hyperplanes)

#: With a settled answer on expanded arrays, regions of more statements do not search hyperplanes
#: for better strides: that may take long.
_MOST_RESCHEDULED = 6
#: Regions of more statements do not expand scalars for better strides.
_MOST_EXPANDED = 16


#: What the search has found for kernels without their loops' directives, by their ranges: whether
#: the plan keeps elements in registers. Rounds of OpenMP's lines share it.
Searches = dict[SourceRange, tuple[Kernel, bool]]


def plan_of_region(region: TiledRegion, diagnostics: Diagnostics, searches: Searches) -> Planned:
    """The plan of a region that the search decides, or the user, who calls loops independent."""
    if region.clauses:
        return plan_of_user_tiles(region, diagnostics, searches)
    messages = Diagnostics()
    planned = searched_plan(region, messages)
    plain = without_directives(region.kernel)
    if plain is not None:
        searches[plain.range] = plain, not messages.has_errors and keeps_elements_in_registers(planned.plan)
    diagnostics.add_all(messages)
    return planned


def plan_of_user_tiles(region: TiledRegion, diagnostics: Diagnostics, searches: Searches) -> Planned:
    """The plan of a region whose loops the user calls independent. The planner's own plan, proven
    without the user's word, wins where it keeps elements in registers.
    """
    plain = without_assumptions(region.kernel)
    if plain is not None and searches.get(plain.range) != (plain, False):
        messages = Diagnostics()
        planned = searched_plan(with_kernel(region, plain, messages), messages)
        if not messages.has_errors and keeps_elements_in_registers(planned.plan):
            diagnostics.add_all(messages)
            return planned
    return plan_of_tiles(region, diagnostics)


def searched_plan(region: TiledRegion, diagnostics: Diagnostics) -> Planned:
    """The plan of a region without tiles: with unit steps where these are proven right."""
    unit = with_normalised_loops(region.kernel)
    if unit is not None:
        messages = Diagnostics()
        counted, finals = unit
        planned = _as_it_stands(with_kernel(region, counted, messages), messages)
        counting = replace(
            planned.plan, before_normalisation=region.kernel, final_values=(*planned.plan.final_values, *finals)
        )
        if counting.untransformed is None and not tuple(unit_step_faults(counting)):
            diagnostics.add_all(messages)
            return with_plan(planned, counting, "before_normalisation", "final_values")
    return _as_it_stands(region, diagnostics)


def _as_it_stands(region: TiledRegion, diagnostics: Diagnostics) -> Planned:
    """The plan of a region with its loops' steps. Conditions on data sink into loops, where they
    cost more, only if the region otherwise runs as written.
    """
    kernel = region.kernel
    rows = with_delinearised_arrays(kernel)
    if rows.seen:
        messages = Diagnostics()
        by_rows = with_kernel(region, rows.kernel, messages)
        planned, messages = _with_array_reductions(by_rows, _automatic(by_rows, messages), messages)
        if planned.plan.untransformed is None:
            diagnostics.add_all(messages)
            return _with_notes(planned, rows)
    messages = Diagnostics()
    planned = _automatic(region, messages)
    inner = with_sunk_conditions(kernel)
    if planned.plan.untransformed is not None and inner is not kernel:
        inner_messages = Diagnostics()
        converted = _automatic(with_kernel(region, inner, inner_messages), inner_messages)
        if converted.plan.untransformed is None:
            planned, messages = converted, inner_messages
    planned, messages = _with_array_reductions(region, planned, messages)
    diagnostics.add_all(messages)
    return _with_notes(planned, replace(rows, seen=()))


def _with_array_reductions(region: TiledRegion, planned: Planned, messages: Diagnostics) -> tuple[Planned, Diagnostics]:
    """The plan, with sums into elements that data choose in copies of their arrays where the loop
    around them runs in order else; and its messages.
    """
    for expanded in array_reductions(region.kernel, region.floating):
        around = [loop for loop in loops_in(region.kernel.body) if expanded.loop in loops_in(loop)]
        if any(_is_parallel(planned.plan, loop.iterator, loop.range) for loop in around):
            continue
        attempted = Diagnostics()
        other = with_kernel(region, expanded.kernel, attempted)
        copied = _automatic(other, attempted)
        if not attempted.has_errors and _is_parallel(copied.plan, expanded.copy, expanded.loop.range):
            return _with_array_reductions(other, copied, attempted)
    return planned, messages


def _is_parallel(plan: KernelPlan, iterator: DataObject, range_: SourceRange) -> bool:
    """Whether cores share out the iterator's values for statements in the range."""
    schedules = (schedule for launch in plan.host for schedule in launch.schedule)
    planes = (
        plane
        for schedule in schedules
        if any(range_.holds(place.file, place.start.offset) for place in schedule.statements)
        for meaning in schedule.place
        for plane in meaning.hyperplanes
    )
    return any(node.object == iterator for plane in planes for node in plane.phi.atoms if isinstance(node, Access))


def _with_notes(planned: Planned, rows: DelinearisedKernel) -> Planned:
    plan = planned.plan
    noted = replace(plan, storage=(*rows.seen, *plan.storage), rejected=(*plan.rejected, *rows.left))
    return replace(planned, plan=noted)


@dataclass(frozen=True)
class _Trial:
    """The plan of an answer, with its proof if there are no errors, messages, and the objection."""

    answer: ScheduleCandidate
    planned: Planned
    messages: Diagnostics
    against: str | None


@dataclass
class Attempt:
    """A region without tiles, and the strategies' answers, each assembled and judged once."""

    tiled: TiledRegion
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
        kernel = self.tiled.kernel
        written = written_objects(kernel)
        live_out = kernel.read_after | live_out_by_clause(kernel)
        final = final_values(kernel, live_out, host_evaluable(written))
        names = frozenset(value.iterator.name for value in final)
        context = (self.tiled.scop, asks_for_layers(kernel), self.moved)
        return Region(kernel, self.tiled.statements, written, live_out, names, self.tiled.floating, *context)

    def instead(self, expanded: ExpandedKernel) -> Attempt | None:
        """The attempt on expanded arrays; None if they are not proven to compute the same."""
        apart = with_kernel(self.tiled, expanded.kernel, Diagnostics())
        scop = proven_scop(self.region, expanded, apart.statements)
        if scop is None:
            return None
        moved = Moved(self.region, expanded.instead) if expanded.everywhere else None
        return Attempt(replace(apart, scop=scop), expanded, self.source or self.tiled.kernel, moved)

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
                plan = self._sourced(replace(trial.planned.plan, rejected=tuple(choice.rejected)))
                if self.region.ordered:
                    return replace(trial.planned, plan=plan)
                staged = proven_staging(plan, trial.planned.proof, self.region.original, trial.answer.staged)
                return Planned(*staged, trial.planned.scop)
        tiled = replace(self.tiled, reason=choice.reason, rejected=tuple(choice.rejected))
        obstacles = _errors(self.trials[0].messages) if self.trials else ()
        if obstacles and choice.reason == obstacles[0].message:
            tiled = replace(tiled, obstacles=obstacles)
        return Planned(self._sourced(assemble_plan(tiled, diagnostics)))

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
        scop = self.region.extracted
        plan = assemble_plan(replace(self.tiled, automatic=answer, scop=scop), messages)
        proof, against = None, _errors(messages)[0].message if messages.has_errors else None
        if against is None:
            region = self.region
            if region.ordered:
                proof = proof_in_order(plan, region.statements, region.parts)
            else:
                proof = proof_of(plan, region.original)
            against = f"not proven right: {proof.faults[0].message}" if proof.faults else None
        self.trials.append(_Trial(answer, Planned(plan, proof, scop), messages, against))
        return against


def _automatic(region: TiledRegion, diagnostics: Diagnostics) -> Planned:
    """The plan of a region without tiles, on expanded arrays where that is better."""
    attempt = Attempt(region)
    if region.kernel.reductions is not None:
        # Hyperplanes of the loop over copies cut its runs, and each tile looks for its own.
        return attempt.planned(attempt.choice((as_written,)), diagnostics)
    planned = None
    copies = with_array_copies(attempt.region)
    copied = None if copies is None else attempt.instead(copies)
    if copied is not None:
        choice = copied.choice((as_written,) if copied.region.ordered else STRATEGIES)
        planned = None if choice.taken is None else copied.planned(choice, diagnostics)
    if attempt.region.ordered:
        return _with_tiles(planned or attempt.planned(attempt.choice((as_written,)), diagnostics), attempt)
    planned = planned or _with_storage(attempt, diagnostics) or _with_scalars(attempt, diagnostics)
    return planned or attempt.planned(attempt.choice(STRATEGIES), diagnostics)


def _with_tiles(planned: Planned, attempt: Attempt) -> Planned:
    """The plan of sweeps by subdomains, with array tiles in shared memory where possible."""
    choice = attempt.choice((subdomain_tiles,))
    staged = None if choice.taken is None else attempt.planned(choice, Diagnostics()).plan
    plan = with_subdomain_tiles(planned.plan, staged, tuple(choice.rejected))
    # Steps for devices have the proof of `staged`. More conditions only leave out launches.
    return with_plan(planned, plan, "device_steps", "device_kernel", "scalars", "conditions")


def _with_storage(attempt: Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan of the region with expanded arrays where that is better, else None."""
    expansion = with_array_expansion(attempt.region)
    expanded = None if expansion is None else attempt.instead(expansion)
    if expansion is None or expanded is None:
        return None
    if expansion.repeats and attempt.choice(STRATEGIES).is_settled:
        # Tiled wavefronts stay in the cache; copies at each step of a loop do not.
        return None
    choice, without = (candidate.choice(STRATEGIES[:1]) for candidate in (expanded, attempt))
    if not choice.is_settled or not (
        _is_better(choice.taken, without.taken)
        or (_reuses_copies(expansion, expanded.region) and _maps_more_loops(choice.taken, without.taken))
    ):
        return None
    if len(expanded.region.scop.statements) <= _MOST_RESCHEDULED:
        choice = expanded.choice(STRATEGIES)
    return expanded.planned(choice, diagnostics)


def _with_scalars(attempt: Attempt, diagnostics: Diagnostics) -> Planned | None:
    """The plan by hyperplanes of the region with scalars expanded where its innermost loops have
    fewer strides, or reload less, than the user's; else None.
    """
    taken = attempt.choice(STRATEGIES).taken
    if taken is None:
        return None
    if (
        taken.innermost_cost is not None
        and not taken.innermost_cost.strides
        and not long_sums(attempt.tiled.statements)
    ):
        return None
    outside, hoisted = attempt, frozenset[DataObject]()
    hoisting = with_hoisted_scalars(attempt.tiled.kernel)
    if hoisting is not None:
        kernel, hoisted = hoisting
        outside = Attempt(with_kernel(attempt.tiled, kernel, Diagnostics()), source=attempt.tiled.kernel)
    expansion = with_expanded_scalars(outside.region)
    if expansion is None or any(use.object in hoisted for use in uses(expansion.kernel.body)):
        return None
    expanded = outside.instead(expansion)
    if expanded is None or len(expanded.region.scop.statements) > _MOST_EXPANDED:
        return None
    choice = expanded.choice((hyperplanes,))
    if choice.taken is None or not choice.is_settled:
        return None
    if not _has_fewer_strides(choice.taken, taken) and not _reloads_less(choice.taken, taken):
        return None
    return expanded.planned(choice, diagnostics)


def _errors(messages: Diagnostics) -> tuple[Diagnostic, ...]:
    return tuple(item for item in messages if item.severity is Severity.ERROR)


# -- the choice of an answer


def choose(region: Region, objection: Objection, strategies: tuple[Strategy, ...] = STRATEGIES) -> Choice:
    """Try the strategies in order; an answer to which `objection` has a clause is rejected."""
    choice = Choice(objection)
    for strategy in strategies:
        choice.look_at(strategy(region))
        if choice.is_over:
            break
    choice.jam()
    asked = region.kernel.directive.temporal in OVERLAPPING
    if asked and choice.best is not None:
        choice.overlap(choice.best, overlapped(region, (size.object.name for size in choice.best.sizes)))
    if choice.taken is not None:
        choice.rejected += _short_host_loops(choice.taken)
    elif any(loops_in(region.kernel.body)) and not any(map(counts_as_work, walk(region.kernel.body))):
        choice.reason = f"none of its loops has {WORTH_COUNTING} iterations, and fewer are not worth a launch"
        choice.rejected.insert(0, choice.reason)
    return choice


def _short_host_loops(taken: ScheduleCandidate) -> Iterator[str]:
    """Clauses on the user's host loops that have too few iterations for tiles."""
    for step in all_steps(taken.host_steps):
        if isinstance(step, HostLoop) and step.loop.header.file != NOWHERE.file and not counts_as_work(step.loop):
            yield (
                f"tiles of iterations of the loop over '{step.loop.iterator.host}', on cores: it has "
                f"{literal_trip(step.loop)}, and fewer than {WORTH_COUNTING} are no gain"
            )


@dataclass
class Choice:
    """The search's state, and its outcome: `best` has nothing sequential as deep as its parallel
    part, `second_best` gains something. `rejected` are clauses on other answers, `reason` the first
    of them without its name.
    """

    objection: Objection
    best: ScheduleCandidate | None = None
    second_best: ScheduleCandidate | None = None
    rejected: list[str] = field(default_factory=list)
    reason: str | None = None

    @property
    def taken(self) -> ScheduleCandidate | None:
        """The answer that is taken, if any."""
        return self.best or self.second_best

    @property
    def is_settled(self) -> bool:
        """Whether the search needs no other answer."""
        return self.taken is not None and self.taken.is_settled

    @property
    def is_over(self) -> bool:
        """Whether no further answer can be better."""
        if self.best is None:
            return False
        if self.best.innermost_cost is not None and (
            self.best.innermost_cost.strides or self.best.innermost_cost.reloading
        ):
            return False
        return self.best.depths.launched >= self.best.depths.parallel

    def look_at(self, answer: ScheduleCandidate | Refusal) -> None:
        """Keep the answer if it is the best so far, and record why the other one was rejected."""
        if isinstance(answer, Refusal):
            if self.best is None:
                self.reject(answer.reason, answer.reason)
                self.reason = answer.reason if answer.decisive else self.reason
            return
        if self.best is not None:
            self._replace(self.best, answer)
            return
        self.rejected += answer.notes
        against = self.objection(answer)
        if against is None:
            if answer.is_settled:
                self.best = answer
                return
            depths = answer.depths
            sequential, parallel = _deep(depths.sequential), _deep(depths.parallel)
            against = f"what must run on one core is {sequential}, what could run in parallel {parallel}"
            # A launch for one loop's work, with as much left sequential, costs more than it saves.
            if self.second_best is None and depths.launched > 1 and depths.parallel >= depths.sequential:
                self.second_best = answer
        self.reject(f"{answer.strategy}: {against}", next(iter(answer.notes), against))
        if answer.fallback is not None:
            self.look_at(answer.fallback())

    def _replace(self, best: ScheduleCandidate, answer: ScheduleCandidate) -> None:
        """Replace the best answer, or its part for cores, by a later one that is faster."""
        if not answer.is_settled:
            return
        if answer.asked_on_devices:
            self._take(answer, f"{best.strategy}: diamond tiles are asked for (TILEK_TILES)")
        elif _has_fewer_strides(answer, best) and not are_wavefronts(answer.device_steps, answer.sizes):
            strides = f"{_times(_strides(best))}, those of {answer.strategy} {_times(_strides(answer))}"
            clause = f"step through memory in strides {strides}"
            self._take(answer, f"{best.strategy}: innermost loops {clause}")
        elif _reloads_less(answer, best) and (_keeps_planes(answer) or answer.strips or not best.strips):
            clause = "load and store again and again what those of " + answer.strategy + " keep in registers"
            if _has_fewer_launches(answer, best):
                self._take(answer, f"{best.strategy}: innermost loops {clause}")
            else:
                self._take(_joined(answer, best), f"{best.strategy}, on cores: innermost loops {clause}")
        elif answer.depths.launched > best.depths.launched:
            work = f"{_loops(best)} and leaves the caches, one of {answer.strategy} that of {_loops(answer)}"
            clause = f"each launch does the work of {work}"
            self._take(_joined(answer, best), f"{best.strategy}, on cores: {clause}")

    def jam(self) -> None:
        """Unroll-and-jam the best answer's latency-bound loops, if that is right."""
        best = self.best
        if best is None or best.jammed is None:
            return
        jammed = best.jammed()
        if isinstance(jammed, ScheduleCandidate) and jammed.host_steps != best.host_steps:
            clause = f"wait for themselves, which {JAMMED_ROWS} rows side by side hide"
            self._take(jammed, f"{best.strategy}, on cores: innermost loops {clause}")

    def overlap(self, best: ScheduleCandidate, answers: Iterable[ScheduleCandidate | Refusal]) -> None:
        """Take the device steps of the first right answer: the user asks for overlapped tiles."""
        against: dict[str, str] = {}
        for answer in answers:
            combined = answer if isinstance(answer, Refusal) else _with_devices(best, answer)
            why = combined.reason if isinstance(combined, Refusal) else self.objection(combined)
            if isinstance(combined, ScheduleCandidate) and isinstance(answer, ScheduleCandidate) and why is None:
                self.best = combined
                against.pop(answer.strategy, None)
                asked = f"{best.strategy}, on devices: {answer.strategy} are asked for (TILEK_TILES)"
                self.rejected += (*(f"{name}: {clause}" for name, clause in against.items()), asked, *answer.notes)
                return
            name = "overlapped tiles" if isinstance(answer, Refusal) else answer.strategy
            against.setdefault(name, why or "")
        self.rejected += [f"{name}: {why}" for name, why in against.items()]

    def _take(self, answer: ScheduleCandidate, clause: str) -> None:
        fallback = answer.fallback
        if self.objection(answer) is None:
            self.best = answer
            self.rejected += (clause, *answer.notes)
        elif fallback is not None and isinstance(made := fallback(), ScheduleCandidate):
            self._take(made, clause)

    def reject(self, clause: str, reason: str) -> None:
        """Keep a clause on an answer that is not taken."""
        self.rejected.append(clause)
        self.reason = self.reason or reason


def _joined(host: ScheduleCandidate, device: ScheduleCandidate) -> ScheduleCandidate:
    """An answer's steps for cores, and another's for devices."""
    return replace(
        device,
        strategy=f"{host.strategy} on cores, {device.strategy} on devices",
        host_steps=host.host_steps,
        shared=tuple(dict.fromkeys((*device.shared, *host.shared))),
        sizes=used_sizes(host.host_steps, host.sizes),
        notes=host.notes,
        innermost_cost=host.innermost_cost,
        jammed=None,
        fallback=None if host.fallback is None else partial(_plainer, host.fallback, device),
    )


def _plainer(host: Callable[[], ScheduleCandidate | Refusal], device: ScheduleCandidate) -> ScheduleCandidate | Refusal:
    """The joined answer with the strategy's plainer answer for cores."""
    plainer = host()
    return plainer if isinstance(plainer, Refusal) else _joined(plainer, device)


def _with_devices(best: ScheduleCandidate, answer: ScheduleCandidate) -> ScheduleCandidate:
    """The best answer with overlapped tiles on devices."""
    return replace(
        best,
        strategy=f"{best.strategy} on cores, {answer.strategy} on devices",
        device_steps=answer.device_steps,
        shared=tuple(dict.fromkeys((*best.shared, *answer.shared))),
        sizes=(*used_sizes(best.host_steps, best.sizes), *answer.sizes),
        asked_on_devices=True,
        storage=answer.storage,
        storage_notes=answer.storage_notes,
    )


def _strides(answer: ScheduleCandidate) -> float:
    """Strided accesses of the answer's innermost host loops; infinite if unknown."""
    return inf if answer.innermost_cost is None else answer.innermost_cost.strides


def _has_fewer_strides(answer: ScheduleCandidate, rival: ScheduleCandidate) -> bool:
    """Whether the answer's innermost loops are known to have fewer strided accesses."""
    return _strides(answer) < _strides(rival)


def _keeps_planes(answer: ScheduleCandidate) -> bool:
    """Whether register tiles of rows and columns are kept, which share more of their reads."""
    buffers = (buffer for node in buffered(answer.host_steps) for buffer in node.buffers)
    return any(buffer.stored and buffer.object.rank > 1 for buffer in buffers)


def _reloads_less(answer: ScheduleCandidate, rival: ScheduleCandidate) -> bool:
    """Whether the answer's innermost loops are known to reload less than the rival's."""
    known, others = answer.innermost_cost, rival.innermost_cost
    return known is not None and others is not None and known.reloading < others.reloading


def _has_fewer_launches(answer: ScheduleCandidate, rival: ScheduleCandidate) -> bool:
    """Whether the answer does the rival's work on devices in fewer launches over as many loops,
    without wavefronts.
    """
    launches, others = (launches_in(candidate.device_steps) for candidate in (answer, rival))
    fewer = len(launches) < len(others) and _mapped_loops(answer) >= _mapped_loops(rival)
    return fewer and not are_wavefronts(answer.device_steps, answer.sizes)


def _mapped_loops(answer: ScheduleCandidate) -> int:
    """The fewest loops that a device launch of the answer distributes."""
    return min((len(launch.loops) for launch in launches_in(answer.device_steps)), default=0)


def _times(number: float) -> str:
    return "in none" if number == 0 else "in 1 access" if number == 1 else f"in {number:g} accesses"


def _is_better(answer: ScheduleCandidate | None, rival: ScheduleCandidate | None) -> bool:
    """Whether an answer on expanded arrays is worth its storage against a `rival` without: less
    sequential work; then no tiled wavefronts; then more loops a launch.
    """
    return answer is not None and (rival is None or _merits(answer) > _merits(rival))


def _maps_more_loops(answer: ScheduleCandidate | None, rival: ScheduleCandidate | None) -> bool:
    """Whether all device launches of the answer distribute more loops than some of the rival's."""
    return answer is not None and rival is not None and _mapped_loops(answer) > _mapped_loops(rival)


def _reuses_copies(expansion: ExpandedKernel, region: Region) -> bool:
    """Whether more loops stand around a read of each new array than it has dimensions, so that the
    reads outnumber what its copies move.
    """
    deep = {
        reference.object
        for statement in region.scop.statements
        for reference in statement.references
        if reference.kind is AccessKind.READ and statement.depth > reference.object.rank
    }
    return all(array in deep for array in expansion.instead)


def _merits(answer: ScheduleCandidate) -> tuple[int, ...]:
    depths = answer.depths
    in_order = 0 if answer.is_settled else -depths.sequential
    return in_order, -are_wavefronts(answer.device_steps, answer.sizes), depths.launched, depths.parallel


def _deep(loops: int) -> str:
    return "no loop" if loops == 0 else "1 loop deep" if loops == 1 else f"{loops} loops deep"


def _loops(answer: ScheduleCandidate) -> str:
    return f"{answer.depths.launched} loop{'s' if answer.depths.launched > 1 else ''}"
