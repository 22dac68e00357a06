"""What the corpus says of two states of the translator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.corpus.__main__ import main
from tests.corpus.programs import openmp_programs, programs_here, tsvc_programs
from tests.corpus.records import (
    Difference,
    TranslationRecord,
    code_hash,
    differences,
    read_corpus,
    slower_programs,
    text_hash,
    time_ratio,
    write_corpus,
)

RECORD = TranslationRecord({"host": "1"}, {"host": "a"}, 2.0, results={"serial": "x"})


def said(before: TranslationRecord, after: TranslationRecord) -> list[tuple[str, bool]]:
    return [(each.what, each.is_code) for each in differences({"p": before}, {"p": after})]


def test_equal_records_differ_in_nothing() -> None:
    assert said(RECORD, replace(RECORD, seconds=3.0)) == []
    assert said(RECORD, replace(RECORD, results=None)) == []


def test_code_comments_results_and_errors() -> None:
    assert said(RECORD, replace(RECORD, texts={"host": "2"}, codes={"host": "b"})) == [("host has other code", True)]
    assert said(RECORD, replace(RECORD, texts={"host": "2"})) == [("other comments or layout alone in host", False)]
    assert said(RECORD, replace(RECORD, results={"serial": "y"})) == [("has other results on serial", True)]
    assert said(RECORD, replace(RECORD, texts={}, codes={})) == [("host is gone", True)]
    refused = TranslationRecord({}, {}, 1.0, ("no",))
    assert said(RECORD, refused) == [("errors: none, now no", True), ("host is gone", True)]


def test_programs_come_and_go() -> None:
    assert list(differences({"a": RECORD}, {"b": RECORD})) == [
        Difference("a", "is not in the corpus any more"),
        Difference("b", "is new"),
    ]


def test_places_and_comments_are_no_code() -> None:
    text = '#line 3 "a.c"\nint a; /* one */\n'
    assert text_hash(text) == text_hash('#line 4 "b.c"\nint a; /* one */\n') != text_hash(text.replace("one", "two"))
    assert code_hash(text) == code_hash("int  a; // two\n") != code_hash("int b;")
    assert code_hash('"a\\n"\n "b\\n",') == code_hash('"a\\n",\n "b\\n",')


def test_times() -> None:
    after = {"p": replace(RECORD, seconds=4.0), "new": RECORD}
    assert time_ratio({"p": RECORD}, after) == 0.5
    assert slower_programs({"p": RECORD}, after, 0.5, 1.3) == [("p", 2.0, 4.0)]
    assert slower_programs({"p": RECORD}, after, 5.0, 1.3) == []


def test_kept_records_are_read_again(tmp_path: Path) -> None:
    write_corpus(tmp_path / "c.json", {"p": RECORD, "q": TranslationRecord({}, {}, 1.0, ("no",))})
    assert read_corpus(tmp_path / "c.json")["p"] == RECORD
    assert read_corpus(tmp_path / "c.json")["q"].refusals == ("no",)
    (tmp_path / "c.json").write_text('{"p": 3}')
    with pytest.raises(ValueError, match="is not what"):
        read_corpus(tmp_path / "c.json")


def test_other_peoples_loops_are_marked(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#pragma omp parallel for \\\n private(x)\nfor (;;);\n#pragma omp barrier\n")
    (tmp_path / "b.c").write_text("  for (int nl = 0; nl < 3; nl++) {\n    for (int i = 0; i < 9; i++)\n")
    assert [each.text for each in openmp_programs(tmp_path)] == [
        "#pragma tilek kernel\nfor (;;);\n#pragma omp barrier\n"
    ]
    (marked,) = tsvc_programs(tmp_path)
    assert marked.text.splitlines()[1:] == ["#pragma tilek kernel", "    for (int i = 0; i < 9; i++)"]
    assert marked.name == "tsvc/b"


def test_names_are_unique() -> None:
    names = [program.name for program in programs_here(50)]
    assert len(set(names)) == len(names)
    assert {name.split("/")[0] for name in names} == {
        *("samples", "cases", "cases_not_strict", "nests", "hostile", "reductions")
    }


def test_a_state_equals_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = str(tmp_path / "before.json")
    chosen = ["--only", "samples/lu", "--nests", "0", "--jobs", "1"]
    assert main([*chosen, "--results", "serial", "--save", kept]) == 0
    assert main([*chosen, "--against", kept]) == 0
    assert "1 programs: 0 with other code or results, 0 with other comments" in capsys.readouterr().out


def test_unknown_targets_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--results", "serial,gpu"])
    assert "--results: no target gpu" in capsys.readouterr().err
