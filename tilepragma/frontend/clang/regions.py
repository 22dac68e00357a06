"""Binds directives to statements and builds the kernels of a translation unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import combinations

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.reserved_words import RESERVED
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.clause_objects import reduced_lengths, resolve_clauses
from tilepragma.frontend.clang.cursor_tree import LOOPS, ClangUnit, CursorKind, Node
from tilepragma.frontend.clang.expression_lowering import lower_expression
from tilepragma.frontend.clang.implied_parameters import check_implied
from tilepragma.frontend.clang.liveness import Liveness
from tilepragma.frontend.clang.lowering_context import (
    Context,
    FunctionCollector,
    FunctionFacts,
    function_facts,
    whole_uses,
)
from tilepragma.frontend.clang.objects import identifier
from tilepragma.frontend.clang.statement_extents import BoundStatement, statement_extent
from tilepragma.frontend.clang.statement_lowering import lower_called
from tilepragma.frontend.clang.struct_members import paths_overlap
from tilepragma.frontend.clang.type_conversion import TypeConverter, records_used
from tilepragma.frontend.clang.written_objects import written_in
from tilepragma.frontend.pragma.scanner import LocatedDirective
from tilepragma.frontend.pragma.text_scan import macro_use_end, next_statement
from tilepragma.ir.accesses import implied_objects
from tilepragma.ir.directives import KernelDirective, LoopDirective
from tilepragma.ir.expressions import Access, DataObject, Scope, Storage
from tilepragma.ir.fresh_names import Names
from tilepragma.ir.loop_tree import Block, Kernel, Parameter, SourceFile
from tilepragma.ir.substitution import with_objects
from tilepragma.ir.traversal import loop_directives, walk
from tilepragma.ir.types import RecordType, Type

_STEP = re.compile(r"->|\.")

#: Kernels that the same text under the same directives always gives, None if refused, and what is
#: reported of them: by the directive, and the directives of its loops with their offsets.
LoweredKernels = dict[
    tuple[LocatedDirective, tuple[tuple[int, LoopDirective], ...]], tuple[Kernel | None, tuple[Diagnostic, ...]]
]


@dataclass
class RegionBuilder:
    """Turns the directives of all files into kernels; holds the state of one translation unit."""

    unit: ClangUnit
    diagnostics: Diagnostics
    skipped: dict[str, tuple[tuple[int, int], ...]]
    types: TypeConverter = field(default_factory=TypeConverter)
    names: Names = field(default_factory=Names)
    functions: FunctionCollector = field(init=False)
    lowered: LoweredKernels = field(default_factory=dict)
    wrapped: list[BoundStatement] = field(default_factory=list)
    """statements that a macro begins or ends"""
    _definitions: list[Node] | None = None

    def __post_init__(self) -> None:
        self.functions = FunctionCollector(self.unit, self.diagnostics, self.types, lower_called)

    def locate(self, file: SourceFile, directives: Iterable[LocatedDirective]) -> tuple[LocatedDirective, ...]:
        """Find the statement after each directive of a file. A line of OpenMP before the statement
        of a kernel that the user wrote gives way.
        """
        ends = {d.range.start.offset: d.end_offset for d in directives}
        placed = [replace(d, statement=self._statement_after(file, d, ends)) for d in directives]
        written = {d.statement for d in placed if d.kernel is not None and d.openmp_line is None}
        return tuple(d for d in placed if d.openmp_line is None or d.statement not in written)

    def _statement_after(self, file: SourceFile, directive: LocatedDirective, ends: Mapping[int, int]) -> int | None:
        """Where the statement after a directive begins, behind macros that are empty or pragmas."""
        skipped = self.skipped.get(file.path, ())
        first = offset = next_statement(file.text, directive.end_offset, ends, skipped)
        function = None if first is None else self._function_at(file.path, directive.range.start.offset)
        body = None if function is None else function.body
        while body is not None and offset is not None and find_statement(body, offset) is None:
            behind = macro_use_end(file.text, offset)
            offset = None if behind is None else next_statement(file.text, behind, ends, skipped)
        return first if offset is None else offset

    def bind(self, directive: LocatedDirective, offset: int, what: str) -> BoundStatement:
        """The statement at `offset` in the function around the directive, or a SourceError."""
        facts = self.function_around(directive, what)
        path = find_statement(facts.node.body, offset)
        if path is None:
            message = f"no statement follows '{what}'"
            raise source_error(directive.range, message, f"put '{what}' right before a loop or a block")
        return self.bound(facts, path)

    def bound(self, facts: FunctionFacts, path: tuple[Node, ...]) -> BoundStatement:
        """The statement at a path's end. Raises SourceError if its text leaves the file."""
        range_, in_macro = statement_extent(path[-1], facts.node)
        statement = BoundStatement(facts, path, range_)
        if in_macro:
            self.wrapped.append(statement)
        return statement

    def function_around(self, directive: LocatedDirective, what: str) -> FunctionFacts:
        """The function that the directive stands in. Raises SourceError outside functions."""
        offset = directive.range.start.offset
        function = self._function_at(directive.range.file, offset)
        if function is None:
            message = f"'{what}' stands outside every function"
            raise source_error(directive.range, message, "put it inside a function, before the statement it is about")
        if function.file != directive.range.file:
            raise source_error(
                directive.range,
                f"'{what}' stands in a file that is included inside a function, "
                "where no launch can be put around a loop",
                "write the function in that file, or the loop in the function's file",
            )
        if len(self._definitions_at(directive.range.file, offset)) > 1:
            raise source_error(
                directive.range,
                f"'{function.file}' is included more than once, each time with this text, "
                "which then stands for several kernels",
                "include it once, or write a function for each of them",
            )
        return function_facts(function)

    def _function_at(self, path: str, offset: int) -> Node | None:
        node = self.unit.node_at(path, offset)
        if node is not None and (node.kind.is_statement() or node.kind.is_expression()) and node.is_local:
            return self.unit.declared(node.cursor.semantic_parent)
        return next(iter(self._definitions_at(path, offset)), None)

    def _definitions_at(self, path: str, offset: int) -> list[Node]:
        """The functions that hold the place; several if the file is included several times."""
        if self._definitions is None:
            functions = (node for node in self.unit.file_scope() if node.kind == CursorKind.FUNCTION_DECL)
            self._definitions = [node for node in functions if node.cursor.is_definition()]
        return [node for node in self._definitions if node.start <= offset < node.end and node.file == path]

    def bind_kernels(self, directives: tuple[LocatedDirective, ...]) -> list[tuple[LocatedDirective, BoundStatement]]:
        """One file's kernel directives with their statements, in order; reports every fault."""
        bound: list[tuple[LocatedDirective, BoundStatement]] = []
        openmp = list(self._openmp_statements(directives))
        for directive in directives:
            if directive.kernel is not None:
                with self.diagnostics.about(directive.openmp_line), self.diagnostics.reporting():
                    statement = self._kernel_statement(directive)
                    if directive.openmp_line is not None:
                        self._refuse_inner_line(directive, [*openmp, *(earlier for _, earlier in bound)])
                    self._refuse_nesting(directive, statement, [earlier for _, earlier in bound])
                    bound.append((directive, statement))
        return bound

    def _openmp_statements(self, directives: Iterable[LocatedDirective]) -> Iterator[BoundStatement]:
        """The statements that stay OpenMP's."""
        for directive in directives:
            if directive.stays_openmp and directive.statement is not None:
                facts = self.function_around(directive, "#pragma omp")
                path = find_statement(facts.node.body, directive.statement)
                if path is not None:
                    yield self.bound(facts, path)

    def _refuse_inner_line(self, directive: LocatedDirective, outer: Iterable[BoundStatement]) -> None:
        """OpenMP's threads and a kernel's iterations run OpenMP's lines inside by themselves."""
        if any(statement.range.holds(directive.range.file, directive.range.start.offset) for statement in outer):
            raise source_error(directive.range, "what is around it is parallel already")

    def _kernel_statement(self, directive: LocatedDirective) -> BoundStatement:
        what = "#pragma tilek kernel" if directive.loop is None else "#pragma tilek kernel loop"
        facts = self.function_around(directive, what)
        path = None if directive.statement is None else find_statement(facts.node.body, directive.statement)
        wanted = (*LOOPS, CursorKind.COMPOUND_STMT) if directive.loop is None else (CursorKind.FOR_STMT,)
        if path is None or path[-1].kind not in wanted:
            remedy = "put it right before a 'for' loop" + ("" if directive.loop else " or a '{' block")
            raise source_error(directive.range, f"no loop follows '{what}'", remedy)
        return self.bound(facts, path)

    def _refuse_nesting(
        self, directive: LocatedDirective, statement: BoundStatement, earlier: list[BoundStatement]
    ) -> None:
        for outer in earlier:
            if outer.range.start.offset == statement.range.start.offset and outer.range.file == statement.range.file:
                message = "two 'kernel' directives stand before one statement"
                raise source_error(directive.range, message, "keep one of them")
            if outer.range.holds(directive.range.file, directive.range.start.offset):
                raise source_error(
                    directive.range,
                    "a kernel cannot stand inside a kernel",
                    "take the inner '#pragma tilek kernel' out; use '#pragma tilek loop' for loops of the outer kernel",
                )

    def bind_loops(
        self, directives: tuple[LocatedDirective, ...], kernels: list[tuple[LocatedDirective, BoundStatement]]
    ) -> dict[int, LoopDirective]:
        """Loop directives by the offset of their `for`; reports every fault."""
        loops: dict[int, LoopDirective] = {}
        for directive in directives:
            if directive.loop is not None:
                with self.diagnostics.about(directive.openmp_line), self.diagnostics.reporting():
                    offset = self._loop_offset(directive, kernels)
                    if offset in loops:
                        remedy = "put all clauses into one of them"
                        self.diagnostics.error(directive.range, "two 'loop' directives stand before one loop", remedy)
                    loops[offset] = directive.loop
        return loops

    def _loop_offset(self, directive: LocatedDirective, kernels: list[tuple[LocatedDirective, BoundStatement]]) -> int:
        offset = directive.statement
        facts = self.function_around(directive, "#pragma tilek loop")
        file = directive.range.file
        around = [kernel for _, kernel in kernels if offset is not None and kernel.range.holds(file, offset)]
        path = None if offset is None else find_statement(facts.node.body, offset)
        is_kernel = not around and directive.kernel is not None
        if is_kernel or offset is None or path is None or path[-1].kind != CursorKind.FOR_STMT:
            what = "#pragma tilek kernel loop" if is_kernel else "#pragma tilek loop"
            raise source_error(directive.range, f"no loop follows '{what}'", "put it right before a 'for' loop")
        if not around:
            remedy = "put '#pragma tilek kernel' before the outermost loop, or write '#pragma tilek kernel loop'"
            raise source_error(directive.range, "'#pragma tilek loop' stands outside every kernel", remedy)
        return offset

    def context(
        self, statement: BoundStatement, loops: Mapping[int, LoopDirective], diagnostics: Diagnostics
    ) -> Context:
        """The context that lowers a statement; `loops` are directives by offset of their `for`."""
        functions = FunctionCollector(self.unit, diagnostics, self.types, lower_called)
        whole = whole_uses(statement.node)
        return Context(
            self.unit, diagnostics, self.types, functions, statement.facts, True, lower_expression, whole, dict(loops)
        )

    def kernel(
        self, context: Context, body: Block, directive: KernelDirective, statement: BoundStatement, name: str
    ) -> Kernel:
        """The kernel of a body from the context. Raises SourceError for what no kernel can do."""
        start = statement.range.start.offset
        directive = resolve_clauses(context, directive, start)
        instead = reduced_lengths(context, (directive, *loop_directives(body)), start)
        written = written_in(body).all
        _refuse_overlap(context, written, statement.range)
        _refuse_union(context, written, body, statement.range)
        check_implied(implied_objects(body), directive, written)
        functions, records = context.functions.closure(context.callees)
        liveness = Liveness(statement.facts, statement.path)
        changed = [o for o in context.used.values() if o in written]
        scalars = [o for o in changed if o.storage is Storage.SCALAR]
        arrays = [o for o in changed if o.storage is Storage.CONTIGUOUS and "->" not in o.host]
        read_after = frozenset(
            o.name for o in scalars if "->" in o.host or liveness.read_after(context.roots[o.host], _members(o))
        )
        # A pointer in a struct has no first length, and leads to memory that outlives the struct.
        mortal = (o for o in arrays if o.lengths[0] is not None or not _members(o))
        dead_arrays = frozenset(o.name for o in mortal if liveness.forgets(context.roots[o.host], o.rank, _members(o)))
        parameters = tuple(Parameter(node.spelling, self._known_type(node)) for node in statement.facts.node.parameters)
        objects = (*context.used.values(), *(o for o in context.declared.values() if o.scope is Scope.REGION))
        return Kernel(
            name=name,
            directive=directive,
            body=with_objects(body, instead),
            objects=tuple(instead.get(object_, object_) for object_ in objects),
            functions=functions,
            records=records_used(self.types, context.records | records),
            read_after=read_after,
            enclosing=replace(statement.enclosing, parameters=parameters),
            range=statement.range,
            dead_arrays=dead_arrays,
        )

    def _known_type(self, declaration: Node) -> Type | None:
        try:
            return self.types.convert(declaration.type, declaration.range)
        except SourceError:
            return None

    def kernel_name(self, wanted: str) -> str:
        """A unique name for a kernel."""
        is_taken = wanted in RESERVED or wanted == "main"
        return self.names.unique(identifier(f"{wanted}_kernel" if is_taken else wanted))


