"""What gangs of device launches stage, and plans whose stages are wrong, each refused with a sentence that says how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.directives import AxisKind, ClauseExpression, TileKind
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage, integer
from tilepragma.ir.loop_tree import (
    Axis,
    Barrier,
    Block,
    If,
    Loop,
    PackedPanels,
    Panel,
    Stage,
    Staged,
    StagedSide,
    StagedTerm,
    Statement,
    Tile,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.loop_tree_text import staged_text
from tilepragma.ir.substitution import with_each
from tilepragma.ir.traversal import nests_in, walk, with_blocks
from tilepragma.ir.types import INT
from tilepragma.model.descriptor_files import named_device
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.plan.summary import staged_arrays
from tilepragma.verify.proofs import prove
from tilepragma.verify.rules import PlanFault, verify, verify_rules

#: What makes workers neighbours along i, so that they read down the columns of a[i][j].
ALONG_I = "c[j][i] * c[j - 1][i] * c[j + 1][i] * c[j][i - 1] * c[j][i + 1]"
COLUMN_ARRAYS = "const double a[n][m], const double c[m][n], double b[m][n]"
FIVE_POINT = f"""
void f(int n, int m, {COLUMN_ARRAYS}) {{
#pragma tilek kernel
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++)
      b[j][i] = a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1] + {ALONG_I};
}}"""
PRODUCT = """
void f(int n, int m, int p, const float a[n][p], const float b[p][m], float c[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float sum = 0;
      for (int k = 0; k < p; k++)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}"""

SUMS = """
void f(int n, int m, int p, const float a[n][p], const float b[p][m], float c[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < p; k++)
        c[i][j] += a[i][k] * b[k][j];
}"""


def boxes(source: str) -> list[str]:
    """What the launches of a plan stage."""
    return [staged_text(each) for launch in plan(source).device for each in staged_arrays(launch)]


def body(statement: str, arrays: str = "const double a[n][m], double b[n][m]") -> str:
    """A kernel over i and j, whose statement this is."""
    return f"""
void f(int n, int m, int p, {arrays}) {{
#pragma tilek kernel
  for (int i = 2; i < n - 2; i++)
    for (int j = 2; j < m - 2; j++)
      {statement}
}}"""


WIDE = """
void f(int n, int m, const double a[n][m], const double x[m], double y[n]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++) {
    double sum = 0;
    for (int j = 0; j < m; j++)
      sum += a[i][j] * x[j];
    y[i] = sum;
  }
}"""


@pytest.mark.parametrize(("name", "tile", "bytes_"), [("", 16, 32768), ("c1060", 8, 16384), ("a100", 32, 49152)])
def test_boxes_take_what_the_named_device_has(name: str, tile: int, bytes_: int) -> None:
    """128 rows of a box: of 16 doubles and one more to lie apart, 17 KB; of 32, 33 KB."""
    made = plan(WIDE, PlanOptions(device=named_device(name) if name else None))
    assert made.kernel.directive.local_bytes == bytes_
    (box,) = [each for each in staged_arrays(made.device[0]) if each.object.host == "a"]
    assert [term.extent for term in box.sides[1].terms] == [tile]


NEIGHBOURS = """
void f(int n, int m, int p, const float a[m][p], const float c[n][p][m], float b[n][m]) {{
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {{
      float sum = 0;
      for (int k = 0; k < 9; k++)
        sum += a[{subscripts}] * c[i][k][j];
      b[i][j] = sum;
    }}
}}"""


@pytest.mark.parametrize(
    ("subscripts", "odd"), [("j][k", True), ("j][j + k", False), ("j][2 * j + k", True), ("k][j", None)]
)
def test_rows_of_boxes_lie_apart_as_algorithm_2_says(subscripts: str, odd: bool | None) -> None:
    boxes = {
        each.object.host: each.odd for each in staged_arrays(plan(NEIGHBOURS.format(subscripts=subscripts)).device[0])
    }
    assert boxes["a"] is odd


def test_a_stencil_down_columns_stages_its_tile_with_the_border() -> None:
    assert boxes(FIVE_POINT) == ["a[i_row - 1 : 3][j_row - 1 : 3]"]


def test_a_product_stages_tiles_of_both_arrays() -> None:
    assert boxes(PRODUCT) == ["a[i_row : 1][k : 1]", "b[k : 1][j_row : 1]"]


def test_an_array_may_have_several_boxes() -> None:
    gram = PRODUCT.replace("b[k][j]", "a[j][k]")
    assert boxes(gram) == ["a[i_row : 1][k : 1]", "a[j_row : 1][k : 1]"]
    assert complaints(plan(gram)) == ""


def triangular(condition: str) -> str:
    """The product of a matrix with its transpose, where the condition on i and j holds."""
    return PRODUCT.replace("b[k][j]", "a[j][k]").replace("{\n      float", f"if ({condition}) {{\n      float")


def test_a_triangular_product_stages_what_every_row_has_a_point_for() -> None:
    result = plan(triangular("j <= i").replace("j < m", "j < n"))
    assert [staged_text(box) for box in staged_arrays(result.device[0])] == [
        "a[i : 1][k : 1]",
        "a[j : 1][k : 1]",
    ]
    assert [nest.guard is not None for nest in nests_in(result.device[0].staged)] == [True]
    assert complaints(result) == ""


@pytest.mark.parametrize("condition", ["j < i", "j <= i && i <= j + 3", "a[i][0] > 0", "2 * j <= i - n"])
def test_rows_without_a_point_are_not_copied(condition: str) -> None:
    """Row 0 of `j < i` has none, nor rows in which other conditions fail: nobody has allocated them."""
    assert boxes(triangular(condition).replace("j < m", "j < n")) == []


def test_a_wrong_guard_is_refused() -> None:
    good = plan(triangular("j <= i").replace("j < m", "j < n"))

    def strict(nest: TileNest) -> TileNest:
        assert nest.guard is not None
        return replace(nest, guard=replace(nest.guard, operator="<"))

    (launch,) = good.device
    wrong = replace(launch, staged=with_each(launch.staged, TileNest, strict))
    assert "never runs" in complaints(replace(good, device_steps=(wrong,)))


def test_accesses_under_conditions_read_boxes_that_hold_them() -> None:
    statement = f"b[j][i] = a[i - 1][j] + a[i + 1][j] + a[i][j] + (i > 5 ? a[i][j - 1] + a[i - 2][j] : a[i][j]) + {ALONG_I} * c[j][i];"
    result = plan(body(statement, COLUMN_ARRAYS))
    (box,) = staged_arrays(result.device[0])
    assert staged_text(box) == "a[i_row - 1 : 3][j_row : 1]"
    assert box.reads == ("[i - 1][j]", "[i + 1][j]", "[i][j]")


WORTH_IT: dict[str, tuple[str, list[str], str]] = {
    "columns of workers": ("b[i][j] = a[j][i];", ["a[j : 1][i : 1]"], "const double a[m][n], double b[n][m]"),
    "a lopsided box": (
        f"b[j][i] = a[i - 2][j] + a[i + 1][j + 2] + a[i][j] + {ALONG_I};",
        ["a[i_row - 2 : 4][j_row : 3]"],
        COLUMN_ARRAYS,
    ),
    "a box of which most is not read": (
        f"b[j][i] = a[640*i + j] + a[640*(i + 1) + j] + a[640*(i + 2) + j] + {ALONG_I};",
        [],
        "const double *a, const double c[m][n], double b[m][n]",
    ),
    "turned round": (
        f"b[j][i] = a[n - i][j] + a[n - 1 - i][j] + a[n + 1 - i][j] + {ALONG_I};",
        ["a[-1*i_row + n - 1 : 3][j_row : 1]"],
        COLUMN_ARRAYS,
    ),
}


@pytest.mark.parametrize("name", WORTH_IT)
def test_what_is_worth_it(name: str) -> None:
    statement, expected, arrays = WORTH_IT[name]
    assert boxes(body(statement, arrays)) == expected


#: The cells of a box that is larger than a gang's memory.
LARGE = " + ".join(f"a[i + {row}][j + {column}]" for row in range(3) for column in range(0, 381, 76))
LEFT_ALONE = {
    "a stencil's rows, which the cache holds": "b[i][j] = a[i][j] + a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1];",
    "a filter's rows": "for (int p = -2; p <= 2; p++) for (int q = -2; q <= 2; q++) b[i][j] += a[i + p][j + q];",
    "what neighbours read as neighbours": "b[i][j] = a[i][j];",
    "two rows of many": "b[i][j] = a[i][j] - a[i - 1][j];",
    "neighbours in a row": "b[i][j] = a[i][j - 1] + a[i][j] + a[i][j + 1] + a[i][j + 2];",
    "an end that a condition guards": "b[i][j] = a[i][j] + a[i + 1][j] + (i > 2 ? a[i - 1][j] : 0);",
    "boxes that no number of workers bounds": "b[i][j] = a[i][j] + a[i - 1][j] + a[p][j];",
    "what the launch writes": "b[i][j] = b[i][j] + a[i][j];",
    "subscripts from memory": "b[i][j] = a[i][(int)a[i][0]];",
    "boxes larger than a gang's memory": f"b[i][j] = {LARGE};",
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_left_alone(name: str) -> None:
    assert boxes(body(LEFT_ALONE[name])) == []


def test_what_has_no_room_is_said() -> None:
    along = " * ".join([ALONG_I] * 4)
    result = plan(body(f"b[j][i] = {LARGE} + {along};", COLUMN_ARRAYS))
    assert staged_arrays(result.device[0]) == ()
    assert [note for note in result.rejected if "does not fit in its 32768 bytes of shared memory" in note]


def test_the_workers_that_the_user_says_count() -> None:
    source = """
