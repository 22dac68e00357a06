"""Kernels and plans built by hand, in little text: the front end and the planner have no part in the tests of emission."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.ir.directives import AxisKind, ClauseExpression, CountClause, KernelDirective, Target, TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    DataObject,
    Expression,
    FloatingLiteral,
    Scope,
    Storage,
    integer,
)
from tilepragma.ir.loop_tree import (
    Axis,
    Block,
    Declaration,
    Declarator,
    Enclosing,
    ExpressionStatement,
    FloatingRules,
    Kernel,
    Loop,
    Statement,
    Tile,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.types import DOUBLE, FLOAT, INT, LONG, Type
from tilepragma.plan.kernel_plan import (
    ArrayArgument,
    HostCondition,
    HostLoop,
    KernelPlan,
    Launch,
    Reduction,
    SectionBound,
    Step,
    TileSize,
)
from tilepragma.storage.staging import with_staging

FILE = "example.c"
AXES = {"thread": AxisKind.THREAD, "gang": AxisKind.GANG, "worker": AxisKind.WORKER}


def place(line: int, start: int = 0, end: int = 0) -> SourceRange:
    return SourceRange(Position(FILE, line, 1, start), Position(FILE, line, 1, end))


def clause(text: str | int) -> ClauseExpression:
    return ClauseExpression(str(text), place(1))


@dataclass(frozen=True)
class E:
    """An expression with operators."""

    node: Expression

    def __add__(self, other: object) -> E:
        return binary("+", self, other)

    def __sub__(self, other: object) -> E:
        return binary("-", self, other)

    def __mul__(self, other: object) -> E:
        return binary("*", self, other)

    def __lt__(self, other: object) -> E:
        return binary("<", self, other)

    @property
    def type(self) -> Type:
        return self.node.type


def expr(value: object) -> Expression:
    if isinstance(value, E):
        return value.node
    if isinstance(value, DataObject):
        return Access(value, (), (), value.element)
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return FloatingLiteral(value, f"{value}f", FLOAT)
    return value  # type: ignore[return-value]


def binary(operator: str, left: object, right: object) -> E:
    a, b = expr(left), expr(right)
    type_ = DOUBLE if DOUBLE in (a.type, b.type) else FLOAT if FLOAT in (a.type, b.type) else a.type
    return E(Binary(operator, a, b, INT if operator in ("<", ">", "==") else type_))


def scalar(name: str, type_: Type = INT, scope: Scope = Scope.EXTERNAL) -> DataObject:
    return DataObject(name, name, type_, Storage.SCALAR, scope)


def array(
    name: str,
    *lengths: object,
    type_: Type = FLOAT,
    storage: Storage = Storage.CONTIGUOUS,
    const: bool = False,
    scope: Scope = Scope.EXTERNAL,
) -> DataObject:
    dims = tuple(None if length is None else expr(length) for length in lengths)
    return DataObject(name, name, type_, storage, scope, dims, const)


def at(object_: DataObject, *subscripts: object) -> E:
    return E(Access(object_, tuple(expr(s) for s in subscripts), (), object_.element))


def assign(target: E | DataObject, value: object, operator: str = "=", line: int = 9) -> ExpressionStatement:
    left = expr(target)
    assert isinstance(left, Access)
    return ExpressionStatement(Assignment(operator, left, expr(value), left.type), place(line))


def loop(
    index: int,
    iterator: DataObject,
    lower: object,
    upper: object,
    body: tuple[Statement, ...] = (),
    step: object = 1,
    comparison: str = "<",
    declares: bool = True,
) -> Loop:
    return Loop(
        index, iterator, declares, expr(lower), comparison, expr(upper), expr(step),
        comparison in (">", ">="), Block(body), None, place(index + 5), place(index + 5),
    )  # fmt: skip


def tiled(source: Loop, tiles: str, launch_bounds: bool = True, symbol: str | None = None) -> TiledLoop:
    """`tiles`: "gang0 worker0 static4 dynamic size32"."""
    made = []
    for position, text in enumerate(tiles.split()):
        kind = text.rstrip("0123456789")
        digits = text[len(kind) :]
        axis = Axis(AXES[kind], int(digits or 0)) if kind in AXES else None
        argument = clause(digits) if kind in ("static", "size") else None
        made.append(Tile(source.index, position, TileKind(kind), argument, axis))
    return TiledLoop(source, symbol or source.iterator.name, tuple(made), launch_bounds)


def nest(loops: list[TiledLoop], body: tuple[Statement, ...], order: str | None = None) -> TileNest:
    """`order`: "0.0 1.0 0.1", loop position and tile position; by default each loop's tiles in turn."""
    tiles = [tile for item in loops for tile in item.tiles]
    if order is not None:
        pairs = [tuple(int(part) for part in text.split(".")) for text in order.split()]
        tiles = [loops[which].tiles[position] for which, position in pairs]
    return TileNest(tuple(loops), tuple(tiles), Block(body))


