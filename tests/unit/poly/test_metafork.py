"""Figures of the MetaFork slides (FACTS.md) that dependences and footprints give."""

from __future__ import annotations

from functools import reduce

import islpy as isl
import pytest

from tests.support.scops import references, scop
from tilepragma.poly.dependences import may_differ, memory_dependences
from tilepragma.poly.scop import Scop

PRODUCT = scop(
    "int x, int y, int z, double A[x][y], double B[x][z], double C[z][y]",
    """
    for (int i = 0; i < x; i++)
        for (int j = 0; j < y; j++)
            for (int k = 0; k < z; k++)
                A[i][j] += B[i][k] * C[k][j];
    """,
)


def elements(made: Scop, name: str, where: str) -> int:
    """The number of elements of { a : exists S[i] in `where`: S[i] touches name[a] }."""
    statement = made.statements[0]
    chosen = isl.Set(where, context=made.context)
    touched = (
        reference.relation.intersect_domain(statement.domain).intersect_domain(chosen).range()
        for reference in references(made, name)
    )
    return int(str(reduce(isl.Set.union, touched).count_val()))


#: 1024 results of a product over k = 384: those of one row, and those of a block of 32 by 32.
SIZES = "x = 1024 and y = 1024 and z = 384"
ROW = f"[x, y, z] -> {{ S0[i, j, k] : i = 7 and {SIZES} }}"
BLOCK = f"[x, y, z] -> {{ S0[i, j, k] : 32 <= i < 64 and 96 <= j < 128 and {SIZES} }}"


@pytest.mark.parametrize(
    ("where", "wanted", "total"),
    [
        # The slide's terms are these; it prints their sum as 394 524.
        (ROW, (1024, 384, 393_216), 394_624),
        (BLOCK, (1024, 32 * 384, 384 * 32), 25_600),
    ],
    ids=["row", "block"],
)
def test_the_product_touches_fewer_elements_in_blocks(where: str, wanted: tuple[int, ...], total: int) -> None:
    result = tuple(elements(PRODUCT, name, where) for name in "ABC")
    assert result == wanted
    assert sum(result) == total


@pytest.mark.parametrize("block", [8, 16, 48])
def test_the_jacobi_block_of_b_points_needs_b_plus_2(block: int) -> None:
    made = scop(
        "int n, double a[n], double b[n]",
        "for (int i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;",
    )
    where = f"[n] -> {{ S0[i] : {block} < i <= {2 * block} and n = 1000 }}"
    assert elements(made, "a", where) == block + 2
    assert elements(made, "b", where) == block


def carried(parameters: str, body: str) -> list[tuple[bool, ...]]:
    """Per dependence whether it crosses the iterations of each loop."""
    made = scop(parameters, body)
    return [
        tuple(may_differ(each.distances, depth) for depth in range(len(each.loops)))
        for each in memory_dependences(made)
        if each.loops
    ]


def test_the_wavefront_of_the_slides_is_carried_by_both_loops() -> None:
    """c[n][k] = c[n-1][k] + c[n][k-1] becomes parallel in p = k by t = n + k: no dependence has t - t' = 0."""
    made = scop(
        "int N, int K, int c[N][K]",
        """
        for (int n = 1; n < N; n++)
            for (int k = 1; k < K; k++)
                c[n][k] = c[n - 1][k] + c[n][k - 1];
        """,
    )
    results = [each for each in memory_dependences(made) if each.loops]
    assert {tuple(may_differ(each.distances, depth) for depth in (0, 1)) for each in results} == {
        (True, False),
        (False, True),
    }
    same_wavefront = isl.Set("{ [n, k] : n + k = 0 }", context=made.context)
    assert all(each.distances.intersect(same_wavefront).is_empty() for each in results)


def test_the_polynomial_product_is_parallel_in_its_coefficients() -> None:
    """Under t = n - j, p = i + j all that meets in c[p] has the same p, and t gives its order."""
    made = scop(
        "int n, double a[n], double b[n], double c[2 * n]",
        """
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                c[i + j] += a[i] * b[j];
        """,
    )
    results = [each for each in memory_dependences(made) if each.loops]
    other_coefficient = isl.Set("{ [i, j] : i + j != 0 }", context=made.context)
    assert results
    assert all(each.distances.intersect(other_coefficient).is_empty() for each in results)


@pytest.mark.parametrize(
    ("parameters", "body", "parallel"),
    [
        ("int n, double a[n], double b[n]", "for (int i = 0; i < n; i++) b[n - 1 - i] = a[i];", True),
        (
            "int n, double A[n][n], double x[n], double y[n]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] += A[i][j] * x[j];",
            True,
        ),
        ("int n, double c[n]", "for (int i = 1; i < n; i++) c[i] = c[i - 1];", False),
    ],
    ids=["reversal", "matrix-vector", "recurrence"],
)
def test_outermost_loops_of_the_slides_kernels(parameters: str, body: str, parallel: bool) -> None:
    assert all(not loops[0] for loops in carried(parameters, body)) == parallel
