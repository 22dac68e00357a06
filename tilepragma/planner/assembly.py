"""From a region and the launches of its loops to the plan: arguments, data movement, guards, sizes.

The launches are those of the user's tiles, or of the candidate that the search chose.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tilepragma.arguments.array_arguments import (
    DataContext,
    array_arguments,
    check_clauses,
    private_argument,
    report_assumed_extents,
    synchronised_arrays,
)
from tilepragma.arguments.constant_memory import with_constants
from tilepragma.arguments.row_overlap import with_row_checks
from tilepragma.arguments.scalars import ScalarContext, scalar_arguments
from tilepragma.base.diagnostics import Diagnostic, Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.cost.operation_counts import operation_counts
from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.directives import Target, TileClause
from tilepragma.ir.function_reach import with_reach
from tilepragma.ir.invariance import host_evaluable, invariant_members, written_objects
from tilepragma.ir.loop_tree import Declaration, FloatingRules, ForLoop, Kernel, Statement
from tilepragma.ir.traversal import loops_in, says_independent, walk, without_plain_braces
from tilepragma.normalise.delinearisation import flattened
from tilepragma.normalise.forward_substitution import with_substituted_subscripts
from tilepragma.normalise.live_out import final_values
from tilepragma.plan.kernel_plan import FinalValue, KernelPlan, LastValue, Reordered, launches_in
from tilepragma.plan.loop_symbols import loop_symbols
from tilepragma.plan.summary import numbers_fit, with_fitting_sections
from tilepragma.plan.targets import check_axes, check_counts, preferred_target
from tilepragma.planner.overflow_guards import launch_conditions
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import OperationLimitError
from tilepragma.poly.scop import Scop
from tilepragma.schedule.candidate import ScheduleCandidate
from tilepragma.schedule.coalescing import assumed_worker_loop
from tilepragma.schedule.user_launches import make_launches
from tilepragma.sizes.opencl_cpu_sizes import processor_choices
from tilepragma.user_tiles.chain_checks import check_for_loop, check_hoisted
from tilepragma.user_tiles.clause_variables import check_names, live_out_by_clause
from tilepragma.user_tiles.mapping import (
    Clauses,
    device_clauses,
    host_clauses,
    independent_loops,
    launchable,
    literal_counts,
    top_loops,
    user_clauses,
)
from tilepragma.user_tiles.tile_nests import ChainContext
from tilepragma.verify.certificate import Proof
from tilepragma.verify.proofs import proof_of


@dataclass(frozen=True)
class Planned:
    """A region's plan, and its proof where the planner needed one to accept the plan."""

    plan: KernelPlan
    proof: Proof | None = None
    scop: Scop | None = None
    """that of the region's statements under their assumptions, if already extracted"""


def with_plan(planned: Planned, plan: KernelPlan, *proven: str) -> Planned:
    """The plan in place of an earlier one, whose proof it inherits if proofs read no field that
    differs, other than those `proven` by themselves; else without a proof.
    """
    proof = None if planned.proof is None else planned.proof.for_plan(plan, *proven)
    return replace(planned, plan=plan, proof=proof)


def with_proof(planned: Planned, plan: KernelPlan) -> Planned:
    """The plan in place of an earlier one, whose proof it inherits only if that proves it."""
    known = planned.proof is not None and planned.proof.is_of(plan)
    return replace(planned, plan=plan, proof=planned.proof if known else proof_of(plan, planned.scop))


@dataclass(frozen=True)
class TiledRegion:
    """A region in the planner's form: its kernel's declarations and other statements, with the
    tiles of their loops, and its allowed targets.
    """

    kernel: Kernel
    floating: FloatingRules
    targets: tuple[Target, ...]
    prologue: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
    user: Clauses
    host: Clauses
    device: Clauses
    automatic: ScheduleCandidate | None = None
    """the launches of the search, where the user vouches for none"""
    reason: str | None = None
    """why the search distributed nothing"""
    rejected: tuple[str, ...] = ()
    obstacles: tuple[Diagnostic, ...] = ()
    order: Reordered | None = None
    """that of a `sor` clause"""
    scop: Scop | None = None
    """that of the statements, if extracted; `automatic` launches are right under its assumptions"""

    @property
    def clauses(self) -> bool:
        """Whether any loop has tiles, the user's or by default where the user vouches."""
        return bool(self.host or self.device)


