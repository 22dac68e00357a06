"""Pictures of a nest: iterations, dependences, tiles (thesis, Figures 3.15, 4.1 and 4.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.drawing import (
    HAIRLINE,
    INK,
    KINDS,
    LINE,
    PAPER,
    Box,
    Figure,
    LegendEntry,
    Node,
    Sheet,
    Stroke,
    Style,
    around,
    arrow,
    bent_arrow,
    kind_entry,
    kind_stroke,
    marker,
    node,
    path,
    polygon,
    shaded,
    text_width,
    time_colour,
)
from tilepragma.report.geometry import AXONOMETRIC, PLANE, Point, Vector, dot, faces, hull, middle, minus, plus
from tilepragma.report.iteration_space import Instance, IterationSpace, Pair, SpaceStatement


@dataclass(frozen=True)
class Scene:
    """A nest's points in place. `labels` name its statements, as "S1: A[i] = …". `spots`: `depth`
    numbers an instance. `axes` are iterators' names, `ticks` their values.
    """

    space: IterationSpace
    labels: Sequence[str]
    spots: tuple[Vector, ...]
    axes: tuple[str, ...]
    ticks: tuple[tuple[int, ...], ...]

    @property
    def flat(self) -> bool:
        """One or two dimensions."""
        return self.space.depth < 3

    @cached_property
    def depths(self) -> tuple[float, float]:
        """The depth of the farthest and of the nearest iteration."""
        depths = [dot(AXONOMETRIC.towards, spot) for spot in self.spots]
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

    def strongest(self) -> ArrowKinds:
        """The dependence drawn for each pair: certain before uncertain; flow, anti, output."""
        kinds: dict[tuple[int, int], ArrowKind] = {}
        for pair in self.space.pairs:
            ends, arrow_kind = (pair.source, pair.sink), ArrowKind(pair.kind, pair.certain)
            if ends not in kinds or _DRAWN.index(arrow_kind) < _DRAWN.index(kinds[ends]):
                kinds[ends] = arrow_kind
        return kinds


def scene_of(space: IterationSpace, labels: Sequence[str]) -> Scene:
    """Axes are the loops of the deepest statement. A statement in fewer loops stands beside its
    neighbours in execution order. A statement in the same iteration as another moves a part of a
    step along the loop that orders the two.
    """
    deepest = next(statement.iterators for statement in space.statements if len(statement.iterators) == space.depth)
    axes = [_axes_of(statement, deepest) for statement in space.statements]
    given = [dict(zip(axes[instance.statement], instance.point, strict=True)) for instance in space.instances]
    bases = _bases(space, given)
    slots = _slots(space, bases)
    moves = {number: (axes[number][level], slot) for number, (level, slot) in slots.items()}
    most = [max((slot for axis, slot in moves.values() if axis == place), default=0) for place in range(space.depth)]
    spots = []
    for base, instance in zip(bases, space.instances, strict=True):
        level, slot = slots[instance.statement]
        axis, _ = moves[instance.statement]
        moved = list(base)
        moved[axis] += space.statements[instance.statement].steps[level] * slot / (most[axis] + 1)
        spots.append(tuple(moved))
    ticks = tuple(tuple(sorted({spot[axis] for spot in given if axis in spot})) for axis in range(space.depth))
    return Scene(space, labels, tuple(spots), _axis_names(space, axes, deepest), ticks)


def _axis_names(space: IterationSpace, axes: list[tuple[int, ...]], deepest: tuple[str, ...]) -> tuple[str, ...]:
    """The iterators of the first deepest statement; further names on an axis after a /."""
    names: list[dict[str, None]] = [{name: None} for name in deepest]
    for statement, statement_axes in zip(space.statements, axes, strict=True):
        for axis, name in zip(statement_axes, statement.iterators, strict=True):
            names[axis][name] = None
    return tuple(" / ".join(axis_names) for axis_names in names)


def _axes_of(statement: SpaceStatement, names: tuple[str, ...]) -> tuple[int, ...]:
    """The axis of each loop: the axis with its iterator's name if all have one, else by depth."""
    if set(statement.iterators) <= set(names) and len(set(statement.iterators)) == len(statement.iterators):
        return tuple(names.index(name) for name in statement.iterators)
    return tuple(range(len(statement.iterators)))


