"""The adjacency constraints (1) and (2) of ICS'08 section 4.2, and what neighbouring workers make of accesses, counted out too."""

from __future__ import annotations

import itertools
import random

import islpy as isl
import pytest

from tests.support.scops import scop
from tests.support.stencil_programs import statement
from tests.thesis.adjacency_constraints import adjacent, at_one_time, by_next_worker, is_coalesced
from tilepragma.poly.adjacency import (
    Pattern,
    Reach,
    only_move,
    pattern,
    step_by,
    worker_step,
)
from tilepragma.poly.dependences import memory_dependences
from tilepragma.poly.schedule import Row, affine_map
from tilepragma.poly.scop import Reference, Scop, ScopStatement

SQUARE = "0 <= i < N and 0 <= j < N"
OF_I, OF_J = Row((1, 0), 0, 0), Row((0, 1), 0, 0)
MV = statement("Q", "i, j", SQUARE, (0, 0, 0), "x[i]", "a[i, j]", "y[j]", "x[i]")
TMV = statement("T", "i, j", SQUARE, (0, 0, 0), "x[i]", "a[j, i]", "y[j]", "x[i]")


def access(of: ScopStatement, array: str) -> Reference:
    return next(each for each in of.references if each.object.name == array)


def dispelled(program: Scop, time: Row) -> bool:
    """Whether theta_t(y) - theta_s(x) > 0 for all dependences of the deepest statement on itself."""
    deepest = max(program.statements, key=lambda each: each.depth)
    times = affine_map(deepest, (time,))
    own = [each for each in memory_dependences(program) if each.ends == (deepest.name, deepest.name)]
    assert own
    return all(times.lex_lt_map(times).intersect(each.relation).is_equal(each.relation) for each in own)


def kernel(subscripts: str) -> Scop:
    return scop(
        "int n, float a[n][n], float x[n], float y[n]",
        f"for (int i = 0; i < n; i++) {{ x[i] = 0; for (int j = 0; j < n; j++) x[i] += a{subscripts} * y[j]; }}",
    )


# -- section 4.3


def test_adjacent_elements_of_a_row() -> None:
    result = adjacent(access(MV, "a").relation, MV.domain)
    assert result.is_equal(isl.Map("[T, N] -> { Q[i, j] -> Q[i, j + 1] : 0 <= i < N and 0 <= j < N - 1 }"))


def test_mv_has_no_coalescing_transformation() -> None:
    # theta_Q = j, pi_Q = i is legal, but does not satisfy (1); what (1) asks for, theta_Q = i, does
    # not dispel the dependences.
    pairs = adjacent(access(MV, "a").relation, MV.domain)
    assert not at_one_time(pairs, affine_map(MV, (OF_J,)))
    assert not is_coalesced(access(MV, "a"), MV, (OF_J,), OF_I)
    assert at_one_time(pairs, affine_map(MV, (OF_I,)))
    assert is_coalesced(access(MV, "a"), MV, (OF_I,), OF_J)
    assert dispelled(kernel("[i][j]"), OF_J)
    assert not dispelled(kernel("[i][j]"), OF_I)


def test_tmv_is_coalesced_by_theta_j_and_pi_i() -> None:
    pairs = adjacent(access(TMV, "a").relation, TMV.domain)
    assert at_one_time(pairs, affine_map(TMV, (OF_J,)))
    assert by_next_worker(pairs, affine_map(TMV, (OF_I,)))
    assert is_coalesced(access(TMV, "a"), TMV, (OF_J,), OF_I)
    assert not is_coalesced(access(TMV, "a"), TMV, (OF_I,), OF_J)
    assert dispelled(kernel("[j][i]"), OF_J)


def test_blocks_of_workers_nullify_the_constraint() -> None:
    # Table 3: pi = floor(i / 4) is not one more for the next element.
    blocked = isl.Map("[T, N] -> { T[i, j] -> [floor(i / 4)] }")
    assert not by_next_worker(adjacent(access(TMV, "a").relation, TMV.domain), blocked)


# -- what workers make of accesses


