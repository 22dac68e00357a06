"""The elements of an array with given residues of its subscripts, which a contiguous copy holds.

{ [k] : some reference touches A[m k + p] }, for a modulus m and residue p, 0 <= p < m, a dimension
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
    """The places k touched (or `written`), or their box; None where inexact or empty."""
    elements = accessed_elements(scop, object_, written=written)
    if not elements:
        return None
    places = _places(elements[0].get_space(), modulus, residues)
    parts = [part for part in (accessed.apply(places) for accessed in elements) if not part.is_empty()]
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


def accessed_elements(scop: Scop, object_: DataObject, *, written: bool) -> list[CellSet]:
    """The elements of each reference that touches (or writes) the array; empty where inexact."""
    references = [use for statement in scop.statements for use in statement.references if use.object == object_]
    if any(use.kind is AccessKind.MAY_WRITE or not use.exact for use in references):
        return []
    return [use.relation.range() for use in references if use.writes or not written]
