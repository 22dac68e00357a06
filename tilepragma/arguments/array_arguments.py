"""Data movement of a region's arrays: reads, writes, the section on a device, and the copies.

A user's clause is obeyed or refused; the accesses supply what clauses omit (docs/LANGUAGE.md, "Data
movement").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from tilepragma.arguments.array_footprints import Footprints
from tilepragma.arguments.gathers import lacking_restrict
from tilepragma.arguments.sections import (
    inferred_section,
    possible_section,
    touched_section,
    user_section,
    whole_section,
)
from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.ir.accesses import Use
from tilepragma.ir.directives import DataClause, Live, Mode, Section
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage
from tilepragma.ir.loop_tree import Declaration, Kernel
from tilepragma.ir.polynomial import expression
from tilepragma.normalise.value_ranges import ValueRanges
from tilepragma.plan.kernel_plan import ArrayArgument, SectionBound
from tilepragma.user_tiles.clause_variables import without_blanks


@dataclass(frozen=True)
class _Mention:
    """The clause that names an object, and its section there; None where no clause names it."""

    section: Section | None = None
    clause: DataClause | None = None


@dataclass(frozen=True)
class DataContext:
    """A region, all its uses, and whether the host can evaluate an atom at launch.

    `conditions` hold wherever the arguments count. `vouched`: the user calls iterations independent
    and loops run as written, so that cores need not know which arrays overlap.
    """

    kernel: Kernel
    uses: tuple[Use, ...]
    invariant: Callable[[Expression], bool]
    diagnostics: Diagnostics
    conditions: tuple[Expression, ...] = ()
    vouched: bool = False

    @cached_property
    def ranges(self) -> ValueRanges:
        """The value ranges of the region."""
        return ValueRanges(self.kernel.body, self.invariant)


def array_arguments(context: DataContext, shared: Sequence[DataObject]) -> tuple[ArrayArgument, ...]:
    """An argument for each outer array in use and each scalar of `shared`. Reports errors."""
    mentions = _mentions(context)
    footprints = Footprints(context.kernel, context.conditions)
    arguments = []
    for object_ in context.kernel.objects:
        if object_.storage is Storage.SCALAR and object_ not in shared:
            continue
        uses = [use for use in context.uses if use.object == object_]
        if uses:
            mention = mentions.get(object_, _Mention())
            argument = _argument(object_, uses, mention, context, footprints)
            arguments.append(_without_spare_copy_in(argument, uses, mention, footprints, context))
    return tuple(arguments)


def private_argument(object_: DataObject) -> ArrayArgument:
    """The argument for an array that only the plan uses, reads and writes."""
    return ArrayArgument(object_, whole_section(object_) or (), True, True, False, False)


def synchronised_arrays(context: DataContext) -> tuple[ArrayArgument, ...]:
    """The outer arrays of a region that runs as written: the runtime keeps their device copies in
    step. An array of unknown extent has an empty section; nothing is an error.
    """
    mentions = _mentions(replace(context, diagnostics=Diagnostics()))
    arguments = []
    for object_ in context.kernel.objects:
        uses = [use for use in context.uses if use.object == object_]
        if object_.storage is Storage.SCALAR or object_.scope is not Scope.EXTERNAL or not uses:
            continue
        trial = replace(context, diagnostics=Diagnostics())
        argument = _argument(object_, uses, mentions.get(object_, _Mention()), trial, None)
        unknown = trial.diagnostics.has_errors or argument.doubt is not None
        arguments.append(replace(argument, section=(), doubt=None) if unknown else argument)
    return tuple(arguments)


def check_clauses(context: DataContext) -> None:
    """Report errors in the user's data clauses, for a region that needs no arguments."""
    for object_, mention in _mentions(context).items():
        uses = [use for use in context.uses if use.object == object_]
        _modes(object_, uses, mention, context.diagnostics)
        if mention.section is not None and object_.storage is not Storage.SCALAR:
            user_section(object_, mention.section, lambda _: (), context.diagnostics)


def _mentions(context: DataContext) -> dict[DataObject, _Mention]:
    result: dict[DataObject, _Mention] = {}
    by_path: dict[str, DataObject] = {}
    for object_ in context.kernel.objects:
        by_path.setdefault(object_.name, object_)
        by_path[without_blanks(object_.host)] = object_
    for clause in context.kernel.directive.data:
        for section in clause.sections:
            object_or_none = by_path.get(without_blanks(section.path))
            if object_or_none is None:
                context.diagnostics.warning(
                    section.range, f"'{section.path}' is not used in kernel '{context.kernel.name}', so it is not moved"
                )
            else:
                result.setdefault(object_or_none, _Mention(section, clause))
    return result


def _argument(
    object_: DataObject, uses: list[Use], mention: _Mention, context: DataContext, footprints: Footprints | None
) -> ArrayArgument:
    reads, writes = _modes(object_, uses, mention, context.diagnostics)
    present = mention.clause is not None and mention.clause.present and object_.storage is not Storage.SCALAR
    copy_in, copy_out = _motion(object_, writes, mention, context.kernel)
    section, doubt = _section(object_, uses, mention, context, footprints)
    return ArrayArgument(
        object_, section, reads, writes, copy_in and not present, copy_out and not present, present, doubt
    )


