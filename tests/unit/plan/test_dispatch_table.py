"""Choices of tile sizes: which loop is the outermost, what holds for which launch, and the rules that choices keep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.arguments.sections import whole_section
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.codegen.step_functions import step_functions
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage, integer
from tilepragma.ir.loop_tree import Block, ExpressionStatement
from tilepragma.ir.types import LONG
from tilepragma.plan.balanced_chunking import even_parts
from tilepragma.plan.dispatch_table import outermost_loop, sizes_on_hosts, wrong_choices
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan, Launch, Reduction, SizeChoice, TileSize
from tilepragma.planner.plan_text import plan_text
from tilepragma.sizes.opencl_cpu_sizes import processor_choices
from tilepragma.verify.rules import PlanFault, proof_of, verify, verify_rules

PRODUCT = """
void f(int n, int m, double A[n][m], double B[m][n], double C[n][n]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j];
}"""
REGION = """
void f(int n, int m, int s, double a[n]) {{
#pragma tilek kernel
  {{ {body} }}
}}"""


@pytest.fixture(scope="module")
def product() -> KernelPlan:
    result = plan(PRODUCT)
    assert result.sizes
    return result


def chosen(found: KernelPlan, *rows: tuple[int | None, int | None, int]) -> KernelPlan:
    """The plan with choices of (bytes, trips, first size); further sizes are one larger each."""
    own = range(len(found.sizes))
    choices = (SizeChoice(most, trips, tuple(first + place for place in own)) for most, trips, first in rows)
    return replace(found, choices=tuple(choices))


@pytest.mark.parametrize(
    ("body", "iterator"),
    [
        ("for (int t = 0; t < m; t++) for (int i = 1; i < n; i++) a[i] += a[i - 1];", "t"),
        ("int u = m; { for (int t = 0; t < m; t++) a[t] += u; } for (int i = 0; i < n; i++) a[i] *= 2;", "t"),
        ("for (int t = 1; t <= m; t += 2) a[t] += 1;", "t"),
        ("for (int t = m; t > 0; t -= 3) a[t] += a[t - 1];", "t"),
        ("a[0] = 1; if (m > 2) for (int i = 0; i < n; i++) a[i] = 2; for (int t = 0; t < 7; t++) a[t] += 1;", "t"),
        ("while (m > 0) m--; for (int t = 0; t < 7; t++) a[t] += 1;", None),
        ("s = m; for (int t = 0; t < s; t++) a[t] += 1;", None),
        ("for (int t = 0; t < a[0]; t++) a[t] += 1;", None),
        ("a[0] = 1;", None),
    ],
)
def test_the_outermost_loop(body: str, iterator: str | None) -> None:
    result = outermost_loop(plan(REGION.format(body=body)))
    assert (result.iterator.host if result is not None else None) == iterator


def test_steps_of_the_outermost_loop_are_the_users() -> None:
    """A plan that counts iterations in the place of the user's steps means the loop that the user wrote."""
    body = "for (int t = 0; t < m; t += 2) for (int i = 1; i < n - 1; i++) a[i] = a[i - 1] + a[i + 1];"
    result = plan(REGION.format(body=body))
    loop = outermost_loop(result)
    assert result.before_normalisation is not None
    assert loop is not None
    assert loop.step == integer(2)


def test_the_first_choice_that_holds(product: KernelPlan) -> None:
    small = 8 * (2 * 10 * 5 + 100)
    usual = tuple(size.host for size in product.sizes)
    choosing = chosen(product, (small, 9, 1), (small, None, 2), (None, 12, 4))
    verify_rules(choosing)
    assert sizes_on_hosts(product, {}) == usual
    for n, m, first in ((10, 5, 2), (9, 5, 1), (10, 6, 4), (12, 50, 4), (0, 50, 1), (-3, 5, 1)):
        assert sizes_on_hosts(choosing, {"n": n, "m": m})[0] == first
    assert sizes_on_hosts(choosing, {"n": 13, "m": 50}) == usual
    with pytest.raises(UncountableError):
        sizes_on_hosts(choosing, {"n": 10})


