"""Readable, C-like text of loop trees, for `explain`, debugging and tests only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tilepragma.ir.directives import ClauseExpression
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Comma,
    Conditional,
    Expression,
    FloatingLiteral,
    Increment,
    IntegerLiteral,
    Member,
    Unary,
    integer,
)
from tilepragma.ir.loop_tree import (
    Barrier,
    Block,
    Break,
    CaseLabel,
    Continue,
    Declaration,
    Declarator,
    ExpressionStatement,
    ForLoop,
    If,
    Loop,
    PackedPanels,
    Return,
    Stage,
    Staged,
    StagedSide,
    Switch,
    Tile,
    TileNest,
    While,
)
from tilepragma.ir.substitution import with_parts
from tilepragma.ir.types import LONG, ArrayType, PointerType, RecordType, ScalarType, Type


def expression_text(node: Any) -> str:
    """One expression, with parentheses around every operand that is not simple."""
    if isinstance(node, ClauseExpression):
        return node.text
    if isinstance(node, (IntegerLiteral, FloatingLiteral)):
        return node.spelling
    if isinstance(node, Access):
        return _access(node)
    if isinstance(node, Unary):
        return f"{node.operator}{_operand(node.operand)}"
    if isinstance(node, Binary):
        return f"{_operand(node.left, node.operator)} {node.operator} {_right(node)}"
    if isinstance(node, Assignment):
        return f"{expression_text(node.target)} {node.operator} {expression_text(node.value)}"
    if isinstance(node, Increment):
        target = expression_text(node.target)
        return f"{node.operator}{target}" if node.prefix else f"{target}{node.operator}"
    if isinstance(node, Conditional):
        parts = (expression_text(part) for part in (node.condition, node.then, node.otherwise))
        return "({} ? {} : {})".format(*parts)
    if isinstance(node, Cast):
        return f"({type_text(node.type)}){_operand(node.operand)}"
    if isinstance(node, Call):
        return f"{node.function}({', '.join(map(expression_text, node.arguments))})"
    if isinstance(node, Comma):
        return f"({expression_text(node.left)}, {expression_text(node.right)})"
    if isinstance(node, AddressOf):
        return f"&{expression_text(node.target)}"
    raise TypeError(f"{type(node).__name__} is no expression")


def plain_text(node: Any) -> str:
    """A generated expression as a user writes it: no casts to long, `min` and `max` for helpers."""
    return expression_text(_plain(node))


def _plain(node: Any) -> Any:
    if isinstance(node, Cast) and node.type == LONG:
        return _plain(node.operand)
    if isinstance(node, IntegerLiteral) and node.type == LONG:
        return integer(node.value)
    if isinstance(node, (Unary, Binary, Conditional)):
        return with_parts(node, _plain)
    if isinstance(node, Call) and node.callee is Callee.HELPER:
        name = {"tilek_minimum": "min", "tilek_maximum": "max"}.get(node.function, node.function)
        return replace(node, function=name, arguments=tuple(map(_plain, node.arguments)))
    return node


def type_text(type_: Type) -> str:
    """A type's name, as C if it is one word."""
    if isinstance(type_, (ScalarType, RecordType)):
        return type_.spelling
    if isinstance(type_, PointerType):
        return f"{type_text(type_.pointee)} *"
    if isinstance(type_, ArrayType):
        return f"{type_text(type_.element)} [{'' if type_.length is None else expression_text(type_.length)}]"
    return "void"


def statement_text(node: Any) -> str:
    """One statement with all below it, a line each, indented by two spaces a level."""
    return "\n".join(_lines(node, 0)) + "\n"


def tile_text(tile: Tile, symbol: str) -> str:
    """`i.0 static 4`, `j.1 gang 0`: a tile with its loop's symbol and its position."""
    argument = "" if tile.argument is None else f" {tile.argument.text}"
    after = argument if tile.axis is None else f" {tile.axis.dimension}"
    return f"{symbol}.{tile.position} {tile.kind.value}{after}"


def _access(node: Access) -> str:
    text = node.object.host + subscripts_text(node.subscripts)
    for step in node.path:
        text += f".{step.name}" if isinstance(step, Member) else f"[{expression_text(step.index)}]"
    return text


def _operand(node: Any, chained: str | None = None) -> str:
    """The text of an operand, bare as left operand of the same `chained` operator."""
    text = expression_text(node)
    simple = isinstance(node, (Access, IntegerLiteral, FloatingLiteral, Call, Cast, Conditional, Comma))
    additive = ("+", "-")
    sums = isinstance(node, Binary) and node.operator in additive and chained in additive
    same = sums or (isinstance(node, Binary) and node.operator == chained)
    looser = isinstance(node, Binary) and chained in (">=", "&&") and node.operator in (">=", "&&", *additive)
    return text if simple or same or looser else f"({text})"


