"""Arrays of one dimension that are seen by rows: the kernel that is planned, what is said of it, and plans that see rows where there are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.expressions import Access, DataObject, IntegerLiteral, integer
from tilepragma.ir.loop_tree import Block, Kernel, PackedPanels, Stage, Statement
from tilepragma.ir.loop_tree_text import expression_text, plain_text, staged_text
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import walk, with_blocks
from tilepragma.normalise.delinearisation import flattened
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.summary import staged_arrays
from tilepragma.verify.proofs import prove

STAR = """
void f(int n, const float *a, float *b) {
#pragma tilek kernel
  for (int y = 1; y < n; y++)
    for (int x = 1; x < 39; x++)
      b[40*y + x] = a[40*y + x] + a[40*y + x - 1] + a[40*y + x + 1] + a[40*(y - 1) + x] + a[40*(y + 1) + x];
}"""


#: The star read down its columns, which gangs stage: the other factors make workers neighbours along y.
COLUMN_STAR = """
void f(int n, int m, const float *a, const float c[m][n], float b[m][n]) {
#pragma tilek kernel
  for (int y = 1; y < n; y++)
    for (int x = 1; x < 39; x++)
      b[x][y] = a[40*y + x] + a[40*y + x - 1] + a[40*y + x + 1] + a[40*(y - 1) + x] + a[40*(y + 1) + x]
        + c[x][y] * c[x - 1][y] * c[x + 1][y] * c[x][y - 1] * c[x][y - 1];
}"""


def accessed(kernel: Kernel, name: str) -> list[str]:
    """The accesses to an array, each once."""
    accesses = [node for node in walk(kernel.body) if isinstance(node, Access) and node.object.name == name]
    return sorted({expression_text(access) for access in accesses})


def test_accesses_have_a_subscript_for_the_row_and_sections_have_none() -> None:
    made = plan(STAR)
    assert accessed(made.kernel, "b") == ["b[y][x]"]
    assert {array.object.rank for array in made.arrays} == {2}
    assert {array.object.stored.rank for array in made.arrays} == {1} == {len(array.section) for array in made.arrays}
    assert [each for each in made.storage if "'a' is seen as a[][40]" in each]


def test_tiles_are_staged_by_rows_without_their_corners() -> None:
    (launch,) = plan(COLUMN_STAR).device
    (box,) = staged_arrays(launch)
    assert staged_text(box) == "a[y_row - 1 : 3][x_row - 1 : 3]"
    assert (box.before, box.after) == ((0, 1), (0, 1))


def test_rows_may_be_as_long_as_a_parameter_says() -> None:
    made = plan(STAR.replace("40", "w").replace("39", "w - 1").replace("int n", "int n, int w"))
    assert accessed(made.kernel, "b") == ["b[y][x]"]
    columns = plan(COLUMN_STAR.replace("40", "w").replace("39", "w - 1").replace("int n", "int n, int w"))
    (box,) = staged_arrays(columns.device[0])
    assert (box.before, box.after) == ((0, 1), (0, 1))
    assert not rules(made)


def test_products_of_flat_matrices_have_register_tiles() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) c[i*n + j] += a[i*n + k] * b[k*n + j];"
    made = plan(f"void f(int n, const float *a, const float *b, float *c) {{\n#pragma tilek kernel\n{body}\n}}")
    assert any(isinstance(node, PackedPanels) for launch in made.host for node in walk(launch.body))


def test_the_user_s_arrays_come_back() -> None:
    made = plan(STAR)
    assert accessed(flattened(made.kernel), "b") == ["b[(long)x + (40l * (long)y)]"]
    assert all(object_.rows_in is None for object_ in flattened(made.kernel).objects)


@pytest.mark.parametrize(
    ("parameters", "before", "statement"),
    [
        ("float *a", "", "a[40*y + x] = 1; a[40*y + x + 2] = 2;"),
        ("float *a", "static void set(float *p) { *p = 1; }", "set(&a[40*y + x]);"),
        ("float (*a)[40]", "", "a[y][x] = 1;"),
    ],
)
def test_other_arrays_stay_as_they_are(parameters: str, before: str, statement: str) -> None:
    nest = "for (int y = 0; y < n; y++) for (int x = 0; x < 39; x++)"
    source = f"{before} void f(int n, {parameters}) {{\n#pragma tilek kernel\n{nest} {{ {statement} }} }}"
    assert all(object_.rows_in is None for object_ in plan(source).kernel.objects)


def test_what_may_leave_its_row_is_said() -> None:
    (said,) = plan(STAR.replace("x < 39", "x < 40")).rejected
    assert said == "'a' stays one row: a[(40 * y) + x + 1] may leave its row of 40 elements"


def test_a_name_of_a_cell_is_not_declared_where_nobody_reads_it() -> None:
    named = STAR.replace("b[40*y + x] =", "{ const int at = 40*y + x; b[at] =").replace("+ x];\n}", "+ x]; }\n}")
    assert accessed(plan(named).kernel, "b") == ["b[y][x]"]
    assert "at" not in {node.name for node in walk(plan(named).kernel.body) if isinstance(node, DataObject)}


def rules(made: KernelPlan) -> set[str]:
    return {fault.rule for fault in prove(made)}


def test_rows_that_are_too_short_are_found() -> None:
    made = plan(STAR)
    assert not rules(made)
    short = {
        object_: replace(object_, lengths=(None, integer(36)))
        for object_ in made.kernel.objects
        if object_.rows_in is not None and isinstance(object_.lengths[1], IntegerLiteral)
    }
    arrays = tuple(replace(array, object=short[array.object]) for array in made.arrays)
    wrong = replace(with_objects(replace(made, arrays=arrays), short), assumes_disjoint=made.assumes_disjoint)
    assert "rows are as long as they are seen" in rules(wrong)


@pytest.mark.parametrize("change", [{"before": ()}, {"after": ()}, {"before": (1, 0)}, {"after": (0, 2)}])
def test_boxes_that_reach_beyond_the_array_are_found(change: dict[str, tuple[int, ...]]) -> None:
    made = plan(COLUMN_STAR)
    (launch,) = made.device

    def wrong(block: Block) -> Block:
        return replace(block, statements=tuple(map(statement, block.statements)))

    def statement(one: Statement) -> Statement:
        if isinstance(one, Stage):
            return Stage(tuple(replace(each, **change) for each in one.arrays))
        return with_blocks(one, wrong)

    assert launch.staged is not None
    broken = replace(made, device_steps=(replace(launch, staged=wrong(launch.staged)),))
    assert rules(broken) == {"array tiles hold what is read"}


POINTERS = """
double t[20][30], c[4][20][30];
void f(int n, int w, double v[][w]) {
#pragma tilek kernel
  for (int i = 1; i < 19; i++) {
    %s
    for (int j = 0; j < %s; j++)
      %s;
  }
}"""


@pytest.mark.parametrize(
    ("pointer", "length", "statement", "name", "expected"),
    [
        ("double *p = t[i];", "30", "p[j + 30] = 0.5 * p[j]", "t", ["t[i + 1][j]", "t[i][j]"]),
        ("double *p = t[i];", "30", "p[j] = p[j - 30] + p[j - 60]", "t", ["t[i - 1][j]", "t[i - 2][j]", "t[i][j]"]),
        ("double *p = t[0];", "30", "p[30 * i + j] = 1", "t", ["t[i][j]"]),
        ("double (*p)[30] = c[1];", "30", "p[i - 20][j] = p[i][j]", "c", ["c[0][i][j]", "c[1][i][j]"]),
        ("double *p = v[i];", "w", "p[j - w] = 1", "v", ["v[i - 1][j]"]),
    ],
)
def test_pointers_into_rows_get_the_row_that_they_reach(
    pointer: str, length: str, statement: str, name: str, expected: list[str]
) -> None:
    kernel = plan(POINTERS % (pointer, length, statement)).kernel
    assert accessed(kernel, name) == expected


def test_pointers_stay_where_their_elements_are_in_several_rows() -> None:
    kernel = plan(POINTERS % ("double *p = t[i];", "30", "p[j + 1] += 1")).kernel
    assert accessed(kernel, "t") == ["t[i][j + 1]"]


def test_a_launch_checks_that_pointers_stay_in_rows_of_unknown_length() -> None:
    made = plan("""
    void f(int n, int h, int w, double v[h][w]) {
    #pragma tilek kernel
      for (int i = 1; i < h; i++) {
        double *p = v[i];
        for (int j = 0; j < n; j++) p[j + 2] = 0.5 * p[j + 2] + v[i][0];
      }
    }""")
    assert made.untransformed is None
    assert list(map(plain_text, made.conditions)) == ["w >= n + 2"]
