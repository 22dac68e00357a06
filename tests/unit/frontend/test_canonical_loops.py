from __future__ import annotations

import pytest
from frontend_text import in_kernel, kernel, nodes, text

from tilepragma.ir.expressions import Scope
from tilepragma.ir.loop_tree import Block, Declaration, ExpressionStatement, ForLoop, Loop, Statement


def loop_of(
    header: str, body: str = "a[j] = 0;", declarations: str = "int j; int s = 2; unsigned u; long q;"
) -> Loop | ForLoop:
    source = f"void f(int n, int m, double *a, int *p) {{ {declarations}\n#pragma tilek kernel\nfor ({header}) {{ {body} }}\n}}"
    (statement,) = kernel(source).body.statements
    assert isinstance(statement, (Loop, ForLoop))
    return statement


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("j = 0; j < n; j++", "0 < n 1 up"),
        ("j = 0; j < n; ++j", "0 < n 1 up"),
        ("j = 1; j <= n - 2; j += 3", "1 <= (n - 2) 3 up"),
        ("j = 0; n > j; j = j + 2", "0 < n 2 up"),
        ("j = 0; n >= j; j = 2 + j", "0 <= n 2 up"),
        ("j = n - 1; j >= 0; j--", "(n - 1) >= 0 -1 down"),
        ("j = n; j > 0; --j", "n > 0 -1 down"),
        ("j = n; 0 < j; j -= 2", "n > 0 -2 down"),
        ("j = n; j > m; j = j - 3", "n > m -3 down"),
        ("j = n; j > m; j += -3", "n > m -3 down"),
        ("j = 0; j != n; j++", "0 != n 1 up"),
        ("j = n; j != 0; j--", "n != 0 -1 down"),
        ("j = 0; j < n; j += s", "0 < n s up"),
        ("j = n; j > 0; j -= s", "n > 0 -s down"),
        ("j = n; j > 0; j = j - (s + 1)", "n > 0 -(s + 1) down"),
        ("j = 0; (j) < (n); (j)++", "0 < n 1 up"),
        ("int k = m; k < n * 2; k++", "m < (n * 2) 1 up"),
        ("u = 0; u < n; u++", "0 < n 1 up"),
        ("q = 0; q < n; q += 2L", "0 < n 2L up"),
        ("short k = 0; k < n; k++", "0 < n 1 up"),
        ("short k = 0; k < n; k = (short)(k + 2)", "0 < n 2 up"),
        ("j = n; j-- > 0;", "(n - 1) >= 0 -1 down"),
        ("j = n; j --> m;", "(n - 1) >= m -1 down"),
        ("j = n; 0 != j--;", "(n - 1) >= 0 -1 down"),
        ("j = n; --j >= 0;", "(n - 1) >= 0 -1 down"),
        ("u = n; u--;", "(n - 1) >= 0 -1 down"),
        ("u = u; u-- > 0;", "((long)u - 1) >= 0 -1 down"),
        ("j = 10; j--;", "9 >= 0 -1 down"),
        ("j = 0; j + 1 < n; j++", "0 < (n - 1) 1 up"),
        ("j = 0; n >= s + j; j++", "0 <= (n - s) 1 up"),
        ("j = 0; j < n && j < m; j++", "0 < ((n < m) ? n : m) 1 up"),
        (
            "j = 0; n > j && j < m + 3 && j < 9; j++",
            "0 < ((((n < (m + 3)) ? n : (m + 3)) < 9) ? ((n < (m + 3)) ? n : (m + 3)) : 9) 1 up",
        ),
        ("j = n; j >= 0 && j > m; j--", "n >= (((long)0 > ((long)m + 1)) ? (long)0 : ((long)m + 1)) -1 down"),
        ("q = 0; q < n && q < n * 2L; q++", "0 < (((long)n < (long)(n * 2L)) ? (long)n : (long)(n * 2L)) 1 up"),
        ("unsigned char k = 0; k < 10; k++", "0 < 10 1 up"),
        ("j = p[0]; j < p[1]; j++", "p[0] < p[1] 1 up"),
    ],
)
def test_canonical_spellings(header: str, expected: str) -> None:
    loop = loop_of(header, "a[0] = 0;")
    assert isinstance(loop, Loop), loop
    direction = "down" if loop.decreasing else "up"
    assert f"{text(loop.lower)} {loop.comparison} {text(loop.upper)} {text(loop.step)} {direction}" == expected


