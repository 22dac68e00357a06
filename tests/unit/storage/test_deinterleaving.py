"""Sweeps by colours on arrays split by the residues of their subscripts: where that is done, and that wrong ones are found out."""

from __future__ import annotations

import dataclasses

import pytest

from tests.support.expanded_kernels import fault_of, region_of
from tests.support.source_plans import plan
from tilepragma.ir.expressions import Access, Scope, integer
from tilepragma.ir.loop_tree import Statement
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.schedule.candidate import Region
from tilepragma.storage.array_copies import with_deinterleaved_arrays
from tilepragma.storage.new_arrays import ExpandedKernel
from tilepragma.verify.storage import layout_fault

LINE = "for (int t = 0; t < steps; t++) for (int i = 1; i < n - 1; i++) u[i] = 0.5 * (u[i-1] + u[i+1] - f[i]);"


def relaxed(body: str, parameters: str = "int steps, int n, double u[n], const double f[n]") -> KernelPlan:
    return plan(f"void g({parameters}) {{\n#pragma tilek kernel sor(redblack)\n{{ {body} }}\n}}")


def temporaries(found: KernelPlan) -> list[str]:
    return [array.object.name for array in found.arrays if array.object.scope is Scope.TEMPORARY]


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (LINE, ["u_0", "u_1", "f_0", "f_1"]),
        # nothing reuses the elements, or too seldom
        (LINE.removeprefix("for (int t = 0; t < steps; t++) "), []),
        (LINE.replace("t < steps", "t < 2"), []),
        # one array is stepped through in two ways
        (LINE.replace("f[i]", "f[i] - f[2*i]"), ["u_0", "u_1"]),
    ],
)
def test_where_arrays_are_split(body: str, made: list[str]) -> None:
    assert temporaries(relaxed(body)) == made


def test_sweeps_step_one_by_one() -> None:
    result = relaxed(
        "for (int t = 0; t < steps; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
        " u[i][j] = 0.25 * (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]);",
        "int steps, int n, double u[n][n]",
    )
    assert sorted(temporaries(result)) == ["u_0_0", "u_0_1", "u_1_0", "u_1_1"]
    accesses = [
        node
        for launch in result.device
        for node in walk(launch.body)
        if isinstance(node, Access) and node.object.scope is Scope.TEMPORARY
    ]
    factors = {
        factor
        for access in accesses
        for part in access.subscripts
        for product, factor in polynomial(part).terms
        if product
    }
    assert factors == {1}
    assert result.source is not None and result.reordered is not None
    assert [note for note in result.storage if note.startswith("de-interleaving: 'u' is stored as 'u_0_0', 'u_0_1'")]


# -- the proof


@pytest.fixture(scope="module")
def made() -> tuple[Region, ExpandedKernel]:
    kernel = relaxed(LINE).source
    assert kernel is not None
    original = region_of(kernel)
    expanded = with_deinterleaved_arrays(original)
    assert expanded is not None
    return original, expanded


def fault(original: Region, expanded: ExpandedKernel, statements: tuple[Statement, ...]) -> str | None:
    return fault_of(layout_fault, original, expanded, statements)


def test_what_is_made_is_proven(made: tuple[Region, ExpandedKernel]) -> None:
    original, expanded = made
    assert fault(original, expanded, expanded.kernel.body.statements) is None


def test_every_copy_is_needed(made: tuple[Region, ExpandedKernel]) -> None:
    original, expanded = made
    statements = expanded.kernel.body.statements
    for each in expanded.copies:
        assert fault(original, expanded, tuple(other for other in statements if other is not each)) is not None


def test_copies_stand_where_they_must(made: tuple[Region, ExpandedKernel]) -> None:
    original, expanded = made
    first, *rest = expanded.kernel.body.statements
    assert fault(original, expanded, (*rest, first)) == "copies do not stand before and behind all else"


@pytest.mark.parametrize(
    ("name", "distance", "message"),
    [
        ("u_0", 1, "an access to 'u' does not touch the place of its element"),
        ("f_1", -1, "an access to 'f' does not touch the place of its element"),
    ],
)
def test_other_places_are_found_out(
    made: tuple[Region, ExpandedKernel], name: str, distance: int, message: str
) -> None:
    original, expanded = made

    def change(access: Access) -> Access:
        if access.object.name != name:
            return access
        return dataclasses.replace(
            access, subscripts=(expression(polynomial(access.subscripts[0]) + number(distance)),)
        )

    copies = {id(each) for each in expanded.copies}
    statements = tuple(
        statement if id(statement) in copies else with_accesses(statement, change)
        for statement in expanded.kernel.body.statements
    )
    assert fault(original, expanded, statements) == message


def test_two_elements_in_one_place_are_found_out(made: tuple[Region, ExpandedKernel]) -> None:
    original, expanded = made

    def change(access: Access) -> Access:
        return dataclasses.replace(access, subscripts=(integer(0),)) if access.object.name == "u_0" else access

    (first, *rest) = expanded.kernel.body.statements
    broken = with_accesses(first, change)
    kernel = dataclasses.replace(expanded, copies=(broken, *(each for each in expanded.copies if each is not first)))
    assert fault(original, kernel, (broken, *rest)) == "a place in 'u_0' is not that of one element"
