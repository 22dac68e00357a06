"""Leaves that can be moved: what stays together, with which accesses, and what is private to an instance."""

from __future__ import annotations

import islpy as isl

from tests.support.scops import in_parts, scop
from tilepragma.ir.loop_tree import Block, ForLoop, If, Loop, Statement
from tilepragma.ir.loop_tree_text import expression_text, statement_text
from tilepragma.poly.scop import AccessKind, Scop, ScopStatement

ANY = "int n, double A[n][n], double b[n], int key[n]"


def movable(body: str, parameters: str = ANY) -> Scop:
    return scop(parameters, body, movable=in_parts)


def texts(extracted: Scop) -> list[str]:
    return [" ".join(statement_text(statement.node).split()) for statement in extracted.statements]


def accesses(statement: ScopStatement, name: str) -> list[tuple[AccessKind, isl.Map]]:
    return [(reference.kind, reference.relation) for reference in statement.references if reference.object.name == name]


def same(found: isl.Map, text: str) -> bool:
    return bool(found.is_equal(isl.Map(text, context=found.get_ctx())))


def test_affine_control_is_taken_apart() -> None:
    extracted = movable("for (int i = 0; i < n; i++) { b[i] = 0; if (i > 2) b[i] = 1; else { b[i] = 2; } }")
    assert texts(extracted) == ["b[i] = 0;", "b[i] = 1;", "b[i] = 2;"]
    assert [len(statement.loops) for statement in extracted.statements] == [1, 1, 1]


def test_a_condition_on_data_is_one_leaf_with_its_body() -> None:
    (only,) = movable("for (int i = 0; i < n; i++) if (key[i]) { b[i] = 0; b[i] += 1; }").statements
    assert isinstance(only.node, If)
    kinds = {kind for kind, _ in accesses(only, "b")}
    assert kinds == {AccessKind.MAY_WRITE, AccessKind.READ}
    ((kind, relation),) = accesses(only, "key")
    assert kind is AccessKind.READ and same(relation, "[n] -> { S0[i] -> key[i] : 0 <= i < n }")


def test_a_loop_that_ends_early_or_on_data_is_one_leaf() -> None:
    early = movable("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { if (key[j]) break; A[i][j] = 0; }")
    on_data = movable("for (int i = 0; i < n; i++) for (int j = 0; j < key[i]; j++) A[i][j] = 0;")
    for each in (early, on_data):
        (only,) = each.statements
        assert isinstance(only.node, (Loop, ForLoop)) and len(only.loops) == 1
        assert {kind for kind, _ in accesses(only, "A")} == {AccessKind.MAY_WRITE}


def test_a_while_loop_is_one_leaf() -> None:
    (only,) = movable("for (int i = 0; i < n; i++) { while (key[i] > 0) key[i] -= 2; }").statements
    assert len(only.loops) == 1 and {kind for kind, _ in accesses(only, "key")} >= {AccessKind.MAY_WRITE}


def test_a_loop_whose_iterator_is_used_after_it_is_one_leaf() -> None:
    body = "for (int i = 0; i < n; i++) { for (j = 0; j < n; j++) A[i][j] = 0; key[i] = j; }"
    extracted = movable(body, f"{ANY}, int j")
    loop, use = extracted.statements
    assert isinstance(loop.node, Loop) and [
        reference.writes for reference in loop.references if reference.object.name == "j"
    ]
    assert [kind for kind, _ in accesses(use, "j")] == [AccessKind.READ]


def test_a_declaration_stays_with_its_uses_and_with_no_more() -> None:
    extracted = movable(
        """
        for (int i = 0; i < n; i++) {
            b[i] = 1;
            double t = b[i];
            A[i][0] = 3;
            A[i][1] = t;
            key[i] = 0;
        }"""
    )
    assert texts(extracted) == ["b[i] = 1;", "double t = b[i]; A[i][0] = 3; A[i][1] = t;", "key[i] = 0;"]
    middle = extracted.statements[1]
    assert isinstance(middle.node, Block)
    assert {reference.object.name for reference in middle.references} == {"b", "A"}


def test_overlapping_declarations_are_one_leaf() -> None:
    extracted = movable(
        """
        for (int i = 0; i < n; i++) {
            double t = b[i];
            double u = t * 2;
            A[i][0] = t;
            A[i][1] = u;
            key[i] = 0;
        }"""
    )
    assert len(extracted.statements) == 2 and texts(extracted)[1] == "key[i] = 0;"


def test_inner_loops_of_a_leaf_are_projected_out() -> None:
    (only,) = movable(
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < i; j++) { s += A[i][j]; A[j][i] = s; } b[i] = s; }"
    ).statements
    read, write = accesses(only, "A")
    assert read[0] is AccessKind.READ and same(read[1], "[n] -> { S0[i] -> A[i, k] : 0 <= k < i < n }")
    assert write[0] is AccessKind.MUST_WRITE and same(write[1], "[n] -> { S0[i] -> A[k, i] : 0 <= k < i < n }")
    assert accesses(only, "s") == []


def test_what_the_caller_names_is_one_leaf() -> None:
    def inner(statement: Statement) -> bool:
        return isinstance(statement, Loop) and statement.iterator.name == "j"

    body = "for (int i = 0; i < n; i++) { b[i] = 0; for (int j = 0; j < n; j++) b[i] += A[i][j]; }"
    extracted = scop(ANY, body, movable=inner)
    assert [len(statement.loops) for statement in extracted.statements] == [1, 1]
    assert isinstance(extracted.statements[1].node, Loop)


def test_parameters_are_known_by_their_expressions() -> None:
    extracted = movable("for (int i = 0; i < n * m; i++) b[i + m / 2] = 0;", "int n, int m, double *b")
    domain = extracted.statements[0].domain
    names = [domain.get_dim_name(isl.dim_type.param, place) for place in range(domain.dim(isl.dim_type.param))]
    assert names and all(name in extracted.parameters for name in names)
    assert {expression_text(extracted.parameters[name]) for name in names} == {"(long)m * (long)n"}


def test_what_a_leaf_declares_is_seen_through_in_its_subscripts() -> None:
    (only,) = movable("for (int i = 0; i < n - 1; i++) { int k = i + 1; b[k] = 0; }").statements
    ((kind, relation),) = accesses(only, "b")
    assert kind is AccessKind.MUST_WRITE and same(relation, "[n] -> { S0[i] -> b[i + 1] : 0 <= i < n - 1 }")
