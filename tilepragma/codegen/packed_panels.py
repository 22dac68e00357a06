"""Packed panels: local copies of array elements, filled before a piece of code and stored after.

Padded panels are outlined into functions, for compilers of host functions. The columns that fill no
register tile run beside the full ones, in the same loops. In one function both kinds of tiles share
registers, and gcc (12) spills more around the full ones: products of floats took 1.08 times as long
even without remaining columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tilepragma.base.c_text import in_comment
from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.expressions import (
    Access,
    Binary,
    DataObject,
    Expression,
    IntegerLiteral,
    access_to,
    conjunction,
    integer,
)
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, If, Loop, PackedPanels, Panel, Statement, assign
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.panel_accesses import place_in_buffer
from tilepragma.ir.polynomial import expression, minimum, number, polynomial
from tilepragma.ir.substitution import with_accesses, with_each
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, ArrayType


@dataclass(frozen=True)
class PanelParts:
    """The parts of a PackedPanels. They are the declarations of the local arrays, the statements
    that fill each, the body on local elements, and the statements that store each written one.
    """

    declared: tuple[Declaration, ...]
    filled: tuple[Statement, ...]
    body: Block
    written: tuple[Statement, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements, in order."""
        return (*self.declared, *self.filled, *self.body.statements, *self.written)


def panel_parts(node: PackedPanels, fresh: Callable[[str], str]) -> PanelParts:
    """The parts of a PackedPanels. `fresh` makes unused names."""
    panels = [
        _register_panel(panel, fresh) if panel.padded and panel.stored else _memory_panel(panel, fresh)
        for panel in node.buffers
    ]
    return PanelParts(
        tuple(part for declared, _, _ in panels for part in declared),
        tuple(part for _, filled, _ in panels for part in filled),
        _body(node),
        tuple(part for _, _, written in panels for part in written),
    )


#: The statements around the body for one panel: declarations, those that fill, those that store.
_Around = tuple[tuple[Declaration, ...], tuple[Statement, ...], tuple[Statement, ...]]


def _memory_panel(panel: Panel, fresh: Callable[[str], str]) -> _Around:
    """A panel that is filled from the array and stored to it."""
    local = _local(panel, panel.object)
    filled = _padded(panel, local) if panel.padded else _copied(panel, local, panel.access, panel.conditions)
    written = (_copied(panel, panel.access, local, panel.conditions),) if panel.stored else ()
    return _declared(panel, fresh), (filled,), written


def _register_panel(panel: Panel, fresh: Callable[[str], str]) -> _Around:
    """A padded panel that stays in registers, by way of another local array. Loops with variable
    bounds, and tests, would keep it in memory.
    """
    to_registers, to_rows = _local(panel, panel.object), _in_one_row(panel, fresh(f"{panel.object.name}_rows"))
    declared = tuple(Declaration((Declarator(access.object, None),)) for access in (to_registers, to_rows))
    filled = _padded(panel, to_rows), _copied(panel, to_registers, to_rows, ())
    stored = _over(panel.loops[:-1], (_over_elements(panel, panel.access, to_rows),))
    return declared, filled, (_copied(panel, to_rows, to_registers, ()), stored)


def _in_one_row(panel: Panel, name: str) -> Access:
    """The element's place in a one-dimensional array. With several dimensions, clang (13) indexes
    past a row's end, which is right but which Oclgrind reports.
    """
    place, size = number(0), 1
    for subscript, length in zip(panel.subscripts, panel.object.lengths, strict=True):
        assert isinstance(length, IntegerLiteral), "local arrays have literal lengths"
        place, size = place * number(length.value) + polynomial(subscript), size * length.value
    row = replace(panel.object, name=name, host=name, lengths=(integer(size),))
    return Access(row, (expression(place, INT),), (), panel.access.type)


def _declared(panel: Panel, fresh: Callable[[str], str]) -> tuple[Declaration, ...]:
    """The local array; if it is only read, behind a pointer. Beside an array with variable indices,
    gcc 12 keeps no other local array in registers.
    """
    if panel.stored:
        return (Declaration((Declarator(panel.object, None),)),)
    name = fresh(f"{panel.object.name}_space")
    space = replace(panel.object, name=name, host=name)
    pointer = replace(panel.object, lengths=(None, *panel.object.lengths[1:]))
    start = Access(space, (), (), ArrayType(space.element, None))
    return Declaration((Declarator(space, None),)), Declaration((Declarator(pointer, start),))


