"""Induction variables that are no iterators, written out as sums of iterators.

*Linear* ones grow by the same in each iteration:

    k = first;                             for (i = 0; i < m; i++)
    for (i = 0; i < m; i++)                    for (j = 0; j < n; j++)
        for (j = 0; j < n; j++)                    a[first + n*i + j] = …;
            a[k++] = …;

*Periodic* ones alternate between two values:

    s = 1;                                 for (p = 0; p < 2; p++)
    for (p = 0; p < 2; p++) {                  for (i = 1; i < n; i++)
        c = s;                                     for (j = 1 + (p + i - 1) % 2; j < n; j += 2)
        for (i = 1; i < n; i++) {                      …;
            for (j = c; j < n; j += 2) …;
            c = 3 - c;
        }
        s = 3 - s;
    }

Programs that sweep a mesh colour by colour compute in this way where a row begins (`c = 3 - c`,
`c = 1 - c`, `c = !c`, `c ^= 1`). As written, each iteration needs the value that the previous one
leaves. With T the change that one iteration makes, the value in iteration k is

    v + d k                             where T(v) = v + d for all v
    v for even k, T(v) for odd k        where T(T(v)) = v

and no iteration needs a value of another. The pass follows values through the region's text: v is
what the program assigns before the loop, or what the integer holds when the region begins, and the
pass tries T on v. An integer stays if a value is unknown, or if it is read after the region.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any, TypeVar

from tilepragma.base.diagnostics import Diagnostic, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import leaves_early, uses, written_in
from tilepragma.ir.evaluation import Evaluation, UncountableError
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Callee,
    Comma,
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
from tilepragma.ir.polynomial import Polynomial, expression, is_scalar, maximum, number, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses, with_each, with_objects
from tilepragma.ir.traversal import access_count, flat, loops_and_tiled, mentions, named_in_clauses, objects_in, walk
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.normalise.delinearisation import typed_sum
from tilepragma.normalise.privatization import in_subscripts, used_elsewhere

T = TypeVar("T")


def with_induction_variables_written_out(kernel: Kernel) -> Kernel:
    """The kernel without such integers of known values; the same object if there are none."""
    followed = frozenset(_candidates(kernel))
    apart = kernel
    if any(isinstance(node, Increment) and node.target.object in followed for node in walk(kernel.body)):
        apart = replace(kernel, body=with_each(kernel.body, Block, partial(_with_increments_apart, followed)))
    while any(_passes_on(loop, object_) for loop in loops_and_tiled(apart.body) for object_ in followed):
        try:
            body = _Following(apart, followed).body()
            if _has_maxima(body) and not _has_maxima(kernel.body):
                # Values behind loops have them: then all do, so that their strides are the same.
                body = _Following(apart, followed, nonempty=False).body()
        except _UnknownError as unknown:
            followed -= {unknown.object}
            continue
        read = set(objects_in(body))
        objects = tuple(object_ for object_ in kernel.objects if object_ in read or object_ not in followed)
        return replace(kernel, body=body, objects=objects)
    return kernel


def _with_increments_apart(followed: frozenset[DataObject], block: Block) -> Block:
    """The block with increments inside of expressions as statements of their own, where nothing
    else in the statement uses the integer: `a[k++] = x;` is `a[k] = x; k++;`.
    """
    statements: list[Statement] = []
    for statement in block.statements:
        inside = list(_increments_inside(statement, followed))
        alone = [ExpressionStatement(replace(each, prefix=False), each.range) for each in inside]
        before = [each for each, increment in zip(alone, inside, strict=True) if increment.prefix]
        behind = [each for each, increment in zip(alone, inside, strict=True) if not increment.prefix]

        def change(increment: Any, inside: list[Increment] = inside) -> Any:
            return increment.target if increment in inside else increment

        statements += [*before, with_each(statement, Increment, change) if inside else statement, *behind]
    return replace(block, statements=tuple(statements)) if len(statements) > len(block.statements) else block


def _increments_inside(statement: Statement, followed: frozenset[DataObject]) -> Iterator[Increment]:
    """The increments that always happen in the statement, which uses the integer nowhere else."""
    if isinstance(statement, ExpressionStatement):
        root: Any = statement.expression
    elif isinstance(statement, Declaration) and len(statement.declarators) == 1:
        root = statement.declarators[0].value
    else:
        return
    nodes = list(walk(root)) if root is not None else []
    choices = [node for node in nodes if isinstance(node, (Conditional, Comma)) or _is_short_circuit(node)]
    for node in nodes:
        if isinstance(node, Increment) and node is not root and node.target.object in followed:
            object_ = node.target.object
            if access_count(root, object_) == 1 and not any(mentions(choice, object_) for choice in choices):
                yield node


def _is_short_circuit(node: Any) -> bool:
    return isinstance(node, Binary) and node.operator in ("&&", "||")


def _has_maxima(body: Block) -> bool:
    return any(isinstance(node, Call) and node.callee is Callee.HELPER for node in walk(body))


def remaining_periodic_integers(kernel: Kernel) -> Iterator[Diagnostic]:
    """A note for each integer that alternates between iterations and is not written out."""
    needed = in_subscripts(kernel.body)
    bounds = (bound for loop in loops_and_tiled(kernel.body) for bound in (loop.lower, loop.upper))
    needed |= {object_ for bound in bounds for object_ in objects_in(bound)}
    for loop in loops_and_tiled(kernel.body):
        for statement in _of_an_iteration(loop.body):
            assignment = statement.expression if isinstance(statement, ExpressionStatement) else None
            if not isinstance(assignment, Assignment) or assignment.target.object not in needed:
                continue
            if not _is_involution(assignment):
                continue
            name, over = assignment.target.object.host, loop.iterator.host
            if assignment.target.object.name in kernel.read_after:
                why = "its value may be read after the kernel"
                remedy = (
                    f"let a variable of the region's own begin with it ('int row = {name};' behind the pragma, "
                    "in braces)"
                )
            else:
                why = "its value is not known in all iterations, or not all of them change it"
                remedy = f"write what it is in terms of '{over}', as in '(first + {over}) % 2'"
            message = (
                f"'{name}' passes on, between iterations of the loop over '{over}', which elements are next: {why}"
            )
            yield Diagnostic(Severity.NOTE, assignment.range, f"{message}; {remedy}")


def _of_an_iteration(block: Block) -> Iterator[Statement]:
    """The statements of a loop's body and its conditions, without those of inner loops."""
    for statement in flat(block.statements):
        yield statement
        for branch in (statement.then, statement.otherwise) if isinstance(statement, If) else ():
            if branch is not None:
                yield from _of_an_iteration(branch)


