"""The table of sweeps by method: its cells, and what is said where the order is not that of the thesis."""

from __future__ import annotations

import pytest

from benchmarks.convergence import SUBDOMAINS, methods, out_of_order, rows


def found(alternating: tuple[float, ...], forward: tuple[float, ...]) -> dict[str, float]:
    words = [f"{layers}:{side}" for layers, side in SUBDOMAINS]
    return {
        "sor": 100.0,
        "redblack": 101.6,
        **{f"mlsor:{word}": value for word, value in zip(words, alternating, strict=True)},
        **{f"forward:{word}": value for word, value in zip(words, forward, strict=bool(forward))},
    }


def test_the_cells_of_the_table() -> None:
    table = rows([found((140, 130, 120, 110), (150, 140, 130, 120)), found((9, 8, 7, 6), (10, 9, 8, 7))])
    assert table[1] == ["red-black", "102", "102"]
    assert table[2] == ["MLSOR 2 x 4 x 4", "140 (150)", "9 (10)"]
    assert table[-1] == ["MLSOR 16 x 32 x 32", "110 (120)", "6 (7)"]


def test_kernels_have_none_that_go_forward_alone() -> None:
    assert not any(each.startswith("forward") for each in methods(kernels=True))
    assert len(list(methods(kernels=False))) == len(list(methods(kernels=True))) + len(SUBDOMAINS)
    without = {word: value for word, value in found((140, 130, 120, 110), ()).items() if value}
    assert rows([without])[2] == ["MLSOR 2 x 4 x 4", "140"]
    assert out_of_order(without) == []


@pytest.mark.parametrize(
    ("alternating", "forward", "said"),
    [
        ((140, 130, 120, 112), (150, 140, 130, 120), []),
        ((140, 130, 130, 110), (150, 140, 131, 120), ["larger subdomains do not always need fewer sweeps"]),
        ((140, 130, 120, 110), (150, 130, 130, 120), ["going forward alone is not always slower"]),
        ((140, 130, 120, 113), (150, 140, 130, 120), ["the largest subdomains need 1.13 of SOR's sweeps"]),
    ],
)
def test_what_is_not_as_in_the_thesis(
    alternating: tuple[float, ...], forward: tuple[float, ...], said: list[str]
) -> None:
    assert out_of_order(found(alternating, forward)) == said
