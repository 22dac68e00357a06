"""From a kernel region and its clauses to a KernelPlan: the planner's passes, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tilepragma.base.diagnostics import Diagnostics, Severity
from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.directives import Target, TileClause
from tilepragma.ir.expressions import DataObject, Scope, Storage
from tilepragma.ir.looptree import Axis, Block, Declaration, FloatingRules, ForLoop, Kernel, Loop, Statement, TileNest
from tilepragma.ir.traversal import walk
from tilepragma.plan.chain_checks import check_for_loop
from tilepragma.plan.chains import ChainContext
from tilepragma.plan.clause_names import check_names
from tilepragma.plan.continues import close_iterations
from tilepragma.plan.data import DataContext, array_arguments, arrays_in_step, check_clauses, said_live_out
from tilepragma.plan.final_values import final_values
from tilepragma.plan.invariance import host_evaluable, written_objects
from tilepragma.plan.kernel_plan import FinalValue, KernelPlan, Launch
from tilepragma.plan.launches import Launches, make_launches
from tilepragma.plan.mapping import Clauses, default_clauses, independent_loops, top_loops, user_clauses
from tilepragma.plan.operations import operation_counts
from tilepragma.plan.proof import prove_independent
from tilepragma.plan.scalars import ScalarContext
from tilepragma.plan.symbols import loop_symbols
from tilepragma.plan.targets import ALL_TARGETS, allowed_targets, check_axes, check_counts, preferred_target
from tilepragma.plan.verifier import verify
from tilepragma.plan.wrapping import launch_conditions


@dataclass(frozen=True)
class PlanDefaults:
    """What the command line says: `targets` are those to build for (never AUTO)."""

    targets: tuple[Target, ...] = ALL_TARGETS


def make_plan(
    kernel: Kernel, floating: FloatingRules, diagnostics: Diagnostics, defaults: PlanDefaults
) -> KernelPlan | None:
    """The plan of one region, or None where it, or anything before it in `diagnostics`, is refused: no plan of a run with
    errors is used, but each region's errors are reported.

    Raises PlanFault where the planner's own result breaks the plan's rules: an internal fault.
    """
    own = Diagnostics()
    kernel = close_iterations(kernel)
    written = written_objects(kernel)
    region = _take_apart(kernel, written, own)
    plan = _plan(kernel, region, floating, own, defaults)
    if region.automatic and own.has_errors:  # nobody asked for the launches that these errors are about
        why = next(item.message for item in own if item.severity is Severity.ERROR)
        own = Diagnostics()
        region = _as_written(_take_apart(kernel, written, own), why)
        plan = _plan(kernel, region, floating, own, defaults)
    for item in own:
        diagnostics.add(item)
    if diagnostics.has_errors:
        return None
    verify(plan)
    return plan


@dataclass(frozen=True)
class _Region:
    """The region taken apart: its declarations, the other statements, and the tiles of their loops."""

    prologue: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
    user: Clauses
    host: Clauses
    device: Clauses
    automatic: bool = False
    """the engine, not the user, vouches for the loops that have tiles"""
    reason: str | None = None
    """why nothing could be distributed where the user left it to us"""


def _as_written(region: _Region, why: str) -> _Region:
    return replace(region, host={}, device={}, automatic=False, reason=why)


def _plan(
    kernel: Kernel, region: _Region, floating: FloatingRules, diagnostics: Diagnostics, defaults: PlanDefaults
) -> KernelPlan:
    on_host = host_evaluable(written_objects(kernel))
    check_names(kernel, diagnostics)
    for node in walk(kernel.body):
        if isinstance(node, ForLoop):
            check_for_loop(node, diagnostics)
    targets = allowed_targets(kernel, defaults.targets, diagnostics)
    check_axes(kernel.directive, region.user, diagnostics)
    preferred = preferred_target(kernel.directive, region.user, targets)
    all_uses = (*uses(kernel.body, kernel.functions), *function_uses(kernel.functions))
    data = DataContext(kernel, all_uses, on_host, diagnostics)
    reason = _why_as_written(kernel, region, targets)
    if reason is not None:
        if targets:
            _warn_as_written(kernel, reason, diagnostics)
        check_clauses(data)
        check_counts(kernel.directive, frozenset(), False, diagnostics)
        arrays = arrays_in_step(data)
        return KernelPlan(kernel, (), (), (), arrays, (), (), (), targets, preferred, floating, reason)
    live_out = kernel.read_after | said_live_out(kernel)
    final = final_values(kernel, live_out, on_host)
    host, device = _launches(kernel, region, live_out, final, diagnostics)
    axes = frozenset(axis for launch in (*host.launches, *device.launches) for axis in launch.axes)
    check_counts(kernel.directive, axes, bool(region.user), diagnostics)
    shared = tuple(dict.fromkeys((*host.shared, *device.shared)))
    return KernelPlan(
        kernel,
        region.prologue,
        host.launches,
        device.launches,
        array_arguments(data, shared),
        _scalars(kernel, (*host.launches, *device.launches), shared),
        kernel.directive.counts,
        final,
        targets,
        preferred,
        floating,
        apart=region.automatic,
        operations=operation_counts(kernel, on_host),
        conditions=launch_conditions(kernel.body, on_host, diagnostics, automatic=region.automatic),
    )


def _take_apart(kernel: Kernel, written: frozenset[DataObject], diagnostics: Diagnostics) -> _Region:
    on_host = host_evaluable(written)
    prologue: list[Declaration] = []
    statements: list[Statement] = []
    user: dict[int, tuple[TileClause, ...]] = {}
    host, device = dict(user), dict(user)
    for statement in _flat(kernel.body):
        if isinstance(statement, Declaration):
            _check_hoisted(statement, statements, kernel, diagnostics)
            prologue.append(statement)
            continue
        statements.append(statement)
        said = user_clauses(statement)
        user |= said
        host |= said
        device |= said
        for loop in () if said else top_loops(statement):
            independent = independent_loops(loop, kernel.directive)
            host |= default_clauses(independent, on_host, device=False)
            device |= default_clauses(independent, on_host, device=True)
    region = _Region(tuple(prologue), tuple(statements), user, host, device)
    return region if host or device else _prove(region, kernel, written)


def _prove(region: _Region, kernel: Kernel, written: frozenset[DataObject]) -> _Region:
    """The default mapping of a region in which nobody said anything, if every nest of it has independent outermost loops."""
    on_host = host_evaluable(written)
    host: dict[int, tuple[TileClause, ...]] = {}
    device = dict(host)
    for nest in (loop for statement in region.statements for loop in top_loops(statement)):
        proof = prove_independent(nest, kernel, written)
        if not proof.loops:
            return replace(region, reason=proof.reason)
        host |= default_clauses(proof.loops, on_host, device=False)
        device |= default_clauses(proof.loops, on_host, device=True)
    return replace(region, host=host, device=device, automatic=bool(host))


def _flat(body: Block) -> Iterator[Statement]:
    """The region's statements; braces inside that declare nothing are looked through."""
    for statement in body.statements:
        if isinstance(statement, Block) and not any(isinstance(s, Declaration) for s in statement.statements):
            yield from _flat(statement)
        else:
            yield statement


