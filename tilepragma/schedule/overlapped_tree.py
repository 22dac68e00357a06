"""Launches of overlapped time tiles: boxes with all elements in scratchpads (see overlapped.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.directives import TileClause, TileKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    IntegerLiteral,
    Scope,
    Storage,
    access_to,
    conjunction,
    disjunction,
    integer,
)
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    If,
    Loop,
    Scratchpad,
    Statement,
)
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number, polynomial
from tilepragma.ir.substitution import with_accesses, with_objects
from tilepragma.ir.types import INDEX, INT, LONG
from tilepragma.lower.band_loops import clauses, counted_loop, declared, floor_quotient, short_or_long, term
from tilepragma.plan.default_sizes import DEGREE
from tilepragma.plan.kernel_plan import TileSize
from tilepragma.schedule.stencils import Point, Stencil
from tilepragma.schedule.strategy import Region
from tilepragma.schedule.tree import ConditionNode, HostLoopNode, LaunchNode
from tilepragma.user_tiles.chain_checks import literal_trip

if TYPE_CHECKING:
    from tilepragma.poly.extents import Bounds
    from tilepragma.poly.halo import GridArray, Overlap


#: The delay of work at the gang's current position.
NO_DELAY = number(0)


@dataclass(frozen=True)
class Tests:
    """Conditions on points: those on the first dimension, and the others."""

    plane: tuple[Expression, ...] = ()
    others: tuple[Expression, ...] = ()


NO_TESTS = Tests()


def most_steps_of(stencil: Stencil, otherwise: int) -> int:
    """The number of time steps, at least 1; `otherwise` if it is unknown."""
    trip = literal_trip(stencil.time)
    return otherwise if trip is None else max(1, trip)


@dataclass
class OverlappedTree:
    """Builds the launches; `lengths` are those of the scratchpads."""

    shape: ClassVar[str] = "overlapped tiles of time steps, there and back"
    name: ClassVar[str] = "overlapped tiles"
    manner: ClassVar[str] = ""
    first_suffix: ClassVar[str] = "scratchpad"

    region: Region
    stencil: Stencil
    overlap: Overlap
    names: Names
    lengths: tuple[int, ...]
    next_index: int = field(init=False)
    tiles: dict[int, tuple[TileClause, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.next_index = self.region.first_index
        deepest = max(self.stencil.points, key=lambda point: len(point.statement.loops))
        self.bases = [
            f"x{k}" if place.iterator is None else place.iterator.name for k, place in enumerate(deepest.places)
        ]
        self.degree = self.names.scalar(f"{self.stencil.time.iterator.name}_degree")
        suffixes = (self.first_suffix, *("scratchpad" for _ in self.bases[1:]))
        self.extents = [
            self.names.scalar(f"{base}_{suffix}") for base, suffix in zip(self.bases, suffixes, strict=True)
        ]
        self.copies = {array.object: self._copy(array) for array in self.overlap.arrays if array.carried}

    @property
    def sizes(self) -> tuple[TileSize, ...]:
        """The time steps of a launch and the scratchpad extents, with their defaults."""
        steps = max(1, self.default_steps)
        return (
            TileSize(self.degree, steps, steps),
            *(TileSize(extent, size, size) for extent, size in zip(self.extents, self.lengths, strict=True)),
        )

    @property
    def default_steps(self) -> int:
        """The default number of time steps of a launch."""
        return min(DEGREE, self.most_steps, most_steps_of(self.stencil, DEGREE))

    @property
    def most_steps(self) -> int:
        """The most time steps for which a scratchpad holds the halo of at least one element."""
        sides = zip(self.lengths, self.overlap.reach, self.overlap.growth, strict=True)
        room = [
            (length - 1 - low - high) // (before + behind) + 1
            if before + behind
            else DEGREE
            if length > low + high
            else 0
            for length, (low, high), (before, behind) in sides
        ]
        return max(0, min(room))

    def _copy(self, array: GridArray) -> DataObject:
        """The ping-pong copy of the array between the two launches."""
        name = self.names.scalar(f"{array.object.name}_next").name
        lengths = tuple(expression(maximum((side.high + number(1), number(1)))) for side in array.touched)
        element = array.object.element
        return DataObject(name, name, element, Storage.CONTIGUOUS, Scope.TEMPORARY, lengths, range=array.object.range)

    # -- numbers of tiles: expressions over the sizes

    @property
    def steps(self) -> Polynomial:
        """The time steps of one launch."""
        return minimum((term(self.degree), number(self.most_steps)))

    def halo(self, place: int) -> Polynomial:
        """The length of a scratchpad's halo, both sides together."""
        (low, high), (before, behind) = self.overlap.reach[place], self.overlap.growth[place]
        return number(before + behind) * (self.steps - number(1)) + number(low + high)

    def home(self, place: int) -> Polynomial:
        """The length of a tile's interior."""
        extent = minimum((term(self.extents[place]), number(self.lengths[place])))
        return maximum((extent - self.halo(place), number(1)))

    def grid(self, place: int) -> tuple[Polynomial, Polynomial]:
        """The least and the greatest subscript over all arrays."""
        sides = [array.touched[place] for array in self.overlap.arrays]
        return minimum(side.low for side in sides), maximum(side.high for side in sides)

    # -- the host's loop

    def ping_pong(self, *, guarded: bool) -> HostLoopNode | ConditionNode:
        """The host loop over pairs of launches; `guarded`: only if they write something."""
        pair = self.names.scalar("pair")
        steps = self.stencil.steps
        rounds = floor_quotient(steps.high - steps.low, expression(number(2) * self.steps))
        launches = tuple(self.launch(pair, place).node() for place in range(2))
        loop = HostLoopNode(self.loop(pair, number(0), rounds), launches, self.shape)
        if not guarded:
            return loop
        tests = (at_least(side.high, side.low) for array in self.overlap.arrays for side in array.written)
        return ConditionNode(conjunction(dict.fromkeys(tests)), (loop,))

    def launch(self, pair: DataObject, second: int) -> TileLaunch:
        """One of the two launches of a pair; `second` is 1 for the one that writes the arrays."""
        return TileLaunch(self, pair, second)

    def loop(self, iterator: DataObject, lower: Polynomial, upper: Polynomial, body: Iterable[Statement] = ()) -> Loop:
        """A loop from `lower` to `upper`, inclusive."""
        self.next_index += 1
        return counted_loop(self.next_index - 1, iterator, lower, upper, body)

    def nest(
        self, iterators: list[DataObject], last: list[Polynomial], body: Iterable[Statement], *kinds: TileKind
    ) -> Statement:
        """Loops from 0 to `last`, mapped to these kinds; the innermost is dimension 0."""
        inner = tuple(body)
        for dimension, (iterator, end) in enumerate(reversed(list(zip(iterators, last, strict=True)))):
            loop = self.loop(iterator, number(0), end, inner)
            self.tiles[loop.index] = clauses(*kinds, dimension=dimension)
            inner = (loop,)
        return inner[0]


