"""Regions that nobody vouched for: what forbids running iterations in any order, in words."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.expressions import DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Kernel, Loop
from tilepragma.ir.types import ScalarType

if TYPE_CHECKING:
    from tilepragma.poly.dependences import Dependence


def dependence_reason(loop: Loop, broken: Dependence) -> str:
    """Why the iterations of `loop` are not independent: a clause."""
    from tilepragma.poly.dependences import distance_text

    source, sink = broken.source, broken.sink
    certain = "carries" if broken.exact else "may carry"
    return (
        f"the loop over '{loop.iterator.host}' {certain} {'an' if broken.kind.value[0] in 'ao' else 'a'} {broken.kind.value} "
        f"dependence of '{source.object.host}' (line {source.range.start.line}, column {source.range.start.column} to "
        f"line {sink.range.start.line}, column {sink.range.start.column}, distance {distance_text(broken.distances)})"
    )


def rows_that_meet(kernel: Kernel) -> str | None:
    """Why rows of two objects may be the same memory, where one is written; None where they cannot.

    Whether contiguous arrays are apart is checked at launch by their addresses
    (`KernelPlan.apart`). Rows are too many for that, so `restrict`, different element types or the
    user's sections must tell them apart.
    """
    said = {section.path for clause in kernel.directive.data for section in clause.sections}
    touched: dict[DataObject, bool] = {}
    for use in (*uses(kernel.body, kernel.functions), *function_uses(kernel.functions)):
        object_ = use.object
        if object_.storage is not Storage.SCALAR and object_.scope is Scope.EXTERNAL:
            touched[object_] = touched.get(object_, False) or use.writes
    for one, other in itertools.permutations(touched, 2):
        rows = one.storage is Storage.ROWS and not (one.host in said and other.host in said)
        if rows and (touched[one] or touched[other]) and not _distinct(one, other):
            return (
                f"rows of '{one.host}' and of '{other.host}' may be the same memory: declare one of them restrict, or say "
                "their sections in a data clause"
            )
    return None


def _distinct(one: DataObject, other: DataObject) -> bool:
    if one.restrict or other.restrict:
        return True
    first, second = one.element, other.element
    if not isinstance(first, ScalarType) or not isinstance(second, ScalarType):
        return False
    different = (first.kind, first.bits) != (second.kind, second.bits)
    return different and min(first.bits, second.bits) > 8
