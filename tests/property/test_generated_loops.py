"""Generated loops, interpreted: every instance of random nests runs exactly once, in the order of a random schedule."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl
import pytest

from tests.support.affine_nests import NestText, random_nest, unimodular
from tests.support.interpreter import Cell, Interpreter
from tests.support.scops import in_parts, scop
from tilepragma.ir.expressions import Access, Binary, DataObject, Expression, Scope, Storage, integer
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, If, Loop, Statement
from tilepragma.ir.types import LONG
from tilepragma.lower.ast_generation import MOST_COPIES, generate_loops
from tilepragma.lower.loop_names import ScheduledStatement, Symbols
from tilepragma.lower.tile_bounds import (
    Range,
    TileRow,
    has_points,
    points_of_tile,
    sizes_are_positive,
    tile_range,
)
from tilepragma.lower.tile_wavefronts import Wavefronts
from tilepragma.poly.scop import Scop

SIZES = ((5, 4), (4, 7), (1, 2), (0, 3))
Times = dict[str, list[list[int]]]


@dataclass(frozen=True)
class Case:
    """A nest with a schedule: `rows` of each statement, in its iterators and 1."""

    scop: Scop
    statements: tuple[ScheduledStatement, ...]
    rows: Times


def random_case(seed: int) -> Case:
    nest = random_nest(seed)
    found = scop(nest.parameters, nest.body, movable=in_parts)
    chance = random.Random(seed)
    depth = max(len(each.loops) for each in found.statements)
    statements, rows = [], {}
    for number, each in enumerate(found.statements):
        own = len(each.loops)
        matrix = [[*row, chance.choice((0, 0, 0, 1, -2))] for row in unimodular(chance, own)]
        matrix += [[0] * own + [chance.choice((0, 2))] for _ in range(depth - own)]
        scalar = [0] * own + [chance.choice((0, 0, number))]
        last = [0] * own + [number]
        every = [scalar, *matrix, last]
        (array,) = {one.object.name for one in each.references if one.writes}
        rows[array] = every
        statements.append(ScheduledStatement(each, _times(found.context, each.name, own, every)))
    return Case(found, tuple(statements), rows)


def _times(context: isl.Context, name: str, depth: int, rows: list[list[int]]) -> isl.Map:
    names = [f"i{place}" for place in range(depth)]
    sums = [" + ".join([*(f"{f}*{i}" for f, i in zip(row, names, strict=False)), str(row[-1])]) for row in rows]
    return isl.Map(f"{{ {name}[{', '.join(names)}] -> [{', '.join(sums)}] }}", context=context)


def when(case: Case, cell: Cell) -> tuple[int, ...]:
    array, instance = cell
    return tuple(sum(f * i for f, i in zip(row, instance, strict=False)) + row[-1] for row in case.rows[array])


def stores(block: Statement, values: Mapping[str, int]) -> list[Cell]:
    interpreter = Interpreter(dict(values))
    interpreter.run(block)
    return interpreter.stores


def original(case: Case, values: Mapping[str, int]) -> list[Cell]:
    """The instances by the user's own loops, which isl had no part in."""
    seen: dict[int, Statement] = {}
    for each in case.scop.statements:
        outer = each.loops[0]
        seen[outer.index] = outer
    return [cell for loop in seen.values() for cell in stores(loop, values)]


@pytest.mark.parametrize("seed", range(100))
def test_each_instance_runs_once_and_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(seed)
    for copies in (MOST_COPIES, 0):  # split and compact
        monkeypatch.setattr("tilepragma.lower.ast_generation.MOST_COPIES", copies)
        made = generate_loops(case.statements, Symbols(case.scop.parameters), 100)
        check_loops(made.block, 100, made.next_index)
        for n, m in SIZES:
            values = {"n": n, "m": m}
            expected = original(case, values)
            found = stores(made.block, values)
            assert sorted(found) == sorted(expected)
            assert [when(case, cell) for cell in found] == sorted(when(case, cell) for cell in expected)


def check_loops(block: Block, first: int, end: int) -> None:
    """Indices are in textual order and known; no loop's iterator hides that of a loop around it."""
    found: list[int] = []

    def visit(node: Statement, names: tuple[str, ...]) -> None:
        if isinstance(node, Loop):
            found.append(node.index)
            assert node.iterator.name not in names and node.iterator.scope is Scope.LOCAL and node.declares_iterator
            names = (*names, node.iterator.name)
            visit(node.body, names)
        elif isinstance(node, Block):
            for one in node.statements:
                visit(one, names)
        elif isinstance(node, If):
            visit(node.then, names)
            if node.otherwise is not None:
                visit(node.otherwise, names)

    visit(block, ())
    assert found == list(range(first, end))


def variable(name: str) -> Access:
    return Access(DataObject(name, name, LONG, Storage.SCALAR, Scope.LOCAL), (), (), LONG)


@dataclass(frozen=True)
class Band:
    """The rows of a case that are cut into tiles, with what isl's parameters stand for."""

    case: Case
    rows: tuple[TileRow, ...]

    @property
    def symbols(self) -> Symbols:
        parameters: dict[str, Expression] = dict(self.case.scop.parameters)
        for row in self.rows:
            size = variable(row.size)
            parameters |= {row.size: size, row.origin: Binary("*", size, variable(f"tile{row.level}"), LONG)}
        return Symbols(parameters, frozenset(f"tile{row.level}" for row in self.rows))

    @property
    def context(self) -> isl.Set:
        return sizes_are_positive(self.case.scop.context, self.rows)

    def tile(self, bounded: tuple[TileRow, ...] = ()) -> Block:
        """The points of one tile, if it has any."""
        points = points_of_tile(self.case.statements, self.rows)
        body = generate_loops(points, self.symbols, 100, self.context).block
        condition = has_points(self.case.statements, self.rows, self.symbols, self.context, bounded)
        return body if condition is None else Block((If(condition, body, None),))


