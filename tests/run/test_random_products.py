"""Random sums of products on cores, against the original, bit for bit: full and partial register tiles, panels, triangles."""

from __future__ import annotations

import pytest

from tests.support.cases import read_cases
from tests.support.programs import FLAGS, Suite, Workshop, first_difference
from tests.support.random_products import random_products
from tests.support.targets import TargetEnvironment

THREADS = TargetEnvironment("threads", (("TILEK_TARGET", "threads"), ("TILEK_STRICT", "1")))


@pytest.mark.parametrize("seed", range(2))
def test_random_products_agree_with_the_original(workshop: Workshop, seed: int) -> None:
    folder = workshop.folder / f"products{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "products.c"
    path.write_text(random_products(seed, 16))
    file = read_cases(path)
    built = Suite(Workshop(folder, workshop.cache), file, flags=FLAGS)
    for case in file.cases:
        difference = first_difference(built.original(case), built.translated(case, THREADS))
        assert difference is None, f"{case.name}: {difference}"
