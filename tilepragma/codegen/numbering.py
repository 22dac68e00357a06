"""What host functions, device programs and the manifest must agree on: the numbering of a plan's loops, tiles and objects."""

from __future__ import annotations

from collections.abc import Iterable

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.codegen.launch_numbers import Numbers
from tilepragma.codegen.unused_declarations import is_idle
from tilepragma.ir.accesses import implied_objects
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Axis, Block, Declarator, Loop, TiledLoop, TileNest
from tilepragma.ir.traversal import children, walk
from tilepragma.plan.kernel_plan import FinalValue, HostLoop, KernelPlan, Launch, Step, launches_in


@dataclass(frozen=True)
class Numbering:
    """`loops` are the entries of tilek_call.loops: those whose bounds the region itself knows.
    `first_arguments` gives where the tile arguments of a loop start.
    """

    loops: tuple[Loop, ...]
    tiled: tuple[TiledLoop, ...]
    first_arguments: dict[TiledLoop, int]
    tile_argument_count: int

    def loop_number(self, loop: TiledLoop) -> int:
        """The loop's entry in tilek_call.loops; raises ValueError where it has none."""
        return [entry.index for entry in self.loops].index(loop.loop.index)


@once
def number(plan: KernelPlan) -> Numbering:
    """The numbering of a plan: loops in textual order, tile arguments of every different tiling of each."""
    tiled: list[TiledLoop] = []
    bounded: dict[int, Loop] = {}
    for steps in (plan.host_steps, plan.device_steps):
        known = not needs_function(plan, steps)
        for loop in (loop for launch in launches_in(steps) for loop in nest_loops(launch)):
            if loop not in tiled:
                tiled.append(loop)
            if loop.launch_bounds and known:
                bounded[loop.loop.index] = loop.loop
    for value in plan.final_values:
        for loop in (value.loop, *value.enclosing) if isinstance(value, FinalValue) else ():
            bounded.setdefault(loop.loop.index, loop.loop)
    first_arguments: dict[TiledLoop, int] = {}
    count = 0
    for loop in tiled:
        first_arguments[loop] = count
        count += len(loop.tiles)
    return Numbering(tuple(bounded[index] for index in sorted(bounded)), tuple(tiled), first_arguments, count)


def needs_function(plan: KernelPlan, steps: tuple[Step, ...]) -> bool:
    """Whether the order of the launches, or the bounds of one, is known only while they run: more than each once, in order."""
    sizes = {size.object for size in plan.sizes}
    return any(not isinstance(step, Launch) or bool(bound_objects(step) & sizes) for step in steps)


def bound_objects(launch: Launch) -> set[DataObject]:
    """The objects that bounds and steps of the launch's loops read."""
    return {found for loop in launch.loops for found in loop_objects(loop)}


def loop_objects(tiled: TiledLoop) -> set[DataObject]:
    """The objects that the loop's bounds and step read."""
    loop = tiled.loop
    return {
        node.object for part in (loop.lower, loop.upper, loop.step) for node in walk(part) if isinstance(node, Access)
    }


def host_iterators(steps: tuple[Step, ...]) -> frozenset[DataObject]:
    """The iterators of all HostLoops of a tree."""
    found: set[DataObject] = set()
    for step in steps:
        if not isinstance(step, Launch):
            found |= host_iterators(step.steps) | ({step.loop.iterator} if isinstance(step, HostLoop) else set())
    return frozenset(found)


def is_one_nest(launch: Launch) -> bool:
    """Whether the launch is one nest whose first loop has its bounds from the launch: no iteration of that, and nothing is to be done."""
    body = launch.body
    while len(body.statements) == 1 and isinstance(body.statements[0], Block):
        body = body.statements[0]
    statement = body.statements[0] if len(body.statements) == 1 else None
    return isinstance(statement, TileNest) and statement.loops[0].launch_bounds


@once
def nests(launch: Launch) -> tuple[TileNest, ...]:
    """All tile nests of a launch, in textual order."""
    return tuple(node for node in walk(launch.body) if isinstance(node, TileNest))


@once
def nest_loops(launch: Launch) -> tuple[TiledLoop, ...]:
    """All tiled loops of a launch, those without launch bounds too."""
    return tuple(loop for nest in nests(launch) for loop in nest.loops)


def launch_numbers(
    plan: KernelPlan, launch: Launch, numbering: Numbering, program: tuple[Launch, ...] | None = None
) -> Numbers:
    """The names of a launch's numbers, clear of the user's; `program` are the launches of the
    program that it stands in, the devices' by default.
    """
    taken = {object_.name for object_ in plan.kernel.objects} | {function.name for function in plan.kernel.functions}
    bodies = [body for body in (launch.body, launch.staged) if body is not None]
    taken |= {node.object.name for body in bodies for node in walk(body) if isinstance(node, Access)}
    iterators = host_iterators(plan.host_steps) | host_iterators(plan.device_steps)
    # A program has one value a constant, and each launch has axes of its own.
    names = [one.name for one in (plan.device if program is None else program)]
    ending = f"_{names.index(launch.name) + 1}" if len(names) > 1 and launch.name in names else ""
    divided = plan.divided_loop(launch)
    varying = frozenset(
        loop for loop in launch.loops if loop == divided or (iterators and loop_objects(loop) & iterators)
    )
    numbers = Numbers(launch.loops, numbering.first_arguments, frozenset(taken), varying, ending, divided)
    for index, object_ in launch_objects(plan, launch).sizes:
        numbers.size(object_.name, index)
    return numbers


