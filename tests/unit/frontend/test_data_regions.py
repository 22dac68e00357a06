from __future__ import annotations

from frontend_text import messages, object_text, read

from tilepragma.ir.directives import Construct

SOURCE = """struct grid { int n; double *u; };
double table[10];
void f(int n, double A[n][n], struct grid *g, int q)
{
#pragma tilek enter data copyin(table)
    double *a = table;
#pragma tilek data copy(A[0:n][0:n], g->u[0:n]) create(a[n])
    {
        double a[3][4];
#pragma tilek update self(a[0:3][0:4])
        a[0][0] = 1;
    }
#pragma tilek data copy(a[n])
    for (int i = 0; i < n; i++) a[i] = 0;
#pragma tilek wait(q)
#pragma tilek exit data delete(table)
}
"""


def test_sections_mean_what_is_visible_at_the_directive() -> None:
    regions = read(SOURCE).data_regions
    assert [[(path, object_text(o)) for path, o in region.objects] for region in regions] == [
        [("table", "contiguous double table[10]")],
        [
            ("A", "contiguous double A[n][n]"),
            ("g->u", "contiguous double g->u[]"),
            ("a", "contiguous double a[]"),
        ],
        [("a", "contiguous double a[3][4]")],
        [("a", "contiguous double a[]")],
        [],
        [("table", "contiguous double table[10]")],
    ]


def test_ranges_are_the_statement_or_empty() -> None:
    regions = read(SOURCE).data_regions
    texts = [SOURCE[r.range.start.offset : r.range.end.offset] for r in regions]
    assert texts[1].startswith("{\n        double a[3][4];")
    assert texts[1].endswith("a[0][0] = 1;\n    }")
    assert texts[3] == "for (int i = 0; i < n; i++) a[i] = 0;"
    assert [bool(text) for text in texts] == [False, True, False, True, False, False]
    assert SOURCE[regions[0].range.start.offset :].startswith("#pragma tilek enter data")
    assert {r.enclosing.function for r in regions} == {"f"}


def test_kinds_of_directives() -> None:
    assert [region.directive.construct for region in read(SOURCE).data_regions] == [
        Construct.ENTER_DATA,
        Construct.DATA,
        Construct.UPDATE,
        Construct.DATA,
        Construct.WAIT,
        Construct.EXIT_DATA,
    ]


def test_data_over_a_kernel_and_loops_inside_may_break() -> None:
    source = """void f(int n, double *a) {
#pragma tilek data copy(a[n])
#pragma tilek kernel
for (int i = 0; i < n; i++) a[i] = 0;
#pragma tilek data copy(a[n])
{ while (1) { if (n) break; continue; } switch (n) { case 1: break; } }
}"""
    unit = read(source)
    assert len(unit.kernels) == 1
    assert unit.data_regions[0].range == unit.kernels[0].range


def test_clauses_about_unused_variables_warn_and_are_dropped() -> None:
    source = """double other[3];
void f(int n, double *a, double *b) {
#pragma tilek kernel data(a[n], b[n]) copyin(other)
for (int i = 0; i < n; i++) a[i] = 0;
}"""
    assert messages(source) == [
        "warning: 'b' does not occur in the kernel, and the clause says nothing about it",
        "warning: 'other' does not occur in the kernel, and the clause says nothing about it",
    ]
    (found,) = read(source).kernels
    assert [[s.path for s in clause.sections] for clause in found.directive.data] == [["a"]]
    assert [o.name for o in found.objects] == ["n", "a"]


def test_a_data_region_inside_a_loop_keeps_the_loops_variables() -> None:
    source = """void f(int n, double *a) {
for (int k = 0; k < n; k++) { double *b = a + k;
#pragma tilek data copy(b[n]) copyin(k)
{ b[0] = k; } } }"""
    (region,) = read(source).data_regions
    assert [object_text(o) for _, o in region.objects] == ["contiguous double b[]", "scalar int k"]


def test_a_pointer_needs_its_length() -> None:
    source = "void f(int n, double *a, double **b, double c[n]) {\n#pragma tilek enter data copyin(a, b[0:n], c)\n}"
    assert messages(source) == [
        "error: the number of elements of 'a' is unknown: its type has no length",
        "error: the number of elements of 'b' is unknown: its type has no length",
    ]
