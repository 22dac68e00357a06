"""What `order_violation` allows, executed: no dependence of a random nest may run backwards under any sizes of tiles."""

from __future__ import annotations

import itertools

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.scops import scop
from tilepragma.poly.dependences import memory_dependences
from tilepragma.poly.tile_legality import distribution_violation, order_violation

OUTER, INNER = 6, 7
Row = tuple[int, int, int]
Instance = tuple[int, int]

rows = st.tuples(st.integers(-1, 2), st.integers(-2, 2), st.integers(-2, 2))
#: (loop, position) of one or two tiles a loop, in any order.
orders = st.tuples(st.integers(1, 2), st.integers(1, 2)).flatmap(
    lambda counts: st.permutations([(loop, place) for loop in range(2) for place in range(counts[loop])])
)


def nest(write: Row, read: Row) -> str:
    """A nest whose accesses are sums of i, j and 1."""
    write_at, read_at = (f"{row[0]} * i + {row[1]} * j + {row[2]}" for row in (write, read))
    return f"for (int i = 0; i < {OUTER}; i++) for (int j = 0; j < {INNER}; j++) A[{write_at}] = A[{read_at}] + A[{write_at}];"


def executed(order: list[tuple[int, int]], inner_counts: tuple[int, int]) -> list[Instance]:
    """The iterations in the order of the tile loops; a loop of two tiles has `inner_counts` iterations in its inner one."""
    two = [sum(loop == one for one, _ in order) == 2 for loop in range(2)]
    strides = {(loop, place): inner_counts[loop] if two[loop] and place == 0 else 1 for loop, place in order}
    trips = (OUTER, INNER)
    ranges = [
        range(-(-trips[loop] // strides[loop, place])) if not two[loop] or place == 0 else range(inner_counts[loop])
        for loop, place in order
    ]
    result = []
    for digits in itertools.product(*ranges):
        point = [0, 0]
        for (loop, place), digit in zip(order, digits, strict=True):
            point[loop] += digit * strides[loop, place]
        if point[0] < OUTER and point[1] < INNER:
            result.append((point[0], point[1]))
    assert len(set(result)) == len(result) == OUTER * INNER
    return result


def conflicts(write: Row, read: Row) -> list[tuple[Instance, Instance]]:
    """Pairs of iterations, in the original order, that touch one element, one of them writing."""

    def element(row: Row, one: Instance) -> int:
        return row[0] * one[0] + row[1] * one[1] + row[2]

    instances = list(itertools.product(range(OUTER), range(INNER)))
    return [
        (first, second)
        for first, second in itertools.combinations(instances, 2)
        if any(
            element(one, first) == element(other, second)
            for one, other in ((write, write), (write, read), (read, write))
        )
    ]


@settings(max_examples=80, deadline=None)
@given(rows, rows, orders)
def test_an_order_that_is_allowed_keeps_every_dependence(write: Row, read: Row, order: list[tuple[int, int]]) -> None:
    result = memory_dependences(scop("double *A", nest(write, read)))
    assume(order_violation(result, (0, 1), order) is None)
    for inner_counts in itertools.product((1, 2, 3), (1, 2, 4)):
        time = {instance: place for place, instance in enumerate(executed(order, inner_counts))}
        for first, second in conflicts(write, read):
            assert time[first] < time[second], (inner_counts, first, second)


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_an_interchange_is_refused_only_where_it_breaks_a_dependence(write: Row, read: Row) -> None:
    result = memory_dependences(scop("double *A", nest(write, read)))
    broken = any(first[1] > second[1] for first, second in conflicts(write, read))
    assert (order_violation(result, (0, 1), [(1, 0), (0, 0)]) is not None) == broken


@settings(max_examples=60, deadline=None)
@given(rows, rows, st.integers(0, 1))
def test_a_loop_is_distributed_iff_no_dependence_crosses_its_iterations(write: Row, read: Row, loop: int) -> None:
    result = memory_dependences(scop("double *A", nest(write, read)))
    crosses = any(first[loop] != second[loop] for first, second in conflicts(write, read))
    assert (distribution_violation(result, loop) is not None) == crosses
