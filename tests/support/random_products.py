"""Random sums of products: bounds, orders of loops, accesses and sizes in all combinations, as a file of cases."""

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
    lower = {one: chance.choice(_LOWER[one]) for one in "ijk"}
    upper = {one: chance.choice(_UPPER[one]) for one in "ijk"}
    order = chance.choice([order for order in itertools.permutations("ijk") if _is_nested(order, lower, upper)])
    loops = " ".join(f"for (int {one} = {lower[one]}; {one} < ({upper[one]}); {one}++)" for one in order)
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
    """Whether bounds mention iterators of loops around alone."""
    inside = {one: set(order[: order.index(one)]) for one in order}
    return all(
        other in inside[one]
        for one in order
        for other in "ijk"
        if other in lower[one] or other in upper[one].replace("if", "")
    )
