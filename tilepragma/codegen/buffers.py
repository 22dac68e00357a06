"""Buffers: local arrays that hold elements while a piece of code comes back to them, filled before it and written back after it."""

from __future__ import annotations

from dataclasses import replace

from tilepragma.ir.dump import expression_text
from tilepragma.ir.expressions import Access, Assignment, Expression
from tilepragma.ir.looptree import Block, Buffer, Buffered, Declaration, Declarator, ExpressionStatement, Loop, Statement
from tilepragma.ir.substitution import with_accesses


def with_buffers(node: Buffered) -> tuple[Statement, ...]:
    """The statements that a Buffered stands for: declarations of the local arrays, the loops that fill them, the body with the local
    elements in place of the array's, and the loops that write them back.
    """
    declared = tuple(Declaration((Declarator(buffer.object, None),)) for buffer in node.buffers)
    filled = tuple(_copied(buffer, _local(buffer), buffer.access) for buffer in node.buffers)
    written = tuple(_copied(buffer, buffer.access, _local(buffer)) for buffer in node.buffers if buffer.stored)
    return (*declared, *filled, *_body(node).statements, *written)


def comment(node: Buffered) -> str:
    """What is kept in the buffers, for a reader."""
    kept = " and ".join(f"{expression_text(buffer.access)} in {buffer.object.name}" for buffer in node.buffers)
    return f"/* A tile of {kept}: constant bounds, so that compilers keep it in registers. */"


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
            if access == buffer.access:
                return _local(buffer)
        return access

    return with_accesses(node.body, local)
