"""Implied parameters: variables of the file that called functions use.

    static int grid[N][M];                                     int count(int i, int grid[N][M])
    int count(int i) { return grid[i][0] + grid[i][1]; }   as  count(i)  as  count(i, grid)

On hosts, kernels call the user's own function, which uses the variable itself. So the kernel must
see the variable's value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node
from tilepragma.frontend.clang.lowering_context import Context, Implied
from tilepragma.frontend.clang.objects import declare, external_object
from tilepragma.ir.accesses import written_in
from tilepragma.ir.directives import KernelDirective
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage
from tilepragma.ir.loop_tree import Block, Function
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.types import ArrayType, PointerType, ScalarType, Type


def implied_parameter(context: Context, declaration: Node, range_: SourceRange) -> DataObject:
    """The parameter for a variable of the file. Raises SourceError for other variables."""
    if not declaration.is_of_the_file:
        raise _foreign_variable(declaration.spelling, range_)
    parameter = declare(context, declaration, Scope.LOCAL)
    if parameter.storage is Storage.ROWS or not isinstance(parameter.element, ScalarType):
        del context.declared[declaration.key]
        raise _foreign_variable(declaration.spelling, range_)
    context.implied.append(Implied(parameter, declaration, range_))
    return parameter


def _foreign_variable(name: str, range_: SourceRange) -> SourceError:
    remedy = "pass it as an argument, or make it a constant: 'static const' with its values"
    return source_error(range_, f"a function called from a kernel uses '{name}', which is not its own", remedy)


def with_constness(
    parameters: Sequence[DataObject], implied: Sequence[Implied], body: Block, functions: tuple[Function, ...]
) -> tuple[tuple[DataObject, ...], tuple[Implied, ...], Block]:
    """The parameters, the implied ones, and the body; read-only arrays become const.

    Raises SourceError if the body writes an implied scalar.
    """
    written = written_in(body, functions)
    for variable in implied:
        if variable.object in written and variable.object.storage is Storage.SCALAR:
            message = f"a function called from a kernel changes '{variable.object.host}', which is not its own"
            raise source_error(variable.range, message, "return the value, or pass the address of a variable")
    arrays = [array for array in parameters if array.storage is not Storage.SCALAR]
    objects = (*arrays, *(variable.object for variable in implied))
    changed = {object_: replace(object_, const=object_ not in written) for object_ in objects}
    settled_parameters = tuple(changed.get(parameter, parameter) for parameter in parameters)
    settled_implied = tuple(replace(variable, object=changed[variable.object]) for variable in implied)
    return settled_parameters, settled_implied, with_objects(body, changed)


def implied_argument(context: Context, implied: Implied, range_: SourceRange) -> Access:
    """The variable as a call's argument. Raises SourceError if a local variable hides its name."""
    declaration = implied.declaration
    if not context.is_region:
        object_ = context.declared.get(declaration.key) or implied_parameter(context, declaration, range_)
    else:
        kinds = (CursorKind.VAR_DECL, CursorKind.PARM_DECL)
        if any(node.kind in kinds and node.spelling == declaration.spelling for node in context.facts.node.walk()):
            raise _foreign_variable(declaration.spelling, range_)
        object_ = external_object(context, declaration, declaration.spelling, declaration.type, range_)
    type_: Type = object_.element
    if object_.storage is not Storage.SCALAR:
        for length in reversed(object_.lengths[1:]):
            type_ = ArrayType(type_, length)
        type_ = PointerType(type_, implied.object.const)
    return Access(object_, (), (), type_, range_)


def check_implied(implied: frozenset[DataObject], directive: KernelDirective, written: frozenset[DataObject]) -> None:
    """Raises SourceError if kernel and user's functions see different values of a variable."""
    private = {name for clause in directive.privates for name in clause.names}
    later = directive.asynchronous is not None or directive.asynchronous_default
    for object_ in implied:
        if object_.storage is Storage.SCALAR and object_ in written:
            why = "which the kernel changes"
        elif object_.host in private:
            why = "which is private to iterations"
        elif later and (object_.storage is Storage.SCALAR or object_.lengths[0] is None):
            why = "which may have another value when an asynchronous kernel runs"
        else:
            continue
        text = f"a function called from the kernel uses '{object_.host}', {why}"
        raise source_error(directive.range, text, "pass it as an argument")
