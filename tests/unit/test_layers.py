"""The layering rule of the package, read from every import statement: those of functions and for types count too."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tilepragma"

#: Rooms from the ground up (docs/ARCHITECTURE.md). A room may import those before it, but for what
#: `CLOSED` says.
ROOMS = (
    "base",
    "ir",
    "model",
    "plan",
    "poly",
    "frontend",
    "patterns",
    "user_tiles",
    "normalise",
    "arguments",
    "lower",
    "verify",
    "cost",
    "schedule",
    "storage",
    "sizes",
    "planner",
    "codegen",
    "report",
    "host",
    "pyruntime",
    "driver",
    "tuning",
    "cli",
)
#: Room -> the only ones that it may import besides itself.
CLOSED: dict[str, frozenset[str]] = {
    "model": frozenset({"base"}),
    "frontend": frozenset({"base", "ir"}),
    "patterns": frozenset({"base", "ir"}),
    "verify": frozenset({"base", "ir", "plan", "poly", "normalise", "arguments"}),
    "codegen": frozenset({"base", "ir", "plan", "poly", "user_tiles", "normalise", "cost", "schedule"}),
    "host": frozenset({"base", "ir", "plan", "codegen"}),
    "pyruntime": frozenset({"base"}),
    "tuning": frozenset({"base", "ir", "model", "plan", "cost", "sizes", "planner", "codegen", "driver"}),
    "cli": frozenset({"base", "model", "plan", "report", "driver", "tuning", "codegen"}),
}
#: Room -> the only ones that may import it: nothing between them and the driver sees C's syntax tree or a device.
RESERVED_ROOMS = {"frontend": frozenset({"driver"}), "host": frozenset({"driver"}), "pyruntime": frozenset({"driver"})}
#: Third-party module -> the rooms that may import it.
RESERVED = {
    "clang": frozenset({"frontend"}),
    "islpy": frozenset({"poly", "lower", "verify", "schedule", "storage", "report"}),
}


@dataclass(frozen=True)
class Import:
    """`module` as imported by `importer` (both dotted, without the leading `tilepragma.` where they are ours)."""

    importer: str
    module: str
    line: int


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports_of(path: Path, source: str) -> Iterator[Import]:
    importer = module_name(path)
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for module in imported_modules(node):
                yield Import(importer, module, node.lineno)


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
        return (
            None if layer in RESERVED[top] else where + f"{top} is imported outside {', '.join(sorted(RESERVED[top]))}"
        )
    if top != "tilepragma":
        return None
    target = item.module.removeprefix("tilepragma").removeprefix(".")
    if not target:
        return None if layer in {"cli", "driver"} else where + "imports the top of the package"
    if target == layer and layer != "driver":
        return where + f"imports its own package's __init__ ({item.module})"
    if layer not in ROOMS:
        return where + f"'{layer}' is no room of docs/ARCHITECTURE.md"
    room = target.split(".")[0]
    if room != layer and layer not in RESERVED_ROOMS.get(room, {layer}):
        return where + f"{layer} may not import {target}"
    below = CLOSED.get(layer, frozenset(ROOMS[: ROOMS.index(layer)]))
    return None if room == layer or room in below else where + f"{layer} may not import {target}"


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
        if target and target != item.importer:
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
            if result := visit(successor, [*path, node]):
                return result
        done.add(node)
        return None

    return next((result for node in graph if (result := visit(node, []))), None)


def test_no_file_name_occurs_twice() -> None:
    """A name that is looked for leads to one file. Only packages' own files share theirs."""
    names = [path.name for path in files() if path.name != "__init__.py"]
    assert not {name for name in names if names.count(name) > 1}


def test_targets_are_told_apart_in_few_files() -> None:
    """A new target touches its dialect and what the planner asks of targets, beside the enumeration itself."""
    told_apart = {
        str(path.relative_to(PACKAGE)) for path in files() if re.search(r"\bTarget\.[A-Z]+\b", path.read_text())
    }
    assert told_apart <= {"ir/directives.py", "plan/targets.py", "codegen/dialect.py"}


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
        ("planner.planner", "tilepragma.frontend.pragma.scanner"),
        ("poly.scop", "tilepragma.schedule.hyperplane_tiles"),
        ("driver", "tilepragma.cli.tilecc"),
        ("cli.tilecc", "tilepragma.frontend.pragma.scanner"),
        ("planner.planner", "clang.cindex"),
        ("planner.planner", "islpy"),
        ("ir.types", "tilepragma.ir"),
        ("ir.types", "."),
        ("pyruntime.run", "tilepragma.codegen.printer"),
    ],
)
def test_rule_refuses(importer: str, module: str) -> None:
    assert violation(Import(importer, module, 1))


def test_cycle_is_found() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()}) == ["a", "b", "c", "a"]
