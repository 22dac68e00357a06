from __future__ import annotations

import pytest
from frontend_text import in_kernel, kernel, messages, nodes, object_text, text

from tilepragma.ir.expressions import Access, Assignment, Scope
from tilepragma.ir.loop_tree import (
    Block,
    Break,
    Continue,
    Declaration,
    Declarator,
    ExpressionStatement,
    If,
    Loop,
    Statement,
    While,
)


def body_of(statements: str, parameters: str = "int n, int m, double *a", before: str = "") -> tuple[Statement, ...]:
    (loop,) = in_kernel(statements, parameters, before).body.statements
    assert isinstance(loop, Loop)
    return loop.body.statements


def test_a_loop_that_a_macro_runs_once_is_its_body() -> None:
    (block,) = body_of("SWAP(a[i], a[n]);", before="#define SWAP(x, y) do { double t = x; x = y; y = t; } while (0)\n")
    assert isinstance(block, Block)
    (kept,) = body_of("do { if (n) break; a[i] = 1; } while (0);")
    assert isinstance(kept, While)


def test_kinds_of_statements() -> None:
    statements = body_of(
        "double t = 1, u; ; if (n) a[i] = 1; else { a[i] = 2; } while (n > 3) { if (m) break; continue; } "
        "do a[i] += 1; while (a[i] < 3); { a[i] = 4; } a[i] = 5;"
    )
    assert [type(s) for s in statements] == [Declaration, If, While, While, Block, ExpressionStatement]
    condition, loop, last = statements[1], statements[2], statements[3]
    assert isinstance(condition, If)
    assert isinstance(condition.then, Block)
    assert isinstance(condition.otherwise, Block)
    assert isinstance(loop, While)
    assert not loop.test_last
    assert [type(n) for n in nodes(loop, (Break, Continue))] == [Break, Continue]
    assert isinstance(last, While)
    assert last.test_last
    assert text(last.condition) == "(a[i] < 3)"


def test_an_if_without_else_has_none() -> None:
    (statement,) = body_of("if (n) a[i] = 1;")
    assert isinstance(statement, If)
    assert statement.otherwise is None


def test_else_if_chains() -> None:
    (statement,) = body_of("if (n) a[i] = 1; else if (m) a[i] = 2; else a[i] = 3;")
    assert isinstance(statement, If)
    assert statement.otherwise is not None
    (inner,) = statement.otherwise.statements
    assert isinstance(inner, If)


def test_initializers() -> None:
    result = in_kernel(
        "double v[3] = {1, n, -2.5}, grid[2][2] = {{1, 2}, {3, 4}}, x = n; point p = {1, 2}; int z[4] = {0}; a[i] = v[0] + x + p.x + z[0];",
        before="typedef struct { double x, y; } point;",
    )
    spelled = {d.object.name: d.initializer for d in nodes(result.body, Declarator) if d.object.name != "i"}

    def spell(value: object) -> object:
        return [spell(item) for item in value] if isinstance(value, tuple) else text(value)

    assert {name: spell(value) for name, value in spelled.items()} == {
        "v": ["1", "n", "-2.5"],
        "grid": [["1", "2"], ["3", "4"]],
        "x": "n",
        "p": ["1", "2"],
        "z": ["0"],
    }


def test_declared_arrays_have_no_initializer_but_lengths() -> None:
    result = in_kernel("double v[2 * 4][3]; v[0][0] = a[i]; a[i] = v[0][0];")
    (declarator,) = [d for d in nodes(result.body, Declarator) if d.object.name == "v"]
    assert declarator.initializer is None
    assert object_text(declarator.object) == "contiguous double v[8][3]"


def test_scopes_follow_the_region() -> None:
    result = kernel("""void f(int n, double *a) { double outside = 1;
#pragma tilek kernel
{ double region = 2; double scratch[n];
  for (int i = 0; i < n; i++) { double own = 3; a[i] = outside + region + own + scratch[i]; }
  if (n > 3) { double inner = 4; a[0] = inner; }
} }""")
    scopes = {access.object.name: access.object.scope for access in nodes(result.body, Access)}
    assert scopes == {
        "n": Scope.EXTERNAL,
        "i": Scope.LOCAL,
        "a": Scope.EXTERNAL,
        "outside": Scope.EXTERNAL,
        "region": Scope.REGION,
        "scratch": Scope.REGION,
        "own": Scope.LOCAL,
        "inner": Scope.LOCAL,
    }
    assert [o.name for o in result.objects] == ["n", "a", "outside", "region", "scratch"]


