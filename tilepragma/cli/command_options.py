"""Options that several commands have: lists, files, targets, devices, kernels and their sizes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tilepragma.base.diagnostics import Diagnostics, LocatedError
from tilepragma.base.refusals import CommandError
from tilepragma.base.source_ranges import Position, SourceRange
from tilepragma.cli.output import print_diagnostics
from tilepragma.driver.state import TARGET_NAMES, TranslateRequest, TranslateResult

if TYPE_CHECKING:
    from tilepragma.model.device import Device
    from tilepragma.plan.kernel_plan import KernelPlan

#: Sizes by their text.
Points = dict[str, Mapping[str, int]]
_COMMAND_LINE = SourceRange(*(Position("<command line>", 1, 1, 0),) * 2)


def listed(text: str) -> tuple[str, ...]:
    """The words of a comma-separated list, without duplicates."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(","))) if text else ()


def targets_of(text: str, option: str = "--target: ") -> tuple[str, ...]:
    """The targets of a list. Raises CommandError for unknown ones."""
    for name in listed(text):
        if name not in TARGET_NAMES:
            raise CommandError(f"{option}unknown target '{name}'; targets are {', '.join(TARGET_NAMES)}")
    return listed(text)


def check_output(option: str, name: str, source: str | None, is_made: bool = False) -> None:
    """Check that a file to write is neither the source nor a folder, and that its folder exists or
    `is_made`. Raises CommandError.
    """
    output = Path(name)
    if source and output.exists() and Path(source).exists() and output.samefile(source):
        raise CommandError(f"{option} {output}: that is the source itself")
    if output.is_dir():
        raise CommandError(f"{option} {output}: that is a folder")
    if not is_made and not output.parent.is_dir():
        raise CommandError(f"{option} {name}: there is no such folder")


def chosen_device(option: str, name: str) -> Device | None:
    """The device of the option's value, None without a value. Raises CommandError."""
    if not name:
        return None
    from tilepragma.model.descriptor_files import named_device

    try:
        return named_device(name)
    except LookupError as error:
        raise CommandError(f"{option}: {error}") from None
    except OSError as error:
        raise CommandError(f"{option}: {error.filename or name}: {error.strerror}") from None
    except LocatedError as faults:
        print_diagnostics(faults.diagnostics, name, None)
        raise CommandError(status=1) from None


def chosen_kernels(name: str, result: TranslateResult, request: TranslateRequest) -> list[KernelPlan]:
    """The kernels of that name, or all. Raises CommandError if there are none."""
    named = [plan for plan in result.plans if name in ("", plan.kernel.name)]
    if named:
        return named
    known = [plan.kernel.name for plan in result.plans]
    diagnostics = Diagnostics()
    if not known:
        remedy = "write '#pragma tilek kernel' over a loop"
        diagnostics.error(_COMMAND_LINE, f"{request.source} has no kernel regions to tune", remedy)
    else:
        near = difflib.get_close_matches(name, known, 1)
        remedy = f"did you mean '{near[0]}'?" if near else f"kernels are {', '.join(known)}"
        diagnostics.error(_COMMAND_LINE, f"--kernel {name}: no kernel of {request.source} is called so", remedy)
        for plan in (plan for plan in result.plans if plan.kernel.name in near):
            diagnostics.note(plan.kernel.directive.range, f"kernel '{plan.kernel.name}' is here")
    print_diagnostics(tuple(diagnostics), request.source, request.text)
    raise CommandError


def asked_kernels(
    kernel: str, ranges: Iterable[str], request: TranslateRequest, result: TranslateResult
) -> tuple[list[KernelPlan], Points]:
    """The kernels to measure and their sizes. Raises CommandError if there are none."""
    from tilepragma.report.size_values import Sizes, check_sizes
    from tilepragma.tuning.size_ranges import parse_ranges, sizes_text

    points: Points = {sizes_text(range_): range_ for range_ in parse_ranges(ranges)}
    plans = chosen_kernels(kernel, result, request)
    for point in points.values():
        check_sizes(Sizes(point), [plan.kernel for plan in result.plans], "--sizes")
    return plans, points
