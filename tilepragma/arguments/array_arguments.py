"""Data movement of a region's arrays: reads, writes, the section on a device, and the copies.

A user's clause is obeyed or refused; the accesses supply what clauses omit (docs/LANGUAGE.md, "Data
movement").

Gathers are reads at places that data decide, as `x[col[k]]` in tables and sparse matrices: on
cores, they need no extent where nothing that is written can be the array. Nor do writes at such
places where the user calls the iterations independent.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tilepragma.arguments.sections import (
    inferred_section,
    possible_section,
    touched_section,
    user_section,
    whole_section,
)
from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, SourceRange
from tilepragma.ir.accesses import Use
from tilepragma.ir.directives import ClauseExpression, DataClause, Live, Mode, Section, Target
from tilepragma.ir.expressions import DataObject, Expression, Scope, Storage, access_to
from tilepragma.ir.invariance import written_objects
from tilepragma.ir.loop_tree import Kernel
from tilepragma.ir.polynomial import Polynomial, expression, number, of_atom
from tilepragma.ir.types import is_integer
from tilepragma.normalise.value_ranges import ValueRanges
from tilepragma.plan.kernel_plan import ArrayArgument, HostExpression, KernelPlan, SectionBound
from tilepragma.poly.extraction import scop_under
from tilepragma.poly.footprints import overwrites, touched
from tilepragma.poly.operation_limit import OperationLimitError
from tilepragma.poly.scop import Scop
from tilepragma.user_tiles.clause_variables import without_blanks

#: Before C's names in Python's text: no keyword of Python begins with it.
_PREFIX = "name_"


@dataclass(frozen=True)
class _Mention:
    """The clause that names an object, and its section there; no section where none names it."""

    section: Section | None = None
    clause: DataClause = DataClause("", (), None, None, False, NOWHERE)


@dataclass(frozen=True)
class DataContext:
    """A region, all its uses, and whether the host can evaluate an atom at launch.

    `conditions` hold wherever the arguments count. `assumes_independence`: the user calls
    iterations independent and loops run as written, so that cores need not know which arrays
    overlap. `by_footprint`: where the accesses' own form tells no section, isl may. `known`: the
    Scop, if already extracted.
    """

    kernel: Kernel
    uses: tuple[Use, ...]
    invariant: Callable[[Expression], bool]
    diagnostics: Diagnostics
    conditions: tuple[Expression, ...] = ()
    assumes_independence: bool = False
    by_footprint: bool = True
    known: Scop | None = None

    @cached_property
    def ranges(self) -> ValueRanges:
        """The value ranges of the region."""
        return ValueRanges(self.kernel.body, self.invariant)

    @cached_property
    def scop(self) -> Scop | None:
        """The region under the launch's conditions; None where isl gave up."""
        body, written = self.kernel.body.statements, written_objects(self.kernel)
        try:
            return scop_under(self.conditions, body, self.kernel.functions, written, self.known)
        except OperationLimitError:
            return None


def array_arguments(context: DataContext, shared: Sequence[DataObject]) -> tuple[ArrayArgument, ...]:
    """An argument for each outer array in use and each scalar of `shared`. Reports errors."""
    mentions = _mentions(context)
    arguments = []
    for object_ in context.kernel.objects:
        if object_.storage is Storage.SCALAR and object_ not in shared:
            continue
        uses = [use for use in context.uses if use.object == object_]
        if uses:
            mention = mentions.get(object_, _Mention())
            argument = _argument(object_, uses, mention, context)
            arguments.append(_without_needless_copy_in(argument, uses, mention, context))
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
        trial = replace(context, diagnostics=Diagnostics(), by_footprint=False)
        argument = _argument(object_, uses, mentions.get(object_, _Mention()), trial)
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
                message = f"'{section.path}' is not used in kernel '{context.kernel.name}', so it is not moved"
                context.diagnostics.warning(section.range, message)
            else:
                result.setdefault(object_or_none, _Mention(section, clause))
    return result


def _argument(object_: DataObject, uses: list[Use], mention: _Mention, context: DataContext) -> ArrayArgument:
    reads, writes = _modes(object_, uses, mention, context.diagnostics)
    present = mention.clause.present and object_.storage is not Storage.SCALAR
    copy_in, copy_out = _motion(object_, writes, mention.clause.live, context.kernel)
    section, doubt = _section(object_, uses, mention, context)
    copies = (copy_in and not present, copy_out and not present)
    return ArrayArgument(object_, section, reads, writes, *copies, present, doubt)


