"""Loops that copy elements of a tile: what counts as a copy, what is computed before the loop, and loads ahead of stores."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import E, array, assign, at, binary, expr, scalar

from tests.support.source_plans import plan
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA
from tilepragma.codegen.held_copies import AT_ONCE, CopyLoopPrinter, copy_of
from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, If, Statement
from tilepragma.ir.types import DOUBLE, INDEX

ROW, STEP, P, N, T = (scalar(name, INDEX, Scope.LOCAL) for name in ("i", "j", "p", "n", "t"))
A, BOX, WIDE = array("a", 9, 9), array("box", 4, 4), array("wide", 9, 9, type_=DOUBLE)
COPY = assign(at(BOX, ROW, STEP), at(A, ROW, P))
PLACE = Declaration((Declarator(P, expr(binary("+", STEP, T))),))


def where(condition: E, *body: Statement, otherwise: Block | None = None) -> If:
    return If(expr(condition), Block(body), otherwise, NOWHERE)


def test(operator: str, left: DataObject, right: object) -> E:
    return E(replace(expr(binary("<", left, right)), operator=operator))


def both(*tests: E) -> E:
    total, *others = tests
    for other in others:
        total = binary("&&", total, other)
    return total


test.__test__ = False  # type: ignore[attr-defined]  # it makes a condition


def printed(*body: Statement) -> str:
    """The loop over every second j from `from` to before `to`, without its spaces."""
    copy = copy_of(Block(body))
    assert copy is not None
    writer, printer = Writer(), Printer(CUDA)
    numbers = LaunchParameters((), {}, frozenset({"n"}))
    CopyLoopPrinter(writer, printer, numbers, STEP, "from", "to", "stride").print(copy)
    return " ".join(writer.text().split())


def test_all_loads_stand_ahead_of_the_stores() -> None:
    text = printed(COPY)
    load, store = text.index("held[copy] = a["), text.index("] = held[copy];")
    assert load < store and text.count("#pragma unroll for") == 2
    assert f"for (tilek_index j_first = from; j_first < to; j_first += {AT_ONCE} * stride)" in text
    assert f"float held[{AT_ONCE}];" in text
    assert text.count("const tilek_index j = j_first + copy * stride; if (j < to) {") == 2


def test_what_is_the_same_for_all_elements_stands_before_the_loop() -> None:
    within = both(test(">=", STEP, binary("-", ROW, N)), test("<=", STEP, binary("+", ROW, N)))
    text = printed(where(test(">=", ROW, N), where(within, PLACE, COPY)))
    before, loop = text.split("#pragma unroll 1")
    assert before == "if (i >= n) { const tilek_index j_least = i - n; const tilek_index j_most = i + n; "
    assert loop.count("if (j < to && j >= j_least && j <= j_most) {") == 2
    assert loop.count("p = j + t;") == 2 and "i - n" not in loop


def test_each_of_two_sets_has_its_own_ends_and_is_empty_where_a_row_has_none_of_it() -> None:
    """The ends that both have are joined with those of each."""
    first = both(test(">=", ROW, N), test(">=", STEP, binary("-", ROW, 1)))
    second = both(test(">=", STEP, binary("+", ROW, 1)), test("<=", STEP, T))
    text = printed(where(both(test(">=", STEP, N), E(expr(binary("||", first, second)))), COPY))
    before, loop = text.split("#pragma unroll 1")
    assert before == (
        "const tilek_index j_least = i >= n ? tilek_maximum_index(n, i - 1) : to; "
        "const tilek_index j_least_2 = tilek_maximum_index(n, i + 1); "
    )
    assert loop.count("if (j < to && (j >= j_least || (j >= j_least_2 && j <= t))) {") == 2


def test_a_condition_on_what_the_body_declares_stays_in_the_loop() -> None:
    text = printed(where(test(">=", ROW, binary("+", STEP, N)), COPY))
    assert text.startswith("#pragma unroll 1 ") and text.count("i >= j + n") == 2


@pytest.mark.parametrize(
    "body",
    [
        (COPY, COPY),
        (assign(at(BOX, ROW, STEP), at(A, ROW, P) + 1.0),),
        (assign(at(BOX, ROW, STEP), at(WIDE, ROW, P)),),
        (where(test(">=", ROW, N), COPY, otherwise=Block(())),),
        (PLACE,),
    ],
    ids=["two copies", "a sum", "a conversion", "two branches", "a declaration"],
)
def test_other_bodies_are_no_copies(body: tuple[Statement, ...]) -> None:
    assert copy_of(Block(body)) is None


def test_tiles_of_wavefronts_are_filled_and_stored_so() -> None:
    """In both forms of the launch; on one worker, as on processors, there is nothing to wait for."""
    made = plan(
        """void f(int n, int steps, float u[n][n]) {
        #pragma tilek kernel
          for (int t = 0; t < steps; t++)
            for (int i = 1; i < n - 1; i++)
              for (int j = 1; j < n - 1; j++)
                u[i][j] = 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
        }"""
    )
    text = device_program(made, CUDA).text
    assert len(re.findall(r"float held\w*\[", text)) == 2 * 2
