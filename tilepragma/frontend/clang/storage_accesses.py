"""Brings `a[i][j]`, `*(a + i)`, `(*p).x`, `p->x[i]` and so on to one normal form of an access."""

from __future__ import annotations

import re
from typing import Any, cast

from tilepragma.base.diagnostics import source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node, TypeKind, strip
from tilepragma.frontend.clang.implied_parameters import implied_parameter
from tilepragma.frontend.clang.lowering_context import Context, member_key
from tilepragma.frontend.clang.objects import copied_constant, external_object, pointer_test
from tilepragma.frontend.clang.type_conversion import is_address, is_array, is_pointer, target_type
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Cast,
    DataObject,
    Expression,
    Increment,
    Index,
    IntegerLiteral,
    Member,
    Unary,
    integer,
)
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG, ArrayType, PointerType, ScalarType

_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict)\b")


@dataclass(frozen=True)
class Step:
    """`.name` or `[index]`; `type` is clang's type of the member or element.

    `arrow` marks the plain dereference of `p->x` and `*p`. `is_bit_field` is for members.
    """

    step: Member | Index
    type: Any
    arrow: bool = False
    is_bit_field: bool = False


@dataclass(frozen=True)
class Place:
    """An lvalue: steps from a variable. `type` is clang's type of the lvalue."""

    root: Node
    steps: tuple[Step, ...]
    type: Any


@dataclass(frozen=True)
class Pointer:
    """An address: of `place` itself (`address`), or of an element of its array or target.

    `offset` is the element's number; None stands for 0.
    """

    place: Place
    offset: Expression | None
    address: bool = False


def access(context: Context, node: Node) -> Access:
    """The access that an lvalue denotes. Raises SourceError if it has no normal form."""
    return _resolve(context, _place(context, node), node.range)


def pointer_argument(context: Context, node: Node) -> Expression:
    """The address that a call passes on: an array, a row, or `&x[i]`."""
    inner = strip(node)
    if not is_address(inner.type) or not _same_pointee(node.type, inner.type):
        message = f"an address of type '{inner.type.spelling}' is passed as '{node.type.spelling}'"
        raise source_error(node.range, message, "pass an array of the parameter's type")
    pointer = _pointer(context, node)
    type_ = context.types.convert(node.type, node.range)
    if isinstance(type_, ArrayType):
        type_ = PointerType(type_.element, node.type.get_canonical().element_type.is_const_qualified())
    if pointer.address:
        return AddressOf(_resolve(context, pointer.place, node.range), type_, node.range)
    if pointer.offset is None:
        row = _resolve(context, pointer.place, node.range, pointee=True)
        return Access(row.object, row.subscripts, row.path, type_, node.range)
    target = _dereference(pointer, arrow=False)
    return AddressOf(_resolve(context, target, node.range, pointee=True), type_, node.range)


def null_test(context: Context, node: Node) -> Access:
    """A number that tells whether an outside pointer, perhaps to an optional array, is not NULL."""
    inner = strip(node)
    if context.is_region and inner.kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR):
        place = _place(context, inner)
        if place.root.key not in context.declared and place.root.key not in context.aliases:
            host, clang_type, steps = _invariant_path(place.root.spelling, place.root.type, place.steps)
            if not steps and is_pointer(clang_type):
                return Access(pointer_test(context, place.root, host, node.range), (), (), INT, node.range)
    message = "an address is tested here, which kernels can do for pointers that are declared before them only"
    raise source_error(node.range, message, "test it outside")


def _place(context: Context, node: Node) -> Place:
    node = strip(node)
    kind = node.kind
    if node.named is not None and node.named.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
        return Place(node.named, (), node.named.type)
    if kind == CursorKind.MEMBER_REF_EXPR and node.children:
        base = node.children[0]
        is_arrow = is_pointer(base.type)
        place = _dereference(_pointer(context, base), True) if is_arrow else _place(context, base)
        if node.spelling:
            step = Step(Member(node.spelling), node.type, is_bit_field=node.cursor.referenced.is_bitfield())
            return Place(place.root, (*place.steps, step), node.type)
    elif kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
        base, index = node.children
        if not is_address(base.type):
            base, index = index, base
        return _dereference(_advanced(_pointer(context, base), "+", context.lower(index)), arrow=False)
    elif node.is_dereference:
        return _dereference(_pointer(context, node.children[0]), arrow=True)
    message = f"{_what(node)} is used as a variable or an array here, which kernels cannot do"
    raise source_error(node.range, message, "name the array and index it")


