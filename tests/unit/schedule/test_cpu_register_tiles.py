"""Register tiles: which loops get them, and what the verifier says of buffers that are wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.directives import WIDEST_VECTORS, VectorRegisters
from tilepragma.ir.expressions import Binary, access_to, integer
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    ExpressionStatement,
    If,
    Loop,
    PackedPanels,
    Panel,
    Statement,
    TileNest,
)
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.traversal import loops_in, walk, with_blocks
from tilepragma.ir.types import DOUBLE, FLOAT, INT
from tilepragma.plan.kernel_plan import KernelPlan, Launch, Step
from tilepragma.schedule.cpu_register_tiles import tile_extents
from tilepragma.schedule.default_sizes import THROUGH_TILE
from tilepragma.verify.proofs import prove

ROWS, COLUMNS = tile_extents(FLOAT, WIDEST_VECTORS)
HEADS = {"i": "for (int i = 0; i < n; i++)", "j": "for (int j = 0; j < m; j++)", "k": "for (int k = 0; k < p; k++)"}


def product(order: str = "ikj", type_: str = "float", heads: dict[str, str] = HEADS, update: str = "") -> KernelPlan:
    loops = " ".join(heads[name] for name in order)
    return plan(f"""
    void f(int n, int m, int p, {type_} c[n][m], {type_} a[n][p], {type_} b[p][m], {type_} d[m][p])
    {{
    #pragma tilek kernel
        {loops} {update or "c[i][j] += a[i][k] * b[k][j];"}
    }}""")


def buffers(found: KernelPlan) -> list[Panel]:
    nodes = (node for launch in found.host for node in walk(launch.body))
    return [buffer for node in nodes if isinstance(node, PackedPanels) for buffer in node.buffers]


def described(found: list[Panel]) -> list[str]:
    """`6x{COLUMNS} c[i][j]`, one a buffer."""
    return [
        "x".join(str(getattr(length, "value", None)) for length in each.object.lengths)
        + f" {expression_text(each.access)}"
        for each in found
    ]


def held(found: KernelPlan, *, padded: bool = False) -> list[str]:
    """The register tiles, of the columns that fill them or of those that are left."""
    return described([buffer for buffer in buffers(found) if buffer.stored and buffer.padded == padded])


def packed(found: KernelPlan, *, padded: bool = False) -> list[str]:
    """The panels, of the columns that fill them or of those that are left."""
    return described([buffer for buffer in buffers(found) if not buffer.stored and buffer.padded == padded])


@pytest.mark.parametrize("order", ["".join(order) for order in itertools.permutations("ijk")])
def test_a_product_in_any_order_of_its_loops_keeps_elements_in_registers(order: str) -> None:
    assert held(product(order)) == [f"{ROWS}x{COLUMNS} c[i][j]"]
    assert packed(product(order)) == [f"{THROUGH_TILE}x{COLUMNS} b[k][j]"]


@pytest.mark.parametrize("factor", ["b[k][j]", "d[j][k]", "(b[k][j] - d[j][k])"])
def test_columns_that_are_left_run_in_a_tile_of_their_own_with_zeros_beside(factor: str) -> None:
    result = product("ijk", update=f"c[i][j] += a[i][k] * {factor};")
    assert held(result, padded=True) == held(result) == [f"{ROWS}x{COLUMNS} c[i][j]"]
    assert packed(result, padded=True) == packed(result) != []
    assert prove(result) == ()


@pytest.mark.parametrize(
    ("update", "type_"),
    [
        ("c[i][j] += a[i][k] / b[k][j];", "int"),  # a 0 in the panel ends the program
        ("c[i][j] += a[i][k] * b[k][j] * d[0][j];", "float"),  # what lies beyond the last column of d is nobody's
    ],
)
def test_columns_that_are_left_keep_their_loops_where_more_than_panels_would_be_read(update: str, type_: str) -> None:
    result = product("ijk", type_, update=update)
    assert held(result) == [f"{ROWS}x{COLUMNS} c[i][j]"]
    assert held(result, padded=True) == packed(result, padded=True) == []


def test_vectors_hold_fewer_doubles() -> None:
    assert held(product(type_="double")) == [f"{ROWS}x{tile_extents(DOUBLE, WIDEST_VECTORS)[1]} c[i][j]"]


def test_devices_keep_the_loops_as_written() -> None:
    result = product()
    assert not any(isinstance(node, PackedPanels) for launch in result.device for node in walk(launch.body))


def test_what_scales_the_elements_first_runs_before() -> None:
    result = plan("""
    void f(int n, double beta, double c[n][n], double a[n][n], double b[n][n])
    {
    #pragma tilek kernel
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) c[i][j] *= beta;
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++) c[i][j] += a[i][k] * b[k][j];
        }
    }""")
    (launch,) = result.host
    (block,) = launch.loops
    names = {size.object.name: (size.host, size.unit) for size in result.sizes}
    assert names == {"i_size": (96, ROWS)}, "scaling has the product's blocks"
    scaled, product = (
        statement for statement in _nest(launch).body.statements if not isinstance(statement, Declaration)
    )
    assert not any(isinstance(node, PackedPanels) for node in walk(scaled))
    assert any(isinstance(node, PackedPanels) for node in walk(product))


def _nest(launch: Launch) -> TileNest:
    (nest,) = (node for node in walk(launch.body) if isinstance(node, TileNest))
    return nest


SHARED = {
    "set before, passed on after": (
        "for (int i = 0; i < n; i++) {\n"
        "  for (int j = 0; j < n; j++) { c[i][j] = 0; for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j]; }\n"
        "  for (int j = 0; j < n; j++) a[i][j] = c[i][j]; }",
        1,
    ),
    "other rows are waited for": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) c[n - 1 - i][j] = 0;\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];",
        2,
    ),
    "rows across": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) c[i][j] = b[j][i];\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) d[i][j] += c[j][k] * b[k][i];",
        2,
    ),
    "fewer rows are set": (
        "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) c[i][j] = 0;\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];",
        2,
    ),
    "nothing in common": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) d[i][j] = 0;\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];",
        2,
    ),
    "two products": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) d[i][j] += c[i][k] * b[k][j];",
        2,
    ),
}


@pytest.mark.parametrize(("body", "launches"), SHARED.values(), ids=SHARED)
def test_what_goes_with_a_product_shares_its_blocks(body: str, launches: int) -> None:
    """Where its rows have the same values, and nothing of another block is waited for."""
    arrays = ", ".join(f"double {name}[restrict n][n]" for name in "abcd")
    result = plan(f"void f(int n, {arrays}) {{\n#pragma tilek kernel\n{{ {body} }}\n}}")
    assert len(result.host) == launches


@pytest.mark.parametrize(
    ("upper", "panels"),
    [
        ("i", [f"{THROUGH_TILE}x{COLUMNS} b[k][j]"]),
        ("j < i ? j : i", []),  # the tiles with a full panel are no convex set
    ],
)
def test_below_a_diagonal_the_full_part_of_a_tile_is_kept(upper: str, panels: list[str]) -> None:
    result = product("ijk", heads={**HEADS, "k": f"for (int k = 0; k < ({upper}); k++)"})
    assert held(result) == [f"{ROWS}x{COLUMNS} c[i][j]"]
    assert packed(result) == panels


@pytest.mark.parametrize(
    ("second", "elements"),
    [
        ("c[i][j] -= b[k][j] * a[i][k];", [f"{ROWS}x{COLUMNS} c[i][j]"]),
        ("c[i][j] = 0.5f * c[i][j];", [f"{ROWS}x{COLUMNS} c[i][j]"]),
        ("c[i][j + 1] += a[i][k];", []),  # another element
        ("d[j][k] = c[i][j];", []),  # its sums are seen on the way
    ],
)
def test_several_updates_of_one_element_stay_together(second: str, elements: list[str]) -> None:
    update = f"{{ c[i][j] += a[i][k] * b[k][j]; {second} }}"
    result = product(heads={**HEADS, "j": "for (int j = 0; j < m - 1; j++)"}, update=update)
    assert held(result) == elements
    assert prove(result) == ()


def test_columns_in_strides_are_packed() -> None:
    result = product("ijk", update="c[i][j] += a[i][k] * d[j][k];")
    assert packed(result) == [f"{THROUGH_TILE}x{COLUMNS} d[j][k]"]
    assert held(result) == [f"{ROWS}x{COLUMNS} c[i][j]"]


def test_a_panel_for_tiles_that_may_not_be_there_is_packed_behind_a_test() -> None:
    result = plan("""
    void f(int n, int m, int p, float c[n][m][p], float a[n][m][p], float b[p][p])
    {
    #pragma tilek kernel
        for (int r = 0; r < n; r++)
            for (int q = 0; q < m; q++)
                for (int j = 0; j < p; j++) {
                    c[r][q][j] = 0;
                    for (int k = 0; k < p; k++)
                        c[r][q][j] += a[r][q][k] * b[k][j];
                }
    }""")
    assert packed(result) == [f"{THROUGH_TILE}x{COLUMNS} b[k][j]"]
    tests = [
        node.condition
        for launch in result.host
        for node in walk(launch.body)
        if isinstance(node, If) and any(not each.stored for each in _buffers_in(node.then))
    ]
    assert any("m >= 1" in expression_text(each) for each in tests), "without any q nothing of b is read"


def _buffers_in(block: Block) -> list[Panel]:
    return [buffer for node in walk(block) if isinstance(node, PackedPanels) for buffer in node.buffers]


def test_the_same_array_may_be_read_where_a_full_tile_has_no_element() -> None:
    result = plan("""
    void f(int n, int m, double a[n][n], double b[n][m])
    {
    #pragma tilek kernel
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                for (int k = i + 1; k < n; k++) b[i][j] += a[k][i] * b[k][j];
    }""")
    assert held(result) == [f"{ROWS}x{tile_extents(DOUBLE, WIDEST_VECTORS)[1]} b[i][j]"]


@pytest.mark.parametrize(
    "update",
    [
        "c[i][j] = a[i][k] * b[k][j];",  # the last one stays: nothing is summed up
        "c[i][j] += a[i][k] * d[(i + j) % 3][2 * k];",  # nothing in common below each other, and no row of memory to run along
        "c[i][j] += c[i][k] * b[k][j];",  # of the tile itself
    ],
)
def test_other_updates_keep_their_loops(update: str) -> None:
    assert held(product("ikj", update=update)) == []


def test_elements_spelled_with_what_runs_through_keep_their_loops() -> None:
    result = product("ijk", update="c[i][k - k + j] += a[i][k] * b[k][j];")
    assert held(result) == []
    assert prove(result) == ()


def test_dot_products_that_no_column_has_in_common_keep_rows_alone() -> None:
    assert held(product("ikj", update="c[i][j] += a[i][k] * d[(i + j) % 3][k];")) == [f"{ROWS} c[i][j]"]


def sums(update: str, type_: str = "double") -> KernelPlan:
    return plan(f"""
    void f(int n, int m, {type_} s[n], {type_} t[m], {type_} a[n][m], {type_} x[m])
    {{
    #pragma tilek kernel
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++) {update}
    }}""")


@pytest.mark.parametrize("update", ["s[i] += a[i][j] * x[j];", "s[i] -= a[i][j];", "s[i] = x[j] * a[i][j] + s[i];"])
def test_sums_that_wait_for_themselves_run_several_rows_at_a_time(update: str) -> None:
    assert held(sums(update)) == [f"{ROWS} s[i]"]


def test_sums_of_a_body_run_as_launches_of_their_own() -> None:
    result = plan("""
    void f(int n, double s[n], double t[n], double a[n][n], double b[n][n], double x[n])
    {
    #pragma tilek kernel
        for (int i = 0; i < n; i++) {
            s[i] = t[i] = 0;
            for (int j = 0; j < n; j++) {
                s[i] += a[i][j] * x[j];
                t[i] += b[i][j] * x[j];
            }
            t[i] = s[i] + 2 * t[i];
        }
    }""")
    assert held(result) == [f"{ROWS} s[i]", f"{ROWS} t[i]"]


@pytest.mark.parametrize(
    ("update", "type_"),
    [
        ("s[i] += a[i][j] * x[j];", "int"),  # compilers run vectors along such sums
        ("t[j] += a[i][j];", "double"),  # vectors run along t
        ("s[i] = a[i][j] * x[j];", "double"),
        ("s[i] += a[j][2 * i] * x[j];", "double"),  # no row of memory to run along
    ],
)
def test_other_sums_keep_their_loops(update: str, type_: str) -> None:
    assert held(sums(update, type_)) == []


def test_a_loop_of_one_iteration_has_no_next_one() -> None:
    heads = {**HEADS, "i": "for (int i = 2; i < 3; i++)"}
    assert isinstance(product("ikj", heads=heads), KernelPlan)


def test_tiles_of_a_wavefront_without_its_diagonal_keep_rows_alone() -> None:
    result = plan("""
    void f(int n, double l[n][n], double x[n], double b[n])
    {
    #pragma tilek kernel
        for (int i = 0; i < n; i++) {
            x[i] = b[i];
            for (int j = 0; j < i; j++) x[i] -= l[i][j] * x[j];
            x[i] = x[i] / l[i][i];
        }
    }""")
    assert held(result) == [f"{ROWS} x[i]"]


@pytest.mark.parametrize(("lower", "upper"), ["aa", "lu"])
def test_updates_of_a_factorisation_keep_elements_on_both_sides_of_its_diagonal(lower: str, upper: str) -> None:
    """And no panels: a tile of its wavefronts has few of the values that run through."""
    result = plan(f"""
    void f(int n, float a[n][n], float l[n][n], float u[n][n])
    {{
    #pragma tilek kernel
        for (int i = 0; i < n; i++) {{
            for (int j = 0; j < i; j++) {{
                for (int k = 0; k < j; k++) {lower}[i][j] -= {lower}[i][k] * {upper}[k][j];
                {lower}[i][j] /= {upper}[j][j];
            }}
            for (int j = i; j < n; j++)
                for (int k = 0; k < i; k++) {upper}[i][j] -= {lower}[i][k] * {upper}[k][j];
        }}
    }}""")
    assert sorted(held(result)) == [f"{ROWS}x{COLUMNS} {array}[i][j]" for array in (lower, upper)]
    assert packed(result) == []


# -- broken plans


def panel_parts(found: KernelPlan, change: Callable[[PackedPanels], Statement]) -> KernelPlan:
    """The plan with every PackedPanels on the host changed."""

    def in_block(block: Block) -> Block:
        statements = []
        for statement in block.statements:
            inner = in_block(statement) if isinstance(statement, Block) else with_blocks(statement, in_block)
            statements.append(change(inner) if isinstance(inner, PackedPanels) else inner)
        return replace(block, statements=tuple(statements))

    def in_step(step: Step) -> Step:
        assert isinstance(step, Launch)
        return replace(step, body=in_block(step.body))

    return replace(found, host_steps=tuple(in_step(step) for step in found.host_steps))


def with_buffer(change: Callable[[Panel], Panel]) -> Callable[[PackedPanels], PackedPanels]:
    """With what changes full register tiles; panels stay."""
    return lambda node: replace(
        node,
        buffers=tuple(change(buffer) if buffer.stored and not buffer.padded else buffer for buffer in node.buffers),
    )


def with_padded(change: Callable[[Panel], Panel]) -> Callable[[PackedPanels], PackedPanels]:
    """With what changes padded buffers; others stay."""
    return lambda node: replace(
        node, buffers=tuple(change(buffer) if buffer.padded else buffer for buffer in node.buffers)
    )


def extent(number: int, place: int) -> Callable[[Panel], Panel]:
    """One of the buffer's loops to run `number` times."""

    def change(buffer: Panel) -> Panel:
        loops = [replace(loop, upper=integer(number)) if at == place else loop for at, loop in enumerate(buffer.loops)]
        return replace(buffer, loops=tuple(loops))

    return change


