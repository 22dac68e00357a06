"""Loops that the original implementation of TileK ran wrongly: each iteration runs once, none outside
the bounds.

Each row is one loop; its kernel counts the visits of every iteration in an array with room on both
sides, and returns the iterator's value after the loop. The plain compiler's program says what is
right.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.support.cases import Case, CaseFile
from tests.support.programs import Suite, Workshop, first_difference
from tests.support.targets import TargetEnvironment

COUNTS = "num_gangs(4) num_workers(4)"
THREADS = "num_threads(4)"


@dataclass(frozen=True)
class Fact:
    """A loop's header (over `i`), the tiles put on it, and what the original implementation made of it."""

    name: str
    header: str
    tiles: str
    kernel: str
    original: str


FACTS = (
    Fact("static_dynamic_10", "i = 0; i < n(10); i++", "tile(static, 4) tile(dynamic)", "", "wrong counts"),
    Fact("static_dynamic_11", "i = 0; i < n(11); i++", "tile(static, 4) tile(dynamic)", "", "1 access out of bounds"),
    Fact("dynamic_static_10", "i = 0; i < n(10); i++", "tile(dynamic) tile(static, 4)", "", "wrong counts"),
    Fact("thread_dynamic_10", "i = 0; i < n(10); i++", "tile(thread) tile(dynamic)", THREADS, "lost 2 iterations"),
    Fact(
        "gang_worker_dynamic", "i = 1; i < n(15); i++", "tile(gang) tile(worker) tile(dynamic)", COUNTS, "ran nothing"
    ),
    Fact("static_dynamic_3", "i = 0; i < n(3); i++", "tile(static, 4) tile(dynamic)", "", "looped forever"),
    Fact("three_tiles_4", "i = 0; i < n(4); i++", "tile(static, 2) tile(dynamic) tile(static, 4)", "", "wrong counts"),
    Fact("step_2", "i = 0; i < n(16); i += 2", "tile(static, 2) tile(dynamic)", "", "wrong counts"),
    Fact(
        "dynamic_gang_worker_64",
        "i = 0; i < n(64); i++",
        "tile(dynamic) tile(gang) tile(worker)",
        COUNTS,
        "60 duplicates",
    ),
    Fact("decreasing_static", "i = n(9); i >= 0; i--", "tile(static, 4) tile(dynamic)", "", "ran nothing"),
    Fact("decreasing_thread", "i = n(11); i > 0; i -= 2", "tile(dynamic) tile(thread)", THREADS, "ran nothing"),
    Fact(
        "decreasing_gang", "i = n(14); i >= -3; i -= 3", "tile(gang) tile(worker) tile(dynamic)", COUNTS, "ran nothing"
    ),
)


def case(fact: Fact) -> Case:
    """The kernel of one row; n(x) is x, unknown to the compiler."""
    header = fact.header
    start = header.index("n(") + 2
    bound = header[start : header.index(")", start)]
    header = header.replace(f"n({bound})", "n")
    text = f"""
static int {fact.name}(int n, int *visits)
{{
    int i;
#pragma tilek kernel data(visits[0:128], mode:rw) {fact.kernel}
    {{
#pragma tilek loop {fact.tiles}
        for ({header})
            visits[i + 32] += 1;
    }}
    return i;
}}

CASE({fact.name})
{{
    int visits[128] = {{0}};
    const int last = {fact.name}({bound}, visits);
    check_record("visits", visits, sizeof visits);
    check_record("last", &last, sizeof last);
}}
"""
    return Case(fact.name, fact.original, text)


FILE = CaseFile("facts.c", '#include "check.h"\n', tuple(case(fact) for fact in FACTS))


@pytest.fixture(scope="module")
def suite(workshop: Workshop) -> Suite:
    return Suite(workshop, FILE)


@pytest.mark.parametrize("case", FILE.cases, ids=lambda case: case.name)
def test_each_iteration_runs_once(suite: Suite, target: TargetEnvironment, case: Case) -> None:
    assert first_difference(suite.original(case), suite.translated(case, target)) is None
