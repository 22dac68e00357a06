"""A nest's points in place, and the parts that all its pictures share: axes, arrows, legends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.geometry import AXONOMETRIC, PLANE, Vector, dot
from tilepragma.report.palette import HAIRLINE, INK, KINDS, LINE, PAPER, marker
from tilepragma.report.placement import Placement, Spot
from tilepragma.report.sheet import LegendEntry, Sheet, arrow, bent_arrow, kind_entry, kind_stroke
from tilepragma.report.svg import Point, Style, group

if TYPE_CHECKING:
    from tilepragma.report.iteration_space import IterationSpace, Pair

RADIUS = 4.2
"""of a marker, in user units"""


class Tie(NamedTuple):
    """A kind of dependence, and whether it is certain."""

    kind: str
    certain: bool


Ties = Mapping[tuple[int, int], Tie]
"""By the numbers of the dependent instances."""
_DRAWN = [Tie(kind, certain) for certain in (True, False) for kind in KINDS]


@dataclass(frozen=True)
class Figure:
    """`name` is for file names, `svg` is the whole document."""

    name: str
    title: str
    caption: str
    svg: str

    def advised(self, advice: str) -> Figure:
        """With another sentence in its caption."""
        return replace(self, caption=f"{self.caption} {advice}")


@dataclass(frozen=True)
class Scene:
    """A nest's points in place. `labels` name its statements, as "S1: A[i] = …"."""

    space: IterationSpace
    placed: Placement
    labels: tuple[str, ...]

    @property
    def flat(self) -> bool:
        """One or two dimensions."""
        return self.space.depth < 3

    @cached_property
    def depths(self) -> tuple[float, float]:
        """The depth of the farthest and of the nearest iteration."""
        depths = [dot(AXONOMETRIC.towards, spot) for spot in self.placed.spots]
        return min(depths), max(depths)

    def sheet(self, scale: float) -> Sheet:
        """An empty sheet for the nest's dimensions."""
        return Sheet(PLANE if self.flat else AXONOMETRIC, scale)

    def tiles(self) -> dict[tuple[int, ...], list[int]]:
        """The instances of each tile, tiles in the order of their wavefronts."""
        tiles: dict[tuple[int, ...], list[int]] = {}
        for number, instance in enumerate(self.space.instances):
            tiles.setdefault(instance.tile, []).append(number)
        return dict(sorted(tiles.items(), key=lambda tile: self.space.instances[tile[1][0]].wavefront))

    def strongest(self) -> Ties:
        """The dependence drawn for each pair: certain before uncertain; flow, anti, output."""
        ties: dict[tuple[int, int], Tie] = {}
        for pair in self.space.pairs:
            ends, tie = (pair.source, pair.sink), Tie(pair.kind, pair.certain)
            if ends not in ties or _DRAWN.index(tie) < _DRAWN.index(ties[ends]):
                ties[ends] = tie
        return ties


def by_depth(scene: Scene, numbers: Iterable[int]) -> list[int]:
    """Far instances first."""
    if scene.flat:
        return list(numbers)
    towards = AXONOMETRIC.towards
    return sorted(numbers, key=lambda number: dot(towards, scene.placed.spots[number]))


def nearness(scene: Scene, spot: Spot) -> float:
    """0 for the farthest iteration, 1 for the nearest; 1 in the plane."""
    if scene.flat:
        return 1.0
    far, near = scene.depths
    return (dot(AXONOMETRIC.towards, spot) - far) / (near - far) if near > far else 1.0


def draw_arrows(sheet: Sheet, scene: Scene, ends: Ties, faint: bool, gap: float = 6.0) -> None:
    """Arrows between instances, bent around instances in the way."""
    spots = {tuple(round(value, 6) for value in spot) for spot in scene.placed.spots}
    for (source, sink), tie in ends.items():
        a, b = scene.placed.spots[source], scene.placed.spots[sink]
        start, end = sheet.at(a), sheet.at(b)
        size = math.hypot(end[0] - start[0], end[1] - start[1])
        if size < 2 * gap:
            continue
        stroke = kind_stroke(tie.kind, tie.certain, HAIRLINE if faint else LINE)
        words = f"arrow {tie.kind}" if tie.certain else f"arrow {tie.kind} perhaps"
        style: Style = {"class_": words, "opacity": 0.3 if faint else 1.0}
        if scene.space.depth == 1 or _crosses(a, b, spots):
            bend = (
                min(0.16 * size, 45.0)
                if scene.space.depth > 1
                else math.copysign(min(0.28 * size, 90.0), end[0] - start[0])
            )
            angle = math.atan2(4 * bend, size)
            drawn = bent_arrow(_off(start, end, gap, angle), _off(end, start, gap, -angle), bend, stroke)
            across = ((end[1] - start[1]) / size, -(end[0] - start[0]) / size)
            apex = ((start[0] + end[0]) / 2 + bend * across[0], (start[1] + end[1]) / 2 + bend * across[1])
            sheet.reach.append(apex)
        else:
            drawn = arrow(_off(start, end, gap), _off(end, start, gap), stroke)
        sheet.draw(group([drawn], **style))


