"""Random sums of products as case files: bounds, loop orders, accesses and sizes combined."""

from __future__ import annotations

import itertools
import random

_LOWER = {"i": ("0", "1"), "j": ("0", "2"), "k": ("0", "i", "j + 1")}
_UPPER = {"i": ("n", "n - 1"), "j": ("m", "i + 1", "m - 1"), "k": ("p", "i", "j", "i < j ? i : j")}
_FACTORS = ("a[i][k]", "b[k][j]", "a[j][k]", "b[k][i]", "a[i][j]", "c[k][j]", "2", "d[k]")
_SIZES = (1, 2, 7, 8, 9, 24, 25, 31, 32, 33, 47, 48, 65, 97, 258)


def random_products(seed: int, count: int) -> str:
    """C text of `count` cases, the same for a seed."""
    chance = random.Random(seed)
    cases = (_case(f"product_{number}", chance) for number in range(count))
    return '#include "check.h"\n\n' + "\n".join(cases)


def _case(name: str, chance: random.Random) -> str:
    type_ = chance.choice(("float", "double", "int"))
    lower = {axis: chance.choice(_LOWER[axis]) for axis in "ijk"}
    upper = {axis: chance.choice(_UPPER[axis]) for axis in "ijk"}
    order = chance.choice([order for order in itertools.permutations("ijk") if _is_nested(order, lower, upper)])
    loops = " ".join(f"for (int {axis} = {lower[axis]}; {axis} < ({upper[axis]}); {axis}++)" for axis in order)
    factors = [chance.choice(_FACTORS[:4]), chance.choice(_FACTORS)]
    scaled = chance.choice(
        ("", "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) c[i][j] = c[i][j] * 3;\n        ")
    )
    sizes = [chance.choice(_SIZES) for _ in "nmp"]
    # Every array is a square that holds any subscript.
    side = max(sizes)
    fill = {"float": "check_floats", "double": "check_doubles", "int": "check_ints"}[type_]
    return f"""
// case {name}: {", ".join(order)}
static void {name}(int n, int m, int p, {type_} a[restrict SIDE_{name}][SIDE_{name}], {type_} b[restrict SIDE_{name}][SIDE_{name}],
    {type_} c[restrict SIDE_{name}][SIDE_{name}], {type_} d[restrict SIDE_{name}])
{{
    (void)n, (void)m, (void)p, (void)a, (void)b, (void)d;
#pragma tilek kernel
    {{
        {scaled}{loops}
            c[i][j] += {factors[0]} * {factors[1]};
    }}
}}

CASE({name})
{{
    {type_} *const a = {fill}({side} * {side}), *const b = {fill}({side} * {side}), *const c = {fill}({side} * {side});
    {type_} *const d = {fill}({side});
    {name}({sizes[0]}, {sizes[1]}, {sizes[2]}, ({type_} (*)[{side}])a, ({type_} (*)[{side}])b, ({type_} (*)[{side}])c, d);
    check_record("c", c, (size_t){side} * {side} * sizeof *c);
    free(a);
    free(b);
    free(c);
    free(d);
}}
""".replace(f"SIDE_{name}", str(side))


def _is_nested(order: tuple[str, ...], lower: dict[str, str], upper: dict[str, str]) -> bool:
    """Whether bounds mention only iterators of outer loops."""
    inside = {iterator: set(order[: order.index(iterator)]) for iterator in order}
    return all(
        outer in inside[iterator]
        for iterator in order
        for outer in "ijk"
        if outer in lower[iterator] or outer in upper[iterator].replace("if", "")
    )
