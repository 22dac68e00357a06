"""Reaching definitions of local integers in subscripts: values from straight-line code.

    int x = i + k;                  x = i + k
    if (x < 0) x = 0;               x = max(i + k, 0)
    const size_t at = y * w + x;    at = y*w + x: not affine, but such a subscript can be split

A value is known from its assignment to the end of the block, unless something may write it again.
Only subscripts use these values: conditions and bounds stay as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.c_values import holds
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Conditional,
    DataObject,
    Expression,
    Increment,
    access_to,
    integer,
    is_local_index,
)
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    Function,
    If,
    Return,
    Statement,
)
from tilepragma.ir.polynomial import Polynomial, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType, Type, is_signed_int
from tilepragma.poly.affine import Frame, NotAffineError, ReturnedValue, affine

#: Values of more cases count as unknown.
_MOST_CASES = 8


@dataclass(frozen=True)
class LocalValues:
    """`functions`: { [i] -> [value(i)] } of affine locals; `sums`: polynomials of iterators and
    invariant values.

    `tracked`: locals with plain assignments only; `returned`: the values of functions, by name.
    """

    tracked: frozenset[DataObject] = frozenset()
    returned: Mapping[str, ReturnedValue] = field(default_factory=dict)
    functions: Mapping[DataObject, isl.PwAff] = field(default_factory=dict)
    sums: Mapping[DataObject, Polynomial] = field(default_factory=dict)

    def frame(self, frame: Frame) -> Frame:
        """The frame of a subscript."""
        return replace(frame, known={**frame.known, **self.functions}, sums=self.sums, returned=self.returned)

    @property
    def knows_nothing(self) -> bool:
        """Whether no local has a known value."""
        return not self.functions and not self.sums

    def inside(self, iterator: DataObject, written: Iterable[DataObject]) -> LocalValues:
        """The values in the body of a loop that writes these objects."""
        kept = self.without((*written, iterator))
        functions = {object_: value.add_dims(isl.dim_type.in_, 1) for object_, value in kept.functions.items()}
        return replace(kept, functions=functions)

    def without(self, written: Iterable[DataObject]) -> LocalValues:
        """The values without these objects and all that depends on them."""
        gone = frozenset(written)
        sums = {
            object_: value for object_, value in self.sums.items() if object_ not in gone and not _mentions(value, gone)
        }
        return replace(
            self, functions={object_: v for object_, v in self.functions.items() if object_ not in gone}, sums=sums
        )

    def after(self, statement: Statement, frame: Frame, functions: tuple[Function, ...]) -> LocalValues:
        """The values after a statement of the same block."""
        if not self.tracked:
            return self
        written = {use.object for use in uses(statement, functions) if use.writes} & self.tracked
        if not written:
            return self
        kept = self.without(written)
        if isinstance(statement, Declaration):
            for declarator in statement.declarators:
                if (
                    declarator.object in written
                    and declarator.initializer is not None
                    and not isinstance(declarator.initializer, tuple)
                ):
                    kept = kept._with(declarator.object, declarator.initializer, kept.frame(frame))
            return kept
        assigned = _assigned(statement)
        if assigned is not None and written == {assigned[0]}:
            return kept._with(*assigned, self.frame(frame))
        return kept

    def _with(self, object_: DataObject, value: Expression, frame: Frame) -> LocalValues:
        """The values where `object_` holds the value, in terms of `frame`."""
        if not holds(object_.element, value):
            return self
        signed = isinstance(object_.element, ScalarType) and object_.element.signed
        if signed:
            try:
                function = affine(value, frame).coalesce()
            except NotAffineError:
                pass
            else:
                return (
                    replace(self, functions={**self.functions, object_: function})
                    if function.n_piece() <= _MOST_CASES
                    else self
                )
        collected = frame.written_out(polynomial(value))
        known = (atom for atom in collected.atoms if not frame.invariant(atom))
        # Choices stay as written: one with the local's earlier value no longer tells anything about
        # it.
        if all(_has_value(atom, frame) for atom in known) and not _mentions(collected, frozenset({object_})):
            return replace(self, sums={**self.sums, object_: collected})
        return self


def _has_value(atom: Expression, frame: Frame) -> bool:
    """Whether the frame knows the atom at each iteration: a known scalar, or an affine choice."""
    if isinstance(atom, Conditional):
        try:
            return affine(atom, frame).n_piece() <= _MOST_CASES
        except NotAffineError:
            return False
    return isinstance(atom, Access) and frame.value(atom.object) is not None


def _mentions(value: Polynomial, objects: frozenset[DataObject]) -> bool:
    return any(isinstance(node, Access) and node.object in objects for atom in value.atoms for node in walk(atom))


def _assigned(statement: Statement) -> tuple[DataObject, Expression] | None:
    """(x, e) for `x = e;`, `x += e;`, `x++;` and `if (c) x = e; else x = f;`."""
    if isinstance(statement, Block) and len(statement.statements) == 1:
        return _assigned(statement.statements[0])
    if isinstance(statement, If):
        return _chosen(statement)
    if not isinstance(statement, ExpressionStatement):
        return None
    done = statement.expression
    if not isinstance(done, (Assignment, Increment)) or done.target.subscripts or done.target.path:
        return None
    target = done.target
    if isinstance(done, Increment):
        return target.object, Binary(done.operator[0], target, integer(1), target.type)
    if done.operator == "=":
        return target.object, done.value
    if done.operator in ("+=", "-="):
        return target.object, Binary(done.operator[0], target, done.value, target.type)
    return None


def _chosen(statement: If) -> tuple[DataObject, Expression] | None:
    then = _assigned(statement.then)
    if then is None:
        return None
    object_, value = then
    otherwise: Expression = access_to(object_)
    if statement.otherwise is not None:
        otherwise_assigned = _assigned(statement.otherwise)
        if otherwise_assigned is None or otherwise_assigned[0] != object_:
            return None
        otherwise = otherwise_assigned[1]
    return object_, Conditional(statement.condition, value, otherwise, object_.element)


def tracked_locals(body: Iterable[Statement]) -> frozenset[DataObject]:
    """A region's local integers that keep results of arithmetic and whose address nobody takes."""
    declared: set[DataObject] = set()
    taken: set[DataObject] = set()
    for statement in body:
        for node in walk(statement):
            if isinstance(node, Declarator):
                declared.add(node.object)
            elif isinstance(node, AddressOf):
                taken.add(node.target.object)
    return frozenset(object_ for object_ in declared - taken if is_local_index(object_))


def returned_values(functions: Iterable[Function]) -> dict[str, ReturnedValue]:
    """The values of functions of signed integers without other effects, by name."""
    values = {}
    for function in functions:
        if all(
            is_local_index(parameter) and is_signed_int(parameter.element) for parameter in function.parameters
        ) and is_signed_int(function.result):
            value = _returned(function.body.statements, function.result)
            if value is not None:
                values[function.name] = ReturnedValue(function.parameters, value)
    return values


def _returned(statements: tuple[Statement, ...], result: Type) -> Expression | None:
    """The value of `return e;` or `if (c) return e; …`, where the result type holds it."""
    if not statements:
        return None
    first, rest = statements[0], statements[1:]
    if isinstance(first, Return):
        return first.value if first.value is not None and holds(result, first.value) else None
    if isinstance(first, Block):
        return _returned((*first.statements, *rest), result)
    if not isinstance(first, If):
        return None
    then = _returned(first.then.statements, result)
    otherwise = _returned((*(first.otherwise.statements if first.otherwise is not None else ()), *rest), result)
    if then is None or otherwise is None:
        return None
    return Conditional(first.condition, then, otherwise, then.type)
