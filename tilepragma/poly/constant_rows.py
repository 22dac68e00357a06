"""Delinearisation by constant rows: `a[640*y + x]`, `a[w*y + x]` as a[y][x], where all rows of a
one-dimensional array have one length, a number or a sum of parameters.

With strides s_1 > … > s_k, each a multiple of the next, a subscript e is e = q_1 s_1 + … + q_k s_k
+ r. The map e -> (q_1, …, q_k, r) is one to one on

    { [q_1, …, q_k, r] : 0 <= q_(l+1) < s_l / s_(l+1),  0 <= r < s_k }

so an access may be rewritten if its domain implies that. Unlike `delinearise`, which splits single
accesses for the model and may assume facts on parameters, this serves plans and code: all accesses
to the array, without assumptions, or none.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Expression
from tilepragma.ir.polynomial import Polynomial, divide, number, polynomial
from tilepragma.ir.row_strides import LEAST_ROW
from tilepragma.poly.affine import NotAffineError, affine_polynomial
from tilepragma.poly.array_layouts import Subscript
from tilepragma.poly.delinearise import Strides, stride_chains
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit

#: The greatest number of candidate strides.
_MOST_STRIDES = 5
#: Carries between parts: 640*y + x + 500 is column x - 140 of row y + 1, or rather x + 500 of row
#: y.
_CARRIES = (0, -1, 1)
#: A factor closer to a multiple of the stride than this share of the stride is a diagonal's.
_NEAR = 8

Parts = tuple[Polynomial, ...]


@dataclass(frozen=True)
class Rows:
    """`strides`, greatest first, and the parts (q_1, …, q_k, r) of each collected subscript."""

    strides: Strides
    parts: Mapping[Polynomial, Parts]

    @property
    def lengths(self) -> tuple[Polynomial, ...]:
        """The lengths of all dimensions but the first."""
        return _lengths(self.strides)


@dataclass(frozen=True)
class Leaving:
    """A subscript that may leave its row of `length` elements, so that the array stays."""

    subscript: Expression
    length: Polynomial


def constant_rows(used: Sequence[Subscript], written_out: Callable[[Polynomial], Polynomial]) -> Rows | Leaving | None:
    """The rows that all subscripts of an array agree on; None where no subscript suggests rows.

    `written_out` substitutes locals; the result is proven. Raises OperationLimitError.
    """
    sums = _sums(used, written_out)
    chains = [*_parametric_chains(used), *_chains(sum_.value for sum_ in sums)] if sums is not None else []
    if sums is None or not chains:
        return None
    leaving: Leaving | None = None
    with operation_limit(used[0].frame.context, DEFAULT_LIMIT, "looking for rows of arrays"):
        for strides in chains:
            rows_or_leaving = _split_by(sums, strides)
            if isinstance(rows_or_leaving, Rows):
                return rows_or_leaving
            # Report why the likeliest rows fail, unless their length is a guess.
            if rows_or_leaving is not None and rows_or_leaving.length.constant is not None:
                leaving = leaving or rows_or_leaving
    return leaving


@dataclass(frozen=True)
class _Sum:
    """A collected subscript (`written`), its value without locals, and its places."""

    written: Polynomial
    value: Polynomial
    places: tuple[Subscript, ...]


def _sums(used: Iterable[Subscript], written_out: Callable[[Polynomial], Polynomial]) -> tuple[_Sum, ...] | None:
    """The distinct subscripts; None where one is not affine, or not the same sum everywhere."""
    sums: dict[Polynomial, _Sum] = {}
    for subscript in used:
        written = polynomial(subscript.value)
        value = written_out(written)
        earlier = sums.get(written, _Sum(written, value, ()))
        if not _has(subscript, value):
            return None
        sums[written] = replace(earlier, places=(*earlier.places, subscript))
    return tuple(sums.values())


def _has(subscript: Subscript, value: Polynomial) -> bool:
    """Whether the subscript has this value on its domain: { [i] : subscript(i) = value(i) }."""
    if subscript.function is None:
        return subscript.frame.written_out(polynomial(subscript.value)) == value
    try:
        return bool(
            subscript.domain.is_subset(
                subscript.function.eq_set(affine_polynomial(value, subscript.value, subscript.frame))
            )
        )
    except NotAffineError:
        return False


def _parametric_chains(used: Iterable[Subscript]) -> Iterator[Strides]:
    """The chains of symbolic strides, longest first."""
    all_chains = stride_chains((subscript.value, subscript.frame) for subscript in used)
    for size in range(max(map(len, all_chains), default=0), 0, -1):
        chains = (
            combination for chain in all_chains for combination in itertools.combinations(chain[-_MOST_STRIDES:], size)
        )
        yield from (chain for chain in dict.fromkeys(chains) if _nested(chain))


def _chains(values: Iterable[Polynomial]) -> Iterator[Strides]:
    """Chains of strides from factors of scalars, each greatest first; longest chains first."""
    count = Counter(
        abs(factor)
        for value in values
        for monomial, factor in value.terms
        if len(monomial) == 1 and abs(factor) >= LEAST_ROW
    )
    strides = sorted((stride for stride, _ in count.most_common(_MOST_STRIDES)), reverse=True)
    for size in range(len(strides), 0, -1):
        chains = sorted(
            itertools.combinations(strides, size), key=lambda chain: -sum(count[stride] for stride in chain)
        )
        yield from filter(_nested, (tuple(map(number, chain)) for chain in chains))


def _nested(strides: Strides) -> bool:
    """Whether each stride is a multiple of the next."""
    return not any(divide(greater, less)[1].terms for greater, less in itertools.pairwise(strides))


def _lengths(strides: Strides) -> tuple[Polynomial, ...]:
    return tuple(divide(greater, less)[0] for greater, less in itertools.pairwise((*strides, number(1))))


def _split_by(sums: Sequence[_Sum], strides: Strides) -> Rows | Leaving | None:
    parts: dict[Polynomial, Parts] = {}
    for sum_ in sums:
        split = _parts(sum_, strides)
        if not isinstance(split, tuple):
            return split
        parts[sum_.written] = split
    # A dimension along which no subscript moves does not exist.
    if not all(any(each[place].constant is None for each in parts.values()) for place in range(len(strides) + 1)):
        return None
    return Rows(strides, parts)


def _parts(sum_: _Sum, strides: Strides) -> Parts | Leaving | None:
    """The subscript's parts, equal in all its places."""
    parts = _divided(sum_.value, strides)
    lengths = _lengths(strides)
    for place in reversed(range(1, len(parts))):
        length = lengths[place - 1]
        for carry in _CARRIES:
            part = parts[place] - number(carry) * length
            try:
                inside = all(_within(part, length, subscript) for subscript in sum_.places)
            except NotAffineError:
                return None
            if inside:
                parts[place - 1 : place + 1] = [parts[place - 1] + number(carry), part]
                break
        else:
            return Leaving(sum_.places[0].value, length)
    return tuple(parts)


