"""What explain says of a kernel's work at the user's sizes, and of the time that a device needs at least."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Device, Overheads, Processor
from tilepragma.report.size_values import parse_sizes

SCALED = """
void f(int n, int m, double *restrict a, const double *restrict b) {
#pragma tilek kernel
  for (int t = 0; t < m; t++)
    for (int i = 0; i < n; i++) a[i] += b[i] * 2.0;
}"""
BY_DATA = """
void f(int n, const int ends[restrict n], double a[restrict n]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < ends[i]; j++) a[i] += 1.0;
}"""


IN_PLACE = """
void f(int n, int m, double a[n]) {
#pragma tilek kernel
  for (int t = 0; t < m; t++)
    for (int i = 1; i < n - 1; i++) a[i] = a[i - 1] + a[i] + a[i + 1];
}"""


def said(source: str, sizes: list[str], device: str | Device | None) -> str:
    result = translate(TranslateRequest("t.c", text=source.encode(), last="choose_sizes"))
    named = named_device(device) if isinstance(device, str) else device
    return re.sub(r"\s+", " ", explain(kernel_reports(result, parse_sizes(sizes), named)))


def test_points_and_operations_are_counted() -> None:
    text = said(SCALED, ["n=3000000", "m=7"], "processor")
    assert "21 million points, 42 million floating-point operations" in text


@pytest.mark.parametrize("device", ["processor", "h100"])
def test_the_least_time_grows_with_the_work(device: str) -> None:
    results = []
    for n in (10**6, 10**8):
        least = re.search(r"limits at least ([0-9.e+-]+) (ns|us|ms|s) on ", said(SCALED, [f"n={n}", "m=3"], device))
        assert least is not None
        results.append(float(least[1]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[least[2]])
    assert results[1] / results[0] == pytest.approx(100, rel=0.02)


def test_what_limits_a_stream_is_memory() -> None:
    text = said(SCALED, ["n=100000000", "m=1"], "processor")
    # 3 * 8 * 1e8 bytes by 40 GB/s, 2e8 operations by 384 GFLOP/s
    assert "limits at least 60 ms on a processor: arithmetic 521 us (200 million operations)" in text
    assert "DRAM 60 ms (2.4 GB, each array once)" in text


def test_launches_of_opencl_processors_are_those_of_their_tile_sizes() -> None:
    processor = named_device("processor")
    assert isinstance(processor, Processor)
    opencl = replace(processor, overheads=Overheads(1e-5, ((1, 0.0),), ((1, 1e-6),), 1e-5, 1e10, 1e10))
    sizes = ["n=1000000", "m=20"]
    assert ": 245 launches, 20 million points" in said(IN_PLACE, sizes, opencl)
    assert ": 245 launches" not in said(IN_PLACE, sizes, processor)


def test_a_machine_that_nobody_measured_has_no_limits() -> None:
    text = said(SCALED, ["n=1000", "m=1"], None)
    assert "limits not known: this machine is not calibrated (tilepragma devices --calibrate)" in text


def test_trip_counts_in_data_are_said_to_be_unknown() -> None:
    assert "limits not known: " in said(BY_DATA, ["n=1000"], "processor")


def test_without_sizes_nothing_is_said() -> None:
    text = said(SCALED, [], "processor")
    assert " limits " not in text
    assert " work " not in text
