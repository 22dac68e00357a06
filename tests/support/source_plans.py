"""Plans from C text, through the real front end."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tests.support.golden_texts import rendered
from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.planner.plan_text import plan_text
from tilepragma.planner.planner import make_plan

DEFAULTS = PlanOptions()

#: Four sums that no loop can be split for: 8 x 4 points need 256 registers for them.
CHAINED_SUMS = """
void f(int n, int m, int p, const double a[n][p], const double b[p][m], double c[n][m], double d[n][m], double e[n][m],
       double g[n][m]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < p; k++) {
        c[i][j] += a[i][k] * b[k][j];
        d[i][j] += c[i][j] * b[k][j];
        e[i][j] += d[i][j] * b[k][j];
        g[i][j] += e[i][j] * b[k][j];
      }
}"""


def plans(
    source: str, diagnostics: Diagnostics | None = None, path: str = "t.c", defaults: PlanOptions = DEFAULTS
) -> list[KernelPlan]:
    """The plans of all kernels of the C text; errors fail the test without `diagnostics`."""
    collected = Diagnostics() if diagnostics is None else diagnostics
    unit = parse_translation_unit(path, textwrap.dedent(source).encode(), CompilerFlags(), collected)
    assert unit is not None, list(collected)
    made = [make_plan(kernel, unit.floating, collected, defaults) for kernel in unit.kernels]
    assert diagnostics is not None or not collected.has_errors, [item.message for item in collected]
    return [planned.plan for planned in made if planned is not None]


def plan(source: str, defaults: PlanOptions = DEFAULTS) -> KernelPlan:
    """The plan of the text's only kernel."""
    (only,) = plans(source, defaults=defaults)
    return only


def text(source: str) -> str:
    """The dumped plan of the text's only kernel."""
    return plan_text(plan(source))


def errors(source: str) -> list[str]:
    """The messages of all errors."""
    diagnostics = Diagnostics()
    plans(source, diagnostics)
    return [item.message for item in diagnostics if item.severity.value == "error"]


def messages(path: Path) -> str:
    """Everything reported for a file, as the user sees it, under the file's bare name."""
    content = path.read_text()
    diagnostics = Diagnostics()
    plans(content, diagnostics, path.name)
    return rendered(diagnostics, content)
