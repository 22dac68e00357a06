"""Every memory-based dependence of the region, taken to the plan's instances, runs forward there.

{ S[i] -> T[j] } becomes { A[a] -> B[b] : a executes i, b executes j } for all leaves A of S and B
of T
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import Declaration
from tilepragma.poly.dependences import Dependence, carried_at, distances_between, together
from tilepragma.poly.program_model import DependenceKind
from tilepragma.poly.scop import Reference
from tilepragma.poly.tile_legality import Violation
from tilepragma.verify.launch_tree_relation import At, Leaf
from tilepragma.verify.order import Broken, out_of_order, text_orders
from tilepragma.verify.pipelines import out_of_columns
from tilepragma.verify.statement_matching import Executed, Finding

_RULE = "dependences run forward"


def broken_dependences(
    dependences: Iterable[Dependence], executed: Iterable[Executed], *, vouched: bool
) -> Iterator[Finding]:
    """A sentence for the first dependence that does not run forward between each two leaves."""
    by_name: dict[str, list[Executed]] = {}
    for one in executed:
        by_name.setdefault(one.statement.name, []).append(one)
    groups: dict[tuple[str, str], list[Dependence]] = {}
    for dependence in dependences:
        key = dependence.source_statement.name, dependence.sink_statement.name
        groups.setdefault(key, []).append(dependence)
    unions: dict[tuple[int, ...], isl.Map] = {}
    for (source, sink), group in groups.items():
        for first in by_name.get(source, ()):
            for second in by_name.get(sink, ()):
                launch = first.leaf.launch
                # No user vouches for wavefronts of ours.
                if not vouched or launch is not second.leaf.launch or (launch is not None and launch.pipelined):
                    yield from _between(first, second, group, unions)


def _between(
    first: Executed, second: Executed, group: list[Dependence], unions: dict[tuple[int, ...], isl.Map]
) -> Iterator[Finding]:
    """`unions` are of dependences, by their identities: a statement has many leaves in tiles, with the same ones between them."""
    shared = [one for one in group if not _is_local(one) and not _exempt(one.source.object, first, second)]
    if text_orders(first.leaf, second.leaf):
        shared = []
    if shared and _broken(first, second, _union(shared, unions)) is not None:
        for one in shared:
            broken = _broken(first, second, one.relation)
            if broken is not None:
                yield _finding(one, broken, first, second)
                break
    for one in group:
        broken = _broken_local(one, first, second) if _is_local(one) else _lost(one, first, second)
        if broken is not None:
            yield _finding(one, broken, first, second)


def _union(shared: list[Dependence], unions: dict[tuple[int, ...], isl.Map]) -> isl.Map:
    key = tuple(map(id, shared))
    if key not in unions:
        unions[key] = together(shared)
    return unions[key]


def _broken(first: Executed, second: Executed, relation: isl.Map) -> Broken | None:
    """What of a relation between two statements does not run in order."""
    pairs = _taken(first, second, relation)
    return out_of_order(first.leaf, second.leaf, pairs) or out_of_columns(first.leaf, second.leaf, pairs)


def _lost(one: Dependence, first: Executed, second: Executed) -> Broken | None:
    """What one launch leaves in its instances' copies, another launch cannot have."""
    object_, source, sink = one.source.object, first.leaf.launch, second.leaf.launch
    if one.kind is not DependenceKind.FLOW or source is None or sink is None or object_ not in source.owned:
        return None
    pairs = _taken(first, second, one.relation) if object_ in sink.needed else None
    return None if pairs is None or pairs.is_empty() else Broken(pairs, "are of launches that do not hand it on")


def _is_local(dependence: Dependence) -> bool:
    return dependence.source.object.scope is Scope.LOCAL


def _exempt(object_: DataObject, first: Executed, second: Executed) -> bool:
    """Whether instances have copies of the object: what is needed of those is seen to where scalars are."""
    one, other = first.leaf.launch, second.leaf.launch
    if one is None or other is None:
        return False
    return object_ in one.owned or object_ in other.owned or (one is other and object_ in one.reduced)


def _taken(first: Executed, second: Executed, relation: isl.Map) -> isl.Map:
    return first.relation.apply_range(relation).apply_range(second.relation.reverse())


def _broken_local(one: Dependence, first: Executed, second: Executed) -> Broken | None:
    """Locals are of one iteration and of one instance; each copy of a declaration serves what stands behind it."""
    object_ = one.source.object
    mine, theirs = _declaration_of(object_, first), _declaration_of(object_, second)
    if mine is theirs is not None and _follows_in_one_iteration(one, first, second):
        return None
    pairs = _taken(first, second, one.relation)
    if mine is not theirs or mine is None:
        harmless = mine is first.leaf or pairs.is_empty()
        return None if harmless else Broken(pairs, "have copies of their own in the plan")
    for dimension in range(mine.depth):
        elsewhere = pairs
        pairs = pairs.equate(isl.dim_type.in_, dimension, isl.dim_type.out, dimension)
        if not elsewhere.is_subset(pairs):
            return Broken(elsewhere, "have copies of their own in the plan")
    return out_of_order(first.leaf, second.leaf, pairs, alone=True)


def _follows_in_one_iteration(one: Dependence, first: Executed, second: Executed) -> bool:
    """Whether the dependence is of single iterations of all loops, which the plan runs as one in
    the order of the text: the leaves stand in one sequence, and execute the same iterations there,
    each instance another one. Bodies of many statements have many of these, easily seen.
    """
    (*before, at), (*others, there) = first.leaf.path, second.leaf.path
    return (
        isinstance(at, At)
        and isinstance(there, At)
        and at.sequence == there.sequence
        and at.index < there.index
        and len(before) == len(others)
        and all(mine is its for mine, its in zip(before, others, strict=True))
        and len(one.loops) == len(one.source_statement.loops) == len(one.sink_statement.loops)
        and not carried_at(one)
        and first.iterations == second.iterations
        and first.is_injective
    )


def _declaration_of(object_: DataObject, executed: Executed) -> Leaf | None:
    """The leaf that declares the copy of `object_` which this one uses: itself where it is that declaration."""
    node = executed.statement.node
    itself = isinstance(node, Declaration) and any(declarator.object == object_ for declarator in node.declarators)
    return executed.leaf if itself else executed.leaf.scopes.get(object_)


def _finding(one: Dependence, broken: Broken, first: Executed, second: Executed) -> Finding:
    relation = first.relation.reverse().apply_range(broken.pairs).apply_range(second.relation)
    distance = Violation(one, distances_between(relation.intersect(one.relation), one.loops), 0).nearest
    over = f" over ({', '.join(loop.iterator.host for loop in one.loops)})" if one.loops else ""
    far = f" with distance {distance}{over}" if one.loops else ""
    text = (
        f"the {one.kind.value} dependence of '{one.source.object.host}' from {_end(one.source)} to {_end(one.sink)}{far} is broken: "
        f"its instances {broken.reason}"
    )
    return Finding(_RULE, text, one.exact)


def _end(reference: Reference) -> str:
    return f"line {reference.range.start.line}, column {reference.range.start.column}"
