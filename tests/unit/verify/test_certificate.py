"""Proofs are sealed: who makes them, and for which changed plans they still count."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from tests.support.source_plans import plan
from tests.unit.test_layers import PACKAGE, files
from tilepragma.ir.expressions import integer, local_scalar
from tilepragma.ir.types import INT
from tilepragma.plan.kernel_plan import KernelPlan, TileSize
from tilepragma.verify.certificate import Proof
from tilepragma.verify.proofs import proof_of

#: Modules that prove, and the certificate itself.
MAKERS = {"verify/certificate.py", "verify/proofs.py", "schedule/in_order.py"}

SCALED = """
void f(int n, double a[n]) {
#pragma tilek kernel
    for (int i = 0; i < n; i++) a[i] *= 2;
}
"""


def makes_proofs(source: str) -> bool:
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return any(isinstance(function, ast.Name) and function.id == Proof.__name__ for function in calls)


def test_only_those_who_prove_make_a_proof() -> None:
    assert {str(path.relative_to(PACKAGE)) for path in files() if makes_proofs(path.read_text())} == MAKERS


@pytest.fixture(scope="module")
def proof() -> Proof:
    return proof_of(plan(SCALED))


def test_a_proof_counts_for_a_plan_with_other_notes(proof: Proof) -> None:
    noted = replace(proof.plan, rejected=("slower",), undivided="one device", resident=frozenset({"a"}))
    inherited = proof.for_plan(noted)
    assert inherited is not None and inherited.plan is noted and inherited.faults == proof.faults == ()


def changed_plans(made: KernelPlan) -> dict[str, KernelPlan]:
    return {
        "host_steps": replace(made, host_steps=()),
        "device_steps": replace(made, device_steps=()),
        "arrays": replace(made, arrays=()),
        "assumes_disjoint": replace(made, assumes_disjoint=not made.assumes_disjoint),
        "conditions": replace(made, conditions=(integer(1),)),
        "sizes": replace(made, sizes=(TileSize(local_scalar("t_size", INT).object, 1, 1),)),
    }


def test_a_proof_does_not_count_for_a_plan_with_anything_else_changed(proof: Proof) -> None:
    for name, changed in changed_plans(proof.plan).items():
        assert proof.for_plan(changed) is None, name
        assert not proof.is_of(changed)
        inherited = proof.for_plan(changed, name)
        assert inherited is not None and inherited.plan is changed
