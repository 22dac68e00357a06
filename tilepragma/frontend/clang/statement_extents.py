"""The text of a statement: libclang's extent and the semicolon; macros at its ends are checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tilepragma.base.diagnostics import Diagnostics, source_error
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.frontend.clang.cursor_tree import ClangUnit, CursorKind, Node
from tilepragma.frontend.clang.lowering_context import FunctionFacts
from tilepragma.frontend.pragma.text_scan import declaration_start, next_statement
from tilepragma.ir.loop_tree import Enclosing

_BEFORE_A_STATEMENT = (
    *(CursorKind.FOR_STMT, CursorKind.WHILE_STMT, CursorKind.IF_STMT, CursorKind.SWITCH_STMT),
    *(CursorKind.LABEL_STMT, CursorKind.CASE_STMT, CursorKind.DEFAULT_STMT),
)
#: Their extents include their last tokens.
_COMPLETE = (CursorKind.COMPOUND_STMT, CursorKind.NULL_STMT, CursorKind.DECL_STMT)


@dataclass(frozen=True)
class BoundStatement:
    """The statement after a directive: its path of nodes from the function's body; its range."""

    facts: FunctionFacts
    path: tuple[Node, ...]
    range: SourceRange

    @property
    def node(self) -> Node:
        """The statement."""
        return self.path[-1]

    @property
    def enclosing(self) -> Enclosing:
        """The function around it."""
        return enclosing_of(self.facts.node, self.range.file)


def enclosing_of(function: Node, file: str) -> Enclosing:
    """A function around a region of the file."""
    return Enclosing(function.spelling, file, declaration_start(function.unit.text(file), function.start))


def statement_extent(statement: Node, function: Node) -> tuple[SourceRange, bool]:
    """A statement's text with its semicolon, and whether a macro at its begin or end may hold more.

    Raises SourceError if the text leaves the file.
    """
    unit, file = statement.unit, function.file
    for where in (statement.first_file, statement.last_file):
        if where != file:
            begins_here = statement.first_file == file
            place = unit.span(file, statement.start, statement.start + 1) if begins_here else statement.range
            message = f"a part of this statement's text stands in '{where}', where no launch can be put around it"
            raise source_error(place, message, "write its first and its last token in the same file")
    text, skipped, uses = unit.text(file), unit.skipped(file), unit.macro_uses(file)
    end = statement.end
    if statement.ends_in_argument:
        end = next((behind for start, behind in uses if start <= end < behind), end)
    in_macro = any(start == statement.start or behind == end for start, behind in uses)
    if _lacks_semicolon(statement):
        following = next_statement(text, end, {}, skipped)
        if following is not None and text.startswith(b";", following):
            end = following + 1
        elif not any(behind == end for _, behind in uses):
            end = next((behind for start, behind in uses if start == following), end)
            in_macro = True
    return unit.span(file, statement.start, end), in_macro


def _lacks_semicolon(statement: Node) -> bool:
    """Whether the semicolon behind the extent belongs to the statement."""
    while statement.kind in _BEFORE_A_STATEMENT:
        statement = statement.children[-1]
    return statement.kind not in _COMPLETE


def check_wrapped(
    unit: ClangUnit, statements: Iterable[BoundStatement], launched: Collection[SourceRange], diagnostics: Diagnostics
) -> None:
    """Report `launched` statements whose text has foreign tokens, from macros.

    The check puts each statement in braces and parses again: the braces must hold the statement and
    nothing else, and no other code may change.
    """
    checked = list({statement.range: statement for statement in statements if statement.range in launched}.values())
    if not checked or _hold_alone(unit, checked):
        return
    wrong = [statement for statement in checked if not _hold_alone(unit, [statement])] if len(checked) > 1 else checked
    for faulty in wrong or checked:
        diagnostics.error(
            faulty.range,
            "a macro that begins or ends this statement holds other tokens than the statement's",
            "write the statement's first and last token without the macro, "
            "or let the macro hold the whole statement and no more",
        )


def _hold_alone(unit: ClangUnit, statements: Sequence[BoundStatement]) -> bool:
    """Whether braces around the statements hold them alone, and change nothing else."""
    texts, places = {}, {}
    for file in {statement.range.file for statement in statements}:
        braces = _braces([statement.range for statement in statements if statement.range.file == file])
        texts[file] = _with_braces(unit.text(file), braces)
        for index, (offset, mark, range_) in enumerate(braces):
            places[range_, mark] = offset + index
    again = unit.reparsed(texts)
    if again is None or any(again.errors()):
        return False
    inserted = {(range_.file, offset) for (range_, mark), offset in places.items() if mark == b"{"}
    declared = (node for node in again.file_scope() if node.kind == CursorKind.FUNCTION_DECL)
    functions = {node.spelling: node for node in declared if node.cursor.is_definition()}
    for statement in statements:
        function = functions.get(statement.facts.node.spelling)
        if function is None or _kinds(function, inserted) != _kinds(statement.facts.node):
            return False
        span = places[statement.range, b"{"], places[statement.range, b"}"] + 1
        blocks = (node for node in function.walk() if node.kind == CursorKind.COMPOUND_STMT)
        place = (statement.range.file, *span)
        block = next((node for node in blocks if (node.first_file, node.start, node.end) == place), None)
        if block is None or _kinds(block, inserted) != _kinds(statement.node):
            return False
    return True


def _braces(ranges: Sequence[SourceRange]) -> list[tuple[int, bytes, SourceRange]]:
    """The braces around ranges of a file, in textual order."""
    braces = [(range_.start.offset, b"{", range_) for range_ in ranges]
    braces += [(range_.end.offset, b"}", range_) for range_ in ranges]
    # At one place, closing braces come first, inner before outer; then opening ones, outer before
    # inner.
    return sorted(braces, key=lambda b: (b[0], b[1] == b"{", -(b[2].end if b[1] == b"{" else b[2].start).offset))


def _with_braces(text: bytes, braces: Iterable[tuple[int, bytes, SourceRange]]) -> bytes:
    pieces, behind = [], 0
    for offset, mark, _ in braces:
        pieces += [text[behind:offset], mark]
        behind = offset
    return b"".join((*pieces, text[behind:]))


def _kinds(node: Node, without: Collection[tuple[str, int]] = ()) -> list[CursorKind]:
    """The kinds of all nodes, but for empty statements and blocks that begin at `without`."""
    return [
        child.kind
        for child in node.walk()
        if child.kind != CursorKind.NULL_STMT
        and not (child.kind == CursorKind.COMPOUND_STMT and (child.first_file, child.start) in without)
    ]
