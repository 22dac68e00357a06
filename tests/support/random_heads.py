"""Random loop heads, alone and in nests of two, one kernel for each number.

They have iterators of all integer types that wrap or are converted, bounds and steps of other
types, and all forms of counting down. Each head is run here first, as C does; heads that overflow,
run too long or leave their arrays are drawn again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.support.cases import Case, CaseFile
from tests.support.random_reductions import TYPES as ARITHMETIC
from tests.support.random_reductions import Number, usual

TYPES = tuple(type_ for type_ in ARITHMETIC if not type_.floating and not type_.truth)
INT, LONG, UNSIGNED_LONG = (
    next(type_ for type_ in TYPES if type_.spelling == name) for name in ("int", "long", "unsigned long")
)
SUFFIXES = {
    "int": "",
    "unsigned": "u",
    "long": "L",
    "unsigned long": "uL",
    "long long": "LL",
    "unsigned long long": "uLL",
}
#: Arrays of bounds, by the type of their elements.
ELEMENTS = {"unsigned char": "C_", "int": "I_", "unsigned": "U_", "long": "L_", "unsigned long": "Z_"}
#: Rows and columns of the arrays, and the most iterations of a loop.
SIDE = 64
MOST = 300
SETS = 3

PRELUDE = f"""#include "check.h"
#include <limits.h>
enum {{ S = {SIDE} }};
static unsigned long A[S * S], B[S * S];
{"".join(f"static {type_} {name}[8];{chr(10)}" for type_, name in ELEMENTS.items())}static void fill(void)
{{
    for (int i = 0; i < S * S; i++)
        A[i] = (unsigned long)i * 7, B[i] = check_random((uint64_t)i);
}}
"""

Values = dict[str, int]


class UndefinedError(Exception):
    """C leaves this undefined, or a loop has too many iterations."""


def least(type_: Number) -> int:
    return -(1 << (type_.bits - 1)) if type_.signed else 0


def greatest(type_: Number) -> int:
    return (1 << (type_.bits - type_.signed)) - 1


def converted(value: int, type_: Number) -> int:
    """The value after gcc's conversion to the type."""
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if type_.signed and value >> (type_.bits - 1) else value


@dataclass(frozen=True)
class Value:
    """An expression of C: its text, its type, and its value for values of variables."""

    text: str
    type: Number
    of: Callable[[Values], int]
    simple: bool = True

    @property
    def operand(self) -> str:
        return self.text if self.simple else f"({self.text})"


def constant(value: int, type_: Number) -> Value:
    """A number of the type, written with its suffix or a cast."""
    value = converted(value, type_)
    suffix = SUFFIXES.get(type_.spelling)
    if value == least(type_) and type_.signed and suffix is not None:
        text = f"(-{greatest(type_)}{suffix} - 1)"
    else:
        text = f"{value}{suffix or ''}"
        text = f"(({type_.spelling})({text}))" if suffix is None else f"({text})" if value < 0 else text
    return Value(text, type_, lambda _: value)


def variable(name: str, type_: Number) -> Value:
    return Value(name, type_, lambda values: values[name])


def binary(operator: str, left: Value, right: Value) -> Value:
    """An operation after the usual arithmetic conversions."""
    common = usual(left.type, right.type)
    comparison = operator in ("<", "<=", ">", ">=", "!=", "==")

    def of(values: Values) -> int:
        return computed(operator, converted(left.of(values), common), converted(right.of(values), common), common)

    return Value(f"{left.operand} {operator} {right.operand}", INT if comparison else common, of, simple=False)


