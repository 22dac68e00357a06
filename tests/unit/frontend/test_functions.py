from __future__ import annotations

from pathlib import Path

from frontend_text import in_kernel, kernel, messages, nodes, object_text, read_file, text, type_text

from tilepragma.ir.expressions import Access, Scope
from tilepragma.ir.loop_tree import Return


def test_functions_come_callee_first_and_once() -> None:
    result = in_kernel(
        "a[i] = outer(a[i]) + sq(2) + outer(1);",
        before="static double sq(double x) { return x * x; } double twice(double x) { return 2 * x; } "
        "static inline double outer(double x) { return twice(sq(x)) + sq(x); } double unused(void) { return 1; }",
    )
    assert [f.name for f in result.functions] == ["sq", "twice", "outer"]
    assert type_text(result.functions[0].result) == "double"
    (returned,) = nodes(result.functions[2].body, Return)
    assert text(returned.value) == "(twice(sq(x)) + sq(x))"


def test_functions_defined_after_the_kernel_are_found() -> None:
    result = kernel("""static double late(double x);
void f(int n, double *a) {
#pragma tilek kernel
for (int i = 0; i < n; i++) a[i] = late(a[i]);
}
static double late(double x) { return x + 1; }""")
    assert [f.name for f in result.functions] == ["late"]


def test_parameters_are_local_objects() -> None:
    result = in_kernel(
        "point p = {1, 2}; double t[2]; a[i] = g(a, t, &p, p, 3);",
        before="typedef struct { double x, y; } point; "
        "static double g(const double *v, double out[2], point *q, point r, int k) { out[0] = v[k]; q->x = r.y; (*q).y = 1; return out[1]; }",
    )
    (function,) = result.functions
    assert [object_text(p) for p in function.parameters] == [
        "contiguous double v[]",
        "contiguous double out[2]",
        "contiguous point q[]",
        "scalar point r",
        "scalar int k",
    ]
    assert all(p.scope is Scope.LOCAL for p in function.parameters)
    accesses = [text(n) for n in nodes(function.body, Access)]
    assert accesses == ["out_[0]", "v[k]", "k", "q[0].x", "r.y", "q[0].y", "out_[1]"]
    assert [r.spelling for r in result.records] == ["point"]


def test_records_come_dependencies_first_with_the_hosts_layout() -> None:
    result = in_kernel(
        "struct outer o = q[i]; a[i] = o.in.b;",
        "int n, double *a, struct outer *q",
        "struct inner { char a; double b; }; struct outer { short s; struct inner in; int v[3]; };",
    )
    inner, outer = result.records
    assert (inner.spelling, inner.tag, inner.size, inner.alignment) == ("struct inner", "inner", 16, 8)
    assert [(f.name, f.offset) for f in outer.fields] == [("s", 0), ("in", 8), ("v", 24)]
    assert outer.size == 40


def test_functions_may_be_named_as_devices_name_theirs() -> None:
    result = in_kernel(
        "a[i] = max(half(a[i]), fmax(a[i], 1));",
        before="static double max(double a, double b) { return a > b ? a : b; } static double half(double x) { return x / 2; } "
        "static double fmax(double x, double y) { return x + y; }",
    )
    assert [f.name for f in result.functions] == ["half", "fmax", "max"]


def test_recursion_through_another_function_is_refused() -> None:
    assert messages("""double g(int n);
static double h(int n) { return g(n - 1); }
double g(int n) { return n ? h(n) : 0; }
void f(int n, double *a) {
#pragma tilek kernel
for (int i = 0; i < n; i++) a[i] = g(i);
}""") == ["error: 'g' calls itself, which a kernel cannot do"]


def test_inline_functions_of_headers_are_carried(tmp_path: Path) -> None:
    (tmp_path / "helper.h").write_text("static inline double helper(double x) { return x + 1; }\n")
    main = tmp_path / "main.c"
    main.write_text("""#include "helper.h"
void f(int n, double *a) {
#pragma tilek kernel
for (int i = 0; i < n; i++) a[i] = helper(a[i]);
}""")
    unit = read_file(main)
    assert [f.name for f in unit.kernels[0].functions] == ["helper"]
    assert [file.path for file in unit.files] == [str(main)]
    assert unit.inclusions == ()
    assert unit.dependencies == (str(main), str(tmp_path / "helper.h"))


def test_a_struct_that_points_to_itself_is_carried_with_plain_pointers() -> None:
    result = in_kernel(
        "struct list t = l[i]; a[i] = t.value;",
        "int n, double *a, struct list *l",
        "struct list { struct list *next; double *data; double value; };",
    )
    (record,) = result.records
    assert [(f.name, type_text(f.type), f.offset) for f in record.fields] == [
        ("next", "void *", 0),
        ("data", "void *", 8),
        ("value", "double", 16),
    ]
