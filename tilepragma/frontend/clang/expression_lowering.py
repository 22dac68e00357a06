"""Lowers cursors of expressions to the IR's expressions, calls included."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.reserved_words import words
from tilepragma.frontend.clang import literals, storage_accesses
from tilepragma.frontend.clang.cursor_tree import LOOPS, CursorKind, Node, TypeKind, is_null, strip
from tilepragma.frontend.clang.implied_parameters import implied_argument
from tilepragma.frontend.clang.lowering_context import Context
from tilepragma.frontend.clang.objects import known_number, known_value
from tilepragma.frontend.clang.storage_accesses import INCREMENTS
from tilepragma.frontend.clang.type_conversion import is_address, is_pointer, is_record
from tilepragma.frontend.clang.written_objects import has_effects
from tilepragma.ir.expressions import (
    COMPARISONS,
    Access,
    AddressOf,
    Assignment,
    Binary,
    Call,
    Callee,
    Cast,
    Comma,
    Conditional,
    DataObject,
    Expression,
    FloatingLiteral,
    Increment,
    Storage,
    Unary,
)
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import DOUBLE, FLOAT, INT, LONG, PointerType, ScalarType, Type, VoidType

_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="}
#: A value that stands in several places has at most so many nodes; nested macros grow without end.
_LONGEST_VALUE = 500
_REFUSED = {
    CursorKind.STRING_LITERAL: ("a string cannot be used in a kernel", "do input and output outside the kernel"),
    CursorKind.COMPOUND_LITERAL_EXPR: (
        "a compound literal cannot be used in a kernel",
        "declare a variable with this value and use it",
    ),
    CursorKind.StmtExpr: (
        "a statement expression '({ … })' of more than constants and their values cannot be used in a kernel",
        "write it as a static inline function of this file and call that",
    ),
    CursorKind.ADDR_LABEL_EXPR: ("the address of a label cannot be used in a kernel", "use 'if' and loops"),
    CursorKind.IMAGINARY_LITERAL: (
        "a complex number cannot be used in a kernel",
        "write the real and the imaginary part as two numbers",
    ),
    CursorKind.INIT_LIST_EXPR: ("'{ … }' stands where a value is needed", "assign the members one by one"),
}


def lower_expression(context: Context, node: Node) -> Expression:
    """The IR of an expression. Raises SourceError, located, with a remedy."""
    return literals.as_c_computes(_lowered(context, strip(node)))


def _lowered(context: Context, node: Node) -> Expression:
    kind = node.kind
    if kind == CursorKind.INTEGER_LITERAL:
        return literals.integer_literal(node, type_of(context, node))
    if kind == CursorKind.FLOATING_LITERAL:
        return literals.floating_literal(node, _scalar_type(context, node))
    if kind == CursorKind.CHARACTER_LITERAL:
        return literals.evaluated(node, "character", "write its number", INT)
    if kind == CursorKind.CONDITIONAL_OPERATOR:
        condition = truth(context, node.children[0])
        then, otherwise = (context.lower(child) for child in node.children[1:])
        return Conditional(condition, then, otherwise, type_of(context, node), node.range)
    if kind in _LOWERINGS:
        return _LOWERINGS[kind](context, node)
    if kind == CursorKind.UNEXPOSED_EXPR and isinstance(value := node.evaluate(), int):
        return literals.constant(value, type_of(context, node), node.range)
    raise _refusal(context, node)


def truth(context: Context, node: Node) -> Expression:
    """The IR of a condition: a pointer is true if it is not NULL."""
    return storage_accesses.null_test(context, node) if is_pointer(node.type) else context.lower(node)


def type_of(context: Context, node: Node) -> Type:
    """The IR type of an expression; refuses addresses."""
    if is_address(node.type):
        message = "an address is computed here, which kernels cannot do"
        raise source_error(node.range, message, "index the array where it is used")
    return context.types.convert(node.type, node.range)


def _scalar_type(context: Context, node: Node) -> ScalarType:
    type_ = type_of(context, node)
    assert isinstance(type_, ScalarType)
    return type_


def _reference(context: Context, node: Node) -> Expression:
    declaration = node.declaration
    if declaration is not None and declaration.kind == CursorKind.ENUM_CONSTANT_DECL:
        return literals.constant(int(declaration.cursor.enum_value), type_of(context, node), node.range)
    if declaration is not None and declaration.kind == CursorKind.FUNCTION_DECL:
        message = f"the address of the function '{node.spelling}' cannot be used in a kernel"
        raise source_error(node.range, message, "call functions by their names")
    if declaration is not None and declaration.key in context.values:
        return context.values[declaration.key]
    if declaration is not None and declaration.key not in context.declared:
        number = known_number(declaration)
        if number is not None:
            return literals.constant(number, type_of(context, node), node.range)
        value = _flip_flop_initializer(context, node)
        if value is not None:
            return context.lower(value)
    return storage_accesses.access(context, node)


def _statement_expression(context: Context, node: Node) -> Expression:
    """The value of `({ T a = x; T b = y; a > b ? a : b; })`: values replace the names."""
    *declarations, last = node.children[0].children
    names = [child for statement in declarations for child in statement.children]
    plain = all(declaration.kind == CursorKind.DECL_STMT for declaration in declarations) and last.kind.is_expression()
    if not plain or not all(_is_named_value(context, name) for name in names):
        raise _refusal(context, node)
    for name in names:
        initializer = name.unit.initializer(name)
        assert initializer is not None
        value = context.lower(initializer)
        why = "changes something" if has_effects(value) else "is long, and would be computed several times"
        if has_effects(value) or sum(1 for _ in walk(value)) > _LONGEST_VALUE:
            message = f"a statement expression cannot be used here: the value of its '{name.spelling}' {why}"
            remedy = "put this into a variable in a statement of its own, or write a static inline function"
            raise source_error(node.range, message, remedy)
        context.values[name.key] = Cast(_scalar_type(context, name), value, initializer.range)
    return context.lower(last)


def _is_named_value(context: Context, declaration: Node) -> bool:
    """Whether the declaration is of a number that keeps its first value."""
    facts, key = context.facts, declaration.key
    return (
        declaration.kind == CursorKind.VAR_DECL
        and declaration.unit.initializer(declaration) is not None
        and not (is_address(declaration.type) or is_record(declaration.type))
        and declaration.storage != "STATIC"
        and not declaration.type.is_volatile_qualified()
        and not facts.written_from(key, 0)
        and key not in facts.address_taken
    )


def _binary(context: Context, node: Node) -> Expression:
    operator = node.binary_operator
    if operator in _ASSIGNMENTS:
        return _assignment(context, node, operator)
    if operator == ",":
        left, right = (context.lower(child) for child in node.children)
        return Comma(left, right, type_of(context, node), node.range)
    if operator in ("&&", "||"):
        left, right = (truth(context, child) for child in node.children)
        return Binary(operator, left, right, type_of(context, node), node.range)
    if is_pointer(node.children[0].type) or is_pointer(node.children[1].type):
        null = [is_null(child) for child in node.children]
        if operator in ("==", "!=") and any(null):
            test = storage_accesses.null_test(context, node.children[0 if null[1] else 1])
            return test if operator == "!=" else Unary("!", test, test.type, node.range)
        compared = _compared_pointers(context, node)
        if compared is not None:
            return compared
        message = "addresses are computed or compared here, which kernels cannot do"
        raise source_error(node.range, message, "compare indices instead")
    left, right = (context.lower(child) for child in node.children)
    return Binary(operator, left, right, type_of(context, node), node.range)


def _assignment(context: Context, node: Node, operator: str) -> Expression:
    if is_pointer(node.children[0].type):
        return _moved(context, node, operator)
    target = storage_accesses.access(context, node.children[0])
    return Assignment(operator, target, context.lower(node.children[1]), type_of(context, node), node.range)


def _moved(context: Context, node: Node, operator: str) -> Expression:
    """An assignment to a pointer, as one to the number of its element."""
    pointer = storage_accesses.moved(context, node.children[0])
    if pointer is None or operator not in ("=", "+=", "-="):
        raise _pointer_written(node)
    number, array = pointer
    is_set = operator == "="
    right = node.children[1]
    value = storage_accesses.element_number(context, right, array) if is_set else context.lower(right)
    return Assignment(operator, Access(number, (), (), LONG, node.range), value, LONG, node.range)


def _compared_pointers(context: Context, node: Node) -> Expression | None:
    """A comparison or difference of two addresses in one array, as one of elements' numbers; None
    where neither names a pointer that moves.
    """
    left, right = node.children
    inside = (each for side in (left, right) for each in strip(side).walk())
    pointers = [pointer for each in inside if (pointer := storage_accesses.moved(context, each)) is not None]
    if not pointers or node.binary_operator not in (*COMPARISONS, "-"):
        return None
    first, second = (storage_accesses.element_number(context, side, pointers[0][1]) for side in (left, right))
    type_ = LONG if node.binary_operator == "-" else INT
    return Binary(node.binary_operator, first, second, type_, node.range)


def _unary(context: Context, node: Node) -> Expression:
    operator = node.unary_operator
    if operator == "*":
        return storage_accesses.access(context, node)
    if operator in INCREMENTS:
        sign, prefix = INCREMENTS[operator]
        if is_pointer(node.children[0].type):
            pointer = storage_accesses.moved(context, node.children[0])
            if pointer is None:
                raise _pointer_written(node)
            return Increment(sign, prefix, Access(pointer[0], (), (), LONG, node.range), LONG, node.range)
        target = storage_accesses.access(context, node.children[0])
        return Increment(sign, prefix, target, type_of(context, node), node.range)
    if operator == "__extension__":
        return context.lower(node.children[0])
    if operator in ("+", "-", "~", "!"):
        operand = truth(context, node.children[0]) if operator == "!" else context.lower(node.children[0])
        return Unary(operator, operand, type_of(context, node), node.range)
    if operator == "&":
        message = "an address is taken here, which kernels can do for arguments of functions of this file only"
        raise source_error(node.range, message, "index the array where it is used")
    message = f"the operator '{operator}' cannot be used in a kernel"
    raise source_error(node.range, message, "use the arithmetic operators of C99 on real numbers")


def _cast(context: Context, node: Node) -> Expression:
    operand = node.children[-1]
    type_ = context.types.convert(node.type, node.range)
    if isinstance(type_, VoidType):
        return context.lower(operand)
    if is_pointer(node.type):
        raise source_error(node.range, "an address is cast to another type here", "index the array with its own type")
    return Cast(type_, context.lower(operand), node.range)


def _size(context: Context, node: Node) -> Expression:
    value = node.evaluate()
    if value is None:
        message = "the size asked for here is known at run time only"
        raise source_error(node.range, message, "compute it before the kernel and keep it in a variable")
    return literals.constant(int(value), type_of(context, node), node.range)


def _refusal(context: Context, node: Node) -> SourceError:
    if context.unit.text(node.file).startswith(b"assert", node.start):
        message = "an assertion cannot be used in a kernel"
        return source_error(node.range, message, "check it before or after the kernel, or compile with -DNDEBUG")
    if node.kind in _REFUSED:
        message, remedy = _REFUSED[node.kind]
        return source_error(node.range, message, remedy)
    return source_error(node.range, "this expression cannot be used in a kernel", "write it in plain C99")


def _pointer_written(node: Node) -> SourceError:
    message = "a pointer is changed here; kernels can only use pointers that stay what they were"
    return source_error(node.range, message, "index the array instead of moving the pointer")


# -- two-valued indices

_VARIABLES = {CursorKind.VAR_DECL, CursorKind.PARM_DECL}
_JUMPS = {CursorKind.GOTO_STMT, CursorKind.INDIRECT_GOTO_STMT}


def _flip_flop_initializer(context: Context, use: Node) -> Node | None:
    """The initialiser `1 - v` or `(v + 1) % 2` (with any numbers) that a variable still equals.

    A program that goes back and forth between two arrays has `int from = step % 2, to = 1 - from;`,
    and only the declaration tells that u[from] and u[to] differ.
    """
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
    loops = [node for node in function if node.kind in LOOPS and node.start <= use.start < node.end]
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
    canonical = declaration.type.get_canonical()
    plain = canonical.kind == TypeKind.INT and not canonical.is_volatile_qualified()
    return declaration.is_local and plain and declaration.kind in _VARIABLES and declaration.storage != "STATIC"


# -- calls


_REAL = words(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround nearbyint nextafter "
    "pow remainder rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc"
)
_CLASSIFYING = words(
    "isnan isinf isfinite isnormal signbit isgreater isgreaterequal isless islessequal islessgreater isunordered"
)
_WHOLE = ("abs", "labs", "llabs")

#: Every function that some target has under its C name.
MATH = frozenset(name + suffix for name in _REAL for suffix in ("", "f", "l")) | _CLASSIFYING | frozenset(_WHOLE)
_INNER_NAMES = {
    "__isnan": "isnan", "__isnanf": "isnan", "__isinf": "isinf", "__isinff": "isinf", "__finite": "isfinite",
    "__finitef": "isfinite", "__signbit": "signbit", "__signbitf": "signbit", "__isnanl": "isnan", "__isinfl": "isinf",
    "__builtin_isinf_sign": "isinf", "isnanf": "isnan", "isinff": "isinf", "finite": "isfinite", "finitef": "isfinite",
    "__builtin_signbitf": "signbit", "__builtin_signbitl": "signbit", "__finitel": "isfinite", "__signbitl": "signbit",
}  # fmt: skip
_INFINITE = {"huge_val": DOUBLE, "huge_valf": FLOAT, "inf": DOUBLE, "inff": FLOAT}
_NOT_A_NUMBER = {"nan": DOUBLE, "nanf": FLOAT}
_OUTPUT = {"printf", "fprintf", "puts", "putchar", "putc", "fputs", "perror", "fwrite", "scanf", "fscanf", "fflush"}
MEMORY = {"malloc", "calloc", "realloc", "free", "alloca", "posix_memalign", "aligned_alloc"}
_RANDOM = {"rand", "srand", "random", "drand48", "rand_r"}


def _call(context: Context, node: Node) -> Expression:
    """The IR of a call. Raises SourceError for functions that a kernel cannot call."""
    declaration = node.called
    if declaration is None:
        message = "a function is called through a pointer here"
        raise source_error(node.range, message, "call functions by their names in kernels")
    name = declaration.spelling
    if name == "__builtin_expect":
        return context.lower(node.children[1])
    result = context.convert(node.type, node.range)
    definition = declaration.definition
    if definition is None or node.unit.is_system(definition.file) and math_name(name) is not None:
        constant = _constant(name, node)
        if constant is not None:
            return constant
        plain = math_name(name)
        if plain is None:
            raise _unknown(name, node)
        arguments = tuple(_converted(context, argument) for argument in node.children[1:])
        return Call(plain, Callee.MATH, arguments, result, node.range)
    passed = tuple(
        storage_accesses.pointer_argument(context, argument) if is_address(argument.type) else context.lower(argument)
        for argument in node.children[1:]
    )
    function = context.functions.require(definition, node, context)
    implied = [implied_argument(context, parameter, node.range) for parameter in context.functions.implied(function)]
    addressed = map(_with_constness, passed, context.functions.parameters(function))
    return Call(function, Callee.USER, (*addressed, *implied), result, node.range, len(implied))


def _with_constness(argument: Expression, parameter: DataObject) -> Expression:
    """The argument; its address points to const if the function only reads the parameter."""
    match argument:
        case Access(type=PointerType(pointee) as type_) | AddressOf(type=PointerType(pointee) as type_):
            if parameter.storage is Storage.CONTIGUOUS and not isinstance(pointee, PointerType):
                return replace(argument, type=replace(type_, const=parameter.const))
    return argument


def _converted(context: Context, argument: Node) -> Expression:
    """The argument in the parameter's type: devices overload math functions by argument type."""
    lowered = context.lower(argument)
    type_ = context.types.convert(argument.type, argument.range)
    return lowered if lowered.type == type_ else Cast(type_, lowered, argument.range)