def _off(start: Point, end: Point, gap: float, turn: float = 0.0) -> Point:
    """A point `gap` from `start` towards `end`, turned to the left by `turn`."""
    angle = math.atan2(end[1] - start[1], end[0] - start[0]) - turn
    return start[0] + gap * math.cos(angle), start[1] + gap * math.sin(angle)


def _crosses(start: Spot, end: Spot, spots: set[Spot]) -> bool:
    """Whether an instance stands on the segment; coordinates are multiples of 1/2, 1/3 or 1/4."""
    longest = max(abs(b - a) for a, b in zip(start, end, strict=True))
    return any(
        tuple(round(a + (b - a) * part / parts, 6) for a, b in zip(start, end, strict=True)) in spots
        for parts in {round(longest * fraction) for fraction in (1, 2, 3, 4)}
        for part in range(1, parts)
    )


def distance_text(distance: Sequence[int]) -> str:
    """`(1, −1)` with a typographer's minus."""
    return f"({', '.join(str(value) for value in distance)})".replace("-", "−")


def draw_axes(sheet: Sheet, scene: Scene) -> None:
    """Axes named after the user's iterators, with numbers at iterations."""
    low = [min(values) for values in zip(*scene.placed.spots, strict=True)]
    high = [max(values) for values in zip(*scene.placed.spots, strict=True)]
    names = scene.placed.axes
    if scene.flat:
        corner = [value - 0.75 for value in low] if len(low) > 1 else [low[0] - 0.75, -1.0]
        _axis(sheet, scene, 0, tuple(corner), high[0] + 0.95, names[0], (0.0, 1.0))
        if len(low) > 1:
            _axis(sheet, scene, 1, tuple(corner), high[1] + 0.95, names[1], (-1.0, 0.0))
        return
    front = [value - 0.8 for value in low]
    _axis(sheet, scene, 0, tuple(front), high[0] + 1.0, names[0], (-0.5, 0.85))
    _axis(sheet, scene, 1, tuple(front), high[1] + 1.0, names[1], (0.25, 0.95))
    _axis(sheet, scene, 2, (high[0] + 0.8, front[1], front[2]), high[2] + 1.0, names[2], (-1.0, 0.0))


def _axis(sheet: Sheet, scene: Scene, place: int, start: Vector, end: float, name: str, outwards: Point) -> None:
    values = scene.placed.ticks[place]
    every = 1 if len(values) <= 12 else 2 if len(values) <= 24 else 5
    ticks = [(_with(start, place, float(value)), str(value).replace("-", "−")) for value in values[::every]]
    sheet.axis(start, _with(start, place, end), name, ticks, outwards)


def _with(place: Vector, axis: int, value: float) -> Vector:
    return (*place[:axis], value, *place[axis + 1 :])


def statement_name(scene: Scene, number: int) -> str:
    """`S1`"""
    return scene.labels[number].partition(":")[0]


def statement_entries(scene: Scene) -> list[LegendEntry]:
    """A line of the legend for each statement that has instances."""
    drawn = {instance.statement for instance in scene.space.instances}
    entries = []
    for number, label in enumerate(scene.labels):
        if number not in drawn:
            continue
        fill = INK if number == 0 else PAPER
        entries.append(LegendEntry((marker(number, (7, 0), RADIUS + 0.5, fill, INK, "sample"),), label, 14))
    return entries


def kind_entries(pairs: Sequence[Pair], drawn: Iterable[Tie]) -> list[LegendEntry]:
    """The legend's lines for kinds of dependence, with distance vectors if these are few. `drawn`
    are the kinds that arrows show: of several between two instances, only the first. Uncertain
    dependences have their own lines.
    """
    seen = set(drawn)
    entries = []
    for tie in _DRAWN:
        vectors = {pair.distance for pair in pairs if (pair.kind, pair.certain) == tie}
        if not vectors or (tie not in seen and not tie.certain):
            continue
        distances = sorted(vector for vector in vectors if vector is not None)
        words = tie.kind if tie.certain else f"perhaps {tie.kind}"
        if 0 < len(distances) == len(vectors) <= 5:
            words = f"{words} {', '.join(distance_text(distance) for distance in distances)}"
        entries.append(kind_entry(*tie, words if tie in seen else f"{words}, along the same arrows"))
    return entries
