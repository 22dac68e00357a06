"""Which consecutive device launches become one, and that the result is proven."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.expressions import Access
from tilepragma.ir.loop_tree import TileNest
from tilepragma.ir.traversal import nests_in, walk
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.schedule.launch_fusion import LaunchFusion
from tilepragma.verify.proofs import prove

PARAMETERS = "int n, int m, float a[restrict n][m], float b[restrict n][m], float c[restrict n], float d[restrict m]"


def region(body: str, clauses: str = "") -> KernelPlan:
    made = plan(f"void f({PARAMETERS})\n{{\n#pragma tilek kernel {clauses}\n{{ {body} }}\n}}\n")
    assert not prove(made)
    return made


def nests(launch: Launch) -> list[TileNest]:
    return list(nests_in(launch.body))


def arrays(launch: Launch) -> set[str]:
    return {node.object.host for node in walk(launch.body) if isinstance(node, Access) and node.object.rank}


ROWS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
FIELDS = """
for (int t = 0; t < 9; t++) {
    for (int j = 0; j < m; j++) a[0][j] = d[t];
    for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) a[i][j] -= b[i][j] - b[i - 1][j];
    for (int i = 0; i < n; i++) c[i] += b[i][0];
    for (int i = 0; i < n - 1; i++) for (int j = 0; j < m - 1; j++) b[i][j] -= a[i + 1][j] - a[i][j] + c[i];
}"""


def test_independent_launches_are_one_and_dependent_ones_stay() -> None:
    made = region(FIELDS)
    assert [arrays(launch) for launch in made.device] == [{"a", "b", "c", "d"}, {"a", "b", "c"}]
    assert [len(nests(launch)) for launch in made.device] == [3, 1]


def test_a_line_gets_the_axes_of_a_plane() -> None:
    first = region(FIELDS).device[0]
    axes = {frozenset(tile.axis for tile in nest.order if tile.axis is not None) for nest in nests(first)}
    assert len(axes) == 1
    assert [len(nest.loops) for nest in nests(first)] == [2, 2, 2]


@pytest.mark.parametrize(
    ("body", "launches"),
    [
        pytest.param(f"{ROWS} a[i][j] *= 2; {ROWS} b[i][j] += 1;", 1, id="other arrays"),
        pytest.param(f"{ROWS} a[i][j] *= 2; {ROWS} b[i][j] += a[i][j];", 2, id="flow in the same iteration"),
        pytest.param(f"{ROWS} b[i][j] += a[i][j]; {ROWS} a[i][j] *= 2;", 2, id="anti"),
        pytest.param(f"{ROWS} a[i][j] = 2; {ROWS} a[i][j] = 3;", 2, id="output"),
        pytest.param(f"{ROWS} if (i % 2) a[i][j] = 2; {ROWS} if (i % 2 == 0) a[i][j] = 3;", 1, id="other rows"),
        pytest.param(f"{ROWS} c[i] += a[i][j]; {ROWS} b[i][j] = 1;", 2, id="sums"),
        pytest.param(f"float s = 0; {ROWS} s += a[i][j]; {ROWS} b[i][j] = 1;", 2, id="reductions"),
    ],
)
def test_only_plain_nests_without_dependences_between_them_are_joined(body: str, launches: int) -> None:
    assert len(region(body).device) == launches


def test_launches_for_several_devices_stay_apart() -> None:
    body = f"{ROWS} a[i][j] *= 2; {ROWS} b[i][j] += 1;"
    assert len(region(body, "device(all)").device) == 2


def test_a_launch_has_few_statements() -> None:
    lines = " ".join(f"for (int j = 0; j < m; j++) a[{row}][j] = {row};" for row in range(10))
    assert [len(nests(launch)) for launch in region(lines).device] == [8, 2]


def test_hosts_keep_their_launches() -> None:
    made = region(f"{ROWS} a[i][j] *= 2; {ROWS} b[i][j] += 1;")
    assert len(made.host) == 2


def test_launches_join_earlier_ones_past_those_they_do_not_depend_on() -> None:
    made = region(f"{ROWS} a[i][j] *= 2; {ROWS} b[i][j] += a[n - 1 - i][j]; for (int i = 0; i < n; i++) c[i] = 1;")
    assert [len(nests(launch)) for launch in made.device] == [2, 1]


def test_a_candidate_that_is_not_proven_gives_way_to_its_launches_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LaunchFusion, "_are_independent", lambda *_: True)
    made = region(f"{ROWS} a[i][j] *= 2; {ROWS} b[i][j] += a[n - 1 - i][j];")
    assert made.untransformed is None
    assert len(made.device) == 2
