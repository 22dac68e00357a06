"""Tables of static counts, what is worse in them, and the loops that counts are of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.gpu.cubin import EntryPoint, Instruction, Loop, loops, reachable, without_filling
from benchmarks.gpu.sass import Kernel, Launch, Row, changes, faults, merged, rises, row_of, table_of, table_text
from tests.support.programs import ROOT
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu

ROW = Row("sgemm", 90, 256, 109, 0, 24576, 25, 2026, 186, 32, 58, "sums stay in registers")
PLAIN = Row("axpy", 80, 256, 10, 0, 0, 100, 18, 0, 1, 180)


def code(*lines: str) -> tuple[Instruction, ...]:
    """`OPCODE`, `OPCODE -> PLACE`; `@` in front stands for a predicate."""
    result = []
    for line in lines:
        text, _, target = line.removeprefix("@").partition(" -> ")
        opcode, _, operands = text.partition(" ")
        place = int(target) if target else None
        result.append(Instruction(opcode, operands, place, "@P0" if line.startswith("@") else ""))
    return tuple(result)


def test_tables_read_back() -> None:
    text = table_text((PLAIN, ROW), "NVRTC 12.9.86")
    assert table_of(text) == ("NVRTC 12.9.86", (PLAIN, ROW))
    assert "5.8  # sums stay in registers" in text


@pytest.mark.parametrize(
    "table", sorted((ROOT / "tests" / "golden" / "sass").glob("*.txt")), ids=lambda path: path.stem
)
def test_golden_tables_are_as_written(table: Path) -> None:
    text = table.read_text()
    versions, rows = table_of(text)
    assert rows and table_text(rows, versions) == text


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (replace(PLAIN, code=19), "18 -> 19 instructions"),
        (replace(PLAIN, point=181), "18.0 -> 18.1 instructions a point"),
        (replace(PLAIN, local=8), "0 -> 8 bytes of local memory"),
        (replace(PLAIN, occupancy=75), "0 -> 25 % of occupancy lost"),
    ],
)
def test_what_rises_is_a_change(after: Row, said: str) -> None:
    assert rises(PLAIN, after) == (said,)
    assert said in "\n".join(changes((PLAIN,), (after,)))
    assert rises(after, PLAIN) == ()


def test_what_falls_is_a_change_too() -> None:
    fallen = replace(PLAIN, code=17, registers=12)
    assert rises(PLAIN, fallen) == ()
    assert list(changes((PLAIN,), (fallen,))) == [
        "axpy for sm_80 is no worse, but not as it was: regs 10 -> 12, code 18 -> 17"
    ]


def test_entry_points_that_come_and_go_are_changes() -> None:
    assert list(changes((PLAIN,), (replace(PLAIN, sm=90),))) == [
        "axpy for sm_80: is there no more",
        "axpy for sm_90: is new",
    ]


def test_spills_and_low_occupancy_need_a_reason() -> None:
    assert faults(ROW) == () and faults(PLAIN) == ()
    bad = replace(PLAIN, local=16, occupancy=49)
    assert faults(bad) == ("16 bytes of local memory", "an occupancy of 49 %")
    assert [line for line in changes((bad,), (bad,)) if "say why" in line]
    assert not list(changes((replace(bad, reason="so"),), (bad,)))


def test_updates_lower_only_and_keep_reasons() -> None:
    risen, fallen = replace(PLAIN, code=19), replace(ROW, code=2000, reason="")
    assert merged((PLAIN, ROW), (risen, fallen), rising=False) == (PLAIN, replace(fallen, reason=ROW.reason))
    assert merged((PLAIN, ROW), (risen, fallen), rising=True) == (risen, replace(fallen, reason=ROW.reason))
    assert merged((PLAIN,), (ROW,), rising=False) == (replace(ROW, reason=""),)


def test_what_fills_a_section_is_left_out() -> None:
    assert without_filling(code("EXIT", "BRA -> 1", "NOP", "NOP")) == code("EXIT")
    assert without_filling(code("FMUL", "BRA -> 0")) == code("FMUL", "BRA -> 0")


def test_loops_are_natural_loops() -> None:
    nested = code("MOV", "MOV", "FMUL", "@BRA -> 2", "@BRA -> 1", "EXIT")
    assert loops(nested) == (Loop(1, frozenset({1, 2, 3, 4})), Loop(2, frozenset({2, 3})))
    assert loops(code("FMUL", "BRA P0 , -> 0", "EXIT")) == (Loop(0, frozenset({0, 1})),)


def test_branches_back_from_code_apart_are_no_loops() -> None:
    # What is seldom needed stands after the end and branches back into the middle.
    assert loops(code("@BRA -> 3", "FMUL", "EXIT", "MOV", "BRA -> 1")) == ()
    assert reachable(code("FMUL", "EXIT", "MOV")) == frozenset({0, 1})


def test_branches_join_where_the_barrier_says() -> None:
    joined = code("BSSY B0, -> 4", "@BRA -> 3", "BSYNC B0", "BSYNC B0", "FMUL", "@BRA -> 0", "EXIT")
    assert loops(joined) == (Loop(0, frozenset({0, 1, 2, 3, 4, 5})),)


@pytest.mark.parametrize(("device", "shared", "left"), [("a100", 1024, 1024), ("h100", 2048, 1024)])
def test_counts_of_a_loop(device: str, shared: int, left: int) -> None:
    gpu = named_device(device)
    assert isinstance(gpu, Gpu)
    unrolled = code("MOV", "LDG", "FMUL", "FMUL", "FMUL", "FMUL", "@BRA -> 1", "FMUL", "STG.E.128", "EXIT")
    launch = Launch(ROOT, "five", 256)
    row = row_of(Kernel("five", 1), launch, gpu, EntryPoint(64, 0, shared, unrolled))
    assert (row.code, row.loop, row.work, row.point) == (10, 6, 4, 15)
    assert (row.shared, row.occupancy) == (left, 50)
    stores = row_of(Kernel("five", 1, work=r"STG\b"), launch, gpu, EntryPoint(64, 0, shared, unrolled))
    assert (stores.loop, stores.work, stores.point) == (0, 4, 25)