@pytest.mark.parametrize(
    ("subscripts", "along_i", "along_j"),
    [
        ("i, j", Pattern(Reach.STRIDED, (1, 0)), Pattern(Reach.COALESCED)),
        ("j, i", Pattern(Reach.COALESCED), Pattern(Reach.STRIDED, (1, 0))),
        ("i, i", Pattern(Reach.STRIDED, (1, 1)), Pattern(Reach.BROADCAST)),
        ("i, j - 7", Pattern(Reach.STRIDED, (1, 0)), Pattern(Reach.COALESCED)),
        ("i + 3, N - j", Pattern(Reach.STRIDED, (1, 0)), Pattern(Reach.COALESCED)),
        ("0, 2j", Pattern(Reach.BROADCAST), Pattern(Reach.STRIDED, (0, 2))),
        ("i + j", Pattern(Reach.COALESCED), Pattern(Reach.COALESCED)),
        ("2i - 3j", Pattern(Reach.STRIDED, (2,)), Pattern(Reach.STRIDED, (-3,))),
        ("floor(j / 2)", Pattern(Reach.BROADCAST), Pattern(Reach.COALESCED)),
        ("j mod 4", Pattern(Reach.BROADCAST), Pattern(Reach.SCATTERED)),
        ("i, floor(j / 2) * 2", Pattern(Reach.STRIDED, (1, 0)), Pattern(Reach.SCATTERED)),
    ],
)
def test_patterns(subscripts: str, along_i: Pattern, along_j: Pattern) -> None:
    made = statement("S", "i, j", SQUARE, (0, 0, 0), f"A[{subscripts}]")
    relation = made.references[0].relation
    assert pattern(relation, step_by(made.domain, (1, 0))) == along_i
    assert pattern(relation, step_by(made.domain, (0, 1))) == along_j


def test_scalars_and_statements_without_neighbours_are_one_element_for_all() -> None:
    made = statement("S", "i, j", f"{SQUARE} and i = 3", (0, 0, 0), "A[i, j]")
    scalar = isl.Map("[T, N] -> { S[i, j] -> s[] }")
    assert pattern(scalar, step_by(made.domain, (0, 1))) == Pattern(Reach.BROADCAST)
    assert pattern(made.references[0].relation, step_by(made.domain, (1, 0))) == Pattern(Reach.BROADCAST)


def test_the_next_worker_has_the_next_iteration_of_a_loop_with_a_step() -> None:
    made = statement("S", "i, j", f"{SQUARE} and i mod 3 = 1", (0, 0, 0), "A[i]", "A[j]", "B[i, j]")
    of_i, of_j, of_both = (reference.relation for reference in made.references)
    assert pattern(of_i, step_by(made.domain, (1, 0))) == Pattern(Reach.STRIDED, (3,))
    assert pattern(of_j, step_by(made.domain, (0, 1))) == Pattern(Reach.COALESCED)
    assert pattern(of_both, step_by(made.domain, (1, 0))) == Pattern(Reach.STRIDED, (3, 0))


def test_any_element_is_scattered() -> None:
    any_element = isl.Map("[T, N] -> { S[i, j] -> A[a] : 0 <= a < N }")
    domain = isl.Set(f"[T, N] -> {{ S[i, j] : {SQUARE} }}")
    assert pattern(any_element, step_by(domain, (0, 1))) == Pattern(Reach.SCATTERED)
    assert pattern(any_element, None) == Pattern(Reach.SCATTERED)


def test_transactions_of_a_warp() -> None:
    apart = {0: 1, 1: 4, 2: 8, 3: 12, 8: 32, 100: 32, -2: 8}
    for stride, count in apart.items():
        made = statement("S", "i", "0 <= i < N", (0, 0), f"A[{stride}i + 5]")
        assert pattern(made.references[0].relation, step_by(made.domain, (1,))).transactions == count
    assert Pattern(Reach.STRIDED, (1, 0)).transactions == Pattern(Reach.SCATTERED).transactions == 32


def test_workers_along_skewed_rows() -> None:
    # Gauss-Seidel's rows (t, t + i): with t fixed the next worker has the next i; with t + i fixed,
    # i - 1 in the step t + 1.
    made = statement("S", "t, i", "0 <= t < T and 0 < i < N", (0, 0, 0), "A[i]", "B[t, i]")
    time, skewed = Row((1, 0), 0, 0), Row((1, 1), 0, 0)
    of_a, of_b = (reference.relation for reference in made.references)
    assert pattern(of_a, worker_step(made, (time,), skewed)) == Pattern(Reach.COALESCED)
    assert pattern(of_b, worker_step(made, (time,), skewed)) == Pattern(Reach.COALESCED)
    assert pattern(of_b, worker_step(made, (skewed,), time)) == Pattern(Reach.STRIDED, (1, -1))
    assert worker_step(made, (), skewed) is None, "no one direction"
    assert worker_step(made, (time,), time) is None


