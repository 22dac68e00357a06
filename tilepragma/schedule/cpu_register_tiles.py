"""Register tiles on cores: keep a few rows by a few vectors of a product's sums in registers.

    for tiles of k, for j_tile, for i_tile:
        C_tile = the elements [i_tile, i_tile + R) x [j_tile, j_tile + C)
        for k: for the R x C elements: the statement, with constant bounds
        the elements = C_tile

Compilers unroll the loops over the tile and keep it in registers, since no pointer aliases the
local array. Partial tiles at borders or below a diagonal run in loops of their own; full tiles have
no conditions. `poly/register_bands.py` finds the rows; GPUs: `storage/gpu_register_tiles.py`.

Sums along one dimension have tiles of rows alone, R parallel chains of additions:

    for tiles of k, for i_tile:
        s_tile = the elements [i_tile, i_tile + R)
        for k: for the R elements: the statement
        the elements = s_tile

As sets, S updates X[f(r, c)] at { S[i] -> [r, c, k] }, r and c being two members of a permutable
band, or X[f(r)] at { S[i] -> [r, k] }. A tile is R values of r by C of c, from the origin [r_0,
c_0] on. Those k are `full` at which S runs for the whole tile:

    { [k] : for all 0 <= a < R, 0 <= b < C : S runs at [r_0 + a, c_0 + b, k] }

There the loops over a and b have constant bounds. The rest of the tile runs before and after: every
order of a permutable band is legal, and each element sees its instances in the order of k.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import (
    Access,
    Binary,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
    conjunction,
    integer,
)
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, If, Loop, PackedPanels, Panel, Statement
from tilepragma.ir.polynomial import Polynomial, expression, number, polynomial
from tilepragma.ir.speculation import is_harmless
from tilepragma.ir.substitution import with_each, with_objects
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.lower.ast_generation import ScheduledStatement, Symbols, generate_loops
from tilepragma.lower.band_loops import BandLoops, EnclosingTile, PlannedBand, TileConstraint, base_name, term
from tilepragma.lower.tile_bounds import known_of_sum, row_range, size_of
from tilepragma.poly.extents import Bounds
from tilepragma.poly.isl_ast import reader_of, short_expression
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.register_bands import RegisterRows
from tilepragma.poly.schedule import StatementSchedule, affine_map
from tilepragma.schedule.default_sizes import (
    ALONE_BLOCK_ROWS,
    ALONE_ROWS,
    ALONE_THROUGH,
    BLOCK_COLUMNS,
    BLOCK_ROWS,
    LEAST_NARROW,
    OUTSIDE_ROWS,
    THROUGH_TILE,
    WIDE_BITS,
    tile_extents,
)

_FEW = 8
"""The extents of tiles, by default."""
_ORIGINS = ("tilek_row_origin", "tilek_column_origin")
"""isl's parameters for the origins of a register tile."""


def register_block(loops: BandLoops, planned: PlannedBand, rows: RegisterRows, level: int) -> tuple[int, int]:
    """Values of the row at `level` that one thread takes at a time, and their unit."""
    if level not in (rows.row, rows.column):
        return OUTSIDE_ROWS, 1
    if rows.column is None:
        return ALONE_BLOCK_ROWS, ALONE_ROWS
    extents = tile_extents(_element(planned, rows), loops.vectors)
    return (extents[1] * BLOCK_COLUMNS, extents[1]) if level == rows.column else (BLOCK_ROWS, extents[0])


