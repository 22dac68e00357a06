"""Default tile sizes: what plans take where neither the user, nor the model, nor a measurement says
more. First the numbers, then which row of which nest gets which.

Each constant stands with what was measured. docs/MODEL.md lists them; a test compares.
"""

from __future__ import annotations

from tilepragma.ir.directives import VectorRegisters
from tilepragma.ir.types import ScalarType
from tilepragma.lower.band_loops import PlannedBand
from tilepragma.poly.bands import Band

DEGREE = 4
"""The default number of time steps of a launch."""

JAMMED_ROWS = 4
"""Jammed rows. 4 were the fastest of 2, 4, 8 and 16 for PolyBench's adi in float and double, three
times as fast as 1; from 8 on, rows a power of two apart evict each other from the first cache.
"""

STRIP = 32
"""Iterations of a strip: rows of a few thousand columns then stay in the shared cache."""

SHORT_BLOCK, BLOCK, LONG_BLOCK = 32, 128, 512
"""Values of a row that one thread takes at a time. SHORT_BLOCK: a row across memory. BLOCK: a row
along memory whose other loops reuse its elements, which should stay in the cache. LONG_BLOCK: a row
along memory that streams.
"""
ALONG_UNIT = 16
"""Blocks of a row along memory are a multiple of this, at least a cache line."""

MOST_ROWS, COLUMN_VECTORS, LEAST_COLUMNS = 8, 2, 24
"""Extents of a register tile: 8 rows, or fewer if registers run out, by 2 vectors or at least 24
elements. (gcc unrolls loops over 16 or fewer before it vectorises, and then does not vectorise.) On
AVX-512, 8 x 2 vectors were the fastest of 2 to 14 rows by 16 to 64 columns; on AVX2, 4 x 24 floats
and 2 x 24 doubles, whose sums fill 12 of 16 registers (8 rows spill, and take 2.5 times as long).
"""
BLOCK_ROWS, BLOCK_COLUMNS = 96, 4
"""Rows of a thread's block (a multiple of any tile's), and tiles side by side in it. A panel as
wide as a tile is packed once and stays in the cache for all tiles below each other. 48 rows take
1.03 to 1.14 times as long for 500 to 1500 a side; 240 take 0.93 to 1, but give fewer threads work.
"""
THROUGH_TILE = 256
"""Values of the reduction row of a register tile: a panel's rows then fit a cache of 1 MiB."""
WIDE_BITS, LEAST_NARROW = 256, 12
"""Left-over columns form a tile of narrower vectors from this many columns on. On AVX2 products of
100 doubles take 0.93 of the time of plain loops, of 512 0.77; of 100 and 512 floats 0.78 and 0.66.
On SSE2, whose tiles have one or two rows, the 4 left of 100 took 1.15 to 1.2 times as long, the 16
of 1000 and 1024 0.98 to 1.01.
"""
ALONE_THROUGH = 8192
"""THROUGH_TILE for tiles of rows alone: the vector that all rows read stays in the second-level
cache.
"""
ALONE_ROWS, ALONE_BLOCK_ROWS = 8, 32
"""Parallel sums in a tile of rows alone, and rows in a thread's block: few, to keep threads busy.
"""
OUTSIDE_ROWS = 4
"""Values of a row outside the tiles that one thread takes at a time: products of a few rows each,
one of which is little work. 4 take 0.93 of the time of 1 if each is 40 rows by 40 columns.
"""

