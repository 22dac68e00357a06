"""Kernels and plans built by hand, in little text: the front end and the planner have no part in the tests of emission."""

from __future__ import annotations

from dataclasses import dataclass

from tilepragma.base.ranges import Position, SourceRange
from tilepragma.ir.directives import AxisKind, ClauseExpression, CountClause, KernelDirective, Target, TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    FloatingLiteral,
    Scope,
    Storage,
    integer,
)
from tilepragma.ir.looptree import (
    Axis,
    Block,
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
from tilepragma.ir.types import DOUBLE, FLOAT, INT, Type
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, Launch, Reduction, SectionBound

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
) -> Launch:
    from tilepragma.ir.traversal import walk

    loops = [item for part in body for node in walk(part) if isinstance(node, TileNest) for item in node.loops]
    axes = {tile.axis: None for item in loops for tile in item.tiles if tile.axis is not None}
    bounded = tuple(item for item in loops if item.launch_bounds)
    return Launch(name, Block(body), bounded, tuple(axes), reductions, privates, ())


def plan(
    launches: tuple[Launch, ...],
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
        "floating": FloatingRules(False, False), "as_written": None,
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
