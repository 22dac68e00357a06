"""Calls in kernels, of math.h's functions and of functions defined in the same translation unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from tilepragma.base.diagnostics import source_error
from tilepragma.frontend.clang import storage_accesses
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node
from tilepragma.frontend.clang.implied_parameters import implied_argument
from tilepragma.frontend.clang.lowering_context import Context, strip
from tilepragma.ir.expressions import (
    Access,
    AddressOf,
    Call,
    Callee,
    Cast,
    DataObject,
    Expression,
    FloatingLiteral,
    Storage,
)
from tilepragma.ir.types import DOUBLE, FLOAT, PointerType, RecordType

Lower = Callable[[Node], Expression]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REAL = _words(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround nearbyint nextafter "
    "pow remainder rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc"
)
_CLASSIFYING = _words(
    "isnan isinf isfinite isnormal signbit isgreater isgreaterequal isless islessequal islessgreater isunordered"
)
_WHOLE = ("abs", "labs", "llabs")

#: Every function that some target has under its C name.
MATH = (
    frozenset(name + suffix for name in _REAL for suffix in ("", "f", "l"))
    | frozenset(_CLASSIFYING)
    | frozenset(_WHOLE)
)
_INNER_NAMES = {
    "__isnan": "isnan", "__isnanf": "isnan", "__isinf": "isinf", "__isinff": "isinf", "__finite": "isfinite",
    "__finitef": "isfinite", "__signbit": "signbit", "__signbitf": "signbit", "__isnanl": "isnan", "__isinfl": "isinf",
    "__builtin_isinf_sign": "isinf", "isnanf": "isnan", "isinff": "isinf", "finite": "isfinite", "finitef": "isfinite",
    "__builtin_signbitf": "signbit", "__builtin_signbitl": "signbit", "__finitel": "isfinite", "__signbitl": "signbit",
}  # fmt: skip
_INFINITE = {"huge_val": DOUBLE, "huge_valf": FLOAT, "inf": DOUBLE, "inff": FLOAT}
_NOT_A_NUMBER = {"nan": DOUBLE, "nanf": FLOAT}
_OUTPUT = {"printf", "fprintf", "puts", "putchar", "putc", "fputs", "perror", "fwrite", "scanf", "fscanf", "fflush"}
_MEMORY = {"malloc", "calloc", "realloc", "free", "alloca", "posix_memalign", "aligned_alloc"}
_RANDOM = {"rand", "srand", "random", "drand48", "rand_r"}


def lower_call(context: Context, node: Node, lower: Lower) -> Expression:
    """The IR of a call. Raises SourceError for functions that a kernel cannot call."""
    callee = strip(node.children[0]) if node.children else node
    declaration = callee.declaration if callee.kind == CursorKind.DECL_REF_EXPR else None
    if declaration is None or declaration.kind != CursorKind.FUNCTION_DECL:
        raise source_error(
            node.range, "a function is called through a pointer here", "call functions by their names in kernels"
        )
    name = declaration.spelling
    if name == "__builtin_expect":
        return lower(node.children[1])
    result = context.types.convert(node.type, node.range)
    if isinstance(result, RecordType):
        context.records.add(result.spelling)
    definition = declaration.cursor.get_definition()
    if definition is None or node.unit.is_system(str(definition.location.file.name)) and _math_name(name) is not None:
        constant = _constant(name, node)
        if constant is not None:
            return constant
        math_name = _math_name(name)
        if math_name is None:
            raise _unknown(name, node)
        arguments = tuple(_converted(context, argument, lower) for argument in node.children[1:])
        return Call(math_name, Callee.MATH, arguments, result, node.range)
    passed = tuple(
        storage_accesses.pointer_argument(context, argument, lower)
        if storage_accesses.is_address(argument.type)
        else lower(argument)
        for argument in node.children[1:]
    )
    function = context.functions.require(Node(definition, node.unit), node, context)
    implied = [
        implied_argument(context, parameter, node.range, lower) for parameter in context.functions.implied(function)
    ]
    addressed = map(_with_constness, passed, context.functions.parameters(function))
    return Call(function, Callee.USER, (*addressed, *implied), result, node.range, len(implied))


def _with_constness(argument: Expression, parameter: DataObject) -> Expression:
    """The argument; its address points to const if the function only reads the parameter."""
    match argument:
        case Access(type=PointerType(pointee) as type_) | AddressOf(type=PointerType(pointee) as type_):
            if parameter.storage is Storage.CONTIGUOUS and not isinstance(pointee, PointerType):
                return replace(argument, type=replace(type_, const=parameter.const))
    return argument


def _converted(context: Context, argument: Node, lower: Lower) -> Expression:
    """The argument in the parameter's type: devices overload math functions by argument type."""
    lowered = lower(argument)
    type_ = context.types.convert(argument.type, argument.range)
    return lowered if lowered.type == type_ else Cast(type_, lowered, argument.range)


def _math_name(name: str) -> str | None:
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
    name = plain if plain in _OUTPUT | _MEMORY else name
    if name == "__builtin_classify_type":
        return source_error(
            node.range,
            "the macros of tgmath.h cannot be used in a kernel",
            "include math.h and call the function of the type (sqrtf, sqrt)",
        )
    if name in _OUTPUT:
        remedy = "do input and output before or after the kernel"
    elif name in _MEMORY:
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
