"""The clause `sor(multilayer)`: what region stands in the loops' place, and each refusal at the line that is in the way."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plans
from tests.support.translation_units import parse_translation_unit
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.ir.expressions import Conditional
from tilepragma.ir.loop_tree import Loop, Statement
from tilepragma.model.descriptor_files import named_device
from tilepragma.model.device import Device
from tilepragma.plan.kernel_plan import Reordered
from tilepragma.schedule.sor_multilayer import layered

HEAD = "void f(int steps, int n, int m, double w, double r, double u[n][n], double g[n][n], double v[10][10][10])"
SWEEPS = "for (int t = 0; t < steps; t++)"
MESH = "for (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < n - 1; j++)"
FIVE = "u[i][j] = (1-w)*u[i][j] + w*0.25*(u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]);"
INSTEAD = "sor(redblack) computes it colour by colour, sor(wavefront) in the order of the loops"


def program(body: str, clause: str = "sor(multilayer, layers: 2, subdomain: 4)") -> str:
    """The body begins in line 5 where the region has braces, as here."""
    return f"#include <math.h>\n{HEAD}\n{{\n#pragma tilek kernel {clause}\n{{\n{body}\n}}\n}}\n"


REFUSED = [
    (
        "a condition ends the sweeps",
        f"while (r > 1e-3) {{\nr = 0;\nfor (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < n - 1; j++) {{\n"
        f"double old = u[i][j];\n{FIVE}\nr = fmax(r, fabs(u[i][j] - old));\n}}\n}}",
        "a fixed number of sweeps, and these end with a condition",
        6,
        "put the kernel inside that loop, around a loop over 2K sweeps, and look at the residual after it",
    ),
    (
        "no loop over sweeps",
        f"{MESH}\n{FIVE}",
        "a loop over sweeps, and there is none in the region",
        4,
        "put the pragma before the loop over sweeps",
    ),
    (
        "something beside the loop",
        f"{SWEEPS}\n{MESH}\n{FIVE}\nu[0][0] = 1;",
        "a region that is a loop over sweeps, and there are other statements",
        4,
        "make them a region of their own",
    ),
    (
        "a second sweep",
        f"{SWEEPS} {{\n{MESH}\n{FIVE}\nfor (int i = n - 2; i > 0; i--)\nfor (int j = n - 2; j > 0; j--)\n{FIVE}\n}}",
        "one sweep a round, and this is a second one: sor(multilayer) goes forward and backward",
        12,
        "remove it",
    ),
    (
        "neighbours further away",
        f"{SWEEPS}\n{MESH.replace('1; i < n - 1', '2; i < n - 2')}\n{FIVE[:-2]}\n + u[i-2][j] + u[i+2][j]);",
        "points whose neighbours lie next to them, and this one is 2 away: subdomains drift by one place a layer",
        10,
        INSTEAD,
    ),
    (
        "corners in space",
        f"{SWEEPS}\nfor (int i = 1; i < 9; i++)\nfor (int j = 1; j < 9; j++)\nfor (int k = 1; k < 9; k++)\n"
        "v[i][j][k] = v[i-1][j][k] + v[i+1][j][k] + v[i][j-1][k] + v[i][j+1][k] + v[i][j][k-1] + v[i][j][k+1]\n"
        " + v[i-1][j-1][k] + v[i+1][j+1][k];",
        "neighbours along the axes in three dimensions, and this one lies across a corner: its eight kernels take minutes to prove",
        11,
        INSTEAD,
    ),
    (
        "a residual with the sweeps",
        f"r = 0;\n{SWEEPS}\nfor (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < n - 1; j++) {{\ndouble old = u[i][j];\n"
        f"{FIVE}\nr = fmax(r, fabs(u[i][j] - old));\n}}",
        "a region that is a loop over sweeps, and there are other statements",
        4,
        "make them a region of their own",
    ),
    (
        "only a residual with the sweeps",
        f"{SWEEPS}\nfor (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < n - 1; j++) {{\ndouble old = u[i][j];\n"
        f"{FIVE}\nr = fmax(r, fabs(u[i][j] - old));\n}}",
        "sweeps alone, and 'r' is computed with them",
        10,
        INSTEAD,
    ),
    (
        "iterators of another type",
        f"{SWEEPS}\nfor (short i = 1; i < n - 1; i++)\nfor (int j = 1; j < n - 1; j++)\n{FIVE}",
        "loops by one with bounds of int or long",
        6,
        INSTEAD,
    ),
    (
        "a factor that changes",
        f"{SWEEPS}\n{MESH}\n{FIVE.replace('w*0.25', 'w*0.25*(1.0/(t+1))').replace('(1-w)', '(1-w*(1.0/(t+1)))')}",
        "sweeps that are all alike, and this one depends on 't'",
        9,
        INSTEAD,
    ),
    (
        "a statement between the loops",
        f"{SWEEPS}\nfor (int i = 1; i < n - 1; i++) {{\ndouble k = w*0.25;\nfor (int j = 1; j < n - 1; j++)\n"
        "u[i][j] = (1-w)*u[i][j] + k*(u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]);\n}",
        "loops with nothing between them, and there are other statements",
        10,
        INSTEAD,
    ),
]


@pytest.mark.parametrize(
    ("body", "reason", "line", "remedy"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED]
)
def test_what_is_refused(body: str, reason: str, line: int, remedy: str) -> None:
    diagnostics = Diagnostics()
    assert plans(program(body), diagnostics) == []
    (error,) = (item for item in diagnostics if item.severity.value == "error")
    assert (error.message, error.range.start.line) == (f"sor(multilayer) is for {reason}", line)
    assert [note.message for note in error.notes] == [remedy]


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        (
            f"{SWEEPS}\n{MESH}\n{FIVE.replace('(1-w)', '-1.5').replace('w*', '2.5*')}",
            "the relaxation factor is 2.5: sweeps converge for",
            9,
        ),
        (f"{SWEEPS}\n{MESH}\n{FIVE.replace('(1-w)', '1')}", "the diagonal is zero: an element keeps all of its old", 9),
        (
            f"{SWEEPS}\n#pragma tilek loop tile(gang)\n{MESH}\n{FIVE}",
            "sor(multilayer) replaces this loop by loops over subdomains",
            7,
        ),
        (
            f"{SWEEPS}\nfor (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < i; j++)\n{FIVE}",
            "sor(multilayer) is for relaxations in place, and this is none: the bounds of the loop over j depend on 'i'",
            4,
        ),
        (
            f"{SWEEPS}\nfor (int i = 1; i < n - 1; i++)\nfor (int j = 1; j < n - 1; j++)\ng[i][j] = u[i][j] + u[i-1][j];",
            "sor(multilayer) is for relaxations in place, and this is none: ",
            4,
        ),
    ],
)
def test_what_no_other_order_takes_either(body: str, message: str, line: int) -> None:
    diagnostics = Diagnostics()
    assert plans(program(body), diagnostics) == []
    (error,) = (item for item in diagnostics if item.severity.value == "error")
    assert error.message.startswith(message)
    assert error.range.start.line == line
    assert error.notes


def test_an_iterator_that_cannot_be_computed_afterwards() -> None:
    text = f"""
