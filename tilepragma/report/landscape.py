"""Predicted or measured times over tile sizes, and the two sizes that a picture should show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

from tilepragma.base.frozen_values import dataclass

#: Shorter times count as equal: a kernel without work takes none.
_SHORTEST = 1e-12


@dataclass(frozen=True)
class Landscape:
    """Times of tile sizes. `seconds` has the time of every predicted layout, by the values of the
    sizes called `names`. `default` is a layout, if the model has a time for it. `device` is the
    name of the device. `is_measured`: the times were measured on it, by `measured_landscape`; all
    sizes are shown, and `note` is a sentence for the caption on what else they depend on.
    """

    names: tuple[str, ...]
    seconds: Mapping[tuple[int, ...], float]
    default: tuple[int, ...]
    device: str
    is_measured: bool = False
    note: str = ""

    @cached_property
    def best(self) -> tuple[int, ...]:
        """The layout with the least time; the first of several."""
        return min(self.seconds, key=self.seconds.__getitem__)

    def ratio(self, layout: tuple[int, ...]) -> float:
        """Its time as a multiple of the best one's."""
        least = max(self.seconds[self.best], _SHORTEST)
        return max(self.seconds[layout], least) / least

    def through_best(self, places: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        """Ratios of the layouts that differ from the best at `places` only, by the sizes there."""
        others = [place for place in range(len(self.names)) if place not in places]
        return {
            tuple(layout[place] for place in places): self.ratio(layout)
            for layout in self.seconds
            if all(layout[place] == self.best[place] for place in others)
        }

    def spread(self, place: int) -> float:
        """The ratio to the best of the worst value of one size, with the others as in the best."""
        return max(self.through_best((place,)).values())

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The ordered places of the two sizes with the widest spreads, fewer if sizes are fixed."""
        if self.is_measured:
            return tuple(range(len(self.names)))
        free = [place for place in range(len(self.names)) if len(self.through_best((place,))) > 1]
        return tuple(sorted(sorted(free, key=self.spread, reverse=True)[:2]))

    @property
    def fixed(self) -> tuple[int, ...]:
        """The places of the sizes that a picture over `axes` holds at the best layout's values."""
        return tuple(place for place in range(len(self.names)) if place not in self.axes)

    def text(self, layout: tuple[int, ...], places: tuple[int, ...] | None = None) -> str:
        """`i_size = 32, j_size = 8`: all of a layout's sizes, or those at some places."""
        chosen = range(len(self.names)) if places is None else places
        return ", ".join(f"{self.names[place]} = {layout[place]}" for place in chosen)


def measured_landscape(
    names: tuple[str, ...], seconds: Mapping[tuple[int, ...], float], default: tuple[int, ...], device: str, note: str
) -> Landscape | None:
    """The two most important sizes of measured layouts, with the least time over all others.
    Measurements are too scattered for a cut. None where there is a single layout. `default` may be
    empty: not known.
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
    """The least positive time for each combination of the sizes at some places."""
    least: dict[tuple[int, ...], float] = {}
    for layout, time in seconds.items():
        short = tuple(layout[place] for place in places)
        least[short] = min(max(time, _SHORTEST), least.get(short, math.inf))
    return least


def ratio_text(ratio: float) -> str:
    """`1.14`, `23.1`, `150`: three digits."""
    return f"{ratio:.{2 if ratio < 9.995 else 1 if ratio < 99.95 else 0}f}"
