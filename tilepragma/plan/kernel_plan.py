"""The waist of tilepragma: KernelPlan holds all that emission and launches need of a region.

The user's clauses, the default mapping or the automatic planner produce it; one verifier checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Generic, TypeAlias, TypeVar

from tilepragma.base.diagnostics import Diagnostic
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import ClauseExpression, CountClause, Target
from tilepragma.ir.expressions import DataObject, Expression, Scope
from tilepragma.ir.loop_tree import Axis, Block, Declaration, FloatingRules, Kernel, Loop, Scratchpad, TiledLoop
from tilepragma.ir.types import ScalarType, Type
from tilepragma.plan.space_time import SpaceTimeMap

#: The host evaluates it in the user's function right before the launch: text of a clause, or an
#: expression over host objects, which may call helpers of tilek.h (Callee.HELPER; 64-bit).
HostExpression = ClauseExpression | Expression


@dataclass(frozen=True)
class SectionBound:
    """`[lower : length]` of one dimension, in elements."""

    lower: HostExpression
    length: HostExpression


@dataclass(frozen=True)
class ArrayArgument:
    """An object that the kernel reaches by address: an array, or a scalar it writes (storage
    SCALAR, no section).

    `section` has one bound a dimension: what a device must hold. It is empty where that is unknown:
    in a region that runs as written, and for gathered arrays. `reads`/`writes` come from the
    accesses, narrowed by the user's mode. `copy_in`/`copy_out` say what moves when the object is
    not present; `present` demands presence. `doubt` says why the array may be smaller than its
    section, which holds all that launches may touch (assumed extents). Such a section cannot be
    copied: hosts work in the array itself, and only compare its possible addresses with other
    arrays. Without a section, the array is only read, and disjoint from all written arrays, or the
    user calls the iterations independent. Launches check that rows share no memory with other
    arrays (`rows_apart`), or with each other (`rows_distinct`).
    """

    object: DataObject
    section: tuple[SectionBound, ...]
    reads: bool
    writes: bool
    copy_in: bool
    copy_out: bool
    present: bool = False
    doubt: Diagnostic | None = None
    rows_apart: bool = False
    rows_distinct: bool = False

    @property
    def is_gathered(self) -> bool:
        """Whether the kernel may touch any element (a gather, a scatter): the array has no
        section.
        """
        return self.doubt is not None and not self.section


@dataclass(frozen=True)
class Reduction:
    """Each instance starts `object` at the identity; a tree combines instances and old value."""

    operator: str
    object: DataObject

    @property
    def is_floating(self) -> bool:
        """Whether it is floating-point: reordering may change bits, if only a zero's sign."""
        return isinstance(self.object.element, ScalarType) and self.object.element.is_floating

    @property
    def rounds(self) -> bool:
        """Whether another order may round differently: a floating-point sum or product."""
        return self.is_floating and self.operator in ("+", "*")


@dataclass(frozen=True)
class Launch:
    """One nest, one kernel launch. `name` is the entry point's name, unique in the program's file.

    `loops` are the TiledLoops with launch bounds anywhere in `body`, in textual order: their trip,
    counts and strides are launch numbers. `axes` are those in use, by kind and dimension.
    `privates` are outside objects of which each instance has a private copy; those in
    `first_privates` start with the outside value. `values` are the iterators of enclosing HostLoops
    (scope LOCAL) that the launch's text mentions: arguments of the kernel at each step.

    `staged` is the same work with array tiles in shared memory (`Stage`, or `staged_scratchpads`,
    the scratchpads of this form), for devices: it runs instead of `body` where the array tiles fit.
    `scratchpads` are the private arrays of each gang of a device; tiles may then overlap, each in
    its scratchpad. `schedule` says when and where it runs the statements of the region, as the
    strategy meant it.

    `pipelined`: the launch is all that a HostLoop over wavefronts runs, and instance c = (c_1, ...)
    of its nest depends, in wavefront k before it, only on instances c - e, with no negative
    component in e and a component sum of k at most. Tiles of several wavefronts may then run in
    parallel (`schedule/doacross.py`).
    """

    name: str
    body: Block
    loops: tuple[TiledLoop, ...]
    axes: tuple[Axis, ...]
    reductions: tuple[Reduction, ...]
    privates: tuple[DataObject, ...]
    first_privates: tuple[DataObject, ...]
    values: tuple[DataObject, ...] = ()
    staged: Block | None = None
    staged_scratchpads: tuple[Scratchpad, ...] = ()
    scratchpads: tuple[Scratchpad, ...] = ()
    pipelined: bool = False
    schedule: tuple[SpaceTimeMap, ...] = ()


