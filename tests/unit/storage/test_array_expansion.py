"""Array expansion and Algorithm 4.2's copies in plans: where they are made, where not, and that wrong ones are found out."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.support.expanded_kernels import fault_of, region_of
from tests.support.source_plans import plan, text
from tilepragma.ir.expressions import Access, Assignment, Binary, Scope, integer
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import ExpressionStatement, Loop, Statement
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan
from tilepragma.poly.extraction import extract_scop
from tilepragma.schedule.candidate import Region
from tilepragma.storage.array_expansion import with_array_expansion
from tilepragma.storage.new_arrays import ExpandedKernel
from tilepragma.verify.proofs import prove
from tilepragma.verify.rules import PlanFault, verify
from tilepragma.verify.storage import StorageMap, Version, storage_fault

DOITGEN = """
void f(int nr, int nq, int np, double a[nr][nq][np], double c[np][np], double *sum) {
#pragma tilek kernel
  for (int r = 0; r < nr; r++)
    for (int q = 0; q < nq; q++) {
      for (int p = 0; p < np; p++) {
        sum[p] = 0.0;
        for (int s = 0; s < np; s++) sum[p] += a[r][q][s] * c[s][p];
      }
      for (int p = 0; p < np; p++) a[r][q][p] = sum[p];
    }
}"""


def region(parameters: str, body: str) -> KernelPlan:
    return plan(f"void f({parameters}) {{\n#pragma tilek kernel\n{{ {body} }}\n}}")


def temporaries(found: KernelPlan) -> list[str]:
    return [array.object.name for array in found.arrays if array.object.scope is Scope.TEMPORARY]


def test_doitgen_has_a_row_for_each_iteration_and_no_host_loop() -> None:
    result = plan(DOITGEN)
    assert temporaries(result) == ["sum_of_r_q"] and result.source is not None
    assert not any(isinstance(step, HostLoop) for step in (*result.host_steps, *result.device_steps))
    assert [len(launch.axes) for launch in result.device] == [6, 6, 2]
    assert "contiguous sum_of_r_q[0 : max(nr, 1)][0 : max(nq, 1)][0 : max(np, 1)] rw, copied not" in text(DOITGEN)
    assert [note for note in result.storage if "'sum' has a copy for each iteration of r and q" in note]


@pytest.mark.parametrize(
    ("parameters", "body", "made"),
    [
        (  # every second element is an earlier iteration's
            "int n, int m, double a[n][m], double *row",
            "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j += 2) row[j] = a[i][j];"
            " for (int j = 0; j < m; j++) a[i][j] = row[j] * row[m - 1 - j]; }",
            [],
        ),
        (  # what a row holds depends on data
            "int n, int m, double a[n][m], double *row",
            "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) if (a[i][j] > 0) row[j] = a[i][j];"
            " for (int j = 1; j < m; j++) a[i][j] = row[j - 1]; }",
            [],
        ),
        (  # reads under a condition on data see what is surely written
            "int n, int m, double a[n][m], double *row",
            "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) row[j] = a[i][j];"
            " for (int j = 1; j < m; j++) if (a[i][j] > 0) a[i][j] = row[j - 1]; }",
            ["row_of_i"],
        ),
        ("int n, double a[n][n]", "for (int i = 0; i < n - 1; i++) for (int j = 0; j < n - 1; j++) a[i][j] = a[i + 1][j] + a[i][j + 1];", ["a_old"]),
        ("int n, double *a", "for (int i = 0; i < n - 1; i++) a[i] += a[i + 1];", ["a_old"]),
        ("int n, double *a", "for (int i = 1; i < n - 1; i++) a[i] = a[i - 1] + a[i + 1];", []),
        # nothing is gained where there is enough to do without
        ("int n, double a[n][n]", "for (int i = 0; i < n - 1; i++) for (int j = 0; j < n; j++) a[i][j] = a[i + 1][j];", []),
        (  # devices distribute a loop more, and each old value is read many times
            "int n, int m, double a[n][n], double b[n][m]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
            " for (int k = i + 1; k < n; k++) b[i][j] += a[k][i] * b[k][j];",
            ["b_old"],
        ),
        # tiles in wavefronts keep to the cache
        ("int t, int n, double *a", "for (int s = 0; s < t; s++) for (int i = 0; i < n - 1; i++) a[i] += a[i + 1];", []),
    ],
)  # fmt: skip
def test_storage_is_made_where_values_allow_it_and_loops_gain(parameters: str, body: str, made: list[str]) -> None:
    assert temporaries(region(parameters, body)) == made


ROWS = (
    "int n, int m, double a[n][m], double *row",
    "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) row[j] = a[i][j]; for (int j = 1; j < m; j++) a[i][j] = row[j - 1]; }",
)
SHIFT = ("int n, double *a", "for (int i = 0; i < n - 1; i++) a[i] += a[i + 1];")


def changed(parameters: str, body: str) -> tuple[Region, ExpandedKernel]:
    kernel = region(parameters, body).source
    assert kernel is not None
    original = region_of(kernel)
    expanded = with_array_expansion(original)
    assert expanded is not None
    return original, expanded


def fault(original: Region, expanded: ExpandedKernel, statements: tuple[Statement, ...]) -> str | None:
    return fault_of(storage_fault, original, expanded, statements)


@pytest.mark.parametrize("nest", [ROWS, SHIFT])
def test_what_is_made_is_proven_and_copies_are_needed(nest: tuple[str, str]) -> None:
    original, expanded = changed(*nest)
    assert fault(original, expanded, expanded.kernel.body.statements) is None
    left_out = {id(each) for each in expanded.copies}
    without = tuple(statement for statement in expanded.kernel.body.statements if id(statement) not in left_out)
    assert fault(original, expanded, without) is not None


def test_a_wrong_iteration_of_new_storage_is_found_out() -> None:
    original, expanded = changed(*ROWS)
    (new,) = expanded.instead

    def all_in_one(access: Access) -> Access:
        if access.object != new:
            return access
        return dataclasses.replace(access, subscripts=(access.subscripts[-1], access.subscripts[-1]))

    wrong = with_accesses(expanded.kernel.body.statements, all_in_one)
    assert fault(original, expanded, wrong) is not None


def test_a_read_of_what_is_written_meanwhile_is_found_out() -> None:
    original, expanded = changed(*SHIFT)
    (new,) = expanded.instead
    moved = [
        statement
        for statement in expanded.kernel.body.statements
        if all(statement is not copy for copy in expanded.copies)
    ]
    # The copies come too late.
    assert fault(original, expanded, (*moved, *expanded.copies)) is not None
    assert new.name == "a_old"


def test_a_copy_beyond_what_the_region_touches_is_found_out() -> None:
    original, expanded = changed(*SHIFT)
    (copy,) = expanded.copies
    assert isinstance(copy, Loop)
    longer = dataclasses.replace(copy, upper=Binary("+", copy.upper, integer(1, LONG), LONG))
    expanded = dataclasses.replace(expanded, copies=(longer,))
    statements = tuple(longer if statement is copy else statement for statement in expanded.kernel.body.statements)
    result = fault(original, expanded, statements)
    assert result == "a copy touches elements that the region does not, which need not be there"


def in_place_of(node: Any, old: object, new: object) -> Any:
    """The plan, or a part of it, with the one for the other."""
    if node == old:
        return new
    if isinstance(node, tuple):
        return tuple(in_place_of(each, old, new) for each in node)
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return node
    return dataclasses.replace(
        node,
        **{field.name: in_place_of(getattr(node, field.name), old, new) for field in dataclasses.fields(node)},
    )


def test_new_storage_that_is_too_small_is_found_out() -> None:
    result = region(*SHIFT)
    assert not prove(result)
    (array,) = (array.object for array in result.arrays if array.object.scope is Scope.TEMPORARY)
    (length,) = array.lengths
    assert length is not None
    shorter = Binary("-", length, integer(1, LONG), LONG)
    broken = in_place_of(result, array, dataclasses.replace(array, lengths=(shorter,)))
    with pytest.raises(PlanFault, match="its section is not the whole of it"):
        verify(broken)
    (fault, *_) = prove(in_place_of(broken, length, shorter))
    assert fault.rule == "accesses lie in the sections" and "'a_old' is accessed" in fault.message


def test_another_text_is_found_out() -> None:
    original, expanded = changed(*SHIFT)
    loop = next(
        statement
        for statement in expanded.kernel.body.statements
        if all(statement is not copy for copy in expanded.copies)
    )
    assignment = next(node.expression for node in walk(loop) if isinstance(node, ExpressionStatement))
    assert isinstance(assignment, Assignment) and assignment.operator == "+="
    other = region(SHIFT[0], SHIFT[1].replace("+=", "-=")).source
    assert other is not None
    statements = other.body.statements
    against = Region(other, statements, original.written, frozenset(), frozenset(), None, None)  # type: ignore[arg-type]
    scop = extract_scop(
        expanded.kernel.body.statements, (), written_objects(expanded.kernel), context=against.scop.context
    )
    result = storage_fault(
        Version(statements, against.scop),
        Version(expanded.kernel.body.statements, scop),
        StorageMap(expanded.instead, expanded.copies, expanded.dead),
    )
    assert result == "the text differs in more than storage"
