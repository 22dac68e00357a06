"""Random nests that a plan may easily get wrong, as C text.

They have pointers that may overlap, gathers, products of iterators, bounds of mixed types that may
be empty, negative or wrap, conditions on data, and sections of larger objects. All pointers point
into one pool of memory, at places that differ from call to call. Every subscript lies in the pool,
so that the test also sees writes to memory that a kernel must not touch. Everything is a function
of the seed.
"""

from __future__ import annotations

import random

from tests.support.cases import Case, CaseFile

CALLS = 7
PRELUDE = """#include "check.h"
#include <stddef.h>

enum { POOL = 14000, MIDDLE = 6000 };
static double pool[POOL];
static int indices[64];

static void fill_pool(void)
{
    check_fill_double(pool, POOL);
    for (int k = 0; k < 64; k++)
        indices[k] = (int)(check_random((uint64_t)k) % 61);
}
"""
PARAMETERS = (
    "int n, int m, int lo, int hi, unsigned u, size_t z, long s, const int *index, "
    "double *a, double *b, const double *c, double (*p)[20]"
)
#: Values of n, m, lo, hi, u, z, s: nothing runs, little runs, bounds cross, sizes differ.
ARGUMENTS = (
    (0, 0, 0, 0, 0, 0, 1),
    (-3, 4, 2, -7, 3, 1, 2),
    (1, 1, 0, 1, 1, 1, 1),
    (7, 5, 1, 9, 6, 5, 3),
    (12, 9, -2, 11, 10, 12, 1),
    (5, 12, 3, 3, 12, 8, 40),
    (9, -1, 4, 10, 2, 3, 5),
)
#: The positions of a, b and c, from the middle of the pool: disjoint, adjacent, one element off,
#: the same, nested.
PLACES = (
    (0, 4000, -4000),
    (4000, 0, -4000),
    (0, 12, 24),
    (0, 11, -1),
    (0, 0, 0),
    (0, -1, 1),
    (3, 4000, 4000),
    (-4000, 7, 4000),
)


def hostile_case(seed: int) -> Case:
    """One kernel, called with all ARGUMENTS and with PLACES in turn."""
    chance = random.Random(seed)
    kernel = f"static void hostile_{seed}({PARAMETERS})\n{{\n    {_UNUSED}\n    double t = 0;\n"
    nests = "".join(_nest(chance) for _ in range(chance.choice((1, 1, 2))))
    is_stated = chance.random() < 0.4
    clause = "".join(
        f" data({name}[0 * n - 600:3000])"
        for name in "abc"
        if f"{name}[" in nests and (is_stated or chance.random() < 0.1)
    )
    kernel += f"#pragma tilek kernel{clause}\n    {{\n{nests}    }}\n    a[0] += 0 * t;\n}}\n"
    calls = []
    for number, values in enumerate(ARGUMENTS):
        places = PLACES[(number + seed) % len(PLACES)]
        pointers = ", ".join(f"pool + MIDDLE + {place}" for place in places)
        pointers += f", (double (*)[20])(void *)(pool + {chance.choice((100, 100, 5900))})"
        calls.append(f"    hostile_{seed}({', '.join(map(str, values))}, indices, {pointers});\n")
        calls.append(f'    check_record("call_{number}", pool, sizeof pool);\n')
    body = f"{kernel}\nCASE(hostile_{seed})\n{{\n    fill_pool();\n{''.join(calls)}}}\n\n"
    return Case(f"hostile_{seed}", "random", f"// case hostile_{seed}: random\n{body}")


def hostile_file(seeds: range) -> CaseFile:
    """A program of these nests."""
    return CaseFile(f"hostile_{seeds.start}.c", PRELUDE, tuple(map(hostile_case, seeds)))


_UNUSED = " ".join(f"(void){name};" for name in ("n", "m", "lo", "hi", "u", "z", "s", "index", "b", "c", "p"))


def _nest(chance: random.Random) -> str:
    depth = chance.choice((1, 1, 2, 2, 3))
    text, iterators = "", []
    for place in range(depth):
        header, name = _header(chance, "ijk"[place], iterators)
        text += f"    {'    ' * (place + 1)}{header}\n"
        iterators.append(name)
    pad = "    " * (depth + 2)
    make = _parallel if chance.random() < 0.7 else _statement
    lines = [make(chance, iterators) for _ in range(chance.choice((1, 1, 2, 3)))]
    return f"{text.rstrip()} {{\n{''.join(pad + line + chr(10) for line in lines)}{'    ' * (depth + 1)}}}\n"


