"""Two-valued indices: `to` is `1 - from` in a program that goes back and forth between two arrays.

With `int from = step % 2, to = 1 - from;` only the declaration tells that u[from] and u[to] differ.
"""

from __future__ import annotations

from tilepragma.frontend.clang.cursor_tree import CursorKind, Node, TypeKind
from tilepragma.frontend.clang.lowering_context import Context, strip
from tilepragma.frontend.clang.objects import known_value

_VARIABLES = {CursorKind.VAR_DECL, CursorKind.PARM_DECL}
_JUMPS = {CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT}
_LOOPS = {CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.DO_STMT}


def flip_flop_initializer(context: Context, use: Node) -> Node | None:
    """The initialiser `1 - v` or `(v + 1) % 2` (with any numbers) that a variable still equals."""
    declaration = use.declaration
    if declaration is None or declaration.kind != CursorKind.VAR_DECL or not context.is_region:
        return None
    initializer = declaration.unit.initializer(declaration)
    flipped = None if initializer is None else _flipped(strip(initializer))
    if initializer is None or flipped is None or flipped.declaration is None:
        return None
    both = (declaration, flipped.declaration)
    if not all(_is_of_the_function(variable) for variable in both):
        return None
    names = {variable.spelling for variable in both}
    function = list(context.facts.node.walk())
    hidden = [node for node in function if node.kind in _VARIABLES and node.spelling in names]
    if len(hidden) != len(both) or any(node.kind in _JUMPS for node in function):
        return None
    loops = [node for node in function if node.kind in _LOOPS and node.start <= use.start < node.end]
    entered = [(loop.start, loop.end) for loop in loops if not loop.start <= declaration.start < loop.end]
    spans = [(declaration.start, use.start), *entered]
    changed = (
        variable.key in context.facts.address_taken
        or any(context.facts.written_from(variable.key, *span) for span in spans)
        for variable in both
    )
    return None if any(changed) else initializer


def _flipped(value: Node) -> Node | None:
    """The variable v of `1 - v`, or of `(v + 1) % 2`."""
    if value.kind != CursorKind.BINARY_OPERATOR:
        return None
    left, right = map(strip, value.children)
    if value.binary_operator == "-" and known_value(left) is not None:
        return _variable(right)
    if value.binary_operator == "%" and known_value(right) is not None and left.kind == CursorKind.BINARY_OPERATOR:
        first, second = map(strip, left.children)
        if left.binary_operator == "+" and known_value(second) is not None:
            return _variable(first)
    return None


def _variable(node: Node) -> Node | None:
    return node if node.kind == CursorKind.DECL_REF_EXPR and known_value(node) is None else None


def _is_of_the_function(declaration: Node) -> bool:
    """Whether the variable is an int that only the function's own text changes."""
    parent = declaration.cursor.semantic_parent
    local = parent is not None and parent.kind == CursorKind.FUNCTION_DECL
    canonical = declaration.type.get_canonical()
    plain = canonical.kind == TypeKind.INT and not canonical.is_volatile_qualified()
    return local and plain and declaration.kind in _VARIABLES and declaration.cursor.storage_class.name != "STATIC"
