"""Private arrays: whether each run of some code reads only array elements that it wrote before."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import DataObject, IntegerLiteral
from tilepragma.ir.loop_tree import Function, Statement
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.value_flow import ArrayFlow, UnknownFlowError, array_flow


@dataclass(frozen=True)
class PrivateArray:
    """An array whose runs read only what they wrote; `whole`: each run writes all elements."""

    whole: bool


def private_array(
    statements: Iterable[Statement],
    functions: tuple[Function, ...],
    written: frozenset[DataObject],
    array: DataObject,
) -> PrivateArray | None:
    """The proof for an array of literal lengths; None where a read may precede the write."""
    try:
        scop = extract_scop(statements, functions, written, assuming=False)
        with operation_limit(scop.context, DEFAULT_LIMIT, "looking for values of other iterations"):
            flow = array_flow(scop, (array,))
            for site in flow.reads:
                if any(not relation.is_empty() for relation in flow.of(flow.initial, site)):
                    return None
            return PrivateArray(_writes_all(flow, array))
    except (OperationLimitError, UnknownFlowError):
        return None


def _writes_all(flow: ArrayFlow, array: DataObject) -> bool:
    """Whether { A[a] : 0 <= a < lengths } is written, whatever the parameters are."""
    if not flow.writes:
        return False
    touched = reduce(isl.Set.union, (site.relation().range() for site in flow.writes))
    box = isl.Set.universe(touched.get_space())
    for place, length in enumerate(array.lengths):
        assert isinstance(length, IntegerLiteral), "the array has literal lengths"
        first, last = (isl.Val.int_from_si(box.get_ctx(), end) for end in (0, length.value - 1))
        box = box.lower_bound_val(isl.dim_type.set, place, first).upper_bound_val(isl.dim_type.set, place, last)
    return bool(box.is_subset(touched))
