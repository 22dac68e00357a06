"""The page is whole, refers to nothing elsewhere, and says what the text says."""

from __future__ import annotations

import re
import textwrap
from html.parser import HTMLParser

import pytest

from tests.unit.report.pictures import CASES, GOLDEN, TILED, golden
from tilepragma.driver import translate
from tilepragma.driver.reports import explain_page, kernel_reports
from tilepragma.driver.state import TranslateRequest
from tilepragma.report.page import ExplainPage
from tilepragma.report.size_values import Sizes

#: Elements that have no end tag.
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Balance(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page_of(text: str, numbers: dict[str, int] | None = None) -> ExplainPage:
    result = translate(TranslateRequest("t.c", text=text.encode(), last="choose_sizes"))
    sizes = Sizes(numbers or {})
    return explain_page(result, kernel_reports(result, sizes), sizes, "t.c")


@pytest.mark.parametrize("name", CASES)
def test_page(name: str) -> None:
    page = page_of(golden(name))
    parser = Balance()
    parser.feed(page.html)
    parser.close()
    assert parser.open == []
    assert parser.seen.count("figure") == len(page.figures) == 1 + (name in TILED)
    assert not {"script", "link", "img", "iframe"} & set(parser.seen)
    assert re.findall(r"https?://[^\"]*", page.html) == ["http://www.w3.org/2000/svg"] * len(page.figures)
    assert "@import" not in page.html
    assert "url(" not in page.html


def test_every_loop_is_classified_beside_its_line() -> None:
    html = page_of(golden("product")).html
    rows = re.findall(r'class="number">(\d+)</td>.*?class="known">(.*?)</td>', html, re.DOTALL)
    kinds = {int(line): re.findall(r'class="kind (\w+)"', known) for line, known in rows}
    assert {line: found for line, found in kinds.items() if found} == {4: ["DOALL"], 5: ["DOALL"], 7: ["sequential"]}


def test_names_of_pictures() -> None:
    names = [name for name, _ in page_of(golden("smooth")).figures]
    assert names == ["smooth-1-dependences.svg", "smooth-1-tiles.svg"]


def test_source_text_is_escaped() -> None:
    html = page_of(
        "void f(int n, double a[n])\n{\n#pragma tilek kernel\nfor (int i = 0; i < n; i++) a[i] = i<3 && n>4;\n}\n"
    ).html
    assert "i&lt;3 &amp;&amp; n&gt;4" in html
    assert "i<3" not in html


def test_a_nest_without_a_picture_says_why() -> None:
    page = page_of(
        "void f(const int m[1], double *x)\n{\n#pragma tilek kernel data(x[0:9])\nfor (int i = 0; i < m[m[0]]; i++) x[i] = 0.0;\n}\n"
    )
    assert "No picture: its bounds are not affine, or it has no iterations at small sizes." in page.html
    assert page.figures == ()


def test_a_file_without_kernels() -> None:
    assert "No kernel regions" in page_of("int x;\n").html


def test_the_user_guide_shows_what_is_printed_and_drawn_today() -> None:
    docs = GOLDEN.parents[2] / "docs"
    assert (
        dict(page_of(golden("smooth")).figures)["smooth-1-tiles.svg"]
        == (docs / "pictures" / "smooth-1-tiles.svg").read_text()
    )
    said = textwrap.indent((GOLDEN / "smooth.txt").read_text(), "  ")
    assert said in (docs / "USER_GUIDE.md").read_text()