def _bases(space: IterationSpace, given: list[dict[int, int]]) -> list[Vector]:
    """The iterators on their axes; on other axes, the place before or after the neighbours'."""
    neighbours = _neighbours(space, given)
    least = [min((spot[axis] for spot in given if axis in spot), default=0) for axis in range(space.depth)]
    return [
        tuple(
            float(coordinates[axis] if axis in coordinates else _beside(space, instance, axis, neighbours, least))
            for axis in range(space.depth)
        )
        for instance, coordinates in zip(space.instances, given, strict=True)
    ]


#: For a statement, loops and an axis: the least and greatest place there, by the loops' values.
_Ranges = dict[tuple[int, int, int], dict[tuple[int, ...], tuple[int, int]]]


def _neighbours(space: IterationSpace, given: list[dict[int, int]]) -> _Ranges:
    ranges: _Ranges = {}
    for instance, coordinates in zip(space.instances, given, strict=True):
        for shared in range(1, len(instance.point) + 1):
            for axis, value in coordinates.items():
                by_prefix = ranges.setdefault((instance.statement, shared, axis), {})
                low, high = by_prefix.get(instance.point[:shared], (value, value))
                by_prefix[instance.point[:shared]] = min(low, value), max(high, value)
    return ranges


def _beside(space: IterationSpace, instance: Instance, axis: int, neighbours: _Ranges, least: list[int]) -> int:
    """A value on an axis without a loop: before the next instance, else after the last."""
    statement = space.statements[instance.statement]
    before: list[int] = []
    after: list[int] = []
    later = False
    for number, neighbour in enumerate(space.statements):
        shared = _shared(statement, neighbour)
        if number == instance.statement or shared == 0:
            continue
        by_prefix = neighbours.get((number, shared, axis), {})
        later = later or (number > instance.statement and bool(by_prefix))
        if instance.point[:shared] in by_prefix:
            low, high = by_prefix[instance.point[:shared]]
            if number > instance.statement:
                after.append(low)
            else:
                before.append(high)
    if after:
        return min(after) - 1
    if before and not later:
        return max(before) + 1
    return least[axis] - (1 if later else 0)


def _slots(space: IterationSpace, bases: list[Vector]) -> dict[int, tuple[int, int]]:
    """For each statement the loop along which it moves, and the number of parts, or (0, 0)."""
    taken: dict[int, set[Vector]] = {}
    for base, instance in zip(bases, space.instances, strict=True):
        taken.setdefault(instance.statement, set()).add(base)
    slots: dict[int, tuple[int, int]] = {}
    for number, statement in enumerate(space.statements):
        level, slot = 0, 0
        for earlier in range(number):
            if taken.get(number, set()) & taken.get(earlier, set()):
                shared = _shared(statement, space.statements[earlier])
                level, slot = max(shared - 1, 0), max(slot, slots[earlier][1] + 1)
        slots[number] = (level, slot)
    return slots


