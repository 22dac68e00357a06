"""Integer expressions of clauses, by C's rules."""

from __future__ import annotations

import pytest

from tilepragma.ir.clause_values import clause_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n*n", 49),
        (" (n + 1) * 2 - -m ", 13),
        ("m / 2", -1),
        ("m % 2", -1),
        ("n / (m + 3)", None),
        ("n * other", None),
        ("cells(n)", None),
        ("n <", None),
    ],
)
def test_values(text: str, value: int | None) -> None:
    assert clause_value(text, {"n": 7, "m": -3}) == value
