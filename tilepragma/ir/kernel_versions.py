"""Versions of a kernel: other clauses in the place of its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.ir.directives import CountClause, LoopDirective, TemporalTiles, TileClause
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Statement
from tilepragma.ir.traversal import loops_in, with_blocks


@dataclass(frozen=True)
class KernelVersion:
    """What is said of a kernel instead: `counts` of the machine and `tiles` of loops by their
    iterators' names, each in the place of all of the kernel's own where there are any; how often
    its innermost loops are unrolled (None: as it is), and the tiles of time steps on cores. `text`
    is how all that is written.
    """

    text: str
    counts: tuple[CountClause, ...] = ()
    tiles: tuple[tuple[str, tuple[TileClause, ...]], ...] = ()
    unroll: int | None = None
    temporal: TemporalTiles | None = None

    def of(self, kernel: Kernel, name: str) -> Kernel:
        """The kernel as this version has it, under another name. Raises RefusalError where it has not the loops that are named."""
        found = Counter(loop.iterator.host for loop in loops_in(kernel.body))
        for iterator, _ in self.tiles:
            if found[iterator] != 1:
                raise RefusalError(f"has {'several loops' if found[iterator] else 'no loop'} over '{iterator}'")
        directive = replace(kernel.directive, counts=self.counts) if self.counts else kernel.directive
        return replace(kernel, name=name, directive=directive, body=self._block(kernel.body))

    def _block(self, block: Block) -> Block:
        return replace(block, statements=tuple(map(self._statement, block.statements)))

    def _statement(self, statement: Statement) -> Statement:
        changed = with_blocks(statement, self._block)
        return self._loop(changed) if isinstance(changed, Loop) else changed

    def _loop(self, loop: Loop) -> Loop:
        said = loop.directive or LoopDirective(loop.header)
        own = dict(self.tiles)
        if self.tiles:
            said = replace(said, tiles=own.get(loop.iterator.host, ()))
        if self.unroll is not None and not any(loops_in(loop.body)):
            if said.unroll is not None:
                raise RefusalError("says itself how often a loop is unrolled")
            said = replace(said, unroll=self.unroll)
        return loop if loop.directive is None and said == LoopDirective(loop.header) else replace(loop, directive=said)
