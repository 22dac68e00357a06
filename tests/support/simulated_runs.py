"""Runs programs of the polyhedral model on symbolic values, in textual order or by a schedule."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import islpy as isl

from tilepragma.poly.schedule import original_schedule
from tilepragma.poly.scop import ScopStatement

Memory = dict[tuple[str, tuple[int, ...]], int]


def fixed(set_or_map: Any, sizes: Mapping[str, int]) -> Any:
    for name, value in sizes.items():
        position = set_or_map.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            set_or_map = set_or_map.fix_val(isl.dim_type.param, position, value)
    return set_or_map


def coordinates(point: isl.Point, kind: isl.dim_type = isl.dim_type.set) -> tuple[int, ...]:
    count = point.get_space().dim(kind)
    return tuple(point.get_coordinate_val(kind, index).to_python() for index in range(count))


def pairs(relation: isl.Map) -> dict[tuple[int, ...], tuple[int, ...]]:
    """A function with finitely many arguments, as a dictionary."""
    split = relation.dim(isl.dim_type.in_)
    points: list[tuple[int, ...]] = []
    relation.wrap().foreach_point(lambda point: points.append(coordinates(point)))
    result = {point[:split]: point[split:] for point in points}
    assert len(result) == len(points)
    return result


def run(
    statements: Sequence[ScopStatement],
    times: Mapping[str, isl.Map],
    sizes: Mapping[str, int],
    *,
    parallel: Sequence[int] = (),
    seed: int = 0,
) -> Memory:
    """Memory after all instances have run in schedule order; components in `parallel` are shuffled.
    Every write stores a hash of the writer and of what it reads, so that any wrong read shows in
    the end.
    """
    shuffled = random.Random(seed)
    memory: Memory = {}
    instances = []
    for statement in statements:
        domain = fixed(statement.domain, sizes)
        when = pairs(fixed(times[statement.name], sizes).intersect_domain(domain))
        related = ((use, fixed(use.relation, sizes).intersect_domain(domain)) for use in statement.references)
        accesses = [(use.object.name, use.writes, pairs(relation)) for use, relation in related]
        instances += [(time, statement.name, instance, accesses) for instance, time in when.items()]
    lots: dict[tuple[int, ...], float] = {}

    def order(entry: Any) -> Any:
        time = entry[0]
        key: list[Any] = []
        for index, value in enumerate(time):
            lot = lots.setdefault(time[: index + 1], shuffled.random())
            key.append((lot, value) if index in parallel else value)
        return key

    for _, name, instance, accesses in sorted(instances, key=order):
        values = tuple(
            memory.get((array, where[instance]), hash((array, where[instance])))
            for array, write, where in accesses
            if not write and instance in where
        )
        for array, write, where in accesses:
            if write:
                memory[array, where[instance]] = hash((name, instance, values))
    return memory


def run_as_written(statements: Sequence[ScopStatement], sizes: Mapping[str, int]) -> Memory:
    order = original_schedule(tuple(statements))
    return run(statements, {ordered.statement.name: ordered.map for ordered in order}, sizes)
