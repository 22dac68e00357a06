"""Iterators declared outside the region keep their C value after it: lower + step * trip of their
last loop.

The loop's bounds are those of its last execution: iterators of the loops around it have their last
values there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from tilepragma.ir.accesses import function_uses, leaves_early, uses
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import DataObject, Expression, access_to
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Tile, TiledLoop
from tilepragma.ir.polynomial import expression, polynomial
from tilepragma.ir.traversal import children, loops_in
from tilepragma.plan.kernel_plan import FinalValue, LastValue
from tilepragma.plan.loop_symbols import loop_symbols
from tilepragma.poly.extents import NotExactError, last_value


def final_values(
    kernel: Kernel, needed: frozenset[str], on_host: Callable[[Expression], bool]
) -> tuple[FinalValue | LastValue, ...]:
    """Values of those iterators among `needed` that only loop headers write and the host can compute at launch."""
    plain = _of_rectangles(kernel, needed, on_host)
    rest = needed - {value.iterator.name for value in plain}
    iterators = [loop.iterator for loop in loops_in(kernel.body) if loop.iterator.name in rest]
    last = (_last_entered(kernel, iterator, on_host) for iterator in dict.fromkeys(iterators))
    return (*plain, *(one for one in last if one is not None))


def _last_entered(kernel: Kernel, iterator: DataObject, on_host: Callable[[Expression], bool]) -> LastValue | None:
    """From the loop over the iterator that is entered last, if the engine can tell which that is."""
    from tilepragma.poly.live_out_iterators import loop_end
    from tilepragma.poly.operation_limit import OperationLimitError

    if any(use.object == iterator for use in function_uses(kernel.functions)):
        return None
    try:
        found = loop_end(kernel.body.statements, iterator, written_objects(kernel))
    except OperationLimitError:
        return None
    if found is None or not on_host(found.value) or not (found.condition is None or on_host(found.condition)):
        return None
    return LastValue(iterator, found.value, found.condition)


def _of_rectangles(
    kernel: Kernel, needed: frozenset[str], on_host: Callable[[Expression], bool]
) -> tuple[FinalValue, ...]:
    """In textual order of the loops: a later one counts where its loop is reached. The loops' bounds are expressions over host objects."""
    symbols = loop_symbols(kernel)
    found: dict[DataObject, list[FinalValue | None]] = {}
    for path, certain in _loops(kernel.body, (), True):
        loop = path[-1]
        if loop.iterator.name in needed and not loop.declares_iterator:
            value = _value(path, symbols, on_host) if certain else None
            found.setdefault(loop.iterator, []).append(value)
    computable = {iterator for iterator, values in found.items() if _only_headers(kernel, iterator, values)}
    ordered = [value for values in found.values() for value in values if value and value.iterator in computable]
    return tuple(sorted(ordered, key=lambda value: value.loop.loop.index))


def _only_headers(kernel: Kernel, iterator: DataObject, values: list[FinalValue | None]) -> bool:
    writes = sum(1 for use in uses(kernel.body, kernel.functions) if use.object == iterator and use.writes)
    return None not in values and writes == len(values)


def _value(path: tuple[Loop, ...], symbols: dict[int, str], on_host: Callable[[Expression], bool]) -> FinalValue | None:
    """The value that the last loop of `path` leaves, if the loops around it are rectangular and none ends early."""
    *around, loop = path
    if any(leaves_early(one.body) for one in path):
        return None
    if not all(on_host(bound) for one in around for bound in (one.lower, one.upper, one.step)):
        return None
    try:
        bounds = [_last(bound, around) for bound in (loop.lower, loop.upper, loop.step)]
    except (NotExactError, ValueError):
        return None
    if not all(on_host(bound) for bound in bounds):
        return None
    lower, upper, step = bounds
    last = dataclasses.replace(loop, lower=lower, upper=upper, step=step)
    return FinalValue(loop.iterator, _numbered(last, symbols), tuple(_numbered(one, symbols) for one in around))


def _last(bound: Expression, around: list[Loop]) -> Expression:
    """`bound` as it is in the last iteration of the loops around it."""
    value = polynomial(bound)
    for outer in reversed(around):
        atom = access_to(outer.iterator)
        if atom in value.atoms:
            value = value.substitute(atom, last_value(outer))
    return bound if value == polynomial(bound) else expression(value)


def _numbered(loop: Loop, symbols: dict[int, str]) -> TiledLoop:
    tile = Tile(loop.index, 0, TileKind.DYNAMIC, None, None, loop.header)
    return TiledLoop(loop, symbols[loop.index], (tile,), True)


def _loops(node: Any, path: tuple[Loop, ...], certain: bool) -> Iterator[tuple[tuple[Loop, ...], bool]]:
    """Every loop with the loops around it, itself last; `certain`: nothing but loops decides whether it is reached."""
    if isinstance(node, Loop):
        path = (*path, node)
        yield path, certain
    elif not isinstance(node, Block):
        certain = False
    for child in children(node):
        yield from _loops(child, path, certain)
