"""Balanced intra-tile wavefronts (thesis (4.1), Theorem 4.1) and false dependences that hinder (Definition 4.2), by brute force.

All dependences are enumerated at one size of the program. A dependence with the distance d asks a row h, with the
constants c of its statements, for

    h . d + c_T - c_S >= 1  for a self dependence, (4.1);    >= 0  for the others, (3.16)

The product does not search rows under (4.1). It finds wavefronts that are balanced, which these rows have.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from tests.support.simulated_runs import fixed, pairs
from tests.support.stencil_programs import BENCHMARKS, figure_3_4, figure_4_4
from tests.thesis.access_flow import value_based_dependences
from tests.thesis.schedule_legality import balanced, untilable
from tilepragma.poly.dependences import DependenceKind
from tilepragma.poly.schedule import Row, Schedule, StatementSchedule
from tilepragma.poly.scop import ScopStatement
from tilepragma.poly.wavefronts import band_wavefronts

FLOW, ANTI, OUTPUT = DependenceKind.FLOW, DependenceKind.ANTI, DependenceKind.OUTPUT
#: Reads, then writes.
SIDES = (False, True)
SIZES = {"T": 4, "N": 4, "J": 5, "I": 5}

Vector = tuple[int, ...]
Instance = tuple[str, Vector]
Cell = tuple[str, Vector]

PROGRAMS = {
    "Figure 3.4": figure_3_4(),
    "Figure 4.4": figure_4_4(),
    **BENCHMARKS,
    # Without the statement of the border, which has one loop less.
    "2-D FDTD": BENCHMARKS["2-D FDTD"][1:],
}


@dataclass(frozen=True)
class Distance:
    """A dependence from one statement to another, or the same, and its distance vector."""

    kind: DependenceKind
    source: str
    sink: str
    vector: Vector

    @property
    def is_self_dependence(self) -> bool:
        return self.source == self.sink


@dataclass(frozen=True)
class Hyperplane:
    """h, the same for all statements, and each statement's constant."""

    coefficients: Vector
    constants: dict[str, int]


def distances(statements: Sequence[ScopStatement]) -> frozenset[Distance]:
    """The value-based dependences between different instances: the text runs, and each cell knows who accessed it."""
    written: dict[Cell, Instance] = {}
    read: dict[Cell, set[Instance]] = {}
    ordered: set[tuple[DependenceKind, Instance, Instance]] = set()
    for instance, reads, writes in in_textual_order(statements):
        for cell in reads:
            ordered.add((FLOW, written.get(cell, instance), instance))
            read.setdefault(cell, set()).add(instance)
        for cell in writes:
            before = read.get(cell, set()) - {instance}
            ordered |= {(ANTI, reader, instance) for reader in before}
            ordered.add((OUTPUT, written.get(cell, instance), instance))
            read[cell] = read.get(cell, set()) - before
            written[cell] = instance
    return frozenset(
        Distance(kind, source[0], sink[0], tuple(j - i for i, j in zip(source[1], sink[1], strict=True)))
        for kind, source, sink in ordered
        if source != sink
    )


def in_textual_order(statements: Sequence[ScopStatement]) -> Iterator[tuple[Instance, list[Cell], list[Cell]]]:
    """Each instance with the cells that it reads and those that it writes."""
    timed: list[tuple[Vector, Instance, list[Cell], list[Cell]]] = []
    for each in statements:
        domain = fixed(each.domain, SIZES)
        cells = [(use, pairs(fixed(use.relation, SIZES).intersect_domain(domain))) for use in each.references]
        for point, time in pairs(fixed(each.schedule, SIZES).intersect_domain(domain)).items():
            reads, writes = (
                [(use.object.name, at[point]) for use, at in cells if use.writes is side] for side in SIDES
            )
            timed.append((time, (each.name, point), reads, writes))
    return ((instance, reads, writes) for _, instance, reads, writes in sorted(timed, key=lambda entry: entry[0]))