def _what(node: Node) -> str:
    names = {
        CursorKind.CALL_EXPR: "the result of a call",
        CursorKind.CONDITIONAL_OPERATOR: "a choice between addresses",
        CursorKind.COMPOUND_LITERAL_EXPR: "a compound literal",
        CursorKind.STRING_LITERAL: "a string",
        CursorKind.CSTYLE_CAST_EXPR: "an address cast to another type",
    }
    return names.get(node.kind, "an address that is computed")


def declare_alias(context: Context, declaration: Node, initializer: Node, start: int, block_end: int) -> str | None:
    """Let a local pointer stand for what it is set to at `start`.

    Returns a reason if that may change the meaning: pointer or index may change before `block_end`.
    """
    key = declaration.key
    if context.facts.written_from(key, start + 1) or key in context.facts.address_taken:
        return "it is changed after its declaration"
    if not (is_address(strip(initializer).type) and _same_pointee(declaration.type, strip(initializer).type)):
        return "it is not set to the address of an element"
    pointer = _pointer(context, initializer)
    indices = [part.step.index for part in pointer.place.steps if isinstance(part.step, Index)]
    for index in indices if pointer.offset is None else [*indices, pointer.offset]:
        changing = _changing(context, index, start, block_end)
        if changing is not None:
            return f"its index depends on {changing}, which may change while the pointer is used"
    context.aliases[key] = pointer
    return None


def set_once(context: Context, node: Node) -> Node | None:
    """The pointer that the statement sets, if all its uses follow in the same block; else None."""
    if not context.is_region or node.kind != CursorKind.BINARY_OPERATOR or node.binary_operator != "=":
        return None
    target = strip(node.children[0])
    pointer = target.named
    if pointer is None or not is_pointer(pointer.type) or pointer.kind != CursorKind.VAR_DECL:
        return None
    if not pointer.is_local or pointer.storage == "STATIC":
        return None
    names = ((node.start, node.named) for node in context.facts.node.walk())
    uses = [start for start, named in names if named is not None and named.key == pointer.key]
    return pointer if min(uses) == target.start and max(uses) < context.block_end else None


def _changing(context: Context, index: Expression, start: int, end: int) -> str | None:
    """What may change the index between two offsets of the function, or None."""
    for node in walk(index):
        if isinstance(node, (Assignment, Increment, Call)):
            return "a call or an assignment"
        if isinstance(node, Access):
            key = context.key_of(node.object)
            member = member_key(re.split(r"\.|->", node.object.host)[-1])
            written = [k for k in (key, member) if k is not None and context.facts.written_from(k, start, end)]
            if node.subscripts or node.path or written or key is None or key in context.facts.address_taken:
                return f"'{node.object.host}'"
    return None


def _pointer(context: Context, node: Node) -> Pointer:
    node = strip(node)
    if node.named is not None:
        alias = context.aliases.get(node.named.key)
        if alias is not None:
            return cast(Pointer, alias)
    if node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator in ("+", "-"):
        base, index = node.children
        if not is_address(base.type):
            base, index = index, base
        if not is_pointer(index.type):
            return _advanced(_pointer(context, base), node.binary_operator, context.lower(index))
    if node.takes_address:
        place = _place(context, node.children[0])
        last = place.steps[-1] if place.steps else None
        if last is not None and isinstance(last.step, Index):
            outer = place.steps[-2].type if len(place.steps) > 1 else place.root.type
            return Pointer(Place(place.root, place.steps[:-1], outer), last.step.index)
        return Pointer(place, None, address=True)
    if node.kind == CursorKind.CSTYLE_CAST_EXPR:
        inner = strip(node.children[-1])
        if _same_pointee(node.type, inner.type, cast=True):
            return _pointer(context, inner)
    return Pointer(_place(context, node), None)


def _same_pointee(left: Any, right: Any, *, cast: bool = False) -> bool:
    """Whether a conversion between the types only changes qualifiers.

    VLA lengths count as equal where C demands it, which is not so in a `cast`.
    """
    inner, others = _pointee_words(left), _pointee_words(right)

    def is_open(*words: str) -> bool:
        """Whether both words are lengths, and only the run tells one of them."""
        return all(word.startswith("[") for word in words) and not all(word[1:-1].isdigit() for word in words)

    return len(inner) == len(others) and all(
        ours == theirs or (not cast and is_open(ours, theirs)) for ours, theirs in zip(inner, others, strict=True)
    )


def _pointee_words(clang_type: Any) -> list[str]:
    """The words of the pointed-to type, without qualifiers; a bracketed length is one word."""
    return re.findall(r"\[[^\]]*\]|\w+|[^\w\s]", _QUALIFIERS.sub("", target_type(clang_type).spelling))