void f(int n, int m, int w, const double a[n][m], const double x[m], double y[n]) {
#pragma tilek kernel num_workers(%s)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      y[i] += a[i][j] * x[j];
}"""
    assert boxes(source % "w") == ["a[i : 1][j : 1]"], "numbers of the launch are not known"
    assert boxes(source % "1024") == []
    note = "what a gang of launch f reads of 'a', 40960 bytes, does not fit in its 32768 bytes of shared memory: it stays in place"
    assert note in plan(source % "1024").rejected


@pytest.mark.parametrize(("workers", "iterations"), [("32, 8", 16), ("64, 8", 8), ("32, 32", 8)])
def test_array_tiles_hold_all_points_of_the_workers_that_the_user_says(workers: str, iterations: int) -> None:
    """A worker of a product has 4 x 8 points: 32 x 32 workers read 256 rows of a and 128 columns of b."""
    (launch,) = plan(PRODUCT.replace("kernel", f"kernel num_workers({workers})")).device
    rows = next(tile for tile in staged_arrays(launch) if tile.object.host == "a")
    assert [(term.extent, term.points) for side in rows.sides for term in side.terms] == [
        (Axis(AxisKind.WORKER, 1), 8),
        (iterations, 1),
    ]


def test_arrays_that_may_be_one_are_left_alone() -> None:
    said = FIVE_POINT.replace("#pragma tilek kernel", "#pragma tilek kernel independent")
    assert not plan(said).assumes_disjoint
    assert boxes(said) == []


def test_the_hosts_launches_stage_nothing() -> None:
    assert all(launch.staged is None for launch in plan(FIVE_POINT).host)


# -- broken plans


def with_staged(found: KernelPlan, change: Callable[[Block], Block]) -> KernelPlan:
    """The plan of one launch with its staged form changed."""
    (launch,) = found.device
    assert launch.staged is not None
    (nest,) = launch.staged.statements
    assert isinstance(nest, TileNest)
    changed = replace(launch, staged=Block((replace(nest, body=change(nest.body)),)))
    return replace(found, device_steps=(changed,))


def with_blocks_changed(found: KernelPlan, change: Callable[[Block], Block]) -> KernelPlan:
    """`change` made to every block of the staged form that has a stage."""

    def visit(block: Block) -> Block:
        inner = Block(
            tuple(
                with_blocks(statement, visit) if isinstance(statement, (Loop, PackedPanels)) else statement
                for statement in block.statements
            ),
            block.range,
        )
        return change(inner) if any(isinstance(statement, Stage) for statement in inner.statements) else inner

    return with_staged(found, visit)


def with_array_tiles(found: KernelPlan, change: Callable[[Staged], Staged]) -> KernelPlan:
    def in_block(block: Block) -> Block:
        return replace(
            block,
            statements=tuple(
                Stage(tuple(map(change, statement.arrays))) if isinstance(statement, Stage) else statement
                for statement in block.statements
            ),
        )

    return with_blocks_changed(found, in_block)


def with_side(found: KernelPlan, place: int, change: Callable[[StagedSide], StagedSide]) -> KernelPlan:
    def in_box(staged: Staged) -> Staged:
        sides = tuple(change(side) if at == place else side for at, side in enumerate(staged.sides))
        return replace(staged, sides=sides)

    return with_array_tiles(found, in_box)


def without(found: KernelPlan, place: int) -> KernelPlan:
    """The staged form without one of its barriers, counted from 0."""

    def drop(block: Block) -> Block:
        at = [number for number, one in enumerate(block.statements) if isinstance(one, Barrier)][place]
        return replace(block, statements=(*block.statements[:at], *block.statements[at + 1 :]))

    return with_blocks_changed(found, drop)


def moved(side: StagedSide, by: int) -> StagedSide:
    return replace(side, least=integer(-1 + by))


def behind(block: Block) -> Block:
    """The stage behind what uses it."""
    stage, barrier, *rest = block.statements
    return replace(block, statements=(*rest[:-1], stage, barrier, rest[-1]))


def under_condition(block: Block) -> Block:
    stage, *rest = block.statements
    return replace(block, statements=(If(integer(1), Block((stage,)), None), *rest))


def ahead(block: Block) -> Block:
    statements = (
        replace(statement, ahead=True) if isinstance(statement, Stage) else statement for statement in block.statements
    )
    return replace(block, statements=tuple(statements))


def backwards(block: Block) -> Block:
    """A nest's body whose loop over tiles goes down."""
    statements = (
        replace(statement, decreasing=True) if isinstance(statement, Loop) else statement
        for statement in block.statements
    )
    inside = (
        with_blocks(statement, backwards) if isinstance(statement, PackedPanels) else statement
        for statement in statements
    )
    return replace(block, statements=tuple(inside))


