"""Every memory-based dependence of the region runs forward between the plan's instances.

{ S[i] -> T[j] } becomes { A[a] -> B[b] : a executes i, b executes j } for all leaves A of S and B
of T
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import Declaration
from tilepragma.poly.dependences import Dependence, DependenceKind, carried_at, distances_between, together
from tilepragma.poly.scop import Reference
from tilepragma.poly.tile_legality import Violation
from tilepragma.verify.execution_order import Broken, out_of_order, text_orders
from tilepragma.verify.launch_tree_relation import InSequence, Leaf
from tilepragma.verify.pipelines import out_of_columns
from tilepragma.verify.statement_matching import Executed, Finding

_RULE = "dependences run forward"


def broken_dependences(
    dependences: Iterable[Dependence], executed: Iterable[Executed], *, vouched: bool
) -> Iterator[Finding]:
    """A sentence for the first dependence that does not run forward between each two leaves."""
    by_name: dict[str, list[Executed]] = {}
    for execution in executed:
        by_name.setdefault(execution.statement.name, []).append(execution)
    groups: dict[tuple[str, str], list[Dependence]] = {}
    for dependence in dependences:
        key = dependence.source_statement.name, dependence.sink_statement.name
        groups.setdefault(key, []).append(dependence)
    unions: dict[tuple[int, ...], isl.Map] = {}
    for (source, sink), group in groups.items():
        for first in by_name.get(source, ()):
            for second in by_name.get(sink, ()):
                launch = first.leaf.launch
                # The user does not vouch for the planner's wavefronts.
                if not vouched or launch is not second.leaf.launch or (launch is not None and launch.pipelined):
                    yield from _between(first, second, group, unions)


def _between(
    first: Executed, second: Executed, group: list[Dependence], unions: dict[tuple[int, ...], isl.Map]
) -> Iterator[Finding]:
    """`unions` caches unions of dependences by identity: many leaves share the same dependences."""
    shared = [edge for edge in group if not _is_local(edge) and not _exempt(edge.source.object, first, second)]
    if text_orders(first.leaf, second.leaf):
        shared = []
    if shared and _broken(first, second, _union(shared, unions)) is not None:
        for dependence in shared:
            broken = _broken(first, second, dependence.relation)
            if broken is not None:
                yield _finding(dependence, broken, first, second)
                break
    for dependence in group:
        broken = _broken_local(dependence, first, second) if _is_local(dependence) else _lost(dependence, first, second)
        if broken is not None:
            yield _finding(dependence, broken, first, second)


def _union(shared: list[Dependence], unions: dict[tuple[int, ...], isl.Map]) -> isl.Map:
    key = tuple(map(id, shared))
    if key not in unions:
        unions[key] = together(shared)
    return unions[key]


def _broken(first: Executed, second: Executed, relation: isl.Map) -> Broken | None:
    """The part of a relation between two statements that does not run in order."""
    pairs = _taken(first, second, relation)
    return out_of_order(first.leaf, second.leaf, pairs) or out_of_columns(first.leaf, second.leaf, pairs)


def _lost(dependence: Dependence, first: Executed, second: Executed) -> Broken | None:
    """What a launch leaves in its instances' private copies is lost for other launches."""
    object_, source, sink = dependence.source.object, first.leaf.launch, second.leaf.launch
    if dependence.kind is not DependenceKind.FLOW or source is None or sink is None or object_ not in source.owned:
        return None
    pairs = _taken(first, second, dependence.relation) if object_ in sink.needed else None
    return None if pairs is None or pairs.is_empty() else Broken(pairs, "are of launches that do not hand it on")


def _is_local(dependence: Dependence) -> bool:
    return dependence.source.object.scope is Scope.LOCAL


def _exempt(object_: DataObject, first: Executed, second: Executed) -> bool:
    """Whether instances have copies of the object, which `scalar_copies` checks."""
    launch, second_launch = first.leaf.launch, second.leaf.launch
    if launch is None or second_launch is None:
        return False
    return object_ in launch.owned | second_launch.owned or (launch is second_launch and object_ in launch.reduced)


def _taken(first: Executed, second: Executed, relation: isl.Map) -> isl.Map:
    return first.relation.apply_range(relation).apply_range(second.relation.reverse())


def _broken_local(dependence: Dependence, first: Executed, second: Executed) -> Broken | None:
    """Locals belong to one iteration and instance; a declaration serves what follows it."""
    object_ = dependence.source.object
    declaration, second_declaration = _declaration_of(object_, first), _declaration_of(object_, second)
    if declaration is second_declaration is not None and _follows_in_one_iteration(dependence, first, second):
        return None
    pairs = _taken(first, second, dependence.relation)
    if declaration is not second_declaration or declaration is None:
        harmless = declaration is first.leaf or pairs.is_empty()
        return None if harmless else Broken(pairs, "have copies of their own in the plan")
    for dimension in range(declaration.depth):
        elsewhere = pairs
        pairs = pairs.equate(isl.dim_type.in_, dimension, isl.dim_type.out, dimension)
        if not elsewhere.is_subset(pairs):
            return Broken(elsewhere, "have copies of their own in the plan")
    return out_of_order(first.leaf, second.leaf, pairs, alone=True)


def _follows_in_one_iteration(dependence: Dependence, first: Executed, second: Executed) -> bool:
    """Whether the dependence stays in single iterations of all loops, which the plan runs in
    textual order: the leaves stand in one sequence, and execute the same iterations there, one
    each. A quick test for the many such dependences of long bodies.
    """
    (*around, last), (*second_around, second_last) = first.leaf.path, second.leaf.path
    return (
        isinstance(last, InSequence)
        and isinstance(second_last, InSequence)
        and last.sequence == second_last.sequence
        and last.index < second_last.index
        and len(around) == len(second_around)
        and all(element is counterpart for element, counterpart in zip(around, second_around, strict=True))
        and len(dependence.loops) == len(dependence.source_statement.loops) == len(dependence.sink_statement.loops)
        and not carried_at(dependence)
        and first.iterations == second.iterations
        and first.is_injective
    )


def _declaration_of(object_: DataObject, executed: Executed) -> Leaf | None:
    """The leaf that declares the copy of `object_` that this leaf uses; possibly itself."""
    node = executed.statement.node
    itself = isinstance(node, Declaration) and any(declarator.object == object_ for declarator in node.declarators)
    return executed.leaf if itself else executed.leaf.scopes.get(object_)


def _finding(dependence: Dependence, broken: Broken, first: Executed, second: Executed) -> Finding:
    relation = first.relation.reverse().apply_range(broken.pairs).apply_range(second.relation)
    distances = distances_between(relation.intersect(dependence.relation), dependence.loops)
    distance = Violation(dependence, distances, 0).nearest
    over = f" over ({', '.join(loop.iterator.host for loop in dependence.loops)})" if dependence.loops else ""
    far = f" with distance {distance}{over}" if dependence.loops else ""
    text = (
        f"the {dependence.kind.value} dependence of '{dependence.source.object.host}' from "
        f"{_end(dependence.source)} to {_end(dependence.sink)}{far} is broken: "
        f"its instances {broken.reason}"
    )
    return Finding(_RULE, text, dependence.exact)


def _end(reference: Reference) -> str:
    return f"line {reference.range.start.line}, column {reference.range.start.column}"
