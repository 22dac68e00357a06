"""The user's source with launched regions: OUT.c, made by edits of byte ranges.

The last check of OUT.c: it has all user text once, in order, but directives and `#include`s.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
from pathlib import Path

from tilepragma.base.c_text import line_directive
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import SourceRange
from tilepragma.codegen.c90 import as_c90
from tilepragma.codegen.host_functions import host_functions
from tilepragma.codegen.manifest import KernelManifest, kernel_constants
from tilepragma.codegen.writer import GENERATED_LINE
from tilepragma.host.data_directives import data_text, resident_text
from tilepragma.host.region_text import SurroundingText, region_text
from tilepragma.host.user_macros import path_macros, without_macros
from tilepragma.ir.loop_tree import DataRegion, Inclusion, Kernel, SourceFile, TranslationUnit
from tilepragma.ir.traversal import loop_directives
from tilepragma.plan.kernel_plan import ResidentRegion

_FOREIGN_PRAGMA = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(?!tilek\b)\w", re.MULTILINE)
_NO_CODE = re.compile(rb"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:\\\r?\n|[^\n])*", re.DOTALL | re.MULTILINE)
_HEADER = '#include "tilek.h"\n'
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_ONCE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*", re.MULTILINE)
_BLANKS = b" \t\r\n\f\v"
_ADAPTED = re.compile(rb'^[ \t]*#[ \t]*(?:include[ \t]*"[^"\n]*"|pragma[ \t]+once\b[^\n]*)', re.MULTILINE)


def rewrite(
    unit: TranslationUnit,
    manifests: Sequence[KernelManifest],
    output_path: str,
    resident: Sequence[ResidentRegion] = (),
) -> bytes:
    """OUT.c: the main file, headers with regions in place of their #include, every region launched.

    `manifests` has one for each kernel of the unit, with the device programs to be embedded;
    `output_path` is OUT.c's name in `#line`; `resident` are the split regions.
    """
    main = unit.files[0]
    assembly = Assembly(output_path)
    assembly.file(main, _Rewriting(unit, manifests, resident).edits(main))
    check_user_text(b"".join(assembly.user_text), unit)
    return b"".join(assembly.chunks)


class Rank(IntEnum):
    """The order of edits at one offset: ends come before begins."""

    END_INNER = 0
    END_OUTER = 1
    FILE_SCOPE = 2
    DIRECTIVE = 3
    BEGIN_OUTER = 4
    BEGIN_INNER = 5
    REPLACE = 6


@dataclass(frozen=True)
class Edit:
    """Generated text at `start`, in place of the bytes up to `end` (none for an insertion).

    Without `text` the bytes become blanks and keep their lines. A string gets lines of its own,
    marked as generated; a header with its edits replaces its inclusion; bytes stay on the line.
    `line` is the user's line that generated text stands for, by default that of `start`.
    """

    start: int
    end: int
    rank: Rank
    text: str | bytes | tuple[SourceFile, tuple[Edit, ...]] | None
    line: int | None = None


@dataclass
class Assembly:
    """The output as it grows; `line` is the number of the current line, `user_text` the user's
    text.

    `output` is its name for the `#line`s of generated text. If it has no name that a debugger can
    open, generated text has the number of the user's line that it stands for, so debuggers step
    over it with that line.
    """

    output: str
    chunks: list[bytes] = field(default_factory=list)
    user_text: list[bytes] = field(default_factory=list)
    line: int = 1
    _at_line_start: bool = True

    def raw(self, text: bytes) -> None:
        """Append text unchanged."""
        if text:
            self.chunks.append(text)
            self.line += text.count(b"\n")
            self._at_line_start = text.endswith(b"\n")

    def fresh_line(self) -> None:
        """Go to the start of a line."""
        if not self._at_line_start:
            self.raw(b"\n")

    def directive(self, line: int, file: str) -> None:
        """Write `#line` for the text that follows."""
        self.fresh_line()
        self.raw(line_directive(line, file).encode() + b"\n")

    def generated(self, text: str, line: int, file: str) -> None:
        """Write generated lines, which stand for a user's line; their marks become `#line`s."""
        if not self.output:
            self._generated_for(text, line, file)
            return
        self.directive(self.line + 1 if self._at_line_start else self.line + 2, self.output)
        for piece in text.splitlines():
            if piece == GENERATED_LINE:
                self.directive(self.line + 1, self.output)
            else:
                self.raw(piece.encode() + b"\n")

    def _generated_for(self, text: str, line: int, file: str) -> None:
        """Write each stretch of generated code in one line, as macro arguments allow no `#line`."""
        is_users = is_inside = False
        for piece in text.splitlines():
            alone = piece.startswith(("#", "TILEK_GENERATED_"))
            is_users = piece.startswith("#line ") and piece != GENERATED_LINE or is_users and piece != GENERATED_LINE
            if is_users:
                self.fresh_line()
            elif alone or not is_inside:
                self.directive(line, file)
            if piece != GENERATED_LINE:
                self.raw(piece.encode() + (b"\n" if alone or is_users else b" "))
            is_inside = not (alone or is_users)
        self.fresh_line()

    def file(self, file: SourceFile, edits: tuple[Edit, ...]) -> None:
        """Write a file with its edits, in order of offset; edits must not overlap."""
        position, source = 0, file.text
        self.directive(1, file.path)
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.rank)):
            self._keep(source[position : edit.start])
            position = max(edit.end, position)
            if edit.text is None:  # blanks for all but line ends and tabs
                self.raw(bytes(c if c in b"\r\n\t" else 0x20 for c in source[edit.start : edit.end]))
                continue
            if isinstance(edit.text, bytes):
                self.raw(edit.text)
                continue
            if isinstance(edit.text, tuple):
                self.file(*edit.text)
            else:
                line = edit.line or source.count(b"\n", 0, edit.start) + 1
                self.generated(edit.text, line, file.path)
            # Go on with the user's text at its line and, with blanks, at its column.
            self.directive(source.count(b"\n", 0, position) + 1, file.path)
            before = source[source.rfind(b"\n", 0, position) + 1 : position]
            self.raw(bytes(c if c == 0x09 else 0x20 for c in before))
        self._keep(source[position:])

    def _keep(self, text: bytes) -> None:
        self.user_text.append(text)
        self.raw(text)


