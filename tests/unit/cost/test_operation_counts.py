"""Floating-point operations of regions: the paper's kernels by its formulas (their errata mended), and what is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source_plans import plans

ROOT = Path(__file__).resolve().parents[3]


def counts(source: str, path: str = "t.c") -> list[list[tuple[int, list[str]]]]:
    return [
        [(each.count, [loop.iterator.name for loop in each.loops]) for each in plan.operations]
        for plan in plans(source, path=path)
    ]


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("sgemm", [(1, ["i", "j"]), (3, ["i", "j", "k"])]),
        ("syr2k", [(1, ["i", "j"]), (6, ["i", "j", "k"])]),
        ("conv2d", [(17, ["i", "j"])]),
        ("doitgen", [(2, ["r", "q", "p", "s"])]),
        ("listing1", [(1, ["i", "j"])]),
    ],
)
def test_samples(sample: str, expected: list[tuple[int, list[str]]]) -> None:
    source = ROOT / "samples" / sample / f"{sample}.c"
    assert counts(source.read_text(), str(source)) == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a[i] = b[i];", []),
        ("a[i] += i + 1;", [(1, ["i"])]),
        ("a[i] = sqrt(b[i]) / 2;", [(2, ["i"])]),
        ("if (b[i] > 0) a[i] = b[i] * 2;", []),
        ("a[i] = b[i] > 1.0 + b[0] ? b[i] * 2 : 0;", [(1, ["i"])]),
        ("for (int j = 0; j < 9; j++) a[i] -= b[i];", [(1, ["i", "j"])]),
        ("for (int j = 0; j < 3; j++) a[i] -= b[i];", [(3, ["i"])]),  # unrolled
        ("for (int j = 0; j < i; j++) a[i] -= b[i];", []),
        ("int j = 0; while (j < 3) { a[i] *= b[i]; j++; }", []),
        ("int j = 0; while (j < 3) j++; a[i] = b[i] * j;", [(1, ["i"])]),
        ("a[i] = own(b[i]) * 2;", []),
    ],
)
def test_bodies(body: str, expected: list[tuple[int, list[str]]]) -> None:
    source = (
        "#include <math.h>\nstatic double own(double x) { return x + 1; }\n"
        "void f(int n, double *a, const double *b)\n{\n"
        "    (void)own;\n#pragma tilek kernel independent data(a[0:n]) data(b[0:n])\n"
        f"    for (int i = 0; i < n; i++) {{ {body} }}\n}}\n"
    )
    assert counts(source) == [expected]
