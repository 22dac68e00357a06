"""How neighbouring workers of each launch access every array, along each parallel loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tilepragma.cost.thread_accesses import WorkerAccess, accesses_of, is_side_by_side, uncoalesced
from tilepragma.ir.polynomial import expression
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.plan.summary import staged_arrays
from tilepragma.report.source_text import plain_text


def access_lines(plan: KernelPlan) -> Mapping[str, tuple[str, ...]]:
    """Lines on each device launch, by name: `neighbours along i: x coalesced, a strided by n`."""
    accesses_by_launch: dict[str, list[WorkerAccess]] = {}
    for access in accesses_of(plan):
        accesses_by_launch.setdefault(access.launch, []).append(access)
    return {
        launch.name: (*_lines(accesses_by_launch[launch.name]), *_left(plan, launch, accesses_by_launch[launch.name]))
        for launch in plan.device
        if launch.name in accesses_by_launch
    }


def _left(plan: KernelPlan, launch: Launch, accesses: list[WorkerAccess]) -> Iterator[str]:
    """The arrays that each worker fetches for itself."""
    from tilepragma.cost.gang_memory import array_tiles_fit

    staged = {array.object for array in staged_arrays(launch)}
    staged |= {scratchpad.array for scratchpad in launch.staged_scratchpads} if array_tiles_fit(plan, launch) else set()
    left = [array.host for array in uncoalesced(accesses, launch.name) if array not in staged]
    if left:
        yield f"neither coalesced nor staged: {', '.join(left)}"


def _lines(accesses: list[WorkerAccess]) -> Iterator[str]:
    alone = all(access.first for access in accesses) and not all(map(is_side_by_side, accesses))
    for loop, arrays in _by_loop(access for access in accesses if access.first).items():
        why = ", which alone runs in parallel" if alone else ""
        yield f"neighbours along {loop}{why}: {', '.join(_phrases(arrays))}"
    # Another loop that is no worse is no reason.
    worse = _by_loop(access for access in accesses if not access.first and not is_side_by_side(access))
    for loop, arrays in worse.items():
        yield f"along {loop} they would have {', '.join(_phrases(arrays))}"


_Arrays = dict[str, dict[str, None]]


def _by_loop(accesses: Iterable[WorkerAccess]) -> dict[str, _Arrays]:
    """For each loop's iterator, how its neighbours access every array, each once."""
    by_loop: dict[str, _Arrays] = {}
    for access in accesses:
        arrays = by_loop.setdefault(access.along.loop.iterator.host, {})
        arrays.setdefault(access.reference.object.host, {})[_reach(access)] = None
    return by_loop


def _phrases(arrays: _Arrays) -> list[str]:
    return [f"{array} {' and '.join(reaches)}" for array, reaches in arrays.items()]


def _reach(access: WorkerAccess) -> str:
    """`strided by n`"""
    if access.pattern.moves:
        stride = access.apart
        if stride is not None and all(factor < 0 for _, factor in stride.terms):
            stride = -stride
        return f"strided by {'rows' if stride is None else plain_text(expression(stride))}"
    return access.pattern.reach.value if is_side_by_side(access) or not access.blocked else "in blocks"
