"""What is kept of a search, and what was kept before it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.plan.kernel_plan import KernelPlan, SizeChoice
from tilepragma.sizes.ranked_layouts import Layout, Ranking, Sizes
from tilepragma.sizes.records import DEVICE, HOST, SizeClass
from tilepragma.tuning.kernel_tuning import KernelTuning
from tilepragma.tuning.layout_search import ROUNDS, LayoutSearch, Trial
from tilepragma.tuning.source_records import recorded_layouts, set_aside

SOURCE = """\
void sweep(int steps, int n, float *a)
{
#pragma tilek kernel
    for (int t = 0; t < steps; ++t)
        for (int i = 1; i < n - 1; ++i)
            a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}
"""
NAMES = ("t_size", "t_i_size")
PLAIN, FAST, TAKEN = (64, 256), (32, 32), (8, 16)
WHEN = datetime(2026, 11, 22)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> KernelPlan:
    source = tmp_path_factory.mktemp("kept") / "sweep.c"
    source.write_text(SOURCE)
    [found] = translate(TranslateRequest(str(source), last="choose_sizes")).plans
    return replace(found, choices=())


def tuned(
    plan: KernelPlan,
    taken: Sizes,
    fastest: Sizes,
    built: Sizes | None = PLAIN,
    kept: Sizes | None = None,
    size_class: SizeClass = HOST,
    is_mixed: bool = False,
) -> KernelTuning:
    """A search in which the program takes one layout by itself, and a certain one is the fastest, all launches alike."""
    default = Trial(Layout(taken), None, [1.0] * ROUNDS)
    other = Trial(Layout(fastest), None, [0.5] * ROUNDS)
    others = (other,) if is_mixed or fastest != taken else ()
    ranking = Ranking(NAMES, (), Layout(PLAIN), "nobody asked")
    layouts = LayoutSearch(ranking, default, others, is_mixed=is_mixed, finalists=others)
    return KernelTuning(plan, "threads", size_class, layouts, (taken,), built, kept)


def kept_sizes(tuning: KernelTuning) -> Sizes | None:
    """What is to be kept; None where what was kept is to go."""
    winner = tuning.winner("a machine", WHEN)
    assert winner is not None
    assert winner.target == "threads"
    return None if winner.facts is None else tuple(winner.sizes[name] for name in NAMES)


def test_the_fastest_is_kept_with_what_was_measured(plan: KernelPlan) -> None:
    winner = tuned(plan, PLAIN, FAST).winner("a machine", WHEN)
    assert winner is not None
    assert winner.sizes == {"t_size": 32, "t_i_size": 32}
    facts = {"machine": "a machine", "date": "2026-11-22", "seconds": 0.5, "default_seconds": 1.0}
    assert winner.facts == facts


def test_a_default_that_a_build_takes_needs_nothing_kept(plan: KernelPlan) -> None:
    assert kept_sizes(tuned(plan, PLAIN, PLAIN)) is None
    assert kept_sizes(tuned(plan, PLAIN, PLAIN, kept=FAST)) is None
    assert kept_sizes(tuned(plan, TAKEN, TAKEN, built=None)) is None


def test_a_default_that_is_kept_stays_kept(plan: KernelPlan) -> None:
    assert tuned(plan, TAKEN, TAKEN, kept=TAKEN).winner("", WHEN) is None


def test_a_default_of_a_build_from_before_is_kept(plan: KernelPlan) -> None:
    assert kept_sizes(tuned(plan, TAKEN, TAKEN)) == TAKEN


def test_a_winner_that_a_build_takes_needs_nothing_kept(plan: KernelPlan) -> None:
    assert kept_sizes(tuned(plan, TAKEN, PLAIN, kept=TAKEN)) is None
    assert kept_sizes(tuned(plan, TAKEN, FAST, kept=TAKEN)) == FAST


def test_what_launches_choose_is_kept_for_the_others(plan: KernelPlan) -> None:
    """With choices a build takes the layout for launches of these numbers alone."""
    chosen = replace(plan, choices=(SizeChoice(1000, None, FAST),))
    assert kept_sizes(tuned(chosen, PLAIN, FAST, built=FAST)) == FAST
    assert kept_sizes(tuned(chosen, TAKEN, FAST, built=FAST, size_class=DEVICE)) is None, "devices have no choices"


def test_several_layouts_of_launches_cannot_be_kept(plan: KernelPlan) -> None:
    slow = tuned(plan, TAKEN, TAKEN, is_mixed=True)
    assert kept_sizes(slow) == TAKEN, "one of them is the fastest for all launches"
    slow.layouts.others[0].seconds[:] = [2.0] * ROUNDS
    assert kept_sizes(slow) is None


def test_what_was_kept_before(plan: KernelPlan, tmp_path: Path) -> None:
    source = tmp_path / "sweep.c"
    assert recorded_layouts(str(source), plan) == {}
    host, device = {"sizes": {"t_i_size": 7, "t_size": 5}}, {"sizes": {"t_size": 3, "t_i_size": 4}}
    file = tmp_path / "sweep.tilek.json"
    file.write_text(json.dumps({"version": 1, "kernels": {"sweep": {"host": host, "device": device}}}))
    assert recorded_layouts(str(source), plan) == {HOST: (5, 7), DEVICE: (3, 4)}
    file.write_text(json.dumps({"version": 1, "kernels": {"sweep": {"host": {"sizes": {"i_size": 7}}}}}))
    assert recorded_layouts(str(source), plan) == {}
    file.write_text("{")
    assert recorded_layouts(str(source), plan) == {}


@pytest.mark.parametrize(
    "text", ['{"version": 1,\n<<<<<<< HEAD\n "kernels": {}}', '{"version": 2, "kernels": {}}', "[]"]
)
def test_what_cannot_be_read_is_copied_before_it_begins_anew(text: str, tmp_path: Path) -> None:
    source, kept = tmp_path / "in.c", tmp_path / "in.tilek.json"
    assert set_aside(str(source)) is None
    kept.write_text('{"version": 1, "kernels": {"sweep": {}}}')
    assert set_aside(str(source)) is None
    kept.write_text(text)
    copy = set_aside(str(source))
    assert copy == tmp_path / "in.tilek.json.damaged"
    assert copy.read_text() == kept.read_text() == text
