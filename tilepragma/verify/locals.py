"""Locals belong to their iteration: each use is in the scope of its own declaration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import Declaration, Statement
from tilepragma.verify.statement_matching import Executed, Finding, Sources, name_of, where


def broken_scopes(executed: Iterable[Executed], sources: Sources) -> Iterator[Finding]:
    """A sentence for every statement that uses a local of another iteration."""
    for execution in executed:
        for object_ in {reference.object for reference in execution.statement.references}:
            if object_.scope is not Scope.LOCAL or _declares(execution.statement.node, object_):
                continue
            if not _of_this_iteration(object_, execution, sources):
                text = f"'{object_.host}' in the {where(execution.statement)} is not that of its iteration"
                yield Finding("locals belong to their iteration", text, False)


def _declares(node: Statement, object_: DataObject) -> bool:
    return isinstance(node, Declaration) and any(declarator.object == object_ for declarator in node.declarators)


def _of_this_iteration(object_: DataObject, execution: Executed, sources: Sources) -> bool:
    declaration = execution.leaf.scopes.get(object_)
    match = sources.of(declaration) if declaration is not None else None
    if declaration is None or match is None:
        return False
    source, places = match
    for iterator in source.leaf.frame.iterators:
        then = declaration.value(name_of(iterator, declaration, places))
        now = execution.leaf.value(name_of(iterator, execution.leaf, execution.places))
        if then is None or now is None:
            return False
        then = then.add_dims(isl.dim_type.in_, execution.leaf.depth - declaration.depth)
        if not (then.plain_is_equal(now) or execution.leaf.domain.is_subset(then.eq_set(now))):
            return False
    return True