def _right(node: Binary) -> str:
    tighter = {">=": ("+", "-"), "&&": (">=",)}.get(node.operator, ())
    bare = isinstance(node.right, Binary) and node.right.operator in tighter
    return expression_text(node.right) if bare else _operand(node.right)


def _lines(node: Any, depth: int) -> Iterator[str]:
    pad = "  " * depth
    if isinstance(node, Block):
        for statement in node.statements:
            yield from _lines(statement, depth)
    elif isinstance(node, TileNest):
        yield from _nest(node, depth)
    elif isinstance(node, PackedPanels):
        for buffer in node.buffers:
            lengths = subscripts_text(length for length in buffer.object.lengths if length is not None)
            yield f"{pad}{buffer.object.host}{lengths} holds {_access(buffer.access)}"
        yield from _lines(node.body, depth)
    elif isinstance(node, If):
        yield f"{pad}if ({expression_text(node.condition)})"
        yield from _lines(node.then, depth + 1)
        if node.otherwise is not None:
            yield f"{pad}else"
            yield from _lines(node.otherwise, depth + 1)
    elif isinstance(node, (Loop, ForLoop, While, Switch)):
        yield f"{pad}{_header(node)}"
        yield from _lines(node.body, depth + 1)
    else:
        yield f"{pad}{_simple(node)}"


def _simple(node: Any) -> str:
    if isinstance(node, ExpressionStatement):
        return f"{expression_text(node.expression)};"
    if isinstance(node, Declaration):
        return " ".join(f"{_declarator(declarator)};" for declarator in node.declarators)
    if isinstance(node, Return):
        return "return;" if node.value is None else f"return {expression_text(node.value)};"
    if isinstance(node, CaseLabel):
        return "default:" if node.value is None else f"case {expression_text(node.value)}:"
    if isinstance(node, Stage):
        return f"stage {'ahead ' if node.ahead else ''}" + ", ".join(map(staged_text, node.arrays))
    return {Break: "break;", Continue: "continue;", Barrier: "barrier"}[type(node)]


def subscripts_text(subscripts: Iterable[Expression]) -> str:
    """`[i - 1][j]`"""
    return "".join(f"[{expression_text(subscript)}]" for subscript in subscripts)


def staged_text(staged: Staged) -> str:
    """`A[i - 1 : 3][j : 1]`: for each dimension the least index and the count of one iteration."""
    return staged.object.host + "".join(f"[{_side(side)}]" for side in staged.sides)


def _side(side: StagedSide) -> str:
    factors = ("" if term.coefficient == 1 else f"{term.coefficient}*" for term in side.terms)
    terms = [factor + term.iterator.host for factor, term in zip(factors, side.terms, strict=True)]
    least = plain_text(side.least)
    start = " + ".join(terms if terms and least == "0" else [*terms, least]).replace("+ -", "- ")
    return f"{start} : {side.width + 1}"


def _declarator(node: Declarator) -> str:
    lengths = "".join("[]" if n is None else f"[{expression_text(n)}]" for n in node.object.lengths)
    text = f"{type_text(node.object.element)} {node.object.host}{lengths}"
    return text if node.initializer is None else f"{text} = {_initializer(node.initializer)}"


def _initializer(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(map(_initializer, value)) + "}"
    return expression_text(value)


def _header(loop: Loop | ForLoop | While | Switch) -> str:
    if isinstance(loop, ForLoop):
        return f"for, not canonical ({loop.reason})"
    if isinstance(loop, (While, Switch)):
        word = "switch" if isinstance(loop, Switch) else "do … while" if loop.test_last else "while"
        return f"{word} ({expression_text(loop.condition)})"
    name = loop.iterator.host
    bounds = f"{name} = {expression_text(loop.lower)}; {name} {loop.comparison} {expression_text(loop.upper)}"
    return f"for ({bounds}; {name} += {expression_text(loop.step)})"


def _nest(nest: TileNest, depth: int) -> Iterator[str]:
    symbols = {tiled.loop.index: tiled.symbol for tiled in nest.loops}
    pad = "  " * depth
    uniform = ", uniform" if nest.uniform else ""
    yield f"{pad}nest {', '.join(tile_text(tile, symbols[tile.loop]) for tile in nest.order)}{uniform}"
    for tiled in nest.loops:
        note = "" if tiled.launch_bounds else ", bounds known in the kernel"
        yield f"{pad}  {tiled.symbol}: {_header(tiled.loop)}{note}"
    if nest.guard is not None:
        yield f"{pad}  if {expression_text(nest.guard)}"
    yield from _lines(nest.body, depth + 1)
