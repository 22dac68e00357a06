"""Packed panels hold exactly the elements that the code inside accesses.

    E : { [i, l] -> [x] }      the element of iteration l of a panel's loops, in instance i inside
    L : { [i, l] -> [y] }      its place in the panel

In each instance L is one to one with E and lies in the panel. Each access inside is spelled like
the panel's, and means an element of E at the place that L gives it; or it meets no element of E, if
any is written. Whatever is filled, and written back, is surely accessed, and written, inside: no
copy leaves the array or touches elements that others write.

Where padded panels replace conditions, the additional instances write only places without an
element, and read only places of panels, or elements that are read anyway.

Where workers wait for each other inside, barriers do not order the panel's elements: no other
instance in the launch may access an element of E.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.expressions import Access, Call, Callee, DataObject, Expression, Storage
from tilepragma.ir.loop_tree import Barrier, Panel, Stage, TileNest
from tilepragma.ir.panel_accesses import place_in_buffer
from tilepragma.ir.speculation import is_harmless
from tilepragma.ir.traversal import walk
from tilepragma.poly.affine import Frame, NotAffineError, affine_tuple, product_of
from tilepragma.poly.delinearise import split_subscript
from tilepragma.poly.scop import Scop
from tilepragma.verify.launch_tree_relation import Element, Held, Launched, Leaf, Mapped, Ordered
from tilepragma.verify.statement_matching import Finding

_RULE = "buffers hold what they are for"


def broken_buffers(held: tuple[Held, ...], scop: Scop, all_leaves: tuple[Leaf, ...]) -> Iterator[Finding]:
    """A sentence for every panel that may change the results of the statements inside."""
    for panel in held:
        yield from _told(f"the buffer of '{panel.buffer.access.object.host}'", _faults(panel, scop, all_leaves))
    padded = tuple(buffered for buffered in held if buffered.buffer.padded)
    leaves = (leaf for buffered in padded for leaf in buffered.leaves if leaf.padded is not None)
    for leaf in {id(leaf): leaf for leaf in leaves}.values():
        around = tuple(buffered for buffered in padded if any(leaf is inner for inner in buffered.leaves))
        yield from _told("what runs besides, around padding,", _faults_beside(leaf, around, scop))


def _told(what: str, faults: Iterator[str]) -> Iterator[Finding]:
    """A sentence about `what` for each of the faults, or that these are unknown."""
    try:
        yield from (Finding(_RULE, f"{what} {fault}", True) for fault in faults)
    except NotAffineError as error:
        yield Finding(_RULE, f"{what} is not understood: {error.why.reason}", False)
    except _NotShownError as error:
        yield Finding(_RULE, f"{what} {error}", False)


class _NotShownError(Exception):
    """A panel that the proof cannot handle; the text follows its name."""


@dataclass(frozen=True)
class _PanelAccess:
    """An access inside: `elements` is { [i] -> [x] } over the panel's instances, `places` { [i] ->
    [x, y] } with the panel's subscripts y; None where the access is spelled otherwise.
    """

    use: Use
    elements: isl.Map
    places: isl.Map | None


def _faults(held: Held, scop: Scop, all_leaves: tuple[Leaf, ...]) -> Iterator[str]:
    buffer = held.buffer
    _check_form(held)
    elements = _elements(buffer.access.object, buffer.access.subscripts, held.frame, held.domain, scop)
    places = affine_tuple(buffer.subscripts, held.frame)
    lengths = [_length(buffer, place) for place in range(len(buffer.subscripts))]
    pairs = _over_instances(elements.flat_range_product(places), held.domain, held.depth)
    contents = _over_instances(elements, held.domain, held.depth)
    if not _over_instances(places, held.domain, held.depth).range().is_subset(_array(lengths, pairs.get_ctx())):
        yield "is too small"
        return
    if not _is_one_to_one(pairs, elements.dim(isl.dim_type.out)):
        yield "has one place for several elements, or several for one"
    inside = [use for leaf in held.leaves for use in _panel_accesses(leaf, held, scop)]
    written = any(panel_access.use.writes for panel_access in inside)
    touched = isl.Map.empty(contents.get_space())
    for access in inside:
        if access.places is None:
            if written and not access.elements.intersect(contents).is_empty():
                yield "has elements that are also accessed in another way inside"
            continue
        if not access.places.is_subset(pairs):
            yield "lacks elements that are accessed"
        if access.use.writes and not buffer.stored:
            yield "is written but not written back"
        if not access.use.conditional and (access.use.writes or not buffer.stored):
            touched = touched.union(access.elements)
    if not contents.is_subset(touched):
        yield "has elements that are not surely accessed"
    if held.waits and any(_is_shared(held, contents, leaf, scop) for leaf in all_leaves if leaf.launch is held.launch):
        yield "has elements that others access between barriers"


def _faults_beside(leaf: Leaf, around: tuple[Held, ...], scop: Scop) -> Iterator[str]:
    """Faults of running the leaf, inside padded panels, where padded conditions do not hold."""
    assert leaf.padded is not None, "asked of those with padded conditions"
    if leaf.opaque or leaf.padded.dim(isl.dim_type.set) != leaf.depth or not all(map(is_harmless, leaf.evaluated)):
        raise _NotShownError("is more than sums and products of numbers")
    beside = leaf.padded.subtract(leaf.domain)
    for use in (use for part in leaf.evaluated for use in uses(part)):
        placed = [(panel, place_in_buffer(use.object, use.subscripts, panel.buffer)) for panel in around]
        match = next(((panel, place) for panel, place in placed if place is not None), None)
        if match is not None:
            held, place = match
            places = affine_tuple(place, leaf.frame)
            lengths = [_length(held.buffer, dimension) for dimension in range(len(place))]
            if not places.intersect_domain(leaf.padded).range().is_subset(_array(lengths, places.get_ctx())):
                yield f"leaves the buffer of '{use.object.host}'"
            occupied = _over_instances(affine_tuple(held.buffer.subscripts, held.frame), held.domain, held.depth)
            if use.writes and not occupied.is_disjoint(_over_instances(places, beside, held.depth)):
                yield f"changes elements in the buffer of '{use.object.host}'"
        elif use.writes:
            yield f"changes '{use.object.host}'"
        elif use.subscripts:
            depth = max(panel.depth for panel in around)
            elements = _elements(use.object, use.subscripts, leaf.frame, leaf.domain, scop)
            if not _over_instances(elements, beside, depth).is_subset(_over_instances(elements, leaf.domain, depth)):
                yield f"reads elements of '{use.object.host}' that nothing else does"


def _is_shared(held: Held, contents: isl.Map, leaf: Leaf, scop: Scop) -> bool:
    """Whether another instance of the statement inside, in the same launch, may access a panel's
    element in the leaf. Raises NotAffineError, _NotShownError.
    """
    for part in leaf.evaluated:
        for use in uses(part):
            if use.object != held.buffer.access.object:
                continue
            if use.path or len(use.subscripts) != use.object.rank or leaf.opaque:
                raise _NotShownError("stands beside an access that is not understood")
            elements = _elements(use.object, use.subscripts, leaf.frame, leaf.domain, scop)
            if _common(held.path, leaf.path) < held.depth:
                if not elements.intersect_domain(leaf.domain).range().is_disjoint(contents.range()):
                    return True
                continue
            accessed = _over_instances(elements, leaf.domain, held.depth)
            pairs = contents.apply_range(accessed.reverse())
            for place in range(_common(held.path, leaf.path, launched=False)):
                pairs = pairs.equate(isl.dim_type.in_, place, isl.dim_type.out, place)
            if not pairs.subtract(isl.Map.identity(pairs.get_space())).is_empty():
                return True
    return False


def _common(path: tuple[Element, ...], leaf_path: tuple[Element, ...], *, launched: bool = True) -> int:
    """The number of dimensions of loops around both; of host loops only, if not `launched`."""
    dimensions = 0
    for element, counterpart in zip(path, leaf_path, strict=False):
        if isinstance(element, Launched) and not launched:
            break
        if element is counterpart:
            dimensions += len(element.nest.loops) if isinstance(element, Mapped) else isinstance(element, Ordered)
    return dimensions


def _check_form(held: Held) -> None:
    """Raises _NotShownError where the panel has a form that the proof does not cover."""
    buffer = held.buffer
    if held.opaque or any(loop.decreasing for loop in buffer.loops):
        raise _NotShownError("has bounds that are not understood")
    if buffer.access.path or len(buffer.access.subscripts) != buffer.access.object.rank:
        raise _NotShownError("does not hold whole elements")
    if buffer.object.storage is Storage.ROWS or len(buffer.subscripts) != buffer.object.rank:
        raise _NotShownError("is no array")
    if held.waits and (not buffer.stored or buffer.loops):
        raise _NotShownError("is more than the element of a worker, and stands around barriers")
    spelled = {
        node.object
        for part in (*buffer.declarations, buffer.access, *buffer.subscripts)
        for node in walk(part)
        if isinstance(node, Access)
    }
    for leaf in held.leaves:
        if spelled & (set(leaf.frame.iterators) - set(held.frame.iterators)):
            raise _NotShownError("names an iterator of a loop inside")
        if isinstance(leaf.node, Stage) and any(array.object == buffer.access.object for array in leaf.node.arrays):
            raise _NotShownError("stands around a copy of the workers' tile")
        for part in leaf.evaluated:
            for node in walk(part):
                if isinstance(node, Call) and node.callee is Callee.USER:
                    raise _NotShownError("stands around a call")
                if isinstance(node, (TileNest, Barrier)):
                    raise _NotShownError("stands around mapped loops")


def _panel_accesses(leaf: Leaf, held: Held, scop: Scop) -> Iterator[_PanelAccess]:
    """The accesses of a leaf to the panel's array. Raises NotAffineError, _NotShownError."""
    buffer = held.buffer
    for part in leaf.evaluated:
        for use in uses(part):
            if use.object != buffer.access.object:
                continue
            if use.path or len(use.subscripts) != use.object.rank or leaf.opaque:
                raise _NotShownError("stands around an access that is not understood")
            elements = _elements(use.object, use.subscripts, leaf.frame, leaf.domain, scop)
            place = place_in_buffer(use.object, use.subscripts, buffer)
            both = None if place is None else elements.flat_range_product(affine_tuple(place, leaf.frame))
            yield _PanelAccess(
                use,
                _over_instances(elements, leaf.domain, held.depth),
                None if both is None else _over_instances(both, leaf.domain, held.depth),
            )


