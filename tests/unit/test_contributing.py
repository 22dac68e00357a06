"""CONTRIBUTING.md, done with toys: a clause, a target and a strategy, by the product's own extension points."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.source_plans import plan, plans
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.device_program import PROGRAMS, device_program
from tilepragma.codegen.dialect import OPENCL
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.frontend.pragma import clauses, constructs
from tilepragma.frontend.pragma.syntax import RawClause, expression
from tilepragma.ir.directives import ALL_TARGETS, ClauseExpression, Construct, OtherClause
from tilepragma.ir.traversal import loops_in
from tilepragma.planner import candidate_search
from tilepragma.planner.assembly import tiled_region
from tilepragma.schedule.candidate import Refusal, Region, ScheduleCandidate
from tilepragma.schedule.tree import LaunchNode, candidate_of
from tilepragma.user_tiles.mapping import device_clauses, host_clauses
from tilepragma.verify.rules import verify

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()

SCALE = """
void scale(int n, double b, double *a) {
#pragma tilek kernel independent data(a[0:n]) CLAUSE
  for (int i = 0; i < n; i++)
    a[i] *= b;
}
"""


# -- Add a clause: `priority(expression)` on a kernel


@dataclass(frozen=True)
class PriorityClause(OtherClause):
    """`priority(e)`: how urgent the kernel is."""

    value: ClauseExpression


def parse_priority(raw: RawClause, _diagnostics: Diagnostics) -> tuple[PriorityClause, ...]:
    return (PriorityClause(raw.range, expression(raw.arguments or ())),)


@pytest.fixture
def priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that a contributor writes into the three tables."""
    for construct in (Construct.KERNEL, Construct.KERNEL_LOOP):
        monkeypatch.setitem(constructs.CLAUSES, construct, (*constructs.CLAUSES[construct], "priority"))
    monkeypatch.setitem(clauses.PARSERS, "priority", parse_priority)
    monkeypatch.setitem(clauses.FORMS, "priority", "priority(number)")


@pytest.mark.usefixtures("priority")
def test_a_clause_reaches_the_plan() -> None:
    directive = plan(SCALE.replace("CLAUSE", "priority(n / 2)")).kernel.directive
    (clause,) = directive.others
    assert isinstance(clause, PriorityClause)
    assert clause.value.text == "n / 2"
    assert directive.independent


@pytest.mark.usefixtures("priority")
@pytest.mark.parametrize(
    ("clause", "message"),
    [("priority", "clause 'priority' needs arguments"), ("priority()", "clause 'priority' has empty parentheses")],
)
def test_mistakes_in_a_clause_are_errors(clause: str, message: str) -> None:
    diagnostics = Diagnostics()
    plans(SCALE.replace("CLAUSE", clause), diagnostics)
    assert [item.message for item in diagnostics] == [message]


def test_a_clause_that_is_in_no_table_is_an_error() -> None:
    diagnostics = Diagnostics()
    plans(SCALE.replace("CLAUSE", "priority(3)"), diagnostics)
    assert [item.message for item in diagnostics] == ["there is no clause 'priority'"]


# -- Add a target: C99 whose groups and work-items are numbers that loops count

TOY = replace(
    OPENCL,
    name="c99",
    template="device/body.j2",
    kernel="static void",
    global_space="",
    gang=tuple(f"toy_group[{dimension}]" for dimension in range(3)),
    gangs=tuple(f"toy_groups[{dimension}]" for dimension in range(3)),
    worker=tuple(f"toy_item[{dimension}]" for dimension in range(3)),
    barrier="",
)

DRIVER = """
#include <stdio.h>
static long toy_group[3], toy_groups[3], toy_item[3];
#include "scale.h"
int main(void)
{
    double a[N];
    for (int i = 0; i < N; ++i) a[i] = i;
    toy_groups[0] = gang0_count;
    for (toy_group[0] = 0; toy_group[0] < gang0_count; ++toy_group[0])
        for (toy_item[0] = 0; toy_item[0] < WORKERS; ++toy_item[0]) scale(a, 0.5);
    for (int i = 0; i < N; ++i)
        if (a[i] != i * 0.5) return printf("a[%d] is %g\\n", i, a[i]), 1;
    return 0;
}
"""