def test_imperfect_nests_and_arrays_indexed_by_hand() -> None:
    made = scop(
        "int n, int m, float *a, float *x",
        "for (int i = 0; i < n; i++) { x[2 * i] = 0; for (int j = 0; j < m; j++) x[2 * i] += a[i * m + j]; }",
    )
    outer, inner = made.statements
    assert pattern(access(outer, "x").relation, step_by(outer.domain, (1,))) == Pattern(Reach.STRIDED, (2,))
    assert pattern(access(inner, "a").relation, step_by(inner.domain, (1, 0))) == Pattern(Reach.STRIDED, (1, 0))
    assert pattern(access(inner, "a").relation, step_by(inner.domain, (0, 1))) == Pattern(Reach.COALESCED)


# -- counted out


@pytest.mark.parametrize("seed", range(12))
def test_patterns_are_those_of_enumerated_instances(seed: int) -> None:
    chosen = random.Random(seed)
    rank, extents = chosen.choice((1, 2)), (4, 5)
    factors = [[chosen.choice((-2, -1, 0, 0, 1, 1, 2)) for _ in range(2)] for _ in range(rank)]
    offsets = [chosen.randrange(-3, 4) for _ in range(rank)]
    texts = [f"{f[0]}i + {f[1]}j + {o}" for f, o in zip(factors, offsets, strict=True)]
    made = statement("S", "i, j", "0 <= i < 4 and 0 <= j < 5", (0, 0, 0), f"A[{', '.join(texts)}]")

    def element(i: int, j: int) -> tuple[int, ...]:
        return tuple(f[0] * i + f[1] * j + o for f, o in zip(factors, offsets, strict=True))

    for direction in ((1, 0), (0, 1), (1, -1)):
        result = pattern(made.references[0].relation, step_by(made.domain, direction))
        moves = set()
        for i, j in itertools.product(range(extents[0]), range(extents[1])):
            then = (i + direction[0], j + direction[1])
            if 0 <= then[0] < extents[0] and 0 <= then[1] < extents[1]:
                moves.add(tuple(b - a for a, b in zip(element(i, j), element(*then), strict=True)))
        (move,) = moves
        if not any(move):
            assert result.reach is Reach.BROADCAST
        elif not any(move[:-1]) and abs(move[-1]) == 1:
            assert result.reach is Reach.COALESCED
        else:
            assert result == Pattern(Reach.STRIDED, move)


@pytest.mark.parametrize("seed", range(12))
def test_the_constraints_hold_where_workers_touch_neighbours(seed: int) -> None:
    # Of an access that meets every element once, under rows that tell all instances apart.
    chosen = random.Random(100 + seed)
    while True:
        theta, pi, first, last = ([chosen.randrange(-1, 2) for _ in range(2)] for _ in range(4))
        if abs(theta[0] * pi[1] - theta[1] * pi[0]) == 1 and abs(first[0] * last[1] - first[1] * last[0]) == 1:
            break
    subscripts = ", ".join(f"{f[0]}i + {f[1]}j" for f in (first, last))
    made = statement("S", "i, j", "0 <= i < 6 and 0 <= j < 6", (0, 0, 0), f"A[{subscripts}]")
    time, place = Row(tuple(theta), 0, 0), Row(tuple(pi), 0, 0)
    step = worker_step(made, (time,), place)
    assert step is not None
    along = pattern(made.references[0].relation, step)
    forward = step.apply_domain(made.references[0].relation).apply_range(made.references[0].relation)
    ahead = not forward.is_empty() and forward.deltas().is_equal(isl.Set("{ A[0, 1] }"))
    assert is_coalesced(made.references[0], made, (time,), place) == (along.reach is Reach.COALESCED and ahead)


def test_without_instances_no_access_moves() -> None:
    empty = statement("Q", "i, j", "0 <= i < N and 0 <= j < 0", (0, 0, 0), "x[i]", "a[i, j]")
    step = step_by(empty.domain, (1, 0))
    assert only_move(access(empty, "a").relation, step) is None
    assert pattern(access(empty, "a").relation, step).reach is Reach.BROADCAST
