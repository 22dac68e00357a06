"""Plans of C text: chains, order, launches, scalars, data and targets, each rule of docs/LANGUAGE.md once."""

from __future__ import annotations

import pytest

from tests.support.source_plans import errors, plan, plans, text
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.directives import AxisKind, Target
from tilepragma.ir.loop_tree import Axis, Barrier, Loop, TileNest
from tilepragma.ir.loop_tree_text import expression_text, tile_text
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import KernelPlan


def order(found: KernelPlan) -> list[str]:
    """The tiles of the first nest on the host."""
    nest = next(node for node in walk(found.host[0].body) if isinstance(node, TileNest))
    symbols = {tiled.loop.index: tiled.symbol for tiled in nest.loops}
    return [tile_text(tile, symbols[tile.loop]) for tile in nest.order]


def device_order(found: KernelPlan) -> list[str]:
    nest = next(node for node in walk(found.device[0].body) if isinstance(node, TileNest))
    symbols = {tiled.loop.index: tiled.symbol for tiled in nest.loops}
    return [tile_text(tile, symbols[tile.loop]) for tile in nest.order]


def matrix(outer: str, inner: str, kernel: str = "") -> str:
    return f"""
    void f(int n, int m, double a[n][m]) {{
    #pragma tilek kernel {kernel}
    #pragma tilek loop {outer}
      for (int i = 0; i < n; i++)
    #pragma tilek loop {inner}
        for (int j = 0; j < m; j++) a[i][j] += 1;
    }}"""


@pytest.mark.parametrize(
    ("outer", "inner", "wanted"),
    [
        ("tile[0](static, 2) tile[2](dynamic)", "tile[1](static, 3) tile[3](dynamic)", "i.0 j.0 i.1 j.1"),
        ("tile[3](static, 2) tile[1](dynamic)", "tile[2](static, 3) tile[0](dynamic)", "j.1 i.1 j.0 i.0"),
        ("tile[1](static, 2) tile(dynamic)", "tile(static, 3) tile[0](dynamic)", "j.1 i.0 i.1 j.0"),
        ("tile(static, 2)", "tile(static, 3)", "i.0 i.1 j.0 j.1"),
        ("tile[1](static, 2)", "tile[0](static, 3)", "j.0 j.1 i.0 i.1"),
        ("tile[1](dynamic)", "", "i.0 j.0"),
        ("", "tile[0](static, 4) tile[1](dynamic)", "j.0 j.1"),
    ],
)
def test_tiles_are_sorted_stably_and_inherit_orders(outer: str, inner: str, wanted: str) -> None:
    assert [each.split()[0] for each in order(plan(matrix(outer, inner)))] == [
        name for name in wanted.split() if outer != "tile[1](dynamic)" or name != "j.0"
    ]


def test_untiled_loops_at_the_ends_of_a_chain_stay_plain() -> None:
    result = plan(matrix("tile(thread)", ""))
    assert [loop.iterator.name for loop in walk(result.host[0].body) if isinstance(loop, Loop)] == ["j"]
    result = plan(matrix("", "tile(worker)"))
    assert [loop.iterator.name for loop in walk(result.host[0].body) if isinstance(loop, Loop)] == ["i"]


def test_an_untiled_loop_that_the_order_moves_becomes_a_tile() -> None:
    source = """
    void f(int n, int m, double a[n][m]) {
    #pragma tilek kernel
    #pragma tilek loop tile[0](static, 2) tile[9](dynamic)
      for (int i = 0; i < n; i++)
    #pragma tilek loop tile[1](static, 2) tile[5](dynamic)
        for (int j = 0; j < m; j++)
          for (int k = 0; k < 4; k++) a[i][j] += k;
    }"""
    assert order(plan(source)) == ["i.0 static 2", "j.0 static 2", "j.1 dynamic", "k.0 dynamic", "i.1 dynamic"]


