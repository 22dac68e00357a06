"""AST generation for register tiles: a few rows by a few vectors of elements stay in registers
while the remaining dimensions run.

    { S[i] -> [r, c, k] }   S updates X[f(r, c)]; r and c are two members of a permutable band
    { S[i] -> [r, k] }      S updates X[f(r)], a sum for each value of r, without columns

A tile is R values of r by C of c, from the origin [r_0, c_0] on. Those k are `full` at which S runs
for the whole tile:

    { [k] : for all 0 <= a < R, 0 <= b < C : S runs at [r_0 + a, c_0 + b, k] }

There the loops over a and b have constant bounds. The rest of the tile runs before and after: every
order of a permutable band is legal, and each element sees its instances in the order of k.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Expression
from tilepragma.lower.ast_generation import GeneratedLoops, generate_loops
from tilepragma.lower.band_ast import BandCode, TileConstraints
from tilepragma.lower.context import KnownFacts, in_rows
from tilepragma.lower.loop_names import ScheduledStatement, Symbols
from tilepragma.lower.tile_bounds import row_range, symbol_reader
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.register_bands import RegisterRows
from tilepragma.poly.schedule import StatementSchedule, affine_map

_FEW = 8
"""The extents of tiles, by default."""
_ORIGINS = ("tilek_row_origin", "tilek_column_origin")


@dataclass(frozen=True)
class RegisterBox:
    """The tile: its integer origins in the tiled rows, and its extents. `padded`: all columns of
    the tile that exist are alike; the first exists, others may not.
    """

    rows: RegisterRows
    origins: tuple[Expression, ...]
    extents: tuple[int, ...]
    padded: bool = False

    @property
    def limits(self) -> tuple[tuple[str, int, int], ...]:
        """isl's parameters for the origins, the levels of their rows, and the extents."""
        return tuple(zip(_ORIGINS, self.rows.tile, self.extents, strict=False))


@dataclass(frozen=True)
class RegisterLoops:
    """Loops over the points of a register tile. `condition`: some k is full; None where always so.

    `through`: loops over the full k, around the instance at the tile's origin. `before` and
    `after`: the rest around it. `otherwise`: a whole tile without full k, or None.
    """

    condition: Expression | None
    before: GeneratedLoops | None
    through: GeneratedLoops
    after: GeneratedLoops | None
    otherwise: GeneratedLoops | None


@dataclass(frozen=True)
class PanelLoops:
    """A panel of columns in tiles of the through row. `condition`: each column exists at all its
    values, from `lower` to `upper`; None where always so. `known` then holds.

    For a `padded` one, this is so for the columns up to `last`, and all rows have equal columns.
    """

    condition: Expression | None
    lower: Expression
    upper: Expression
    known: KnownFacts
    last: Expression | None = None


@dataclass(frozen=True)
class PanelVariants:
    """The full panel, the padded one for other tiles, and loops over all points for the rest."""

    full: PanelLoops
    padded: PanelLoops | None
    otherwise: GeneratedLoops | None


@dataclass(frozen=True)
class AloneTiles:
    """Tiles in which a statement runs alone: their `condition`, None if always so, and facts."""

    condition: Expression | None
    known: KnownFacts


@dataclass(frozen=True)
class _Pieces:
    """The points { [t] } of a tile before, at and after the full k, and all points without any."""

    condition: isl.Set
    before: isl.Set
    full: isl.Set
    after: isl.Set
    otherwise: isl.Set


def known_origin(
    code: BandCode, each: StatementSchedule, rows: RegisterRows, constraints: TileConstraints, place: int
) -> KnownFacts:
    """Facts of the origin of register tiles in the row at `place`: it lies between the least and
    the greatest value of that row inside the constraints. Raises OperationLimitError.
    """
    with operation_limit(code.scop.context, DEFAULT_LIMIT, "finding what is known of register tiles"):
        inside = code.inside((each,), constraints)
        return in_rows(inside, (rows.tile[place],), _ORIGINS[place])


def alone_in_tiles(
    code: BandCode,
    statements: tuple[StatementSchedule, ...],
    each: StatementSchedule,
    array: str,
    constraints: TileConstraints,
    known: KnownFacts,
) -> AloneTiles | None:
    """[o, s] -> { : only S has points in the tile, and the array elements that S updates are read
    as no others }

    There only the updates of each element order S's points. None without a simple form. Raises
    OperationLimitError.
    """
    with operation_limit(code.scop.context, DEFAULT_LIMIT, "finding the tiles in which a statement runs alone"):
        scheduled = code.inside(statements, constraints)
        context = code.facts(constraints, known)
        alone = next(candidate for candidate in scheduled if candidate.statement.name == each.statement.name)
        points = alone.times.intersect_domain(alone.statement.domain).range()
        condition = points.params().subtract(_elements(alone, array).clash(points))
        for statement in scheduled:
            if statement is not alone:
                condition = condition.subtract(statement.times.intersect_domain(statement.statement.domain).params())
        simple = _simple_part(
            condition.intersect(context),
            context,
            [constraint.row.size for constraint in constraints if constraint.size],
        )
        if simple is None:
            return None
        always = context.is_subset(simple)
        test = None if always else isl.AstBuild.from_context(context).expr_from_set(simple.gist(context))
    told = None if test is None else symbol_reader(code.symbols(constraints)).condition(test)
    return AloneTiles(told, KnownFacts(known.facts.intersect(simple)))


