"""Random affine nests: schedules and wavefronts are legal by isl's sets and compute what the text computes."""

from __future__ import annotations

import random

import pytest

from tests.support.band_orders import execution_map
from tests.support.simulated_runs import run, run_as_written
from tests.support.stencil_programs import statement
from tests.thesis.access_flow import value_based_dependences
from tests.thesis.schedule_legality import untilable, violated_orders, violations
from tilepragma.poly.dependences import within
from tilepragma.poly.hyperplanes import tiling_hyperplanes
from tilepragma.poly.scop import ScopStatement
from tilepragma.poly.wavefronts import band_wavefronts

SIZES = {"N": 5}
RANKS = {"A": 2, "B": 1}


def random_program(seed: int) -> tuple[ScopStatement, ...]:
    """One to three statements of one to three loops, triangular bounds, in one nest or several, on two arrays."""
    chance = random.Random(seed)
    fused = chance.random() < 0.6
    result: list[ScopStatement] = []
    for number in range(chance.randint(1, 3)):
        depth = chance.randint(1, 3)
        iterators = "ijk"[:depth]
        bounds = []
        for place, name in enumerate(iterators):
            outer = iterators[chance.randrange(place)] if place else "0"
            upper = ["N", "N", "N - 1", "5"] + ([f"{outer} + 2"] if place else [])
            bounds.append(f"{chance.choice(['0', '1', outer])} <= {name} < {chance.choice(upper)}")
        position = (0, number, *[0] * (depth - 1)) if fused else (number, *[0] * depth)
        above = result[-1] if result else None
        if fused and above is not None and min(depth, above.depth) >= 2 and chance.random() < 0.3:
            position = (0, above.position[1], number + 1, *[0] * (depth - 2))
        accesses = [random_access(chance, iterators) for _ in range(chance.randint(2, 3))]
        domain = " and ".join(bounds)
        result.append(statement(f"S{number}", ", ".join(iterators), domain, position, *accesses, parameters="N"))
    return tuple(result)


def random_access(chance: random.Random, iterators: str) -> str:
    def subscript() -> str:
        name = chance.choice([*iterators, *iterators, "0"])
        shifted = f"{name} + {chance.randint(-1, 1)}"
        return chance.choice([shifted, name, f"N - {name}", f"{name} + {chance.choice(iterators)}"])

    array = chance.choice("AB")
    return f"{array}[{', '.join(subscript() for _ in range(RANKS[array]))}]"


@pytest.mark.parametrize("seed", range(60))
def test_random_nests(seed: int) -> None:
    statements = random_program(seed)
    dependences = value_based_dependences(statements)
    schedule = tiling_hyperplanes(statements, dependences)
    assert violations(schedule, dependences) == ()
    assert untilable(schedule, dependences) == ()
    expected = run_as_written(statements, SIZES)
    assert run(statements, {each.statement.name: each.map for each in schedule}, SIZES) == expected
    for item in band_wavefronts(schedule, dependences):
        members = [each for each in schedule if each.statement.name in item.statements]
        sizes = (2, 3, 2)[: len(item.levels)]
        times = {each.statement.name: execution_map(each, item, sizes) for each in members}
        assert violated_orders(times, within(dependences, times)) == ()
        if len(members) == len(statements):
            before, rows = item.levels[0], len(item.levels)
            parallel = (*range(before + 1, before + rows), *range(before + rows + 2, before + 2 * rows + 1))
            assert run(statements, times, SIZES, parallel=parallel, seed=seed) == expected
