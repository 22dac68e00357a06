"""A kernel's digest: stable under formatting, and another one for another kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.driver.texts import kernel_digest

SOURCE = """\
#define N 7
static float half(float x) { return x / 2; }
void f(int n, float *a)
{
#pragma tilek kernel independent data(a[0:n])
    for (int i = 0; i < n; i++)
        a[i] = half(a[i]) + N;
}
"""


def digest(folder: Path, text: str) -> str:
    (folder / "a.c").write_text(text)
    result = translate(TranslateRequest(str(folder / "a.c"), last="choose_sizes"))
    return kernel_digest(result, result.plans[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i < n; i++)\n        a[i]", "i<n ;\n\ti++) /* why */ a [i]"),
        ("kernel independent", "kernel  \\\n  independent"),
        ("        a[i]", "        // a comment\n        a[i]"),
        ("void f(int n", "\n\n/* moved */ void g(int n"),
    ],
)
def test_formatting_changes_nothing(tmp_path: Path, old: str, new: str) -> None:
    assert old in SOURCE
    assert digest(tmp_path, SOURCE.replace(old, new)) == digest(tmp_path, SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i < n", "i <= n"),
        (" independent", ""),
        ("N 7", "N 8"),
        ("x / 2", "x / 3"),
        ("float *a", "double *a"),
        ("a[i]) +", "a[i]) -"),
    ],
)
def test_another_kernel_has_another_digest(tmp_path: Path, old: str, new: str) -> None:
    assert old in SOURCE
    assert digest(tmp_path, SOURCE.replace(old, new)) != digest(tmp_path, SOURCE)
