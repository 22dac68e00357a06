"""Expressions print with the parentheses they need and no others, and mean on devices what they mean in C."""

from __future__ import annotations

import sys
from functools import reduce
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import array, at, binary, expr, scalar

from tilepragma.codegen.dialect import CUDA, OPENCL, C
from tilepragma.codegen.printer import Flat, Printer
from tilepragma.codegen.reduction_printer import combination, identity
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Comma,
    Conditional,
    Expression,
    FloatingLiteral,
    Increment,
    Index,
    IntegerLiteral,
    Member,
    Storage,
    Unary,
)
from tilepragma.ir.types import (
    DOUBLE,
    FLOAT,
    INDEX,
    INT,
    LONG,
    UNSIGNED_LONG,
    ArrayType,
    PointerType,
    RecordType,
    ScalarKind,
    ScalarType,
)

A, B, X, Y = scalar("a"), scalar("b"), scalar("x", FLOAT), scalar("y", DOUBLE)
BOOL = ScalarType(ScalarKind.BOOLEAN, 8, False, "_Bool")
CHAR = ScalarType(ScalarKind.INTEGER, 8, False, "char")


def use(object_: object) -> Expression:
    return expr(object_)


def minus(operand: object) -> Unary:
    return Unary("-", use(operand), INT)


def access(object_: object) -> Access:
    node = use(object_)
    assert isinstance(node, Access)
    return node


C_CASES: list[tuple[Expression, str]] = [
    (binary("-", A, binary("-", A, B)).node, "a - (a - b)"),
    (binary("-", binary("-", A, B), A).node, "a - b - a"),
    (binary("*", binary("+", A, B), A).node, "(a + b) * a"),
    (binary("+", binary("*", A, B), A).node, "a * b + a"),
    (binary("/", A, binary("*", A, B)).node, "a / (a * b)"),
    (binary("||", binary("&&", A, B), A).node, "(a && b) || a"),
    (binary("&", binary("==", A, B), A).node, "(a == b) & a"),
    (binary("<<", A, binary("+", A, 1)).node, "a << (a + 1)"),
    (binary("<", binary("<", A, B), A).node, "(a < b) < a"),
    (minus(minus(A)), "-(-a)"),
    (binary("-", A, minus(B)).node, "a - -b"),
    (minus(IntegerLiteral(-3, "-3")), "-(-3)"),
    (minus(binary("+", A, B)), "-(a + b)"),
    (Unary("!", Unary("!", use(A), INT), INT), "!(!a)"),
    (Cast(FLOAT, binary("+", A, B).node), "(float)(a + b)"),
    (Cast(PointerType(ArrayType(FLOAT, IntegerLiteral(4, "4"))), use(A)), "(float (*)[4])a"),
    (binary("*", Cast(LONG, use(A)), B).node, "(long)a * b"),
    (Conditional(use(A), Conditional(use(A), use(B), use(A), INT), use(B), INT), "a ? a ? b : a : b"),
    (Conditional(Conditional(use(A), use(B), use(A), INT), use(A), use(B), INT), "(a ? b : a) ? a : b"),
    (Conditional(use(A), use(B), Conditional(use(B), use(A), use(B), INT), INT), "a ? b : b ? a : b"),
    (binary("+", Conditional(use(A), use(B), use(A), INT), 1).node, "(a ? b : a) + 1"),
    (Assignment("=", access(A), Assignment("+=", access(B), use(A), INT), INT), "a = b += a"),
    (Assignment("=", access(A), Comma(use(A), use(B), INT), INT), "a = (a, b)"),
    (binary("+", A, Assignment("=", access(A), use(B), INT)).node, "a + (a = b)"),
    (Increment("++", False, access(A), INT), "a++"),
    (minus(Increment("--", True, access(A), INT)), "-(--a)"),
    (at(array("t", 3, 4), A, binary("+", A, B)).node, "t[a][a + b]"),
    (Access(array("p", None), (use(A),), (Member("q"), Index(use(B)), Member("r")), FLOAT), "p[a].q[b].r"),
    (Call("f", Callee.USER, (Comma(use(A), use(B), INT), use(A)), INT), "f((a, b), a)"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "text"), C_CASES, ids=[text for _, text in C_CASES])
