"""What neighbouring workers of each launch make of every array, and what they would along the other loops that run at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from tilepragma.cost.thread_accesses import accesses_of, is_side_by_side, uncoalesced
from tilepragma.ir.polynomial import expression
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.plan.summary import staged_arrays
from tilepragma.report.source_text import plain_text

if TYPE_CHECKING:
    from tilepragma.verify.thread_access_checks import WorkerAccess


def access_lines(plan: KernelPlan) -> Mapping[str, tuple[str, ...]]:
    """Lines on each launch for devices, by its name: `neighbours along i: x coalesced, a strided by n`."""
    found: dict[str, list[WorkerAccess]] = {}
    for access in accesses_of(plan):
        found.setdefault(access.launch, []).append(access)
    return {
        launch.name: (*_lines(found[launch.name]), *_left(plan, launch, found[launch.name]))
        for launch in plan.device
        if launch.name in found
    }


def _left(plan: KernelPlan, launch: Launch, accesses: list[WorkerAccess]) -> Iterator[str]:
    """What each worker has to fetch for itself."""
    from tilepragma.cost.tile_bytes import array_tiles_fit

    staged = {array.object for array in staged_arrays(launch)}
    staged |= {scratchpad.array for scratchpad in launch.staged_scratchpads} if array_tiles_fit(plan, launch) else set()
    left = [one.host for one in uncoalesced(accesses, launch.name) if one not in staged]
    if left:
        yield f"neither coalesced nor staged: {', '.join(left)}"


def _lines(accesses: list[WorkerAccess]) -> Iterator[str]:
    alone = all(access.first for access in accesses) and not all(map(is_side_by_side, accesses))
    for loop, arrays in _by_loop(access for access in accesses if access.first).items():
        why = ", which alone runs at once" if alone else ""
        yield f"neighbours along {loop}{why}: {', '.join(_phrases(arrays))}"
    # What is no worse along another loop is no reason.
    worse = _by_loop(access for access in accesses if not access.first and not is_side_by_side(access))
    for loop, arrays in worse.items():
        yield f"along {loop} they would have {', '.join(_phrases(arrays))}"


_Arrays = dict[str, dict[str, None]]


def _by_loop(accesses: Iterable[WorkerAccess]) -> dict[str, _Arrays]:
    """By the iterator of the loop what becomes of every array, each said once."""
    found: dict[str, _Arrays] = {}
    for access in accesses:
        arrays = found.setdefault(access.along.loop.iterator.host, {})
        arrays.setdefault(access.reference.object.host, {})[_reach(access)] = None
    return found


def _phrases(arrays: _Arrays) -> list[str]:
    return [f"{array} {' and '.join(reaches)}" for array, reaches in arrays.items()]


def _reach(one: WorkerAccess) -> str:
    """`strided by n`"""
    if one.pattern.moves:
        apart = one.apart
        if apart is not None and all(factor < 0 for _, factor in apart.terms):
            apart = -apart
        return f"strided by {'rows' if apart is None else plain_text(expression(apart))}"
    return one.pattern.reach.value if is_side_by_side(one) or not one.blocked else "in blocks"
