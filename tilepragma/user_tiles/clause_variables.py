"""Checks what `private`, `firstprivate` and `reduction` clauses name: scalars of the kernel, and
arrays of known lengths that are reduced.
"""

from __future__ import annotations

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.directives import Live, PrivateClause, ReductionClause
from tilepragma.ir.expressions import DataObject, Storage
from tilepragma.ir.loop_tree import Declarator, ForLoop, Kernel, Loop
from tilepragma.ir.traversal import walk


def check_names(kernel: Kernel, diagnostics: Diagnostics) -> None:
    """Report names in clauses of the kernel and its loops that are no scalar of the kernel.

    Lines of OpenMP also name pointers, which take part in subscripts alone once they are set.
    """
    clauses: list[PrivateClause | ReductionClause] = [*kernel.directive.privates, *kernel.directive.reductions]
    for node in walk(kernel.body):
        if isinstance(node, (Loop, ForLoop)) and node.directive is not None:
            clauses += [*node.directive.privates, *node.directive.reductions]
    known = _objects(kernel)
    for clause in clauses:
        word = "reduced" if isinstance(clause, ReductionClause) else "private"
        for name in clause.names:
            if name not in known and kernel.directive.openmp_line is not None and word == "private":
                continue
            _check(name, known.get(name), word, clause.range, diagnostics)


def _check(name: str, object_: DataObject | None, word: str, range_: SourceRange, diagnostics: Diagnostics) -> None:
    if object_ is None:
        diagnostics.error(range_, f"'{name}' cannot be {word}: the kernel does not use it", "remove it from the clause")
    elif object_.storage is not Storage.SCALAR and word == "private":
        remedy = f"declare '{name}' inside the distributed loop"
        diagnostics.error(range_, f"'{name}' cannot be private: it is an array", remedy)
    elif object_.storage is Storage.ROWS or None in object_.lengths:
        message = f"'{name}' cannot be reduced: it is an array of unknown length"
        remedy = f"write reduction(+: {name}[0:N]), with its length for N"
        if object_.storage is Storage.ROWS:
            remedy = f"gather in a scalar, and store it in '{name}' after the kernel"
        diagnostics.error(range_, message, remedy)


def _objects(kernel: Kernel) -> dict[str, DataObject]:
    """All objects of the kernel by the user's names; outer objects hide locals of the same name."""
    by_name: dict[str, DataObject] = {}
    for node in walk(kernel.body):
        if isinstance(node, Declarator):
            by_name[node.object.host] = node.object
        elif isinstance(node, Loop):
            by_name[node.iterator.host] = node.iterator
    return by_name | {object_.host: object_ for object_ in kernel.objects}


def live_out_by_clause(kernel: Kernel) -> frozenset[str]:
    """Names of scalars that a clause makes live after the kernel."""
    names = set()
    for clause in kernel.directive.data:
        if clause.live in (Live.OUT, Live.IN_OUT):
            paths = {without_blanks(section.path) for section in clause.sections}
            scalars = (object_ for object_ in kernel.objects if object_.storage is Storage.SCALAR)
            names |= {scalar.name for scalar in scalars if without_blanks(scalar.host) in paths}
    return frozenset(names)


def without_blanks(path: str) -> str:
    """The section's path without white space."""
    return "".join(path.split())
