"""Rows whose tiles all begin together: found for stencils without waiting inside a time step, refused where there is some."""

from __future__ import annotations

import itertools

import pytest

from tests.support.band_orders import matrix
from tests.support.c_functions import HYPERPLANES, c_function
from tests.support.scops import scop
from tests.thesis.schedule_legality import untilable, violations
from tilepragma.poly.bands import Band, BandKind, parallel_parts
from tilepragma.poly.dependences import memory_dependences
from tilepragma.poly.intra_tile_schedule import intra_tile_order
from tilepragma.poly.schedule import affine_map
from tilepragma.poly.scop import Scop
from tilepragma.poly.wavefronts import ConcurrentStart, concurrent_start, concurrent_tile

FIELDS = """
    for (int t = 0; t < m; t++) {
        for (int j = 0; j < n; j++)
            b[0][j] = t;
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                b[i][j] = b[i][j] - c[i][j] + c[i - 1][j];
        for (int i = 0; i < n; i++)
            for (int j = 1; j < n; j++)
                a[i][j] = a[i][j] - c[i][j] + c[i][j - 1];
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++)
                c[i][j] = c[i][j] - a[i][j + 1] + a[i][j] - b[i + 1][j] + b[i][j];
    }
"""
WAITING_ALONG_J = """
    for (int t = 0; t < m; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n; j++)
                b[i][j] = a[i - 1][j] + a[i + 1][j] + b[i][j - 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n; j++)
                a[i][j] = b[i][j];
    }
"""
SYSTOLIC = "for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) a[i][j] = a[i - 1][j] + a[i][j - 1];"


def jacobi(dimensions: int, order: int, *, box: bool) -> Scop:
    """Two half steps over arrays a and b."""
    names = "ijk"[:dimensions]
    offsets = list(itertools.product(range(-order, order + 1), repeat=dimensions))
    if not box:
        offsets = [each for each in offsets if sum(map(bool, each)) <= 1]

    def at(array: str, offset: tuple[int, ...]) -> str:
        return array + "".join(f"[{name} + {by}]" for name, by in zip(names, offset, strict=True))

    def half(target: str, source: str) -> str:
        loops = "".join(f"for (int {name} = {order}; {name} < n - {order}; {name}++) " for name in names)
        return f"{loops}{at(target, (0,) * dimensions)} = {' + '.join(at(source, each) for each in offsets)};"

    shape = "[n]" * dimensions
    body = f"for (int t = 0; t < m; t++) {{ {half('b', 'a')} {half('a', 'b')} }}"
    return scop(f"int n, int m, double a{shape}, double b{shape}", body)


def program(nest: str) -> Scop:
    return scop("int n, int m, double a[n][n], double b[n][n], double c[n][n]", nest)


def start(made: Scop) -> tuple[Band, ConcurrentStart | None]:
    """The only part as Algorithm 4.1 leaves it, and what begins together; that is legal and permutable."""
    (part,) = parallel_parts(made.statements, memory_dependences(made))
    assert isinstance(part, Band)
    assert part.kind is BandKind.WAVEFRONT
    started = concurrent_start(part, memory_dependences(made), intra_tile_order(part, memory_dependences(made)).along)
    if started is not None:
        assert untilable(started.part.statements, memory_dependences(made)) == ()
        assert violations(started.part.statements, memory_dependences(made)) == ()
    return part, started


def matrices(started: ConcurrentStart) -> set[tuple[tuple[int, ...], ...]]:
    return {matrix(each) for each in started.part.statements}


@pytest.mark.parametrize(
    ("dimensions", "order", "box"),
    [*((dimensions, order, False) for dimensions in (1, 2, 3) for order in (1, 2, 3, 4)), (2, 1, True), (2, 2, True)],
)
def test_stencils_of_any_order_begin_together(dimensions: int, order: int, box: bool) -> None:
    _, started = start(jacobi(dimensions, order, box=box))
    assert started is not None
    slope = 2 * order
    inner = [(slope, 0, *(int(each == other) for each in range(1, dimensions))) for other in range(1, dimensions)]
    first = [(slope, sign, *(0,) * (dimensions - 1)) for sign in (-1, 1)]
    assert matrices(started) == {(*first, *inner)}
    assert started.factor == 2 * slope


def test_a_box_of_three_dimensions_does() -> None:
    _, started = start(jacobi(3, 1, box=True))
    assert started is not None
    assert matrices(started) == {((2, -1, 0, 0), (2, 1, 0, 0), (2, 0, 1, 0), (2, 0, 0, 1))}


def test_fields_of_several_statements_do() -> None:
    made = program(FIELDS)
    part, started = start(made)
    assert started is not None
    assert started.factor == 2
    deep = [each for each in started.part.statements if each.statement.depth == 3]
    assert {each.rows[started.pair[0]].coefficients for each in deep} == {(1, -1, 0)}
    assert {each.rows[started.pair[1]].coefficients for each in deep} == {(1, 1, 0)}
    assert [each.rows for each in started.skewed.statements] == [each.rows for each in part.statements]


def test_the_sum_of_the_pair_is_parallel_to_time() -> None:
    _, started = start(jacobi(2, 1, box=False))
    assert started is not None
    for each in started.part.statements:
        one, other = (each.rows[level].coefficients for level in started.pair)
        assert tuple(map(sum, zip(one, other, strict=True))) == (started.factor, 0, 0)


@pytest.mark.parametrize("name", ["sor1d", "seidel2d", "lu"])
def test_what_waits_within_a_time_step_does_not(name: str) -> None:
    function = c_function(HYPERPLANES, name)
    made = scop(function.parameters, function.body)
    _, started = start(made)
    assert started is None


def test_systolic_waves_do_not() -> None:
    _, started = start(program(SYSTOLIC))
    assert started is None


def test_workers_go_through_a_diamond_by_time() -> None:
    made = jacobi(2, 1, box=False)
    _, started = start(made)
    assert started is not None
    inside = concurrent_tile(started, memory_dependences(made))
    assert inside is not None
    assert inside.summed == ()
    assert [each.rows[inside.level].coefficients for each in inside.part.statements] == [(1, 0, 0)] * 2
    assert inside.groups == (("S0",), ("S1",))
    # Time and the rows that run at once say which point it is, without division.
    for each in inside.part.statements:
        rows = tuple(each.rows[level] for level in (inside.level, *inside.parallel))
        assert affine_map(each.statement, rows).is_injective()


def test_rows_that_wait_along_another_dimension_have_no_fronts_of_time() -> None:
    made = program(WAITING_ALONG_J)
    _, started = start(made)
    assert started is not None
    assert concurrent_tile(started, memory_dependences(made)) is None
