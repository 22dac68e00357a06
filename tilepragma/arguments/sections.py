"""Array sections `[lower : length]`: the user's, whole objects, and sections from accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.accesses import Use
from tilepragma.ir.directives import ClauseExpression, Section, SectionDimension
from tilepragma.ir.expressions import (
    Access,
    Call,
    Conditional,
    DataObject,
    Expression,
    IntegerLiteral,
    Storage,
    integer,
)
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import Polynomial, expression, maximum, minimum, number, polynomial
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import LONG
from tilepragma.normalise.value_ranges import UnboundedError, ValueRanges
from tilepragma.plan.kernel_plan import HostExpression, SectionBound
from tilepragma.poly.extents import Bounds, Box, NotExactError, box_of, covered, hull

Inferred = Callable[[SourceRange], tuple[SectionBound, ...]]


def whole_section(object_: DataObject) -> tuple[SectionBound, ...] | None:
    """The whole object where all its lengths are known, else None."""
    bounds = [_whole(length) for length in object_.lengths if length is not None]
    return tuple(bounds) if len(bounds) == object_.rank else None


def touched_section(
    object_: DataObject, uses: Sequence[Use], invariant: Callable[[Expression], bool]
) -> tuple[SectionBound, ...] | None:
    """The touched part of an object of known lengths; None where a length is unknown.

    Dimensions whose touched part is unknown are whole.
    """
    whole = whole_section(object_)
    if whole is None or not whole:
        return whole
    try:
        boxes = _boxes(object_, uses, invariant, range(object_.rank))
    except _NotFoundError:
        return whole
    return tuple(
        bound if _fills(boxes, place, bound) else SectionBound(expression(low), expression(count))
        for place, (bound, (low, count)) in enumerate(zip(whole, hull(boxes), strict=True))
    )


def _fills(boxes: Sequence[Box], place: int, bound: SectionBound) -> bool:
    """Whether accesses touch the first and the last index of a dimension, if any."""
    assert not isinstance(bound.length, ClauseExpression)
    last = polynomial(bound.length) - number(1)
    sides = [box.dimensions[place] for box in boxes]
    return any(side.low == number(0) for side in sides) and any(side.high == last for side in sides)


def _whole(length: Expression) -> SectionBound:
    return SectionBound(integer(0, LONG), expression(polynomial(length)))


def user_section(
    object_: DataObject, section: Section, inferred: Inferred, diagnostics: Diagnostics
) -> tuple[SectionBound, ...]:
    """The user's section, checked against the object; `[:]` and a bare name mean inference."""
    dimensions = section.dimensions or (SectionDimension(None, None),) * object_.rank
    if len(dimensions) != object_.rank:
        word = "more" if len(dimensions) > object_.rank else "fewer"
        diagnostics.error(
            section.range,
            f"the section of '{section.path}' has {word} dimensions ({len(dimensions)}) than the array "
            f"({object_.rank})",
            f"write one [lower:length] for each of the {object_.rank} dimensions",
        )
        return ()
    bounds: list[SectionBound] = []
    for place, (dimension, length) in enumerate(zip(dimensions, object_.lengths, strict=True)):
        # A pointer may point into the middle of an object.
        least = None if place == 0 and length is None else 0
        _check_literals(section, dimension, length, least, diagnostics)
        if dimension.length is not None:
            lower: HostExpression = dimension.lower if dimension.lower is not None else integer(0, LONG)
            bounds.append(SectionBound(lower, dimension.length))
        elif dimension.lower is not None:
            bounds.append(_rest(section, dimension.lower, length, diagnostics))
        elif length is not None:
            bounds.append(_whole(length))
        else:
            inferred_bounds = inferred(section.range)
            empty = SectionBound(integer(0, LONG), integer(0, LONG))
            bounds.append(inferred_bounds[place] if inferred_bounds else empty)
    return tuple(bounds)


def _rest(
    section: Section, lower: ClauseExpression, length: Expression | None, diagnostics: Diagnostics
) -> SectionBound:
    """`[lower:]`: up to the end of the dimension."""
    value = length.value if isinstance(length, IntegerLiteral) else None
    if lower.literal is not None and value is not None:
        return SectionBound(lower, integer(value - lower.literal, LONG))
    message = f"the section of '{section.path}' has a lower bound but no length"
    diagnostics.error(section.range, message, "write the length, as in [lower:length]")
    return SectionBound(lower, integer(0, LONG))


def _check_literals(
    section: Section,
    dimension: SectionDimension,
    extent: Expression | None,
    least: int | None,
    diagnostics: Diagnostics,
) -> None:
    lower = dimension.lower.literal if dimension.lower is not None else 0
    length = dimension.length.literal if dimension.length is not None else None
    below = lower is not None and least is not None and lower < least
    if below or (length is not None and length < 0):
        diagnostics.error(section.range, f"the section of '{section.path}' has a negative bound")
        return
    known = polynomial(extent).constant if extent is not None else None
    if known is None or lower is None:
        return
    end = lower + (length if length is not None else 0)
    if end > known:
        diagnostics.error(
            section.range,
            f"the section of '{section.path}' reaches index {end - 1}, "
            f"but the last index of this dimension is {known - 1}",
            "sections are [lower:length]: the second number is a length, not an upper bound",
        )


def inferred_section(
    object_: DataObject, uses: Sequence[Use], invariant: Callable[[Expression], bool], diagnostics: Diagnostics
) -> tuple[SectionBound, ...]:
    """The smallest section with all accesses, known dimensions whole. Reports failures."""
    try:
        unknown = [place for place, length in enumerate(object_.lengths) if length is None]
        boxes = _boxes(object_, uses, invariant, unknown)
    except _NotFoundError as error:
        message = f"the extent of '{object_.host}' cannot be found: {error.reason}"
        diagnostics.error(error.range, message, _advice(object_, error.boxes))
        return ()
    return _unknown_dimensions(object_, boxes)


