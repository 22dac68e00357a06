"""Reports on relaxations in place (Gauss-Seidel, SOR): those recognised, and why others are not."""

from __future__ import annotations

from collections.abc import Iterator

from tilepragma.base.diagnostics import Diagnostic, Severity
from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import Binary, DataObject, Expression
from tilepragma.ir.loop_tree import Block, If, Kernel, Loop, Statement
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import walk
from tilepragma.patterns.colouring import colouring
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import Direction, SorNest, Sweep, Variation
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.report.source_text import plain_text

_LONGEST_TERM = 60
_OPERATORS = {"+": "a sum", "max": "a greatest value", "min": "a least value"}


def relaxation_rows(kernel: Kernel) -> tuple[str, ...]:
    """A sentence for each statement that is a relaxation in place, or resembles one."""
    rows = []
    for relaxation in relaxations(kernel):
        if isinstance(relaxation, SorNest):
            rows.append(f"in place (SOR): {', '.join(_facts(relaxation))}")
        elif relaxation.near:
            rows.append(f"none, line {relaxation.range.start.line}: {relaxation.reason}")
    return tuple(rows)


def order_rows(plan: KernelPlan) -> tuple[str, ...]:
    """The order of points where a `sor` clause changes it; else the order that it could choose."""
    clause = plan.kernel.directive.sor
    if plan.reordered is not None and clause is not None:
        iterates = "other iterates than the loops as written"
        return tuple(f"sor({clause.method.value}): {note}; {iterates}" for note in plan.reordered.notes)
    return tuple(f"line {order.range.start.line}: {order.message}" for order in faster_orders(plan))


def faster_orders(plan: KernelPlan) -> Iterator[Diagnostic]:
    """A note at each relaxation that colours might speed up, where the user chose no method."""
    if plan.kernel.directive.sor is not None:
        return
    for relaxation in relaxations(region_as_written(plan)):
        if isinstance(relaxation, SorNest) and all(
            sweep.wraps is None and colouring(sweep) is not None for sweep in relaxation.sweeps
        ):
            sweep_loop = relaxation.sweep_loop
            loop = relaxation.sweeps[0].loops[0] if sweep_loop is None else sweep_loop
            place = loop.header if isinstance(loop, Loop) else loop.range
            what = f"relaxes '{relaxation.array.host}' faster, but computes other iterates"
            yield Diagnostic(Severity.NOTE, place, f"sor(redblack) {what}: it is used only where you ask for it")


def region_planned(plan: KernelPlan) -> Kernel:
    """The region that the plan computes, with steps and without the planner's storage."""
    return (plan.before_normalisation or plan.source or plan.kernel).without_copies


def region_as_written(plan: KernelPlan) -> Kernel:
    """The user's region, in the user's order."""
    return region_planned(plan) if plan.reordered is None else plan.reordered.written


def _facts(nest: SorNest) -> Iterator[str]:
    sweep = nest.sweeps[0]
    dimensions = f"{nest.dimensions} dimension{'' if nest.dimensions == 1 else 's'}"
    yield f"{sweep.points} points in {dimensions} of {nest.array.host}"
    yield _sweeps(nest)
    if sweep.relaxation is not None:
        plain = sweep.relaxation.constant == 1
        yield "relaxation factor 1 (Gauss-Seidel)" if plain else f"relaxation factor {sweep.relaxation.text}"
    if sweep.right_hand_side.terms:
        text = sweep.right_hand_side.text
        yield f"right-hand side {text}" if len(text) <= _LONGEST_TERM else "a right-hand side"
    if sweep.masks:
        yield f"where {' and '.join(map(_condition, sweep.masks))}"
    if sweep.wraps is not None:
        yield "periodic"
    if nest.borders:
        lines = dict.fromkeys(str(border.start.line) for border in nest.borders)
        yield f"borders set on line{'s' if len(lines) > 1 else ''} {' and '.join(lines)}"
    for accumulation in nest.accumulations:
        yield f"{_OPERATORS.get(accumulation.operator, accumulation.operator)} in {accumulation.object.host}"
    for over, words in ((Variation.SPACE, "in space"), (Variation.SWEEP, "from sweep to sweep")):
        names = [
            f"{expression_text(variation.expression)} (line {variation.range.start.line})"
            for variation in nest.varying
            if variation.over is over
        ]
        if names:
            yield f"coefficients that vary {words} with {' and '.join(names)}"


def _condition(mask: Expression) -> str:
    text = expression_text(mask)
    return text if len(text) <= _LONGEST_TERM else "a condition holds"


def _sweeps(nest: SorNest) -> str:
    """`forward sweeps, one for each iteration of t`, `symmetric sweeps until line 7 ends them`"""
    ways = ["symmetric (forward, then backward)"] if nest.is_symmetric else map(_direction, nest.sweeps)
    which = " and ".join(dict.fromkeys(ways))
    loop = nest.sweep_loop
    if loop is None:
        return f"one {which} sweep"
    if not nest.converges and isinstance(loop, Loop):
        return f"{which} sweeps, one for each iteration of {loop.iterator.host}"
    line = loop.range.start.line if nest.condition is None else nest.condition.range.start.line
    return f"{which} sweeps until line {line} ends them"


def _direction(sweep: Sweep) -> str:
    if sweep.direction is not Direction.MIXED:
        return str(sweep.direction.value)
    steps = zip(sweep.axes, sweep.steps, strict=True)
    return "/".join(f"{axis.iterator.host} {'forward' if step > 0 else 'backward'}" for axis, step in steps)


# -- colour facts


def unsplit_colours(plan: KernelPlan) -> Iterator[str]:
    """A clause for each array that is relaxed under a condition on the parity of its subscripts."""
    if plan.untransformed is not None or not plan.device:
        return
    reported: set[DataObject] = set()
    for condition, statement in _conditions(plan.kernel.body):
        for array in _relaxed(statement):
            if array not in reported:
                reported.add(array)
                line = condition.range.start.line
                yield (
                    f"arrays split by colour, on devices: '{plain_text(condition)}' on line {line} skips every other "
                    f"element of '{array.host}', but the loops visit all of them; sor(redblack) on a sweep without "
                    "this condition stores each colour in an array of its own (the first element of the mesh has the "
                    "first colour)"
                )


def _conditions(body: Block) -> Iterator[tuple[Expression, Statement]]:
    """Conditions that compare the parity of a sum with something, and the guarded statements."""
    for node in (node for node in walk(body) if isinstance(node, If)):
        condition = node.condition
        if isinstance(condition, Binary) and condition.operator in ("==", "!="):
            yield from ((condition, node.then) for side in (condition.left, condition.right) if _is_parity(side))


def _is_parity(value: Expression) -> bool:
    if not isinstance(value, Binary) or (value.operator, polynomial(value.right).constant) not in (("%", 2), ("&", 1)):
        return False
    return sum(1 for product, _ in polynomial(value.left).terms if product) > 1


def _relaxed(statement: Statement) -> Iterator[DataObject]:
    """The arrays of which some elements are computed from others."""
    all_uses = list(uses(statement))
    for write in all_uses:
        if write.writes and write.object.rank:
            others = (use for use in all_uses if use.reads and use.object == write.object)
            if any(use.subscripts != write.subscripts for use in others):
                yield write.object
