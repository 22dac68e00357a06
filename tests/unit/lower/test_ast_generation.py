"""The loops that scanning writes: what they are called, which way they run, and which of them vanish."""

from __future__ import annotations

import itertools

import islpy as isl
import pytest

from tests.support.interpreter import Interpreter
from tests.support.scops import in_parts, scop
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Block, Declaration, ExpressionStatement, If, Loop
from tilepragma.ir.loop_tree_text import expression_text, statement_text
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG
from tilepragma.lower import ast_generation
from tilepragma.lower.ast_generation import (
    MOST_COPIES,
    GeneratedLoops,
    ScheduledStatement,
    Symbols,
    generate_loops,
)
from tilepragma.lower.tile_bounds import (
    at_values,
    has_points,
    origin_of,
    points_of_tile,
    row_range,
    size_of,
    sizes_are_positive,
    tile_range,
    wavefront_range,
    wavefront_tiles,
)
from tilepragma.poly.extents import Bounds
from tilepragma.poly.isl_ast import short_expression
from tilepragma.poly.operation_limit import OperationLimitError
from tilepragma.poly.scop import Scop

ANY = "int n, int m, double A[n][n], double b[n]"


def timed(extracted: Scop, *times: str) -> tuple[ScheduledStatement, ...]:
    maps = [isl.Map(text, context=extracted.context) for text in times] or [
        statement.schedule for statement in extracted.statements
    ]
    return tuple(ScheduledStatement(one, time) for one, time in zip(extracted.statements, maps, strict=True))


def scanned(body: str, *times: str, parameters: str = ANY, taken: frozenset[str] = frozenset()) -> Block:
    extracted = scop(parameters, body, movable=in_parts)
    return generate_loops(timed(extracted, *times), Symbols(extracted.parameters, taken), itertools.count(7))


def text(block: Block) -> str:
    return " ".join(statement_text(block).split())


def loops(block: Block) -> list[Loop]:
    return [node for node in walk(block) if isinstance(node, Loop)]


def test_the_order_of_the_text_gives_the_text() -> None:
    body = "for (int i = 0; i < n; i++) { b[i] = 0; for (int j = i; j < n; j++) A[i][j] = b[i]; }"
    generated = scanned(body)
    assert text(generated) == "for (i = 0; i < n; i += 1) b[i] = 0; for (j = i; j < n; j += 1) A[i][j] = b[i];"
    assert [loop.index for loop in loops(generated)] == [7, 8]


def test_a_user_s_iterator_keeps_its_name_and_type_and_is_local() -> None:
    generated = scanned("for (i = 0; i < n; i++) b[i] = 0;", parameters=f"{ANY}, int i")
    (loop,) = loops(generated)
    assert (loop.iterator.name, loop.iterator.element, loop.iterator.scope) == ("i", INT, Scope.LOCAL)
    objects = {node.object for node in walk(loop.body) if isinstance(node, Access) and node.object.name == "i"}
    assert objects == {loop.iterator} and loop.declares_iterator


def test_interchanged_loops_keep_their_names() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) A[i][j] = 1;"
    assert text(scanned(body, "{ S0[i, j] -> [j, i] }")) == (
        "for (j = 0; j < n; j += 1) for (i = j; i < n; i += 1) A[i][j] = 1;"
    )


def test_a_skewed_loop_is_named_after_what_it_counts() -> None:
    body = "for (int t = 0; t < m; t++) for (int i = 0; i < n; i++) b[i] = b[i] + t;"
    generated = scanned(body, "{ S0[t, i] -> [t, t + i] }")
    outer, inner = loops(generated)
    assert (outer.iterator.name, inner.iterator.name) == ("t", "t_plus_i")
    assert inner.iterator.element == LONG
    (declaration,) = (node for node in walk(inner.body) if isinstance(node, Declaration))
    (declarator,) = declaration.declarators
    assert (declarator.object.name, declarator.object.const, declarator.object.element) == ("i", True, INT)
    assert expression_text(declarator.initializer) == "t_plus_i - (long)t"