def _without_spare_copy_in(
    argument: ArrayArgument, uses: list[Use], mention: _Mention, footprints: Footprints, context: DataContext
) -> ArrayArgument:
    """The argument, without copy-in where the region overwrites the section before reading it."""
    clause = mention.clause
    live = clause.live if clause is not None else None
    if argument.copy_in and live in (None, Live.OUT) and footprints.is_overwritten(argument, uses):
        return replace(argument, copy_in=False)
    if live is Live.OUT and argument.object.storage is not Storage.SCALAR and mention.section is not None:
        context.diagnostics.warning(
            mention.section.range,
            f"'{argument.object.host}' is live:out, but it is not proven that the kernel overwrites all of it, "
            "so it is copied in as well",
            "say live:inout if that is meant",
        )
    return argument


def _modes(object_: DataObject, uses: list[Use], mention: _Mention, diagnostics: Diagnostics) -> tuple[bool, bool]:
    reads, writes = any(use.reads for use in uses), any(use.writes for use in uses)
    mode = mention.clause.mode if mention.clause is not None else None
    if mode is Mode.READ and writes:
        place = next(use.range for use in uses if use.writes)
        diagnostics.error(
            place,
            f"'{object_.host}' is written here, but its data clause says mode:r",
            "say mode:rw (or mode:w) in the data clause",
        )
    if mode is Mode.WRITE and reads and mention.section is not None:
        diagnostics.warning(
            mention.section.range, f"'{object_.host}' is also read by the kernel, so mode:w is taken as mode:rw"
        )
    return reads, writes


def _motion(object_: DataObject, writes: bool, mention: _Mention, kernel: Kernel) -> tuple[bool, bool]:
    """(copy in, copy out) of an object that is not present, before the overwriting analysis."""
    live = mention.clause.live if mention.clause is not None else None
    if object_.scope is Scope.TEMPORARY:
        return False, False
    if object_.scope is Scope.REGION and object_.storage is not Storage.SCALAR and live is None:
        return _is_initialized(object_, kernel), False
    leaves = live in (Live.OUT, Live.IN_OUT) or (live is None and object_.name not in kernel.dead_arrays)
    return live is not Live.NOT, writes and leaves


def _is_initialized(object_: DataObject, kernel: Kernel) -> bool:
    return any(
        declarator.object == object_ and declarator.initializer is not None
        for statement in kernel.body.statements
        if isinstance(statement, Declaration)
        for declarator in statement.declarators
    )


def _section(
    object_: DataObject, uses: list[Use], mention: _Mention, context: DataContext, footprints: Footprints | None
) -> tuple[tuple[SectionBound, ...], Diagnostic | None]:
    """The section, and a doubt where the array may be smaller; a gather's may be empty."""
    if object_.storage is Storage.SCALAR:
        if mention.section is not None and mention.section.dimensions:
            context.diagnostics.error(mention.section.range, f"'{object_.host}' is no array, so it has no section")
        return (), None
    doubts: list[Diagnostic] = []
    lacking = lacking_restrict(object_, context.uses) if mention.section is None else None
    if context.vouched and lacking is not None:
        lacking = ()
    inferred = _inferred(object_, uses, context, footprints, doubts, lacking)
    if mention.section is not None:
        section = user_section(object_, mention.section, inferred, context.diagnostics)
    elif object_.scope in (Scope.REGION, Scope.TEMPORARY):
        section = whole_section(object_) or inferred(uses[0].range)
    else:
        section = touched_section(object_, uses, context.invariant) or inferred(uses[0].range)
    return section, next(iter(doubts), None)


def _inferred(
    object_: DataObject,
    uses: list[Use],
    context: DataContext,
    footprints: Footprints | None,
    doubts: list[Diagnostic],
    lacking: tuple[DataObject, ...] | None,
) -> Callable[[SourceRange], tuple[SectionBound, ...]]:
    """A function that infers the section from the accesses.

    It adds to `doubts` where the section has more than is surely touched, or is empty because
    nothing is `lacking` for a gather.
    """

    def section(_: SourceRange) -> tuple[SectionBound, ...]:
        trial = Diagnostics()
        section_ = inferred_section(object_, uses, context.invariant, trial)
        if trial.has_errors and footprints is not None:
            known = footprints.section(object_, context.invariant)
            if known is not None:
                return tuple(SectionBound(expression(low), expression(length)) for low, length in known)
        possible = possible_section(object_, uses, context.invariant, context.ranges) if trial.has_errors else None
        if possible is not None:
            doubts.extend(trial)
            return possible
        if trial.has_errors and lacking == ():
            doubts.extend(trial)
            return ()
        context.diagnostics.add_all(_with_restrict(error, lacking or ()) for error in trial)
        return section_

    return section


def _with_restrict(error: Diagnostic, lacking: Sequence[DataObject]) -> Diagnostic:
    """The diagnostic with remedies for cores: objects that are `lacking` restrict."""
    if not lacking:
        return error
    names = " and ".join(f"'{object_.host}'" for object_ in lacking)
    ways = (
        f"or declare {names} restrict, if nothing that the kernel writes is read through another of its pointers: "
        "cores need no extent then",
        "or put '#pragma tilek loop independent' before a loop in which no iteration reads what another writes: "
        "cores need no extent then",
    )
    return replace(error, notes=(*error.notes, *(Diagnostic(Severity.NOTE, error.range, way) for way in ways)))


def as_kernel_sees(argument: ArrayArgument, kernel: Kernel) -> ArrayArgument:
    """The argument with its object as the kernel sees it."""
    return replace(argument, object=next(object_ for object_ in kernel.objects if object_.stored == argument.object))
