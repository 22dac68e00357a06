"""Arrays that are seen by rows (`DataObject.rows_in`) are those of one dimension that the user has.

    place      { A[q_1, …, q_k, r] -> A[q_1 s_1 + … + q_k s_k + r] }

is one to one where 0 <= q_(l+1) < s_l / s_(l+1) and 0 <= r < s_k, so all that is accessed must lie
there.
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
    """A sentence where an access to an array that is seen by rows is not known to keep to its row."""
    # The array itself stands for the names of its subscripts: no scalar of a length equals it.
    own = replace(frame, iterators=(object_,) * object_.rank)
    inside = isl.Set.universe(own.space)
    for place, length in enumerate(object_.lengths[1:], 1):
        assert length is not None, "rows have a length"
        index = own.iterator(place)
        inside = inside.intersect(index.ge_set(own.number(0))).intersect(index.lt_set(affine(length, own)))
    for reference in references:
        touched = reference.relation.range().reset_tuple_id()
        if not touched.is_subset(inside):
            start = reference.range.start
            text = f"'{object_.host}' is accessed on line {start.line}, column {start.column} beyond its row"
            yield Finding("rows are as long as they are seen", text, False)
            return


def in_one_dimension(reference: Reference) -> Reference | None:
    """The reference { S[i] -> A[place(i)] } to the user's array, of one to an array that is seen by rows; None where a length is no number."""
    object_, relation = reference.object, reference.relation
    strides = [stride.constant for stride in row_strides(object_)]
    if None in strides:
        return None
    names = [f"q{place}" for place in range(object_.rank)]
    total = " + ".join(f"{stride} * {name}" for stride, name in zip(strides, names, strict=True))
    place = isl.Map(f"{{ [{', '.join(names)}] -> [{total}] }}", context=relation.get_ctx())
    flat = relation.reset_tuple_id(isl.dim_type.out).apply_range(place).set_tuple_name(isl.dim_type.out, object_.name)
    return replace(reference, object=object_.stored, relation=flat)
