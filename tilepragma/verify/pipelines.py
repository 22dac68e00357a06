"""Pipelined wavefronts (doacross): the tile (w, c) of wavefront w runs once all earlier tiles of
its column c = (c_1, ..., c_n) are done, and those before wavefront w of each column with one
coordinate less by 1.

    { A[w, c, ...] -> B[w', c', ...] : A must run first, w < w' }    must have
    c <= c',    (c'_1 - c_1) + ... + (c'_n - c_n) <= w' - w

for then A is done, by induction over w' and c': up to wavefront w' - 1, a column has run after all
of wavefront w' - 1 - (c'_1 - c_1) - ... of the columns c <= c'. (`verify/execution_order.py` proves
the order within a wavefront and to the next one, as for all launches.) Threads that take columns in
the order of their coordinates wait for earlier columns alone, so that the first unfinished column
never waits for ever.
"""

from __future__ import annotations

import islpy as isl

from tilepragma.ir.directives import AxisKind
from tilepragma.poly.affine import constant_value
from tilepragma.verify.execution_order import Broken
from tilepragma.verify.launch_tree_relation import InSequence, Launched, Leaf, Mapped, Ordered, ProvenLaunch

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def out_of_columns(first: Leaf, second: Leaf, pairs: isl.Map) -> Broken | None:
    """The `pairs`, { A[i] -> B[j] : i must run before j }, that pipelining does not order."""
    launch = first.launch
    if launch is None or launch is not second.launch or not launch.pipelined:
        return None
    dimensions = _wavefront_and_columns(launch, first), _wavefront_and_columns(launch, second)
    if dimensions[0] is None or dimensions[0] != dimensions[1]:
        return Broken(pairs, "are not of tiled loops that count up by 1 in a loop of the host")
    wavefront, columns = dimensions[0]
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
    """The dimensions of the loop around the launch, and of its first nest's loop for each axis."""
    launched = [isinstance(element, Launched) and element.launch is launch for element in leaf.path]
    place = launched.index(True)
    around = [element for element in leaf.path[:place] if not isinstance(element, InSequence)]
    mapped = [element for element in leaf.path[place:] if isinstance(element, Mapped)]
    if not around or not mapped:
        return None
    last, nest = around[-1], mapped[0]
    axes = [axis for axis in launch.axes if axis.kind is not AxisKind.WORKER]
    loop_axes = [[tile.axis for tile in loop.tiles if tile.axis in axes] for loop in nest.nest.loops]
    if not isinstance(last, Ordered) or last.sign < 0 or nest.first + len(loop_axes) > leaf.depth:
        return None
    if any(len(mapped_axes) != 1 for mapped_axes in loop_axes) or len(loop_axes) != len(set(axes)):
        return None
    if any(tile.axis in axes for later in mapped[1:] for loop in later.nest.loops for tile in loop.tiles):
        return None
    if any(constant_value(loop.loop.step, leaf.frame) != 1 for loop in nest.nest.loops):
        return None
    return last.dimension, tuple(range(nest.first, nest.first + len(loop_axes)))
