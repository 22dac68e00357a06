"""Which subscripts and bounds are affine, and how the others are named and over-approximated."""

from __future__ import annotations

import islpy as isl
import pytest

from tests.support.scops import references, scop
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import expression
from tilepragma.poly.scop import AccessKind

ARRAYS = "int n, int m, unsigned u, float x, int *index, double *a, double b[n][m]"


def test_a_parameter_that_begins_with_a_number_has_a_name() -> None:
    made = scop(ARRAYS, "for (int i = 0; i < n; i++) a[i + (1 << m)] = x;")
    assert references(made, "a")[0].exact


@pytest.mark.parametrize(
    ("subscript", "wanted"),
    [
        ("i", "{ S0[i] -> a[i] : 0 <= i < n }"),
        ("2*i + 3*n - 1", "{ S0[i] -> a[2i + 3n - 1] : 0 <= i < n }"),
        ("-(i - n)", "{ S0[i] -> a[n - i] : 0 <= i < n }"),
        ("(long)i + (size_t)n", "{ S0[i] -> a[i + n] : 0 <= i < n }"),
        ("i / 2", "{ S0[i] -> a[floor(i/2)] : 0 <= i < n }"),
        ("i % 4", "{ S0[i] -> a[i mod 4] : 0 <= i < n }"),
        ("(i - 5) & 3", "{ S0[i] -> a[(i - 5) mod 4] : 0 <= i < n }"),
        ("(i - u) & 1u", "{ S0[i] -> a[(i - u) mod 2] : 0 <= i < n }"),
        ("(i - 5) % 4", "{ S0[i] -> a[(i-5) mod 4] : 5 <= i < n; S0[i] -> a[-((5-i) mod 4)] : 0 <= i < 5 and i < n }"),
        ("(i - 5) / 4", "{ S0[i] -> a[floor((i-5)/4)] : 5 <= i < n; S0[i] -> a[-floor((5-i)/4)] : 0 <= i < 5 and i < n }"),
        ("(i < m ? i : m)", "{ S0[i] -> a[min(i, m)] : 0 <= i < n }"),
        ("(i > 2 && i != m ? 1 : 0)", "{ S0[i] -> a[1] : 2 < i < n and i != m; S0[i] -> a[0] : 0 <= i < n and (i <= 2 or i = m) }"),
    ],
)  # fmt: skip
def test_affine_subscripts_are_exact(subscript: str, wanted: str) -> None:
    made = scop(ARRAYS, f"for (int i = 0; i < n; i++) a[{subscript}] = x;", "#include <stddef.h>")
    (reference,) = references(made, "a")
    assert reference.exact and reference.kind is AccessKind.MUST_WRITE
    assert reference.relation.is_equal(isl.Map("[n, m, u] -> " + wanted, context=made.context))


@pytest.mark.parametrize(
    ("subscript", "reason"),
    [
        ("index[i]", "'index[i]' is read from memory"),
        ("i * i", "'i * i' multiplies 'i' by a value that is no constant"),
        ("(unsigned char)i", "'(unsigned char)i' is not a sum of iterators and invariant values"),
        ("i / n", "'i / n' divides by a value that is no positive constant"),
        ("i & n", "'i & n' is not a sum of iterators and invariant values"),
        ("i & 6", "'i & 6' keeps bits other than the lowest"),
        ("(i - u) & 0xffffffffffl", "'(i - u) & 0xffffffffffl' keeps bits other than the lowest"),
        ("(i - u) % 3u", "'(i - u) % 3u' divides an unsigned value that may have wrapped"),
        ("(long)(i - u) / 3", "'(long)(i - u) / 3' divides an unsigned value that may have wrapped"),
        ("((long)(i - u) > 3l ? i : 0)", "'(long)(i - u) > 3l' compares an unsigned value that may have wrapped"),
        ("(i - u < 9l ? i : 0)", "'(i - u) < 9l' compares an unsigned value that may have wrapped"),
        ("(unsigned)(short)i", "'(unsigned int)(short)i' is not a sum of iterators and invariant values"),
        ("(x > 1 ? i : 0)", "'x > 1' does not compare integers"),
        ("k", "'k' changes inside the kernel"),
    ],
)
def test_what_is_not_affine_is_named_and_may_be_any_element(subscript: str, reason: str) -> None:
    made = scop(ARRAYS, f"for (int i = 0; i < n; i++) {{ int k = index[0]; a[{subscript}] = k; }}")
    reference = references(made, "a")[-1]
    assert not reference.exact and reference.kind is AccessKind.MAY_WRITE
    assert reference.relation.range().is_equal(isl.Set("[n] -> { a[x] : n > 0 }", context=made.context))
    assert reason in [each.reason for each in made.reasons]
    assert all(each.range.start.line > 1 for each in made.reasons)


