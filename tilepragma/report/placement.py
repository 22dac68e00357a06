"""Where instances of a nest's statements stand in its picture.

Axes are the loops of the deepest statement. A statement in fewer loops stands beside its neighbours
in execution order. A statement in the same iteration as another moves a part of a step along the
loop that orders the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass

if TYPE_CHECKING:
    from tilepragma.report.iteration_space import Instance, IterationSpace, SpaceStatement

Spot = tuple[float, ...]


@dataclass(frozen=True)
class Placement:
    """`spots`: `depth` numbers an instance. `axes` are iterators' names, `ticks` their values."""

    spots: tuple[Spot, ...]
    axes: tuple[str, ...]
    ticks: tuple[tuple[int, ...], ...]


def placement(space: IterationSpace) -> Placement:
    """The places of all instances."""
    deepest = next(statement.iterators for statement in space.statements if len(statement.iterators) == space.depth)
    axes = [_axes_of(statement, deepest) for statement in space.statements]
    given = [dict(zip(axes[instance.statement], instance.point, strict=True)) for instance in space.instances]
    bases = _bases(space, given)
    slots = _slots(space, bases)
    moves = {number: (axes[number][level], slot) for number, (level, slot) in slots.items()}
    most = [max((slot for axis, slot in moves.values() if axis == place), default=0) for place in range(space.depth)]
    spots = []
    for base, instance in zip(bases, space.instances, strict=True):
        level, slot = slots[instance.statement]
        axis, _ = moves[instance.statement]
        moved = list(base)
        moved[axis] += space.statements[instance.statement].steps[level] * slot / (most[axis] + 1)
        spots.append(tuple(moved))
    ticks = tuple(tuple(sorted({spot[axis] for spot in given if axis in spot})) for axis in range(space.depth))
    return Placement(tuple(spots), _axis_names(space, axes, deepest), ticks)


def _axis_names(space: IterationSpace, axes: list[tuple[int, ...]], deepest: tuple[str, ...]) -> tuple[str, ...]:
    """The iterators of the first deepest statement; further names on an axis after a /."""
    names: list[dict[str, None]] = [{name: None} for name in deepest]
    for statement, statement_axes in zip(space.statements, axes, strict=True):
        for axis, name in zip(statement_axes, statement.iterators, strict=True):
            names[axis][name] = None
    return tuple(" / ".join(axis_names) for axis_names in names)


def _axes_of(statement: SpaceStatement, names: tuple[str, ...]) -> tuple[int, ...]:
    """The axis of each loop: the axis with its iterator's name if all have one, else by depth."""
    if set(statement.iterators) <= set(names) and len(set(statement.iterators)) == len(statement.iterators):
        return tuple(names.index(name) for name in statement.iterators)
    return tuple(range(len(statement.iterators)))


def _bases(space: IterationSpace, given: list[dict[int, int]]) -> list[Spot]:
    """The iterators on their axes; on other axes, the place before or after the neighbours'."""
    neighbours = _neighbours(space, given)
    least = [
        min((given_spot[axis] for given_spot in given if axis in given_spot), default=0) for axis in range(space.depth)
    ]
    bases = []
    for instance, coordinates in zip(space.instances, given, strict=True):
        spot = []
        for axis in range(space.depth):
            missing = axis not in coordinates
            spot.append(float(_beside(space, instance, axis, neighbours, least) if missing else coordinates[axis]))
        bases.append(tuple(spot))
    return bases


#: For a statement, loops and an axis: the least and greatest place there, by the loops' values.
_Ranges = dict[tuple[int, int, int], dict[tuple[int, ...], tuple[int, int]]]


def _neighbours(space: IterationSpace, given: list[dict[int, int]]) -> _Ranges:
    ranges: _Ranges = {}
    for instance, coordinates in zip(space.instances, given, strict=True):
        for shared in range(1, len(instance.point) + 1):
            for axis, value in coordinates.items():
                by_prefix = ranges.setdefault((instance.statement, shared, axis), {})
                low, high = by_prefix.get(instance.point[:shared], (value, value))
                by_prefix[instance.point[:shared]] = min(low, value), max(high, value)
    return ranges


def _beside(space: IterationSpace, instance: Instance, axis: int, neighbours: _Ranges, least: list[int]) -> int:
    """A value on an axis without a loop: before the next instance, else after the last."""
    statement = space.statements[instance.statement]
    before: list[int] = []
    after: list[int] = []
    later = False
    for number, neighbour in enumerate(space.statements):
        shared = _shared(statement, neighbour)
        if number == instance.statement or shared == 0:
            continue
        by_prefix = neighbours.get((number, shared, axis), {})
        later = later or (number > instance.statement and bool(by_prefix))
        if instance.point[:shared] in by_prefix:
            low, high = by_prefix[instance.point[:shared]]
            if number > instance.statement:
                after.append(low)
            else:
                before.append(high)
    if after:
        return min(after) - 1
    if before and not later:
        return max(before) + 1
    return least[axis] - (1 if later else 0)


def _slots(space: IterationSpace, bases: list[Spot]) -> dict[int, tuple[int, int]]:
    """For each statement the loop along which it moves, and the number of parts, or (0, 0)."""
    taken: dict[int, set[Spot]] = {}
    for base, instance in zip(bases, space.instances, strict=True):
        taken.setdefault(instance.statement, set()).add(base)
    slots: dict[int, tuple[int, int]] = {}
    for number, statement in enumerate(space.statements):
        level, slot = 0, 0
        for earlier in range(number):
            if taken.get(number, set()) & taken.get(earlier, set()):
                shared = _shared(statement, space.statements[earlier])
                level, slot = max(shared - 1, 0), max(slot, slots[earlier][1] + 1)
        slots[number] = (level, slot)
    return slots


def _shared(left: SpaceStatement, right: SpaceStatement) -> int:
    count = 0
    for first, second in zip(left.loops, right.loops, strict=False):
        if first != second:
            break
        count += 1
    return count
