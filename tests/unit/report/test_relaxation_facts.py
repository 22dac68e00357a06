"""What `explain` says of relaxations in place."""

from __future__ import annotations

import pytest

from tests.unit.patterns.other_nests import OTHERS
from tests.unit.patterns.relaxation_cases import RELAXATIONS
from tests.unit.patterns.test_recognition import region
from tilepragma.driver import translate
from tilepragma.driver.reports import advice, explain, kernel_reports
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.report.relaxation_facts import relaxation_rows

AGAIN = "forward sweeps, one for each iteration of t"
SAID = {
    "sor_of_poisson": f"in place (SOR): 5 points in 2 dimensions of u, {AGAIN}, relaxation factor w, "
    "right-hand side -0.25*h2*w*f[i][j]",
    "sor_with_a_residual": "in place (SOR): 5 points in 2 dimensions of u, forward sweeps until line 7 ends them, "
    "relaxation factor w, right-hand side -0.25*h2*w*f[i][j], a sum in sum",
    "greatest_change_by_fmax_and_break": "in place (SOR): 5 points in 2 dimensions of u, forward sweeps until line 15 ends them, "
    "relaxation factor w, a greatest value in res",
    "symmetric": "in place (SOR): 5 points in 2 dimensions of u, symmetric (forward, then backward) sweeps, one for each iteration of t, "
    "relaxation factor w",
    "mixed_directions": "in place (SOR): 5 points in 2 dimensions of u, one i forward/j backward sweep, relaxation factor 1 (Gauss-Seidel)",
    "line_of_the_thesis": "in place (SOR): 3 points in 1 dimension of A, forward sweeps, one for each iteration of j, "
    "relaxation factor 0.667",
    "coefficients_vary_in_space": "in place (SOR): 5 points in 2 dimensions of u, one forward sweep, relaxation factor 4*c[i][j], "
    "coefficients that vary in space with c[i][j] (line 8)",
    "factor_of_each_sweep": f"in place (SOR): 5 points in 2 dimensions of u, {AGAIN}, relaxation factor w, "
    "coefficients that vary from sweep to sweep with w (line 9)",
    "a_diagonal_of_zero": "in place (SOR): 5 points in 2 dimensions of u, one forward sweep",
    "coloured_by_steps": "none, line 8: the loop over j counts in steps of 2, so that it leaves elements out",
}


@pytest.mark.parametrize("name", SAID)
def test_sentences(name: str) -> None:
    (case,) = (each for each in (*RELAXATIONS, *OTHERS) if each.name == name)
    assert relaxation_rows(region(case)) == (SAID[name],)


@pytest.mark.parametrize("name", ["jacobi", "gaussian_elimination", "only_sums"])
def test_nothing_is_said_of_what_looks_like_none(name: str) -> None:
    (case,) = (each for each in OTHERS if each.name == name)
    assert relaxation_rows(region(case)) == ()


def test_the_report_has_the_line() -> None:
    text = "void f(int n, double a[n])\n{\n#pragma tilek kernel\n    for (int i = 1; i < n - 1; i++)\n        a[i] = 0.5 * (a[i-1] + a[i+1]);\n}\n"
    shown = explain(kernel_reports(translate(TranslateRequest("t.c", text=text.encode(), last="choose_sizes"))))
    assert (
        "\n  relaxation  in place (SOR): 3 points in 1 dimension of a, one forward sweep, relaxation factor 1" in shown
    )


def swept(clause: str) -> TranslateResult:
    loop = "    for (int i = 1; i < n - 1; i++)\n        a[i] = 0.5 * (a[i-1] + a[i+1]);"
    text = f"void f(int n, double a[n])\n{{\n#pragma tilek kernel {clause}\n{loop}\n}}\n"
    return translate(TranslateRequest("t.c", text=text.encode(), last="choose_sizes"))


def test_a_faster_method_is_noted_where_none_is_chosen() -> None:
    note = "sor(redblack) relaxes 'a' faster, but computes other iterates: it is used only where you ask for it"
    plain = swept("")
    (found,) = (each for each in advice(plain, False) if "redblack" in each.message)
    assert (found.message, found.severity.value, found.range.start.line) == (note, "note", 4)
    assert f" relaxation line 4: {note} " in " ".join(explain(kernel_reports(plain)).split())
    for clause in ("sor(wavefront)", "sor(redblack)"):
        assert not any("only where you ask for it" in each.message for each in advice(swept(clause), False))
        assert "relaxes 'a' faster" not in explain(kernel_reports(swept(clause)))


def test_the_order_by_colours_is_shown() -> None:
    shown = explain(kernel_reports(swept("sor(redblack)")))
    assert "sor(redblack): a in 2 colours, red before black; other iterates than the loops as written" in shown
    for start in (1, 2):
        assert f"       4  for (i = {start}; i < n - 1; i += 2)  " in shown
    assert "for (int i = 1; i < n - 1; i++)" not in shown


def test_subdomains_and_the_order_of_their_nests_are_shown() -> None:
    sweeps = "for (int t = 0; t < steps; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
    mean = "u[i][j] = 0.25 * (u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]);"
    text = f"void f(int steps, int n, double u[n][n])\n{{\n#pragma tilek kernel sor(multilayer)\n{sweeps} {mean}\n}}\n"
    shown = explain(kernel_reports(translate(TranslateRequest("t.c", text=text.encode(), last="choose_sizes"))))
    flat = " ".join(shown.split())
    assert (
        "u in groups of 16 sweeps, forward and backward in turn, by subdomains of 32 x 32 (chosen: no device is named)"
        in flat
    )
    assert "dimension-lifted layout, on cores: 'u' is stored as 'u_lanes' while the loops run" in flat
    # 33 rows of 34 doubles.
    assert (
        "a gang of a device keeps what a subdomain's layers touch of 'u' in shared memory, 8976 bytes at most" in flat
    )
    assert "What it runs are nests one after another, each proven by itself" in flat
