"""Delinearised arrays (`DataObject.rows_in`) are the user's one-dimensional arrays.

    place      { A[q_1, …, q_k, r] -> A[q_1 s_1 + … + q_k s_k + r] }

is one to one where 0 <= q_(l+1) < s_l / s_(l+1) and 0 <= r < s_k, so all accesses must lie there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import islpy as isl

from tilepragma.ir.expressions import DataObject
from tilepragma.ir.row_strides import row_strides
from tilepragma.poly.affine import Frame, affine
from tilepragma.poly.scop import Reference
from tilepragma.verify.statement_matching import Finding


def leaving_rows(object_: DataObject, references: Iterable[Reference], frame: Frame) -> Iterator[Finding]:
    """A sentence where an access to a delinearised array is not known to keep to its row."""
    # The array itself names its subscripts: it equals no scalar of a length.
    row_frame = replace(frame, iterators=(object_,) * object_.rank)
    inside = isl.Set.universe(row_frame.space)
    for place, length in enumerate(object_.lengths[1:], 1):
        assert length is not None, "rows have a length"
        index = row_frame.iterator(place)
        inside = inside.intersect(index.ge_set(row_frame.number(0))).intersect(index.lt_set(affine(length, row_frame)))
    for reference in references:
        touched = reference.relation.range().reset_tuple_id()
        if not touched.is_subset(inside):
            start = reference.range.start
            text = f"'{object_.host}' is accessed on line {start.line}, column {start.column} beyond its row"
            yield Finding("rows are as long as they are seen", text, False)
            return


def in_one_dimension(reference: Reference) -> Reference | None:
    """{ S[i] -> A[place(i)] } for the user's array; None where a length is no constant."""
    object_, relation = reference.object, reference.relation
    strides = [stride.constant for stride in row_strides(object_)]
    if None in strides:
        return None
    names = [f"q{place}" for place in range(object_.rank)]
    total = " + ".join(f"{stride} * {name}" for stride, name in zip(strides, names, strict=True))
    place = isl.Map(f"{{ [{', '.join(names)}] -> [{total}] }}", context=relation.get_ctx())
    flat = relation.reset_tuple_id(isl.dim_type.out).apply_range(place).set_tuple_name(isl.dim_type.out, object_.name)
    return replace(reference, object=object_.stored, relation=flat)
