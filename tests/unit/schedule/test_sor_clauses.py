"""The clause `sor(wavefront)`: taken where the region is a relaxation in place, refused with the reason elsewhere; it changes no plan."""

from __future__ import annotations

import pytest

from tests.support.source_plans import errors, plans
from tests.unit.patterns.other_nests import OTHERS
from tests.unit.patterns.relaxation_cases import RELAXATIONS, NestCase
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.directives import SorMethod
from tilepragma.ir.traversal import loops_in
from tilepragma.planner.plan_text import plan_text


def program(case: NestCase, clause: str = "sor(wavefront)") -> str:
    return f"#include <math.h>\nvoid f({case.parameters})\n{{\n#pragma tilek kernel {clause}\n{{\n{case.body}\n}}\n}}\n"


def named(name: str) -> NestCase:
    (case,) = (each for each in (*RELAXATIONS, *OTHERS) if each.name == name)
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
    runs_as_written = with_clause.untransformed is not None
    assert not diagnostics.has_errors
    assert (
        runs_as_written == (name == "sor_with_a_residual") == any("finds no wavefronts here" in each for each in warned)
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


SWEEP = "for (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < n - 1; j++)"
PLAIN = "u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]"


def coloured(body: str, parameters: str = "int n, double w, double u[n][n]") -> str:
    return program(NestCase("", parameters, body, ""), "sor(redblack)")


def test_red_black_puts_classes_in_the_place_of_a_sweep() -> None:
    (plan,) = plans(coloured(f"{SWEEP}\nu[i][j] = (1-w)*u[i][j] + w*0.25*({PLAIN});"))
    assert plan.reordered is not None
    assert [loop.lower.value for loop in loops_in(plan.reordered.kernel.body)] == [1, 1, 2, 2, 1, 2, 2, 1]  # type: ignore[union-attr]
    assert [loop.step.value for loop in loops_in(plan.reordered.kernel.body)] == [2] * 8  # type: ignore[union-attr]
    assert [loop.index for loop in loops_in(plan.reordered.kernel.body)] == list(range(8))
    assert [loop.index for loop in loops_in(plan.reordered.written.body)] == [0, 1]
    # Devices run both classes of a colour in one launch.
    assert (len(plan.host), len(plan.device)) == (4, 2)
    assert all(launch.axes for launch in (*plan.host, *plan.device))


SUMMED = f"{SWEEP} {{\ndouble r = {PLAIN} - 4 * u[i][j];\nu[i][j] += 0.25 * w * r;\ns += r * r;\n}}"


def test_sums_in_their_order_are_what_keeps_wavefronts_away() -> None:
    """Not the dependences of the mesh, which wavefronts keep; a greatest value keeps nothing."""
    case = NestCase("", "int n, double w, double u[n][n]", f"double s = 0;\n{SUMMED}\nu[0][0] = s;", "")
    diagnostics = Diagnostics()
    (plan,) = plans(program(case), diagnostics)
    assert plan.untransformed is not None
    (warning,) = (item for item in diagnostics if item.severity.value == "warning")
    assert warning.message.endswith(
        "the loop over 'i' (line 7) keeps the order of its sum: reduction(+: s) would allow any"
    )
    flag = NestCase("", case.parameters, case.body.replace("s += r * r;", "if (r > 1)\ns = 0;"), "")
    diagnostics = Diagnostics()
    plans(program(flag), diagnostics)
    (warning,) = (item for item in diagnostics if item.severity.value == "warning")
    assert warning.message.endswith("the loop over 'i' hands 's' on from iteration to iteration")
    greatest = NestCase("", case.parameters, case.body.replace("s += r * r;", "if (r * r > s)\ns = r * r;"), "")
    (plan,) = plans(program(greatest))
    assert plan.untransformed is None
    assert {reduction.operator for launch in plan.host for reduction in launch.reductions} == {"max"}


def test_a_total_that_begins_anew_is_reduced_once_a_sweep() -> None:
    body = f"double s = 0;\nfor (int t = 0; t < n; t++) {{\ns = 0;\n{SUMMED}\n}}\nu[0][0] = s;"
    text = program(NestCase("", "int n, double w, double u[n][n]", body, "")).replace(
        "wavefront)", "wavefront) reduction(+: s)"
    )
    text = text.replace("double s = 0;\nfor", "for").replace("double w,", "double w, double s,")
    (plan,) = plans(text)
    assert plan.untransformed is None
    assert [[reduction.object.host for reduction in launch.reductions] for launch in plan.host] == [[], ["s"], []]


def test_only_red_black_changes_the_order() -> None:
    (plan,) = plans(program(named("sor_of_poisson")))
    assert plan.reordered is None


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        (
            f"{SWEEP}\nu[i][j] = -1.5*u[i][j] + 2.5*0.25*({PLAIN});",
            "the relaxation factor is 2.5: sweeps converge for",
            8,
        ),
        (f"{SWEEP}\nu[i][j] = 1.5*u[i][j] - 0.5*0.25*({PLAIN});", "the relaxation factor is -0.5: sweeps converge", 8),
        (
            f"{SWEEP}\nu[i][j] += 0.25*({PLAIN});",
            "the diagonal is zero: an element keeps all of its old value",
            8,
        ),
        (f"{SWEEP}\nu[i][j] = ({PLAIN}) / 0.0;", "the diagonal is zero: this is divided by 0", 8),
        (
            "for (int i = 5; i < n - 5; i++)\nfor (int j = 5; j < n - 5; j++)\n"
            "u[i][j] = 0.2*(u[i-4][j] + u[i+4][j] + u[i][j-3] + u[i][j+3] + u[i-2][j] + u[i-3][j]);",
            "points of this stencil depend on others 4 away: that takes more than 16 classes of points",
            8,
        ),
        (
            f"#pragma tilek loop tile(gang)\n{SWEEP}\nu[i][j] = 0.25*({PLAIN});",
            "sor(redblack) replaces this loop by loops over the points of each colour",
            6,
        ),
        (
            "double s = 0;\nfor (int i = 1; i < n - 1; i++) {\ns += w;\nfor (int j = 1; j < n - 1; j++)\n"
            f"u[i][j] = 0.25*({PLAIN});\n}}\nu[0][0] = s;",
            "'s' is updated once for each row, and sor(redblack) visits a row once for each class",
            8,
        ),
    ],
)
def test_what_red_black_refuses(body: str, message: str, line: int) -> None:
    diagnostics = Diagnostics()
    plans(coloured(body), diagnostics)
    (error,) = (item for item in diagnostics if item.severity.value == "error")
    assert error.message.startswith(message)
    assert error.range.start.line == line
    assert error.notes


