"""Live-out values of iterators: C's lower + step * trip of the last loop over each iterator.

The loop's bounds are those of its last execution, where the iterators of the loops around it have
their last values.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
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
    """Values of iterators in `needed` that only headers write and the host can compute."""
    plain = _of_rectangles(kernel, needed, on_host)
    rest = needed - {value.iterator.name for value in plain}
    iterators = [loop.iterator for loop in loops_in(kernel.body) if loop.iterator.name in rest]
    last = (_last_entered(kernel, iterator, on_host) for iterator in dict.fromkeys(iterators))
    return (*plain, *(value for value in last if value is not None))


def _last_entered(kernel: Kernel, iterator: DataObject, on_host: Callable[[Expression], bool]) -> LastValue | None:
    """The value that the last entered loop over the iterator leaves; None where that is unknown."""
    from tilepragma.poly.iterator_values import loop_end
    from tilepragma.poly.operation_limit import OperationLimitError

    if any(use.object == iterator for use in function_uses(kernel.functions)):
        return None
    try:
        end = loop_end(kernel.body.statements, iterator, written_objects(kernel))
    except OperationLimitError:
        return None
    if end is None or not all(part is None or on_host(part) for part in end):
        return None
    return LastValue(iterator, *end)


def _of_rectangles(
    kernel: Kernel, needed: frozenset[str], on_host: Callable[[Expression], bool]
) -> tuple[FinalValue, ...]:
    """Values of iterators of rectangular nests, in textual order of the loops."""
    symbols = loop_symbols(kernel)
    values_of: dict[DataObject, list[FinalValue | None]] = {}
    for path, certain in _loops(kernel.body, (), True):
        loop = path[-1]
        if loop.iterator.name in needed and not loop.declares_iterator:
            value = _value(path, symbols, on_host) if certain else None
            values_of.setdefault(loop.iterator, []).append(value)
    writes = Counter(use.object for use in uses(kernel.body, kernel.functions) if use.writes)
    # Only headers of loops with known ends write them.
    ends = {iterator: len(values) for iterator, values in values_of.items() if None not in values}
    computable = {iterator for iterator, count in ends.items() if writes[iterator] == count}
    ordered = [value for values in values_of.values() for value in values if value and value.iterator in computable]
    return tuple(sorted(ordered, key=lambda value: value.loop.loop.index))


def _value(path: tuple[Loop, ...], symbols: dict[int, str], on_host: Callable[[Expression], bool]) -> FinalValue | None:
    """The value that the path's last loop leaves; None if bounds vary or a loop ends early."""
    *around, loop = path
    if any(leaves_early(loop_.body) for loop_ in path):
        return None
    if not all(on_host(bound) for outer in around for bound in outer.bounds):
        return None
    try:
        bounds = [_last(bound, around) for bound in loop.bounds]
    except (NotExactError, ValueError):
        return None
    if not all(on_host(bound) for bound in bounds):
        return None
    lower, upper, step = bounds
    last = dataclasses.replace(loop, lower=lower, upper=upper, step=step)
    return FinalValue(loop.iterator, _numbered(last, symbols), tuple(_numbered(outer, symbols) for outer in around))


def _last(bound: Expression, around: list[Loop]) -> Expression:
    """`bound` with the values that the surrounding iterators have in their last iterations."""
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
    """Each loop with those around it, itself last; `certain`: no condition guards it."""
    if isinstance(node, Loop):
        path = (*path, node)
        yield path, certain
    elif not isinstance(node, Block):
        certain = False
    for child in children(node):
        yield from _loops(child, path, certain)
