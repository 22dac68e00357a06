"""Run triangular loops on devices over their rectangular hull, with a guard in each iteration.

    for (r …) for (c = 0; c <= r; c++) S;
-> for (r …) for (c = 0; c <= last r; c++) if (c <= r) S;

Workers need loop bounds at launch. If only one bound of the inner loop moves, one for one with a
loop around, at least half of the hull is iterations, and neighbouring workers stay neighbours along
the inner loop. Otherwise few may be, and the loop stays.

Loops with short steps from a remainder, such as those of one colour, get a hull as well:

    for (i …) for (j = 1 + (i + c) % 2; j < n; j += 2) S;
-> for (i …) for (j = 0; j < n; j++) if (j >= 1 + (i + c) % 2 && (j - (i + c) % 2 - 1) % 2 == 0) S;

C's remainder of a negative number is negative: then the hull begins early enough to miss none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tilepragma.ir.expressions import Binary, Expression, IntegerLiteral, access_to, conjunction, integer
from tilepragma.ir.guards import compare_as_numbers
from tilepragma.ir.loop_tree import Block, If, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.ir.traversal import loops_in, mentions
from tilepragma.ir.types import INT, is_signed
from tilepragma.normalise.value_ranges import UnboundedError, ValueRanges
from tilepragma.poly.extents import Bounds
from tilepragma.poly.reference_spans import loop_ends, without_iterator
from tilepragma.user_tiles.tile_nests import chain_from

#: The longest step whose skipped elements still lie in the 32 bytes (of doubles) read around them.
_LONGEST_STEP = 4


def rectangular_hull(
    nest: Loop, loops: Sequence[Loop], on_host: Callable[[Expression], bool]
) -> tuple[Loop, tuple[Loop, ...]]:
    """Replace mapped loops of the chain whose bounds vary at launch by their hulls: the nest, which
    has the guards, and the mapped loops in it.
    """
    chain, mapped = chain_from(nest), [loop.index for loop in loops]
    hulls: dict[int, Loop] = {}
    conditions: list[Expression] = []
    around: list[tuple[Loop, Bounds]] = []
    for member in chain:
        if member.index not in mapped:
            if hulls and set(mapped) & {inner.index for inner in chain[chain.index(member) :]}:
                # Its bounds would be evaluated for iterations that do not exist.
                return nest, tuple(loops)
            continue
        ends = loop_ends(member, {})
        if ends is not None and around and not all(map(on_host, (member.lower, member.upper))) and _keeps_order(member):
            hull = _hull(ends, around)
            if hull is not None and on_host(expression(hull.low)) and on_host(expression(hull.high)):
                hulls[member.index] = _over(member, ends, hull)
                conditions.append(_condition(member, ends, hull))
                ends = hull
        elif ends is None and member.index != mapped[0] and not on_host(member.lower):
            points = _every_point(member, nest, on_host)
            if points is not None:
                hulls[member.index] = points
                conditions.append(_is_start_or_steps_away(member, points))
        if ends is not None:
            around.append((member, ends))
    if not hulls:
        return nest, tuple(loops)
    changed = _rebuilt(chain, hulls, conjunction(conditions), mapped[-1])
    new = {loop.index: loop for loop in chain_from(changed)}
    return changed, tuple(new[index] for index in mapped)


def with_hulls(
    body: Block, loops: tuple[Loop, ...], on_host: Callable[[Expression], bool]
) -> tuple[Block, tuple[Loop, ...]]:
    """The body of a launch over `loops`, which one statement nests, and the loops, with hulls."""
    statements: list[Statement] = []
    for statement in body.statements:
        if isinstance(statement, Block):
            statement, loops = with_hulls(statement, loops, on_host)
        elif (
            isinstance(statement, Loop) and loops and loops[0].index in {inner.index for inner in chain_from(statement)}
        ):
            statement, loops = rectangular_hull(statement, loops, on_host)
        statements.append(statement)
    return replace(body, statements=tuple(statements)), loops


def _keeps_order(loop: Loop) -> bool:
    """Whether iterator and bounds still compare as numbers at the values that a hull adds."""
    return compare_as_numbers(access_to(loop.iterator), loop.lower, loop.upper)


def _hull(ends: Bounds, around: Sequence[tuple[Loop, Bounds]]) -> Bounds | None:
    """The least and greatest value over all iterations; None if the hull may be much larger."""
    least, greatest = ends.low, ends.high
    for loop, span in reversed(around):
        first, last = _one_for_one(least, loop, span, 1), _one_for_one(greatest, loop, span, -1)
        if first is None or last is None:
            return None
        least, greatest = first, last
    moving = (least != ends.low, greatest != ends.high)
    return Bounds(least, greatest) if moving.count(True) == 1 else None


def _one_for_one(value: Polynomial, loop: Loop, span: Bounds, sign: int) -> Polynomial | None:
    """The least (sign 1) or greatest (-1) value over the loop; None if it moves otherwise."""
    parts = value.split(access_to(loop.iterator))
    steady = parts is not None and parts[0].constant in (0, 1, -1)
    return without_iterator(value, loop, span, sign) if steady else None


def _over(loop: Loop, ends: Bounds, hull: Bounds) -> Loop:
    """The loop over the hull; the fixed bound stays as written."""
    if hull.low != ends.low:
        return replace(loop, lower=expression(hull.low))
    beyond = hull.high if loop.comparison == "<=" else hull.high + number(1)
    return replace(loop, upper=expression(beyond))


def _condition(loop: Loop, ends: Bounds, hull: Bounds) -> Expression:
    iterator = access_to(loop.iterator)
    if hull.low != ends.low:
        return Binary(">=", iterator, loop.lower, INT)
    return Binary(loop.comparison, iterator, loop.upper, INT)


def _every_point(loop: Loop, nest: Loop, on_host: Callable[[Expression], bool]) -> Loop | None:
    """The loop by ones over a strided loop's range; None unless it begins at a remainder."""
    step = polynomial(loop.step).constant
    if step is None or not 2 <= step <= _LONGEST_STEP or loop.comparison not in ("<", "<=") or not on_host(loop.upper):
        return None
    inner = (bound for loop in loops_in(loop.body) for bound in loop.bounds)
    if any(mentions(bound, loop.iterator) for bound in inner):
        # They may stand around the guard, and read what only the user's iterations may read.
        return None
    least = _least_remainders(polynomial(loop.lower), ValueRanges(Block((nest,)), on_host), on_host)
    if least is None or not is_signed(loop.iterator.element) or not _keeps_order(loop):
        return None
    return replace(loop, lower=expression(least), step=integer(1))


