"""Declarations to data objects: storage, lengths and names of what a region reads and writes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilepragma.base.diagnostics import source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.reserved_words import RESERVED
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node, TypeKind, strip
from tilepragma.frontend.clang.escape_analysis import unescaped_allocations
from tilepragma.frontend.clang.lowering_context import Context
from tilepragma.frontend.clang.struct_members import is_nameless_member
from tilepragma.frontend.clang.type_conversion import is_array, is_pointer, target_type
from tilepragma.ir.evaluation import operation
from tilepragma.ir.expressions import (
    TABLE_BYTES,
    Access,
    Assignment,
    Call,
    Callee,
    DataObject,
    Expression,
    Increment,
    IntegerLiteral,
    Scope,
    Storage,
)
from tilepragma.ir.loop_tree import Declarator, Initializer
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import DOUBLE, INT, PointerType, ScalarKind, ScalarType, VoidType, has_integer

#: Types that hold all numbers below 2^31.
_INTEGERS = {TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG}


@dataclass(frozen=True)
class _Shape:
    """How a type lies in memory: array levels from the outside in, and the element type."""

    storage: Storage
    arrays: tuple[Any, ...]
    """clang's array types for CONTIGUOUS dimensions that have one"""
    rank: int
    element: Any
    restrict: bool


def external_object(context: Context, declaration: Node, host: str, clang_type: Any, range_: SourceRange) -> DataObject:
    """The object for an outside variable, or for its member path `host`, of type `clang_type`."""
    known = context.known.get(host)
    if known is None:
        known = _make(context, declaration, host, clang_type, range_, Scope.EXTERNAL)
        if host == declaration.spelling and is_array(declaration.type) and is_constant(declaration):
            initializer = declaration.unit.initializer(declaration)
            values = () if initializer is None else _table_values(known, initializer)
            known = replace(known, table=declaration.is_of_the_file, values=values)
        context.known[host] = known
        context.roots[host] = declaration
    context.used.setdefault(host, known)
    return known


def pointer_test(context: Context, declaration: Node, pointer: str, range_: SourceRange) -> DataObject:
    """The number that tells whether an outside pointer, or a member path's, is not NULL."""
    host = f"({pointer} != 0 ? 1 : 0)"  # an int, since compilers warn if truth values are compared with numbers
    if host not in context.known:
        name = context.names.unique(identifier(f"{pointer.replace('->', '_').replace('.', '_')}_is_set"))
        context.known[host] = DataObject(name, host, INT, Storage.SCALAR, Scope.EXTERNAL, const=True, range=range_)
        context.roots[host] = declaration
    context.used.setdefault(host, context.known[host])
    return context.known[host]


def declare(context: Context, declaration: Node, scope: Scope) -> DataObject:
    """The object for a variable declared in the region, or for a parameter of a called function."""
    object_ = _make(context, declaration, declaration.spelling, declaration.type, declaration.range, scope)
    context.declared[declaration.key] = object_
    return object_


def is_constant(declaration: Node) -> bool:
    """Whether a variable never changes: const, and initialised where it is defined."""
    shape = _shape(declaration.type, declaration.spelling, declaration.range)
    if shape.storage is Storage.ROWS or is_pointer(declaration.type) or _is_volatile(declaration.type):
        return False
    const = any(level.is_const_qualified() for level in (shape.element, *shape.arrays))
    return const and declaration.unit.initializer(declaration) is not None


def is_variable_length(declaration: Node) -> bool:
    """Whether the variable is an array with a length that the translation does not know."""
    shape = _shape(declaration.type, declaration.spelling, declaration.range)
    written = _written_lengths(declaration, shape)
    return any(
        array.kind == TypeKind.VARIABLEARRAY and (number not in written or known_value(written[number]) is None)
        for number, array in enumerate(shape.arrays)
    )


def known_number(declaration: Node) -> int | None:
    """The value of a constant made of numbers and constants, if known and in [0, 2^31)."""
    initializer = declaration.unit.initializer(declaration) if declaration.kind == CursorKind.VAR_DECL else None
    if initializer is None or not _is_integer(declaration.type) or not is_constant(declaration):
        return None
    known = known_value(initializer)
    return known if known is not None and 0 <= known < 2**31 else None


def _is_integer(clang_type: Any) -> bool:
    """Whether every number below 2^31 is a value of the type."""
    return clang_type.get_canonical().kind in _INTEGERS


def known_value(node: Node) -> int | None:
    """The value of an expression of numbers and known constants, or None."""
    node = strip(node)
    if node.named is not None:
        if node.named.kind == CursorKind.VAR_DECL:
            return known_number(node.named)
    elif node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator in ("+", "-", "*"):
        left, right = (known_value(child) for child in node.children)
        known = None if left is None or right is None else operation(node.binary_operator, left, right)
        # Beyond, C's types may change the number.
        return known if known is not None and 0 <= known < 2**31 else None
    value = node.evaluate() if _is_integer(node.type) else None
    return value if isinstance(value, int) else None


