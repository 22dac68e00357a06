"""Algorithm 4.1 meets the figures of thesis chapters 3 and 4, and every schedule is proven apart from the search."""

from __future__ import annotations

import time
from dataclasses import replace

import islpy as isl
import pytest

from tests.support.band_orders import matrix, of, offsets, shown
from tests.support.simulated_runs import run, run_as_written
from tests.support.stencil_programs import (
    BENCHMARKS,
    distance,
    figure_3_4,
    figure_3_5,
    figure_3_7,
    figure_3_8,
    figure_3_10,
    figure_4_4,
    nest,
    statement,
)
from tests.thesis.access_flow import value_based_dependences
from tests.thesis.schedule_legality import balanced, untilable, violations
from tilepragma.poly import hyperplanes
from tilepragma.poly.dependences import Dependence, DependenceKind
from tilepragma.poly.hyperplanes import RowProblem, find_row, tiling_hyperplanes
from tilepragma.poly.schedule import Row, Schedule, StatementSchedule, original_schedule
from tilepragma.poly.scop import ScopStatement

FLOW, ANTI, OUTPUT = DependenceKind.FLOW, DependenceKind.ANTI, DependenceKind.OUTPUT


def given(statement: ScopStatement, *rows: tuple[int, ...], band: int = 0) -> Schedule:
    """A schedule of one statement by its matrix."""
    return (StatementSchedule(statement, tuple(Row(row, 0, band) for row in rows)),)


def proven(statements: tuple[ScopStatement, ...]) -> tuple[Schedule, tuple[Dependence, ...]]:
    dependences = value_based_dependences(statements)
    schedule = tiling_hyperplanes(statements, dependences)
    assert violations(schedule, dependences) == ()
    assert untilable(schedule, dependences) == ()
    return schedule, dependences


def test_table_3_1() -> None:
    result = value_based_dependences(figure_3_4())
    table = {
        (FLOW, (1, 0), "2 <= jt <= J and 1 <= it <= I and js = jt - 1 and is = it"),
        (FLOW, (1, -1), "2 <= jt <= J and 1 <= it <= I - 1 and js = jt - 1 and is = it + 1"),
        (ANTI, (0, 1), "1 <= jt <= J and 1 <= it - 1 <= I - 1 and js = jt and is + 1 = it"),
        (ANTI, (1, 0), "1 <= js <= J - 1 and 1 <= it <= I and js + 1 = jt and is = it"),
        (OUTPUT, (1, 0), "1 <= js <= J - 1 and 1 <= it <= I and js + 1 = jt and is = it"),
    }
    assert len(result) == len(table)
    for kind, vector, polyhedron in table:
        (match,) = [each for each in result if (each.kind, distance(each)) == (kind, vector)]
        text = polyhedron.replace("is", "si")
        assert match.relation.is_equal(isl.Map(f"[J, I] -> {{ S[js, si] -> S[jt, it] : {text} }}"))


def test_communication_minimal_hyperplanes_of_figure_3_4() -> None:
    schedule, dependences = proven(figure_3_4())
    assert matrix(of(schedule, "S")) == ((1, 0), (1, 1))
    assert offsets(of(schedule, "S")) == (0, 0)
    assert not balanced(schedule, dependences)


def test_dependences_that_order_the_same_instances_count_once() -> None:
    statements = figure_3_4()
    dependences = value_based_dependences(statements)
    schedule = tiling_hyperplanes(statements, dependences)
    copies = tuple(replace(each, kind=OUTPUT) for each in dependences)
    asked = []

    def counted(problem: RowProblem) -> dict[str, Row] | None:
        asked.append(len(problem.edges))
        return find_row(problem)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hyperplanes, "find_row", counted)
        assert tiling_hyperplanes(statements, (*dependences, *copies)) == schedule
    assert 0 < asked[0] < len(dependences)


def test_hyperplanes_of_figure_4_4() -> None:
    schedule, dependences = proven(figure_4_4())
    assert matrix(of(schedule, "S0")) == matrix(of(schedule, "S1")) == ((1, 0), (1, 1))
    assert offsets(of(schedule, "S0")) == (0, 0)
    assert offsets(of(schedule, "S1")) == (0, 1)
    assert balanced(schedule, dependences)


