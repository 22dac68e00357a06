"""docs/LANGUAGE.md says what is accepted: its examples parse or are refused as shown, and it leaves out no clause."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tilepragma.base.diagnostics import Diagnostics, Severity
from tilepragma.base.resources import resource_folder
from tilepragma.driver import TranslateRequest, translate
from tilepragma.frontend.pragma.clauses import REDUCTION_OPERATORS
from tilepragma.frontend.pragma.constructs import ALL_CLAUSES, CLAUSES
from tilepragma.frontend.pragma.scanner import find_directives
from tilepragma.ir.directives import Construct, Live, Mode, SorMethod, Target, TileKind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "LANGUAGE.md"
TEXT = PAGE.read_text()


def fenced(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def shown_directives() -> list[tuple[str, tuple[str, ...]]]:
    """Each directive of the text blocks, with the errors shown below it."""
    results: list[tuple[str, tuple[str, ...]]] = []
    for line in "".join(fenced("text")).splitlines():
        if line.startswith("#pragma"):
            results.append((line, ()))
        else:
            directive, errors = results[-1]
            results[-1] = directive, (*errors, line.removeprefix("    error: "))
    return results


DIRECTIVES = shown_directives()
C_BLOCKS = fenced("c")
[GRAMMAR] = fenced("ebnf")


@pytest.mark.parametrize(("line", "errors"), DIRECTIVES, ids=[line[len("#pragma tilek ") :] for line, _ in DIRECTIVES])
def test_directive_is_accepted_or_refused_as_shown(line: str, errors: tuple[str, ...]) -> None:
    diagnostics = Diagnostics()
    result = find_directives("page.c", f"{line}\n".encode(), diagnostics)
    assert [item.message for item in diagnostics] == list(errors)
    assert errors or len(result) == 1


def shown_messages(block: str) -> list[tuple[int, str, str]]:
    """Line, severity and text of each message in the comments of a C block."""
    return [
        (number, severity, message)
        for number, line in enumerate(block.splitlines(), 1)
        for severity, message in re.findall(r"/\* (error|warning): (.*) \*/", line)
    ]


def function_of(block: str) -> str:
    return str(re.findall(r"^\w+ (\w+)\(", block, re.MULTILINE)[0])


@pytest.mark.parametrize("block", C_BLOCKS, ids=function_of)
def test_c_block_gets_the_messages_shown_and_no_others(block: str, tmp_path: Path) -> None:
    result = translate(TranslateRequest("page.c", output_name="out.c", text=block.encode()))
    said = [item for item in result.diagnostics if item.severity is not Severity.NOTE]
    assert [(item.range.start.line, item.severity.value, item.message) for item in said] == shown_messages(block)
    if any(item.severity is Severity.ERROR for item in said):
        assert result.output is None
        return
    assert result.output is not None
    (tmp_path / "out.c").write_bytes(result.output)
    include = resource_folder("runtime") / "include"
    subprocess.run(["cc", "-std=c99", "-Wall", f"-I{include}", "-c", "out.c"], cwd=tmp_path, check=True)


def section(heading: str) -> str:
    """What stands below a heading, up to the next one of its rank or above."""
    level = len(heading.split()[0])
    rest = TEXT.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"^#{{1,{level}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("construct", Construct, ids=lambda construct: construct.value)
def test_every_clause_has_its_place_at_every_construct(construct: Construct) -> None:
    text = section(f"### `{construct.value}`")
    if construct is Construct.KERNEL_LOOP:
        text += section("### `kernel`") + section("### `loop`")
    assert [name for name in CLAUSES[construct] if not re.search(rf"`{name}`", text)] == []


@pytest.mark.parametrize("clause", ALL_CLAUSES)
def test_every_clause_is_in_an_accepted_directive(clause: str) -> None:
    assert any(re.search(rf"\b{clause}\b", line) for line, errors in DIRECTIVES if not errors)


RULES = {
    name: text.strip()
    for name, text in re.findall(r"^([a-z-]+) *= (.*?)(?=^[a-z-]+ *=|\Z)", GRAMMAR, re.MULTILINE | re.DOTALL)
}


def first_words(rule: str) -> set[str]:
    """The words that the alternatives of a rule begin with, each on its own line."""
    words: set[str] = set()
    for line in RULES[rule].splitlines():
        word = line.strip().removeprefix("|").split()[0]
        words |= {word.strip('"')} if word.startswith('"') else first_words(word)
    return words


@pytest.mark.parametrize(
    ("rule", "construct"),
    [
        ("kernel-clause", Construct.KERNEL),
        ("loop-clause", Construct.LOOP),
        ("data-clause", Construct.DATA),
        ("enter-clause", Construct.ENTER_DATA),
        ("exit-clause", Construct.EXIT_DATA),
        ("update-clause", Construct.UPDATE),
    ],
)
def test_grammar_has_the_clauses_of_each_construct(rule: str, construct: Construct) -> None:
    assert first_words(rule) == set(CLAUSES[construct])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("mode", [mode.value for mode in Mode]),
        ("live", [live.value for live in Live]),
        ("target", [target.value for target in Target]),
        ("kind", [*(kind.value for kind in TileKind), "auto"]),
        ("operator", REDUCTION_OPERATORS),
        ("method", [method.value for method in SorMethod]),
    ],
)
def test_grammar_has_every_word_of_a_clause(rule: str, words: list[str]) -> None:
    assert set(re.findall(r'"([^"]*)"', RULES[rule])) - {",", ":", "layers", "subdomain"} == set(words)


def test_every_construct_is_in_the_grammar() -> None:
    alternatives = [line.strip().removeprefix("|") for line in RULES["construct"].splitlines()]
    words = [" ".join(re.findall(r'"([a-z]+)"', line)) for line in alternatives]
    assert words == [construct.value for construct in Construct if construct is not Construct.KERNEL_LOOP][:2] + [
        "kernel loop",
        *[construct.value for construct in Construct][3:],
    ]


def anchors(text: str) -> set[str]:
    """What links to headings are written as."""
    headings = [line.lstrip("# ").lower() for line in text.splitlines() if line.startswith("#")]
    return {re.sub(r"[^a-z0-9 -]", "", heading).replace(" ", "-") for heading in headings}


LINKS = sorted(set(re.findall(r"\]\(((?:\w+\.md)?#[^)]+|\w+\.md)\)", TEXT)))


@pytest.mark.parametrize("link", LINKS)
def test_link_leads_somewhere(link: str) -> None:
    name, _, anchor = link.partition("#")
    text = (PAGE.parent / name).read_text() if name else TEXT
    assert not anchor or anchor in anchors(text)
