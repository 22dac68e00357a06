"""The file's functions that kernels call: each is lowered once, callees come first."""

from __future__ import annotations

from dataclasses import field

from tilepragma.base.diagnostics import Diagnostics, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.frontend.clang.cursor_tree import ClangUnit, Key, Node
from tilepragma.frontend.clang.expression_lowering import lower_expression
from tilepragma.frontend.clang.implied_parameters import Implied, with_constness
from tilepragma.frontend.clang.lowering_context import Context, function_facts
from tilepragma.frontend.clang.objects import declare
from tilepragma.frontend.clang.statement_lowering import lower_function
from tilepragma.frontend.clang.type_conversion import TypeConverter
from tilepragma.ir.expressions import DataObject, Scope
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Function


@dataclass
class FunctionCollector:
    """Lowers called functions on demand; refuses recursion.

    `_lowered` has each function with the context in which it was lowered.
    """

    unit: ClangUnit
    diagnostics: Diagnostics
    types: TypeConverter
    _done: dict[Key, str] = field(default_factory=dict)
    _lowered: dict[str, tuple[Function, Context]] = field(default_factory=dict)
    _active: list[Key] = field(default_factory=list)

    def require(self, definition: Node, call: Node, caller: Context) -> str:
        """The name of the function, which is lowered at its first call. Raises SourceError."""
        key = definition.key
        name = definition.spelling
        if key in self._active:
            raise source_error(
                call.range, f"'{name}' calls itself, which a kernel cannot do", "write the recursion as a loop"
            )
        if key not in self._done:
            self._active.append(key)
            try:
                self._lowered[name] = self._lower(definition, call)
            finally:
                self._active.pop()
            self._done[key] = name
        if name not in caller.callees:
            caller.callees.append(name)
        caller.names.taken.add(name)
        return name

    def implied(self, name: str) -> tuple[Implied, ...]:
        """The parameters that lowering added to a function."""
        return tuple(self._lowered[name][1].implied)

    def parameters(self, name: str) -> tuple[DataObject, ...]:
        """All parameters of a required function, with those that lowering added."""
        return self._lowered[name][0].parameters

    def closure(self, callees: list[str]) -> tuple[tuple[Function, ...], set[str]]:
        """The functions and all their callees, callee first; and the records they use."""
        collected: dict[str, Function] = {}
        records: set[str] = set()

        def visit(name: str) -> None:
            if name not in self._lowered or name in collected:
                return
            function, context = self._lowered[name]
            for callee in context.callees:
                visit(callee)
            collected[name] = function
            records.update(context.records)

        for name in callees:
            visit(name)
        return tuple(collected.values()), records

    def _lower(self, definition: Node, call: Node) -> tuple[Function, Context]:
        name = definition.spelling
        if definition.type.get_canonical().kind.name == "FUNCTIONPROTO" and definition.type.is_function_variadic():
            raise source_error(
                call.range, f"'{name}' takes a variable number of arguments", "give it a fixed list of parameters"
            )
        context = Context(
            self.unit,
            self.diagnostics,
            self.types,
            self,
            function_facts(definition),
            is_region=False,
            lowering=lower_expression,
            names=Names({name}),
        )
        parameters = tuple(declare(context, parameter, Scope.LOCAL) for parameter in definition.parameters)
        result = context.convert(definition.cursor.result_type, definition.range)
        lowered = lower_function(context, definition.body)
        known = tuple(self._lowered[callee][0] for callee in context.callees)
        parameters, context.implied[:], lowered = with_constness(parameters, context.implied, lowered, known)
        added = (implied.object for implied in context.implied)
        return Function(name, result, (*parameters, *added), lowered, definition.range), context
