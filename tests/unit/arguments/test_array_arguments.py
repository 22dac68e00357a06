"""What is copied in and out, from C text: overwritten arrays, forgotten arrays, sections, conditions on the launch."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan, plans
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.loop_tree_text import plain_text


def moves(parameters: str, nests: str, clauses: str = "", before: str = "", after: str = "") -> dict[str, str]:
    """Per array `in`, `out`, both or nothing, as words."""
    source = f"{before}\nvoid f({parameters}) {{\n#pragma tilek kernel {clauses}\n{{ {nests} }}\n{after} }}"
    return {
        argument.object.name: " ".join(
            word for word, holds in (("in", argument.copy_in), ("out", argument.copy_out)) if holds
        )
        for argument in plan(source).arrays
    }


LOOP = "for (int i = 0; i < n; i++)"


@pytest.mark.parametrize(
    ("parameters", "nests", "expected"),
    [
        ("int n, double a[n]", f"{LOOP} a[i] = i;", "out"),
        ("int n, double a[n]", f"{LOOP} a[i] += i;", "in out"),
        ("int n, double a[n + 1]", f"{LOOP} a[i] = i;", "out"),
        ("int n, double *a", "for (int i = n - 1; i >= 0; i--) a[i] = i;", "out"),
        ("int n, double *a", "for (int i = 0; i < n; i += 2) a[i] = i;", "in out"),
        ("int n, double *a", f"{LOOP} {{ a[2 * i] = i; a[2 * i + 1] = -i; }}", "out"),
        ("int n, double *a", f"{LOOP} a[3 * i] = i; {LOOP} a[3 * i + 1] = i;", "in out"),
        ("int n, double a[n][n]", f"{LOOP} for (int j = 0; j <= i; j++) a[i][j] = 0;", "in out"),
        (
            "int n, double a[n][n]",
            f"{LOOP} for (int j = 0; j <= i; j++) a[i][j] = 0; {LOOP} for (int j = i + 1; j < n; j++) a[i][j] = 1;",
            "out",
        ),
        ("int n, int m, double *a", f"{LOOP} for (int j = 0; j < m; j++) a[i * m + j] = 0;", "out"),
        ("int n, int m, double *a", f"{LOOP} for (int j = 1; j < m; j++) a[i * m + j] = 0;", "in out"),
        ("int n, int m, double *a", f"{LOOP} for (int j = 0; j < n; j++) a[(size_t)i * m + j] = 0;", "in out"),
        ("int n, double *a, double *restrict b", f"{LOOP} {{ a[i] = i; b[i] = a[i]; }}", "out"),
        ("int n, double *a, double *restrict b", f"{LOOP} {{ b[i] = a[i]; a[i] = i; }}", "in out"),
        ("int n, double *a, double *restrict b", f"{LOOP} a[i] = i; {LOOP} b[i] = a[n - 1 - i];", "out"),
        ("int n, int m, double *a", f"{LOOP} if (i < m) a[i] = 1; else a[i] = 2;", "out"),
        ("int n, int m, double a[n]", f"{LOOP} if (i < m) a[i] = 1;", "in out"),
        ("int n, double *a", f"{LOOP} {{ a[i] = 0; for (int k = 0; k < i; k++) a[i] += k; }}", "out"),
        ("int n, double *a", f"{LOOP} {{ for (int k = 0; k < n; k++) a[i] = k; }}", "out"),
        ("int n, const int *x, double a[50]", f"{LOOP} a[x[i]] = i;", "in out"),
        ("int n, double a[n]", f"{LOOP} {{ if (i == 3) break; a[i] = i; }}", "in out"),
    ],
)
def test_what_is_overwritten_before_it_is_read_does_not_come_in(parameters: str, nests: str, expected: str) -> None:
    assert moves(parameters, nests, "independent", before="#include <stddef.h>")["a"] == expected


def test_members_count_each_for_itself() -> None:
    before = "struct pair { double x, y; }; struct padded { double x; int y; };"
    both = f"{LOOP} {{ a[i].x = i; a[i].y = i; }}"
    assert moves("int n, struct pair *a", both, before=before)["a"] == "out"
    assert moves("int n, struct pair *a", f"{LOOP} a[i].x = i;", before=before)["a"] == "in out"
    assert moves("int n, struct padded *a", both, before=before)["a"] == "in out"


def test_the_users_word_is_kept() -> None:
    nests = f"{LOOP} a[i] = i;"
    assert moves("int n, double *a", nests, "data(a[0:n], live:inout)")["a"] == "in out"
    assert moves("int n, double *a", nests, "copy(a[0:n])")["a"] == "in out"
    assert moves("int n, double *a", nests, "data(a[0:n], live:in)")["a"] == "in"
    assert moves("int n, double *a", nests, "data(a[0:n])")["a"] == "out"
    assert moves("int n, double *a", nests, "data(a[0:(n + 2) - 2])")["a"] == "out"
    assert moves("int n, double *a", nests, "data(a[0:n + 2])")["a"] == "in out"


def test_live_out_warns_where_nothing_is_proven() -> None:
    source = """void f(int n, double *a) {{
    #pragma tilek kernel data(a[0:{}], live:out)
      for (int i = 0; i < n; i++) a[i] = i;
    }}"""

    def warnings(length: str) -> list[str]:
        result = Diagnostics()
        plans(source.format(length), result)
        return [item.message for item in result]

    assert warnings("n") == []
    assert [text.split(",")[0] for text in warnings("2 * n")] == ["'a' is live:out"]


@pytest.mark.parametrize(
    ("declaration", "before", "after", "expected"),
    [
        ("double a[100];", "", "", ""),
        ("double a[100];", "", "return a[3];", "out"),
        ("double a[100];", "use(a);", "", "out"),
        ("double a[100];", "double *p = a; (void)p;", "", "out"),
        ("double a[100];", "double *p = &a[3]; (void)p;", "", "out"),
        ("double a[100];", "a[4] = 2;", "", ""),
        ("static double a[100];", "", "", "out"),
        ("double a[n];", "", "", ""),
    ],
)
def test_arrays_that_nobody_reads_afterwards_stay(declaration: str, before: str, after: str, expected: str) -> None:
    source = f"""void use(double *);
    double f(int n) {{
      {declaration} {before}
    #pragma tilek kernel
      for (int i = 0; i < 100; i++) a[i] = i;
      {after or "return 0;"}
    }}"""
    (argument,) = plan(source).arrays
    assert ("out" if argument.copy_out else "") == expected
    assert not argument.copy_in


def test_an_array_of_a_loop_around_the_region_is_forgotten_with_its_turn() -> None:
    source = """void f(int n, double *x) {{
      {}
      for (int t = 0; t < n; t++) {{
        {}
    #pragma tilek kernel
        for (int i = 0; i < 50; i++) a[i] += x[i];
      }}
    }}"""
    outside, inside = source.format("double a[50];", ""), source.format("", "double a[50];")
    assert [plan(text).arrays[0].copy_out for text in (outside, inside)] == [True, False]


def test_bounds_of_sections_read_as_a_user_writes_them() -> None:
    source = """
    void f(int n, int lo, int hi, double a[n][64], const double *b) {
    #pragma tilek kernel
      for (int i = lo; i < hi; i++) if (i % 2 == 0) a[i][3] = b[2 * i + 1]; else a[i + 1][4] = 0;
    }"""
    sections = {
        argument.object.name: [(plain_text(bound.lower), plain_text(bound.length)) for bound in argument.section]
        for argument in plan(source).arrays
    }
    assert sections["a"][0] == ("0", "n")  # a condition: whole
    assert sections["b"][0][0].count("(long)") == 0


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("for (unsigned i = u - 5; i < v; i++)", ["u >= 5"]),
        ("for (unsigned i = u + 5; i < v; i++)", ["4294967290 >= u"]),
        ("for (unsigned i = 0; i < 3 * u; i++)", ["4294967295 >= (3 * u)"]),
        ("for (unsigned i = 0; i < v; i++)", []),
        ("for (unsigned i = u; i < v - 1; i++)", ["v >= 1"]),
        ("for (unsigned long i = 0; i < z; i++)", []),
        ("for (unsigned long i = z; i-- > 0;)", []),
        ("for (unsigned long i = y; i < z; i++)", ["z <= 4611686018427387903", "y <= 4611686018427387903"]),
        ("for (unsigned long i = z; i > y; i--)", ["z <= 4611686018427387903", "y <= 4611686018427387903"]),
        ("for (unsigned long i = 0; i < 3 * z; i++)", ["z <= 1537228672809129301"]),
        ("for (unsigned long i = 0; i < z; i += 1ul << 30)", ["z <= 4611686018427387903"]),
        ("for (unsigned long i = 0; i < y * z; i++)", []),
        ("for (unsigned i = 0; i < v; i -= -u)", ["0 >= u", "u >= 1", "4294967296 >= u + v"]),
        ("for (long i = 0; i < (long)(u - v); i++)", ["u >= v"]),
        ("for (long i = 0; i < (long)u; i++)", []),
        ("for (unsigned char i = u; i != 9; i++)", ["9 >= (unsigned char)u"]),
        ("for (int i = n; i + 1 < u; i++)", ["n >= 0"]),
        ("for (int i = 0; i + 1 < u; i++)", []),
        ("for (unsigned long i = 0; i < z - 1; i++)", ["z >= 1"]),
        ("for (int i = n; i < z; i++)", ["n >= 0"]),
        ("for (int i = 2; i < z; i++)", []),
        ("for (unsigned i = 0; i < u * v; i++)", ["4294967295 >= (u * v)"]),
        ("for (int i = n; i < m; i++)", []),
    ],
)
def test_bounds_that_wrap_are_checked_at_launch(header: str, expected: list[str]) -> None:
    result = plan(
        f"""void f(int n, int m, unsigned u, unsigned v, unsigned long y, unsigned long z, double *restrict a) {{
        #pragma tilek kernel
          {header} a[i] = 1;
        }}"""
    )
    assert result.untransformed is None
    assert [plain_text(condition) for condition in result.conditions] == expected


@pytest.mark.parametrize(
    ("subscript", "expected"),
    [
        ("i", []),
        ("i + 1", []),
        ("i - 1", []),
        ("i + u", ["(v >= 2 ? 4294967296 - u - v : 0) >= 0"]),
        ("i - u", ["(v >= 2 ? 2147483649 - u : 0) >= 0"]),
        ("i + k", ["(v >= 2 ? 4294967296 - k - v : 0) >= 0"]),
        ("i - z", []),
    ],
)
def test_subscripts_that_wrap_are_checked_at_launch(subscript: str, expected: list[str]) -> None:
    """Where 4294967295 stands for -1."""
    result = plan(
        f"""void f(unsigned u, unsigned v, int k, unsigned long z, double *restrict a, const double *b) {{
        #pragma tilek kernel
          for (unsigned i = 1; i < v; i++) a[i] = b[{subscript}];
        }}"""
    )
    assert result.untransformed is None
    assert [plain_text(condition) for condition in result.conditions] == expected


def test_tiles_are_kept_from_the_ends_of_long() -> None:
    source = """void f(long k, long m, double *a) {{
    #pragma tilek kernel
      for (int t = 0; t < 9; t++)
        for (long i = {start}; i < m; i++) a[i - k] = a[i - k - 1] + a[i - k + 1];
    }}"""
    near, small = (plan(source.format(start=start)) for start in ("k + 1", "1"))
    assert near.sizes and small.sizes
    results = [plain_text(each) for each in near.conditions]
    assert "m <= 1099511627776" in results and "k >= -1099511627776" in results
    assert not small.conditions


@pytest.mark.parametrize(
    ("inner", "parallel"),
    [
        ("for (unsigned j = k - 10; j < 20; j++)", False),
        ("for (unsigned j = k; j < 20; j++)", True),
        ("const int lo = k - 10; for (unsigned j = lo; j < 20; j++)", False),
        ("int end = e[i]; for (unsigned j = 0; j < end; j++)", True),
        ("for (unsigned char j = 0; j <= 2 * k; j++)", True),
        ("for (unsigned char j = 0; j <= 5 * k; j++)", False),
        ("for (unsigned char j = 0; j < e[k]; j++)", True),
    ],
)
def test_checks_that_no_launch_can_make(inner: str, parallel: bool) -> None:
    """Loops around bound each other by a factor: what the engine counts on and cannot know is refused, what it does not count on is not."""
    made = plan(
        f"""void f(int n, const int *e, double a[64][64][99]) {{
        #pragma tilek kernel
          for (int i = 0; i < n; i++)
            for (int k = 2 * i; k < 64; k++) {{ {inner} a[i][k][j] = 1; }}
        }}"""
    )
    assert (made.untransformed is None) == parallel
    assert parallel or "may wrap around" in str(made.untransformed)
