"""The model problem that a relaxation is measured on: the user's coefficients as numbers, their mesh, or the reason why there is none."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.ir.loop_tree import Kernel
from tilepragma.report.model_problem import (
    DEFAULT_EXTENTS,
    ModelProblem,
    NoModel,
    model_problems,
    names_in_coefficients,
)
from tilepragma.report.size_values import Sizes

FIVE = "u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]"
SWEEP = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)"


def regions(text: str) -> tuple[Kernel, ...]:
    result = translate(TranslateRequest("t.c", text=text.encode(), last="parse"))
    assert result.succeeded and result.unit is not None, result.diagnostics
    return result.unit.kernels


def found(
    body: str, sizes: Mapping[str, int] | None = None, values: Mapping[str, float] | None = None, clause: str = ""
) -> tuple[ModelProblem | NoModel, ...]:
    text = (
        "void f(int steps, int n, int m, double w, double q, double c[n][m], float g[m], const double r[n][m], double u[n][m])\n"
        f"{{\n#pragma tilek kernel {clause}\nfor (int t = 0; t < steps; t++)\n{{ {body} }}\n}}\n"
    )
    return model_problems(regions(text), Sizes(sizes or {}), values or {})


def problem(
    body: str, sizes: Mapping[str, int] | None = None, values: Mapping[str, float] | None = None
) -> ModelProblem:
    (one,) = found(body, sizes, values)
    assert isinstance(one, ModelProblem), one
    return one


def reason(body: str, **values: float) -> str:
    (one,) = found(body, values=values)
    assert isinstance(one, NoModel)
    return one.reason


def statements(made: ModelProblem) -> list[str]:
    return re.findall(r"^ +(u\[.*\] = .*);$", made.program("").split("static double greatest")[0], re.MULTILINE)


def test_coefficients_are_numbers_in_the_users_order_and_type() -> None:
    made = problem(
        f"{SWEEP} u[i][j] = (1 - w) * u[i][j] + w / 4 * ({FIVE} + q * r[i][j]);", values={"w": 1.5, "q": 0.5}
    )
    assert statements(made) == [
        "u[i][j] = 0.375 * (u[i - 1][j] + u[i][j - 1] + u[i][j + 1] + u[i + 1][j]) + -0.5 * u[i][j] + r[i][j]"
    ]
    assert made.values == {"w": 1.5}
    assert (made.element, made.extents, made.rounds, made.chosen) == ("double", DEFAULT_EXTENTS[2], 32, frozenset())


def test_directions_order_and_radius_are_the_users() -> None:
    back = "for (int j = m - 3; j >= 2; j--) for (int i = 2; i < n - 2; i++)"
    made = problem(f"{back} u[i][j] = 0.25 * (u[i-2][j] + u[i+2][j] + u[i][j-1] + u[i][j+1]);")
    assert re.findall(r"for \(.*\)", made.program("").split("static double greatest")[0])[1:] == [
        "for (int j = m1 + 1; j >= 2; j--)",
        "for (int i = 2; i < m0 + 2; i++)",
    ]
    assert "u[m0 + 4][m1 + 4]" in made.text


def test_the_clause_stands_at_the_sweeps_alone() -> None:
    made = problem(f"{SWEEP} u[i][j] = 0.25 * ({FIVE});")
    assert re.findall("#pragma tilek (.*)", made.program("sor(redblack)"))[0] == "kernel sor(redblack)"
    assert made.program("sor(redblack)").count("sor(") == 1
    assert made.clauses == ("sor(wavefront)", "sor(redblack)", "sor(multilayer)")


def test_a_users_layers_are_measured_and_looked_behind() -> None:
    (made,) = found(f"{SWEEP} u[i][j] = 0.25 * ({FIVE});", clause="sor(multilayer, layers: 3, subdomain: 8)")
    assert isinstance(made, ModelProblem)
    assert made.clauses[-1] == "sor(multilayer, layers: 3, subdomain: 8)"
    assert made.rounds == 6


def test_the_mesh_is_that_of_the_sizes() -> None:
    body = f"{SWEEP} u[i][j] = 0.25 * ({FIVE});"
    assert problem(body, {"n": 12, "m": 7}).extents == (10, 5)
    assert problem(body, {"n": 12}).extents == DEFAULT_EXTENTS[2]
    (none,) = found(body, {"n": 2, "m": 7})
    assert isinstance(none, NoModel) and none.reason == "the mesh has no points"


@pytest.mark.parametrize(("coefficient", "scale"), [("w", 1.0), ("2 * w", 0.5)])
def test_the_factor_that_nobody_says_is_the_best(coefficient: str, scale: float) -> None:
    """Young: 2 / (1 + sin(pi h)) for five points on a square."""
    body = f"{SWEEP} u[i][j] += {coefficient} * (0.25 * ({FIVE}) - u[i][j]);"
    made = problem(body, {"n": 31, "m": 31})
    assert made.values["w"] == pytest.approx(scale * 2 / (1 + math.sin(math.pi / 30)))
    assert made.chosen == {"w"}


def test_what_cannot_be_measured_says_why() -> None:
    assert reason(f"{SWEEP} u[i][j] = c[i][j] * ({FIVE});").startswith(
        "coefficients vary in space with c[i][j] (line 5)"
    )
    assert reason(f"{SWEEP} u[i][j] = u[i][j] * (1 - w * q) + w * q * 0.25 * ({FIVE});", w=1) == (
        "coefficients depend on q: say --value q=NUMBER"
    )
    assert reason(f"{SWEEP} u[i][j] = ({FIVE}) / q;", q=0) == "coefficients are divided by 0"
    assert reason(f"{SWEEP} u[i][j] = u[i][j] + 0.25 * ({FIVE});").startswith("the diagonal is zero")


@pytest.mark.parametrize("right", ["", " + r[i][j]"])
def test_programs_are_plain_c(right: str, tmp_path: Path) -> None:
    there, back = SWEEP, "for (int i = n - 2; i > 0; i--) for (int j = m - 2; j > 0; j--)"
    made = problem("".join(f"{loops} u[i][j] = 0.25 * ({FIVE}){right};" for loops in (there, back)))
    (tmp_path / "model.c").write_text(made.program(""))
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unknown-pragmas", "-fsyntax-only"]
    subprocess.run(["cc", *flags, "model.c"], cwd=tmp_path, check=True)
    assert (made.rounds, made.sweeps) == (16, 2)
    assert ("r[i][j]" in made.text) == bool(right)


def test_names_that_may_have_values() -> None:
    text = f"void f(int n, int m, double w, double q, double u[n][m])\n{{\n#pragma tilek kernel\n{SWEEP} u[i][j] = w / (q + 1) * ({FIVE});\n}}\n"
    assert names_in_coefficients(regions(text)) == {"w", "q"}


def test_alike_relaxations_are_measured_once() -> None:
    one = "void %s(int n, double u[n])\n{\n#pragma tilek kernel\nfor (int i = 1; i < n - 1; i++) u[i] = 0.5 * (u[i-1] + u[i+1]);\n}\n"
    (made,) = model_problems(regions(one % "f" + one % "g"), Sizes(), {})
    assert isinstance(made, ModelProblem) and made.kernels == ("f", "g")
