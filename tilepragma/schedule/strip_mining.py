"""Strip-mining of a distributed loop: its parts alternate on strips, to share data in the cache.

    for (i) P;  for (i) Q;
-> for (strip) { for (i in strip) P;  for (i in strip) Q; }

This is as legal as the loop and its distribution: no instance waits for a later iteration.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Expression, access_to, integer
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import Block, Loop, Statement
from tilepragma.ir.polynomial import expression, minimum, number, of_atom, polynomial
from tilepragma.ir.traversal import walk, with_blocks
from tilepragma.ir.types import is_signed
from tilepragma.lower.band_loops import floor_quotient
from tilepragma.plan.default_sizes import STRIP
from tilepragma.plan.kernel_plan import TileSize
from tilepragma.schedule.launch_tree import PlannedHostLoop, PlannedLaunch, PlannedStep
from tilepragma.schedule.strategy import Region
from tilepragma.user_tiles.chain_checks import literal_trip


@dataclass
class Strips:
    """Builds strips; `sizes` are their extents."""

    region: Region
    sizes: list[TileSize] = field(default_factory=list)

    @property
    def next_index(self) -> int:
        """The first unused loop number."""
        return self.region.first_index + len(self.sizes)

    def of(self, loop: Loop, steps: Sequence[PlannedStep]) -> tuple[PlannedStep, ...]:
        """The distributed loop's steps in strips if they stream the same array, else unchanged.

        Raises OperationLimitError.
        """
        launches = [step for step in steps if isinstance(step, PlannedLaunch) and step.loops]
        if not 1 < len(launches) == len(steps) or not _is_simple(loop) or not self._share(loop, launches):
            return tuple(steps)
        names = Names(set(names_in(self.region.kernel)) | {size.object.name for size in self.sizes})
        strip = names.scalar(f"{loop.iterator.host}_strip")
        size = TileSize(names.scalar(f"{loop.iterator.host}_size"), STRIP, STRIP)
        extent = of_atom(access_to(size.object))
        lower, end = polynomial(loop.lower), polynomial(loop.upper) + number(int(loop.comparison == "<="))
        around = Loop(
            self.next_index,
            strip,
            True,
            integer(0),
            "<=",
            expression(floor_quotient(end - lower - number(1), access_to(size.object))),
            integer(1),
            False,
            Block(()),
            None,
        )
        self.sizes.append(size)
        first = lower + of_atom(access_to(strip)) * extent
        bounds = _Bounds(loop.index, expression(first), expression(minimum((end, first + extent))))
        return (PlannedHostLoop(around, tuple(bounds.step(launch) for launch in launches)),)

    def _share(self, loop: Loop, launches: Sequence[PlannedLaunch]) -> bool:
        from tilepragma.poly.band_fusion import has_shared, streams

        parts = []
        for launch in launches:
            nodes = {id(node) for node in walk(launch.body)}
            inside = (each for each in self.region.scop.statements if id(each.node) in nodes)
            parts.append(streams(inside, loop.index))
        return has_shared(parts)


def _is_simple(loop: Loop) -> bool:
    """Whether it counts up by one in signed integers, and may run longer than a strip."""
    steps = polynomial(loop.step).constant == 1 and loop.comparison in ("<", "<=")
    types = (loop.iterator.element, loop.lower.type, loop.upper.type)
    trip = literal_trip(loop)
    signed = all(map(is_signed, types))
    return steps and signed and (trip is None or trip > STRIP)


@dataclass(frozen=True)
class _Bounds:
    """New bounds of the loop `index`: `lower` inclusive, `upper` exclusive."""

    index: int
    lower: Expression
    upper: Expression

    def step(self, launch: PlannedLaunch) -> PlannedLaunch:
        loops = tuple(self._loop(loop) for loop in launch.loops)
        return dataclasses.replace(launch, body=self._block(launch.body), loops=loops)

    def _loop(self, loop: Loop) -> Loop:
        if loop.index != self.index:
            return loop
        return dataclasses.replace(loop, lower=self.lower, comparison="<", upper=self.upper)

    def _block(self, block: Block) -> Block:
        return dataclasses.replace(
            block, statements=tuple(self._statement(statement) for statement in block.statements)
        )

    def _statement(self, statement: Statement) -> Statement:
        if isinstance(statement, Block):
            return self._block(statement)
        changed = with_blocks(statement, self._block)
        return self._loop(changed) if isinstance(changed, Loop) else changed
