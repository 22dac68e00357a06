"""The colours of a sweep: which points may be computed at once, and in which order the colours are taken."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from tests.unit.patterns.relaxation_cases import RELAXATIONS
from tests.unit.patterns.test_recognition import region
from tilepragma.patterns.colouring import MOST_CLASSES, Colouring, colouring
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import Direction, SorNest, Sweep

SWEEPS = {
    f"{case.name}-{place}": sweep
    for case in RELAXATIONS
    for nest in relaxations(region(case))
    if isinstance(nest, SorNest)
    for place, sweep in enumerate(nest.sweeps)
}
FOUND = {"sor_of_poisson": ((0, 0), (1, 1), (0, 1), (1, 0)), "line_of_the_thesis": ((0,), (1,))}


@pytest.mark.parametrize("name", SWEEPS)
def test_no_point_sees_its_own_colour(name: str) -> None:
    """Every class is in one colour, and of two neighbours never both."""
    sweep = SWEEPS[name]
    colours = colouring(sweep)
    assert colours is not None
    assert sorted(colours.classes) == sorted(itertools.product(range(colours.modulus), repeat=len(sweep.axes)))
    colour_of = {each: number for number, colour in enumerate(colours.colours) for each in colour}
    for point in colours.classes:
        for neighbour in sweep.neighbours:
            if any(neighbour.offset):
                beside = tuple(
                    (one + offset) % colours.modulus for one, offset in zip(point, neighbour.offset, strict=True)
                )
                assert colour_of[beside] != colour_of[point]
    assert (colour_of[(0,) * len(sweep.axes)] == 0) == (sweep.direction is not Direction.BACKWARD)


@pytest.mark.parametrize(("name", "classes"), FOUND.items())
def test_red_comes_first(name: str, classes: tuple[tuple[int, ...], ...]) -> None:
    colours = colouring(SWEEPS[f"{name}-0"])
    assert colours is not None and len(colours.colours) == 2
    assert colours.classes == classes


def test_a_backward_sweep_takes_the_colours_the_other_way() -> None:
    forward, backward = (colouring(SWEEPS[f"symmetric-{place}"]) for place in (0, 1))
    assert isinstance(forward, Colouring) and isinstance(backward, Colouring)
    assert backward.colours == forward.colours[::-1]


def test_far_neighbours() -> None:
    """Neighbours 2 away take a modulus of 3; those 4 away in two dimensions 25 classes, which are too many."""
    plain = SWEEPS["sor_of_poisson-0"]
    assert colours_of(plain, 2) == 9
    assert colours_of(plain, 3) == 16 <= MOST_CLASSES
    assert colours_of(plain, 4) is None


def colours_of(sweep: Sweep, radius: int) -> int | None:
    """The colours where neighbours up to `radius` away along both dimensions are seen."""
    near = next(each for each in sweep.neighbours if any(each.offset))
    far = [
        dataclasses.replace(near, offset=offset)
        for distance in range(1, radius + 1)
        for offset in ((distance, 0), (0, -distance))
    ]
    colours = colouring(dataclasses.replace(sweep, neighbours=tuple(far)))
    return None if colours is None else len(colours.colours)
