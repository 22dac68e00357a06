from __future__ import annotations

from tilepragma.base.source_ranges import NOWHERE, Position, SourceRange
from tilepragma.ir.directives import LoopDirective
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Binary,
    DataObject,
    IntegerLiteral,
    Member,
    Scope,
    Storage,
    integer,
)
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    Declarator,
    ExpressionStatement,
    Loop,
    Tile,
    TiledLoop,
    TileNest,
)
from tilepragma.ir.traversal import children, walk
from tilepragma.ir.types import DOUBLE, INT, LONG, UNSIGNED_LONG

ITERATOR = DataObject("i", "i", INT, Storage.SCALAR, Scope.EXTERNAL)
A = DataObject("A", "A", DOUBLE, Storage.CONTIGUOUS, Scope.EXTERNAL, (integer(8),))


def read(object_: DataObject, *subscripts: Access) -> Access:
    return Access(object_, subscripts, (), object_.element)


def loop(body: Block) -> Loop:
    return Loop(0, ITERATOR, False, integer(0), "<", integer(8), integer(1), False, body, LoopDirective(NOWHERE))


def test_walk_is_in_textual_order_and_enters_subscripts() -> None:
    statement = ExpressionStatement(Assignment("+=", read(A, read(ITERATOR)), integer(2), DOUBLE))
    kinds = [type(node).__name__ for node in walk(statement)]
    assert kinds == ["ExpressionStatement", "Assignment", "Access", "Access", "IntegerLiteral"]


def test_a_loop_has_its_bounds_step_and_body_and_not_its_directive_or_iterator() -> None:
    body = Block(())
    assert list(children(loop(body))) == [integer(0), integer(8), integer(1), body]


def test_nested_initializers_are_nodes_and_lengths_of_objects_are_not() -> None:
    declaration = Declaration((Declarator(A, ((integer(1), integer(2)), integer(3))),))
    assert [node.value for node in walk(declaration) if isinstance(node, IntegerLiteral)] == [1, 2, 3]


def test_steps_of_a_path_are_visited() -> None:
    access = Access(A, (read(ITERATOR),), (Member("x"),), DOUBLE)
    assert Member("x") in list(children(access))


def test_a_tile_nest_shows_its_body_once() -> None:
    statement = ExpressionStatement(Binary("+", integer(1), integer(2), INT))
    body = Block((statement,))
    nest = TileNest((TiledLoop(loop(body), "i", (), True),), (), body)
    assert [node for node in walk(nest) if node is statement] == [statement]
    assert list(children(nest)) == [integer(0), integer(8), integer(1), body]


def test_places_do_not_make_expressions_differ() -> None:
    elsewhere = SourceRange(Position("x.c", 3, 1, 20), Position("x.c", 3, 2, 21))
    assert IntegerLiteral(3, "3", INT, elsewhere) == integer(3)
    assert Tile.__dataclass_fields__["range"].compare is False


def test_made_literals_carry_the_suffix_of_their_type() -> None:
    assert [integer(7, type_).spelling for type_ in (INT, LONG, UNSIGNED_LONG)] == ["7", "7l", "7ul"]


def test_the_rank_of_an_object_is_its_number_of_dimensions() -> None:
    assert (ITERATOR.rank, A.rank) == (0, 1)
