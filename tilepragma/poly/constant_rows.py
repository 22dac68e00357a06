"""`a[640*y + x]`, `a[w*y + x]` seen as a[y][x]: arrays of one dimension whose rows all have one
length, a number or a sum of parameters.

With strides s_1 > … > s_k, each a multiple of the next, a subscript e is e = q_1 s_1 + … + q_k s_k
+ r. The map e -> (q_1, …, q_k, r) is one to one on

    { [q_1, …, q_k, r] : 0 <= q_(l+1) < s_l / s_(l+1),  0 <= r < s_k }

so each access may be seen so if its domain implies that. Unlike `delinearise`, which takes single
accesses apart for the model and may assume something of the parameters, this is for plan and code:
it is all accesses to the array, without assumption, or none of them.
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

#: Strides among which those of the rows are looked for.
_MOST_STRIDES = 5
#: What a part may hand to the one before it: 640*y + x + 500 is column x - 140 of row y + 1, or
#: rather x + 500 of row y.
_CARRIES = (0, -1, 1)
#: A factor that differs from a multiple of the stride by less than this share of it goes along a
#: diagonal.
_NEAR = 8

Parts = tuple[Polynomial, ...]


@dataclass(frozen=True)
class Rows:
    """`strides`, greatest first, and the subscripts (q_1, …, q_k, r) in place of each collected one."""

    strides: Strides
    parts: Mapping[Polynomial, Parts]

    @property
    def lengths(self) -> tuple[Polynomial, ...]:
        """Of all dimensions but the first."""
        return _lengths(self.strides)


@dataclass(frozen=True)
class Leaving:
    """A subscript that may leave its row of `length` elements: the array stays as it is."""

    subscript: Expression
    length: Polynomial


def constant_rows(used: Sequence[Subscript], written_out: Callable[[Polynomial], Polynomial]) -> Rows | Leaving | None:
    """The rows that all subscripts of one array agree on; None where nothing suggests any.
    `written_out` puts what locals stand for in their place, as far as it is known; whether that is
    what the subscript has is proven. Raises OperationLimitError.
    """
    sums = _sums(used, written_out)
    chains = [*_parametric_chains(used), *_chains(sum_.value for sum_ in sums)] if sums is not None else []
    if sums is None or not chains:
        return None
    leaving: Leaving | None = None
    with operation_limit(used[0].frame.context, DEFAULT_LIMIT, "looking for rows of arrays"):
        for strides in chains:
            found = _taken_apart(sums, strides)
            if isinstance(found, Rows):
                return found
            # What the most convincing rows fail for is worth telling, unless their length is
            # anyone's guess.
            if found is not None and found.length.constant is not None:
                leaving = leaving or found
    return leaving


@dataclass(frozen=True)
class _Sum:
    """A subscript, collected (`written`), what that is without the locals in it (`value`), and where it stands."""

    written: Polynomial
    value: Polynomial
    places: tuple[Subscript, ...]


def _sums(used: Iterable[Subscript], written_out: Callable[[Polynomial], Polynomial]) -> tuple[_Sum, ...] | None:
    """The different subscripts; None where one is no affine function, or not the same sum everywhere."""
    found: dict[Polynomial, _Sum] = {}
    for one in used:
        written = polynomial(one.value)
        value = written_out(written)
        known = found.get(written, _Sum(written, value, ()))
        if not _has(one, value):
            return None
        found[written] = replace(known, places=(*known.places, one))
    return tuple(found.values())


def _has(one: Subscript, value: Polynomial) -> bool:
    """Whether the subscript has this value: { [i] : domain(i) } subset of { [i] : subscript(i) = value(i) }, if it is affine."""
    if one.function is None:
        return one.frame.written_out(polynomial(one.value)) == value
    try:
        return bool(one.domain.is_subset(one.function.eq_set(affine_polynomial(value, one.value, one.frame))))
    except NotAffineError:
        return False


def _parametric_chains(used: Iterable[Subscript]) -> Iterator[Strides]:
    """The strides that are no numbers, the most of them first."""
    found = stride_chains((one.value, one.frame) for one in used)
    for size in range(max(map(len, found), default=0), 0, -1):
        chains = (
            combination for chain in found for combination in itertools.combinations(chain[-_MOST_STRIDES:], size)
        )
        yield from (chain for chain in dict.fromkeys(chains) if _nested(chain))


def _chains(values: Iterable[Polynomial]) -> Iterator[Strides]:
    """The strides that factors of scalars suggest, greatest first: the most of them first, then those that occur most."""
    count = Counter(
        abs(factor)
        for value in values
        for monomial, factor in value.terms
        if len(monomial) == 1 and abs(factor) >= LEAST_ROW
    )
    strides = sorted((stride for stride, _ in count.most_common(_MOST_STRIDES)), reverse=True)
    for size in range(len(strides), 0, -1):
        chains = sorted(itertools.combinations(strides, size), key=lambda one: -sum(count[stride] for stride in one))
        yield from filter(_nested, (tuple(map(number, chain)) for chain in chains))


def _nested(strides: Strides) -> bool:
    """Whether each is a multiple of the next."""
    return not any(divide(greater, less)[1].terms for greater, less in itertools.pairwise(strides))


def _lengths(strides: Strides) -> tuple[Polynomial, ...]:
    return tuple(divide(greater, less)[0] for greater, less in itertools.pairwise((*strides, number(1))))


def _taken_apart(sums: Sequence[_Sum], strides: Strides) -> Rows | Leaving | None:
    parts: dict[Polynomial, Parts] = {}
    for sum_ in sums:
        found = _parts(sum_, strides)
        if not isinstance(found, tuple):
            return found
        parts[sum_.written] = found
    # Where nobody goes along a dimension there is none.
    if not all(any(each[place].constant is None for each in parts.values()) for place in range(len(strides) + 1)):
        return None
    return Rows(strides, parts)


def _parts(one: _Sum, strides: Strides) -> Parts | Leaving | None:
    """The subscript's parts, the same in all places where it stands."""
    parts = _divided(one.value, strides)
    lengths = _lengths(strides)
    for place in reversed(range(1, len(parts))):
        length = lengths[place - 1]
        for carry in _CARRIES:
            part = parts[place] - number(carry) * length
            try:
                inside = all(_within(part, length, at) for at in one.places)
            except NotAffineError:
                return None
            if inside:
                parts[place - 1 : place + 1] = [parts[place - 1] + number(carry), part]
                break
        else:
            return Leaving(one.places[0].value, length)
    return tuple(parts)


def _within(part: Polynomial, length: Polynomial, at: Subscript) -> bool:
    """{ [i] : domain(i) } subset of { [i] : 0 <= part(i) < length }. Raises NotAffineError."""
    function = affine_polynomial(part, at.value, at.frame)
    least, beyond = at.frame.number(0), affine_polynomial(length, at.value, at.frame)
    return bool(at.domain.is_subset(function.ge_set(least).intersect(function.lt_set(beyond))))


def _divided(value: Polynomial, strides: Strides) -> list[Polynomial]:
    """Quotients by the strides and the rest: by numbers, of each factor what is nearest, of small ones nothing."""
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
    """Rounded to the nearest for constants and for factors little beside a multiple (641*i is a diagonal), else towards 0."""
    nearest = (factor + stride // 2) // stride
    if rounded or _NEAR * abs(factor - nearest * stride) <= stride:
        return nearest
    return factor // stride if factor > 0 else -(-factor // stride)
