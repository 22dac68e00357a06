"""The schedules that strategies wrote into launches, held against what the loops execute.

    { [h, l, t] -> S[i] }    instance map, read from the loops
    { [h, l, t] : h = the sum of its tile numbers at S[i], ... }    from the launch's schedule

The first lies in the second: with the values of S's iterators as functions of a plan instance, a
schedule is a set of conditions that all plan instances must satisfy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import islpy as isl

from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import access_to
from tilepragma.ir.loop_tree import Declaration, If, Loop
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.space_time import Hyperplane, LoopMeaning, SpaceTimeMap
from tilepragma.poly.affine import Frame, NotAffineError, affine
from tilepragma.verify.certificate import Fault
from tilepragma.verify.instances import InstanceMap, grouped, name_of, where
from tilepragma.verify.launch_tree_relation import Leaf, Mapped, Ordered

_RULE = "the schedule is that of the loops"


def wrong_schedules(executed: Iterable[InstanceMap]) -> Iterator[Fault]:
    """A sentence for every statement that runs at another time or place than its launch's schedule
    says. Conditions, bounds and declarations do not count: plans may evaluate them anywhere.
    """
    for executions in grouped(executed, lambda execution: id(execution.leaf.launch)).values():
        launch = executions[0].leaf.launch
        if launch is None or not launch.schedule:
            continue
        maps: dict[SourceRange, list[SpaceTimeMap]] = {}
        for schedule in launch.schedule:
            for place in schedule.statements:
                maps.setdefault(place, []).append(schedule)
        for execution in executions:
            statement = execution.statement
            candidates = maps.get(statement.range, [])
            if isinstance(statement.node, (If, Loop, Declaration)) or any(
                _follows(execution, each) for each in candidates
            ):
                continue
            wrong = "runs otherwise than its schedule says" if candidates else "is in no schedule"
            yield Fault(_RULE, f"the {where(statement)} {wrong} in launch {launch.name}", False)


def _follows(execution: InstanceMap, schedule: SpaceTimeMap) -> bool:
    """Whether the schedule is about these loops, and all instances lie in what it says of them.
    What is not affine in it cannot be shown.
    """
    leaf = execution.leaf
    launch = next(place for place, element in enumerate(leaf.path) if isinstance(element, Launch))
    host = [leaf.frame.iterators[each.dimension] for each in leaf.path[:launch] if isinstance(each, Ordered)]
    nests = (each.nest.loops for each in leaf.path[launch:] if isinstance(each, Mapped))
    distributed = ([tiled.loop.iterator for tiled in loops if tiled.is_distributed] for loops in nests)
    place = next(filter(None, distributed), [])
    # A part of a region that runs in order is proven for any value of the iterators around it.
    time = schedule.time[len(schedule.time) - len(host) :]
    if [each.iterator for each in (*time, *schedule.place)] != [*host, *place]:
        return False
    meanings = (*time, *schedule.place, *schedule.ordered)
    values = _values(execution)
    # Copies of a statement, which have one place in the text, have loops of other names.
    mentioned = (
        iterator.name for meaning in meanings for plane in meaning.hyperplanes for iterator, _ in plane.factors
    )
    if any(leaf.value(each.iterator) is None for each in meanings) or not values.keys() >= set(mentioned):
        return False
    try:
        return all(leaf.domain.is_subset(_instances(leaf, meaning, values)) for meaning in meanings)
    except NotAffineError:
        return False


def _values(execution: InstanceMap) -> dict[str, isl.PwAff]:
    """{ [p] -> [i] } for each iterator of the statement, by its names in the region and the plan"""
    values: dict[str, isl.PwAff] = {}
    for loop in execution.statement.loops:
        named = name_of(loop.iterator, execution.leaf, execution.places)
        value = execution.leaf.value(named)
        if value is not None:
            values[loop.iterator.name] = values[named.name] = value
    return values


def _instances(leaf: Leaf, meaning: LoopMeaning, values: Mapping[str, isl.PwAff]) -> isl.Set:
    """{ [p] : the loop's iterator has its meaning at the statement's iterators }"""
    frame = leaf.frame
    number = affine(access_to(meaning.iterator), frame)
    first = meaning.hyperplanes[0]
    if first.halo is not None and first.size is not None:
        phi, size = _phi(first, frame, values), affine(first.size, frame)
        before, behind = (affine(side, frame) for side in first.halo)
        start = number.mul(size)
        after = start.add(size).add(behind)
        return start.sub(before).le_set(phi).intersect(phi.lt_set(after))
    total = frame.number(0)
    for plane in meaning.hyperplanes:
        phi = _phi(plane, frame, values)
        total = total.add(phi if plane.size is None else phi.div(affine(plane.size, frame)).floor())
    return total.eq_set(number)


def _phi(plane: Hyperplane, frame: Frame, values: Mapping[str, isl.PwAff]) -> isl.PwAff:
    """{ [p] -> [phi(i)] }"""
    total = affine(plane.offset, frame)
    for iterator, factor in plane.factors:
        total = total.add(values[iterator.name].mul(frame.number(factor)))
    return total
