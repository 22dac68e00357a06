"""Delinearisation: `a[640*y + x]` becomes a[y][x]; so does `a[w*y + x]` if the launch knows w.

Later passes then see arrays of several dimensions: footprints, neighbours, array tiles, panels,
copies in shared memory. Sections and the runtime know the array as the user declares it
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
from tilepragma.ir.substitution import with_accesses, with_each
from tilepragma.ir.traversal import named_in_clauses, objects_in, walk
from tilepragma.ir.types import INT, ScalarType
from tilepragma.normalise.forward_substitution import named_sums, substituted, with_sums

if TYPE_CHECKING:
    from tilepragma.poly.delinearise import Rows


@dataclass(frozen=True)
class DelinearisedKernel:
    """The new kernel; `seen` describes each delinearised array, `left` each that is not."""

    kernel: Kernel
    seen: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def with_delinearised_arrays(kernel: Kernel) -> DelinearisedKernel:
    """The kernel with all arrays delinearised whose accesses provably stay in their rows."""
    objects = _candidates(kernel) if any(map(_suggests_rows, walk(kernel.body))) else frozenset()
    if not objects:
        return DelinearisedKernel(kernel)
    from tilepragma.poly.delinearise import Leaving, Rows, constant_rows
    from tilepragma.poly.extraction import array_subscripts
    from tilepragma.poly.operation_limit import OperationLimitError

    rows: dict[DataObject, Rows] = {}
    seen, left, nodes = [], [], list(walk(kernel.body))
    try:
        written = written_objects(kernel)
        subscripts = array_subscripts(kernel.body.statements, kernel.functions, written)
        on_host = host_evaluable(written)
        named = named_sums(uses(kernel.body, kernel.functions), kernel, on_host)
        for object_ in (object_ for object_ in kernel.objects if object_ in objects and object_ in subscripts):
            rows_or_leaving = constant_rows(subscripts[object_], partial(with_sums, named=named))
            if isinstance(rows_or_leaving, Rows) and _is_usable(rows_or_leaving, object_, nodes, on_host):
                rows[object_] = rows_or_leaving
                lengths = "".join(f"[{plain_text(expression(length))}]" for length in rows_or_leaving.lengths)
                seen.append(f"'{object_.host}' is seen as {object_.host}[]{lengths}: no access leaves its row")
            elif isinstance(rows_or_leaving, Leaving):
                text = plain_text(rows_or_leaving.subscript)
                left.append(
                    f"'{object_.host}' stays one row: {object_.host}[{text}] may leave its row of "
                    f"{plain_text(expression(rows_or_leaving.length))} elements"
                )
    except OperationLimitError:
        return DelinearisedKernel(kernel)
    return DelinearisedKernel(_with_rows(kernel, rows) if rows else kernel, tuple(seen), tuple(left))


def with_rows_of_pointers(kernel: Kernel) -> Kernel:
    """The kernel with the row that an access through a pointer reaches, where that is proven:
    m[i + 1][j] for `p[j + 30]` with `p = m[i]` and rows of 30 elements.

    { m[a] -> m[b] : a_1 s_1 + … + a_n = b_1 s_1 + … + b_n,  0 <= b_k < s_(k-1) / s_k for k > 1 }
    """
    accesses = [node for node in walk(kernel.body) if isinstance(node, Access) and node.from_pointers]
    if not accesses:
        return kernel
    from tilepragma.poly.delinearise import Parts, parts_of_rows
    from tilepragma.poly.extraction import array_subscripts
    from tilepragma.poly.operation_limit import OperationLimitError

    in_one_row = {access.object: replace(access.object, lengths=(None,)) for access in accesses}
    parts: dict[DataObject, dict[Polynomial, Parts]] = {}

    def joined(access: Access) -> Access:
        if not access.from_pointers:
            return access
        return replace(access, object=in_one_row[access.object], subscripts=(_place_in_array(access),))

    def split(access: Access) -> Access:
        rows = parts[access.object].get(polynomial(_place_in_array(access))) if access.from_pointers else None
        if rows is None:
            return access
        same = tuple(map(polynomial, access.subscripts)) == rows
        return replace(access, subscripts=access.subscripts if same else tuple(map(int_sum, rows)), from_pointers=())

    try:
        written = written_objects(kernel)
        body = with_accesses(kernel.body, joined)
        subscripts = array_subscripts(body.statements, kernel.functions, written)
        named = named_sums(uses(kernel.body, kernel.functions), kernel, host_evaluable(written))
        for object_, row in in_one_row.items():
            strides = tuple(row_strides(object_)[:-1])
            parts[object_] = parts_of_rows(subscripts.get(row, ()), strides, partial(with_sums, named=named))
    except OperationLimitError:
        return kernel
    return replace(kernel, body=with_accesses(kernel.body, split))


def _place_in_array(access: Access) -> Expression:
    """The number of the element in the whole array."""
    total = number(0)
    for subscript, stride in zip(access.subscripts, row_strides(access.object), strict=True):
        total = total + polynomial(subscript) * stride
    return expression(total)


def flattened(kernel: Kernel) -> Kernel:
    """The kernel with its arrays as the user has them."""
    if all(object_.rows_in is None for object_ in kernel.objects):
        return kernel

    def change(access: Access) -> Access:
        if access.object.rows_in is None:
            return access
        return replace(access, object=access.object.rows_in, subscripts=(_place_in_array(access),))

    objects = tuple(object_.stored for object_ in kernel.objects)
    return replace(kernel, body=with_accesses(kernel.body, change), objects=objects)


def _suggests_rows(node: object) -> bool:
    """Whether the node is a product of scalars, or of a scalar and a number like a row length."""
    if not isinstance(node, Binary) or node.operator != "*":
        return False
    terms = polynomial(node).terms
    return any(len(monomial) > 1 or (monomial and abs(factor) >= LEAST_ROW) for monomial, factor in terms)


def _candidates(kernel: Kernel) -> frozenset[DataObject]:
    """One-dimensional arrays that no function or clause names, accessed by element."""
    outside = (o for o in kernel.objects if o.storage is Storage.CONTIGUOUS and o.scope is Scope.EXTERNAL)
    rows = (array for array in outside if array.rank == 1 and not array.volatile)
    candidates = {array for array in rows if isinstance(array.element, ScalarType)}
    nodes = list(walk(kernel.body))
    candidates -= {use.object for use in function_uses(kernel.functions)}
    candidates -= {node.target.object for node in nodes if isinstance(node, AddressOf)}
    candidates -= {node.object for node in nodes if isinstance(node, Access) and len(node.subscripts) != 1}
    named = named_in_clauses(kernel.directive, kernel.body)
    return frozenset(object_ for object_ in candidates if object_.host not in named)


def _is_usable(rows: Rows, object_: DataObject, nodes: Iterable[object], on_host: Callable[[Expression], bool]) -> bool:
    """Whether each access to the array has its parts, and the launch knows the row lengths.

    Tables whose row lengths are constants keep their own names.
    """
    if object_.table and all(length.constant is not None for length in rows.lengths):
        return False
    accesses = (node for node in nodes if isinstance(node, Access) and node.object == object_)
    known = all(on_host(expression(length)) for length in rows.lengths)
    return known and all(polynomial(access.subscripts[0]) in rows.parts for access in accesses)


def _with_rows(kernel: Kernel, rows: Mapping[DataObject, Rows]) -> Kernel:
    instead = {object_: _delinearised(object_, object_rows) for object_, object_rows in rows.items()}

    def change(access: Access) -> Access:
        if access.object not in rows:
            return access
        parts = rows[access.object].parts[polynomial(access.subscripts[0])]
        return replace(access, object=instead[access.object], subscripts=tuple(map(int_sum, parts)))

    body = _without_unread(kernel.body, with_accesses(kernel.body, change), kernel)
    return replace(kernel, body=body, objects=tuple(instead.get(object_, object_) for object_ in kernel.objects))


def _delinearised(object_: DataObject, rows: Rows) -> DataObject:
    length, stride = object_.lengths[0], rows.strides[0].constant
    whole = polynomial(length).constant if length is not None else None
    count = integer(whole // stride) if whole is not None and stride and whole % stride == 0 else None
    return replace(object_, lengths=(count, *map(int_sum, rows.lengths)), rows_in=object_)


def int_sum(part: Polynomial) -> Expression:
    """C for the sum; in int if it has at most two int variables, as the user's sum has more."""
    return expression(part, INT) if is_short(part) else expression(part)


