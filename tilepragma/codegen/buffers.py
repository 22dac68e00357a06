"""Buffers: local arrays that hold elements while a piece of code comes back to them, filled before it and written back after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilepragma.ir.buffers import place_in_buffer
from tilepragma.ir.dump import expression_text
from tilepragma.ir.expressions import Access, Assignment, Conditional, Expression, conjunction, integer
from tilepragma.ir.looptree import (
    Block,
    Buffer,
    Buffered,
    Declaration,
    Declarator,
    ExpressionStatement,
    If,
    Statement,
)
from tilepragma.ir.substitution import with_accesses, with_each
from tilepragma.ir.types import ArrayType


@dataclass(frozen=True)
class BufferedParts:
    """What a Buffered stands for: declarations of the local arrays, what fills each of them, the body with the local elements in
    place of the array's, and what writes back each that is stored.
    """

    declared: tuple[Declaration, ...]
    filled: tuple[Statement, ...]
    body: Block
    written: tuple[Statement, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All of it, in order."""
        return (*self.declared, *self.filled, *self.body.statements, *self.written)


def with_buffers(node: Buffered, fresh: Callable[[str], str]) -> BufferedParts:
    """The parts of a Buffered. `fresh` makes names that nothing else has."""
    return BufferedParts(
        tuple(one for buffer in node.buffers for one in _declared(buffer, fresh)),
        tuple(_filled(buffer) for buffer in node.buffers),
        _body(node),
        tuple(
            _copied(buffer, buffer.access, _local(buffer), buffer.conditions)
            for buffer in node.buffers
            if buffer.stored
        ),
    )


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
    kept = [expression_text(buffer.access) for buffer in node.buffers if buffer.stored and buffer.loops]
    alone = [expression_text(buffer.access) for buffer in node.buffers if buffer.stored and not buffer.loops]
    packed = [expression_text(buffer.access) for buffer in node.buffers if not buffer.stored]
    parts = [f"a tile of {one} that stays in registers: all bounds are constants" for one in kept]
    parts += [f"what a worker has of {one} stays in registers" for one in alone]
    parts += [f"what the tiles below read of {one}, packed in their order" for one in packed]
    text = "; ".join(parts) + (", zeros beside" if any(buffer.padded for buffer in node.buffers) else "")
    return f"/* {text[0].upper()}{text[1:]}. */"


def _local(buffer: Buffer) -> Access:
    return Access(buffer.object, buffer.subscripts, (), buffer.access.type)


def _filled(buffer: Buffer) -> Statement:
    if not buffer.padded:
        return _copied(buffer, _local(buffer), buffer.access, buffer.conditions)
    source = Conditional(conjunction(buffer.conditions), buffer.access, integer(0), buffer.access.type)
    return _copied(buffer, _local(buffer), source, ())


def _copied(buffer: Buffer, target: Access, source: Expression, conditions: tuple[Expression, ...]) -> Statement:
    copy: Statement = ExpressionStatement(Assignment("=", target, source, target.type))
    if conditions:
        copy = If(conjunction(conditions), Block((copy,)), None)
    body = Block((*buffer.declarations, copy))
    for loop in reversed(buffer.loops):
        body = Block((replace(loop, body=body),))
    return body.statements[0] if len(body.statements) == 1 else body


def _body(node: Buffered) -> Block:
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
