from __future__ import annotations

import pytest

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.directives import ClauseExpression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("00", 0),
        ("010", 8),
        ("0x1FuL", 31),
        ("12ull", 12),
        ("7LU", 7),
        (" 4 ", 4),
        ("-3", -3),
        ("- 3", -3),
        ("+4", 4),
    ],
)
def test_integer_literals_of_c_have_their_value(text: str, value: int) -> None:
    assert ClauseExpression(text, NOWHERE).literal == value


@pytest.mark.parametrize("text", ["n", "1_000", "0o7", "08", "3.0", "2f", "1 + 1", "1lul", "'a'", ""])
def test_everything_else_is_no_literal(text: str) -> None:
    assert ClauseExpression(text, NOWHERE).literal is None