def _members(object_: DataObject) -> tuple[str, ...]:
    """The members that lead from a variable to the object."""
    return tuple(_STEP.split(object_.host)[1:])


def _refuse_overlap(context: Context, written: frozenset[DataObject], range_: SourceRange) -> None:
    """Refuse `s->a` as a whole beside its part `s->a.x` if the kernel writes one of them."""
    for outer in context.used.values():
        if not isinstance(outer.element, RecordType):
            continue
        for inner in context.used.values():
            if inner.lengths and inner.lengths[0] is None:
                continue  # memory behind a pointer is no part of the struct
            if inner.host.startswith((f"{outer.host}.", f"{outer.host}->")) and written & {outer, inner}:
                raise source_error(
                    range_,
                    f"the kernel uses '{outer.host}' as a whole and its part '{inner.host}', and writes one of them",
                    "copy the struct to a variable before the kernel and use that",
                )


def _refuse_union(context: Context, written: frozenset[DataObject], body: Block, range_: SourceRange) -> None:
    """Refuse members of a nameless union that share memory if the kernel writes one of them.

    Two arrays are left to the launch, which compares their sections.
    """
    members = [object_ for object_ in context.used.values() if _members(object_)]
    for first, second in combinations(members, 2):
        scalars = [object_ for object_ in (first, second) if object_.storage is Storage.SCALAR]
        root = context.roots[first.host]
        if not scalars or written.isdisjoint((first, second)) or root.key != context.roots[second.host].key:
            continue
        if paths_overlap(root.type, _members(first), _members(second)):
            uses = [node for node in walk(body) if isinstance(node, Access) and node.object in (first, second)]
            place = next((use.range for use in uses if use.object != uses[0].object), range_)
            which = first if first in written else second
            message = f"'{first.host}' and '{second.host}' share memory, and the kernel writes '{which.host}'"
            remedy = "use one of them in the kernel, or give their union a tag and a name: 'union TAG { … } NAME;'"
            raise source_error(place, message, remedy)


def find_statement(body: Node, offset: int) -> tuple[Node, ...] | None:
    """The nodes from `body` down to the statement that begins at `offset`, or None."""
    path = [body]
    while True:
        inner = None
        for child in path[-1].children:
            if child.start == offset and child.first_file == body.file:
                return (*path, child)
            if child.start < offset < child.end and child.first_file == child.last_file == body.file:
                inner = child
        if inner is None:
            return None
        path.append(inner)
