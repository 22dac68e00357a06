"""Integers that alternate between two values from one round of a loop to the next, written out as
sums of iterators.

    s = 1;                                          for (p = 0; p < 2; p++)
    for (p = 0; p < 2; p++) {                           for (i = 1; i < n; i++)
        c = s;                                              for (j = 1 + (p + i - 1) % 2; j < n; j += 2)
        for (i = 1; i < n; i++) {                               …;
            for (j = c; j < n; j += 2) …;
            c = 3 - c;
        }
        s = 3 - s;
    }

Programs that go through a mesh colour by colour keep so where a row begins (`c = 3 - c`, `c = 1 -
c`, `c = !c`, `c ^= 1`). As it is written each round needs what the one before has left. With

    T the change that one round makes,  T(T(v)) = v,          value in round k  =  v for even k, T(v) for odd k

the rounds need nothing of each other. Values are followed through the region's text: v is what was
assigned before the loop, or what the integer has when the region begins, and T is tried on v. Where
a value is not known, or someone reads it after the region, the integer stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TypeVar

from tilepragma.base.diagnostics import Diagnostic, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import function_uses, implied_objects, leaves_early, uses
from tilepragma.ir.evaluation import Evaluation, UncountableError
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Conditional,
    DataObject,
    Expression,
    Increment,
    Scope,
    Storage,
    Unary,
    access_to,
    integer,
)
from tilepragma.ir.loop_tree import Block, Declaration, ExpressionStatement, If, Kernel, Loop, Statement
from tilepragma.ir.polynomial import Polynomial, expression, is_scalar, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses, with_objects
from tilepragma.ir.traversal import flat, loops_and_tiled, mentions, named_in_clauses, walk
from tilepragma.ir.types import INT, LONG
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.normalise.scalar_privatization import in_subscripts

T = TypeVar("T")


def with_alternations_written_out(kernel: Kernel) -> Kernel:
    """The kernel without the integers whose values are known throughout; the very same object where none alternates."""
    followed = frozenset(_candidates(kernel))
    while any(_alternates(loop, one) for loop in loops_and_tiled(kernel.body) for one in followed):
        try:
            body = _Following(kernel, followed).body()
        except _UnknownError as unknown:
            followed -= {unknown.object}
            continue
        kept = {node.object for node in walk(body) if isinstance(node, Access)}
        return replace(
            kernel,
            body=body,
            objects=tuple(object_ for object_ in kernel.objects if object_ in kept or object_ not in followed),
        )
    return kernel


def left_alternating(kernel: Kernel) -> Iterator[Diagnostic]:
    """A note for every integer that each round of some loop turns back into what it was two rounds ago, and that is not written out."""
    needed = in_subscripts(kernel.body)
    needed |= {node.object for loop in loops_and_tiled(kernel.body) for node in _accesses((loop.lower, loop.upper))}
    for loop in loops_and_tiled(kernel.body):
        for one in _of_a_round(loop.body):
            found = one.expression if isinstance(one, ExpressionStatement) else None
            if not isinstance(found, Assignment) or found.target.object not in needed or not _turns_back(found):
                continue
            name, over = found.target.object.host, loop.iterator.host
            if found.target.object.name in kernel.read_after:
                why = "its value may be read after the kernel"
                remedy = f"let a variable of the region's own begin with it ('int row = {name};' behind the pragma, in braces)"
            else:
                why = "its value is not known in all rounds, or not all of them change it"
                remedy = f"write what it is in terms of '{over}', as in '(first + {over}) % 2'"
            message = f"'{name}' hands on from round to round of the loop over '{over}' which elements are next: {why}"
            yield Diagnostic(Severity.NOTE, found.range, f"{message}; {remedy}")


def _of_a_round(block: Block) -> Iterator[Statement]:
    """The statements of a loop's body, those under conditions too, that are no part of loops inside."""
    ahead: list[Statement] = [block]
    while ahead:
        current = ahead.pop()
        if isinstance(current, Block):
            ahead.extend(reversed(current.statements))
            continue
        yield current
        if isinstance(current, If):
            ahead.extend(branch for branch in (current.otherwise, current.then) if branch is not None)