def test_a_dynamic_tile_is_appended_unless_the_counts_are_known_to_suffice() -> None:
    fixed = """
    void f(double *a) {{
    #pragma tilek kernel num_threads(5)
    #pragma tilek loop {}
      for (int i = 0; i < 10; i++) a[i] = 0;
    }}"""
    assert order(plan(fixed.format("tile(thread) tile(static, 2)"))) == ["i.0 thread 0", "i.1 static 2"]
    diagnostics = Diagnostics()
    (short,) = plans(fixed.format("tile(thread)"), diagnostics)
    assert order(short) == ["i.0 thread 0", "i.1 dynamic"]
    assert ["added" in item.message for item in diagnostics] == [True]
    assert order(plan(matrix("tile(thread)", "")))[-1] == "i.1 dynamic"
    assert order(plan(fixed.format("tile(size, 4) tile(thread)")))[-1] == "i.1 thread 0"
    assert order(plan(fixed.format("tile(thread) tile(size, 2)")))[-1] == "i.2 dynamic"


def test_the_default_mapping_serves_neighbours_with_neighbouring_workers() -> None:
    result = plan(matrix("independent", "independent"))
    assert order(result) == ["i.0 thread 0", "i.1 dynamic"]
    assert device_order(result) == [
        "i.0 dynamic",
        "i.1 gang 1",
        "i.2 worker 1",
        "j.0 dynamic",
        "j.1 gang 0",
        "j.2 worker 0",
    ]
    assert result.preferred is Target.AUTO
    assert device_order(plan(matrix("independent collapse(2)", ""))) == device_order(result)
    assert device_order(plan(matrix("independent", ""))) == ["i.0 dynamic", "i.1 gang 0", "i.2 worker 0"]
    assert device_order(plan(matrix("", "", "independent"))) == device_order(result)
    assert device_order(plan(matrix("", "seq", "independent"))) == ["i.0 dynamic", "i.1 gang 0", "i.2 worker 0"]


RECURRENCE = """
    void f(int n, int m, double a[n][m]) {{
    #pragma tilek kernel
      for (int i = 1; i < n; i++)
    {}
        for (int j = 0; j < m; j++) a[i][j] = a[i - 1][j];
    }}"""


def test_without_tiles_a_region_that_carries_a_dependence_runs_as_written() -> None:
    result = plan(
        """
        void f(int n, double *a) {
        #pragma tilek kernel
          for (int i = 1; i < n; i++) a[i] = a[i - 1];
        }"""
    )
    assert result.untransformed == (
        "the loop over 'i' carries a flow dependence of 'a' (line 4, column 31 to line 4, column 38, distance (1))"
    )
    assert (result.host, result.device) == ((), ())
    assert [argument.object.host for argument in result.arrays] == ["a"]  # the runtime keeps device copies in step


def test_without_tiles_the_inner_loop_of_a_perfect_nest_is_distributed_where_the_outer_one_carries() -> None:
    for clause in ("", "#pragma tilek loop independent"):
        result = plan(RECURRENCE.format(clause))
        assert device_order(result) == ["j.0 dynamic", "j.1 gang 0", "j.2 worker 0"]
        (launch,) = result.host
        assert isinstance(launch.body.statements[0], Loop)


def test_without_tiles_a_region_proven_independent_gets_the_default_mapping() -> None:
    result = plan(matrix("", ""))
    assert result.assumes_disjoint
    assert device_order(result) == device_order(plan(matrix("", "", "independent")))
    assert not plan(matrix("", "", "independent")).assumes_disjoint
    assert device_order(plan(matrix("", "seq"))) == ["i.0 dynamic", "i.1 gang 0", "i.2 worker 0"]
    assert device_order(plan(matrix("seq", ""))) == ["j.0 dynamic", "j.1 gang 0", "j.2 worker 0"]


