"""Copy loops between arrays: each element of { [x] : cell } once, in any order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import islpy as isl

from tilepragma.base.source_ranges import NOWHERE
from tilepragma.ir.expressions import Access, Assignment, DataObject, Expression, Scope, Storage, access_to, integer
from tilepragma.ir.loop_tree import Block, Declaration, ExpressionStatement, Loop, Statement
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import with_blocks
from tilepragma.ir.types import LONG
from tilepragma.lower.ast_generation import ScheduledStatement, Symbols, generate_loops
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.operation_limit import DEFAULT_LIMIT, operation_limit
from tilepragma.poly.scop import Scop, ScopStatement

_COPY = "C"

CellSet = isl.Set
"""{ [o, x] }: cells x of an array in iterations o"""


def copy_loops(
    scop: Scop,
    cells: isl.Set,
    iterators: Sequence[DataObject],
    assignment: Assignment,
    around: tuple[Loop, ...],
    numbers: Iterator[int],
) -> Block:
    """Loops over { [o, x] : cell }, o being the iterators of the loops `around`, that run
    `assignment`, which names x by `iterators`. New loops get the next of the `numbers`. Raises
    OperationLimitError.
    """
    with operation_limit(scop.context, DEFAULT_LIMIT, "writing loops that copy"):
        symbols: dict[str, Expression] = dict(scop.parameters)
        known: isl.Set | None = None
        if around:
            known, cells, origin_values = _inside(scop, cells, around)
            symbols |= origin_values
        cells = cells.set_tuple_name(_COPY)
        times = isl.Map.identity(cells.get_space().map_from_set()).reset_tuple_id(isl.dim_type.out)
        loops = tuple(map(_loop, iterators))
        statement = ScopStatement(_COPY, loops, cells, times, (), NOWHERE, ExpressionStatement(assignment))
        return _inlined(generate_loops((ScheduledStatement(statement, times),), Symbols(symbols), numbers, known))


def _inlined(block: Block) -> Block:
    """The block with its constants' values substituted: several constants may share a name."""
    initial = ((declarator.object, declarator.value) for declarator in block.declarators)
    values = {object_: value for object_, value in initial if value is not None}

    def value(access: Access) -> Expression:
        return values.get(access.object, access)

    def inside(statement: Statement) -> Statement:
        if isinstance(statement, Block):
            return _inlined(statement)
        return with_accesses(with_blocks(statement, _inlined), value) if values else with_blocks(statement, _inlined)

    kept = (statement for statement in block.statements if not isinstance(statement, Declaration))
    return replace(block, statements=tuple(map(inside, kept)))


def _inside(scop: Scop, cells: isl.Set, around: tuple[Loop, ...]) -> tuple[isl.Set, isl.Set, Mapping[str, Expression]]:
    """The iterations of the loops around and the cells, with parameters o, and the values of o."""
    names = [f"around {loop.iterator.name} {place}" for place, loop in enumerate(around)]
    known = _as_parameters(_domain(scop, around), names).params()
    values = {name: access_to(loop.iterator) for name, loop in zip(names, around, strict=True)}
    return known, _as_parameters(cells, names), values


def _domain(scop: Scop, around: tuple[Loop, ...]) -> isl.Set:
    """{ [o] : an iteration of the loops, ignoring conditions between them }"""
    marker = DataObject("tilek_marker", "tilek_marker", LONG, Storage.SCALAR, Scope.LOCAL)
    write = Assignment("=", Access(marker, (), (), LONG), integer(0, LONG), LONG)
    body = Block((ExpressionStatement(write),))
    for loop in reversed(around):
        body = Block((replace(loop, body=body),))
    (statement,) = extract_scop(body.statements, (), scop.written | {marker}, context=scop.context).statements
    return statement.domain


def _as_parameters(cells: isl.Set, names: Sequence[str]) -> isl.Set:
    """[names] -> { [x] : [names, x] in cells }"""
    cells = cells.reset_tuple_id()
    for name in names:
        place = cells.dim(isl.dim_type.param)
        cells = cells.move_dims(isl.dim_type.param, place, isl.dim_type.set, 0, 1)
        cells = cells.set_dim_name(isl.dim_type.param, place, name)
    return cells


def _loop(iterator_: DataObject) -> Loop:
    zero = integer(0, LONG)
    return Loop(-1, iterator_, True, zero, "<", zero, integer(1, LONG), False, Block(()), None)
