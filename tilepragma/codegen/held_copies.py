"""Loops in which a worker copies elements of a tile between an array and a scratchpad.

    const tilek_index j_least = …, j_most = …;        /* the row's elements */
    for (tilek_index j_first = j_least + worker; j_first <= j_most; j_first += 3 * stride) {
        float held[3];
        for (int copy = 0; copy < 3; ++copy) {        /* unrolled */
            const tilek_index j = j_first + copy * stride;
            if (j <= j_most) held[copy] = a[…];
        }
        for (int copy …) … if (…) a_box[…] = held[copy];
    }

A worker issues its instructions in order: a store waits for its load, and the next load for the
store. So several loads go first. What is the same for all elements is computed before the loop,
since NVRTC leaves it where it stands. Elements of either of two ranges are those of a single one
but for a gap, which is nearly always empty:

    if (j <= j_to && (j <= j_before || j >= j_behind)) …
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.launch_parameters import LaunchParameters
from tilepragma.codegen.printer import Printer, joined
from tilepragma.codegen.writer import Writer
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Conditional,
    DataObject,
    Expression,
    IntegerLiteral,
    access_to,
    conjunction,
    conjuncts,
    disjunction,
    integer,
    local_scalar,
    operands,
)
from tilepragma.ir.loop_tree import Block, Declaration, ExpressionStatement, If, Initializer
from tilepragma.ir.polynomial import is_scalar
from tilepragma.ir.traversal import objects_in, unwrapped
from tilepragma.ir.types import INDEX, INT, ScalarType

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
class _Range:
    """The elements from `least` to `most`, none if it is less, for which all of `others` hold."""

    least: Expression
    most: Expression
    others: tuple[Expression, ...]


@dataclass(frozen=True)
class CopyLoopPrinter:
    """Prints the loop that copies elements `iterator` from `lower` to before `end`: to a worker
    every `stride`th, where its `place` counts from the first that all workers copy. All are text.
    """

    writer: Writer
    printer: Printer
    numbers: LaunchParameters
    iterator: DataObject
    lower: str
    place: str
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
            ranges = [self._range(tests, varying) for tests in sets]
            if len(ranges) == 1:
                self._loop(copy, *ranges)
            elif len(ranges) == 2 and not any(each.others for each in ranges):
                self._loop(copy, self._joined(*ranges))
            else:
                self._loop(copy, self._all(ranges))

    @property
    def _end(self) -> Access:
        return local_scalar(self.end, self.iterator.element)

    def _all(self, ranges: Sequence[_Range]) -> _Range:
        """From the least element of all ranges to the greatest, with a test of each."""
        element = access_to(self.iterator)
        tests = [
            conjunction((Binary(">=", element, each.least, INT), Binary("<=", element, each.most, INT), *each.others))
            for each in ranges
        ]
        least, most = (
            self._declared(name, reduce(lambda left, right: _extreme(helper, left, right), ends))
            for name, helper, ends in (
                ("from", "minimum", [each.least for each in ranges]),
                ("to", "maximum", [each.most for each in ranges]),
            )
        )
        return _Range(least, most, (disjunction(tests),))

    def _joined(self, first: _Range, second: _Range) -> _Range:
        """From the least element of both ranges to the greatest, without the gap between them. A
        range without elements counts for nothing.
        """
        element = access_to(self.iterator)
        names = self._without_elements(first), self._without_elements(second)

        def end(name: str, left: Expression, right: Expression, both: Expression) -> Expression:
            chosen = Conditional(names[0], right, Conditional(names[1], left, both, INDEX), INDEX)
            return self._declared(name, chosen)

        least = end("from", first.least, second.least, _extreme("minimum", first.least, second.least))
        most = end("to", first.most, second.most, _extreme("maximum", first.most, second.most))
        no_gap = Binary("||", *names, INT)
        before = Conditional(no_gap, most, _extreme("minimum", first.most, second.most), INDEX)
        behind = _extreme("maximum", first.least, second.least)
        outside = (
            Binary("<=", element, self._declared("before", before), INT),
            Binary(">=", element, self._declared("behind", behind), INT),
        )
        return _Range(least, most, (disjunction(outside),))

    def _without_elements(self, range_: _Range) -> Access:
        """A declared truth value."""
        none = local_scalar(self.numbers.once("none"), INT)
        self._declare(replace(none.object, const=True), Binary(">", range_.least, range_.most, INT))
        return none

    def _loop(self, copy: Copy, range_: _Range) -> None:
        writer, printer, once = self.writer, self.printer, self.numbers.once
        first, held, count = once(f"{self.iterator.name}_first"), once("held"), once("copy")
        stride = "" if self.stride == "1" else f" * {self.stride}"
        start, last = printer.type(self.iterator.element, first), printer.expression(range_.most, 11)
        place = " + ".join(part for part in (printer.expression(range_.least, 4), self.place) if part != "0") or "0"
        inside = (Binary("<=", access_to(self.iterator), range_.most, INT), *range_.others)
        condition = printer.condition(conjunction(inside))
        loaded = (f"{held}[{count}]", printer.expression(copy.value))
        stored = (printer.expression(copy.target), f"{held}[{count}]")
        writer.line("#pragma unroll 1")  # ptxas doubles a worker's registers for unrolled copies
        with writer.block(f"for ({start} = {place}; {first} <= {last}; {first} += {AT_ONCE}{stride})"):
            writer.line(f"{printer.type(copy.value.type, f'{held}[{AT_ONCE}]')};")
            for target, value in (loaded, stored):
                writer.line(printer.dialect.unroll)
                with writer.block(f"for (int {count} = 0; {count} < {AT_ONCE}; ++{count})"):
                    writer.line(f"const {printer.typed(self.iterator)} = {first} + {count}{stride};")
                    with writer.block(f"if ({condition})"):
                        for declarator in (each for node in copy.declarations for each in node.declarators):
                            self._declare(declarator.object, declarator.initializer)
                        writer.line(f"{target} = {value};")

    @property
    def _lower(self) -> Access:
        return local_scalar(self.lower, self.iterator.element)

    @property
    def _last(self) -> Expression:
        return Binary("-", self._end, integer(1), self.iterator.element)

    def _range(self, tests: Iterable[Expression], varying: Set[DataObject]) -> _Range:
        """The elements that pass the tests, whose ends are declared. Where none passes tests that
        are the same for all of them, the least is the loop's end.
        """
        element = access_to(self.iterator)
        within = (Binary(">=", element, self._lower, INT), Binary("<=", element, self._last, INT))
        parts = list(conjuncts(joined(conjunction((*within, *tests)))))
        shared = [part for part in parts if varying.isdisjoint(objects_in(part))]
        ends: dict[str, Expression] = {}
        others: list[Expression] = []
        for part in (part for part in parts if part not in shared):
            if (
                isinstance(part, Binary)
                and part.left == element
                and part.operator in (">=", "<=")
                and part.operator not in ends
                and varying.isdisjoint(objects_in(part.right))
            ):
                ends[part.operator] = part.right
            else:
                others.append(part)
        least, most = ends[">="], ends["<="]
        if shared:
            least = Conditional(conjunction(shared), least, self._end, least.type)
        return _Range(self._declared("least", least), self._declared("most", most), tuple(others))

    def _declared(self, name: str, value: Expression) -> Expression:
        if isinstance(value, IntegerLiteral) or is_scalar(value):
            return value
        named = local_scalar(self.numbers.once(f"{self.iterator.name}_{name}"), self.iterator.element)
        self._declare(replace(named.object, const=True), value)
        return named

    def _declare(self, object_: DataObject, value: Initializer | None) -> None:
        text = self.printer.declaration(object_)
        self.writer.line(
            f"{text};" if value is None else f"{text} = {self.printer.initializer(value, object_.element)};"
        )


def _extreme(name: str, left: Expression, right: Expression) -> Expression:
    """The minimum or the maximum of two indices."""
    return left if left == right else Call(f"tilek_{name}", Callee.HELPER, (left, right), INDEX)
