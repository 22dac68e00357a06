"""Check `sor` clauses: the region must be a relaxation in place, and should have parallelism.

`sor(wavefront)` changes nothing else: a plan computes each value as the loops say anyway. For
`sor(redblack)` see sor_redblack.py, for `sor(multilayer)` sor_multilayer.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.ir.directives import SorMethod
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.traversal import named_in_clauses
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import Mismatch, SorNest
from tilepragma.plan.kernel_plan import KernelPlan

_PARALLEL = {
    SorMethod.WAVEFRONT: "no wavefronts",
    SorMethod.RED_BLACK: "no parallel loops",
    SorMethod.MULTILAYER: "no parallel loops",
}
_ORDERS = {SorMethod.RED_BLACK: "colour by colour", SorMethod.MULTILAYER: "subdomain by subdomain"}
_TOTALS = {"+": "sum", "*": "product"}
_REMEDY = "remove the clause; the kernel is then planned like any other"


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
    if clause is not None and plan.as_written is not None and not diagnostics.has_errors:
        order = "as written" if plan.reordered is None else f"{_ORDERS[clause.method]}, on one core"
        diagnostics.warning(
            clause.range,
            f"sor({clause.method.value}) finds {_PARALLEL[clause.method]} here, "
            f"and kernel '{plan.kernel.name}' runs {order}: {plan.as_written}",
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
