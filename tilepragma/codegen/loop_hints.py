"""Hints on loops for processors' compilers: the user's lines in C, and hints on innermost loops.

PoCL's compiler neither unrolls nor interleaves innermost loops, and it uses half of the vector
width.
"""

from __future__ import annotations

from collections.abc import Set

from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.literal_values import literal_value
from tilepragma.codegen.mentioned_objects import printed_objects
from tilepragma.codegen.printer import Printer
from tilepragma.ir.expressions import Access, Assignment, Call, Conditional, DataObject, Expression, Increment, Storage
from tilepragma.ir.loop_tree import (
    Block,
    Declaration,
    ExpressionStatement,
    ForLoop,
    Loop,
    LoopPragma,
    Statement,
    TileNest,
    While,
)
from tilepragma.ir.polynomial import Polynomial, polynomial
from tilepragma.ir.traversal import changed_in, declared_in, mentions, walk
from tilepragma.ir.types import ScalarType, is_floating
from tilepragma.poly.reference_spans import Values, settled_values, written_out

#: Bytes of today's widest vectors. Processors with narrower ones split a vector.
_VECTOR = 64
#: The largest known trip count at which a loop around other loops is unrolled.
_UNROLLED = 16
_UNROLL = "#pragma clang loop unroll(full)"


def loop_hints(
    dialect: Dialect, iterator: DataObject, step: Expression, body: Block, trip: int | None = None
) -> tuple[str, str]:
    """The hints for a loop of `trip` iterations (None: not known), if the dialect takes hints: the
    line before it, and the line at the head of its body.

    Short loops are unrolled if they contain loops or cannot be vectorised: only then do local
    arrays become registers. The same holds for vectorised loops, whose vectors are interleaved.

    A sum in one element is a chain: each addition waits for the previous one. A fused multiply-add
    takes longer than the addition alone, so contraction is off there.

    A loop is vectorised if each access has stride 1 or 0 and each iteration writes elements that no
    other iteration touches. The hint gives the width, since compilers take half of the widest
    vectors by default. Loops that read under a condition, such as the zeros beside a panel's
    columns, get no width: Oclgrind failed on the vectors that clang 14 made of them.
    """
    if not dialect.hints:
        return "", ""
    short = trip is not None and trip <= _UNROLLED
    if any(isinstance(node, (Loop, ForLoop, While, TileNest)) for node in walk(body)):
        return (_UNROLL if short else ""), ""
    if _has_chain(iterator, body):
        return "", "#pragma OPENCL FP_CONTRACT OFF" if dialect.contracts else ""
    width = vector_width(iterator, step, body)
    choices = (node for node in walk(body) if isinstance(node, Conditional))
    branches = (branch for node in choices for branch in (node.then, node.otherwise))
    reads = (node for branch in branches for node in walk(branch) if isinstance(node, Access))
    reads_under_conditions = any(read.subscripts for read in reads)
    if width is None or reads_under_conditions:
        return (_UNROLL if short else ""), ""
    parts = trip // width if trip is not None and trip % width == 0 and trip // width in (1, 2, 4, 8) else 2
    return f"#pragma clang loop vectorize_width({width}) interleave_count({parts})", ""


def user_pragmas(printer: Printer, loop: Loop) -> tuple[str, ...]:
    """The user's lines before the loop, those that hold for it as it is printed in C. A loop that
    passes changed may have other variables, or pass values on from iteration to iteration.
    """
    if printer.dialect.device or not loop.pragmas:
        return ()
    declared = declared_in(loop.body)
    outside = [object_ for object_ in printed_objects(loop.body) if object_ not in declared]
    written = {object_.name for object_ in changed_in(loop.body) - declared}
    mentioned = {object_.host for object_ in outside}
    plain = mentioned - {object_.host for object_ in outside if printer.scalar(object_) != object_.host}
    lines = (_user_pragma(pragma, mentioned, plain) for pragma in loop.pragmas if written <= pragma.written)
    return tuple(filter(None, lines))


