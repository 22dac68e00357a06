"""The MetaFork slides' kernels: one compiled program serves every block size, the block being an argument (TILEK_SPECIALIZE=0)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cases import read_cases
from tests.support.planning import PlanningWorkshop
from tests.support.programs import FLAGS, Suite, Workshop, first_difference, read_records
from tests.support.targets import TargetEnvironment

FILE = read_cases(Path(__file__).parent / "cases" / "blocks.c")
#: None divides the sizes of all kernels, some divide none; the slides compare 16 to 512 (products:
#: up to 16 by 16 here).
BLOCKS = (3, 8, 16, 64)


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> tuple[Path, Path]:
    """The original and the translated program of all kernels."""
    folder = workshop.folder / "metafork"
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "blocks.c"
    source.write_text(FILE.program(FILE.cases))
    return workshop.build_original(source), workshop.build_translated(source)


def test_one_compiled_kernel_runs_with_every_block_size(
    workshop: Workshop, programs: tuple[Path, Path], device_target: TargetEnvironment, tmp_path: Path
) -> None:
    original, translated = programs
    workshop.run(original, TargetEnvironment("original", ()), str(tmp_path / "wanted"), "all")
    wanted = read_records(tmp_path / "wanted")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    compiled = []
    for block in BLOCKS:
        dump = tmp_path / str(block)
        settings = {"TILEK_SPECIALIZE": "0", "TILEK_CACHE_DIR": str(cache), **OURS}
        workshop.run(translated, device_target, str(dump), "all", str(block), **settings)
        result = read_records(dump)
        wrong = {case.name: first_difference(wanted[case.name], result[case.name]) for case in FILE.cases}
        assert not any(wrong.values()), f"blocks of {block}: {wrong}"
        compiled.append(sorted(path.name for path in cache.rglob("*") if path.is_file()))
    assert compiled[0], "nothing was compiled"
    assert all(each == compiled[0] for each in compiled), "another block size compiled again"


#: Kernels whose tiles the engine chose: relaxation in place, LU, the wavefront of the slides.
TILED = {"stencils": ("gauss_seidel",), "algebra": ("lu", "pascal", "alignment")}


#: Where PoCL keeps no kernels, our cache has all that was compiled.
OURS = {"POCL_KERNEL_CACHE": "0"}


@pytest.mark.parametrize("file", TILED)
def test_one_compiled_kernel_runs_with_every_tile_size(
    planning: PlanningWorkshop, device_target: TargetEnvironment, tmp_path: Path, file: str
) -> None:
    whole = read_cases(Path(__file__).parent / "cases" / f"{file}.c")
    cases = replace(whole, cases=tuple(case for case in whole.cases if case.name in TILED[file]))
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    workshop = PlanningWorkshop(tmp_path, cache, planning.runtime)
    suite = Suite(workshop, cases, flags=FLAGS)
    wanted = {case.name: suite.original(case) for case in cases.cases}
    compiled = []
    for size in (4, 7, 16):
        names = {size.object.host for plan in workshop.plans.values() for size in plan.sizes}
        chosen = (("TILEK_SIZES", ",".join(f"{name}={size}" for name in sorted(names))),) if names else ()
        variables = (*device_target.variables, ("TILEK_SPECIALIZE", "0"), *OURS.items(), *chosen)
        sized = TargetEnvironment(f"{device_target.name}-{size}", variables)
        for case in cases.cases:
            assert first_difference(wanted[case.name], suite.translated(case, sized)) is None, f"tiles of {size}"
        compiled.append(sorted(path.name for path in cache.rglob("*.bin")))
    assert any(plan.sizes for plan in workshop.plans.values())
    assert compiled[0], "nothing was compiled"
    assert all(each == compiled[0] for each in compiled), "another tile size compiled again"
