"""One Scop a region and form, and its dependences once, in a translation and in a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.programs import FLAGS
from tilepragma.driver import translate
from tilepragma.driver.reports import kernel_reports
from tilepragma.driver.state import TranslateRequest, TranslateResult
from tilepragma.poly import dependences, extraction
from tilepragma.poly.scop import Scop

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
SOURCES = {name: (SAMPLES / name / f"{name}.c").read_text() for name in ("conv2d", "heat3d", "listing1", "lu")}
#: The engine asks whether the order of the updates alone keeps the loop sequential.
SOURCES["ordered sum"] = """\
double f(int n, double a[restrict n])
{
    double s = 0;
    #pragma tilek kernel
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
"""
#: Several nests, read once for their sections and for their proof.
SOURCES["tiles of the user's"] = """\
void f(int n, double a[restrict n], double b[restrict n])
{
    #pragma tilek kernel
    {
        #pragma tilek loop tile(gang) tile(worker)
        for (int i = 0; i < n; i++)
            a[i] = i;
        #pragma tilek loop tile(gang) tile(worker)
        for (int i = 0; i < n; i++)
            b[i] = 2 * a[i];
    }
}
"""


class Counts:
    """How often each form of a region was extracted, and the dependences of each Scop computed."""

    def __init__(self) -> None:
        self.forms: Counter[Hashable] = Counter()
        self.scops: Counter[int] = Counter()
        self._kept: list[Scop] = []

    def extracted(self, work: Any, body: tuple[Any, ...], layouts: Any) -> None:
        """`work` begins to extract the statements."""
        leaves = None if work.movable is None else tuple(cell.cell_contents for cell in work.movable.__closure__)
        self.forms[body, work.written, work.assuming, leaves, layouts is None] += 1

    def related(self, scop: Scop) -> None:
        """The dependences of the Scop are asked for."""
        self._kept.append(scop)
        self.scops[id(scop)] += 1

    @property
    def repeated(self) -> list[Hashable]:
        """What was extracted, or related, more than once."""
        return [key for counter in (self.forms, self.scops) for key, count in counter.items() if count > 1]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    counts = Counts()
    extract, pairs = extraction._Extraction.scop, dependences._pairs

    def scop(work: Any, body: tuple[Any, ...], layouts: Any) -> Scop:
        counts.extracted(work, body, layouts)
        return extract(work, body, layouts)

    def related(scop: Scop) -> Iterator[Any]:
        counts.related(scop)
        return pairs(scop)

    monkeypatch.setattr(extraction._Extraction, "scop", scop)
    monkeypatch.setattr(dependences, "_pairs", related)
    return counts


def translated(name: str, folder: Path) -> TranslateResult:
    source = folder / "program.c"
    source.write_text(SOURCES[name])
    result = translate(TranslateRequest(str(source), options=(*FLAGS, f"-I{SAMPLES / name}"), use_records=False))
    assert result.succeeded
    return result


@pytest.mark.parametrize("name", SOURCES)
def test_a_translation_extracts_each_form_of_a_region_once(name: str, counts: Counts, tmp_path: Path) -> None:
    translated(name, tmp_path)
    assert counts.forms and counts.scops
    assert counts.repeated == []


@pytest.mark.parametrize("name", SOURCES)
def test_a_report_computes_the_dependences_of_each_nest_once(name: str, counts: Counts, tmp_path: Path) -> None:
    kernel_reports(translated(name, tmp_path))
    assert max(counts.scops.values()) == 1
