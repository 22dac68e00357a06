"""Of which kernels a call on what another one left is as much work: those that decide nothing by what the arrays hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import ROOT
from tests.unit.codegen.test_calling_program import made
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.driver.texts import calling_program
from tilepragma.ir.repetition import has_fixed_work

SAME = (
    "a[i] += b[i];",
    "if (i > 3) a[i] = 0;",
    "if (i < n / 2) a[i] = b[i] > 0 ? b[i] : 0;",
    "for (int j = 0; j < i; j++) a[i] += b[j];",
    "{ float t = b[i]; a[i] = t * t; }",
    "a[i] = square(b[i]);",
    "{ const float weights[2][2] = {{1, 2}, {3, 4}}; a[i] = weights[1][0] * b[i]; }",
    "{ const int left = i > 0 ? i - 1 : n - 1; if (left > 2) a[i] = b[left]; }",
)
OTHER = (
    "if (a[i] > 0.5f) a[i] = expf(a[i]);",
    "{ float t = a[i]; if (t > 0.5f) a[i] = expf(t); }",
    "while (a[i] > 1) a[i] /= 2;",
    "for (int j = 0; j < 9; j++) { if (j > 3 && a[i] < 0) break; a[i] -= 1; }",
    "for (int j = 0; j < (int)a[i]; j++) b[i] += 1;",
    "a[i] = root(b[i]);",
    "{ p[i] += 1; a[p[i]] = 1; }",
    "{ const int j = p[i]; const int k = j + 1; a[k] = 1; }",
    "{ last = i; if (last > 3) a[i] = 1; }",
)
TEXT = """\
float expf(float x);
static float square(float x) {{ return x * x; }}
static float root(float x) {{ float y = x; for (int i = 0; i < 5; i++) y = (y + x / y) / 2; return y; }}
static int last;
void f(int n, float *restrict a, float *restrict b, int *restrict p)
{{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {}
#pragma tilek kernel
    for (int i = 0; i < n; i++) {{ b[i] = i; p[i] = 0; }}
}}
"""


@pytest.mark.parametrize(("body", "again"), [*((each, True) for each in SAME), *((each, False) for each in OTHER)])
def test_what_decides_by_values_may_be_less_work_the_next_time(tmp_path: Path, body: str, again: bool) -> None:
    (tmp_path / "a.c").write_text(TEXT.format(body))
    first, second = translate(TranslateRequest(str(tmp_path / "a.c"), last="choose_sizes")).plans
    assert has_fixed_work(first.source or first.kernel) is again
    assert has_fixed_work(second.source or second.kernel)


def test_all_kernels_of_a_function_count(tmp_path: Path) -> None:
    for plan in (0, 1):
        assert made(tmp_path, TEXT.format(SAME[0]), plan).has_fixed_work
        assert not made(tmp_path, TEXT.format(OTHER[0]), plan).has_fixed_work


@pytest.mark.parametrize("name", ["conv2d", "sgemm", "syr2k", "doitgen"])
def test_the_papers_kernels_do_the_same_again(name: str) -> None:
    result = translate(TranslateRequest(str(ROOT / "samples" / name / f"{name}.c"), last="choose_sizes"))
    assert calling_program(result, result.plans[0]).has_fixed_work
