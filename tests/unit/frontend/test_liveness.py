from __future__ import annotations

import pytest
from frontend_text import kernel, read


def read_after(code: str, parameters: str = "int n, int m, double *a") -> set[str]:
    """The live names of the kernel that `@` stands for in the function's body."""
    region = "\n#pragma tilek kernel\nfor (i = 0; i < n; i++) { s += a[i]; t = i; a[i] = t; }\n"
    source = (
        f"int g; void use(int *p); int f({parameters}) {{ int i, j = 0, s = 0, t = 0;\n{code.replace('@', region)}\n}}"
    )
    return set(kernel(source).read_after)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("@ return 0;", set()),
        ("@ return s;", {"s"}),
        ("@ return i + t;", {"i", "t"}),
        ("@ for (i = 0; i < n; i++) a[i] = 1; return 0;", set()),
        ("@ for (i = 0, s = 1; i < s; i++) a[i] = 1; return s;", set()),
        ("@ for (; i < n; i++) a[i] = 1; return 0;", {"i"}),
        ("@ s = 0; return s;", set()),
        ("@ s += 1; return 0;", {"s"}),
        ("@ s = s + 1; return 0;", {"s"}),
        ("@ s++; return 0;", {"s"}),
        ("@ if (n) s = 1; return s;", {"s"}),
        ("@ if (n) s = 1; else s = 2; return s;", set()),
        ("@ if (n) return 1; return s;", {"s"}),
        ("@ while (n-- > 0) s = 1; return s;", {"s"}),
        ("@ do s = 1; while (n-- > 0); return s;", set()),
        ("@ do { if (m) break; s = 1; } while (n-- > 0); return s;", {"s"}),
        ("@ n > 0 && (s = 1); return s;", {"s"}),
        ("@ n > 0 ? (s = 1) : (s = 2); return s;", set()),
        ("@ return sizeof(s) > 3;", {"s"}),
        ("for (j = 0; j < m; j++) { @ } return 0;", {"s"}),
        ("for (j = 0; j < m; j++) { s = 0; @ a[j] = s; } return 0;", {"s"}),
        ("for (j = 0; j < m; j++) { s = 0; @ } return 0;", set()),
        ("for (j = 0; j < m; j++) { s = 0; @ } return s;", {"s"}),
        ("for (j = 0; j < t; j++) { s = 0; @ } return 0;", {"t"}),
        ("for (j = 0; j < m; j++) { s = 0; @ if (a[j] > 0) break; s = 1; } return s;", {"s"}),
        ("while (t < m) { s = 0; @ } return 0;", {"t"}),
        ("do { s = 0; @ } while (t < m); return 0;", {"t"}),
        ("if (n) { @ } else { use(&j); a[0] = s; } return 0;", set()),
        ("if (n) { @ } return s;", {"s"}),
        ("@ goto end; end: return 0;", {"i", "s", "t"}),
        ("@ switch (n) { case 1: break; } return 0;", {"i", "s", "t"}),
        ("use(&s); @ return 0;", {"s"}),
    ],
)
def test_what_may_be_read_after_a_region(code: str, expected: set[str]) -> None:
    assert read_after(code) == expected


def test_variables_that_outlive_the_function_are_always_live() -> None:
    source = """int global; struct grid { int n; };
void f(int n, double *a, struct grid *q) { static int kept; int i;
#pragma tilek kernel
for (i = 0; i < n; i++) { global = i; kept = i; q->n = i; a[i] = 0; }
}"""
    assert set(kernel(source).read_after) == {"global_", "kept", "q_n"}


def test_scalars_that_are_only_read_are_not_listed() -> None:
    source = """int f(int n, double *a) { int i;
#pragma tilek kernel
for (i = 0; i < n; i++) a[i] = n;
return n; }"""
    assert set(kernel(source).read_after) == set()


def test_iterators_reused_by_later_loops_are_not_live() -> None:
    source = """void f(int n, double a[n][n]) { int i, j, k;
#pragma tilek kernel
for (i = 0; i < n; i++) for (j = 0; j < n; j++) for (k = 0; k < n; k++) a[i][j] += k;
for (i = 0; i < n; i++) for (j = 0; j < n; j++) a[i][j] = 0;
#pragma tilek kernel
for (k = 0; k < n; k++) a[k][k] = 0;
}"""
    assert [set(each.read_after) for each in read(source).kernels] == [set(), set()]


def test_what_a_pointer_in_a_struct_leads_to_outlives_the_struct() -> None:
    source = """struct grid { double *u, (*rows)[7], own[9]; }; void f(int n, struct grid *from) { int i; double a[9];
struct grid copy = *from;
#pragma tilek kernel
for (i = 0; i < n; i++) { copy.u[i] = i; copy.rows[i][0] = i; copy.own[i] = i; a[i] = i; }
}"""
    assert set(kernel(source).dead_arrays) == {"copy_own", "a"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("@ return u.bits;", {"u_k"}),
        ("@ return u.high;", {"u_k"}),
        ("@ u.bits = 1; return u.n;", set()),
        ("@ u.k = 1; return u.high;", set()),
        ("@ u.low = 1; return u.k;", {"u_k"}),
        ("@ return u.n + u.apart;", set()),
    ],
)
def test_members_of_a_nameless_union_are_read_by_other_names(code: str, expected: set[str]) -> None:
    source = f"""struct view {{ int n; union {{ int k; int bits; struct {{ short low; struct {{ short high; }}; }}; }};
    struct {{ int apart; }}; }};
int f(int n, int *a) {{ struct view u;
#pragma tilek kernel
for (int i = 0; i < n; i++) {{ u.k = i; a[i] = u.k; }}
{code[1:]} }}
"""
    assert set(kernel(source).read_after) == expected


def test_an_array_in_a_nameless_union_lives_as_long_as_what_shares_its_memory() -> None:
    source = """struct view {{ union {{ double v[100]; struct {{ double x, y; }}; }}; double w[100]; }};
double f(double *a) {{ struct view u;
#pragma tilek kernel
for (int i = 0; i < 100; i++) {{ u.v[i] = a[i]; u.w[i] = a[i]; }}
return {}; }}
"""
    assert kernel(source.format("u.y")).dead_arrays == {"u_w"}
    assert kernel(source.format("u.w[1]")).dead_arrays == {"u_v"}
