"""Which arrays of one dimension have rows, and which subscripts leave them."""

from __future__ import annotations

import pytest

from tests.support.scops import kernel_of
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import Polynomial, expression
from tilepragma.poly.delinearise import Leaving, Rows, constant_rows
from tilepragma.poly.extraction import array_subscripts


def as_it_stands(value: Polynomial) -> Polynomial:
    return value


def found(body: str, parameters: str = "int n, float *a, float x", before: str = "") -> Rows | Leaving | None:
    kernel = kernel_of(parameters, body, before)
    subscripts = array_subscripts(kernel.body.statements, kernel.functions, written_objects(kernel))
    (used,) = [used for object_, used in subscripts.items() if object_.name == "a"]
    return constant_rows(used, as_it_stands)


def strides(rows: Rows | Leaving | None) -> list[str]:
    assert isinstance(rows, Rows)
    return [plain_text(expression(stride)) for stride in rows.strides]


def texts(rows: Rows | Leaving | None) -> list[str]:
    assert isinstance(rows, Rows)
    return sorted("".join(f"[{plain_text(expression(part))}]" for part in parts) for parts in rows.parts.values())


NEST = "for (int y = 1; y < n; y++) for (int x = 1; x < 39; x++)"


@pytest.mark.parametrize(
    ("subscript", "wanted"),
    [
        ("40*y + x", "[y][x]"),
        ("(y + 2)*40 + x - 1", "[y + 2][x - 1]"),
        ("40*y + x - 41", "[y - 1][x - 1]"),
        ("40*y + x + 81", "[y + 2][x + 1]"),
        ("40*y + 39 - x", "[y][39 - x]"),
        ("-40*y + x", "[-y][x]"),
        ("80*y + x + 40", "[y][x + 40]"),
        ("(40*y + x)*3 + 2", "[y][(3 * x) + 2]"),
    ],
)
def test_subscripts_are_taken_apart(subscript: str, wanted: str) -> None:
    assert texts(found(f"{NEST} a[{subscript}] = x;")) == [wanted]


def test_all_dimensions_are_found() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 1; j < 64; j++) for (int k = 0; k < 64; k++)"
    rows = found(f"{body} a[4096*i + 64*j + k] = a[4096*i + 64*(j - 1) + 63 - k];")
    assert strides(rows) == ["4096", "64"]
    assert texts(rows) == ["[i][j - 1][63 - k]", "[i][j][k]"]


def test_what_all_accesses_agree_on_is_chosen() -> None:
    # Rows of 20 suit the first access alone.
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < 20; j++)"
    rows = found(f"{body} {{ a[80*i + 20*(j / 8) + j] = 0; for (int k = 0; k < 80; k++) a[80*i + k] = x; }}")
    assert strides(rows) == ["80"]


def test_diagonals_belong_to_the_rows_of_others() -> None:
    body = "for (int i = 0; i < 40; i++) { a[41*i] = 1; a[39*i + 39] = 2; for (int j = 0; j < i; j++) a[40*i + j] = a[40*j + i]; }"
    assert texts(found(body)) == ["[i][39 - i]", "[i][i]", "[i][j]", "[j][i]"]


def test_conditions_keep_accesses_in_their_rows() -> None:
    body = "for (int y = 0; y < n; y++) for (int x = 0; x < 40; x++) if (x > 0) a[40*y + x] = a[40*y + x - 1];"
    assert texts(found(body)) == ["[y][x - 1]", "[y][x]"]


@pytest.mark.parametrize(
    ("access", "length"), [("40*y + x - 2", 40), ("40*y + x + 2", 40), ("40*y + 2*x", 40), ("40*x + y", 40)]
)
def test_what_leaves_its_row_is_named(access: str, length: int) -> None:
    left = found(f"{NEST} a[{access}] = a[40*y + x];")
    assert isinstance(left, Leaving) and left.length.constant == length


@pytest.mark.parametrize(
    "access", ["y + x", "8*y + x % 8", "40*y", "index[40*y + x]", "40*y + index[x]", "40*y*x", "40*y + x*n", "n*y + x"]
)
def test_nothing_suggests_rows_elsewhere(access: str) -> None:
    made = found(f"{NEST} a[{access}] = x;", "int n, float *a, const int *index, float x")
    assert not isinstance(made, Rows)


@pytest.mark.parametrize(
    ("bound", "subscript", "wanted", "length"),
    [
        ("w", "w*y + x", "[y][x]", "w"),
        ("w", "(size_t)w * y + w - 1 - x", "[y][w - x - 1]", "w"),
        ("w", "(w + 2)*(y - 1) + x + 1", "[y - 1][x + 1]", "w + 2"),
        ("w", "3*(w*y + x) + 1", "[y][3 * x + 1]", "3 * w"),
        ("w", "2*w*y + x + w", "[2 * y + 1][x]", "w"),
    ],
)
def test_lengths_may_be_parameters(bound: str, subscript: str, wanted: str, length: str) -> None:
    body = f"for (int y = 1; y < n; y++) for (int x = 0; x < {bound}; x++) a[{subscript}] = x;"
    rows = found(body, "int n, int w, float *a", "#include <stddef.h>")
    assert strides(rows) == [length]
    assert [text.replace("(", "").replace(")", "") for text in texts(rows)] == [wanted]


def test_lengths_may_be_products() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < w; j++) for (int k = 0; k < p; k++) a[(i*w + j)*p + k] = i;"
    rows = found(body, "int n, int w, int p, float *a")
    assert isinstance(rows, Rows)
    assert [plain_text(expression(length)) for length in rows.lengths] == ["w", "p"]
    assert texts(rows) == ["[i][j][k]"]


def test_a_test_at_the_launch_proves_no_rows() -> None:
    assert (
        found(
            "for (int y = 0; y < n; y++) for (int x = 0; x < w; x++) a[p*y + x] = 1;", "int n, int w, int p, float *a"
        )
        is None
    )
