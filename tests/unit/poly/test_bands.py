"""Which statements run at once, along which rows, and in which order the points of a tile run."""

from __future__ import annotations

import pytest

from tests.support.band_orders import matrix
from tests.support.c_functions import HYPERPLANES, CFunction, c_function
from tests.support.scops import scop
from tests.thesis.schedule_legality import untilable
from tilepragma.poly import bands
from tilepragma.poly.bands import Band, BandKind, OuterLoop, parallel_parts, parts_in
from tilepragma.poly.dependences import Dependence, memory_dependences, within
from tilepragma.poly.intra_tile_schedule import intra_tile_order
from tilepragma.poly.scop import Scop
from tilepragma.poly.wavefronts import intra_tile

GAUSS_SEIDEL, LU, PATHS = (c_function(HYPERPLANES, name) for name in ("sor1d", "lu", "shortest_paths"))
COLUMN_SUMS = """
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[j][0] += a[i][j];
"""
TWO_NESTS = """
    for (int i = 1; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i][j] = 2;
            b[i][j] = b[i - 1][j] + a[i][j];
            c[i][j] = b[i][j];
        }
"""
FEW = """
    for (int i = 1; i < n; i++)
        for (int j = 0; j < 4; j++)
            a[i][j] = a[i - 1][j];
"""
COLOURS = """
    for (int t = 0; t < m; t++)
        for (int colour = 0; colour < 2; colour++)
            for (int i = 1; i < n - 1; i++)
                for (int j = 1 + (i + colour) % 2; j < n - 1; j += 2)
                    a[i][j] = a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1];
"""


def program(nest: str | CFunction) -> Scop:
    if isinstance(nest, CFunction):
        made = scop(nest.parameters, nest.body)
    else:
        made = scop("int n, int m, double a[n][n], double b[n][n], double c[n][n]", nest)
    return made


def parts(nest: str | CFunction) -> tuple[Band | OuterLoop, ...]:
    extracted = program(nest)
    return parallel_parts(extracted.statements, memory_dependences(extracted))


def only(nest: str | CFunction) -> Band:
    (band,) = parts(nest)
    assert isinstance(band, Band)
    return band


def with_dependences(nest: str | CFunction) -> tuple[Band, tuple[Dependence, ...]]:
    """The only part, and the dependences of its program."""
    made = program(nest)
    (band,) = parallel_parts(made.statements, memory_dependences(made))
    assert isinstance(band, Band)
    return band, memory_dependences(made)


def test_gauss_seidel_is_a_wavefront_of_the_skewed_band() -> None:
    band = only(GAUSS_SEIDEL)
    assert band.kind is BandKind.WAVEFRONT
    assert matrix(band.statements[0]) == ((1, 0), (1, 1))
    assert band.carrying == (0, 1)


def test_lu_is_one_band_of_three_rows() -> None:
    band = only(LU)
    assert band.kind is BandKind.WAVEFRONT
    assert band.band == band.carrying == (0, 1, 2)


def test_what_carries_nothing_comes_outermost() -> None:
    band = only(COLUMN_SUMS)
    assert band.kind is BandKind.DOALL
    assert matrix(band.statements[0]) == ((0, 1), (1, 0))
    assert band.parallel == (0,)


def test_a_row_that_no_band_can_hold_is_stepped_through() -> None:
    (stepped,) = parts(PATHS)
    assert isinstance(stepped, OuterLoop)
    assert stepped.level == 0
    (inner,) = stepped.parts
    assert isinstance(inner, Band)
    assert (inner.kind, inner.outer, inner.carrying) == (BandKind.WAVEFRONT, 1, (1, 2))


def test_statements_that_do_not_tie_each_other_are_taken_apart_only_where_that_runs_more_at_once() -> None:
    results = list(parts_in(parts(TWO_NESTS)))
    assert [len(each.statements) for each in results] == [1, 1, 1]
    assert [len(each.parallel) for each in results] == [2, 1, 2]


def test_a_row_of_four_values_is_not_worth_a_launch() -> None:
    assert only(FEW).kind is BandKind.SERIAL


def test_time_and_the_colour_skewed_by_it_make_no_wavefronts() -> None:
    # Of the tiles of t and t + colour hardly two could run at once.
    (stepped,) = parts(COLOURS)
    assert isinstance(stepped, OuterLoop)
    assert stepped.statements[0].rows[-1].coefficients == (1, 0, 0, 0)


@pytest.mark.parametrize("nest", [GAUSS_SEIDEL, LU, COLUMN_SUMS, TWO_NESTS])
def test_bands_are_tilable(nest: str | CFunction) -> None:
    made = program(nest)
    for part in parts_in(parallel_parts(made.statements, memory_dependences(made))):
        names = {each.statement.name for each in part.statements}
        inside = within(memory_dependences(made), names)
        assert untilable(part.statements, inside) == ()


def test_points_run_along_the_rows_of_arrays() -> None:
    part, dependences = with_dependences(LU)
    order = intra_tile_order(part, dependences)
    deepest = [each for each in part.statements if each.statement.depth == 3]
    assert order.along is not None
    assert all(order.order[each.statement.name][2].coefficients == (0, 1, 0) for each in deepest)  # j


def test_points_keep_the_order_of_the_program_where_nothing_is_gained() -> None:
    part, dependences = with_dependences(GAUSS_SEIDEL)
    order = intra_tile_order(part, dependences)
    assert order.order["S0"][1].coefficients == (1, 0)
    assert (order.along, order.chained) == (None, 1)


def test_waiting_for_one_column_is_no_chain() -> None:
    made = program(PATHS)
    (part,) = parts_in(parallel_parts(made.statements, memory_dependences(made)))
    order = intra_tile_order(part, memory_dependences(made))
    assert (order.along, order.chained) == (2, None)


def test_points_of_a_tile_of_lu_run_in_wavefronts_of_k_with_the_division_first() -> None:
    part, dependences = with_dependences(LU)
    result = intra_tile(part, dependences)
    (k,) = result.summed
    names = {each.statement.name: each.statement for each in part.statements}
    assert [{names[name].depth for name in group} for group in result.groups] == [{2}, {3}]
    assert set(result.parallel) == {level + 1 for level in part.band} - {k}


def test_points_of_a_tile_of_gauss_seidel_run_in_wavefronts_of_the_sum() -> None:
    result = intra_tile(*with_dependences(GAUSS_SEIDEL))
    assert result.part.statements[0].rows[0].coefficients == (2, 1)
    assert (result.level, result.summed, result.parallel, result.groups) == (0, (1, 2), (1,), (("S0",),))


def test_a_search_that_gives_up_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is left in the order of the text has the rows that were stepped through already; it is
    # not stepped through again.
    extracted = program("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) c[0][0] += a[i][j];")
    monkeypatch.setattr(bands, "OPERATIONS", 1)
    given_up = parallel_parts(extracted.statements, memory_dependences(extracted))
    assert {each.kind for each in parts_in(given_up)} == {BandKind.SERIAL}
