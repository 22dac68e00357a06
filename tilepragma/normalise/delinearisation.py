"""A kernel whose arrays of one dimension are seen by rows: `a[640*y + x]` and `a[w*y + x]` as
a[y][x], where w is known at launch.

Everything behind sees arrays of several dimensions then: footprints, neighbours, tiles, panels,
copies in memory of gangs. Sections and the runtime know the array as the user has it
(`DataObject.stored`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tilepragma.base.frozen_values import dataclass
from tilepragma.ir.accesses import function_uses, uses
from tilepragma.ir.expressions import Access, AddressOf, Binary, DataObject, Expression, Scope, Storage, integer
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import Block, Declaration, Declarator, Kernel, Statement
from tilepragma.ir.loop_tree_text import plain_text
from tilepragma.ir.polynomial import Polynomial, expression, is_scalar, number, polynomial
from tilepragma.ir.row_strides import LEAST_ROW, row_strides
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import named_in_clauses, walk, with_blocks
from tilepragma.ir.types import INT, ScalarType
from tilepragma.normalise.forward_substitution import named_sums, with_sums

if TYPE_CHECKING:
    from tilepragma.poly.constant_rows import Rows


@dataclass(frozen=True)
class DelinearisedKernel:
    """`kernel` is the one given where no array is seen by rows. `seen` has a clause on each array that is, `left` on each that might have been."""

    kernel: Kernel
    seen: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def with_rows(kernel: Kernel) -> DelinearisedKernel:
    """The kernel with all arrays seen by rows whose accesses are proven to keep to them."""
    objects = _candidates(kernel) if any(map(_suggests_rows, walk(kernel.body))) else frozenset()
    if not objects:
        return DelinearisedKernel(kernel)
    from tilepragma.poly.constant_rows import Leaving, Rows, constant_rows
    from tilepragma.poly.extraction import array_subscripts
    from tilepragma.poly.operation_limit import OperationLimitError

    rows: dict[DataObject, Rows] = {}
    seen, left, nodes = [], [], list(walk(kernel.body))
    try:
        written = written_objects(kernel)
        found = array_subscripts(kernel.body.statements, kernel.functions, written)
        on_host = host_evaluable(written)
        named = named_sums(uses(kernel.body, kernel.functions), kernel, on_host)
        for object_ in (object_ for object_ in kernel.objects if object_ in objects and object_ in found):
            one = constant_rows(found[object_], partial(with_sums, named=named))
            if isinstance(one, Rows) and _serves(one, object_, nodes, on_host):
                rows[object_] = one
                lengths = "".join(f"[{plain_text(expression(length))}]" for length in one.lengths)
                seen.append(f"'{object_.host}' is seen as {object_.host}[]{lengths}: no access leaves its row")
            elif isinstance(one, Leaving):
                text = plain_text(one.subscript)
                left.append(
                    f"'{object_.host}' stays one row: {object_.host}[{text}] may leave its row of {plain_text(expression(one.length))} elements"
                )
    except OperationLimitError:
        return DelinearisedKernel(kernel)
    return DelinearisedKernel(_seen_by(kernel, rows) if rows else kernel, tuple(seen), tuple(left))


def flattened(kernel: Kernel) -> Kernel:
    """The kernel with its arrays as the user has them."""
    if all(object_.rows_in is None for object_ in kernel.objects):
        return kernel

    def change(access: Access) -> Access:
        if access.object.rows_in is None:
            return access
        total = number(0)
        for subscript, stride in zip(access.subscripts, row_strides(access.object), strict=True):
            total = total + polynomial(subscript) * stride
        return replace(access, object=access.object.rows_in, subscripts=(expression(total),))

    objects = tuple(object_.stored for object_ in kernel.objects)
    return replace(kernel, body=with_accesses(kernel.body, change), objects=objects)


def _suggests_rows(node: object) -> bool:
    """Whether it is a product of scalars, or of one and a number as great as a row."""
    if not isinstance(node, Binary) or node.operator != "*":
        return False
    terms = polynomial(node).terms
    return any(len(monomial) > 1 or (monomial and abs(factor) >= LEAST_ROW) for monomial, factor in terms)


def _candidates(kernel: Kernel) -> frozenset[DataObject]:
    """Arrays of one dimension that the kernel accesses element by element, and no function or clause names."""
    found = {
        object_
        for object_ in kernel.objects
        if object_.storage is Storage.CONTIGUOUS
        and object_.scope is Scope.EXTERNAL
        and object_.rank == 1
        and not object_.volatile
        and isinstance(object_.element, ScalarType)
    }
    nodes = list(walk(kernel.body))
    found -= {use.object for use in function_uses(kernel.functions)}
    found -= {node.target.object for node in nodes if isinstance(node, AddressOf)}
    found -= {node.object for node in nodes if isinstance(node, Access) and len(node.subscripts) != 1}
    named = named_in_clauses(kernel.directive, kernel.body)
    return frozenset(one for one in found if one.host not in named)


def _serves(rows: Rows, object_: DataObject, nodes: Iterable[object], on_host: Callable[[Expression], bool]) -> bool:
    """Whether every access to the array has its parts, and the launch knows its lengths. Tables in
    rows of a known length are read by their own names.
    """
    if object_.table and all(length.constant is not None for length in rows.lengths):
        return False
    accesses = (node for node in nodes if isinstance(node, Access) and node.object == object_)
    known = all(on_host(expression(length)) for length in rows.lengths)
    return known and all(polynomial(access.subscripts[0]) in rows.parts for access in accesses)


def _seen_by(kernel: Kernel, rows: Mapping[DataObject, Rows]) -> Kernel:
    instead = {object_: _object(object_, one) for object_, one in rows.items()}

    def change(access: Access) -> Access:
        if access.object not in rows:
            return access
        parts = rows[access.object].parts[polynomial(access.subscripts[0])]
        return replace(access, object=instead[access.object], subscripts=tuple(map(int_sum, parts)))

    body = _without_unread(kernel.body, with_accesses(kernel.body, change), kernel)
    return replace(kernel, body=body, objects=tuple(instead.get(object_, object_) for object_ in kernel.objects))


def _object(object_: DataObject, rows: Rows) -> DataObject:
    length, stride = object_.lengths[0], rows.strides[0].constant
    whole = polynomial(length).constant if length is not None else None
    count = integer(whole // stride) if whole is not None and stride and whole % stride == 0 else None
    return replace(object_, lengths=(count, *map(int_sum, rows.lengths)), rows_in=object_)


def int_sum(part: Polynomial) -> Expression:
    """C for the sum, in int where it is one of two variables of that type at most: what the user computed in int is greater."""
    varying = [monomial for monomial, _ in part.terms if monomial]
    if len(varying) > 2 or not all(len(one) == 1 and is_scalar(one[0]) and one[0].type == INT for one in varying):
        return expression(part)
    return expression(part, INT)


def typed_sum(value: Polynomial, iterator: DataObject) -> Expression:
    """C for a value of an iterator, as `int_sum` where it is an int."""
    return int_sum(value) if iterator.element == INT else expression(value)


def with_names_written_out(kernel: Kernel) -> Kernel:
    """The kernel with what locals of whole numbers stand for in subscripts in their place: `int c = i * n + j; … a[c - n]`."""
    on_host = host_evaluable(written_objects(kernel))
    named = named_sums(uses(kernel.body, kernel.functions), kernel, on_host)

    def change(access: Access) -> Access:
        return replace(access, subscripts=tuple(map(written_out, access.subscripts)))

    def written_out(subscript: Expression) -> Expression:
        value = polynomial(subscript)
        plain = with_sums(value, named)
        return subscript if plain == value else expression(plain)

    if not named:
        return kernel
    return replace(kernel, body=_without_unread(kernel.body, with_accesses(kernel.body, change), kernel))


def _without_unread(before: Block, after: Block, kernel: Kernel) -> Block:
    """The body without declarations of locals that only subscripts read, which are written out now."""
    mentioned = Counter(node.object for node in walk(after) if isinstance(node, Access))
    gone = {node.object for node in walk(before) if isinstance(node, Access)} - set(mentioned)
    written = Counter(use.object for use in uses(before, kernel.functions) if use.writes)

    def is_gone(declarator: Declarator) -> bool:
        object_ = declarator.object
        return object_ in gone and object_.scope is Scope.LOCAL and written[object_] == 1

    def inside(block: Block) -> Block:
        return replace(block, statements=tuple(kept(block)))

    def kept(block: Block) -> Iterator[Statement]:
        for statement in block.statements:
            if not isinstance(statement, Declaration):
                yield with_blocks(statement, inside)
                continue
            left = tuple(each for each in statement.declarators if not is_gone(each))
            if left:
                yield statement if len(left) == len(statement.declarators) else replace(statement, declarators=left)

    if not gone:
        return after
    left = inside(after)
    # Those that only such locals were made of are not read any more either.
    return left if left == after else _without_unread(before, left, kernel)
