"""Functions cut out of the C files of tests and samples: tests inspect the code they run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HYPERPLANES = ROOT / "tests" / "run" / "hyperplanes.c"


@dataclass(frozen=True)
class CFunction:
    """`text` is the definition, `parameters` its parameters, `body` the body without pragmas."""

    text: str
    parameters: str
    body: str


def c_function(path: Path, name: str) -> CFunction:
    """The definition of a static void function whose closing brace is in the first column."""
    match_ = re.search(rf"^static void {name}\((.*?)\)\n\{{\n(.*?)^\}}\n", path.read_text(), re.DOTALL | re.MULTILINE)
    assert match_ is not None, f"{path} defines no function {name}"
    body = re.sub(r"^#pragma tilek.*\n", "", match_[2], flags=re.MULTILINE)
    return CFunction(match_[0], " ".join(match_[1].split()), body)
