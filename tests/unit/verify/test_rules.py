"""Every rule of the plan verifier refuses a plan that breaks it, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.directives import AxisKind, Target
from tilepragma.ir.loop_tree import Axis, Barrier, Block, Scratchpad, Statement, Tile, TileNest
from tilepragma.plan.kernel_plan import Division, KernelPlan, SizeChoice
from tilepragma.verify.rules import RULES, PlanFault, verify

SOURCE = """
double f(int n, int m, double a[n][m]) {
  double s = 0;
#pragma tilek kernel num_gangs(2) reduction(+: s)
#pragma tilek loop tile(gang) tile(worker) tile(static, 2) tile(dynamic)
  for (int i = 0; i < n; i++)
#pragma tilek loop tile(static, 3) tile(dynamic)
    for (int j = 0; j < i; j++) { a[i][j] *= 2; s += n; }
  return s;
}"""


@pytest.fixture(scope="module")
def good() -> KernelPlan:
    return plan(SOURCE)


def with_nest(planned: KernelPlan, change: Callable[[TileNest], Statement]) -> KernelPlan:
    (launch,) = planned.host
    (nest,) = launch.body.statements
    assert isinstance(nest, TileNest)
    changed = replace(launch, body=replace(launch.body, statements=(change(nest),)))
    return replace(planned, host_steps=(changed,), device_steps=(changed,))


def with_launch(planned: KernelPlan, **changes: Any) -> KernelPlan:
    (launch,) = planned.host
    changed = replace(launch, **changes)
    return replace(planned, host_steps=(changed,), device_steps=(changed,))


def with_outer(nest: TileNest, **changes: Any) -> TileNest:
    outer, inner = nest.loops
    return replace(nest, loops=(replace(outer, **changes), inner))


def drop_tile(nest: TileNest) -> TileNest:
    outer = nest.loops[0]
    return replace(with_outer(nest, tiles=outer.tiles[1:]), order=tuple(t for t in nest.order if t != outer.tiles[0]))


def strip_axes(nest: TileNest) -> TileNest:
    def bare(tile: Tile) -> Tile:
        return replace(tile, axis=None)

    loops = tuple(replace(tiled, tiles=tuple(map(bare, tiled.tiles))) for tiled in nest.loops)
    return replace(nest, loops=loops, order=tuple(map(bare, nest.order)))


def nested_twice(nest: TileNest) -> Statement:
    return replace(nest, body=Block((nest,)))


def with_argument(planned: KernelPlan, **changes: Any) -> KernelPlan:
    return replace(planned, arrays=tuple(replace(a, **changes) if a.section else a for a in planned.arrays))


BROKEN: dict[str, Callable[[KernelPlan], KernelPlan]] = {
    "tiles are complete and unique": lambda p: with_nest(p, drop_tile),
    "kinds, axes and arguments agree": lambda p: with_nest(p, strip_axes),
    "the order is a permutation": lambda p: with_nest(p, lambda n: replace(n, order=n.order[1:])),
    "bounds are known where tiles stand": lambda p: with_nest(p, lambda n: replace(n, order=n.order[::-1])),
    "launch bounds are known at launch": lambda p: with_launch(p, loops=tuple(p.host[0].body.statements[0].loops)),  # type: ignore[union-attr]
    "launches have the values of loops around them": lambda p: with_launch(
        p, values=(_nest(p).loops[0].loop.iterator,)
    ),
    "launches list their loops": lambda p: with_launch(p, loops=()),
    "launches list their axes": lambda p: with_launch(p, axes=(Axis(AxisKind.GANG, 0),)),
    "an axis is used once": lambda p: with_nest(p, nested_twice),
    "statements lie under every axis": lambda p: with_launch(
        p, body=replace(p.host[0].body, statements=(*p.host[0].body.statements, *_body(p)))
    ),
    "constants are sound": lambda p: replace(p, constants=(p.arrays[0].object,), arrays=p.arrays[1:]),
    "every object is accounted for": lambda p: replace(p, scalars=()),
    "arguments are consistent": lambda p: with_argument(p, section=()),
    "results go back": lambda p: with_argument(p, copy_out=False),
    "reductions are reached by address": lambda p: with_launch(p, privates=(p.host[0].reductions[0].object,)),
    "barriers are uniform": lambda p: with_nest(p, lambda n: replace(n, body=Block((*n.body.statements, Barrier())))),
    "stages are sound": lambda p: with_launch(p, staged=p.host[0].body),
    "scratchpads are sound": lambda p: with_launch(
        p, scratchpads=(Scratchpad(p.arrays[0].object, p.arrays[0].object, (p.scalars[0],)),)
    ),
    "symbols are unique": lambda p: with_symbols(p),
    "no tile is dropped": lambda p: with_launch(
        p, body=Block((*p.host[0].body.statements, replace(_nest(p).loops[0].loop, body=Block(()))))
    ),
    "targets and launches are sound": lambda p: replace(p, targets=(Target.SERIAL,)),
    "devices share launches row by row": lambda p: replace(p, divisions=(Division(None, ()),)),
    "choices of tile sizes are sound": lambda p: replace(p, choices=(SizeChoice(None, None, ()),)),
}


def _nest(planned: KernelPlan) -> TileNest:
    (nest,) = planned.host[0].body.statements
    assert isinstance(nest, TileNest)
    return nest


def _body(planned: KernelPlan) -> tuple[Statement, ...]:
    return _nest(planned).body.statements


def with_symbols(planned: KernelPlan) -> KernelPlan:
    changed = with_nest(planned, lambda n: with_outer(n, symbol="j"))
    return with_launch(changed, loops=tuple(replace(tiled, symbol="j") for tiled in planned.host[0].loops))


def test_the_good_plan_passes(good: KernelPlan) -> None:
    verify(good)


def test_every_rule_has_its_broken_plan() -> None:
    assert set(BROKEN) == {name for name, _ in RULES}


@pytest.mark.parametrize("rule", BROKEN)
def test_broken_plans_are_refused(good: KernelPlan, rule: str) -> None:
    broken = BROKEN[rule](good)
    check = dict(RULES)[rule]
    assert next(iter(check(broken)), None) is not None
    with pytest.raises(PlanFault, match="plan of kernel 'f'"):
        verify(broken)


def test_more_ways_to_break_a_plan(good: KernelPlan) -> None:
    for broken, rule in (
        (replace(good, preferred=Target.AUTO, targets=(Target.AUTO,)), "targets and launches are sound"),
        (replace(good, device_steps=()), "targets and launches are sound"),
        (replace(good, untransformed="said so"), "targets and launches are sound"),
        (with_argument(good, writes=False), "arguments are consistent"),
        (with_argument(good, present=True), "arguments are consistent"),
        (replace(good, arrays=good.arrays + good.arrays), "arguments are consistent"),
        (with_launch(good, first_privates=(good.scalars[0],)), "reductions are reached by address"),
        (with_nest(good, lambda n: with_outer(n, symbol="no name")), "launches list their loops"),
    ):
        with pytest.raises(PlanFault, match=rule):
            verify(broken)
