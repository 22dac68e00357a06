"""docs/GLOSSARY.md is in the order of the alphabet, and the pages name terms that it has."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "GLOSSARY.md").read_text()
TERMS = re.findall(r"^### (.*)$", TEXT, re.MULTILINE)


def test_terms_are_in_order_and_each_stands_once() -> None:
    assert len(set(TERMS)) == len(TERMS) >= 60
    assert sorted(TERMS, key=str.lower) == TERMS


def test_every_term_has_a_short_definition() -> None:
    definitions = re.split(r"^### .*$", TEXT, flags=re.MULTILINE)[1:]
    assert [term for term, text in zip(TERMS, definitions, strict=True) if not 3 < len(text.split()) < 80] == []


def test_links_to_terms_lead_somewhere() -> None:
    anchors = {re.sub(r"[^a-z0-9 -]", "", term.lower()).replace(" ", "-") for term in TERMS}
    links = re.findall(r"\]\(#([^)]+)\)", TEXT)
    links += [link for page in DOCS.glob("*.md") for link in re.findall(r"GLOSSARY\.md#([^)]+)\)", page.read_text())]
    assert set(links) <= anchors
