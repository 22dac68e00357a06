"""Wavefronts whose tiles wait for their neighbours alone: which launches they are of, that they are proven, and what is emitted."""

from __future__ import annotations

import dataclasses

import pytest

from tests.support.plan_text import plan_of
from tests.support.source_plans import plan
from tilepragma.codegen.step_functions import step_functions
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.loop_tree import Axis, Block, PackedPanels, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step
from tilepragma.verify.proofs import prove

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
#: Rows of A one after another on the host, the elements of one distributed over threads: right as it
#: stands, whatever the offset is.
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


#: Planes of a one after another, the elements of one distributed over threads in a box of two loops, which
#: stand for columns of two coordinates.
PLANES = """
void planes(int n, int m, double a[m + 1][n][n])
{{
#pragma tilek kernel
    for (int t = 0; t < m; t++)
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < n - 2; j++)
                a[t + 1][i][j] = {read};
}}

void plan(int n, int m, double a[m + 1][n][n])
{{
#pragma tilek kernel
    {{
    for (long ht = 0; ht < m; ht++)
        for (long gi = 2; gi < n - 2; gi++)
            for (long gj = 2; gj < n - 2; gj++) {{
                const long t = ht;
                const long i = gi;
                const long j = gj;
                a[t + 1][i][j] = {read};
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


def planes(read: str) -> KernelPlan:
    """Both loops that are distributed in one nest, each over an axis of its own."""
    result = plan_of(PLANES.format(read=read))
    (loop,) = result.host_steps
    assert isinstance(loop, HostLoop)
    (launch,) = loop.steps
    assert isinstance(launch, Launch)
    (outer,) = launch.body.statements
    assert isinstance(outer, TileNest)
    (inner,) = outer.body.statements
    assert isinstance(inner, TileNest)
    (column,) = inner.loops
    other = Axis(AxisKind.GANG, 1)
    tiles = (column.tiles[0], dataclasses.replace(column.tiles[1], axis=other))
    loops = (*outer.loops, dataclasses.replace(column, tiles=tiles))
    nest = TileNest(loops, (*outer.order, *tiles), inner.body)
    launch = dataclasses.replace(launch, body=Block((nest,)), axes=(*launch.axes, other))
    steps = (dataclasses.replace(loop, steps=(launch,)),)
    return dataclasses.replace(result, host_steps=steps, device_steps=steps)


def rows(offset: str, time: str = "ht") -> KernelPlan:
    return plan_of(ROWS.format(offset=offset, time=time))


@pytest.mark.parametrize("offset", ["", " - 1"])
def test_neighbours_of_the_wavefront_before_are_waited_for(offset: str) -> None:
    assert prove(pipelined(rows(offset))) == ()


@pytest.mark.parametrize("offset", [" + 1", " - 2"])
def test_others_are_not(offset: str) -> None:
    assert prove(rows(offset)) == ()
    faults = prove(pipelined(rows(offset)))
    assert any("may run before what they need of an earlier wavefront is done" in fault.message for fault in faults), (
        faults
    )


@pytest.mark.parametrize("read", ["a[t][i][j]", "a[t][i - 1][j] + a[t][i][j - 1]"])
def test_columns_of_two_coordinates_wait_for_one_less_in_either(read: str) -> None:
    assert prove(pipelined(planes(read))) == ()


@pytest.mark.parametrize("read", ["a[t][i - 1][j - 1]", "a[t][i][j + 1]", "a[t][i - 2][j + 1]", "a[t][i][j - 2]"])
def test_columns_of_two_coordinates_do_not_wait_for_others(read: str) -> None:
    """What is two columns away comes a wavefront later, also where the two differ in another coordinate each."""
    result = planes(read)
    assert prove(result) == ()
    faults = prove(pipelined(result))
    assert any("may run before what they need of an earlier wavefront is done" in fault.message for fault in faults), (
        faults
    )


def test_instances_that_two_nests_deal_out_are_no_columns() -> None:
    result = plan_of(PLANES.format(read="a[t][i][j]"))
    assert any("are not of tiled loops" in each.message for each in prove(pipelined(result)))


def test_wavefronts_against_the_loop_are_refused() -> None:
    backward = ROWS.replace("a[t + 1][i] = a[t][i{offset}]", "a[t][i] = a[t + 1][i]").replace(
        "long ht = 0; ht < m; ht++", "long ht = m - 1; ht >= 0; ht--"
    )
    backward = backward.replace("int t = 0; t < m; t++", "int t = m - 1; t >= 0; t--")
    result = plan_of(backward.format(offset="", time="ht"))
    assert prove(result) == ()
    assert any(
        "are not of tiled loops that count up by 1 in a loop of the host" in each.message
        for each in prove(pipelined(result))
    )


def test_relaxations_overlap_on_cores() -> None:
    result = plan(SEIDEL)
    (loop,) = result.host_steps
    assert isinstance(loop, HostLoop)
    (launch,) = loop.steps
    assert isinstance(launch, Launch) and launch.pipelined
    (device,) = result.device
    assert device.pipelined
    text = step_functions(result, on_device=True).text
    host, device_text = text.split("_device_steps(")
    assert "tilek_stop = tilek_wave(tilek_run_, 0, tilek_loops, tilek_values, wavefront);" in host
    end = "\n    }\n    tilek_stop = tilek_waves_end(tilek_run_);\n    if (tilek_stop) return tilek_stop;\n    return 0;\n"
    assert end in host
    assert "tilek_stop = tilek_wave(tilek_run_, 0, tilek_loops, tilek_values, wavefront_2);" in device_text
    assert end in device_text


def test_elements_in_registers_wait_for_whole_wavefronts() -> None:
    """What a tile keeps is stored when the tile is through: that others of the next wavefront may run meanwhile is not proven."""
    result = plan(
        "void lu(int n, double A[n][n]) {\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) {"
        " for (int j = 0; j < i; j++) { for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[k][j]; A[i][j] /= A[j][j]; }"
        " for (int j = i; j < n; j++) for (int k = 0; k < i; k++) A[i][j] -= A[i][k] * A[k][j]; } }"
    )
    assert any(isinstance(node, PackedPanels) for launch in result.host for node in walk(launch.body))
    assert not any(launch.pipelined for launch in result.host)
