"""Array tiles hold what is read of them: stages of shared memory, and packed panels.

Staged array tiles hold what is read of them, and no element without a reader.

For a side with the terms c * i, `least` m and `width` w, and an access with subscript s(i) in one
iteration i of the plan:

    covered    { [i] : 0 <= s(i) - m(i) - sum c i <= w }   contains all iterations of the access
    attained   in every iteration of the tile's loops, some access surely is at m + sum c i,
               and some at m + sum c i + w

The second makes the ends of an array tile, whatever its position, indices of accesses; arrays that
contain these ends contain the tile. A delinearised array need not have all rows. Its copy skips
`before` elements at the tile's start and `after` at its end, in the order of the user's elements,
and both conditions are also proven for what is left. That order is lexicographic, since no access
leaves its row.

Packed panels hold exactly the elements that the code inside accesses.

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

from collections.abc import Callable, Iterator
from functools import partial

import islpy as isl

from tilepragma.ir.accesses import Use, uses
from tilepragma.ir.expressions import Access, Call, Callee, DataObject, Expression, IntegerLiteral, Storage
from tilepragma.ir.loop_tree import Barrier, Loop, Panel, Stage, Staged, StagedSide, TileNest
from tilepragma.ir.loop_tree_text import subscripts_text
from tilepragma.ir.panel_accesses import place_in_buffer
from tilepragma.ir.speculation import is_harmless
from tilepragma.ir.traversal import walk
from tilepragma.plan.kernel_plan import Launch
from tilepragma.poly.affine import Frame, NotAffineError, affine, affine_tuple, product_of
from tilepragma.poly.delinearise import split_subscript
from tilepragma.poly.scop import Scop
from tilepragma.verify.certificate import Fault, NotProvenError
from tilepragma.verify.launch_tree_relation import Element, HeldPanel, Leaf, dimensions_of

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set

_RULE = "array tiles hold what is read"


# -- stages


def wrong_boxes(leaves: tuple[Leaf, ...]) -> Iterator[Fault]:
    """A fault for every array tile that misses an access, or ends without a reader."""
    for stage in leaves:
        if isinstance(stage.node, Stage):
            inside = [leaf for leaf in leaves if leaf.launch is stage.launch]
            for staged in stage.node.arrays:
                yield from _wrong_array_tile(stage, staged, inside)


def _wrong_array_tile(stage: Leaf, staged: Staged, leaves: list[Leaf]) -> Iterator[Fault]:
    name = staged.object.host
    parts = ((leaf, part) for leaf in leaves for part in leaf.evaluated)
    of_array = ((leaf, use) for leaf, part in parts for use in uses(part) if use.object == staged.object)
    accesses = [(leaf, use) for leaf, use in of_array if subscripts_text(use.subscripts) in staged.reads]
    try:
        iterations_of_tile = _tile(stage, staged, leaves)
        if iterations_of_tile is None:
            yield Fault(_RULE, f"the tile that '{name}' is staged for is longer than its array tile", True)
            return
        tile, exact = iterations_of_tile
        for what, measure in _measures(staged):
            ends: list[isl.Set | None] = [None, None]
            for leaf, use in accesses:
                where, *reached = measure(leaf, use)
                if not leaf.domain.is_subset(where):
                    text = f"'{name}' is read on line {use.range.start.line} outside of what is staged of {what}"
                    yield Fault(_RULE, text, not leaf.opaque)
                    return
                if use.conditional or leaf.opaque or leaf.frame.iterators[: tile.depth] != tile.frame.iterators:
                    continue
                for place, end in enumerate(reached):
                    iterations = leaf.domain.intersect(end)
                    iterations = iterations.project_out(_SET, tile.depth, leaf.depth - tile.depth)
                    attained = ends[place]
                    ends[place] = iterations if attained is None else attained.union(iterations)
            if not exact or not all(end is not None and tile.domain.is_subset(end) for end in ends):
                yield Fault(_RULE, f"{what} of what is staged of '{name}' may end without a reader", False)
                return
    except NotAffineError as error:
        yield Fault(_RULE, f"a subscript of '{name}' {error}", False)


#: For an access: { [i] : inside the ends }, { [i] : at the first }, { [i] : at the last }
Measured = tuple[isl.Set, isl.Set, isl.Set]


def _measures(staged: Staged) -> Iterator[tuple[str, Callable[[Leaf, Use], Measured]]]:
    """The ends of the tile in each dimension, and in the order of a delinearised array."""
    for dimension, side in enumerate(staged.sides):
        yield f"dimension {dimension}", partial(_in_dimension, dimension, side)
    if staged.object.rows_in is not None:
        yield "all rows", partial(_in_rows, staged)


def _in_dimension(dimension: int, side: StagedSide, leaf: Leaf, use: Use) -> Measured:
    """0 <= o <= width for the offset o of the subscript. Raises NotAffineError."""
    offset = _offset(leaf, use.subscripts[dimension], side)
    least, greatest = leaf.frame.number(0), leaf.frame.number(side.width)
    inside = offset.ge_set(least).intersect(offset.le_set(greatest))
    return inside, offset.eq_set(least), offset.eq_set(greatest)


def _in_rows(staged: Staged, leaf: Leaf, use: Use) -> Measured:
    """before <= (o_1, …, o_n) <= width - after, lexicographically. Raises NotAffineError."""
    nothing = (0,) * len(staged.sides)
    before, after = staged.before or nothing, staged.after or nothing
    beyond = isl.Set.empty(leaf.frame.space)
    same: list[isl.Set] = [isl.Set.universe(leaf.frame.space)] * 2
    for dimension, side in enumerate(staged.sides):
        offset = _offset(leaf, use.subscripts[dimension], side)
        first, last = leaf.frame.number(before[dimension]), leaf.frame.number(side.width - after[dimension])
        beyond = beyond.union(same[0].intersect(offset.lt_set(first))).union(same[1].intersect(offset.gt_set(last)))
        same = [same[0].intersect(offset.eq_set(first)), same[1].intersect(offset.eq_set(last))]
    return beyond.complement(), same[0], same[1]


def _tile(stage: Leaf, staged: Staged, leaves: list[Leaf]) -> tuple[Leaf, bool] | None:
    """An array tile's iterations, the stage's, then those of its loop after the stage, and whether
    these are exact. None where that loop exceeds its extent.
    """
    iterators, tile = stage.frame.iterators, stage
    terms = (term for side in staged.sides for term in side.terms)
    wanted = {term.iterator: term.extent for term in terms if term.iterator not in iterators}
    for leaf in leaves:
        loop = leaf.node
        if not isinstance(loop, Loop) or loop.iterator not in wanted or leaf.depth != stage.depth:
            continue
        tile = leaf.rounds(loop)
        start = affine(loop.lower, leaf.frame).add_dims(isl.dim_type.in_, 1)
        passed = tile.frame.iterator(leaf.depth).sub(start)
        extent = wanted.pop(loop.iterator)
        if not isinstance(extent, int) or not tile.domain.is_subset(passed.lt_set(tile.frame.number(extent))):
            return None
        break
    return tile, not (stage.opaque or tile.opaque or wanted)


def _offset(leaf: Leaf, subscript: Expression, side: StagedSide) -> isl.PwAff:
    """{ [i] -> [s(i) - m(i) - sum c i] }. Raises NotAffineError."""
    frame: Frame = leaf.frame
    offset = affine(subscript, frame).sub(affine(side.least, frame))
    for term in side.terms:
        value = frame.value(term.iterator)
        if value is None:
            raise NotAffineError(subscript, "is not read in the tile")
        offset = offset.sub(value.mul(frame.number(term.coefficient)))
    return offset


# -- packed panels


def broken_buffers(held: tuple[HeldPanel, ...], scop: Scop, all_leaves: tuple[Leaf, ...]) -> Iterator[Fault]:
    """A fault for every panel that may change the results of the statements inside."""
    for panel in held:
        yield from _faults_about(f"the buffer of '{panel.panel.access.object.host}'", _faults(panel, scop, all_leaves))
    padded = tuple(panel for panel in held if panel.panel.padded)
    leaves = (leaf for panel in padded for leaf in panel.leaves if leaf.padded is not None)
    for leaf in {id(leaf): leaf for leaf in leaves}.values():
        around = tuple(panel for panel in padded if any(leaf is inner for inner in panel.leaves))
        yield from _faults_about("what runs besides, around padding,", _faults_beside(leaf, around, scop))


def _faults_about(what: str, sentences: Iterator[str]) -> Iterator[Fault]:
    """The sentences as faults of `what`; a fault too where they cannot all be known."""
    rule = "buffers hold what they are for"
    try:
        yield from (Fault(rule, f"{what} {sentence}", True) for sentence in sentences)
    except NotAffineError as error:
        yield Fault(rule, f"{what} is not understood: {error.why.reason}", False)
    except NotProvenError as error:
        yield Fault(rule, f"{what} {error}", False)


def _faults(held: HeldPanel, scop: Scop, all_leaves: tuple[Leaf, ...]) -> Iterator[str]:
    panel, filled, depth = held.panel, held.filled, held.around.depth
    _check_form(held)
    elements = _elements(panel.access.object, panel.access.subscripts, filled, scop)
    places = affine_tuple(panel.subscripts, filled.frame)
    pairs = _over_instances(elements.flat_range_product(places), filled.domain, depth)
    contents = _over_instances(elements, filled.domain, depth)
    if not _over_instances(places, filled.domain, depth).range().is_subset(_array(panel, pairs.get_ctx())):
        yield "is too small"
        return
    if not _is_one_to_one(pairs, elements.dim(_OUT)):
        yield "has one place for several elements, or several for one"
    inside = [access for leaf in held.leaves for access in _panel_accesses(leaf, held, scop)]
    written = any(use.writes for use, _, _ in inside)
    touched = isl.Map.empty(contents.get_space())
    for use, accessed, placed in inside:
        if placed is None:
            if written and not accessed.intersect(contents).is_empty():
                yield "has elements that are also accessed in another way inside"
            continue
        if not placed.is_subset(pairs):
            yield "lacks elements that are accessed"
        if use.writes and not panel.stored:
            yield "is written but not written back"
        if not use.conditional and (use.writes or not panel.stored):
            touched = touched.union(accessed)
    if not contents.is_subset(touched):
        yield "has elements that are not surely accessed"
    launch = held.around.launch
    if held.waits and any(_is_shared(held, contents, leaf, scop) for leaf in all_leaves if leaf.launch is launch):
        yield "has elements that others access between barriers"


def _faults_beside(leaf: Leaf, around: tuple[HeldPanel, ...], scop: Scop) -> Iterator[str]:
    """Faults of running the leaf, inside padded panels, where padded conditions do not hold."""
    assert leaf.padded is not None, "asked of those with padded conditions"
    if leaf.opaque or leaf.padded.dim(_SET) != leaf.depth or not all(map(is_harmless, leaf.evaluated)):
        raise NotProvenError("is more than sums and products of numbers")
    beside = leaf.padded.subtract(leaf.domain)
    for use in (use for part in leaf.evaluated for use in uses(part)):
        placed = [(held, place_in_buffer(use.object, use.subscripts, held.panel)) for held in around]
        match = next(((held, place) for held, place in placed if place is not None), None)
        if match is not None:
            (held, place), filled = match, match[0].filled
            places = affine_tuple(place, leaf.frame)
            if not places.intersect_domain(leaf.padded).range().is_subset(_array(held.panel, places.get_ctx())):
                yield f"leaves the buffer of '{use.object.host}'"
            depth = held.around.depth
            occupied = _over_instances(affine_tuple(held.panel.subscripts, filled.frame), filled.domain, depth)
            if use.writes and not occupied.is_disjoint(_over_instances(places, beside, depth)):
                yield f"changes elements in the buffer of '{use.object.host}'"
        elif use.writes:
            yield f"changes '{use.object.host}'"
        elif use.subscripts:
            depth = max(held.around.depth for held in around)
            elements = _elements(use.object, use.subscripts, leaf, scop)
            if not _over_instances(elements, beside, depth).is_subset(_over_instances(elements, leaf.domain, depth)):
                yield f"reads elements of '{use.object.host}' that nothing else does"


def _is_shared(held: HeldPanel, contents: isl.Map, leaf: Leaf, scop: Scop) -> bool:
    """Whether another instance of the statement inside, in the same launch, may access a panel's
    element in the leaf. Raises NotAffineError, NotProvenError.
    """
    depth = held.around.depth
    for _, elements in _uses_of(held, leaf, scop, "stands beside an access that is not understood"):
        if _common(held.around.path, leaf.path) < depth:
            if not elements.intersect_domain(leaf.domain).range().is_disjoint(contents.range()):
                return True
            continue
        pairs = contents.apply_range(_over_instances(elements, leaf.domain, depth).reverse())
        for place in range(_common(held.around.path, leaf.path, launched=False)):
            pairs = pairs.equate(_IN, place, _OUT, place)
        if not pairs.subtract(isl.Map.identity(pairs.get_space())).is_empty():
            return True
    return False


def _uses_of(held: HeldPanel, leaf: Leaf, scop: Scop, unknown: str) -> Iterator[tuple[Use, isl.Map]]:
    """The leaf's uses of the panel's array, with { [i] -> [x] }. Raises NotAffineError, and
    NotProvenError with the text `unknown`.
    """
    for use in (use for part in leaf.evaluated for use in uses(part) if use.object == held.panel.access.object):
        if use.path or len(use.subscripts) != use.object.rank or leaf.opaque:
            raise NotProvenError(unknown)
        yield use, _elements(use.object, use.subscripts, leaf, scop)


def _common(path: tuple[Element, ...], leaf_path: tuple[Element, ...], *, launched: bool = True) -> int:
    """The number of dimensions of loops around both; of host loops only, if not `launched`."""
    dimensions = 0
    for element, counterpart in zip(path, leaf_path, strict=False):
        if isinstance(element, Launch) and not launched:
            break
        if element is counterpart:
            dimensions += dimensions_of(element)
    return dimensions


def _check_form(held: HeldPanel) -> None:
    """Raises NotProvenError where the panel has a form that the proof does not cover."""
    buffer, filled = held.panel, held.filled
    if len(filled.opaque) > len(held.around.opaque) or any(loop.decreasing for loop in buffer.loops):
        raise NotProvenError("has bounds that are not understood")
    if buffer.access.path or len(buffer.access.subscripts) != buffer.access.object.rank:
        raise NotProvenError("does not hold whole elements")
    if buffer.object.storage is Storage.ROWS or len(buffer.subscripts) != buffer.object.rank:
        raise NotProvenError("is no array")
    if held.waits and (not buffer.stored or buffer.loops):
        raise NotProvenError("is more than the element of a worker, and stands around barriers")
    spelling = (*buffer.declarations, buffer.access, *buffer.subscripts)
    spelled = {node.object for part in spelling for node in walk(part) if isinstance(node, Access)}
    for leaf in held.leaves:
        if spelled & (set(leaf.frame.iterators) - set(filled.frame.iterators)):
            raise NotProvenError("names an iterator of a loop inside")
        if isinstance(leaf.node, Stage) and any(array.object == buffer.access.object for array in leaf.node.arrays):
            raise NotProvenError("stands around a copy of the workers' tile")
        for part in leaf.evaluated:
            for node in walk(part):
                if isinstance(node, Call) and node.callee is Callee.USER:
                    raise NotProvenError("stands around a call")
                if isinstance(node, (TileNest, Barrier)):
                    raise NotProvenError("stands around mapped loops")


def _panel_accesses(leaf: Leaf, held: HeldPanel, scop: Scop) -> Iterator[tuple[Use, isl.Map, isl.Map | None]]:
    """The accesses of a leaf to the panel's array: { [i] -> [x] } over the panel's instances, and
    { [i] -> [x, y] } with the panel's subscripts y; None where the access is spelled otherwise.
    Raises NotAffineError, NotProvenError.
    """
    for use, elements in _uses_of(held, leaf, scop, "stands around an access that is not understood"):
        place, depth = place_in_buffer(use.object, use.subscripts, held.panel), held.around.depth
        both = None if place is None else elements.flat_range_product(affine_tuple(place, leaf.frame))
        accessed = _over_instances(elements, leaf.domain, depth)
        yield use, accessed, None if both is None else _over_instances(both, leaf.domain, depth)


def _elements(object_: DataObject, subscripts: tuple[Expression, ...], place: Leaf, scop: Scop) -> isl.Map:
    """{ [i] -> [x] }, x being the subscripts' element in instances of a place, in parts for a
    delinearised array, under the SCoP's assumptions. Raises NotAffineError, NotProvenError.
    """
    by = scop.layouts.get(object_)
    if by is None:
        return affine_tuple(subscripts, place.frame)
    context = place.domain if scop.assumed is None else place.domain.intersect_params(scop.assumed)
    split = split_subscript(subscripts[0], by, place.frame, context, origin=scop.origin_of(object_))
    if split is None:
        raise NotProvenError("stands around an access that may leave its row")
    return product_of(split.parts, place.frame)


def _over_instances(relation: isl.Map, domain: isl.Set, depth: int) -> isl.Map:
    """{ [i] -> [x] : exists l : [i, l] -> [x] }, of the domain alone; i has `depth` dimensions."""
    return relation.intersect_domain(domain).project_out(_IN, depth, relation.dim(_IN) - depth).coalesce()


def _is_one_to_one(pairs: isl.Map, rank: int) -> bool:
    """Whether, in { [i] -> [x, y] }, x and y give each other; x has `rank` dimensions."""
    given = pairs.dim(_OUT)
    to_places = pairs.move_dims(_IN, pairs.dim(_IN), _OUT, 0, rank)
    to_elements = pairs.move_dims(_IN, pairs.dim(_IN), _OUT, rank, given - rank)
    return bool(to_places.is_single_valued()) and bool(to_elements.is_single_valued())


def _array(panel: Panel, context: isl.Context) -> isl.Set:
    """{ [y] : 0 <= y < lengths }"""
    names = [f"y{place}" for place in range(len(panel.subscripts))]
    limits = []
    for name, length in zip(names, panel.object.lengths, strict=False):
        if not isinstance(length, IntegerLiteral):
            raise NotProvenError("has a length that is no number")
        limits.append(f"0 <= {name} < {length.value}")
    return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(limits) or 'true'} }}", context=context)