def _shared(left: SpaceStatement, right: SpaceStatement) -> int:
    pairs = zip(left.loops, right.loops, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


# -- scene


RADIUS = 4.2
"""of a marker, in user units"""


class ArrowKind(NamedTuple):
    """The kind of dependence that an arrow shows, and whether it is certain."""

    kind: str
    certain: bool


ArrowKinds = Mapping[tuple[int, int], ArrowKind]
"""by the numbers of the source and the sink instance"""
_DRAWN = [ArrowKind(kind, certain) for certain in (True, False) for kind in KINDS]


def nearness(scene: Scene, spot: Vector) -> float:
    """0 for the farthest iteration, 1 for the nearest; 1 in the plane."""
    if scene.flat:
        return 1.0
    far, near = scene.depths
    return (dot(AXONOMETRIC.towards, spot) - far) / (near - far) if near > far else 1.0


def draw_arrows(sheet: Sheet, scene: Scene, ends: ArrowKinds, faint: bool) -> None:
    """Arrows between instances, bent around instances in the way."""
    gap = 6.0
    spots = {tuple(round(value, 6) for value in spot) for spot in scene.spots}
    for (source, sink), arrow_kind in ends.items():
        a, b = scene.spots[source], scene.spots[sink]
        start, end = sheet.at(a), sheet.at(b)
        size = math.hypot(end[0] - start[0], end[1] - start[1])
        if size < 2 * gap:
            continue
        stroke = kind_stroke(arrow_kind.kind, arrow_kind.certain, HAIRLINE if faint else LINE)
        words = f"arrow {arrow_kind.kind}" if arrow_kind.certain else f"arrow {arrow_kind.kind} perhaps"
        style: Style = {"class_": words, "opacity": 0.3 if faint else 1.0}
        if scene.space.depth == 1 or _crosses(a, b, spots):
            bend = min(0.16 * size, 45.0)
            if scene.space.depth == 1:
                bend = math.copysign(min(0.28 * size, 90.0), end[0] - start[0])
            angle = math.atan2(4 * bend, size)
            drawn = bent_arrow(_off(start, end, gap, angle), _off(end, start, gap, -angle), bend, stroke)
            across = ((end[1] - start[1]) / size, -(end[0] - start[0]) / size)
            apex = ((start[0] + end[0]) / 2 + bend * across[0], (start[1] + end[1]) / 2 + bend * across[1])
            sheet.reach.append(apex)
        else:
            drawn = arrow(_off(start, end, gap), _off(end, start, gap), stroke)
        sheet.draw(node("g", drawn, **style))


def _off(start: Point, end: Point, gap: float, turn: float = 0.0) -> Point:
    """A point `gap` from `start` towards `end`, turned to the left by `turn`."""
    angle = math.atan2(end[1] - start[1], end[0] - start[0]) - turn
    return start[0] + gap * math.cos(angle), start[1] + gap * math.sin(angle)


def _crosses(start: Vector, end: Vector, spots: set[Vector]) -> bool:
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
    low = [min(values) for values in zip(*scene.spots, strict=True)]
    high = [max(values) for values in zip(*scene.spots, strict=True)]
    if scene.flat:
        corner = tuple(value - 0.75 for value in low) if len(low) > 1 else (low[0] - 0.75, -1.0)
        for place, outwards in zip(range(len(low)), ((0.0, 1.0), (-1.0, 0.0)), strict=False):
            _axis(sheet, scene, place, corner, high[place] + 0.95, outwards)
        return
    front = tuple(value - 0.8 for value in low)
    _axis(sheet, scene, 0, front, high[0] + 1.0, (-0.5, 0.85))
    _axis(sheet, scene, 1, front, high[1] + 1.0, (0.25, 0.95))
    _axis(sheet, scene, 2, (high[0] + 0.8, front[1], front[2]), high[2] + 1.0, (-1.0, 0.0))


def _axis(sheet: Sheet, scene: Scene, place: int, start: Vector, end: float, outwards: Point) -> None:
    values = scene.ticks[place]
    every = 1 if len(values) <= 12 else 2 if len(values) <= 24 else 5
    ticks = [(_with(start, place, float(value)), str(value).replace("-", "−")) for value in values[::every]]
    sheet.axis(start, _with(start, place, end), scene.axes[place], ticks, outwards)


def _with(place: Vector, axis: int, value: float) -> Vector:
    return (*place[:axis], value, *place[axis + 1 :])


def statement_entries(scene: Scene) -> list[LegendEntry]:
    """A line of the legend for each statement that has instances."""
    drawn = {instance.statement for instance in scene.space.instances}
    return [
        LegendEntry((marker(number, (7, 0), RADIUS + 0.5, PAPER if number else INK, INK, "sample"),), label, 14)
        for number, label in enumerate(scene.labels)
        if number in drawn
    ]


def kind_entries(pairs: Sequence[Pair], drawn: Iterable[ArrowKind]) -> list[LegendEntry]:
    """The legend's lines for kinds of dependence, with distance vectors if these are few. `drawn`
    are the kinds that arrows show: of several between two instances, only the first. Uncertain
    dependences have their own lines.
    """
    seen = set(drawn)
    entries = []
    for arrow_kind in _DRAWN:
        vectors = {pair.distance for pair in pairs if (pair.kind, pair.certain) == arrow_kind}
        if not vectors or (arrow_kind not in seen and not arrow_kind.certain):
            continue
        distances = sorted(vector for vector in vectors if vector is not None)
        words = arrow_kind.kind if arrow_kind.certain else f"perhaps {arrow_kind.kind}"
        if 0 < len(distances) == len(vectors) <= 5:
            words = f"{words} {', '.join(distance_text(distance) for distance in distances)}"
        entries.append(kind_entry(*arrow_kind, words if arrow_kind in seen else f"{words}, along the same arrows"))
    return entries


# -- dependence figure


#: Beyond these numbers of arrows, in all or for each iteration, only one iteration's are drawn.
_MOST_ARROWS = 420
_MOST_ARROWS_EACH = 8
_DEPENDENCE_UNIT = {1: 34.0, 2: 40.0, 3: 52.0}


def dependences(scene: Scene) -> Figure:
    """All iterations; the dependences of one in the middle stand out, others are faint."""
    sheet = scene.sheet(_DEPENDENCE_UNIT[scene.space.depth])
    draw_axes(sheet, scene)
    ends = scene.strongest()
    chosen = _representative(scene, ends)
    strong_ends = {pair: kind for pair, kind in ends.items() if pair[0] == chosen}
    others = {pair: kind for pair, kind in ends.items() if pair[0] != chosen}
    everything = scene.flat and len(ends) <= min(_MOST_ARROWS, _MOST_ARROWS_EACH * len(scene.space.instances))
    if everything:
        draw_arrows(sheet, scene, others, faint=True)
    strong = {number for pair in strong_ends for number in pair}
    # Far instances first.
    depths = [0.0 if scene.flat else dot(AXONOMETRIC.towards, spot) for spot in scene.spots]
    for number in sorted(range(len(depths)), key=depths.__getitem__):
        _draw_instance(sheet, scene, number, number in strong)
    draw_arrows(sheet, scene, strong_ends, faint=False)
    _label_distances(sheet, scene, strong_ends)
    shown = ends if everything else strong_ends
    entries = [*statement_entries(scene), *kind_entries(scene.space.pairs, shown.values())]
    caption = _dependence_caption(scene, chosen, everything)
    drawing = sheet.finished(entries, "Iteration space", caption)
    return Figure("dependences", "Iterations and dependences", caption, drawing)


def _dependence_caption(scene: Scene, chosen: int | None, everything: bool) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in sorted(scene.space.sizes.items()))
    start = f"The iterations at {sizes}" if sizes else "The iterations"
    start += ", loops cut short to fit" if scene.space.cut else ""
    if scene.space.fixed:
        start += f", those of {' and '.join(f'{name} = {value}' for name, value in scene.space.fixed.items())} only"
    if chosen is None:
        return f"{start}. No iteration depends on another."
    instance = scene.space.instances[chosen]
    point = ", ".join(map(str, instance.point))
    name = scene.labels[instance.statement].partition(":")[0]
    rest = "; those of all others are faint" if everything else ""
    return f"{start}, with the dependences on {name}({point}){rest}."


