"""How launches are distributed to several devices: a clause for each launch."""

from __future__ import annotations

from collections.abc import Iterator

from tilepragma.ir.expressions import access_to
from tilepragma.ir.polynomial import expression, number, of_atom, polynomial
from tilepragma.plan.kernel_plan import Division, KernelPlan, RowUse
from tilepragma.report.source_text import plain_text


def division_rows(plan: KernelPlan) -> Iterator[str]:
    """For each device launch, the distributed loop and the rows that an iteration touches."""
    for launch, division in zip(plan.device, plan.divisions, strict=bool(plan.divisions)):
        uses = ", ".join(dict.fromkeys(_use(use, division) for use in division.uses))
        if division.loop is None:
            yield f"launch {launch.name} on one of several: {uses}"
        else:
            yield f"launch {launch.name} on several, blocks of {division.loop.loop.iterator.host}: {uses}"


def _use(use: RowUse, division: Division) -> str:
    does = "writes" if use.writes else "reads"
    if use.least is None or use.greatest is None:
        return f"{does} any row of {use.object.host}"
    ends = [_row(use, division, offset) for offset in dict.fromkeys((use.least, use.greatest))]
    return f"{does} {use.object.host} in row{'s' if len(ends) > 1 else ''} {' to '.join(ends)}"


def _row(use: RowUse, division: Division, offset: int) -> str:
    row = number(offset)
    if use.base is not None:
        row = row + polynomial(use.base)
    if division.loop is not None:
        row = row + number(use.scale) * of_atom(access_to(division.loop.loop.iterator))
    return plain_text(expression(row))
