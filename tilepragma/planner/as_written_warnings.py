"""Warnings about regions that run as written although the user asked for something else."""

from __future__ import annotations

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.traversal import loops_in


def warn_as_written(kernel: Kernel, reason: str, diagnostics: Diagnostics) -> None:
    """Warn of each request of the user's that a region as written does not fulfil."""
    directive = kernel.directive
    if any(target.is_parallel for target in directive.targets):
        diagnostics.warning(
            directive.range,
            f"the kernel runs the original loops, on one core: {reason}",
            "add 'independent' if no iteration depends on another, or say the tiles",
        )
    for loop in loops_in(kernel.body):
        if loop.directive is not None and loop.directive.independent:
            diagnostics.warning(
                loop.directive.range,
                f"'independent' has no effect on the loop over '{loop.iterator.host}': {reason}",
                "put the kernel directive before this loop, so that each round of the loop around it is a launch",
            )
