"""Which elements of an array there are of each residue of its subscripts: what a copy of them, one
behind the other, has to hold.

{ [k] : some reference touches A[m k + p] }        for a modulus m and a residue p, 0 <= p < m, one entry a dimension
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import DataObject
from tilepragma.lower.copy_loops import CellSet
from tilepragma.poly.footprints import shadows
from tilepragma.poly.scop import AccessKind, Scop


def residue_cells(
    scop: Scop, object_: DataObject, modulus: Sequence[int], residues: Sequence[int], *, written: bool, boxed: bool
) -> CellSet | None:
    """The places k of what is touched, or `written` alone, `boxed` with what lies between in each
    dimension; None where that is not known exactly, or is nothing.
    """
    found = [reference for each in scop.statements for reference in each.references if reference.object == object_]
    if not found or not all(one.exact for one in found) or any(one.kind is AccessKind.MAY_WRITE for one in found):
        return None
    space = found[0].relation.get_space().range()
    places = _places(space, modulus, residues)
    moved = [one.relation.range().apply(places) for one in found if one.writes or not written]
    parts = [one for one in moved if not one.is_empty()]
    if not parts:
        return None
    return shadows(parts) if boxed else reduce(isl.Set.union, parts).coalesce()


def _places(space: isl.Space, modulus: Sequence[int], residues: Sequence[int]) -> isl.Map:
    """{ A[x] -> [k] : x = m k + p }"""
    rank = len(modulus)
    whole = space.map_from_domain_and_range(isl.Space.set_alloc(space.get_ctx(), 0, rank).align_params(space))
    result = isl.Map.universe(whole)
    local = isl.LocalSpace.from_space(whole)
    for place, (number, residue) in enumerate(zip(modulus, residues, strict=True)):
        same = isl.Constraint.alloc_equality(local)
        same = same.set_coefficient_val(isl.dim_type.in_, place, isl.Val(-1, context=space.get_ctx()))
        same = same.set_coefficient_val(isl.dim_type.out, place, isl.Val(number, context=space.get_ctx()))
        result = result.add_constraint(same.set_constant_val(isl.Val(residue, context=space.get_ctx())))
    return result
