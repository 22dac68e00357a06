"""The numbering of loops, tiles and objects for host functions, device programs and manifest."""

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
    """The numbering of a plan. `loops` are the entries of tilek_call.loops: the loops whose bounds
    the region itself gives. `first_arguments` says where a loop's tile arguments start.
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
    """The numbering of a plan: loops in textual order, tile arguments of each different tiling."""
    tiled: list[TiledLoop] = []
    bounded: dict[int, Loop] = {}
    for steps in (plan.host_steps, plan.device_steps):
        has_fixed_bounds = not needs_function(plan, steps)
        for loop in (loop for launch in launches_in(steps) for loop in nest_loops(launch)):
            if loop not in tiled:
                tiled.append(loop)
            if loop.launch_bounds and has_fixed_bounds:
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
    """Whether a function gives the launches' order or bounds, known only while they run."""
    sizes = {size.object for size in plan.sizes}
    return any(not isinstance(step, Launch) or bool(bound_objects(step) & sizes) for step in steps)


def bound_objects(launch: Launch) -> set[DataObject]:
    """The objects that bounds and steps of the launch's loops read."""
    return {object_ for loop in launch.loops for object_ in loop_objects(loop)}


def loop_objects(tiled: TiledLoop) -> set[DataObject]:
    """The objects that the loop's bounds and step read."""
    loop = tiled.loop
    return {
        node.object for part in (loop.lower, loop.upper, loop.step) for node in walk(part) if isinstance(node, Access)
    }


def host_iterators(steps: tuple[Step, ...]) -> frozenset[DataObject]:
    """The iterators of all HostLoops of a tree."""
    iterators: set[DataObject] = set()
    for step in steps:
        if not isinstance(step, Launch):
            iterators |= host_iterators(step.steps) | ({step.loop.iterator} if isinstance(step, HostLoop) else set())
    return frozenset(iterators)


def is_one_nest(launch: Launch) -> bool:
    """Whether the launch is one nest whose first loop's bounds it gives; no iteration: no work."""
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


def launch_numbers(plan: KernelPlan, launch: Launch, program: tuple[Launch, ...] | None = None) -> Numbers:
    """The names of a launch's numbers, clear of the user's names. `program` are the launches of its
    program, by default the devices'.
    """
    taken = {object_.name for object_ in plan.kernel.objects} | {function.name for function in plan.kernel.functions}
    bodies = [body for body in (launch.body, launch.staged) if body is not None]
    taken |= {node.object.name for body in bodies for node in walk(body) if isinstance(node, Access)}
    iterators = host_iterators(plan.host_steps) | host_iterators(plan.device_steps)
    # A program has one value for each constant, but each launch has its own axes.
    names = [program_launch.name for program_launch in (plan.device if program is None else program)]
    ending = f"_{names.index(launch.name) + 1}" if len(names) > 1 and launch.name in names else ""
    divided = plan.divided_loop(launch)
    varying = frozenset(
        loop for loop in launch.loops if loop == divided or (iterators and loop_objects(loop) & iterators)
    )
    numbers = Numbers(launch.loops, number(plan).first_arguments, frozenset(taken), varying, ending, divided)
    for index, object_ in launch_objects(plan, launch).sizes:
        numbers.size(object_.name, index)
    return numbers


@dataclass(frozen=True)
class LaunchObjects:
    """The outside objects in a launch's text, sorted by how the text gets them. `arrays` and
    `scalars` are (index in the plan, object). `indirect` are those of `arrays` that are scalars.
    `privates` need a local copy. `reduced` are (index in launch.reductions, object), `values`
    (index in launch.values, object), `sizes` (index in plan.sizes, object).
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
    """Sort the objects of a launch's text. Outside scalars that the plan omits are private."""
    mentioned = _mentioned(launch)
    reductions = [reduction.object for reduction in launch.reductions]
    values = tuple((i, o) for i, o in enumerate(launch.values) if o in mentioned)
    sizes = tuple((i, size.object) for i, size in enumerate(plan.sizes) if size.object in mentioned)
    declared = {*launch.privates, *launch.first_privates, *reductions, *(o for _, o in (*values, *sizes))}
    iterators = {loop.loop.iterator for loop in nest_loops(launch)}
    arrays = [argument.object for argument in plan.arrays]
    reached = tuple((i, o) for i, o in enumerate(arrays) if o in mentioned and o not in declared)
    scalars = tuple(
        (i, o) for i, o in enumerate(plan.scalars) if o in mentioned and o not in declared and o not in iterators
    )
    first = tuple((plan.scalars.index(o), o) for o in launch.first_privates if o in mentioned and o in plan.scalars)
    sorted_objects = {o for _, o in (*reached, *scalars, *first, *values, *sizes)} | set(reductions) | iterators
    privates = [o for o in launch.privates if o in mentioned and o not in sorted_objects]
    privates += [
        o
        for o in mentioned
        if o.scope is not Scope.LOCAL and o.storage is Storage.SCALAR and o not in sorted_objects and o not in privates
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


def is_checked_disjoint(plan: KernelPlan, object_: DataObject) -> bool:
    """Whether every launch checks that the array overlaps no written one, for `restrict`. Not where
    the user's functions use the variable by name.
    """
    return plan.apart and object_.storage is Storage.CONTIGUOUS and object_ not in implied_objects(plan.kernel.body)


def _mentioned(launch: Launch) -> dict[DataObject, None]:
    """The objects in the launch's text, in order, without bounds that the launch supplies."""
    objects: dict[DataObject, None] = {}
    _collect(launch.body, objects)
    if launch.staged is not None:
        _collect(launch.staged, objects)
    return objects


def _collect(node: object, objects: dict[DataObject, None]) -> None:
    if isinstance(node, TileNest):
        for tiled in node.loops:
            if not tiled.launch_bounds:
                for part in (tiled.loop.lower, tiled.loop.upper, tiled.loop.step):
                    _collect(part, objects)
        _collect(node.body, objects)
        return
    if isinstance(node, Access):
        objects.setdefault(node.object)
    if isinstance(node, Loop) and not node.declares_iterator:
        objects.setdefault(node.iterator)
    if isinstance(node, Declarator):
        for length in node.object.lengths:
            if length is not None:
                _collect(length, objects)
    for child in _printed(node):
        _collect(child, objects)


def _printed(node: object) -> Iterable[object]:
    """The children of a node that are printed."""
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
