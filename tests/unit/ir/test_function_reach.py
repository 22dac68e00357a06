"""Extents of arrays whose elements' addresses functions get."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.plan.kernel_plan import ArrayArgument

ROW = "static double row(const double *v, int k) { double s = 0; for (int i = 0; i < k; i++) s += v[i]; return s; }"


def section(functions: str, call: str, rank: int = 1) -> str:
    declared = "const double *a" if rank == 1 else "const double a[n][m]"
    result = plan(f"""
    {functions}
    void f(int n, int m, {declared}, double *b) {{
    #pragma tilek kernel
        for (int i = 3; i < n; i++) b[i] = {call};
    }}""")
    (array,) = [array for array in result.arrays if array.object.name == "a"]
    assert array.doubt is None
    return text_of(array)


def text_of(array: ArrayArgument) -> str:
    return "".join(f"[{plain_text(each.lower)}:{plain_text(each.length)}]" for each in array.section)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return v[0];", "[3:(n >= 4 ? n - 3 : 0)]"),
        ("return *v + v[2];", "[3:(n >= 4 ? n - 1 : 0)]"),
        ("return v[-3] + v[1];", "[0:(n >= 4 ? n + 1 : 0)]"),
        ("double s = 0; for (int i = 0; i < 5; i++) s += v[i]; return s;", "[3:(n >= 4 ? n + 1 : 0)]"),
    ],
)
def test_what_a_function_reads_is_in_the_section(body: str, expected: str) -> None:
    assert section(f"static double at(const double *v) {{ {body} }}", "at(&a[i])") == expected


def test_the_functions_names_are_its_own() -> None:
    # `i` and `k` are the caller's and the function's; the arguments stand in the place of the
    # parameters.
    assert section(ROW, "row(a + i, 4)") == "[3:(n >= 4 ? n : 0)]"
    assert section(f"{ROW} static double twice(const double *v) {{ return row(v + 1, 2); }}", "twice(&a[i])") == (
        "[4:(n >= 4 ? n - 2 : 0)]"
    )


def test_what_may_leave_its_row_is_in_the_whole_array() -> None:
    first, second = (f"static double at(const double *v) {{ return v[{place}]; }}" for place in (0, 1))
    assert section(first, "at(&a[i][0])", 2) == "[3:(n >= 4 ? n - 3 : 0)][0:(n >= 4 ? 1 : 0)]"
    assert section(second, "at(&a[i][0])", 2) == "[0:n][0:m]"


def test_rows_that_functions_get_are_in_the_section() -> None:
    result = plan("""
    static int sum(const int *v) { int s = 0; for (int j = 0; j < 8; j++) s += v[j]; return s; }
    void f(int n, const int (*a)[8], int *b) {
    #pragma tilek kernel
        for (int i = 0; i < n; i++) b[i] = sum(a[i]);
    }""")
    assert [text_of(array) for array in result.arrays if array.object.name == "a"] == ["[0:(n >= 1 ? n : 0)][0:8]"]


def test_what_a_function_reads_by_data_has_no_known_extent() -> None:
    result = plan("""
    static double at(const double *v) { return v[(int)v[0]]; }
    void f(int n, const double *a, double *b) {
    #pragma tilek kernel
        for (int i = 0; i < n; i++) b[i] = at(&a[i]);
    }""")
    assert result.untransformed is not None
    assert result.untransformed.startswith("the extent of 'a' cannot be found: a subscript is not a sum")


@pytest.mark.parametrize(
    ("body", "certain"),
    [("if (k < 0) return 0; return v[-1];", False), ("double s = 0; if (k < 0) s = 1; return s + v[-1];", True)],
)
def test_what_stands_behind_a_return_may_not_be_there(body: str, certain: bool) -> None:
    result = plan(f"""
    static double before(const double *v, int k) {{ {body} }}
    void f(int n, const int *m, const double *a, double *b) {{
    #pragma tilek kernel
        for (int i = 1; i < n; i++) b[i] = before(&a[i], m[i]);
    }}""")
    (array,) = [array for array in result.arrays if array.object.name == "a"]
    assert (array.doubt is None) == certain


def test_what_a_function_writes_is_read_from_its_body() -> None:
    # `find` only reads, without const; `put` writes, in spite of const.
    result = plan("""
    static int find(double *list, int k, double x) { for (int i = 0; i < k; i++) if (list[i] >= x) return i; return k; }
    static void put(const double *to, int i, double x) { ((double *)to)[i] = x; }
    void f(int n, double *a, double *b) {
    #pragma tilek kernel independent data(a[0:9], b[0:n])
        for (int i = 0; i < n; i++) put(b, i, find(a, 9, i));
    }""")
    assert {array.object.name: array.writes for array in result.arrays} == {"a": False, "b": True}


def test_whole_arrays_that_functions_get_have_extents() -> None:
    whole = "static double at(const double *v, int i) { return v[i] + v[i + 1]; }"
    assert section(whole, "at(a, i)") == "[3:(n >= 4 ? n - 2 : 0)]"


def test_a_struct_of_constants_goes_to_functions_beside_its_members() -> None:
    result = plan("""
    struct grid { int rows, columns; double width; };
    static double scaled(const struct grid *g, double x) { return x / (g->width * g->width); }
    void f(const struct grid *g, double *a) {
    #pragma tilek kernel
        for (int i = 0; i < g->rows; i++)
            for (int j = 0; j < g->columns; j++) a[i * g->columns + j] = scaled(g, a[i * g->columns + j]);
    }""")
    assert result.untransformed is None


def test_members_that_a_function_reads_are_the_regions() -> None:
    source = """
    struct grid { int rows, columns; };
    static double below(const double *v, const struct grid *g, int i, int j) { return v[(i + 1) * g->columns + j]; }
    void f(const struct grid *g, const double *v, double *u) {
    #pragma tilek kernel
        for (int i = 0; i < g->rows - 1; i++)
            for (int j = 0; j < g->columns; j++) u[i * g->columns + j] = below(v, g, i, j);
    }"""
    made = plan(source)
    assert made.untransformed is None
    assert all(array.doubt is None for array in made.arrays)
    (v,) = [array for array in made.arrays if array.object.name == "v"]
    assert "g->columns" in plain_text(v.section[0].length)
