"""Proof that a region with normalised loops does what the region with steps does.

The two are the same text, but that a loop over i may be one over x, with value(x) = lower + step x
in place of i, where

    { [o, lower + step x] : 0 <= x < upper' }
    =  { [o, i] : lower <= i < upper, (i - lower) mod |step| = 0 }

for all values o of the loops around (likewise for other comparisons). The iterations of one are
then those of the other, in order.
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
    """Why the two, which write `written`, are not proven to do the same; None where they are."""
    context = isl.Context()
    old = set(_objects(stepped))
    try:
        with operation_limit(context, DEFAULT_LIMIT, "proving that iterations are counted right"):
            _Comparison(Frame(context, (), written), {}, frozenset(old)).same(stepped, unit)
    except (OperationLimitError, NotAffineError, _DifferentError) as fault:
        return str(fault).rstrip(".")
    return None


class _DifferentError(Exception):
    """How the regions differ, a clause."""


def _objects(body: Block) -> Iterator[DataObject]:
    for node in walk(body):
        if isinstance(node, Access):
            yield node.object
        elif isinstance(node, Loop):
            yield node.iterator


@dataclass(frozen=True)
class _Comparison:
    """`values` replace iterators of the region with steps, whose objects are `known`."""

    frame: Frame
    values: Mapping[DataObject, Polynomial]
    known: frozenset[DataObject]

    def same(self, old: Any, new: Any) -> None:
        """Raises _DifferentError unless `new` is `old` with these values."""
        if isinstance(old, Access) and old.object in self.values:
            if polynomial(new) != self.values[old.object] or new.type != old.type:
                raise _DifferentError(f"'{old.object.host}' has another value in some iteration")
        elif isinstance(old, Loop) and isinstance(new, Loop):
            self._loops(old, new)
        elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
            for part, twin in zip(old, new, strict=True):
                self.same(part, twin)
        elif (
            not dataclasses.is_dataclass(old)
            or isinstance(old, (DataObject, SourceRange))
            or type(old) is not type(new)
        ):
            if old != new:
                raise _DifferentError("the text differs in more than steps")
        else:
            for field in dataclasses.fields(old):
                if field.compare:
                    old_field, new_field = getattr(old, field.name), getattr(new, field.name)
                    (self._subscripts if isinstance(old, Access) and field.name == "subscripts" else self.same)(
                        old_field, new_field
                    )

    def _subscripts(self, old: tuple[Expression, ...], new: tuple[Expression, ...]) -> None:
        """Subscripts may collect their sums in another way."""
        if len(old) != len(new):
            raise _DifferentError("the text differs in more than steps")
        for old_part, new_part in zip(old, new, strict=True):
            try:
                self.same(old_part, new_part)
            except _DifferentError:
                if self._value(old_part) != polynomial(new_part):
                    raise

    def _value(self, old: Expression) -> Polynomial:
        value = polynomial(old)
        for iterator, instead in self.values.items():
            value = value.substitute(access_to(iterator), instead)
        return value

    def _loops(self, old: Loop, new: Loop) -> None:
        values = {iterator: value for iterator, value in self.values.items() if iterator != old.iterator}
        inside = dataclasses.replace(self, frame=self.frame.inside(new.iterator), values=values)
        if old.iterator == new.iterator:
            for name in ("declares_iterator", "comparison", "decreasing", "lower", "upper", "step", "directive"):
                self.same(getattr(old, name), getattr(new, name))
        else:
            self._counts(old, new, inside.frame)
            value = self._value(old.lower) + of_atom(access_to(new.iterator)) * polynomial(old.step)
            inside = dataclasses.replace(inside, values={**values, old.iterator: value})
        inside.same(old.body, new.body)

    def _counts(self, old: Loop, new: Loop, frame: Frame) -> None:
        """The equation above."""
        index, step = new.iterator, polynomial(old.step).constant
        plain = (polynomial(new.lower).constant, polynomial(new.step).constant, new.comparison, new.decreasing)
        if plain != (0, 1, "<", False) or not new.declares_iterator or new.directive != old.directive:
            raise _DifferentError(f"the loop over '{index.host}' does not count from 0")
        if index in self.known or index.scope is not Scope.LOCAL or index.element != old.iterator.element:
            raise _DifferentError(f"'{index.host}' is no iterator of its own")
        if not step or old.decreasing != (step < 0) or old.comparison == "!=":
            raise _DifferentError(f"the loop over '{old.iterator.host}' has no constant step")
        last = len(frame.iterators) - 1
        place = frame.iterator(last)
        start, end = (affine(self._substituted(bound), frame) for bound in (old.lower, old.upper))
        size = whole_number(frame.context, abs(step))
        wanted = compare(place, "<=" if old.decreasing else ">=", start) & compare(place, old.comparison, end)
        wanted &= place.sub(start).mod_val(size).eq_set(frame.number(0))
        counted = compare(place, ">=", frame.number(0)) & compare(place, "<", affine(new.upper, frame))
        value = start.add(place.mul(frame.number(step)))
        outer = isl.Map.identity(counted.get_space().map_from_set()).project_out(_OUT, last, 1)
        iterations = counted.apply(outer.flat_range_product(isl.Map.from_pw_aff(value)))
        if not iterations.is_equal(wanted):
            raise _DifferentError(
                f"the loop over '{index.host}' has other iterations than that over '{old.iterator.host}'"
            )

    def _substituted(self, bound: Expression) -> Expression:
        def change(access: Access) -> Expression:
            return expression(self.values[access.object]) if access.object in self.values else access

        return with_accesses(bound, change)
