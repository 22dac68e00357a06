"""A source with other tiles of a kernel's two outermost loops, for trying them: its directives are edited, all else stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilepragma.base.ranges import SourceRange
from tilepragma.base.refusals import RefusalError
from tilepragma.ir.looptree import Block, Kernel, Loop


@dataclass(frozen=True)
class Tiles:
    """Clauses of the kernel's directive that say the machine's counts, and the tile clauses of its two outermost loops."""

    counts: str
    outer: str
    inner: str


def retiled(source: bytes, kernel: Kernel, tiles: Tiles) -> bytes:
    """The source in which the kernel has these tiles and counts in the place of its own. Raises RefusalError."""
    loops = _outermost(kernel)
    edits = dict.fromkeys(_taken_out(kernel, loops), b"")
    insertions: dict[int, bytes] = {}

    def insert(offset: int, text: str) -> None:
        insertions[offset] = insertions.get(offset, b"") + text.encode()

    insert(_end(source, kernel, kernel.directive.range), f" {tiles.counts}")
    for loop, clauses in zip(loops, (tiles.outer, tiles.inner), strict=True):
        if loop.directive is not None:
            insert(_end(source, kernel, loop.directive.range), f" {clauses}")
        elif not source.startswith(b"for", loop.range.start.offset):
            raise RefusalError("has loops that come out of macros")
        else:
            insert(loop.range.start.offset, f"\n#pragma tilek loop {clauses}\n")
    text = source
    changes = [
        *((start, end, new) for (start, end), new in edits.items()),
        *((at, at, new) for at, new in insertions.items()),
    ]
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _outermost(kernel: Kernel) -> tuple[Loop, Loop]:
    """The two outermost loops, one right inside the other. Raises RefusalError."""
    outer = _only_loop(kernel.body)
    inner = None if outer is None else _only_loop(outer.body)
    if outer is None or inner is None:
        raise RefusalError("does not begin with two loops, one right inside the other")
    return outer, inner


def _only_loop(body: Block) -> Loop | None:
    """The loop that is all of a block."""
    if len(body.statements) != 1:
        return None
    [only] = body.statements
    if isinstance(only, Block):
        return _only_loop(only)
    return only if isinstance(only, Loop) else None


def _taken_out(kernel: Kernel, loops: tuple[Loop, Loop]) -> Iterator[tuple[int, int]]:
    """The clauses that give way."""
    for count in kernel.directive.counts:
        yield count.range.start.offset, count.range.end.offset
    for loop in loops:
        for tile in () if loop.directive is None else loop.directive.tiles:
            yield tile.range.start.offset, tile.range.end.offset


def _end(source: bytes, kernel: Kernel, directive: SourceRange) -> int:
    """Where clauses are put behind a directive's own."""
    if directive.start.file != kernel.range.start.file or not source.startswith(b"#", directive.start.offset):
        raise RefusalError("has a directive that is no line '#pragma tilek …' of the source")
    return directive.end.offset
