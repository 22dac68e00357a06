"""Local pointers to memory of their own: what `malloc` returned, and the function keeps to itself.

Nothing else points to such memory, as if the pointer were declared `restrict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilepragma.base.memoization import once
from tilepragma.frontend.clang.cursor_tree import CursorKind, Key, Node, strip
from tilepragma.frontend.clang.lowering_context import function_facts
from tilepragma.frontend.clang.type_conversion import is_pointer

_ALLOCATING = frozenset(("malloc", "calloc", "aligned_alloc", "memalign", "valloc"))
#: Library functions that keep no pointer that they get.
_KEEPING_NONE = frozenset(
    (
        *("free", "memset", "memcpy", "memmove", "memcmp", "strlen", "strcmp", "strncmp", "strcpy", "strncpy"),
        *("strcat", "strncat", "printf", "fprintf", "sprintf", "snprintf", "puts", "fputs", "fread", "fwrite"),
        *("fgets", "scanf", "fscanf", "sscanf", "qsort", "bsearch"),
    )
)
_MOST_CALLS = 4
"""Calls inside of each other that are looked into."""


@once
def sole_pointers(function: Node) -> frozenset[Key]:
    """The local pointers of a function that always point to memory that nothing else points to."""
    values: dict[Key, list[Node]] = {}
    for node in function.walk():
        if node.kind == CursorKind.VAR_DECL and is_pointer(node.type) and node.is_local and node.storage != "STATIC":
            initializer = node.unit.initializer(node)
            values.setdefault(node.key, []).extend(() if initializer is None else (initializer,))
    for node in function.walk():
        if node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator == "=":
            target = strip(node.children[0]).named
            if target is not None and target.key in values:
                values[target.key].append(node.children[1])
    allocated = {
        key
        for key, given in values.items()
        if any(map(_is_allocation, given)) and all(_is_allocation(value) or _is_null(value) for value in given)
    }
    return frozenset(allocated - _kept(function, allocated, 0) - function_facts(function).address_taken)


def _bare(node: Node) -> Node:
    node = strip(node)
    while node.kind == CursorKind.CSTYLE_CAST_EXPR:
        node = strip(node.children[-1])
    return node


def _is_allocation(value: Node) -> bool:
    call = _bare(value)
    called = call.called if call.kind == CursorKind.CALL_EXPR else None
    return called is not None and called.spelling in _ALLOCATING and _is_library(called)


def _is_library(function: Node) -> bool:
    return bool(function.file) and function.unit.is_system(function.file)


def _is_null(value: Node) -> bool:
    node = _bare(value)
    return node.kind == CursorKind.INTEGER_LITERAL or node.spelling == "NULL"


def _kept(function: Node, pointers: set[Key], depth: int) -> set[Key]:
    """Those of the pointers whose values the function may keep in other places."""
    kept: set[Key] = set()
    for node in function.body.walk() if pointers else ():
        if node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator == "=":
            target = strip(node.children[0]).named
            own = set() if target is None else {target.key}
            kept |= set(_values(node.children[1])) & pointers - own
        elif node.kind == CursorKind.VAR_DECL:
            initializer = node.unit.initializer(node)
            kept |= set() if initializer is None else set(_values(initializer)) & pointers
        elif node.kind == CursorKind.INIT_LIST_EXPR:
            kept |= _all_values(node.children) & pointers
        elif node.kind == CursorKind.CALL_EXPR:
            kept |= set(_passed_on(node, pointers, depth))
    return kept


def _passed_on(call: Node, pointers: set[Key], depth: int) -> Iterator[Key]:
    """The pointers that a called function may keep."""
    called = call.called
    arguments = call.children[1:]
    passed = [set(_values(argument)) & pointers for argument in arguments]
    if not any(passed) or (called is not None and called.spelling in _KEEPING_NONE and _is_library(called)):
        return
    definition = None if called is None else called.definition
    if definition is None or depth == _MOST_CALLS or len(definition.parameters) != len(arguments):
        yield from set().union(*passed)
        return
    parameters = [parameter.key for parameter in definition.parameters]
    kept = _kept(definition, {key for key, keys in zip(parameters, passed, strict=True) if keys}, depth + 1)
    addressed = function_facts(definition).address_taken
    for key, keys in zip(parameters, passed, strict=True):
        if key in kept or key in addressed:
            yield from keys


def _all_values(nodes: Iterable[Node]) -> set[Key]:
    return {key for node in nodes for key in _values(node)}


def _values(node: Node) -> Iterator[Key]:
    """The variables whose values, or places beside, the value of an expression may be."""
    node = _bare(node)
    if node.named is not None:
        yield node.named.key
    elif node.kind == CursorKind.BINARY_OPERATOR and node.binary_operator in ("+", "-", ",", "="):
        yield from _all_values(node.children)
    elif node.kind in (CursorKind.CONDITIONAL_OPERATOR, CursorKind.CALL_EXPR):
        yield from _all_values(node.children[1:])
    elif node.kind == CursorKind.UNARY_OPERATOR and node.children:
        inner = strip(node.children[0])
        if not node.takes_address:
            if not node.is_dereference:
                yield from _values(inner)
        else:
            yield from _all_values(inner.children)
    elif node.kind in (CursorKind.COMPOUND_LITERAL_EXPR, CursorKind.INIT_LIST_EXPR, CursorKind.StmtExpr):
        yield from (inner.named.key for inner in node.walk() if inner.named is not None)
