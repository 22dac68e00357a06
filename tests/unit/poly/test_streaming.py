"""Delays of planes behind the position of a gang that walks along the first dimension, and the planes that it must keep."""

from __future__ import annotations

import pytest

from tests.support.scops import scop
from tilepragma.poly.dependences import memory_dependences
from tilepragma.poly.halo import Overlap, Ring, Stream, overlap, stream

PARAMETERS = "int steps, int n, double a[n][n], double b[n][n], double c[n][n]"


def found(body: str, *, once: bool = False) -> Stream:
    made = scop(PARAMETERS, f"for (int t = 0; t < steps; t++) {{ {body} }}")
    dependences = memory_dependences(made)
    reached = overlap(made, dependences, 2)
    assert isinstance(reached, Overlap)
    result = stream(made, dependences, reached, once=once)
    assert isinstance(result, Stream)
    return result


def step(order: int, statement: str) -> str:
    return f"for (int i = {order}; i < n - {order}; i++) for (int j = 1; j < n - 1; j++) {statement};"


def rings(made: Stream) -> dict[str, Ring]:
    return {array.name: ring for array, ring in made.rings.items()}


@pytest.mark.parametrize("order", [1, 2, 4])
def test_each_statement_waits_for_the_planes_that_it_reads(order: int) -> None:
    there = step(order, f"b[i][j] = a[i - {order}][j] + a[i + {order}][j]")
    made = found(there + step(order, f"a[i][j] = b[i - {order}][j] + b[i + {order}][j]"))
    assert made.shift == 2 * order
    assert sorted(made.delays.values()) == [order, 2 * order]
    assert made.store == 2 * order
    # Of a what is loaded down to what is stored, or read for b; b down to what the last statement
    # reads, its border being loaded.
    assert rings(made) == {"a": Ring(0, 2 * order), "b": Ring(0, 3 * order)}


def test_places_are_rounded_up_to_powers_of_two() -> None:
    there = step(1, "b[i][j] = a[i - 1][j] + a[i + 1][j]")
    made = found(there + step(1, "a[i][j] = b[i - 1][j] + b[i + 1][j]"))
    places = {(array.name, steps): made.planes(array, steps) for array in made.rings for steps in (1, 3, 4)}
    assert places == {("a", 1): 4, ("a", 3): 8, ("a", 4): 16, ("b", 1): 4, ("b", 3): 8, ("b", 4): 16}


def test_what_is_overwritten_waits_for_its_readers() -> None:
    # The copy could run at once by flow alone; what b reads of a one plane further must be read
    # before.
    made = found(step(1, "b[i][j] = a[i - 1][j]") + step(1, "a[i][j] = b[i][j]"))
    assert made.shift == 1
    assert sorted(made.delays.values()) == [0, 1]


def test_reads_of_planes_ahead_delay_and_of_planes_behind_do_not() -> None:
    ahead = found(step(2, "b[i][j] = a[i + 2][j]") + step(2, "a[i][j] = b[i][j]"))
    assert (ahead.shift, sorted(ahead.delays.values())) == (2, [2, 2])
    assert rings(ahead)["a"] == Ring(0, 2)


def test_arrays_of_one_step_are_kept_for_its_readers_alone() -> None:
    body = step(1, "c[i][j] = a[i][j]") + step(1, "b[i][j] = c[i][j] + a[i + 1][j]") + step(1, "a[i][j] = b[i][j]")
    made = found(body)
    assert made.shift == 1
    assert rings(made)["c"].newest <= 0


def both_ways(reads: str) -> str:
    first = step(1, "b[i][j] = " + reads.replace("x", "a"))
    return first + step(1, "a[i][j] = " + reads.replace("x", "b"))


def test_one_wait_for_a_position_costs_a_star_nothing() -> None:
    star = both_ways("x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1]")
    often, once = found(star), found(star, once=True)
    assert once.once and (once.shift, once.delays, once.rings) == (often.shift, often.delays, often.rings)


def test_one_wait_for_a_position_puts_others_columns_one_plane_further() -> None:
    box = both_ways("x[i - 1][j] + x[i + 1][j + 1]")
    often, once = found(box), found(box, once=True)
    assert (often.shift, sorted(often.delays.values())) == (2, [1, 2])
    assert (once.shift, sorted(once.delays.values())) == (4, [2, 4])


def test_a_plane_that_others_have_is_a_position_old() -> None:
    made = found(step(1, "b[i][j] = a[i][j + 1]") + step(1, "a[i][j] = b[i][j]"), once=True)
    assert sorted(made.delays.values()) == [1, 2]
