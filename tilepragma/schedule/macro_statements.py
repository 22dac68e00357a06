"""Macro-statements: statements that a scalar ties together, and private scalars that tie none.

Consecutive updates of one element in an innermost loop wait for each other in every iteration.
Moving them as one loses nothing, and register tiles need a single statement.

An outside scalar that several statements of a loop body share makes them wait for all other
iterations. If no iteration reads what another one wrote, the body can move as a whole, and the
scalar is private to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilepragma.ir.accesses import uses, written_in
from tilepragma.ir.expressions import Assignment, DataObject
from tilepragma.ir.flow import exposed_read
from tilepragma.ir.loop_tree import Block, ExpressionStatement, Loop, Statement
from tilepragma.ir.traversal import loops_in
from tilepragma.poly.scop import Scop
from tilepragma.schedule.candidate import Region


def updating_bodies(region: Region) -> tuple[Block, ...]:
    """The loop bodies that only update one element, several times."""
    return tuple(loop.body for loop in loops_in(region.kernel.body) if _updates_one_element(loop.body))


def _updates_one_element(body: Block) -> bool:
    expressions = [statement.expression for statement in body.statements if isinstance(statement, ExpressionStatement)]
    targets = {expression.target for expression in expressions if isinstance(expression, Assignment)}
    written = written_in(body)
    return (
        1 < len(body.statements) == len(expressions)
        and all(isinstance(expression, Assignment) for expression in expressions)
        and len(targets) == 1
        and written == {target.object for target in targets}
        and all(target.subscripts for target in targets)
    )


def tied_bodies(region: Region) -> tuple[Block, ...]:
    """The innermost bodies that assign the region's written scalars before reading them. None for
    other scalars. Includes the bodies of `updating_bodies`.
    """
    bodies = list(updating_bodies(region))
    for scalar in written_scalars(region):
        covering = _below(region.statements, scalar, region)
        if covering is not None:
            bodies += [body for body in covering if not _is_one_statement(body)]
    return tuple({id(body): body for body in bodies}.values())


def private_scalars(region: Region, scop: Scop) -> frozenset[DataObject]:
    """The scalars that each statement of the Scop assigns before reading, dead after the region."""
    functions = region.kernel.functions
    result = set()
    for scalar in written_scalars(region):
        touching = [each for each in scop.statements if any(access.object == scalar for access in each.references)]
        wanted = scalar.name in region.live_out and scalar.name not in region.final
        if not wanted and all(exposed_read(each.node, scalar, functions) is None for each in touching):
            result.add(scalar)
    return frozenset(result)


def written_scalars(region: Region) -> list[DataObject]:
    """The outside scalars that the region writes, other than iterators of its loops."""
    iterators = {loop.iterator for loop in loops_in(region.kernel.body)}
    outside = (object_ for object_ in region.kernel.objects if object_.is_outside_scalar)
    return [object_ for object_ in outside if object_ in region.written and object_ not in iterators]


def _below(statements: Iterable[Statement], scalar: DataObject, region: Region) -> list[Block] | None:
    """The bodies in these statements with all uses of the scalar; None if a use lies outside."""
    bodies: list[Block] = []
    for statement in statements:
        if not any(use.object == scalar for use in uses(statement, region.kernel.functions)):
            continue
        if isinstance(statement, Block):
            inner = _below(statement.statements, scalar, region)
        elif isinstance(statement, Loop) and not _in_header(statement, scalar):
            inner = _body(statement.body, scalar, region)
        else:
            inner = None
        if inner is None:
            return None
        bodies += inner
    return bodies


def _body(body: Block, scalar: DataObject, region: Region) -> list[Block] | None:
    inner = _below(body.statements, scalar, region)
    if inner is not None:
        return inner
    return [body] if exposed_read(body, scalar, region.kernel.functions) is None else None


def _in_header(loop: Loop, scalar: DataObject) -> bool:
    headers = loop.bounds
    return loop.iterator == scalar or any(use.object == scalar for part in headers for use in uses(part))


def _is_one_statement(body: Block) -> bool:
    return len(body.statements) == 1 and not isinstance(body.statements[0], (Block, Loop))
