from __future__ import annotations

import math
import struct

import pytest
from frontend_text import in_kernel, kernel, last_value, nodes, text, type_text

from tilepragma.frontend.clang.literals import spell_floating
from tilepragma.ir.expressions import Assignment, Call, Callee, FloatingLiteral, IntegerLiteral
from tilepragma.ir.types import DOUBLE, FLOAT

MACROS = """#include <math.h>
#include <stdint.h>
enum color { RED = 3, GREEN, LOW = -2147483647 - 1 };
#define PASTED(x) x##f
#define PLAIN(x) x
#define HALF 0.5f
#define HEX 0x10u
#define SQUARE(x) ((x) * (x))
"""


def value(expression: str) -> str:
    return last_value(
        in_kernel(f"a[0] = {expression};", "int n, int m, double *a, float x, unsigned u, long l, char c", MACROS)
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1", "1"),
        ("010 + 0x1Fu + 8l + 9ULL", "(((010 + 0x1Fu) + 8l) + 9ULL)"),
        ("1.5e-3 + .5f + 0x1p-3 + 2.", "(((1.5e-3 + .5f) + 0x1p-3) + 2.)"),
        ("'a'", "97"),
        ("'\\n'", "10"),
        ("HALF", "0.5f"),
        ("HEX", "16u"),
        ("PLAIN(0.2f)", "0.2f"),
        ("PASTED(0.1)", "0.10000000149011612f"),
        ("GREEN", "4"),
        ("LOW", "(-2147483647 - 1)"),
        ("sizeof(int) + sizeof x", "(4ul + 4ul)"),
        ("SQUARE(x + 1)", "((x + 1) * (x + 1))"),
        ("-x + +n + ~n + !n", "(((-x + +n) + ~n) + !n)"),
        ("n % 3 << 2 >> 1 & 7 ^ 1 | 2", "((((((n % 3) << 2) >> 1) & 7) ^ 1) | 2)"),
        ("n < 1 && m >= 2 || n == m", "(((n < 1) && (m >= 2)) || (n == m))"),
        ("n != m ? x : 2", "((n != m) ? x : 2)"),
        ("(float)n + (unsigned char)l + (int64_t)u", "(((float)n + (unsigned char)l) + (long)u)"),
        ("(n++, --m, x)", "((n++, --m), x)"),
        ("__builtin_expect(n > 3, 1)", "(n > 3)"),
        ("fabs(x) + sqrtf(x) + fmax(n, 2.0)", "((fabs((double)x) + sqrtf(x)) + fmax((double)n, 2.0))"),
        ("pow(a[1], 2)", "pow(a[1], (double)2)"),
        ("abs(n) + llabs(l)", "(abs(n) + llabs((long long)l))"),
        ("__builtin_fabs(x)", "fabs((double)x)"),
        ("isnan(a[1]) + signbit(x)", "(isnan(a[1]) + signbit(x))"),
        ("INFINITY", "INFINITY"),
        ("HUGE_VAL", "(double)INFINITY"),
        ("NAN", "NAN"),
        ("M_PI", "3.141592653589793"),
    ],
)
def test_expressions(expression: str, expected: str) -> None:
    assert value(expression) == expected


def test_assignments_nest() -> None:
    result = in_kernel("a[0] = x = u = 3;", "int n, double *a, float x, unsigned u")
    assert text(nodes(result.body, Assignment)[0]) == "a[0] = x = u = 3"


def test_types_are_those_of_the_host() -> None:
    result = in_kernel(
        "l = 1; ul = 2; ll = 3; s = 4; sc = 5; uc = 6; b = 1; e = 0; w = 7; ld = 0; d = 1; f = 2;",
        "int n, long l, unsigned long ul, long long ll, short s, signed char sc, unsigned char uc, _Bool b, enum color e, "
        "uint16_t w, long double ld, double d, float f",
        MACROS,
    )
    types = {a.target.object.host: a.type for a in nodes(result.body, Assignment)}
    spelled = {name: (type_text(t), t.bits, t.signed) for name, t in types.items()}
    assert spelled == {
        "l": ("long", 64, True),
        "ul": ("unsigned long", 64, False),
        "ll": ("long long", 64, True),
        "s": ("short", 16, True),
        "sc": ("signed char", 8, True),
        "uc": ("unsigned char", 8, False),
        "b": ("_Bool", 8, False),
        "e": ("int", 32, True),
        "w": ("unsigned short", 16, False),
        "ld": ("long double", 128, True),
        "d": ("double", 64, True),
        "f": ("float", 32, True),
    }


@pytest.mark.parametrize(("flag", "signed"), [("-fsigned-char", True), ("-funsigned-char", False)])
def test_plain_char_is_signed_as_the_flags_say(flag: str, signed: bool) -> None:
    result = kernel(
        "void f(int n, char *a) {\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) a[i] = '\\xff'; }", flag
    )
    (assignment,) = nodes(result.body, Assignment)
    assert assignment.type.signed is signed
    assert assignment.type.spelling == "char"
    assert text(assignment.value) == ("-1" if signed else "255")


def test_a_float_literal_has_the_value_of_its_type() -> None:
    literals = nodes(in_kernel("a[0] = 0.1f; a[1] = 0.1;").body, FloatingLiteral)
    assert [(node.value, node.type) for node in literals] == [
        (struct.unpack("f", struct.pack("f", 0.1))[0], FLOAT),
        (0.1, DOUBLE),
    ]


@pytest.mark.parametrize("number", [0.1, 1e300, 5e-324, 1.0, 1e22, -0.0])
def test_spelled_numbers_read_back_as_the_same_bits(number: float) -> None:
    spelling = spell_floating(number, DOUBLE)
    assert struct.pack("d", float(spelling)) == struct.pack("d", number)
    assert any(mark in spelling for mark in ".e")


def test_octal_literals_have_their_value() -> None:
    literal = nodes(in_kernel("a[n] = 017;").body, IntegerLiteral)[-1]
    assert (literal.value, literal.spelling) == (15, "017")


def test_a_macro_of_the_command_line_has_the_right_value() -> None:
    result = kernel(
        "void f(int n, double *a) {\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) a[i] = SIZE + RATE; }",
        "-DSIZE=012u",
        "-D",
        "RATE=1.25f",
    )
    literals = [nodes(result.body, kind)[-1] for kind in (IntegerLiteral, FloatingLiteral)]
    assert [literal.value for literal in literals] == [10, 1.25]
    assert [type_text(literal.type) for literal in literals] == ["unsigned int", "float"]
    assert literals[1].spelling.endswith("f")


def test_infinities_are_floats() -> None:
    (literal,) = nodes(in_kernel("a[0] = INFINITY;", before="#include <math.h>").body, FloatingLiteral)
    assert literal.value == math.inf
    assert literal.type == FLOAT


def test_math_calls_are_marked() -> None:
    (call,) = nodes(in_kernel("a[0] = sqrt(a[1]);", before="#include <math.h>").body, Call)
    assert call.callee is Callee.MATH


def test_ranges_inside_macros_are_where_the_macro_is_used() -> None:
    result = in_kernel("a[i] = SQUARE(a[i]);", before="#define SQUARE(x) ((x) * (x))")
    (assignment,) = nodes(result.body, Assignment)
    assert assignment.value.range.start.line == 5
    assert assignment.value.range.start.offset < assignment.value.range.end.offset
