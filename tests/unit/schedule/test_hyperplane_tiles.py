"""Plans from hyperplanes: which kernels get them, how they are launched, and what is refused."""

from __future__ import annotations

import pytest

from tests.support.c_functions import HYPERPLANES, ROOT, c_function
from tests.support.plan_kinds import PlanKind, plan_kind
from tests.support.source_plans import plan
from tilepragma.ir.directives import AxisKind, TemporalTiles
from tilepragma.ir.loop_tree import Barrier, If, Loop, PackedPanels
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.traversal import walk
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step
from tilepragma.plan.summary import are_wavefronts
from tilepragma.schedule.default_sizes import (
    CHAINED_HOST_TILE,
    DIAMOND_TILES,
    FLAT_HOST_TILE,
    HOST_TILE,
    LONG_CHAINED_HOST_TILE,
    NARROW_HOST_TILE,
    REGISTER_COLUMNS_TILE,
    REGISTER_TILE,
    RELAXATION_TILES,
    STENCIL_TILES,
    TALL_HOST_TILE,
)
from tilepragma.schedule.wavefront import DIAMONDS
from tilepragma.verify.proofs import prove

GAUSS_SEIDEL = c_function(ROOT / "samples" / "gauss_seidel" / "gauss_seidel.c", "relax").text
LU = c_function(HYPERPLANES, "lu").text
TWO_ROWS_READ = """
void f(int n, int d[n][n])
{
#pragma tilek kernel
    for (int k = 1; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                d[i][j] += d[i][k] * d[k][j] + d[i][k - 1] * d[k - 1][j];
}
"""
"""Rows k and k - 1 are written while they are read, so that loops are not split at one."""
ELIMINATION = """
void f(int n, double a[n][n])
{
    %s
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            w = a[i][j];
            for (int k = 0; k < (i < j ? i : j); k++)
                w -= a[i][k] * a[k][j];
            a[i][j] = w;
        }
    %s
}
"""
CHAIN = """
void f(int n, double a[n])
{
#pragma tilek kernel
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1] * 0.5;
}
"""
ALONG = """
void f(int n, int m, double a[n][m])
{
#pragma tilek kernel
    for (int j = 1; j < m; j++)
        for (int i = 1; i < n; i++)
            a[i][j] = a[i - 1][j] + a[i][j - 1] * 0.5;
}
"""


def shape(steps: tuple[Step, ...]) -> list[object]:
    """The tree of steps: a list for each host loop, and each launch's kinds of axes."""
    results: list[object] = []
    for step in steps:
        if isinstance(step, Launch):
            results.append("".join(axis.kind.value[0] for axis in step.axes))
        else:
            results.append(shape(step.steps))
    return results


def sizes(made: KernelPlan) -> dict[str, int]:
    return {size.object.name: size.host for size in made.sizes}


def test_gauss_seidel_runs_in_wavefronts_of_tiles() -> None:
    made = plan(GAUSS_SEIDEL)
    assert shape(made.host_steps) == [["t"]]
    assert shape(made.device_steps) == [["ggww"]]
    assert list(sizes(made)) == ["t_size", "t_i_size", "t_j_size"]


def test_launches_know_the_wavefront() -> None:
    made = plan(GAUSS_SEIDEL)
    for steps in (made.host_steps, made.device_steps):
        (loop,) = steps
        assert isinstance(loop, HostLoop)
        (launch,) = loop.steps
        assert isinstance(launch, Launch)
        assert launch.values == (loop.loop.iterator,)


def test_points_of_a_tile_wait_for_each_other_on_devices_alone() -> None:
    made = plan(GAUSS_SEIDEL)
    assert not any(isinstance(node, Barrier) for node in walk(made.host[0].body))
    assert sum(isinstance(node, Barrier) for node in walk(made.device[0].body)) == 1


def test_a_private_scalar_ties_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilepragma.planner.candidate_search.with_expanded_scalars", lambda region: None)
    made = plan(ELIMINATION % ("double w;", ""))
    assert shape(made.host_steps) == [["t"]]
    assert [object_.name for object_ in made.host[0].privates] == ["w"]


def test_a_scalar_that_is_wanted_afterwards_keeps_the_order() -> None:
    made = plan(ELIMINATION % ("double w = 0;", "a[0][0] = w;"))
    assert made.untransformed is not None


def test_no_hyperplane_makes_a_chain_parallel() -> None:
    made = plan(CHAIN)
    assert made.untransformed is not None
    assert any("no hyperplane of Algorithm 4.1" in reason for reason in made.rejected)


