"""The picture of a nest's iterations with their dependences (thesis, Figure 3.15, left half)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tilepragma.report.geometry import middle
from tilepragma.report.palette import INK, KINDS, PAPER, marker, shaded
from tilepragma.report.scene import (
    RADIUS,
    Figure,
    Scene,
    Ties,
    by_depth,
    distance_text,
    draw_arrows,
    draw_axes,
    kind_entries,
    nearness,
    statement_entries,
    statement_name,
)
from tilepragma.report.sheet import Sheet
from tilepragma.report.svg import Box, Point, around, text_width

#: Beyond these numbers of arrows, in all or for each iteration, only one iteration's are drawn.
_MOST_ARROWS = 420
_MOST_ARROWS_EACH = 8
_UNIT = {1: 34.0, 2: 40.0, 3: 52.0}


def dependences(scene: Scene) -> Figure:
    """All iterations; the dependences of one in the middle stand out, others are faint."""
    sheet = scene.sheet(_UNIT[scene.space.depth])
    draw_axes(sheet, scene)
    ends = scene.strongest()
    chosen = _representative(scene, ends)
    strong_ends = {pair: kind for pair, kind in ends.items() if pair[0] == chosen}
    others = {pair: kind for pair, kind in ends.items() if pair[0] != chosen}
    everything = scene.flat and len(ends) <= min(_MOST_ARROWS, _MOST_ARROWS_EACH * len(scene.space.instances))
    if everything:
        draw_arrows(sheet, scene, others, faint=True)
    strong = {number for pair in strong_ends for number in pair}
    for number in by_depth(scene, range(len(scene.space.instances))):
        _draw_instance(sheet, scene, number, number in strong)
    draw_arrows(sheet, scene, strong_ends, faint=False)
    _label_distances(sheet, scene, strong_ends)
    shown = ends if everything else strong_ends
    entries = [*statement_entries(scene), *kind_entries(scene.space.pairs, shown.values())]
    caption = _dependence_caption(scene, chosen, everything)
    return Figure(
        "dependences", "Iterations and dependences", caption, sheet.finished(entries, "Iteration space", caption)
    )


def _dependence_caption(scene: Scene, chosen: int | None, everything: bool) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in sorted(scene.space.sizes.items()))
    start = f"The iterations at {sizes}" if sizes else "The iterations"
    start += ", loops cut short to fit" if scene.space.cut else ""
    if scene.space.fixed:
        start += f", those of {' and '.join(f'{name} = {value}' for name, value in scene.space.fixed.items())} only"
    if chosen is None:
        return f"{start}. No iteration depends on another."
    instance = scene.space.instances[chosen]
    point = ", ".join(str(value) for value in instance.point)
    rest = "; those of all others are faint" if everything else ""
    return f"{start}, with the dependences on {statement_name(scene, instance.statement)}({point}){rest}."


def _representative(scene: Scene, ends: Iterable[tuple[int, int]]) -> int | None:
    """The source with the most arrows, near the middle."""
    counts: dict[int, int] = {}
    for source, _ in ends:
        counts[source] = counts.get(source, 0) + 1
    if not counts:
        return None
    centre = middle(scene.placed.spots)
    kinds: dict[int, set[tuple[int, str]]] = {}
    for pair in scene.space.pairs:
        kinds.setdefault(pair.source, set()).add((scene.space.instances[pair.sink].statement, str(pair.distance)))

    def worth(number: int) -> tuple[int, float]:
        spot = scene.placed.spots[number]
        return -min(len(kinds[number]), 12), sum((a - b) ** 2 for a, b in zip(spot, centre, strict=True))

    return min(counts, key=worth)


def _draw_instance(sheet: Sheet, scene: Scene, number: int, strong: bool) -> None:
    spot = scene.placed.spots[number]
    near = nearness(scene, spot)
    centre = sheet.at(spot)
    radius = RADIUS * (0.7 + 0.3 * near)
    colour = INK if strong else shaded(INK, 1.0 + (0.0 if scene.flat else 0.35) + 0.45 * (1 - near))
    fill = colour if scene.space.instances[number].statement == 0 or strong else PAPER
    sheet.draw(marker(scene.space.instances[number].statement, centre, radius, fill, colour), centre)


def _label_distances(sheet: Sheet, scene: Scene, ends: Ties) -> None:
    """Label each strong arrow with its distance vector, if these are few and there is room."""
    distances = {(pair.source, pair.sink): pair.distance for pair in scene.space.pairs}
    strong = {distances[pair]: pair for pair in ends if len(distances[pair] or ()) == scene.space.depth}
    if not 0 < len(strong) <= _MOST_LABELS:
        return
    taken = [_square(sheet.at(spot), RADIUS + 0.5) for spot in scene.placed.spots]
    for source, sink in ends:
        taken += _along(
            sheet.at(scene.placed.spots[source]), sheet.at(scene.placed.spots[sink]), scene.space.depth == 1
        )
    for distance, (source, sink) in strong.items():
        words = distance_text(distance or ())
        start, end = sheet.at(scene.placed.spots[source]), sheet.at(scene.placed.spots[sink])
        centre = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        candidates = list(_around(start, end, scene.space.depth == 1))
        room = around(candidates).grown(text_width(words, 9.5))
        near = [box for box in taken if room.overlap(box) > 0]
        places = {candidate: _trouble(candidate, words, near) for candidate in candidates}
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
    for part in range(parts + 1):
        along = part / parts
        x, y = start[0] + along * (end[0] - start[0]), start[1] + along * (end[1] - start[1])
        covered.append(_square((x, y - 4 * bend * along * (1 - along)), 2.0))
    return covered


def _around(start: Point, end: Point, arc: bool) -> Iterator[Point]:
    """Places for the label of an arrow."""
    if arc:
        yield (start[0] + end[0]) / 2, start[1] - min(0.28 * math.dist(start, end), 90.0) - 9
        return
    for dx in range(-40, 41, 4):
        for dy in range(-28, 29, 4):
            yield (start[0] + end[0]) / 2 + dx, (start[1] + end[1]) / 2 + dy


def _square(centre: Point, radius: float) -> Box:
    return Box(centre[0] - radius, centre[1] - radius, centre[0] + radius, centre[1] + radius)


def _text_box(centre: Point, words: str) -> Box:
    wide = text_width(words, 9.5) / 2
    return Box(centre[0] - wide, centre[1] - 5, centre[0] + wide, centre[1] + 5)


def _trouble(centre: Point, words: str, taken: Iterable[Box]) -> float:
    box = _text_box(centre, words)
    return sum(box.overlap(taken_box) for taken_box in taken)