def plan_of_tiles(region: TiledRegion, diagnostics: Diagnostics) -> Planned:
    """The plan of the region's tiles, whose sections and proof share one Scop."""
    if region.scop is None and _why_as_written(region) is None and not diagnostics.has_errors:
        with suppress(OperationLimitError):
            scop = extract_scop(region.statements, region.kernel.functions, written_objects(region.kernel))
            region = replace(region, scop=scop)
    return Planned(assemble_plan(region, diagnostics), scop=region.scop)


def assemble_plan(region: TiledRegion, diagnostics: Diagnostics) -> KernelPlan:
    """The plan of the launches of tiles or candidate; as written, with the reason, without any."""
    kernel, targets = region.kernel, region.targets
    on_host = host_evaluable(written_objects(kernel))
    check_names(kernel, diagnostics)
    for node in walk(kernel.body):
        if isinstance(node, ForLoop):
            check_for_loop(node, diagnostics)
    check_axes(kernel.directive, region.user, diagnostics)
    preferred = preferred_target(kernel.directive, region.user, targets)
    # Sections are of the arrays as the user declares them.
    flat = flattened(kernel)
    all_uses = (*uses(flat.body, kernel.functions), *function_uses(kernel.functions))
    reaching = with_reach(all_uses, kernel.functions, invariant_members(flat))
    reached = with_substituted_subscripts(reaching, flat, on_host)
    automatic = region.automatic is not None
    assumptions = region.scop.assumptions if automatic and region.scop is not None else ()
    known = region.scop if flat.body.statements == region.statements else None
    data = DataContext(flat, reached, on_host, diagnostics, assumptions, not automatic, known=known)

    def as_written(reason: str) -> KernelPlan:
        if targets:
            _warn_as_written(kernel, reason, diagnostics)
        check_counts(kernel.directive, frozenset(), False, diagnostics)
        arrays = with_fitting_sections(synchronised_arrays(data))
        return KernelPlan(
            *(kernel, (), (), (), arrays, (), (), (), targets, preferred, region.floating, reason),
            rejected=region.rejected,
            obstacles=region.obstacles,
        )

    reason = _why_as_written(region)
    if reason is not None:
        check_clauses(data)
        return as_written(reason)
    if not all(map(on_host, assumptions)):
        diagnostics.error(kernel.range, "the lengths of an array's rows are not known at launch")
    live_out = kernel.read_after | live_out_by_clause(kernel)
    final = final_values(kernel, live_out, on_host)
    steps = region.automatic or _user_steps(region, live_out, final, diagnostics)
    launches = (*launches_in(steps.host_steps), *launches_in(steps.device_steps))
    axes = frozenset(axis for launch in launches for axis in launch.axes)
    check_counts(kernel.directive, axes, bool(region.user), diagnostics)
    arrays = array_arguments(data, steps.shared)
    if automatic:
        arrays = with_row_checks(flat, arrays, diagnostics)
    report_assumed_extents(arrays, targets, preferred, not automatic, diagnostics)
    seen = {object_.stored: object_ for object_ in kernel.objects}
    plan = KernelPlan(
        kernel,
        region.prologue,
        steps.host_steps,
        steps.device_steps,
        (*(replace(array, object=seen[array.object]) for array in arrays), *map(private_argument, steps.storage)),
        scalar_arguments(kernel, (*steps.host_steps, *steps.device_steps), steps.shared),
        kernel.directive.counts,
        final,
        targets,
        preferred,
        region.floating,
        assumes_disjoint=automatic,
        operations=operation_counts(kernel, on_host),
        sizes=steps.sizes,
        processor_choices=processor_choices(steps.sizes),
        rejected=region.rejected,
        conditions=launch_conditions(kernel, on_host, diagnostics, assumptions, automatic, bool(steps.sizes)),
        storage=steps.storage_notes,
        split=steps.split,
    )
    return with_constants(plan) if numbers_fit(plan) else as_written("a number in it does not fit in 64 bits")


