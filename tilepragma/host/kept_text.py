"""The last check of OUT.c: it has all user text once, in order, but directives and `#include`s."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping

from tilepragma.ir.loop_tree import Inclusion, SourceFile, TranslationUnit

_BLANKS = b" \t\r\n\f\v"
_ADAPTED = re.compile(rb'^[ \t]*#[ \t]*(?:include[ \t]*"[^"\n]*"|pragma[ \t]+once\b[^\n]*)', re.MULTILINE)


def check_kept(kept: bytes, unit: TranslationUnit) -> None:
    """Raise AssertionError, which no input may cause, unless `kept` is the text of all files."""
    files = {file.path: file for file in unit.files}
    if _bare(kept) != _bare(b"".join(_expected(unit.files[0], files, unit.inclusions))):
        raise AssertionError("text of the source would be missing in its translation")


def _expected(file: SourceFile, files: Mapping[str, SourceFile], inclusions: tuple[Inclusion, ...]) -> Iterator[bytes]:
    """The text of a file, with headers in place of their `#include` lines."""
    gone = [(range_.start.offset, range_.end.offset, "") for range_ in file.pragmas]
    gone += [(i.range.start.offset, i.range.end.offset, i.included) for i in inclusions if i.range.file == file.path]
    behind = len(BOM_UTF8) if file.text.startswith(BOM_UTF8) else 0
    for start, end, header in sorted(gone):
        yield file.text[behind:start]
        behind = end
        if header:
            yield from _expected(files[header], files, inclusions)
    yield file.text[behind:]


def _bare(text: bytes) -> bytes:
    return _ADAPTED.sub(b"", text).translate(None, _BLANKS)