HOST_TILE, LONG_HOST_TILE, CHAINED_HOST_TILE = 32, 128, 8
"""Tile extents in wavefronts on cores. The long one is for a row along vectors. A row whose
iterations wait for each other has short tiles, so that a processor can overlap them: Gauss-Seidel
with 8 takes 0.6 of the time with 32.
"""
DEVICE_TILE, LONG_DEVICE_TILE = 16, 32
"""The same on devices."""
DEVICE_RELAXATION_TILES = {2: (32, 64, 64), 3: (8, 16, 32), 4: (2, 8, 32)}
"""The same where points wait for each other, by the number of tiled rows: time steps, other rows,
the row that workers walk along, a point in each front. A long one has few fronts in which workers
wait. Instructions in GPGPU-Sim for a point of seidel-2d, 128 a side, 10 sweeps, tiles of 16 each
261, of 8 x 16 x 16 269, of 8 x 16 x 32 172, of 8 x 16 x 64 137; the last have half as many columns.
"""
FLAT_HOST_TILE, LONG_CHAINED_HOST_TILE = 128, 512
"""Tiles of two rows, where a short chain would be too little work for a tile. 6000 x 7000 cells of
smith_waterman cost one core as much as the loops as written, and with 64 x 256 a quarter more.
Threads wait for each other half as often (0.7 of the time on two busy cores).
"""
FLAT_REGISTER_TILE, LONG_REGISTER_TILE = 64, 256
"""The same with sums in registers, which hide a row's start: trisolv takes 1.1 times as long with
128 x 512.
"""
RELAXATION_TILES = {2: (256, HOST_TILE, HOST_TILE), 3: (2, HOST_TILE, HOST_TILE), 4: (1, 8, 8)}
"""Tiles of time steps over a grid whose points wait for each other, by the number of tiled rows:
time steps, the next row, other rows before the chain. Cores share the tiles of a wavefront, as many
as there are tiles of time. With 8 steps a tile, 6 to 20 sweeps over a plane took 1.2 to 1.9 times
as long as with 1. 2 take 0.93 to 1.02 of the time of 1 for 6 to 100 sweeps over 200 to 4000 points
a side; launches take 1 if that keeps more threads busy (balanced chunking). In space 8 x 8 take
0.87 to 0.93 of the time of 8 x 16, floats and doubles, 64 to 300 points a side (two cores).
"""
LINE_CHAIN, SHORT_CHAIN, FEW_READS = 16, 4, 6
"""The chain of such tiles along a line. It is short if a point reads more than a few elements, so
that fewer points fill a processor: seidel-2d takes 0.85 of the time with 8.
"""
PROCESSOR_LINE_CHAIN = ((2**16, 64), (2**18, 256), (None, 4096))
PROCESSOR_PLANE_STEPS, PROCESSOR_PLANE_ROWS = ((2**23, 2), (None, 1)), ((None, 64),)
"""OpenCL processors: the chain of such tiles along a line, by the bytes of all arrays; time steps
and rows over a plane. Planes of 1500 and 2500 points a side take 1.08 and 1.2 times as long with 2
steps as with 1, of 400 and 900 0.88 and 0.93.
"""
TALL_HOST_TILE, NARROW_HOST_TILE = 256, 64
"""Tiles of two rows without a chain: across and along vectors. gcc vectorises only tiles that do
not contain what they read of the written row, so tiles are narrow; they are tall, since few tiles
have few wavefronts. floyd-warshall takes 0.8 of the time with 32 x 128.
"""
REGISTER_TILE, REGISTER_COLUMNS_TILE = 32, 96
"""Tiles around register tiles, and their columns, a multiple for each type: lu takes 0.4 of the
time without, cholesky 0.35.
"""
HOST_STEPS = 8
"""Time steps of a tile that reuse its elements; with more, a few steps would be one wavefront's
tile.
"""
USUAL_SKEW = 2
"""Points that a row moves in a time step, up to which tiles have all their steps; jacobi-2d has 2.
"""
STENCIL_TILES: dict[int, tuple[int, tuple[int, ...], int]] = {
    2: (64, (), 2048),
    3: (HOST_STEPS, (64,), 256),
    4: (3, (8, 4), 1024),
}
"""Tile extents by the number of tiled rows: time steps, other rows, the row along vectors. Of the
tiles whose elements stay in 1 MiB of cache, these were the fastest for jacobi-1d, jacobi-2d,
fdtd-2d and heat-3d. Whole rows in space are best: 1024 instead of 256 takes 0.9 of the time at 120
to 400 points a side, where the latter cuts every row. In space with 7 and 27 points, 100 to 256 a
side, 3 steps of 8 x 4 take 1.04 times the best of nine layouts on average and 1.2 at most, 4 steps
of 8 x 8 1.14 and 1.5.
"""
DIAMOND_TILES = {2: (2048, 2048, 2048), 3: (24, 24, 112), 4: (32, 16, 256)}
"""The same for diamond tiles: either row of the pair (a tile spans 2 / c times as many time steps),
other rows, the row along vectors. In the plane 32 and 128 take 0.95 to 1.1 times as long for
Jacobi, heat and FDTD, in floats and doubles, 800 to 4000 points a side; 64 and 256 take longer.
"""


def device_tile(planned: PlannedBand, level: int) -> int:
    """The tile extent of a row in wavefronts on devices."""
    points, levels = planned.points, planned.part.carrying
    if not planned.pair and points.chained is not None and points.repeating not in (None, points.chained):
        steps, others, chain = DEVICE_RELAXATION_TILES[min(len(levels), max(DEVICE_RELAXATION_TILES))]
        return steps if level == points.repeating else chain if level == levels[-1] else others
    return LONG_DEVICE_TILE if level == planned.points.along else DEVICE_TILE


