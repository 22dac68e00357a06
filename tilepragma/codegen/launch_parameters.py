"""What the text of a launch gets as parameters: objects (`launch_objects`) and numbers
(`LaunchParameters`), and the numbering of loops and tiles that text and manifest share.

Only what the text uses is declared or passed: objects first, then the numbers in the order of
`LaunchParameters.parameters` (`Entry.signature` in device_program.py). The runtime passes them
(runtime/launch/device_job.c).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from typing import Literal, get_args

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.memoization import once
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.mentioned_objects import accessed_objects, printed_objects
from tilepragma.ir.accesses import implied_objects
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.loop_tree import Axis, Loop, Tile, TiledLoop, TileNest
from tilepragma.ir.traversal import nests_in, unwrapped
from tilepragma.plan.kernel_plan import FinalValue, HostLoop, KernelPlan, Launch, Step, all_steps, launches_in

#: tilek_parameter_kind, in the header's order: the endings of its names.
ParameterKind = Literal[
    "ARRAY", "ORIGIN", "LENGTH", "LOWER", "SCALAR", "LOOP_LOWER", "LOOP_STEP", "LOOP_TRIP",
    "TILE_COUNT", "TILE_STRIDE", "AXIS_COUNT", "TILE_ARGUMENT", "PARTIALS", "AXIS_ROUNDS", "VALUE",
    "SIZE", "INDEX_BITS", "SCALAR_NUMBER", "FLAGS", "BOXES", "FLAGS_BASE", "WAVE_FIRST", "WAVE_LAST", "COLUMN_LOWER",
    "COLUMN_COUNT",
]  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """tilek_parameter: one parameter of a device entry point."""

    kind: ParameterKind
    index: int = 0
    dimension: int = 0
    constant: str | None = None


def axis_index(axis: Axis) -> int:
    """The axis's place in tilek.h's order: thread, gang 0..2, worker 0..2."""
    return {AxisKind.THREAD: 0, AxisKind.GANG: 1, AxisKind.WORKER: 4}[axis.kind] + axis.dimension


def axis_name(axis: Axis) -> str:
    """`thread`, `gang1`, `worker0`: the name of the axis's index in kernels."""
    return "thread" if axis.kind is AxisKind.THREAD else f"{axis.kind.value}{axis.dimension}"


