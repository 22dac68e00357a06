"""What is computed once of a frozen value, hashes and texts for instance: those of the LoopTree's values go through all that lies below them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

_HASH, _TEXT = "_hash", "_text"
_NOTHING = object()
#: Characters by which texts are compared first.
_BEGINNING = 4096


def hashed_once(kind: type[T]) -> type[T]:
    """A class of frozen values whose hash is kept beside the fields of each, where comparisons and copies do not see it."""
    computed = kind.__hash__

    def remembered(self: T) -> int:
        known = vars(self)
        found: int | None = known.get(_HASH)
        if found is None:
            found = known[_HASH] = computed(self)
        return found

    kind.__hash__ = remembered  # type: ignore[method-assign,assignment]
    return kind


@dataclass(frozen=True, order=True)
class TextKey:
    """Sorts frozen values by their `repr`. Of long ones the rest is looked at only where the beginnings are equal."""

    beginning: str
    rest: _Text


@dataclass(frozen=True)
class _Text:
    value: object

    def __lt__(self, other: _Text) -> bool:
        return repr(self.value) < repr(other.value)


def text_key(value: object) -> TextKey:
    """What sorts frozen values by `repr(value)`, kept like their hashes."""
    known = vars(value)
    key: TextKey | None = known.get(_TEXT)
    if key is None:
        key = known[_TEXT] = TextKey(_beginning(value), _Text(value))
    return key


def _beginning(value: object) -> str:
    """What `repr(value)` begins with, all of it where that is short: of deeply nested values `repr` goes through everything below."""
    text, length = [], 0
    ahead: list[tuple[str, object]] = [("", value)]
    while ahead and length < _BEGINNING:
        before, current = ahead.pop()
        if current is _NOTHING:
            shown = before
        elif (beginnings := _shown_fields(_kind(current))) is not None:
            shown = f"{before}{type(current).__qualname__}("
            ahead.append((")", _NOTHING))
            ahead.extend((beginning, getattr(current, name)) for beginning, name in beginnings)
        elif isinstance(current, tuple) and current:
            shown = f"{before}("
            ahead.append((",)" if len(current) == 1 else ")", _NOTHING))
            ahead.extend((", ", each) for each in current[:0:-1])
            ahead.append(("", current[0]))
        else:
            shown = f"{before}{current!r}"
        text.append(shown)
        length += len(shown)
    return "".join(text)[:_BEGINNING]


def _kind(value: object) -> Any:
    """Its type, as a key that type checkers know to be hashable."""
    return type(value)


@functools.cache
def _shown_fields(kind: type) -> tuple[tuple[str, str], ...] | None:
    """What `repr` prints before the value of each field that it shows, and the field's name, last first; None of other types."""
    if not is_dataclass(kind):
        return None
    names = [each.name for each in fields(kind) if each.repr]
    return tuple((f"{', ' if place else ''}{name}=", name) for place, name in reversed(list(enumerate(names))))


def once(compute: Callable[[S], T]) -> Callable[[S], T]:
    """A function of one frozen value, computed once for each and kept like its hash."""
    name = f"{compute.__module__}.{compute.__qualname__}"

    def remembered(value: S) -> T:
        known = vars(value)
        if name not in known:
            known[name] = compute(value)
        found: T = known[name]
        return found

    remembered.__doc__ = compute.__doc__
    return remembered