def _is_involution(assignment: Assignment) -> bool:
    """Whether two runs restore the integer: `c - s`, `-s`, `!s`, `s ^ c`, `(s + 1) % 2`."""
    target, value = assignment.target, _whole_value(assignment)
    if isinstance(value, Binary) and value.operator in ("^", "%") and mentions(value.left, target.object):
        return value.operator == "^" or polynomial(value.right).constant == 2
    if isinstance(value, Unary) and value.operator == "!":
        return value.operand == target
    parts = polynomial(value).split(target)
    return parts is not None and parts[0].constant == -1


def _candidates(kernel: Kernel) -> Iterator[DataObject]:
    """The integers that only statements of the region write, and that are dead after it. A sum of
    more bits in their place must not change what operators with unsigned operands compute.
    """
    named = named_in_clauses(kernel.directive, kernel.body)
    elsewhere = used_elsewhere(kernel)
    with_unsigned = (node for node in walk(kernel.body) if isinstance(node, Binary) and _has_unsigned_side(node))
    elsewhere |= {object_ for node in with_unsigned for object_ in objects_in(node)}
    for object_ in dict.fromkeys(use.object for use in uses(kernel.body, kernel.functions) if use.writes):
        plain = object_.storage is Storage.SCALAR and object_.element in (INT, LONG) and not object_.volatile
        if plain and object_ not in elsewhere and object_.host not in named and object_.name not in kernel.read_after:
            yield object_


def _has_unsigned_side(node: Binary) -> bool:
    types = (node.left.type, node.right.type)
    return any(isinstance(type_, ScalarType) and not type_.signed and type_.bits >= INT.bits for type_ in types)


def _passes_on(loop: Loop, object_: DataObject) -> bool:
    """Whether each iteration of the loop computes the integer from its previous value."""
    statements = (part for part in flat(loop.body.statements) if isinstance(part, ExpressionStatement))
    values = (_new_value(part) for part in statements if _target(part) == object_)
    return any(value is not None and mentions(value, object_) for value in values)


