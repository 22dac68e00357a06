"""One sweep over the whole mesh, as the user wrote it, in the terms of a region that runs by
subdomains: it touches what all of them touch, and is simple.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilepragma.ir.expressions import Access, Expression, integer
from tilepragma.ir.loop_tree import Block, Kernel, Loop, Statement
from tilepragma.ir.polynomial import expression, of_atom, polynomial
from tilepragma.ir.substitution import with_accesses


def one_sweep(kernel: Kernel, group: Statement) -> Block:
    """The user's loops over the mesh around a copy of the first statements of the region's loop
    over groups of sweeps. Places of the first subdomain become columns of the mesh.
    """
    _, *rows, columns = kernel.original_sweeps
    chain = list(_chain(group))
    place, row_loops, over = chain[-1], chain[-1 - len(rows) : -1], chain[1 : 2 + len(rows)]
    counts = {loop.iterator for loop in over}
    first = polynomial(columns.lower)

    def column(access: Access) -> Expression:
        if access.object == place.iterator:
            return expression(first - of_atom(access) if columns.decreasing else of_atom(access) - first)
        return integer(0) if access.object in counts else access

    body = with_accesses(place.body, column)
    for loop, like in ((columns, place), *reversed(list(zip(rows, row_loops, strict=True)))):
        body = Block((replace(loop, iterator=like.iterator, declares_iterator=True, body=body),))
    return body


def _chain(statement: Statement) -> Iterator[Loop]:
    """The loop, its first statement if that is a loop, and so on."""
    while isinstance(statement, Loop):
        yield statement
        statement = statement.body.statements[0]
