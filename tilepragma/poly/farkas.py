"""Farkas' lemma by isl: the affine forms that are non-negative on a dependence polyhedron.

    { (c0, cp, cs, ct) : c0 + cp . p + cs . s + ct . t >= 0 for all (s, t) in P_e and all p }

is a cone for parameters p. isl's `coefficients` writes it with one multiplier per constraint of P_e
and projects the multipliers out (thesis Algorithm 4.1, steps 2 to 4). Legality (3.16), balance
(4.1) and the bounding function are three linear images of this cone, so each polyhedron is
eliminated once.
"""

from __future__ import annotations

import islpy as isl

from tilepragma.base.frozen_values import dataclass

PIECES = 12
"""The greatest number of convex pieces of a relation; beyond that, their hull serves."""


@dataclass(frozen=True)
class ConeRow:
    """constant . c0 + parameters . cp + source . cs + target . ct >= 0, or = 0 where `equality`."""

    equality: bool
    constant: int
    parameters: tuple[int, ...]
    source: tuple[int, ...]
    target: tuple[int, ...]


def cone(relation: isl.Map) -> tuple[ConeRow, ...]:
    """The rows of the cone of a relation { S[s] -> T[t] }, for all its convex pieces.

    First drops existential variables, which only enlarges the relation: what holds on the larger
    one holds on the dependence.
    """
    pieces = relation.coalesce().get_basic_maps()
    if len(pieces) > PIECES:
        pieces = [relation.remove_divs().simple_hull()]
    rows: dict[ConeRow, None] = {}
    for piece in pieces:
        for row in _piece_rows(piece.remove_divs()):
            rows.setdefault(row)
    return tuple(rows)


def _piece_rows(piece: isl.BasicMap) -> list[ConeRow]:
    parameters = piece.dim(isl.dim_type.param)
    sources = piece.dim(isl.dim_type.in_)
    dual = piece.wrap().coefficients()
    rows = []
    for constraint in dual.get_constraints():
        values = [
            constraint.get_coefficient_val(isl.dim_type.set, index).to_python()
            for index in range(dual.dim(isl.dim_type.set))
        ]
        before_target = 1 + parameters + sources
        rows.append(
            ConeRow(
                constraint.is_equality(),
                values[0],
                tuple(values[1 : 1 + parameters]),
                tuple(values[1 + parameters : before_target]),
                tuple(values[before_target:]),
            )
        )
    return rows
