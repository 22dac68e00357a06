"""A kernel whose loops in steps count their iterations: behind, everything sees loops that go up by
1.

    for (t = 1; t < n; t += 2) a[t] = t;       for (t_index = 0; t_index < ((long)n) / 2; t_index++) a[2 * t_index + 1] = 2 * t_index + 1;

Iterators keep their types: values are those that the user's had, or lie between 0 and one of these.
That the two regions do the same is proven by verify/normalised_loops.py, whatever was meant here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import function_uses
from tilepragma.ir.expressions import Access, AddressOf, Binary, DataObject, Expression, access_to, integer
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, is_scalar, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import loops_in, mentions, named_in_clauses, walk, with_blocks
from tilepragma.ir.types import INT, LONG, is_signed
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.normalise.live_out import final_values
from tilepragma.plan.kernel_plan import FinalValue

#: Numbers of the loops that last values are computed from begin here: no plan has as many loops.
_FIRST_OF_FINALS = 1 << 20


@dataclass(frozen=True)
class NormalisedKernel:
    """`final_values` are those of the iterators that the kernel does without, by the loops that the user wrote."""

    kernel: Kernel
    final_values: tuple[FinalValue, ...]


def with_unit_steps(kernel: Kernel) -> NormalisedKernel | None:
    """The kernel with iterations in place of steps, in all loops where that can be; None where there are none."""
    loops = [loop for loop in loops_in(kernel.body) if _steps(loop)]
    if not loops:
        return None
    finals = finals_apart(kernel, _FIRST_OF_FINALS)
    kept = {value.iterator for value in finals}
    chosen = [loop for loop in loops if _may_go(loop, loops, kernel, kept)]
    if not chosen:
        return None
    names = Names(set(names_in(kernel)))
    instead = {one.index: _index_of(one.iterator, names) for one in chosen}
    gone = {one.iterator for one in chosen}
    body = _Counting(instead).block(kernel.body)
    objects = tuple(object_ for object_ in kernel.objects if object_ not in gone)
    return NormalisedKernel(
        replace(kernel, body=body, objects=objects), tuple(value for value in finals if value.iterator in gone)
    )


def _steps(loop: Loop) -> bool:
    """Whether the loop may be one that counts its iterations: its values and theirs stay within the iterator's type."""
    step, lower, upper = (polynomial(each) for each in (loop.step, loop.lower, loop.upper))
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
    """Whether it can be written before a multiple of the index."""
    varying = [monomial for monomial, _ in lower.terms if monomial]
    plain = all(len(one) == 1 and is_scalar(one[0]) for one in varying)
    return plain and len(varying) < 2 and not (short and any(one[0].type != INT for one in varying))


def _may_go(loop: Loop, loops: list[Loop], kernel: Kernel, kept: set[DataObject]) -> bool:
    """Whether the iterator is this loop's alone, and those who want its last value get it."""
    iterator = loop.iterator
    if iterator.host in named_in_clauses(kernel.directive, kernel.body):
        return False
    if loop.declares_iterator:
        return not _is_handed_on(loop.body, iterator)
    over = [loop for loop in loops_in(kernel.body) if loop.iterator == iterator]
    if not all(any(one is other for other in loops) for one in over):
        return False
    if any(use.object == iterator for use in function_uses(kernel.functions)):
        return False
    inside = sum(_count(one.body, iterator) for one in over)
    nested = any(inner.iterator == iterator for one in over for inner in loops_in(one.body))
    if nested or inside < _count(kernel.body, iterator) or _is_handed_on(kernel.body, iterator):
        return False
    return iterator in kept or iterator.name not in kernel.read_after


def _is_handed_on(body: Block, iterator: DataObject) -> bool:
    """Whether something gets its address."""
    return any(isinstance(node, AddressOf) and node.target.object == iterator for node in walk(body))


def _count(body: Block, iterator: DataObject) -> int:
    return sum(isinstance(node, Access) and node.object == iterator for node in walk(body))


def finals_apart(kernel: Kernel, first: int) -> tuple[FinalValue, ...]:
    """The last values of iterators that are wanted, by loops with numbers of their own from `first` on: those of the plan have other bounds."""
    apart = replace(kernel, body=_numbered(kernel.body, first))
    found = final_values(apart, kernel.read_after, host_evaluable(written_objects(kernel)))
    return tuple(one for one in found if isinstance(one, FinalValue))


def _numbered(block: Block, first: int) -> Block:
    def renumbered(statement: Statement) -> Statement:
        inner = with_blocks(statement, lambda inside: _numbered(inside, first))
        return replace(inner, index=first + inner.index) if isinstance(inner, Loop) else inner

    return replace(block, statements=tuple(map(renumbered, block.statements)))


def _index_of(iterator: DataObject, names: Names) -> DataObject:
    """What counts the iterations of a loop."""
    return replace(names.scalar(f"{iterator.name}_index"), element=iterator.element)


@dataclass(frozen=True)
class _Counting:
    """Replaces loops by those over the indices, given by the loops' numbers."""

    instead: dict[int, DataObject]

    def block(self, block: Block) -> Block:
        """The statements, each with its loops replaced."""
        return replace(block, statements=tuple(self._statements(block.statements)))

    def _statements(self, statements: Iterable[Statement]) -> Iterator[Statement]:
        for statement in statements:
            inner = with_blocks(statement, self.block)
            yield self._counted(inner) if isinstance(inner, Loop) and inner.index in self.instead else inner

    def _counted(self, loop: Loop) -> Loop:
        index = self.instead[loop.index]
        value = polynomial(loop.lower) + of_atom(access_to(index)) * polynomial(loop.step)
        return replace(
            loop,
            iterator=index,
            declares_iterator=True,
            lower=integer(0),
            comparison="<",
            upper=_trip(loop),
            step=integer(1),
            decreasing=False,
            body=_with_value(loop.body, loop.iterator, value, index),
        )


def _trip(loop: Loop) -> Expression:
    """The number of iterations where there are any, else one that is not positive: C's division truncates."""
    lower, upper, step = (polynomial(each) for each in (loop.lower, loop.upper, loop.step))
    size = abs(step.constant or 1)
    distance = lower - upper if loop.decreasing else upper - lower
    rounded = distance + number(size if len(loop.comparison) == 2 else size - 1)
    if rounded.constant is not None:
        return integer(max(rounded.constant // size, 0))
    return Binary("/", expression(rounded), integer(size), LONG)


def _with_value(body: Block, iterator: DataObject, value: Polynomial, index: DataObject) -> Block:
    """The body with this value in place of the iterator; sums in subscripts are collected."""
    written = typed_sum(value, iterator)

    def change(access: Access) -> Expression:
        if access.object == iterator:
            return written
        return replace(access, subscripts=tuple(map(collected, access.subscripts)))

    def collected(subscript: Expression) -> Expression:
        found = polynomial(subscript)
        return typed_sum(found, iterator) if mentions(subscript, index) and _is_short(found) else subscript

    return with_accesses(body, change)


def _is_short(value: Polynomial) -> bool:
    varying = [monomial for monomial, _ in value.terms if monomial]
    return len(varying) < 3 and all(len(one) == 1 and is_scalar(one[0]) and one[0].type == INT for one in varying)