def twice(block: Block) -> Block:
    statements = (
        Stage((*statement.arrays, *statement.arrays)) if isinstance(statement, Stage) else statement
        for statement in block.statements
    )
    return replace(block, statements=tuple(statements))


def with_buffer(found: KernelPlan, change: Callable[[Panel], Panel]) -> KernelPlan:
    """The staged form with its buffers changed."""

    def in_body(block: Block) -> Block:
        held = (
            replace(statement, buffers=tuple(map(change, statement.buffers)))
            if isinstance(statement, PackedPanels)
            else statement
            for statement in block.statements
        )
        return replace(block, statements=tuple(held))

    return with_staged(found, in_body)


def with_points(found: KernelPlan, points: int) -> KernelPlan:
    """The nest whose workers have another number of points than the boxes are made for."""

    def of(tile: Tile) -> Tile:
        return replace(tile, argument=ClauseExpression(str(points), NOWHERE)) if tile.kind is TileKind.STATIC else tile

    def loop_of(tiled: TiledLoop) -> TiledLoop:
        return replace(tiled, tiles=tuple(map(of, tiled.tiles)))

    def nest_of(nest: TileNest) -> TileNest:
        return replace(nest, loops=tuple(map(loop_of, nest.loops)), order=tuple(map(of, nest.order)))

    changed = with_nest(found, nest_of)
    (launch,) = changed.device
    (plain,) = launch.body.statements
    assert isinstance(plain, TileNest)
    loops, whole = tuple(map(loop_of, launch.loops)), Block((nest_of(plain),))
    return replace(changed, device_steps=(replace(launch, loops=loops, body=whole),))