def test_a_name_that_is_taken_is_not_used_again() -> None:
    body = "for (int t = 0; t < m; t++) for (int i = 0; i < n; i++) b[i] = b[i] + t;"
    generated = scanned(body, "{ S0[t, i] -> [t, t + i] }", taken=frozenset({"t_plus_i", "t_plus_i_2"}))
    assert loops(generated)[1].iterator.name == "t_plus_i_3"


def test_a_name_is_not_used_over_a_leaf_that_means_another_object_by_it() -> None:
    body = "for (int i = 0; i < n; i++) b[i] = 0; for (int k = 0; k < n; k++) A[k][k] = j;"
    generated = scanned(
        f"for (int j = 0; j < n; j++) A[0][j] = 0; {body}".replace("= j", "= key"),
        "{ S0[j] -> [j, 0] }",
        "{ S1[i] -> [i, 1] }",
        "{ S2[k] -> [k, 2] }",
        parameters=f"{ANY}, int key",
    )
    (loop,) = loops(generated)
    assert loop.iterator.name == "j"
    Interpreter({"n": 3, "key": 4}).run(generated)


def test_a_parameter_s_name_is_no_iterator() -> None:
    extracted = scop(ANY, "for (int i = 0; i < n; i++) b[i] = 0;", movable=in_parts)
    i = DataObject("i", "i", LONG, Storage.SCALAR, Scope.LOCAL)
    restricted = timed(extracted, "[o] -> { S0[i] -> [i] : i >= o }")
    made = generate_loops(
        restricted, Symbols({**extracted.parameters, "o": Access(i, (), (), LONG)}), itertools.count()
    )
    (loop,) = loops(made)
    assert loop.iterator.name != "i"
    interpreter = Interpreter({"n": 5, "i": 3})
    interpreter.run(made)
    assert interpreter.stores == [("b", (3,)), ("b", (4,))]


def test_decreasing_loops_with_steps_run_as_the_user_s() -> None:
    generated = scanned("for (int i = n - 2; i > 0; i -= 3) b[i] = 0;")
    (loop,) = loops(generated)
    assert loop.decreasing and loop.iterator.name == "i"
    assert text(generated) == "for (i = (long)n - 2; i > 0; i += -3) b[i] = 0;"


@pytest.mark.parametrize("times", ["{ S0[i] -> [-i] }", "{ S0[i] -> [3 - i] }", "{ S0[i] -> [i] }"])
def test_steps_are_kept_in_any_direction(times: str) -> None:
    generated = scanned("for (int i = 1; i < n; i += 3) b[i] = 0;", times)
    interpreter = Interpreter({"n": 9})
    interpreter.run(generated)
    order = [1, 4, 7] if times == "{ S0[i] -> [i] }" else [7, 4, 1]
    assert interpreter.stores == [("b", (i,)) for i in order]


def test_unsigned_iterators_are_counted_in_long() -> None:
    generated = scanned("for (unsigned long i = 0; i < 5; i++) b[i] = 0;", "{ S0[i] -> [-i] }")
    (loop,) = loops(generated)
    assert loop.iterator.element == LONG and loop.iterator.name != "i"


def test_loops_of_one_iteration_vanish() -> None:
    generated = scanned("for (int i = 0; i < n; i++) b[i] = 0;", "[o] -> { S0[i] -> [i] : i = 3 }")
    assert loops(generated) == []
    (condition,) = (node for node in walk(generated) if isinstance(node, If))
    assert expression_text(condition.condition) == "n >= 4"


def test_conditions_of_domains_are_kept() -> None:
    generated = scanned("for (int i = 0; i < n; i++) { if (i % 2 == 0 || i > 5) b[i] = 0; }")
    interpreter = Interpreter({"n": 9})
    interpreter.run(generated)
    assert interpreter.stores == [("b", (i,)) for i in (0, 2, 4, 6, 7, 8)]


