"""Directives as parsed: every clause of the grammar in docs/LANGUAGE.md, with expressions still as
located text.

The pragma grammar knows C only as balanced token sequences: an expression of a clause is a
`ClauseExpression`, a piece of the user's text. It is printed into the generated host code as it
stands, where the user's names, macros and types are in scope, so that no second C expression parser
is needed. Clause expressions are evaluated once, at launch.
"""

from __future__ import annotations

import re
from enum import Enum

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange

_INTEGER = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<digits>0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)(?:[uU](?:l|L|ll|LL)?|(?:l|L|ll|LL)[uU]?)?"
)


class Construct(Enum):
    """The construct a directive names."""

    KERNEL = "kernel"
    LOOP = "loop"
    KERNEL_LOOP = "kernel loop"
    DATA = "data"
    ENTER_DATA = "enter data"
    EXIT_DATA = "exit data"
    UPDATE = "update"
    WAIT = "wait"
    ROUTINE = "routine"


class Target(Enum):
    """Where kernels run."""

    SERIAL = "serial"
    THREADS = "threads"
    OPENCL = "opencl"
    CUDA = "cuda"
    AUTO = "auto"


ALL_TARGETS: tuple[Target, ...] = (Target.SERIAL, Target.THREADS, Target.OPENCL, Target.CUDA)


class Mode(Enum):
    """`mode:` of a data clause: what the kernel does with the data."""

    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"


class Live(Enum):
    """`live:` of a data clause: whether values enter and leave the kernel."""

    IN = "in"
    OUT = "out"
    IN_OUT = "inout"
    NOT = "not"


@dataclass(frozen=True)
class ClauseExpression:
    """A C expression in a clause, as the user wrote it (line continuations removed)."""

    text: str
    range: SourceRange

    @property
    def literal(self) -> int | None:
        """The value where the text is a plain integer literal of C (a sign may precede it), else None."""
        match = _INTEGER.fullmatch(self.text.strip())
        if match is None:
            return None
        digits = match["digits"]
        octal = digits.startswith("0") and digits.isdigit()
        value = int(digits, 8 if octal else 0)
        return -value if match["sign"] == "-" else value


@dataclass(frozen=True)
class SectionDimension:
    """`[lower:length]`; `[length]` has lower None; `[]` or `[:]` has both None."""

    lower: ClauseExpression | None
    length: ClauseExpression | None


@dataclass(frozen=True)
class Section:
    """`id[…][…]`. `path` is the text before the first bracket: an identifier, or a member path (`grid->u`)."""

    path: str
    dimensions: tuple[SectionDimension, ...]
    range: SourceRange


@dataclass(frozen=True)
class DataClause:
    """`data(…)`, or OpenACC's sugar for it: the attributes hold for all sections of the clause.

    `present` requires the data on the device already; `create` (live:not) allocates without
    copying. `name` is the clause's spelling ("data", "copyin", …).
    """

    name: str
    sections: tuple[Section, ...]
    mode: Mode | None
    live: Live | None
    present: bool
    range: SourceRange


@dataclass(frozen=True)
class CountClause:
    """`num_threads(e)`, `num_gangs[d](e)`, `num_workers[d](e)`; the list form yields one clause an element."""

    axis: AxisKind
    dimension: int
    count: ClauseExpression
    range: SourceRange


class AxisKind(Enum):
    """A kind of parallel dimension of the abstract machine."""

    THREAD = "thread"
    GANG = "gang"
    WORKER = "worker"


@dataclass(frozen=True)
class ReductionClause:
    """`reduction(op : id, …)`; `operator` one of + * min max & | ^ && ||."""

    operator: str
    names: tuple[str, ...]
    range: SourceRange


@dataclass(frozen=True)
class PrivateClause:
    """`private(id, …)` or, with `first`, `firstprivate(id, …)`."""

    names: tuple[str, ...]
    first: bool
    range: SourceRange


class SorMethod(Enum):
    """How a relaxation in place is to be computed."""

    WAVEFRONT = "wavefront"
    """each value as the loops say it, those at once that do not wait for each other"""
    RED_BLACK = "redblack"
    """point by point in the order of colours: other iterates"""
    MULTILAYER = "multilayer"
    """several sweeps of a part of the mesh at once (thesis chapter 6): other iterates"""


@dataclass(frozen=True)
class SorClause:
    """`sor(method)`: the region is a relaxation in place. `layers` and `subdomain` are K and P of
    `sor(multilayer)`; 0 until the planner has chosen what was not said.
    """

    method: SorMethod
    range: SourceRange
    layers: int = 0
    subdomain: int = 0


@dataclass(frozen=True)
class OtherClause:
    """A clause of a kernel that has no field of its own: a class derived from this one says what it means."""

    range: SourceRange