def _representative(scene: Scene, ends: Iterable[tuple[int, int]]) -> int | None:
    """The source with the most arrows, near the middle."""
    counts: dict[int, int] = {}
    for source, _ in ends:
        counts[source] = counts.get(source, 0) + 1
    if not counts:
        return None
    centre = middle(scene.spots)
    kinds: dict[int, set[tuple[int, str]]] = {}
    for pair in scene.space.pairs:
        kinds.setdefault(pair.source, set()).add((scene.space.instances[pair.sink].statement, str(pair.distance)))

    def worth(number: int) -> tuple[int, float]:
        spot = scene.spots[number]
        return -min(len(kinds[number]), 12), sum((a - b) ** 2 for a, b in zip(spot, centre, strict=True))

    return min(counts, key=worth)


def _draw_instance(sheet: Sheet, scene: Scene, number: int, strong: bool) -> None:
    spot = scene.spots[number]
    near = nearness(scene, spot)
    centre = sheet.at(spot)
    radius = RADIUS * (0.7 + 0.3 * near)
    colour = INK if strong else shaded(INK, 1.0 + (0.0 if scene.flat else 0.35) + 0.45 * (1 - near))
    statement = scene.space.instances[number].statement
    sheet.draw(marker(statement, centre, radius, colour if statement == 0 or strong else PAPER, colour), centre)


