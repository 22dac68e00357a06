"""Definite assignment over structured code with distributed nests: may each instance own its copy of a scalar?

A copy an instance owns is right iff every read sees a value written before in the same iteration of all distributed
loops around the read. A distributed nest that writes the scalar leaves it undefined: other instances wrote other values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tilepragma.base.ranges import SourceRange
from tilepragma.ir.accesses import Use, function_uses, leaves_early, uses
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.looptree import (
    Block,
    Break,
    Buffered,
    CaseLabel,
    Continue,
    Declaration,
    ForLoop,
    Function,
    If,
    Loop,
    Return,
    Switch,
    TileNest,
    While,
)


def exposed_read(body: Any, object_: DataObject, functions: tuple[Function, ...] = ()) -> SourceRange | None:
    """The first read of `object_` under `body` that may see a value from outside it or from another instance, if any."""
    flow = _Flow(object_, functions)
    flow.run(body, False)
    return flow.exposed


@dataclass(frozen=True)
class ScalarEffect:
    """What a piece of code does to scalars, by their names: those it may read before it assigns them, those it surely assigns."""

    reads: frozenset[str]
    assigns: frozenset[str]

    def before(self, live: frozenset[str]) -> frozenset[str]:
        """The scalars that are wanted before the piece, given those wanted after it."""
        return self.reads | (live - self.assigns)


def scalar_effect(node: Any, scalars: Iterable[DataObject], functions: tuple[Function, ...]) -> ScalarEffect:
    """The effect of `node` on `scalars`."""
    named = {use.object for use in (*uses(node, functions), *function_uses(functions))}
    known: dict[int, tuple[Use, ...]] = {}
    reads, assigns = set(), set()
    for one in scalars:
        if one in named:
            flow = _Flow(one, functions, known)
            if flow.run(node, False):
                assigns.add(one.name)
            if flow.exposed is not None:
                reads.add(one.name)
    return ScalarEffect(frozenset(reads), frozenset(assigns))


def is_distributed(nest: TileNest) -> bool:
    """Whether a tile of the nest belongs to an axis."""
    return any(tile.axis is not None for tile in nest.order)


class _Flow:
    """One pass over a piece of code for one scalar; `exposed` is where it is first read while not surely assigned.

    `known` has the uses of nodes by their identity, for passes over the same code.
    """

    def __init__(
        self, object_: DataObject, functions: tuple[Function, ...], known: dict[int, tuple[Use, ...]] | None = None
    ) -> None:
        self._object = object_
        self._functions = functions
        self._known = known if known is not None else {}
        self.exposed: SourceRange | None = None

    def run(self, node: Any, assigned: bool) -> bool:
        """Whether the scalar is surely assigned after `node`, given whether it is before."""
        if isinstance(node, Block):
            for statement in node.statements:
                assigned = self.run(statement, assigned)
            return assigned
        if isinstance(node, Buffered):
            return self.run(node.body, assigned)
        if isinstance(node, If):
            assigned = self._evaluate(node.condition, assigned)
            then = self.run(node.then, assigned)
            return then and (self.run(node.otherwise, assigned) if node.otherwise is not None else assigned)
        if isinstance(node, (Break, Continue, Return)):
            # What follows in this block is never reached from here.
            return True
        if isinstance(node, Loop):
            return self._loop(node, assigned)
        if isinstance(node, (While, ForLoop)):
            return self._while(node, assigned)
        if isinstance(node, TileNest):
            return self._nest(node, assigned)
        if isinstance(node, Switch):
            return self._switch(node, assigned)
        return self._evaluate(node, assigned)

    def _evaluate(self, node: Any, assigned: bool) -> bool:
        if isinstance(node, Declaration):
            for declarator in node.declarators:
                assigned = self._uses(declarator, assigned)
            return assigned
        return self._uses(node, assigned)

    def _uses(self, node: Any, assigned: bool) -> bool:
        if id(node) not in self._known:
            self._known[id(node)] = tuple(uses(node, self._functions))
        for use in self._known[id(node)]:
            if use.object is not self._object and use.object != self._object:
                continue
            if use.reads and not assigned and self.exposed is None:
                self.exposed = use.range
            if use.writes and not use.conditional and not use.partial:
                assigned = True
        return assigned

    def _repeat(self, body: Any, assigned: bool) -> bool:
        """The state after a body that runs any number of times, which may undo what was assigned before it."""
        after = self.run(body, assigned)
        if assigned and not after:
            self.run(body, False)
            return False
        return assigned

    def _loop(self, node: Loop, assigned: bool) -> bool:
        for bound in (node.lower, node.upper, node.step):
            assigned = self._evaluate(bound, assigned)
        return self._repeat(node.body, assigned or node.iterator == self._object)

    def _while(self, node: While | ForLoop, assigned: bool) -> bool:
        if isinstance(node, ForLoop):
            for part in (node.initialization, node.condition):
                if part is not None:
                    assigned = self._evaluate(part, assigned)
            after = self._repeat(node.body, assigned)
            if node.advance is not None:
                self._evaluate(node.advance, after)
            return after
        if node.test_last:
            after = self.run(node.body, assigned)
            if leaves_early(node.body):
                after = after and assigned
            return self._evaluate(node.condition, after)
        return self._repeat(node.body, self._evaluate(node.condition, assigned))

    def _switch(self, node: Switch, assigned: bool) -> bool:
        """Every label may be jumped to right behind the condition, and none has to be."""
        entry = state = self._evaluate(node.condition, assigned)
        for statement in node.body.statements:
            state = state and entry if isinstance(statement, CaseLabel) else self.run(statement, state)
        return entry

    def _nest(self, node: TileNest, assigned: bool) -> bool:
        for tiled in node.loops:
            for bound in (tiled.loop.lower, tiled.loop.upper, tiled.loop.step):
                self._evaluate(bound, assigned or any(t.loop.iterator == self._object for t in node.loops))
        if any(tiled.loop.iterator == self._object for tiled in node.loops):
            self.run(node.body, True)
            # Kernels do not keep the value that a tiled loop leaves in its iterator.
            return False
        if not is_distributed(node):
            return self._repeat(node.body, assigned)
        if any(use.writes and use.object == self._object for use in uses(node.body, self._functions)):
            self.run(node.body, False)
            return False
        self.run(node.body, assigned)
        return assigned