class _Rewriting:
    def __init__(
        self, unit: TranslationUnit, manifests: Sequence[KernelManifest], resident: Sequence[ResidentRegion]
    ) -> None:
        self.unit, self.manifests, self.resident = unit, manifests, resident
        self.in_paths = path_macros(unit.macros, _directives(unit, resident))

    def edits(self, file: SourceFile) -> tuple[Edit, ...]:
        """All edits of a file, also those of inlined headers."""
        edits = [Edit(range_.start.offset, range_.end.offset, Rank.REPLACE, None) for range_ in file.pragmas]
        edits += [Edit(place.start.offset, place.end.offset, Rank.REPLACE, text) for place, text in file.replacements]
        if file.text.startswith(BOM_UTF8):  # compilers accept it at a file's begin alone, where OUT.c has a #line
            edits.append(Edit(0, len(BOM_UTF8), Rank.REPLACE, None))
        edits += self._inclusions(file)
        edits += self._other_includes(file)
        edits += self._generated(file)
        first = min((edit.start for edit in edits if isinstance(edit.text, str)), default=None)
        if first is not None:
            # Before a file's first generated text, since the user's feature-test macros must
            # precede system headers.
            edits.insert(0, Edit(first, first, Rank.END_INNER, _HEADER))
        return tuple(map(self._adapted, edits))

    def _adapted(self, edit: Edit) -> Edit:
        """The edit, with generated text that the unit's compiler and macros take as it is meant."""
        if not isinstance(edit.text, str):
            return edit
        text = as_c90(edit.text) if self.unit.c90 else edit.text
        # Paths of clauses stand in functions only.
        needed = frozenset() if edit.rank is Rank.FILE_SCOPE or text == _HEADER else self.in_paths
        return replace(edit, text=without_macros(text, self.unit.macros, needed))

    def _inclusions(self, file: SourceFile) -> list[Edit]:
        edits = []
        files = {item.path: item for item in self.unit.files}
        for inclusion in self.unit.inclusions:
            if inclusion.range.file == file.path:
                header = files[inclusion.included]
                inlined = header, (*self.edits(header), *_once_guard(header, files))
                edits.append(Edit(inclusion.range.start.offset, inclusion.range.end.offset, Rank.REPLACE, inlined))
        return edits

    def _other_includes(self, file: SourceFile) -> list[Edit]:
        """OUT.c already has inlined headers, so their `#include "…"` lines vanish. A file beside a
        header gets its path from the main file's folder.
        """
        home, folder = Path(self.unit.files[0].path).parent, Path(file.path).parent
        listed = {item.range.start.line for item in self.unit.inclusions if item.range.file == file.path}
        edits = []
        for match in _QUOTED.finditer(file.text):
            if file.text.count(b"\n", 0, match.end()) + 1 in listed:
                continue
            name = os.fsdecode(match[1])
            target = folder / name
            if any(_same_file(target, name, header) for header in self.unit.files[1:]):
                edits.append(Edit(match.start(), match.end(), Rank.REPLACE, None))
            elif folder != home and target.is_file():
                seen = os.fsencode(os.path.relpath(target, home))
                edits.append(Edit(match.start(1), match.end(1), Rank.REPLACE, seen))
        return edits

    def _generated(self, file: SourceFile) -> list[Edit]:
        edits = []
        for manifest in self.manifests:
            plan, kernel = manifest.plan, manifest.plan.kernel
            is_launched = plan.untransformed is None or plan.arrays or plan.reordered or _waits(kernel)
            if kernel.range.file == file.path and is_launched:
                text = replace(region_text(plan), constants=_definitions(manifest))
                edits += _around(file, kernel, text, Rank.BEGIN_INNER, Rank.END_INNER)
        regions: tuple[DataRegion | ResidentRegion, ...] = (*self.unit.data_regions, *self.resident)
        for number, region in enumerate(regions):
            place = region.kernel if isinstance(region, ResidentRegion) else region
            if place.range.file == file.path:
                text = (
                    resident_text(region, number) if isinstance(region, ResidentRegion) else data_text(region, number)
                )
                edits += _around(file, place, text, Rank.BEGIN_OUTER, Rank.END_OUTER)
        return edits


