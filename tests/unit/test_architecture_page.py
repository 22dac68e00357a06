"""docs/ARCHITECTURE.md and CONTRIBUTING.md name what is there: files, functions, passes, rooms."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.test_layers import PACKAGE, ROOMS, ROOT
from tilepragma.driver import PASSES

PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
PICTURE = ROOT / "docs" / "pictures" / "passes.svg"
#: What paths begin with that are not below tilepragma/.
FROM_THE_ROOT = ("runtime/", "templates/", "docs/", "tests/", "tilepragma/", "benchmarks/")
FOLDERS_OF_THE_RUNTIME = [path for path in (ROOT / "runtime").rglob("*") if path.is_dir() and any(path.glob("*.[ch]"))]


def section(title: str) -> str:
    """The page's section of that title, whatever is below it included."""
    match = re.search(rf"^(#+) {title}\n(.*?)(?=^(?!\1#)#+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None, title
    return match[2]


def quoted(page: str) -> list[str]:
    """What stands between backquotes outside of blocks, each once."""
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    return sorted({word.replace("\n", " ") for word in re.findall(r"`([^`]+)`", prose)})


def references() -> list[tuple[str, str]]:
    """(path, name) of all paths on both pages; the name is empty where a file alone is meant."""
    pages = PAGE + (ROOT / "CONTRIBUTING.md").read_text()
    result = (re.fullmatch(r"([\w.]+(?:/[\w.]+)+\.(?:py|c|h|j2|md))(?::([\w.]+))?", word) for word in quoted(pages))
    named = ((match[1], match[2] or "") for match in result if match is not None)
    return [reference for reference in named if "NAME" not in reference[0]]


def file_of(path: str) -> Path:
    return ROOT / path if path.startswith(FROM_THE_ROOT) else PACKAGE / path


def top_level(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a module or class defines."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield name.id, node


def defines(text: str, name: str) -> bool:
    """Whether a Python file defines NAME, or CLASS.NAME."""
    result: ast.stmt | ast.Module = ast.parse(text)
    for part in name.split("."):
        if not isinstance(result, (ast.Module, ast.ClassDef)) or part not in dict(top_level(result)):
            return False
        result = dict(top_level(result))[part]
    return True


@functools.cache
def classes() -> dict[str, list[str]]:
    """The names that each class of the package defines."""
    result: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name, node in top_level(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                result.setdefault(name, []).extend(dict(top_level(node)))
    return result


@pytest.mark.parametrize(("path", "name"), references())
def test_named_files_and_functions_are_there(path: str, name: str) -> None:
    file = file_of(path)
    assert file.is_file()
    if path.endswith(".py"):
        assert not name or defines(file.read_text(), name)
    else:
        assert not name or re.search(rf"\b{name}\(", file.read_text())


#: Pages that speak of the tree. Guides for users name the users' own files too.
PAGES_OF_THE_TREE = ("TESTING", "EMISSION", "MODEL", "PROOFS", "RESULTS", "ENVIRONMENT")
#: Files of others that these pages cite.
OF_OTHERS = frozenset({"cuda_occupancy.h", "ocl_utilities.c"})


@pytest.mark.parametrize("page", PAGES_OF_THE_TREE)
def test_pages_name_files_that_are_there(page: str) -> None:
    words = quoted((ROOT / "docs" / f"{page}.md").read_text())
    named = {word for word in words if re.fullmatch(r"(?:[\w.]+/)*\w+\.(?:py|c|h|j2)", word)}
    folders = ("tilepragma", "runtime", "templates", "tests", "benchmarks", "samples")
    present = {str(path) for folder in folders for path in (ROOT / folder).rglob("*.*")}
    assert not {
        word for word in named if word not in OF_OTHERS and not any(path.endswith(f"/{word}") for path in present)
    }


@pytest.mark.parametrize("word", [word for word in quoted(PAGE) if re.fullmatch(r"[A-Z][a-z]\w*\.[a-z_]\w*", word)])
def test_named_fields_are_there(word: str) -> None:
    owner, _, field = word.partition(".")
    assert field in classes()[owner]


def test_every_pass_has_a_section_in_order() -> None:
    assert re.findall(r"^### `(\w+)`$", section("The passes"), re.MULTILINE) == [each.name for each in PASSES]


def test_the_text_beside_the_picture_has_every_pass_in_order() -> None:
    block = re.search(r"^```\n(C file.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert block is not None
    assert re.findall(r"^  -> (\w+)", block[1], re.MULTILINE) == [each.name for each in PASSES]
    assert all(len(line) <= 100 for line in block[1].splitlines())


def test_the_picture_has_every_pass_in_order() -> None:
    texts = ElementTree.parse(PICTURE).getroot().iter("{http://www.w3.org/2000/svg}text")
    assert [text.text for text in texts if text.get("class") == "name"] == [each.name for each in PASSES]


def test_the_rooms_are_those_of_the_layers() -> None:
    table = section("Rooms").partition("\nThe runtime")[0]
    assert tuple(re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)) == ROOMS


def test_the_folders_of_the_runtime_are_there() -> None:
    table = section("Rooms").partition("\nThe runtime")[2]
    named = [
        name for line in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(.+?)/`", line)
    ]
    assert sorted(named) == sorted(str(path.relative_to(ROOT / "runtime")) for path in FOLDERS_OF_THE_RUNTIME)


def test_thirteen_capabilities_are_found() -> None:
    rows = re.findall(r"^\| (?!capability|---)([^|]+) \| ([^|]+) \|$", section("Where to find what"), re.MULTILINE)
    assert len(rows) == 13
    assert all(re.search(r"`[\w/]+\.py:\w+", where) for _, where in rows)


def test_a_wrong_reference_is_seen() -> None:
    assert not defines("class A:\n    b = 1\n", "A.c")
    assert not defines("def a(): pass\n", "b")
    assert defines("class A:\n    b: int\n", "A.b")
