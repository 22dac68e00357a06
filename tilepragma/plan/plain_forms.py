"""The forms in which regions are planned: those that mean the same as the user's, and say more about where elements are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from tilepragma.base.remembered import text_once
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Conditional,
    DataObject,
    Expression,
    Increment,
    IntegerLiteral,
    Unary,
    is_local_index,
)
from tilepragma.ir.looptree import Block, Declarator, Function, Kernel, Return
from tilepragma.ir.polynomial import Monomial, Polynomial, divide, expression, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses, with_each
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.plan.alternating_integers import with_alternations_written_out
from tilepragma.plan.inner_scalars import in_subscripts, with_inner_scalars
from tilepragma.plan.invariance import host_evaluable, written_objects
from tilepragma.plan.relaxation_clauses import with_stencils_written_out

T = TypeVar("T")
_Sums = dict[str, tuple[tuple[DataObject, ...], Expression]]


def in_plain_form(kernel: Kernel) -> Kernel:
    """The kernel with stencils, sums that functions return, and integers that alternate written out, integers declared where they are used, and
    choices between neighbours as sums.
    """
    kernel = with_alternations_written_out(with_sums_written_out(with_stencils_written_out(kernel)))
    return with_choices_as_sums(with_inner_scalars(kernel))


def with_sums_written_out(kernel: Kernel) -> Kernel:
    """The kernel with what functions return that only add and multiply their integers in the place of their calls:
    `a[at(i, j, n)]` with `int at(int i, int j, int n) { return i * n + j; }` is a[i * n + j].
    """
    sums = _sums(kernel.functions)
    if not sums:
        return kernel
    body = with_each(kernel.body, Call, lambda call: _written_out(call, sums))
    return replace(kernel, body=body, functions=tuple(_called(body, kernel.functions)))


def _called(body: Block, functions: tuple[Function, ...]) -> Iterator[Function]:
    """Those of the functions that the body calls, or that these call; callees stand before their callers."""
    names = _callees(body)
    for function in reversed(functions):
        if function.name in names:
            names |= _callees(function.body)
    return (one for one in functions if one.name in names)


def _callees(node: Block) -> set[str]:
    return {one.function for one in walk(node) if isinstance(one, Call)}


def _sums(functions: Iterable[Function]) -> _Sums:
    """The parameters and the value of those functions, callees first."""
    sums: _Sums = {}
    for function in functions:
        statements = function.body.statements
        if len(statements) != 1 or not isinstance(statements[0], Return) or not _is_integer(function.result):
            continue
        value = with_each(statements[0].value, Call, lambda call: _written_out(call, sums))
        if value is not None and all(map(is_local_index, function.parameters)) and _adds(value, function.parameters):
            own = value if getattr(value, "type", None) == function.result else Cast(function.result, value)
            sums[function.name] = (function.parameters, own)
    return sums


def _adds(value: Expression, parameters: tuple[DataObject, ...]) -> bool:
    """Whether the value is made of the parameters and numbers by sums and products alone."""
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
    """What the call returns; the call itself where its arguments do something."""
    if call.callee is not Callee.USER or call.function not in sums or call.implied:
        return call
    parameters, value = sums[call.function]
    if any(isinstance(node, (Assignment, Increment, Call)) for one in call.arguments for node in walk(one)):
        return call
    arguments = {
        one: given if getattr(given, "type", None) == one.element else Cast(one.element, given)
        for one, given in zip(parameters, call.arguments, strict=True)
    }
    return with_accesses(value, lambda access: arguments[access.object])


def with_choices_as_sums(kernel: Kernel) -> Kernel:
    """The kernel with what both sides of a choice between cells have in common outside of it: `up = y > 0 ? k - w : k` is
    k + w * (y > 0 ? -1 : 0), which can be taken apart into rows and columns once k can.
    """
    on_host = host_evaluable(written_objects(kernel))
    numbers = in_subscripts(kernel.body)

    def plain(value: T) -> T:
        return with_each(value, Conditional, lambda choice: _as_sum(choice, on_host))

    def declared(node: Declarator) -> Declarator:
        return replace(node, initializer=plain(node.initializer)) if node.object in numbers else node

    def assigned(node: Assignment) -> Assignment:
        return replace(node, value=plain(node.value)) if node.target.object in numbers else node

    def accessed(node: Access) -> Access:
        return replace(node, subscripts=plain(node.subscripts)) if node.subscripts else node

    body = with_each(with_each(kernel.body, Declarator, declared), Assignment, assigned)
    return replace(kernel, body=with_each(body, Access, accessed))


def _as_sum(choice: Conditional, on_host: Callable[[Expression], bool]) -> Expression:
    """The choice as a sum with what both sides have in common; itself where that is nothing."""
    if choice.type not in (INT, LONG):
        return choice
    then, otherwise = polynomial(choice.then), polynomial(choice.otherwise)
    common = Polynomial(tuple(term for term in then.terms if term in otherwise.terms))
    if not common.atoms or then == otherwise:
        return choice
    then, otherwise = then - common, otherwise - common
    factor = _common_factor((*then.terms, *otherwise.terms), on_host)
    steps = [expression(divide(one, factor)[0], choice.type) for one in (then, otherwise)]
    step = of_atom(replace(choice, then=steps[0], otherwise=steps[1]))
    return expression(common + factor * step, choice.type)


def _common_factor(terms: Iterable[tuple[Monomial, int]], on_host: Callable[[Expression], bool]) -> Polynomial:
    """The product of the values that all terms are multiples of, and that stay what they are while the kernel runs."""
    first, *others = (Counter(monomial) for monomial, _ in terms)
    for one in others:
        first &= one
    return Polynomial(((tuple(sorted((atom for atom in first.elements() if on_host(atom)), key=text_once)), 1),))
