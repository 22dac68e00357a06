"""Loops that copy elements of a tile: what counts as a copy, what is computed before the loop, and loads ahead of stores."""

from __future__ import annotations

import re
import subprocess
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
    """The loop over j from `from` to before `to`, without its spaces."""
    copy = copy_of(Block(body))
    assert copy is not None
    writer, printer = Writer(), Printer(CUDA)
    numbers = LaunchParameters((), {}, frozenset({"n"}))
    CopyLoopPrinter(writer, printer, numbers, STEP, "from", "worker", "to", "stride").print(copy)
    return " ".join(writer.text().split())


def test_all_loads_stand_ahead_of_the_stores() -> None:
    text = printed(COPY)
    load, store = text.index("held[copy] = a["), text.index("] = held[copy];")
    assert load < store and text.count("#pragma unroll for") == 2
    assert text.startswith("const tilek_index j_most = to - 1;")
    assert f"for (tilek_index j_first = from + worker; j_first <= j_most; j_first += {AT_ONCE} * stride)" in text
    assert f"float held[{AT_ONCE}];" in text
    assert text.count("const tilek_index j = j_first + copy * stride; if (j <= j_most) {") == 2


def test_what_is_the_same_for_all_elements_stands_before_the_loop() -> None:
    """The loop goes from the first element to the last, which alone is tested."""
    within = both(test(">=", STEP, binary("-", ROW, N)), test("<=", STEP, binary("+", ROW, N)))
    text = printed(where(test(">=", ROW, N), where(within, PLACE, COPY)))
    before, loop = text.split("#pragma unroll 1")
    assert before == (
        "if (i >= n) { const tilek_index j_least = tilek_maximum_index(from, i - n); "
        "const tilek_index j_most = tilek_minimum_index(to - 1, i + n); "
    )
    assert "for (tilek_index j_first = j_least + worker; j_first <= j_most;" in loop
    assert loop.count("if (j <= j_most) {") == 2
    assert loop.count("p = j + t;") == 2 and "i - n" not in loop


ABOVE = both(test(">=", ROW, N), test(">=", STEP, binary("-", ROW, 1)))
BELOW = both(test(">=", STEP, binary("+", ROW, 1)), test("<=", STEP, T))


def test_each_of_two_sets_has_its_own_ends_and_is_empty_where_a_row_has_none_of_it() -> None:
    """The ends that both have are joined with those of each."""
    text = printed(where(both(test(">=", STEP, N), E(expr(binary("||", ABOVE, BELOW)))), COPY))
    before, loop = text.split("#pragma unroll 1")
    assert before.startswith(
        "const tilek_index j_least = i >= n ? tilek_maximum_index(tilek_maximum_index(from, n), i - 1) : to; "
        "const tilek_index j_most = to - 1; "
        "const tilek_index j_least_2 = tilek_maximum_index(tilek_maximum_index(from, n), i + 1); "
        "const tilek_index j_most_2 = tilek_minimum_index(to - 1, t); "
        "const int none = j_least > j_most; const int none_2 = j_least_2 > j_most_2; "
    )
    assert loop.count("if (j <= j_to && (j <= j_before || j >= j_behind)) {") == 2


def test_elements_of_two_ranges_are_copied_once_and_no_others(tmp_path: Path) -> None:
    """Ranges that meet, overlap, have a gap, contain each other or are empty, on three workers."""
    first = both(test(">=", STEP, N), test("<=", STEP, T))
    second = both(test(">=", STEP, P), test("<=", STEP, ROW))
    loop = printed(where(E(expr(binary("||", first, second))), assign(at(BOX, STEP, STEP), at(A, STEP, STEP))))
    loop = re.sub(r"#pragma unroll(?: 1)? ", "", loop)
    loop = re.sub(r"box\[[^;]*\] = held\[copy\]", "++copied[j] + 0 * held[copy]", loop)
    loop = re.sub(r"(held\[copy\] = )a\[[^;]*\]", r"\g<1>1", loop)
    source = tmp_path / "loop.c"
    source.write_text(
        f"""#include <stdio.h>
        typedef long tilek_index;
        static long tilek_minimum_index(long a, long b) {{ return a < b ? a : b; }}
        static long tilek_maximum_index(long a, long b) {{ return a > b ? a : b; }}
        static int is_wrong(long n, long t, long p, long i) {{
            const long from = 1, to = 6, stride = 3;
            int copied[16] = {{0}};
            for (long worker = 0; worker < stride; ++worker) {{ {loop} }}
            for (long j = 0; j < 16; ++j)
                if (copied[j] != (j >= from && j < to && ((j >= n && j <= t) || (j >= p && j <= i)))) return 1;
            return 0;
        }}
        int main(void) {{
            for (long n = -1; n < 8; ++n)
                for (long t = -1; t < 8; ++t)
                    for (long p = -1; p < 8; ++p)
                        for (long i = -1; i < 8; ++i)
                            if (is_wrong(n, t, p, i)) return 1;
            return 0;
        }}"""
    )
    subprocess.run(("cc", "-std=c99", "-w", "-o", tmp_path / "loop", source), check=True)
    assert subprocess.run((tmp_path / "loop",), check=False).returncode == 0


def test_a_condition_on_what_the_body_declares_stays_in_the_loop() -> None:
    text = printed(where(test(">=", ROW, binary("+", STEP, N)), COPY))
    assert "i >= j + n" not in text.split("#pragma unroll 1")[0] and text.count("i >= j + n") == 2


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
