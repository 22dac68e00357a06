"""MLSOR on devices: each gang keeps a subdomain's tile in shared memory while it computes all
layers (thesis 6.4.3, Figure 6.6).

    for all subdomains, over gangs
        scratchpads = the box that the tile's layers touch, border included
        for (front = a; front <= b; ++front)                    barriers between wavefronts
            for (layer; places but the last), over workers      the last place is
                the point                                       front - w . (layer, places)
        the tile's points = the scratchpads

A point of layer l waits for earlier neighbours in its layer and later ones in the layer below. With
w = (2, 1, 1, …) for neighbours along the axes, (4, 2, 1) across corners, each lies on an earlier
front (schedule/sor_multilayer.py says which points a tile has). The verifier proves this
independently (verify/overlapped_tiles.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from math import prod

from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.expressions import Access, Conditional, DataObject, Expression, Scope, Storage, disjunction, integer
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import Barrier, Block, Declaration, Loop, Scratchpad, Statement, assign
from tilepragma.ir.polynomial import Polynomial, minimum, number, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INDEX, ScalarType
from tilepragma.lower.band_loops import clauses, counted_loop, declared, mapped_nest, term
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import HostLoop, KernelPlan
from tilepragma.poly.extents import Bounds
from tilepragma.schedule.candidate import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.scratchpad_copies import at_least, element_at, in_scratchpad, scratchpad, where
from tilepragma.schedule.sor_multilayer import Tile, Way, kernels_of, ways_of
from tilepragma.schedule.tree import LaunchNode, candidate_of
from tilepragma.user_tiles.tile_nests import chain_from

NAME = "subdomains in shared memory"
"""The strategy's name."""


def subdomain_tiles(region: Region) -> ScheduleCandidate | Refusal:
    """Device steps of MLSOR sweeps in scratchpads (host steps are the same, not for use)."""
    tiles = list(_tiles_of(region))
    if any(isinstance(statement, Declaration) for tile in tiles for statement in tile.place.body.statements):
        return Refusal("the loops declare values of their own")
    staged = _staged(region, tiles)
    if isinstance(staged, Refusal):
        return staged
    (group,) = region.statements
    assert isinstance(group, Loop)
    names, numbers = Names(set(names_in(region.kernel))), region.loop_numbers()
    node = HostLoop(group, tuple(_SubdomainLaunch(region, names, numbers, staged, tile).node() for tile in tiles))
    depth = 2 + 2 * tiles[0].dimensions
    made = candidate_of(NAME, region, (), (node,), depths=Depths(depth, 0, depth))
    return (
        made
        if isinstance(made, Refusal)
        else replace(made, host_steps=made.device_steps, storage_notes=(_note(staged, tiles),))
    )


def with_subdomain_tiles(plan: KernelPlan, staged: KernelPlan | None, against: tuple[str, ...]) -> KernelPlan:
    """The plan, lanes on cores, with the device steps of `staged`; unchanged if that is None,
    `against` says why. Each has its own proof against the region whose arrays it uses
    (schedule/in_order.py). Both regions compute the same.
    """
    if plan.untransformed is not None:
        return plan
    arrays = tuple(array for array in plan.arrays if array.object.scope is not Scope.TEMPORARY)
    if staged is None or arrays != staged.arrays or plan.final_values != staged.final_values:
        reasons = (reason.removeprefix(f"{NAME}: ") for reason in against)
        return replace(plan, rejected=(*plan.rejected, *(f"{NAME}, on devices: {reason}" for reason in reasons)))
    layout = "dimension-lifted layout"
    lanes = (note.replace(f"{layout}: ", f"{layout}, on cores: ", 1) for note in plan.storage)
    return replace(
        plan,
        device_steps=staged.device_steps,
        device_kernel=staged.kernel,
        scalars=tuple(dict.fromkeys((*plan.scalars, *staged.scalars))),
        conditions=tuple(dict.fromkeys((*plan.conditions, *staged.conditions))),
        storage=(*lanes, *staged.storage),
    )


# -- the region


