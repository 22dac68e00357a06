"""Relations of plans' instances to statements, as proofs take them."""

from __future__ import annotations

import islpy as isl
import pytest

from tilepragma.verify.instances import in_one_piece


@pytest.mark.parametrize(
    ("relation", "pieces"),
    [
        # What bounds of tiles make of { [t, i] -> S[i] : 0 <= i < n and 4 t <= i <= 4 t + 3 }.
        (
            "[n] -> { [t, i] -> S[i] : 0 <= i < n and 4t <= i <= 4t + 3 and 4t < n - 4;"
            " [t, i] -> S[i] : 0 <= i < n and 4t <= i <= 4t + 3 and 4t >= n - 4 }",
            1,
        ),
        ("[n] -> { [i] -> S[i] : 0 <= i < n; [i] -> S[i] : n < i <= 2n }", 2),
        ("{ [i] -> S[i] : 0 <= i < 8 and i mod 2 = 0; [i] -> S[i] : 20 <= i < 28 and i mod 2 = 0 }", 2),
        ("{ [i] -> S[i] : 0 <= i < 8 }", 1),
    ],
)
def test_convex_relations_are_one_piece_and_the_same(relation: str, pieces: int) -> None:
    given = isl.Map(relation)
    result = in_one_piece(given)
    assert result.is_equal(given)
    assert result.n_basic_map() == pieces
