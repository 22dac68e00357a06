"""What the engine finds in a region, in words: its dependences with their distances, and what each loop carries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tilepragma.base.ranges import SourceRange
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.looptree import Loop
from tilepragma.ir.traversal import walk
from tilepragma.plan.invariance import written_objects
from tilepragma.plan.kernel_plan import KernelPlan
from tilepragma.plan.mapping import top_loops

if TYPE_CHECKING:
    from tilepragma.polyhedral.dependences import Dependence
    from tilepragma.polyhedral.scop import Reference, Scop


def dependence_text(plan: KernelPlan) -> str:
    """For every nest of the region: its loops, each DOALL or with what it carries; the value-based dependences; what is not affine.

    Scalars that the plan privatises or reduces are left out.
    """
    nests = [loop for statement in plan.kernel.body.statements for loop in top_loops(statement)]
    return "".join(f"  {line}\n" for nest in nests for line in _nest(nest, plan))


def _nest(nest: Loop, plan: KernelPlan) -> Iterator[str]:
    from tilepragma.polyhedral.dependences import memory_dependences, value_dependences
    from tilepragma.polyhedral.extraction import extract_scop
    from tilepragma.polyhedral.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit

    kernel = plan.kernel
    yield f"nest over {nest.iterator.host}, line {nest.header.start.line}:"
    try:
        scop = extract_scop((nest,), kernel.functions, written_objects(kernel))
        owned = _owned(plan)
        with operation_limit(scop.context, DEFAULT_LIMIT, "finding the dependences"):
            memory = [one for one in memory_dependences(scop) if one.source.object not in owned]
            values = [one for one in value_dependences(scop) if one.source.object not in owned]
            yield from _loops(nest, memory)
            for one in values:
                yield f"  {_dependence(one)}"
        yield from _hyperplanes(scop, tuple(values))
    except OperationLimitError:
        yield "  its dependences are unknown: the engine reached its limit of operations"
        return
    for reason in scop.reasons:
        yield f"  not affine, line {reason.range.start.line}: {reason.reason}"


def _hyperplanes(scop: Scop, dependences: tuple[Dependence, ...]) -> Iterator[str]:
    """What Algorithm 4.1 finds for the nest; the plan does not act on it yet."""
    from tilepragma.polyhedral.program import program_of
    from tilepragma.polyhedral.schedule import row_text
    from tilepragma.polyhedral.tile_shapes import tile_shapes

    program = program_of(scop, dependences)
    schedule = tile_shapes(program.statements, program.dependences)
    for statement in scop.statements:
        # A decreasing loop's iterator is negated in the program that the search sees.
        names = tuple(("-" if loop.decreasing else "") + loop.iterator.host for loop in statement.loops)
        rows = ", ".join(row_text(row, names) for row in schedule.of(statement.name).rows)
        yield f"  tiling hyperplanes of the statement at {_place(statement.range)}: ({rows})"
    yield from (f"  {note}" for note in schedule.notes)


def _owned(plan: KernelPlan) -> frozenset[DataObject]:
    privates = [object_ for launch in plan.host for object_ in launch.privates]
    reduced = [reduction.object for launch in plan.host for reduction in launch.reductions]
    return frozenset((*privates, *reduced))


def _loops(nest: Loop, dependences: Iterable[Dependence]) -> Iterator[str]:
    from tilepragma.polyhedral.dependences import carried_at

    carried: dict[int, list[str]] = {}
    for one in dependences:
        for loop in carried_at(one):
            what = f"{one.kind.value} of {one.source.object.host}{'' if one.exact else ' (perhaps)'}"
            carried.setdefault(loop.index, []).append(what)
    for loop in walk(nest):
        if isinstance(loop, Loop):
            what = ", ".join(dict.fromkeys(carried.get(loop.index, ())))
            yield f"  loop {loop.iterator.host}, line {loop.header.start.line}: {'carries ' + what if what else 'DOALL'}"


def _dependence(one: Dependence) -> str:
    from tilepragma.polyhedral.dependences import distance_text

    certain = "" if one.exact else ", perhaps"
    return f"{one.kind.value} {distance_text(one.distances)} of {_end(one.source)} -> {_end(one.sink)}{certain}"


def _end(reference: Reference) -> str:
    return f"{reference.object.host} at {_place(reference.range)}"


def _place(range_: SourceRange) -> str:
    return f"{range_.start.line}:{range_.start.column}"
