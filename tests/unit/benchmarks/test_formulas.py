"""Arithmetic of tables of cases."""

from __future__ import annotations

import pytest

from benchmarks.formulas import sizes_of, value_of


def test_formulas_are_of_sizes() -> None:
    sizes = sizes_of("N=10 M=3")
    assert sizes == {"N": 10, "M": 3}
    assert value_of("2*N**3/4 + (N-M)*M", sizes) == 521
    assert value_of("N*(N+1)//2 * 0.5", sizes) == 27.5


@pytest.mark.parametrize("formula", ["K", "N.real", "print(N)", "-N", "N if N else M", "'N'", "True"])
def test_formulas_are_nothing_else(formula: str) -> None:
    with pytest.raises(ValueError, match="no arithmetic in N"):
        value_of(formula, {"N": 10})
