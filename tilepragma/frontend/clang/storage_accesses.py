"""Brings `a[i][j]`, `*(a + i)`, `(*p).x`, `p->x[i]` and so on to one normal form of an access."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
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
    Conditional,
    DataObject,
    Expression,
    Increment,
    Index,
    IntegerLiteral,
    Member,
    Scope,
    Storage,
    Unary,
    integer,
)
from tilepragma.ir.loop_tree import Declarator
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import INT, LONG, ArrayType, PointerType, ScalarType

#: Increments as Node.unary_operator spells them: the operator, and whether it stands in front.
INCREMENTS = {"x++": ("++", False), "x--": ("--", False), "++": ("++", True), "--": ("--", True)}
_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict)\b")


@dataclass(frozen=True)
class Step:
    """`.name` or `[index]`; `type` is clang's type of the member or element.

    `arrow` marks the plain dereference of `p->x` and `*p`. `is_bit_field` is for members.
    `from_pointer`: the index counts from where a pointer points, not from an array's begin.
    """

    selector: Member | Index
    type: Any
    arrow: bool = False
    is_bit_field: bool = False
    from_pointer: bool = False


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
        address = _advanced(_address(context, base), "+", context.lower(index))
        return _dereference(address, arrow=False, from_pointer=not is_array(strip(base).type))
    elif node.is_dereference:
        base = node.children[0]
        return _dereference(_address(context, base), arrow=True, from_pointer=not is_array(strip(base).type))
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


_NO_ELEMENT = "it is not set to the address of an element"


def declare_pointer(
    context: Context, declaration: Node, value: Node | None, place: int, scope: Scope
) -> tuple[Declarator, ...] | str:
    """Let a local pointer stand for the element whose address it gets at offset `place`, or for an
    element of one array. Returns the declarations of the numbers of its row and of the element that
    this needs, or the reason why it cannot be.
    """
    rows_or_reason = "" if value is None else _declare_alias(context, declaration, value, place, scope)
    if isinstance(rows_or_reason, tuple) or rows_or_reason == _NO_ELEMENT:
        return rows_or_reason
    return _declare_moving(context, declaration, value, place, scope)


def _declare_alias(
    context: Context, declaration: Node, initializer: Node, start: int, scope: Scope
) -> tuple[Declarator, ...] | str:
    """Let a local pointer stand for what it is set to at `start`, with variables for rows.

    Returns a reason if that may change the meaning: pointer or index may change in its block.
    """
    key = declaration.key
    if context.facts.written_from(key, start + 1) or key in context.facts.address_taken:
        return "it is changed after its declaration"
    if strip(initializer).kind == CursorKind.CONDITIONAL_OPERATOR:
        return "it is set to one of two addresses"
    if not (is_address(strip(initializer).type) and _same_pointee(declaration.type, strip(initializer).type)):
        return _NO_ELEMENT
    address = _address(context, initializer)
    changing = None if address.offset is None else _changing(context, address.offset, start, context.block_end)
    if changing is not None:
        return f"its index depends on {changing}, which may change while the pointer is used"
    lvalue, rows = _with_fixed_rows(context, declaration, address.lvalue, start, scope)
    context.aliases[key] = replace(address, lvalue=lvalue)
    return rows


def _with_fixed_rows(
    context: Context, pointer: Node, lvalue: Lvalue, start: int, scope: Scope
) -> tuple[Lvalue, tuple[Declarator, ...]]:
    """The lvalue with new variables for the indices that may change in the pointer's block."""
    steps, rows = [], []
    for step in lvalue.steps:
        index = step.selector.index if isinstance(step.selector, Index) else None
        if index is not None and _changing(context, index, start, context.block_end) is not None:
            name = context.names.unique(f"{pointer.spelling}_row")
            row = DataObject(name, name, LONG, Storage.SCALAR, scope, range=pointer.range)
            rows.append(Declarator(row, _wide(index)))
            step = replace(step, selector=Index(Access(row, (), (), LONG, pointer.range)))
        steps.append(step)
    return replace(lvalue, steps=tuple(steps)), tuple(rows)


def _declare_moving(
    context: Context, declaration: Node, start: Node | None, place: int, scope: Scope
) -> tuple[Declarator, ...] | str:
    """Let a local pointer that changes stand for an element of one array, with the element's number
    in a variable: the variable's declaration. `start`: what it is set to there, at offset `place`.

    Returns a reason if its assignments name several arrays.
    """
    key = declaration.key
    if key in context.facts.address_taken:
        return "its address is taken"
    values = [value for value in _set_to(context.facts.node, key) if value is not start]
    if start is None and not values:
        return "it has no value"
    if start is not None and not values and strip(start).kind != CursorKind.CONDITIONAL_OPERATOR:
        lvalue_or_reason: Lvalue | str = _address(context, start).lvalue
    else:
        lvalue_or_reason = _common_array(context, key, start, values)
    if isinstance(lvalue_or_reason, str):
        return lvalue_or_reason
    if not _same_pointee(declaration.type, lvalue_or_reason.type):
        return _NO_ELEMENT
    offset = None if start is None else element_number(context, start, lvalue_or_reason)
    lvalue, rows = _with_fixed_rows(context, declaration, lvalue_or_reason, place, scope)
    name = context.names.unique(declaration.spelling)
    number = DataObject(name, declaration.spelling, LONG, Storage.SCALAR, scope, range=declaration.range)
    context.moving[key] = number
    context.aliases[key] = Address(lvalue, Access(number, (), (), LONG, declaration.range))
    return (*rows, Declarator(number, offset))