def _header(chance: random.Random, name: str, outer: list[str]) -> tuple[str, str]:
    """All iterators stay within [-3, 14]."""
    kinds = [
        f"for (int {name} = 0; {name} < n; {name}++)",
        f"for (int {name} = lo; {name} < hi; {name}++)",
        f"for (int {name} = hi; {name} >= lo; {name}--)",
        f"for (long {name} = n - 1; {name} > -1; {name}--)",
        f"for (unsigned {name} = 0; {name} < u; {name}++)",
        f"for (unsigned {name} = u - 4; {name} < 9u; {name}++)",
        f"for (size_t {name} = z - 2; {name} < 11; {name} += 2)",
        f"for (size_t {name} = 1; {name} + 1 < z; {name}++)",
        f"for (int {name} = lo; {name} < (int)z; {name}++)",
        f"for (short {name} = 1; {name} <= m; {name}++)",
        f"for (int {name} = 0; {name} < n; {name} += (int)s)",
        f"for (int {name} = (n < m ? n : m); {name} < (hi > 8 ? 8 : hi); {name}++)",
        f"for (int {name} = n / 2; {name} * 1 < 10 && {name} < m; {name}++)",
        f"for (int {name} = m % 4; {name} < n * m && {name} < 9; {name}++)",
    ]
    kinds += [f"for (int {name} = (int){outer_name}; {name} < hi; {name}++)" for outer_name in outer]
    kinds += [f"for (int {name} = 0; {name} <= (int){outer_name}; {name}++)" for outer_name in outer]
    return chance.choice(kinds), name


def _subscript(chance: random.Random, iterators: list[str]) -> str:
    """Within [-400, 400]."""
    first, second = chance.choice(iterators), chance.choice(iterators)
    if chance.random() < 0.6:
        return f"{first} + {chance.choice(('0', '1', '3', second))}"
    number = f"(int){first}"
    return chance.choice(
        [
            f"{first}",
            f"{number} - 1",
            f"{first} + 1",
            f"2 * {number} + (int){second}",
            f"{number} * 12 + (int){second}",
            f"12 * (int){second} + {number}",
            f"{number} * (m < 0 ? 1 : m) + (int){second}",
            f"{number} * {number}",
            f"{number} * (int){second}",
            f"index[({number} + 3) % 32]",
            f"({number} + 3) / 2",
            f"({number} + 3) % 5",
            f"lo + {number}",
            f"hi - {number}",
            "3",
            "n",
        ]
    )


def _parallel(chance: random.Random, iterators: list[str]) -> str:
    """Stores to a different element in every iteration, reads elsewhere."""
    array = chance.choice("ab")
    target = f"{array}[{iterators[0]} + {chance.choice(('3', '1', '(n > 0 ? n : 0)'))}]"
    if len(iterators) > 1:
        array, target = "p", f"p[{iterators[0]} + 3][{iterators[1]} + {chance.choice('345')}]"
    read = f"{chance.choice('c' if array == 'b' else 'bc')}[{_subscript(chance, iterators)}]"
    old = chance.choice(("1.0", "t", target, f"c[{iterators[-1]} + 3]"))
    store = f"{target} {chance.choice(('=', '=', '+='))} {read} * 0.5"
    return chance.choice(
        [
            f"{store};",
            f"{store} + {old};",
            f"if ({chance.choice(iterators)} % 3 == 1) {store};",
            f"if ({chance.choice(iterators)} > 2) {store}; else {target} = -1;",
            f"{target} = 0; for (int q = 0; q < n; q++) {target} += c[q] + {read};",
        ]
    )


def _statement(chance: random.Random, iterators: list[str]) -> str:
    def access(arrays: str) -> str:
        return f"{chance.choice(arrays)}[{_subscript(chance, iterators)}]"

    target = access("aab")
    value = chance.choice(
        [
            f"{access('abc')} * 0.5 + {access('bc')}",
            f"{access('c')} + 1",
            f"{access('c')} - {access('c')} * 0.25",
            f"(double)({chance.choice(iterators)} + 1)",
            f"{access('abc')} > 0 ? {access('c')} : -1.0",
        ]
    )
    assign = f"{target} {chance.choice(('=', '=', '=', '+='))} {value};"
    return chance.choice(
        [
            assign,
            assign,
            assign,
            f"if ({chance.choice(iterators)} % 2 == 0) {assign}",
            f"if ({access('c')} > 0) {assign}",
            f"if ((int){chance.choice(iterators)} > m) {{ {assign} }} else {{ {access('ab')} = 2; }}",
            f"t = {access('c')}; {target} = t * 0.5;",
            f"{{ const int q = {_subscript(chance, iterators)}; {chance.choice('ab')}[q] = {value}; }}",
        ]
    )