def test_names_are_unique_in_the_region_and_no_keywords() -> None:
    result = in_kernel(
        "int n2 = n; { int n = 3; a[i] = n; { int n = 4; a[i] += n + n2; } } double half = kernel[i]; a[i] = half + float4 + in;",
        "int n, double *a, double *kernel, int float4, int in",
    )
    names = {access.object.name: access.object.host for access in nodes(result.body, Access)}
    assert names == {
        "n": "n",
        "i": "i",
        "n2": "n2",
        "a": "a",
        "n_2": "n",
        "n_3": "n",
        "kernel_": "kernel",
        "half_": "half",
        "float4_": "float4",
        "in_": "in",
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (a[i] < 0) goto x; a[i] = 1; x: a[i] = 2;", "if (!(a[i] < 0)) { a[i] = 1 } a[i] = 2"),
        (
            "if (i < 0) { a[i] = 3; goto x; } a[i] = 1; goto y; x: a[i] = 2; y: ;",
            "if (!(i < 0)) { a[i] = 1 } else { a[i] = 3 a[i] = 2 }",
        ),
        ("goto x; x: a[i] = 2;", "a[i] = 2"),
        (
            "if (i < 1) goto x; if (i < 2) goto y; a[i] = 1; y: a[i] = 2; x: ;",
            "if (!(i < 1)) { if (!(i < 2)) { a[i] = 1 } a[i] = 2 }",
        ),
        (
            "if (i < 1) goto x; if (i < 2) goto y; a[i] = 1; goto y; x: a[i] = 2; y: a[i] = 3;",
            "if (!(i < 1)) { if (!(i < 2)) { a[i] = 1 } } else { a[i] = 2 } a[i] = 3",
        ),
    ],
)
def test_forward_jumps_are_choices(body: str, expected: str) -> None:
    assert " ".join(map(choices, body_of(body))) == expected


def choices(statement: Statement) -> str:
    if isinstance(statement, If):
        then = f"if ({text(statement.condition)}) {{ {' '.join(map(choices, statement.then.statements))} }}"
        otherwise = () if statement.otherwise is None else statement.otherwise.statements
        return f"{then} else {{ {' '.join(map(choices, otherwise))} }}" if otherwise else then
    assert isinstance(statement, ExpressionStatement)
    return text(statement.expression)


@pytest.mark.parametrize(
    "body",
    [
        "x: a[i] = 1; if (i < 0) goto x;",
        "if (i < 0) goto x; int t = 1; x: t = 2; a[i] = t;",
        "for (int j = 0; j < n; j++) if (a[j] < 0) goto x; a[i] = 1; x: ;",
        "if (i < 0) goto x; else goto y; x: a[i] = 1; y: ;",
        "goto x; a[i] = 1; x: ;",
        "if (i < 0) goto x; a[i] = 1; if (i < 3) goto y; x: a[i] = 2; y: ;",
    ],
    ids=["back", "over a declaration", "out of a loop", "two", "over dead code", "across"],
)
def test_other_jumps_are_refused(body: str) -> None:
    source = f"void f(int n, double *a) {{\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) {{ {body} }}\n}}"
    assert "error: a label cannot stand in a kernel" in messages(source)


def test_names_beyond_ascii_are_spelled_in_ascii() -> None:
    result = in_kernel("größe[i] = ä + n;", "int n, double *größe, double ä")
    assert {o.host: o.name for o in result.objects} == {"n": "n", "größe": "gr_e", "ä": "object"}


def test_a_path_never_takes_the_name_of_a_variable() -> None:
    result = in_kernel(
        "a[i] = g_u + g->u[i];", "int n, double *a, double g_u, struct grid *g", "struct grid { double *u; };"
    )
    assert [o.name for o in result.objects] == ["n", "a", "g_u", "g_u_2"]


def test_every_fault_of_a_region_is_reported_and_what_was_refused_is_not_reported_again() -> None:
    source = """void f(int n, double *a) {
#pragma tilek kernel
for (int i = 0; i < n; i++) { double *p = a; p = 0; p[i] = 1; a[i] = p[0]; switch (n) { int k; case 1: k = 2; } asm(""); }
}"""
    assert messages(source) == [
        "error: the pointer 'p' cannot be used in a kernel: it is set to an address that is no element of a named array",
        "error: the pointer 'p' cannot be set in a kernel: it is not set to the address of an element",
        "error: a variable is declared between the cases of a 'switch'",
        "error: assembly cannot be used in a kernel",
    ]


