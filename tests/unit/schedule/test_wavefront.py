"""Tiles of wavefronts in memory of gangs: which arrays are staged, and forms that are wrong, each refused with a sentence that says how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.cost.gang_memory import array_tiles_fit, default_array_tile_bytes
from tilepragma.ir.expressions import Binary, integer
from tilepragma.ir.loop_tree import Barrier, Block, If, Loop, Statement, TileNest
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.substitution import with_each, with_objects
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan, Launch, forms
from tilepragma.report.source_text import plain_text
from tilepragma.verify.proofs import original_of, prove_staged

FIVE = """
void five(int steps, int n, double u[n][n], double f[n][n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - f[i][j]);
}"""
ONCE = """
void once(int n, float u[n][n], float f[n][n]) {
#pragma tilek kernel
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++)
      u[i][j] = 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - f[i][j]);
}"""
LINE = """
void line(int steps, int n, float *u) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      u[i] = 0.5f * (u[i - 1] + u[i + 1]);
}"""


def launch_of(made: KernelPlan) -> Launch:
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    (launch,) = loop.steps
    assert isinstance(launch, Launch)
    return launch


def boxes(text: str) -> list[tuple[str, ...]]:
    """The names of arrays that are staged, with the lengths of their scratchpads."""
    return [
        (each.array.name, *(plain_text(length) for length in each.object.lengths if length is not None))
        for each in launch_of(plan(text)).staged_scratchpads
    ]


def test_boxes_are_as_long_as_tiles_are_skewed() -> None:
    """t + i has so many values in a tile, and t others: i has as many as both, less one, and one beyond at either side."""
    assert boxes(FIVE) == [
        ("u", "t_i_size + t_size + 1", padded("t_j_size + t_size", "+ 1")),
        ("f", "t_i_size + t_size - 1", padded("t_j_size + t_size", "- 1")),
    ]


def padded(row: str, beyond: str) -> str:
    """A row of that length, and of one element more where that is odd."""
    return f"{row} + (({row} {beyond}) % 2) {beyond}"


def test_what_a_tile_does_not_come_back_to_is_read_where_it_is() -> None:
    assert boxes(ONCE) == [("u", "i_size + 2", padded("j_size", "+ 2"))]


SPACE = """void f(int n, int steps, float u[n][n][n]) {
#pragma tilek kernel
  for (int t = 0; t < steps; t++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        for (int k = 1; k < n - 1; k++)
          u[i][j][k] = 0.2f * (u[i - 1][j][k] + u[i][j - 1][k] + u[i][j][k - 1] + u[i][j][k + 1]);
}"""


def test_only_rows_that_neighbours_change_are_padded() -> None:
    """In space a neighbour is a row on and an element back in its plane, in a line two elements on."""
    ((_, planes, rows, row),) = boxes(SPACE)
    assert (planes, rows) == ("t_i_size + t_size", "t_j_size + t_size")
    assert row == padded("t_k_size + t_size", "+ 1")
    assert boxes(LINE) == [("u", "t_i_size + t_size + 1")]


def test_boxes_are_counted_in_whole_words() -> None:
    made = plan(LINE)
    assert [size.device for size in made.sizes] == [32, 64]
    assert default_array_tile_bytes(made, launch_of(made)) == 392  # 97 floats
    assert array_tiles_fit(made, launch_of(made))


@pytest.mark.parametrize(
    "change",
    [
        ("u[i - 1] + u[i + 1]", "u[i - 1] + u[n - 1 - i]"),
        ("u[i] =", "u[2 * i] ="),
        ("i = 1; i < n - 1; i++", "i = t; i < n - 1; i++"),
        ("(u[i - 1]", "(t > i ? 0 : u[i - 1]"),
    ],
)
def test_other_forms_have_no_boxes(change: tuple[str, str]) -> None:
    """Subscripts that are not an iterator and a number, bounds with other iterators."""
    made = plan(LINE.replace(*change))
    assert not any(launch.staged_scratchpads for launch in made.device)


# -- forms that are wrong

Change = Callable[[list[Statement]], list[Statement]]


def faults(text: str, change: Change, lengths: int = 0) -> list[str]:
    """What is wrong with the plan where what a tile does for its points is changed, and scratchpads are longer by so much."""
    made = plan(text)
    launch = launch_of(made)
    plain, staged = forms(launch)
    (nest,) = staged.body.statements
    assert isinstance(nest, TileNest)
    *head, asked, barrier = nest.body.statements
    assert isinstance(asked, If) and isinstance(barrier, Barrier)
    work = replace(asked, then=Block(tuple(change(list(asked.then.statements)))))
    body = Block((replace(nest, body=Block((*head, work, barrier))),))
    longer = {
        each.object: replace(
            each.object,
            lengths=tuple(expression(polynomial(length) + number(lengths)) for length in each.object.lengths if length),
        )
        for each in launch.staged_scratchpads
    }
    body = with_objects(body, longer)
    scratchpads = tuple(replace(each, object=longer[each.object]) for each in launch.staged_scratchpads)
    (loop,) = made.device_steps
    assert isinstance(loop, HostLoop)
    wrong = replace(launch, staged=body, staged_scratchpads=scratchpads)
    changed = replace(made, device_steps=(replace(loop, steps=(wrong,)),))
    without = replace(made, device_steps=(replace(loop, steps=(plain,)),))
    return [fault.message for fault in prove_staged(changed, original_of(made), without)]


def without(kind: type, place: int) -> Change:
    """Less a statement of that kind: nests copy, the loop computes."""

    def change(statements: list[Statement]) -> list[Statement]:
        found = [statement for statement in statements if isinstance(statement, kind)]
        return [statement for statement in statements if statement is not found[place]]

    return change


def asking(place: int, old: str, new: str) -> Change:
    """Less what a copy asks: comparisons that read so."""

    def change(statements: list[Statement]) -> list[Statement]:
        nests = [statement for statement in statements if isinstance(statement, (TileNest, Loop))]
        return [
            with_each(statement, Binary, instead) if statement is nests[place] else statement
            for statement in statements
        ]

    def instead(node: Binary) -> Binary:
        return replace(node, right=integer(1), operator=new, left=integer(1)) if node.operator == old else node

    return change


def test_the_form_itself_is_right() -> None:
    assert faults(LINE, list) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without(TileNest, 0), "a scratchpad lacks elements of 'u' that are read from before the step"),
        (without(TileNest, 1), "filled from 'u' with values of 'u' that are not the latest"),
        (without(Barrier, 0), "filling the scratchpad of 'u' is broken in a tile"),
        (asking(0, ">=", "=="), "is read and written by tiles that do not wait for each other"),
        (asking(-1, ">=", "=="), "tiles that touch the same elements may run before what they need"),
    ],
    ids=["no copy in", "no copy back", "no barrier", "copies too much in", "copies too much back"],
)
def test_wrong_tiles_are_refused(change: Change, message: str) -> None:
    found = faults(ONCE.replace(" - f[i][j]", ""), change)
    assert any(message in each for each in found), found


def test_scratchpads_too_small_are_refused() -> None:
    assert "the scratchpad of 'u' is too small" in " ".join(faults(LINE, list, lengths=-1))
