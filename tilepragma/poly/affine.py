"""C expressions as quasi-affine functions of iterators and parameters: { [i] -> [e(i)] }, or the
reason why not.

Parameters are scalars that the region does not write, and whole invariant sub-expressions that are
not affine in them (`n * m`, `(int)x`), which become parameters named by their text. Integers are
mathematical: C leaves signed overflow undefined, and this module refuses unsigned operations whose
wrapped value could matter.

Comparisons with minima, maxima and quotients become conjunctions of affine ones where possible
(`satisfying`):

    x <= min_k floor(e_k / s_k)    iff    s_k x <= e_k for all k
    x >= max_k ceil(e_k / s_k)     iff    s_k x >= e_k for all k

As functions, such bounds and their sets have pieces; as conjunctions, bounds of tiles give one
convex set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property, reduce
from itertools import product
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.c_values import has_wrapped, holds, never_wraps
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Comma,
    Conditional,
    DataObject,
    Expression,
    FloatingLiteral,
    Increment,
    IntegerLiteral,
    Storage,
    Unary,
    access_to,
)
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import Monomial, Polynomial, keeps_value, polynomial
from tilepragma.ir.polynomial import expression as collected
from tilepragma.ir.quotients import unguarded, with_guarded_quotients
from tilepragma.ir.traversal import children, walk
from tilepragma.ir.types import INT, LONG, ScalarType, is_integer

#: Each division and choice doubles the cases of a function; isl's work grows faster.
_MOST_PIECES = 32

_IMPURE = (Assignment, Increment, AddressOf, Comma, FloatingLiteral)


@dataclass(frozen=True)
class NotAffine:
    """Why an expression is no affine function: a sentence, and where the expression stands."""

    range: SourceRange
    reason: str


ReturnedValue = tuple[tuple[DataObject, ...], Expression]
"""The value of a function without effects, as an expression of its parameters."""


class NotAffineError(Exception):
    """Raised where an expression is not affine."""

    def __init__(self, expression: Expression, why: str) -> None:
        self.why = NotAffine(getattr(expression, "range", NOWHERE), f"'{expression_text(expression)}' {why}")
        super().__init__(self.why.reason)


@dataclass(frozen=True)
class Frame:
    """{ [i_1, …, i_n] } over parameters: the space of expressions under the loops of `iterators`.

    `written` are the objects that the region changes; any other scalar, except iterators, is a
    parameter. `parameters` collects the expression of each parameter in use; nested frames share
    it.
    """

    context: isl.Context
    iterators: tuple[DataObject, ...]
    written: frozenset[DataObject]
    parameters: dict[str, Expression] = field(default_factory=dict, compare=False)
    known: Mapping[DataObject, isl.PwAff] = field(default_factory=dict, compare=False)
    """{ [i] -> [value(i)] } of scalars with a known value, such as declared constants"""
    sums: Mapping[DataObject, Polynomial] = field(default_factory=dict, compare=False)
    """scalars that are sums of products of others"""
    returned: Mapping[str, ReturnedValue] = field(default_factory=dict, compare=False)
    """returned values of functions, by name"""
    asked: set[DataObject] = field(default_factory=set, compare=False)
    """the scalars whose known values were used; nested frames share it"""

    @property
    def space(self) -> isl.Space:
        """{ [i_1, …, i_n] }"""
        return isl.Space.set_alloc(self.context, 0, len(self.iterators))

    def inside(self, iterator: DataObject) -> Frame:
        """The frame of a loop's body."""
        known = {each: value.add_dims(isl.dim_type.in_, 1) for each, value in self.known.items() if each != iterator}
        return replace(self, iterators=(*self.iterators, iterator), known=known)

    def value(self, object_: DataObject) -> isl.PwAff | None:
        """{ [i] -> [object(i)] } of a known scalar or an iterator, the innermost of equal ones."""
        if object_ in self.known:
            self.asked.add(object_)
            return self.known[object_]
        if object_ not in self.iterators:
            return None
        return self.iterator(len(self.iterators) - 1 - self.iterators[::-1].index(object_))

    def knowing(self, object_: DataObject, value: isl.PwAff) -> Frame:
        """This frame with a known value { [i] -> [value(i)] } of a scalar."""
        return replace(self, known={**self.known, object_: value})

    def written_out(self, value: Polynomial) -> Polynomial:
        """The value with known sums of scalars substituted, where it is linear in them."""
        for object_, sum_ in self.sums.items():
            atom = access_to(object_)
            if atom in value.atoms and value.split(atom) is not None:
                value = value.substitute(atom, sum_)
        return value

    def number(self, value: int) -> isl.PwAff:
        """{ [i] -> [value] }"""
        zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self.space))
        return isl.PwAff.from_aff(zero.set_constant_val(whole_number(self.context, value)))

    def iterator(self, place: int) -> isl.PwAff:
        """{ [i] -> [i_place] }"""
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(self.space), isl.dim_type.set, place))

    def parameter(self, name: str, value: Expression | None = None) -> isl.PwAff:
        """[p] -> { [i] -> [p] } for the parameter of this name; records its expression, if any."""
        if name.lstrip("+-")[:1].isdigit():
            # isl would parse a name that begins with a number (`1 << k`) as that number.
            name = f"({name})"
        if value is not None:
            self.parameters[name] = with_guarded_quotients(value)
        # By name: an isl.Id made in Python carries an object, and differs from the same name
        # parsed.
        space = self.space.add_dims(isl.dim_type.param, 1).set_dim_name(isl.dim_type.param, 0, name)
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), isl.dim_type.param, 0))

    def invariant(self, expression: Expression) -> bool:
        """Whether the expression has one integer value in the region, from unwritten scalars."""
        return _is_integer(expression) and self._is_steady(expression)

    def _is_steady(self, node: Any) -> bool:
        """Whether a node and all nodes below it are invariant; memoized for deep expressions."""
        known = self._steady_nodes.get(id(node))
        if known is None:
            known = node, self._steady(node) and all(map(self._is_steady, children(node)))
            self._steady_nodes[id(node)] = known
        return known[1]

    @cached_property
    def _steady_nodes(self) -> dict[int, tuple[object, bool]]:
        return {}

    def _steady(self, node: object) -> bool:
        if isinstance(node, _IMPURE) or (isinstance(node, Call) and node.callee is not Callee.HELPER):
            return False
        if isinstance(node, Access):
            object_ = node.object
            varies = object_ in self.written or object_ in self.iterators or object_.volatile
            varies = varies or object_ in self.known or object_ in self.sums
            return not varies and object_.storage is Storage.SCALAR
        return True


