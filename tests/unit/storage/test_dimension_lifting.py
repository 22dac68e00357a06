"""Sweeps by subdomains on arrays in lanes: wrong arrays and wrong copies are found out."""

from __future__ import annotations

import dataclasses

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.expressions import Access
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Statement
from tilepragma.ir.polynomial import expression, number, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.poly.extraction import extract_scop
from tilepragma.schedule.candidate import Region
from tilepragma.storage.array_copies import with_lifted_arrays
from tilepragma.storage.new_arrays import ExpandedKernel
from tilepragma.verify.storage import StorageMap, Version, layout_fault


@pytest.fixture(scope="module")
def made() -> tuple[Region, ExpandedKernel]:
    """Backward loops of the user's, so that groups go backward and forward; a right-hand side, which is only read."""
    result = plan("""
void five(int steps, int n, double u[n][n], double f[n][n]) {
#pragma tilek kernel sor(multilayer, layers: 2, subdomain: 4)
  for (int t = 0; t < steps; t++)
    for (int i = n - 2; i > 0; i--)
      for (int j = n - 2; j > 0; j--)
        u[i][j] = (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] + f[i][j]) / 4;
}""")
    kernel = result.source
    assert kernel is not None
    written = written_objects(kernel)
    region = Region(
        kernel,
        kernel.body.statements,
        written,
        frozenset(),
        frozenset(),
        result.floating,
        ordered=True,
    )
    own = with_lifted_arrays(region)
    assert own is not None
    return region, own


def fault(region: Region, own: ExpandedKernel, statements: tuple[Statement, ...]) -> str | None:
    scop = extract_scop(statements, (), written_objects(own.kernel), context=region.scop.context)
    ids = {id(statement) for statement in statements}
    copies = tuple(each for each in own.copies if id(each) in ids)
    kept = StorageMap(own.instead, copies, own.dead)
    return layout_fault(Version(region.statements, region.scop), Version(statements, scop), kept, own.touching)


def test_what_is_made_is_proven(made: tuple[Region, ExpandedKernel]) -> None:
    region, own = made
    assert [each.name for each in own.instead] == ["u_lanes", "f_lanes"]
    assert len(own.copies) == 3
    assert fault(region, own, own.kernel.body.statements) is None


def test_every_copy_is_needed(made: tuple[Region, ExpandedKernel]) -> None:
    region, own = made
    statements = own.kernel.body.statements
    for each in own.copies:
        assert fault(region, own, tuple(other for other in statements if other is not each)) is not None


@pytest.mark.parametrize(("name", "subscript"), [("u_lanes", 0), ("u_lanes", 1), ("u_lanes", 2), ("f_lanes", 2)])
def test_other_places_are_found_out(made: tuple[Region, ExpandedKernel], name: str, subscript: int) -> None:
    region, own = made

    def change(access: Access) -> Access:
        if access.object.name != name:
            return access
        moved = list(access.subscripts)
        moved[subscript] = expression(polynomial(moved[subscript]) + number(1))
        return dataclasses.replace(access, subscripts=tuple(moved))

    copies = {id(each) for each in own.copies}
    statements = tuple(
        statement if id(statement) in copies else with_accesses(statement, change)
        for statement in own.kernel.body.statements
    )
    array = name.removesuffix("_lanes")
    assert fault(region, own, statements) == f"an access to '{array}' does not touch the place of its element"


def test_copies_touch_what_the_sweeps_touch(made: tuple[Region, ExpandedKernel]) -> None:
    """Not by the word of who made them: of statements that touch less, the same copies are too many."""
    region, own = made
    assert own.touching is not None
    less = dataclasses.replace(
        own.touching,
        statements=tuple(
            dataclasses.replace(
                statement, references=tuple(each for each in statement.references if each.object.name != "f")
            )
            for statement in own.touching.statements
        ),
    )
    result = fault(region, dataclasses.replace(own, touching=less), own.kernel.body.statements)
    assert result == "a copy touches elements that the region does not, which need not be there"
