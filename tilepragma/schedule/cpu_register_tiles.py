"""Register tiles on cores: keep a few rows by a few vectors of a product's sums in registers.

    for tiles of k, for j_tile, for i_tile:
        C_tile = the elements [i_tile, i_tile + R) x [j_tile, j_tile + C)
        for k: for the R x C elements: the statement, with constant bounds
        the elements = C_tile

Compilers unroll the loops over the tile and keep it in registers, since no pointer aliases the
local array. Partial tiles at borders or below a diagonal run in loops of their own; full tiles have
no conditions.

Sums along one dimension have tiles of rows alone, R parallel chains of additions:

    for tiles of k, for i_tile:
        s_tile = the elements [i_tile, i_tile + R)
        for k: for the R elements: the statement
        the elements = s_tile
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import VectorRegisters
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
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import loops_in, walk, with_blocks
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.lower.band_loops import BandLoops, Bounds, PlannedBand, base_name, term
from tilepragma.plan.default_sizes import (
    ALONE_BLOCK_ROWS,
    ALONE_ROWS,
    ALONE_THROUGH,
    BLOCK_COLUMNS,
    BLOCK_ROWS,
    COLUMN_VECTORS,
    LEAST_COLUMNS,
    LEAST_NARROW,
    MOST_ROWS,
    OUTSIDE_ROWS,
    THROUGH_TILE,
    WIDE_BITS,
)
from tilepragma.schedule.intra_tile_wavefront import BoundedTile

if TYPE_CHECKING:
    from tilepragma.lower.ast_generation import GeneratedLoops
    from tilepragma.lower.band_ast import TileConstraint
    from tilepragma.lower.register_ast import PanelLoops, RegisterBox, RegisterLoops
    from tilepragma.poly.register_bands import RegisterRows
    from tilepragma.poly.schedule import StatementSchedule
    from tilepragma.poly.scop import ScopStatement

    Statements = tuple[StatementSchedule, ...]
    TileConstraints = tuple[TileConstraint, ...]
    Below = Callable[["_Tile", BoundedTile], tuple[Statement, ...] | None]


def block_extent(loops: BandLoops, planned: PlannedBand, rows: RegisterRows, level: int) -> tuple[int, int]:
    """Values of the row at `level` that one thread takes at a time, and their unit."""
    if level not in (rows.row, rows.column):
        return OUTSIDE_ROWS, 1
    if rows.column is None:
        return ALONE_BLOCK_ROWS, ALONE_ROWS
    extents = tile_extents(_element(loops, planned, rows), loops.vectors)
    return (extents[1] * BLOCK_COLUMNS, extents[1]) if level == rows.column else (BLOCK_ROWS, extents[0])


def tile_extents(element: ScalarType, vectors: VectorRegisters) -> tuple[int, int]:
    """Rows (a power of two) and columns of a register tile of these elements."""
    columns = max(LEAST_COLUMNS, COLUMN_VECTORS * vectors.bits // element.bits)
    held = vectors.accumulators() * vectors.bits // (columns * element.bits)
    return min(MOST_ROWS, 1 << max(held.bit_length() - 1, 0)), columns


def with_full_tiles(
    loops: BandLoops, planned: PlannedBand, tile: BoundedTile, points: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    """The `points` of a wavefront tile, as register tiles where one accumulating statement runs
    alone. Raises UnboundedRowError, OperationLimitError.
    """
    from tilepragma.lower.register_ast import alone_in_tiles

    part = planned.part
    for each in part.statements:
        rows = planned.registers.get(each.statement.name)
        if rows is None:
            continue
        alone = alone_in_tiles(loops.code, part.statements, each, rows.array, tile.rows, tile.known)
        if alone is None:
            continue
        single = replace(planned, part=replace(part, statements=(each,)))
        full = register_tiles(loops, single, rows, replace(tile, known=alone.known))
        if full is None:
            continue
        points = full if alone.condition is None else (If(alone.condition, Block(full), Block(points)),)
    return points


def register_tiles(
    loops: BandLoops, planned: PlannedBand, rows: RegisterRows, tile: BoundedTile
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
    loops: BandLoops, planned: PlannedBand, rows: RegisterRows, tile: BoundedTile
) -> tuple[Statement, ...] | None:
    """`register_tiles` for given packed operands. Raises UnboundedRowError, OperationLimitError."""
    from tilepragma.lower.band_ast import TileConstraint

    statements = planned.part.statements
    around: list[Loop] = []
    for level in rows.outside:
        iterator = loops.names.scalar(f"{base_name(statements, level)}_row")
        bounds = loops.row_range(statements, level, tile.rows, tile.known)
        around.append(loops.loop(iterator, bounds.lower, bounds.upper))
        tile = _inside(loops, statements, tile, TileConstraint(level, access_to(iterator)))
    whole = tile.rows
    through = _through(loops, planned, rows, tile)
    if through is None:
        return None
    first, own_loop, tile = through
    around += own_loop
    origins = []
    extents: tuple[int, ...] = (ALONE_ROWS,)
    if rows.column is not None:
        columns = loops.names.scalar(f"{base_name(statements, rows.column)}_tile")
        extents = tile_extents(_element(loops, planned, rows), loops.vectors)
        bounds = loops.row_range(statements, rows.column, whole, tile.known)
        around.append(replace(loops.loop(columns, bounds.lower, bounds.upper), step=integer(extents[1])))
        origins.append(columns)
    origins.insert(0, loops.names.scalar(f"{base_name(statements, rows.row)}_tile"))
    bounds = loops.row_range(statements, rows.row, whole, tile.known)
    tiling = _Tile(rows, tuple(origins), extents, first, bounds)
    tile = _with_origin(loops, tiling, statements[0], tile, whole, 1) if rows.column is not None else tile
    below = partial(_below_each_other, loops, planned, whole)
    body = _panel(loops, planned, tiling, tile, below) if rows.packed else below(tiling, tile)
    if body is None:
        return None
    for loop in reversed(around):
        body = (replace(loop, body=Block(body)),)
    return body


def _through(
    loops: BandLoops, planned: PlannedBand, rows: RegisterRows, tile: BoundedTile
) -> tuple[DataObject | None, list[Loop], BoundedTile] | None:
    """The tiled reduction row: iterator, loops (none if short enough), and the tile inside."""
    from tilepragma.lower.band_ast import TileConstraint

    statements, level = planned.part.statements, rows.through[-1]
    if not rows.packed and any(row.level == level for row in tile.rows):
        return None, [], tile
    base = base_name(statements, level)
    size: Expression = integer(THROUGH_TILE)
    if not rows.packed:
        extent = ALONE_THROUGH if rows.column is None else THROUGH_TILE
        size = access_to(loops.sizes.of(planned.number, level, base, extent, extent))
    first = loops.names.scalar(f"{base}_first")
    bounds = loops.row_range(statements, level, tile.rows)
    if _is_made_of_locals(bounds.lower):
        return None
    loop = replace(loops.loop(first, bounds.lower, bounds.upper), step=size)
    return first, [loop], _inside(loops, statements, tile, TileConstraint(level, access_to(first), size))


def _is_made_of_locals(bound: Polynomial) -> bool:
    """Whether a bound varies from tile to tile: such tiles take long to prove, and few are full."""
    return any(isinstance(node, Access) and node.object.scope is Scope.LOCAL for node in walk(expression(bound)))


def _inside(loops: BandLoops, statements: Statements, tile: BoundedTile, constraint: TileConstraint) -> BoundedTile:
    """The tile inside a loop whose iterator is the value or origin of one more row."""
    known = tile.known.also(loops.code.known_sum(statements, (constraint.level,), tile.rows, constraint))
    return replace(tile, rows=(*tile.rows, constraint), known=known)


def _element(loops: BandLoops, planned: PlannedBand, rows: RegisterRows) -> ScalarType:
    """The type of the accumulated elements."""
    references = _source(planned).references
    element = next(
        reference.object.element for reference in references if reference.object.name == rows.array and reference.writes
    )
    assert isinstance(element, ScalarType), "what is updated by a sum is a number"
    return element


def _source(planned: PlannedBand) -> ScopStatement:
    (each,) = planned.part.statements
    return each.statement


def _with_origin(
    loops: BandLoops, tiling: _Tile, each: StatementSchedule, tile: BoundedTile, whole: TileConstraints, place: int
) -> BoundedTile:
    """The tile inside the loop over origins of the tile's row at `place`."""
    from tilepragma.lower.register_ast import known_origin

    return replace(tile, known=tile.known.also(known_origin(loops.code, each, tiling.rows, whole, place)))