def with_terms(side: StagedSide, change: Callable[[StagedTerm], StagedTerm]) -> StagedSide:
    return replace(side, terms=tuple(map(change, side.terms)))


STRANGER = DataObject("q", "q", INT, Storage.SCALAR, Scope.LOCAL)


BROKEN: dict[str, tuple[str, Callable[[KernelPlan], KernelPlan], str]] = {
    "a border that is too short above": (
        FIVE_POINT,
        lambda p: with_side(p, 0, lambda side: replace(side, width=1)),
        "outside of what is staged of dimension 0",
    ),
    "a border that is too short before": (
        FIVE_POINT,
        lambda p: with_side(p, 1, lambda side: replace(moved(side, 1), width=1)),
        "outside of what is staged of dimension 1",
    ),
    "a border that nobody reads": (
        FIVE_POINT,
        lambda p: with_side(p, 0, lambda side: replace(side, width=3)),
        "dimension 0 of what is staged of 'a' may end without a reader",
    ),
    "a box of another place": (
        FIVE_POINT,
        lambda p: with_side(p, 0, lambda side: moved(side, 1)),
        "outside of what is staged of dimension 0",
    ),
    "a box along other iterators": (
        FIVE_POINT,
        lambda p: with_array_tiles(p, lambda one: replace(one, sides=one.sides[::-1])),
        "outside of what is staged of dimension 0",
    ),
    "a box that does not move with the tile": (
        FIVE_POINT,
        lambda p: with_side(p, 0, lambda side: replace(side, terms=())),
        "outside of what is staged of dimension 0",
    ),
    "a box shorter than the tile": (
        FIVE_POINT,
        lambda p: with_side(p, 0, lambda side: with_terms(side, lambda term: replace(term, extent=1))),
        "another extent along 'i_row' than the gang's tile",
    ),
    "a tile of a loop that is longer than its box": (
        PRODUCT,
        lambda p: with_array_tiles(
            p,
            lambda one: replace(
                one,
                sides=tuple(
                    with_terms(side, lambda term: replace(term, extent=15) if term.extent == 16 else term)
                    for side in one.sides
                ),
            ),
        ),
        "is staged for is longer than its array tile",
    ),
    "a start that differs between workers": (
        FIVE_POINT,
        lambda p: with_side(p, 0, lambda side: replace(side, least=Access(STRANGER, (), (), INT))),
        "begins at 'q', which is not the same for all workers",
    ),
    "no barrier behind the copy": (FIVE_POINT, lambda p: without(p, 0), "between the copy of 'a' and its first use"),
    "no barrier before the next copy": (FIVE_POINT, lambda p: without(p, 1), "last use of 'a' and its next copy"),
    "no barrier behind the copy of a tile": (PRODUCT, lambda p: without(p, 0), "between the copy of 'a' and its first"),
    "no barrier before the next tile": (PRODUCT, lambda p: without(p, 1), "last use of 'a' and its next copy"),
    "a copy behind its use": (FIVE_POINT, lambda p: with_blocks_changed(p, behind), "'a' is read before it is staged"),
    "a copy that some may leave out": (
        FIVE_POINT,
        lambda p: with_blocks_changed(p, under_condition),
        "stands under a condition",
    ),
    "a nest whose workers part": (
        FIVE_POINT,
        lambda p: with_nest(p, lambda nest: replace(nest, uniform=False)),
        "a barrier stands under a worker-distributed loop",
    ),
    "an access to two boxes": (
        FIVE_POINT,
        lambda p: with_blocks_changed(p, twice),
        "is read in two array tiles of launch f",
    ),
    "what the launch writes": (
        FIVE_POINT,
        lambda p: with_array_tiles(p, lambda tile: replace(tile, object=argument(p, "b"), reads=("[j_row][i_row]",))),
        "'b' is staged, but launch f does not only read it",
    ),
    "arrays that may be one": (
        FIVE_POINT,
        lambda p: replace(p, assumes_disjoint=False),
        "stages arrays that another name may",
    ),
    "a statement that is gone": (
        FIVE_POINT,
        lambda p: with_blocks_changed(
            p, lambda block: replace(block, statements=tuple(s for s in block.statements if not _computes(s)))
        ),
        "'a' is staged and never read",
    ),
    "copies ahead of no loop": (
        FIVE_POINT,
        lambda p: with_blocks_changed(p, ahead),
        "copies ahead of something that is no loop",
    ),
    "a barrier between the copies ahead": (
        PRODUCT,
        lambda p: with_blocks_changed(p, lambda block: replace(block, statements=(*block.statements, Barrier()))),
        "copies ahead where more is done than to compute between two barriers",
    ),
    "a register of another element": (
        SUMS,
        lambda p: with_buffer(p, lambda one: replace(one, access=replace(one.access, subscripts=(integer(0),) * 2))),
        "the buffer of 'c' has elements that others access between barriers",
    ),
    "a register that is not written back": (
        SUMS,
        lambda p: with_buffer(p, lambda one: replace(one, stored=False)),
        "the buffer of 'c' is more than the element of a worker, and stands around barriers",
    ),
    "a register where the sum is empty, too": (
        SUMS,
        lambda p: with_buffer(p, lambda one: replace(one, conditions=())),
        "the buffer of 'c' has elements that are not surely accessed",
    ),
    "a register that is left out where the sum is not empty": (
        SUMS,
        lambda p: with_buffer(p, lambda one: replace(one, conditions=(*one.conditions, integer(0)))),
        "the buffer of 'c' lacks elements that are accessed",
    ),
    "a box for fewer points than a worker has": (
        SUMS,
        lambda p: with_points(p, 16),
        "the array tile of 'a' has another extent along 'i_row' than the gang's tile",
    ),
    "points whose number is not known": (
        SUMS,
        lambda p: with_points(p, 0),
        "the points that a worker has of loop",
    ),
    "copies ahead in a loop that counts down": (
        PRODUCT,
        lambda p: with_staged(p, backwards),
        "copies ahead in a loop over 'k_tile' that workers may see otherwise",
    ),
}


