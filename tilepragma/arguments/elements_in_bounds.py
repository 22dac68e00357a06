"""Array elements in loop bounds, read once when the launch begins: `for (k = 0; k < d[2]; k++)`,
`i < g->n[0]`, `a[k * d[0] + i]`.

The kernel gets a scalar for such an element, so that extents, row lengths and distributed loops may
depend on it. An element stays where it may change, or may not be readable before the first
iteration.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from tilepragma.ir.accesses import used_in, uses
from tilepragma.ir.c_values import c_value
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Binary,
    DataObject,
    Expression,
    IntegerLiteral,
    Scope,
    Storage,
    access_to,
)
from tilepragma.ir.fresh_names import Names, names_in
from tilepragma.ir.invariance import host_evaluable, written_objects
from tilepragma.ir.loop_tree import If, Kernel, Loop
from tilepragma.ir.loop_tree_text import expression_text
from tilepragma.ir.polynomial import is_scalar
from tilepragma.ir.substitution import with_accesses
from tilepragma.ir.traversal import loops_in, walk
from tilepragma.ir.types import ArrayType, RecordType, ScalarType, Type, is_integer


def with_elements_at_launch(kernel: Kernel) -> Kernel:
    """The kernel with such elements as scalars, which the host reads."""
    wanted = dict.fromkeys(_wanted(kernel))
    if not wanted:
        return kernel
    written = written_objects(kernel)
    on_host = host_evaluable(written)
    addressed = {node.target.object for node in walk(kernel.body) if isinstance(node, AddressOf)}
    named = {section.path for clause in kernel.directive.data for section in clause.sections}
    steady = [
        element
        for element in wanted
        if element.object.scope is Scope.EXTERNAL
        and not (element.object in addressed or element.object.host in named or element.object.volatile)
        and all(map(_is_plain, element.subscripts))
        and all(map(on_host, element.subscripts))
        and not any(_may_alias(element.object, object_, kernel) for object_ in written)
    ]
    read = _read_first(kernel)
    names = Names(set(names_in(kernel)))
    instead = {element: _scalar(element, names) for element in steady if element in read or _exists(element, read)}
    if not instead:
        return kernel
    body = with_accesses(kernel.body, lambda access: instead.get(access, access))
    used = used_in(body, kernel.functions)
    replaced = {element.object for element in instead}
    objects = [object_ for object_ in kernel.objects if object_ in used or object_ not in replaced]
    return replace(kernel, body=body, objects=(*objects, *(element.object for element in instead.values())))


def _wanted(kernel: Kernel) -> Iterator[Access]:
    """Integer elements in loop headers, conditions and subscripts."""
    for node in walk(kernel.body):
        parts: tuple[Expression, ...] = ()
        if isinstance(node, Loop):
            parts = node.bounds
        elif isinstance(node, If):
            parts = (node.condition,)
        elif isinstance(node, Access):
            parts = node.subscripts
        for part in parts:
            yield from (node for node in walk(part) if isinstance(node, Access) and _is_number(node))


def _is_number(access: Access) -> bool:
    object_, type_ = access.object, access.type
    whole = object_.storage in (Storage.CONTIGUOUS, Storage.ROWS) and len(access.subscripts) == object_.rank
    return whole and not access.path and not object_.table and is_integer(type_)


def _is_plain(subscript: Expression) -> bool:
    """Whether the text of the subscript means the same in the user's function."""
    if isinstance(subscript, Binary):
        return subscript.operator in ("+", "-") and _is_plain(subscript.left) and _is_plain(subscript.right)
    return isinstance(subscript, IntegerLiteral) or is_scalar(subscript)


def _read_first(kernel: Kernel) -> frozenset[Access]:
    """The elements that the region reads before any iteration: loops test their ends first."""
    loops = [statement for statement in kernel.body.statements if isinstance(statement, Loop)]
    ends = [end for loop in loops for end in (loop.lower, loop.upper)]
    certain = {(use.object, use.subscripts) for end in ends for use in uses(end) if not use.conditional}
    nodes = (node for end in ends for node in walk(end) if isinstance(node, Access))
    return frozenset(node for node in nodes if (node.object, node.subscripts) in certain)


def _exists(access: Access, read: Iterable[Access]) -> bool:
    """Whether the element exists: it lies in its array as declared, or before an element that is
    read. A pointer leads to an array where the region reads an element of it.
    """
    place = _place(access)
    if place is None:
        return False
    others = [_place(element) for element in read if element.object == access.object]
    if access.object.is_variable or others:
        lengths = [None if length is None else c_value(length) for length in access.object.lengths]
        if place < prod(length or 0 for length in lengths):
            return True
    return any(place_ is not None and place <= place_ for place_ in others)


def _place(access: Access) -> int | None:
    """The number of elements before it in its array; None where that is no constant."""
    if access.object.storage is not Storage.CONTIGUOUS:
        return None
    place = 0
    lengths = (None, *access.object.lengths[1:])
    for subscript, length in zip(access.subscripts, lengths, strict=True):
        index, size = c_value(subscript), None if length is None else c_value(length)
        if index is None or index < 0 or (place and size is None) or (size is not None and index >= size):
            return None
        if length is not None and size is None:
            return None
        place = place * (size or 1) + index
    return place


def _may_alias(array: DataObject, written: DataObject, kernel: Kernel) -> bool:
    """Whether a write of the object may change an element of the array (C99 6.5p7)."""
    if array.stored == written.stored:
        return True
    if written.scope is not Scope.EXTERNAL or written in {loop.iterator for loop in loops_in(kernel.body)}:
        return False
    if (array.is_variable and written.is_variable) or array.restrict or written.restrict:
        return False
    return any(_alike(array.element, number) for number in _numbers(written.element))


def _numbers(type_: Type) -> Iterator[Type]:
    if isinstance(type_, RecordType):
        for field in type_.fields:
            yield from _numbers(field.type)
    elif isinstance(type_, ArrayType):
        yield from _numbers(type_.element)
    else:
        yield type_


def _alike(number: Type, written: Type) -> bool:
    if not (isinstance(number, ScalarType) and isinstance(written, ScalarType)):
        return True
    return written.bits <= 8 or (written.is_integer and written.bits == number.bits)


def _scalar(access: Access, names: Names) -> Access:
    text = expression_text(access)
    assert isinstance(access.type, ScalarType)
    base = "_".join(re.findall(r"\w+", text))
    scalar = names.scalar(base, access.type)
    return access_to(replace(scalar, host=text, scope=Scope.EXTERNAL, range=access.object.range, is_element=True))
