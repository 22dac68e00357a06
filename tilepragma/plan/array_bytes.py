"""Bytes of the array sections that a plan's kernel accesses: a lower bound of its traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.evaluation import Evaluation, UncountableError, clause_value
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Staged
from tilepragma.ir.types import RecordType, ScalarType
from tilepragma.model.bank_conflicts import padded_row
from tilepragma.plan.kernel_plan import ArrayArgument, HostExpression, KernelPlan

#: Bytes of the vectors that copies move, and workers read of their points.
VECTOR_BYTES = 16


@dataclass(frozen=True)
class ArrayBytes:
    """An array's section: its `bytes`, and whether the kernel `reads` and `writes` it."""

    array: DataObject
    bytes: int
    reads: bool
    writes: bool


def array_bytes(plan: KernelPlan, scalars: Mapping[str, int]) -> tuple[ArrayBytes, ...]:
    """The plan's array sections for these scalars. Raises UncountableError."""
    return tuple(_array(array, scalars) for array in plan.arrays)


def _array(argument: ArrayArgument, scalars: Mapping[str, int]) -> ArrayBytes:
    size = element_bytes(argument.object)
    if argument.is_gathered:
        raise UncountableError(f"'{argument.object.host}' is read at places that depend on data")
    for bound in argument.section:
        size *= max(host_value(bound.length, scalars), 0)
    return ArrayBytes(argument.object, size, argument.reads, argument.writes)


def host_value(bound: HostExpression, scalars: Mapping[str, int]) -> int:
    """The value that the host computes for a bound or a count. Raises UncountableError."""
    if not isinstance(bound, ClauseExpression):
        return int(Evaluation(scalars).value(bound))
    if bound.literal is not None:
        return bound.literal
    value = clause_value(bound.text, scalars)
    if value is not None:
        return value
    raise UncountableError(f"the clause's '{bound.text}' has no known value")


def stored_elements(staged: Staged, lengths: Sequence[int]) -> int:
    """The elements of an array tile of these lengths, with the padding of its rows."""
    row = lengths[staged.inner]
    if staged.inner == len(lengths) - 1:
        padded = padded_row(row, staged.odd)
    else:
        padded = row + max(1, VECTOR_BYTES // element_bytes(staged.object))
    return prod(lengths) // row * padded


def element_bytes(array: DataObject) -> int:
    """Bytes of an element."""
    if isinstance(array.element, ScalarType):
        return array.element.bits // 8
    return array.element.size if isinstance(array.element, RecordType) else 8
