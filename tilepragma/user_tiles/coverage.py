"""The coverage rule of docs/LANGUAGE.md, "Tiles": each statement with side effects lies under each
distributed dimension exactly once, or is provably private; else it is an error, never a race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import DataObject, Expression, Scope
from tilepragma.ir.loop_tree import Axis, Block, Declaration, ExpressionStatement, Function, TileNest
from tilepragma.ir.traversal import children, statements_of, walk
from tilepragma.user_tiles.tile_nests import axis_text

_EVALUATED = (ExpressionStatement, Declaration, *get_args(Expression))


def axes_of(node: Any) -> tuple[Axis, ...]:
    """The axes in use anywhere under `node`, by kind and dimension."""
    axes = {tile.axis for nest in walk(node) if isinstance(nest, TileNest) for tile in nest.order if tile.axis}
    return tuple(_ordered(axes))


def nest_axes(nest: TileNest) -> frozenset[Axis]:
    """The axes of the nest itself."""
    return frozenset(tile.axis for tile in nest.order if tile.axis is not None)


def check_coverage(
    body: Block, functions: tuple[Function, ...], private: Callable[[DataObject], bool], diagnostics: Diagnostics
) -> None:
    """Report statements of one launch that some instances would run too often."""
    wanted = frozenset(axes_of(body))
    for node, path in _effects(body):
        seen = frozenset(path)
        if len(seen) < len(path):  # `check_repeated` reports it
            return
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


def check_repeated(node: Any, diagnostics: Diagnostics, around: tuple[Axis, ...] = ()) -> None:
    """Report nests with an axis of a nest around them."""
    if isinstance(node, TileNest):
        for axis in _ordered(nest_axes(node) & set(around)):
            message = f"{axis_text(axis)} is distributed here and again by a loop around this one"
            diagnostics.error(node.loops[0].loop.header, message, "give each of the loops its own dimension")
        around = (*around, *nest_axes(node))
    for part in statements_of(node):
        check_repeated(part, diagnostics, around)


def _ordered(axes: Iterable[Axis]) -> list[Axis]:
    """By kind and dimension."""
    kinds = list(AxisKind)
    return sorted(axes, key=lambda axis: (kinds.index(axis.kind), axis.dimension))


def _effects(node: Any, around: tuple[Axis, ...] = ()) -> Iterator[tuple[Any, tuple[Axis, ...]]]:
    """All evaluated nodes (statements, conditions, headers) with the axes around them."""
    if isinstance(node, _EVALUATED):
        yield node, around
    elif isinstance(node, TileNest):
        yield from _effects(node.body, (*around, *nest_axes(node)))
    else:
        for part in children(node):
            yield from _effects(part, around)
