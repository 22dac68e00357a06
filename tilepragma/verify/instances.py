"""The instance map of a plan: which statement of the region each of its leaves executes, and in
which instances.

    { [h_1, …, h_k, i_1, …, i_n] -> S[j] }

h are the iterators of the host's loops around a launch, i those of the launch's own loops, S[j] the
instance of a statement of the region. Planners keep the user's statements, or rename their
iterators and nothing else.

Every instance of every statement runs exactly once, in one instance of its launch, on the locals of
its own iteration:

    range of { [plan instance] -> S[i] } = domain of S, one to one over all leaves
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property, reduce
from typing import Any, TypeVar

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject, Scope
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, Function, If, Loop, Statement
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.plan.kernel_plan import ArrayArgument
from tilepragma.poly.affine import Frame, product_of
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.extraction import declared_once
from tilepragma.poly.scop import Scop, ScopStatement
from tilepragma.verify.certificate import Fault, NotProvenError
from tilepragma.verify.launch_tree_relation import Leaf, Mapped, dimensions_of, evaluated_parts, leaves_and_panels

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: { S[i] -> T[j] } for all dependences through some objects, by the names of S and T.
Unions = dict[tuple[str, str, frozenset[DataObject]], isl.Map]

_ONCE = "every instance runs once"

#: Relations with more pieces are not tested for convexity: subtraction takes long.
_MOST_PIECES = 16


@dataclass(frozen=True, eq=False)
class InstanceMap:
    """A leaf that executes a statement: `relation` is { [plan instance] -> S[i] }. `places` maps
    the region's objects to the plan's where the plan renames them.
    """

    leaf: Leaf
    statement: ScopStatement
    relation: isl.Map
    places: dict[DataObject, DataObject]

    @cached_property
    def iterations(self) -> str:
        """The relation without the statement's name as text: equal texts mean equal relations."""
        return str(self.relation.reset_tuple_id(isl.dim_type.out))

    @cached_property
    def is_injective(self) -> bool:
        """Whether each instance executes another instance of the statement."""
        return bool(self.relation.is_injective())


@dataclass(frozen=True)
class Original:
    """The user's region to prove plans against: the SCoP of its statements (without the plan's
    prologue) and their memory-based dependences. A planner that has computed them passes them on.

    `with_statements` adds what the loops of plans are matched with: the `leaves` of the region's
    own tree, the scalars that it declares, and those `settled`, which keep their first value.
    `touching` has statements that touch no more than the region around. `assumes_independence`: the
    user declares instances of one launch independent. `device_arrays` are the arrays as a device
    holds them: what is copied in, or what the user answers for, has a value from the start.
    """

    scop: Scop
    dependences: tuple[Dependence, ...]
    functions: tuple[Function, ...] = ()
    written: frozenset[DataObject] = frozenset()
    leaves: tuple[Leaf, ...] = ()
    declared: frozenset[DataObject] = frozenset()
    settled: frozenset[DataObject] = frozenset()
    touching: Scop | None = None
    assumes_independence: bool = False
    device_arrays: tuple[ArrayArgument, ...] = ()

    def with_statements(
        self, body: tuple[Statement, ...], functions: tuple[Function, ...], written: frozenset[DataObject]
    ) -> Original:
        """The region of these statements, which change `written`."""
        settled = declared_once(body, functions)
        declarators = (node for statement in body for node in walk(statement) if isinstance(node, Declarator))
        return dataclasses.replace(
            self,
            functions=functions,
            written=written,
            leaves=leaves_and_panels(Block(body), Frame(self.scop.context, (), written), settled)[0],
            declared=frozenset(declarator.object for declarator in declarators),
            settled=settled,
        )

    @cached_property
    def unions(self) -> Unions:
        """The unions that proofs have made: many leaves, at all tile sizes, share dependences."""
        return {}

    @cached_property
    def _by_node(self) -> dict[int, Leaf]:
        return {id(leaf.node): leaf for leaf in self.leaves}

    @cached_property
    def _by_place(self) -> dict[tuple[Any, ...], list[Leaf]]:
        return grouped(self.leaves, lambda leaf: _place(leaf.node))

    @cached_property
    def _statements(self) -> dict[int, list[ScopStatement]]:
        return grouped(self.scop.statements, lambda statement: id(statement.node))

    def source_of(self, leaf: Leaf) -> tuple[Leaf, dict[DataObject, DataObject]] | None:
        """The region's leaf that the plan's executes, with the plan's names of its objects; None
        without any. Of several copies of a statement, the one with the leaf's names is preferred.
        """
        source = self._by_node.get(id(leaf.node))
        if source is not None:
            return source, {}
        match = None
        for candidate in self._by_place.get(_place(leaf.node), ()):
            places: dict[DataObject, DataObject] = {}
            if all(_same(new, old, places) for new, old in _pairs(leaf.node, candidate.node)):
                renamed = {old: new for old, new in places.items() if old != new}
                if not renamed:
                    return candidate, renamed
                if match is None and renamed.keys() <= _bound(candidate):
                    match = candidate, renamed
        return match

    def executions(self, leaf: Leaf, source: Leaf, places: dict[DataObject, DataObject]) -> Iterator[InstanceMap]:
        """{ [plan instance] -> S[i] } for the statements of the source. Raises NotProvenError."""
        statements = self._statements.get(id(source.node), [])
        if statements:
            _check_opaque(leaf, source, places)
        for statement in statements:
            iterators = [loop.iterator for loop in statement.loops]
            values = []
            for place, iterator in enumerate(iterators):
                named = name_of(iterator, leaf, places)
                value = leaf.value(named) if iterator not in iterators[place + 1 :] else None
                if value is None:
                    raise NotProvenError(
                        f"the value of '{iterator.host}' is no affine function of the plan's loops in the "
                        f"{where(statement)}"
                    )
                values.append(value)
            relation = product_of(values, leaf.frame)
            relation = relation.set_tuple_name(isl.dim_type.out, statement.name).intersect_domain(leaf.domain)
            yield InstanceMap(leaf, statement, in_one_piece(relation), places)


def grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """The values by their keys, in order."""
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def in_one_piece(relation: isl.Map) -> isl.Map:
    """The same relation as one basic map if it is convex.

    Tile bounds are maxima and minima, which split a tile's instances into pieces although they are
    convex; later tests take time quadratic in the pieces (colour sweeps in three dimensions: a
    proof of 0.4 s instead of 3.9).
    """
    if not 1 < relation.n_basic_map() <= _MOST_PIECES:
        return relation
    whole = isl.Map.from_basic_map(relation.unshifted_simple_hull())
    return whole if whole.is_subset(relation) else relation


def name_of(iterator: DataObject, leaf: Leaf, places: dict[DataObject, DataObject]) -> DataObject:
    """The object that holds the iterator's value at the leaf: the leaf's name for it, or, where its
    text does not mention the iterator, an object in scope with the same user name.
    """
    if iterator in places or leaf.value(iterator) is not None:
        return places.get(iterator, iterator)
    mentioned = {node.object for part in evaluated_parts(leaf.node) for node in walk(part) if isinstance(node, Access)}
    in_scope = (*leaf.frame.iterators, *leaf.frame.known)
    called = [namesake for namesake in in_scope if namesake.host == iterator.host]
    return called[-1] if called and iterator not in mentioned else iterator


def where(statement: ScopStatement) -> str:
    """`statement at line 3`: the statement's name in sentences."""
    kind = {If: "condition", Loop: "bound"}.get(type(statement.node), "statement")
    return f"{kind} at line {statement.range.start.line}"


def declares(statement: ScopStatement, object_: DataObject) -> bool:
    """Whether the statement is the declaration of the object."""
    node = statement.node
    return isinstance(node, Declaration) and any(declarator.object == object_ for declarator in node.declarators)


def _check_opaque(leaf: Leaf, source: Leaf, places: dict[DataObject, DataObject]) -> None:
    """Non-affine conditions around must be the same in the plan, for the same instance."""
    _match_opaque(leaf, source, places)
    frames = {id(condition.frame): condition.frame for condition in leaf.opaque}  # often shared
    for frame in frames.values():
        for iterator in source.frame.iterators:
            named = name_of(iterator, leaf, places)
            then, now = frame.value(named), leaf.value(named)
            if then is not None and now is not None:
                then = then.add_dims(isl.dim_type.in_, leaf.depth - len(frame.iterators))
                if not then.is_equal(now):
                    raise NotProvenError(
                        f"a condition or bound is evaluated for another '{iterator.host}' than the statement on "
                        f"line {_line(leaf)}"
                    )


def _match_opaque(leaf: Leaf, source: Leaf, places: dict[DataObject, DataObject]) -> None:
    """Raises NotProvenError where the plan's non-affine conditions differ from the region's."""
    pairs = zip(leaf.opaque, source.opaque, strict=False)
    alike = len(leaf.opaque) == len(source.opaque) and all(old == new for old, new in places.items())
    if alike and all(new.part == old.part and new.decides is old.decides for new, old in pairs):
        return  # pairs of thousands of nested conditions would take a minute
    open_ = list(source.opaque)
    for condition in leaf.opaque:
        names = dict(places)
        candidates = (candidate for candidate in open_ if candidate.part == condition.part)
        original = next((part for part in candidates if _same(condition.decides, part.decides, names)), None)
        if original is None:
            raise NotProvenError(
                f"a condition or bound that is not affine decides on line {_line(leaf)} in the plan, but not in the "
                "region"
            )
        open_.remove(original)
    if open_:
        raise NotProvenError(f"the statement on line {_line(leaf)} lacks a condition or bound that is not affine")


