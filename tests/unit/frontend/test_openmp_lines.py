"""What lines of OpenMP are as directives: their clauses, their loops, and which stay OpenMP's."""

from __future__ import annotations

import pytest

from tilepragma.base.diagnostics import Diagnostics
from tilepragma.base.source_scan import scan_source
from tilepragma.frontend.pragma.openmp import OpenMPInput
from tilepragma.frontend.pragma.scanner import LocatedDirective, find_directives
from tilepragma.ir.directives import OpenMPLine

LOOP = "for (;;) ;\n"


def read(line: str, openmp: OpenMPInput | None) -> tuple[tuple[LocatedDirective, ...], Diagnostics]:
    diagnostics = Diagnostics()
    return find_directives("a.c", f"{line}\n{LOOP}".encode(), diagnostics, openmp=openmp), diagnostics


def kernel_of(line: str, *, independent: bool = False) -> LocatedDirective:
    (found,), diagnostics = read(line, OpenMPInput(independent=frozenset({("a.c", 0)} if independent else ())))
    assert not diagnostics.items
    return found


@pytest.mark.parametrize("independent", [False, True])
def test_a_parallel_loop_is_a_kernel_over_its_loop(independent: bool) -> None:
    line = "#pragma omp parallel for private(j, t) reduction(+: s) firstprivate(c) collapse(2) if(n > 4)"
    found = kernel_of(line, independent=independent)
    assert found.kernel is not None and found.loop is not None
    assert found.openmp_line == found.range and not found.kernel.independent
    assert [clause.names for clause in found.kernel.reductions] == [("s",)]
    assert [clause.names for clause in found.kernel.privates] == [("c",)] and found.kernel.privates[0].first
    assert found.kernel.condition is not None and found.kernel.condition.text == "n > 4"
    assert [clause.names for clause in found.loop.privates] == [("j", "t")]
    # The line promises nothing of loops beyond the collapsed ones, nor what the analysis finds.
    assert found.loop.independent is independent and found.loop.collapse == (2 if independent else 1)


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
    found = kernel_of(line)
    assert found.kernel is not None and found.loop is not None
    assert not found.kernel.counts and not found.loop.tiles and not found.loop.privates


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
    (found,), diagnostics = read(line, OpenMPInput())
    assert found.stays_openmp and found.kernel is None
    assert [item.message for item in diagnostics] == [message]
    assert [item.openmp_line for item in diagnostics] == [found.range]


def test_a_region_has_the_roles_of_variables() -> None:
    (found,), diagnostics = read("#pragma omp parallel default(shared) private(i, j) reduction(-: s)", OpenMPInput())
    assert not diagnostics.items and found.openmp_region is not None and not found.stays_openmp
    assert [name for name, _ in found.openmp_region.private_names] == ["i", "j"]
    assert [(clause.operator, clause.names) for clause in found.openmp_region.reductions] == [("+", ("s",))]


def test_a_loop_in_a_region_needs_its_threads() -> None:
    found = kernel_of("#pragma omp for schedule(static) nowait private(j)")
    assert found.in_openmp_region and found.loop is not None and found.loop.privates[0].names == ("j",)


def test_a_line_that_is_left_stays_without_a_word() -> None:
    (found,), diagnostics = read("#pragma omp parallel for linear(k)", OpenMPInput(left=frozenset({("a.c", 0)})))
    assert isinstance(found.directive, OpenMPLine) and not diagnostics.items


@pytest.mark.parametrize("line", ["#pragma omp simd", "#pragma omp atomic", "#pragma ompx parallel for", "#pragma omp"])
def test_lines_that_distribute_nothing_are_none(line: str) -> None:
    found, diagnostics = read(line, OpenMPInput())
    assert not found and not diagnostics.items


def test_without_the_option_no_line_is_input() -> None:
    found, diagnostics = read("#pragma omp parallel for", None)
    assert not found and not diagnostics.items


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        (b"#pragma omp parallel for\n", True),
        (b'_Pragma("omp parallel for")', True),
        (b"int compare, omp;", False),
    ],
)
def test_sources_with_openmp_are_translated_where_it_is_input(text: bytes, mentions: bool) -> None:
    assert scan_source("a.c", (), (), text, openmp=True).mentions is mentions
    assert not scan_source("a.c", (), (), text).mentions
