"""Proof that a region whose loops count their iterations does what the region with steps does.

The two are the same text, but that a loop over i may be one over x, with value(x) = lower + step x
in the place of i, where

    { [o, lower + step x] : 0 <= x < upper' }  =  { [o, i] : lower <= i < upper, (i - lower) mod |step| = 0 }

for all values o of the loops around (and so for other comparisons). Step by step the iterations of
one are then those of the other, in order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.expressions import Access, DataObject, Expression, Scope, access_to
from tilepragma.ir.loop_tree import Block, Loop
from tilepragma.ir.polynomial import Polynomial, expression, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.poly.affine import Frame, NotAffineError, affine, compare, whole_number
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

_OUT, _SET = isl.dim_type.out, isl.dim_type.set


def unit_step_fault(stepped: Block, unit: Block, written: frozenset[DataObject]) -> str | None:
    """Why the two, which change the objects `written`, are not proven to do the same, a clause; None where they are."""
    context = isl.Context()
    old = set(_objects(stepped))
    try:
        with operation_limit(context, DEFAULT_LIMIT, "proving that iterations are counted right"):
            _Comparison(Frame(context, (), written), {}, frozenset(old)).same(stepped, unit)
    except (OperationLimitError, NotAffineError, _DifferentError) as fault:
        return str(fault).rstrip(".")
    return None


class _DifferentError(Exception):
    """What is not the same, a clause."""


def _objects(body: Block) -> Iterator[DataObject]:
    for node in walk(body):
        if isinstance(node, Access):
            yield node.object
        elif isinstance(node, Loop):
            yield node.iterator


@dataclass(frozen=True)
class _Comparison:
    """`values`: what stands for each iterator of the region with steps that the other one does without. `known` are the former's objects."""

    frame: Frame
    values: Mapping[DataObject, Polynomial]
    known: frozenset[DataObject]

    def same(self, one: Any, other: Any) -> None:
        """Raises _DifferentError unless the other is the one, with these values."""
        if isinstance(one, Access) and one.object in self.values:
            if polynomial(other) != self.values[one.object] or other.type != one.type:
                raise _DifferentError(f"'{one.object.host}' has another value in some iteration")
        elif isinstance(one, Loop) and isinstance(other, Loop):
            self._loops(one, other)
        elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            for part, twin in zip(one, other, strict=True):
                self.same(part, twin)
        elif (
            not dataclasses.is_dataclass(one)
            or isinstance(one, (DataObject, SourceRange))
            or type(one) is not type(other)
        ):
            if one != other:
                raise _DifferentError("the text differs in more than steps")
        else:
            for field in dataclasses.fields(one):
                if field.compare:
                    mine, theirs = getattr(one, field.name), getattr(other, field.name)
                    (self._subscripts if isinstance(one, Access) and field.name == "subscripts" else self.same)(
                        mine, theirs
                    )

    def _subscripts(self, one: tuple[Expression, ...], other: tuple[Expression, ...]) -> None:
        """Sums may be collected in another way."""
        if len(one) != len(other):
            raise _DifferentError("the text differs in more than steps")
        for mine, theirs in zip(one, other, strict=True):
            try:
                self.same(mine, theirs)
            except _DifferentError:
                if self._value(mine) != polynomial(theirs):
                    raise

    def _value(self, one: Expression) -> Polynomial:
        value = polynomial(one)
        for iterator, instead in self.values.items():
            value = value.substitute(access_to(iterator), instead)
        return value

    def _loops(self, one: Loop, other: Loop) -> None:
        values = {iterator: value for iterator, value in self.values.items() if iterator != one.iterator}
        inside = dataclasses.replace(self, frame=self.frame.inside(other.iterator), values=values)
        if one.iterator == other.iterator:
            for name in ("declares_iterator", "comparison", "decreasing", "lower", "upper", "step", "directive"):
                self.same(getattr(one, name), getattr(other, name))
        else:
            self._counts(one, other, inside.frame)
            value = self._value(one.lower) + of_atom(access_to(other.iterator)) * polynomial(one.step)
            inside = dataclasses.replace(inside, values={**values, one.iterator: value})
        inside.same(one.body, other.body)

    def _counts(self, one: Loop, other: Loop, frame: Frame) -> None:
        """The equation above."""
        index, step = other.iterator, polynomial(one.step).constant
        plain = (polynomial(other.lower).constant, polynomial(other.step).constant, other.comparison, other.decreasing)
        if plain != (0, 1, "<", False) or not other.declares_iterator or other.directive != one.directive:
            raise _DifferentError(f"the loop over '{index.host}' does not count from 0")
        if index in self.known or index.scope is not Scope.LOCAL or index.element != one.iterator.element:
            raise _DifferentError(f"'{index.host}' is no iterator of its own")
        if not step or one.decreasing != (step < 0) or one.comparison == "!=":
            raise _DifferentError(f"the loop over '{one.iterator.host}' has no constant step")
        last = len(frame.iterators) - 1
        place = frame.iterator(last)
        start, end = (affine(self._substituted(bound), frame) for bound in (one.lower, one.upper))
        size = whole_number(frame.context, abs(step))
        wanted = compare(place, "<=" if one.decreasing else ">=", start) & compare(place, one.comparison, end)
        wanted &= place.sub(start).mod_val(size).eq_set(frame.number(0))
        counted = compare(place, ">=", frame.number(0)) & compare(place, "<", affine(other.upper, frame))
        value = start.add(place.mul(frame.number(step)))
        kept = isl.Map.identity(counted.get_space().map_from_set()).project_out(_OUT, last, 1)
        found = counted.apply(kept.flat_range_product(isl.Map.from_pw_aff(value)))
        if not found.is_equal(wanted):
            raise _DifferentError(
                f"the loop over '{index.host}' has other iterations than that over '{one.iterator.host}'"
            )

    def _substituted(self, bound: Expression) -> Expression:
        def change(access: Access) -> Expression:
            return expression(self.values[access.object]) if access.object in self.values else access

        return with_accesses(bound, change)
