"""Which loop neighbouring workers take, and what they then make of each array: ICS'08 sections 4.2, 4.3 and Tables 2, 3."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.support.c_functions import ROOT
from tests.support.source_plans import plan
from tilepragma.cost.thread_accesses import accesses_of, uncoalesced
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import Binary, Expression
from tilepragma.ir.loop_tree import Block, If, Statement, TileNest
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import expression
from tilepragma.ir.traversal import walk, with_blocks
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import staged_arrays
from tilepragma.report.source_text import plain_text
from tilepragma.verify.proofs import prove

KERNELS = ROOT / "benchmarks" / "suite" / "kernels"


def figure_3(name: str) -> KernelPlan:
    """The plan of the kernel in benchmarks/suite/kernels/ics-NAME.c."""
    text = (KERNELS / f"ics-{name}.c").read_text()
    body = re.search(r"#pragma scop\n(.*?)#pragma endscop", text, re.DOTALL)
    assert body is not None
    parameters = "int n, float a[n][n], float x[n], float y[n], float z[n], float w[n]"
    return plan(f"void f({parameters})\n{{\n#pragma tilek kernel\n{{\n{body[1]}}}\n}}\n")


def region(parameters: str, body: str, clauses: str = "") -> KernelPlan:
    return plan(f"void f({parameters})\n{{\n#pragma tilek kernel {clauses}\n{{ {body} }}\n}}\n")


def staged(made: KernelPlan) -> list[list[str]]:
    """Of each launch, the arrays that are not coalesced."""
    accesses = accesses_of(made)
    return [[each.host for each in uncoalesced(accesses, launch.name)] for launch in made.device]


def neighbours(made: KernelPlan) -> list[str]:
    """Of each launch, the loops on worker axis 0, without the planner's endings."""
    results = []
    for launch in made.device:
        tiled = [loop for nest in walk(launch.body) if isinstance(nest, TileNest) for loop in nest.loops]
        first = [
            loop
            for loop in tiled
            for tile in loop.tiles
            if tile.axis is not None and tile.axis.kind is AxisKind.WORKER and tile.axis.dimension == 0
        ]
        names = dict.fromkeys(re.sub(r"(_\d+)?(_row|_step)?(_\d+)?$", "", loop.loop.iterator.host) for loop in first)
        results.append(" ".join(names))
    return results


def reaches(made: KernelPlan) -> set[tuple[str, str]]:
    """What neighbouring workers make of each array."""
    return {(each.reference.object.host, each.pattern.reach.value) for each in accesses_of(made) if each.first}


# -- section 4.3


def test_mv_reads_its_matrix_by_way_of_shared_memory() -> None:
    made = figure_3("mv")
    assert neighbours(made) == ["i"], "theta = j, pi = i: what is found without the constraints"
    assert staged(made) == [["a"]]
    assert reaches(made) == {("a", "strided"), ("x", "coalesced"), ("y", "broadcast")}


def test_tmv_reads_its_matrix_directly() -> None:
    made = figure_3("tmv")
    assert neighbours(made) == ["i"], "theta = j, pi = i"
    assert staged(made) == [[]]
    assert reaches(made) == {("a", "coalesced"), ("x", "coalesced"), ("y", "broadcast")}


def test_tmv_is_distributed_cyclically() -> None:
    # Table 3: blocks of neighbours for one worker would undo it.
    for each in accesses_of(figure_3("tmv")):
        assert not each.blocked
    blocked = region(
        "int n, float a[n][n], float x[n], float y[n]",
        '_Pragma("tilek loop tile(gang) tile(worker) tile(dynamic)") for (int i = 0; i < n; i++) { x[i] = 0; '
        "for (int j = 0; j < n; j++) x[i] += a[j][i] * y[j]; }",
        "independent",
    )
    assert all(each.blocked for each in accesses_of(blocked))
    assert staged(blocked) == [["a", "x"]]


def test_mvt_stages_the_one_and_reads_the_other() -> None:
    made = figure_3("mvt")
    assert neighbours(made) == ["i", "i"]
    assert staged(made) == [["a"], []]


@pytest.mark.parametrize(("name", "expected"), [("mv", [["a"]]), ("tmv", [[]]), ("mvt", [["a"], []])])
def test_what_no_order_coalesces_is_what_is_staged(name: str, expected: list[list[str]]) -> None:
    made = figure_3(name)
    assert staged(made) == expected
    assert [[each.object.host for each in staged_arrays(launch)] for launch in made.device] == expected, (
        "Tables 2 and 3"
    )


# -- which loop


