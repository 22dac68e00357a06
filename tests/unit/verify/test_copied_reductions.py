"""The proof that copies of reduced arrays get each iteration once finds plans where they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.expressions import Access, Binary, integer
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.substitution import with_each
from tilepragma.ir.types import LONG
from tilepragma.verify.copied_reductions import copied_reduction_faults

SOURCE = """
void f(int n, int m, const int *restrict key, int count[restrict 40]) {
#pragma tilek kernel
    for (int t = 0; t < m; t++) {
        for (int i = t; i <= n; i++) { count[key[i] % 40] += i; if (key[i] > 3) count[0] -= 1; }
        for (int b = 0; b < 40; b++) count[b] /= 2;
    }
}"""


def kernel() -> Kernel:
    return plan(SOURCE).kernel


def test_plans_have_no_faults() -> None:
    assert kernel().reductions is not None
    assert list(copied_reduction_faults(kernel())) == []


def changed_loop(name: str, change: Callable[[Loop], Loop]) -> Kernel:
    made = kernel()
    body = with_each(made.body, Loop, lambda loop: change(loop) if loop.iterator.name == name else loop)
    return replace(made, body=body)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("i_first", lambda loop: replace(loop, step=integer(65537))),
        ("i_first", lambda loop: replace(loop, step=integer(4096))),
        ("i", lambda loop: replace(loop, comparison="<=")),
        ("copy", lambda loop: replace(loop, upper=integer(15))),
        ("copy", lambda loop: replace(loop, lower=integer(1))),
    ],
)
def test_iterations_that_are_lost_or_run_twice_are_found(name: str, change: Callable[[Loop], Loop]) -> None:
    assert list(copied_reduction_faults(changed_loop(name, change))) == [
        "copies do not get each iteration of the loop over 'i' once"
    ]


def test_updates_of_other_copies_are_found() -> None:
    made = kernel()

    def moved(access: Access) -> Access:
        first = access.subscripts[0] if access.object.name == "count_copies" else None
        if not isinstance(first, Access) or first.object.name != "copy" or len(access.subscripts) != 2:
            return access
        return replace(access, subscripts=(Binary("+", first, integer(1), LONG), access.subscripts[1]))

    faults = copied_reduction_faults(replace(made, body=with_each(made.body, Access, moved)))
    assert "an iteration of the loop over 'i' touches another copy than its own" in list(faults)


def test_other_operators_are_found() -> None:
    made = kernel()
    assert made.reductions is not None
    ((loop, arrays),) = made.reductions.loops
    other = replace(made.reductions, loops=((loop, tuple((array, "*") for array, _ in arrays)),))
    faults = list(copied_reduction_faults(replace(made, reductions=other)))
    assert faults == ["'count' is not only updated by * in the loop over 'i'"]
