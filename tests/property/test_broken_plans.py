"""Plans of random nests with one bound moved: whatever adds iterations is refused, wherever the loop stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.random_nests import case_file, random_nest
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.ir.expressions import Binary, Expression, integer
from tilepragma.ir.loop_tree import Block, If, Loop, Statement, TileNest
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, Step
from tilepragma.verify.proofs import original_of, prove

NESTS = 12


def moved(bound: Expression, by: int) -> Expression:
    return Binary("+", bound, integer(by), bound.type)


def wider(loop: Loop) -> Iterator[Loop]:
    """The loop with an iteration more at either end; steps other than 1 need not reach a moved end."""
    step = -1 if loop.decreasing else 1
    if isinstance(loop.step, Expression) and getattr(loop.step, "value", None) == 1:
        yield replace(loop, lower=moved(loop.lower, -step))
        yield replace(loop, upper=moved(loop.upper, step))


def wider_statements(statement: Statement) -> Iterator[Statement]:
    if isinstance(statement, TileNest):
        for place, tiled in enumerate(statement.loops):
            for loop in wider(tiled.loop):
                loops = (*statement.loops[:place], replace(tiled, loop=loop), *statement.loops[place + 1 :])
                yield replace(statement, loops=loops)
        yield from (replace(statement, body=body) for body in wider_blocks(statement.body))
    elif isinstance(statement, Loop):
        yield from wider(statement)
        yield from (replace(statement, body=body) for body in wider_blocks(statement.body))
    elif isinstance(statement, If):
        yield from (replace(statement, then=then) for then in wider_blocks(statement.then))
    elif isinstance(statement, Block):
        yield from wider_blocks(statement)


def wider_blocks(block: Block) -> Iterator[Block]:
    for place, statement in enumerate(block.statements):
        for changed in wider_statements(statement):
            yield replace(block, statements=(*block.statements[:place], changed, *block.statements[place + 1 :]))


def wider_steps(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    for place, step in enumerate(steps):
        changed: list[Step] = []
        if isinstance(step, Launch):
            changed += [replace(step, body=body) for body in wider_blocks(step.body)]
        else:
            changed += [replace(step, steps=inner) for inner in wider_steps(step.steps)]
        if isinstance(step, HostLoop):
            changed += [replace(step, loop=loop) for loop in wider(step.loop)]
        yield from ((*steps[:place], each, *steps[place + 1 :]) for each in changed)


def plans(seed: int) -> tuple[KernelPlan, ...]:
    nest = random_nest(seed)
    text = case_file((nest,)).program((nest.case,)).encode()
    folder = Path(__file__).parents[1] / "support"
    return translate(TranslateRequest("nest.c", text=text, options=(f"-I{folder}",), last="choose_sizes")).plans


@pytest.mark.parametrize("seed", range(NESTS))
def test_plans_with_iterations_that_the_nest_has_not_are_refused(seed: int) -> None:
    for plan in plans(seed):
        if plan.untransformed is not None or plan.sizes:
            continue
        original = original_of(plan)
        assert prove(plan, original) == ()
        for steps in wider_steps(plan.host_steps):
            faults = prove(replace(plan, host_steps=steps, device_steps=steps), original)
            assert any("which the region does not have" in fault.message for fault in faults), faults


def test_some_nests_have_launches_to_widen() -> None:
    assert any(list(wider_steps(plan.host_steps)) for seed in range(4) for plan in plans(seed))