def lengths(*numbers: int) -> Callable[[Panel], Panel]:
    return lambda buffer: replace(buffer, object=replace(buffer.object, lengths=tuple(map(integer, numbers))))


BROKEN: dict[str, tuple[Callable[[Panel], Panel], str]] = {
    "too short": (lengths(ROWS - 1, COLUMNS), "is too small"),
    "rows left out": (extent(ROWS - 1, 0), "lacks elements that are accessed"),
    "columns left out": (extent(COLUMNS - 1, 1), "lacks elements that are accessed"),
    "a row too many": (
        lambda one: extent(ROWS + 1, 0)(lengths(ROWS + 1, COLUMNS)(one)),
        "has elements that are not surely accessed",
    ),
    "one place for a column": (
        lambda one: replace(one, subscripts=(one.subscripts[0], integer(0))),
        "has one place for several elements, or several for one",
    ),
    "other places": (lambda one: lengths(COLUMNS, COLUMNS)(replace(one, subscripts=one.subscripts[::-1])), ""),
    "not written back": (lambda one: replace(one, stored=False), "is written but not written back"),
    "another element": (
        lambda one: replace(one, access=replace(one.access, subscripts=one.access.subscripts[::-1])),
        "has elements that are also accessed in another way inside",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_buffer_is_refused(name: str) -> None:
    change, sentence = BROKEN[name]
    result = prove(panel_parts(product(), with_buffer(change)))
    if sentence:
        assert sentence in " ".join(fault.message for fault in result)
    else:
        assert result == (), "rows and columns may change places in the buffer"


def test_an_element_spelled_with_an_iterator_inside_is_refused() -> None:
    """c[i + (k - k)][j]: the same element, but k is none where it is read and written back."""

    def change(node: PackedPanels) -> PackedPanels:
        (buffer,) = node.buffers
        k = next(access_to(loop.iterator) for loop in loops_in(node.body) if loop.iterator.name == "k")
        row, column = buffer.access.subscripts
        moved = Binary("+", row, Binary("-", k, k, INT), INT)
        return replace(node, buffers=(replace(buffer, access=replace(buffer.access, subscripts=(moved, column))),))

    broken = panel_parts(product(), change)
    assert "names an iterator of a loop inside" in " ".join(fault.message for fault in prove(broken))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda one: replace(one, padded=not one.stored), "changes 'c'"),
        (lambda one: replace(one, conditions=()) if one.stored else one, "changes elements in the buffer of 'c'"),
        (
            lambda one: one if one.stored else lengths(THROUGH_TILE, COLUMNS - 1)(one),
            "leaves the buffer of 'b'",
        ),
    ],
)
def test_wrong_padding_is_refused(change: Callable[[Panel], Panel], sentence: str) -> None:
    result = prove(panel_parts(product(), with_padded(change)))
    assert sentence in " ".join(fault.message for fault in result)