def test_arrays_of_devices_only_do_not_count(product: KernelPlan) -> None:
    at = {"n": 10, "m": 5}
    choosing = chosen(product, (8 * (2 * 10 * 5 + 100), None, 2))
    own = replace(product.arrays[0].object, name="own", host="own", scope=Scope.TEMPORARY)
    assert sizes_on_hosts(replace(choosing, arrays=(*product.arrays, argument_of(own))), at)[0] == 2
    (launch, *others) = choosing.host
    used = replace(launch, body=Block((*launch.body.statements, ExpressionStatement(element_of(own), NOWHERE))))
    touched = replace(choosing, arrays=(*product.arrays, argument_of(own)), host_steps=(used, *others))
    assert sizes_on_hosts(touched, at) == sizes_on_hosts(product, at)


def argument_of(object_: DataObject) -> ArrayArgument:
    return ArrayArgument(object_, whole_section(object_), True, True, False, False)


def element_of(object_: DataObject) -> Access:
    return Access(object_, (integer(0), integer(0)), (), object_.element)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (((100, None, 0),), "are not all from 1"),
        (((100, None, 2**31),), "are not all from 1"),
        (((-1, None, 2),), "is for -1 bytes at most"),
        (((None, 2**63 - 1, 2),), "at most"),
        (((100, None, 2), (100, None, 4)), "choice 1 is never reached: choice 0"),
        (((100, None, 2), (50, 3, 4)), "choice 1 is never reached: choice 0"),
        (((100, 8, 2), (None, None, 4), (None, 3, 8)), "choice 2 is never reached: choice 1"),
        (((100, 3, 2), (50, 8, 4)), "choice 1 stands behind a larger one"),
        (((None, 3, 2), (50, 8, 4)), "choice 1 stands behind a larger one"),
    ],
)
def test_rules(product: KernelPlan, rows: tuple[tuple[int | None, int | None, int], ...], complaint: str) -> None:
    with pytest.raises(PlanFault, match=f"choices of tile sizes are sound: .*{complaint}"):
        verify_rules(chosen(product, *rows))


def test_sound_choices(product: KernelPlan) -> None:
    for rows in (((0, 0, 1),), ((100, 3, 2), (100, 8, 4), (100, None, 2), (200, 8, 2), (None, None, 9)), ()):
        assert not list(wrong_choices(chosen(product, *rows)))


def test_as_many_sizes_as_the_plan_has(product: KernelPlan) -> None:
    for wrong in ((), (1,) * (len(product.sizes) + 1)):
        with pytest.raises(PlanFault, match=rf"choice 0 has {len(wrong)} sizes for {len(product.sizes)}"):
            verify_rules(replace(product, choices=(SizeChoice(None, None, wrong),)))
    sizeless = replace(product, sizes=(), choices=(SizeChoice(None, None, ()),))
    assert "there are choices of tile sizes, but no tile sizes" in wrong_choices(sizeless)


def test_iterations_that_no_launch_knows() -> None:
    result = plan(REGION.format(body="for (int t = 0; t < m; t++) for (int i = 1; i < n; i++) a[i] += a[i - 1];"))
    endless = plan(REGION.format(body="while (m > 0) m--; for (int t = 0; t < 7; t++) a[t] += 1;"))
    choices = (SizeChoice(None, 3, tuple(1 for _ in result.sizes)),)
    assert not any("does not know" in each for each in wrong_choices(replace(result, choices=choices)))
    assert any("does not know" in each for each in wrong_choices(replace(endless, choices=choices)))


def test_opencl_processors_look_at_their_own_first(product: KernelPlan) -> None:
    own = range(len(product.sizes))
    mine = (SizeChoice(8000, None, tuple(5 + place for place in own)),)
    result = replace(chosen(product, (None, None, 3)), processor_choices=mine)
    numbers = [{"n": length, "m": length} for length in (10, 1000)]
    assert [sizes_on_hosts(result, number, by_opencl=True)[0] for number in numbers] == [5, 3]
    assert [sizes_on_hosts(result, number)[0] for number in numbers] == [3, 3]
    assert f"tile sizes on OpenCL processors up to 8000 bytes: {', '.join(map(str, mine[0].sizes))}" in plan_text(
        result
    )
    with pytest.raises(PlanFault, match="choice 0 has 0 sizes"):
        verify_rules(replace(result, processor_choices=(SizeChoice(None, None, ()),)))


