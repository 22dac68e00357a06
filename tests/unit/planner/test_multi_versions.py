"""Builds that are to try versions: embedded in the kernels of one source, without rules and without what is kept; nothing of it in other builds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.driver.texts import trying_environment
from tilepragma.sizes.records import records_file

SOURCE = """\
void add(int n, float a[n][40], float b[n][40])
{
#pragma tilek kernel
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < 40; ++x)
            a[y][x] += b[y][x];
}
"""
THREADS = "num_threads(3); y: tile(thread) tile[0](dynamic)"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source with a version that is kept beside it."""
    file = tmp_path / "a.c"
    file.write_text(SOURCE)
    rules = {"least_bytes": 0, "choices": [{"bytes": 800, "version": "unroll(8)"}]}
    records_file(str(file)).write_text(json.dumps({"version": 1, "kernels": {"add": {"host": rules}}}))
    return file


def tried(monkeypatch: pytest.MonkeyPatch, source: Path, *texts: str, on_devices: bool = False) -> TranslateResult:
    file = source.parent / "candidates.json"
    for name, value in trying_environment(file, str(source), "add", texts, on_devices).items():
        monkeypatch.setenv(name, value)
    return translate(TranslateRequest(str(source)))


def test_versions_are_embedded_without_rules(monkeypatch: pytest.MonkeyPatch, source: Path) -> None:
    result = tried(monkeypatch, source, THREADS, "z: tile(thread)", "unroll(4)")
    [plan] = result.plans
    assert [(version.text, version.on_devices) for version in plan.versions] == [(THREADS, False), ("unroll(4)", False)]
    assert plan.choices == ()
    assert plan.device_choices == ()
    assert plan.measured is None
    assert result.measured == ()
    [warning] = result.diagnostics
    assert warning.message == "version 'z: tile(thread)' is left out: it has no loop over 'z'"
    assert b".version_count = 2" in (result.output or b"")
    [plan] = tried(monkeypatch, source, "unroll(4)", on_devices=True).plans
    assert [version.on_devices for version in plan.versions] == [True]


def test_other_sources_and_what_is_asked_of_a_source_itself_have_none(
    monkeypatch: pytest.MonkeyPatch, source: Path
) -> None:
    other = source.with_name("b.c")
    other.write_text(SOURCE)
    assert tried(monkeypatch, source, THREADS).plans[0].versions
    assert translate(TranslateRequest(str(other))).plans[0].versions == ()
    assert translate(TranslateRequest(str(source), use_records=False)).plans[0].versions == ()
    monkeypatch.delenv("TILEK_CANDIDATES")
    assert [version.text for version in translate(TranslateRequest(str(source))).plans[0].versions] == ["unroll(8)"]


@pytest.mark.parametrize("text", ["", "[]", "{}"])
def test_a_file_that_is_none(monkeypatch: pytest.MonkeyPatch, source: Path, text: str) -> None:
    file = source.with_name("candidates.json")
    file.write_text(text)
    monkeypatch.setenv("TILEK_CANDIDATES", str(file))
    with pytest.raises(OSError, match="unset TILEK_CANDIDATES"):
        translate(TranslateRequest(str(source)))