def whole_number(context: isl.Context, value: int) -> isl.Val:
    """isl's form of a number of any size."""
    if abs(value) < 1 << 31:
        return isl.Val.int_from_si(context, value)
    return isl.Val.read_from_str(context, str(value))


def affine(expression: Expression, frame: Frame) -> isl.PwAff:
    """{ [i] -> [expression(i)] }. Raises NotAffineError."""
    if not _is_integer(expression):
        raise NotAffineError(expression, "is not an integer")
    return affine_polynomial(frame.written_out(polynomial(expression)), expression, frame)


def affine_or_none(value: Expression, frame: Frame) -> isl.PwAff | None:
    """{ [i] -> [value(i)] }; None where the expression is not affine."""
    try:
        return affine(value, frame)
    except NotAffineError:
        return None


def affine_polynomial(value: Polynomial, whole: Expression, frame: Frame) -> isl.PwAff:
    """{ [i] -> [value(i)] } for a polynomial in the expression `whole`. Raises NotAffineError."""
    result: isl.PwAff | None = None
    for monomial, coefficient in value.terms:
        term = _monomial(monomial, whole, frame)
        if coefficient != 1:
            term = term.mul(frame.number(coefficient))
        result = term if result is None else result.add(term)
        if result.n_piece() > _MOST_PIECES:
            raise NotAffineError(whole, "distinguishes too many cases")
    return frame.number(0) if result is None else result


