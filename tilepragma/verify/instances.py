"""Every instance of every statement runs exactly once, by one instance of the launch that it is in.

range of { [plan instance] -> S[i] } = domain of S, one to one over all leaves
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import Scope
from tilepragma.ir.loop_tree import Declaration, If, Loop
from tilepragma.poly.scop import Scop, ScopStatement
from tilepragma.verify.launch_tree_relation import Dealt, Element, Ordered
from tilepragma.verify.statement_matching import Executed, Finding, instance_text, where

_RULE = "every instance runs once"


def missed_and_doubled(scop: Scop, executed: Iterable[Executed]) -> Iterator[Finding]:
    """A sentence for every statement of which an instance is missed, run twice, or run though the region has it not."""
    by_name: dict[str, list[Executed]] = {}
    for one in executed:
        by_name.setdefault(one.statement.name, []).append(one)
    for statement in scop.statements:
        mine = by_name.get(statement.name, [])
        if isinstance(statement.node, (If, Loop)):
            continue  # a decision may be taken as often as is liked; who depends on it says where it is taken
        yield from _added(statement, mine)
        if not is_local_declaration(statement):
            yield from _missed(statement, mine)
            yield from _doubled(statement, mine)
            yield from _uncovered(statement, mine)


def is_local_declaration(statement: ScopStatement) -> bool:
    """Whether the statement declares what every round of a loop has for itself, so that copies of it do no harm."""
    writes = [reference.object.scope is Scope.LOCAL for reference in statement.references if reference.writes]
    return isinstance(statement.node, Declaration) and all(writes)


def _added(statement: ScopStatement, executed: list[Executed]) -> Iterator[Finding]:
    for one in executed:
        instances = one.relation.range()
        if instances.remove_divs().is_subset(statement.domain):
            continue  # even of those between them: quickly shown of tiles of tiles
        added = instances.subtract(statement.domain)
        if not added.is_empty():
            text = instance_text(added, statement)
            yield Finding(_RULE, f"the {where(statement)} runs for {text}, which the region does not have", True)


def _missed(statement: ScopStatement, executed: list[Executed]) -> Iterator[Finding]:
    missed = reduce(isl.Set.subtract, _instances(executed), statement.domain)
    if not missed.is_empty():
        yield Finding(_RULE, f"the {where(statement)} never runs for {instance_text(missed, statement)}", True)


def _in_common_loops(executed: list[Executed]) -> list[isl.Map]:
    """{ [c] -> S[i] }, c being the iterators of the loops that all leaves have around them: what is
    told apart only inside these loops, as the full part of a tile from the rest, is one there. One
    relation each, as they are, where there is no such loop.
    """
    if len(executed) < 2:
        return [one.relation for one in executed]
    shared = [one for one in executed[0].leaf.path if all(one in other.leaf.path for other in executed[1:])]
    common = sum(_dimensions(element) for element in shared)
    if not common:
        return [one.relation for one in executed]
    relations = [
        one.relation.project_out(isl.dim_type.in_, common, one.leaf.depth - common).coalesce() for one in executed
    ]
    return [reduce(isl.Map.union, relations).coalesce()]


def _dimensions(element: Element) -> int:
    """How many iterators an element of a path adds."""
    return 1 if isinstance(element, Ordered) else len(element.nest.loops) if isinstance(element, Dealt) else 0


def _instances(executed: list[Executed]) -> Iterator[isl.Set]:
    """{ S[i] } that the leaves execute, in sets that are quickly subtracted."""
    for relation in _in_common_loops(executed):
        alone = next((one for one in executed if one.relation is relation), None)
        # Of a relation that is one piece this is known from where it is asked whether it runs
        # anything twice.
        yield _ran(relation, None if alone is None or relation.n_basic_map() != 1 else alone.is_injective)


def _ran(relation: isl.Map, is_injective: bool | None) -> isl.Set:
    """range of { [plan instance] -> S[i] }, with the plan instance as a function of i where it is
    one.

    A set is subtracted by the constraints of its pieces; in this form these have no unknowns
    (fdtd-2d: 0.1 s in place of 12).
    """
    found = isl.Set.empty(relation.range().get_space())
    for piece in relation.coalesce().get_basic_maps():
        inverse = isl.Map.from_basic_map(piece).reverse()
        is_function = inverse.is_single_valued() if is_injective is None else is_injective
        ran = isl.PwMultiAff.from_map(inverse).domain() if is_function else inverse.domain()
        found = found.union(ran)
    return found.coalesce()


def _doubled(statement: ScopStatement, executed: list[Executed]) -> Iterator[Finding]:
    seen: isl.Set | None = None
    for one in executed:
        instances = one.relation.range()
        twice = None if one.is_injective else _not_injective(one.relation)
        if twice is None and seen is not None:
            twice = seen.intersect(instances)
        if twice is not None and not twice.is_empty():
            yield Finding(_RULE, f"the {where(statement)} runs twice for {instance_text(twice, statement)}", True)
        seen = instances if seen is None else seen.union(instances)


def _not_injective(relation: isl.Map) -> isl.Set:
    """{ S[i] : two plan instances execute it }"""
    pairs = relation.apply_range(relation.reverse())
    return pairs.subtract(isl.Map.identity(pairs.get_space())).domain().apply(relation)


def _uncovered(statement: ScopStatement, executed: list[Executed]) -> Iterator[Finding]:
    for one in executed:
        launch = one.leaf.launch
        nests = [element.nest for element in one.leaf.path if isinstance(element, Dealt)]
        axes = {tile.axis for nest in nests for tile in nest.order if tile.axis is not None}
        if launch is None or axes >= set(launch.axes):
            continue
        for reference in statement.references:
            if reference.writes and reference.object.scope is not Scope.LOCAL and reference.object not in launch.owned:
                name = reference.object.host
                yield Finding(
                    _RULE, f"every instance of launch {launch.name} writes '{name}' in the {where(statement)}", True
                )
                break
