"""Variables of the file that called functions use: parameters that the user did not write.

    static int grid[N][M];                                       int count(int i, int grid[N][M])
    int count(int i) { return grid[i][0] + grid[i][1]; }   as    count(i)  as  count(i, grid)

On hosts the user's own function is called, which uses its variable itself: the variable's value
must be the one that the kernel sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node
from tilepragma.frontend.clang.lowering_context import Context
from tilepragma.frontend.clang.objects import Lower, declare, external_object
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import KernelDirective
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Block, Function
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.types import ArrayType, PointerType, ScalarType, Type


@dataclass(frozen=True)
class Implied:
    """The parameter, the variable that it stands for, and where that is used first."""

    object: DataObject
    declaration: Node
    range: SourceRange


def implied_parameter(context: Context, declaration: Node, range_: SourceRange, lower: Lower) -> DataObject:
    """The parameter of the function that is lowered for a variable of the file. Raises SourceError for other variables."""
    parent = declaration.cursor.semantic_parent
    if parent is None or parent.kind != CursorKind.TRANSLATION_UNIT:
        raise _not_its_own(declaration.spelling, range_)
    made = declare(context, declaration, Scope.LOCAL, lower)
    if made.storage is Storage.ROWS or not isinstance(made.element, ScalarType):
        del context.declared[declaration.key]
        raise _not_its_own(declaration.spelling, range_)
    context.implied.append(Implied(made, declaration, range_))
    return made


def _not_its_own(name: str, range_: SourceRange) -> SourceError:
    return source_error(
        range_,
        f"a function called from a kernel uses '{name}', which is not its own",
        "pass it as an argument, or make it a constant: 'static const' with its values",
    )


def settled(
    parameters: Sequence[DataObject], implied: Sequence[Implied], body: Block, functions: tuple[Function, ...]
) -> tuple[tuple[DataObject, ...], tuple[Implied, ...], Block]:
    """The parameters, those that are implied, and the function's body, arrays that it only reads
    being const, whatever their declarations say.

    Raises SourceError where it writes an implied scalar.
    """
    written = {use.object for use in uses(body, functions) if use.writes}
    for one in implied:
        if one.object in written and one.object.storage is Storage.SCALAR:
            raise source_error(
                one.range,
                f"a function called from a kernel changes '{one.object.host}', which is not its own",
                "return the value, or pass the address of a variable",
            )
    arrays = [parameter for parameter in parameters if parameter.storage is not Storage.SCALAR]
    changed = {one: replace(one, const=one not in written) for one in (*arrays, *(one.object for one in implied))}
    settled_ones = tuple(replace(one, object=changed[one.object]) for one in implied)
    return (
        tuple(changed.get(parameter, parameter) for parameter in parameters),
        settled_ones,
        with_objects(body, changed),
    )


def implied_argument(context: Context, implied: Implied, range_: SourceRange, lower: Lower) -> Access:
    """The variable as the argument of a call. Raises SourceError where its name means another one."""
    declaration = implied.declaration
    if not context.is_region:
        object_ = context.declared.get(declaration.key) or implied_parameter(context, declaration, range_, lower)
    else:
        kinds = (CursorKind.VAR_DECL, CursorKind.PARM_DECL)
        if any(one.kind in kinds and one.spelling == declaration.spelling for one in context.facts.node.walk()):
            raise _not_its_own(declaration.spelling, range_)
        object_ = external_object(context, declaration, declaration.spelling, declaration.type, range_, lower)
    type_: Type = object_.element
    if object_.storage is not Storage.SCALAR:
        for length in reversed(object_.lengths[1:]):
            type_ = ArrayType(type_, length)
        type_ = PointerType(type_, implied.object.const)
    return Access(object_, (), (), type_, range_)


def check_implied(implied: frozenset[DataObject], directive: KernelDirective, written: frozenset[DataObject]) -> None:
    """Raises SourceError where the kernel has other values of such variables than the user's functions see."""
    private = {name for clause in directive.privates for name in clause.names}
    later = directive.asynchronous is not None or directive.asynchronous_default
    for one in implied:
        if one.storage is Storage.SCALAR and one in written:
            why = "which the kernel changes"
        elif one.host in private:
            why = "which is private to iterations"
        elif later and (one.storage is Storage.SCALAR or one.lengths[0] is None):
            why = "which may have another value when an asynchronous kernel runs"
        else:
            continue
        text = f"a function called from the kernel uses '{one.host}', {why}"
        raise source_error(directive.range, text, "pass it as an argument")
