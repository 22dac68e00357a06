"""`a[i*m + j]` seen as a[i][j]: one subscript taken apart by the array's parametric strides, where that is provable.

With strides s_1 > s_2 > … > s_k (polynomials of parameters, each a multiple of the next), a subscript e is
e = q_1 s_1 + … + q_k s_k + r. The map e -> (q_1, …, q_k, r) is one to one where 0 <= q_(l+1) < s_l / s_(l+1) and
0 <= r < s_k, which the domain of the access must imply.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import gcd

import islpy as isl

from tilepragma.ir.expressions import Expression
from tilepragma.ir.polynomial import Monomial, Polynomial, number, polynomial
from tilepragma.polyhedral.affine import Frame, NotAffineError, affine_polynomial

#: A subscript is divided in at most this many steps; more terms than that no hand-written one has.
_MOST_STEPS = 64
#: What a part may hand to the one before it: division by n + 2 makes the last column i*(n + 2) + n + 1 the column -1 of row i + 1.
_CARRIES = (0, -1, 1)


def strides(subscripts: Iterable[tuple[Expression, Frame]]) -> tuple[Polynomial, ...]:
    """The parametric strides in the subscripts of one array, greatest first; empty where there are none, or no chain of them."""
    found: set[Polynomial] = set()
    for subscript, frame in subscripts:
        value = polynomial(subscript)
        for atom in value.atoms:
            if frame.invariant(atom):
                continue
            parts = value.split(atom)
            if parts is None or not all(frame.invariant(other) for other in parts[0].atoms):
                return ()
            if parts[0].constant is None:
                found.add(_primitive(parts[0]))
    ordered = sorted(found, key=lambda stride: (-_degree(stride), repr(stride)))
    for greater, less in zip(ordered, ordered[1:], strict=False):
        if divide(greater, less)[1].terms:
            return ()
    return tuple(ordered)


def split_subscript(
    subscript: Expression, by: tuple[Polynomial, ...], frame: Frame, domain: isl.Set
) -> tuple[isl.PwAff, ...] | None:
    """{ [i] -> [q_1, …, q_k, r] } of one subscript, where `domain` implies the ranges of the parts; else None."""
    rest = polynomial(subscript)
    parts: list[Polynomial] = []
    for stride in by:
        quotient, rest = divide(rest, stride)
        parts.append(quotient)
    parts.append(rest)
    try:
        for place in reversed(range(len(by))):
            extent = divide(by[place], by[place + 1])[0] if place + 1 < len(by) else by[place]
            limit = affine_polynomial(extent, subscript, frame)
            for carry in _CARRIES:
                part = parts[place + 1] - number(carry) * extent
                function = affine_polynomial(part, subscript, frame)
                if domain.is_subset(function.ge_set(frame.number(0)).intersect(function.lt_set(limit))):
                    parts[place : place + 2] = parts[place] + number(carry), part
                    break
            else:
                return None
        return tuple(affine_polynomial(part, subscript, frame) for part in parts)
    except NotAffineError:
        return None


def divide(value: Polynomial, by: Polynomial) -> tuple[Polynomial, Polynomial]:
    """(q, r) with value = q * by + r, no term of r being a multiple of the leading term of `by`."""
    lead, factor = max(by.terms, key=lambda term: (len(term[0]), repr(term[0])))
    quotient = number(0)
    for _ in range(_MOST_STEPS):
        step = next(
            (
                (rest, coefficient // factor)
                for monomial, coefficient in value.terms
                if coefficient % factor == 0 and (rest := _over(monomial, lead)) is not None
            ),
            None,
        )
        if step is None:
            break
        term = Polynomial((step,))
        quotient = quotient + term
        value = value - term * by
    return quotient, value


def _over(monomial: Monomial, lead: Monomial) -> Monomial | None:
    rest = list(monomial)
    for atom in lead:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _primitive(value: Polynomial) -> Polynomial:
    content = reduce(gcd, (abs(coefficient) for _, coefficient in value.terms))
    lead = max(value.terms, key=lambda term: (len(term[0]), repr(term[0])))[1]
    content = content if lead > 0 else -content
    return Polynomial(tuple((monomial, coefficient // content) for monomial, coefficient in value.terms))


def _degree(value: Polynomial) -> int:
    return max(len(monomial) for monomial, _ in value.terms)