def affine_tuple(expressions: Iterable[Expression], frame: Frame) -> isl.Map:
    """{ [i] -> [expressions(i)] }. Raises NotAffineError."""
    return product_of((affine(expression, frame) for expression in expressions), frame)


def product_of(parts: Iterable[isl.PwAff | None], frame: Frame) -> isl.Map:
    """{ [i] -> [parts(i)] }; where a part is None, all integers."""
    dimensions = len(frame.iterators)
    result = isl.Map.universe(isl.Space.alloc(frame.context, 0, dimensions, 0))
    every = isl.Map.universe(isl.Space.alloc(frame.context, 0, dimensions, 1))
    for part in parts:
        result = result.flat_range_product(every if part is None else isl.Map.from_pw_aff(part))
    return result


def condition(expression: Expression, frame: Frame) -> isl.Set:
    """{ [i] : expression(i) != 0 }. Raises NotAffineError."""
    holds = _condition(expression, frame)
    if holds.n_basic_set() > _MOST_PIECES:
        raise NotAffineError(expression, "distinguishes too many cases")
    return holds


def _condition(expression: Expression, frame: Frame) -> isl.Set:
    if isinstance(expression, Binary):
        if expression.operator in ("&&", "||"):
            left, right = condition(expression.left, frame), condition(expression.right, frame)
            return left.intersect(right) if expression.operator == "&&" else left.union(right)
        if expression.operator in _COMPARISONS:
            for side in (expression.left, expression.right):
                _check_compared(expression, side, frame)
            return compare(affine(expression.left, frame), expression.operator, affine(expression.right, frame))
    if isinstance(expression, Unary) and expression.operator == "!":
        return condition(expression.operand, frame).complement()
    return affine(expression, frame).ne_set(frame.number(0))


def compare(left: isl.PwAff, operator: str, right: isl.PwAff) -> isl.Set:
    """{ [i] : left(i) operator right(i) }"""
    return _COMPARISONS[operator](left, right)


def between_ends(loop: Loop, iterator: isl.PwAff, frame: Frame) -> isl.Set:
    """{ [i] : iterator(i) lies between the loop's ends }, also between its steps. Raises
    NotAffineError.
    """
    lower, upper = affine(loop.lower, frame), affine(loop.upper, frame)
    after = compare(iterator, "<=" if loop.decreasing else ">=", lower)
    return after.intersect(compare(iterator, loop.holds_inside, upper))


_COMPARISONS: dict[str, Callable[[isl.PwAff, isl.PwAff], isl.Set]] = {
    "<": lambda left, right: left.lt_set(right),
    "<=": lambda left, right: left.le_set(right),
    ">": lambda left, right: left.gt_set(right),
    ">=": lambda left, right: left.ge_set(right),
    "==": lambda left, right: left.eq_set(right),
    "!=": lambda left, right: left.ne_set(right),
}


def _monomial(monomial: Monomial, whole: Expression, frame: Frame) -> isl.PwAff:
    if not monomial:
        return frame.number(1)
    if len(monomial) == 1:
        return _atom(monomial[0], frame)
    steady = tuple(atom for atom in monomial if frame.invariant(atom))
    varying = tuple(atom for atom in monomial if atom not in steady)
    factors = [_atom(atom, frame) for atom in varying]
    if len(steady) == 1:
        factors.append(_atom(steady[0], frame))
    elif steady:
        name = "*".join(expression_text(atom) for atom in steady)
        factors.append(frame.parameter(name, collected(Polynomial(((steady, 1),)))))
    result = factors[0]
    for factor in factors[1:]:
        if not (result.is_cst() or factor.is_cst()):
            raise NotAffineError(whole, f"multiplies '{expression_text(varying[0])}' by a value that is no constant")
        result = result.mul(factor)
    return result