L = TypeVar("L", covariant=True)
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class HostLoop(Generic[L]):
    """A sequential loop that the host runs around launches, with data resident on the device.

    `steps` are its body, `loop.body` is an empty Block. Bounds are expressions over the plan's
    scalars, its tile sizes and the iterators of enclosing HostLoops. `shape` is a clause for
    readers on the shape of its tiles, if it is not the usual one.
    """

    loop: Loop
    steps: tuple[L | HostLoop[L] | HostCondition[L], ...]
    shape: str = ""


@dataclass(frozen=True)
class HostCondition(Generic[L]):
    """`steps` run where `condition`, an expression like a HostLoop's bounds, is not 0."""

    condition: Expression
    steps: tuple[L | HostLoop[L] | HostCondition[L], ...]


#: What the host runs in order, down to launches L: those of a plan, or of a schedule tree.
LaunchTree: TypeAlias = L | HostLoop[L] | HostCondition[L]

#: A step of a plan. Steps see the results of earlier steps; a launch stands here once.
Step: TypeAlias = LaunchTree[Launch]


@dataclass(frozen=True)
class RowUse:
    """What an iteration of a partitioned loop touches of an array of `rank` dimensions, as launches
    see it: at iterator i, rows scale * i + base + least to scale * i + base + greatest; all rows
    where these are None. `base` is over host objects, None for 0.
    """

    object: DataObject
    reads: bool
    writes: bool
    rank: int
    scale: int
    least: int | None
    greatest: int | None
    base: Expression | None = None


@dataclass(frozen=True)
class Division:
    """The partition of a device launch over several devices: blocks of iterations of `loop`, so
    that different iterations write different rows; None: one device runs all of it. `uses` are
    those of all arrays that the launch touches.
    """

    loop: TiledLoop | None
    uses: tuple[RowUse, ...]


@dataclass(frozen=True)
class StreamedSide:
    """A side of the planes of streamed tiles, of `extent` elements. `size` is the length of
    scratchpads, at most `length`. `more`: how many elements beyond those that it keeps a tile
    touches in a launch of one time step, and how many with each further step.
    """

    size: DataObject
    extent: Expression
    length: int
    more: tuple[int, int]


@dataclass(frozen=True)
class StreamedGrid:
    """A grid of streamed tiles, for launches that choose their time steps and planes by the device
    (runtime/launch/streamed_tiles.c).

    The region has `steps` of time and `planes` with so many `sides`. `more`: as of a side, in
    planes. A time step has so many `statements`; `bytes` go from and to memory for each element.
    The size `chunk` is the planes of a tile.
    """

    chunk: DataObject
    steps: Expression
    planes: Expression
    more: tuple[int, int]
    sides: tuple[StreamedSide, ...]
    statements: int
    bytes: int


@dataclass(frozen=True)
class TileSize:
    """A tile's extent as a symbol: `object` (a scalar of type long, scope LOCAL) stands in bounds
    and bodies for a number of at least 1 that the launch knows. `host` and `device` are the
    defaults.

    Where `unit` is not 0, threads of hosts take blocks of that many rows (or columns of tiles) in
    turn, and the launch takes a multiple of the unit in place of `host` that balances the threads
    (`balanced_chunking.py`). `processor`: what OpenCL devices that are processors take in place of
    `host`: (limit, size) pairs in ascending order, for arrays of at most `limit` bytes together
    (None: any); empty: what hosts take. `stream`: the size is the most time steps of a launch, and
    devices choose how many they take.
    """

    object: DataObject
    host: int
    device: int
    unit: int = 0
    processor: tuple[tuple[int | None, int], ...] = ()
    stream: StreamedGrid | None = None


@dataclass(frozen=True)
class SizeChoice:
    """Values of a plan's tile sizes, in their order, for launches on hosts, on OpenCL devices that
    run the hosts' launches, or on other devices.

    It holds for at most `bytes` bytes of arrays and `trips` iterations of the outermost loop (None:
    any). `version`: these are the sizes of that version of the plan, from 1; without sizes, the
    version's defaults.

    The bytes are those of the sections of `KernelPlan.arrays`, temporaries included, except for
    those that only devices touch; the loop is `dispatch_table.outermost_loop`. The runtime counts
    both.
    """

    bytes: int | None
    trips: int | None
    sizes: tuple[int, ...]
    version: int = 0


