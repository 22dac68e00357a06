"""Values of iterators: what they hold after a region in which only loops write them, and whether a
loop passes through a value that is known outside of it.

    ends        { [t] -> [v] : a loop over the iterator is entered at time t and leaves v }
    v           lower + step * max(0, trip), with the bounds at t
    value       ends(lexmax(dom(ends)))

Times are those of the Scop's schedule, [c_0, ±i_1, c_1, …, 0, …].

    runs      { [o, x] : some statement of the loop runs at x, in iterations o of outer loops }
    reached   { [o] : the bounds of the outer loops hold }
    meeting   { [o] : lower(o) <= value(o) and value(o) < upper(o) }

The loop always meets the value if reached <= meeting; `runs` cannot tell, as it is empty where the
loop has no iterations.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.expressions import DataObject, Expression, access_to
from tilepragma.ir.loop_tree import Block, If, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression
from tilepragma.poly.affine import (
    Frame,
    NotAffineError,
    affine,
    affine_polynomial,
    between_ends,
    condition,
    product_of,
    whole_number,
)
from tilepragma.poly.extraction import MOST_LOOPS
from tilepragma.poly.isl_ast import ParameterReader
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.scop import Scop, step_of

_SET = isl.dim_type.set


def loop_end(
    body: Iterable[Statement], iterator: DataObject, written: frozenset[DataObject]
) -> tuple[Expression, Expression | None] | None:
    """What the iterator holds after these statements, which change the objects `written`, if a
    condition is not 0 (None: always); None for no simple function of parameters. Raises
    OperationLimitError.
    """
    context = isl.Context()
    with operation_limit(context, DEFAULT_LIMIT, f"finding the last value of '{iterator.host}'"):
        frame = Frame(context, (), written)
        ends = _ends(body, iterator, frame)
        if ends is None or ends.is_empty():
            return None
        values = ends.intersect_domain(ends.domain().lexmax()).range()
        reader = ParameterReader(context, frame.parameters)
        value = reader.value(values.lexmin_pw_multi_aff().get_pw_aff(0))
        test = reader.condition(values.params())
    return None if value is None or test is None else (expression(value), test.test)


def is_loop_end(
    value: Expression,
    test: Expression | None,
    body: Iterable[Statement],
    iterator: DataObject,
    written: frozenset[DataObject],
) -> bool:
    """Whether a loop end is right, by another proof: the times without later ones leave its value.

    { [t] -> [v] in ends : no t' in dom(ends) with t' > t }  subset of  { [t] -> [value] : condition
    } and where the condition holds some t exists. Raises OperationLimitError.
    """
    context = isl.Context()
    with operation_limit(context, DEFAULT_LIMIT, f"proving the last value of '{iterator.host}'"):
        ends = _ends(body, iterator, Frame(context, (), written))
        if ends is None:
            return False
        times = ends.domain()
        earlier = isl.Map.lex_lt(times.get_space()).intersect_domain(times).intersect_range(times).domain()
        last = ends.subtract_domain(earlier)
        frame = Frame(context, (), written)
        try:
            claimed = isl.Map.from_pw_aff(affine(value, frame)).range()
            holds = frame.number(0).domain() if test is None else condition(test, frame)
        except NotAffineError:
            return False
        right = last.intersect_range(claimed.intersect_params(holds.params()))
        return bool(last.is_subset(right) and holds.params().is_subset(times.params()))


def _ends(body: Iterable[Statement], iterator: DataObject, outside: Frame) -> isl.Map | None:
    """{ [t] -> [v] } of all loops over the iterator; None where something other than a canonical
    loop writes it, or a condition or bound around is not affine.
    """
    ends = isl.Map.empty(isl.Space.alloc(outside.context, 0, 2 * MOST_LOOPS + 1, 1))
    strange = NotAffineError(access_to(iterator), "is not written by loops alone")

    def visit(
        statements: Iterable[Statement], frame: Frame, domain: isl.Set, times: tuple[isl.PwAff, ...], count: list[int]
    ) -> None:
        """`times`: the time so far; `count` numbers the statements of the innermost loop."""
        for statement in statements:
            if isinstance(statement, Block):
                visit(statement.statements, frame, domain, times, count)
            elif not any(use.object == iterator and use.writes for use in uses(statement)):
                count[0] += 1
            elif isinstance(statement, Loop):
                enter(statement, frame, domain, (*times, frame.number(count[0])))
                count[0] += 1
            elif isinstance(statement, If):
                holds = condition(statement.condition, frame)
                visit((statement.then,), frame, domain.intersect(holds), times, count)
                if statement.otherwise is not None:
                    visit((statement.otherwise,), frame, domain.subtract(holds), times, count)
            else:
                raise strange

    def enter(loop: Loop, around: Frame, domain: isl.Set, times: tuple[isl.PwAff, ...]) -> None:
        """A loop that writes the iterator, or contains one that does."""
        nonlocal ends
        step = step_of(loop)
        if step is None or leaves_early(loop.body):
            raise strange
        if loop.iterator == iterator:
            padded = (*times, *[around.number(0)] * (2 * MOST_LOOPS + 1 - len(times)))
            left = isl.Map.from_pw_aff(_left_behind(loop, step, around)).intersect_domain(domain)
            ends = ends.union(product_of(padded, around).reverse().apply_range(left))
        frame = around.inside(loop.iterator)
        place = frame.iterator(len(around.iterators))
        distance = place.sub(affine(loop.lower, frame)).mod_val(whole_number(frame.context, abs(step)))
        inside = domain.add_dims(_SET, 1).intersect(between_ends(loop, place, frame))
        inside = inside.intersect(distance.eq_set(frame.number(0)))
        outer = tuple(time.add_dims(isl.dim_type.in_, 1) for time in times)
        visit((loop.body,), frame, inside, (*outer, place if step > 0 else place.neg()), [0])

    try:
        visit(body, outside, isl.Set.universe(outside.space), (), [0])
    except NotAffineError:
        return None
    return ends


def _left_behind(loop: Loop, step: int, frame: Frame) -> isl.PwAff:
    """{ [i] -> [lower + step * max(0, trip)] }"""
    lower, upper = affine(loop.lower, frame), affine(loop.upper, frame)
    distance = upper.sub(lower) if step > 0 else lower.sub(upper)
    if len(loop.comparison) == 2 and loop.comparison != "!=":
        distance = distance.add(frame.number(1))
    trip = distance.div(frame.number(abs(step))).ceil().max(frame.number(0))
    return lower.add(trip.mul(frame.number(step)))


@dataclass(frozen=True)
class Passing:
    """A loop and a value of its iterator: whether it `always` takes the value where it is reached,
    and may have iterations `before` and `after` it.
    """

    always: bool
    before: bool
    after: bool


def passing(scop: Scop, loop: Loop, value: Polynomial) -> Passing | None:
    """How a loop with step 1 passes through an outer value; None where it may not do so."""
    held = [each for each in scop.statements if any(loop_.index == loop.index for loop_ in each.loops)]
    if not held or any(each.node is loop for each in held):
        return None
    around = held[0].loops
    place = [outer.index for outer in around].index(loop.index)
    # { [i_0, ..., i_place] } of each statement's domain
    outside = (each.domain.reset_tuple_id().project_out(_SET, place + 1, len(each.loops) - place - 1) for each in held)
    runs = reduce(isl.Set.union, outside)
    frame = Frame(scop.context, tuple(outer.iterator for outer in around[: place + 1]), scop.written)
    try:
        difference = frame.iterator(place).sub(affine_polynomial(value, expression(value), frame))
        always = _reached(scop, around[:place]).is_subset(_meeting(scop, around[: place + 1], value))
    except NotAffineError:
        return None
    if runs.intersect(difference.zero_set()).is_empty():
        return None
    zero = frame.number(0)
    before, after = runs.intersect(difference.lt_set(zero)), runs.intersect(difference.gt_set(zero))
    return Passing(always, not before.is_empty(), not after.is_empty())


def _reached(scop: Scop, around: tuple[Loop, ...]) -> isl.Set:
    """{ [o] : the bounds of `around` hold }, without steps, conditions. Raises NotAffineError."""
    frame = Frame(scop.context, (), scop.written)
    result = isl.Set.universe(frame.space)
    for place, outer in enumerate(around):
        frame = frame.inside(outer.iterator)
        result = result.add_dims(_SET, 1).intersect(between_ends(outer, frame.iterator(place), frame))
    return result


def _meeting(scop: Scop, loops: tuple[Loop, ...], value: Polynomial) -> isl.Set:
    """{ [o] : the last of the loops meets the value }. Raises NotAffineError."""
    *around, loop = loops
    frame = Frame(scop.context, tuple(outer.iterator for outer in around), scop.written)
    return between_ends(loop, affine_polynomial(value, expression(value), frame), frame)