def _atom(atom: Expression, frame: Frame) -> isl.PwAff:
    atom = unguarded(atom)
    if isinstance(atom, Access) and not atom.subscripts and not atom.path:
        value = frame.value(atom.object)
        if value is not None:
            return value
    try:
        if isinstance(atom, Binary) and atom.operator in ("/", "%"):
            return _division(atom, frame)
        if isinstance(atom, Binary) and atom.operator == "&":
            return _low_bits(atom, frame)
        if isinstance(atom, Conditional):
            return _choice(atom, frame)
        if isinstance(atom, Call) and atom.callee is Callee.HELPER:
            return _helper(atom, frame)
        if isinstance(atom, Call) and atom.callee is Callee.USER and atom.function in frame.returned:
            return _returned(atom, frame)
    except NotAffineError:
        if not frame.invariant(atom):
            raise
    if frame.invariant(atom):
        return frame.parameter(expression_text(atom), atom)
    raise NotAffineError(atom, _why(atom))


def _why(atom: Expression) -> str:
    if isinstance(atom, Access):
        return "is read from memory" if atom.subscripts or atom.path else "changes inside the kernel"
    return "is not a sum of iterators and invariant values"


def _division(atom: Binary, frame: Frame) -> isl.PwAff:
    """C's division truncates; the remainder has the dividend's sign."""
    divisor = constant_value(atom.right, frame)
    if divisor is None or divisor <= 0:
        raise NotAffineError(atom, "divides by a value that is no positive constant")
    if not is_integer(atom.type):
        raise NotAffineError(atom, "is not an integer")
    wraps = not atom.type.signed and not _never_wraps(atom.left, frame)
    if wraps or has_wrapped(atom.left, atom.type) or _begins_anywhere(atom.left, divisor, frame):
        raise NotAffineError(atom, "divides an unsigned value that may have wrapped")
    dividend, by = affine(atom.left, frame), frame.number(divisor)
    return dividend.tdiv_q(by) if atom.operator == "/" else dividend.tdiv_r(by)


def _low_bits(atom: Binary, frame: Frame) -> isl.PwAff:
    """x & (2^k - 1) is x mod 2^k >= 0: two's complement, and wrapping at 32 bits keeps low bits."""
    mask = constant_value(atom.right, frame)
    if mask is None:
        raise NotAffineError(atom, _why(atom))
    if not 0 < mask < 1 << 32 or mask & (mask + 1):
        raise NotAffineError(atom, "keeps bits other than the lowest")
    if not is_integer(atom.type):
        raise NotAffineError(atom, "is not an integer")
    return affine(atom.left, frame).mod_val(whole_number(frame.context, mask + 1))


def constant_value(expression: Expression, frame: Frame) -> int | None:
    """The expression's value where it is one number by the frame's facts."""
    value = polynomial(expression)
    if value.constant is None and any(
        isinstance(node, Access) and node.object in frame.known for node in walk(expression)
    ):
        function = affine_polynomial(value, expression, frame)
        least = function.min_val()
        return int(least.to_python()) if function.is_cst() and least.is_int() else None
    return value.constant


def _helper(atom: Call, frame: Frame) -> isl.PwAff:
    """The helpers of tilek.h; quotients are by positive constants."""
    left = affine(atom.arguments[0], frame)
    if atom.function in ("tilek_minimum", "tilek_maximum"):
        right = affine(atom.arguments[1], frame)
        # Coalesced, since each case has pieces of its own: the least of eight has hundreds.
        return (left.min(right) if atom.function == "tilek_minimum" else left.max(right)).coalesce()
    divisor = constant_value(atom.arguments[1], frame)
    if divisor is None or divisor <= 0 or atom.function not in ("tilek_floor_quotient", "tilek_ceiling_quotient"):
        raise NotAffineError(atom, "divides by a value that is no positive constant")
    quotient = left.div(frame.number(divisor))
    return quotient.floor() if atom.function == "tilek_floor_quotient" else quotient.ceil()