@pytest.mark.parametrize(
    ("parameters", "body", "distributed"),
    [
        ("int n, double *a, double *b", "for (int i = 0; i < n; i++) a[i] = b[i + 1];", True),
        ("int n, double *a", "for (int i = 0; i < n; i++) a[i] = a[i + 1];", True),
        ("int n, double *a, int *k", "for (int i = 0; i < n; i++) a[k[i]] = 1;", False),
        ("int n, double *a, int k[9]", "for (int i = 0; i < n; i++) a[i] = k[k[i]];", True),
        ("int n, double **a, double **b", "for (int i = 0; i < n; i++) a[i][0] = b[i][0];", True),
        ("int n, double ***a, double **b", "for (int i = 0; i < n; i++) a[i][0][0] = b[i][0];", False),
        ("int n, double **a, float **b", "for (int i = 0; i < n; i++) a[i][0] = b[i][0];", True),
        ("int n, double **restrict a, double **b", "for (int i = 0; i < n; i++) a[i][0] = b[i][0];", True),
        ("int n, double *a", "double s = 0; for (int i = 0; i < n; i++) s += a[i]; a[0] = s;", False),
        ("int n, double *a", "for (int i = 0; i < n; i++) { double t = a[i]; a[i] = t * t; }", True),
        ("int n, double *a, double t", "for (int i = 0; i < n; i++) { t = a[i]; a[i] = t * t; }", True),
        ("int n, double *a", "for (int i = 0; i < n; i++) { if (a[i] > 0) break; a[i] = 1; }", False),
        ("int n, double *a", "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * n + j] = 1;", True),
        ("int n, double *a", "for (int i = 0; i < n; i++) for (int j = 0; j <= n; j++) a[i * n + j] = 1;", False),
    ],
)
def test_what_is_distributed_without_a_word_from_the_user(parameters: str, body: str, distributed: bool | None) -> None:
    region = body if body.startswith("for") else "{" + body + "}"
    result = Diagnostics()
    made = plans(f"void f({parameters}) {{\n#pragma tilek kernel\n{region}\n}}", result)
    assert not list(result)
    assert (made[0].untransformed is None) == distributed, made[0].untransformed


@pytest.mark.parametrize(
    ("outer", "kernel", "wanted"),
    [
        ("tile(thread)", "", Target.THREADS),
        ("tile(gang) tile(worker)", "", Target.CUDA),
        ("tile(static, 2)", "", Target.SERIAL),
        ("independent", "num_threads(3)", Target.THREADS),
        ("independent", "num_gangs(3)", Target.CUDA),
        ("tile(gang)", "target(opencl)", Target.OPENCL),
        ("tile(gang)", "target(opencl, threads)", Target.AUTO),
        ("tile(gang)", "target(auto)", Target.AUTO),
    ],
)
def test_the_preferred_target_follows_the_clauses(outer: str, kernel: str, wanted: Target) -> None:
    assert plan(matrix(outer, "", kernel)).preferred is wanted


def test_explicit_targets_limit_what_is_built() -> None:
    assert plan(matrix("tile(gang)", "", "target(opencl, threads)")).targets == (Target.THREADS, Target.OPENCL)


def test_each_nest_is_a_launch_and_declarations_come_first() -> None:
    result = plan(
        """
        void f(int n, double *a, double *b) {
        #pragma tilek kernel name(sweep)
          {
            double factor = 2.0 * n;
        #pragma tilek loop tile(thread)
            for (int i = 0; i < n; i++) a[i] = factor;
        #pragma tilek loop tile(thread)
            for (int i = 0; i < n; i++) b[i] = a[n - 1 - i];
          }
        }"""
    )
    assert [launch.name for launch in result.host] == ["sweep_nest1", "sweep_nest2"]
    assert len(result.prologue) == 1
    assert [tiled.symbol for launch in result.host for tiled in launch.loops] == ["i", "i_2"]
    assert [s.name for s in result.scalars] == ["n", "factor"]


