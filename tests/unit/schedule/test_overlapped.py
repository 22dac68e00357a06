"""Overlapped tiles of time steps: what gets them, what does not, and which broken ones the proof refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.source_plans import plan
from tests.support.stencil_plans import (
    LINE,
    PLANE,
    Change,
    in_launch,
    more_in,
    rewritten,
    scratchpads,
    without_if,
)
from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA
from tilepragma.codegen.manifest import array_flags
from tilepragma.ir.directives import LOCAL_BYTES, AxisKind, TemporalTiles
from tilepragma.ir.expressions import Access, Binary, DataObject, IntegerLiteral, Scope, integer
from tilepragma.ir.loop_tree import Barrier, Block, Declarator, Loop, RegisterQueue, Scratchpad
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import HostCondition, HostLoop, KernelPlan, Launch, launches_in
from tilepragma.planner import candidate_search
from tilepragma.schedule import overlapped
from tilepragma.schedule.user_launches import launch_loops
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
    assert [each.object.name for each in good.arrays if each.object.scope is Scope.TEMPORARY] == ["a_next"]
    assert any("again" in note and "'a' and 'a_next'" in note for note in good.storage)


def test_cores_have_no_second_array(good: KernelPlan) -> None:
    alone = {each.object.host: "DEVICES_ONLY" in array_flags(each, good) for each in good.arrays}
    assert alone == {"a": False, "b": False, "a_next": True}


def test_only_the_option_asks_for_them() -> None:
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
    assert made.untransformed is not None or any(each.startswith("overlapped tiles: ") for each in made.rejected)


def test_what_does_not_fit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_search, "STRATEGIES", candidate_search.STRATEGIES[:1])
    box = "a[i + 8][j][k] + a[i][j - 8][k] + a[i][j][k + 8]"
    made = plan((CUBE % (15 * (8,))).replace("= b[i][j][k];", f"= {box.replace('a[', 'b[')};"), ASKED)
    assert not any(launch.scratchpads for launch in made.device)
    assert any("bytes of shared memory" in each for each in made.rejected)


# -- broken plans


def without_last_barrier(made: KernelPlan) -> KernelPlan:
    def change(node: Any) -> Any:
        whole = isinstance(node, Block) and node.statements[:1] == (first,)
        return replace(node, statements=node.statements[:-1]) if whole else node

    first = made.device[0].body.statements[0].body.statements[0]  # type: ignore[union-attr]
    return in_launch(made, 0, change)


def without_barriers_of_steps(made: KernelPlan) -> KernelPlan:
    def change(node: Any) -> Any:
        if isinstance(node, Loop) and any(isinstance(statement, Barrier) for statement in node.body.statements):
            kept = tuple(statement for statement in node.body.statements if not isinstance(statement, Barrier))
            return replace(node, body=replace(node.body, statements=kept))
        return node

    return in_launch(made, 0, change)


def reading(made: KernelPlan, which: int, old: str, new: str) -> KernelPlan:
    """Accesses to one array made to another."""
    objects = {each.object.name: each.object for each in made.arrays}

    def change(access: Access) -> Access:
        return replace(access, object=objects[new]) if access.object == objects[old] else access

    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = [step for step in loop.steps if isinstance(step, Launch)]
    launches[which] = replace(launches[which], body=with_accesses(launches[which].body, change))
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def shorter_scratchpads(made: KernelPlan) -> KernelPlan:
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = []
    for launch in launches_in(loop.steps):
        short = {
            scratchpad.object: replace(scratchpad.object, lengths=(integer(LOCAL_BYTES // 16 - 1),))
            for scratchpad in launch.scratchpads
        }

        def shortened(access: Access, short: dict[DataObject, DataObject] = short) -> Access:
            return replace(access, object=short.get(access.object, access.object))

        body = with_accesses(launch.body, shortened)
        own = tuple(replace(scratchpad, object=short[scratchpad.object]) for scratchpad in launch.scratchpads)
        launches.append(replace(launch, body=body, scratchpads=own))
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def with_launches(made: KernelPlan, *places: int) -> KernelPlan:
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    return replace(made, device_steps=(replace(loop, steps=tuple(loop.steps[place] for place in places)),))


BROKEN: dict[str, tuple[Callable[[KernelPlan], KernelPlan], str]] = {
    "a scratchpad is filled while it is still read": (
        without_last_barrier,
        "no barrier ends the tiles of launch f_nest1, so that a scratchpad may be filled while it is still read",
    ),
    "workers do not wait between statements": (
        without_barriers_of_steps,
        "the anti dependence of 'a' is broken in a tile: its instances may be run by two workers with no barrier between",
    ),
    "the second launch reads what the first one read": (
        lambda p: reading(p, 1, "a_next", "a"),
        "a scratchpad is filled from 'a' with values of 'a' that are not the latest",
    ),
    "the first launch writes what it reads": (
        lambda p: reading(p, 0, "a_next", "a"),
        "'a' is read and written by tiles that do not wait for each other",
    ),
    "the results stay in the copy": (
        lambda p: reading(p, 1, "a", "a_next"),
        "a scratchpad is filled from 'a' with values of 'a' that are not the latest",
    ),
    "the border is not there": (
        lambda p: without_if(p, 0, "b_scratchpad[i_point - "),
        "a scratchpad lacks elements of 'b' that are read from before the step",
    ),
    "nothing is filled": (
        lambda p: without_if(p, 1, "a_scratchpad"),
        "the statement at line 9 is not shown to run for all of its instances",
    ),
    "results are not stored": (
        lambda p: without_if(p, 1, "a[i_point"),
        "a scratchpad is filled from 'a' with values of 'a' that are not the latest",
    ),
    "values in between are not stored": (
        lambda p: without_if(p, 0, "a_next["),
        "a scratchpad is filled from 'a_next' with values of 'a' that are not the latest",
    ),
    "what only the last step leaves is not stored": (
        lambda p: without_if(p, 1, "b[i_point"),
        "results of 'b' are not stored",
    ),
    "tiles shrink too fast": (
        lambda p: more_in(p, 0, ">= i_first - (2l * t_left)", 1),
        "the statement at line 9 is not shown to run for all of its instances",
    ),
    "tiles shrink too fast at the other end": (
        lambda p: more_in(p, 0, "i_first + i_home + (2l * t_left)", 1),
        "the statement at line 9 is not shown to run for all of its instances",
    ),
    "a tile ends too early": (
        lambda p: more_in(p, 1, "i_first_2 + i_home_2", 1),
        "the statement at line 9 is not shown to run for all of its instances",
    ),
    "the last step is not known": (
        lambda p: more_in(p, 1, "t_first_2 + (long)t_steps_2 - 1l >=", 1),
        "results of 'b' are not stored",
    ),
    "scratchpads are shorter than what they hold": (shorter_scratchpads, "the scratchpad of 'a' is too small"),
    "there and not back": (
        lambda p: with_launches(p, 0),
        "the statement at line 7 is not shown to run for all of its instances",
    ),
    "back first": (lambda p: with_launches(p, 1, 0), "the anti dependence of 'a' goes to an earlier step of the host"),
}


@pytest.mark.parametrize(("broken", "fault"), BROKEN.values(), ids=BROKEN)
def test_broken_tiles_are_refused(good: KernelPlan, broken: Callable[[KernelPlan], KernelPlan], fault: str) -> None:
    made = broken(good)
    assert made != good
    assert fault in {each.message for each in prove(made)}


def test_the_good_one_is_proven(good: KernelPlan) -> None:
    assert not prove(good)
    verify(good)


SHORTCOMINGS = {
    "growth": lambda found: replace(found, growth=((1, 2),)),
    "margin": lambda found: replace(found, margins=dict.fromkeys(found.margins, ((0, 0),))),
    "reach": lambda found: replace(found, reach=((1, 2),)),
    "border": lambda found: replace(found, arrays=tuple(replace(each, border=False) for each in found.arrays)),
    "carried": lambda found: replace(
        found, arrays=tuple(replace(each, carried=each.object.name == "b") for each in found.arrays)
    ),
}


@pytest.mark.parametrize("change", SHORTCOMINGS.values(), ids=SHORTCOMINGS)
def test_a_planner_that_errs_gets_nothing(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    right = overlapped.overlap
    monkeypatch.setattr(overlapped, "overlap", lambda *given: change(right(*given)))
    made = plan(LINE, ASKED)
    assert not any(launch.scratchpads for launch in made.device)
    assert any("not proven right" in each for each in made.rejected)


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
    launches = [
        replace(launch, scratchpads=(*launch.scratchpads, launch.scratchpads[0])) for launch in launches_in(loop.steps)
    ]
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def as_local(node: Any) -> Any:
    return replace(node, scope=Scope.LOCAL) if getattr(node, "scope", None) is Scope.GANG else node


def test_accesses_name_scratchpads_alone(good: KernelPlan) -> None:
    (first, _) = good.device
    inner = {node.object for node in walk(first.body) if isinstance(node, Access) and node.object.scope is Scope.GANG}
    assert inner == {scratchpad.object for scratchpad in first.scratchpads}


# -- tiles that gangs stream through

STREAMED = PlanOptions(temporal=TemporalTiles.STREAMED)


@pytest.fixture(scope="module")
def streamed() -> KernelPlan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidate_search, "STRATEGIES", candidate_search.STRATEGIES[:1])
        made = plan(PLANE, STREAMED)
    (outer,) = made.device_steps
    # Without the question whether there is anything to do.
    return replace(made, device_steps=outer.steps) if isinstance(outer, HostCondition) else made


def test_a_gang_walks_along_the_first_dimension(streamed: KernelPlan) -> None:
    assert [size.object.name for size in streamed.sizes] == ["t_degree", "i_chunk", "j_scratchpad"]
    degree = streamed.sizes[0].device
    # At a position a step is two planes behind the one before it; what is left is taken two planes
    # behind the last step: 2 * degree + 1 planes of a. The border of b is filled with a's plane,
    # and read three planes behind the last step's: one more.
    (_, (planes, width)), (_, (others, _)) = scratchpads(streamed)[:2]
    assert (degree, planes, others) == (4, 16, 16)
    assert LOCAL_BYTES - 8 * (planes + others) < 8 * width * (planes + others) <= LOCAL_BYTES
    assert all(
        scratchpad.origin[0] is None and scratchpad.origin[1]
        for launch in streamed.device
        for scratchpad in launch.scratchpads
    )
    assert all(len([axis for axis in launch.axes if axis.kind is AxisKind.WORKER]) == 1 for launch in streamed.device)
    assert any(each.startswith("streamed tiles: ") and "a few planes at a time" in each for each in streamed.storage)


def test_workers_wait_once_for_a_position(streamed: KernelPlan) -> None:
    # And once behind a tile.
    for launch in streamed.device:
        assert sum(isinstance(node, Barrier) for node in walk(launch.body)) == 2


def with_rings(made: KernelPlan, name: str, more: int, *, spelled: bool = True) -> KernelPlan:
    """Rings of an array with so many per cent of the places, which the accesses too say if they are `spelled` so."""
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = []
    for launch in launches_in(loop.steps):
        (old,) = (scratchpad for scratchpad in launch.scratchpads if scratchpad.array.name == name)
        length = old.object.lengths[0]
        assert isinstance(length, IntegerLiteral)
        places = length.value * more // 100
        assert old.column is not None
        lengths = (integer(places), *old.object.lengths[1:])
        named = {name: replace(name, lengths=lengths) for name in old.names}
        new = replace(old, object=named[old.object], column=replace(old.column, object=named[old.column.object]))

        def change(access: Access, named: Any = named, places: int = places) -> Access:
            if access.object not in named:
                return access
            index = access.subscripts[0]
            assert isinstance(index, Binary)
            first = replace(index, right=integer(places - 1)) if spelled else index
            return replace(access, object=named[access.object], subscripts=(first, *access.subscripts[1:]))

        own = tuple(new if scratchpad is old else scratchpad for scratchpad in launch.scratchpads)
        launches.append(replace(launch, body=with_accesses(launch.body, change), scratchpads=own))
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def moved(made: KernelPlan, name: str, planes: int) -> KernelPlan:
    """What is done with that plane of the first launch is done with one so much further."""
    found = 0

    def change(node: Any) -> Any:
        nonlocal found
        if isinstance(node, Declarator) and node.object.name == name and node.initializer is not None:
            found += 1
            return replace(node, initializer=Binary("+", node.initializer, integer(planes), node.object.element))
        return node

    result = in_launch(made, 0, change)
    assert found
    return result


def without_barrier_of_position(made: KernelPlan) -> KernelPlan:
    def change(node: Any) -> Any:
        if isinstance(node, Loop) and node.iterator.name == "i_front":
            kept = node.body.statements
            return replace(
                node, body=replace(node.body, statements=kept[:-1] if isinstance(kept[-1], Barrier) else kept)
            )
        return node

    return in_launch(made, 0, change)


def distributed_otherwise(made: KernelPlan, name: str) -> KernelPlan:
    """One more column in the loop over this iterator, so that other workers have the columns."""

    def change(node: Any) -> Any:
        if isinstance(node, Loop) and node.iterator.name == name:
            return replace(node, upper=Binary("+", node.upper, integer(1), node.upper.type))
        return node

    return in_launch(made, 0, change)


def with_columns(made: KernelPlan, change: Callable[[RegisterQueue], RegisterQueue]) -> KernelPlan:
    """What workers have in registers of a changed, in both launches."""
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = []
    for launch in launches_in(loop.steps):
        scratchpads = tuple(
            replace(scratchpad, column=change(scratchpad.column))
            if scratchpad.column and scratchpad.array.name == "a"
            else scratchpad
            for scratchpad in launch.scratchpads
        )
        launches.append(replace(launch, scratchpads=scratchpads))
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def named_otherwise(made: KernelPlan, change: Callable[[Access, Scratchpad, RegisterQueue], Access]) -> KernelPlan:
    """Accesses to the scratchpads of a changed, in the first launch."""
    (scratchpad,) = (each for each in made.device[0].scratchpads if each.array.name == "a")
    column = scratchpad.column
    assert column is not None
    found = 0

    def changed(access: Access) -> Access:
        nonlocal found
        new = change(access, scratchpad, column)
        found += new is not access
        return new

    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    first, second = launches_in(loop.steps)
    first = replace(first, body=with_accesses(first.body, changed))
    assert found
    return replace(made, device_steps=(replace(loop, steps=(first, second)),))


def all_in_registers(made: KernelPlan) -> KernelPlan:
    """Neighbours too."""
    return named_otherwise(
        made,
        lambda access, scratchpad, column: (
            replace(access, object=column.object)
            if access.object == scratchpad.object
            and " - j_origin" in expression_text(access.subscripts[1])
            and " - 1" in expression_text(access.subscripts[1])
            else access
        ),
    )


def written_in_registers(made: KernelPlan) -> KernelPlan:
    return named_otherwise(
        made,
        lambda access, scratchpad, column: (
            replace(access, object=column.object) if access.object == scratchpad.object else access
        ),
    )


BROKEN_STREAMS: dict[str, tuple[Callable[[KernelPlan], KernelPlan], str]] = {
    "a ring has too few places": (
        lambda p: with_rings(p, "a", 50),
        "taking places of 'a' in a ring for others is broken in a tile: its instances run in the opposite order",
    ),
    "the ring of what is no copy has too few places": (
        lambda p: with_rings(p, "b", 50),
        "taking places of 'b' in a ring for others is broken in a tile: its instances run in the opposite order",
    ),
    "a ring is not gone round": (
        lambda p: with_rings(p, "a", 200, spelled=False),
        "a place in the scratchpad of 'a' is not spelled as one",
    ),
    "a ring's places are not found by bits": (
        lambda p: with_rings(p, "b", 150),
        "a place in the scratchpad of 'b' is not spelled as one",
    ),
    "planes are taken before they are free": (
        lambda p: moved(p, "i_point", 1),
        "the registers of 'a_column' have not all planes that are read or written",
    ),
    "planes come too late": (
        lambda p: moved(p, "i_point", -1),
        "filling the scratchpad of 'a' is broken in a tile: its instances run in the opposite order",
    ),
    "a statement is too early": (
        lambda p: moved(p, "i_point_2", 1),
        "the registers of 'a_column' have not all planes that are read or written",
    ),
    "a statement is too late": (
        lambda p: moved(p, "i_point_2", -1),
        "the anti dependence of 'a' is broken in a tile: its instances may be run by two workers with no barrier between",
    ),
    "the other statement is too early": (
        lambda p: moved(p, "i_point_3", 1),
        "the anti dependence of 'a' is broken in a tile: its instances run in the opposite order",
    ),
    "the other statement is too late": (
        lambda p: moved(p, "i_point_3", -1),
        "the statement at line 11 is not shown to run for all of its instances",
    ),
    "results are taken too early": (
        lambda p: moved(p, "i_point_4", 1),
        "storing the scratchpad of 'a' is broken in a tile: its instances run in the opposite order",
    ),
    "results are taken too late": (
        lambda p: moved(p, "i_point_4", -1),
        "a scratchpad is filled from 'a_next' with values of 'a' that are not the latest",
    ),
    "last results are taken too early": (
        lambda p: moved(p, "i_point_5", 2),
        "storing the scratchpad of 'b' is broken in a tile: its instances run in the opposite order",
    ),
    "the walk begins too late": (
        lambda p: begun_later(p, 2),
        "a scratchpad lacks elements of 'a' that are read from before the step",
    ),
    "workers go on before others are done": (
        without_barrier_of_position,
        "the anti dependence of 'a' is broken in a tile: its instances may be run by two workers with no barrier between",
    ),
    "a column is computed by others than those who filled it": (
        lambda p: distributed_otherwise(p, "j_step"),
        "filling the scratchpad of 'a' is broken in a tile: its instances may be run by two workers with no barrier between",
    ),
    "a column of b is computed by others": (
        lambda p: distributed_otherwise(p, "j_step_2"),
        "the anti dependence of 'a' is broken in a tile: its instances may be run by two workers with no barrier between",
    ),
    "a column is stored by others than those who computed it": (
        lambda p: distributed_otherwise(p, "j_step_4"),
        "storing the scratchpad of 'a' is broken in a tile: its instances may be run by two workers with no barrier between",
    ),
    "what a neighbour wrote is read in registers": (
        all_in_registers,
        "a worker reads elements of 'a' in registers that another one writes",
    ),
    "what is written is in registers alone": (written_in_registers, "'a' is written in registers alone"),
    "registers have too few planes": (
        lambda p: with_columns(p, lambda one: replace(one, planes=one.planes - 1)),
        "the registers of 'a_column' have not all planes that are read or written",
    ),
    "registers move on with the time steps": (
        lambda p: with_columns(
            p, lambda one: replace(one, position=replace(one.position, name="t_step", host="t_step"))
        ),
        "'t_step' is no position of a walk through planes",
    ),
    "a chunk ends too early": (
        lambda p: more_in(p, 1, "i_first_2 + i_home_2", 1),
        "the statement at line 11 is not shown to run for all of its instances",
    ),
    "nothing is filled": (
        lambda p: without_if(p, 1, "a_scratchpad"),
        "the statement at line 11 is not shown to run for all of its instances",
    ),
    "the border is not there": (
        lambda p: without_if(p, 0, "b_scratchpad[i_point & "),
        "a scratchpad lacks elements of 'b' that are read from before the step",
    ),
    "results are not stored": (
        lambda p: without_if(p, 1, "a[i_point"),
        "a scratchpad is filled from 'a' with values of 'a' that are not the latest",
    ),
}


def begun_later(made: KernelPlan, planes: int) -> KernelPlan:
    def change(node: Any) -> Any:
        if isinstance(node, Loop) and node.iterator.name == "i_front":
            return replace(node, lower=Binary("+", node.lower, integer(planes), node.iterator.element))
        return node

    return in_launch(made, 0, change)


@pytest.mark.parametrize(("broken", "fault"), BROKEN_STREAMS.values(), ids=BROKEN_STREAMS)
def test_broken_streams_are_refused(
    streamed: KernelPlan, broken: Callable[[KernelPlan], KernelPlan], fault: str
) -> None:
    made = broken(streamed)
    assert made != streamed
    assert fault in {each.message for each in prove(made)}


def with_loops_listed(made: KernelPlan) -> KernelPlan:
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    launches = (replace(launch, loops=launch_loops(launch.body)) for launch in launches_in(loop.steps))
    return replace(made, device_steps=(replace(loop, steps=tuple(launches)),))


def test_registers_move_on_with_one_loop(streamed: KernelPlan) -> None:
    def faster(node: Any) -> Any:
        return replace(node, step=integer(2)) if isinstance(node, Loop) and node.iterator.name == "i_front" else node

    for broken in (
        with_loops_listed(in_launch(streamed, 0, faster)),
        with_columns(streamed, lambda one: replace(one, position=replace(one.position, name="t_step", host="t_step"))),
    ):
        with pytest.raises(PlanFault, match="scratchpads are sound"):
            verify_rules(broken)


def test_workers_that_are_distributed_otherwise_in_one_nest_have_no_registers(streamed: KernelPlan) -> None:
    # Registers are counted by the rounds of a worker, which must be the same in all nests, in those
    # too that read nothing there.
    def text(made: KernelPlan) -> str:
        return device_program(made, CUDA).text

    assert all(each in text(streamed) for each in ("a_column[", "a_planes[turn & 1]", "a_scratchpad["))
    first, second = text(with_loops_listed(distributed_otherwise(streamed, "j_step"))).split("void f_nest2(")
    assert "a_planes[" in second and "a_column" not in first.split("void f_nest1(")[1] and "a_scratchpad[" in first


def limits_of_full_positions(made: KernelPlan) -> str:
    """The text that finds the positions where no plane has tests."""
    return device_program(made, CUDA).text.split("/* From the first to the last")[1].split("/* What the first")[0]


def test_walks_load_planes_ahead_and_test_planes_at_the_borders_of_the_grid_alone(streamed: KernelPlan) -> None:
    text = device_program(streamed, CUDA).text
    assert "i_point = i_front + 2;" in text.split("i_front_start")[-1]
    limits = limits_of_full_positions(streamed)
    assert "> i_front_first" in limits and "i_first" not in limits
    # Nor are stores beyond the tile full ones.
    assert "if (i_point_4 >= i_first && i_first + i_home - 1 >= i_point_4) {" in text


def test_no_integers_are_divided_beyond_what_a_tile_needs() -> None:
    body = PLANE.replace("double", "int")
    assert "i_first" not in limits_of_full_positions(plan(body, STREAMED))
    assert "i_first" in limits_of_full_positions(plan(body.replace("] = ", "] = 100 / "), STREAMED))


def test_streams_are_proven_with_rings_that_are_long_enough(streamed: KernelPlan) -> None:
    assert not prove(streamed)
    verify(streamed)
    assert not prove(with_rings(streamed, "a", 200))


STREAM_SHORTCOMINGS = {
    "shift": lambda found: replace(found, shift=1),
    "delays": lambda found: replace(found, delays=dict.fromkeys(found.delays, 1)),
    "store": lambda found: replace(found, store=1),
    "rings": lambda found: replace(
        found, rings={array: replace(ring, oldest=ring.oldest - 4) for array, ring in found.rings.items()}
    ),
}


@pytest.mark.parametrize("change", STREAM_SHORTCOMINGS.values(), ids=STREAM_SHORTCOMINGS)
def test_a_planner_that_errs_gets_boxes(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    right = overlapped.stream
    monkeypatch.setattr(candidate_search, "STRATEGIES", candidate_search.STRATEGIES[:1])
    monkeypatch.setattr(overlapped, "stream", lambda *given, once: change(right(*given, once=once)))
    made = plan(PLANE, STREAMED)
    assert all(scratchpad.origin[0] is not None for launch in made.device for scratchpad in launch.scratchpads)
    assert any(each.startswith("streamed tiles: ") and "not proven right" in each for each in made.rejected)


def test_why_there_are_no_streams_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_search, "STRATEGIES", candidate_search.STRATEGIES[:1])
    monkeypatch.setattr(overlapped, "stream", lambda *_, once: "planes wait")
    made = plan(PLANE, STREAMED)
    assert all(scratchpad.origin[0] is not None for launch in made.device for scratchpad in launch.scratchpads)
    assert "streamed tiles: planes wait" in made.rejected


def test_boxes_are_taken_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_search, "STRATEGIES", candidate_search.STRATEGIES[:1])
    made = plan(PLANE, PlanOptions(temporal=TemporalTiles.BOXES))
    assert made.device and all(scratchpad.origin[0] for launch in made.device for scratchpad in launch.scratchpads)
    assert not any(each.startswith("streamed tiles: ") for each in made.rejected)


@pytest.mark.parametrize(
    ("source", "form"),
    [(LINE, TemporalTiles.BOXES), (LINE, TemporalTiles.OVERLAPPED), (PLANE, TemporalTiles.STREAMED)],
)
def test_no_more_steps_are_put_together_than_there_are(source: str, form: TemporalTiles) -> None:
    def found(text: str) -> tuple[list[int], list[str]]:
        made = plan(text, PlanOptions(temporal=form))
        degrees = [size.device for size in made.sizes if size.object.host == "t_degree"]
        return degrees, [note for note in made.rejected if "there are" in note]

    assert found(source.replace("t < steps", "t < 2")) == ([2], ["tiles of 4 time steps, on devices: there are 2"])
    (degree,), notes = found(source)
    assert degree > 2 and notes == []
