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

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.expressions import Access, Conditional, DataObject, Scope, access_to, integer
from tilepragma.ir.loop_tree import Block, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, minimum, number, of_atom, polynomial
from tilepragma.ir.traversal import mentions, walk
from tilepragma.lower.band_loops import floor_quotient
from tilepragma.plan.kernel_plan import with_launches
from tilepragma.schedule.tree import LaunchNode, ScheduleNode


def with_innermost_lanes(steps: tuple[ScheduleNode, ...], numbers: Iterator[int]) -> tuple[ScheduleNode, ...]:
    """The steps with the loops over lanes innermost; new loops get the next of the `numbers`."""
    return with_launches(steps, lambda node: _turned_launch(node, numbers))


def _turned_launch(node: LaunchNode, numbers: Iterator[int]) -> LaunchNode:
    if len(node.loops) < 2:
        return node
    *outer, lanes = node.loops
    bodies = (node.body, *(loop.body for loop in outer))
    if any(body.statements != (loop,) for body, loop in zip(bodies, node.loops, strict=True)):
        return node
    nests = [_turned(nest, lanes, numbers) for nest in lanes.body.statements]
    if None in nests:
        return node
    body = Block(tuple(nest for nest in nests if nest is not None))
    turned: tuple[Loop, ...] = ()
    for loop in reversed(outer):
        turned = (replace(loop, body=body), *turned)
        body = Block(turned[:1])
    return replace(node, body=body, loops=turned)


def _turned(nest: Statement, lanes: Loop, numbers: Iterator[int]) -> Statement | None:
    """A nest inside the loop over lanes, with that loop innermost; None if it cannot move."""
    if not isinstance(nest, Loop):
        return None
    first = nest.body.statements[0]
    if not isinstance(first, Loop) or nest.body.statements != (first,):
        return _innermost(nest, lanes, numbers)
    inside = _turned(first, lanes, numbers)
    if inside is None or any(mentions(bound, lanes.iterator) for bound in (nest.lower, nest.upper)):
        return None
    return replace(nest, body=Block((inside,)))


def _innermost(loop: Loop, lanes: Loop, numbers: Iterator[int]) -> Block | None:
    """A loop over places of a subdomain with the loop over lanes inside; None for another form.

    The loop runs from `lower` to before the least of `most` and of `room - side * lane`. The first
    subdomain may begin at another place, `border`. The next lane lies `step` elements behind.
    """
    lane = lanes.iterator
    steps = {_step(access, lane) for access in walk(loop.body) if isinstance(access, Access)} - {0}
    first, beyond = loop.lower, loop.upper
    if len(steps) != 1 or not isinstance(beyond, Conditional) or loop.comparison != "<" or loop.decreasing:
        return None
    border = None
    if isinstance(first, Conditional):
        border, first = polynomial(first.then), first.otherwise
    parts = polynomial(beyond.otherwise).split(access_to(lane))
    side = None if parts is None else parts[0].constant
    if parts is None or side is None or side >= 0 or any(mentions(bound, lane) for bound in (first, beyond.then)):
        return None
    lower, most, room, step = polynomial(first), polynomial(beyond.then), parts[1], steps.pop()

    def over(last: Polynomial) -> Block:
        """The loop over lanes up to the `last`, backwards if elements lie that way."""
        upwards = step > 0
        inner = replace(
            lanes,
            index=next(numbers),
            range=NOWHERE,
            header=NOWHERE,
            lower=integer(0) if upwards else expression(last),
            comparison="<" if upwards else ">=",
            upper=expression(last + number(1)) if upwards else integer(0),
            step=integer(step),
            decreasing=not upwards,
            body=loop.body,
        )
        return Block((inner,))

    def along(start: Polynomial, end: Polynomial, body: Block) -> Loop:
        first, last = expression(start), expression(end)
        return replace(loop, index=next(numbers), lower=first, upper=last, body=body, range=NOWHERE, header=NOWHERE)

    ahead = () if border is None else (along(border, minimum((lower, most, room)), over(number(0))),)
    every = floor_quotient(room - of_atom(access_to(loop.iterator)) - number(1), integer(-side))
    return Block((*ahead, along(lower, minimum((most, room)), over(every))))


def _step(access: Access, lane: DataObject) -> int:
    """The distance of the next lane's element in a temporary array: 1 or -1, else 0."""
    if access.object.scope is not Scope.TEMPORARY or not access.subscripts:
        return 0
    parts = polynomial(access.subscripts[-1]).split(access_to(lane))
    step = None if parts is None else parts[0].constant
    return step if step in (1, -1) else 0
