"""The passes that bring a region into an equivalent form in which subscripts say more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    DataObject,
    Expression,
    Increment,
    IntegerLiteral,
    Unary,
    is_local_index,
)
from tilepragma.ir.loop_tree import Block, Function, Kernel, Return
from tilepragma.ir.stencil_unrolling import with_unrolled_stencil_loops
from tilepragma.ir.substitution import with_accesses, with_each
from tilepragma.ir.traversal import loop_directives, walk
from tilepragma.ir.types import ScalarType
from tilepragma.normalise.periodic_induction import with_periodic_integers_written_out
from tilepragma.normalise.scalar_privatization import with_private_scalars
from tilepragma.normalise.select_to_arithmetic import with_choices_as_sums
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import SorNest

_Sums = dict[str, tuple[tuple[DataObject, ...], Expression]]


def in_plain_form(kernel: Kernel) -> Kernel:
    """The kernel with unrolled stencils, inlined sums, private integers, and choices as sums."""
    kernel = with_periodic_integers_written_out(with_sums_written_out(with_stencils_written_out(kernel)))
    return with_choices_as_sums(with_private_scalars(kernel))


def with_sums_written_out(kernel: Kernel) -> Kernel:
    """The kernel with calls of functions that only add and multiply integers inlined.

    With `int at(int i, int j, int n) { return i * n + j; }`, `a[at(i, j, n)]` becomes a[i * n + j].
    """
    sums = _sums(kernel.functions)
    if not sums:
        return kernel
    body = with_each(kernel.body, Call, lambda call: _written_out(call, sums))
    return replace(kernel, body=body, functions=tuple(_called(body, kernel.functions)))


def _called(body: Block, functions: tuple[Function, ...]) -> Iterator[Function]:
    """The functions that the body or its callees call; callees stand before their callers."""
    names = _callees(body)
    for function in reversed(functions):
        if function.name in names:
            names |= _callees(function.body)
    return (function for function in functions if function.name in names)


def _callees(node: Block) -> set[str]:
    return {node.function for node in walk(node) if isinstance(node, Call)}


def _sums(functions: Iterable[Function]) -> _Sums:
    """The parameters and the value of each such function, callees first."""
    sums: _Sums = {}
    for function in functions:
        statements = function.body.statements
        if len(statements) != 1 or not isinstance(statements[0], Return) or not _is_integer(function.result):
            continue
        value = with_each(statements[0].value, Call, lambda call: _written_out(call, sums))
        if value is not None and all(map(is_local_index, function.parameters)) and _adds(value, function.parameters):
            result = value if getattr(value, "type", None) == function.result else Cast(function.result, value)
            sums[function.name] = (function.parameters, result)
    return sums


def _adds(value: Expression, parameters: tuple[DataObject, ...]) -> bool:
    """Whether the value consists of parameters and numbers, by sums and products alone."""
    if isinstance(value, IntegerLiteral):
        return True
    if isinstance(value, Access):
        return value.object in parameters and not value.subscripts and not value.path
    if isinstance(value, Unary):
        return value.operator in ("+", "-") and _adds(value.operand, parameters)
    if isinstance(value, Cast):
        return _is_integer(value.type) and _adds(value.operand, parameters)
    if isinstance(value, Binary):
        return value.operator in ("+", "-", "*") and _adds(value.left, parameters) and _adds(value.right, parameters)
    return False


def _is_integer(type_: object) -> bool:
    return isinstance(type_, ScalarType) and type_.is_integer


def _written_out(call: Call, sums: _Sums) -> Expression:
    """What the call returns; the call itself where its arguments have effects."""
    if call.callee is not Callee.USER or call.function not in sums or call.implied:
        return call
    parameters, value = sums[call.function]
    if any(isinstance(node, (Assignment, Increment, Call)) for argument in call.arguments for node in walk(argument)):
        return call
    arguments = {
        parameter: argument
        if getattr(argument, "type", None) == parameter.element
        else Cast(parameter.element, argument)
        for parameter, argument in zip(parameters, call.arguments, strict=True)
    }
    return with_accesses(value, lambda access: arguments[access.object])


def with_stencils_written_out(kernel: Kernel) -> Kernel:
    """The region with loops over a stencil's points unrolled, where it is a relaxation in place.

    Such loops hide which points wait for which. They stay where the user wrote loop directives.
    """
    changed = with_unrolled_stencil_loops(kernel)
    if changed is kernel or loop_directives(kernel.body):
        return kernel
    return changed if any(isinstance(relaxation, SorNest) for relaxation in relaxations(kernel)) else kernel
