"""Which uses are certain where branches exclude each other."""

from __future__ import annotations

from tilepragma.ir.accesses import uses
from tilepragma.ir.expressions import Access, Assignment, DataObject, Scope, Storage, access_to, integer
from tilepragma.ir.loop_tree import Block, ExpressionStatement, If
from tilepragma.ir.types import INT

K, T, J = (DataObject(name, name, INT, Storage.SCALAR, Scope.LOCAL) for name in "ktj")
Y = DataObject("y", "y", INT, Storage.CONTIGUOUS, Scope.EXTERNAL, (None,))


def assign(target: Access) -> ExpressionStatement:
    return ExpressionStatement(Assignment("=", target, integer(1), INT))


def chain(arms: list[Block], otherwise: Block | None) -> Block:
    for arm in reversed(arms):
        otherwise = Block((If(access_to(K), arm, otherwise),))
    assert otherwise is not None
    return otherwise


def certain_writes(block: Block, object_: DataObject) -> list[bool]:
    return [not use.conditional for use in uses(block) if use.object == object_ and use.writes]


def test_what_all_branches_of_a_chain_write_is_certain_once() -> None:
    arms = [Block((assign(access_to(T)),)) for _ in range(100)]
    assert certain_writes(chain(arms, Block((assign(access_to(T)),))), T) == [False] * 100 + [True]


def test_what_a_branch_leaves_out_is_not_certain() -> None:
    arms = [Block((assign(access_to(T)),)), Block(()), Block((assign(access_to(T)),))]
    assert certain_writes(chain(arms, Block((assign(access_to(T)),))), T) == [False] * 2 + [False]
    assert certain_writes(chain(arms[:1], None), T) == [False]


def test_elements_are_the_same_only_while_their_subscripts_are() -> None:
    element = Access(Y, (access_to(J),), (), INT)
    steady = Block((assign(element),))
    moved = Block((assign(access_to(J)), assign(element)))
    assert certain_writes(chain([steady], steady), Y) == [False, True]
    assert certain_writes(chain([steady], moved), Y) == [False, False]
    assert certain_writes(chain([moved], steady), Y) == [False, False]