class TemporalTiles(Enum):
    """Tiles of time steps of stencils, for all kernels of a translation: no clause says it,
    `TILEK_TILES` does.

    AUTOMATIC: diamonds on cores; on devices none where a launch for each time step does. SKEWED:
    those of Algorithm 4.1's rows alone. DIAMOND: diamonds on devices too. OVERLAPPED: on devices
    tiles of several time steps that compute what they need of each other again, where a stencil's
    statements allow that. STREAMED: of these the ones that gangs walk through plane by plane, where
    both are there. BOXES: those that gangs keep whole.
    """

    AUTOMATIC = "auto"
    SKEWED = "skewed"
    DIAMOND = "diamond"
    OVERLAPPED = "overlapped"
    STREAMED = "streamed"
    BOXES = "boxes"


#: Bytes that a launch may take of a gang's memory, for boxes or for the trees of reductions, where
#: no device is named: every device has them (OpenCL promises them, CUDA more).
LOCAL_BYTES = 32768


@dataclass(frozen=True)
class VectorRegisters:
    """What the processor has that the user's flags name: `count` registers of so many `bits`."""

    bits: int
    count: int

    def accumulators(self) -> int:
        """Registers that may hold sums while the others take what is added."""
        return self.count * 3 // 4


#: Those of AVX-512.
WIDEST_VECTORS = VectorRegisters(512, 32)


@dataclass(frozen=True)
class KernelDirective:
    """`#pragma tilek kernel …`, or the kernel part of `kernel loop`.

    `all_devices`: `device(all)`. `asynchronous` is the queue's expression, or None; `async` without
    an argument sets `asynchronous_default`. `waits` holds the queues of `wait(…)`; `wait` alone
    sets `wait_all`. `temporal`, `host_temporal` where cores have another one, `local_bytes`, what a
    launch may take of a gang's memory, and `vectors`, the host's, are set where planning begins.
    """

    range: SourceRange
    name: str | None = None
    data: tuple[DataClause, ...] = ()
    counts: tuple[CountClause, ...] = ()
    targets: tuple[Target, ...] = ()
    device: ClauseExpression | None = None
    all_devices: bool = False
    asynchronous: ClauseExpression | None = None
    asynchronous_default: bool = False
    waits: tuple[ClauseExpression, ...] = ()
    wait_all: bool = False
    condition: ClauseExpression | None = None
    reductions: tuple[ReductionClause, ...] = ()
    privates: tuple[PrivateClause, ...] = ()
    independent: bool = False
    sor: SorClause | None = None
    others: tuple[OtherClause, ...] = ()
    temporal: TemporalTiles = TemporalTiles.AUTOMATIC
    host_temporal: TemporalTiles | None = None
    local_bytes: int = LOCAL_BYTES
    vectors: VectorRegisters = WIDEST_VECTORS


class TileKind(Enum):
    """The kinds of `tile(…)` that this version executes; `auto` is refused by the grammar's checker."""

    STATIC = "static"
    SIZE = "size"
    DYNAMIC = "dynamic"
    THREAD = "thread"
    GANG = "gang"
    WORKER = "worker"


@dataclass(frozen=True)
class TileClause:
    """`tile[order](kind, argument)`. `argument` is the count (static) or extent (size); `dimension` that of gang, worker."""

    kind: TileKind
    order: int | None
    argument: ClauseExpression | None
    dimension: int
    range: SourceRange


@dataclass(frozen=True)
class LoopDirective:
    """`#pragma tilek loop …`, or the loop part of `kernel loop`; tiles in declaration order."""

    range: SourceRange
    tiles: tuple[TileClause, ...] = ()
    unroll: int | None = None
    sequential: bool = False
    independent: bool = False
    reductions: tuple[ReductionClause, ...] = ()
    privates: tuple[PrivateClause, ...] = ()
    collapse: int = 1


@dataclass(frozen=True)
class DataDirective:
    """`data`, `enter data`, `exit data`, `update`: `construct` says which. `clauses` names are
    copy, copyin, copyout, create, delete, present, self, device.
    """

    construct: Construct
    clauses: tuple[DataClause, ...]
    range: SourceRange
    condition: ClauseExpression | None = None
    asynchronous: ClauseExpression | None = None
    asynchronous_default: bool = False
    waits: tuple[ClauseExpression, ...] = ()
    wait_all: bool = False


@dataclass(frozen=True)
class WaitDirective:
    """`#pragma tilek wait [(queue, …)]`; no queue means all."""

    queues: tuple[ClauseExpression, ...]
    range: SourceRange


@dataclass(frozen=True)
class RoutineDirective:
    """`#pragma tilek routine` before a function definition: its name may be called from kernels (a mark, never needed)."""

    range: SourceRange


Directive = (
    KernelDirective
    | LoopDirective
    | tuple[KernelDirective, LoopDirective]
    | DataDirective
    | WaitDirective
    | RoutineDirective
)
