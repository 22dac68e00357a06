"""Rounds of reading OpenMP's lines: what later rounds take again, and what they do again."""

from __future__ import annotations

from collections import Counter

import pytest

from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.frontend import translation_unit
from tilepragma.frontend.clang import kernel_lowering
from tilepragma.planner import candidate_search, region_splitting

#: Of the loops, one is parallel as it is, one by the line's word alone, and one is refused.
SOURCE = b"""
int next(int);
void f(int n, double *restrict a, const int *restrict at)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        a[i] = 2 * i;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 64; j++)
            a[at[64 * i + j]] = i;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        a[i] = next(i);
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        a[i] += 3 * i;
}
"""


def test_rounds_do_again_only_what_other_directives_change(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    for module, name, place in (
        (translation_unit, "parse_source", None),
        (kernel_lowering, "lower_region", 2),
        (region_splitting, "plan_region", 0),
        (candidate_search, "searched_plan", 0),
    ):
        original = getattr(module, name)

        def counted(*arguments: object, original=original, name=name, place=place) -> object:
            if place is not None:
                where = getattr(arguments[place], "kernel", arguments[place])
                name = f"{name} {getattr(where, 'range', where).start.line}"
            calls[name] += 1
            return original(*arguments)

        monkeypatch.setattr(module, name, counted)
    result = translate(TranslateRequest("t.c", text=SOURCE, openmp=True))
    assert result.succeeded
    assert [plan.kernel.range.start.line for plan in result.plans] == [6, 9, 16]
    assert [plan.kernel.name for plan in result.plans] == ["f", "f_2", "f_3"]
    assert calls == {
        "parse_source": 1,
        "lower_region 6": 1,
        "lower_region 9": 2,
        "lower_region 13": 2,
        "lower_region 16": 1,
        "plan_region 6": 1,
        "plan_region 9": 2,
        "plan_region 16": 1,
        "searched_plan 6": 1,
        "searched_plan 9": 1,
        "searched_plan 16": 1,
    }
