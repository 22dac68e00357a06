"""What is computed once of a frozen value, hashes and texts for instance: those of the LoopTree's values go through all that lies below them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

_HASH, _TEXT = "_hash", "_text"


def hashed_once(kind: type[T]) -> type[T]:
    """A class of frozen values whose hash is kept beside the fields of each, where comparisons and copies do not see it."""
    computed = kind.__hash__

    def remembered(self: T) -> int:
        fields = vars(self)
        found: int | None = fields.get(_HASH)
        if found is None:
            found = fields[_HASH] = computed(self)
        return found

    kind.__hash__ = remembered  # type: ignore[method-assign,assignment]
    return kind


def text_once(value: object) -> str:
    """`repr(value)` of a frozen value, kept like its hash."""
    fields = vars(value)
    found: str | None = fields.get(_TEXT)
    if found is None:
        found = fields[_TEXT] = repr(value)
    return found


def once(compute: Callable[[S], T]) -> Callable[[S], T]:
    """A function of one frozen value, computed once for each and kept like its hash."""
    name = f"{compute.__module__}.{compute.__qualname__}"

    def remembered(value: S) -> T:
        fields = vars(value)
        if name not in fields:
            fields[name] = compute(value)
        found: T = fields[name]
        return found

    remembered.__doc__ = compute.__doc__
    return remembered
