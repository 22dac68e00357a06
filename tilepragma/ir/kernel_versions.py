"""Versions of a kernel: other clauses in place of its own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.ir.directives import CountClause, LoopDirective, TemporalTiles, TileClause
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import loops_in


@dataclass(frozen=True)
class KernelVersion:
    """Clauses for a kernel in place of its own.

    `counts` replaces all counts of the machine, `tiles` (by iterators' names) all tiles of loops,
    if not empty. `unroll` is for the innermost loops (None: no change), `temporal` are the time
    tiles on cores. `text` spells the version.
    """

    text: str
    counts: tuple[CountClause, ...] = ()
    tiles: tuple[tuple[str, tuple[TileClause, ...]], ...] = ()
    unroll: int | None = None
    temporal: TemporalTiles | None = None

    def of(self, kernel: Kernel, name: str) -> Kernel:
        """The kernel in this version, under a new name. Raises RefusalError if it lacks a loop."""
        loops = Counter(loop.iterator.host for loop in loops_in(kernel.body))
        for iterator, _ in self.tiles:
            if loops[iterator] != 1:
                raise RefusalError(f"has {'several loops' if loops[iterator] else 'no loop'} over '{iterator}'")
        directive = replace(kernel.directive, counts=self.counts) if self.counts else kernel.directive
        return replace(kernel, name=name, directive=directive, body=with_each(kernel.body, Loop, self._loop))

    def _loop(self, loop: Loop) -> Loop:
        directive = loop.directive or LoopDirective(loop.header)
        tiles = dict(self.tiles)
        if self.tiles:
            directive = replace(directive, tiles=tiles.get(loop.iterator.host, ()))
        if self.unroll is not None and not any(loops_in(loop.body)):
            if directive.unroll is not None:
                raise RefusalError("has an 'unroll' clause already")
            directive = replace(directive, unroll=self.unroll)
        unchanged = loop.directive is None and directive == LoopDirective(loop.header)
        return loop if unchanged else replace(loop, directive=directive)