@dataclass
class LaunchParameters:
    """Names of the numbers of one launch.

    `loops` are the launch's. `first_arguments` says where a loop's tile arguments start. `varying`
    are the loops whose bounds differ from step to step: no constant of a program depends on them.
    `ending` ends the names of axes, which are constants in programs with several launches.
    `divided` is the loop, one of `varying`, whose iterations several devices share.

    `used` maps each requested name to its parameter. The caller declares local variables for loops
    without launch bounds, so `used` omits them.
    """

    loops: tuple[TiledLoop, ...]
    first_arguments: dict[TiledLoop, int]
    taken: frozenset[str]
    varying: frozenset[TiledLoop] = frozenset()
    ending: str = ""
    divided: TiledLoop | None = None
    used: dict[str, Parameter] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)

    def trip(self, loop: TiledLoop) -> str:
        """The name of the loop's trip count."""
        return self._loop_number(loop, "trip", "LOOP_TRIP", constant=loop not in self.varying)

    def count(self, loop: TiledLoop, tile: Tile) -> str:
        """The name of a tile's count."""
        name, constant = f"count{tile.position}", self._has_constant_count(loop, tile)
        return self._loop_number(loop, name, "TILE_COUNT", tile.position, constant=constant)

    def stride(self, loop: TiledLoop, tile: Tile) -> str:
        """The name of a tile's stride; "1" for the last tile in declaration order."""
        inner = loop.tiles[tile.position + 1 :]
        if not inner:
            return "1"
        name, constant = f"stride{tile.position}", all(self._has_constant_count(loop, tile_) for tile_ in inner)
        return self._loop_number(loop, name, "TILE_STRIDE", tile.position, constant=constant)

    def points(self, loop: TiledLoop) -> str:
        """The name of the number of a worker's points of a loop with several."""
        place = [tile.kind for tile in loop.tiles].index(TileKind.STATIC)
        return self._loop_number(loop, "points", "TILE_COUNT", place, constant=True)

    def lower(self, loop: TiledLoop) -> str:
        """The loop's lower bound: the literal, if it has one and every launch begins there."""
        literal = literal_value(loop.loop.lower)
        if literal is not None and loop != self.divided:
            return str(literal)
        return self._loop_number(loop, "lower", "LOOP_LOWER")

    def step(self, loop: TiledLoop) -> str:
        """The loop's step: the number itself where it is a literal."""
        literal = literal_value(loop.loop.step)
        return self._loop_number(loop, "step", "LOOP_STEP") if literal is None else str(literal)

    def axis_count(self, axis: Axis) -> str:
        """The name of an axis's count."""
        name, constant = f"{axis_name(axis)}_count{self.ending}", not self.varies(axis.kind)
        return self._keep(self.fresh(name), "AXIS_COUNT", axis_index(axis), constant=constant)

    def total(self, axes: Iterable[Axis]) -> str:
        """The product of the counts of axes."""
        return " * ".join(map(self.axis_count, axes))

    def linear_index(self, axes: Sequence[Axis]) -> str:
        """The linear index of a group or work-item, dimension 0 fastest; empty without axes."""
        text = ""
        for axis in reversed(axes):
            outer = f"({text})" if " " in text else text
            index = self.fresh(axis_name(axis))
            text = f"{outer} * {self.axis_count(axis)} + {index}" if text else index
        return text

    def axis_rounds(self, axis: Axis) -> str:
        """The number of an axis's instances that a group takes; 1 except on capped grids."""
        name, constant = f"{axis_name(axis)}_rounds{self.ending}", not self.varies(axis.kind)
        return self._keep(self.fresh(name), "AXIS_ROUNDS", axis_index(axis), constant=constant)

    def size(self, name: str, index: int) -> None:
        """Record that the launch's text names tile size `index` of the plan, as `name`."""
        self._keep(name, "SIZE", index, constant=True)

    def scalar_number(self, scalar: str, index: int) -> str:
        """The name of an integer scalar's value, a constant by which compilers count iterations."""
        return self._keep(self.fresh(f"{scalar}_value"), "SCALAR_NUMBER", index, constant=True)

    def length(self, array: str, index: int, dimension: int) -> str:
        """The name of an array's length, a constant for which compilers fold distances."""
        name = self.fresh(f"{array}_length{dimension}")
        return self._keep(name, "LENGTH", index, dimension, constant=True)

    def origin(self, array: str, index: int) -> str:
        """The name of where an array's copy begins, a constant that compilers add to addresses."""
        return self._keep(self.fresh(f"{array}_origin"), "ORIGIN", index, constant=True)

    def index_bits(self) -> None:
        """Record that the launch's text computes positions in arrays, in the type `tilek_index`."""
        self._keep("tilek_index_bits", "INDEX_BITS", constant=True)

    def tile_argument(self, loop: TiledLoop, tile: Tile) -> str:
        """A tile's argument, at least 1, where the kernel computes the tile's numbers."""
        literal = literal_value(tile.argument)
        if literal is not None:
            return str(literal)
        name = self.fresh(f"{loop.symbol}_argument{tile.position}")
        self._keep(name, "TILE_ARGUMENT", self.first_arguments[loop] + tile.position, constant=True)
        return f"tilek_maximum(1, {name})"

    def of_wavefronts(self, name: str, kind: ParameterKind, index: int = 0) -> str:
        """`name` for a number of a persistent launch that varies by run; `index`: its loop."""
        return self._keep(name, kind, index)

    def name(self, loop: TiledLoop, suffix: str) -> str:
        """`i_suffix`, changed where a user's object has that name."""
        return self.fresh(f"{loop.symbol}_{suffix}")

    def fresh(self, name: str) -> str:
        """`name`, changed where a user's object has that name."""
        while name in self.taken:
            name += "_"
        return name

    def once(self, name: str) -> str:
        """`name`, with a number after it where it was requested before."""
        variant, number = self.fresh(name), 1
        while variant in self.given:
            number += 1
            variant = self.fresh(f"{name}_{number}")
        self.given.add(variant)
        return variant

    def parameters(self) -> tuple[tuple[str, Parameter], ...]:
        """The numbers in use with their names, in a fixed order."""
        kinds = get_args(ParameterKind)
        return tuple(
            sorted(self.used.items(), key=lambda item: (kinds.index(item[1].kind), item[1].index, item[1].dimension))
        )

    def _has_constant_count(self, loop: TiledLoop, tile: Tile) -> bool:
        """Whether the tile's count is the same in every step. The source gives those of distributed
        and static tiles. The others follow from all.
        """
        if tile.axis is not None:
            return not self.varies(tile.axis.kind)
        if tile.kind is TileKind.STATIC:
            return True
        return loop not in self.varying and not any(tile_.axis and self.varies(tile_.axis.kind) for tile_ in loop.tiles)

    def varies(self, kind: AxisKind) -> bool:
        """Whether counts of this kind of axis may differ from step to step. The runtime chooses the
        number of gangs by the loops that have gang tiles. It chooses workers for the largest step,
        if dynamic tiles cover the rest of every loop; else for each step, and gangs with them.
        """
        to_workers = (loop for loop in self.loops if _has(loop, AxisKind.WORKER))
        covered = all(any(tile.kind is TileKind.DYNAMIC for tile in loop.tiles) for loop in to_workers)
        distributed = any(loop.is_distributed for loop in self.varying)
        workers = distributed and not covered
        gangs = any(_has(loop, AxisKind.GANG) or _has(loop, AxisKind.THREAD) for loop in self.varying)
        return workers if kind is AxisKind.WORKER else workers or gangs

    def _loop_number(
        self, loop: TiledLoop, suffix: str, kind: ParameterKind, dimension: int = 0, *, constant: bool = False
    ) -> str:
        name = self.name(loop, suffix)
        if not loop.launch_bounds:
            return name
        return self._keep(name, kind, self.loops.index(loop), dimension, constant=constant)

    def _keep(
        self, name: str, kind: ParameterKind, index: int = 0, dimension: int = 0, *, constant: bool = False
    ) -> str:
        """Record that the text uses a number by this name, a `constant` of specialised programs."""
        self.used.setdefault(name, Parameter(kind, index, dimension, name if constant else None))
        return name