def test_a_shifted_iterator_that_would_wrap_gets_a_bound_that_does_not() -> None:
    loop = loop_of("u = 0; u + 1 < m; u++", "a[0] = 0;")
    assert isinstance(loop, Loop)
    assert f"{loop.comparison} {text(loop.upper)}" == "< ((m > 1) ? (m - 1) : 0)"


@pytest.mark.parametrize("header", ["u = n; u-- > 3;", "u = n; --u > 0;", "j = n; j-- < m;", "j = n; j-- > 0; s++"])
def test_other_countdowns_run_as_written(header: str) -> None:
    assert isinstance(loop_of(header, "a[0] = 0;"), ForLoop)


def test_a_subtracted_unsigned_step_is_negated_in_64_bits() -> None:
    loop = loop_of("j = n; j > 0; j -= u", "a[0] = 0;")
    assert isinstance(loop, Loop)
    assert text(loop.step) == "-(long)u"


@pytest.mark.parametrize(
    ("header", "body", "reason"),
    [
        ("j = 0; j < n; j *= 2", "", "its last part does not add a step to the iterator 'j'"),
        ("j = 0; j < n; s++", "", "its last part does not add a step to the iterator 'j'"),
        (
            "j = 0; j * j < n; j++",
            "",
            "its condition does not compare the iterator 'j' with a bound by <, <=, >, >= or !=",
        ),
        (
            "j = 0; j < n && a[j] > 0; j++",
            "",
            "its condition does not compare the iterator 'j' with a bound by <, <=, >, >= or !=",
        ),
        *(
            (header, "", "its condition does not compare the iterator 'j' with a bound by <, <=, >, >= or !=")
            for header in (
                "j = 0; j < n && j < p[3]; j++",
                "j = 0; j < n && j < n / m; j++",
                "j = 0; j < n && s; j++",
                "j = 0; j < n && j > -3; j++",
                "j = 0; j < n && j < u; j++",
                "j = 0; j < n || j < m; j++",
            )
        ),
        ("j = 0; ; j++", "if (j > 3) break;", "it has no condition"),
        ("; j < n; j++", "", "its first part does not set one iterator ('i = …' or 'int i = …')"),
        *(
            (header, body, "its first part does not set one iterator ('i = …' or 'int i = …')")
            for header, body in (
                ("j = 0, s = 1; j < n; j++, s += j", ""),
                ("j = 0, s = j; j < n; j++, s++", ""),
                ("s = 1, j = s; j < n; j++, s++", ""),
                ("j = 0, s = 1; j < n; j++, s++", "if (a[j] > 0) continue;"),
                ("j = 0, s = 1; j < n; j += s, s++", ""),
            )
        ),
        ("double x = 0; x < n; x += 1", "", "its iterator 'x' is not an integer"),
        ("j = 0; j != n; j += 2", "", "with '!=' its step must be 1 or -1"),
        ("j = 0; j < n; j--", "", "its step leads away from its bound"),
        ("j = n; j > 0; j++", "", "its step leads away from its bound"),
        ("j = 0; j < n; j += 0", "", "its step is 0"),
        (
            "signed char x = 9; x-- != 0;",
            "",
            "its condition does not compare the iterator 'x' with a bound by <, <=, >, >= or !=",
        ),
        ("long x = 9; n < x; x -= -16ul", "", "its step is beyond 2147483647"),
        ("j = 0; j < n; j++", "j++;", "its iterator 'j' is changed in its body"),
        ("j = 0; j < n; j++", "for (j = 0; j < 3; j++) a[j] = 1;", "its iterator 'j' is changed in its body"),
        ("j = 0; j < n; j++", "n = 3;", "its upper bound changes: 'n' is written in the loop"),
        ("j = m; j < n; j++", "m = 3;", "its lower bound changes: 'm' is written in the loop"),
        ("j = 0; j < n; j += s", "s++;", "its step changes: 's' is written in the loop"),
        ("j = 0; j < n; j += j", "", "its step changes: 'j' is written in the loop"),
        ("j = 0; j < p[0]; j++", "p[j] = 3;", "its upper bound changes: 'p' is written in the loop"),
        ("j = 0; j < n++; j++", "", "its upper bound has side effects"),
        ("j = 0; j < n; j++", "if (a[j] > 0) break;", "it is left by 'break'"),
    ],
)
def test_reasons_of_loops_that_run_as_written(header: str, body: str, reason: str) -> None:
    loop = loop_of(header, body + " a[0] += 1;")
    assert isinstance(loop, ForLoop), loop
    assert loop.reason == reason
    assert loop.range.start.offset <= loop.reason_range.start.offset <= loop.range.end.offset


