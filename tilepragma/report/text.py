"""The report as text: grouped and aligned, for terminals of a hundred columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tilepragma.report.facts import KernelFacts
from tilepragma.report.launch_facts import LaunchGroup
from tilepragma.report.nest_analysis import CodeRow, DependenceRow, NestFacts

_WIDTH = 110
"""columns of a line that is not source text"""
_WIDEST_STEP = 64
"""wider host steps do not push the remarks of the others to the right"""
#: Rows that stand before or after all others.
_OF_LAUNCHES = ("original", "relaxation", "devices", "targets")
#: Words before the clauses of a row.
_PREFIXES = {"checked": "at each launch: "}


def report_text(kernels: Iterable[KernelFacts]) -> str:
    """All kernels, a blank line between them."""
    return "\n".join("".join(f"{line.rstrip()}\n" for line in _kernel(kernel)) for kernel in kernels)


def _kernel(facts: KernelFacts) -> Iterator[str]:
    yield f"{facts.file}:{facts.line}: kernel {facts.name}"
    yield ""
    yield from _rows(facts, "original", "relaxation")
    for group in facts.launches:
        yield from _launches(group)
    yield from _rows(facts, "devices")
    yield from _rows(facts, *(title for title in facts.rows if title not in _OF_LAUNCHES))
    yield from _data(facts)
    yield from _rows(facts, "targets")
    for nest in facts.nests:
        yield ""
        yield from _nest(nest)


def _rows(facts: KernelFacts, *titles: str) -> Iterator[str]:
    for title in titles:
        for words in facts.rows[title]:
            yield from _wrapped(f"  {title:<10}  ", _PREFIXES.get(title, "") + words)


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(head + text, _WIDTH, subsequent_indent=" " * len(head), break_long_words=False) or [head]


def _launches(group: LaunchGroup) -> Iterator[str]:
    title = group.title
    texts = ["  " * line.depth + line.what for line in group.lines]
    width = max((len(text) for text in texts if len(text) <= _WIDEST_STEP), default=0)
    for text, line in zip(texts, group.lines, strict=True):
        loops = ", ".join(f"{name}: {how}" for name, how in line.loops) or line.trips
        remarks = f"({'; '.join(line.remarks)})" if line.remarks else ""
        yield f"  {title:<10}  {text:<{width}}  {'  '.join(part for part in (loops, remarks) if part)}"
        title = ""
        for words in line.below:
            yield from _wrapped(" " * 14 + "  " * (line.depth + 1), words)


def _data(facts: KernelFacts) -> Iterator[str]:
    title = "data"
    for line in _table(facts.data):
        yield f"  {title:<10}  {line}"
        title = ""
    if facts.scalars:
        yield f"  {title:<10}  by value: {facts.scalars}"


def _nest(nest: NestFacts) -> Iterator[str]:
    yield f"  nest over {nest.iterator}, line {nest.line}"
    if nest.problem:
        yield f"    {nest.problem}"
        return
    yield from (f"    {line}" for line in _code(nest.code))
    if nest.dependences:
        yield ""
        yield from _wrapped("    dependences, with distances in iterations", _signs(nest.dependences))
        yield from (f"      {line}" for line in _dependences(nest.dependences))
    if nest.notes:
        yield ""
    for note in nest.notes:
        yield from _wrapped("    note: ", note)


def _code(rows: Sequence[CodeRow]) -> list[str]:
    table = []
    for row in rows:
        label = f"{row.label}: " if row.label else ""
        table.append((f"{row.line:>4}", "  " * row.depth + label + row.text, row.trips, row.kind, row.why))
    return _table(table)


def _dependences(rows: Sequence[DependenceRow]) -> list[str]:
    table = []
    before = ""
    for row in rows:
        ends = f"{row.source} → {row.sink} in {row.loops}" if row.loops != "()" else f"{row.source} → {row.sink}"
        distance = row.distance if row.loops != "()" else ""
        table.append(("" if ends == before else ends, row.kinds, distance, row.accesses))
        before = ends
    return _table(table)


def _signs(rows: Sequence[DependenceRow]) -> str:
    """The meanings of the signs in distances, if any."""
    used = {part for row in rows for part in row.distance.strip("()").split(", ")}
    words = {
        "+": "+ is any positive distance",
        "0+": "0+ is any that is not negative",
        "-": "- is any negative one",
        "0-": "0- is any that is not positive",
        "*": "* is any",
    }
    texts = [text for sign, text in words.items() if sign in used]
    if any("?" in row.kinds for row in rows):
        texts.append("? marks a dependence that data decide, or that could not be ruled out")
    return f" ({'; '.join(texts)})" if texts else " "


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their widest cell, two spaces apart; empty columns are dropped."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    used = [column for column, width in enumerate(widths) if width]
    return ["  ".join(f"{row[column]:<{widths[column]}}" for column in used).rstrip() for row in rows]
