"""Versions of kernels as text: what they say, and what is refused in them."""

from __future__ import annotations

import re

import pytest

from tilepragma.base.refusals import RefusalError
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.frontend.pragma.version_text import parse_version
from tilepragma.ir.directives import TemporalTiles, TileKind


def test_a_version_says_counts_and_tiles() -> None:
    result = parse_version(
        "num_gangs(16)  num_workers(32, 4);\n j: tile(gang) tile[0](dynamic); i: tile[1](size, 8)", NOWHERE
    )
    assert result.text == "num_gangs(16) num_workers(32, 4); j: tile(gang) tile[0](dynamic); i: tile[1](size, 8)"
    assert [(count.axis.value, count.dimension, count.count.literal) for count in result.counts] == [
        ("gang", 0, 16),
        ("worker", 0, 32),
        ("worker", 1, 4),
    ]
    kinds = {name: [(tile.kind, tile.order) for tile in tiles] for name, tiles in result.tiles}
    assert kinds == {"j": [(TileKind.GANG, None), (TileKind.DYNAMIC, 0)], "i": [(TileKind.SIZE, 1)]}
    assert (result.unroll, result.temporal) == (None, None)


def test_other_versions() -> None:
    assert parse_version("unroll(4)", NOWHERE).unroll == 4
    assert parse_version("TILEK_TILES=diamond", NOWHERE).temporal is TemporalTiles.DIAMOND


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "says nothing"),
        (" ; ", "says nothing"),
        ("num_threads(n)", "a count is no number from 1"),
        ("num_threads(system(0))", "a count is no number from 1"),
        ("num_threads(0)", "has 'num_threads(0)'"),
        ("target(cuda)", "the kernel takes only counts"),
        ("independent", "the kernel takes only counts"),
        ("sor(redblack)", "the kernel takes only counts"),
        ("i: tile(size, n)", "an argument is no number"),
        ("i: tile(gang", "is never closed"),
        ("i: tile(blocks)", "tile"),
        ("i: independent", "a loop takes only tiles"),
        ("i: tile(gang); i: tile(worker)", "says twice what tiles 'i' has"),
        ("i:", "without tiles"),
        ("unroll(0)", "unroll"),
        ("TILEK_TILES=round", "tiles of time steps are"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(RefusalError, match=re.escape(message)):
        parse_version(text, NOWHERE)