def _label_distances(sheet: Sheet, scene: Scene, ends: ArrowKinds) -> None:
    """Label each strong arrow with its distance vector, if these are few and there is room."""
    distances = {(pair.source, pair.sink): pair.distance for pair in scene.space.pairs}
    strong = {distances[pair]: pair for pair in ends if len(distances[pair] or ()) == scene.space.depth}
    if not 0 < len(strong) <= _MOST_LABELS:
        return
    taken = [Box(*sheet.at(spot) * 2).grown(RADIUS + 0.5) for spot in scene.spots]
    for source, sink in ends:
        taken += _along(sheet.at(scene.spots[source]), sheet.at(scene.spots[sink]), scene.space.depth == 1)
    for distance, (source, sink) in strong.items():
        words = distance_text(distance or ())
        start, end = sheet.at(scene.spots[source]), sheet.at(scene.spots[sink])
        centre = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        candidates = list(_label_places(start, end, scene.space.depth == 1))
        room = around(candidates).grown(text_width(words, 9.5))
        near = [box for box in taken if room.overlap(box) > 0]
        places = {candidate: sum(_text_box(candidate, words).overlap(box) for box in near) for candidate in candidates}
        place = min(places, key=lambda candidate: places[candidate] + 1.5 * math.dist(candidate, centre))
        if places[place] < _TOLERABLE:
            taken.append(_text_box(place, words))
            sheet.label(place, words, 9.5, fill=KINDS[ends[source, sink].kind][0])


#: With more distance vectors than this, only the legend has them; so too for a label that would
#: cover this much area of other things.
_MOST_LABELS = 8
_TOLERABLE = 40.0


def _along(start: Point, end: Point, arc: bool) -> list[Box]:
    """The area that an arrow covers, as small squares."""
    parts = max(2, int(math.dist(start, end) / 5))
    bend = min(0.28 * math.dist(start, end), 90.0) if arc else 0.0
    covered = []
    for along in (part / parts for part in range(parts + 1)):
        x, y = start[0] + along * (end[0] - start[0]), start[1] + along * (end[1] - start[1])
        bent = y - 4 * bend * along * (1 - along)
        covered.append(Box(x, bent, x, bent).grown(2.0))
    return covered


def _label_places(start: Point, end: Point, arc: bool) -> Iterator[Point]:
    if arc:
        yield (start[0] + end[0]) / 2, start[1] - min(0.28 * math.dist(start, end), 90.0) - 9
        return
    for dx in range(-40, 41, 4):
        for dy in range(-28, 29, 4):
            yield (start[0] + end[0]) / 2 + dx, (start[1] + end[1]) / 2 + dy


def _text_box(centre: Point, words: str, size: float = 9.5, margin: float = 0.0) -> Box:
    wide, high = text_width(words, size) / 2 + margin, 5 + margin
    return Box(centre[0] - wide, centre[1] - high, centre[0] + wide, centre[1] + high)


# -- tile figures


_TILE_UNIT = {1: 34.0, 2: 40.0, 3: 44.0}
_DOT = 2.4
#: How far tiles in space move apart, as a part of their distance from the middle.
_EXPLODED = 0.55
_NUMBER = 11.0
"""size of the wavefronts' numbers"""