def _least_remainders(
    value: Polynomial, ranges: ValueRanges, on_host: Callable[[Expression], bool]
) -> Polynomial | None:
    """A lower bound of a sum of launch-time terms and remainders by constants, known at launch."""
    least = number(0)
    for monomial, factor in value.terms:
        if all(map(on_host, monomial)):
            least = least + Polynomial(((monomial, factor),))
            continue
        (atom, *others) = monomial
        by = atom.right if isinstance(atom, Binary) and atom.operator in ("%", "&") else None
        if others or not isinstance(by, IntegerLiteral) or by.value < 1:
            return None
        try:
            range_ = ranges.of(atom)
        except UnboundedError:
            return None
        end = (range_.low if factor > 0 else range_.high).constant
        furthest = by.value - 1 if factor < 0 else 1 - by.value
        least = least + number(factor * (furthest if end is None else end))
    return least


def _is_start_or_steps_away(loop: Loop, points: Loop) -> Expression:
    """Whether a point belongs to the strided loop."""
    iterator, least = access_to(loop.iterator), polynomial(points.lower).constant
    # Distances from a non-negative start are no greater than the iterator.
    if loop.iterator.element == INT and loop.lower.type == INT and least is not None and least >= 0:
        distance: Expression = Binary("-", iterator, loop.lower, INT)
    else:
        distance = expression(polynomial(iterator) - polynomial(loop.lower))
    steps = Binary("==", Binary("%", distance, loop.step, distance.type), integer(0), INT)
    return conjunction((Binary(">=", iterator, loop.lower, INT), steps))


def _rebuilt(chain: tuple[Loop, ...], hulls: Mapping[int, Loop], condition: Expression, innermost: int) -> Loop:
    body = chain[-1].body
    for loop in reversed(chain):
        if loop.index == innermost:
            body = Block((If(condition, body, None, loop.header),), body.range)
        changed = replace(hulls.get(loop.index, loop), body=body)
        body = Block((changed,), loop.range)
    return changed