def copied_constant(context: Context, declaration: Node) -> DataObject | None:
    """A called function's copy of a constant of the file; None if `declaration` is no constant."""
    node = declaration.definition or declaration
    initializer = node.unit.initializer(node)
    if initializer is None or not is_constant(node):
        return None
    value = lower_initializer(context, initializer)
    object_ = declare(context, node, Scope.LOCAL)
    context.declared[declaration.key] = object_
    context.constants.append(Declarator(object_, value))
    return object_


def lower_initializer(context: Context, node: Node) -> Initializer:
    """The initialiser behind the `=` of a declaration.

    Raises SourceError for designators and for values of nameless structs.
    """
    if node.kind == CursorKind.INIT_LIST_EXPR:
        for item in node.children:
            if item.kind == CursorKind.UNEXPOSED_EXPR and len(item.children) > 1:
                raise source_error(item.range, "a designator cannot be used in a kernel", "give all values in order")
            if item.kind == CursorKind.INIT_LIST_EXPR and is_nameless_member(node.type, item.type):
                message = "values in braces are given to a struct without a name here"
                raise source_error(item.range, message, "assign its members one by one")
        return tuple(lower_initializer(context, item) for item in node.children)
    return context.lower(node)


def _make(
    context: Context, declaration: Node, host: str, clang_type: Any, range_: SourceRange, scope: Scope
) -> DataObject:
    shape = _shape(clang_type, host, range_)
    element = context.convert(shape.element, range_)
    if isinstance(element, (PointerType, VoidType)):
        raise source_error(range_, f"'{host}' points to data of no known size", "give it the type of what it points to")
    if _is_volatile(clang_type) or shape.element.is_volatile_qualified():
        message = f"'{host}' is volatile; a kernel cannot keep the order of accesses to it"
        raise source_error(range_, message, "copy it to an ordinary variable before the kernel, and back after it")
    if shape.storage is Storage.ROWS:
        lengths: tuple[Expression | None, ...] = (None,) * shape.rank
    elif shape.storage is Storage.CONTIGUOUS:
        lengths = _lengths(context, declaration, shape, range_, scope)
    else:
        lengths = ()
    # A parameter may be declared as in `double a[restrict n]`; its type does not tell.
    text = declaration.unit.text(declaration.file)[declaration.start : declaration.end]
    says_restrict = declaration.kind == CursorKind.PARM_DECL and b"restrict" in text
    restrict = shape.restrict or (bool(shape.arrays) and says_restrict)
    if not restrict and host == declaration.spelling and scope is Scope.EXTERNAL and is_pointer(clang_type):
        restrict = shape.storage is Storage.CONTIGUOUS and declaration.key in unescaped_allocations(context.facts.node)
    return DataObject(
        name=context.names.unique(identifier(host.replace("->", "_").replace(".", "_"))),
        host=host,
        element=element,
        storage=shape.storage,
        scope=scope,
        lengths=lengths,
        # clang's canonical arrays carry the qualifiers of their elements.
        const=any(level.is_const_qualified() for level in (shape.element, *shape.arrays)),
        restrict=restrict,
        range=declaration.range,
        is_variable=declaration.kind == CursorKind.VAR_DECL
        and host == declaration.spelling
        and shape.storage is not Storage.ROWS
        and not is_pointer(clang_type),
    )


def identifier(wanted: str) -> str:
    """`wanted` as an identifier that every target accepts; `_` follows a reserved word."""
    base = re.sub(r"\W+", "_", wanted, flags=re.ASCII).strip("_") or "object"
    if base[0].isdigit():
        base = f"_{base}"
    if wanted.isascii() and wanted.isidentifier():
        base = wanted
    return f"{base.lstrip('_')}_" if base in RESERVED or base.startswith(("tilek_", "__")) else base


def _is_volatile(clang_type: Any) -> bool:
    return bool(clang_type.get_canonical().is_volatile_qualified())


def _shape(clang_type: Any, host: str, range_: SourceRange) -> _Shape:
    """Split a type into its levels. Raises SourceError for mixtures that no storage covers."""
    restrict = bool(clang_type.get_canonical().is_restrict_qualified())
    outer, inner = _take_arrays(clang_type.get_canonical())
    if not is_pointer(inner):
        return _Shape(Storage.CONTIGUOUS if outer else Storage.SCALAR, outer, len(outer), inner, restrict)
    stars = 0
    level = inner
    while level.kind == TypeKind.POINTER:
        stars += 1
        level = target_type(level).get_canonical()
    below, element = _take_arrays(level)
    if not outer and stars == 1 and not is_pointer(element):
        return _Shape(Storage.CONTIGUOUS, below, 1 + len(below), element, restrict)
    if len(outer) <= 1 and not below:
        return _Shape(Storage.ROWS, (), len(outer) + stars, level, restrict)
    message = f"'{host}' mixes arrays and pointers in a way that kernels cannot copy ('{clang_type.spelling}')"
    raise source_error(range_, message, "use an array, a pointer to its first row, or pointers to rows (T **)")


