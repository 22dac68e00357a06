"""Constants in the user's spelling, from the text or a macro's body; else one of the same bits."""

from __future__ import annotations

import math
import re

from tilepragma.base.diagnostics import source_error
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import Node
from tilepragma.ir.c_values import arithmetic_value, c_value
from tilepragma.ir.expressions import Binary, Expression, FloatingLiteral, IntegerLiteral, Unary, integer
from tilepragma.ir.types import DOUBLE, FLOAT, ScalarType, Type, promoted, single

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)\Z")
_FLOATING = re.compile(
    r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)([fFlL]?)\Z"
)
_SUFFIXES = {
    "int": "",
    "unsigned int": "u",
    "long": "l",
    "unsigned long": "ul",
    "long long": "ll",
    "unsigned long long": "ull",
}


def integer_literal(node: Node, type_: Type) -> Expression:
    """The IR of an integer literal."""
    match = _INTEGER.match(node.token or "")
    if match is not None:
        digits = match.group(1)
        octal = digits[0] == "0" and digits.isdigit()
        return IntegerLiteral(int(digits, 8 if octal else 0), match.group(), type_, node.range)
    return evaluated(node, "constant", "write the number out", type_)


def constant(value: int, type_: Type, range_: SourceRange) -> Expression:
    """An integer of a given value and type that the user did not spell as a number."""
    suffix = _SUFFIXES.get(type_.spelling if isinstance(type_, ScalarType) else "int", "")
    if value >= 0:
        return IntegerLiteral(value, f"{value}{suffix}", type_, range_)
    if value in (-(1 << 31), -(1 << 63)):
        # The magnitude is no literal of the type; C writes one less, minus one.
        return Binary("-", constant(value + 1, type_, range_), integer(1), type_, range_)
    return Unary("-", IntegerLiteral(-value, f"{-value}{suffix}", type_, range_), type_, range_)


def as_c_computes(value: Expression) -> Expression:
    """The expression, or a literal if C's types change a constant's arithmetic value."""
    known = c_value(value)
    if known is None or known == arithmetic_value(value):
        return value
    # C has no narrower constants, and devices would spell an `unsigned char` as `unsigned int`.
    assert isinstance(value.type, ScalarType)
    return constant(known, promoted(value.type), value.range)


def evaluated(node: Node, what: str, remedy: str, type_: Type) -> Expression:
    """The value of an integer constant, which errors call `what`. Raises SourceError."""
    value = node.evaluate()
    if value is None:
        raise source_error(node.range, f"the value of this {what} is not known", remedy)
    return constant(int(value), type_, node.range)


def floating_literal(node: Node, type_: ScalarType) -> FloatingLiteral:
    """The IR of a floating literal, with the bits that the host's code has."""
    match = _FLOATING.match(node.token or "")
    if match is not None:
        digits = match.group(1)
        value = float.fromhex(digits) if digits[:2] in ("0x", "0X") else float(digits)
        if type_.bits == FLOAT.bits and math.isfinite(value):
            value = single(value)
        return FloatingLiteral(value, match.group(), type_, node.range)
    evaluated = node.evaluate()
    if evaluated is None or type_.bits > DOUBLE.bits:
        raise source_error(node.range, "the value of this constant is not known", "write the number out")
    return FloatingLiteral(float(evaluated), spell_floating(float(evaluated), type_), type_, node.range)


def spell_floating(value: float, type_: ScalarType) -> str:
    """The shortest decimal that reads back as the same double, with the type's suffix."""
    text = repr(value)
    if not re.search(r"[.en]", text):
        text += ".0"
    return text + {"float": "f", "long double": "l"}.get(type_.spelling, "")
