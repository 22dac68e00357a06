"""Predicted time of a plan on cores for many tile sizes: the slowest core's work of each kind.

time = sum over launches of share of the slowest core
           * (points, rows, control at a core's price, bytes of each memory at its bandwidth)
       + launches * the seconds from one launch to the next
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.ragged_arrays import members
from tilepragma.cost.counter import Counter
from tilepragma.cost.host_nest_work import NestCounter, launch_nest
from tilepragma.cost.launch_counts import entries_of
from tilepragma.cost.launch_work import LaunchWork, plan_work
from tilepragma.cost.model_work import slowest_share
from tilepragma.cost.statement_counts import SourceCounts, distinct_cases, each_case
from tilepragma.cost.tile_traffic import is_double, is_of_memory
from tilepragma.cost.tile_work import MappedNest, mapped_nest
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.evaluation import Values
from tilepragma.ir.expressions import access_to
from tilepragma.ir.loop_tree import Loop, PackedPanels, Statement
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import walk
from tilepragma.model.device import Processor
from tilepragma.model.execution_time import Integers, Numbers, cost_at
from tilepragma.model.linear_model import Terms
from tilepragma.plan.array_bytes import array_bytes
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.shared_constants import BREAK_EVEN, MOST_WAVES
from tilepragma.plan.targets import CORES

_Flags = npt.NDArray[np.bool_]
#: The usable part of a cache: other data shares it, and replacement is not optimal.
USABLE = 0.5
#: The visible part of the transfer time of the second and the third level: a core computes during
#: transfers. The last level's is visible in full.
SEEN = (0.3, 0.7)
#: Cycles of an innermost loop's start and end, and of an operation in bounds and conditions.
ROW_CYCLES, CONTROL_CYCLES = 8.0, 1.0
#: Seconds from one step of a host loop to the next on one core and on several where nobody has
#: measured it.
USUAL_CROSSING = (2e-7, 5e-6)
#: Seconds until a second core takes part in a launch of an OpenCL processor: PoCL's threads sleep
#: between launches, and who is awake takes what there is. By SOR on a line on two cores: tiles of 4
#: us run one after the other, of 200 us side by side with so much more for each launch.
JOINING = 2.5e-5
#: Seconds from one tile of overlapping wavefronts to the next on a core, which another one has to
#: hear of.
TILE_SECONDS = 2.5e-7
#: Cycles until an operation's result; instructions that a core begins in a cycle, and that it has
#: begun and not finished at most.
LATENCY_CYCLES, WIDTH, WINDOW = 3.0, 4.0, 450.0
#: Sampled launches of each case, iterations of the mapped loop, and iterations of each loop inside;
#: counts between samples are interpolated.
_ENTRIES, _PLACES, _SAMPLES = 7, 9, 3
#: The most iterations of a mapped loop that are modelled: in a longer loop the remainder is
#: negligible.
_LONGEST = 256


def predicted_terms(
    plan: KernelPlan,
    scalars: Mapping[str, Values],
    sizes: Mapping[str, Values],
    processor: Processor,
    source: SourceCounts | None = None,
) -> Terms:
    """The work of a plan on a host's cores where its scalars and tile sizes have these values (see
    `plan_work`), and its estimated prices. Raises UncountableError.
    """
    work = plan_work(plan, scalars, sizes, CORES, source=source)
    whole, once = _held(plan, scalars)
    if not plan.floating.contract and not plan.floating.fast:
        # Half the peak, since options forbid fused multiply-adds.
        processor = replace(processor, float_rate=processor.float_rate / 2, double_rate=processor.double_rate / 2)
    seconds = sum(_LaunchTerms(launch, processor, whole, once).seconds() for launch in work)
    names = ("points", "waiting", "rows", "control", "launches", *(memory.name for memory in processor.memories[1:]))
    return Terms(names, np.asarray(seconds))


def _held(plan: KernelPlan, scalars: Mapping[str, Values]) -> tuple[Integers, Integers]:
    """Bytes of all arrays in each case, and bytes moved if each moves once. Raises
    UncountableError.
    """
    cases, distinct, index = distinct_cases(scalars)
    sizes = []
    for values in each_case(cases, distinct):
        arrays = array_bytes(plan, values)
        moved = sum(array.bytes * (array.reads + array.writes) for array in arrays)
        sizes.append((sum(array.bytes for array in arrays), moved))
    whole, once = np.array(sizes, dtype=np.int64)[index].T
    return whole, once


@dataclass(frozen=True, eq=False)
class _LaunchTerms:
    """One launch on a processor. All arrays take `whole` bytes, of which at least `once` move."""

    work: LaunchWork
    processor: Processor
    whole: Integers
    once: Integers

    def seconds(self) -> Numbers:
        """Seconds of each kind of work, a row for each case."""
        processor, work = self.processor, self.work
        caches = tuple(int(memory.size * USABLE) for memory in processor.memories[:-1])
        nest = launch_nest(work, NestCounter(caches, processor.line))
        points = nest.points + nest.padding
        cycle = 1 / processor.clock
        issue, wait = self._point()
        # A row that waits for its own results overlaps the next rows as far as a core looks ahead.
        flying = WINDOW / self._instructions()[2]
        ahead = points / np.maximum(points + nest.rows * flying, 1e-300)
        computing = [
            points * np.maximum(issue - wait * ahead, 0.0),
            points * wait * ahead,
            nest.rows * ROW_CYCLES * cycle,
            nest.control * CONTROL_CYCLES * cycle,
        ]
        share = slowest_part(work, processor.cores)
        if share is None:
            share = slowest_share(work, processor.cores)
        whole = np.sum(np.broadcast_arrays(*computing), axis=0)
        alone = (share >= 1) | self._is_short(share, whole)
        share = np.where(alone, 1.0, share)
        columns = [*(seconds * share for seconds in computing), self._between(alone) - self._ahead(alone, share, whole)]
        levels = zip(processor.memories, processor.memories[1:], nest.moved, strict=False)
        last = len(processor.memories) - 2
        for level, (nearer, memory, moved) in enumerate(levels):
            kept = np.minimum(moved, self.once) if nearer.sharers < processor.cores else np.zeros(work.cases)
            every = np.where(self.whole <= nearer.size * USABLE, kept, moved)
            shared = share * processor.cores if memory.sharers < processor.cores else np.ones(work.cases)
            seen = 1.0 if level == last else SEEN[min(level, len(SEEN) - 1)]
            columns.append(every * shared * seen / (memory.bandwidth or float("inf")))
        return np.stack(np.broadcast_arrays(*columns), axis=1)

    def _is_short(self, share: Numbers, computing: Numbers) -> _Flags:
        """Where launches are so short that one core runs them alone."""
        if self.processor.is_opencl:
            return np.asarray(computing * (1 - share) < JOINING * self._steps())
        # What takes no longer than waking the others does runs on one core
        # (runtime/host/host_launch.c).
        return np.asarray((self.work.launches > 1) & (computing < BREAK_EVEN / 1e9 * self._steps()))

    def _between(self, alone: _Flags) -> Numbers:
        """Seconds from one launch to the next; if wavefronts overlap, from one tile to the next."""
        work, cores = self.work, self.processor.cores
        between = self._steps() * self._crossing(alone)
        if self._overlaps:
            tiles = np.add.reduceat(work.repeats * work.tiles(), work.starts)
            between = between + np.where(alone, 0.0, tiles * TILE_SECONDS / cores)
        return np.asarray(between)

    def _ahead(self, alone: _Flags, share: Numbers, computing: Numbers) -> Numbers:
        """Seconds hidden in the crossing: the core with most work starts before the others."""
        if self._overlaps or self.processor.is_opencl or self.processor.cores < 2:
            return np.zeros_like(share)
        others = (1 - share) / (self.processor.cores - 1)
        ahead = np.minimum(self._steps() * self._crossing(alone), np.maximum(share - others, 0.0) * computing)
        return np.asarray(np.where(alone, 0.0, ahead))

    @property
    def _overlaps(self) -> bool:
        """Whether wavefronts overlap. Under OpenCL each is a launch of its own."""
        return self.work.place.launch.pipelined and not self.processor.is_opencl

    def _steps(self) -> Numbers:
        """How often cores begin together: for each launch, or for so many wavefronts as overlap."""
        together = MOST_WAVES if self._overlaps and self.processor.cores > 1 else 1
        return np.asarray(np.ceil(self.work.launches / together))

    def _crossing(self, alone: _Flags) -> Numbers:
        """Seconds from one launch to the next, in each case."""
        overheads, counts = self.processor.overheads, np.array([1, self.processor.cores])
        alone_seconds, all_seconds = USUAL_CROSSING if overheads is None else cost_at(overheads.wavefront, counts)
        return np.where(alone, alone_seconds, all_seconds + JOINING * self.processor.is_opencl)

    def _instructions(self) -> tuple[float, float, float]:
        """Of a point: operations, bytes of arrays, and all instructions without vectors."""
        work = self.work
        case = int(np.argmax(work.points))
        points = max(float(work.points[case]), 1.0)
        operations, accessed = float(work.operations[case]) / points, float(work.accesses[case]) / points
        return operations, accessed, operations + accessed / (8 if is_double(self.work.place.launch) else 4) + 1

    def _point(self) -> tuple[float, float]:
        """Estimated seconds of a point on one core, and those it waits for the point before."""
        processor = self.processor
        operations, accessed, every = self._instructions()
        if _waits(self.work.place.launch.body):
            wait = max(operations, 1.0) * LATENCY_CYCLES
            return every / WIDTH / processor.clock, wait / processor.clock
        rate = processor.double_rate if is_double(self.work.place.launch) else processor.float_rate
        nearest = processor.memories[0].bandwidth
        in_registers = any(isinstance(node, PackedPanels) for node in walk(self.work.place.launch.body))
        loading = 0.0 if in_registers or not nearest else accessed / nearest
        return max(operations / rate, loading) * processor.cores, 0.0


def _waits(body: Statement) -> bool:
    """Whether an iteration of some innermost loop reads the write of the iteration before."""
    for loop in (node for node in walk(body) if isinstance(node, Loop)):
        if not any(isinstance(node, Loop) for node in walk(loop.body)):
            accesses = [use for use in uses(loop.body) if is_of_memory(use)]
            pairs = ((write, read) for write in accesses if write.writes for read in accesses if read.reads)
            if any(write.object == read.object and _is_before(loop, read, write) for write, read in pairs):
                return True
    return False


def _is_before(loop: Loop, read: Use, write: Use) -> bool:
    """Whether the loop runs from the read element to the written element."""
    gaps = [polynomial(end) - polynomial(start) for end, start in zip(write.subscripts, read.subscripts, strict=True)]
    moves = [polynomial(subscript).split(access_to(loop.iterator)) for subscript in write.subscripts]
    steps = [None if parts is None else parts[0].constant for parts in moves]
    if any(step is None or gap.constant is None for step, gap in zip(steps, gaps, strict=True)):
        return False
    if any(gap.constant != 0 for gap, step in zip(gaps, steps, strict=True) if step == 0):
        return False
    forward = -1 if loop.decreasing else 1
    return any((gap.constant or 0) * (step or 0) * forward > 0 for gap, step in zip(gaps, steps, strict=True))


# -- Load balance


def slowest_part(work: LaunchWork, cores: int) -> Numbers | None:
    """The largest core's share of a launch's points, in each case, if core k takes iterations k, k
    + cores, … of the mapped loop: 1 / cores if all are equal. None unless exactly one loop is
    mapped. Raises UncountableError.

    Where wavefronts overlap, an idle core takes the next tile: then the share is that of the
    largest tile, if it exceeds 1 / cores.
    """
    entries = entries_of(work.place, _ENTRIES)
    nest = mapped_nest(work.place.launch, entries.batch)
    if nest is None or len(nest.loops) != 1:
        return None
    (trips,) = nest.trips()
    most, every = _of_entries(nest, trips, cores, work.place.launch.pipelined)
    cases = len(work.starts)
    weights = (points * entries.repeats for points in (most, every))
    slowest, whole = (np.bincount(entries.case, weights=weight, minlength=cases) for weight in weights)
    return np.asarray(np.where(whole > 0, slowest / np.maximum(whole, 1e-300), 1 / cores))


def _of_entries(nest: MappedNest, trips: Integers, cores: int, pipelined: bool) -> tuple[Numbers, Numbers]:
    """Points of the core that has most, and of all cores, in each entry."""
    taken = np.minimum(np.maximum(trips, 1), _PLACES)
    points = _points(nest, trips, taken)
    length = np.clip(trips, 1, _LONGEST)
    width = -(-int(length.max()) // cores) * cores
    place = np.arange(width)[None, :]
    position = place * (taken - 1)[:, None] / np.maximum(length - 1, 1)[:, None]
    before = np.minimum(position.astype(np.int64), (taken - 1)[:, None])
    after = np.minimum(before + 1, (taken - 1)[:, None])
    rows = np.arange(len(trips))[:, None]
    between = points[rows, before] * (1 - position + before) + points[rows, after] * (position - before)
    tiles = np.where(place < length[:, None], between, 0.0)
    of_cores = tiles.reshape(len(trips), -1, cores).sum(axis=1)
    every = np.asarray(of_cores.sum(axis=1))
    return np.asarray(np.maximum(tiles.max(axis=1), every / cores) if pipelined else of_cores.max(axis=1)), every


def _points(nest: MappedNest, trips: Integers, taken: Integers) -> Numbers:
    """Points of sampled iterations of the mapped loop: a row for each entry, 0 without any."""
    loop = nest.loops[0].loop
    index, number = members(taken)
    place = number * (trips[index] - 1) // np.maximum(taken[index] - 1, 1)
    counts = Counter(samples=_SAMPLES).count(nest.body, nest.batch.iterations(loop, index, place))
    points = np.zeros((len(taken), _PLACES))
    every = (np.broadcast_to(count, (len(index),)) for count in counts.values())
    points[index, number] = sum(every, np.zeros(len(index)))
    points[trips <= 0] = 0.0
    return points
