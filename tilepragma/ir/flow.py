"""Definite assignment over structured code with distributed nests: can a scalar be privatised?

A private copy for each instance is right iff every read sees a value written before in the same
iteration of all distributed loops around it. A distributed nest that writes the scalar leaves it
undefined, since other instances wrote other values. Structs and unions are scalars too, and each of
their bytes is assigned separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.accesses import (
    PassedAddress,
    Use,
    function_uses,
    leaves_early,
    returns_early,
    used_in,
    uses,
    uses_of_statement,
)
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
from tilepragma.ir.traversal import walk
from tilepragma.ir.value_bytes import EVERYTHING, bytes_of, known_value, object_bytes

_MOST_ROUNDS = 64
"""Loops over parts of a struct are unrolled up to this number of iterations."""


def exposed_read(body: Any, object_: DataObject, functions: tuple[Function, ...] = ()) -> SourceRange | None:
    """The first read of `object_` in `body` that may see an outside or another instance's value."""
    flow = _Flow(object_, functions)
    flow.run(body, 0)
    return flow.exposed


def assigned_bytes(body: Any, object_: DataObject, functions: tuple[Function, ...] = ()) -> int:
    """The bytes of `object_` (`value_bytes`) that a complete run of `body` surely assigns."""
    return _Flow(object_, functions).run(body, 0)


@dataclass(frozen=True)
class ScalarEffect:
    """The scalars, by name, that code may read before assigning them, or surely assigns."""

    reads: frozenset[str]
    assigns: frozenset[str]

    def before(self, live: frozenset[str]) -> frozenset[str]:
        """The live scalars before the code, given the live ones after it."""
        return self.reads | (live - self.assigns)


def scalar_effect(node: Any, scalars: Iterable[DataObject], functions: tuple[Function, ...]) -> ScalarEffect:
    """The effect of `node` on `scalars`."""
    named = used_in(node, functions) | {use.object for use in function_uses(functions)}
    reads, assigns = set(), set()
    for scalar in scalars:
        if scalar in named:
            flow = _Flow(scalar, functions)
            if not object_bytes(scalar) & ~flow.run(node, 0):
                assigns.add(scalar.name)
            if flow.exposed is not None:
                reads.add(scalar.name)
    return ScalarEffect(frozenset(reads), frozenset(assigns))


@once
def _returns(nest: Loop | TileNest) -> bool:
    return any(isinstance(node, Return) for node in walk(nest))


def is_distributed(nest: TileNest) -> bool:
    """Whether a tile of the nest belongs to an axis."""
    return any(tile.axis is not None for tile in nest.order)


