"""Buffers: local arrays that hold elements while a piece of code comes back to them, filled before it and written back after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilepragma.ir.buffers import place_in_buffer
from tilepragma.ir.dump import expression_text
from tilepragma.ir.expressions import Access, Assignment, Expression
from tilepragma.ir.looptree import (
    Block,
    Buffer,
    Buffered,
    Declaration,
    Declarator,
    ExpressionStatement,
    Loop,
    Statement,
)
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.types import ArrayType


def with_buffers(node: Buffered, fresh: Callable[[str], str]) -> tuple[Statement, ...]:
    """The statements that a Buffered stands for: declarations of the local arrays, the loops that fill them, the body with the local
    elements in place of the array's, and the loops that write them back. `fresh` makes names that nothing else has.
    """
    declared = tuple(one for buffer in node.buffers for one in _declared(buffer, fresh))
    filled = tuple(_copied(buffer, _local(buffer), buffer.access) for buffer in node.buffers)
    written = tuple(_copied(buffer, buffer.access, _local(buffer)) for buffer in node.buffers if buffer.stored)
    return (*declared, *filled, *_body(node).statements, *written)


def _declared(buffer: Buffer, fresh: Callable[[str], str]) -> tuple[Declaration, ...]:
    """The local array; what is only read is reached through a pointer: next to an array that is indexed by variables, gcc 12 does not keep
    other local arrays in registers.
    """
    if buffer.stored:
        return (Declaration((Declarator(buffer.object, None),)),)
    name = fresh(f"{buffer.object.name}_space")
    space = replace(buffer.object, name=name, host=name)
    pointer = replace(buffer.object, lengths=(None, *buffer.object.lengths[1:]))
    start = Access(space, (), (), ArrayType(space.element, None))
    return Declaration((Declarator(space, None),)), Declaration((Declarator(pointer, start),))


def comment(node: Buffered) -> str:
    """What the buffers are for, for a reader."""
    kept = [expression_text(buffer.access) for buffer in node.buffers if buffer.stored]
    packed = [expression_text(buffer.access) for buffer in node.buffers if not buffer.stored]
    parts = [f"a tile of {one} that stays in registers: all bounds are constants" for one in kept]
    parts += [f"what the tiles below read of {one}, packed in their order" for one in packed]
    text = "; ".join(parts)
    return f"/* {text[0].upper()}{text[1:]}. */"


def _local(buffer: Buffer) -> Access:
    return Access(buffer.object, buffer.subscripts, (), buffer.access.type)


def _copied(buffer: Buffer, target: Access, source: Access) -> Loop:
    body = Block((*buffer.declarations, ExpressionStatement(Assignment("=", target, source, target.type))))
    for loop in reversed(buffer.loops):
        body = Block((replace(loop, body=body),))
    (result,) = body.statements
    assert isinstance(result, Loop)
    return result


def _body(node: Buffered) -> Block:
    def local(access: Access) -> Expression:
        for buffer in node.buffers:
            place = place_in_buffer(access.object, access.subscripts, buffer)
            if place is not None:
                return Access(buffer.object, place, access.path, access.type)
        return access

    return with_accesses(node.body, local)
