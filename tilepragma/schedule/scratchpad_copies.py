"""Statements that copy between arrays and scratchpads, and accesses in scratchpads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tilepragma.ir.expressions import (
    Access,
    Binary,
    DataObject,
    Expression,
    IntegerLiteral,
    Scope,
    Storage,
    access_to,
    conjunction,
    integer,
)
from tilepragma.ir.loop_tree import Block, If, Scratchpad, Statement
from tilepragma.ir.polynomial import Polynomial, expression
from tilepragma.ir.types import INT, LONG
from tilepragma.lower.band_loops import short_or_long, term
from tilepragma.poly.extents import Bounds


def scratchpad(
    name: str, array: DataObject, lengths: tuple[Expression, ...], origin: tuple[DataObject | None, ...]
) -> Scratchpad:
    """A gang's scratchpad for a part of the array from `origin` on."""
    object_ = DataObject(name, name, array.element, Storage.CONTIGUOUS, Scope.GANG, lengths)
    return Scratchpad(object_, array, origin)


def in_scratchpad(access: Access, scratchpads: Mapping[DataObject, Scratchpad]) -> Access:
    """The access in its array's scratchpad, if it has one."""
    held = scratchpads.get(access.object)
    if held is None:
        return access
    places = (_place(held, dimension, subscript) for dimension, subscript in enumerate(access.subscripts))
    return replace(access, object=held.object, subscripts=tuple(places))


def _place(held: Scratchpad, dimension: int, subscript: Expression) -> Expression:
    """The place in the scratchpad of the array element with this subscript."""
    origin, length = held.origin[dimension], held.object.lengths[dimension]
    if origin is None:
        assert isinstance(length, IntegerLiteral)
        return Binary("&", subscript, integer(length.value - 1), LONG)
    return Binary("-", subscript, access_to(origin), LONG)


def at_least(value: Polynomial, least: Polynomial) -> Expression:
    """value >= least"""
    return compared(">=", value, least)


def compared(operator: str, left: Polynomial, right: Polynomial) -> Expression:
    """The comparison, in short integers where they suffice."""
    type_ = short_or_long(left, right)
    return Binary(operator, expression(left, type_), expression(right, type_), INT)


def where(conditions: Iterable[Expression], *body: Statement) -> tuple[Statement, ...]:
    """The statements, under an If of all conditions if any."""
    tests = tuple(conditions)
    return (If(conjunction(tests), Block(body), None),) if tests else body


def within(points: Iterable[DataObject], box: Iterable[Bounds]) -> tuple[Expression, ...]:
    """Tests that the points are in a box."""
    return tuple(
        test
        for point, side in zip(points, box, strict=True)
        for test in (at_least(term(point), side.low), at_least(side.high, term(point)))
    )


def element_at(array: DataObject, points: Iterable[DataObject]) -> Access:
    """The element with these subscripts."""
    return Access(array, tuple(map(access_to, points)), (), array.element)
