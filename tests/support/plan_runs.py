"""Runs a plan's steps point by point in Python, without data: launches, tiles, points, accesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tests.support.interpreter import Interpreter
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import Access, Scope, Storage
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Declaration,
    ExpressionStatement,
    If,
    Loop,
    PackedPanels,
    Stage,
    Statement,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, Launch, Step


@dataclass
class TileRun:
    """One iteration of the loops over gangs or threads: its points, also by nest of workers."""

    points: int = 0
    fronts: list[int] = field(default_factory=list)
    touched: dict[tuple[str, bool], set[tuple[int, ...]]] = field(default_factory=dict)
    """elements by array and whether they are written"""


@dataclass
class LaunchRun:
    """One launch."""

    name: str
    points: int = 0
    tiles: list[TileRun] = field(default_factory=list)
    places: dict[tuple[int, ...], int] = field(default_factory=dict)
    current: int = 0

    def enter(self, values: tuple[int, ...]) -> None:
        """Continue with the tile where the distributed loops have these values."""
        self.current = self.places.setdefault(values, len(self.tiles))
        if self.current == len(self.tiles):
            self.tiles.append(TileRun())

    @property
    def tile(self) -> TileRun:
        """The running tile."""
        return self.tiles[self.current]


def run_steps(steps: tuple[Step, ...], scalars: Mapping[str, int]) -> list[LaunchRun]:
    """All launches in order; a point is a run of a block's consecutive statements."""
    run = StepsRun(dict(scalars))
    run.steps(steps)
    return run.launches


@dataclass
class StepsRun(Interpreter):
    launches: list[LaunchRun] = field(default_factory=list)

    def steps(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            if isinstance(step, Launch):
                self.launches.append(LaunchRun(step.name))
                self.run(step.body)
            elif isinstance(step, HostLoop):
                self.run(replace(step.loop, body=Block((_Steps(step.steps),))))  # type: ignore[arg-type]
            elif isinstance(step, HostCondition) and self.value(step.condition):
                self.steps(step.steps)

    def run(self, statement: Statement) -> None:
        match statement:
            case _Steps(steps):
                self.steps(steps)
            case TileNest():
                self._nest(statement)
            case PackedPanels():
                self.run(statement.body)
            case Barrier() | Stage():
                pass
            case ExpressionStatement():
                self._touch(statement)
            case _Read(declaration):
                self._touch(declaration)
            case _Tile(body, iterators):
                self.launches[-1].enter(tuple(self.scalars[name] for name in iterators))
                self.run(body)
            case If() if _on_data(statement):
                self._touch(statement)
            case _:
                super().run(statement)

    def _nest(self, nest: TileNest) -> None:
        axes = [tile.axis for tile in nest.order if tile.axis is not None]
        outermost = any(axis.kind in (AxisKind.GANG, AxisKind.THREAD) for axis in axes)
        body: Statement = nest.body
        distributed = [tiled for tiled in nest.loops if any(tile.axis for tile in tiled.tiles)]
        body = _around([tiled for tiled in nest.loops if tiled not in distributed], body)
        if outermost:
            body = _Tile(Block((body,)), tuple(tiled.loop.iterator.name for tiled in distributed))  # type: ignore[assignment]
        body = _around(distributed, body)
        before = self.launches[-1].points
        self.run(body)
        if axes and not outermost:
            self.launches[-1].tile.fronts.append(self.launches[-1].points - before)

    def _touch(self, statement: Statement) -> None:
        launch = self.launches[-1]
        for use in uses(statement) if launch.tiles else ():
            if use.object.storage is Storage.SCALAR or use.object.scope is Scope.GANG:
                continue
            element = tuple(self.value(subscript) for subscript in use.subscripts)
            for writes, done in ((False, use.reads), (True, use.writes)):
                if done:
                    launch.tile.touched.setdefault((use.object.name, writes), set()).add(element)

    def _block(self, block: Block) -> set[str]:
        if any(
            isinstance(child, ExpressionStatement) or (isinstance(child, If) and _on_data(child))
            for child in block.statements
        ):
            self.launches[-1].points += 1
            if self.launches[-1].tiles:
                self.launches[-1].tile.points += 1
        statements: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Declaration):
                statements.append(_Read(statement))  # type: ignore[arg-type]
            if not isinstance(statement, Declaration) or _is_integer(statement):
                statements.append(statement)
        return super()._block(replace(block, statements=tuple(statements)))


def _around(loops: list[TiledLoop], body: Statement) -> Statement:
    for tiled in reversed(loops):
        body = replace(tiled.loop, declares_iterator=True, body=Block((body,)))
    return body


@dataclass(frozen=True)
class _Steps:
    """Steps in place of a loop's body."""

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class _Tile:
    """The body of a tile in place of a statement."""

    body: Block
    iterators: tuple[str, ...]


@dataclass(frozen=True)
class _Read:
    """A declaration's reads in place of a statement."""

    declaration: Declaration


def _on_data(statement: If) -> bool:
    return any(isinstance(node, Access) and node.subscripts for node in walk(statement.condition)) and not any(
        isinstance(node, Loop) for node in walk(statement)
    )


def _is_integer(declaration: Declaration) -> bool:
    return all(
        isinstance(declarator.object.element, ScalarType)
        and declarator.object.element.is_integer
        and declarator.initializer is not None
        for declarator in declaration.declarators
    )
