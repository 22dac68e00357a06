"""Hashes that are computed once: those of the LoopTree's values go through all that lies below them."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")

_NAME = "_hash"


def hashed_once(kind: type[T]) -> type[T]:
    """A class of frozen values whose hash is kept beside the fields of each, where comparisons and copies do not see it."""
    computed = kind.__hash__

    def remembered(self: T) -> int:
        fields = vars(self)
        found: int | None = fields.get(_NAME)
        if found is None:
            found = fields[_NAME] = computed(self)
        return found

    kind.__hash__ = remembered  # type: ignore[method-assign,assignment]
    return kind