def _returned(atom: Call, frame: Frame) -> isl.PwAff:
    parameters, value = frame.returned[atom.function]
    others = {name: value for name, value in frame.returned.items() if name != atom.function}
    inside = replace(frame, returned=others)
    for parameter, argument in zip(parameters, atom.arguments, strict=True):
        if not holds(parameter.element, argument):
            raise NotAffineError(argument, "may be cut off")
        inside = inside.knowing(parameter, affine(argument, frame))
    return affine(value, inside)


def _choice(atom: Conditional, frame: Frame) -> isl.PwAff:
    holds = condition(atom.condition, frame)
    then = affine(atom.then, frame).intersect_domain(holds)
    return then.union_add(affine(atom.otherwise, frame).intersect_domain(holds.complement()))


def _check_compared(whole: Expression, side: Expression, frame: Frame) -> None:
    """In a comparison of unsigned type, conversion must change neither side."""
    assert isinstance(whole, Binary)
    types = [side_.type for side_ in (whole.left, whole.right) if isinstance(side_.type, ScalarType)]
    if len(types) != 2 or not all(type_.is_integer for type_ in types):
        raise NotAffineError(whole, "does not compare integers")
    widest = max(max(type_.bits for type_ in types), INT.bits)
    unsigned = any(not type_.signed and type_.bits == widest and type_.bits >= INT.bits for type_ in types)
    if unsigned and not _never_wraps(side, frame):
        raise NotAffineError(whole, "compares as unsigned a value that may be negative")
    if has_wrapped(side, max(types, key=lambda type_: type_.bits)):
        raise NotAffineError(whole, "compares an unsigned value that may have wrapped")


def _never_wraps(expression: Expression, frame: Frame) -> bool:
    """Whether the sum, also with locals substituted, wraps only beyond the size of any array."""
    return never_wraps(polynomial(expression)) and never_wraps(frame.written_out(polynomial(expression)))


def _begins_anywhere(dividend: Expression, divisor: int, frame: Frame) -> bool:
    """Whether an unsigned sum of less than 64 bits starts at a launch value, which may be close to
    the type's end: what follows is then out of step unless the divisor divides 2^32.
    """
    type_, atoms = dividend.type, polynomial(dividend).atoms
    narrow = isinstance(type_, ScalarType) and not type_.signed and INT.bits <= type_.bits < LONG.bits
    return narrow and divisor & (divisor - 1) != 0 and len({frame.invariant(atom) for atom in atoms}) > 1


def _is_integer(expression: Expression) -> bool:
    return isinstance(expression, IntegerLiteral) or (is_integer(expression.type))


@dataclass(frozen=True)
class Quotient:
    """{ [i] -> [dividend(i) / divisor] } before rounding; the divisor is positive."""

    dividend: isl.PwAff
    divisor: int


def satisfying(expression: Expression, frame: Frame) -> isl.Set:
    """{ [i] : expression(i) != 0 }. Raises NotAffineError."""
    if isinstance(expression, Binary) and expression.operator == "&&":
        return satisfying(expression.left, frame).intersect(satisfying(expression.right, frame))
    if isinstance(expression, Binary) and expression.operator in _FLIPPED:
        plain = condition(expression, frame)
        if plain.n_basic_set() > 1:
            left, right = (affine(side, frame) for side in (expression.left, expression.right))
            if left.n_piece() == 1:
                return compared(left, expression.operator, expression.right, frame)
            if right.n_piece() == 1:
                return compared(right, _FLIPPED[expression.operator], expression.left, frame)
        return plain
    return condition(expression, frame)


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compared(value: isl.PwAff, operator: str, bound: Expression, frame: Frame) -> isl.Set:
    """{ [i] : value(i) operator bound(i) }, for one of < <= > >=. Raises NotAffineError."""
    return bounded(value, operator, quotients(bound, operator, frame), frame)


def bounded(value: isl.PwAff, operator: str, parts: tuple[Quotient, ...], frame: Frame) -> isl.Set:
    """{ [i] : value(i) operator each part }, all over the frame's space."""
    return reduce(isl.Set.intersect, (_compared(value, operator, part, frame) for part in parts)).coalesce()