def test_eight_dependences_of_figure_4_5() -> None:
    result = value_based_dependences(figure_4_4())
    assert sorted((*each.ends, distance(each)) for each in result) == [
        ("S0", "S0", (1, 0)),
        ("S0", "S1", (0, -1)),
        ("S0", "S1", (0, 0)),
        ("S1", "S0", (1, 0)),
        ("S1", "S0", (1, 1)),
        ("S1", "S1", (1, 0)),
        ("S1", "S1", (1, 0)),
        ("S1", "S1", (1, 0)),
    ]


def test_fusion_of_figure_3_5() -> None:
    schedule, _ = proven(figure_3_5())
    assert shown(of(schedule, "S0")) == ("i", "0", "j")
    assert shown(of(schedule, "S1")) == ("j", "1", "i")


def test_figure_3_7_is_not_skewed() -> None:
    (only,) = figure_3_7()
    dependences = value_based_dependences((only,))
    assert {distance(each) for each in dependences} == {(0, 1)}
    schedule, _ = proven((only,))
    assert matrix(of(schedule, "S")) == ((1, 0), (0, 1))


def test_figure_3_8_is_not_tilable_as_written() -> None:
    (only,) = figure_3_8()
    dependences = value_based_dependences((only,))
    assert {distance(each) for each in dependences} == {(1, 1), (1, 0), (1, -1)}
    assert untilable(given(only, (1, 0), (0, 1)), dependences) != ()


def test_skew_of_figures_3_10_and_3_11() -> None:
    (only,) = figure_3_10()
    dependences = value_based_dependences((only,))
    skewed = given(only, (1, 1), (0, 1))
    assert {distance(each) for each in dependences} == {(0, 1), (1, 0), (1, 1)}
    assert violations(skewed, dependences) == ()
    image = isl.Map("[N] -> { S[j, i] -> [j + i, i] : 1 <= j, i <= N }").range()
    scanned = isl.Set("[N] -> { [e1, e2] : 2 <= e1 <= N + N and 1 <= e2 <= N and e1 - N <= e2 <= e1 - 1 }")
    assert only.domain.apply(of(skewed, "S").map).is_equal(image)
    assert image.is_equal(scanned)


def test_figure_3_13_legal_and_illegal_tiling() -> None:
    """Rectangles are illegal by (1, -1), as the thesis says. Its legal example, printed (1 1; 0 1),
    maps (1, -1) to (0, -1) and so breaks its own Theorem 3.3; with the rows of Figure 4.1 it holds.
    """
    (only,) = figure_3_4()
    dependences = value_based_dependences((only,))
    (wrong,) = {distance(each.dependence) for each in untilable(given(only, (1, 0), (0, 1)), dependences)}
    assert wrong == (1, -1)
    assert untilable(given(only, (1, 0), (1, 1)), dependences) == ()
    assert {distance(each.dependence) for each in untilable(given(only, (1, 1), (0, 1)), dependences)} == {(1, -1)}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_benchmarks_of_table_4_1_have_tiles(name: str) -> None:
    proven(BENCHMARKS[name])


def test_2_d_sor_hyperplanes_are_skewed_by_time() -> None:
    schedule, _ = proven(BENCHMARKS["2-D SOR-5"])
    assert matrix(of(schedule, "S")) == ((1, 0, 0), (1, 1, 0), (1, 0, 1))


@pytest.mark.parametrize("name", ["1-D Jacobi-3", "2-D Jacobi-5", "2-D SOR-5", "2-D FDTD", "2-D Heat-7"])
def test_schedules_compute_what_the_text_computes(name: str) -> None:
    statements = BENCHMARKS[name]
    schedule, _ = proven(statements)
    sizes = {"T": 3, "N": 5}
    times = {each.statement.name: each.map for each in schedule}
    assert run(statements, times, sizes) == run_as_written(statements, sizes)


def test_a_wrong_schedule_is_seen_by_the_proof_and_by_the_run() -> None:
    (only,) = figure_3_4()
    wrong = given(only, (1, 0), (0, -1))
    sizes = {"J": 3, "I": 4}
    assert {distance(each.dependence) for each in violations(wrong, value_based_dependences((only,)))} == {(0, 1)}
    assert run((only,), {"S": of(wrong, "S").map}, sizes) != run_as_written((only,), sizes)


