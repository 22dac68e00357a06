"""JSON with the place of each value, for users' files: messages name line and field."""

from __future__ import annotations

import json
import re
from bisect import bisect_right

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
    lines = _Lines(text, file, (0, *(match.end() for match in re.finditer("\n", text))))
    try:
        value = json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        place = lines.range(error.pos, error.pos + 1)
        raise source_error(place, f"this is no JSON: {error.msg}") from None
    except _ConstantError as error:
        begin = re.search(rf"-?\b{error}\b", text)
        start = begin.start() if begin else 0
        raise source_error(lines.range(start, start + len(str(error))), f"{error} is no number of JSON") from None
    except (ValueError, RecursionError) as error:
        raise source_error(lines.range(0, 1), f"this cannot be read: {error}") from None
    places: dict[Path, SourceRange] = {}
    tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
    _walk(tokens, 0, (), lines, places)
    return LocatedJson(value, lines.range(0, len(text)), places)


class _ConstantError(ValueError):
    """NaN or an infinity, which Python reads but JSON lacks."""


def _refused(name: str) -> object:
    raise _ConstantError(name.lstrip("-"))


@dataclass(frozen=True)
class _Lines:
    text: str
    file: str
    starts: tuple[int, ...]

    def range(self, begin: int, end: int) -> SourceRange:
        return SourceRange(self._position(begin), self._position(end))

    def _position(self, offset: int) -> Position:
        line = bisect_right(self.starts, offset)
        start = self.starts[line - 1]
        return Position(
            self.file, line, offset - start + 1, offset if self.text.isascii() else len(self.text[:offset].encode())
        )


def _walk(tokens: list[tuple[str, int]], index: int, path: Path, lines: _Lines, places: dict[Path, SourceRange]) -> int:
    """Note the places in the valid JSON value at token `index`; returns the index behind it."""
    word, begin = tokens[index]
    if path not in places:
        places[path] = lines.range(begin, begin + len(word))
    if word not in ("{", "["):
        return index + 1
    close = "}" if word == "{" else "]"
    index, count = index + 1, 0
    while tokens[index][0] != close:
        inner: Path = (*path, count)
        if word == "{":
            name, begin = tokens[index]
            inner = (*path, json.loads(name))
            place = lines.range(begin, begin + len(name))
            if inner in places:
                raise source_error(place, f"'{inner[-1]}' appears twice", "remove one of them")
            places[inner] = place
            index += 2
        index = _walk(tokens, index, inner, lines, places)
        count += 1
        index += tokens[index][0] == ","
    return index + 1
