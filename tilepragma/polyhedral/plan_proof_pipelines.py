"""Launches whose wavefronts overlap: iteration c of wavefront w runs when c - 1 and c of wavefront w - 1, and all before these, are done.

    { A[w, c, …] -> B[w', c', …] : A must run first, w < w' }    must have    c <= c' <= c + w' - w

for then what B needs of wavefront w' - 1 is in the two columns that it waits for. (Order within a wavefront, and from one to another that comes
before it, is `plan_proof_order`'s, as of all launches.)
"""

from __future__ import annotations

import islpy as isl

from tilepragma.polyhedral.plan_proof_order import Broken
from tilepragma.polyhedral.plan_proof_tree import At, Dealt, Launched, Leaf, Ordered, ProvenLaunch

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def out_of_columns(first: Leaf, second: Leaf, pairs: isl.Map) -> Broken | None:
    """What of `pairs`, { A[i] -> B[j] : i must run before j } of two leaves, a pipelined launch does not wait for; None where all is waited for."""
    launch = first.launch
    if launch is None or launch is not second.launch or not launch.pipelined:
        return None
    found = _wavefront_and_column(launch, first), _wavefront_and_column(launch, second)
    if found[0] is None or found[0] != found[1]:
        return Broken(pairs, "are not of one tiled loop in a loop of the host")
    wavefront, column = found[0]
    for outer in range(wavefront):
        pairs = pairs.equate(_IN, outer, _OUT, outer)
    pairs = pairs.order_lt(_IN, wavefront, _OUT, wavefront)
    left = pairs.order_gt(_IN, column, _OUT, column)
    local = isl.LocalSpace.from_space(pairs.get_space())
    # 0 <= (c' - w') - (c - w) - 1
    beyond = isl.Constraint.alloc_inequality(local).set_constant_val(isl.Val.int_from_si(pairs.get_ctx(), -1))
    for kind, sign in ((_IN, -1), (_OUT, 1)):
        beyond = beyond.set_coefficient_val(kind, column, isl.Val.int_from_si(pairs.get_ctx(), sign))
        beyond = beyond.set_coefficient_val(kind, wavefront, isl.Val.int_from_si(pairs.get_ctx(), -sign))
    broken = left.union(pairs.add_constraint(beyond))
    return (
        None if broken.is_empty() else Broken(broken, "may run before what they need of an earlier wavefront is done")
    )


def _wavefront_and_column(launch: ProvenLaunch, leaf: Leaf) -> tuple[int, int] | None:
    """The dimensions of the loop right around the launch, and of its one tiled loop, where it is so."""
    place = next(place for place, one in enumerate(leaf.path) if isinstance(one, Launched) and one.launch is launch)
    around = [one for one in leaf.path[:place] if not isinstance(one, At)]
    dealt = [one for one in leaf.path[place:] if isinstance(one, Dealt)]
    if not around or len(dealt) != 1 or len(dealt[0].nest.loops) != 1 or len(launch.axes) != 1:
        return None
    last = around[-1]
    if not isinstance(last, Ordered) or last.sign < 0 or dealt[0].first >= leaf.depth:
        return None
    return last.dimension, dealt[0].first