def test_tiles_are_short_where_neighbours_in_memory_wait_for_each_other() -> None:
    made = plan(ALONG)
    assert shape(made.host_steps) == [["t"]]
    assert sizes(made) == {"i_size": FLAT_HOST_TILE, "j_size": LONG_CHAINED_HOST_TILE}
    swept = plan(ALONG.replace("    for (int j", "    for (int t = 0; t < n; t++)\n    for (int j", 1))
    steps, rows, _ = RELAXATION_TILES[3]
    assert sizes(swept) == {"t_size": steps, "t_i_size": rows, "t_j_size": CHAINED_HOST_TILE}


JACOBI = """
    void f(int steps, int n, double a[n][n], double b[n][n])
    {
    #pragma tilek kernel
        for (int t = 0; t < steps; t++) {
            for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) b[i][j] = a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1];
            for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) a[i][j] = b[i][j];
        }
    }"""


def jacobi(temporal: TemporalTiles) -> KernelPlan:
    return plan(JACOBI, PlanOptions(temporal=temporal))


def test_tiles_of_time_steps_stay_in_the_cache() -> None:
    made = jacobi(TemporalTiles.SKEWED)
    steps, others, along = STENCIL_TILES[3]
    assert sorted(sizes(made).values()) == sorted((steps, *others, along))
    assert plan_kind(made) is PlanKind.HOST_LOOPS
    assert are_wavefronts(made.host_steps, made.sizes)


def test_tiles_of_cores_begin_together() -> None:
    made = jacobi(TemporalTiles.AUTOMATIC)
    pair, _, along = DIAMOND_TILES[3]
    assert sizes(made) == {"t_i_size": pair, "t_j_size": along}
    assert plan_kind(made) is PlanKind.HOST_LOOPS
    assert are_wavefronts(made.host_steps, made.sizes)
    assert [step.shape for step in made.host_steps if isinstance(step, HostLoop)] == [DIAMONDS]


def test_diamonds_on_devices_are_for_those_who_ask() -> None:
    made = jacobi(TemporalTiles.DIAMOND)
    assert plan_kind(made) is PlanKind.WAVEFRONTS
    assert [step.shape for step in made.device_steps if isinstance(step, HostLoop)] == [DIAMONDS]
    (launch,) = made.device
    assert [axis.kind for axis in launch.axes] == [AxisKind.GANG, AxisKind.WORKER, AxisKind.WORKER]
    assert any("TILEK_TILES" in reason for reason in made.rejected)


def test_a_sweep_that_waits_in_its_own_step_has_no_diamonds_to_ask_for() -> None:
    made = plan(GAUSS_SEIDEL, PlanOptions(temporal=TemporalTiles.DIAMOND))
    assert [step.shape for step in made.device_steps if isinstance(step, HostLoop)] == [""]


def test_tiles_are_long_along_memory() -> None:
    assert sizes(plan(LU)) == {"i_size": REGISTER_TILE, "j_size": REGISTER_COLUMNS_TILE, "k_size": HOST_TILE}
    assert sizes(plan(TWO_ROWS_READ)) == {"i_size": TALL_HOST_TILE, "j_size": NARROW_HOST_TILE}


def test_gangs_take_tiles_and_workers_points() -> None:
    (launch,) = plan(ALONG).device
    assert [(axis.kind, axis.dimension) for axis in launch.axes] == [(AxisKind.GANG, 0), (AxisKind.WORKER, 0)]


def test_what_is_not_affine_is_named_where_it_hides_wavefronts() -> None:
    made = plan("""
    void f(int n, double a[n][n])
    {
    #pragma tilek kernel
        for (int i = n - 2; i > 0; i--)
            for (int j = 1; j < n - 1 - (i & n); j++)
                a[i][j] = 0.5 * (a[i + 1][j] + a[i][j + 1]);
    }""")
    assert made.untransformed is not None
    assert any("since on line 6 'i & n' is not a sum" in reason for reason in made.rejected)


def conditions(made: KernelPlan) -> list[str]:
    """The conditions in the device's first launch, outermost first."""
    return [expression_text(node.condition) for node in walk(made.device[0].body) if isinstance(node, If)]


def test_conditions_on_points_ask_nothing_that_stands_around() -> None:
    """The first point is tested by its distance from the ends of a worker's row (`point_guards`)."""
    _, some, *points = conditions(plan(LU))
    j = "j_first_2 + (long)j_step"
    i = "i_first_2 + (long)i_step"
    assert some == "(-i_step_3) >= limit_2"
    assert points[0] == f"(front <= (i_step_3 - limit)) && (({j}_2) == ((long)front + k_first_2))"
    assert points[1] == f"{i}_4 >= (long)front + k_first_2 + 1 && n >= {j}_3 + 1 && {j}_3 >= {i}_4"


