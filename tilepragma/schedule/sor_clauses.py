"""What all `sor` clauses share: checks of the region, and reordered regions.

The region must be a relaxation in place, and should have parallelism. `sor(wavefront)` changes
nothing else: a plan computes each value as the loops say anyway. For `sor(redblack)` see
sor_redblack.py, for `sor(multilayer)` sor_multilayer.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.ir.directives import SorMethod
from tilepragma.ir.expressions import Access, DataObject, FloatingLiteral, IntegerLiteral, Scope
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.laurent import LaurentPolynomial
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Statement
from tilepragma.ir.traversal import loop_directives, loops_in, named_in_clauses, walk, with_blocks
from tilepragma.normalise.loop_normalisation import renumbered_final_values
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import Mismatch, SorNest, Sweep
from tilepragma.plan.kernel_plan import FinalValue, KernelPlan

_PARALLEL = {
    SorMethod.WAVEFRONT: "no wavefronts",
    SorMethod.RED_BLACK: "no parallel loops",
    SorMethod.MULTILAYER: "no parallel loops",
}
_ORDERS = {SorMethod.RED_BLACK: "colour by colour", SorMethod.MULTILAYER: "subdomain by subdomain"}
_TOTALS = {"+": "sum", "*": "product"}
_REMEDY = "remove the clause; the kernel is then planned like any other"

T = TypeVar("T", bound=Statement)

#: Numbers of loops that compute last values begin here, after those of normalised loops.
_FIRST_OF_FINALS = 1 << 21


def check_relaxation(kernel: Kernel, diagnostics: Diagnostics) -> None:
    """Report a `sor` clause whose region has no relaxation, or other loops that nearly are one."""
    clause = kernel.directive.sor
    if clause is None:
        return
    candidates = relaxations(kernel)
    others = [candidate for candidate in candidates if isinstance(candidate, Mismatch)]
    wrong = [mismatch for mismatch in others if mismatch.near] or (others if len(others) == len(candidates) else [])
    if not candidates:
        diagnostics.error(clause.range, f"sor({clause.method.value}) is for loops, and there are none", _REMEDY)
    elif wrong:
        diagnostics.add(
            Diagnostic(
                Severity.ERROR,
                clause.range,
                f"sor({clause.method.value}) is for relaxations in place, and this is none: {wrong[0].reason}",
                (
                    Diagnostic(Severity.NOTE, wrong[0].range, "this is in the way"),
                    Diagnostic(Severity.NOTE, clause.range, _REMEDY),
                ),
            )
        )


def warn_of_sequence(plan: KernelPlan, diagnostics: Diagnostics) -> None:
    """Warn of a `sor` clause whose region has no parallelism, and so runs on one core."""
    clause = plan.kernel.directive.sor
    if clause is not None and plan.untransformed is not None and not diagnostics.has_errors:
        order = "as written" if plan.reordered is None else f"{_ORDERS[clause.method]}, on one core"
        diagnostics.warning(
            clause.range,
            f"sor({clause.method.value}) finds {_PARALLEL[clause.method]} here, "
            f"and kernel '{plan.kernel.name}' runs {order}: {plan.untransformed}",
            *_sums_in_order(plan),
        )


def _sums_in_order(plan: KernelPlan) -> Iterator[str]:
    """The reduction clauses that would free sums, which colours reorder anyway."""
    if plan.reordered is None:
        return
    kernel = plan.reordered.written
    named = named_in_clauses(kernel.directive, kernel.body)
    nests = (relaxation for relaxation in relaxations(kernel) if isinstance(relaxation, SorNest))
    for accumulation in dict.fromkeys(itertools.chain.from_iterable(nest.accumulations for nest in nests)):
        if accumulation.operator in ("+", "*") and accumulation.object.host not in named:
            remedy = f"reduction({accumulation.operator}: {accumulation.object.host})"
            yield f"{remedy} allows any order of that {_TOTALS[accumulation.operator]}"


# -- regions in another order


def check_sweep(sweep: Sweep, method: SorMethod, diagnostics: Diagnostics) -> None:
    """Report what forbids any other order of a sweep's points."""
    _check_coefficients(sweep, diagnostics)
    if sweep.wraps is not None:
        diagnostics.error(
            sweep.wraps,
            f"sor({method.value}) is for meshes with ends, and this one is periodic: "
            "neighbours at its ends may be computed in parallel",
            "sor(wavefront) computes it, in the order of the loops",
        )


def replaced_loops(kernel: Kernel, loops: list[Loop], instead: str, diagnostics: Diagnostics) -> tuple[FinalValue, ...]:
    """The live-out values of the iterators of `loops`, which the clause replaces by loops over
    what `instead` says. Reports those that are unknown, and directives of loops.
    """
    clause = kernel.directive.sor
    assert clause is not None
    for directive in loop_directives(kernel.body):
        diagnostics.error(
            directive.range,
            f"sor({clause.method.value}) replaces this loop by loops over {instead}, so it takes no directive",
            f"remove this directive, or the clause sor({clause.method.value})",
        )
    wanted = {loop.iterator.name: loop for loop in loops if not loop.declares_iterator}
    every = renumbered_final_values(kernel, _FIRST_OF_FINALS)
    finals = tuple(final for final in every if final.iterator.name in wanted)
    for name in sorted((wanted.keys() & kernel.read_after) - {final.iterator.name for final in finals}):
        diagnostics.error(
            wanted[name].header,
            f"'{name}' may be read after the kernel, but its last value there cannot be computed at launch",
            "declare it in the loop",
        )
    return finals


def free_names(kernel: Kernel, loops: list[Loop]) -> Names:
    """Names for new loops in place of these: those of their iterators are free."""
    free = {loop.iterator.name for loop in loops if loop.declares_iterator} - kernel.read_after
    return Names(set(names_in(kernel)) - free)


def fresh_local(object_: DataObject, names: Names) -> DataObject:
    """A local like the object, by a new name."""
    return replace(object_, name=names.scalar(object_.name).name, scope=Scope.LOCAL)


def in_order_of(kernel: Kernel, body: Block, loops: list[Loop]) -> Kernel:
    """The kernel with a `body` in place of its own; objects of `loops` that it lacks are gone."""
    body = _numbered(body)
    mentioned = {node.object for node in walk(body) if isinstance(node, Access)}
    mentioned |= {loop.iterator for loop in loops_in(body)}
    gone = {loop.iterator for loop in loops} - mentioned
    return replace(kernel, body=body, objects=tuple(object_ for object_ in kernel.objects if object_ not in gone))


def _check_coefficients(sweep: Sweep, diagnostics: Diagnostics) -> None:
    """Report a relaxation factor that cannot converge, and a zero diagonal."""
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


def _divides_by_zero(coefficient: LaurentPolynomial) -> bool:
    powers = (power for product, _ in coefficient.terms for power in product)
    return any(
        exponent < 0 and isinstance(atom, (IntegerLiteral, FloatingLiteral)) and float(atom.value) == 0
        for atom, exponent in powers
    )


def _numbered(body: Block) -> Block:
    """The body with its loops numbered in text order."""
    count = iter(range(sum(1 for _ in loops_in(body))))

    def changed(statement: T) -> T:
        if isinstance(statement, Loop):
            statement = replace(statement, index=next(count))
        return with_blocks(statement, inside)

    def inside(block: Block) -> Block:
        return replace(block, statements=tuple(map(changed, block.statements)))

    return inside(body)
