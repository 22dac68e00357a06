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
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.types import LONG
from tilepragma.lower.ast_generation import MOST_COPIES, ScheduledStatement, Symbols, generate_loops
from tilepragma.lower.tile_bounds import (
    has_points,
    origin_of,
    points_of_tile,
    size_of,
    sizes_are_positive,
    tile_range,
    wavefront_range,
    wavefront_tiles,
)
from tilepragma.poly.extents import Bounds
from tilepragma.poly.isl_ast import short_expression
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
    result = scop(nest.parameters, nest.body, movable=in_parts)
    chance = random.Random(seed)
    depth = max(len(each.loops) for each in result.statements)
    statements, rows = [], {}
    for number, each in enumerate(result.statements):
        own = len(each.loops)
        matrix = [[*row, chance.choice((0, 0, 0, 1, -2))] for row in unimodular(chance, own)]
        matrix += [[0] * own + [chance.choice((0, 2))] for _ in range(depth - own)]
        scalar = [0] * own + [chance.choice((0, 0, number))]
        last = [0] * own + [number]
        every = [scalar, *matrix, last]
        (array,) = {reference.object.name for reference in each.references if reference.writes}
        rows[array] = every
        statements.append(ScheduledStatement(each, _times(result.context, each.name, own, every)))
    return Case(result, tuple(statements), rows)


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
        numbers = itertools.count(100)
        made = generate_loops(case.statements, Symbols(case.scop.parameters), numbers)
        check_loops(made, 100, next(numbers))
        for n, m in SIZES:
            values = {"n": n, "m": m}
            expected = original(case, values)
            result = stores(made, values)
            assert sorted(result) == sorted(expected)
            assert [when(case, cell) for cell in result] == sorted(when(case, cell) for cell in expected)


def check_loops(block: Block, first: int, end: int) -> None:
    """Indices are in textual order and known; no loop's iterator hides that of a loop around it."""
    results: list[int] = []

    def visit(node: Statement, names: tuple[str, ...]) -> None:
        if isinstance(node, Loop):
            results.append(node.index)
            assert node.iterator.name not in names and node.iterator.scope is Scope.LOCAL and node.declares_iterator
            names = (*names, node.iterator.name)
            visit(node.body, names)
        elif isinstance(node, Block):
            for statement in node.statements:
                visit(statement, names)
        elif isinstance(node, If):
            visit(node.then, names)
            if node.otherwise is not None:
                visit(node.otherwise, names)

    visit(block, ())
    assert results == list(range(first, end))


def variable(name: str) -> Access:
    return Access(DataObject(name, name, LONG, Storage.SCALAR, Scope.LOCAL), (), (), LONG)


@dataclass(frozen=True)
class Band:
    """A case with the levels that are cut into tiles, and what isl's parameters stand for."""

    case: Case
    levels: tuple[int, ...]

    @property
    def symbols(self) -> Symbols:
        parameters: dict[str, Expression] = dict(self.case.scop.parameters)
        for level in self.levels:
            size = variable(f"s{level}")
            origin = Binary("*", size, variable(f"tile{level}"), LONG)
            parameters |= {size_of(level): size, origin_of(level): origin}
        return Symbols(parameters, frozenset(f"tile{level}" for level in self.levels))

    @property
    def context(self) -> isl.Set:
        return sizes_are_positive(self.case.scop.context, self.levels)

    def tile(self, bounded: tuple[int, ...] = ()) -> Block:
        """The points of one tile, if it has any."""
        points = points_of_tile(self.case.statements, self.levels)
        body = generate_loops(points, self.symbols, itertools.count(100), self.context)
        condition = has_points(self.case.statements, self.levels, self.symbols, self.context, bounded)
        return body if condition is None else Block((If(condition, body, None),))


def loop_over(place: int, name: str, bounds: Bounds | None, body: Block) -> Block:
    assert bounds is not None
    iterator = variable(name).object
    least, greatest = short_expression(bounds.low), short_expression(bounds.high)
    return Block((Loop(place, iterator, True, least, "<=", greatest, integer(1), False, body, None),))


def tiled(found: Band, nested: bool) -> Block:
    """Loops over tiles around the points of a tile; `nested` takes bounds that depend on the tiles around."""
    levels = found.levels
    body = found.tile(() if nested else levels)
    for place in range(len(levels) - 1, -1, -1):
        inside = points_of_tile(found.case.statements, levels[:place] if nested else ())
        bounds = tile_range(inside, levels[place], found.symbols)
        body = loop_over(place, f"tile{levels[place]}", bounds, body)
    return body


def in_wavefronts(found: Band) -> Block:
    """A loop over wavefronts, loops over the tiles of one, and the points of a tile."""
    levels, scheduled = found.levels, found.case.statements
    *others, derived = levels
    number: Expression = variable("wave")
    for other in others:
        number = Binary("-", number, variable(f"tile{other}"), LONG)
    own = Declaration((Declarator(variable(f"tile{derived}").object, number),))
    body = Block((own, *found.tile(tuple(others)).statements))
    tiles = wavefront_tiles(scheduled, levels, polynomial(variable("wave")), found.symbols)
    assert tiles is not None
    for place, (level, bounds) in enumerate(zip(others, tiles, strict=True)):
        body = loop_over(place, f"tile{level}", bounds, body)
    waves = wavefront_range(scheduled, levels, found.symbols)
    return loop_over(len(levels), "wave", waves, body)


@pytest.mark.parametrize("seed", range(20))
def test_tiles_of_any_size_cover_each_instance_once(seed: int) -> None:
    case = random_case(seed)
    chance = random.Random(seed)
    levels = tuple(range(1, len(next(iter(case.rows.values()))) - 1))[: chance.choice((1, 2, 2, 3))]
    found_band = Band(case, levels)
    trees = [tiled(found_band, nested) for nested in (False, True)]
    fronts = in_wavefronts(found_band)
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
            result = stores(tree, values | {f"s{level}": size for level, size in sizes.items()})
            assert sorted(result) == sorted(expected)
            assert [order(cell) for cell in result] == sorted(order(cell) for cell in expected)
        result = stores(fronts, values | {f"s{level}": size for level, size in sizes.items()})
        assert sorted(result) == sorted(expected)
        waves = [sum(order(cell)[: len(levels)]) for cell in result]
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
    result = scop(NestText(body, ranks).parameters, body, movable=in_parts)
    statements = tuple(
        ScheduledStatement(each, _times(result.context, each.name, len(each.loops), own))
        for each, own in zip(result.statements, rows.values(), strict=True)
    )
    case = Case(result, statements, {})
    tree = tiled(Band(case, (1, 2)), nested=True)
    values = {"n": 5, "m": 9}
    expected = sorted(original(case, values))
    for first, second in itertools.product(range(1, 8), repeat=2):
        assert sorted(stores(tree, values | {"s1": first, "s2": second})) == expected
