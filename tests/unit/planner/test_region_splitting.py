"""Regions whose loops end with conditions: which kernels they become, and which arrays are kept between these."""

from __future__ import annotations

import textwrap

from tests.support.source_plans import DEFAULTS
from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.planner.planner import make_plan
from tilepragma.planner.region_splitting import PlannedRegion, plan_region

JACOBI = """
    double fabs(double);
    void f(int n, int most, double *u, double *v)
    {
        double change = 1;
        int it = 0;
    #pragma tilek kernel %s
        while (change > 0.1 && it < most) {
            for (int i = 1; i < n - 1; i++)
                v[i] = (u[i - 1] + u[i + 1]) / 2;
            change = 0;
            for (int i = 1; i < n - 1; i++)
                if (fabs(v[i] - u[i]) > change)
                    change = fabs(v[i] - u[i]);
            %s
            it++;
        }
    }
    """
EXCHANGE = "double *t = u; u = v; v = t;"


def region(source: str) -> tuple[PlannedRegion, list[str]]:
    """The one region of a source as it was planned, and the messages."""
    diagnostics = Diagnostics()
    unit = parse_translation_unit("in.c", textwrap.dedent(source).encode(), CompilerFlags(), diagnostics)
    assert unit is not None
    [kernel] = unit.kernels
    made = plan_region(kernel, lambda one, found: make_plan(one, unit.floating, found, DEFAULTS), diagnostics)
    return made, [diagnostic.message for diagnostic in diagnostics]


def resident(source: str) -> dict[str, tuple[object, ...]]:
    """The sections of the arrays that are kept for all of the region."""
    made, _ = region(source)
    return {array.object.host: array.section for array in made.resident[0].arrays}


def parallel(made: PlannedRegion) -> dict[str, bool]:
    return {each.plan.kernel.name: each.plan.untransformed is None for each in made.planned}


def test_nests_are_kernels_and_arrays_are_kept() -> None:
    made, said = region(JACOBI % ("", ""))
    assert parallel(made) == {"f_part1": True, "f_part2": True}
    assert [kernel.name for kernel in made.kernels] == ["f_part1", "f_part2"]
    assert said == []
    assert [each.plan.resident for each in made.planned] == [{"u", "v"}, {"u", "v"}]
    kept = resident(JACOBI % ("", ""))
    assert set(kept) == {"u", "v"}
    assert kept["u"] != kept["v"], "v is written inside of what u is read"


def test_host_text_may_pass_an_array_of_characters_but_no_pointer_to_them() -> None:
    source = "\n    #include <stdio.h>" + JACOBI
    _, said = region(source % ("", 'char line[8]; snprintf(line, 8, "%d", it);'))
    assert said == []
    diagnostics = Diagnostics()
    pointer = (source % ("", 'snprintf(line, 8, "%d", it);')).replace("int most", "int most, char *line")
    parse_translation_unit("in.c", textwrap.dedent(pointer).encode(), CompilerFlags(), diagnostics)
    assert ["'snprintf' gets 'line'" in diagnostic.message for diagnostic in diagnostics] == [True]


def test_pointers_that_change_places_have_what_any_of_them_needs() -> None:
    plain, exchanged = resident(JACOBI % ("", "")), resident(JACOBI % ("", EXCHANGE))
    assert set(exchanged) == {"u", "v"}
    assert exchanged["u"] == exchanged["v"] == plain["u"]


def test_pointers_chosen_in_the_loop_are_kept_by_the_names_outside() -> None:
    source = (JACOBI % ("", "")).replace("double *u, double *v)", "double *a, double *b)")
    source = source.replace("it < most) {", "it < most) { double *u = it % 2 ? b : a, *v = it % 2 ? a : b;")
    assert set(resident(source)) == {"a", "b"}
    assert region(source)[0].planned[0].plan.resident == {"a", "b", "u", "v"}


def test_pointers_without_a_value_before_the_region_are_not_read() -> None:
    source = (JACOBI % ("", "")).replace("int it = 0;", "int it = 0; double *to, *from;")
    source = source.replace("it < most) {", "it < most) { from = u; to = v;")
    source = source.replace("v[i] =", "to[i] =").replace("u[i - 1] + u[i + 1]", "from[i - 1] + from[i + 1]")
    assert set(resident(source)) == {"u", "v"}


def test_arrays_whose_extent_changes_come_and_go_with_each_kernel() -> None:
    made, _ = region(JACOBI % ("", "n -= n / 2;"))
    assert parallel(made) == {"f_part1": True, "f_part2": True}
    assert resident(JACOBI % ("", "n -= n / 2;")) == {}
    assert set(resident(JACOBI % ("data(u[0:100], v[0:100])", "n -= n / 2;"))) == {"u", "v"}


def test_what_the_host_may_leave_out_does_not_make_arrays_larger() -> None:
    more = "if (it %% 4 == 0) for (int i = 0; i < %s; i++) v[i] += 1;"
    assert set(resident(JACOBI % ("", more % "n - 2"))) == {"u"}, "v[0] may not be there"
    assert set(resident(JACOBI % ("", (more % "n - 1").replace("int i = 0", "int i = 1")))) == {"u", "v"}


