"""Dependences: the thesis's Table 3.1, distances, classification."""

from __future__ import annotations

import islpy as isl
import pytest

from tests.support.scops import scop
from tilepragma.poly.dependences import (
    Dependence,
    carried_at,
    distance_text,
    distance_vector,
    memory_dependences,
    value_dependences,
)
from tilepragma.poly.scop import Scop

FIGURE_3_4 = "for (int j = 1; j <= J; j++) for (int i = 1; i <= I; i++) A[i] = 0.5 * (A[i] + A[i+1]);"

#: Table 3.1 of the thesis: type, source access, target access, distance vector, dependence
#: polyhedron. The bounds that the table prints with subscript t in the rows of e3, e4 and e5 hold
#: for the source (with i_t = i_s + 1, i_t = I is reached); they stand here with subscript s.
TABLE_3_1 = [
    ("e1", "flow", "A[i]", "A[i]", (1, 0), "js = jt - 1 and is = it and 2 <= jt <= J and 1 <= it <= I"),
    ("e2", "flow", "A[i]", "A[i+1]", (1, -1), "js = jt - 1 and is = it + 1 and 2 <= jt <= J and 1 <= it <= I - 1"),
    ("e3", "anti", "A[i+1]", "A[i]", (0, 1), "js = jt and is + 1 = it and 1 <= js <= J and 1 <= is <= I - 1"),
    ("e4", "anti", "A[i]", "A[i]", (1, 0), "js + 1 = jt and is = it and 1 <= js <= J - 1 and 1 <= is <= I"),
    ("e5", "output", "A[i]", "A[i]", (1, 0), "js + 1 = jt and is = it and 1 <= js <= J - 1 and 1 <= is <= I"),
]


def ends(one: Dependence) -> tuple[str, str]:
    """The two accesses as they are written."""
    width = [reference.range.end.column - reference.range.start.column for reference in (one.source, one.sink)]
    names = {4: "A[i]", 6: "A[i+1]"}
    return names[width[0]], names[width[1]]


@pytest.fixture(scope="module")
def figure_3_4() -> Scop:
    return scop("int J, int I, double *A", FIGURE_3_4)


@pytest.mark.parametrize(("name", "kind", "source", "sink", "vector", "polyhedron"), TABLE_3_1)
def test_table_3_1(
    figure_3_4: Scop, name: str, kind: str, source: str, sink: str, vector: tuple[int, ...], polyhedron: str
) -> None:
    values = value_dependences(memory_dependences(figure_3_4))
    (one,) = [value for value in values if value.kind.value == kind and ends(value) == (source, sink)]
    assert distance_vector(one.distances) == vector, name
    expected = isl.Map(f"[J, I] -> {{ S0[js, is] -> S0[jt, it] : {polyhedron} }}", context=figure_3_4.context)
    assert one.relation.is_equal(expected)


def test_table_3_1_has_five_dependences(figure_3_4: Scop) -> None:
    assert len(value_dependences(memory_dependences(figure_3_4))) == 5


def test_memory_based_dependences_hold_the_value_based_ones(figure_3_4: Scop) -> None:
    dependences = memory_dependences(figure_3_4)
    memory = {(dependence.kind, ends(dependence)): dependence.relation for dependence in dependences}
    for each in value_dependences(dependences):
        assert each.relation.is_strict_subset(memory[each.kind, ends(each)]) or each.distances.dim_max_val(0).is_zero()
    assert distance_text(dependences[0].distances) == "(+, 0)"


def classification(parameters: str, body: str) -> dict[str, set[str]]:
    """What each loop carries."""
    made = scop(parameters, body)
    carried: dict[str, set[str]] = {}
    for each in memory_dependences(made):
        for loop in carried_at(each):
            carried.setdefault(loop.iterator.name, set()).add(f"{each.kind.value} {each.source.object.name}")
    return carried


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        # Figure 3.7: synchronisation-free at level 1; Figure 3.8: parallel at level 2.
        ("for (int j=1; j<=n; j++) for (int i=1; i<=n; i++) A[j][i] = A[j][i-1] + A[j][i];", {"i": {"flow A"}}),
        ("for (int j=1; j<=n; j++) for (int i=1; i<=n; i++) A[j][i] = A[j-1][i-1]+A[j-1][i]+A[j-1][i+1];", {"j": {"flow A"}}),
        ("for (int j=0; j<n; j++) for (int i=0; i<n; i++) A[j][i] = A[j][i] * 2;", {}),
        ("for (int j=n-1; j>=0; j--) A[j][0] = A[j+1][0];", {"j": {"flow A"}}),
        ("for (int j=0; j<n; j++) A[j][0] = A[j+n][0];", {}),
        ("for (int j=0; j<n; j+=2) A[j][0] = A[j+1][0];", {}),
        # The start of i moves by 1, its step is 2: elements meet at a difference that no number of
        # steps makes.
        ("for (int j=1; j<n; j++) for (int i=j; i<n; i+=2) A[j][i] = A[j+1][i+1];", {"j": {"anti A"}}),
        ("for (int j=1; j<n; j++) for (int i=n-j; i>0; i-=3) A[0][i] = A[0][i+1];", {"j": {"flow A", "anti A", "output A"}}),
    ],
)  # fmt: skip
def test_loops_are_classified(body: str, wanted: dict[str, set[str]]) -> None:
    assert classification("int n, double A[n+2][n+2]", body) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("for (int i = n; i > 4; i -= 4) a[i] = a[i+8];", "(2)"),
        ("for (int i = 0; i < n; i += 2) a[i] = a[i-6];", "(3)"),
        ("for (int i = 0; i < n; i++) for (int j = i; j < n; j += 2) a[2*j] = a[2*j+2];", "(+, 1)"),
        ("for (int i = 0; i < n; i++) a[i] = a[0];", "(+)"),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i+j] = 0;", "(+, -)"),
    ],
)
def test_distances_count_iterations_in_execution_order(body: str, wanted: str) -> None:
    texts = {distance_text(each.distances) for each in memory_dependences(scop("int n, double *a", body))}
    assert wanted in texts


def test_members_of_records_are_apart_and_those_of_unions_are_not() -> None:
    text = "for (int i = 1; i < n; i++) p[i].x = p[i-1].y;"
    assert memory_dependences(scop("int n, struct t *p", text, "struct t { int x, y; };")) == ()
    assert memory_dependences(scop("int n, union t *p", text, "union t { int x, y; };"))
    nameless = "struct t { int z; struct { int x, y; }; };"
    assert memory_dependences(scop("int n, struct t *p", text, nameless)) == ()


def test_what_may_be_any_element_depends_inexactly() -> None:
    made = scop("int n, int *k, double *a", "for (int i = 0; i < n; i++) a[k[i]] = i;")
    (one,) = memory_dependences(made)
    assert not one.exact and distance_text(one.distances) == "(+)"
