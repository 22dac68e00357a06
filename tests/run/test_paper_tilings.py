"""The paper's 8 + 16 + 24 tilings of its four kernels, at sizes that divide nothing, against the original, bit for bit."""

from __future__ import annotations

import functools

import pytest

from tests.support.paper_kernels import PAPER_KERNELS, PaperKernel, all_tilings
from tests.support.programs import Suite, Workshop, first_difference
from tests.support.targets import DEVICE_NAMES, TargetEnvironment


@functools.cache
def suite(workshop: Workshop, kernel: PaperKernel, machine: str) -> Suite:
    tilings = all_tilings(odd=machine == "odd")
    return Suite(Workshop(workshop.folder / machine, workshop.cache), kernel.case_file(tilings), kernel.sizes)


def test_the_tilings_are_those_of_the_paper() -> None:
    tilings = all_tilings()
    assert len(tilings) == 8 + 16 + 24
    assert len({(tiling.counts, tiling.i, tiling.j) for tiling in tilings}) == len(tilings)
    assert tilings[0].i == "tile(thread) tile[0](dynamic)"
    assert tilings[7].j == "tile[0](dynamic) tile(thread)"


@pytest.mark.parametrize("kernel", PAPER_KERNELS, ids=lambda kernel: kernel.name)
def test_every_tiling_agrees_with_the_original(
    workshop: Workshop, target: TargetEnvironment, kernel: PaperKernel
) -> None:
    # The odd machine is the stricter one for guards; one kernel shows it on the targets whose
    # compilers take long.
    odd = target.name not in DEVICE_NAMES or kernel.name == "conv2d"
    wrong = []
    for machine in ("paper", "odd") if odd else ("paper",):
        built = suite(workshop, kernel, machine)
        for case in built.cases.cases:
            difference = first_difference(built.original(case), built.translated(case, target))
            if difference is not None:
                wrong.append(f"{case.name} on the {machine} machine: {difference}")
    assert not wrong, "\n".join(wrong)