class TileLaunch:
    """Builds one of the two launches of a pair."""

    def __init__(self, tree: OverlappedTree, pair: DataObject, second: int) -> None:
        self.tree = tree
        self.second = second
        self.pair = pair
        self.rank = tree.stencil.rank
        scalar = tree.names.scalar
        self.time = scalar(f"{tree.stencil.time.iterator.name}_first")
        self.steps = scalar(f"{tree.stencil.time.iterator.name}_steps", INDEX)
        self.home = [scalar(f"{base}_home", INDEX) for base in tree.bases]
        self.first = [scalar(f"{base}_first", INDEX) for base in tree.bases]
        self.origin = [scalar(f"{base}_origin", INDEX) for base in tree.bases]
        self.limits: dict[tuple[str, Polynomial], DataObject] = {}
        self.scratchpads = {array.object: self.scratchpad(array.object) for array in tree.overlap.arrays}

    def scratchpad(self, array: DataObject) -> Scratchpad:
        """The scratchpad of an array."""
        return self.scratchpad_of(array, self.tree.lengths, self.origin)

    def scratchpad_of(
        self, array: DataObject, lengths: Iterable[int], origin: Iterable[DataObject | None]
    ) -> Scratchpad:
        """A scratchpad of these lengths."""
        name = self.tree.names.scalar(f"{array.name}_scratchpad").name
        buffer = DataObject(name, name, array.element, Storage.CONTIGUOUS, Scope.GANG, tuple(map(integer, lengths)))
        return Scratchpad(buffer, array, tuple(origin))

    def node(self) -> LaunchNode:
        """The launch: all tiles, mapped to gangs."""
        tree, dimensions = self.tree, range(self.rank)
        blocks = [tree.names.scalar(f"{base}_block") for base in tree.bases]
        steps = term(self.steps)
        start = tree.stencil.steps.low + (number(2) * term(self.pair) + number(self.second)) * steps
        homes = [tree.home(place) for place in dimensions]
        grid = [tree.grid(place) for place in dimensions]
        reach, growth = tree.overlap.reach, tree.overlap.growth
        work = tuple(self.work())
        body = (
            declared(self.steps, tree.steps),
            declared(self.time, start),
            *(declared(self.home[k], homes[k]) for k in dimensions),
            *(declared(self.first[k], grid[k][0] + term(blocks[k]) * term(self.home[k])) for k in dimensions),
            *(
                declared(
                    self.origin[k],
                    term(self.first[k]) - number(growth[k][0]) * (steps - number(1)) - number(reach[k][0]),
                )
                for k in dimensions
            ),
            *(declared(limit, value) for (_, value), limit in self.limits.items()),
            *work,
            Barrier(),
        )
        last = [floor_quotient(grid[k][1] - grid[k][0], expression(homes[k])) for k in dimensions]
        nest = tree.nest(blocks, last, body, TileKind.DYNAMIC, TileKind.GANG)
        scratchpads = tuple(self.scratchpads.values())
        return LaunchNode(Block((nest,)), dict(tree.tiles), scratchpads=scratchpads, waits=self.waits)

    @property
    def waits(self) -> bool:
        """Whether workers wait between statements."""
        return True

    def work(self) -> tuple[Statement, ...]:
        """The work of a gang on a tile."""
        return (*self.fill(), self.time_loop(), *self.stores())

    def workers(
        self,
        points: list[DataObject],
        body: Iterable[Statement],
        tests: Tests = NO_TESTS,
        *,
        delay: Polynomial = NO_DELAY,
        home: bool = False,
    ) -> tuple[Statement, ...]:
        """Run `body` at the points of the scratchpad, or of its interior (`home`), that pass the
        tests.

        `delay` counts planes behind the position of a streaming gang; boxes ignore it.
        """
        del delay
        return (self.mapped(points, range(self.rank), where((*tests.plane, *tests.others), *body), home=home),)

    def mapped(
        self, points: list[DataObject], dimensions: range, body: Iterable[Statement], *, home: bool
    ) -> Statement:
        """Loops over points along these dimensions of the scratchpad or interior, over workers."""
        tree = self.tree
        steps = [tree.names.scalar(f"{tree.bases[k]}_step", INDEX) for k in dimensions]
        starts = self.first if home else self.origin
        last = [tree.home(k) - number(1) if home else tree.home(k) + tree.halo(k) - number(1) for k in dimensions]
        placed = (declared(points[k], term(starts[k]) + term(step)) for k, step in zip(dimensions, steps, strict=True))
        return tree.nest(steps, last, (*placed, *body), TileKind.DYNAMIC, TileKind.WORKER)

    @property
    def store_delay(self) -> Polynomial:
        """The delay of the stores."""
        return NO_DELAY

    def delay(self, point: Point, step: Polynomial) -> Polynomial:  # noqa: ARG002
        """The delay of a statement, `step` time steps after the launch's first."""
        return NO_DELAY

    def points(self) -> list[DataObject]:
        """Fresh scalars for the subscripts of an element."""
        return [self.tree.names.scalar(f"{base}_point", INDEX) for base in self.tree.bases]

    def limit(self, base: str, value: Polynomial) -> Polynomial:
        """A bound for short integers: a number, or a short scalar declared once a tile."""
        if short_or_long(value) == INDEX:
            return value
        if (base, value) not in self.limits:
            self.limits[base, value] = self.tree.names.scalar(f"{base}_limit", INDEX)
        return term(self.limits[base, value])

    def box(self, sides: Iterable[Bounds]) -> list[tuple[Polynomial, Polynomial]]:
        """The inclusive limits of the subscripts."""
        pairs = zip(self.tree.bases, sides, strict=True)
        return [(self.limit(base, side.low), self.limit(base, side.high)) for base, side in pairs]

    # -- copies

    def fill(self) -> tuple[Statement, ...]:
        """Copy the elements that steps read from before into the scratchpads."""
        points = self.points()
        copies: list[Statement] = []
        for array in self.tree.overlap.arrays:
            if array.carried or array.border:
                source = self.tree.copies[array.object] if array.carried and self.second else array.object
                inside = within(points, self.box(array.touched))
                if not array.carried:
                    inside = (*inside, _outside(points, self.box(array.written)))
                scratchpad = self._local(self.scratchpads[array.object], points)
                copies += where(inside, assign(scratchpad, element_at(source, points)))
        return self.workers(points, copies)

    def stores(self) -> Iterable[Statement]:
        """Copy the tile's interior to where later steps or the host read it."""
        points = self.points()
        always: list[Statement] = []
        last: list[Statement] = []
        for array in self.tree.overlap.arrays:
            target = self.tree.copies[array.object] if array.carried and not self.second else array.object
            box = array.written if target == array.object else array.touched
            inside = within(points, self.box(box))
            kept = where(
                inside,
                assign(element_at(target, points), self._local(self.scratchpads[array.object], points, by_writer=True)),
            )
            (always if array.carried else last).extend(kept)
        yield from self.workers(points, always, delay=self.store_delay, home=True)
        if last:
            # Only the last step stores elements that no later step reads.
            end = self.tree.stencil.steps.high
            is_last = (
                at_least(end, term(self.time)),
                at_least(term(self.time) + term(self.steps) - number(1), end),
            )
            last_points = self.points()
            renamed = with_objects(tuple(last), dict(zip(points, last_points, strict=True)))
            yield from where(is_last, *self.workers(last_points, renamed, delay=self.store_delay, home=True))

    def _local(self, scratchpad: Scratchpad, points: list[DataObject], *, by_writer: bool = False) -> Access:
        element = Access(scratchpad.array, tuple(map(access_to, points)), (), scratchpad.array.element)
        return self.in_scratchpad(element, lambda _: by_writer)

    def in_scratchpad(self, access: Access, by_writer: Callable[[Access], bool]) -> Access:  # noqa: ARG002
        """The access in its array's scratchpad; `by_writer`: its writer reads it."""
        scratchpad = self.scratchpads.get(access.object)
        if scratchpad is None:
            return access
        places = tuple(place_in(scratchpad, k, subscript) for k, subscript in enumerate(access.subscripts))
        return dataclasses.replace(access, object=scratchpad.object, subscripts=places)

    # -- time steps

    def time_loop(self) -> Statement:
        """The statements, step by step."""
        tree = self.tree
        name = tree.stencil.time.iterator.name
        row, left = tree.names.scalar(f"{name}_row"), tree.names.scalar(f"{name}_left", INDEX)
        after = term(self.time) + term(self.steps) - number(1)
        step = term(row) - term(self.time)
        body = (declared(left, after - term(row)), *self.step_of_time(term(row), left, step))
        return tree.loop(row, term(self.time), minimum((after, tree.stencil.steps.high)), body)

    def step_of_time(self, row: Polynomial, left: DataObject, step: Polynomial) -> Iterable[Statement]:
        """The statements of time step `row`, `step` after the first and `left` before the last."""
        return (each for point in self.tree.stencil.points for each in self._statement(point, row, left, step))

    def _statement(self, point: Point, row: Polynomial, left: DataObject, step: Polynomial) -> tuple[Statement, ...]:
        points, tree = self.points(), self.tree
        margins = tree.overlap.margins[point.statement.name]
        conditions: list[tuple[Expression, ...]] = []
        values = {tree.stencil.time.iterator: row}
        for k, place in enumerate(point.places):
            (low, high), (before, behind) = margins[k], tree.overlap.growth[k]
            position, home = term(points[k]), term(self.home[k])
            reached = (
                at_least(position, term(self.first[k]) - number(low) - number(before) * term(left)),
                at_least(term(self.first[k]) + home - number(1) + number(high) + number(behind) * term(left), position),
            )
            if place.iterator is None or place.bounds is None:
                conditions.append((*reached, _compared("==", position, self.limit(tree.bases[k], place.shift))))
                continue
            ends = (place.bounds.low, place.bounds.high)
            first, last = (self.limit(tree.bases[k], end + place.shift) for end in ends)
            conditions.append((*reached, at_least(position, first), at_least(last, position)))
            values[place.iterator] = position - place.shift
        instead = {iterator: replace(iterator, scope=Scope.LOCAL, const=True) for iterator in values}
        node = self._placed(with_objects(point.statement.node, instead), in_own_column(point, instead))
        iterators = (
            Declaration((Declarator(instead[iterator], expression(value, short_or_long(value))),))
            for iterator, value in values.items()
        )
        tests = Tests(conditions[0], tuple(test for condition in conditions[1:] for test in condition))
        return self.workers(points, (*iterators, node), tests, delay=self.delay(point, step))

    def _placed(self, node: Statement, by_writer: Callable[[Access], bool]) -> Statement:
        """The statement on scratchpads; `by_writer` selects reads of the worker's own writes."""

        def shared(access: Access) -> Access:
            return self.in_scratchpad(access, lambda _: False)

        value = read_by(node)
        if value is node:
            return with_accesses(node, shared)
        assert isinstance(node, ExpressionStatement) and isinstance(node.expression, Assignment)
        target = with_accesses(node.expression.target, shared)
        read = with_accesses(node.expression.value, lambda access: self.in_scratchpad(access, by_writer))
        return dataclasses.replace(node, expression=dataclasses.replace(node.expression, target=target, value=read))


