"""Guards of tile nests: conjunctions of affine comparisons of iterators, such as `j <= i`.

A comparison is known by its slack, a polynomial that is 0 or more where the comparison holds. The
slack of `j <= i` is i - j. In the tile { [i, j] : i0 <= i <= i1 and j0 <= j <= j1 } it lies between
i0 - j1 and i1 - j0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilepragma.ir.expressions import (
    Access,
    Binary,
    Cast,
    DataObject,
    Expression,
    IntegerLiteral,
    Unary,
    access_to,
    conjunction,
)
from tilepragma.ir.polynomial import Polynomial, number, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import is_integer, is_signed


def comparisons(guard: Expression) -> Iterator[Binary]:
    """The comparisons of a guard. Raises ValueError where it is no conjunction of comparisons of
    numbers.
    """
    if isinstance(guard, Binary) and guard.operator == "&&":
        yield from comparisons(guard.left)
        yield from comparisons(guard.right)
    elif (
        isinstance(guard, Binary)
        and guard.operator in ("<", "<=", ">", ">=")
        and compare_as_numbers(guard.left, guard.right)
        and not any(map(_may_wrap, walk(guard)))
    ):
        yield guard
    else:
        raise ValueError("the guard is no conjunction of comparisons")


def _may_wrap(node: Any) -> bool:
    """Whether it is an unsigned difference, or converts a signed variable to an unsigned type."""
    if not isinstance(node, (Binary, Unary, Cast)) or not is_integer(node.type) or is_signed(node.type):
        return False
    if not isinstance(node, Cast) and node.operator == "-":
        return True
    operands = (node.left, node.right) if isinstance(node, Binary) else (node.operand,)
    return any(is_signed(operand.type) and not isinstance(operand, IntegerLiteral) for operand in operands)


def compare_as_numbers(*values: Expression) -> bool:
    """Whether C compares the values as the numbers that their polynomials stand for: all are
    signed, or all are unsigned sums without subtraction, which do not wrap around.
    """
    signed = [is_signed(getattr(value, "type", None)) for value in values]
    if all(signed):
        return True
    sums = [polynomial(value) for value in values]
    return all(
        all(factor > 0 for _, factor in sum_.terms) and (sum_.constant is not None or not is_signed_value)
        for sum_, is_signed_value in zip(sums, signed, strict=True)
    )


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
