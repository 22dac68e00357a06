"""Loop interchange for vectors on cores: loops over subdomains move innermost, along their lanes.

    for (s = 0; …) for (p = s == 0 ? 0 : d; p < (… ? a : b - P * s); p++) u_lanes[i][p][s] = …
        ->  for (p = 0; p < min(d, a, b); p++) for (s = 0; s < 1; s++) …
            for (p = d; p < min(a, b); p++) for (s = 0; s <= (b - p - 1) / P; s++) …

Points of a subdomain keep their order, and subdomains of a nest are independent. The verifier
proves the result independently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.expressions import Access, Conditional, DataObject, Expression, Scope, access_to, integer
from tilepragma.ir.loop_tree import Block, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, minimum, number, of_atom, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.lower.band_loops import floor_quotient
from tilepragma.schedule.launch_tree import PlannedHostLoop, PlannedLaunch, PlannedStep


@dataclass
class VectorLoops:
    """Interchanges loops; new ones are numbered from `next_index`."""

    next_index: int

    def of(self, steps: tuple[PlannedStep, ...]) -> tuple[PlannedStep, ...]:
        """The steps with the loops over lanes innermost."""
        return tuple(map(self._converted, steps))

    def _converted(self, step: PlannedStep) -> PlannedStep:
        if isinstance(step, PlannedHostLoop):
            return replace(step, steps=self.of(step.steps))
        if not isinstance(step, PlannedLaunch) or len(step.loops) < 2:
            return step
        *outer, lanes = step.loops
        bodies = (step.body, *(loop.body for loop in outer))
        if any(body.statements != (loop,) for body, loop in zip(bodies, step.loops, strict=True)):
            return step
        nests = [self._turned(nest, lanes) for nest in lanes.body.statements]
        if None in nests:
            return step
        body = Block(tuple(nest for nest in nests if nest is not None))
        turned: tuple[Loop, ...] = ()
        for loop in reversed(outer):
            turned = (replace(loop, body=body), *turned)
            body = Block(turned[:1])
        return replace(step, body=body, loops=turned)

    def _turned(self, nest: Statement, lanes: Loop) -> Statement | None:
        """A nest inside the loop over lanes, with that loop innermost; None if it cannot move."""
        if not isinstance(nest, Loop):
            return None
        first = nest.body.statements[0]
        if not isinstance(first, Loop) or nest.body.statements != (first,):
            places = _Places.of(nest, lanes)
            return None if places is None else Block(tuple(self._innermost(places, lanes)))
        inside = self._turned(first, lanes)
        if inside is None or any(_mentions(bound, lanes.iterator) for bound in (nest.lower, nest.upper)):
            return None
        return replace(nest, body=Block((inside,)))

    def _innermost(self, places: _Places, lanes: Loop) -> Iterator[Statement]:
        every = floor_quotient(places.room - of_atom(access_to(places.loop.iterator)) - number(1), integer(places.side))
        if places.border is not None:
            only = minimum((places.lower, *places.uppers))
            yield self._loop(places.loop, places.border, only, self._over(lanes, number(0), places))
        yield self._loop(places.loop, places.lower, minimum(places.uppers), self._over(lanes, every, places))

    def _over(self, lanes: Loop, last: Polynomial, places: _Places) -> Block:
        """The loop over lanes up to the `last`, backwards if elements lie that way."""
        upwards, index = places.step > 0, self._next()
        loop = replace(
            lanes,
            index=index,
            range=NOWHERE,
            header=NOWHERE,
            lower=integer(0) if upwards else expression(last),
            comparison="<" if upwards else ">=",
            upper=expression(last + number(1)) if upwards else integer(0),
            step=integer(places.step),
            decreasing=not upwards,
            body=places.loop.body,
        )
        return Block((loop,))

    def _loop(self, like: Loop, lower: Polynomial, upper: Polynomial, body: Block) -> Loop:
        bounds = (expression(lower), expression(upper))
        return replace(
            like, index=self._next(), lower=bounds[0], upper=bounds[1], body=body, range=NOWHERE, header=NOWHERE
        )

    def _next(self) -> int:
        self.next_index += 1
        return self.next_index - 1


@dataclass(frozen=True)
class _Places:
    """A loop over places of a subdomain, from `lower` to before the least of `uppers`. The first
    subdomain begins at `border` if that is another place. Each further subdomain has `side` less
    `room`, one of `uppers`. The next lane lies `step` elements behind.
    """

    loop: Loop
    border: Polynomial | None
    lower: Polynomial
    uppers: tuple[Polynomial, Polynomial]
    room: Polynomial
    side: int
    step: int

    @staticmethod
    def of(loop: Loop, lanes: Loop) -> _Places | None:
        """The loop's places; None if it has another form."""
        lane = lanes.iterator
        steps = {_step(access, lane) for access in walk(loop.body) if isinstance(access, Access)} - {0}
        lower, upper = loop.lower, loop.upper
        if len(steps) != 1 or not isinstance(upper, Conditional) or loop.comparison != "<" or loop.decreasing:
            return None
        border = None
        if isinstance(lower, Conditional):
            border, lower = polynomial(lower.then), lower.otherwise
        most, left = polynomial(upper.then), polynomial(upper.otherwise)
        parts = left.split(access_to(lane))
        side = None if parts is None else parts[0].constant
        if parts is None or side is None or side >= 0:
            return None
        if any(_mentions(bound, lane) for bound in (lower, upper.then)):
            return None
        room = parts[1]
        return _Places(loop, border, polynomial(lower), (most, room), room, -side, steps.pop())


def _mentions(value: Expression, object_: DataObject) -> bool:
    return any(isinstance(node, Access) and node.object == object_ for node in walk(value))


def _step(access: Access, lane: DataObject) -> int:
    """The distance of the next lane's element in a temporary array: 1 or -1, else 0."""
    if access.object.scope is not Scope.TEMPORARY or not access.subscripts:
        return 0
    parts = polynomial(access.subscripts[-1]).split(access_to(lane))
    step = None if parts is None else parts[0].constant
    return step if step in (1, -1) else 0