def _user_pragma(pragma: LoopPragma, mentioned: Set[str], plain: Set[str]) -> str:
    """The line with the variables that are `plain` names in the text; empty where a variable that
    it needs is none.
    """
    words = [f"#pragma {pragma.text}"]
    for clause in pragma.clauses:
        given = set(clause.variables)
        needed = given if clause.name == "reduction" else given & mentioned
        if clause.name != "aligned" and not needed <= plain:
            return ""
        variables = [name for name in clause.variables if name in plain]
        if variables:
            operator = f"{clause.operator} : " if clause.operator else ""
            words.append(f"{clause.name}({operator}{', '.join(variables)}{clause.alignment})")
    return " ".join(words)


def vector_width(iterator: DataObject, step: Expression, body: Block) -> int | None:
    """Elements of a vector; None where the loop is not to be vectorised. Such loops have accesses
    with other strides, statements that are no assignments, or iterations whose subscripts alone do
    not show that they are independent.
    """
    if literal_value(step) != 1 or not all(_is_plain(statement) for statement in body.statements):
        return None
    values = settled_values(body)
    if not _writes_disjoint_elements(iterator, body, values):
        return None
    largest = 0
    for node in walk(body):
        if isinstance(node, Access) and (node.subscripts or node.object.storage is not Storage.SCALAR):
            if _step(node, iterator, values) not in (0, 1):
                return None
            largest = max(largest, node.type.bits if isinstance(node.type, ScalarType) else 0)
        elif isinstance(getattr(node, "type", None), ScalarType) and node.type.is_floating:
            largest = max(largest, node.type.bits)
    return _VECTOR * 8 // largest if largest else None


def _writes_disjoint_elements(iterator: DataObject, body: Block, values: Values) -> bool:
    """Whether no two iterations touch an element that one of them writes, by the subscripts.

    Clang narrows a width to what dependence distances allow. It once took an interleave count
    unchecked (LLVM pull request 153009 mends this), and iterations with a short dependence distance
    went wrong. Distances relate accesses by one pointer. For two pointers that may overlap, such as
    those of launches without a check, clang compares whole ranges at run time and runs the plain
    loop where they overlap, whatever the hints say.
    """
    declared = declared_in(body)
    targets = (node.target for node in walk(body) if isinstance(node, (Assignment, Increment)))
    written = {target.object: target for target in targets if target.object not in declared}
    if any(_step(target, iterator, values) != 1 for target in written.values()):
        return False
    accesses = (node for node in walk(body) if isinstance(node, Access) and node.object in written)
    return all(access == written[access.object] for access in accesses)


def _is_plain(statement: Statement) -> bool:
    if isinstance(statement, Block):
        return all(_is_plain(inner) for inner in statement.statements)
    simple = isinstance(statement, (ExpressionStatement, Declaration))
    return simple and not any(isinstance(node, Call) for node in walk(statement))


def _step(access: Access, iterator: DataObject, values: Values) -> int | None:
    """Elements between accesses of consecutive iterations: 0 or 1, None for anything else."""
    if len(access.subscripts) < access.object.rank or access.path:
        return None
    steps = [_coefficient(subscript, iterator, values) for subscript in access.subscripts]
    if any(step != 0 for step in steps[:-1]):
        return None
    return steps[-1] if steps and steps[-1] in (0, 1) else 0 if not steps else None


def _coefficient(expression: Expression, iterator: DataObject, values: Values) -> int | None:
    """How much one iteration adds to the expression; None where this is no constant."""
    value = written_out(polynomial(expression), values)
    if value is None:
        return None
    access = next((atom for atom in value.atoms if isinstance(atom, Access) and atom.object == iterator), None)
    parts = value.split(access) if access is not None else (Polynomial(()), value)
    if parts is None or any(mentions(atom, iterator) for part in parts for atom in part.atoms):
        return None
    return parts[0].constant


def _has_chain(iterator: DataObject, body: Block) -> bool:
    """Whether an assignment adds to the floating-point value that the previous iteration left."""
    values = settled_values(body)
    declared = declared_in(body)
    for node in walk(body):
        if not isinstance(node, Assignment) or not is_floating(node.type):
            continue
        target = node.target
        moves = any(_coefficient(subscript, iterator, values) != 0 for subscript in target.subscripts)
        adds = node.operator != "=" or any(inner == target for inner in walk(node.value))
        if adds and not moves and target.object not in declared:
            return True
    return False
