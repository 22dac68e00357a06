"""Caches results in frozen values: computing a hash or text visits all nodes below a value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")

_HASH, _TEXT = "_hash", "_text"
_NOTHING = object()
#: Characters that are compared first.
_BEGINNING = 4096


def hashed_once(kind: type[T]) -> type[T]:
    """A class of frozen values that keep their hash beside the fields; comparisons ignore it."""
    computed = kind.__hash__

    def remembered(self: T) -> int:
        cache = vars(self)
        hash_: int | None = cache.get(_HASH)
        if hash_ is None:
            hash_ = cache[_HASH] = computed(self)
        return hash_

    kind.__hash__ = remembered  # type: ignore[method-assign,assignment]
    return kind


@dataclass(frozen=True)
class TextKey:
    """Sorts frozen values by `repr`; computes the rest of long ones only for equal beginnings."""

    beginning: str
    value: object

    def __lt__(self, other: TextKey) -> bool:
        if self.beginning != other.beginning:
            return self.beginning < other.beginning
        return repr(self.value) < repr(other.value)


def text_key(value: object) -> TextKey:
    """The sort key by `repr(value)`, cached like hashes."""
    cache = vars(value)
    key: TextKey | None = cache.get(_TEXT)
    if key is None:
        key = cache[_TEXT] = TextKey(_beginning(value), value)
    return key


def _beginning(value: object) -> str:
    """The beginning of `repr(value)`, which would walk everything below deeply nested values."""
    text, length = [], 0
    ahead: list[tuple[str, object]] = [("", value)]
    while ahead and length < _BEGINNING:
        before, current = ahead.pop()
        if current is _NOTHING:
            shown = before
        elif (beginnings := _shown_fields(kind_of(current))) is not None:
            shown = f"{before}{type(current).__qualname__}("
            ahead.append((")", _NOTHING))
            ahead.extend((beginning, getattr(current, name)) for beginning, name in beginnings)
        elif isinstance(current, tuple) and current:
            shown = f"{before}("
            ahead.append((",)" if len(current) == 1 else ")", _NOTHING))
            ahead.extend((", ", member) for member in current[:0:-1])
            ahead.append(("", current[0]))
        else:
            shown = f"{before}{current!r}"
        text.append(shown)
        length += len(shown)
    return "".join(text)[:_BEGINNING]


def kind_of(value: object) -> Any:
    """The type, as a key that type checkers accept as hashable."""
    return type(value)


@functools.cache
def _shown_fields(kind: type) -> tuple[tuple[str, str], ...] | None:
    """The text before each field in `repr`, and its name, last first; None if no dataclass."""
    if not is_dataclass(kind):
        return None
    names = [field.name for field in fields(kind) if field.repr]
    return tuple((f"{', ' if place else ''}{name}=", name) for place, name in reversed(list(enumerate(names))))


def once(compute: Callable[[S], T]) -> Callable[[S], T]:
    """A function of one frozen value that is computed once and cached like its hash."""
    name = f"{compute.__module__}.{compute.__qualname__}"

    def remembered(value: S) -> T:
        cache = vars(value)
        if name not in cache:
            cache[name] = compute(value)
        result: T = cache[name]
        return result

    remembered.__doc__ = compute.__doc__
    return remembered
