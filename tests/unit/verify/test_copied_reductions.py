"""The proof that copies of reduced arrays get each iteration once finds plans where they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.expressions import Access, Binary, IntegerLiteral, integer
from tilepragma.ir.loop_tree import ExpressionStatement, Kernel, Loop
from tilepragma.ir.loop_tree_text import statement_text
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import loops_in
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
    faults = list(copied_reduction_faults(changed_loop(name, change)))
    assert faults == ["the loop over 'i': copies do not get each iteration once"]


def test_updates_of_other_copies_are_found() -> None:
    made = kernel()

    def moved(access: Access) -> Access:
        first = access.subscripts[0] if access.object.name == "count_copies" else None
        if not isinstance(first, Access) or first.object.name != "copy" or len(access.subscripts) != 2:
            return access
        return replace(access, subscripts=(Binary("+", first, integer(1), LONG), access.subscripts[1]))

    faults = list(copied_reduction_faults(replace(made, body=with_each(made.body, Access, moved))))
    assert faults == ["the loop over 'i': copies are updated by another text"]


def test_other_operators_are_found() -> None:
    made = kernel()
    assert made.reductions is not None
    ((loop, arrays),) = made.reductions.loops
    other = replace(made.reductions, loops=((loop, tuple((array, "*") for array, _ in arrays)),))
    faults = list(copied_reduction_faults(replace(made, reductions=other)))
    assert faults == ["the loop over 'i': 'count' is not only updated by *"]


def changed_literal(old: int, new: int, inside: str) -> Kernel:
    """The kernel with another number in the statement, or head, whose text has `inside`."""
    made = kernel()

    def change(node: Loop | ExpressionStatement) -> Loop | ExpressionStatement:
        if inside not in statement_text(node).splitlines()[0]:
            return node
        return with_each(node, IntegerLiteral, lambda literal: integer(new) if literal.value == old else literal)

    def changed_head(loop: Loop) -> Loop:
        return replace(change(loop), body=loop.body) if not any(loops_in(loop.body)) else loop

    body = with_each(made.body, ExpressionStatement, change)
    return replace(made, body=with_each(body, Loop, changed_head))


@pytest.mark.parametrize(
    ("old", "new", "inside", "fault"),
    [
        (0, 1, "count_copies[copy][count_0] = ", "copies of 'count' are not initialised"),
        (40, 39, "for (count_0 = ", "copies of 'count' are not initialised"),
        (0, 1, "for (count_0 = ", "copies of 'count' are not initialised"),
        (40, 39, "for (count_0_2 = ", "copies of 'count' are not combined"),
        (7, 6, "count[count_0_2] += ", "copies of 'count' are not combined"),
        (1, 2, "count_copies[copy][0] -= ", "copies are updated by another text"),
        (0, 1, "count_copies[copy][0] -= ", "copies are updated by another text"),
    ],
)
def test_copies_that_are_not_initialised_or_combined_are_found(old: int, new: int, inside: str, fault: str) -> None:
    assert list(copied_reduction_faults(changed_literal(old, new, inside))) == [f"the loop over 'i': {fault}"]
