"""JSON with the place of each value, for users' files: messages name line and field."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable

from tilepragma.base.diagnostics import source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import Position, SourceRange

#: The path to a value from the top: names of members and numbers of elements.
Path = tuple["str | int", ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+')


@dataclass(frozen=True)
class LocatedJson:
    """A file's JSON value, and the place of each value in it; members are placed by their names."""

    value: object
    whole: SourceRange
    places: dict[Path, SourceRange]

    def place(self, path: Path) -> SourceRange:
        """The place of a value; for a missing one, the place of the value that should have it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, self.whole)


def read_located(text: str, file: str) -> LocatedJson:
    """Read the JSON of `file`. Raises SourceError if it is invalid, or repeats a member."""
    starts = (0, *(match.end() for match in re.finditer("\n", text)))

    def position(offset: int) -> Position:
        line = bisect_right(starts, offset)
        in_bytes = offset if text.isascii() else len(text[:offset].encode())
        return Position(file, line, offset - starts[line - 1] + 1, in_bytes)

    def place(begin: int, end: int) -> SourceRange:
        return SourceRange(position(begin), position(end))

    constants: list[str] = []  # NaN and infinities, which Python reads but JSON lacks
    value: object = None
    try:
        value = json.loads(text, parse_constant=constants.append)
    except json.JSONDecodeError as error:
        if not constants:
            raise source_error(place(error.pos, error.pos + 1), f"this is no JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        if not constants:
            raise source_error(place(0, 1), f"this cannot be read: {error}") from None
    if constants:
        word = constants[0].lstrip("-")
        begin = re.search(rf"-?\b{word}\b", text)
        start = begin.start() if begin else 0
        raise source_error(place(start, start + len(word)), f"{word} is no number of JSON")
    places: dict[Path, SourceRange] = {}
    _walk(list(_TOKEN.finditer(text)), 0, (), place, places)
    return LocatedJson(value, place(0, len(text)), places)


def _walk(
    tokens: list[re.Match[str]],
    index: int,
    path: Path,
    place: Callable[[int, int], SourceRange],
    places: dict[Path, SourceRange],
) -> int:
    """Note the places in the valid JSON value at token `index`; returns the index behind it."""
    word = tokens[index].group()
    if path not in places:
        places[path] = place(*tokens[index].span())
    if word not in ("{", "["):
        return index + 1
    close = "}" if word == "{" else "]"
    index, count = index + 1, 0
    while tokens[index].group() != close:
        inner: Path = (*path, count)
        if word == "{":
            inner = (*path, json.loads(tokens[index].group()))
            name = place(*tokens[index].span())
            if inner in places:
                raise source_error(name, f"'{inner[-1]}' appears twice", "remove one of them")
            places[inner] = name
            index += 2
        index = _walk(tokens, index, inner, place, places)
        count += 1
        index += tokens[index].group() == ","
    return index + 1
