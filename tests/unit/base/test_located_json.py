from __future__ import annotations

import pytest

from tilepragma.base.diagnostics import SourceError
from tilepragma.base.located_json import read_located

TEXT = """{
  "a": [1, {"b": "x \\" { y"}],
  "ü": null
}
"""


def test_values_and_members_have_places() -> None:
    read = read_located(TEXT, "f.json")
    assert read.value == {"a": [1, {"b": 'x " { y'}], "ü": None}
    places = {path: (place.start.line, place.start.column, place.end.column) for path, place in read.places.items()}
    assert places[()] == (1, 1, 2)
    assert places["a",] == (2, 3, 6)
    assert places["a", 0] == (2, 9, 10)
    assert places["a", 1] == (2, 12, 13)
    assert places["a", 1, "b"] == (2, 13, 16)
    assert places["ü",] == (3, 3, 6)
    assert read.places["ü",].end.offset == TEXT.encode().index(b": null")


def test_what_is_missing_stands_where_it_should_be() -> None:
    read = read_located(TEXT, "f.json")
    assert read.place(("a", 1, "c")) == read.places["a", 1]
    assert read.place(("a", 7, "c")) == read.places["a",]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "this is no JSON"),
        ('{"a": 1,\n "b" 2}', 2, 6, "this is no JSON: Expecting ':' delimiter"),
        ('{"a": 1,\n "a": 2}', 2, 2, "'a' appears twice"),
        ('{\n"a": -Infinity}', 2, 6, "Infinity is no number of JSON"),
        ('{"a": ' + "9" * 5000 + "}", 1, 1, "this cannot be read"),
        ("[" * 100_000, 1, 1, "this cannot be read"),
    ],
)
def test_what_is_no_json_is_a_located_error(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(SourceError) as raised:
        read_located(text, "f.json")
    result = raised.value.diagnostic
    assert (result.range.file, result.range.start.line, result.range.start.column) == ("f.json", line, column)
    assert result.message.startswith(message)