def _accesses(nodes: Iterable[Expression]) -> Iterator[Access]:
    return (node for one in nodes for node in walk(one) if isinstance(node, Access))


def _turns_back(assignment: Assignment) -> bool:
    """Whether the integer has its value again when this is done twice: `c - s`, `-s`, `!s`, `s ^ c`, `(s + 1) % 2`."""
    target, value = assignment.target, _whole_value(assignment)
    if isinstance(value, Binary) and value.operator in ("^", "%") and mentions(value.left, target.object):
        return value.operator == "^" or polynomial(value.right).constant == 2
    if isinstance(value, Unary) and value.operator == "!":
        return value.operand == target
    parts = polynomial(value).split(target)
    return parts is not None and parts[0].constant == -1


def _candidates(kernel: Kernel) -> Iterator[DataObject]:
    """The integers of the region that only its own statements write, and nobody reads after it."""
    said = named_in_clauses(kernel.directive, kernel.body)
    elsewhere = {use.object for use in function_uses(kernel.functions)} | implied_objects(kernel.body)
    elsewhere |= {node.target.object for node in walk(kernel.body) if isinstance(node, AddressOf)}
    elsewhere |= {loop.iterator for loop in loops_and_tiled(kernel.body)}
    for one in dict.fromkeys(use.object for use in uses(kernel.body, kernel.functions) if use.writes):
        plain = one.storage is Storage.SCALAR and one.element in (INT, LONG) and not one.volatile
        if plain and one not in elsewhere and one.host not in said and one.name not in kernel.read_after:
            yield one


def _alternates(loop: Loop, object_: DataObject) -> bool:
    """Whether each round of the loop computes the integer from what it was."""
    return any(
        isinstance(one, ExpressionStatement)
        and isinstance(one.expression, Assignment)
        and one.expression.target == access_to(object_)
        and (one.expression.operator != "=" or mentions(one.expression.value, object_))
        for one in flat(loop.body.statements)
    )


class _UnknownError(Exception):
    """An integer is read where its value is not known, or written in a way that is not followed."""

    def __init__(self, object_: DataObject) -> None:
        super().__init__(object_.host)
        self.object = object_


@dataclass(frozen=True)
class _Value:
    """`even` where `parity`, which is never negative, is even, else `odd`."""

    even: Polynomial
    odd: Polynomial
    parity: Polynomial = field(default_factory=lambda: number(0))

    @property
    def alone(self) -> bool:
        """Whether there is but one value."""
        return self.even == self.odd

    def text(self, like: DataObject) -> Expression:
        """C for it, of the type of an integer."""
        if self.alone:
            return typed_sum(self.even, like)
        constant = next((factor for product, factor in self.parity.terms if not product), 0)
        plain = typed_sum(self.parity + number(constant % 2 - constant if constant < 0 else 0), like)
        type_ = LONG if LONG in (plain.type, like.element) else INT
        parity, distance = Binary("%", plain, integer(2), type_), self.odd - self.even
        if distance.constant is not None:
            return expression(self.even + of_atom(parity) * distance, type_)
        is_odd = Binary("!=", parity, integer(0), INT)
        return Conditional(is_odd, typed_sum(self.odd, like), typed_sum(self.even, like), like.element)


_Values = dict[DataObject, _Value]
"""What is known of integers; of those that are missing nothing is"""


