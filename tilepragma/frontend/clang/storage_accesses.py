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

    selector: Member | Index
    type: Any
    arrow: bool = False
    is_bit_field: bool = False


@dataclass(frozen=True)
class Lvalue:
    """An lvalue: steps from a variable. `type` is clang's type of the lvalue."""

    root: Node
    steps: tuple[Step, ...]
    type: Any


@dataclass(frozen=True)
class Address:
    """An address: of `lvalue` itself (`of_lvalue`), or of an element of its array or target.

    `offset` is the element's number; None stands for 0.
    """

    lvalue: Lvalue
    offset: Expression | None
    of_lvalue: bool = False


def access(context: Context, node: Node) -> Access:
    """The access that an lvalue denotes. Raises SourceError if it has no normal form."""
    return _resolve(context, _lvalue(context, node), node.range)


def pointer_argument(context: Context, node: Node) -> Expression:
    """The address that a call passes on: an array, a row, or `&x[i]`."""
    inner = strip(node)
    if not is_address(inner.type) or not _same_pointee(node.type, inner.type):
        message = f"an address of type '{inner.type.spelling}' is passed as '{node.type.spelling}'"
        raise source_error(node.range, message, "pass an array of the parameter's type")
    address = _address(context, node)
    type_ = context.types.convert(node.type, node.range)
    if isinstance(type_, ArrayType):
        type_ = PointerType(type_.element, node.type.get_canonical().element_type.is_const_qualified())
    if address.of_lvalue:
        return AddressOf(_resolve(context, address.lvalue, node.range), type_, node.range)
    if address.offset is None:
        row = _resolve(context, address.lvalue, node.range, pointee=True)
        return Access(row.object, row.subscripts, row.path, type_, node.range)
    target = _dereference(address, arrow=False)
    return AddressOf(_resolve(context, target, node.range, pointee=True), type_, node.range)


def null_test(context: Context, node: Node) -> Access:
    """A number that tells whether an outside pointer, perhaps to an optional array, is not NULL."""
    inner = strip(node)
    if context.is_region and inner.kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR):
        lvalue = _lvalue(context, inner)
        if lvalue.root.key not in context.declared and lvalue.root.key not in context.aliases:
            host, clang_type, steps = _invariant_path(lvalue.root.spelling, lvalue.root.type, lvalue.steps)
            if not steps and is_pointer(clang_type):
                return Access(pointer_test(context, lvalue.root, host, node.range), (), (), INT, node.range)
    message = "an address is tested here, which kernels can do for pointers that are declared before them only"
    raise source_error(node.range, message, "test it outside")


def _lvalue(context: Context, node: Node) -> Lvalue:
    node = strip(node)
    kind = node.kind
    if node.named is not None and node.named.kind in (CursorKind.VAR_DECL, CursorKind.PARM_DECL):
        return Lvalue(node.named, (), node.named.type)
    if kind == CursorKind.MEMBER_REF_EXPR and node.children:
        base = node.children[0]
        is_arrow = is_pointer(base.type)
        lvalue = _dereference(_address(context, base), True) if is_arrow else _lvalue(context, base)
        if node.spelling:
            step = Step(Member(node.spelling), node.type, is_bit_field=node.cursor.referenced.is_bitfield())
            return Lvalue(lvalue.root, (*lvalue.steps, step), node.type)
    elif kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
        base, index = node.children
        if not is_address(base.type):
            base, index = index, base
        return _dereference(_advanced(_address(context, base), "+", context.lower(index)), arrow=False)
    elif node.is_dereference:
        return _dereference(_address(context, node.children[0]), arrow=True)
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
    address = _address(context, initializer)
    indices = [part.selector.index for part in address.lvalue.steps if isinstance(part.selector, Index)]
    for index in indices if address.offset is None else [*indices, address.offset]:
        changing = _changing(context, index, start, block_end)
        if changing is not None:
            return f"its index depends on {changing}, which may change while the pointer is used"
    context.aliases[key] = address
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


def _address(context: Context, node: Node) -> Address:
    node = strip(node)
    if node.named is not None:
        alias = context.aliases.get(node.named.key)
        if alias is not None:
            return cast(Address, alias)
    if node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator in ("+", "-"):
        base, index = node.children
        if not is_address(base.type):
            base, index = index, base
        if not is_pointer(index.type):
            return _advanced(_address(context, base), node.binary_operator, context.lower(index))
    if node.takes_address:
        lvalue = _lvalue(context, node.children[0])
        last = lvalue.steps[-1] if lvalue.steps else None
        if last is not None and isinstance(last.selector, Index):
            outer = lvalue.steps[-2].type if len(lvalue.steps) > 1 else lvalue.root.type
            return Address(Lvalue(lvalue.root, lvalue.steps[:-1], outer), last.selector.index)
        return Address(lvalue, None, of_lvalue=True)
    if node.kind == CursorKind.CSTYLE_CAST_EXPR:
        inner = strip(node.children[-1])
        if _same_pointee(node.type, inner.type, cast=True):
            return _address(context, inner)
    return Address(_lvalue(context, node), None)


def _same_pointee(left: Any, right: Any, *, cast: bool = False) -> bool:
    """Whether a conversion between the types only changes qualifiers.

    VLA lengths count as equal where C demands it, which is not so in a `cast`.
    """
    left_words, right_words = _pointee_words(left), _pointee_words(right)

    def is_open(*words: str) -> bool:
        """Whether both words are lengths, and only the run tells one of them."""
        return all(word.startswith("[") for word in words) and not all(word[1:-1].isdigit() for word in words)

    return len(left_words) == len(right_words) and all(
        first == second or (not cast and is_open(first, second))
        for first, second in zip(left_words, right_words, strict=True)
    )


