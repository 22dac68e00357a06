"""Run device launches that do not depend on each other as one launch.

    launch A;  launch B;   ->   launch { A;  B; }

Each worker executes its iterations of A, then its own of B. That is right where

    { S[i] -> T[j] : a dependence, S in A, T in B, in one iteration of the host's loops } is empty

A launch joins the earliest one behind all that it depends on. A launch costs microseconds, as much
as thousands of instructions. Only plain nests are joined, all of whose loops are distributed, so
that none is staged or has points, and statements of one instance. A launch of fewer dimensions gets
loops of one iteration for the axes that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import Block, ExpressionStatement, Loop, Statement
from tilepragma.ir.polynomial import number
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.lower.band_loops import counted_loop
from tilepragma.plan.space_time import Hyperplane, Meanings, statement_ranges
from tilepragma.poly.dependences import Dependence
from tilepragma.schedule.candidate import Region
from tilepragma.schedule.tree import LaunchNode, ScheduleNode

#: Registers of a launch are those of its hungriest statement.
_MOST_STATEMENTS = 8

_Axes = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class LaunchFusion:
    """Joins launches of `region`. `numbers` are those of new loops, `meanings` of iterators."""

    region: Region
    numbers: Iterator[int]
    meanings: Meanings

    def fused(self, nodes: tuple[ScheduleNode, ...], around: int) -> tuple[ScheduleNode, ...]:
        """Nodes that run one after another inside `around` loops of the host."""
        result: list[ScheduleNode] = []
        for node in nodes:
            place = len(result)
            while place > 0 and self._are_independent(result[place - 1], node, around):
                place -= 1
            # The launch before `place` must run first; any behind it may take the node in.
            places = range(place, len(result))
            joined = ((place, self._joined(result[place], node, around)) for place in places)
            for place, launch in joined:
                if launch is not None:
                    result[place] = launch
                    break
            else:
                result.append(node)
        return tuple(result)

    def _are_independent(self, first: ScheduleNode, second: ScheduleNode, around: int) -> bool:
        """Whether two plain launches may run in either order."""
        if not (isinstance(first, LaunchNode) and isinstance(second, LaunchNode)):
            return False
        sources, sinks = self._statements(first, around), self._statements(second, around)
        if not (sources and sinks and _is_plain(first) and _is_plain(second)):
            return False
        between = (each for each in self.region.dependences if each.ends[0] in sources and each.ends[1] in sinks)
        return all(_in_one_iteration(dependence, around).is_empty() for dependence in between)

    def _joined(self, first: ScheduleNode, second: ScheduleNode, around: int) -> LaunchNode | None:
        """The launch of two independent ones; None if it would be too long, or axes differ."""
        assert isinstance(first, LaunchNode) and isinstance(second, LaunchNode), "plain launches"
        if len(self._statements(first, around) | self._statements(second, around)) > _MOST_STATEMENTS:
            return None
        wide = max((first, second), key=lambda node: len(_axes(node)))
        if not _axes(wide) or any(not _axes(node) <= _axes(wide) for node in (first, second)):
            return None
        parts = [self._with_axes(node, wide) for node in (first, second)]
        statements = tuple(statement for part in parts for statement in part.body.statements)
        clauses = {**parts[0].clauses, **parts[1].clauses}
        return LaunchNode(Block(statements, first.body.range), clauses, waits=False)

    def _statements(self, node: LaunchNode, around: int) -> frozenset[str]:
        """The names of the node's statements. Parts of a loop that was split share their text: the
        loops around it tell them apart.
        """
        inside = {id(part) for part in walk(node.body)}
        loops = {loop.index for loop in loops_in(node.body)}
        known = [each for each in self.region.scop.statements if id(each.node) in inside]
        apart = [each for each in known if all(loop.index in loops for loop in each.loops[around:])]
        return frozenset(each.name for each in apart or known)

    def _with_axes(self, node: LaunchNode, wide: LaunchNode) -> LaunchNode:
        """The node with a loop of one iteration for each axis that only the other one has."""
        statements, clauses, covered = node.body.statements, dict(node.clauses), _axes(node)
        for tiles in wide.clauses.values():
            if _axes_of(tiles) <= covered:
                continue
            covered |= _axes_of(tiles)
            loops = tuple(map(self._run_once, statements))
            statements, clauses = loops, clauses | {loop.index: tiles for loop in loops}
        return replace(node, body=replace(node.body, statements=statements), clauses=clauses)

    def _run_once(self, statement: Statement) -> Loop:
        """A loop of one iteration around a statement."""
        inside = {loop.iterator.name for loop in loops_in(statement)}
        iterator = Names(set(names_in(self.region.kernel)) | inside).scalar("once")
        self.meanings.add(iterator, statement_ranges(Block((statement,))), Hyperplane(()))
        return counted_loop(next(self.numbers), iterator, number(0), number(0), (statement,))


def _in_one_iteration(dependence: Dependence, around: int) -> isl.Map:
    """{ S[i] -> T[j] : i_1 = j_1, ..., i_around = j_around } of the dependence."""
    relation = dependence.relation
    for place in range(around):
        relation = relation.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
    return relation


def _is_plain(node: LaunchNode) -> bool:
    """Whether the launch consists of statements without loops, or nests of distributed loops around
    such.
    """
    if node.reductions or node.scratchpads or node.array_tiles is not None or node.pipelined:
        return False
    nests = all(isinstance(statement, (Loop, ExpressionStatement)) for statement in node.body.statements)
    return nests and all(loop.index in node.clauses for loop in loops_in(node.body))


def _axes_of(tiles: tuple[TileClause, ...]) -> _Axes:
    distributed = (TileKind.THREAD, TileKind.GANG, TileKind.WORKER)
    return frozenset((tile.kind.value, tile.dimension) for tile in tiles if tile.kind in distributed)


def _axes(node: LaunchNode) -> _Axes:
    return frozenset(axis for tiles in node.clauses.values() for axis in _axes_of(tiles))
