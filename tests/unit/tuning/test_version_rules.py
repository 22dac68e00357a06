"""Rules among versions of a kernel: builds that were measured become versions of the source as it stands, where that gains."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pytest

from tilepragma.base.refusals import RefusalError
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.driver.texts import planned_version
from tilepragma.plan.kernel_plan import PlanVersion
from tilepragma.sizes.records import HOST
from tilepragma.tuning import trial_versions
from tilepragma.tuning.database import Outcome, Trial
from tilepragma.tuning.fitted_rules import FittedRules, embedding, fit_rules
from tilepragma.tuning.measuring import DEFAULT
from tilepragma.tuning.trial_versions import Build, builds_of, families_of

SOURCE = """\
void add(int n, float a[n][40], float b[n][40])
{
#pragma tilek kernel
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < 40; ++x)
            a[y][x] += b[y][x];
}
"""
SIZES = ("n=10", "n=100", "n=1000", "n=10000")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> TranslateResult:
    source = tmp_path_factory.mktemp("rules") / "a.c"
    source.write_text(SOURCE)
    return translate(TranslateRequest(str(source)))


@pytest.fixture(scope="module")
def builds(result: TranslateResult) -> dict[str, Build]:
    assert result.unit is not None
    request = TranslateRequest(result.unit.files[0].path)
    return builds_of(request, result, result.plans[0], "threads", ("counts", "unroll", "paper8"), 2)


def test_builds_are_translated_where_something_is_predicted_of_them(
    monkeypatch: pytest.MonkeyPatch, result: TranslateResult
) -> None:
    asked: list[bytes | None] = []

    def translated(request: TranslateRequest) -> TranslateResult:
        asked.append(request.text)
        return translate(request)

    monkeypatch.setattr(trial_versions, "translate", translated)
    assert result.unit is not None
    request = TranslateRequest(result.unit.files[0].path)
    build = builds_of(request, result, result.plans[0], "threads", ("counts", "paper8"), 2)["num_threads(1)"]
    assert asked == []
    plans = build.alone(), build.alone()
    assert plans[0] is not None and plans[0] is plans[1]
    assert asked == [build.source]


def learned(
    result: TranslateResult, builds: Mapping[str, Build], times: Mapping[str, tuple[float, ...]]
) -> FittedRules:
    """What these seconds teach, of each build at each of the sizes."""
    trials = [
        (Trial(version, sizes, 0), Outcome((one,), "", 1.0, "now"))
        for version, seconds in times.items()
        for sizes, one in zip(SIZES, seconds, strict=True)
    ]

    def embed(text: str) -> PlanVersion | None:
        if text == "unroll(8)":
            return None
        return PlanVersion(text, result.plans[0])

    return fit_rules(trials, builds, "threads", True, embed)


def test_builds_are_named_as_versions(result: TranslateResult, builds: dict[str, Build]) -> None:
    results = {name: one.version for name, one in builds.items()}
    assert results[""] == ""
    assert results["num_threads(1)"] == "num_threads(1)"
    assert results["unroll(4)"] == "unroll(4)"
    assert results["thread3"] == "num_threads(16); y: tile[0](dynamic) tile(thread); x: tile[1](dynamic)"
    assert families_of([*builds, DEFAULT]) == ("sizes", "counts", "unroll", "paper8")
    assert result.unit is not None
    request = TranslateRequest(result.unit.files[0].path)
    for value in builds.values():
        if value.version:
            assert planned_version(request, result, result.plans[0], value.version).text == value.version


def test_each_size_may_have_its_own_version(result: TranslateResult, builds: dict[str, Build]) -> None:
    times = {DEFAULT: (4.0, 4.0, 1.0, 3.0), "num_threads(1)": (1.0, 9.0, 9.0, 9.0), "thread3": (9.0, 2.0, 9.0, 9.0)}
    results = learned(result, builds, times)
    assert [version.text for version in results.plan.versions] == ["num_threads(1)", builds["thread3"].version]
    assert [(choice.version, choice.sizes) for choice in results.decision.measured.choices] == [
        (1, ()),
        (2, ()),
        (0, ()),
    ]
    assert results.decision.least == 1.0
    assert results.reached == dict.fromkeys(SIZES, 1.0)
    winner = results.winner("here", datetime(2026, 11, 23))
    assert winner.size_class == HOST
    assert [(choice.version, choice.sizes) for choice in winner.choices] == [
        ("num_threads(1)", {}),
        (builds["thread3"].version, {}),
        ("", {}),
    ]
    assert results.others == {}


def test_a_version_that_cannot_be_embedded_is_done_without(result: TranslateResult, builds: dict[str, Build]) -> None:
    times = {DEFAULT: (4.0, 4.0, 4.0, 4.0), "unroll(8)": (1.0, 1.0, 1.0, 1.0), "unroll(4)": (2.0, 2.0, 5.0, 5.0)}
    results = learned(result, builds, times)
    assert [version.text for version in results.plan.versions] == ["unroll(4)"]
    assert results.reached == {"n=10": 0.5, "n=100": 0.5, "n=1000": 0.25, "n=10000": 0.25}
    assert results.others == {"unroll(8)": 4}


def test_four_plans_at_most(result: TranslateResult, builds: dict[str, Build]) -> None:
    fast = ("num_threads(1)", "unroll(2)", "unroll(4)", "thread3")
    times = {DEFAULT: (9.0, 9.0, 9.0, 9.0)} | {
        name: tuple(1.0 if place == own else 2.0 for place in range(4)) for own, name in enumerate(fast)
    }
    results = learned(result, builds, times)
    assert len(results.plan.versions) == 3
    assert sorted(results.decision.shares) == [0.5, 1.0, 1.0, 1.0]


def test_versions_are_taken_where_they_gain(result: TranslateResult, builds: dict[str, Build]) -> None:
    results = learned(result, builds, {DEFAULT: (1.0, 1.0, 1.0, 1.01), "unroll(4)": (1.0, 1.0, 1.0, 1.0)})
    assert results.shares is None
    assert not results.is_worth_it


def test_what_cannot_be_a_version_says_why(result: TranslateResult) -> None:
    assert result.unit is not None
    request = TranslateRequest(result.unit.files[0].path)
    heard: list[tuple[str, str]] = []
    embed = embedding(request, result, result.plans[0], lambda text, reason: heard.append((text, reason)))
    assert embed("z: tile(thread)") is None
    assert heard == [("z: tile(thread)", "has no loop over 'z'")]
    with pytest.raises(RefusalError, match="has no loop over 'z'"):
        planned_version(request, result, result.plans[0], "z: tile(thread)")
