"""A program that calls the user's function around a kernel on random arrays, to measure it.

It is the user's source, whose `main` is renamed (by -Dmain=…), with a new `main` that takes all
extents from its command line: one text serves all sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import Scope, Storage
from tilepragma.ir.loop_tree import Enclosing, Parameter
from tilepragma.ir.repetition import has_fixed_work
from tilepragma.ir.types import ScalarType
from tilepragma.plan.array_bytes import host_value
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan

_BEGINNING = """
#undef main
#include <stdio.h>
#include <stdlib.h>

static unsigned long long tilek_calling_state;

/* Marsaglia's xorshift of 64 bits. */
static unsigned long long tilek_calling_random(void)
{
    unsigned long long x = tilek_calling_state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return tilek_calling_state = x;
}

static void *tilek_calling_memory(unsigned long long count, size_t size)
{
    void *const found = count <= ((size_t)-1) / size ? malloc(count * size + 1) : NULL;
    if (found == NULL) {
        fputs("there is no memory for its arrays\\n", stderr);
        exit(3);
    }
    return found;
}
"""

_ROWS = """
/* Pointers to the rows of a block, and to these where there are more than two dimensions. */
static void *tilek_calling_rows(char *block, size_t size, int rank, const unsigned long long *extents)
{
    unsigned long long count = 1;
    char *below = block;
    size_t step = size * (size_t)extents[rank - 1];
    int level;
    for (level = 0; level < rank - 1; ++level)
        count *= extents[level];
    for (level = rank - 2; level >= 0; --level) {
        void **const rows = tilek_calling_memory(count, sizeof *rows);
        unsigned long long row;
        for (row = 0; row < count; ++row)
            rows[row] = below + row * step;
        below = (char *)rows;
        step = sizeof *rows * (size_t)extents[level];
        count /= extents[level];
    }
    return below;
}
"""

_FILL = """
static void tilek_calling_fill_{number}({type} *to, unsigned long long count, unsigned long long least)
{{
    unsigned long long i;
    (void)least;
    for (i = 0; i < count; ++i)
        to[i] = ({type}){value};
}}
"""
_TIMED = """
double tilek_calling_seconds(void);

/* Fowler, Noll and Vo's hash, 1a: the same for the same bytes. */
static unsigned long long tilek_calling_digest(unsigned long long state, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    while (count-- > 0)
        state = (state ^ *at++) * 1099511628211ull;
    return state;
}
"""
#: A source's headers may hide the clock, so it has its own file.
_CLOCK = """\
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <time.h>

double tilek_calling_seconds(void);

double tilek_calling_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
"""
_PRINTED = re.compile(r"^tilek-(?P<what>seconds|digest) (?P<value>\S+)$", re.MULTILINE)
#: Reals from 0 to 1; whole numbers that may be subscripts of any array.
_REAL, _WHOLE = "((double)(tilek_calling_random() >> 11) / 9007199254740992.0)", "(tilek_calling_random() % least)"


@dataclass(frozen=True)
class _Array:
    """A parameter that is an array. `arguments` are its entries in the plans of all kernels."""

    name: str
    element: ScalarType
    is_rows: bool
    rank: int
    arguments: tuple[tuple[KernelPlan, ArrayArgument], ...]

    def extents(self, numbers: Mapping[str, int]) -> tuple[int, ...]:
        """Elements along each dimension, 1 at least. Raises RefusalError."""
        try:
            ends = [_ends(plan, argument, numbers) for plan, argument in self.arguments]
        except UncountableError as reason:
            raise RefusalError(f"has an array '{self.name}' whose extent is not known: {reason}") from None
        return tuple(max(1, *dimension) for dimension in zip(*ends, strict=True))


def _ends(plan: KernelPlan, argument: ArrayArgument, numbers: Mapping[str, int]) -> tuple[int, ...]:
    """The section's end in each dimension, at least the known lengths. Raises UncountableError."""
    values = {**numbers, **plan.kernel.by_name(numbers)}  # clauses have the user's names, expressions the engine's
    lengths = argument.object.stored.lengths
    ends = []
    for bound, length in zip(argument.section, lengths, strict=True):
        end = host_value(bound.lower, values) + max(host_value(bound.length, values), 0)
        ends.append(end if length is None else max(end, host_value(length, values)))
    return tuple(ends)