def test_nests_that_share_nothing_follow_each_other() -> None:
    first = statement("S0", "i", "0 <= i < N", (0, 0), "A[i]", "A[i]")
    second = statement("S1", "i, j", "0 <= i, j < N", (1, 0, 0), "B[i, j]", "B[i, j - 1]")
    schedule, _ = proven((first, second))
    assert shown(of(schedule, "S0")) == ("0", "i", "0")
    assert of(schedule, "S1").rows[0] == Row((0, 0), 1, None)


def test_fission_keeps_together_what_has_a_common_hyperplane() -> None:
    make = statement("S0", "i", "0 <= i < N", (0, 0), "A[i]", "X[i]")
    use = statement("S1", "i", "0 <= i < N", (1, 0), "B[i]", "A[i]")
    total = statement("S2", "i", "0 <= i < N", (2, 0), "C[i]", "B[N - 1 - i]")
    schedule, _ = proven((make, use, total))
    order = {each.statement.name: each.rows[0].constant for each in schedule}
    assert order == {"S0": 0, "S1": 0, "S2": 1}


def test_a_row_with_negative_coefficients_is_found() -> None:
    reads = ("A[j - 1, i + 3]", "A[j, i + 1]")
    backwards = statement("S", "j, m", "0 <= j < N and -N < m <= 0", (0, 0, 0), "A[j, m]", "A[j - 1, m + 1]")
    assert matrix(of(proven((backwards,))[0], "S")) == ((1, 1), (1, 0))
    only = statement("S", "j, i", "0 <= j, i < N", (0, 0, 0), "A[j, i]", *reads)
    given_relation = isl.Map("[N] -> { S[j, i] -> S[j, i - 1] : 0 <= j, i < N; S[j, i] -> S[j + 1, i - 3] }")
    dependence = replace(value_based_dependences((only,))[0], relation=given_relation)
    schedule = tiling_hyperplanes((only,), (dependence,))
    assert violations(schedule, (dependence,)) == ()
    assert untilable(schedule, (dependence,)) == ()
    assert any(coefficient < 0 for row in matrix(of(schedule, "S")) for coefficient in row)
    assert len(matrix(of(schedule, "S"))) == 2


def test_without_a_common_hyperplane_the_order_of_the_text_is_kept() -> None:
    """A[i] and A[N - i] exchange places in every step of j: only j itself is a hyperplane, and below it nothing is tied."""
    mirror = statement("S", "j, i", "0 <= j < T and 0 <= i <= N", (0, 0, 0), "A[i]", "A[N - i]")
    schedule, dependences = proven((mirror,))
    sizes = {"T": 3, "N": 4}
    assert run((mirror,), {"S": of(schedule, "S").map}, sizes) == run_as_written((mirror,), sizes)


def test_at_isls_limit_the_order_of_the_text_is_kept() -> None:
    statements = BENCHMARKS["3-D Jacobi-7"]
    dependences = value_based_dependences(statements)
    schedule = tiling_hyperplanes(statements, dependences, operations=1000)
    assert violations(schedule, dependences) == ()
    kept = original_schedule(statements)
    assert [each.rows for each in schedule] == [each.rows for each in kept]


@pytest.mark.parametrize("inequalities", [0, 2, 4, 6])
def test_schedules_are_legal_with_fewer_inequalities_of_dependences(
    inequalities: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    triangle = statement("S", "j, i", "0 <= j < N and j < i < N", (0, 0, 0), "A[i]", "A[j]")
    usual, _ = proven((triangle,))
    monkeypatch.setattr(hyperplanes, "INEQUALITIES", inequalities)
    schedule, _ = proven((triangle,))
    # Without any, no row but the text's own is known to be legal, and the bands are others.
    assert (of(schedule, "S").rows == of(usual, "S").rows) == (inequalities > 0)


def test_the_search_grows_polynomially_with_the_statements() -> None:
    def chain(length: int) -> tuple[ScopStatement, ...]:
        return tuple(
            statement(
                f"S{n}", "t, i, j", nest("t, i, j"), (0, n, 0, 0), f"A{n}[i, j]", f"A{(n - 1) % length}[i - 1, j]",
                f"A{(n - 1) % length}[i, j + 1]",
            )
            for n in range(length)
        )  # fmt: skip

    taken = {}
    for length in (5, 10, 20):
        statements = chain(length)
        dependences = value_based_dependences(statements)
        started = time.process_time()
        schedule = tiling_hyperplanes(statements, dependences)
        taken[length] = time.process_time() - started
        assert violations(schedule, dependences) == ()
    assert taken[20] < 50 * (taken[5] + 0.05)
