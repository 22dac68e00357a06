"""Lowers cursors of expressions to the IR's expressions."""

from __future__ import annotations

from tilepragma.base.diagnostics import SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.frontend.clang import literals, storage_accesses
from tilepragma.frontend.clang.calls import lower_call
from tilepragma.frontend.clang.cursor_tree import CursorKind, Node
from tilepragma.frontend.clang.initial_values import flip_flop_initializer
from tilepragma.frontend.clang.lowering_context import Context, strip
from tilepragma.frontend.clang.objects import known_number
from tilepragma.frontend.clang.type_conversion import is_array, is_pointer, is_record
from tilepragma.frontend.clang.written_objects import has_effects
from tilepragma.ir.expressions import Access, Assignment, Binary, Cast, Comma, Conditional, Expression, Increment, Unary
from tilepragma.ir.traversal import walk
from tilepragma.ir.types import ScalarType, Type, VoidType

_PLACES = {CursorKind.ARRAY_SUBSCRIPT_EXPR, CursorKind.MEMBER_REF_EXPR}
_ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="}
_INCREMENTS = {"x++": ("++", False), "x--": ("--", False), "++": ("++", True), "--": ("--", True)}
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


@dataclass(frozen=True)
class ExpressionLowering:
    """Lowers the expressions of one region or function."""

    context: Context

    def lower(self, node: Node) -> Expression:
        """The IR of an expression. Raises SourceError, located, with a remedy."""
        return literals.as_c_computes(self._lowered(strip(node)))

    def _lowered(self, node: Node) -> Expression:
        kind = node.kind
        if kind == CursorKind.INTEGER_LITERAL:
            return literals.integer_literal(node, self.type_of(node))
        if kind == CursorKind.FLOATING_LITERAL:
            return literals.floating_literal(node, self._scalar_type(node))
        if kind == CursorKind.CHARACTER_LITERAL:
            return literals.character_literal(node)
        if kind == CursorKind.DECL_REF_EXPR:
            return self._reference(node)
        if kind in _PLACES:
            return self.access(node)
        if kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            return self._binary(node)
        if kind == CursorKind.UNARY_OPERATOR:
            return self._unary(node)
        if kind == CursorKind.CONDITIONAL_OPERATOR:
            condition = self.truth(node.children[0])
            then, otherwise = (self.lower(child) for child in node.children[1:])
            return Conditional(condition, then, otherwise, self.type_of(node), node.range)
        if kind == CursorKind.CSTYLE_CAST_EXPR:
            return self._cast(node)
        if kind == CursorKind.CALL_EXPR:
            return lower_call(self.context, node, self.lower)
        if kind == CursorKind.StmtExpr:
            return self._statement_expression(node)
        if kind == CursorKind.CXX_UNARY_EXPR:
            return self._size(node)
        if kind == CursorKind.UNEXPOSED_EXPR and isinstance(value := node.evaluate(), int):
            return literals.constant(value, self.type_of(node), node.range)
        raise self._refusal(node)

    def truth(self, node: Node) -> Expression:
        """The IR of a condition: a pointer is true if it is not NULL."""
        return storage_accesses.null_test(self.context, node, self.lower) if is_pointer(node.type) else self.lower(node)

    def access(self, node: Node) -> Access:
        """The access that an lvalue denotes."""
        return storage_accesses.access(self.context, node, self.lower)

    def type_of(self, node: Node) -> Type:
        """The IR type of an expression; refuses addresses."""
        if is_pointer(node.type) or is_array(node.type):
            raise source_error(
                node.range, "an address is computed here, which kernels cannot do", "index the array where it is used"
            )
        return self.context.types.convert(node.type, node.range)

    def _scalar_type(self, node: Node) -> ScalarType:
        type_ = self.type_of(node)
        assert isinstance(type_, ScalarType)
        return type_

    def _reference(self, node: Node) -> Expression:
        declaration = node.declaration
        if declaration is not None and declaration.kind == CursorKind.ENUM_CONSTANT_DECL:
            return literals.constant(int(declaration.cursor.enum_value), self.type_of(node), node.range)
        if declaration is not None and declaration.kind == CursorKind.FUNCTION_DECL:
            raise source_error(
                node.range,
                f"the address of the function '{node.spelling}' cannot be used in a kernel",
                "call functions by their names",
            )
        if declaration is not None and declaration.key in self.context.values:
            return self.context.values[declaration.key]
        if declaration is not None and declaration.key not in self.context.declared:
            number = known_number(declaration)
            if number is not None:
                return literals.constant(number, self.type_of(node), node.range)
            value = flip_flop_initializer(self.context, node)
            if value is not None:
                return self.lower(value)
        return self.access(node)

    def _statement_expression(self, node: Node) -> Expression:
        """The value of `({ T a = x; T b = y; a > b ? a : b; })`: values replace the names."""
        *declarations, last = node.children[0].children
        names = [child for statement in declarations for child in statement.children]
        plain = (
            all(declaration.kind == CursorKind.DECL_STMT for declaration in declarations) and last.kind.is_expression()
        )
        if not plain or not all(map(self._is_named_value, names)):
            raise self._refusal(node)
        for name in names:
            initializer = name.unit.initializer(name)
            assert initializer is not None
            value = self.lower(initializer)
            why = "changes something" if has_effects(value) else "is long, and would be computed several times"
            if has_effects(value) or sum(1 for _ in walk(value)) > _LONGEST_VALUE:
                raise source_error(
                    node.range,
                    f"a statement expression cannot be used here: the value of its '{name.spelling}' {why}",
                    "put this into a variable in a statement of its own, or write a static inline function",
                )
            self.context.values[name.key] = Cast(self._scalar_type(name), value, initializer.range)
        return self.lower(last)

    def _is_named_value(self, declaration: Node) -> bool:
        """Whether the declaration is of a number that keeps its first value."""
        facts, key = self.context.facts, declaration.key
        return (
            declaration.kind == CursorKind.VAR_DECL
            and declaration.unit.initializer(declaration) is not None
            and not (is_pointer(declaration.type) or is_array(declaration.type) or is_record(declaration.type))
            and declaration.cursor.storage_class.name != "STATIC"
            and not declaration.type.is_volatile_qualified()
            and not facts.written_from(key, 0)
            and key not in facts.address_taken
        )

    def _binary(self, node: Node) -> Expression:
        operator = node.binary_operator
        if operator in _ASSIGNMENTS:
            return self._assignment(node, operator)
        if operator == ",":
            left, right = (self.lower(child) for child in node.children)
            return Comma(left, right, self.type_of(node), node.range)
        if operator in ("&&", "||"):
            left, right = (self.truth(child) for child in node.children)
            return Binary(operator, left, right, self.type_of(node), node.range)
        if is_pointer(node.children[0].type) or is_pointer(node.children[1].type):
            null = [_is_null(child) for child in node.children]
            if operator in ("==", "!=") and any(null):
                test = storage_accesses.null_test(self.context, node.children[0 if null[1] else 1], self.lower)
                return test if operator == "!=" else Unary("!", test, test.type, node.range)
            raise source_error(
                node.range,
                "addresses are computed or compared here, which kernels cannot do",
                "compare indices instead",
            )
        left, right = (self.lower(child) for child in node.children)
        return Binary(operator, left, right, self.type_of(node), node.range)

    def _assignment(self, node: Node, operator: str) -> Expression:
        if is_pointer(node.children[0].type):
            raise _pointer_written(node)
        target = self.access(node.children[0])
        value = self.lower(node.children[1])
        return Assignment(operator, target, value, self.type_of(node), node.range)

    def _unary(self, node: Node) -> Expression:
        operator = node.unary_operator
        if operator == "*":
            return self.access(node)
        if operator in _INCREMENTS:
            if is_pointer(node.children[0].type):
                raise _pointer_written(node)
            sign, prefix = _INCREMENTS[operator]
            target = self.access(node.children[0])
            return Increment(sign, prefix, target, self.type_of(node), node.range)
        if operator == "__extension__":
            return self.lower(node.children[0])
        if operator in ("+", "-", "~", "!"):
            operand = self.truth(node.children[0]) if operator == "!" else self.lower(node.children[0])
            return Unary(operator, operand, self.type_of(node), node.range)
        if operator == "&":
            raise source_error(
                node.range,
                "an address is taken here, which kernels can do for arguments of functions of this file only",
                "index the array where it is used",
            )
        raise source_error(
            node.range,
            f"the operator '{operator}' cannot be used in a kernel",
            "use the arithmetic operators of C99 on real numbers",
        )

    def _cast(self, node: Node) -> Expression:
        operand = node.children[-1]
        type_ = self.context.types.convert(node.type, node.range)
        if isinstance(type_, VoidType):
            return self.lower(operand)
        if is_pointer(node.type):
            raise source_error(
                node.range, "an address is cast to another type here", "index the array with its own type"
            )
        return Cast(type_, self.lower(operand), node.range)

    def _size(self, node: Node) -> Expression:
        value = node.evaluate()
        if value is None:
            raise source_error(
                node.range,
                "the size asked for here is known at run time only",
                "compute it before the kernel and keep it in a variable",
            )
        return literals.constant(int(value), self.type_of(node), node.range)

    def _refusal(self, node: Node) -> SourceError:
        if self.context.unit.text(node.file).startswith(b"assert", node.start):
            return source_error(
                node.range,
                "an assertion cannot be used in a kernel",
                "check it before or after the kernel, or compile with -DNDEBUG",
            )
        if node.kind in _REFUSED:
            message, remedy = _REFUSED[node.kind]
            return source_error(node.range, message, remedy)
        return source_error(node.range, "this expression cannot be used in a kernel", "write it in plain C99")


def _is_null(node: Node) -> bool:
    """Whether the expression is NULL or 0."""
    inner = strip(node)
    while inner.kind in (CursorKind.CSTYLE_CAST_EXPR, CursorKind.PAREN_EXPR):
        inner = strip(inner.children[-1])
    return inner.kind == CursorKind.INTEGER_LITERAL and inner.evaluate() == 0


def _pointer_written(node: Node) -> SourceError:
    return source_error(
        node.range,
        "a pointer is changed here; kernels can only use pointers that stay what they were",
        "index the array instead of moving the pointer",
    )