def _without_needless_copy_in(
    argument: ArrayArgument, uses: list[Use], mention: _Mention, context: DataContext
) -> ArrayArgument:
    """The argument, without copy-in where the region overwrites the section before reading it."""
    live = mention.clause.live
    if argument.copy_in and live in (None, Live.OUT) and _is_overwritten(argument, uses, context):
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
    mode = mention.clause.mode
    if mode is Mode.READ and writes:
        place = next(use.range for use in uses if use.writes)
        message = f"'{object_.host}' is written here, but its data clause says mode:r"
        diagnostics.error(place, message, "say mode:rw (or mode:w) in the data clause")
    if mode is Mode.WRITE and reads and mention.section is not None:
        message = f"'{object_.host}' is also read by the kernel, so mode:w is taken as mode:rw"
        diagnostics.warning(mention.section.range, message)
    return reads, writes


def _motion(object_: DataObject, writes: bool, live: Live | None, kernel: Kernel) -> tuple[bool, bool]:
    """(copy in, copy out) of an object that is not present, before the overwriting analysis."""
    if object_.scope is Scope.TEMPORARY:
        return False, False
    if object_.scope is Scope.REGION and object_.storage is not Storage.SCALAR and live is None:
        declarators = kernel.body.declarators
        return any(item.object == object_ and item.initializer is not None for item in declarators), False
    leaves = live in (Live.OUT, Live.IN_OUT) or (live is None and object_.name not in kernel.dead_arrays)
    return live is not Live.NOT, writes and leaves


def _section(
    object_: DataObject, uses: list[Use], mention: _Mention, context: DataContext
) -> tuple[tuple[SectionBound, ...], Diagnostic | None]:
    """The section, and a doubt where the array may be smaller; a gather's may be empty."""
    if object_.storage is Storage.SCALAR:
        if mention.section is not None and mention.section.dimensions:
            context.diagnostics.error(mention.section.range, f"'{object_.host}' is no array, so it has no section")
        return (), None
    doubts: list[Diagnostic] = []
    lacking = _lacking_restrict(object_, context.uses) if mention.section is None else None
    if context.assumes_independence and mention.section is None and _is_known_array(object_, uses):
        lacking = ()

    def inferred(_: SourceRange) -> tuple[SectionBound, ...]:
        """The section of the accesses; a doubt where it has more than is surely touched, or is
        empty because nothing is lacking for a gather or a scatter.
        """
        trial = Diagnostics()
        section = inferred_section(object_, uses, context.invariant, trial)
        if not trial.has_errors:
            context.diagnostics.add_all(trial)
            return section
        known = footprint(object_, context) if context.by_footprint else None
        if known is not None:
            return tuple(SectionBound(expression(low), expression(length)) for low, length in known)
        possible = possible_section(object_, uses, context.invariant, context.ranges)
        if possible is not None or lacking == ():
            doubts.extend(trial)
            return possible or ()
        context.diagnostics.add_all(_with_restrict(error, lacking or ()) for error in trial)
        return section

    if mention.section is not None:
        section = user_section(object_, mention.section, inferred, context.diagnostics)
    elif object_.scope in (Scope.REGION, Scope.TEMPORARY):
        section = whole_section(object_) or inferred(uses[0].range)
    else:
        section = touched_section(object_, uses, context.invariant) or inferred(uses[0].range)
    return section, next(iter(doubts), None)


def _lacking_restrict(object_: DataObject, uses: Sequence[Use]) -> tuple[DataObject, ...] | None:
    """The objects that the user must declare restrict before a gather needs no extent; None where
    the array is not gathered in that way.

    `uses` has all uses of the region. No section can be compared with others at launch, so the
    user's word must separate the array from all written objects: the array is restrict, and each
    written array is restrict too, or declared with its length. Otherwise C allows that one pointer
    is based on the other (C99 6.7.3.1). Written variables are no pointers. Where a called function
    writes through a parameter, the array that it gets is written too, and speaks for it.
    """
    of_object = [use for use in uses if use.object == object_]
    is_row_table = object_.storage is Storage.ROWS
    if is_row_table or not _is_known_array(object_, of_object) or any(use.writes for use in of_object):
        return None
    written = dict.fromkeys(use.object for use in uses if use.writes)
    if any(object_.storage is Storage.ROWS for object_ in written):
        return None
    pointers = (object_ for object_ in written if None in object_.lengths and object_.scope is not Scope.LOCAL)
    return tuple(pointer for pointer in (object_, *pointers) if not pointer.restrict)