def _common_array(context: Context, key: Any, start: Node | None, values: list[Node]) -> Lvalue | str:
    """The array of which a pointer gets elements; or the reason why there is none."""
    bases = [_base(context, value, key) for value in (*values, *(() if start is None else (start,)))]
    known = [base for base in bases if base is not None]
    if not known or any(base is not _ITSELF and not _is_same(base, _first(known)) for base in known):
        return "it is set to elements of several arrays"
    if len(known) < len(bases) or _first(known) is _ITSELF:
        return "it is set to an address that is no element of a named array"
    return cast(Lvalue, _first(known))


def element_number(context: Context, node: Node, lvalue: Lvalue) -> Expression:
    """The number of the element of `lvalue` that an address is that of, in 64 bits. Raises
    SourceError for elements of another array.
    """
    inner = strip(node)
    if inner.kind == CursorKind.CONDITIONAL_OPERATOR:
        condition, *sides = inner.children
        then, otherwise = (element_number(context, side, lvalue) for side in sides)
        test = null_test(context, condition) if is_pointer(condition.type) else context.lower(condition)
        return Conditional(test, then, otherwise, LONG, node.range)
    address = _address(context, node)
    if address.of_lvalue or not _is_same(address.lvalue, lvalue):
        raise source_error(node.range, "the pointer is set to an element of another array", "index the arrays")
    return integer(0, LONG) if address.offset is None else _wide(address.offset)


def moved(context: Context, node: Node) -> tuple[DataObject, Lvalue] | None:
    """The element number of the moving pointer that an expression names, and its array."""
    named = strip(node).named
    number = None if named is None else context.moving.get(named.key)
    return None if named is None or number is None else (number, context.aliases[named.key].lvalue)


def _set_to(function: Node, key: Any) -> Iterator[Node]:
    """What the pointer is set to in the function, other than by adding to it."""
    for node in function.walk():
        if node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator == "=":
            target = strip(node.children[0]).named
            if target is not None and target.key == key:
                yield node.children[1]


#: Where a pointer is set to what it points to, or an element beside.
_ITSELF: Any = object()


def _base(context: Context, node: Node, key: Any) -> Any:
    """The array of which an address is an element, found without lowering its index."""
    node = strip(node)
    if node.named is not None and node.named.key == key:
        return _ITSELF
    if node.named is not None and is_address(node.type):
        alias = context.aliases.get(node.named.key)
        return alias.lvalue if alias is not None and not alias.of_lvalue else _lvalue(context, node)
    if node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator in ("+", "-"):
        sides = [child for child in node.children if is_address(strip(child).type)]
        return _base(context, sides[0], key) if len(sides) == 1 else None
    if node.kind == CursorKind.CONDITIONAL_OPERATOR:
        bases = [_base(context, child, key) for child in node.children[1:]]
        if None in bases or any(base is not _ITSELF and not _is_same(base, _first(bases)) for base in bases):
            return None
        return _first(bases)
    if node.takes_address and strip(node.children[0]).kind == CursorKind.ARRAY_SUBSCRIPT_EXPR:
        return _base(context, strip(node.children[0]).children[0], key)
    if node.kind == CursorKind.MEMBER_REF_EXPR and all(
        child.kind != CursorKind.ARRAY_SUBSCRIPT_EXPR for child in node.walk()
    ):
        return _lvalue(context, node)
    return None


def _first(bases: list[Any]) -> Any:
    return next((base for base in bases if base is not _ITSELF), _ITSELF)


def _is_same(left: Any, right: Any) -> bool:
    """Whether two arrays are one: the same steps from the same variable."""
    if _ITSELF in (left, right):
        return left is right
    selectors = [[part.selector for part in each.steps] for each in (left, right)]
    return bool(left.root.key == right.root.key and selectors[0] == selectors[1])


def set_once(context: Context, node: Node) -> Node | None:
    """The pointer that the statement sets, if all its uses follow in the same block; else None."""
    if not context.is_region or node.kind != CursorKind.BINARY_OPERATOR or node.binary_operator != "=":
        return None
    target = strip(node.children[0])
    pointer = target.named
    if pointer is None or not is_pointer(pointer.type) or pointer.kind != CursorKind.VAR_DECL:
        return None
    if pointer.key in context.moving:
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
    if node.kind == CursorKind.UNARY_OPERATOR and node.unary_operator in INCREMENTS:
        pointer = moved(context, node.children[0])
        if pointer is not None:
            sign, prefix = INCREMENTS[node.unary_operator]
            target = Access(pointer[0], (), (), LONG, node.range)
            return Address(pointer[1], Increment(sign, prefix, target, LONG, node.range))
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


def _dereference(address: Address, arrow: bool, from_pointer: bool = False) -> Lvalue:
    lvalue = address.lvalue
    if address.of_lvalue:
        return lvalue
    inner = target_type(lvalue.type)
    index = integer(0) if address.offset is None else address.offset
    step = Step(Index(index), inner, arrow=arrow and address.offset is None, from_pointer=from_pointer)
    return Lvalue(lvalue.root, (*lvalue.steps, step), inner)


def _resolve(context: Context, lvalue: Lvalue, range_: SourceRange, pointee: bool = False) -> Access:
    """The access of an lvalue; with `pointee`, a row (fewer subscripts than dimensions) will do."""
    object_, steps = _object(context, lvalue, range_)
    subscripts: list[Expression] = []
    from_pointers: list[int] = []
    while len(subscripts) < object_.rank and steps and isinstance(steps[0].selector, Index):
        if steps[0].from_pointer and object_.storage is Storage.CONTIGUOUS and subscripts:
            from_pointers.append(len(subscripts) - object_.rank)
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
    type_ = context.convert(lvalue.type, range_)
    return Access(object_, tuple(subscripts), path, type_, range_, tuple(from_pointers))


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
