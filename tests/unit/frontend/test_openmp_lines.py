"""What lines of OpenMP are as directives: their clauses, their loops, and which stay OpenMP's."""

from __future__ import annotations

import pytest

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_scan import scan_source
from tilepragma.frontend.pragma.openmp import OpenMPInput, openmp_directives, thread_private_names
from tilepragma.frontend.pragma.scanner import LocatedDirective, find_directives, find_openmp, openmp_macro_use
from tilepragma.ir.directives import UntranslatedOpenMP

LOOP = "for (;;) ;\n"


def read(line: str, openmp: OpenMPInput) -> tuple[tuple[LocatedDirective, ...], Diagnostics]:
    diagnostics = Diagnostics()
    lines = find_openmp("a.c", f"{line}\n{LOOP}".encode())
    return openmp_directives(lines, openmp, diagnostics), diagnostics


def kernel_of(line: str, *, independent: bool = False) -> LocatedDirective:
    (directive,), diagnostics = read(line, OpenMPInput(independent=frozenset({("a.c", 0)} if independent else ())))
    assert not diagnostics.items
    return directive


@pytest.mark.parametrize("independent", [False, True])
def test_a_parallel_loop_is_a_kernel_over_its_loop(independent: bool) -> None:
    line = "#pragma omp parallel for private(j, t) reduction(+: s) firstprivate(c) collapse(2) if(n > 4)"
    directive = kernel_of(line, independent=independent)
    assert directive.kernel is not None and directive.loop is not None
    assert directive.openmp_line == directive.range and not directive.kernel.independent
    assert [clause.names for clause in directive.kernel.reductions] == [("s",)]
    assert [clause.names for clause in directive.kernel.privates] == [("c",)] and directive.kernel.privates[0].first
    assert directive.kernel.condition is not None and directive.kernel.condition.text == "n > 4"
    assert [clause.names for clause in directive.loop.privates] == [("j", "t")]
    # The line promises nothing of loops beyond the collapsed ones, nor what the analysis finds.
    assert directive.loop.independent is independent and directive.loop.collapse == (2 if independent else 1)


@pytest.mark.parametrize(
    "line",
    [
        "#pragma omp parallel for",
        "#pragma omp parallel for simd simdlen(4) safelen(8) aligned(a: 32)",
        "#pragma omp parallel for schedule(dynamic, 4) num_threads(n) default(none) shared(a, b) proc_bind(close)",
        "#pragma omp parallel for lastprivate(x) nowait",
        '_Pragma("omp parallel for")',
        "# pragma omp \\\n parallel for",
    ],
)
def test_what_speaks_of_threads_is_dropped(line: str) -> None:
    directive = kernel_of(line)
    assert directive.kernel is not None and directive.loop is not None
    assert not directive.kernel.counts and not directive.loop.tiles and not directive.loop.privates


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("#pragma omp parallel for linear(k)", "tilepragma does not translate the clause 'linear' of OpenMP"),
        ("#pragma omp parallel for ordered", "tilepragma does not translate the clause 'ordered' of OpenMP"),
        ("#pragma omp parallel sections", "tilepragma does not translate 'omp parallel sections'"),
        ("#pragma omp parallel copyin(c)", "tilepragma does not translate the clause 'copyin' of OpenMP"),
        ("#pragma omp sections", "tilepragma does not translate 'omp sections'"),
        ("#pragma omp target teams", "tilepragma does not translate 'omp target teams'"),
    ],
)
def test_what_has_no_meaning_here_stays(line: str, message: str) -> None:
    (directive,), diagnostics = read(line, OpenMPInput())
    assert directive.stays_openmp and directive.kernel is None
    assert [item.message for item in diagnostics] == [message]
    assert [item.openmp_line for item in diagnostics] == [directive.range]


def test_a_region_has_the_roles_of_variables() -> None:
    (directive,), diagnostics = read(
        "#pragma omp parallel default(shared) private(i, j) reduction(-: s)", OpenMPInput()
    )
    assert not diagnostics.items and directive.openmp_region is not None and not directive.stays_openmp
    assert [name for name, _ in directive.openmp_region.private_names] == ["i", "j"]
    assert [(clause.operator, clause.names) for clause in directive.openmp_region.reductions] == [("+", ("s",))]


def test_a_loop_in_a_region_needs_its_threads() -> None:
    directive = kernel_of("#pragma omp for schedule(static) nowait private(j)")
    assert directive.in_openmp_region and directive.loop is not None and directive.loop.privates[0].names == ("j",)


def test_a_line_that_is_left_stays_without_a_word() -> None:
    (directive,), diagnostics = read("#pragma omp parallel for linear(k)", OpenMPInput(left=frozenset({("a.c", 0)})))
    assert isinstance(directive.directive, UntranslatedOpenMP) and not diagnostics.items


@pytest.mark.parametrize("line", ["#pragma omp simd", "#pragma omp atomic", "#pragma ompx parallel for", "#pragma omp"])
def test_lines_that_distribute_nothing_are_none(line: str) -> None:
    directive, diagnostics = read(line, OpenMPInput())
    assert not directive and not diagnostics.items


def test_tilek_and_openmp_are_found_apart() -> None:
    text = b"#pragma omp parallel for\n/* #pragma omp for */\n#pragma tilek kernel\nfor (;;) ;\n"
    assert [line.words for line in find_openmp("a.c", text)] == [("parallel", "for")]
    assert [each.range.start.line for each in find_directives("a.c", text, Diagnostics())] == [3]
    assert not find_openmp("a.c", text, ((0, 10),))


def test_variables_of_each_thread() -> None:
    lines = find_openmp("a.c", b"#pragma omp threadprivate(a, b)\n#pragma omp for private(c)\n")
    assert thread_private_names([lines]) == {"a", "b"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b'int a;\n#define FOR _Pragma("omp parallel for")\nvoid f(void) {\nFOR for (;;) ;\n}\n', 4),
        (b"#define OMP(x) PRAGMA(omp \\\n parallel x)\n#define TEAM OMP()\nTEAM ;\n", 4),
        (b"#define OMP(x) PRAGMA(omp x)\n OMP(for)\n", 2),
        (b'#define FOR _Pragma("omp parallel for")\n/* FOR */ char *s = "FOR";\n#if defined(FOR)\n#endif\n', None),
        (b'#define SIMD _Pragma("omp simd")\nSIMD\n', None),
        (b"#define THREADS 4 /* omp threads */\nint a = THREADS;\n", None),
        (b"#pragma omp parallel for\n", None),
    ],
)
def test_uses_of_macros_that_make_lines_are_found(text: bytes, line: int | None) -> None:
    use = openmp_macro_use([("a.c", text)])
    assert (None if use is None else use.start.line) == line


def test_a_line_as_an_argument_of_a_macro_is_found() -> None:
    text = b"#define PRAGMA(x) _Pragma(#x)\nvoid f(void) {\nPRAGMA(omp critical)\n;\n}\n"
    assert [(line.words, line.range.start.line) for line in find_openmp("a.c", text)] == [(("critical",), 3)]
    assert openmp_macro_use([("a.c", text)]) is None


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        (b"#pragma omp parallel for\n", True),
        (b'_Pragma("omp parallel for")', True),
        (b"int compare, ompx;", False),
    ],
)
def test_sources_with_openmp_are_translated_where_it_is_input(text: bytes, mentions: bool) -> None:
    assert scan_source("a.c", (), (), text, openmp=True).mentions is mentions
    assert not scan_source("a.c", (), (), text).mentions
