"""Dependences of statements whose arrays lie elsewhere: those of the user's arrays, with the new ones' accesses."""

from __future__ import annotations

import islpy as isl

from tests.support.scops import kernel_of
from tilepragma.ir.expressions import DataObject
from tilepragma.ir.invariance import written_objects
from tilepragma.poly.dependences import memory_dependences, union_of
from tilepragma.poly.extraction import extract_scop
from tilepragma.poly.scop import Scop
from tilepragma.verify.storage import moved_dependences

CONTEXT = isl.Context()


def scop(array: str, body: str) -> Scop:
    """In one context, so that relations can be compared."""
    kernel = kernel_of(f"int n, double *{array}", body)
    return extract_scop(kernel.body.statements, (), written_objects(kernel), context=CONTEXT)


USERS = scop("a", "for (int i = 1; i < n; i++) a[i] = a[i - 1] + a[i + 1];")
MOVED = scop("b", "for (int i = 1; i < n; i++) b[i + 3] = b[i + 2] + b[i + 4];")


def named(of: Scop, name: str) -> DataObject:
    return next(
        reference.object for each in of.statements for reference in each.references if reference.object.name == name
    )


INSTEAD = {named(MOVED, "b"): named(USERS, "a")}


def test_they_are_those_that_the_new_accesses_have() -> None:
    result = moved_dependences(USERS, memory_dependences(USERS), MOVED, INSTEAD)
    assert result is not None
    assert {each.source.object.name for each in result} == {"b"}
    expected = memory_dependences(MOVED)
    assert [(each.kind, each.source, each.sink) for each in result] == [
        (each.kind, each.source, each.sink) for each in expected
    ]
    for mine, computed in zip(result, expected, strict=True):
        assert mine.relation.is_equal(computed.relation)


def test_other_statements_have_others() -> None:
    dependences = memory_dependences(USERS)
    later = scop("b", "for (int i = 2; i < n; i++) b[i + 3] = b[i + 2] + b[i + 4];")
    fewer = scop("b", "for (int i = 1; i < n; i++) b[i + 3] = b[i + 2];")
    for other in (later, fewer):
        assert moved_dependences(USERS, dependences, other, {named(other, "b"): named(USERS, "a")}) is None
    assert moved_dependences(USERS, dependences, MOVED, {}) is None


def test_those_between_the_same_statements_are_one_relation() -> None:
    relations = [each.relation for each in memory_dependences(USERS)]
    every = union_of(memory_dependences(USERS))
    assert all(relation.is_subset(every) for relation in relations)
    assert every.is_equal(relations[0].union(relations[1]))
