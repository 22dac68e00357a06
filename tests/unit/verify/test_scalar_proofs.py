"""Scalars and conditions of data: copies without a value, reductions that are none, decisions that a plan takes otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.plan_text import plan_of
from tests.support.source_plans import plan
from tilepragma.ir.loop_tree import TileNest
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.verify.certificate import Fault
from tilepragma.verify.proofs import prove
from tilepragma.verify.rules import verify


def messages(faults: tuple[Fault, ...]) -> str:
    return "\n".join(f"{fault.rule}: {fault.message}" for fault in faults)


def launch(planned: KernelPlan, place: int = 0) -> Launch:
    step = planned.host_steps[place]
    assert isinstance(step, Launch)
    return step


def with_launch(planned: KernelPlan, changed: Launch, place: int = 0) -> KernelPlan:
    steps = (*planned.host_steps[:place], changed, *planned.host_steps[place + 1 :])
    return replace(planned, host_steps=steps, device_steps=steps)


COPIES = """
void f(int n, double a[n], double b[n]) {
  double s;
#pragma tilek kernel
  for (int i = 0; i < n; i++) {
    s = a[i];
    b[i] = s * 2;
  }
}"""


def test_a_copy_that_is_read_before_it_is_assigned_is_refused() -> None:
    planned = plan(COPIES)
    assert [object_.name for object_ in launch(planned).privates] == ["s"] and prove(planned) == ()
    (nest,) = launch(planned).body.statements
    assert isinstance(nest, TileNest)
    turned = replace(nest, body=replace(nest.body, statements=nest.body.statements[::-1]))
    broken = with_launch(planned, replace(launch(planned), body=replace(launch(planned).body, statements=(turned,))))
    assert "launch f gives every instance its own 's', which line 7 reads before it is assigned" in messages(
        prove(broken)
    )


def test_a_value_left_in_copies_does_not_reach_the_next_launch() -> None:
    source = """
    void f(int n, double a[n], double b[n]) {
      double s;
    #pragma tilek kernel
      {
        for (int i = 0; i < n; i++) { s = a[i]; b[i] = s; }
        for (int i = 0; i < n; i++) { s = b[i]; a[i] = s; }
      }
    }"""
    planned = plan(source)
    assert len(planned.host_steps) == 2 and prove(planned) == ()
    second = launch(planned, 1)
    (nest,) = second.body.statements
    assert isinstance(nest, TileNest)
    # As if the second nest were to read the s of the first.
    turned = replace(nest, body=replace(nest.body, statements=nest.body.statements[::-1]))
    body = replace(second.body, statements=(turned,))
    broken = with_launch(planned, replace(second, body=body, privates=(), first_privates=()), 1)
    assert "the flow dependence of 's' from line 6" in messages(prove(broken))
    assert "are of launches that do not hand it on" in messages(prove(broken))


SUM = """
double f(int n, double a[n]) {
  double s = 0;
#pragma tilek kernel reduction(+: s)
  for (int i = 0; i < n; i++) s += a[i];
  return s;
}"""


def test_an_order_of_sums_that_is_not_allowed_is_refused() -> None:
    planned = plan(SUM)
    assert launch(planned).reductions and prove(planned) == ()
    silent = replace(
        planned, kernel=replace(planned.kernel, directive=replace(planned.kernel.directive, reductions=()))
    )
    assert "the order of 's' is changed in launch f, and its rounding with it" in messages(prove(silent))
    fast = replace(silent, floating=replace(silent.floating, fast=True))
    assert prove(fast) == ()


def test_what_is_not_only_reduced_is_refused() -> None:
    planned = plan(SUM.replace("reduction(+: s)", "reduction(max: s)").replace("s += a[i]", "s = a[i] > s ? a[i] : s"))
    assert prove(planned) == ()
    directive = replace(planned.kernel.directive, reductions=())
    (reduction,) = launch(planned).reductions
    wrong = with_launch(planned, replace(launch(planned), reductions=(replace(reduction, operator="min"),)))
    wrong = replace(wrong, kernel=replace(planned.kernel, directive=directive))
    assert "'s' is not only reduced by min in launch f" in messages(prove(wrong))


DATA = """
void f(int n, double b[n], int c[n]) {{
#pragma tilek kernel
  {{ {region} }}
}}
void p(int n, double b[n], int c[n]) {{
#pragma tilek kernel
  {{ {steps} }}
}}"""

ON_DATA = "for (int i = 0; i < n; i++) { if (c[i] > 0) { b[i] = 1; } }"

OTHERWISE = {
    "condition left out": ("for (int i = 0; i < n; i++) { b[i] = 1; }", "lacks a condition or bound that is not affine"),
    "another condition": (
        "for (int i = 0; i < n; i++) { if (c[i] > 1) { b[i] = 1; } }",
        "a condition or bound that is not affine decides on line 4 in the plan, but not in the region",
    ),
    "the other branch": (
        "for (int i = 0; i < n; i++) { if (c[i] > 0) { } else { b[i] = 1; } }",
        "a condition or bound that is not affine decides on line 4 in the plan, but not in the region",
    ),
    "another statement": (
        "for (int i = 0; i < n; i++) { if (c[i] > 0) { b[i] = 2; } }",
        "launch launch1 has a statement that the region has not",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERWISE)
def test_decisions_on_data_are_those_of_the_region(name: str) -> None:
    steps, sentence = OTHERWISE[name]
    assert prove(plan_of(DATA.format(region=ON_DATA, steps=ON_DATA))) == ()
    assert sentence in messages(prove(plan_of(DATA.format(region=ON_DATA, steps=steps))))


def test_a_bound_that_is_data_is_that_of_the_region() -> None:
    region = "for (int i = 0; i < n; i++) { for (int j = c[i]; j < n; j++) { b[j] += i; } }"
    assert prove(plan_of(DATA.format(region=region, steps=region))) == ()
    shifted = prove(plan_of(DATA.format(region=region, steps=region.replace("c[i]", "c[i] + 1"))))
    assert "a condition or bound that is not affine decides on line 4 in the plan" in messages(shifted)
    assert not any(fault.certain for fault in shifted)


def test_tiles_inside_a_while_are_the_users_to_answer_for() -> None:
    planned = plan("""
    void f(int n, int m, double a[n][m]) {
    #pragma tilek kernel
    #pragma tilek loop tile(gang) tile(dynamic)
      for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < 3) {
    #pragma tilek loop tile(worker) tile(dynamic)
          for (int j = 0; j < m; j++) a[i][j] += k;
          k++;
        }
      }
    }""")
    verify(planned)
    assert [fault.certain for fault in prove(planned)] == [False]


LOCAL_ARRAY = """
void f(int n, const double *restrict a, double *restrict b) {
#pragma tilek kernel
  for (int i = 0; i < n; i++) {
    double near[3];
    for (int k = 0; k < 3; k++)
      near[k] = a[i + k];
    for (int k = 0; k < 2; k++) {
      double kept = near[k];
      near[k + 1] -= kept;
    }
    b[i] = near[2];
  }
}"""


def test_a_declaration_that_reads_a_local_array_does_not_declare_it() -> None:
    planned = plan(LOCAL_ARRAY)
    assert planned.untransformed is None
    assert prove(planned) == ()
