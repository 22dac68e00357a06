"""The MetaFork slides' kernels: one compiled program serves every block size, the block being an argument (TILEK_SPECIALIZE=0)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cases import read_cases
from tests.support.programs import Workshop, first_difference, read_records
from tests.support.targets import TargetEnvironment, target_environment

FILE = read_cases(Path(__file__).parent / "cases" / "blocks.c")
#: None divides the sizes of all kernels, some divide none; the slides compare 16 to 512 (products: up to 16 by 16 here).
BLOCKS = (3, 8, 16, 64)


@pytest.fixture(scope="module")
def programs(workshop: Workshop) -> tuple[Path, Path]:
    """The original and the translated program of all kernels."""
    folder = workshop.folder / "metafork"
    folder.mkdir(parents=True)
    source = folder / "blocks.c"
    source.write_text(FILE.program(FILE.cases))
    return workshop.build_original(source), workshop.build_translated(source)


@pytest.mark.parametrize("name", ["opencl", "cuda"])
def test_one_compiled_kernel_runs_with_every_block_size(
    workshop: Workshop, programs: tuple[Path, Path], shared_scratch: Path, tmp_path: Path, name: str
) -> None:
    target = target_environment(name, shared_scratch)
    if target.absent is not None:
        pytest.skip(target.absent)
    original, translated = programs
    workshop.run(original, TargetEnvironment("original", ()), str(tmp_path / "wanted"), "all")
    wanted = read_records(tmp_path / "wanted")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    compiled = []
    for block in BLOCKS:
        dump = tmp_path / str(block)
        settings = {"TILEK_SPECIALIZE": "0", "TILEK_CACHE_DIR": str(cache)}
        workshop.run(translated, target, str(dump), "all", str(block), **settings)
        found = read_records(dump)
        wrong = {case.name: first_difference(wanted[case.name], found[case.name]) for case in FILE.cases}
        assert not any(wrong.values()), f"blocks of {block}: {wrong}"
        compiled.append(sorted(path.name for path in cache.rglob("*") if path.is_file()))
    assert compiled[0], "nothing was compiled"
    assert all(each == compiled[0] for each in compiled), "another block size compiled again"
