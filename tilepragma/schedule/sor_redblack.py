"""`sor(redblack)`: sweep the mesh colour by colour, each class of points in its own nest.

    for (i = a; i < b; i++)            for (i = a + p; i < b; i += m)
        u[i] = …;               ->         u[i] = …;

for each class p, those of the first colour first (patterns/colouring.py). This changes the order of
the points, and so the iterates: the clause asks for it. Later passes plan, prove and print this
region, and know of no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import SorMethod
from tilepragma.ir.expressions import integer
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Statement
from tilepragma.ir.polynomial import number, polynomial
from tilepragma.ir.substitution import with_each, with_objects
from tilepragma.ir.traversal import declared_in, loops_in, with_blocks
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.patterns.colouring import MOST_CLASSES, Colouring, PointClass, colouring
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import SorNest, Sweep
from tilepragma.plan.kernel_plan import Reordered
from tilepragma.schedule.sor_clauses import check_sweep, free_names, fresh_local, in_order_of, replaced_loops


def asks_for_colours(kernel: Kernel) -> bool:
    """Whether the user says `sor(redblack)`."""
    return kernel.directive.sor is not None and kernel.directive.sor.method is SorMethod.RED_BLACK


def reordered(kernel: Kernel, diagnostics: Diagnostics) -> Reordered | None:
    """The region by colours if its clause asks for that, else None; reports what prevents it."""
    if not asks_for_colours(kernel) or diagnostics.has_errors:
        return None
    sweeps = [sweep for nest in relaxations(kernel) if isinstance(nest, SorNest) for sweep in nest.sweeps]
    colourings = [_checked_colouring(sweep, kernel, diagnostics) for sweep in sweeps]
    swept = {loop.index for sweep in sweeps for loop in sweep.loops}
    loops = [loop for loop in loops_in(kernel.body) if loop.index in swept]
    finals = replaced_loops(kernel, loops, "the points of each colour", diagnostics)
    if diagnostics.has_errors:
        return None
    chosen = [(sweep, each) for sweep, each in zip(sweeps, colourings, strict=True) if each is not None]
    by_loop = {sweep.loops[0].index: (sweep, each) for sweep, each in chosen}
    coloured = in_order_of(kernel, _coloured(kernel.body, by_loop, free_names(kernel, loops)), loops)
    return Reordered(kernel, coloured, finals, tuple(dict.fromkeys(_note(*each) for each in chosen)))


def _checked_colouring(sweep: Sweep, kernel: Kernel, diagnostics: Diagnostics) -> Colouring | None:
    """The colours of a sweep, None if there are too many; reports what forbids them."""
    check_sweep(sweep, SorMethod.RED_BLACK, diagnostics)
    counted = {accumulation.object for accumulation in sweep.accumulations}
    for loop in sweep.loops[:-1]:
        for use in uses(loop.body, kernel.functions):
            if use.writes and use.object in counted and not use.loops:
                diagnostics.error(
                    use.range,
                    f"'{use.object.host}' is updated once for each row, "
                    "and sor(redblack) visits a row once for each class",
                    "update it in the innermost loop",
                )
    colours = colouring(sweep)
    if colours is None:
        diagnostics.error(
            sweep.range,
            f"points of this stencil depend on others {sweep.radius} away: "
            f"that takes more than {MOST_CLASSES} classes of points",
            "sor(wavefront) computes it, in the order of the loops",
        )
    return colours


def _note(sweep: Sweep, colours: Colouring) -> str:
    """`u in 2 colours, red before black, each with its points in 2 nests`."""
    count, each = len(colours.colours), len(colours.colours[0])
    red_first = count == 2 and colours.colours[0][0] == (0,) * len(sweep.axes)
    order = ", red before black" if red_first else ""
    classes = f", each with its points in {each} nests" if each > 1 else ""
    return f"{sweep.array.host} in {count} colours{order}{classes}"


def _coloured(block: Block, sweeps: Mapping[int, tuple[Sweep, Colouring]], names: Names) -> Block:
    """The block with each sweep, by the number of its outermost loop, replaced by nests over its
    classes.
    """
    statements: list[Statement] = []
    for statement in block.statements:
        if isinstance(statement, Loop) and statement.index in sweeps:
            sweep, colours = sweeps[statement.index]
            statements += (_of_class(statement, sweep, colours.modulus, each, names) for each in colours.classes)
        else:
            statements.append(with_blocks(statement, lambda inner: _coloured(inner, sweeps, names)))
    return replace(block, statements=tuple(statements))


def _of_class(loop: Loop, sweep: Sweep, modulus: int, chosen: PointClass, names: Names) -> Statement:
    """The nest over the points of a class, with fresh iterators and locals."""
    # The distance of the class's first point from the mesh's in each loop's dimension.
    starts = {loop.index: chosen[dimension] for loop, dimension in zip(sweep.loops, sweep.order, strict=True)}

    def changed(inner: Loop) -> Loop:
        return _every(inner, modulus, starts[inner.index]) if inner.index in starts else inner

    nest = with_each(loop, Loop, changed)
    iterators = {loop.iterator for loop in loops_in(nest)}
    in_order = sorted(iterators | declared_in(nest), key=lambda iterator: iterator.name)
    return with_objects(nest, {iterator: fresh_local(iterator, names) for iterator in in_order})


def _every(loop: Loop, step: int, start: int) -> Loop:
    """The loop over every `step`th point, upwards from the `start`th after the least."""
    least, comparison, greatest = loop.lower, loop.holds_inside, loop.upper
    if loop.decreasing:
        least, greatest = loop.upper, loop.lower
        start, comparison = start + (comparison == ">"), "<="
    return replace(
        loop,
        declares_iterator=True,
        lower=typed_sum(polynomial(least) + number(start), loop.iterator) if start else least,
        comparison=comparison,
        upper=greatest,
        step=integer(step),
        decreasing=False,
    )
