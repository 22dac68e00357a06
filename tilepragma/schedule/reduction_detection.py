"""Reduction detection: scalars that iterations only update, such as sums and maxima.

A statement that reads such a scalar only to update it need not keep its iterations in order, if any
order of updates gives the same result (integers, minima, maxima) or the user allows it. Statements
that otherwise read or set the scalar keep their order with it: a residual that each sweep resets is
reduced once a sweep.
"""

from __future__ import annotations

from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import ReductionClause
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.loop_tree import Loop
from tilepragma.ir.reductions import NoReduction, Updates, reduction_updates
from tilepragma.ir.traversal import operators_by_clause
from tilepragma.plan.kernel_plan import with_launches
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.scop import Scop
from tilepragma.schedule.candidate import Region
from tilepragma.schedule.macro_statements import written_scalars
from tilepragma.schedule.tree import LaunchNode, ScheduleNode


def order_reason(loop: Loop, updates: Updates) -> str:
    """Tell the user that the order of these updates makes a loop sequential."""
    return f"the loop over '{loop.iterator.host}' (line {loop.header.start.line}) keeps {updates.ordered}"


def carried_reason(loop: Loop, scalar: DataObject, use: NoReduction | None = None) -> str:
    """Tell the user that a scalar that is no reduction makes a loop sequential; `use` says why."""
    reason = f"the loop over '{loop.iterator.host}' hands '{scalar.host}' on from iteration to iteration"
    if use is None or not use.reason:
        return reason
    return f"{reason}, since {use.reason} (line {use.range.start.line}): {use.remedy}"


@dataclass(frozen=True)
class FreedReductions:
    """Reductions of a Scop: `pairs` of statement name and scalar, updated in any order. `clauses`
    give the operators. `held` says why other scalars keep their order: they are floating-point
    sums, or no updates.
    """

    pairs: frozenset[tuple[str, DataObject]]
    clauses: tuple[ReductionClause, ...]
    held: tuple[str, ...] = ()

    def frees(self, dependence: Dependence) -> bool:
        """Whether the dependence only orders updates of such a scalar by one statement."""
        statement = dependence.source_statement.name
        return statement == dependence.sink_statement.name and (statement, dependence.source.object) in self.pairs


def freed_reductions(
    region: Region, scop: Scop, private: frozenset[DataObject], *, any_order: bool = False
) -> FreedReductions:
    """The reductions of this Scop's statements; `private` scalars need none. `any_order`: ignore
    the order of all updates, to see whether scalars prevent parallelism.
    """
    said = operators_by_clause(region.kernel.directive, region.kernel.body)
    pairs: set[tuple[str, DataObject]] = set()
    clauses: dict[ReductionClause, None] = {}
    held: dict[str, None] = {}
    for scalar in written_scalars(region):
        for each in scop.statements if scalar not in private else ():
            if not each.loops or not any(access.object == scalar and access.writes for access in each.references):
                continue
            updates = reduction_updates(scalar, each.node, region.floating, region.signs)
            if any_order:
                pairs.add((each.name, scalar))
            elif isinstance(updates, NoReduction):
                held[carried_reason(each.loops[0], scalar, updates)] = None
            elif said.get(scalar.host, updates.clause) != updates.clause:
                held[carried_reason(each.loops[0], scalar)] = None
            elif scalar.host in said or not updates.ordered:
                pairs.add((each.name, scalar))
                clauses[ReductionClause(updates.operator, (scalar.host,), scalar.range)] = None
            else:
                held[order_reason(each.loops[0], updates)] = None
    return FreedReductions(frozenset(pairs), tuple(clauses), tuple(held))


def with_reductions(steps: tuple[ScheduleNode, ...], clauses: tuple[ReductionClause, ...]) -> tuple[ScheduleNode, ...]:
    """The tree with these clauses on the launches that update all their scalars."""

    def updating(node: LaunchNode) -> LaunchNode:
        written = {use.object.host for use in uses(node.body) if use.writes}
        chosen = tuple(clause for clause in clauses if written.issuperset(clause.names))
        return replace(node, reductions=(*node.reductions, *chosen))

    return with_launches(steps, updating)
