"""Integers declared before the loops, as C89 has them: subscripts that are made of them are as well known as if each iteration declared its own."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import Declarator, Kernel
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import KernelPlan

SHIFTED = "k = i * n + j; a[k] = b[k] + 1;"
TWO = "k = i * n + j; down = k - n; if (j > 0) { left = k - 1; a[k] = b[down] + b[left]; } else a[k] = 0;"
CHOSEN = "if (i > 1) k = (i - 1) * n + j; else k = j; a[i * n + j] = b[k];"


def nest(body: str, after: str = "", clauses: str = "") -> KernelPlan:
    return plan(f"""
    int f(int n, float *restrict a, const float *restrict b) {{
        int i, j, k, down, left;
        k = down = left = 0;
    #pragma tilek kernel {clauses}
        for (i = 1; i < n; i++)
            for (j = 0; j < n; j++) {{
                {body}
            }}
        {after}
        return 0;
    }}""")


@pytest.mark.parametrize("body", [SHIFTED, TWO, CHOSEN])
def test_iterations_run_at_once(body: str) -> None:
    assert nest(body).untransformed is None


@pytest.mark.parametrize(
    ("body", "after"),
    [
        (SHIFTED, "return k;"),
        ("a[k] = b[i * n + j]; k = i * n + j;", ""),
        ("if (j % 2) k = i * n + j; a[k] = b[k];", ""),
        ("k += n; a[k] = b[k];", ""),
    ],
    ids=["read after the kernel", "written after it is read", "written by some iterations", "carried"],
)
def test_what_another_iteration_or_the_program_reads_stays_outside(body: str, after: str) -> None:
    assert _outside(nest(body, after)) == {"k"}


def test_every_nest_has_one_of_its_own() -> None:
    result = plan("""
    void f(int steps, int n, float *restrict a, float *restrict b) {
        int k, t, i, j;
    #pragma tilek kernel
        for (t = 0; t < steps; t++) {
            for (i = 0; i < n; i++)
                for (j = 0; j < n; j++) { k = i * n + j; b[k] = a[k] * 2; }
            for (i = 0; i < n; i++)
                for (j = 0; j < n; j++) { k = i * n + j; a[k] = b[k] + 1; }
        }
    }""")
    assert result.untransformed is None
    assert _outside(result) == set()


def test_a_clause_keeps_its_scalar() -> None:
    assert _outside(nest(SHIFTED, clauses="firstprivate(k) independent data(a[0:n*n]) data(b[0:n*n])")) == {"k"}


def _outside(found: KernelPlan) -> set[str]:
    """Those of the kernel's integers that no iteration declares."""
    kernel: Kernel = found.source or found.kernel
    inside = {node.object.host for node in walk(kernel.body) if isinstance(node, Declarator)}
    return {object_.host for object_ in kernel.objects if object_.host in ("k", "down", "left")} - inside
