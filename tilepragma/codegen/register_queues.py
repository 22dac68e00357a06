"""Register queues (`RegisterQueue`): scratchpad planes in registers.

A worker of a gang that walks through planes keeps the values that it wrote.

    if (COLUMNS) /* oldest first */ a_column[round][plane] = a_column[round][plane - 1];
    a_scratchpad[i & 15][j] = ...;
    if (COLUMNS) a_column[j_round][i_front - i] = a_scratchpad[i & 15][j];
    ... = (COLUMNS ? a_column[j_round][i_front - (i - 1)] : a_scratchpad[(i - 1) & 15][j]) ...

Where queues are used, a scratchpad whose readers all use registers takes no shared memory:

    if (COLUMNS) { b_column[j_round][i_front - i] = ...; } else { b_scratchpad[i & 15][j] = ...; }

COLUMNS is a constant: 1 in specialised programs whose workers have few columns each. The compiler
then unrolls all loops around, and all places are constants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.printer import Printer
from tilepragma.codegen.writer import Writer
from tilepragma.ir.directives import AxisKind
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Conditional,
    DataObject,
    Expression,
    Scope,
    access_to,
    integer,
    local_scalar,
)
from tilepragma.ir.loop_tree import Block, ExpressionStatement, If, Loop, RegisterQueue, Scratchpad, Statement, TileNest
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import nests_in, walk, with_blocks
from tilepragma.ir.types import INDEX, INT, ScalarType
from tilepragma.plan.kernel_plan import Launch
from tilepragma.user_tiles.coverage import nest_axes

_MOST_WORDS = 64
"""The most 32-bit registers of a worker for queues; with more, a second gang has no room."""


class RegisterQueuePrinter:
    """Prints the scratchpads and register queues of one launch; `printer` prints its arrays.

    `used` is a macro of the entry point: whether register queues are used, with the `value` in
    specialised programs. `rounds` are macros for the rounds of a worker in each distributed loop,
    with the values where queues are used. `used` is empty without queues, and unless rounds are
    equal constants in all nests.
    """

    def __init__(self, launch: Launch, numbers: LaunchParameters, printer: Printer) -> None:
        self.launch, self.numbers, self.printer = launch, numbers, printer
        self.queues = [(pad, pad.column) for pad in launch.scratchpads if pad.column is not None]
        self.used, self.value = "", ""
        self.rounds: list[tuple[str, str]] = []
        self.in_registers: frozenset[DataObject] = frozenset()
        """the scratchpads that are read from registers only"""
        nests = [node for node in walk(launch.body) if isinstance(node, TileNest) and _to_workers(node)]
        if not self.queues or len({tuple(loop.distribution_key for loop in nest.loops) for nest in nests}) != 1:
            return
        nest = nests[0]
        if numbers.varies(AxisKind.WORKER) or any(loop in numbers.varying for loop in nest.loops):
            return
        self.used = numbers.fresh(f"{launch.name.upper()}_COLUMNS")
        counts = [numbers.count(loop, loop.tiles[0]) for loop in nest.loops]
        words = sum(queue.planes * _bits(scratchpad) for scratchpad, queue in self.queues) // 32
        self.rounds = [(f"{self.used}{place}", count) for place, count in enumerate(counts)]
        self.value = " * ".join((*counts, f"{words} <= {_MOST_WORDS}"))
        nodes = tuple(walk(launch.body))
        named = Counter(node.object for node in nodes if isinstance(node, Access))
        written = Counter(node.target.object for node in nodes if isinstance(node, Assignment) and node.operator == "=")
        self.in_registers = frozenset(pad.object for pad, _ in self.queues if named[pad.object] == written[pad.object])

    def declare(self, writer: Writer) -> None:
        """Declare scratchpads and registers. No worker reads a register before it writes there."""
        for scratchpad in self.launch.scratchpads:
            object_, first = scratchpad.object, scratchpad.object.lengths[0]
            if first is not None and object_ in self.in_registers:
                length = Conditional(local_scalar(self.used, INT), integer(1), first, INT)
                object_ = replace(object_, lengths=(length, *object_.lengths[1:]))
            writer.line(f"{self.printer.dialect.local_space}{self.printer.declaration(object_)};")
        if not self.used:
            return
        writer.line("/* A worker's columns of the scratchpads, the newest plane first. */")
        for scratchpad, queue in self.queues:
            places = "".join(f"[{name}]" for name, _ in self.rounds)
            inner = f"{self.printer.name(queue.object)}{places}[{queue.planes}]"
            writer.line(f"{self.printer.type(scratchpad.object.element, inner)} = {{0}};")

    def is_position(self, loop: Loop) -> bool:
        """Whether each iteration of the loop shifts register queues by a plane."""
        return bool(self.used) and any(queue.position == loop.iterator for _, queue in self.queues)

    def is_unrolled(self, loop: Loop) -> bool:
        """Whether the loop lies between positions and workers: its iterator selects registers."""
        return bool(self.used) and not self.is_position(loop) and any(map(_to_workers, nests_in(loop.body)))

    def shift(self, writer: Writer) -> None:
        """Shift the queues by a plane, at the head of a position."""
        with writer.block(f"if ({self.used})"):
            for _, queue in self.queues:
                if queue.planes > 1:
                    self._shift(writer, self.printer.name(queue.object), queue.planes)

    def _shift(self, writer: Writer, name: str, planes: int) -> None:
        unroll = self.printer.dialect.unroll
        rounds = [self.numbers.fresh(f"round{place}") for place in range(len(self.rounds))]
        plane, depth = self.numbers.fresh("plane"), writer.depth
        places = "".join(f"[{round_}]" for round_ in rounds)
        for round_name, (count, _) in zip(rounds, self.rounds, strict=True):
            writer.line(unroll)
            writer.line(f"for (int {round_name} = 0; {round_name} < {count}; ++{round_name})")
            writer.depth += 1
        writer.line(unroll)
        writer.line(f"for (int {plane} = {planes - 1}; {plane} > 0; --{plane})")
        writer.line(f"    {name}{places}[{plane}] = {name}{places}[{plane} - 1];")
        writer.depth = depth

    def body(self, block: Block, rounds: tuple[Expression, ...] = ()) -> Block:
        """The block with reads of scratchpads replaced by registers, and writes going to both.
        `rounds` are those of the nest around.
        """
        statements = (new for old in block.statements for new in self._statement(old, rounds))
        return Block(tuple(statements), block.range)

    def _statement(self, node: Statement, rounds: tuple[Expression, ...]) -> Iterator[Statement]:
        if isinstance(node, TileNest) and _to_workers(node):
            rounds = tuple(local_scalar(self.numbers.name(loop, "round"), INT) for loop in node.loops)
        if not isinstance(node, ExpressionStatement):
            yield with_blocks(node, lambda inner: self.body(inner, rounds))
            return
        node = with_accesses(node, lambda access: self._read(access, rounds))
        made = node.expression
        queue = None
        if self.used and isinstance(made, Assignment):
            queue = next((queue for pad, queue in self.queues if pad.object == made.target.object), None)
        if queue is None or not isinstance(made, Assignment):
            yield node
            return
        in_registers = made.target.object in self.in_registers
        register = _register(queue, made.target, rounds)
        store = Assignment("=", register, made.value if in_registers else made.target, made.type)
        inside = Block((ExpressionStatement(store, node.range),))
        if not in_registers:
            yield node
        yield If(local_scalar(self.used, INT), inside, Block((node,)) if in_registers else None)

    def _read(self, access: Access, rounds: tuple[Expression, ...]) -> Expression:
        for scratchpad, queue in self.queues:
            if queue.object != access.object:
                continue
            shared = Access(scratchpad.object, access.subscripts, access.path, access.type)
            if not self.used:
                return shared
            return Conditional(local_scalar(self.used, INT), _register(queue, access, rounds), shared, access.type)
        return access


def _register(queue: RegisterQueue, access: Access, rounds: tuple[Expression, ...]) -> Access:
    """The register of the element: its plane is the distance behind the position."""
    ring = access.subscripts[0]
    assert isinstance(ring, Binary), "a place in a ring"
    behind = Binary("-", access_to(queue.position), ring.left, INDEX)
    column = replace(queue.object, scope=Scope.LOCAL, lengths=())
    return Access(column, (*rounds, behind), access.path, access.type)


def _to_workers(nest: TileNest) -> bool:
    return any(axis.kind is AxisKind.WORKER for axis in nest_axes(nest))


def _bits(scratchpad: Scratchpad) -> int:
    element = scratchpad.object.element
    assert isinstance(element, ScalarType), "scratchpads are of numbers"
    return max(element.bits, 32)
