"""A program that calls the user's function around a kernel on random arrays, to measure it.

It is the user's source, whose `main` is renamed (by -Dmain=…), with a new `main` that takes all
extents from its command line: one text serves all sizes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import RefusalError
from tilepragma.codegen.templates import render
from tilepragma.ir.evaluation import UncountableError
from tilepragma.ir.expressions import Scope, Storage
from tilepragma.ir.loop_tree import Enclosing, Parameter
from tilepragma.ir.repetition import has_fixed_work
from tilepragma.ir.types import ScalarType
from tilepragma.plan.array_bytes import host_value
from tilepragma.plan.kernel_plan import ArrayArgument, KernelPlan

#: The arguments before the function's whole numbers: calls, calls a fill, and the least extent.
_FIRST_NUMBER = 3
_PRINTED = re.compile(r"^tilek-(?P<what>seconds|digest) (?P<value>\S+)$", re.MULTILINE)


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
    """whether all calls do equal work, whatever the arrays hold"""

    def text(self, source: bytes) -> bytes:
        """The program of a source that has the function, whatever its directives say."""
        return source + self._text(is_timed=False).encode()

    def timed_text(self, source: bytes) -> bytes:
        """The program that also prints each call's seconds, and a digest of the arrays after the
        last. `call_times` reads them. The program is linked with `clock_text`.
        """
        return source + self._text(is_timed=True).encode()

    @property
    def clock_text(self) -> bytes:
        """The other file of a program that prints its calls' seconds."""
        return render("c/clock.c.j2").encode()

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
        whole = (numbers.get(name, 1) for name in self.whole)
        lengths = (length for extent in extents for length in extent)
        return tuple(map(str, (calls, calls_a_fill, least, *whole, *lengths)))

    def bytes(self, numbers: Mapping[str, int]) -> int:
        """The bytes of its arrays. Raises RefusalError."""
        return sum(array.element.bits // 8 * prod(array.extents(numbers)) for array in self.arrays.values())

    def _text(self, is_timed: bool) -> str:
        """The program's own part. Its arguments are the numbers of `command_line`."""
        arrays = list(self.arrays.values())
        ends = list(accumulate((array.rank for array in arrays), initial=_FIRST_NUMBER + len(self.whole)))
        blocks = {
            array.name: f"tilek_rows_{place}" if array.is_rows else f"(void *)tilek_block_{place}"
            for place, array in enumerate(arrays)
        }
        return render(
            "c/calling_program.c.j2",
            timed=is_timed,
            arrays=arrays,
            types=list(dict.fromkeys(array.element for array in arrays)),
            count=ends[-1],
            firsts=ends,
            totals=[
                " * ".join(f"numbers[{first + level}]" for level in range(array.rank))
                for first, array in zip(ends, arrays, strict=False)
            ],
            function=self.enclosing.function,
            arguments=[self._argument(parameter, blocks) for parameter in self.enclosing.parameters],
        )

    def _argument(self, parameter: Parameter, arrays: Mapping[str, str]) -> str:
        if parameter.name in arrays:
            return arrays[parameter.name]
        assert isinstance(parameter.type, ScalarType)
        if parameter.name in self.whole:
            return f"({parameter.type.spelling})numbers[{_FIRST_NUMBER + self.whole.index(parameter.name)}]"
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
        outside = ((plan, item) for plan in plans for item in plan.arrays if item.object.scope is Scope.EXTERNAL)
        array_arguments = tuple((plan, item) for plan, item in outside if item.object.stored.host == parameter.name)
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
    fixed_work = all(has_fixed_work(plan.source or plan.kernel) for plan in plans)
    return CallingProgram(enclosing, arrays, tuple(whole), tuple(name for name in whole if name in used), fixed_work)