class _UnknownError(Exception):
    """An integer is read where its value is unknown, or written in a way that is not followed."""

    def __init__(self, object_: DataObject) -> None:
        super().__init__(object_.host)
        self.object = object_


@dataclass(frozen=True)
class _Value:
    """`even` where `parity`, a sum that is never negative, is even, else `odd`."""

    even: Polynomial
    odd: Polynomial
    parity: Polynomial = field(default_factory=lambda: number(0))

    @property
    def is_single(self) -> bool:
        return self.even == self.odd

    def where_not_below_zero(self, count: Polynomial) -> _Value:
        """The value where the count is not below 0."""
        if count.constant is not None:
            return self
        (atom,) = maximum((count, number(0))).atoms
        return _Value(*(part.substitute(atom, count) for part in (self.even, self.odd, self.parity)))

    def text(self, like: DataObject) -> Expression:
        """C for the value, in the type of `like`."""
        if self.is_single:
            return typed_sum(self.even, like)
        constant = self.parity.constant_term
        plain = typed_sum(self.parity + number(constant % 2 - constant if constant < 0 else 0), like)
        type_ = LONG if LONG in (plain.type, like.element) else INT
        parity, distance = Binary("%", plain, integer(2), type_), self.odd - self.even
        if distance.constant is not None:
            return expression(self.even + of_atom(parity) * distance, type_)
        is_odd = Binary("!=", parity, integer(0), INT)
        return Conditional(is_odd, typed_sum(self.odd, like), typed_sum(self.even, like), like.element)


_Values = dict[DataObject, _Value]
"""The known values of integers."""


def _single(value: Polynomial) -> _Value:
    return _Value(value, value)


