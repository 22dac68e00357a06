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
from functools import cached_property

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.launch_numbers import Numbers
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
from tilepragma.ir.loop_tree import Block, ExpressionStatement, If, Loop, Scratchpad, Statement, TileNest
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import walk, with_blocks
from tilepragma.ir.types import INDEX, INT, ScalarType
from tilepragma.plan.kernel_plan import Launch
from tilepragma.user_tiles.coverage import nest_axes

_MOST_WORDS = 64
"""The most 32-bit registers of a worker for queues; with more, a second gang has no room."""


@dataclass(frozen=True)
class RegisterQueueMacros:
    """Macros of an entry point. `used`: whether register queues are used, with the value in
    specialised programs. `rounds`: the rounds of a worker in each distributed loop, with the value
    where queues are used.
    """

    used: str
    value: str
    rounds: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RegisterQueuePrinter:
    """Prints the register queues of one launch. `printer` prints the launch's arrays."""

    launch: Launch
    dialect: Dialect
    numbers: Numbers
    printer: Printer

    @cached_property
    def scratchpads(self) -> tuple[Scratchpad, ...]:
        """The scratchpads that have register queues."""
        return tuple(scratchpad for scratchpad in self.launch.scratchpads if scratchpad.column is not None)

    @cached_property
    def macros(self) -> RegisterQueueMacros | None:
        """The macros; None without queues, or unless rounds are equal constants in all nests."""
        nests = [node for node in walk(self.launch.body) if isinstance(node, TileNest) and _to_workers(node)]
        if not self.scratchpads or len({tuple(loop.distribution_key for loop in nest.loops) for nest in nests}) != 1:
            return None
        nest = nests[0]
        if self.numbers.varies(AxisKind.WORKER) or any(loop in self.numbers.varying for loop in nest.loops):
            return None
        name = self.numbers.fresh(f"{self.launch.name.upper()}_COLUMNS")
        counts = [self.numbers.count(loop, loop.tiles[0]) for loop in nest.loops]
        words = (
            sum(
                scratchpad.column.planes * _bits(scratchpad)
                for scratchpad in self.scratchpads
                if scratchpad.column is not None
            )
            // 32
        )
        rounds = tuple((f"{name}{place}", count) for place, count in enumerate(counts))
        return RegisterQueueMacros(name, " * ".join((*counts, f"{words} <= {_MOST_WORDS}")), rounds)

    @cached_property
    def alone(self) -> frozenset[DataObject]:
        """Scratchpads that are read in registers alone."""
        if self.macros is None:
            return frozenset()
        nodes = tuple(walk(self.launch.body))
        named = Counter(node.object for node in nodes if isinstance(node, Access))
        written = Counter(node.target.object for node in nodes if isinstance(node, Assignment) and node.operator == "=")
        return frozenset(
            scratchpad.object
            for scratchpad in self.scratchpads
            if named[scratchpad.object] == written[scratchpad.object]
        )

    def declare(self, writer: Writer) -> None:
        """Declare scratchpads and registers. No worker reads a register before it writes there."""
        for scratchpad in self.launch.scratchpads:
            object_, first = scratchpad.object, scratchpad.object.lengths[0]
            if self.macros is not None and first is not None and object_ in self.alone:
                length = Conditional(local_scalar(self.macros.used, INT), integer(1), first, INT)
                object_ = replace(object_, lengths=(length, *object_.lengths[1:]))
            writer.line(f"{self.dialect.local_space}{self.printer.declaration(object_)};")
        if self.macros is None:
            return
        writer.line("/* What a worker has of its own columns of the scratchpads, the newest plane first. */")
        for scratchpad in self.scratchpads:
            assert scratchpad.column is not None
            places = "".join(f"[{name}]" for name, _ in self.macros.rounds)
            inner = f"{self.printer.name(scratchpad.column.object)}{places}[{scratchpad.column.planes}]"
            writer.line(f"{self.printer.type(scratchpad.object.element, inner)} = {{0}};")

    def is_position(self, loop: Loop) -> bool:
        """Whether register queues move on by one plane with each round of the loop."""
        return self.macros is not None and any(
            scratchpad.column is not None and scratchpad.column.position == loop.iterator
            for scratchpad in self.scratchpads
        )

    def is_unrolled(self, loop: Loop) -> bool:
        """Whether the loop lies between positions and workers: its iterator selects registers."""
        return (
            self.macros is not None
            and not self.is_position(loop)
            and any(isinstance(node, TileNest) and _to_workers(node) for node in walk(loop.body))
        )

    def move(self, writer: Writer) -> None:
        """Print the moves of the queues at the head of a position."""
        if self.macros is None:
            return
        with writer.block(f"if ({self.macros.used})"):
            for scratchpad in self.scratchpads:
                assert scratchpad.column is not None
                if scratchpad.column.planes > 1:
                    self._move(writer, self.printer.name(scratchpad.column.object), scratchpad.column.planes)

    def _move(self, writer: Writer, name: str, planes: int) -> None:
        assert self.macros is not None
        rounds = [self.numbers.fresh(f"round{place}") for place in range(len(self.macros.rounds))]
        plane, depth = self.numbers.fresh("plane"), writer.depth
        places = "".join(f"[{round_}]" for round_ in rounds)
        for round_name, (count, _) in zip(rounds, self.macros.rounds, strict=True):
            writer.line(self.dialect.unroll)
            writer.line(f"for (int {round_name} = 0; {round_name} < {count}; ++{round_name})")
            writer.depth += 1
        writer.line(self.dialect.unroll)
        writer.line(f"for (int {plane} = {planes - 1}; {plane} > 0; --{plane})")
        writer.line(f"    {name}{places}[{plane}] = {name}{places}[{plane} - 1];")
        writer.depth = depth

    def body(self, block: Block) -> Block:
        """The block with reads of scratchpads replaced by registers, and writes going to both."""
        return self._block(block, ())

    def _block(self, block: Block, rounds: tuple[Expression, ...]) -> Block:
        statements = (new for old in block.statements for new in self._statement(old, rounds))
        return Block(tuple(statements), block.range)

    def _statement(self, node: Statement, rounds: tuple[Expression, ...]) -> Iterator[Statement]:
        if isinstance(node, TileNest) and _to_workers(node):
            rounds = tuple(local_scalar(self.numbers.name(loop, "round"), INT) for loop in node.loops)
        if not isinstance(node, ExpressionStatement):
            yield with_blocks(node, lambda inner: self._block(inner, rounds))
            return
        node = with_accesses(node, lambda access: self._read(access, rounds))
        made = node.expression
        scratchpad = None
        if isinstance(made, Assignment):
            scratchpad = next(
                (scratchpad for scratchpad in self.scratchpads if scratchpad.object == made.target.object), None
            )
        if self.macros is None or scratchpad is None or not isinstance(made, Assignment):
            yield node
            return
        alone = scratchpad.object in self.alone
        store = Assignment(
            "=", self._register(scratchpad, made.target, rounds), made.value if alone else made.target, made.type
        )
        inside = Block((ExpressionStatement(store, node.range),))
        if not alone:
            yield node
        yield If(local_scalar(self.macros.used, INT), inside, Block((node,)) if alone else None)

    def _read(self, access: Access, rounds: tuple[Expression, ...]) -> Expression:
        for scratchpad in self.scratchpads:
            if scratchpad.column is None or scratchpad.column.object != access.object:
                continue
            shared = Access(scratchpad.object, access.subscripts, access.path, access.type)
            if self.macros is None:
                return shared
            used = local_scalar(self.macros.used, INT)
            return Conditional(used, self._register(scratchpad, access, rounds), shared, access.type)
        return access

    def _register(self, scratchpad: Scratchpad, access: Access, rounds: tuple[Expression, ...]) -> Access:
        """The register of the element: its plane is the distance behind the position."""
        ring = access.subscripts[0]
        assert scratchpad.column is not None and isinstance(ring, Binary), "a place in a ring"
        behind = Binary("-", access_to(scratchpad.column.position), ring.left, INDEX)
        column = replace(scratchpad.column.object, scope=Scope.LOCAL, lengths=())
        return Access(column, (*rounds, behind), access.path, access.type)


def _to_workers(nest: TileNest) -> bool:
    return any(axis.kind is AxisKind.WORKER for axis in nest_axes(nest))


def _bits(scratchpad: Scratchpad) -> int:
    element = scratchpad.object.element
    assert isinstance(element, ScalarType), "scratchpads are of numbers"
    return max(element.bits, 32)
