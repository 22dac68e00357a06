"""The picture of tiles, coloured by their wavefronts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.report.geometry import AXONOMETRIC, Vector, dot, faces, hull, middle, minus, plus
from tilepragma.report.palette import INK, PAPER, marker, shaded, time_colour
from tilepragma.report.scene import (
    Figure,
    Scene,
    draw_axes,
    statement_entries,
)
from tilepragma.report.sheet import LegendEntry, Sheet, Stroke, arrow, bent_arrow
from tilepragma.report.svg import Box, Node, Point, Style, around, group, node, path, polygon, text_width

_UNIT = {1: 34.0, 2: 40.0, 3: 44.0}
_DOT = 2.4
#: How far tiles in space move apart, as a part of their distance from the middle.
_EXPLODED = 0.55
_NUMBER = 11.0
"""size of the wavefronts' numbers"""


def tiles(scene: Scene) -> Figure:
    """All tiles, with one colour and one number for each wavefront."""
    sheet = scene.sheet(_UNIT[scene.space.depth])
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
        sample = arrow((0, 0), (26, 0), Stroke(INK))
        entries.append(LegendEntry((sample,), "to a tile that waits for it"))
    return Figure("tiles", "Tiles on cores, and their wavefronts", caption, sheet.finished(entries, "Tiles", caption))


def _tiles_caption(scene: Scene, waves: int) -> str:
    shape = " × ".join([str(scene.space.extent)] * len(scene.space.rows[0]))
    note = "" if scene.flat else ", pulled apart to be seen"
    if waves == 1:
        return f"Tiles of {shape}{note}. All of them run in parallel."
    return (
        f"Tiles of {shape}, smaller than those of a launch{note}. Tiles of one colour and number run in parallel, "
        f"in {waves} wavefronts one after another."
    )


def _time_entries(count: int) -> list[LegendEntry]:
    """A bar of all colours, from first to last."""
    if count < 2:
        return []
    shown = min(count, 24)
    wide = 110.0 / shown
    bar = tuple(
        node(
            "rect",
            x=place * wide,
            y=-6,
            width=wide,
            height=12,
            fill=time_colour(place, shown),
            stroke=INK,
            stroke_width=0.4,
        )
        for place in range(shown)
    )
    return [LegendEntry(bar, f"wavefront 0 … {count - 1}", 110.0)]


# -- the plane


def _margin(scene: Scene) -> float:
    """The distance of a tile's outline from its points: below half the way to the next tile."""
    steps = [1 / math.hypot(*row) for rows in scene.space.rows for row in rows if any(row)] or [1.0]
    parts = len({tuple(value % 1 for value in spot) for spot in scene.placed.spots})
    return min(0.32, 0.4 * min(steps) / parts)


def _flat_tiles(sheet: Sheet, scene: Scene, waves: int) -> None:
    margin = _margin(scene) * sheet.scale
    spots = [sheet.at(spot) for spot in scene.placed.spots]
    outlines = {tile: hull(spots[number] for number in numbers) for tile, numbers in scene.tiles().items()}
    for tile, numbers in scene.tiles().items():
        colour = time_colour(scene.space.instances[numbers[0]].wavefront, waves)
        sheet.draw(group(_blob(outlines[tile], margin, colour), class_="tile"))
        for x, y in outlines[tile]:
            sheet.reach.extend([(x - margin, y - margin), (x + margin, y + margin)])
    for number, instance in enumerate(scene.space.instances):
        fill = INK if instance.statement == 0 else PAPER
        sheet.draw(marker(instance.statement, spots[number], _DOT, fill), spots[number])
    centres = {}
    for tile, numbers in scene.tiles().items():
        centres[tile] = _free_place(outlines[tile], [spots[number] for number in numbers], sheet.scale)
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
    for wide, fill in ((2 * margin + 1.2, shaded(colour, 0.55)), (2 * margin, colour)):
        points = list(outline) if len(outline) > 1 else [outline[0], (outline[0][0] + 0.01, outline[0][1])]
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
    turns = []
    for (ax, ay), (bx, by) in zip(outline, (*outline[1:], outline[0]), strict=True):
        turns.append((bx - ax) * (place[1] - ay) - (by - ay) * (place[0] - ax))
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
    middle_ = middle([sheet.at(spot) for spot in scene.placed.spots])
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
            sheet.draw(group([drawn], class_="tile-arrow"), ((start[0] + end[0]) / 2, start[1] - rise - abs(bend)))
        elif size > 26:
            ahead = ((end[0] - start[0]) / size, (end[1] - start[1]) / size)
            first = (start[0] + 10 * ahead[0], start[1] + 10 * ahead[1])
            last = (end[0] - 10 * ahead[0], end[1] - 10 * ahead[1])
            rim = path([first, last], stroke=PAPER, stroke_width=3.4, fill="none", opacity=0.7)
            sheet.draw(group([rim, arrow(first, last, Stroke(INK), head=8)], class_="tile-arrow"))


