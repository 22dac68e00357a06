"""Nests that are too much for the engine: planned conservatively, in bounded time, never an internal fault."""

from __future__ import annotations

import random
import time

import pytest

from tests.support.source_plans import plans

#: Far more than any of these takes on a busy machine; a nest that isl never finishes takes hours.
SECONDS = 60


def deep(depth: int, triangular: bool) -> str:
    iterators = [f"i{place}" for place in range(depth)]
    header = "".join(
        f"for (int {name} = {iterators[place - 1] if triangular and place else 0}; {name} < n; {name}++)\n"
        for place, name in enumerate(iterators)
    )
    subscript = " + ".join(f"{3**place} * {name}" for place, name in enumerate(iterators))
    return f"void f(int n, double *a, const double *b) {{\n#pragma tilek kernel\n{header}a[i0] += b[{subscript}];\n}}"


def statements(count: int, *, one_nest: bool) -> str:
    chance = random.Random(count)
    loops = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
    shift = ("", " - 1", " + 1")
    body = []
    for place in range(count):
        target = f"a{place % 6}[i{chance.choice(shift)}][j]"
        text = f"{target} = a{chance.randrange(6)}[i][j{chance.choice(shift)}] * 2 + a{chance.randrange(6)}[i + 1][j];"
        body.append(text if one_nest else f"{loops} {text}")
    inside = f"{loops} {{ {' '.join(body)} }}" if one_nest else f"{{ {' '.join(body)} }}"
    arrays = ", ".join(f"double a{place}[n][n]" for place in range(6))
    return f"void f(int n, {arrays}) {{\n#pragma tilek kernel\n{inside}\n}}"


def conditions(depth: int) -> str:
    tests = "".join(f"if (i % {k + 2} == {k % (k + 2)} || i > m + {k}) {{ a[i] += b[i + {k}];" for k in range(depth))
    return (
        "void f(int n, int m, double *restrict a, const double *b) {\n#pragma tilek kernel\n"
        f"for (int i = 0; i < n; i++) {{ a[i] = 0; {tests}{'}' * depth} }}\n}}"
    )


def divisions(count: int) -> str:
    subscript = " + ".join(f"(i * {k + 3}) % {7919 + k} / {k + 2}" for k in range(count))
    return (
        "void f(int n, double *restrict a, const double *b) {\n#pragma tilek kernel\n"
        f"for (int i = 0; i < n; i++) {{ a[i] = b[{subscript}]; a[{subscript}] = 0; }}\n}}"
    )


def choices(count: int) -> str:
    bound = "n"
    for k in range(count):
        bound = f"({bound} < m * {k + 1} + {k} ? {bound} : m * {k + 1} + {k})" if k < 4 else f"(m < {k} ? {bound} : m)"
    return (
        "void f(int n, int m, double *restrict a, const double *b) {\n#pragma tilek kernel\n"
        f"for (int i = 0; i < {bound}; i++) a[i] = b[i + {bound}];\n}}"
    )


HUGE = """
void f(long n, long m, unsigned long u, double *restrict a, const double *b) {
#pragma tilek kernel
  {
    for (long i = 0; i < n; i++)
      for (long j = 0; j < m; j++)
        a[1000000007 * i + 998244353 * j] = b[1000000007 * j + 4611686018427387904 * i - 9223372036854775807 * j];
    for (long i = 9223372036854775807; i > n; i -= 4611686018427387904)
      for (unsigned long j = 18446744073709551615u; j > u; j -= 9223372036854775809u)
        a[i + j] = b[i * j];
    for (int i = -2147483647 - 1; i <= 2147483647 - 1; i++)
      a[i + 2147483648] = 1;
  }
}"""


@pytest.mark.parametrize(
    "source",
    [
        deep(12, triangular=False),
        deep(12, triangular=True),
        deep(7, triangular=True),
        statements(60, one_nest=True),
        statements(60, one_nest=False),
        conditions(8),
        conditions(20),
        divisions(3),
        divisions(9),
        choices(4),
        choices(9),
        HUGE,
    ],
    ids=[
        "12 loops",
        "12 loops, triangular",
        "7 loops, triangular",
        "60 statements in a nest",
        "60 nests",
        "8 conditions deep",
        "20 conditions deep",
        "3 divisions",
        "9 divisions",
        "4 choices",
        "9 choices",
        "great numbers",
    ],
)
def test_a_hard_nest_is_planned_in_time(source: str) -> None:
    started = time.monotonic()
    assert len(plans(source)) == 1
    assert time.monotonic() - started < SECONDS
