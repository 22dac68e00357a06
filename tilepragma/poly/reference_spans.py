"""Spans of references: the boxes around what a nest reads of unwritten arrays, for subscripts that
are sums of iterators.

Elimination of inner iterators from a subscript p, innermost first: where p has the coefficient c >
0 for an iterator with lower <= i <= last, p is least for `lower` and greatest for `last`; for c < 0
the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import written_in
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Binary,
    Conditional,
    DataObject,
    Expression,
    Scope,
    Storage,
    access_to,
)
from tilepragma.ir.loop_tree import Block, Declaration, ForLoop, Function, If, Loop, Switch, TileNest, While
from tilepragma.ir.polynomial import Polynomial, is_scalar, number, polynomial
from tilepragma.ir.traversal import changed_in, children, walk
from tilepragma.ir.types import ScalarKind, ScalarType, is_integer
from tilepragma.poly.extents import Bounds

Values = Mapping[DataObject, Polynomial]


@dataclass(frozen=True)
class Reading:
    """One access. `spans`: one entry a dimension, None where a subscript or an inner loop's bounds
    are no sums of iterators. `certain`: each iteration of the remaining loops makes the access.
    """

    access: Access
    spans: tuple[Bounds | None, ...]
    certain: bool


def only_read(body: Block, functions: tuple[Function, ...]) -> frozenset[DataObject]:
    """The arrays of numbers that the body only reads, by element, and never passes on."""
    written = written_in(body, functions)
    nodes = list(walk(body))
    handed = {node.target.object for node in nodes if isinstance(node, AddressOf)}
    handed |= {node.object for node in nodes if isinstance(node, Access) and len(node.subscripts) < node.object.rank}
    read = {node.object for node in nodes if isinstance(node, Access) and node.object.rank > 0}
    return frozenset(object_ for object_ in read - written - handed if _can_be_copied(object_))


def _can_be_copied(object_: DataObject) -> bool:
    element = object_.element
    number_ = isinstance(element, ScalarType) and element.kind is not ScalarKind.BOOLEAN and element.bits <= 64
    shared = object_.scope is not Scope.LOCAL and object_.storage is not Storage.SCALAR
    return number_ and shared and not object_.volatile


def settled_values(body: Block) -> Values:
    """The scalars with one value in `body`, by declaration, as sums of others."""
    nodes = list(walk(body))
    changed = changed_in(body)
    values: dict[DataObject, Polynomial] = {}
    several: set[DataObject] = set()
    for node in nodes:
        if isinstance(node, Declaration):
            declared = _declared(node, values, changed)
            several |= {object_ for object_, value in declared.items() if values.get(object_, value) != value}
            values |= declared
    return {object_: value for object_, value in values.items() if object_ not in several}


def readings(body: Block, objects: frozenset[DataObject]) -> Iterator[Reading]:
    """All accesses to the objects under `body`, inner loops taken out."""
    return _Reader(objects, changed_in(body)).statements((body,), _Site({}, (), True))


def _declared(declaration: Declaration, known: Values, changed: frozenset[DataObject]) -> dict[DataObject, Polynomial]:
    declared = {}
    for declarator in declaration.declarators:
        object_, value = declarator.object, declarator.initializer
        plain = object_ not in changed and object_.rank == 0 and isinstance(object_.element, ScalarType)
        if not plain or value is None or isinstance(value, tuple):
            continue
        if is_integer(value.type):
            resolved = written_out(polynomial(value), known)
            if resolved is not None:
                declared[object_] = resolved
    return declared


def written_out(value: Polynomial, known: Values) -> Polynomial | None:
    """The value with known scalars substituted; None where it is not linear in one of them."""
    for atom in value.atoms:
        if isinstance(atom, Access) and is_scalar(atom) and atom.object in known:
            if value.split(atom) is None:
                return None
            value = value.substitute(atom, known[atom.object])
    return value


@dataclass(frozen=True)
class _Site:
    """A place of the walk: known scalars, inner loops (outermost first), whether it surely runs."""

    known: Values
    loops: tuple[Loop, ...]
    certain: bool


@dataclass(frozen=True)
class _Reader:
    objects: frozenset[DataObject]
    changed: frozenset[DataObject]

    def statements(self, statements: tuple[Any, ...], site: _Site) -> Iterator[Reading]:
        for statement in statements:
            yield from self.node(statement, site)
            if isinstance(statement, Declaration):
                site = replace(site, known={**site.known, **_declared(statement, site.known, self.changed)})

    def node(self, node: Any, site: _Site) -> Iterator[Reading]:
        if isinstance(node, Block):
            yield from self.statements(node.statements, site)
        elif isinstance(node, Loop):
            for part in node.bounds:
                yield from self.node(part, site)
            yield from self.node(node.body, replace(site, loops=(*site.loops, node)))
        elif isinstance(node, (If, Conditional)):
            yield from self.node(node.condition, site)
            for branch in (node.then, node.otherwise):
                yield from self.node(branch, replace(site, certain=False)) if branch is not None else ()
        elif isinstance(node, Binary) and node.operator in ("&&", "||"):
            yield from self.node(node.left, site)
            yield from self.node(node.right, replace(site, certain=False))
        elif isinstance(node, (While, ForLoop, Switch, TileNest)):
            for child in children(node):
                yield from self.node(child, replace(site, certain=False))
        else:
            if isinstance(node, Access) and node.object in self.objects:
                spans = tuple(self._span(subscript, site) for subscript in node.subscripts)
                yield Reading(node, spans, site.certain and all(map(_surely_runs, site.loops)))
            for child in children(node):
                yield from self.node(child, site)

    def _span(self, subscript: Expression, site: _Site) -> Bounds | None:
        value = written_out(polynomial(subscript), site.known)
        span = None if value is None else Bounds(value, value)
        for loop in reversed(site.loops):
            if span is None:
                return None
            ends = loop_ends(loop, site.known)
            least, greatest = (without_iterator(span.low, loop, ends, 1), without_iterator(span.high, loop, ends, -1))
            span = None if least is None or greatest is None else Bounds(least, greatest)
        return span


def without_iterator(value: Polynomial, loop: Loop, ends: Bounds | None, sign: int) -> Polynomial | None:
    """The least value over the loop's iterations (sign 1), or the greatest (sign -1)."""
    atom = access_to(loop.iterator)
    if atom not in value.atoms:
        return value
    parts = value.split(atom)
    factor = None if parts is None else parts[0].constant
    if parts is None or factor is None or ends is None:
        return None
    return parts[0] * (ends.low if factor * sign > 0 else ends.high) + parts[1]


def loop_ends(loop: Loop, known: Values) -> Bounds | None:
    """First and last value of an iterator with step 1; last is lower - 1 for an empty loop."""
    if polynomial(loop.step).constant != 1 or loop.decreasing or loop.comparison not in ("<", "<="):
        return None
    lower, upper = written_out(polynomial(loop.lower), known), written_out(polynomial(loop.upper), known)
    if lower is None or upper is None:
        return None
    return Bounds(lower, upper if loop.comparison == "<=" else upper - number(1))


def _surely_runs(loop: Loop) -> bool:
    ends = loop_ends(loop, {})
    trips = None if ends is None else (ends.high - ends.low).constant
    return trips is not None and trips >= 0
