"""Loop distribution: split a loop into several, each over a part of its statements.

Statements in a cycle of dependences stay together (strongly connected components of the graph of
leaves, thesis section 3.2.4), as do declarations and their users. Components share a loop, for
locality, unless sharing costs them parallelism.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Block, Declaration, Loop, Statement
from tilepragma.schedule.independence import Leaves, NestDependences

#: The number of axes that a loop over some of its statements maps to; 0 if it is sequential.
AxesOf = Callable[[Loop], int]


def distributed(loop: Loop, around: int, nest: NestDependences, axes_of: AxesOf) -> tuple[Loop, ...]:
    """`loop` as loops that run in sequence; `loop` alone if no part maps to more axes."""
    leaves = sorted(nest.leaves_under(loop))
    links = (*nest.order(loop, around, frozenset(leaves)), *_tied(loop, nest))
    components = _components(leaves, links)
    if len(components) > 1:
        parts = [(part, axes_of(restricted(loop, part, nest))) for part in components]
        groups = _grouped(loop, nest, axes_of, parts, links)
        if len(groups) > 1 and max(axes for _, axes in groups) > axes_of(loop):
            return tuple(restricted(loop, part, nest) for part, _ in groups)
    return (loop,)


def restricted(loop: Loop, keep: Leaves, nest: NestDependences) -> Loop:
    """`loop` with only the leaves `keep`. Conditions stay whole; loops without leaves disappear."""

    def statement(node: Statement) -> Statement | None:
        if isinstance(node, Loop):
            body = block(node.body)
            return dataclasses.replace(node, body=body) if body.statements else None
        if isinstance(node, Block):
            inner = block(node)
            return inner if inner.statements else None
        return node if nest.leaves_under(node) & keep else None

    def block(node: Block) -> Block:
        parts = (statement(inner) for inner in node.statements)
        return dataclasses.replace(node, statements=tuple(part for part in parts if part is not None))

    return dataclasses.replace(loop, body=block(loop.body))


@dataclass(frozen=True)
class _Leaf:
    name: str
    number: int


def _components(leaves: list[int], links: tuple[tuple[int, int], ...]) -> list[Leaves]:
    from tilepragma.poly.strongly_connected import strongly_connected

    nodes = [_Leaf(str(number), number) for number in leaves]
    components = strongly_connected(nodes, [(str(source), str(sink)) for source, sink in links])
    return [frozenset(leaf.number for leaf in component) for component in components]


def _tied(loop: Loop, nest: NestDependences) -> Iterator[tuple[int, int]]:
    """Links, both ways, of a condition with its branches and a declaration with its users."""
    needs = [(nest.leaves_under(unit), unit, needed) for unit, needed in _with_needs(loop.body, frozenset())]
    for leaves, unit, _ in needs:
        first = min(leaves)
        together = set(leaves)
        if isinstance(unit, Declaration):
            declared = {declarator.object for declarator in unit.declarators}
            together |= {min(others) for others, _, needed in needs if declared & needed}
        for leaf in together - {first}:
            yield from ((first, leaf), (leaf, first))


def _with_needs(node: Statement, around: frozenset[DataObject]) -> Iterator[tuple[Statement, frozenset[DataObject]]]:
    """Each statement that is no loop, with the objects it and the bounds of loops around it use."""
    if isinstance(node, Loop):
        bounds = (node.lower, node.upper, node.step)
        yield from _with_needs(node.body, around | {use.object for bound in bounds for use in uses(bound)})
    elif isinstance(node, Block):
        for statement in node.statements:
            yield from _with_needs(statement, around)
    else:
        yield node, around | {use.object for use in uses(node)}


def _grouped(
    loop: Loop,
    nest: NestDependences,
    axes_of: AxesOf,
    parts: list[tuple[Leaves, int]],
    links: tuple[tuple[int, int], ...],
) -> list[tuple[Leaves, int]]:
    """Order the parts by their links, and join parts that lose no axes by sharing a loop."""
    groups: list[tuple[Leaves, int]] = []
    waiting = list(parts)
    while waiting:
        left = [part for part, _ in waiting]
        ready = [(part, axes) for part, axes in waiting if not _waits(part, left, links)]
        group, width = groups[-1] if groups else (frozenset(), -1)
        for part, axes in ready if groups else ():
            joined_axes = axes_of(restricted(loop, group | part, nest)) if axes and width else 0
            if bool(axes) == bool(width) and joined_axes >= max(axes, width):
                groups[-1] = (group | part, joined_axes)
                waiting.remove((part, axes))
                break
        else:
            groups.append(ready[0])
            waiting.remove(ready[0])
    return groups


def _waits(part: Leaves, left: list[Leaves], links: tuple[tuple[int, int], ...]) -> bool:
    return any(sink in part and source not in part and any(source in rest for rest in left) for source, sink in links)