@dataclass(frozen=True)
class CallTimes:
    """The seconds of each call, and the arrays' digest, empty where the program ended early."""

    seconds: tuple[float, ...]
    digest: str


@dataclass(frozen=True)
class CallingProgram:
    """How to call the function of `enclosing`: its `arrays`, and its `whole`-number parameters."""

    enclosing: Enclosing
    arrays: Mapping[str, _Array]
    whole: tuple[str, ...]
    needed: tuple[str, ...]
    """the whole numbers that a kernel depends on"""
    has_fixed_work: bool
    """whether a call on another's results is as much work: no kernel branches on array elements"""

    def text(self, source: bytes) -> bytes:
        """The program of a source that has the function, whatever its directives say."""
        return source + "".join(self._lines(is_timed=False)).encode()

    def timed_text(self, source: bytes) -> bytes:
        """The program that also prints each call's seconds, and a digest of the arrays after the
        last. `call_times` reads them. The program is linked with `clock_text`.
        """
        return source + "".join(self._lines(is_timed=True)).encode()

    @property
    def clock_text(self) -> bytes:
        """The other file of a program that prints its calls' seconds."""
        return _CLOCK.encode()

    @staticmethod
    def call_times(output: str) -> CallTimes:
        """What such a program printed, among the function's output."""
        pairs = [(match["what"], match["value"]) for match in _PRINTED.finditer(output)]
        seconds = tuple(float(value) for what, value in pairs if what == "seconds")
        return CallTimes(seconds, next((value for what, value in pairs if what == "digest"), ""))

    def command_line(self, numbers: Mapping[str, int], calls: int, calls_a_fill: int = 1) -> tuple[str, ...]:
        """The arguments for `calls` calls with these values of the function's whole numbers. A
        number that no kernel depends on is 1 by default. The arrays are filled with the same
        numbers before the first call and after each `calls_a_fill` calls. Other calls get what the
        previous call left. Raises RefusalError.
        """
        missing = [name for name in self.needed if name not in numbers]
        if missing:
            sizes = ",".join(f"{name}=…" for name in missing)
            raise RefusalError(f"depends on {' and '.join(missing)}, of which no number is known: say --sizes {sizes}")
        extents = [array.extents(numbers) for array in self.arrays.values()]
        least = min((extent for lengths in extents for extent in lengths), default=1)
        words = (
            calls,
            calls_a_fill,
            least,
            *(numbers.get(name, 1) for name in self.whole),
            *(length for extent in extents for length in extent),
        )
        return tuple(map(str, words))

    def bytes(self, numbers: Mapping[str, int]) -> int:
        """The bytes of its arrays. Raises RefusalError."""
        whole = 0
        for array in self.arrays.values():
            size = array.element.bits // 8
            for extent in array.extents(numbers):
                size *= extent
            whole += size
        return whole

    def _lines(self, is_timed: bool) -> Iterator[str]:
        yield _BEGINNING
        if is_timed:
            yield _TIMED
        if any(array.is_rows for array in self.arrays.values()):
            yield _ROWS
        types = list(dict.fromkeys(array.element for array in self.arrays.values()))
        for number, type_ in enumerate(types):
            value = _REAL if type_.is_floating else _WHOLE
            yield _FILL.format(number=number, type=type_.spelling, value=value)
        count = 3 + len(self.whole) + sum(array.rank for array in self.arrays.values())
        yield "\nint main(int argc, char **argv)\n{\n"
        yield f"    unsigned long long numbers[{count}], call;\n    int place;\n"
        if is_timed:
            yield "    unsigned long long digest = 14695981039346656037ull;\n    double before;\n"
        yield f"    if (argc != {count + 1})\n        return 2;\n"
        yield f"    for (place = 0; place < {count}; ++place)\n"
        yield "        numbers[place] = strtoull(argv[place + 1], NULL, 10);\n    {\n"
        first = 3 + len(self.whole)
        fills, digests, arguments = [], [], {}
        for place, array in enumerate(self.arrays.values()):
            lengths = [f"numbers[{first + level}]" for level in range(array.rank)]
            total = " * ".join(lengths)
            block = f"tilek_block_{place}"
            size = f"sizeof({array.element.spelling})"
            yield f"        {array.element.spelling} *const {block} = tilek_calling_memory({total}, {size});\n"
            fills.append(f"tilek_calling_fill_{types.index(array.element)}({block}, {total}, numbers[2]);")
            digests.append(f"digest = tilek_calling_digest(digest, {block}, {total} * {size});")
            arguments[array.name] = f"(void *){block}"
            if array.is_rows:
                rows = f"tilek_calling_rows((char *){block}, {size}, {array.rank}, numbers + {first})"
                yield f"        void *const tilek_rows_{place} = {rows};\n"
                arguments[array.name] = f"tilek_rows_{place}"
            first += array.rank
        yield "        for (call = 0; call < numbers[0]; ++call) {\n            if (call % numbers[1] == 0) {\n"
        yield "                tilek_calling_state = 88172645463325252ull;\n"
        yield from (f"                {fill}\n" for fill in fills)
        yield "            }\n"
        passed = ", ".join(self._argument(parameter, arguments) for parameter in self.enclosing.parameters)
        name = self.enclosing.function
        if is_timed:
            # The compiler does not know the callee, so it keeps calls whose value is not used.
            yield f"            __typeof__({name}) *volatile const called = {name};\n"
            yield "            before = tilek_calling_seconds();\n"
            yield f"            (void)called({passed});\n"
            yield '            printf("\\ntilek-seconds %.9e\\n", tilek_calling_seconds() - before);\n        }\n'
            yield from (f"        {digest}\n" for digest in digests)
            yield '        printf("\\ntilek-digest %016llx\\n", digest);\n    }\n    return 0;\n}\n'
        else:
            yield f"            (void){name}({passed});\n        }}\n    }}\n    return 0;\n}}\n"

    def _argument(self, parameter: Parameter, arrays: Mapping[str, str]) -> str:
        if parameter.name in arrays:
            return arrays[parameter.name]
        assert isinstance(parameter.type, ScalarType)
        if parameter.name in self.whole:
            return f"({parameter.type.spelling})numbers[{3 + self.whole.index(parameter.name)}]"
        return f"({parameter.type.spelling})0.75"