def argument(object_: DataObject, *section: object, reads: bool = True, writes: bool = False) -> ArrayArgument:
    """`section`: a length, or (lower, length), a dimension."""
    bounds = tuple(
        SectionBound(*(expr(part) for part in item)) if isinstance(item, tuple) else SectionBound(expr(0), expr(item))
        for item in section
    )
    return ArrayArgument(object_, bounds, reads, writes, True, writes)


def launch(
    name: str,
    body: tuple[Statement, ...],
    reductions: tuple[Reduction, ...] = (),
    privates: tuple[DataObject, ...] = (),
    values: tuple[DataObject, ...] = (),
) -> Launch:
    from tilepragma.ir.traversal import walk

    loops = [item for part in body for node in walk(part) if isinstance(node, TileNest) for item in node.loops]
    axes = {tile.axis: None for item in loops for tile in item.tiles if tile.axis is not None}
    bounded = tuple(item for item in loops if item.launch_bounds)
    return Launch(name, Block(body), bounded, tuple(axes), reductions, privates, (), values)


def helper(name: str, *arguments: object) -> E:
    """A call of a helper of tilek.h: `helper("minimum", a, b)`."""
    return E(Call(f"tilek_{name}", Callee.HELPER, tuple(expr(argument) for argument in arguments), LONG))


def plan(
    launches: tuple[Step, ...],
    arrays: tuple[ArrayArgument, ...],
    scalars: tuple[DataObject, ...] = (),
    counts: str = "",
    name: str = "scale",
    directive: KernelDirective | None = None,
    functions: tuple[object, ...] = (),
    records: tuple[object, ...] = (),
    range_: SourceRange | None = None,
    insertion: int = 0,
    **changes: object,
) -> KernelPlan:
    kernel = Kernel(
        name, directive or KernelDirective(place(4)), Block(()),
        (*(item.object for item in arrays), *scalars), functions, records,  # type: ignore[arg-type]
        frozenset(), Enclosing("f", FILE, insertion), range_ or place(4),
    )  # fmt: skip
    clauses = []
    for text in counts.split():
        kind, count = text.split(":")
        clauses.append(CountClause(AXES[kind[:-1]], int(kind[-1]), clause(count), place(3)))
    values: dict[str, object] = {
        "prologue": (), "host_steps": launches, "device_steps": launches, "final_values": (),
        "targets": (Target.SERIAL, Target.THREADS, Target.OPENCL, Target.CUDA), "preferred": Target.AUTO,
        "floating": FloatingRules(False, False), "untransformed": None,
    }  # fmt: skip
    return KernelPlan(kernel=kernel, arrays=arrays, scalars=scalars, counts=tuple(clauses), **(values | changes))  # type: ignore[arg-type]


def listing3(
    tiles_i: str = "gang0 worker0 dynamic", tiles_j: str = "gang1 worker1 dynamic", **more: object
) -> KernelPlan:
    """Listings 1 to 3: `A[i][j] += b` with the tiles given."""
    n, m, b = scalar("n"), scalar("m"), scalar("b", FLOAT)
    i, j = scalar("i", scope=Scope.LOCAL), scalar("j", scope=Scope.LOCAL)
    matrix = array("A", n, m)
    body = (assign(at(matrix, i, j), b, "+="),)
    order = more.pop("order", None)
    parts = [tiled(loop(0, i, 0, n), tiles_i), tiled(loop(1, j, 0, m), tiles_j)]
    made = launch("scale", (nest(parts, body, order),))  # type: ignore[arg-type]
    return plan((made,), (argument(matrix, n, m, writes=True),), (b,), **more)  # type: ignore[arg-type]


