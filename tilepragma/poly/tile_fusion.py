"""Which parts run one after another inside each block of rows that is dealt to threads, so that all
of them are one launch.

P(i); then Q(j), Q(j) waiting for P(i) where phi_Q(j) = phi_P(i) alone: { s -> t in P_e : phi_T(t)
!= phi_S(s) } is empty
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.bands import BandKind, OuterLoop, Part, registers_of
from tilepragma.poly.intra_tile_schedule import by_strides
from tilepragma.poly.program_model import Dependence
from tilepragma.poly.schedule import affine_map


@dataclass(frozen=True)
class MappedBand:
    """A part and the level of its row that is dealt to threads in blocks."""

    part: Part
    level: int

    @property
    def depth(self) -> int:
        """The loops around its deepest statement."""
        return max(each.statement.depth for each in self.part.statements)


def parts_in_blocks(parts: Sequence[Part | OuterLoop], dependences: Iterable[Dependence]) -> tuple[MappedBand, ...]:
    """The first of the parts and those after it that can share its blocks; none where these are
    fewer than two.

    One of them does most of the work. The others, which have fewer loops, set its elements or pass
    them on: as launches of their own they would take what it has in the cache through memory again,
    and the threads would meet once more. A part that uses nothing of those before stays apart.
    """
    known = tuple(dependences)
    found: list[MappedBand] = []
    for part in parts:
        one = _dealt(part)
        if one is None or (found and not _goes_with(found, one, known)):
            break
        found.append(one)
    return tuple(found) if len(found) > 1 else ()


def _dealt(part: Part | OuterLoop) -> MappedBand | None:
    if not isinstance(part, Part) or part.kind is not BandKind.DOALL or not part.at_once:
        return None
    return MappedBand(part, by_strides(part, part.at_once)[0])


def _goes_with(found: Sequence[MappedBand], one: MappedBand, dependences: tuple[Dependence, ...]) -> bool:
    most = max(each.depth for each in found)
    if one.depth == most or (one.depth > most and any(map(_has_registers, found))):
        return False
    if one.part.outer != found[0].part.outer or (one.depth < most and _has_registers(one)):
        return False
    ties = [_ties(each, one, dependences) for each in found]
    return any(ties) and None not in ties


def _has_registers(one: MappedBand) -> bool:
    return registers_of(one.part, one.level) is not None


def _ties(before: MappedBand, after: MappedBand, dependences: tuple[Dependence, ...]) -> bool | None:
    """Whether the later part waits for the earlier one, for each value of the outer rows; None where it waits for another block's."""
    waits = False
    outer = tuple(range(before.part.outer))
    sources, targets = ((_maps(one, outer), _maps(one, (one.level,))) for one in (before, after))
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


def _maps(one: MappedBand, levels: tuple[int, ...]) -> dict[str, isl.Map]:
    """By the names of statements, { S[i] -> [phi(i)] } for the rows at these levels."""
    return {
        each.statement.name: affine_map(each.statement, tuple(each.rows[level] for level in levels))
        for each in one.part.statements
    }