void f(int steps, int n, int *m, double u[n][n])
{{
    int i;
#pragma tilek kernel sor(multilayer)
    {SWEEPS}
    for (i = 1; i < *m; i++)
    for (int j = 1; j < n - 1; j++)
    u[i][j] = 0.25*(u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1]);
    u[0][0] = i;
}}
"""
    diagnostics = Diagnostics()
    assert plans(text, diagnostics) == []
    (error,) = (item for item in diagnostics if item.severity.value == "error")
    assert error.message == "'i' may be read after the kernel, but its last value there cannot be computed at launch"
    assert (error.range.start.line, [note.message for note in error.notes]) == (7, ["declare it in the loop"])


@pytest.mark.parametrize(
    ("body", "nests"),
    [
        (f"{SWEEPS}\nfor (int i = 1; i < n - 1; i++)\ng[0][i] = 0.5*(g[0][i-1] + g[0][i+1]);", [["1"], ["2"]]),
        (f"{SWEEPS}\n{MESH}\n{FIVE}", [["1 1"], ["1 2", "2 1"], ["2 2"]]),
        # K12 and K21 meet at corners.
        (
            f"{SWEEPS}\n{MESH}\n{FIVE[:-2]} + u[i-1][j-1] + u[i-1][j+1] + u[i+1][j-1] + u[i+1][j+1]);",
            [["1 1"], ["1 2"], ["2 1"], ["2 2"]],
        ),
        (
            f"{SWEEPS}\nfor (int i = 1; i < 9; i++)\nfor (int j = 1; j < 9; j++)\nfor (int k = 1; k < 9; k++)\n"
            "v[i][j][k] = v[i-1][j][k] + v[i+1][j][k] + v[i][j-1][k] + v[i][j+1][k] + v[i][j][k-1] + v[i][j][k+1];",
            [["1 1 1"], ["1 1 2"], ["1 2 1"], ["1 2 2"], ["2 1 1"], ["2 1 2"], ["2 2 1"], ["2 2 2"]],
        ),
    ],
    ids=["three points", "five points", "nine points", "seven points"],
)
def test_kernels_that_do_not_meet_are_one(body: str, nests: list[list[str]]) -> None:
    (groups,) = (
        statement for statement in order_of(program(body)).kernel.body.statements if isinstance(statement, Loop)
    )
    tiles = [
        [tile_of(statement) for statement in inner.body.statements]
        for inner in map(innermost_subdomains, groups.body.statements)
    ]
    assert tiles == 2 * nests


def order_of(text: str, device: Device | None = None) -> Reordered:
    """What the clause makes of the text's only kernel, before it is planned."""
    result = Diagnostics()
    unit = parse_translation_unit("t.c", text.encode(), CompilerFlags(), result)
    assert unit is not None
    order = layered(unit.kernels[0], result, device)
    assert order is not None
    return order


