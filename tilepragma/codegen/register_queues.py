"""Register queues (`RegisterQueue`): the planes of a streaming gang in its workers' registers.

Where the numbers of workers are constants and registers suffice, the walk is printed so:

    #if COLUMNS
    inside[round] |= 1 << step;                 before the walk: steps whose tests a column passes
    full_first = ...; full_last = ...;          positions where all planes pass their tests
    for (start = ...; start += 2)
        for (full = 1; full >= 0; --full)       a copy of the body for each, for the compiler
            if (full == (full_first <= start && start + 1 <= full_last))
                for (turn = 0; turn < 2; ++turn) {
                    front = start + turn;
                    a_column[round][plane] = a_column[round][plane - 1];    oldest first
                    a_column[round][0] = a[front + 1][j];
                    for (step of time)
                        if (full || i is a plane of this step)
                            if (inside[round] >> step & 1)
                                b_column[round][1 + front - i] = a_column[round][1 + front - i]
                                    + a_planes[turn - 1 & 1][step][j + 1];
                    a_planes[turn & 1][step][j] = a_column[round][1 + 2 * step];
                    barrier;
                }
    #else
    ...                                         the walk in scratchpads
    #endif

All loops around are unrolled, so that places are constants and arrays are registers. Workers wait
once a position: a neighbour's element is at least a position old, and its worker's register does
not change before it is read. So shared memory holds what workers had at the end of a position, for
as many positions as reads lie back.

Each position loads what the next one needs: it computes while memory answers. The first plane is
loaded before the walk.

Where a walk begins and ends, time steps are computed of planes that lie beyond what the tile needs
of them too: nobody reads these values, and no plane of the tile itself is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from math import prod

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.printer import Printer
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

_MOST_WORDS = 64
"""The most 32-bit registers of a worker for queues; with more, a second gang has no room."""

_FEWEST_TURNS = 2
"""The fewest positions in a row between which the compiler renames registers and moves none."""

_AHEAD = 1
"""Positions between the load of a plane and its first use."""

_FULL, _TURN = "full", "turn"


@dataclass(frozen=True)
class _Place:
    """Where a statement of a walk stands: inside the loop over time steps, if any, with `values` of
    scalars that depend on the position.
    """

    position: DataObject
    step: DataObject | None = None
    values: tuple[tuple[DataObject, Polynomial], ...] = ()

    def after(self, node: Declaration) -> _Place:
        """The place behind a declaration."""
        made = ((each.object, each.value) for each in node.declarators)
        values = ((object_, self.at(polynomial(value))) for object_, value in made if value is not None)
        moving = tuple((object_, value) for object_, value in values if access_to(self.position) in value.atoms)
        return replace(self, values=(*self.values, *moving))

    def moves(self, node: object) -> bool:
        """Whether the node depends on the position."""
        return any(mentions(node, object_) for object_ in (self.position, *(object_ for object_, _ in self.values)))

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
        published = self._publish()
        if published is None:
            return
        self.published = published
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
        self.rounds = [numbers.count(loop, loop.tiles[0]) for loop in nests[0].loops]
        words = [
            f"{_bits(pad) // 32} * ({self._length(queue)})" if _bits(pad) > 32 else self._length(queue)
            for pad, queue in self.queues
        ]
        bytes_of_step = self.history * sum(_plane_bytes(each.scratchpad) for each in published)
        columns = " * ".join((*self.rounds, f"({' + '.join(words)})"))
        self.value = f"{columns} <= {_MOST_WORDS} && {bytes_of_step} * {self.time.object.name} <= {local_bytes}"

    def declare(self, writer: Writer) -> None:
        """Declare scratchpads and registers. No worker reads a register before it writes there."""
        local = self.printer.dialect.local_space
        if self.used:
            writer.line(f"#if {self.used}")
            writer.line("/* A worker's columns, the newest plane first; and planes for its neighbours. */")
            places = "".join(f"[{count}]" for count in self.rounds)
            for pad, queue in self.queues:
                inner = f"{self.printer.name(queue.object)}{places}[{self._length(queue)}]"
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

    def _length(self, queue: RegisterQueue) -> str:
        """The registers of a column: its planes in time steps, and those that are loaded ahead."""
        return f"{queue.planes - queue.shift * queue.steps + _AHEAD} + {queue.shift} * {self.time.object.name}"

    def print_walk(self, writer: Writer, loop: Loop, print_block: Callable[[Block], None]) -> None:
        """Print the loop over positions."""
        walked, places = _Walk(self, loop), "".join(f"[{count}]" for count in self.rounds)
        index, first, last = self.printer.type(INDEX), walked.first.object.name, walked.last.object.name
        writer.line("/* The steps in whose part of the tile a column lies, a bit each. */")
        for mask in walked.masks:
            writer.line(f"int {mask.object.name}{places} = {{0}};")
        writer.line("/* From the first to the last of these positions all planes lie in the tile. */")
        lower, upper = (self.printer.expression(bound, 1) for bound in (loop.lower, loop.upper))
        for name, bound in ((first, lower), (last, upper)):
            writer.line(f"{index} {name} = {bound};")
        print_block(Block(walked.before))
        turns = max(self.history, _FEWEST_TURNS)
        start, full, turn = (self.numbers.fresh(name) for name in (f"{loop.iterator.name}_start", _FULL, _TURN))
        iterator, unroll = self.printer.scalar(loop.iterator), self.printer.dialect.unroll
        writer.line(f"/* All workers run the loop over {iterator} in step, and meet at its barriers. */")
        writer.line("/* What the first position computes with. */")
        with writer.block(f"for ({index} {iterator} = {lower} - {_AHEAD}; {iterator} < {lower}; ++{iterator})"):
            writer.line(f"const int {full} = 0;")
            self._shift_all(writer)
            print_block(Block(walked.ahead))
        head = f"for ({index} {start} = {lower}; {start} <= {upper}; {start} += {turns})"
        with writer.block(head):
            writer.line(unroll)
            writer.line(f"for (int {full} = 1; {full} >= 0; --{full})")
            writer.depth += 1
            with writer.block(f"if ({full} == ({first} <= {start} && {start} + {turns - 1} <= {last}))"):
                writer.line(unroll)
                with writer.block(f"for (int {turn} = 0; {turn} < {turns}; ++{turn})"):
                    writer.line(f"const {index} {iterator} = {start} + {turn};")
                    writer.line(f"if (!{full} && {iterator} > {upper}) break;")
                    self._shift_all(writer)
                    print_block(Block(walked.at))
            writer.depth -= 1

    def _shift_all(self, writer: Writer) -> None:
        """Move the planes of all columns on by a position."""
        for _, queue in self.queues:
            self._shift(writer, self.printer.name(queue.object), self._length(queue))

    def _shift(self, writer: Writer, name: str, length: str) -> None:
        unroll = self.printer.dialect.unroll
        rounds = [self.numbers.fresh(f"round{place}") for place in range(len(self.rounds))]
        plane, depth = self.numbers.fresh("plane"), writer.depth
        places = "".join(f"[{round_}]" for round_ in rounds)
        for round_name, count in zip(rounds, self.rounds, strict=True):
            writer.line(unroll)
            writer.line(f"for (int {round_name} = 0; {round_name} < {count}; ++{round_name})")
            writer.depth += 1
        writer.line(unroll)
        writer.line(f"for (int {plane} = {length} - 1; {plane} > 0; --{plane})")
        writer.line(f"    {name}{places}[{plane}] = {name}{places}[{plane} - 1];")
        writer.depth = depth

    # -- planes that neighbours read

    def _publish(self) -> tuple[_Published, ...] | None:
        """What workers read of others' columns; None where this is not understood."""
        (position,) = {queue.position for _, queue in self.queues}
        walks = [node for node in walk(self.launch.body) if isinstance(node, Loop) and node.iterator == position]
        uses = [use for loop in walks for use in _uses(loop.body.statements, _Place(position))]
        self.steps = {place.step for _, place in uses if place.step is not None}
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
            planes = replace(pad.object, name=self.numbers.fresh(f"{pad.array.name}_planes"))
            groups = _grouped({each for each in reads if each}, {each for each in writes if each}, queue.steps)
            for group, (factor, first, span) in enumerate(groups):
                if first < 1:
                    return None
                published.append(_Published(pad, queue, planes, factor, first, span, group))
        return tuple(published)

    def _planes(self) -> Iterator[DataObject]:
        """The arrays of published planes."""
        for pad, _ in self.queues:
            groups = [each for each in self.published if each.scratchpad == pad]
            if groups:
                slots = expression(number(len(groups)) * of_atom(self.time), INDEX)
                yield replace(groups[0].planes, lengths=(integer(self.history), slots, *pad.object.lengths[1:]))


