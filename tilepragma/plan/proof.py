"""Nests that nobody vouched for: the outermost loops whose iterations are proven independent, or what forbids it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilepragma.ir.accesses import function_uses, leaves_early, uses
from tilepragma.ir.directives import KernelDirective
from tilepragma.ir.expressions import DataObject, Scope, Storage
from tilepragma.ir.looptree import Kernel, Loop
from tilepragma.ir.types import ScalarType
from tilepragma.plan.chains import chain_from

if TYPE_CHECKING:
    from tilepragma.polyhedral.dependences import Dependence


@dataclass(frozen=True)
class Proof:
    """`loops` are the leading loops of the nest's chain that carry no dependence; where there are none, `reason` is a clause
    that says why.
    """

    loops: tuple[Loop, ...]
    reason: str


def prove_independent(nest: Loop, kernel: Kernel, written: frozenset[DataObject]) -> Proof:
    """What the engine can prove of a nest. Scalars are left to the planner, which privatises, reduces or refuses them."""
    chain = _may_distribute(chain_from(nest))
    if not chain:
        return Proof((), f"the loop over '{nest.iterator.host}' runs in order ('seq', or a break in it)")
    alias = _may_alias(nest, kernel)
    if alias is not None:
        return Proof((), alias)
    from tilepragma.polyhedral.dependences import may_differ, memory_dependences
    from tilepragma.polyhedral.engine import EngineGaveUpError, operation_limit
    from tilepragma.polyhedral.extraction import extract_scop

    try:
        scop = extract_scop((nest,), kernel.functions, written)
        with operation_limit(scop.context):
            named = _named(kernel.directive)
            dependences = [one for one in memory_dependences(scop) if _matters(one.source.object, named)]
            for depth, loop in enumerate(chain):
                broken = next((one for one in dependences if depth >= len(one.loops) or may_differ(one, depth)), None)
                if broken is not None:
                    return Proof(chain[:depth], _reason(loop, broken))
    except EngineGaveUpError:
        return Proof((), f"the dependences of the loop over '{nest.iterator.host}' are too many to be proven absent")
    return Proof(chain, "")


def _may_distribute(chain: Iterable[Loop]) -> tuple[Loop, ...]:
    result = []
    for loop in chain:
        if (loop.directive is not None and loop.directive.sequential) or leaves_early(loop.body):
            break
        result.append(loop)
    return tuple(result)


def _matters(object_: DataObject, named: frozenset[str]) -> bool:
    shared = object_.storage is Storage.SCALAR and object_.scope is not Scope.LOCAL
    return not shared and object_.host not in named


def _named(directive: KernelDirective) -> frozenset[str]:
    return frozenset(name for clause in directive.privates for name in clause.names)


def _reason(loop: Loop, broken: Dependence) -> str:
    from tilepragma.polyhedral.dependences import distance_text

    source, sink = broken.source, broken.sink
    certain = "carries" if broken.exact else "may carry"
    return (
        f"the loop over '{loop.iterator.host}' {certain} {'an' if broken.kind.value[0] in 'ao' else 'a'} {broken.kind.value} "
        f"dependence of '{source.object.host}' (line {source.range.start.line}, column {source.range.start.column} to "
        f"line {sink.range.start.line}, column {sink.range.start.column}, distance {distance_text(broken.distances)})"
    )


def _may_alias(nest: Loop, kernel: Kernel) -> str | None:
    """Why rows of two objects may be the same memory, where one is written; None where they cannot.

    Whether contiguous arrays are apart is checked at launch by their addresses (`KernelPlan.apart`). Rows are too many for
    that, so `restrict`, different element types or the user's sections must tell them apart.
    """
    said = {section.path for clause in kernel.directive.data for section in clause.sections}
    touched: dict[DataObject, bool] = {}
    for use in (*uses(nest, kernel.functions), *function_uses(kernel.functions)):
        object_ = use.object
        if object_.storage is not Storage.SCALAR and object_.scope is not Scope.LOCAL:
            touched[object_] = touched.get(object_, False) or use.writes
    for one, other in itertools.permutations(touched, 2):
        rows = one.storage is Storage.ROWS and not (one.host in said and other.host in said)
        if rows and (touched[one] or touched[other]) and not _distinct(one, other):
            return (
                f"rows of '{one.host}' and of '{other.host}' may be the same memory: declare one of them restrict, or say "
                "their sections in a data clause"
            )
    return None


def _distinct(one: DataObject, other: DataObject) -> bool:
    if one.restrict or other.restrict:
        return True
    first, second = one.element, other.element
    if not isinstance(first, ScalarType) or not isinstance(second, ScalarType):
        return False
    different = (first.kind, first.bits) != (second.kind, second.bits)
    return different and min(first.bits, second.bits) > 8