def test_a_declaration_must_not_need_what_a_nest_writes() -> None:
    source = """
    void f(int n, double *a) {
    #pragma tilek kernel
      {
    #pragma tilek loop tile(thread)
        for (int i = 0; i < n; i++) a[i] = 1;
        double first = a[0];
    #pragma tilek loop tile(thread)
        for (int i = 0; i < n; i++) a[i] += first;
      }
    }"""
    assert errors(source) == ["this declaration reads 'a', which the kernel writes before it"]


def test_workers_wait_between_nests_that_share_data() -> None:
    source = """
    void f(int n, int m, double a[n][m], double b[n][m], double c[n][m]) {{
    #pragma tilek kernel
    #pragma tilek loop tile(gang)
      for (int i = 0; i < n; i++) {{
    #pragma tilek loop tile(worker)
        for (int j = 0; j < m; j++) a[i][j] *= 2;
    #pragma tilek loop tile(worker)
        for (int j = 1; j < m; j++) b[i][j] = {}[i][j - 1];
      }}
    }}"""
    assert "barrier" in text(source.format("a"))
    assert "barrier" not in text(source.format("c"))


def test_workers_wait_before_the_next_round_of_a_sequential_loop() -> None:
    result = plan(
        """
        void f(int n, int t, double *a, double *b) {
        #pragma tilek kernel
          for (int k = 0; k < t; k++) {
        #pragma tilek loop tile(worker)
            for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];
        #pragma tilek loop tile(worker)
            for (int i = 1; i < n - 1; i++) a[i] = b[i];
          }
        }"""
    )
    assert sum(isinstance(node, Barrier) for node in walk(result.host[0].body)) == 2
    assert result.host[0].axes == (Axis(AxisKind.WORKER, 0),)


def names(objects: object) -> list[str]:
    return [object_.name for object_ in objects]  # type: ignore[attr-defined]


def test_scalars_assigned_before_use_are_private() -> None:
    result = plan(
        """
        void f(int n, double *x, double *y) {
          double t, u; int k;
        #pragma tilek kernel
        #pragma tilek loop tile(thread)
          for (int i = 0; i < n; i++) {
            t = x[i];
            if (t > 0) u = t; else u = -t;
            for (k = 0; k < 4; k++) u += k;
            y[i] = u;
          }
        }"""
    )
    assert sorted(names(result.host[0].privates)) == ["k", "t", "u"]
    assert [argument.object.name for argument in result.arrays] == ["x", "y"]


@pytest.mark.parametrize(
    "body",
    [
        "if (x[i] > 0) t = x[i]; y[i] = t;",
        "y[i] = t; t = x[i];",
        "for (int k = 0; k < m; k++) t = x[i]; y[i] = t;",
        "while (x[i] < y[i]) { t = x[i]; break; } y[i] = t;",
        "y[i] = x[i] > 0 && (t = x[i]) ? t : t;",
        "t += x[i];",
    ],
)
def test_scalars_that_carry_values_between_iterations_are_refused(body: str) -> None:
    source = f"""
    void f(int n, int m, double *x, double *y) {{
      double t = 0;
    #pragma tilek kernel data(x[0:n], y[0:n])
    #pragma tilek loop tile(thread)
      for (int i = 0; i < n; i++) {{ {body} }}
    }}"""
    (message,) = errors(source)
    assert message.startswith("'t' is written by distributed iterations, and an iteration may read what another wrote")


def test_one_instance_copies_its_scalars_back() -> None:
    result = plan(
        """
        double f(int n, double *x) {
          double s = 0; int i;
        #pragma tilek kernel
        #pragma tilek loop tile(static, 4) tile(dynamic)
          for (i = 0; i < n; i++) s += x[i];
          return s + i;
        }"""
    )
    (total,) = [argument for argument in result.arrays if argument.object.name == "s"]
    assert (total.section, total.copy_in, total.copy_out) == ((), True, True)
    assert [value.iterator.name for value in result.final_values] == ["i"]