@dataclass(frozen=True)
class TileLoops:
    """A tile of a kernel: its loops over subdomains, layers and places, and its direction."""

    halves: Tile
    ways: tuple[Way, ...]
    layers: int
    side: int
    over: tuple[Loop, ...]
    layer: Loop
    rows: tuple[Loop, ...]
    place: Loop

    @property
    def dimensions(self) -> int:
        """The rank of the mesh."""
        return len(self.halves)

    @property
    def left(self) -> Polynomial:
        """The number of remaining sweeps."""
        assert isinstance(self.layer.upper, Conditional)
        return polynomial(self.layer.upper.then)

    def base(self, dimension: int) -> Polynomial:
        """The first place of the subdomain, in the lowest layer."""
        loop = self.over[dimension]
        return number(self.side if polynomial(loop.step).constant == 1 else 1) * term(loop.iterator)

    def subscript(self, dimension: int) -> Polynomial:
        """The subscript of a point's mesh element along the dimension, as the region spells it."""
        if dimension < len(self.rows):
            return term(self.rows[dimension].iterator)
        return self.ways[dimension].at(self.base(dimension) + term(self.place.iterator))

    def places(self, dimension: int, layer: int) -> tuple[int, int]:
        """The first and last place of a layer in a drifting subdomain."""
        cut = self.side - 1 - layer
        return (layer, cut - 1) if self.halves[dimension] == 1 else (cut, self.side - 1 + layer)

    def all_places(self, dimension: int) -> tuple[int, int]:
        """The first and last place of any layer, also in the first subdomain."""
        return (0, self.side - 2) if self.halves[dimension] == 1 else self.places(dimension, self.layers - 1)


def _tiles_of(region: Region) -> Iterator[TileLoops]:
    """The tiles of the region's kernels, in order."""
    clause = region.kernel.directive.sor
    assert clause is not None
    (group,) = region.statements
    assert isinstance(group, Loop)
    user = region.kernel.original_sweeps[1:]
    forward, backward = zip(*map(ways_of, user), strict=True)
    nests = group.body.statements
    kernels = next(
        tile_groups
        for corners in (False, True)
        if 2 * len(tile_groups := kernels_of(len(user), corners=corners)) == len(nests)
    )
    for ways, way_nests in ((forward, nests[: len(kernels)]), (backward, nests[len(kernels) :])):
        for tiles, nest in zip(kernels, way_nests, strict=True):
            assert isinstance(nest, Loop)
            over = chain_from(nest)[: len(user)]
            for halves, layered in zip(tiles, over[-1].body.statements, strict=True):
                assert isinstance(layered, Loop)
                layer, *rows, place = chain_from(layered)[: 1 + len(user)]
                yield TileLoops(halves, ways, clause.layers, clause.subdomain, over, layer, tuple(rows), place)


# -- what is staged


@dataclass(frozen=True)
class _Staged:
    """An array in scratchpads: the mesh dimension of each subscript, the offsets of accesses."""

    array: DataObject
    along: tuple[int, ...]
    offsets: frozenset[tuple[int, ...]]

    @property
    def corners(self) -> bool:
        """Whether an access differs from the point in several dimensions."""
        return any(sum(map(bool, offset)) > 1 for offset in self.offsets)

    def side(self, tile: TileLoops, dimension: int) -> tuple[int, int]:
        """The first and last place that the tile touches in a mesh dimension, in sweep order."""
        low, high = self.ordered_reach(tile, dimension)
        first, last = tile.all_places(dimension)
        return first - low, last + high

    def ordered_reach(self, tile: TileLoops, dimension: int) -> tuple[int, int]:
        """The reach of accesses behind and ahead of the point, in sweep order."""
        sign = tile.ways[dimension].sign
        ordered = [sign * offset[dimension] for offset in self.offsets]
        return max(0, -min(ordered)), max(0, *ordered)

    def leaves(self, tile: TileLoops, dimensions: tuple[int, int], sides: tuple[int, int]) -> bool:
        """Whether an access at the mesh's corner on these sides lies beyond both of them.

        Side -1 is where the sweep begins, 1 where it ends.
        """
        signs = [tile.ways[dimension].sign for dimension in dimensions]
        return any(
            all(sign * offset[k] * side > 0 for sign, k, side in zip(signs, dimensions, sides, strict=True))
            for offset in self.offsets
        )

    def lengths(self, tile: TileLoops) -> tuple[int, ...]:
        """The scratchpad's lengths. Neighbouring workers have points of a diagonal. These lie in
        different banks if rows are an even number of elements apart (ICS'08 Algorithm 2).
        """
        sides = [self.side(tile, dimension) for dimension in self.along]
        spans = [last - first + 1 for first, last in sides]
        return (*spans[:-1], spans[-1] + (len(spans) > 1 and spans[-1] % 2))

    def bytes(self, tile: TileLoops) -> int:
        """The scratchpad's size in bytes."""
        return prod(self.lengths(tile)) * element_bytes(self.array)


