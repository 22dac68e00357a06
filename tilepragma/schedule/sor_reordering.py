"""What all orders of the points of sweeps have in common that are not the user's: what forbids them, and the numbers of their loops."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.directives import SorMethod
from tilepragma.ir.expressions import FloatingLiteral, IntegerLiteral
from tilepragma.ir.laurent import LaurentPolynomial
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Statement
from tilepragma.ir.traversal import loops_in, with_blocks
from tilepragma.normalise.loop_normalisation import renumbered_final_values
from tilepragma.patterns.relaxation import Sweep
from tilepragma.plan.kernel_plan import FinalValue

T = TypeVar("T", bound=Statement)

#: Numbers of the loops that last values are computed from begin here: behind those of loops that
#: count in place of steps.
_FIRST_OF_FINALS = 1 << 21


def finals_without(kernel: Kernel, loops: list[Loop], diagnostics: Diagnostics) -> tuple[FinalValue, ...]:
    """The values that the iterators of these loops, which the region in another order does without, have after it, for those who want them."""
    wanted = {loop.iterator.name: loop for loop in loops if not loop.declares_iterator}
    found = tuple(one for one in renumbered_final_values(kernel, _FIRST_OF_FINALS) if one.iterator.name in wanted)
    for name in sorted((wanted.keys() & kernel.read_after) - {one.iterator.name for one in found}):
        diagnostics.error(
            wanted[name].header,
            f"'{name}' may be read after the kernel, but its last value there cannot be computed at launch",
            "declare it in the loop",
        )
    return found


def check_coefficients(sweep: Sweep, diagnostics: Diagnostics) -> None:
    """Report a relaxation factor with which nothing converges, and a diagonal of zero."""
    factor = None if sweep.relaxation is None else sweep.relaxation.constant
    if factor is not None and not 0 < factor < 2:
        diagnostics.error(
            sweep.range,
            f"the relaxation factor is {float(factor):g}: sweeps converge for factors between 0 and 2 only",
            "choose a factor above 0 and below 2",
        )
    for neighbour in sweep.neighbours:
        keeps = not any(neighbour.offset) and neighbour.coefficient.constant == 1
        if keeps or _divides_by_zero(neighbour.coefficient):
            diagnostics.error(
                neighbour.range,
                f"the diagonal is zero: {'an element keeps all of its old value' if keeps else 'this is divided by 0'}",
                "a relaxation solves each equation for its own element, u = (1 - w) * u + w * (…) / diagonal",
            )
            break


def check_ends(sweep: Sweep, method: SorMethod, diagnostics: Diagnostics) -> None:
    """Report a mesh that goes on at its other end."""
    if sweep.wraps is not None:
        diagnostics.error(
            sweep.wraps,
            f"sor({method.value}) is for meshes with ends, and this one goes on at its other end, where neighbours may be computed at once",
            "sor(wavefront) computes it, in the order of the loops",
        )


def _divides_by_zero(coefficient: LaurentPolynomial) -> bool:
    powers = (power for product, _ in coefficient.terms for power in product)
    return any(
        exponent < 0 and isinstance(atom, (IntegerLiteral, FloatingLiteral)) and float(atom.value) == 0
        for atom, exponent in powers
    )


def numbered(body: Block) -> Block:
    """The body with its loops numbered in the order of the text."""
    count = iter(range(sum(1 for _ in loops_in(body))))

    def changed(statement: T) -> T:
        if isinstance(statement, Loop):
            statement = replace(statement, index=next(count))
        return with_blocks(statement, inside)

    def inside(block: Block) -> Block:
        return replace(block, statements=tuple(map(changed, block.statements)))

    return inside(body)
