"""Dependences of random nests, against those found by running the nest and looking at every pair of accesses."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scops import scop
from tilepragma.poly.dependences import DependenceKind, memory_dependences, value_dependences

Row = tuple[int, int, int]


@dataclass(frozen=True)
class Nest:
    """`for i … for j … A[write] = A[read];` with literal bounds; a row is the coefficients of i, j and 1."""

    outer: tuple[int, int, int]
    inner: tuple[int, int, int]
    triangular: bool
    write: Row
    read: Row

    def text(self) -> str:
        start, end = (f"i + {self.inner[0]}" if self.triangular else str(self.inner[0])), self.inner[1]
        loops = _header("i", str(self.outer[0]), self.outer) + _header("j", start, (0, end, self.inner[2]))
        return f"{loops} A[{_sum(self.write)}] = A[{_sum(self.read)}];"

    def instances(self) -> list[tuple[int, int]]:
        """In order of execution."""
        result = []
        for i in _values(self.outer[0], self.outer):
            start = i + self.inner[0] if self.triangular else self.inner[0]
            result += [(i, j) for j in _values(start, self.inner)]
        return result


def _header(name: str, start: str, bounds: tuple[int, int, int]) -> str:
    comparison = "<" if bounds[2] > 0 else ">"
    return f"for (int {name} = {start}; {name} {comparison} {bounds[1]}; {name} += {bounds[2]})"


def _sum(row: Row) -> str:
    return f"{row[0]} * i + {row[1]} * j + {row[2]}"


def _values(start: int, bounds: tuple[int, int, int]) -> range:
    return range(start, bounds[1], bounds[2])


bounds = st.tuples(st.integers(-2, 3), st.integers(3, 7), st.sampled_from((1, 1, 2, 3))) | st.tuples(
    st.integers(3, 6), st.integers(-3, 2), st.sampled_from((-1, -2))
)
rows = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2))
nests = st.builds(Nest, bounds, bounds, st.booleans(), rows, rows)


def _element(row: Row, instance: tuple[int, int]) -> int:
    return row[0] * instance[0] + row[1] * instance[1] + row[2]


def _pairs(nest: Nest, kind: DependenceKind, value_based: bool) -> set[tuple[int, ...]]:
    source = nest.read if kind is DependenceKind.ANTI else nest.write
    sink = nest.read if kind is DependenceKind.FLOW else nest.write
    instances = nest.instances()
    results = set()
    for place, first in enumerate(instances):
        for later in range(place + 1, len(instances)):
            second = instances[later]
            element = _element(source, first)
            if element != _element(sink, second):
                continue
            between = instances[place + 1 : later]
            if not (value_based and any(_element(nest.write, each) == element for each in between)):
                results.add((*first, *second))
    return results


def _points(relation: isl.Map) -> set[tuple[int, ...]]:
    results: set[tuple[int, ...]] = set()
    flat = relation.wrap().flatten()

    def add(point: isl.Point) -> None:
        results.add(tuple(point.get_coordinate_val(isl.dim_type.set, place).to_python() for place in range(4)))

    flat.foreach_point(add)
    return results


@settings(max_examples=60, deadline=None)
@given(nests)
def test_dependences_are_those_of_the_execution(nest: Nest) -> None:
    made = scop("double *A", nest.text())
    memory = memory_dependences(made)
    for value_based, dependences in ((False, memory), (True, value_dependences(memory))):
        result = {kind: set() for kind in (DependenceKind.FLOW, DependenceKind.ANTI, DependenceKind.OUTPUT)}
        for dependence in dependences:
            assert dependence.exact
            result[dependence.kind] |= _points(dependence.relation)
        for kind, points in result.items():
            assert points == _pairs(nest, kind, value_based), (kind, value_based)
