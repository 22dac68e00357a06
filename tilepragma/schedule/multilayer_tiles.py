"""On devices: sweeps by subdomains, each gang with one subdomain's tile in memory of its own while
it computes all layers of it (MLSOR, thesis 6.4.3, Figure 6.6).

    for all subdomains, over gangs
        scratchpads = the box that the tile's layers touch, border included
        for (front = a; front <= b; ++front)                       one wavefront of the tile's points after the other, barriers between
            for (layer; places but the last one), over workers     the point whose place along the last dimension is front - w . (layer, places)
        the tile's points = the scratchpads

A point of layer l waits for its neighbours before it in its layer and behind it in the layer below.
With w = (2, 1, 1, …) for neighbours along the axes, (4, 2, 1) across corners, each of these lies on
an earlier front (schedule/sor_multilayer.py says which points a tile has). The verifier proves all
of this (verify/scratchpads.py), whatever was meant here.
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
from tilepragma.ir.expressions import (
    Access,
    Conditional,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
    disjunction,
    integer,
)
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.loop_tree import Barrier, Block, Declaration, Loop, Scratchpad, Statement
from tilepragma.ir.polynomial import Polynomial, minimum, number, polynomial
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INDEX, ScalarType
from tilepragma.lower.band_loops import clauses, counted_loop, declared, term
from tilepragma.schedule.overlapped_tree import assign, at_least, element_at, place_in, where
from tilepragma.schedule.sor_multilayer import Tile, Way, kernels_of, ways_of
from tilepragma.schedule.strategy import Depths, Refusal, Region, ScheduleCandidate
from tilepragma.schedule.tree import DraftLaunch, DraftLoop, make_automatic

NAME = "subdomains in memory of gangs"
"""The strategy's name."""


def subdomain_tiles(region: Region) -> ScheduleCandidate | Refusal:
    """Device steps of sweeps by subdomains whose tiles are in scratchpads (the host steps are the same and not for use), or why there are none."""
    tiles = list(_tiles_of(region))
    if any(isinstance(statement, Declaration) for tile in tiles for statement in tile.place.body.statements):
        return Refusal("the loops declare values of their own")
    staged = _staged(region, tiles)
    if isinstance(staged, Refusal):
        return staged
    (group,) = region.statements
    assert isinstance(group, Loop)
    drafts = _Drafts(region, Names(set(names_in(region.kernel))), staged)
    draft = DraftLoop(group, tuple(drafts.launch(tile) for tile in tiles))
    depth = 2 + 2 * tiles[0].dimensions
    made = make_automatic(NAME, region, (), (draft,), depths=Depths(depth, 0, depth))
    return made if isinstance(made, Refusal) else replace(made, host_steps=made.device_steps, kept=(drafts.note,))


# -- the region


@dataclass(frozen=True)
class TileLoops:
    """A tile of a kernel: the region's loops over subdomains, over layers, and over places, and which way it goes."""

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
        """Of the mesh."""
        return len(self.halves)

    @property
    def left(self) -> Polynomial:
        """The sweeps that are still to be done."""
        assert isinstance(self.layer.upper, Conditional)
        return polynomial(self.layer.upper.then)

    def base(self, dimension: int) -> Polynomial:
        """The first place of the subdomain, in the lowest layer."""
        loop = self.over[dimension]
        counts = polynomial(loop.step).constant == 1
        return number(self.side if counts else 1) * term(loop.iterator)

    def subscript(self, dimension: int) -> Polynomial:
        """What the mesh's element at a point has for a subscript along the dimension, as the region spells it."""
        if dimension < len(self.rows):
            return term(self.rows[dimension].iterator)
        return self.ways[dimension].at(self.base(dimension) + term(self.place.iterator))

    def places(self, dimension: int, layer: int) -> tuple[int, int]:
        """The first place and the last one that a layer has where the subdomain drifts."""
        cut = self.side - 1 - layer
        return (layer, cut - 1) if self.halves[dimension] == 1 else (cut, self.side - 1 + layer)

    def all_places(self, dimension: int) -> tuple[int, int]:
        """Those that any layer has, of the first subdomain's too."""
        if self.halves[dimension] == 1:
            return 0, self.side - 2
        return self.places(dimension, self.layers - 1)


