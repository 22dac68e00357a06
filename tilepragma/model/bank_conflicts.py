"""Bank conflicts in shared memory, and the padding with the fewest (ICS'08 sections 3.2, 5)."""

from __future__ import annotations

from collections import Counter
from math import gcd


def conflict_degree(stride: int, banks: int) -> int:
    """The threads that access one bank together if neighbours' words are `stride` words apart:
    gcd(stride, banks); 1 if all access one word, which is broadcast (ICS'08 section 5).
    """
    return 1 if stride == 0 else gcd(stride, banks)


def element_conflicts(stride: int, bytes_of_element: int, banks: int, width: int) -> int:
    """The slowdown of accesses to elements of any width, `stride` elements apart, by conflicts of
    banks that serve words of `width` bytes in turn.

    Elements wider than a word take neighbouring banks and fewer threads at a time (doubles: half a
    warp), so the degree is that of so many fewer banks. Several narrower elements share a word,
    which is one request.
    """
    if bytes_of_element % width == 0:
        return conflict_degree(stride, max(1, banks * width // bytes_of_element))
    words = {thread * stride * bytes_of_element // width for thread in range(banks)}
    return max(Counter(word % banks for word in words).values())


def odd_rows(within: int, rows: int) -> bool | None:
    """Whether the distance between rows of a staged array, in elements, should be odd; None if that
    does not matter. From a thread to the next an access goes `within` elements along a row and
    `rows` rows on.

    That is Algorithm 2 for one reference if a row's length is known at launch only: padding can
    make it odd or even. Elements are no narrower than banks, whose number is a power of two, and
    different threads access different elements. Let 2^j be the largest power of two that divides w
    = `within` and r = `rows`: it divides every stride w + r p, and one of w / 2^j and r / 2^j is
    odd. Their sum with p is odd, with the fewest possible conflicts gcd(2^j, banks), if p is odd
    (only the second is), even (both are), or anything (only the first is).
    """
    if rows == 0:
        return None
    common = gcd(within, rows)
    power = common & -common
    return None if rows // power % 2 == 0 else within // power % 2 == 0


def padded_row(row: int, odd: bool | None) -> int:
    """The least such distance for rows of `row` elements."""
    return row if odd is None else row + (row % 2 != odd)
