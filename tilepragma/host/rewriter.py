"""The user's source with launched regions: OUT.c, made by edits of byte ranges."""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tilepragma.base.source_ranges import SourceRange
from tilepragma.codegen.c90 import as_c90
from tilepragma.codegen.describe import describe, describe_version
from tilepragma.codegen.host_functions import host_functions
from tilepragma.codegen.kernel_constants import kernel_constants
from tilepragma.codegen.launch_order import step_functions
from tilepragma.host.data_directives import DataText, data_text, held_text
from tilepragma.host.edits import Assembly, Edit, Inlined, Rank, Verbatim
from tilepragma.host.kept_text import check_kept
from tilepragma.host.region_text import region_text
from tilepragma.host.user_macros import path_macros, without_macros
from tilepragma.ir.directives import Construct, Target
from tilepragma.ir.loop_tree import Enclosing, Kernel, SourceFile, TranslationUnit
from tilepragma.ir.traversal import loop_directives
from tilepragma.plan.kernel_plan import HeldRegion, KernelPlan

_FOREIGN_PRAGMA = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+(?!tilek\b)\w", re.MULTILINE)
_NO_CODE = re.compile(rb"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:\\\r?\n|[^\n])*", re.DOTALL | re.MULTILINE)
_HEADER = '#include "tilek.h"\n'
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_ONCE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*", re.MULTILINE)


def rewrite(
    unit: TranslationUnit,
    plans: Sequence[KernelPlan],
    output_path: str,
    targets: Collection[Target],
    held: Sequence[HeldRegion] = (),
) -> bytes:
    """OUT.c: the main file, headers with regions in place of their #include, every region launched.

    `plans` has one plan for each kernel of the unit; `output_path` is OUT.c's name in `#line`;
    device programs are embedded for `targets` only; `held` are the split regions.
    """
    rewriting = _Rewriting(unit, plans, held, targets)
    main = unit.files[0]
    assembly = Assembly(output_path)
    assembly.file(main.path, main.text, rewriting.edits(main))
    check_kept(b"".join(assembly.kept), unit)
    return b"".join(assembly.chunks)


