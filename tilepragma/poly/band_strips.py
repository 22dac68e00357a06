"""Which parts can take turns on strips of what they stream through, so that it is read from memory
once.

P(i);  then Q(j), both reading { A[a] : i = r } and { A[a] : j = r } for each r, and Q(r) waiting for no P(r') of r' > r
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.bands import BandKind, OuterLoop, Part, registers_of
from tilepragma.poly.intra_tile_schedule import by_strides
from tilepragma.poly.program_model import Dependence
from tilepragma.poly.schedule import affine_map

Streams = Mapping[str, isl.Map]


@dataclass(frozen=True)
class BandStrip:
    """The row of a part at `level`, which strips are made of; `dealt`: it is the one that is dealt to threads."""

    part: Part
    level: int
    dealt: bool


def rows_in_strips(parts: Sequence[Part | OuterLoop], dependences: Iterable[Dependence]) -> tuple[BandStrip, ...]:
    """Of the first of the parts, that can take turns on strips: the rows that the strips are made
    of, some of them dealt to threads.

    None where fewer than two parts can.
    """
    if not parts:
        return ()
    found = (_chain(first, streams, parts[1:], tuple(dependences)) for first, streams in _ways(parts[0]))
    good = (chain for chain in found if len(chain) > 1 and any(row.dealt for row in chain))
    return max(good, key=len, default=())


def _chain(
    first: BandStrip, shared: Streams, parts: Iterable[Part | OuterLoop], dependences: tuple[Dependence, ...]
) -> tuple[BandStrip, ...]:
    """The first row and those of the parts after it that stream through the same, which is `shared` by all."""
    chain = [first]
    for part in parts:
        for row, streams in _ways(part):
            same = {name: each for name, each in streams.items() if name in shared and shared[name].is_equal(each)}
            if same and all(_waits_for_earlier(dependences, one, row) for one in chain):
                shared = same
                chain.append(row)
                break
        else:
            break
    return tuple(chain)


def _ways(part: Part | OuterLoop) -> Iterator[tuple[BandStrip, Streams]]:
    """The rows of the part that strips can be made of, with what it streams through along them,
    that which is dealt first.

    Register tiles of planes come back to what they read themselves; those of rows alone must be of
    what is dealt.
    """
    if not isinstance(part, Part) or part.kind is not BandKind.DOALL or part.outer or not part.at_once:
        return
    dealt = by_strides(part, part.at_once)[0]
    registers = registers_of(part, dealt)
    if registers is not None and registers.tile != (dealt,):
        return
    for level in sorted(part.band, key=lambda level: level != dealt):
        streams = _streams(part, level)
        if streams and (registers is None or level == dealt):
            yield BandStrip(part, level, level == dealt), streams


def _streams(part: Part, level: int) -> Streams:
    """{ [phi(i)] -> A[a] }: the arrays of which the part reads each element once, for each value of its row many that lie side by side."""
    found: dict[str, isl.Map] = {}
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
            found.setdefault(access.array, along)
    return found


def _is_across(along: isl.Map) -> bool:
    """Whether each value has columns of its own, { [r] -> A[..., c] : c = f(r) }."""
    rank = along.dim(isl.dim_type.out)
    return bool(along.project_out(isl.dim_type.out, 0, rank - 1).is_injective())


def _waits_for_earlier(dependences: Iterable[Dependence], one: BandStrip, other: BandStrip) -> bool:
    """Whether { s -> t in P_e : phi_T(t) < phi_S(s) } is empty for all that the other part waits for in the one before it."""
    sources, targets = (
        {
            each.statement.name: affine_map(each.statement, each.rows[row.level : row.level + 1])
            for each in row.part.statements
        }
        for row in (one, other)
    )
    for each in dependences:
        if each.source in sources and each.target in targets:
            later = sources[each.source].lex_gt_map(targets[each.target])
            if not each.relation.intersect(later).is_empty():
                return False
    return True
