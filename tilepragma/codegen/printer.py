"""Prints expressions, types and declarators of all targets, whose differences a Dialect holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import cast

from tilepragma.base.frozen_values import dataclass
from tilepragma.codegen.dialect import Dialect
from tilepragma.codegen.literal_values import literal_value
from tilepragma.ir.expressions import (
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
    Index,
    IntegerLiteral,
    Storage,
    Unary,
    conjunction,
    conjuncts,
)
from tilepragma.ir.loop_tree import Initializer
from tilepragma.ir.polynomial import is_scalar
from tilepragma.ir.types import (
    INDEX,
    INT,
    LONG,
    ArrayType,
    PointerType,
    RecordType,
    ScalarKind,
    ScalarType,
    Type,
    VoidType,
)

COMMA, ASSIGNMENT, CONDITIONAL, UNARY, POSTFIX, PRIMARY = 0, 1, 2, 13, 14, 15
_BINARY = {
    "||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "<": 9, ">": 9, "<=": 9, ">=": 9,
    "<<": 10, ">>": 10, "+": 11, "-": 11, "*": 12, "/": 12, "%": 12,
}  # fmt: skip
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})

_INTEGER_SECOND = frozenset({"ldexp", "scalbn", "scalbln"})
_INTEGER_BITS = {"abs": 32, "labs": 64, "llabs": 64}
#: C functions that round to an integer type, by the floating function that OpenCL has instead.
_ROUNDING = {"lround": "round", "llround": "round", "lrint": "rint", "llrint": "rint"}
_OPENCL_NAMES = {"scalbn": "ldexp", "scalbln": "ldexp", "finite": "isfinite"}
#: Classification macros take the type of their argument.
_GENERIC = frozenset({"isnan", "isinf", "isfinite", "isnormal", "signbit"})
_DOUBLE_NAMES_IN_F = frozenset({"erf", "modf"})


@dataclass(frozen=True)
class Flat:
    """A device array behind one pointer. `lengths` are the printed lengths of dimensions 1 and up.
    `lowers` (ROWS) is subtracted from each subscript, `origin` from the whole index.
    """

    lengths: tuple[str, ...]
    origin: str | None = None
    lowers: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class Printer:
    """Prints for one dialect. The text reaches `flat` arrays by one index, `indirect` scalars by a
    pointer, and others as in C. `host_names` prints DataObject.host instead of the name (in the
    user's function). `called` gives the printed name of a user's function that is called, and the
    arguments added after the user's.
    """

    dialect: Dialect
    flat: Mapping[DataObject, Flat] = field(default_factory=dict)
    indirect: frozenset[DataObject] = frozenset()
    host_names: bool = False
    called: Callable[[Call], tuple[str, tuple[str, ...]]] = lambda call: (call.function, ())

    def expression(self, node: Expression, least: int = COMMA) -> str:
        """`node` as text, in parentheses where its operator binds less tightly than `least`."""
        text, precedence = self._print(node)
        return f"({text})" if precedence < least else text

    def condition(self, node: Expression) -> str:
        """The condition of an if or a loop. Assignments get extra parentheses."""
        text = self.expression(joined(node) if self.dialect.device else node)
        return f"({text})" if isinstance(node, Assignment) else text

    def name(self, object_: DataObject) -> str:
        """The name of an object in the text."""
        return object_.host if self.host_names else self.dialect.identifier(object_.name)

    def type(self, type_: Type, inner: str = "") -> str:
        """The declaration of `inner` with `type_`; the type's name where `inner` is empty."""
        match type_:
            case PointerType(pointee, const, restrict):
                stars = "*" + (f"{self.dialect.restrict} " if restrict else "") + inner
                if const and isinstance(pointee, PointerType):
                    return self.type(pointee, f"const {stars}")
                nested = f"({stars.rstrip()})" if isinstance(pointee, ArrayType) else stars
                return ("const " if const else "") + self.type(pointee, nested.rstrip() if not inner else nested)
            case ArrayType(element, length):
                size = "" if length is None else self.expression(cast(Expression, length), ASSIGNMENT)
                return self.type(element, f"{inner}[{size}]")
            case _:
                return f"{self._base(type_)} {inner}" if inner else self._base(type_)

    def typed(self, object_: DataObject) -> str:
        """`T x`: the declaration of a scalar, whether constant or not."""
        return self.type(object_.element, self.name(object_))

    def declaration(self, object_: DataObject) -> str:
        """`const T x[n]`: a local object, without initialiser."""
        lengths = list(object_.lengths)
        inner = self.name(object_)
        if object_.storage is Storage.ROWS:
            inner = "*" * len(lengths) + inner
        elif lengths and lengths[0] is None:
            tail = "".join(f"[{self.expression(length, ASSIGNMENT)}]" for length in lengths[1:] if length is not None)
            pointer = f"*{self.dialect.restrict} {inner}" if object_.restrict else f"*{inner}"
            inner = f"({pointer}){tail}" if tail else pointer
        else:
            inner += "".join(f"[{self.expression(length, ASSIGNMENT)}]" for length in lengths if length is not None)
        return ("const " if object_.const else "") + self.type(object_.element, inner)

    def initializer(self, value: Initializer, element: Type) -> str:
        """The text after `=`; braces for a tuple. `element` is the type of its elements."""
        if isinstance(value, tuple):
            kinds = [field_.type for field_ in element.fields] if isinstance(element, RecordType) else []
            nested = any(isinstance(item, tuple) for item in value)
            types = kinds if len(kinds) >= len(value) and not nested else [element] * len(value)
            return "{" + ", ".join(map(self._braced, value, types)) + "}"
        return self._converted_value(value, element)

    def _braced(self, value: Initializer, type_: Type) -> str:
        if isinstance(value, tuple):
            return self.initializer(value, type_)
        narrowed = self.dialect.narrowing and isinstance(type_, ScalarType) and value.type != type_
        return self.expression(Cast(type_, value), ASSIGNMENT) if narrowed else self._converted_value(value, type_)

    def _converted_value(self, value: Expression, type_: Type) -> str:
        """`value` stored as `type_`, with a conversion to OpenCL C's replacement of _Bool."""
        if self._is_boolean_store(type_):
            return f"{self.expression(value, _BINARY['=='] + 1)} != 0"
        text = self.expression(value, ASSIGNMENT)
        return f"tilek_short({text})" if type_ == INDEX and value.type == LONG else text

    def _base(self, type_: Type) -> str:
        match type_:
            case ScalarType():
                return self.dialect.scalar(type_)
            case RecordType():
                if not self.dialect.device:
                    return type_.spelling
                return f"{'union' if type_.is_union else 'struct'} {self.dialect.identifier(type_.tag)}"
            case VoidType():
                return "void"
            case _:
                return self.type(type_)

    def _print(self, node: Expression) -> tuple[str, int]:  # noqa: C901
        match node:
            case IntegerLiteral():
                return self._integer(node)
            case FloatingLiteral():
                return node.spelling, UNARY if node.spelling.startswith("-") else PRIMARY
            case Access():
                return self._access(node)
            case AddressOf(target):
                if self.dialect.device and len(target.subscripts) < target.object.rank:
                    return self._access(target)  # rows are printed as the address of their first element
                return f"&{self.expression(target, UNARY)}", UNARY
            case Unary(operator, operand):
                text = self.expression(operand, UNARY)
                return f"{operator}({text})" if text.startswith(operator) else f"{operator}{text}", UNARY
            case Cast(type_, operand):
                if self._is_boolean_store(type_):
                    return f"(uchar)({self.expression(operand, _BINARY['=='] + 1)} != 0)", UNARY
                return f"({self.type(type_)}){self.expression(operand, UNARY)}", UNARY
            case Binary(operator):
                precedence = _BINARY[operator]
                left = self._operand(node.left, precedence, operator)
                return f"{left} {operator} {self._operand(node.right, precedence + 1, operator)}", precedence
            case Assignment():
                return self._assignment(node), ASSIGNMENT
            case Increment(operator, prefix, target):
                text = self.expression(target, POSTFIX)
                if self.dialect.device and _is_boolean(target.type):
                    return _boolean_increment(operator, prefix, text), PRIMARY
                return (f"{operator}{text}", UNARY) if prefix else (f"{text}{operator}", POSTFIX)
            case Conditional(condition, then, otherwise):
                test = self.expression(condition, CONDITIONAL + 1)
                is_integer = isinstance(condition.type, ScalarType) and not condition.type.is_floating
                if self.dialect.has_strict_choices and not is_integer:
                    test = f"{self._operand(condition, _BINARY['=='], '!=')} != 0"
                rest = self.expression(otherwise, CONDITIONAL)
                return f"{test} ? {self.expression(then, ASSIGNMENT)} : {rest}", CONDITIONAL
            case Comma(left, right):
                return f"{self.expression(left, COMMA)}, {self.expression(right, ASSIGNMENT)}", COMMA
            case Call():
                return self._call(node)

    def _integer(self, node: IntegerLiteral) -> tuple[str, int]:
        spelling = node.spelling
        if self.dialect.device and isinstance(node.type, ScalarType):
            plain = spelling.rstrip("uUlL") if spelling.lstrip("-")[:1].isdigit() else ""
            if not plain or plain[:2] in ("0b", "0B"):
                plain = spelling if len(spelling) == 3 and spelling.isascii() else str(node.value)
            signed, unsigned = self.dialect.literal_suffixes if node.type.bits == 64 else ("", "u")
            spelling = plain + (signed if node.type.signed else unsigned)
        return spelling, UNARY if spelling.startswith("-") else PRIMARY

    def scalar(self, object_: DataObject) -> str:
        """A scalar as an operand."""
        return f"{self.name(object_)}[0]" if object_ in self.indirect else self.name(object_)

    def _access(self, node: Access) -> tuple[str, int]:
        object_ = node.object
        text, precedence = self.name(object_), PRIMARY
        flat = self.flat.get(object_)
        if object_ in self.indirect:
            text, precedence = self.scalar(object_), POSTFIX
        elif flat is not None and len(node.subscripts) == object_.rank:
            text, precedence = f"{text}[{self.flat_index(node, flat)}]", POSTFIX
        elif flat is not None:
            index = self.flat_index(node, flat)
            text, precedence = (text, PRIMARY) if index == "0" else (f"{text} + {index}", _BINARY["+"])
        elif self.dialect.device and len(node.subscripts) < object_.rank and object_.rank > 1:
            subscripts = [self.expression(subscript) for subscript in node.subscripts]
            subscripts += ["0"] * (object_.rank - len(subscripts))
            return f"&{text}" + "".join(f"[{subscript}]" for subscript in subscripts), UNARY
        elif node.subscripts:
            subscripts = [self.expression(subscript) for subscript in node.subscripts]
            text, precedence = text + "".join(f"[{subscript}]" for subscript in subscripts), POSTFIX
        for step in node.path:
            text = text if precedence >= POSTFIX else f"({text})"
            if isinstance(step, Index):
                text += f"[{self.expression(step.index)}]"
            else:
                text += f".{self.dialect.identifier(step.name)}"
            precedence = POSTFIX
        return text, precedence

    def flat_index(self, node: Access, flat: Flat) -> str:
        """The row-major index of an access, in the dialect's type; missing subscripts are 0."""
        total, is_sum = "", False
        rank = node.object.rank
        for dimension in range(rank):
            if total and dimension > 0:
                total = f"({total})" if is_sum else total
                total, is_sum = f"{total} * {flat.lengths[dimension - 1]}", False
            lower = flat.lowers[dimension] if flat.lowers else None
            subscript = node.subscripts[dimension] if dimension < len(node.subscripts) else None
            widened = not total and (dimension < rank - 1 or flat.origin is not None)
            term = self._term(subscript, lower, widened)
            if term and total:
                total, is_sum = f"{total} + {term}", True
            elif term:
                total, is_sum = term, " " in term and not term.startswith("(")
        total = total or "0"
        return f"{total} - {flat.origin}" if flat.origin else total

    def _term(self, subscript: Expression | None, lower: str | None, widened: bool) -> str:
        """One subscript less its lower bound; empty for 0."""
        if subscript is None or literal_value(subscript) == 0:
            return f"(0 - {lower})" if lower else ""
        text = self.expression(subscript, UNARY if widened else _BINARY["+"])
        text = f"({self.dialect.index}){text}" if widened else text
        return f"({text} - {lower})" if lower else text

    def _operand(self, node: Expression, least: int, parent: str) -> str:
        if isinstance(node, Binary) and _asks_for_parentheses(parent, node.operator):
            least = PRIMARY
        return self.expression(node, least)

    def _is_boolean_store(self, type_: Type) -> bool:
        return _is_boolean(type_) and not self.dialect.has_booleans

    def _assignment(self, node: Assignment) -> str:
        target, operator, value = node.target, node.operator, node.value
        if operator != "=" and self._is_boolean_store(target.type):
            operator, value = "=", Binary(operator[:-1], target, value, INT)
        return f"{self.expression(target, UNARY)} {operator} {self._converted_value(value, target.type)}"

    def _call(self, node: Call) -> tuple[str, int]:
        if node.callee is not Callee.MATH or not self.dialect.device:
            name, lengths = self.called(node) if node.callee is Callee.USER else (node.function, ())
            name = f"{name}_index" if node.callee is Callee.HELPER and node.type == INDEX else name
            passed = node.arguments if self.dialect.device else node.arguments[: len(node.arguments) - node.implied]
            arguments = (*map(self._argument, passed), *lengths)
            return f"{name}({', '.join(arguments)})", POSTFIX
        return self._math(node)

    def _argument(self, argument: Expression) -> str:
        """The argument, cast where C does not convert `T **` to a pointer to const rows."""
        match argument.type:
            case PointerType(PointerType() as rows, const) as type_ if const or rows.const:
                if not self.dialect.device:
                    return f"({self.type(type_)}){self.expression(argument, UNARY)}"
        return self.expression(argument, ASSIGNMENT)

    def _math(self, node: Call) -> tuple[str, int]:
        """A device's call of a function of math.h, or of stdlib.h's abs family, with C's result.

        C's `sqrt(x)` computes in double for every type of x. The overloads of OpenCL C and CUDA C++
        follow their arguments. So every floating argument is cast to the type that the C name
        stands for.
        """
        function, count, overloaded = node.function, len(node.arguments), self.dialect.has_overloaded_math
        name, result = function, ""
        if function in _INTEGER_BITS:
            bits = [-_INTEGER_BITS[function]] * count
            if overloaded:
                name, result = "abs", "int" if _INTEGER_BITS[function] == 32 else self.dialect.wide
        elif function in _GENERIC:
            bits = [0] * count
        else:
            single = function.endswith("f") and function not in _DOUBLE_NAMES_IN_F
            base, width = (function[:-1], 32) if single else (function, 64)
            bits = [width] + [-32 if base in _INTEGER_SECOND else width] * (count - 1)
            if overloaded:
                name = _ROUNDING.get(base) or _OPENCL_NAMES.get(base, base)
                result = self.dialect.wide if base in _ROUNDING else ""
        arguments = ", ".join(map(self._converted, node.arguments, bits))
        return (f"({result}){name}({arguments})", UNARY) if result else (f"{name}({arguments})", POSTFIX)

    def _converted(self, argument: Expression, bits: int) -> str:
        """Cast to a floating type of so many bits, an integer type if negative; 0: not cast."""
        type_ = argument.type
        matches = isinstance(type_, ScalarType) and type_.is_floating == (bits > 0) and type_.bits == abs(bits)
        if bits == 0 or matches:
            return self.expression(argument, ASSIGNMENT)
        integer = "int" if bits == -32 else self.dialect.wide
        return f"({integer if bits < 0 else 'float' if bits == 32 else 'double'}){self.expression(argument, UNARY)}"


def _is_boolean(type_: Type) -> bool:
    return isinstance(type_, ScalarType) and type_.kind is ScalarKind.BOOLEAN


def _boolean_increment(operator: str, prefix: bool, text: str) -> str:
    """C's `++` and `--` of a _Bool, which saturate and toggle. OpenCL C and C++ differ."""
    if operator == "--":
        return f"({text} = !{text})" if prefix else f"(!({text} = !{text}))"
    return f"({text} = 1)" if prefix else f"({text} ? 1 : ({text} = 1, 0))"


def _asks_for_parentheses(parent: str, child: str) -> bool:
    """Whether gcc's -Wparentheses and readers ask for parentheses that precedence does not need."""
    if parent == "||":
        return child == "&&"
    if parent in ("<<", ">>"):
        return child in ("+", "-")
    if parent in ("&", "|", "^"):
        return child != parent and (child in _COMPARISONS or child in ("+", "-", "&", "|", "^", "<<", ">>"))
    return parent in _COMPARISONS and child in _COMPARISONS


def joined(condition: Expression) -> Expression:
    """The condition with `x >= max(a, b)` for `x >= a && x >= b`, and `x <= min(a, b)` likewise, of
    short integers: what does not change in a loop over x is computed once.
    """
    if isinstance(condition, Binary) and condition.operator == "||":
        return Binary("||", joined(condition.left), joined(condition.right), INT)
    tests: list[Expression] = []
    ends: dict[tuple[str, Expression], int] = {}
    for test in conjuncts(condition):
        helper = _EXTREMES.get(test.operator) if isinstance(test, Binary) else None
        if helper is None or not isinstance(test, Binary) or {test.left.type, test.right.type} != {INDEX}:
            tests.append(test if test is condition else joined(test))
            continue
        place = ends.setdefault((test.operator, test.left), len(tests)) if is_scalar(test.left) else len(tests)
        if place < len(tests):
            earlier = tests[place]
            assert isinstance(earlier, Binary), "ends are comparisons"
            right = Call(helper, Callee.HELPER, (earlier.right, test.right), INDEX)
            tests[place] = Binary(test.operator, test.left, right, INT)
        else:
            tests.append(test)
    return conjunction(tests)


_EXTREMES = {">=": "tilek_maximum", "<=": "tilek_minimum"}