@dataclass(frozen=True)
class PlanVersion:
    """Another plan of the same region, which launches may take instead; `text` describes it
    (ir/kernel_versions.py). `on_devices`: launches on devices may take it too, not only those on
    hosts.
    """

    text: str
    plan: KernelPlan
    on_devices: bool = True


@dataclass(frozen=True)
class MeasuredSizes:
    """Choices measured for arrays of `least` bytes to the last choice's, for no others."""

    least: int
    choices: tuple[SizeChoice, ...]


@dataclass(frozen=True)
class RegisterUse:
    """A worker's 32-bit `registers` in a device launch, and its `spilled` bytes."""

    launch: str
    registers: int
    spilled: int = 0


@dataclass(frozen=True)
class RegisterCounts:
    """A compiler's register counts of device launches for the planned GPU. `by` names the compiler,
    or says why none counted; `launches` are then empty.
    """

    by: str
    launches: tuple[RegisterUse, ...] = ()


def forms(launch: Launch) -> tuple[Launch, ...]:
    """The launch without its staged form, and its staged form as a launch."""
    if launch.staged is None:
        return (launch,)
    plain = replace(launch, staged=None, staged_scratchpads=())
    return plain, replace(plain, body=launch.staged, scratchpads=launch.staged_scratchpads)


def all_steps(steps: tuple[LaunchTree[T], ...]) -> Iterator[LaunchTree[T]]:
    """Every step of a tree, in pre-order."""
    for step in steps:
        yield step
        if isinstance(step, (HostLoop, HostCondition)):
            yield from all_steps(step.steps)


def launches_in(steps: tuple[LaunchTree[T], ...]) -> tuple[T, ...]:
    """All launches of a tree, in textual order."""
    return tuple(step for step in all_steps(steps) if not isinstance(step, (HostLoop, HostCondition)))


def with_launches(steps: tuple[LaunchTree[T], ...], change: Callable[[T], U]) -> tuple[LaunchTree[U], ...]:
    """The tree with `change` applied to its launches, in textual order."""
    result: list[LaunchTree[U]] = []
    for step in steps:
        if isinstance(step, HostLoop):
            result.append(HostLoop(step.loop, with_launches(step.steps, change), step.shape))
        elif isinstance(step, HostCondition):
            result.append(HostCondition(step.condition, with_launches(step.steps, change)))
        else:
            result.append(change(step))
    return tuple(result)


@dataclass(frozen=True)
class FinalValue:
    """After the region `iterator` holds lower + step * trip of `loop`, if every loop of `enclosing`
    runs at all.

    All their bounds and steps are expressions over host objects (those of the loop's last
    execution); they need not be among any launch's loops. In a plan's order, later values overwrite
    earlier values.
    """

    iterator: DataObject
    loop: TiledLoop
    enclosing: tuple[TiledLoop, ...]


@dataclass(frozen=True)
class LastValue:
    """After the region `iterator` holds `value` where `condition` is not 0 (None: always), both
    expressions over host objects that the region does not change.
    """

    iterator: DataObject
    value: Expression
    condition: Expression | None


