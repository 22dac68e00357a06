"""What explain says of tile sizes that launches choose."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.plan.kernel_plan import SizeChoice
from tilepragma.report.size_values import Sizes, parse_sizes

SWEEPS = """\
void f(int steps, int n, double a[n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n; i++)
            for (int j = 1; j < n; j++)
                a[i][j] = 0.5 * (a[i - 1][j] + a[i][j - 1]);
}
"""
ROW = """\
void f(int steps, int n, double a[n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            a[i] = 0.5 * (a[i - 1] + a[i + 1]);
}
"""
JACOBI = """\
void f(int steps, int n, double a[restrict n][n], double b[restrict n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = b[i][j];
    }
}
"""
Choices = tuple[tuple[int | None, int | None, int], ...]
Planned = Callable[[str, Choices], TranslateResult]


@pytest.fixture(scope="module")
def planned() -> Planned:
    """The one plan of a text, with choices of (bytes, trips, all sizes) for hosts, and none for OpenCL processors."""
    known: dict[str, TranslateResult] = {}

    def of(text: str, rows: Choices) -> TranslateResult:
        result = known.setdefault(text, translate(TranslateRequest("t.c", text=text.encode(), last="choose_sizes")))
        (found,) = result.plans
        choices = tuple(SizeChoice(most, trips, (size,) * len(found.sizes)) for most, trips, size in rows)
        return replace(result, plans=(replace(found, choices=choices, processor_choices=()),))

    return of


def sizes_said(result: TranslateResult) -> str:
    """All that is said of sizes before what launches change for their threads, which every plan here has."""
    (facts,) = kernel_reports(result)
    said, changed, last = facts.rows["tile sizes"][0].partition("; launches on cores take another t_size")
    assert changed and last == " if this would give threads unequal shares"
    return said


def test_choices_stand_behind_the_usual_size(planned: Planned) -> None:
    """Of a plan that has one size only."""
    result = planned(ROW, ((10**6, None, 32), (8 * 10**6, 4, 16), (None, 1, 7), (None, None, 9)))
    (found,) = result.plans
    choices = tuple(replace(choice, sizes=choice.sizes[:1]) for choice in found.choices)
    usual = sizes_said(planned(ROW, ())).split(", ")[0]
    assert usual.endswith(" on devices)")
    assert sizes_said(
        replace(result, plans=(replace(found, sizes=found.sizes[:1], choices=choices, device_steps=found.host_steps),))
    ) == (
        f"{usual}; on cores 32 for arrays up to 1.0 MB; 16 for arrays up to 8.0 MB and up to 4 iterations of t; "
        "7 for up to 1 iteration of t; 9 for all others"
    )


def test_opencl_processors_have_sizes_of_their_own(planned: Planned) -> None:
    result = planned(ROW, ())
    (found,) = result.plans
    mine = (SizeChoice(10**6, None, (9,) * len(found.sizes)),)
    said = sizes_said(replace(result, plans=(replace(found, choices=(), processor_choices=mine),)))
    only = "on OpenCL processors, where each wavefront is a launch of its own, "
    assert said.split("; ")[-1].startswith(only) and said.endswith("= 9 for arrays up to 1.0 MB")
    for_all = (replace(mine[0], bytes=None),)
    said = sizes_said(replace(result, plans=(replace(found, choices=mine, processor_choices=for_all),)))
    assert said.split("; ")[-2].startswith("on cores ") and said.split("; ")[-1].startswith(only)
    assert said.endswith("= 9")


def test_several_sizes_are_named(planned: Planned) -> None:
    result = planned(SWEEPS, ((10**6, None, 32),))
    names = [size.object.host for size in result.plans[0].sizes]
    assert len(names) > 1
    said = sizes_said(result).split("; ")[-1].removeprefix("on cores ")
    assert said == f"{', '.join(f'{name} = 32' for name in names)} for arrays up to 1.0 MB"


def test_long_lines_are_broken(planned: Planned) -> None:
    text = explain(kernel_reports(planned(SWEEPS, ((10**6, None, 32), (10**7, None, 64)))))
    lines = text.splitlines()
    (place,) = (place for place, line in enumerate(lines) if line.startswith("  tile sizes"))
    assert lines[place + 1].startswith(" " * 14)
    assert all(len(line) <= 110 for line in lines[place : place + 3])


def trips(result: TranslateResult, sizes: Sizes) -> list[str]:
    """How often the loops of cores around launches run."""
    (facts,) = kernel_reports(result, sizes)
    (cores,) = (group for group in facts.launches if group.title in ("on cores", "on all"))
    return [line.trips for line in cores.lines if line.trips]


def test_trips_are_those_of_what_is_chosen(planned: Planned) -> None:
    at = parse_sizes(["n=500,steps=40"])
    usual, fits, not_small = (
        trips(planned(SWEEPS, rows), at) for rows in ((), ((500 * 500 * 8, 40, 3),), ((500 * 500 * 8 - 1, 40, 3),))
    )
    assert usual
    assert not_small == usual != fits
    assert trips(planned(SWEEPS, ((1, None, 3),)), parse_sizes(["n=500"])) == []


def test_work_is_that_of_what_is_chosen(planned: Planned) -> None:
    def launches(rows: Choices) -> int:
        (facts,) = kernel_reports(planned(SWEEPS, rows), parse_sizes(["n=500,steps=40"]))
        (work,) = facts.rows["work"]
        match = re.search(r"([\d,]+) launch", work)
        assert match is not None
        return int(match[1].replace(",", ""))

    assert launches(((None, 40, 3),)) > launches(((None, 39, 3),)) == launches(())


def test_devices_choose_the_sizes_of_streamed_tiles() -> None:
    """The rule, with the grid where sizes are given; the choice itself is the runtime's, on its device."""
    result = translate(TranslateRequest("t.c", text=JACOBI.encode(), temporal="streamed", last="choose_sizes"))
    (made,) = result.plans
    most, grid = next((size.device, size.stream) for size in made.sizes if size.stream is not None)
    for sizes, here in (((), ""), (("n=300", "steps=9"), ", here for 9 time steps over 300 planes")):
        (facts,) = kernel_reports(result, parse_sizes(sizes))
        rule = facts.rows["tile sizes"][0].split("; ")[-1]
        assert rule == (
            f"where TILEK_SIZES gives none, each launch on a device chooses t_degree (at most {most}), i_chunk and "
            f"j_scratchpad (at most {grid.sides[0].length}) for the least time predicted from the device's multiprocessors, operations and bandwidth"
            f"{here} (TILEK_PROFILE=FILE.json shows what it chose)"
        )
    others = translate(TranslateRequest("t.c", text=JACOBI.encode(), temporal="boxes", last="choose_sizes"))
    (facts,) = kernel_reports(others)
    assert "each launch on a device chooses" not in facts.rows["tile sizes"][0]