class _Rewriting:
    def __init__(
        self,
        unit: TranslationUnit,
        plans: Sequence[KernelPlan],
        held: Sequence[HeldRegion],
        targets: Collection[Target],
    ) -> None:
        self.unit = unit
        self.plans = plans
        self.held = held
        self.targets = targets
        self.in_paths = path_macros(unit.macros, _directives(unit, held))

    def edits(self, file: SourceFile) -> tuple[Edit, ...]:
        """All edits of a file, also those of inlined headers."""
        edits = [Edit(range_.start.offset, range_.end.offset, Rank.REPLACE, None) for range_ in file.pragmas]
        if file.text.startswith(BOM_UTF8):  # compilers accept it at a file's begin alone, where OUT.c has a #line
            edits.append(Edit(0, len(BOM_UTF8), Rank.REPLACE, None))
        edits += self._inclusions(file)
        edits += self._other_includes(file)
        edits += self._regions(file)
        edits += self._data(file)
        return tuple(self._without_macros(edit) for edit in _with_header(edits))

    def _without_macros(self, edit: Edit) -> Edit:
        if not isinstance(edit.text, str):
            return edit
        edit = replace(edit, text=as_c90(edit.text)) if self.unit.c90 else edit
        assert isinstance(edit.text, str)
        # Paths of clauses stand in functions only.
        needed = frozenset() if edit.rank is Rank.FILE_SCOPE or edit.text == _HEADER else self.in_paths
        return replace(edit, text=without_macros(edit.text, self.unit.macros, needed))

    def _inclusions(self, file: SourceFile) -> list[Edit]:
        edits = []
        files = {item.path: item for item in self.unit.files}
        for inclusion in self.unit.inclusions:
            if inclusion.range.file != file.path:
                continue
            header = files[inclusion.included]
            header_edits = (*self.edits(header), *_once_guard(header, files))
            inlined = Inlined(header.path, header.text, header_edits)
            edits.append(Edit(inclusion.range.start.offset, inclusion.range.end.offset, Rank.REPLACE, inlined))
        return edits

    def _other_includes(self, file: SourceFile) -> list[Edit]:
        """Edits of other `#include "…"` lines.

        OUT.c already has inlined headers, so their lines vanish. A file beside a header gets its
        path from the main file's folder.
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
                seen = Verbatim(os.fsencode(os.path.relpath(target, home)))
                edits.append(Edit(match.start(1), match.end(1), Rank.REPLACE, seen))
        return edits

    def _regions(self, file: SourceFile) -> list[Edit]:
        edits = []
        for plan in self.plans:
            kernel = plan.kernel
            if kernel.range.file != file.path:
                continue
            if plan.as_written is not None and not (plan.arrays or plan.reordered or _waits(kernel)):
                continue
            text = region_text(plan)
            start = region_start(file.text, kernel.range, kernel.directive.range)
            end = kernel.range.end.offset
            insertion, line = kernel.enclosing.insertion, kernel.directive.range.start.line
            edits.append(Edit(insertion, insertion, Rank.FILE_SCOPE, _quiet(self._definitions(plan)), line))
            edits.append(Edit(start, start, Rank.BEGIN_INNER, text.before, line))
            edits.append(Edit(end, end, Rank.END_INNER, text.after, line))
        return edits

    def _definitions(self, plan: KernelPlan) -> str:
        """A region's file-scope text: versions come first, as the kernel names them."""
        manifests = [
            *(describe_version(plan, place, self.targets) for place in range(1, len(plan.versions) + 1)),
            describe(plan, self.targets),
        ]
        texts = []
        for planned, manifest in zip((*(version.plan for version in plan.versions), plan), manifests, strict=True):
            functions = "" if planned.as_written is not None else host_functions(planned) + "\n"
            order = step_functions(planned, bool(manifest.device_launches)).text
            texts += [functions, f"{order}\n" if order else "", kernel_constants(manifest)]
        return "".join(texts)

    def _data(self, file: SourceFile) -> list[Edit]:
        edits = []
        for index, region in enumerate(self.unit.data_regions):
            if region.range.file == file.path:
                text, around = data_text(region, index), region.directive.construct is Construct.DATA
                edits += _data_edits(file, region.enclosing, region.range, region.directive.range, text, around)
        for index, held in enumerate(self.held, len(self.unit.data_regions)):
            kernel = held.kernel
            if kernel.range.file == file.path:
                text = held_text(held, index)
                edits += _data_edits(file, kernel.enclosing, kernel.range, kernel.directive.range, text, around=True)
        return edits


def _waits(kernel: Kernel) -> bool:
    directive = kernel.directive
    asynchronous = directive.asynchronous is not None or directive.asynchronous_default
    return bool(directive.waits) or directive.wait_all or asynchronous


def _quiet(text: str) -> str:
    """File-scope text without the warnings that the user enabled."""
    return f"TILEK_GENERATED_BEGIN\n{text}TILEK_GENERATED_END\n"


def _with_header(edits: list[Edit]) -> list[Edit]:
    """`#include "tilek.h"` before a file's first generated text.

    It must follow the user's feature-test macros, which must precede system headers.
    """
    first = min((edit.start for edit in edits if isinstance(edit.text, str)), default=None)
    return edits if first is None else [Edit(first, first, Rank.END_INNER, _HEADER), *edits]


def _directives(unit: TranslationUnit, held: Sequence[HeldRegion]) -> Iterator[object]:
    """All directives whose clauses may be in generated text."""
    yield from (region.directive for region in unit.data_regions)
    for kernel in (*unit.kernels, *(region.kernel for region in held)):
        yield kernel.directive
        yield from loop_directives(kernel.body)


def _data_edits(
    file: SourceFile, enclosing: Enclosing, statement: SourceRange, directive: SourceRange, text: DataText, around: bool
) -> list[Edit]:
    """The text of a data directive `around` its statement, or alone in the statement's place."""
    insertion, line = enclosing.insertion, directive.start.line
    edits = [Edit(insertion, insertion, Rank.FILE_SCOPE, _quiet(text.constants), line)] if text.constants else []
    start = statement.start.offset
    if around:
        start = region_start(file.text, statement, directive)
        end = statement.end.offset
        edits.append(Edit(start, start, Rank.BEGIN_OUTER, text.before, line))
        edits.append(Edit(end, end, Rank.END_OUTER, text.after, line))
    else:
        edits.append(Edit(start, start, Rank.DIRECTIVE, text.before, line))
    return edits


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
