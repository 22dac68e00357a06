"""Array layouts: the arrays whose subscripts all split by strides (a[i*m + j] as a[i][j])."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Expression
from tilepragma.ir.polynomial import polynomial
from tilepragma.poly.affine import Frame, NotAffineError, affine
from tilepragma.poly.delinearise import Strides, longer_chains, split_subscript, stride_chains
from tilepragma.poly.launch_checks import possible_values


@dataclass(frozen=True)
class Subscript:
    """A subscript of a one-dimensional array, under loops: { [i] -> [value(i)] : domain(i) }."""

    value: Expression
    frame: Frame
    domain: isl.Set
    iterators: tuple[DataObject, ...]

    @cached_property
    def function(self) -> isl.PwAff | None:
        """{ [i] -> [value(i)] }, if it is affine."""
        return affine_or_none(self.value, self.frame)

    @property
    def is_sum(self) -> bool:
        """Whether only iterators of the surrounding loops vary in it."""
        varying = (atom for atom in polynomial(self.value).atoms if not self.frame.invariant(atom))
        return all(isinstance(atom, Access) and atom.object in self.iterators for atom in varying)

    @property
    def sweeps(self) -> bool:
        """Whether it is affine and varies: it may run over rows, so it justifies no assumption."""
        return self.function is not None and not self.frame.invariant(self.value)


@dataclass(frozen=True)
class Layouts:
    """Arrays with strides, greatest first, and { [p] : assumptions on parameters }."""

    strides: Mapping[DataObject, Strides]
    assumed: isl.Set

    def including(self, object_: DataObject, used: Sequence[Subscript], *, assuming: bool) -> Layouts:
        """These layouts with an array, if its subscripts split; affine ones need not.

        All of them without assumptions, else some, with assumptions if `assuming`.
        """
        chains = stride_chains((subscript.value, subscript.frame) for subscript in used)
        by_sweeps = sorted(used, key=lambda subscript: subscript.sweeps)
        for may_assume, all_of_them in ((False, True), (True, False)) if assuming else ((False, True), (False, False)):
            for by in chains:
                assumed = self._assumed(by, by_sweeps, may_assume, all_of_them)
                if assumed is not None:
                    return Layouts({**self.strides, object_: by}, assumed)
        # Row lengths that no iterator counts are guesses: elements must provably be inside of rows.
        for by in longer_chains(chains, [(subscript.value, subscript.frame) for subscript in used]):
            for may_assume in (False, True) if assuming else (False,):
                assumed = self._assumed(by, by_sweeps, may_assume, all_of_them=True, within_rows=True)
                if assumed is not None:
                    return Layouts({**self.strides, object_: by}, assumed)
        return self

    def _assumed(
        self, by: Strides, used: Sequence[Subscript], may_assume: bool, all_of_them: bool, within_rows: bool = False
    ) -> isl.Set | None:
        """{ [p] : assumptions } under which the subscripts split by these strides, or None."""
        assumed = self.assumed
        split_count = 0
        for subscript in used:
            domain = subscript.domain.intersect_params(assumed)
            may = may_assume and not subscript.sweeps
            split = split_subscript(subscript.value, by, subscript.frame, domain, assuming=may, within_rows=within_rows)
            if split is not None:
                split_count += 1
                assumed = assumed.intersect(split.assumed)
            elif all_of_them or subscript.function is None:
                return None
        if not split_count or assumed.is_empty():
            return None
        return None if assumed.intersect(possible_values(used[0].frame)).is_empty() else assumed


def affine_or_none(value: Expression, frame: Frame) -> isl.PwAff | None:
    """{ [i] -> [value(i)] }; None where the expression is not affine."""
    try:
        return affine(value, frame)
    except NotAffineError:
        return None
