"""The LoopTree: loops, conditions and statements of one kernel region, with the user's directives
attached.

    Statement := Loop | If | While | Switch | CaseLabel | ForLoop | Block | ExpressionStatement | Declaration | Return | Break | Continue
               | TileNest | Barrier | Stage | PackedPanels          (made by the planner, never by the front end)

It is syntax: it knows nothing of isl, targets or plans. Everything is frozen; a pass returns a new
tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tilepragma.base.diagnostics import Diagnostic
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.directives import (
    WIDEST_VECTORS,
    AxisKind,
    ClauseExpression,
    DataDirective,
    KernelDirective,
    LoopDirective,
    SorMethod,
    TileKind,
    VectorRegisters,
    WaitDirective,
)
from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.types import RecordType, Type


@dataclass(frozen=True)
class ExpressionStatement:
    """An expression evaluated for its effect."""

    expression: Expression
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Declarator:
    """One declared variable; `initializer` is a tuple for `{a, b, …}` (nested tuples for nested braces), None where absent."""

    object: DataObject
    initializer: Initializer | None


Initializer = Expression | tuple["Initializer", ...]


@dataclass(frozen=True)
class Declaration:
    """`T x = …, y;`."""

    declarators: tuple[Declarator, ...]
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Block:
    """`{ … }`; the bodies of loops and conditions are blocks even where the user left the braces out."""

    statements: tuple[Statement, ...]
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class If:
    """`if (condition) then else otherwise`; `otherwise` is None where absent.

    `padded`: without the condition `then` would do no more than what nobody sees: it writes padding
    of buffers alone (`Panel.padded`), and reads that and what is read anyway. Inside these buffers
    it is left out.
    """

    condition: Expression
    then: Block
    otherwise: Block | None
    range: SourceRange = field(default=NOWHERE, compare=False)
    padded: bool = False


@dataclass(frozen=True)
class Loop:
    """A canonical loop: `iterator` runs from `lower` by `step` while `iterator comparison upper`.

    Trip count: N = max(0, ceil((upper - lower) / step)) for `<` and `>`, one more where `<=` or
    `>=` is reached exactly, exact division for `!=`. The iterator stands on the left of
    `comparison` (the front end turns `n > i` round), one of < <= > >= !=. `step` is signed: `i
    -= s` gives the expression `-s`; `decreasing` is true where the loop counts down (by the
    comparison, or for != by the step, ±1). `declares_iterator`: `for (int i = …`. `index` numbers
    the loops of the region in textual order, from 0.
    """

    index: int
    iterator: DataObject
    declares_iterator: bool
    lower: Expression
    comparison: str
    upper: Expression
    step: Expression
    decreasing: bool
    body: Block
    directive: LoopDirective | None
    range: SourceRange = field(default=NOWHERE, compare=False)
    header: SourceRange = field(default=NOWHERE, compare=False)

    @property
    def holds_inside(self) -> str:
        """The comparison with `upper` that holds of the iterator in all iterations of a loop that ends: an order for != too."""
        return self.comparison if self.comparison != "!=" else ">" if self.decreasing else "<"


@dataclass(frozen=True)
class ForLoop:
    """A `for` that is not canonical (or whose iterator is changed in its body): executed as
    written, never tiled.

    `reason` says why it is not canonical and `reason_range` where, for the error where a directive
    asks to tile it.
    """

    initialization: Declaration | Expression | None
    condition: Expression | None
    advance: Expression | None
    body: Block
    directive: LoopDirective | None
    reason: str
    range: SourceRange = field(default=NOWHERE, compare=False)
    reason_range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class While:
    """`while (condition) body`, or `do body while (condition);` with `test_last`."""

    condition: Expression
    body: Block
    test_last: bool
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Switch:
    """`switch (condition) body`; its CaseLabels stand among the statements of `body` itself, which declares nothing."""

    condition: Expression
    body: Block
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class CaseLabel:
    """`case value:`, or `default:` where `value` is None."""

    value: Expression | None
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Break:
    """`break;` of an untiled loop or of a switch."""

    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Continue:
    """`continue;`."""

    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Return:
    """`return value;`, inside functions called from kernels only."""

    value: Expression | None
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Axis:
    """One parallel dimension of the abstract machine: thread 0, gang 0..2, worker 0..2."""

    kind: AxisKind
    dimension: int


@dataclass(frozen=True)
class Tile:
    """One tile of one loop. `position` counts in declaration order from 0 (outermost); `axis` is
    set iff distributed.

    `argument` is the count (static) or the extent (size), evaluated on the host at launch.
    """

    loop: int
    position: int
    kind: TileKind
    argument: ClauseExpression | None
    axis: Axis | None
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class TiledLoop:
    """A loop of a TileNest. `symbol` is the prefix, unique in the region, of its numbers in kernels
    (`i` in `i_stride0`).

    `launch_bounds`: bounds and step are invariant in the kernel, so trip, counts and strides come
    from the launch. Otherwise they depend on outer iterators (a triangular nest) and Algorithm 1 is
    evaluated in the kernel where the loop is entered.
    """

    loop: Loop
    symbol: str
    tiles: tuple[Tile, ...]
    launch_bounds: bool

    @property
    def dealing(self) -> tuple[object, ...]:
        """What says which instance has which iteration: loops of which it is the same are dealt out alike where their bounds have the same values."""
        loop = self.loop
        tiles = tuple((tile.kind, tile.argument and tile.argument.text, tile.axis) for tile in self.tiles)
        return loop.lower, loop.comparison, loop.upper, loop.step, tiles, self.launch_bounds


@dataclass(frozen=True)
class TileNest:
    """A maximal perfectly nested chain of loops taken apart into tiles (the paper's Figure 5).

    `order` holds all tiles of `loops` in execution order, outermost first, distributed tiles at the
    place they sort to. At any point, iterator of loop l = lower + step * (sum of its tile
    iterators), tile iterators counting iterations in multiples of their stride. The last
    undistributed tile of a loop in `order` is its point loop: it declares the iterator and is
    clipped by the loop's trip count; a loop all of whose tiles are distributed is guarded instead.

    `uniform`: all workers of a gang go through the body equally often; one that has no iteration
    there does nothing but meet the barriers and stages, which stand in blocks, loops and Buffereds
    of the body alone. What a loop has between its gangs and its workers, a static tile whose count
    is a literal, are *points* of a worker: it does for each of them what a worker by itself would
    do, between one barrier and the next in any order.
    """

    loops: tuple[TiledLoop, ...]
    order: tuple[Tile, ...]
    body: Block
    range: SourceRange = field(default=NOWHERE, compare=False)
    uniform: bool = False


@dataclass(frozen=True)
class Panel:
    """Elements of an array that a local one holds meanwhile: a register tile, or a panel packed in
    the order in which it is read.

    `object` is the local array, LOCAL and CONTIGUOUS with literal lengths, or a LOCAL scalar for
    one element. In every iteration of `loops` (outermost first, their bodies empty), after
    `declarations`, `object[subscripts]` stands for the element `access`: it is read before the body
    and, where `stored`, written after. In the body every access to `access.object` with the same
    subscripts means the local element: `declarations` and `loops` give the objects in them the
    names that they have there. Where one of `conditions` is 0 nothing is held: they are read in
    their order, after `declarations`. `padded`: such places have a 0 before the body.
    """

    object: DataObject
    loops: tuple[Loop, ...]
    declarations: tuple[Declaration, ...]
    access: Access
    subscripts: tuple[Expression, ...]
    stored: bool
    conditions: tuple[Expression, ...] = ()
    padded: bool = False


@dataclass(frozen=True)
class PackedPanels:
    """`body`, while elements that it comes back to are in buffers. It runs as it stands, were there no buffers."""

    buffers: tuple[Panel, ...]
    body: Block


@dataclass(frozen=True)
class Barrier:
    """All workers of a gang wait for each other, between sibling worker-distributed nests and round stages; nothing where workers are loops."""


@dataclass(frozen=True)
class StagedTerm:
    """`coefficient * iterator` in a subscript. In one tile of a gang the iterator takes consecutive
    values: `points` for each worker that an axis has, or a number, at most.
    """

    iterator: DataObject
    coefficient: int
    extent: Axis | int
    points: int = 1


@dataclass(frozen=True)
class StagedSide:
    """One dimension of a box that is staged, f being the first and l the last value of an iterator
    in the gang's tile:

        { x : least + sum min(c f, c l) <= x <= least + width + sum max(c f, c l) }    over the terms c * iterator

    `least` is the same for all workers.
    """

    terms: tuple[StagedTerm, ...]
    least: Expression
    width: int


@dataclass(frozen=True)
class Staged:
    """A box of an array, one side a dimension, for the accesses whose subscripts have the texts
    `reads` (`subscripts_text`); others read the array itself. `odd`: whether its rows are kept an
    odd number of elements apart, or an even one, since workers that are neighbours read down its
    columns, or diagonals (None: as they come). `before`, `after`: of an array that is seen by rows,
    by how many subscripts the first element that is read lies behind the first of the box, and the
    last one before the last of it (none: not at all): what is beyond may be none of the user's
    array, and is not copied.
    """

    object: DataObject
    sides: tuple[StagedSide, ...]
    reads: tuple[str, ...]
    odd: bool | None = None
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class RegisterQueue:
    """What workers keep in registers of a scratchpad that is a ring along its first dimension: each the
    elements that it writes itself, where `planes` of them fit.

    `object` is the scratchpad by another name: of an element that is read by it, the worker that reads
    is the one that wrote it. At a round of the loop over `position`, which counts up by 1, the
    planes of elements that are so read, or written, are position - planes + 1, ..., position.
    """

    object: DataObject
    position: DataObject
    planes: int


@dataclass(frozen=True)
class Scratchpad:
    """A box of an array that a gang keeps in memory of its own while it computes several steps of
    it.

    `object` (Scope.GANG, CONTIGUOUS, literal lengths) has the element `array[x]` at `object[x -
    origin]`, each subscript spelled so. `origin` are scalars, one a dimension, that the launch
    declares for each tile of its gangs. None of a dimension that the gang walks along: there the
    scratchpad is a ring whose length is a power of two, which has at `x & (length - 1)` what was
    touched last of such elements. Nothing is copied but by statements of the launch. `column`: what
    workers have of it in registers too.
    """

    object: DataObject
    array: DataObject
    origin: tuple[DataObject | None, ...]
    column: RegisterQueue | None = None

    @property
    def names(self) -> tuple[DataObject, ...]:
        """The objects by which statements access it."""
        return (self.object,) if self.column is None else (self.object, self.column.object)


@dataclass(frozen=True)
class Stage:
    """The workers of a gang copy boxes of arrays, which the launch only reads, into memory of the
    gang: accesses behind it in its block find them there. It stands in the body of a uniform nest,
    or in a loop there; nothing where workers are loops.

    `ahead`: of a loop `for (…) { stage; barrier; …; barrier }` the boxes of the next iteration may
    be copied while this one is computed, into memory beside this one's.
    """

    arrays: tuple[Staged, ...]
    ahead: bool = False


Statement = (
    TileNest
    | Barrier
    | PackedPanels
    | Stage
    | Loop
    | ForLoop
    | While
    | Switch
    | CaseLabel
    | If
    | Block
    | ExpressionStatement
    | Declaration
    | Break
    | Continue
    | Return
)


@dataclass(frozen=True)
class Function:
    """A function of the translation unit that a kernel calls; parameters are LOCAL objects."""

    name: str
    result: Type
    parameters: tuple[DataObject, ...]
    body: Block
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Parameter:
    """A parameter of the user's function around a region; `type` is None where it is none that kernels could hold."""

    name: str
    type: Type | None


@dataclass(frozen=True)
class Enclosing:
    """Where a region stands: the function around it. `insertion` is the byte offset in the file
    where code of file scope may be put so that it sees what the region sees (the start of the
    function's declaration). `parameters` are those of the function, for kernels only.
    """

    function: str
    file: str
    insertion: int
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """One kernel region. `range` covers the statement the directive stands before (the region),
    without the directive.

    `body` holds the statements of the region: those of the block, or the one loop. `objects` are
    the EXTERNAL and REGION objects used, in order of first use. `functions` come callee first,
    `records` dependencies first. `read_after` names the EXTERNAL scalars (loop iterators among
    them) whose value may be read after the region before being written (conservatively: mentioned
    textually later in the function, or the region stands in a loop that mentions them outside the
    region, or they are not automatic variables of the function, or their address is taken).
    `forgotten` names the arrays, automatic ones of the function, whose elements nobody can read
    after the region. `swept`: where the region goes through a mesh in another order than the user
    wrote, the loops that were written, that over the sweeps first.
    """

    name: str
    directive: KernelDirective
    body: Block
    objects: tuple[DataObject, ...]
    functions: tuple[Function, ...]
    records: tuple[RecordType, ...]
    read_after: frozenset[str]
    enclosing: Enclosing
    range: SourceRange
    forgotten: frozenset[str] = frozenset()
    swept: tuple[Loop, ...] = ()
    parts: Parts | None = None
    in_the_way: Diagnostic | None = None
    """why there are no `parts`, where loops of the region end with conditions"""

    def by_name(self, numbers: Mapping[str, int]) -> dict[str, int]:
        """The numbers of the user's names by those that objects have inside the engine; names that the kernel does not have are left out."""
        return {object_.name: numbers[object_.host] for object_ in self.objects if object_.host in numbers}


@dataclass(frozen=True)
class Parts:
    """A region whose outer loops end with conditions, as the host may go through it: the user's own
    text, with `kernels` in it in textual order.

    `alone`: the region can run in no other way, as what the host does in it cannot stand in a
    kernel. `data` is a kernel of all their statements, which says what arrays they need; what may
    be left out stands in a While there. `changed` are its scalars that do not keep their values
    throughout the region, and its arrays that are declared in it.
    """

    kernels: tuple[Kernel, ...]
    alone: bool
    data: Kernel
    changed: frozenset[DataObject]
    exchanged: tuple[Exchanged, ...]
    reads: tuple[Type, ...] = ()
    """the types of elements that the host's text reads"""


@dataclass(frozen=True)
class Exchanged:
    """Arrays that are pointers set to each other in a region: those that its kernels use, and those that have values where it begins."""

    used: tuple[DataObject, ...]
    there: tuple[DataObject, ...]


@dataclass(frozen=True)
class DataRegion:
    """`#pragma tilek data …` over a statement, or a standalone `enter data`, `exit data`, `update`,
    `wait`.

    `objects` maps each section's path to its object. `range` is the statement of a `data` region;
    for standalone directives, an empty range at the directive.
    """

    directive: DataDirective | WaitDirective
    objects: tuple[tuple[str, DataObject], ...]
    enclosing: Enclosing
    range: SourceRange


@dataclass(frozen=True)
class SourceFile:
    """A file with constructs of ours: the main file, or a header that the main file includes
    (directly or not).

    `pragmas` are the byte ranges of our directives' text, which the host rewriting blanks out.
    """

    path: str
    text: bytes
    pragmas: tuple[SourceRange, ...]


@dataclass(frozen=True)
class Inclusion:
    """An `#include` line of `file` (whole directive: `range`) that brings in `included`, one of the unit's SourceFiles."""

    range: SourceRange
    included: str


@dataclass(frozen=True)
class TranslationUnit:
    """What the front end hands on. `files[0]` is the main file. `floating` says what the compile
    flags allow on devices, `vectors` which registers they name on the host.

    `dependencies` are the main file and the user's headers, `system_dependencies` the headers of
    the system; `macros` has the names of the user's macros, those of options among them, and the
    text of all definitions of each. `c90`: the flags ask for C as it was before C99.
    """

    files: tuple[SourceFile, ...]
    inclusions: tuple[Inclusion, ...]
    kernels: tuple[Kernel, ...]
    data_regions: tuple[DataRegion, ...]
    floating: FloatingRules
    dependencies: tuple[str, ...]
    system_dependencies: tuple[str, ...] = ()
    vectors: VectorRegisters = WIDEST_VECTORS
    macros: Mapping[str, bytes] = field(default_factory=dict)
    c90: bool = False


@dataclass(frozen=True)
class FloatingRules:
    """What the user's flags allow: `contract` (fused multiply-add), `fast` (-ffast-math)."""

    contract: bool
    fast: bool


def asks_for_layers(kernel: Kernel) -> bool:
    """Whether the user says `sor(multilayer)`."""
    return kernel.directive.sor is not None and kernel.directive.sor.method is SorMethod.MULTILAYER
