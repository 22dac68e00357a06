"""The launches of a region with user tiles, one for each top-level statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilepragma.arguments.scalars import LaunchScalars, ScalarContext, classify
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import TileClause
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Block, ExpressionStatement, Kernel, Statement, TiledLoop, TileNest
from tilepragma.ir.traversal import loop_directives, loops_in, named_in_clauses, walk
from tilepragma.plan.kernel_plan import Launch
from tilepragma.plan.space_time import Meanings, space_time_maps
from tilepragma.user_tiles.barrier_placement import insert_barriers
from tilepragma.user_tiles.clause_legality import check_legality
from tilepragma.user_tiles.coverage import axes_of, check_coverage, check_repeated
from tilepragma.user_tiles.tile_nests import ChainContext, build_nests


def make_launches(
    kernel: Kernel,
    statements: tuple[Statement, ...],
    clauses: Mapping[int, tuple[TileClause, ...]],
    chains: ChainContext,
    scalars: ScalarContext,
) -> tuple[tuple[Launch, ...], tuple[DataObject, ...]]:
    """The launches of `statements` under one mapping, and the scalars that they reach by address;
    `statements` exclude declarations.
    """
    bodies = _bodies(kernel, statements, replace(chains, clauses=clauses))
    iterators = frozenset(loop.iterator.name for loop in loops_in(kernel.body))
    launches, shared = [], []
    for place, body in enumerate(bodies):
        later = _read_first(bodies[place + 1 :], kernel)
        scoped = replace(scalars, live_out=scalars.live_out | later)
        name = kernel.name if len(bodies) == 1 else f"{kernel.name}_nest{place + 1}"
        launch, reached = _launch(name, body, kernel, scoped)
        launches.append(replace(launch, schedule=space_time_maps(body, (), iterators, Meanings())))
        shared += [object_ for object_ in reached if object_ not in shared]
    return tuple(launches), tuple(shared)


def launch_loops(body: Block) -> tuple[TiledLoop, ...]:
    """The loops whose bounds are launch arguments, in text order."""
    nests = (node for node in walk(body) if isinstance(node, TileNest))
    return tuple(tiled for nest in nests for tiled in nest.loops if tiled.launch_bounds)


def _bodies(kernel: Kernel, statements: tuple[Statement, ...], context: ChainContext) -> tuple[Block, ...]:
    built = build_nests(Block(statements, kernel.body.range), context)
    if not axes_of(built):
        return (built,)
    bodies = []
    for statement in built.statements:
        if not isinstance(statement, ExpressionStatement):
            bodies.append(statement if isinstance(statement, Block) else Block((statement,), kernel.body.range))
        elif any(use.writes for use in uses(statement, kernel.functions)):
            context.diagnostics.error(
                statement.range,
                "this statement stands outside a distributed dimension, so every instance would execute it",
                "move it before or after the kernel, or into the distributed loop",
            )
    return tuple(bodies)


def _read_first(bodies: tuple[Block, ...], kernel: Kernel) -> frozenset[str]:
    """Names of the scalars whose earlier values these launches read."""
    objects = [object_ for object_ in kernel.objects if not object_.lengths]
    return frozenset(
        object_.name
        for object_ in objects
        for body in bodies
        if exposed_read(body, object_, kernel.functions) is not None
    )


def _launch(name: str, body: Block, kernel: Kernel, context: ScalarContext) -> tuple[Launch, list[DataObject]]:
    check_repeated(body, context.diagnostics)
    scalars = classify(body, context)
    named = named_in_clauses(kernel.directive, body)
    owned = frozenset((*scalars.privates, *(object_ for object_ in kernel.objects if object_.host in named)))
    assumed = kernel.directive.independent or any(directive.independent for directive in loop_directives(body))
    check_legality(body, kernel.functions, written_objects(kernel), owned, assumed, context.diagnostics)
    return finished_launch(name, body, scalars, context), scalars.shared


def finished_launch(
    name: str,
    body: Block,
    scalars: LaunchScalars,
    context: ScalarContext,
    values: tuple[DataObject, ...] = (),
    *,
    waits: bool = True,
) -> Launch:
    """Finish a launch with nests and scalars: check coverage and, with `waits`, insert barriers."""
    check_coverage(body, context.functions, lambda object_: object_ in scalars.privates, context.diagnostics)
    if waits:
        body = insert_barriers(body, context.functions, frozenset(scalars.privates), context.diagnostics)
    return Launch(
        name,
        body,
        launch_loops(body),
        axes_of(body),
        tuple(scalars.reductions),
        tuple(scalars.privates),
        tuple(scalars.first_privates),
        values,
    )