def _definitions(manifest: KernelManifest) -> str:
    """A region's file-scope text: versions come first, as the kernel names them."""
    texts = []
    for defined in (*manifest.versions, manifest):
        functions = "" if defined.plan.untransformed is not None else host_functions(defined.plan) + "\n"
        order = defined.steps.text
        texts += [functions, f"{order}\n" if order else "", kernel_constants(defined)]
    return "".join(texts)


def _waits(kernel: Kernel) -> bool:
    directive = kernel.directive
    asynchronous = directive.asynchronous is not None or directive.asynchronous_default
    return bool(directive.waits) or directive.wait_all or asynchronous


def _directives(unit: TranslationUnit, resident: Sequence[ResidentRegion]) -> Iterator[object]:
    """All directives whose clauses may be in generated text."""
    yield from (region.directive for region in unit.data_regions)
    for kernel in (*unit.kernels, *(region.kernel for region in resident)):
        yield kernel.directive
        yield from loop_directives(kernel.body)


def _around(file: SourceFile, place: Kernel | DataRegion, text: SurroundingText, begin: Rank, end: Rank) -> list[Edit]:
    """The text of a directive around its statement, or alone in the statement's place. Constants
    stand without the warnings that the user enabled.
    """
    insertion, line = place.enclosing.insertion, place.directive.range.start.line
    constants = f"TILEK_GENERATED_BEGIN\n{text.constants}TILEK_GENERATED_END\n"
    edits = [Edit(insertion, insertion, Rank.FILE_SCOPE, constants, line)] if text.constants else []
    start, behind = place.range.start.offset, place.range.end.offset
    if not text.after:
        return [*edits, Edit(start, start, Rank.DIRECTIVE, text.before, line)]
    start = region_start(file.text, place.range, place.directive.range)
    return [*edits, Edit(start, start, begin, text.before, line), Edit(behind, behind, end, text.after, line)]


def region_start(text: bytes, statement: SourceRange, directive: SourceRange) -> int:
    """Where a region's text begins: at its statement, or behind its directive.

    The latter if foreign pragmas or macros are between. Such a pragma (`omp simd`, `GCC ivdep`)
    belongs to the loop, so it must stay right before it in the host's fallback, and its `#if`.
    """
    start, end = statement.start.offset, directive.end.offset
    if directive.file != statement.file or end > start:
        return start
    between = text[end:start]
    return end if _FOREIGN_PRAGMA.search(between) or _NO_CODE.sub(b"", between).strip() else start


def _same_file(target: Path, name: str, header: SourceFile) -> bool:
    """Whether `#include "name"` (of `target`, if a file) means the `#pragma once` header."""
    if _ONCE.search(header.text) is None:
        return False
    if target.is_file():
        return os.path.realpath(target) == os.path.realpath(header.path)
    return header.path.endswith("/" + name.removeprefix("./"))


def _once_guard(header: SourceFile, files: dict[str, SourceFile]) -> list[Edit]:
    """`#pragma once` as an include guard, since the text is now in the main file."""
    match = _ONCE.search(header.text)
    if match is None:
        return []
    guard = f"TILEK_ONCE_{list(files).index(header.path)}"
    return [
        Edit(match.start(), match.end(), Rank.REPLACE, f"#ifndef {guard}\n#define {guard}\n"),
        Edit(len(header.text), len(header.text), Rank.END_OUTER, f"#endif /* {guard} */\n"),
    ]


def check_user_text(user_text: bytes, unit: TranslationUnit) -> None:
    """Raise AssertionError, which no input may cause, unless this is the text of all files."""
    files = {file.path: file for file in unit.files}
    if _bare(user_text) != _bare(b"".join(_expected(unit.files[0], files, unit.inclusions))):
        raise AssertionError("text of the source would be missing in its translation")


def _expected(file: SourceFile, files: Mapping[str, SourceFile], inclusions: tuple[Inclusion, ...]) -> Iterator[bytes]:
    """The text of a file, with headers in place of their `#include` lines."""
    ranges = (*file.pragmas, *(range_ for range_, _ in file.replacements))
    gone = [(range_.start.offset, range_.end.offset, "") for range_ in ranges]
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
