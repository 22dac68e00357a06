"""The launch tree of strategy S1 (the user's loops), and its lowering to schedule nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import ReductionClause
from tilepragma.ir.expressions import Assignment, Call, Callee, DataObject, Expression, Increment, Storage
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.invariance import host_evaluable
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, Function, Loop, Statement
from tilepragma.ir.traversal import loops_in, walk, with_blocks
from tilepragma.schedule.coalescing import worker_loop
from tilepragma.schedule.rectangular_hull import with_hulls
from tilepragma.schedule.strategy import Region
from tilepragma.schedule.tree import ConditionNode, HostLoopNode, LaunchNode, ScheduleNode
from tilepragma.schedule.unroll_and_jam import JammedBody, JammedLoop, unroll_and_jam
from tilepragma.user_tiles.mapping import Clauses, device_clauses, host_clauses, launchable

if TYPE_CHECKING:
    from tilepragma.poly.scop import ScopStatement


@dataclass(frozen=True)
class PlannedLaunch:
    """A launch that maps `loops` of `body`; without loops, one instance runs it. `waiting` are the
    numbers of innermost loops that carry dependences, for hosts.
    """

    body: Block
    loops: tuple[Loop, ...] = ()
    reductions: tuple[ReductionClause, ...] = ()
    waiting: tuple[int, ...] = ()


@dataclass(frozen=True)
class PlannedHostLoop:
    """A loop that runs on the host around its steps."""

    loop: Loop
    steps: tuple[PlannedStep, ...]


@dataclass(frozen=True)
class PlannedCondition:
    """A condition that the host evaluates."""

    condition: Expression
    steps: tuple[PlannedStep, ...]


#: Loops are the user's, some with part of their statements: steps may share a loop.
PlannedStep = PlannedLaunch | PlannedHostLoop | PlannedCondition


def is_parallel(steps: tuple[PlannedStep, ...]) -> bool:
    """Whether any launch is parallel."""
    return any(bool(step.loops) if isinstance(step, PlannedLaunch) else is_parallel(step.steps) for step in steps)


def any_waits(steps: tuple[PlannedStep, ...]) -> bool:
    """Whether any parallel launch contains a loop that carries dependences."""
    return any(bool(step.waiting) if isinstance(step, PlannedLaunch) else any_waits(step.steps) for step in steps)


def joined(steps: list[PlannedStep]) -> tuple[PlannedStep, ...]:
    """Join consecutive launches of one instance."""
    result: list[PlannedStep] = []
    for step in steps:
        last = result[-1] if result else None
        if _is_single(step) and last is not None and _is_single(last):
            assert isinstance(step, PlannedLaunch) and isinstance(last, PlannedLaunch)
            result[-1] = PlannedLaunch(Block((*last.body.statements, *step.body.statements), last.body.range))
        else:
            result.append(step)
    return tuple(result)


def _is_single(step: PlannedStep) -> bool:
    return isinstance(step, PlannedLaunch) and not step.loops


class TreeBuilder:
    """Builds schedule nodes with the default mapping. Loops in several steps get fresh numbers from
    `first_index` on: loops of a plan have distinct ones.
    """

    def __init__(self, region: Region, first_index: int) -> None:
        self.region = region
        self.next_index = first_index
        self.device = False
        self.jam = False
        self.seen: set[int] = set()

    def nodes(self, steps: tuple[PlannedStep, ...], *, device: bool, jam: bool = False) -> tuple[ScheduleNode, ...]:
        """The nodes for one kind of target; `jam`: unroll-and-jam rows into waiting loops."""
        self.device = device
        self.jam = jam
        self.seen = set()
        return self._nodes(steps, ())

    def _nodes(self, steps: tuple[PlannedStep, ...], around: tuple[DataObject, ...]) -> tuple[ScheduleNode, ...]:
        return tuple(self._node(step, around) for step in steps)

    def _node(self, step: PlannedStep, around: tuple[DataObject, ...]) -> ScheduleNode:
        if isinstance(step, PlannedCondition):
            return ConditionNode(step.condition, self._nodes(step.steps, around))
        if isinstance(step, PlannedHostLoop):
            numbers = self._numbers(dataclasses.replace(step.loop, body=Block(())))
            loop = dataclasses.replace(step.loop, index=numbers[step.loop.index])
            return HostLoopNode(loop, self._nodes(step.steps, (*around, loop.iterator)))
        if self.device:
            on_host = host_evaluable(self.region.written, around)
            hulls, loops = with_hulls(step.body, step.loops, on_host)
            step = dataclasses.replace(step, body=hulls, loops=loops)
        numbers = self._numbers(step.body)
        body = _numbered_block(step.body, numbers)
        jammed = self._jammed(step, body, numbers) if self.jam and step.waiting else None
        if jammed is not None:
            self.next_index = jammed.next_index
            return LaunchNode(jammed.body, host_clauses((jammed.mapped,)), step.reductions)
        mapping = self._mapping(step, around)
        return LaunchNode(body, {numbers[index]: tiles for index, tiles in mapping.items()}, step.reductions)

    def _jammed(self, step: PlannedLaunch, body: Block, numbers: dict[int, int]) -> JammedBody | None:
        last = step.loops[-1]
        base = Names(set(names_in(self.region.kernel))).scalar(f"{last.iterator.host}_block")
        blocks = dataclasses.replace(base, element=last.iterator.element)
        chosen = JammedLoop(numbers[last.index], frozenset(numbers[index] for index in step.waiting), blocks)
        functions = self.region.kernel.functions
        return unroll_and_jam(body, numbers[step.loops[0].index], chosen, functions, self.next_index)

    def _mapping(self, step: PlannedLaunch, around: tuple[DataObject, ...]) -> Clauses:
        if not self.device:
            return host_clauses(step.loops)
        loops = launchable(step.loops, host_evaluable(self.region.written, around))
        if self.region.ordered:
            # Iterations of the innermost loop lie side by side (storage/array_copies.py).
            return device_clauses(loops, loops[-1] if len(loops) > 1 else None)
        return device_clauses(loops, worker_loop(loops, self._inside(step.body)) if len(loops) > 1 else None)

    def _inside(self, body: Block) -> Iterator[ScopStatement]:
        """The statements of the Scop inside the body."""
        nodes = {id(node) for node in walk(body)}
        return (each for each in self.region.scop.statements if id(each.node) in nodes)

    def _numbers(self, node: Statement) -> dict[int, int]:
        """The index of each loop under `node`: its own at first, a fresh one after that."""
        numbers = {}
        for loop in loops_in(node):
            index = loop.index
            if index in self.seen:
                index = self.next_index
                self.next_index += 1
            self.seen.add(index)
            numbers[loop.index] = index
        return numbers


def _numbered_block(block: Block, numbers: dict[int, int]) -> Block:
    return dataclasses.replace(block, statements=tuple(_numbered(statement, numbers) for statement in block.statements))


def _numbered(statement: Statement, numbers: dict[int, int]) -> Statement:
    if isinstance(statement, Block):
        return _numbered_block(statement, numbers)
    changed = with_blocks(statement, lambda block: _numbered_block(block, numbers))
    return dataclasses.replace(changed, index=numbers[changed.index]) if isinstance(changed, Loop) else changed


# -- declarations between host loops and launches


def scoped(body: Block, scope: tuple[Declaration, ...]) -> Block:
    """`body` preceded by the declarations of `scope` that it needs."""
    needed = {use.object for use in uses(body)}
    chosen: list[Declaration] = []
    for declaration in reversed(scope):
        declarators: list[Declarator] = []
        for declarator in reversed(declaration.declarators):
            if declarator.object in needed:
                declarators.append(declarator)
                needed |= {use.object for use in uses(declarator)}
        if declarators:
            chosen.append(dataclasses.replace(declaration, declarators=tuple(reversed(declarators))))
    return dataclasses.replace(body, statements=(*reversed(chosen), *body.statements)) if chosen else body


def is_repeatable(declaration: Declaration, rest: tuple[Statement, ...], functions: tuple[Function, ...]) -> bool:
    """Whether each later statement may repeat it: constants that `rest` does not change."""
    written = {use.object for statement in rest for use in uses(statement, functions) if use.writes}
    for declarator in declaration.declarators:
        object_ = declarator.object
        if object_.storage is not Storage.SCALAR or declarator.initializer is None or object_ in written:
            return False
        for node in walk(declarator):
            if isinstance(node, (Assignment, Increment)) or (isinstance(node, Call) and node.callee is Callee.USER):
                return False
    return not any(use.object in written for use in uses(declaration, functions) if use.reads)


def needing(declaration: Declaration, rest: tuple[Statement, ...]) -> int:
    """The number of statements up to the last that needs the declaration or a later one."""
    declared = {declarator.object for declarator in declaration.declarators}
    last = 0
    for place, statement in enumerate(rest):
        if declared & {use.object for use in uses(statement)}:
            for inner in rest[last : place + 1]:
                if isinstance(inner, Declaration):
                    declared |= {declarator.object for declarator in inner.declarators}
            last = place + 1
    return last
