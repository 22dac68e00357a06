"""Functions cut out of C files of the tests and samples, so that what is run there is what is looked at here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HYPERPLANES = ROOT / "tests" / "run" / "hyperplanes.c"


@dataclass(frozen=True)
class CFunction:
    """`text` is the definition, `parameters` what stands in its parentheses, `body` what in its braces but for our pragmas."""

    text: str
    parameters: str
    body: str


def c_function(path: Path, name: str) -> CFunction:
    """The definition of a static void function in a file where definitions end with a brace in the first column."""
    found = re.search(rf"^static void {name}\((.*?)\)\n\{{\n(.*?)^\}}\n", path.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None, f"{path} defines no function {name}"
    body = re.sub(r"^#pragma tilek.*\n", "", found[2], flags=re.MULTILINE)
    return CFunction(found[0], " ".join(found[1].split()), body)
