"""Bank conflicts in shared memory, and the padding that has the fewest (ICS'08 sections 3.2 and 5)."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from math import gcd

from tilepragma.base.frozen_values import dataclass


@dataclass(frozen=True)
class Banks:
    """The banks of a device's shared memory; each serves words of `width` bytes, and neighbouring words lie in neighbouring banks."""

    number: int = 32
    width: int = 4


def conflict_degree(stride: int, banks: int) -> int:
    """How many threads ask one bank at a time, where neighbours' words are `stride` words apart:
    gcd(stride, banks); 1 where all ask for the same word, which is broadcast (ICS'08 section 5).
    """
    return 1 if stride == 0 else gcd(stride, banks)


def element_conflicts(stride: int, bytes_of_element: int, banks: Banks) -> int:
    """The same of elements of any width, `stride` elements apart: how many times as long an access
    takes as one without conflicts.

    Elements wider than a word take neighbouring banks, and fewer threads are served at once
    (doubles: half a warp), so it is the degree of so many fewer banks. Of narrower elements several
    share a word, which is one request.
    """
    if bytes_of_element % banks.width == 0:
        return conflict_degree(stride, max(1, banks.number * banks.width // bytes_of_element))
    words = {thread * stride * bytes_of_element // banks.width for thread in range(banks.number)}
    return max(Counter(word % banks.number for word in words).values())


@dataclass(frozen=True)
class Reference:
    """An access to a staged array: from a thread to the next it goes `within` elements along a row and `rows` rows on."""

    within: int
    rows: int


class Parity(Enum):
    """How far rows of a staged array should be apart, in elements."""

    ANY = "any"
    ODD = "odd"
    EVEN = "even"

    @property
    def odd(self) -> bool | None:
        """Whether it is odd; None where that does not matter."""
        return None if self is Parity.ANY else self is Parity.ODD

    def pitch(self, row: int) -> int:
        """The least such distance for rows of `row` elements."""
        return row if self is Parity.ANY else row + (row % 2 != (self is Parity.ODD))


def best_parity(one: Reference) -> Parity:
    """Algorithm 2 for one reference where a row's length is known at launch only: all that its
    padding does is to make that odd or even.

    Elements are no narrower than banks, of which there is a power of two, and different threads'
    are different. Let 2^j be the largest power of two in both w = `within` and r = `rows`: it
    divides every stride w + r p, and one of w / 2^j and r / 2^j is odd. Their sum with p is odd,
    and the conflicts gcd(2^j, banks), the fewest there are, where p is odd (only the second is),
    even (both are), or anything (only the first is).
    """
    if one.rows == 0:
        return Parity.ANY
    common = gcd(one.within, one.rows)
    odd = common & -common
    if one.rows // odd % 2 == 0:
        return Parity.ANY
    return Parity.EVEN if one.within // odd % 2 else Parity.ODD
