"""Register queues (`RegisterQueue`): the planes of a streaming gang in its workers' registers.

Where the numbers of workers are constants and registers suffice, the walk is printed so:

    #if COLUMNS
    inside[round] |= 1;                         before the walk: whether a column passes tests
    full_first = ...; full_last = ...;          positions where all planes pass their tests
    for (start = ...; start += TURNS)
        for (turn = 0; turn < TURNS; ++turn) {
            front = start + turn;
            for (step of time)
                beside[step][round] = a_planes[turn - 1 & 1][step][j + 1];
            for (full = 1; full >= 0; --full)   a copy of the body for each, for the compiler
                if (full == (full_first <= front && front <= full_last)) {
                    a_column[round][(turn + 2) % TURNS] = a[front + 2][j];
                    for (step of time)
                        if (full || i is a plane of this step) {
                            value = a_column[round][place of i] + beside[step][round];
                            b_column[round][place of i] = inside[round] ? value : ...;
                        }
                }
            a_planes[turn & 1][step][j] = a_column[round][(turn - 2 * step) % TURNS];
            barrier;
        }
    #else
    ...                                         the walk in scratchpads
    #endif

All loops around are unrolled, so that places are constants and arrays are registers. Workers wait
once a position: a neighbour's element is at least a position old, and its worker's register does
not change before it is read. So shared memory holds what workers had at the end of a position, for
as many positions as reads lie back.

A column has as many registers as positions are printed in turn, so that a plane has one register
from its load on, and none moves: a move would wait for a load that is under way. Each position
loads a plane that is read two positions later: workers compute while memory answers. What a
position reads of neighbours it loads at once, before all tests; and statements that cannot trap,
and read nothing in memory, compute for all columns and keep what passes the tests. So no branch
stands between loads and what is computed with them.

Where a walk begins and ends, time steps are computed of planes that lie beyond what the tile needs
of them too: nobody reads these values, and no plane of the tile itself is tested. The same holds
for columns beyond what the tile needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.printer import UNARY, Printer
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Conditional,
    DataObject,
    Expression,
    Scope,
    access_to,
    conjunction,
    conjuncts,
    disjunction,
    integer,
    local_scalar,
    negated,
    operands,
)
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    If,
    Loop,
    RegisterQueue,
    Scratchpad,
    Statement,
    TileNest,
    assign,
)
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses, with_objects
from tilepragma.ir.traversal import mentions, nests_in, walk, with_blocks
from tilepragma.ir.types import INDEX, INT, ScalarType, is_floating
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import Launch
from tilepragma.user_tiles.coverage import nest_axes

_MOST_COMPUTED = 128
"""The most statements, of all time steps and of positions in turn, that are printed one after
another.
"""

_MOST_WORDS = 128
"""The most 32-bit registers of a worker for queues; with more, a second gang has no room."""

_AHEAD = 2
"""Positions between the load of a plane and its first use, so that workers compute while memory
answers.
"""

_FULL, _TURN = "full", "turn"


@dataclass(frozen=True)
class _Place:
    """Where a statement of a walk stands: inside the loop over time steps, if any, and inside loops
    over the columns of a worker. `values` are those of declared scalars.
    """

    position: DataObject
    step: DataObject | None = None
    columns: tuple[DataObject, ...] = ()
    values: tuple[tuple[DataObject, Polynomial], ...] = ()

    def after(self, node: Declaration) -> _Place:
        """The place behind a declaration."""
        made = ((each.object, each.value) for each in node.declarators)
        values = ((object_, self.at(polynomial(value))) for object_, value in made if value is not None)
        return replace(self, values=(*self.values, *values))

    def within(self, nest: TileNest) -> _Place:
        """The place inside the nest."""
        return replace(self, columns=tuple(loop.loop.iterator for loop in nest.loops))

    def varies(self, node: object) -> bool:
        """Whether the node depends on the time step."""
        return self.step is not None and self._depends(node, (self.step,))

    def of_columns(self, node: object) -> bool:
        """Whether the node depends on the column."""
        return self._depends(node, self.columns)

    def _depends(self, node: object, on: tuple[DataObject, ...]) -> bool:
        atoms = {access_to(object_) for object_ in on}
        more = (object_ for object_, value in self.values if atoms & value.atoms)
        return any(mentions(node, object_) for object_ in (*on, *more))

    def moves(self, node: object) -> bool:
        """Whether the node depends on the position."""
        return self._depends(node, (self.position,))

    def at(self, value: Polynomial) -> Polynomial:
        """The value by the position and what is the same at all positions."""
        for object_, known in self.values:
            value = value.substitute(access_to(object_), known)
        return value

    def behind(self, access: Access) -> tuple[int, int] | None:
        """(factor, first): the plane of a ring's element is factor * step + first planes behind the
        position; None if it is not.
        """
        ring = access.subscripts[0]
        if not isinstance(ring, Binary):
            return None
        value = of_atom(access_to(self.position)) - self.at(polynomial(ring.left))
        if self.step is None:
            return None if value.constant is None else (0, value.constant)
        parts = value.split(access_to(self.step))
        if parts is None or parts[0].constant is None or parts[1].constant is None:
            return None
        return parts[0].constant, parts[1].constant

    def beside(self, access: Access) -> tuple[int, ...] | None:
        """How far the column of a ring's element lies from the worker's own, in each dimension;
        None where that is not a constant.
        """
        own = map(of_atom, map(access_to, self.columns))
        far = (self.at(polynomial(each)) - column for each, column in zip(access.subscripts[1:], own, strict=True))
        distances = [each.constant for each in far]
        known = tuple(each for each in distances if each is not None)
        return known if len(known) == len(distances) else None


@dataclass(frozen=True)
class _Published:
    """Planes of a scratchpad that workers read in others' columns: in step t of a launch the places
    factor * t + first, ..., + span of the queue. In `planes` they are group number `group`.
    """

    scratchpad: Scratchpad
    queue: RegisterQueue
    planes: DataObject
    factor: int
    first: int
    span: int
    group: int


class RegisterQueuePrinter:
    """Prints the scratchpads and register queues of one launch; `printer` prints its arrays.

    `used` is a macro of the entry point: whether register queues are used, with the `value` in
    specialised programs. It is empty without queues, where shared memory of `local_bytes` has no
    room, and unless rounds are equal constants in all nests.
    """

    def __init__(self, launch: Launch, numbers: LaunchParameters, printer: Printer, local_bytes: int) -> None:
        self.launch, self.numbers, self.printer = launch, numbers, printer
        self.queues = [(pad, pad.column) for pad in launch.scratchpads if pad.column is not None]
        self.used, self.value = "", ""
        self.rounds: list[str] = []
        self.constants: list[tuple[str, str]] = []
        nests = [node for node in walk(launch.body) if isinstance(node, TileNest) and _to_workers(node)]
        varying = numbers.varies(AxisKind.WORKER) or any(
            loop in numbers.varying for nest in nests for loop in nest.loops
        )
        alike = len({tuple(loop.distribution_key for loop in nest.loops) for nest in nests}) == 1
        if len(self.queues) < max(1, len(launch.scratchpads)) or varying or not alike:
            return
        self.rounds = [numbers.count(loop, loop.tiles[0]) for loop in nests[0].loops]
        workers = [numbers.stride(loop, loop.tiles[0]) for loop in nests[0].loops]
        (position,) = {queue.position for _, queue in self.queues}
        walks = [node for node in walk(launch.body) if isinstance(node, Loop) and node.iterator == position]
        uses = [use for loop in walks for use in _uses(loop.body.statements, _Place(position))]
        self.steps = {place.step for _, place in uses if place.step is not None}
        published = self._publish(uses)
        if published is None:
            self.rounds = []
            return
        self.published = published
        self.reads = sum(
            _bits(pad) // 32
            for made, place in uses
            if place.step is not None
            for pad, _ in self.queues
            for node in set(walk(made.value))
            if isinstance(node, Access) and node.object == pad.object
        )
        """registers for what statements of a time step read of neighbours"""
        self.margins = self._margins(uses)
        """how far reads leave a worker's column, towards less and more, in each dimension"""
        self.extents = [
            of_atom(local_scalar(count, INDEX)) * of_atom(local_scalar(side, INDEX)) + number(low + high)
            for count, side, (low, high) in zip(self.rounds, workers, self.margins, strict=True)
        ]
        """the lengths of planes for neighbours, which hold all columns of all workers"""
        spans = [each.span for each in published]
        self.history = 1 << (max(spans, default=0) + 1).bit_length()
        """positions for which planes are kept, a power of two"""
        name = launch.name.upper()
        self.used = numbers.fresh(f"{name}_COLUMNS")
        self.time = local_scalar(numbers.fresh(f"{name}_TIME_STEPS"), INDEX)
        """the time steps of a position, a macro of specialised programs"""
        _, queue = self.queues[0]
        degree = printer.name(queue.degree)
        self.steps_value = f"({degree} < {queue.steps} ? {degree} : {queue.steps})"
        self.turns = local_scalar(numbers.fresh(f"{name}_TURNS"), INDEX)
        """registers of a column: its planes, and those that are loaded ahead; a macro"""
        fewest = max(queue.planes - queue.shift * queue.steps for _, queue in self.queues) + _AHEAD
        self.turns_value = f"({fewest} + {queue.shift} * {self.time.object.name} + {self.history - 1})"
        self.turns_value += f" / {self.history} * {self.history}"
        words = sum(_bits(pad) // 32 for pad, _ in self.queues)
        turns = self.turns.object.name
        statements = sum(place.step is not None for _, place in uses)
        computed = f"{turns} * {statements} * {self.time.object.name}"
        columns = " * ".join((*self.rounds, f"({words} * {turns} + {self.reads} * {self.time.object.name})"))
        element = self.history * sum(element_bytes(each.scratchpad.object) for each in published)
        extents = " * ".join(printer.expression(expression(extent, INDEX), UNARY) for extent in self.extents)
        planes = f"{element} * {extents} * {self.time.object.name}"
        self.value = f"{computed} <= {_MOST_COMPUTED} && {columns} <= {_MOST_WORDS} && {planes} <= {local_bytes}"

    def declare(self, writer: Writer) -> None:
        """Declare scratchpads and registers. No worker reads a register before it writes there."""
        local = self.printer.dialect.local_space
        if self.used:
            writer.line(f"#if {self.used}")
            writer.line("/* A worker's columns, by planes in turn; and planes for its neighbours. */")
            places = "".join(f"[{count}]" for count in self.rounds)
            for pad, queue in self.queues:
                inner = f"{self.printer.name(queue.object)}{places}[{self.turns.object.name}]"
                writer.line(f"{self.printer.type(pad.object.element, inner)} = {{0}};")
            for planes in self._planes():
                writer.line(f"{local}{self.printer.declaration(planes)};")
            writer.line("#else")
        for pad in self.launch.scratchpads:
            writer.line(f"{local}{self.printer.declaration(pad.object)};")
        if self.used:
            writer.line("#endif")

    def is_walk(self, loop: Loop) -> bool:
        """Whether the loop walks through planes that lie in register queues."""
        return bool(self.used) and any(queue.position == loop.iterator for _, queue in self.queues)

    def is_unrolled(self, loop: Loop) -> bool:
        """Whether the loop runs over time steps at a position: its iterator selects registers."""
        return loop.iterator in self.steps

    def in_scratchpads(self, block: Block) -> Block:
        """The block with all elements in scratchpads."""
        instead = {queue.object: pad.object for pad, queue in self.queues}

        def changed(node: Statement) -> Statement:
            # The loops of nests have numbers, by which they are known.
            if isinstance(node, ExpressionStatement):
                return with_objects(node, instead)
            return with_blocks(node, lambda inner: Block(tuple(map(changed, inner.statements)), inner.range))

        return Block(tuple(map(changed, block.statements)), block.range)

    def round_of(self, nest: TileNest) -> tuple[Expression, ...]:
        """The rounds of a worker."""
        return tuple(local_scalar(self.numbers.name(loop, "round"), INT) for loop in nest.loops)

    def _renamed(self, scratchpad: Scratchpad, suffix: str) -> DataObject:
        """An object for elements of a scratchpad."""
        return replace(scratchpad.object, name=self.numbers.fresh(f"{scratchpad.array.name}_{suffix}"))

    def print_walk(
        self, writer: Writer, loop: Loop, print_block: Callable[[Block], None], print_all: Callable[[Block], None]
    ) -> None:
        """Print the loop over positions. `print_all` prints nests whose workers run all rounds."""
        walked, places = _Walk(self, loop), "".join(f"[{count}]" for count in self.rounds)
        index, first, last = self.printer.type(INDEX), walked.first.object.name, walked.last.object.name
        writer.line("/* The steps in whose part of the tile a column lies, a bit each. */")
        for mask, _ in walked.masks:
            writer.line(f"int {mask.object.name}{places} = {{0}};")
        if walked.beside:
            writer.line("/* What statements read of neighbours at a position, by time steps. */")
        for object_ in walked.beside:
            inner = f"{object_.name}[{self.time.object.name}]{places}"
            writer.line(f"{self.printer.type(object_.element, inner)};")
        writer.line("/* From the first to the last of these positions all planes lie in the tile. */")
        lower, upper = (self.printer.expression(bound, 1) for bound in (loop.lower, loop.upper))
        for name, bound in ((first, lower), (last, upper)):
            writer.line(f"{index} {name} = {bound};")
        print_block(Block(walked.before))
        turns = self.turns.object.name
        start, full, turn = (self.numbers.fresh(name) for name in (f"{loop.iterator.name}_start", _FULL, _TURN))
        iterator, unroll = self.printer.scalar(loop.iterator), self.printer.dialect.unroll
        writer.line(f"/* All workers run the loop over {iterator} in step, and meet at its barriers. */")
        writer.line("/* What the first positions compute with. */")
        writer.line(unroll)
        with writer.block(f"for (int {turn} = {turns} - {_AHEAD}; {turn} < {turns}; ++{turn})"):
            writer.line(f"const int {full} = 0;")
            writer.line(f"const {index} {iterator} = {lower} - {turns} + {turn};")
            print_all(Block(walked.ahead))
        with writer.block(f"for ({index} {start} = {lower}; {start} <= {upper}; {start} += {turns})"):
            writer.line(unroll)
            with writer.block(f"for (int {turn} = 0; {turn} < {turns}; ++{turn})"):
                writer.line(f"const {index} {iterator} = {start} + {turn};")
                writer.line(f"if ({iterator} > {upper}) break;")
                print_all(Block(walked.loads))
                writer.line(unroll)
                writer.line(f"for (int {full} = 1; {full} >= 0; --{full})")
                writer.depth += 1
                with writer.block(f"if ({full} == ({first} <= {iterator} && {iterator} <= {last}))"):
                    print_all(Block(walked.at))
                writer.depth -= 1
                print_all(Block(walked.end))

    # -- planes that neighbours read

    def _publish(self, uses: Iterable[tuple[Assignment, _Place]]) -> tuple[_Published, ...] | None:
        """What workers read of others' columns; None where this is not understood."""
        published: list[_Published] = []
        for pad, queue in self.queues:
            reads: set[tuple[int, int] | None] = set()
            writes: set[tuple[int, int] | None] = set()
            for made, place in uses:
                if made.target.object == pad.object:
                    writes.add(place.behind(made.target))
                nodes = (node for node in walk(made.value) if isinstance(node, Access) and node.object == pad.object)
                reads.update(place.behind(node) if place.step is not None else None for node in nodes)
            if None in reads or None in writes:
                return None
            planes = self._renamed(pad, "planes")
            groups = _grouped({each for each in reads if each}, {each for each in writes if each}, queue.steps)
            for group, (factor, first, span) in enumerate(groups):
                if first < 1:
                    return None
                published.append(_Published(pad, queue, planes, factor, first, span, group))
        return tuple(published)

    def _margins(self, uses: Iterable[tuple[Assignment, _Place]]) -> list[tuple[int, int]]:
        pads = {pad.object for pad, _ in self.queues}
        far = [
            distances
            for made, place in uses
            for node in walk(made.value)
            if isinstance(node, Access) and node.object in pads and (distances := place.beside(node)) is not None
        ]
        sides = [[each[place] for each in far] for place in range(len(self.rounds))]
        return [(max(0, -min(side, default=0)), max(0, max(side, default=0))) for side in sides]

    def _planes(self) -> Iterator[DataObject]:
        """The arrays of published planes."""
        extents = [expression(extent, INDEX) for extent in self.extents]
        for pad, _ in self.queues:
            groups = [each for each in self.published if each.scratchpad == pad]
            if groups:
                slots = expression(number(len(groups)) * of_atom(self.time), INDEX)
                yield replace(groups[0].planes, lengths=(integer(self.history), slots, *extents))


class _Walk:
    """The statements of a walk with planes in registers, `before` it and `at` a position.

    `full` tells whether all planes of the position pass their tests, as they do from `first` to
    `last`. `turn` counts positions in a row. `masks` tell which steps' tests a column passes.
    `beside` holds what statements read of neighbours, which `loads` load before a position's work;
    at its `end` workers store what neighbours read next, and wait.
    """

    def __init__(self, queues: RegisterQueuePrinter, loop: Loop) -> None:
        self.queues, self.position = queues, loop.iterator
        fresh, name = queues.numbers.fresh, loop.iterator.name
        self.full, self.turn = (local_scalar(fresh(each), INT) for each in (_FULL, _TURN))
        self.first, self.last = (local_scalar(fresh(f"{name}_{end}"), INDEX) for end in ("first", "last"))
        self.masks: list[tuple[Access, bool]] = []
        self.beside: list[DataObject] = []
        self.tile = queues.queues[0][1].first if all(map(_cannot_trap, walk(loop.body))) else ()
        place, fill = _Place(loop.iterator), self._loaded_ahead(loop.body.statements)
        statements = loop.body.statements[len(fill) :]
        self.before = tuple(self._before((*fill, *statements), place))
        self._left = iter(self.masks)
        is_left = Binary("<=", expression(polynomial(self._ahead), INDEX), loop.upper, INT)
        self.ahead = (If(is_left, Block(tuple(self._at(fill, place))), None),)
        nest = next(node for node in nests_in(loop.body) if _to_workers(node))
        steps = next(node for node in walk(loop.body) if isinstance(node, Loop) and queues.is_unrolled(node))
        published = (self._published(each, nest, steps.iterator) for each in queues.published)
        inner = Block((replace(steps, body=Block(tuple(published))),))
        loads: list[Statement] = []
        self._loads = loads
        self.at = (*self.ahead, *self._at(statements[:-1], place))
        self.loads = (replace(steps, body=Block(tuple(loads))),) if loads else ()
        self.end = (replace(nest, body=inner), statements[-1])

    @property
    def _ahead(self) -> Expression:
        """The plane that is loaded at a position."""
        return expression(of_atom(access_to(self.position)) + number(_AHEAD), INDEX)

    def _loaded_ahead(self, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The first of the statements, up to the nest that fills columns from arrays, with planes
        ahead of the position.
        """
        end = next(place for place, node in enumerate(statements) if isinstance(node, TileNest))

        def moved(node: Statement) -> Statement:
            if not isinstance(node, Declaration):
                return node
            declarators = (
                replace(each, initializer=expression(polynomial(each.value) + number(_AHEAD), INDEX))
                if each.value is not None and mentions(each.value, self.position)
                else each
                for each in node.declarators
            )
            return replace(node, declarators=tuple(declarators))

        return tuple(map(moved, statements[: end + 1]))

    def _published(self, each: _Published, nest: TileNest, step: DataObject) -> Statement:
        """Let others read what the worker has at the end of the position."""
        place = of_atom(access_to(step))
        subscripts = (
            self._kept(0),
            self._slot(each, step),
            *self._inside_margins(access_to(loop.loop.iterator) for loop in nest.loops),
        )
        behind = self._turn_of(number(each.factor) * place + number(each.first - 1))
        return assign(
            Access(each.planes, subscripts, (), each.planes.element),
            Access(_flat(each.queue.object), (*self.queues.round_of(nest), behind), (), each.planes.element),
        )

    def _slot(self, each: _Published, step: DataObject) -> Expression:
        """The place of a step's plane among those of a position."""
        return expression(of_atom(access_to(step)) + number(each.group) * of_atom(self.queues.time), INDEX)

    def _inside_margins(self, subscripts: Iterable[Expression]) -> Iterator[Expression]:
        for subscript, (low, _) in zip(subscripts, self.queues.margins, strict=True):
            yield expression(polynomial(subscript) + number(low), INDEX)

    def _kept(self, back: int) -> Expression:
        """Where the planes of so many positions ago are kept."""
        value = expression(polynomial(self.turn) + number((self.queues.history - back) % self.queues.history), INT)
        return Binary("&", value, integer(self.queues.history - 1), INT)

    # -- before the walk

    def _before(self, statements: Iterable[Statement], place: _Place) -> Iterator[Statement]:
        for node in statements:
            match node:
                case Declaration():
                    place = place.after(node)
                    if not place.moves(node):
                        yield node
                case Loop():
                    inner = self._before(node.body.statements, replace(place, step=node.iterator))
                    yield replace(node, body=Block(_with_names_in_use([*inner])))
                case If() if any(map(_to_workers, nests_in(node.then))):
                    yield from self._limits_of_planes(node.condition, place)
                    yield from self._before(node.then.statements, place)
                case Block():
                    yield from self._before(node.statements, place)
                case TileNest():
                    declarations = [each for each in node.body.statements if isinstance(each, Declaration)]
                    nested = place.within(node)
                    for declaration in declarations:
                        nested = nested.after(declaration)
                    tested = [each for each in node.body.statements if isinstance(each, If)]
                    for each in tested:
                        yield from self._limits(_tests(each), nested)
                    noted = (self._noted(node, each, nested) for each in tested)
                    yield replace(node, body=Block((*declarations, *noted)))

    def _limits_of_planes(self, condition: Expression, place: _Place) -> Iterator[Statement]:
        """Exclude positions that do not pass the condition around nests."""
        for test in conjuncts(condition):
            if self._of_tile(test):
                continue
            if place.moves(test):
                yield from self._limit(test, ">=", place)
            elif place.step is not None:
                nowhere = assign(self.last, expression(polynomial(self.first) - number(1), INDEX))
                yield If(negated(test), Block((nowhere,)), None)

    def _of_columns(self, tests: Iterable[Expression], place: _Place) -> Iterator[Expression]:
        """What is left of the tests at positions that are full."""
        for test in tests:
            parts = [part for part in operands("||", test) if not place.moves(part)]
            if parts and (len(parts) > 1 or not place.moves(test)):
                yield disjunction(parts)

    def _limits(self, tests: Iterable[Expression], place: _Place) -> Iterator[Statement]:
        """Exclude positions where a test fails or, with others, depends on the plane."""
        for test in tests:
            parts = [*operands("||", test)]
            moving = [part for part in parts if place.moves(part)]
            if len(parts) == 1:
                yield from self._limit(test, ">=", place)
            elif len(moving) == len(parts):
                yield assign(self.last, expression(polynomial(self.first) - number(1), INDEX))
            else:
                for part in moving:
                    yield from self._limit(part, "<", place)

    def _limit(self, test: Expression, operator: str, place: _Place) -> Iterator[Statement]:
        """Exclude positions where the test, a >= b or its opposite, fails."""
        parts = None
        if isinstance(test, Binary) and test.operator == operator and place.moves(test):
            parts = place.at(polynomial(test.left) - polynomial(test.right)).split(access_to(place.position))
        if parts is not None and parts[0].constant in (1, -1):
            least = parts[0].constant == 1
            limit, bound = (self.first, -parts[1]) if least else (self.last, parts[1])
            value = expression(bound, INDEX)
            yield If(Binary(">" if least else "<", value, limit, INT), Block((assign(limit, value),)), None)
        elif place.moves(test):
            yield assign(self.last, expression(polynomial(self.first) - number(1), INDEX))

    def _noted(self, nest: TileNest, node: If, place: _Place) -> Statement:
        """Note in a mask whether a column passes the tests of the step."""
        tests = [test for test in _tests(node) if not (self._is_free(node, place) and self._of_tile(test))]
        columns, step = [*self._of_columns(tests, place)], place.step
        if not any(map(place.varies, columns)):
            step = None
        mask = local_scalar(self.queues.numbers.fresh(f"inside{len(self.masks) + 1}"), INT)
        self.masks.append((mask, step is not None))
        bit: Expression = integer(1) if step is None else Binary("<<", integer(1), access_to(step), INT)
        element = replace(mask, subscripts=self.queues.round_of(nest))
        noted = ExpressionStatement(Assignment("|=", element, bit, INT))
        return If(conjunction(columns), Block((noted,)), None) if columns else noted

    # -- at a position

    def _at(self, statements: Iterable[Statement], place: _Place) -> Iterator[Statement]:
        for node in statements:
            match node:
                case Declaration():
                    place = place.after(node)
                    yield node
                case Loop():
                    inner = self._at(node.body.statements, replace(place, step=node.iterator))
                    yield replace(node, body=Block(tuple(inner)))
                case If():
                    then = Block(tuple(self._at(node.then.statements, place)))
                    yield replace(node, condition=self._tests_at(node.condition, place), then=then)
                case Block():
                    yield Block(tuple(self._at(node.statements, place)))
                case TileNest():
                    yield from self._of_worker(node, place)

    def _tests_at(self, condition: Expression, place: _Place) -> Expression:
        """A condition around nests: full positions pass it, but for stores of the tile's planes."""
        kept: list[Expression] = []
        if place.step is None:
            if not place.moves(condition):
                return condition
            kept = [test for test in conjuncts(condition) if self._of_tile(test)]
        others = [test for test in conjuncts(condition) if test not in kept]
        return conjunction([*kept, *([Binary("||", self.full, conjunction(others), INT)] if others else [])])

    def _of_tile(self, test: Expression) -> bool:
        """Whether the test keeps to planes of which the tile needs a time step."""
        return any(mentions(test, first) for first in self.tile)

    def _is_free(self, node: If, place: _Place) -> bool:
        """Whether workers may run the statement for columns that do not pass its tests, and drop
        the value: it traps for no values, and reads registers and planes alone.
        """
        made = _tested(node)[-1]
        if not (self.tile and place.step is not None and isinstance(made, ExpressionStatement)):
            return False
        assigned, pads = made.expression, {pad.object for pad, _ in self.queues.queues}
        queues = {queue.object for _, queue in self.queues.queues}
        if not (isinstance(assigned, Assignment) and assigned.operator == "=" and assigned.target.object in pads):
            return False
        for declaration in _tested(node)[:-1]:
            assert isinstance(declaration, Declaration), "the iterators of a statement"
            place = place.after(declaration)
        read = [each for each in walk(assigned.value) if isinstance(each, Access) and each.subscripts]
        return all(
            each.object in queues or each.object in pads and place.beside(each) is not None for each in read
        ) and all(map(_is_plain, walk(assigned.value)))

    def _of_worker(self, nest: TileNest, place: _Place) -> Iterator[Statement]:
        rounds, outer, body = self.queues.round_of(nest), place, list[Statement]()
        place = place.within(nest)
        for node in nest.body.statements:
            if not isinstance(node, If):
                assert isinstance(node, Declaration), "a column is declared and tested"
                place = place.after(node)
                body.append(node)
                continue
            mask, stepped = next(self._left)
            mask = replace(mask, subscripts=rounds)
            shifted = Binary(">>", mask, access_to(outer.step), INT) if stepped and outer.step is not None else mask
            inside: Expression = Binary("&", shifted, integer(1), INT)
            worked = [*self._worked(_tested(node), place, rounds)]
            if outer.step is not None and self._is_free(node, place):
                loads, free = self._freely(worked, inside, (access_to(outer.step), *rounds))
                if loads:
                    self._loads.append(replace(nest, body=Block(_with_names_in_use([*body, *loads]))))
                body += free
                continue
            moving = [test for test in _tests(node) if place.moves(test)]
            if any(map(place.of_columns, moving)):
                inside = Conditional(self.full, inside, conjunction([*_tests(node)]), INT)
            elif moving:
                inside = conjunction([Binary("||", self.full, conjunction(moving), INT), inside])
            body.append(If(inside, Block(_with_names_in_use(worked)), None))
        yield replace(nest, body=Block(_with_names_in_use(body)))

    def _freely(
        self, statements: list[Statement], inside: Expression, subscripts: tuple[Expression, ...]
    ) -> tuple[list[Statement], list[Statement]]:
        """Loads of what a statement reads of neighbours, to registers with these subscripts; and
        the statement, which computes for all columns and assigns to those `inside`.
        """
        *declarations, last = statements
        assert isinstance(last, ExpressionStatement) and isinstance(last.expression, Assignment), "a free statement"
        made, loaded = last.expression, dict[Access, Access]()
        planes = {each.planes for each in self.queues.published}

        def read(access: Access) -> Expression:
            if access.object in planes and access not in loaded:
                name = self.queues.numbers.fresh(f"beside{len(self.beside) + 1}")
                self.beside.append(local_scalar(name, access.type).object)
                loaded[access] = Access(_flat(self.beside[-1]), subscripts, (), access.type)
            return loaded.get(access, access)

        value = local_scalar(self.queues.numbers.fresh("value"), made.target.type)
        computed = Declaration((Declarator(value.object, with_accesses(made.value, read)),))
        kept = Conditional(inside, value, made.target, made.target.type)
        loads = [assign(register, access) for access, register in loaded.items()]
        return (
            [*declarations, *loads] if loads else [],
            [*declarations, computed, ExpressionStatement(replace(made, value=kept))],
        )

    def _worked(self, body: Iterable[Statement], place: _Place, rounds: tuple[Expression, ...]) -> Iterator[Statement]:
        for node in body:
            if isinstance(node, Declaration):
                place = place.after(node)
            if isinstance(node, ExpressionStatement) and isinstance(node.expression, Assignment):
                node = replace(node, expression=self._placed(node.expression, place, rounds))
            yield node

    def _placed(self, made: Assignment, place: _Place, rounds: tuple[Expression, ...]) -> Assignment:
        """The assignment to the worker's register, from its registers and planes of others."""

        def read(access: Access) -> Expression:
            for pad, queue in self.queues.queues:
                if access.object == queue.object:
                    return self._register(queue, access, place, rounds)
                if access.object == pad.object:
                    return self._plane(pad, access, place)
            return access

        target = made.target
        queue = next((queue for pad, queue in self.queues.queues if pad.object == target.object), None)
        placed = with_accesses(target, read) if queue is None else self._register(queue, target, place, rounds)
        assert isinstance(placed, Access), "an assignment has an object"
        return replace(made, target=placed, value=with_accesses(made.value, read))

    def _register(self, queue: RegisterQueue, access: Access, place: _Place, rounds: tuple[Expression, ...]) -> Access:
        """The register of the element, by the distance of its plane behind the position."""
        ring = access.subscripts[0]
        assert isinstance(ring, Binary), "a place in a ring"
        behind = of_atom(access_to(queue.position)) - place.at(polynomial(ring.left))
        return Access(_flat(queue.object), (*rounds, self._turn_of(behind)), access.path, access.type)

    def _turn_of(self, behind: Polynomial) -> Expression:
        """The place among a column's registers of the plane so far behind the position."""
        turns = self.queues.turns
        return Binary("%", expression(polynomial(self.turn) + of_atom(turns) - behind, INDEX), turns, INDEX)

    def _plane(self, pad: Scratchpad, access: Access, place: _Place) -> Access:
        """The element among published planes."""
        behind = place.behind(access)
        assert behind is not None and place.step is not None, "planes are published that all reads are in"
        for each in self.queues.published:
            back = behind[1] - each.first
            if each.scratchpad == pad and each.factor == behind[0] and 0 <= back <= each.span:
                columns = self._inside_margins(access.subscripts[1:])
                subscripts = (self._kept(back + 1), self._slot(each, place.step), *columns)
                return replace(access, object=each.planes, subscripts=subscripts)
        raise AssertionError("planes are published that all reads are in")


def _with_names_in_use(statements: list[Statement]) -> tuple[Statement, ...]:
    """The statements without declarations that no later one mentions: registers need no column."""
    kept: list[Statement] = []
    for node in reversed(statements):
        if not isinstance(node, Declaration) or any(
            mentions(later, declarator.object) for declarator in node.declarators for later in kept
        ):
            kept.insert(0, node)
    return tuple(kept)


def _flat(object_: DataObject) -> DataObject:
    """The object for accesses with any subscripts."""
    return replace(object_, scope=Scope.LOCAL, lengths=())


def _uses(statements: Iterable[Statement], place: _Place) -> Iterator[tuple[Assignment, _Place]]:
    """The assignments of a walk."""
    for node in statements:
        match node:
            case Declaration():
                place = place.after(node)
            case Loop():
                yield from _uses(node.body.statements, replace(place, step=node.iterator))
            case If():
                yield from _uses(node.then.statements, place)
            case Block():
                yield from _uses(node.statements, place)
            case TileNest():
                yield from _uses(node.body.statements, place.within(node))
            case ExpressionStatement(expression=Assignment() as made):
                yield made, place


def _grouped(reads: set[tuple[int, int]], writes: set[tuple[int, int]], steps: int) -> Iterator[tuple[int, int, int]]:
    """Groups (factor, first, span) of places that are read, through which values move unchanged."""

    def is_written(factor: int, place: int) -> bool:
        times = product(range(steps), repeat=2)
        return any(factor * t + place == other * u + written for other, written in writes for t, u in times)

    for factor in sorted({factor for factor, _ in reads}):
        places = sorted(place for other, place in reads if other == factor)
        first = last = places[0]
        for place in places[1:]:
            if any(is_written(factor, between) for between in range(last, place)):
                yield factor, first, last - first
                first = place
            last = place
        yield factor, first, last - first


def _tests(node: If) -> Iterator[Expression]:
    """The tests before the statements in a condition, of conditions inside too."""
    yield from conjuncts(node.condition)
    inner = node.then.statements[0]
    if isinstance(inner, If) and len(node.then.statements) == 1:
        yield from _tests(inner)


def _tested(node: If) -> tuple[Statement, ...]:
    inner = node.then.statements[0]
    return _tested(inner) if isinstance(inner, If) and len(node.then.statements) == 1 else node.then.statements


def _cannot_trap(node: object) -> bool:
    """Whether the node traps for no values: it divides no integers and calls no user's function."""
    if isinstance(node, (Binary, Assignment)) and node.operator in ("/", "%", "/=", "%="):
        return is_floating(node.type)
    return not isinstance(node, Call) or node.callee is not Callee.USER


def _is_plain(node: object) -> bool:
    """Whether the node has no effects, and calls no user's function."""
    if isinstance(node, Call):
        return node.callee is not Callee.USER
    return not isinstance(node, Assignment)


def _to_workers(nest: TileNest) -> bool:
    return any(axis.kind is AxisKind.WORKER for axis in nest_axes(nest))


def _bits(scratchpad: Scratchpad) -> int:
    element = scratchpad.object.element
    assert isinstance(element, ScalarType), "scratchpads are of numbers"
    return max(element.bits, 32)