def math_name(name: str) -> str | None:
    """The math.h name of a function, or of a builtin from a macro of math.h; else None."""
    if name in _INNER_NAMES:
        return _INNER_NAMES[name]
    plain = name.removeprefix("__builtin_")
    return plain if plain in MATH else _INNER_NAMES.get(plain)


def _constant(name: str, node: Node) -> Expression | None:
    """INFINITY, NAN or HUGE_VAL, for which math.h calls builtins; else None."""
    plain = name.removeprefix("__builtin_")
    if plain == name:
        return None
    for table, value, spelling in ((_INFINITE, math.inf, "INFINITY"), (_NOT_A_NUMBER, math.nan, "NAN")):
        type_ = table.get(plain)
        if type_ is not None:
            literal = FloatingLiteral(value, spelling, FLOAT, node.range)
            return literal if type_ is FLOAT else Cast(type_, literal, node.range)
    return None


def _unknown(name: str, node: Node) -> Exception:
    plain = name.removeprefix("__builtin_")
    name = plain if plain in _OUTPUT | MEMORY else name
    if name == "__builtin_classify_type":
        message = "the macros of tgmath.h cannot be used in a kernel"
        return source_error(node.range, message, "include math.h and call the function of the type (sqrtf, sqrt)")
    if name in _OUTPUT:
        remedy = "do input and output before or after the kernel"
    elif name in MEMORY:
        remedy = "get and give back memory outside the kernel; small scratch arrays may be declared in it"
    elif name in _RANDOM:
        remedy = "fill an array with random numbers before the kernel"
    elif name.startswith(("mem", "str")):
        remedy = "write the loop over the elements"
    else:
        remedy = (
            f"define '{name}' in this file or in a header it includes (static inline), or call it outside the kernel"
        )
    return source_error(node.range, f"'{name}' cannot be called in a kernel: it is not defined in this file", remedy)


_LOWERINGS: dict[CursorKind, Callable[[Context, Node], Expression]] = {
    CursorKind.DECL_REF_EXPR: _reference,
    CursorKind.ARRAY_SUBSCRIPT_EXPR: storage_accesses.access,
    CursorKind.MEMBER_REF_EXPR: storage_accesses.access,
    CursorKind.BINARY_OPERATOR: _binary,
    CursorKind.COMPOUND_ASSIGNMENT_OPERATOR: _binary,
    CursorKind.UNARY_OPERATOR: _unary,
    CursorKind.CSTYLE_CAST_EXPR: _cast,
    CursorKind.CALL_EXPR: _call,
    CursorKind.StmtExpr: _statement_expression,
    CursorKind.CXX_UNARY_EXPR: _size,
}
