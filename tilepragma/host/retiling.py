"""Changes a kernel's clauses in a source: tiles of its two outermost loops, counts, unrolling."""

from __future__ import annotations

from collections.abc import Iterable

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.traversal import loops_in, perfect_nest

#: Where a change of the source begins and ends, and the text that replaces it.
_Change = tuple[int, int, str]


@dataclass(frozen=True)
class Retiling:
    """A source and a kernel in it whose clauses may change."""

    source: bytes
    kernel: Kernel

    def retiled(self, counts: str, outer: str, inner: str) -> bytes:
        """The source with other clauses for the kernel's counts of the machine, and for the tiles
        of its two outermost loops. Raises RefusalError.
        """
        changes = self._recounted(counts)
        for loop, clauses in zip(self.outermost, (outer, inner), strict=True):
            tiles = () if loop.directive is None else loop.directive.tiles
            changes += [*_without_clauses(tile.range for tile in tiles), self._with_loop_clauses(loop, clauses)]
        return self._changed(changes)

    def recounted(self, counts: str) -> bytes:
        """The source with other counts of the machine for the kernel. Raises RefusalError."""
        return self._changed(self._recounted(counts))

    def unrolled(self, times: int) -> bytes:
        """The source with unrolled innermost loops. Raises RefusalError, also where some have
        `unroll` clauses.
        """
        innermost = [loop for loop in loops_in(self.kernel.body) if not list(loops_in(loop.body))]
        if not innermost:
            raise RefusalError("has no loops")
        if any(loop.directive is not None and loop.directive.unroll is not None for loop in innermost):
            raise RefusalError("has an 'unroll' clause already")
        return self._changed(self._with_loop_clauses(loop, f"unroll({times})") for loop in innermost)

    @property
    def outermost(self) -> tuple[Loop, Loop]:
        """The two outermost loops, directly nested. Raises RefusalError."""
        loops = tuple(perfect_nest(self.kernel.body))
        if len(loops) < 2:
            raise RefusalError("does not begin with two loops, one right inside the other")
        return loops[0], loops[1]

    def _recounted(self, counts: str) -> list[_Change]:
        directive = self.kernel.directive
        removed = _without_clauses(count.range for count in directive.counts)
        return [*removed, self._with_clauses(directive.range, counts)]

    def _with_clauses(self, directive: SourceRange, clauses: str) -> _Change:
        """Adds clauses to a directive. Raises RefusalError if it is no line of the source."""
        is_line = self.source.startswith(b"#", directive.start.offset) and directive.start != directive.end
        if directive.start.file != self.kernel.range.start.file or not is_line:
            raise RefusalError("has a directive that is no line '#pragma tilek …' of the source")
        return directive.end.offset, directive.end.offset, f" {clauses}"

    def _with_loop_clauses(self, loop: Loop, clauses: str) -> _Change:
        """Adds clauses to a loop. Raises RefusalError if the loop is no text of the source."""
        if loop.directive is not None:
            return self._with_clauses(loop.directive.range, clauses)
        start = loop.range.start.offset
        if not self.source.startswith(b"for", start):
            raise RefusalError("has loops that come out of macros")
        return start, start, f"\n#pragma tilek loop {clauses}\n"

    def _changed(self, changes: Iterable[_Change]) -> bytes:
        """The source with changes; those at one place stand in their order."""
        pieces, position = [], 0
        for start, end, text in sorted(dict.fromkeys(changes), key=lambda change: change[:2]):
            pieces += [self.source[position:start], text.encode()]
            position = end
        return b"".join([*pieces, self.source[position:]])


def _without_clauses(clauses: Iterable[SourceRange]) -> list[_Change]:
    return [(clause.start.offset, clause.end.offset, "") for clause in clauses]
