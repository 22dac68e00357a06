"""Definite assignment over structured code with distributed nests: may each instance own its copy
of a scalar?

A copy an instance owns is right iff every read sees a value written before in the same iteration of
all distributed loops around the read. A distributed nest that writes the scalar leaves it
undefined: other instances wrote other values. Structs and unions are scalars too, of which each
byte is assigned by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.accesses import Use, function_uses, leaves_early, returns_early, uses
from tilepragma.ir.expressions import Call, DataObject, Index, Storage
from tilepragma.ir.loop_tree import (
    Block,
    Break,
    CaseLabel,
    Continue,
    Declaration,
    ForLoop,
    Function,
    If,
    Loop,
    PackedPanels,
    Return,
    Switch,
    TileNest,
    While,
)
from tilepragma.ir.value_bytes import EVERYTHING, bytes_of, known_value, object_bytes

_MOST_ROUNDS = 64
"""Iterations up to which a loop over parts of a struct is gone through one by one."""


def exposed_read(body: Any, object_: DataObject, functions: tuple[Function, ...] = ()) -> SourceRange | None:
    """The first read of `object_` under `body` that may see a value from outside it or from another instance, if any."""
    flow = _Flow(object_, functions)
    flow.run(body, 0)
    return flow.exposed


def assigned_bytes(body: Any, object_: DataObject, functions: tuple[Function, ...] = ()) -> int:
    """The bytes of `object_` (`value_bytes`) that are surely assigned whenever `body` runs to its end."""
    return _Flow(object_, functions).run(body, 0)


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
    for scalar in scalars:
        if scalar in named:
            flow = _Flow(scalar, functions, known)
            if not object_bytes(scalar) & ~flow.run(node, 0):
                assigns.add(scalar.name)
            if flow.exposed is not None:
                reads.add(scalar.name)
    return ScalarEffect(frozenset(reads), frozenset(assigns))


def is_distributed(nest: TileNest) -> bool:
    """Whether a tile of the nest belongs to an axis."""
    return any(tile.axis is not None for tile in nest.order)


class _Flow:
    """One pass over a piece of code for one scalar; `exposed` is where it is first read while not
    surely assigned, `exposed_bytes` are those that ever are. What is assigned are bytes.

    `known` has the uses of nodes by their identity, for passes over the same code. The object may
    be a function's parameter; `arguments` are the numbers that it is called with, where they are
    known.
    """

    def __init__(
        self,
        object_: DataObject,
        functions: tuple[Function, ...],
        known: dict[int, tuple[Use, ...]] | None = None,
        arguments: Mapping[DataObject, int] | None = None,
    ) -> None:
        self._object = object_
        self._functions = functions
        self._known = known if known is not None else {}
        self._values: dict[DataObject, int] = dict(arguments or {})
        self._is_parameter = arguments is not None
        self.exposed: SourceRange | None = None
        self.exposed_bytes = 0
        #: Of the loops and switches around, innermost last: the bytes that are assigned wherever a
        #: break leaves them, or a continue starts the next round.
        self._breaks: list[int] = []
        self._continues: list[int] = []

    def run(self, node: Any, assigned: int) -> int:
        """The bytes that are surely assigned after `node`, given those before it."""
        if isinstance(node, Block):
            for statement in node.statements:
                assigned = self.run(statement, assigned)
            return assigned
        if isinstance(node, PackedPanels):
            return self.run(node.body, assigned)
        if isinstance(node, If):
            assigned = self._evaluate(node.condition, assigned)
            then = self.run(node.then, assigned)
            return then & (self.run(node.otherwise, assigned) if node.otherwise is not None else assigned)
        if isinstance(node, Return):
            self._evaluate(node, assigned)
            return EVERYTHING
        if isinstance(node, (Break, Continue)):
            left = self._breaks if isinstance(node, Break) else self._continues
            if left:
                left[-1] &= assigned
            # What follows in this block is never reached from here.
            return EVERYTHING
        if isinstance(node, Loop):
            return self._loop(node, assigned)
        if isinstance(node, (While, ForLoop)):
            return self._while(node, assigned)
        if isinstance(node, TileNest):
            return self._nest(node, assigned)
        if isinstance(node, Switch):
            return self._switch(node, assigned)
        return self._evaluate(node, assigned)

    def _evaluate(self, node: Any, assigned: int) -> int:
        if isinstance(node, Declaration):
            for declarator in node.declarators:
                assigned = self._uses(declarator, assigned)
            return assigned
        return self._uses(node, assigned)

    def _uses(self, node: Any, assigned: int) -> int:
        after = 0
        for use in self._uses_of(node):
            if use.object is not self._object and use.object != self._object:
                continue
            meant, exact = bytes_of(use.object, use.subscripts, use.path, self._values)
            if use.taker is not None:
                read, written = self._taken(use, meant, *use.taker)
                # What a function assigns is assigned where it returns, behind all arguments.
                after |= 0 if use.conditional else written
            else:
                read, written = meant if use.reads else 0, meant if use.writes and exact else 0
            self.exposed_bytes |= read & ~assigned
            if self.exposed_bytes and self.exposed is None:
                self.exposed = use.range
            if use.taker is None and not use.conditional:
                assigned |= written
        return assigned | after

    def _uses_of(self, node: Any) -> tuple[Use, ...]:
        if id(node) not in self._known:
            self._known[id(node)] = tuple(uses(node, self._functions))
        return self._known[id(node)]

    def _taken(self, use: Use, meant: int, call: Call, place: int) -> tuple[int, int]:
        """The bytes that a function may read before it writes them, and those that it surely writes, of what it gets by address."""
        function = next(function for function in self._functions if function.name == call.function)
        parameter = function.parameters[place]
        if parameter.rank != 1 or parameter.storage is Storage.ROWS or any(isinstance(one, Index) for one in use.path):
            return EVERYTHING, 0
        inside = _Flow(parameter, self._functions, arguments=self._arguments(function, call))
        end = 0
        for statement in function.body.statements:
            end = inside._evaluate(statement, end) if isinstance(statement, Return) else inside.run(statement, end)
        if inside.exposed_bytes < 0 or not meant:
            return EVERYTHING, 0
        start = (meant & -meant).bit_length() - 1
        return inside.exposed_bytes << start, 0 if returns_early(function.body) else end << start

    def _arguments(self, function: Function, call: Call) -> dict[DataObject, int]:
        """The numbers that the call passes on, of those parameters that the function leaves alone."""
        written = {use.object for use in self._uses_of(function.body) if use.writes}
        found = {}
        for parameter, argument in zip(function.parameters, call.arguments, strict=False):
            if parameter.storage is Storage.SCALAR and parameter not in written:
                value = known_value(argument, self._values)
                if value is not None:
                    found[parameter] = value
        return found

    def _round(self, body: Any, assigned: int) -> tuple[int, int]:
        """The states after one round of a loop's body, and wherever a break leaves it."""
        self._breaks.append(EVERYTHING)
        self._continues.append(EVERYTHING)
        after = self.run(body, assigned)
        return after & self._continues.pop(), self._breaks.pop()

    def _repeat(self, body: Any, assigned: int) -> int:
        """The state after a body that runs any number of times, which may undo what was assigned before it."""
        after, _ = self._round(body, assigned)
        if assigned & ~after:
            self._round(body, assigned & after)
            return assigned & after
        return assigned

    def _loop(self, node: Loop, assigned: int) -> int:
        for bound in (node.lower, node.upper, node.step):
            assigned = self._evaluate(bound, assigned)
        if node.iterator == self._object:
            return self._repeat(node.body, EVERYTHING)
        rounds = self._rounds(node)
        if rounds is None:
            return self._repeat(node.body, assigned)
        for value in rounds:
            self._values[node.iterator] = value
            assigned = self.run(node.body, assigned)
        del self._values[node.iterator]
        return assigned

    def _rounds(self, node: Loop) -> range | None:
        """The iterator's values where the loop, which has few iterations, goes through parts of the object."""
        parts = any(
            use.object == self._object
            and ((self._is_parameter and use.subscripts) or any(isinstance(one, Index) for one in use.path))
            for use in self._uses_of(node.body)
        )
        if not parts or leaves_early(node.body):
            return None
        lower, upper, step = (known_value(one, self._values) for one in (node.lower, node.upper, node.step))
        if lower is None or upper is None or not step:
            return None
        beyond = 0 if node.comparison in ("<", ">", "!=") else 1 if step > 0 else -1
        rounds = range(lower, upper + beyond, step)
        return rounds if 0 < len(rounds) <= _MOST_ROUNDS else None

    def _while(self, node: While | ForLoop, assigned: int) -> int:
        if isinstance(node, ForLoop):
            for part in (node.initialization, node.condition):
                if part is not None:
                    assigned = self._evaluate(part, assigned)
            after = self._repeat(node.body, assigned)
            if node.advance is not None:
                self._evaluate(node.advance, after)
            return after
        if node.test_last:
            after, left = self._round(node.body, assigned)
            return self._evaluate(node.condition, after) & left
        return self._repeat(node.body, self._evaluate(node.condition, assigned))

    def _switch(self, node: Switch, assigned: int) -> int:
        """Every label may be jumped to right behind the condition, and none has to be."""
        entry = state = self._evaluate(node.condition, assigned)
        self._breaks.append(EVERYTHING)
        for statement in node.body.statements:
            state = state & entry if isinstance(statement, CaseLabel) else self.run(statement, state)
        self._breaks.pop()
        return entry

    def _nest(self, node: TileNest, assigned: int) -> int:
        own = any(tiled.loop.iterator == self._object for tiled in node.loops)
        for tiled in node.loops:
            for bound in (tiled.loop.lower, tiled.loop.upper, tiled.loop.step):
                self._evaluate(bound, EVERYTHING if own else assigned)
        if own:
            self.run(node.body, EVERYTHING)
            # Kernels do not keep the value that a tiled loop leaves in its iterator.
            return 0
        if not is_distributed(node):
            return self._repeat(node.body, assigned)
        if any(use.writes and use.object == self._object for use in uses(node.body, self._functions)):
            self.run(node.body, 0)
            return 0
        self.run(node.body, assigned)
        return assigned
