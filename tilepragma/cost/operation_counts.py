"""The floating-point operations of a region, if known at launch: for TILEK_PROFILE's GFLOP/s."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tilepragma.ir.expressions import Assignment, Binary, Call, Callee, Conditional, Expression, Increment
from tilepragma.ir.loop_tree import ForLoop, If, Kernel, Loop, While
from tilepragma.ir.traversal import children, walk
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import OperationCount

_ARITHMETIC = ("+", "-", "*", "/")
_COMPOUND = ("+=", "-=", "*=", "/=")


def operation_counts(kernel: Kernel, on_host: Callable[[Expression], bool]) -> tuple[OperationCount, ...]:
    """One count a loop nest; empty if a trip count or a function's work is unknown at launch.

    Additions, subtractions, multiplications, divisions and calls of math.h count one each, of any
    floating type; statements under a condition count nothing. `on_host` tells which bounds the host
    can evaluate at launch.
    """
    nests: dict[tuple[int, ...], tuple[Loop, ...]] = {}
    inside: Counter[tuple[int, ...]] = Counter()
    for loops, node in _operations(kernel.body, ()):
        if _unknown(node):
            return ()
        nest = tuple(map(id, loops))
        nests[nest] = loops
        inside[nest] += 1
    bounds = (bound for loops in nests.values() for loop in loops for bound in (loop.lower, loop.upper, loop.step))
    if not all(map(on_host, bounds)):
        return ()
    counts: dict[tuple[Loop, ...], int] = {}
    for nest, loops in nests.items():
        counts[loops] = counts.get(loops, 0) + inside[nest]
    return tuple(OperationCount(count, loops) for loops, count in counts.items())


def operations_in(statement: Any) -> int:
    """Floating-point operations that the statement always executes, counting each loop once."""
    return sum(_is_operation(node) for _, node in _operations(statement, ()))


def _operations(node: Any, loops: tuple[Loop, ...]) -> Iterator[tuple[tuple[Loop, ...], Any]]:
    """The loops around each unconditional operation, or node with an unknown number of them."""
    if isinstance(node, (If, Conditional)):
        yield from _operations(node.condition, loops)
        return
    if _is_operation(node) or (
        _unknown(node) and any(_is_operation(node) or _is_unknown_call(node) for node in walk(node))
    ):
        yield loops, node
    inner = (*loops, node) if isinstance(node, Loop) else loops
    for child in children(node):
        yield from _operations(child, inner if child is getattr(node, "body", None) else loops)


def _is_operation(node: Any) -> bool:
    match node:
        case Binary(operator=operator, type=ScalarType(is_floating=True)):
            return operator in _ARITHMETIC
        case Assignment(operator=operator, type=ScalarType(is_floating=True)):
            return operator in _COMPOUND
        case Increment(type=ScalarType(is_floating=True)):
            return True
        case Call(callee=Callee.MATH, type=ScalarType(is_floating=True)):
            return True
    return False


def _unknown(node: Any) -> bool:
    return isinstance(node, (ForLoop, While)) or _is_unknown_call(node)


def _is_unknown_call(node: Any) -> bool:
    return isinstance(node, Call) and node.callee is not Callee.MATH
