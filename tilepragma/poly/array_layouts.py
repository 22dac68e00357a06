"""Which arrays of a region are seen through strides (a[i*m + j] as a[i][j]), by all subscripts of each."""

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
    """One subscript of an array of one dimension, under the loops of `iterators`: { [i] -> [value(i)] : domain(i) }."""

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
        """Whether nothing but iterators of the loops around varies in it."""
        varying = (atom for atom in polynomial(self.value).atoms if not self.frame.invariant(atom))
        return all(isinstance(atom, Access) and atom.object in self.iterators for atom in varying)

    @property
    def sweeps(self) -> bool:
        """Whether it is affine and moves with the loops around: it may run over rows, so nothing is to be assumed for its sake."""
        return self.function is not None and not self.frame.invariant(self.value)


@dataclass(frozen=True)
class Layouts:
    """Arrays seen through strides, greatest first, and { [p] : what is assumed of parameters for that }."""

    strides: Mapping[DataObject, Strides]
    assumed: isl.Set

    def including(self, object_: DataObject, used: Sequence[Subscript], *, assuming: bool) -> Layouts:
        """With one more array, if its subscripts can be taken apart: those that are affine
        themselves need not be.

        All of them by themselves, or else some of them with what may be assumed (`assuming`) or
        without.
        """
        chains = stride_chains((one.value, one.frame) for one in used)
        by_themselves = sorted(used, key=lambda one: one.sweeps)
        for may_assume, all_of_them in ((False, True), (True, False)) if assuming else ((False, True), (False, False)):
            for by in chains:
                assumed = self._assumed(by, by_themselves, may_assume, all_of_them)
                if assumed is not None:
                    return Layouts({**self.strides, object_: by}, assumed)
        # Lengths of rows that no iterator counts are guesses: that elements are inside of them must
        # be known.
        for by in longer_chains(chains, [(one.value, one.frame) for one in used]):
            for may_assume in (False, True) if assuming else (False,):
                assumed = self._assumed(by, by_themselves, may_assume, all_of_them=True, within_rows=True)
                if assumed is not None:
                    return Layouts({**self.strides, object_: by}, assumed)
        return self

    def _assumed(
        self, by: Strides, used: Sequence[Subscript], may_assume: bool, all_of_them: bool, within_rows: bool = False
    ) -> isl.Set | None:
        """{ [p] : what is assumed } where the subscripts are taken apart by these strides; None where they cannot be."""
        assumed = self.assumed
        apart = 0
        for one in used:
            domain = one.domain.intersect_params(assumed)
            may = may_assume and not one.sweeps
            split = split_subscript(one.value, by, one.frame, domain, assuming=may, within_rows=within_rows)
            if split is not None:
                apart += 1
                assumed = assumed.intersect(split.assumed)
            elif all_of_them or one.function is None:
                return None
        if not apart or assumed.is_empty():
            return None
        return None if assumed.intersect(possible_values(used[0].frame)).is_empty() else assumed


def affine_or_none(value: Expression, frame: Frame) -> isl.PwAff | None:
    """{ [i] -> [value(i)] }, if the expression is affine."""
    try:
        return affine(value, frame)
    except NotAffineError:
        return None