def with_kernel(region: TiledRegion, kernel: Kernel, diagnostics: Diagnostics) -> TiledRegion:
    """The region with another form of its kernel."""
    return tiled_region(kernel, region.floating, region.targets, diagnostics)


def tiled_region(
    kernel: Kernel, floating: FloatingRules, targets: tuple[Target, ...], diagnostics: Diagnostics
) -> TiledRegion:
    """The region's declarations and statements, with tiles from the user and from vouching."""
    on_host = host_evaluable(written_objects(kernel))
    prologue: list[Declaration] = []
    statements: list[Statement] = []
    user: dict[int, tuple[TileClause, ...]] = {}
    host, device = dict(user), dict(user)
    scop = None
    for statement in without_plain_braces(kernel.body):
        if isinstance(statement, Declaration):
            check_hoisted(statement, statements, kernel, diagnostics)
            prologue.append(statement)
            continue
        statements.append(statement)
        tiles = user_clauses(statement)
        user |= tiles
        host |= tiles
        device |= tiles
        for loop in () if tiles else top_loops(statement):
            independent = independent_loops(loop, kernel.directive)
            host |= host_clauses(independent)
            mapped = launchable(independent, on_host)
            neighbours, nest_scop = assumed_worker_loop(mapped, kernel)
            device |= device_clauses(mapped, neighbours)
            scop = nest_scop if kernel.body.statements == mapped[:1] else None
    return TiledRegion(kernel, floating, targets, tuple(prologue), tuple(statements), user, host, device, scop=scop)


def _why_as_written(region: TiledRegion) -> str | None:
    kernel = region.kernel
    if not region.targets:
        return f"kernel '{kernel.name}' is built for no target"
    if region.clauses or region.automatic is not None:
        return None
    if region.reason is not None:
        return region.reason
    if any(loops_in(kernel.body)):
        return f"no loop of kernel '{kernel.name}' has tiles, and its outermost loop is not declared independent"
    return f"kernel '{kernel.name}' has no loop that could be distributed"


def _warn_as_written(kernel: Kernel, reason: str, diagnostics: Diagnostics) -> None:
    """Warn of each request of the user's that a region as written does not fulfil."""
    directive = kernel.directive
    if any(target.is_parallel for target in directive.targets):
        remedy = "add 'independent' if no iteration depends on another, or say the tiles"
        diagnostics.warning(directive.range, f"the kernel runs the original loops, on one core: {reason}", remedy)
    for loop in loops_in(kernel.body):
        if loop.directive is not None and loop.directive.independent:
            message = f"'independent' has no effect on the loop over '{loop.iterator.host}': {reason}"
            remedy = "put the kernel directive before this loop, so that each round of the loop around it is a launch"
            diagnostics.warning(loop.directive.range, message, remedy)


def _user_steps(
    region: TiledRegion, live_out: frozenset[str], final: tuple[FinalValue | LastValue, ...], diagnostics: Diagnostics
) -> ScheduleCandidate:
    """The launches of the user's tiles, one after another."""
    kernel = region.kernel
    on_host, counts = host_evaluable(written_objects(kernel)), literal_counts(kernel.directive.counts)
    chains = ChainContext(region.host, loop_symbols(kernel), on_host, counts, diagnostics)
    assumes_independence = says_independent(kernel.directive, kernel.body)
    names = frozenset(value.iterator.name for value in final)
    facts = (kernel.directive, kernel.functions, live_out, names, assumes_independence, region.floating)
    scalars = ScalarContext(*facts, diagnostics)
    host, shared = make_launches(kernel, region.statements, region.host, chains, scalars)
    device, device_shared = host, shared
    if region.device != region.host:
        device, device_shared = make_launches(kernel, region.statements, region.device, chains, scalars)
    return ScheduleCandidate("clauses", host, device, tuple(dict.fromkeys((*shared, *device_shared))))
