"""Lowers statements and functions to the loop tree; reports a refusal and goes on behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.canonical_loops import canonical, iterator_of, with_one_iterator
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node
from tilepragma.frontend.clang.expression_lowering import lower_expression, truth, type_of
from tilepragma.frontend.clang.forward_jumps import Choice, Part, structured
from tilepragma.frontend.clang.implied_parameters import with_constness
from tilepragma.frontend.clang.literals import evaluated
from tilepragma.frontend.clang.liveness import for_header
from tilepragma.frontend.clang.lowering_context import Context, FunctionCollector, function_facts
from tilepragma.frontend.clang.objects import declare, is_constant, is_variable_length, lower_initializer
from tilepragma.frontend.clang.storage_accesses import declare_pointer, set_once
from tilepragma.frontend.clang.type_conversion import is_pointer
from tilepragma.frontend.pragma.loop_pragmas import loop_pragmas
from tilepragma.ir.accesses import early_exits, leaves_early
from tilepragma.ir.expressions import Expression, IntegerLiteral, Scope, Unary
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import (
    Block,
    Break,
    CaseLabel,
    Continue,
    Declaration,
    Declarator,
    ExpressionStatement,
    ForLoop,
    Function,
    If,
    Loop,
    LoopPragma,
    Return,
    Statement,
    Switch,
    While,
)
from tilepragma.ir.types import INT

_AMONG_CASES = "put it among the statements of the 'switch' itself"
_REFUSED = {
    CursorKind.GOTO_STMT: ("'goto' cannot be used in a kernel", "write it with 'if', 'break' or 'continue'"),
    CursorKind.INDIRECT_GOTO_STMT: ("'goto' cannot be used in a kernel", "write it with 'if', 'break' or 'continue'"),
    CursorKind.LABEL_STMT: ("a label cannot stand in a kernel", "write it with 'if', 'break' or 'continue'"),
    CursorKind.CASE_STMT: ("a 'case' stands inside another statement of its 'switch'", _AMONG_CASES),
    CursorKind.DEFAULT_STMT: ("a 'default' stands inside another statement of its 'switch'", _AMONG_CASES),
    CursorKind.ASM_STMT: ("assembly cannot be used in a kernel", "write the operation in C"),
    CursorKind.MS_ASM_STMT: ("assembly cannot be used in a kernel", "write the operation in C"),
}
#: Declarations that have no effect at run time.
_PASSED_OVER = {CursorKind.TYPEDEF_DECL, CursorKind.ENUM_DECL, CursorKind.FUNCTION_DECL, CursorKind.STATIC_ASSERT}


def lower_region(context: Context, node: Node, range_: SourceRange) -> Block:
    """The body of a kernel region: the statements of its block, or its single statement."""
    nodes = node.children if node.kind == CursorKind.COMPOUND_STMT else (node,)
    return Block(_statements(context, nodes, Scope.REGION, in_loop=False), range_)


def lower_called(functions: FunctionCollector, definition: Node, call: Node) -> tuple[Function, Context]:
    """A called function, and the context that lowered it. Raises SourceError.

    Its body begins with the outside constants that it reads.
    """
    name = definition.spelling
    if definition.type.get_canonical().kind.name == "FUNCTIONPROTO" and definition.type.is_function_variadic():
        message = f"'{name}' takes a variable number of arguments"
        raise source_error(call.range, message, "give it a fixed list of parameters")
    context = Context(
        functions.unit,
        functions.diagnostics,
        functions.types,
        functions,
        function_facts(definition),
        is_region=False,
        lowering=lower_expression,
        names=Names({name}),
    )
    parameters = tuple(declare(context, parameter, Scope.LOCAL) for parameter in definition.parameters)
    result = context.convert(definition.cursor.result_type, definition.range)
    block = _block(context, definition.body, in_loop=False)
    constants = tuple(Declaration((constant,), constant.object.range) for constant in context.constants)
    body = Block((*constants, *block.statements), block.range)
    known = functions.closure(context.callees)[0]
    parameters, context.implied[:], body = with_constness(parameters, context.implied, body, known)
    added = (implied.object for implied in context.implied)
    return Function(name, result, (*parameters, *added), body, definition.range), context


def _block(context: Context, node: Node, in_loop: bool) -> Block:
    """The body of a loop or condition, in braces or not."""
    nodes = node.children if node.kind == CursorKind.COMPOUND_STMT else (node,)
    return Block(_statements(context, nodes, Scope.LOCAL, in_loop), node.range)


def _statements(context: Context, nodes: tuple[Node, ...], scope: Scope, in_loop: bool) -> tuple[Statement, ...]:
    statements: list[Statement] = []
    outer_end = context.block_end
    context.block_end = nodes[-1].end if nodes else outer_end
    for part in structured(nodes, context.facts.node) or nodes:
        with context.diagnostics.reporting():
            statement = _part(context, part, scope, in_loop)
            statements += () if statement is None else (statement,)
    context.block_end = outer_end
    return tuple(statements)


def _part(context: Context, part: Part, scope: Scope, in_loop: bool) -> Statement | None:
    if not isinstance(part, Choice):
        return _statement(context, part, scope, in_loop)
    condition = truth(context, part.condition)
    sides = []
    for parts in (part.skipped, part.taken):
        lowered = (_part(context, each, Scope.LOCAL, in_loop) for each in parts)
        sides.append(Block(tuple(statement for statement in lowered if statement is not None), part.node.range))
    opposite = Unary("!", condition, INT, part.node.range)
    return If(opposite, sides[0], sides[1] if sides[1].statements else None, part.node.range)


def _statement(context: Context, node: Node, scope: Scope, in_loop: bool) -> Statement | None:
    kind = node.kind
    if kind == CursorKind.COMPOUND_STMT:
        return _block(context, node, in_loop)
    if kind == CursorKind.FOR_STMT:
        return _for(context, node)
    if kind == CursorKind.DECL_STMT:
        return _declaration(context, node, scope, in_loop)
    if kind == CursorKind.IF_STMT:
        return _if(context, node, in_loop)
    if kind in (CursorKind.WHILE_STMT, CursorKind.DO_STMT):
        return _while(context, node)
    if kind == CursorKind.SWITCH_STMT:
        return _switch(context, node, in_loop)
    if kind == CursorKind.NULL_STMT:
        return None
    if kind in (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT):
        if not in_loop:
            message = f"'{'break' if kind == CursorKind.BREAK_STMT else 'continue'}' would leave the kernel"
            remedy = "put the kernel around the whole loop, or write the condition with 'if'"
            raise source_error(node.range, message, remedy)
        return Break(node.range) if kind == CursorKind.BREAK_STMT else Continue(node.range)
    if kind == CursorKind.RETURN_STMT:
        return _return(context, node)
    if kind in _REFUSED:
        message, remedy = _REFUSED[kind]
        raise source_error(node.range, message, remedy)
    pointer = set_once(context, node)
    if pointer is not None:
        numbers = declare_pointer(context, pointer, node.children[1], node.start, scope)
        if isinstance(numbers, str):
            message = f"the pointer '{pointer.spelling}' cannot be set in a kernel: {numbers}"
            raise source_error(node.range, message, "index the array itself instead")
        return Declaration(numbers, node.range) if numbers else None
    if kind.is_expression():
        return ExpressionStatement(context.lower(node), node.range)
    raise source_error(node.range, "this statement cannot stand in a kernel", "write it in plain C99")


def _return(context: Context, node: Node) -> Return:
    if context.is_region:
        raise source_error(node.range, "'return' would leave the kernel", "set a variable and test it after the kernel")
    return Return(context.lower(node.children[0]) if node.children else None, node.range)


def _if(context: Context, node: Node, in_loop: bool) -> If:
    condition = truth(context, node.children[0])
    then = _block(context, node.children[1], in_loop)
    otherwise = _block(context, node.children[2], in_loop) if len(node.children) > 2 else None
    return If(condition, then, otherwise, node.range)


def _while(context: Context, node: Node) -> While | Block:
    test_last = node.kind == CursorKind.DO_STMT
    condition, body = reversed(node.children) if test_last else node.children
    lowered = _block(context, body, in_loop=True)
    test = context.lower(condition)
    if test_last and isinstance(test, IntegerLiteral) and test.value == 0 and not leaves_early(lowered):
        # Macros of several statements are written so.
        return lowered
    return While(test, lowered, test_last, node.range)


def _switch(context: Context, node: Node, in_loop: bool) -> Switch:
    condition, body = node.children
    statements: list[Statement] = []
    for part in body.children if body.kind == CursorKind.COMPOUND_STMT else (body,):
        if part.kind == CursorKind.DECL_STMT:
            message = "a variable is declared between the cases of a 'switch'"
            raise source_error(part.range, message, "declare it before the 'switch'")
        while part.kind in (CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT):
            statements.append(_label(context, part))
            part = part.children[-1]
        statements += _statements(context, (part,), Scope.LOCAL, in_loop=True)
    block = Block(tuple(statements), body.range)
    for leaving in () if in_loop else early_exits(block, Continue):
        message = "'continue' would leave the kernel"
        raise source_error(leaving.range, message, "put the kernel around the whole loop, or use 'break'")
    return Switch(context.lower(condition), block, node.range)


def _label(context: Context, node: Node) -> CaseLabel:
    if node.kind == CursorKind.DEFAULT_STMT:
        return CaseLabel(None, node.range)
    value = node.children[0]
    if len(node.children) > 2:
        raise source_error(node.range, "a range of cases cannot be used in a kernel", "write one 'case' for each value")
    number = evaluated(value, "'case'", "write an integer constant", type_of(context, value))
    return CaseLabel(number, node.range)


def _for(context: Context, node: Node) -> Loop | ForLoop | Block:
    index = context.loop_count
    context.loop_count += 1
    header = for_header(node)
    if header is None:
        message = "a loop with parts left out comes out of a macro here"
        raise source_error(node.range, message, "write the loop without the macro")
    first = header.initialization
    initialization: Declaration | Expression | None = None
    if first is not None and first.kind == CursorKind.DECL_STMT:
        initialization = _declaration(context, first, Scope.LOCAL, in_loop=False)
    elif first is not None:
        initialization = context.lower(first)
    loop = ForLoop(
        initialization,
        None if header.condition is None else context.lower(header.condition),
        None if header.advance is None else context.lower(header.advance),
        _block(context, node.children[-1], in_loop=True),
        context.loops.pop(node.start, None) if node.first_file == context.facts.node.file else None,
        reason="",
        range=node.range,
        reason_range=_header_range(context, node),
    )
    before, plain = with_one_iterator(loop)
    iterator = iterator_of(plain)
    addressed = iterator is not None and context.key_of(iterator) in context.facts.address_taken
    result = canonical(plain, index, addressed, _pragmas(context, node))
    if isinstance(result, ForLoop):
        return replace(loop, reason=result.reason, reason_range=result.reason_range)
    return Block((*before, result), node.range) if before else result


def _pragmas(context: Context, node: Node) -> tuple[LoopPragma, ...]:
    """The lines before the loop for processors' compilers, without those that the preprocessor
    leaves out.
    """
    unit, skipped = context.unit, context.unit.skipped(node.file)
    pragmas = loop_pragmas(unit.text(node.file), node.start, partial(unit.span, node.file))
    inside = (any(first <= pragma.range.start.offset < last for first, last in skipped) for pragma in pragmas)
    return tuple(pragma for pragma, left_out in zip(pragmas, inside, strict=True) if not left_out)


def _header_range(context: Context, node: Node) -> SourceRange:
    body = node.children[-1]
    end = context.unit.text(node.file).rfind(b")", node.start, body.start) + 1
    if end <= node.start or body.range.file != node.range.file:
        return node.range
    return context.unit.span(node.range.file, node.start, end)


def _declaration(context: Context, node: Node, scope: Scope, in_loop: bool) -> Declaration | None:
    declarators: list[Declarator] = []
    for child in node.children:
        if child.kind == CursorKind.VAR_DECL and is_pointer(child.type):
            declarators += _alias(context, child, scope)
        elif child.kind == CursorKind.VAR_DECL:
            declarators.append(_declarator(context, child, scope, in_loop))
        elif child.kind in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL):
            message = "a type is defined inside the kernel"
            raise source_error(child.range, message, "define it before the function, at file scope")
        elif child.kind not in _PASSED_OVER:
            raise source_error(child.range, "this declaration cannot stand in a kernel", "move it before the kernel")
    return Declaration(tuple(declarators), node.range) if declarators else None


@contextmanager
def _refusing(context: Context, node: Node) -> Iterator[None]:
    """A SourceError that ends the block also refuses later uses of the variable."""
    try:
        yield
    except SourceError as refusal:
        context.refused[node.key] = refusal
        raise


def _alias(context: Context, node: Node, scope: Scope) -> tuple[Declarator, ...]:
    """A local pointer stands for the element it is set to; its declaration disappears, or is that
    of the numbers of its row and of the element.
    """
    with _refusing(context, node):
        _check_declarator(context, node, Scope.REGION, in_loop=False)
        numbers = declare_pointer(context, node, node.unit.initializer(node), node.start, scope)
        if isinstance(numbers, str):
            message = f"the pointer '{node.spelling}' cannot be used in a kernel: {numbers}"
            raise source_error(node.range, message, "index the array itself instead")
        return numbers


def _declarator(context: Context, node: Node, scope: Scope, in_loop: bool) -> Declarator:
    with _refusing(context, node):
        _check_declarator(context, node, scope, in_loop)
    initializer = node.unit.initializer(node)
    object_ = declare(context, node, scope)
    return Declarator(object_, None if initializer is None else lower_initializer(context, initializer))


def _check_declarator(context: Context, node: Node, scope: Scope, in_loop: bool) -> None:
    """Raises SourceError for variables that kernels cannot have."""
    storage, name = node.storage, node.spelling
    if storage == "STATIC" and is_constant(node):
        return
    if storage == "STATIC" and not context.is_region:
        message = f"a function called from a kernel keeps '{name}' from call to call"
        raise source_error(node.range, message, "pass it as an argument")
    if storage in ("STATIC", "EXTERN"):
        message = f"'{name}' is declared '{storage.lower()}' inside the kernel"
        raise source_error(node.range, message, "declare it before the kernel")
    # On hosts, kernels call the user's own function, which makes its arrays itself.
    if context.is_region and (in_loop or scope is Scope.LOCAL) and is_variable_length(node):
        message = f"the length of '{name}' is known at run time only, and each iteration would need its own copy"
        raise source_error(node.range, message, "give it a constant length")