class _Flow:
    """One pass over a piece of code for one scalar, by bytes.

    `exposed` is the first read of bytes that are not surely assigned; `exposed_bytes` are all such
    bytes. The object may be a function's parameter; `arguments` are then the known numbers of the
    call.
    """

    def __init__(
        self,
        object_: DataObject,
        functions: tuple[Function, ...],
        arguments: Mapping[DataObject, int] | None = None,
    ) -> None:
        self._object = object_
        self._functions = functions
        self._values: dict[DataObject, int] = dict(arguments or {})
        self._is_parameter = arguments is not None
        self.exposed: SourceRange | None = None
        self.exposed_bytes = 0
        #: For each loop and switch around, innermost last: the bytes assigned at every break that
        #: leaves it, or continue that starts its next iteration.
        self._breaks: list[int] = []
        self._continues: list[int] = []

    def run(self, node: Any, assigned: int) -> int:
        """The bytes surely assigned after `node`, given those before it."""
        if isinstance(node, (Loop, TileNest)) and self._is_passed_by(node):
            return assigned
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
            # Code behind it in this block is unreachable.
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
        if self._object not in used_in(node, self._functions):
            return assigned
        for use in self._uses_of(node):
            if use.object is not self._object and use.object != self._object:
                continue
            accessed, exact = bytes_of(use.object, use.subscripts, use.path, self._values)
            if use.passed is not None:
                read, written = self._in_function(use, accessed, use.passed)
                # A function's writes are done when it returns, behind all arguments.
                after |= 0 if use.conditional else written
            else:
                read, written = accessed if use.reads else 0, accessed if use.writes and exact else 0
            self.exposed_bytes |= read & ~assigned
            if self.exposed_bytes and self.exposed is None:
                self.exposed = use.range
            if use.passed is None and not use.conditional:
                assigned |= written
        return assigned | after

    def _is_passed_by(self, nest: Loop | TileNest) -> bool:
        """Whether a nest neither uses the object nor returns, so that it changes no state."""
        return self._object not in used_in(nest, self._functions) and not _returns(nest)

    def _uses_of(self, node: Any) -> tuple[Use, ...]:
        return uses_of_statement(node, self._functions)

    def _in_function(self, use: Use, accessed: int, passed: PassedAddress) -> tuple[int, int]:
        """Of bytes passed by address: those a call may read first, and those it surely writes."""
        function = passed.function_in(self._functions)
        parameter = function.parameters[passed.position]
        indexed = any(isinstance(step, Index) for step in use.path)
        if parameter.rank != 1 or parameter.storage is Storage.ROWS or indexed:
            return EVERYTHING, 0
        inside = _Flow(parameter, self._functions, arguments=self._arguments(function, passed.call))
        end = 0
        for statement in function.body.statements:
            end = inside._evaluate(statement, end) if isinstance(statement, Return) else inside.run(statement, end)
        if inside.exposed_bytes < 0 or not accessed:
            return EVERYTHING, 0
        start = (accessed & -accessed).bit_length() - 1
        return inside.exposed_bytes << start, 0 if returns_early(function.body) else end << start

    def _arguments(self, function: Function, call: Call) -> dict[DataObject, int]:
        """The call's numbers for parameters that the function does not change."""
        written = {use.object for use in self._uses_of(function.body) if use.writes}
        passed = zip(function.parameters, call.arguments, strict=False)
        numbers = {
            parameter: known_value(argument, self._values)
            for parameter, argument in passed
            if parameter not in written and parameter.storage is Storage.SCALAR
        }
        return {parameter: number for parameter, number in numbers.items() if number is not None}

    def _round(self, body: Any, assigned: int) -> tuple[int, int]:
        """The states after one iteration of a loop's body, and at every break that leaves it."""
        self._breaks.append(EVERYTHING)
        self._continues.append(EVERYTHING)
        after = self.run(body, assigned)
        return after & self._continues.pop(), self._breaks.pop()

    def _repeat(self, body: Any, assigned: int) -> int:
        """The state after any number of iterations, which may undo earlier assignments."""
        after, _ = self._round(body, assigned)
        if assigned & ~after:
            self._round(body, assigned & after)
            return assigned & after
        return assigned

    def _loop(self, node: Loop, assigned: int) -> int:
        for bound in node.bounds:
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
        """The iterator's values if the loop, with few iterations, runs over parts of the object."""
        parts = any(
            (
                (self._is_parameter and use.subscripts)
                or (use.path and any(isinstance(step, Index) for step in use.path))
            )
            and use.object == self._object
            for use in self._uses_of(node.body)
        )
        if not parts or leaves_early(node.body):
            return None
        lower, upper, step = (known_value(bound, self._values) for bound in node.bounds)
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
        """The state after a switch, which may jump to any label, or to none."""
        entry = state = self._evaluate(node.condition, assigned)
        self._breaks.append(EVERYTHING)
        for statement in node.body.statements:
            state = state & entry if isinstance(statement, CaseLabel) else self.run(statement, state)
        self._breaks.pop()
        return entry

    def _nest(self, node: TileNest, assigned: int) -> int:
        is_iterator = any(tiled.loop.iterator == self._object for tiled in node.loops)
        for tiled in node.loops:
            for bound in tiled.loop.bounds:
                self._evaluate(bound, EVERYTHING if is_iterator else assigned)
        if node.guard is not None:
            self._evaluate(node.guard, EVERYTHING if is_iterator else assigned)
        if is_iterator:
            self.run(node.body, EVERYTHING)
            # Kernels drop the final value of a tiled loop's iterator.
            return 0
        if not is_distributed(node):
            return self._repeat(node.body, assigned)
        if any(use.writes and use.object == self._object for use in uses(node.body, self._functions)):
            self.run(node.body, 0)
            return 0
        self.run(node.body, assigned)
        return assigned
