"""Names of new iterators: the user's name for an equal iterator, else a name for the values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

import islpy as isl

from tilepragma.base.deferred_signals import signals_held_back
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Expression, Scope, Storage
from tilepragma.ir.loop_tree import Declarator, Loop, Statement
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG, is_signed_int
from tilepragma.poly.isl_ast import AstLeaf
from tilepragma.poly.scop import ScopStatement


@dataclass(frozen=True)
class ScheduledStatement:
    """{ S[i] -> [t] }: a statement with the times of its instances; those without a time do not
    run.

    All statements of one call have equally many time dimensions. `times` may restrict the
    domain and may have more parameters.
    """

    statement: ScopStatement
    times: isl.Map


@dataclass(frozen=True)
class Symbols:
    """Expressions for isl's parameters, by name, and identifiers that new iterators must not have.

    Parameters are integers: a Scop's (`Scop.parameters`), sizes and origins of tiles, iterators of
    loops around.
    """

    parameters: Mapping[str, Expression]
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LoopName:
    """A loop's iterator; `negated` where it is the negative of isl's and counts down."""

    object: DataObject
    negated: bool


@dataclass(frozen=True)
class _Row:
    """A time dimension, sum of factor * iterator + constant; `terms`: (factor, place)."""

    terms: tuple[tuple[int, int], ...]
    plain: bool
    """without constants and parameters"""


class LoopNames:
    """Chooses iterators for the loops of one call."""

    def __init__(self, statements: Mapping[str, ScheduledStatement], symbols: Symbols) -> None:
        self._statements = statements
        self._rows = {name: _rows(each.times) for name, each in statements.items()}
        self._mentioned = {name: mentioned(each.statement.node) for name, each in statements.items()}
        self._of_parameters = {name for value in symbols.parameters.values() for name in mentioned(value)}
        self._taken = symbols.taken.union(
            self._of_parameters,
            *self._mentioned.values(),
            *({loop.iterator.name for loop in each.statement.loops} for each in statements.values()),
        )

    def choose(self, leaves: tuple[AstLeaf, ...], dimension: int | None, around: frozenset[str]) -> LoopName:
        """The iterator of a loop over a time dimension; `around`: names of outer iterators."""
        for name in dict.fromkeys(self._candidates(leaves, dimension)):
            if name.object.name not in around and self._fits(name, leaves, dimension):
                return name
        base = self._row_name(leaves[0].statement, dimension)
        free = (base if count == 1 else f"{base}_{count}" for count in itertools.count(1))
        chosen = next(name for name in free if name not in self._taken and name not in around)
        return LoopName(DataObject(chosen, chosen, LONG, Storage.SCALAR, Scope.LOCAL), False)

    def is_iterator(self, statement: str, dimension: int | None, place: int) -> int:
        """1 where that time dimension is the iterator at `place`, -1 for its negative, else 0."""
        row = self._row(statement, dimension)
        if row is None or not row.plain or len(row.terms) != 1:
            return 0
        factor, iterator = row.terms[0]
        return factor if iterator == place and abs(factor) == 1 else 0

    def _row(self, statement: str, dimension: int | None) -> _Row | None:
        rows = self._rows[statement]
        return None if dimension is None or rows is None else rows[dimension]

    def _candidates(self, leaves: tuple[AstLeaf, ...], dimension: int | None) -> Iterator[LoopName]:
        """The user's iterators that equal the loop's value, or its negative, in some leaf."""
        for leaf in leaves:
            for place, user in enumerate(self._iterators(leaf)):
                sign = self.is_iterator(leaf.statement, dimension, place)
                # The value one step after a loop's end must fit.
                if sign and is_signed_int(user.element):
                    yield LoopName(replace(user, scope=Scope.LOCAL, const=False), sign < 0)

    def _fits(self, name: LoopName, leaves: tuple[AstLeaf, ...], dimension: int | None) -> bool:
        """Whether the name, where a leaf uses it, means the loop's value in all leaves."""
        if name.object.name in self._of_parameters:
            return False
        for leaf in leaves:
            same = [
                (place, iterator)
                for place, iterator in enumerate(self._iterators(leaf))
                if iterator.name == name.object.name
            ]
            if not same and name.object.name in self._mentioned[leaf.statement]:
                return False
            if any(
                iterator.element != name.object.element
                or self.is_iterator(leaf.statement, dimension, place) != (-1 if name.negated else 1)
                for place, iterator in same
            ):
                return False
        return True

    def _iterators(self, leaf: AstLeaf) -> tuple[DataObject, ...]:
        return tuple(loop.iterator for loop in self._statements[leaf.statement].statement.loops)

    def _row_name(self, statement: str, dimension: int | None) -> str:
        """`t_plus_i` for a loop over t + i."""
        if dimension is None:
            return "instance"
        row = self._row(statement, dimension)
        if row is None or not row.terms:
            return f"time{dimension}"
        text = ""
        for factor, place in sorted(row.terms, key=lambda term: term[0] < 0):
            name = self._statements[statement].statement.loops[place].iterator.name
            name = name if abs(factor) == 1 else f"{name}{abs(factor)}"
            sign = "minus" if factor < 0 else "plus"
            text = f"{text}_{sign}_{name}" if text else name if factor > 0 else f"minus_{name}"
        return f"{text}_time" if len(row.terms) == 1 and abs(row.terms[0][0]) == 1 else text


def mentioned(node: Statement | Expression) -> frozenset[str]:
    """The names of all objects in `node`."""
    names = set()
    for part in walk(node):
        if isinstance(part, (Access, Declarator)):
            names.add(part.object.name)
            names |= {inner for length in part.object.lengths if length is not None for inner in mentioned(length)}
        elif isinstance(part, Loop):
            names.add(part.iterator.name)
    return frozenset(names)


def _rows(times: isl.Map) -> tuple[_Row, ...] | None:
    """The time dimensions, if all are affine."""
    if not times.is_single_valued():
        return None
    # Else isl would use constraints of the domain, such as a tile's, to write the function.
    function = isl.PwMultiAff.from_map(times.gist_domain(times.domain()))
    pieces: list[isl.MultiAff] = []
    with signals_held_back():
        function.foreach_piece(lambda _, piece: pieces.append(piece))
    if len(pieces) != 1:
        return None
    return tuple(_row(pieces[0].get_aff(place)) for place in range(pieces[0].dim(isl.dim_type.out)))


def _row(aff: isl.Aff) -> _Row:
    terms = []
    for place in range(aff.dim(isl.dim_type.in_)):
        factor = aff.get_coefficient_val(isl.dim_type.in_, place)
        if not factor.is_zero():
            terms.append((int(factor.to_python()) if factor.is_int() else 0, place))
    parameters = (aff.get_coefficient_val(isl.dim_type.param, place) for place in range(aff.dim(isl.dim_type.param)))
    plain = aff.get_constant_val().is_zero() and all(parameter.is_zero() for parameter in parameters)
    return _Row(tuple(terms), plain and aff.dim(isl.dim_type.div) == 0)
