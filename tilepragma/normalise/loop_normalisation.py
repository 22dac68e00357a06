"""Loop normalisation: loops with steps become loops over their iterations, which go up by 1.

    for (t = 1; t < n; t += 2) a[t] = t;
    for (t_index = 0; t_index < ((long)n) / 2; t_index++) a[2 * t_index + 1] = 2 * t_index + 1;

Iterators keep their types: their values are the user's, or lie between 0 and one of these.
verify/normalised_loops.py proves that both regions do the same.
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.ir.accesses import function_uses
from tilepragma.ir.expressions import Access, AddressOf, Binary, DataObject, Expression, access_to, integer
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Block, Kernel, Loop
from tilepragma.ir.polynomial import Polynomial, expression, is_scalar, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses, with_each
from tilepragma.ir.traversal import access_count, loops_in, mentions, named_in_clauses, walk
from tilepragma.ir.types import INT, LONG, is_signed
from tilepragma.normalise.delinearisation import is_short, typed_sum
from tilepragma.normalise.live_out import final_values
from tilepragma.plan.kernel_plan import FinalValue

#: The first number for loops that compute last values: no plan has as many loops.
_FIRST_OF_FINALS = 1 << 20


def with_normalised_loops(kernel: Kernel) -> tuple[Kernel, tuple[FinalValue, ...]] | None:
    """The kernel with normalised loops, or None if no loop changes.

    Also the final values of removed iterators, in terms of the user's loops.
    """
    loops = [loop for loop in loops_in(kernel.body) if _is_countable(loop)]
    if not loops:
        return None
    finals = renumbered_final_values(kernel, _FIRST_OF_FINALS)
    available = {value.iterator for value in finals}
    chosen = [loop for loop in loops if _may_lose_iterator(loop, loops, kernel, available)]
    if not chosen:
        return None
    names = Names(set(names_in(kernel)))
    indices = {loop.index: names.scalar(f"{loop.iterator.name}_index") for loop in chosen}
    instead = {loop.index: replace(indices[loop.index], element=loop.iterator.element) for loop in chosen}
    gone = {loop.iterator for loop in chosen}
    body = with_each(
        kernel.body, Loop, lambda loop: _counted(loop, instead[loop.index]) if loop.index in instead else loop
    )
    objects = tuple(object_ for object_ in kernel.objects if object_ not in gone)
    finals = tuple(value for value in finals if value.iterator in gone)
    return replace(kernel, body=body, objects=objects), finals


def _is_countable(loop: Loop) -> bool:
    """Whether the loop has a step, and can count its iterations within the iterator's type."""
    step, lower, upper = (polynomial(part) for part in (loop.step, loop.lower, loop.upper))
    if step.constant is None or abs(step.constant) < 2 or loop.comparison == "!=" or loop.directive is not None:
        return False
    if loop.iterator.element not in (INT, LONG) or loop.iterator.volatile:
        return False
    if not (is_signed(loop.lower.type) and is_signed(loop.upper.type)):
        return False
    if not _is_sum(lower, loop.iterator.element == INT):
        return False
    least = upper if loop.decreasing else lower
    return least.constant is not None and least.constant >= (-1 if loop.decreasing else 0)


def _is_sum(lower: Polynomial, short: bool) -> bool:
    """Whether C can add the lower bound and a multiple of the index."""
    varying = [monomial for monomial, _ in lower.terms if monomial]
    plain = all(len(monomial) == 1 and is_scalar(monomial[0]) for monomial in varying)
    return plain and len(varying) < 2 and not (short and any(monomial[0].type != INT for monomial in varying))


def _may_lose_iterator(loop: Loop, loops: list[Loop], kernel: Kernel, available: set[DataObject]) -> bool:
    """Whether only `loops` use the iterator, and its last value, where needed, is `available`."""
    iterator = loop.iterator
    if iterator.host in named_in_clauses(kernel.directive, kernel.body):
        return False
    if loop.declares_iterator:
        return not _is_address_taken(loop.body, iterator)
    over = [other for other in loops_in(kernel.body) if other.iterator == iterator]
    if not all(any(iterating is countable for countable in loops) for iterating in over):
        return False
    if any(use.object == iterator for use in function_uses(kernel.functions)):
        return False
    inside = sum(access_count(iterating.body, iterator) for iterating in over)
    nested = any(inner.iterator == iterator for iterating in over for inner in loops_in(iterating.body))
    if nested or inside < access_count(kernel.body, iterator) or _is_address_taken(kernel.body, iterator):
        return False
    return iterator in available or iterator.name not in kernel.read_after


def _is_address_taken(body: Block, iterator: DataObject) -> bool:
    return any(isinstance(node, AddressOf) and node.target.object == iterator for node in walk(body))


def renumbered_final_values(kernel: Kernel, first: int) -> tuple[FinalValue, ...]:
    """The last values that are needed, over copies of the loops numbered from `first`."""
    body = with_each(kernel.body, Loop, lambda loop: replace(loop, index=first + loop.index))
    finals = final_values(replace(kernel, body=body), kernel.read_after, host_evaluable(written_objects(kernel)))
    return tuple(value for value in finals if isinstance(value, FinalValue))


def _counted(loop: Loop, index: DataObject) -> Loop:
    """The loop over the index of its iterations."""
    value = polynomial(loop.lower) + of_atom(access_to(index)) * polynomial(loop.step)
    body = _with_value(loop.body, loop.iterator, value, index)
    counting = replace(loop, lower=integer(0), comparison="<", upper=_trip(loop), step=integer(1), decreasing=False)
    return replace(counting, iterator=index, declares_iterator=True, body=body)


def _trip(loop: Loop) -> Expression:
    """The number of iterations; not positive where there are none, since C's division truncates."""
    lower, upper, step = (polynomial(bound) for bound in loop.bounds)
    size = abs(step.constant or 1)
    distance = lower - upper if loop.decreasing else upper - lower
    rounded = distance + number(size if len(loop.comparison) == 2 else size - 1)
    if rounded.constant is not None:
        return integer(max(rounded.constant // size, 0))
    return Binary("/", expression(rounded), integer(size), LONG)


def _with_value(body: Block, iterator: DataObject, value: Polynomial, index: DataObject) -> Block:
    """The body with the value in place of the iterator, and sums in subscripts collected."""
    written = typed_sum(value, iterator)

    def change(access: Access) -> Expression:
        if access.object == iterator:
            return written
        return replace(access, subscripts=tuple(map(collected, access.subscripts)))

    def collected(subscript: Expression) -> Expression:
        sum_ = polynomial(subscript)
        return typed_sum(sum_, iterator) if mentions(subscript, index) and is_short(sum_) else subscript

    return with_accesses(body, change)
