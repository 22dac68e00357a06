"""The texts of the benchmark suite: OpenMP put before loops, calls in place of scops, tables that fit the kernels."""

from __future__ import annotations

import pytest

from benchmarks.suite.blas import PRODUCTS
from benchmarks.suite.cases import CASES, PARAMETRIC, POLYBENCH
from benchmarks.suite.hand import HAND, Addition, PatchError, with_additions
from benchmarks.suite.programs import Sources, faults, read_sources

TEXT = """for (int before = 0; before < 2; before++);
#pragma scop
  /* for (c = 0) { is no loop */
  for (i = 0; i < n; i++)
    for (int j = 0; j < f(n); j++) {
      a[i][j] = 0;
      for(k = 0; k < n; k++) // for (l = 0
        a[i][j] += k;
    }
#pragma endscop
for (int after = 0; after < 2; after++);
"""


def test_lines_go_before_the_loops_they_count() -> None:
    text = with_additions(TEXT, (Addition(0, "i", "#outer"), Addition(2, "k", "#inner")))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("#outer") + 1] == "for (i = 0; i < n; i++)"
    assert lines[lines.index("#inner") + 1] == "for(k = 0; k < n; k++) // for (l = 0"
    assert [line for line in lines if line not in ("#outer", "#inner", "")] == [
        line.strip() for line in TEXT.splitlines()
    ]


def test_a_line_inside_opens_the_body() -> None:
    text = with_additions(TEXT, (Addition(1, "j", "int own;", inside=True),))
    assert "j < f(n); j++) {\nint own;\n" in text


@pytest.mark.parametrize(
    ("text", "addition", "message"),
    [
        (TEXT, Addition(1, "i", ""), "loop 1 should run over i, not j"),
        (TEXT, Addition(3, "after", ""), "loop 3 should run over after, not missing"),
        (TEXT, Addition(0, "i", "", inside=True), "has no braces"),
        (TEXT.replace("endscop", "end"), Addition(0, "i", ""), "0 scops"),
        (TEXT + TEXT, Addition(0, "i", ""), "2 scops"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, addition: Addition, message: str) -> None:
    with pytest.raises(PatchError, match=message):
        with_additions(text, (addition,))


def test_the_tables_fit_the_kernels_of_the_suite() -> None:
    sources = read_sources(None)
    own = tuple(case for case in CASES if case.group != POLYBENCH)
    assert {case.source for case in own} == set(sources.programs)
    assert faults(sources, own) == []
    assert "#pragma omp parallel for" in (sources.by_hand("product") or "")
    assert "GEMM(n, n, n" in (sources.with_library("product") or "")
    assert sources.by_hand("thesis-sor-2d-5") is None
    assert sources.with_library("thesis-sor-2d-5") is None


def test_sizes_of_own_kernels_become_numbers() -> None:
    sources = read_sources(None)
    text = sources.ours_with_numbers("tilek-sgemm")
    loops = [line.strip(" {") for line in text.splitlines() if line.strip().startswith("for")]
    assert [loop[-len("P; k++)") :] for loop in loops] == ["N; i++)", "M; j++)", "P; k++)"]
    assert "int n, int m, int p, real A[EXTENT(N, n)]" in text
    assert "for (int i = 0; i < 2 * N - 1; i++)" in sources.ours_with_numbers("metafork-polynomial")


def test_programs_that_a_folder_lacks_are_named() -> None:
    case = next(case for case in CASES if case.name == "jacobi-2d-large")
    assert faults(Sources({}, ()), (case,)) == ["jacobi-2d-large: no program jacobi-2d in that folder"]


def test_every_table_names_cases() -> None:
    programs = {case.source for case in CASES}
    assert set(HAND) <= programs
    assert set(PRODUCTS) <= programs
    assert set(PARAMETRIC) <= {case.name for case in CASES}
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({case.source for case in CASES if case.group == POLYBENCH}) == 30


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("quick", [False, True])
def test_formulas_have_values(case, quick: bool) -> None:
    assert case.count(case.moved, quick) > 0
    assert case.count(case.flops, quick) > 0 or case.name == "metafork-reversal"
    if quick:
        assert case.count(case.moved, True) <= case.count(case.moved, False)
