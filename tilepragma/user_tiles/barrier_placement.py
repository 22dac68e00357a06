"""Barrier placement between sibling worker-distributed nests of a gang.

A barrier stands between two statements of a block if one holds a worker-distributed nest and one
writes what the other touches. All workers must reach it: no worker may write, or see differently,
what decides the way there. Where only the end of a launch could separate two statements, the nest
is refused.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import reduce
from typing import Any

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import Barrier, Block, ForLoop, Function, If, Loop, Statement, Switch, TileNest, While
from tilepragma.ir.traversal import nests_in, statements_of, with_blocks
from tilepragma.user_tiles.coverage import nest_axes


def insert_barriers(
    body: Block, functions: tuple[Function, ...], privates: frozenset[DataObject], diagnostics: Diagnostics
) -> Block:
    """`body` with a Barrier wherever workers must wait. Errors go to `diagnostics`."""
    return _Barriers(functions, privates, diagnostics).block(body, False, ())


@dataclass(frozen=True)
class _Touched:
    """What one statement reads and writes in memory that instances share."""

    reads: frozenset[DataObject]
    writes: frozenset[DataObject]

    def conflicts(self, later: _Touched) -> frozenset[DataObject]:
        return self.writes & (later.reads | later.writes) | later.writes & self.reads

    def union(self, later: _Touched) -> _Touched:
        return _Touched(self.reads | later.reads, self.writes | later.writes)


_NOTHING = _Touched(frozenset(), frozenset())
_EMPTY = Block(())


@dataclass(frozen=True)
class _Barriers:
    functions: tuple[Function, ...]
    privates: frozenset[DataObject]
    diagnostics: Diagnostics
    touched_by: dict[int, tuple[Statement, _Touched]] = field(default_factory=dict, compare=False)
    """what statements touch, by their identity"""

    def block(self, block: Block, repeats: bool, path: tuple[Any, ...]) -> Block:
        """`repeats`: it is the body of a sequential loop; `path`: the statements around it."""
        done: list[Statement] = []
        pending = _NOTHING
        pending_workers = False
        for statement in block.statements:
            touched = self._touched(statement)
            workers = _holds(statement, AxisKind.WORKER)
            if (workers or pending_workers) and pending.conflicts(touched):
                self._check_uniform(statement, path)
                done.append(Barrier())
                pending, pending_workers = _NOTHING, False
            self._check_launch(statement, block, touched)
            done.append(self._statement(statement, path))
            pending, pending_workers = pending.union(touched), pending_workers or workers
        around = self._touched(block)
        if repeats and _holds(block, AxisKind.WORKER) and around.conflicts(around):
            self._check_uniform(block.statements[-1], path)
            done.append(Barrier())
        return replace(block, statements=tuple(done))

    def _statement(self, statement: Statement, path: tuple[Any, ...]) -> Statement:
        path = (*path, statement)
        if isinstance(statement, Block):
            return self.block(statement, False, path[:-1])
        repeats = isinstance(statement, (Loop, ForLoop, While)) or _is_sequential(statement)
        return with_blocks(statement, lambda block: self.block(block, repeats, path))

    def _touched(self, node: Statement) -> _Touched:
        """What a statement touches: its blocks, memoized, and the rest of it."""
        if id(node) in self.touched_by:
            return self.touched_by[id(node)][1]
        below: list[_Touched] = []

        def emptied(block: Block) -> Block:
            below.append(self._touched(block))
            return _EMPTY

        if isinstance(node, Block):
            below += map(self._touched, node.statements)
        else:
            below.append(self._used(with_blocks(node, emptied)))
        touched = reduce(_Touched.union, below, _NOTHING)
        self.touched_by[id(node)] = node, touched
        return touched

    def _used(self, node: Statement) -> _Touched:
        every = uses(node, self.functions, launch=True)
        shared = [use for use in every if use.object.scope is not Scope.LOCAL and use.object not in self.privates]
        reads = frozenset(use.object for use in shared if use.reads)
        return _Touched(reads, frozenset(use.object for use in shared if use.writes))

    def _check_launch(self, statement: Statement, block: Block, touched: _Touched) -> None:
        """Gangs and threads cannot wait for each other inside a launch."""
        if not (_holds(statement, AxisKind.GANG) or _holds(statement, AxisKind.THREAD)):
            return
        for earlier in block.statements:
            if earlier is statement:
                return
            shared = self._touched(earlier).conflicts(touched)
            if shared:
                name = min(object_.host for object_ in shared)
                kind = "gangs" if _holds(statement, AxisKind.GANG) else "threads"
                self.diagnostics.error(
                    getattr(statement, "range", block.range),
                    f"this distributed loop uses '{name}' after another statement of the same launch, "
                    f"but {kind} cannot wait for each other inside a launch",
                    "take the surrounding loop out of the kernel, so that each nest becomes a launch of its own",
                )
                return

    def _check_uniform(self, statement: Statement, path: tuple[Any, ...]) -> None:
        """Whether all workers take the same way to a barrier before `statement`."""
        nests = (nest for around in path[:1] for nest in nests_in(around))
        of_workers = (nest for nest in nests if any(axis.kind is AxisKind.WORKER for axis in nest_axes(nest)))
        varying = {use.object for nest in of_workers for use in uses(nest, self.functions) if use.writes}
        for around in path:
            early = isinstance(around, (Loop, ForLoop, While)) and leaves_early(around.body)
            if early or any(use.object in varying for part in _decisions(around) for use in uses(part, self.functions)):
                self.diagnostics.error(
                    getattr(statement, "range", around.range),
                    "workers must wait for each other before this statement, but not all of them may reach it",
                    "make the condition around it depend on values that no worker writes",
                )
                return


def _is_sequential(statement: Statement) -> bool:
    """Whether a loop of the nest runs in order inside each instance."""
    loops = statement.loops if isinstance(statement, TileNest) else ()
    return any(all(tile.axis is None for tile in tiled.tiles) for tiled in loops)


def _decisions(node: Any) -> tuple[Any, ...]:
    if isinstance(node, (If, While, Switch)):
        return (node.condition,)
    if isinstance(node, ForLoop):
        return (node.condition,) if node.condition is not None else ()
    if isinstance(node, Loop):
        return node.bounds
    if isinstance(node, TileNest):
        loops = (tiled.loop for tiled in node.loops if not tiled.launch_bounds)
        return tuple(bound for loop in loops for bound in loop.bounds)
    return ()


def _holds(node: Any, kind: AxisKind) -> bool:
    return kind in _axis_kinds(node)


@once
def _axis_kinds(node: Any) -> frozenset[AxisKind]:
    """The kinds of the axes of `node` and all nests below it; memoized for nested blocks."""
    kinds = frozenset(axis.kind for axis in nest_axes(node)) if isinstance(node, TileNest) else frozenset()
    return kinds.union(*(_axis_kinds(child) for child in statements_of(node)))
