"""Classes of frozen values behave as the library's frozen dataclasses, but for the check at run time."""

from __future__ import annotations

import dataclasses
from dataclasses import field

import pytest

from tilepragma.base.frozen_values import dataclass


@dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.0
    note: str = field(default="", compare=False, repr=False)


@dataclasses.dataclass(frozen=True)
class Library:
    x: int
    y: float = 0.0
    note: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Single:
    value: float


@dataclass(frozen=True)
class Empty:
    pass


@dataclass(frozen=True, eq=False)
class Identity:
    value: int


@dataclass(frozen=True)
class WithMethods:
    """Names of the library's and of classes' own do not meet."""

    x: int

    def _compared(self, other: int) -> bool:
        return self.x == other

    def __repr__(self) -> str:
        return "mine"


@pytest.mark.parametrize(
    ("first", "second"), [((1,), (1,)), ((1, 2.0), (1, 3.0)), ((1, 2.0, "a"), (1, 2.0, "b")), ((1,), (2,))]
)
def test_equal_as_the_librarys(first: tuple[object, ...], second: tuple[object, ...]) -> None:
    assert (Point(*first) == Point(*second)) == (Library(*first) == Library(*second))
    assert (hash(Point(*first)) == hash(Point(*second))) == (hash(Library(*first)) == hash(Library(*second)))


def test_text_and_tools() -> None:
    assert repr(Point(1, 2.0, "a")) == "Point(x=1, y=2.0)"
    assert dataclasses.replace(Point(1), y=4.0) == Point(1, 4.0)
    assert [each.name for each in dataclasses.fields(Point(1))] == ["x", "y", "note"]
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0.0, "note": ""}
    match Point(7):
        case Point(x, y):
            assert (x, y) == (7, 0.0)


def test_other_classes_and_other_kinds() -> None:
    assert Point(1) != Library(1)
    assert Point(1) != 1
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    nan = float("nan")
    assert Single(nan) == Single(nan), "as tuples compare: the same object is equal"
    assert Identity(1) != Identity(1)
    assert repr(WithMethods(1)) == "mine"
    assert WithMethods(1)._compared(1)
    assert WithMethods(1) == WithMethods(1)
