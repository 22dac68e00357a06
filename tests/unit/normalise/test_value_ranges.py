"""Sections of arrays whose subscripts are no sums: between which values they lie."""

from __future__ import annotations

import pytest

from tests.support.source_plans import plan
from tilepragma.ir.loop_tree_text import plain_text

SOURCE = """
static const int step[3] = {{-1, 0, 2}};
void f(int n, int m, const int *a, int *restrict b, const unsigned char *restrict c, unsigned u) {{
#pragma tilek kernel data(c[0:n])
    for (int i = 0; i < n; i++) {{ {} }}
}}"""


def section(body: str) -> str | None:
    """`lower : length` of a where hosts run the kernel; None where it runs as written."""
    result = plan(SOURCE.format(body))
    if result.untransformed is not None:
        return None
    (array,) = [array for array in result.arrays if array.object.name == "a"]
    assert array.doubt is not None
    (bound,) = array.section
    return f"{plain_text(bound.lower)} : {plain_text(bound.length)}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("b[i] = a[(i + 1) % m];", "0 : max(m, -m)"),
        ("b[i] = a[(i - m) % (c[i] + 1)];", "(0 >= m ? 0 : -255) : 256 - (0 >= m ? 0 : -255)"),
        ("b[i] = a[c[i]];", "0 : 256"),
        ("b[i] = a[c[i] & 15];", "0 : 16"),
        ("b[i] = a[c[i] / 2 + 1];", "1 : 128"),
        ("b[i] = a[c[i] ^ 5];", "0 : 256"),
        ("b[i] = a[(c[i] & 6) | 8];", "0 : 16"),
        ("b[i] = a[i % 4 + step[i % 3]];", "-1 : 7"),
        ("int k = i % 5; if (c[i] > 9) k = 7; b[i] = a[k];", "0 : 8"),
        ("b[i] = a[(c[i] > 1) + 2 * (i % 3)];", "0 : 6"),
        ("for (int k = 0; k < 4; k++) b[i] += a[k * (c[i] % 3)];", "0 : 7"),
    ],
)
def test_values_lie_between(body: str, expected: str) -> None:
    assert section(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "b[i] = a[b[i]];",
        "int k = 0; while (k < c[i]) k++; b[i] = a[k];",
        "b[i] = a[(i * 2654435761u) >> 28];",
        "b[i] = a[(int)(c[i] * 0.5)];",
        "b[i] = a[(u - c[i]) / 2];",
        "b[i] = a[c[i] ^ -1];",
        "b[i] = a[c[i] | m];",
    ],
)
def test_of_other_values_nothing_is_known(body: str) -> None:
    assert section(body) is None
