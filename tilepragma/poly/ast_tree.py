"""isl's AST as plain data: loops, conditions and leaves, with blocks flattened."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from tilepragma.base.frozen_values import dataclass
from tilepragma.poly.operation_limit import OperationLimitError

# islpy's stubs have other names than islpy.
_FOR = isl.ast_node_type["for_"]
_IF = isl.ast_node_type["if_"]
_COMPARISONS: dict[isl.ast_expr_op_type | None, str] = {isl.ast_expr_op_type.le: "<=", isl.ast_expr_op_type.lt: "<"}


@dataclass(frozen=True)
class AstLoop:
    """`for (iterator = start; iterator comparison end; iterator += step) body`; `once`: one
    iteration.

    isl's loops count up: `step` is positive, `comparison` < or <=.
    """

    iterator: str
    start: isl.AstExpr
    comparison: str
    end: isl.AstExpr
    step: int
    once: bool
    body: tuple[AstNode, ...]


@dataclass(frozen=True)
class AstIf:
    """`if (condition) then else otherwise`."""

    condition: isl.AstExpr
    then: tuple[AstNode, ...]
    otherwise: tuple[AstNode, ...]


@dataclass(frozen=True)
class AstLeaf:
    """`statement(arguments)`: one instance, given by its iterators' values."""

    statement: str
    arguments: tuple[isl.AstExpr, ...]


AstNode = AstLoop | AstIf | AstLeaf


def ast_nodes(node: isl.AstNode) -> tuple[AstNode, ...]:
    """The tree under an isl node."""
    kind = isl.ast_node_type(node.get_type())
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return tuple(node for place in range(children.n_ast_node()) for node in ast_nodes(children.get_at(place)))
    if kind == _FOR:
        return (_loop(node),)
    if kind == _IF:
        otherwise = ast_nodes(node.if_get_else_node()) if node.if_has_else_node() else ()
        return (AstIf(node.if_get_cond(), ast_nodes(node.if_get_then_node()), otherwise),)
    call = node.user_get_expr()
    function, *arguments = operands(call)
    return (AstLeaf(function.get_id().get_name(), tuple(arguments)),)


def leaves_of(nodes: tuple[AstNode, ...]) -> Iterator[AstLeaf]:
    """All leaves of a tree, in textual order."""
    for node in nodes:
        if isinstance(node, AstLoop):
            yield from leaves_of(node.body)
        elif isinstance(node, AstIf):
            yield from leaves_of(node.then)
            yield from leaves_of(node.otherwise)
        else:
            yield node


def operation(ast: isl.AstExpr) -> isl.ast_expr_op_type | None:
    """The operation of an expression; None for numbers and identifiers."""
    is_operation = isl.ast_expr_type(ast.get_type()) == isl.ast_expr_type.op
    return isl.ast_expr_op_type(ast.get_op_type()) if is_operation else None


def operands(ast: isl.AstExpr) -> tuple[isl.AstExpr, ...]:
    """The arguments of an operation."""
    return tuple(ast.get_op_arg(place) for place in range(ast.get_op_n_arg()))


def identifier(ast: isl.AstExpr) -> str | None:
    """The name of an identifier; None for other expressions."""
    is_name = isl.ast_expr_type(ast.get_type()) == isl.ast_expr_type.id
    return str(ast.get_id().get_name()) if is_name else None


def _loop(node: isl.AstNode) -> AstLoop:
    iterator = node.for_get_iterator().get_id().get_name()
    start = node.for_get_init()
    if node.for_is_degenerate():
        return AstLoop(iterator, start, "<=", start, 1, True, ast_nodes(node.for_get_body()))
    condition = node.for_get_cond()
    if operation(condition) not in _COMPARISONS:
        # isl found no end, as for some sets with divisions.
        raise OperationLimitError("isl found no bound for a loop.")
    return AstLoop(
        iterator,
        start,
        _COMPARISONS[operation(condition)],
        condition.get_op_arg(1),
        int(node.for_get_inc().get_val().to_python()),
        False,
        ast_nodes(node.for_get_body()),
    )