def tiles(scene: Scene) -> Figure:
    """All tiles, with one colour and one number for each wavefront."""
    sheet = scene.sheet(_TILE_UNIT[scene.space.depth])
    waves = 1 + max(instance.wavefront for instance in scene.space.instances)
    if scene.flat:
        draw_axes(sheet, scene)
        _flat_tiles(sheet, scene, waves)
    else:
        _solid_tiles(sheet, scene, waves)
        _triad(sheet, scene)
    caption = _tiles_caption(scene, waves)
    entries = [*(statement_entries(scene) if scene.flat else []), *_time_entries(waves)]
    if scene.flat and waves > 1:
        entries.append(LegendEntry((arrow((0, 0), (26, 0), Stroke(INK)),), "to a tile that waits for it"))
    return Figure("tiles", "Tiles on cores, and their wavefronts", caption, sheet.finished(entries, "Tiles", caption))


def _tiles_caption(scene: Scene, waves: int) -> str:
    shape = " × ".join([str(scene.space.extent)] * len(scene.space.rows[0]))
    note = "" if scene.flat else ", pulled apart to be seen"
    if waves == 1:
        return f"Tiles of {shape}{note}. All of them run in parallel."
    order = f"Tiles of one colour and number run in parallel, in {waves} wavefronts one after another."
    return f"Tiles of {shape}, smaller than those of a launch{note}. {order}"


def _time_entries(count: int) -> list[LegendEntry]:
    if count < 2:
        return []
    shown = min(count, 24)
    wide = 110.0 / shown
    bar = tuple(
        node("rect", x=place * wide, y=-6, width=wide, height=12, fill=fill, stroke=INK, stroke_width=0.4)
        for place, fill in enumerate(time_colour(place, shown) for place in range(shown))
    )
    return [LegendEntry(bar, f"wavefront 0 … {count - 1}", 110.0)]


# -- the plane


def _margin(scene: Scene) -> float:
    """The distance of a tile's outline from its points: below half the way to the next tile."""
    steps = [1 / math.hypot(*row) for rows in scene.space.rows for row in rows if any(row)] or [1.0]
    parts = len({tuple(value % 1 for value in spot) for spot in scene.spots})
    return min(0.32, 0.4 * min(steps) / parts)


def _flat_tiles(sheet: Sheet, scene: Scene, waves: int) -> None:
    margin = _margin(scene) * sheet.scale
    spots = [sheet.at(spot) for spot in scene.spots]
    outlines = {tile: hull(spots[number] for number in numbers) for tile, numbers in scene.tiles().items()}
    for tile, numbers in scene.tiles().items():
        colour = time_colour(scene.space.instances[numbers[0]].wavefront, waves)
        sheet.draw(node("g", *_blob(outlines[tile], margin, colour), class_="tile"))
        for x, y in outlines[tile]:
            sheet.reach.extend([(x - margin, y - margin), (x + margin, y + margin)])
    for number, instance in enumerate(scene.space.instances):
        fill = INK if instance.statement == 0 else PAPER
        sheet.draw(marker(instance.statement, spots[number], _DOT, fill), spots[number])
    centres = {
        tile: _free_place(outlines[tile], [spots[number] for number in numbers], sheet.scale)
        for tile, numbers in scene.tiles().items()
    }
    _tile_arrows(sheet, scene, centres)
    for tile, numbers in scene.tiles().items():
        words = str(scene.space.instances[numbers[0]].wavefront)
        (x, y), free = centres[tile]
        if waves > 1 and scene.space.depth == 1:
            sheet.label((x, y + margin + 9), words, _NUMBER, font_weight="bold")
        elif waves > 1 and free > _DOT + 6:
            sheet.label((x, y), words, _NUMBER, font_weight="bold")


def _blob(outline: Sequence[Point], margin: float, colour: str) -> list[Node]:
    """A convex shape with round corners, `margin` larger than its outline, with a thin border."""
    both = []
    points = list(outline) if len(outline) > 1 else [outline[0], (outline[0][0] + 0.01, outline[0][1])]
    for wide, fill in ((2 * margin + 1.2, shaded(colour, 0.55)), (2 * margin, colour)):
        style: Style = {"fill": fill, "stroke": fill, "stroke_width": wide, "stroke_linejoin": "round"}
        both.append(polygon(points, stroke_linecap="round", **style))
    return both


