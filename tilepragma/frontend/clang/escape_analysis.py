"""Escape analysis: local pointers to allocations that no other pointer leads to.

Such a pointer only gets what `malloc` and the like return, and its value escapes to no other
variable, structure or function. Its memory overlaps no other, as if it were `restrict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilepragma.base.memoization import once
from tilepragma.frontend.clang.cursor_tree import CursorKind, Key, Node, is_null, strip, without_casts
from tilepragma.frontend.clang.lowering_context import function_facts
from tilepragma.frontend.clang.type_conversion import is_pointer

_ALLOCATING = frozenset(("malloc", "calloc", "aligned_alloc", "memalign", "valloc"))
#: Library functions that keep no pointer that they get.
_NOT_CAPTURING = frozenset(
    (
        *("free", "memset", "memcpy", "memmove", "memcmp", "strlen", "strcmp", "strncmp", "strcpy", "strncpy"),
        *("strcat", "strncat", "printf", "fprintf", "sprintf", "snprintf", "puts", "fputs", "fread", "fwrite"),
        *("fgets", "scanf", "fscanf", "sscanf", "qsort", "bsearch"),
    )
)
_DEEPEST_CALL = 4
"""Calls inside of each other that are looked into."""


@once
def unescaped_allocations(function: Node) -> frozenset[Key]:
    """The local pointers of a function to allocations that nothing else points to."""
    values: dict[Key, list[Node]] = {}
    for node in function.walk():
        if node.kind == CursorKind.VAR_DECL and is_pointer(node.type) and node.is_local and node.storage != "STATIC":
            initializer = node.unit.initializer(node)
            values.setdefault(node.key, []).extend(() if initializer is None else (initializer,))
    for node in function.walk():
        target = _assigned(node)
        if target is not None and target.key in values:
            values[target.key].append(node.children[1])
    allocated = {
        key
        for key, given in values.items()
        if any(map(_is_allocation, given)) and all(_is_allocation(value) or is_null(value) for value in given)
    }
    return frozenset(allocated - _escaping(function, allocated, 0) - function_facts(function).address_taken)


def _assigned(node: Node) -> Node | None:
    """The variable that an assignment sets."""
    is_assignment = node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator == "="
    return strip(node.children[0]).named if is_assignment else None


def _is_allocation(value: Node) -> bool:
    call = without_casts(value)
    called = call.called if call.kind == CursorKind.CALL_EXPR else None
    return called is not None and called.spelling in _ALLOCATING and _is_library(called)


def _is_library(function: Node) -> bool:
    return bool(function.file) and function.unit.is_system(function.file)


def _escaping(function: Node, pointers: set[Key], depth: int) -> set[Key]:
    """Those of the pointers whose values may get to other places in the function."""
    escaping: set[Key] = set()
    for node in function.body.walk() if pointers else ():
        if node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator == "=":
            target = _assigned(node)
            itself = set() if target is None else {target.key}
            escaping |= _leading_to(node.children[1:]) & pointers - itself
        elif node.kind == CursorKind.VAR_DECL:
            initializer = node.unit.initializer(node)
            escaping |= set() if initializer is None else _leading_to((initializer,)) & pointers
        elif node.kind == CursorKind.INIT_LIST_EXPR:
            escaping |= _leading_to(node.children) & pointers
        elif node.kind == CursorKind.CALL_EXPR:
            escaping |= set(_captured(node, pointers, depth))
    return escaping


def _captured(call: Node, pointers: set[Key], depth: int) -> Iterator[Key]:
    """The pointers that a called function may keep."""
    called = call.called
    arguments = call.children[1:]
    passed = [_leading_to((argument,)) & pointers for argument in arguments]
    if not any(passed) or (called is not None and called.spelling in _NOT_CAPTURING and _is_library(called)):
        return
    definition = None if called is None else called.definition
    if definition is None or depth == _DEEPEST_CALL or len(definition.parameters) != len(arguments):
        yield from set().union(*passed)
        return
    parameters = [parameter.key for parameter in definition.parameters]
    inside = {key for key, keys in zip(parameters, passed, strict=True) if keys}
    escaping = _escaping(definition, inside, depth + 1) | function_facts(definition).address_taken
    for key, keys in zip(parameters, passed, strict=True):
        if key in escaping:
            yield from keys


def _leading_to(nodes: Iterable[Node]) -> set[Key]:
    """The variables through whose values the values of expressions may be addresses."""
    return {key for node in nodes for key in _addresses(without_casts(node))}


def _addresses(node: Node) -> Iterator[Key]:
    if node.named is not None:
        yield node.named.key
    elif node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator in ("+", "-", ",", "="):
        yield from _leading_to(node.children)
    elif node.kind in (CursorKind.CONDITIONAL_OPERATOR, CursorKind.CALL_EXPR):
        yield from _leading_to(node.children[1:])
    elif node.takes_address:
        yield from _leading_to(strip(node.children[0]).children)
    elif node.kind == CursorKind.UNARY_OPERATOR and not node.is_dereference:
        yield from _leading_to(node.children)
    elif node.kind in (CursorKind.COMPOUND_LITERAL_EXPR, CursorKind.INIT_LIST_EXPR, CursorKind.StmtExpr):
        yield from (inner.named.key for inner in node.walk() if inner.named is not None)
