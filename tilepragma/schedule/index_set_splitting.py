"""Index-set splitting: split a loop at the element that one iteration writes and the others read.

    for (k ..) for (i ..) for (j ..) d[i][j] = f(d[i][k], d[k][j]);
-> in each of three loops over i (i < k, i == k, i > k),
    for (j = 0; j < k; j++) S;     for (j = k; j <= k; j++) S;     for (j = k + 1; j < n; j++) S;

Iterations before that element read its old value, later ones the new value, so no part carries a
dependence on it. The split loops run the same iterations in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import Access, DataObject, Expression, access_to, conjunction
from tilepragma.ir.loop_tree import Block, If, Loop, Statement
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import Polynomial, is_scalar, maximum, minimum, not_negative, number, polynomial
from tilepragma.ir.traversal import loops_in, with_blocks
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.poly.iterator_values import Passing, passing
from tilepragma.schedule.candidate import Region, counts_up

#: The most statements after splitting; each split makes three of one.
_MOST_STATEMENTS = 32

_Split = tuple[Polynomial, Passing]
"""The value at which to split a loop, and how the loop passes through it."""


def with_split_loops(region: Region) -> tuple[Region, tuple[str, ...]] | None:
    """The region with split loops, and a description of each split for the user; None if no loop
    splits. Raises OperationLimitError.
    """
    loops = {loop.index: loop for loop in _loops(region)}
    splits = {index: split for index, loop in loops.items() if (split := _split(loop, region)) is not None}
    if not splits:
        return None
    parts = _Parts(splits, region.loop_numbers())
    statements = tuple(part for statement in region.statements for part in parts.of(statement))
    if sum(1 for statement in statements for _ in simple_statements(statement)) > _MOST_STATEMENTS:
        return None
    kernel = replace(region.kernel, body=Block(statements, region.kernel.body.range))
    places = tuple(_place(loops[index], value) for index, (value, _) in splits.items())
    return replace(region, kernel=kernel, statements=statements, known=None), places


def _place(loop: Loop, value: Polynomial) -> str:
    text = plain_text(typed_sum(value, loop.iterator))
    where = f"the loop over {loop.iterator.host}, line {loop.header.start.line}"
    return f"{where}, at {text}, which its other iterations read"


def _loops(region: Region) -> Iterator[Loop]:
    """The loops without directive that count up by 1."""
    for loop in loops_in(Block(region.statements)):
        if loop.directive is None and counts_up(loop):
            yield loop


def _split(loop: Loop, region: Region) -> _Split | None:
    """The only value of the loop that its statements access again and again; else None."""
    splits: list[_Split] = []
    for value in dict.fromkeys(_values(loop, region)):
        passing_ = passing(region.scop, loop, value)
        if passing_ is not None and (passing_.before or passing_.after):
            splits.append((value, passing_))
    return splits[0] if len(splits) == 1 else None


def _values(loop: Loop, region: Region) -> Iterator[Polynomial]:
    """x where the subscript of a write at x equals an invariant subscript of the array."""
    inside = [use for use in uses(loop.body, region.kernel.functions) if use.subscripts]
    moving: dict[tuple[DataObject, int], dict[Polynomial, None]] = {}
    staying: dict[tuple[DataObject, int], dict[Polynomial, None]] = {}
    atom = access_to(loop.iterator)
    for object_, place, subscript, writes in dict.fromkeys(  # distinct: thousands of uses may be alike
        (use.object, place, subscript, use.writes) for use in inside for place, subscript in enumerate(use.subscripts)
    ):
        there = polynomial(subscript)
        if atom not in there.atoms:
            staying.setdefault((object_, place), {})[there] = None
        elif writes:
            moving.setdefault((object_, place), {})[there] = None
    passing_ = [
        value
        for dimension, subscripts in moving.items()
        for subscript in subscripts
        for value in _solutions(atom, subscript, staying.get(dimension, {}))
    ]
    if not passing_:  # most loops end here; the rest traverses the whole region
        return
    varying = region.written - _around(loop, region) | {loop.iterator, *(loop.iterator for loop in loops_in(loop.body))}

    def varies(atom: Expression) -> bool:
        return not (isinstance(atom, Access) and is_scalar(atom)) or atom.object in varying

    yield from (value for value in passing_ if not any(map(varies, value.atoms)))


def _around(loop: Loop, region: Region) -> set[DataObject]:
    """The iterators of the loops around, which are constant while the loop runs."""
    return {
        outer.iterator
        for outer in loops_in(Block(region.statements))
        if any(inner.index == loop.index for inner in loops_in(outer.body))
    }


def _solutions(atom: Expression, subscript: Polynomial, others: Iterable[Polynomial]) -> Iterator[Polynomial]:
    """The values of iterator `atom` at which its subscript equals one of the invariant `others`."""
    parts = subscript.split(atom)
    if parts is not None and parts[0].constant in (1, -1):
        for there in others:  # parts[0] x + parts[1] = there
            yield (there - parts[1]) * parts[0]


def simple_statements(statement: Statement) -> Iterator[Statement]:
    """The statements other than loops and blocks."""
    if isinstance(statement, (Loop, Block)):
        for inner in (statement.body if isinstance(statement, Loop) else statement).statements:
            yield from simple_statements(inner)
    else:
        yield statement


@dataclass
class _Parts:
    """Splits statements; copies of a loop get fresh numbers."""

    splits: dict[int, _Split]
    numbers: Iterator[int]
    seen: set[int] = field(default_factory=set)

    def of(self, statement: Statement) -> tuple[Statement, ...]:
        """The statements that replace the statement, in sequence, each a fresh node."""
        if not isinstance(statement, Loop) or statement.index not in self.splits:
            return (self._renumbered(statement),)
        return tuple(map(self._part, _parts(statement, *self.splits[statement.index])))

    def _part(self, part: Loop | If) -> Statement:
        if isinstance(part, Loop):
            return self._renumbered(part)
        return replace(part, then=Block(tuple(map(self._renumbered, part.then.statements))))

    def _renumbered(self, statement: Statement) -> Statement:
        copied = with_blocks(replace(statement), self._block)
        return replace(copied, index=self._number(copied.index)) if isinstance(copied, Loop) else copied

    def _block(self, block: Block) -> Block:
        return replace(block, statements=tuple(part for statement in block.statements for part in self.of(statement)))

    def _number(self, index: int) -> int:
        index = next(self.numbers) if index in self.seen else index
        self.seen.add(index)
        return index


def _parts(loop: Loop, value: Polynomial, passing_: Passing) -> Iterator[Loop | If]:
    """The loops over the iterations before, at, and after the value."""
    unit = number(1)
    lower, upper = polynomial(loop.lower), polynomial(loop.upper)
    beyond = upper + unit if loop.comparison == "<=" else upper
    if passing_.before:
        end = value if passing_.always else minimum((value, beyond))
        yield replace(loop, comparison="<", upper=typed_sum(end, loop.iterator))
    bound = typed_sum(value, loop.iterator)
    itself = replace(loop, lower=bound, comparison="<=", upper=bound)
    if passing_.always:
        yield itself
    else:
        tests = (not_negative(value - lower), not_negative(beyond - unit - value))
        yield If(conjunction(tests), Block((itself,)), None, loop.header)
    if passing_.after:
        start = value + unit if passing_.always else maximum((value + unit, lower))
        yield replace(loop, lower=typed_sum(start, loop.iterator))
