"""The front end's entry: from C files with directives to an ir.loop_tree.TranslationUnit."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from tilepragma.base.deferred_signals import signals_held_back
from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.frozen_values import dataclass
from tilepragma.base.source_ranges import NOWHERE, Position, SourceRange
from tilepragma.frontend.clang.compiler import (
    CompilerAnswer,
    CompilerError,
    CompilerFlags,
    ask_compiler,
    floating_rules,
    is_c90,
    libclang_arguments,
    vector_registers,
)
from tilepragma.frontend.clang.cursor_tree import ClangUnit, parse
from tilepragma.frontend.clang.data_regions import data_regions
from tilepragma.frontend.clang.kernel_lowering import kernels as kernels_of
from tilepragma.frontend.clang.openmp_regions import Replacements, merge_regions
from tilepragma.frontend.clang.regions import LoweredKernels, RegionBuilder
from tilepragma.frontend.clang.statement_extents import check_wrapped
from tilepragma.frontend.pragma.openmp import OpenMPInput, openmp_directives, thread_private_names
from tilepragma.frontend.pragma.scanner import (
    LocatedDirective,
    MacroTable,
    OpenMPText,
    find_directives,
    find_openmp,
    openmp_macro_use,
)
from tilepragma.ir.accesses import uses
from tilepragma.ir.directives import ReductionClause
from tilepragma.ir.loop_tree import (
    DataRegion,
    ExpressionStatement,
    If,
    Inclusion,
    Kernel,
    SourceFile,
    TranslationUnit,
)
from tilepragma.ir.reductions import Updates, reduction_updates
from tilepragma.ir.traversal import loops_in, walk

_REST_OF_LINE = re.compile(rb"(?:\\\r?\n|[^\n])*")
#: Constructs of OpenMP inside a loop through which its iterations act on each other.
_ACTING = frozenset((word,) for word in ("atomic", "cancel", "critical", "flush", "ordered", "scan", "target"))
_PRAGMA = re.compile(rb"^[ \t]*(#[ \t]*pragma[ \t]+([A-Za-z_]\w*)[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True)
class ParsedSource:
    """libclang's tree of a C file, the compiler that it was parsed for, and the kernels lowered."""

    unit: ClangUnit
    flags: CompilerFlags
    answer: CompilerAnswer
    lowered: LoweredKernels = field(default_factory=dict)


@signals_held_back()  # libclang calls us back for each tree
def parse_source(
    path: str, source: bytes | None, flags: CompilerFlags, diagnostics: Diagnostics
) -> ParsedSource | None:
    """Let libclang parse the C file `path`; `source` is its content from standard input. None, and
    an error, if it cannot.
    """
    if source is None and not _readable(path, diagnostics):
        return None
    try:
        answer = ask_compiler(flags)
    except CompilerError as fault:
        diagnostics.error(NOWHERE, str(fault), "name the C compiler in TILEK_CC")
        return None
    unit = _read(path, source, flags, answer)
    if unit is None:
        diagnostics.error(NOWHERE, f"libclang cannot read '{path}'", "install the libclang wheel, version 17 or newer")
        return None
    return ParsedSource(unit, flags, answer)


