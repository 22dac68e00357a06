"""Domains, schedules and accesses of whole regions."""

from __future__ import annotations

import islpy as isl
import pytest

from tests.support.scops import references, scop
from tilepragma.poly.affine import Frame
from tilepragma.poly.operation_limit import OperationLimitError, operation_limit
from tilepragma.poly.scop import AccessKind

ARRAYS = "int n, int m, int s, int *index, double *a, double b[n][m]"


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("int i = 1; i <= n; i++", "1 <= i <= n"),
        ("int i = 0; n > i; i += 3", "0 <= i < n and i mod 3 = 0"),
        ("int i = n - 1; i >= 0; --i", "0 <= i < n"),
        ("int i = n; i > m; i -= 2", "m < i <= n and (n - i) mod 2 = 0"),
        ("int i = 0; i != n; i++", "0 <= i < n"),
        ("int i = (n < m ? n : m); i < (n > m ? n : m); i++", "min(n, m) <= i < max(n, m)"),
        ("unsigned i = 0; i < (unsigned)n / 2; i++", None),
    ],
)
def test_domains(header: str, wanted: str | None) -> None:
    made = scop(ARRAYS, f"for ({header}) a[i] = 0;")
    (statement,) = made.statements
    if wanted is None:
        assert statement.references[0].exact  # an invariant bound of any form is a parameter
        return
    assert statement.domain.is_equal(isl.Set(f"[n, m] -> {{ S0[i] : {wanted} }}", context=made.context))


def test_imperfect_triangular_nest_has_a_schedule_of_execution_order() -> None:
    made = scop(
        ARRAYS,
        """
        for (int i = n - 1; i >= 0; i--) {
            a[i] = 0;
            for (int j = 0; j < i; j++) a[i] += b[i][j];
        }
        a[0] = 1;
        """,
    )
    assert [str(statement.schedule) for statement in made.statements] == [
        "{ S0[i0] -> [0, -i0, 0, 0, 0] }",
        "{ S1[i0, i1] -> [0, -i0, 1, i1, 0] }",
        "{ S2[] -> [1, 0, 0, 0, 0] }",
    ]
    assert made.statements[1].domain.is_equal(
        isl.Set("[n] -> { S1[i, j] : 0 <= i < n and 0 <= j < i }", context=made.context)
    )


def test_affine_conditions_narrow_the_domain_and_data_make_may_writes() -> None:
    made = scop(
        ARRAYS,
        """
        for (int i = 0; i < n; i++) {
            if (i < m) a[i] = 0;
            else a[i] = 1;
            if (index[i] > 0) a[i] = 2;
        }
        """,
    )
    writes = [reference for reference in references(made, "a") if reference.writes]
    assert [each.kind for each in writes] == [AccessKind.MUST_WRITE, AccessKind.MUST_WRITE, AccessKind.MAY_WRITE]
    assert (
        writes[0]
        .relation.domain()
        .is_equal(isl.Set("[n, m] -> { S0[i] : 0 <= i < n and i < m }", context=made.context))
    )
    assert (
        writes[1]
        .relation.domain()
        .is_equal(isl.Set("[n, m] -> { S1[i] : 0 <= i < n and i >= m }", context=made.context))
    )
    assert [reference.kind for reference in references(made, "index")] == [AccessKind.READ]


def test_unsigned_comparisons_that_convert_a_sign_are_not_believed() -> None:
    made = scop(ARRAYS, "for (int i = 0; i < n; i++) { if (i - 1 < 5u) a[i] = 0; }")
    assert references(made, "a")[0].kind is AccessKind.MAY_WRITE


def test_objects_of_inner_blocks_are_private_to_the_iterations_around() -> None:
    made = scop(ARRAYS, "for (int i = 0; i < n; i++) { double t = a[i]; a[i] = t + 1; }")
    write, read = references(made, "t")
    assert write.relation.range().is_equal(isl.Set("[n] -> { t[i] : 0 <= i < n }", context=made.context))
    assert read.exact


