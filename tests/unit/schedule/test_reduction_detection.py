"""Which updates are reductions: C's conversions in each step decide, and of floating types whether any order gives the same bits."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.base.resources import resource_folder
from tilepragma.normalise.ordered_zeros import MOST_RESTORED, ordered_zeros
from tilepragma.plan.kernel_plan import KernelPlan, launches_in
from tilepragma.verify.rules import verify


def kernel(declaration: str, update: str, clause: str = "", before: str = "") -> KernelPlan:
    parameters = "int n, const int *x, const double *d, const float *f, const signed char *c, const unsigned *u, const long *l, const _Bool *b"
    head = f"#include <math.h>\ndouble result;\nvoid f({parameters}) {{\n{declaration};\n"
    return plan(
        f"{head}#pragma tilek kernel {clause}\nfor (int i = 0; i < n; i++) {{ {before} {update} }}\nresult = w;\n}}"
    )


def operators(made: KernelPlan) -> set[str]:
    return {reduction.operator for launch in launches_in(made.host_steps) for reduction in launch.reductions}


@pytest.mark.parametrize(
    ("declaration", "update", "operator"),
    [
        ("int w = 0", "w += x[i];", "+"),
        ("signed char w = 0", "w = x[i] + w - l[i];", "+"),
        ("unsigned char w = 1", "w *= x[i];", "*"),
        ("unsigned short w = 1", "w = (unsigned short)(w & l[i]);", "&"),
        ("long w = 0", "w--;", "+"),
        ("int w = 0", "w = (int)((long)w ^ u[i]);", "^"),
        ("_Bool w = 0", "w |= x[i];", "|"),
        ("_Bool w = 1", "w *= x[i];", "*"),
        ("_Bool w = 0", "w += x[i] > 3;", "+"),
        ("_Bool w = 0", "w ^= b[i];", "^"),
        ("int w = 0", "if (x[i] >= w) w = x[i];", "max"),
        ("int w = 0", "w = c[i] < w ? c[i] : w;", "min"),
        ("unsigned w = 9", "if (c[i] < w) w = c[i];", "min"),
        ("signed char w = 0", "if ((signed char)x[i] > w) w = x[i];", "max"),
        ("int w = 0", "w = fmax(w, x[i]);", "max"),
        ("double w = 0", "if (x[i] > w) w = x[i];", "max"),
        ("double w = 0", "if (fabs(d[i]) > w) w = fabs(d[i]);", "max"),
        ("float w = 0", "if (fabs(f[i]) > w) w = fabs(f[i]);", "max"),
        ("double w = 0", "w = fmax(w, d[i] * d[i]);", "fmax"),
        ("double w = 0", "w = fmax(fabs(d[i]), w);", "fmax"),
        ("float w = 0", "w = fmax(w, fabs(f[i] - f[0]));", "fmax"),
        ("double w = 0", "double t = fabs(d[i]); if (t > w) w = t;", "max"),
        ("double t, w = 0", "t = sqrt(fabs(d[i])); w = w < t ? t : w;", "max"),
    ],
)  # fmt: skip
def test_updates_that_give_the_same_bits_in_any_order_need_no_clause(
    declaration: str, update: str, operator: str
) -> None:
    made = kernel(declaration, update)
    assert made.untransformed is None, made.untransformed
    assert operators(made) == {operator}


@pytest.mark.parametrize(
    ("declaration", "update", "reason"),
    [
        ("int w = 0", "w += d[i];", "each step is computed in double and converted to int (line 6)"),
        ("int w = 0", "w = w + x[i] + f[i];", "each step is computed in float and converted to int"),
        ("int w = 1", "w *= d[i] > 2 ? 1.5 : 1;", "each step is computed in double"),
        ("int w = 0", "w = (signed char)w + x[i];", "each step converts it to signed char"),
        ("double w = 0", "w = (float)w + d[i];", "each step converts it to float"),
        ("_Bool w = 0", "w ^= x[i];", "each step is converted to _Bool"),
        ("_Bool w = 0", "w += x[i];", "use truths, as in w |= (value != 0)"),
        ("_Bool w = 0", "w -= b[i];", "use truths, as in w ^= (value != 0)"),
        ("_Bool w = 0", "w--;", "a _Bool is toggled by '--'"),
        ("signed char w = 0", "if (x[i] > w) w = x[i];", "what is compared in int is not what is assigned to signed char"),
        ("int w = 0", "w = u[i] > w ? u[i] : w;", "what is compared in unsigned int is not what is assigned to int"),
        ("unsigned short w = 0", "w = c[i] < w ? c[i] : w;", "what is compared in int"),
        ("float w = 0", "if (d[i] > w) w = d[i];", "what is compared in double is not what is assigned to float"),
        ("float w = 0", "w = fmax(w, fabs(d[i]));", "what is compared in double is not what is assigned to float"),
        ("double w = 0", "w += d[i];", "the order of its sum: reduction(+: w) would allow any"),
        ("double w = 0", "if (fabs(d[i]) >= w) w = fabs(d[i]);", "'if (value > w) w = value' of values of fabs()"),
        ("double w = 0", "w = w > fabs(d[i]) ? w : fabs(d[i]);", "a NaN replaces what came before it"),
        ("double w = 0", "if (fabs(d[i]) > w) w = fabs(d[i]); w = fmax(w, fabs(d[0]));", "passes over a NaN"),
        ("int w = 0", "w = x[i] - w;", "hands 'w' on from iteration to iteration"),
    ],
)  # fmt: skip
def test_what_depends_on_the_order_keeps_it_and_says_what_would_not(declaration: str, update: str, reason: str) -> None:
    made = kernel(declaration, update)
    assert made.untransformed is not None and reason in made.untransformed


@pytest.mark.parametrize(
    ("declaration", "update", "hosts"),
    [
        ("double w = 0", "if (d[i] > w) w = d[i];", False),
        ("double w = 0", "w = d[i] < w ? d[i] : w;", False),
        ("double w = 0", "w = fmin(w, d[i]);", True),
        ("double w = 0", "double t = fabs(d[i]); t = d[i]; if (t > w) w = t;", False),
        ("double w = 0", "const double t = fabs(d[i]) - 1.0e-300 * d[i]; if (t > w) w = t;", False),
        ("double w = 0", "if (d[i] > w) w = d[i]; if (f[i] > w) w = f[i];", True),
    ],
)
def test_the_original_loop_corrects_the_signs_of_zeros(declaration: str, update: str, hosts: bool) -> None:
    made = kernel(declaration, update)
    verify(made)
    [zero] = ordered_zeros(made)
    assert (zero.object.host, zero.hosts, zero.devices) == ("w", hosts, True)


@pytest.mark.parametrize(
    ("update", "clause"),
    [
        ("if (fabs(d[i]) > w) w = fabs(d[i]);", ""),
        ("if (d[i] > w) w = d[i];", "reduction(max: w)"),
        ("w += d[i];", "reduction(+: w)"),
    ],
)
def test_no_zero_is_corrected_without_need(update: str, clause: str) -> None:
    assert ordered_zeros(kernel("double w = 0", update, clause)) == ()


@pytest.mark.parametrize(
    "body",
    [
        "a[i] = a[i] / 2; if (a[i] > w) w = a[i];",
        "b[i] = a[i + 1]; a[i] = 1; if (b[i] > w) w = b[i];",
        "if (a[i] > w) w = a[i]; b[i] = w;",
    ],
)
def test_a_kernel_that_cannot_run_again_keeps_the_order(body: str) -> None:
    made = plan(
        f"""
        double f(int n, double *restrict a, double *restrict b) {{
          double w = -1;
        #pragma tilek kernel
          for (int i = 0; i < n; i++) {{ {body} }}
          return w;
        }}"""
    )
    assert not operators(made) and ordered_zeros(made) == ()


def test_a_kernel_with_a_loop_that_the_user_calls_independent_keeps_the_order() -> None:
    """Its arrays may share memory, so that a second run may read what the first has written."""
    made = plan(
        """
        double f(int n, int m, const double *a, double *b) {
          double w = -1;
        #pragma tilek kernel
          for (int i = 0; i < n; i++) {
            if (a[i * m] > w) w = a[i * m];
        #pragma tilek loop independent
            for (int j = 0; j < m; j++) b[i * m + j] = a[i * m + j] / 2;
          }
          return w;
        }"""
    )
    assert "max" not in operators(made) and ordered_zeros(made) == ()


def test_a_kernel_that_writes_more_than_numbers_keeps_the_order() -> None:
    made = plan(
        """
        struct pair { double a, b, c; };
        struct pair f(int n, const double *restrict x, double *w) {
          struct pair last; double m = -1;
        #pragma tilek kernel
          for (int i = 0; i < n; i++) { last.a = x[i]; last.b = x[i]; last.c = x[i]; if (x[i] > m) m = x[i]; }
          *w = m;
          return last;
        }"""
    )
    assert ordered_zeros(made) == () and "max" not in operators(made)


def test_the_runtime_restores_as_many_scalars_as_plans_count_on() -> None:
    header = (resource_folder("runtime") / "include" / "tilek.h").read_text()
    assert f"TILEK_MOST_RESTORED = {MOST_RESTORED} " in header
    counts = "".join(f"t{k} = x[i]; " for k in range(MOST_RESTORED))
    declared = ", ".join(f"t{k} = 0" for k in range(MOST_RESTORED))
    made = kernel(f"double w = -1; int {declared}", f"{counts} if (d[i] > w) w = d[i];")
    assert ordered_zeros(made) == ()


def test_a_kernel_that_writes_other_arrays_than_it_reads_can_run_again() -> None:
    made = plan(
        """
        double f(int n, const double *restrict a, double *restrict b) {
          double w = -1;
        #pragma tilek kernel
          for (int i = 0; i < n; i++) { b[i] = a[i] / 2; if (a[i] > w) w = a[i]; }
          return w;
        }"""
    )
    assert operators(made) == {"max"} and [each.object.host for each in ordered_zeros(made)] == ["w"]


@pytest.mark.parametrize(
    ("declaration", "update", "clause", "message"),
    [
        ("int w = 0", "w += d[i];", "+", "'w' cannot be reduced with '+': each step is computed in double"),
        ("_Bool w = 0", "w ^= x[i];", "^", "'w' cannot be reduced with '^': each step is converted to _Bool"),
        ("signed char w = 0", "if (x[i] > w) w = x[i];", "max", "'w' cannot be reduced with 'max': what is compared"),
        ("int w = 0", "w = x[i] - w;", "+", "this is not an update with that operator"),
    ],
)
def test_a_clause_vouches_for_the_order_and_not_for_conversions(
    declaration: str, update: str, clause: str, message: str
) -> None:
    made = kernel(declaration, update, f"reduction({clause}: w)")
    assert made.untransformed is not None and message in made.untransformed
    with pytest.raises(AssertionError) as raised:  # where the user gives orders it is an error
        kernel(declaration, update, f"reduction({clause}: w) independent")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("update", "clause", "operator"),
    [
        ("w += d[i];", "+", "+"),
        ("w = w > d[i] ? w : d[i];", "max", "max"),
        ("if (d[i] <= w) w = d[i];", "min", "min"),
        ("w = fmax(d[i], w);", "max", "fmax"),
    ],
)
def test_a_clause_allows_any_order(update: str, clause: str, operator: str) -> None:
    made = kernel("double w = 0", update, f"reduction({clause}: w)")
    assert made.untransformed is None and operators(made) == {operator}
    verify(made)
