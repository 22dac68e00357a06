"""Parses targets, kernels and sizes of a command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tilepragma.driver.state import TARGET_NAMES

if TYPE_CHECKING:
    from tilepragma.driver.state import TranslateRequest, TranslateResult
    from tilepragma.plan.kernel_plan import KernelPlan

#: Sizes by their text.
Points = dict[str, Mapping[str, int]]


def listed(text: str) -> tuple[str, ...]:
    """The words of a comma-separated list, without duplicates."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(","))) if text else ()


def target_problem(text: str) -> str:
    """What is wrong with a list of targets, in a clause; empty if nothing is."""
    unknown = [name for name in listed(text) if name not in TARGET_NAMES]
    return f"unknown target '{unknown[0]}'; targets are {', '.join(TARGET_NAMES)}" if unknown else ""


def asked_kernels(
    kernel: str, ranges: Iterable[str], request: TranslateRequest, result: TranslateResult
) -> tuple[list[KernelPlan], Points] | None:
    """The kernels to measure and their sizes; None after a message if there are none, or ranges are
    invalid.

    Raises SizeError for sizes that no kernel has.
    """
    from tilepragma.cli.report import print_error
    from tilepragma.cli.tune import chosen_kernels
    from tilepragma.report.size_values import Sizes, check_sizes
    from tilepragma.tuning.size_ranges import SizeRangeError, parse_ranges, sizes_text

    try:
        points: Points = {sizes_text(range_): range_ for range_ in parse_ranges(ranges)}
    except SizeRangeError as error:
        print_error("tilepragma", str(error))
        return None
    plans = chosen_kernels(kernel, result, request)
    if plans is None:
        return None
    for point in points.values():
        check_sizes(Sizes(point), [plan.kernel for plan in result.plans], "--sizes")
    return plans, points
