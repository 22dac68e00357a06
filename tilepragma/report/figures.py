"""The pictures of a nest, as in the thesis's Figures 3.15, 4.1 and 4.3: instances and tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilepragma.report.dependence_figure import dependences
from tilepragma.report.placement import placement
from tilepragma.report.scene import Figure, Scene
from tilepragma.report.tile_figures import tiles

if TYPE_CHECKING:
    from tilepragma.report.iteration_space import IterationSpace


def figures(space: IterationSpace, labels: Sequence[str]) -> tuple[Figure, ...]:
    """The pictures of a nest; `labels` describe its statements."""
    scene = Scene(space, placement(space), tuple(labels))
    made = (dependences(scene),)
    return (*made, tiles(scene)) if space.rows else made