@dataclass
class _Following:
    """Goes through a region with the values of the integers that are `followed`. `writing`: text is
    written for what is read; else only their values are of interest.
    """

    kernel: Kernel
    followed: frozenset[DataObject]
    writing: bool = True
    written: frozenset[DataObject] = field(init=False)

    def __post_init__(self) -> None:
        self.written = frozenset(use.object for use in uses(self.kernel.body, self.kernel.functions) if use.writes)

    def body(self) -> Block:
        """The region without these integers, but for the values that they have when it begins. Raises _UnknownError."""
        first = {
            one: replace(one, name=f"{one.name} at first") for one in self.followed if one.scope is not Scope.LOCAL
        }
        values = {one: _Value(of_atom(access_to(new)), of_atom(access_to(new))) for one, new in first.items()}
        body = self._block(self.kernel.body, values, ())
        return with_objects(body, {new: one for one, new in first.items()})

    def _block(self, block: Block, values: _Values, around: tuple[DataObject, ...]) -> Block:
        """The block's statements with what is known before each, which it leaves in `values`; `around` are the iterators of the loops around."""
        statements = tuple(new for statement in block.statements for new in self._statement(statement, values, around))
        return replace(block, statements=statements)

    def _statement(self, one: Statement, values: _Values, around: tuple[DataObject, ...]) -> Iterator[Statement]:
        if isinstance(one, Block):
            yield self._block(one, values, around)
        elif isinstance(one, Loop):
            yield self._loop(one, values, around)
        elif isinstance(one, If):
            yield self._if(one, values, around)
        elif isinstance(one, Declaration) and any(each.object in self.followed for each in one.declarators):
            yield from self._declaration(one, values, around)
        elif isinstance(one, ExpressionStatement) and _target(one) in self.followed:
            self._assign(one, values, around)
        else:
            for use in uses(one, self.kernel.functions):
                if use.writes and use.object in self.followed:
                    raise _UnknownError(use.object)
            yield self._instead(one, values)

    def _declaration(self, one: Declaration, values: _Values, around: tuple[DataObject, ...]) -> Iterator[Statement]:
        kept = []
        for each in one.declarators:
            if each.object not in self.followed:
                kept.append(self._instead(each, values))
                continue
            initial = each.initializer
            known = None if initial is None or isinstance(initial, tuple) else self._value(initial, values, around)
            _set(values, each.object, known)
        if kept:
            yield replace(one, declarators=tuple(kept))

    def _assign(self, one: ExpressionStatement, values: _Values, around: tuple[DataObject, ...]) -> None:
        assignment = one.expression
        assert isinstance(assignment, Assignment)
        _set(values, assignment.target.object, self._value(_whole_value(assignment), values, around))

    def _if(self, one: If, values: _Values, around: tuple[DataObject, ...]) -> Statement:
        condition = self._instead(one.condition, values)
        then = self._block(one.then, dict(values), around)
        otherwise = None if one.otherwise is None else self._block(one.otherwise, dict(values), around)
        for object_ in self._changed(one):
            values.pop(object_, None)
        return replace(one, condition=condition, then=then, otherwise=otherwise)

    def _changed(self, one: Statement) -> list[DataObject]:
        """The integers that a statement writes."""
        return [use.object for use in uses(one, self.kernel.functions) if use.writes and use.object in self.followed]

    # -- loops

    def _loop(self, loop: Loop, values: _Values, around: tuple[DataObject, ...]) -> Loop:
        bounds = [self._instead(one, values) for one in (loop.lower, loop.upper, loop.step)]
        loop = replace(loop, lower=bounds[0], upper=bounds[1], step=bounds[2])
        changed = list(dict.fromkeys(self._changed(loop.body)))
        inside = {one: value for one, value in values.items() if one not in changed}
        around = (*around, loop.iterator)
        rounds = None if leaves_early(loop.body) else self._rounds(loop, around[:-1])
        for one in changed:
            first = values.get(one)
            second = None if first is None or rounds is None else self._after_a_round(loop, one, first, inside, around)
            if first is not None and second is not None and rounds is not None:
                inside[one] = second if second.alone else replace(second, parity=first.parity + rounds)
        stays = {one: value for one, value in inside.items() if value == values.get(one)}
        loop = replace(loop, body=self._block(loop.body, inside, around))
        for one in changed:
            if one not in stays:
                values.pop(one, None)
        return loop

    def _rounds(self, loop: Loop, around: tuple[DataObject, ...]) -> Polynomial | None:
        """The number of the loop's round, from 0 on; None where that is no sum."""
        lower, step = polynomial(loop.lower), polynomial(loop.step).constant
        if not step or not self._is_steady(lower, around):
            return None
        ahead = of_atom(access_to(loop.iterator)) - lower
        ahead = ahead if step > 0 else -ahead
        return ahead if abs(step) == 1 else of_atom(Binary("/", expression(ahead), integer(abs(step)), LONG))

    def _after_a_round(
        self, loop: Loop, object_: DataObject, first: _Value, inside: _Values, around: tuple[DataObject, ...]
    ) -> _Value | None:
        """Both values that the integer has in turn, each of which a round makes of the other; None where it does not alternate."""
        trial = _Following(self.kernel, self.followed, writing=False)

        def changed(value: Polynomial) -> Polynomial | None:
            known = {**inside, object_: _Value(value, value)}
            trial._block(loop.body, known, around)
            found = known.get(object_)
            return found.even if found is not None and found.alone else None

        even = first.even
        odd = changed(even) if first.alone else first.odd
        if odd is None or not self._is_steady(odd, around[:-1]) or changed(odd) != even or changed(even) != odd:
            return None
        return _Value(even, odd, first.parity)

    # -- values

    def _value(
        self, value: Expression, values: Mapping[DataObject, _Value], around: tuple[DataObject, ...]
    ) -> _Value | None:
        """The value of an expression, if it is known."""
        read = [node.object for node in walk(value) if isinstance(node, Access) and node.object in self.followed]
        known = [values.get(one) for one in read]
        parities = {one.parity for one in known if one is not None and not one.alone}
        if None in known or len(parities) > 1:
            return None
        sides = []
        for odd in (False, True):
            put = {
                one: each.odd if odd else each.even for one, each in zip(read, known, strict=True) if each is not None
            }
            sides.append(_folded(_with_sums(value, put)))
            if not self._is_steady(sides[-1], around):
                return None
        return _Value(sides[0], sides[1], *parities) if parities else _Value(sides[0], sides[0])

    def _is_steady(self, value: Polynomial, around: Iterable[DataObject]) -> bool:
        """Whether it is made of numbers, of what the region does not write, and of iterators of the loops `around`."""
        allowed = frozenset(around)
        for node in (node for atom in value.atoms for node in walk(atom)):
            if isinstance(node, (Assignment, Increment, AddressOf, Call)):
                return False
            if isinstance(node, Access) and node.object not in allowed:
                changes = node.object in self.written or node.object.volatile
                if not is_scalar(node) or changes or node.object.scope is Scope.LOCAL:
                    return False
        return True

    def _instead(self, node: T, values: Mapping[DataObject, _Value]) -> T:
        """The node with what integers are in their place. Raises _UnknownError."""

        def change(access: Access) -> Expression:
            if access.object not in self.followed:
                return access
            known = values.get(access.object)
            if known is None and self.writing:
                raise _UnknownError(access.object)
            return access if known is None else known.text(access.object)

        return with_accesses(node, change)


