"""Where instances of a nest's statements stand in its picture.

Axes are the loops of the deepest statement. A statement under fewer loops stands beside what runs
next to it; one that runs at the same iteration as another is moved a part of a step along the loop
that orders the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass

if TYPE_CHECKING:
    from tilepragma.report.iteration_space import Instance, IterationSpace, SpaceStatement

Spot = tuple[float, ...]


@dataclass(frozen=True)
class Placement:
    """`spots`: one an instance, `depth` numbers each. `axes` are the iterators' names by axis, `ticks` the values they have."""

    spots: tuple[Spot, ...]
    axes: tuple[str, ...]
    ticks: tuple[tuple[int, ...], ...]


def placement(space: IterationSpace) -> Placement:
    """The places of all instances."""
    deepest = next(statement.iterators for statement in space.statements if len(statement.iterators) == space.depth)
    axes = [_axes_of(statement, deepest) for statement in space.statements]
    given = [dict(zip(axes[instance.statement], instance.at, strict=True)) for instance in space.instances]
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
    ticks = tuple(tuple(sorted({one[axis] for one in given if axis in one})) for axis in range(space.depth))
    return Placement(tuple(spots), _axis_names(space, axes, deepest), ticks)


def _axis_names(space: IterationSpace, axes: list[tuple[int, ...]], deepest: tuple[str, ...]) -> tuple[str, ...]:
    """The iterators of the first statement under the most loops; other names on the same axis behind a /."""
    names: list[dict[str, None]] = [{name: None} for name in deepest]
    for statement, own in zip(space.statements, axes, strict=True):
        for axis, name in zip(own, statement.iterators, strict=True):
            names[axis][name] = None
    return tuple(" / ".join(found) for found in names)


def _axes_of(statement: SpaceStatement, names: tuple[str, ...]) -> tuple[int, ...]:
    """The axis of each loop: the one with its iterator's name where all have one, else by depth."""
    if set(statement.iterators) <= set(names) and len(set(statement.iterators)) == len(statement.iterators):
        return tuple(names.index(name) for name in statement.iterators)
    return tuple(range(len(statement.iterators)))


def _bases(space: IterationSpace, given: list[dict[int, int]]) -> list[Spot]:
    """The iterators on their axes; on an axis that a statement lacks, the place before or behind its neighbours'."""
    neighbours = _neighbours(space, given)
    least = [min((one[axis] for one in given if axis in one), default=0) for axis in range(space.depth)]
    found = []
    for instance, own in zip(space.instances, given, strict=True):
        spot = []
        for axis in range(space.depth):
            missing = axis not in own
            spot.append(float(_beside(space, instance, axis, neighbours, least) if missing else own[axis]))
        found.append(tuple(spot))
    return found


#: Of a statement, the loops and the axis: by the values of these loops the least and greatest place
#: on that axis.
_Ranges = dict[tuple[int, int, int], dict[tuple[int, ...], tuple[int, int]]]


def _neighbours(space: IterationSpace, given: list[dict[int, int]]) -> _Ranges:
    ranges: _Ranges = {}
    for instance, own in zip(space.instances, given, strict=True):
        for shared in range(1, len(instance.at) + 1):
            for axis, value in own.items():
                by_prefix = ranges.setdefault((instance.statement, shared, axis), {})
                low, high = by_prefix.get(instance.at[:shared], (value, value))
                by_prefix[instance.at[:shared]] = min(low, value), max(high, value)
    return ranges


def _beside(space: IterationSpace, instance: Instance, axis: int, neighbours: _Ranges, least: list[int]) -> int:
    """A value on an axis without a loop: one before what follows in the same iteration, else one behind what precedes."""
    statement = space.statements[instance.statement]
    before: list[int] = []
    after: list[int] = []
    later = False
    for number, other in enumerate(space.statements):
        shared = _shared(statement, other)
        if number == instance.statement or shared == 0:
            continue
        by_prefix = neighbours.get((number, shared, axis), {})
        later = later or (number > instance.statement and bool(by_prefix))
        if instance.at[:shared] in by_prefix:
            low, high = by_prefix[instance.at[:shared]]
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
    """For each statement the loop along which it is moved and the number of parts; (0, 0) where nothing is in its way."""
    taken: dict[int, set[Spot]] = {}
    for base, instance in zip(bases, space.instances, strict=True):
        taken.setdefault(instance.statement, set()).add(base)
    slots: dict[int, tuple[int, int]] = {}
    for number, statement in enumerate(space.statements):
        level, slot = 0, 0
        for other in range(number):
            if taken.get(number, set()) & taken.get(other, set()):
                shared = _shared(statement, space.statements[other])
                level, slot = max(shared - 1, 0), max(slot, slots[other][1] + 1)
        slots[number] = (level, slot)
    return slots


def _shared(one: SpaceStatement, other: SpaceStatement) -> int:
    count = 0
    for first, second in zip(one.loops, other.loops, strict=False):
        if first != second:
            break
        count += 1
    return count