def comment(node: PackedPanels) -> str:
    """The comment that tells a reader what the panels are for."""
    tiles = [expression_text(panel.access) for panel in node.buffers if panel.stored and panel.loops]
    elements = [expression_text(panel.access) for panel in node.buffers if panel.stored and not panel.loops]
    packed = [expression_text(panel.access) for panel in node.buffers if not panel.stored]
    parts = [f"a tile of {name} that stays in registers: all bounds are constants" for name in tiles]
    parts += [f"what a worker has of {name} stays in registers" for name in elements]
    parts += [f"what the tiles below read of {name}, packed in their order" for name in packed]
    text = "; ".join(parts) + (", zeros beside" if any(panel.padded for panel in node.buffers) else "")
    return f"/* {in_comment(text[0].upper() + text[1:])}. */"


def _local(panel: Panel, object_: DataObject) -> Access:
    return Access(object_, panel.subscripts, (), panel.access.type)


def _padded(panel: Panel, target: Access) -> Statement:
    """Fill `target` with elements and zeros: whole rows of zeros first, which vectorise."""
    zeros = replace(panel.loops[-1], body=Block((*panel.declarations, assign(target, integer(0)))))
    return _over(panel.loops[:-1], (zeros, _over_elements(panel, target, panel.access)))


def _over_elements(panel: Panel, target: Access, source: Expression) -> Loop:
    """The innermost loop over the iterations that have an element, which come first."""
    loop = panel.loops[-1]
    [condition] = panel.conditions
    assert isinstance(condition, Binary) and condition.operator == "<=", "columns up to the last one are held"
    parts = (polynomial(condition.right) - polynomial(condition.left)).split(access_to(loop.iterator))
    assert parts is not None and parts[0].constant == -1 and loop.comparison == "<", "by the columns themselves"
    upper = expression(minimum((polynomial(loop.upper), parts[1] + number(1))))
    return replace(loop, upper=upper, body=Block((*panel.declarations, assign(target, source))))


def _over(loops: tuple[Loop, ...], inner: tuple[Statement, ...]) -> Statement:
    """Statements in loops, outermost first."""
    body = Block(inner)
    for loop in reversed(loops):
        body = Block((replace(loop, body=body),))
    return body.statements[0] if len(body.statements) == 1 else body


def _copied(panel: Panel, target: Access, source: Expression, conditions: tuple[Expression, ...]) -> Statement:
    copy: Statement = assign(target, source)
    if conditions:
        copy = If(conjunction(conditions), Block((copy,)), None)
    return _over(panel.loops, (*panel.declarations, copy))


def _body(node: PackedPanels) -> Block:
    def local(access: Access) -> Expression:
        for panel in node.buffers:
            place = place_in_buffer(access.object, access.subscripts, panel)
            if place is not None:
                return Access(panel.object, place, access.path, access.type)
        return access

    body = with_accesses(node.body, local)
    if not any(panel.padded for panel in node.buffers):
        return body
    # Compilers keep no array in registers around a test.
    return with_each(body, If, lambda branch: branch.then if branch.padded else branch)


def has_padded_tiles(node: PackedPanels) -> bool:
    """Whether the tiles inside are padded, and this is their outermost statement."""
    return any(panel.padded and not panel.stored for panel in node.buffers)


def objects_outside(node: PackedPanels) -> tuple[DataObject, ...]:
    """The objects that the statement and its panels mention but do not declare, in order."""
    nodes = list(_everything(node))
    inside = {node.iterator for node in nodes if isinstance(node, Loop) and node.declares_iterator}
    inside |= {node.object for node in nodes if isinstance(node, Declarator)}
    mentioned = (node.object for node in nodes if isinstance(node, Access))
    return tuple(object_ for object_ in dict.fromkeys(mentioned) if object_ not in inside)


def _everything(root: Any) -> Iterator[Any]:
    """All nodes below, including those of panels."""
    for node in walk(root):
        yield node
        if isinstance(node, PackedPanels):
            for panel in node.buffers:
                for part in (*panel.loops, *panel.declarations, panel.access, *panel.conditions):
                    yield from walk(part)
