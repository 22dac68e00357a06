"""Loops in which a worker copies elements of a tile between an array and a scratchpad.

    const tilek_index j_least = …, j_most = …;        /* what is the same for all elements */
    for (tilek_index j_first = …; j_first < j_end; j_first += 3 * stride) {
        float held[3];
        for (int copy = 0; copy < 3; ++copy) {        /* unrolled */
            const tilek_index j = j_first + copy * stride;
            if (j < j_end && j >= j_least && j <= j_most) held[copy] = a[…];
        }
        for (int copy …) … if (…) a_box[…] = held[copy];
    }

A worker issues its instructions in order: a store waits for its load, and the next load for the
store. So several loads go first. What is the same for all elements is computed before the loop,
since NVRTC leaves it where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from contextlib import ExitStack
from dataclasses import replace

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.printer import Printer, joined
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Conditional,
    DataObject,
    Expression,
    IntegerLiteral,
    access_to,
    conjunction,
    conjuncts,
    disjunction,
    local_scalar,
    operands,
)
from tilepragma.ir.loop_tree import Block, Declaration, ExpressionStatement, If, Initializer
from tilepragma.ir.polynomial import is_scalar
from tilepragma.ir.traversal import objects_in, unwrapped
from tilepragma.ir.types import INT, ScalarType

AT_ONCE = 3
"""Loads ahead of their stores. In GPGPU-Sim 4 sweeps over 64 x 64 floats in one launch, in tiles of
4 x 8 x 16, take 179 163 cycles where nothing is computed before the loop and each store follows its
load; 127 994 with 3 loads at once, 130 356 with 4. ptxas takes 64 registers of sm_80 for 3 loads in
tiles of 8 x 16 x 32, and 67 for 4, with which fewer gangs are resident.
"""


@dataclass(frozen=True)
class Copy:
    """`target = value` behind `declarations`, where all of `tests` hold."""

    tests: tuple[Expression, ...]
    declarations: tuple[Declaration, ...]
    target: Access
    value: Access


def copy_of(body: Block) -> Copy | None:
    """What a loop's body copies, if it does nothing else."""
    tests: list[Expression] = []
    inner = unwrapped(body)
    while isinstance(inner, If) and inner.otherwise is None:
        tests += conjuncts(inner.condition)
        inner = unwrapped(inner.then)
    *before, last = inner.statements if isinstance(inner, Block) else (inner,)
    declarations = tuple(statement for statement in before if isinstance(statement, Declaration))
    if len(declarations) < len(before) or not isinstance(last, ExpressionStatement):
        return None
    match last.expression:
        case Assignment("=", target, Access(type=ScalarType()) as value) if value.type == target.type:
            return Copy(tuple(tests), declarations, target, value)
    return None


@dataclass(frozen=True)
class CopyLoopPrinter:
    """Prints the loop that copies the elements `iterator`, every `stride`th from `first` to before
    `end`, all of them text.
    """

    writer: Writer
    printer: Printer
    numbers: LaunchParameters
    iterator: DataObject
    first: str
    end: str
    stride: str

    def print(self, copy: Copy) -> None:
        """Print the loop, behind declarations of what is the same for all elements."""
        varying = {self.iterator, *(each.object for node in copy.declarations for each in node.declarators)}
        shared = [test for test in copy.tests if varying.isdisjoint(objects_in(test))]
        others = [test for test in copy.tests if test not in shared]
        choice = next((test for test in others if isinstance(test, Binary) and test.operator == "||"), None)
        sets = [[test for test in others if test is not choice]]
        if choice is not None:
            sets = [[*sets[0], *conjuncts(part)] for part in operands("||", choice)]
        with ExitStack() as stack:
            if shared:
                stack.enter_context(self.writer.block(f"if ({self.printer.condition(conjunction(shared))})"))
            ranges = [self._range(tests, varying) for tests in sets if tests]
            inside = [self._before_end(), *([disjunction(ranges)] if ranges else [])]
            self._loop(copy, self.printer.condition(conjunction(inside)))

    def _before_end(self) -> Expression:
        return Binary("<", access_to(self.iterator), self._end, INT)

    @property
    def _end(self) -> Access:
        return local_scalar(self.end, self.iterator.element)

    def _loop(self, copy: Copy, condition: str) -> None:
        writer, printer, once = self.writer, self.printer, self.numbers.once
        first, held, count = once(f"{self.iterator.name}_first"), once("held"), once("copy")
        stride = "" if self.stride == "1" else f" * {self.stride}"
        start = printer.type(self.iterator.element, first)
        loaded = (f"{held}[{count}]", printer.expression(copy.value))
        stored = (printer.expression(copy.target), f"{held}[{count}]")
        writer.line("#pragma unroll 1")  # ptxas doubles a worker's registers for unrolled copies
        with writer.block(f"for ({start} = {self.first}; {first} < {self.end}; {first} += {AT_ONCE}{stride})"):
            writer.line(f"{printer.type(copy.value.type, f'{held}[{AT_ONCE}]')};")
            for target, value in (loaded, stored):
                writer.line(printer.dialect.unroll)
                with writer.block(f"for (int {count} = 0; {count} < {AT_ONCE}; ++{count})"):
                    writer.line(f"const {printer.typed(self.iterator)} = {first} + {count}{stride};")
                    with writer.block(f"if ({condition})"):
                        for declarator in (each for node in copy.declarations for each in node.declarators):
                            self._declare(declarator.object, declarator.initializer)
                        writer.line(f"{target} = {value};")

    def _range(self, tests: Iterable[Expression], varying: Set[DataObject]) -> Expression:
        """The tests, with what is the same for all elements declared: the least and the greatest
        element. Where no element passes, the least is the loop's end.
        """
        parts = list(conjuncts(joined(conjunction(tests))))
        shared = [part for part in parts if varying.isdisjoint(objects_in(part))]
        others = [part for part in parts if part not in shared]
        rest: list[Expression] = []
        for part in others:
            if not isinstance(part, Binary) or part.left != access_to(self.iterator) or part.operator not in _ENDS:
                rest.append(part)
                continue
            limit = part.right
            if part.operator == ">=" and shared:
                limit, shared = Conditional(conjunction(shared), limit, self._end, limit.type), []
            rest.append(replace(part, right=self._named(_ENDS[part.operator], limit, varying)))
        return conjunction([*shared, *rest])

    def _named(self, name: str, value: Expression, varying: Set[DataObject]) -> Expression:
        if isinstance(value, IntegerLiteral) or is_scalar(value) or not varying.isdisjoint(objects_in(value)):
            return value
        named = local_scalar(self.numbers.once(f"{self.iterator.name}_{name}"), value.type)
        self._declare(replace(named.object, const=True), value)
        return named

    def _declare(self, object_: DataObject, value: Initializer | None) -> None:
        text = self.printer.declaration(object_)
        self.writer.line(
            f"{text};" if value is None else f"{text} = {self.printer.initializer(value, object_.element)};"
        )


_ENDS = {">=": "least", "<=": "most"}
