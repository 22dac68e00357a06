"""Which statement of the region a leaf of a plan executes, and in which instances.

Planners keep the user's statements, or rename their iterators and nothing else.

    { [plan instance] -> S[i] }
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import Access, DataObject
from tilepragma.ir.loop_tree import Declaration, Declarator, If, Loop
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.poly.affine import product_of
from tilepragma.poly.dependences import Dependence
from tilepragma.poly.scop import Scop, ScopStatement
from tilepragma.verify.launch_tree_relation import Leaf, evaluated_parts

#: Relations with more pieces are not tested for convexity: subtraction takes long.
_MOST_PIECES = 16


@dataclass(frozen=True, eq=False)
class Executed:
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
class Source:
    """A statement of the region with its leaf in the region's own tree."""

    leaf: Leaf
    statements: tuple[ScopStatement, ...]


@dataclass(frozen=True)
class Finding:
    """A fault of a plan, or a failed proof; `certain`: the plan is wrong in some run."""

    rule: str
    message: str
    certain: bool


class Unmatched(Exception):  # noqa: N818  (it carries a sentence to where findings are collected)
    """A leaf that matches no statement of the region; the text is a sentence."""

    def __init__(self, message: str, *, certain: bool = False) -> None:
        super().__init__(message)
        self.certain = certain


class Sources:
    """The statements of a region, to match leaves of plans against."""

    def __init__(self, scop: Scop, leaves: Iterable[Leaf]) -> None:
        self._by_node: dict[int, Source] = {}
        self._by_place: dict[tuple[Any, ...], list[Source]] = {}
        by_node: dict[int, list[ScopStatement]] = {}
        for statement in scop.statements:
            by_node.setdefault(id(statement.node), []).append(statement)
        for leaf in leaves:
            source = Source(leaf, tuple(by_node.get(id(leaf.node), ())))
            self._by_node[id(leaf.node)] = source
            self._by_place.setdefault(_place(leaf.node), []).append(source)

    def of(self, leaf: Leaf) -> tuple[Source, dict[DataObject, DataObject]] | None:
        """The statement that the leaf executes, with the plan's names of its objects; None without
        any. Of several copies of a statement, the one with the leaf's names is preferred.
        """
        source = self._by_node.get(id(leaf.node))
        if source is not None:
            return source, {}
        match = None
        for candidate in self._by_place.get(_place(leaf.node), ()):
            places: dict[DataObject, DataObject] = {}
            if all(_same(new, old, places) for new, old in _pairs(leaf.node, candidate.leaf.node)):
                renamed = {old: new for old, new in places.items() if old != new}
                if not renamed:
                    return candidate, renamed
                if match is None and renamed.keys() <= _bound(candidate.leaf):
                    match = candidate, renamed
        return match


def executions(leaf: Leaf, source: Source, places: dict[DataObject, DataObject]) -> Iterator[Executed]:
    """{ [plan instance] -> S[i] } for the statements of the source. Raises Unmatched."""
    if source.statements:
        _check_opaque(leaf, source.leaf, places)
    for statement in source.statements:
        iterators = [loop.iterator for loop in statement.loops]
        values = []
        for place, iterator in enumerate(iterators):
            named = name_of(iterator, leaf, places)
            value = leaf.value(named) if iterator not in iterators[place + 1 :] else None
            if value is None:
                raise Unmatched(
                    f"the value of '{iterator.host}' is no affine function of the plan's loops in the "
                    f"{where(statement)}"
                )
            values.append(value)
        relation = product_of(values, leaf.frame)
        relation = relation.set_tuple_name(isl.dim_type.out, statement.name).intersect_domain(leaf.domain)
        yield Executed(leaf, statement, in_one_piece(relation), places)


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
    kind = (
        "condition" if isinstance(statement.node, If) else "bound" if isinstance(statement.node, Loop) else "statement"
    )
    return f"{kind} at line {statement.range.start.line}"


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
                    raise Unmatched(
                        f"a condition or bound is evaluated for another '{iterator.host}' than the statement on "
                        f"line {_line(leaf)}"
                    )


def _match_opaque(leaf: Leaf, source: Leaf, places: dict[DataObject, DataObject]) -> None:
    """Raises Unmatched where the plan's non-affine conditions differ from the region's."""
    pairs = zip(leaf.opaque, source.opaque, strict=False)
    same_names = all(old == new for old, new in places.items())
    if (
        same_names
        and len(leaf.opaque) == len(source.opaque)
        and all(new.part == old.part and new.decides is old.decides for new, old in pairs)
    ):
        return  # pairs of thousands of nested conditions would take a minute
    open_ = list(source.opaque)
    for condition in leaf.opaque:
        names = dict(places)
        candidates = (candidate for candidate in open_ if candidate.part == condition.part)
        original = next((part for part in candidates if _same(condition.decides, part.decides, names)), None)
        if original is None:
            raise Unmatched(
                f"a condition or bound that is not affine decides on line {_line(leaf)} in the plan, but not in the "
                "region"
            )
        open_.remove(original)
    if open_:
        raise Unmatched(f"the statement on line {_line(leaf)} lacks a condition or bound that is not affine")


def _line(leaf: Leaf) -> int:
    return int(leaf.node.range.start.line)


def _place(node: Any) -> tuple[Any, ...]:
    """What a node and its counterpart obviously share."""
    range_ = node.header if isinstance(node, Loop) else getattr(node, "range", None)
    return type(node), range_


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
    if new is old:
        return True
    if isinstance(old, DataObject):
        return isinstance(new, DataObject) and places.setdefault(old, new) == new
    if type(new) is not type(old):
        return False
    if isinstance(old, tuple):
        return len(new) == len(old) and all(_same(n, o, places) for n, o in zip(new, old, strict=True))
    if not dataclasses.is_dataclass(old):
        return bool(new == old)
    names = [field.name for field in dataclasses.fields(old) if field.compare]
    return all(_same(getattr(new, name), getattr(old, name), places) for name in names)


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


@dataclass(frozen=True)
class ProvenRegion:
    """A region to prove plans against: its SCoP and dependences, and the statements' sources.
    `touching` has statements that touch no more than the region around.
    """

    scop: Scop
    dependences: tuple[Dependence, ...]
    written: frozenset[DataObject]
    sources: Sources
    declared: frozenset[DataObject]
    settled: frozenset[DataObject]
    touching: Scop | None = None
