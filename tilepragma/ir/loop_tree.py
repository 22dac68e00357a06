"""The loop tree: loops, conditions and statements of one kernel region, with user directives.

    Statement := Loop | If | While | Switch | CaseLabel | ForLoop | Block | ExpressionStatement
               | Declaration | Return | Break | Continue
               | TileNest | Barrier | Stage | PackedPanels      (made by the planner alone)

The tree is syntax: it knows nothing of isl, targets or plans. Everything is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

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
)
from tilepragma.ir.expressions import Access, Assignment, Binary, DataObject, Expression
from tilepragma.ir.types import RecordType, Type


@dataclass(frozen=True)
class ExpressionStatement:
    """An expression evaluated for its effect."""

    expression: Expression
    range: SourceRange = field(default=NOWHERE, compare=False)


def assign(target: Access, value: Expression) -> ExpressionStatement:
    """`target = value;`"""
    return ExpressionStatement(Assignment("=", target, value, target.type))


@dataclass(frozen=True)
class Declarator:
    """One declared variable; `initializer` is a tuple for `{a, b, …}`, nested for nested braces."""

    object: DataObject
    initializer: Initializer | None

    @property
    def value(self) -> Expression | None:
        """The initial value; None if there is none, or if it stands in braces."""
        return None if isinstance(self.initializer, tuple) else self.initializer


Initializer = Expression | tuple["Initializer", ...]


@dataclass(frozen=True)
class Declaration:
    """`T x = …, y;`."""

    declarators: tuple[Declarator, ...]
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Block:
    """`{ … }`; bodies of loops and conditions are blocks even if the user wrote no braces."""

    statements: tuple[Statement, ...]
    range: SourceRange = field(default=NOWHERE, compare=False)

    @property
    def declarators(self) -> tuple[Declarator, ...]:
        """Those of its direct declarations."""
        declarations = (statement for statement in self.statements if isinstance(statement, Declaration))
        return tuple(declarator for declaration in declarations for declarator in declaration.declarators)


@dataclass(frozen=True)
class If:
    """`if (condition) then else otherwise`; `otherwise` is None if absent.

    `padded`: without the condition `then` would only write padding of buffers (`Panel.padded`), and
    read that and elements that are read anyway. Inside these buffers the condition is left out.
    """

    condition: Expression
    then: Block
    otherwise: Block | None
    range: SourceRange = field(default=NOWHERE, compare=False)
    padded: bool = False


@dataclass(frozen=True)
class PragmaClause:
    """A clause of a LoopPragma with variables: `reduction(+: s, t)`, `aligned(p : 64)`."""

    name: str
    operator: str
    variables: tuple[str, ...]
    alignment: str


@dataclass(frozen=True)
class LoopPragma:
    """A line of the user's before a loop for a processor's compiler, such as `#pragma omp simd`.

    `text` has its words and the clauses without variables. It holds for bodies that write no other
    objects than `written`: the names of those from outside that the user's body writes.
    """

    text: str
    clauses: tuple[PragmaClause, ...] = ()
    written: frozenset[str] = frozenset()
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Loop:
    """A canonical loop: `iterator` runs from `lower` by `step` while `iterator comparison upper`.

    Trip count: N = max(0, ceil((upper - lower) / step)) for `<` and `>`, one more if `<=` or
    `>=` is reached exactly, exact division for `!=`. The iterator stands on the left of
    `comparison` (the front end turns `n > i` round), one of < <= > >= !=. `step` is signed: `i -=
    s` gives the expression `-s`; `decreasing` is true if the loop counts down (by the comparison,
    or for != by the step, ±1). `declares_iterator`: `for (int i = …`. `index` numbers the loops of
    the region in textual order, from 0. `pragmas` are the user's lines for processors' compilers.
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
    pragmas: tuple[LoopPragma, ...] = ()

    @property
    def bounds(self) -> tuple[Expression, Expression, Expression]:
        """The expressions of its header: lower, upper, step."""
        return self.lower, self.upper, self.step

    @property
    def holds_inside(self) -> str:
        """The comparison with `upper` that holds in all iterations of an ending loop, never !=."""
        return self.comparison if self.comparison != "!=" else ">" if self.decreasing else "<"