@pytest.mark.parametrize(
    ("parameters", "body", "loops"),
    [
        ("int n, int m, float a[n][m]", "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) a[i][j] *= 2;", "j"),
        ("int n, int m, float *a", "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) a[i * m + j] *= 2;", "j"),
        (
            "int n, float a[n][n], float x[n], float y[n]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[j] += a[i][j] * x[i];",
            "j",
        ),
        (
            "int n, float a[n][n], float b[n][n], float c[n][n]",
            "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) c[i][j] = a[i][j] + b[j][i];",
            "j",
        ),
        (
            "int n, float a[n][n][n][n]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) for (int l = 0; l < n; l++) a[i][j][k][l] *= 2;",
            "l",
        ),
        (
            "int n, float a[n][n][n][n]",
            "for (int l = n - 1; l >= 0; l--) for (int k = 0; k < n; k++)\n"
            "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) a[i][j][k][l] *= 2;",
            "l",
        ),
        (
            "int n, float c[n][n], float a[n][n], float b[n][n]",
            "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];",
            "j",
        ),
        (
            "int n, float a[n][n], float x[n]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { x[i] = x[i] * 2; for (int k = 0; k < 3; k++) a[j][i] += x[i] * k; }",
            "i",
        ),
    ],
    ids=[
        "column order",
        "by hand",
        "tmv by rows",
        "more writes than reads",
        "four loops",
        "backwards",
        "product",
        "deepest first",
    ],
)
def test_neighbours_take_the_loop_that_runs_along_memory(parameters: str, body: str, loops: str) -> None:
    made = region(parameters, body)
    assert made.untransformed is None, made.untransformed
    assert set(neighbours(made)) == {loops}


def test_loops_that_the_user_vouches_for_are_turned_too() -> None:
    body = "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) a[i * m + j] *= 2;"
    assert neighbours(region("int n, int m, float *restrict a", body, "independent data(a[0:n*m])")) == ["j"]
    said = '_Pragma("tilek loop tile(gang, 1) tile(worker, 1)") for (int j = 0; j < m; j++) _Pragma("tilek loop tile(gang, 0) tile(worker, 0)") '
    kept = region(
        "int n, int m, float *a", f"{said} for (int i = 0; i < n; i++) a[i * m + j] *= 2;", "independent data(a[0:n*m])"
    )
    assert neighbours(kept) == ["i"], "what the user says stands"
    assert staged(kept) == [["a"]]


def test_equals_keep_the_innermost_loop() -> None:
    made = region(
        "int n, float a[n][n], float b[n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = b[j][i];",
    )
    assert neighbours(made) == ["j"]
    assert staged(made) == [["b"]]


def test_strides_are_said_in_elements() -> None:
    made = region(
        "int n, int m, float a[n][m], float *b, float c[n][1]",
        "for (int i = 0; i < n; i++) { c[i][0] = 0; for (int j = 1; j < m; j++) c[i][0] += a[i][j - 1] + b[i * m + j] + a[i][i]; }",
    )
    results = {
        (each.reference.object.host, each.pattern.reach.value, plain_text(expression(each.apart)))
        for each in accesses_of(made)
        if each.depth == 2 and each.apart is not None
    }
    assert results == {
        ("a", "strided", "m"),
        ("a", "strided", "m + 1"),
        ("b", "strided", "m"),
        ("c", "coalesced", "1"),
    }, "rows of one element lie side by side"


def heads(made: KernelPlan) -> list[str]:
    """The bounds of the loops that devices deal out."""
    nests = [node for launch in made.device for node in walk(launch.body) if isinstance(node, TileNest)]
    return [
        f"{loop.loop.iterator.host} {plain_text(loop.loop.lower)} {loop.loop.comparison} {plain_text(loop.loop.upper)}"
        for nest in nests
        for loop in nest.loops
        if any(tile.axis is not None for tile in loop.tiles)
    ]


@pytest.mark.parametrize(
    ("inner", "wanted"),
    [
        ("int c = 0; c <= r", ["r 2 < n", "c 0 <= n - 1"]),
        ("int c = 0; c < r", ["r 2 < n", "c 0 < n - 1"]),
        ("int c = r + 1; c < n", ["r 2 < n", "c 3 < n"]),
        ("int c = m - r; c < n", ["r 2 < n", "c m + 1 - n < n"]),
        ("int c = 0; c < m - r", ["r 2 < n", "c 0 < m - 2"]),
        # Few of the box would be iterations, or it is not known which.
        ("int c = r; c < r + m", ["r 2 < n"]),
        ("int c = 0; c < 3 * r", ["r 2 < n"]),
        ("int c = 0; c < index[r]", ["r 2 < n"]),
        ("int c = 0; c <= r; c += 2", ["r 2 < n"]),
    ],
)
def test_triangles_are_distributed_over_their_boxes(inner: str, wanted: list[str]) -> None:
    step = "" if inner.count(";") == 2 else "; c++"
    made = region(
        "int n, int m, const int *restrict index, float b[n][n]",
        f"for (int r = 2; r < n; r++) for ({inner}{step}) b[r][c] = b[r][c] * 2 + r;",
        "data(index[0:n])",
    )
    assert heads(made) == wanted
    assert made.untransformed is None


