"""From a kernel region to a KernelPlan: normalise, search or take tiles, add launch checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilepragma.arguments.elements_in_bounds import with_elements_at_launch
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.ir.loop_tree import FloatingRules, Kernel, asks_for_layers
from tilepragma.normalise.array_reductions import check_array_clauses, with_proven_reductions
from tilepragma.normalise.delinearisation import with_rows_of_pointers, with_substituted_locals
from tilepragma.normalise.if_conversion import with_closed_iterations, with_conditions_for_continues
from tilepragma.normalise.plain_form import in_plain_form
from tilepragma.normalise.privatization import privatized, with_member_names
from tilepragma.plan.command_line import PlanOptions
from tilepragma.plan.targets import allowed_targets, check_device
from tilepragma.planner.assembly import Planned, TiledRegion, plan_of_tiles, tiled_region, with_plan
from tilepragma.planner.overflow_guards import with_subscript_checks
from tilepragma.planner.partition import with_divisions
from tilepragma.schedule.sor_clauses import check_relaxation, warn_of_sequence
from tilepragma.schedule.sor_multilayer import layered
from tilepragma.schedule.sor_redblack import asks_for_colours, reordered
from tilepragma.user_tiles.mapping import user_clauses

if TYPE_CHECKING:
    from tilepragma.planner.candidate_search import Searches


def make_plan(
    kernel: Kernel,
    floating: FloatingRules,
    diagnostics: Diagnostics,
    defaults: PlanOptions,
    searches: Searches | None = None,
) -> Planned | None:
    """The plan of one region; None if `diagnostics`, with those of the region, has errors.
    `searches` are those of earlier rounds, and gets what this one finds.

    A run with errors uses no plan, but reports the errors of each region.
    """
    messages = Diagnostics()
    region = normalise(kernel, floating, defaults, messages)
    planned = None if region is None else _planned(region, messages, {} if searches is None else searches)
    if region is not None:
        check_array_clauses(region.kernel, region.floating, messages)
    diagnostics.add_all(messages)
    return None if diagnostics.has_errors else planned


def normalise(
    kernel: Kernel, floating: FloatingRules, defaults: PlanOptions, diagnostics: Diagnostics
) -> TiledRegion | None:
    """The region in the forms that later passes expect; None where it is refused."""
    check_relaxation(kernel, diagnostics)
    kernel = with_rows_of_pointers(in_plain_form(with_member_names(kernel, diagnostics)))
    kernel = with_elements_at_launch(kernel)
    order = reordered(kernel, diagnostics) or layered(kernel, diagnostics, defaults.device)
    if order is None and (asks_for_colours(kernel) or asks_for_layers(kernel)):
        return None
    kernel = kernel if order is None else with_substituted_locals(order.kernel)
    kernel = with_closed_iterations(replace(kernel, directive=defaults.applied(kernel.directive)))
    if not user_clauses(kernel.body):
        kernel = with_conditions_for_continues(kernel)
    if (private := privatized(kernel, diagnostics)) is None:
        return None
    has_tiles = bool(user_clauses(private.body))
    private = with_proven_reductions(private, has_tiles=has_tiles, diagnostics=diagnostics)
    if private is None:
        return None
    targets = allowed_targets(private, defaults.targets, diagnostics)
    check_device(private.directive, defaults.device, diagnostics)
    return replace(tiled_region(private, floating, targets, diagnostics), order=order)


def _planned(region: TiledRegion, diagnostics: Diagnostics, searches: Searches) -> Planned:
    """The plan of the user's tiles, or of the best candidate, with its launch checks."""
    if region.user or not region.targets or diagnostics.has_errors:
        planned = plan_of_tiles(region, diagnostics)
    else:  # the search loads every strategy; the user's tiles need none
        from tilepragma.planner.candidate_search import plan_of_region

        planned = plan_of_region(region, diagnostics, searches)
    plan = planned.plan
    if region.order is not None:  # it is not the user's
        final = () if plan.untransformed is not None else (*plan.final_values, *region.order.final_values)
        plan = replace(plan, reordered=region.order, final_values=final)
    plan = with_divisions(with_subscript_checks(plan, region.kernel, diagnostics), diagnostics)
    warn_of_sequence(plan, diagnostics)
    # More conditions only leave out launches, and what an order adds, FinalValue, has no proof.
    return with_plan(planned, plan, "conditions", "final_values")