@pytest.mark.parametrize(
    ("operator", "type_", "update"),
    [
        ("+", "double", "s += x[i];"),
        ("+", "double", "s = x[i] + s;"),
        ("+", "double", "s = s + x[i] - 1;"),
        ("+", "double", "s -= x[i];"),
        ("+", "int", "if (x[i] > 0) s++;"),
        ("*", "double", "s *= x[i];"),
        ("min", "double", "if (x[i] < s) s = x[i];"),
        ("min", "double", "if (s >= x[i]) { s = x[i]; }"),
        ("min", "double", "s = fmin(s, x[i]);"),
        ("max", "double", "s = x[i] > s ? x[i] : s;"),
        ("max", "double", "s = s > x[i] ? s : x[i];"),
        ("|", "unsigned", "s |= (unsigned)i;"),
        ("&&", "int", "s = s && x[i] > 0;"),
    ],
)
def test_updates_with_the_operator_reduce(operator: str, type_: str, update: str) -> None:
    result = plan(reduced(operator, type_, update))
    combined = "fmin" if "fmin" in update else operator
    assert [(reduction.operator, reduction.object.name) for reduction in result.host[0].reductions] == [(combined, "s")]


@pytest.mark.parametrize(
    ("operator", "type_", "update"),
    [
        ("+", "double", "s = x[i] - s;"),
        ("+", "double", "s *= x[i];"),
        ("+", "double", "s += s;"),
        ("+", "double", "s += x[i]; x[i] = s;"),
        ("min", "double", "if (x[i] > s) s = x[i];"),
        ("min", "double", "if (x[i] < s) s = x[i] + 1;"),
        ("max", "double", "s = x[i] < s ? x[i] : s;"),
        ("|", "double", "s += x[i];"),
    ],
)
def test_other_uses_of_a_reduced_scalar_are_refused(operator: str, type_: str, update: str) -> None:
    assert len(errors(reduced(operator, type_, update))) == 1


def reduced(operator: str, type_: str, update: str) -> str:
    return f"""
    #include <math.h>
    double f(int n, double *x) {{
      {type_} s = 1;
    #pragma tilek kernel data(x[0:n]) reduction({operator}: s)
    #pragma tilek loop tile(gang) tile(worker)
      for (int i = 0; i < n; i++) {{ {update} }}
      return s;
    }}"""


def test_iterators_read_afterwards_get_their_last_values() -> None:
    result = plan(
        """
        int f(int n, double a[n][n], double *b) {
          int i, j;
        #pragma tilek kernel
        #pragma tilek loop tile(thread)
          for (i = 0; i < n; i++) {
            double s = 0;
            for (j = 0; j <= i; j++) s += a[i][j];
            b[i] = s;
          }
          return i + j;
        }"""
    )
    first, second = result.final_values
    assert (first.iterator.name, expression_text(first.loop.loop.upper)) == ("i", "n")
    assert (second.iterator.name, expression_text(second.loop.loop.upper)) == ("j", "(long)n - 1l")
    assert [tiled.symbol for tiled in second.enclosing] == ["i"]


def sections(source: str) -> dict[str, list[str]]:
    return {
        argument.object.name: [f"{expression_text(b.lower)}:{expression_text(b.length)}" for b in argument.section]
        for argument in plan(source).arrays
    }


def test_known_objects_are_narrowed_to_what_is_touched_and_user_sections_kept() -> None:
    result = sections(
        """
        double table[8][3], full[8][3];
        void f(int n, int m, double a[n][m], double (*b)[5], double *c) {
        #pragma tilek kernel data(c[2:n*m]) data(b[1:][:]) data(b[1:n][0:5])
        #pragma tilek loop tile(thread)
          for (int i = 0; i < n; i++) a[i][0] = table[i][2] + full[i][(int)a[i][0]] + c[i] + b[i][4];
        }""".replace(" data(b[1:][:])", "")
    )
    runs = "(long)n >= 1l"
    assert result["a"] == ["0l:(long)n", f"0l:({runs} ? 1l : 0l)"]
    assert result["table"] == [f"0l:({runs} ? (long)n : 0l)", f"2l:({runs} ? 1l : 0l)"]
    assert result["full"] == ["0l:8l", "0l:3l"]
    assert result["c"] == ["2:n*m"]
    assert result["b"] == ["1:n", "0:5"]