@pytest.mark.parametrize(
    ("header", "before", "body"),
    [
        ("j = 0, s = 1; j < n; j++", ["s = 1"], ["a[j] = 0"]),
        ("s = m, j = 0; j < n; s += 2, j++", ["s = m"], ["a[j] = 0", "s += 2"]),
        ("int k = 0, l = m; k < n; k++, l--", ["int l = m"], ["a[j] = 0", "l--"]),
        ("j = 0; j < n; j++, s++, q += 3", [], ["a[j] = 0", "s++", "q += 3"]),
    ],
)
def test_other_variables_leave_the_header(header: str, before: list[str], body: list[str]) -> None:
    source = "void f(int n, int m, double *a) { int j, s; long q;\n#pragma tilek kernel\n@ a[j] = 0;\n}"
    (statement,) = kernel(source.replace("@", f"for ({header})")).body.statements
    *first, loop = statement.statements if isinstance(statement, Block) else (statement,)
    assert isinstance(loop, Loop)
    assert [written(each) for each in first] == before
    assert [written(each) for each in loop.body.statements] == body


def written(statement: Statement) -> str:
    if isinstance(statement, Declaration):
        (declarator,) = statement.declarators
        assert declarator.value is not None
        return f"int {declarator.object.host} = {text(declarator.value)}"
    assert isinstance(statement, ExpressionStatement)
    return text(statement.expression)


def test_an_iterator_whose_address_is_taken_anywhere_is_not_canonical() -> None:
    source = """void f(int n, double *a) { int j; int *p = &j; *p = 3;
#pragma tilek kernel
for (j = 0; j < n; j++) a[j] = 0;
}"""
    (loop,) = kernel(source).body.statements
    assert isinstance(loop, ForLoop)
    assert loop.reason == "the address of its iterator 'j' is taken"


def test_inner_breaks_and_continues_do_not_make_the_outer_loop_less_canonical() -> None:
    result = in_kernel("for (;;) { break; } while (1) { break; } if (a[i] > 0) continue; a[i] = 1;")
    assert isinstance(result.body.statements[0], Loop)


def test_loops_are_numbered_in_the_order_of_the_text() -> None:
    result = in_kernel(
        "for (int j = 0; j < n; j++) { for (int k = 0; k < m; k++) a[k] = 0; } for (int l = 0; l < n; l++) a[l] = 0;"
    )
    assert [(loop.index, loop.iterator.name) for loop in nodes(result.body, Loop)] == [
        (0, "i"),
        (1, "j"),
        (2, "k"),
        (3, "l"),
    ]


def test_iterators_declared_in_the_header_are_local_and_others_external() -> None:
    outer, inner = nodes(
        kernel(
            "void f(int n, double *a) { int i;\n#pragma tilek kernel\nfor (i = 0; i < n; i++) for (int j = 0; j < n; j++) a[j] = i; }"
        ).body,
        Loop,
    )
    assert (outer.declares_iterator, outer.iterator.scope) == (False, Scope.EXTERNAL)
    assert (inner.declares_iterator, inner.iterator.scope) == (True, Scope.LOCAL)


def test_directives_sit_on_their_loops() -> None:
    source = """void f(int n, double a[n][n]) {
#pragma tilek kernel loop tile(gang) tile(dynamic)
for (int i = 0; i < n; i++)
#pragma tilek loop unroll(4)
  for (int j = 0; j < n; j++)
    for (int k = 0; k < n; k++) a[i][j] += k;
}"""
    first, second, third = nodes(kernel(source).body, Loop)
    assert first.directive is not None
    assert [tile.kind.value for tile in first.directive.tiles] == ["gang", "dynamic"]
    assert second.directive is not None
    assert second.directive.unroll == 4
    assert third.directive is None


def test_header_range_is_the_header() -> None:
    loop = loop_of("j = 0; j < n; j++")
    start, end = loop.header.start, loop.header.end
    source = "void f(int n, int m, double *a, int *p) { int j; int s = 2; unsigned u; long q;\n#pragma tilek kernel\nfor (j = 0; j < n; j++)"
    assert source[start.offset : end.offset] == "for (j = 0; j < n; j++)"
    assert (start.line, start.column) == (3, 1)
