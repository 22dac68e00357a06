"""The orders that bands of wavefronts stand for, as isl maps, for tests of the engine's results."""

from __future__ import annotations

import islpy as isl

from tilepragma.poly.schedule import Matrix, Row, Schedule, StatementSchedule, affine_map, row_text, unit
from tilepragma.poly.wavefronts import BandWavefronts


def of(schedule: Schedule, name: str) -> StatementSchedule:
    """The schedule of this statement."""
    return next(each for each in schedule if each.statement.name == name)


def wavefront_matrix(rows: int, carrying: tuple[int, ...] | None = None) -> Matrix:
    """Theta of (3.17): the sum of the `carrying` rows (from 0; None: all), then the other rows.

    The sum replaces the unit row of the first carrying row. Without carrying rows, the identity.
    """
    summed = tuple(range(rows)) if carrying is None else carrying
    if not summed:
        return tuple(unit(rows, index) for index in range(rows))
    first = tuple(int(index in summed) for index in range(rows))
    return (first, *(unit(rows, index) for index in range(rows) if index != summed[0]))


def matrices(band: BandWavefronts) -> tuple[Matrix, Matrix]:
    """Theta_T and Theta_S of a band."""
    inter, intra = (wavefront_matrix(len(band.levels), summed) for summed in (band.carrying, band.summed))
    return inter, intra


def loop_rows(each: StatementSchedule) -> tuple[Row, ...]:
    """The rows that are loops."""
    return tuple(row for row in each.rows if not row.scalar)


def matrix(each: StatementSchedule) -> Matrix:
    """The linear part of Phi_S without scalar dimensions, as the thesis prints it."""
    return tuple(row.coefficients for row in loop_rows(each))


def offsets(each: StatementSchedule) -> tuple[int, ...]:
    """The constant part of Phi_S without scalar dimensions."""
    return tuple(row.constant for row in loop_rows(each))


def shown(each: StatementSchedule) -> tuple[str, ...]:
    """Each row in the statement's iterators: ("0", "i", "1", "2*j + i")."""
    return tuple(row_text(row, each.statement.iterators) for row in each.rows)


def levels_map(statement: StatementSchedule, levels: tuple[int, ...]) -> isl.Map:
    """{ S[i] -> [rows at these levels] }"""
    return affine_map(statement.statement, tuple(statement.rows[level] for level in levels))


def tiling_map(statement: StatementSchedule, levels: tuple[int, ...], sizes: tuple[int, ...]) -> isl.Map:
    """Gamma_S = { S[i] -> [floor(Phi_S(i) / s), Phi_S(i)] } of (3.14) for a band's members."""
    points = levels_map(statement, levels)
    return _floors(points, sizes).flat_range_product(points)


def two_level_map(statement: StatementSchedule, band: BandWavefronts, sizes: tuple[int, ...]) -> isl.Map:
    """Gamma'_S = { S[i] -> [Theta_T t, Theta_S e] } of (3.19), at these tile sizes."""
    points = levels_map(statement, band.levels)
    tiles = _floors(points, sizes)
    inter, intra = matrices(band)
    return tiles.apply_range(_linear(tiles, inter)).flat_range_product(points.apply_range(_linear(points, intra)))


def execution_map(statement: StatementSchedule, band: BandWavefronts, sizes: tuple[int, ...]) -> isl.Map:
    """{ S[i] -> [rows before the band, t'_1, ..., t'_m, e'_1, place in `order`, e'_2, ..., e'_m,
    rows after] }. The sequential order of all instances, with parallel rows one by one.
    """
    depth = statement.statement.depth
    group = next(index for index, names in enumerate(band.order) if statement.statement.name in names)
    place = affine_map(statement.statement, (Row((0,) * depth, group, None),))
    two_level = two_level_map(statement, band, sizes)
    count = len(band.levels)
    upper = two_level.project_out(isl.dim_type.out, count + 1, count - 1)
    lower = two_level.project_out(isl.dim_type.out, 0, count + 1)
    before = levels_map(statement, tuple(range(band.levels[0])))
    after = levels_map(statement, tuple(range(band.levels[-1] + 1, len(statement.rows))))
    result = before
    for part in (upper, place, lower, after):
        result = result.flat_range_product(part)
    return result


def _floors(points: isl.Map, sizes: tuple[int, ...]) -> isl.Map:
    """{ S[i] -> [floor(e_k / s_k)] } of { S[i] -> [e] }."""
    space = points.get_space().range()
    local = isl.LocalSpace.from_space(space)
    affs = isl.AffList.alloc(points.get_ctx(), len(sizes))
    for index, size in enumerate(sizes):
        coordinate = isl.Aff.var_on_domain(local, isl.dim_type.set, index)
        affs = affs.add(coordinate.scale_down_val(isl.Val(size, context=points.get_ctx())).floor())
    return points.apply_range(_from_affs(space, affs, len(sizes)))


def _linear(points: isl.Map, matrix: Matrix) -> isl.Map:
    """{ [x] -> [matrix x] } on the range of a map."""
    space = points.get_space().range()
    local = isl.LocalSpace.from_space(space)
    affs = isl.AffList.alloc(points.get_ctx(), len(matrix))
    for row in matrix:
        aff = isl.Aff.zero_on_domain(local)
        for index, factor in enumerate(row):
            aff = aff.set_coefficient_val(isl.dim_type.in_, index, factor)
        affs = affs.add(aff)
    return _from_affs(space, affs, len(matrix))


def _from_affs(space: isl.Space, affs: isl.AffList, count: int) -> isl.Map:
    target = space.params().add_unnamed_tuple_ui(count)
    return isl.Map.from_multi_aff(isl.MultiAff.from_aff_list(space.map_from_domain_and_range(target), affs))
