"""Functions and sets of parameters as C that the host evaluates at a launch."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Expression
from tilepragma.ir.polynomial import Polynomial, polynomial
from tilepragma.poly.ast_expressions import AstReader

#: Functions of more cases are too long for every launch.
_MOST_PIECES = 6


@dataclass(frozen=True)
class ParameterTest:
    """A test of parameters; None where it always holds."""

    test: Expression | None


@dataclass(frozen=True)
class ParameterReader:
    """Writes short functions and sets as C; `parameters`: each parameter's expression by name."""

    context: isl.Context
    parameters: Mapping[str, Expression]

    def value(self, function: isl.PwAff) -> Polynomial | None:
        """[p] -> { [v(p)] }; None where it has too many cases."""
        function = function.coalesce()
        if function.n_piece() > _MOST_PIECES:
            return None
        return self._ast.value(self._build.expr_from_pw_aff(function))

    def condition(self, holds: isl.Set) -> ParameterTest | None:
        """{ [p] : holds }; None where it has too many cases."""
        holds = holds.coalesce()
        if holds.n_basic_set() > _MOST_PIECES:
            return None
        if holds.is_equal(isl.Set.universe(holds.get_space())):
            return ParameterTest(None)
        return ParameterTest(self._ast.condition(self._build.expr_from_set(holds)))

    def constraints(self, holds: isl.BasicSet) -> tuple[Expression, ...]:
        """{ [p] : holds } as tests that all hold, one for each constraint."""
        universe = isl.BasicSet.universe(holds.get_space())
        sets = (isl.Set.from_basic_set(universe.add_constraint(constraint)) for constraint in holds.get_constraints())
        return tuple(self._ast.condition(self._build.expr_from_set(set_)) for set_ in sets)

    @property
    def _build(self) -> isl.AstBuild:
        return isl.AstBuild.from_context(isl.Set.universe(isl.Space.params_alloc(self.context, 0)))

    @property
    def _ast(self) -> AstReader:
        return AstReader({name: polynomial(value) for name, value in self.parameters.items()})
