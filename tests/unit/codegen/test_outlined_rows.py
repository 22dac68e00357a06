"""Which innermost loops of host functions become functions of their own, and through which pointers these reach their elements."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import E, array, assign, at, binary, loop, place, scalar

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.dialect import C
from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.statements import Rows, StatementPrinter
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import Loop, Statement

P, J, N = (scalar(name, scope=Scope.LOCAL) for name in "ijn")
A, B, C_ = array("A", 9, 9), array("B", 9, 9), array("C", 9, 9)
V, W = array("V", N, N), array("W", N, N)


def five(of: DataObject = A) -> E:
    """Five points around one of an array."""
    total = binary("+", at(of, P, J), at(of, binary("-", P, 1), J))
    for near in (at(of, binary("+", P, 1), J), at(of, P, binary("-", J, 1)), at(of, P, binary("+", J, 1))):
        total = total + near
    return total


def row(*statements: Statement, **more: object) -> Loop:
    return replace(loop(2, J, 1, binary("-", N, 1), statements), range=NOWHERE, **more)


def printed(node: Loop) -> tuple[str, str]:
    """The loop's text where it stood, and the functions' without their spaces."""
    rows = Rows("f_row", dict.fromkeys((A, B, V, W), ()))
    writer = Writer()
    StatementPrinter(writer, Printer(C), LaunchParameters((), {}, frozenset({"n"})), rows=rows).statement(node)
    return " ".join(writer.text().split()), " ".join("".join(rows.texts).split())


def test_one_pointer_for_all_elements_at_known_distances() -> None:
    call, function = printed(row(assign(at(B, P, J), five())))
    assert (
        call
        == "{ const int j_end = n - 1; const int j = 1; if (j < j_end) f_row1((long)j_end - j, &B[i][j], &A[i][j]); }"
    )
    assert function == (
        "TILEK_ROW void f_row1(const long j_count, float *restrict B_row, const float *restrict A_row) { "
        "for (long j_index = 0; j_index < j_count; ++j_index) { "
        "B_row[j_index] = A_row[j_index] + A_row[j_index - 9] + A_row[j_index + 9] + A_row[j_index - 1] + A_row[j_index + 1]; } }"
    )


def test_one_pointer_for_each_row_where_lengths_are_unknown() -> None:
    call, function = printed(row(assign(at(W, P, J), five(V)), comparison="<="))
    assert "if (j <= j_end) f_row1((long)j_end - j + 1, &W[i][j], &V[i][j], &V[i - 1][j], &V[i + 1][j]);" in call
    assert (
        "W_row[j_index] = V_row1[j_index] + V_row2[j_index] + V_row3[j_index] + V_row1[j_index - 1] + V_row1[j_index + 1];"
        in function
    )


def test_values_that_the_body_reads_are_handed_on() -> None:
    call, function = printed(row(assign(at(B, P, J), binary("+", five(), binary("*", at(V, 0, 3), binary("+", P, J))))))
    assert call.endswith("f_row1((long)j_end - j, &B[i][j], &A[i][j], &V[0][3], i, j); }")
    assert "const float *restrict V_row, const int i, const long j_first)" in function
    assert "{ int j = j_first + j_index; B_row[j_index] = " in function and "V_row[0] * (i + j);" in function


@pytest.mark.parametrize(
    "node",
    [
        row(assign(at(B, P, J), binary("+", at(A, P, J), at(A, P, binary("+", J, 1))))),  # few elements
        row(assign(at(A, P, J), five())),  # waits for the iteration before
        row(assign(at(W, P, J), five(V)), assign(at(W, binary("+", P, 1), J), 0)),  # written through two pointers
        row(assign(at(C_, P, J), five())),  # C may overlap A
        row(assign(at(B, J, P), five())),  # steps along a column
        row(assign(at(B, P, J), five()), step=binary("+", 1, 1).node),
        replace(row(assign(at(B, P, J), five())), range=place(4)),  # the user's
        row(assign(at(B, P, J), five()), declares_iterator=False),
    ],
)
def test_loops_that_stay(node: Loop) -> None:
    call, functions = printed(node)
    assert "for (" in call and not functions
