"""What is recognised as a relaxation in place, with exactly which facts, and why other nests are none."""

from __future__ import annotations

import textwrap

import pytest

from tests.support.scops import kernel_of
from tests.unit.patterns.other_nests import OTHERS
from tests.unit.patterns.relaxation_cases import RELAXATIONS, NestCase
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import expression
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import Mismatch, SorNest

FIRST_LINE = 6
"""of a body"""


def region(case: NestCase) -> Kernel:
    """The case's body as a region, its first line being line `FIRST_LINE`."""
    return kernel_of(case.parameters, case.body, "#include <math.h>")


def recognised(case: NestCase) -> SorNest | Mismatch:
    (relaxation,) = relaxations(region(case))
    return relaxation


def facts(nest: SorNest) -> str:
    """All that a nest says of itself, a line each."""
    sweep = nest.sweeps[0]
    offsets: dict[str, list[str]] = {}
    for each in sweep.neighbours:
        offsets.setdefault(each.coefficient.text, []).append(" ".join(map(str, each.offset)))
    loop = nest.sweep_loop
    around = "once" if loop is None else "convergence" if nest.converges else "fixed"
    if nest.condition is not None:
        around += f" {expression_text(nest.condition)}"
    factor = "none" if sweep.relaxation is None else sweep.relaxation.text
    lines = [
        f"{nest.array.host}, {sweep.points} points of radius {sweep.radius}, {nest.dimensions}-D",
        f"{' '.join(each.direction.value for each in nest.sweeps)}, dimensions in order {' '.join(map(str, sweep.order))}, {around}",
        f"factor {factor}, right-hand side {sweep.right_hand_side.text}",
        *(f"{coefficient} at {', '.join(places)}" for coefficient, places in offsets.items()),
        *(f"accumulates {each.object.host} by {each.operator}" for each in nest.accumulations),
        *(f"varies over {each.over.value} with {expression_text(each.expression)}" for each in nest.varying),
        *(f"where {expression_text(each)}" for each in sweep.masks),
        *(["periodic"] if sweep.wraps is not None else []),
        *(f"border on line {each.start.line - FIRST_LINE + 1}" for each in nest.borders),
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("case", RELAXATIONS, ids=lambda case: case.name)
def test_relaxations_and_their_facts(case: NestCase) -> None:
    relaxation = recognised(case)
    assert isinstance(relaxation, SorNest), relaxation
    assert facts(relaxation) == textwrap.dedent(case.facts).strip()


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.name)
def test_reasons_of_what_is_none(case: NestCase) -> None:
    relaxation = recognised(case)
    assert isinstance(relaxation, Mismatch), facts(relaxation)
    near = "near" if relaxation.near else "far"
    assert f"{relaxation.range.start.line - FIRST_LINE + 1}, {near}: {relaxation.reason}" == case.facts


def test_every_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in (*RELAXATIONS, *OTHERS)]
    assert len(set(names)) == len(names) >= 50


def test_statements_of_a_region_are_told_apart() -> None:
    """Each statement with loops is one; what is computed beside them is none."""
    body = "for (int i = 1; i < n-1; i++)\na[i] = 0.5*(a[i-1] + a[i+1]);\ns = a[0];\nfor (int i = 1; i < n-1; i++)\na[i] = a[i] + s;"
    relaxation = relaxations(region(NestCase("", "int n, double s, double a[n]", body, "")))
    assert [type(each).__name__ for each in relaxation] == ["SorNest", "Mismatch"]


def test_corners_of_the_mesh() -> None:
    """The least and the greatest subscripts, whichever way the sweep goes."""
    for header in ("for (int i = 2; i < n; i++)", "for (int i = n - 1; i >= 2; i--)", "for (int i = 2; i != n; i++)"):
        relaxation = recognised(NestCase("", "int n, double a[n+1]", f"{header}\na[i] = 0.5*(a[i-1] + a[i+1]);", ""))
        assert isinstance(relaxation, SorNest)
        ((first,), (last,)) = relaxation.sweeps[0].first, relaxation.sweeps[0].last
        assert (expression_text(expression(first)), expression_text(expression(last))) == ("2l", "(long)n - 1l")


@pytest.mark.parametrize(
    ("before", "term", "reason"),
    [
        ("double g(double x) { return 2 * x; }", "g(0.5)", ""),
        ("double g(double *x) { *x += 1; return *x; }", "g(&s)", "this changes 's' within an expression"),
        ("double g(double *x) { x[0] += 1; return *x; }", "g(b)", "it writes 'b' besides 'a'"),
        (
            "double g(const double *x) { return *x; }",
            "g(a)",
            "the new value of a[i] is no linear form of elements of 'a': g(a)",
        ),
    ],
)
def test_functions(before: str, term: str, reason: str) -> None:
    body = f"for (int i = 1; i < n-1; i++) {{\ndouble s = 0;\na[i] = 0.5*(a[i-1] + a[i+1]) + {term} + s;\n}}"
    (relaxation,) = relaxations(kernel_of("int n, double a[n], double b[n]", body, before))
    assert (relaxation.reason if isinstance(relaxation, Mismatch) else "") == reason
