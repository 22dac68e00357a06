"""Tile sizes kept beside a source: what is read, warned of, taken, and written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tilepragma.base.diagnostics import Diagnostics, Severity
from tilepragma.driver import PASSES, translate
from tilepragma.driver.reports import explain, kernel_reports
from tilepragma.driver.state import State, TranslateRequest, TranslateResult
from tilepragma.plan.kernel_plan import SizeChoice
from tilepragma.planner import versions
from tilepragma.sizes.records import DEVICE, HOST, TuningRecord, parse_records, records_file, records_text, with_records
from tilepragma.verify.rules import PlanFault

SOURCE = """\
void sweep(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}
"""
SIZES = {"t_size": 24, "t_i_size": 40}


def text_of(kernel: str = "sweep", **classes: dict[str, object]) -> str:
    entries = {name: {"sizes": sizes} for name, sizes in classes.items()}
    return json.dumps({"version": 1, "kernels": {kernel: entries}}, indent=1)


def translated(folder: Path, kept: str | None, *, take: bool = True, last: str = "choose_sizes") -> TranslateResult:
    """The source's plan with such a file beside it, None: with none."""
    source = folder / "sweep.c"
    source.write_text(SOURCE)
    if kept is None:
        records_file(str(source)).unlink(missing_ok=True)
    else:
        records_file(str(source)).write_text(kept)
    return translate(TranslateRequest(str(source), use_records=take, last=last))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> TranslateResult:
    """Without anything kept."""
    return translated(tmp_path_factory.mktemp("plain"), None)


def sizes_of(result: TranslateResult) -> list[tuple[int, int]]:
    [plan] = result.plans
    return [(size.host, size.device) for size in plan.sizes]


def test_each_class_has_its_own_sizes(tmp_path: Path, plain: TranslateResult) -> None:
    before = sizes_of(plain)
    hosts = sizes_of(translated(tmp_path, text_of(host=SIZES)))
    assert hosts == [(24, before[0][1]), (40, before[1][1])]
    both = translated(tmp_path, text_of(host=SIZES, device={"t_i_size": 4, "t_size": 6}), last="rewrite")
    assert sizes_of(both) == [(24, 6), (40, 4)]
    assert both.diagnostics == ()
    assert b'{"t_size", 24, 6}, {"t_i_size", 40, 4}' in (both.output or b"")


def test_the_output_depends_on_the_file(tmp_path: Path) -> None:
    file = str(tmp_path / "sweep.tilek.json")
    assert file not in translated(tmp_path, None).dependencies
    result = translated(tmp_path, text_of(host=SIZES))
    assert file in result.dependencies
    assert file in result.inlined
    assert result.measured == (file,)
    assert file in translated(tmp_path, "{").dependencies, "mending it changes the output"


def test_explain_says_where_sizes_are_from(tmp_path: Path, plain: TranslateResult) -> None:
    said = " ".join(explain(kernel_reports(translated(tmp_path, text_of(host=SIZES)))).split())
    assert "t_i_size = 40 (64 on devices); those for cores from sweep.tilek.json" in said
    assert ".tilek.json" not in explain(kernel_reports(plain))


def test_they_are_not_taken_where_that_is_not_asked_for(tmp_path: Path) -> None:
    result = translated(tmp_path, text_of(host=SIZES), take=False)
    assert sizes_of(result)[0][0] != 24
    assert result.dependencies == (str(tmp_path / "sweep.c"),)


def test_a_source_that_is_no_file_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.tilek.json").write_text(text_of(host=SIZES))
    result = translate(TranslateRequest("sweep.c", text=SOURCE.encode()))
    assert sizes_of(result)[0][0] != 24


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"version": 1,\n', 2, "this is no JSON"),
        ("[]\n", 1, "there is no 'version'"),
        ('{"kernels": {}}', 1, "there is no 'version'"),
        ('{\n"version": 2, "kernels": {}}', 2, "'version' is not 1"),
        ('{"version": 1,\n "kernels": []}', 1, "'kernels' is no object"),
        ('{"version": 1, "kernels": {\n"sweep": 7}}', 2, "must be an object with 'host', 'device' or both"),
        ('{"version": 1, "kernels": {\n"sweep": {"hots": {}}}}', 2, "must be an object with 'host', 'device' or both"),
        ('{"version": 1, "kernels": {"sweep": {\n"host": {"size": {}}}}}', 2, "there is no object 'sizes'"),
        (text_of(host={"t_size": 0, "t_i_size": 40}), 7, "'t_size' must be a whole number from 1"),
        (text_of(host={"t_size": True, "t_i_size": 40}), 7, "'t_size' must be a whole number from 1"),
        (text_of(host={"t_size": 2**31, "t_i_size": 40}), 7, "'t_size' must be a whole number from 1"),
        (text_of(host={"t_size": 24}), 6, "it names t_size; the kernel's tile sizes are t_size, t_i_size"),
        (text_of(host={**SIZES, "j_size": 3}), 6, "it names t_size, t_i_size, j_size; the kernel's"),
        (text_of("swep", host=SIZES), 6, "there is no such kernel"),
    ],
)
def test_what_makes_no_sense_is_warned_of_and_ignored(
    tmp_path: Path, plain: TranslateResult, text: str, line: int, message: str
) -> None:
    result = translated(tmp_path, text)
    [said] = result.diagnostics
    assert said.severity is Severity.WARNING
    assert message in said.message
    assert "ignored" in said.message
    assert said.notes, "there is a remedy"
    assert (Path(said.range.file).name, said.range.start.line) == ("sweep.tilek.json", line)
    assert result.succeeded
    assert sizes_of(result) == sizes_of(plain)


