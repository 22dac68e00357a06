"""Every instance of every statement runs exactly once, in one instance of its launch, on the locals
of its own iteration.

range of { [plan instance] -> S[i] } = domain of S, one to one over all leaves
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import islpy as isl

from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.loop_tree import Declaration, If, Loop
from tilepragma.poly.scop import Scop, ScopStatement
from tilepragma.verify.certificate import Fault
from tilepragma.verify.launch_tree_relation import Mapped, dimensions_of
from tilepragma.verify.statement_matching import InstanceMap, Original, declares, grouped, instance_text, name_of, where

_RULE = "every instance runs once"


def missed_and_doubled(scop: Scop, executed: Iterable[InstanceMap]) -> Iterator[Fault]:
    """A sentence for every statement with a missed, doubled or added instance."""
    by_name = grouped(executed, lambda execution: execution.statement.name)
    for statement in scop.statements:
        executions = by_name.get(statement.name, [])
        if isinstance(statement.node, (If, Loop)):
            continue  # decisions may repeat; what depends on them says where they are taken
        yield from _added(statement, executions)
        if not _is_local_declaration(statement):
            missed = reduce(isl.Set.subtract, _instances(executions), statement.domain)
            if not missed.is_empty():
                text = instance_text(missed, statement)
                yield Fault(_RULE, f"the {where(statement)} never runs for {text}", True)
            yield from _doubled(statement, executions)
            yield from _uncovered(statement, executions)


def _is_local_declaration(statement: ScopStatement) -> bool:
    """Whether the statement declares locals of a round, so that copies are harmless."""
    writes = [reference.object.scope is Scope.LOCAL for reference in statement.references if reference.writes]
    return isinstance(statement.node, Declaration) and all(writes)


def _added(statement: ScopStatement, executed: list[InstanceMap]) -> Iterator[Fault]:
    for execution in executed:
        instances = execution.relation.range()
        if instances.remove_divs().is_subset(statement.domain):
            continue  # even without divisions: quick to show for tiles of tiles
        added = instances.subtract(statement.domain)
        if not added.is_empty():
            text = instance_text(added, statement)
            yield Fault(_RULE, f"the {where(statement)} runs for {text}, which the region does not have", True)


def _in_common_loops(executed: list[InstanceMap]) -> list[isl.Map]:
    """{ [c] -> S[i] } over the iterators c of the loops around all leaves: one relation that joins
    what the plan splits inside these loops, such as full tiles and the rest. Without common loops,
    one relation for each leaf.
    """
    if len(executed) < 2:
        return [execution.relation for execution in executed]
    paths = [execution.leaf.path for execution in executed]
    shared = [element for element in paths[0] if all(element in path for path in paths[1:])]
    common = sum(dimensions_of(element) for element in shared)
    if not common:
        return [execution.relation for execution in executed]
    relations = [
        execution.relation.project_out(isl.dim_type.in_, common, execution.leaf.depth - common).coalesce()
        for execution in executed
    ]
    return [reduce(isl.Map.union, relations).coalesce()]


def _instances(executed: list[InstanceMap]) -> Iterator[isl.Set]:
    """{ S[i] } that the leaves execute, in sets that are quick to subtract."""
    for relation in _in_common_loops(executed):
        alone = next((execution for execution in executed if execution.relation is relation), None)
        # For a relation of one piece, the check for doubled instances has computed this.
        yield _ran(relation, None if alone is None or relation.n_basic_map() != 1 else alone.is_injective)


def _ran(relation: isl.Map, is_injective: bool | None) -> isl.Set:
    """The range of { [plan instance] -> S[i] }, with the plan instance as a function of i if it is
    one.

    Subtraction works on the constraints of a set's pieces, which in this form have no existential
    variables (fdtd-2d: 0.1 s instead of 12).
    """
    instances = isl.Set.empty(relation.range().get_space())
    for piece in relation.coalesce().get_basic_maps():
        inverse = isl.Map.from_basic_map(piece).reverse()
        is_function = inverse.is_single_valued() if is_injective is None else is_injective
        ran = isl.PwMultiAff.from_map(inverse).domain() if is_function else inverse.domain()
        instances = instances.union(ran)
    return instances.coalesce()


def _doubled(statement: ScopStatement, executed: list[InstanceMap]) -> Iterator[Fault]:
    seen: isl.Set | None = None
    for execution in executed:
        instances = execution.relation.range()
        twice = None if execution.is_injective else _not_injective(execution.relation)
        if twice is None and seen is not None:
            twice = seen.intersect(instances)
        if twice is not None and not twice.is_empty():
            yield Fault(_RULE, f"the {where(statement)} runs twice for {instance_text(twice, statement)}", True)
        seen = instances if seen is None else seen.union(instances)


def _not_injective(relation: isl.Map) -> isl.Set:
    """{ S[i] : two plan instances execute it }"""
    pairs = relation.apply_range(relation.reverse())
    return pairs.subtract(isl.Map.identity(pairs.get_space())).domain().apply(relation)


def _uncovered(statement: ScopStatement, executed: list[InstanceMap]) -> Iterator[Fault]:
    for execution in executed:
        launch = execution.leaf.launch
        nests = [element.nest for element in execution.leaf.path if isinstance(element, Mapped)]
        axes = {tile.axis for nest in nests for tile in nest.order if tile.axis is not None}
        if launch is None or axes >= set(launch.axes):
            continue
        for reference in statement.references:
            if (
                reference.writes
                and reference.object.scope is not Scope.LOCAL
                and reference.object not in launch.privates
            ):
                name = reference.object.host
                yield Fault(
                    _RULE, f"every instance of launch {launch.name} writes '{name}' in the {where(statement)}", True
                )
                break


def broken_scopes(executed: Iterable[InstanceMap], original: Original) -> Iterator[Fault]:
    """A sentence for every statement that uses a local of another iteration."""
    for execution in executed:
        for object_ in {reference.object for reference in execution.statement.references}:
            if object_.scope is not Scope.LOCAL or declares(execution.statement, object_):
                continue
            if not _of_this_iteration(object_, execution, original):
                text = f"'{object_.host}' in the {where(execution.statement)} is not that of its iteration"
                yield Fault("locals belong to their iteration", text, False)


def _of_this_iteration(object_: DataObject, execution: InstanceMap, original: Original) -> bool:
    declaration = execution.leaf.scopes.get(object_)
    match = original.source_of(declaration) if declaration is not None else None
    if declaration is None or match is None:
        return False
    source, places = match
    for iterator in source.frame.iterators:
        then = declaration.value(name_of(iterator, declaration, places))
        now = execution.leaf.value(name_of(iterator, execution.leaf, execution.places))
        if then is None or now is None:
            return False
        then = then.add_dims(isl.dim_type.in_, execution.leaf.depth - declaration.depth)
        if not (then.plain_is_equal(now) or execution.leaf.domain.is_subset(then.eq_set(now))):
            return False
    return True
