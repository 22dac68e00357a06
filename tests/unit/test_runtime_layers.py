"""The order of the runtime's folders, read from the `#include`s of its C files and from the symbols of their objects."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.programs import COMPILER
from tilepragma.cli.runtime_library import runtime_includes, runtime_sources

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
#: From the ground up: a folder uses those before it.
ORDER = (
    "include",
    "base",
    "device/common",
    "device/cuda",
    "device/opencl",
    "device",
    "kernel",
    "arrays",
    "tune",
    "launch",
    "host",
    "multi_device",
    "dispatch",
    "check",
    "entry",
    "tools",
)
#: Folders that stand beside each other although one comes later in the order.
APART = frozenset({("device/opencl", "device/cuda"), ("multi_device", "host")})


@dataclass(frozen=True)
class Use:
    """`user`, a file by its path in runtime/, needs `used`: includes it, or calls `symbol` there."""

    user: str
    used: str
    symbol: str = ""


def folder_of(file: str) -> str:
    return file.rpartition("/")[0]


def violation(use: Use) -> str | None:
    """Why a use breaks the order, or None."""
    user, used = folder_of(use.user), folder_of(use.used)
    what = f"{use.user} uses {use.symbol or use.used}"
    for folder in (user, used):
        if folder not in ORDER:
            return f"{what}: '{folder}' is no folder of the runtime"
    if user == used:
        return None
    if ORDER.index(used) > ORDER.index(user):
        return f"{what}: {used} stands above {user}"
    if (user, used) in APART:
        return f"{what}: {user} and {used} stand beside each other"
    return None


def includes_of(file: str, text: str, files: Iterable[str]) -> list[Use]:
    """What a file includes of ours. Raises ValueError where a header is not named by its path."""
    results = []
    known = frozenset(files)
    for name in re.findall(r'^\s*#\s*include\s*"([^"]*)"', text, re.MULTILINE):
        used = "include/tilek.h" if name == "tilek.h" else name
        if used not in known:
            raise ValueError(f"{file} includes {name}, which is no path in runtime/")
        results.append(Use(file, used))
    return results


def cycle_in(uses: Iterable[Use]) -> list[str] | None:
    """One cycle of files that use each other, or None."""
    graph: dict[str, set[str]] = {}
    for use in uses:
        if use.user != use.used:
            graph.setdefault(use.user, set()).add(use.used)
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str] | None:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return None
        for successor in sorted(graph.get(node, ())):
            if (result := visit(successor, [*path, node])) is not None:
                return result
        done.add(node)
        return None

    for node in sorted(graph):
        if (result := visit(node, [])) is not None:
            return result
    return None


def calls_of(tables: Mapping[str, str]) -> list[Use]:
    """What files use of each other, from what `nm -P` says of their objects."""
    defined: dict[str, str] = {}
    wanted: list[tuple[str, str]] = []
    for file, table in tables.items():
        for line in table.splitlines():
            symbol, kind = line.split()[:2]
            if kind == "U":
                wanted.append((file, symbol))
            elif kind.isupper():
                defined[symbol] = file
    return [Use(file, defined[symbol], symbol) for file, symbol in wanted if symbol in defined]


def repeated_names(files: Iterable[str]) -> set[str]:
    """Names that two files have."""
    return {name for name, count in Counter(file.rpartition("/")[2] for file in files).items() if count > 1}


@pytest.fixture(scope="module")
def files() -> list[str]:
    return sorted(str(path.relative_to(RUNTIME)) for path in RUNTIME.rglob("*.[ch]"))


@pytest.fixture(scope="module")
def includes(files: list[str]) -> list[Use]:
    return [use for file in files for use in includes_of(file, (RUNTIME / file).read_text(), files)]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Use]:
    folder = tmp_path_factory.mktemp("objects")

    def table(source: Path) -> str:
        made = folder / f"{source.stem}.o"
        flags = ("-std=c99", "-O0", "-pthread", "-w", *runtime_includes())
        subprocess.run([COMPILER, *flags, "-c", str(source), "-o", str(made)], check=True)
        return subprocess.run(["nm", "-P", str(made)], check=True, capture_output=True, text=True).stdout

    with ThreadPoolExecutor(max_workers=2) as pool:
        tables = pool.map(table, runtime_sources())
    return calls_of(
        {str(path.relative_to(RUNTIME)): text for path, text in zip(runtime_sources(), tables, strict=True)}
    )


def test_includes_run_downward(includes: list[Use]) -> None:
    assert [message for use in includes if (message := violation(use))] == []


def test_no_cycle_of_includes(includes: list[Use]) -> None:
    assert cycle_in(includes) is None


def test_calls_run_downward(calls: list[Use]) -> None:
    assert len(calls) > 100
    assert [message for use in calls if (message := violation(use))] == []


def test_no_cycle_of_calls(calls: list[Use]) -> None:
    assert cycle_in(calls) is None


def test_every_folder_is_there(files: list[str]) -> None:
    assert {folder_of(file) for file in files} == set(ORDER)


def test_no_name_stands_twice(files: list[str]) -> None:
    """The library's objects lie in one folder while it is built."""
    assert repeated_names(files) == set()


@pytest.mark.parametrize(
    ("use", "refusal"),
    [
        (Use("base/message.c", "kernel/profile.h"), "kernel stands above base"),
        (Use("kernel/profile.c", "tune/online_tuning.c", "tilek_adaptations_print"), "tune stands above kernel"),
        (Use("device/common/a.c", "device/cuda/b.h"), "device/cuda stands above device/common"),
        (Use("device/cuda/a.c", "device/open_devices.h"), "device stands above device/cuda"),
        (Use("device/opencl/a.c", "device/cuda/b.h"), "stand beside each other"),
        (Use("multi_device/a.c", "host/b.h"), "stand beside each other"),
        (Use("elsewhere/a.c", "base/message.h"), "'elsewhere' is no folder"),
        (Use("message.c", "base/message.h"), "'' is no folder"),
        (Use("entry/launch.c", "base/message.h"), None),
        (Use("base/environment.c", "base/message.h"), None),
        (Use("device/open_devices.c", "device/opencl/opencl_device.h"), None),
        (Use("launch/tile.c", "include/tilek.h"), None),
    ],
)
def test_rule_refuses(use: Use, refusal: str | None) -> None:
    result = violation(use)
    assert result is None if refusal is None else result is not None and refusal in result


def test_a_header_without_its_folder_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a\.c includes message\.h"):
        includes_of("base/a.c", '#include "message.h"\n', ["base/a.c", "base/message.h"])


def test_cycles_are_found() -> None:
    uses = [Use("a/a.h", "a/b.h"), Use("a/b.h", "a/c.h"), Use("a/c.h", "a/a.h")]
    assert cycle_in(uses) == ["a/a.h", "a/b.h", "a/c.h", "a/a.h"]
    assert cycle_in(uses[:2]) is None


def test_calls_are_read_from_symbols() -> None:
    tables = {"a/a.c": "one T 0 1\ntwo U\nputs U\n", "a/b.c": "two T 0 1\nhelper t 0 1\none U\n"}
    assert calls_of(tables) == [Use("a/a.c", "a/b.c", "two"), Use("a/b.c", "a/a.c", "one")]


def test_repeated_names_are_found() -> None:
    assert repeated_names(["base/a.c", "host/a.c", "base/b.c", "base/b.h"]) == {"a.c"}
