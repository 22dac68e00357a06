"""Scalars that a loop's body declares: sums in them are register tiles too, whatever the user's arrays look like."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import Declaration
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import buffered
from tilepragma.verify.rules import verify

SIGNATURES = {
    "arrays of rows": (
        "const double a[n][n], const double b[n][n], double c[n][n]",
        "[0:n][0:n]",
        "a[i][k] * b[k][j]",
        "c[i][j]",
    ),
    "flat arrays": ("const double *a, const double *b, double *c", "[0:n*n]", "a[i*n + k] * b[k*n + j]", "c[i*n + j]"),
    "rows by pointers": ("double **a, double **b, double **c", "[0:n][0:n]", "a[i][k] * b[k][j]", "c[i][j]"),
}


def in_registers(found: KernelPlan) -> set[str]:
    """The arrays whose elements launches on cores keep in registers."""
    return {
        buffer.access.object.name for each in buffered(found.host_steps) for buffer in each.buffers if buffer.stored
    }


def product(
    arrays: str, section: str, term: str, result: str, declared: str = "double s = 0;", after: str = ""
) -> KernelPlan:
    return plan(f"""
    void f(int n, {arrays}) {{
    #pragma tilek kernel data(a{section}) data(b{section}) data(c{section})
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {{
          {declared}
          for (int k = 0; k < n; k++)
            s += {term};
          {result} = s{after};
        }}
    }}""")


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_sum_in_a_scalar_of_the_body_stays_in_registers(name: str) -> None:
    result = product(*SIGNATURES[name])
    assert in_registers(result) == {"s_of_i_j"}
    verify(result)


def test_the_source_stays_the_users() -> None:
    result = product(*SIGNATURES["arrays of rows"])
    assert result.source is not None
    declared = [
        declarator
        for node in walk(result.source.body)
        if isinstance(node, Declaration)
        for declarator in node.declarators
    ]
    assert [each.object.host for each in declared] == ["s"]


@pytest.mark.parametrize(
    ("declared", "after"),
    [
        (
            "double first = c[i][j], s = first * 2;",
            " + first",
        ),  # one reads the other; only the second is updated inside
        ("double s; s = 0;", ""),
        ("float other = 1; double s = other;", " * other"),
    ],
)
def test_other_declarations_beside_it(declared: str, after: str) -> None:
    result = product(*SIGNATURES["arrays of rows"], declared=declared, after=after)
    assert result.untransformed is None
    verify(result)


def test_a_dot_product_in_a_scalar_takes_rows_at_a_time() -> None:
    result = plan("""
    void f(int n, int m, const double *a, const double *x, double *y) {
    #pragma tilek kernel
      for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < m; j++)
          s += a[i*m + j] * x[j];
        y[i] = s;
      }
    }""")
    assert in_registers(result) == {"s_of_i"}
    verify(result)


def test_short_sums_over_tables_stay_in_their_scalar() -> None:
    result = plan("""
    void f(int n, int m, const float w[3], const float a[n][m + 2], float b[n][m]) {
    #pragma tilek kernel
      for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
          float s = 0;
          for (int k = 0; k < 3; k++)
            s += w[k] * a[i][j + k];
          b[i][j] = s;
        }
    }""")
    assert in_registers(result) == set()
    assert not result.storage


@pytest.mark.parametrize(
    ("clause", "after", "expanded"),
    [
        ("private(s)", "", True),
        ("reduction(+: s)", "", True),  # an idiom of OpenMP's programs
        ("firstprivate(s)", "", False),
        ("private(s)", "c[0] += s;", False),  # the value from before the kernel
    ],
)
def test_private_sums_that_nothing_reads_afterwards(clause: str, after: str, expanded: bool) -> None:
    result = plan(f"""
    void f(int n, const double a[n][n], double *c) {{
      double s = 2;
    #pragma tilek kernel {clause}
      for (int j = 0; j < n; j++) {{
        s = 0;
        for (int i = 0; i < n; i++) s += a[i][j];
        c[j] = s;
      }}
      {after}
    }}""")
    assert any("scalar expansion: 's'" in note for note in result.storage) is expanded
    verify(result)