def with_condition(made: KernelPlan, condition: Expression) -> KernelPlan:
    """The plan whose launches on devices ask for this where they ask for anything."""

    def changed(block: Block) -> Block:
        return replace(block, statements=tuple(map(statement, block.statements)))

    def statement(one: Statement) -> Statement:
        inner = with_blocks(one, changed)
        return replace(inner, condition=condition) if isinstance(inner, If) else inner

    return replace(made, device_steps=tuple(replace(launch, body=changed(launch.body)) for launch in made.device))


@pytest.mark.parametrize(
    ("inner", "box", "guard"),
    [
        ("int j = 1 + (i + c) % 2; j < n", "j 0 < n", "j >= 1 + i + c % 2 && j - 1 + i + c % 2 % 2 == 0"),
        ("int j = 1 + i % 2; j <= n - 2", "j 1 <= n - 2", "j >= 1 + i % 2 && j - 1 + i % 2 % 2 == 0"),
        ("int j = 2 - i % 2; j < n", "j 1 < n", "j >= 2 - i % 2 && j - 2 - i % 2 % 2 == 0"),
        ("int j = 1 + ((i + c) & 1); j < n", "j 1 < n", "j >= 1 + i + c & 1 && j - 1 + i + c & 1 % 2 == 0"),
        ("int j = (i - 5) % 3; j < n", "j -2 < n", "j >= i - 5 % 3 && (long)j - (long)i - 5 % 3 % 3 == 0"),
    ],
)
def test_a_colour_is_distributed_over_all_its_points(inner: str, box: str, guard: str) -> None:
    step = 3 if "% 3" in inner else 2
    made = region(
        "int n, int c, float a[n][n], const float b[n][n]",
        f"for (int i = 1; i < n; i++) for ({inner}; j += {step}) a[i][j + 2] += b[i][j + 2];",
    )
    assert heads(made) == ["i 1 < n", box]
    assert neighbours(made) == ["j"]
    assert prove(made) == ()
    (found,) = [node for launch in made.device for node in walk(launch.body) if isinstance(node, If)]
    assert re.sub(r"\((?!long)|(?<!long)\)", "", expression_text(found.condition)) == guard
    # Without half of its condition the box is not the loop; but within a step of the least the
    # loop's own start is found by its residue.
    assert isinstance(found.condition, Binary)
    assert prove(with_condition(made, found.condition.left))
    assert bool(prove(with_condition(made, found.condition.right))) == (box in ("j 0 < n", "j -2 < n"))


@pytest.mark.parametrize(
    "inner",
    [
        "int j = 1 + i % 8; j < n; j += 8",
        "int j = index[i] % 2; j < n; j += 2",
        "int j = n; j > i % 2; j -= 2",
        "unsigned j = i % 2; j < 100u; j += 2",
        "int j = m * (i % 2); j < n; j += 2",
    ],
)
def test_other_loops_in_steps_stay_in_their_rows(inner: str) -> None:
    made = region(
        "int n, int m, const int *restrict index, float b[n][n]",
        f"for (int i = 0; i < n; i++) for ({inner}) b[i][j] = b[i][j] * 2 + i;",
        "data(index[0:n])",
    )
    assert len(heads(made)) == 1


def test_bounds_inside_a_colour_are_not_asked_for_other_points() -> None:
    made = region(
        "int n, const int *restrict index, float b[n][n][n]",
        "for (int i = 0; i < n; i++) for (int j = 1 + i % 2; j < n; j += 2) for (int k = 0; k < index[j]; k++) b[i][j][k] += 1;",
        "data(index[0:n])",
    )
    assert len(heads(made)) == 1


def test_neighbours_of_a_triangle_read_neighbouring_columns() -> None:
    made = region(
        "int n, const float a[n][n], float b[n][n]",
        "for (int r = 0; r < n; r++) for (int c = 0; c <= r; c++) b[r][c] = a[r][c] + 1;",
    )
    assert neighbours(made) == ["c"]
    assert reaches(made) == {("a", "coalesced"), ("b", "coalesced")}


def test_three_loops_share_one_guard() -> None:
    made = region(
        "int n, float b[n][n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) for (int k = j; k < n; k++) b[i][j][k] += 1;",
    )
    assert heads(made) == ["i 0 < n", "j 0 < n - 1", "k 0 < n"]
    (nest,) = [node for launch in made.device for node in walk(launch.body) if isinstance(node, TileNest)]
    (guard,) = nest.body.statements
    assert isinstance(guard, If) and expression_text(guard.condition) == "(j < i) && k >= j"
