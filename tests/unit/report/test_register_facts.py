"""What explain says of registers on the GPU that is planned for: gangs as the runtime makes them, and what keeps more of them away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.reports import explain_page, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Device, Gpu
from tilepragma.report.size_values import parse_sizes

LINE = b"""
void f(int n, int steps, float a[n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++) a[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.3f;
}"""


@pytest.fixture(autouse=True)
def without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEK_NVRTC_LIBRARY", "/nowhere")


def h100(**changes: int) -> Gpu:
    result = named_device("h100")
    assert isinstance(result, Gpu)
    return replace(result, **changes)  # type: ignore[arg-type]


def rows(device: Device, *sizes: str) -> tuple[str, ...]:
    result = translate(TranslateRequest("t.c", text=LINE, device=device, last="choose_sizes"))
    (facts,) = kernel_reports(result, parse_sizes(list(sizes)), device)
    return tuple(
        row.removesuffix(" (estimated: TILEK_NVRTC_LIBRARY names /nowhere, which is no NVRTC)")
        for row in facts.rows["registers"]
    )


def test_gangs_are_those_that_a_tile_needs() -> None:
    """A wavefront in a tile of 32 x 32 has 32 positions: a warp; 32 gangs of a warp are half of the 64 warps."""
    assert rows(h100(), "n=100000", "steps=100") == (
        "f: 40 a worker, none spilled; gangs of 32: up to 32 at once on a multiprocessor, 50% of its warps, limited by blocks",
    )


@pytest.mark.parametrize(("threads", "at_once"), [(1024, "6 at once"), (128, "12 at once")])
def test_without_sizes_they_are_the_largest(threads: int, at_once: str) -> None:
    (said,) = rows(h100(threads_per_block=threads))
    assert said.startswith(f"f: 40 a worker, none spilled; gangs of {min(threads, 256)} at most: up to {at_once} ")
    assert said.endswith(", 75% of its warps, limited by registers")


def test_what_has_no_room() -> None:
    assert rows(h100(registers_per_thread=16)) == (
        "f: 16 a worker, 96 bytes spilled; gangs of 256 at most: up to 8 at once on a multiprocessor, 100% of its warps, limited by threads",
    )
    assert rows(h100(registers_per_block=256), "n=1000", "steps=9") == (
        "f: 40 a worker, none spilled; gangs of 16: no block has room: registers",
    )


def test_the_page_shows_them(tmp_path: Path) -> None:
    device = h100()
    result = translate(TranslateRequest("t.c", text=LINE, device=device, last="choose_sizes"))
    page = explain_page(result, kernel_reports(result, None, device), parse_sizes([]), "t.c")
    assert "Registers of f: 40 a worker, none spilled; gangs of 256 at most" in page.html
    processor = named_device("processor")
    assert (
        kernel_reports(
            translate(TranslateRequest("t.c", text=LINE, device=processor, last="choose_sizes")), None, processor
        )[0].rows["registers"]
        == ()
    )