def _below_each_other(
    loops: BandLoops, planned: PlannedBand, whole: TileConstraints, tiling: _Tile, tile: BoundedTile
) -> tuple[Statement, ...] | None:
    """The loop over the tiles of the rows."""
    iterator = tiling.origins[0]
    body = _tile(loops, planned, tiling, _with_origin(loops, tiling, planned.part.statements[0], tile, whole, 0))
    if body is None:
        return None
    loop = loops.loop(iterator, tiling.bounds.lower, tiling.bounds.upper, body)
    return (replace(loop, step=integer(tiling.extents[0])),)


def _panel(
    loops: BandLoops, planned: PlannedBand, tiling: _Tile, tile: BoundedTile, below: Below
) -> tuple[Statement, ...] | None:
    """The tiles `below` each other (maybe none) with packed panels of their strided operands."""
    from tilepragma.lower.register_ast import panel_loops

    (each,) = planned.part.statements
    taken = frozenset(loops.names.taken)
    least = 0
    if tiling.rows.alike and is_harmless(_source(planned).node):
        least = 1 if loops.vectors.bits >= WIDE_BITS else LEAST_NARROW
    scan = panel_loops(loops.code, each, tiling.box, tile.rows, tile.known, loops.next_index, taken, least)
    if scan is None:
        return None
    if scan.otherwise is not None:
        loops.next_index = scan.otherwise.next_index
    panels = tuple(panel for panel in (scan.full, scan.padded) if panel is not None)
    bodies = []
    for panel in panels:
        beside = replace(tiling, last=panel.last)
        body = below(beside, replace(tile, known=panel.known))
        if body is None:
            return None
        buffers = tuple(_packed(loops, planned, beside, place, panel) for place in tiling.rows.packed)
        bodies.append((PackedPanels(buffers, Block(body)),))
    instead = _statements(scan.otherwise)
    for panel, full in reversed(tuple(zip(panels, bodies, strict=True))):
        otherwise = Block(instead) if instead else None
        instead = full if panel.condition is None else (If(panel.condition, Block(full), otherwise),)
    return instead