def register_tile_loops(
    code: BandCode,
    each: StatementSchedule,
    box: RegisterBox,
    constraints: TileConstraints,
    known: KnownFacts,
    first_index: int,
    taken: frozenset[str],
) -> RegisterLoops | None:
    """The loops over one tile inside the constraints, numbered from `first_index`; new iterators
    avoid `taken`. None where full k have no simple form. Raises OperationLimitError.
    """
    (inside,) = code.inside((each,), constraints)
    context = code.facts(constraints, known)
    symbols = _with_origins(code.symbols(constraints, taken), box)
    with operation_limit(code.scop.context, DEFAULT_LIMIT, "finding what is full of a register tile"):
        pieces = _pieces(inside, box, _elements(inside, box.rows.array), context)
        if pieces is None:
            return None
        given = context.intersect(pieces.condition)
        condition = pieces.condition.gist(context)
        always = context.is_subset(pieces.condition)
        test = None if always else isl.AstBuild.from_context(context).expr_from_set(condition)
    across = (*box.rows.outside, *box.rows.through, *box.rows.tile)
    if box.rows.column is None:
        across = (*box.rows.outside, box.rows.row, *box.rows.through)
    along = (*box.rows.outside, *box.rows.through)
    wanted = (
        (pieces.before, across, given),
        (pieces.full, along, given),
        (pieces.after, across, given),
        (None if always else pieces.otherwise, across, context),
    )
    index = first_index
    parts: list[GeneratedLoops | None] = []
    for points, order, facts in wanted:
        if points is None or points.intersect_params(facts).is_empty():
            parts.append(None)
            continue
        times = affine_map(each.statement, tuple(each.rows[level] for level in order))
        part = replace(inside, times=times.intersect_domain(inside.times.intersect_range(points).domain()))
        generated = generate_loops((part,), symbols, index, facts)
        index = generated.next_index
        parts.append(generated)
    before, through, after, otherwise = parts
    if through is None:
        return None
    return RegisterLoops(
        None if test is None else symbol_reader(symbols).condition(test), before, through, after, otherwise
    )


def panel_loops(
    code: BandCode,
    each: StatementSchedule,
    box: RegisterBox,
    constraints: TileConstraints,
    known: KnownFacts,
    first_index: int,
    taken: frozenset[str],
    least: int,
) -> PanelVariants | None:
    """The panel that tiles below each other share: the box's columns at the through row's values.

    Arguments as for `register_tile_loops`; a padded panel has `least` columns or more, none for 0.
    None where the panel has no simple form. Raises OperationLimitError.
    """
    (inside,) = code.inside((each,), constraints)
    (_, column), (through,) = box.rows.tile, box.rows.through
    symbols = _with_origins(code.symbols(constraints, taken), box)
    with operation_limit(code.scop.context, DEFAULT_LIMIT, "finding what a panel holds"):
        context = code.facts(constraints, known)
        domain = inside.times.intersect_domain(inside.statement.domain).range()
        whole = _columns(domain, box)
        points = domain.intersect(whole)
        full = _simple_condition(_full_columns(points, whole, box), context)
        if full is None:
            return None
        rest = context.subtract(full)
        padded = _simple_condition(_alike_columns(points, box, least), rest) if least else None
        left = rest if padded is None else rest.subtract(padded)
    narrow = replace(inside, times=inside.times.intersect_range(points))

    def panel(condition: isl.Set, facts: isl.Set, *, padded: bool) -> PanelLoops | None:
        given = facts.intersect(condition)
        through_range = row_range((narrow,), through, symbols, given)
        last = row_range((narrow,), column, symbols, given) if padded else None
        if through_range is None or (padded and last is None):
            return None
        with operation_limit(code.scop.context, DEFAULT_LIMIT, "finding what a panel holds"):
            always = facts.is_subset(condition)
            test = None if always else isl.AstBuild.from_context(context).expr_from_set(condition.gist(context))
        told = None if test is None else symbol_reader(symbols).condition(test)
        within = KnownFacts(given if given.n_basic_set() == 1 else known.facts.intersect(condition))
        return PanelLoops(told, through_range.lower, through_range.upper, within, None if last is None else last.upper)

    first = panel(full, context, padded=False)
    if first is None:
        return None
    second = None if padded is None or rest.is_empty() else panel(padded, rest, padded=True)
    left = rest if second is None else left
    otherwise = None
    if not points.intersect_params(left).is_empty():
        across = (*box.rows.outside, box.rows.row, *box.rows.through, column)
        times = affine_map(each.statement, tuple(each.rows[level] for level in across))
        remaining = replace(inside, times=times.intersect_domain(narrow.times.domain()))
        otherwise = generate_loops((remaining,), symbols, first_index, context)
    return PanelVariants(first, second, otherwise)


