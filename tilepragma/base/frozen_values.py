"""`@dataclass(frozen=True)` that takes a quarter of the time; type checkers see the library's.

The library compiles six methods for each frozen class, about 0.4 ms; a translation loads some 500
classes, and spends up to a third of its time there. Here a class has `__init__` compiled, without
the detour by which frozen instances set their fields, and shares the others. That fields are not
set again is left to mypy.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses

    def dataclass(kind: type | None = None, /, *, frozen: bool = False, eq: bool = True, **options: Any) -> Any:
        """As `dataclasses.dataclass`; frozen classes that need no order share their methods."""
        if kind is None:
            return lambda decorated: dataclass(decorated, frozen=frozen, eq=eq, **options)
        if not frozen or options:
            return dataclasses.dataclass(frozen=frozen, eq=eq, **options)(kind)
        kind.__doc__ = kind.__doc__ or kind.__name__  # else the library asks `inspect` for a signature
        dataclasses.dataclass(repr=False, eq=False)(kind)
        fields = dataclasses.fields(kind)
        kind.__compared_fields__ = _values([field.name for field in fields if field.compare])
        kind.__shown_fields__ = tuple(field.name for field in fields if field.repr)
        methods = {"__repr__": _text} | ({"__eq__": _equal, "__hash__": _hashed} if eq else {})
        for name, method in methods.items():
            if vars(kind).get(name) is None:
                setattr(kind, name, method)
        return kind


def _values(names: list[str]) -> Any:
    """What gives the tuple of these fields, to compare and hash."""
    if len(names) > 1:
        return attrgetter(*names)
    return staticmethod(lambda self: tuple(getattr(self, name) for name in names))


def _equal(self: Any, other: Any) -> Any:
    if self is other:
        return True
    if type(self) is not type(other):
        return NotImplemented
    values = self.__compared_fields__
    return values(self) == values(other)


def _hashed(self: Any) -> int:
    return hash(self.__compared_fields__(self))


def _text(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__shown_fields__)
    return f"{type(self).__qualname__}({shown})"