def _is_known_array(object_: DataObject, uses: Sequence[Use]) -> bool:
    """Whether the object is an array from outside, and nothing but its elements is used."""
    is_outer_array = object_.storage is not Storage.SCALAR and object_.scope is Scope.EXTERNAL
    return is_outer_array and all(len(use.subscripts) == object_.rank for use in uses)


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


# -- footprints


def footprint(object_: DataObject, context: DataContext) -> tuple[tuple[Polynomial, Polynomial], ...] | None:
    """(lower, length) of the touched part by dimension, if the host can evaluate it."""
    try:
        bounds = None if context.scop is None else touched(context.scop, object_)
    except OperationLimitError:
        return None
    if bounds is None or not all(context.invariant(expression(value)) for pair in bounds for value in pair):
        return None
    return bounds


def _is_overwritten(argument: ArrayArgument, uses: Sequence[Use], context: DataContext) -> bool:
    """Whether the region surely writes each copied element first; `uses`: all of the object."""
    object_, kernel = argument.object, context.kernel
    # Ask only if some use is a plain assignment, and the first one reads no incoming value.
    plain = any(use.writes and not use.reads for use in uses) and (not uses[0].reads or uses[0].conditional)
    # Each instance has its own copy of what is private.
    private = any(object_.host in clause.names for clause in kernel.directive.privates)
    if object_.storage is Storage.SCALAR or not plain or private:
        return False
    outer = (scalar for scalar in kernel.objects if scalar.scope is Scope.EXTERNAL)
    types = ((scalar, scalar.element) for scalar in outer if scalar.storage is Storage.SCALAR)
    scalars = {scalar.host: scalar for scalar, type_ in types if is_integer(type_)}
    section = []
    for bound in argument.section:
        lower, length = _host_value(bound.lower, scalars), _host_value(bound.length, scalars)
        if lower is None or length is None:
            return False
        section.append((lower, length))
    if context.scop is None:
        return False
    try:
        return overwrites(context.scop, object_, section if argument.copy_out else None)
    except OperationLimitError:
        return False


def _host_value(bound: HostExpression, scalars: Mapping[str, DataObject]) -> Expression | None:
    """A bound as an expression; None where a clause is no sum or product of scalars and numbers.

    Python reads such text as C does, but for the suffixes of numbers and Python's keywords.
    """
    if not isinstance(bound, ClauseExpression):
        return bound
    if re.fullmatch(r"[\w\s+*()-]*", bound.text) is None:
        return None
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", bound.text)
    text = re.sub(r"[A-Za-z_]\w*", rf"{_PREFIX}\g<0>", text)
    try:
        value = _arithmetic(ast.parse(f"({text})", mode="eval").body, scalars)
    except SyntaxError:
        return None
    return None if value is None else expression(value)


def _arithmetic(node: ast.expr, scalars: Mapping[str, DataObject]) -> Polynomial | None:
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as operator, right):
            first, second = _arithmetic(left, scalars), _arithmetic(right, scalars)
            if first is None or second is None:
                return None
            if isinstance(operator, ast.Mult):
                return first * second
            return first + second if isinstance(operator, ast.Add) else first - second
        case ast.UnaryOp(ast.UAdd() | ast.USub() as sign, operand):
            value = _arithmetic(operand, scalars)
            return -value if value is not None and isinstance(sign, ast.USub) else value
        case ast.Constant(int(value)):
            return number(value)
        case ast.Name(name) if name.removeprefix(_PREFIX) in scalars:
            return of_atom(access_to(scalars[name.removeprefix(_PREFIX)]))
    return None


# -- arrays of unknown extent, which no device can hold


def doubts(plan: KernelPlan) -> Iterator[Diagnostic]:
    """An error with a remedy for each array that no device can hold, in plans for devices."""
    if any(target.is_device for target in plan.targets):
        yield from (argument.doubt for argument in plan.arrays if argument.doubt is not None)


def report_assumed_extents(
    arguments: Sequence[ArrayArgument],
    targets: Sequence[Target],
    preferred: Target,
    assumes_independence: bool,
    diagnostics: Diagnostics,
) -> None:
    """Report at translation why a kernel cannot run on a device that the user asks for.

    A target, tiles, or loops that the user calls independent ask for a device. An error where cores
    cannot run the kernel instead.
    """
    if not any(target.is_device for target in targets) or not (assumes_independence or preferred.is_device):
        return
    refused = assumes_independence and preferred.is_device
    for doubt in (argument.doubt for argument in arguments if argument.doubt is not None):
        text = f"{doubt.message}; no device holds it unless a data region does, and the kernel runs on cores"
        diagnostics.add(doubt if refused else replace(doubt, severity=Severity.WARNING, message=text))
