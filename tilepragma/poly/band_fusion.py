"""Fusion of bands: which bands run together in one launch.

In blocks of distributed rows, one after the other inside each block:

    P(i); then Q(j), Q(j) waiting for P(i) where phi_Q(j) = phi_P(i) alone:
    { s -> t in P_e : phi_T(t) != phi_S(s) } is empty

In strips of what they stream, alternately, to read it once:

    P(i); then Q(j), both reading { A[a] : i = r } and { A[a] : j = r } for each r, and Q(r) waiting
    for no P(r') of r' > r
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject
from tilepragma.poly.bands import Band, BandKind, OuterLoop, registers_of
from tilepragma.poly.dependences import Dependence, Dependences
from tilepragma.poly.intra_tile_schedule import by_strides
from tilepragma.poly.schedule import affine_map, equal_images, images
from tilepragma.poly.scop import AccessKind, ScopStatement, place_of

Streams = Mapping[str, isl.Map]


@dataclass(frozen=True)
class MappedBand:
    """A part and the level of its row for blocks or strips; `distributed`: to threads."""

    part: Band
    level: int
    distributed: bool = True

    @property
    def depth(self) -> int:
        """The depth of its deepest statement."""
        return max(each.statement.depth for each in self.part.statements)


def fusible_bands(parts: Sequence[Band | OuterLoop], dependences: Iterable[Dependence]) -> tuple[MappedBand, ...]:
    """The leading parts that can share the first one's blocks; empty for fewer than two.

    One part does most of the work. The others, with fewer loops, set its elements or pass them on:
    as separate launches they would move through memory what the part has in the cache, with one
    more barrier. A part that uses nothing of earlier ones stays apart.
    """
    every = tuple(dependences)
    fused: list[MappedBand] = []
    for part in parts:
        if not isinstance(part, Band) or part.kind is not BandKind.DOALL or not part.parallel:
            break
        band = MappedBand(part, by_strides(part, part.parallel)[0])
        if fused and not _goes_with(fused, band, every):
            break
        fused.append(band)
    return tuple(fused) if len(fused) > 1 else ()


def _goes_with(fused: Sequence[MappedBand], band: MappedBand, dependences: Dependences) -> bool:
    most = max(each.depth for each in fused)
    if band.depth == most or (band.depth > most and any(map(_has_registers, fused))):
        return False
    if band.part.outer != fused[0].part.outer or (band.depth < most and _has_registers(band)):
        return False
    ties = [_ties(each, band, dependences) for each in fused]
    return any(ties) and None not in ties


def _has_registers(band: MappedBand) -> bool:
    return registers_of(band.part, band.level) is not None


def _ties(before: MappedBand, after: MappedBand, dependences: Dependences) -> bool | None:
    """Whether the later part waits for the earlier one in each block; None across blocks."""
    waits = False
    around, rows = (
        [images(band.part.statements, levels) for band, levels in ((before, of_before), (after, of_after))]
        for of_before, of_after in ((range(before.part.outer),) * 2, ((before.level,), (after.level,)))
    )
    for each in dependences:
        if each.ends[0] not in rows[0] or each.ends[1] not in rows[1]:
            continue
        relation = each.relation.intersect(equal_images(each, *around))
        if not relation.is_subset(equal_images(each, *rows)):
            return None
        waits = waits or not relation.is_empty()
    return waits


def band_strips_of(parts: Sequence[Band | OuterLoop], dependences: Iterable[Dependence]) -> tuple[MappedBand, ...]:
    """The strip members of the leading parts that can alternate on strips, some distributed to
    threads; empty for fewer than two parts.
    """
    if not parts:
        return ()
    chains = (_chain(first, streams, parts[1:], tuple(dependences)) for first, streams in _ways(parts[0]))
    good = (chain for chain in chains if len(chain) > 1 and any(row.distributed for row in chain))
    return max(good, key=len, default=())


def _chain(
    first: MappedBand, shared: Streams, parts: Iterable[Band | OuterLoop], dependences: Dependences
) -> tuple[MappedBand, ...]:
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


def _ways(part: Band | OuterLoop) -> Iterator[tuple[MappedBand, Streams]]:
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
        streams = _streamed(part, level)
        if streams and (registers is None or level == distributed):
            yield MappedBand(part, level, level == distributed), streams


def _streamed(part: Band, level: int) -> Streams:
    """{ [phi(i)] -> A[a] }: arrays read once by element, where each value reads many neighbours."""
    streams: dict[str, isl.Map] = {}
    deepest = max(each.statement.depth for each in part.statements)
    for each in part.statements:
        if each.statement.depth < max(deepest, 2):
            continue
        values = affine_map(each.statement, each.rows[level : level + 1])
        for access in each.statement.references:
            relation = access.relation.intersect_domain(each.statement.domain)
            if access.writes or not access.certain or not relation.is_injective():
                continue
            along = relation.apply_domain(values)
            if not along.is_injective() or along.is_single_valued():
                continue
            # Not where each value reads its own columns, { [r] -> A[..., c] : c = f(r) }.
            if along.project_out(isl.dim_type.out, 0, along.dim(isl.dim_type.out) - 1).is_injective():
                continue
            streams.setdefault(access.object.name, along)
    return streams


def _waits_for_earlier(dependences: Iterable[Dependence], first: MappedBand, second: MappedBand) -> bool:
    """Whether { s -> t in P_e : phi_T(t) < phi_S(s) } is empty for the dependences between."""
    sources, sinks = (images(band.part.statements, (band.level,)) for band in (first, second))
    for each in dependences:
        source, sink = each.ends
        if source in sources and sink in sinks:
            later = sources[source].lex_gt_map(sinks[sink])
            if not each.relation.intersect(later).is_empty():
                return False
    return True


def streams(statements: Iterable[ScopStatement], loop: int) -> dict[DataObject, isl.Map]:
    """{ [o, i] -> A[a] }: the arrays that the deepest statements stream in iteration i of this
    loop, o being the outer loops; by the first of several reads.
    """
    inside = tuple(statements)
    deepest = max((len(each.loops) for each in inside), default=0)
    streamed: dict[DataObject, isl.Map] = {}
    for each in inside:
        place = place_of(loop, each.loops)
        if len(each.loops) < deepest or place is None or place + 1 == deepest:
            continue
        for reference in each.references:
            if reference.kind is AccessKind.READ and reference.exact and reference.relation.is_injective():
                inner = reference.relation.project_out(isl.dim_type.in_, place + 1, deepest - place - 1)
                streamed.setdefault(reference.object, inner.reset_tuple_id(isl.dim_type.in_))
    return streamed


def has_shared(parts: Iterable[dict[DataObject, isl.Map]]) -> bool:
    """Whether all parts stream the same elements of an array in each iteration."""
    first, *others = parts
    return any(
        all(array in streamed and streamed[array].is_equal(relation) for streamed in others)
        for array, relation in first.items()
    )