def calling_program(enclosing: Enclosing, plans: Sequence[KernelPlan]) -> CallingProgram:
    """How to call the function with the kernels of these plans. Raises RefusalError."""
    if enclosing.function == "main":
        raise RefusalError("is the program's own main")
    arrays: dict[str, _Array] = {}
    whole: list[str] = []
    for parameter in enclosing.parameters:
        if isinstance(parameter.type, ScalarType):
            whole += [parameter.name] if parameter.type.is_integer else []
            continue
        array_arguments = tuple(
            (plan, argument)
            for plan in plans
            for argument in plan.arrays
            if argument.object.stored.host == parameter.name and argument.object.scope is Scope.EXTERNAL
        )
        if not array_arguments or not parameter.name:
            raise RefusalError(
                f"has a parameter '{parameter.name}' that is neither a number nor an array of its kernels"
            )
        object_ = array_arguments[0][1].object.stored
        if not isinstance(object_.element, ScalarType) or object_.storage is Storage.SCALAR:
            raise RefusalError(f"has a parameter '{parameter.name}' that is no array of numbers")
        if any(not argument.section for _, argument in array_arguments):
            raise RefusalError(f"has an array '{parameter.name}' of no known extent")
        arrays[parameter.name] = _Array(
            parameter.name, object_.element, object_.storage is Storage.ROWS, object_.rank, array_arguments
        )
    used = {object_.host for plan in plans for object_ in (plan.source or plan.kernel).objects}
    again = all(has_fixed_work(plan.source or plan.kernel) for plan in plans)
    return CallingProgram(enclosing, arrays, tuple(whole), tuple(name for name in whole if name in used), again)