def _has(loop: TiledLoop, kind: AxisKind) -> bool:
    return any(tile.axis is not None and tile.axis.kind is kind for tile in loop.tiles)


def tile_label(loop: TiledLoop, tile: Tile) -> str:
    """The part of a tile iterator's name after the loop's: `gang`, `worker1`, `tile0`."""
    if tile.axis is None:
        return f"tile{tile.position}"
    kind = tile.kind.value
    alone = sum(sibling.kind is tile.kind for sibling in loop.tiles) == 1
    return kind if alone or tile.kind is TileKind.THREAD else f"{kind}{tile.axis.dimension}"


@dataclass(frozen=True)
class PlanNumbers:
    """The numbering of a plan. `loops` are the entries of tilek_call.loops: the loops whose bounds
    the region itself gives. `first_arguments` says where the tile arguments of each tiling start.
    """

    loops: tuple[Loop, ...]
    first_arguments: dict[TiledLoop, int]

    def loop_number(self, loop: TiledLoop) -> int:
        """The loop's entry in tilek_call.loops; raises ValueError where it has none."""
        return [entry.index for entry in self.loops].index(loop.loop.index)


@once
def plan_numbers(plan: KernelPlan) -> PlanNumbers:
    """The numbering of a plan: loops in textual order, tile arguments of each different tiling."""
    first_arguments: dict[TiledLoop, int] = {}
    bounded: dict[int, Loop] = {}
    count = 0
    for steps in (plan.host_steps, plan.device_steps):
        has_fixed_bounds = not needs_function(plan, steps)
        for loop in (loop for launch in launches_in(steps) for loop in nest_loops(launch)):
            if loop not in first_arguments:
                first_arguments[loop] = count
                count += len(loop.tiles)
            if loop.launch_bounds and has_fixed_bounds:
                bounded[loop.loop.index] = loop.loop
    for value in plan.final_values:
        for loop in (value.loop, *value.enclosing) if isinstance(value, FinalValue) else ():
            bounded.setdefault(loop.loop.index, loop.loop)
    return PlanNumbers(tuple(bounded[index] for index in sorted(bounded)), first_arguments)


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
    return set(accessed_objects(loop.bounds))


def host_iterators(steps: tuple[Step, ...]) -> frozenset[DataObject]:
    """The iterators of all HostLoops of a tree."""
    return frozenset(step.loop.iterator for step in all_steps(steps) if isinstance(step, HostLoop))