def test_one_bad_entry_does_not_spoil_the_other(tmp_path: Path) -> None:
    result = translated(tmp_path, text_of(host=SIZES, device={"t_size": 3}))
    assert [host for host, _ in sizes_of(result)] == [24, 40]
    assert len(result.diagnostics) == 1


def test_sizes_that_are_not_proven_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PlanFault("a rule: broken")

    monkeypatch.setattr(versions, "verify", refuse)
    result = translated(tmp_path, text_of(host=SIZES))
    assert "not proven right: a rule: broken" in result.diagnostics[0].message
    assert sizes_of(result)[0][0] != 24


def test_the_proof_is_of_the_kept_sizes(tmp_path: Path) -> None:
    state = State(TranslateRequest(str(tmp_path / "sweep.c")))
    translated(tmp_path, text_of(host=SIZES))
    for step in PASSES[:5]:
        state = step.run(state)
    [planned] = state.planned
    assert planned.plan.sizes[0].host == 24
    assert planned.proof is not None
    assert planned.proof.is_of(planned.plan)


def test_hosts_choose_at_launch_no_more(plain: TranslateResult) -> None:
    [plan] = plain.plans
    assert plan.processor_choices
    plan = replace(plan, choices=(SizeChoice(None, None, (8, 8)),))
    kept = parse_records(text_of(host=SIZES, device=SIZES), "sweep.tilek.json", Diagnostics())
    on_hosts, on_devices = (
        with_records(plan, [each for each in kept if each.size_class == own]) for own in (HOST, DEVICE)
    )
    assert (on_hosts.choices, on_hosts.processor_choices) == ((), ())
    assert (on_devices.choices, on_devices.processor_choices) == (plan.choices, plan.processor_choices)


def test_text_is_read_back_and_others_stay() -> None:
    facts = {"machine": "a box", "seconds": 0.5}
    first = records_text(None, TuningRecord("sweep", HOST, "threads", SIZES, facts))
    second = records_text(first, TuningRecord("other", DEVICE, "cuda", {"i_size": 8}, facts))
    result = Diagnostics()
    kept = {(each.kernel, each.size_class): dict(each.sizes) for each in parse_records(second, "f", result)}
    assert kept == {("sweep", HOST): SIZES, ("other", DEVICE): {"i_size": 8}}
    assert list(result) == []
    assert json.loads(second)["kernels"]["sweep"]["host"]["machine"] == "a box"


def test_a_default_that_won_takes_out_what_was_kept() -> None:
    host = records_text(None, TuningRecord("sweep", HOST, "threads", SIZES, {}))
    both = records_text(host, TuningRecord("sweep", DEVICE, "cuda", SIZES, {}))
    left = json.loads(records_text(both, TuningRecord("sweep", HOST, "threads", SIZES, None)))
    assert left["kernels"]["sweep"].keys() == {"device"}
    assert json.loads(records_text(host, TuningRecord("sweep", HOST, "threads", SIZES, None))) == {
        "version": 1,
        "kernels": {},
    }


def test_a_default_that_won_elsewhere_takes_out_nothing() -> None:
    host = records_text(None, TuningRecord("sweep", HOST, "threads", SIZES, {}))
    assert records_text(host, TuningRecord("sweep", HOST, "opencl", SIZES, None)) == host


@pytest.mark.parametrize("damaged", ["{", "[]", '{"version": 9, "kernels": {"a": {}}}', '{"version": 1, "kernels": 3}'])
def test_damaged_text_is_written_anew(damaged: str) -> None:
    text = records_text(damaged, TuningRecord("sweep", HOST, "threads", SIZES, {}))
    assert json.loads(text)["kernels"] == {"sweep": {"host": {"sizes": SIZES, "target": "threads"}}}
