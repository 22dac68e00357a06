"""Array footprints by polyhedral analysis: what is touched, and what is written before reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use
from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage, access_to
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom
from tilepragma.ir.types import ScalarType
from tilepragma.plan.kernel_plan import ArrayArgument, HostExpression

if TYPE_CHECKING:
    from tilepragma.poly.scop import Scop

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>(?:0|[1-9]\d*)[uUlL]*)|(?P<sign>[-+*()]))")


@dataclass(frozen=True)
class Footprints:
    """Analyses a region's arrays under the launch's `conditions`; makes the Scop when needed."""

    kernel: Kernel
    conditions: tuple[Expression, ...] = ()

    def section(
        self, object_: DataObject, invariant: Callable[[Expression], bool]
    ) -> tuple[tuple[Polynomial, Polynomial], ...] | None:
        """(lower, length) of the touched part by dimension, if the host can evaluate it."""
        scop = self._scop
        if scop is None:
            return None
        from tilepragma.poly.footprints import touched
        from tilepragma.poly.operation_limit import OperationLimitError

        try:
            footprint = touched(scop, object_)
        except OperationLimitError:
            return None
        if footprint is None or not all(invariant(expression(value)) for bounds in footprint for value in bounds):
            return None
        return footprint

    def is_overwritten(self, argument: ArrayArgument, uses: Sequence[Use]) -> bool:
        """Whether the region surely writes each copied element first; `uses`: all of the object."""
        object_ = argument.object
        if object_.storage is Storage.SCALAR or not _may_overwrite(uses) or object_.host in self._private:
            return False
        section = []
        for bound in argument.section:
            lower, length = self._expression(bound.lower), self._expression(bound.length)
            if lower is None or length is None:
                return False
            section.append((lower, length))
        scop = self._scop
        if scop is None:
            return False
        from tilepragma.poly.footprints import overwrites
        from tilepragma.poly.operation_limit import OperationLimitError

        try:
            return overwrites(scop, object_, section if argument.copy_out else None)
        except OperationLimitError:
            return False

    @cached_property
    def _private(self) -> frozenset[str]:
        """Names that each instance has a copy of."""
        return frozenset(name for clause in self.kernel.directive.privates for name in clause.names)

    @cached_property
    def _scop(self) -> Scop | None:
        from tilepragma.poly.extraction import scop_under
        from tilepragma.poly.operation_limit import OperationLimitError

        try:
            body, written = self.kernel.body.statements, written_objects(self.kernel)
            return scop_under(self.conditions, body, self.kernel.functions, written)
        except OperationLimitError:
            return None

    def _expression(self, bound: HostExpression) -> Expression | None:
        """A bound as an expression; None where a clause is no arithmetic on known scalars."""
        if not isinstance(bound, ClauseExpression):
            return bound
        value = _Arithmetic(bound.text, self._scalars).value()
        return None if value is None else expression(value)

    @cached_property
    def _scalars(self) -> dict[str, DataObject]:
        return {
            object_.host: object_
            for object_ in self.kernel.objects
            if object_.storage is Storage.SCALAR
            and object_.scope is Scope.EXTERNAL
            and isinstance(object_.element, ScalarType)
            and object_.element.is_integer
        }


def _may_overwrite(uses: Sequence[Use]) -> bool:
    """Whether to ask: some use is a plain assignment, and the first one reads no incoming value."""
    plain = any(use.writes and not use.reads for use in uses)
    return plain and (not uses[0].reads or uses[0].conditional)


class _Arithmetic:
    """Parses sums and products of names and numbers; any other text has no value."""

    def __init__(self, text: str, scalars: dict[str, DataObject]) -> None:
        self._scalars = scalars
        self._tokens: list[tuple[str, str]] = []
        self._place = 0
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                self._tokens = []
                return
            self._tokens.append((match.lastgroup or "", match.group(match.lastgroup or 0)))
            position = match.end()

    def value(self) -> Polynomial | None:
        """The value of the whole text."""
        result = self._sum()
        return result if self._place == len(self._tokens) else None

    def _next(self, *signs: str) -> str | None:
        """Take and return the next token where it is one of these signs."""
        if self._place < len(self._tokens) and self._tokens[self._place] in [("sign", sign) for sign in signs]:
            self._place += 1
            return self._tokens[self._place - 1][1]
        return None

    def _sum(self) -> Polynomial | None:
        result = self._product()
        while result is not None and (sign := self._next("+", "-")) is not None:
            right = self._product()
            if right is None:
                return None
            result = result + right if sign == "+" else result - right
        return result

    def _product(self) -> Polynomial | None:
        result = self._factor()
        while result is not None and self._next("*") is not None:
            right = self._factor()
            result = None if right is None else result * right
        return result

    def _factor(self) -> Polynomial | None:
        if (sign := self._next("+", "-")) is not None:
            operand = self._factor()
            return -operand if operand is not None and sign == "-" else operand
        if self._next("(") is not None:
            inner = self._sum()
            return inner if self._next(")") is not None else None
        if self._place == len(self._tokens):
            return None
        kind, text = self._tokens[self._place]
        self._place += 1
        if kind == "number":
            return number(int(text.rstrip("uUlL")))
        if kind == "name" and text in self._scalars:
            object_ = self._scalars[text]
            return of_atom(access_to(object_))
        return None
