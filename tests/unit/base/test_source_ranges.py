from __future__ import annotations

from tilepragma.base.source_ranges import Position, SourceRange


def test_positions_of_a_file_sort_by_place() -> None:
    positions = [Position("a.c", 2, 1, 9), Position("a.c", 1, 7, 6), Position("a.c", 1, 2, 1)]
    assert [position.offset for position in sorted(positions)] == [1, 6, 9]


def test_the_file_of_a_range_is_that_of_its_start() -> None:
    assert SourceRange(Position("a.c", 1, 1, 0), Position("a.c", 1, 3, 2)).file == "a.c"


def test_places_name_headers_as_c_compilers_do() -> None:
    assert [Position(file, 3, 1, 0).place for file in ("./k.h", "../k.h", "k.h")] == ["k.h:3", "../k.h:3", "k.h:3"]
