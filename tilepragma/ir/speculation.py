"""Code that may run speculatively, on any numbers: it never fails, and only assigns."""

from __future__ import annotations

from typing import Any

from tilepragma.ir.expressions import Access, Assignment, Binary, Cast, FloatingLiteral, IntegerLiteral, Unary
from tilepragma.ir.loop_tree import Block, ExpressionStatement
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType

_OPERATORS = frozenset("+-*")
_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*="))


def is_harmless(node: Any) -> bool:
    """Whether `node` has only assignments, sums, differences and products; no division, no call."""
    return all(map(_is_harmless, walk(node)))


def _is_harmless(node: Any) -> bool:
    match node:
        case Binary() | Unary():
            return node.operator in _OPERATORS
        case Assignment():
            return node.operator in _ASSIGNMENTS
        case Cast():
            return isinstance(node.type, ScalarType)
        case _:
            return isinstance(node, (Access, IntegerLiteral, FloatingLiteral, ExpressionStatement, Block))
