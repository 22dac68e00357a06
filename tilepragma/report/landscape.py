"""Predicted or measured times over a plan's tile sizes, and which of them a picture in two dimensions is worth most for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

from tilepragma.base.frozen_values import dataclass

#: Seconds below which times are not told apart: a kernel that has nothing to do takes none.
_SHORTEST = 1e-12


@dataclass(frozen=True)
class Landscape:
    """`seconds` of every layout that was predicted, by the values of the sizes of these `names`;
    `default` is one of them where the model has a time for it. `device` is the name of the one that
    they are predicted for. `is_measured`: they were measured there instead; `note` is then a
    sentence for the caption on what else they depend on, and all sizes are shown
    (`measured_landscape`).
    """

    names: tuple[str, ...]
    seconds: Mapping[tuple[int, ...], float]
    default: tuple[int, ...]
    device: str
    is_measured: bool = False
    note: str = ""

    @cached_property
    def best(self) -> tuple[int, ...]:
        """The layout of the least time; of several the first."""
        return min(self.seconds, key=self.seconds.__getitem__)

    def ratio(self, layout: tuple[int, ...]) -> float:
        """Its time as a multiple of the best one's."""
        least = max(self.seconds[self.best], _SHORTEST)
        return max(self.seconds[layout], least) / least

    def through_best(self, places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        """Ratios of the layouts that have the best one's sizes except at these places, by the sizes at these."""
        others = [place for place in range(len(self.names)) if place not in places]
        return {
            tuple(layout[place] for place in places): self.ratio(layout)
            for layout in self.seconds
            if all(layout[place] == self.best[place] for place in others)
        }

    def spread(self, place: int) -> float:
        """How many times as long as the best the worst value of one size takes, the others as in the best."""
        return max(self.through_best((place,)).values())

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The places of the two sizes of the widest spread, of one where others have a single value, in their order; none: a single layout."""
        if self.is_measured:
            return tuple(range(len(self.names)))
        free = [place for place in range(len(self.names)) if len(self.through_best((place,))) > 1]
        return tuple(sorted(sorted(free, key=self.spread, reverse=True)[:2]))

    @property
    def fixed(self) -> tuple[int, ...]:
        """The places of the sizes that a picture over `axes` holds at the best one's values."""
        return tuple(place for place in range(len(self.names)) if place not in self.axes)

    def text(self, layout: tuple[int, ...], places: tuple[int, ...] | None = None) -> str:
        """`i_size = 32, j_size = 8`: all of a layout's sizes, or those at some places."""
        chosen = range(len(self.names)) if places is None else places
        return ", ".join(f"{self.names[place]} = {layout[place]}" for place in chosen)


def measured_landscape(
    names: tuple[str, ...], seconds: Mapping[tuple[int, ...], float], default: tuple[int, ...], device: str, note: str
) -> Landscape | None:
    """The two sizes that matter most of layouts that were measured, with the least time of all
    values of the others: what is measured lies too scattered for a cut. None where there is a
    single layout. `default` may be empty: not known.
    """
    places = [place for place in range(len(names)) if len({layout[place] for layout in seconds}) > 1]
    spreads = {place: _least(seconds, (place,)) for place in places}
    widest = sorted(places, key=lambda place: max(spreads[place].values()) / min(spreads[place].values()), reverse=True)
    shown = tuple(sorted(widest[:2]))
    if not shown:
        return None
    if len(places) > len(shown):
        others = " and ".join(names[place] for place in places if place not in shown)
        note = f"{note} Each cell is the fastest of all {others}."
        default = ()  # the time of its cell need not be its own
    default = tuple(default[place] for place in shown) if default else ()
    return Landscape(tuple(names[place] for place in shown), _least(seconds, shown), default, device, True, note)


def _least(seconds: Mapping[tuple[int, ...], float], places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The least time by the sizes at some places; none is 0."""
    found: dict[tuple[int, ...], float] = {}
    for layout, time in seconds.items():
        short = tuple(layout[place] for place in places)
        found[short] = min(max(time, _SHORTEST), found.get(short, math.inf))
    return found


def ratio_text(ratio: float) -> str:
    """`1.14`, `23.1`, `150`: three digits."""
    return f"{ratio:.{2 if ratio < 9.995 else 1 if ratio < 99.95 else 0}f}"
