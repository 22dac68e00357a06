"""Guards of tile nests: conjunctions of affine comparisons of iterators, such as `j <= i`.

A comparison is known by its slack, a polynomial that is 0 or more where the comparison holds. The
slack of `j <= i` is i - j. In the tile { [i, j] : i0 <= i <= i1 and j0 <= j <= j1 } it lies between
i0 - j1 and i1 - j0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilepragma.ir.expressions import Access, Binary, DataObject, Expression, access_to, conjunction
from tilepragma.ir.polynomial import Polynomial, number, polynomial
from tilepragma.ir.substitution import with_accesses


def comparisons(guard: Expression) -> Iterator[Binary]:
    """The comparisons of a guard. Raises ValueError where it is no conjunction of them."""
    if isinstance(guard, Binary) and guard.operator == "&&":
        yield from comparisons(guard.left)
        yield from comparisons(guard.right)
    elif isinstance(guard, Binary) and guard.operator in ("<", "<=", ">", ">="):
        yield guard
    else:
        raise ValueError("the guard is no conjunction of comparisons")


def slack(comparison: Binary) -> Polynomial:
    """What is 0 or more where the comparison of integers holds, and negative elsewhere."""
    left, right = polynomial(comparison.left), polynomial(comparison.right)
    difference = right - left if comparison.operator in ("<", "<=") else left - right
    return difference - number(1) if comparison.operator in ("<", ">") else difference


def factor_of(iterator: DataObject, value: Polynomial) -> int | None:
    """The constant coefficient of an iterator in a value; None where it has another."""
    parts = value.split(access_to(iterator))
    return None if parts is None else parts[0].constant


def holds_somewhere(guard: Expression, ends: Mapping[DataObject, tuple[Expression, Expression]]) -> Expression:
    """Whether each comparison holds at a point of the tile. `ends` are the tile's first and last
    iterations.
    """
    return _at_corners(guard, ends, 1)


def holds_everywhere(guard: Expression, ends: Mapping[DataObject, tuple[Expression, Expression]]) -> Expression:
    """Whether all comparisons hold at all points of the tile, whose `ends` these are."""
    return _at_corners(guard, ends, -1)


def _at_corners(guard: Expression, ends: Mapping[DataObject, tuple[Expression, Expression]], sign: int) -> Expression:
    """The guard with each comparison where its slack is greatest (sign 1) or least (-1)."""

    def at_corner(comparison: Binary) -> Expression:
        value = slack(comparison)

        def moved(access: Access) -> Expression:
            if access.object not in ends:
                return access
            return ends[access.object][1 if (factor_of(access.object, value) or 0) * sign > 0 else 0]

        return with_accesses(comparison, moved)

    return conjunction([at_corner(comparison) for comparison in comparisons(guard)])
