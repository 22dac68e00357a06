"""The numbers of a launch that a kernel uses. Only printed numbers are declared or passed."""

from __future__ import annotations

from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.manifest import Parameter, ParameterKind, axis_index, axis_name
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.loop_tree import Axis, Tile, TiledLoop


@dataclass
class Numbers:
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
        return self._loop_number(loop, "trip", ParameterKind.LOOP_TRIP, 0, constant=loop not in self.varying)

    def count(self, loop: TiledLoop, tile: Tile) -> str:
        """The name of a tile's count."""
        constant = self._has_constant_count(loop, tile)
        return self._loop_number(
            loop, f"count{tile.position}", ParameterKind.TILE_COUNT, tile.position, constant=constant
        )

    def stride(self, loop: TiledLoop, tile: Tile) -> str:
        """The name of a tile's stride; "1" for the last tile in declaration order."""
        if tile.position == len(loop.tiles) - 1:
            return "1"
        constant = all(self._has_constant_count(loop, inner) for inner in loop.tiles[tile.position + 1 :])
        return self._loop_number(
            loop, f"stride{tile.position}", ParameterKind.TILE_STRIDE, tile.position, constant=constant
        )

    def lower(self, loop: TiledLoop) -> str:
        """The loop's lower bound: the literal, if it has one and every launch begins there."""
        literal = literal_value(loop.loop.lower)
        if literal is not None and loop != self.divided:
            return str(literal)
        return self._loop_number(loop, "lower", ParameterKind.LOOP_LOWER, 0, constant=False)

    def step(self, loop: TiledLoop) -> str:
        """The loop's step: the number itself where it is a literal."""
        literal = literal_value(loop.loop.step)
        if literal is not None:
            return str(literal)
        return self._loop_number(loop, "step", ParameterKind.LOOP_STEP, 0, constant=False)

    def axis_count(self, axis: Axis) -> str:
        """The name of an axis's count."""
        name = self.fresh(f"{axis_name(axis)}_count{self.ending}")
        constant = None if self.varies(axis.kind) else name
        return self._keep(name, Parameter(ParameterKind.AXIS_COUNT, axis_index(axis), 0, constant))

    def axis_rounds(self, axis: Axis) -> str:
        """The number of an axis's instances that a group takes; 1 except on capped grids."""
        name = self.fresh(f"{axis_name(axis)}_rounds{self.ending}")
        constant = None if self.varies(axis.kind) else name
        return self._keep(name, Parameter(ParameterKind.AXIS_ROUNDS, axis_index(axis), 0, constant))

    def size(self, name: str, index: int) -> None:
        """Record that the launch's text names tile size `index` of the plan, as `name`."""
        self._keep(name, Parameter(ParameterKind.SIZE, index, 0, name))

    def length(self, array: str, index: int, dimension: int) -> str:
        """The name of an array's length, a constant for which compilers fold distances."""
        name = self.fresh(f"{array}_length{dimension}")
        return self._keep(name, Parameter(ParameterKind.LENGTH, index, dimension, name))

    def index_bits(self) -> None:
        """Record that the launch's text computes positions in arrays, in the type `tilek_index`."""
        self._keep("tilek_index_bits", Parameter(ParameterKind.INDEX_BITS, 0, 0, "tilek_index_bits"))

    def tile_argument(self, loop: TiledLoop, tile: Tile) -> str:
        """A tile's argument, at least 1, where the kernel computes the tile's numbers."""
        literal = literal_value(tile.argument)
        if literal is not None:
            return str(literal)
        name = self.fresh(f"{loop.symbol}_argument{tile.position}")
        index = self.first_arguments[loop] + tile.position
        return f"tilek_maximum(1, {self._keep(name, Parameter(ParameterKind.TILE_ARGUMENT, index, 0, name))})"

    def of_wavefronts(self, name: str, kind: ParameterKind, index: int = 0) -> str:
        """`name` for a number of a persistent launch that varies by run; `index`: its loop."""
        return self._keep(name, Parameter(kind, index, 0, None))

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
        kinds = list(ParameterKind)
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
        number of gangs by the loops that have gang tiles. Workers follow the largest step, unless a
        loop has no dynamic tile for the rest; the number of gangs then depends on them.
        """
        covered = all(
            any(tile.kind is TileKind.DYNAMIC for tile in loop.tiles)
            for loop in self.loops
            if _has(loop, AxisKind.WORKER)
        )
        distributed = any(tile.axis is not None for loop in self.varying for tile in loop.tiles)
        workers = distributed and not covered
        gangs = any(_has(loop, AxisKind.GANG) or _has(loop, AxisKind.THREAD) for loop in self.varying)
        return workers if kind is AxisKind.WORKER else workers or gangs

    def _loop_number(self, loop: TiledLoop, suffix: str, kind: ParameterKind, dimension: int, constant: bool) -> str:
        name = self.name(loop, suffix)
        if not loop.launch_bounds:
            return name
        return self._keep(name, Parameter(kind, self.loops.index(loop), dimension, name if constant else None))

    def _keep(self, name: str, parameter: Parameter) -> str:
        self.used.setdefault(name, parameter)
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
