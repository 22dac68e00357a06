"""Tile-level fusion: which parts run in sequence inside each block of distributed rows, in one
launch.

P(i); then Q(j), Q(j) waiting for P(i) where phi_Q(j) = phi_P(i) alone: { s -> t in P_e : phi_T(t)
!= phi_S(s) } is empty
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.bands import Band, BandKind, OuterLoop, registers_of
from tilepragma.poly.intra_tile_schedule import by_strides
from tilepragma.poly.program_model import ProgramDependence
from tilepragma.poly.schedule import affine_map


@dataclass(frozen=True)
class MappedBand:
    """A part and the level of its row that threads get in blocks."""

    part: Band
    level: int

    @property
    def depth(self) -> int:
        """The depth of its deepest statement."""
        return max(each.statement.depth for each in self.part.statements)


def fusible_bands(
    parts: Sequence[Band | OuterLoop], dependences: Iterable[ProgramDependence]
) -> tuple[MappedBand, ...]:
    """The leading parts that can share the first one's blocks; empty for fewer than two.

    One part does most of the work. The others, with fewer loops, set its elements or pass them on:
    as separate launches they would move through memory what the part has in the cache, with one
    more barrier. A part that uses nothing of earlier ones stays apart.
    """
    every = tuple(dependences)
    fused: list[MappedBand] = []
    for part in parts:
        band = _distributed(part)
        if band is None or (fused and not _goes_with(fused, band, every)):
            break
        fused.append(band)
    return tuple(fused) if len(fused) > 1 else ()


def _distributed(part: Band | OuterLoop) -> MappedBand | None:
    if not isinstance(part, Band) or part.kind is not BandKind.DOALL or not part.parallel:
        return None
    return MappedBand(part, by_strides(part, part.parallel)[0])


def _goes_with(fused: Sequence[MappedBand], band: MappedBand, dependences: tuple[ProgramDependence, ...]) -> bool:
    most = max(each.depth for each in fused)
    if band.depth == most or (band.depth > most and any(map(_has_registers, fused))):
        return False
    if band.part.outer != fused[0].part.outer or (band.depth < most and _has_registers(band)):
        return False
    ties = [_ties(each, band, dependences) for each in fused]
    return any(ties) and None not in ties


def _has_registers(band: MappedBand) -> bool:
    return registers_of(band.part, band.level) is not None


def _ties(before: MappedBand, after: MappedBand, dependences: tuple[ProgramDependence, ...]) -> bool | None:
    """Whether the later part waits for the earlier one in each block; None across blocks."""
    waits = False
    outer = tuple(range(before.part.outer))
    sources, targets = ((_maps(band, outer), _maps(band, (band.level,))) for band in (before, after))
    for each in dependences:
        if each.source not in sources[0] or each.target not in targets[0]:
            continue
        around, row = (
            source[each.source].apply_range(target[each.target].reverse())
            for source, target in zip(sources, targets, strict=True)
        )
        relation = each.relation.intersect(around)
        if not relation.is_subset(row):
            return None
        waits = waits or not relation.is_empty()
    return waits


def _maps(band: MappedBand, levels: tuple[int, ...]) -> dict[str, isl.Map]:
    """{ S[i] -> [phi(i)] } for the rows at these levels, by statement name."""
    return {
        each.statement.name: affine_map(each.statement, tuple(each.rows[level] for level in levels))
        for each in band.part.statements
    }
