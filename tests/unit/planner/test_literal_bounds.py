"""Loops that end at numbers, as most programs' do, have the plans of loops that end at parameters."""

from __future__ import annotations

import functools
import re

import pytest

from tests.support.plan_kinds import plan_kind
from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import Loop, PackedPanels
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, all_steps, launches_in
from tilepragma.plan.summary import has_shapes

LU = """
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[k][j];
            a[i][j] /= a[j][j];
        }
        for (int j = i; j < n; j++)
            for (int k = 0; k < i; k++) a[i][j] -= a[i][k] * a[k][j];
    }"""
JACOBI = """
    for (int t = 0; t < m; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j] + a[i - 1][j];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = b[i][j] + b[i][j - 1] + b[i][j + 1] + b[i + 1][j] + b[i - 1][j];
    }"""
FDTD = """
    for (int t = 0; t < m; t++) {
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++) b[i][j] -= a[i][j] - a[i - 1][j];
        for (int i = 0; i < n; i++)
            for (int j = 1; j < n; j++) c[i][j] -= a[i][j] - a[i][j - 1];
        for (int i = 0; i < n - 1; i++)
            for (int j = 0; j < n - 1; j++) a[i][j] -= c[i][j + 1] - c[i][j] + b[i + 1][j] - b[i][j];
    }"""
SEIDEL = """
    for (int t = 0; t < m; t++)
        for (int i = n - 2; i > 0; i--)
            for (int j = n - 2; j > 0; j--)
                a[i][j] = a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j] + a[i - 1][j];"""


def planned(body: str, numbers: dict[str, int] | None = None) -> KernelPlan:
    """The plan of the body, `n` and `m` being parameters or these numbers."""
    parameters = "int n, int m, " if numbers is None else ""
    text = f"void f({parameters}double a[n][n], double b[n][n], double c[n][n]) {{\n#pragma tilek kernel\n{body}\n}}"
    for name, value in (numbers or {}).items():
        text = re.sub(rf"\b{name}\b", str(value), text)
    return plan(text)


@functools.cache
def parametric(body: str) -> list[object]:
    """The shape of the plan for all sizes."""
    return shape(planned(body))


def shape(found: KernelPlan) -> list[object]:
    """What decides on speed: the kind of plan, loops around launches, axes, tile sizes, and what is kept in registers."""
    result: list[object] = [plan_kind(found), has_shapes(found)]
    for steps in (found.host_steps, found.device_steps):
        for step in all_steps(steps):
            if isinstance(step, HostLoop):
                result.append((step.loop.iterator.name, step.shape))
            elif isinstance(step, Launch):
                nodes = list(walk(step.body))
                result.append([str(axis) for axis in step.axes])
                held = (buffer for node in nodes if isinstance(node, PackedPanels) for buffer in node.buffers)
                result.append([expression_text(each.access) for each in held])
    return [*result, [(size.object.name, size.host, size.device) for size in found.sizes]]


@pytest.mark.parametrize("body", [LU, JACOBI, FDTD, SEIDEL], ids=["lu", "jacobi", "fdtd", "seidel"])
@pytest.mark.parametrize("numbers", [{"n": 2000, "m": 100}, {"n": 131, "m": 65}], ids=str)
def test_numbers_for_extents_change_no_plan(body: str, numbers: dict[str, int]) -> None:
    assert shape(planned(body, numbers)) == parametric(body)


def test_innermost_loops_run_up_to_an_end_and_not_through_one() -> None:
    for numbers in (None, {"n": 2000, "m": 100}):
        for launch in launches_in(planned(JACOBI, numbers).host_steps):
            loops = [node for node in walk(launch.body) if isinstance(node, Loop)]
            inner = [loop for loop in loops if not any(isinstance(node, Loop) for node in walk(loop.body))]
            assert [each.iterator.host for each in inner] == ["j", "j"]
            assert {each.comparison for each in inner} == {"<"}
