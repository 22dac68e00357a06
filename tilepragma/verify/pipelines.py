"""Launches whose wavefronts overlap: the tile (w, c) of wavefront w runs when all before it in its
column c = (c_1, ..., c_n) are done, and in each column of which one coordinate is one less all
before wavefront w.

    { A[w, c, ...] -> B[w', c', ...] : A must run first, w < w' }    must have    c <= c',    (c'_1 - c_1) + ... + (c'_n - c_n) <= w' - w

for then A is among those: by induction over w' and c', what a column has done up to wavefront w' -
1 it has done behind all of wavefront w' - 1 - (c'_1 - c_1) - ... of the columns c <= c'. (Order
within a wavefront, and from one to another that comes before it, is `plan_proof_order`'s, as of all
launches.) Whoever takes columns in the order of their coordinates waits for earlier ones alone, so
that the first that is not through never waits for ever.
"""

from __future__ import annotations

import islpy as isl

from tilepragma.ir.directives import AxisKind
from tilepragma.poly.affine import constant_value
from tilepragma.verify.launch_tree_relation import At, Dealt, Launched, Leaf, Ordered, ProvenLaunch
from tilepragma.verify.order import Broken

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def out_of_columns(first: Leaf, second: Leaf, pairs: isl.Map) -> Broken | None:
    """What of `pairs`, { A[i] -> B[j] : i must run before j } of two leaves, a pipelined launch does not wait for; None where all is waited for."""
    launch = first.launch
    if launch is None or launch is not second.launch or not launch.pipelined:
        return None
    found = _wavefront_and_columns(launch, first), _wavefront_and_columns(launch, second)
    if found[0] is None or found[0] != found[1]:
        return Broken(pairs, "are not of tiled loops that count up by 1 in a loop of the host")
    wavefront, columns = found[0]
    for outer in range(wavefront):
        pairs = pairs.equate(_IN, outer, _OUT, outer)
    pairs = pairs.order_lt(_IN, wavefront, _OUT, wavefront)
    context = pairs.get_ctx()
    # 0 <= (c'_1 - c_1) + ... + (c'_n - c_n) - (w' - w) - 1
    local = isl.LocalSpace.from_space(pairs.get_space())
    beyond = isl.Constraint.alloc_inequality(local).set_constant_val(isl.Val.int_from_si(context, -1))
    for dimension, sign in ((wavefront, -1), *((column, 1) for column in columns)):
        beyond = beyond.set_coefficient_val(_IN, dimension, isl.Val.int_from_si(context, -sign))
        beyond = beyond.set_coefficient_val(_OUT, dimension, isl.Val.int_from_si(context, sign))
    broken = pairs.add_constraint(beyond)
    for column in columns:
        broken = broken.union(pairs.order_gt(_IN, column, _OUT, column))
    return (
        None if broken.is_empty() else Broken(broken, "may run before what they need of an earlier wavefront is done")
    )


def _wavefront_and_columns(launch: ProvenLaunch, leaf: Leaf) -> tuple[int, tuple[int, ...]] | None:
    """The dimensions of the loop right around the launch, and of those that deal its instances out: one loop an axis, in the first nest."""
    place = next(place for place, one in enumerate(leaf.path) if isinstance(one, Launched) and one.launch is launch)
    around = [one for one in leaf.path[:place] if not isinstance(one, At)]
    dealt = [one for one in leaf.path[place:] if isinstance(one, Dealt)]
    if not around or not dealt:
        return None
    last, nest = around[-1], dealt[0]
    axes = [axis for axis in launch.axes if axis.kind is not AxisKind.WORKER]
    own = [[tile.axis for tile in loop.tiles if tile.axis in axes] for loop in nest.nest.loops]
    if not isinstance(last, Ordered) or last.sign < 0 or nest.first + len(own) > leaf.depth:
        return None
    if any(len(each) != 1 for each in own) or len(own) != len(set(axes)):
        return None
    if any(tile.axis in axes for later in dealt[1:] for loop in later.nest.loops for tile in loop.tiles):
        return None
    if any(constant_value(loop.loop.step, leaf.frame) != 1 for loop in nest.nest.loops):
        return None
    return last.dimension, tuple(range(nest.first, nest.first + len(own)))