def is_short(part: Polynomial) -> bool:
    """Whether it is a sum of at most two int variables."""
    varying = [monomial for monomial, _ in part.terms if monomial]
    plain = all(len(monomial) == 1 and is_scalar(monomial[0]) and monomial[0].type == INT for monomial in varying)
    return plain and len(varying) < 3


def typed_sum(value: Polynomial, iterator: DataObject) -> Expression:
    """C for a value of an iterator, as `int_sum` where it is an int."""
    return int_sum(value) if iterator.element == INT else expression(value)


def with_substituted_locals(kernel: Kernel) -> Kernel:
    """The kernel with integer locals substituted in subscripts: `int c = i * n + j; … a[c - n]`."""
    named = named_sums(uses(kernel.body, kernel.functions), kernel, host_evaluable(written_objects(kernel)))

    def change(access: Access) -> Access:
        return replace(access, subscripts=tuple(substituted(subscript, named) for subscript in access.subscripts))

    if not named:
        return kernel
    return replace(kernel, body=_without_unread(kernel.body, with_accesses(kernel.body, change), kernel))


def _without_unread(before: Block, after: Block, kernel: Kernel) -> Block:
    """The body without locals that only the substituted subscripts read."""
    gone = set(objects_in(before)) - set(objects_in(after))
    written = Counter(use.object for use in uses(before, kernel.functions) if use.writes)

    def is_gone(declarator: Declarator) -> bool:
        object_ = declarator.object
        return object_ in gone and object_.scope is Scope.LOCAL and written[object_] == 1

    def reduced(block: Block) -> Block:
        return replace(block, statements=tuple(new for old in block.statements for new in remaining(old)))

    def remaining(statement: Statement) -> Iterator[Statement]:
        if not isinstance(statement, Declaration):
            yield statement
        elif read := tuple(declarator for declarator in statement.declarators if not is_gone(declarator)):
            yield statement if len(read) == len(statement.declarators) else replace(statement, declarators=read)

    if not gone:
        return after
    result = with_each(after, Block, reduced)
    # Locals that only the removed ones read are unread now too.
    return result if result == after else _without_unread(before, result, kernel)