def _elements(
    object_: DataObject, subscripts: tuple[Expression, ...], frame: Frame, domain: isl.Set, scop: Scop
) -> isl.Map:
    """{ [i] -> [x] }, x being the subscripts' element in instances of the domain, in parts for a
    delinearised array, under the SCoP's assumptions. Raises NotAffineError, _NotShownError.
    """
    by = scop.layouts.get(object_)
    if by is None:
        return affine_tuple(subscripts, frame)
    context = domain if scop.assumed is None else domain.intersect_params(scop.assumed)
    split = split_subscript(subscripts[0], by, frame, context)
    if split is None:
        raise _NotShownError("stands around an access that may leave its row")
    return product_of(split[0], frame)


def _over_instances(relation: isl.Map, domain: isl.Set, depth: int) -> isl.Map:
    """{ [i] -> [x] : exists l : [i, l] -> [x] }, of the domain alone; i has `depth` dimensions."""
    inner = relation.dim(isl.dim_type.in_) - depth
    return relation.intersect_domain(domain).project_out(isl.dim_type.in_, depth, inner).coalesce()


def _is_one_to_one(pairs: isl.Map, rank: int) -> bool:
    """Whether, in { [i] -> [x, y] }, x and y give each other; x has `rank` dimensions."""
    given = pairs.dim(isl.dim_type.out)
    to_places = pairs.move_dims(isl.dim_type.in_, pairs.dim(isl.dim_type.in_), isl.dim_type.out, 0, rank)
    to_elements = pairs.move_dims(isl.dim_type.in_, pairs.dim(isl.dim_type.in_), isl.dim_type.out, rank, given - rank)
    return bool(to_places.is_single_valued()) and bool(to_elements.is_single_valued())


def _length(buffer: Panel, place: int) -> int:
    length = buffer.object.lengths[place]
    value = getattr(length, "value", None)
    if not isinstance(value, int):
        raise _NotShownError("has a length that is no number")
    return value


def _array(lengths: list[int], context: isl.Context) -> isl.Set:
    """{ [y] : 0 <= y < lengths }"""
    names = [f"y{place}" for place in range(len(lengths))]
    limits = " and ".join(f"0 <= {name} < {length}" for name, length in zip(names, lengths, strict=True)) or "true"
    return isl.Set(f"{{ [{', '.join(names)}] : {limits} }}", context=context)
