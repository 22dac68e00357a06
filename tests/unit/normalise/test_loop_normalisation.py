"""Loops in steps: which of them count their iterations, what stands in their place, and what the verifier says where that is wrong."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.expressions import Access, integer
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Statement
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk, with_blocks
from tilepragma.plan.kernel_plan import FinalValue, KernelPlan
from tilepragma.plan.summary import has_shapes
from tilepragma.verify.proofs import prove

SMOOTH = """
    for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i] + a[i + 1];
    for (int i = 1; i < n - 1; i++) a[i] = b[i - 1] + b[i] + b[i + 1];"""


def planned(body: str, declarations: str = "", after: str = "") -> KernelPlan:
    return plan(f"""
    void f(int n, int m, int k, double *restrict a, double *restrict b) {{
        {declarations}
    #pragma tilek kernel
        {body}
        {after}
    }}""")


def loops(kernel: Kernel) -> list[str]:
    """`i < n by 2`, one a loop of the kernel."""
    result = (node for node in walk(kernel.body) if isinstance(node, Loop))
    return [
        f"{each.iterator.name} {each.comparison} {expression_text(each.upper)} by {expression_text(each.step)}"
        for each in result
    ]


def subscripts(kernel: Kernel, name: str) -> set[str]:
    accesses = (node for node in walk(kernel.body) if isinstance(node, Access) and node.object.name == name)
    return {expression_text(access.subscripts[0]) for access in accesses if access.subscripts}


@pytest.mark.parametrize(
    ("head", "counted", "written"),
    [
        ("int i = 0; i < n; i += 2", "(n + 1) / 2", "2 * i_index"),
        ("int i = 3; i <= n; i += 4", "(n + 1) / 4", "(4 * i_index) + 3"),
        ("int i = n - 1; i >= 0; i -= 3", "(n + 2) / 3", "n - (3 * i_index) - 1"),
        ("int i = 199; i > -1; i -= 2", "100", "199 - (2 * i_index)"),
        ("int i = 0; i < 1000; i += 64", "16", "64 * i_index"),
    ],
)
def test_iterations_are_counted(head: str, counted: str, written: str) -> None:
    made = planned(f"for ({head}) a[i] += b[i + 1];")
    assert made.before_normalisation is not None
    (loop,) = loops(made.kernel)
    assert loop.replace("(long)", "").replace("l", "") == f"i_index < {counted} by 1"
    assert subscripts(made.kernel, "a") == {written}
    assert loops(made.before_normalisation)[0].startswith("i ")
    assert prove(made) == ()


@pytest.mark.parametrize(
    "head",
    [
        "int i = 0; i < n; i += k",
        "int i = -4; i < n; i += 2",
        "int i = m; i < n; i += 2",
        "int i = n; i > m; i -= 2",
        "unsigned i = 0; i < 100u; i += 2",
        "short i = 0; i < 100; i += 2",
        "int i = 0; i < n; i++",
    ],
)
def test_other_steps_are_left_alone(head: str) -> None:
    made = planned(f"for ({head}) a[i] = 2.0;")
    assert made.before_normalisation is None
    assert loops(made.kernel)[0].startswith("i ")


def test_steps_of_time_get_the_tiles_of_unit_steps_in_time() -> None:
    started = time.process_time()
    made = planned(f"for (int t = 0; t < m; t += 2) {{{SMOOTH}}}")
    assert time.process_time() - started < 5
    assert has_shapes(made)
    assert [size.object.name for size in made.sizes] == [
        size.object.name.replace("t_", "t_index_")
        for size in planned(f"for (int t = 0; t < m; t++) {{{SMOOTH}}}").sizes
    ]


def test_iterators_that_are_read_later_keep_their_last_values() -> None:
    made = planned("for (i = n - 1; i >= 0; i -= 3) a[i] = i;", "int i;", "b[0] = i;")
    (final,) = made.final_values
    assert isinstance(final, FinalValue)
    assert (final.iterator.name, expression_text(final.loop.loop.step)) == ("i", "-3")
    assert final.loop.loop.index not in {node.index for node in walk(made.kernel.body) if isinstance(node, Loop)}


def test_an_iterator_that_the_region_reads_outside_its_loop_is_kept() -> None:
    made = planned("{ for (i = 0; i < n; i += 2) a[i] = i; b[0] = i; }", "int i;")
    assert made.before_normalisation is None


def test_an_index_has_a_name_of_its_own() -> None:
    made = planned("for (int i = 0; i < n; i += 2) a[i] += b[i_index];", "int i_index = 3;")
    assert loops(made.kernel)[0].startswith("i_index_2 ")


def with_loops(block: Block, **changes: object) -> Block:
    """The block with these changes made to its loops over indices."""

    def changed(statement: Statement) -> Statement:
        inner = with_blocks(statement, lambda inside: with_loops(inside, **changes))
        return replace(inner, **changes) if isinstance(inner, Loop) and "index" in inner.iterator.name else inner

    return replace(block, statements=tuple(map(changed, block.statements)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"upper": integer(7)}, "other iterations"),
        ({"lower": integer(1)}, "does not count from 0"),
        ({"comparison": "<="}, "does not count from 0"),
        ({"step": integer(2)}, "does not count from 0"),
        ({"declares_iterator": False}, "does not count from 0"),
    ],
)
def test_the_verifier_refuses_other_iterations(changes: dict[str, object], said: str) -> None:
    made = planned("for (int i = 1; i < n; i += 2) a[i] = b[i];")
    wrong = replace(made, kernel=replace(made.kernel, body=with_loops(made.kernel.body, **changes)))
    (fault,) = (each for each in prove(wrong) if each.rule == "iterations are the user's")
    assert said in fault.message


def test_the_verifier_refuses_other_elements_and_values() -> None:
    made = planned("for (int i = 1; i < n; i += 2) a[i] = i + b[i];")

    def moved(access: Access) -> Access:
        return replace(access, subscripts=(integer(0),)) if access.subscripts else access

    for body in (
        with_accesses(made.kernel.body, moved),
        with_accesses(made.kernel.body, lambda access: integer(1) if "index" in access.object.name else access),
        Block((*made.kernel.body.statements, *made.kernel.body.statements)),
    ):
        wrong = replace(made, kernel=replace(made.kernel, body=body))
        assert "iterations are the user's" in {each.rule for each in prove(wrong)}