def _within(part: Polynomial, length: Polynomial, subscript: Subscript) -> bool:
    """{ [i] : domain(i) } subset of { [i] : 0 <= part(i) < length }. Raises NotAffineError."""
    function = affine_polynomial(part, subscript.value, subscript.frame)
    least, beyond = subscript.frame.number(0), affine_polynomial(length, subscript.value, subscript.frame)
    return bool(subscript.domain.is_subset(function.ge_set(least).intersect(function.lt_set(beyond))))


def _divided(value: Polynomial, strides: Strides) -> list[Polynomial]:
    """Quotients by the strides, and the rest; by numbers, the nearest quotient of great factors."""
    parts = []
    for stride in strides:
        by = stride.constant
        if by is None:
            quotient, value = divide(value, stride)
        else:
            terms = ((monomial, _quotient(factor, by, not monomial)) for monomial, factor in value.terms)
            quotient = Polynomial(tuple(term for term in terms if term[1]))
            value = value - quotient * stride
        parts.append(quotient)
    return [*parts, value]


def _quotient(factor: int, stride: int, rounded: bool) -> int:
    """Rounded to the nearest for constants and diagonals (641*i), else towards 0."""
    nearest = (factor + stride // 2) // stride
    if rounded or _NEAR * abs(factor - nearest * stride) <= stride:
        return nearest
    return factor // stride if factor > 0 else -(-factor // stride)
