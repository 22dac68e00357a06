"""Plans written in C, for proofs that need a plan which no planner would make.

A text has two kernels. The first is the region. The second says how the plan runs it: loops over
`h…` are the host's, `g…` are distributed to gangs, `w…` to workers, `x…` to threads, all others are
plain. Anything else in a host loop, or at the top, is a launch. Its statements are those of the
region, matched by text; the text declares iterators where no loop has them. `barrier = 0;` is a
barrier. Parameters `s…` of type long are tile sizes.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator
from typing import Any

from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.ir.directives import AxisKind, Target, TileKind
from tilepragma.ir.expressions import Access, Assignment, DataObject, Scope, Storage, integer
from tilepragma.ir.loop_tree import (
    Axis,
    Barrier,
    Block,
    Declarator,
    ExpressionStatement,
    If,
    Kernel,
    Loop,
    Statement,
    Tile,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import walk, with_blocks
from tilepragma.plan.kernel_plan import (
    ArrayArgument,
    HostCondition,
    HostLoop,
    KernelPlan,
    Launch,
    SectionBound,
    Step,
    TileSize,
)

_KINDS = {"g": AxisKind.GANG, "w": AxisKind.WORKER, "x": AxisKind.THREAD}


def plan_of(source: str) -> KernelPlan:
    """The plan that the text's second kernel describes for the region in the first."""
    diagnostics = Diagnostics()
    unit = parse_translation_unit("t.c", textwrap.dedent(source).encode(), CompilerFlags(), diagnostics)
    assert unit is not None and not diagnostics.has_errors, [item.message for item in diagnostics]
    region, text = unit.kernels
    sizes = [o for o in text.objects if o.storage is Storage.SCALAR and o.name.startswith("s")]
    symbols = {o: dataclasses.replace(o, scope=Scope.LOCAL) for o in sizes}
    maker = _Maker(region)
    steps = tuple(maker.steps(with_objects(text.body, symbols).statements))
    return KernelPlan(
        kernel=region,
        prologue=(),
        host_steps=steps,
        device_steps=steps,
        arrays=tuple(_argument(o) for o in region.objects if o.storage is not Storage.SCALAR),
        scalars=(),
        counts=(),
        final_values=(),
        targets=(Target.SERIAL,),
        preferred=Target.AUTO,
        floating=unit.floating,
        sizes=tuple(TileSize(o, 4, 32) for o in symbols.values()),
    )


def _argument(object_: DataObject) -> ArrayArgument:
    section = tuple(SectionBound(integer(0), length) for length in object_.lengths if length is not None)
    return ArrayArgument(object_, section, True, True, True, True)


class _Maker:
    def __init__(self, region: Kernel) -> None:
        self.statements = {
            expression_text(node.expression): node
            for node in walk(region.body)
            if isinstance(node, ExpressionStatement)
        }
        self.launches = 0

    def steps(self, statements: tuple[Statement, ...]) -> Iterator[Step]:
        for statement in statements:
            if isinstance(statement, Loop) and statement.iterator.name.startswith("h"):
                yield HostLoop(
                    dataclasses.replace(statement, body=Block(())), tuple(self.steps(statement.body.statements))
                )
            elif isinstance(statement, If) and _is_host(statement):
                yield HostCondition(statement.condition, tuple(self.steps(statement.then.statements)))
            else:
                self.launches += 1
                body = Block((self.statement(statement, {}),))
                axes = {
                    tile.axis: None
                    for nest in walk(body)
                    if isinstance(nest, TileNest)
                    for tile in nest.order
                    if tile.axis
                }
                yield Launch(f"launch{self.launches}", body, (), tuple(axes), (), (), ())

    def block(self, block: Block, names: dict[str, DataObject]) -> Block:
        names = dict(names)
        made = []
        for statement in block.statements:
            names |= {node.object.host: node.object for node in walk(statement) if isinstance(node, Declarator)}
            made.append(self.statement(statement, names))
        return Block(tuple(made))

    def statement(self, statement: Statement, names: dict[str, DataObject]) -> Statement:
        if isinstance(statement, Loop):
            names = {**names, statement.iterator.host: statement.iterator}
            if statement.iterator.name[0] in _KINDS:
                return self.nest(statement, names)
        if isinstance(statement, ExpressionStatement):
            return self.leaf(statement, names)
        if isinstance(statement, Block):
            return self.block(statement, names)
        return with_blocks(statement, lambda block: self.block(block, names))

    def nest(self, loop: Loop, names: dict[str, DataObject]) -> TileNest:
        kind = _KINDS[loop.iterator.name[0]]
        tiles = (
            Tile(loop.index, 0, TileKind.DYNAMIC, None, None, NOWHERE),
            Tile(loop.index, 1, TileKind(kind.value), None, Axis(kind, 0), NOWHERE),
        )
        return TileNest((TiledLoop(loop, loop.iterator.name, tiles, False),), tiles, self.block(loop.body, names))

    def leaf(self, statement: ExpressionStatement, names: dict[str, DataObject]) -> Statement:
        target = statement.expression.target if isinstance(statement.expression, Assignment) else None
        if target is not None and target.object.host == "barrier":
            return Barrier()
        original = self.statements.get(_text(statement))
        if original is None:
            return statement
        mentioned = {node.object for node in walk(original) if isinstance(node, Access)}
        return with_objects(original, {o: names[o.host] for o in mentioned if o.host in names})


def _text(statement: ExpressionStatement) -> str:
    """The statement in the user's words: objects of one name in different scopes look the same."""
    objects = {node.object for node in walk(statement) if isinstance(node, Access)}
    plain = with_objects(statement, {o: dataclasses.replace(o, name=o.host) for o in objects})
    return expression_text(plain.expression)


def _is_host(statement: If) -> bool:
    """Whether the condition stands around loops of the host."""
    inside: list[Any] = [node for node in walk(statement.then) if isinstance(node, Loop)]
    return any(loop.iterator.name.startswith("h") for loop in inside)