def computed(operator: str, left: int, right: int, type_: Number) -> int:
    """The value of an operation in a type; raises UndefinedError where it overflows."""
    if operator in ("/", "%"):
        if right == 0:
            raise UndefinedError
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        value = quotient if operator == "/" else left - right * quotient
    else:
        value = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "&": lambda: left & right,
            "^": lambda: left ^ right,
            "<": lambda: int(left < right),
            "<=": lambda: int(left <= right),
            ">": lambda: int(left > right),
            ">=": lambda: int(left >= right),
            "!=": lambda: int(left != right),
            "==": lambda: int(left == right),
        }[operator]()
    if type_.signed and not least(type_) <= value <= greatest(type_):
        raise UndefinedError
    return converted(value, type_)


def cast(type_: Number, value: Value) -> Value:
    return Value(f"({type_.spelling}){value.operand}", type_, lambda values: converted(value.of(values), type_))


def negated(value: Value) -> Value:
    minus = binary("-", constant(0, INT), value)
    return Value(f"-{value.operand}", minus.type, minus.of, simple=False)


@dataclass(frozen=True)
class Head:
    """A loop's head. The condition `counts` not, "post" (`i-- > 0`) or "pre" (`--i >= 0`)."""

    name: str
    type: Number
    declared: bool
    start: Value
    test: Value
    counts: str
    by: Value
    text: str

    def rounds(self, values: Values) -> Iterator[None]:
        """Run the rounds, with the iterator's value in `values`."""
        values[self.name] = converted(self.start.of(values), self.type)
        for _ in range(MOST):
            before = dict(values)
            if self.counts:
                values[self.name] = self._next(values)
            if not self.test.of(values if self.counts == "pre" else before):
                return
            yield
            if not self.counts:
                values[self.name] = self._next(values)
        raise UndefinedError

    def _next(self, values: Values) -> int:
        return converted(self.by.of(values), self.type)


