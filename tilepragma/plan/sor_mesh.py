"""One sweep over the whole mesh, as the user wrote it, in the terms of a region that goes through
it by subdomains: it touches what all of them do, and is simple.
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
    over groups of sweeps, in which a place of the first subdomain is the column of it.
    """
    _, *rows, columns = kernel.original_sweeps
    chain = list(_chain(group))
    place, own, over = chain[-1], chain[-1 - len(rows) : -1], chain[1 : 2 + len(rows)]
    counts = {loop.iterator for loop in over}
    first = polynomial(columns.lower)

    def column(access: Access) -> Expression:
        if access.object == place.iterator:
            return expression(first - of_atom(access) if columns.decreasing else of_atom(access) - first)
        return integer(0) if access.object in counts else access

    body = with_accesses(place.body, column)
    for loop, like in ((columns, place), *reversed(list(zip(rows, own, strict=True)))):
        body = Block((replace(loop, iterator=like.iterator, declares_iterator=True, body=body),))
    return body


def _chain(statement: Statement) -> Iterator[Loop]:
    """The loop, the first one in it, the first one in that, and so on."""
    while isinstance(statement, Loop):
        yield statement
        statement = statement.body.statements[0]