def test_a_buffer_around_nothing_but_reads_is_not_written_back() -> None:
    result = product("ijk", update="c[i][j] += a[i][k] * d[j][k];")
    broken = panel_parts(
        result, lambda node: replace(node, buffers=tuple(replace(buffer, stored=True) for buffer in node.buffers))
    )
    assert "the buffer of 'd' has elements that are not surely accessed" in " ".join(
        fault.message for fault in prove(broken)
    )


def test_a_sum_that_is_not_written_back_is_refused() -> None:
    broken = panel_parts(sums("s[i] += a[i][j] * x[j];"), with_buffer(lambda one: replace(one, stored=False)))
    assert "is written but not written back" in " ".join(fault.message for fault in prove(broken))


def test_an_element_that_is_read_otherwise_meanwhile_is_refused() -> None:
    """A triangular product with a row too many: rows that it holds are read as b[k][j] too."""
    result = plan("""
    void f(int n, int m, double b[n][m], double a[n][n])
    {
    #pragma tilek kernel
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                for (int k = 0; k < i; k++) b[i][j] += a[k][i] * b[k][j];
    }""")

    def with_the_diagonal(node: PackedPanels) -> PackedPanels:
        """k up to the row itself."""

        def in_block(block: Block) -> Block:
            (loop,) = (statement for statement in block.statements if isinstance(statement, Loop))
            return replace(block, statements=(replace(loop, upper=Binary("+", loop.upper, integer(1), INT)),))

        return replace(node, body=in_block(node.body))

    faults = " ".join(fault.message for fault in prove(panel_parts(result, with_the_diagonal)))
    assert "the buffer of 'b' has elements that are also accessed in another way inside" in faults


def test_what_is_in_a_buffer_runs_as_the_statement_stands() -> None:
    statements = [
        node for launch in product().host for node in walk(launch.body) if isinstance(node, ExpressionStatement)
    ]
    assert {expression_text(statement.expression) for statement in statements} == {"c[i][j] += a[i][k] * b[k][j]"}


@pytest.mark.parametrize(
    ("vectors", "floats", "doubles"),
    [
        (VectorRegisters(512, 32), (8, 32), (8, 24)),
        (VectorRegisters(256, 16), (4, 24), (2, 24)),
        (VectorRegisters(128, 32), (4, 24), (2, 24)),
        (VectorRegisters(128, 16), (2, 24), (1, 24)),
    ],
)
def test_the_sums_of_a_tile_fit_in_the_registers(
    vectors: VectorRegisters, floats: tuple[int, int], doubles: tuple[int, int]
) -> None:
    for element, (rows, columns) in ((FLOAT, floats), (DOUBLE, doubles)):
        assert tile_extents(element, vectors) == (rows, columns)
        assert rows * columns * element.bits <= vectors.accumulators() * vectors.bits
