"""Algorithm 4.2: which false dependences hinder, how copies remove them, and that the program computes the same."""

from __future__ import annotations

import functools

import islpy as isl
import pytest

from tests.support.band_orders import matrix, of, offsets
from tests.support.simulated_runs import run, run_as_written
from tests.support.stencil_programs import BENCHMARKS, box, distance, figure_3_4, figure_4_4, jacobi, nest, statement
from tests.thesis.access_flow import places, value_based_dependences
from tests.thesis.array_copying import refusal, with_copies
from tests.thesis.false_dependences import (
    FALSE,
    Elimination,
    eliminate_false_dependences,
    hindering_alone,
    hindering_together,
)
from tests.thesis.schedule_legality import balanced, untilable, violations
from tilepragma.poly.dependences import DependenceKind

ELIMINATED = ("1-D Jacobi-3", "2-D Jacobi-5", "3-D Jacobi-7", "3-D Jacobi-27", "2-D Heat-7")
SOR = ("1-D SOR-3", "2-D SOR-5")


@functools.cache
def eliminated(name: str) -> Elimination:
    statements = figure_3_4() if name == "Figure 3.4" else BENCHMARKS[name]
    return eliminate_false_dependences(statements, value_based_dependences(statements))


def test_only_the_anti_dependence_0_1_hinders_in_figure_3_4() -> None:
    statements = figure_3_4()
    dependences = value_based_dependences(statements)
    (alone,) = hindering_alone(statements, dependences)
    assert (alone.kind, distance(alone)) == (DependenceKind.ANTI, (0, 1))
    false = [each for each in dependences if each.kind in FALSE]
    assert len(false) == 3
    assert hindering_together(statements, dependences, false) == (alone,)


def test_elimination_turns_figure_3_4_into_figure_4_4() -> None:
    found = eliminated("Figure 3.4")
    (copy,) = found.copies
    made, kept = found.statements
    expected_copy, expected = figure_4_4()
    assert (copy.array, copy.level, copy.readers, copy.buffers) == ("A", 1, (("S", 2),), 1)
    assert (made.position, kept.position) == (expected_copy.position, expected.position)
    assert made.domain.is_equal(expected_copy.domain.set_tuple_name(made.name))
    assert copy.once.is_equal(isl.Set("[J, I] -> { A[I + 1] : J > 0 and I > 0 }"))
    texts = [("A0", True, "i"), ("A", False, "i")]
    for access, (array, write, cell) in zip(made.references, texts, strict=True):
        target = copy.copy if array == "A0" else array
        relation = isl.Map(f"[J, I] -> {{ {made.name}[j, i] -> {target}[{cell}] }}").intersect_domain(made.domain)
        assert access.writes == write
        assert access.relation.is_equal(relation)
    redirected = isl.Map(f"[J, I] -> {{ S[j, i] -> {copy.copy}[i + 1] }}").intersect_domain(kept.domain)
    assert kept.references[2].relation.is_equal(redirected)
    assert len(found.dependences) == 8


def test_hyperplanes_after_elimination_in_figure_3_4() -> None:
    """The thesis's third and fourth matrix: S0 is the copy."""
    found = eliminated("Figure 3.4")
    assert matrix(of(found.before, "S")) == ((2, 1), (1, 1))
    copy, changed = found.after
    assert (matrix(copy), offsets(copy)) == (((1, 0), (1, 1)), (0, 0))
    assert (matrix(changed), offsets(changed)) == (((1, 0), (1, 1)), (0, 1))


@pytest.mark.parametrize("name", ELIMINATED)
def test_table_4_1_false_dependences_eliminated(name: str) -> None:
    found = eliminated(name)
    assert found.copies
    assert {each.kind for each in found.hindering} == {DependenceKind.ANTI}
    assert violations(found.after, found.dependences) == ()
    assert untilable(found.after, found.dependences) == ()
    assert balanced(found.after, found.dependences)
    for each in found.after:
        first, *others = matrix(each)
        assert first == (1, *[0] * (len(first) - 1))
        assert all(row[0] == 1 for row in others), "tiles are less slanted than (2, 1) was"


@pytest.mark.parametrize("name", SOR)
def test_table_4_1_nothing_to_eliminate_in_sor(name: str) -> None:
    found = eliminated(name)
    assert (found.hindering, found.kept, found.copies) == ((), (), ())
    assert found.after is found.before


