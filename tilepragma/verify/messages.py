"""Why unvouched iterations may not run in any order, in words."""

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
        f"the loop over '{loop.iterator.host}' {certain} {'an' if broken.kind.value[0] in 'ao' else 'a'} "
        f"{broken.kind.value} "
        f"dependence of '{source.object.host}' (line {source.range.start.line}, column {source.range.start.column} to "
        f"line {sink.range.start.line}, column {sink.range.start.column}, distance {distance_text(broken.distances)})"
    )


def rows_that_meet(kernel: Kernel) -> str | None:
    """Why rows of two objects may overlap, one of them written; None where they cannot.

    Launches check the addresses of contiguous arrays (`KernelPlan.apart`). Rows are too many for
    that, so `restrict`, different element types or the user's sections must tell them apart.
    """
    sections = {section.path for clause in kernel.directive.data for section in clause.sections}
    touched: dict[DataObject, bool] = {}
    for use in (*uses(kernel.body, kernel.functions), *function_uses(kernel.functions)):
        object_ = use.object
        if object_.storage is not Storage.SCALAR and object_.scope is Scope.EXTERNAL:
            touched[object_] = touched.get(object_, False) or use.writes
    for first, second in itertools.permutations(touched, 2):
        rows = first.storage is Storage.ROWS and not (first.host in sections and second.host in sections)
        if rows and (touched[first] or touched[second]) and not _distinct(first, second):
            return (
                f"rows of '{first.host}' and of '{second.host}' may be the same memory: declare one of them "
                "restrict, or say "
                "their sections in a data clause"
            )
    return None


def _distinct(first: DataObject, second: DataObject) -> bool:
    if first.restrict or second.restrict:
        return True
    first_type, second_type = first.element, second.element
    if not isinstance(first_type, ScalarType) or not isinstance(second_type, ScalarType):
        return False
    different = (first_type.kind, first_type.bits) != (second_type.kind, second_type.bits)
    return different and min(first_type.bits, second_type.bits) > 8
