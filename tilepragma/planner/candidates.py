"""The automatic planner's strategies, in the order it tries them, and the choice of an answer.

The first answer wins that leaves no launch sequential with as many loops as the deepest parallel
one; failing that, the first that gains anything; failing that, the region runs as written. A later
answer replaces it if its innermost loops step through memory in fewer strides, and on cores if it
does more of the work in a launch: caches keep what its tiles reuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import partial
from math import inf

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.plan.default_sizes import JAMMED_ROWS
from tilepragma.plan.kernel_plan import HostLoop
from tilepragma.plan.summary import all_steps, are_wavefronts, buffered, used_sizes
from tilepragma.schedule.as_written import as_written
from tilepragma.schedule.hyperplane_tiles import hyperplanes
from tilepragma.schedule.overlapped import OVERLAPPING, overlapped
from tilepragma.schedule.strategy import Refusal, Region, ScheduleCandidate, Strategy
from tilepragma.schedule.tree import WORTH_COUNTING, counts_as_work
from tilepragma.user_tiles.chain_checks import literal_trip
from tilepragma.verify.messages import rows_that_meet

#: Why an answer cannot become a plan, if it cannot.
Objection = Callable[[ScheduleCandidate], str | None]

STRATEGIES: tuple[Strategy, ...] = (as_written, hyperplanes)


@dataclass(frozen=True)
class Choice:
    """The chosen answer, clauses on rejected ones, and the first of these without its name."""

    taken: ScheduleCandidate | None
    rejected: tuple[str, ...]
    reason: str | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the search needs no other answer."""
        return self.taken is not None and self.taken.is_settled


def choose(region: Region, objection: Objection, strategies: tuple[Strategy, ...] = STRATEGIES) -> Choice:
    """Try the strategies in order; an answer to which `objection` has a clause is rejected."""
    meeting = rows_that_meet(region.kernel)
    if meeting is not None:
        return Choice(None, (meeting,), meeting)
    search = _Search(objection)
    for strategy in strategies:
        search.look_at(strategy(region))
        if search.is_over:
            break
    search.jam()
    asked = region.kernel.directive.temporal in OVERLAPPING
    if asked and search.best is not None:
        search.overlap(search.best, overlapped(region, (size.object.name for size in search.best.sizes)))
    taken = search.best or search.second_best
    if taken is not None:
        return Choice(taken, (*search.rejected, *_short_host_loops(taken)), search.reason)
    short = _without_work(region.kernel)
    return Choice(None, (*short, *search.rejected), next(iter(short), search.reason))


def _short_host_loops(taken: ScheduleCandidate) -> Iterator[str]:
    """Clauses on the user's host loops that have too few iterations for tiles."""
    for step in all_steps(taken.host_steps):
        if isinstance(step, HostLoop) and step.loop.header.file != NOWHERE.file and not counts_as_work(step.loop):
            yield (
                f"tiles of iterations of the loop over '{step.loop.iterator.host}', on cores: it has "
                f"{literal_trip(step.loop)}, and fewer than {WORTH_COUNTING} are no gain"
            )


def _without_work(kernel: Kernel) -> tuple[str, ...]:
    """A clause where the kernel has loops, all with few iterations."""
    if not any(loops_in(kernel.body)) or any(map(counts_as_work, walk(kernel.body))):
        return ()
    return (f"none of its loops has {WORTH_COUNTING} iterations, and fewer are not worth a launch",)


@dataclass
class _Search:
    """`best` has nothing sequential as deep as its parallel part; `second_best` gains something."""

    objection: Objection
    best: ScheduleCandidate | None = None
    second_best: ScheduleCandidate | None = None
    rejected: list[str] = field(default_factory=list)
    reason: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether no further answer can be better."""
        if self.best is None:
            return False
        if self.best.steps is not None and (self.best.steps.strides or self.best.steps.reloading):
            return False
        return self.best.depths.launched >= self.best.depths.parallel

    def look_at(self, answer: ScheduleCandidate | Refusal) -> None:
        """Keep the answer if it is the best so far, and record why the other one was rejected."""
        if isinstance(answer, Refusal):
            if self.best is None:
                self._reject(answer.reason, answer.reason)
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
        self._reject(f"{answer.strategy}: {against}", next(iter(answer.notes), against))
        if answer.fallback is not None:
            self.look_at(answer.fallback())

    def _replace(self, best: ScheduleCandidate, answer: ScheduleCandidate) -> None:
        """Replace the best answer, or its part for cores, by a later one that is faster."""
        if not answer.is_settled:
            return
        if answer.asked_on_devices:
            self._take(answer, f"{best.strategy}: diamond tiles are asked for (TILEK_TILES)")
        elif has_fewer_strides(answer, best) and not are_wavefronts(answer.device_steps, answer.sizes):
            strides = f"{_times(_strides(best))}, those of {answer.strategy} {_times(_strides(answer))}"
            clause = f"step through memory in strides {strides}"
            self._take(answer, f"{best.strategy}: innermost loops {clause}")
        elif reloads_less(answer, best) and (_keeps_planes(answer) or answer.strips or not best.strips):
            clause = "load and store again and again what those of " + answer.strategy + " keep in registers"
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
            self._take(
                jammed,
                f"{best.strategy}, on cores: innermost loops wait for themselves, "
                f"which {JAMMED_ROWS} rows side by side hide",
            )

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

    def _reject(self, clause: str, reason: str) -> None:
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
        steps=host.steps,
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
        kept=answer.kept,
    )


def _strides(answer: ScheduleCandidate) -> float:
    """Strided accesses of the answer's innermost host loops; infinite if unknown."""
    return inf if answer.steps is None else answer.steps.strides


def has_fewer_strides(answer: ScheduleCandidate, rival: ScheduleCandidate) -> bool:
    """Whether the answer's innermost loops are known to have fewer strided accesses."""
    return _strides(answer) < _strides(rival)


def _keeps_planes(answer: ScheduleCandidate) -> bool:
    """Whether register tiles of rows and columns are kept, which share more of their reads."""
    buffers = (buffer for node in buffered(answer.host_steps) for buffer in node.buffers)
    return any(buffer.stored and buffer.object.rank > 1 for buffer in buffers)


def reloads_less(answer: ScheduleCandidate, rival: ScheduleCandidate) -> bool:
    """Whether the answer's innermost loops are known to reload less than the rival's."""
    known, others = answer.steps, rival.steps
    return known is not None and others is not None and known.reloading < others.reloading


def _times(number: float) -> str:
    return "in none" if number == 0 else "in 1 access" if number == 1 else f"in {number:g} accesses"


def is_better(answer: ScheduleCandidate | None, rival: ScheduleCandidate | None) -> bool:
    """Whether an answer on expanded arrays is worth its storage against a `rival` without: less
    sequential work; then no tiled wavefronts; then more loops a launch.
    """
    return answer is not None and (rival is None or _merits(answer) > _merits(rival))


def _merits(answer: ScheduleCandidate) -> tuple[int, ...]:
    depths = answer.depths
    in_order = 0 if answer.is_settled else -depths.sequential
    return in_order, -are_wavefronts(answer.device_steps, answer.sizes), depths.launched, depths.parallel


def _deep(loops: int) -> str:
    return "no loop" if loops == 0 else "1 loop deep" if loops == 1 else f"{loops} loops deep"


def _loops(answer: ScheduleCandidate) -> str:
    return f"{answer.depths.launched} loop{'s' if answer.depths.launched > 1 else ''}"