def test_context_leaves_out_what_is_known() -> None:
    extracted = scop(ANY, "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = 0;", movable=in_parts)
    times = timed(extracted, "{ S0[i, j] -> [j, 0] : i = 0 }")
    known = isl.Set("[n] -> { : n >= 1 }", context=extracted.context)
    plain = generate_loops(times, Symbols(extracted.parameters), itertools.count())
    knowing = generate_loops(times, Symbols(extracted.parameters), itertools.count(), known)
    assert any(isinstance(node, If) for node in walk(plain))
    assert not any(isinstance(node, If) for node in walk(knowing))


def test_known_loops_are_not_generated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    extracted = scop(ANY, "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = 0;", movable=in_parts)
    times, symbols = timed(extracted, "{ S0[i, j] -> [j, i] }"), Symbols(extracted.parameters)
    known: GeneratedLoops = {}
    first = generate_loops(times, symbols, itertools.count(), None, known)
    others = generate_loops(timed(extracted, "{ S0[i, j] -> [i, j] }"), symbols, itertools.count(), None, known)
    assert len(known) == 2 and [loop.iterator.name for loop in loops(others)] == ["i", "j"]
    monkeypatch.setattr(ast_generation, "_nodes", None)
    assert generate_loops(times, symbols, itertools.count(), None, known) == first


def test_a_macro_leaf_moves_as_a_whole() -> None:
    body = """
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double s = b[j];
            for (int k = 0; k < i; k++) s += A[i][k];
            A[i][j] = s;
        }"""
    generated = scanned(body, "{ S0[i, j] -> [j, i] }")
    assert [loop.iterator.name for loop in loops(generated)] == ["j", "i", "k"]


def test_instances_at_one_time_run_in_any_order_but_all() -> None:
    generated = scanned("for (int i = 0; i < n; i++) for (int j = i; j < n; j++) A[i][j] = 0;", "{ S0[i, j] -> [j] }")
    interpreter = Interpreter({"n": 4})
    interpreter.run(generated)
    assert sorted(interpreter.stores) == [("A", (i, j)) for i in range(4) for j in range(i, 4)]
    assert [cell[1][1] for cell in interpreter.stores] == sorted(cell[1][1] for cell in interpreter.stores)


def test_numbers_beyond_64_bits_are_refused() -> None:
    with pytest.raises(OperationLimitError, match="64 bits"):
        scanned("for (int i = 0; i < n; i++) b[i] = 0;", "{ S0[i] -> [i + 9223372036854775808] }")


def test_compact_loops_hold_each_statement_once(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "for (int i = 0; i < n; i++) b[i] = 0; for (int i = 3; i < m; i++) b[i] = 1;"
        " for (int i = 0; i < n; i++) b[i] += 2; for (int i = 0; i < n; i++) b[i] += 3;"
    )
    extracted = scop(ANY, body, movable=in_parts)
    statements = timed(
        extracted,
        "{ S0[i] -> [0, i, 0] }",
        "{ S1[i] -> [0, i, 1] }",
        "{ S2[i] -> [1, i, 0] }",
        "{ S3[i] -> [2, i, 0] }",
    )
    values = {"n": 6, "m": 5}
    counts, runs = [], []
    for most in (MOST_COPIES, 0):
        monkeypatch.setattr("tilepragma.lower.ast_generation.MOST_COPIES", most)
        made = generate_loops(statements, Symbols(extracted.parameters), itertools.count())
        counts.append(len([node for node in walk(made) if isinstance(node, ExpressionStatement)]))
        interpreter = Interpreter(dict(values))
        interpreter.run(made)
        runs.append((interpreter.stores, interpreter.memory))
    assert counts[1] == 4 < counts[0]
    assert runs[0] == runs[1]


def test_loops_that_would_be_split_too_often_are_compact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilepragma.lower.ast_generation.SPLIT_LIMIT", 10)
    generated = scanned("for (int i = 0; i < n; i++) b[i] = 0;")
    assert text(generated) == "for (i = 0; i < n; i += 1) b[i] = 0;"


def test_isl_is_held_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("SPLIT_LIMIT", "DEFAULT_LIMIT"):
        monkeypatch.setattr(f"tilepragma.lower.ast_generation.{limit}", 10)
    extracted = scop(ANY, "for (int i = 0; i < n; i++) b[i] = 0;", movable=in_parts)
    with pytest.raises(OperationLimitError, match="generating loops"):
        generate_loops(timed(extracted), Symbols(extracted.parameters), itertools.count())