def _check_hoisted(
    declaration: Declaration, before: Iterable[Statement], kernel: Kernel, diagnostics: Diagnostics
) -> None:
    """The host executes the region's declarations first, so none may read what a statement before it writes."""
    written = {use.object for statement in before for use in uses(statement, kernel.functions) if use.writes}
    stale = next((use for use in uses(declaration, kernel.functions) if use.reads and use.object in written), None)
    if stale is not None:
        diagnostics.error(
            stale.range,
            f"this declaration reads '{stale.object.host}', which the kernel writes before it",
            "declare the variable inside the loop that uses it, or split the kernel in two",
        )


def _why_as_written(kernel: Kernel, region: _Region, targets: tuple[Target, ...]) -> str | None:
    if not targets:
        return f"kernel '{kernel.name}' is built for no target"
    if region.host or region.device:
        return None
    if region.reason is not None:
        return region.reason
    if any(isinstance(node, Loop) for node in walk(kernel.body)):
        return f"no loop of kernel '{kernel.name}' has tiles, and its outermost loop is not declared independent"
    return f"kernel '{kernel.name}' has no loop that could be distributed"


def _warn_as_written(kernel: Kernel, reason: str, diagnostics: Diagnostics) -> None:
    """What the user asked for and does not get is never quietly dropped."""
    directive = kernel.directive
    if any(target not in (Target.AUTO, Target.SERIAL) for target in directive.targets):
        diagnostics.warning(
            directive.range,
            f"the kernel runs as written, on one core: {reason}",
            "add 'independent' if no iteration depends on another, or say the tiles",
        )
    for node in walk(kernel.body):
        if isinstance(node, Loop) and node.directive is not None and node.directive.independent:
            diagnostics.warning(
                node.directive.range,
                f"'independent' has no effect on the loop over '{node.iterator.host}': {reason}",
                "put the kernel directive before this loop, so that each round of the loop around it is a launch",
            )


def _launches(
    kernel: Kernel, region: _Region, live_out: frozenset[str], final: tuple[FinalValue, ...], diagnostics: Diagnostics
) -> tuple[Launches, Launches]:
    """(host, device)."""
    counts = {
        Axis(count.axis, count.dimension): count.count.literal
        for count in kernel.directive.counts
        if count.count.literal is not None
    }
    chains = ChainContext(
        region.host,
        loop_symbols(kernel),
        host_evaluable(written_objects(kernel)),
        counts,
        diagnostics,
    )
    vouched = kernel.directive.independent or any(
        isinstance(node, Loop) and node.directive is not None and node.directive.independent
        for node in walk(kernel.body)
    )
    scalars = ScalarContext(
        kernel.directive,
        kernel.functions,
        live_out,
        frozenset(value.iterator.name for value in final),
        vouched,
        diagnostics,
    )
    host = make_launches(kernel, region.statements, region.host, chains, scalars)
    if region.device == region.host:
        return host, host
    return host, make_launches(kernel, region.statements, region.device, chains, scalars)


def _scalars(kernel: Kernel, launches: Iterable[Launch], shared: Iterable[DataObject]) -> tuple[DataObject, ...]:
    """Outside scalars that the launches read, other than those reached by address or owned by an instance."""
    read: set[DataObject] = set()
    for launch in launches:
        own = set(launch.privates) - set(launch.first_privates)
        own |= _iterators(launch.body)
        read |= {use.object for use in uses(launch.body, kernel.functions, launch=True) if use.reads} - own
        read |= set(launch.first_privates)
    read |= {use.object for use in function_uses(kernel.functions) if use.reads}
    read -= set(shared)
    return tuple(
        object_
        for object_ in kernel.objects
        if object_ in read and object_.storage is Storage.SCALAR and object_.scope is not Scope.LOCAL
    )


def _iterators(body: Block) -> set[DataObject]:
    return {tiled.loop.iterator for nest in walk(body) if isinstance(nest, TileNest) for tiled in nest.loops}
