"""The leaves of a Scop for transformed code: the parts of a nest that can move alone.

A statement that declares variables stays with all their uses. Control that is not affine stays
whole, and so does a loop that ends early or whose iterator is used after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import leaves_early, uses
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.loop_tree import Block, Declaration, Function, If, Loop, Statement
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import loops_in
from tilepragma.poly.affine import Frame, NotAffineError, affine, condition


def _nothing(statement: Statement) -> bool:
    del statement
    return False


@dataclass(frozen=True)
class Movable:
    """Decides which statements are leaves: simple ones, and whole loops and conditions that are not
    affine.

    `whole` names further statements that are one leaf each. Statements of the variables `together`
    form one leaf from an assignment to the last read of the value, as if the leaf declared the
    variable; not where a read may precede all assignments.
    """

    whole: Callable[[Statement], bool] = _nothing
    together: frozenset[DataObject] = frozenset()

    def is_leaf(self, statement: Statement, frame: Frame, exposed: frozenset[DataObject]) -> bool:
        """Whether a statement is one leaf; `exposed` iterators have reads outside their loops."""
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


def grouped(
    statements: Iterable[Statement], together: frozenset[DataObject], functions: tuple[Function, ...]
) -> tuple[tuple[Statement, ...], ...]:
    """The statements in order, grouped by what must stay together."""
    ordered = tuple(statements)
    spans = [*_declared(ordered), *_assigned(ordered, together, functions)]
    joined = {place for start, end in spans for place in range(start, end)}  # each with the one after it
    result: list[list[Statement]] = []
    for place, statement in enumerate(ordered):
        if place - 1 in joined:
            result[-1].append(statement)
        else:
            result.append([statement])
    return tuple(tuple(group) for group in result)


def exposed_iterators(body: Iterable[Statement]) -> frozenset[DataObject]:
    """Iterators of loops that are also used outside their loops."""
    used_outside: set[DataObject] = set()
    loops: set[DataObject] = set()
    for statement in body:
        loops |= {loop.iterator for loop in loops_in(statement)}
        for use in uses(statement):
            within = any(loop.iterator == use.object for loop in use.loops)
            if use.reads and not within:
                used_outside.add(use.object)
    return frozenset(used_outside & loops)


def _declared(statements: tuple[Statement, ...]) -> Iterator[tuple[int, int]]:
    """The range from each declaration to the last use of its variables."""
    for start, statement in enumerate(statements):
        if isinstance(statement, Declaration):
            declared = {declarator.object for declarator in statement.declarators}
            users = (
                place for place, user in enumerate(statements) if any(use.object in declared for use in uses(user))
            )
            yield start, max(users, default=start)


def _assigned(
    statements: tuple[Statement, ...], together: frozenset[DataObject], functions: tuple[Function, ...]
) -> Iterator[tuple[int, int]]:
    """The ranges from the latest assignment of a variable to each statement that reads it."""
    for object_ in together:
        users = [
            place
            for place, statement in enumerate(statements)
            if any(use.object == object_ for use in uses(statement, functions))
        ]
        for end in users:
            if exposed_read(statements[end], object_, functions) is None:
                continue
            for start in reversed([place for place in users if place < end]):
                if exposed_read(Block(statements[start : end + 1]), object_, functions) is None:
                    yield start, end
                    break


def _is_affine_condition(node: If, frame: Frame) -> bool:
    try:
        condition(node.condition, frame)
    except NotAffineError:
        return False
    return True


def _is_affine_loop(loop: Loop, frame: Frame) -> bool:
    if not polynomial(loop.step).constant:
        return False
    try:
        affine(loop.lower, frame)
        affine(loop.upper, frame)
    except NotAffineError:
        return False
    return True