def test_live_and_mode_decide_what_moves() -> None:
    source = """
    void f(int n, double *a) {{
    #pragma tilek kernel data(a[0:n]{})
    #pragma tilek loop tile(thread)
      for (int i = 0; i < n; i++) {};
    }}"""

    def moves(attributes: str, body: str) -> tuple[bool, bool, bool, bool]:
        (argument,) = plan(source.format(attributes, body)).arrays
        return argument.reads, argument.writes, argument.copy_in, argument.copy_out

    assert moves("", "a[i] = i") == (False, True, False, True)
    assert moves("", "a[i] += i") == (True, True, True, True)
    assert moves(", live:in", "a[i] = i") == (False, True, True, False)
    assert moves(", live:inout", "a[i] = i") == (False, True, True, True)
    assert moves(", live:out", "a[i] = i") == (False, True, False, True)
    assert moves(", live:not", "a[i] = i") == (False, True, False, False)
    assert moves(", mode:rw", "(void)a[i]") == (True, False, True, False)


def test_the_regions_own_arrays_never_leave_it() -> None:
    result = plan(
        """
        void f(int n, double *a) {
        #pragma tilek kernel
          {
            double buffer[100];
        #pragma tilek loop tile(thread)
            for (int i = 0; i < 100; i++) buffer[i] = a[i];
        #pragma tilek loop tile(thread)
            for (int i = 0; i < 100; i++) a[i] = buffer[99 - i];
          }
        }"""
    )
    (buffer,) = [argument for argument in result.arrays if argument.object.name == "buffer"]
    assert (buffer.copy_in, buffer.copy_out) == (False, False)


def test_a_conditional_access_may_stay_inside_unconditional_ones() -> None:
    source = """
    void f(int n, double *x, double *y) {{
    #pragma tilek kernel independent
      for (int i = 1; i < n - 1; i++) {{ y[i] = x[i - 1] + x[i + 1]; if (y[i] > 0) y[i] = x[i{}]; }}
    }}"""
    assert sections(source.format(""))["x"] == ["0l:((long)n >= 3l ? (long)n : 0l)"]
    beyond = plan(source.format(" + 2"))
    assert [array.object.name for array in beyond.arrays if array.doubt is not None] == ["x"]
    assert sections(source.format(" + 2"))["x"] == ["0l:((long)n >= 3l ? (long)n + 1l : 0l)"]


def test_long_double_stays_on_the_host() -> None:
    source = """
    void f(int n, double *a) {
    #pragma tilek kernel independent
      for (int i = 0; i < n; i++) { long double t = i; a[i] = t / 3; }
    }"""
    diagnostics = Diagnostics()
    (found,) = plans(source, diagnostics)
    assert found.targets == (Target.SERIAL, Target.THREADS)
    assert [item.severity.value for item in diagnostics] == ["note"]