def _staged(region: Region, tiles: list[TileLoops]) -> tuple[_Staged, ...] | Refusal:
    """The arrays that fit shared memory, those that the sweeps write first."""
    room = region.kernel.directive.local_bytes
    chosen: list[_Staged] = []
    bodies = [statement for tile in tiles for statement in tile.place.body.statements]
    accesses = (node for body in bodies for node in walk(body) if isinstance(node, Access))
    accessed = dict.fromkeys(access.object for access in accesses if access.object.rank)
    for array in sorted(accessed, key=lambda array: array not in region.written):
        staged = _of_mesh(array, tiles)
        written = array in region.written
        if staged is None:
            if written:
                return Refusal(f"elements of '{array.host}' are named otherwise than by the loops over the mesh")
            continue
        needed = max(sum(array.bytes(tile) for array in (*chosen, staged)) for tile in tiles)
        if needed <= room:
            chosen.append(staged)
        elif written:
            return Refusal(
                f"what the layers of a subdomain need is {needed} bytes, more than the {room} of a gang's memory"
            )
    return tuple(chosen)


def _of_mesh(array: DataObject, tiles: list[TileLoops]) -> _Staged | None:
    """The array if all its accesses lie near the point, in the same way in all tiles; else None."""
    along: tuple[int, ...] | None = None
    offsets: set[tuple[int, ...]] = set()
    for tile in tiles:
        for node in (node for statement in tile.place.body.statements for node in walk(statement)):
            if not isinstance(node, Access) or node.object != array:
                continue
            offsets_along = [_offset(subscript, tile) for subscript in node.subscripts]
            if node.path or None in offsets_along or array.storage is not Storage.CONTIGUOUS:
                return None
            pairs = [pair for pair in offsets_along if pair is not None]
            dimensions = tuple(dimension for dimension, _ in pairs)
            if sorted(dimensions) != list(range(tile.dimensions)) or along not in (None, dimensions):
                return None
            along = dimensions
            offsets.add(tuple(offset for _, offset in sorted(pairs)))
    if along is None or not isinstance(array.element, ScalarType):
        return None
    return _Staged(array, along, frozenset(offsets))


def _offset(subscript: Expression, tile: TileLoops) -> tuple[int, int] | None:
    """The dimension that a subscript runs along, and its offset from the point."""
    value = polynomial(subscript)
    for dimension in range(tile.dimensions):
        offset = (value - tile.subscript(dimension)).constant
        if offset is not None:
            return dimension, offset
    return None


# -- launches


def _note(staged: tuple[_Staged, ...], tiles: list[TileLoops]) -> str:
    """The staged arrays and their size, for `explain`."""
    names = " and ".join(f"'{array.array.host}'" for array in staged)
    most = max(sum(array.bytes(tile) for array in staged) for tile in tiles)
    return (
        f"{NAME}: a gang of a device keeps what a subdomain's layers touch of {names} in shared memory, "
        f"{most} bytes at most; its workers share the points of each wavefront"
    )


