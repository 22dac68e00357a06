"""Steps: when there is a function for them, what of it the region knows, and which numbers of a launch may be constants."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hand_built import (
    E,
    argument,
    array,
    assign,
    at,
    elimination,
    expr,
    helper,
    jacobi,
    launch,
    listing3,
    loop,
    nest,
    plan,
    scalar,
    tiled,
    wavefronts,
)

from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import OPENCL
from tilepragma.codegen.manifest import LAUNCH_ALWAYS, describe, kernel_constants, kernel_flags, launch_axes
from tilepragma.codegen.step_functions import step_functions
from tilepragma.host.region_text import region_text
from tilepragma.ir.directives import Target
from tilepragma.ir.expressions import Scope
from tilepragma.ir.loop_tree import Statement
from tilepragma.ir.types import LONG
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, TileSize
from tilepragma.planner.plan_text import plan_text


def constants(one: KernelPlan, place: int) -> dict[str, bool]:
    """By kind of parameter (and its loop or axis): whether it is a constant of specialised programs."""
    parameters = device_program(one, OPENCL).parameters[place]
    return {f"{p.kind} {p.index} {p.dimension}": p.constant is not None for p in parameters}


def test_a_plain_sequence_has_no_function() -> None:
    functions = step_functions(listing3(), on_device=True)
    assert (functions.host, functions.device, functions.text) == (None, None, "")


def test_one_function_where_the_trees_are_alike() -> None:
    functions = step_functions(jacobi(), on_device=True)
    assert functions.host == functions.device == "tilek_jacobi_host_steps"
    assert functions.text.count("static int") == 1
    assert step_functions(jacobi(), on_device=False).device is None


def test_two_functions_where_they_differ() -> None:
    one = jacobi()
    straight = tuple(one.host_steps[0].steps)  # type: ignore[union-attr]
    functions = step_functions(replace(one, host_steps=straight[:1]), on_device=True)
    assert (functions.host, functions.device) == (None, "tilek_jacobi_device_steps")
    (step,) = one.host_steps
    assert isinstance(step, HostLoop)
    functions = step_functions(replace(one, device_steps=(replace(step, steps=straight[:1]),)), on_device=True)
    assert (functions.host, functions.device) == ("tilek_jacobi_host_steps", "tilek_jacobi_device_steps")
    assert step_functions(replace(one, device_steps=straight), on_device=False).text.count("static int") == 1


def test_a_tile_size_in_a_launch_needs_a_function() -> None:
    n, size, i = scalar("n"), scalar("i_size", LONG, Scope.LOCAL), scalar("i", LONG, Scope.LOCAL)
    x = array("x", n)
    tile = tiled(loop(0, i, 0, helper("ceiling_quotient", n, size)), "gang0 dynamic")
    made = launch("cut", (nest([tile], (assign(at(x, i), 1.0),)),))
    one = plan((made,), (argument(x, n, writes=True),), (n,), name="cut", sizes=(TileSize(size, 8, 16),))
    text = step_functions(one, on_device=True).text
    assert "const long i_size = tilek_size_of(tilek_run_, 0);" in text
    assert "tilek_bounded(0, tilek_ceiling_quotient(n, i_size), 1, '<')" in text
    assert "tilek_loops" not in region_text(one).before


@pytest.mark.parametrize("one", [jacobi(), elimination(), wavefronts()], ids=lambda one: one.kernel.name)
def test_the_region_knows_no_bounds_of_steps(one: KernelPlan) -> None:
    before = region_text(one).before
    assert "tilek_loops" not in before
    assert "tilek_trip" not in before
    constants = kernel_constants(describe(one, list(Target)))
    assert ".loop_count = 0," in constants
    assert ".host_loops" not in constants


def test_final_values_are_the_regions() -> None:
    one = jacobi()
    (step,) = one.host_steps
    assert isinstance(step, HostLoop)
    from tilepragma.plan.kernel_plan import FinalValue

    t = scalar("t")
    last = tiled(replace(step.loop, iterator=t, declares_iterator=False), "dynamic", symbol="t")
    text = region_text(replace(one, final_values=(FinalValue(t, last, ()),)))
    assert "{0, steps, 1, tilek_trip(0, steps, 1, '<')}," in text.before
    assert "t = tilek_loops[0].lower + tilek_loops[0].step * tilek_loops[0].trip;" in text.after


def test_steps_of_one_kind_have_constants() -> None:
    assert "VARYING_STEPS" not in kernel_flags(describe(jacobi(), [Target.OPENCL]))
    result = constants(jacobi(), 1)
    values = {key for key, constant in result.items() if not constant}
    assert values == {"ARRAY 0 0", "ARRAY 1 0", "VALUE 0 0"}
    assert "_device1_values[] = {4};" in kernel_constants(describe(jacobi(), [Target.OPENCL]))


def test_what_differs_from_step_to_step_is_no_constant() -> None:
    assert "VARYING_STEPS" in kernel_flags(describe(elimination(), [Target.OPENCL]))
    result = constants(elimination(), 1)
    assert not result["LOOP_TRIP 0 0"]
    assert not result["AXIS_COUNT 1 0"]
    assert not result["TILE_STRIDE 0 0"]
    assert result["AXIS_COUNT 4 0"], "every step has the workers of the largest"
    assert constants(elimination(), 2)["LOOP_TRIP 0 0"], "the border is the same in every step"


def varying(tiles_i: str, tiles_j: str) -> dict[str, bool]:
    """A nest over i from k, and over j from 0, in a host loop over k."""
    n = scalar("n")
    k, i, j = (scalar(name, scope=Scope.LOCAL) for name in "kij")
    matrix = array("A", n, n)
    parts = [tiled(loop(1, i, k, n), tiles_i), tiled(loop(2, j, 0, n), tiles_j)]
    made = launch("v", (nest(parts, (assign(at(matrix, i, j), 1.0),)),))
    one = plan((HostLoop(loop(0, k, 0, n), (made,)),), (argument(matrix, n, n, writes=True),), (n,), name="v")
    return constants(one, 0)


def test_strides_of_given_counts_are_constants() -> None:
    result = varying("dynamic gang0 worker0", "dynamic gang1 worker1")
    assert not result["LOOP_TRIP 0 0"]
    assert result["LOOP_TRIP 1 0"]
    assert result["TILE_STRIDE 0 1"], "the workers of its largest step"
    assert not result["TILE_STRIDE 0 0"], "gangs by workers"
    assert not result["TILE_STRIDE 1 0"], "gangs of another axis may differ too, as the runtime chooses them"


def test_workers_that_must_cover_a_loop_differ() -> None:
    assert not varying("gang0 worker0", "dynamic worker1")["AXIS_COUNT 1 0"]
    assert not varying("gang0 dynamic", "gang1 worker1")["TILE_STRIDE 1 0"]
    assert varying("dynamic", "gang0 dynamic worker0")["TILE_STRIDE 1 0"], "i is distributed over no axis"


def test_launches_of_more_than_a_nest_always_run() -> None:
    one = listing3()
    (made,) = one.host
    extra: tuple[Statement, ...] = (*made.body.statements, *made.body.statements)
    whole = replace(made, body=replace(made.body, statements=extra))
    assert not launch_axes(made) & LAUNCH_ALWAYS
    assert launch_axes(whole) & LAUNCH_ALWAYS
    i = scalar("i", scope=Scope.LOCAL)
    statement = launch("s", (assign(at(array("x", 8), i), 1.0),), values=(i,))
    assert launch_axes(statement) == LAUNCH_ALWAYS


def test_the_tree_in_words() -> None:
    lines = plan_text(elimination()).splitlines()
    assert "  steps over k from n - 1 while >= 0 by -1" in lines
    assert "    launch elimination_nest1: gang 0, worker 0; takes k" in lines
    assert "    steps if k > 2" in lines
    assert "      launch elimination_nest3: gang 0, worker 0; takes k" in lines
    assert "  tile size t_size: 32 on the host, 16 on devices" in plan_text(wavefronts()).splitlines()


def test_names_of_the_users_do_not_meet_the_functions() -> None:
    n, run = scalar("tilek_run"), scalar("run", scope=Scope.LOCAL)
    x = array("x", n)
    made = launch("names", (assign(at(x, run), E(expr(run)) * 1.0),), values=(run,))
    one = plan((HostLoop(loop(0, run, 0, n), (made,)),), (argument(x, n, writes=True),), (n,), name="names")
    assert "for (int run = 0; run < tilek_run; ++run) {" in step_functions(one, on_device=True).text


@pytest.mark.parametrize("one", [jacobi(), elimination(), replace(jacobi(), device_steps=jacobi().device)])
def test_each_launch_of_a_program_has_constants_of_its_own(one: KernelPlan) -> None:
    """A constant with two values would leave the whole program unspecialised."""
    launches = device_program(one, OPENCL).parameters
    kinds = ("AXIS_COUNT", "AXIS_ROUNDS")
    names = [p.constant for parameters in launches for p in parameters if p.constant and p.kind in kinds]
    assert len(names) > 1 and len(set(names)) == len(names)


def test_a_program_can_do_without_launches_that_no_step_reaches() -> None:
    text = device_program(jacobi(), OPENCL).text
    assert text.count("#ifndef TILEK_WITHOUT_jacobi_nest") == len(jacobi().device) == 2
    straight = replace(jacobi(), device_steps=jacobi().device)
    assert "TILEK_WITHOUT" not in device_program(straight, OPENCL).text
