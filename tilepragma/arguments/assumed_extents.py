"""Assumed extents: diagnostics for arrays whose extent the accesses do not tell, on devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.ir.directives import DEVICE_TARGETS, Target
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan

_DEVICES = frozenset(DEVICE_TARGETS)


def doubts(plan: KernelPlan) -> Iterator[Diagnostic]:
    """An error with a remedy for each array that no device can hold, in plans for devices."""
    if _DEVICES & set(plan.targets):
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
    if not _DEVICES & set(targets) or not (vouched or preferred in _DEVICES):
        return
    refused = vouched and preferred in _DEVICES
    for doubt in _doubts(arguments):
        text = f"{doubt.message}; no device holds it unless a data region does, and the kernel runs on cores"
        diagnostics.add(doubt if refused else replace(doubt, severity=Severity.WARNING, message=text))


def _doubts(arguments: Sequence[ArrayArgument]) -> Iterator[Diagnostic]:
    return (argument.doubt for argument in arguments if argument.doubt is not None)