@dataclass
class _Following:
    """Interprets a region with the values of the `followed` integers.

    `writing`: replace reads by text; else only compute values. `nonempty`: in a loop's body, its
    count is that of a loop with iterations, so that no maximum with 0 stands in strides.
    """

    kernel: Kernel
    followed: frozenset[DataObject]
    writing: bool = True
    nonempty: bool = True
    written: frozenset[DataObject] = field(init=False)

    def __post_init__(self) -> None:
        self.written = written_in(self.kernel.body, self.kernel.functions)

    def body(self) -> Block:
        """The region with the integers written out. Raises _UnknownError."""
        outer = (object_ for object_ in self.followed if object_.scope is not Scope.LOCAL)
        first = {object_: replace(object_, name=f"{object_.name} at first") for object_ in outer}
        values = {object_: _Value(of_atom(access_to(new)), of_atom(access_to(new))) for object_, new in first.items()}
        body = self._block(self.kernel.body, values, ())
        return with_objects(body, {new: object_ for object_, new in first.items()})

    def _block(self, block: Block, values: _Values, around: tuple[DataObject, ...]) -> Block:
        """Rewrite the block and update `values`; `around` are the surrounding iterators."""
        statements = tuple(new for statement in block.statements for new in self._statement(statement, values, around))
        return replace(block, statements=statements)

    def _statement(self, statement: Statement, values: _Values, around: tuple[DataObject, ...]) -> Iterator[Statement]:
        if isinstance(statement, Block):
            yield self._block(statement, values, around)
        elif isinstance(statement, Loop):
            yield self._loop(statement, values, around)
        elif isinstance(statement, If):
            yield self._if(statement, values, around)
        elif isinstance(statement, Declaration) and any(d.object in self.followed for d in statement.declarators):
            yield from self._declaration(statement, values, around)
        elif isinstance(statement, ExpressionStatement) and _target(statement) in self.followed:
            target, value = _target(statement), _new_value(statement)
            assert target is not None and value is not None
            _record(values, target, self._value(value, values, around))
        else:
            for use in uses(statement, self.kernel.functions):
                if use.writes and use.object in self.followed:
                    raise _UnknownError(use.object)
            yield self._substituted(statement, values)

    def _declaration(
        self, declaration: Declaration, values: _Values, around: tuple[DataObject, ...]
    ) -> Iterator[Statement]:
        others = []
        for declarator in declaration.declarators:
            if declarator.object not in self.followed:
                others.append(self._substituted(declarator, values))
                continue
            initial = declarator.value
            known = None if initial is None else self._value(initial, values, around)
            _record(values, declarator.object, known)
        if others:
            yield replace(declaration, declarators=tuple(others))

    def _if(self, statement: If, values: _Values, around: tuple[DataObject, ...]) -> Statement:
        condition = self._substituted(statement.condition, values)
        then = self._block(statement.then, dict(values), around)
        otherwise = None if statement.otherwise is None else self._block(statement.otherwise, dict(values), around)
        for object_ in self._changed(statement):
            values.pop(object_, None)
        return replace(statement, condition=condition, then=then, otherwise=otherwise)

    def _changed(self, statement: Statement) -> list[DataObject]:
        """The followed integers that a statement writes."""
        written = (use.object for use in uses(statement, self.kernel.functions) if use.writes)
        return [object_ for object_ in written if object_ in self.followed]

    # -- loops

    def _loop(self, loop: Loop, values: _Values, around: tuple[DataObject, ...]) -> Loop:
        bounds = [self._substituted(bound, values) for bound in loop.bounds]
        loop = replace(loop, lower=bounds[0], upper=bounds[1], step=bounds[2])
        changed = list(dict.fromkeys(self._changed(loop.body)))
        inside = {object_: value for object_, value in values.items() if object_ not in changed}
        around = (*around, loop.iterator)
        iteration = None if leaves_early(loop.body) else self._iteration_number(loop, around[:-1])
        after: _Values = {}
        for integer_ in changed:
            first = values.get(integer_)
            if first is None or iteration is None:
                continue
            second = self._alternating(loop, integer_, first, inside, around)
            growth = self._growth(loop, integer_, inside, around) if second is None and first.is_single else None
            if second is not None:
                inside[integer_] = second if second.is_single else replace(second, parity=first.parity + iteration)
            elif growth is not None:
                inside[integer_] = _single(first.even + growth * iteration)
                count = self._count(loop, around[:-1])
                if count is not None:
                    after[integer_] = _single(first.even + growth * maximum((count, number(0))))
        after |= {object_: value for object_, value in inside.items() if value == values.get(object_)}
        if self.nonempty and (count := self._count(loop, around[:-1])) is not None:
            inside = {object_: value.where_not_below_zero(count) for object_, value in inside.items()}
        loop = replace(loop, body=self._block(loop.body, inside, around))
        for integer_ in changed:
            _record(values, integer_, after.get(integer_))
        return loop

    def _iteration_number(self, loop: Loop, around: tuple[DataObject, ...]) -> Polynomial | None:
        """The number of the current iteration, from 0 on; None where it is no sum."""
        lower, step = polynomial(loop.lower), polynomial(loop.step).constant
        if not step or not self._is_invariant(lower, around):
            return None
        ahead = of_atom(access_to(loop.iterator)) - lower
        ahead = ahead if step > 0 else -ahead
        return ahead if abs(step) == 1 else of_atom(Binary("/", expression(ahead), integer(abs(step)), LONG))

    def _count(self, loop: Loop, around: tuple[DataObject, ...]) -> Polynomial | None:
        """The number of iterations, or a number below 1 where there is none; None where it is no
        sum of the region's constants and `around`.
        """
        lower, upper, step = polynomial(loop.lower), polynomial(loop.upper), polynomial(loop.step).constant
        if step not in (1, -1) or not self._is_invariant(lower, around) or not self._is_invariant(upper, around):
            return None
        count = upper - lower if step > 0 else lower - upper
        return count + number(1) if loop.comparison in ("<=", ">=") else count

    def _growth(
        self, loop: Loop, object_: DataObject, inside: _Values, around: tuple[DataObject, ...]
    ) -> Polynomial | None:
        """What each iteration adds to the integer; None where this is not the same for all."""
        before = of_atom(access_to(replace(object_, name=f"{object_.name} before", scope=Scope.EXTERNAL)))
        known = {**inside, object_: _single(before)}
        replace(self, writing=False)._block(loop.body, known, around)
        value_after = known.get(object_)
        growth = None if value_after is None or not value_after.is_single else value_after.even - before
        if growth is None or growth.atoms & before.atoms or not self._is_invariant(growth, around[:-1]):
            return None
        return growth

    def _alternating(
        self, loop: Loop, object_: DataObject, first: _Value, inside: _Values, around: tuple[DataObject, ...]
    ) -> _Value | None:
        """The two values that the integer takes in turn; None where it does not alternate."""
        trial = replace(self, writing=False)

        def changed(value: Polynomial) -> Polynomial | None:
            known = {**inside, object_: _Value(value, value)}
            trial._block(loop.body, known, around)
            value_after = known.get(object_)
            return value_after.even if value_after is not None and value_after.is_single else None

        even = first.even
        odd = changed(even) if first.is_single else first.odd
        if odd is None or not self._is_invariant(odd, around[:-1]) or changed(odd) != even or changed(even) != odd:
            return None
        return _Value(even, odd, first.parity)

    # -- values

    def _value(
        self, value: Expression, values: Mapping[DataObject, _Value], around: tuple[DataObject, ...]
    ) -> _Value | None:
        read = [object_ for object_ in objects_in(value) if object_ in self.followed]
        known = [values.get(object_) for object_ in read]
        parities = {value_.parity for value_ in known if value_ is not None and not value_.is_single}
        if None in known or len(parities) > 1:
            return None
        sides = []
        for odd in (False, True):
            pairs = ((o, v) for o, v in zip(read, known, strict=True) if v is not None)
            put = {object_: value_.odd if odd else value_.even for object_, value_ in pairs}
            sides.append(_folded(_with_sums(value, put)))
            if not self._is_invariant(sides[-1], around):
                return None
        return _Value(sides[0], sides[1], *parities) if parities else _Value(sides[0], sides[0])

    def _is_invariant(self, value: Polynomial, around: Iterable[DataObject]) -> bool:
        """Whether it consists of numbers, objects that the region never writes, and `around`."""
        allowed = frozenset(around)
        for node in (node for atom in value.atoms for node in walk(atom)):
            if isinstance(node, (Assignment, Increment, AddressOf)):
                return False
            if isinstance(node, Call) and node.callee is not Callee.HELPER:
                return False
            if isinstance(node, Access) and node.object not in allowed:
                changes = node.object in self.written or node.object.volatile
                if not is_scalar(node) or changes or node.object.scope is Scope.LOCAL:
                    return False
        return True

    def _substituted(self, node: T, values: Mapping[DataObject, _Value]) -> T:
        """The node with values in place of the integers. Raises _UnknownError."""

        def change(access: Access) -> Expression:
            if access.object not in self.followed:
                return access
            known = values.get(access.object)
            if known is None and self.writing:
                raise _UnknownError(access.object)
            return access if known is None else known.text(access.object)

        return with_accesses(node, change)


