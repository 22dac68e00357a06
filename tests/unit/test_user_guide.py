"""Every C block of the guide and of the page on migration is accepted, without errors or warnings, and what comes out
compiles.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tilepragma.base.diagnostics import Severity
from tilepragma.base.resources import resource_folder
from tilepragma.driver import translate
from tilepragma.driver.state import TranslateRequest
from tilepragma.frontend.pragma.constructs import ALL_CLAUSES, CLAUSES

ROOT = Path(__file__).resolve().parents[2]
PAGES = "\n".join((ROOT / "docs" / page).read_text() for page in ("USER_GUIDE.md", "MIGRATION.md"))
BLOCKS = re.findall(r"^```c\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)


def name_of(block: str) -> str:
    match = re.match(r"\w+ (\w+)\(", block)
    return match[1] if match else block[:20]


@pytest.mark.parametrize("block", BLOCKS, ids=name_of)
def test_block(block: str, tmp_path: Path) -> None:
    result = translate(TranslateRequest("guide.c", output_name="out.c", text=block.encode()))
    assert [diagnostic.message for diagnostic in result.diagnostics if diagnostic.severity is not Severity.NOTE] == []
    assert result.output is not None
    assert all(plan.untransformed is None for plan in result.plans)
    (tmp_path / "out.c").write_bytes(result.output)
    include = resource_folder("runtime") / "include"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include}"]
    subprocess.run(["cc", *flags, "-c", "out.c"], cwd=tmp_path, check=True)


PRAGMAS = re.findall(r"#pragma tilek ([^\n]*)", "\n".join(BLOCKS))


@pytest.mark.parametrize("construct", [construct.value for construct in CLAUSES])
def test_every_construct_is_shown(construct: str) -> None:
    assert any(re.match(rf"{construct}\b", pragma) for pragma in PRAGMAS)


@pytest.mark.parametrize("clause", sorted(ALL_CLAUSES))
def test_every_clause_is_shown(clause: str) -> None:
    assert any(re.search(rf"\b{clause}\b", pragma) for pragma in PRAGMAS)
