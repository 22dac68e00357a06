"""Versions of plans that are kept beside a source: planned, proven, chosen by rules, and refused where they cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.plan.dispatch_table import sizes_on_hosts
from tilepragma.sizes.records import records_file

SOURCE = """\
void sweep(int n, int m, double a[n][m], double b[n][m])
{
#pragma tilek kernel
    for (int i = 1; i < n; ++i)
        for (int j = 0; j < m; ++j)
            a[i][j] = b[i][j] + 1;
}
double sum(int n, double *a)
{
    double s = 0;
#pragma tilek kernel reduction(+: s)
    for (int k = 0; k < n; ++k)
        s += a[k];
    return s;
}
void chain(int n, double *a)
{
#pragma tilek kernel
    for (int i = 1; i < n; ++i)
        for (int j = 1; j < n; ++j)
            a[i + j] = a[i + j - 1] * a[i + j];
}
"""
THREADS = "num_threads(3); j: tile(thread) tile[0](dynamic); i: tile[1](dynamic)"
GANGS = "num_gangs(4) num_workers(8); i: tile(gang) tile[0](dynamic); j: tile(worker) tile[1](dynamic)"


def translated(
    folder: Path, kernel: str, *choices: object, size_class: str = "host", last: str = "verify"
) -> TranslateResult:
    source = folder / "sweep.c"
    source.write_text(SOURCE)
    entry = {size_class: {"least_bytes": 0, "choices": list(choices)}}
    records_file(str(source)).write_text(json.dumps({"version": 1, "kernels": {kernel: entry}}, indent=1))
    return translate(TranslateRequest(str(source), last=last))


def test_launches_choose_among_plans(tmp_path: Path) -> None:
    result = translated(
        tmp_path, "sweep", {"bytes": 800, "version": THREADS}, {"bytes": 9000, "version": GANGS}, last="emit"
    )
    assert result.diagnostics == ()
    plan = result.plans[0]
    assert [version.text for version in plan.versions] == [THREADS, GANGS]
    assert [(choice.bytes, choice.version, choice.sizes) for choice in plan.choices] == [(800, 1, ()), (9000, 2, ())]
    assert plan.versions[0].plan.assumes_disjoint, "nobody vouches for arrays apart"
    assert sizes_on_hosts(plan, {"n": 5, "m": 5}) == tuple(size.host for size in plan.sizes)
    text = (result.output or b"").decode()
    assert (
        "static const tilek_kernel *const tilek_sweep_versions[] = {&tilek_sweep_version1_kernel, &tilek_sweep_version2_kernel};"
        in text
    )
    assert text.count("tilek_launch(") == 3, "one for each region"
    said = " ".join(explain(kernel_reports(result)).split())
    assert f"versions 1: {THREADS}" in said
    assert (
        "on cores: version 1 for arrays up to 800 B; version 2 for arrays up to 9.0 kB; version 0 for all others"
        in said
    )


def test_devices_have_rules_too(tmp_path: Path) -> None:
    result = translated(tmp_path, "sweep", {"bytes": 800, "version": GANGS}, size_class="device", last="emit")
    assert result.diagnostics == ()
    plan = result.plans[0]
    assert plan.choices == ()
    assert [(choice.bytes, choice.version) for choice in plan.device_choices] == [(800, 1)]
    assert b".device_choices = tilek_sweep_device_choices" in (result.output or b"")
    assert "on devices: version 1 for arrays up to 800 B" in " ".join(explain(kernel_reports(result)).split())


@pytest.mark.parametrize(
    ("kernel", "version", "message"),
    [
        ("sweep", "x: tile(thread)", "has no loop over 'x'"),
        ("sweep", "num_threads(n)", "a count is no number from 1"),
        ("sweep", 7, "'version' must be a text"),
        ("chain", "i: tile(thread) tile(dynamic)", "its iterations depend on each other"),
        ("sum", "num_threads(2)", "would add real numbers up in another order"),
    ],
)
def test_versions_that_cannot_be_had(tmp_path: Path, kernel: str, version: object, message: str) -> None:
    result = translated(tmp_path, kernel, {"bytes": 800, "version": version}, last="emit")
    assert result.succeeded
    assert [plan.versions for plan in result.plans] == [(), (), ()]
    [warning] = [diagnostic for diagnostic in result.diagnostics if "is ignored" in diagnostic.message]
    assert message in warning.message
    assert warning.range.start.line == 10


def test_more_versions_than_launches_choose_from(tmp_path: Path) -> None:
    choices = [{"bytes": 100 * count, "version": f"num_threads({count})"} for count in range(1, 5)]
    result = translated(tmp_path, "sweep", *choices)
    [warning] = result.diagnostics
    assert "a kernel has 3 versions at most besides its own" in warning.message
    assert result.plans[0].versions == ()


def test_sizes_are_those_of_the_version(tmp_path: Path) -> None:
    [warning] = translated(tmp_path, "sweep", {"bytes": 9, "version": THREADS, "sizes": {"i_size": 3}}).diagnostics
    assert f"it names i_size; the tile sizes of version '{THREADS}' are none" in warning.message


def test_names_and_programs_of_versions(tmp_path: Path) -> None:
    source = tmp_path / "sweep.c"
    source.write_text(
        SOURCE.replace(
            "pragma tilek kernel\n    for (int i = 1; i < n; ++i)\n        for (int j = 1",
            "pragma tilek kernel name(sweep_version1)\n    for (int i = 1; i < n; ++i)\n        for (int j = 1",
        )
    )
    entry = {
        "host": {"least_bytes": 0, "choices": [{"bytes": 800, "version": THREADS}]},
        "device": {"least_bytes": 0, "choices": [{"bytes": 800, "version": "unroll(2)"}]},
    }
    records_file(str(source)).write_text(json.dumps({"version": 1, "kernels": {"sweep": entry}}))
    result = translate(TranslateRequest(str(source), kernel_folder=tmp_path / "kernels"))
    assert [plan.kernel.name for plan in result.plans] == ["sweep", "sum", "sweep_version1"]
    names = [version.plan.kernel.name for version in result.plans[0].versions]
    assert names == ["sweep_version1_", "sweep_version2"], "another kernel has the name"
    files = {path.name for path in (tmp_path / "kernels").iterdir()}
    assert {f"sweep.{names[1]}.{ending}" for ending in ("cl", "cpu.cl", "cu")} <= files
    assert {file for file in files if file.startswith(f"sweep.{names[0]}.")} == {f"sweep.{names[0]}.cpu.cl"}
    text = (result.output or b"").decode()
    for name, programs in ((names[0], ["processors"]), (names[1], ["opencl", "cuda", "processors"])):
        embedded = [each for each in ("opencl", "cuda", "processors") if f"tilek_{name}_{each}[]" in text]
        assert embedded == programs, "devices run none that hosts alone take"
