"""The waist of tilepragma: one frozen KernelPlan says all that emission and launching need to know
of a region.

Whatever decides (the user's clauses, the default mapping, later the engine) produces this, and one
verifier checks it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from tilepragma.base.diagnostics import Diagnostic
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import ClauseExpression, CountClause, Target
from tilepragma.ir.expressions import DataObject, Expression, Scope
from tilepragma.ir.loop_tree import Axis, Block, Declaration, FloatingRules, Kernel, Loop, Scratchpad, TiledLoop
from tilepragma.ir.types import ScalarType, Type

#: Evaluated in the user's function right before the launch: text of a clause, or an expression over
#: host objects. Expressions may call the helpers of tilek.h (Callee.HELPER; 64-bit).
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

    `section` has one bound a dimension: what a device must hold (empty where it is unknown: in a
    region that runs as written, and of gathered arrays). `reads`/`writes` are from the accesses,
    narrowed by the user's mode. `copy_in`/`copy_out` say what moves when the object is not present;
    `present` demands presence. `doubt`: the section holds all that may be touched, but the array
    may be smaller, and this says why. No copy of such a section can be made: hosts work in the
    array itself, and only compare where it may be with other arrays. Where there is no section
    then, the array is only read, and apart from all that is written.
    """

    object: DataObject
    section: tuple[SectionBound, ...]
    reads: bool
    writes: bool
    copy_in: bool
    copy_out: bool
    present: bool = False
    doubt: Diagnostic | None = None

    @property
    def is_gathered(self) -> bool:
        """Whether the elements that are read are any: there is no section."""
        return self.doubt is not None and not self.section


@dataclass(frozen=True)
class Reduction:
    """`object` starts at the operator's identity in every instance; instances are combined in a tree over their numbers, then with the old value."""

    operator: str
    object: DataObject

    @property
    def is_floating(self) -> bool:
        """Whether it is of floating-point numbers: another order may give other bits, if only in a NaN or the sign of a zero."""
        return isinstance(self.object.element, ScalarType) and self.object.element.is_floating

    @property
    def rounds(self) -> bool:
        """Whether another order may give another number: a sum or product of floating-point numbers."""
        return self.is_floating and self.operator in ("+", "*")


@dataclass(frozen=True)
class Launch:
    """One nest, one kernel launch. `name` is the entry point's name, unique in the program's file.

    `loops` are the TiledLoops with launch bounds anywhere in `body`, in textual order: their trip,
    counts and strides are launch numbers. `axes` are those in use, by kind and dimension.
    `privates` are outside objects that each instance owns a copy of; those in `first_privates`
    start with the outside value. `values` are the iterators of HostLoops around (scope LOCAL) that
    the launch's text mentions: their values at each step are arguments of the kernel. `staged` is
    the same work with arrays staged in memory of the gangs (`Stage`, or `staged_scratchpads`, scratchpads
    of this form), for devices: it runs instead of `body` where the boxes fit that memory. `scratchpads`
    are the arrays that each gang of a device has for itself; what tiles do may then overlap, each
    in its own scratchpad. `pipelined`: it is all that a loop of the host does, which counts wavefronts,
    and instance c = (c_1, ...) of its nest needs of the wavefront k before nothing but what
    instances c - e have done there, no part of e being negative and their sum k at most, so that
    tiles of several wavefronts may run at once (`schedule/doacross.py`).
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


@dataclass(frozen=True)
class TiledStatement:
    """A statement that stands at `range` in the planned region, under loops with these iterators,
    and its hyperplanes: phi_k(i) is `rows[k]` . i + `offsets[k]`.
    """

    range: SourceRange
    iterators: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class TiledBand:
    """The tiles t_k = floor(phi_k / size_k) that a HostLoop goes through in wavefronts: those of
    equal t_1 + ... + t_m run at once, m being `summed`, and the tiles of the other rows follow each
    other inside each.

    `within` rows of HostLoops around are not among them: a wavefront is one of a step of these.
    """

    statements: tuple[TiledStatement, ...]
    summed: int
    within: int


@dataclass(frozen=True)
class HostLoop:
    """A sequential loop that the host runs around launches, with data resident on the device:
    `steps` are its body, `loop.body` is an empty Block. Bounds are expressions over the plan's
    scalars, its tile sizes and the iterators of HostLoops around. `shape` has a clause for readers
    on the tiles that it goes through, where there is more to say than that they are tiles, and
    `band` the hyperplanes that bound them, where it goes through wavefronts of tiles.
    """

    loop: Loop
    steps: tuple[Step, ...]
    shape: str = ""
    band: TiledBand | None = None


@dataclass(frozen=True)
class HostCondition:
    """`steps` run where `condition`, an expression as a HostLoop's bounds are, is not 0."""

    condition: Expression
    steps: tuple[Step, ...]


