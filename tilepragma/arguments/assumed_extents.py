"""Assumed extents: diagnostics for arrays whose extent the accesses do not tell, on devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.ir.directives import Target
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan


def doubts(plan: KernelPlan) -> Iterator[Diagnostic]:
    """An error with a remedy for each array that no device can hold, in plans for devices."""
    if any(target.is_device for target in plan.targets):
        yield from _doubts(plan.arrays)


def report_assumed_extents(
    arguments: Sequence[ArrayArgument],
    targets: Sequence[Target],
    preferred: Target,
    vouched: bool,
    diagnostics: Diagnostics,
) -> None:
    """Report at translation why a kernel cannot run on a device that the user asks for.

    A target, tiles, or `vouched` independence ask for a device. An error where cores cannot run the
    kernel instead.
    """
    if not any(target.is_device for target in targets) or not (vouched or preferred.is_device):
        return
    refused = vouched and preferred.is_device
    for doubt in _doubts(arguments):
        text = f"{doubt.message}; no device holds it unless a data region does, and the kernel runs on cores"
        diagnostics.add(doubt if refused else replace(doubt, severity=Severity.WARNING, message=text))


def _doubts(arguments: Sequence[ArrayArgument]) -> Iterator[Diagnostic]:
    return (argument.doubt for argument in arguments if argument.doubt is not None)
