"""Changes a kernel's clauses in a source: tiles of its two outermost loops, counts, unrolling."""

from __future__ import annotations

from collections.abc import Iterable

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.loop_tree import Block, Kernel, Loop
from tilepragma.ir.traversal import loops_in


@dataclass(frozen=True)
class Tiles:
    """Clauses for the machine's counts, and tile clauses of the two outermost loops."""

    counts: str
    outer: str
    inner: str


def retiled(source: bytes, kernel: Kernel, tiles: Tiles) -> bytes:
    """The source with other tiles and counts for the kernel. Raises RefusalError."""
    outer, inner = outermost(kernel)
    edits = _Edits(source, kernel)
    edits.take_out(count.range for count in kernel.directive.counts)
    edits.say(kernel.directive.range, tiles.counts)
    for loop, clauses in ((outer, tiles.outer), (inner, tiles.inner)):
        edits.take_out(() if loop.directive is None else (tile.range for tile in loop.directive.tiles))
        edits.say_of(loop, clauses)
    return edits.text()


def recounted(source: bytes, kernel: Kernel, counts: str) -> bytes:
    """The source with other counts of the machine for the kernel. Raises RefusalError."""
    edits = _Edits(source, kernel)
    edits.take_out(count.range for count in kernel.directive.counts)
    edits.say(kernel.directive.range, counts)
    return edits.text()


def unrolled(source: bytes, kernel: Kernel, times: int) -> bytes:
    """The source with unrolled innermost loops. Raises RefusalError, also for `unroll` clauses."""
    edits = _Edits(source, kernel)
    innermost = [loop for loop in loops_in(kernel.body) if not list(loops_in(loop.body))]
    if not innermost:
        raise RefusalError("has no loops")
    for loop in innermost:
        if loop.directive is not None and loop.directive.unroll is not None:
            raise RefusalError("has an 'unroll' clause already")
        edits.say_of(loop, f"unroll({times})")
    return edits.text()


class _Edits:
    """Collects changes of a source's directives."""

    def __init__(self, source: bytes, kernel: Kernel) -> None:
        self._source = source
        self._file = kernel.range.start.file
        self._gone: set[tuple[int, int]] = set()
        self._new: dict[int, bytes] = {}

    def take_out(self, clauses: Iterable[SourceRange]) -> None:
        """Remove clauses."""
        self._gone |= {(clause.start.offset, clause.end.offset) for clause in clauses}

    def say(self, directive: SourceRange, clauses: str) -> None:
        """Add clauses to a directive. Raises RefusalError if it is no line of the source."""
        is_line = self._source.startswith(b"#", directive.start.offset) and directive.start != directive.end
        if directive.start.file != self._file or not is_line:
            raise RefusalError("has a directive that is no line '#pragma tilek …' of the source")
        self._insert(directive.end.offset, f" {clauses}")

    def say_of(self, loop: Loop, clauses: str) -> None:
        """Add clauses to a loop. Raises RefusalError if the loop is no text of the source."""
        if loop.directive is not None:
            self.say(loop.directive.range, clauses)
        elif not self._source.startswith(b"for", loop.range.start.offset):
            raise RefusalError("has loops that come out of macros")
        else:
            self._insert(loop.range.start.offset, f"\n#pragma tilek loop {clauses}\n")

    def _insert(self, offset: int, text: str) -> None:
        self._new[offset] = self._new.get(offset, b"") + text.encode()

    def text(self) -> bytes:
        """The changed source."""
        changes = [(start, end, b"") for start, end in self._gone]
        changes += [(offset, offset, new) for offset, new in self._new.items()]
        text = self._source
        for start, end, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def outermost(kernel: Kernel) -> tuple[Loop, Loop]:
    """The two outermost loops, directly nested. Raises RefusalError."""
    outer = _only_loop(kernel.body)
    inner = None if outer is None else _only_loop(outer.body)
    if outer is None or inner is None:
        raise RefusalError("does not begin with two loops, one right inside the other")
    return outer, inner


def _only_loop(body: Block) -> Loop | None:
    """The only statement of a block, if it is a loop."""
    if len(body.statements) != 1:
        return None
    [only] = body.statements
    if isinstance(only, Block):
        return _only_loop(only)
    return only if isinstance(only, Loop) else None