def with_full_tiles(
    loops: BandLoops, planned: PlannedBand, tile: EnclosingTile, points: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    """The `points` of a wavefront tile, as register tiles where one accumulating statement runs
    alone. Raises UnboundedRowError, OperationLimitError.
    """
    part = planned.part
    for each in part.statements:
        rows = planned.registers.get(each.statement.name)
        alone = None if rows is None else _alone_in_tiles(loops, part.statements, each, rows.array, tile)
        if rows is None or alone is None:
            continue
        condition, known = alone
        single = replace(planned, part=replace(part, statements=(each,)))
        full = register_tiles(loops, single, rows, replace(tile, known=known))
        if full is not None:
            points = full if condition is None else (If(condition, Block(full), Block(points)),)
    return points


def _alone_in_tiles(
    loops: BandLoops,
    statements: tuple[StatementSchedule, ...],
    each: StatementSchedule,
    array: str,
    tile: EnclosingTile,
) -> tuple[Expression | None, isl.Set] | None:
    """The condition of the tiles in which S runs alone, None if it does in all, and what is known
    there; None without a simple form. Raises OperationLimitError.

    [o, s] -> { : only S has points in the tile, and the array elements that S updates are read
    as no others }

    There only the updates of each element order S's points.
    """
    with operation_limit(loops.scop.context, DEFAULT_LIMIT, "finding the tiles in which a statement runs alone"):
        scheduled = loops.inside(statements, tile.rows)
        context = loops.facts(tile)
        alone = next(candidate for candidate in scheduled if candidate.statement.name == each.statement.name)
        points = _times_of(alone)
        condition = points.params().subtract(_clash(alone, array, points))
        for statement in scheduled:
            if statement is not alone:
                condition = condition.subtract(statement.times.intersect_domain(statement.statement.domain).params())
        sizes = [size_of(constraint.level) for constraint in tile.rows if constraint.size]
        simple = _simple_part(condition.intersect(context), context, sizes)
        if simple is None:
            return None
        return _test(simple, context, loops.symbols(tile.rows), context), tile.known.intersect(simple)


def _test(condition: isl.Set, context: isl.Set, symbols: Symbols, known: isl.Set) -> Expression | None:
    """The condition as C, in the context; None if it follows from what is `known`."""
    if known.is_subset(condition):
        return None
    test = isl.AstBuild.from_context(context).expr_from_set(condition.gist(context))
    return reader_of(symbols.parameters).condition(test)


def register_tiles(
    loops: BandLoops, planned: PlannedBand, rows: RegisterRows, tile: EnclosingTile
) -> tuple[Statement, ...] | None:
    """Loops over the register tiles inside a tile of the band's rows; None if no simple form
    exists. Operands that cross rows of memory are packed if the reduction row has a panel's length.
    Raises UnboundedRowError, OperationLimitError.
    """
    if rows.crossing and not any(row.level == rows.through[-1] for row in tile.rows):
        packed = replace(rows, packed=tuple(sorted((*rows.packed, *rows.crossing))))
        tiles = _register_tiles(loops, planned, packed, tile)
        if tiles is not None:
            return tiles
    return _register_tiles(loops, planned, rows, tile)


def _register_tiles(
    loops: BandLoops, planned: PlannedBand, rows: RegisterRows, tile: EnclosingTile
) -> tuple[Statement, ...] | None:
    """`register_tiles` for given packed operands. Raises UnboundedRowError, OperationLimitError."""
    statements = planned.part.statements
    around: list[Loop] = []
    for level in rows.outside:
        iterator = loops.names.scalar(f"{base_name(statements, level)}_row")
        bounds = loops.row_range(statements, level, tile.rows, tile.known)
        around.append(loops.loop(iterator, bounds.low, bounds.high))
        tile = loops.at_row(statements, tile, TileConstraint(level, access_to(iterator)))
    whole = tile
    through = _through(loops, planned, rows, tile)
    if through is None:
        return None
    first, own_loop, tile = through
    around += own_loop
    origins = []
    extents: tuple[int, ...] = (ALONE_ROWS,)
    if rows.column is not None:
        columns = loops.names.scalar(f"{base_name(statements, rows.column)}_tile")
        extents = tile_extents(_element(planned, rows), loops.vectors)
        bounds = loops.row_range(statements, rows.column, whole.rows, tile.known)
        around.append(replace(loops.loop(columns, bounds.low, bounds.high), step=integer(extents[1])))
        origins.append(columns)
    origins.insert(0, loops.names.scalar(f"{base_name(statements, rows.row)}_tile"))
    bounds = loops.row_range(statements, rows.row, whole.rows, tile.known)
    tiling = _Tile(loops, statements[0], rows, whole, tuple(origins), extents, first, bounds)
    tile = tiling.at_origin(tile, 1) if rows.column is not None else tile
    body = _panels(tiling, tile) if rows.packed else _below_each_other(tiling, tile)
    if body is None:
        return None
    for loop in reversed(around):
        body = (replace(loop, body=Block(body)),)
    return body


def _through(
    loops: BandLoops, planned: PlannedBand, rows: RegisterRows, tile: EnclosingTile
) -> tuple[DataObject | None, list[Loop], EnclosingTile] | None:
    """The tiled reduction row: iterator, loops (none if short enough), and the tile inside."""
    statements, level = planned.part.statements, rows.through[-1]
    if not rows.packed and any(row.level == level for row in tile.rows):
        return None, [], tile
    base = base_name(statements, level)
    size: Expression = integer(THROUGH_TILE)
    if not rows.packed:
        extent = ALONE_THROUGH if rows.column is None else THROUGH_TILE
        size = access_to(loops.size_of(planned.number, level, base, extent, extent))
    first = loops.names.scalar(f"{base}_first")
    bounds = loops.row_range(statements, level, tile.rows)
    if _is_made_of_locals(bounds.low):
        return None
    loop = replace(loops.loop(first, bounds.low, bounds.high), step=size)
    return first, [loop], loops.at_row(statements, tile, TileConstraint(level, access_to(first), size))


def _is_made_of_locals(bound: Polynomial) -> bool:
    """Whether a bound varies from tile to tile: such tiles take long to prove, and few are full."""
    return any(isinstance(node, Access) and node.object.scope is Scope.LOCAL for node in walk(expression(bound)))


def _element(planned: PlannedBand, rows: RegisterRows) -> ScalarType:
    """The type of the accumulated elements."""
    (each,) = planned.part.statements
    updates = (access for access in each.statement.references if access.object.name == rows.array and access.writes)
    element = next(updates).object.element
    assert isinstance(element, ScalarType), "what is updated by a sum is a number"
    return element


@dataclass(frozen=True)
class _Tile:
    """A register tile of a statement in the tile `whole`: the iterators over its origins, row
    first, and its extents. `first` iterates over the origins of the reduction row around it.
    `bounds` are those of the row origins, not narrowed by the reduction row: all tiles of a column
    begin at the same origins. Columns beyond `last` are padding (None: there are none);
    all others are alike, and the first is none of them.
    """

    loops: BandLoops
    each: StatementSchedule
    rows: RegisterRows
    whole: EnclosingTile
    origins: tuple[DataObject, ...]
    extents: tuple[int, ...]
    first: DataObject | None
    bounds: Bounds
    last: Expression | None = None

    def there(self, column: Expression) -> tuple[Expression, ...]:
        """The condition that the column exists; empty if it always does."""
        return () if self.last is None else (Binary("<=", column, self.last, INT),)

    def at_origin(self, tile: EnclosingTile, place: int) -> EnclosingTile:
        """The tile inside the loop over origins of the row at `place`: these lie between the least
        and the greatest value of that row. Raises OperationLimitError.
        """
        with operation_limit(self.loops.scop.context, DEFAULT_LIMIT, "finding what is known of register tiles"):
            inside = self.loops.inside((self.each,), self.whole.rows)
            fact = known_of_sum(inside, (self.rows.tile[place],), _ORIGINS[place])
        return replace(tile, known=tile.known.intersect(fact))

    def symbols(self, tile: EnclosingTile) -> Symbols:
        """The expressions for isl's parameters, with the origins."""
        symbols = self.loops.symbols(tile.rows, frozenset(self.loops.names.taken))
        origins = dict(zip(_ORIGINS, map(access_to, self.origins), strict=False))
        return replace(symbols, parameters={**symbols.parameters, **origins})

    def box(self, like: isl.Set, extents: tuple[int, ...] | None = None, *, rows: bool = True) -> isl.Set:
        """[r_0, c_0] -> { [t] : r_0 <= t_r < r_0 + R and c_0 <= t_c < c_0 + C }, or that with other
        extents, or without the limits of rows.
        """
        names = [f"t{place}" for place in range(like.dim(isl.dim_type.set))]
        limits = list(zip(_ORIGINS, self.rows.tile, extents or self.extents, strict=False))[not rows :]
        origins = ", ".join(origin for origin, _, _ in limits)
        conditions = " and ".join(f"{origin} <= t{level} < {origin} + {extent}" for origin, level, extent in limits)
        return isl.Set(f"[{origins}] -> {{ [{', '.join(names)}] : {conditions} }}", context=like.get_ctx())

    def columns(self, like: isl.Set, count: int | None = None) -> isl.Set:
        """[c_0] -> { [t] : c_0 <= t_c < c_0 + C }, or the first `count` of them."""
        return self.box(like, (self.extents[0], self.extents[1] if count is None else count), rows=False)


def _below_each_other(tiling: _Tile, tile: EnclosingTile) -> tuple[Statement, ...] | None:
    """The loop over the tiles of the rows."""
    body = _points(tiling, tiling.at_origin(tile, 0))
    if body is None:
        return None
    loop = tiling.loops.loop(tiling.origins[0], tiling.bounds.low, tiling.bounds.high, body)
    return (replace(loop, step=integer(tiling.extents[0])),)


# -- panels


@dataclass(frozen=True)
class _Panel:
    """A panel of columns in tiles of the through row. `condition`: each column exists at all its
    values, from `lower` to `upper`; None where always so. `known` then holds.

    For a padded one, this is so for the columns up to `last`, and all rows have equal columns.
    """

    condition: Expression | None
    lower: Expression
    upper: Expression
    known: isl.Set
    last: Expression | None


def _panels(tiling: _Tile, tile: EnclosingTile) -> tuple[Statement, ...] | None:
    """The tiles below each other (maybe none) with packed panels of their strided operands: a full
    panel of the tile's columns at the through row's values, a padded one for other tiles, and loops
    over all points for the rest. None without a simple form. Raises OperationLimitError.
    """
    loops, each = tiling.loops, tiling.each
    (scheduled,) = loops.inside((each,), tile.rows)
    (_, column), (through,) = tiling.rows.tile, tiling.rows.through
    symbols = tiling.symbols(tile)
    least = _least_columns(tiling)
    with operation_limit(loops.scop.context, DEFAULT_LIMIT, "finding what a panel holds"):
        context = loops.facts(tile)
        domain = _times_of(scheduled)
        whole = tiling.columns(domain)
        points = domain.intersect(whole)
        full = _simple_condition(_full_columns(points, whole, tiling), context)
        if full is None:
            return None
        rest = context.subtract(full)
        padded = _simple_condition(_alike_columns(points, tiling, least), rest) if least else None
        left = rest if padded is None else rest.subtract(padded)
    narrow = replace(scheduled, times=scheduled.times.intersect_range(points))

    def panel(condition: isl.Set, facts: isl.Set, *, padded: bool) -> _Panel | None:
        given = facts.intersect(condition)
        values = row_range((narrow,), through, symbols, given)
        last = row_range((narrow,), column, symbols, given) if padded else None
        if values is None or (padded and last is None):
            return None
        with operation_limit(loops.scop.context, DEFAULT_LIMIT, "finding what a panel holds"):
            test = _test(condition, context, symbols, facts)
        within = given if given.n_basic_set() == 1 else tile.known.intersect(condition)
        end = None if last is None else short_expression(last.high)
        return _Panel(test, short_expression(values.low), short_expression(values.high), within, end)

    first = panel(full, context, padded=False)
    if first is None:
        return None
    second = None if padded is None or rest.is_empty() else panel(padded, rest, padded=True)
    left = rest if second is None else left
    instead: tuple[Statement, ...] = ()
    if not points.intersect_params(left).is_empty():
        across = (*tiling.rows.outside, tiling.rows.row, *tiling.rows.through, column)
        times = affine_map(each.statement, tuple(each.rows[level] for level in across))
        remaining = replace(scheduled, times=times.intersect_domain(narrow.times.domain()))
        instead = generate_loops((remaining,), symbols, loops.numbers, context).statements
    panels = [panel for panel in (first, second) if panel is not None]
    bodies = []
    for panel_ in panels:
        beside = replace(tiling, last=panel_.last)
        body = _below_each_other(beside, replace(tile, known=panel_.known))
        if body is None:
            return None
        buffers = tuple(_packed(beside, place, panel_) for place in tiling.rows.packed)
        bodies.append((PackedPanels(buffers, Block(body)),))
    for panel_, packed in reversed(list(zip(panels, bodies, strict=True))):
        otherwise = Block(instead) if instead else None
        instead = packed if panel_.condition is None else (If(panel_.condition, Block(packed), otherwise),)
    return instead


def _least_columns(tiling: _Tile) -> int:
    """The fewest columns of a padded panel; 0 if there is none."""
    if not tiling.rows.alike or not is_harmless(tiling.each.statement.node):
        return 0
    return 1 if tiling.loops.vectors.bits >= WIDE_BITS else LEAST_NARROW


def _full_columns(points: isl.Set, whole: isl.Set, tiling: _Tile) -> isl.Set:
    """[p] -> { : all columns of the panel have the through values that some column has }"""
    (row, column) = tiling.rows.tile
    used = points.project_out(isl.dim_type.set, row, 1)
    every = _without(points, (row, column))
    needed = _with(every, (row, column)).intersect(whole).project_out(isl.dim_type.set, row, 1)
    return every.params().subtract(needed.subtract(used).params())


def _alike_columns(points: isl.Set, tiling: _Tile, least: int) -> isl.Set:
    """[p] -> { : `least` columns exist, and all columns have the same rows and through values }"""
    _, column = tiling.rows.tile
    others = tuple(level for level in range(points.dim(isl.dim_type.set)) if level != column)
    alike = _with(_without(points, others), others).intersect(_with(_without(points, (column,)), (column,)))
    there = points.params()
    for count in {1, least}:
        # Whether the last of `count` columns exists.
        before = points.intersect(tiling.columns(points, count - 1))
        there = there.intersect(points.intersect(tiling.columns(points, count)).subtract(before).params())
    return there.subtract(alike.subtract(points).params())


def _simple_condition(condition: isl.Set, context: isl.Set) -> isl.Set | None:
    """The condition as one convex set without existential integers, in that context; else None."""
    wanted = _joined(condition)
    if wanted.is_empty() or wanted.n_basic_set() != 1:
        return None
    return _in_parameters(wanted, context)


def _packed(tiling: _Tile, place: int, panel: _Panel) -> Panel:
    """The panel of an operand: a row for each value of the reduction row, a tile's columns wide."""
    loops, each = tiling.loops, tiling.each
    source = each.statement
    reference = source.references[place]
    access = next(
        node
        for node in walk(source.node)
        if isinstance(node, Access) and node.object == reference.object and node.range == reference.range
    )
    levels = (tiling.rows.through[-1], tiling.rows.tile[1])
    through, column = (source.loops[_place(each.rows[level].coefficients)].iterator for level in levels)
    local = {iterator: replace(iterator, scope=Scope.LOCAL) for iterator in (through, column)}
    first, (_, start) = tiling.first, tiling.origins
    assert first is not None, "what is packed has a loop of its own over what runs through"
    heads = (
        replace(_counted(loops, local[through], 0, Block(())), lower=panel.lower, comparison="<=", upper=panel.upper),
        replace(
            _counted(loops, local[column], 0, Block(())),
            lower=access_to(start),
            upper=expression(term(start) + number(tiling.extents[1])),
        ),
    )
    subscripts = (_beyond(local[through], first), _beyond(local[column], start))
    there = tiling.there(access_to(local[column]))
    name = loops.names.scalar(f"{reference.object.name}_panel").name
    lengths = (integer(THROUGH_TILE), integer(tiling.extents[1]))
    panel_object = DataObject(name, name, reference.object.element, Storage.CONTIGUOUS, Scope.LOCAL, lengths)
    return Panel(panel_object, heads, (), with_objects(access, local), subscripts, False, there, bool(there))


def _beyond(iterator: DataObject, start: DataObject) -> Expression:
    return Binary("-", access_to(iterator), access_to(start), LONG)


# -- the points of a tile


def _points(tiling: _Tile, tile: EnclosingTile) -> tuple[Statement, ...] | None:
    """The points of a register tile: loops over the full k, around the tile, and the rest before
    and after. None where the full k have no simple form. Raises OperationLimitError.
    """
    loops, each, rows = tiling.loops, tiling.each, tiling.rows
    (scheduled,) = loops.inside((each,), tile.rows)
    context, symbols = loops.facts(tile), tiling.symbols(tile)
    with operation_limit(loops.scop.context, DEFAULT_LIMIT, "finding what is full of a register tile"):
        pieces = _pieces(scheduled, tiling, context)
        if pieces is None:
            return None
        condition, before, origin, after, otherwise = pieces
        given = context.intersect(condition)
        test = _test(condition, context, symbols, context)
    along = (*rows.outside, *rows.through)
    across = (*along, *rows.tile) if rows.column is not None else (*rows.outside, rows.row, *rows.through)

    def generated(points: isl.Set, order: tuple[int, ...], facts: isl.Set) -> Block:
        if points.intersect_params(facts).is_empty():
            return Block(())
        times = affine_map(each.statement, tuple(each.rows[level] for level in order))
        chosen = times.intersect_domain(scheduled.times.intersect_range(points).domain())
        return generate_loops((replace(scheduled, times=chosen),), symbols, loops.numbers, facts)

    early, through, late = (
        generated(points, order, given) for points, order in ((before, across), (origin, along), (after, across))
    )
    rest = Block(()) if test is None else generated(otherwise, across, context)
    full = _full(tiling, through)
    if full is None:
        return None
    body = (*early.statements, *full, *late.statements)
    return body if test is None else (If(test, Block(body), rest if rest.statements else None),)


def _pieces(
    scheduled: ScheduledStatement, tiling: _Tile, context: isl.Set
) -> tuple[isl.Set, isl.Set, isl.Set, isl.Set, isl.Set] | None:
    """The condition that some k is full; the points { [t] } of a tile before the full k, those at
    its origin for the full k, the points after these, and all points for a tile without any.
    """
    levels, padded = tiling.rows.tile, tiling.last is not None
    domain = _times_of(scheduled)
    whole = tiling.box(domain)
    points = domain.intersect(whole)
    every = _without(points, levels)
    there = tiling.box(domain, extents=(tiling.extents[0], 1)) if padded else whole
    missed = _without(_with(every, levels).intersect(there).subtract(points), levels)
    full = _joined(every.subtract(missed))
    if full.is_empty() or full.n_basic_set() != 1:
        return None
    through = _with(full, levels).intersect(whole)
    wanted = _joined(full.params().subtract(_clash(scheduled, tiling.rows.array, through)))
    if wanted.n_basic_set() != 1:
        return None
    condition = _in_parameters(wanted, context)
    if condition is None:
        return None
    rest = every.subtract(full)
    before, after = (
        pairs.intersect_domain(rest).intersect_range(full).domain().coalesce()
        for pairs in (rest.lex_lt_set(full), rest.lex_gt_set(full))
    )
    if (
        not rest.intersect_params(condition).subtract(before).subtract(after).is_empty()
        or not before.intersect(after).is_empty()
    ):
        return None
    first = _with(full, levels).intersect(tiling.box(domain, extents=(1,) * len(levels)))
    before, after = (_with(part, levels).intersect(points) for part in (before, after))
    return condition, before, first, after, points


def _times_of(scheduled: ScheduledStatement) -> isl.Set:
    """{ [t] } of the statement's instances."""
    return scheduled.times.intersect_domain(scheduled.statement.domain).range()


def _clash(scheduled: ScheduledStatement, array: str, points: isl.Set) -> isl.Set:
    """[p] -> { : some points { [t] } update an element that some points read as another one }"""
    references = [reference for reference in scheduled.statement.references if reference.object.name == array]
    target = next(reference for reference in references if reference.writes)
    by_time = scheduled.times.intersect_domain(scheduled.statement.domain).reverse()
    updated = points.apply(by_time.apply_range(target.relation))
    clashes = isl.Set.empty(points.params().get_space())
    for reference in references:
        if not reference.relation.is_equal(target.relation):
            reads = points.apply(by_time.apply_range(reference.relation))
            clashes = clashes.union(updated.intersect(reads).params())
    return clashes


def _joined(points: isl.Set) -> isl.Set:
    """The same set as one convex set where possible."""
    points = points.remove_redundancies().coalesce()
    if points.n_basic_set() > 1:
        for hull in (points.unshifted_simple_hull(), points.simple_hull()):
            around = isl.Set.from_basic_set(hull)
            if around.is_subset(points):
                return around
    return points


def _in_parameters(condition: isl.Set, context: isl.Set) -> isl.Set | None:
    """The condition without existential integers, where equivalent in the `context`; else None."""
    plain = condition.remove_divs()
    return plain if plain.intersect(context).is_subset(condition) else None


def _simple_part(condition: isl.Set, context: isl.Set, sizes: list[str]) -> isl.Set | None:
    """The condition, or most of it, as one convex set: the tiles of several values in each row
    (`sizes` are their parameters), without parts that hold at one value of a parameter only.
    """
    whole = _joined(condition)
    if whole.is_empty() or whole.n_basic_set() == 1:
        return None if whole.is_empty() else _in_parameters(whole, context)
    common = " and ".join(f"{name} >= {_FEW}" for name in sizes)
    large = isl.Set(f"[{', '.join(sizes)}] -> {{ : {common} }}", context=condition.get_ctx())
    solid = isl.Set.empty(condition.get_space())
    for piece in condition.intersect(large).coalesce().get_basic_sets():
        if not any(constraint.is_equality() for constraint in piece.get_constraints()):
            solid = solid.union(isl.Set.from_basic_set(piece))
    part = _joined(solid.remove_divs())
    if part.is_empty() or part.n_basic_set() != 1 or not part.is_subset(condition):
        return None
    anywhere = part.gist(large).intersect(context)
    return anywhere if anywhere.is_subset(condition) else part


def _without(points: isl.Set, levels: Iterable[int]) -> isl.Set:
    """{ [k] : exists a, b : [a, b, k] in the set }"""
    for level in sorted(levels, reverse=True):
        points = points.project_out(isl.dim_type.set, level, 1)
    return points.coalesce()


def _with(points: isl.Set, levels: Iterable[int]) -> isl.Set:
    """{ [a, b, k] : [k] in the set }"""
    for level in sorted(levels):
        points = points.insert_dims(isl.dim_type.set, level, 1)
    return points


def _full(tiling: _Tile, through: Block) -> tuple[Statement, ...] | None:
    """The loops `through` a tile's origin, extended to the tile with its elements in a buffer."""
    loops, each = tiling.loops, tiling.each
    names = [each.statement.iterators[_place(each.rows[level].coefficients)] for level in tiling.rows.tile]
    leaf = _leaf(through, frozenset(names))
    if leaf is None:
        return None
    origin: list[Statement] = []
    steps: list[tuple[DataObject, int]] = []
    instead: dict[DataObject, Declaration] = {}
    for name, tile, extent in zip(names, tiling.origins, tiling.extents, strict=True):
        declarator = next(declarator for declarator in leaf.declarators if declarator.object.name == name)
        assert declarator.value is not None
        start = replace(loops.names.scalar(f"{name}_origin"), element=declarator.object.element, const=True)
        step = replace(loops.names.scalar(f"{name}_step"), element=declarator.object.element)
        origin.append(Declaration((Declarator(start, declarator.value),)))
        steps.append((step, extent))
        operator = "-" if _counts_down(declarator.value, tile) else "+"
        moved = Binary(operator, access_to(start), access_to(step), declarator.object.element)
        instead[declarator.object] = Declaration((replace(declarator, initializer=moved),))
    kept = tuple(
        instead.get(_declared_by(statement), statement) if isinstance(statement, Declaration) else statement
        for statement in leaf.statements
    )
    there = tiling.there(expression(term(tiling.origins[-1]) + term(steps[-1][0])))
    buffer = _buffer(tiling, Block(kept), tuple(steps))
    if buffer is None or _names_any(buffer, {loop.iterator for loop in loops_in(through)}):
        return None
    if there:
        buffer = replace(buffer, conditions=there, padded=True)
        kept = _where(there, kept)
    points = Block(_over(loops, tuple(steps), Block(kept)))
    body = with_each(through, Block, lambda block: points if block is leaf else block)
    return (*origin, PackedPanels((buffer,), body))


def _where(there: tuple[Expression, ...], leaf: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The leaf's declarations, and its other statements guarded by the column's existence."""
    declarations = tuple(statement for statement in leaf if isinstance(statement, Declaration))
    points = tuple(statement for statement in leaf if not isinstance(statement, Declaration))
    return (*declarations, If(conjunction(there), Block(points), None, padded=True))


def _names_any(buffer: Panel, iterators: set[DataObject]) -> bool:
    """Whether the element's text names these iterators without depending on them: `c[i][k - k]`."""
    spelled = (*buffer.declarations, buffer.access)
    return any(isinstance(node, Access) and node.object in iterators for part in spelled for node in walk(part))


def _counts_down(origin: Expression, tile: DataObject) -> bool:
    """Whether the iterator's loop decreases: its value at the origin falls from tile to tile."""
    parts = polynomial(origin).split(access_to(tile))
    return parts is not None and parts[0].constant == -1


def _place(coefficients: tuple[int, ...]) -> int:
    return coefficients.index(1)


def _declared_by(declaration: Declaration) -> DataObject:
    return declaration.declarators[0].object


def _leaf(body: Block, names: frozenset[str]) -> Block | None:
    """The only block that declares iterators of these names."""
    blocks = [
        node
        for node in walk(body)
        if isinstance(node, Block)
        and names <= {declarator.object.name for declarator in node.declarators if declarator.object.const}
    ]
    return blocks[0] if len(blocks) == 1 else None


def _over(loops: BandLoops, steps: tuple[tuple[DataObject, int], ...], body: Block) -> tuple[Statement, ...]:
    """`for (row = 0; row < R; ++row) for (column = 0; column < C; ++column)`"""
    statements: tuple[Statement, ...] = (body,)
    for step, extent in reversed(steps):
        statements = (_counted(loops, step, extent, Block(statements)),)
    return statements


def _counted(loops: BandLoops, iterator: DataObject, extent: int, body: Block) -> Loop:
    return Loop(next(loops.numbers), iterator, True, integer(0), "<", integer(extent), integer(1), False, body, None)


def _buffer(tiling: _Tile, leaf: Block, steps: tuple[tuple[DataObject, int], ...]) -> Panel | None:
    """The tile's elements in a local array; None if the leaf spells the element variously."""
    loops = tiling.loops
    written = {use.subscripts for use in uses(leaf) if use.writes and use.object.name == tiling.rows.array}
    accesses = [
        node
        for node in walk(leaf)
        if isinstance(node, Access) and node.object.name == tiling.rows.array and node.subscripts in written
    ]
    access = accesses[0]
    if len(written) > 1 or any(access.path for access in accesses) or not isinstance(access.type, ScalarType):
        return None
    mentioned = {node.object for part in access.subscripts for node in walk(part) if isinstance(node, Access)}
    needed = tuple(
        statement
        for statement in leaf.statements
        if isinstance(statement, Declaration) and _declared_by(statement) in mentioned
    )
    name = loops.names.scalar(f"{tiling.rows.array}_tile").name
    lengths = tuple(integer(extent) for _, extent in steps)
    local = DataObject(name, name, access.object.element, Storage.CONTIGUOUS, Scope.LOCAL, lengths)
    heads = tuple(_counted(loops, step, extent, Block(())) for step, extent in steps)
    subscripts: tuple[Expression, ...] = tuple(access_to(step) for step, _ in steps)
    return Panel(local, heads, needed, access, subscripts, True)
