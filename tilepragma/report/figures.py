"""Three pictures of a nest, as the thesis has them in Figures 3.15, 4.1, 4.3 and 4.6: the iterations with their dependences,
the tiles with their wavefronts, and one tile with the wavefronts of its points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilepragma.report.dependence_figure import dependences
from tilepragma.report.placement import placement
from tilepragma.report.scene import Figure, Scene
from tilepragma.report.tile_figures import one_tile, tiles

if TYPE_CHECKING:
    from tilepragma.polyhedral.iteration_space import IterationSpace


def figures(space: IterationSpace, labels: Sequence[str]) -> tuple[Figure, ...]:
    """The pictures of a nest; `labels` say what its statements are."""
    scene = Scene(space, placement(space), tuple(labels))
    made = [dependences(scene), tiles(scene)]
    inside = one_tile(scene)
    return (*made, inside) if inside is not None else tuple(made)