def _full_columns(points: isl.Set, whole: isl.Set, box: RegisterBox) -> isl.Set:
    """[p] -> { : all columns of the panel have the through values that some column has }"""
    (row, column) = box.rows.tile
    used = points.project_out(isl.dim_type.set, row, 1)
    every = _without(points, (row, column))
    needed = _with(every, (row, column)).intersect(whole).project_out(isl.dim_type.set, row, 1)
    return every.params().subtract(needed.subtract(used).params())


def _alike_columns(points: isl.Set, box: RegisterBox, least: int) -> isl.Set:
    """[p] -> { : `least` columns exist, and all columns have the same rows and through values }"""
    _, column = box.rows.tile
    others = tuple(level for level in range(points.dim(isl.dim_type.set)) if level != column)
    alike = _with(_without(points, others), others).intersect(_with(_without(points, (column,)), (column,)))
    there = points.params()
    for count in {1, least}:
        # Whether the last of `count` columns exists.
        before = points.intersect(_columns(points, replace(box, extents=(box.extents[0], count - 1))))
        there = there.intersect(
            points.intersect(_columns(points, replace(box, extents=(box.extents[0], count)))).subtract(before).params()
        )
    return there.subtract(alike.subtract(points).params())


def _simple_condition(condition: isl.Set, context: isl.Set) -> isl.Set | None:
    """The condition as one convex set without existential integers, in that context; else None."""
    wanted = _joined(condition)
    if wanted.is_empty() or wanted.n_basic_set() != 1:
        return None
    return _in_parameters(wanted, context)


def _with_origins(symbols: Symbols, box: RegisterBox) -> Symbols:
    """The symbols with the box's origins."""
    return Symbols({**symbols.parameters, **dict(zip(_ORIGINS, box.origins, strict=False))}, symbols.taken)


def _within(like: isl.Set, limits: Iterable[tuple[str, int, int]]) -> isl.Set:
    """[o, ...] -> { [t] : o <= t_l < o + s, ... } for (o, l, s) of the limits, in such a space."""
    names = [f"t{place}" for place in range(like.dim(isl.dim_type.set))]
    triples = tuple(limits)
    origins = ", ".join(origin for origin, _, _ in triples)
    conditions = " and ".join(f"{origin} <= t{level} < {origin} + {extent}" for origin, level, extent in triples)
    return isl.Set(f"[{origins}] -> {{ [{', '.join(names)}] : {conditions} }}", context=like.get_ctx())


def _elements(inside: ScheduledStatement, array: str) -> _Elements:
    references = [reference for reference in inside.statement.references if reference.object.name == array]
    target = next(reference for reference in references if reference.writes)
    by_time = inside.times.intersect_domain(inside.statement.domain).reverse()
    others = [reference for reference in references if not reference.relation.is_equal(target.relation)]
    return _Elements(
        by_time.apply_range(target.relation), tuple(by_time.apply_range(reference.relation) for reference in others)
    )


@dataclass(frozen=True)
class _Elements:
    """{ [t] -> X[x] }: the updated element, and the array's other elements that S reads."""

    updated: isl.Map
    others: tuple[isl.Map, ...]

    def clash(self, points: isl.Set) -> isl.Set:
        """[p] -> { : some points update an element that some points read as another one }"""
        updated = points.apply(self.updated)
        clashes = isl.Set.empty(points.params().get_space())
        for reads in self.others:
            clashes = clashes.union(updated.intersect(points.apply(reads)).params())
        return clashes


def _pieces(inside: ScheduledStatement, box: RegisterBox, elements: _Elements, context: isl.Set) -> _Pieces | None:
    domain = inside.times.intersect_domain(inside.statement.domain).range()
    whole = _box(domain, box)
    points = domain.intersect(whole)
    levels = box.rows.tile
    every = _without(points, levels)
    there = _box(domain, replace(box, extents=(box.extents[0], 1))) if box.padded else whole
    missed = _without(_with(every, levels).intersect(there).subtract(points), levels)
    full = _joined(every.subtract(missed))
    if full.is_empty() or full.n_basic_set() != 1:
        return None
    through = _with(full, levels).intersect(whole)
    wanted = _joined(full.params().subtract(elements.clash(through)))
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
    first = _with(full, levels).intersect(_box(domain, replace(box, extents=(1,) * len(levels))))
    return _Pieces(
        condition,
        _with(before, levels).intersect(points),
        first,
        _with(after, levels).intersect(points),
        points,
    )


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


def _columns(like: isl.Set, box: RegisterBox) -> isl.Set:
    """[c_0] -> { [t] : c_0 <= t_c < c_0 + C }"""
    return _within(like, box.limits[1:])


def _box(like: isl.Set, box: RegisterBox) -> isl.Set:
    """[r_0, c_0] -> { [t] : r_0 <= t_r < r_0 + R and c_0 <= t_c < c_0 + C }"""
    return _within(like, box.limits)