@dataclass
class _Kernel:
    """Draws one kernel; `sets` are the arguments of its calls."""

    seed: int
    chance: random.Random
    parameters: dict[str, Number] = field(default_factory=dict)
    elements: dict[str, Value] = field(default_factory=dict)
    sets: list[Values] = field(default_factory=lambda: [{}])

    def choose(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def parameter(self, type_: Number, value: int) -> Value:
        name = "nmpqrstuvwxyz"[len(self.parameters)] + "_"
        self.parameters[name] = type_
        self.sets[0][name] = converted(value, type_)
        return variable(name, type_)

    # -- heads

    def expression(self, value: int, type_: Number, outer: tuple[Value, int] | None = None) -> Value:
        """An expression with this value, if it fits, at the first call (and first outer round)."""
        drawn = self.chance.random()
        if outer is not None and drawn < 0.5:
            around, now = outer
            if drawn < 0.15:
                return around if now == value else binary("+", around, constant(value - now, INT))
            if drawn < 0.3:
                return binary("+", around, self.parameter(type_, value - now))
            if drawn < 0.38:
                return binary("-", self.parameter(type_, value + now), around)
            if drawn < 0.44:
                return self.element(type_, value, around)
            return binary(self.choose("+", "-"), around, constant(self.chance.choice((0, 1, 2, 5)), INT))
        drawn = self.chance.random()
        if drawn < 0.3:
            return constant(value, type_)
        if drawn < 0.65:
            return self.parameter(type_, value)
        if drawn < 0.8:
            shift = self.chance.choice((1, 1, 2, 5))
            operator = self.choose("+", "-")
            number = constant(shift, self.chance.choice((INT, INT, type_)))
            return binary(operator, self.parameter(type_, value - shift if operator == "+" else value + shift), number)
        if drawn < 0.86:
            factor = self.chance.choice((2, 3, 4))
            # A product with factors of 2 may also reach the value after it wraps.
            around = 0 if type_.signed or factor == 3 else self.chance.choice((0, 1 << (type_.bits - 1)))
            return binary("*", constant(factor, INT), self.parameter(type_, value // factor + around))
        if drawn < 0.92:
            factor = self.chance.choice((2, 3, 4))
            return binary("/", self.parameter(type_, value * factor), constant(factor, INT))
        if drawn < 0.96:
            return cast(type_, self.parameter(self.other(type_), value))
        return binary("-", self.parameter(type_, value + 9), self.parameter(self.other(type_), 9))

    def element(self, type_: Number, value: int, around: Value) -> Value:
        """An element for each round of the loop around: values near this one."""
        type_ = type_ if type_.spelling in ELEMENTS else LONG
        name, parameter = ELEMENTS[type_.spelling], self.parameter(type_, value)

        def of(values: Values) -> int:
            return converted(values[parameter.text] + (around.of(values) & 7), type_)

        self.elements[name] = parameter
        return Value(f"{name}[{around.operand} & 7]", type_, of)

    def other(self, type_: Number, often: float = 0.0) -> Number:
        return type_ if self.chance.random() < often else self.chance.choice(TYPES)

    def begin(self, type_: Number) -> int:
        """Where a loop starts: at the ends of types, and near 0."""
        drawn = self.chance.random()
        if drawn < 0.35:
            return self.chance.choice((0, 0, 1, 2, 5, 9))
        ends = [least(type_) for type_ in TYPES] + [greatest(type_) for type_ in TYPES]
        ends = [end for end in ends if least(type_) <= end <= greatest(type_)]
        return self.chance.choice(ends) + self.chance.choice((-40, -7, -3, -2, -1, 0, 1, 2, 5, 30))

    def step(self, type_: Number) -> int:
        drawn = self.chance.random()
        if drawn < 0.5:
            return 1
        if drawn < 0.85:
            return self.chance.choice((2, 3, 4, 7, 16))
        return self.chance.choice(
            (
                255,
                254,
                65535,
                (1 << type_.bits) // 8,
                (1 << type_.bits) - 2,
                1 << 31,
                (1 << 32) + 1,
                (1 << 32) - 1,
                1 << 62,
            )
        )

    def head(self, name: str, outer: tuple[Value, int] | None = None) -> Head:
        type_ = self.chance.choice(TYPES)
        iterator = variable(name, type_)
        first, size, down = self.begin(type_), self.step(type_), self.chance.random() < 0.45
        trips = self.chance.choice((0, 1, 2, 3, 7, 20, 37))
        declared = self.chance.random() < 0.7
        if down and self.chance.random() < 0.3:
            return self.countdown(name, type_, first, trips, declared, outer)
        by = -size if down else size
        start = self.expression(first, self.other(type_, 0.75), outer)
        wrong = self.chance.random() < 0.08
        comparison = self.choose("!=", *((("<", "<=") if down == wrong else (">", ">=")) * 3))
        closed = comparison in ("<=", ">=")
        end = first + by * (trips - closed) + (0 if comparison == "!=" else self.chance.choice((0, 0, 0, 1, -1)))
        bound = self.expression(end, self.other(type_, 0.65), outer)
        test = binary(comparison, iterator, bound)
        drawn = self.chance.random()
        if drawn < 0.12:
            turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(comparison, comparison)
            test = binary(turned, bound, iterator)
        elif drawn < 0.2:
            shift = constant(self.chance.choice((1, 2, 5)), self.chance.choice((INT, type_)))
            test = binary(comparison, binary(self.choose("+", "-"), iterator, shift), bound)
        elif drawn < 0.26:
            condition = binary(comparison, iterator, self.expression(end + 2, self.other(type_, 0.7), outer))
            test = Value(f"{test.text} && {condition.text}", INT, _both(test, condition), simple=False)
        advance, next_ = self.advance(iterator, size, down)
        declaration = f"{type_.spelling} " if declared else ""
        text = f"for ({declaration}{name} = {start.text}; {test.text}; {advance})"
        return Head(name, type_, declared, start, test, "", next_, text)

    def countdown(
        self, name: str, type_: Number, first: int, trips: int, declared: bool, outer: tuple[Value, int] | None
    ) -> Head:
        iterator = variable(name, type_)
        end = self.chance.choice((0, 0, 0, first - trips))
        kind = self.choose("post", "post", "pre")
        start = self.expression(end + trips + (kind == "pre"), self.other(type_, 0.8), outer)
        bound = constant(0, INT) if end == 0 else self.expression(end, self.other(type_, 0.7), outer)
        comparison = self.choose(">", "!=", ">" if kind == "post" else ">=")
        test = binary(comparison, iterator, bound)
        changed = f"{name}--" if kind == "post" else f"--{name}"
        text = f"{changed} {comparison} {bound.operand}"
        if end == 0 and comparison == "!=" and self.chance.random() < 0.5:
            text = changed
        elif self.chance.random() < 0.1:
            turned = {">": "<", ">=": "<="}.get(comparison, comparison)
            text = f"{bound.operand} {turned} {changed}"
        declaration = f"{type_.spelling} " if declared else ""
        whole = f"for ({declaration}{name} = {start.text}; {text};)"
        return Head(name, type_, declared, start, test, kind, binary("-", iterator, constant(1, INT)), whole)

    def advance(self, iterator: Value, size: int, down: bool) -> tuple[str, Value]:
        name = iterator.text
        if size == 1 and self.chance.random() < 0.8:
            sign = "--" if down else "++"
            text = self.choose(f"{name}{sign}", f"{sign}{name}")
            return text, binary("-" if down else "+", iterator, constant(1, INT))
        type_ = self.other(iterator.type, 0.5)
        size = size if self.chance.random() < 0.8 else -size
        operator = "-" if down == (size > 0) else "+"
        step = constant(size, type_) if self.chance.random() < 0.6 else self.parameter(type_, size)
        if self.chance.random() < 0.1:
            step, operator = negated(step), "+" if operator == "-" else "-"
        whole = binary(operator, iterator, step)
        drawn = self.chance.random()
        if drawn < 0.6:
            return f"{name} {operator}= {step.text}", whole
        if drawn < 0.8:
            return f"{name} = {whole.text}", whole
        if drawn < 0.9 and operator == "+":
            return f"{name} = {step.operand} + {name}", whole
        return f"{name} = ({iterator.type.spelling})({whole.text})", whole

    # -- bodies

    def value(self, iterator: Value) -> Value:
        """A body's value, computed from an iterator."""
        number = constant(self.chance.choice((1, 2, 3, 5)), self.chance.choice((INT, INT, iterator.type)))
        drawn = self.chance.random()
        if drawn < 0.4:
            return cast(UNSIGNED_LONG, iterator)
        if drawn < 0.9:
            return cast(
                UNSIGNED_LONG, binary(self.choose("+", "-", "*", "/", "%", "&", "^", "<", "=="), iterator, number)
            )
        return cast(UNSIGNED_LONG, negated(iterator))

    def subscript(self, iterator: Value, seen: list[int]) -> Value:
        """An array place for each of the iterator's values at the first call."""
        low, high = (min(seen), max(seen)) if seen else (0, 0)
        if low >= 0 and high < SIDE and self.chance.random() < 0.7:
            return iterator
        type_ = self.other(iterator.type, 0.7)
        base = low - self.chance.choice((0, 0, 1, 3))
        drawn = self.chance.random()
        if drawn < 0.4:
            return binary("-", iterator, self.parameter(type_, base))
        if drawn < 0.6:
            return binary("-", iterator, constant(base, type_))
        if drawn < 0.7:
            return binary("+", iterator, constant(-base, type_))
        if drawn < 0.85:
            return binary("-", self.parameter(type_, high + 1), iterator)
        return binary(
            "/",
            binary("-", iterator, self.parameter(type_, base)),
            constant(max(1, (high - base) // (SIDE - 1) + 1), INT),
        )


def _both(left: Value, right: Value) -> Callable[[Values], int]:
    return lambda values: int(bool(left.of(values)) and bool(right.of(values)))


@dataclass(frozen=True)
class HeadCase:
    """A kernel, the number of its calls, and of those in which its body runs."""

    case: Case
    calls: int
    running: int


#: {a} and {v} are the place and the value of a body.
SINGLE = {
    "set": "{a} = {v};",
    "add": "{a} += {v};",
    "copy": "{a} = {b} + {v};",
    "sum": "w += {v};",
    "xor": "w ^= {v} * 5;",
    "greatest": "if ({v} > w) w = {v};",
    "count": "w++;",
    "scan": "w += {v}; {a} = w;",
    "chain": "{a} = {before} + {v};",
    "last": "w = {v};",
}


def random_head(seed: int) -> HeadCase:
    """The kernel with this number."""
    chance = random.Random(seed)
    while True:
        drawn = _draw(seed, chance)
        if drawn is not None:
            return drawn


def _draw(seed: int, chance: random.Random) -> HeadCase | None:
    kernel = _Kernel(seed, chance)
    nested = chance.random() < 0.45
    outer = kernel.head("i")
    heads = [outer]
    try:
        seen = [values["i"] for values in _rounds(heads, dict(kernel.sets[0]))]
        if nested:
            first = seen[0] if seen else 0
            heads.append(kernel.head("j", (variable("i", outer.type), first)))
        places = [dict(values) for values in _rounds(heads, dict(kernel.sets[0]))]
    except UndefinedError:
        return None
    if not places and chance.random() < 0.8 or len(kernel.parameters) > 9:
        return None
    iterators = [variable(head.name, head.type) for head in heads]
    values = kernel.value(iterators[-1])
    if nested and chance.random() < 0.5:
        values = binary("+", values, cast(UNSIGNED_LONG, iterators[0]))
    shape = chance.choice(list(SINGLE))
    subscripts: list[Value] = []
    if "{a}" in SINGLE[shape]:
        subscripts = [kernel.subscript(iterator, [place[iterator.text] for place in places]) for iterator in iterators]
    if nested and chance.random() < 0.15:
        subscripts = subscripts[chance.randrange(2) :][:1]
    row = nested and not subscripts and chance.random() < 0.3
    if row:
        subscripts = [kernel.subscript(iterators[0], [place["i"] for place in places])]
    if len(kernel.elements) != sum(
        text.count(f"{name}[") for name in ELEMENTS.values() for text in (head.text for head in heads)
    ):
        return None
    _further_sets(kernel)
    sets = [
        (arguments, count)
        for arguments in kernel.sets
        if (count := _count(heads, arguments, values, subscripts, shape)) is not None
        and (not row or _rows_fit(outer, arguments, subscripts))
    ]
    if kernel.sets[0] not in [arguments for arguments, _ in sets]:
        return None
    text = _text(kernel, heads, values, subscripts, shape, row, [arguments for arguments, _ in sets])
    title = f"{outer.type.spelling}, {shape}{', nested' if nested else ''}"
    return HeadCase(Case(f"head_{seed}", title, text), len(sets), sum(count > 0 for _, count in sets))


def _rounds(heads: list[Head], values: Values) -> Iterator[Values]:
    if not heads:
        yield values
        return
    for _ in heads[0].rounds(values):
        yield from _rounds(heads[1:], values)


def _further_sets(kernel: _Kernel) -> None:
    for _ in range(SETS - 1):
        changed = dict(kernel.sets[0])
        for name in changed:
            if kernel.chance.random() < 0.6:
                changed[name] = converted(changed[name] + kernel.chance.randint(-4, 4), kernel.parameters[name])
        if changed not in kernel.sets:
            kernel.sets.append(changed)


def _rows_fit(outer: Head, arguments: Values, subscripts: list[Value]) -> bool:
    """Whether each round of the outer loop alone also has a place."""
    try:
        return all(0 <= subscripts[0].of(values) < SIDE for values in _rounds([outer], dict(arguments)))
    except UndefinedError:
        return False


def _count(heads: list[Head], arguments: Values, value: Value, subscripts: list[Value], shape: str) -> int | None:
    """How often the body runs at a call; None where C leaves it undefined, or too often."""
    count, first = 0, 1 if shape == "chain" else 0
    try:
        for values in _rounds(heads, dict(arguments)):
            count += 1
            value.of(values)
            for place, subscript in enumerate(subscripts):
                low = first if place == len(subscripts) - 1 else 0
                if not low <= subscript.of(values) < SIDE:
                    return None
            if count > MOST * 20:
                return None
    except UndefinedError:
        return None
    return count


def _text(
    kernel: _Kernel, heads: list[Head], value: Value, subscripts: list[Value], shape: str, row: bool, sets: list[Values]
) -> str:
    name = f"head_{kernel.seed}"
    form = kernel.choose("global", "pointer", "rows") if len(subscripts) == 2 else kernel.choose("global", "pointer")
    arrays = {
        "global": "",
        "pointer": "unsigned long *a, const unsigned long *b",
        "rows": "unsigned long a[S][S], unsigned long b[S][S]",
    }[form]
    a, b = ("A", "B") if form == "global" else ("a", "b")

    def place(array: str, shift: str = "") -> str:
        texts = [subscript.operand for subscript in subscripts]
        if len(texts) == 2 and form != "rows":
            texts = [f"{texts[0]} * S + {texts[1]}"]
        return array + "".join(f"[{text}{shift if k == len(texts) - 1 else ''}]" for k, text in enumerate(texts))

    body = SINGLE[shape].format(a=place(a), b=place(b), before=place(a, " - 1"), v=value.operand)
    if "{a}" not in SINGLE[shape] and row:
        inner = f"unsigned long w = 3;\n        {heads[1].text} {{ {body} }}\n        {place(a)} = w;"
        nest = f"    {heads[0].text} {{\n        {inner}\n    }}"
    else:
        nest = "    " + "\n        ".join(head.text for head in heads) + f" {{\n            {body}\n        }}"
    outside = [head for head in heads if not head.declared]
    parameters = [f"{type_.spelling} {name}" for name, type_ in kernel.parameters.items()]
    signature = ", ".join([*filter(None, [arrays]), *parameters, "unsigned long *out"])
    lines = [f"static void {name}({signature})", "{"]
    lines += [f"    {head.type.spelling} {head.name} = 1;" for head in outside]
    lines += ["    unsigned long w = 7;", "#pragma tilek kernel", nest, "    out[0] = w;"]
    lines += [f"    out[{k}] = (unsigned long){head.name};" for k, head in enumerate(outside, 1)]
    lines += ["}", f"CASE({name})", "{"]
    given = {"global": [], "pointer": ["A", "B"], "rows": ["(unsigned long (*)[S])A", "(unsigned long (*)[S])B"]}[form]
    for values_of_call in sets:
        arguments = ", ".join(
            [*given, *(constant(values_of_call[key], type_).text for key, type_ in kernel.parameters.items()), "out"]
        )
        lines += ["    {", "        unsigned long out[3] = {0};", "        fill();"]
        lines += [
            f"        for (int k = 0; k < 8; k++)\n            {array}[k] = "
            f"({value.type.spelling})({constant(values_of_call[value.text], UNSIGNED_LONG).text} + (unsigned long)k);"
            for array, value in kernel.elements.items()
        ]
        lines += [f"        {name}({arguments});"]
        lines += ['        check_record("out", out, sizeof out);']
        lines += [] if not subscripts else ['        check_record("A", A, sizeof A);']
        lines += ["    }"]
    return "\n".join([*lines, "}", ""])


def case_file(cases: tuple[Case, ...]) -> CaseFile:
    """A program of some kernels."""
    return CaseFile("random_heads.c", PRELUDE, cases)
