"""Scalars that somebody reads after independent loops: where the last iteration has to be told from the others."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import If
from tilepragma.ir.traversal import walk

SOURCE = """
static double last;
void f(int n, const double *restrict a, double *restrict b) {{
#pragma tilek kernel independent data(a[0:n], b[0:n])
#pragma tilek loop {}
    for (int i = 0; i < n; i++) {{ last = a[i] * 2; b[i] = last + 1; }}
}}
double g(void) {{ return last; }}"""


@pytest.mark.parametrize(
    ("tiles", "compared"),
    [("tile(thread) tile(dynamic)", True), ("tile(dynamic) tile(gang)", True), ("tile(size, 8) tile(dynamic)", False)],
)
def test_only_distributed_iterations_ask_whether_they_are_the_last(tiles: str, compared: bool) -> None:
    made = plan(SOURCE.format(tiles))
    assert made.untransformed is None
    assert any(isinstance(node, If) for node in walk(made.kernel.body)) == compared
