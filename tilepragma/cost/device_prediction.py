"""Predicted time of a plan on a GPU for many tile sizes: the thesis's model for tiles with
wavefronts, else the roofline.

    tiles with wavefronts   rounds (alpha sum G + positions + (U - L + 3) sigma_thd + gamma N_mem)
    of points               + wavefronts sigma_blk + sigma_ker, and at least the roofline
    all else                the roofline, with arithmetic at the rate at which resident warps hide
                            its latency, + launches sigma_blk + sigma_ker

(5.2)-(5.11) and one more term: in each wavefront workers visit all positions of a box and look for
those that have a point. Instructions are estimated, or those that a compiled program executes
(`cost/ptx_walk.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.gang_memory import register_use
from tilepragma.cost.gang_workers import gang_workers
from tilepragma.cost.host_nest_work import operators_in
from tilepragma.cost.launch_counts import ENTRIES, entries_of
from tilepragma.cost.launch_work import LaunchWork, plan_work
from tilepragma.cost.memory_transactions import array_tile_conflicts, neighbour_steps, wasted
from tilepragma.cost.model_work import LaunchModel, launch_model, roofline_demand
from tilepragma.cost.operation_counts import operations_in
from tilepragma.cost.parameter_batch import ParameterBatch
from tilepragma.cost.tile_traffic import is_double
from tilepragma.cost.tile_work import Fronts
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.evaluation import UncountableError, Values
from tilepragma.ir.expressions import Binary, Call, Callee, Expression
from tilepragma.ir.loop_tree import Declaration, ExpressionStatement, If, PackedPanels
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
from tilepragma.model.device import Gpu, Overheads
from tilepragma.model.execution_time import Integers, Numbers, cost_at, predict
from tilepragma.model.fitting import Mix, estimate
from tilepragma.model.linear_model import Terms
from tilepragma.model.occupancy import resident_blocks
from tilepragma.model.roofline import roofline
from tilepragma.plan.array_bytes import ArrayBytes, array_bytes
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import staged_arrays
from tilepragma.plan.targets import GPU

NAMES = ("computation", "positions", "barriers", "elements", "launches", "roofline")
"""The terms: alpha sum G; visited positions without a point; sigma_thd; gamma N_mem; sigma_blk and
sigma_ker; what the busiest resource needs beyond these.
"""

#: Defaults without calibration: seconds of a launch, and from one wavefront to the next.
KERNEL_SECONDS, WAVEFRONT_SECONDS = 5e-6, 3e-6
#: Cycles of a barrier: for one warp, and for each further warp (half a warp a cycle: CUDA
#: programming guide, synchronization instructions).
BARRIER_CYCLES, WARP_CYCLES = 20.0, 2.0
#: Instructions of an operator in a position's condition, and of an access's address. NVRTC 12.9
#: makes 30 of 42 operators, most of 64 bits, and 31 for 6 accesses. LINKS are the instructions of a
#: dependence chain besides floating-point operations, CONDITION_LINKS those of a condition.
OPERATOR, ADDRESS, LINKS, CONDITION_LINKS = 1.0, 5.0, 2.0, 6.0


def predicted_on_gpu(
    plan: KernelPlan,
    scalars: Mapping[str, int],
    sizes: Mapping[str, Values],
    gpu: Gpu,
    executed: Mapping[str, float] | None = None,
) -> Terms:
    """The time of a plan's device form for these scalars and tile sizes: terms with these NAMES, a
    row for each layout. Raises UncountableError.

    Infinite where a gang's memory or workers exceed a block of the GPU, and where the
    representative tile has no point. `executed`: the instructions of warps that all runs of a
    launch execute with the plan's own sizes, by its name, if they were counted.
    """
    launches = _launch_terms(plan, scalars, sizes, gpu)
    counted = executed or {}
    usual = _launch_terms(plan, scalars, {}, gpu) if counted else launches
    seconds = np.zeros((launches[0].work.cases, len(NAMES)))
    for terms, known in zip(launches, usual, strict=True):
        instructions = counted.get(terms.work.name)
        share = 1.0 if instructions is None else known.integer_share(instructions)
        seconds += replace(terms, integers=share).seconds()
    return Terms(NAMES, seconds)


def _launch_terms(
    plan: KernelPlan, scalars: Mapping[str, int], sizes: Mapping[str, Values], gpu: Gpu
) -> tuple[_LaunchTerms, ...]:
    arrays = array_bytes(plan, scalars)
    return tuple(
        _LaunchTerms(
            launch,
            gpu,
            arrays,
            gang_workers(launch.place, plan.counts, scalars, gpu),
            register_use(plan, launch.place.launch, gpu).registers,
        )
        for launch in plan_work(plan, scalars, sizes, GPU)
    )


def overheads_of(gpu: Gpu) -> Overheads:
    """The calibrated overheads, else estimates."""
    if gpu.overheads is not None:
        return gpu.overheads
    warps = gpu.threads_per_block // gpu.warp
    most = (BARRIER_CYCLES + WARP_CYCLES * (warps - 1)) / gpu.clock
    barrier = ((gpu.warp, BARRIER_CYCLES / gpu.clock), (gpu.threads_per_block, most))
    return Overheads(KERNEL_SECONDS, barrier, ((1, WAVEFRONT_SECONDS),), 0.0)


@dataclass(frozen=True, eq=False)
class _LaunchTerms:
    """One launch with `workers` of a gang along each dimension, and `registers` of each worker.
    Instructions of addresses and conditions are `integers` times as many as estimated.
    """

    work: LaunchWork
    gpu: Gpu
    arrays: tuple[ArrayBytes, ...]
    workers: tuple[Integers, Integers, Integers]
    registers: int
    integers: float = 1.0

    def integer_share(self, instructions: float) -> float:
        """What `integers` has to be, so that warps execute so many instructions in the first case.
        Raises UncountableError.
        """
        tiles, warps = float(self.model.tiles[0]), float(self.model.work.warps[0])
        known, addresses = (
            tiles * warps * float(np.ravel(each)[0])
            for each in (self.mix.operations + self.mix.special + self.mix.accesses, self.mix.others)
        )
        conditions = tiles * sum(
            float(self._visits(fronts)[0]) * OPERATOR * _looking(fronts) for fronts in self.work.tile.fronts
        )
        estimated = addresses + conditions
        return max(instructions - known, 0.0) / estimated if estimated > 0 else 1.0

    def seconds(self) -> Numbers:
        """The terms, a row for each case. Raises UncountableError."""
        fronts, launch = self.work.tile.fronts, self.work.place.launch
        if not fronts and self._has_workers and not any(loop.workers for loop in self.work.loops):
            raise UncountableError(f"the wavefronts inside a tile of {launch.name} are not known")
        columns = self._wavefronts() if fronts else self._independent()
        seconds = np.stack(np.broadcast_arrays(*columns), axis=1)
        return np.where(self.is_possible[:, None], seconds, np.inf)

    @property
    def _has_workers(self) -> bool:
        return any(axis.kind is AxisKind.WORKER for axis in self.work.place.launch.axes)

    @cached_property
    def model(self) -> LaunchModel:
        most = (int(self.workers[0].max()), int(self.workers[1].max()), int(self.workers[2].max()))
        model = launch_model(self.work, self.gpu, most)
        if self.cached:
            return model
        # Each access goes to device memory.
        accesses = self.work.accesses / np.maximum(self.work.points, 1) / self.element
        moved = np.rint(accesses * model.work.points * self._wasted(self.gpu.transaction)).astype(np.int64)
        return replace(model, work=replace(model.work, transfers=moved))

    @property
    def cached(self) -> bool:
        """Whether shared memory or a cache holds data that is used again."""
        launch = self.work.place.launch
        in_gang = bool(launch.scratchpads or staged_arrays(launch))
        return in_gang or self.gpu.compute_capability is None or self.gpu.compute_capability >= (2, 0)

    @property
    def element(self) -> int:
        """Bytes of an element."""
        return 8 if is_double(self.work.place.launch) else 4

    @cached_property
    def threads(self) -> Integers:
        """Workers of a gang."""
        x, y, z = self.workers
        return x * y * z

    @cached_property
    def warps(self) -> Integers:
        """Warps of a gang."""
        return -(-self.threads // self.gpu.warp)

    @cached_property
    def blocks(self) -> Integers:
        """B: gangs that run in parallel on a multiprocessor, if there are enough of them."""
        return resident_blocks(self.gpu, self.threads, self.registers, self.model.work.shared)

    @property
    def is_possible(self) -> npt.NDArray[np.bool_]:
        """Whether a gang fits the device's default shared memory, and its tile is known."""
        work = self.model.work
        has_room = (self.blocks > 0) & (work.shared <= self.gpu.shared_per_block)
        return np.asarray(has_room & ((work.points > 0) | (self.work.points == 0)))

    @cached_property
    def resident(self) -> Numbers:
        """Gangs that share the slowest multiprocessor in a wavefront."""
        work = self.model.work
        rounds = np.ceil(work.rounds / np.maximum(work.wavefronts, 1))
        return np.asarray(np.clip(rounds, 1, np.maximum(self.blocks, 1)), dtype=np.float64)

    @cached_property
    def mix(self) -> Mix:
        work, launch = self.work, self.work.place.launch
        points = np.maximum(work.points, 1)
        operations = work.operations / points
        special = operations * _special_share(launch.body)
        accesses = work.accesses / points / self.element
        return Mix(
            operations - special,
            special,
            self.integers * ADDRESS * accesses,
            accesses,
            conflicts=self._conflicts,
            chain=operations + LINKS,
            element=self.element,
            double=self.element == 8,
        )

    @property
    def _conflicts(self) -> Numbers:
        """The slowdown of an access by bank conflicts (of array tiles in shared memory, if any)."""
        plain = self._wasted(self.gpu.banks * self.gpu.bank_width)
        place, fronts = self.work.place, self.work.tile.fronts
        if not place.launch.staged_scratchpads or not fronts:
            return plain
        banks = self.gpu.banks, self.gpu.bank_width
        tiles = np.mean([array_tile_conflicts(front.nest, place, *banks) for front in fronts], axis=0)
        return np.asarray(np.where(self.model.work.shared > 0, tiles, plain))

    def _wasted(self, width: int) -> Numbers:
        """Bytes moved by warps in units of `width`, per byte used, in tiles with wavefronts."""
        fronts = self.work.tile.fronts
        steps = tuple(step for front in fronts for step in neighbour_steps(front.nest, self.work.place))
        return wasted(steps, self.gpu.warp, self.workers[0], width)

    def _wavefronts(self) -> tuple[Numbers, ...]:
        """(5.2)-(5.11), positions without a point, and what the roofline needs beyond these."""
        work, overheads = self.model.work, overheads_of(self.gpu)
        # The warps that hide each other's latencies are those that have points in the same
        # wavefront.
        resident_warps = self.resident * work.warps / np.maximum(work.steps, 1)
        known = estimate(self.gpu, self.mix, resident_warps)
        parts = predict(work, self.threads, self.blocks, self.gpu.multiprocessors, known, overheads)
        positions = work.rounds * sum(self._positions(front) for front in self.work.tile.fronts)
        spent = parts.compute + positions + parts.barriers + parts.memory
        beyond = np.maximum(self._roofs().max(axis=0) - spent, 0.0)
        return parts.compute, positions, parts.barriers, parts.memory, parts.wavefronts + parts.launch, beyond

    @cached_property
    def _batch(self) -> ParameterBatch:
        """The middle launch of each case."""
        return entries_of(self.work.place, ENTRIES).at_part(1, 2)

    def _positions(self, fronts: Fronts) -> Numbers:
        """Seconds in which the workers of a tile test which of their positions have a point."""
        mix = Mix(0.0, 0.0, self.integers * OPERATOR * _looking(fronts), 0.0, chain=CONDITION_LINKS)
        alpha = estimate(self.gpu, mix, self.resident * self.warps).alpha
        return np.asarray(self._visits(fronts) * alpha, dtype=np.float64)

    def _visits(self, fronts: Fronts) -> Numbers:
        """How often a tile's warps visit positions."""
        batch = self._batch
        turns = np.ones(batch.count, dtype=np.int64)
        for tiled in fronts.nest.loops:
            for tile in tiled.tiles:
                if tile.axis is not None and tile.axis.kind is AxisKind.WORKER:
                    turns = turns * -(-batch.evaluation.trips(tiled.loop) // self.workers[tile.axis.dimension])
        return np.asarray(fronts.steps * turns * self.warps, dtype=np.float64)

    def _independent(self) -> tuple[Numbers, ...]:
        """The roofline and the launch overheads."""
        work, overheads = self.model.work, overheads_of(self.gpu)
        roofs = self._roofs()
        several = math.prod(loop.points for loop in self.work.loops if loop.workers)
        slow, fast = (
            estimate(self.gpu, self.mix, resident).alpha for resident in (self.resident * self.warps * several, np.inf)
        )
        arithmetic = roofs[0] * np.where(np.asarray(fast) > 0, slow / np.maximum(fast, 1e-300), 1.0)
        beyond = np.maximum(roofs.max(axis=0) - arithmetic, 0.0)
        crossing = cost_at(overheads.wavefront, self.blocks * self.gpu.multiprocessors)
        none = np.zeros_like(arithmetic)
        return arithmetic, none, none, none, work.wavefronts * crossing + overheads.kernel, beyond

    def _roofs(self) -> Numbers:
        """The launch's roofline. Raises UncountableError where a tile's traffic is not known."""
        nearest, *others = self.gpu.memories
        gpu = self.gpu if self.cached else replace(self.gpu, memories=(replace(nearest, size=1), *others))
        demand = roofline_demand(self.model, gpu, self.arrays, self.resident)
        staged = self.work.place.launch.staged
        if staged is not None and any(isinstance(node, PackedPanels) for node in walk(staged)):
            # Sums stay in registers, and a read beside them serves several points.
            demand = replace(demand, traffic=(np.zeros_like(demand.traffic[0]), *demand.traffic[1:]))
        return roofline(demand, gpu, self.element == 8)


def _special_share(body: object) -> float:
    """The share of divisions and functions among the floating-point operations in the text."""
    every = sum(operations_in(node) for node in walk(body) if isinstance(node, ExpressionStatement))
    special = sum(_is_special(node) for node in walk(body))
    return special / max(every, special, 1)


def _is_special(node: object) -> bool:
    if not isinstance(node, (Binary, Call)) or not isinstance(node.type, ScalarType) or not node.type.is_floating:
        return False
    return node.callee is Callee.MATH if isinstance(node, Call) else node.operator == "/"


def _looking(fronts: Fronts) -> int:
    """Operators that a worker evaluates for each position."""
    operators = 0
    for statement in fronts.nest.body.statements:
        if isinstance(statement, If):
            operators += operators_in(_tests(statement))
        elif isinstance(statement, Declaration):
            values = (declarator.initializer for declarator in statement.declarators)
            operators += operators_in(value for value in values if value is not None and not isinstance(value, tuple))
    return operators


def _tests(statement: If) -> Iterator[Expression]:
    """The conditions of a point, the first of which are those that do not count fronts."""
    yield statement.condition
    match statement.then.statements:
        case (If() as inner,):
            yield from _tests(inner)
