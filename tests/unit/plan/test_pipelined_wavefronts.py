"""Wavefronts whose tiles wait for their neighbours alone: which launches they are of, that they are proven, and what is emitted."""

from __future__ import annotations

import dataclasses

import pytest
from source import plan

from tests.support.plan_text import plan_of
from tilepragma.codegen.steps import step_functions
from tilepragma.ir.looptree import Buffered
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step
from tilepragma.plan.verifier_proofs import prove

SEIDEL = """
void g(int steps, int n, double u[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                u[i][j] = 0.25 * (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]);
}
"""
#: Rows of A one after another on the host, the elements of one dealt to threads: right as it stands, whatever the offset is.
ROWS = """
void rows(int n, int m, double a[m + 1][n])
{{
#pragma tilek kernel
    for (int t = 0; t < m; t++)
        for (int i = 2; i < n - 2; i++)
            a[t + 1][i] = a[t][i{offset}];
}}

void plan(int n, int m, double a[m + 1][n])
{{
#pragma tilek kernel
    {{
    for (long ht = 0; ht < m; ht++)
        for (long xi = 2; xi < n - 2; xi++) {{
            const long t = {time};
            const long i = xi;
            a[t + 1][i] = a[t][i{offset}];
        }}
    }}
}}
"""


def pipelined(found: KernelPlan) -> KernelPlan:
    """The plan with launches of which it is claimed that their wavefronts may overlap."""

    def changed(step: Step) -> Step:
        if isinstance(step, Launch):
            return dataclasses.replace(step, pipelined=True)
        return dataclasses.replace(step, steps=tuple(map(changed, step.steps)))

    return dataclasses.replace(
        found,
        host_steps=tuple(map(changed, found.host_steps)),
        device_steps=tuple(map(changed, found.device_steps)),
    )


def rows(offset: str, time: str = "ht") -> KernelPlan:
    return plan_of(ROWS.format(offset=offset, time=time))


@pytest.mark.parametrize("offset", ["", " - 1"])
def test_neighbours_of_the_wavefront_before_are_waited_for(offset: str) -> None:
    assert prove(pipelined(rows(offset))) == ()


@pytest.mark.parametrize("offset", [" + 1", " - 2"])
def test_others_are_not(offset: str) -> None:
    assert prove(rows(offset)) == ()
    faults = prove(pipelined(rows(offset)))
    assert any("may run before what they need of an earlier wavefront is done" in one.message for one in faults), faults


def test_wavefronts_against_the_loop_are_refused() -> None:
    backward = ROWS.replace("a[t + 1][i] = a[t][i{offset}]", "a[t][i] = a[t + 1][i]").replace(
        "long ht = 0; ht < m; ht++", "long ht = m - 1; ht >= 0; ht--"
    )
    backward = backward.replace("int t = 0; t < m; t++", "int t = m - 1; t >= 0; t--")
    found = plan_of(backward.format(offset="", time="ht"))
    assert prove(found) == ()
    assert any("are not of one tiled loop in a loop of the host" in one.message for one in prove(pipelined(found)))


def test_relaxations_overlap_on_cores() -> None:
    found = plan(SEIDEL)
    (loop,) = found.host_steps
    assert isinstance(loop, HostLoop)
    (launch,) = loop.steps
    assert isinstance(launch, Launch) and launch.pipelined
    assert not any(one.pipelined for one in found.device)
    text = step_functions(found, on_device=True).text
    host, device = text.split("_device_steps(")
    assert "tilek_stop = tilek_wave(tilek_run_, 0, tilek_loops, tilek_values, wavefront);" in host
    end = "\n    }\n    tilek_stop = tilek_waves_end(tilek_run_);\n    if (tilek_stop) return tilek_stop;\n    return 0;\n"
    assert end in host
    assert "tilek_wave" not in device


def test_elements_in_registers_wait_for_whole_wavefronts() -> None:
    """What a tile keeps is stored when the tile is through: that others of the next wavefront may run meanwhile is not proven."""
    found = plan(
        "void lu(int n, double A[n][n]) {\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) {"
        " for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j]; A[i][j] /= A[j][j]; }"
        " for (int j = i; j < n; j++) for (int k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j]; } }"
    )
    assert any(isinstance(node, Buffered) for one in found.host for node in walk(one.body))
    assert not any(one.pipelined for one in found.host)
