"""Generated host code for units in C90, without the extensions that their compilers refuse.

tilek.h allows mixed declarations, designated initialisers and the like as extensions. It cannot
allow declarations in loop heads and `restrict`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NO_CODE = re.compile(
    r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", re.DOTALL | re.MULTILINE
)
_FOR = re.compile(r"\bfor \(")
_DECLARED = re.compile(r"\s*((?:[A-Za-z_]\w*\s+)+(?:\*\s*)*)([A-Za-z_]\w*)\s*=")
_RESTRICT = re.compile(r"\brestrict\b")
_HINTS = re.compile(r"(?:^[ \t]*#[ \t]*pragma[^\n]*\n)+[ \t]*\Z", re.MULTILINE)
_BRANCH = re.compile(r"(?:for|while|if|switch) \(")
_ELSE = re.compile(r"\s*else\b")


def as_c90(text: str) -> str:
    """Generated text with each iterator declared before its loop, in braces around both."""
    code = _NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    edits = [(match.start(), match.end(), "__restrict__") for match in _RESTRICT.finditer(code)]
    for match in _FOR.finditer(code):
        edits += _declared_before(text, code, match.start(), match.end())
    for start, end, instead in sorted(edits, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def _declared_before(text: str, code: str, start: int, inside: int) -> Iterator[tuple[int, int, str]]:
    """The edits of the loop whose `for` is at `start`; none where it declares no iterator."""
    declared = _DECLARED.match(code, inside)
    if declared is None:
        return
    hints = _HINTS.search(text, 0, start)
    first = start if hints is None else hints.start()
    yield first, first, f"{{ {declared[1].strip()} {declared[2]};" + (" " if hints is None else "\n")
    yield declared.start(1), declared.start(2), ""
    end = _statement_end(code, start)
    yield end, end, " }"


def _statement_end(code: str, start: int) -> int:
    """The end of the statement that begins at `start`, or after blanks there."""
    start += len(code[start:]) - len(code[start:].lstrip())
    if code[start] == "{":
        return _closing(code, start)
    branch = _BRANCH.match(code, start)
    if branch is None:
        end = start
        while code[end] != ";":
            end = _closing(code, end) if code[end] in "([{" else end + 1
        return end + 1
    end = _statement_end(code, _closing(code, branch.end() - 1))
    otherwise = _ELSE.match(code, end) if branch.group().startswith("if") else None
    return end if otherwise is None else _statement_end(code, otherwise.end())


def _closing(code: str, start: int) -> int:
    """The position after the bracket that closes the bracket at `start`."""
    depth = 0
    for match in re.compile(r"[()\[\]{}]").finditer(code, start):
        depth += 1 if match.group() in "([{" else -1
        if depth == 0:
            return match.end()
    raise AssertionError("brackets of generated text match")
