"""Live-out values of iterators: what they hold after a region in which only loops write them.

    ends        { [t] -> [v] : a loop over the iterator is entered at time t and leaves v }
    v           lower + step * max(0, trip), with the bounds at t
    value       ends(lexmax(dom(ends)))

Times are those of the Scop's schedule, [c_0, ±i_1, c_1, …, 0, …].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.expressions import DataObject, Expression
from tilepragma.ir.loop_tree import Block, If, Loop, Statement
from tilepragma.ir.polynomial import expression
from tilepragma.poly.affine import Frame, NotAffineError, affine, compare, condition, product_of, whole_number
from tilepragma.poly.extraction import MOST_LOOPS
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.parameter_functions import ParameterReader
from tilepragma.poly.scop import step_of

_SET = isl.dim_type.set


@dataclass(frozen=True)
class LoopEnd:
    """The iterator's `value` after the region, if `condition` is not 0 (None: always)."""

    value: Expression
    condition: Expression | None


def loop_end(body: Iterable[Statement], iterator: DataObject, written: frozenset[DataObject]) -> LoopEnd | None:
    """What the iterator holds after these statements, which change the objects `written`; None for
    no simple function of parameters. Raises OperationLimitError.
    """
    context = isl.Context()
    with operation_limit(context, DEFAULT_LIMIT, f"finding the last value of '{iterator.host}'"):
        walked = _walked(context, tuple(body), iterator, written)
        if walked is None or walked.ends.is_empty():
            return None
        last = walked.ends.domain().lexmax()
        values = walked.ends.intersect_domain(last).range()
        reader = ParameterReader(context, walked.parameters)
        value = reader.value(values.lexmin_pw_multi_aff().get_pw_aff(0))
        test = reader.condition(values.params())
    if value is None or test is None:
        return None
    return LoopEnd(expression(value), test.test)


def is_loop_end(end: LoopEnd, body: Iterable[Statement], iterator: DataObject, written: frozenset[DataObject]) -> bool:
    """Whether the loop end is right, by another proof: the times without later ones leave its
    value.

    { [t] -> [v] in ends : no t' in dom(ends) with t' > t }  subset of  { [t] -> [value] : condition
    } and where the condition holds some t exists. Raises OperationLimitError.
    """
    context = isl.Context()
    with operation_limit(context, DEFAULT_LIMIT, f"proving the last value of '{iterator.host}'"):
        walked = _walked(context, tuple(body), iterator, written)
        if walked is None:
            return False
        times = walked.ends.domain()
        earlier = isl.Map.lex_lt(times.get_space()).intersect_domain(times).intersect_range(times).domain()
        last = walked.ends.subtract_domain(earlier)
        frame = Frame(context, (), written)
        try:
            claimed = isl.Map.from_pw_aff(affine(end.value, frame)).range()
            holds = frame.number(0).domain() if end.condition is None else condition(end.condition, frame)
        except NotAffineError:
            return False
        right = last.intersect_range(claimed.intersect_params(holds.params()))
        return bool(last.is_subset(right) and holds.params().is_subset(times.params()))


@dataclass
class _Walk:
    """Collects the ends; `depth` is that of the deepest loop."""

    iterator: DataObject
    depth: int
    ends: isl.Map
    parameters: dict[str, Expression] = field(default_factory=dict)

    def statements(self, statements: Iterable[Statement], site: _Site, count: list[int]) -> None:
        """`count` numbers the statements of the innermost loop. Raises NotAffineError."""
        for statement in statements:
            if isinstance(statement, Block):
                self.statements(statement.statements, site, count)
            elif not any(use.object == self.iterator and use.writes for use in uses(statement)):
                count[0] += 1
            elif isinstance(statement, Loop):
                self.loop(statement, site, count)
            elif isinstance(statement, If):
                holds = condition(statement.condition, site.frame)
                self.statements((statement.then,), _Site(site.frame, site.domain.intersect(holds), site.times), count)
                if statement.otherwise is not None:
                    self.statements(
                        (statement.otherwise,), _Site(site.frame, site.domain.subtract(holds), site.times), count
                    )
            else:
                raise _NoLoopError

    def loop(self, loop: Loop, site: _Site, count: list[int]) -> None:
        """Visit a loop that writes the iterator, or contains one that does."""
        step = step_of(loop)
        if step is None or leaves_early(loop.body):
            raise _NoLoopError
        times = (*site.times, site.frame.number(count[0]))
        count[0] += 1
        if loop.iterator == self.iterator:
            self._entered(site, times, _left_behind(loop, step, site.frame))
        frame = site.frame.inside(loop.iterator)
        place = frame.iterator(len(frame.iterators) - 1)
        lower, upper = affine(loop.lower, frame), affine(loop.upper, frame)
        domain = site.domain.add_dims(_SET, 1).intersect(compare(place, ">=" if step > 0 else "<=", lower))
        domain = domain.intersect(compare(place, loop.holds_inside, upper))
        distance = place.sub(lower).mod_val(whole_number(frame.context, abs(step)))
        domain = domain.intersect(distance.eq_set(frame.number(0)))
        outer = tuple(time.add_dims(isl.dim_type.in_, 1) for time in times)
        self.statements((loop.body,), _Site(frame, domain, (*outer, place if step > 0 else place.neg())), [0])

    def _entered(self, site: _Site, times: tuple[isl.PwAff, ...], value: isl.PwAff) -> None:
        padded = (*times, *[site.frame.number(0)] * (2 * self.depth + 1 - len(times)))
        when = product_of(padded, site.frame)
        left = isl.Map.from_pw_aff(value).intersect_domain(site.domain)
        self.ends = self.ends.union(when.reverse().apply_range(left))


@dataclass(frozen=True)
class _Site:
    """{ [i] : domain(i) } of the loops around, and the time so far as functions of them."""

    frame: Frame
    domain: isl.Set
    times: tuple[isl.PwAff, ...]


class _NoLoopError(Exception):
    """A statement other than a canonical loop writes the iterator, or guards its loop."""


def _walked(
    context: isl.Context, body: tuple[Statement, ...], iterator: DataObject, written: frozenset[DataObject]
) -> _Walk | None:
    frame = Frame(context, (), written)
    nothing = isl.Map.empty(isl.Space.alloc(context, 0, 2 * MOST_LOOPS + 1, 1))
    walk = _Walk(iterator, MOST_LOOPS, nothing, frame.parameters)
    try:
        walk.statements(body, _Site(frame, isl.Set.universe(frame.space), ()), [0])
    except (NotAffineError, _NoLoopError):
        return None
    return walk


def _left_behind(loop: Loop, step: int, frame: Frame) -> isl.PwAff:
    """{ [i] -> [lower + step * max(0, trip)] }"""
    lower, upper = affine(loop.lower, frame), affine(loop.upper, frame)
    distance = upper.sub(lower) if step > 0 else lower.sub(upper)
    if len(loop.comparison) == 2 and loop.comparison != "!=":
        distance = distance.add(frame.number(1))
    trip = distance.div(frame.number(abs(step))).ceil().max(frame.number(0))
    return lower.add(trip.mul(frame.number(step)))