def test_processors_have_sizes_by_bytes() -> None:
    names = [DataObject(name, name, LONG, Storage.SCALAR, Scope.LOCAL) for name in ("t", "i", "j")]
    sizes = (
        TileSize(names[0], 8, 16),
        TileSize(names[1], 8, 16, processor=((100, 1), (200, 2))),
        TileSize(names[2], 8, 16, processor=((150, 3), (None, 4))),
    )
    results = [(each.bytes, each.sizes) for each in processor_choices(sizes)]
    assert results == [(100, (8, 1, 3)), (150, (8, 2, 3)), (200, (8, 2, 4)), (None, (8, 8, 4))]
    assert processor_choices(sizes[:1]) == ()


def test_a_proof_holds_for_other_choices(product: KernelPlan) -> None:
    proof = proof_of(product)
    choosing = chosen(product, (100, None, 2))
    assert proof.is_of(choosing)
    assert verify(choosing, proof).plan == choosing
    assert not proof.is_of(replace(choosing, assumes_disjoint=not choosing.assumes_disjoint))


def test_dump(product: KernelPlan) -> None:
    choosing = chosen(product, (100, None, 2), (200, 1, 4), (None, 3, 6), (None, None, 8))
    lines = plan_text(choosing).splitlines()
    assert [line for line in lines if line not in plan_text(product).splitlines()] == [
        "  tile sizes on the host up to 100 bytes: 2",
        "  tile sizes on the host up to 200 bytes and 1 trips: 4",
        "  tile sizes on the host up to 3 trips: 6",
        "  tile sizes on the host: 8",
    ]


def test_blocks_of_a_product_are_as_even_as_its_rows_allow(product: KernelPlan) -> None:
    """What a launch takes by itself: nothing where a choice or a measurement says a size."""
    assert [(product.sizes[each.place].host, each.unit) for each in even_parts(product.host_steps, product.sizes)] == [
        (96, 8)
    ]
    assert (
        "tilek_size_of_blocks(tilek_run_, 0, 0, (long)n - 1, 8, tilek_call_->operations)"
        in step_functions(product, False).text
    )
    assert sizes_on_hosts(product, {"n": 500, "m": 9}, threads=2) == (256,)
    assert sizes_on_hosts(product, {"n": 500, "m": 9}) == (96,)
    assert sizes_on_hosts(chosen(product, (None, None, 64)), {"n": 500, "m": 9}, threads=2) == (64,)
    (size,) = product.sizes
    kept = replace(product, sizes=(replace(size, unit=0),))
    assert sizes_on_hosts(kept, {"n": 500, "m": 9}, threads=2) == (96,)
    assert "size_of_blocks" not in step_functions(kept, False).text


def test_columns_of_wavefronts_are_no_wider_than_the_share_of_a_thread() -> None:
    body = "for (int t = 0; t < m; t++) for (int i = 1; i < n - 1; i++) a[i] = a[i-1] + a[i] + a[i+1];"
    waves = plan(REGION.format(body=body))
    usual = tuple(size.host for size in waves.sizes)
    assert [(each.place, each.columns) for each in even_parts(waves.host_steps, waves.sizes)] == [(0, True)]
    assert "tilek_size_of_columns(tilek_run_, 0, (long)m - 1, 1)" in step_functions(waves, False).text
    assert sizes_on_hosts(waves, {"n": 5000, "m": 250, "s": 1}, threads=2) == (125, *usual[1:])
    assert sizes_on_hosts(waves, {"n": 5000, "m": 250, "s": 1}, threads=1) == usual


@pytest.mark.parametrize(("operator", "count"), [("+", 0), ("*", 0), ("max", 1)])
def test_blocks_stay_where_their_order_rounds_a_sum(product: KernelPlan, operator: str, count: int) -> None:
    """Else the number of threads would."""
    reduced = (Reduction(operator, product.arrays[0].object),)
    steps = tuple(
        replace(step, reductions=reduced) if isinstance(step, Launch) else step for step in product.host_steps
    )
    assert any(isinstance(step, Launch) for step in steps)
    assert len(list(even_parts(steps, product.sizes))) == count