def test_parentheses(node: Expression, text: str) -> None:
    assert Printer(C).expression(node) == text


def test_an_assignment_as_a_condition_has_parentheses_of_its_own() -> None:
    assert Printer(C).condition(Assignment("=", access(A), use(B), INT)) == "(a = b)"


@pytest.mark.parametrize(
    ("function", "arguments", "opencl", "cuda"),
    [
        ("sqrt", (X,), "sqrt((double)x)", "sqrt((double)x)"),
        ("sqrt", (Y,), "sqrt(y)", "sqrt(y)"),
        ("sqrtf", (Y,), "sqrt((float)y)", "sqrtf((float)y)"),
        ("fmaxf", (X, binary("+", X, Y)), "fmax(x, (float)(x + y))", "fmaxf(x, (float)(x + y))"),
        ("pow", (A, X), "pow((double)a, (double)x)", "pow((double)a, (double)x)"),
        ("abs", (A,), "(int)abs(a)", "abs(a)"),
        ("labs", (A,), "(long)abs((long)a)", "labs((long long)a)"),
        ("ldexpf", (X, A), "ldexp(x, a)", "ldexpf(x, a)"),
        ("lround", (X,), "(long)round((double)x)", "lround((double)x)"),
        ("isnan", (X,), "isnan(x)", "isnan(x)"),
        ("erf", (X,), "erf((double)x)", "erf((double)x)"),
    ],
)
def test_math_functions_keep_the_precision_of_their_c_name(
    function: str, arguments: tuple[object, ...], opencl: str, cuda: str
) -> None:
    call = Call(function, Callee.MATH, tuple(use(argument) for argument in arguments), DOUBLE)
    assert Printer(OPENCL).expression(call) == opencl
    assert Printer(CUDA).expression(call) == cuda


@pytest.mark.parametrize(
    ("literal", "opencl", "cuda"),
    [
        (IntegerLiteral(8, "8ll", LONG), "8l", "8ll"),
        (IntegerLiteral(8, "8", INT), "8", "8"),
        (IntegerLiteral(255, "0xFFul", UNSIGNED_LONG), "0xFFul", "0xFFull"),
        (IntegerLiteral(97, "'a'", INT), "'a'", "'a'"),
        (IntegerLiteral(955, "L'\\u03bb'", INT), "955", "955"),
        (IntegerLiteral(5, "0b101u", ScalarType(ScalarKind.INTEGER, 32, False, "unsigned int")), "5u", "5u"),
        (IntegerLiteral(-2, "-2l", LONG), "-2l", "-2ll"),
    ],
)
def test_integer_literals_have_the_hosts_type(literal: IntegerLiteral, opencl: str, cuda: str) -> None:
    assert (Printer(OPENCL).expression(literal), Printer(CUDA).expression(literal)) == (opencl, cuda)


def test_types_are_the_hosts() -> None:
    assert [d.scalar(CHAR) for d in (C, OPENCL, CUDA)] == ["char", "uchar", "unsigned char"]
    assert [d.scalar(LONG) for d in (C, OPENCL, CUDA)] == ["long", "long", "long long"]
    narrow = ScalarType(ScalarKind.INTEGER, 32, True, "long")
    assert [d.scalar(narrow) for d in (OPENCL, CUDA)] == ["int", "int"]


