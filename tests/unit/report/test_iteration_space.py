"""Points, pairs, tiles and wavefronts at small sizes, against plain loops and the thesis."""

from __future__ import annotations

import itertools

import pytest

from tests.unit.report.pictures import CASES, TILED, golden, nests, space_of
from tilepragma.report.iteration_space import NotDrawableError, iteration_space


def test_points_of_a_triangle_are_those_of_the_loops() -> None:
    space = space_of(golden("lu"), {"n": 5})
    expected = []
    for k in range(5):
        expected += [(0, (k, i)) for i in range(k + 1, 5)]
        expected += [(1, (k, i, j)) for i in range(k + 1, 5) for j in range(k + 1, 5)]
    assert [
        (instance.statement, instance.point) for instance in space.instances
    ] == expected  # in the order of execution, too
    assert space.sizes == {"n": 5}


def test_pairs_are_table_3_1() -> None:
    """The five dependences of the thesis's Figure 3.4, each at every iteration where both ends exist."""
    space = space_of(golden("smooth"), {"J": 6, "I": 7})
    counted: dict[tuple[str, tuple[int, ...] | None], int] = {}
    for pair in space.pairs:
        counted[pair.kind, pair.distance] = counted.get((pair.kind, pair.distance), 0) + 1
    assert counted == {
        ("flow", (1, 0)): 5 * 7,
        ("flow", (1, -1)): 5 * 6,
        ("anti", (0, 1)): 6 * 6,
        ("anti", (1, 0)): 5 * 7,
        ("output", (1, 0)): 5 * 7,
    }


def test_tiles_are_those_of_the_hyperplanes() -> None:
    """floor(j/4) and floor((j + i)/4), and wavefronts of equal sums (the thesis's Figure 4.1 with tiles of 4)."""
    space = space_of(golden("smooth"))
    sums = sorted({sum(instance.tile) for instance in space.instances})
    for instance in space.instances:
        j, i = instance.point
        assert instance.tile == (j // 4, (j + i) // 4)
        assert instance.wavefront == sums.index(sum(instance.tile))


def test_diamonds_all_begin_together() -> None:
    space = space_of(golden("jacobi_1d"))
    per_wavefront: dict[int, set[tuple[int, ...]]] = {}
    for instance in space.instances:
        t, i = instance.point
        half = instance.statement
        assert instance.tile == ((2 * t - i + half) // space.extent, (2 * t + i + half) // space.extent)
        per_wavefront.setdefault(instance.wavefront, set()).add(instance.tile)
    counts = [len(per_wavefront[number]) for number in sorted(per_wavefront)]
    assert min(counts) > 1
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("name", CASES)
def test_tiles_are_drawn_where_the_plan_has_such(name: str) -> None:
    tiles = {instance.tile for instance in space_of(golden(name)).instances}
    assert (tiles != {()}) == (name in TILED)


@pytest.mark.parametrize("name", TILED)
def test_wavefronts_respect_every_dependence(name: str) -> None:
    """A sink is in its source's tile or in a later wavefront: tiles of one wavefront are independent."""
    space = space_of(golden(name))
    assert space.pairs
    for pair in space.pairs:
        source, sink = space.instances[pair.source], space.instances[pair.sink]
        assert source.tile == sink.tile or source.wavefront < sink.wavefront


def test_loops_that_count_their_iterations_have_no_tiles_drawn() -> None:
    """The plan's hyperplanes are then those of the counts."""
    space = space_of(
        "void f(int n, double a[n][n])\n{\n#pragma tilek kernel\n    for (int i = 2; i < n - 1; i += 2)\n"
        "        for (int j = 1; j < n - 1; j++)\n            a[i][j] = a[i - 2][j] + a[i][j - 1];\n}\n"
    )
    assert {instance.tile for instance in space.instances} == {()}


def test_sizes_of_the_user_are_taken_where_they_are_small() -> None:
    assert space_of(golden("smooth"), {"J": 4}).sizes["J"] == 4
    assert space_of(golden("smooth"), {"J": 5000}).sizes["J"] < 20


def test_long_constant_loops_are_cut_short() -> None:
    space = space_of(
        "void f(double a[4000])\n{\n#pragma tilek kernel\n"
        "    for (int i = 3999; i > 0; i -= 2)\n        a[i] = a[i] + 1.0;\n}\n"
    )
    assert space.cut
    assert [instance.point for instance in space.instances] == [(value,) for value in range(3999, 3999 - 2 * 40, -2)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("for (int i = 0; i < m[m[0]]; i++)\n x[i] = 0.0;", "affine"),
        ("for (int i = 0; i < 0; i++)\n x[i] = 0.0;", "no iterations"),
    ],
)
def test_nests_without_a_picture(body: str, said: str) -> None:
    (nest,) = nests(f"void f(int n, const int m[1], double x[n])\n{{\n#pragma tilek kernel\n{body}\n}}\n")
    assert nest.analysis is not None
    with pytest.raises(NotDrawableError) as refused:
        iteration_space(nest.analysis, {})
    assert said in str(refused.value)


def test_every_instance_is_there_once() -> None:
    for name in CASES:
        space = space_of(golden(name))
        keys = [(instance.statement, instance.point) for instance in space.instances]
        assert len(set(keys)) == len(keys)
        assert all(0 <= end < len(keys) for pair in space.pairs for end in (pair.source, pair.sink))
        assert not any(a == b for a, b in itertools.pairwise(keys))


def test_of_four_loops_three_are_drawn() -> None:
    space = space_of(
        "void f(int n, double x[n][n][n])\n{\n#pragma tilek kernel\n"
        "for (int t = 0; t < n; t++) for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) for (int k = 1; k < n; k++)\n"
        " x[i][j][k] = x[i - 1][j][k] + x[i][j][k - 1];\n}\n",
        {"n": 4},
    )
    assert space.depth == 3
    assert space.fixed == {"k": 2}
    assert [instance.point for instance in space.instances] == [
        (t, i, j) for t in range(4) for i in (1, 2, 3) for j in (1, 2, 3)
    ]
    assert {pair.distance for pair in space.pairs} == {(0, 1, 0), (1, -1, 0), (1, 0, 0)}