def _target(statement: ExpressionStatement) -> DataObject | None:
    """The integer that a plain assignment is of."""
    assignment = statement.expression
    if not isinstance(assignment, Assignment) or any(
        isinstance(node, (Assignment, Increment, Call)) for node in walk(assignment.value)
    ):
        return None
    return assignment.target.object


def _whole_value(assignment: Assignment) -> Expression:
    """What is assigned, with what was there where the operator needs it."""
    if assignment.operator == "=":
        return assignment.value
    return Binary(assignment.operator[:-1], assignment.target, assignment.value, assignment.type)


def _set(values: _Values, object_: DataObject, value: _Value | None) -> None:
    if value is None:
        values.pop(object_, None)
    else:
        values[object_] = value


def _with_sums(value: Expression, sums: Mapping[DataObject, Polynomial]) -> Expression:
    """The value with these sums in the place of integers."""

    def change(access: Access) -> Expression:
        found = sums.get(access.object)
        return access if found is None else typed_sum(found, access.object)

    return with_accesses(value, change)


def _folded(value: Expression) -> Polynomial:
    """The value as a sum: a number where it is one."""
    try:
        found = Evaluation({}).value(value)
    except UncountableError:
        return polynomial(value)
    return number(found) if isinstance(found, int) else polynomial(value)
