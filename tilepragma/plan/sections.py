"""Sections `[lower : length]`: as the user says them, of whole objects, and inferred from the accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.ranges import SourceRange
from tilepragma.ir.accesses import Use
from tilepragma.ir.directives import ClauseExpression, Section, SectionDimension
from tilepragma.ir.expressions import DataObject, Expression, IntegerLiteral, integer
from tilepragma.ir.polynomial import expression, polynomial
from tilepragma.ir.types import LONG
from tilepragma.plan.extents import Box, NotExactError, box_of, covered, hull
from tilepragma.plan.kernel_plan import HostExpression, SectionBound

Inferred = Callable[[SourceRange], tuple[SectionBound, ...]]


def whole_section(object_: DataObject) -> tuple[SectionBound, ...] | None:
    """The whole object where all its lengths are known, else None."""
    bounds = [_whole(length) for length in object_.lengths if length is not None]
    return tuple(bounds) if len(bounds) == object_.rank else None


def _whole(length: Expression) -> SectionBound:
    return SectionBound(integer(0, LONG), expression(polynomial(length)))


def said_section(
    object_: DataObject, section: Section, inferred: Inferred, diagnostics: Diagnostics
) -> tuple[SectionBound, ...]:
    """The user's section, checked against what is known of the object; `[:]` and a bare name leave it to the compiler."""
    dimensions = section.dimensions or (SectionDimension(None, None),) * object_.rank
    if len(dimensions) != object_.rank:
        more = "more" if len(dimensions) > object_.rank else "fewer"
        diagnostics.error(
            section.range,
            f"the section of '{section.path}' has {more} dimensions ({len(dimensions)}) than the array ({object_.rank})",
            f"write one [lower:length] for each of the {object_.rank} dimensions",
        )
        return ()
    bounds: list[SectionBound] = []
    for place, (dimension, length) in enumerate(zip(dimensions, object_.lengths, strict=True)):
        _check_literals(section, dimension, length, diagnostics)
        if dimension.length is not None:
            lower: HostExpression = dimension.lower if dimension.lower is not None else integer(0, LONG)
            bounds.append(SectionBound(lower, dimension.length))
        elif dimension.lower is not None:
            bounds.append(_rest(section, dimension.lower, length, diagnostics))
        elif length is not None:
            bounds.append(_whole(length))
        else:
            found = inferred(section.range)
            bounds.append(found[place] if found else SectionBound(integer(0, LONG), integer(0, LONG)))
    return tuple(bounds)


def _rest(
    section: Section, lower: ClauseExpression, length: Expression | None, diagnostics: Diagnostics
) -> SectionBound:
    """`[lower:]`: up to the end of the dimension."""
    value = length.value if isinstance(length, IntegerLiteral) else None
    if lower.literal is not None and value is not None:
        return SectionBound(lower, integer(value - lower.literal, LONG))
    diagnostics.error(
        section.range,
        f"the section of '{section.path}' has a lower bound but no length",
        "write the length, as in [lower:length]",
    )
    return SectionBound(lower, integer(0, LONG))


def _check_literals(
    section: Section, dimension: SectionDimension, extent: Expression | None, diagnostics: Diagnostics
) -> None:
    lower = dimension.lower.literal if dimension.lower is not None else 0
    length = dimension.length.literal if dimension.length is not None else None
    if (lower is not None and lower < 0) or (length is not None and length < 0):
        diagnostics.error(section.range, f"the section of '{section.path}' has a negative bound")
        return
    known = polynomial(extent).constant if extent is not None else None
    if known is None or lower is None:
        return
    end = lower + (length if length is not None else 0)
    if end > known:
        diagnostics.error(
            section.range,
            f"the section of '{section.path}' reaches index {end - 1}, but the last index of this dimension is {known - 1}",
            "sections are [lower:length]: the second number is a length, not an upper bound",
        )


def inferred_section(
    object_: DataObject,
    uses: Sequence[Use],
    invariant: Callable[[Expression], bool],
    place: SourceRange,
    diagnostics: Diagnostics,
) -> tuple[SectionBound, ...]:
    """The smallest section that holds every access; known dimensions are taken whole. Reports where it cannot be found."""
    try:
        boxes = _boxes(object_, uses, invariant)
    except _NotFoundError as error:
        form = object_.host + "[0:…]" * object_.rank
        diagnostics.error(
            error.range,
            f"the extent of '{object_.host}' cannot be found: {error.reason}",
            f"add data({form}) to the kernel directive",
        )
        return ()
    section = iter(hull(boxes))
    bounds = []
    for length in object_.lengths:
        if length is not None:
            bounds.append(_whole(length))
        else:
            lower, count = next(section)
            bounds.append(SectionBound(expression(lower), expression(count)))
    return tuple(bounds)


class _NotFoundError(Exception):
    def __init__(self, range_: SourceRange, reason: str) -> None:
        super().__init__(reason)
        self.range = range_
        self.reason = reason


def _boxes(object_: DataObject, uses: Sequence[Use], invariant: Callable[[Expression], bool]) -> list[Box]:
    """Boxes of the dimensions whose length is not known."""
    certain: list[Box] = []
    perhaps: list[tuple[Box, Use]] = []
    for use in uses:
        if len(use.subscripts) != object_.rank:
            raise _NotFoundError(use.range, "it is passed on as a pointer")
        unknown = tuple(s for s, length in zip(use.subscripts, object_.lengths, strict=True) if length is None)
        try:
            box = box_of(replace(use, subscripts=unknown), invariant)
        except NotExactError as error:
            raise _NotFoundError(use.range, str(error)) from error
        if use.conditional:
            perhaps.append((box, use))
        elif box not in certain:
            certain.append(box)
    for box, use in perhaps:
        if not covered(box, certain):
            raise _NotFoundError(use.range, "this access is made under a condition")
    return certain