def convolution() -> KernelPlan:
    """2d-conv of Listing 7 (three of its terms) on packed rows."""
    n, m = scalar("n"), scalar("m")
    i, j = scalar("i", scope=Scope.LOCAL), scalar("j", scope=Scope.LOCAL)
    a, b = array("A", None, None, storage=Storage.ROWS), array("B", None, None, storage=Storage.ROWS)
    value = at(a, E(expr(i)) - 1, E(expr(j)) - 1) * 0.2 + at(a, i, j) * 0.5 + at(a, E(expr(i)) + 1, j) * -0.8
    parts = [
        tiled(loop(0, i, 1, E(expr(n)) - 1), "gang0 worker0 dynamic"),
        tiled(loop(1, j, 1, E(expr(m)) - 1), "gang1 dynamic worker1"),
    ]
    made = launch("conv", (nest(parts, (assign(at(b, i, j), value),)),))
    rows, columns = E(expr(n)) - 2, E(expr(m)) - 2
    return plan((made,), (argument(a, n, m), argument(b, (1, rows), (1, columns), writes=True)), name="conv")


def dot(tiles: str = "gang0 dynamic worker0", operator: str = "+", type_: Type = FLOAT) -> KernelPlan:
    """`s += x[i] * y[i]`."""
    n, s, i = scalar("n"), scalar("s", type_), scalar("i", scope=Scope.LOCAL)
    x, y = array("x", None, type_=type_), array("y", None, type_=type_)
    product = at(x, i) * at(y, i)
    body = (assign(s, product, "+="),) if operator == "+" else (assign(s, product),)
    made = launch("dot", (nest([tiled(loop(0, i, 0, n), tiles)], body),), (Reduction(operator, s),))
    arguments = (argument(x, n), argument(y, n), argument(s, writes=True))
    return plan((made,), arguments, name="dot")


def triangle(tiles_i: str = "gang0 worker0 dynamic", tiles_j: str = "gang1 worker1 dynamic") -> KernelPlan:
    """`for i < n: for (j = i; j <= n; j += 2) A[i][j] = 1`, the inner numbers computed in the kernel."""
    n = scalar("n")
    i, j = scalar("i", scope=Scope.LOCAL), scalar("j", scope=Scope.LOCAL)
    matrix = array("A", n, 100)
    parts = [
        tiled(loop(0, i, 0, n), tiles_i),
        tiled(loop(1, j, i, n, step=2, comparison="<="), tiles_j, launch_bounds=False),
    ]
    made = launch("triangle", (nest(parts, (assign(at(matrix, i, j), 1.0),)),))
    return plan((made,), (argument(matrix, n, 100, writes=True),), (n,), name="triangle")


def jacobi() -> KernelPlan:
    """Two launches in a loop over time of the host; the second uses the time step."""
    n, steps = scalar("n"), scalar("steps")
    t, i, j = (scalar(name, scope=Scope.LOCAL) for name in "tij")
    a, b = array("A", n, n), array("B", n, n)
    inner = E(expr(n)) - 1

    def sweep(number: int, target: DataObject, value: E) -> Launch:
        parts = [
            tiled(loop(number, i, 1, inner), "gang0 worker0 dynamic", symbol=f"i{number}"),
            tiled(loop(number + 1, j, 1, inner), "gang1 worker1 dynamic", symbol=f"j{number}"),
        ]
        values = (t,) if number > 1 else ()
        return launch(
            f"jacobi_nest{number // 2 + 1}", (nest(parts, (assign(at(target, i, j), value),)),), values=values
        )

    left = at(a, i, E(expr(j)) - 1) * 0.5
    right = at(b, i, E(expr(j)) + 1) * 0.5 + t
    sweeps = (sweep(1, b, left), sweep(3, a, right))
    time = HostLoop(loop(0, t, 0, steps), sweeps)
    arguments = (argument(a, n, n, writes=True), argument(b, n, n, writes=True))
    return plan((time,), arguments, (steps, n), name="jacobi")