def test_a_row_of_the_host_is_not_asked_again() -> None:
    made = plan(TWO_ROWS_READ)
    (stepped,) = made.device_steps
    assert isinstance(stepped, HostLoop)
    assert not any(f"{stepped.loop.iterator.name} " in each for each in conditions(made))


def innermost(launch: Launch) -> str:
    """The iterator of the launch's last innermost loop."""
    return [node for node in walk(launch.body) if isinstance(node, Loop)][-1].iterator.host


def test_a_product_in_the_order_of_textbooks_steps_along_rows_of_memory() -> None:
    result = plan("""
    void f(int n, double c[n][n], double a[n][n], double b[n][n])
    {
    #pragma tilek kernel
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                c[i][j] = 0;
                for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];
            }
    }""")
    assert result.rejected == (
        "loops as written: innermost loops step through memory in strides in 1 access, those of hyperplanes in none",
    )
    assert [innermost(launch) for launch in result.host] == ["j"]


@pytest.mark.parametrize("outer", ["y = 1; y < h - 1; y += 2", "y = h - 2; y > 0; y -= 3", "y = 1; y < h - 1; y++"])
@pytest.mark.parametrize("inner", ["x = w - 2; x > 0; x--", "x = 1; x < w - 1; x++"])
def test_rows_of_memory_stay_innermost_whatever_the_steps_of_loops(outer: str, inner: str) -> None:
    result = plan(f"""
    void f(int h, int w, int s, float *to, const float *from)
    {{
    #pragma tilek kernel
        for (int {outer})
            for (int {inner}) to[y * s + x] = from[(y - 1) * s + x] + from[(y + 1) * s + x];
    }}""")
    assert result.rejected == ()
    assert innermost(result.host[0]) == "x"


SUMMED = """
void f(int n, double c[n][n], double a[n][n], double b[n][n], double *out)
{
    double s = 0;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s = 0;
            for (int k = 0; k < n; k++) s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
    %s
}"""


def test_a_scalar_that_ties_a_body_is_expanded_for_the_sake_of_strides() -> None:
    result = plan(SUMMED % "")
    assert result.storage == (
        "scalar expansion: 's' has a copy for each iteration of i and j, 's_of_i_j', since no value flows from one iteration to another",
    )
    assert innermost(result.host[0]) == "j"
    kept = next(each for each in result.arrays if each.object.name == "s_of_i_j")
    assert not kept.copy_in and not kept.copy_out


def test_a_scalar_that_is_wanted_afterwards_is_not_expanded() -> None:
    result = plan(SUMMED % "*out = s;")
    assert not result.storage


# -- strips: bands that alternate on the rows of a matrix, and where they must not

PRODUCTS = """
void f(int n, double a[n][n], double *restrict x, double *restrict y, double *restrict s, double *restrict t) {{
#pragma tilek kernel
  {{
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {first};
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {second};
  }}
}}"""
ROW, COLUMN = "s[i] += a[i][j] * x[j]", "t[i] += a[j][i] * y[j]"


def in_strips(found: KernelPlan) -> list[list[bool]]:
    """For each loop over strips, and each launch in it: whether it keeps elements in registers."""
    loops = [step for step in found.host_steps if isinstance(step, HostLoop)]
    assert all("_strip" in loop.loop.iterator.name for loop in loops)
    launches = [[step for step in loop.steps if isinstance(step, Launch)] for loop in loops]
    return [[any(isinstance(node, PackedPanels) for node in walk(item.body)) for item in each] for each in launches]


@pytest.mark.parametrize(("first", "second", "registers"), [(ROW, COLUMN, [True, False]), (COLUMN, ROW, [False, True])])
def test_a_product_and_that_of_the_transposed_matrix_read_it_once(
    first: str, second: str, registers: list[bool]
) -> None:
    result = plan(PRODUCTS.format(first=first, second=second))
    assert in_strips(result) == [registers]
    assert prove(result) == ()
    assert not any(isinstance(step, HostLoop) for step in result.device_steps)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ROW, "t[i] += a[j][i] * s[n - 1 - j]"),  # the first rows of the second wait for the last sums of the first
        (ROW, "t[i] += a[j][i] * s[i]"),  # every row waits for all sums
        (ROW, "t[i] += a[n - 1 - j][i] * y[j]"),  # rows from the last to the first
        (COLUMN, "s[i] += a[j][i] * x[j]"),  # columns of both: no row is read twice
    ],
)
def test_no_strips(first: str, second: str) -> None:
    result = plan(PRODUCTS.format(first=first, second=second))
    assert in_strips(result) == []
    assert prove(result) == ()


def test_a_later_row_may_wait_for_sums_of_its_own_strip() -> None:
    result = plan(PRODUCTS.format(first=ROW, second="t[i] += a[j][i] * s[j]"))
    assert in_strips(result) == [[True, False]]
    assert prove(result) == ()