M = array("M", scalar("n"), scalar("m"))
CUBE = array("c", None, 5, scalar("m"))
FLAT_CASES = [
    (at(M, A, B), Flat(("M_length1",)), "M[(tilek_index)a * M_length1 + b]"),
    (at(M, 0, B), Flat(("M_length1",)), "M[b]"),
    (at(M, A, 0), Flat(("M_length1",)), "M[(tilek_index)a * M_length1]"),
    (at(M, binary("-", A, 1), binary("+", B, 1)), Flat(("100",)), "M[(tilek_index)(a - 1) * 100 + b + 1]"),
    (at(M, A, B), Flat(("M_length1",), "M_origin"), "M[(tilek_index)a * M_length1 + b - M_origin]"),
    (at(M, A, B), Flat(("L",), None, ("l0", "l1")), "M[((tilek_index)a - l0) * L + (b - l1)]"),
    (at(M, 0, B), Flat(("L",), None, ("l0", None)), "M[(0 - l0) * L + b]"),
    (at(CUBE, A, B, A), Flat(("5", "m")), "c[((tilek_index)a * 5 + b) * m + a]"),
    (at(CUBE, A, 0, A), Flat(("5", "m")), "c[(tilek_index)a * 5 * m + a]"),
    (
        at(CUBE, A, Conditional(use(A), use(B), use(A), INT), 0),
        Flat(("5", "m")),
        "c[((tilek_index)a * 5 + (a ? b : a)) * m]",
    ),
    (at(M, A), Flat(("M_length1",)), "M + (tilek_index)a * M_length1"),
    (at(M), Flat(("M_length1",)), "M"),
    (at(array("v", None), A), Flat(()), "v[a]"),
    (at(array("v", None), A), Flat((), "v_origin"), "v[(tilek_index)a - v_origin]"),
]


@pytest.mark.parametrize(("node", "flat", "text"), FLAT_CASES, ids=[text for _, _, text in FLAT_CASES])
def test_flat_indices(node: object, flat: Flat, text: str) -> None:
    access_node = use(node)
    assert isinstance(access_node, Access)
    printer = Printer(OPENCL, {access_node.object: flat})
    assert printer.expression(access_node) == text


def test_a_boolean_store_in_opencl_is_a_comparison() -> None:
    flags = array("flags", None, type_=BOOL)
    target = Access(flags, (use(A),), (), BOOL)
    node = Assignment("=", target, binary("+", A, B).node, BOOL)
    assert Printer(OPENCL).expression(node) == "flags[a] = a + b != 0"
    assert Printer(CUDA).expression(node) == "flags[a] = a + b"


def test_opencl_chooses_by_integers_alone() -> None:
    x = use(scalar("x", DOUBLE))
    assert Printer(OPENCL).expression(Conditional(x, use(A), use(B), INT)) == "x != 0 ? a : b"
    assert Printer(CUDA).expression(Conditional(x, use(A), use(B), INT)) == "x ? a : b"
    assert Printer(OPENCL).expression(Conditional(use(A), x, x, DOUBLE)) == "a ? x : x"


def test_names_that_the_targets_language_has_taken_get_another() -> None:
    assert Printer(CUDA).expression(use(scalar("new"))) == "new_"
    assert Printer(OPENCL).expression(use(scalar("kernel"))) == "kernel_"
    assert Printer(C).expression(use(scalar("kernel"))) == "kernel"


def test_cuda_initializers_do_not_narrow() -> None:
    value = FloatingLiteral(0.5, "0.5", DOUBLE)
    assert Printer(CUDA).initializer((value, value), FLOAT) == "{(float)0.5, (float)0.5}"
    assert Printer(OPENCL).initializer((value,), FLOAT) == "{0.5}"


def test_what_becomes_a_position_is_cut_off() -> None:
    long = use(scalar("n", LONG))
    assert Printer(CUDA).initializer(long, INDEX) == "tilek_short(n)"
    assert Printer(CUDA).initializer(use(scalar("n", INDEX)), INDEX) == "n"
    assert Printer(CUDA).initializer(long, LONG) == "n"
    assert Printer(OPENCL).type(INDEX, "i") == "tilek_index i"


