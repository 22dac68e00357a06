"""`device(all)`: how the iterations of a plan's device launches are dealt to several devices, block
by block, and which rows each block touches.

The loop that is divided is one over gangs, whose iterations may run at once whatever device has
them. Rows are indices of arrays' first dimensions: an access in row scale * i + c of iteration i is
all that is looked for, so that the rows of a block lie between those of its first and its last
iteration, and the runtime knows from these numbers alone what a device lacks before a launch
(runtime/multi_device/partition.c).
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

#: Numbers in subscripts beyond this are no borders of stencils; the runtime's sums of them stay far
#: from the ends of 64 bits.
_FARTHEST = 1 << 31


#: Scalars as polynomials in what they are computed from.
Values = Mapping[Expression, Polynomial]

#: The least and the greatest value of iterators.
Ranges = Mapping[Expression, tuple[int, int]]


@dataclass(frozen=True)
class _Known:
    """What scalars of a launch's body stand for; the values of iterators that have known ones;
    which expressions the host can evaluate before the first launch; objects that functions touch,
    by an address or by their name: any element of them.
    """

    values: Values
    ranges: Ranges
    on_host: Callable[[Expression], bool]
    anywhere: frozenset[DataObject]


class _UndividedError(Exception):
    """Why a launch cannot be divided: a clause for the user."""


@dataclass(frozen=True)
class _Place:
    """The rows that one use touches, scale * i + base + offset, the least offset to the greatest,
    where `base` has no number; without offsets all rows.
    """

    use: Use
    scale: int = 0
    offsets: tuple[int, int] | None = None
    base: Polynomial = number(0)

    @property
    def moves(self) -> tuple[int, Polynomial] | None:
        """What places have in common that can be looked at as one; None of all rows."""
        return None if self.offsets is None else (self.scale, self.base)


def with_divisions(plan: KernelPlan, diagnostics: Diagnostics) -> KernelPlan:
    """The plan with the divisions that `device(all)` asks for, where all its device launches have one; else with the reason, as a warning too."""
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
            f"the kernel runs on one device, although device(all) is said: {reason}",
            "where loops over rows that run at once write rows of their own, these are dealt to the devices in blocks",
        )
        return replace(plan, undivided=str(reason))


def _check_traffic(plan: KernelPlan, divisions: tuple[Division, ...]) -> None:
    """Refuse what would send whole arrays from device to device again and again. Raises _UndividedError."""
    written = {use.object for division in divisions for use in division.uses if use.writes}
    repeated = [
        launch for step in plan.device_steps if isinstance(step, HostLoop) for launch in launches_in(step.steps)
    ]
    for launch, division in zip(plan.device, divisions, strict=True):
        for use in division.uses:
            if launch in repeated and use.least is None and use.object in written:
                raise _UndividedError(
                    f"launch {launch.name} may read any row of '{use.object.host}', which other devices write in each round of the host's loop"
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
    found = [use for use in everything if use.object in arrays]
    addresses = (node.target for node in walk(launch.body) if isinstance(node, AddressOf))
    anywhere = frozenset((*(target.object for target in addresses), *(use.object for use in inside)))
    known = _Known(_values(launch, everything), _ranges(launch), host_evaluable(written_objects(plan.kernel)), anywhere)
    for use in found:
        if use.object.storage is Storage.ROWS:
            raise _UndividedError(f"the rows of '{use.object.host}' lie apart")
    refused = ""
    for loop in _loops(launch):
        try:
            return Division(loop, _row_uses(found, loop, known))
        except _UndividedError as reason:
            refused = refused or f"launch {launch.name} {reason}"
    fixed = _fixed(plan, found, known)
    if fixed is None:
        raise _UndividedError(
            refused or f"launch {launch.name} is not one nest with a loop over gangs around all of it"
        )
    return Division(None, fixed)


def _values(launch: Launch, everything: tuple[Use, ...]) -> Values:
    """What scalars that the body declares stand for: those that only their declarations write, which are all alike."""
    found: dict[Expression, Polynomial] = {}
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
            if found.setdefault(access_to(node.object), value) != value:
                refused.add(node.object)
    return {access: value for access, value in found.items() if access not in {access_to(one) for one in refused}}


def _resolved(value: Polynomial, values: Values) -> Polynomial:
    """`value` with what scalars stand for in their place, as far as it is linear in them."""
    for atom in value.atoms & values.keys():
        if value.split(atom) is not None:
            value = value.substitute(atom, _resolved(values[atom], values))
    return value


def _ranges(launch: Launch) -> Ranges:
    """Of the iterators of loops over what a gang keeps in memory of its own, which are dealt out to its workers."""
    found: dict[Expression, tuple[int, int]] = {}
    for loop in (tiled.loop for tiled in launch.loops if launch.scratchpads):
        first, last = polynomial(loop.lower).constant, polynomial(loop.upper).constant
        if first is not None and last is not None and loop.comparison == "<=" and not loop.decreasing:
            found[access_to(loop.iterator)] = first, max(first, last)
    return found


def _loops(launch: Launch) -> Iterator[TiledLoop]:
    """The loops over gangs of a launch that is one nest, outermost first; gangs with memory of their own have nests of workers in it."""
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


def _row_uses(found: list[Use], loop: TiledLoop, known: _Known) -> tuple[RowUse, ...]:
    """What an iteration touches of each array. Raises _UndividedError where two iterations may write one row."""
    step = polynomial(loop.loop.step).constant or 1
    places: dict[DataObject, list[_Place]] = {}
    for use in found:
        places.setdefault(use.object, []).append(_place(use, loop.loop.iterator, known))
    rows = []
    for object_, own in places.items():
        written = [place for place in own if place.use.writes]
        if written:
            one = _joined(object_, written, reads=False)
            if one.least is None or one.greatest is None or one.greatest - one.least >= abs(one.scale * step):
                raise _UndividedError(
                    f"writes '{object_.host}' in rows that are not those of the loop over '{loop.loop.iterator.host}'"
                )
            rows.append(one)
        read = [place for place in own if place.use.reads]
        groups = {place.moves: [one for one in read if one.moves == place.moves] for place in read}
        rows += [
            _joined(object_, group, reads=True) for group in ([read] if None in groups else groups.values()) if group
        ]
    return tuple(rows)


def _fixed(plan: KernelPlan, found: list[Use], known: _Known) -> tuple[RowUse, ...] | None:
    """The uses of a launch that touches a few known rows, and arrays that nobody writes, so that it may run whole on one device. None for others."""
    places = [_place(use, None, known) for use in found]
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


def _place(use: Use, iterator: DataObject | None, known: _Known) -> _Place:
    if use.object.storage is Storage.SCALAR:
        return _Place(use, 0, (0, 0))
    if len(use.subscripts) < use.object.rank or use.object in known.anywhere:
        return _Place(use)
    row = _resolved(polynomial(use.subscripts[0]), known.values)
    scale, rest = 0, row
    if iterator is not None:
        parts = row.split(access_to(iterator))
        if parts is None or parts[0].constant is None:
            return _Place(use)
        scale, rest = parts[0].constant, parts[1]
    least = greatest = 0
    for atom, ends in known.ranges.items():
        parts = rest.split(atom)
        factor = None if parts is None else parts[0].constant
        if parts is not None and factor is not None:
            rest = parts[1]
            least += min(factor * end for end in ends)
            greatest += max(factor * end for end in ends)
    offset = dict(rest.terms).get((), 0)
    base = rest - number(offset)
    least, greatest = least + offset, greatest + offset
    if max(abs(least), abs(greatest), abs(scale)) >= _FARTHEST or not known.on_host(expression(base)):
        return _Place(use)
    return _Place(use, scale, (least, greatest), base)