def _advanced(pointer: Pointer, operator: str, index: Expression) -> Pointer:
    if pointer.address:
        raise source_error(index.range, "the address of a single variable is moved here", "index an array")
    if pointer.offset is not None and isinstance(index, IntegerLiteral) and index.value == 0:
        return pointer
    if pointer.offset is None and operator == "+":
        offset = index
    elif pointer.offset is None:
        type_ = INT if index.type == INT else LONG
        offset = Unary("-", index if type_ == INT else _wide(index), type_, index.range)
    else:
        offset = Binary(operator, _wide(pointer.offset), index, LONG, index.range)
    return Pointer(pointer.place, offset)


def _wide(index: Expression) -> Expression:
    """The index in 64 bits: C adds each index to an address separately, never two in 32 bits."""
    if isinstance(index.type, ScalarType) and index.type.bits >= LONG.bits:
        return index
    return Cast(LONG, index, index.range)


def _dereference(pointer: Pointer, arrow: bool) -> Place:
    place = pointer.place
    if pointer.address:
        return place
    inner = target_type(place.type)
    index = integer(0) if pointer.offset is None else pointer.offset
    step = Step(Index(index), inner, arrow=arrow and pointer.offset is None)
    return Place(place.root, (*place.steps, step), inner)


def _resolve(context: Context, place: Place, range_: SourceRange, pointee: bool = False) -> Access:
    """The access of a place; with `pointee`, a row (fewer subscripts than dimensions) will do."""
    object_, steps = _object(context, place, range_)
    subscripts: list[Expression] = []
    while len(subscripts) < object_.rank and steps and isinstance(steps[0].step, Index):
        subscripts.append(steps[0].step.index)
        steps = steps[1:]
    if len(subscripts) < object_.rank and not (pointee and not steps):
        remedy = "index its elements; a pointer to a row may only be passed to a function of this file"
        raise source_error(range_, f"'{object_.host}' is used as an address here, which kernels cannot do", remedy)
    path = tuple(part.step for part in steps)
    pairs = zip(steps, steps[1:], strict=False)
    follows = any(isinstance(after.step, Index) and not is_array(before.type) for before, after in pairs)
    arrow = any(part.arrow for part in steps) and not is_array(place.root.type) and not object_.rank
    if follows or arrow or (is_pointer(place.type) and (path or not pointee)) or (is_array(place.type) and not pointee):
        message = f"a pointer inside '{object_.host}' is followed here, and what it points to is not copied to a device"
        raise source_error(range_, message, "copy the pointer to a variable before the kernel and index that")
    return Access(object_, tuple(subscripts), path, context.convert(place.type, range_), range_)


def _object(context: Context, place: Place, range_: SourceRange) -> tuple[DataObject, tuple[Step, ...]]:
    """The data object that holds a place, and the steps inside it."""
    declared = context.declared.get(place.root.key)
    if declared is not None:
        return declared, place.steps
    if place.root.key in context.refused:
        raise context.refused[place.root.key]
    if not context.is_region:
        constant = copied_constant(context, place.root)
        if constant is not None:
            return constant, place.steps
        return implied_parameter(context, place.root, range_), place.steps
    host, clang_type, steps = place.root.spelling, place.root.type, place.steps
    if place.root.key not in context.whole:
        host, clang_type, steps = _invariant_path(host, clang_type, steps)
        last = place.steps[-len(steps) - 1] if len(steps) < len(place.steps) else None
        if last is not None and last.is_bit_field:
            # A bit-field has no address, and compilers differ in the type of its value.
            message = f"'{host}' is a bit-field, which kernels cannot use"
            raise source_error(range_, message, "copy it to a variable before the kernel")
    return external_object(context, place.root, host, clang_type, range_), steps


def _invariant_path(host: str, clang_type: Any, steps: tuple[Step, ...]) -> tuple[str, Any, tuple[Step, ...]]:
    """Follow members and plain dereferences from an outside variable, as in `grid->u`."""
    while steps:
        first, second = steps[0], steps[1] if len(steps) > 1 else None
        if isinstance(first.step, Member) and _is_struct(clang_type):
            host, clang_type, steps = f"{host}.{first.step.name}", first.type, steps[1:]
        elif (
            first.arrow
            and second is not None
            and isinstance(second.step, Member)
            and is_pointer(clang_type)
            and _is_struct(first.type)
        ):
            host, clang_type, steps = f"{host}->{second.step.name}", second.type, steps[2:]
        else:
            break
    return host, clang_type, steps


def _is_struct(clang_type: Any) -> bool:
    canonical = clang_type.get_canonical()
    return bool(canonical.kind == TypeKind.RECORD and canonical.get_declaration().kind == CursorKind.STRUCT_DECL)
