"""Buffers: local arrays that hold elements while a piece of code comes back to them, filled before it and written back after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilepragma.base.c_text import in_comment
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    Expression,
    IntegerLiteral,
    access_to,
    conjunction,
    integer,
)
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    If,
    Loop,
    PackedPanels,
    Panel,
    Statement,
)
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.panel_accesses import place_in_buffer
from tilepragma.ir.polynomial import expression, minimum, number, polynomial
from tilepragma.ir.substitution import with_accesses, with_each
from tilepragma.ir.types import INT, ArrayType


@dataclass(frozen=True)
class PanelParts:
    """What a PackedPanels stands for: declarations of the local arrays, what fills each of them, the
    body with the local elements in place of the array's, and what writes back each that is stored.
    """

    declared: tuple[Declaration, ...]
    filled: tuple[Statement, ...]
    body: Block
    written: tuple[Statement, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All of it, in order."""
        return (*self.declared, *self.filled, *self.body.statements, *self.written)


def with_buffers(node: PackedPanels, fresh: Callable[[str], str]) -> PanelParts:
    """The parts of a PackedPanels. `fresh` makes names that nothing else has."""
    each = [
        _kept(buffer, fresh) if buffer.padded and buffer.stored else _held(buffer, fresh) for buffer in node.buffers
    ]
    return PanelParts(
        tuple(one for parts in each for one in parts.declared),
        tuple(one for parts in each for one in parts.filled),
        _body(node),
        tuple(one for parts in each for one in parts.written),
    )


@dataclass(frozen=True)
class _PanelParts:
    """What surrounds the body for one buffer."""

    declared: tuple[Declaration, ...]
    filled: tuple[Statement, ...]
    written: tuple[Statement, ...]


def _held(buffer: Panel, fresh: Callable[[str], str]) -> _PanelParts:
    """A buffer that is filled from the array and written back to it."""
    local = _local(buffer, buffer.object)
    filled = _padded(buffer, local) if buffer.padded else _copied(buffer, local, buffer.access, buffer.conditions)
    written = (_copied(buffer, buffer.access, local, buffer.conditions),) if buffer.stored else ()
    return _PanelParts(_declared(buffer, fresh), (filled,), written)


def _kept(buffer: Panel, fresh: Callable[[str], str]) -> _PanelParts:
    """A padded buffer that is to stay in registers, by way of another local array: loops whose
    bounds are no constants, and tests, would keep it in memory.
    """
    to_kept, to_rows = _local(buffer, buffer.object), _in_one_row(buffer, fresh(f"{buffer.object.name}_rows"))
    return _PanelParts(
        tuple(Declaration((Declarator(one.object, None),)) for one in (to_kept, to_rows)),
        (_padded(buffer, to_rows), _copied(buffer, to_kept, to_rows, ())),
        (
            _copied(buffer, to_rows, to_kept, ()),
            _over(buffer.loops[:-1], (_where_held(buffer, buffer.access, to_rows),)),
        ),
    )


def _in_one_row(buffer: Panel, name: str) -> Access:
    """The place of an element in an array of one dimension. With several, clang (13) counts on from
    one row into the next, which is right but looks to Oclgrind as if it left the array.
    """
    place, size = number(0), 1
    for subscript, length in zip(buffer.subscripts, buffer.object.lengths, strict=True):
        assert isinstance(length, IntegerLiteral), "local arrays have literal lengths"
        place, size = place * number(length.value) + polynomial(subscript), size * length.value
    row = replace(buffer.object, name=name, host=name, lengths=(integer(size),))
    return Access(row, (expression(place, INT),), (), buffer.access.type)


def _declared(buffer: Panel, fresh: Callable[[str], str]) -> tuple[Declaration, ...]:
    """The local array; what is only read is reached through a pointer: next to an array that is
    indexed by variables, gcc 12 does not keep other local arrays in registers.
    """
    if buffer.stored:
        return (Declaration((Declarator(buffer.object, None),)),)
    name = fresh(f"{buffer.object.name}_space")
    space = replace(buffer.object, name=name, host=name)
    pointer = replace(buffer.object, lengths=(None, *buffer.object.lengths[1:]))
    start = Access(space, (), (), ArrayType(space.element, None))
    return Declaration((Declarator(space, None),)), Declaration((Declarator(pointer, start),))


def comment(node: PackedPanels) -> str:
    """What the buffers are for, for a reader."""
    kept = [expression_text(buffer.access) for buffer in node.buffers if buffer.stored and buffer.loops]
    alone = [expression_text(buffer.access) for buffer in node.buffers if buffer.stored and not buffer.loops]
    packed = [expression_text(buffer.access) for buffer in node.buffers if not buffer.stored]
    parts = [f"a tile of {one} that stays in registers: all bounds are constants" for one in kept]
    parts += [f"what a worker has of {one} stays in registers" for one in alone]
    parts += [f"what the tiles below read of {one}, packed in their order" for one in packed]
    text = "; ".join(parts) + (", zeros beside" if any(buffer.padded for buffer in node.buffers) else "")
    return f"/* {in_comment(text[0].upper() + text[1:])}. */"


def _local(buffer: Panel, object_: DataObject) -> Access:
    return Access(object_, buffer.subscripts, (), buffer.access.type)


def _padded(buffer: Panel, target: Access) -> Statement:
    """Fills `target` with the elements that there are, and zeros beside: first with rows of zeros, which compilers write at once."""
    zeros = replace(buffer.loops[-1], body=Block((*buffer.declarations, _assigned(target, integer(0)))))
    return _over(buffer.loops[:-1], (zeros, _where_held(buffer, target, buffer.access)))


def _where_held(buffer: Panel, target: Access, source: Expression) -> Loop:
    """The innermost loop over those of its iterations that have an element, which are the first ones."""
    loop = buffer.loops[-1]
    [condition] = buffer.conditions
    assert isinstance(condition, Binary) and condition.operator == "<=", "columns up to the last one are held"
    parts = (polynomial(condition.right) - polynomial(condition.left)).split(access_to(loop.iterator))
    assert parts is not None and parts[0].constant == -1 and loop.comparison == "<", "by the columns themselves"
    upper = expression(minimum((polynomial(loop.upper), parts[1] + number(1))))
    return replace(loop, upper=upper, body=Block((*buffer.declarations, _assigned(target, source))))


def _over(loops: tuple[Loop, ...], inner: tuple[Statement, ...]) -> Statement:
    """Statements in loops, outermost first."""
    body = Block(inner)
    for loop in reversed(loops):
        body = Block((replace(loop, body=body),))
    return body.statements[0] if len(body.statements) == 1 else body


def _assigned(target: Access, source: Expression) -> Statement:
    return ExpressionStatement(Assignment("=", target, source, target.type))


def _copied(buffer: Panel, target: Access, source: Expression, conditions: tuple[Expression, ...]) -> Statement:
    copy = _assigned(target, source)
    if conditions:
        copy = If(conjunction(conditions), Block((copy,)), None)
    return _over(buffer.loops, (*buffer.declarations, copy))


def _body(node: PackedPanels) -> Block:
    def local(access: Access) -> Expression:
        for buffer in node.buffers:
            place = place_in_buffer(access.object, access.subscripts, buffer)
            if place is not None:
                return Access(buffer.object, place, access.path, access.type)
        return access

    body = with_accesses(node.body, local)
    return with_each(body, If, _without_test) if any(buffer.padded for buffer in node.buffers) else body


def _without_test(node: If) -> Statement:
    """Compilers keep no array in registers around a test."""
    return node.then if node.padded else node