@dataclass(frozen=True)
class LaunchObjects:
    """The outside objects that a launch's text mentions, by what becomes of them.

    `arrays` and `scalars` are (index in the plan, object); `indirect` those of `arrays` that are
    scalars; `privates` need a local of their own; `reduced` are (index in launch.reductions,
    object); `values` (index in launch.values, object); `sizes` (index in plan.sizes, object).
    """

    arrays: tuple[tuple[int, DataObject], ...]
    scalars: tuple[tuple[int, DataObject], ...]
    indirect: tuple[tuple[int, DataObject], ...]
    privates: tuple[DataObject, ...]
    first_privates: tuple[tuple[int, DataObject], ...]
    reduced: tuple[tuple[int, DataObject], ...]
    values: tuple[tuple[int, DataObject], ...]
    sizes: tuple[tuple[int, DataObject], ...]


def launch_objects(plan: KernelPlan, launch: Launch) -> LaunchObjects:
    """Sort the objects of a launch's text; an outside scalar that the plan names nowhere is private."""
    mentioned = _mentioned(launch)
    reductions = [reduction.object for reduction in launch.reductions]
    values = tuple((i, o) for i, o in enumerate(launch.values) if o in mentioned)
    sizes = tuple((i, size.object) for i, size in enumerate(plan.sizes) if size.object in mentioned)
    own = {*launch.privates, *launch.first_privates, *reductions, *(o for _, o in (*values, *sizes))}
    iterators = {loop.loop.iterator for loop in nest_loops(launch)}
    arrays = [argument.object for argument in plan.arrays]
    reached = tuple((i, o) for i, o in enumerate(arrays) if o in mentioned and o not in own)
    scalars = tuple(
        (i, o) for i, o in enumerate(plan.scalars) if o in mentioned and o not in own and o not in iterators
    )
    first = tuple((plan.scalars.index(o), o) for o in launch.first_privates if o in mentioned and o in plan.scalars)
    known = {o for _, o in (*reached, *scalars, *first, *values, *sizes)} | set(reductions) | iterators
    privates = [o for o in launch.privates if o in mentioned and o not in known]
    privates += [
        o
        for o in mentioned
        if o.scope is not Scope.LOCAL and o.storage is Storage.SCALAR and o not in known and o not in privates
    ]
    return LaunchObjects(
        arrays=tuple((i, o) for i, o in reached if o.storage is not Storage.SCALAR),
        scalars=scalars,
        indirect=tuple((i, o) for i, o in reached if o.storage is Storage.SCALAR),
        privates=tuple(privates),
        first_privates=first,
        reduced=tuple(enumerate(reductions)),
        values=values,
        sizes=sizes,
    )


def is_checked_apart(plan: KernelPlan, object_: DataObject) -> bool:
    """Whether every launch checks that nothing written lies where the array does, so that its
    pointer may be `restrict`: not where the user's functions go to a variable by its own name.
    """
    return plan.apart and object_.storage is Storage.CONTIGUOUS and object_ not in implied_objects(plan.kernel.body)


def _mentioned(launch: Launch) -> dict[DataObject, None]:
    """The objects that the launch's text names, in order: all but those of bounds that come from the launch."""
    found: dict[DataObject, None] = {}
    _collect(launch.body, found)
    if launch.staged is not None:
        _collect(launch.staged, found)
    return found


def _collect(node: object, found: dict[DataObject, None]) -> None:
    if isinstance(node, TileNest):
        for tiled in node.loops:
            if not tiled.launch_bounds:
                for part in (tiled.loop.lower, tiled.loop.upper, tiled.loop.step):
                    _collect(part, found)
        _collect(node.body, found)
        return
    if isinstance(node, Access):
        found.setdefault(node.object)
    if isinstance(node, Loop) and not node.declares_iterator:
        found.setdefault(node.iterator)
    if isinstance(node, Declarator):
        for length in node.object.lengths:
            if length is not None:
                _collect(length, found)
    for child in _printed(node):
        _collect(child, found)


def _printed(node: object) -> Iterable[object]:
    """The children of a node that are in the text."""
    if not isinstance(node, Block):
        return children(node)
    return [
        statement
        for place, statement in enumerate(node.statements)
        if not is_idle(statement, node.statements[place + 1 :])
    ]


def used_dimensions(launch: Launch, *kinds: AxisKind) -> list[Axis]:
    """The launch's axes of the given kinds, by dimension."""
    return sorted((axis for axis in launch.axes if axis.kind in kinds), key=lambda axis: axis.dimension)
