"""Strip-mining of bands: bands that can alternate on strips of what they stream, to read it once.

P(i); then Q(j), both reading { A[a] : i = r } and { A[a] : j = r } for each r, and Q(r) waiting for
no P(r') of r' > r
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.bands import Band, BandKind, OuterLoop, registers_of
from tilepragma.poly.intra_tile_schedule import by_strides
from tilepragma.poly.program_model import ProgramDependence
from tilepragma.poly.schedule import affine_map

Streams = Mapping[str, isl.Map]


@dataclass(frozen=True)
class BandStrip:
    """The member of a band at `level` for strips; `distributed`: threads share this member."""

    part: Band
    level: int
    distributed: bool


def band_strips_of(
    parts: Sequence[Band | OuterLoop], dependences: Iterable[ProgramDependence]
) -> tuple[BandStrip, ...]:
    """The strip members of the leading parts that can alternate on strips, some distributed to
    threads; empty for fewer than two parts.
    """
    if not parts:
        return ()
    chains = (_chain(first, streams, parts[1:], tuple(dependences)) for first, streams in _ways(parts[0]))
    good = (chain for chain in chains if len(chain) > 1 and any(row.distributed for row in chain))
    return max(good, key=len, default=())


def _chain(
    first: BandStrip, shared: Streams, parts: Iterable[Band | OuterLoop], dependences: tuple[ProgramDependence, ...]
) -> tuple[BandStrip, ...]:
    """The first member, and those of later parts that stream the same, `shared` by all."""
    chain = [first]
    for part in parts:
        for row, streams in _ways(part):
            same = {
                name: relation
                for name, relation in streams.items()
                if name in shared and shared[name].is_equal(relation)
            }
            if same and all(_waits_for_earlier(dependences, earlier, row) for earlier in chain):
                shared = same
                chain.append(row)
                break
        else:
            break
    return tuple(chain)


def _ways(part: Band | OuterLoop) -> Iterator[tuple[BandStrip, Streams]]:
    """The part's members for strips, with what it streams along them, the distributed one first.

    Register tiles of planes reuse their reads themselves; tiles of rows must be of the distributed
    member.
    """
    if not isinstance(part, Band) or part.kind is not BandKind.DOALL or part.outer or not part.parallel:
        return
    distributed = by_strides(part, part.parallel)[0]
    registers = registers_of(part, distributed)
    if registers is not None and registers.tile != (distributed,):
        return
    for level in sorted(part.band, key=lambda level: level != distributed):
        streams = _streams(part, level)
        if streams and (registers is None or level == distributed):
            yield BandStrip(part, level, level == distributed), streams


def _streams(part: Band, level: int) -> Streams:
    """{ [phi(i)] -> A[a] }: arrays read once by element, where each value reads many neighbours."""
    streams: dict[str, isl.Map] = {}
    deepest = max(each.statement.depth for each in part.statements)
    for each in part.statements:
        if each.statement.depth < max(deepest, 2):
            continue
        values = affine_map(each.statement, each.rows[level : level + 1])
        for access in each.statement.accesses:
            relation = access.relation.intersect_domain(each.statement.domain)
            if access.write or not access.exact or not relation.is_injective():
                continue
            along = relation.apply_domain(values)
            if not along.is_injective() or along.is_single_valued() or _is_across(along):
                continue
            streams.setdefault(access.array, along)
    return streams


def _is_across(along: isl.Map) -> bool:
    """Whether each value reads its own columns, { [r] -> A[..., c] : c = f(r) }."""
    rank = along.dim(isl.dim_type.out)
    return bool(along.project_out(isl.dim_type.out, 0, rank - 1).is_injective())


def _waits_for_earlier(dependences: Iterable[ProgramDependence], first: BandStrip, second: BandStrip) -> bool:
    """Whether { s -> t in P_e : phi_T(t) < phi_S(s) } is empty for the dependences between."""
    sources, targets = (
        {
            each.statement.name: affine_map(each.statement, each.rows[row.level : row.level + 1])
            for each in row.part.statements
        }
        for row in (first, second)
    )
    for each in dependences:
        if each.source in sources and each.target in targets:
            later = sources[each.source].lex_gt_map(targets[each.target])
            if not each.relation.intersect(later).is_empty():
                return False
    return True