@dataclass(frozen=True)
class OperationCount:
    """`count` floating-point operations in each iteration of `loops`, outermost first."""

    count: int
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class Reordered:
    """A region that the user asks to compute in another order than its loops, with other results.

    `written` is the user's region; the plan is for `kernel`, which also replaces the user's text
    where no launch runs. `final_values` are those of iterators that `kernel` lacks. `notes`
    describe the order, a clause for each of its parts.
    """

    written: Kernel
    kernel: Kernel
    final_values: tuple[FinalValue, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class KernelPlan:
    """The plan of one region.

    `prologue` holds the region's own declarations, executed on the host before the launches.
    `host_steps` serve the serial and threads targets, `device_steps` OpenCL and CUDA; without
    HostLoops both have one Launch a nest, equal where the user wrote the tiles. `untransformed` is
    a sentence where the region runs as the user wrote it, without launches.

    `assumes_disjoint`: the plan is right only where no written array overlaps another
    (`checks_overlap`). The original loop runs where arrays overlap, or any of `conditions` is 0.
    `targets` is what the user allows at all (never AUTO); `preferred` is the user's explicit choice
    or what the clauses imply, else AUTO. `operations` is for profiles, empty where the launch
    cannot count the work.

    `rejected` are clauses on what the automatic planner considered and did not take, and why;
    `obstacles` are the errors, with places and remedies, that left a region as written; empty where
    the reason was another. `storage` has a clause on each temporary array of the plan
    (Scope.TEMPORARY); `kernel` is then the region that uses them, and `source` the user's, unless
    launches alone use them. `constants` are tables of the file that are no arguments: hosts use
    them by name, device programs contain their values. `before_normalisation` is the region with
    the steps of the user's loops, where `kernel` and `source` have normalised loops.
    """

    kernel: Kernel
    prologue: tuple[Declaration, ...]
    host_steps: tuple[Step, ...]
    device_steps: tuple[Step, ...]
    arrays: tuple[ArrayArgument, ...]
    scalars: tuple[DataObject, ...]
    counts: tuple[CountClause, ...]
    final_values: tuple[FinalValue | LastValue, ...]
    targets: tuple[Target, ...]
    preferred: Target
    floating: FloatingRules
    untransformed: str | None = None
    assumes_disjoint: bool = False
    operations: tuple[OperationCount, ...] = ()
    sizes: tuple[TileSize, ...] = ()
    rejected: tuple[str, ...] = ()
    conditions: tuple[HostExpression, ...] = ()
    obstacles: tuple[Diagnostic, ...] = ()
    storage: tuple[str, ...] = ()
    source: Kernel | None = None
    constants: tuple[DataObject, ...] = ()
    before_normalisation: Kernel | None = None
    split: tuple[str, ...] = ()
    """a clause on each loop of the user's that launches distribute"""
    choices: tuple[SizeChoice, ...] = ()
    """what hosts take for `sizes` at launch: the first choice that holds, else the defaults"""
    device_choices: tuple[SizeChoice, ...] = ()
    """the same for launches on devices"""
    processor_choices: tuple[SizeChoice, ...] = ()
    """what OpenCL processors, which run the launches of hosts, try before `choices`"""
    versions: tuple[PlanVersion, ...] = ()
    """other plans, which choices name by their numbers from 1"""
    reordered: Reordered | None = None
    """the region in the order that `kernel` has it, where the user wrote another"""
    measured: MeasuredSizes | None = None
    """those of `choices` that are stored beside the source"""
    divisions: tuple[Division, ...] = ()
    """one for each device launch, where `device(all)` partitions the launches"""
    undivided: str = ""
    """a clause on why launches run on one device in spite of `device(all)`; else empty"""
    recorded_sizes: str = ""
    """a clause on which of `sizes` come from tuning records, and where these are; else empty"""
    registers: RegisterCounts | None = None
    """None without a GPU to plan for"""
    resident: frozenset[str] = frozenset()
    """the user's names of arrays that an enclosing region keeps on the device (ResidentRegion)"""
    device_kernel: Kernel | None = None
    """the region that device steps compute, where its temporaries differ from those of `kernel`"""

    def divided_loop(self, launch: Launch) -> TiledLoop | None:
        """The loop of a device launch whose iterations several devices share."""
        places = [place for place, device_launch in enumerate(self.device) if device_launch == launch]
        return self.divisions[places[0]].loop if places and self.divisions else None

    @property
    def checks_overlap(self) -> bool:
        """Whether launches check `assumes_disjoint`: distinct variables never overlap, rows may."""
        if any(array.rows_apart or array.rows_distinct for array in self.arrays):
            return True
        pairs = combinations((array for array in self.arrays if array.object.scope is not Scope.TEMPORARY), 2)
        return self.assumes_disjoint and any(
            (a.writes or b.writes) and not (a.object.stored.is_variable and b.object.stored.is_variable)
            for a, b in pairs
        )

    @property
    def row_bases(self) -> tuple[Expression, ...]:
        """The distinct bases of rows in `divisions`."""
        uses = (use for division in self.divisions for use in division.uses)
        return tuple(dict.fromkeys(use.base for use in uses if use.base is not None))

    @property
    def host(self) -> tuple[Launch, ...]:
        """The launches of `host_steps`, in textual order."""
        return launches_in(self.host_steps)

    @property
    def device(self) -> tuple[Launch, ...]:
        """The launches of `device_steps`, in textual order."""
        return launches_in(self.device_steps)


@dataclass(frozen=True)
class ResidentRegion:
    """A region that the host runs as written, and its arrays resident between kernels."""

    kernel: Kernel
    arrays: tuple[ArrayArgument, ...]
    reads: tuple[Type, ...]
    """the element types that the host reads in it"""