# -- tiles

SEIDEL = (
    "for (int t = 0; t < m; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) A[i][j] = A[i][j - 1];"
)
SKEWED = "{ S0[t, i, j] -> [t, t + i, 2t + i + j] }"
LEVELS = (0, 1, 2)
NAMES = ((origin_of, "o"), (size_of, "s"))


def variable(name: str) -> Access:
    return Access(DataObject(name, name, LONG, Storage.SCALAR, Scope.LOCAL), (), (), LONG)


def tile_symbols(extracted: Scop, levels: tuple[int, ...]) -> Symbols:
    tiles = {name(level): variable(f"{letter}{level}") for level in levels for name, letter in NAMES}
    return Symbols({**extracted.parameters, **tiles})


def seidel() -> tuple[Scop, tuple[ScheduledStatement, ...]]:
    extracted = scop(ANY, SEIDEL, movable=in_parts)
    return extracted, timed(extracted, SKEWED)


def test_a_tile_s_points_are_clipped_at_the_border() -> None:
    extracted = scop(ANY, "for (int i = 0; i < n; i++) b[i] = 0;", movable=in_parts)
    symbols = tile_symbols(extracted, (0,))
    tile = points_of_tile(timed(extracted, "{ S0[i] -> [i] }"), (0,))
    made = generate_loops(tile, symbols, itertools.count(), sizes_are_positive(extracted.context, (0,)))
    assert text(made) == "for (i = tilek_maximum(0, o0); i < tilek_minimum(n, o0 + s0); i += 1) b[i] = 0;"


def test_bounds_of_tiles_are_quotients_of_bounds_of_rows() -> None:
    found, statements = seidel()
    symbols = tile_symbols(found, LEVELS)
    bounds = tile_range(statements, 0, symbols)
    assert bounds is not None
    assert expression_text(short_expression(bounds.low)) == "0"
    assert expression_text(short_expression(bounds.high)) == "tilek_floor_quotient((long)m - 1, s0)"
    rows = row_range(statements, 1, symbols)
    assert rows is not None
    assert [expression_text(short_expression(end)) for end in (rows.low, rows.high)] == [
        "1",
        "(long)m + (long)n - 3",
    ]


def test_statements_without_a_common_bound_take_the_least_and_the_greatest() -> None:
    body = "for (int i = 0; i < n; i++) b[i] = 0; for (int i = 3; i < m; i++) b[i] = 1;"
    extracted = scop(ANY, body, movable=in_parts)
    bounds = row_range(timed(extracted, "{ S0[i] -> [i] }", "{ S1[i] -> [i] }"), 0, Symbols(extracted.parameters))
    assert bounds is not None
    assert expression_text(short_expression(bounds.low)) == "0"
    assert expression_text(short_expression(bounds.high)) == "tilek_maximum((long)m - 1, (long)n - 1)"


def test_no_instance_has_no_range() -> None:
    extracted = scop(ANY, "for (int i = 0; i < n; i++) b[i] = 0;", movable=in_parts)
    nothing = timed(extracted, "{ S0[i] -> [i] : i < 0 }")
    assert row_range(nothing, 0, Symbols(extracted.parameters)) is None
    assert generate_loops(nothing, Symbols(extracted.parameters), itertools.count()) == Block(())


def test_one_iteration_of_loops_around_is_a_parameter() -> None:
    extracted = scop(ANY, "for (int t = 0; t < m; t++) for (int i = t; i < n; i++) b[i] = t;", movable=in_parts)
    statements = at_values(timed(extracted, "{ S0[t, i] -> [t, i] }"), {0: "p"})
    made = generate_loops(statements, Symbols({**extracted.parameters, "p": variable("outer")}), itertools.count())
    interpreter = Interpreter({"n": 4, "m": 3, "outer": 2})
    interpreter.run(made)
    assert interpreter.stores == [("b", (2,)), ("b", (3,))]