def test_invariant_products_are_parameters_of_their_own() -> None:
    made = scop(ARRAYS, "for (int i = 0; i < n * m; i++) a[i + n / m] = x;")
    (reference,) = references(made, "a")
    assert reference.exact
    names = {reference.relation.get_dim_name(isl.dim_type.param, place) for place in range(2)}
    assert names == {"n*m", "n / m"} or len(names) == 2


@pytest.mark.parametrize(
    ("subscript", "wanted"),
    [
        ("i*m + j", "a[i, j]"),
        ("(size_t)i * m + j", "a[i, j]"),
        ("(i + 1)*m + j", "a[i + 1, j]"),
        ("m*i + j", "a[i, j]"),
        ("2*i*m + j", "a[2i, j]"),
        ("j + i*m + 3*m", "a[i + 3, j]"),
    ],
)
def test_subscripts_are_delinearised_where_the_bounds_prove_it(subscript: str, wanted: str) -> None:
    made = scop(
        ARRAYS,
        f"for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[{subscript}] = x;",
        "#include <stddef.h>",
    )
    (reference,) = references(made, "a")
    expected = isl.Map(f"[n, m] -> {{ S0[i, j] -> {wanted} : 0 <= i < n and 0 <= j < m }}", context=made.context)
    assert reference.exact and reference.relation.is_equal(expected)


def test_three_dimensions_and_padded_rows_are_delinearised() -> None:
    made = scop(
        "int n, int m, int p, double *a, double *c",
        """
        for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < p; k++) a[(i*m + j)*p + k] = 0;
        for (int i = 1; i < n; i++) for (int j = 1; j < m + 1; j++) c[i*(m + 2) + j] = c[(i - 1)*(m + 2) + j + 1];
        """,
    )
    bounds = "0 <= i < n and 0 <= j < m and 0 <= k < p"
    expected = isl.Map(f"[n, m, p] -> {{ S0[i, j, k] -> a[i, j, k] : {bounds} }}", context=made.context)
    assert references(made, "a")[0].relation.is_equal(expected)
    read = isl.Map("[n, m] -> { S1[i, j] -> c[i-1, j+1] : 1 <= i < n and 1 <= j <= m }", context=made.context)
    assert references(made, "c")[0].relation.is_equal(read)


@pytest.mark.parametrize(("column", "wanted"), [("m + 1", "i, m + 1"), ("m + 2", "i + 1, 0"), ("-1", "i - 1, m + 1")])
def test_the_last_column_belongs_to_its_row(column: str, wanted: str) -> None:
    made = scop(ARRAYS, f"if (m >= 0) for (int i = 1; i < n; i++) a[i*(m + 2) + {column}] = 0;")
    (reference,) = references(made, "a")
    expected = isl.Map(f"[n, m] -> {{ S0[i] -> a[{wanted}] : 1 <= i < n and m >= 0 }}", context=made.context)
    assert reference.exact and reference.relation.is_equal(expected)


@pytest.mark.parametrize(
    ("row", "wanted"),
    [("0", "0, j"), ("n", "n, j"), ("(n + 1)", "n + 1, j"), ("1", "1, j")],
)
def test_rows_that_no_iterator_counts_are_told_by_products_of_parameters(row: str, wanted: str) -> None:
    made = scop(ARRAYS, f"for (int j = 1; j <= m; j++) a[{row}*(m + 2) + j] = a[n*(m + 2) + j];")
    expected = isl.Map(f"[n, m] -> {{ S0[j] -> a[{wanted}] : 1 <= j <= m }}", context=made.context)
    assert references(made, "a")[-1].relation.is_equal(expected)


@pytest.mark.parametrize("column", ["j", "j + m + 2"])
def test_lengths_of_such_rows_are_not_assumed(column: str) -> None:
    made = scop(ARRAYS, f"for (int j = 0; j < x; j++) a[n*(m + 2) + {column}] = a[j];")
    assert references(made, "a")[-1].relation.dim(isl.dim_type.out) == 1


@pytest.mark.parametrize("bound", ["j <= m", "j < 2*m", "j < index[i]"])
def test_rows_that_may_overlap_are_not_delinearised(bound: str) -> None:
    made = scop(ARRAYS, f"for (int i = 0; i < n; i++) for (int j = 0; {bound}; j++) a[i*m + j] = x;")
    (reference,) = references(made, "a")
    assert not reference.exact
    assert reference.relation.dim(isl.dim_type.out) == 1