def _take_arrays(canonical: Any) -> tuple[tuple[Any, ...], Any]:
    levels = []
    while is_array(canonical):
        levels.append(canonical)
        canonical = target_type(canonical).get_canonical()
    return tuple(levels), canonical


def _lengths(
    context: Context, declaration: Node, shape: _Shape, range_: SourceRange, scope: Scope
) -> tuple[Expression | None, ...]:
    """The length of each dimension; None for the first if C does not tell it."""
    written = _written_lengths(declaration, shape)
    lengths: list[Expression | None] = [None] * (shape.rank - len(shape.arrays))
    for number, array in enumerate(shape.arrays):
        if array.kind == TypeKind.CONSTANTARRAY:
            lengths.append(IntegerLiteral(array.element_count, str(array.element_count)))
        elif array.kind == TypeKind.INCOMPLETEARRAY:
            lengths.append(None)
        else:
            lengths.append(_variable_length(context, declaration, written.get(number), scope, range_, not lengths))
    if any(length is None for length in lengths[1:]):
        raise source_error(range_, f"only the first length of '{declaration.spelling}' may be left open")
    return tuple(lengths)


def _written_lengths(declaration: Node, shape: _Shape) -> dict[int, Node]:
    """The declaration's length expressions by array level; libclang gives the innermost first."""
    initializer = declaration.unit.initializer(declaration)
    children = (child for child in declaration.children if child.kind.is_expression())
    expressions = [child for child in children if initializer is None or child.cursor != initializer.cursor]
    numbers = [number for number, array in enumerate(shape.arrays) if array.kind != TypeKind.INCOMPLETEARRAY]
    if len(expressions) < len(numbers):
        return {}
    return dict(zip(reversed(numbers), expressions, strict=False))


def _variable_length(
    context: Context, declaration: Node, node: Node | None, scope: Scope, range_: SourceRange, is_first: bool
) -> Expression | None:
    """The length of a VLA's dimension, as an expression that still holds at the region."""
    name = declaration.spelling
    if node is None:
        message = f"a length of '{name}' is hidden in a typedef"
        raise source_error(range_, message, "write the lengths in the declaration of the array")
    if scope is not Scope.EXTERNAL:
        known = known_value(node)
        return context.lower(node) if known is None else IntegerLiteral(known, str(known))
    with context.without_use():
        length = context.lower(node)
    changed = _unstable_name(context, length, declaration.start)
    if changed is None:
        return length
    if is_first:
        return None
    message = f"the length of '{name}' is not known at the kernel: {changed} after '{name}' is declared"
    raise source_error(range_, message, "keep the lengths of arrays in variables that are not changed")


def _unstable_name(context: Context, length: Expression, since: int) -> str | None:
    """Why the expression may have changed between the array's declaration and the region."""
    for node in walk(length):
        if isinstance(node, (Assignment, Increment)) or (isinstance(node, Call) and node.callee is Callee.USER):
            return "it has side effects"
        if isinstance(node, Access):
            root = context.roots.get(node.object.host)
            if root is not None and context.facts.written_from(root.key, since):
                return f"'{node.object.host}' is changed"
    return None


# -- the values of the file's constant arrays


def _table_values(table: DataObject, initializer: Node) -> tuple[int | float, ...]:
    """All elements of a constant array, row-major, as numbers of its element type.

    `initializer` stands behind the `=`. The result is empty if an element is unknown, or if the
    array takes more than `TABLE_BYTES`.
    """
    lengths = [length.value for length in table.lengths if isinstance(length, IntegerLiteral)]
    element = table.element
    if not isinstance(element, ScalarType) or element.kind is ScalarKind.BOOLEAN or element.bits > DOUBLE.bits:
        return ()
    if len(lengths) != table.rank or math.prod(lengths) * (element.bits // 8) > TABLE_BYTES:
        return ()
    values = _elements(initializer, lengths, element)
    return () if values is None else tuple(values)


def _elements(node: Node, lengths: Sequence[int], element: ScalarType) -> list[int | float] | None:
    """The elements of an array of these lengths; zeros follow the last written element.

    None for lists with designators, with some braces left out, or with unknown values.
    """
    if not lengths:
        return _element(node, element)
    if node.kind != CursorKind.INIT_LIST_EXPR:
        return None
    items = node.children
    nested = [item.kind == CursorKind.INIT_LIST_EXPR for item in items]
    flat = not any(nested)
    if not flat and not all(nested):
        return None
    values: list[int | float] = []
    for item in items:
        part = _elements(item, () if flat else lengths[1:], element)
        if part is None:
            return None
        values += part
    missing = math.prod(lengths) - len(values)
    return values + [0] * missing if missing >= 0 else None


def _element(node: Node, element: ScalarType) -> list[int | float] | None:
    is_designated = node.kind == CursorKind.UNEXPOSED_EXPR and len(node.children) > 1
    if is_designated or node.kind in (CursorKind.STRING_LITERAL, CursorKind.INIT_LIST_EXPR):
        return None
    value = node.evaluate()
    if value is None or isinstance(value, int) == element.is_floating or not math.isfinite(value):
        return None
    return None if isinstance(value, int) and not has_integer(element, value) else [value]