@pytest.mark.parametrize(
    ("declarations", "element", "array"),
    [
        ("double t[n]", "t[0]", "t"),
        ("double t[3][n + 1]", "t[0][0]", "t"),
        ("const int m = n; double t[m]", "t[0]", "t"),
        ("double t[3][4]", "t[0][0]", None),
        ("const int m = 3; double t[m]", "t[0]", None),
        ("enum { M = 3 }; double t[2 * M]", "t[0]", None),
    ],
)
def test_functions_that_make_arrays_of_variable_lengths_stay_on_the_host(
    declarations: str, element: str, array: str | None
) -> None:
    source = f"""
    static double sum(int n, double x) {{ {declarations}; {element} = x; return {element} + n; }}
    void f(int n, double *a) {{
    #pragma tilek kernel
      for (int i = 0; i < n; i++) a[i] = sum(n, a[i]);
    }}"""
    diagnostics = Diagnostics()
    (found,) = plans(source, diagnostics)
    assert found.untransformed is None
    assert (found.targets == (Target.SERIAL, Target.THREADS)) == (array is not None)
    why = f"kernel 'f' is not built for OpenCL and CUDA: the length of '{array}' in 'sum' is known at run time only"
    assert [item.message for item in diagnostics] == ([] if array is None else [why])


def test_symbols_avoid_the_users_names() -> None:
    result = plan(
        """
        void f(int n, double *a, int i_trip, int i_2) {
        #pragma tilek kernel
        #pragma tilek loop tile(thread)
          for (int i = 0; i < n; i++) a[i] = i_trip + i_2;
        }"""
    )
    assert [tiled.symbol for launch in result.host for tiled in launch.loops] == ["i_3"]


def test_what_an_untransformed_region_asked_for_is_not_dropped_quietly() -> None:
    source = """
    void f(int n, int t, double *a) {{
    #pragma tilek kernel {}
      for (int k = 0; k < t; k++) {{
        if (a[0] > k) break;
    #pragma tilek loop {}
        for (int i = 0; i < n; i++) a[i] = i + k;
      }}
    }}"""

    def warnings(kernel: str, loop: str) -> list[str]:
        diagnostics = Diagnostics()
        plans(source.format(kernel, loop), diagnostics)
        return [item.message for item in diagnostics]

    assert warnings("", "") == []
    assert [message.split(":")[0] for message in warnings("target(opencl)", "independent")] == [
        "the kernel runs the original loops, on one core",
        "'independent' has no effect on the loop over 'i'",
    ]
    assert len(warnings("num_gangs(4)", "")) == 1


def test_a_regions_scalar_passes_from_launch_to_launch() -> None:
    result = plan(
        """
        void f(int n, double *a) {
        #pragma tilek kernel reduction(+: s)
          {
            double s = 0;
        #pragma tilek loop tile(gang) tile(worker)
            for (int i = 0; i < n; i++) s += a[i];
        #pragma tilek loop tile(gang) tile(worker)
            for (int i = 0; i < n; i++) a[i] /= s;
          }
        }"""
    )
    assert [len(launch.reductions) for launch in result.host] == [1, 0]
    (total,) = [argument for argument in result.arrays if argument.object.name == "s"]
    assert (total.copy_in, total.copy_out) == (True, True)


def test_open_tiles_are_the_planners() -> None:
    said = """
    void f(int n, double a[n][n], double b[n][n]) {{
    #pragma tilek kernel
    {0}
      for (int i = 1; i < n; i++)
    {0}
        for (int j = 0; j < n; j++) a[i][j] = a[i - 1][j] + b[i][j];
    }}"""
    open_tiles, silent = (plan(said.format(line)) for line in ("#pragma tilek loop tile(auto)", ""))
    assert open_tiles.untransformed is None
    assert [launch.axes for launch in open_tiles.device] == [launch.axes for launch in silent.device]
    assert open_tiles.sizes == silent.sizes


def test_a_product_that_scales_its_result_first_is_one_launch_on_devices() -> None:
    result = plan("""
    void f(int n, int m, int p, float beta, float c[n][m], float a[n][p], float b[p][m]) {
    #pragma tilek kernel
      for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) c[i][j] *= beta;
        for (int k = 0; k < p; k++)
          for (int j = 0; j < m; j++) c[i][j] += a[i][k] * b[k][j];
      }
    }""")
    assert [len(launch.loops) for launch in result.device] == [2]
    assert result.device[0].staged is not None
