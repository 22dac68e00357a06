"""The layering rule of the package, read from every import statement, and the limits on the size of files and functions."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tilepragma"
SIZE_LIMIT = 600
FUNCTION_LIMIT = 80

#: Folder (or top-level file) -> what it may import besides itself.
ALLOWED: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "ir": frozenset({"base"}),
    "frontend": frozenset({"base", "ir"}),
    "polyhedral": frozenset({"base", "ir"}),
    "model": frozenset({"base"}),
    "patterns": frozenset({"base", "ir", "polyhedral"}),
    "plan": frozenset({"base", "ir", "polyhedral", "model", "patterns"}),
    "codegen": frozenset({"base", "ir", "plan"}),
    "report": frozenset({"base", "ir", "polyhedral", "model", "patterns", "plan"}),
    "host": frozenset({"base", "ir", "plan", "codegen"}),
    "pyruntime": frozenset({"base", "codegen.manifest"}),
    "driver": frozenset(
        {"base", "ir", "frontend", "polyhedral", "model", "patterns", "plan", "codegen", "report", "host", "pyruntime"}
    ),
    "tuning": frozenset({"base", "driver", "model", "plan", "pyruntime"}),
    "cli": frozenset({"base", "driver", "report", "tuning"}),
}
#: Third-party module -> the one folder that may import it.
RESERVED = {"clang": "frontend", "islpy": "polyhedral"}


@dataclass(frozen=True)
class Import:
    """`module` as imported by `importer` (both dotted, without the leading `tilepragma.` where they are ours)."""

    importer: str
    module: str
    line: int
    for_types: bool = False
    """inside `if TYPE_CHECKING:`; layers hold there too, but two halves of one recursive type may name each other"""


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports_of(path: Path, source: str) -> Iterator[Import]:
    importer = module_name(path)
    tree = ast.parse(source)
    guarded = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for module in imported_modules(node):
                yield Import(importer, module, node.lineno, node in guarded)


def imported_modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        return ["." * node.level]
    module = node.module or ""
    return [f"{module}.{alias.name}" for alias in node.names] if all_submodules(node) else [module]


def all_submodules(node: ast.ImportFrom) -> bool:
    """Whether `from package import a, b` names files of ours rather than their contents."""
    folder = ROOT / Path(*(node.module or "").split("."))
    return folder.is_dir() and all(
        (folder / f"{alias.name}.py").is_file() or (folder / alias.name / "__init__.py").is_file()
        for alias in node.names
    )


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def every_import() -> list[Import]:
    return [item for path in files() for item in imports_of(path, path.read_text())]


def violation(item: Import) -> str | None:
    """Why `item` breaks the rule, or None."""
    layer = item.importer.split(".")[0]
    where = f"tilepragma.{item.importer}:{item.line}: "
    top = item.module.split(".")[0]
    if item.module.startswith("."):
        return where + "relative import; name the sibling file in full"
    if top in RESERVED:
        return None if layer == RESERVED[top] else where + f"{top} is imported outside {RESERVED[top]}/"
    if top != "tilepragma":
        return None
    target = item.module.removeprefix("tilepragma").removeprefix(".")
    if not target:
        return None if layer in {"cli", "driver"} else where + "imports the top of the package"
    if target == layer and layer not in {"driver"}:
        return where + f"imports its own package's __init__ ({item.module})"
    if layer not in ALLOWED:
        return where + f"'{layer}' is no layer of DESIGN.md"
    allowed = ALLOWED[layer] | {layer}
    if not any(target == name or target.startswith(name + ".") for name in allowed):
        return where + f"{layer} may not import {target}"
    return None


@pytest.mark.parametrize("path", files(), ids=lambda path: module_name(path) or "tilepragma")
def test_imports_run_downward(path: Path) -> None:
    broken = [
        message for item in imports_of(path, path.read_text()) if module_name(path) and (message := violation(item))
    ]
    assert not broken, "\n".join(broken)


def test_no_import_cycle() -> None:
    graph: dict[str, set[str]] = {module_name(path): set() for path in files()}
    for item in every_import():
        target = item.module.removeprefix("tilepragma.")
        while target and target not in graph:
            target = target.rpartition(".")[0]
        if target and target != item.importer and not item.for_types:
            graph[item.importer].add(target)
    assert cycle_in(graph) is None


def cycle_in(graph: dict[str, set[str]]) -> list[str] | None:
    """One cycle of `graph`, or None."""
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str] | None:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return None
        for successor in sorted(graph[node]):
            if found := visit(successor, [*path, node]):
                return found
        done.add(node)
        return None

    return next((found for node in graph if (found := visit(node, []))), None)


@pytest.mark.parametrize("path", files(), ids=lambda path: module_name(path) or "tilepragma")
def test_size_limits(path: Path) -> None:
    source = path.read_text()
    assert source.count("\n") <= SIZE_LIMIT, f"{path} is longer than {SIZE_LIMIT} lines; split it"
    long = [
        f"{path}:{node.lineno}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.end_lineno and node.end_lineno - node.lineno >= FUNCTION_LIMIT
    ]
    assert not long, "\n".join(long)


def test_setup_lists_every_package() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    listed = set(parser["options"]["packages"].split())
    present = {"tilepragma." + module_name(path) for path in files() if path.name == "__init__.py"}
    present = {name.removesuffix(".") for name in present} | {"tilepragma.templates", "tilepragma.runtime"}
    assert listed == present


@pytest.mark.parametrize(
    ("importer", "module"),
    [
        ("ir.types", "tilepragma.frontend.clang.compiler"),
        ("plan.planner", "tilepragma.frontend.scan"),
        ("polyhedral.scop", "tilepragma.model.device"),
        ("driver", "tilepragma.cli.tilecc"),
        ("cli.tilecc", "tilepragma.frontend.scan"),
        ("plan.planner", "clang.cindex"),
        ("plan.planner", "islpy"),
        ("ir.types", "tilepragma.ir"),
        ("ir.types", "."),
        ("pyruntime.run", "tilepragma.codegen.printer"),
    ],
)
def test_rule_refuses(importer: str, module: str) -> None:
    assert violation(Import(importer, module, 1))


def test_cycle_is_found() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == ["a", "b", "c", "a"]