def band(case: Case, levels: tuple[int, ...]) -> Band:
    return Band(case, tuple(TileRow(level, f"o{level}", f"s{level}") for level in levels))


def loop_over(place: int, name: str, bounds: Range | None, body: Block) -> Block:
    assert bounds is not None
    iterator = variable(name).object
    return Block((Loop(place, iterator, True, bounds.lower, "<=", bounds.upper, integer(1), False, body, None),))


def tiled(found: Band, nested: bool) -> Block:
    """Loops over tiles around the points of a tile; `nested` takes bounds that depend on the tiles around."""
    rows = found.rows
    body = found.tile(() if nested else rows)
    for place in range(len(rows) - 1, -1, -1):
        given = (rows, place) if nested else (rows[place:], 0)
        bounds = tile_range(found.case.statements, *given, found.symbols, found.context)
        body = loop_over(place, f"tile{rows[place].level}", bounds, body)
    return body


def in_wavefronts(found: Band, carrying: tuple[int, ...]) -> Block:
    """A loop over wavefronts, loops over the tiles of one, and the points of a tile."""
    rows = found.rows
    fronts = Wavefronts(found.case.statements, rows, carrying, found.symbols, found.context)
    *others, derived = carrying
    number: Expression = variable("wave")
    for other in others:
        number = Binary("-", number, variable(f"tile{rows[other].level}"), LONG)
    own = Declaration((Declarator(variable(f"tile{rows[derived].level}").object, number),))
    bounded = tuple(row for place, row in enumerate(rows) if place != derived)
    body = Block((own, *found.tile(bounded).statements))
    for place in range(len(rows)):
        if place != derived:
            bounds = fronts.tile_range(place, variable("wave"))
            body = loop_over(place, f"tile{rows[place].level}", bounds, body)
    return loop_over(len(rows), "wave", fronts.range(), body)


@pytest.mark.parametrize("seed", range(20))
def test_tiles_of_any_size_cover_each_instance_once(seed: int) -> None:
    case = random_case(seed)
    chance = random.Random(seed)
    levels = tuple(range(1, len(next(iter(case.rows.values()))) - 1))[: chance.choice((1, 2, 2, 3))]
    found_band = band(case, levels)
    trees = [tiled(found_band, nested) for nested in (False, True)]
    carrying = chance.choice([places for places in subsets(len(levels)) if places])
    fronts = in_wavefronts(found_band, carrying)
    every = list(itertools.product(range(1, 8), repeat=len(levels)))
    for lengths in chance.sample(every, min(3, len(every))):
        sizes = dict(zip(levels, lengths, strict=True))
        n, m = chance.choice(SIZES[:3])
        values = {"n": n, "m": m}
        expected = original(case, values)

        def order(cell: Cell, sizes: dict[int, int] = sizes) -> tuple[int, ...]:
            time = when(case, cell)
            return (*(time[level] // size for level, size in sizes.items()), *time)

        for tree in trees:
            found = stores(tree, values | {f"s{level}": size for level, size in sizes.items()})
            assert sorted(found) == sorted(expected)
            assert [order(cell) for cell in found] == sorted(order(cell) for cell in expected)
        found = stores(fronts, values | {f"s{level}": size for level, size in sizes.items()})
        assert sorted(found) == sorted(expected)
        waves = [sum(order(cell)[place] for place in carrying) for cell in found]
        assert waves == sorted(waves)


NESTS = {
    "triangular, skewed": (
        "for (int i = 0; i < n; i++) { A0[i] = 0; for (int j = i; j >= 0; j--) A1[i][j] = 1; }",
        {"A0": [[0, 0], [1, 0], [1, 0], [0, 0]], "A1": [[0, 0, 0], [1, 0, 0], [1, -1, 0], [0, 0, 1]]},
    ),
    "steps, down": (
        "for (int i = n; i > -3; i -= 2) for (int j = 1; j <= m; j += 3) A0[i + 3][j] = 0;",
        {"A0": [[0, 0, 0], [-1, 0, 0], [-2, 1, 0], [0, 0, 0]]},
    ),
}


@pytest.mark.parametrize("name", NESTS)
def test_every_pair_of_sizes_up_to_seven(name: str) -> None:
    body, rows = NESTS[name]
    ranks = {array: len(found[0]) - 1 for array, found in rows.items()}
    found = scop(NestText(body, ranks).parameters, body, movable=in_parts)
    statements = tuple(
        ScheduledStatement(each, _times(found.context, each.name, len(each.loops), own))
        for each, own in zip(found.statements, rows.values(), strict=True)
    )
    case = Case(found, statements, {})
    tree = tiled(band(case, (1, 2)), nested=True)
    values = {"n": 5, "m": 9}
    expected = sorted(original(case, values))
    for first, second in itertools.product(range(1, 8), repeat=2):
        assert sorted(stores(tree, values | {"s1": first, "s2": second})) == expected


def subsets(count: int) -> list[tuple[int, ...]]:
    return [tuple(place for place in range(count) if mask >> place & 1) for mask in range(2**count)]