@signals_held_back()  # libclang calls us back for each tree
def lower_source(
    parsed: ParsedSource, diagnostics: Diagnostics, openmp: OpenMPInput | None = None
) -> TranslationUnit | None:
    """Read all directives of a parsed source, and lower what they stand before. `openmp` says how
    OpenMP's lines are read; None: they are no input.

    All faults go to `diagnostics`. None if the source is not C. After errors the result is
    incomplete and must not be translated.
    """
    unit, path, answer = parsed.unit, parsed.unit.main, parsed.answer
    earlier = len(diagnostics.items)
    included = _inclusions(unit)
    headers = _user_headers(path, included)
    broken = _report_clang(unit, diagnostics)
    forced = {file.path for file in included if not file.includer}
    skipped: dict[str, tuple[tuple[int, int], ...]] = {}
    located = {}
    macros = MacroTable()
    lines = {} if openmp is None else _openmp_lines(unit, (*headers, path), diagnostics)
    for candidate in (*headers, path):
        text = unit.text(candidate)
        if not (b"tilek" in text or b"_Pragma" in text or macros.names or lines.get(candidate)):
            continue
        skipped[candidate] = unit.skipped(candidate)
        directives = find_directives(candidate, text, diagnostics, skipped[candidate], macros)
        # No line stands where the text of a header of -include could go.
        if openmp is not None and candidate not in forced:
            of_openmp = openmp_directives(lines.get(candidate, ()), openmp, diagnostics)
            directives = tuple(sorted((*directives, *of_openmp), key=lambda each: each.range.start.offset))
        if directives:
            located[candidate] = directives
    _refuse_forced(forced, located, diagnostics)
    pragmas = {name: [d.range for d in ds if not d.stays_openmp] for name, ds in located.items()}
    files, inclusions = _source_files(unit, included, pragmas)
    if broken:
        _sort(diagnostics, earlier, path)
        return None
    builder = RegionBuilder(unit, diagnostics, skipped, lowered=parsed.lowered)
    kernels: list[Kernel] = []
    regions: list[DataRegion] = []
    placed = {file.path: builder.locate(file, located.get(file.path, ())) for file in files}
    replacements: dict[str, Replacements] = {}
    if openmp is not None:
        placed, replacements = merge_regions(builder, placed, lines)
    for file in files:
        of_file = kernels_of(builder, placed[file.path])
        kernels += of_file
        regions += data_regions(builder, placed[file.path], of_file)
        _note_foreign_pragmas(unit, file, of_file, skipped.get(file.path, ()), diagnostics)
    kernels = [_with_inner_lines(unit, kernel, lines, diagnostics) for kernel in kernels]
    launched = {kernel.range for kernel in _launched(kernels)} | {region.range for region in regions}
    check_wrapped(unit, builder.wrapped, launched, diagnostics)
    _sort(diagnostics, earlier, path)
    return TranslationUnit(
        files=tuple(replace(file, replacements=replacements.get(file.path, ())) for file in files),
        inclusions=inclusions,
        kernels=tuple(kernels),
        data_regions=tuple(regions),
        floating=floating_rules(parsed.flags, answer),
        dependencies=(path, *headers),
        system_dependencies=tuple(dict.fromkeys(file.path for file in included if file.is_system)),
        vectors=vector_registers(answer),
        macros=unit.macros() if kernels or regions else {},
        c90=is_c90(answer),
    )


def _launched(kernels: Iterable[Kernel]) -> Iterator[Kernel]:
    for kernel in kernels:
        yield kernel
        if kernel.parts is not None:
            yield from _launched(kernel.parts.kernels)


def _read(path: str, source: bytes | None, flags: CompilerFlags, answer: CompilerAnswer) -> ClangUnit | None:
    """Parse; with the compiler's macros if the files test them, or cannot be read without them."""
    unit = _parse(path, source, libclang_arguments(flags, answer))
    if unit is None:
        return None
    texts = map(unit.text, (path, *_user_headers(path, _inclusions(unit))))
    asks = any(answer.sees_otherwise(text, unit.predefined) for text in texts)
    if not asks and not any(unit.errors()):
        return unit
    reparsed = _parse(path, source, libclang_arguments(flags, answer, clang_macros=False))
    return reparsed if reparsed is not None and (asks or not any(reparsed.errors())) else unit


def _parse(path: str, source: bytes | None, arguments: list[str]) -> ClangUnit | None:
    """Parse under the user's options; None if libclang cannot.

    If libclang does not know the options for the machine, they are dropped, then the standard.
    """
    texts = {} if source is None else {path: source}
    unit = parse(path, texts, arguments)
    for unknown, instead in (("-m", []), ("-std=", ["-std=gnu2x"])):
        if unit is not None and all(item.location.file is not None for item in unit.errors()):
            break
        arguments = [a for a in arguments if not a.startswith(unknown)] + instead
        unit = parse(path, texts, arguments)
    return unit