def _compared(value: isl.PwAff, operator: str, part: Quotient, frame: Frame) -> isl.Set:
    divisor = frame.number(part.divisor)
    scaled = value if part.divisor == 1 else value.mul(divisor)
    if operator == "<":
        return scaled.add(divisor).le_set(part.dividend)
    if operator == ">":
        return scaled.sub(divisor).ge_set(part.dividend)
    return scaled.le_set(part.dividend) if operator == "<=" else scaled.ge_set(part.dividend)


def quotients(bound: Expression, operator: str, frame: Frame) -> tuple[Quotient, ...]:
    """Quotients whose minimum, each rounded down, is the bound, for a comparison by < or <=; for >
    or >=, whose maximum, each rounded up, it is. Raises NotAffineError.
    """
    return _parts(bound, frame, 1 if operator in ("<", "<=") else -1)


def _parts(expression: Expression, frame: Frame, sign: int) -> tuple[Quotient, ...]:
    """`sign`: 1 for the minimum of floor quotients, -1 for the maximum of ceiling quotients."""
    parts = _split(expression, frame, sign)
    return parts if parts is not None else (Quotient(affine(expression, frame), 1),)


def _split(expression: Expression, frame: Frame, sign: int) -> tuple[Quotient, ...] | None:
    """The parts of an expression that is not affine; None without such parts."""
    if isinstance(expression, Cast) and keeps_value(expression):
        return _parts(expression.operand, frame, sign)
    if isinstance(expression, Unary) and expression.operator == "-":
        return _negated(_parts(expression.operand, frame, -sign))
    if isinstance(expression, Binary) and expression.operator in ("+", "-"):
        left = _parts(expression.left, frame, sign)
        if expression.operator == "+":
            return _sums(left, _parts(expression.right, frame, sign), frame)
        return _sums(left, _negated(_parts(expression.right, frame, -sign)), frame)
    if isinstance(expression, Call) and expression.callee is Callee.HELPER:
        return _call(expression, frame, sign)
    return None


def _call(call: Call, frame: Frame, sign: int) -> tuple[Quotient, ...] | None:
    first, second = call.arguments
    if call.function == ("tilek_minimum" if sign > 0 else "tilek_maximum"):
        return (*_parts(first, frame, sign), *_parts(second, frame, sign))
    if call.function not in ("tilek_floor_quotient", "tilek_ceiling_quotient"):
        return None
    divisor, parts = constant_value(second, frame), _parts(first, frame, sign)
    if divisor is None or divisor <= 0:
        return None
    if call.function == ("tilek_floor_quotient" if sign > 0 else "tilek_ceiling_quotient"):
        return tuple(Quotient(part.dividend, part.divisor * divisor) for part in parts)
    # The opposite rounding: floor(e / d) = ceil((e - d + 1) / d).
    up = frame.number(sign * (divisor - 1))
    return tuple(Quotient(part.dividend.add(up), divisor) for part in parts) if _all_whole(parts) else None


def _negated(parts: tuple[Quotient, ...]) -> tuple[Quotient, ...]:
    return tuple(Quotient(part.dividend.neg(), part.divisor) for part in parts)


def _sums(left: tuple[Quotient, ...], right: tuple[Quotient, ...], frame: Frame) -> tuple[Quotient, ...] | None:
    """floor(e / s) + f = floor((e + s f) / s); two quotients have no such sum."""
    if not (_all_whole(left) or _all_whole(right)):
        return None
    sums = []
    for pair in product(left, right):
        divisor = pair[0].divisor * pair[1].divisor
        first, second = (part.dividend.mul(frame.number(divisor // part.divisor)) for part in pair)
        sums.append(Quotient(first.add(second), divisor))
    return tuple(sums)


def _all_whole(parts: tuple[Quotient, ...]) -> bool:
    return all(part.divisor == 1 for part in parts)