def constants_for(row: Vector, most: int, dependences: Collection[Distance], *, strict: bool) -> dict[str, int] | None:
    """The least constants with which a row satisfies (3.16), and (4.1) if `strict`, and no difference exceeds `most`."""
    bounds = []
    for each in dependences:
        product = int(np.dot(row, each.vector))
        least = int(strict and each.is_self_dependence)
        bounds += [(each.source, each.sink, least - product), (each.sink, each.source, product - most)]
    constants = dict.fromkeys(sorted(name for source, sink, _ in bounds for name in (source, sink)), 0)
    for _ in range(len(constants) + 1):
        late = [bound for bound in bounds if constants[bound[0]] + bound[2] > constants[bound[1]]]
        if not late:
            return constants
        for source, sink, least in late:
            constants[sink] = max(constants[sink], constants[source] + least)
    return None


def balanced_rows(depth: int, dependences: Collection[Distance]) -> tuple[Hyperplane, ...]:
    """Algorithm 4.1 with k = 1 by trying all rows, those of least communication first, then of small inner coefficients.

    The first row satisfies (4.1). The last one keeps the orientation of the loops.
    """
    rows: list[Hyperplane] = []
    candidates = sorted(itertools.product(range(4), repeat=depth), key=lambda row: row[::-1])
    for place in range(depth):
        for most, row in itertools.product(range(8), candidates):
            matrix = np.array([*(each.coefficients for each in rows), row])
            turned = place == depth - 1 and np.linalg.det(matrix) < 0
            if np.linalg.matrix_rank(matrix) <= place or turned:
                continue
            constants = constants_for(row, most, dependences, strict=not rows)
            if constants is not None:
                rows.append(Hyperplane(row, constants))
                break
    return tuple(rows)


def hindering(depth: int, dependences: Collection[Distance]) -> frozenset[Distance]:
    """Definition 4.2: the false dependences e with a constraint that those of E - {e} do not imply.

    One does not where some point (h, c) of a small box satisfies all of theirs and breaks it.
    """
    ordered = sorted(dependences, key=repr)
    names = sorted({name for each in ordered for name in (each.source, each.sink)})
    points = np.array(list(itertools.product(range(6), repeat=depth + len(names))))
    factors = np.zeros((len(ordered), depth + len(names)), dtype=int)
    for place, each in enumerate(ordered):
        factors[place, :depth] = each.vector
        factors[place, depth + names.index(each.sink)] += 1
        factors[place, depth + names.index(each.source)] -= 1
    broken = points @ factors.T < np.array([int(each.is_self_dependence) for each in ordered])
    alone = broken & (broken.sum(axis=1) == 1)[:, None]
    return frozenset(each for place, each in enumerate(ordered) if each.kind is not FLOW and alone[:, place].any())


def schedule_of(statements: Sequence[ScopStatement], rows: Iterable[Hyperplane]) -> Schedule:
    """The rows as one band of the product's."""
    kept = tuple(rows)
    return tuple(
        StatementSchedule(each, tuple(Row(row.coefficients, row.constants[each.name], 0) for row in kept))
        for each in statements
    )


def widths(rows: Sequence[Hyperplane], along: Vector, size: int) -> list[int]:
    """The instances of a statement in each wavefront of a tile of `size` values a row, far from the border.

    `along` has the factors of the rows whose sum is the same in a wavefront.
    """
    depth = len(rows)
    matrix = np.array([row.coefficients for row in rows])
    reach = 4 * size * depth
    around = np.array(list(itertools.product(range(-reach, reach + 1), repeat=depth)))
    values = around @ matrix.T
    inside = values[((values >= 0) & (values < size)).all(axis=1)]
    counts = Counter((inside @ np.array(along)).tolist())
    return [counts[wavefront] for wavefront in sorted(counts)]