@dataclass(frozen=True)
class ForLoop:
    """A `for` that is not canonical, or whose body changes the iterator: runs as written, untiled.

    `reason` and `reason_range` tell why and where, for the error if a directive asks for tiles.
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
    """`switch (condition) body`; `body` has CaseLabels as direct statements, no declarations."""

    condition: Expression
    body: Block
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class CaseLabel:
    """`case value:`, or `default:` if `value` is None."""

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
    """`return value;`, in functions that kernels call only."""

    value: Expression | None
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Axis:
    """One parallel dimension of the abstract machine: thread 0, gang 0..2, worker 0..2."""

    kind: AxisKind
    dimension: int


@dataclass(frozen=True)
class Tile:
    """One tile of one loop.

    `position` counts in declaration order from 0 (outermost); `axis` is set iff distributed.
    `argument` is the count (static) or the extent (size), which the host evaluates at launch.
    """

    loop: int
    position: int
    kind: TileKind
    argument: ClauseExpression | None
    axis: Axis | None
    range: SourceRange = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class TiledLoop:
    """A loop of a TileNest; `symbol`, unique in the region, prefixes its numbers (`i_stride0`).

    `launch_bounds`: bounds and step are invariant in the kernel, so trip, counts and strides come
    from the launch. Otherwise they depend on outer iterators (a triangular nest), and the kernel
    evaluates Algorithm 1 where it enters the loop.
    """

    loop: Loop
    symbol: str
    tiles: tuple[Tile, ...]
    launch_bounds: bool

    @property
    def is_distributed(self) -> bool:
        """Whether several threads, gangs or workers share its iterations."""
        return any(tile.axis is not None for tile in self.tiles)

    @property
    def points(self) -> int:
        """Thread coarsening: the points of each worker; a launch may take a half, a quarter, …

        A static tile between the loop's gangs and workers holds them. 0 if its count is no literal.
        """
        tile = next((tile for tile in self.tiles if tile.kind is TileKind.STATIC), None)
        if tile is None:
            return 1
        return (None if tile.argument is None else tile.argument.literal) or 0

    @property
    def distribution_key(self) -> tuple[object, ...]:
        """What distributes iterations: loops with equal keys and bounds are distributed alike."""
        loop = self.loop
        tiles = tuple((tile.kind, tile.argument and tile.argument.text, tile.axis) for tile in self.tiles)
        return loop.lower, loop.comparison, loop.upper, loop.step, tiles, self.launch_bounds


@dataclass(frozen=True)
class TileNest:
    """A maximal chain of perfectly nested loops, decomposed into tiles (the paper's Figure 5).

    `order` holds all tiles of `loops` in execution order, outermost first, distributed tiles where
    they sort to. At any point, iterator of loop l = lower + step * (sum of its tile iterators);
    tile iterators count iterations in multiples of their stride. The last undistributed tile of a
    loop in `order` is its point loop: it declares the iterator and is clipped by the loop's trip
    count. A loop whose tiles are all distributed is guarded instead.

    `guard`, affine in the iterators, tells which iterations there are where loops run over more
    (ir/guards.py). Its range is that of the If it stands for.
    `uniform`: all workers of a gang run the body equally often. A worker without an iteration only
    meets the barriers and stages, which are in blocks, loops and PackedPanels of the body. A static
    tile with a literal count, between a loop's gangs and workers, holds the *points* of a worker:
    between two barriers, the worker runs them in any order.
    """

    loops: tuple[TiledLoop, ...]
    order: tuple[Tile, ...]
    body: Block
    range: SourceRange = field(default=NOWHERE, compare=False)
    uniform: bool = False
    guard: Binary | None = None


@dataclass(frozen=True)
class Panel:
    """Elements of an array in a local array: a register tile, or a panel packed in reading order.

    `object` is the local array, LOCAL and CONTIGUOUS with literal lengths, or a LOCAL scalar for
    one element. In every iteration of `loops` (outermost first, with empty bodies), after
    `declarations`, `object[subscripts]` stands for the element `access`: it is read before the body
    and, if `stored`, written after. Every access in the body to `access.object` with the same
    subscripts means the local element; `declarations` and `loops` name objects as the body does.
    Nothing is held where one of `conditions`, which are read in order after `declarations`, is 0.
    `padded`: such places hold 0 before the body.
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
    """`body`, with elements that it reuses in buffers; it would run alike without them."""

    buffers: tuple[Panel, ...]
    body: Block


@dataclass(frozen=True)
class Barrier:
    """The workers of a gang wait for each other. Nothing happens if workers are loops."""


@dataclass(frozen=True)
class StagedTerm:
    """`coefficient * iterator` in a subscript.

    In a gang's tile the iterator has consecutive values, at most `extent`: `points` for each worker
    of an axis, or a number.
    """

    iterator: DataObject
    coefficient: int
    extent: Axis | int
    points: int = 1


@dataclass(frozen=True)
class StagedSide:
    """One dimension of an array tile: with f, l for an iterator's first and last value in the tile,

        { x : least + sum min(c f, c l) <= x <= least + width + sum max(c f, c l) }

    where the sums are over `terms`, c * iterator. All workers have the same `least`.
    """

    terms: tuple[StagedTerm, ...]
    least: Expression
    width: int


@dataclass(frozen=True)
class Staged:
    """An array tile in shared memory, one side a dimension.

    It serves the accesses whose subscripts have the texts `reads` (`subscripts_text`); others read
    the array itself. `odd`: whether its rows lie an odd or even number of elements apart, so that
    neighbouring workers read columns or diagonals without bank conflicts (None: no padding). For a
    delinearised array, elements beyond those that are read may not exist and are not copied.
    `before` and `after` tell how many subscripts the first element read lies behind the tile's
    first, and the last before its last (empty: none).
    """

    object: DataObject
    sides: tuple[StagedSide, ...]
    reads: tuple[str, ...]
    odd: bool | None = None
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    @property
    def inner(self) -> int:
        """The dimension along which elements of the copy are neighbours: that of a worker's points,
        which it reads together; else the array's last.
        """
        last = len(self.sides) - 1
        several = [place for place, side in enumerate(self.sides) if any(term.points > 1 for term in side.terms)]
        return several[-1] if several else last


@dataclass(frozen=True)
class RegisterQueue:
    """Elements of a scratchpad that the worker which wrote them keeps in registers, if they fit.

    The scratchpad is a circular buffer along its first dimension. `object` is the scratchpad by
    another name, for elements that the reading worker wrote itself. In an iteration of the loop
    over `position`, which counts up by 1, these are of planes position - planes + 1, ..., position,
    if it has `steps` time steps, the most. It has `degree` if that is less, and each step less
    leaves out `shift` planes. `first` are the first of the planes, and in other dimensions of the
    elements, that the tile keeps.
    """

    object: DataObject
    position: DataObject
    planes: int
    steps: int
    degree: DataObject
    shift: int
    first: tuple[DataObject, ...]


@dataclass(frozen=True)
class Scratchpad:
    """An array tile that a gang keeps in shared memory while it computes several time steps.

    `object` (Scope.GANG, CONTIGUOUS, literal lengths) has the element `array[x]` at `object[x -
    origin]`, with each subscript spelled so. `origin` has a scalar for each dimension, which the
    launch declares for each tile of its gangs. It is None for a dimension along which the gang
    moves. There the scratchpad is a circular buffer of a power of two: `x & (length - 1)` holds the
    element of that place that was touched last. Only statements of the launch copy. `column`: the
    part that workers also keep in registers.
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
    """The workers of a gang copy array tiles, which the launch only reads, to shared memory.

    Later accesses in its block read them there. It stands in the body of a uniform nest, or in a
    loop there; nothing happens if workers are loops.

    `ahead`: double buffering. In `for (…) { stage; barrier; …; barrier }` the tiles of the next
    iteration may be copied, into other memory, while this one is computed.
    """

    arrays: tuple[Staged, ...]
    ahead: bool = False


_Planned = TileNest | Barrier | PackedPanels | Stage
_Control = Loop | ForLoop | While | Switch | CaseLabel | If | Block
Statement = _Planned | _Control | ExpressionStatement | Declaration | Break | Continue | Return


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
    """A parameter of the user's function around a region; `type` is None if kernels reject it."""

    name: str
    type: Type | None


@dataclass(frozen=True)
class Enclosing:
    """The function around a region.

    `insertion` is the byte offset in the file for code of file scope that sees what the region
    sees: the start of the function's declaration. `parameters`: for kernels only.
    """

    function: str
    file: str
    insertion: int
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """One kernel region; `range` covers its statement without the directive.

    `body` holds the statements of the region: those of the block, or the one loop. `objects` are
    the EXTERNAL and REGION objects used, in order of first use. `functions` come callee first,
    `records` dependencies first. `read_after` names the live-out EXTERNAL scalars, loop iterators
    included; it is conservative (frontend/clang/liveness.py). `dead_arrays` names automatic arrays
    that are dead after the region. `original_sweeps` are the loops as written, over sweeps first,
    if the region sweeps a mesh in another order. `reductions`: arrays that loops update in
    copies.
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
    dead_arrays: frozenset[str] = frozenset()
    original_sweeps: tuple[Loop, ...] = ()
    parts: Parts | None = None
    split_refusal: Diagnostic | None = None
    """why `parts` is None, if loops of the region end with conditions"""
    reductions: ArrayReductions | None = None

    @property
    def without_copies(self) -> Kernel:
        """The kernel before loops update copies of arrays."""
        if self.reductions is None:
            return self
        return replace(self, body=self.reductions.body, objects=self.reductions.objects, reductions=None)

    def by_name(self, numbers: Mapping[str, int]) -> dict[str, int]:
        """The user's numbers by the names of objects inside the engine; drops unknown names."""
        return {object_.name: numbers[object_.host] for object_ in self.objects if object_.host in numbers}


@dataclass(frozen=True)
class ArrayReductions:
    """Loops that update copies of arrays (normalise/array_reductions.py): each loop as it was, with
    the arrays and the operators that combine their copies. `body` and `objects` are those of the
    kernel without copies. `worthwhile`: where it is 0 the original loops run, since copies
    would take longer.
    """

    loops: tuple[tuple[Loop, tuple[tuple[DataObject, str], ...]], ...]
    body: Block
    objects: tuple[DataObject, ...]
    worthwhile: Expression


@dataclass(frozen=True)
class Parts:
    """A split region: its outer loops end with conditions and run on the host around `kernels`.

    The rest is the user's own text. `kernels` are in textual order. `required`: the region runs in
    no other way, as host text cannot be in a kernel. `data` is a kernel of all statements, which
    tells what arrays they need; statements that may not run are in a While there. `changed` are
    scalars whose values change in the region, and arrays declared in it.
    """

    kernels: tuple[Kernel, ...]
    required: bool
    data: Kernel
    changed: frozenset[DataObject]
    exchanged: tuple[Exchanged, ...]
    reads: tuple[Type, ...] = ()
    """the types of elements that the host's text reads"""


@dataclass(frozen=True)
class Exchanged:
    """Arrays with pointers set to each other: those of kernels, and those live at the start."""

    used: tuple[DataObject, ...]
    live_in: tuple[DataObject, ...]


@dataclass(frozen=True)
class DataRegion:
    """`#pragma tilek data …` over a statement, or `enter data`, `exit data`, `update`, `wait`.

    `objects` maps each section's path to its object. `range` is the statement of a `data` region,
    or an empty range at a standalone directive.
    """

    directive: DataDirective
    objects: tuple[tuple[str, DataObject], ...]
    enclosing: Enclosing
    range: SourceRange


@dataclass(frozen=True)
class SourceFile:
    """A file with tilek directives: the main file, or a header of it.

    `pragmas` are the byte ranges of the directives, which host rewriting blanks out, and
    `replacements` other ranges of a line each, with the text that takes their place.
    """

    path: str
    text: bytes
    pragmas: tuple[SourceRange, ...]
    replacements: tuple[tuple[SourceRange, bytes], ...] = ()


@dataclass(frozen=True)
class Inclusion:
    """An `#include` directive (its whole `range`) that brings in the SourceFile `included`."""

    range: SourceRange
    included: str


@dataclass(frozen=True)
class TranslationUnit:
    """The front end's result. `files[0]` is the main file.

    `floating` tells what the compile flags allow on devices, `vectors` which registers they name on
    the host. `dependencies` are the main file and the user's headers, `system_dependencies` system
    headers. `macros` has the names of the user's macros, also from options, with the text of all
    definitions. `c90`: the flags ask for C before C99.
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
    """Whether the user asks for `sor(multilayer)`."""
    return kernel.directive.sor is not None and kernel.directive.sor.method is SorMethod.MULTILAYER
