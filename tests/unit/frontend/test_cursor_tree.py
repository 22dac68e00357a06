"""What libclangs of other versions lack is made up for by the text."""

from __future__ import annotations

import pytest
from frontend_text import in_kernel, kernel, messages, nodes, text

from tilepragma.frontend.clang import cursor_tree
from tilepragma.ir.expressions import Access, Assignment, Increment


@pytest.fixture
def old_libclang(monkeypatch: pytest.MonkeyPatch) -> None:
    """A libclang that does not tell operators (before 17)."""
    monkeypatch.setattr(cursor_tree.Node, "_operator_code", lambda _node, _function: None)


@pytest.mark.usefixtures("old_libclang")
def test_operators_are_read_from_the_text_where_libclang_does_not_tell_them() -> None:
    result = in_kernel(
        "a[i] = -a[i] + (n * m) /* - */ % (3); a[0] <<= 1; n++; --m; *a = !n && ~m; a[i] += n >= m ? *(a + 1) : 2;",
        "int n, int m, long *a",
    )
    assert [text(n) for n in nodes(result.body, Assignment)] == [
        "a[i] = (-a[i] + ((n * m) % 3))",
        "a[0] <<= 1",
        "a[0] = (!n && ~m)",
        "a[i] += ((n >= m) ? a[1] : 2)",
    ]
    assert [text(n) for n in nodes(result.body, Increment)][-2:] == ["n++", "--m"]


@pytest.mark.usefixtures("old_libclang")
def test_an_operator_hidden_in_a_macro_is_refused_then() -> None:
    source = """#define SUM(x, y) x + y
void f(int n, double *a) {
#pragma tilek kernel
for (int i = 0; i < n; i++) a[i] = SUM(1, 2);
}"""
    assert messages(source) == ["error: this libclang does not tell which operator stands in the macro"]


def test_tabs_and_bytes_beyond_ascii_do_not_move_columns() -> None:
    source = (
        "/* äöü */ void f(int n, double *a) {\n#pragma tilek kernel\n\tfor (int i = 0; i < n; i++) /* ß */ a[i] = 0;\n}"
    )
    (access,) = [n for n in nodes(kernel(source).body, Access) if n.object.name == "a"]
    start = access.range.start
    assert source.encode()[start.offset : start.offset + 4] == b"a[i]"
    assert (start.line, start.column) == (3, start.offset - source.encode().rfind(b"\n", 0, start.offset))


def test_carriage_returns_are_blanks() -> None:
    source = "void f(int n, double *a) {\r\n#pragma tilek kernel\r\nfor (int i = 0; i < n; i++)\r\n  a[i] = 0;\r\n}\r\n"
    result = kernel(source)
    assert source[result.range.start.offset : result.range.end.offset] == "for (int i = 0; i < n; i++)\r\n  a[i] = 0;"
