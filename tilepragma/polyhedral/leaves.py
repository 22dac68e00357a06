"""Which parts of a nest can be moved on their own: the leaves of a Scop whose code is to be transformed.

A statement that declares variables is kept together with all that uses them; control that is not affine stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.looptree import Block, Declaration, If, Loop, Statement
from tilepragma.ir.traversal import walk
from tilepragma.polyhedral.affine import Frame, NotAffineError, affine, as_polynomial, condition


def _nothing(statement: Statement) -> bool:
    del statement
    return False


@dataclass(frozen=True)
class Movable:
    """Asks for leaves that can be moved: simple statements, and loops and conditions that are not affine as wholes.

    `whole` names further statements (loops, conditions, the bodies of either) that are one leaf each, with all inside them.
    """

    whole: Callable[[Statement], bool] = _nothing

    def is_leaf(self, statement: Statement, frame: Frame, exposed: frozenset[DataObject]) -> bool:
        """Whether a statement is one leaf; `exposed` are iterators that are read outside their loops."""
        if self.whole(statement):
            return True
        if isinstance(statement, Block):
            return False
        if isinstance(statement, If):
            return not _is_affine_condition(statement, frame)
        if isinstance(statement, Loop):
            return (
                statement.iterator in exposed or leaves_early(statement.body) or not _is_affine_loop(statement, frame)
            )
        return True


def grouped(statements: Iterable[Statement]) -> tuple[tuple[Statement, ...], ...]:
    """The statements in order, each declaration in one group with everything up to the last use of what it declares."""
    ordered = tuple(statements)
    result: list[tuple[Statement, ...]] = []
    place = 0
    while place < len(ordered):
        end = _end(ordered, place)
        result.append(ordered[place : end + 1])
        place = end + 1
    return tuple(result)


def exposed_iterators(body: Iterable[Statement]) -> frozenset[DataObject]:
    """Iterators of loops that are also used outside their loops."""
    found: set[DataObject] = set()
    loops: set[DataObject] = set()
    for statement in body:
        loops |= {node.iterator for node in walk(statement) if isinstance(node, Loop)}
        for use in uses(statement):
            within = any(loop.iterator == use.object for loop in use.loops)
            if use.reads and not within:
                found.add(use.object)
    return frozenset(found & loops)


def _end(statements: tuple[Statement, ...], start: int) -> int:
    """The last statement that belongs with the one at `start`."""
    end, place = start, start
    while place <= end:
        statement = statements[place]
        if isinstance(statement, Declaration):
            own = {declarator.object for declarator in statement.declarators}
            for later in range(len(statements) - 1, end, -1):
                if any(use.object in own for use in uses(statements[later])):
                    end = later
                    break
        place += 1
    return end


def _is_affine_condition(node: If, frame: Frame) -> bool:
    try:
        condition(node.condition, frame)
    except NotAffineError:
        return False
    return True


def _is_affine_loop(loop: Loop, frame: Frame) -> bool:
    if not as_polynomial(loop.step).constant:
        return False
    try:
        affine(loop.lower, frame)
        affine(loop.upper, frame)
    except NotAffineError:
        return False
    return True
