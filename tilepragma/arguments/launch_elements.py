"""Elements of arrays that loops end at, read once where the launch begins: `for (k = 0; k < d[2];
k++)`, `i < g->n[0]`, `a[k * d[0] + i]`.

A kernel sees a scalar in the place of such an element: extents, lengths of rows and distributed
loops may depend on it. Where nothing says that the element does not change, or that it can be read
before the region has an iteration, it stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tilepragma.ir.accesses import uses
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
from tilepragma.ir.types import ArrayType, RecordType, ScalarType, Type


def with_elements_at_launch(kernel: Kernel) -> Kernel:
    """The kernel with such elements as scalars, which the host reads."""
    asked = dict.fromkeys(_asked(kernel))
    if not asked:
        return kernel
    written = written_objects(kernel)
    on_host = host_evaluable(written)
    addressed = {node.target.object for node in walk(kernel.body) if isinstance(node, AddressOf)}
    named = {section.path for clause in kernel.directive.data for section in clause.sections}
    steady = [
        one
        for one in asked
        if one.object.scope is Scope.EXTERNAL
        and not (one.object in addressed or one.object.host in named or one.object.volatile)
        and all(map(_is_plain, one.subscripts))
        and all(map(on_host, one.subscripts))
        and not any(_may_be(one.object, other, kernel) for other in written)
    ]
    read = _read_at_once(kernel)
    names = Names(set(names_in(kernel)))
    instead = {one: _scalar(one, names) for one in steady if one in read or _is_there(one, read)}
    if not instead:
        return kernel
    body = with_accesses(kernel.body, lambda access: instead.get(access, access))
    found = {use.object for use in uses(body, kernel.functions)}
    objects = [
        object_ for object_ in kernel.objects if object_ in found or not any(object_ == each.object for each in instead)
    ]
    return replace(kernel, body=body, objects=(*objects, *(one.object for one in instead.values())))


def _asked(kernel: Kernel) -> Iterator[Access]:
    """Elements of integers in heads of loops, conditions and subscripts."""
    for node in walk(kernel.body):
        parts: tuple[Expression, ...] = ()
        if isinstance(node, Loop):
            parts = (node.lower, node.upper, node.step)
        elif isinstance(node, If):
            parts = (node.condition,)
        elif isinstance(node, Access):
            parts = node.subscripts
        for part in parts:
            yield from (node for node in walk(part) if isinstance(node, Access) and _is_number(node))


def _is_number(access: Access) -> bool:
    object_, type_ = access.object, access.type
    whole = object_.storage in (Storage.CONTIGUOUS, Storage.ROWS) and len(access.subscripts) == object_.rank
    return whole and not access.path and not object_.table and isinstance(type_, ScalarType) and type_.is_integer


def _is_plain(subscript: Expression) -> bool:
    """Whether its text means in the user's function what it means here."""
    if isinstance(subscript, Binary):
        return subscript.operator in ("+", "-") and _is_plain(subscript.left) and _is_plain(subscript.right)
    return isinstance(subscript, IntegerLiteral) or is_scalar(subscript)


def _read_at_once(kernel: Kernel) -> frozenset[Access]:
    """What the region reads before any of its loops has an iteration: each loop that is a statement of its own tests its end once."""
    loops = [statement for statement in kernel.body.statements if isinstance(statement, Loop)]
    ends = [end for loop in loops for end in (loop.lower, loop.upper)]
    certain = {(use.object, use.subscripts) for end in ends for use in uses(end) if not use.conditional}
    nodes = (node for end in ends for node in walk(end) if isinstance(node, Access))
    return frozenset(node for node in nodes if (node.object, node.subscripts) in certain)


def _is_there(access: Access, read: Iterable[Access]) -> bool:
    """Whether it lies in its array as that is declared, or before an element that is read. That a
    pointer leads to an array is known where an element of it is read.
    """
    place = _place(access)
    if place is None:
        return False
    others = [_place(one) for one in read if one.object == access.object]
    known = access.object.is_variable or others
    if known and place < (_size(access.object.lengths) or 0):
        return True
    return any(other is not None and place <= other for other in others)


def _place(access: Access) -> int | None:
    """How many elements of its array lie before it, where that is a number."""
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


def _size(lengths: tuple[Expression | None, ...]) -> int | None:
    size = 1
    for length in lengths:
        known = None if length is None else c_value(length)
        if known is None:
            return None
        size *= known
    return size


def _may_be(array: DataObject, written: DataObject, kernel: Kernel) -> bool:
    """Whether a write of an object may be one of an element of the array (C99 6.5p7: types tell objects apart, save bytes)."""
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
    object_ = replace(
        names.scalar(base, access.type), host=text, scope=Scope.EXTERNAL, range=access.object.range, is_element=True
    )
    return access_to(object_)
