from __future__ import annotations

import pytest

from tilepragma.base.diagnostics import Diagnostic, Diagnostics, Severity, render, source_error
from tilepragma.base.source_ranges import NOWHERE, Position, SourceRange

SOURCE = ["int main(void)", "\tfor (i = 0; i < n; i++)", "größe = größe + 1;", "a \\", "   b"]


def line_of(file: str, line: int) -> str | None:
    return SOURCE[line - 1] + "\r" if file == "a.c" and line <= len(SOURCE) else None


def place(line: int, first: int, last: int, end_line: int | None = None, file: str = "a.c") -> SourceRange:
    return SourceRange(Position(file, line, first, 0), Position(file, end_line or line, last, 0))


def rendered(range_: SourceRange, *notes: Diagnostic) -> str:
    return render(Diagnostic(Severity.ERROR, range_, "no", notes), line_of)


def test_the_caret_stands_under_the_range() -> None:
    assert rendered(place(1, 5, 9)) == "a.c:1:5: error: no\n int main(void)\n     ^~~~\n"


def test_one_column_and_an_empty_range_have_a_caret_alone() -> None:
    assert rendered(place(1, 1, 2)).splitlines()[-1] == " ^"
    assert rendered(place(1, 3, 3)).splitlines()[-1] == "   ^"


def test_tabs_before_the_caret_are_kept_so_that_it_lines_up() -> None:
    assert rendered(place(2, 7, 8)) == "a.c:2:7: error: no\n \tfor (i = 0; i < n; i++)\n \t     ^\n"


def test_columns_are_characters() -> None:
    assert rendered(place(3, 9, 14)).splitlines()[1:] == [" größe = größe + 1;", "         ^~~~~"]


def test_a_range_over_several_lines_is_underlined_to_the_end_of_its_first() -> None:
    assert rendered(place(4, 1, 5, end_line=5)).splitlines()[1:] == [" a \\", " ^~~"]


def test_a_place_whose_source_is_not_at_hand_has_its_head_alone() -> None:
    assert rendered(NOWHERE) == "<built-in>:1:1: error: no\n"
    assert rendered(place(9, 1, 2)) == "a.c:9:1: error: no\n"


def test_a_note_elsewhere_shows_its_line_and_one_at_the_same_place_does_not() -> None:
    here, there = place(1, 1, 4), place(5, 4, 5)
    text = rendered(here, Diagnostic(Severity.NOTE, here, "do this"), Diagnostic(Severity.NOTE, there, "see here"))
    assert text.splitlines()[3:] == ["a.c:1:1: note: do this", "a.c:5:4: note: see here", "    b", "    ^"]


def test_diagnostics_are_kept_in_order_and_once() -> None:
    diagnostics = Diagnostics()
    diagnostics.warning(place(1, 1, 2), "careful")
    assert not diagnostics.has_errors
    first = diagnostics.error(place(1, 1, 2), "no", "do this", "or that")
    diagnostics.error(place(1, 1, 2), "no", "do this", "or that")
    diagnostics.note(place(2, 1, 2), "by the way")
    assert [item.severity.value for item in diagnostics] == ["warning", "error", "note"]
    assert diagnostics.has_errors
    assert [(note.message, note.range) for note in first.notes] == [
        ("do this", place(1, 1, 2)),
        ("or that", place(1, 1, 2)),
    ]


def test_the_same_message_elsewhere_is_another_diagnostic() -> None:
    diagnostics = Diagnostics()
    diagnostics.error(place(1, 1, 2), "no")
    diagnostics.error(place(1, 2, 3), "no")
    assert len(diagnostics.items) == 2


def test_a_source_error_carries_its_diagnostic() -> None:
    with pytest.raises(Exception, match="no way") as raised:
        raise source_error(place(1, 1, 2), "no way", "another way")
    diagnostic = raised.value.diagnostic  # type: ignore[attr-defined]
    assert diagnostic.severity is Severity.ERROR
    assert [note.message for note in diagnostic.notes] == ["another way"]