def _packed(loops: BandLoops, planned: PlannedBand, tiling: _Tile, place: int, panel: PanelLoops) -> Panel:
    """The panel of an operand: a row for each value of the reduction row, a tile's columns wide."""
    (each,) = planned.part.statements
    source = _source(planned)
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


@dataclass(frozen=True)
class _Tile:
    """A register tile: the iterators over its origins, row first, and its extents. `first` iterates
    over the origins of the reduction row around it. `bounds` are those of the row origins, not
    narrowed by the reduction row: all tiles of a column begin at the same origins. Columns beyond
    `last` are padding; None if there is no padding.
    """

    rows: RegisterRows
    origins: tuple[DataObject, ...]
    extents: tuple[int, ...]
    first: DataObject | None
    bounds: Bounds
    last: Expression | None = None

    def there(self, column: Expression) -> tuple[Expression, ...]:
        """The condition that the column exists; empty if it always does."""
        return () if self.last is None else (Binary("<=", column, self.last, INT),)

    @property
    def box(self) -> RegisterBox:
        """The tile's box for the lowering."""
        from tilepragma.lower.register_ast import RegisterBox

        return RegisterBox(self.rows, tuple(map(access_to, self.origins)), self.extents, self.last is not None)


def _tile(loops: BandLoops, planned: PlannedBand, tiling: _Tile, inside: BoundedTile) -> tuple[Statement, ...] | None:
    """The points of a register tile."""
    from tilepragma.lower.register_ast import register_tile_loops

    (each,) = planned.part.statements
    taken = frozenset(loops.names.taken)
    scanned = register_tile_loops(loops.code, each, tiling.box, inside.rows, inside.known, loops.next_index, taken)
    if scanned is None:
        return None
    for scan in _scans(scanned):
        loops.next_index = max(loops.next_index, scan.next_index)
    full = _full(loops, planned, tiling, scanned.through.block)
    if full is None:
        return None
    body = (*_statements(scanned.before), *full, *_statements(scanned.after))
    if scanned.condition is None:
        return body
    rest = _statements(scanned.otherwise)
    return (If(scanned.condition, Block(body), Block(rest) if rest else None),)


