"""The example of docs/EMISSION.md, Staging, is what the translator emits."""

from __future__ import annotations

import re
from pathlib import Path

from tilepragma.codegen.device_program import device_program
from tilepragma.codegen.dialect import CUDA
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "EMISSION.md").read_text()
#: Stands on the page for text that is left out.
ELLIPSIS = "…"


def blocks(title: str) -> list[str]:
    """The C texts of a section."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None, title
    return re.findall(r"^```c\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def emitted(source: str) -> str:
    """The CUDA program of a source with one kernel."""
    [plan] = translate(TranslateRequest("page.c", text=source.encode())).plans
    return device_program(plan, CUDA).text


def first_missing(shown: str, program: str) -> str | None:
    """The first part of `shown` that the program does not have behind those before it."""
    program, place = on_one_line(program), 0
    for part in map(on_one_line, shown.split(ELLIPSIS)):
        start = program.find(part, place)
        if start < 0:
            return part
        place = start + len(part)
    return None


def test_the_example_of_staging_is_emitted() -> None:
    source, shown, *_ = blocks("Staging")
    assert len(shown.split(ELLIPSIS)) > 5
    assert first_missing(shown, emitted(source)) is None


def test_a_part_that_is_not_emitted_is_seen() -> None:
    assert first_missing("int a; … int c;", "int a;\nint b;\nint c;") is None
    assert first_missing("int c; … int a;", "int a;\nint b;\nint c;") == "int a;"