def _free_place(outline: Sequence[Point], spots: Sequence[Point], scale: float) -> tuple[Point, float]:
    """A place for a number near a tile's middle, and its distance from the tile's nearest point."""
    x, y = sum(p[0] for p in outline) / len(outline), sum(p[1] for p in outline) / len(outline)
    best = ((x, y), 0.0)
    for dx in (0.0, 0.25, -0.25, 0.5, -0.5):
        for dy in (0.0, 0.25, -0.25, 0.5, -0.5):
            place = (x + dx * scale, y + dy * scale)
            free = min(math.dist(place, spot) for spot in spots)
            if _inside(place, outline) and free > best[1] + 1e-6 + 0.2 * math.hypot(dx, dy):
                best = (place, free)
    return best


def _inside(place: Point, outline: Sequence[Point]) -> bool:
    """Whether a place lies in a convex polygon of three corners or more."""
    if len(outline) < 3:
        return False
    sides = zip(outline, (*outline[1:], outline[0]), strict=True)
    turns = [(bx - ax) * (place[1] - ay) - (by - ay) * (place[0] - ax) for (ax, ay), (bx, by) in sides]
    return all(turn >= -1e-6 for turn in turns) or all(turn <= 1e-6 for turn in turns)


def _tile_arrows(sheet: Sheet, scene: Scene, centres: Mapping[tuple[int, ...], tuple[Point, float]]) -> None:
    """Arrows from the middle tile to the tiles that wait for it."""
    waiting: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for pair in scene.space.pairs:
        source, sink = scene.space.instances[pair.source].tile, scene.space.instances[pair.sink].tile
        if source != sink:
            waiting.setdefault(source, set()).add(sink)
    if not waiting:
        return
    tiles = scene.tiles()
    middle_ = middle([sheet.at(spot) for spot in scene.spots])
    chosen = min(
        waiting, key=lambda tile: (-len(waiting[tile]), -len(tiles[tile]), math.dist(centres[tile][0], middle_))
    )
    for sink in sorted(waiting[chosen]):
        start, end = centres[chosen][0], centres[sink][0]
        size = math.dist(start, end)
        if scene.space.depth == 1:
            bend = math.copysign(min(0.2 * size, 60.0), end[0] - start[0])
            rise = 12.0
            drawn = bent_arrow((start[0], start[1] - rise), (end[0], end[1] - rise), bend, Stroke(INK))
            sheet.draw(node("g", drawn, class_="tile-arrow"), ((start[0] + end[0]) / 2, start[1] - rise - abs(bend)))
        elif size > 26:
            ahead = ((end[0] - start[0]) / size, (end[1] - start[1]) / size)
            first = (start[0] + 10 * ahead[0], start[1] + 10 * ahead[1])
            last = (end[0] - 10 * ahead[0], end[1] - 10 * ahead[1])
            rim = path([first, last], stroke=PAPER, stroke_width=3.4, fill="none", opacity=0.7)
            sheet.draw(node("g", rim, arrow(first, last, Stroke(INK), head=8), class_="tile-arrow"))


# -- space


def _solid_tiles(sheet: Sheet, scene: Scene, waves: int) -> None:
    """Tiles as solids, far ones first, with the points on visible faces."""
    spots = scene.spots
    centre = middle(spots)
    solids = []
    for numbers in scene.tiles().values():
        tile_spots = [spots[number] for number in numbers]
        shift = tuple(_EXPLODED * value for value in minus(middle(tile_spots), centre))
        moved = [plus(spot, shift) for spot in tile_spots]
        solids.append((dot(AXONOMETRIC.towards, middle(moved)), numbers, moved))
    drawn = []
    for _, numbers, moved in sorted(solids, key=lambda solid: solid[0]):
        wave = scene.space.instances[numbers[0]].wavefront
        drawn.append((str(wave), _solid(sheet, moved, time_colour(wave, waves))))
    taken: list[Box] = []
    for place, (words, solid) in reversed(list(enumerate(drawn if waves > 1 else ()))):
        label_place = _place_of_number(words, solid, [outline for _, (outline, _) in drawn[place + 1 :]], taken)
        if label_place is not None:
            sheet.label(label_place, words, _NUMBER, font_weight="bold")
            taken.append(_text_box(label_place, words, _NUMBER, 1))


