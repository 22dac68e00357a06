"""The kernels of a file: one for a region, several if its loops end with conditions.

A region with loops such as `while (residual > tolerance)` is split. The loops inside become
kernels. The text between them stays on the host: conditions, scalars, pointers that change places,
output. The newest values of arrays may be on a device, so host text must name no array elements. A
statement that does becomes a kernel, which runs as written with its arrays brought home. If that
cannot be, the region is not split.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity, SourceError, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.clause_objects import refuse_inner_variables
from tilepragma.frontend.clang.cursor_tree import LOOPS, CursorKind, Node
from tilepragma.frontend.clang.data_regions import exits
from tilepragma.frontend.clang.host_statements import HostText, NamedPointer, host_text
from tilepragma.frontend.clang.lowering_context import Context, member_key
from tilepragma.frontend.clang.objects import external_object, is_variable_length
from tilepragma.frontend.clang.regions import RegionBuilder
from tilepragma.frontend.clang.statement_extents import BoundStatement
from tilepragma.frontend.clang.statement_lowering import lower_region
from tilepragma.frontend.clang.type_conversion import is_pointer
from tilepragma.frontend.pragma.scanner import LocatedDirective
from tilepragma.frontend.pragma.text_scan import skip_blank
from tilepragma.ir.directives import KernelDirective, LoopDirective
from tilepragma.ir.expressions import DataObject, Storage, integer
from tilepragma.ir.loop_tree import Block, Exchanged, ForLoop, Kernel, Loop, Parts, While
from tilepragma.ir.traversal import loop_directives, loops_in, walk

_WHILES = (CursorKind.WHILE_STMT, CursorKind.DO_STMT)
_LEAVING = (CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT)
_WORDS = {CursorKind.COMPOUND_STMT: b"{", CursorKind.IF_STMT: b"if", CursorKind.DO_STMT: b"do"}
_PRAGMA = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(?!tilek\b)\w", re.MULTILINE)


def kernels(builder: RegionBuilder, directives: tuple[LocatedDirective, ...]) -> tuple[Kernel, ...]:
    """The kernels of one file, in textual order; reports every fault."""
    bound = builder.bind_kernels(directives)
    loops = builder.bind_loops(directives, bound)
    lowered = []
    for directive, statement in bound:
        start, end = statement.range.start.offset, statement.range.end.offset
        inside = {offset: loop for offset, loop in loops.items() if start <= offset < end}
        with builder.diagnostics.about(directive.openmp_line):
            lowered.append(_kernel(builder, directive, statement, inside))
    return tuple(kernel for kernel in lowered if kernel is not None)


def _kernel(
    builder: RegionBuilder, placed: LocatedDirective, statement: BoundStatement, loops: Mapping[int, LoopDirective]
) -> Kernel | None:
    """The kernel of a region; None if it is refused, which is reported."""
    directive = placed.kernel
    assert directive is not None
    name = builder.kernel_name(directive.name or statement.facts.node.spelling)
    clauses = (placed, tuple(loops.items()))
    if clauses in builder.lowered:
        kernel, reported = builder.lowered[clauses]
        builder.diagnostics.add_all(reported)
        return None if kernel is None else replace(kernel, name=name)
    diagnostics = Diagnostics()
    whole: Kernel | None = None
    with diagnostics.reporting():
        context = builder.context(statement, loops, diagnostics)
        body = lower_region(context, statement.node, statement.range)
        refuse_inner_variables(context, (directive, *loop_directives(body)), statement.node)
        whole = builder.kernel(context, body, directive, statement, name)
    refused = diagnostics.has_errors
    if not _may_be_split(statement.node, None if refused or whole is None else whole.body):
        reported = tuple(_grouped(diagnostics))
        builder.lowered[clauses] = whole, reported
        builder.diagnostics.add_all(reported)
        return whole
    try:
        parts = _split_region(builder, directive, name, statement, loops, required=refused)
    except SourceError as refusal:
        if refused or whole is None:
            causes = _causes(statement.node, directive, loops, diagnostics, refusal.diagnostic)
            builder.diagnostics.add_all(causes)
            return None
        builder.diagnostics.add_all(_grouped(diagnostics))
        return _whole_kernel(builder, placed, statement, whole, refusal.diagnostic)
    if refused or whole is None:
        _note_separate_launches(builder, statement, diagnostics)
        return replace(parts.data, parts=parts)
    builder.diagnostics.add_all(_grouped(diagnostics))
    return replace(whole, parts=parts)


def _grouped(diagnostics: Diagnostics) -> Diagnostics:
    """One error for all places with the same message; a note has the next place and a count."""
    same: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        if diagnostic.severity is Severity.ERROR:
            same.setdefault(diagnostic.message, []).append(diagnostic)
    grouped = Diagnostics()
    for diagnostic in diagnostics:
        first, *others = same.get(diagnostic.message, [diagnostic])
        if diagnostic is first and others:
            count = f", the first of {len(others)} other places" if len(others) > 1 else ""
            repeated = Diagnostic(Severity.NOTE, others[0].range, f"the same here{count}")
            grouped.add(replace(diagnostic, notes=(*diagnostic.notes, repeated)))
        elif diagnostic is first or diagnostic.severity is not Severity.ERROR:
            grouped.add(diagnostic)
    return grouped


def _note_separate_launches(builder: RegionBuilder, statement: BoundStatement, refusals: Diagnostics) -> None:
    """Note the arrays of variable length because of which each inner loop is a launch."""
    declared = [variable for variable in statement.node.walk() if variable.kind == CursorKind.VAR_DECL]
    arrays = {(variable.file, variable.start) for variable in declared if is_variable_length(variable)}
    for refusal in refusals:
        if (refusal.range.file, refusal.range.start.offset) in arrays:
            message = f"the loop around runs on the host, and each loop in it is a separate launch: {refusal.message}"
            builder.diagnostics.add(replace(refusal, severity=Severity.NOTE, message=message))


def _with_cause(why: Diagnostic, refusals: Diagnostics) -> Diagnostic:
    """Why the host cannot run text, and why the region is not one kernel: fixing either helps."""
    first = next((refusal for refusal in refusals if refusal.severity is Severity.ERROR), None)
    if first is None or first.range.start.line == why.range.start.line:
        return why
    message = f"the loops around run on the host because of this: {first.message}"
    cause = replace(first, severity=Severity.NOTE, message=message, notes=())
    return replace(why, notes=(*why.notes, cause, *first.notes))


def _causes(
    region: Node, directive: KernelDirective, loops: Mapping[int, LoopDirective], refusals: Diagnostics, why: Diagnostic
) -> Iterable[Diagnostic]:
    """What to report of a region that can be neither a kernel (`refusals`) nor split (`why`).

    What no kernel can hold may stay on the host, so `why` is the fault. But innermost loops, and
    loops that the user calls independent, are for kernels only; and pointers are declared for the
    loops behind them.
    """

    def is_for_kernels(loop: Node) -> bool:
        clauses = loops.get(loop.start)
        says_independent = directive.independent or (clauses is not None and clauses.independent)
        return not _has_loop(loop) or (says_independent and loop.kind == CursorKind.FOR_STMT)

    kernel_loops = [node for node in region.walk() if node.kind in LOOPS and is_for_kernels(node)]
    places = [(refusal.range.file, refusal.range.start.offset) for refusal in refusals]
    pointers = [node for node in region.walk() if node.kind == CursorKind.VAR_DECL and is_pointer(node.type)]
    for_kernels = [node.range for node in (*kernel_loops, *pointers)]
    if why in refusals or any(range_.holds(*place) for range_ in for_kernels for place in places):
        return _grouped(refusals)
    return (_with_cause(why, refusals),)


def _whole_kernel(
    builder: RegionBuilder, placed: LocatedDirective, statement: BoundStatement, whole: Kernel, why: Diagnostic
) -> Kernel | None:
    """The region as one kernel, with what keeps it from being split; an error for a `while`."""
    if statement.node.kind in _WHILES:
        message = "this loop ends with a condition, and cannot run on the host around kernels of the loops inside"
        reason = replace(why, severity=Severity.NOTE, notes=())
        builder.diagnostics.add(Diagnostic(Severity.ERROR, placed.range, message, (reason, *why.notes)))
        return None
    return replace(whole, split_refusal=why)


# -- splitting


def _may_be_split(region: Node, body: Block | None) -> bool:
    """Whether loops around loops end with conditions, or there is no `body` (a single kernel)."""
    if body is not None:
        return any(isinstance(node, (ForLoop, While)) and any(loops_in(node.body)) for node in walk(body))
    return any(node.kind in LOOPS and _has_loop(node) for node in region.walk())


def _split_region(
    builder: RegionBuilder,
    directive: KernelDirective,
    name: str,
    statement: BoundStatement,
    loops: Mapping[int, LoopDirective],
    *,
    required: bool,
) -> Parts:
    """The parts of a region. Raises SourceError for text that fits neither host nor kernel."""
    if directive.asynchronous is not None or directive.asynchronous_default:
        message = "'async' cannot be kept here: the host looks at what kernels compute to know whether a loop goes on"
        raise source_error(directive.range, message, "remove it, or put the kernel before the loops inside")
    for leaving in exits(statement.node):
        raise source_error(leaving.range, "this would leave the region", "set a variable and test it after the region")
    splitting = _Splitting(builder, directive, statement, loops)
    splitting.statement(statement.path, conditional=False)
    if not splitting.kernel_parts:
        raise source_error(statement.range, "it has no loop inside that could be a kernel")
    splitting.check_places()
    return splitting.parts(name, required)


@dataclass(frozen=True)
class _KernelPart:
    """A statement that becomes a kernel, not yet named. `conditional`: the host may skip it."""

    statement: BoundStatement
    kernel: Kernel
    diagnostics: Diagnostics
    conditional: bool


@dataclass
class _Splitting:
    """Walks through a region and collects the statements that become kernels."""

    builder: RegionBuilder
    directive: KernelDirective
    region: BoundStatement
    loops: Mapping[int, LoopDirective]
    kernel_parts: list[_KernelPart] = field(default_factory=list)
    macros: set[int] = field(default_factory=set)
    """the offsets of macros that hold several statements"""
    host: HostText = field(init=False)

    def __post_init__(self) -> None:
        self.host = host_text(self.region.node)

    def statement(self, path: tuple[Node, ...], conditional: bool) -> None:
        """Assign one statement to kernels or the host."""
        node = path[-1]
        if self._is_macro(node) and _has_loop(node) and path != self.region.path:
            diagnostics = Diagnostics()
            self._take(self._kernel_part(path, conditional, diagnostics), diagnostics)
        elif node.kind == CursorKind.COMPOUND_STMT:
            starts = Counter(child.start for child in node.children)
            self.macros |= {start for start, count in starts.items() if count > 1}
            for child in node.children:
                self.statement((*path, child), conditional)
        elif node.kind in _WHILES and _has_loop(node):
            self._host_loop(path, conditional)
        elif node.kind == CursorKind.FOR_STMT:
            self._for(path, conditional)
        elif node.kind == CursorKind.IF_STMT and (_has_loop(node) or exits(node)):
            self._value(node.children[0], "this condition")
            for branch in node.children[1:]:
                self.statement((*path, branch), conditional=True)
        elif node.kind not in _LEAVING:
            self._leaf(path, conditional)

    def _is_macro(self, node: Node) -> bool:
        """Whether a macro makes the block, condition or do loop, so that its parts have no text."""
        word = _WORDS.get(node.kind)
        return word is not None and not self.builder.unit.text(node.file).startswith(word, node.start)

    def _host_loop(self, path: tuple[Node, ...], conditional: bool) -> None:
        """A loop that the host runs: its header is host text, its body is split."""
        node = path[-1]
        clauses = self.loops.get(node.start)
        if clauses is not None and (clauses.tiles or clauses.independent or clauses.collapse > 1 or clauses.reductions):
            message = "this loop runs on the host, so that it has no tiles"
            raise source_error(clauses.range, message, "put the directive before a loop inside")
        body = node.children[0] if node.kind == CursorKind.DO_STMT else node.children[-1]
        for part in node.children:
            if part != body:
                self._value(part, "the head of this loop")
        self.statement((*path, body), conditional)

    def _for(self, path: tuple[Node, ...], conditional: bool) -> None:
        """A countable loop becomes a kernel; others run on the host, as the region's loop does."""
        if path == self.region.path:
            self._host_loop(path, conditional)
            return
        diagnostics = Diagnostics()
        part = self._kernel_part(path, conditional, diagnostics)
        counted = part is not None and isinstance(part.kernel.body.statements[0], Loop)
        if not counted and _has_loop(path[-1]):
            before = len(self.kernel_parts)
            try:
                self._host_loop(path, conditional)
                return
            except SourceError:
                if part is None:
                    raise
                del self.kernel_parts[before:]
        self._take(part, diagnostics)

    def _leaf(self, path: tuple[Node, ...], conditional: bool) -> None:
        """A host statement, or a kernel if it names array elements."""
        node = path[-1]
        refusal = self.host.refusal(node)
        if refusal is None:
            return
        stays = node.kind == CursorKind.DECL_STMT or exits(node)
        part = None if stays else self._kernel_part(path, conditional, Diagnostics())
        if part is None:
            raise refusal
        self.kernel_parts.append(part)

    def _value(self, node: Node, what: str) -> None:
        refusal = self.host.refusal(node)
        if refusal is not None:
            diagnostic = refusal.diagnostic
            raise SourceError(replace(diagnostic, message=f"{what} is the host's: {diagnostic.message}"))

    def _take(self, part: _KernelPart | None, diagnostics: Diagnostics) -> None:
        if part is None:
            raise SourceError(next(diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR))
        self.kernel_parts.append(part)

    def _kernel_part(self, path: tuple[Node, ...], conditional: bool, diagnostics: Diagnostics) -> _KernelPart | None:
        """The statement as a kernel; None if it cannot be one, with the reason in `diagnostics`."""
        statement = self.builder.bound(self.region.facts, path)
        context = self.builder.context(statement, self.loops, diagnostics)
        with diagnostics.reporting():
            body = lower_region(context, statement.node, statement.range)
            directive = replace(_narrowed(self.directive, context.used), range=self._place(statement))
            refuse_inner_variables(context, (directive, *loop_directives(body)), statement.node)
            kernel = self.builder.kernel(context, body, directive, statement, "")
        if diagnostics.has_errors or not body.statements:
            return None
        return _KernelPart(statement, kernel, diagnostics, conditional)

    def _place(self, statement: BoundStatement) -> SourceRange:
        """Where a directive would stand: before other tools' pragmas for the statement."""
        text, start = self.builder.unit.text(statement.range.file), statement.range.start.offset
        for pragma in _PRAGMA.finditer(text, statement.path[-2].start, start):
            if skip_blank(text, pragma.start()) == start:
                position = self.builder.unit.position(statement.range.file, pragma.start())
                return SourceRange(position, position)
        return SourceRange(statement.range.start, statement.range.start)

    def check_places(self) -> None:
        """Refuse several kernels in one macro use."""
        ends = 0
        for part in self.kernel_parts:
            range_ = part.statement.range
            start = range_.start.offset
            if range_.file != self.region.range.file or start < ends or start in self.macros:
                message = "several statements come out of one macro here"
                raise source_error(range_, message, "write these statements without the macro")
            ends = range_.end.offset

    def parts(self, name: str, required: bool) -> Parts:
        for part in self.kernel_parts:
            self.builder.diagnostics.add_all(part.diagnostics)
        kernels = tuple(self._named(part, f"{name}_part{number}") for number, part in enumerate(self.kernel_parts, 1))
        context = self.builder.context(self.region, self.loops, self.builder.diagnostics)
        blocks = []
        for part in self.kernel_parts:
            block = lower_region(context, part.statement.node, part.statement.range)
            blocks.append(Block((While(integer(1), block, False),)) if part.conditional else block)
        body = Block(tuple(statement for block in blocks for statement in block.statements), self.region.range)
        exchanged = tuple(self._exchanged(context))
        data = self.builder.kernel(context, body, self.directive, self.region, name)
        changed = frozenset(object_ for object_ in context.used.values() if self._changes(context, object_))
        reads = tuple(self.builder.types.convert(read.type, read.range) for read in self.host.reads.values())
        return Parts(kernels, required, data, changed, exchanged, reads)

    def _named(self, part: _KernelPart, wanted: str) -> Kernel:
        """The kernel of a part, which may be split again."""
        kernel = replace(part.kernel, name=self.builder.kernel_name(wanted))
        if not _may_be_split(part.statement.node, kernel.body):
            return kernel
        try:
            parts = _split_region(
                self.builder, kernel.directive, kernel.name, part.statement, self.loops, required=False
            )
        except SourceError as refusal:
            return replace(kernel, split_refusal=refusal.diagnostic)
        return replace(kernel, parts=parts)

    def _changes(self, context: Context, object_: DataObject) -> bool:
        """Whether a scalar may have several values in the region, or the object begins in it."""
        facts, range_ = self.region.facts, self.region.range
        root = context.roots[object_.host]
        start, end = range_.start.offset, range_.end.offset
        if range_.holds(root.file, root.start):
            return True
        if object_.storage is not Storage.SCALAR:
            return False
        members = re.split(r"->|\.", object_.host)[1:]
        keys = [root.key, *(member_key(member) for member in members)]
        hidden = self.host.calls and not object_.const and not (root.is_local and not members)
        return hidden or root.key in facts.address_taken or any(facts.written_from(key, start, end) for key in keys)

    def _exchanged(self, context: Context) -> Iterator[Exchanged]:
        """The groups of arrays whose pointers are set to each other."""
        used = dict(context.used)
        for group in self.host.groups():
            in_kernels = tuple(used[pointer.host] for pointer in group if pointer.host in used)
            with context.without_use():
                live_in = tuple(
                    external_object(context, pointer.declaration, pointer.host, pointer.type, pointer.range)
                    for pointer in group
                    if self._exists_before(pointer) and self.host.has_value_before(pointer)
                )
            if in_kernels:
                yield Exchanged(in_kernels, live_in)

    def _exists_before(self, pointer: NamedPointer) -> bool:
        """Whether the pointer is a variable that exists where the region begins."""
        declaration = pointer.declaration
        parent = declaration.unit.declared(declaration.cursor.semantic_parent)
        if parent.key != self.region.facts.node.key and not declaration.is_of_the_file:
            return False
        return not self.region.range.holds(declaration.file, declaration.start)


def _narrowed(directive: KernelDirective, used: Mapping[str, DataObject]) -> KernelDirective:
    """The region's directive for one kernel: without unused variables, `live` and waits."""
    names = {"".join(host.split()) for host in used}
    data = []
    for clause in directive.data:
        sections = tuple(section for section in clause.sections if "".join(section.path.split()) in names)
        if sections:
            data.append(replace(clause, name="data", live=None, sections=sections))
    reductions = [replace(reduction, names=_known(reduction.names, names)) for reduction in directive.reductions]
    privates = [replace(private, names=_known(private.names, names)) for private in directive.privates]
    return replace(
        directive,
        data=tuple(data),
        reductions=tuple(reduction for reduction in reductions if reduction.names),
        privates=tuple(private for private in privates if private.names),
        waits=(),
        wait_all=False,
    )


def _known(names: Iterable[str], used: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in used)


def _has_loop(node: Node) -> bool:
    pending = list(node.children)
    while pending:
        child = pending.pop()
        if child.kind == CursorKind.FOR_STMT:
            return True
        if child.kind != CursorKind.StmtExpr:  # loops in a value are no statements of the region
            pending += child.children
    return False
