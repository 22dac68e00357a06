"""Ranges of sizes on the command line."""

from __future__ import annotations

import pytest

from tilepragma.base.refusals import CommandError
from tilepragma.tuning.size_ranges import parse_ranges, sizes_of, sizes_text


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        ([], [""]),
        (["n=7"], ["n=7"]),
        (["n=256:2000:x2"], ["n=256", "n=512", "n=1024"]),
        (["n=1:4"], ["n=1", "n=2", "n=4"]),
        (["n=0:6:+3"], ["n=0", "n=3", "n=6"]),
        (["n=5,m=1:2", "n=3"], ["m=1,n=3", "m=2,n=3", "m=1,n=5", "m=2,n=5"]),
        (["g->n=0"], ["g->n=0"]),
    ],
)
def test_all_combinations(words: list[str], texts: list[str]) -> None:
    result = parse_ranges(words)
    assert [sizes_text(each) for each in result] == texts
    assert [sizes_of(text) for text in texts] == list(result)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("n", "write NAME=INTEGER, NAME=FIRST:LAST:xFACTOR"),
        ("n=1:2:3", "write NAME"),
        ("n=-1", "write NAME"),
        ("n=4:2", "2 is less than 4"),
        ("n=1:8:x1", "it would never get to 8"),
        ("n=0:8:x2", "it would never get to 8"),
        ("n=1:8:+0", "it would never get to 8"),
        ("n=1:20000:+1", "there are more than 10000 values"),
        ("n=1:200:+1,m=1:200:+1", "40000 combinations"),
    ],
)
def test_ranges_that_make_no_sense(word: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        parse_ranges([word])