def innermost_subdomains(nest: Statement) -> Loop:
    """The last of the loops over subdomains."""
    assert isinstance(nest, Loop)
    inner = nest.body.statements[0]
    assert isinstance(inner, Loop)
    return innermost_subdomains(inner) if "_subdomain" in inner.iterator.name else nest


def tile_of(layers: Statement) -> str:
    """Which half along each dimension the loops over places have: the first one begins elsewhere in the first subdomain."""
    halves = []
    while isinstance(layers, Loop):
        (layers,) = layers.body.statements
        if isinstance(layers, Loop):
            halves.append("1" if isinstance(layers.lower, Conditional) else "2")
    return " ".join(halves)


def lanes(body: str) -> list[str]:
    (plan,) = plans(program(body))
    assert plan.reordered is not None and plan.untransformed is None
    return [
        note.split(": ", 1)[1].split()[0]
        for note in plan.storage
        if note.startswith("dimension-lifted layout, on cores: ")
    ]


def test_arrays_in_lanes() -> None:
    """All arrays that the sweeps go through row by row, the right-hand side among them."""
    source = FIVE.replace("u[i][j-1] +", "u[i][j-1] + g[i][j] +")
    assert lanes(f"{SWEEPS}\n{MESH}\n{source}") == ["'u'", "'g'"]


def test_what_is_not_in_lanes_stays_where_it_is() -> None:
    """An array whose rows are the sweeps' columns, and coefficients of rows."""
    source = FIVE.replace("u[i][j-1] +", "u[i][j-1] + g[j][i] + g[0][i] +")
    assert lanes(f"{SWEEPS}\n{MESH}\n{source}") == ["'u'"]


@pytest.mark.parametrize(
    ("clause", "device", "note"),
    [
        (
            "",
            None,
            "groups of 16 sweeps, forward and backward in turn, by subdomains of 32 x 32 (chosen: no device is named)",
        ),
        (
            ", layers: 20",
            None,
            "groups of 20 sweeps, forward and backward in turn, by subdomains of 40 x 40 (chosen: no device is named)",
        ),
        (
            ", subdomain: 9",
            None,
            "groups of 4 sweeps, forward and backward in turn, by subdomains of 9 x 9 (4 sweeps chosen: the most for these)",
        ),
        (
            ", layers: 2, subdomain: 9",
            "h100",
            "groups of 2 sweeps, forward and backward in turn, by subdomains of 9 x 9",
        ),
        (
            "",
            "c1060",
            "groups of 8 sweeps, forward and backward in turn, by subdomains of 16 x 16 (chosen: they stay in memory near the cores of "
            "'NVIDIA Tesla C1060')",
        ),
    ],
)
def test_sizes_that_are_not_said(clause: str, device: str | None, note: str) -> None:
    """They are chosen for the device, and said to be."""
    chosen_for = None if device is None else named_device(device)
    order = order_of(program(f"{SWEEPS}\n{MESH}\n{FIVE}", f"sor(multilayer{clause})"), chosen_for)
    assert order.notes == (f"u in {note}",)
    sizes = order.written.directive.sor
    assert sizes is not None and 1 <= sizes.layers <= sizes.subdomain // 2
