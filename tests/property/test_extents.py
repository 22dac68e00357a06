"""Inferred sections against brute force: run the loops, note what is touched, evaluate the section as the host would."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import Use
from tilepragma.ir.expressions import (
    Access,
    Binary,
    Call,
    Cast,
    Conditional,
    DataObject,
    Expression,
    IntegerLiteral,
    Scope,
    Storage,
    Unary,
    integer,
)
from tilepragma.ir.invariance import host_evaluable
from tilepragma.ir.loop_tree import Block, Loop
from tilepragma.ir.polynomial import expression, polynomial
from tilepragma.ir.types import INT
from tilepragma.poly.extents import NotExactError, box_of, hull


def name(text: str) -> DataObject:
    return DataObject(text, text, INT, Storage.SCALAR, Scope.EXTERNAL)


def read(object_: DataObject) -> Access:
    return Access(object_, (), (), INT)


ITERATORS = tuple(name(text) for text in "ijk")
SIZES = tuple(name(text) for text in "nm")
ARRAY = DataObject("a", "a", INT, Storage.CONTIGUOUS, Scope.EXTERNAL, (None,))


def evaluate(node: Expression, values: dict[str, int]) -> int:
    """C's value of an expression of the planner's, in unbounded integers."""
    if isinstance(node, IntegerLiteral):
        return node.value
    if isinstance(node, Access):
        return values[node.object.name]
    if isinstance(node, Cast):
        return evaluate(node.operand, values)
    if isinstance(node, Unary):
        return -evaluate(node.operand, values)
    if isinstance(node, Conditional):
        return evaluate(node.then if evaluate(node.condition, values) else node.otherwise, values)
    if isinstance(node, Call):
        arguments = [evaluate(argument, values) for argument in node.arguments]
        return min(arguments) if node.function == "tilek_minimum" else max(arguments)
    assert isinstance(node, Binary)
    left = evaluate(node.left, values)
    if node.operator == "&&":
        return int(bool(left) and bool(evaluate(node.right, values)))
    right = evaluate(node.right, values)
    if node.operator == "/":
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    return {"+": left + right, "-": left - right, "*": left * right, ">=": int(left >= right)}[node.operator]


@dataclass(frozen=True)
class Header:
    """for (it = lower; it COMPARISON upper; it += step), bounds as (coefficients of outer iterators and sizes, constant)."""

    lower: Expression
    upper: Expression
    comparison: str
    step: int


def sums(objects: tuple[DataObject, ...], largest: int) -> st.SearchStrategy[Expression]:
    """Sums of the objects with small coefficients, and a constant."""

    def build(coefficients: list[int], constant: int) -> Expression:
        result: Expression = integer(constant)
        for object_, coefficient in zip(objects, coefficients, strict=True):
            if coefficient:
                result = Binary("+", result, Binary("*", integer(coefficient), read(object_), INT), INT)
        return result

    count = len(objects)
    return st.builds(
        build, st.lists(st.integers(-largest, largest), min_size=count, max_size=count), st.integers(-3, 3)
    )


@st.composite
def headers(draw: st.DrawFn) -> list[Header]:
    result = []
    for depth in range(draw(st.integers(1, 3))):
        inner = (*SIZES[:1], *ITERATORS[:depth])
        step = draw(st.sampled_from([1, 1, 1, 2, 3, -1, -1, -2]))
        comparison = draw(st.sampled_from(["<", "<="] if step > 0 else [">", ">="]))
        result.append(Header(draw(sums(inner, 1)), draw(sums((*inner, SIZES[1]), 1)), comparison, step))
    return result


def nest(found: list[Header]) -> tuple[Loop, ...]:
    loops = []
    for place, header in enumerate(found):
        loops.append(
            Loop(
                place,
                ITERATORS[place],
                True,
                header.lower,
                header.comparison,
                header.upper,
                integer(header.step),
                header.step < 0,
                Block(()),
                None,
            )
        )
    return tuple(loops)


def touched(found: list[Header], subscript: Expression, values: dict[str, int]) -> set[int]:
    if not found:
        return {evaluate(subscript, values)}
    header, *inner = found
    iterator = ITERATORS[values["depth"] - len(found)].name
    lower, upper = evaluate(header.lower, values), evaluate(header.upper, values)
    end = upper + (1 if header.step > 0 else -1) * (len(header.comparison) == 2)
    result: set[int] = set()
    for value in range(lower, end, header.step):
        result |= touched(inner, subscript, {**values, iterator: value})
    return result


def use_of(found: list[Header], subscript: Expression) -> Use:
    return Use(ARRAY, (subscript,), True, False, False, nest(found), NOWHERE)


sizes = st.integers(-2, 7)


def check_section(found: list[Header], subscript: Expression, n: int, m: int) -> None:
    """The section of one access is the hull of what it touches, where it is known."""
    try:
        box = box_of(use_of(found, subscript), host_evaluable(ITERATORS))
    except NotExactError:
        assume(False)
        return
    ((low, length),) = hull([box])
    values = {"n": n, "m": m, "depth": len(found)}
    elements = touched(found, subscript, values)
    assert evaluate(expression(length), values) == (max(elements) - min(elements) + 1 if elements else 0)
    assert not elements or evaluate(expression(low), values) == min(elements)


@given(st.data(), sizes, sizes)
@settings(max_examples=200, deadline=None)
def test_sections_are_exactly_what_is_touched(data: st.DataObject, n: int, m: int) -> None:
    result = data.draw(headers())
    subscript = data.draw(sums((*ITERATORS[: len(result)], SIZES[0]), 2))
    check_section(result, subscript, n, m)


@given(st.data(), sizes, sizes)
@settings(max_examples=100, deadline=None)
def test_strides_may_have_either_sign(data: st.DataObject, n: int, m: int) -> None:
    result = data.draw(headers())
    assume(not any(abs(header.step) > 1 for header in result))
    subscript = data.draw(sums((), 0))
    for iterator in ITERATORS[: len(result)]:
        stride = data.draw(st.sampled_from([*map(read, SIZES), integer(1), integer(-2), integer(0)]))
        subscript = Binary("+", subscript, Binary("*", read(iterator), stride, INT), INT)
    check_section(result, subscript, n, m)


def test_a_stride_of_either_sign_is_exact_in_triangles() -> None:
    """j runs up to i, and its stride is not known to be positive."""
    i, j = ITERATORS[:2]
    outer = Header(integer(0), read(SIZES[0]), "<", 1)
    inner = Header(integer(0), read(i), "<=", 1)
    subscript = Binary("*", read(j), read(SIZES[1]), INT)
    ((low, length),) = hull([box_of(use_of([outer, inner], subscript), host_evaluable(ITERATORS))])
    for m, section in ((3, (0, 10)), (-3, (-9, 10)), (0, (0, 1))):
        values = {"n": 4, "m": m}
        assert (evaluate(expression(low), values), evaluate(expression(length), values)) == section


@given(st.data(), sizes, sizes)
@settings(max_examples=100, deadline=None)
def test_sections_of_several_accesses_are_their_hull(data: st.DataObject, n: int, m: int) -> None:
    boxes, elements = [], set()
    values = {"n": n, "m": m}
    for _ in range(data.draw(st.integers(1, 3))):
        result = data.draw(headers())
        subscript = data.draw(sums(ITERATORS[: len(result)], 1))
        try:
            boxes.append(box_of(use_of(result, subscript), host_evaluable(ITERATORS)))
        except NotExactError:
            assume(False)
        elements |= touched(result, subscript, {**values, "depth": len(result)})
    # C has no negative subscripts into an object, which the sentinel for "nothing is touched"
    # relies on.
    assume(all(element >= 0 for element in elements))
    ((low, length),) = hull(boxes)
    lower, count = evaluate(expression(low), values), evaluate(expression(length), values)
    if elements:
        assert (lower, count) == (min(elements), max(elements) - min(elements) + 1)
    else:
        assert count == 0


@given(st.data(), st.integers(1, 5), st.integers(1, 5))
def test_collecting_keeps_the_value(data: st.DataObject, n: int, m: int) -> None:
    left, right = data.draw(sums(SIZES, 3)), data.draw(sums(SIZES, 3))
    operator = data.draw(st.sampled_from(["+", "-", "*"]))
    whole = Binary(operator, left, right, INT)
    values = {"n": n, "m": m}
    assert evaluate(expression(polynomial(whole)), values) == evaluate(whole, values)


def test_most_generated_nests_are_exact() -> None:
    """The properties above would hold of a planner that refuses everything: this one shows that it does not."""
    i, j = ITERATORS[:2]
    header = Header(integer(0), read(SIZES[0]), "<", 1)
    triangular = replace(header, lower=Binary("+", read(i), integer(1), INT))
    subscript = Binary("+", Binary("*", read(i), read(SIZES[1]), INT), read(j), INT)
    box = box_of(use_of([header, triangular], subscript), host_evaluable(ITERATORS))
    ((low, length),) = hull([box])
    values = {"n": 4, "m": 10}
    assert (evaluate(expression(low), values), evaluate(expression(length), values)) == (1, 23)