#: A solid on the sheet: its outline, and its visible faces, the most frontal one first.
_Solid = tuple[list[Point], tuple[list[Point], ...]]


def _place_of_number(
    words: str, solid: _Solid, nearer: Sequence[Sequence[Point]], taken: Sequence[Box]
) -> Point | None:
    """A place on the tile for its number that no nearer tile hides; None: the colour must do."""
    for corners in solid[1]:
        x, y = middle(corners)
        for toward in ((x, y), *corners):
            for part in (0.0, 0.25, 0.5):
                place = (x + part * (toward[0] - x), y + part * (toward[1] - y))
                box = _text_box(place, words, _NUMBER, 1)
                covered = any(_inside(place_, outline) for place_ in _grid(box) for outline in nearer)
                if not covered and not any(box.overlap(taken_box) for taken_box in taken):
                    return place
    return None


def _grid(box: Box) -> list[Point]:
    """The corners of a box, the middles of its sides, and its centre."""
    xs, ys = ((low, (low + high) / 2, high) for low, high in ((box.left, box.right), (box.top, box.bottom)))
    return [(x, y) for x in xs for y in ys]


def _triad(sheet: Sheet, scene: Scene) -> None:
    """The directions of the axes, left of the solids."""
    box = around(sheet.reach)
    ends = [sheet.at(tuple(1.1 * float(place == axis) for axis in range(3))) for place in range(3)]
    corner = (box.left - max(x for x, _ in ends) - 30.0, box.bottom - 6.0)
    for (dx, dy), name in zip(ends, scene.axes, strict=True):
        end = (corner[0] + dx, corner[1] + dy)
        sheet.draw(arrow(corner, end, Stroke(INK, 1.0), head=7.0), corner, end)
        far = math.hypot(dx, dy)
        sheet.label((end[0] + 9 * dx / far, end[1] + 9 * dy / far), name, 13, font_style="italic")


def _solid(sheet: Sheet, points: Sequence[Vector], colour: str) -> _Solid:
    seen = [face for face in faces(points) if dot(face.normal, AXONOMETRIC.towards) > 1e-6]
    drawn: list[Node] = []
    for face in seen:
        fill = shaded(colour, 0.9 + 0.28 * dot(face.normal, (-0.3, -0.55, 0.78)))
        corners = [sheet.at(corner) for corner in face.corners]
        sheet.reach.extend(corners)
        drawn.append(polygon(corners, fill=fill, stroke=shaded(colour, 0.5), stroke_width=0.9, stroke_linejoin="round"))
    if not seen:
        outline = hull(sheet.at(point) for point in points)
        margin = _blob_margin(outline)
        sheet.reach.extend((x + side, y + side) for x, y in outline for side in (-margin, margin))
        drawn += _blob(outline, margin, colour)
    for point in points:
        if not seen or any(abs(dot(face.normal, minus(point, face.corners[0]))) < 1e-6 for face in seen):
            x, y = sheet.at(point)
            drawn.append(node("circle", cx=x, cy=y, r=1.5, fill=INK, opacity=0.6))
    sheet.draw(node("g", *drawn, class_="tile"))
    seen.sort(key=lambda face: -dot(face.normal, AXONOMETRIC.towards))
    places = [sheet.at(point) for point in points]
    rim = _blob_margin(hull(places)) if not seen else 0.0
    outline = hull((x + dx, y + dy) for x, y in places for dx in (-rim, rim) for dy in (-rim, rim))
    return outline, tuple([sheet.at(corner) for corner in face.corners] for face in seen) or (hull(places),)


def _blob_margin(outline: Sequence[Point]) -> float:
    """How much larger than its points a tile without volume is drawn."""
    return 5.0 if len(outline) > 2 else 9.0


# -- figures


def figures(space: IterationSpace, labels: Sequence[str]) -> tuple[Figure, ...]:
    """The pictures of a nest; `labels` describe its statements."""
    scene = scene_of(space, labels)
    return (dependences(scene), tiles(scene)) if space.rows else (dependences(scene),)
