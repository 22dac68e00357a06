"""Proves that copies of reduced arrays are initialised, updated by the user's loop, and combined.

With the user's iterations D = { [i, …] } and those of the loops over copies and runs,
E = { [copy, first, i, …] }:

    { [copy, first, i, …] -> [i, …] } is injective on E, and maps E onto D

The text in the loop is the user's, but for elements of the copy in the place of the array's. The
loops that initialise and combine copies run over all of their elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Cast,
    DataObject,
    Expression,
    FloatingLiteral,
    IntegerLiteral,
    Unary,
    access_to,
    operands,
)
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Block, ExpressionStatement, If, Kernel, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, number, polynomial
from tilepragma.ir.reductions import Updates, reduction_updates
from tilepragma.ir.traversal import unwrapped, walk
from tilepragma.ir.types import ScalarType, unsigned, usual_type
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, OperationLimitError, operation_limit
from tilepragma.poly.scop import ScopStatement
from tilepragma.verify.certificate import NotProvenError
from tilepragma.verify.instances import same_tree

_AROUND = 2
"""The loops over copies and over runs."""


def copied_reduction_faults(kernel: Kernel) -> Iterator[str]:
    """Why loops in copies are not proven to do what the user's do, a sentence each."""
    if kernel.reductions is None:
        return
    for loop, arrays in kernel.reductions.loops:
        try:
            _check(kernel, loop, dict(arrays))
        except (NotProvenError, OperationLimitError) as fault:
            yield f"the loop over '{loop.iterator.host}': {str(fault).rstrip('.')}"


def _check(kernel: Kernel, loop: Loop, operators: dict[DataObject, str]) -> None:
    """Raises NotProvenError or OperationLimitError."""
    for array, operator in operators.items():
        updates = reduction_updates(array, loop.body)
        if not isinstance(updates, Updates) or updates.operator != operator:
            raise NotProvenError(f"'{array.host}' is not only updated by {operator}")
    blocks = (node for node in walk(kernel.body) if isinstance(node, Block))
    places = [(block, place) for block in blocks for place, each in enumerate(block.statements) if _runs(each, loop)]
    if len(places) != 1:
        raise NotProvenError("it is not in one loop over copies")
    block, place = places[0]
    nest = block.statements[place]
    assert isinstance(nest, Loop), "it runs the user's loop"
    *initialising, runs = nest.body.statements
    assert isinstance(runs, Loop), "it has the user's loop inside"
    copies = _Copies(nest, operators)
    (inner,) = runs.body.statements
    if not same_tree(getattr(inner, "body", None), loop.body, copies.decide):
        raise NotProvenError("copies are updated by another text")
    if len(initialising) != len(operators):
        raise NotProvenError("the loop over copies does more than update them")
    for array, operator in operators.items():
        if not any(copies.is_initialised(array, operator, statement) for statement in initialising):
            raise NotProvenError(f"copies of '{array.host}' are not initialised")
        behind = block.statements[place + 1 : place + 1 + len(operators)]
        if sum(copies.is_combined(array, operator, statement) for statement in behind) != 1:
            raise NotProvenError(f"copies of '{array.host}' are not combined")
    if not _has_each_iteration_once(kernel, nest, loop):
        raise NotProvenError("copies do not get each iteration once")


def _runs(statement: Statement, loop: Loop) -> bool:
    """Whether the statement is a loop over copies with the loop in runs at its end."""
    last = statement.body.statements[-1] if isinstance(statement, Loop) and statement.body.statements else None
    inside = last.body.statements if isinstance(last, Loop) else ()
    return len(inside) == 1 and isinstance(inside[0], Loop) and inside[0].index == loop.index


