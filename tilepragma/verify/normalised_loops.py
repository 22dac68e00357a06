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
from collections.abc import Mapping
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
from tilepragma.verify.certificate import NotProvenError
from tilepragma.verify.instances import same_tree

_OUT, _SET = isl.dim_type.out, isl.dim_type.set


def unit_step_fault(stepped: Block, unit: Block, written: frozenset[DataObject]) -> str | None:
    """Why the two, which write `written`, are not proven to do the same; None where they are."""
    context = isl.Context()
    nodes = list(walk(stepped))
    known = {node.object for node in nodes if isinstance(node, Access)}
    known |= {node.iterator for node in nodes if isinstance(node, Loop)}
    try:
        with operation_limit(context, DEFAULT_LIMIT, "proving that iterations are counted right"):
            _Comparison(Frame(context, (), written), {}, frozenset(known)).same(stepped, unit)
    except (OperationLimitError, NotAffineError, NotProvenError) as fault:
        return str(fault).rstrip(".")
    return None


@dataclass(frozen=True)
class _Comparison:
    """`values` replace iterators of the region with steps, whose objects are `known`."""

    frame: Frame
    values: Mapping[DataObject, Polynomial]
    known: frozenset[DataObject]

    def same(self, old: Any, new: Any) -> None:
        """Raises NotProvenError unless `new` is `old` with these values."""
        if not same_tree(new, old, self._decide):
            raise NotProvenError("the text differs in more than steps")

    def _decide(self, new: Any, old: Any) -> bool | None:
        if isinstance(old, Access) and old.object in self.values:
            if polynomial(new) != self.values[old.object] or new.type != old.type:
                raise NotProvenError(f"'{old.object.host}' has another value in some iteration")
            return True
        if isinstance(old, Access) and isinstance(new, Access):
            heads = [(access.object, access.path, access.type, len(access.subscripts)) for access in (old, new)]
            self.same(*heads)
            for old_part, new_part in zip(old.subscripts, new.subscripts, strict=True):
                try:
                    self.same(old_part, new_part)
                except NotProvenError:
                    # Subscripts may collect their sums in another way.
                    if self._value(old_part) != polynomial(new_part):
                        raise
            return True
        if isinstance(old, Loop) and isinstance(new, Loop):
            self._loops(old, new)
            return True
        return bool(new == old) if isinstance(old, (DataObject, SourceRange)) else None

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
            raise NotProvenError(f"the loop over '{index.host}' does not count from 0")
        if index in self.known or index.scope is not Scope.LOCAL or index.element != old.iterator.element:
            raise NotProvenError(f"'{index.host}' is no iterator of its own")
        if not step or old.decreasing != (step < 0) or old.comparison == "!=":
            raise NotProvenError(f"the loop over '{old.iterator.host}' has no constant step")
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
            raise NotProvenError(
                f"the loop over '{index.host}' has other iterations than that over '{old.iterator.host}'"
            )

    def _substituted(self, bound: Expression) -> Expression:
        return with_accesses(bound, lambda a: expression(self.values[a.object]) if a.object in self.values else a)
