"""What strategies of the automatic planner are given, and what they answer.

A strategy turns a region that nobody gave tiles into nodes: launches without their nests, with
host loops around. It vouches for them: `schedule/tree.py` makes launches of nodes and looks at
scalars, not at dependences; the plan verifier proves the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage
from tilepragma.ir.loop_tree import FloatingRules, Kernel, Statement
from tilepragma.ir.signs import Signs
from tilepragma.ir.traversal import loops_in
from tilepragma.normalise.ordered_zeros import signs_of
from tilepragma.plan.kernel_plan import Step, TileSize
from tilepragma.schedule.in_order import Part, parts_in_order
from tilepragma.schedule.staged_form import StagedForm
from tilepragma.verify.proofs import Original

if TYPE_CHECKING:
    from tilepragma.poly.dependences import Dependence
    from tilepragma.poly.intra_tile_schedule import Steps
    from tilepragma.poly.scop import Scop


@dataclass(frozen=True)
class Region:
    """A region that nobody gave tiles, as every strategy sees it.

    `statements` are those of the region without its declarations (`prologue` of the plan), which
    the host executes before. `written` are the objects that they change. `live_out` names the
    scalars that someone may read after the region; `final` those iterators among them whose last
    value the host computes from the loops' bounds.
    """

    kernel: Kernel
    statements: tuple[Statement, ...]
    written: frozenset[DataObject]
    live_out: frozenset[str]
    final: frozenset[str]
    floating: FloatingRules
    known: Scop | None = None
    """the Scop, where somebody has found it before"""
    ordered: bool = False
    """its outermost loops, and the nests in them, run one after another, whatever depends on what: the host does that around launches"""
    moved: Moved | None = None

    @cached_property
    def signs(self) -> Signs:
        """The signs of what the region computes."""
        return signs_of(self.kernel, self.floating)

    @cached_property
    def scop(self) -> Scop:
        """The Scop of all statements. Raises OperationLimitError."""
        if self.known is not None:
            return self.known
        from tilepragma.poly.extraction import extract_scop

        return extract_scop(self.statements, self.kernel.functions, self.written)

    @cached_property
    def dependences(self) -> tuple[Dependence, ...]:
        """The memory-based dependences of all statements. Raises OperationLimitError."""
        from tilepragma.poly.dependences import memory_dependences
        from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit

        if self.ordered:
            return tuple(dependence for part in self.parts for dependence in part.original.dependences)
        with operation_limit(self.scop.context, DEFAULT_LIMIT, "finding the dependences"):
            return memory_dependences(self.scop)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The nests that an ordered region runs one after another, each by itself. Raises OperationLimitError."""
        if self.moved is None:
            return parts_in_order(self.statements, self.kernel)
        return parts_in_order(self.statements, self.kernel, self.moved.before.parts, self.moved.instead)

    @property
    def assumptions(self) -> tuple[Expression, ...]:
        """What the engine assumes of the parameters, as tests: no plan is right where one of them fails."""
        from tilepragma.poly.operation_limit import OperationLimitError

        try:
            return self.scop.assumptions
        except OperationLimitError:
            return ()

    @property
    def original(self) -> Original | None:
        """The mathematics of the region for the verifier; None where isl gave up on it."""
        from tilepragma.poly.operation_limit import OperationLimitError

        try:
            return Original(self.scop, self.dependences)
        except OperationLimitError:
            return None

    @cached_property
    def scalars(self) -> tuple[DataObject, ...]:
        """The outside scalars that the statements write, iterators among them."""
        return tuple(
            sorted(
                (
                    object_
                    for object_ in self.written
                    if object_.storage is Storage.SCALAR and object_.scope is not Scope.LOCAL
                ),
                key=lambda object_: object_.name,
            )
        )

    def left_behind(self, answer: ScheduleCandidate) -> DataObject | None:
        """A scalar that is wanted after the region, and that neither its launches store nor the host computes."""
        wanted = self.live_out - self.final
        return next((scalar for scalar in self.scalars if scalar.name in wanted and scalar not in answer.shared), None)

    @property
    def first_index(self) -> int:
        """The first number that is no loop's index: new loops are numbered from here."""
        return 1 + max((loop.index for loop in loops_in(self.kernel.body)), default=-1)


@dataclass(frozen=True)
class Moved:
    """What a region was `before` some of its arrays came to lie elsewhere, in the keys of `instead`; it is proven to compute the same."""

    before: Region
    instead: Mapping[DataObject, DataObject]


@dataclass(frozen=True)
class Refusal:
    """A strategy does not apply; `reason` is a clause that says why, in the user's terms.
    `decisive`: without that it would apply, so that the reasons of strategies before it matter
    less.
    """

    reason: str
    decisive: bool = False


@dataclass(frozen=True)
class Depths:
    """How much work is where, by the most of the user's loops around a statement: in launches that
    are dealt out, in those of one instance (`parallel`, `sequential`; the host's loops count), and
    in one dealt-out launch by itself (`launched`).
    """

    parallel: int = 0
    sequential: int = 0
    launched: int = 0


@dataclass(frozen=True)
class ScheduleCandidate:
    """What a strategy makes of a region. `shared` are the scalars that its launches reach by
    address.

    `notes` are clauses on what was given up on the way. `steps` are those of the innermost loops on
    the host; None where they are not known. `asked_on_devices`: the user asks for what its device
    steps do. `storage` are arrays of its own (Scope.TEMPORARY) that its launches use, `kept`
    clauses on what they and memory of gangs hold. `strips`: on cores parts take turns on strips of
    what they stream through, which is then read from memory once: worth more than sums that do not
    wait for themselves.
    """

    strategy: str
    host_steps: tuple[Step, ...]
    device_steps: tuple[Step, ...]
    shared: tuple[DataObject, ...]
    sizes: tuple[TileSize, ...] = ()
    depths: Depths = Depths()
    notes: tuple[str, ...] = ()
    steps: Steps | None = None
    asked_on_devices: bool = False
    storage: tuple[DataObject, ...] = ()
    kept: tuple[str, ...] = ()
    strips: bool = False
    split: tuple[str, ...] = ()
    """clauses on loops that are taken apart"""
    staged: Mapping[str, StagedForm] = field(default_factory=dict, compare=False)
    """staged forms that launches for devices may have, by their names, where they are proven right"""
    plainer: Callable[[], ScheduleCandidate | Refusal] | None = field(default=None, compare=False)
    """what the strategy would answer otherwise, to be looked at where this one cannot be proven"""
    jammed: Callable[[], ScheduleCandidate | Refusal] | None = field(default=None, compare=False)
    """the same with rows side by side where loops on cores wait for themselves, if there are any"""

    @property
    def is_settled(self) -> bool:
        """Whether no other answer is looked for: nothing is left in order that has as many loops as what runs in parallel."""
        return self.depths.sequential < self.depths.parallel


Strategy = Callable[[Region], ScheduleCandidate | Refusal]