@dataclass
class _Copies:
    """The copies of arrays in a loop over them, and how much less their subscripts are."""

    nest: Loop
    operators: dict[DataObject, str]
    instead: dict[DataObject, tuple[DataObject, tuple[Polynomial, ...]]] = field(default_factory=dict)

    def decide(self, new: Any, old: Any) -> bool | None:
        """Whether an access to a reduced array is one to the element of the copy."""
        if not isinstance(old, Access) or old.object not in self.operators:
            return None
        if not isinstance(new, Access) or len(new.subscripts) != len(old.subscripts) + 1 or new.path != old.path:
            return False
        pairs = zip(old.subscripts, new.subscripts[1:], strict=True)
        place = new.object, tuple(polynomial(before) - polynomial(after) for before, after in pairs)
        is_copy = new.subscripts[0] == access_to(self.nest.iterator)
        return is_copy and self.instead.setdefault(old.object, place) == place

    def is_initialised(self, array: DataObject, operator: str, statement: Statement) -> bool:
        """Whether it is `for (x) copies[copy][x] = identity;`, for all x."""
        copies, _ = self.instead[array]
        iterators, inner = _over_all(statement, copies)
        assignment = _assignment(inner, "=")
        if assignment is None:
            return False
        return _is_neutral(assignment.value, operator) and _is_element(
            assignment.target, copies, (polynomial(access_to(self.nest.iterator)), *iterators)
        )

    def is_combined(self, array: DataObject, operator: str, statement: Statement) -> bool:
        """Whether it is `for (x) array[x] += copies[0][x] + copies[1][x] + …;`, for all x, perhaps
        only where the sum changes something.
        """
        copies, lows = self.instead[array]
        iterators, inner = _over_all(statement, copies)
        update = unwrapped(inner.then) if isinstance(inner, If) and inner.otherwise is None else inner
        assignment = _assignment(update, f"{operator}=")
        if assignment is None:
            return False
        if isinstance(inner, If) and not _tells_changes(inner.condition, assignment.value, operator):
            return False
        parts = list(operands(operator, assignment.value))
        elements = [_is_element(part, copies, (number(copy), *iterators)) for copy, part in enumerate(parts)]
        places = tuple(iterator + low for iterator, low in zip(iterators, lows, strict=True))
        length = copies.lengths[0]
        is_whole = isinstance(length, IntegerLiteral) and len(parts) == length.value and all(elements)
        return is_whole and _is_element(assignment.target, array, places)


def _over_all(statement: Statement, copies: DataObject) -> tuple[tuple[Polynomial, ...], Statement]:
    """The iterators of loops over all elements of a copy, and the statement in them; the statement
    itself, without iterators, if it is no such nest.
    """
    iterators, inner = [], statement
    for length in copies.lengths[1:]:
        if not isinstance(inner, Loop) or length is None or len(inner.body.statements) != 1:
            return (), statement
        bounds = [polynomial(bound) for bound in inner.bounds]
        if inner.comparison != "<" or bounds != [number(0), polynomial(length), number(1)]:
            return (), statement
        iterators.append(polynomial(access_to(inner.iterator)))
        inner = inner.body.statements[0]
    return tuple(iterators), inner


def _assignment(statement: Statement, operator: str) -> Assignment | None:
    value = statement.expression if isinstance(statement, ExpressionStatement) else None
    return value if isinstance(value, Assignment) and value.operator == operator else None


def _tells_changes(condition: Expression, value: Expression, operator: str) -> bool:
    """Whether the condition is that the value is not neutral."""
    if not isinstance(condition, Binary) or (condition.operator, condition.left) != ("!=", value):
        return False
    return _is_neutral(condition.right, operator)


def _is_element(node: Expression, array: DataObject, places: tuple[Polynomial, ...]) -> bool:
    type_ = array.element
    if isinstance(node, Cast) and isinstance(type_, ScalarType) and node.type == unsigned(usual_type(type_, type_)):
        node = node.operand
    if not isinstance(node, Access) or node.object != array or node.path:
        return False
    return tuple(map(polynomial, node.subscripts)) == places


def _is_neutral(value: Expression, operator: str) -> bool:
    """Whether a value changes no other: for sums of floating-point numbers, -0.0."""
    if isinstance(value, Unary) and isinstance(value.operand, FloatingLiteral):
        return operator == "+" and value.operator == "-" and value.operand.value == 0
    return polynomial(value).constant == {"*": 1, "&": -1}.get(operator, 0)


def _has_each_iteration_once(kernel: Kernel, nest: Loop, loop: Loop) -> bool:
    before = kernel.without_copies
    old = extract_scop(before.body.statements, before.functions, written_objects(before))
    new = extract_scop(kernel.body.statements, kernel.functions, written_objects(kernel), context=old.context)
    user, copied = ([each for each in scop.statements if _is_in(each, loop)] for scop in (old, new))
    if len(user) != len(copied):
        return False
    with operation_limit(old.context, DEFAULT_LIMIT, "proving that copies get each iteration once"):
        for statement, copy in zip(user, copied, strict=True):
            place = [around.index for around in copy.loops].index(nest.index)
            kept = copy.domain.reset_tuple_id().identity().project_out(isl.dim_type.out, place, _AROUND)
            if not kept.is_injective() or not kept.range().is_equal(statement.domain.reset_tuple_id()):
                return False
    return True


def _is_in(statement: ScopStatement, loop: Loop) -> bool:
    return any(around.index == loop.index for around in statement.loops)
