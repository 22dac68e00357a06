"""What is known of local integers where a subscript reads them: values that straight-line code gave
them.

    int x = i + k;                  x = i + k
    if (x < 0) x = 0;               x = max(i + k, 0)
    const size_t at = y * w + x;    at = y*w + x, which is no affine function, but a subscript that can be taken apart

A value is known from its assignment to the end of the block, until something there may write it
again. Only subscripts are read so: conditions and bounds stay as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.conversions import holds
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

#: A value of more cases is forgotten.
_MOST_CASES = 8


@dataclass(frozen=True)
class LocalValues:
    """`functions`: { [i] -> [value(i)] } of locals that are affine; `sums` are polynomials of
    iterators and invariant values.

    `tracked` are the locals that nothing but plain assignments writes, `returned` is what functions
    return, by name.
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
        """In the body of a loop that writes these."""
        kept = self.without((*written, iterator))
        functions = {one: value.add_dims(isl.dim_type.in_, 1) for one, value in kept.functions.items()}
        return replace(kept, functions=functions)

    def without(self, written: Iterable[DataObject]) -> LocalValues:
        """Where these may have any value; what was computed from them as it stood then is no function of theirs."""
        gone = frozenset(written)
        sums = {one: value for one, value in self.sums.items() if one not in gone and not _mentions(value, gone)}
        return replace(self, functions={one: v for one, v in self.functions.items() if one not in gone}, sums=sums)

    def after(self, statement: Statement, frame: Frame, functions: tuple[Function, ...]) -> LocalValues:
        """Behind a statement of the same block."""
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
        """`object_` holds the value, as `frame` sees it."""
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
        # Choices are not written out: one that asks for what the local held before says nothing of
        # it any more.
        if all(_has_value(atom, frame) for atom in known) and not _mentions(collected, frozenset({object_})):
            return replace(self, sums={**self.sums, object_: collected})
        return self


def _has_value(atom: Expression, frame: Frame) -> bool:
    """Whether the frame has a value for the atom at each iteration: a scalar that is known, or a choice that is affine."""
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
        other = _assigned(statement.otherwise)
        if other is None or other[0] != object_:
            return None
        otherwise = other[1]
    return object_, Conditional(statement.condition, value, otherwise, object_.element)


def tracked_locals(body: Iterable[Statement]) -> frozenset[DataObject]:
    """The local integers of a region, wide enough that C's conversions to them keep what arithmetic gives, whose address nobody takes."""
    found: set[DataObject] = set()
    taken: set[DataObject] = set()
    for statement in body:
        for node in walk(statement):
            if isinstance(node, Declarator):
                found.add(node.object)
            elif isinstance(node, AddressOf):
                taken.add(node.target.object)
    return frozenset(one for one in found - taken if is_local_index(one))


def returned_values(functions: Iterable[Function]) -> dict[str, ReturnedValue]:
    """What functions of signed integers return that do nothing but choose it, by their names."""
    found = {}
    for function in functions:
        if all(
            is_local_index(parameter) and is_signed_int(parameter.element) for parameter in function.parameters
        ) and is_signed_int(function.result):
            value = _returned(function.body.statements, function.result)
            if value is not None:
                found[function.name] = ReturnedValue(function.parameters, value)
    return found


def _returned(statements: tuple[Statement, ...], result: Type) -> Expression | None:
    """What is returned from `return e;` or `if (c) return e; …`, where the function's result has that value."""
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
