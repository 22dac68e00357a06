"""Plans with loops of the host around launches, made from C text by names, without the planner.

Loops whose iterator begins with `t` or `k` run on the host. Chains of other loops are launches,
with every loop with its own bounds distributed. Loops over `q…` stay as they are, and code without
loops is a launch of one instance. A nest over `x…` and `y…` runs by tiles of a symbolic size on
diagonals, in order on the host. Where launches are cut, workers also run the points of a tile by
diagonals, with barriers between them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.manifest import describe
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.host.rewriter import rewrite
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import AxisKind, Target, TileKind
from tilepragma.ir.expressions import Access, Binary, Call, Callee, DataObject, Expression, Scope, Storage, integer
from tilepragma.ir.loop_tree import (
    Axis,
    Barrier,
    Block,
    Declaration,
    Declarator,
    If,
    Kernel,
    Loop,
    Statement,
    Tile,
    TiledLoop,
    TileNest,
    TranslationUnit,
)
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG
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
from tilepragma.schedule.user_launches import launch_loops

TARGETS = (Target.SERIAL, Target.THREADS, Target.OPENCL, Target.CUDA)


@dataclasses.dataclass(frozen=True)
class Making:
    """How a plan is made. Launches reduce the scalars in `reduced`. On `blocked` kinds of targets
    ("host", "device") the outermost loop of every launch is cut into tiles of the symbol `i_size`,
    each an instance.
    """

    reduced: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()


def translated(
    path: Path, making: Making, targets: tuple[Target, ...] = TARGETS
) -> tuple[bytes, tuple[KernelPlan, ...]]:
    """The source at `path` with its kernels launched by such plans; and the plans."""
    result = translate(TranslateRequest(str(path), last="parse"))
    assert result.unit is not None
    assert result.succeeded, result.diagnostics
    plans = tuple(make(kernel, result.unit, making) for kernel in result.unit.kernels)
    manifests = [describe(plan, targets) for plan in plans]
    return rewrite(result.unit, manifests, f"{path.stem}.tk.c"), plans


def make(kernel: Kernel, unit: TranslationUnit, making: Making = Making()) -> KernelPlan:
    """The plan of one region."""
    host, device = (
        tuple(_Maker(kernel, making.reduced, kind in making.blocked).steps(kernel.body.statements, ()))
        for kind in ("host", "device")
    )
    written = {use.object for use in uses(kernel.body, kernel.functions) if use.writes}
    arrays = tuple(
        _argument(o, o in written) for o in kernel.objects if o.storage is not Storage.SCALAR or o in written
    )
    scalars = tuple(o for o in kernel.objects if o.storage is Storage.SCALAR and o not in written)
    return KernelPlan(
        kernel=kernel,
        prologue=(),
        host_steps=host,
        device_steps=device,
        arrays=arrays,
        scalars=scalars,
        counts=(),
        final_values=(),
        targets=TARGETS,
        preferred=Target.AUTO,
        floating=unit.floating,
        sizes=(TileSize(SIZE, 7, 16),),
    )


SIZE = DataObject("i_size", "i_size", LONG, Storage.SCALAR, Scope.LOCAL)
TILE = DataObject("i_tile", "i_tile", LONG, Storage.SCALAR, Scope.LOCAL)
FRONT = DataObject("front", "front", LONG, Storage.SCALAR, Scope.LOCAL)


def _argument(object_: DataObject, writes: bool) -> ArrayArgument:
    section = tuple(SectionBound(integer(0), length) for length in object_.lengths if length is not None)
    return ArrayArgument(object_, section, True, writes, True, writes)


class _Maker:
    def __init__(self, kernel: Kernel, reduced: frozenset[str], blocked: bool) -> None:
        self.kernel = kernel
        self.reduced = reduced
        self.cut = blocked
        self.count = 0

    def steps(self, statements: tuple[Statement, ...], around: tuple[DataObject, ...]) -> Iterator[Step]:
        for statement in statements:
            if isinstance(statement, Loop) and statement.iterator.name[0] in "tk":
                inner = tuple(self.steps(statement.body.statements, (*around, statement.iterator)))
                yield HostLoop(dataclasses.replace(statement, body=Block(())), inner)
            elif isinstance(statement, Loop) and statement.iterator.name[0] == "x":
                yield self.fronts(statement)
            elif isinstance(statement, If):
                assert statement.otherwise is None
                yield HostCondition(statement.condition, tuple(self.steps(statement.then.statements, around)))
            elif isinstance(statement, Block):
                yield from self.steps(statement.statements, around)
            else:
                yield self.launch(statement, around)

    def launch(self, statement: Statement, around: tuple[DataObject, ...]) -> Launch:
        self.count += 1
        if isinstance(statement, Loop) and statement.iterator.name[0] != "q":
            statement = self.blocked(statement) if self.cut else self.nest(statement)
        body = Block((statement,))
        mentioned = {use.object for use in uses(body, launch=True)}
        axes = {
            tile.axis: None for node in walk(body) if isinstance(node, TileNest) for tile in node.order if tile.axis
        }
        reduced = tuple(
            Reduction("+", o) for o in self.kernel.objects if o.name in self.reduced and axes and o in mentioned
        )
        values = tuple(o for o in around if o in mentioned)
        name = f"{self.kernel.name}_nest{self.count}"
        return Launch(name, body, launch_loops(body), tuple(axes), reduced, (), (), values)

    def nest(self, outermost: Loop) -> TileNest:
        """The chain of independent loops, the outer two distributed over gangs and workers."""
        chain = [outermost]
        while len(chain[-1].body.statements) == 1 and isinstance(chain[-1].body.statements[0], Loop):
            inner = chain[-1].body.statements[0]
            read = {
                node.object
                for part in (inner.lower, inner.upper, inner.step)
                for node in walk(part)
                if isinstance(node, Access)
            }
            if inner.iterator.name[0] == "q" or read & {loop.iterator for loop in chain} or len(chain) == 2:
                break
            chain.append(inner)
        return _tile_nest(chain, chain[-1].body)

    def blocked(self, loop: Loop) -> TileNest:
        """An instance for each tile of `loop`: `for (i = lower + i_tile * i_size; …; ++i)`."""
        span = Binary("-", loop.upper, loop.lower, loop.upper.type)
        extent = Binary("*", _read(SIZE), loop.step, LONG)
        count = Call("tilek_ceiling_quotient", Callee.HELPER, (span, extent), LONG)
        tile = dataclasses.replace(
            loop,
            index=1000 + loop.index,
            iterator=TILE,
            declares_iterator=True,
            lower=integer(0),
            upper=count,
            step=integer(1),
            body=Block(()),
        )
        first = Binary("+", loop.lower, Binary("*", _read(TILE), extent, LONG), LONG)
        beyond = Binary("+", first, extent, LONG)
        last = Call("tilek_minimum", Callee.HELPER, (beyond, loop.upper), LONG)
        points = dataclasses.replace(loop, lower=first, upper=last)
        return _tile_nest([tile], Block((points,)))

    def fronts(self, outer: Loop) -> HostLoop:
        """`for (front…) for (i_tile) for (x) for (y in tile front - i_tile)`; literals, step 1."""
        (inner,) = outer.body.statements
        assert isinstance(inner, Loop)
        rows, columns = (
            _call("ceiling_quotient", _plus("-", loop.upper, loop.lower), _read(SIZE)) for loop in (outer, inner)
        )
        lower = _call("maximum", integer(0), _plus("+", _plus("-", _read(FRONT), columns), integer(1)))
        upper = _call("minimum", _plus("+", _read(FRONT), integer(1)), rows)
        column = _plus("-", _read(FRONT), _read(TILE))
        points: Statement = _tile(outer, _read(TILE), Block((_tile(inner, column, inner.body),)))
        if self.cut:
            points = _diagonals(outer, inner, _read(TILE), column)
        across = dataclasses.replace(outer, index=2000, iterator=TILE, lower=lower, upper=upper, body=Block(()))
        body = Block((_tile_nest([across], Block((points,)), workers=False),))
        axes = tuple(
            dict.fromkeys(t.axis for node in walk(body) if isinstance(node, TileNest) for t in node.order if t.axis)
        )
        name = f"{self.kernel.name}_tiles"
        launch = Launch(name, body, launch_loops(body), axes, (), (), (), (FRONT,))
        count = _plus("-", _plus("+", rows, columns), integer(1))
        loop = dataclasses.replace(outer, index=2001, iterator=FRONT, lower=integer(0), upper=count, body=Block(()))
        return HostLoop(loop, (launch,))


def _diagonals(outer: Loop, inner: Loop, row: Expression, column: Expression) -> Statement:
    """`for (d…) { for (p of diagonal d, over workers) { x = …; if (x is in) … } barrier }`."""
    d, p = (DataObject(name, name, LONG, Storage.SCALAR, Scope.LOCAL) for name in ("d", "p"))

    def guarded(loop: Loop, tile: Expression, offset: Expression, body: Block) -> tuple[Statement, ...]:
        value = _plus("+", _plus("+", loop.lower, Binary("*", tile, _read(SIZE), LONG)), offset)
        inside = Binary("<", _read(loop.iterator), loop.upper, INT)
        return Declaration((Declarator(loop.iterator, value),)), If(inside, body, None)

    across = Block(guarded(inner, column, _plus("-", _read(d), _read(p)), inner.body))
    body = Block(guarded(outer, row, _read(p), across))
    first = _call("maximum", integer(0), _plus("+", _plus("-", _read(d), _read(SIZE)), integer(1)))
    last = _call("minimum", _plus("+", _read(d), integer(1)), _read(SIZE))
    points = dataclasses.replace(
        outer, index=2002, iterator=p, declares_iterator=True, lower=first, upper=last, body=Block(())
    )
    kinds = (TileKind.DYNAMIC, None), (TileKind.WORKER, Axis(AxisKind.WORKER, 0))
    tiles = tuple(Tile(2002, position, kind, None, axis, NOWHERE) for position, (kind, axis) in enumerate(kinds))
    nest = TileNest((TiledLoop(points, "p", tiles, False),), tiles, body)
    count = _plus("-", Binary("*", _read(SIZE), integer(2), LONG), integer(1))
    return dataclasses.replace(
        outer,
        index=2003,
        iterator=d,
        declares_iterator=True,
        lower=integer(0),
        upper=count,
        body=Block((nest, Barrier())),
    )


def _tile(loop: Loop, number: Expression, body: Block) -> Loop:
    first = _plus("+", loop.lower, Binary("*", number, _read(SIZE), LONG))
    last = _call("minimum", _plus("+", first, _read(SIZE)), loop.upper)
    return dataclasses.replace(loop, lower=first, upper=last, body=body)


def _call(name: str, *arguments: Expression) -> Call:
    return Call(f"tilek_{name}", Callee.HELPER, arguments, LONG)


def _plus(operator: str, left: Expression, right: Expression) -> Binary:
    return Binary(operator, left, right, LONG)


def _read(object_: DataObject) -> Expression:
    return Access(object_, (), (), object_.element)


def _tile_nest(chain: list[Loop], body: Block, workers: bool = True) -> TileNest:
    tiled = []
    for dimension, loop in enumerate(chain):
        kinds = ((TileKind.GANG, AxisKind.GANG), (TileKind.WORKER, AxisKind.WORKER))[: 1 + workers]
        tiles = [
            Tile(loop.index, position, kind, None, Axis(axis, dimension), NOWHERE)
            for position, (kind, axis) in enumerate(kinds)
        ]
        tiles.append(Tile(loop.index, len(tiles), TileKind.DYNAMIC, None, None, NOWHERE))
        tiled.append(TiledLoop(loop, f"{loop.iterator.name}{loop.index}", tuple(tiles), True))
    order = tuple(tile for position in range(3) for loop in tiled for tile in loop.tiles[position : position + 1])
    return TileNest(tuple(tiled), order, body)
