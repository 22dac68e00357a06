"""Random affine nests as C text: imperfect, triangular, decreasing, with steps.

Each statement stores to its private array, at its iterators, so that the stores show the order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class NestText:
    """`body` is a region over parameters n and m; `arrays`: the rank of each statement's array."""

    body: str = ""
    arrays: dict[str, int] = field(default_factory=dict)

    @property
    def parameters(self) -> str:
        """The parameter list of a function around it."""
        arrays = [f"int {name}{'[64]' * rank}" if rank else f"int {name}[1]" for name, rank in self.arrays.items()]
        return ", ".join(["int n", "int m", *arrays])


def random_nest(seed: int, depth: int = 3) -> NestText:
    """One or two loop nests with one to four statements in all."""
    chance = random.Random(seed)
    nest = NestText()
    for _ in range(chance.choice((1, 1, 2))):
        nest.body += _loop(chance, nest, (), depth)
    return nest


def _loop(chance: random.Random, nest: NestText, outer: tuple[str, ...], depth: int) -> str:
    name = "ijk"[len(outer)]
    low = chance.choice(("0", "1", "-2", *outer, *(f"{iterator} - 1" for iterator in outer)))
    high = chance.choice(("n", "m", "n - 1", "5", *(f"{iterator} + 3" for iterator in outer)))
    step = chance.choice((1, 1, 1, 2, 3))
    if chance.random() < 0.3:
        header = f"for (int {name} = {high}; {name} {chance.choice(('>', '>='))} {low}; {name} -= {step})"
    else:
        header = f"for (int {name} = {low}; {name} {chance.choice(('<', '<='))} {high}; {name} += {step})"
    inside = (*outer, name)
    parts = []
    if chance.random() < 0.4 or len(inside) == depth:
        parts.append(_statement(chance, nest, inside))
    if len(inside) < depth:
        parts.append(
            _loop(chance, nest, inside, depth - chance.choice((0, 0, 1)) if len(inside) + 1 < depth else depth)
        )
        if chance.random() < 0.3:
            parts.append(_statement(chance, nest, inside))
    return f"{header} {{ {' '.join(parts)} }}\n"


def _statement(chance: random.Random, nest: NestText, iterators: tuple[str, ...]) -> str:
    name = f"A{len(nest.arrays)}"
    nest.arrays[name] = len(iterators)
    subscripts = "".join(f"[{iterator}]" for iterator in iterators)
    store = f"{name}{subscripts} = {len(nest.arrays)};"
    if chance.random() < 0.2:
        bound = chance.choice(("n", "m", *iterators))
        return f"if ({iterators[-1]} {chance.choice(('<', '>=', '!='))} {bound}) {store}"
    return store


def unimodular(chance: random.Random, size: int) -> list[list[int]]:
    """A random matrix of determinant +-1 with small numbers."""
    rows = [[int(row == column) for column in range(size)] for row in range(size)]
    chance.shuffle(rows)
    for _ in range(chance.choice((0, 1, 2, 3)) if size > 1 else 0):
        to, source = chance.sample(range(size), 2)
        factor = chance.choice((1, 1, -1, 2))
        rows[to] = [a + factor * b for a, b in zip(rows[to], rows[source], strict=True)]
    return [[-value for value in row] if chance.random() < 0.25 else row for row in rows]