def _unknown_dimensions(object_: DataObject, boxes: Sequence[Box]) -> tuple[SectionBound, ...]:
    """The hull of the boxes in dimensions of unknown length; others are whole."""
    section = iter(hull(boxes))
    return tuple(
        SectionBound(*map(expression, next(section))) if length is None else _whole(length)
        for length in object_.lengths
    )


def possible_section(
    object_: DataObject, uses: Sequence[Use], invariant: Callable[[Expression], bool], ranges: ValueRanges
) -> tuple[SectionBound, ...] | None:
    """A section that covers all accesses, also conditional ones, by the `ranges` of values; the
    array may be smaller. None where an access has no known range.
    """
    unknown = [place for place, length in enumerate(object_.lengths) if length is None]
    try:
        boxes = [box for box, _ in _boxes_of_uses(object_, uses, invariant, unknown, ranges)]
    except _NotFoundError:
        return None
    return _unknown_dimensions(object_, boxes)


class _NotFoundError(Exception):
    """No section is known. `boxes` has all accesses where conditions alone are the reason."""

    def __init__(self, range_: SourceRange, reason: str, boxes: tuple[Box, ...] = ()) -> None:
        super().__init__(reason)
        self.range = range_
        self.reason = reason
        self.boxes = boxes


def _advice(object_: DataObject, boxes: tuple[Box, ...]) -> str:
    """A clause to paste: with the section of all accesses, or with names for the lengths."""
    texts = [(_plain_text(b.low), _plain_text(b.high - b.low + number(1))) for b in _joined(boxes)]
    if texts and all(low and length for low, length in texts):
        known = iter(texts)
        parts = ["[{}:{}]".format(*next(known)) if length is None else "[:]" for length in object_.lengths]
        section = object_.host + "".join(parts)
        return f"add data({section}) to the kernel directive, if '{object_.host}' has all these elements"
    section = object_.host + "".join(f"[0:N{place + 1}]" for place in range(object_.rank))
    several = f"lengths of '{object_.host}' for N1 to N{object_.rank}"
    names = f"length of '{object_.host}' for N1" if object_.rank == 1 else several
    return f"add data({section}) to the kernel directive, with the {names}"


def _plain_text(value: Polynomial) -> str:
    """The value as the user would write it; empty where it is no plain arithmetic."""
    root = expression(value)
    for node in walk(root):
        if isinstance(node, (Call, Conditional)) or (isinstance(node, Access) and node.object.name != node.object.host):
            return ""
    return plain_text(root)


def _joined(boxes: tuple[Box, ...]) -> tuple[Bounds, ...]:
    """Bounds of all boxes by dimension; advice may ignore that some are empty."""
    if not boxes:
        return ()
    return tuple(
        Bounds(minimum(bounds.low for bounds in column), maximum(bounds.high for bounds in column))
        for column in zip(*(box.dimensions for box in boxes), strict=True)
    )


def _boxes(
    object_: DataObject, uses: Sequence[Use], invariant: Callable[[Expression], bool], dimensions: Sequence[int]
) -> list[Box]:
    """Boxes of these dimensions that cover all touched elements, from unconditional accesses."""
    pairs = _boxes_of_uses(object_, uses, invariant, dimensions)
    certain = list(dict.fromkeys(box for box, use in pairs if not use.conditional))
    perhaps = [(box, use) for box, use in pairs if use.conditional]
    for box, use in perhaps:
        if not covered(box, certain):
            boxes = (*certain, *(box for box, _ in perhaps))
            raise _NotFoundError(use.range, "this access is made under a condition", boxes)
    return certain


def _stays_in_row(use: Use, place: int, invariant: Callable[[Expression], bool]) -> bool:
    """Whether a subscript that counts from where a pointer points is provably in its row."""
    length, subscript = use.object.lengths[place], use.subscripts[place]
    named = {node.object for node in walk(subscript) if isinstance(node, Access)}
    loops = tuple(loop for loop in use.loops if loop.iterator in named)
    try:
        (bounds,) = box_of(replace(use, subscripts=(subscript,), loops=loops), invariant).dimensions
    except NotExactError:
        return False
    if length is None:
        return use.object.storage is Storage.ROWS
    least, left = bounds.low.constant, (polynomial(length) - number(1) - bounds.high).constant
    return least is not None and least >= 0 and left is not None and left >= 0


def _boxes_of_uses(
    object_: DataObject,
    uses: Sequence[Use],
    invariant: Callable[[Expression], bool],
    dimensions: Sequence[int],
    ranges: ValueRanges | None = None,
) -> list[tuple[Box, Use]]:
    """The box of each use in these dimensions, as if unconditional; inexact ones by `ranges`."""
    pairs = []
    for use in uses:
        if len(use.subscripts) != object_.rank:
            raise _NotFoundError(use.range, "it is passed on as a pointer")
        subscripts = tuple(use.subscripts[place] for place in dimensions)
        if dimensions and not all(_stays_in_row(use, place, invariant) for place in use.from_pointers):
            raise _NotFoundError(use.range, "a pointer into a row of it may leave the row")
        try:
            pairs.append((box_of(replace(use, subscripts=subscripts), invariant), use))
        except NotExactError as error:
            try:
                sides = None if ranges is None else [ranges.of(subscript) for subscript in subscripts]
            except UnboundedError:
                sides = None
            if sides is None:
                raise _NotFoundError(use.range, str(error)) from error
            pairs.append((Box(tuple(Bounds(side.low, side.high) for side in sides), frozenset()), use))
    return pairs