def test_only_the_anti_dependence_0_1_hinders_in_figure_3_4() -> None:
    """Table 3.1, and section 4.2.3: the anti and the output dependence (1, 0) are redundant."""
    dependences = distances(figure_3_4())
    assert {(each.kind, each.vector) for each in dependences} == {
        (FLOW, (1, 0)),
        (FLOW, (1, -1)),
        (ANTI, (0, 1)),
        (ANTI, (1, 0)),
        (OUTPUT, (1, 0)),
    }
    assert hindering(2, dependences) == {Distance(ANTI, "S", "S", (0, 1))}


def test_rows_of_figure_4_3() -> None:
    rows = balanced_rows(2, distances(figure_3_4()))
    assert [row.coefficients for row in rows] == [(2, 1), (1, 1)]
    assert [row.constants for row in rows] == [{"S": 0}, {"S": 0}]


def test_rows_of_figure_4_6() -> None:
    """After the anti dependence (0, 1) is eliminated: eight dependences, and less slanted tiles."""
    rows = balanced_rows(2, distances(figure_4_4()))
    assert [row.coefficients for row in rows] == [(1, 0), (1, 1)]
    assert [row.constants for row in rows] == [{"S0": 0, "S1": 0}, {"S0": 0, "S1": 1}]


def test_wavefronts_of_figures_4_1_and_4_3() -> None:
    """Tiles of 2 x 2: along (1, 1) of the rows (1 0; 1 1) they fill and drain, along the first row of (2 1; 1 1) not."""
    slanted = [Hyperplane((1, 0), {"S": 0}), Hyperplane((1, 1), {"S": 0})]
    assert widths(slanted, (1, 1), 2) == [1, 2, 1]
    assert widths(balanced_rows(2, distances(figure_3_4())), (1, 0), 2) == [2, 2]


@pytest.mark.parametrize("name", PROGRAMS)
def test_table_4_1_balanced_wavefronts(name: str) -> None:
    """Found for all; the product sees that the first row orders all that a wavefront must order."""
    statements = PROGRAMS[name]
    depth = statements[0].depth
    rows = balanced_rows(depth, distances(statements))
    assert len(rows) == depth
    if depth < 4:
        assert len(set(widths(rows, (1, *[0] * (depth - 1)), 3))) == 1
    schedule, dependences = schedule_of(statements, rows), value_based_dependences(statements)
    assert untilable(schedule, dependences) == ()
    assert balanced(schedule, dependences)
    (wavefronts,) = band_wavefronts(schedule, dependences)
    assert wavefronts.summed == (0,)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_table_4_1_false_dependences_that_hinder(name: str) -> None:
    """All but SOR have some, as the table says, and 2-D FDTD: there each false dependence of PolyBench's program has
    the ends and the distance of a flow dependence, which makes it redundant, although the table ticks it.
    """
    statements = PROGRAMS[name]
    hinder = hindering(statements[0].depth, distances(statements))
    assert bool(hinder) == (name not in ("1-D SOR-3", "2-D SOR-5", "2-D FDTD"))
    assert {each.kind for each in hinder} <= {ANTI}


def with_flow_twins(dependences: Collection[Distance]) -> frozenset[Distance]:
    """The flow dependences, and the false ones with the ends and the distance of one."""
    flows = {(each.source, each.sink, each.vector) for each in dependences if each.kind is FLOW}
    return frozenset(each for each in dependences if (each.source, each.sink, each.vector) in flows)


def test_no_false_dependence_between_the_updates_of_fdtd_is_unlike_a_flow_dependence() -> None:
    dependences = distances(PROGRAMS["2-D FDTD"])
    assert {each for each in dependences - with_flow_twins(dependences) if not each.is_self_dependence} == set()


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if "Jacobi" in name or "Heat" in name])
def test_tiles_are_less_slanted_without_what_hinders(name: str) -> None:
    statements = PROGRAMS[name]
    depth, dependences = statements[0].depth, distances(statements)
    before, after = balanced_rows(depth, dependences), balanced_rows(depth, with_flow_twins(dependences))
    assert [row.coefficients[0] for row in before] == [1, *[2] * (depth - 1)]
    assert [row.coefficients[0] for row in after] == [1] * depth
