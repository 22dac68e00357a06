"""Plans of regions whose nests run in order, changed for the worse: each is refused with a sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import integer
from tilepragma.ir.loop_tree import Axis, Block, Loop, TileNest
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Gpu
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step
from tilepragma.schedule.in_order import OrderedNest, parts_in_order, proof_in_order

OUT_OF_ORDER = "the launches are not those of the nests, one after another"

Steps = tuple[Step, ...]


@pytest.fixture(scope="module")
def layers() -> KernelPlan:
    """Layers by subdomains of 4 x 4: six nests in a loop of the host's, between copies to an array
    in lanes and back, also on a device whose gangs have no memory for subdomains.
    """
    device = named_device("h100")
    assert isinstance(device, Gpu)
    text = """
void five(int steps, int n, double u[n][n]) {
#pragma tilek kernel sor(multilayer, layers: 2, subdomain: 4)
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        u[i][j] = (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) / 4;
}"""
    return plan(text, PlanOptions(device=replace(device, shared_per_block=64)))


@pytest.fixture(scope="module")
def parts(layers: KernelPlan) -> tuple[OrderedNest, ...]:
    return parts_in_order(layers.kernel.body.statements, layers.kernel)


def in_the_loop(found: KernelPlan, change: Callable[[Steps], Steps]) -> KernelPlan:
    """With other steps in the host's loop, for cores and for devices."""

    def changed(steps: Steps) -> Steps:
        return tuple(replace(step, steps=change(step.steps)) if isinstance(step, HostLoop) else step for step in steps)

    return replace(found, host_steps=changed(found.host_steps), device_steps=changed(found.device_steps))


def with_first_nest(steps: Steps, change: Callable[[TileNest], TileNest]) -> Steps:
    first = steps[0]
    assert isinstance(first, Launch)
    (nest,) = first.body.statements
    assert isinstance(nest, TileNest)
    return replace(first, body=Block((change(nest),))), *steps[1:]


def shorter(nest: TileNest) -> TileNest:
    (loop, *others) = nest.loops
    return replace(nest, loops=(replace(loop, loop=replace(loop.loop, upper=integer(100))), *others))


def backwards(nest: TileNest) -> TileNest:
    """The loop over layers, the first one inside, the other way round."""
    (layer,) = nest.body.statements
    assert isinstance(layer, Loop)
    turned = replace(layer, lower=integer(1), comparison=">=", upper=integer(0), step=integer(-1), decreasing=True)
    return replace(nest, body=Block((turned,)))


def test_the_plan_as_it_is(layers: KernelPlan, parts: tuple[OrderedNest, ...]) -> None:
    assert [part.loop is not None for part in parts] == [False, *[True] * 6, False]
    assert proof_in_order(layers, layers.kernel.body.statements, parts).faults == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda steps: steps[1:], "never runs for"),
        (lambda steps: (*steps, steps[0]), OUT_OF_ORDER),
        (lambda steps: (steps[1], steps[0], *steps[2:]), OUT_OF_ORDER),
        (lambda steps: (steps[0], steps[0], *steps[1:]), "runs twice"),
        (lambda steps: with_first_nest(steps, shorter), "never runs for"),
        (lambda steps: with_first_nest(steps, backwards), "run in the opposite order"),
    ],
    ids=["one missing", "one more", "two exchanged", "one twice", "some missing", "layers turned"],
)
def test_a_wrong_plan(
    layers: KernelPlan, parts: tuple[OrderedNest, ...], change: Callable[[Steps], Steps], message: str
) -> None:
    faults = proof_in_order(in_the_loop(layers, change), layers.kernel.body.statements, parts).faults
    assert any(message in fault.message for fault in faults), [fault.message for fault in faults]


def test_another_loop_of_the_host(layers: KernelPlan, parts: tuple[OrderedNest, ...]) -> None:
    """Nothing that runs around the nests may be changed, and nothing else stands beside it."""
    first, around, last = layers.host_steps
    assert isinstance(around, HostLoop)
    other = replace(around, loop=replace(around.loop, step=integer(8)))
    for steps in ((first, other, last), (first, last), (first, around, around, last), (first, last, around)):
        (fault,) = proof_in_order(replace(layers, host_steps=steps), layers.kernel.body.statements, parts).faults
        assert fault.message == OUT_OF_ORDER
    messages = [
        fault.message
        for fault in proof_in_order(
            replace(layers, host_steps=(first, around)), layers.kernel.body.statements, parts
        ).faults
    ]
    assert any("never runs for" in message for message in messages)


def test_lanes_go_inside_on_cores_alone(layers: KernelPlan) -> None:
    """The loop over subdomains of a row is the innermost of host launches, and distributed over neighbouring workers on devices."""
    (host,) = (step for step in layers.host_steps if isinstance(step, HostLoop))
    (device,) = (step for step in layers.device_steps if isinstance(step, HostLoop))
    for on_cores, on_devices in zip(host.steps, device.steps, strict=True):
        assert isinstance(on_cores, Launch) and isinstance(on_devices, Launch)
        innermost = [node for node in walk(on_cores.body) if isinstance(node, Loop) and not any(loops_in(node.body))]
        assert innermost and all("j_subdomain" in each.iterator.name for each in innermost)
        (nest,) = on_devices.body.statements
        assert isinstance(nest, TileNest)
        assert ["j_subdomain" in loop.loop.iterator.name for loop in nest.loops] == [False, True]
        assert Axis(AxisKind.WORKER, 0) in [tile.axis for tile in nest.loops[1].tiles]
