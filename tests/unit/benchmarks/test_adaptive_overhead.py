"""What adapting costs over whole runs: the rules that its program gets, and its table from known seconds."""

from __future__ import annotations

from benchmarks.adaptive_overhead import HEAD, INPUTS, VERSIONS, Row, fastest, rules_text
from benchmarks.tilek_paper.subjects import SUBJECTS
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.sizes.records import parse_records

TEXTS = {"": "", "one": "num_threads(1)", "two": "unroll(2)", "three": "unroll(4)"}


def test_rules_name_the_best_at_each_input_and_keep_the_others_in_the_program() -> None:
    result = Diagnostics()
    (kept,) = parse_records(rules_text("k", [(100, "two"), (900, "")], TEXTS, {"i_size": 8}), "a.tilek.json", result)
    assert not list(result)
    said = [(choice.bytes, choice.version, dict(choice.sizes)) for choice in kept.choices]
    assert said[:2] == [(100, "unroll(2)", {}), (900, "", {"i_size": 8})]
    assert {version for most, version, _ in said[2:] if most > 900} == {"num_threads(1)", "unroll(4)"}


def test_the_table_is_of_the_fastest_runs() -> None:
    times = iter([4.0, 5.0, 2.0, 9.0, 3.0, 1.0])
    assert fastest(3, lambda: next(times), lambda: next(times)) == [2.0, 1.0]
    cells = Row("k", "n=4", "", 100, best=1.0, again=1.02, adaptive=1.01, trying=1.5, told=1.005).cells
    assert dict(zip(HEAD, cells, strict=True)) == {
        "kernel": "k",
        "input": "n=4",
        "best": "plan",
        "calls": "100",
        "best s": "1.0000",
        "rules s": "1.0100",
        "overhead": "+1.00 %",
        "noise": "+2.00 %",
        "deciding": "+0.50 %",
        "trying": "+50.00 %",
    }


def test_all_kernels_of_the_paper_have_a_small_and_a_large_input() -> None:
    assert list(INPUTS) == [each.name for each in SUBJECTS]
    assert VERSIONS[0] == "" and len(VERSIONS) == 4