def _line(leaf: Leaf) -> int:
    return int(leaf.node.range.start.line)


def _place(node: Any) -> tuple[Any, ...]:
    """What a node and its counterpart obviously share."""
    return type(node), node.header if isinstance(node, Loop) else getattr(node, "range", None)


def _pairs(node: Any, old: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of a node and of its possible original; a declaration may omit declarators."""
    if isinstance(node, Declaration) and isinstance(old, Declaration):
        old_declarators = {declarator.object: declarator for declarator in old.declarators}
        yield from ((declarator, old_declarators.get(declarator.object)) for declarator in node.declarators)
    else:
        yield from zip(evaluated_parts(node), evaluated_parts(old), strict=True)


def _bound(leaf: Leaf) -> set[DataObject]:
    """The objects that the plan may rename: iterators, and the statement's own declarations."""
    inner = {loop.iterator for loop in loops_in(leaf.node)}
    inner |= {node.object for node in walk(leaf.node) if isinstance(node, Declarator)}
    return {*leaf.frame.iterators, *inner}


def _same(new: Any, old: Any, places: dict[DataObject, DataObject]) -> bool:
    """Whether two trees differ at most in names of objects; `places` maps old to new."""

    def renamed(new: Any, old: Any) -> bool | None:
        if new is old:
            return True
        if isinstance(old, DataObject):
            return isinstance(new, DataObject) and places.setdefault(old, new) == new
        return None

    return same_tree(new, old, renamed)


def same_tree(new: Any, old: Any, decide: Callable[[Any, Any], bool | None]) -> bool:
    """Whether two trees are the same, but for parts on which `decide` answers."""
    decided = decide(new, old)
    if decided is not None:
        return decided
    if type(new) is not type(old):
        return False
    if isinstance(old, tuple):
        return len(new) == len(old) and all(same_tree(n, o, decide) for n, o in zip(new, old, strict=True))
    if not dataclasses.is_dataclass(old):
        return bool(new == old)
    names = [field.name for field in dataclasses.fields(old) if field.compare]
    return all(same_tree(getattr(new, name), getattr(old, name), decide) for name in names)


def instance_text(instances: isl.Set, statement: ScopStatement) -> str:
    """`(i = 0, j = 2) where n = 3`: one of the instances, { S[i] }, which are not empty."""
    point = instances.sample_point()
    names = [loop.iterator.host for loop in statement.loops]
    values = [f"{name} = {point.get_coordinate_val(isl.dim_type.set, place)}" for place, name in enumerate(names)]
    given = parameter_values(point)
    return f"({', '.join(values)})" + (f" where {given}" if given else "")


def parameter_values(point: isl.Point) -> str:
    """`n = 3, m = 2`: the parameters at a point."""
    kind, space = isl.dim_type.param, point.get_space()
    places = range(space.dim(kind))
    return ", ".join(f"{space.get_dim_name(kind, place)} = {point.get_coordinate_val(kind, place)}" for place in places)


# -- every instance once


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
                yield Fault(_ONCE, f"the {where(statement)} never runs for {text}", True)
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
        # With the plan's own numbers, which its range would have as unknowns.
        added = execution.relation.intersect_range(statement.domain.complement())
        if not added.is_empty():
            text = instance_text(added.range(), statement)
            yield Fault(_ONCE, f"the {where(statement)} runs for {text}, which the region does not have", True)


def _in_common_loops(executed: list[InstanceMap]) -> list[isl.Map]:
    """{ [c] -> S[i] } over the iterators c of the loops around all leaves: one relation that joins
    what the plan splits inside these loops, such as full tiles and the rest. Without common loops,
    one relation for each leaf.
    """
    paths = [execution.leaf.path for execution in executed]
    shared = [element for element in paths[0] if all(element in path for path in paths[1:])] if len(paths) > 1 else []
    common = sum(dimensions_of(element) for element in shared)
    if not common:
        return [execution.relation for execution in executed]
    parts = ((execution.relation, execution.leaf.depth - common) for execution in executed)
    relations = [relation.project_out(isl.dim_type.in_, common, inner).coalesce() for relation, inner in parts]
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
            yield Fault(_ONCE, f"the {where(statement)} runs twice for {instance_text(twice, statement)}", True)
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
        written = (reference.object for reference in statement.references if reference.writes)
        common = next((o for o in written if o.scope is not Scope.LOCAL and o not in launch.privates), None)
        if common is not None:
            text = f"every instance of launch {launch.name} writes '{common.host}' in the {where(statement)}"
            yield Fault(_ONCE, text, True)


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