def test_each_false_dependence_of_2_d_fdtd_is_as_a_flow_dependence() -> None:
    """Table 4.1 has a tick here. In PolyBench's program no false dependence hinders by Definition
    4.2: between the three updates each has the ends and the distance of a flow dependence, whose
    constraints make its own redundant.
    """
    found = eliminated("2-D FDTD")
    assert (found.hindering, found.copies) == ((), ())
    flows = {(*each.ends, distance(each)) for each in found.dependences if each.kind is DependenceKind.FLOW}
    false = {
        (*each.ends, distance(each))
        for each in found.dependences
        if each.kind in FALSE and distance(each) is not None and each.ends[0] != each.ends[1]
    }
    between = {each for each in false if {each[0], each[1]} <= {"S1", "S2", "S3"}}
    assert between
    assert between <= flows


def test_dependences_of_a_cross_hinder_alone_and_of_a_box_only_together() -> None:
    """In a box three anti dependences ask the same of each hyperplane, so that none is missed when it goes alone."""
    crossed = BENCHMARKS["2-D Jacobi-5"]
    assert len(hindering_alone(crossed, value_based_dependences(crossed))) == 2
    boxed = jacobi(box(2))
    dependences = value_based_dependences(boxed)
    assert hindering_alone(boxed, dependences) == ()
    assert len(eliminate_false_dependences(boxed, dependences).hindering) == 9 - 4


def test_27_points_need_two_buffers() -> None:
    found = eliminated("3-D Jacobi-27")
    assert len(found.hindering) == 27 - 8
    assert [copy.buffers for copy in found.copies] == [2]


@pytest.mark.parametrize("name", ["Figure 3.4", "1-D Jacobi-3", "2-D Jacobi-5", "2-D Heat-7"])
def test_the_program_with_copies_computes_the_same(name: str) -> None:
    found = eliminated(name)
    original = figure_3_4() if name == "Figure 3.4" else BENCHMARKS[name]
    sizes = {"T": 3, "N": 4, "J": 3, "I": 5}
    times = {each.statement.name: each.map for each in found.after}
    assert run(found.statements, times, sizes, copies=found.copies) == run_as_written(original, sizes)


def test_two_buffers_compute_the_same() -> None:
    statements = BENCHMARKS["1-D Jacobi-3"]
    dependences = value_based_dependences(statements)
    removed = hindering_alone(statements, dependences)
    changed, copies = with_copies(statements, removed, 2)
    sizes = {"T": 4, "N": 5}
    assert [copy.buffers for copy in copies] == [2]
    assert {
        distance(each)
        for each in value_based_dependences(changed)
        if each.source.object.name == copies[0].copy and each.kind is DependenceKind.OUTPUT
    } == {(2, 0)}
    order = eliminate_false_dependences(changed, value_based_dependences(changed)).before
    times = {each.statement.name: each.map for each in order}
    assert run(changed, times, sizes, copies=copies) == run_as_written(statements, sizes)


def test_a_value_written_after_the_copy_would_be_made_is_not_copied() -> None:
    sor = BENCHMARKS["1-D SOR-3"]
    dependences = value_based_dependences(sor)
    (left,) = [
        each
        for each in dependences
        if each.kind is DependenceKind.ANTI and places(each)[0] == 1 and distance(each) == (1, -1)
    ]
    reason = refusal(left, sor, dependences)
    assert reason is None or reason == "S reads what S writes to A after the copy would be made."
    in_between = (
        statement("S0", "t, i", nest("t, i"), (0, 0, 0), "A[i]", "B[i]"),
        statement("S1", "t, i", nest("t, i"), (0, 1, 0), "B[i]", "A[i + 1]"),
        statement("S2", "t, i", nest("t, i"), (0, 2, 0), "A[i]", "B[i - 1]"),
    )
    found = value_based_dependences(in_between)
    (anti,) = [each for each in found if each.kind is DependenceKind.ANTI and each.ends == ("S1", "S2")]
    assert refusal(anti, in_between, found) == "S1 reads what S0 writes to A after the copy would be made."


def test_an_output_dependence_is_refused_with_a_reason() -> None:
    statements = figure_3_4()
    dependences = value_based_dependences(statements)
    (output,) = [each for each in dependences if each.kind is DependenceKind.OUTPUT]
    reason = "The output dependence on A is between two writes; a copy serves reads only."
    assert refusal(output, statements, dependences) == reason