def test_an_iterator_that_cannot_be_computed_afterwards() -> None:
    text = """
    int f(int n, double tol, double a[n])
    {
        int i;
        double res = 1;
    #pragma tilek kernel sor(redblack)
        {
            while (res > tol) {
                res = 0;
                for (i = 1; i < n - 1; i++) {
                    double d = 0.5 * (a[i-1] + a[i+1]) - a[i];
                    a[i] += d;
                    res += d * d;
                }
            }
        }
        return i;
    }
    """
    (message,) = errors(text)
    assert message == "'i' may be read after the kernel, but its last value there cannot be computed at launch"


@pytest.mark.parametrize(
    ("clause", "remedies"), [("", ["reduction(+: s) allows any order of that sum"]), ("reduction(+: s)", None)]
)
def test_a_sum_in_order_leaves_nothing_to_run_at_once(clause: str, remedies: list[str] | None) -> None:
    body = (
        f"double s = 0;\n{SWEEP} {{\ndouble r = 0.25*({PLAIN}) - u[i][j];\nu[i][j] += w*r;\ns += r*r;\n}}\nu[0][0] = s;"
    )
    diagnostics = Diagnostics()
    (found,) = plans(coloured(body).replace("sor(redblack)", f"sor(redblack) {clause}"), diagnostics)
    warned = [item for item in diagnostics if "finds no parallel loops here" in item.message]
    assert [[note.message for note in item.notes] for item in warned] == ([] if remedies is None else [remedies])
    assert (found.untransformed is None) == (remedies is None)
    assert all("runs colour by colour, on one core" in item.message for item in warned)
