"""Constant memory: small constant arrays of which all workers of a gang read the same element.

Constant memory broadcasts one element at a time to all workers that ask for it, and needs no
upload. Workers that ask for different elements wait for each other, so other tables stay arrays
(ICS'08 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from tilepragma.ir.accesses import function_uses, written_in
from tilepragma.ir.directives import TileKind
from tilepragma.ir.expressions import TABLE_BYTES, Access, DataObject, Expression, IntegerLiteral, Scope, Storage
from tilepragma.ir.loop_tree import TileNest
from tilepragma.ir.polynomial import polynomial
from tilepragma.ir.traversal import loops_and_tiled, walk
from tilepragma.plan.array_bytes import element_bytes
from tilepragma.plan.kernel_plan import KernelPlan, Launch
from tilepragma.poly.reference_spans import Values, only_read, settled_values, written_out


def with_constants(plan: KernelPlan) -> KernelPlan:
    """The plan with such arrays as `constants` instead of arguments, in order, while they fit."""
    in_clauses = {"".join(section.path.split()) for clause in plan.kernel.directive.data for section in clause.sections}
    taken: list[DataObject] = []
    left = TABLE_BYTES
    for argument in plan.arrays:
        table = argument.object
        if argument.present or table.host in in_clauses or not is_constant(table):
            continue
        if table_bytes(table) <= left and not any(wrong_constant_uses(plan, table)):
            taken.append(table)
            left -= table_bytes(table)
    if not taken:
        return plan
    arrays = tuple(argument for argument in plan.arrays if argument.object not in taken)
    return replace(plan, arrays=arrays, constants=tuple(taken))


def is_constant(table: DataObject) -> bool:
    """Whether the translation knows all elements, and each target can use the array's own name."""
    lengths = [length.value for length in table.lengths if isinstance(length, IntegerLiteral)]
    known = len(lengths) == table.rank > 0 and prod(lengths) == len(table.values)
    return known and table.table and table.const and table.name == table.host and table.rows_in is None


def table_bytes(table: DataObject) -> int:
    """The bytes that a table takes in constant memory."""
    return len(table.values) * element_bytes(table)


def wrong_constant_uses(plan: KernelPlan, table: DataObject) -> Iterator[str]:
    """Why the table cannot be a constant: a launch writes it, passes it on whole, or has workers
    that read different elements at the same time.
    """
    functions = plan.kernel.functions
    if any(use.object == table for use in function_uses(functions)):
        yield f"'{table.host}' is read by a function"
    for launch in dict.fromkeys((*plan.host, *plan.device)):
        accesses = [node for node in walk(launch.body) if isinstance(node, Access) and node.object == table]
        if accesses and table not in only_read(launch.body, functions):
            yield f"launch {launch.name} does more with '{table.host}' than to read its elements"
    for launch in plan.device:
        if not _is_read_alike(plan, launch, table):
            yield f"workers of launch {launch.name} read different elements of '{table.host}' at a time"


def _is_read_alike(plan: KernelPlan, launch: Launch, table: DataObject) -> bool:
    """Whether all workers that read the table at the same time read the same element."""
    nests = [node for node in walk(launch.body) if isinstance(node, TileNest)]
    if not any(tile.kind is TileKind.WORKER for nest in nests for tile in nest.order):
        return True
    settled = settled_values(launch.body)
    alike = _alike(plan, launch, settled)

    def is_alike(subscript: Expression) -> bool:
        value = written_out(polynomial(subscript), settled)
        return value is not None and all(_reads_only(atom, alike) for atom in value.atoms)

    accesses = (node for node in walk(launch.body) if isinstance(node, Access) and node.object == table)
    return all(is_alike(subscript) for access in accesses for subscript in access.subscripts)


def _alike(plan: KernelPlan, launch: Launch, settled: Values) -> set[DataObject]:
    """Scalars that are equal in all workers at any time: those that the launch does not write, and
    iterators of loops that all workers run in step, from the outermost on.
    """
    written = written_in(launch.body, plan.kernel.functions) | set(launch.privates)
    objects = {*plan.kernel.objects, *launch.values, *(size.object for size in plan.sizes)}
    alike = {object_ for object_ in objects - written if object_.storage is Storage.SCALAR}
    nests = [node for node in walk(launch.body) if isinstance(node, TileNest)]
    distributed = {tile.loop for nest in nests for tile in nest.order if tile.kind is TileKind.WORKER}
    for loop in loops_and_tiled(launch.body):
        start = None if loop.index in distributed else written_out(polynomial(loop.lower), settled)
        if start is not None and all(_reads_only(part, alike) for part in (*start.atoms, loop.step)):
            alike.add(loop.iterator)
    return alike


def _reads_only(node: Expression, objects: set[DataObject]) -> bool:
    accesses = (part for part in walk(node) if isinstance(part, Access))
    return all(access.object in objects and access.object.scope is not Scope.GANG for access in accesses)
