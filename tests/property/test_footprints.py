"""Sections that the engine finds against brute force: run random nests, note what is touched, evaluate the section."""

from __future__ import annotations

import random

import pytest

from tests.support.interpreter import Interpreter
from tests.support.translation_units import parse_translation_unit
from tilepragma.arguments.array_arguments import DataContext, footprint
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.frontend.clang.compiler import CompilerFlags
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.polynomial import expression

SIZES = ((0, 0), (1, 3), (4, 2), (5, 7), (7, 5), (-2, 4))


def kernel(seed: int) -> Kernel:
    """A nest of stores to `a` under affine conditions, bounds with minima, steps."""
    chance = random.Random(seed)
    depth = chance.choice((1, 2, 2))
    headers = []
    for place in range(depth):
        name, outer = "ij"[place], "i" if place else "m"
        lower = chance.choice(("0", "1", "m - 2", f"({outer} > 2 ? {outer} : 2)"))
        upper = chance.choice(("n", "m", f"({outer} + 3 < n ? {outer} + 3 : n)", "2 * n - 1"))
        step = chance.choice((1, 1, 2, 3))
        headers.append(f"for (int {name} = {lower}; {name} < {upper}; {name} += {step})")
    inner = "ij"[depth - 1]
    tests = ("i > 1", f"{inner} % 2 == 0", f"i + {inner} < n", f"{inner} != m")
    stores = []
    for _ in range(chance.choice((1, 2))):
        test = f"if ({chance.choice(tests)}) " if chance.random() < 0.7 else ""
        scale = chance.choice(("", "2 * ", "3 * "))
        offset = chance.choice(("50", "40 - n", "60 + i", "50 - 2 * i"))
        stores.append(f"{test}a[{scale}{inner} + {offset}] = 1;")
    body = f"{' '.join(headers)} {{ {' '.join(stores)} }}"
    source = f"void f(int n, int m, int *a)\n{{\n#pragma tilek kernel\n{body}\n}}\n"
    result = Diagnostics()
    unit = parse_translation_unit("t.c", source.encode(), CompilerFlags(), result)
    assert unit is not None and not result.has_errors, [item.message for item in result]
    return unit.kernels[0]


@pytest.mark.parametrize("seed", range(60))
def test_the_engines_sections_are_exactly_what_is_touched(seed: int) -> None:
    made = kernel(seed)
    (array,) = (object_ for object_ in made.objects if object_.name == "a")
    result = footprint(array, DataContext(made, (), lambda _: True, Diagnostics()))
    if result is None:
        return
    ((low, length),) = result
    for n, m in SIZES:
        run = Interpreter({"n": n, "m": m})
        for statement in made.body.statements:
            run.run(statement)
        touched = [index[0] for name, index in run.stores if name == "a"]
        count = run.value(expression(length))
        assert count == (max(touched) - min(touched) + 1 if touched else 0), (n, m)
        assert not touched or run.value(expression(low)) == min(touched), (n, m)


def test_most_sections_are_found() -> None:
    """A search that gives up always would pass the test above."""
    result = 0
    for seed in range(0, 60, 4):
        made = kernel(seed)
        (array,) = (object_ for object_ in made.objects if object_.name == "a")
        result += footprint(array, DataContext(made, (), lambda _: True, Diagnostics())) is not None
    assert result > 10