#: What the host does in order. Launches of steps that follow each other see each other's results; a
#: launch may stand once in the tree only.
Step = Launch | HostLoop | HostCondition


@dataclass(frozen=True)
class RowUse:
    """What an iteration of a divided loop touches of an array, which has `rank` dimensions as
    launches see it: where the iterator is i, rows scale * i + base + least to scale * i + base +
    greatest; all rows where these are None. `base` is over host objects, None where it is 0.
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
    """How a device launch is dealt to several devices: the iterations of `loop` in blocks, so that
    different iterations write different rows; None: all of it to one of them. `uses` are those of
    all arrays that it touches.
    """

    loop: TiledLoop | None
    uses: tuple[RowUse, ...]


@dataclass(frozen=True)
class TileSize:
    """A tile's extent as a symbol: `object` (a scalar of type long, scope LOCAL) stands in bounds
    and bodies for a number, at least 1, that is known at launch. `host` and `device` are what is
    taken where nobody says anything else. Where `unit` is not 0, threads on hosts are dealt blocks
    of so many rows, or columns of tiles in wavefronts: they take a multiple of the unit in place of
    `host`, so that all have about as much to do (`even_blocks.py`). `processor`: what OpenCL
    devices that are processors take in place of `host`, each number for arrays of so many bytes
    together at most (None: however many), in ascending order; none: what hosts take.
    """

    object: DataObject
    host: int
    device: int
    unit: int = 0
    processor: tuple[tuple[int | None, int], ...] = ()


@dataclass(frozen=True)
class SizeChoice:
    """Values of a plan's tile sizes, in their order, for launches on hosts, on OpenCL devices that
    run the hosts' launches, or on other devices.

    Their arrays have `bytes` bytes together at most, their outermost loop `trips` iterations at
    most; None: however many. `version`: these are the sizes of that version of the plan, from 1;
    none where its own are taken.

    The bytes are those of the sections of `KernelPlan.arrays`, the plan's own ones included but not
    those of devices only; the loop is `size_choices.outermost_loop`. The runtime counts both.
    """

    bytes: int | None
    trips: int | None
    sizes: tuple[int, ...]
    version: int = 0


@dataclass(frozen=True)
class PlanVersion:
    """Another plan of the same region, which launches may take instead; `text` says what it is
    (ir/kernel_versions.py). `on_devices`: those on devices may take it too, not only those on
    hosts.
    """

    text: str
    plan: KernelPlan
    on_devices: bool = True


@dataclass(frozen=True)
class MeasuredSizes:
    """Choices that were measured on launches whose arrays have from `least` bytes to those of the last choice; what is outside was not."""

    least: int
    choices: tuple[SizeChoice, ...]


@dataclass(frozen=True)
class RegisterUse:
    """What a worker of a device launch takes: `registers` of 32 bits, and the bytes of them that are `spilled` to memory."""

    launch: str
    registers: int
    spilled: int = 0


@dataclass(frozen=True)
class RegisterCounts:
    """What a compiler has made of device launches for the GPU that is planned for; `by` says which
    one, or why none has; `launches` are then empty.
    """

    by: str
    launches: tuple[RegisterUse, ...] = ()


def forms(launch: Launch) -> tuple[Launch, ...]:
    """The launch by itself, and as it is where its staged form runs."""
    if launch.staged is None:
        return (launch,)
    plain = replace(launch, staged=None, staged_scratchpads=())
    return plain, replace(plain, body=launch.staged, scratchpads=launch.staged_scratchpads)


def launches_in(steps: tuple[Step, ...]) -> tuple[Launch, ...]:
    """All launches of a tree, in textual order."""
    found: list[Launch] = []
    for step in steps:
        found += (step,) if isinstance(step, Launch) else launches_in(step.steps)
    return tuple(found)


@dataclass(frozen=True)
class FinalValue:
    """After the region `iterator` holds lower + step * trip of `loop`, if every loop of `enclosing`
    runs at all.

    Bounds and steps of all of them are expressions over host objects (those of the loop's last
    execution); they need not be among any launch's loops. In a plan's order later values overwrite
    earlier ones.
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
    """`count` floating-point operations in each iteration of `loops` (outermost first); their bounds are host expressions."""

    count: int
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class Reordered:
    """A region that the user asks to have computed in another order than its loops say, with other
    results.

    `written` is the user's, `kernel` the one that is planned, and that runs instead of the user's
    text where no launch does. `final_values` are those of iterators that it does without. `notes`
    say what the order is, a clause for each of its parts.
    """

    written: Kernel
    kernel: Kernel
    final_values: tuple[FinalValue, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class KernelPlan:
    """What becomes of one region.

    `prologue` holds the region's own declarations, executed on the host before the launches.
    `host_steps` serve the serial and threads targets, `device_steps` OpenCL and CUDA; without
    HostLoops both have one Launch a nest, equal where the user said the tiles. `as_written` is a
    sentence where the region simply runs as the user wrote it (no launches then). `apart`: the plan
    is right only where no written array shares memory with another (`checks_overlap`), and only
    where all `conditions` are nonzero; otherwise the original loop runs. `targets` is what the user
    allows at all (never AUTO); `preferred` is the user's explicit choice or what the clauses imply,
    AUTO where nothing is said. `operations` is for profiles, empty where the work is not known at
    launch. `rejected` are clauses on what the automatic planner considered and did not take, and
    why; `obstacles` are the errors, with places and remedies, that kept launches from a region that
    runs as written; none where it was something else. `storage` has a clause on each array that the
    plan keeps values in for itself (Scope.TEMPORARY); `kernel` is then the region that uses them,
    and `source` the one that the user wrote, unless launches alone use them. `constants` are tables
    of the file that are no arguments: hosts call them by name, device programs have their values.
    `stepped` is the region with the steps of the user's loops, where those of `kernel` and `source`
    count iterations in their place.
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
    as_written: str | None = None
    apart: bool = False
    operations: tuple[OperationCount, ...] = ()
    sizes: tuple[TileSize, ...] = ()
    rejected: tuple[str, ...] = ()
    conditions: tuple[HostExpression, ...] = ()
    obstacles: tuple[Diagnostic, ...] = ()
    storage: tuple[str, ...] = ()
    source: Kernel | None = None
    constants: tuple[DataObject, ...] = ()
    stepped: Kernel | None = None
    split: tuple[str, ...] = ()
    """a clause on each loop of the user's that launches take apart"""
    choices: tuple[SizeChoice, ...] = ()
    """what hosts take for `sizes` at launch: the first of these that holds, their own defaults where none does"""
    device_choices: tuple[SizeChoice, ...] = ()
    """the same for launches of devices"""
    processor_choices: tuple[SizeChoice, ...] = ()
    """what OpenCL devices that are processors, which run the launches of hosts, look at before `choices`"""
    versions: tuple[PlanVersion, ...] = ()
    """other plans, which choices name by their numbers from 1"""
    reordered: Reordered | None = None
    """the region in the order that `kernel` has it, where the user wrote another"""
    measured: MeasuredSizes | None = None
    """those of `choices` that are kept beside the source"""
    divisions: tuple[Division, ...] = ()
    """one for each device launch, where `device(all)` deals them to several devices"""
    undivided: str = ""
    """a clause that says why launches run on one device although the user says `device(all)`; empty where they don't"""
    kept: str = ""
    """a clause on which of `sizes` were measured before, and kept where; empty where none were"""
    registers: RegisterCounts | None = None
    """None where no GPU is planned for"""
    held: frozenset[str] = frozenset()
    """names in the user's text of arrays that a region around keeps on the device (HeldRegion)"""
    device_kernel: Kernel | None = None
    """the region that device steps compute, where they keep values in other arrays than `kernel`, which host steps then compute"""

    def divided_loop(self, launch: Launch) -> TiledLoop | None:
        """The loop of a device launch whose iterations several devices share."""
        places = [place for place, own in enumerate(self.device) if own == launch]
        return self.divisions[places[0]].loop if places and self.divisions else None

    @property
    def checks_overlap(self) -> bool:
        """Whether launches check that no written array shares memory with another (`apart`): of variables alone it is known."""
        pairs = combinations((array for array in self.arrays if array.object.scope is not Scope.TEMPORARY), 2)
        return self.apart and any(
            (a.writes or b.writes) and not (a.object.stored.is_variable and b.object.stored.is_variable)
            for a, b in pairs
        )

    @property
    def row_bases(self) -> tuple[Expression, ...]:
        """The bases of rows in `divisions`, each once."""
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
class HeldRegion:
    """A region that the host goes through as the user wrote it, with kernels in it, and the arrays that stay on the device between them."""

    kernel: Kernel
    arrays: tuple[ArrayArgument, ...]
    reads: tuple[Type, ...]
    """the types of elements that the host reads in it"""