PARTS = "int n, int m, int w, int h, int s, int c, double *a, const double *b"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i*m + j] = 0;", []),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < w; j++) a[i*s + j] = 0;", ["s >= w"]),
        ("for (int i = 0; i < n; i++) for (int j = 1; j < w - 1; j++) a[i*s + j] = a[i*s + j - 1];", ["s + 1 >= w"]),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < w; j++) a[i*s + 3*j + 2] = 0;", ["s >= (3 * w)"]),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < w; j++) a[(i*w + j)*3 + 2] = 0;", []),
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < w; j++) for (int k = 0; k < c; k++) a[i*s + j*c + k] = 0;",
            ["(s / max(c, 1)) >= w"],
        ),
        (
            "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) a[i*m + j] = 0; } a[0] = a[(n - 1)*m];",
            ["m >= 1"],
        ),
        ("for (int i = 0; i < n; i++) { for (int j = 0; j < w; j++) a[i*s + j] = b[i*h + j]; }", ["s >= w"]),
        ("for (int i = c; i < h - c; i++) for (int j = c; j < w - c; j++) a[i*w + j] = 0;", ["c >= 0"]),
    ],
)
def test_what_strides_are_taken_to_be_is_said(body: str, wanted: list[str]) -> None:
    made = scop(PARTS, body)
    assert all(reference.exact for reference in references(made, "a"))
    assert [plain_text(each) for each in made.assumptions] == wanted


@pytest.mark.parametrize(
    ("subscript", "origin", "wanted"),
    [
        ("i*s + j - 1", "-1", ["s >= w"]),
        ("i*w + j + 1", "1", []),
        ("i*w - j", "1 - w", []),
        ("c + i*w + j", "c", []),
        ("i*w + m - j", "m + 1 - w", []),
    ],
)
def test_rows_may_begin_at_an_origin(subscript: str, origin: str, wanted: list[str]) -> None:
    body = f"for (int i = 0; i < n; i++) for (int j = 0; j < w; j++) a[{subscript}] = 0;"
    made = scop(PARTS, body)
    (reference,) = references(made, "a")
    assert reference.exact and reference.relation.dim(isl.dim_type.out) == 2
    assert [plain_text(each) for each in made.assumptions] == wanted
    assert plain_text(expression(made.origin_of(reference.object))) == origin
    rows = isl.Map("[n, w] -> { S0[i, j] -> a[i, k] : 0 <= i < n and 0 <= j, k < w }", context=made.context)
    assert reference.relation.is_subset(rows) and reference.relation.is_injective()


@pytest.mark.parametrize("subscript", ["i*s + j*j", "i*s + b2[j]", "i*w + 2*j", "i*j*s"])
def test_what_no_stride_makes_right_is_not_assumed(subscript: str) -> None:
    body = f"for (int i = 0; i < n; i++) for (int j = 0; j < w; j++) a[{subscript}] = 0;"
    made = scop(f"{PARTS}, const int *b2", body)
    assert not references(made, "a")[0].exact
    assert made.assumptions == ()


def test_one_reference_out_of_range_keeps_its_array_linear() -> None:
    made = scop(ARRAYS, "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i*m + j] = a[i*m + j + 1];")
    assert [reference.exact for reference in references(made, "a")] == [False, False]


def test_what_a_declaration_alone_gives_a_value_is_known_by_it() -> None:
    body = "for (int i = 0; i < n; i++) { int k = 2 * i + 1; { const long l = k - n; a[l] = x; } a[k] = x; }"
    made = scop(ARRAYS, body)
    first, second = references(made, "a")
    assert first.exact and second.exact
    assert first.relation.is_equal(isl.Map("[n] -> { S2[i] -> a[2i + 1 - n] : 0 <= i < n }", context=made.context))
    assert second.relation.is_equal(isl.Map("[n] -> { S3[i] -> a[2i + 1] : 0 <= i < n }", context=made.context))


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ("k++;", "e = i + 1"),
        ("k = k;", "e = i"),
        ("k -= 2 * n;", "e = i - 2n"),
        ("if (i > m) k = 1;", "(i > m and e = 1) or (i <= m and e = i)"),
        ("if (k < 3) k = 3; else { k--; }", "(i < 3 and e = 3) or (i >= 3 and e = i - 1)"),
        ("k = k < m ? k : m;", "(i < m and e = i) or (i >= m and e = m)"),
        ("k = least(k, m);", "(i < m and e = i) or (i >= m and e = m)"),
        ("int l = k; k = 0; l += 3; k = l;", "e = i + 3"),
        ("for (int l = 0; l < 2; l++) index[l] += k; k++;", "e = i + 1"),
    ],
)
def test_subscripts_know_what_straight_line_code_assigned(change: str, wanted: str) -> None:
    least = "int least(int p, int q) { if (p < q) return p; return q; }"
    made = scop(ARRAYS, f"for (int i = 0; i < n; i++) {{ int k = i; {change} a[k] = x; }}", least)
    (reference,) = references(made, "a")
    expected = isl.Map(f"[n, m] -> {{ [i] -> a[e] : 0 <= i < n and ({wanted}) }}", context=made.context)
    assert reference.exact
    assert reference.relation.set_tuple_name(isl.dim_type.in_, "").is_equal(
        expected.set_tuple_name(isl.dim_type.in_, "")
    )