def test_a_condition_tells_tiles_without_points_unless_bounds_do() -> None:
    extracted = scop(ANY, "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) A[i][j] = 0;", movable=in_parts)
    statements = timed(extracted, "{ S0[i, j] -> [i, j] }")
    levels = LEVELS[:2]
    symbols = tile_symbols(extracted, levels)
    every = has_points(statements, levels, symbols)
    inside = has_points(statements, levels, symbols, bounded=levels)
    assert every is not None and inside is not None
    assert expression_text(inside) == "n >= 1 && o0 + s0 >= o1 + 1"
    assert len(expression_text(every)) > len(expression_text(inside))
    known = isl.Set("[n] -> { : n >= 1 }", context=extracted.context)
    assert has_points(statements, levels[:1], symbols, known, levels[:1]) is None


def values_in(interpreter: Interpreter, span: Bounds) -> range:
    least, greatest = (interpreter.value(short_expression(end)) for end in (span.low, span.high))
    return range(least, greatest + 1)


def count_tiles(
    statements: tuple[ScheduledStatement, ...], symbols: Symbols, values: dict[str, int]
) -> tuple[int, int]:
    """How many tiles the loops over wavefronts visit, and how many of them the condition lets pass."""
    waves = wavefront_range(statements, LEVELS, symbols)
    ranges = wavefront_tiles(statements, LEVELS, polynomial(variable("wave")), symbols)
    assert waves is not None and ranges is not None
    condition = has_points(statements, LEVELS, symbols)
    assert condition is not None
    visited = passed = 0
    plain = Interpreter(dict(values))
    for wave in values_in(plain, waves):
        own = Interpreter({**values, "wave": wave})
        numbers = [values_in(own, span) for span in ranges]
        for first in numbers[0]:
            for second in numbers[1]:
                visited += 1
                tile = (first, second, wave - first - second)
                own.scalars |= {f"o{place}": number * values[f"s{place}"] for place, number in enumerate(tile)}
                passed += bool(own.value(condition))
    return visited, passed


def test_wavefronts_visit_few_tiles_that_have_no_points() -> None:
    found, statements = seidel()
    values = {"n": 60, "m": 40, "s0": 8, "s1": 8, "s2": 8}
    visited, passed = count_tiles(statements, tile_symbols(found, LEVELS), values)
    exact = len(
        {(t // 8, (t + i) // 8, (2 * t + i + j) // 8) for t in range(40) for i in range(1, 59) for j in range(1, 59)}
    )
    assert exact <= passed <= exact * 1.05
    assert visited <= 4 * exact


@pytest.mark.parametrize(
    ("body", "time", "exact"),
    [
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) A[i][j] = 0;",
            "{ S0[i, j] -> [i, j] }",
            {(i // 8, j // 5) for i in range(60) for j in range(i + 1)},
        ),
        (
            "for (int t = 0; t < m; t++) for (int i = 1; i < n - 1; i++) b[i] = b[i - 1];",
            "{ S0[t, i] -> [t, t + i] }",
            {(t // 8, (t + i) // 5) for t in range(40) for i in range(1, 59)},
        ),
    ],
    ids=["triangle", "parallelogram"],
)
def test_two_rows_leave_no_wavefront_a_tile_without_points(body: str, time: str, exact: set[tuple[int, int]]) -> None:
    extracted = scop(ANY, body, movable=in_parts)
    levels = LEVELS[:2]
    statements, symbols = timed(extracted, time), tile_symbols(extracted, levels)
    waves = wavefront_range(statements, levels, symbols)
    tiles = wavefront_tiles(statements, levels, polynomial(variable("wave")), symbols)
    assert waves is not None and tiles is not None
    values = {"n": 60, "m": 40, "s0": 8, "s1": 5}
    plain = Interpreter(dict(values))
    visited = []
    for wave in values_in(plain, waves):
        own = Interpreter({**values, "wave": wave})
        visited += [(tile, wave - tile) for tile in values_in(own, tiles[0])]
    assert sorted(visited) == sorted(exact)
