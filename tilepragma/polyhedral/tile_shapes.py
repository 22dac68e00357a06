"""Which of Algorithm 4.1's answers to take: balance is worth its price only where least communication lacks it.

Constraint (4.1) makes a hyperplane of what would have been parallel without synchronisation: for a matrix product it skews
i by k. Where the communication-minimal bands already have a row along which intra-tile wavefronts are balanced, which is
Theorem 3.2 satisfied directly (thesis section 3.2.7.2, last paragraph), they are kept.
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.polyhedral.hyperplanes import HyperplaneOptions, tiling_hyperplanes
from tilepragma.polyhedral.model import Dependence, Statement
from tilepragma.polyhedral.schedule import Schedule
from tilepragma.polyhedral.wavefronts import band_wavefronts


def tile_shapes(
    statements: tuple[Statement, ...],
    dependences: tuple[Dependence, ...],
    options: HyperplaneOptions = HyperplaneOptions(),  # noqa: B008 - frozen
) -> Schedule:
    """The communication-minimal hyperplanes if all their bands are balanced, else those that satisfy (4.1)."""
    minimal = tiling_hyperplanes(statements, dependences, replace(options, balanced_row=None))
    if options.balanced_row is None or all(each.balanced for each in band_wavefronts(minimal, dependences)):
        return minimal
    return tiling_hyperplanes(statements, dependences, options)