def test_a_symbolic_step_over_approximates() -> None:
    made = scop(ARRAYS, "for (int i = 0; i < n; i += s) a[i] = 0;")
    assert made.statements[0].domain.is_equal(isl.Set("[n] -> { S0[i] : 0 <= i < n }", context=made.context))
    assert references(made, "a")[0].kind is AccessKind.MAY_WRITE
    assert "the step of the loop over 'i' is no constant" in [each.reason for each in made.reasons]


def test_loops_that_cannot_be_counted_are_one_statement() -> None:
    made = scop(ARRAYS, "for (int i = 0; i < n; i++) { int k = 0; while (index[k] > i) { a[k] = 1; k++; } }")
    assert len(made.statements) == 2
    assert [reference.kind for reference in references(made, "a")] == [AccessKind.MAY_WRITE]


def test_functions_may_touch_what_they_get_an_address_of() -> None:
    made = scop(
        ARRAYS,
        "for (int i = 0; i < n; i++) step(&a[i]);",
        "static void step(double *p) { p[1] = p[0]; }",
    )
    assert not any(reference.exact for reference in references(made, "a"))


@pytest.mark.parametrize("place", ["if ({}) a[i] = 1;", "a[i] = {};", "for (int j = {}; j < 3; j++) a[i] += j;"])
@pytest.mark.parametrize(("element", "one"), [("p[0]", True), ("*p", True), ("p[1]", False), ("p[k]", False)])
def test_functions_touch_one_element_where_they_are_seen_to(place: str, element: str, one: bool) -> None:
    before = f"static int at(const int *p, int k) {{ return {element} > k; }}"
    body = f"for (int i = 0; i < n; i++) {place.format('at(&a[i], k)')}"
    made = scop("int n, int k, int *a", body, before)
    read = next(each for each in references(made, "a") if each.kind is AccessKind.READ)
    assert read.relation.is_single_valued() == one


def test_isl_gives_up_at_the_limit() -> None:
    context = isl.Context()
    frame = Frame(context, (), frozenset())
    with pytest.raises(OperationLimitError), operation_limit(context, 1, "trying"):
        frame.number(1).add(frame.parameter("n")).ge_set(frame.number(0)).complement().is_empty()
    assert not frame.number(1).ge_set(frame.number(0)).is_empty()


@pytest.mark.parametrize(
    ("access", "wanted", "exact"),
    [
        ("p[j]", "t[i, j]", True),
        ("p[j + 30]", "t[i + 1, j]", False),
        ("p[j - 1]", "t[i + floor((j - 1)/30), (j - 1) mod 30]", False),
        ("p[2 * j]", "t[i + floor(2j/30), (2j) mod 30]", False),
        ("t[i][j + 30]", "t[i, j + 30]", True),
    ],
)
def test_pointers_into_rows_reach_the_rows_around(access: str, wanted: str, exact: bool) -> None:
    made = scop(
        ARRAYS,
        f"for (int i = 1; i < 19; i++) {{ double *p = t[i]; for (int j = 0; j < 30; j++) {access} = t[0][0]; }}",
        "double t[20][30];",
    )
    (written,) = (reference for reference in references(made, "t") if reference.writes)
    relation = isl.Map(f"{{ S0[i, j] -> {wanted} }}", context=made.context)
    assert written.relation.intersect_domain(made.statements[0].domain).is_equal(
        relation.intersect_domain(made.statements[0].domain)
    )
    assert written.exact == exact


def test_pointers_into_rows_of_unknown_length_may_reach_any_element() -> None:
    made = scop(
        ARRAYS,
        "for (int i = 1; i < n; i++) { double *p = b[i]; for (int j = 0; j < m; j++) p[j - m] = b[0][0]; }",
    )
    (written,) = (reference for reference in references(made, "b") if reference.writes)
    assert not written.exact
    assert written.relation.range().is_equal(isl.Set("[n, m] -> { b[i, j] : n > 1 and m > 0 }", context=made.context))
