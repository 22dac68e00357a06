"""Long lines of generated C are broken between tokens, outside literals, at the outermost place."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tilepragma.codegen.writer import WIDTH, wrapped, wrapped_list

TERM = "A[(long)(i - 1) * A_length1 + j]"


def test_a_line_that_fits_stays() -> None:
    assert wrapped("x = y;", "    ") == ["    x = y;"]


def test_breaks_are_at_the_outermost_operator() -> None:
    assert wrapped(f"B[i] = {' + '.join([TERM] * 5)};", "    ") == [
        f"    B[i] = {TERM} + {TERM}",
        f"        + {TERM} + {TERM}",
        f"        + {TERM};",
    ]


def test_an_assignment_is_broken_before_a_subscript_is() -> None:
    target = "B[" + "i * n + " * 9 + "j]"
    first, second = wrapped(f"{target} = A[{'i + ' * 8}j];", "")
    assert (first, second) == (f"{target} =", f"    A[{'i + ' * 8}j];")


def test_literals_are_never_broken() -> None:
    text = "x = f(" + ", ".join(["'\\'', ',', \" + , \\\" ; \""] * 12) + ");"
    lines = wrapped(text, "")
    assert len(lines) > 1
    assert all(line.count('"') % 2 == 0 for line in lines)


def test_a_long_start_does_not_keep_the_rest_together() -> None:
    name = "x" * 120
    assert wrapped(f"{name}(a, b);", "") == [f"{name}(a,", "    b);"]
    assert wrapped(f"long y = {name};", "") == ["long y =", f"    {name};"]


def test_what_cannot_be_broken_stays_long() -> None:
    name = "x" * 200
    assert wrapped(f"{name}();", "") == [f"{name}();"]


def test_a_list_that_does_not_fit_has_lines_of_its_own() -> None:
    items = [f"const long parameter{k}" for k in range(9)]
    assert wrapped_list("void f(", items[:2], ")") == "void f(const long parameter0, const long parameter1)"
    lines = wrapped_list("void f(", items, ")").split("\n")
    assert lines[0] == "void f("
    assert lines[1].startswith("    const long parameter0, ")
    assert lines[-1].endswith("parameter8)")
    assert max(map(len, lines)) <= WIDTH


tokens = st.sampled_from(["a", "b[i]", "+", "-", "*", "(", ")", ",", ";", "=", "+=", "&&", "?", ":", "'+'", '" * , "'])


@given(st.lists(tokens, max_size=120))
def test_only_white_space_changes(words: list[str]) -> None:
    text = " ".join(words)
    joined = " ".join(line.strip() for line in wrapped(text, "    "))
    assert re.sub(r"\s+", " ", joined).strip() == re.sub(r"\s+", " ", text).strip()
