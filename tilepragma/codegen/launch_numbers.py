"""The numbers of a launch that a kernel uses: each is named where it is printed first, and declared or passed only if it was."""

from __future__ import annotations

from dataclasses import field

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.manifest import Parameter, ParameterKind, axis_index, axis_name
from tilepragma.ir.directives import AxisKind, TileKind
from tilepragma.ir.loop_tree import Axis, Tile, TiledLoop


@dataclass
class Numbers:
    """Names of the numbers of one launch. `loops` are the launch's; `first_arguments` says where a
    loop's tile arguments start; `varying` are those of the loops whose bounds differ from step to
    step: what depends on them is no constant of a program. `ending` is that of axes' names, which
    are constants of a program with several launches. `divided`: the loop whose iterations several
    devices share, one of `varying`.

    `used` maps each name that was asked for to the parameter it stands for. A number of a loop
    without launch bounds is a local variable that the caller declares, so it is not kept.
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
        """The name of a tile's stride; "1" for the last tile in declaration order, which always has that."""
        if tile.position == len(loop.tiles) - 1:
            return "1"
        constant = all(self._has_constant_count(loop, inner) for inner in loop.tiles[tile.position + 1 :])
        return self._loop_number(
            loop, f"stride{tile.position}", ParameterKind.TILE_STRIDE, tile.position, constant=constant
        )

    def lower(self, loop: TiledLoop) -> str:
        """The loop's lower bound: the number itself where it is a literal, and every launch begins there."""
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
        """The name of the number of an axis's instances that one group takes, one after the other: 1 save on capped grids."""
        name = self.fresh(f"{axis_name(axis)}_rounds{self.ending}")
        constant = None if self.varies(axis.kind) else name
        return self._keep(name, Parameter(ParameterKind.AXIS_ROUNDS, axis_index(axis), 0, constant))

    def size(self, name: str, index: int) -> None:
        """Declare that the launch's text names tile size `index` of the plan, as `name`."""
        self._keep(name, Parameter(ParameterKind.SIZE, index, 0, name))

    def length(self, array: str, index: int, dimension: int) -> str:
        """The name of an array's own length in a dimension: constants let compilers fold distances between elements."""
        name = self.fresh(f"{array}_length{dimension}")
        return self._keep(name, Parameter(ParameterKind.LENGTH, index, dimension, name))

    def index_bits(self) -> None:
        """Declare that the launch's text computes positions in arrays, in the type `tilek_index`."""
        self._keep("tilek_index_bits", Parameter(ParameterKind.INDEX_BITS, 0, 0, "tilek_index_bits"))

    def tile_argument(self, loop: TiledLoop, tile: Tile) -> str:
        """A tile's argument, for tiles whose numbers are computed in the kernel: at least 1, whatever the user's expression says."""
        literal = literal_value(tile.argument)
        if literal is not None:
            return str(literal)
        name = self.fresh(f"{loop.symbol}_argument{tile.position}")
        index = self.first_arguments[loop] + tile.position
        return f"tilek_maximum(1, {self._keep(name, Parameter(ParameterKind.TILE_ARGUMENT, index, 0, name))})"

    def of_wavefronts(self, name: str, kind: ParameterKind, index: int = 0) -> str:
        """`name` for a number of a persistent launch, which differs from run to run; `index` is that of a loop where the number is one's."""
        return self._keep(name, Parameter(kind, index, 0, None))

    def name(self, loop: TiledLoop, suffix: str) -> str:
        """`i_suffix`, changed where an object of the user's is called so."""
        return self.fresh(f"{loop.symbol}_{suffix}")

    def fresh(self, name: str) -> str:
        """`name`, changed where an object of the user's is called so."""
        while name in self.taken:
            name += "_"
        return name

    def once(self, name: str) -> str:
        """`name`, or with a number behind it where it was asked for before."""
        other, number = self.fresh(name), 1
        while other in self.given:
            number += 1
            other = self.fresh(f"{name}_{number}")
        self.given.add(other)
        return other

    def parameters(self) -> tuple[tuple[str, Parameter], ...]:
        """The numbers in use with their names, in a fixed order."""
        kinds = list(ParameterKind)
        return tuple(
            sorted(self.used.items(), key=lambda item: (kinds.index(item[1].kind), item[1].index, item[1].dimension))
        )

    def _has_constant_count(self, loop: TiledLoop, tile: Tile) -> bool:
        """Whether the tile's count is the same in every step: those of distributed and static tiles are given, others follow from all."""
        if tile.axis is not None:
            return not self.varies(tile.axis.kind)
        if tile.kind is TileKind.STATIC:
            return True
        return loop not in self.varying and not any(other.axis and self.varies(other.axis.kind) for other in loop.tiles)

    def varies(self, kind: AxisKind) -> bool:
        """Whether counts of this kind of axis may differ from step to step, as the runtime chooses
        them: gangs by the loops that have gang tiles. Workers are what the largest step has, save
        where a loop has no dynamic tile to take what is left; gangs depend on them.
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
    """How the iterator of a tile is called after the loop's symbol: `gang`, `worker1`, `tile0`."""
    if tile.axis is None:
        return f"tile{tile.position}"
    kind = tile.kind.value
    alone = sum(other.kind is tile.kind for other in loop.tiles) == 1
    return kind if alone or tile.kind is TileKind.THREAD else f"{kind}{tile.axis.dimension}"