def test_ends_of_short_numbers_are_joined_on_devices() -> None:
    """`x >= a && x >= b` as `x >= max(a, b)`, where the first of them stands."""
    x, y, a, b, c = (use(scalar(name, INDEX)) for name in "xyabc")
    long = use(scalar("n", LONG))

    def test(operator: str, left: Expression, right: Expression) -> Expression:
        return Binary(operator, left, right, INT)

    def text(*tests: Expression, operator: str = "&&") -> str:
        return Printer(CUDA).condition(reduce(lambda left, right: Binary(operator, left, right, INT), tests))

    low, high = [test(">=", x, each) for each in (a, b, c)], [test("<=", x, each) for each in (a, b)]
    assert text(*low) == "x >= tilek_maximum_index(tilek_maximum_index(a, b), c)"
    assert text(low[0], high[0], low[1], high[1]) == "x >= tilek_maximum_index(a, b) && x <= tilek_minimum_index(a, b)"
    # Of each variable, and on each side of an or.
    assert text(low[0], test(">=", y, b), low[1]) == "x >= tilek_maximum_index(a, b) && y >= b"
    sides = [Binary("&&", *pair, INT) for pair in (low[:2], high)]
    assert text(*sides, operator="||") == "x >= tilek_maximum_index(a, b) || x <= tilek_minimum_index(a, b)"
    assert text(low[2], Binary("||", *sides, INT)).startswith("x >= c && (x >= tilek_maximum_index(a, b) || ")
    # Not what is longer, no range, a sum on the left, or for C.
    assert text(low[0], test(">=", x, long)) == "x >= a && x >= n"
    assert text(test(">", x, a), test(">", x, b)) == "x > a && x > b"
    negative = Unary("-", x, INDEX)
    assert text(test(">=", negative, a), test(">=", negative, b)) == "-x >= a && -x >= b"
    assert Printer(C).condition(Binary("&&", low[0], low[1], INT)) == "x >= a && x >= b"


def test_declarations() -> None:
    printer = Printer(C)
    assert printer.declaration(array("t", 3, 4)) == "float t[3][4]"
    assert printer.declaration(array("p", None, const=True)) == "const float *p"
    assert printer.declaration(array("p", None, 7)) == "float (*p)[7]"
    assert printer.declaration(array("r", None, None, storage=Storage.ROWS)) == "float **r"
    point = RecordType("point_t", "point", False, (), 8, 4)
    assert printer.declaration(scalar("p", point)) == "point_t p"  # type: ignore[arg-type]
    assert Printer(OPENCL).declaration(scalar("p", point)) == "struct point p"  # type: ignore[arg-type]


def test_reduction_identities_and_combinations() -> None:
    assert identity("min", INT) == "2147483647"
    assert identity("max", INT) == "(-2147483647 - 1)"
    assert identity("max", FLOAT) == "(-1.0f / 0.0f)"
    assert identity("*", FLOAT) == "1"
    assert combination("min", INT, "a", "b") == "b < a ? b : a"
    assert combination("&&", INT, "a", "b") == "a && b"


def test_a_reduction_keeps_negative_zeros_and_passes_over_nans_as_fmin_does() -> None:
    assert identity("+", FLOAT) == "-0.0f"
    assert identity("fmin", DOUBLE) == "(0.0 / 0.0)"
    assert combination("fmin", DOUBLE, "a", "b") == "b < a || a != a ? b : a"


def test_truths_stay_truths_where_a_target_keeps_them_in_wider_types() -> None:
    truth = ScalarType(ScalarKind.BOOLEAN, 8, False, "_Bool")
    assert [identity(operator, truth) for operator in ("+", "|", "max", "^", "*", "&", "min")] == list("0000111")
    assert combination("+", truth, "a", "b") == "a || b"
    assert combination("&", truth, "a", "b") == "a && b"