def _tiles_of(region: Region) -> Iterator[TileLoops]:
    """The tiles of the region's kernels, in their order."""
    clause = region.kernel.directive.sor
    assert clause is not None
    (group,) = region.statements
    assert isinstance(group, Loop)
    user = region.kernel.original_sweeps[1:]
    forward, backward = zip(*map(ways_of, user), strict=True)
    nests = group.body.statements
    kernels = next(
        found for corners in (False, True) if 2 * len(found := kernels_of(len(user), corners=corners)) == len(nests)
    )
    for ways, own in ((forward, nests[: len(kernels)]), (backward, nests[len(kernels) :])):
        for tiles, nest in zip(kernels, own, strict=True):
            over = _chain(nest, len(user))
            for halves, layered in zip(tiles, over[-1].body.statements, strict=True):
                layer, *rows, place = _chain(layered, 1 + len(user))
                yield TileLoops(halves, ways, clause.layers, clause.subdomain, over, layer, tuple(rows), place)


def _chain(statement: Statement, length: int) -> tuple[Loop, ...]:
    """So many loops, one in the other."""
    assert isinstance(statement, Loop)
    return (statement,) if length == 1 else (statement, *_chain(statement.body.statements[0], length - 1))


# -- what is staged


@dataclass(frozen=True)
class _Staged:
    """An array in scratchpads: the dimension of the mesh that each of its subscripts runs along, and
    how far each access is from the point along each dimension of the mesh.
    """

    array: DataObject
    along: tuple[int, ...]
    offsets: frozenset[tuple[int, ...]]

    @property
    def corners(self) -> bool:
        """Whether an access is away from the point along several dimensions at once."""
        return any(sum(map(bool, offset)) > 1 for offset in self.offsets)

    def side(self, tile: TileLoops, dimension: int) -> tuple[int, int]:
        """The first place and the last one that the tile touches, along a dimension of the mesh in the order of the sweep."""
        low, high = self.ordered_reach(tile, dimension)
        first, last = tile.all_places(dimension)
        return first - low, last + high

    def ordered_reach(self, tile: TileLoops, dimension: int) -> tuple[int, int]:
        """How far accesses reach towards where the sweep comes from, and where it goes."""
        sign = tile.ways[dimension].sign
        ordered = [sign * offset[dimension] for offset in self.offsets]
        return max(0, -min(ordered)), max(0, *ordered)

    def leaves(self, tile: TileLoops, dimensions: tuple[int, int], sides: tuple[int, int]) -> bool:
        """Whether an access at the mesh's corner on these sides (-1: where the sweep comes from, 1: where it goes) lies beyond both of them."""
        signs = [tile.ways[dimension].sign for dimension in dimensions]
        return any(
            all(sign * offset[k] * side > 0 for sign, k, side in zip(signs, dimensions, sides, strict=True))
            for offset in self.offsets
        )

    def lengths(self, tile: TileLoops) -> tuple[int, ...]:
        """Of the scratchpad. Neighbouring workers have points of a diagonal, which lie in different
        banks where rows are an even number of elements apart (ICS'08 Algorithm 2).
        """
        sides = [self.side(tile, dimension) for dimension in self.along]
        spans = [last - first + 1 for first, last in sides]
        return (*spans[:-1], spans[-1] + (len(spans) > 1 and spans[-1] % 2))

    def bytes(self, tile: TileLoops) -> int:
        """Of the scratchpad."""
        element = self.array.element
        assert isinstance(element, ScalarType)
        return prod(self.lengths(tile)) * (element.bits // 8)


def _staged(region: Region, tiles: list[TileLoops]) -> tuple[_Staged, ...] | Refusal:
    """The arrays that fit a gang's memory, what the sweeps write first."""
    room = region.kernel.directive.local_bytes
    chosen: list[_Staged] = []
    bodies = [statement for tile in tiles for statement in tile.place.body.statements]
    accessed = dict.fromkeys(
        node.object for body in bodies for node in walk(body) if isinstance(node, Access) and node.object.rank
    )
    for array in sorted(accessed, key=lambda one: one not in region.written):
        staged = _of_mesh(array, tiles)
        written = array in region.written
        if staged is None:
            if written:
                return Refusal(f"elements of '{array.host}' are named otherwise than by the loops over the mesh")
            continue
        needed = max(sum(one.bytes(tile) for one in (*chosen, staged)) for tile in tiles)
        if needed <= room:
            chosen.append(staged)
        elif written:
            return Refusal(
                f"what the layers of a subdomain need is {needed} bytes, more than the {room} of a gang's memory"
            )
    return tuple(chosen)


def _of_mesh(array: DataObject, tiles: list[TileLoops]) -> _Staged | None:
    """The array where all accesses to it name the point or what lies near it, the same way in all tiles; else None."""
    along: tuple[int, ...] | None = None
    offsets: set[tuple[int, ...]] = set()
    for tile in tiles:
        for node in (node for statement in tile.place.body.statements for node in walk(statement)):
            if not isinstance(node, Access) or node.object != array:
                continue
            found = [_offset(subscript, tile) for subscript in node.subscripts]
            if node.path or None in found or array.storage is not Storage.CONTIGUOUS:
                return None
            pairs = [one for one in found if one is not None]
            mine = tuple(dimension for dimension, _ in pairs)
            if sorted(mine) != list(range(tile.dimensions)) or along not in (None, mine):
                return None
            along = mine
            offsets.add(tuple(offset for _, offset in sorted(pairs)))
    if along is None or not isinstance(array.element, ScalarType):
        return None
    return _Staged(array, along, frozenset(offsets))


def _offset(subscript: Expression, tile: TileLoops) -> tuple[int, int] | None:
    """The dimension that a subscript runs along, and how far it is from the point."""
    value = polynomial(subscript)
    for dimension in range(tile.dimensions):
        offset = (value - tile.subscript(dimension)).constant
        if offset is not None:
            return dimension, offset
    return None


# -- launches


@dataclass
class _Drafts:
    region: Region
    names: Names
    staged: tuple[_Staged, ...]
    next_index: int = field(init=False)
    most: int = 0

    def __post_init__(self) -> None:
        self.next_index = self.region.first_index

    def launch(self, tile: TileLoops) -> DraftLaunch:
        """All subdomains, over gangs."""
        made = _TileLaunch(self, tile)
        self.most = max(self.most, sum(one.bytes(tile) for one in self.staged))
        return made.draft()

    @property
    def note(self) -> str:
        """What is kept, for `explain`."""
        names = " and ".join(f"'{one.array.host}'" for one in self.staged)
        return (
            f"{NAME}: a gang of a device keeps what a subdomain's layers touch of {names} in memory of its own, {self.most} bytes at most; its "
            "workers share the points of each wavefront"
        )

    def numbered(self) -> int:
        self.next_index += 1
        return self.next_index - 1


@dataclass
class _TileLaunch:
    drafts: _Drafts
    tile: TileLoops
    tiles: dict[int, tuple[TileClause, ...]] = field(default_factory=dict)
    declarations: list[Declaration] = field(default_factory=list)

    def __post_init__(self) -> None:
        tile = self.tile
        bases = [way.loop.iterator.name for way in tile.ways]
        self.layers = self._constant("layers", minimum((tile.left, number(tile.layers))))
        self.base = [self._constant(f"{name}_base", tile.base(k)) for k, name in enumerate(bases)]
        self.count = [self._constant(f"{name}_count", way.count) for name, way in zip(bases, tile.ways, strict=True)]
        self.scratchpads = {one.array: self._scratchpad(one, bases) for one in self.drafts.staged}

    def _constant(self, name: str, value: Polynomial) -> Polynomial:
        """A number that a tile declares once."""
        made = self.drafts.names.scalar(name, INDEX)
        self.declarations.append(declared(made, value))
        return term(made)

    def _scratchpad(self, staged: _Staged, bases: list[str]) -> Scratchpad:
        origin = []
        for dimension in staged.along:
            way, (first, last) = self.tile.ways[dimension], staged.side(self.tile, dimension)
            least = way.at(self.base[dimension] + number(first if way.sign > 0 else last))
            made = self.drafts.names.scalar(f"{bases[dimension]}_origin", INDEX)
            self.declarations.append(declared(made, least))
            origin.append(made)
        name = self.drafts.names.scalar(f"{staged.array.name}_scratchpad").name
        lengths = tuple(map(integer, staged.lengths(self.tile)))
        own = DataObject(name, name, staged.array.element, Storage.CONTIGUOUS, Scope.GANG, lengths)
        return Scratchpad(own, staged.array, tuple(origin))

    def draft(self) -> DraftLaunch:
        """The launch."""
        fills = [self._fill(one) for one in self.drafts.staged]
        written = [one for one in self.drafts.staged if one.array in self.drafts.region.written]
        body: tuple[Statement, ...] = (*fills, self._fronts(), *map(self._store, written))
        body = (*self.declarations, *body, Barrier())
        for dimension, loop in enumerate(reversed(self.tile.over)):
            made = replace(
                loop, index=self.drafts.numbered(), body=Block(body), range=NOWHERE, header=NOWHERE, directive=None
            )
            self.tiles[made.index] = clauses(TileKind.DYNAMIC, TileKind.GANG, dimension=dimension)
            body = (made,)
        return DraftLaunch(Block(body), self.tiles, scratchpads=tuple(self.scratchpads.values()))

    def _dealt(self, steps: list[DataObject], trips: list[int], body: Iterable[Statement]) -> Statement:
        """Loops from 0, dealt out over workers, the last one over neighbouring ones."""
        inner = tuple(body)
        for dimension, (step, trip) in enumerate(reversed(list(zip(steps, trips, strict=True)))):
            loop = counted_loop(self.drafts.numbered(), step, number(0), number(trip - 1), inner)
            self.tiles[loop.index] = clauses(TileKind.DYNAMIC, TileKind.WORKER, dimension=dimension)
            inner = (loop,)
        return inner[0]

    # -- copies

    def _fill(self, staged: _Staged) -> Statement:
        """The scratchpad, but for what is none of the mesh nor its border."""
        sides = [staged.side(self.tile, dimension) for dimension in staged.along]
        points, places, steps, declarations = self._points(staged, sides)
        tests: list[Expression] = []
        inside: dict[tuple[int, int], Expression] = {}
        for dimension, place in zip(staged.along, places, strict=True):
            (_, high), beyond = staged.ordered_reach(self.tile, dimension), self.count[dimension]
            tests.append(at_least(beyond + number(high - 1), place))
            inside[dimension, -1] = at_least(place, number(0))
            inside[dimension, 1] = at_least(beyond - number(1), place)
        # Nobody has to have the corners of the mesh's border that no access names.
        for pair in itertools.combinations(staged.along, 2):
            for ends in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
                reached = [staged.ordered_reach(self.tile, k)[end > 0] > 0 for k, end in zip(pair, ends, strict=True)]
                if all(reached) and not staged.leaves(self.tile, pair, ends):
                    tests.append(disjunction([inside[one] for one in zip(pair, ends, strict=True)]))
        scratchpad = self._in_scratchpad(staged.array, points)
        copy = assign(scratchpad, element_at(staged.array, points))
        trips = [last - first + 1 for first, last in sides]
        return self._dealt(steps, trips, (*declarations, *where(tests, copy)))

    def _store(self, staged: _Staged) -> Statement:
        """What some layer of the tile has computed: the lowest one that has a point's place along
        the dimensions of second halves has most of the others.
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
        tests = [at_least(self.layers - number(1), one) for one in away or [number(0)]]
        for dimension, place in zip(staged.along, places, strict=True):
            tests.append(at_least(self.count[dimension] - number(1), place))
            if tile.halves[dimension] == 1:
                for one in away:
                    first = at_least(number(0), self.base[dimension])
                    tests.append(disjunction((at_least(local[dimension], one), first)))
                    tests.append(at_least(number(tile.side - 2) - one, local[dimension]))
        copy = assign(element_at(staged.array, points), self._in_scratchpad(staged.array, points))
        trips = [last - first + 1 for first, last in sides]
        return self._dealt(steps, trips, (*declarations, *where(tests, copy)))

    def _points(
        self, staged: _Staged, sides: list[tuple[int, int]]
    ) -> tuple[list[DataObject], list[Polynomial], list[DataObject], list[Declaration]]:
        """For a copy of these sides of the array's dimensions: scalars for the subscripts of an
        element, its places in the mesh, the steps along the sides, and what declares the scalars.
        """
        points: list[DataObject] = []
        places: list[Polynomial] = []
        steps: list[DataObject] = []
        declarations: list[Declaration] = []
        for dimension, (first, last) in zip(staged.along, sides, strict=True):
            way, name = self.tile.ways[dimension], self.tile.ways[dimension].loop.iterator.name
            step = self.drafts.names.scalar(f"{name}_step", INDEX)
            place = term(step) + number(first) if way.sign > 0 else number(last) - term(step)
            point = self.drafts.names.scalar(f"{name}_point", INDEX)
            scratchpad = self.scratchpads[staged.array]
            origin = scratchpad.origin[len(points)]
            assert origin is not None
            box = staged.side(self.tile, dimension)
            ahead = first - box[0] if way.sign > 0 else box[1] - last
            declarations.append(declared(point, term(origin) + number(ahead) + term(step)))
            points.append(point)
            places.append(self.base[dimension] + place)
            steps.append(step)
        return points, places, steps, declarations

    def _in_scratchpad(self, array: DataObject, points: list[DataObject]) -> Access:
        return self._local(Access(array, tuple(map(access_to, points)), (), array.element))

    def _local(self, access: Access) -> Access:
        scratchpad = self.scratchpads.get(access.object)
        if scratchpad is None:
            return access
        places = tuple(place_in(scratchpad, k, subscript) for k, subscript in enumerate(access.subscripts))
        return replace(access, object=scratchpad.object, subscripts=places)

    # -- wavefronts

    @cached_property
    def weights(self) -> tuple[int, tuple[int, ...]]:
        """Of a layer, and of a place along each dimension: 1 for the last one."""
        if not any(one.corners for one in self.drafts.staged):
            return 2, (1,) * self.tile.dimensions
        weights = tuple(2 ** (self.tile.dimensions - 1 - k) for k in range(self.tile.dimensions))
        return 1 + sum(weights), weights

    def _fronts(self) -> Statement:
        """One front after the other: the points on it, over workers."""
        tile = self.tile
        rise, weights = self.weights
        front = self.drafts.names.scalar("front", INDEX)
        layer = replace(tile.layer.iterator, element=INDEX)
        names = [way.loop.iterator.name for way in tile.ways]
        steps = [self.drafts.names.scalar(f"{name}_step", INDEX) for name in names[:-1]]
        firsts = [tile.all_places(dimension)[0] for dimension in range(tile.dimensions)]
        places = [term(step) + number(first) for step, first in zip(steps, firsts, strict=False)]
        last = self.drafts.names.scalar(f"{names[-1]}_place_of_front", INDEX)
        before = number(rise) * term(layer)
        for weight, place in zip(weights, places, strict=False):
            before = before + number(weight) * place
        tests = list(self._tests(term(layer), [*places, term(last)]))
        point = (
            *(
                declared(loop.iterator, way.at(base + place))
                for loop, way, base, place in zip(tile.rows, tile.ways, self.base, places, strict=False)
            ),
            declared(tile.place.iterator, term(last)),
            *(with_accesses(statement, self._local) for statement in tile.place.body.statements),
        )
        sides = [tile.all_places(dimension) for dimension in range(tile.dimensions - 1)]
        nest = self._dealt(
            [layer, *steps],
            [tile.layers, *(end - begin + 1 for begin, end in sides)],
            (declared(last, term(front) - before), *where(tests, *point)),
        )
        ends = [
            (
                sum(weight * tile.places(k, one)[1] for k, weight in enumerate(weights)) + rise * one,
                sum(weight * firsts[k] for k, weight in enumerate(weights) if tile.halves[k] == 1)
                + sum(weight * tile.places(k, one)[0] for k, weight in enumerate(weights) if tile.halves[k] == 2)
                + rise * one,
            )
            for one in range(tile.layers)
        ]
        least, most = min(low for _, low in ends), max(high for high, _ in ends)
        # It takes the place of the loop over layers, by whose number the proof knows which nest the
        # launch runs.
        return counted_loop(tile.layer.index, front, number(least), number(most), (nest,))

    def _tests(self, layer: Polynomial, places: list[Polynomial]) -> Iterator[Expression]:
        """Which layers there are, and which places they have."""
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
