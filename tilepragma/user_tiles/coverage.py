"""The coverage rule of docs/LANGUAGE.md, "Tiles": each statement with side effects lies under each
distributed dimension exactly once, or is provably private; else it is an error, never a race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import (
    Axis,
    Block,
    Declaration,
    ExpressionStatement,
    ForLoop,
    Function,
    If,
    Loop,
    PackedPanels,
    Switch,
    TileNest,
    While,
)
from tilepragma.ir.traversal import walk
from tilepragma.user_tiles.tile_nests import axis_text, nest_range

_KINDS = (AxisKind.THREAD, AxisKind.GANG, AxisKind.WORKER)


def axes_of(node: Any) -> tuple[Axis, ...]:
    """The axes in use anywhere under `node`, by kind and dimension."""
    axes = {tile.axis for nest in walk(node) if isinstance(nest, TileNest) for tile in nest.order if tile.axis}
    return tuple(sorted(axes, key=lambda axis: (_KINDS.index(axis.kind), axis.dimension)))


def nest_axes(nest: TileNest) -> frozenset[Axis]:
    """The axes of the nest itself."""
    return frozenset(tile.axis for tile in nest.order if tile.axis is not None)


def check_coverage(
    body: Block,
    functions: tuple[Function, ...],
    private: Callable[[DataObject], bool],
    diagnostics: Diagnostics,
) -> None:
    """Report statements of one launch that some instances would run too often."""
    wanted = frozenset(axes_of(body))
    for node, path in _effects(body):
        seen: set[Axis] = set()
        for axis in path:
            if axis in seen:
                return
            seen.add(axis)
        if wanted <= seen:
            continue
        for use in uses(node, functions):
            if use.writes and use.object.scope is not Scope.LOCAL and not private(use.object):
                missing = ", ".join(axis_text(axis) for axis in _ordered(wanted - seen))
                diagnostics.error(
                    use.range,
                    f"'{use.object.host}' is written outside a distributed dimension ({missing}), "
                    "so every instance would write it",
                    "move the statement into the distributed loop, "
                    "or distribute a loop around it over the same dimension",
                )
                break


def check_repeated(body: Block, diagnostics: Diagnostics) -> None:
    """Report nests with an axis of a nest around them."""

    def visit(node: Any, path: tuple[Axis, ...]) -> None:
        if isinstance(node, TileNest):
            for axis in _ordered(nest_axes(node) & set(path)):
                diagnostics.error(
                    nest_range(node),
                    f"{axis_text(axis)} is distributed here and again by a loop around this one",
                    "give each of the loops its own dimension",
                )
            path = (*path, *nest_axes(node))
        for part in _parts(node):
            visit(part, path)

    visit(body, ())


def _ordered(axes: Iterable[Axis]) -> list[Axis]:
    return sorted(axes, key=lambda axis: (_KINDS.index(axis.kind), axis.dimension))


def _effects(root: Any) -> Iterator[tuple[Any, tuple[Axis, ...]]]:
    """All evaluated nodes (statements, conditions, headers) with the axes around them."""
    ahead: list[tuple[Any, tuple[Axis, ...]]] = [(root, ())]
    while ahead:
        node, path = ahead.pop()
        if isinstance(node, TileNest):
            path = (*path, *nest_axes(node))
        elif isinstance(node, (If, While, Switch)):
            yield node.condition, path
        elif isinstance(node, Loop):
            yield from ((bound, path) for bound in (node.lower, node.upper, node.step))
        elif isinstance(node, ForLoop):
            yield from (
                (part, path) for part in (node.initialization, node.condition, node.advance) if part is not None
            )
        elif isinstance(node, (ExpressionStatement, Declaration)):
            yield node, path
        ahead.extend((part, path) for part in reversed(tuple(_parts(node))))


def _parts(node: Any) -> Iterator[Any]:
    """The statements directly inside a statement."""
    if isinstance(node, Block):
        yield from node.statements
    elif isinstance(node, If):
        yield node.then
        if node.otherwise is not None:
            yield node.otherwise
    elif isinstance(node, (Loop, ForLoop, While, Switch, TileNest, PackedPanels)):
        yield node.body
