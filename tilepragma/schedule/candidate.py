"""The input and output of scheduling strategies.

A strategy turns a region without user tiles into schedule nodes: host loops around launches without
nests. It answers for their order: `schedule/tree.py` makes launches of nodes and checks scalars,
not dependences. The plan verifier proves the result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import leaves_early
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import FloatingRules, ForLoop, Kernel, Loop, Statement, While
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.signs import Signs
from tilepragma.ir.traversal import loops_in
from tilepragma.ir.types import is_signed
from tilepragma.normalise.ordered_zeros import signs_of
from tilepragma.plan.kernel_plan import Launch, Step, TileSize
from tilepragma.poly.dependences import Dependence, memory_dependences
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import Scop
from tilepragma.schedule.in_order import OrderedNest, parts_in_order
from tilepragma.user_tiles.chain_checks import literal_trip
from tilepragma.verify.instances import Original

if TYPE_CHECKING:  # the user's tiles need no hyperplanes
    from tilepragma.poly.intra_tile_schedule import InnermostCost


@dataclass(frozen=True)
class Region:
    """A region without user tiles, as every strategy sees it. `statements` exclude the declarations
    (the plan's `prologue`), which the host executes first. `written` are the objects that they
    change. `live_out` names the scalars that may be read after the region, `final` the iterators
    among them whose last value the host computes from loop bounds.
    """

    kernel: Kernel
    statements: tuple[Statement, ...]
    written: frozenset[DataObject]
    live_out: frozenset[str]
    final: frozenset[str]
    floating: FloatingRules
    known: Scop | None = None
    """the Scop, if already extracted"""
    ordered: bool = False
    """outermost loops and the nests in them run in text order; the host does so around launches"""
    moved: Moved | None = None

    @cached_property
    def signs(self) -> Signs:
        """The signs of the values that the region computes."""
        return signs_of(self.kernel, self.floating)

    @cached_property
    def scop(self) -> Scop:
        """The Scop of all statements. Raises OperationLimitError."""
        if self.known is not None:
            return self.known
        return extract_scop(self.statements, self.kernel.functions, self.written)

    @cached_property
    def dependences(self) -> tuple[Dependence, ...]:
        """The memory-based dependences of all statements. Raises OperationLimitError."""
        if self.ordered:
            return tuple(dependence for part in self.parts for dependence in part.original.dependences)
        with operation_limit(self.scop.context, DEFAULT_LIMIT, "finding the dependences"):
            return memory_dependences(self.scop)

    @cached_property
    def parts(self) -> tuple[OrderedNest, ...]:
        """The nests that an ordered region runs in sequence. Raises OperationLimitError."""
        if self.moved is None:
            return parts_in_order(self.statements, self.kernel)
        return parts_in_order(self.statements, self.kernel, self.moved.before.parts, self.moved.instead)

    @property
    def extracted(self) -> Scop | None:
        """The Scop, whose assumptions must hold for plans to be valid; None if isl gave up."""
        try:
            return self.scop
        except OperationLimitError:
            return None

    @property
    def original(self) -> Original | None:
        """The mathematics of the region for the verifier; None if isl gave up."""
        try:
            return Original(self.scop, self.dependences)
        except OperationLimitError:
            return None

    @cached_property
    def scalars(self) -> tuple[DataObject, ...]:
        """The outside scalars that the statements write, with iterators."""
        return tuple(sorted((o for o in self.written if o.is_outside_scalar), key=lambda scalar: scalar.name))

    def left_behind(self, answer: ScheduleCandidate) -> DataObject | None:
        """A live-out scalar that neither the launches store nor the host computes."""
        wanted = self.live_out - self.final
        return next((scalar for scalar in self.scalars if scalar.name in wanted and scalar not in answer.shared), None)

    def loop_numbers(self) -> Iterator[int]:
        """Numbers for new loops, which no loop of the region has."""
        return itertools.count(1 + max((loop.index for loop in loops_in(self.kernel.body)), default=-1))


@dataclass(frozen=True)
class Moved:
    """The region `before` some arrays moved to those in `instead`; proven to compute the same."""

    before: Region
    instead: Mapping[DataObject, DataObject]


@dataclass(frozen=True)
class Refusal:
    """A strategy does not apply; `reason` is a clause that tells the user why. `decisive`: this
    alone prevents it, so reasons of earlier strategies matter less.
    """

    reason: str
    decisive: bool = False


@dataclass(frozen=True)
class Depths:
    """The most user loops around a statement, by how it runs. `parallel`: in parallel launches,
    `sequential`: in launches of one instance (both count host loops), `launched`: inside a single
    parallel launch.
    """

    parallel: int = 0
    sequential: int = 0
    launched: int = 0


@dataclass(frozen=True)
class ScheduleCandidate:
    """A strategy's plan for a region. `shared` are the scalars that its launches reach by address.
    `notes` are clauses on what the strategy gave up. `innermost_cost` is that of innermost
    loops on the host; None if unknown. `asked_on_devices`: the user asks for what its device steps
    do. `storage` are temporary arrays (Scope.TEMPORARY) of its launches. `storage_notes` are
    clauses on what these and shared memory hold. `strips`: on cores, parts alternate in strips and
    read what they stream from memory once; this is worth more than sums without chains.
    """

    strategy: str
    host_steps: tuple[Step, ...]
    device_steps: tuple[Step, ...]
    shared: tuple[DataObject, ...]
    sizes: tuple[TileSize, ...] = ()
    depths: Depths = Depths()
    notes: tuple[str, ...] = ()
    innermost_cost: InnermostCost | None = None
    asked_on_devices: bool = False
    storage: tuple[DataObject, ...] = ()
    storage_notes: tuple[str, ...] = ()
    strips: bool = False
    split: tuple[str, ...] = ()
    """clauses on split loops"""
    staged: Mapping[str, Launch] = field(default_factory=dict, compare=False)
    """device launches with staged forms, by name; the forms are used if proven right"""
    fallback: Callable[[], ScheduleCandidate | Refusal] | None = field(default=None, compare=False)
    """the strategy's alternative, for when this candidate cannot be proven"""
    jammed: Callable[[], ScheduleCandidate | Refusal] | None = field(default=None, compare=False)
    """the same with unroll-and-jam on cores, if a loop carries dependences"""

    @property
    def is_settled(self) -> bool:
        """Whether the search ends here: no sequential statement is as deep as the parallel ones."""
        return self.depths.sequential < self.depths.parallel


def with_fallback(candidate: ScheduleCandidate, last: Callable[[], ScheduleCandidate | Refusal]) -> ScheduleCandidate:
    """The candidate with one more alternative, behind those that it has."""
    known = candidate.fallback
    if known is None:
        return replace(candidate, fallback=last)

    def both() -> ScheduleCandidate | Refusal:
        answer = known()
        return last() if isinstance(answer, Refusal) else with_fallback(answer, last)

    return replace(candidate, fallback=both)


#: Loops with fewer iterations do not count as work.
WORTH_COUNTING = 8

Strategy = Callable[[Region], ScheduleCandidate | Refusal]


def counts_up(loop: Loop) -> bool:
    """Whether a signed iterator goes up by 1, and the loop runs to its end."""
    by_one = polynomial(loop.step).constant == 1 and loop.comparison in ("<", "<=")
    return by_one and is_signed(loop.iterator.element) and not leaves_early(loop.body)


def counts_as_work(node: Any) -> int:
    """1 for a loop that may run long, else 0."""
    if isinstance(node, Loop):
        trip = literal_trip(node)
        return int(trip is None or trip >= WORTH_COUNTING)
    return int(isinstance(node, (ForLoop, While)))
