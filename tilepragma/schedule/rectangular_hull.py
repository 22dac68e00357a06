"""Triangular loops that devices deal out: over the box of all iterations, each of which asks
whether it is one.

    for (r …) for (c = 0; c <= r; c++) S;      becomes      for (r …) for (c = 0; c <= last r; c++) if (c <= r) S;

Workers must know bounds before they start. Where only one end of the inner loop moves, one for one
with a loop around, half of the box is iterations at least, and neighbouring workers are neighbours
along the inner loop; else few may be, and the loop stays as it is.

So are loops in short steps that begin at a remainder, as those of one colour do:

    for (i …) for (j = 1 + (i + c) % 2; j < n; j += 2) S;
    for (i …) for (j = 0; j < n; j++) if (j >= 1 + (i + c) % 2 && (j - (i + c) % 2 - 1) % 2 == 0) S;

C's remainder of what is negative is too: there the second loop begins so early that none is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Binary, Expression, IntegerLiteral, access_to, conjunction, integer
from tilepragma.ir.loop_tree import Block, If, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.ir.traversal import loops_in, mentions
from tilepragma.ir.types import INT, is_signed
from tilepragma.normalise.value_ranges import UnboundedError, ValueRanges
from tilepragma.poly.reference_spans import Span, loop_ends, without_iterator
from tilepragma.user_tiles.tile_nests import chain_from

#: The longest step of which the elements left out still lie in the 32 bytes of memory (of doubles)
#: that those between are read with.
_LONGEST_STEP = 4


@dataclass(frozen=True)
class HullNest:
    """A nest whose dealt-out `loops` are these: `nest` has the conditions that the boxes need."""

    nest: Loop
    loops: tuple[Loop, ...]


def boxed(nest: Loop, loops: Sequence[Loop], on_host: Callable[[Expression], bool]) -> HullNest:
    """The nest with all of the `loops` of its chain boxed that can be, whose bounds `on_host` does not hold for; itself where none can."""
    chain, dealt = chain_from(nest), [loop.index for loop in loops]
    boxes: dict[int, Loop] = {}
    conditions: list[Expression] = []
    around: list[tuple[Loop, Span]] = []
    for one in chain:
        if one.index not in dealt:
            if boxes and set(dealt) & {inner.index for inner in chain[chain.index(one) :]}:
                # Its bounds would be asked for iterations that there are not.
                return HullNest(nest, tuple(loops))
            continue
        ends = loop_ends(one, {})
        if ends is not None and around and not all(map(on_host, (one.lower, one.upper))) and _keeps_order(one):
            box = _box(ends, around)
            if box is not None and on_host(expression(box.least)) and on_host(expression(box.greatest)):
                boxes[one.index] = _over(one, ends, box)
                conditions.append(_condition(one, ends, box))
                ends = box
        elif ends is None and one.index != dealt[0] and not on_host(one.lower):
            points = _every_point(one, nest, on_host)
            if points is not None:
                boxes[one.index] = points
                conditions.append(_is_start_or_steps_away(one, points))
        if ends is not None:
            around.append((one, ends))
    if not boxes:
        return HullNest(nest, tuple(loops))
    changed = _rebuilt(chain, boxes, conjunction(conditions), dealt[-1])
    new = {one.index: one for one in chain_from(changed)}
    return HullNest(changed, tuple(new[index] for index in dealt))


def with_boxes(
    body: Block, loops: tuple[Loop, ...], on_host: Callable[[Expression], bool]
) -> tuple[Block, tuple[Loop, ...]]:
    """The body of a launch over `loops`, which one of its statements nests, and these loops, boxed."""
    statements: list[Statement] = []
    for statement in body.statements:
        if isinstance(statement, Block):
            statement, loops = with_boxes(statement, loops, on_host)
        elif (
            isinstance(statement, Loop) and loops and loops[0].index in {inner.index for inner in chain_from(statement)}
        ):
            found = boxed(statement, loops, on_host)
            statement, loops = found.nest, found.loops
        statements.append(statement)
    return replace(body, statements=tuple(statements)), loops


def _keeps_order(loop: Loop) -> bool:
    """Whether comparing an iterator with the bounds compares numbers, for values that only loops over boxes give it too."""
    signed = is_signed(loop.iterator.element)
    bounds = (loop.lower, loop.upper)
    if signed:
        return all(is_signed(getattr(bound, "type", None)) for bound in bounds)
    # Without a sign, sums that do not take anything away keep clear of wrapping.
    plain = (bound for bound in bounds if all(factor > 0 for _, factor in polynomial(bound).terms))
    unsigned = (
        one for one in plain if polynomial(one).constant is not None or not is_signed(getattr(one, "type", None))
    )
    return len(list(unsigned)) == len(bounds)


def _box(ends: Span, around: Sequence[tuple[Loop, Span]]) -> Span | None:
    """The least and the greatest value over all iterations of the loops around; None where that may be far from what there is."""
    least, greatest = ends.least, ends.greatest
    for loop, span in reversed(around):
        first, last = _one_for_one(least, loop, span, 1), _one_for_one(greatest, loop, span, -1)
        if first is None or last is None:
            return None
        least, greatest = first, last
    moving = (least != ends.least, greatest != ends.greatest)
    return Span(least, greatest) if moving.count(True) == 1 else None


def _one_for_one(value: Polynomial, loop: Loop, span: Span, sign: int) -> Polynomial | None:
    """The least (sign 1) or the greatest (sign -1) value over the loop; None where it does not move one for one."""
    parts = value.split(access_to(loop.iterator))
    steady = parts is not None and parts[0].constant in (0, 1, -1)
    return without_iterator(value, loop, span, sign) if steady else None


def _over(loop: Loop, ends: Span, box: Span) -> Loop:
    """The loop over the box; the end that does not move stays as it is written."""
    if box.least != ends.least:
        return replace(loop, lower=expression(box.least))
    beyond = box.greatest if loop.comparison == "<=" else box.greatest + number(1)
    return replace(loop, upper=expression(beyond))


def _condition(loop: Loop, ends: Span, box: Span) -> Expression:
    iterator = access_to(loop.iterator)
    if box.least != ends.least:
        return Binary(">=", iterator, loop.lower, INT)
    return Binary(loop.comparison, iterator, loop.upper, INT)


def _every_point(loop: Loop, nest: Loop, on_host: Callable[[Expression], bool]) -> Loop | None:
    """The loop over all points from the first that a loop in steps may begin at on; None of others than begin at a remainder."""
    step = polynomial(loop.step).constant
    if step is None or not 2 <= step <= _LONGEST_STEP or loop.comparison not in ("<", "<=") or not on_host(loop.upper):
        return None
    inner = (bound for loop in loops_in(loop.body) for bound in (loop.lower, loop.upper, loop.step))
    if any(mentions(bound, loop.iterator) for bound in inner):
        # They may stand around the condition, and read what is there for the user's iterations
        # only.
        return None
    least = _least_remainders(polynomial(loop.lower), ValueRanges(Block((nest,)), on_host), on_host)
    if least is None or not is_signed(loop.iterator.element) or not _keeps_order(loop):
        return None
    return replace(loop, lower=expression(least), step=integer(1))


def _least_remainders(
    value: Polynomial, ranges: ValueRanges, on_host: Callable[[Expression], bool]
) -> Polynomial | None:
    """A value that is known at launch and never greater, of a sum of what is known there and of remainders by numbers."""
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
            found = ranges.of(atom)
        except UnboundedError:
            return None
        end = (found.low if factor > 0 else found.high).constant
        furthest = by.value - 1 if factor < 0 else 1 - by.value
        least = least + number(factor * (furthest if end is None else end))
    return least


def _is_start_or_steps_away(loop: Loop, points: Loop) -> Expression:
    """Whether one of the points is among those of the loop in steps."""
    iterator, least = access_to(loop.iterator), polynomial(points.lower).constant
    # Distances from what is not negative are no greater than the iterator.
    if loop.iterator.element == INT and loop.lower.type == INT and least is not None and least >= 0:
        distance: Expression = Binary("-", iterator, loop.lower, INT)
    else:
        distance = expression(polynomial(iterator) - polynomial(loop.lower))
    steps = Binary("==", Binary("%", distance, loop.step, distance.type), integer(0), INT)
    return conjunction((Binary(">=", iterator, loop.lower, INT), steps))


def _rebuilt(chain: tuple[Loop, ...], boxes: Mapping[int, Loop], condition: Expression, innermost: int) -> Loop:
    body = chain[-1].body
    for one in reversed(chain):
        if one.index == innermost:
            body = Block((If(condition, body, None, one.header),), body.range)
        changed = replace(boxes.get(one.index, one), body=body)
        body = Block((changed,), one.range)
    return changed
