"""What launches on devices choose for streamed tiles: time steps and planes (streamed_tiles.c)."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

RUNTIME = Path(__file__).parents[3] / "runtime"
DRIVER = """
#include "launch/streamed_tiles.h"
void choose(int64_t steps, int64_t rows, int64_t columns, int64_t units, int64_t sizes[3])
{
    const tilek_stream stream = {steps, rows, 4, 4, {{columns, 256, 4, 4, 2}}, 2, 8};
    tilek_stream_sizes chosen = {sizes[0], sizes[1], {0}};
    tilek_limits limits = {0};
    limits.compute_units = units;
    limits.flops_float = 1e11 * (double)units;
    limits.bandwidth = 1e10 * (double)units;
    tilek_choose_stream(&stream, &limits, &chosen);
    sizes[0] = chosen.degree;
    sizes[1] = chosen.chunk;
    sizes[2] = chosen.lengths[0];
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("streamed")
    (folder / "choose.c").write_text(DRIVER)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ftrapv", "-shared", "-fPIC", "-Wno-missing-braces"]
    includes = [f"-I{RUNTIME}", f"-I{RUNTIME / 'include'}"]
    sources = [str(folder / "choose.c"), str(RUNTIME / "launch" / "streamed_tiles.c")]
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    subprocess.run(
        [compiler, *flags, "-Wno-missing-field-initializers", *includes, *sources, "-o", str(folder / "choose.so")],
        check=True,
    )
    return ctypes.CDLL(str(folder / "choose.so"))


def chosen(library: ctypes.CDLL, steps: int, rows: int, columns: int, units: int) -> tuple[int, int, int]:
    """The time steps, planes and length of a side in place of 7, 256 and 256."""
    sizes = (ctypes.c_int64 * 3)(7, 256, 256)
    library.choose(*map(ctypes.c_int64, (steps, rows, columns, units)), sizes)
    return sizes[0], sizes[1], sizes[2]


def test_steps_are_distributed_over_pairs_of_launches(library: ctypes.CDLL) -> None:
    # Two launches of 4 steps, not of 7 and 1.
    assert chosen(library, 8, 8192, 8192, 80)[0] == 4
    assert chosen(library, 2, 8192, 8192, 80)[0] == 1
    assert chosen(library, 1000, 8192, 8192, 80)[0] > 4


def test_gangs_fill_the_device(library: ctypes.CDLL) -> None:
    for rows, columns, units in ((8192, 8192, 80), (1024, 1024, 20), (512, 512, 20)):
        steps, planes, length = chosen(library, 1000, rows, columns, units)
        gangs = -(-rows // planes) * -(-columns // (length - 4 * steps))
        assert units <= gangs, (rows, columns, units)


def test_tiles_along_a_side_are_even(library: ctypes.CDLL) -> None:
    for columns in (100, 254, 510, 1000, 4094):
        steps, _, length = chosen(library, 1000, 4096, columns, 80)
        tiles = -(-columns // (length - 4 * steps))
        assert length <= 256 and length - 4 * steps == -(-columns // tiles), columns


def test_what_is_no_grid_keeps_the_defaults(library: ctypes.CDLL) -> None:
    for steps, rows in ((0, 100), (100, 0), (-5, 10), (2**62, 100), (100, 2**62)):
        assert chosen(library, steps, rows, 100, 80) == (7, 256, 256)
    assert chosen(library, 100, 100, 100, 0)[0] >= 1
