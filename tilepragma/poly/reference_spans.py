"""What a nest reads of arrays that it does not write, and the boxes that hold it: subscripts as
sums of iterators.

Of a subscript p the iterators of inner loops are taken out, the innermost first: where p has the
coefficient c > 0 for an iterator with lower <= i <= last, the least value of p has `lower` in its
place, the greatest `last`; for c < 0 the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Conditional,
    DataObject,
    Expression,
    Increment,
    Scope,
    Storage,
    access_to,
)
from tilepragma.ir.loop_tree import Block, Declaration, ForLoop, Function, If, Loop, Switch, TileNest, While
from tilepragma.ir.polynomial import Polynomial, is_scalar, number, polynomial
from tilepragma.ir.traversal import children, walk
from tilepragma.ir.types import ScalarKind, ScalarType

Values = Mapping[DataObject, Polynomial]


@dataclass(frozen=True)
class Span:
    """The least and the greatest value of a subscript, over the iterators that were not taken out."""

    least: Polynomial
    greatest: Polynomial


@dataclass(frozen=True)
class Reading:
    """One access. `spans` has one entry a dimension, None where a subscript is no sum of iterators,
    or an inner loop has bounds that are none. `certain`: it is made in every iteration of the loops
    that were not taken out.
    """

    access: Access
    spans: tuple[Span | None, ...]
    certain: bool


def only_read(body: Block, functions: tuple[Function, ...]) -> frozenset[DataObject]:
    """The arrays of numbers that the body reads element by element and never writes, nor hands on as a whole."""
    written = {use.object for use in uses(body, functions) if use.writes}
    nodes = list(walk(body))
    handed = {node.target.object for node in nodes if isinstance(node, AddressOf)}
    handed |= {node.object for node in nodes if isinstance(node, Access) and len(node.subscripts) < node.object.rank}
    read = {node.object for node in nodes if isinstance(node, Access) and node.object.rank > 0}
    return frozenset(one for one in read - written - handed if _can_be_copied(one))


def _can_be_copied(object_: DataObject) -> bool:
    element = object_.element
    number_ = isinstance(element, ScalarType) and element.kind is not ScalarKind.BOOLEAN and element.bits <= 64
    return (
        number_ and object_.scope is not Scope.LOCAL and object_.storage is not Storage.SCALAR and not object_.volatile
    )


def settled_values(body: Block) -> Values:
    """The scalars that have one value under `body`, by their declarations, as sums of others. An iterator that several loops share has more."""
    nodes = list(walk(body))
    changed = frozenset(node.target.object for node in nodes if isinstance(node, (Assignment, Increment, AddressOf)))
    known: dict[DataObject, Polynomial] = {}
    several: set[DataObject] = set()
    for node in nodes:
        if isinstance(node, Declaration):
            found = _declared(node, known, changed)
            several |= {one for one, value in found.items() if known.get(one, value) != value}
            known |= found
    return {one: value for one, value in known.items() if one not in several}


def readings(body: Block, objects: frozenset[DataObject]) -> Iterator[Reading]:
    """All accesses to the objects under `body`, inner loops taken out."""
    changed = {node.target.object for node in walk(body) if isinstance(node, (Assignment, Increment, AddressOf))}
    return _Reader(objects, frozenset(changed)).statements((body,), _At({}, (), True))


def _declared(declaration: Declaration, known: Values, changed: frozenset[DataObject]) -> dict[DataObject, Polynomial]:
    found = {}
    for declarator in declaration.declarators:
        value = declarator.initializer
        plain = (
            declarator.object not in changed
            and declarator.object.rank == 0
            and isinstance(declarator.object.element, ScalarType)
        )
        if plain and value is not None and not isinstance(value, tuple) and _is_integer(value):
            resolved = written_out(polynomial(value), known)
            if resolved is not None:
                found[declarator.object] = resolved
    return found


def _is_integer(value: Expression) -> bool:
    return isinstance(value.type, ScalarType) and value.type.is_integer


def written_out(value: Polynomial, known: Values) -> Polynomial | None:
    """The value without the scalars that are known; None where it is not linear in one of them."""
    for atom in value.atoms:
        if isinstance(atom, Access) and is_scalar(atom) and atom.object in known:
            if value.split(atom) is None:
                return None
            value = value.substitute(atom, known[atom.object])
    return value


@dataclass(frozen=True)
class _At:
    """Where the walk is: known scalars, the inner loops around (outermost first), and whether all of it is surely done."""

    known: Values
    loops: tuple[Loop, ...]
    certain: bool

    def uncertain(self) -> _At:
        return _At(self.known, self.loops, False)


@dataclass(frozen=True)
class _Reader:
    objects: frozenset[DataObject]
    changed: frozenset[DataObject]

    def statements(self, statements: tuple[Any, ...], at: _At) -> Iterator[Reading]:
        for statement in statements:
            yield from self.node(statement, at)
            if isinstance(statement, Declaration):
                at = _At({**at.known, **_declared(statement, at.known, self.changed)}, at.loops, at.certain)

    def node(self, node: Any, at: _At) -> Iterator[Reading]:
        if isinstance(node, Block):
            yield from self.statements(node.statements, at)
        elif isinstance(node, Loop):
            for part in (node.lower, node.upper, node.step):
                yield from self.node(part, at)
            yield from self.node(node.body, _At(at.known, (*at.loops, node), at.certain))
        elif isinstance(node, (If, Conditional)):
            yield from self.node(node.condition, at)
            for branch in (node.then, node.otherwise):
                yield from self.node(branch, at.uncertain()) if branch is not None else ()
        elif isinstance(node, Binary) and node.operator in ("&&", "||"):
            yield from self.node(node.left, at)
            yield from self.node(node.right, at.uncertain())
        elif isinstance(node, (While, ForLoop, Switch, TileNest)):
            for child in children(node):
                yield from self.node(child, at.uncertain())
        else:
            if isinstance(node, Access) and node.object in self.objects:
                yield self._reading(node, at)
            for child in children(node):
                yield from self.node(child, at)

    def _reading(self, access: Access, at: _At) -> Reading:
        spans = tuple(self._span(subscript, at) for subscript in access.subscripts)
        return Reading(access, spans, at.certain and all(_surely_runs(loop) for loop in at.loops))

    def _span(self, subscript: Expression, at: _At) -> Span | None:
        value = written_out(polynomial(subscript), at.known)
        span = None if value is None else Span(value, value)
        for loop in reversed(at.loops):
            if span is None:
                return None
            ends = loop_ends(loop, at.known)
            least, greatest = taken_out(span.least, loop, ends, 1), taken_out(span.greatest, loop, ends, -1)
            span = None if least is None or greatest is None else Span(least, greatest)
        return span


def taken_out(value: Polynomial, loop: Loop, ends: Span | None, sign: int) -> Polynomial | None:
    """The least value over the loop's iterations (sign 1) or the greatest (sign -1)."""
    atom = access_to(loop.iterator)
    if atom not in value.atoms:
        return value
    parts = value.split(atom)
    factor = None if parts is None else parts[0].constant
    if parts is None or factor is None or ends is None:
        return None
    return parts[0] * (ends.least if factor * sign > 0 else ends.greatest) + parts[1]


def loop_ends(loop: Loop, known: Values) -> Span | None:
    """The first and the last value of a loop's iterator where it counts up by 1; the last is lower - 1 where there is none."""
    if polynomial(loop.step).constant != 1 or loop.decreasing or loop.comparison not in ("<", "<="):
        return None
    lower, upper = written_out(polynomial(loop.lower), known), written_out(polynomial(loop.upper), known)
    if lower is None or upper is None:
        return None
    return Span(lower, upper if loop.comparison == "<=" else upper - number(1))


def _surely_runs(loop: Loop) -> bool:
    ends = loop_ends(loop, {})
    trips = None if ends is None else (ends.greatest - ends.least).constant
    return trips is not None and trips >= 0