def test_arrays_that_leave_with_no_values_are_not_copied_back() -> None:
    made, _ = region(JACOBI % ("data(u[0:n], live:in) data(v[0:n], live:not)", ""))
    motions = {array.object.host: (array.copy_in, array.copy_out) for array in made.resident[0].arrays}
    assert motions == {"u": (True, False), "v": (False, False)}
    assert not any(clause.live for kernel in made.kernels for clause in kernel.directive.data)


def test_one_kernel_is_better_where_the_loops_around_run_at_once() -> None:
    made, said = region("""
        void f(int n, int m, double (*restrict a)[8], const double *restrict b)
        {
        #pragma tilek kernel data(b[0:n])
            for (int i = 0; i < n; i++) {
                double r = b[i];
                while (r > 1) {
                    for (int k = 0; k < 8; k++)
                        a[i][k] *= 0.5;
                    r = a[i][0];
                }
            }
        }
        """)
    assert parallel(made) == {"f": True}
    assert said == []
    assert made.resident == ()


def test_nothing_is_taken_apart_where_that_gains_nothing() -> None:
    made, _ = region("""
        void f(int n, double *a)
        {
            double r = 1;
        #pragma tilek kernel
            while (r > 0.1) {
                for (int i = 1; i < n; i++)
                    a[i] = a[i - 1] / (1 + a[i] * a[i]);
                r /= 2;
            }
        }
        """)
    assert parallel(made) == {"f": False}


def test_sor_is_of_the_relaxations_alone() -> None:
    source = """
        void f(int n, double tol, double u[n][n], double r[n][n])
        {
            double change = 1;
        #pragma tilek kernel sor(wavefront) %s
            do {
                for (int i = 1; i < n - 1; i++)
                    for (int j = 1; j < n - 1; j++)
                        u[i][j] = (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) / 4;
                for (int i = 1; i < n - 1; i++)
                    for (int j = 1; j < n - 1; j++)
                        r[i][j] = u[i][j - 1] - u[i][j + 1];
                change /= 2;
            } while (change > tol);
        }
        """
    made, said = region(source % "")
    assert parallel(made) == {"f_part1": True, "f_part2": True}
    assert [kernel.directive.sor is None for kernel in made.kernels] == [False, True]
    assert said == []
    assert "'change' cannot be reduced: the kernel does not use it" in region(source % "reduction(+: change)")[1]


def test_what_plans_copy_beyond_what_loops_touch_is_kept_too() -> None:
    made, _ = region("""
        void f(int n, double tol, double u[n][n], double g[n][n])
        {
            double change;
        #pragma tilek kernel sor(multilayer, layers: 2, subdomain: 8)
            do {
                for (int s = 0; s < 4; s++)
                    for (int i = 1; i < n - 1; i++)
                        for (int j = 1; j < n - 1; j++)
                            u[i][j] = (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - g[i][j]) / 4;
                change = 0;
                for (int i = 1; i < n - 1; i++)
                    for (int j = 1; j < n - 1; j++)
                        if (g[i][j] - u[i][j] > change)
                            change = g[i][j] - u[i][j];
            } while (change > tol);
        }
        """)
    sweeps, change = (each.plan for each in made.planned)
    needed = [{array.object.host: array.section for array in plan.arrays}["g"] for plan in (sweeps, change)]
    kept = {array.object.host: array.section for array in made.resident[0].arrays}
    assert needed[0] != needed[1], "rows of subdomains are copied whole"
    assert kept["g"] == needed[0]


PICKS = """
#include <string.h>
static int pick(unsigned long *seed)
{{
    {storage}double shares[3];
    memset(shares, 0, sizeof shares);
    shares[1] = 0.3;
    *seed = *seed * 25214903917 % 1000;
    for (int i = 0; i < 3; i++)
        if (*seed < 1000 * shares[i]) return i;
    return 3;
}}
void f(int n, int steps, double *a)
{{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {{
        unsigned long seed = t;
        int k = pick(&seed);
        for (int i = 0; i < n; i++)
            a[i] = a[i] * 0.5 + k;
    }}
}}
"""


def test_the_host_calls_functions_with_arrays_of_their_own() -> None:
    """An automatic array is new memory at each call, which no kernel has; a static one is not."""
    made, said = region(PICKS.format(storage=""))
    assert (parallel(made), said) == ({"f_part1": True}, [])
    diagnostics = Diagnostics()
    unit = parse_translation_unit("in.c", PICKS.format(storage="static ").encode(), CompilerFlags(), diagnostics)
    assert unit is not None and not unit.kernels
    assert [diagnostic.message for diagnostic in diagnostics] == [
        "'pick' may use arrays whose newest values are on a device: "
        "'memset' gets 'shares', whose newest values may be on a device"
    ]


def test_what_is_in_the_way_is_said() -> None:
    made, said = region("""
        void f(int n, double *a)
        {
        #pragma tilek kernel
            {
                while (a[0] > 0.1)
                    for (int i = 0; i < n; i++)
                        a[i] /= 2;
            }
        }
        """)
    assert parallel(made) == {"f": False}
    assert said == [
        "a loop of kernel 'f' that ends with a condition runs in order, with all that is in it: the head of this loop is the host's: "
        "the newest value of 'a[0]' may be on a device: 'a[i]' is written in the region (line 8)"
    ]