def read_by(node: Statement) -> Statement | Expression:
    """The value of an assignment; other statements whole."""
    if isinstance(node, ExpressionStatement) and isinstance(node.expression, Assignment):
        return node.expression.value
    return node


def in_own_column(point: Point, instead: Mapping[DataObject, DataObject]) -> Callable[[Access], bool]:
    """A predicate: does an access lie in the column that the statement writes?"""
    columns = [
        place.shift if place.iterator is None else term(instead.get(place.iterator, place.iterator)) + place.shift
        for place in point.places[1:]
    ]

    def own(access: Access) -> bool:
        return len(access.subscripts) == len(columns) + 1 and list(map(polynomial, access.subscripts[1:])) == columns

    return own


def place_in(scratchpad: Scratchpad, place: int, subscript: Expression) -> Expression:
    """The place in the scratchpad of the array element with this subscript."""
    origin, length = scratchpad.origin[place], scratchpad.object.lengths[place]
    if origin is None:
        assert isinstance(length, IntegerLiteral)
        return Binary("&", subscript, integer(length.value - 1), LONG)
    return Binary("-", subscript, access_to(origin), LONG)


def at_least(value: Polynomial, least: Polynomial) -> Expression:
    """value >= least"""
    return _compared(">=", value, least)


def _compared(operator: str, left: Polynomial, right: Polynomial) -> Expression:
    type_ = short_or_long(left, right)
    return Binary(operator, expression(left, type_), expression(right, type_), INT)


def within(points: list[DataObject], box: list[tuple[Polynomial, Polynomial]]) -> tuple[Expression, ...]:
    """Tests that the points are in a box of inclusive bounds."""
    return tuple(
        test
        for point, (least, most) in zip(points, box, strict=True)
        for test in (at_least(term(point), least), at_least(most, term(point)))
    )


def _outside(points: list[DataObject], box: list[tuple[Polynomial, Polynomial]]) -> Expression:
    tests = [
        _compared("<", left, right)
        for point, (least, most) in zip(points, box, strict=True)
        for left, right in ((term(point), least), (most, term(point)))
    ]
    return disjunction(tests)


def where(conditions: Iterable[Expression], *body: Statement) -> tuple[Statement, ...]:
    """The statements, under an If of all conditions if any."""
    tests = tuple(conditions)
    return (If(conjunction(tests), Block(body), None),) if tests else body


def element_at(array: DataObject, points: list[DataObject]) -> Access:
    """The element with these subscripts."""
    return Access(array, tuple(map(access_to, points)), (), array.element)


def assign(target: Access, source: Access) -> ExpressionStatement:
    """`target = source;`"""
    return ExpressionStatement(Assignment("=", target, source, target.type))
