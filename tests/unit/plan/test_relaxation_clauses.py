"""The clause `sor(wavefront)`: taken where the region is a relaxation in place, refused with the reason elsewhere; it changes no plan."""

from __future__ import annotations

import pytest
from source import errors, plans

from tests.unit.patterns.relaxation_cases import OTHERS, RELAXATIONS, NestCase
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.directives import SorMethod
from tilepragma.plan.dump import plan_text


def program(case: NestCase, clause: str = "sor(wavefront)") -> str:
    return f"#include <math.h>\nvoid f({case.parameters})\n{{\n#pragma tilek kernel {clause}\n{{\n{case.body}\n}}\n}}\n"


def named(name: str) -> NestCase:
    (case,) = (one for one in (*RELAXATIONS, *OTHERS) if one.name == name)
    return case


@pytest.mark.parametrize(
    "name", ["sor_of_poisson", "sor_with_a_residual", "line_of_the_thesis", "symmetric", "flattened_by_hand"]
)
def test_a_relaxation_is_planned_as_without_the_clause(name: str) -> None:
    diagnostics = Diagnostics()
    (with_clause,) = plans(program(named(name)), diagnostics)
    (without,) = plans(program(named(name), ""), Diagnostics())
    assert (
        with_clause.kernel.directive.sor is not None and with_clause.kernel.directive.sor.method is SorMethod.WAVEFRONT
    )
    assert plan_text(with_clause) == plan_text(without)
    warned = [item.message for item in diagnostics if item.severity.value == "warning"]
    runs_as_written = with_clause.as_written is not None
    assert not diagnostics.has_errors
    assert (
        runs_as_written == (name == "sor_with_a_residual") == any("finds no wavefronts here" in one for one in warned)
    )


@pytest.mark.parametrize("name", ["jacobi", "a_recurrence", "coloured_by_steps", "a_product", "only_sums"])
def test_what_is_none_is_refused_at_the_clause(name: str) -> None:
    case = named(name)
    diagnostics = Diagnostics()
    plans(program(case), diagnostics)
    (error,) = (item for item in diagnostics if item.severity.value == "error")
    reason = case.facts.split(": ", 1)[1]
    assert error.message == f"sor(wavefront) is for relaxations in place, and this is none: {reason}"
    assert (error.range.start.line, error.range.start.column) == (4, 22)
    assert [note.message for note in error.notes][0] == "this is in the way"
    line = int(case.facts.split(",", 1)[0])
    assert error.notes[0].range.start.line == line + 5


def test_loops_beside_a_relaxation() -> None:
    """What comes near one and is none is refused, since the clause is of it as well; what is something else is none of its business."""
    sweep = "for (int i = 1; i < n-1; i++)\na[i] = 0.5*(a[i-1] + a[i+1]);"
    every_other, copy = sweep.replace("i++", "i += 2"), "for (int i = 1; i < n; i++)\nb[i] = a[i] + b[i-1];"
    parameters = "int n, double a[n], double b[n]"
    assert not errors(program(NestCase("", parameters, f"{sweep}\n{copy}", "")))
    (message,) = errors(program(NestCase("", parameters, f"{sweep}\n{every_other}", "")))
    assert "counts in steps of 2" in message


def test_a_region_without_loops() -> None:
    (message,) = errors("void f(double a[1])\n{\n#pragma tilek kernel sor(wavefront)\n{ a[0] = 1; }\n}\n")
    assert message == "sor(wavefront) is for loops, and there are none"