def with_nest(found: KernelPlan, change: Callable[[TileNest], TileNest]) -> KernelPlan:
    (launch,) = found.device
    assert launch.staged is not None
    (nest,) = launch.staged.statements
    assert isinstance(nest, TileNest)
    return replace(found, device_steps=(replace(launch, staged=Block((change(nest),))),))


def argument(found: KernelPlan, name: str) -> DataObject:
    return next(array.object for array in found.arrays if array.object.name == name)


def _computes(statement: Statement) -> bool:
    return any(isinstance(node, Access) for node in walk(statement)) and not isinstance(statement, (Stage, Barrier))


def complaints(found: KernelPlan) -> str:
    """What the verifier has against a plan, by its rules or by the mathematics."""
    try:
        verify_rules(found)
    except PlanFault as fault:
        return str(fault)
    return "\n".join(fault.message for fault in prove(found))


@pytest.mark.parametrize("source", [FIVE_POINT, PRODUCT, SUMS])
def test_the_good_plan_is_proven(source: str) -> None:
    good = plan(source)
    assert isinstance(good.device[0], Launch) and good.device[0].staged is not None
    assert complaints(good) == ""


@pytest.mark.parametrize("name", BROKEN)
def test_broken_stages_are_refused(name: str) -> None:
    source, change, sentence = BROKEN[name]
    broken = change(plan(source))
    assert sentence in complaints(broken)
    with pytest.raises(PlanFault):
        verify(broken)


def test_iterations_that_a_staged_form_leaves_out_are_missed() -> None:
    def shorter(block: Block) -> Block:
        loops = tuple(
            replace(statement, lower=integer(1)) if _is_split(statement) else statement
            for statement in block.statements
        )
        inner = tuple(with_blocks(loop, shorter) if isinstance(loop, PackedPanels) else loop for loop in loops)
        return replace(block, statements=inner)

    broken = with_staged(plan(PRODUCT), shorter)
    assert complaints(broken) != ""
    with pytest.raises(PlanFault):
        verify(broken)


def _is_split(statement: Statement) -> bool:
    return isinstance(statement, Loop) and any(isinstance(node, Stage) for node in walk(statement))
