"""Sweeps by subdomains on devices, whose tiles gangs keep in memory of their own: what is staged, what is refused, and wrong tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.expressions import integer
from tilepragma.ir.loop_tree import Barrier, Block, Declaration, Loop, Statement, TileNest
from tilepragma.ir.substitution import with_accesses
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch
from tilepragma.schedule.in_order import OrderedNest, parts_in_order, proof_in_order

LINE = """
void three(int steps, int n, double u[n + 2], double f[n + 2]) {
#pragma tilek kernel sor(multilayer, layers: 3, subdomain: 6)
  for (int t = 0; t < steps; t++)
    for (int i = 1; i <= n; i++)
      u[i] = 0.5 * (u[i - 1] + u[i + 1] + f[i]);
}"""
PLANE = """
void five(int steps, int n, double u[n + 2][n + 2], double f[n + 2][n + 2]) {
#pragma tilek kernel sor(multilayer, layers: 2, subdomain: 4)
  for (int t = 0; t < steps; t++)
    for (int i = 1; i <= n; i++)
      for (int j = 1; j <= n; j++) {
        double sum = u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] + f[i][j];
        u[i][j] = 0.25 * sum;
      }
}"""


def with_memory(text: str, memory: int) -> KernelPlan:
    """For a device whose gangs have so many bytes."""
    device = named_device("h100")
    assert isinstance(device, Gpu)
    return plan(text, PlanOptions(device=replace(device, shared_per_block=memory)))


def scratchpads(made: KernelPlan) -> list[list[tuple[str, ...]]]:
    """The names and lengths of each launch's scratchpads."""
    return [
        [
            (each.array.name, *(getattr(length, "spelling", "") for length in each.object.lengths))
            for each in launch.scratchpads
        ]
        for launch in made.device
    ]


def test_what_a_tile_touches_is_staged() -> None:
    """5 places of the mesh along either half of 4 places and 2 layers, 3 of the right-hand side;
    columns are an even number. K12 and K21 are two launches, and a scalar that a statement is told
    in parts by is none.
    """
    made = plan(PLANE)
    assert scratchpads(made) == [[("u", "5", "6"), ("f", "3", "4")]] * 8
    assert made.device_kernel is not None and all(
        object_.name in ("u", "f") for object_ in made.device_kernel.objects if object_.rank
    )
    (note,) = (each for each in made.storage if each.startswith("subdomains"))
    assert "touch of 'u' and 'f' in shared memory, 336 bytes at most" in note


def test_rows_of_an_array_of_one_dimension_are_staged() -> None:
    """Although the mesh's corners, which no access names, may be none of the array: the section that the user says begins behind the first one."""
    flat = PLANE.replace("u[n + 2][n + 2]", "*restrict u").replace("f[n + 2][n + 2]", "*restrict f")
    flat = flat.replace("[i - 1][j]", "[(i - 1) * (n + 2) + j]").replace("[i + 1][j]", "[(i + 1) * (n + 2) + j]")
    flat = flat.replace("[i][j", "[i * (n + 2) + j").replace(
        "subdomain: 4)", "subdomain: 4) data(u[1:n * n + 4 * n + 2], f[0:n * n + 4 * n + 4])"
    )
    assert scratchpads(plan(flat)) == [[("u", "5", "6"), ("f", "3", "4")]] * 8


def test_what_does_not_fit_is_read_where_it_is() -> None:
    assert scratchpads(with_memory(LINE, 55)) == [[]] * 4  # 7 doubles
    assert scratchpads(with_memory(LINE, 56)) == [[("u", "7")]] * 4
    assert scratchpads(with_memory(LINE, 96)) == [[("u", "7"), ("f", "5")]] * 4


def test_why_there_are_none_is_said() -> None:
    reason = "what the layers of a subdomain need is 56 bytes, more than the 55 of a gang's memory"
    assert f"subdomains in shared memory, on devices: {reason}" in with_memory(LINE, 55).rejected


@pytest.fixture(scope="module")
def made() -> KernelPlan:
    """Four launches."""
    return plan(LINE)


@pytest.fixture(scope="module")
def parts(made: KernelPlan) -> tuple[OrderedNest, ...]:
    assert made.device_kernel is not None
    return parts_in_order(made.device_kernel.body.statements, made.device_kernel)