def _pointee_words(clang_type: Any) -> list[str]:
    """The words of the pointed-to type, without qualifiers; a bracketed length is one word."""
    return re.findall(r"\[[^\]]*\]|\w+|[^\w\s]", _QUALIFIERS.sub("", target_type(clang_type).spelling))


def _advanced(address: Address, operator: str, index: Expression) -> Address:
    if address.of_lvalue:
        raise source_error(index.range, "the address of a single variable is moved here", "index an array")
    if address.offset is not None and isinstance(index, IntegerLiteral) and index.value == 0:
        return address
    if address.offset is None and operator == "+":
        offset = index
    elif address.offset is None:
        type_ = INT if index.type == INT else LONG
        offset = Unary("-", index if type_ == INT else _wide(index), type_, index.range)
    else:
        offset = Binary(operator, _wide(address.offset), index, LONG, index.range)
    return Address(address.lvalue, offset)


def _wide(index: Expression) -> Expression:
    """The index in 64 bits: C adds each index to an address separately, never two in 32 bits."""
    if isinstance(index.type, ScalarType) and index.type.bits >= LONG.bits:
        return index
    return Cast(LONG, index, index.range)


def _dereference(address: Address, arrow: bool) -> Lvalue:
    lvalue = address.lvalue
    if address.of_lvalue:
        return lvalue
    inner = target_type(lvalue.type)
    index = integer(0) if address.offset is None else address.offset
    step = Step(Index(index), inner, arrow=arrow and address.offset is None)
    return Lvalue(lvalue.root, (*lvalue.steps, step), inner)


def _resolve(context: Context, lvalue: Lvalue, range_: SourceRange, pointee: bool = False) -> Access:
    """The access of an lvalue; with `pointee`, a row (fewer subscripts than dimensions) will do."""
    object_, steps = _object(context, lvalue, range_)
    subscripts: list[Expression] = []
    while len(subscripts) < object_.rank and steps and isinstance(steps[0].selector, Index):
        subscripts.append(steps[0].selector.index)
        steps = steps[1:]
    if len(subscripts) < object_.rank and not (pointee and not steps):
        remedy = "index its elements; a pointer to a row may only be passed to a function of this file"
        raise source_error(range_, f"'{object_.host}' is used as an address here, which kernels cannot do", remedy)
    path = tuple(part.selector for part in steps)
    pairs = zip(steps, steps[1:], strict=False)
    follows = any(isinstance(after.selector, Index) and not is_array(before.type) for before, after in pairs)
    arrow = any(part.arrow for part in steps) and not is_array(lvalue.root.type) and not object_.rank
    is_row = pointee and (is_array(lvalue.type) or not path)
    if follows or arrow or (is_address(lvalue.type) and not is_row):
        message = f"a pointer inside '{object_.host}' is followed here, and what it points to is not copied to a device"
        raise source_error(range_, message, "copy the pointer to a variable before the kernel and index that")
    return Access(object_, tuple(subscripts), path, context.convert(lvalue.type, range_), range_)


def _object(context: Context, lvalue: Lvalue, range_: SourceRange) -> tuple[DataObject, tuple[Step, ...]]:
    """The data object that holds an lvalue, and the steps inside it."""
    declared = context.declared.get(lvalue.root.key)
    if declared is not None:
        return declared, lvalue.steps
    if lvalue.root.key in context.refused:
        raise context.refused[lvalue.root.key]
    if not context.is_region:
        constant = copied_constant(context, lvalue.root)
        if constant is not None:
            return constant, lvalue.steps
        return implied_parameter(context, lvalue.root, range_), lvalue.steps
    host, clang_type, steps = lvalue.root.spelling, lvalue.root.type, lvalue.steps
    if lvalue.root.key not in context.whole:
        host, clang_type, steps = _invariant_path(host, clang_type, steps)
        last = lvalue.steps[-len(steps) - 1] if len(steps) < len(lvalue.steps) else None
        if last is not None and last.is_bit_field:
            # A bit-field has no address, and compilers differ in the type of its value.
            message = f"'{host}' is a bit-field, which kernels cannot use"
            raise source_error(range_, message, "copy it to a variable before the kernel")
    return external_object(context, lvalue.root, host, clang_type, range_), steps


def _invariant_path(host: str, clang_type: Any, steps: tuple[Step, ...]) -> tuple[str, Any, tuple[Step, ...]]:
    """Follow members and plain dereferences from an outside variable, as in `grid->u`."""
    while steps:
        first, second = steps[0], steps[1] if len(steps) > 1 else None
        if isinstance(first.selector, Member) and _is_struct(clang_type):
            host, clang_type, steps = f"{host}.{first.selector.name}", first.type, steps[1:]
        elif (
            first.arrow
            and second is not None
            and isinstance(second.selector, Member)
            and is_pointer(clang_type)
            and _is_struct(first.type)
        ):
            host, clang_type, steps = f"{host}->{second.selector.name}", second.type, steps[2:]
        else:
            break
    return host, clang_type, steps


def _is_struct(clang_type: Any) -> bool:
    canonical = clang_type.get_canonical()
    return bool(canonical.kind == TypeKind.RECORD and canonical.get_declaration().kind == CursorKind.STRUCT_DECL)
