"""JSON read so that each value knows its place: for files that users write, whose mistakes are named by line and field."""

from __future__ import annotations

import json
import re
from bisect import bisect_right

from tilepragma.base.diagnostics import source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import Position, SourceRange

#: The way to a value from the top: names of members and numbers of elements.
Path = tuple["str | int", ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+')


@dataclass(frozen=True)
class LocatedJson:
    """What a file holds, and where each of its values stands; members are placed by their names."""

    value: object
    whole: SourceRange
    places: dict[Path, SourceRange]

    def place(self, path: Path) -> SourceRange:
        """Where a value stands; of one that is missing, where that stands which should have it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, self.whole)


def read_located(text: str, file: str) -> LocatedJson:
    """Read JSON; `file` is its name in diagnostics. Raises SourceError where it is none, or a member is there twice."""
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
    """NaN or an infinity, which Python reads and JSON has not."""


def _refused(name: str) -> object:
    raise _ConstantError(name.lstrip("-"))


@dataclass(frozen=True)
class _Lines:
    text: str
    file: str
    starts: tuple[int, ...]

    def range(self, begin: int, end: int) -> SourceRange:
        return SourceRange(self._position(begin), self._position(end))

    def _position(self, at: int) -> Position:
        line = bisect_right(self.starts, at)
        start = self.starts[line - 1]
        return Position(self.file, line, at - start + 1, at if self.text.isascii() else len(self.text[:at].encode()))


def _walk(tokens: list[tuple[str, int]], at: int, path: Path, lines: _Lines, places: dict[Path, SourceRange]) -> int:
    """Note the places of the value that begins at token `at`, which is valid JSON; returns the token behind it."""
    word, begin = tokens[at]
    if path not in places:
        places[path] = lines.range(begin, begin + len(word))
    if word not in ("{", "["):
        return at + 1
    close = "}" if word == "{" else "]"
    at, count = at + 1, 0
    while tokens[at][0] != close:
        inner: Path = (*path, count)
        if word == "{":
            name, begin = tokens[at]
            inner = (*path, json.loads(name))
            place = lines.range(begin, begin + len(name))
            if inner in places:
                raise source_error(place, f"'{inner[-1]}' is there twice", "take one of them out")
            places[inner] = place
            at += 2
        at = _walk(tokens, at, inner, lines, places)
        count += 1
        at += tokens[at][0] == ","
    return at + 1