def is_one_nest(launch: Launch) -> bool:
    """Whether the launch is one nest whose first loop's bounds it gives; no iteration: no work."""
    nest = unwrapped(launch.body)
    return isinstance(nest, TileNest) and nest.loops[0].launch_bounds


@once
def nest_loops(launch: Launch) -> tuple[TiledLoop, ...]:
    """All tiled loops of a launch, those without launch bounds too."""
    return tuple(loop for nest in nests_in(launch.body) for loop in nest.loops)


def launch_parameters(plan: KernelPlan, launch: Launch, program: tuple[Launch, ...] | None = None) -> LaunchParameters:
    """The names of a launch's numbers, clear of the user's names. `program` are the launches of its
    program, by default the devices'.
    """
    taken = {object_.name for object_ in plan.kernel.objects} | {function.name for function in plan.kernel.functions}
    bodies = [body for body in (launch.body, launch.staged) if body is not None]
    taken |= {object_.name for object_ in accessed_objects(bodies)}
    iterators = host_iterators(plan.host_steps) | host_iterators(plan.device_steps)
    # A program has one value for each constant, but each launch has its own axes.
    names = [program_launch.name for program_launch in (plan.device if program is None else program)]
    ending = f"_{names.index(launch.name) + 1}" if len(names) > 1 and launch.name in names else ""
    divided = plan.divided_loop(launch)
    varying = frozenset(
        loop for loop in launch.loops if loop == divided or (iterators and loop_objects(loop) & iterators)
    )
    first_arguments = plan_numbers(plan).first_arguments
    numbers = LaunchParameters(launch.loops, first_arguments, frozenset(taken), varying, ending, divided)
    for index, object_ in launch_objects(plan, launch).sizes:
        numbers.size(object_.name, index)
    return numbers


#: Objects with their indices in a list of the plan or the launch.
Indexed = tuple[tuple[int, DataObject], ...]


@dataclass(frozen=True)
class LaunchObjects:
    """The outside objects in a launch's text, sorted by how the text gets them. `arrays`, `scalars`
    and `sizes` have indices in the plan; `indirect` are those of `arrays` that are scalars.
    `privates` need a local copy. `reduced` and `values` have indices in the launch.
    """

    arrays: Indexed
    scalars: Indexed
    indirect: Indexed
    privates: tuple[DataObject, ...]
    first_privates: Indexed
    reduced: Indexed
    values: Indexed
    sizes: Indexed


def launch_objects(plan: KernelPlan, launch: Launch) -> LaunchObjects:
    """Sort the objects of a launch's text. Outside scalars that the plan omits are private."""
    mentioned = printed_objects(launch.body)
    if launch.staged is not None:
        mentioned |= printed_objects(launch.staged)

    def indexed(objects: Iterable[DataObject], others: Collection[DataObject] = ()) -> Indexed:
        return tuple((i, o) for i, o in enumerate(objects) if o in mentioned and o not in others)

    reductions = [reduction.object for reduction in launch.reductions]
    values, sizes = indexed(launch.values), indexed(size.object for size in plan.sizes)
    declared = {*launch.privates, *launch.first_privates, *reductions, *(o for _, o in (*values, *sizes))}
    iterators = {loop.loop.iterator for loop in nest_loops(launch)}
    reached = indexed((argument.object for argument in plan.arrays), declared)
    scalars = indexed(plan.scalars, declared | iterators)
    first = tuple((plan.scalars.index(o), o) for o in launch.first_privates if o in mentioned and o in plan.scalars)
    passed = {o for _, o in (*reached, *scalars, *first, *values, *sizes)} | set(reductions) | iterators
    outside = [o for o in mentioned if o.is_outside_scalar]
    privates = dict.fromkeys(o for o in (*launch.privates, *outside) if o in mentioned and o not in passed)
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
    return (
        plan.assumes_disjoint
        and object_.storage is Storage.CONTIGUOUS
        and object_ not in implied_objects(plan.kernel.body)
    )


def used_dimensions(launch: Launch, *kinds: AxisKind) -> list[Axis]:
    """The launch's axes of the given kinds, by dimension."""
    return sorted((axis for axis in launch.axes if axis.kind in kinds), key=lambda axis: axis.dimension)
