"""Random affine loop nests as C text, each under a plain `#pragma tilek kernel`.

Iterators stay in [1, n] and extents are m = 2 n + 3, so every subscript lies in its array. A nest
is a tree, so that a failing one can be reduced. Everything is a function of the seed.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.support.cases import Case, CaseFile

ITERATORS = "ijkl"
#: Rank and element type of every array that nests may use.
ARRAYS = {
    "A": (2, "double"),
    "B": (2, "double"),
    "T": (3, "double"),
    "X": (1, "double"),
    "Y": (1, "double"),
    "C": (2, "int"),
    "K": (1, "int"),
}
SIZES = (0, 1, 6, 11)
#: The number of nests that end in a loop with a scratch row.
SCRATCH = 0.12


@dataclass(frozen=True)
class Statement:
    """One C statement, or a declaration that later statements of the block read."""

    text: str


@dataclass(frozen=True)
class For:
    """A loop; `header` names the iterator without a type."""

    header: str
    body: tuple[Node, ...]


@dataclass(frozen=True)
class If:
    """A guarded block."""

    condition: str
    body: tuple[Node, ...]


Node = Statement | For | If


@dataclass(frozen=True)
class Nest:
    """The body of one kernel region. `outside`: iterators are declared before it and read after it.
    `flat`: arrays have one dimension, in which rows are consecutive; all extents are numbers where
    the seed is even.
    """

    seed: int
    body: tuple[Node, ...]
    outside: bool
    flat: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """Values of n that the nest is run with."""
        return SIZES[-1:] if self.flat and self.seed % 2 == 0 else SIZES

    @property
    def text(self) -> str:
        """The function with the region."""
        lines = list(self._lines(self.body, 1))
        used = "\n".join(lines)
        arrays = "".join(f", {parameter(name, self.flat)}" for name in arrays_in(used))
        if self.flat:
            lines = [flattened(line, self.sizes[0] if len(self.sizes) == 1 else None) for line in lines]
        head = [f"static void nest_{self.seed}(int n, int m{arrays}, int *last, double *left)", "{"]
        if self.outside:
            head.append("    int i = 0, j = 0, k = 0, l = 0;")
        head += ["    double s = 0.375;", "#pragma tilek kernel", "    {"]
        tail = ["    }", "    *left = s;"]
        if self.outside:
            tail += [f"    last[{place}] = {name};" for place, name in enumerate(ITERATORS)]
        return "\n".join([*head, *lines, *tail, "}"]) + "\n"

    @property
    def case(self) -> Case:
        """The nest, and a function that runs it at each size on random data and records arrays."""
        text = self.text
        arrays = arrays_in(text.partition("#pragma")[2])
        lines = [f"CASE(nest_{self.seed})", "{"]
        lines.append(f"    static const int sizes[] = {{{', '.join(map(str, self.sizes))}}};")
        lines.append("    for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {")
        lines.append("        const int n = sizes[size], m = 2 * n + 3;")
        lines.append("        int last[4] = {0};")
        lines.append("        double left = 0;")
        for name in arrays:
            rank, type_ = ARRAYS[name]
            count = " * ".join(["(size_t)m"] * rank)
            lines.append(f"        {type_} *const {name} = check_{type_}s({count});")
        given = "".join(f", (void *){name}" for name in arrays)
        lines.append(f"        nest_{self.seed}(n, m{given}, last, &left);")
        for name in arrays:
            rank, _ = ARRAYS[name]
            count = " * ".join(["(size_t)m"] * rank)
            lines.append(f'        check_record("{name}", {name}, {count} * sizeof *{name});')
            lines.append(f"        free({name});")
        lines.append('        check_record("last", last, sizeof last);')
        lines.append('        check_record("left", &left, sizeof left);')
        return Case(f"nest_{self.seed}", "random", "\n".join([text, *lines, "    }", "}", ""]))

    def _lines(self, body: tuple[Node, ...], depth: int) -> Iterator[str]:
        margin = "    " * (depth + 1)
        for node in body:
            if isinstance(node, Statement):
                yield margin + node.text
                continue
            if isinstance(node, For):
                yield f"{margin}for ({'' if self.outside else 'int '}{node.header}) {{"
            else:
                yield f"{margin}if ({node.condition}) {{"
            yield from self._lines(node.body, depth + 1)
            yield margin + "}"


def arrays_in(text: str) -> list[str]:
    """The arrays that a text subscripts."""
    return [name for name in ARRAYS if re.search(rf"\b{name}\[", text)]


def parameter(name: str, flat: bool) -> str:
    rank, type_ = ARRAYS[name]
    return f"{type_} *{name}" if flat else f"{type_} {name}{'[m]' * rank}"


def flattened(line: str, n: int | None) -> str:
    """The line with flat subscripts: `A[(i) + (2 * n + 3) * (j)]` for A[j][i]; `n` if known."""
    extent = "(2 * n + 3)" if n is None else str(2 * n + 3)

    def flat(access: re.Match[str]) -> str:
        parts = reversed(re.findall(r"\[([^\]]*)\]", access[2]))
        terms = (" * ".join([extent] * place + [f"({part})"]) for place, part in enumerate(parts))
        return f"{access[1]}[{' + '.join(terms)}]"

    line = re.sub(r"\bm\b", extent, re.sub(r"\b([A-Z])((?:\[[^\]]*\])+)", flat, line))
    return line if n is None else re.sub(r"\bn\b", str(n), line)


class Maker:
    """Makes one nest; `chance` is its only source of choices."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        #: Few arrays in a nest, so that its statements meet; every fifth nest relaxes one array in
        #: place, in wavefronts.
        in_place = self.chance.random() < 0.2
        self.arrays = (
            [self.chance.choice("ABCX")] if in_place else self.chance.sample(sorted(ARRAYS), self.chance.randint(2, 4))
        )
        self.offsets = in_place or self.chance.random() < 0.7
        self.near = 0.97 if in_place else 0.8
        self.scalars = self.chance.random() < 0.3
        self.locals = 0

    def nest(self) -> Nest:
        statements = self.chance.choice([1, 1, 2, 2, 3, 4])
        loops = self.chance.choice([1, 2, 2, 3, 3, 4])
        if self.chance.random() < 0.35 and loops > 1:
            body: tuple[Node, ...] = (For("i = 1; i <= n / 2; i++", self.grow("i", statements, loops - 1)),)
        else:
            body = self.grow("", statements, loops)
        outside = self.chance.random() < 0.25
        if random.Random(f"scratch {self.seed}").random() < SCRATCH:
            body = (*body, self.scratch())
        return Nest(self.seed, body, outside)

    def scratch(self) -> Node:
        """A loop whose iterations fill a row, nearly or wholly, and read it again."""
        row = self.chance.choice(["X", "Y"])
        self.arrays = sorted({*self.arrays, "A"} - {"X", "Y"})
        around = self.chance.choice(["i", "i", "ij"])
        inner = ITERATORS[len(around)]
        whole = For(f"{inner} = 0; {inner} < m; {inner}++", (Statement(f"{row}[{inner}] = {self.sum(around, '')};"),))
        part = For(self.header(inner, around), (Statement(f"{row}[{inner}] = {self.sum(around + inner, '')};"),))
        target = f"A[{around[-1]}][{inner}]"
        shift = self.chance.choice(["", " - 1", " + 1"])
        read = Statement(f"{target} = {self.sum(around + inner, '')} + 0.0625 * {row}[{inner}{shift}];")
        body: tuple[Node, ...] = (
            *((whole,) if self.chance.random() < 0.7 else ()),
            part,
            For(self.header(inner, around), (read,)),
        )
        for place in reversed(range(len(around))):
            body = (For(self.header(around[place], around[:place]), body),)
        return body[0]

    def grow(self, around: str, statements: int, loops: int) -> tuple[Node, ...]:
        """A block of `statements` statements in at most `loops` more loops inside `around`."""
        if loops == 0 or len(around) == len(ITERATORS):
            return self.block(around, statements)
        before = (
            self.chance.randint(1, statements - 1) if around and statements > 1 and self.chance.random() < 0.3 else 0
        )
        after = 1 if around and statements - before > 1 and self.chance.random() < 0.2 else 0
        inner = statements - before - after
        groups = [inner]
        if inner > 1 and self.chance.random() < 0.4:
            first = self.chance.randint(1, inner - 1)
            groups = [first, inner - first]
        iterator = ITERATORS[len(around)]
        nodes: list[Node] = list(self.block(around, before)) if before else []
        for group in groups:
            fewer = loops - 1 if self.chance.random() < 0.8 else max(loops - 2, 0)
            nodes.append(For(self.header(iterator, around), self.grow(around + iterator, group, fewer)))
        return (*nodes, *(self.block(around, after) if after else ()))

    def header(self, i: str, around: str) -> str:
        """Increasing, decreasing, by steps, triangular, cut by another bound."""
        plain = [f"{i} = 1; {i} <= n; {i}++", f"{i} = 1; {i} < n; {i}++", f"{i} = 2; {i} < n - 1; {i}++"]
        unusual = [
            f"{i} = n; {i} >= 1; {i}--",
            f"{i} = n - 1; {i} > 1; {i}--",
            f"{i} = 1; {i} <= n; {i} += 2",
            f"{i} = n; {i} > 0; {i} -= 3",
            f"{i} = 1; {i} <= n / 2; ++{i}",
        ]
        outer = self.chance.choice(around) if around else ""
        triangular = [
            f"{i} = {outer}; {i} <= n; {i}++",
            f"{i} = 1; {i} < {outer}; {i}++",
            f"{i} = 1; {i} <= {outer}; {i}++",
            f"{i} = {outer} + 1; {i} <= n; {i}++",
            f"{i} = n; {i} > {outer}; {i}--",
            f"{i} = {outer}; {i} >= 1; {i}--",
            f"{i} = {outer}; {i} < n; {i} += 2",
            f"{i} = {outer}; {i} < ({outer} + 3 < n ? {outer} + 3 : n); {i}++",
        ]
        kinds = [(plain, 11), (unusual, 4)] + ([(triangular, 5)] if outer else [])
        return self.chance.choice(self.chance.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0])

    def block(self, around: str, statements: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        local = ""
        for _ in range(statements):
            if around and not local and self.chance.random() < 0.15:
                value = self.sum(around, "")
                self.locals += 1
                local = f"r{self.locals}"
                nodes.append(Statement(f"const double {local} = {value};"))
            node: Node = Statement(self.assignment(around, local))
            if around and self.chance.random() < 0.15:
                node = If(self.condition(around), (node,))
            nodes.append(node)
        return tuple(nodes)

    def condition(self, around: str) -> str:
        i, j = self.chance.choice(around), self.chance.choice(around)
        choices = [f"{i} > 2", f"{i} < n - 1", f"{i} + {j} <= n", f"{i} % 2 == 0", f"{i} != {j}", f"{i} <= {j}"]
        if self.chance.random() < 0.2:
            name = self.chance.choice(self.arrays)
            return f"{name}{self.subscripts(name, around)} > 0"
        return self.chance.choice(choices)

    def assignment(self, around: str, local: str) -> str:
        if self.scalars and self.chance.random() < 0.3:
            return self.chance.choice(
                [f"s = {self.sum(around, local)};", f"s += 0.0625 * {self.term(around, local, False)};"]
            )
        name = self.target(around)
        element = name + (self.identity(name, around) if self.chance.random() < 0.8 else self.subscripts(name, around))
        if ARRAYS[name][1] == "int":
            terms = " + ".join(self.term(around, local, True) for _ in range(self.chance.randint(1, 3)))
            operator = self.chance.choice(["=", "=", "+=", "^="])
            return f"{element} {operator} ({terms}) % 1001;"
        form = self.chance.random()
        if form < 0.7:
            return f"{element} = {self.sum(around, local)};"
        if form < 0.85:
            return f"{element} += 0.03125 * {self.term(around, local, False)};"
        right = self.term(around, local, False)
        return f"{element} = {element} < {right} ? {element} : {right};"

    def target(self, around: str) -> str:
        """An array with a dimension for each loop if there is one, else any."""
        fitting = [name for name in self.arrays if ARRAYS[name][0] == min(len(around), 3)]
        return self.chance.choice(fitting if fitting and self.chance.random() < 0.7 else self.arrays)

    def sum(self, around: str, local: str) -> str:
        """Up to three terms with coefficients that add up to less than 1: values stay bounded."""
        terms = [self.term(around, local, False) for _ in range(self.chance.randint(1, 3))]
        factors = ["0.5", "0.25", "0.1875"]
        signs = [self.chance.choice([" + ", " + ", " - "]) for _ in terms]
        pieces = (f"{sign}{factor} * {term}" for sign, factor, term in zip(signs, factors, terms, strict=False))
        text = "".join(pieces)
        return f"-{text[3:]}" if text.startswith(" - ") else text[3:]

    def term(self, around: str, local: str, whole: bool) -> str:
        choice = self.chance.random()
        if local and not whole and choice < 0.3:
            return local
        if self.scalars and not whole and choice < 0.45:
            return "s"
        if around and choice > 0.93:
            return f"({self.chance.choice(around)} - {self.chance.choice(around)})"
        names = [name for name in self.arrays if not whole or ARRAYS[name][1] == "int"]
        if not names:
            return f"{self.chance.randint(2, 9)}"
        name = self.chance.choice(names)
        return name + self.subscripts(name, around)

    def identity(self, name: str, around: str) -> str:
        """A different iterator for each dimension, mostly in the order of the loops."""
        rank = ARRAYS[name][0]
        if len(around) < rank:
            return self.subscripts(name, around)
        iterators = list(around[-rank:]) if self.chance.random() < 0.8 else self.chance.sample(around, rank)
        return "".join(f"[{iterator}]" for iterator in iterators)

    def subscripts(self, name: str, around: str) -> str:
        """Near the identity mostly; else skewed, reversed, doubled, constant."""
        rank = ARRAYS[name][0]
        near = (
            around[-rank:]
            if len(around) >= rank
            else around + "".join(self.chance.choices(around or "0", k=rank - len(around)))
        )
        return "".join(f"[{self.subscript(iterator, around)}]" for iterator in near)

    def subscript(self, iterator: str, around: str) -> str:
        if not around:
            return self.chance.choice(["0", "1", "n"])
        choice = self.chance.random()
        if choice < self.near:
            shift = self.chance.choice(["", "", " - 1", " + 1"]) if self.offsets else ""
            return iterator + shift
        second = self.chance.choice(around)
        skewed = [
            f"{iterator} + {second}",
            f"{iterator} - {second} + n",
            f"n + 1 - {iterator}",
            f"2 * {iterator}",
            second,
            "1",
            "n",
        ]
        return self.chance.choice(skewed)


def random_nest(seed: int) -> Nest:
    """The nest of a seed."""
    return Maker(seed).nest()


def case_file(nests: tuple[Nest, ...]) -> CaseFile:
    """A program of some nests."""
    return CaseFile("random_nests.c", '#include "check.h"\n', tuple(nest.case for nest in nests))


def smaller(body: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """All bodies with one node less: removed, or a condition replaced by its block."""
    for place, node in enumerate(body):
        yield body[:place] + body[place + 1 :]
        if isinstance(node, If):
            yield body[:place] + node.body + body[place + 1 :]
        if not isinstance(node, Statement):
            for inner in smaller(node.body):
                if inner:
                    yield (*body[:place], replace(node, body=inner), *body[place + 1 :])


def minimal(nest: Nest, fails: Callable[[Nest], bool], attempts: int = 60) -> Nest:
    """The smallest failing nest that leaving out nodes of `nest` finds."""
    progress = True
    while progress:
        progress = False
        for body in smaller(nest.body):
            attempts -= 1
            if attempts < 0:
                return nest
            candidate = replace(nest, body=body)
            if body and fails(candidate):
                nest, progress = candidate, True
                break
    return nest
