"""Runs LoopTrees in Python: what generated loops compute, without a compiler.

Numbers are mathematical. A read of a value that nothing wrote gives a number made from its name.
Each store is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Conditional,
    DataObject,
    IntegerLiteral,
    Unary,
)
from tilepragma.ir.loop_tree import Block, Break, Declaration, ExpressionStatement, If, Loop, Statement, While
from tilepragma.ir.types import LONG, ScalarType

Cell = tuple[str, tuple[int, ...]]
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class _Left(Exception):
    """A `break`."""


@dataclass
class Interpreter:
    """`scalars` are values by name, `memory` the stored values, `stores` the ordered stores."""

    scalars: dict[str, int]
    memory: dict[Cell, int] = field(default_factory=dict)
    stores: list[Cell] = field(default_factory=list)

    def run(self, statement: Statement) -> None:
        """Execute a statement; its declarations end with it."""
        match statement:
            case Block():
                before = dict(self.scalars)
                declared = self._block(statement)
                for name in declared:
                    self._restore(name, before)
            case Loop():
                self._loop(statement)
            case If():
                if self.value(statement.condition):
                    self.run(statement.then)
                elif statement.otherwise is not None:
                    self.run(statement.otherwise)
            case While():
                self._while(statement)
            case ExpressionStatement():
                self.value(statement.expression)
            case Break():
                raise _Left
            case _:
                raise NotImplementedError(type(statement).__name__)

    def _block(self, block: Block) -> set[str]:
        declared: set[str] = set()
        for statement in block.statements:
            if isinstance(statement, Declaration):
                for declarator in statement.declarators:
                    assert declarator.initializer is not None and not isinstance(declarator.initializer, tuple)
                    value = self.value(declarator.initializer)
                    _check_fits(declarator.object, value)
                    self.scalars[declarator.object.name] = value
                    declared.add(declarator.object.name)
            else:
                self.run(statement)
        return declared

    def _restore(self, name: str, before: Mapping[str, int]) -> None:
        if name in before:
            self.scalars[name] = before[name]
        else:
            self.scalars.pop(name, None)

    def _loop(self, loop: Loop) -> None:
        name = loop.iterator.name
        before = dict(self.scalars)
        value = self.value(loop.lower)
        assert loop.decreasing == (self.value(loop.step) < 0)
        try:
            while True:
                _check_fits(loop.iterator, value)
                self.scalars[name] = value
                if not _COMPARE[loop.comparison](value, self.value(loop.upper)):
                    break
                self.run(loop.body)
                assert self.scalars[name] == value, "the body changes the iterator"
                value += self.value(loop.step)
        except _Left:
            pass
        if loop.declares_iterator:
            self._restore(name, before)

    def _while(self, loop: While) -> None:
        try:
            if loop.test_last:
                self.run(loop.body)
            while self.value(loop.condition):
                self.run(loop.body)
        except _Left:
            pass

    def value(self, node: Any) -> int:
        """The value of an expression."""
        match node:
            case IntegerLiteral():
                return node.value
            case Access():
                return self._read(node)
            case Cast():
                value = self.value(node.operand)
                assert node.type == LONG or isinstance(node.type, ScalarType)
                return value
            case Unary():
                operand = self.value(node.operand)
                return {"-": -operand, "+": operand, "!": int(not operand), "~": ~operand}[node.operator]
            case Binary():
                return self._binary(node)
            case Conditional():
                return self.value(node.then if self.value(node.condition) else node.otherwise)
            case Call():
                return _call(node, [self.value(argument) for argument in node.arguments])
            case Assignment():
                return self._assign(node)
            case _:
                raise NotImplementedError(type(node).__name__)

    def _binary(self, node: Binary) -> int:
        left = self.value(node.left)
        if node.operator == "&&":
            return int(bool(left) and bool(self.value(node.right)))
        if node.operator == "||":
            return int(bool(left) or bool(self.value(node.right)))
        right = self.value(node.right)
        if node.operator in _COMPARE:
            return int(_COMPARE[node.operator](left, right))
        if node.operator in ("/", "%"):
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if node.operator == "/" else left - quotient * right
        return {"+": left + right, "-": left - right, "*": left * right}[node.operator]

    def _read(self, node: Access) -> int:
        if not node.subscripts:
            return self.scalars[node.object.name]
        cell = (node.object.name, tuple(self.value(subscript) for subscript in node.subscripts))
        return self.memory.get(cell, hash(cell) % 1000)

    def _assign(self, node: Assignment) -> int:
        value = self.value(node.value)
        if node.operator != "=":
            old = self._read(node.target)
            value = {"+=": old + value, "-=": old - value, "*=": old * value}[node.operator]
        value %= 1000003
        name = node.target.object.name
        if node.target.subscripts:
            cell = (name, tuple(self.value(subscript) for subscript in node.target.subscripts))
            self.memory[cell] = value
            self.stores.append(cell)
        else:
            self.scalars[name] = value
            self.stores.append((name, ()))
        return value


def _check_fits(object_: DataObject, value: int) -> None:
    type_ = object_.element
    if isinstance(type_, ScalarType) and type_.is_integer:
        low = -(2 ** (type_.bits - 1)) if type_.signed else 0
        assert low <= value < 2 ** (type_.bits - (1 if type_.signed else 0)), f"{object_.name} cannot hold {value}"


def _call(node: Call, arguments: list[int]) -> int:
    assert node.callee is Callee.HELPER
    left, right = arguments
    if node.function == "tilek_minimum":
        return min(left, right)
    if node.function == "tilek_maximum":
        return max(left, right)
    assert right > 0, "the helpers divide by positive numbers"
    return left // right if node.function == "tilek_floor_quotient" else -(-left // right)