def messages(made: KernelPlan, parts: tuple[OrderedNest, ...], change: Callable[[Launch], Launch]) -> list[str]:
    """What is wrong with the device steps where the first launch is changed."""
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop) and made.device_kernel is not None
    first = loop.steps[0]
    assert isinstance(first, Launch)
    steps = (replace(loop, steps=(change(first), *loop.steps[1:])),)
    on_devices = replace(made, kernel=made.device_kernel, host_steps=steps, device_steps=steps)
    return [fault.message for fault in proof_in_order(on_devices, made.device_kernel.body.statements, parts).faults]


def tile(launch: Launch) -> list[Statement]:
    """What a gang does with a tile."""
    (nest,) = launch.body.statements
    assert isinstance(nest, TileNest)
    return list(nest.body.statements)


def with_tile(launch: Launch, statements: list[Statement]) -> Launch:
    (nest,) = launch.body.statements
    assert isinstance(nest, TileNest)
    return replace(launch, body=Block((replace(nest, body=Block(tuple(statements))),)))


def without(kind: int) -> Callable[[Launch], Launch]:
    """Without the nest of workers that stands there: scratchpads are filled first and stored last."""

    def change(launch: Launch) -> Launch:
        statements = tile(launch)
        nests = [statement for statement in statements if isinstance(statement, (TileNest, Loop))]
        return with_tile(launch, [statement for statement in statements if statement is not nests[kind]])

    return change


def with_fronts(change: Callable[[Loop], Loop]) -> Callable[[Launch], Launch]:
    return lambda launch: with_tile(launch, [change(each) if isinstance(each, Loop) else each for each in tile(launch)])


def fewer(fronts: Loop) -> Loop:
    last = fronts.upper
    return replace(fronts, upper=integer(getattr(last, "value", 0) - 1))


def hurried(fronts: Loop) -> Loop:
    return replace(
        fronts,
        body=Block(tuple(statement for statement in fronts.body.statements if not isinstance(statement, Barrier))),
    )


def turned(fronts: Loop) -> Loop:
    return replace(fronts, lower=fronts.upper, comparison=">=", upper=fronts.lower, step=integer(-1), decreasing=True)


def greedy(launch: Launch) -> Launch:
    """With a scratchpad that reaches one place further, and is filled there."""
    (scratchpad, other) = launch.scratchpads
    longer = replace(scratchpad.object, lengths=(integer(8),))
    body = with_accesses(
        launch.body, lambda access: replace(access, object=longer) if access.object == scratchpad.object else access
    )
    statements = tile(replace(launch, body=body))
    place = next(index for index, one in enumerate(statements) if isinstance(one, TileNest))
    nest = statements[place]
    assert isinstance(nest, TileNest)
    (tiled,) = nest.loops
    statements[place] = replace(nest, loops=(replace(tiled, loop=replace(tiled.loop, upper=integer(7))),))
    return replace(with_tile(launch, statements), scratchpads=(replace(scratchpad, object=longer), other))


def test_the_plan_as_it_is(made: KernelPlan, parts: tuple[OrderedNest, ...]) -> None:
    assert messages(made, parts, lambda launch: launch) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without(0), "a scratchpad lacks elements of 'u' that are read from before the step"),
        (without(1), "a scratchpad lacks elements of 'f' that are read from before the step"),
        (without(-1), "results of 'u' are not stored"),
        (lambda launch: with_tile(launch, tile(launch)[:-1]), "no barrier ends the tiles of launch three_nest1"),
        (with_fronts(fewer), "is not shown to run for all of its instances"),
        (with_fronts(hurried), "is broken in a tile: its instances may be run by two workers with no barrier between"),
        (with_fronts(turned), "is broken in a tile: its instances run in the opposite order"),
        (greedy, "'u' is read and written by tiles that do not wait for each other"),
    ],
    ids=[
        "not filled",
        "source not filled",
        "not stored",
        "next tile",
        "front missing",
        "no barriers",
        "backwards",
        "meeting",
    ],
)
def test_wrong_tiles(
    made: KernelPlan, parts: tuple[OrderedNest, ...], change: Callable[[Launch], Launch], message: str
) -> None:
    assert any(message in each for each in messages(made, parts, change))


def test_declarations_come_first(made: KernelPlan) -> None:
    """What a tile computes with is declared once, for all workers."""
    kinds = [isinstance(each, Declaration) for each in tile(made.device[0])]
    assert kinds == sorted(kinds, reverse=True) and any(kinds)
