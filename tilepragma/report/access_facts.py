"""What neighbouring workers of each launch make of every array, and what they would along the other loops that run at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from tilepragma.ir.polynomial import expression
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.worker_accesses import accesses_of, is_side_by_side
from tilepragma.report.source_text import plain_text

if TYPE_CHECKING:
    from tilepragma.polyhedral.worker_accesses import WorkerAccess


def access_lines(plan: KernelPlan) -> Mapping[str, tuple[str, ...]]:
    """Lines on each launch for devices, by its name: `neighbours along i: x coalesced, a strided by n`."""
    found: dict[str, list[WorkerAccess]] = {}
    for one in accesses_of(plan):
        found.setdefault(one.launch, []).append(one)
    return {launch: tuple(_lines(accesses)) for launch, accesses in found.items()}


def _lines(accesses: list[WorkerAccess]) -> Iterator[str]:
    taken = _by_loop(one for one in accesses if one.first)
    others = _by_loop(one for one in accesses if not one.first)
    alone = not others and any(not is_side_by_side(one) for one in accesses)
    for loop, arrays in taken.items():
        why = ", which alone runs at once" if alone else ""
        yield f"neighbours along {loop}{why}: {', '.join(_phrases(arrays))}"
    said = {phrase for arrays in taken.values() for phrase in _phrases(arrays)}
    for loop, arrays in others.items():
        rest = [phrase for phrase in _phrases(arrays) if phrase not in said]
        if rest:
            yield f"along {loop} they would have {', '.join(rest)}"


_Arrays = dict[str, dict[str, None]]


def _by_loop(accesses: Iterable[WorkerAccess]) -> dict[str, _Arrays]:
    """By the iterator of the loop what becomes of every array, each said once."""
    found: dict[str, _Arrays] = {}
    for one in accesses:
        arrays = found.setdefault(one.along.loop.iterator.host, {})
        arrays.setdefault(one.reference.object.host, {})[_reach(one)] = None
    return found


def _phrases(arrays: _Arrays) -> list[str]:
    return [f"{array} {' and '.join(reaches)}" for array, reaches in arrays.items()]


def _reach(one: WorkerAccess) -> str:
    """`strided by n`"""
    if one.pattern.moves:
        return f"strided by {'rows' if one.apart is None else plain_text(expression(one.apart))}"
    return one.pattern.reach.value if is_side_by_side(one) or not one.blocked else "in blocks"