def toy_program(folder: Path, gangs: int, rounds: int) -> Path:
    """The launch over 1000 elements by `gangs` of 8 workers, each with so many rounds; the runtime would give these numbers."""
    made = plan(SCALE.replace("CLAUSE", ""))
    (folder / "scale.h").write_text(device_program(made, TOY).text)
    (folder / "main.c").write_text(DRIVER)
    words = f"TILEK_SPECIALIZED=1 N=1000 WORKERS=8 i_trip=1000 i_count0={rounds} i_stride0={8 * gangs} i_stride1=8"
    numbers = f"{words} gang0_count={gangs} gang0_rounds=1 tilek_index_bits=64"
    options = [f"-D{word}" for word in numbers.split()]
    program = folder / "main"
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", *options]
    subprocess.run([*command, str(folder / "main.c"), "-o", str(program)], check=True, timeout=60)
    return program


@pytest.mark.parametrize(("gangs", "rounds"), [(125, 1), (5, 25), (4, 32)])
def test_a_target_prints_a_program_that_runs(tmp_path: Path, gangs: int, rounds: int) -> None:
    subprocess.run([str(toy_program(tmp_path, gangs, rounds))], check=True, timeout=60)


def test_the_toy_is_not_the_program_of_another_target(tmp_path: Path) -> None:
    toy_program(tmp_path, 125, 1)
    text = (tmp_path / "scale.h").read_text()
    assert "static void scale(double *restrict a" in text or "static void scale(double *a" in text
    assert "toy_group[0]" in text
    assert "__kernel" not in text


def test_the_header_has_what_constants_name_of_targets() -> None:
    header = (ROOT / "runtime/include/tilek.h").read_text()
    targets = re.search(r"typedef enum tilek_target \{(.*?)\}", header, re.DOTALL)
    assert targets is not None
    assert {f"TILEK_{target.name}" for target in ALL_TARGETS} <= set(re.findall(r"\w+", targets[1]))
    for program in PROGRAMS:
        assert re.search(rf"^ +const char \*const \*{program.name};", header, re.MULTILINE)


# -- Add a strategy: distribute the first loop, whatever depends on what


NOTE = "loops inside the first one: toys leave them as they are"


def first_loop(region: Region) -> ScheduleCandidate | Refusal:
    """One launch of the region's outermost loop."""
    loop = next(loops_in(region.kernel.body), None)
    if loop is None:
        return Refusal("there is no loop")
    body = region.kernel.body
    return candidate_of(
        "first loop",
        region,
        (LaunchNode(body, host_clauses((loop,))),),
        (LaunchNode(body, device_clauses((loop,))),),
        notes=(NOTE,),
    )


ROWS = """
void rows(int n, int m, double a[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 1; j < m; j++)
      a[FROM] += a[i][j - 1];
}
"""


def attempt(source: str) -> candidate_search.Attempt:
    """What the search makes of the text's only region."""
    made = plan(source)
    return candidate_search.Attempt(tiled_region(made.kernel, made.floating, made.targets, Diagnostics()))


def test_a_strategy_is_tried_proven_and_taken() -> None:
    tried = attempt(ROWS.replace("FROM", "i][j"))
    choice = tried.choice((first_loop, *candidate_search.STRATEGIES))
    assert choice.taken is not None
    assert choice.taken.strategy == "first loop"
    planned = tried.planned(choice, Diagnostics())
    assert planned.proof is not None
    assert planned.proof.faults == ()
    assert verify(planned.plan, planned.proof).plan is planned.plan


def test_a_strategy_that_is_wrong_is_not_taken() -> None:
    choice = attempt(ROWS.replace("a[FROM] += a[i][j - 1]", "a[i][j] += i ? a[i - 1][j] : 0")).choice((first_loop,))
    assert choice.taken is None
    assert any(clause.startswith("first loop: not proven right: ") for clause in choice.rejected)


def test_a_row_in_the_table_of_strategies_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_search, "STRATEGIES", (first_loop,))
    (tmp_path / "rows.c").write_text(ROWS.replace("FROM", "i][j"))
    result = translate(TranslateRequest(str(tmp_path / "rows.c")))
    assert result.succeeded, result.diagnostics
    (made,) = result.plans
    assert made.untransformed is None
    assert NOTE in made.rejected


# -- The page names what the toys use


@pytest.mark.parametrize(
    "name",
    ["CLAUSES", "PARSERS", "FORMS", "OtherClause", "Dialect", "device_program", "kernel_constants", "STRATEGIES"],
)
def test_the_page_names_the_extension_points(name: str) -> None:
    assert f"`{name}" in PAGE


@pytest.mark.parametrize("title", ["Add a clause", "Add a target", "Add a strategy"])
def test_each_recipe_takes_ten_lines(title: str) -> None:
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert 0 < len(section[1].strip().splitlines()) <= 10
