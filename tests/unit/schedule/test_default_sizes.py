"""The default tile sizes that docs/MODEL.md lists are those of plans."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.source_plans import DEFAULTS, plan
from tilepragma.ir.directives import TemporalTiles
from tilepragma.plan.kernel_plan import Step
from tilepragma.plan.summary import used_sizes
from tilepragma.schedule.default_sizes import DEVICE_TILE, DIAMOND_TILES, LONG_DEVICE_TILE, STRIP

ROOT = Path(__file__).resolve().parents[3]
EXPLAINED = ROOT / "tests" / "golden" / "explain"


def grid(body: str) -> str:
    """A kernel over `a` and `b`, as many dimensions as the names of subscripts that the body uses."""
    dimensions = "[n]" * len(set(re.findall(r"\bint ([ijk])\b", body)))
    return f"void f(int n, int m, double a{dimensions}, double b{dimensions}) {{\n#pragma tilek kernel\n{body}\n}}"


IN_PLANE = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
IN_SPACE = f"{IN_PLANE} for (int k = 1; k < n - 1; k++)"
NESTS = {
    "alignment": grid(f"{IN_PLANE} a[i][j] = a[i-1][j] + a[i][j-1];"),
    "sor-1d": grid("for (int t = 0; t < m; t++) for (int i = 1; i < n - 1; i++) a[i] = a[i-1] + a[i] + a[i+1];"),
    "chain-3d": grid(f"{IN_SPACE} a[i][j][k] = a[i-1][j][k] + a[i][j-1][k] + a[i][j][k-1];"),
    "seidel-2d": (EXPLAINED / "seidel_2d.c").read_text(),
    "seidel-2d-9": grid(
        f"for (int t = 0; t < m; t++) {IN_PLANE} a[i][j] = a[i-1][j-1] + a[i-1][j] + a[i-1][j+1] + a[i][j-1] + a[i][j]\n"
        "+ a[i][j+1] + a[i+1][j-1] + a[i+1][j] + a[i+1][j+1];"
    ),
    "sor-3d": grid(
        f"for (int t = 0; t < m; t++) {IN_SPACE} a[i][j][k] = a[i-1][j][k] + a[i+1][j][k] + a[i][j-1][k] + a[i][j+1][k]\n"
        "+ a[i][j][k-1] + a[i][j][k+1] + a[i][j][k];"
    ),
    "diagonals": grid(f"{IN_PLANE} a[i][j] = a[i-1][j+1] + a[i-1][j-1];"),
    "jacobi-1d": (EXPLAINED / "jacobi_1d.c").read_text(),
    "jacobi-2d": grid(
        f"for (int t = 0; t < m; t++) {{ {IN_PLANE} b[i][j] = a[i-1][j] + a[i+1][j] + a[i][j-1] + a[i][j+1];\n"
        f"{IN_PLANE} a[i][j] = b[i-1][j] + b[i+1][j] + b[i][j-1] + b[i][j+1]; }}"
    ),
    "heat-3d": grid(
        f"for (int t = 0; t < m; t++) {{ {IN_SPACE} b[i][j][k] = a[i-1][j][k] + a[i+1][j][k] + a[i][j-1][k] + a[i][j][k+1];\n"
        f"{IN_SPACE} a[i][j][k] = b[i-1][j][k] + b[i+1][j][k] + b[i][j-1][k] + b[i][j][k+1]; }}"
    ),
    "product": (EXPLAINED / "product.c").read_text(),
    "products": """
void f(int n, double c[n][n][n], double a[n][n][n], double b[n][n]) {
#pragma tilek kernel
  for (int r = 0; r < n; r++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) c[r][i][j] += a[r][i][k] * b[k][j];
}""",
    "vector": """
void f(int n, double a[n][n], double x[n], double y[n]) {
#pragma tilek kernel
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) y[i] += a[i][j] * x[j];
}""",
    "lu": (EXPLAINED / "lu.c").read_text(),
    "scaling": """
void f(int n, int m, double a[n]) {
#pragma tilek kernel
  for (int t = 0; t < m; t++)
    for (int i = t; i < n; i++) a[i] = a[i] * 2.0 + t;
}""",
    "scaling-again": """
void f(int n, double a[n]) {
#pragma tilek kernel
  for (int t = 1; t < n; t++)
    for (int k = t; k < n; k++)
      for (int i = k; i < n; i++) a[i] = a[i] * 2.0 + k;
}""",
    "rows": """
void f(int n, double a[n][n], double c[n]) {
#pragma tilek kernel
  for (int t = 1; t < n; t++)
    for (int i = t; i < n; i++)
      for (int j = t; j < n; j++) c[i] = c[i] * 0.5 + a[i][j] * c[i];
}""",
    "both-products": """
void f(int n, double a[n][n], double *restrict x, double *restrict y, double *restrict s, double *restrict t) {
#pragma tilek kernel
  {
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) s[i] += a[i][j] * x[j];
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) t[i] += a[j][i] * y[j];
  }
}""",
}


def documented(section: str = "Default sizes") -> list[tuple[str, str, str, str]]:
    """The rows of a section's table: tiles, sizes on cores, on devices, the nest; for OpenCL processors: tiles, length of arrays, sizes, the nest."""
    text = (ROOT / "docs" / "MODEL.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines() if line[:1] == "|"]
    return [(tiles, cores, devices, nest.strip("`")) for tiles, cores, devices, nest in rows[2:]]


@pytest.mark.parametrize(("tiles", "cores", "devices", "nest"), [row for row in documented() if row[-1] in NESTS])
def test_default_sizes(tiles: str, cores: str, devices: str, nest: str) -> None:
    said = re.search(r"TILEK_TILES=(\w+)", tiles)
    temporal = TemporalTiles(said[1]) if said else TemporalTiles.AUTOMATIC
    found = plan(NESTS[nest], replace(DEFAULTS, temporal=temporal))

    def used(steps: tuple[Step, ...], on_host: bool) -> str:
        sizes = (size.host if on_host else size.device for size in used_sizes(steps, found.sizes))
        return ", ".join(map(str, sizes)) or "–"

    assert (used(found.host_steps, True), used(found.device_steps, False)) == (cores, devices)


def test_sizes_on_opencl_processors() -> None:
    said: dict[str, list[tuple[str, str]]] = {nest: [] for nest in ("sor-1d", "seidel-2d", "seidel-2d-9", "jacobi-1d")}
    for _, most, sizes, nest in documented("Sizes on OpenCL processors"):
        said[nest].append((most, sizes))
    for nest, rows in said.items():
        found = plan(NESTS[nest])
        places = [found.sizes.index(size) for size in used_sizes(found.host_steps, found.sizes)]
        assert rows == [
            (
                "–" if choice.bytes is None else f"{choice.bytes // 2**10} KiB",
                ", ".join(str(choice.sizes[place]) for place in places),
            )
            for choice in found.processor_choices
        ]
        assert all(choice.trips is None for choice in found.processor_choices)


def test_every_nest_stands_in_the_table() -> None:
    assert {nest for *_, nest in documented()} == {*NESTS, "–"}


def test_diamonds_in_space_by_their_constants() -> None:
    ((_, cores, devices, _),) = (row for row in documented() if row[-1] == "–")
    assert cores == ", ".join(map(str, DIAMOND_TILES[4]))
    assert devices == f"{DEVICE_TILE}, {DEVICE_TILE}, {LONG_DEVICE_TILE}"


def test_strips_of_distributed_loops() -> None:
    words = " ".join((ROOT / "docs" / "MODEL.md").read_text().split())
    assert f"strips of a distributed loop have {STRIP} iterations" in words
