"""Forward substitution in subscripts: with `c = y * w + x`, `a[c - w]` is a[y * w + x - w]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tilepragma.ir.accesses import Use
from tilepragma.ir.c_values import holds
from tilepragma.ir.expressions import (
    Access,
    Assignment,
    Call,
    Conditional,
    DataObject,
    Expression,
    Increment,
    access_to,
    is_local_index,
)
from tilepragma.ir.loop_tree import Declarator, Kernel, Loop
from tilepragma.ir.polynomial import Polynomial, expression, polynomial
from tilepragma.ir.traversal import children, walk


def with_substituted_subscripts(
    uses: Iterable[Use], kernel: Kernel, invariant: Callable[[Expression], bool]
) -> tuple[Use, ...]:
    """The uses with locals substituted by sums of products of iterators and invariant values."""
    uses = tuple(uses)
    named = named_sums(uses, kernel, invariant)
    if not named:
        return uses
    return tuple(
        replace(use, subscripts=tuple(substituted(subscript, named) for subscript in use.subscripts)) for use in uses
    )


def named_sums(
    uses: Iterable[Use], kernel: Kernel, invariant: Callable[[Expression], bool]
) -> Mapping[DataObject, Polynomial]:
    """The sums of iterators and invariant values in locals; `uses` are those of the kernel."""
    writes = Counter(use.object for use in uses if use.writes)
    named: dict[DataObject, Polynomial] = {}
    _collect(kernel.body, frozenset(), named, writes, invariant)
    return named


def _collect(
    node: Any,
    iterators: frozenset[DataObject],
    named: dict[DataObject, Polynomial],
    writes: Mapping[DataObject, int],
    invariant: Callable[[Expression], bool],
) -> None:
    """Visit the nodes in textual order, so that a local may be made of earlier locals."""
    if isinstance(node, Loop):
        iterators |= {node.iterator}
    elif isinstance(node, Declarator):
        object_, value = node.object, node.value
        never_changes = writes[object_] == 1 and is_local_index(object_)
        if never_changes and value is not None and holds(object_.element, value):
            sum_ = with_sums(polynomial(value), named)
            if all(_follows_iterators(atom, iterators, invariant) for atom in sum_.atoms):
                named[object_] = sum_
    for child in children(node):
        _collect(child, iterators, named, writes, invariant)


def _follows_iterators(
    atom: Expression, iterators: frozenset[DataObject], invariant: Callable[[Expression], bool]
) -> bool:
    """Whether iterators and invariant values make up the atom. A choice need not be affine."""
    leaves: Iterable[Expression] = (atom,)
    if isinstance(atom, Conditional):
        leaves = (node for node in walk(atom) if isinstance(node, (Access, Call, Assignment, Increment)))
    known = {access_to(iterator) for iterator in iterators}
    return all(leaf in known or invariant(leaf) for leaf in leaves)


def with_sums(value: Polynomial, named: Mapping[DataObject, Polynomial]) -> Polynomial:
    """The value with the locals' sums substituted where it is linear in the locals."""
    for object_, sum_ in named.items():
        atom = access_to(object_)
        if atom in value.atoms and value.split(atom) is not None:
            value = value.substitute(atom, sum_)
    return value


def substituted(subscript: Expression, named: Mapping[DataObject, Polynomial]) -> Expression:
    """The subscript with the locals' sums substituted; the same object where it has none."""
    value = polynomial(subscript)
    plain = with_sums(value, named)
    return subscript if plain == value else expression(plain)
