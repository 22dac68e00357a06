"""What frozen values keep beside their fields changes neither what they are equal to nor what they are copied to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from tilepragma.base.memoization import hashed_once, once, text_key


@dataclass
class Counted:
    """A part that counts how often it is hashed."""

    number: int
    times: int = field(default=0, compare=False)

    def __hash__(self) -> int:
        self.times += 1
        return self.number


@hashed_once
@dataclass(frozen=True)
class Value:
    part: Counted
    name: str = "v"


def test_a_hash_is_computed_once() -> None:
    value = Value(Counted(3))
    assert hash(value) == hash(value) == hash(Value(Counted(3)))
    assert value.part.times == 1


def test_copies_have_hashes_and_texts_of_their_own() -> None:
    value = Value(Counted(3))
    assert (hash(value), text_key(value)) != (hash(other := replace(value, name="w")), text_key(other))
    assert text_key(other).beginning == repr(other)


def test_comparisons_do_not_see_what_is_kept() -> None:
    value, other = Value(Counted(3)), Value(Counted(3))
    assert (hash(value), text_key(value)) == (hash(other), text_key(other))
    assert value == other
    assert value == Value(Counted(3))
    assert "_hash" not in repr(value)


@dataclass(frozen=True)
class Nested:
    """A value whose text goes through all values below."""

    part: object
    names: tuple[object, ...] = ()
    hidden: int = field(default=0, repr=False)


def nested(levels: int, innermost: object) -> Nested:
    value = Nested(innermost)
    for _ in range(levels):
        value = Nested(value, ("n", 1) if levels % 2 else ("n",))
    return value


def test_keys_sort_as_texts_do_however_deep_the_values_are() -> None:
    innermost = (1, 12, "a", "ab", (), ("a",), ("a", 2), -1, None)
    values = [nested(levels, each) for levels in (0, 1, 2, 300, 301) for each in innermost]
    assert any(len(repr(value)) > len(text_key(value).beginning) for value in values)
    assert sorted(values, key=text_key) == sorted(values, key=repr)


def test_values_stay_frozen() -> None:
    with pytest.raises(AttributeError):
        Value(Counted(3)).name = "w"  # type: ignore[misc]


def test_what_is_found_of_a_value_is_found_once() -> None:
    results = []

    @once
    def name_of(value: Value) -> str:
        results.append(value.name)
        return value.name

    value = Value(Counted(3))
    assert (name_of(value), name_of(value), name_of(replace(value, name="w"))) == ("v", "v", "w")
    assert results == ["v", "w"]
