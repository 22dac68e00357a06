"""Unroll-and-jam of mapped loops on cores, if inner loops carry dependences.

    for (i ..) { A; for (j ..) B; }      becomes, for four values of i at a time,

    for i in the four: A;
    for (j ..)  for i in the four: B;

Each value of i runs the same operations in the same order, with four dependent chains side by side
instead of one. Left-over values of i run as written. Carr & Kennedy, "Improving the ratio of memory
operations to floating-point operations in loops" (TOPLAS 1994). The loop's independence makes this
legal; the plan verifier proves it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use, leaves_early, uses, written_in
from tilepragma.ir.expressions import DataObject, integer
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.loop_tree import Block, Function, If, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, not_negative, number, polynomial
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import flat, loops_in, mentions, with_blocks
from tilepragma.lower.band_loops import counted_loop, floor_quotient, term
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.schedule.candidate import counts_up
from tilepragma.schedule.default_sizes import JAMMED_ROWS
from tilepragma.schedule.index_set_splitting import simple_statements

_MOST_STATEMENTS = 16
"""The most statements of a repeated body: the program has all of them twice."""


def unroll_and_jam(
    body: Block,
    number: int,
    waiting: frozenset[int],
    blocks: DataObject,
    functions: tuple[Function, ...],
    numbers: Iterator[int],
) -> tuple[Block, Loop] | None:
    """Jam rows of a launch's loop `number` into its inner loops `waiting`. `blocks` counts blocks
    of rows, and new loops get the next of the `numbers`. The launch's body and the loop over
    blocks; None if that is impossible.
    """
    target = next((loop for loop in loops_in(body) if loop.index == number), None)
    if target is None or not counts_up(target) or sum(1 for _ in simple_statements(target)) > _MOST_STATEMENTS:
        return None
    jammed = _Jam(target, waiting, functions, numbers).jammed(blocks)
    if jammed is None:
        return None
    return with_each(body, Loop, lambda loop: jammed if loop is target else loop), jammed


@dataclass
class _Jam:
    """Jams `loop`; repeated statements are fresh nodes, and their loops get fresh numbers."""

    loop: Loop
    waiting: frozenset[int]
    functions: tuple[Function, ...]
    numbers: Iterator[int]

    def jammed(self, block: DataObject) -> Loop | None:
        """The loop over blocks of rows."""
        groups = tuple(self._groups(self.loop.body))
        if not any(isinstance(group, Loop) for group in groups) or not self._is_separable(groups):
            return None
        loop, rows = self.loop, number(JAMMED_ROWS)
        lower, upper = polynomial(loop.lower), polynomial(loop.upper)
        last = upper if loop.comparison == "<=" else upper - number(1)
        first = lower + term(block) * rows
        end = first + number(JAMMED_ROWS - 1)
        four = Block(tuple(self._side_by_side(groups, first, end)))
        rest = self._rows(Block(tuple(map(self._again, loop.body.statements)), loop.body.range), first, last)
        body = If(not_negative(last - end), four, Block((rest,)), loop.header)
        count = floor_quotient(last - lower, integer(JAMMED_ROWS))
        made = counted_loop(next(self.numbers), block, number(0), count, (body,))
        return replace(made, range=loop.range, header=loop.header)

    def _groups(self, body: Block) -> Iterator[Loop | Block]:
        """A body's loops to jam rows into, and blocks of the statements between, in order."""
        between: list[Statement] = []
        for statement in flat(body.statements):
            if isinstance(statement, Loop) and self._takes_rows(statement):
                if between:
                    yield Block(tuple(between))
                between = []
                yield statement
            else:
                between.append(statement)
        if between:
            yield Block(tuple(between))

    def _takes_rows(self, loop: Loop) -> bool:
        """Whether the loop contains a waiting loop, and all rows run it alike."""
        read = {use.object for bound in loop.bounds for use in uses(bound)}
        written = written_in(self.loop, self.functions) - self._iterators
        alike = not read & (written | {self.loop.iterator}) and not leaves_early(loop.body)
        return alike and any(loop.index in self.waiting for loop in loops_in(loop))

    def _is_separable(self, groups: tuple[Loop | Block, ...]) -> bool:
        """Whether no scalar passes between groups of a row: rows between would change it."""
        blocks = tuple(self._blocks_of_row(groups))
        for place, group in enumerate(blocks):
            written = {use.object for use in uses(group, self.functions) if use.writes and self._is_shared(use)}
            declared = {declarator.object for declarator in group.declarators}
            elsewhere = [block for number, block in enumerate(blocks) if number != place]
            if any(mentions(block, object_) for object_ in written | declared for block in elsewhere):
                return False
            if any(exposed_read(group, object_, self.functions) is not None for object_ in written):
                return False
        return True

    def _blocks_of_row(self, groups: tuple[Loop | Block, ...]) -> Iterator[Block]:
        """The statements that one row runs at a time, inside loops as well."""
        for group in groups:
            if isinstance(group, Loop):
                yield from self._blocks_of_row(tuple(self._groups(group.body)))
            else:
                yield group

    def _is_shared(self, use: Use) -> bool:
        return use.object.is_outside_scalar and use.object not in self._iterators

    @property
    def _iterators(self) -> set[DataObject]:
        return {loop.iterator for loop in loops_in(self.loop)}

    def _side_by_side(
        self, groups: tuple[Loop | Block, ...], first: Polynomial, last: Polynomial
    ) -> Iterator[Statement]:
        for group in groups:
            if isinstance(group, Loop):
                inner = tuple(self._side_by_side(tuple(self._groups(group.body)), first, last))
                yield replace(group, index=next(self.numbers), body=Block(inner, group.body.range))
            else:
                yield self._rows(Block(tuple(map(self._again, group.statements))), first, last)

    def _rows(self, body: Block, first: Polynomial, last: Polynomial) -> Loop:
        """`for i in first, ..., last: body`"""
        lower, upper = (typed_sum(end, self.loop.iterator) for end in (first, last))
        return replace(self.loop, index=next(self.numbers), lower=lower, comparison="<=", upper=upper, body=body)

    def _again(self, statement: Statement) -> Statement:
        copied = with_blocks(replace(statement), self._block)
        return replace(copied, index=next(self.numbers)) if isinstance(copied, Loop) else copied

    def _block(self, block: Block) -> Block:
        return replace(block, statements=tuple(map(self._again, block.statements)))