def _target(statement: ExpressionStatement) -> DataObject | None:
    """The integer that a plain assignment or increment writes."""
    value = _new_value(statement)
    if value is None or any(isinstance(node, (Assignment, Increment, Call)) for node in walk(value)):
        return None
    assert isinstance(statement.expression, (Assignment, Increment))
    return statement.expression.target.object


def _new_value(statement: ExpressionStatement) -> Expression | None:
    """The value that an assignment or increment stores, its operator written out."""
    node = statement.expression
    if isinstance(node, Increment):
        return Binary("+" if node.operator == "++" else "-", node.target, integer(1), node.type)
    return _whole_value(node) if isinstance(node, Assignment) else None


def _whole_value(assignment: Assignment) -> Expression:
    """The value that an assignment stores, its operator written out."""
    if assignment.operator == "=":
        return assignment.value
    return Binary(assignment.operator[:-1], assignment.target, assignment.value, assignment.type)


def _record(values: _Values, object_: DataObject, value: _Value | None) -> None:
    if value is None:
        values.pop(object_, None)
    else:
        values[object_] = value


def _with_sums(value: Expression, sums: Mapping[DataObject, Polynomial]) -> Expression:
    def change(access: Access) -> Expression:
        sum_ = sums.get(access.object)
        return access if sum_ is None else typed_sum(sum_, access.object)

    return with_accesses(value, change)


def _folded(value: Expression) -> Polynomial:
    """The value as a polynomial; a constant is evaluated."""
    try:
        constant = Evaluation({}).value(value)
    except UncountableError:
        return polynomial(value)
    return number(constant) if isinstance(constant, int) else polynomial(value)
