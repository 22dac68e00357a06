"""The passes that bring a region into an equivalent form in which subscripts say more.

Choices between cells become sums: `up = y > 0 ? k - w : k` is k + (y > 0 ? -1 : 0) * w. Such a sum
can be delinearised once k can. What only one side evaluates stays in the choice, unless it is a
variable: n / d may divide by zero where that side is not taken. The sum has the value of the user's
expression wherever C defines that value:

    sums of unsigned integers wrap and stay;
    in int a sum has two parts, each of which the user computes as well;
    longer sums, whose parts might not fit, are computed in long, where the value goes into a
    variable or a subscript and nothing depends on its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Comma,
    Conditional,
    DataObject,
    Expression,
    Increment,
    IntegerLiteral,
    Unary,
    is_local_index,
)
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Block, Declarator, Function, Kernel, Return
from tilepragma.ir.polynomial import (
    Monomial,
    Polynomial,
    collected_parts,
    common_term,
    divide,
    expression,
    is_scalar,
    of_atom,
    polynomial,
)
from tilepragma.ir.stencil_unrolling import with_unrolled_stencil_loops
from tilepragma.ir.substitution import with_accesses, with_each
from tilepragma.ir.traversal import loop_directives, walk
from tilepragma.ir.types import INT, LONG, ScalarType, is_integer, is_signed_int
from tilepragma.normalise.induction_variables import with_induction_variables_written_out
from tilepragma.normalise.privatization import in_subscripts, with_private_scalars
from tilepragma.patterns.recognition import relaxations
from tilepragma.patterns.relaxation import SorNest


@dataclass(frozen=True)
class _Sum:
    """What a function returns that only adds and multiplies its parameters."""

    parameters: tuple[DataObject, ...]
    value: Expression


_Sums = dict[str, _Sum]


def in_plain_form(kernel: Kernel) -> Kernel:
    """The kernel with unrolled stencils, inlined sums, private integers, and choices as sums."""
    kernel = with_induction_variables_written_out(with_sums_written_out(with_stencils_written_out(kernel)))
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
    """What functions return that only add and multiply integers, by name, callees first."""
    sums: _Sums = {}
    for function in functions:
        statements = function.body.statements
        if len(statements) != 1 or not isinstance(statements[0], Return) or not is_integer(function.result):
            continue
        value = with_each(statements[0].value, Call, lambda call: _written_out(call, sums))
        if value is not None and all(map(is_local_index, function.parameters)) and _adds(value, function.parameters):
            result = value if getattr(value, "type", None) == function.result else Cast(function.result, value)
            sums[function.name] = _Sum(function.parameters, result)
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
        return is_integer(value.type) and _adds(value.operand, parameters)
    if isinstance(value, Binary):
        return value.operator in ("+", "-", "*") and _adds(value.left, parameters) and _adds(value.right, parameters)
    return False


def _written_out(call: Call, sums: _Sums) -> Expression:
    """What the call returns; the call itself where its arguments have effects."""
    if call.callee is not Callee.USER or call.function not in sums or call.implied:
        return call
    sum_ = sums[call.function]
    if any(isinstance(node, (Assignment, Increment, Call)) for argument in call.arguments for node in walk(argument)):
        return call
    arguments: dict[DataObject, Expression] = {}
    for parameter, argument in zip(sum_.parameters, call.arguments, strict=True):
        is_alike = getattr(argument, "type", None) == parameter.element
        arguments[parameter] = argument if is_alike else Cast(parameter.element, argument)
    return with_accesses(sum_.value, lambda access: arguments[access.object])


def with_stencils_written_out(kernel: Kernel) -> Kernel:
    """The region with loops over a stencil's points unrolled, where it is a relaxation in place,
    and where they update an element of an array.

    In relaxations such loops hide which points wait for which. Elsewhere each would be a sweep of
    its own over the array. They stay where the user wrote tiles, or a directive for them.
    """
    changed = with_unrolled_stencil_loops(kernel)
    if changed is kernel or any(directive.tiles for directive in loop_directives(kernel.body)):
        return kernel
    is_relaxation = any(isinstance(relaxation, SorNest) for relaxation in relaxations(kernel))
    return changed if is_relaxation else with_unrolled_stencil_loops(kernel, elements=True)


T = TypeVar("T")
_Terms = tuple[tuple[Monomial, int], ...]


def with_choices_as_sums(kernel: Kernel) -> Kernel:
    """The kernel with the common part of both sides of a choice moved out of it."""
    choices = _Choices(host_evaluable(written_objects(kernel)))
    numbers = in_subscripts(kernel.body)

    def declared(node: Declarator) -> Declarator:
        if node.object not in numbers or node.value is None:
            return node
        return replace(node, initializer=choices.plain(node.value))

    def assigned(node: Assignment) -> Assignment:
        if node.target.object not in numbers:
            return node
        return replace(node, value=choices.plain(node.value) if node.operator == "=" else choices.within(node.value))

    def accessed(node: Access) -> Access:
        return replace(node, subscripts=tuple(map(choices.plain, node.subscripts))) if node.subscripts else node

    body = with_each(with_each(kernel.body, Declarator, declared), Assignment, assigned)
    return replace(kernel, body=with_each(body, Access, accessed))


@dataclass(frozen=True)
class _SplitChoice:
    """A choice that equals `common + factor * step`."""

    common: Polynomial
    factor: Polynomial
    step: Conditional


@dataclass(frozen=True)
class _Choices:
    """`on_host`: whether the launch knows a value, which the kernel never changes."""

    on_host: Callable[[Expression], bool]

    def plain(self, value: Expression) -> Expression:
        """A value whose type does not matter, with its choices as sums."""
        value = self.within(value)
        if not _is_exact(value) or not _is_repeatable(value):
            return value
        whole = polynomial(value)
        for atom in whole.atoms:
            if isinstance(atom, Conditional) and atom.type == INT and whole.split(atom) is not None:
                split = self._split(atom, LONG)
                if split is not None:
                    whole = whole.substitute(atom, split.common + of_atom(split.step) * split.factor)
        return value if whole == polynomial(value) else expression(whole, LONG)

    def within(self, value: T) -> T:
        """A value with those choices as sums that mean the same in their types."""
        return with_each(value, Conditional, self._as_sum)

    def _as_sum(self, choice: Conditional) -> Expression:
        """The choice as a sum of its type; itself where no common part exists."""
        split = self._split(choice, choice.type)
        if split is None:
            return choice
        if choice.type == INT and not _fits(choice, split.common):
            return choice
        type_ = split.step.type
        assert isinstance(type_, ScalarType)
        product: Expression = split.step
        for atom in (atom for monomial, _ in split.factor.terms for atom in monomial):
            product = Binary("*", product, atom if atom.type == type_ else Cast(type_, atom), type_)
        return Binary("+", expression(split.common, type_), product, type_)

    def _split(self, choice: Conditional, type_: object) -> _SplitChoice | None:
        """The parts of a choice, computed in the type; None without a common part."""
        if type_ not in (INT, LONG) or not isinstance(type_, ScalarType) or not _is_repeatable(choice):
            return None
        if not _is_exact(choice.then) or not _is_exact(choice.otherwise):
            return None
        then, otherwise = polynomial(choice.then), polynomial(choice.otherwise)
        common = Polynomial(tuple(term for term in then.terms if term in otherwise.terms))
        if not common.atoms or then == otherwise:
            return None
        then, otherwise = then - common, otherwise - common
        factor = self._common_factor((*then.terms, *otherwise.terms))
        (then, rest), (otherwise, other_rest) = divide(then, factor), divide(otherwise, factor)
        if rest.terms or other_rest.terms:
            return None
        sides = (expression(then, type_), expression(otherwise, type_))
        return _SplitChoice(common, factor, replace(choice, then=sides[0], otherwise=sides[1], type=type_))

    def _common_factor(self, terms: _Terms) -> Polynomial:
        """The product of the invariant variables that divide all terms."""
        atoms = tuple(atom for atom in common_term(terms)[0] if _is_plain(atom) and self.on_host(atom))
        return Polynomial(((atoms, 1),))


def _is_repeatable(value: Expression) -> bool:
    """Whether evaluation has no effect: its parts may run in any order and any number of times."""
    return not any(
        isinstance(node, (Assignment, Increment, AddressOf, Comma))
        or (isinstance(node, Call) and node.callee is Callee.USER)
        for node in walk(value)
    )


def _is_exact(value: Expression) -> bool:
    """Whether `polynomial` collects only signed sums of the value, which do not wrap."""
    parts = collected_parts(value)
    return not parts or ((isinstance(value, Cast) or is_signed_int(value.type)) and all(map(_is_exact, parts)))


def _is_plain(atom: Expression) -> bool:
    """Whether the atom is a variable's value, which can be read anywhere."""
    if isinstance(atom, Cast):
        return is_integer(atom.type) and is_integer(atom.operand.type) and _is_plain(atom.operand)
    return is_scalar(atom)


def _fits(choice: Conditional, common: Polynomial) -> bool:
    """Whether the common part and each side's rest are single products, which the user computes."""
    rests = (polynomial(side) - common for side in (choice.then, choice.otherwise))
    return _is_product(common.terms) and all(not rest.terms or _is_product(rest.terms) for rest in rests)


def _is_product(terms: _Terms) -> bool:
    """Whether the terms are one product of atoms, or one number that fits an int."""
    (monomial, coefficient), *others = terms
    return not others and (abs(coefficient) == 1 if monomial else abs(coefficient) < 1 << (INT.bits - 1))
