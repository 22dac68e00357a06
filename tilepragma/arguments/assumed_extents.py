"""Arrays whose extent the accesses do not tell: what is said of them where a device would have to hold one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.ir.directives import DEVICE_TARGETS, Target
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan

_DEVICES = frozenset(DEVICE_TARGETS)


def doubts(plan: KernelPlan) -> Iterator[Diagnostic]:
    """An error for every array that no device can hold, with a remedy, where the plan is for devices too."""
    if _DEVICES & set(plan.targets):
        yield from _doubts(plan.arrays)


def report_doubts(
    arguments: Sequence[ArrayArgument],
    targets: Sequence[Target],
    preferred: Target,
    vouched: bool,
    diagnostics: Diagnostics,
) -> None:
    """Say at translation what keeps a kernel from devices, where the user asks for them: by a
    target, by tiles, or, where all is `vouched` for, by nothing that speaks against them. What
    hosts cannot run instead is refused.
    """
    if not _DEVICES & set(targets) or not (vouched or preferred in _DEVICES):
        return
    refused = vouched and preferred in _DEVICES
    for doubt in _doubts(arguments):
        text = f"{doubt.message}; no device holds it unless a data region does, and the kernel runs on cores"
        diagnostics.add(doubt if refused else replace(doubt, severity=Severity.WARNING, message=text))


def _doubts(arguments: Sequence[ArrayArgument]) -> Iterator[Diagnostic]:
    return (argument.doubt for argument in arguments if argument.doubt is not None)
