"""Multi-device partitioning for `device(all)`: blocks of a device launch's iterations for each
device, and the rows that each block touches.

The partitioned loop is mapped to gangs: its iterations may run in parallel on any device. Rows are
indices of arrays' first dimensions. Iteration i must access rows of the form scale * i + c; the
rows of a block then lie between those of its first and its last iteration. From these numbers alone
the runtime knows what a device lacks before a launch (runtime/multi_device/partition.c).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use, function_uses, uses
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import AddressOf, DataObject, Expression, Storage, access_to
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Block, Declarator, TiledLoop, TileNest, asks_for_layers
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import Division, HostLoop, KernelPlan, Launch, RowUse, launches_in

#: Larger constants in subscripts are no borders of stencils; the runtime's sums of smaller ones
#: stay far from the ends of 64 bits.
_FARTHEST = 1 << 31


#: Scalars as polynomials in what they are computed from.
Values = Mapping[Expression, Polynomial]

#: The least and the greatest value of iterators.
Ranges = Mapping[Expression, tuple[int, int]]


@dataclass(frozen=True)
class _Facts:
    """Facts on a launch's body: definitions of scalars; constant ranges of iterators; expressions
    that the host can evaluate before the first launch; objects that functions reach by address or
    name, and may touch anywhere.
    """

    values: Values
    ranges: Ranges
    on_host: Callable[[Expression], bool]
    anywhere: frozenset[DataObject]


class _UndividedError(Exception):
    """Why a launch cannot be partitioned: a clause for the user."""


@dataclass(frozen=True)
class _Place:
    """The rows that one use touches: scale * i + base + offset, from the least offset to the
    greatest; `base` has no constant term. Without offsets all rows.
    """

    use: Use
    scale: int = 0
    offsets: tuple[int, int] | None = None
    base: Polynomial = number(0)

    @property
    def moves(self) -> tuple[int, Polynomial] | None:
        """The key of places that can be joined; None for all rows."""
        return None if self.offsets is None else (self.scale, self.base)


def with_divisions(plan: KernelPlan, diagnostics: Diagnostics) -> KernelPlan:
    """The plan partitioned as `device(all)` asks; else with the reason, and a warning."""
    if not plan.kernel.directive.all_devices:
        return plan
    try:
        if plan.as_written is not None or not plan.device:
            raise _UndividedError("it has no launches for devices")
        divisions = tuple(_division(plan, launch) for launch in plan.device)
        _check_traffic(plan, divisions)
        return replace(plan, divisions=divisions)
    except _UndividedError as reason:
        diagnostics.warning(
            plan.kernel.directive.range,
            f"the kernel runs on one device, in spite of device(all): {reason}",
            "parallel loops over rows whose iterations write distinct rows are distributed over the devices in blocks",
        )
        return replace(plan, undivided=str(reason))


def _check_traffic(plan: KernelPlan, divisions: tuple[Division, ...]) -> None:
    """Refuse to send whole arrays between devices in each round. Raises _UndividedError."""
    written = {use.object for division in divisions for use in division.uses if use.writes}
    repeated = [
        launch for step in plan.device_steps if isinstance(step, HostLoop) for launch in launches_in(step.steps)
    ]
    for launch, division in zip(plan.device, divisions, strict=True):
        for use in division.uses:
            if launch in repeated and use.least is None and use.object in written:
                raise _UndividedError(
                    f"launch {launch.name} may read any row of '{use.object.host}', which other devices write in each "
                    "round of the host's loop"
                )


def _division(plan: KernelPlan, launch: Launch) -> Division:
    """Raises _UndividedError."""
    if launch.reductions:
        names = ", ".join(f"'{reduction.object.host}'" for reduction in launch.reductions)
        raise _UndividedError(f"launch {launch.name} reduces {names}, whose order would be another on several devices")
    if launch.scratchpads and not asks_for_layers(plan.kernel):
        raise _UndividedError(f"launch {launch.name} has tiles of several time steps, each with borders of its own")
    arrays = [argument.object for argument in plan.arrays]
    inside = tuple(function_uses(plan.kernel.functions))
    everything = (*uses(launch.body, plan.kernel.functions, launch=True), *inside)
    touching = [use for use in everything if use.object in arrays]
    addresses = (node.target for node in walk(launch.body) if isinstance(node, AddressOf))
    anywhere = frozenset((*(target.object for target in addresses), *(use.object for use in inside)))
    facts = _Facts(_values(launch, everything), _ranges(launch), host_evaluable(written_objects(plan.kernel)), anywhere)
    for use in touching:
        if use.object.storage is Storage.ROWS:
            raise _UndividedError(f"the rows of '{use.object.host}' lie apart")
    refused = ""
    for loop in _loops(launch):
        try:
            return Division(loop, _row_uses(touching, loop, facts))
        except _UndividedError as reason:
            refused = refused or f"launch {launch.name} {reason}"
    fixed = _fixed(plan, touching, facts)
    if fixed is None:
        raise _UndividedError(
            refused or f"launch {launch.name} is not one nest with a loop over gangs around all of it"
        )
    return Division(None, fixed)


def _values(launch: Launch, everything: tuple[Use, ...]) -> Values:
    """The definitions of scalars that only their (equal) declarations write."""
    definitions: dict[Expression, Polynomial] = {}
    declared = [node for node in walk(launch.body) if isinstance(node, Declarator)]
    names = [node.object for node in declared]
    written = [use.object for use in everything if use.writes]
    refused = {node.object for node in declared if node.initializer is None}
    for node in declared:
        if (
            node.initializer is not None
            and not isinstance(node.initializer, tuple)
            and written.count(node.object) == names.count(node.object)
        ):
            value = polynomial(node.initializer)
            if definitions.setdefault(access_to(node.object), value) != value:
                refused.add(node.object)
    accesses = set(map(access_to, refused))
    return {access: value for access, value in definitions.items() if access not in accesses}


def _resolved(value: Polynomial, values: Values) -> Polynomial:
    """`value` with scalars replaced by their definitions, where it is linear in them."""
    for atom in value.atoms & values.keys():
        if value.split(atom) is not None:
            value = value.substitute(atom, _resolved(values[atom], values))
    return value


def _ranges(launch: Launch) -> Ranges:
    """Ranges of iterators that run over scratchpads and are mapped to workers."""
    ranges: dict[Expression, tuple[int, int]] = {}
    for loop in (tiled.loop for tiled in launch.loops if launch.scratchpads):
        first, last = polynomial(loop.lower).constant, polynomial(loop.upper).constant
        if first is not None and last is not None and loop.comparison == "<=" and not loop.decreasing:
            ranges[access_to(loop.iterator)] = first, max(first, last)
    return ranges


def _loops(launch: Launch) -> Iterator[TiledLoop]:
    """The loops over gangs around all of a launch (but scratchpads' nests), outermost first."""
    nests = [node for node in walk(launch.body) if isinstance(node, TileNest)]
    body = launch.body
    while len(body.statements) == 1 and isinstance(body.statements[0], Block):
        body = body.statements[0]
    if not nests or body.statements != (nests[0],) or (len(nests) > 1 and not launch.scratchpads):
        return
    for tiled in nests[0].loops:
        distributed = any(
            tile.axis is not None and tile.axis.kind in (AxisKind.GANG, AxisKind.THREAD) for tile in tiled.tiles
        )
        if distributed and tiled.launch_bounds and polynomial(tiled.loop.step).constant:
            yield tiled


def _row_uses(touching: list[Use], loop: TiledLoop, facts: _Facts) -> tuple[RowUse, ...]:
    """An iteration's uses. Raises _UndividedError if two iterations may write one row."""
    step = polynomial(loop.loop.step).constant or 1
    places: dict[DataObject, list[_Place]] = {}
    for use in touching:
        places.setdefault(use.object, []).append(_place(use, loop.loop.iterator, facts))
    rows = []
    for object_, touched in places.items():
        written = [place for place in touched if place.use.writes]
        if written:
            write = _joined(object_, written, reads=False)
            if write.least is None or write.greatest is None or write.greatest - write.least >= abs(write.scale * step):
                raise _UndividedError(
                    f"writes '{object_.host}' in rows that are not those of the loop over '{loop.loop.iterator.host}'"
                )
            rows.append(write)
        read = [place for place in touched if place.use.reads]
        groups = {place.moves: [like for like in read if like.moves == place.moves] for place in read}
        rows += [
            _joined(object_, group, reads=True) for group in ([read] if None in groups else groups.values()) if group
        ]
    return tuple(rows)


def _fixed(plan: KernelPlan, touching: list[Use], facts: _Facts) -> tuple[RowUse, ...] | None:
    """The uses of a launch of constant rows and unwritten arrays, fit for one device; else None."""
    places = [_place(use, None, facts) for use in touching]
    written = written_objects(plan.kernel)
    if any(place.offsets is None and place.use.object in written for place in places):
        return None
    return tuple(
        replace(_joined(place.use.object, [place], reads=place.use.reads), writes=place.use.writes) for place in places
    )


def _joined(object_: DataObject, places: list[_Place], reads: bool) -> RowUse:
    """One use for several: the rows from the least to the greatest, or all."""
    moves = {place.moves for place in places}
    offsets = [place.offsets for place in places if place.offsets is not None]
    rank = max(object_.rank, 1)
    if len(moves) > 1 or len(offsets) < len(places):
        return RowUse(object_, reads, not reads, rank, 0, None, None)
    base = expression(places[0].base) if places[0].base.terms else None
    least, greatest = min(least for least, _ in offsets), max(greatest for _, greatest in offsets)
    return RowUse(object_, reads, not reads, rank, places[0].scale, least, greatest, base)


def _place(use: Use, iterator: DataObject | None, facts: _Facts) -> _Place:
    if use.object.storage is Storage.SCALAR:
        return _Place(use, 0, (0, 0))
    if len(use.subscripts) < use.object.rank or use.object in facts.anywhere:
        return _Place(use)
    row = _resolved(polynomial(use.subscripts[0]), facts.values)
    scale, rest = 0, row
    if iterator is not None:
        parts = row.split(access_to(iterator))
        if parts is None or parts[0].constant is None:
            return _Place(use)
        scale, rest = parts[0].constant, parts[1]
    least = greatest = 0
    for atom, ends in facts.ranges.items():
        parts = rest.split(atom)
        factor = None if parts is None else parts[0].constant
        if parts is not None and factor is not None:
            rest = parts[1]
            least += min(factor * end for end in ends)
            greatest += max(factor * end for end in ends)
    offset = dict(rest.terms).get((), 0)
    base = rest - number(offset)
    least, greatest = least + offset, greatest + offset
    if max(abs(least), abs(greatest), abs(scale)) >= _FARTHEST or not facts.on_host(expression(base)):
        return _Place(use)
    return _Place(use, scale, (least, greatest), base)
