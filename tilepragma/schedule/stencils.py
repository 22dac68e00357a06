"""Recognise stencil regions: a time loop around loops of statements that write one grid element
each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, Assignment, DataObject, Expression, Scope, access_to
from tilepragma.ir.invariance import host_evaluable
from tilepragma.ir.loop_tree import ExpressionStatement, Loop
from tilepragma.ir.polynomial import Polynomial, expression, polynomial
from tilepragma.ir.traversal import loops_in
from tilepragma.lower.band_loops import term
from tilepragma.poly.extents import Bounds
from tilepragma.poly.reference_spans import loop_ends
from tilepragma.schedule.strategy import Region
from tilepragma.user_tiles.mapping import MOST_DIMENSIONS

if TYPE_CHECKING:
    from tilepragma.poly.scop import ScopStatement


@dataclass(frozen=True)
class Place:
    """A written subscript, `iterator + shift` or `shift`; the iterator lies within `bounds`."""

    iterator: DataObject | None
    shift: Polynomial
    bounds: Bounds | None


@dataclass(frozen=True)
class Point:
    """A statement with the subscripts of its write."""

    statement: ScopStatement
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Stencil:
    """The time loop, its first and last step, the arrays' rank, and the statements."""

    time: Loop
    steps: Bounds
    rank: int
    points: tuple[Point, ...]


def stencil(region: Region) -> Stencil | str:
    """The region as a stencil, or a clause that says why it is none."""
    scop = region.scop
    heads = {id(statement.loops[0]): statement.loops[0] for statement in scop.statements if statement.loops}
    if len(region.statements) != 1 or len(heads) != 1 or not isinstance(region.statements[0], Loop):
        return "the region is not a single loop over time steps"
    (time,) = heads.values()
    on_host = host_evaluable(region.written)
    steps = loop_ends(time, {})
    if time is not region.statements[0] or steps is None or not all(on_host(atom) for atom in _spelled(steps)):
        return "the loop over time steps does not count up by 1 between bounds that are known at launch"
    ranks = {array.rank for array in region.written if array.rank}
    if len(ranks) != 1 or not 1 <= (rank := next(iter(ranks))) <= MOST_DIMENSIONS:
        return "the arrays that are written have not one to three dimensions, all the same number"
    if scop.reasons or any(
        array.rank == 0 and array.scope is not Scope.LOCAL and array not in _iterators(region)
        for array in region.written
    ):
        return "a scalar is written, or something is not affine"
    points = []
    for statement in scop.statements:
        point = _point(statement, time, rank)
        if point is None:
            line = statement.range.start.line
            return f"the statement on line {line} does not write an element whose subscripts are its loops' iterators"
        if not all(on_host(end) for place in point.places for end in _spelled(place.bounds)):
            return "a loop's bounds are not known at launch"
        points.append(point)
    return Stencil(time, steps, rank, tuple(points))


def _iterators(region: Region) -> set[DataObject]:
    return {loop.iterator for statement in region.statements for loop in loops_in(statement)}


def _spelled(ends: Bounds | None) -> tuple[Expression, ...]:
    return () if ends is None else (expression(ends.low), expression(ends.high))


def _point(statement: ScopStatement, time: Loop, rank: int) -> Point | None:
    node = statement.node
    if not isinstance(node, ExpressionStatement) or not isinstance(node.expression, Assignment) or statement.parts:
        return None
    target = node.expression.target
    if not isinstance(target, Access) or target.object.rank != rank or len(target.subscripts) != rank or target.path:
        return None
    if sum(reference.writes for reference in statement.references) != 1:
        return None
    inner = {loop.iterator: loop for loop in statement.loops if loop is not time}
    if len(inner) != len(statement.loops) - 1:
        return None
    places = [_place(polynomial(subscript), inner) for subscript in target.subscripts]
    known = [place for place in places if place is not None]
    if len(known) != rank or {place.iterator for place in known} - {None} != inner.keys():
        return None
    if len([place for place in known if place.iterator is not None]) != len(inner):
        return None
    return Point(statement, tuple(known))


def _place(subscript: Polynomial, inner: dict[DataObject, Loop]) -> Place | None:
    mentioned = [iterator for iterator in inner if access_to(iterator) in subscript.atoms]
    if not mentioned:
        return Place(None, subscript, None) if subscript.constant is not None else None
    iterator = mentioned[0]
    shift, bounds = subscript - term(iterator), loop_ends(inner[iterator], {})
    if shift.constant is None or bounds is None:
        return None
    return Place(iterator, shift, bounds)
