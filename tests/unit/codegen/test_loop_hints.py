"""What the programs for processors say of innermost loops."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import array, assign, at, binary, expr, loop, scalar

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.dialect import CUDA, OPENCL, PROCESSOR, C, Dialect
from tilepragma.codegen.loop_hints import loop_hints, user_pragmas
from tilepragma.codegen.printer import Printer
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, If, LoopPragma, PragmaClause, Statement
from tilepragma.ir.types import DOUBLE, INT

K, J, N = (scalar(name, scope=Scope.LOCAL) for name in "kjn")
S = scalar("s", DOUBLE)
ROW = replace(scalar("row", INT, Scope.LOCAL), const=True)
A, B = array("A", N, N, type_=DOUBLE), array("B", N, N, type_=DOUBLE)
F, G = array("F", N), array("G", N, type_=INT)
CONTRACTING = replace(PROCESSOR, contracts=True)
CHAIN = ("", "#pragma OPENCL FP_CONTRACT OFF")
NOTHING = ("", "")


def vectors(width: int) -> tuple[str, str]:
    return f"#pragma clang loop vectorize_width({width}) interleave_count(2)", ""


def hints(*statements: Statement, dialect: Dialect = CONTRACTING, step: int = 1) -> tuple[str, str]:
    return loop_hints(dialect, J, expr(step), Block(statements))


def row_is(value: object) -> Declaration:
    return Declaration((Declarator(ROW, expr(value)),), NOWHERE)


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ([assign(at(A, K, binary("+", J, 1)), binary("*", at(B, K, J), at(B, J, 0)))], NOTHING),
        ([assign(at(A, K, binary("+", J, 1)), binary("*", at(B, K, J), at(B, K, 0)))], vectors(8)),
        ([assign(at(F, J), binary("+", at(F, J), 1.0))], vectors(16)),
        ([assign(at(F, J), binary("+", at(F, J), S))], vectors(8)),
        ([assign(at(G, J), binary("+", at(G, J), 1))], vectors(16)),
        ([assign(at(A, K, binary("*", 2, J)), 0)], NOTHING),
        ([assign(at(A, J, K), 0)], NOTHING),
        ([assign(at(A, K, at(G, J)), 0)], NOTHING),
        ([row_is(binary("+", J, K)), assign(at(F, ROW), 0)], vectors(16)),
        ([row_is(binary("*", 3, J)), assign(at(F, ROW), 0)], NOTHING),
        ([assign(S, binary("+", S, binary("*", at(A, K, J), at(B, K, J))))], CHAIN),
        ([assign(at(A, K, K), binary("*", at(A, K, J), at(B, K, J)), "+=")], CHAIN),
        ([assign(at(G, K), at(G, J), "+=")], NOTHING),
        ([assign(at(G, binary("+", J, 2)), at(G, J))], NOTHING),  # waits for two iterations before
        ([assign(at(G, J), binary("+", at(G, J), at(G, N)))], NOTHING),  # an element of the same array
        ([If(expr(S), Block((assign(at(F, J), 0),)), None, NOWHERE)], NOTHING),
        ([loop(1, K, 0, N, (assign(at(A, K, J), 0),))], NOTHING),
    ],
)
def test_what_is_said_of_a_loop(statements: list[Statement], said: tuple[str, str]) -> None:
    assert hints(*statements) == said


def test_a_chain_is_as_it_is_where_nothing_is_fused() -> None:
    assert hints(assign(at(A, K, K), at(A, K, J), "+="), dialect=PROCESSOR) == NOTHING


def test_short_loops_become_straight_code() -> None:
    rows = loop(1, K, 0, 6, (loop(2, J, 0, 32, (assign(at(A, K, J), 0.0),)),))
    around = [loop_hints(CONTRACTING, K, rows.step, rows.body, trip) for trip in (6, 17, None)]
    assert around == [("#pragma clang loop unroll(full)", ""), NOTHING, NOTHING]
    row = Block((assign(at(A, K, J), 0.0),))
    counts = [loop_hints(CONTRACTING, J, expr(1), row, trip)[0].split()[-1] for trip in (8, 32, 36, 128)]
    assert counts == [f"interleave_count({count})" for count in (1, 4, 2, 2)]


def test_steps_backwards_and_wider_ones_are_no_vectors() -> None:
    assert [hints(assign(at(F, J), 0), step=step) for step in (-1, 2)] == [NOTHING, NOTHING]


@pytest.mark.parametrize("dialect", [C, OPENCL, CUDA], ids=lambda dialect: dialect.name)
def test_other_compilers_are_told_nothing(dialect: Dialect) -> None:
    assert hints(assign(at(F, J), 0), dialect=dialect) == NOTHING


T = scalar("t", DOUBLE)
SUM = assign(S, binary("+", S, at(F, J)))
REDUCTION = PragmaClause("reduction", "+", ("s",), "")


@pytest.mark.parametrize(
    ("statements", "clauses", "indirect", "said"),
    [
        ((SUM,), (REDUCTION,), (), "#pragma omp simd reduction(+ : s)"),
        ((SUM,), (REDUCTION, PragmaClause("aligned", "", ("f", "F"), " : 64")), (),
         "#pragma omp simd reduction(+ : s) aligned(F : 64)"),
        ((SUM,), (REDUCTION,), (S,), None),  # the text says s[0]
        ((assign(at(G, J), at(F, J)),), (REDUCTION,), (), None),  # the sum is another variable now
        ((SUM, assign(at(A, J, J), 0)), (REDUCTION,), (), None),  # a pass made the loop write another array
        ((assign(T, at(F, J)), assign(at(G, J), T)), (PragmaClause("private", "", ("t", "k"), ""),), (),
         "#pragma omp simd private(t)"),
        ((assign(T, at(F, J)), assign(at(G, J), T)), (PragmaClause("private", "", ("t",), ""),), (T,), None),
        ((Declaration((Declarator(T, at(F, J)),), NOWHERE), assign(at(G, J), T)),
         (PragmaClause("private", "", ("t",), ""),), (), "#pragma omp simd"),
    ],
)  # fmt: skip
def test_the_users_lines_stay_where_they_hold(
    statements: tuple[Statement, ...],
    clauses: tuple[PragmaClause, ...],
    indirect: tuple[DataObject, ...],
    said: str | None,
) -> None:
    pragma = LoopPragma("omp simd", clauses, frozenset({"s", "t", "G"}))
    node = replace(loop(1, J, 0, N, statements), pragmas=(pragma,))
    assert user_pragmas(Printer(C, indirect=frozenset(indirect)), node) == (() if said is None else (said,))
    assert user_pragmas(Printer(CUDA), node) == ()
