"""`independent` where the engine makes more of the loops than the user's word, and where that word stays what it is."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.schedule.assumed_independence import keeps_elements_in_registers
from tilepragma.verify.rules import verify

ARRAYS = "int n, int m, int p, float **a, float **b, float **c"
DATA = "data(a[0:n][0:p]) data(b[0:p][0:m]) data(c[0:n][0:m])"


def product(*, kernel: str = "", i: str = "", j: str = "", k: str = "", data: str = DATA) -> KernelPlan:
    """The plan of a product with the given clauses on the kernel and on its loops."""

    def line(clauses: str) -> str:
        return f"#pragma tilek loop {clauses}\n" if clauses else ""

    return plan(f"""
void f({ARRAYS}) {{
#pragma tilek kernel {kernel} {data}
{line(i)}  for (int i = 0; i < n; i++)
{line(j)}    for (int j = 0; j < m; j++)
{line(k)}      for (int k = 0; k < p; k++)
        c[i][j] += a[i][k] * b[k][j];
}}""")


@pytest.mark.parametrize(
    "said", [{"kernel": ""}, {"i": "independent"}, {"i": "independent", "j": "independent"}], ids=lambda said: str(said)
)
def test_products_keep_elements_in_registers_whatever_is_vouched(said: dict[str, str]) -> None:
    result = product(**said)
    assert keeps_elements_in_registers(result)
    assert result.assumes_disjoint, "the launch checks what the user did not vouch for"
    verify(result)


@pytest.mark.parametrize(
    "said",
    [
        {"i": "independent tile(thread)"},
        {"i": "independent", "k": "unroll(4)"},
        {"i": "independent", "k": "seq"},
        {"i": "independent", "kernel": "num_workers(16)"},
    ],
    ids=lambda said: str(said),
)
def test_what_else_is_said_is_kept(said: dict[str, str]) -> None:
    result = product(**said)
    assert not keeps_elements_in_registers(result)
    assert not result.assumes_disjoint


def test_a_word_that_the_engine_cannot_prove_stands() -> None:
    result = plan("""
void f(int n, int m, const int *row, const float *x, float *y) {
#pragma tilek kernel independent data(row[0:n]) data(x[0:n*m]) data(y[0:n])
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      y[row[i]] += x[i*m + j];
}""")
    assert result.untransformed is None
    assert not result.assumes_disjoint


def test_loops_that_are_all_independent_are_distributed_as_written() -> None:
    result = plan("""
void f(int n, int m, float a[n][m]) {
#pragma tilek kernel independent
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      a[i][j] *= 2;
}""")
    assert not result.assumes_disjoint
