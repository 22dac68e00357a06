"""Kernels whose loops the user calls independent, without these clauses."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.directives import LoopDirective
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import loops_in
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import buffered
from tilepragma.user_tiles.mapping import independent_loops, top_loops


def without_assumptions(kernel: Kernel) -> Kernel | None:
    """The kernel without its `independent` clauses; None if they do not apply. The engine then
    proves independence itself, and may find better mappings than the default one. It does so only
    if the loops have no other clauses and contain further loops.
    """
    plain = without_directives(kernel)
    if kernel.directive.counts or plain is None:
        return None
    nests = [nest for statement in kernel.body.statements for nest in top_loops(statement)]
    assumed = {loop.index for nest in nests for loop in independent_loops(nest, kernel.directive)}
    if all(loop.index in assumed for nest in nests for loop in loops_in(nest)):
        return None
    return plain


def without_directives(kernel: Kernel) -> Kernel | None:
    """The kernel without its loops' directives; None if these say more than `independent`."""
    if not all(map(_says_no_more, loops_in(kernel.body))):
        return None
    directive = replace(kernel.directive, independent=False)
    body = with_each(kernel.body, Loop, lambda loop: replace(loop, directive=None))
    return replace(kernel, directive=directive, body=body)


def keeps_elements_in_registers(plan: KernelPlan) -> bool:
    """Whether a host launch has register tiles: these reorder loops, and need alias checks."""
    return any(buffered(plan.host_steps))


def _says_no_more(loop: Loop) -> bool:
    directive = loop.directive
    made = directive is not None and directive.range is NOWHERE  # set by `privatization`
    return directive is None or made or directive == LoopDirective(directive.range, independent=directive.independent)
