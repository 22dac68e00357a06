"""Delinearisation: `a[i*m + j]` as a[i][j], by the array's strides.

With strides s_1 > s_2 > … > s_k (polynomials of parameters), a subscript e is
e = q_1 s_1 + … + q_k s_k + r. The map e -> (q_1, …, q_k, r) is one to one on

    { [q_1, …, q_k, r] : 0 <= q_(l+1) < floor(s_l / s_(l+1)),  0 <= r < s_k }

The domain of the access must imply that. All subscripts of an array may have the same origin o(p)
taken from them first, the first column that an access touches: `buf[first + i*m + j]`, or
`buf[i*m + k]` with k from first on. For the model, single accesses are split, and the split
may assume ranges of the parameters, which the launch tests: `a[i*m + j]` with j < w is a[i][j]
where w <= m (`Layouts`). For plans and code, all accesses to an array are, or none, without
assumptions, by strides of which each is a multiple of the next (`constant_rows`): `a[640*y + x]`,
`a[w*y + x]` as a[y][x].
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
from functools import cached_property
from itertools import permutations
from math import gcd

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, Binary, Call, Callee, Conditional, DataObject, Expression, integer
from tilepragma.ir.polynomial import Polynomial, divide, expression, number, of_atom, polynomial, primitive
from tilepragma.ir.row_strides import LEAST_ROW
from tilepragma.ir.types import LONG
from tilepragma.poly.affine import Frame, NotAffineError, affine_or_none, affine_polynomial
from tilepragma.poly.isl_ast import ParameterReader
from tilepragma.poly.launch_checks import possible_values
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit

#: Carries between parts: division by n + 2 makes i*(n + 2) + n + 1 column -1 of row i + 1, and
#: 640*y + x + 500 is column x - 140 of row y + 1, or rather x + 500 of row y.
_CARRIES = (0, -1, 1)

#: The greatest number of row lengths to try where no iterator counts the rows.
_MOST_LENGTHS = 3
#: The greatest number of origins to try.
_MOST_ORIGINS = 4

#: Greatest first.
Strides = tuple[Polynomial, ...]
NO_ORIGIN = number(0)


class Assumed(IntEnum):
    """What a split may assume of parameters."""

    NOTHING = 0
    LENGTHS = 1
    """lower bounds of row lengths; of other parameters only by numbers"""
    BOUNDS = 2
    """also other bounds of a parameter, by a number or by another parameter"""


def stride_chains(used: Iterable[Subscript]) -> tuple[Strides, ...]:
    """The chains of parametric strides, greatest first, that may split the subscripts of one array;
    none where an iterator's factor is no polynomial of parameters.

    Strides are factors of iterators, without their numbers (2*i*m is row 2*i of length m) or with
    their common number ((i*m + j)*3 + k is row i of length 3*m). Of two strides that do not divide
    each other, the outer iterator's is the greater. Chains without possible diagonals come last.
    """
    strides: dict[Polynomial, tuple[int, int]] = {}
    for subscript in used:
        frame = subscript.frame
        for atom in subscript.sum.atoms:
            if frame.invariant(atom):
                continue
            parts = subscript.sum.split(atom)
            if parts is None or not all(frame.invariant(part) for part in parts[0].atoms):
                return ()
            # The difference of two chosen rows need not be a stride.
            if parts[0].constant is None and not isinstance(atom, Conditional):
                stride, content = primitive(parts[0])
                common, depth = strides.get(stride, (0, len(frame.iterators)))
                iterator = atom.object if isinstance(atom, Access) else None
                known = iterator in frame.iterators
                iterator_depth = frame.iterators.index(iterator) if known else len(frame.iterators)
                strides[stride] = gcd(common, content), min(depth, iterator_depth)
    ordered = sorted(strides.items(), key=lambda item: (-_degree(item[0]), item[1][1], repr(item[0])))
    chains = (
        tuple(stride for stride, _ in ordered),
        tuple(stride * number(common) for stride, (common, _) in ordered),
    )
    without = (
        tuple(stride for stride in chain if stride != sum_) for chain in chains for sum_ in _sums_of_others(chain)
    )
    return tuple(dict.fromkeys(chain for chain in (*chains, *without) if chain))


def _sums_of_others(chain: Strides) -> Iterator[Polynomial]:
    """The strides that are a multiple of another stride plus a term of lower degree: diagonals', as
    n + 1 in a[i*n + j] = a[j*(n + 1)]. Nothing tells whether rows have n or n + 1 elements.
    """
    for stride, smaller in permutations(chain, 2):
        count, rest = divide(stride, smaller)
        if count.constant and rest.terms and _degree(rest) < _degree(smaller):
            yield stride


def longer_chains(chains: Iterable[Strides], used: Iterable[Subscript]) -> tuple[Strides, ...]:
    """The chains with one more stride: the length of rows that no iterator counts, as in
    u[h*(w + 2) + j] for row h.

    It divides a product of parameters in the subscript's part without iterators. Likeliest first;
    none without such a product.
    """
    fixed = dict.fromkeys(
        Polynomial(tuple(term for term in each.sum.terms if all(map(each.frame.invariant, term[0])))) for each in used
    )
    products = [term for term in fixed if term.terms and _degree(term) > 1]
    lengths = dict.fromkeys(primitive(term)[0] for term in fixed if term.terms and _degree(term) == 1)
    for product in products:
        for atom in product.atoms:
            quotient, rest = divide(product, of_atom(atom))
            if not rest.terms:
                lengths |= dict.fromkeys((primitive(quotient)[0], of_atom(atom)))
    wholes = [*products, *dict.fromkeys(stride for chain in chains for stride in chain)]
    symbolic = (length for length in lengths if length.constant is None)
    divided = {length: sum(not divide(whole, length)[1].terms for whole in wholes) for length in symbolic}
    possible = (length for length, count in divided.items() if count and products)
    likely = sorted(possible, key=lambda length: -divided[length])
    return tuple(
        (*chain, length)
        for length in likely[:_MOST_LENGTHS]
        for chain in chains or ((),)
        if length not in chain and (not chain or not divide(chain[-1], length)[1].terms)
    )


@dataclass(frozen=True)
class SplitSubscript:
    """{ [i] -> [q_1, …, q_k, r] }, and { [p] : what that assumes of parameters }."""

    parts: tuple[isl.PwAff, ...]
    assumed: isl.Set


def split_subscript(
    subscript: Expression,
    by: Strides,
    frame: Frame,
    domain: isl.Set,
    *,
    origin: Polynomial = NO_ORIGIN,
    assuming: Assumed = Assumed.NOTHING,
    within_rows: bool = False,
) -> SplitSubscript | None:
    """The parts of a subscript less the `origin` where `domain` implies their ranges; else None.

    `assuming`: what it may assume instead; `within_rows`: nothing of the last stride.
    """
    rest = frame.written_out(polynomial(subscript))
    parts: list[Polynomial] = []
    for stride in by:
        quotient, rest = divide(rest, stride)
        parts.append(quotient)
    parts.append(rest - origin)
    assumed = isl.Set.universe(isl.Space.params_alloc(frame.context, 0))
    try:
        for place in reversed(range(len(by))):
            may = Assumed.NOTHING if within_rows and place == len(by) - 1 else assuming
            length = extent(by, place + 1)
            # Columns count from the origin, so that none lies in another row.
            carries = (0,) if origin.terms and place == len(by) - 1 else _CARRIES
            within = domain.intersect_params(assumed)
            carried = _carry(parts[place + 1], length, carries, subscript, frame, within, may)
            if carried is None:
                return None
            carry, needed = number(carried[0]), carried[1]
            parts[place : place + 2] = [parts[place] + carry, parts[place + 1] - carry * length]
            assumed = assumed.intersect(needed)
        return SplitSubscript(tuple(affine_polynomial(part, subscript, frame) for part in parts), assumed)
    except NotAffineError:
        return None


def _carry(
    part: Polynomial,
    length: Polynomial,
    carries: Sequence[int],
    whole: Expression,
    frame: Frame,
    domain: isl.Set,
    assuming: Assumed,
) -> tuple[int, isl.Set] | None:
    """The lengths to take from a part so that it is in its range, for the parameters of the set."""
    assumed: dict[bool, tuple[int, isl.Set]] = {}
    for carry in carries:
        inside = _in_range(part - number(carry) * length, length, whole, frame)
        if domain.is_subset(inside):
            return carry, isl.Set.universe(domain.params().get_space())
        limit = affine_polynomial(length, whole, frame)
        needed = _needed(domain, inside, limit, _multiples(length, frame), assuming) if assuming else None
        if needed is not None:
            assumed.setdefault(needed[1], (carry, needed[0]))
    return assumed.get(False) or assumed.get(True)


def _in_range(part: Polynomial, length: Polynomial, whole: Expression, frame: Frame) -> isl.Set:
    """{ [i] : 0 <= part(i) < length }, of parts of the subscript `whole`. Raises NotAffineError."""
    function, beyond = (affine_polynomial(value, whole, frame) for value in (part, length))
    return function.ge_set(frame.number(0)).intersect(function.lt_set(beyond))


def extent(by: Strides, place: int) -> Polynomial:
    """The number of values of the part at this place: s_l / s_(l+1), rounded down.

    For a stride below 1 the result is irrelevant: then no remainder is in range.
    """
    greater = by[place - 1]
    if place == len(by):
        return greater
    quotient, rest = divide(greater, by[place])
    if not rest.terms:
        return quotient
    divisor = Call("tilek_maximum", Callee.HELPER, (expression(by[place]), integer(1, LONG)), LONG)
    return of_atom(Binary("/", expression(greater), divisor, LONG))


def _multiples(length: Polynomial, frame: Frame) -> frozenset[str]:
    """The parameters for products with a factor of this extent: no extent is as great."""
    return frozenset(
        name
        for name, value in frame.parameters.items()
        for monomial, _ in polynomial(value).terms
        if len(monomial) > 1 and length.atoms & set(monomial)
    )


def _needed(
    domain: isl.Set, inside: isl.Set, limit: isl.PwAff, multiples: frozenset[str], assuming: Assumed
) -> tuple[isl.Set, bool] | None:
    """{ [p] : for all i in domain(p): inside(p, i) }, where that only bounds the extent `limit`
    from below, and not by its `multiples`; else None.

    It may also bound other parameters as `assuming` allows (`True`): a row's columns from r on, and
    up to r before its end, are inside where r >= 0; those from r - d on where r >= d.
    """
    needed = domain.subtract(inside).params().complement().gist(domain.params()).coalesce()
    pieces = needed.get_basic_sets()
    extents = [function for _, function in limit.get_pieces()]
    if len(pieces) != 1 or len(extents) != 1 or needed.is_empty():
        return None
    piece = pieces[0].remove_redundancies()
    if piece.dim(isl.dim_type.div):
        return None
    constraints = piece.get_constraints()
    others = [each for each in constraints if not _grows(each, _factors(extents[0]), multiples)]
    if any(each.is_equality() or not _may_assume(_factors(each), assuming) for each in others):
        return None
    return isl.Set.from_basic_set(piece), bool(others)


def _may_assume(factors: Mapping[str, int], assuming: Assumed) -> bool:
    """Whether a constraint with these factors may be assumed."""
    values = sorted(factors.values())
    if assuming is Assumed.BOUNDS:
        return len(values) == 1 or values == [-1, 1]
    return len(values) == 1 and values[0] > 0


def _factors(form: isl.Constraint | isl.Aff) -> dict[str, int]:
    """The factors of the parameters that are not 0."""
    places = range(form.dim(isl.dim_type.param))
    values = [form.get_coefficient_val(isl.dim_type.param, place).to_python() for place in places]
    return {str(form.get_dim_name(isl.dim_type.param, place)): values[place] for place in places if values[place]}


def _grows(constraint: isl.Constraint, length: Mapping[str, int], multiples: frozenset[str]) -> bool:
    """Whether a greater extent helps to satisfy the constraint a(p) >= 0, and can do so."""
    factors = _factors(constraint)
    if constraint.is_equality() or any(factor < 0 and name in multiples for name, factor in factors.items()):
        return False
    return sum(length.get(name, 0) * factor for name, factor in factors.items()) > 0


def _degree(value: Polynomial) -> int:
    return max(len(monomial) for monomial, _ in value.terms)


@dataclass(frozen=True)
class Subscript:
    """A subscript of a one-dimensional array, under loops: { [i] -> [value(i)] : domain(i) }."""

    value: Expression
    frame: Frame
    domain: isl.Set
    iterators: tuple[DataObject, ...]

    @cached_property
    def sum(self) -> Polynomial:
        """The value with known sums of scalars substituted."""
        return self.frame.written_out(polynomial(self.value))

    @cached_property
    def function(self) -> isl.PwAff | None:
        """{ [i] -> [value(i)] }, if it is affine."""
        return affine_or_none(self.value, self.frame)

    @property
    def is_sum(self) -> bool:
        """Whether only iterators of the surrounding loops vary in it."""
        varying = (atom for atom in polynomial(self.value).atoms if not self.frame.invariant(atom))
        return all(isinstance(atom, Access) and atom.object in self.iterators for atom in varying)

    @property
    def sweeps(self) -> bool:
        """Whether it is affine and varies: it may run over rows, so it justifies no assumption."""
        return self.function is not None and not self.frame.invariant(self.value)


@dataclass(frozen=True)
class Layouts:
    """Arrays with strides, greatest first, and { [p] : assumptions on parameters }. `origins` are
    those that are not 0.
    """

    strides: Mapping[DataObject, Strides]
    assumed: isl.Set
    origins: Mapping[DataObject, Polynomial] = field(default_factory=dict)

    def including(self, object_: DataObject, used: Sequence[Subscript], *, assuming: bool) -> Layouts:
        """These layouts with an array, if its subscripts split; affine ones need not.

        All of them without assumptions, else some, with assumptions if `assuming`.
        """
        chains = stride_chains(used)
        by_sweeps = sorted(used, key=lambda subscript: subscript.sweeps)
        lengths = Assumed.LENGTHS if assuming else Assumed.NOTHING

        def attempts() -> Iterator[tuple[Assumed, bool, Strides, Polynomial]]:
            yield from ((Assumed.NOTHING, True, by, NO_ORIGIN) for by in chains)
            yield from ((lengths, False, by, NO_ORIGIN) for by in chains)
            moved = [(by, origin) for by in chains for origin in _origins(by, used)]
            for may in dict.fromkeys((Assumed.NOTHING, lengths)):
                yield from ((may, True, by, origin) for by, origin in moved)
            yield from ((Assumed.BOUNDS, False, by, NO_ORIGIN) for by in chains if assuming)

        for may, all_of_them, by, origin in attempts():
            assumed = self._assumed(by, by_sweeps, may, all_of_them, origin=origin)
            if assumed is not None:
                return self._with(object_, by, assumed, origin)
        # Row lengths that no iterator counts are guesses: elements must provably be inside of rows.
        for by in longer_chains(chains, used):
            for may in dict.fromkeys((Assumed.NOTHING, lengths)):
                assumed = self._assumed(by, by_sweeps, may, all_of_them=True, within_rows=True)
                if assumed is not None:
                    return self._with(object_, by, assumed)
        return self

    def confining(self, subscript: Subscript, length: Expression) -> Layouts:
        """These layouts, where a subscript that counts from a pointer stays in its row of `length`
        elements, if assumptions make it so.
        """
        within = replace(subscript, domain=subscript.domain.intersect_params(self.assumed))
        needed = range_in_row(within, length, Assumed.BOUNDS)
        if needed is None:
            return self
        assumed = self.assumed.intersect(needed)
        possible = not assumed.intersect(possible_values(subscript.frame)).is_empty()
        return replace(self, assumed=assumed) if possible else self

    def _with(self, object_: DataObject, by: Strides, assumed: isl.Set, origin: Polynomial = NO_ORIGIN) -> Layouts:
        origins = {**self.origins, object_: origin} if origin.terms else self.origins
        return Layouts({**self.strides, object_: by}, assumed, origins)

    def _assumed(
        self,
        by: Strides,
        used: Sequence[Subscript],
        may_assume: Assumed,
        all_of_them: bool,
        within_rows: bool = False,
        origin: Polynomial = NO_ORIGIN,
    ) -> isl.Set | None:
        """{ [p] : assumptions } under which the subscripts split by these strides, or None."""
        assumed = self.assumed
        split_count = 0
        for subscript in used:
            domain = subscript.domain.intersect_params(assumed)
            may = Assumed.NOTHING if subscript.sweeps else may_assume
            split = split_subscript(
                subscript.value, by, subscript.frame, domain, origin=origin, assuming=may, within_rows=within_rows
            )
            if split is not None:
                split_count += 1
                assumed = assumed.intersect(split.assumed)
            elif all_of_them or subscript.function is None:
                return None
        if not split_count or assumed.is_empty():
            return None
        return None if assumed.intersect(possible_values(used[0].frame)).is_empty() else assumed


def range_in_row(subscript: Subscript, length: Expression, assuming: Assumed = Assumed.NOTHING) -> isl.Set | None:
    """{ [p] : what it assumes of parameters } where 0 <= value(i) < length on the domain; None
    where that cannot be shown.
    """
    frame = subscript.frame
    try:
        row = frame.written_out(polynomial(length))
        carried = _carry(subscript.sum, row, (0,), subscript.value, frame, subscript.domain, assuming)
    except NotAffineError:
        return None
    return None if carried is None else carried[1]


def _origins(by: Strides, used: Iterable[Subscript]) -> tuple[Polynomial, ...]:
    """The least columns that subscripts touch, where these are sums of parameters other than 0."""
    origins: dict[Polynomial, None] = {}
    for subscript in used:
        if len(origins) == _MOST_ORIGINS:
            break
        rest = subscript.sum
        for stride in by:
            _, rest = divide(rest, stride)
        try:
            column = affine_polynomial(rest, subscript.value, subscript.frame)
        except NotAffineError:
            continue
        values = isl.Map.from_pw_aff(column).intersect_domain(subscript.domain).range()
        if values.is_empty() or not values.dim_has_lower_bound(isl.dim_type.set, 0):
            continue
        least = ParameterReader(subscript.frame.context, subscript.frame.parameters).value(values.dim_min(0))
        if least is not None and least.terms and not any(isinstance(atom, Call) for atom in least.atoms):
            origins[least] = None
    return tuple(origins)


#: The greatest number of candidate strides.
_MOST_STRIDES = 5
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
    chains = [*_parametric_chains(used), *_chains(value for value, _ in sums.values())] if sums is not None else []
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


def parts_of_rows(
    used: Iterable[Subscript], strides: Strides, written_out: Callable[[Polynomial], Polynomial]
) -> dict[Polynomial, Parts]:
    """The parts of those subscripts that provably split by these strides, in all their places."""
    places: dict[Polynomial, list[Subscript]] = {}
    for subscript in used:
        places.setdefault(polynomial(subscript.value), []).append(subscript)
    parts = {}
    for written, same in places.items():
        value = written_out(written)
        split = _parts(value, same, strides) if all(_has(subscript, value) for subscript in same) else None
        if isinstance(split, tuple):
            parts[written] = split
    return parts


_Sums = dict[Polynomial, tuple[Polynomial, list[Subscript]]]
"""Of each collected subscript its value without locals, and its places."""


def _sums(used: Iterable[Subscript], written_out: Callable[[Polynomial], Polynomial]) -> _Sums | None:
    """The distinct subscripts; None where one is not affine, or not the same sum everywhere."""
    sums: _Sums = {}
    for subscript in used:
        written = polynomial(subscript.value)
        value = written_out(written)
        if not _has(subscript, value):
            return None
        sums.setdefault(written, (value, []))[1].append(subscript)
    return sums


def _has(subscript: Subscript, value: Polynomial) -> bool:
    """Whether the subscript has this value on its domain: { [i] : subscript(i) = value(i) }."""
    if subscript.function is None:
        return subscript.sum == value
    try:
        same = subscript.function.eq_set(affine_polynomial(value, subscript.value, subscript.frame))
        return bool(subscript.domain.is_subset(same))
    except NotAffineError:
        return False


def _parametric_chains(used: Iterable[Subscript]) -> Iterator[Strides]:
    """The chains of symbolic strides, longest first."""
    all_chains = stride_chains(used)
    for size in range(max(map(len, all_chains), default=0), 0, -1):
        chains = (part for chain in all_chains for part in itertools.combinations(chain[-_MOST_STRIDES:], size))
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
        chains = sorted(itertools.combinations(strides, size), key=lambda chain: -sum(count[each] for each in chain))
        yield from filter(_nested, (tuple(map(number, chain)) for chain in chains))


def _nested(strides: Strides) -> bool:
    """Whether each stride is a multiple of the next."""
    return not any(divide(greater, less)[1].terms for greater, less in itertools.pairwise(strides))


def _lengths(strides: Strides) -> tuple[Polynomial, ...]:
    return tuple(divide(greater, less)[0] for greater, less in itertools.pairwise((*strides, number(1))))


def _split_by(sums: _Sums, strides: Strides) -> Rows | Leaving | None:
    parts: dict[Polynomial, Parts] = {}
    for written, (value, places) in sums.items():
        split = _parts(value, places, strides)
        if not isinstance(split, tuple):
            return split
        parts[written] = split
    # A dimension along which no subscript moves does not exist.
    if not all(any(each[place].constant is None for each in parts.values()) for place in range(len(strides) + 1)):
        return None
    return Rows(strides, parts)


def _parts(value: Polynomial, places: Sequence[Subscript], strides: Strides) -> Parts | Leaving | None:
    """The subscript's parts, equal in all its places."""
    parts = _divided(value, strides)
    lengths = _lengths(strides)
    for place in reversed(range(1, len(parts))):
        length = lengths[place - 1]
        for carry in _CARRIES:
            part = parts[place] - number(carry) * length
            try:
                inside = all(each.domain.is_subset(_in_range(part, length, each.value, each.frame)) for each in places)
            except NotAffineError:
                return None
            if inside:
                parts[place - 1 : place + 1] = [parts[place - 1] + number(carry), part]
                break
        else:
            return Leaving(places[0].value, length)
    return tuple(parts)


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
