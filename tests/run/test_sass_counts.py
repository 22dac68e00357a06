"""Static counts of the machine code of 21 kernels for sm_80 and sm_90, which may only fall; no GPU is needed.

The tables are tests/golden/sass/*.txt. `TILEK_UPDATE_GOLDEN=1` lowers what fell and adds what is new; `TILEK_UPDATE_GOLDEN=rises` takes
all counts as they are, after which the commit says what they were raised for.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.gpu.sass import PROGRAMS, Program, changes, compilers, merged, rows_of, table_of, table_text
from benchmarks.measure import BenchmarkError
from tests.support.programs import ROOT, Workshop

GOLDEN = ROOT / "tests" / "golden" / "sass"
HOW = "TILEK_UPDATE_GOLDEN=1 python -m pytest tests/run/test_sass_counts.py lowers what fell, TILEK_UPDATE_GOLDEN=rises takes all"


@pytest.mark.parametrize(
    "program",
    [pytest.param(each, id=each.name, marks=pytest.mark.xdist_group(f"sass-{each.name}")) for each in PROGRAMS],
)
def test_counts_only_fall(
    program: Program, workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        versions = compilers()
    except BenchmarkError as error:
        pytest.skip(str(error))
    table, wish = GOLDEN / f"{program.name}.txt", os.environ.get("TILEK_UPDATE_GOLDEN")
    of_table, before = table_of(table.read_text()) if table.is_file() else (versions, ())
    if versions != of_table and wish != "rises":
        pytest.skip(f"the table is of {of_table}, here is {versions}: install the extra [sass]")
    monkeypatch.setenv("TILEK_CACHE_DIR", str(workshop.cache))  # of the runtime's library
    after = rows_of(program, tmp_path)
    if wish is not None:
        before = merged(before, after, rising=wish == "rises")
        table.write_text(table_text(before, versions))
    complaint = "\n".join(changes(before, after))
    assert complaint == "", f"{complaint}\n{HOW}"