def _scans(scan: RegisterLoops) -> Iterator[GeneratedLoops]:
    yield from (scanned for scanned in (scan.before, scan.through, scan.after, scan.otherwise) if scanned is not None)


def _statements(scanned: GeneratedLoops | None) -> tuple[Statement, ...]:
    return () if scanned is None else scanned.block.statements


def _full(loops: BandLoops, planned: PlannedBand, tiling: _Tile, through: Block) -> tuple[Statement, ...] | None:
    """The loops `through` a tile's origin, extended to the tile with its elements in a buffer."""
    (each,) = planned.part.statements
    names = [each.statement.iterators[_place(each.rows[level].coefficients)] for level in tiling.rows.tile]
    leaf = _leaf(through, frozenset(names))
    if leaf is None:
        return None
    origin: list[Statement] = []
    steps: list[tuple[DataObject, int]] = []
    instead: dict[DataObject, Declaration] = {}
    for name, tile, extent in zip(names, tiling.origins, tiling.extents, strict=True):
        declarator = next(declarator for declarator in _declarators(leaf) if declarator.object.name == name)
        assert declarator.initializer is not None and not isinstance(declarator.initializer, tuple)
        start = replace(loops.names.scalar(f"{name}_origin"), element=declarator.object.element, const=True)
        step = replace(loops.names.scalar(f"{name}_step"), element=declarator.object.element)
        origin.append(Declaration((Declarator(start, declarator.initializer),)))
        steps.append((step, extent))
        operator = "-" if _counts_down(declarator.initializer, tile) else "+"
        moved = Binary(operator, access_to(start), access_to(step), declarator.object.element)
        instead[declarator.object] = Declaration((replace(declarator, initializer=moved),))
    kept = tuple(
        instead.get(_declared_by(statement), statement) if isinstance(statement, Declaration) else statement
        for statement in leaf.statements
    )
    there = tiling.there(expression(term(tiling.origins[-1]) + term(steps[-1][0])))
    buffer = _buffer(loops, tiling, Block(kept), tuple(steps))
    if buffer is None or _names_any(buffer, {loop.iterator for loop in loops_in(through)}):
        return None
    if there:
        buffer = replace(buffer, conditions=there, padded=True)
        kept = _where(there, kept)
    body = _replaced(through, leaf, Block(_over(loops, tuple(steps), Block(kept))))
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


def _declarators(block: Block) -> Iterator[Declarator]:
    for statement in block.statements:
        if isinstance(statement, Declaration):
            yield from statement.declarators


def _leaf(body: Block, names: frozenset[str]) -> Block | None:
    """The only block that declares iterators of these names."""
    blocks = [
        node
        for node in walk(body)
        if isinstance(node, Block)
        and names <= {declarator.object.name for declarator in _declarators(node) if declarator.object.const}
    ]
    return blocks[0] if len(blocks) == 1 else None


def _replaced(body: Block, leaf: Block, replacement: Block) -> Block:
    if body is leaf:
        return replacement
    statements = tuple(
        _replaced(statement, leaf, replacement)
        if isinstance(statement, Block)
        else with_blocks(statement, lambda block: _replaced(block, leaf, replacement))
        for statement in body.statements
    )
    return replace(body, statements=statements)


def _over(loops: BandLoops, steps: tuple[tuple[DataObject, int], ...], body: Block) -> tuple[Statement, ...]:
    """`for (row = 0; row < R; ++row) for (column = 0; column < C; ++column)`"""
    statements: tuple[Statement, ...] = (body,)
    for step, extent in reversed(steps):
        statements = (_counted(loops, step, extent, Block(statements)),)
    return statements


def _counted(loops: BandLoops, iterator: DataObject, extent: int, body: Block) -> Loop:
    loops.next_index += 1
    return Loop(loops.next_index - 1, iterator, True, integer(0), "<", integer(extent), integer(1), False, body, None)


def _buffer(loops: BandLoops, tiling: _Tile, leaf: Block, steps: tuple[tuple[DataObject, int], ...]) -> Panel | None:
    """The tile's elements in a local array; None if the leaf spells the element variously."""
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
