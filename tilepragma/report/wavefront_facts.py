"""The two-level wavefronts of thesis (3.17)-(3.19), in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilepragma.polyhedral.nest_analysis import NestAnalysis
    from tilepragma.polyhedral.schedule import Matrix
    from tilepragma.polyhedral.wavefronts import BandWavefronts


def wavefront_rows(
    analysis: NestAnalysis, labels: dict[str, str], named: Mapping[str, int], extents: Sequence[int]
) -> Iterator[tuple[str, str]]:
    """(what runs at once, a sentence) for the two levels of each band; for a band of one row there is one level.

    Where `named`, the parameters' values, say how many there are, tiles of these extents along the rows are counted; of the first
    along every row of a band that has another number of rows.
    """
    for band in analysis.bands:
        rows = ", ".join(f"phi{level + 1}" for level in band.levels)
        some = (
            "" if len(band.statements) == len(labels) else f" of {', '.join(labels[name] for name in band.statements)}"
        )
        if len(band.levels) == 1:
            yield f"{rows}{some}", ("in order" if band.inter_sequential else "all at once") + _order(band, labels)
        else:
            yield f"tiles of {rows}{some}", _inter(band)
            if named:
                whole = tuple(extents) if len(extents) == len(band.levels) else (extents[0],) * len(band.levels)
                yield from _counts(analysis, band, named, whole)
            yield "points of a tile", _intra(band) + _order(band, labels)


def _counts(
    analysis: NestAnalysis, band: BandWavefronts, named: Mapping[str, int], extents: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    from tilepragma.polyhedral.nest_analysis import tile_counts

    found = tile_counts(analysis, band, named.get, extents)
    if found is not None:
        tiles = " × ".join(str(count) for count in found.tiles)
        shape = " × ".join(map(str, extents))
        waves = f"in {found.wavefronts} wavefronts" if found.wavefronts > 1 else "all at once"
        yield "", f"with tiles of {shape}: {tiles} tiles, {waves}"


def _inter(band: BandWavefronts) -> str:
    from tilepragma.polyhedral.nest_analysis import carrying_rows

    carrying = carrying_rows(band)
    if not carrying:
        return "all at once, no synchronisation"
    total = " + ".join(f"t{band.levels[row] + 1}" for row in carrying)
    if len(carrying) == 1:
        others = [f"t{level + 1}" for row, level in enumerate(band.levels) if row != carrying[0]]
        return f"{total} in order; {', '.join(others)} all at once, no synchronisation"
    return f"those of equal {total} at once, Theta = {matrix_text(band.inter)}"


def _intra(band: BandWavefronts) -> str:
    if not band.intra_sequential:
        return "all at once"
    along = " + ".join(f"phi{band.levels[row] + 1}" for row, factor in enumerate(band.intra[0]) if factor)
    return f"those of equal {along} at once{' (balanced)' if band.balanced else ''}"


def _order(band: BandWavefronts, labels: dict[str, str]) -> str:
    """How the statements of one wavefront of points follow each other, | being a barrier."""
    if len(band.order) < 2:
        return ""
    steps = [", ".join(labels[name] for name in group) for group in band.order]
    marks = [" | " if barrier else "; " for barrier in band.barriers[1:]]
    order = steps[0] + "".join(mark + step for mark, step in zip(marks, steps[1:], strict=True))
    return f", then {order}{' with a barrier at |' if any(band.barriers[1:]) else ''}"


def matrix_text(matrix: Matrix) -> str:
    """`(1 1; 0 1)`: a matrix by rows."""
    return f"({'; '.join(' '.join(str(factor) for factor in row) for row in matrix)})"
