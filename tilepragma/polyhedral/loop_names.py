"""What the iterators of new loops are called: as the user's where they are them, else after what they count."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import islpy as isl

from tilepragma.ir.expressions import Access, DataObject, Scope, Storage
from tilepragma.ir.looptree import Declarator, Loop, Statement
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG, ScalarType
from tilepragma.polyhedral.ast_tree import AstLeaf, AstLoop, identifier, leaves_of, operands, operation

if TYPE_CHECKING:
    from tilepragma.polyhedral.scanning import ScannedStatement, Symbols


@dataclass(frozen=True)
class LoopName:
    """`object` is the loop's iterator; `negated` where it holds the negative of what isl counts, so that the loop counts down."""

    object: DataObject
    negated: bool


class LoopNames:
    """Chooses iterators for the loops of one scan."""

    def __init__(self, statements: Mapping[str, ScannedStatement], symbols: Symbols) -> None:
        self._statements = statements
        self._mentioned = {name: mentioned(each.statement.node) for name, each in statements.items()}
        self._of_parameters = {name for value in symbols.parameters.values() for name in mentioned(value)}
        self._taken = symbols.taken.union(
            self._of_parameters,
            *self._mentioned.values(),
            *({loop.iterator.name for loop in each.statement.loops} for each in statements.values()),
        )

    def choose(self, loop: AstLoop, dimension: int | None, around: frozenset[str]) -> LoopName:
        """The iterator of `loop`; `around` are the names of the iterators of loops around it."""
        leaves = tuple(leaves_of(loop.body))
        for name in dict.fromkeys(self._candidates(loop.iterator, leaves)):
            if name.object.name not in around and self._fits(name, loop.iterator, leaves):
                return name
        base = self._row_name(leaves[0].statement, dimension) if leaves else "time"
        free = (base if count == 1 else f"{base}_{count}" for count in itertools.count(1))
        chosen = next(name for name in free if name not in self._taken and name not in around)
        return LoopName(DataObject(chosen, chosen, LONG, Storage.SCALAR, Scope.LOCAL), False)

    def _candidates(self, iterator: str, leaves: tuple[AstLeaf, ...]) -> Iterator[LoopName]:
        """The user's iterators that are, in some leaf, what isl's iterator counts or its negative."""
        for leaf in leaves:
            for user, argument in zip(self._iterators(leaf), leaf.arguments, strict=True):
                sign = _sign(argument, iterator)
                if sign and _holds(user.element):
                    yield LoopName(replace(user, scope=Scope.LOCAL, const=False), sign < 0)

    def _fits(self, name: LoopName, iterator: str, leaves: tuple[AstLeaf, ...]) -> bool:
        """Whether in every leaf the name means this iterator, if it means anything."""
        if name.object.name in self._of_parameters:
            return False
        for leaf in leaves:
            same = [
                (user, argument)
                for user, argument in zip(self._iterators(leaf), leaf.arguments, strict=True)
                if user.name == name.object.name
            ]
            if not same and name.object.name in self._mentioned[leaf.statement]:
                return False
            if any(
                user.element != name.object.element or _sign(argument, iterator) != (-1 if name.negated else 1)
                for user, argument in same
            ):
                return False
        return True

    def _iterators(self, leaf: AstLeaf) -> tuple[DataObject, ...]:
        return tuple(loop.iterator for loop in self._statements[leaf.statement].statement.loops)

    def _row_name(self, statement: str, dimension: int | None) -> str:
        """`t_plus_i` for a loop over t + i."""
        if dimension is None:
            return "instance"
        each = self._statements[statement]
        terms = _row(each.times, dimension)
        if not terms:
            return f"time{dimension}"
        text = ""
        for factor, place in sorted(terms, key=lambda term: term[0] < 0):
            name = each.statement.loops[place].iterator.name
            name = name if abs(factor) == 1 else f"{name}{abs(factor)}"
            sign = "minus" if factor < 0 else "plus"
            text = f"{text}_{sign}_{name}" if text else name if factor > 0 else f"minus_{name}"
        return f"{text}_time" if len(terms) == 1 and abs(terms[0][0]) == 1 else text


def mentioned(node: Statement | object) -> frozenset[str]:
    """The names of all objects that stand in `node`."""
    found = set()
    for one in walk(node):
        if isinstance(one, (Access, Declarator)):
            found.add(one.object.name)
            found |= {inner for length in one.object.lengths if length is not None for inner in mentioned(length)}
        elif isinstance(one, Loop):
            found.add(one.iterator.name)
    return frozenset(found)


def _sign(argument: isl.AstExpr, iterator: str) -> int:
    """1 where `argument` is the iterator, -1 where it is its negative, else 0."""
    name = identifier(argument)
    if name is not None:
        return int(name == iterator)
    return -_sign(operands(argument)[0], iterator) if operation(argument) == isl.ast_expr_op_type.minus else 0


def _holds(type_: object) -> bool:
    """Whether a loop may count in this type: values one step beyond its end must fit."""
    return isinstance(type_, ScalarType) and type_.is_integer and type_.signed and type_.bits >= INT.bits


def _row(times: isl.Map, dimension: int) -> list[tuple[int, int]]:
    """(coefficient, iterator's place) of one dimension of time, where it is affine; empty where it is not."""
    if not times.is_single_valued():
        return []
    terms: list[tuple[int, int]] = []

    def piece(_: isl.Set, aff: isl.MultiAff) -> None:
        row = aff.get_aff(dimension)
        terms.clear()
        for place in range(row.dim(isl.dim_type.in_)):
            factor = row.get_coefficient_val(isl.dim_type.in_, place)
            if not factor.is_zero() and factor.is_int():
                terms.append((int(factor.to_python()), place))

    isl.PwMultiAff.from_map(times).foreach_piece(piece)
    return terms