def product() -> KernelPlan:
    """A sum of products in a scalar: what gangs stage of both arrays, a tile of the sequential loop at a time."""
    n, m, p = (scalar(name) for name in "nmp")
    i, j, k = (scalar(name, scope=Scope.LOCAL) for name in "ijk")
    total = scalar("total", FLOAT, Scope.LOCAL)
    a, b, c = array("A", n, p), array("B", p, m), array("C", n, m)
    body = (
        Declaration((Declarator(total, expr(at(c, i, j))),), place(8)),
        loop(2, k, 0, p, (assign(total, at(a, i, k) * at(b, k, j), "+="),)),
        assign(at(c, i, j), total),
    )
    parts = [tiled(loop(0, i, 0, n), "dynamic gang1 worker1"), tiled(loop(1, j, 0, m), "dynamic gang0 worker0")]
    arguments = (argument(a, n, p), argument(b, p, m), argument(c, n, m, writes=True))
    made = plan(
        (launch("product", (nest(parts, body, "0.0 1.0 0.1 1.1 0.2 1.2"),)),), arguments, (n, m, p), name="product"
    )
    return with_staging(replace(made, assumes_disjoint=True))


def elimination() -> KernelPlan:
    """A loop of the host downwards, with launches over what is left, one of them under a condition, and a reduction over it."""
    n, s = scalar("n"), scalar("s", DOUBLE)
    k, i = scalar("k", scope=Scope.LOCAL), scalar("i", scope=Scope.LOCAL)
    matrix = array("A", n, n, type_=DOUBLE)
    scale = tiled(loop(1, i, E(expr(k)) + 1, n), "gang0 worker0 dynamic", symbol="i1")
    total = tiled(loop(2, i, E(expr(k)) + 1, n), "gang0 worker0 dynamic", symbol="i2")
    border = tiled(loop(3, i, 0, n), "gang0 worker0 dynamic", symbol="i3")
    launches = (
        launch("elimination_nest1", (nest([scale], (assign(at(matrix, i, k), at(matrix, k, k), "/="),)),), values=(k,)),
        launch(
            "elimination_nest2", (nest([total], (assign(s, at(matrix, i, k), "+="),)),), (Reduction("+", s),), (), (k,)
        ),
        HostCondition(
            expr(binary(">", k, 2)),
            (
                launch(
                    "elimination_nest3", (nest([border], (assign(at(matrix, i, 0), at(matrix, i, k)),)),), values=(k,)
                ),
            ),
        ),
    )
    down = HostLoop(loop(0, k, E(expr(n)) - 1, 0, step=-1, comparison=">="), launches)
    arguments = (argument(matrix, n, n, writes=True), argument(s, writes=True))
    return plan((down,), arguments, (n,), name="elimination")


def wavefronts() -> KernelPlan:
    """Tiles of a symbolic size on diagonals: their number on one depends on the diagonal, the tile's points on tile and size."""
    n = scalar("n")
    size = scalar("t_size", LONG, Scope.LOCAL)
    w, x, i, j = (scalar(name, LONG, Scope.LOCAL) for name in ("w", "x", "i", "j"))
    matrix = array("A", n, n, type_=DOUBLE)
    tiles = helper("ceiling_quotient", n, size)
    across = loop(
        1, x, helper("maximum", 0, E(expr(w)) - tiles + 1), helper("minimum", E(expr(w)) + 1, tiles), comparison="<"
    )

    def points(index: int, iterator: DataObject, tile: object, body: tuple[Statement, ...]) -> Loop:
        first = E(expr(tile)) * size
        return loop(index, iterator, first, helper("minimum", first + size, n), body)

    body = assign(at(matrix, i, j), at(matrix, i, j) + at(matrix, j, i))
    inside = points(2, i, x, (points(3, j, E(expr(w)) - E(expr(x)), (body,)),))
    one = launch("wavefronts_tiles", (nest([tiled(across, "gang0 dynamic")], (inside,)),), values=(w,))
    front = HostLoop(loop(0, w, 0, tiles * 2 - 1), (one,))
    sizes = (TileSize(size, 32, 16),)
    return plan((front,), (argument(matrix, n, n, writes=True),), (n,), name="wavefronts", sizes=sizes)
