"""Parsed directives: every clause of docs/LANGUAGE.md, with expressions as located text.

The grammar knows C expressions only as balanced tokens. The host code prints a `ClauseExpression`
as the user wrote it, where the user's names, macros and types are in scope. So no second parser of
C is needed. A launch evaluates clause expressions once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
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

    @property
    def is_open(self) -> bool:
        """Whether the choice is left to the launch."""
        return self is Target.AUTO

    @property
    def is_device(self) -> bool:
        """Whether gangs and workers run the launches of devices there."""
        return self in DEVICE_TARGETS

    @property
    def is_host(self) -> bool:
        """Whether the launches of hosts run there."""
        return not self.is_device and not self.is_open

    @property
    def is_parallel(self) -> bool:
        """Whether loops are distributed there."""
        return not self.is_open and self is not Target.SERIAL

    @property
    def has_threads(self) -> bool:
        """Whether the threads of the directive language run there."""
        return self is Target.THREADS


ALL_TARGETS: tuple[Target, ...] = (Target.SERIAL, Target.THREADS, Target.OPENCL, Target.CUDA)
DEVICE_TARGETS: tuple[Target, ...] = (Target.OPENCL, Target.CUDA)


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
        """The value if the text is a plain integer literal of C, perhaps with a sign; else None."""
        match = _INTEGER.fullmatch(self.text.strip())
        if match is None:
            return None
        digits = match["digits"]
        octal = digits.startswith("0") and digits.isdigit()
        value = int(digits, 8 if octal else 0)
        return -value if match["sign"] == "-" else value


def clause_expressions(part: object) -> Iterator[ClauseExpression]:
    """All expressions in a directive, a clause, or a tuple of these, field after field."""
    if isinstance(part, ClauseExpression):
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from clause_expressions(inner)
    elif is_dataclass(part):
        for field in fields(part):
            yield from clause_expressions(getattr(part, field.name))


@dataclass(frozen=True)
class SectionDimension:
    """`[lower:length]`; `[length]` has lower None; `[]` or `[:]` has both None."""

    lower: ClauseExpression | None
    length: ClauseExpression | None


@dataclass(frozen=True)
class Section:
    """`id[…][…]`. `path` is the text before the bracket: a name or a member path (`grid->u`)."""

    path: str
    dimensions: tuple[SectionDimension, ...]
    range: SourceRange


@dataclass(frozen=True)
class DataClause:
    """`data(…)`, or an OpenACC name for it; the attributes hold for all sections of the clause.

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
    """`num_threads(e)`, `num_gangs[d](e)`, `num_workers[d](e)`; a list yields several clauses."""

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
    """`reduction(op : id, …)`; `operator` one of + * min max & | ^ && ||. `sections` are those of
    arrays among the `names`.
    """

    operator: str
    names: tuple[str, ...]
    range: SourceRange
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True)
class PrivateClause:
    """`private(id, …)` or, with `first`, `firstprivate(id, …)`."""

    names: tuple[str, ...]
    first: bool
    range: SourceRange


class SorMethod(Enum):
    """How to compute a relaxation in place."""

    WAVEFRONT = "wavefront"
    """the values of the loops as written; independent points run in parallel"""
    RED_BLACK = "redblack"
    """point by point in the order of colours: other iterates"""
    MULTILAYER = "multilayer"
    """several sweeps of a part of the mesh together (thesis chapter 6): other iterates"""


@dataclass(frozen=True)
class SorClause:
    """`sor(method)`: a relaxation in place; `layers`, `subdomain`: K and P of multilayer, or 0."""

    method: SorMethod
    range: SourceRange
    layers: int = 0
    subdomain: int = 0


@dataclass(frozen=True)
class OtherClause:
    """A clause of a kernel without a field of its own: a derived class says what it means."""

    range: SourceRange


class TemporalTiles(Enum):
    """Time tiles of stencils, for all kernels of a translation: `TILEK_TILES`, no clause.

    AUTOMATIC: diamonds on cores; on devices none if a launch for each time step is enough. SKEWED:
    only the tiles of Algorithm 4.1's rows. DIAMOND: diamonds on devices too. OVERLAPPED: on
    devices, tiles of several time steps that compute their halo again, if the stencil allows it.
    STREAMED: overlapped tiles through which gangs move plane by plane, if both kinds exist. BOXES:
    overlapped tiles that gangs hold completely.
    """

    AUTOMATIC = "auto"
    SKEWED = "skewed"
    DIAMOND = "diamond"
    OVERLAPPED = "overlapped"
    STREAMED = "streamed"
    BOXES = "boxes"


#: Bytes of shared memory that a launch may take for array tiles or reduction trees if no device is
#: named. Every device has them: OpenCL promises so many, CUDA more.
LOCAL_BYTES = 32768


@dataclass(frozen=True)
class VectorRegisters:
    """The vector registers that the user's flags name: `count` of so many `bits`."""

    bits: int
    count: int

    def accumulators(self) -> int:
        """Registers that may hold sums while the others hold operands."""
        return self.count * 3 // 4


#: Those of AVX-512.
WIDEST_VECTORS = VectorRegisters(512, 32)


@dataclass(frozen=True)
class UntranslatedOpenMP:
    """A line of OpenMP that stays as it is, though it distributes what follows it."""

    range: SourceRange


@dataclass(frozen=True)
class OpenMPRegion:
    """`#pragma omp parallel …`: what it says of variables in the loops of its region.

    `has_usual_threads`: no clause says how many threads it has.
    """

    range: SourceRange
    privates: tuple[PrivateClause, ...] = ()
    reductions: tuple[ReductionClause, ...] = ()
    has_usual_threads: bool = True

    @property
    def private_names(self) -> tuple[tuple[str, PrivateClause], ...]:
        """The names of private variables, each with its clause."""
        return tuple((name, clause) for clause in self.privates for name in clause.names)


@dataclass(frozen=True)
class KernelDirective:
    """`#pragma tilek kernel …`, or the kernel part of `kernel loop`.

    `all_devices`: `device(all)`. `asynchronous` is the queue's expression, or None; `async` without
    an argument sets `asynchronous_default`. `waits` holds the queues of `wait(…)`; `wait` alone
    sets `wait_all`. Planning begins by setting `temporal`, `host_temporal` (if cores have another),
    `local_bytes`, the shared memory that a launch may take, and `vectors`, those of the host.
    `openmp_line` is the line of OpenMP that stands for it, if any; `in_openmp_region`: it is for
    the threads of a region around.
    """

    range: SourceRange
    name: str | None = None
    openmp_line: SourceRange | None = None
    in_openmp_region: bool = False
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
    """The kinds of `tile(…)` that this version executes; the grammar handles `auto`."""

    STATIC = "static"
    SIZE = "size"
    DYNAMIC = "dynamic"
    THREAD = "thread"
    GANG = "gang"
    WORKER = "worker"


@dataclass(frozen=True)
class TileClause:
    """`tile[order](kind, argument)`; `argument`: count or extent, `dimension`: of the axis."""

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
    """`data`, `enter data`, `exit data`, `update` or `wait`, as `construct` tells.

    `clauses` have the names copy, copyin, copyout, create, delete, present, self, device. `waits`
    are also the queues of the directive `wait`, which has nothing else.
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
class RoutineDirective:
    """`#pragma tilek routine` marks a function that kernels may call; it is never needed."""

    range: SourceRange


Directive = (
    KernelDirective
    | LoopDirective
    | tuple[KernelDirective, LoopDirective]
    | DataDirective
    | RoutineDirective
    | UntranslatedOpenMP
    | OpenMPRegion
)