def host_tile(planned: PlannedBand, level: int) -> int:
    """The tile extent of a row in wavefronts on cores."""
    points, rows = planned.points, len(planned.part.carrying)
    if planned.pair:
        return _diamond_tile(planned, level)
    if points.chained is not None and points.repeating not in (None, points.chained):
        return _relaxation_tile(planned, level)
    if points.chained is not None and rows == 2:
        if planned.registers:
            return LONG_REGISTER_TILE if level == points.chained else FLAT_REGISTER_TILE
        return LONG_CHAINED_HOST_TILE if level == points.chained else FLAT_HOST_TILE
    if planned.registers:
        columns = {each.column for each in planned.registers.values()}
        return REGISTER_COLUMNS_TILE if level in columns else REGISTER_TILE
    if level == points.chained:
        return CHAINED_HOST_TILE
    if rows == 2 and points.repeating is None and points.along is not None:
        return NARROW_HOST_TILE if level == points.along else TALL_HOST_TILE
    if points.repeating in (None, points.along) or points.along is None or rows < min(STENCIL_TILES):
        return LONG_HOST_TILE if level == points.along else HOST_STEPS if level == points.repeating else HOST_TILE
    steps, others, along = STENCIL_TILES[min(rows, max(STENCIL_TILES))]
    if level == points.repeating:
        return max(1, steps * USUAL_SKEW // max(USUAL_SKEW, _skew(planned, level)))
    if level == points.along:
        return along
    between = [level for level in planned.part.carrying if level not in (points.repeating, points.along)]
    return others[min(between.index(level), len(others) - 1)]


def _relaxation_tile(planned: PlannedBand, level: int) -> int:
    """The tile extent in time steps over a grid whose points wait for each other."""
    points, levels = planned.points, planned.part.carrying
    steps, following, others = RELAXATION_TILES[min(len(levels), max(RELAXATION_TILES))]
    if level == points.chained and len(levels) == min(RELAXATION_TILES):
        return LINE_CHAIN
    if level == points.chained:
        return CHAINED_HOST_TILE if _reads_little(planned) else SHORT_CHAIN
    if level == points.repeating:
        return steps
    return following if level == next(each for each in levels if each != points.repeating) else others


def _reads_little(planned: PlannedBand) -> bool:
    """Whether every point reads at most a few elements."""
    return max(each.statement.elements_read for each in planned.part.statements) <= FEW_READS


def processor_tile(planned: PlannedBand, level: int) -> tuple[tuple[int | None, int], ...]:
    """The extents for OpenCL processors instead of the host's (TileSize)."""
    points, levels = planned.points, planned.part.carrying
    if planned.pair or points.chained is None or points.repeating in (None, points.chained):
        return ()
    if len(levels) == 2:
        return PROCESSOR_LINE_CHAIN if level == points.chained else ()
    if len(levels) == 3 and level != points.chained and _reads_little(planned):
        return PROCESSOR_PLANE_STEPS if level == points.repeating else PROCESSOR_PLANE_ROWS
    return ()


def _diamond_tile(planned: PlannedBand, level: int) -> int:
    """The tile extent of a diamond pair, or of the rows inside its tiles."""
    pair, others, along = DIAMOND_TILES[min(len(planned.part.carrying), max(DIAMOND_TILES))]
    if level in planned.pair:
        return pair
    return along if level == planned.points.along else others


def _skew(planned: PlannedBand, level: int) -> int:
    """The shift of the tile's other rows in one step of this row: fast shifts reuse little."""
    pairs = (
        (each.rows[level].coefficients, each.rows[row].coefficients)
        for each in planned.part.statements
        for row in planned.part.carrying
        if row != level
    )
    return max(abs(sum(step * factor for step, factor in zip(*pair, strict=True))) for pair in pairs)


def block_extent(part: Band, level: int, along: int | None) -> tuple[int, int]:
    """Values of the row at `level` that one thread takes at a time, and their unit."""
    if level != along:
        return SHORT_BLOCK, 1
    deepest = max(each.statement.depth for each in part.statements)
    return (BLOCK if deepest > 2 else LONG_BLOCK), ALONG_UNIT


def tile_extents(element: ScalarType, vectors: VectorRegisters) -> tuple[int, int]:
    """Rows (a power of two) and columns of a register tile of these elements."""
    columns = max(LEAST_COLUMNS, COLUMN_VECTORS * vectors.bits // element.bits)
    held = vectors.accumulators() * vectors.bits // (columns * element.bits)
    return min(MOST_ROWS, 1 << max(held.bit_length() - 1, 0)), columns
