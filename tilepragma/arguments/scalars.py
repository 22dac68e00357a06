"""Scalars of launches: those that it reads are arguments; each that it writes is private to an
instance, reduced, or copied back.

For each outer scalar written in a launch, the first rule that fits decides:
  1. a `private` or `firstprivate` clause: each instance has a copy;
  2. no distribution: one instance runs; the scalar is copied back if it may be read later;
  3. each read sees a write of the same iteration (`flow`), no read follows the launch: private;
  4. a `reduction` clause: checked and reduced;
  5. `independent`: the user says that one iteration writes it, and no other reads it: copied back;
  6. an error that names the scalar and the remedies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.directives import KernelDirective, LoopDirective
from tilepragma.ir.expressions import DataObject, Scope, Storage
from tilepragma.ir.flow import exposed_read, is_distributed
from tilepragma.ir.loop_tree import Block, Declaration, FloatingRules, Function, Kernel, Loop, Statement, TileNest
from tilepragma.ir.reductions import check_reduction
from tilepragma.ir.traversal import children, loop_directives, reduction_clauses, walk
from tilepragma.plan.kernel_plan import HostCondition, Launch, Reduction, Step
from tilepragma.user_tiles.coverage import axes_of


@dataclass(frozen=True)
class ScalarContext:
    """Facts for all launches of a region. `live_out` names scalars that may be read after this
    launch, `final` iterators whose last value the host computes.
    """

    directive: KernelDirective
    functions: tuple[Function, ...]
    live_out: frozenset[str]
    final: frozenset[str]
    assumes_independence: bool
    floating: FloatingRules
    diagnostics: Diagnostics


@dataclass
class LaunchScalars:
    """The result for one launch; `shared` are scalars reached by address, also reduced ones."""

    privates: list[DataObject] = field(default_factory=list)
    first_privates: list[DataObject] = field(default_factory=list)
    reductions: list[Reduction] = field(default_factory=list)
    shared: list[DataObject] = field(default_factory=list)


def classify(body: Block, context: ScalarContext) -> LaunchScalars:
    """Classify each outer scalar that `body`, with its nests built, writes. Reports errors."""
    result = LaunchScalars()
    distributed = bool(axes_of(body))
    iterators = _nest_iterators(body)
    for object_, range_ in _written(body, context.functions).items():
        if object_ not in iterators:
            _decide(object_, range_, body, distributed, context, result)
        else:
            _tiled_iterator(object_, body, context, result)
    if distributed:
        _check_locals(body, context)
    return result


def _written(body: Block, functions: tuple[Function, ...]) -> dict[DataObject, SourceRange]:
    written: dict[DataObject, SourceRange] = {}
    for use in uses(body, functions):
        if use.writes and use.object.is_outside_scalar:
            written.setdefault(use.object, use.range)
    return written


def _nest_iterators(body: Block) -> frozenset[DataObject]:
    return frozenset(tiled.loop.iterator for nest in walk(body) if isinstance(nest, TileNest) for tiled in nest.loops)


def _tiled_iterator(object_: DataObject, body: Block, context: ScalarContext, result: LaunchScalars) -> None:
    exposed = exposed_read(body, object_, context.functions)
    if exposed is not None:
        context.diagnostics.error(
            exposed,
            f"the value that the loop over '{object_.host}' leaves behind is used in the kernel, "
            "but its iterations are distributed",
            f"write the last value of '{object_.host}' as an expression of the loop's bounds",
        )
    elif object_.name in context.live_out and object_.name not in context.final:
        context.diagnostics.error(
            object_.range,
            f"'{object_.host}' may be read after the kernel, but its last value there cannot be computed at launch",
            f"declare it in the loop, as in for (int {object_.host} = …), or assign it before it is read",
        )
    if any(isinstance(node, Loop) and node.iterator == object_ for node in walk(body)):
        result.privates.append(object_)


def _decide(
    object_: DataObject,
    range_: SourceRange,
    body: Block,
    distributed: bool,
    context: ScalarContext,
    result: LaunchScalars,
) -> None:
    name = object_.name
    directives: tuple[KernelDirective | LoopDirective, ...] = (context.directive, *loop_directives(body))
    privates = (clause for directive in directives for clause in directive.privates)
    clause = next((clause for clause in privates if object_.host in clause.names), None)
    reductions = reduction_clauses(context.directive, body)
    reduction = next((clause for clause in reductions if object_.host in clause.names), None)
    if clause is not None:
        result.privates.append(object_)
        if clause.first:
            result.first_privates.append(object_)
        return
    exposed = exposed_read(body, object_, context.functions)
    needed = name in context.live_out and name not in context.final
    if exposed is None and not needed:
        result.privates.append(object_)
    elif not distributed:
        result.shared.append(object_)
    elif reduction is not None:
        operator = check_reduction(object_, reduction, body, context.floating, context.diagnostics)
        result.reductions.append(Reduction(operator, object_))
        result.shared.append(object_)
    elif (
        # Only conditional writes, which one iteration may meet, use it.
        context.assumes_independence
        and exposed is None
        and all(use.conditional and not use.reads for use in uses(body, context.functions) if use.object == object_)
    ):
        result.shared.append(object_)
    else:
        _refuse(object_, range_, exposed, context)


def _refuse(object_: DataObject, range_: SourceRange, exposed: SourceRange | None, context: ScalarContext) -> None:
    name = object_.host
    declare = f"declare '{name.split('.')[0]}'" if "->" not in name else f"use a variable for '{name}' that is declared"
    if exposed is None:
        context.diagnostics.error(
            range_,
            f"'{name}' is written by distributed iterations and may be read after them, "
            "but no instance knows which value is the last",
            f"{declare} inside the loop, or add private({name}), if its value is not needed afterwards",
            f"add reduction(op: {name}) if it gathers one result of all iterations",
        )
        return
    context.diagnostics.error(
        range_,
        f"'{name}' is written by distributed iterations, and an iteration may read what another wrote "
        f"(line {exposed.start.line})",
        f"add reduction(op: {name}), as in reduction(+: {name}), if it gathers one result of all iterations",
        f"{declare} inside the loop, or add private({name}), if every iteration assigns it before use",
    )


def _check_locals(body: Block, context: ScalarContext) -> None:
    """Report locals that a distributed nest in their scope writes, unless private to it."""
    for block in walk(body):
        if not isinstance(block, Block):
            continue
        for place, statement in enumerate(block.statements):
            if isinstance(statement, Declaration):
                for declarator in statement.declarators:
                    _check_local(declarator.object, statement, block.statements[place + 1 :], context)


def _check_local(
    object_: DataObject, declaration: Statement, rest: tuple[Statement, ...], context: ScalarContext
) -> None:
    nests = (nest for statement in rest for nest in _distributed_nests(statement))
    used = (use for nest in nests for use in uses(nest, context.functions))
    writes = [use.range for use in used if use.object == object_ and use.writes]
    if not writes:
        return
    is_scalar = object_.storage is Storage.SCALAR
    if is_scalar and exposed_read(Block((declaration, *rest)), object_, context.functions) is None:
        return
    context.diagnostics.error(
        writes[0],
        f"'{object_.host}' is declared outside the distributed loop that writes it, "
        "so every instance would have its own values",
        f"declare '{object_.host}' inside the distributed loop",
    )


def _distributed_nests(node: object) -> list[TileNest]:
    if isinstance(node, TileNest) and is_distributed(node):
        return [node]
    return [nest for child in children(node) for nest in _distributed_nests(child)]


def scalar_arguments(kernel: Kernel, steps: Iterable[Step], shared: Iterable[DataObject]) -> tuple[DataObject, ...]:
    """Outer scalars that the steps read, unless passed by address or private to an instance."""
    read = {use.object for use in function_uses(kernel.functions) if use.reads}
    # One host function runs the loops and all launches beside them, whose bounds it evaluates.
    steps = tuple(steps)
    read |= set(_read_by(kernel, steps, inside=not all(isinstance(step, Launch) for step in steps)))
    read -= set(shared)
    outer = (object_ for object_ in kernel.objects if object_.scope is not Scope.LOCAL)
    return tuple(object_ for object_ in outer if object_ in read and object_.storage is Storage.SCALAR)


def _read_by(kernel: Kernel, steps: Iterable[Step], *, inside: bool) -> Iterator[DataObject]:
    """What launches, host loops and conditions read, and the bounds of launches `inside` them."""
    for step in steps:
        if isinstance(step, Launch):
            private = set(step.privates) - set(step.first_privates) | _nest_iterators(step.body)
            launch_uses = uses(step.body, kernel.functions, launch=not inside)
            yield from (use.object for use in launch_uses if use.reads and use.object not in private)
            yield from step.first_privates
            continue
        values = (step.condition,) if isinstance(step, HostCondition) else step.loop.bounds
        yield from (use.object for value in values for use in uses(value) if use.reads)
        yield from _read_by(kernel, step.steps, inside=True)