# -- space


def _solid_tiles(sheet: Sheet, scene: Scene, waves: int) -> None:
    """Tiles as solids, far ones first, with the points on visible faces."""
    spots = scene.placed.spots
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
        label_place = _place_of_number(words, solid, [nearer.outline for _, nearer in drawn[place + 1 :]], taken)
        if label_place is not None:
            sheet.label(label_place, words, _NUMBER, font_weight="bold")
            taken.append(_number_box(label_place, words))


@dataclass(frozen=True)
class _Solid:
    """A solid on the sheet: its `outline`, and its visible faces, the most frontal one first."""

    outline: list[Point]
    faces: tuple[list[Point], ...]


def _place_of_number(
    words: str, solid: _Solid, nearer: Sequence[Sequence[Point]], taken: Sequence[Box]
) -> Point | None:
    """A place on the tile for its number that no nearer tile hides; None: the colour must do."""
    for corners in solid.faces:
        x, y = middle(corners)
        for toward in ((x, y), *corners):
            for part in (0.0, 0.25, 0.5):
                place = (x + part * (toward[0] - x), y + part * (toward[1] - y))
                box = _number_box(place, words)
                covered = any(_inside(place_, outline) for place_ in _grid(box) for outline in nearer)
                if not covered and not any(box.overlap(taken_box) for taken_box in taken):
                    return place
    return None


def _number_box(centre: Point, words: str) -> Box:
    wide = text_width(words, _NUMBER) / 2 + 1
    return Box(centre[0] - wide, centre[1] - 6, centre[0] + wide, centre[1] + 6)


def _grid(box: Box) -> list[Point]:
    """The corners of a box, the middles of its sides, and its centre."""
    xs, ys = ((low, (low + high) / 2, high) for low, high in ((box.left, box.right), (box.top, box.bottom)))
    return [(x, y) for x in xs for y in ys]


def _triad(sheet: Sheet, scene: Scene) -> None:
    """The directions of the axes, left of the solids."""
    box = around(sheet.reach)
    ends = [sheet.at(tuple(1.1 * float(place == axis) for axis in range(3))) for place in range(3)]
    corner = (box.left - max(x for x, _ in ends) - 30.0, box.bottom - 6.0)
    for (dx, dy), name in zip(ends, scene.placed.axes, strict=True):
        end = (corner[0] + dx, corner[1] + dy)
        sheet.draw(arrow(corner, end, Stroke(INK, 1.0), head=7.0), corner, end)
        far = math.hypot(dx, dy)
        sheet.label((end[0] + 9 * dx / far, end[1] + 9 * dy / far), name, 13, font_style="italic")


def _solid(sheet: Sheet, points: Sequence[Vector], colour: str) -> _Solid:
    seen = [face for face in faces(points) if dot(face.normal, AXONOMETRIC.towards) > 1e-6]
    drawn: list[Node] = []
    for face in seen:
        light = 0.9 + 0.28 * dot(face.normal, (-0.3, -0.55, 0.78))
        corners = [sheet.at(corner) for corner in face.corners]
        sheet.reach.extend(corners)
        fill = shaded(colour, light)
        drawn.append(polygon(corners, fill=fill, stroke=shaded(colour, 0.5), stroke_width=0.9, stroke_linejoin="round"))
    if not seen:
        outline = hull(sheet.at(point) for point in points)
        margin = _blob_margin(outline)
        sheet.reach.extend((x + side, y + side) for x, y in outline for side in (-margin, margin))
        drawn += _blob(outline, margin, colour)
    on_faces = [
        point
        for point in points
        if not seen or any(abs(dot(face.normal, minus(point, face.corners[0]))) < 1e-6 for face in seen)
    ]
    drawn += [node("circle", cx=x, cy=y, r=1.5, fill=INK, opacity=0.6) for x, y in map(sheet.at, on_faces)]
    sheet.draw(group(drawn, class_="tile"))
    seen.sort(key=lambda face: -dot(face.normal, AXONOMETRIC.towards))
    places = [sheet.at(point) for point in points]
    rim = _blob_margin(hull(places)) if not seen else 0.0
    outline = hull((x + dx, y + dy) for x, y in places for dx in (-rim, rim) for dy in (-rim, rim))
    return _Solid(outline, tuple([sheet.at(corner) for corner in face.corners] for face in seen) or (hull(places),))


def _blob_margin(outline: Sequence[Point]) -> float:
    """How much larger than its points a tile without volume is drawn."""
    return 5.0 if len(outline) > 2 else 9.0