def _sort(diagnostics: Diagnostics, earlier: int, path: str) -> None:
    """Sort the diagnostics after the first `earlier` ones by place, the main file first."""
    diagnostics.items[earlier:] = sorted(
        diagnostics.items[earlier:],
        key=lambda item: (item.range.file != path, item.range.file, item.range.start.offset),
    )


def _readable(path: str, diagnostics: Diagnostics) -> bool:
    if os.path.isfile(path) and os.access(path, os.R_OK):
        return True
    start = Position(path, 1, 1, 0)
    what = "cannot be read" if os.path.exists(path) else "does not exist"
    diagnostics.error(SourceRange(start, start), f"the file '{path}' {what}")
    return False


def _user_headers(path: str, included: tuple[_Included, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(file.path for file in included if not file.is_system and file.path != path))


def _refuse_forced(
    forced: Collection[str], located: Mapping[str, tuple[LocatedDirective, ...]], diagnostics: Diagnostics
) -> None:
    """Refuse a header that -include brings in."""
    for path, directives in located.items():
        if path in forced:
            message = f"'{path}' has directives but is brought in by the option -include"
            diagnostics.error(directives[0].range, message, "include it by a line '#include' of the source")


def _report_clang(unit: ClangUnit, diagnostics: Diagnostics) -> bool:
    errors = list(unit.errors())
    for item in errors:
        location = item.location
        name = unit.main if location.file is None else str(location.file.name)
        start = Position(name, max(1, int(location.line)), max(1, int(location.column)), int(location.offset))
        end = replace(start, column=start.column + 1, offset=start.offset + 1)
        diagnostics.error(SourceRange(start, end), str(item.spelling))
    return bool(errors)


# -- files


@dataclass(frozen=True)
class _Included:
    """A file that `includer` includes at byte `offset`; the option -include has the includer ""."""

    path: str
    includer: str
    offset: int
    is_system: bool


def _inclusions(unit: ClangUnit) -> tuple[_Included, ...]:
    """Every inclusion, in the order of reading."""
    return tuple(
        _Included(
            str(inclusion.include.name),
            "" if inclusion.source is None else str(inclusion.source.name),
            int(inclusion.location.offset),
            unit.is_system(str(inclusion.include.name)),
        )
        for inclusion in unit.handle.get_includes()
    )


def _source_files(
    unit: ClangUnit, included: Sequence[_Included], pragmas: Mapping[str, Sequence[SourceRange]]
) -> tuple[tuple[SourceFile, ...], tuple[Inclusion, ...]]:
    """The main file, headers with directives and their includers; and the `#include` lines."""
    wanted = set(pragmas) | {unit.main}
    for inclusion in reversed(included):
        if inclusion.path in wanted and inclusion.includer:
            wanted.add(inclusion.includer)
    headers = [file for file in included if file.path in wanted and file.path != unit.main]
    names = [unit.main, *dict.fromkeys(header.path for header in headers)]
    files = tuple(SourceFile(name, unit.text(name), tuple(pragmas.get(name, ()))) for name in names)
    lines = (Inclusion(_line(unit, file.includer, file.offset), file.path) for file in headers if file.includer)
    return files, tuple(lines)


def _line(unit: ClangUnit, path: str, offset: int) -> SourceRange:
    """The whole `#include` directive around `offset`, without its newline."""
    text = unit.text(path)
    start = text.rfind(b"#", 0, offset)
    line = _REST_OF_LINE.match(text, start)
    return unit.span(path, start, offset if line is None else line.end())


def _openmp_lines(unit: ClangUnit, files: Iterable[str], diagnostics: Diagnostics) -> dict[str, tuple[OpenMPText, ...]]:
    """The lines of OpenMP in each file, the headers first; none where macros hold lines, which are
    not read.
    """
    texts = {file: unit.text(file) for file in files}
    macro = openmp_macro_use(texts.items())
    if macro is not None:
        message = "this macro makes lines of OpenMP, so that all lines of OpenMP in this source stay as they are"
        diagnostics.note(macro, message)
        return {}
    macros = MacroTable()
    return {file: find_openmp(file, text, unit.skipped(file), macros) for file, text in texts.items()}


def _with_inner_lines(
    unit: ClangUnit, kernel: Kernel, lines: Mapping[str, tuple[OpenMPText, ...]], diagnostics: Diagnostics
) -> Kernel:
    """The kernel of a line of OpenMP, with `reduction` clauses for updates under `omp atomic` or
    `omp critical` in it. Refuses it where its iterations act on each other in other ways, or on
    what each thread has for itself.
    """
    outer = kernel.directive.openmp_line
    if outer is None:
        return kernel
    clauses: list[ReductionClause] = []
    with diagnostics.about(outer):
        for range_ in (kernel.range, *(function.range for function in kernel.functions)):
            for line in lines.get(range_.file, ()):
                if not range_.holds(line.range.file, line.range.start.offset) or line.words[:1] not in _ACTING:
                    continue
                is_direct = range_ == kernel.range and kernel.parts is None
                clause = _update_clause(unit, kernel, line) if is_direct else None
                if clause is None:
                    diagnostics.error(line.range, f"tilepragma does not translate 'omp {line.words[0]}' in a loop")
                else:
                    clauses.append(clause)
        thread_private = thread_private_names(lines.values())
        used = [object_.host for object_ in kernel.objects if re.split(r"\W", object_.host)[0] in thread_private]
        if used:
            diagnostics.error(kernel.range, f"each thread has a '{used[0]}' of its own (threadprivate)")
    reductions = (*kernel.directive.reductions, *clauses)
    return replace(kernel, directive=replace(kernel.directive, reductions=reductions))


def _update_clause(unit: ClangUnit, kernel: Kernel, line: OpenMPText) -> ReductionClause | None:
    """The clause that allows any order of what `omp atomic` or `omp critical` protects: of a single
    update.
    """
    if line.words[:2] not in (("atomic",), ("atomic", "update")) and line.words[0] != "critical":
        return None
    statements = (node for node in walk(kernel.body) if isinstance(node, (ExpressionStatement, If)))
    behind = [
        each for each in statements if each.range.file == line.range.file and each.range.start.offset >= line.end_offset
    ]
    first = min(behind, key=lambda each: each.range.start.offset, default=None)
    if first is None:
        return None
    text = unit.text(line.range.file)
    between = text[line.end_offset : first.range.start.offset].strip()
    is_alone = between == b"{" and text[first.range.end.offset :].lstrip(b"; \t\r\n").startswith(b"}")
    if between and not (is_alone and line.words[0] == "critical"):
        return None
    written = dict.fromkeys(use.object for use in uses(first, kernel.functions) if use.writes)
    updates = [reduction_updates(object_, first) for object_ in written]
    if len(updates) != 1 or not isinstance(updates[0], Updates):
        return None
    return ReductionClause(updates[0].clause, tuple(object_.host for object_ in written), line.range)


def _note_foreign_pragmas(
    unit: ClangUnit,
    file: SourceFile,
    kernels: Iterable[Kernel],
    skipped: Sequence[tuple[int, int]],
    diagnostics: Diagnostics,
) -> None:
    """Report each other tool's pragma in a kernel, but for those in the `skipped` ranges.

    The host's fallback keeps them; kernels drop them, but for those that are a loop's.
    """
    for kernel in kernels:
        if kernel.range.file != file.path:
            continue
        ranges = (pragma.range for loop in loops_in(kernel.body) for pragma in loop.pragmas)
        kept = {range_.start.offset for range_ in ranges if range_.file == file.path}
        for pragma in _PRAGMA.finditer(file.text, kernel.range.start.offset, kernel.range.end.offset):
            if pragma.group(2) == b"tilek" or any(first <= pragma.start(1) < last for first, last in skipped):
                continue
            start, text = pragma.start(1), pragma.group(1).rstrip()
            range_ = unit.span(file.path, start, start + len(text))
            if start in kept or (kernel.directive.openmp_line is not None and pragma.group(2) == b"omp"):
                continue
            diagnostics.note(range_, f"'{text.decode(errors='replace')}' is ignored in kernels and kept for the host")
