"""The values of the file's constant arrays, as far as the translation knows them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilepragma.frontend.clang.cursor_tree import CursorKind, Node
from tilepragma.ir.expressions import TABLE_BYTES, DataObject, IntegerLiteral
from tilepragma.ir.types import ScalarKind, ScalarType

_DOUBLE_BITS = 64


def table_values(table: DataObject, initializer: Node) -> tuple[int | float, ...]:
    """All elements of a constant array, row-major, as numbers of its element type.

    `initializer` stands behind the `=`. The result is empty if an element is unknown, or if the
    array takes more than `TABLE_BYTES`.
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
    if not element.is_floating:
        least = -(2 ** (element.bits - 1)) if element.signed else 0
        return [value] if least <= value < least + 2**element.bits else None
    return [value]
