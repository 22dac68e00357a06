"""Multi-device partitioning for `device(all)`: blocks of a device launch's iterations for each
device, and the rows that each block touches.

The partitioned loop is mapped to gangs: its iterations may run in parallel on any device. Rows are
indices of arrays' first dimensions. Iteration i must access rows of the form scale * i + c; the
rows of a block then lie between those of its first and its last iteration. From these numbers alone
the runtime knows what a device lacks before a launch (runtime/multi_device/partition.c).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.refusals import RefusalError
from tilepragma.ir.accesses import Use, function_uses, uses
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import AddressOf, DataObject, Expression, Storage, access_to
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import TiledLoop, TileNest, asks_for_layers
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.traversal import nests_in, unwrapped, walk
from tilepragma.plan.kernel_plan import Division, HostLoop, KernelPlan, Launch, RowUse, launches_in
from tilepragma.poly.reference_spans import settled_values, written_out

#: Larger constants in subscripts are no borders of stencils; the runtime's sums of smaller ones
#: stay far from the ends of 64 bits.
_FARTHEST = 1 << 31

#: The rows that a use touches in an iteration, from the iterator's, or in all instances.
RowsOf = Callable[[Use, DataObject | None], RowUse]


def with_divisions(plan: KernelPlan, diagnostics: Diagnostics) -> KernelPlan:
    """The plan partitioned as `device(all)` asks; else with the reason, and a warning."""
    if not plan.kernel.directive.all_devices:
        return plan
    try:
        if plan.untransformed is not None or not plan.device:
            raise RefusalError("it has no launches for devices")
        divisions = tuple(_division(plan, launch) for launch in plan.device)
        _check_traffic(plan, divisions)
        return replace(plan, divisions=divisions)
    except RefusalError as reason:
        diagnostics.warning(
            plan.kernel.directive.range,
            f"the kernel runs on one device, in spite of device(all): {reason}",
            "parallel loops over rows whose iterations write distinct rows are distributed over the devices in blocks",
        )
        return replace(plan, undivided=str(reason))


def _check_traffic(plan: KernelPlan, divisions: tuple[Division, ...]) -> None:
    """Refuse to send whole arrays between devices in each round. Raises RefusalError."""
    written = {use.object for division in divisions for use in division.uses if use.writes}
    loops = (step for step in plan.device_steps if isinstance(step, HostLoop))
    repeated = [launch for loop in loops for launch in launches_in(loop.steps)]
    for launch, division in zip(plan.device, divisions, strict=True):
        for use in division.uses:
            if launch in repeated and use.least is None and use.object in written:
                raise RefusalError(
                    f"launch {launch.name} may read any row of '{use.object.host}', which other devices write in each "
                    "round of the host's loop"
                )


def _division(plan: KernelPlan, launch: Launch) -> Division:
    """Raises RefusalError."""
    if launch.reductions:
        names = ", ".join(f"'{reduction.object.host}'" for reduction in launch.reductions)
        raise RefusalError(f"launch {launch.name} reduces {names}, whose order would be another on several devices")
    if launch.scratchpads and not asks_for_layers(plan.kernel):
        raise RefusalError(f"launch {launch.name} has tiles of several time steps, each with borders of its own")
    arrays = [argument.object for argument in plan.arrays]
    of_functions = tuple(function_uses(plan.kernel.functions))
    all_uses = (*uses(launch.body, plan.kernel.functions, launch=True), *of_functions)
    touching = [use for use in all_uses if use.object in arrays]
    rows_of = _rows_of(plan, launch, of_functions)
    for use in touching:
        if use.object.storage is Storage.ROWS:
            raise RefusalError(f"the rows of '{use.object.host}' lie apart")
    refused = ""
    for loop in _loops(launch):
        try:
            return Division(loop, _row_uses(touching, loop, rows_of))
        except RefusalError as reason:
            refused = refused or f"launch {launch.name} {reason}"
    # Launches of constant rows and unwritten arrays are fit for one device.
    fixed, written = tuple(rows_of(use, None) for use in touching), written_objects(plan.kernel)
    if any(use.least is None and use.object in written for use in fixed):
        raise RefusalError(refused or f"launch {launch.name} is not one nest with a loop over gangs around all of it")
    return Division(None, fixed)


def _ranges(launch: Launch) -> dict[Expression, tuple[int, int]]:
    """The ends of the iterators that run over scratchpads and are mapped to workers."""
    ranges: dict[Expression, tuple[int, int]] = {}
    for loop in (tiled.loop for tiled in launch.loops if launch.scratchpads):
        first, last = polynomial(loop.lower).constant, polynomial(loop.upper).constant
        if first is not None and last is not None and loop.comparison == "<=" and not loop.decreasing:
            ranges[access_to(loop.iterator)] = first, max(first, last)
    return ranges


def _loops(launch: Launch) -> Iterator[TiledLoop]:
    """The loops over gangs around all of a launch (but scratchpads' nests), outermost first."""
    nest = unwrapped(launch.body)
    if not isinstance(nest, TileNest) or (len(nests_in(nest)) > 1 and not launch.scratchpads):
        return
    for tiled in nest.loops:
        kinds = {tile.axis.kind for tile in tiled.tiles if tile.axis is not None}
        if kinds & {AxisKind.GANG, AxisKind.THREAD} and tiled.launch_bounds and polynomial(tiled.loop.step).constant:
            yield tiled


def _row_uses(touching: list[Use], loop: TiledLoop, rows_of: RowsOf) -> tuple[RowUse, ...]:
    """An iteration's uses. Raises RefusalError if two iterations may write one row."""
    iterator, step = loop.loop.iterator, polynomial(loop.loop.step).constant or 1
    touched: dict[DataObject, list[RowUse]] = {}
    for use in touching:
        touched.setdefault(use.object, []).append(rows_of(use, iterator))
    rows = []
    for object_, row_uses in touched.items():
        written = [row_use for row_use in row_uses if row_use.writes]
        if written:
            write = _joined(written, reads=False)
            if write.least is None or write.greatest is None or write.greatest - write.least >= abs(write.scale * step):
                raise RefusalError(
                    f"writes '{object_.host}' in rows that are not those of the loop over '{iterator.host}'"
                )
            rows.append(write)
        groups: dict[object, list[RowUse]] = {}
        for row_use in row_uses:
            if row_use.reads:
                groups.setdefault(_joining_key(row_use), []).append(row_use)
        if None in groups:
            groups = {None: [row_use for group in groups.values() for row_use in group]}
        rows += [_joined(group, reads=True) for group in groups.values()]
    return tuple(rows)


def _joining_key(use: RowUse) -> tuple[int, Expression | None] | None:
    """The key of uses that can be joined; None for all rows."""
    return None if use.least is None else (use.scale, use.base)


def _joined(uses_of: list[RowUse], reads: bool) -> RowUse:
    """One use for several: the rows from the least to the greatest, or all."""
    first = replace(uses_of[0], reads=reads, writes=not reads)
    least = [use.least for use in uses_of if use.least is not None]
    greatest = [use.greatest for use in uses_of if use.greatest is not None]
    if len(set(map(_joining_key, uses_of))) > 1 or len(least) < len(uses_of):
        return replace(first, scale=0, least=None, greatest=None, base=None)
    return replace(first, least=min(least), greatest=max(greatest))


def _rows_of(plan: KernelPlan, launch: Launch, of_functions: tuple[Use, ...]) -> RowsOf:
    """A function that finds the rows of uses in a launch; `of_functions` are uses in functions."""
    values, ranges = settled_values(launch.body), _ranges(launch)
    on_host = host_evaluable(written_objects(plan.kernel))
    # What functions reach by address or name, they may touch anywhere.
    anywhere = {node.target.object for node in walk(launch.body) if isinstance(node, AddressOf)}
    anywhere |= {use.object for use in of_functions}

    def rows_of(use: Use, iterator: DataObject | None) -> RowUse:
        all_rows = RowUse(use.object, use.reads, use.writes, max(use.object.rank, 1), 0, None, None)
        if use.object.storage is Storage.SCALAR:
            return replace(all_rows, least=0, greatest=0)
        if len(use.subscripts) < use.object.rank or use.object in anywhere:
            return all_rows
        row = written_out(polynomial(use.subscripts[0]), values)
        parts = None if row is None else (number(0), row) if iterator is None else row.split(access_to(iterator))
        if parts is None or parts[0].constant is None:
            return all_rows
        scale, rest = parts[0].constant, parts[1]
        least = greatest = 0
        for atom, ends in ranges.items():
            parts = rest.split(atom)
            factor = None if parts is None else parts[0].constant
            if parts is not None and factor is not None:
                rest = parts[1]
                least += min(factor * end for end in ends)
                greatest += max(factor * end for end in ends)
        offset = rest.constant_term
        base = rest - number(offset)
        least, greatest = least + offset, greatest + offset
        if max(abs(least), abs(greatest), abs(scale)) >= _FARTHEST or not on_host(expression(base)):
            return all_rows
        start = expression(base) if base.terms else None
        return replace(all_rows, scale=scale, least=least, greatest=greatest, base=start)

    return rows_of
