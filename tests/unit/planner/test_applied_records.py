"""Choices of tile sizes that were measured: read from beside the source, put among the model's, said by explain, and written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.ir.directives import TemporalTiles
from tilepragma.plan.dispatch_table import around, sizes_on_hosts, wrong_choices
from tilepragma.plan.kernel_plan import KernelPlan, MeasuredSizes, SizeChoice
from tilepragma.sizes.records import HOST, RecordedChoice, TuningRecord, records_file, records_text

SOURCE = """\
void sweep(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}
"""
CHOICES = [
    {"bytes": 1000, "sizes": {"t_size": 2, "t_i_size": 3}},
    {"bytes": 8000, "trips": 9, "sizes": {"t_size": 4, "t_i_size": 5}},
    {"bytes": 8000, "sizes": {"t_size": 6, "t_i_size": 7}},
]


def translated(folder: Path, host: object, last: str = "verify") -> TranslateResult:
    source = folder / "sweep.c"
    source.write_text(SOURCE)
    records_file(str(source)).write_text(json.dumps({"version": 1, "kernels": {"sweep": {"host": host}}}, indent=1))
    return translate(TranslateRequest(str(source), last=last))


def test_launches_of_the_measured_lengths_take_what_was_measured(tmp_path: Path) -> None:
    result = translated(tmp_path, {"least_bytes": 400, "choices": CHOICES}, last="emit")
    assert result.diagnostics == ()
    [plan] = result.plans
    default = tuple(size.host for size in plan.sizes)
    for length, steps, sizes in [
        (90, 7, default),
        (100, 7, (2, 3)),
        (250, 7, (2, 3)),
        (251, 7, (4, 5)),
        (251, 10, (6, 7)),
        (2000, 10, (6, 7)),
        (2001, 10, default),
    ]:
        assert sizes_on_hosts(plan, {"n": length, "steps": steps}) == sizes, length
    assert b"8000" in (result.output or b"")
    said = " ".join(explain(kernel_reports(result)).split())
    assert "t_size = 4, t_i_size = 5 for arrays up to 8.0 kB and up to 9 iterations of t" in said
    assert "measured for arrays of 400 B to 8.0 kB; those for cores from sweep.tilek.json" in said


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ({"choices": CHOICES}, "'least_bytes' must be a whole number from 0"),
        ({"tiles": "round", "least_bytes": 0, "choices": CHOICES}, "'tiles' is none of auto, skewed, diamond"),
        ({"least_bytes": 0, "choices": []}, "'choices' must be a list that is not empty"),
        ({"least_bytes": 0, "choices": [3]}, "a choice must be an object"),
        ({"least_bytes": 0, "choices": [{"sizes": {}}]}, "'bytes' must be a whole number"),
        ({"least_bytes": 0, "choices": [{**CHOICES[0], "trips": -1}]}, "'trips' must be a whole number"),
        ({"least_bytes": 0, "choices": [{"bytes": 7}]}, "there is no object 'sizes'"),
        (
            {"least_bytes": 0, "choices": [{"bytes": 7, "sizes": {"t_size": 0}}]},
            "'t_size' must be a whole number from 1",
        ),
        (
            {"least_bytes": 0, "choices": [{"bytes": 7, "sizes": {"t_size": 1}}]},
            "it names t_size; the kernel's tile sizes are",
        ),
        (
            {"least_bytes": 0, "choices": [CHOICES[2], CHOICES[0]]},
            "choice 1 is never reached: choice 0 holds wherever it does",
        ),
    ],
)
def test_what_is_wrong_is_warned_of_and_left_out(tmp_path: Path, host: object, message: str) -> None:
    result = translated(tmp_path, host)
    [warning] = result.diagnostics
    assert message in warning.message
    assert result.succeeded
    assert result.plans[0].measured is None


def choice(length: int | None, trips: int | None, size: int) -> SizeChoice:
    return SizeChoice(length, trips, (size,))


@pytest.mark.parametrize(
    ("others", "least", "found"),
    [
        ([], 0, []),
        ([], 50, [(49, None, 9)]),
        ([(None, None, 1)], 50, [(49, None, 1), "measured", (None, None, 1)]),
        ([(20, None, 1), (60, 3, 2), (60, None, 3)], 50, [(20, None, 1), (49, 3, 2), (49, None, 3), "measured"]),
        ([(20, 5, 1)], 50, [(20, 5, 1), (49, None, 9), "measured"]),
        ([(20, None, 1), (300, None, 2)], 50, [(20, None, 1), (49, None, 2), "measured", (300, None, 2)]),
        ([(49, None, 1), (300, 5, 2)], 50, [(49, 5, 2), (49, None, 9), "measured", (300, 5, 2)]),
    ],
)
def test_the_model_decides_outside_of_what_was_measured(
    others: list[tuple[int | None, int | None, int]], least: int, found: list[object]
) -> None:
    measured = MeasuredSizes(least, (choice(100, None, 7), choice(200, None, 8)))
    merged = around(measured, [choice(*each) for each in others], (9,))
    wanted: list[SizeChoice] = []
    for each in found if "measured" in found else [*found, "measured"]:
        wanted += measured.choices if not isinstance(each, tuple) else (choice(*each),)
    assert list(merged) == wanted


def test_the_merged_choices_are_right(tmp_path: Path) -> None:
    [plan] = translated(tmp_path, {"least_bytes": 400, "choices": CHOICES}).plans
    assert list(wrong_choices(plan)) == []


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    choices = tuple(RecordedChoice(each["bytes"], each.get("trips"), each["sizes"]) for each in CHOICES)  # type: ignore[arg-type]
    winner = TuningRecord("sweep", HOST, "threads", {}, {"machine": "here"}, choices, 400)
    text = records_text(None, winner)
    assert json.loads(text)["kernels"]["sweep"]["host"]["choices"] == CHOICES
    (tmp_path / "sweep.c").write_text(SOURCE)
    (tmp_path / "sweep.tilek.json").write_text(text)
    [plan] = translate(TranslateRequest(str(tmp_path / "sweep.c"), last="verify")).plans
    assert plan.measured == MeasuredSizes(
        400, tuple(SizeChoice(each.bytes, each.trips, tuple(each.sizes.values())) for each in choices)
    )
    assert json.loads(records_text(text, TuningRecord("sweep", HOST, "threads", {}, None)))["kernels"] == {}


STENCIL = """\
void jacobi(int steps, int n, float *a, float *b)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t) {
        for (int i = 1; i < n - 1; ++i)
            b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
        for (int i = 1; i < n - 1; ++i)
            a[i] = b[i];
    }
}
"""


def test_other_tiles_of_time_steps_are_kept_for_cores_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, kept = tmp_path / "jacobi.c", tmp_path / "jacobi.tilek.json"
    source.write_text(STENCIL)

    def planned(temporal: str = "") -> KernelPlan:
        result = translate(TranslateRequest(str(source), temporal=temporal, last="verify"))
        assert result.diagnostics == ()
        return result.plans[0]

    plain, skewed = planned(), planned("skewed")
    assert plain.host_steps != skewed.host_steps
    sizes = {size.object.name: 16 for size in skewed.sizes}
    facts = {"machine": "here"}
    choices = (RecordedChoice(1000, None, sizes),)
    kept.write_text(
        records_text(None, TuningRecord("jacobi", HOST, "threads", {}, facts, choices, 10, TemporalTiles.SKEWED))
    )
    results = planned()
    assert results.host_steps == skewed.host_steps
    assert results.device_steps == plain.device_steps
    assert results.recorded_sizes == "those for cores with skewed tiles from jacobi.tilek.json"
    assert results.choices[-1].sizes == (16,) * len(skewed.sizes)
    result = translate(TranslateRequest(str(source), temporal="diamond", last="verify"))
    [warning] = result.diagnostics
    assert "the kernel's tile sizes are" in warning.message, "what the user says goes before what was measured"
    assert result.plans[0].host_steps == plain.host_steps