@pytest.mark.parametrize("pragma", ["#pragma omp for", "#pragma GCC poison", "#  pragma   once_more"])
def test_foreign_pragmas_in_kernels_cost_a_note(pragma: str) -> None:
    source = f"""void f(int n, double *a) {{
#pragma omp parallel
#pragma tilek kernel
{{
{pragma}
for (int i = 0; i < n; i++) a[i] = 0;
}}
}}"""
    assert messages(source) == [f"note: '{pragma}' is ignored in kernels and kept for the host"]


def test_lines_of_loops_for_compilers_are_kept() -> None:
    source = """void f(int n, double *a) {
#pragma tilek kernel
#pragma GCC ivdep
for (int i = 0; i < n; i++) {
#ifdef MISSING
#pragma GCC unroll 4
#endif
#pragma omp simd
for (int j = 0; j < 4; j++) a[4 * i + j] = 0; } }"""
    assert messages(source) == []
    loops = nodes(kernel(source), Loop)
    lines = [[(line.text, line.written) for line in loop.pragmas] for loop in loops]
    assert lines == [[("GCC ivdep", {"a"})], [("omp simd", {"a"})]]


def test_pragmas_that_the_preprocessor_leaves_out_cost_no_note() -> None:
    source = """void f(int n, double *a) {
#pragma tilek kernel
for (int i = 0; i < n; i++) {
#ifdef MISSING
#pragma omp simd
#endif
a[i] = 0; } }"""
    assert messages(source) == []


def test_declarations_without_effect_are_passed_over() -> None:
    statements = body_of('_Static_assert(1, ""); typedef double real; enum { TWO = 2 }; real t = TWO; a[i] = t;')
    assert [type(s) for s in statements] == [Declaration, ExpressionStatement]


def test_casts_to_void_and_empty_bodies() -> None:
    statements = body_of("(void)n; for (int j = 0; j < n; j++) ; a[i] = 0;")
    assert isinstance(statements[0], ExpressionStatement)
    assert text(statements[0].expression) == "n"
    assert isinstance(statements[1], Loop)
    assert statements[1].body.statements == ()


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("const int k = 8", "8"),
        ("const unsigned long r = 3, k = 2 * r + 1", "7ul"),
        ("const int k = 1 << 4", "16"),
        ("const unsigned char k = 8", None),
        ("const unsigned k = -1", None),
        ("const int k = n", None),
        ("int k = 8", None),
        ("const double k = 8", None),
        ("const int k = 8.5", None),
    ],
)
def test_constants_with_names_are_numbers(declared: str, value: str | None) -> None:
    result = kernel(f"""
    void f(int n, double *a)
    {{
        {declared};
    #pragma tilek kernel
        for (int i = 0; i < n; i++) a[i] = k;
    }}""")
    (assignment,) = nodes(result.body, Assignment)
    assert ("k" not in text(assignment)) == (value is not None)
    assert value is None or value in text(assignment)


def test_lengths_of_constants_with_names_are_known() -> None:
    result = body_of(
        "const int c = 2; double t[c * r]; t[i % 6] = a[i]; a[i] = t[0];", before="static const int r = 3;"
    )
    (array,) = [node.object for part in result for node in nodes(part, Declarator) if node.object.name == "t"]
    assert [text(length) for length in array.lengths] == ["6"]


REGION = """
#pragma tilek kernel
    for (int i = 0; i < n; i++) a[to][i] = a[from][i];
"""


@pytest.mark.parametrize(
    ("around", "stands"),
    [
        ("int from = n % 2, to = 1 - from; REGION", True),
        ("const int from = n; int to = (from + 1) % 2; REGION", True),
        ("int from = 0; while (k--) { int to = 1 - from; REGION from = to; }", True),
        ("int from = 0; while (k--) { int to = 1 - from; while (from < 1) { REGION from++; } }", False),
        ("int from = 0, to = 1 - from; while (k--) { REGION from = 1 - from; }", False),
        ("int from = 0, to = 1 - from; from = n; REGION", False),
        ("int from = 0, to = 1 - from; to = n; REGION", False),
        ("int from = 0, to = 1 - from, *p = &from; *p = 1; REGION", False),
        ("int from = 0, to = 1 - from; { int from = 2; REGION }", False),
        ("int from = 0; static int to = 1; REGION", False),
        ("unsigned from = 0; int to = 1 - from; REGION", False),
        ("int from = 0; again:; int to = 1 - from; REGION from = 1; if (k--) goto again;", False),
    ],
)
def test_the_other_of_two_stands_for_its_initial_value_while_that_holds(around: str, stands: bool) -> None:
    result = kernel(f"void f(int n, int k, double a[2][n]) {{ {around.replace('REGION', REGION)} }}")
    (assignment,) = nodes(result.body, Assignment)
    assert ("from" in text(assignment.target)) == stands