@dataclass
class _SubdomainLaunch:
    """The launch over all subdomains, mapped to gangs."""

    region: Region
    names: Names
    numbers: Iterator[int]
    staged: tuple[_Staged, ...]
    tile: TileLoops
    tiles: dict[int, tuple[TileClause, ...]] = field(default_factory=dict)
    declarations: list[Declaration] = field(default_factory=list)

    def __post_init__(self) -> None:
        tile = self.tile
        bases = [way.loop.iterator.name for way in tile.ways]
        self.layers = self._constant("layers", minimum((tile.left, number(tile.layers))))
        self.base = [self._constant(f"{name}_base", tile.base(k)) for k, name in enumerate(bases)]
        self.count = [self._constant(f"{name}_count", way.count) for name, way in zip(bases, tile.ways, strict=True)]
        self.scratchpads = {array.array: self._scratchpad(array, bases) for array in self.staged}

    def _constant(self, name: str, value: Polynomial) -> Polynomial:
        """A number that a tile declares once."""
        made = self.names.scalar(name, INDEX)
        self.declarations.append(declared(made, value))
        return term(made)

    def _scratchpad(self, staged: _Staged, bases: list[str]) -> Scratchpad:
        origin = []
        for dimension in staged.along:
            way, (first, last) = self.tile.ways[dimension], staged.side(self.tile, dimension)
            least = way.at(self.base[dimension] + number(first if way.sign > 0 else last))
            made = self.names.scalar(f"{bases[dimension]}_origin", INDEX)
            self.declarations.append(declared(made, least))
            origin.append(made)
        name = self.names.scalar(f"{staged.array.name}_scratchpad").name
        return scratchpad(name, staged.array, tuple(map(integer, staged.lengths(self.tile))), tuple(origin))

    def node(self) -> LaunchNode:
        """The launch."""
        fills = [self._fill(array) for array in self.staged]
        written = [array for array in self.staged if array.array in self.region.written]
        body: tuple[Statement, ...] = (*fills, self._fronts(), *map(self._store, written))
        body = (*self.declarations, *body, Barrier())
        for dimension, loop in enumerate(reversed(self.tile.over)):
            made = replace(
                loop, index=next(self.numbers), body=Block(body), range=NOWHERE, header=NOWHERE, directive=None
            )
            self.tiles[made.index] = clauses(TileKind.DYNAMIC, TileKind.GANG, dimension=dimension)
            body = (made,)
        return LaunchNode(Block(body), self.tiles, scratchpads=tuple(self.scratchpads.values()))

    def _mapped(self, steps: list[DataObject], trips: list[int], body: Iterable[Statement]) -> Statement:
        """Loops from 0, mapped to workers, the last loop to neighbouring ones."""
        spans = (Bounds(number(0), number(trip - 1)) for trip in trips)
        return mapped_nest(steps, spans, body, self.numbers, self.tiles, TileKind.DYNAMIC, TileKind.WORKER)[0]

    # -- copies

    def _fill(self, staged: _Staged) -> Statement:
        """Fill the scratchpad with elements of the mesh and its border."""
        sides = [staged.side(self.tile, dimension) for dimension in staged.along]
        points, places, steps, declarations = self._points(staged, sides)
        tests: list[Expression] = []
        inside: dict[tuple[int, int], Expression] = {}
        for dimension, place in zip(staged.along, places, strict=True):
            (_, high), beyond = staged.ordered_reach(self.tile, dimension), self.count[dimension]
            tests.append(at_least(beyond + number(high - 1), place))
            inside[dimension, -1] = at_least(place, number(0))
            inside[dimension, 1] = at_least(beyond - number(1), place)
        # Corners of the mesh's border that no access reads may not exist.
        for pair in itertools.combinations(staged.along, 2):
            for ends in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
                reached = [staged.ordered_reach(self.tile, k)[end > 0] > 0 for k, end in zip(pair, ends, strict=True)]
                if all(reached) and not staged.leaves(self.tile, pair, ends):
                    tests.append(disjunction([inside[corner] for corner in zip(pair, ends, strict=True)]))
        scratchpad = in_scratchpad(element_at(staged.array, points), self.scratchpads)
        copy = assign(scratchpad, element_at(staged.array, points))
        trips = [last - first + 1 for first, last in sides]
        return self._mapped(steps, trips, (*declarations, *where(tests, copy)))

    def _store(self, staged: _Staged) -> Statement:
        """Store the points that some layer of the tile has computed.

        The lowest layer with a point's place along dimensions of second halves has most other
        places.
        """
        tile = self.tile
        sides = [tile.all_places(dimension) for dimension in staged.along]
        points, places, steps, declarations = self._points(staged, sides)
        local = {dimension: place - self.base[dimension] for dimension, place in zip(staged.along, places, strict=True)}
        middle = number(tile.side - 1)
        away = [
            sign
            for dimension in staged.along
            if tile.halves[dimension] == 2
            for sign in (local[dimension] - middle, middle - local[dimension])
        ]
        tests = [at_least(self.layers - number(1), span) for span in away or [number(0)]]
        for dimension, place in zip(staged.along, places, strict=True):
            tests.append(at_least(self.count[dimension] - number(1), place))
            if tile.halves[dimension] == 1:
                for distance in away:
                    first = at_least(number(0), self.base[dimension])
                    tests.append(disjunction((at_least(local[dimension], distance), first)))
                    tests.append(at_least(number(tile.side - 2) - distance, local[dimension]))
        element = element_at(staged.array, points)
        copy = assign(element, in_scratchpad(element, self.scratchpads))
        trips = [last - first + 1 for first, last in sides]
        return self._mapped(steps, trips, (*declarations, *where(tests, copy)))

    def _points(
        self, staged: _Staged, sides: list[tuple[int, int]]
    ) -> tuple[list[DataObject], list[Polynomial], list[DataObject], list[Declaration]]:
        """Scalars for a copy over these sides of the array's dimensions: an element's subscripts,
        its places in the mesh, the steps along the sides, and the declarations of these scalars.
        """
        points: list[DataObject] = []
        places: list[Polynomial] = []
        steps: list[DataObject] = []
        declarations: list[Declaration] = []
        for dimension, (first, last) in zip(staged.along, sides, strict=True):
            way, name = self.tile.ways[dimension], self.tile.ways[dimension].loop.iterator.name
            step = self.names.scalar(f"{name}_step", INDEX)
            place = term(step) + number(first) if way.sign > 0 else number(last) - term(step)
            point = self.names.scalar(f"{name}_point", INDEX)
            origin = self.scratchpads[staged.array].origin[len(points)]
            assert origin is not None
            box = staged.side(self.tile, dimension)
            ahead = first - box[0] if way.sign > 0 else box[1] - last
            declarations.append(declared(point, term(origin) + number(ahead) + term(step)))
            points.append(point)
            places.append(self.base[dimension] + place)
            steps.append(step)
        return points, places, steps, declarations

    # -- wavefronts

    @cached_property
    def weights(self) -> tuple[int, tuple[int, ...]]:
        """The front weights of a layer, and of a place in each dimension (1 for the last)."""
        if not any(array.corners for array in self.staged):
            return 2, (1,) * self.tile.dimensions
        weights = tuple(2 ** (self.tile.dimensions - 1 - k) for k in range(self.tile.dimensions))
        return 1 + sum(weights), weights

    def _fronts(self) -> Statement:
        """The sequential loop over fronts, the points of each mapped to workers."""
        tile = self.tile
        rise, weights = self.weights
        front = self.names.scalar("front", INDEX)
        layer = replace(tile.layer.iterator, element=INDEX)
        names = [way.loop.iterator.name for way in tile.ways]
        steps = [self.names.scalar(f"{name}_step", INDEX) for name in names[:-1]]
        firsts = [tile.all_places(dimension)[0] for dimension in range(tile.dimensions)]
        places = [term(step) + number(first) for step, first in zip(steps, firsts, strict=False)]
        last = self.names.scalar(f"{names[-1]}_place_of_front", INDEX)
        before = number(rise) * term(layer)
        for weight, place in zip(weights, places, strict=False):
            before = before + number(weight) * place
        tests = list(self._tests(term(layer), [*places, term(last)]))

        def local(access: Access) -> Access:
            return in_scratchpad(access, self.scratchpads)

        point = (
            *(
                declared(loop.iterator, way.at(base + place))
                for loop, way, base, place in zip(tile.rows, tile.ways, self.base, places, strict=False)
            ),
            declared(tile.place.iterator, term(last)),
            *(with_accesses(statement, local) for statement in tile.place.body.statements),
        )
        sides = [tile.all_places(dimension) for dimension in range(tile.dimensions - 1)]
        nest = self._mapped(
            [layer, *steps],
            [tile.layers, *(end - begin + 1 for begin, end in sides)],
            (declared(last, term(front) - before), *where(tests, *point)),
        )
        ends = [
            (
                sum(weight * tile.places(k, layer)[1] for k, weight in enumerate(weights)) + rise * layer,
                sum(weight * firsts[k] for k, weight in enumerate(weights) if tile.halves[k] == 1)
                + sum(weight * tile.places(k, layer)[0] for k, weight in enumerate(weights) if tile.halves[k] == 2)
                + rise * layer,
            )
            for layer in range(tile.layers)
        ]
        least, most = min(low for _, low in ends), max(high for high, _ in ends)
        # It replaces the loop over layers: by its number the proof knows the launch's nest.
        return counted_loop(tile.layer.index, front, number(least), number(most), (nest,))

    def _tests(self, layer: Polynomial, places: list[Polynomial]) -> Iterator[Expression]:
        """Tests that the layer and its places exist."""
        tile = self.tile
        yield at_least(self.layers - number(1), layer)
        for dimension, place in enumerate(places):
            cut = number(tile.side - 1) - layer
            if tile.halves[dimension] == 1:
                if dimension == tile.dimensions - 1:
                    yield at_least(place, number(0))
                yield disjunction((at_least(place, layer), at_least(number(0), self.base[dimension])))
                yield at_least(cut - number(1), place)
            else:
                yield at_least(place, cut)
                yield at_least(number(tile.side - 1) + layer, place)
            yield at_least(self.count[dimension] - number(1), self.base[dimension] + place)