class _Walk:
    """The statements of a walk with planes in registers, `before` it and `at` a position.

    `full` tells whether all planes of the position pass their tests, as they do from `first` to
    `last`. `turn` counts positions in a row. `masks` tell which steps' tests a column passes.
    """

    def __init__(self, queues: RegisterQueuePrinter, loop: Loop) -> None:
        self.queues, self.position = queues, loop.iterator
        fresh, name = queues.numbers.fresh, loop.iterator.name
        self.full, self.turn = (local_scalar(fresh(each), INT) for each in (_FULL, _TURN))
        self.first, self.last = (local_scalar(fresh(f"{name}_{end}"), INDEX) for end in ("first", "last"))
        self.masks: list[Access] = []
        self.tile = queues.queues[0][1].first if all(map(_cannot_trap, walk(loop.body))) else None
        place, statements = _Place(loop.iterator), self._loaded_ahead(loop.body.statements)
        self.before = tuple(self._before(statements, place))
        self._left = iter(self.masks)
        self.ahead = tuple(self._at(self._fill(statements), place))
        self._left = iter(self.masks)
        nest = next(node for node in nests_in(loop.body) if _to_workers(node))
        steps = next(node for node in walk(loop.body) if isinstance(node, Loop) and queues.is_unrolled(node))
        published = (self._published(each, nest, steps.iterator) for each in queues.published)
        inner = Block((replace(steps, body=Block(tuple(published))),))
        work = self._at(statements[:-1], place)
        self.at = (*work, replace(nest, body=inner), statements[-1])

    def _fill(self, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The first of the statements, up to the nest that fills columns from arrays."""
        end = next(place for place, node in enumerate(statements) if isinstance(node, TileNest))
        return statements[: end + 1]

    def _loaded_ahead(self, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The statements, with the first nest filling columns from planes ahead of the position."""
        fill = self._fill(statements)

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

        return (*map(moved, fill), *statements[len(fill) :])

    def _published(self, each: _Published, nest: TileNest, step: DataObject) -> Statement:
        """Let others read what the worker has at the end of the position."""
        place = of_atom(access_to(step))
        subscripts = (
            self._kept(0),
            self._slot(each, step),
            *(access_to(loop.loop.iterator) for loop in nest.loops),
        )
        behind = expression(number(each.factor) * place + number(each.first - 1 + _AHEAD), INDEX)
        return assign(
            Access(each.planes, subscripts, (), each.planes.element),
            Access(_flat(each.queue.object), (*self.queues.round_of(nest), behind), (), each.planes.element),
        )

    def _slot(self, each: _Published, step: DataObject) -> Expression:
        """The place of a step's plane among those of a position."""
        return expression(of_atom(access_to(step)) + number(each.group) * of_atom(self.queues.time), INDEX)

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
                    yield replace(node, body=Block(tuple(inner)))
                case If() if any(map(_to_workers, nests_in(node.then))):
                    yield from self._limits_of_planes(node.condition, place)
                    yield from self._before(node.then.statements, place)
                case Block():
                    yield from self._before(node.statements, place)
                case TileNest():
                    declarations = [each for each in node.body.statements if not isinstance(each, If)]
                    tests = [each for each in node.body.statements if isinstance(each, If)]
                    columns = [[*self._of_columns(_tests(each), place)] for each in tests]
                    for each in tests:
                        yield from self._limits(_tests(each), place)
                    noted = (self._noted(node, each, place.step) for each in columns)
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

    def _noted(self, nest: TileNest, columns: list[Expression], step: DataObject | None) -> Statement:
        """Note in a mask whether a column passes the tests of the step."""
        mask = local_scalar(self.queues.numbers.fresh(f"inside{len(self.masks) + 1}"), INT)
        self.masks.append(mask)
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
                    yield replace(node, body=Block(_with_names_in_use([*self._of_worker(node, place)])))

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
        return self.tile is not None and mentions(test, self.tile)

    def _of_worker(self, nest: TileNest, place: _Place) -> Iterator[Statement]:
        rounds = self.queues.round_of(nest)
        for node in nest.body.statements:
            if not isinstance(node, If):
                assert isinstance(node, Declaration), "a column is declared and tested"
                place = place.after(node)
                yield node
                continue
            mask, body = replace(next(self._left), subscripts=rounds), _tested(node)
            shifted = mask if place.step is None else Binary(">>", mask, access_to(place.step), INT)
            inside: Expression = Binary("&", shifted, integer(1), INT)
            tests = [*_tests(node)]
            if any(map(place.moves, tests)):
                inside = Conditional(self.full, inside, conjunction(tests), INT)
            yield If(inside, Block(_with_names_in_use([*self._worked(body, place, rounds)])), None)

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
                    return self._register(queue, access, rounds)
                if access.object == pad.object:
                    return self._plane(pad, access, place)
            return access

        target = made.target
        queue = next((queue for pad, queue in self.queues.queues if pad.object == target.object), None)
        placed = with_accesses(target, read) if queue is None else self._register(queue, target, rounds)
        assert isinstance(placed, Access), "an assignment has an object"
        return replace(made, target=placed, value=with_accesses(made.value, read))

    def _register(self, queue: RegisterQueue, access: Access, rounds: tuple[Expression, ...]) -> Access:
        """The register of the element: its plane is the distance behind the position."""
        ring = access.subscripts[0]
        assert isinstance(ring, Binary), "a place in a ring"
        newest = expression(of_atom(access_to(queue.position)) + number(_AHEAD), INDEX)
        behind = Binary("-", newest, ring.left, INDEX)
        return Access(_flat(queue.object), (*rounds, behind), access.path, access.type)

    def _plane(self, pad: Scratchpad, access: Access, place: _Place) -> Access:
        """The element among published planes."""
        behind = place.behind(access)
        assert behind is not None and place.step is not None, "planes are published that all reads are in"
        for each in self.queues.published:
            back = behind[1] - each.first
            if each.scratchpad == pad and each.factor == behind[0] and 0 <= back <= each.span:
                subscripts = (self._kept(back + 1), self._slot(each, place.step), *access.subscripts[1:])
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
                yield from _uses(node.body.statements, place)
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


def _to_workers(nest: TileNest) -> bool:
    return any(axis.kind is AxisKind.WORKER for axis in nest_axes(nest))


def _plane_bytes(scratchpad: Scratchpad) -> int:
    lengths = (literal_value(length) or 1 for length in scratchpad.object.lengths[1:])
    return element_bytes(scratchpad.object) * prod(lengths)


def _bits(scratchpad: Scratchpad) -> int:
    element = scratchpad.object.element
    assert isinstance(element, ScalarType), "scratchpads are of numbers"
    return max(element.bits, 32)
