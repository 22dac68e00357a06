"""Overlapped tiles of time steps: what gets them, what does not, and which broken ones the proof refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.source_plans import plan
from tests.support.stencil_plans import (
    LINE,
    Change,
    in_launch,
    more_in,
    rewritten,
    scratchpads,
    without_if,
)
from tilepragma.codegen.manifest import array_flags
from tilepragma.ir.directives import LOCAL_BYTES, AxisKind, TemporalTiles
from tilepragma.ir.expressions import Access, Scope, integer
from tilepragma.ir.loop_tree import Barrier, Block, Loop
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, launches_in
from tilepragma.planner import candidate_search
from tilepragma.poly import halo
from tilepragma.verify.proofs import prove
from tilepragma.verify.rules import PlanFault, verify, verify_rules

CUBE = """
void f(int steps, int n, double a[n][n][n], double b[n][n][n])
{
#pragma tilek kernel
    for (int t = 0; t < steps; t++) {
        for (int i = %d; i < n - %d; i++)
            for (int j = %d; j < n - %d; j++)
                for (int k = %d; k < n - %d; k++)
                    b[i][j][k] = a[i + %d][j][k] + a[i][j - %d][k] + a[i][j][k + %d];
        for (int i = %d; i < n - %d; i++)
            for (int j = %d; j < n - %d; j++)
                for (int k = %d; k < n - %d; k++)
                    a[i][j][k] = b[i][j][k];
    }
}
"""
ASKED = PlanOptions(temporal=TemporalTiles.OVERLAPPED)


@pytest.fixture(scope="module")
def good() -> KernelPlan:
    return plan(LINE, ASKED)


def test_a_stencil_gets_them_on_devices_where_they_are_asked_for(good: KernelPlan) -> None:
    (loop,) = good.device_steps
    assert isinstance(loop, HostLoop) and loop.shape and len(loop.steps) == 2
    assert scratchpads(good) == 2 * [("a", [LOCAL_BYTES // 16]), ("b", [LOCAL_BYTES // 16])]
    assert not any(launch.scratchpads for launch in good.host)
    kinds = {axis.kind for launch in good.device for axis in launch.axes}
    assert kinds == {AxisKind.GANG, AxisKind.WORKER}
    assert [one.object.name for one in good.arrays if one.object.scope is Scope.TEMPORARY] == ["a_next"]
    assert any("again" in note and "'a' and 'a_next'" in note for note in good.storage)


def test_cores_have_no_second_array(good: KernelPlan) -> None:
    alone = {one.object.host: "DEVICES_ONLY" in array_flags(one, good) for one in good.arrays}
    assert alone == {"a": False, "b": False, "a_next": True}


def test_nobody_gets_them_unasked() -> None:
    assert not any(launch.scratchpads for launch in plan(LINE).device)


@pytest.mark.parametrize("order", [1, 4])
def test_the_degree_is_what_memory_of_a_gang_allows(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_search, "STRATEGIES", candidate_search.STRATEGIES[:1])
    made = plan(CUBE % (6 * (order,) + 3 * (order,) + 6 * (order,)), ASKED)
    assert len(made.device) == 2 and all(launch.scratchpads for launch in made.device)


REFUSED = {
    "every step is kept": "for (int t = 1; t <= steps; t++) for (int i = 1; i < n; i++) c[t][i] = c[t - 1][i - 1];",
    "no step reads another": "for (int t = 0; t < steps; t++) for (int i = 1; i < n; i++) b[i] = a[i - 1];",
    "a step waits for itself": "for (int t = 0; t < steps; t++) for (int i = 1; i < n; i++) a[i] = a[i - 1] + b[i];",
    "far": "for (int t = 0; t < steps; t++) { for (int i = 0; i < n; i++) b[i] = a[0]; for (int i = 0; i < n; i++) a[i] = b[i]; }",
    "backwards": "for (int t = steps; t > 0; t--) { for (int i = 1; i < n; i++) b[i] = a[i - 1]; for (int i = 1; i < n; i++) a[i] = b[i]; }",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_others_keep_what_they_have_with_a_reason(body: str) -> None:
    made = plan(
        f"void f(int steps, int n, double a[n], double b[n], double c[steps + 1][n])\n{{\n#pragma tilek kernel\n{body}\n}}\n",
        ASKED,
    )
    assert not any(launch.scratchpads for launch in made.device)
    assert made.as_written is not None or any(one.startswith("overlapped tiles: ") for one in made.rejected)


def test_what_does_not_fit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_search, "STRATEGIES", candidate_search.STRATEGIES[:1])
    box = "a[i + 8][j][k] + a[i][j - 8][k] + a[i][j][k + 8]"
    made = plan((CUBE % (15 * (8,))).replace("= b[i][j][k];", f"= {box.replace('a[', 'b[')};"), ASKED)
    assert not any(launch.scratchpads for launch in made.device)
    assert any("bytes of shared memory" in one for one in made.rejected)


# -- broken plans


def without_last_barrier(made: KernelPlan) -> KernelPlan:
    def change(node: Any) -> Any:
        whole = isinstance(node, Block) and node.statements[:1] == (first,)
        return replace(node, statements=node.statements[:-1]) if whole else node

    first = made.device[0].body.statements[0].body.statements[0]  # type: ignore[union-attr]
    return in_launch(made, 0, change)


def without_barriers_of_steps(made: KernelPlan) -> KernelPlan:
    def change(node: Any) -> Any:
        if isinstance(node, Loop) and any(isinstance(one, Barrier) for one in node.body.statements):
            kept = tuple(one for one in node.body.statements if not isinstance(one, Barrier))
            return replace(node, body=replace(node.body, statements=kept))
        return node

    return in_launch(made, 0, change)


def reading(made: KernelPlan, which: int, old: str, new: str) -> KernelPlan:
    """Accesses to one array made to another."""
    objects = {one.object.name: one.object for one in made.arrays}

    def change(access: Access) -> Access:
        return replace(access, object=objects[new]) if access.object == objects[old] else access

    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = [one for one in loop.steps if isinstance(one, Launch)]
    launches[which] = replace(launches[which], body=with_accesses(launches[which].body, change))
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def shorter_scratchpads(made: KernelPlan) -> KernelPlan:
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = []
    for one in launches_in(loop.steps):
        short = {
            scratchpad.object: replace(scratchpad.object, lengths=(integer(LOCAL_BYTES // 16 - 1),))
            for scratchpad in one.scratchpads
        }
        body = with_accesses(one.body, lambda access: replace(access, object=short.get(access.object, access.object)))  # noqa: B023
        own = tuple(replace(scratchpad, object=short[scratchpad.object]) for scratchpad in one.scratchpads)
        launches.append(replace(one, body=body, scratchpads=own))
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def with_launches(made: KernelPlan, *places: int) -> KernelPlan:
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    return replace(made, device_steps=(replace(loop, steps=tuple(loop.steps[place] for place in places)),))


BROKEN: dict[str, Callable[[KernelPlan], KernelPlan]] = {
    "a scratchpad is filled while it is still read": without_last_barrier,
    "workers do not wait between statements": without_barriers_of_steps,
    "the second launch reads what the first one read": lambda p: reading(p, 1, "a_next", "a"),
    "the first launch writes what it reads": lambda p: reading(p, 0, "a_next", "a"),
    "the results stay in the copy": lambda p: reading(p, 1, "a", "a_next"),
    "the border is not there": lambda p: without_if(p, 0, "b_scratchpad[i_point - "),
    "nothing is filled": lambda p: without_if(p, 1, "a_scratchpad"),
    "results are not stored": lambda p: without_if(p, 1, "a[i_point"),
    "values in between are not stored": lambda p: without_if(p, 0, "a_next["),
    "what only the last step leaves is not stored": lambda p: without_if(p, 1, "b[i_point"),
    "tiles shrink too fast": lambda p: more_in(p, 0, ">= i_first - (2l * t_left)", 1),
    "tiles shrink too fast at the other end": lambda p: more_in(p, 0, "i_first + i_home + (2l * t_left)", 1),
    "a tile ends too early": lambda p: more_in(p, 1, "i_first_2 + i_home_2", 1),
    "the last step is not known": lambda p: more_in(p, 1, "t_first_2 + (long)t_steps_2 - 1l >=", 1),
    "scratchpads are shorter than what they hold": shorter_scratchpads,
    "there and not back": lambda p: with_launches(p, 0),
    "back first": lambda p: with_launches(p, 1, 0),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken_ones_are_refused(good: KernelPlan, broken: Callable[[KernelPlan], KernelPlan]) -> None:
    made = broken(good)
    assert made != good
    assert prove(made)


def test_the_good_one_is_proven(good: KernelPlan) -> None:
    assert not prove(good)
    verify(good)


SHORTCOMINGS = {
    "growth": lambda found: replace(found, growth=((1, 2),)),
    "margin": lambda found: replace(found, margins=dict.fromkeys(found.margins, ((0, 0),))),
    "reach": lambda found: replace(found, reach=((1, 2),)),
    "border": lambda found: replace(found, arrays=tuple(replace(one, border=False) for one in found.arrays)),
    "carried": lambda found: replace(
        found, arrays=tuple(replace(one, carried=one.object.name == "b") for one in found.arrays)
    ),
}


@pytest.mark.parametrize("change", SHORTCOMINGS.values(), ids=SHORTCOMINGS)
def test_a_planner_that_errs_gets_nothing(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    right = halo.overlap
    monkeypatch.setattr(halo, "overlap", lambda *given: change(right(*given)))
    made = plan(LINE, ASKED)
    assert not any(launch.scratchpads for launch in made.device)
    assert any("not proven right" in one for one in made.rejected)


def test_scratchpads_are_for_gangs_of_devices(good: KernelPlan) -> None:
    for broken in (
        replace(good, host_steps=good.device_steps),
        shared_by_two(good),
        replace(good, device_steps=tuple(rewritten(step, as_local) for step in good.device_steps)),
    ):
        with pytest.raises(PlanFault, match="scratchpads are sound"):
            verify_rules(broken)


def shared_by_two(made: KernelPlan) -> KernelPlan:
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = [replace(one, scratchpads=(*one.scratchpads, one.scratchpads[0])) for one in launches_in(loop.steps)]
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def as_local(node: Any) -> Any:
    return replace(node, scope=Scope.LOCAL) if getattr(node, "scope", None) is Scope.GANG else node


def test_accesses_name_scratchpads_alone(good: KernelPlan) -> None:
    (first, _) = good.device
    inner = {one.object for one in walk(first.body) if isinstance(one, Access) and one.object.scope is Scope.GANG}
    assert inner == {scratchpad.object for scratchpad in first.scratchpads}
