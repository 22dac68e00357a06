"""Stencils with tiled time steps, and changes that make their plans wrong, to test the verifier."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilepragma.ir.expressions import Binary, IntegerLiteral, integer
from tilepragma.ir.loop_tree import If
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch

LINE = """
void f(int steps, int n, double a[n], double b[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = 0.5 * (a[i - 1] + a[i + 1]);
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.5 * (b[i - 1] + b[i + 1]);
    }
}
"""
PLANE = """
void f(int steps, int n, int m, double a[n][m], double b[n][m])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                b[i][j] = a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                a[i][j] = b[i - 1][j] + b[i + 1][j] + b[i][j - 1] + b[i][j + 1];
    }
}
"""
Change = Callable[[Any], Any]


def rewritten(node: Any, change: Change) -> Any:
    """The tree with `change` applied to every node, leaves first; tuples drop what becomes None."""
    if type(node) is tuple:
        return tuple(child for child in (rewritten(part, change) for part in node) if child is not None)
    if not dataclasses.is_dataclass(node) or isinstance(node, type) or type(node).__module__.endswith("directives"):
        return node
    fields = {
        part.name: getattr(node, part.name) for part in dataclasses.fields(node) if part.name not in ("range", "header")
    }
    new = {name: rewritten(value, change) for name, value in fields.items()}
    changed = {name: value for name, value in new.items() if value is not fields[name] and value != fields[name]}
    return change(replace(node, **changed) if changed else node)


def in_launch(made: KernelPlan, which: int, change: Change) -> KernelPlan:
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = [step for step in loop.steps if isinstance(step, Launch)]
    launches[which] = replace(launches[which], body=rewritten(launches[which].body, change))
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def without_if(made: KernelPlan, which: int, text: str) -> KernelPlan:
    """The plan without the conditional statements around an assignment to this element."""

    def holds(node: If) -> bool:
        inner = node.then.statements[-1] if node.then.statements else None
        target = getattr(getattr(inner, "expression", None), "target", None)
        return target is not None and expression_text(target).startswith(text)

    return in_launch(made, which, lambda node: None if isinstance(node, If) and holds(node) else node)


def more_in(made: KernelPlan, which: int, text: str, change: int) -> KernelPlan:
    """The plan with the right side of comparisons with this text increased by `change`."""
    count = 0

    def more(node: Any) -> Any:
        nonlocal count
        if isinstance(node, Binary) and node.operator in (">=", "<") and text in expression_text(node):
            count += 1
            return replace(node, right=Binary("+", node.right, integer(change), node.right.type))
        return node

    result = in_launch(made, which, more)
    assert count
    return result


def scratchpads(made: KernelPlan) -> list[tuple[str, list[int]]]:
    return [
        (pad.array.name, [length.value for length in pad.object.lengths if isinstance(length, IntegerLiteral)])
        for launch in made.device
        for pad in launch.scratchpads
    ]
