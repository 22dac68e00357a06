"""Changes a kernel's clauses in a source: tiles of its two outermost loops, counts, unrolling."""

from __future__ import annotations

from collections.abc import Iterable

from tilepragma.base.refusals import RefusalError
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.traversal import loops_in, perfect_nest

#: Where a change of the source begins and ends, and the text that replaces it.
_Change = tuple[int, int, str]


def retiled(source: bytes, kernel: Kernel, counts: str, outer: str, inner: str) -> bytes:
    """The source with other clauses for the kernel's counts of the machine, and for the tiles of
    its two outermost loops. Raises RefusalError.
    """
    changes = _recounted(source, kernel, counts)
    for loop, clauses in zip(outermost(kernel), (outer, inner), strict=True):
        changes += _without_clauses(() if loop.directive is None else (tile.range for tile in loop.directive.tiles))
        changes.append(_with_loop_clauses(source, kernel, loop, clauses))
    return _changed(source, changes)


def recounted(source: bytes, kernel: Kernel, counts: str) -> bytes:
    """The source with other counts of the machine for the kernel. Raises RefusalError."""
    return _changed(source, _recounted(source, kernel, counts))


def unrolled(source: bytes, kernel: Kernel, times: int) -> bytes:
    """The source with unrolled innermost loops. Raises RefusalError, also for `unroll` clauses."""
    innermost = [loop for loop in loops_in(kernel.body) if not list(loops_in(loop.body))]
    if not innermost:
        raise RefusalError("has no loops")
    if any(loop.directive is not None and loop.directive.unroll is not None for loop in innermost):
        raise RefusalError("has an 'unroll' clause already")
    return _changed(source, [_with_loop_clauses(source, kernel, loop, f"unroll({times})") for loop in innermost])


def outermost(kernel: Kernel) -> tuple[Loop, Loop]:
    """The two outermost loops, directly nested. Raises RefusalError."""
    loops = tuple(perfect_nest(kernel.body))
    if len(loops) < 2:
        raise RefusalError("does not begin with two loops, one right inside the other")
    return loops[0], loops[1]


def _recounted(source: bytes, kernel: Kernel, counts: str) -> list[_Change]:
    removed = _without_clauses(count.range for count in kernel.directive.counts)
    return [*removed, _with_clauses(source, kernel, kernel.directive.range, counts)]


def _without_clauses(clauses: Iterable[SourceRange]) -> list[_Change]:
    return [(clause.start.offset, clause.end.offset, "") for clause in clauses]


def _with_clauses(source: bytes, kernel: Kernel, directive: SourceRange, clauses: str) -> _Change:
    """Adds clauses to a directive. Raises RefusalError if it is no line of the source."""
    is_line = source.startswith(b"#", directive.start.offset) and directive.start != directive.end
    if directive.start.file != kernel.range.start.file or not is_line:
        raise RefusalError("has a directive that is no line '#pragma tilek …' of the source")
    return directive.end.offset, directive.end.offset, f" {clauses}"


def _with_loop_clauses(source: bytes, kernel: Kernel, loop: Loop, clauses: str) -> _Change:
    """Adds clauses to a loop. Raises RefusalError if the loop is no text of the source."""
    if loop.directive is not None:
        return _with_clauses(source, kernel, loop.directive.range, clauses)
    start = loop.range.start.offset
    if not source.startswith(b"for", start):
        raise RefusalError("has loops that come out of macros")
    return start, start, f"\n#pragma tilek loop {clauses}\n"


def _changed(source: bytes, changes: Iterable[_Change]) -> bytes:
    """The source with changes; those at one place stand in their order."""
    pieces, position = [], 0
    for start, end, text in sorted(dict.fromkeys(changes), key=lambda change: change[:2]):
        pieces += [source[position:start], text.encode()]
        position = end
    return b"".join([*pieces, source[position:]])
