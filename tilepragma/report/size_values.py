"""Numbers for the user's sizes (`--size n=1024`): their names, and values of expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.refusals import CommandError
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.evaluation import Evaluation, UncountableError, clause_value
from tilepragma.ir.expressions import Access, DataObject, Expression, Scope, Storage
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.ir.types import ScalarType
from tilepragma.user_tiles.chain_checks import trip_count

_ASSIGNMENT = re.compile(r"\s*(?P<name>[^=\s][^=]*?)\s*=\s*(?P<value>[+-]?[0-9]+)\s*")
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Sizes:
    """The user's numbers, by their C expressions (`n`, `grid->n`)."""

    numbers: Mapping[str, int] = field(default_factory=dict)

    def of(self, object_: DataObject) -> int | None:
        """The user's number for a scalar."""
        return self.numbers.get(object_.host)

    def with_numbers(self, numbers: Mapping[str, int]) -> Sizes:
        """The user's numbers, if any, and further ones such as tile sizes; the user's win."""
        return Sizes({**numbers, **self.numbers}) if self.numbers else self

    def by_name(self, kernel: Kernel) -> dict[str, int]:
        """The numbers by the engine's names of objects."""
        return kernel.by_name(self.numbers)


def parse_sizes(words: Iterable[str]) -> Sizes:
    """From words `NAME=INTEGER`, also several with commas. Raises CommandError."""
    numbers: dict[str, int] = {}
    for word in (part for words_ in words for part in words_.split(",")):
        match_ = _ASSIGNMENT.fullmatch(word)
        if match_ is None:
            raise CommandError(f"--size {word}: write NAME=INTEGER, as in --size n=1024")
        value = int(match_["value"])
        if abs(value) > _LARGEST:
            raise CommandError(f"--size {word}: the number does not fit in 64 bits")
        if numbers.setdefault(match_["name"], value) != value:
            raise CommandError(f"--size {word}: {match_['name']} has another size already, {numbers[match_['name']]}")
    return Sizes(numbers)


def check_sizes(sizes: Sizes, kernels: Iterable[Kernel], option: str = "--size") -> None:
    """Check that each name is a kernel's parameter; `option` is the user's. Raises CommandError."""
    names = sorted({parameter.host for kernel in kernels for parameter in size_parameters(kernel)})
    for name in sizes.numbers:
        if name not in names:
            there = f"parameters are {', '.join(names)}" if names else "its kernels have no integer parameters"
            raise CommandError(f"{option} {name}: no kernel depends on that name; {there} (macros are set with -D)")


def size_parameters(kernel: Kernel) -> tuple[DataObject, ...]:
    """The integers from outside that the region does not change."""
    changed = written_objects(kernel) | {loop.iterator for loop in loops_in(kernel.body)}
    return tuple(
        object_
        for object_ in kernel.objects
        if object_.scope is Scope.EXTERNAL
        and object_.storage is Storage.SCALAR
        and isinstance(object_.element, ScalarType)
        and object_.element.is_integer
        and object_ not in changed
    )


def value_of(expression: Expression | ClauseExpression, sizes: Sizes) -> int | None:
    """The expression's integer value, None where the sizes do not determine it."""
    if isinstance(expression, ClauseExpression):
        return clause_value(expression.text, sizes.numbers)
    numbers = {node.object.name: sizes.of(node.object) for node in walk(expression) if isinstance(node, Access)}
    try:
        return int(Evaluation(numbers).value(expression))
    except UncountableError:
        return None


def iterations(loop: Loop, sizes: Sizes) -> int | None:
    """A loop's trip count; None where the sizes do not determine it, or the loop would not end."""
    lower, upper, step = (value_of(bound, sizes) for bound in loop.bounds)
    if lower is None or upper is None or not step:
        return None
    trips = trip_count(lower, upper, step, loop.comparison)
    return trips if trips >= 0 else None


def byte_text(count: int) -> str:
    """`8.0 MB`: a number of bytes in decimal units, like disks and networks."""
    if count < 1000:
        return f"{count} B"
    value = float(count)
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        value /= 1000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} EB"
