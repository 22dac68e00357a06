"""Checks of the tiles of one loop, and of what stands between loops, with an error message each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.directives import AxisKind, TileClause, TileKind
from tilepragma.ir.loop_tree import Axis, Declaration, ForLoop, Kernel, Loop, Statement, Tile
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import mentions

#: tilek.h, TILEK_MAX_TILES: the compiler may append one more.
_MOST_TILES = 15

INT64_MAX = 2**63 - 1

_DISTRIBUTED = (TileKind.THREAD, TileKind.GANG, TileKind.WORKER)


def check_tiles(
    loop: Loop, clauses: tuple[TileClause, ...], counts: Mapping[Axis, int], diagnostics: Diagnostics
) -> None:
    """Report errors in the tiles of one loop, except those that the directive alone shows.

    `counts` are the counts of axes that are integer literals.
    """
    if len(clauses) > _MOST_TILES:
        diagnostics.error(clauses[_MOST_TILES].range, f"a loop has at most {_MOST_TILES} tiles")
    if clauses and leaves_early(loop.body):
        message = f"the loop over '{loop.iterator.host}' is tiled, but a break or continue of it stands in its body"
        remedy = "write the rest of the body as the branch of an if, or leave the loop untiled"
        diagnostics.error(loop.header, message, remedy)
    kinds = {clause.kind for clause in clauses}
    if clauses and not kinds & {TileKind.DYNAMIC, TileKind.SIZE} and covers(loop, clauses, counts) is False:
        diagnostics.warning(
            clauses[-1].range,
            f"the tiles of the loop over '{loop.iterator.host}' cover fewer iterations than it has, "
            "so an innermost dynamic tile is added",
            "add tile(dynamic) where you want it",
        )


def axis_of(clause: TileClause) -> Axis | None:
    """The axis that the clause distributes a tile over, if any."""
    return Axis(AxisKind(clause.kind.value), clause.dimension) if clause.kind in _DISTRIBUTED else None


def check_collapse(loop: Loop, available: int, diagnostics: Diagnostics) -> None:
    """Report a collapse beyond the `available` perfectly nested loops, `loop` included."""
    directive = loop.directive
    if directive is not None and directive.collapse > available:
        diagnostics.error(
            directive.range,
            f"collapse({directive.collapse}) needs {directive.collapse} perfectly nested loops, but there "
            + ("is only one" if available == 1 else f"are only {available}"),
            "remove the statements between the loops, or lower the number",
        )


def check_for_loop(loop: ForLoop, diagnostics: Diagnostics) -> None:
    """Report what a directive asks of a loop whose iterations cannot be counted."""
    directive = loop.directive
    if directive is None:
        return
    asks = directive.tiles or directive.unroll is not None or directive.collapse > 1 or directive.independent
    if asks or directive.reductions or directive.privates:
        diagnostics.error(
            directive.range if loop.reason_range == NOWHERE else loop.reason_range,
            f"the loop of the directive on line {directive.range.start.line} cannot be tiled: "
            f"{loop.reason.rstrip('.')}",
            "write it as for (i = lower; i < upper; i += step), left by no 'break', with an iterator and bounds that "
            "its body leaves alone; or remove the directive's clauses",
        )


def covers(loop: Loop, clauses: tuple[TileClause, ...], counts: Mapping[Axis, int]) -> bool | None:
    """Whether tiles without a dynamic one reach all iterations; None if unknown."""
    trip = literal_trip(loop)
    tiles = []
    for clause in clauses:
        axis = axis_of(clause)
        if axis is not None:
            argument = counts.get(axis)
        else:
            argument = clause.argument.literal if clause.argument is not None else None
        if argument is not None:
            tiles.append((clause.kind, argument))
    return None if trip is None or len(tiles) < len(clauses) else reach_all(trip, tiles)


def reach_all(trip: int, tiles: Iterable[tuple[TileKind, int]]) -> bool:
    """Whether tiles with these arguments reach all iterations, by Algorithm 1: a size tile reaches
    all around it, in blocks; the counts of the tiles behind it must reach all of a block.
    """
    extent, reached = trip, 1
    for kind, argument in tiles:
        if argument < 1:
            return False
        extent, reached = (argument, 1) if kind is TileKind.SIZE else (extent, reached * argument)
    return trip >= 0 and extent <= reached <= INT64_MAX


def trip_count(lower: int, upper: int, step: int, comparison: str) -> int:
    """The iterations of `for (i = lower; i COMPARISON upper; i += step)`; -1 beyond INT64_MAX.

    `comparison` is one of < <= > >= !=. Raises ValueError for a step of 0 or another comparison.
    """
    if step == 0:
        raise ValueError("the step of a loop must not be 0")
    if comparison == "!=":
        quotient, remainder = divmod(upper - lower, step)
        return quotient if remainder == 0 and 0 <= quotient <= INT64_MAX else -1
    if comparison not in ("<", "<=", ">", ">="):
        raise ValueError(f"unknown comparison {comparison!r}")
    upward = comparison in ("<", "<=")
    distance = upper - lower if upward else lower - upper
    if len(comparison) == 2:
        distance += 1
    if distance <= 0:
        return 0
    if (step > 0) != upward:
        return -1
    count = -(-distance // abs(step))
    return count if count <= INT64_MAX else -1


def literal_trip(loop: Loop) -> int | None:
    """The loop's trip count where its step is a literal and the distance of its bounds is known."""
    lower, upper, step = map(polynomial, loop.bounds)
    distance = (upper - lower).constant
    if distance is None or not step.constant:
        return None
    return trip_count(0, distance, step.constant, loop.comparison)


def needed_loops(chain: Sequence[Loop]) -> dict[int, frozenset[int]]:
    """For each loop of a chain, the loops around it whose iterators its bounds or step mention."""
    return {
        loop.index: frozenset(
            outer.index for outer in chain[:place] if any(mentions(bound, outer.iterator) for bound in loop.bounds)
        )
        for place, loop in enumerate(chain)
    }


def legal_order(order: tuple[Tile, ...], needs: Mapping[int, frozenset[int]]) -> tuple[Tile, ...]:
    """`order` with undistributed tiles moved behind those of the `needed_loops`."""
    waiting = list(order)
    result: list[Tile] = []
    while waiting:
        for tile in waiting:
            pending = {tile_.loop for tile_ in waiting if tile_.axis is None}
            if tile.axis is not None or not needs[tile.loop] & pending:
                waiting.remove(tile)
                result.append(tile)
                break
    return tuple(result)


def check_hoisted(
    declaration: Declaration, before: Iterable[Statement], kernel: Kernel, diagnostics: Diagnostics
) -> None:
    """Report a declaration, run first on the host, that reads what earlier statements write."""
    written = {use.object for statement in before for use in uses(statement, kernel.functions) if use.writes}
    stale = next((use for use in uses(declaration, kernel.functions) if use.reads and use.object in written), None)
    if stale is not None:
        message = f"this declaration reads '{stale.object.host}', which the kernel writes before it"
        remedy = "declare the variable inside the loop that uses it, or split the kernel in two"
        diagnostics.error(stale.range, message, remedy)