@pytest.mark.parametrize(
    "change",
    [
        "k = index[i];",
        "if (index[i]) k = 1;",
        "if (i > m) { k++; k++; }",
        "while (k > 3) k /= 2;",
        "for (int l = 0; l < 2; l++) k += l;",
        "k = k * k;",
        "k = twice(k);",
        "k = (unsigned char)k;",
        "index[0] = k = 3;",
        "switch (m) { case 1: k = 2; }",
        "k = i * 4294967296l + 3;",
        "k = 2654435761u * i;",
        "k = least(i * 4294967296l + 3, m);",
        "k = most(i, m);",
    ],
)
def test_what_may_be_anything_is_not_known(change: str) -> None:
    twice = "int twice(int p) { int q = p; while (q < 3) q++; return q; }"
    least = "int least(int p, int q) { if (p < q) return p; return q; }"
    most = "int most(long p, long q) { if (p > q) return p * 4294967296l; return q; }"
    made = scop(ARRAYS, f"for (int i = 0; i < n; i++) {{ int k = i; {change} a[k] = x; }}", twice + least + most)
    (reference,) = references(made, "a")
    assert not reference.exact


@pytest.mark.parametrize(
    "declared",
    [
        "int k = i * 4294967296l + 3;",
        "long k = (i - u) / 3;",
        "long k = i - u;",
        "unsigned long k = i - 5; k %= 61;",
        "unsigned long l = i - 5; long k = l % 61;",
        "unsigned long l = i - 1; long k = l < (unsigned long)n ? i : 0;",
    ],
)
def test_locals_are_not_known_by_what_their_types_do_not_have(declared: str) -> None:
    made = scop(ARRAYS, f"for (int i = 0; i < n; i++) {{ {declared} a[k] = x; }}")
    (reference,) = references(made, "a")
    assert not reference.exact


def test_a_sum_that_begins_anywhere_may_wrap_before_it_is_divided() -> None:
    made = scop(
        ARRAYS, "for (unsigned i = 0; i < 60; i++) { a[(u + i) % 61u] = x; b[(u + i) % 64u][(i + 1u) % 61u] = x; }"
    )
    assert [reference.exact for name in "ab" for reference in references(made, name)] == [False, True]


@pytest.mark.parametrize(
    "body",
    [
        "while (k < n) { a[k] = x; k++; }",
        "do { a[k] = x; k += 2; } while (k < n);",
        "for (int l = 0; l < 2; l++) { a[k] = x; k++; }",
        "for (int l = 0; l < 2; l++) { a[k] = x; if (index[l]) k = 0; }",
        "switch (m) { case 1: k = 2; case 2: a[k] = x; }",
        "a[k] = (float)(k = 3);",
        "if (m > (k = index[i])) { a[k] = x; }",
        "for (int l = k; l < n; l += 1 + k) { a[k] = x; k = l; }",
    ],
)
def test_locals_are_not_known_while_they_change(body: str) -> None:
    made = scop(ARRAYS, f"for (int i = 0; i < n; i++) {{ int k = i; {body} }}")
    assert not any(reference.exact for reference in references(made, "a"))


@pytest.mark.parametrize("type_", ["unsigned", "short", "float"])
def test_what_may_not_hold_its_initializer_is_not_known(type_: str) -> None:
    made = scop(ARRAYS, f"for (int i = 0; i < n; i++) {{ const {type_} k = i - 1; a[(int)k] = x; }}")
    (reference,) = references(made, "a")
    assert not reference.exact
