"""Extents of arrays that small loops under conditions read around a cell, and of cells that each branch writes."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.accesses import uses
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.plan.kernel_plan import KernelPlan

AROUND = "for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1; dx++)"


def life(body: str, count: str = "if (dx != 0 || dy != 0) sum += a[(y + dy) * w + x + dx];") -> KernelPlan:
    return plan(f"""
    void life(int h, int w, const int *restrict a, int *restrict b) {{
    #pragma tilek kernel
        for (int y = 1; y < h - 1; y++)
            for (int x = 1; x < w - 1; x++) {{
                int sum = 0;
                {AROUND} {{ {count} }}
                {body}
            }}
    }}""")


def sections(found: KernelPlan) -> dict[str, str]:
    """`lower : length` of each array of one dimension."""
    texts = {}
    for array in found.arrays:
        (bound,) = array.section
        texts[array.object.name] = f"{plain_text(bound.lower)} : {plain_text(bound.length)}"
    return texts


@pytest.mark.parametrize(
    "count",
    [
        "if (dx != 0 || dy != 0) sum += a[(y + dy) * w + x + dx];",
        "if (!(dx == 0 && dy == 0)) sum += a[(y + dy) * w + x + dx];",
        "if (dx == 0 && dy == 0) continue; sum += a[(y + dy) * w + x + dx];",
    ],
)
def test_the_middle_that_data_decide_on_lies_between_neighbours(count: str) -> None:
    made = life("b[y * w + x] = sum == 3 || (sum == 2 && a[y * w + x]);", count)
    assert made.untransformed is None
    assert sections(made)["a"] == "0 : (w >= 3 && h >= 3 ? h * w : 0)"


def test_what_lies_beyond_the_neighbours_may_not_be_there() -> None:
    made = life("b[y * w + x] = sum == 3 || (sum == 2 && a[(y + 5) * w + x]);")
    assert made.untransformed is None
    doubts = [array.doubt.message for array in made.arrays if array.doubt is not None]
    assert doubts == ["the extent of 'a' cannot be found: this access is made under a condition"]


def test_a_cell_that_each_branch_writes_is_written() -> None:
    cell = "b[y * w + x]"
    made = life(f"if (sum < 2 || sum > 3) {cell} = 0; else if (sum == 3) {cell} = 1; else {cell} = 2;")
    assert made.untransformed is None
    assert sections(made)["b"] == "w + 1 : (h >= 3 && w >= 3 ? (h * w) - (2 * w) - 2 : 0)"
    one_branch = life(f"if (sum < 2 || sum > 3) {cell} = 0; else if (sum == 3) {cell} = 1;")
    assert [array.object.name for array in one_branch.arrays if array.doubt is not None] == ["b"]


@pytest.mark.parametrize(
    ("then", "otherwise", "certain"),
    [
        ("a[i] = 1;", "a[i] = 2;", True),
        ("a[i] = 1;", "b[i] = a[i]; a[i] = 2;", True),
        ("a[i] = 1;", "a[i] += 2;", False),
        ("a[i] = 1;", "a[i + 1] = 2;", False),
        ("a[i] = 1;", "b[i] = a[i];", False),
        ("a[i] = 1;", "if (b[i] < -9) a[i] = 2;", False),
        ("a[i] = 1;", "for (int j = 0; j < n; j++) a[i] = 2;", False),
        ("k = 3; a[k] = 1;", "a[k] = 2;", False),
        ("if (b[i] > 9) a[i] = 1; else a[i] = 3;", "a[i] = 2;", True),
    ],
)
def test_what_both_branches_do_is_done(then: str, otherwise: str, certain: bool) -> None:
    made = plan(f"""
    void f(int n, int a[n + 1], int b[n]) {{
    #pragma tilek kernel
        for (int i = 0; i < n; i++) {{
            int k = i;
            if (b[i] > 0) {{ {then} }} else {{ {otherwise} }}
        }}
    }}""")
    results = [use for use in uses(made.kernel.body) if use.object.name == "a" and use.writes]
    assert any(not use.conditional for use in results) == certain
    if certain:
        assert [use.conditional for use in results][-1] is False
