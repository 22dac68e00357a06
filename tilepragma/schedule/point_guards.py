"""Guards of a tile's points that cost a worker little.

    sum of a_k x_k + u >= 0   ->   sum of a_k x_k >= limit        x_k: from where the tile begins

The limit -u is the same for the tile, which declares it once, cut off to a short integer. In a row
of points, which one of the x_k counts, what the other x_k decide comes first:

    if (tests without x) {
        if (x >= a && x >= b && x <= c && other tests) the point
    }

The printer joins what x is compared with (codegen/printer.py): x >= max(a, b). So compilers move
all but these tests out of a loop over x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Binary, DataObject, Expression, access_to, conjuncts
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Declaration, If, Statement
from tilepragma.ir.polynomial import Polynomial, number, polynomial
from tilepragma.ir.types import INDEX
from tilepragma.lower.band_loops import declared, short_or_long, term
from tilepragma.schedule.scratchpad_copies import at_least, compared, where

#: left >= right, and so on, as a difference that is not negative
_DIFFERENCES: dict[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    ">=": lambda left, right: left - right,
    "<=": lambda left, right: right - left,
    ">": lambda left, right: left - right - number(1),
    "<": lambda left, right: right - left - number(1),
}


@dataclass
class ShortNumbers:
    """A tile's numbers as short integers. `declarations` declare them; `sizes` are small in it."""

    names: Names
    sizes: tuple[DataObject, ...] = ()
    declarations: list[Declaration] = field(default_factory=list)
    known: dict[Polynomial, Polynomial] = field(default_factory=dict)

    def short(self, name: str, value: Polynomial) -> Polynomial:
        """The number, declared once where it is not short."""
        for size in self.sizes:
            if access_to(size) in value.atoms and value != term(size):
                value = value.substitute(access_to(size), self.short(f"{size.name}_here", term(size)))
        if short_or_long(value) == INDEX:
            return value
        if value not in self.known:
            made = self.names.scalar(name, INDEX)
            self.declarations.append(declared(made, value))
            self.known[value] = term(made)
        return self.known[value]


@dataclass(frozen=True)
class PointGuards:
    """Makes guards of points in rows that `along` counts, from a tile's short `numbers`."""

    numbers: ShortNumbers
    along: DataObject

    def guarded(self, points: Iterable[Statement], steps: Sequence[DataObject]) -> tuple[Statement, ...]:
        """The statements, with guards for their outermost conditions; `steps` count other rows."""
        result: list[Statement] = []
        for point in points:
            if isinstance(point, If) and point.otherwise is None and self.along.element == INDEX:
                before, after = self.tests(conjuncts(point.condition), steps)
                result += where(before, *where(after, *point.then.statements))
            else:
                result.append(point)
        return tuple(result)

    def tests(
        self, conditions: Iterable[Expression], steps: Sequence[DataObject]
    ) -> tuple[list[Expression], list[Expression]]:
        """The conditions as cheap tests: those without the iterator along rows, and the others."""
        before: list[Expression] = []
        after: list[Expression] = []
        for condition in conditions:
            value = self._difference(condition, steps)
            if value is None:
                after.append(condition)
                continue
            left, limit = value
            factor, rest = left.split(access_to(self.along)) or (number(0), left)
            if factor == number(1):
                after.append(at_least(term(self.along), limit - rest))
            elif factor == number(-1):
                after.append(compared("<=", term(self.along), rest - limit))
            else:
                (after if factor.terms else before).append(at_least(left, limit))
        return before, after

    def _difference(self, condition: Expression, steps: Sequence[DataObject]) -> tuple[Polynomial, Polynomial] | None:
        """(sum of a_k x_k, limit) of a condition; None for one of another form."""
        if not isinstance(condition, Binary) or condition.operator not in _DIFFERENCES:
            return None
        value = _DIFFERENCES[condition.operator](polynomial(condition.left), polynomial(condition.right))
        counted = {access_to(step) for step in (*steps, self.along)}
        left = Polynomial(tuple(part for part in value.terms if counted.intersection(part[0])))
        if any(len(monomial) > 1 for monomial, _ in left.terms) or short_or_long(left) != INDEX:
            return None
        return left, self.numbers.short("limit", left - value)
