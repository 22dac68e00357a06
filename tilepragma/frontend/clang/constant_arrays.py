"""The values of constant arrays of the file, as far as the translation knows them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilepragma.frontend.clang.cursor_tree import CursorKind, Node
from tilepragma.ir.expressions import TABLE_BYTES, DataObject, IntegerLiteral
from tilepragma.ir.types import ScalarKind, ScalarType

_DOUBLE_BITS = 64


def table_values(table: DataObject, initializer: Node) -> tuple[int | float, ...]:
    """All elements, row-major, as numbers of the element's type; nothing where one of them is not
    known, or where they are more than `TABLE_BYTES`. `initializer` is what stands behind the `=`.
    """
    lengths = [length.value for length in table.lengths if isinstance(length, IntegerLiteral)]
    element = table.element
    if not isinstance(element, ScalarType) or element.kind is ScalarKind.BOOLEAN or element.bits > _DOUBLE_BITS:
        return ()
    if len(lengths) != table.rank or math.prod(lengths) * (element.bits // 8) > TABLE_BYTES:
        return ()
    values = _elements(initializer, lengths, element)
    return () if values is None else tuple(values)


def _elements(node: Node, lengths: Sequence[int], element: ScalarType) -> list[int | float] | None:
    """The elements of an array of these lengths, zeros behind the last that is written; None for
    lists that name elements or leave out some of their braces, and for values that are not known.
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
    found: list[int | float] = []
    for item in items:
        part = _elements(item, () if flat else lengths[1:], element)
        if part is None:
            return None
        found += part
    missing = math.prod(lengths) - len(found)
    return found + [0] * missing if missing >= 0 else None


def _element(node: Node, element: ScalarType) -> list[int | float] | None:
    is_designated = node.kind == CursorKind.UNEXPOSED_EXPR and len(node.children) > 1
    if is_designated or node.kind in (CursorKind.STRING_LITERAL, CursorKind.INIT_LIST_EXPR):
        return None
    value = node.evaluate()
    if value is None or isinstance(value, int) == element.is_floating or not math.isfinite(value):
        return None
    if not element.is_floating:
        least = -(2 ** (element.bits - 1)) if element.signed else 0
        return [value] if least <= value < least + 2**element.bits else None
    return [value]
